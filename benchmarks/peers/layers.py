"""What several peers share: the county's layers as shapely arrays, and tables of answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from benchmarks.job import BUFFER_FT, QUADS

Geometries = NDArray[np.object_]
Floats = NDArray[np.float64]


def read(county: Path, sample: int) -> dict[str, Any]:
    """Every layer as a GeoDataFrame; every ``sample``-th parcel, ``row`` its row in the file."""
    import geopandas as gpd

    from benchmarks.county import LAYERS

    layers = {k: gpd.read_parquet(county / f"{k}.parquet") for k in LAYERS}
    layers["parcels"]["row"] = np.arange(len(layers["parcels"]))
    layers["parcels"] = layers["parcels"].iloc[::sample].reset_index(drop=True)
    layers["hydric"] = layers["soils"][layers["soils"]["hydric_pct_low"] > 50]
    return layers


def buffers(layers: dict[str, Any]) -> Geometries:
    """The buffer of each wetland and watercourse, the feature in it."""
    both = np.concatenate(
        [layers[k].geometry.to_numpy() for k in ("wetlands", "watercourses")]
    ).astype(object)
    out: Geometries = shapely.buffer(both, BUFFER_FT, quad_segs=QUADS)
    return out


def filled(count: int, rows: Any, values: Any, empty: float = 0.0) -> Floats:
    """Values at their rows, something else where there is none."""
    out = np.full(count, empty)
    out[np.asarray(rows, dtype=np.int64)] = np.asarray(values, dtype=float)
    return out
