"""Lines of flags: their shape checked, and how an open one is closed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from wetgis.delineation.lines import LONG_LEG, SAME_PLACE_FT, SPIKE_DEG, Checks
from wetgis.errors import GeometryError, UsageError

if TYPE_CHECKING:
    from shapely import LineString

__all__ = [
    "Closer",
    "Line",
    "canonical_ring",
    "check_crossings",
    "check_legs",
    "close_along",
    "turns_deg",
]

Floats = npt.NDArray[np.float64]

#: A foot of a perpendicular this near a flag is the flag: noise of the projection.
SAME_CORNER_FT = 1e-6


@dataclass(frozen=True)
class Line:
    """A line of flags in the CRS's unit, with what its messages need.

    ``xy`` are the corners in order, ``sigma`` their errors in one axis, ``names`` and
    ``numbers`` the flags (empty for a corner of a closing line).
    """

    series: str
    part: int
    kind: str
    xy: Floats
    sigma: Floats
    names: tuple[str, ...]
    numbers: tuple[str, ...]
    closed: bool = False
    closed_by: str = ""

    def corners(self) -> Floats:
        """The corners, the first repeated where the line is closed."""
        return np.vstack([self.xy, self.xy[:1]]) if self.closed else self.xy

    def closing(self, ft: float) -> float:
        """From the last flag to the first in a straight line, in feet."""
        flags = self.xy[np.array([bool(name) for name in self.names], dtype=bool)]
        return float(np.hypot(*(flags[-1] - flags[0])) * ft)


def canonical_ring(xy: Floats, sigma: Floats) -> tuple[Floats, Floats]:
    """A ring's corners from the least one, in the direction that sorts first.

    The same whichever corner the survey began with and whichever way it went round, so that
    the polygon and its area are the same to the last bit. A corner that repeats the one before
    it exactly is left out.

    Examples
    --------
    >>> ring = np.array([[4.0, 0], [4, 3], [0, 0]])
    >>> canonical_ring(ring, np.zeros(3))[0].tolist()
    [[0.0, 0.0], [4.0, 0.0], [4.0, 3.0]]
    >>> canonical_ring(ring[::-1], np.zeros(3))[0].tolist()
    [[0.0, 0.0], [4.0, 0.0], [4.0, 3.0]]
    """
    fresh = (xy != np.roll(xy, 1, axis=0)).any(axis=1)
    if not fresh.any():
        fresh[0] = True
    xy, sigma = xy[fresh], sigma[fresh]
    least = xy[np.lexsort((xy[:, 1], xy[:, 0]))[0]]
    best: tuple[list[float], Floats, Floats] | None = None
    for step in (1, -1):
        ring, errors = xy[::step], sigma[::step]
        for start in np.flatnonzero((ring == least).all(axis=1)):
            turned = np.roll(ring, -int(start), axis=0)
            key = turned.ravel().tolist()
            if best is None or key < best[0]:
                best = (key, turned, np.roll(errors, -int(start)))
    assert best is not None
    return best[1], best[2]


def turns_deg(corners: Floats, *, closed: bool) -> Floats:
    """The turn at each corner in degrees, 0 straight on and 180 back; NaN at an open end.

    Examples
    --------
    >>> turns_deg(np.array([[0.0, 0], [1, 0], [1, 1]]), closed=False).tolist()
    [nan, 90.0, nan]
    """
    before = corners - np.roll(corners, 1, axis=0)
    after = np.roll(corners, -1, axis=0) - corners
    cross = before[:, 0] * after[:, 1] - before[:, 1] * after[:, 0]
    dot = np.sum(before * after, axis=1)
    turn: Floats = np.degrees(np.abs(np.arctan2(cross, dot)))
    turn[(before == 0).all(axis=1) | (after == 0).all(axis=1)] = np.nan
    if not closed and len(turn):
        turn[[0, -1]] = np.nan
    return turn


def check_legs(line: Line, ft: float, checks: Checks) -> None:
    """Spikes, long legs, flags at one place or nearer than they are accurate."""
    if len(line.xy) < 2:
        checks.add("error", "too_few", f"series {line.series} has one flag", series=line.series)
        return
    legs = np.hypot(*np.diff(line.xy, axis=0).T) * ft
    reach = np.hypot(line.sigma[:-1], line.sigma[1:]) * ft
    real = np.array([bool(a and b) for a, b in zip(line.names[:-1], line.names[1:], strict=True)])
    typical = float(np.median(legs[real])) if real.any() else float("nan")
    for k in np.flatnonzero(real):
        pair = f"{line.names[k]} and {line.names[k + 1]}"
        where: dict[str, Any] = {"series": line.series, "number": line.numbers[k]}
        where["distance_ft"] = legs[k]
        if legs[k] <= SAME_PLACE_FT:
            checks.add("warning", "same_place", f"{pair} stand at one place", **where)
        elif legs[k] < reach[k]:
            checks.add("warning", "close_flags",
                       f"{pair} are {legs[k]:.2f} ft apart, within their own accuracy; their "
                       "order is not certain", **where)  # fmt: skip
        elif len(legs) >= 4 and legs[k] > LONG_LEG * typical:
            checks.add("warning", "long_leg",
                       f"from {line.names[k]} to {line.names[k + 1]} it is {legs[k]:.1f} ft, "
                       f"{legs[k] / typical:.1f} times the series' median", **where)  # fmt: skip
    _check_spikes(line, ft, checks)


def _check_spikes(line: Line, ft: float, checks: Checks) -> None:
    """Flags at which the line comes back on itself."""
    turn = turns_deg(line.xy, closed=line.closed)
    for k in np.flatnonzero(turn >= SPIKE_DEG):
        if not line.names[k]:
            continue
        a, b = line.xy[k - 1], line.xy[(k + 1) % len(line.xy)]
        back = min(np.hypot(*(line.xy[k] - a)), np.hypot(*(line.xy[k] - b))) * ft
        checks.add("warning", "spike",
                   f"at {line.names[k]} the line turns by {turn[k]:.0f} degrees and comes back "
                   f"{back:.1f} ft", series=line.series, number=line.numbers[k],
                   distance_ft=back)  # fmt: skip


def check_crossings(line: Line, checks: Checks) -> bool:
    """Whether the line crosses or meets itself; each pair of legs is named."""
    import shapely

    corners = line.corners()
    pairs = np.stack([corners[:-1], corners[1:]], axis=1)
    # two flags at one place would make their neighbours meet; they have a check of their own
    real = np.flatnonzero((pairs[:, 0] != pairs[:, 1]).any(axis=1))
    legs = shapely.linestrings(pairs[real])
    n = len(legs)
    i, j = shapely.STRtree(legs).query(legs, predicate="intersects")
    apart = (j > i + 1) & ~((i == 0) & (j == n - 1) & line.closed)
    # legs that follow each other share a corner; more than that only where they fold back
    i, j = i[apart], j[apart]
    order = np.lexsort((j, i))
    i, j = i[order], j[order]
    crosses = shapely.crosses(legs[i], legs[j]) | (shapely.length(
        shapely.intersection(legs[i], legs[j])) > 0)  # fmt: skip
    for a, b, through in zip(real[i].tolist(), real[j].tolist(), crosses.tolist(), strict=True):
        code, severity = ("crossing", "error") if through else ("touch", "warning")
        verb = "crosses" if through else "meets"
        checks.add(severity, code, f"the line {_leg(line, a)} {verb} {_leg(line, b)}",
                   series=line.series, number=line.numbers[a])  # fmt: skip
    return bool(crosses.any())


def _leg(line: Line, k: int) -> str:
    """A leg by its flags."""
    ends = (line.names[k], line.names[(k + 1) % len(line.names)])
    return " to ".join(name or "the closing line" for name in ends)


def close_along(
    line: Line, along: Sequence[LineString], ft: float, checks: Checks
) -> tuple[Floats, float]:
    """Corners that lead from the line's last flag back to its first along another line.

    Parameters
    ----------
    line : Line
        Open.
    along : sequence of LineString
        Of several the one nearest to both ends is taken.
    ft : float
        Survey feet in one unit.
    checks : Checks
        How far it went, and which side of a ring was taken.

    Returns
    -------
    corners, length
        The corners between the last flag and the first, and the way along the line in feet.
    """
    import shapely

    first, last = shapely.points(line.xy[0]), shapely.points(line.xy[-1])
    lines = np.array(list(along), dtype=object)
    gaps = np.column_stack([shapely.distance(lines, first), shapely.distance(lines, last)]) * ft
    best = int(np.argmin(gaps.sum(axis=1)))
    path = lines[best]
    start, stop = (float(shapely.line_locate_point(path, p)) for p in (last, first))
    corners = _between(path, start, stop)
    if shapely.is_closed(path):
        other = _other_way(path, start, stop)
        one, two = _length(corners) * ft, _length(other) * ft
        corners = corners if one <= two else other
        checks.add("note", "closing_side",
                   f"along the ring it is {min(one, two):.1f} ft one way, {max(one, two):.1f} ft "
                   "the other; the shorter is taken; give the stretch itself for the other",
                   series=line.series, distance_ft=min(one, two))  # fmt: skip
    _report_gaps(line, gaps[best], ft, checks)
    return _without_ends(corners, line, ft), _length(corners) * ft


def _without_ends(corners: Floats, line: Line, ft: float) -> Floats:
    """The corners without those that are the line's own ends."""
    keep = np.ones(len(corners), dtype=bool)
    keep[0] = np.hypot(*(corners[0] - line.xy[-1])) * ft > SAME_CORNER_FT
    keep[-1] = np.hypot(*(corners[-1] - line.xy[0])) * ft > SAME_CORNER_FT
    return corners[keep]


def _report_gaps(line: Line, gaps: Floats, ft: float, checks: Checks) -> None:
    """How far the two ends stand from the line, against the series' own legs."""
    legs = np.hypot(*np.diff(line.xy, axis=0).T) * ft
    for end, gap in ((0, gaps[0]), (len(line.xy) - 1, gaps[1])):
        where: dict[str, Any] = {"series": line.series, "number": line.numbers[end]}
        far = gap > max(float(np.median(legs)), SAME_PLACE_FT)
        checks.add("warning" if far else "note", "closing_far" if far else "closed_along",
                   f"{line.names[end]} stands {gap:.1f} ft from the closing line; the boundary is "
                   "led straight to it", distance_ft=gap, **where)  # fmt: skip


def _between(path: LineString, start: float, stop: float) -> Floats:
    """Corners of a line between two distances along it, both ends with them."""
    import shapely

    low, high = min(start, stop), max(start, stop)
    inner = np.asarray(shapely.get_coordinates(path))
    at = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(inner, axis=0).T))])
    ends = shapely.get_coordinates(shapely.line_interpolate_point(path, [low, high]))
    corners = np.vstack([ends[:1], inner[(at > low) & (at < high)], ends[1:]])
    return corners if start <= stop else corners[::-1]


def _other_way(ring: LineString, start: float, stop: float) -> Floats:
    """The other way round a closed line."""
    one = _between(ring, max(start, stop), float(ring.length))
    two = _between(ring, 0.0, min(start, stop))
    corners = np.vstack([one, two[1:]])
    return corners if start >= stop else corners[::-1]


def _length(corners: Floats) -> float:
    return float(np.hypot(*np.diff(corners, axis=0).T).sum())


class Closer:
    """Which series are closed, and by what.

    Parameters
    ----------
    lines : list of Line
        All of the delineation.
    close, closing_line
        As `wetgis.delineate` has them.
    crs : CRS
        Of the lines.
    checks : Checks
        How each series was closed, or that it is open.
    """

    def __init__(
        self,
        lines: Sequence[Line],
        close: bool | Collection[str],
        closing_line: Any,
        crs: Any,
        checks: Checks,
    ) -> None:
        self._checks = checks
        self._named = None if isinstance(close, bool) else _known(close, lines, "close")
        self._straight = close is True
        self._from = closing_line if isinstance(closing_line, str) else ""
        if self._from:
            (self._from,) = _known([self._from], lines, "closing_line")
            self._owners = [line for line in lines if line.series == self._from]
        else:
            self._owners = []
        self._along, self._sigma = _paths(closing_line, self._owners, crs)

    def close(self, line: Line, whole: bool, ft: float) -> Line:
        """The line, closed where that was asked for or where it already is."""
        if line.kind != "flag" or len(line.xy) < 2:
            return line
        if len(line.xy) > 3 and (line.xy[0] == line.xy[-1]).all():
            return replace(line, xy=line.xy[:-1], sigma=line.sigma[:-1], names=line.names[:-1],
                           numbers=line.numbers[:-1], closed=True, closed_by="flags")  # fmt: skip
        asked = line.series in self._named if self._named is not None else whole
        if self._along and asked and line.series != self._from:
            return self._close_along(line, ft)
        if (self._straight or self._named is not None) and not self._along and asked:
            return self._close_straight(line, ft)
        self._checks.add("warning", "open",
                         f"series {line.series} is open, {line.closing(ft):.1f} ft from "
                         f"{line.names[-1]} back to {line.names[0]}; it has no area",
                         series=line.series, distance_ft=line.closing(ft))  # fmt: skip
        return line

    def _close_straight(self, line: Line, ft: float) -> Line:
        gap = line.closing(ft)
        if len(line.xy) < 3:
            self._checks.add("error", "too_few", f"series {line.series} has {len(line.xy)} flags; "
                             "an area needs three", series=line.series)  # fmt: skip
            return line
        self._checks.add("note", "closed",
                         f"closed by a straight line of {gap:.1f} ft from {line.names[-1]} to "
                         f"{line.names[0]}", series=line.series, distance_ft=gap)  # fmt: skip
        return replace(line, closed=True, closed_by="straight")

    def _close_along(self, line: Line, ft: float) -> Line:
        corners, way = close_along(line, self._along, ft, self._checks)
        self._checks.add("note", "closed_along",
                         f"closed by {way:.1f} ft along "
                         f"{'series ' + self._from if self._from else 'the closing line'}",
                         series=line.series, distance_ft=way)  # fmt: skip
        if self._sigma is None and not self._from and np.isfinite(line.sigma).all():
            self._checks.add("note", "line_accuracy",
                             "the closing line is taken as exact; its own accuracy is not in the "
                             "area's interval", series=line.series)  # fmt: skip
        return replace(
            line,
            xy=np.vstack([line.xy, corners]),
            sigma=np.concatenate([line.sigma, self._sigmas(corners, ft)]),
            names=line.names + ("",) * len(corners),
            numbers=line.numbers + ("",) * len(corners),
            closed=True,
            closed_by="line",
        )

    def _sigmas(self, corners: Floats, ft: float) -> Floats:
        """Errors of a closing line's corners: the nearest flag's of a series, else its own."""
        if self._owners:
            flags = np.vstack([line.xy for line in self._owners])
            sigma = np.concatenate([line.sigma for line in self._owners])
            far = np.hypot(*(corners[:, None, :] - flags[None, :, :]).transpose(2, 0, 1))
            return np.asarray(sigma[np.argmin(far, axis=1)])
        return np.full(len(corners), 0.0 if self._sigma is None else self._sigma / ft)


def _known(names: Collection[str], lines: Sequence[Line], argument: str) -> set[str]:
    """Names of series, upper case as they are kept; one that is not there is an error."""
    wanted = {str(name).strip().upper() for name in ([names] if isinstance(names, str) else names)}
    there = {line.series for line in lines}
    unknown = sorted(wanted - there)
    if unknown:
        raise UsageError(
            f"{argument} names series {', '.join(unknown)}, which is not there.",
            needed=f"of {', '.join(sorted(there))}",
        )
    return wanted


def _paths(
    closing_line: Any, owners: Sequence[Line], crs: Any
) -> tuple[list[LineString], float | None]:
    """Lines to close along, and their sigma in feet where a frame states their accuracy."""
    import geopandas as gpd
    import shapely

    from wetgis.delineation.area import SIGMAS_95

    if closing_line is None:
        return [], None
    if owners:
        return [shapely.linestrings(line.corners()) for line in owners if len(line.xy) > 1], None
    sigma = None
    if isinstance(closing_line, gpd.GeoDataFrame | gpd.GeoSeries):
        from wetgis.crs import same_crs

        if closing_line.crs is None or not same_crs(closing_line.crs, crs):
            raise GeometryError(
                f"the closing line is in {closing_line.crs}, the flags are measured in {crs}.",
                needed="one CRS",
                mend="reproject the closing line",
            )
        if "accuracy_ft" in closing_line and closing_line["accuracy_ft"].notna().all():
            sigma = float(closing_line["accuracy_ft"].max()) / SIGMAS_95
        geoms = np.asarray(closing_line.geometry.array, dtype=object)
    else:
        geoms = np.array([closing_line], dtype=object)
    return _as_lines(geoms), sigma


def _as_lines(geoms: Any) -> list[LineString]:
    """Every line and every polygon's outline among geometries."""
    import shapely

    geoms = shapely.force_2d(geoms[~shapely.is_missing(geoms)])
    areal = np.isin(shapely.get_type_id(geoms), (3, 6))
    geoms = np.where(areal, shapely.boundary(geoms), geoms)
    lines = shapely.get_parts(shapely.line_merge(shapely.get_parts(geoms)))
    lines = [line for line in lines if shapely.get_dimensions(line) == 1]
    if not lines:
        raise GeometryError("the closing line has no line.", needed="lines or polygons")
    return [shapely.linestrings(shapely.get_coordinates(line)) for line in lines]
