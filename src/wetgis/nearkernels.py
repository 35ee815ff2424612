"""Compiled kernels: nearest distances, and how far outlines are off the legal line.

Like those of ``wetgis.kernels`` they take plain arrays, from ``wetgis.segments``, hold no state
and release the interpreter lock.
"""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = [
    "fill_segments",
    "grid_count",
    "grid_fill",
    "nearest",
    "outline_deviation",
    "ring_deviation",
    "run_boxes",
]


@njit(nogil=True, cache=True)
def fill_segments(xy, counts, rows):
    """The segments of lines that follow each other in ``xy``, ``counts`` vertices each."""
    first, n = 0, 0
    for count in counts:
        for k in range(first, first + count - 1):
            rows[n, 0], rows[n, 1], rows[n, 2], rows[n, 3] = (
                xy[k, 0], xy[k, 1], xy[k + 1, 0], xy[k + 1, 1],
            )  # fmt: skip
            n += 1
        first += count


@njit(nogil=True, cache=True)
def _under(segments, k, size, ox, oy):
    """First and last column and row of the cells that the box of a segment meets."""
    i0 = int((min(segments[k, 0], segments[k, 2]) - ox) / size)
    i1 = int((max(segments[k, 0], segments[k, 2]) - ox) / size)
    j0 = int((min(segments[k, 1], segments[k, 3]) - oy) / size)
    j1 = int((max(segments[k, 1], segments[k, 3]) - oy) / size)
    return i0, i1, j0, j1


@njit(nogil=True, cache=True)
def grid_count(segments, size, ox, oy, shape, counts):
    """Number of segments whose box meets each grid cell, in ``counts[cell + 1]``."""
    for k in range(len(segments)):
        i0, i1, j0, j1 = _under(segments, k, size, ox, oy)
        for i in range(i0, i1 + 1):
            for j in range(j0, j1 + 1):
                counts[i * shape[1] + j + 1] += 1


@njit(nogil=True, cache=True)
def grid_fill(segments, size, ox, oy, shape, offsets, filled, members):
    """The segments of each grid cell, after ``grid_count`` and a running sum."""
    for k in range(len(segments)):
        i0, i1, j0, j1 = _under(segments, k, size, ox, oy)
        for i in range(i0, i1 + 1):
            for j in range(j0, j1 + 1):
                cell = i * shape[1] + j
                members[offsets[cell] + filled[cell]] = k
                filled[cell] += 1


@njit(nogil=True, cache=True)
def _point_segment(px, py, ax, ay, bx, by):
    """Squared distance from a point to a segment."""
    dx = bx - ax
    dy = by - ay
    length = dx * dx + dy * dy
    t = ((px - ax) * dx + (py - ay) * dy) / length if length > 0.0 else 0.0
    t = min(max(t, 0.0), 1.0)
    ex = ax + t * dx - px
    ey = ay + t * dy - py
    return ex * ex + ey * ey


@njit(nogil=True, cache=True)
def _cross(ax, ay, bx, by, px, py):
    return (bx - ax) * (py - ay) - (by - ay) * (px - ax)


@njit(nogil=True, cache=True, error_model="numpy")
def _to_segment(own, first, last, touch, ax, ay, cx, cy, best):
    """Squared distance from a run of own segments to one segment, 0 where they cross."""
    for m in range(first, last):
        x1, y1, x2, y2 = own[m, 0], own[m, 1], own[m + 1, 0], own[m + 1, 1]
        u = max(max(min(x1, x2) - max(ax, cx), min(ax, cx) - max(x1, x2)), 0.0)
        v = max(max(min(y1, y2) - max(ay, cy), min(ay, cy) - max(y1, y2)), 0.0)
        if u * u + v * v >= best:
            continue
        if touch:
            o1 = _cross(ax, ay, cx, cy, x1, y1)
            o2 = _cross(ax, ay, cx, cy, x2, y2)
            o3 = _cross(x1, y1, x2, y2, ax, ay)
            o4 = _cross(x1, y1, x2, y2, cx, cy)
            if (o1 > 0) != (o2 > 0) and (o3 > 0) != (o4 > 0):
                return 0.0
        best = min(
            best,
            _point_segment(x1, y1, ax, ay, cx, cy),
            _point_segment(x2, y2, ax, ay, cx, cy),
            _point_segment(ax, ay, x1, y1, x2, y2),
            _point_segment(cx, cy, x1, y1, x2, y2),
        )
    return best


@njit(nogil=True, cache=True, error_model="numpy")
def _in_cell(own, first, last, box, segments, start, stop, best):
    """Squared distance from a run of own segments to the segments of one cell."""
    for k in range(start, stop):
        ax, ay = segments[k, 0], segments[k, 1]
        cx, cy = segments[k, 2], segments[k, 3]
        u = max(max(box[0] - max(ax, cx), min(ax, cx) - box[2]), 0.0)
        v = max(max(box[1] - max(ay, cy), min(ay, cy) - box[3]), 0.0)
        if u * u + v * v < best:
            touch = u == 0.0 and v == 0.0
            best = _to_segment(own, first, last, touch, ax, ay, cx, cy, best)
            if best == 0.0:
                return best
    return best


@njit(nogil=True, cache=True, error_model="numpy")
def _from_run(own, first, last, box, segments, size, ox, oy, shape, cells, best):
    """Squared distance from a run of own segments to the layer, if it is less than ``best``.

    Cells are searched in rings around the run's box until no unseen cell can be nearer.
    """
    columns, rows = shape
    i0 = int(np.floor((box[0] - ox) / size))
    i1 = int(np.floor((box[2] - ox) / size))
    j0 = int(np.floor((box[1] - oy) / size))
    j1 = int(np.floor((box[3] - oy) / size))
    # rings that lie wholly beside the grid hold nothing
    ring = max(max(-1 - i1, i0 - columns), max(-1 - j1, j0 - rows), 0)
    last_ring = max(max(i0, columns - 1 - i1), max(j0, rows - 1 - j1), 0)
    while ring <= last_ring and best > 0.0:
        if ring > 0:
            gap = (ring - 1) * size + min(
                min(box[0] - (ox + i0 * size), (ox + (i1 + 1) * size) - box[2]),
                min(box[1] - (oy + j0 * size), (oy + (j1 + 1) * size) - box[3]),
            )
            if gap > 0.0 and gap * gap >= best:
                break
        for i in range(max(i0 - ring, 0), min(i1 + ring, columns - 1) + 1):
            edge = ring == 0 or i == i0 - ring or i == i1 + ring
            # inside of the ring was searched before: only its first and last row are new
            step = 1 if edge else max(j1 - j0 + 2 * ring, 1)
            j = j0 - ring
            if edge and j < 0:
                j = 0
            while j <= j1 + ring:
                if 0 <= j < rows:
                    cell = i * rows + j
                    if cells[cell] < cells[cell + 1]:
                        best = _in_cell(
                            own,
                            first,
                            last,
                            box,
                            segments,
                            cells[cell],
                            cells[cell + 1],
                            best,
                        )
                        if best == 0.0:
                            return best
                elif edge and j >= rows:
                    break
                j += step
        ring += 1
    return best


@njit(nogil=True, cache=True)
def run_boxes(own, runs, boxes):
    """The box of each run of segments."""
    for r in range(len(runs)):
        x0, y0 = own[runs[r, 0], 0], own[runs[r, 0], 1]
        x1, y1 = x0, y0
        for m in range(runs[r, 0] + 1, runs[r, 1] + 1):
            x0, x1 = min(x0, own[m, 0]), max(x1, own[m, 0])
            y0, y1 = min(y0, own[m, 1]), max(y1, own[m, 1])
        boxes[r, 0], boxes[r, 1], boxes[r, 2], boxes[r, 3] = x0, y0, x1, y1


@njit(nogil=True, cache=True, error_model="numpy")
def nearest(own, runs, boxes, offsets, segments, size, ox, oy, shape, cells, out, start, stop):
    """Distance from the segments of each subject to the nearest segment of a layer, exact.

    ``own``: vertices; segment m runs from vertex m to the next. ``runs``: first segment and end
    of each run (n x 2). ``segments`` stand in the order of the cells of their grid, again in every
    cell they meet. A subject's segments are taken in short runs, each with a box of its own, so
    that a large subject is not held as a whole against every segment under its box. The kernel
    sees boundaries only: where one lies inside the other the caller sets ``out`` to 0 beforehand.
    """
    for s in range(start, stop):
        if out[s] == 0.0:
            continue
        best = np.inf
        for r in range(offsets[s], offsets[s + 1]):
            best = _from_run(
                own,
                runs[r, 0],
                runs[r, 1],
                boxes[r],
                segments,
                size,
                ox,
                oy,
                shape,
                cells,
                best,
            )
            if best == 0.0:
                break
        out[s] = np.sqrt(best)


@njit(nogil=True, cache=True, error_model="numpy")
def _deviation(x, y, reach, widest, segments, radii, size, ox, oy, shape, cells, last):
    """Least (distance to a segment - its radius) over all segments near a point, and which it is.

    ``last``: a good guess, or -1. ``widest``: the largest radius.
    """
    columns, rows = shape
    best = np.inf
    if last >= 0:
        d = _point_segment(
            x, y, segments[last, 0], segments[last, 1], segments[last, 2], segments[last, 3]
        )
        if d <= reach * reach:
            best = np.sqrt(d) - radii[last]
        else:
            last = -1
    i0 = max(int(np.floor((x - reach - ox) / size)), 0)
    i1 = min(int(np.floor((x + reach - ox) / size)), columns - 1)
    for i in range(i0, i1 + 1):
        # no segment further away than this can be the one
        bound = min(reach, best + widest)
        aside = max(max(ox + i * size - x, x - (ox + (i + 1) * size)), 0.0)
        if bound < 0.0 or aside > bound:
            continue
        half = np.sqrt(bound * bound - aside * aside)
        j0 = max(int(np.floor((y - half - oy) / size)), 0)
        j1 = min(int(np.floor((y + half - oy) / size)), rows - 1)
        if j0 > j1:
            continue
        # the cells of a column hold one run of segments
        for k in range(cells[i * rows + j0], cells[i * rows + j1 + 1]):
            d = _point_segment(x, y, segments[k, 0], segments[k, 1], segments[k, 2], segments[k, 3])
            limit = best + radii[k]
            if limit > 0.0 and d < limit * limit:
                best = np.sqrt(d) - radii[k]
                last = k
    return best, last


@njit(nogil=True, cache=True, error_model="numpy")
def outline_deviation(
    points, reach, widest, segments, radii, size, ox, oy, shape, cells, out, start, stop
):
    """``out[p]`` = least (distance to a segment - its radius) over all segments near a point.

    Zero: the point lies exactly on the outline of the buffer. Negative: the outline runs inside
    the buffer, the buffer is short. Positive: it runs outside. inf: nothing within ``reach``.
    """
    last = -1
    for p in range(start, stop):
        # points follow each other along an outline: the last one's segment is a good guess
        out[p], last = _deviation(
            points[p, 0], points[p, 1], reach, widest, segments, radii, size, ox, oy, shape,
            cells, last,
        )  # fmt: skip


@njit(nogil=True, cache=True, error_model="numpy")
def ring_deviation(
    xy, rings, boxes, reach, widest, segments, radii, size, ox, oy, shape, cells, out, start, stop
):
    """The same at the vertices and the middles of the chords of rings: worst of each ring.

    ``rings``: where each begins in ``xy``, n + 1. ``boxes``: only points inside the box of a ring
    count (n x 4). ``out``: least, largest and number of points (n x 3).
    """
    last = -1
    for r in range(start, stop):
        for k in range(rings[r], rings[r + 1] - 1):
            for middle in range(2):
                x, y = xy[k, 0], xy[k, 1]
                if middle == 1:
                    x, y = (x + xy[k + 1, 0]) / 2.0, (y + xy[k + 1, 1]) / 2.0
                if x > boxes[r, 0] and x < boxes[r, 2] and y > boxes[r, 1] and y < boxes[r, 3]:
                    off, last = _deviation(
                        x, y, reach, widest, segments, radii, size, ox, oy, shape, cells, last
                    )
                    out[r, 0] = min(out[r, 0], off)
                    out[r, 1] = max(out[r, 1], off)
                    out[r, 2] += 1.0
