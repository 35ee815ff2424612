"""A compiled kernel: the boxes of geometries from their WKB, without making them."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["plain_boxes"]

Floats = NDArray[np.float64]
Bytes = NDArray[np.uint8]


@njit(nogil=True, cache=True)
def _number(data, at):
    """A little-endian whole number of four bytes."""
    return (
        np.int64(data[at])
        | (np.int64(data[at + 1]) << 8)
        | (np.int64(data[at + 2]) << 16)
        | (np.int64(data[at + 3]) << 24)
    )


@njit(nogil=True, cache=True)
def _path(data, at, end, least, closed, scratch, box):
    """Widen a box by a count and as many vertices; where they end, -1 where they are not plain."""
    if at + 4 > end:
        return -1
    count = _number(data, at)
    at += 4
    if count < least or at + 16 * count > end:
        return -1
    # numbers in a file begin at any byte; in an array of their own they are aligned
    scratch.view(np.uint8)[: 16 * count] = data[at : at + 16 * count]
    for k in range(count):
        x, y = scratch[2 * k], scratch[2 * k + 1]
        if not (np.isfinite(x) and np.isfinite(y)):
            return -1
        box[0], box[1] = min(box[0], x), min(box[1], y)
        box[2], box[3] = max(box[2], x), max(box[3], y)
    last = 2 * (count - 1)
    if closed and not (scratch[0] == scratch[last] and scratch[1] == scratch[last + 1]):
        return -1
    return at + 16 * count


@njit(nogil=True, cache=True)
def _part(data, at, end, kind, scratch, box):
    """Widen a box by a line or polygon that begins at a byte; where it ends, -1 where not plain."""
    if at + 9 > end or data[at] != 1 or _number(data, at + 1) != kind:
        return -1
    if kind == 2:
        return _path(data, at + 5, end, 2, False, scratch, box)
    rings = _number(data, at + 5)
    at += 9
    if rings < 1:
        return -1
    for _ in range(rings):
        at = _path(data, at, end, 4, True, scratch, box)
        if at < 0:
            return -1
    return at


@njit(nogil=True, cache=True)
def plain_boxes(data, starts, dimensions, boxes):
    """Write the box of each geometry that is plain, and say which are.

    Plain are lines and polygons, single or several, in two dimensions, whose bytes hold what they
    should, every number finite and every ring closed: there is nothing to be said of them.

    Parameters
    ----------
    data : ndarray of uint8
        WKB, one after the other.
    starts : ndarray of int64
        Where each begins, n + 1.
    dimensions : ndarray of bool
        Which of points, lines and areas count as plain (points never do).
    boxes : ndarray of float64
        n x 4, written where a geometry is plain.

    Returns
    -------
    ndarray of bool
    """
    count = len(starts) - 1
    longest = 0
    for i in range(count):
        longest = max(longest, starts[i + 1] - starts[i])
    scratch = np.empty(longest // 8 + 2, dtype=np.float64)
    box = np.empty(4, dtype=np.float64)
    plain = np.zeros(count, dtype=np.bool_)
    for i in range(count):
        at, end = starts[i], starts[i + 1]
        if end - at < 9 or data[at] != 1:
            continue
        kind = _number(data, at + 1)
        if not ((kind in (2, 5) and dimensions[1]) or (kind in (3, 6) and dimensions[2])):
            continue
        box[:2], box[2:] = np.inf, -np.inf
        if kind in (2, 3):
            at = _part(data, at, end, kind, scratch, box)
        else:
            parts = _number(data, at + 5)
            at = at + 9 if parts > 0 else -1
            while parts > 0 and at >= 0:
                at = _part(data, at, end, kind - 3, scratch, box)
                parts -= 1
        if at == end:
            plain[i] = True
            boxes[i] = box
    return plain
