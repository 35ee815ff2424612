"""How far two boundaries stand apart: the largest distance, exactly, and along the line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from shapely import LineString, Point
    from shapely.geometry.base import BaseGeometry

__all__ = ["Farthest", "farthest", "profile"]

Floats = npt.NDArray[np.float64]

#: Where the search for the largest distance stops, in the geometries' unit.
TOLERANCE = 1e-6
#: Halvings of a leg before the search is given up as exact to rounding.
_ROUNDS = 60


@dataclass(frozen=True)
class Farthest:
    """The place of a boundary that is farthest from another, and the line between."""

    distance: float
    at: Point
    line: LineString


class Target:
    """The legs of a boundary, for nearest distances from many places."""

    def __init__(self, geometry: BaseGeometry) -> None:
        import shapely

        self.legs = legs_of(geometry)
        self._tree = shapely.STRtree(shapely.linestrings(self.legs))

    def nearest(self, places: Floats) -> tuple[Floats, npt.NDArray[np.intp]]:
        """Distance to the nearest leg, and which leg that is."""
        import shapely

        points = shapely.points(places)
        found = self._tree.query_nearest(points, all_matches=False, return_distance=True)
        (index, leg), distance = found
        order = np.argsort(index, kind="stable")
        return distance[order], leg[order]

    def distance(self, places: Floats, leg: npt.NDArray[np.intp]) -> Floats:
        """Distance from each place to one leg."""
        a, b = self.legs[leg, 0], self.legs[leg, 1]
        run = b - a
        length = np.sum(run**2, axis=1)
        share = np.sum((places - a) * run, axis=1) / np.where(length > 0, length, 1.0)
        foot = a + np.clip(share, 0.0, 1.0)[:, None] * run
        return np.asarray(np.hypot(*(places - foot).T))


def legs_of(geometry: BaseGeometry) -> Floats:
    """Legs of every line (of polygons: of every ring), shape (n, 2, 2)."""
    import shapely

    if shapely.get_dimensions(geometry) == 2:
        geometry = shapely.boundary(geometry)
    parts = shapely.get_parts(geometry)
    xy, owner = shapely.get_coordinates(parts, return_index=True)
    same = owner[1:] == owner[:-1]
    return np.stack([xy[:-1][same], xy[1:][same]], axis=1)


def farthest(
    source: BaseGeometry, target: BaseGeometry, *, tolerance: float = TOLERANCE
) -> Farthest:
    """The place of one boundary that is farthest from another one.

    Parameters
    ----------
    source, target : geometry
        Lines, or polygons whose boundaries are meant. The larger of both ways round is the
        Hausdorff distance, here over whole legs, not over their corners.
    tolerance : float
        In the geometries' unit.

    Returns
    -------
    Farthest

    Notes
    -----
    A leg is halved while its upper bound beats the best place found. The distance to a single
    leg of the target is convex along a leg of the source, so that it is largest at one of the
    ends: that bounds the distance to the whole target, and stops at once where two boundaries
    run side by side.

    Examples
    --------
    >>> import shapely
    >>> low = shapely.LineString([(0, 0), (10, 0)])
    >>> high = shapely.LineString([(0, 1), (5, 4), (10, 1)])
    >>> round(farthest(high, low).distance, 6), round(farthest(low, high).distance, 6)
    (4.0, 3.429972)
    """
    import shapely

    aim = Target(target)
    legs = legs_of(source)
    ends = legs.reshape(-1, 2)
    distance, nearest = aim.nearest(ends)
    best = int(np.argmax(distance))
    top, place, foot = float(distance[best]), ends[best], int(nearest[best])
    pairs = _Pairs(legs, distance.reshape(-1, 2), nearest.reshape(-1, 2))
    for _ in range(_ROUNDS):
        pairs = pairs.only(pairs.bounds(aim) > top + tolerance)
        if len(pairs.legs) == 0:
            break
        middle = pairs.legs.mean(axis=1)
        distance, nearest = aim.nearest(middle)
        best = int(np.argmax(distance))
        if distance[best] > top:
            top, place, foot = float(distance[best]), middle[best], int(nearest[best])
        pairs = pairs.halved(middle, distance, nearest)
    line = shapely.shortest_line(shapely.points(place), shapely.linestrings(aim.legs[foot]))
    return Farthest(top, shapely.points(place), line)


@dataclass(frozen=True)
class _Pairs:
    """Legs with the distance and the nearest leg of both ends."""

    legs: Floats
    distance: Floats
    nearest: npt.NDArray[np.intp]

    def only(self, keep: npt.NDArray[np.bool_]) -> _Pairs:
        return _Pairs(self.legs[keep], self.distance[keep], self.nearest[keep])

    def bounds(self, aim: Target) -> Floats:
        """No place on a leg can be farther than this."""
        length = np.hypot(*(self.legs[:, 1] - self.legs[:, 0]).T)
        walk = (self.distance.sum(axis=1) + length) / 2
        first = aim.distance(self.legs[:, 1], self.nearest[:, 0])
        second = aim.distance(self.legs[:, 0], self.nearest[:, 1])
        by_first = np.maximum(self.distance[:, 0], first)
        by_second = np.maximum(self.distance[:, 1], second)
        return np.asarray(np.minimum(walk, np.minimum(by_first, by_second)))

    def halved(self, middle: Floats, distance: Floats, nearest: Any) -> _Pairs:
        """Both halves of every leg."""
        one = (np.stack([self.legs[:, 0], middle], axis=1),
               np.stack([self.distance[:, 0], distance], axis=1),
               np.stack([self.nearest[:, 0], nearest], axis=1))  # fmt: skip
        two = (np.stack([middle, self.legs[:, 1]], axis=1),
               np.stack([distance, self.distance[:, 1]], axis=1),
               np.stack([nearest, self.nearest[:, 1]], axis=1))  # fmt: skip
        return _Pairs(*(np.concatenate(pair) for pair in zip(one, two, strict=True)))


def profile(
    source: BaseGeometry, target: BaseGeometry, *, step: float
) -> tuple[Floats, Floats, Floats]:
    """The distance to another boundary along this one.

    Parameters
    ----------
    source, target : Polygon or MultiPolygon
        Each boundary of ``source`` is walked.
    step : float
        No two places stand farther apart than this along a ring; corners are among them.

    Returns
    -------
    along, shift, places
        Distance walked (over all rings), the distance to the target's boundary (positive where
        the place lies outside the target: ``source`` reaches farther), and the places.

    Examples
    --------
    >>> import shapely
    >>> along, shift, places = profile(shapely.box(0, 0, 4, 4), shapely.box(0, 0, 3, 4), step=4)
    >>> sorted(set(shift.tolist()))
    [0.0, 1.0]
    """
    import shapely

    rings = shapely.segmentize(shapely.boundary(source), step)
    places = np.asarray(shapely.get_coordinates(rings))
    along = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(places, axis=0).T))])
    _, owner = shapely.get_coordinates(shapely.get_parts(rings), return_index=True)
    # the way from one ring to the next is not walked
    jumps = np.flatnonzero(np.diff(owner)) + 1
    for at in jumps:
        along[at:] -= along[at] - along[at - 1]
    distance, _ = Target(target).nearest(places)
    shapely.prepare(target)
    inside = shapely.intersects(target, shapely.points(places))
    return along, np.where(inside, -distance, distance) + 0.0, places
