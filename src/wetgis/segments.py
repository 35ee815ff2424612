"""Geometries as flat arrays: signed edges for areas, a grid of segments for distances."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import shapely

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Geometries = NDArray[np.object_]

__all__ = [
    "Edges",
    "SegmentGrid",
    "Segments",
    "edges",
    "in_threads",
    "nearest_distance",
    "segments",
]


def in_threads(
    work: Callable[[int, int], Any], count: int, *, chunk: int, threads: int = 2
) -> list[Any]:
    """``work(start, stop)`` over chunks of ``range(count)``, results in order.

    The kernels and shapely release the interpreter lock, so threads do work side by side. What
    each item gets does not depend on the chunks.
    """
    spans = [(s, min(s + chunk, count)) for s in range(0, count, chunk)]
    if threads < 2 or len(spans) < 2:
        return [work(*span) for span in spans]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(lambda span: work(*span), spans))


@dataclass(frozen=True)
class Edges:
    """Polygons as signed edges.

    ``rows``: x1, y1, x2, y2, sign with x1 < x2, vertical edges left out. ``offsets``: n + 1.
    ``boxes``: n x 4, NaN where a geometry has no area.
    """

    rows: Floats
    offsets: Ints
    boxes: Floats


@dataclass(frozen=True)
class Segments:
    """Boundaries as segments x1, y1, x2, y2; ``owner`` is the geometry of each."""

    rows: Floats
    owner: Ints
    offsets: Ints


def _ring_coordinates(geometries: Geometries) -> tuple[Floats, Ints, Ints, Ints]:
    """Coordinates of all rings, the ring of each, the geometry of each ring, its sign."""
    parts, of_part = shapely.get_parts(geometries, return_index=True)
    areal = shapely.get_type_id(parts) == 3
    parts, of_part = parts[areal], of_part[areal]
    rings, of_ring = shapely.get_rings(parts, return_index=True)
    shell = np.r_[True, of_ring[1:] != of_ring[:-1]] if len(rings) else np.zeros(0, bool)
    sign = np.where(shapely.is_ccw(rings), 1, -1) * np.where(shell, 1, -1)
    xy, of_xy = shapely.get_coordinates(rings, return_index=True)
    return xy, of_xy, of_part[of_ring] if len(rings) else np.zeros(0, np.int64), sign


def edges(geometries: Geometries) -> Edges:
    """The signed edges of polygons; None, empty, points and lines have none.

    Whatever way a ring is stored, a shell counts positive and a hole negative.
    """
    geometries = np.asarray(geometries, dtype=object)
    xy, of_xy, owner, sign = _ring_coordinates(geometries)
    start = np.flatnonzero(of_xy[1:] == of_xy[:-1])
    first, second, ring = xy[start], xy[start + 1], of_xy[start]
    moves = first[:, 0] != second[:, 0]
    first, second, ring = first[moves], second[moves], ring[moves]
    right = first[:, 0] < second[:, 0]
    rows = np.empty((len(first), 5))
    rows[:, :2] = np.where(right[:, None], first, second)
    rows[:, 2:4] = np.where(right[:, None], second, first)
    # a counter-clockwise shell runs rightwards along its lower side
    rows[:, 4] = np.where(right, -1.0, 1.0) * sign[ring]
    counts = np.bincount(owner[ring], minlength=len(geometries)) if len(ring) else 0
    offsets = np.zeros(len(geometries) + 1, np.int64)
    offsets[1:] = np.cumsum(np.broadcast_to(counts, len(geometries)))
    return Edges(rows, offsets, shapely.bounds(geometries))


def segments(geometries: Geometries) -> Segments:
    """All boundaries and lines as segments; a point is a segment of no length."""
    geometries = np.asarray(geometries, dtype=object)
    parts, of_part = shapely.get_parts(geometries, return_index=True)
    kind = shapely.get_type_id(parts)
    lines, owner = parts[kind != 3], of_part[kind != 3]
    rings, of_ring = shapely.get_rings(parts[kind == 3], return_index=True)
    lines = np.concatenate([lines, rings])
    owner = np.concatenate([owner, of_part[kind == 3][of_ring]]).astype(np.int64)
    order = np.argsort(owner, kind="stable")
    lines, owner = lines[order], owner[order]
    single = shapely.get_type_id(lines) == 0
    lines[single] = shapely.linestrings(
        np.repeat(shapely.get_coordinates(lines[single]), 2, axis=0).reshape(-1, 2, 2)
    )
    xy, of_xy = shapely.get_coordinates(lines, return_index=True)
    start = np.flatnonzero(of_xy[1:] == of_xy[:-1])
    rows = np.concatenate([xy[start], xy[start + 1]], axis=1)
    owner = owner[of_xy[start]]
    offsets = np.zeros(len(geometries) + 1, np.int64)
    offsets[1:] = np.cumsum(np.bincount(owner, minlength=len(geometries)))
    return Segments(rows, owner, offsets)


class SegmentGrid:
    """A uniform grid over segments; the same answers whatever its cell size.

    Parameters
    ----------
    rows : array (n, 4)
    size : float
        Side of a cell in CRS units; enlarged where the grid would have over four million cells.
    """

    def __init__(self, rows: Floats, size: float) -> None:
        from wetgis import kernels

        self.rows = np.ascontiguousarray(rows)
        if not len(rows):
            self.size, self.ox, self.oy, self.shape = size, 0.0, 0.0, (1, 1)
            self.cells, self.members = np.zeros(2, np.int64), np.zeros(0, np.int64)
            return
        xs, ys = rows[:, [0, 2]], rows[:, [1, 3]]
        self.ox, self.oy = float(xs.min()), float(ys.min())
        width, height = float(xs.max()) - self.ox, float(ys.max()) - self.oy
        self.size = max(size, float(np.sqrt(width * height / 4e6)), max(width, height) / 1e6)
        self.shape = (int(width / self.size) + 1, int(height / self.size) + 1)
        counts = np.zeros(self.shape[0] * self.shape[1] + 1, np.int64)
        kernels.grid_count(self.rows, self.size, self.ox, self.oy, self.shape, counts)
        self.cells = np.cumsum(counts)
        self.members = np.empty(self.cells[-1], np.int64)
        filled = np.zeros(len(counts) - 1, np.int64)
        kernels.grid_fill(
            self.rows, self.size, self.ox, self.oy, self.shape, self.cells, filled, self.members
        )

    def deviation(self, points: Floats, radii: Floats, reach: float, threads: int = 2) -> Floats:
        """Distance from each point to the nearest segment less that segment's radius."""
        from wetgis import kernels

        points = np.ascontiguousarray(points)
        out = np.full(len(points), np.inf)
        in_threads(
            lambda s, e: kernels.outline_deviation(
                points, reach, self.rows, radii, self.size, self.ox, self.oy, self.shape,
                self.cells, self.members, out, s, e,
            ),
            len(points), chunk=4096, threads=threads,
        )  # fmt: skip
        return out


#: Own segments that are held together against a segment of the layer.
RUN = 48


def nearest_distance(own: Segments, grid: SegmentGrid, *, out: Floats, threads: int = 2) -> Floats:
    """Exact distance from the segments of each subject to the nearest segment of a grid.

    ``out`` holds inf, 0.0 for subjects that are known to overlap the layer, NaN for those that
    have no geometry; it is filled and returned.
    """
    from wetgis import kernels

    if not len(grid.rows) or not len(own.rows):
        return out
    counts = np.diff(own.offsets)
    runs_of = -(-counts // RUN)
    offsets = np.concatenate([[0], np.cumsum(runs_of)]).astype(np.int64)
    within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], runs_of)
    starts = np.repeat(own.offsets[:-1], runs_of) + within * RUN
    runs = np.concatenate([starts, [len(own.rows)]]).astype(np.int64)
    boxes = np.column_stack(
        [
            np.minimum.reduceat(np.minimum(own.rows[:, 0], own.rows[:, 2]), starts),
            np.minimum.reduceat(np.minimum(own.rows[:, 1], own.rows[:, 3]), starts),
            np.maximum.reduceat(np.maximum(own.rows[:, 0], own.rows[:, 2]), starts),
            np.maximum.reduceat(np.maximum(own.rows[:, 1], own.rows[:, 3]), starts),
        ]
    )
    chosen = np.flatnonzero(counts > 0)
    part = out[chosen].copy()
    # subjects without segments have no runs, so that offsets of the others still fit together
    own_offsets = np.concatenate([offsets[:-1][chosen], offsets[-1:]])
    in_threads(
        lambda s, e: kernels.nearest(
            own.rows, runs, boxes, own_offsets, grid.rows, grid.size, grid.ox, grid.oy,
            grid.shape, grid.cells, grid.members, part, s, e,
        ),
        len(chosen), chunk=1024, threads=threads,
    )  # fmt: skip
    out[chosen] = part
    return out
