"""Layers cut into cells of 750 ft, anchored at the origin of the coordinate system.

A county's buffers dissolve into one polygon of millions of vertices, against which every overlay
is slow. So nothing is ever dissolved globally: each layer is cut into cells, and united inside
its cell only. What a cell holds depends on the features in it and on nothing else: not on the
window that was read, nor on the worker, nor on the order of the records.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import shapely

from wetgis.segments import Edges, edges, sorted_by_x
from wetgis.shapes import areal, of_dimension, union_groups
from wetgis.workers import in_threads

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Geometries = NDArray[np.object_]

__all__ = [
    "CELL_FT",
    "TILE_CELLS",
    "CellGrid",
    "CellLayer",
    "Pieces",
    "Subdivided",
    "cut",
    "dissolve",
]

#: Large enough that little is cut, small enough that the cells around a tile are little ground.
CELL_FT = 750.0
#: Cells along a side of a tile: large enough that its margin is small beside it.
TILE_CELLS = 32
_FAR = 1e12
#: Cells left of and below the origin are counted from here, so that halving meets no sign.
_BIAS = 2**30


@dataclass(frozen=True)
class CellGrid:
    """A window of the grid of cells. ``size`` in CRS units; ``i0``, ``j0`` the first cell."""

    size: float
    i0: int
    j0: int
    columns: int
    rows: int

    @classmethod
    def over(cls, bounds: Floats, size: float) -> CellGrid:
        """The cells under any of these boxes (n x 4, NaN rows are passed over)."""
        usable = bounds[np.isfinite(bounds).all(axis=1)]
        if not len(usable):
            return cls(size, 0, 0, 1, 1)
        low = np.floor(usable[:, :2].min(axis=0) / size).astype(int)
        high = np.floor(usable[:, 2:].max(axis=0) / size).astype(int)
        return cls(size, int(low[0]), int(low[1]), *(int(n) for n in high - low + 1))

    @property
    def bounds(self) -> Floats:
        """The window, CRS units."""
        return (
            np.array([self.i0, self.j0, self.i0 + self.columns, self.j0 + self.rows], float)
            * self.size
        )

    def finer(self, times: int) -> CellGrid:
        """The same window with that many cells for each along a side."""
        return CellGrid(
            self.size / times,
            self.i0 * times,
            self.j0 * times,
            self.columns * times,
            self.rows * times,
        )

    def ranges(self, bounds: Floats) -> Ints:
        """First and last column and row under each box, relative to the window."""
        out = np.zeros((len(bounds), 4), np.int64)
        out[:, [1, 3]] = -1  # nothing under a box that is not one
        usable = np.isfinite(bounds).all(axis=1)
        cell = np.floor(bounds[usable] / self.size).astype(np.int64)
        first = np.array([self.i0, self.j0])
        out[usable] = np.column_stack(
            [
                cell[:, 0] - first[0],
                cell[:, 2] - first[0],
                cell[:, 1] - first[1],
                cell[:, 3] - first[1],
            ]
        )
        return out

    def box(self, cell: int) -> Floats:
        """The box of a cell, CRS units."""
        i, j = self.i0 + cell // self.rows, self.j0 + cell % self.rows
        return np.array([i, j, i + 1, j + 1], float) * self.size


@dataclass(frozen=True)
class Pieces:
    """Pieces of features, each in one cell; sorted by cell, then by feature."""

    geometries: Geometries
    cells: Ints
    owners: Ints


def cut(geometries: Geometries, grid: CellGrid, *, dimension: int = 2, threads: int = 2) -> Pieces:
    """Cut valid polygons (or, with ``dimension=1``, lines) into the cells of a window.

    A polygon is halved again and again at lines of the grid, so that a floodplain of 50,000
    vertices is not scanned once a cell; where the lines lie depends on the grid alone.
    """
    geometries = np.asarray(geometries, dtype=object)
    parts, owners = of_dimension(geometries, dimension)
    parts, first, columns = _halve(parts, np.arange(len(parts)), grid, 0, threads)
    owners = owners[first]
    parts, second, rows = _halve(parts, np.arange(len(parts)), grid, 1, threads)
    owners, columns = owners[second], columns[second]
    cells = (columns - grid.i0) * grid.rows + (rows - grid.j0)
    parts, of = of_dimension(parts, dimension)
    owners, cells = owners[of], cells[of]
    if dimension == 2:
        parts, owners, cells = _checked(parts, owners, cells, geometries, grid)
    order = np.lexsort((owners, cells))
    return Pieces(parts[order], cells[order].astype(np.int64), owners[order].astype(np.int64))


def _checked(
    parts: Geometries, owners: Ints, cells: Ints, geometries: Geometries, grid: CellGrid
) -> tuple[Geometries, Ints, Ints]:
    """Cutting by a rectangle may leave an invalid ring; then the true intersection is taken."""
    wrong = ~shapely.is_valid(parts)
    if not wrong.any():
        return parts, owners, cells
    keys = owners * np.int64(2**31) + cells
    pairs = np.unique(np.column_stack([owners[wrong], cells[wrong]]), axis=0)
    again = np.isin(keys, pairs[:, 0] * np.int64(2**31) + pairs[:, 1])
    boxes = shapely.box(*np.array([grid.box(int(c)) for c in pairs[:, 1]]).T)
    exact, of = areal(shapely.intersection(geometries[pairs[:, 0]], boxes))
    return (
        np.concatenate([parts[~again], exact]),
        np.concatenate([owners[~again], pairs[of, 0]]),
        np.concatenate([cells[~again], pairs[of, 1]]),
    )


def _halve(
    parts: Geometries, owners: Ints, grid: CellGrid, axis: int, threads: int
) -> tuple[Geometries, Ints, Ints]:
    """Cut along one axis: pieces, their owners, and the absolute column (row) of each."""
    first, count = (grid.i0, grid.columns) if axis == 0 else (grid.j0, grid.rows)
    first += _BIAS
    done: list[tuple[Geometries, Ints, Ints]] = []
    span = 1
    while span < count + 2 or (first // span) * span + span < first + count:
        span *= 2
    start = (first // span) * span
    bounds = shapely.bounds(parts)
    low = np.floor(bounds[:, axis] / grid.size).astype(np.int64) + _BIAS
    high = np.floor(bounds[:, axis + 2] / grid.size).astype(np.int64) + _BIAS
    near = (high >= first) & (low < first + count)
    # a feature larger than the window is cut at the same lines as if all of it were wanted
    while len(low) and (
        low[near].min(initial=start) < start or high[near].max(initial=start) >= start + span
    ):
        span *= 2
        start = (first // span) * span
    stack = [(start, span, parts[near], owners[near], low[near], high[near])]
    while stack:
        at, size, geoms, own, lo, hi = stack.pop()
        if not len(geoms) or at >= first + count or at + size <= first:
            continue
        single = lo == hi
        if single.any():
            wanted = single & (lo >= first) & (lo < first + count)
            done.append((geoms[wanted], own[wanted], lo[wanted]))
            geoms, own, lo, hi = geoms[~single], own[~single], lo[~single], hi[~single]
        if not len(geoms):
            continue
        middle = at + size // 2
        for left in (True, False):
            chosen = lo < middle if left else hi >= middle
            both = (lo < middle) & (hi >= middle)
            side, its = geoms[chosen], both[chosen]
            line = (middle - _BIAS) * grid.size
            side, keep = _clip(side, its, line, axis, left, threads)
            box = shapely.bounds(side)
            new_lo = np.floor(box[:, axis] / grid.size).astype(np.int64) + _BIAS
            new_hi = np.floor(box[:, axis + 2] / grid.size).astype(np.int64) + _BIAS
            new_lo = np.clip(new_lo, at if left else middle, None)
            new_hi = np.minimum(new_hi, (middle if left else at + size) - 1)
            stack.append(
                (
                    at if left else middle,
                    size // 2,
                    side,
                    own[chosen][keep],
                    new_lo,
                    np.maximum(new_hi, new_lo),
                )
            )
    if not done:
        return np.empty(0, object), np.zeros(0, np.int64), np.zeros(0, np.int64)
    return (
        np.concatenate([d[0] for d in done]),
        np.concatenate([d[1] for d in done]).astype(np.int64),
        np.concatenate([d[2] for d in done]).astype(np.int64) - _BIAS,
    )


def _clip(
    geoms: Geometries, spanning: NDArray[np.bool_], at: float, axis: int, left: bool, threads: int
) -> tuple[Geometries, NDArray[np.bool_]]:
    """Cut those that span a line; which are left after that."""
    rect = [-_FAR, -_FAR, _FAR, _FAR]
    rect[axis + 2 if left else axis] = at
    out = geoms.copy()
    which = np.flatnonzero(spanning)
    if len(which):
        parts = in_threads(
            lambda s, e: _in_rect(geoms[which[s:e]], rect),
            len(which), chunk=256, threads=threads,
        )  # fmt: skip
        out[which] = np.concatenate(parts)
        along = which[_along(geoms[which], at, axis)]
        if len(along):
            out[along] = _clip_lines(geoms[along], at, axis, left)
    keep = ~shapely.is_empty(out)
    return out[keep], keep


def _in_rect(geoms: Geometries, rect: list[float]) -> Geometries:
    """Parts inside a rectangle; where cutting by one fails, the true intersection is taken."""
    try:
        return np.asarray(shapely.clip_by_rect(geoms, *rect), dtype=object)
    except shapely.errors.GEOSException:
        # a sliver of three points along the line of the cut
        out = np.empty(len(geoms), dtype=object)
        for k, geom in enumerate(geoms):
            try:
                out[k] = shapely.clip_by_rect(geom, *rect)
            except shapely.errors.GEOSException:
                low, high = np.split(shapely.bounds(geom) + np.array([-1.0, -1.0, 1.0, 1.0]), 2)
                box = shapely.box(*np.maximum(rect[:2], low), *np.minimum(rect[2:], high))
                out[k] = shapely.intersection(geom, box)
        return out


def _along(geoms: Geometries, at: float, axis: int) -> Ints:
    """Lines that run along the line of the cut for a while."""
    lines = np.flatnonzero(shapely.get_dimensions(geoms) == 1)
    if not len(lines):
        return lines
    xy, of = shapely.get_coordinates(geoms[lines], return_index=True)
    on = xy[:, axis] == at
    found: Ints = lines[np.unique(of[1:][on[1:] & on[:-1] & (of[1:] == of[:-1])])]
    return found


def _clip_lines(geoms: Geometries, at: float, axis: int, left: bool) -> Geometries:
    """The same for lines along the cut, of which a rectangle loses what lies on its edge.

    They belong to the right, as lines do that lie on the edge of a cell as a whole.
    """
    bounds = shapely.bounds(geoms) + np.array([-1.0, -1.0, 1.0, 1.0])
    bounds[:, axis] = at
    right = shapely.box(*bounds.T)
    out: Geometries = (shapely.difference if left else shapely.intersection)(geoms, right)
    return out


def dissolve(pieces: Pieces, *, threads: int = 2) -> Pieces:
    """Unite the pieces of each cell; a cell with one piece keeps it. Owners become -1."""
    cells, united = union_groups(pieces.geometries, pieces.cells, threads=threads)
    parts, index = areal(united)
    return Pieces(parts, cells[index].astype(np.int64), np.full(len(parts), -1, np.int64))


#: Subjects with more vertices are cut into cells themselves.
LARGE = 256


class Subdivided:
    """Subjects as the kernels want them: large polygons cut into cells, the rest whole.

    ``geometries``: parts; ``owners``: the subject of each. The area of a subject is the sum over
    its parts. Lines, points and None are passed through.
    """

    def __init__(self, geometries: Geometries, grid: CellGrid, *, threads: int = 2) -> None:
        geometries = np.asarray(geometries, dtype=object)
        self.count = len(geometries)
        large = (shapely.get_num_coordinates(geometries) > LARGE) & (
            shapely.get_dimensions(geometries) == 2
        )
        whole = np.flatnonzero(~large)
        pieces = cut(geometries[large], grid, threads=threads)
        self.geometries = np.concatenate([geometries[whole], pieces.geometries])
        self.owners = np.concatenate([whole, np.flatnonzero(large)[pieces.owners]])
        self.edges: Edges = edges(self.geometries)
        self.split, self.widest = sorted_by_x(self.edges, 1 / 4)

    def total(self, values: Floats) -> Floats:
        """Sums over the parts of each subject: n, or n x k."""
        if values.ndim == 1:
            return np.bincount(self.owners, values, self.count).astype(float)
        return np.column_stack([self.total(values[:, k]) for k in range(values.shape[1])])


class CellLayer:
    """Polygons that do not overlap, ready for areas against many subjects."""

    def __init__(self, geometries: Geometries, grid: CellGrid) -> None:
        self.grid = grid
        self.edges: Edges = edges(geometries)
        self.split, self.widest = sorted_by_x(self.edges, 1 / 16)
        self.shape = (grid.columns, grid.rows)
        ranges = grid.ranges(self.edges.boxes)
        ranges[:, [0, 2]] = np.maximum(ranges[:, [0, 2]], 0)
        ranges[:, 1] = np.minimum(ranges[:, 1], grid.columns - 1)
        ranges[:, 3] = np.minimum(ranges[:, 3], grid.rows - 1)
        high = np.maximum(ranges[:, 3] - ranges[:, 2] + 1, 0)
        counts = np.maximum(ranges[:, 1] - ranges[:, 0] + 1, 0) * high
        piece = np.repeat(np.arange(len(counts)), counts)
        within = np.arange(len(piece)) - np.repeat(np.cumsum(counts) - counts, counts)
        column = ranges[piece, 0] + within // np.maximum(high[piece], 1)
        row = ranges[piece, 2] + within % np.maximum(high[piece], 1)
        cell = column * grid.rows + row
        order = np.argsort(cell, kind="stable")
        self.members: Ints = piece[order].astype(np.int64)
        filled = np.bincount(cell, minlength=grid.columns * grid.rows)
        self.cells: Ints = np.concatenate([[0], np.cumsum(filled)]).astype(np.int64)

    def areas(
        self, subjects: Subdivided, weights: Floats | None = None, *, threads: int = 2
    ) -> Floats:
        """Area of each subject on the layer, CRS units squared: n, or n x k with weights.

        ``weights``: one row a polygon.
        """
        from wetgis import kernels

        own, layer, grid = subjects.edges, self.edges, self.grid
        table = np.ones((len(layer.offsets) - 1, 1)) if weights is None else weights
        out = np.zeros((len(own.offsets) - 1, table.shape[1]))
        boxes = np.where(np.isfinite(own.boxes), own.boxes, 0.0)
        boxes[~np.isfinite(own.boxes).all(axis=1), 2:] = -1.0
        first = np.array([grid.i0, grid.j0])
        in_threads(
            lambda s, e: kernels.cell_areas(
                own.rows, own.offsets, boxes, subjects.split, subjects.widest,
                layer.rows, layer.offsets, layer.boxes, self.split, self.widest,
                grid.size, first, self.shape, self.cells, self.members, table, out, s, e,
            ),
            len(out), chunk=2048, threads=threads,
        )  # fmt: skip
        return subjects.total(out[:, 0] if weights is None else out)
