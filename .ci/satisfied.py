"""Tell (exit 0 or 1) whether this environment holds wetgis with the extras given, as pinned.

Checked are the requirements of pyproject.toml and theirs in turn, each against
constraints.txt, and that the installed wetgis is this folder.
"""

from __future__ import annotations

import json
import sys
import tomllib
from importlib.metadata import Distribution, PackageNotFoundError
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def missing(extras: set[str]) -> str:
    """What is not as it should be, or an empty text."""
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pins = [Requirement(line) for line in lines if line.strip() and not line.startswith("#")]
    pinned = {
        canonicalize_name(p.name): p.specifier
        for p in pins
        if p.marker is None or p.marker.evaluate()
    }
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    own = [f"wetgis[{','.join(sorted(extras))}]"]
    todo, seen = [Requirement(text) for text in own], set()
    while todo:
        need = todo.pop()
        name = canonicalize_name(need.name)
        key = (name, frozenset(need.extras))
        if key in seen or (need.marker and not need.marker.evaluate({"extra": ""})):
            continue
        seen.add(key)
        found = Distribution.from_name(name)
        if name != "wetgis" and found.version not in pinned.get(name, need.specifier):
            return f"{name} {found.version}"
        if name == "wetgis":
            optional = project["optional-dependencies"]
            more = [*project["dependencies"], *(t for e in need.extras for t in optional[e])]
            todo += [Requirement(text) for text in more]
            continue
        for text in found.requires or []:
            child = Requirement(text)
            scopes = [{"extra": extra} for extra in ("", *need.extras)]
            if child.marker is None or any(child.marker.evaluate(s) for s in scopes):
                child.marker = None
                todo.append(child)
    origin = json.loads(Distribution.from_name("wetgis").read_text("direct_url.json") or "{}")
    return "" if origin.get("url") == ROOT.as_uri() else "wetgis of another folder"


def main() -> int:
    """Exit code 0 where nothing is missing."""
    try:
        return 1 if missing(set(sys.argv[1].split(","))) else 0
    except (ImportError, PackageNotFoundError):
        return 1


if __name__ == "__main__":
    sys.exit(main())
