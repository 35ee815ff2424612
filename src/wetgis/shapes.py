"""Arrays of geometries made fit for measuring: what the geometry functions do at their door."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import shapely

from wetgis.rings import outlines
from wetgis.workers import in_threads

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Bools = NDArray[np.bool_]
    Floats = NDArray[np.float64]
    Geometries = NDArray[np.object_]
    Ints = NDArray[np.int64]

__all__ = [
    "areal",
    "have_overlaps",
    "mend",
    "normal_order",
    "of_dimension",
    "order_of",
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

    By box and number of vertices and, where these are the same, by normalised WKB: what a union
    gives in its last bits depends on the order of its input, and the same input must give the
    same numbers.
    """
    return order_of(
        shapely.bounds(geometries),
        shapely.get_num_coordinates(geometries),
        lambda tied: geometries[tied],
    )


def order_of(boxes: Floats, vertices: Ints, take: Callable[[Ints], Geometries]) -> Ints:
    """`normal_order` of geometries of which only those that look alike are asked for."""
    keys = np.column_stack([boxes, vertices])
    order = np.lexsort(keys.T[::-1])
    ranked = keys[order]
    same = ((ranked[1:] == ranked[:-1]) | (np.isnan(ranked[1:]) & np.isnan(ranked[:-1]))).all(1)
    if not same.any():
        return order
    tied = np.flatnonzero(np.r_[same, False] | np.r_[False, same])
    run = np.cumsum(np.r_[True, ~same])[tied]
    codes: NDArray[Any] = shapely.to_wkb(shapely.normalize(take(order[tied])))
    place = sorted(range(len(tied)), key=lambda i: (run[i], codes[i] or b""))
    order[tied] = order[tied[place]]
    return order


def have_overlaps(geometries: Geometries) -> bool:
    """Whether any two of these valid polygons share ground (more than noise).

    Rings run as the reader leaves them, the ground on their left. In a map whose neighbours share
    their edges to the bit, an edge has one partner that runs the other way. Two that run the same
    way have ground in common; where an edge has no partner, the polygons that it runs through are
    held against its own. Other rings may be taken for an overlap where there is none.
    """
    polygons, owner = areal(geometries)
    if len(polygons) < 2:
        return False
    rings = outlines(polygons)
    inner = np.ones(len(rings.xy), bool)
    inner[rings.offsets[1:] - 1] = False
    start = np.flatnonzero(inner)
    ring = rings.of_vertices()[start]
    key, forward = _edge_keys(rings.xy, start)
    order = np.argsort(key)
    ranked, along = key[order], forward[order]
    same = ranked[1:] == ranked[:-1]
    if (same[1:] & same[:-1]).any() or (same & (along[1:] == along[:-1])).any():
        return True
    alone = order[~(np.r_[same, False] | np.r_[False, same])]
    lines = shapely.linestrings(
        np.stack([rings.xy[start[alone]], rings.xy[start[alone] + 1]], axis=1)
    )
    own = rings.owner[ring[alone]]
    e, p = shapely.STRtree(polygons).query(lines, predicate="intersects")
    e, p = (k[owner[own[e]] != owner[p]] for k in (e, p))
    through = shapely.relate_pattern(lines[e], polygons[p], "T********")
    pairs = np.unique(np.column_stack([own[e[through]], p[through]]), axis=0)
    shared = shapely.area(shapely.intersection(polygons[pairs[:, 0]], polygons[pairs[:, 1]]))
    return bool((shared > 1e-6).any())


def _edge_keys(xy: Floats, start: Ints) -> tuple[NDArray[Any], Bools]:
    """A number for each edge, the same in both directions, and in which of them it runs."""
    bits = np.ascontiguousarray(xy).view(np.uint64)
    ends = bits[:, 0] * np.uint64(0x9E3779B97F4A7C15) + bits[:, 1] * np.uint64(0xC2B2AE3D27D4EB4F)
    one, two = ends[start], ends[start + 1]
    return one ^ two, one < two
