"""How much of each raster cell a polygon, a line or a point covers: exact, by signed area.

Everything happens in pixel coordinates (column and row, both with fractions), so a south-up,
a rotated or a sheared grid needs no case of its own: polygons go to the grid, the grid stays.

An edge of a polygon leaves, in every row of cells that it crosses, its height in the cells right
of it, and in the cells that it cuts the part of them right of it. A running sum along the row
then is the covered fraction of each cell. The work is proportional to the edges and the
cells of a shape's box; nothing is sampled, and no cell centre is asked.

Coordinates are taken from the corner of the first cell of each shape's box. So they are small,
and a shape moved by whole cells leaves the same bits. Sums run row by row in one order, whatever
the window or the strip in which the cells were read.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from wetgis.schema import EPS_PCT

__all__ = [
    "ABOVE",
    "BAD",
    "IMPOSSIBLE",
    "KNOWN",
    "MAXIMUM",
    "NO_TILE",
    "N_SUMS",
    "OUTSIDE",
    "SUM",
    "UNKNOWN",
    "VOID",
    "PixelShapes",
    "cover",
    "new_sums",
    "pixel_polygons",
    "trace",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Columns of the sums. Weights are cells for polygons, lengths for lines, one a point.
KNOWN, UNKNOWN, OUTSIDE, ABOVE, IMPOSSIBLE, SUM, MAXIMUM = range(7)
N_SUMS = 7

# Where a value is NaN, the array of noises says why.
NO_TILE = np.float32(-1.0)
BAD = np.float32(-2.0)  # an impossible value
VOID = np.float32(-3.0)  # declared to be without data

#: A smaller part of a cell is rounding noise: with 10 ft cells 1e-7 sq ft.
CUT = 1e-9
#: Cells of the running buffer: a larger shape is done in strips of rows.
BUFFER_CELLS = 1 << 22


@dataclass(frozen=True)
class PixelShapes:
    """Polygons in pixel coordinates, each from the corner of its first cell.

    ``ring_sign`` is +1 or -1 such that shells count positive and holes negative whatever the
    stored direction; ``origin`` and ``size`` are (column, row) of the first cell and the number of
    columns and rows; ``area`` is in cells.
    """

    uv: Floats
    ring_offset: Ints
    ring_sign: Floats
    shape_offset: Ints
    origin: Ints
    size: Ints
    area: Floats


def new_sums(n: int) -> Floats:
    """Empty sums for ``n`` shapes: zeros, and no maximum yet."""
    sums = np.zeros((n, N_SUMS))
    sums[:, MAXIMUM] = -np.inf
    return sums


def pixel_polygons(
    xy: Floats,
    ring_offset: Ints,
    is_shell: NDArray[np.bool_],
    shape_offset: Ints,
    affine: tuple[float, float, float, float, float, float],
) -> PixelShapes:
    """Take polygons, given as rings, to pixel coordinates.

    Parameters
    ----------
    xy : array (n, 2)
        Coordinates of all rings, in the grid's coordinate system.
    ring_offset, shape_offset : arrays of int64
        Where each ring starts in ``xy``, and each shape in the rings; one longer than they are.
    is_shell : array of bool
        For each ring.
    affine : six floats
        a, b, c, d, e, f of x = a col + b row + c, y = d col + e row + f.
    """
    n_ring, n = len(ring_offset) - 1, len(shape_offset) - 1
    shapes = PixelShapes(
        np.empty((len(xy), 2)),
        ring_offset,
        np.empty(n_ring),
        shape_offset,
        np.zeros((n, 2), np.int64),
        np.zeros((n, 2), np.int64),
        np.zeros(n),
    )
    _to_pixels(xy, ring_offset, is_shell, shape_offset, np.array(affine), shapes.uv,
               shapes.ring_sign, shapes.origin, shapes.size, shapes.area)  # fmt: skip
    return shapes


@njit(nogil=True, cache=True, error_model="numpy")
def _pixel(dx, dy, t):  # type: ignore[no-untyped-def]
    """Column and row of an offset from a corner; the plain quotient where nothing is rotated."""
    if t[1] == 0.0 and t[3] == 0.0:
        return dx / t[0], dy / t[4]
    det = t[0] * t[4] - t[1] * t[3]
    return (t[4] * dx - t[1] * dy) / det, (t[0] * dy - t[3] * dx) / det


@njit(nogil=True, cache=True, error_model="numpy")
def _to_pixels(xy, ring, is_shell, shape, t, uv, sign, origin, size, area):  # type: ignore[no-untyped-def]
    for p in range(len(shape) - 1):
        first = ring[shape[p]]
        last = ring[shape[p + 1]]
        if first == last:
            continue
        u0 = v0 = np.inf
        u1 = v1 = -np.inf
        for k in range(first, last):
            u, v = _pixel(xy[k, 0] - t[2], xy[k, 1] - t[5], t)
            u0, u1, v0, v1 = min(u0, u), max(u1, u), min(v0, v), max(v1, v)
        col = np.floor(u0)
        row = np.floor(v0)
        origin[p, 0] = np.int64(col)
        origin[p, 1] = np.int64(row)
        size[p, 0] = max(np.int64(np.ceil(u1) - col), 1)
        size[p, 1] = max(np.int64(np.ceil(v1) - row), 1)
        cx = t[2] + (col * t[0] + row * t[1])
        cy = t[5] + (col * t[3] + row * t[4])
        for k in range(first, last):
            uv[k, 0], uv[k, 1] = _pixel(xy[k, 0] - cx, xy[k, 1] - cy, t)
        for r in range(shape[p], shape[p + 1]):
            twice = 0.0
            for k in range(ring[r], ring[r + 1] - 1):
                twice += (uv[k, 0] * uv[k + 1, 1]) - (uv[k + 1, 0] * uv[k, 1])
            # with rows growing downward on the page, the running sum along a row wants this sign
            sign[r] = 1.0 if (twice >= 0.0) == is_shell[r] else -1.0
            area[p] += 0.5 * abs(twice) * (1.0 if is_shell[r] else -1.0)


@njit(nogil=True, cache=True, error_model="numpy")
def _deposit(line, width, x0, x1, height):  # type: ignore[no-untyped-def]
    """Leave one piece of an edge, within one row, in the row's buffer of differences."""
    left = min(x0, x1)
    right = max(x0, x1)
    if left >= width:
        return
    if left < 0.0:  # what lies left of the window counts whole from its first column on
        if right <= 0.0:
            line[0] += height
            return
        share = -left / (right - left)
        line[0] += height * share
        height -= height * share
        left = 0.0
    if right > width:
        height *= (width - left) / (right - left)
        right = width
    first = int(np.floor(left))
    end = int(np.ceil(right))
    if end <= first + 1:
        middle = 0.5 * (left + right) - first
        line[first] += height * (1.0 - middle)
        line[first + 1] += height * middle
        return
    per_cell = 1.0 / (right - left)
    gone = 0.5 * per_cell * (first + 1 - left) ** 2
    line[first] += height * gone
    # covered part of cell c: from the middle of the piece of the edge inside it
    for c in range(first + 1, end - 1):
        now = per_cell * (c + 0.5 - left)
        line[c] += height * (now - gone)
        gone = now
    tail = 0.5 * per_cell * (right - (end - 1)) ** 2
    line[end - 1] += height * (1.0 - tail - gone)
    line[end] += height * tail


@njit(nogil=True, cache=True, error_model="numpy")
def _draw(uv, ring, sign, r0, r1, shift, width, row0, row1, buffer):  # type: ignore[no-untyped-def]
    """All edges of a shape into the buffer, for its rows from row0 up to row1."""
    for r in range(r0, r1):
        for k in range(ring[r], ring[r + 1] - 1):
            ax = uv[k, 0] + shift
            ay = uv[k, 1]
            bx = uv[k + 1, 0] + shift
            by = uv[k + 1, 1]
            if ay == by:
                continue
            s = -sign[r]
            if ay > by:
                ax, bx = bx, ax
                ay, by = by, ay
                s = -s
            run = (bx - ax) / (by - ay)
            start = max(int(np.floor(ay)), row0)
            stop = min(int(np.ceil(by)), row1)
            for row in range(start, stop):
                y0 = max(ay, float(row))
                y1 = min(by, row + 1.0)
                x0 = ax if y0 == ay else ax + (y0 - ay) * run
                x1 = bx if y1 == by else ax + (y1 - ay) * run
                _deposit(buffer[row - row0], float(width), x0, x1, (y1 - y0) * s)


@njit(nogil=True, cache=True, error_model="numpy")
def _note(sums, weight, value, noise, above):  # type: ignore[no-untyped-def]
    """Count one cell, or one piece of a line, in a shape's sums."""
    if value == value:
        sums[0] += weight
        sums[5] += weight * value
        if value > sums[6]:
            sums[6] = value
        if value > above + max(EPS_PCT, noise):
            sums[3] += weight
    elif noise == NO_TILE:
        sums[2] += weight
    else:
        sums[1] += weight
        if noise == BAD:
            sums[4] += weight


@njit(nogil=True, cache=True, error_model="numpy")
def _cover_rows(buffer, width, row0, row1, at, values, noise, above, cut, sums):  # type: ignore[no-untyped-def]
    """Read the buffer's rows off and count their cells; ``at``: of the buffer in the window.

    Known cells are counted in locals, in the same order as ``_note`` would: most cells are.
    """
    known = sums[0]
    over = sums[3]
    total = sums[5]
    top = sums[6]
    over_eps = above + EPS_PCT
    for row in range(row0, row1):
        line = buffer[row - row0]
        value_row = values[row + at[1]]
        noise_row = noise[row + at[1]]
        covered = 0.0
        for c in range(width):
            covered += line[c]
            if covered > cut:
                value = value_row[c + at[0]]
                if value == value:
                    known += covered
                    total += covered * value
                    top = max(top, value)
                    if value > over_eps and value > above + noise_row[c + at[0]]:
                        over += covered
                else:
                    _note(sums, covered, value, noise_row[c + at[0]], above)
    sums[0] = known
    sums[3] = over
    sums[5] = total
    sums[6] = top


@njit(nogil=True, cache=True, error_model="numpy")
def _cover(uv, ring, sign, shape, origin, size, area, pick, values, noise, corner, above, sums):  # type: ignore[no-untyped-def]
    height, width = values.shape
    store = np.zeros(4096)
    for p in pick:
        col0 = max(origin[p, 0], corner[0])
        col1 = min(origin[p, 0] + size[p, 0], corner[0] + width)
        row0 = max(origin[p, 1], corner[1]) - origin[p, 1]
        row1 = min(origin[p, 1] + size[p, 1], corner[1] + height) - origin[p, 1]
        if col1 <= col0 or row1 <= row0:
            continue
        n = col1 - col0
        step = max(1, min(row1 - row0, BUFFER_CELLS // (n + 2)))
        if step * (n + 2) > len(store):
            store = np.zeros(step * (n + 2))
        at = (col0 - corner[0], origin[p, 1] - corner[1])
        # a shape far smaller than a cell has a smaller noise
        cut = min(CUT, 1e-3 * area[p])
        for k in range(row0, row1, step):
            end = min(k + step, row1)
            buffer = store[: (end - k) * (n + 2)].reshape((end - k, n + 2))
            buffer[:] = 0.0
            shift = float(origin[p, 0] - col0)
            _draw(uv, ring, sign, shape[p], shape[p + 1], shift, n, k, end, buffer)
            _cover_rows(buffer, n, k, end, at, values, noise, above, cut, sums[p])


def cover(
    shapes: PixelShapes,
    pick: Ints,
    window: tuple[Floats, NDArray[np.float32]],
    corner: tuple[int, int],
    above: float,
    sums: Floats,
) -> None:
    """Add to ``sums`` the cells of a window that each picked polygon covers.

    Parameters
    ----------
    shapes, pick
        Polygons, and which of them.
    window : (values, noise)
        Values, NaN where not known, and their noise in the same units; where the value is NaN the
        noise is ``NO_TILE``, ``BAD``, ``VOID`` or 0 (a neighbour is not known).
    corner : (column, row)
        Of the window's first cell in the grid. A shape's columns inside the grid lie in the window;
        its rows may be given window by window, from the first to the last.
    above : float
        A cell counts as above where its value exceeds this by more than the noise.
    sums : array (shapes, N_SUMS)
        Changed in place.
    """
    _cover(shapes.uv, shapes.ring_offset, shapes.ring_sign, shapes.shape_offset, shapes.origin,
           shapes.size, shapes.area, pick, window[0], window[1],
           np.array(corner, np.int64), above, sums)  # fmt: skip


@njit(nogil=True, cache=True, error_model="numpy")
def _crossing(start, delta, step):  # type: ignore[no-untyped-def]
    """How far along a segment, from 0 to 1, it crosses its step-th cell line of one axis."""
    if delta > 0.0:
        return (np.floor(start) + 1.0 + step - start) / delta
    if delta < 0.0:
        return (np.ceil(start) - 1.0 - step - start) / delta
    return np.inf


@njit(nogil=True, cache=True, error_model="numpy")
def _trace(uv, weight, owner, values, noise, corner, above, sums):  # type: ignore[no-untyped-def]
    height, width = values.shape
    for k in range(len(owner)):
        u = uv[k, 0]
        v = uv[k, 1]
        du = uv[k, 2] - u
        dv = uv[k, 3] - v
        t = 0.0
        i = 0
        j = 0
        while t < 1.0:
            tu = _crossing(u, du, i)
            tv = _crossing(v, dv, j)
            end = min(tu, tv, 1.0)
            if tu <= end:
                i += 1
            if tv <= end:
                j += 1
            if end <= t and end < 1.0:
                continue
            half = 0.5 * (t + end)
            c = np.int64(np.floor(u + half * du)) - corner[0]
            r = np.int64(np.floor(v + half * dv)) - corner[1]
            if 0 <= c < width and 0 <= r < height:
                _note(sums[owner[k]], weight[k] * (end - t), values[r, c], noise[r, c], above)
            t = end


def trace(
    segments: tuple[Floats, Floats, Ints],
    window: tuple[Floats, NDArray[np.float32]],
    corner: tuple[int, int],
    above: float,
    sums: Floats,
) -> None:
    """Add to ``sums`` the cells that segments of lines run through, by their share of length.

    Parameters
    ----------
    segments : (uv, weight, owner)
        Ends in pixel coordinates (u0, v0, u1, v1), what the whole segment weighs (its length; 1 for
        a point, whose two ends are equal), and the row of ``sums`` to which it belongs.
    window, corner, above, sums
        As for ``cover``.
    """
    uv, weight, owner = segments
    _trace(uv, weight, owner, window[0], window[1], np.array(corner, np.int64), above, sums)
