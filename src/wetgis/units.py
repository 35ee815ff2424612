"""Lengths and areas: both feet, exact.

The US survey foot is 1200/3937 m, the international foot 0.3048 m. They differ
by 2 ppm, which is nothing on a distance and 1.7 ft on a State Plane coordinate.
Every result of wetgis is in US survey feet and square feet.
"""

from __future__ import annotations

import re
from fractions import Fraction

from wetgis.errors import UsageError

__all__ = [
    "FT_PER_METRE",
    "METRES_PER_UNIT",
    "SQFT_PER_ACRE",
    "length_in_ft",
    "metres_per_unit",
]

#: Metres in one unit, exact, by the name that a user or a raster may write.
METRES_PER_UNIT: dict[str, Fraction] = {
    "m": Fraction(1),
    "km": Fraction(1000),
    "us-ft": Fraction(1200, 3937),
    "ft": Fraction(3048, 10000),
}
_ALIASES = {
    "m": "m", "metre": "m", "meter": "m", "metres": "m", "meters": "m",
    "km": "km", "kilometre": "km", "kilometer": "km",
    "us-ft": "us-ft", "ftus": "us-ft", "us ft": "us-ft", "us_ft": "us-ft", "foot_us": "us-ft",
    "us survey foot": "us-ft", "us survey feet": "us-ft", "survey foot": "us-ft",
    "survey feet": "us-ft", "u.s. survey foot": "us-ft", "foot us": "us-ft",
    "ft": "ft", "foot": "ft", "feet": "ft", "international foot": "ft", "intl ft": "ft",
    "international feet": "ft",
}  # fmt: skip

FT_PER_METRE = float(1 / METRES_PER_UNIT["us-ft"])
SQFT_PER_ACRE = 43_560.0

_LENGTH = re.compile(r"^\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*([A-Za-z][A-Za-z .\-_]*)\s*$")


def metres_per_unit(name: str) -> Fraction | None:
    """Metres in one unit of this name, or None where the name is not known.

    ``ft`` in a raster's or a file's own words is the international foot, ``us-ft`` the survey foot.

    Examples
    --------
    >>> metres_per_unit("US survey foot")
    Fraction(1200, 3937)
    >>> metres_per_unit("furlong") is None
    True
    """
    key = _ALIASES.get(name.strip().lower())
    return METRES_PER_UNIT[key] if key else None


def length_in_ft(text: str) -> float:
    """A length with its unit, in US survey feet; ``100ft`` is the survey foot.

    Raises
    ------
    UsageError
        On a bare number, a negative length or a unit that is not known.

    Examples
    --------
    >>> length_in_ft("100ft")
    100.0
    >>> round(length_in_ft("30m"), 4)
    98.425
    """
    match = _LENGTH.match(text)
    if match is None:
        raise UsageError(
            f"'{text}' is not a length with a unit.",
            needed="a number and its unit, as 100ft or 30m",
            mend="write the unit behind the number",
        )
    number, unit = match.group(1), match.group(2).strip().lower()
    if unit in {"ft", "foot", "feet"}:
        unit = "us-ft"
    elif unit in {"intl ft", "international foot", "international feet", "ift"}:
        unit = "ft"
    metres = metres_per_unit(unit)
    if metres is None:
        raise UsageError(f"the unit of '{text}' is not known.", needed="ft, us-ft, ift or m")
    return float(Fraction(number) * metres / METRES_PER_UNIT["us-ft"])
