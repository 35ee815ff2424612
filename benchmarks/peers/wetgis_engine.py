"""wetgis itself: a site from GeoParquet, measured, the measures written as Parquet."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.job import BUFFER_FT, Clock

TITLE = "wetgis"
PACKAGES = ("wetgis", "shapely", "numpy", "numba", "geopandas", "pyarrow", "rasterio")
COLUMNS = {
    "wet": "wetland_sqft", "buf": "buffer_sqft", "hyd": "hydric_sqft", "flood": "floodplain_sqft",
    "d_wet": "wetland_ft", "d_wat": "watercourse_ft", "steep": "steep_sqft",
}  # fmt: skip


def missing() -> str:
    """Always here."""
    return ""


def prepare() -> None:
    """Imports; the compiled kernels are read from their cache in the job itself."""
    import pyarrow.parquet
    import rasterio

    del pyarrow, rasterio


def site_of(county: Path) -> Any:
    """The county as a site, with the numbers of the job and no pack."""
    import wetgis

    kinds = ("parcels", "wetlands", "watercourses", "soils", "floodplain")
    return wetgis.Site.from_layers(
        **{kind: str(county / f"{kind}.parquet") for kind in kinds},
        dem=wetgis.Layer(str(county / "dem.tif"), z_unit="us-ft"),
        packs=[],
        crs="EPSG:2260",
        measure={"buffer_ft": BUFFER_FT, "hydric_pct": 50.0, "steep_pct": 30.0},
    )


def run(county: Path, clock: Clock, sample: int) -> dict[str, Any]:
    """The whole job; ``sample`` is not used."""
    from wetgis import engine

    assert sample == 1
    clock.start()
    site = site_of(county)
    clock("read")
    for name, phase in (("distances", "distances"), ("slopes", "slope")):
        setattr(engine, name, _timed(getattr(engine, name), clock, phase))
    if os.environ.get("WETGIS_BENCH_FULL"):
        return _full(site, clock)
    table = engine.measure_site(site, BUFFER_FT, engine.Run(full=False)).table
    clock("areas")
    with tempfile.TemporaryDirectory() as folder:
        table.to_parquet(Path(folder) / "measures.parquet")
    clock("write")
    return _answers(table)


def _full(site: Any, clock: Clock) -> dict[str, Any]:
    """With contacts, parts, findings, report and every file of a run."""
    import wetgis

    with tempfile.TemporaryDirectory() as folder:
        found = wetgis.screen(site, out=folder)
    clock("areas")
    return _answers(found.measures)


def _answers(table: Any) -> dict[str, Any]:
    found = {k: table[name].to_numpy(float) for k, name in COLUMNS.items()}
    found["reg"] = found["wet"] + found.pop("buf")
    found["row"] = table["subject_id"].str[1:].astype(int).to_numpy()
    return {k: np.asarray(v) for k, v in found.items()}


def _timed(function: Callable[..., Any], clock: Clock, phase: str) -> Callable[..., Any]:
    """The same function with a phase of its own."""

    def timed(*args: Any, **kwargs: Any) -> Any:
        clock("areas")
        out = function(*args, **kwargs)
        clock(phase)
        return out

    return timed
