"""Geometries from the bytes that files hold them in, so that a bad record is named and kept."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from wetgis.workers import in_chunks

__all__ = ["CURVES", "Decoded", "decoded", "plain_boxes", "wkb_kinds"]

Objects = np.ndarray[Any, np.dtype[np.object_]]
Ints = np.ndarray[Any, np.dtype[np.int64]]
Bytes = np.ndarray[Any, np.dtype[np.uint8]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]

#: WKB types that GDAL keeps as curves; they are read again as chords.
CURVES = {8, 9, 10, 11, 12, 13, 14}

#: How plain geometries begin: dimension, least count of vertices, the bytes before that count.
#: A line; a polygon of one ring; one such polygon by itself in a collection of polygons.
_PLAIN = (
    (1, 2, b"\1\2\0\0\0"),
    (2, 4, b"\1\3\0\0\0\1\0\0\0"),
    (2, 4, b"\1\6\0\0\0\1\0\0\0\1\3\0\0\0\1\0\0\0"),
)


@dataclass(frozen=True)
class Decoded:
    """Geometries of some records of a layer, and what was wrong with which.

    Attributes
    ----------
    rows : ndarray of int
        Which records of the layer they are.
    geoms : ndarray of object
        As many; None where there is none or it could not be decoded.
    closed : tuple of int
        Rows whose ring was open and was closed.
    unreadable, open : dict
        Row to what is wrong with it, or open about its outline.
    """

    rows: Ints
    geoms: Objects
    closed: tuple[int, ...] = ()
    unreadable: dict[int, str] = field(default_factory=dict)
    open: dict[int, str] = field(default_factory=dict)


def decoded(wkb: Objects, rows: Ints | None = None) -> Decoded:
    """WKB to geometries: open rings are closed and named, the rest that fails is named."""
    import shapely

    try:
        geoms = in_chunks(_decode_many, wkb)
    except (NotImplementedError, shapely.errors.GEOSException, TypeError, ValueError):
        geoms = np.array([_decode_one(w) for w in wkb], dtype=object)
    geoms = np.asarray(geoms, dtype=object)
    rows = np.arange(len(wkb)) if rows is None else rows
    closed: list[int] = []
    unreadable: dict[int, str] = {}
    for i in np.flatnonzero(shapely.is_missing(geoms)).tolist():
        if wkb[i] is None:
            continue
        geoms[i] = _decode_one(wkb[i], "fix")
        if geoms[i] is not None:
            closed.append(int(rows[i]))
        else:
            text = f"the geometry could not be decoded ({_wkb_name(wkb[i])})."
            unreadable[int(rows[i])] = text
    return Decoded(rows, geoms, tuple(closed), unreadable)


def wkb_kinds(wkb: Any) -> set[int]:
    """The kinds of geometry that there are, by the first bytes of each."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = pa.array(wkb, type=pa.large_binary()) if isinstance(wkb, np.ndarray) else wkb
    kinds = set()
    for head in pc.unique(pc.binary_slice(column, 0, 5)).to_pylist():
        if head is not None and len(head) == 5:
            number = int.from_bytes(head[1:5], "little" if head[0] == 1 else "big")
            kinds.add((number & 0x0FFFFFFF) % 1000)
    return kinds


def plain_boxes(
    data: Bytes, starts: Ints, dimensions: tuple[int, ...]
) -> tuple[Flags, np.ndarray[Any, np.dtype[np.float64]]]:
    """Which geometries are plain, by their bytes alone, and the boxes of these, in order.

    Plain are lines and polygons of one path in two dimensions, whose bytes hold what they should,
    every number finite and every ring closed: nothing is to be said of them, and most are such.

    Parameters
    ----------
    data : ndarray of uint8
        WKB, one after the other.
    starts : ndarray of int
        Where each begins, n + 1.
    dimensions : tuple of int
        What counts as plain: 1 lines, 2 areas; empty: both.
    """
    sizes = np.diff(starts)
    heads = np.zeros(len(sizes), dtype=np.int64)  # bytes before the vertices; 0 is not plain
    counts = np.zeros(len(sizes), dtype=np.int64)
    for dimension, least, begin in _PLAIN:
        if dimensions and dimension not in dimensions:
            continue
        head = len(begin) + 4
        rows = np.flatnonzero(sizes >= head + 16 * least)
        begun = data[starts[rows, None] + np.arange(head)]
        count = np.ascontiguousarray(begun[:, -4:]).view("<u4")[:, 0].astype(np.int64)
        fits = (begun[:, :-4] == np.frombuffer(begin, np.uint8)).all(axis=1)
        fits &= (count >= least) & (sizes[rows] == head + 16 * count)
        heads[rows[fits]], counts[rows[fits]] = head, count[fits]
    plain = heads > 0
    xy = _vertices(data, starts, heads)
    counts = counts[plain]
    last = np.cumsum(counts)
    first = last - counts
    boxes = np.empty((len(counts), 4))
    if len(counts):
        for axis in (0, 1):
            column = np.ascontiguousarray(xy[:, axis])
            boxes[:, axis] = np.minimum.reduceat(column, first)
            boxes[:, axis + 2] = np.maximum.reduceat(column, first)
    # one number that is not finite is in the box as well
    sound = np.isfinite(boxes).all(axis=1)
    sound &= (xy[first] == xy[last - 1]).all(axis=1) | (heads[plain] == len(_PLAIN[0][2]) + 4)
    plain[plain] = sound
    return plain, boxes[sound]


def _vertices(data: Bytes, starts: Ints, heads: Ints) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The vertices of geometries one after the other, of those that have bytes before them."""
    here = data[starts[0] : starts[-1]]
    inside = np.repeat(heads > 0, np.diff(starts)) if (heads == 0).any() else None
    inside = np.ones(len(here), dtype=bool) if inside is None else inside
    for head in np.unique(heads[heads > 0]).tolist():
        rows = np.flatnonzero(heads == head)
        inside[starts[rows, None] - starts[0] + np.arange(head)] = False
    return here[inside].view("<f8").reshape(-1, 2)


def _decode_many(wkb: Any) -> Any:
    import shapely

    with np.errstate(invalid="ignore"):  # a NaN coordinate is told later, as an issue
        return shapely.from_wkb(wkb, on_invalid="ignore")


def _decode_one(wkb: bytes | None, on_invalid: str = "ignore") -> Any:
    import shapely

    try:
        return shapely.from_wkb(wkb, on_invalid=on_invalid)
    except (NotImplementedError, shapely.errors.GEOSException, TypeError, ValueError):
        return None


def _wkb_name(wkb: bytes) -> str:
    names = {15: "polyhedral surface or multipatch", 16: "TIN", 17: "triangle"}
    number = next(iter(wkb_kinds(np.array([wkb], dtype=object))), 0)
    return names.get(number, f"WKB type {number}, {len(wkb)} bytes")
