"""One parcel of a county with an index on disk against reading all of its parcels.

    python -m benchmarks.bench_index [PARCELS] [--shp] [--pack ID] [--folder DIR]

Prints the time to build and to open the index, to read the site with and without it, and of
``assess`` of one parcel, first and warm; ends with 1 where a warm one takes 0.3 s or more. The
parcels are copied, so that the county's own folder stays as it is.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import geopandas as gpd
import numpy as np

import wetgis
from benchmarks.county import make_county
from wetgis.indexing import index_parcels
from wetgis.parcelindex import open_index

WANTED = 0.3
CRS = "EPSG:2260"
T = TypeVar("T")


def timed(what: str, work: Callable[[], T]) -> tuple[T, float]:
    started = time.perf_counter()
    found = work()
    took = time.perf_counter() - started
    print(f"{what:<34}{took:9.3f} s", flush=True)
    return found, took


def main() -> int:
    ask = argparse.ArgumentParser()
    ask.add_argument("parcels", nargs="?", type=int, default=250_000)
    ask.add_argument("--shp", action="store_true", help="parcels as a shapefile")
    ask.add_argument("--pack", default="", help="a law; without it measures alone")
    ask.add_argument("--folder", type=Path, help="a county that is there")
    given = ask.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        return _bench(given, Path(folder))


def _bench(given: Any, work: Path) -> int:
    county = given.folder
    if county is None:
        county = work / "county"
        make_county(given.parcels, county)
    file = work / ("parcels.shp" if given.shp else "parcels.parquet")
    if given.shp:
        gpd.read_parquet(county / "parcels.parquet").to_file(file)
    else:
        shutil.copyfile(county / "parcels.parquet", file)
    others: dict[str, Any] = {
        k: county / f"{k}.parquet" for k in ("wetlands", "watercourses", "soils", "floodplain")
    }
    law = {"packs": [given.pack]} if given.pack else {"packs": [], "measure": {"buffer_ft": 100,
           "hydric_pct": 66, "steep_pct": 30}}  # fmt: skip

    def site() -> wetgis.Site:
        return wetgis.Site.from_layers(
            parcels=wetgis.Layer(file, id="id"), dem=county / "dem.tif", crs=CRS,
            as_of="2026-11-30", **others, **law,
        )  # fmt: skip

    full, read_all = timed("read the site without an index", site)
    ids = full.layers["parcels"].ids()
    _, first_all = timed("first parcel without an index", lambda: wetgis.assess(full, ids[0]))
    index, _ = timed("build the index", lambda: index_parcels(file, crs=CRS, id="id"))
    print(f"{'size on disk':<34}{index.size / 1e6:9.1f} MB")
    timed("open the index", lambda: open_index(index.request))
    held, read = timed("read the site with it", site)
    _, first = timed("first parcel with it", lambda: wetgis.assess(held, ids[0]))
    times = []
    for name in np.random.default_rng(1).choice(ids, 41, replace=False):
        started = time.perf_counter()
        wetgis.assess(held, name)
        times.append(time.perf_counter() - started)
    one = float(np.median(times[1:]))
    print(f"{'one parcel, warm (median of 40)':<34}{one:9.3f} s (slowest {max(times[1:]):.3f})")
    print(f"{'fresh: all against the index':<34}{(read_all + first_all) / (read + first):9.1f}")
    print(f"{'warm: a full reading against one':<34}{read_all / one:9.1f}")
    return int(one >= WANTED)


if __name__ == "__main__":
    sys.exit(main())
