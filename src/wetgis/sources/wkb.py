"""Geometries from the bytes that files hold them in, so that a bad record is named and kept."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from wetgis.workers import in_chunks

__all__ = ["CURVES", "Decoded", "decoded", "wkb_kinds"]

Objects = np.ndarray[Any, np.dtype[np.object_]]
Ints = np.ndarray[Any, np.dtype[np.int64]]

#: WKB types that GDAL keeps as curves; they are read again as chords.
CURVES = {8, 9, 10, 11, 12, 13, 14}


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
