"""DuckDB with its spatial extension, on tiles; two threads."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from benchmarks.county import LAYERS
from benchmarks.job import QUADS, Clock
from benchmarks.peers import lacking
from benchmarks.peers.sql import tiled, width, write_tiles

TITLE = "DuckDB spatial, tiles"
PACKAGES = ("duckdb", "duckdb-extension-spatial")


def missing() -> str:
    """Why it cannot run here."""
    return lacking("duckdb", "duckdb_extension_spatial")


def prepare() -> None:
    """Imports."""
    import duckdb
    import pyarrow.parquet

    del duckdb, pyarrow


def _extension() -> str:
    """The extension's file, in its own package: nothing is downloaded."""
    import duckdb_extension_spatial as package

    folder = Path(str(package.__file__)).parent
    return str(next(folder.rglob("spatial.duckdb_extension")))


def run(county: Path, clock: Clock, sample: int) -> dict[str, Any]:
    """The areas of the job."""
    import duckdb

    assert sample == 1
    clock.start()
    base = duckdb.connect(config={"allow_unsigned_extensions": True})
    base.execute(f"load '{_extension()}'")
    base.execute("set threads = 2; set preserve_insertion_order = false")
    with tempfile.TemporaryDirectory() as folder:
        tiles = Path(folder) / "tiles.parquet"
        write_tiles(county, tiles)
        for kind in (*LAYERS, "tiles"):
            path = tiles if kind == "tiles" else county / f"{kind}.parquet"
            base.execute(f"create table {kind} as select * exclude (geometry), geometry geom "
                         f"from read_parquet('{path}')")  # fmt: skip
    count = base.execute("select count(*) from parcels").fetchall()[0][0]
    clock("read")
    words = {
        "buffer": f"ST_Buffer(geom, {width()}, {QUADS})",
        "union": "ST_Union_Agg({})",
        "dump": "select unnest(ST_Dump(g)).geom geom from ({})",
    }
    return tiled(
        lambda table, query: base.execute(f"create or replace table {table} as {query}"),
        lambda query: base.execute(query).fetchdf(),
        words, count, clock,
    )  # fmt: skip
