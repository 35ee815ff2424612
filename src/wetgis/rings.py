"""The rings and lines that geometries are made of, with as few new objects as can be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import shapely

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]
    Geometries = NDArray[np.object_]

__all__ = ["Rings", "line_parts", "outlines"]

POINT, LINE, RING, POLYGON = 0, 1, 2, 3


@dataclass(frozen=True)
class Rings:
    """The rings of polygons as one array of vertices.

    ``offsets``: where each ring begins in ``xy``, n + 1. ``shell``: whether it is one, or a
    hole. ``owner``: the geometry of each ring, ascending.
    """

    xy: Floats
    offsets: Ints
    shell: Bools
    owner: Ints

    def of_vertices(self) -> Ints:
        """The ring of each vertex."""
        return np.repeat(np.arange(len(self.owner)), np.diff(self.offsets))


def outlines(geometries: Geometries) -> Rings:
    """The rings of all polygons, in parts and collections too."""
    polygons, owner = _simple(geometries)
    areal = shapely.get_type_id(polygons) == POLYGON
    rings, at, shell = _rings(polygons[areal])
    counts = shapely.get_num_coordinates(rings)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return Rings(shapely.get_coordinates(rings), offsets, shell, owner[areal][at])


def line_parts(geometries: Geometries) -> tuple[Geometries, Ints]:
    """Lines whose vertices are all boundaries and lines, and the geometry of each, ascending.

    A point becomes a line of no length. A polygon without holes stands for its ring.
    """
    parts, owner = _simple(geometries)
    kind = shapely.get_type_id(parts)
    areal = kind == POLYGON
    rings, at, _ = _rings(parts[areal])
    lines = np.concatenate([parts[~areal], rings])
    owner = np.concatenate([owner[~areal], owner[areal][at]]).astype(np.int64)
    order = np.argsort(owner, kind="stable")
    lines, owner = lines[order], owner[order]
    single = shapely.get_type_id(lines) == POINT
    lines[single] = shapely.linestrings(
        np.repeat(shapely.get_coordinates(lines[single]), 2, axis=0).reshape(-1, 2, 2)
    )
    return lines, owner


def _simple(geometries: Geometries) -> tuple[Geometries, Ints]:
    """Points, lines and polygons; only what has parts is taken apart."""
    parts = np.asarray(geometries, dtype=object)
    index = np.arange(len(parts))
    kept = ~(shapely.is_missing(parts) | shapely.is_empty(parts))
    parts, index = parts[kept], index[kept]
    while (shapely.get_type_id(parts) > POLYGON).any():
        parts, of = shapely.get_parts(parts, return_index=True)
        kept = ~shapely.is_empty(parts)
        parts, index = parts[kept], index[of][kept]
    return parts, index


def _rings(polygons: Geometries) -> tuple[Geometries, Ints, Bools]:
    """Rings, the polygon of each, whether it is a shell; a polygon without holes is its ring."""
    plain = shapely.get_num_interior_rings(polygons) == 0
    if plain.all():
        return polygons, np.arange(len(polygons)), np.ones(len(polygons), bool)
    rings, of = shapely.get_rings(polygons[~plain], return_index=True)
    shell = np.r_[True, of[1:] != of[:-1]]
    at = np.concatenate([np.flatnonzero(plain), np.flatnonzero(~plain)[of]])
    order = np.argsort(at, kind="stable")
    return (
        np.concatenate([polygons[plain], rings])[order],
        at[order],
        np.concatenate([np.ones(int(plain.sum()), bool), shell])[order],
    )
