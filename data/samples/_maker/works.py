"""Proposed works on lots: where a deck, a pool, a drive, a trench would stand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import shapely
import shapely.ops

from .fields import Array
from .lots import Lot, driveway
from .shapes import blob, placed, smooth


@dataclass
class Yard:
    """A lot with its house and the directions of its yard."""

    key: str
    lot: Lot
    house: shapely.Polygon | None

    @property
    def inward(self) -> Array:
        """Unit vector from the street into the lot."""
        way = np.array(self.lot.shape.centroid.coords[0]) - np.array(self.lot.front)
        return way / np.hypot(*way)

    @property
    def middle(self) -> Array:
        """The house, or the middle of the lot without one."""
        shape = self.lot.shape if self.house is None else self.house
        return np.array(shape.centroid.coords[0])

    def spot(self, back: float, side: float) -> Array:
        """A place behind the middle (feet) and to its side."""
        inward = self.inward
        return self.middle + inward * back + np.array([-inward[1], inward[0]]) * side

    @property
    def angle(self) -> float:
        """Direction in which the street runs past."""
        return float(np.arctan2(self.inward[1], self.inward[0]) - np.pi / 2)


Maker = Callable[[Yard, np.random.Generator], shapely.Geometry]


def slab(width: float, depth: float, back: float = 24) -> Maker:
    """A rectangle square to the house: deck, patio, addition, shed."""

    def make(yard: Yard, rng: np.random.Generator) -> shapely.Geometry:
        w, d = width * rng.uniform(0.85, 1.2) / 2, depth * rng.uniform(0.85, 1.2) / 2
        notch = [(-w, -d), (w, -d), (w, d * 0.4), (w * 0.35, d * 0.4), (w * 0.35, d), (-w, d)]
        shape = placed(notch, yard.spot(back, rng.uniform(-10, 10)), yard.angle)
        return shape if yard.house is None else shape.difference(yard.house)

    return make


def patch(radius: float, back: float = 40, side: float = 18) -> Maker:
    """A rounded area: pool, planting, regrading, fill, clearing."""

    def make(yard: Yard, rng: np.random.Generator) -> shapely.Geometry:
        spot = yard.spot(rng.uniform(0.6, 1.5) * back, rng.uniform(-side, side))
        shape = blob(
            rng, tuple(spot), radius * rng.uniform(0.85, 1.2), stretch=1.5, rough=0.16, points=40
        )
        return shape if yard.house is None else shape.difference(yard.house)

    return make


def lawn(yard: Yard, rng: np.random.Generator) -> shapely.Geometry:
    """The back of the lot within a mower's width of its lines."""
    room = yard.lot.shape.buffer(-6, join_style="mitre")
    rear = shapely.Point(yard.spot(55, 0)).buffer(58, quad_segs=6)
    shape = room.intersection(rear)
    return (
        shape if yard.house is None else shape.difference(yard.house.buffer(4, join_style="mitre"))
    )


def drive(yard: Yard, rng: np.random.Generator) -> shapely.Geometry:
    """From the street to the house's side."""
    door = yard.spot(-4, rng.choice([-20, 20]))
    shape = driveway(np.array(yard.lot.front), door, rng, 5.5)
    return shape if yard.house is None else shape.difference(yard.house)


def line(back: float, swing: float = 8) -> Maker:
    """A pipe, a trench or a swale from the house to the back of the lot."""

    def make(yard: Yard, rng: np.random.Generator) -> shapely.Geometry:
        stops = [
            yard.spot(16, 5),
            yard.spot(back * 0.5, rng.normal(0, swing)),
            yard.spot(back, rng.normal(0, swing)),
        ]
        return shapely.LineString(smooth(np.array(stops), 6, 8)).simplify(0.2)

    return make


def service(yard: Yard, rng: np.random.Generator) -> shapely.Geometry:
    """A service line from the street to the house: straight legs, as dug."""
    front = np.array(yard.lot.front)
    corner = front + yard.inward * 12
    return shapely.LineString([front, corner, yard.spot(-10, 14)])


def point(back: float, side: float = 20) -> Maker:
    """A well, a septic tank, a tree."""

    def make(yard: Yard, rng: np.random.Generator) -> shapely.Geometry:
        return shapely.Point(yard.spot(back * rng.uniform(0.7, 1.4), rng.uniform(-side, side)))

    return make


def fence(yard: Yard, rng: np.random.Generator) -> shapely.Geometry:
    """Along the rear half of the lot's own line."""
    ring = yard.lot.shape.buffer(-1.0, join_style="mitre").exterior
    far = ring.project(shapely.Point(yard.spot(400, 0)))
    reach = min(70.0, ring.length / 5)
    stops = (far + np.linspace(-reach, reach, 15)) % ring.length
    return shapely.LineString(shapely.get_coordinates(shapely.line_interpolate_point(ring, stops)))


def dock(water: shapely.Geometry, reach: float = 45) -> Maker:
    """A narrow dock from the shore out into the water, with a float at its end."""

    def make(yard: Yard, rng: np.random.Generator) -> shapely.Geometry:
        near = shapely.shortest_line(yard.lot.shape, water)
        shore = np.array(near.coords[-1])
        out = shore - yard.middle
        out /= max(np.hypot(*out), 1e-9)
        turn = float(np.arctan2(out[1], out[0]))
        plan = [(-8, -2.5), (reach, -2.5), (reach, -9), (reach + 14, -9), (reach + 14, 9),
                (reach, 9), (reach, 2.5), (-8, 2.5)]  # fmt: skip
        return placed(plan, shore, turn)

    return make


def at_shore(water: shapely.Geometry, radius: float) -> Maker:
    """Dredging, or mending a culvert: astride the edge of the water nearest to the yard."""

    def make(yard: Yard, rng: np.random.Generator) -> shapely.Geometry:
        on_lot = water.intersection(yard.lot.shape)
        if on_lot.is_empty:
            return shapely.Polygon()
        spot = on_lot.representative_point()
        return blob(rng, (spot.x, spot.y), radius, stretch=1.6, rough=0.14, points=40)

    return make


def along_shore(water: shapely.Geometry, width: float = 3.0) -> Maker:
    """A wall along the bank of the lot."""

    def make(yard: Yard, rng: np.random.Generator) -> shapely.Geometry:
        bank = yard.lot.shape.buffer(-2).exterior.intersection(water.buffer(14))
        longest = max(shapely.get_parts(shapely.line_merge(bank)), key=shapely.length, default=None)
        if longest is None or longest.length < 20:
            return shapely.Polygon()
        middle = longest.length / 2
        built = shapely.ops.substring(longest, middle - min(40, middle), middle + min(40, middle))
        return built.buffer(width / 2, cap_style="flat")

    return make


@dataclass
class Places:
    """Where things are: wetlands, waters, and how far a work lies from them."""

    wet: shapely.Geometry
    water: shapely.Geometry

    def of(self, shape: shapely.Geometry) -> str:
        """``W``, ``WC``, ``B``, ``O`` or ``edge`` (none of them clearly)."""
        size = shape.area or shape.length or 1.0
        if not shapely.is_empty(shape) and shapely.intersects(shape, self.wet):
            return "W" if _size(shape.intersection(self.wet)) / size > 0.12 else "edge"
        if shapely.intersects(shape, self.water):
            return "WC" if _size(shape.intersection(self.water)) / size > 0.12 else "edge"
        away = min(shape.distance(self.wet), shape.distance(self.water))
        return "B" if away < 92 else "O" if away > 125 else "edge"


def _size(shape: shapely.Geometry) -> float:
    return shape.area or shape.length or 1.0


def find(
    make: Maker,
    where: str,
    yards: list[Yard],
    places: Places,
    rng: np.random.Generator,
    *,
    stay: bool = True,
) -> tuple[Yard, shapely.Geometry] | None:
    """The first yard, in a shuffled order, in which the work comes to lie where it is wanted."""
    tries = np.concatenate([rng.permutation(len(yards)) for _ in range(8)])
    for k in tries:
        yard = yards[k]
        shape = make(yard, rng)
        if shape.is_empty or shape.geom_type.startswith("Multi") or not shape.is_valid:
            continue
        if stay and not yard.lot.shape.buffer(0.5).contains(shape):
            continue
        if where == "any" or places.of(shape) == where:
            return yard, shape
    return None
