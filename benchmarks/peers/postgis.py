"""PostGIS as its handbook advises: ST_Subdivide, GiST, a shortcut for what is covered, KNN.

Loading and indexing the sources is a phase of its own and not counted.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.job import AREAS, BUFFER_FT, QUADS, Clock
from benchmarks.peers import lacking
from benchmarks.peers.layers import filled
from benchmarks.peers.server import Server, no_server

TITLE = "PostGIS, ST_Subdivide"
PACKAGES = ("psycopg",)
VERSIONS: dict[str, str] = {}
_spent = {"cpu": 0.0}
#: Nearest distances are asked for one parcel in so many once a county is large, and scaled up.
_KNN_ROWS = 25_000


def missing() -> str:
    """Why it cannot run here."""
    return no_server() or lacking("psycopg")


def prepare() -> None:
    """Imports."""
    import geopandas
    import psycopg

    del geopandas, psycopg


def outside_cpu() -> float:
    """CPU seconds of the server."""
    return _spent["cpu"]


def _load(ask: Any, county: Path) -> int:
    """Copy the layers in, with an index each; the number of parcels."""
    import geopandas as gpd
    import shapely

    count = 0
    for kind in ("parcels", "wetlands", "watercourses", "soils", "floodplain"):
        frame = gpd.read_parquet(county / f"{kind}.parquet")
        count = len(frame) if kind == "parcels" else count
        hydric = frame["hydric_pct_low"] > 50 if kind == "soils" else np.zeros(len(frame), bool)
        ask.execute(f"create table {kind}(id int, hydric bool, geom geometry)")
        codes = shapely.to_wkb(frame.geometry.to_numpy(), hex=True)
        with ask.copy(f"copy {kind} from stdin") as copy:
            for row in zip(range(len(frame)), map(bool, hydric), codes, strict=True):
                copy.write_row(row)
        ask.execute(f"create index on {kind} using gist(geom)")
        ask.execute(f"vacuum analyze {kind}")
    return count


def _subdivided(ask: Any, table: str, query: str, vertices: int) -> None:
    ask.execute(
        f"create table {table} as select ST_Subdivide(geom, {vertices}) geom from ({query}) q"
    )
    ask.execute(f"create index on {table} using gist(geom)")
    ask.execute(f"analyze {table}")


def _layers(ask: Any, clock: Clock) -> None:
    buffer = f"select ST_Buffer(geom, {BUFFER_FT}, 'quad_segs={QUADS}') geom from "
    both = f"{buffer} wetlands union all {buffer} watercourses"
    queries = {
        "wet": "select (ST_Dump(ST_Union(geom))).geom from wetlands",
        "reg": f"select (ST_Dump(ST_Union(geom))).geom from ({both}) z",
        "hyd": "select geom from soils where hydric",
        "flood": "select (ST_Dump(ST_Union(geom))).geom from floodplain",
    }
    for name, query in queries.items():
        _subdivided(ask, f"l_{name}", query, 128)
    clock("buffer and union")


def _nearest(ask: Any, name: str, kind: str, count: int, clock: Clock) -> Any:
    """KNN on subdivided features."""
    table, step = f"s_{kind}", max(1, count // _KNN_ROWS)
    _subdivided(ask, table, f"select geom from {kind}", 32)
    clock("distances")
    ask.execute(
        f"select p.id, z.d from parcels p cross join lateral (select p.geom <-> t.geom d "
        f"from {table} t order by p.geom <-> t.geom limit 1) z where p.id % {step} = 0"
    )
    rows = np.array(ask.fetchall(), dtype=float)
    clock("distances", step)
    return filled(count, rows[:, 0], rows[:, 1], np.nan)


def run(county: Path, clock: Clock, sample: int) -> dict[str, Any]:
    """The job."""
    import psycopg

    assert sample == 1
    with Server() as server, psycopg.connect(server.address, autocommit=True) as base:
        ask = base.cursor()
        ask.execute("create extension postgis")
        ask.execute("select postgis_lib_version(), postgis_geos_version()")
        VERSIONS.update(zip(("PostGIS", "its GEOS"), map(str, ask.fetchone() or ()), strict=True))
        count = _load(ask, county)
        base.close()
        time.sleep(0.5)
        before = server.cpu()
        answers = _ask(server, count, clock)
        time.sleep(0.5)
        _spent["cpu"] = server.cpu() - before
    return answers


def _ask(server: Server, count: int, clock: Clock) -> dict[str, Any]:
    import psycopg

    with psycopg.connect(server.address, autocommit=True) as base:
        ask = base.cursor()
        clock.start()
        _layers(ask, clock)
        answers: dict[str, Any] = {"row": np.arange(count)}
        for name in AREAS:
            ask.execute(
                "select p.id, sum(case when ST_CoveredBy(p.geom, l.geom) then ST_Area(p.geom) "
                "else ST_Area(ST_Intersection(p.geom, l.geom)) end) from parcels p "
                f"join l_{name} l on ST_Intersects(p.geom, l.geom) group by p.id"
            )
            rows = np.array(ask.fetchall(), dtype=float)
            answers[name] = filled(count, rows[:, 0], rows[:, 1])
            clock("areas")
        for name, kind in (("d_wet", "wetlands"), ("d_wat", "watercourses")):
            answers[name] = _nearest(ask, name, kind, count, clock)
    return answers
