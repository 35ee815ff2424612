"""Geometries as flat arrays: signed edges for areas, a grid of segments for distances."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import shapely

from wetgis.rings import line_parts, outlines

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
    "sorted_by_x",
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
    if threads not in _pools:
        _pools[threads] = ThreadPoolExecutor(threads)
    return list(_pools[threads].map(lambda span: work(*span), spans))


#: Pools by their number of threads: making one anew costs as much as a small piece of work.
_pools: dict[int, ThreadPoolExecutor] = {}
if hasattr(os, "register_at_fork"):
    # the threads of a pool do not live on in a forked process
    os.register_at_fork(after_in_child=_pools.clear)


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


def edges(geometries: Geometries) -> Edges:
    """The signed edges of polygons; None, empty, points and lines have none.

    Whatever way a ring is stored, a shell counts positive and a hole negative.
    """
    from wetgis import kernels

    geometries = np.asarray(geometries, dtype=object)
    rings = outlines(geometries)
    rows = np.empty((max(len(rings.xy) - len(rings.owner), 0), 5))
    counts = np.zeros(len(geometries), np.int64)
    used = kernels.signed_edges(rings.xy, rings.offsets, rings.shell, rings.owner, rows, counts)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return Edges(rows[:used], offsets, shapely.bounds(geometries))


def sorted_by_x(made: Edges, fraction: float) -> tuple[Ints, Floats]:
    """Sort edges in place so that those over a subject are found by halving.

    Edges longer than a fraction of their polygon's box come first. Gives the first of the others
    of each polygon, from which on they are sorted, and the longest of them along x.
    """
    from wetgis import kernels

    count = len(made.offsets) - 1
    split, widest = np.zeros(count, np.int64), np.zeros(count)
    kernels.sort_edges(made.rows, made.offsets, made.boxes, fraction, split, widest)
    return split, widest


def segments(geometries: Geometries) -> Segments:
    """All boundaries and lines as segments; a point is a segment of no length."""
    geometries = np.asarray(geometries, dtype=object)
    lines, owner = line_parts(geometries)
    xy = shapely.get_coordinates(lines)
    last = np.cumsum(shapely.get_num_coordinates(lines)) - 1
    inner = np.ones(len(xy), bool)
    inner[last] = False
    start = np.flatnonzero(inner)
    rows = np.concatenate([xy[start], xy[start + 1]], axis=1)
    owner = np.repeat(owner, np.maximum(shapely.get_num_coordinates(lines) - 1, 0))
    offsets = np.zeros(len(geometries) + 1, np.int64)
    offsets[1:] = np.cumsum(np.bincount(owner, minlength=len(geometries)))
    return Segments(rows, owner, offsets)


class SegmentGrid:
    """A uniform grid over segments; the same answers whatever its cell size.

    ``rows`` holds the segments cell after cell, so that those of a cell lie side by side in
    memory; one that meets several cells stands in each. ``members``: their own numbers.

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
        low = np.minimum(rows[:, :2], rows[:, 2:]).min(axis=0)
        high = np.maximum(rows[:, :2], rows[:, 2:]).max(axis=0)
        self.ox, self.oy = float(low[0]), float(low[1])
        width, height = float(high[0]) - self.ox, float(high[1]) - self.oy
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
        self.rows = self.rows[self.members]

    def deviation(self, points: Floats, radii: Floats, reach: float, threads: int = 2) -> Floats:
        """Distance from each point to the nearest segment less that segment's radius."""
        from wetgis import kernels

        points, own = np.ascontiguousarray(points), radii[self.members]
        out = np.full(len(points), np.inf)
        in_threads(
            lambda s, e: kernels.outline_deviation(
                points, reach, self.rows, own, self.size, self.ox, self.oy, self.shape,
                self.cells, out, s, e,
            ),
            len(points), chunk=16384, threads=threads,
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
            grid.shape, grid.cells, part, s, e,
        ),
        len(chosen), chunk=1024, threads=threads,
    )  # fmt: skip
    out[chosen] = part
    return out
