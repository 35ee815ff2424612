"""Raster files: what each says about itself, and several on one grid."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from wetgis.errors import CrsError, InputError
from wetgis.issuelog import Issue
from wetgis.rasters.horn import MAX_STRETCH, Grid, stretch
from wetgis.rasters.zunit import Words

__all__ = ["Handles", "Tile", "join_tiles", "open_tile"]

#: Files of one surface may be off a common grid by this part of a cell.
OFF_GRID = 1e-3
#: Files that one thread keeps open for one surface.
OPEN_FILES = 32


@dataclass(frozen=True)
class Tile:
    """One file of a surface; ``row`` and ``col`` are its first cell in the surface's grid.

    ``nodata`` is compared with raw cells in float64; None where the file declares none.
    ``masked`` where the file has a mask or an alpha band besides.
    """

    path: str
    driver: str
    grid: Grid
    nodata: float | None
    scale: float
    offset: float
    masked: bool
    itemsize: int
    row: int = 0
    col: int = 0

    @property
    def height(self) -> int:
        """Rows."""
        return self.grid.height

    @property
    def width(self) -> int:
        """Columns."""
        return self.grid.width


def open_tile(path: str) -> Any:
    """A rasterio dataset, read only.

    Raises
    ------
    InputError
        Where there is no such file, or it is no raster.
    """
    import rasterio
    from rasterio.errors import RasterioIOError

    try:
        return rasterio.open(path)
    except RasterioIOError as error:
        if "://" not in path and not path.startswith("/vsi") and not Path(path).exists():
            raise InputError(
                "there is no such file.", needed="a raster, as GeoTIFF", where=path
            ) from error
        raise InputError(
            "the file cannot be read as a raster.", needed="a raster, as GeoTIFF", where=path
        ) from error


class Handles:
    """Open files, a set of them for each thread of each process; pickled without any.

    GDAL keeps decoded blocks as long as a file stays open, and the next call may want the same.
    """

    def __init__(self) -> None:
        self._local = threading.local()

    def __reduce__(self) -> tuple[type[Handles], tuple[()]]:
        return Handles, ()

    def get(self, path: str) -> Any:
        """The dataset of a path, opened when it is first asked for."""
        files: OrderedDict[str, Any] | None = getattr(self._local, "files", None)
        # a forked process shares its parent's place in each open file
        if files is None or self._local.pid != os.getpid():
            files = self._local.files = OrderedDict()
            self._local.pid = os.getpid()
        if path not in files:
            files[path] = open_tile(path)
            if len(files) > OPEN_FILES:
                files.popitem(last=False)[1].close()
        files.move_to_end(path)
        return files[path]


def join_tiles(
    paths: list[str], kind: str
) -> tuple[tuple[Tile, ...], Grid, list[Words], list[Issue]]:
    """The files of a surface on one grid, with what they say about their numbers.

    Raises
    ------
    CrsError, InputError
        As ``surface.open_surface``.
    """
    issues: list[Issue] = []
    read = [_look(path, kind, issues) for path in paths]
    tiles, words = [r[0] for r in read], [r[1] for r in read]
    first = tiles[0].grid
    places = [_place(first, tile) for tile in tiles]
    row0, col0 = min(p[0] for p in places), min(p[1] for p in places)
    placed = tuple(
        replace(t, row=p[0] - row0, col=p[1] - col0) for t, p in zip(tiles, places, strict=True)
    )
    a, b, _, d, e, _ = first.transform
    corner = next((t.grid for t in placed if t.row == 0 and t.col == 0), None)
    if corner is not None:
        c, f = corner.transform[2], corner.transform[5]
    else:
        x, y = first.xy(np.array([float(col0)]), np.array([float(row0)]))
        c, f = float(x[0]), float(y[0])
    height = max(t.row + t.height for t in placed)
    width = max(t.col + t.width for t in placed)
    grid = Grid((a, b, c, d, e, f), height, width, first.crs, first.metres, first.crs.is_geographic)
    if kind != "values" and kind != "slope":
        grid = _on_ground(grid, kind, placed[0].path, issues)
    return placed, grid, words, issues


def _on_ground(grid: Grid, kind: str, file: str, issues: list[Issue]) -> Grid:
    """Whether lengths on the grid will do for a slope, or the ground's must be taken."""
    if grid.warped:
        return grid
    off = stretch(grid)
    if not off > MAX_STRETCH:
        return grid
    issues.append(
        Issue(
            "note",
            "unfit_crs",
            f"lengths on this raster's grid are off by up to {off:.1%}; slopes use the ground's"
            " lengths, row by row",
            layer=kind,
            file=file,
        )
    )
    return replace(grid, warped=True)


def _place(first: Grid, tile: Tile) -> tuple[int, int]:
    """Row and column of a tile's first cell on the first tile's grid."""
    from wetgis.projection import label, same_crs

    if not same_crs(first.crs, tile.grid.crs):
        raise CrsError(
            f"the files of one surface are in two CRSs: {label(first.crs)} and"
            f" {label(tile.grid.crs)}.",
            needed="one CRS and one grid",
            mend="warp them onto one grid first, or give one file",
            where=tile.path,
        )
    a, b, c, d, e, f = first.transform
    ta, tb, tc, td, te, tf = tile.grid.transform
    det = a * e - b * d
    col = (e * (tc - c) - b * (tf - f)) / det
    row = (a * (tf - f) - d * (tc - c)) / det
    reach = max(tile.height, tile.width)
    drift = max(abs(ta - a), abs(tb - b), abs(td - d), abs(te - e)) * reach / min(first.cell)
    off = max(abs(col - round(col)), abs(row - round(row)), drift)
    if off > OFF_GRID:
        raise InputError(
            f"the files of one surface do not share a grid: this one is off by {off:.3g} cells.",
            needed="files cut from one grid",
            mend="warp them onto one grid first, or give one file",
            where=tile.path,
        )
    return round(row), round(col)


def _look(path: str, kind: str, issues: list[Issue]) -> tuple[Tile, Words]:
    import warnings

    import rasterio

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # vertical CRSs in older GeoTIFFs are hidden unless they are asked for
        with rasterio.Env(GTIFF_REPORT_COMPD_CS="YES"), open_tile(path) as data:
            return _describe(path, data, kind, issues)


def _describe(path: str, data: Any, kind: str, issues: list[Issue]) -> tuple[Tile, Words]:
    if data.count < 1 or np.dtype(data.dtypes[0]).kind not in "iuf":
        raise InputError(
            f"the raster's first band holds {data.dtypes[0] if data.count else 'nothing'}.",
            needed="a band of whole or real numbers",
            where=path,
        )
    flags = {flag.name for flag in data.mask_flag_enums[0]}
    bands = sum(i.name != "alpha" for i in data.colorinterp)
    if bands > 1:
        issues.append(
            Issue("warning", "several_layers", f"the raster has {bands} bands; the first was read",
                  layer=kind, file=path)
        )  # fmt: skip
    grid, vertical = _grid(path, data)
    dtype = np.dtype(data.dtypes[0])
    tile = Tile(
        path=path,
        driver=data.driver,
        grid=grid,
        nodata=_nodata(data.nodatavals[0], dtype),
        scale=float(data.scales[0]),
        offset=float(data.offsets[0]),
        masked=not flags <= {"nodata", "all_valid"},
        itemsize=dtype.itemsize,
    )
    unit = vertical.axis_info[-1] if vertical is not None else None
    return tile, Words(
        path,
        band=data.units[0] or "",
        vertical=unit.unit_name if unit else "",
        vertical_metres=unit.unit_conversion_factor if unit else 0.0,
    )


def _nodata(value: float | None, dtype: np.dtype[Any]) -> float | None:
    """The declared nodata value as a cell would hold it; None where no cell can."""
    if value is None:
        return None
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return float(value) if value == int(value) and info.min <= value <= info.max else None
    with np.errstate(over="ignore"):
        return float(dtype.type(value))


def _grid(path: str, data: Any) -> tuple[Grid, Any]:
    """Where a file's cells lie, and its vertical CRS."""
    from wetgis.crs import as_crs, check_coordinates, is_unknown, suggestions_for_numbers
    from wetgis.units import metres_per_unit

    t = data.transform
    transform = (float(t.a), float(t.b), float(t.c), float(t.d), float(t.e), float(t.f))
    if data.crs is None or not data.crs.to_wkt():
        fit = ", ".join(suggestions_for_numbers(_corners(data)))
        raise CrsError(
            "the raster has no coordinate system.",
            needed="a raster that says what it is in",
            mend="write it into the file (gdal_edit.py -a_srs EPSG:...)"
            + (f"; these fit its numbers: {fit}" if fit else ""),
            where=path,
        )
    full = _pyproj(data.crs)
    crs = as_crs(full, where=path)
    if is_unknown(crs) or not (crs.is_projected or crs.is_geographic):
        raise CrsError(
            f"the raster's coordinate system '{crs.name}' is not one of the earth.",
            needed="a projected or a geographic CRS",
            mend="write the right one into the file (gdal_edit.py -a_srs EPSG:...)",
            where=path,
        )
    if t.a * t.e - t.b * t.d == 0.0 or t.is_identity:
        raise InputError(
            "the raster does not say where its cells lie.", needed="a geotransform", where=path
        )
    unit = crs.axis_info[0]
    exact = metres_per_unit(unit.unit_name) if crs.is_projected else None
    metres = float(unit.unit_conversion_factor if exact is None else exact)
    grid = Grid(transform, data.height, data.width, crs, metres, crs.is_geographic)
    x, y = grid.xy(np.array([0.0, data.width]), np.array([0.0, data.height]))
    if check_coordinates(crs, x, y).any():
        raise CrsError(
            f"the raster's corners ({x[0]:g}, {y[0]:g}; {x[1]:g}, {y[1]:g}) cannot be coordinates"
            f" of {crs.name}.",
            needed="the CRS that the raster is really in",
            where=path,
        )
    return grid, _vertical(full)


def _corners(data: Any) -> tuple[float, float, float, float]:
    b = data.bounds
    return (
        float(min(b.left, b.right)), float(min(b.bottom, b.top)),
        float(max(b.left, b.right)), float(max(b.bottom, b.top)),
    )  # fmt: skip


def _pyproj(crs: Any) -> Any:
    from pyproj import CRS

    return CRS.from_wkt(crs.to_wkt())


def _vertical(crs: Any) -> Any:
    """The vertical part of a compound or three-dimensional CRS, or None."""
    if crs.is_compound:
        return next((s for s in crs.sub_crs_list if s.is_vertical), None)
    return crs if len(crs.axis_info) == 3 and not crs.is_geocentric else None
