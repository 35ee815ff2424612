"""Fields on a grid: noise, terrain, how water runs over it, and outlines at a level."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import shapely
from contourpy import FillType, contour_generator

Array = np.ndarray


@dataclass(frozen=True)
class Grid:
    """Cell centres in town feet; row 0 is the southern one."""

    x0: float
    y0: float
    cell: float
    nx: int
    ny: int

    @property
    def xs(self) -> Array:
        return self.x0 + self.cell * (np.arange(self.nx) + 0.5)

    @property
    def ys(self) -> Array:
        return self.y0 + self.cell * (np.arange(self.ny) + 0.5)

    def mesh(self) -> tuple[Array, Array]:
        """X and Y of each cell centre."""
        return np.meshgrid(self.xs, self.ys)

    def at(self, field: Array, xy: Array) -> Array:
        """Field at points, bilinear, clamped at the rim."""
        x = np.clip((xy[:, 0] - self.x0) / self.cell - 0.5, 0, self.nx - 1.001)
        y = np.clip((xy[:, 1] - self.y0) / self.cell - 0.5, 0, self.ny - 1.001)
        i, j = y.astype(int), x.astype(int)
        fy, fx = y - i, x - j
        low = field[i, j] * (1 - fx) + field[i, j + 1] * fx
        high = field[i + 1, j] * (1 - fx) + field[i + 1, j + 1] * fx
        return low * (1 - fy) + high * fy


def _spline(positions: Array, knots: int) -> Array:
    """Cubic B-spline weights of ``knots`` values at each position (in knots)."""
    base = np.floor(positions).astype(int)
    f = positions - base
    weights = np.stack(
        [(1 - f) ** 3, 3 * f**3 - 6 * f**2 + 4, -3 * f**3 + 3 * f**2 + 3 * f + 1, f**3]
    )
    out = np.zeros((len(positions), knots))
    for k in range(4):
        out[np.arange(len(positions)), base + k] += weights[k] / 6
    return out


def noise(
    grid: Grid, rng: np.random.Generator, wavelength: float, *, octaves: int = 1, gain: float = 0.5
) -> Array:
    """Smooth noise of mean 0 and deviation 1; each octave is half as long as the one before."""
    total = np.zeros((grid.ny, grid.nx))
    for k in range(octaves):
        step = wavelength / 2 ** (k + 1) / grid.cell
        nx, ny = int(grid.nx / step) + 5, int(grid.ny / step) + 5
        values = rng.standard_normal((ny, nx))
        across = _spline(np.arange(grid.nx) / step, nx)
        up = _spline(np.arange(grid.ny) / step, ny)
        total += gain**k * (up @ values @ across.T)
    return (total - total.mean()) / total.std()


def outlines(grid: Grid, field: Array, low: float, high: float) -> list[shapely.Polygon]:
    """Polygons where ``low < field < high``, with their holes."""
    made = contour_generator(
        x=grid.xs, y=grid.ys, z=field, name="serial", fill_type=FillType.OuterOffset
    ).filled(low, high)
    polygons = []
    for points, offsets in zip(*made, strict=True):
        rings = [points[a:b] for a, b in pairwise(offsets)]
        rings = [r for r in rings if len(r) >= 4]
        if rings:
            polygons.append(shapely.make_valid(shapely.Polygon(rings[0], rings[1:])))
    return [p for p in shapely.get_parts(polygons) if p.geom_type == "Polygon" and p.area > 1]


def flow(z: Array) -> tuple[Array, Array, Array]:
    """Fill the pits, then say where each cell drains to (flat index, -1 at the rim) and its area.

    A priority flood from the rim inward: each cell drains to the one from which it was reached.
    """
    ny, nx = z.shape
    filled = z.copy()
    to = np.full(ny * nx, -1)
    seen = np.zeros(z.shape, bool)
    heap: list[tuple[float, int, int]] = []
    for i in range(ny):
        for j in range(nx):
            if i in (0, ny - 1) or j in (0, nx - 1):
                heapq.heappush(heap, (z[i, j], i, j))
                seen[i, j] = True
    order = []
    steps = [(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1) if a or b]
    while heap:
        level, i, j = heapq.heappop(heap)
        order.append(i * nx + j)
        for a, b in steps:
            k, m = i + a, j + b
            if 0 <= k < ny and 0 <= m < nx and not seen[k, m]:
                seen[k, m] = True
                filled[k, m] = max(z[k, m], level + 0.001)
                to[k * nx + m] = i * nx + j
                heapq.heappush(heap, (filled[k, m], k, m))
    count = np.ones(ny * nx)
    for cell in reversed(order):
        if to[cell] >= 0:
            count[to[cell]] += count[cell]
    return filled, to, count.reshape(z.shape)


def channels(grid: Grid, to: Array, count: Array, least: float) -> list[tuple[Array, float]]:
    """Channel reaches (points downstream, cells drained at the end) where ``count >= least``."""
    wet = (count >= least).ravel()
    into = np.zeros(wet.size, int)
    np.add.at(into, to[wet & (to >= 0)], 1)
    into[~wet] = 0
    starts = np.flatnonzero(wet & (into != 1))
    x, y = grid.mesh()
    xy = np.column_stack([x.ravel(), y.ravel()])
    reaches = []
    for start in starts:
        path = [start]
        while to[path[-1]] >= 0:
            path.append(to[path[-1]])
            if into[path[-1]] != 1:
                break
        if len(path) > 1:
            reaches.append((xy[path], float(count.ravel()[path[-2]])))
    return reaches


def nearest(grid: Grid, points: Array) -> tuple[Array, Array]:
    """Distance of each cell to the nearest of the points, and that point's number."""
    x, y = grid.mesh()
    tree = shapely.STRtree(shapely.points(points))
    cells = shapely.points(x.ravel(), y.ravel())
    index = tree.nearest(cells)
    away = np.hypot(x.ravel() - points[index, 0], y.ravel() - points[index, 1])
    return away.reshape(x.shape), index.reshape(x.shape)


def soft_min(a: Array, b: Array, width: float) -> Array:
    """The smaller of two surfaces, with a rounded seam of about ``width``."""
    h = np.clip(0.5 + 0.5 * (b - a) / width, 0, 1)
    return b * (1 - h) + a * h - width * h * (1 - h)


def inside(grid: Grid, geometry: shapely.Geometry) -> Array:
    """Cells whose centre lies in the geometry."""
    x, y = grid.mesh()
    shapely.prepare(geometry)
    return shapely.contains_xy(geometry, x, y)


def slope_pct(z: Array, cell: float) -> Array:
    """Slope in percent by central differences; enough for drawing a town."""
    dy, dx = np.gradient(z, cell)
    return 100 * np.hypot(dx, dy)
