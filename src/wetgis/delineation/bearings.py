"""Directions of lines, as surveyors write them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["azimuth_deg", "quadrant"]

Floats = npt.NDArray[np.float64]


def azimuth_deg(dx: npt.ArrayLike, dy: npt.ArrayLike) -> Floats:
    """Grid azimuth in degrees, clockwise from grid north, 0 up to 360; NaN for no length.

    Examples
    --------
    >>> azimuth_deg([1, 0, -1], [0, 1, -1]).tolist()
    [90.0, 0.0, 225.0]
    """
    x, y = np.asarray(dx, dtype=float), np.asarray(dy, dtype=float)
    degrees = np.degrees(np.arctan2(x, y)) % 360.0
    return np.where((x == 0) & (y == 0), np.nan, degrees)


def quadrant(azimuth: float) -> str:
    r"""A quadrant bearing to the second; empty where the azimuth is not known.

    Examples
    --------
    >>> quadrant(45.5), quadrant(225.0), quadrant(0.0)
    ('N 45°30\'00" E', 'S 45°00\'00" W', 'N 00°00\'00" E')
    >>> quadrant(359.99999)
    'N 00°00\'00" W'
    """
    if azimuth != azimuth:
        return ""
    azimuth %= 360.0
    north, east = azimuth <= 90 or azimuth >= 270, azimuth <= 180
    angle = {
        (True, True): azimuth,
        (False, True): 180 - azimuth,
        (False, False): azimuth - 180,
        (True, False): 360 - azimuth,
    }[north, east]
    seconds = round(angle * 3600)
    degrees, rest = divmod(seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    text = f"{degrees:02d}°{minutes:02d}'{seconds:02d}\""
    return f"{'N' if north else 'S'} {text} {'E' if east else 'W'}"
