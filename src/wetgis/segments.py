"""Geometries as flat arrays: signed edges for areas, a grid of segments for distances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import shapely

from wetgis.rings import Rings, line_parts, outlines
from wetgis.workers import in_threads

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Geometries = NDArray[np.object_]

__all__ = [
    "Edges",
    "Runs",
    "SegmentGrid",
    "Segments",
    "edges",
    "nearest_distance",
    "segments",
    "sorted_by_x",
]


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
        widest = float(radii.max(initial=0.0))
        out = np.full(len(points), np.inf)
        in_threads(
            lambda s, e: kernels.outline_deviation(
                points, reach, widest, self.rows, own, self.size, self.ox, self.oy, self.shape,
                self.cells, out, s, e,
            ),
            len(points), chunk=16384, threads=threads,
        )  # fmt: skip
        return out

    def deviation_of_rings(
        self, rings: Rings, boxes: Floats, radii: Floats, reach: float, threads: int = 2
    ) -> Floats:
        """Least and largest deviation of each ring inside its box, and at how many points."""
        from wetgis import kernels

        own, widest = radii[self.members], float(radii.max(initial=0.0))
        out = np.tile([np.inf, -np.inf, 0.0], (len(rings.owner), 1))
        in_threads(
            lambda s, e: kernels.ring_deviation(
                rings.xy, rings.offsets, boxes, reach, widest, self.rows, own, self.size, self.ox,
                self.oy, self.shape, self.cells, out, s, e,
            ),
            len(out), chunk=16, threads=threads,
        )  # fmt: skip
        return out


#: Own segments that are held together against a segment of the layer.
RUN = 48


class Runs:
    """Subjects as ``nearest_distance`` wants them: their segments in short runs, each with a box.

    Made once, they may be held against any number of layers.
    """

    def __init__(self, own: Segments) -> None:
        self.rows, self.count = own.rows, len(own.offsets) - 1
        counts = np.diff(own.offsets)
        #: subjects without segments have no runs, so that offsets of the others still fit together
        self.chosen: Ints = np.flatnonzero(counts > 0)
        runs_of = -(-counts // RUN)
        offsets = np.concatenate([[0], np.cumsum(runs_of)]).astype(np.int64)
        within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], runs_of)
        starts = np.repeat(own.offsets[:-1], runs_of) + within * RUN
        self.starts = np.concatenate([starts, [len(own.rows)]]).astype(np.int64)
        self.offsets: Ints = np.concatenate([offsets[:-1][self.chosen], offsets[-1:]])
        self.boxes = self._boxes(starts) if len(starts) else np.empty((0, 4))

    def _boxes(self, starts: Ints) -> Floats:
        low = np.minimum(self.rows[:, :2], self.rows[:, 2:])
        high = np.maximum(self.rows[:, :2], self.rows[:, 2:])
        return np.hstack(
            [np.minimum.reduceat(low, starts, axis=0), np.maximum.reduceat(high, starts, axis=0)]
        )


def nearest_distance(own: Runs, grid: SegmentGrid, *, out: Floats, threads: int = 2) -> Floats:
    """Exact distance from the segments of each subject to the nearest segment of a grid.

    ``out`` holds inf, 0.0 for subjects that are known to overlap the layer, NaN for those that
    have no geometry; it is filled and returned.
    """
    from wetgis import kernels

    if not len(grid.rows) or not len(own.rows):
        return out
    part = out[own.chosen]
    in_threads(
        lambda s, e: kernels.nearest(
            own.rows, own.starts, own.boxes, own.offsets, grid.rows, grid.size, grid.ox, grid.oy,
            grid.shape, grid.cells, part, s, e,
        ),
        len(part), chunk=1024, threads=threads,
    )  # fmt: skip
    out[own.chosen] = part
    return out
