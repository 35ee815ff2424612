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


#: Which part of the job is done, by the environment: a ratio is taken on the same part.
WHOLE, NO_TERRAIN, TERRAIN, FULL = "all", "without terrain", "terrain", "with all outputs"
#: The whole job with the layers on disk and the measures written piece by piece.
STREAMED = "from disk to disk"
JOB = "WETGIS_BENCH_JOB"


def prepare() -> None:
    """Imports; the compiled kernels are read from their cache in the job itself."""
    import pyarrow.parquet
    import rasterio

    import wetgis.engine
    import wetgis.kernels
    import wetgis.nearkernels
    import wetgis.rasters.surface
    import wetgis.sources.parquet
    import wetgis.sources.reading

    del pyarrow, rasterio, wetgis


def site_of(county: Path, job: str = WHOLE, store: Path | None = None) -> Any:
    """The county as a site, with the numbers of the job and no pack, in memory or in a store."""
    import wetgis

    kinds = ("parcels", "wetlands", "watercourses", "soils", "floodplain")
    if job == TERRAIN:
        kinds = kinds[:1]
    dem = wetgis.Layer(str(county / "dem.tif"), z_unit="us-ft")
    return wetgis.Site.from_layers(
        **{kind: str(county / f"{kind}.parquet") for kind in kinds},
        dem=None if job == NO_TERRAIN else dem,
        packs=["rye-ny-195"] if job == FULL else [],
        crs="EPSG:2260",
        measure={"buffer_ft": BUFFER_FT, "hydric_pct": 50.0, "steep_pct": 30.0},
        store=store,
    )


def run(county: Path, clock: Clock, sample: int) -> dict[str, Any]:
    """The whole job; ``sample`` is not used."""
    from wetgis import engine

    assert sample == 1
    job = os.environ.get(JOB, WHOLE)
    clock.start()
    if job in (STREAMED, FULL):
        with tempfile.TemporaryDirectory() as folder:
            site = site_of(county, job, Path(folder) / "layers")
            clock("read")
            return (_full if job == FULL else _streamed)(site, clock, Path(folder))
    site = site_of(county, job)
    clock("read")
    if job == TERRAIN:
        return _terrain(site, clock)
    engine.distances = _timed(engine.distances, clock, "distances")
    table = engine.measure_site(site, BUFFER_FT, engine.Run(full=False)).table
    clock("areas")
    with tempfile.TemporaryDirectory() as folder:
        table.to_parquet(Path(folder) / "measures.parquet")
    clock("write")
    return _answers(table)


def _terrain(site: Any, clock: Clock) -> dict[str, Any]:
    """Steep ground alone."""
    from wetgis import engine, tiles

    scene = engine.scene_of(site)
    subjects, _, _ = engine.subjects_of(site, scene.scale)
    columns, _ = engine.slopes(scene, subjects, tiles.plan(subjects, scene.scale))
    clock("slope")
    rows = subjects.table["subject_id"].str[1:].astype(int).to_numpy()
    return {"steep": columns["steep_sqft"], "row": rows}


def _full(site: Any, clock: Clock, folder: Path) -> dict[str, Any]:
    """With contacts, parts, findings under a law, report and every file of a run."""
    import pandas as pd

    import wetgis
    from wetgis import outputs

    real = outputs.write_finished

    def write(*args: Any, **kwargs: Any) -> Any:
        clock("measured and found")
        return real(*args, **kwargs)

    outputs.write_finished = write
    wetgis.screen_to(site, folder / "run")
    clock("write")
    asked = ["subject_id", *COLUMNS.values()]
    return _answers(pd.read_parquet(folder / "run" / "measures.parquet", columns=asked))


def _streamed(site: Any, clock: Clock, folder: Path) -> dict[str, Any]:
    """The measures of each bucket go to a file of their own, and are read for the answers."""
    import pandas as pd

    from wetgis.engine import Run
    from wetgis.spread import spread_site

    spread = spread_site(site, BUFFER_FT, Run(full=False), folder / "tiles")
    clock("areas and distances")
    for number in range(spread.buckets):
        table = spread.bucket(number)[0].table
        table.to_parquet(folder / f"measures-{number:05d}.parquet")
    clock("write")
    files = sorted(folder.glob("measures-*.parquet"))
    asked = ["subject_id", *COLUMNS.values()]
    return _answers(pd.concat([pd.read_parquet(f, columns=asked) for f in files]))


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
