"""Compiled kernels: areas of intersections, nearest distances, outline audits.

All take plain arrays, hold no state and release the interpreter lock. The arrays come from
``wetgis.segments``. Compiled code is cached beside the package on the first call.

The area of an intersection needs no topology. A polygon is the signed sum of the trapezoids
under its edges; the intersection of two polygons is therefore the signed sum, over all pairs of
edges, of the area under the lower of the two lines. Holes, shared and collinear edges cancel
exactly, nothing can raise, and no predicate is asked. It needs valid polygons, and features
that do not overlap each other inside one layer.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = [
    "cell_areas",
    "grid_count",
    "grid_fill",
    "nearest",
    "outline_deviation",
    "pair_areas",
    "ring_deviation",
    "signed_edges",
    "sort_edges",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@njit(nogil=True, cache=True)
def signed_edges(xy, rings, shell, owner, rows, counts):
    """Write the edges of closed rings, x1 < x2 and a sign, and count them by owner; how many.

    ``rings``: where each ring's vertices begin in ``xy``, n + 1. A shell counts positive and a
    hole negative, whatever way the ring is stored. Vertical edges have nothing under them.
    """
    n = 0
    for r in range(len(rings) - 1):
        first, last = rings[r], rings[r + 1] - 1
        x0, y0 = xy[first, 0], xy[first, 1]
        twice = 0.0
        for k in range(first, last):
            twice += (xy[k, 0] - x0) * (xy[k + 1, 1] - y0) - (xy[k + 1, 0] - x0) * (xy[k, 1] - y0)
        # a counter-clockwise shell runs rightwards along its lower side
        sign = -1.0 if (twice >= 0.0) == shell[r] else 1.0
        before = n
        for k in range(first, last):
            xa, ya, xb, yb = xy[k, 0], xy[k, 1], xy[k + 1, 0], xy[k + 1, 1]
            if xa < xb:
                rows[n, 0], rows[n, 1], rows[n, 2], rows[n, 3], rows[n, 4] = xa, ya, xb, yb, sign
                n += 1
            elif xb < xa:
                rows[n, 0], rows[n, 1], rows[n, 2], rows[n, 3], rows[n, 4] = xb, yb, xa, ya, -sign
                n += 1
        counts[owner[r]] += n - before
    return n


@njit(nogil=True, cache=True)
def sort_edges(rows, offsets, boxes, fraction, split, widest):
    """Sort the edges of each polygon: those longer than a fraction of its box first, then by x1.

    ``split``: the first of the rest; ``widest``: the longest of them along x. So the few edges
    over a stretch of x are found without a look at all of them.
    """
    for p in range(len(offsets) - 1):
        first, last = offsets[p], offsets[p + 1]
        limit = (boxes[p, 2] - boxes[p, 0]) * fraction
        key = np.empty(last - first)
        count = 0
        for k in range(first, last):
            width = rows[k, 2] - rows[k, 0]
            if width > limit:
                key[k - first] = -np.inf
                count += 1
            else:
                key[k - first] = rows[k, 0]
                widest[p] = max(widest[p], width)
        split[p] = first + count
        order = np.argsort(key, kind="mergesort")
        rows[first:last] = rows[first:last][order]


@njit(nogil=True, cache=True, error_model="numpy", fastmath=True)
def _strip(ea, i, ox, oy, left, high, base, slope):
    """Twice the signed area under both an edge of A and the line base + slope x, left to high."""
    p = ea[i, 0] - ox
    q = ea[i, 2] - ox
    lo = max(p, left)
    hi = min(q, high)
    if hi <= lo:
        return 0.0
    ya = ea[i, 1] - oy
    rise = (ea[i, 3] - oy - ya) / (q - p)
    a_lo = ya + rise * (lo - p)
    a_hi = ya + rise * (hi - p)
    b_lo = base + slope * lo
    b_hi = base + slope * hi
    d_lo = a_lo - b_lo
    d_hi = a_hi - b_hi
    if d_lo <= 0.0 and d_hi <= 0.0:
        twice = (a_lo + a_hi) * (hi - lo)
    elif d_lo >= 0.0 and d_hi >= 0.0:
        twice = (b_lo + b_hi) * (hi - lo)
    else:
        t = d_lo / (d_lo - d_hi)
        xm = t * (hi - lo)
        ym = a_lo + t * (a_hi - a_lo)
        if d_lo < 0.0:
            twice = (a_lo + ym) * xm + (ym + b_hi) * (hi - lo - xm)
        else:
            twice = (b_lo + ym) * xm + (ym + a_hi) * (hi - lo - xm)
    return ea[i, 4] * twice


@njit(nogil=True, cache=True, error_model="numpy", fastmath=True)
def _under(ea, a0, split, start, a1, box, eb, j):
    """Twice the signed area of A under edge ``j`` of B, down to the floor of A's box.

    Of the edges of A those before ``split`` are all tried, those from ``start`` on by x1.
    """
    ox = box[0]
    oy = box[1]
    x1 = eb[j, 0] - ox
    x2 = eb[j, 2] - ox
    right = box[2] - ox
    y1 = eb[j, 1] - oy
    y2 = eb[j, 3] - oy
    if x2 <= 0.0 or x1 >= right or (y1 <= 0.0 and y2 <= 0.0):
        return 0.0
    slope = (y2 - y1) / (x2 - x1)
    left = x1
    high = x2
    # the part of the edge above the floor of A's box
    if y1 < 0.0:
        left = x1 - y1 / slope
    elif y2 < 0.0:
        high = x1 - y1 / slope
    left = max(left, 0.0)
    high = min(high, right)
    if high <= left:
        return 0.0
    base = y1 - slope * x1
    part = 0.0
    for i in range(a0, split):
        part += _strip(ea, i, ox, oy, left, high, base, slope)
    for i in range(start, a1):
        if ea[i, 0] - ox >= high:
            break
        part += _strip(ea, i, ox, oy, left, high, base, slope)
    return eb[j, 4] * part


@njit(nogil=True, cache=True, error_model="numpy", fastmath=True)
def _pair_area(ea, a0, split_a, a1, widest_a, box, eb, b0, split_b, b1, widest_b):
    """Area of A and B together; edges are rows of x1, y1, x2, y2, sign with x1 < x2.

    From ``split`` on edges are sorted by x1 and none is wider than ``widest``.
    """
    total = 0.0
    for j in range(b0, split_b):
        total += _under(ea, a0, split_a, split_a, a1, box, eb, j)
    low, high = split_b, b1
    while low < high:
        middle = (low + high) // 2
        if eb[middle, 0] + widest_b < box[0]:
            low = middle + 1
        else:
            high = middle
    start = split_a
    for j in range(low, b1):
        x = eb[j, 0]
        if x >= box[2]:
            break
        while start < a1 and ea[start, 0] + widest_a < x:
            start += 1
        total += _under(ea, a0, split_a, start, a1, box, eb, j)
    return 0.5 * total


@njit(nogil=True, cache=True)
def pair_areas(ea, offsets_a, boxes_a, eb, offsets_b, left, right, out, start, stop):
    """``out[k]`` = area of ``A[left[k]]`` and ``B[right[k]]`` together, for start <= k < stop."""
    for k in range(start, stop):
        a = left[k]
        b = right[k]
        # these edges need not be sorted: all are tried
        end_a, end_b = offsets_a[a + 1], offsets_b[b + 1]
        out[k] = _pair_area(
            ea, offsets_a[a], end_a, end_a, 0.0, boxes_a[a], eb, offsets_b[b], end_b, end_b, 0.0
        )


@njit(nogil=True, cache=True)
def cell_areas(
    ea,
    offsets_a,
    boxes_a,
    split_a,
    widest_a,
    eb,
    offsets_b,
    boxes_b,
    split_b,
    widest_b,
    size,
    first,
    shape,
    cells,
    members,
    weights,
    out,
    start,
    stop,
):
    """Weighted area of each A on a layer whose pieces stand in every cell that their box meets.

    ``split``, ``widest``: as ``sort_edges`` left the edges of the pieces.
    ``first``: column and row of the first cell. ``cells``, ``members``: the pieces of each cell
    (row-major over ``shape``). ``weights``: pieces x k. ``out``: A x k. A pair that meets in
    several cells counts in the one that holds the lower left corner of both boxes together.
    """
    columns, rows = shape
    count = weights.shape[1]
    for a in range(start, stop):
        i0 = int(np.floor(boxes_a[a, 0] / size)) - first[0]
        j0 = int(np.floor(boxes_a[a, 1] / size)) - first[1]
        i1 = int(np.floor(boxes_a[a, 2] / size)) - first[0]
        j1 = int(np.floor(boxes_a[a, 3] / size)) - first[1]
        for i in range(max(i0, 0), min(i1, columns - 1) + 1):
            for j in range(max(j0, 0), min(j1, rows - 1) + 1):
                cell = i * rows + j
                for q in range(cells[cell], cells[cell + 1]):
                    b = members[q]
                    if (
                        boxes_b[b, 0] >= boxes_a[a, 2]
                        or boxes_b[b, 2] <= boxes_a[a, 0]
                        or boxes_b[b, 1] >= boxes_a[a, 3]
                        or boxes_b[b, 3] <= boxes_a[a, 1]
                    ):
                        continue
                    x = max(boxes_a[a, 0], boxes_b[b, 0])
                    y = max(boxes_a[a, 1], boxes_b[b, 1])
                    if (
                        int(np.floor(x / size)) - first[0] != i
                        or int(np.floor(y / size)) - first[1] != j
                    ):
                        continue
                    area = _pair_area(
                        ea,
                        offsets_a[a],
                        split_a[a],
                        offsets_a[a + 1],
                        widest_a[a],
                        boxes_a[a],
                        eb,
                        offsets_b[b],
                        split_b[b],
                        offsets_b[b + 1],
                        widest_b[b],
                    )
                    for k in range(count):
                        out[a, k] += weights[b, k] * area


@njit(nogil=True, cache=True)
def grid_count(segments, size, ox, oy, shape, counts):
    """Number of segments whose box meets each grid cell, in ``counts[cell + 1]``."""
    for k in range(len(segments)):
        i0 = int((min(segments[k, 0], segments[k, 2]) - ox) / size)
        i1 = int((max(segments[k, 0], segments[k, 2]) - ox) / size)
        j0 = int((min(segments[k, 1], segments[k, 3]) - oy) / size)
        j1 = int((max(segments[k, 1], segments[k, 3]) - oy) / size)
        for i in range(i0, i1 + 1):
            for j in range(j0, j1 + 1):
                counts[i * shape[1] + j + 1] += 1


@njit(nogil=True, cache=True)
def grid_fill(segments, size, ox, oy, shape, offsets, filled, members):
    """The segments of each grid cell, after ``grid_count`` and a running sum."""
    for k in range(len(segments)):
        i0 = int((min(segments[k, 0], segments[k, 2]) - ox) / size)
        i1 = int((max(segments[k, 0], segments[k, 2]) - ox) / size)
        j0 = int((min(segments[k, 1], segments[k, 3]) - oy) / size)
        j1 = int((max(segments[k, 1], segments[k, 3]) - oy) / size)
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
        x1, y1, x2, y2 = own[m, 0], own[m, 1], own[m, 2], own[m, 3]
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


@njit(nogil=True, cache=True, error_model="numpy")
def nearest(own, runs, run_boxes, offsets, segments, size, ox, oy, shape, cells, out, start, stop):
    """Distance from the segments of each subject to the nearest segment of a layer, exact.

    ``segments`` stand in the order of the cells of their grid, again in every cell they meet.
    A subject's segments are taken in short runs, each with a box of its own, so that a large
    subject is not held as a whole against every segment under its box. The kernel sees
    boundaries only: where one lies inside the other the caller sets ``out`` to 0 beforehand.
    """
    for s in range(start, stop):
        if out[s] == 0.0:
            continue
        best = np.inf
        for r in range(offsets[s], offsets[s + 1]):
            best = _from_run(
                own,
                runs[r],
                runs[r + 1],
                run_boxes[r],
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
