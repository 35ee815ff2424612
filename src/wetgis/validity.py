"""Geometries that can be computed with, and what it took to make them so.

Nothing is dropped: a record whose geometry cannot be used keeps its row without one, and
each repair is an issue with the area before and after.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np
import shapely

from wetgis.issuelog import Issue
from wetgis.workers import in_chunks

__all__ = [
    "Geometries",
    "Screened",
    "area_part",
    "mend",
    "repair",
    "screen_out",
    "screened",
    "screening_issues",
]

Objects = np.ndarray[Any, np.dtype[np.object_]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]

_DIMENSION_WORDS = {0: "points", 1: "lines", 2: "polygons"}


@dataclass(frozen=True)
class Geometries:
    """Geometries and the issues that they gave rise to, by position.

    Attributes
    ----------
    geoms : ndarray of object
        As many as there were; None where a geometry cannot be used.
    issues : tuple of Issue
        In the order of the records within each cause.
    """

    geoms: Objects
    issues: tuple[Issue, ...]


@dataclass(frozen=True)
class Causes:
    """What was found in screening some records: how many lost Z or M, the issues by cause."""

    flattened: int
    issues: tuple[tuple[Issue, ...], ...]


@dataclass(frozen=True)
class Screened:
    """Geometries after screening, and what was found."""

    geoms: Objects
    causes: Causes


def repair(
    geoms: Sequence[Any] | Objects,
    *,
    ids: Sequence[str] | None = None,
    dimensions: tuple[int, ...] = (0, 1, 2),
    sqft_per_unit2: float = 1.0,
    where: tuple[str, str] = ("", ""),
) -> Geometries:
    """Two-dimensional, finite, valid geometries of the dimensions that a layer may hold.

    First to two dimensions; then what is null, empty, not finite or of a wrong dimension is
    taken out; then invalid geometries are mended by ``make_valid(method="structure",
    keep_collapsed=False)``, of polygons the part that has an area; rings are oriented.

    Parameters
    ----------
    geoms : sequence of shapely geometries or None
        In one CRS.
    ids : sequence of str, optional
        What the issues call the records; without it their positions.
    dimensions : tuple of int
        0 points, 1 lines, 2 polygons; empty: whatever is there, collections too.
    sqft_per_unit2 : float
        Square feet in one square unit of the CRS; NaN where areas mean nothing.
    where : tuple of str
        Layer and file, for the issues.

    Returns
    -------
    Geometries

    Examples
    --------
    >>> bowtie = shapely.Polygon([(0, 0), (10, 10), (10, 0), (0, 10)])
    >>> out = repair([bowtie, None], ids=["B", "N"])
    >>> [issue.code for issue in out.issues], out.geoms[0].area, out.geoms[1]
    (['null_geometry', 'repaired'], 50.0, None)
    """
    first = screen_out(geoms, ids=ids, dimensions=dimensions, where=where)
    second = mend(
        first.geoms, ids=ids, dimensions=dimensions, sqft_per_unit2=sqft_per_unit2, where=where
    )
    return Geometries(second.geoms, first.issues + second.issues)


def screen_out(
    geoms: Sequence[Any] | Objects,
    *,
    ids: Sequence[str] | None = None,
    dimensions: tuple[int, ...] = (0, 1, 2),
    where: tuple[str, str] = ("", ""),
) -> Geometries:
    """Geometries in two dimensions; None for what is null, empty, not finite or of a wrong kind.

    Parameters and result as in `repair`.
    """
    found = screened(geoms, ids=ids, dimensions=dimensions, where=where)
    return Geometries(found.geoms, screening_issues([found.causes], where))


def screened(
    geoms: Sequence[Any] | Objects,
    *,
    ids: Sequence[str] | None = None,
    dimensions: tuple[int, ...] = (0, 1, 2),
    where: tuple[str, str] = ("", ""),
) -> Screened:
    """`screen_out` for some of the records of a layer; `screening_issues` joins what it found."""
    out = _objects(geoms)
    note = _Noter(ids, where)
    null = shapely.is_missing(out)
    flat = _has_more(out)
    if flat.any():
        out[flat] = shapely.force_2d(out[flat])
    note.each(null, "error", "null_geometry", "the record has no geometry.")
    causes = [note.handed_over()]
    empty = shapely.is_empty(out) & ~null
    note.each(empty, "error", "empty_geometry", "the record's geometry is empty.")
    causes.append(note.handed_over())
    out[empty] = None
    broken = _not_finite(out)
    note.each(broken, "error", "non_finite", "the geometry has a NaN or infinite coordinate.")
    causes.append(note.handed_over())
    out[broken] = None
    if dimensions:
        out, more = _fitting(out, dimensions, note)
        causes += more
    return Screened(out, Causes(int(flat.sum()), tuple(causes)))


def screening_issues(
    found: Sequence[Causes], where: tuple[str, str] = ("", "")
) -> tuple[Issue, ...]:
    """The issues of screening a layer part by part: by cause, then in the order of the records."""
    note = _Noter(None, where)
    if flat := sum(one.flattened for one in found):
        note.once("note", "dropped_dimension", f"Z or M of {flat} records was left out.", "")
    by_cause = zip(*(one.issues for one in found), strict=True)
    return (*note.issues, *(issue for cause in by_cause for part in cause for issue in part))


def mend(
    geoms: Objects,
    *,
    ids: Sequence[str] | None = None,
    dimensions: tuple[int, ...] = (0, 1, 2),
    sqft_per_unit2: float = 1.0,
    where: tuple[str, str] = ("", ""),
) -> Geometries:
    """Valid geometries with oriented rings from finite two-dimensional ones.

    Parameters and result as in `repair`.
    """
    out = _objects(geoms)
    note = _Noter(ids, where)
    with np.errstate(invalid="ignore"):
        bad = ~in_chunks(shapely.is_valid, out) & ~shapely.is_missing(out)
    if bad.any():
        _mend_those(out, np.flatnonzero(bad), sqft_per_unit2, note)
    areal = np.isin(shapely.get_type_id(out), (3, 6))
    out[areal] = in_chunks(shapely.orient_polygons, out[areal])
    return Geometries(out, tuple(note.issues))


def _mend_those(out: Objects, rows: np.ndarray, sqft_per_unit2: float, note: _Noter) -> None:
    old = out[rows]
    areal = np.isin(shapely.get_type_id(old), (3, 6))
    before = shapely.area(old) * sqft_per_unit2
    reasons = shapely.is_valid_reason(old)
    new = _made_valid(old)
    new[areal] = area_part(new[areal])
    gone = shapely.is_missing(new) | shapely.is_empty(new)
    new[gone] = None
    after = np.where(gone, 0.0, shapely.area(new) * sqft_per_unit2)
    out[rows] = new
    for i, row in enumerate(rows.tolist()):
        sizes = (before[i], after[i]) if areal[i] else (nan, nan)
        reason = str(reasons[i]).split("[")[0].strip().lower()
        if gone[i]:
            text = f"nothing was left after the repair ({reason})."
            note.one(row, "error", "collapsed", text, "not used", sizes)
        else:
            note.one(row, "note", "repaired", f"repaired: {reason}.", "", sizes)


def _made_valid(geoms: Objects) -> Objects:
    """Geometries repaired by their structure; where rounding undoes that, by other ways."""
    new = _objects(shapely.make_valid(geoms, method="structure", keep_collapsed=False))
    for way in (_again, _on_a_grid, shapely.make_valid):
        rows = np.flatnonzero(~shapely.is_valid(new) & ~shapely.is_missing(new))
        if not len(rows):
            return new
        tried = _objects(way(new[rows]))
        better = shapely.is_valid(tried)
        new[rows[better]] = tried[better]
    new[~shapely.is_valid(new)] = None
    return new


def _again(geoms: Objects) -> Objects:
    return _objects(shapely.make_valid(geoms, method="structure", keep_collapsed=False))


def _on_a_grid(geoms: Objects) -> Objects:
    """Coordinates rounded to a grid that their own size can still tell apart."""
    sizes = np.abs(shapely.bounds(geoms)).max(axis=1)
    return _objects(shapely.set_precision(geoms, sizes * 1e-13))


def area_part(geoms: Objects) -> Objects:
    """The polygons of each geometry, as one Polygon or MultiPolygon; None where there are none.

    Parameters
    ----------
    geoms : ndarray of object
        Any geometries.

    Examples
    --------
    >>> mixed = shapely.GeometryCollection([shapely.box(0, 0, 1, 1), shapely.Point(5, 5)])
    >>> area_part(np.array([mixed], dtype=object))[0].geom_type
    'Polygon'
    """
    return _part_of(geoms, 2)


def _part_of(geoms: Objects, dimension: int) -> Objects:
    """The parts of one dimension, as the simplest geometry that holds them."""
    out = _objects(geoms)
    kinds = shapely.get_type_id(out)
    mixed = np.flatnonzero(kinds == 7)
    wrong = (kinds != 7) & (shapely.get_dimensions(out) != dimension)
    out[wrong] = None
    if not len(mixed):
        return out
    parts, owner = _leaves(out[mixed])
    keep = (shapely.get_dimensions(parts) == dimension) & ~shapely.is_empty(parts)
    parts, owner = parts[keep], owner[keep]
    make: Callable[..., Any] = (
        shapely.multipoints,
        shapely.multilinestrings,
        shapely.multipolygons,
    )[dimension]
    gathered = np.full(len(mixed), None, dtype=object)
    if len(parts):
        built = make(parts, indices=owner, out=np.full(len(mixed), None, dtype=object))
        single = np.bincount(owner, minlength=len(mixed)) == 1
        built[single] = shapely.get_geometry(built[single], 0)
        gathered = built
    out[mixed] = gathered
    return out


def _leaves(geoms: Objects) -> tuple[Objects, np.ndarray]:
    """Single geometries of nested collections, and the position of each one's owner."""
    parts, owner = shapely.get_parts(geoms, return_index=True)
    while (shapely.get_type_id(parts) >= 4).any():
        parts, inner = shapely.get_parts(parts, return_index=True)
        owner = owner[inner]
    return parts, owner


def _fitting(
    out: Objects, dimensions: tuple[int, ...], note: _Noter
) -> tuple[Objects, list[tuple[Issue, ...]]]:
    """None for what a layer cannot hold; of collections the part that it can."""
    causes: list[tuple[Issue, ...]] = []
    dims = shapely.get_dimensions(out)
    mixed = shapely.get_type_id(out) == 7
    # the highest dimension that the layer may hold; the rest is named, not kept
    for dimension in sorted(dimensions, reverse=True):
        if mixed.any():
            rows = np.flatnonzero(mixed & (shapely.get_type_id(out) == 7))
            taken = _part_of(out[rows], dimension)
            found = ~shapely.is_missing(taken)
            out[rows[found]] = taken[found]
            note.each_at(
                rows[found],
                "warning",
                "wrong_geometry_type",
                f"of a mixed collection the {_DIMENSION_WORDS[dimension]} were taken.",
            )
        causes.append(note.handed_over())
    if mixed.any():
        dims = shapely.get_dimensions(out)
        dims[shapely.get_type_id(out) == 7] = 9
    wrong = ~shapely.is_missing(out) & ~np.isin(dims, dimensions)
    allowed = " or ".join(_DIMENSION_WORDS[d] for d in dimensions)
    for row in np.flatnonzero(wrong).tolist():
        text = f"the record is a {out[row].geom_type}; the layer holds {allowed}."
        note.one(row, "error", "wrong_geometry_type", text, "not used")
    out[wrong] = None
    return out, [*causes, note.handed_over()]


def _objects(geoms: Sequence[Any] | Objects) -> Objects:
    out = np.empty(len(geoms), dtype=object)
    out[:] = np.asarray(geoms, dtype=object) if len(geoms) else []
    return out


def _has_more(geoms: Objects) -> Flags:
    more = shapely.has_z(geoms)
    if hasattr(shapely, "has_m"):
        more = more | shapely.has_m(geoms)
    return np.asarray(more)


def _not_finite(geoms: Objects) -> Flags:
    bad = np.zeros(len(geoms), dtype=bool)
    if np.isfinite(shapely.get_coordinates(geoms)).all():
        return bad
    xy, owner = shapely.get_coordinates(geoms, return_index=True)
    bad[owner[~np.isfinite(xy).all(axis=1)]] = True
    return bad


class _Noter:
    """Issues about records, each with its id."""

    def __init__(self, ids: Sequence[str] | None, where: tuple[str, str]) -> None:
        self.ids, (self.layer, self.file) = ids, where
        self.issues: list[Issue] = []

    def handed_over(self) -> tuple[Issue, ...]:
        """What was noted since the last time."""
        taken, self.issues = tuple(self.issues), []
        return taken

    def one(
        self,
        row: int,
        severity: str,
        code: str,
        message: str,
        effect: str = "",
        sizes: tuple[float, float] = (nan, nan),
    ) -> None:
        name = str(row) if self.ids is None else str(self.ids[row])
        self._add(severity, code, message, name, effect, *sizes)

    def each(self, rows: Flags, severity: str, code: str, message: str) -> None:
        self.each_at(np.flatnonzero(rows), severity, code, message)

    def each_at(self, rows: np.ndarray, severity: str, code: str, message: str) -> None:
        effect = "not used" if severity == "error" else ""
        for row in rows.tolist():
            self.one(row, severity, code, message, effect)

    def once(self, severity: str, code: str, message: str, effect: str) -> None:
        self._add(severity, code, message, "", effect, nan, nan)

    def _add(self, *values: Any) -> None:
        severity, code, message, record, effect, before, after = values
        self.issues.append(
            Issue(
                severity,
                code,
                message,
                layer=self.layer,
                file=self.file,
                record_id=record,
                effect=effect,
                before_sqft=float(before),
                after_sqft=float(after),
            )
        )
