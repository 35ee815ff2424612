"""Numbers in words: rounded only here, and never so that a number hides what it tripped."""

from __future__ import annotations

from math import isinf, isnan

__all__ = ["UNIT_WORDS", "shown", "sqft"]

UNIT_WORDS = {
    "sqft": "sq ft",
    "ft": "ft",
    "pct": "%",
    "count": "",
    "days": "days",
    "usd": "USD",
    "ratio": "",
}
_MOST_DECIMALS = 9


def shown(value: float, against: float | None = None, *, decimals: int = 2) -> str:
    """A number for a reader, with more decimals where rounding would make it equal a threshold.

    Parameters
    ----------
    value : float
        NaN gives ``not known``, infinity ``none near``.
    against : float, optional
        A threshold that the number must not be printed equal to, unless it is.

    Examples
    --------
    >>> shown(4000.004, 4000.0), shown(4000.0, 4000.0), shown(12345.6)
    ('4,000.004', '4,000.00', '12,345.60')
    """
    if isnan(value):
        return "not known"
    if isinf(value):
        return "none near"
    if against is not None and not isnan(against) and value != against:
        while decimals < _MOST_DECIMALS and round(value, decimals) == round(against, decimals):
            decimals += 1
    return f"{value:,.{decimals}f}"


def sqft(value: float) -> str:
    """An area with its unit.

    Examples
    --------
    >>> sqft(1200)
    '1,200.00 sq ft'
    """
    return f"{shown(value)} sq ft"
