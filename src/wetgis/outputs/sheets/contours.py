"""Contours from a DEM, drawn on its own grid and only then brought to the sheet's CRS."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wetgis.units import FT_PER_METRE

if TYPE_CHECKING:
    import geopandas as gpd

    from wetgis.rasters.surface import Surface

__all__ = ["contour_lines", "vertical_datum"]

#: Every fifth contour is an index contour.
INDEX = 5
#: Windows beyond this many cells are not contoured: a drawing would be black with lines.
MAX_CELLS = 40_000_000


def contour_lines(
    surface: Surface, crs: Any, bounds: tuple[float, float, float, float], *, interval_ft: float
) -> tuple[gpd.GeoDataFrame, str]:
    """Contours of the ground within a box.

    Parameters
    ----------
    surface : Surface
        Heights.
    crs : CRS
        Of the box and of the result.
    bounds : (west, south, east, north)
        In ``crs``.
    interval_ft : float
        In survey feet, from 0 of the DEM's own heights.

    Returns
    -------
    contours, why
        ``level_ft``, ``index`` (every fifth) and lines; why there are none, or not everywhere.

    Notes
    -----
    Lines run between cell centres by linear interpolation; nothing is smoothed, and none runs
    over a cell without a height.
    """
    import geopandas as gpd
    import shapely

    from wetgis.crs import transform

    empty = gpd.GeoDataFrame({"level_ft": [], "index": []}, geometry=[], crs=crs)
    rows, cols = _window(surface, crs, bounds)
    if rows[1] - rows[0] < 2 or cols[1] - cols[0] < 2:
        return empty, "the DEM does not reach this ground"
    if (rows[1] - rows[0]) * (cols[1] - cols[0]) > MAX_CELLS:
        return empty, "the DEM is too fine for so much ground"
    with surface.reader() as reader:
        cells, _ = reader.cells(rows, cols)
    heights = cells * surface.band.metres * FT_PER_METRE
    if not np.isfinite(heights).any():
        return empty, "the DEM has no height here"
    levels, lines = _traced(heights, interval_ft)
    if not lines:
        return empty, "the ground is level within one interval"
    shift = np.array([cols[0] + 0.5, rows[0] + 0.5])
    drawn = [np.column_stack(surface.grid.xy(*(line + shift).T)) for line in lines]
    steps = np.round(np.array(levels) / interval_ft).astype(int)
    frame = gpd.GeoDataFrame(
        {"level_ft": levels, "index": steps % INDEX == 0},
        geometry=[shapely.linestrings(line) for line in drawn],
        crs=surface.grid.crs,
    )
    return transform(frame, crs)[0], _gap(surface, heights, (rows, cols), crs, bounds)


def _gap(
    surface: Surface,
    heights: Any,
    window: tuple[tuple[int, int], tuple[int, int]],
    crs: Any,
    bounds: tuple[float, float, float, float],
) -> str:
    """Whether some of the ground has no height: ground beyond the DEM, or cells without one."""
    import geopandas as gpd
    import shapely

    from wetgis.crs import transform

    col, row = _on_grid(surface, crs, bounds)
    beyond = (col.min() < 0) | (row.min() < 0)
    beyond |= (col.max() > surface.grid.width) | (row.max() > surface.grid.height)
    if not beyond:
        (top, _), (left, _) = window
        rows, cols = np.nonzero(~np.isfinite(heights))
        x, y = surface.grid.xy(cols.astype(float) + left + 0.5, rows.astype(float) + top + 0.5)
        places = gpd.GeoDataFrame(geometry=shapely.points(x, y), crs=surface.grid.crs)
        at = shapely.get_coordinates(transform(places, crs)[0].geometry.to_numpy())
        west, south, east, north = bounds
        inside = (at[:, 0] >= west) & (at[:, 0] <= east) & (at[:, 1] >= south) & (at[:, 1] <= north)
        beyond = bool(inside.any())
    return "the DEM leaves some of this ground out" if beyond else ""


def _traced(heights: Any, interval_ft: float) -> tuple[list[float], list[Any]]:
    """Levels and lines, in columns and rows of cell centres."""
    import contourpy

    low, high = np.nanmin(heights), np.nanmax(heights)
    steps = np.arange(np.ceil(low / interval_ft), np.floor(high / interval_ft) + 1)
    tracer = contourpy.contour_generator(
        z=np.ma.masked_invalid(heights), line_type=contourpy.LineType.Separate
    )
    levels: list[float] = []
    lines: list[Any] = []
    for level in steps * interval_ft:
        found = [line for line in tracer.lines(float(level)) if len(line) > 1]
        levels += [float(level)] * len(found)
        lines += found
    return levels, lines


def _on_grid(
    surface: Surface, crs: Any, bounds: tuple[float, float, float, float]
) -> tuple[Any, Any]:
    """Columns and rows of places along the edge of a box."""
    import geopandas as gpd
    import shapely

    from wetgis.crs import transform

    width = max(bounds[2] - bounds[0], bounds[3] - bounds[1])
    ring = shapely.segmentize(shapely.box(*bounds), width / 16)
    moved, _ = transform(gpd.GeoDataFrame(geometry=[ring], crs=crs), surface.grid.crs)
    x, y = shapely.get_coordinates(moved.geometry.array[0]).T
    a, b, c, d, e, f = surface.grid.transform
    det = a * e - b * d
    return (e * (x - c) - b * (y - f)) / det, (a * (y - f) - d * (x - c)) / det


def _window(
    surface: Surface, crs: Any, bounds: tuple[float, float, float, float]
) -> tuple[tuple[int, int], tuple[int, int]]:
    """Rows and columns of the grid that a box needs, one cell more on each side."""
    col, row = _on_grid(surface, crs, bounds)
    return _span(row, surface.grid.height), _span(col, surface.grid.width)


def _span(values: Any, count: int) -> tuple[int, int]:
    """Whole cells around values, one more on each side, within the grid."""
    return max(0, int(np.floor(values.min())) - 1), min(count, int(np.ceil(values.max())) + 1)


def vertical_datum(surface: Surface) -> str:
    """The vertical datum as the first file names it, empty where it does not."""
    import pyproj
    import rasterio

    with rasterio.open(surface.tiles[0].path) as data:
        if data.crs is None:
            return ""
        crs = pyproj.CRS.from_wkt(data.crs.to_wkt())
    if not crs.is_compound:
        return ""
    return str(crs.sub_crs_list[1].name)
