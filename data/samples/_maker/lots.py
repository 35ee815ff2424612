"""Streets, blocks, lots and houses.

Lots are the parts of a block nearest to their stretch of frontage, so that side lines stand
square on the street and rear lines meet half way, as a subdivider draws them.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import shapely

from .fields import Array
from .shapes import placed, resample


@dataclass
class Street:
    """A street's centreline, its name, and half of its right of way."""

    name: str
    points: Array
    half: float = 25.0
    dead_end: bool = False

    @property
    def line(self) -> shapely.LineString:
        return shapely.LineString(self.points)


@dataclass
class Lot:
    """A lot: what it covers, the street it fronts on, and which way that street runs."""

    shape: shapely.Geometry
    street: str
    front: tuple[float, float]
    along: float
    use: str = "house"
    tags: set[str] = field(default_factory=set)


def right_of_way(streets: list[Street], corner: float) -> shapely.Geometry:
    """All rights of way with rounded corners, and a bulb at each dead end."""
    strips = [s.line.buffer(s.half, quad_segs=8, cap_style="flat") for s in streets]
    bulbs = [shapely.Point(s.points[-1]).buffer(55, quad_segs=10) for s in streets if s.dead_end]
    whole = shapely.union_all([*strips, *bulbs])
    return whole.buffer(corner, quad_segs=6).buffer(-corner, quad_segs=6).simplify(0.3)


def _frontages(row: shapely.Geometry, rng: np.random.Generator, wide: tuple[float, float]) -> tuple:
    """Points along the rims of the right of way, and the stretch (future lot) of each."""
    points, stretch = [], []
    number = 0
    for part in shapely.get_parts(row):
        for ring in (part.exterior, *part.interiors):
            stops = [0.0]
            while stops[-1] < ring.length:
                stops.append(stops[-1] + rng.uniform(*wide))
            stops = np.array(stops) * ring.length / stops[-1]
            for a, b in pairwise(stops):
                n = max(3, int((b - a) / 7))
                at = a + (np.arange(n) + 0.5) * (b - a) / n
                points.append(shapely.get_coordinates(shapely.line_interpolate_point(ring, at)))
                stretch.append(np.full(n, number))
                number += 1
    return np.vstack(points), np.concatenate(stretch)


def cut_lots(
    streets: list[Street],
    land: shapely.Geometry,
    rng: np.random.Generator,
    *,
    wide: tuple[float, float],
    deep: float,
    corner: float = 18,
) -> tuple[list[Lot], list[shapely.Polygon], shapely.Geometry]:
    """Lots along streets, the land behind them, and the right of way."""
    row = right_of_way(streets, corner)
    points, stretch = _frontages(row, rng, wide)
    cells = shapely.voronoi_polygons(
        shapely.MultiPoint(points), extend_to=land.envelope, ordered=True
    )
    cells = np.array(shapely.get_parts(cells))
    strip = land.intersection(row.buffer(deep, quad_segs=12)).difference(row)
    pieces = [
        shapely.union_all(cells[stretch == k]).intersection(strip) for k in range(stretch.max() + 1)
    ]
    rear = shapely.get_parts(land.difference(row.buffer(deep, quad_segs=12)))
    rear = [p for p in rear if p.area > 25_000]
    made, kept = _simplified(pieces, rear, deep)
    lots = [
        _lot(shape, streets, points[stretch == k])
        for k, shape in made
        if shape.area > 0.35 * wide[0] * deep * 0.6
    ]
    return lots, kept, row


def _simplified(pieces: list, rear: list, deep: float) -> tuple[list, list]:
    """Straight side and rear lines; frontages and shores stay curved."""
    numbered = [(k, part) for k, piece in enumerate(pieces) for part in _largest(piece)]
    everything = np.array([p for _, p in numbered] + rear)
    simple = shapely.coverage_simplify(everything, deep / 22, simplify_boundary=False)
    # the outer lines keep a vertex a foot or so, not one every inch
    simple = shapely.coverage_simplify(simple, 1.0, simplify_boundary=True)
    lots = [(k, p) for (k, _), p in zip(numbered, simple, strict=False) if p.is_valid]
    return lots, [p for p in simple[len(numbered) :] if p.is_valid]


def _largest(piece: shapely.Geometry) -> list[shapely.Polygon]:
    parts = [p for p in shapely.get_parts(piece) if p.geom_type == "Polygon"]
    return [max(parts, key=lambda p: p.area)] if parts else []


def _lot(shape: shapely.Polygon, streets: list[Street], front: Array) -> Lot:
    middle = front[len(front) // 2]
    spot = shapely.Point(middle)
    street = min(streets, key=lambda s: s.line.distance(spot))
    at = street.line.project(spot)
    a, b = (np.array(street.line.interpolate(at + d).coords[0]) for d in (-5, 5))
    return Lot(shape, street.name, (middle[0], middle[1]), float(np.arctan2(*(b - a)[::-1])))


def halves(
    shape: shapely.Geometry, at: tuple[float, float], direction: float
) -> tuple[shapely.Geometry, shapely.Geometry]:
    """A shape cut by a straight line through a point: what lies left of it, and right."""
    c, s = np.cos(direction), np.sin(direction)
    far = 5000
    p = np.array(at)
    along, left = np.array([c, s]) * far, np.array([-s, c]) * far
    half = shapely.Polygon([p - along, p + along, p + along + left, p - along + left])
    return shape.intersection(half), shape.difference(half)


def flag_split(lot: Lot, *, share: float, pole: float) -> tuple[Lot, Lot] | None:
    """A deep lot made into a front lot and a flag lot behind it with its own way out."""
    front, centre = np.array(lot.front), np.array(lot.shape.centroid.coords[0])
    inward = centre - front
    depth = 2 * np.hypot(*inward)
    inward /= np.hypot(*inward)
    angle = float(np.arctan2(inward[1], inward[0]))
    cut = front + inward * depth * share
    rear, near = halves(lot.shape, tuple(cut), angle + np.pi / 2)
    if rear.distance(shapely.Point(front)) < near.distance(shapely.Point(front)):
        rear, near = near, rear
    across = np.array([-inward[1], inward[0]])
    reach = (shapely.get_coordinates(near) - front) @ across
    left, right = halves(near, tuple(front + across * (reach.max() - pole)), angle)
    flag, front_lot = rear.union(left), right
    if flag.geom_type != "Polygon" or front_lot.geom_type != "Polygon" or left.area < pole * 40:
        return None
    made = Lot(flag, lot.street, lot.front, lot.along, tags={"flag"})
    return Lot(front_lot, lot.street, lot.front, lot.along), made


HOUSES = (
    [(-22, -14), (22, -14), (22, 14), (-22, 14)],
    [(-24, -13), (10, -13), (10, -22), (26, -22), (26, 13), (-24, 13)],
    [(-26, -12), (-8, -12), (-8, -19), (8, -19), (8, -12), (26, -12), (26, 12), (-26, 12)],
    [(-18, -18), (18, -18), (18, 10), (30, 10), (30, 24), (4, 24), (4, 16), (-18, 16)],
)


def house(lot: Lot, rng: np.random.Generator, *, setback: float) -> shapely.Polygon | None:
    """A house on a lot, its front along the street; None where none fits."""
    front = np.array(lot.front)
    inward = np.array(lot.shape.centroid.coords[0]) - front
    inward /= max(np.hypot(*inward), 1e-9)
    corners = np.array(HOUSES[rng.integers(len(HOUSES))]) * rng.uniform(0.85, 1.25)
    if rng.random() < 0.5:
        corners = corners * [-1, 1]
    turn = lot.along + (np.pi if rng.random() < 0.5 else 0) + rng.normal(0, 0.03)
    room = lot.shape.buffer(-7)
    for more in (0, 10, 22, 40, 65):
        spot = front + inward * (setback + more + 18)
        shape = placed(corners, spot, turn)
        if room.contains(shape):
            return shape
    return None


def least_cost(
    cost: Array, slope: tuple[Array, float], start: tuple[int, int], goal: tuple[int, int]
) -> list[tuple[int, int]]:
    """Cheapest way over a grid; climbing costs with the square of the grade."""
    z, cell = slope
    best = {start: 0.0}
    came: dict = {}
    heap = [(0.0, start)]
    steps = [(a, b) for a in (-2, -1, 0, 1, 2) for b in (-2, -1, 0, 1, 2) if np.gcd(a, b) == 1]
    while heap:
        so_far, here = heapq.heappop(heap)
        if here == goal:
            break
        if so_far > best[here]:
            continue
        for a, b in steps:
            there = (here[0] + a, here[1] + b)
            if not (0 <= there[0] < z.shape[0] and 0 <= there[1] < z.shape[1]):
                continue
            run = cell * float(np.hypot(a, b))
            grade = abs(z[there] - z[here]) / run
            price = so_far + run * (1 + (grade / 0.05) ** 2) * (cost[there] + cost[here]) / 2
            if price < best.get(there, np.inf):
                best[there] = price
                came[there] = here
                heapq.heappush(heap, (price, there))
    path = [goal]
    while path[-1] != start:
        path.append(came[path[-1]])
    return path[::-1]


def driveway(front: Array, door: Array, rng: np.random.Generator, half: float) -> shapely.Polygon:
    """A drive from the street to a door, with a bend."""
    bend = (front + door) / 2 + rng.normal(0, 6, 2)
    t = np.linspace(0, 1, 12)[:, None]
    curve = (1 - t) ** 2 * front + 2 * t * (1 - t) * bend + t**2 * door
    return shapely.LineString(resample(curve, 8)).buffer(half, cap_style="flat", quad_segs=4)
