"""What a raster says under each of many shapes: shares, mean and maximum, by exact coverage.

The raster is asked for windows only, and a window holds the shapes of one block of cells, so memory
follows the block. Each shape is done in one window (a large one in strips of rows), in an order of
its own: its numbers have the same bits whichever shapes it is asked together with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from wetgis.rasters.coverage import (
    ABOVE,
    IMPOSSIBLE,
    KNOWN,
    MAXIMUM,
    OUTSIDE,
    SUM,
    UNKNOWN,
    cover,
    new_sums,
    pixel_polygons,
    trace,
)

if TYPE_CHECKING:
    from pyproj import CRS

    from wetgis.rasters.horn import Grid

__all__ = ["Read", "summarise"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Geometries = NDArray[np.object_]
Rows = tuple[int, int]
#: Values and noise of the cells of some rows and columns of the grid.
Read = Callable[[Rows, Rows], tuple[Floats, NDArray[np.float32]]]

#: Shapes are gathered by blocks of so many rows and columns; a larger shape goes alone.
BLOCK = 1024
#: Cells of a strip of a shape that is larger than a block.
STRIP_CELLS = 1 << 20
#: Longest edge, in metres, that is moved to another CRS unbroken, on cells of 1 m. Straight
#: lines of two CRSs part by about 2e-7 / m x length^2 / 8: this keeps it under 1e-3 cells.
EDGE_M = 200.0


def summarise(
    grid: Grid, read: Read, geometries: Geometries, crs: CRS, above: float
) -> dict[str, Floats]:
    """Shares, mean and maximum of a raster under each shape.

    Parameters
    ----------
    grid : Grid
        Of the raster.
    read : callable
        Gives values and noise of rows and columns that lie inside the grid.
    geometries : array of geometries
        2-D and valid, in ``crs``; None and empty ones give NaN.
    crs : CRS
        Theirs. Where it is not the grid's, long edges are broken up and the shapes moved.
    above : float
        Threshold, or NaN.

    Returns
    -------
    dict of float64 arrays
        ``covered``, ``known``, ``unknown``, ``above``, ``impossible``: shares of the shape's area
        (length for lines, count for points); ``mean``, ``max`` over its known part. Nothing known:
        ``above``, ``mean`` and ``max`` are NaN.
    """
    out = {k: np.full(len(geometries), np.nan) for k in _NAMES}
    index = np.flatnonzero(_has_places(geometries))
    moved, carried = _onto(grid, geometries[index], crs)
    for k, nothing in (("covered", 0.0), ("known", 0.0), ("impossible", 0.0), ("unknown", 1.0)):
        out[k][index] = nothing
    index, moved = index[carried], moved[carried]
    dimension = _dimension(moved)
    for kind, run in ((2, _polygons), (1, _lines), (0, _points)):
        of = dimension == kind
        if of.any():
            sums, total, boxes = run(grid, read, moved[of], above)
            _shares(out, index[of], sums, np.where(_inside(boxes, grid), 0.0, total))
    if np.isnan(above):
        out["above"][:] = np.nan
    return out


_NAMES = ("covered", "known", "unknown", "above", "impossible", "mean", "max")


def _has_places(geometries: Geometries) -> NDArray[np.bool_]:
    import shapely

    there: NDArray[np.bool_] = ~(shapely.is_missing(geometries) | shapely.is_empty(geometries))
    return there


def _shares(out: dict[str, Floats], index: Ints, sums: Floats, total: Floats) -> None:
    """Sums to shares; ``total`` is the shape's own measure where part of it lies off the grid."""
    seen = sums[:, KNOWN] + sums[:, UNKNOWN]
    whole = seen + sums[:, OUTSIDE]
    # the two are summed differently: rounding must not look like ground without a cell
    whole = np.where(total > whole * (1.0 + 1e-11), total, whole)
    known = sums[:, KNOWN] > 0.0
    with np.errstate(invalid="ignore", divide="ignore"):
        out["covered"][index] = np.where(whole > 0.0, seen / whole, 0.0)
        out["known"][index] = np.where(known, sums[:, KNOWN] / whole, 0.0)
        out["unknown"][index] = np.where(known, (whole - sums[:, KNOWN]) / whole, 1.0)
        out["above"][index] = np.where(known, sums[:, ABOVE] / whole, np.nan)
        out["impossible"][index] = np.where(whole > 0.0, sums[:, IMPOSSIBLE] / whole, 0.0)
        out["mean"][index] = np.where(known, sums[:, SUM] / sums[:, KNOWN], np.nan)
    out["max"][index] = np.where(known, sums[:, MAXIMUM], np.nan)


def _dimension(geometries: Geometries) -> Ints:
    """2 where there is an area, else 1 where there is a length, else 0."""
    import shapely

    flat = shapely.area(geometries) == 0.0
    if not flat.any():
        return np.full(len(geometries), 2)
    return np.where(~flat, 2, np.where(shapely.length(geometries) == 0.0, 0, 1))


def _onto(grid: Grid, geometries: Geometries, crs: CRS) -> tuple[Geometries, NDArray[np.bool_]]:
    """Shapes in the grid's CRS, and which of them could be carried there."""
    import shapely

    everything = np.ones(len(geometries), bool)
    transformer = _way(crs, grid) if len(geometries) else None
    if transformer is None:
        return geometries, everything
    unit = float(crs.axis_info[0].unit_conversion_factor)
    longest = EDGE_M * np.sqrt(grid.cell_metres) / (unit * (6.4e6 if crs.is_geographic else 1.0))
    x0, y0, x1, y1 = shapely.bounds(geometries).T
    long = np.hypot(x1 - x0, y1 - y0) > longest
    out = geometries.copy()
    out[long] = shapely.segmentize(out[long], longest)
    out = shapely.transform(
        out, lambda x, y: transformer.transform(x, y, errcheck=False), interleaved=False
    )
    xy, of = shapely.get_coordinates(out, return_index=True)
    everything[of[~np.isfinite(xy).all(axis=1)]] = False
    return out, everything


#: The last pair of CRSs and the way between them: comparing two CRSs costs more than a small call.
_last: tuple[Any, Any, Any] = (None, None, None)


def _way(crs: CRS, grid: Grid) -> Any:
    """The transformer onto the grid, or None where the two CRSs are the same."""
    from wetgis.operations import find_operation
    from wetgis.projection import geographic_bounds, same_crs

    global _last
    known_crs, known_grid, transformer = _last
    if crs is known_crs and grid is known_grid:
        return transformer
    transformer = None
    if not same_crs(crs, grid.crs):
        # the operation is chosen by the grid's extent: the same whichever shapes are asked
        west, south, east, north = geographic_bounds(grid.crs, grid.bounds)
        box = (np.floor(west), np.floor(south), np.ceil(east), np.ceil(north))
        transformer, _ = find_operation(crs, grid.crs, tuple(float(v) for v in box))
    _last = crs, grid, transformer
    return transformer


def _rings(geometries: Geometries) -> tuple[Floats, Ints, NDArray[np.bool_], Ints]:
    """Coordinates, ring offsets, which rings are shells, and each geometry's first ring."""
    import shapely

    from wetgis.shapes import areal

    parts, of = areal(geometries)
    rings, part = shapely.get_rings(parts, return_index=True)
    offset = np.zeros(len(rings) + 1, np.int64)
    np.cumsum(shapely.get_num_coordinates(rings), out=offset[1:])
    is_shell = np.ones(len(rings), bool)
    is_shell[1:] = part[1:] != part[:-1]
    first = np.searchsorted(of[part], np.arange(len(geometries) + 1))
    return shapely.get_coordinates(rings), offset, is_shell, first


def _polygons(
    grid: Grid, read: Read, geometries: Geometries, above: float
) -> tuple[Floats, Floats, Ints]:
    shapes = pixel_polygons(*_rings(geometries), grid.transform)
    boxes = np.hstack([shapes.origin, shapes.origin + shapes.size])
    sums = new_sums(len(geometries))
    for pick, rows, cols in _windows(boxes, grid):
        cover(shapes, pick, read(rows, cols), (cols[0], rows[0]), above, sums)
    return sums, shapes.area, boxes


def _lines(
    grid: Grid, read: Read, geometries: Geometries, above: float
) -> tuple[Floats, Floats, Ints]:
    """Lines, and the outlines of polygons without an area."""
    import shapely

    flat = shapely.get_dimensions(geometries) == 2
    geometries = np.where(flat, shapely.boundary(geometries), geometries)
    parts, of = _parts(geometries, (1, 2))
    xy, part = shapely.get_coordinates(parts, return_index=True)
    one = part[1:] == part[:-1]
    ends = np.hstack([xy[:-1], xy[1:]])[one]
    length = np.hypot(ends[:, 2] - ends[:, 0], ends[:, 3] - ends[:, 1])
    return _traced(grid, read, (ends, length, of[part[:-1][one]]), (len(geometries), above))


def _points(
    grid: Grid, read: Read, geometries: Geometries, above: float
) -> tuple[Floats, Floats, Ints]:
    import shapely

    xy, of = shapely.get_coordinates(geometries, return_index=True)
    return _traced(
        grid, read, (np.hstack([xy, xy]), np.ones(len(xy)), of), (len(geometries), above)
    )


def _parts(geometries: Geometries, types: tuple[int, ...]) -> tuple[Geometries, Ints]:
    """Parts of some types among parts and collections, and the position of each one's geometry."""
    import shapely

    index, parts = np.arange(len(geometries)), geometries
    while (shapely.get_type_id(parts) > 3).any():
        parts, of = shapely.get_parts(parts, return_index=True)
        index = index[of]
    keep = np.isin(shapely.get_type_id(parts), types)
    return parts[keep], index[keep]


def _traced(
    grid: Grid, read: Read, segments: tuple[Floats, Floats, Ints], what: tuple[int, float]
) -> tuple[Floats, Floats, Ints]:
    """Trace segments, given by their ends in the grid's CRS, weight and owner."""
    ends, weight, owner = segments
    n, above = what
    uv = np.hstack([_to_pixel(grid, ends[:, :2]), _to_pixel(grid, ends[:, 2:])])
    low = np.full((n, 2), np.inf)
    high = np.full((n, 2), -np.inf)
    for k in (0, 2):
        np.minimum.at(low, owner, uv[:, k : k + 2])
        np.maximum.at(high, owner, uv[:, k : k + 2])
    # a line along a cell line may fall to either side of it
    boxes = np.hstack([np.floor(low), np.floor(high) + 1]).astype(np.int64)
    start = np.searchsorted(owner, np.arange(n + 1))
    sums = new_sums(n)
    for pick, rows, cols in _windows(boxes, grid):
        take = np.concatenate([np.arange(start[p], start[p + 1]) for p in pick])
        some = (np.ascontiguousarray(uv[take]), weight[take], owner[take])
        trace(some, read(rows, cols), (cols[0], rows[0]), above, sums)
    return sums, np.bincount(owner, weight, n).astype(np.float64), boxes


def _to_pixel(grid: Grid, xy: Floats) -> Floats:
    a, b, c, d, e, f = grid.transform
    dx, dy = xy[:, 0] - c, xy[:, 1] - f
    if b == 0.0 and d == 0.0:
        return np.column_stack([dx / a, dy / e])
    det = a * e - b * d
    return np.column_stack([(e * dx - b * dy) / det, (a * dy - d * dx) / det])


def _inside(boxes: Ints, grid: Grid) -> NDArray[np.bool_]:
    inside: NDArray[np.bool_] = (
        (boxes[:, 0] >= 0) & (boxes[:, 1] >= 0)
        & (boxes[:, 2] <= grid.width) & (boxes[:, 3] <= grid.height)
    )  # fmt: skip
    return inside


def _windows(boxes: Ints, grid: Grid) -> Iterator[tuple[Ints, Rows, Rows]]:
    """Which shapes to do with which rows and columns, block by block; shapes off the grid in none.

    Parameters
    ----------
    boxes : array (n, 4)
        First column and row, end column and row of each shape.
    """
    c0, r0 = np.maximum(boxes[:, 0], 0), np.maximum(boxes[:, 1], 0)
    c1, r1 = np.minimum(boxes[:, 2], grid.width), np.minimum(boxes[:, 3], grid.height)
    on = (c1 > c0) & (r1 > r0)
    if on.any():
        rows = int(r0[on].min()), int(r1[on].max())
        cols = int(c0[on].min()), int(c1[on].max())
        if rows[1] - rows[0] <= BLOCK and cols[1] - cols[0] <= BLOCK:
            yield np.flatnonzero(on), rows, cols
            return
    large = on & ((c1 - c0 > BLOCK) | (r1 - r0 > BLOCK))
    small = np.flatnonzero(on & ~large)
    block = (r0 + r1)[small] // (2 * BLOCK), (c0 + c1)[small] // (2 * BLOCK)
    # within a block along bands of rows: neighbours then find their cells in the processor's cache
    order = np.lexsort((c0[small], r0[small] // 128, block[1], block[0]))
    key = np.column_stack(block)[order]
    cuts = np.flatnonzero((np.diff(key, axis=0) != 0).any(axis=1)) + 1
    for pick in np.split(small[order], cuts) if len(small) else ():
        rows = int(r0[pick].min()), int(r1[pick].max())
        cols = int(c0[pick].min()), int(c1[pick].max())
        yield pick, rows, cols
    for p in np.flatnonzero(large):
        step = max(1, STRIP_CELLS // int(c1[p] - c0[p]))
        for row in range(int(r0[p]), int(r1[p]), step):
            rows = row, min(row + step, int(r1[p]))
            yield np.array([p]), rows, (int(c0[p]), int(c1[p]))
