"""Shoreville: an invented small city on a sound. Coast, brook, ponds, salt marsh, small lots."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import shapely

from . import lots as lt
from .fields import Array, Grid, inside, nearest, noise, outlines, soft_min
from .shapes import blob, meander, smooth, tapered, with_island

#: South-west corner of the town in EPSG:2260, survey feet.
ORIGIN = (715_200.0, 781_400.0)
SIZE = (3600.0, 3200.0)
SEED = 195

COAST = [(560, -500), (900, -60), (1130, 190), (1400, 330), (1690, 400), (1870, 560),
         (1960, 800), (2070, 985), (2190, 965), (2270, 800), (2450, 640), (2760, 560),
         (2990, 690), (3010, 980), (3130, 1250), (3380, 1420), (3700, 1500),
         (4200, 1720)]  # fmt: skip
BROOK = [(330, 3500), (500, 3130), (760, 2830), (850, 2500), (1090, 2240), (1330, 1990),
         (1640, 1760), (1800, 1510), (1980, 1290), (2090, 1080), (2130, 930)]  # fmt: skip
BRANCH = [(3150, 3500), (2960, 3120), (2700, 2830), (2390, 2600), (2160, 2290), (1880, 2030),
          (1640, 1760)]  # fmt: skip
DITCH = [(3330, 2210), (3010, 2030), (2660, 1830), (2400, 1520), (2200, 1330), (2060, 1150)]


@dataclass
class Ground:
    """What nature made: surface, waters, wetlands."""

    grid: Grid
    z: Array
    above: Array
    away: Array
    land: shapely.Geometry
    sound: shapely.Geometry
    creek: shapely.Geometry
    ponds: dict[str, shapely.Polygon]
    streams: dict[str, Array]
    marsh: list[shapely.Polygon]
    swamps: list[shapely.Polygon]


def ground(rng: np.random.Generator) -> Ground:
    """Coast, streams, terrain carved by them, and the wetlands that lie in it."""
    grid = Grid(-200, -200, 10, 400, 360)
    coast = meander(smooth(np.array(COAST), 10, 60), rng, step=10, swing=9)
    land = shapely.Polygon([*coast, (4200, 4200), (-600, 4200), (-600, -500)]).buffer(0)
    frame = shapely.box(-600, -500, 4200, 4200)
    streams = {
        "Heron Brook": meander(smooth(np.array(BROOK), 8, 45), rng, step=8, swing=13),
        "North Branch": meander(smooth(np.array(BRANCH), 8, 45), rng, step=8, swing=11),
        "Town Ditch": meander(smooth(np.array(DITCH), 8, 60), rng, step=8, swing=3),
    }
    streams["North Branch"][-1] = _join(streams["Heron Brook"], streams["North Branch"][-1])
    streams["Town Ditch"][-1] = _join(streams["Heron Brook"], streams["Town Ditch"][-1])
    z, bed = _surface(grid, land, streams, rng)
    creek = tapered(streams["Heron Brook"][-95:], [9, 14, 21, 30, 46, 75]).intersection(
        land.buffer(60)
    )
    ponds = {
        "Mill Pond": blob(rng, (1130, 2205), 92, stretch=2.0),
        "Ice Pond": blob(rng, (2930, 2560), 62, stretch=1.4),
        "Turtle Pond": blob(rng, (560, 1500), 38, stretch=1.3),
    }
    away = bed[0]
    above = z - bed[1]
    for pond in ponds.values():
        z[inside(grid, pond)] = grid.at(z, np.array(pond.exterior.coords)).min()
    sound = frame.difference(land).difference(creek)
    marsh, swamps = _wetlands(grid, z, above, away, [*ponds.values(), creek, sound], rng)
    return Ground(grid, z, above, away, land, sound, creek, ponds, streams, marsh, swamps)


def _join(course: Array, end: Array) -> Array:
    return course[np.argmin(np.hypot(*(course - end).T))]


def _surface(grid: Grid, land: shapely.Geometry, streams: dict[str, Array], rng) -> tuple:
    """Knolls and ledges behind the coast, valleys along the streams."""
    coast = shapely.get_coordinates(land.exterior.intersection(shapely.box(-500, -450, 4100, 4100)))
    shore, _ = nearest(grid, coast)
    inland = np.where(inside(grid, land), shore, -shore)
    rise = 34 * (1 - np.exp(-np.clip(inland, 0, None) / 900))
    hills = 10 * noise(grid, rng, 1500) + 5 * noise(grid, rng, 600) + 1.2 * noise(grid, rng, 160)
    ledge = noise(grid, rng, 700)
    hills += 20 / (1 + np.exp(-(ledge - 1.25) * 9))
    z = np.maximum(3.5 + rise + hills * np.clip(inland / 500, 0.12, 1), 2.0 + 0.004 * inland)
    z = np.where(inland < 0, -0.02 * shore, np.minimum(z, 3.2 + 0.16 * inland))
    points, levels = [], []
    for name, course in streams.items():
        top = {"Heron Brook": 40.0, "North Branch": 38.0, "Town Ditch": 20.0}[name]
        low = {"Heron Brook": 1.0, "North Branch": 14.0, "Town Ditch": 3.0}[name]
        t = np.linspace(0, 1, len(course))
        points.append(course)
        levels.append(top + (low - top) * t**0.9)
    away, index = nearest(grid, np.vstack(points))
    bed = np.concatenate(levels)[index]
    valley = bed + 0.012 * away + (away / 95) ** 2.2 + 1.1 * noise(grid, rng, 300)
    valley = np.where(away < 14, bed - 1.5, np.maximum(valley, bed + 0.5))
    z = np.where(inland > 0, soft_min(z, valley, 5.0), z)
    return np.where(inland > 0, np.maximum(z, 0.6), z), (away, bed)


def _wetlands(grid: Grid, z: Array, above: Array, away: Array, waters: list, rng) -> tuple:
    """Level sets: low ground along streams, tidal ground by the creek, hollows elsewhere."""
    x, y = grid.mesh()
    water = shapely.union_all(waters)
    wobble = noise(grid, rng, 420) + 0.35 * noise(grid, rng, 110)
    low = above / 2.6 + away / 125 + 0.85 * wobble
    low = np.where(z < 7, 9, low)
    swamps = outlines(grid, low, -99, 0.55)
    hollow = noise(grid, rng, 520) + 0.25 * noise(grid, rng, 120) - away / 4000
    swamps += outlines(grid, np.where((z > 8) & (away > 230), hollow, -9), 1.62, 99)
    tide = z + 0.9 * noise(grid, rng, 330) + 0.4 * noise(grid, rng, 90)
    mouth = np.hypot(x - 2050, y - 1200)
    marsh = outlines(grid, np.where(mouth < 620, tide, 99), -99, 5.2)
    marsh = _dry(marsh, water, 6000)
    marsh[0] = with_island(marsh[0], rng, 0.3)
    return marsh, _dry(swamps, water, 1500)


def _dry(polygons: list, water: shapely.Geometry, least: float) -> list[shapely.Polygon]:
    """Outlines without the open water, small scraps left out, islands above 300 sq ft kept."""
    parts = shapely.get_parts(shapely.difference(np.array(polygons), water))
    out = []
    for part in parts:
        if part.geom_type != "Polygon" or part.area < least:
            continue
        holes = [h for h in part.interiors if shapely.Polygon(h).area > 300]
        out.append(shapely.Polygon(part.exterior, holes).simplify(0.8))
    return out


NAMES = ["Alder Street", "Beacon Street", "Cedar Street", "Dune Street", "Elm Street",
         "Fern Street", "Gull Street", "Harbor Avenue", "Island Avenue", "Juniper Avenue",
         "Kingfisher Avenue", "Lantern Avenue", "Marsh Avenue", "North Avenue", "Orchard Avenue",
         "Pilot Avenue", "Quarry Avenue", "Reed Avenue"]  # fmt: skip


def streets(made: Ground, rng: np.random.Generator) -> list[lt.Street]:
    """A grid that follows the coast, bent, broken by water, with some blocks left whole."""
    grid = made.grid
    bend_x, bend_y = 62 * noise(grid, rng, 1900), 62 * noise(grid, rng, 1900)
    c, s = np.cos(0.62), np.sin(0.62)

    def to_town(uv: Array) -> Array:
        xy = np.column_stack(
            [1800 + c * uv[:, 0] - s * uv[:, 1], 1500 + s * uv[:, 0] + c * uv[:, 1]]
        )
        return xy + np.column_stack([grid.at(bend_x, xy), grid.at(bend_y, xy)])

    wet = shapely.union_all([*made.marsh, *made.swamps, *made.ponds.values(), made.creek])
    shore = shapely.union_all([made.sound, made.creek]).buffer(85)
    brooks = shapely.union_all([shapely.LineString(v) for v in made.streams.values()])
    blocked = shapely.union_all([wet.buffer(16), shore, brooks.buffer(26)])
    wide = shapely.union_all([wet.buffer(-32).buffer(50), shore])
    pieces: list[lt.Street] = []
    rows = np.arange(-1500, 2400, 335.0) + rng.normal(0, 14, 12)
    cross = np.arange(-2300, 2500, 640.0) + rng.normal(0, 60, 8)
    t = np.arange(-2600, 2600, 20.0)
    for k, v in enumerate(rows):
        line = to_town(np.column_stack([t, np.full_like(t, v)]))
        pieces += _open(line, f"{NAMES[k % 7]}", wide if k in (4, 7) else blocked, 24)
    for k, u in enumerate(cross):
        line = to_town(np.column_stack([np.full_like(t, u), t]))
        pieces += _open(line, NAMES[7 + k % 11], wide if k == 3 else blocked, 26)
    return [p for p in pieces if p.line.length > 200]


def _open(line: Array, name: str, blocked: shapely.Geometry, half: float) -> list[lt.Street]:
    """The parts of a street that nothing blocks."""
    parts = shapely.get_parts(shapely.LineString(line).difference(blocked))
    return [lt.Street(name, shapely.get_coordinates(p.simplify(0.5)), half) for p in parts]
