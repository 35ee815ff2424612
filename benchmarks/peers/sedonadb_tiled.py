"""SedonaDB, on tiles."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from benchmarks.county import LAYERS
from benchmarks.job import QUADS, Clock
from benchmarks.peers import lacking
from benchmarks.peers.sql import tiled, width, write_tiles

TITLE = "SedonaDB, tiles"
PACKAGES = ("sedonadb",)


def missing() -> str:
    """Why it cannot run here."""
    return lacking("sedonadb", "geoarrow.pyarrow")


def prepare() -> None:
    """Imports."""
    import geopandas
    import pyarrow.parquet
    import sedonadb

    del geopandas, pyarrow, sedonadb


def run(county: Path, clock: Clock, sample: int) -> dict[str, Any]:
    """The areas of the job."""
    import sedonadb

    assert sample == 1
    clock.start()
    base = sedonadb.connect()

    def make(table: str, query: str) -> None:
        base.sql(query).to_memtable().to_view(table, overwrite=True)

    with tempfile.TemporaryDirectory() as folder:
        tiles = Path(folder) / "tiles.parquet"
        write_tiles(county, tiles)
        kept = {"tiles": "tile", "soils": "id, hydric_pct_low"}
        for kind in (*LAYERS, "tiles"):
            path = tiles if kind == "tiles" else county / f"{kind}.parquet"
            base.read_parquet(str(path)).to_view(f"file_{kind}", overwrite=True)
            make(kind, f"select {kept.get(kind, 'id')}, geometry geom from file_{kind}")
    count = int(base.sql("select count(*) n from parcels").to_pandas()["n"].iloc[0])
    clock("read")
    words = {
        "buffer": f"ST_Buffer(geom, {width()}, 'quad_segs={QUADS}')",
        "union": "ST_Union_Agg({})",
        "dump": "select q.d['geom'] geom from (select unnest(ST_Dump(g)) d from ({}) w) q",
    }
    return tiled(make, lambda query: base.sql(query).to_pandas(), words, count, clock)
