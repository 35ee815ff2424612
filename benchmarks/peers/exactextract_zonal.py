"""exactextract: the steep cells under each parcel, by covered fractions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.job import Clock
from benchmarks.peers import lacking
from benchmarks.peers.zonal import parcels, remove, steep_cells

TITLE = "exactextract"
PACKAGES = ("exactextract",)


def missing() -> str:
    """Why it cannot run here."""
    return lacking("exactextract")


def prepare() -> None:
    """Imports."""
    import exactextract
    import geopandas
    import rasterio

    import wetgis

    del exactextract, geopandas, rasterio, wetgis


def run(county: Path, clock: Clock, sample: int) -> dict[str, Any]:
    """Steep square feet."""
    from exactextract import exact_extract

    path, cell = steep_cells(county)
    own = parcels(county, sample)
    clock.start()
    found = exact_extract(str(path), own, ["sum"], output="pandas", strategy="raster-sequential")
    clock("slope", sample)
    remove(path)
    return {"row": own["row"].to_numpy(), "steep": found["sum"].to_numpy(float) * cell}
