"""Fixtures for every test."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import geopandas as gpd
import pytest
import shapely

ROOT = Path(__file__).resolve().parents[1]
RYE = (717_000.0, 783_000.0)
MONROE = (578_000.0, 909_000.0)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of public files and cases beside the repository."""
    folder = ROOT.parent / "shared"
    if not (folder / "cases").is_dir():
        pytest.skip("the public files and cases that lie beside the repository are not here")
    return folder


@pytest.fixture(params=[RYE, MONROE], ids=["rye", "monroe"])
def origin(request: pytest.FixtureRequest) -> tuple[float, float]:
    """Both places of the worked cases: results must not depend on where they are."""
    return request.param


def boxes(
    *corners: tuple[float, float, float, float], at: tuple[float, float] = RYE, **columns: object
) -> gpd.GeoDataFrame:
    """Rectangles in survey feet relative to an origin, in EPSG:2260, with an ``id``."""
    ox, oy = at
    geoms = [shapely.box(a + ox, b + oy, c + ox, d + oy) for a, b, c, d in corners]
    data = {"id": [str(i) for i in range(len(geoms))], **columns}
    return gpd.GeoDataFrame(data, geometry=geoms, crs="EPSG:2260")


@dataclass(frozen=True)
class Ran:
    """What a verb of the command line left."""

    code: int
    out: str
    err: str


@pytest.fixture
def cli(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Ran]]:
    """Run a verb in this process; what it changed in logging and warnings is put back."""
    from wetgis.cli import main

    root, own = logging.getLogger(), logging.getLogger("wetgis")
    kept = list(root.handlers), list(own.handlers), own.level, warnings.showwarning

    def run(*args: object) -> Ran:
        monkeypatch.setattr(sys, "argv", ["wetgis", *map(str, args)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main()
        said = capsys.readouterr()
        code = stop.value.code
        return Ran(code if isinstance(code, int) else int(code is not None), said.out, said.err)

    yield run
    root.handlers, own.handlers, own.level, warnings.showwarning = kept
