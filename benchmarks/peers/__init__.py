"""The engines, one a module, each with the same names.

``TITLE``: for the table. ``PACKAGES``: whose versions are told. ``missing() -> str``: why it
cannot run here, or nothing. ``prepare()``: imports. ``run(county, clock, sample) -> answers``:
the job, with every ``sample``-th parcel only where ``sample`` is over 1; answers by name
(`benchmarks.job.ANSWERS`) and ``row``, the row of the parcel in its file. ``outside_cpu()``,
where there is one: CPU seconds that a server used.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

__all__ = ["PEERS", "lacking", "load"]

PEERS = (
    "geopandas_overlay", "local", "postgis", "duckdb_tiled", "sedonadb_tiled", "dask_geopandas",
    "exactextract_zonal", "rasterstats_zonal",
)  # fmt: skip
#: Short names for the command line.
SHORT = {
    "geopandas": "geopandas_overlay", "duckdb": "duckdb_tiled", "sedonadb": "sedonadb_tiled",
    "dask-geopandas": "dask_geopandas", "exactextract": "exactextract_zonal",
    "rasterstats": "rasterstats_zonal",
}  # fmt: skip


def load(name: str) -> Any:
    """The module of an engine, by its name or its short name."""
    return import_module(f"benchmarks.peers.{SHORT.get(name, name)}")


def lacking(*packages: str) -> str:
    """Which of these modules are not installed, as a reason."""
    absent = [p for p in packages if find_spec(p) is None]
    return f"{', '.join(absent)} not installed (pip install 'wetgis[bench]')" if absent else ""
