"""Slope by Horn's 3 x 3 window, in float64, on any grid; and raw cells made into heights.

Horn gives the rise per column and per row. What these are on the ground, a 2 x 2 matrix tells:
one for the whole grid where it is planar, one a row where cells are in degrees or the
projection stretches lengths. So nothing is resampled, and a rotated grid is no special case.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numba import njit
from numpy.typing import NDArray

from wetgis.rasters.coverage import BAD, NO_TILE, VOID
from wetgis.schema import EPS_PCT

if TYPE_CHECKING:
    from pyproj import CRS

__all__ = ["Grid", "blank", "decode", "horn_slope", "stretch"]

Floats = NDArray[np.float64]
Noise = NDArray[np.float32]
Six = tuple[float, float, float, float, float, float]

#: Beyond this difference of a projection's scale from 1 the ground's lengths are taken: State Plane
#: and UTM stay on their own grid, Web Mercator and Conus Albers do not.
MAX_STRETCH = 2e-3


@dataclass(frozen=True)
class Grid:
    """Where cells lie.

    ``transform`` is a, b, c, d, e, f of x = a col + b row + c, y = d col + e row + f, at the outer
    corner of the first cell; ``metres`` is metres in one unit of a projected ``crs``; ``warped``
    where lengths on the grid are not lengths on the ground, within ``MAX_STRETCH``.
    """

    transform: Six
    height: int
    width: int
    crs: CRS
    metres: float = 1.0
    warped: bool = False

    def xy(self, col: Floats, row: Floats) -> tuple[Floats, Floats]:
        """Coordinates of places given by column and row."""
        a, b, c, d, e, f = self.transform
        return c + (a * col + b * row), f + (d * col + e * row)

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """West, south, east and north of the grid's four corners, whichever way it is turned."""
        h, w = self.height, self.width
        x, y = self.xy(np.array([0.0, w, w, 0.0]), np.array([0.0, 0.0, h, h]))
        return float(x.min()), float(y.min()), float(x.max()), float(y.max())

    @property
    def cell(self) -> tuple[float, float]:
        """The two sides of a cell, in units of the CRS."""
        a, b, _, d, e, _ = self.transform
        return float(np.hypot(a, d)), float(np.hypot(b, e))

    @property
    def cell_metres(self) -> float:
        """The shorter side of a cell on the ground, in the middle of the grid, in metres."""
        if not self.warped:
            return min(self.cell) * self.metres
        ground = self._ground_jacobian(np.array([self.height / 2]), np.array([self.width / 2]))
        return float(np.sqrt((ground[0, 0] ** 2).sum(axis=0)).min())

    def gradient(self, row0: int, row1: int, z_metres: float) -> Floats:
        """What takes Horn's two sums to percent on the ground: (rows or 1, columns or 1, 4).

        Parameters
        ----------
        row0, row1 : int
            Rows of the grid.
        z_metres : float
            Metres in one unit of height.
        """
        a, b, _, d, e, _ = self.transform
        if not self.warped:
            scale = 100.0 * (z_metres / self.metres) / 8.0
            if b == 0.0 and d == 0.0:
                return np.array([[[scale / a, 0.0, 0.0, scale / e]]])
            det = (a * e - b * d) / scale
            return np.array([[[e / det, -d / det, -b / det, a / det]]])
        rows = np.arange(row0 + 0.5, row1)
        # on an upright grid a row lies along the parallel, near enough, so one matrix serves it
        upright = b == 0.0 and d == 0.0
        cols = np.array([self.width / 2]) if upright else np.arange(0.5, self.width)
        return _inverse(self._ground_jacobian(rows, cols)) * (100.0 * z_metres) / 8.0

    def _ground_jacobian(self, rows: Floats, cols: Floats) -> Floats:
        """Metres east and north a column and a row: (rows, columns, 2, 2)."""
        a, b, _, d, e, _ = self.transform
        cc, rr = np.meshgrid(cols, rows)
        if self.crs.is_geographic:
            _, y = self.xy(cc, rr)
            radians = float(self.crs.axis_info[0].unit_conversion_factor)
            east, north = _metres_per_radian(self.crs, y * radians)
            east, north = east * radians, north * radians
            return np.stack(
                [np.stack([east * a, east * b], -1), np.stack([north * d, north * e], -1)], -2
            )
        columns = self._steps(cc, rr, 0.5, 0.0), self._steps(cc, rr, 0.0, 0.5)
        return np.stack(columns, -1)

    def _steps(self, cols: Floats, rows: Floats, dc: float, dr: float) -> Floats:
        """Metres east and north between two places half a cell before and after each place."""
        from wetgis.projection import projector

        to = projector(self.crs)
        lon0, lat0 = to.transform(*self.xy(cols - dc, rows - dr), direction="INVERSE")
        lon1, lat1 = to.transform(*self.xy(cols + dc, rows + dr), direction="INVERSE")
        lat = np.radians(0.5 * (lat0 + lat1))
        east, north = _metres_per_radian(self.crs, lat)
        return np.stack([np.radians(lon1 - lon0) * east, np.radians(lat1 - lat0) * north], -1)


def stretch(grid: Grid) -> float:
    """How far, at the middle of a projected grid, lengths on it differ from lengths on the ground.

    The largest of the scale's differences from 1 along the grid's two directions.
    """
    ground = grid._ground_jacobian(np.array([grid.height / 2]), np.array([grid.width / 2]))
    on_ground = np.sqrt((ground[0, 0] ** 2).sum(axis=0))
    on_grid = np.array(grid.cell) * grid.metres
    return float(np.abs(on_grid / on_ground - 1.0).max())


def _metres_per_radian(crs: CRS, lat: Floats) -> tuple[Floats, Floats]:
    """Metres along the parallel and along the meridian a radian, on the CRS's ellipsoid."""
    from pyproj import Geod

    body = crs.ellipsoid
    geod = Geod(ellps="GRS80") if body is None else Geod(
        a=body.semi_major_metre, b=body.semi_minor_metre
    )  # fmt: skip
    flat = 1.0 - geod.es * np.sin(lat) ** 2
    return geod.a / np.sqrt(flat) * np.cos(lat), geod.a * (1.0 - geod.es) / flat**1.5


def _inverse(jacobian: Floats) -> Floats:
    """Transposed inverse of each 2 x 2: rise per cell to rise per unit of ground."""
    a, b = jacobian[..., 0, 0], jacobian[..., 0, 1]
    d, e = jacobian[..., 1, 0], jacobian[..., 1, 1]
    det = a * e - b * d
    return np.stack([e / det, -d / det, -b / det, a / det], -1)


def blank(height: int, width: int) -> tuple[Floats, Noise]:
    """Cells of which nothing is known: values NaN, and why: no tile there."""
    return np.full((height, width), np.nan), np.full((height, width), NO_TILE, np.float32)


@njit(nogil=True, cache=True, error_model="numpy")
def decode(raw, valid, rules, corner, values, noise):  # type: ignore[no-untyped-def]
    """Raw cells into a window, where it is still empty.

    Parameters
    ----------
    raw : float64 array
    valid : uint8 array of the raster's own mask, or of shape (1, 1) where it has none
    rules : nodata, lowest and highest possible value (after scaling), scale, offset, and whether
        there is a nodata value at all (1 or 0)
    corner : row and column of the window where ``raw`` starts
    values, noise : arrays of the window, changed in place

    Returns
    -------
    cells with an impossible value, and one such value
    """
    bad = 0
    example = 0.0
    masked = valid.size > 1
    nodata = rules[0] if rules[5] == 1.0 else np.nan
    nan_is_nodata = rules[5] == 1.0 and rules[0] != rules[0]
    for r in range(raw.shape[0]):
        i = r + corner[0]
        for c in range(raw.shape[1]):
            k = c + corner[1]
            x = raw[r, c]
            if x == nodata or (masked and valid[r, c] == 0) or (nan_is_nodata and x != x):
                if values[i, k] != values[i, k] and noise[i, k] == NO_TILE:
                    noise[i, k] = VOID
                continue
            z = x * rules[3] + rules[4]
            # -999 ft is no ground either, though within the limits
            if z >= rules[1] and z <= rules[2] and x != -999.0 and x != -9999.0:
                if values[i, k] != values[i, k]:
                    values[i, k] = z
                    noise[i, k] = 0.0
            else:
                bad += 1
                example = x
                if values[i, k] != values[i, k]:
                    noise[i, k] = BAD
    return bad, example


@njit(nogil=True, cache=True, error_model="numpy")
def _horn(z, why, m, slope, noise):  # type: ignore[no-untyped-def]
    one_row = m.shape[0] == 1
    one_col = m.shape[1] == 1
    for r in range(1, z.shape[0] - 1):
        k = 0 if one_row else r - 1
        for c in range(1, z.shape[1] - 1):
            j = 0 if one_col else c - 1
            dc = (z[r - 1, c + 1] + 2.0 * z[r, c + 1] + z[r + 1, c + 1]) - (
                z[r - 1, c - 1] + 2.0 * z[r, c - 1] + z[r + 1, c - 1]
            )
            dr = (z[r + 1, c - 1] + 2.0 * z[r + 1, c] + z[r + 1, c + 1]) - (
                z[r - 1, c - 1] + 2.0 * z[r - 1, c] + z[r - 1, c + 1]
            )
            # the centre is in neither sum, but without it the cell is not known
            east = m[k, j, 0] * dc + m[k, j, 1] * dr + (z[r, c] - z[r, c])
            north = m[k, j, 2] * dc + m[k, j, 3] * dr
            slope[r - 1, c - 1] = np.sqrt(east * east + north * north)
            noise[r - 1, c - 1] = why[r, c]


@njit(nogil=True, cache=True, error_model="numpy")
def _highest(z):  # type: ignore[no-untyped-def]
    top = 0.0
    for row in z:
        for x in row:
            top = max(top, abs(x)) if x == x else top
    return top


@njit(nogil=True, cache=True, error_model="numpy")
def _rounding(z, slope, noise, per_step):  # type: ignore[no-untyped-def]
    """The float32 step of the highest height in each window, in percentage points."""
    for r in range(1, z.shape[0] - 1):
        for c in range(1, z.shape[1] - 1):
            if slope[r - 1, c - 1] == slope[r - 1, c - 1]:
                top = 0.0
                for i in range(r - 1, r + 2):
                    for j in range(c - 1, c + 2):
                        top = max(top, abs(z[i, j]))
                if top > 0.0:  # top is in [2^(e - 1), 2^e), and a float32 has 24 bits
                    noise[r - 1, c - 1] = per_step * math.ldexp(1.0, math.frexp(top)[1] - 24)


def horn_slope(
    heights: Floats, why: Noise, matrix: Floats, per_step: float
) -> tuple[Floats, Noise]:
    """Slope in percent of the inner cells of a window of heights, and its noise.

    Parameters
    ----------
    heights, why : arrays (rows + 2, columns + 2)
        With a halo of one cell; NaN where not known, and why.
    matrix : array (rows or 1, columns or 1, 4)
        From ``Grid.gradient``.
    per_step : float
        Percentage points in one unit of height over one cell.

    Returns
    -------
    slope, noise
        A cell any of whose nine heights is not known is NaN: edges too. The noise is the
        float32 step of the highest of the nine over one cell: so much can heights stored as
        float32 turn a slope. It does not depend on the window.
    """
    shape = (heights.shape[0] - 2, heights.shape[1] - 2)
    slope, noise = np.empty(shape), np.empty(shape, np.float32)
    _horn(heights, why, matrix, slope, noise)
    top = _highest(heights)
    # below this height every step is lost in the tolerance that holds anyway
    if per_step * float(np.spacing(np.float32(top))) > EPS_PCT:
        _rounding(heights, slope, noise, per_step)
    return slope, noise
