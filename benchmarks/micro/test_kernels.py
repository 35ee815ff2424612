"""One call of each kernel on a county of 2,000 parcels, by pytest-benchmark.

Run with ``.venv/bin/python -m pytest benchmarks/micro --benchmark-only``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import pytest
import shapely
from numpy.typing import NDArray

from benchmarks.county import LAYERS, make_county
from wetgis.buffers import Zone
from wetgis.cells import CELL_FT, CellGrid, CellLayer, Subdivided, cut, dissolve
from wetgis.overlay import Nearest, typical_size
from wetgis.partition import zone_in_cells
from wetgis.segments import edges, segments

Geometries = NDArray[np.object_]


@pytest.fixture(scope="session")
def layers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Geometries]:
    folder: Path = tmp_path_factory.mktemp("county")
    make_county(2000, folder)
    return {k: gpd.read_parquet(folder / f"{k}.parquet").geometry.to_numpy() for k in LAYERS}


@pytest.fixture(scope="session")
def grid(layers: dict[str, Geometries]) -> CellGrid:
    return CellGrid.over(shapely.bounds(layers["parcels"]), CELL_FT)


@pytest.fixture(scope="session")
def zone(layers: dict[str, Geometries]) -> Zone:
    both = np.concatenate([layers["wetlands"], layers["watercourses"]])
    return Zone(both, np.full(len(both), 100.0), 0.01, threads=1)


def test_edges(benchmark: Any, layers: dict[str, Geometries]) -> None:
    made = benchmark(edges, layers["soils"])
    assert len(made.rows) > 10_000


def test_segments(benchmark: Any, layers: dict[str, Geometries]) -> None:
    made = benchmark(segments, layers["soils"])
    assert len(made.rows) > 10_000


def test_cut(benchmark: Any, layers: dict[str, Geometries], grid: CellGrid) -> None:
    pieces = benchmark(cut, layers["floodplain"], grid, threads=1)
    assert len(pieces.geometries) > len(layers["floodplain"])


def test_dissolve(benchmark: Any, layers: dict[str, Geometries], grid: CellGrid) -> None:
    pieces = cut(layers["floodplain"], grid, threads=1)
    united = benchmark(dissolve, pieces, threads=1)
    assert len(np.unique(united.cells)) == len(np.unique(pieces.cells))


def test_areas(benchmark: Any, layers: dict[str, Geometries], grid: CellGrid) -> None:
    layer = CellLayer(layers["soils"], grid)
    areas = benchmark(layer.areas, Subdivided(layers["parcels"], grid), threads=1)
    # the soil map has no gap
    assert areas == pytest.approx(shapely.area(layers["parcels"]), abs=1e-6)


def test_distances(benchmark: Any, layers: dict[str, Geometries]) -> None:
    layer = Nearest(layers["watercourses"], typical_size(layers["parcels"]))
    found = benchmark(layer.distances, layers["parcels"], threads=1)
    assert np.isfinite(found).all()


def test_buffers(benchmark: Any, zone: Zone) -> None:
    built, _ = benchmark(zone.pieces)
    assert len(built) >= len(zone.geometries)


def test_zone_with_its_audit(benchmark: Any, zone: Zone, grid: CellGrid) -> None:
    _, audit = benchmark(zone_in_cells, zone, grid)
    assert max(audit.inside, audit.outside) <= 0.01 + 1e-9
