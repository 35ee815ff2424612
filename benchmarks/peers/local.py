"""The best that was written by hand with shapely alone: no dissolve of the whole, no tiles.

Pairs from the R-tree, an intersection for each, and a union of the few overlaps of each parcel.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import shapely

from benchmarks.job import Clock
from benchmarks.peers.layers import Floats, Geometries, buffers, read

TITLE = "shapely, union per parcel"
PACKAGES = ("geopandas", "shapely")


def missing() -> str:
    """Always here."""
    return ""


def prepare() -> None:
    """Imports."""
    import geopandas

    del geopandas


def _area(own: Geometries, layer: Geometries) -> Floats:
    parcel, piece = shapely.STRtree(layer).query(own, predicate="intersects")
    met = shapely.intersection(own[parcel], layer[piece])
    count = np.bincount(parcel, minlength=len(own))
    single = count[parcel] == 1
    out = np.bincount(parcel[single], shapely.area(met[single]), len(own))
    several, at = np.unique(parcel[~single], return_inverse=True)
    if len(several):
        order = np.argsort(at, kind="stable")
        padded = np.full((len(several), int(count.max())), None, dtype=object)
        first = np.cumsum(count[several]) - count[several]
        place = np.arange(len(order)) - np.repeat(first, count[several])
        padded[at[order], place] = met[~single][order]
        out[several] = shapely.area(shapely.union_all(padded, axis=1))
    return out


def run(county: Path, clock: Clock, sample: int) -> dict[str, Any]:
    """The job."""
    clock.start()
    layers = read(county, sample)
    own = layers["parcels"].geometry.to_numpy()
    clock("read")
    of = {k: layers[k].geometry.to_numpy() for k in ("wetlands", "floodplain", "hydric")}
    sources = {
        "wet": of["wetlands"],
        "reg": buffers(layers),
        "hyd": of["hydric"],
        "flood": of["floodplain"],
    }
    clock("buffer and union")
    answers: dict[str, Any] = {"row": layers["parcels"]["row"].to_numpy()}
    for name, layer in sources.items():
        answers[name] = _area(own, layer)
        clock("areas", sample)
    for name, kind in (("d_wet", "wetlands"), ("d_wat", "watercourses")):
        tree = shapely.STRtree(layers[kind].geometry.to_numpy())
        answers[name] = tree.query_nearest(own, return_distance=True, all_matches=False)[1]
        clock("distances", sample)
    return answers
