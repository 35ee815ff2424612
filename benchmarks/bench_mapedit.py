"""One edit of the map against a new run over a county of 100,000 parcels.

    python -m benchmarks.bench_mapedit [PARCELS]

Prints both times and their ratio; ends with 1 where an edit is not fifty times faster.
"""

from __future__ import annotations

import sys
import time

import geopandas as gpd
import numpy as np
import shapely

import wetgis
from wetgis.mapedit import MapEdit

WANTED = 50.0
ORIGIN = (560_000.0, 880_000.0)
LOT = 150.0


def county(parcels: int, seed: int = 7) -> wetgis.Site:
    """Lots in rows, a wetland for every twenty, streams across; nothing in it is real."""
    rng = np.random.default_rng(seed)
    side = int(np.ceil(np.sqrt(parcels)))
    k = np.arange(parcels)
    x, y = ORIGIN[0] + LOT * (k % side), ORIGIN[1] + LOT * (k // side)
    lots = shapely.box(x, y, x + LOT, y + LOT)
    count = parcels // 20
    centres = np.array(ORIGIN) + rng.uniform(0, side * LOT, (count, 2))
    angle = np.linspace(0, 2 * np.pi, 41)[:-1]
    radius = rng.uniform(30, 160, (count, 1)) * (1 + 0.25 * rng.standard_normal((count, 40)))
    rings = np.stack([np.cos(angle), np.sin(angle)], axis=-1)[None] * np.abs(radius)[..., None]
    wet = shapely.make_valid(shapely.polygons(rings + centres[:, None]))
    along = np.linspace(0, side * LOT, 400)
    streams = [
        shapely.LineString(np.column_stack([
            ORIGIN[0] + along,
            ORIGIN[1] + at + np.cumsum(rng.standard_normal(400)) * 12]))
        for at in np.linspace(0, side * LOT, max(2, side // 40))
    ]  # fmt: skip

    def frame(shapes: object, name: str) -> gpd.GeoDataFrame:
        ids = [f"{name}{i}" for i in range(len(shapes))]  # type: ignore[arg-type]
        return gpd.GeoDataFrame({"id": ids}, geometry=list(shapes), crs=2260)  # type: ignore[call-overload]

    return wetgis.Site.from_layers(
        parcels=frame(lots, "p"), wetlands=frame(wet, "w"), watercourses=frame(streams, "s"),
        measure={"buffer_ft": 100},
    )  # fmt: skip


def main() -> int:
    parcels = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    site = county(parcels)
    edit = MapEdit(site)
    started = time.perf_counter()
    full = edit.measure_all()
    whole = time.perf_counter() - started
    rng = np.random.default_rng(1)
    ids = edit.features["id"].tolist()
    shapes = edit.features.set_index("id").geometry
    times, told = [], []
    for name in rng.choice(ids, 25, replace=False):
        moved = shapely.transform(shapes[name], lambda xy: xy + 15.0)
        started = time.perf_counter()
        told.append(len(edit.replace(name, moved)))
        times.append(time.perf_counter() - started)
    while edit._steps:
        edit.undo()
    same = edit.measures.iloc[:, 2:].to_numpy().tobytes() == full.tobytes()
    one = float(np.median(times))
    print(f"{parcels:,} parcels, {len(ids):,} wetlands")
    print(f"all of them    {whole:8.2f} s")
    print(f"one edit       {one * 1000:8.1f} ms (median of {len(times)}, slowest "
          f"{max(times) * 1000:.1f} ms, {int(np.median(told))} parcels told)")  # fmt: skip
    print(f"ratio          {whole / one:8.0f}")
    print(f"undone: {'the same bytes' if same else 'OTHER BYTES'}")
    return 0 if whole / one >= WANTED and same else 1


if __name__ == "__main__":
    sys.exit(main())
