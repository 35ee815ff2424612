"""What a raster's numbers are: the unit of heights or slopes, and which of them are impossible."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from wetgis.errors import InputError, UsageError
from wetgis.issuelog import Issue
from wetgis.units import METRES_PER_UNIT, metres_per_unit

__all__ = ["Band", "Words", "band_of", "length_unit"]

Floats = NDArray[np.float64]

#: No ground lies lower or higher than this, in metres.
LOWEST_M, HIGHEST_M = -500.0, 9000.0
#: A slope beyond this many percent is no ground (89.94 degrees).
STEEPEST_PCT = 1e5
#: Numbers of an unknown kind: neither a height in feet or metres nor a slope.
LOWEST_ANY, HIGHEST_ANY = LOWEST_M / 0.3048, HIGHEST_M / 0.3048

#: Units that only rasters have.
_SMALL = {
    "centimetre": Fraction(1, 100), "centimeter": Fraction(1, 100), "cm": Fraction(1, 100),
    "decimetre": Fraction(1, 10), "decimeter": Fraction(1, 10), "dm": Fraction(1, 10),
    "millimetre": Fraction(1, 1000), "millimeter": Fraction(1, 1000), "mm": Fraction(1, 1000),
}  # fmt: skip
_ANGLES = {
    "percent": "percent", "%": "percent", "pct": "percent", "percent rise": "percent",
    "percent_rise": "percent",
    "degree": "degree", "degrees": "degree", "deg": "degree", "°": "degree",
    "radian": "radian", "radians": "radian", "rad": "radian",
    "rise/run": "ratio", "ratio": "ratio", "m/m": "ratio", "ft/ft": "ratio",
}  # fmt: skip


@dataclass(frozen=True)
class Words:
    """What one file says: its name, its band's unit type, and its vertical CRS's unit."""

    file: str
    band: str = ""
    vertical: str = ""
    vertical_metres: float = 0.0


@dataclass(frozen=True)
class Band:
    """What a surface's numbers are.

    ``unit`` is a unit of length for heights, ``percent``, ``degree``, ``radian``, ``ratio`` for
    slopes, empty where it is not known. ``metres`` is metres in one unit of height. Numbers
    outside ``low`` to ``high`` are impossible, and the cell is taken as without data.
    """

    unit: str
    metres: float
    low: float
    high: float

    @property
    def is_length(self) -> bool:
        """Whether the numbers are heights."""
        return bool(self.unit) and length_unit(self.unit) is not None

    def to_percent(self, values: Floats) -> Floats:
        """Slopes in percent, whatever they are stored in; other numbers as they are."""
        if self.unit == "degree":
            return 100.0 * np.tan(np.radians(values))
        if self.unit == "radian":
            return 100.0 * np.tan(values)
        return values * 100.0 if self.unit == "ratio" else values


def length_unit(text: str) -> tuple[str, Fraction] | None:
    """A canonical name and the metres in one unit of a length, or None."""
    small = _SMALL.get(text.strip().lower())
    if small is not None:
        return text.strip().lower(), small
    metres = metres_per_unit(text)
    if metres is None:
        return None
    return next(k for k, v in METRES_PER_UNIT.items() if v == metres), metres


def band_of(
    words: list[Words], *, kind: str, use: str, stated: str | None
) -> tuple[Band, list[Issue]]:
    """What the numbers of some files are, which must agree.

    Parameters
    ----------
    words : list of Words
        A file each.
    kind : str
        Of the layer, for messages.
    use : str
        ``heights``, ``slopes`` or ``values``.
    stated : str, optional
        The unit of height that the user states.

    Raises
    ------
    InputError
        Where heights have no unit, or two files' units differ.
    UsageError
        Where the stated unit is not a unit of length.
    """
    if use == "heights":
        return _heights(words, kind, stated)
    if stated is not None:
        raise InputError(
            f"z_unit = '{stated}' is stated for a raster whose numbers are no heights.",
            mend="leave z_unit out",
            where=words[0].file,
        )
    found = {_angle_or_length(w) for w in words}
    if len(found) > 1:
        raise _disagree(words, [unit or "no unit" for unit in sorted(found)])
    return _numbers(found.pop(), words[0].file, kind, use)


def _heights(words: list[Words], kind: str, stated: str | None) -> tuple[Band, list[Issue]]:
    asked = None
    if stated is not None:
        asked = length_unit(stated)
        if asked is None:
            raise UsageError(f"z_unit = '{stated}' is not known.", needed="m, ft or us-ft")
    issues: list[Issue] = []
    units = []
    for w in words:
        said = _said(w, kind, issues)
        if said is None and asked is None:
            raise InputError(
                "the file does not say in which unit its heights are.",
                needed="a band unit, a vertical CRS, or z_unit",
                mend="state z_unit = 'm', 'ft' or 'us-ft'",
                where=w.file,
            )
        if said is not None and asked is not None and said[1] != asked[1]:
            issues.append(
                Issue(
                    "warning",
                    "z_unit",
                    f"heights are taken in {asked[0]} as stated; the file says {said[0]}",
                    layer=kind,
                    file=w.file,
                    effect="if the file is right, every slope is wrong by "
                    f"{float(asked[1] / said[1]):.4g} times",
                )
            )
        units.append(asked or said)
    names = {u[0] for u in units if u is not None}
    if len(names) > 1:
        raise _disagree(words, sorted(names))
    unit = units[0]
    assert unit is not None
    metres = float(unit[1])
    if asked is not None and not issues:
        issues.append(
            Issue("note", "z_unit", f"heights are in {unit[0]}, as stated", layer=kind,
                  file=words[0].file)
        )  # fmt: skip
    return Band(unit[0], metres, LOWEST_M / metres, HIGHEST_M / metres), issues


def _said(w: Words, kind: str, issues: list[Issue]) -> tuple[str, Fraction] | None:
    """The unit of height by the file's own words: the band's, else the vertical CRS's."""
    band = length_unit(w.band) if w.band else None
    vertical = length_unit(w.vertical) if w.vertical else None
    if w.vertical and vertical is None and w.vertical_metres > 0.0:
        vertical = w.vertical, Fraction(w.vertical_metres)
    if w.band and band is None:
        if w.band.strip().lower() in _ANGLES:
            raise InputError(
                f"the band's unit is '{w.band}': these are slopes, not heights.",
                needed="a raster of heights",
                mend="give the layer as slope",
                where=w.file,
            )
        issues.append(
            Issue("warning", "z_unit", f"the band's unit '{w.band}' is not known and was set aside",
                  layer=kind, file=w.file)
        )  # fmt: skip
    if band is not None and vertical is not None and band[1] != vertical[1]:
        issues.append(
            Issue("warning", "z_unit",
                  f"the band says {band[0]}, the vertical CRS {vertical[0]}: the band's is taken",
                  layer=kind, file=w.file)
        )  # fmt: skip
    return band or vertical


def _angle_or_length(w: Words) -> str:
    """The unit of numbers that are taken as they are; empty where it is not known."""
    angle = _ANGLES.get(w.band.strip().lower())
    if angle is not None:
        return angle
    length = length_unit(w.band or w.vertical)
    return length[0] if length else ""


def _numbers(unit: str, file: str, kind: str, use: str) -> tuple[Band, list[Issue]]:
    issues: list[Issue] = []
    length = length_unit(unit) if unit else None
    if use == "slopes" and length is not None:
        raise InputError(
            f"the raster's unit is {unit}: these are heights, not slopes in percent.",
            mend="give the layer as dem",
            where=file,
        )
    if length is not None:
        metres = float(length[1])
        return Band(unit, metres, LOWEST_M / metres, HIGHEST_M / metres), issues
    if unit in {"degree", "radian", "ratio"}:
        issues.append(
            Issue("note", "z_unit", f"slopes in the file are in {unit}; they were made percent",
                  layer=kind, file=file)
        )  # fmt: skip
    elif not unit and use == "slopes":
        issues.append(
            Issue("note", "z_unit", "the file does not say in which unit its slopes are; they are"
                  " taken as percent", layer=kind, file=file,
                  effect="slopes in degrees, radians or as a ratio would be understated")
        )  # fmt: skip
    if not unit and use == "values":
        return Band("", 1.0, LOWEST_ANY, HIGHEST_ANY), issues
    high = {"degree": 89.95, "radian": np.radians(89.95), "ratio": STEEPEST_PCT / 100.0}
    return Band(unit or "percent", 1.0, 0.0, float(high.get(unit, STEEPEST_PCT))), issues


def _disagree(words: list[Words], units: list[str]) -> InputError:
    return InputError(
        f"the files' units differ: {', '.join(units)}.",
        needed="one unit in all files of a surface",
        mend="convert the files to one unit",
        where=", ".join(w.file for w in words[:4]),
    )
