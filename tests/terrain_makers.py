"""Rasters for the terrain tests, made from a function of x and y."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import rasterio
from rasterio import Affine

Height = Callable[[np.ndarray, np.ndarray], np.ndarray]


def centres(transform: Affine, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates of the cells' centres."""
    col, row = np.meshgrid(np.arange(shape[1]) + 0.5, np.arange(shape[0]) + 0.5)
    return (
        transform.c + transform.a * col + transform.b * row,
        transform.f + transform.d * col + transform.e * row,
    )


def write(
    path: Path,
    cells: np.ndarray,
    transform: Affine,
    *,
    crs: str | None = "EPSG:2260",
    unit: str = "",
    **more: Any,
) -> Path:
    """One band as it is; ``more`` goes to GDAL, but ``scale``, ``offset`` and ``mask``."""
    scale, offset, mask = more.pop("scale", None), more.pop("offset", None), more.pop("mask", None)
    tags = more.pop("tags", None)
    with rasterio.open(
        path, "w", driver="GTiff", height=cells.shape[0], width=cells.shape[1], count=1,
        dtype=cells.dtype.name, crs=crs, transform=transform, **more,
    ) as data:  # fmt: skip
        if tags:
            data.update_tags(**tags)
        data.write(cells, 1)
        if unit:
            data.units = (unit,)
        if scale is not None:
            data.scales, data.offsets = (scale,), (offset,)
        if mask is not None:
            data.write_mask(mask)
    return path


def plane(
    path: Path,
    height: Height,
    *,
    origin: tuple[float, float] = (717_000.0, 783_000.0),
    cell: float = 10.0,
    shape: tuple[int, int] = (40, 40),
    dtype: str = "float64",
    unit: str = "US survey foot",
    **more: Any,
) -> Path:
    """Heights over x and y from the lower left corner, north up."""
    x0, y0 = origin
    transform = Affine(cell, 0, x0, 0, -cell, y0 + shape[0] * cell)
    x, y = centres(transform, shape)
    return write(path, height(x - x0, y - y0).astype(dtype), transform, unit=unit, **more)
