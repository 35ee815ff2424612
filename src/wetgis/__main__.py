"""``python -m wetgis`` is the command line."""

from wetgis.cli import main

if __name__ == "__main__":
    main()
