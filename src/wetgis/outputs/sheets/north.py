"""Grid north and true north, and the scale as words."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["nice_scale", "true_north_deg", "turned"]


def true_north_deg(crs: Any, x: float, y: float) -> float:
    """The grid azimuth of true north at a place, in degrees; negative is west of grid north.

    Parameters
    ----------
    crs : CRS
        Projected.
    x, y : float
        In its unit.

    Examples
    --------
    East of the central meridian the meridians lean west:

    >>> import pyproj
    >>> round(true_north_deg(pyproj.CRS("EPSG:2260"), 717_000, 783_000), 3)
    -0.534
    """
    import pyproj

    with_axes = pyproj.Transformer.from_crs(crs, crs.geodetic_crs, always_xy=True)
    lon, lat = with_axes.transform(x, y)
    step = 1e-4
    back = pyproj.enums.TransformDirection.INVERSE
    (x0, x1), (y0, y1) = with_axes.transform(
        np.array([lon, lon]), np.array([lat - step, lat + step]), direction=back
    )
    return float(np.degrees(np.arctan2(x1 - x0, y1 - y0)))


def turned(degrees: float) -> str:
    """An angle from grid north in words.

    Examples
    --------
    >>> turned(-0.534), turned(0.0)
    ("0°32' west of", 'on')
    """
    minutes = round(abs(degrees) * 60)
    if minutes == 0:
        return "on"
    side = "west" if degrees < 0 else "east"
    return f"{minutes // 60}°{minutes % 60:02d}' {side} of"


def nice_scale(ft_per_in: float) -> float:
    """The next scale that an engineer's rule has: 10, 20, 30, 40, 50, 60 and their tenfolds.

    Examples
    --------
    >>> nice_scale(43), nice_scale(61), nice_scale(700)
    (50.0, 100.0, 1000.0)
    """
    power = 10.0 ** np.floor(np.log10(max(ft_per_in, 1e-9)))
    for step in (1, 2, 3, 4, 5, 6, 10):
        if ft_per_in <= step * power * (1 + 1e-9):
            return float(step * power)
    raise AssertionError("ten times a power of ten is beyond every number below it")
