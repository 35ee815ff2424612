"""geopandas: ``buffer``, ``union_all`` taken apart again, ``overlay``, ``sjoin_nearest``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.job import Clock
from benchmarks.peers.layers import buffers, read

TITLE = "geopandas.overlay"
PACKAGES = ("geopandas", "shapely")


def missing() -> str:
    """Always here."""
    return ""


def prepare() -> None:
    """Imports."""
    import geopandas

    del geopandas


def run(county: Path, clock: Clock, sample: int) -> dict[str, Any]:
    """The job, with every layer dissolved as a whole as ``overlay`` needs it."""
    import geopandas as gpd

    clock.start()
    layers = read(county, sample)
    parcels = layers["parcels"]
    clock("read")
    regulated = gpd.GeoSeries(buffers(layers), crs=parcels.crs)
    sources = {
        "wet": layers["wetlands"].geometry,
        "reg": regulated,
        "flood": layers["floodplain"].geometry,
    }
    united = {
        k: gpd.GeoSeries([g.union_all()], crs=parcels.crs).explode() for k, g in sources.items()
    }
    united["hyd"] = layers["hydric"].geometry
    clock("buffer and union")
    own = parcels[["geometry"]].assign(number=np.arange(len(parcels)))
    answers: dict[str, Any] = {"row": parcels["row"].to_numpy()}
    for name, layer in united.items():
        frame = gpd.GeoDataFrame(geometry=layer.reset_index(drop=True))
        met = gpd.overlay(own, frame, how="intersection", keep_geom_type=True)
        answers[name] = np.bincount(met["number"], met.area, len(own))
        clock("areas", sample)
    for name, kind in (("d_wet", "wetlands"), ("d_wat", "watercourses")):
        near = gpd.sjoin_nearest(own, layers[kind][["geometry"]], distance_col="feet")
        answers[name] = near.groupby("number")["feet"].min().reindex(own["number"]).to_numpy()
        clock("distances", sample)
    return answers
