"""rasterstats: the steep cells whose centre lies in each parcel."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.job import Clock
from benchmarks.peers import lacking
from benchmarks.peers.zonal import parcels, remove, steep_cells

TITLE = "rasterstats (cell centres)"
PACKAGES = ("rasterstats",)


def missing() -> str:
    """Why it cannot run here."""
    return lacking("rasterstats")


def prepare() -> None:
    """Imports."""
    import geopandas
    import rasterstats

    import wetgis

    del geopandas, rasterstats, wetgis


def run(county: Path, clock: Clock, sample: int) -> dict[str, Any]:
    """Steep square feet, roughly."""
    from rasterstats import zonal_stats

    path, cell = steep_cells(county)
    own = parcels(county, sample)
    clock.start()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = zonal_stats(own, str(path), stats=["sum"])
    clock("slope", sample)
    remove(path)
    steep = np.array([row["sum"] or 0.0 for row in rows], dtype=float) * cell
    return {"row": own["row"].to_numpy(), "steep": steep}
