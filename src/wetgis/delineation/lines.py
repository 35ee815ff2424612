"""Flags put in line, and what is wrong with them.

Nothing is mended here. A flag keeps the number that it was given; where that cannot be right
(a number twice, a line that crosses itself) a check says so, by name and with a distance.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import nan
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import geopandas as gpd
    import pandas as pd

__all__ = ["CHECKS", "CHECK_COLUMNS", "SAME_PLACE_FT", "Checks", "Part", "in_line"]

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]

#: The closed list of what a check can say.
CHECKS: dict[str, str] = {
    # names and positions
    "unreadable_name": "the name has neither a series nor a number",
    "ambiguous_name": "a number with a letter and no series may be read in two ways",
    "unnumbered": "a flag without a number in a series that has numbers; it is left out",
    "file_order": "a series without numbers; the order of the file is taken",
    "no_position": "a flag without a position; it is left out",
    # order
    "gap": "numbers are missing in a series",
    "repeat": "a number stands for two places",
    "repeat_same_place": "a number was taken twice at one place; the first is used",
    "out_of_order": "the order of the file is not that of the numbers; the numbers' is used",
    "reversed": "the file goes from the last number to the first",
    "break": "a mark ends the line before the series ends",
    "tie": "a tie to another flag is noted; it is not drawn",
    "same_place": "two flags with different numbers stand at one place",
    # shape
    "spike": "the line runs out and comes back at a flag",
    "long_leg": "a distance to the next flag far beyond the others of its series",
    "crossing": "the line crosses itself",
    "touch": "the line meets itself without crossing",
    "series_crossing": "two series cross",
    "overlap": "two wetlands overlap",
    "inside": "one closed series lies within another",
    "too_few": "too few flags for a line or an area",
    # closing
    "open": "a series is not closed; it gives a line and no area",
    "closed": "a series is closed by a straight line from its last flag to its first",
    "closed_along": "a series is closed along a line",
    "closing_side": "the closing line is a ring; of its two sides the shorter is taken",
    "closing_far": "a series ends farther from the closing line than its flags stand apart",
    "island": "a series is cut out of the wetland around it",
    # accuracy and coordinates
    "no_accuracy": "no accuracy is stated for a flag, so the area has no interval",
    "close_flags": "two flags stand nearer to each other than they are accurate",
    "line_accuracy": "the closing line's own accuracy is not in the area's interval",
    "reprojected": "the flags were reprojected to be measured",
}
CHECK_COLUMNS = ("series", "number", "severity", "code", "message", "distance_ft")

#: Positions this near each other are one place: what a survey's own error may leave.
SAME_PLACE_FT = 0.05
#: A turn of at least this many degrees at a flag is a spike.
SPIKE_DEG = 160.0
#: A leg this many times the median of its series is long.
LONG_LEG = 4.0


@dataclass
class Checks:
    """Checks in the order in which they were made."""

    rows: list[tuple[str, str, str, str, str, float]] = field(default_factory=list)

    def add(
        self,
        severity: str,
        code: str,
        message: str,
        *,
        series: str = "",
        number: str = "",
        distance_ft: float = nan,
    ) -> None:
        """Add one; the code must be of the closed list."""
        if code not in CHECKS:
            raise ValueError(f"code {code!r} is not in wetgis.delineation.lines.CHECKS")
        self.rows.append((series, number, severity, code, message, float(distance_ft)))

    def frame(self) -> pd.DataFrame:
        """The table."""
        import pandas as pd

        frame = pd.DataFrame(self.rows, columns=list(CHECK_COLUMNS))
        text = [c for c in CHECK_COLUMNS if c != "distance_ft"]
        frame[text] = frame[text].astype("str")
        return frame.astype({"distance_ft": "float64"})


@dataclass(frozen=True)
class Part:
    """A stretch of a series without a break: rows of the table, in the order of the numbers."""

    series: str
    part: int
    kind: str
    rows: Rows
    whole: bool


def in_line(table: gpd.GeoDataFrame, ft: float, checks: Checks) -> list[Part]:
    """Flags by series and part, in the order of their numbers.

    Parameters
    ----------
    table : GeoDataFrame
        As `wetgis.flags.flag_table` returns it, in a CRS to measure in.
    ft : float
        Survey feet in one unit of the CRS.
    checks : Checks
        What is wrong is added to it.

    Returns
    -------
    list of Part
        Of kind ``flag``, ``stream`` and ``tie``, in the order of their first row in the file.
    """
    marks = _marks(table)
    usable = _usable(table, checks)
    parts: list[Part] = []
    for kind, series in _groups(table, usable):
        rows = np.flatnonzero(
            usable & (table["kind"] == kind).to_numpy() & (table["series"] == series).to_numpy()
        )
        rows = _ordered(table, rows, series, checks)
        rows = _without_repeats(table, rows, ft, checks)
        _gaps(table, rows, ft, checks)
        parts.extend(_broken(table, rows, marks, checks))
    return parts


def _groups(table: gpd.GeoDataFrame, usable: npt.NDArray[np.bool_]) -> Iterable[tuple[str, str]]:
    """Kind and series of every line, as they first occur."""
    seen = table.loc[usable, ["kind", "series"]].drop_duplicates()
    return list(seen.itertuples(index=False, name=None))


def _marks(table: gpd.GeoDataFrame) -> list[str]:
    """The mark of each row; one that stands alone goes to the flag before (a start: after)."""
    marks: list[str] = table["mark"].tolist()
    kinds = table["kind"].tolist()
    for i, kind in enumerate(kinds):
        if kind != "mark":
            continue
        step = 1 if marks[i] == "start" else -1
        j = i + step
        while 0 <= j < len(kinds) and kinds[j] == "mark":
            j += step
        if 0 <= j < len(kinds) and not marks[j]:
            marks[j] = marks[i]
    return marks


def _usable(table: gpd.GeoDataFrame, checks: Checks) -> npt.NDArray[np.bool_]:
    """Rows that can stand in a line; the others are reported."""
    import shapely

    kind = table["kind"].to_numpy()
    geoms = np.asarray(table.geometry.array, dtype=object)
    x, y = shapely.get_x(geoms), shapely.get_y(geoms)
    placed = np.isfinite(x) & np.isfinite(y)
    for i in np.flatnonzero(kind == "unread"):
        checks.add("error", "unreadable_name",
                   f"row {table.row[i] + 1}: the name '{table.name[i]}' has neither a series nor "
                   "a number; the flag is left out")  # fmt: skip
    named = np.isin(kind, ("flag", "stream", "tie"))
    for i in np.flatnonzero(named & ~placed):
        checks.add("error", "no_position", f"{label(table, i)} has no position; it is left out",
                   series=table.series[i], number=table.number[i])  # fmt: skip
    for i in table.attrs.get("ambiguous", ()):
        as_read = label(table, i)
        checks.add("warning", "ambiguous_name",
                   f"'{table.name[i]}' is read as {as_read}; with one form of names in the file "
                   "this would be certain", series=table.series[i],
                   number=table.number[i])  # fmt: skip
    usable: npt.NDArray[np.bool_] = named & placed
    return usable


def label(table: gpd.GeoDataFrame, row: int | np.intp) -> str:
    """A flag's name in messages."""
    series, number = table["series"].iat[row], table["number"].iat[row]
    return f"{series}-{number}" if series and number else series or number or "a flag"


def xy(table: gpd.GeoDataFrame, rows: Rows) -> Floats:
    """Coordinates of rows, in the CRS's unit."""
    import shapely

    points = np.asarray(table.geometry.array, dtype=object)[rows]
    return np.column_stack([shapely.get_x(points), shapely.get_y(points)])


def _ordered(table: gpd.GeoDataFrame, rows: Rows, series: str, checks: Checks) -> Rows:
    """Rows by number and suffix; where the file's order is another, that is reported."""
    n = table["n"].to_numpy()[rows]
    if np.isnan(n).all():
        if len(rows) > 1:
            checks.add("warning", "file_order",
                       f"series {series or '(no name)'} has no numbers; its {len(rows)} flags are "
                       "joined in the order of the file", series=series)  # fmt: skip
        return rows
    for i in rows[np.isnan(n)]:
        checks.add("error", "unnumbered",
                   f"a flag of series {series} (row {table.row[i] + 1}) has no number; it is left "
                   "out", series=series)  # fmt: skip
    rows = rows[~np.isnan(n)]
    suffix = table["suffix"].to_numpy(dtype=str)[rows]
    order = np.lexsort((rows, suffix, table["n"].to_numpy()[rows]))
    ordered = rows[order]
    back = np.flatnonzero(np.diff(ordered) < 0)
    if len(ordered) > 2 and len(back) == len(ordered) - 1:
        checks.add("note", "reversed",
                   f"the file goes from {label(table, rows[0])} to {label(table, rows[-1])}; the "
                   "line follows the numbers", series=series)  # fmt: skip
        return ordered
    for k in back:
        a, b = ordered[k], ordered[k + 1]
        checks.add("warning", "out_of_order",
                   f"{label(table, b)} stands in the file before {label(table, a)}; the line "
                   "follows the numbers", series=series, number=table.number[b])  # fmt: skip
    return ordered


def _without_repeats(table: gpd.GeoDataFrame, rows: Rows, ft: float, checks: Checks) -> Rows:
    """Rows without a second shot at the same place; a number at two places keeps both."""
    if len(rows) < 2:
        return rows
    names = (table["series"] + "\0" + table["number"]).to_numpy(dtype=str)[rows]
    numbered = table["number"].to_numpy(dtype=str)[rows] != ""
    distance = np.hypot(*np.diff(xy(table, rows), axis=0).T) * ft
    keep = np.ones(len(rows), dtype=bool)
    for k in np.flatnonzero((names[1:] == names[:-1]) & numbered[1:]):
        row = rows[k + 1]
        where = {"series": table.series[row], "number": table.number[row]}
        if distance[k] <= SAME_PLACE_FT:
            keep[k + 1] = False
            checks.add("note", "repeat_same_place",
                       f"{label(table, row)} was taken twice, {distance[k]:.2f} ft apart; the "
                       "first is used", distance_ft=distance[k], **where)  # fmt: skip
        else:
            checks.add("error", "repeat",
                       f"{label(table, row)} stands at two places {distance[k]:.1f} ft apart; both "
                       "are in the line, in the order of the file", distance_ft=distance[k],
                       **where)  # fmt: skip
    return rows[keep]


def _gaps(table: gpd.GeoDataFrame, rows: Rows, ft: float, checks: Checks) -> None:
    """Numbers that are missing, and how far the line goes without them."""
    n = np.floor(table["n"].to_numpy()[rows])
    if len(rows) == 0 or np.isnan(n).any():
        return
    if n[0] > 1:
        checks.add("warning", "gap", f"the series begins with {label(table, rows[0])}",
                   series=table.series[rows[0]], number=table.number[rows[0]])  # fmt: skip
    legs = np.hypot(*np.diff(xy(table, rows), axis=0).T) * ft if len(rows) > 1 else np.empty(0)
    for k in np.flatnonzero(np.diff(n) > 1):
        first, last = int(n[k]) + 1, int(n[k + 1]) - 1
        missing = f"{first} is" if first == last else f"{first} to {last} are"
        checks.add("warning", "gap",
                   f"{missing} missing between {label(table, rows[k])} and "
                   f"{label(table, rows[k + 1])}; the line goes straight, {legs[k]:.1f} ft",
                   series=table.series[rows[k]], number=table.number[rows[k]],
                   distance_ft=legs[k])  # fmt: skip


def _broken(table: gpd.GeoDataFrame, rows: Rows, marks: list[str], checks: Checks) -> list[Part]:
    """The series cut at its marks."""
    if len(rows) == 0:
        return []
    cuts = []
    for k, row in enumerate(rows):
        where = {"series": table.series[row], "number": table.number[row]}
        if marks[row] == "tie":
            to = table.ties_to[row]
            checks.add("note", "tie",
                       f"a tie at {label(table, row)}{' to ' + to if to else ''} is noted",
                       **where)  # fmt: skip
        at = k if marks[row] == "start" else k + 1
        if marks[row] and 0 < at < len(rows):
            cuts.append(at)
            checks.add("warning", "break",
                       f"'{marks[row]}' at {label(table, row)} breaks the line between "
                       f"{label(table, rows[at - 1])} and {label(table, rows[at])}",
                       **where)  # fmt: skip
    pieces = np.split(rows, sorted(set(cuts)))
    series, kind = table.series[rows[0]], table.kind[rows[0]]
    return [Part(series, i + 1, kind, piece, len(pieces) == 1) for i, piece in enumerate(pieces)]
