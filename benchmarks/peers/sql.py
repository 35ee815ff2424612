"""What DuckDB and SedonaDB share: layers dissolved in tiles of 1,500 feet, then joined.

Neither has an ST_Subdivide, and neither answers nearest distances in a time that could be
waited for (a minute at 10,000 parcels), so that they are asked for areas only.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import shapely

from benchmarks.county import CRS
from benchmarks.job import AREAS, BUFFER_FT, Clock
from benchmarks.peers.layers import filled

TILE_FT = 1500.0


def write_tiles(county: Path, path: Path) -> None:
    """The tiles over the parcels as GeoParquet."""
    import geopandas as gpd
    import pyarrow.parquet as pq

    boxes = pq.read_table(county / "parcels.parquet", columns=["bbox"])["bbox"].combine_chunks()
    low = [float(np.min(boxes.field(k).to_numpy())) for k in ("xmin", "ymin")]
    high = [float(np.max(boxes.field(k).to_numpy())) for k in ("xmax", "ymax")]
    x, y = (
        np.arange(np.floor(a / TILE_FT), np.floor(b / TILE_FT) + 1) * TILE_FT
        for a, b in zip(low, high, strict=True)
    )
    left, bottom = (v.ravel() for v in np.meshgrid(x, y))
    boxes = shapely.box(left, bottom, left + TILE_FT, bottom + TILE_FT)
    gpd.GeoDataFrame({"tile": np.arange(len(left))}, geometry=boxes, crs=CRS).to_parquet(path)


def tiled(
    make: Callable[[str, str], None],
    ask: Callable[[str], Any],
    words: dict[str, str],
    count: int,
    clock: Clock,
) -> dict[str, Any]:
    """Dissolve each layer in its tiles and join the parcels to it.

    ``make(table, query)``, ``ask(query)``; ``words``: ``buffer``, ``union``, ``dump``.
    """
    buffered = words["buffer"]
    sources = {
        "wet": "select geom from wetlands",
        "flood": "select geom from floodplain",
        "reg": f"select {buffered} geom from wetlands union all select {buffered} geom "
        "from watercourses",
    }
    for name, query in sources.items():
        make(f"b_{name}", query)
        piece = words["union"].format("ST_Intersection(b.geom, tiles.geom)")
        union = (
            f"select tiles.tile, {piece} g from b_{name} b join tiles "
            "on ST_Intersects(b.geom, tiles.geom) group by tiles.tile"
        )
        make(f"l_{name}", words["dump"].format(union))
        clock("buffer and union")
    make("l_hyd", "select geom from soils where hydric_pct_low > 50")
    answers: dict[str, Any] = {"row": np.arange(count)}
    for name in AREAS:
        found = ask(
            "select p.id id, sum(ST_Area(ST_Intersection(p.geom, l.geom))) a from parcels p "
            f"join l_{name} l on ST_Intersects(p.geom, l.geom) group by p.id"
        )
        answers[name] = filled(count, found["id"].str[1:].astype(int), found["a"])
        clock("areas")
    return answers


def width() -> str:
    """The buffer's width as SQL."""
    return f"{BUFFER_FT:.1f}"
