"""What the raster peers share: the county's steep cells as a raster of zeros and ones.

The raster is made beforehand and not counted: these peers only sum it inside the parcels, while
the phase of wetgis reads the heights and takes the slope too.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

STEEP_PCT = 30.0


def steep_cells(county: Path) -> tuple[Path, float]:
    """A raster of 1 where it is steeper than 30 per cent, and the area of a cell."""
    import rasterio

    from wetgis.rasters.surface import open_surface
    from wetgis.schema import EPS_PCT

    surface = open_surface([county / "dem.tif"], kind="dem", z_unit="us-ft")
    with rasterio.open(county / "dem.tif") as source, surface.reader() as reader:
        profile = {"crs": source.crs, "transform": source.transform}
        # a slope that is 30 per cent but for noise is not above it, as in wetgis
        values, noise = reader.values((0, source.height), (0, source.width))
        with np.errstate(invalid="ignore"):
            steep = (values > STEEP_PCT + np.maximum(noise, EPS_PCT)).astype(np.uint8)
        size = source.transform.a
    path = Path(tempfile.mkdtemp(prefix="wetgis-bench-")) / "steep.tif"
    with rasterio.open(
        path, "w", driver="GTiff", width=steep.shape[1], height=steep.shape[0], count=1,
        dtype="uint8", crs=profile["crs"], transform=profile["transform"], tiled=True,
        blockxsize=512, blockysize=512,
    ) as file:  # fmt: skip
        file.write(steep, 1)
    return path, float(size * size)


def parcels(county: Path, sample: int) -> Any:
    """Every ``sample``-th parcel and its row."""
    import geopandas as gpd

    frame = gpd.read_parquet(county / "parcels.parquet", columns=["geometry"])
    frame["row"] = np.arange(len(frame))
    return frame.iloc[::sample].reset_index(drop=True)


def remove(path: Path) -> None:
    """The raster and its folder."""
    shutil.rmtree(path.parent, ignore_errors=True)
