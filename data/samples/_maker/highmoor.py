"""Highmoor: an invented hill town. Streams, ponds, larger lots, slopes above 30 percent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import shapely

from . import lots as lt
from .fields import (
    Array,
    Grid,
    channels,
    flow,
    inside,
    nearest,
    noise,
    outlines,
    slope_pct,
    soft_min,
)
from .shapes import blob, meander, smooth, with_island

#: South-west corner of the town in EPSG:2260, survey feet.
ORIGIN = (575_400.0, 906_500.0)
SIZE = (5200.0, 5000.0)
SEED = 46


@dataclass
class Stream:
    """A reach between confluences, downstream."""

    name: str
    points: Array
    half: float
    flow: str


@dataclass
class Ground:
    """What nature made: surface, waters, wetlands."""

    grid: Grid
    z: Array
    above: Array
    away: Array
    streams: list[Stream]
    ponds: dict[str, shapely.Polygon]
    wetlands: list[shapely.Polygon]


def ground(rng: np.random.Generator) -> Ground:
    """Hills, the water that runs off them, valleys carved by it, and the wetlands."""
    grid = Grid(-300, -300, 16, 364, 352)
    x, y = grid.mesh()
    hills = noise(grid, rng, 3600) + 0.55 * noise(grid, rng, 1700) + 0.22 * noise(grid, rng, 800)
    z = 700 + 96 * hills + 0.020 * (y - 2500) + 0.012 * (x - 2600)
    z += 20 * np.tanh(3 * noise(grid, rng, 900)) + 3.0 * noise(grid, rng, 260)
    filled, to, count = flow(z)
    deepest = np.unravel_index(np.argmax(np.where(_central(grid), filled - z, 0)), z.shape)
    basin = (float(grid.xs[deepest[1]]), float(grid.ys[deepest[0]]))
    # hollows without an outlet silted up long ago: flat wet floors
    z = np.maximum(z, filled - 4 + 1.2 * noise(grid, rng, 300))
    streams, points, beds = _streams(grid, (filled, to, count), rng)
    away, index = nearest(grid, points)
    bed = beds[index]
    valley = bed + 0.02 * away + (away / 62) ** 1.75
    valley = np.where(away < 12, bed - 2, np.maximum(valley, bed + 0.6))
    # the nearest reach changes along ridges: its height must not be felt there
    near = np.clip((360 - away) / 200, 0, 1)
    near = near * near * (3 - 2 * near)
    z = z + near * (soft_min(z, valley, 9) - z)
    above = z - bed
    ponds = _ponds(basin, streams, rng)
    for pond in ponds.values():
        z[inside(grid, pond)] = np.median(grid.at(z, np.array(pond.exterior.coords)))
    wetlands = _wetlands(grid, above, away, list(ponds.values()), rng)
    return Ground(grid, z, above, away, streams, ponds, wetlands)


def _central(grid: Grid) -> Array:
    x, y = grid.mesh()
    return (x > 800) & (x < SIZE[0] - 800) & (y > 800) & (y < SIZE[1] - 800)


def _streams(grid: Grid, run: tuple, rng: np.random.Generator) -> tuple[list[Stream], Array, Array]:
    """Reaches down the surface, with meanders, and the bed's height along them."""
    filled, to, count = run
    acres = grid.cell**2 / 43_560
    reaches = channels(grid, to, count, 14 / acres)
    # upstream first: a reach that drains less never lies below one that drains more
    reaches.sort(key=lambda r: r[1])
    level: dict[tuple[float, float], float] = {}
    streams, points, beds = [], [], []
    for course, cells in reaches:
        line = meander(smooth(course, 14, 26), rng, step=10, swing=6 + min(8, cells * acres / 40))
        start, end = tuple(course[0]), tuple(course[-1])
        heights = np.minimum.accumulate(grid.at(filled, resample_like(course, len(line))))
        top = min(level.get(start, np.inf), heights[0])
        heights = np.minimum(heights, top) - 0.002 * np.arange(len(line))
        level[end] = min(level.get(end, np.inf), heights[-1])
        kind = (
            "perennial"
            if cells * acres > 70
            else "intermittent"
            if cells * acres > 26
            else "ephemeral"
        )
        half = round(float(1.5 + 0.42 * np.sqrt(cells * acres)), 1)
        streams.append(Stream("", line, half, kind))
        points.append(line)
        beds.append(heights - 3)
    return streams, np.vstack(points), np.concatenate(beds)


def resample_like(course: Array, n: int) -> Array:
    """``n`` points along a course."""
    line = shapely.LineString(course)
    at = np.linspace(0, line.length, n)
    return shapely.get_coordinates(shapely.line_interpolate_point(line, at))


def _ponds(basin: tuple, streams: list[Stream], rng) -> dict[str, shapely.Polygon]:
    """A lake in the deepest hollow, a mill pond on the largest stream, a farm pond aside."""
    inner = shapely.box(500, 500, SIZE[0] - 500, SIZE[1] - 500)
    middles = [
        (s, shapely.LineString(s.points).interpolate(0.45, normalized=True)) for s in streams
    ]
    middles = [(s.half, p) for s, p in middles if inner.contains(p)]
    mill = max(middles, key=lambda m: m[0])[1]
    return {
        "Basin Pond": blob(rng, basin, 210, stretch=1.7),
        "Mill Pond": blob(rng, (mill.x, mill.y), 78, stretch=1.9),
        "Farm Pond": blob(rng, (1750, 1050), 42, stretch=1.3),
    }


def _wetlands(grid: Grid, above: Array, away: Array, waters: list, rng) -> list[shapely.Polygon]:
    """Level sets of the height above the stream, so they follow valley floors."""
    wobble = noise(grid, rng, 640) + 0.4 * noise(grid, rng, 170)
    low = np.clip(above, -1, None) / 3.6 + away / 120 + 0.9 * wobble
    made = outlines(grid, low, -99, 0.55)
    water = shapely.union_all(waters) if waters else shapely.Polygon()
    out = []
    for part in shapely.get_parts(shapely.difference(np.array(made), water)):
        if part.geom_type == "Polygon" and part.area > 1200:
            holes = [h for h in part.interiors if shapely.Polygon(h).area > 400]
            out.append(shapely.Polygon(part.exterior, holes).simplify(0.8))
    for k in np.argsort([-p.area for p in out])[1:3]:
        out[k] = with_island(out[k], rng)
    return out


#: Name, about where it starts and ends, how it meets others (j: joins a road, e: leaves the map,
#: d: dead end), half of its right of way. The ways between are found on the terrain.
ROADS = [
    ("Highmoor Turnpike", (1900, -250), (2350, 5250), "ee", 30.0),
    ("Hollow Road", (2550, 2150), (5450, 2300), "je", 25.0),
    ("Ridge Road", (2500, 1050), (-250, 1050), "je", 25.0),
    ("Laurel Road", (2500, 3250), (-250, 4100), "je", 25.0),
    ("Basin Road", (2600, 4300), (5450, 4350), "je", 25.0),
    ("Quarry Road", (3300, 1300), (4700, -250), "je", 25.0),
    ("Summit Road", (3700, 4200), (4300, 1500), "jj", 25.0),
    ("Fox Lane", (650, 900), (900, 3850), "jj", 25.0),
    ("Brook Lane", (2450, 2700), (1250, 2750), "jj", 25.0),
    ("Sumac Court", (700, 4000), (1150, 4850), "jd", 25.0),
    ("Ledge Court", (3700, 1050), (4150, 650), "jd", 25.0),
    ("Teal Court", (2700, 3600), (3350, 3300), "jd", 25.0),
    ("Heath Court", (1500, 900), (1350, 330), "jd", 25.0),
    ("Birch Court", (3450, 4300), (3000, 4750), "jd", 25.0),
    ("Wren Court", (4200, 3000), (3500, 2700), "jd", 25.0),
    ("Orchard Court", (1700, 3500), (1650, 4500), "jd", 25.0),
]


def streets(made: Ground) -> list[lt.Street]:
    """Roads by the cheapest way over the terrain; dead ends get a turning bulb."""
    step = 3
    rows, columns = np.arange(1, made.grid.ny, step), np.arange(1, made.grid.nx, step)
    coarse = Grid(made.grid.x0, made.grid.y0, made.grid.cell * step, len(columns), len(rows))
    z = made.z[np.ix_(rows, columns)]
    wet = inside(coarse, shapely.union_all([*made.wetlands, *made.ponds.values()]).buffer(30))
    base = 1 + 9.0 * wet + 2.5 * (made.away < 45)[np.ix_(rows, columns)]
    out: list[lt.Street] = []
    for name, start, goal, ends, half in ROADS:
        a, b = (
            _on_road(p, out) if e == "j" else p for p, e in zip((start, goal), ends, strict=True)
        )
        crowd = shapely.union_all([s.line.buffer(340) for s in out]).difference(
            shapely.union_all([shapely.Point(a).buffer(420), shapely.Point(b).buffer(420)])
        )
        cost = base + 5.0 * inside(coarse, crowd) if out else base
        path = lt.least_cost(cost, (z, coarse.cell), _cell(coarse, a), _cell(coarse, b))
        cells = np.array(path)
        points = np.column_stack([coarse.xs[cells[:, 1]], coarse.ys[cells[:, 0]]])
        points[0], points[-1] = a, b
        out.append(
            lt.Street(
                name,
                smooth(points, 20, 130 if ends[1] == "d" else 85),
                half,
                dead_end=ends[1] == "d",
            )
        )
    return out


def _cell(grid: Grid, spot: tuple[float, float]) -> tuple[int, int]:
    row = int(np.clip((spot[1] - grid.y0) / grid.cell, 0, grid.ny - 1))
    return row, int(np.clip((spot[0] - grid.x0) / grid.cell, 0, grid.nx - 1))


def _on_road(spot: tuple[float, float], streets: list[lt.Street]) -> tuple[float, float]:
    lines = [s.line for s in streets]
    nearest_line = min(lines, key=lambda line: line.distance(shapely.Point(spot)))
    p = nearest_line.interpolate(nearest_line.project(shapely.Point(spot)))
    return p.x, p.y


def waters_of(made: Ground) -> list[shapely.Geometry]:
    """Ponds, and channels at their width."""
    lines = [shapely.LineString(s.points).buffer(s.half, cap_style="flat") for s in made.streams]
    return [*made.ponds.values(), *lines]


def slope_of(made: Ground) -> Array:
    """Slope of the surface in percent."""
    return slope_pct(made.z, made.grid.cell)
