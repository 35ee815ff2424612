"""How the two invented towns are made: fields, streams, streets and lots, layers, files."""
