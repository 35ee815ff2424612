"""Flags from CSV: what data collectors and surveyors export.

Traps that are met here: a byte order mark, semicolons with decimal commas, degrees with
minutes and seconds, files without a header (point, northing, easting, elevation,
description), a header whose unit is not the CRS's, and accuracies that are one-sigma.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wetgis.errors import CrsError, InputError
from wetgis.flags.names import parse_flag
from wetgis.units import METRES_PER_UNIT, metres_per_unit

if TYPE_CHECKING:
    import geopandas as gpd
    import numpy as np
    import numpy.typing as npt

__all__ = ["read_csv", "to_number"]

LON = ("longitude", "lon", "long", "lng", "londd", "londec", "gpslongitude")
LAT = ("latitude", "lat", "latdd", "latdec", "gpslatitude")
EAST = ("easting", "east", "e", "x", "pointx", "xcoord", "gride", "gridx")
NORTH = ("northing", "north", "n", "y", "pointy", "ycoord", "gridn", "gridy")
NAME = ("name", "flag", "flagid", "flagno", "label", "point", "pointid", "pointname", "pt", "ptid",
        "id")  # fmt: skip

#: Columns of horizontal accuracy: already 95 %, or the radial root mean square (metres where
#: the receiver's software fixes it, else the file's unit).
ACC_95 = ("accuracyft", "accft", "horizontalaccuracy95ft")
RMS_METRES = ("esrignsshrms",)
RMS = ("hrms", "horizontalrms", "lateralrms", "horzprec", "horizontalprecision", "hprec")

#: Radial root mean square to 95 %, errors alike in both axes: FGDC-STD-007.3-1998, 3.2.1.
RMS_TO_95 = 1.7308

_DMS = re.compile(
    r"^([NSEW])?\s*([+-]?\d+(?:\.\d+)?)\s*[°:\s]\s*(\d+(?:\.\d+)?)\s*['′:\s]?\s*"
    r"(?:(\d+(?:\.\d+)?)\s*(?:\"|″|'')?)?\s*([NSEW])?$",
    re.IGNORECASE,
)
_UNIT = re.compile(
    r"[\[(_ ]\s*(us[ _-]?ft|us survey f(?:oo|ee)t|intl ft|ft|feet|foot|m|met(?:er|re)s?)"
    r"\s*[\])]?$",
    re.IGNORECASE,
)


def to_number(text: str, *, decimal_comma: bool = False) -> float:
    r"""A number, or an angle in degrees, minutes and seconds; NaN where it is neither.

    Examples
    --------
    >>> to_number("717,000.25"), to_number("717000,25", decimal_comma=True)
    (717000.25, 717000.25)
    >>> round(to_number("41 02 11.5 N"), 6), round(to_number("73°41'30\"W"), 6)
    (41.036528, -73.691667)
    """
    text = text.strip()
    plain = text.replace(".", "").replace(",", ".") if decimal_comma else text.replace(",", "")
    if decimal_comma and text.count(",") == 0:
        plain = text
    try:
        return float(plain)
    except ValueError:
        pass
    found = _DMS.match(text)
    if found is None or (found[1] and found[5]):
        return float("nan")
    degrees = float(found[2])
    minutes, seconds = float(found[3]), float(found[4] or 0)
    if minutes >= 60 or seconds >= 60:
        return float("nan")
    side = (found[1] or found[5] or "").upper()
    size = abs(degrees) + minutes / 60 + seconds / 3600
    return -size if side in {"S", "W"} or found[2].startswith("-") else size


def read_csv(path: Path, *, source_crs: Any = None, columns: str | None = None) -> gpd.GeoDataFrame:
    """Flags from a CSV file; see `wetgis.flags.read_flags`."""
    import geopandas as gpd
    import numpy as np
    import shapely

    header, rows, comma = _rows(path, columns)
    if source_crs is None:
        raise _no_crs(path, header)
    crs = _crs(source_crs, path)
    x_at, y_at = _positions(header, crs, path)
    x = np.array([to_number(row[x_at], decimal_comma=comma) for row in rows])
    y = np.array([to_number(row[y_at], decimal_comma=comma) for row in rows])
    _refuse_misfit(x, y, crs, path)
    known = np.isfinite(x) & np.isfinite(y)
    geometry = np.full(len(rows), None, dtype=object)
    geometry[known] = shapely.points(x[known], y[known])
    name_at = _name_column(header, rows)
    table = {key: [row[i] for row in rows] for i, key in enumerate(header) if key}
    table["name"] = [row[name_at].strip() for row in rows]
    frame = gpd.GeoDataFrame(table, geometry=geometry, crs=crs)
    frame["accuracy_ft"] = _accuracy(header, rows, comma, crs)
    return frame


def _name_column(header: list[str], rows: list[list[str]]) -> int:
    """The column with the flags' names.

    Surveyors count their points and write the flag into the description; then that is it.
    """
    at = _find(header, NAME) or 0
    words = _find(header, ("description", "desc", "code", "comment", "remarks"))
    if words is None or not all(row[at].isdigit() for row in rows):
        return at
    flags = [parse_flag(row[words]) for row in rows]
    named = sum(flag.n is not None and bool(flag.series) for flag in flags)
    return words if 2 * named > len(rows) else at


def _rows(path: Path, columns: str | None) -> tuple[list[str], list[list[str]], bool]:
    """Header, rows of equal length, and whether a comma is the decimal mark."""
    raw = path.read_bytes()
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = raw.decode("cp1252", errors="replace")
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        raise InputError("the file is empty.", where=str(path), needed="one row a flag")
    delimiter = max(";\t|,", key=lambda c: lines[0].count(c))
    table = [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=delimiter)]
    header = _header(table, columns, path)
    rows = table if columns else table[1:]
    width = len(header)
    rows = [(row + [""] * width)[:width] for row in rows]
    comma = delimiter != "," and any(re.fullmatch(r"-?\d+,\d+", c) for r in rows for c in r)
    return header, rows, comma


def _header(table: list[list[str]], columns: str | None, path: Path) -> list[str]:
    """The columns' names, from the file or from the letters of ``columns``."""
    words = {"p": "name", "n": "northing", "e": "easting", "z": "elevation", "d": "description"}
    if columns is not None:
        strange = sorted(set(columns.lower()) - {*words, "-"})
        if strange:
            raise InputError(
                f"columns='{columns}' has the letter '{strange[0]}'.",
                needed="of p, n, e, z, d and -, one letter a column",
            )
        return [words.get(letter, "") for letter in columns.lower()]
    first = table[0]
    if sum(to_number(cell) == to_number(cell) for cell in first) >= 2:
        raise InputError(
            "the first row has numbers, so the file has no header.",
            needed="the order of its columns",
            mend="say columns='pnezd' (point, northing, easting, elevation, description)",
            where=str(path),
        )
    return first


def _key(text: str) -> str:
    """A header without its unit, blanks and marks."""
    return re.sub(r"[^a-z0-9]", "", _UNIT.sub("", text.strip()).lower())


def _find(header: list[str], names: tuple[str, ...]) -> int | None:
    """The column with the first of these names."""
    keys = [_key(text) for text in header]
    exact = [re.sub(r"[^a-z0-9]", "", text.lower()) for text in header]
    for name in names:
        if name in exact:
            return exact.index(name)
        if name in keys:
            return keys.index(name)
    return None


def _positions(header: list[str], crs: Any, path: Path) -> tuple[int, int]:
    """Columns of x and y that go with the CRS, and a refusal where the header's unit is another."""
    first, second = (LON, LAT) if crs.is_geographic else (EAST, NORTH)
    x_at, y_at = _find(header, first), _find(header, second)
    if x_at is None or y_at is None:
        words = "longitude and latitude" if crs.is_geographic else "northing and easting"
        raise InputError(
            f"no columns of {words} among {', '.join(header)}.",
            needed=f"{words}, as {crs.name} has them",
            mend="rename the columns, or name the CRS that they are in",
            where=str(path),
        )
    for at in (x_at, y_at):
        unit = _UNIT.search(header[at].strip())
        if unit and not crs.is_geographic:
            _refuse_unit(unit.group(1), crs, header[at], path)
    return x_at, y_at


def _refuse_unit(word: str, crs: Any, column: str, path: Path) -> None:
    """A header in feet and a CRS in metres cannot both be right."""
    text = word.lower().replace("_", "-").replace("us ft", "us-ft")
    metres = metres_per_unit({"meters": "m", "metres": "m"}.get(text, text))
    factor = crs.axis_info[0].unit_conversion_factor
    # "ft" in a header may mean either foot; only metres against feet is a contradiction
    if metres is not None and abs(float(metres) / factor - 1) > 0.01:
        raise CrsError(
            f"the column '{column}' is in {word}, {crs.name} in {crs.axis_info[0].unit_name}.",
            needed="one unit",
            mend="name the CRS with that unit, or convert the numbers",
            where=str(path),
        )


def _no_crs(path: Path, header: list[str]) -> CrsError:
    """A CSV does not say what its numbers are in."""
    degrees = _find(header, LON) is not None and _find(header, LAT) is not None
    mend = (
        "say source_crs='EPSG:4326' (WGS 84, a receiver on its own), or 'EPSG:6318' "
        "(NAD83(2011), corrected by a state network)"
        if degrees
        else "say source_crs, for New York East in survey feet 'EPSG:2260'"
    )
    return CrsError(
        "a CSV does not say which coordinate system its numbers are in.",
        needed="source_crs",
        mend=mend,
        where=str(path),
    )


def _crs(source_crs: Any, path: Path) -> Any:
    """The CRS as pyproj has it."""
    import pyproj
    from pyproj.exceptions import CRSError

    try:
        return pyproj.CRS.from_user_input(source_crs)
    except CRSError as error:
        raise CrsError(
            f"'{source_crs}' is no coordinate system: {error}",
            needed="as EPSG:2260",
            where=str(path),
        ) from error


def _refuse_misfit(
    x: npt.NDArray[np.float64], y: npt.NDArray[np.float64], crs: Any, path: Path
) -> None:
    """Degrees beyond the globe are feet or metres."""
    import numpy as np

    if not crs.is_geographic:
        return
    known = np.isfinite(x) & np.isfinite(y)
    if known.any() and (np.abs(x[known]).max() > 360 or np.abs(y[known]).max() > 90):
        raise CrsError(
            f"numbers up to {np.abs(x[known]).max():,.0f} and {np.abs(y[known]).max():,.0f} "
            f"cannot be degrees of {crs.name}.",
            needed="the CRS that the numbers are in",
            mend="name a projected CRS; longitude and latitude may also be exchanged",
            where=str(path),
        )


def _accuracy(
    header: list[str], rows: list[list[str]], comma: bool, crs: Any
) -> npt.NDArray[np.float64]:
    """Horizontal accuracy at 95 % in survey feet, NaN where the file states none."""
    import numpy as np

    foot = float(METRES_PER_UNIT["us-ft"])
    unit = 1.0 if crs.is_geographic else float(crs.axis_info[0].unit_conversion_factor)
    for names, metres, factor in ((ACC_95, foot, 1.0), (RMS_METRES, 1.0, RMS_TO_95),
                                  (RMS, unit, RMS_TO_95)):  # fmt: skip
        at = _find(header, names)
        if at is not None:
            values = np.array([to_number(row[at], decimal_comma=comma) for row in rows])
            values[~(values >= 0)] = np.nan
            stated = _UNIT.search(header[at].strip())
            own = metres_per_unit(stated.group(1).lower()) if stated else None
            metres = float(own) if own is not None and names is RMS else metres
            return values * factor * metres / foot
    return np.full(len(rows), np.nan)
