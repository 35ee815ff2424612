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
    "lengths_inside",
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
    from wetgis import nearkernels

    geometries = np.asarray(geometries, dtype=object)
    lines, owner = line_parts(geometries)
    counts = shapely.get_num_coordinates(lines).astype(np.int64)
    rows = np.empty((int(counts.sum()) - len(lines), 4))
    nearkernels.fill_segments(shapely.get_coordinates(lines), counts, rows)
    owner = np.repeat(owner, counts - 1)
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
        from wetgis import nearkernels

        self.rows = np.ascontiguousarray(rows)
        if not len(rows):
            self.size, self.ox, self.oy, self.shape = size, 0.0, 0.0, (1, 1)
            self.cells, self.members = np.zeros(2, np.int64), np.zeros(0, np.int64)
            return
        least, most = rows.min(axis=0), rows.max(axis=0)
        low, high = np.minimum(least[:2], least[2:]), np.maximum(most[:2], most[2:])
        self.ox, self.oy = float(low[0]), float(low[1])
        width, height = float(high[0]) - self.ox, float(high[1]) - self.oy
        self.size = max(size, float(np.sqrt(width * height / 4e6)), max(width, height) / 1e6)
        self.shape = (int(width / self.size) + 1, int(height / self.size) + 1)
        counts = np.zeros(self.shape[0] * self.shape[1] + 1, np.int64)
        nearkernels.grid_count(self.rows, self.size, self.ox, self.oy, self.shape, counts)
        self.cells = np.cumsum(counts)
        self.members = np.empty(self.cells[-1], np.int64)
        filled = np.zeros(len(counts) - 1, np.int64)
        nearkernels.grid_fill(
            self.rows, self.size, self.ox, self.oy, self.shape, self.cells, filled, self.members
        )
        self.rows = self.rows[self.members]

    def deviation(self, points: Floats, radii: Floats, reach: float, threads: int = 2) -> Floats:
        """Distance from each point to the nearest segment less that segment's radius."""
        from wetgis import nearkernels

        points, own = np.ascontiguousarray(points), radii[self.members]
        widest = float(radii.max(initial=0.0))
        out = np.full(len(points), np.inf)
        in_threads(
            lambda s, e: nearkernels.outline_deviation(
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
        from wetgis import nearkernels

        own, widest = radii[self.members], float(radii.max(initial=0.0))
        out = np.tile([np.inf, -np.inf, 0.0], (len(rings.owner), 1))
        in_threads(
            lambda s, e: nearkernels.ring_deviation(
                rings.xy, rings.offsets, boxes, reach, widest, self.rows, own, self.size, self.ox,
                self.oy, self.shape, self.cells, out, s, e,
            ),
            len(out), chunk=16, threads=threads,
        )  # fmt: skip
        return out


def lengths_inside(
    polygons: Geometries, lines: Geometries, left: Ints, right: Ints, near: float, *, threads: int
) -> Floats:
    """Length of line ``right[k]`` inside polygon ``left[k]``; NaN where it runs along an edge.

    ``lines``: simple lines. ``near``: how near to an edge is along it.
    """
    from wetgis import kernels

    if not len(left):
        return np.zeros(0)
    rings = outlines(polygons)
    # a vertex of NaN after each ring, so that no edge leads from one to the next
    places = np.arange(len(rings.xy)) + rings.of_vertices()
    xy = np.full((len(rings.xy) + len(rings.owner), 2), np.nan)
    xy[places] = rings.xy
    starts = rings.offsets + np.arange(len(rings.offsets))
    one = np.searchsorted(rings.owner, np.arange(len(polygons)))
    two = np.searchsorted(rings.owner, np.arange(len(polygons)), side="right")
    ranges = np.column_stack([starts[one], starts[two]]).astype(np.int64)
    ends = np.cumsum(shapely.get_num_coordinates(lines))
    parts = np.column_stack([np.r_[0, ends[:-1]], ends]).astype(np.int64)
    out, vertices = np.zeros(len(left)), shapely.get_coordinates(lines)
    in_threads(
        lambda s, e: kernels.lengths_inside(
            xy, ranges, vertices, parts, left, right, near, out, s, e
        ),
        len(left), chunk=8192, threads=threads,
    )  # fmt: skip
    return out


#: Own segments that are held together against a segment of the layer.
RUN = 48


class Runs:
    """Subjects as ``nearest_distance`` wants them: their outlines in short runs of segments.

    Each run has a box of its own. Made once, they may be held against any number of layers.
    """

    def __init__(self, geometries: Geometries) -> None:
        from wetgis import nearkernels

        lines, owner = line_parts(np.asarray(geometries, dtype=object))
        self.xy: Floats = shapely.get_coordinates(lines)
        counts = shapely.get_num_coordinates(lines)
        first, segs = np.cumsum(counts) - counts, np.maximum(counts - 1, 0)
        runs_of = -(-segs // RUN)
        line = np.repeat(np.arange(len(lines)), runs_of)
        within = np.arange(len(line)) - np.repeat(np.cumsum(runs_of) - runs_of, runs_of)
        start = first[line] + within * RUN
        stop = np.minimum(start + RUN, (first + segs)[line])
        self.runs = np.column_stack([start, stop]).astype(np.int64)
        self.boxes = np.empty((len(line), 4))
        nearkernels.run_boxes(self.xy, self.runs, self.boxes)
        filled = np.bincount(owner[line], minlength=len(geometries))
        #: subjects without runs are left out, so that the offsets of the others fit together
        self.chosen: Ints = np.flatnonzero(filled > 0)
        self.offsets = np.concatenate([[0], np.cumsum(filled[self.chosen])]).astype(np.int64)


def nearest_distance(own: Runs, grid: SegmentGrid, *, out: Floats, threads: int = 2) -> Floats:
    """Exact distance from the segments of each subject to the nearest segment of a grid.

    ``out`` holds inf, 0.0 for subjects that are known to overlap the layer, NaN for those that
    have no geometry; it is filled and returned.
    """
    from wetgis import nearkernels

    if not len(grid.rows) or not len(own.chosen):
        return out
    part = out[own.chosen]
    in_threads(
        lambda s, e: nearkernels.nearest(
            own.xy, own.runs, own.boxes, own.offsets, grid.rows, grid.size, grid.ox, grid.oy,
            grid.shape, grid.cells, part, s, e,
        ),
        len(part), chunk=1024, threads=threads,
    )  # fmt: skip
    out[own.chosen] = part
    return out
