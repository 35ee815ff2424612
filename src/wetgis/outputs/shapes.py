"""Geometries as short lists of whole numbers, for a page or a picture.

A point of the grid is ``origin + step * number``, in feet. Each ring or line is one list: its first
point, then differences. A geometry is ``[dimension, list, list, ...]``, or None where it is empty.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

__all__ = ["Geometries", "Grid", "as_multi", "encode", "simple_parts", "without_collections"]

Geometries = NDArray[np.object_]


@dataclass(frozen=True)
class Grid:
    """Where the numbers of a page lie on the ground."""

    x: float  # feet
    y: float
    step: float  # feet
    per_unit: float = 1.0  # feet in one unit of the coordinates

    def as_json(self) -> dict[str, float]:
        """Plain JSON."""
        return {"x": self.x, "y": self.y, "step": self.step}


def encode(geoms: Geometries, grid: Grid, tolerance_ft: float = 0.0) -> list[Any]:
    """Geometries on a grid.

    Parameters
    ----------
    geoms : array of Geometry
        Any kinds; None and empty ones give None.
    grid : Grid
        The grid.
    tolerance_ft : float
        Vertices nearer than this to the line without them are left out first.

    Returns
    -------
    list
        One entry a geometry.

    Examples
    --------
    >>> encode(np.array([shapely.box(0, 0, 2, 1)]), Grid(0, 0, 1.0))
    [[2, [2, 0, 0, 1, -2, 0, 0, -1]]]
    """
    if tolerance_ft > 0:
        geoms = shapely.simplify(geoms, tolerance_ft / grid.per_unit)
    parts, owner = simple_parts(geoms)
    dimension = shapely.get_dimensions(parts)
    made: list[Any] = [None] * len(geoms)
    for d in (2, 1, 0):
        chosen = np.flatnonzero((dimension == d) & ~shapely.is_empty(parts))
        if len(chosen) == 0:
            continue
        pieces, of = parts[chosen], owner[chosen]
        if d == 2:
            pieces, ring_of = shapely.get_rings(pieces, return_index=True)
            of = of[ring_of]
        for index, numbers in zip(of, _numbers(pieces, grid, closed=d == 2), strict=True):
            if made[index] is None:
                made[index] = [d]
            if made[index][0] == d:  # of a mixed collection the largest dimension is drawn
                made[index].append(numbers)
    return made


def simple_parts(geoms: Geometries) -> tuple[Geometries, NDArray[np.int64]]:
    """Points, lines and polygons that geometries are made of, and the place of each one's owner."""
    parts, owner = shapely.get_parts(geoms, return_index=True)
    while np.isin(shapely.get_type_id(parts), (4, 5, 6, 7)).any():  # collections in collections
        parts, inner = shapely.get_parts(parts, return_index=True)
        owner = owner[inner]
    return parts, owner


def without_collections(geoms: Geometries) -> Geometries:
    """Geometries in which a collection is reduced to its parts of the largest dimension.

    Examples
    --------
    >>> mixed = shapely.GeometryCollection([shapely.box(0, 0, 1, 1), shapely.Point(5, 5)])
    >>> [g.geom_type for g in without_collections(np.array([mixed, shapely.Point(1, 1)]))]
    ['MultiPolygon', 'Point']
    """
    geoms = geoms.copy()
    of = np.flatnonzero(shapely.get_type_id(geoms) == 7)
    parts, owner = simple_parts(geoms[of])
    dimension = shapely.get_dimensions(parts)
    largest = np.full(len(of), -1)
    np.maximum.at(largest, owner, dimension)
    geoms[of] = None
    makers = (shapely.multipoints, shapely.multilinestrings, shapely.multipolygons)
    for d, make in enumerate(makers):
        chosen = (dimension == d) & (largest[owner] == d)
        places, group = np.unique(owner[chosen], return_inverse=True)
        if len(places):
            geoms[of[places]] = make(parts[chosen], indices=group)
    return geoms


def as_multi(geoms: Geometries) -> Geometries:
    """Geometries in which a single point, line or area is one of several.

    Examples
    --------
    >>> [g.geom_type for g in as_multi(np.array([shapely.Point(1, 1), shapely.MultiPoint()]))]
    ['MultiPoint', 'MultiPoint']
    """
    geoms = geoms.copy()
    makers = {0: shapely.multipoints, 1: shapely.multilinestrings, 3: shapely.multipolygons}
    kinds = shapely.get_type_id(geoms)
    for kind, make in makers.items():
        chosen = np.flatnonzero(kinds == kind)
        if len(chosen):
            geoms[chosen] = make(geoms[chosen], indices=np.arange(len(chosen)))
    return geoms


def _numbers(lines: Geometries, grid: Grid, *, closed: bool) -> list[list[int]]:
    """A list of whole numbers a line: the first point, then differences."""
    xy, of = shapely.get_coordinates(lines, return_index=True)
    xy = xy * grid.per_unit - (grid.x, grid.y)
    q = np.rint(xy / grid.step).astype(np.int64)
    first = np.ones(len(q), dtype=bool)
    first[1:] = of[1:] != of[:-1]
    keep = first.copy()
    keep[1:] |= (q[1:] != q[:-1]).any(axis=1)
    if closed:  # the page closes rings itself
        last = np.ones(len(q), dtype=bool)
        last[:-1] = first[1:]
        keep &= ~last | first
    q, of, first = q[keep], of[keep], first[keep]
    difference = q.copy()
    difference[1:] -= q[:-1]
    difference[first] = q[first]
    flat = difference.ravel().tolist()
    ends = np.append(np.flatnonzero(first), len(q))
    return [flat[2 * a : 2 * b] for a, b in pairwise(ends.tolist())]
