"""What the work itself costs: each step once, on one thread, nothing around it.

The sum, shared over two perfect cores, is what no engine of this kind can get below. Steps that
only this project takes (repair, the audit, lengths, flags, tables) are left out; of the areas only
the pairs that need an overlay count, the rest could be told by a predicate.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from benchmarks.job import BUFFER_FT, QUADS

__all__ = ["floor_seconds"]

#: The cells that suit the steps by themselves, feet.
CELL_FT = 1500.0
CORES = 2
Geometries = NDArray[np.object_]


@contextmanager
def _clock(steps: dict[str, float], name: str) -> Iterator[None]:
    start = time.thread_time()
    yield
    steps[name] = steps.get(name, 0.0) + time.thread_time() - start


def floor_seconds(county: Path) -> dict[str, float]:
    """CPU seconds of each step, and ``wall``: their sum over two cores; in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.floor", str(county.resolve())],
        capture_output=True, text=True, check=True, cwd=Path(__file__).parents[1],
    )  # fmt: skip
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def _steps(county: Path) -> dict[str, float]:
    from wetgis.cells import CellGrid, CellLayer, Subdivided, cut, dissolve

    steps: dict[str, float] = {}
    with _clock(steps, "read and decode"):
        layers = {k: _read(county / f"{k}.parquet") for k in ("parcels", "wetlands",
                  "watercourses", "floodplain")}  # fmt: skip
        soils, hydric = _read_soils(county / "soils.parquet")
    parcels = layers.pop("parcels")
    grid = CellGrid.over(shapely.bounds(parcels), CELL_FT)
    with _clock(steps, "buffers"):
        water = np.concatenate([layers["wetlands"], layers["watercourses"]])
        buffers = shapely.buffer(water, BUFFER_FT, quad_segs=QUADS)
    pieces = {"hyd": soils[hydric]}
    for name, shapes in (("wet", layers["wetlands"]), ("reg", buffers),
                         ("flood", layers["floodplain"])):  # fmt: skip
        with _clock(steps, "clip and union"):
            pieces[name] = dissolve(cut(shapes, grid, threads=1), threads=1).geometries
    own = Subdivided(parcels, grid, threads=1)
    for shapes in pieces.values():
        layer = CellLayer(shapes, grid)
        start = time.thread_time()
        areas = layer.areas(own, threads=1)
        whole = shapely.area(parcels)
        partly = (areas > 1e-6) & (areas < whole - 1e-6)
        # what the pairs that need it would cost, were no other asked
        share = partly.sum() / max((areas > 1e-6).sum(), 1)
        steps["areas"] = steps.get("areas", 0.0) + (time.thread_time() - start) * share
    _distances(steps, parcels, layers)
    _terrain(steps, county / "dem.tif")
    return {**steps, "wall": sum(steps.values()) / CORES}


def _read(path: Path) -> Geometries:
    import pyarrow.parquet as pq

    column = pq.read_table(path, columns=["geometry"], use_threads=False).column("geometry")
    return np.asarray(shapely.from_wkb(column.to_pandas().to_numpy(dtype=object)))


def _read_soils(path: Path) -> tuple[Geometries, Any]:
    import pyarrow.parquet as pq

    low = pq.read_table(path, columns=["hydric_pct_low"]).column(0).to_numpy()
    return _read(path), low > 50.0


def _distances(steps: dict[str, float], parcels: Geometries, layers: dict[str, Any]) -> None:
    from wetgis.overlay import Nearest, typical_size
    from wetgis.segments import Runs

    with _clock(steps, "distances"):
        runs = Runs(parcels)
        for kind in ("wetlands", "watercourses"):
            known = np.zeros(len(parcels), bool)
            layer = Nearest(layers[kind], typical_size(parcels))
            layer.distances(parcels, runs, known_inside=known, threads=1)


def _terrain(steps: dict[str, float], path: Path) -> None:
    """Every height read once and its slope taken."""
    from wetgis.terrain import open_surface

    surface = open_surface(str(path), kind="dem", z_unit="us-ft")
    with _clock(steps, "terrain"), surface.reader() as reader:
        for row in range(0, surface.grid.height, 512):
            end = min(row + 512, surface.grid.height)
            reader.values((row, end), (0, surface.grid.width))


if __name__ == "__main__":
    print(json.dumps(_steps(Path(sys.argv[1]))))
