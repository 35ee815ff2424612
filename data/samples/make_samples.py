"""Make the two sample towns. They are invented; the same seed gives the same towns.

    python data/samples/make_samples.py [FOLDER]

Needs what wetgis needs, and contourpy (it comes with matplotlib). Run it only to change the
towns: the files are in the repository.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from _maker import highmoor_files, shoreville_files  # noqa: E402

TOWNS = {"shoreville": shoreville_files.build, "highmoor": highmoor_files.build}


def main(folder: Path) -> None:
    """Both towns into a folder; what stood there under the same names is replaced."""
    for name, build in TOWNS.items():
        target = folder / name
        target.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as scratch:
            made = Path(scratch) / name
            faults = build(made)
            for file in sorted(made.iterdir()):
                (target / file.name).write_bytes(file.read_bytes())
        text = json.dumps(faults, indent=1, sort_keys=True)
        (target / "faults.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
