"""The import order is written down here, ground floor first, and kept."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "wetgis"

#: A module imports only from lines above its own; modules of one line do not know each other.
#: A name stands for a module or for a folder of modules, which may import each other.
ORDER = """
errors
units schema wording evidence issuelog kernels nearkernels rings progress provenance workers
segments samples validity projection datapoints explain pages geometryfile
storedrows
shapes operations doubts flags packs
crs cells trials
activities reaches buffers encounters delineation rasters sources
ground nearness projects determination overlay terrain siteconfig parcelindex
places heldlayers spilled
decisions sitelayers
sitechecks indexing layerjoin
findings siteassembly
site
scene check record rulecases
membership partition
measures parts distances
tiles storedfeatures storedsubjects
tilefiles
nearby
dispatch
engine
spread
extras resume
choosing joining
screening
screento
compare
amendment
mapedit notices
outputs
runs doctor
cli
"""
#: ``Screening.write`` and its like hand over to a module above, when they are called.
HANDED_UP = {
    ("indexing", "site"),
    ("siteassembly", "site"),
    ("screening", "outputs"),
    ("screento", "outputs"),
    ("amendment", "outputs"),
    ("notices", "outputs"),
}
LEVELS = {name: i for i, line in enumerate(ORDER.strip().splitlines()) for name in line.split()}

#: Modules of the law half, and the libraries that they must not load.
LAW = ("packs", "activities", "findings", "evidence", "trials", "doubts", "reaches", "ground",
       "nearness", "projects", "determination", "places", "decisions", "explain", "wording",
       "rulecases")  # fmt: skip
GEOMETRY_LIBRARIES = {
    "shapely", "geopandas", "pyproj", "rasterio", "fiona", "pyogrio", "rtree", "numba",
}  # fmt: skip
#: Modules of the geometry half: they do not know the law half.
GEOMETRY = ("kernels", "nearkernels", "segments", "shapes", "cells", "crs", "projection",
            "operations", "validity", "rasters", "terrain", "buffers", "encounters", "overlay",
            "delineation", "scene", "membership", "partition", "parts", "measures", "distances",
            "tiles", "dispatch", "engine", "storedfeatures", "storedsubjects", "nearby",
            "geometryfile", "tilefiles", "spread")  # fmt: skip
#: What ``import wetgis`` and the command line's help must not load.
HEAVY = GEOMETRY_LIBRARIES | {
    "numpy", "pandas", "pyarrow", "pydantic", "matplotlib", "scipy", "distributed", "jinja2",
}  # fmt: skip


def modules() -> list[Path]:
    return sorted(p for p in PACKAGE.rglob("*.py") if p.name != "__main__.py")


def unit(path: Path) -> str:
    """The name that stands in ORDER."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(path: Path) -> Iterator[tuple[str, int]]:
    """Full names of what a file imports, anywhere in it, with the line."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: a relative import"
            for alias in node.names:
                own = node.module == "wetgis"
                yield (f"wetgis.{alias.name}" if own else node.module or ""), node.lineno


def test_each_module_has_its_place() -> None:
    there = {unit(p) for p in modules()} - {"__init__"}
    assert there == set(LEVELS), "name them in ORDER"


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_go_down(path: Path) -> None:
    here = unit(path)
    if here == "__init__":
        pytest.skip("it names every module, as text")
    for name, line in imported(path):
        parts = name.split(".")
        if parts[0] != "wetgis" or parts[1:2] == ["__version__"]:
            continue
        where = f"{path.name}:{line}"
        if len(parts) == 1:
            assert here == "cli", f"{where}: the package as a whole is for the command line"
            continue
        below = parts[1] == here or LEVELS[parts[1]] < LEVELS[here]
        assert below or (here, parts[1]) in HANDED_UP, f"{where}: {name} is not below"


@pytest.mark.parametrize(("here", "above"), sorted(HANDED_UP))
def test_what_is_handed_up_is_late(here: str, above: str) -> None:
    """Loading the lower module does not load the one above."""
    code = f"import sys, wetgis.{here}; print(any(m == 'wetgis.{above}' for m in sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"


@pytest.mark.parametrize("half", LAW)
def test_law_loads_no_geometry_library(half: str) -> None:
    for path in (p for p in modules() if unit(p) == half):
        roots = {name.split(".")[0] for name, _ in imported(path)}
        assert not roots & GEOMETRY_LIBRARIES, path


@pytest.mark.parametrize("half", GEOMETRY)
def test_geometry_does_not_know_the_law(half: str) -> None:
    for path in (p for p in modules() if unit(p) == half):
        units = {name.split(".")[1] for name, _ in imported(path) if name.startswith("wetgis.")}
        assert not units & set(LAW) - {"evidence"}, path


#: Numbers that a law has too, and what they are here.
OTHER_NUMBERS = {
    ("cells.py", 30): "a power of two",
    ("crs.py", 50): "a degree of latitude",
    ("crs.py", 66): "a degree of longitude",
    ("zones.py", 200): "metres of an edge that is moved unbroken",
    ("zunit.py", 100): "centimetres in a metre",
}


def legal_numbers() -> set[float]:
    """Every number of the installed packs, in the law's unit and in the tables'; small ones say
    nothing by themselves."""
    from wetgis.packs import list_packs, load_pack

    packs = [load_pack(name) for name in list_packs()]
    both = [
        (pack.limit(n).value, raw.value)
        for pack in packs
        for n, raw in pack.model.parameters.items()
    ]
    found = {float(v) for pair in both for v in pair if v is not None and v == v}
    return {v for v in found if v > 10}


def numbers(path: Path) -> Iterator[tuple[float, int]]:
    """The numbers written in a module, but for percent (a factor of 100) and named options."""
    tree = ast.parse(path.read_text("utf-8"))
    passed = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
            sides = (node.left, node.right)
            passed |= {id(n) for n in sides if isinstance(n, ast.Constant) and n.value == 100}
        if isinstance(node, ast.keyword) and node.arg in {"min_confidence"}:
            passed.add(id(node.value))
    for node in ast.walk(tree):
        number = isinstance(node, ast.Constant) and type(node.value) in (int, float)
        if number and id(node) not in passed:
            yield float(node.value), node.lineno


@pytest.mark.parametrize("half", GEOMETRY)
def test_geometry_holds_no_number_of_a_law(half: str) -> None:
    law = legal_numbers()
    assert {100.0, 4000.0, 540_144.0} <= law
    for path in (p for p in modules() if unit(p) == half):
        found = [(v, line) for v, line in numbers(path) if v in law]
        odd = [f"{line}: {v:g}" for v, line in found if (path.name, v) not in OTHER_NUMBERS]
        assert not odd, path.name


@pytest.mark.parametrize("what", ["wetgis", "wetgis.cli"])
def test_heavy_imports_are_late(what: str) -> None:
    code = f"import sys, {what}; print(*{{m.split('.')[0] for m in sys.modules}})"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(out.stdout.split()) & HEAVY == set()
