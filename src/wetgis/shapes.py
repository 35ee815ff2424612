"""Arrays of geometries made fit for measuring: what the geometry functions do at their door."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import shapely

from wetgis.segments import in_threads

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Geometries = NDArray[np.object_]
    Ints = NDArray[np.int64]

__all__ = [
    "areal",
    "have_overlaps",
    "mend",
    "normal_order",
    "of_dimension",
    "union_groups",
    "usable",
]


def mend(geometries: Geometries) -> Geometries:
    """2-D, valid and finite geometries; None where there is nothing to measure.

    Collections become flat, each foot in them once. Repair keeps the ground that the rings enclose
    (``structure``) and drops what has collapsed to a line. A geometry with a NaN or infinite
    coordinate is None.
    """
    out: Geometries = shapely.force_2d(np.asarray(geometries, dtype=object))
    xy, of = shapely.get_coordinates(out, return_index=True)
    wrong = np.unique(of[~np.isfinite(xy).all(axis=1)])
    out[wrong] = None
    out[shapely.is_empty(out)] = None
    invalid = ~shapely.is_valid(out) & ~shapely.is_missing(out)
    if invalid.any():
        out[invalid] = shapely.make_valid(out[invalid], method="structure", keep_collapsed=False)
        out[shapely.is_empty(out)] = None
    for k in np.flatnonzero(shapely.get_type_id(out) == 7):
        # parts may be collections themselves, and polygons among them may overlap
        out[k] = shapely.unary_union(out[k])
    return out


def usable(geometries: Geometries) -> tuple[Geometries, Ints]:
    """The geometries that can be measured, mended, and their positions."""
    mended = mend(geometries)
    index = np.flatnonzero(~shapely.is_missing(mended))
    return mended[index], index


def areal(geometries: Geometries) -> tuple[Geometries, Ints]:
    """The polygons among parts and collections, and the position of each one's geometry."""
    return of_dimension(geometries, 2)


def of_dimension(geometries: Geometries, dimension: int) -> tuple[Geometries, Ints]:
    """The simple parts of one dimension (2, 1, 0), and the position of each one's geometry."""
    index = np.arange(len(geometries))
    parts = np.asarray(geometries, dtype=object)
    while (shapely.get_type_id(parts) > 3).any():
        parts, of = shapely.get_parts(parts, return_index=True)
        index = index[of]
    keep = (shapely.get_dimensions(parts) == dimension) & ~shapely.is_empty(parts)
    return parts[keep], index[keep]


def union_groups(
    geometries: Geometries, labels: Ints, *, threads: int = 2
) -> tuple[Ints, Geometries]:
    """Labels in order and the union of each label's geometries; one alone passes through.

    The members of a label are united in the order in which they stand.
    """
    order = np.argsort(labels, kind="stable")
    found, start, count = np.unique(labels[order], return_index=True, return_counts=True)
    out = geometries[order[start]].copy() if len(found) else np.empty(0, object)
    # labels of like counts together: the rows of an array are padded with None
    many = np.flatnonzero(count > 1)
    many = many[np.argsort(count[many], kind="stable")]

    def unite(s: int, e: int) -> Geometries:
        chosen = many[s:e]
        padded = np.full((len(chosen), int(count[chosen].max())), None, dtype=object)
        for row, k in enumerate(chosen):
            padded[row, : count[k]] = geometries[order[start[k] : start[k] + count[k]]]
        united: Geometries = shapely.union_all(padded, axis=1)
        return united

    parts = in_threads(unite, len(many), chunk=8, threads=threads)
    if parts:
        out[many] = np.concatenate(parts)
    return found, out


def normal_order(geometries: Geometries) -> Ints:
    """An order of geometries that does not depend on the order in which they came.

    By their normalised WKB; what a union gives in its last bits depends on the order of its
    input, and the same input must give the same numbers.
    """
    keys: NDArray[Any] = shapely.to_wkb(shapely.normalize(geometries))
    return np.array(sorted(range(len(keys)), key=lambda i: keys[i] or b""), dtype=np.int64)


def have_overlaps(geometries: Geometries) -> bool:
    """Whether any two of these valid polygons share ground (more than noise).

    In a map whose neighbours share their edges to the bit, ground is covered twice only where an
    edge has no partner that runs the other way. So only polygons with such an edge are held
    against the others.
    """
    polygons, owner = areal(geometries)
    rings, of_ring = shapely.get_rings(polygons, return_index=True)
    xy, of_xy = shapely.get_coordinates(rings, return_index=True)
    start = np.flatnonzero(of_xy[1:] == of_xy[:-1])
    bits = xy.view(np.uint64)
    one, two = (
        bits[i, 0] * np.uint64(0x9E3779B97F4A7C15) + bits[i, 1] * np.uint64(0xC2B2AE3D27D4EB4F)
        for i in (start, start + 1)
    )
    with np.errstate(over="ignore"):
        key = one ^ two  # the same for both directions
    order = np.argsort(key, kind="stable")
    same = key[order][1:] == key[order][:-1]
    paired = np.zeros(len(key), bool)
    paired[order[1:][same]] = True
    paired[order[:-1][same]] = True
    suspects = np.unique(of_ring[of_xy[start[~paired]]])
    tree = shapely.STRtree(polygons)
    s, p = tree.query(polygons[suspects], predicate="intersects")
    apart = owner[suspects[s]] != owner[p]
    s, p = s[apart], p[apart]
    shared = shapely.area(shapely.intersection(polygons[suspects[s]], polygons[p]))
    return bool((shared > 1e-6).any()) or _twice(key[order], same)


def _twice(keys: Ints, same: NDArray[np.bool_]) -> bool:
    """An edge that stands three times or more: a polygon is drawn over others."""
    return bool((same[1:] & same[:-1]).any())
