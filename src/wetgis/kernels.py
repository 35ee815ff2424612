"""Compiled kernels: areas of intersections, and lengths of lines inside polygons.

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
    "lengths_inside",
    "pair_areas",
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
def _holds(xy, first, last, x, y):
    """Whether rings, given by their vertices from first to last, hold a point (odd and even)."""
    inside = False
    for k in range(first, last - 1):
        ya, yb = xy[k, 1], xy[k + 1, 1]
        if (ya > y) != (yb > y) and x < xy[k, 0] + (y - ya) / (yb - ya) * (xy[k + 1, 0] - xy[k, 0]):
            inside = not inside
    return inside


@njit(nogil=True, cache=True)
def _cuts(xy, first, last, px, py, qx, qy, near, cuts):
    """Where a segment is cut by the edges of rings, as shares of its length; how many.

    -1 where it runs along an edge, within ``near``: then which side it is on is not for this
    arithmetic to say.
    """
    dx, dy = qx - px, qy - py
    length = np.sqrt(dx * dx + dy * dy)
    n = 0
    for k in range(first, last - 1):
        ax, ay = xy[k, 0] - px, xy[k, 1] - py
        bx, by = xy[k + 1, 0] - px, xy[k + 1, 1] - py
        # distances of the edge's ends from the segment's line
        left = (dx * ay - dy * ax) / length
        right = (dx * by - dy * bx) / length
        if abs(left) <= near and abs(right) <= near:
            one, two = (ax * dx + ay * dy) / length, (bx * dx + by * dy) / length
            if min(max(one, two), length) - max(min(one, two), 0.0) > near:
                return -1
        if (left > 0.0) != (right > 0.0):
            share = left / (left - right)
            at = ((ax + share * (bx - ax)) * dx + (ay + share * (by - ay)) * dy) / (length * length)
            if 0.0 < at < 1.0:
                cuts[n] = at
                n += 1
    return n


@njit(nogil=True, cache=True)
def lengths_inside(xy, rings, lines, parts, left, right, near, out, start, stop):
    """``out[k]`` = length of line ``right[k]`` inside polygon ``left[k]``.

    NaN where the line runs along the polygon's boundary, within ``near``. ``rings``: first vertex
    and end of each polygon's rings in ``xy`` (m x 2): the step from one ring to the next must be
    a vertex of NaN, which cuts nothing. ``parts``: the same of each line's vertices in ``lines``.
    """
    most = 0
    for k in range(start, stop):
        most = max(most, rings[left[k], 1] - rings[left[k], 0])
    cuts = np.empty(most + 2)
    for k in range(start, stop):
        first, last = rings[left[k], 0], rings[left[k], 1]
        total = 0.0
        for m in range(parts[right[k], 0], parts[right[k], 1] - 1):
            px, py, qx, qy = lines[m, 0], lines[m, 1], lines[m + 1, 0], lines[m + 1, 1]
            if px == qx and py == qy:
                continue
            n = _cuts(xy, first, last, px, py, qx, qy, near, cuts)
            if n < 0:
                total = np.nan
                break
            cuts[n] = 1.0
            cuts[: n + 1].sort()
            length = np.sqrt((qx - px) ** 2 + (qy - py) ** 2)
            before = 0.0
            for c in range(n + 1):
                middle = 0.5 * (before + cuts[c])
                x, y = px + middle * (qx - px), py + middle * (qy - py)
                if cuts[c] > before and _holds(xy, first, last, x, y):
                    total += (cuts[c] - before) * length
                before = cuts[c]
        out[k] = total
