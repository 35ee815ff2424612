"""dask-geopandas: layers dissolved as a whole, parcels in eight parts, two threads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import shapely

from benchmarks.job import AREAS, DISTANCES, Clock
from benchmarks.peers import lacking
from benchmarks.peers.layers import buffers, read

TITLE = "dask-geopandas"
PACKAGES = ("dask-geopandas", "dask", "geopandas", "shapely")


def missing() -> str:
    """Why it cannot run here."""
    return lacking("dask_geopandas")


def prepare() -> None:
    """Imports."""
    import dask_geopandas

    del dask_geopandas


def run(county: Path, clock: Clock, sample: int) -> dict[str, Any]:
    """The job."""
    import dask_geopandas as dg
    import pandas as pd

    clock.start()
    layers = read(county, sample)
    clock("read")
    sources = {
        "wet": layers["wetlands"].geometry.to_numpy(), "reg": buffers(layers),
        "flood": layers["floodplain"].geometry.to_numpy(),
    }  # fmt: skip
    pieces = {k: shapely.get_parts(shapely.union_all(g)) for k, g in sources.items()}
    pieces["hyd"] = layers["hydric"].geometry.to_numpy()
    near = {"d_wet": sources["wet"], "d_wat": layers["watercourses"].geometry.to_numpy()}
    clock("buffer and union")

    def part(frame: Any) -> pd.DataFrame:
        own = frame.geometry.to_numpy()
        out = pd.DataFrame({"row": frame["row"].to_numpy()})
        for name, layer in pieces.items():
            parcel, piece = shapely.STRtree(layer).query(own, predicate="intersects")
            met = shapely.area(shapely.intersection(own[parcel], layer[piece]))
            out[name] = np.bincount(parcel, met, len(own)).astype(float)
        for name, layer in near.items():
            tree = shapely.STRtree(layer)
            out[name] = tree.query_nearest(own, return_distance=True, all_matches=False)[1]
        return out

    meta = {"row": pd.Series(dtype="int64")}
    meta |= {k: pd.Series(dtype=float) for k in (*pieces, *near)}
    parts = dg.from_geopandas(layers["parcels"][["row", "geometry"]], npartitions=8)
    parts = parts.spatial_shuffle(by="hilbert", npartitions=8)
    table = parts.map_partitions(part, meta=pd.DataFrame(meta)).compute(
        scheduler="threads", num_workers=2
    )
    clock("areas and distances", sample)
    return {k: table[k].to_numpy() for k in ("row", *AREAS, *DISTANCES)}
