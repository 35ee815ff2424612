"""Who meets whom: pairs of a subject and a feature within a distance, with exact numbers.

A feature here is a *group*: the records of one id and, for wetlands, records that touch. It is
dissolved once, cut into cells once, and every number of a pair is summed over those pieces, so
that a floodplain of 50,000 vertices costs a parcel no more than the piece beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import shapely

from wetgis.cells import CELL_FT, CellGrid, Subdivided, cut
from wetgis.schema import EPS_FT, SLIVER_FT, SNAP_FT
from wetgis.segments import Edges, edges
from wetgis.shapes import normal_order, of_dimension, union_groups
from wetgis.workers import in_threads

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]
    Geometries = NDArray[np.object_]

__all__ = [
    "Encounters",
    "Groups",
    "boundary_inside",
    "components",
    "encounters",
    "names_of",
    "sizes_of",
    "slivers",
]


@dataclass(frozen=True)
class Groups:
    """Features that count as one, dissolved.

    ``geometries``, ``ids``, ``whole_sqft``, ``whole_boundary_ft``, ``first`` (a record of each)
    are by group; ``of`` is the group of each record.
    """

    geometries: Geometries
    ids: NDArray[np.object_]
    whole_sqft: Floats
    whole_boundary_ft: Floats
    first: Ints
    of: Ints

    @classmethod
    def by_id(
        cls,
        geometries: Geometries,
        ids: NDArray[np.object_],
        scale: float,
        *,
        touching: bool = False,
    ) -> Groups:
        """Records of one id and, with ``touching``, those within 0.05 ft of each other."""
        _, labels = np.unique(ids.astype(str), return_inverse=True)
        if touching and len(geometries):
            tree = shapely.STRtree(geometries)
            left, right = tree.query(geometries, predicate="dwithin", distance=SNAP_FT / scale)
            labels = components(labels, left, right)
        return cls._made(geometries, ids, labels.astype(np.int64), scale)

    @classmethod
    def _made(
        cls, geometries: Geometries, ids: NDArray[np.object_], labels: Ints, scale: float
    ) -> Groups:
        order = normal_order(geometries)
        found, united = union_groups(geometries[order], labels[order])
        of = np.searchsorted(found, labels).astype(np.int64)
        names, first = names_of(ids, of, np.argsort(order))
        return cls(united, names, *sizes_of(united, scale), first, of)


def names_of(ids: NDArray[np.object_], of: Ints, rank: Ints) -> tuple[NDArray[np.object_], Ints]:
    """The name of each group and the record that speaks for it, whatever the order of the rows.

    ``of``: the group of each record; ``rank``: its place in the normal order.
    """
    if not len(of):
        return np.empty(0, object), np.zeros(0, np.int64)
    members = np.split(np.argsort(of, kind="stable"), np.cumsum(np.bincount(of))[:-1])
    names = ["+".join(sorted({str(i) for i in ids[m]})) for m in members]
    first = np.full(len(members), len(ids), np.int64)
    # a record of the smallest id
    by_id = np.lexsort((rank, ids.astype(str)))
    first[of[by_id[::-1]]] = by_id[::-1]
    return np.array(names, dtype=object), first


def sizes_of(united: Geometries, scale: float) -> tuple[Floats, Floats]:
    """Square feet of each group, and feet of its boundary."""
    areal = shapely.get_dimensions(united) == 2
    return shapely.area(united) * scale**2, np.where(areal, shapely.length(united), 0.0) * scale


def components(labels: Ints, left: Ints, right: Ints) -> Ints:
    """Labels joined wherever a pair of records connects them."""
    a, b = labels[left], labels[right]
    root = np.arange(labels.max() + 1)
    while True:
        low = np.minimum(root[a], root[b])
        before = root.copy()
        np.minimum.at(root, root[a], low)
        np.minimum.at(root, root[b], low)
        root = root[root]
        if (root == before).all():
            return root[labels]


@dataclass(frozen=True)
class Encounters:
    """Pairs, sorted by subject and group. Lengths and areas in feet, ``shortest`` in the CRS."""

    subject: Ints
    group: Ints
    distance_ft: Floats
    area_sqft: Floats
    length_ft: Floats
    shortest: Geometries


def encounters(own: Geometries, groups: Groups, within: float, scale: float) -> Encounters:
    """All pairs within a distance (CRS units, inclusive); ``own`` may hold None."""
    boxes = shapely.bounds(own)
    spread = boxes + np.array([-within, -within, within, within]) * 1.001
    grid = CellGrid.over(spread, CELL_FT / scale)
    pieces, of = _pieces(groups.geometries, grid)
    if not len(pieces) or not np.isfinite(boxes).any():
        return _none()
    parts = Subdivided(own, grid)
    tree = shapely.STRtree(pieces)
    reach = within + EPS_FT / scale
    s, p = tree.query(parts.geometries, predicate="dwithin", distance=reach)
    # sums are taken in this order, whatever the tree's, which differs from window to window
    order = np.lexsort((p, s))
    s, p = s[order], p[order]
    own = parts.geometries
    distance = _in_chunks(shapely.distance, own[s], pieces[p])
    pairs, pair = np.unique(np.column_stack([parts.owners[s], of[p]]), axis=0, return_inverse=True)
    pair = pair.reshape(-1)
    least = np.full(len(pairs), np.inf)
    np.minimum.at(least, pair, distance)
    area = np.bincount(pair, _areas(parts.edges, pieces, s, p, distance), len(pairs)).astype(float)
    length = _lengths(own, pieces, np.column_stack([s, p, pair]), distance, len(pairs))
    nearest = np.empty(len(pairs), np.int64)
    order = np.lexsort((p, distance, pair))[::-1]
    nearest[pair[order]] = order
    shortest = shapely.shortest_line(own[s[nearest]], pieces[p[nearest]])
    shortest[least <= 0] = shapely.LineString()
    return Encounters(
        pairs[:, 0], pairs[:, 1], least * scale, area * scale**2, length * scale, shortest
    )


def _none() -> Encounters:
    ints, floats = np.zeros(0, np.int64), np.zeros(0)
    return Encounters(ints, ints, floats, floats, floats, np.empty(0, object))


def _pieces(geometries: Geometries, grid: CellGrid) -> tuple[Geometries, Ints]:
    """All that the groups are made of, cut into cells; points as they are."""
    surfaces, lines = cut(geometries, grid), cut(geometries, grid, dimension=1)
    points, of = of_dimension(geometries, 0)
    return (
        np.concatenate([surfaces.geometries, lines.geometries, points]),
        np.concatenate([surfaces.owners, lines.owners, of]),
    )


def _in_chunks(function: object, a: Geometries, b: Geometries) -> Floats:
    parts = in_threads(lambda s, e: function(a[s:e], b[s:e]), len(a), chunk=4096)  # type: ignore[operator]
    return np.concatenate(parts) if parts else np.zeros(0)


def _areas(a: Edges, pieces: Geometries, s: Ints, p: Ints, distance: Floats) -> Floats:
    from wetgis import kernels

    out = np.zeros(len(s))
    b = edges(pieces)
    areal = (np.diff(a.offsets)[s] > 0) & (np.diff(b.offsets)[p] > 0)
    met = np.flatnonzero((distance <= 0) & areal)
    left, right, part = s[met], p[met], np.zeros(len(met))
    in_threads(
        lambda i, j: kernels.pair_areas(
            a.rows, a.offsets, a.boxes, b.rows, b.offsets, left, right, part, i, j
        ),
        len(met), chunk=4096,
    )  # fmt: skip
    out[met] = np.where(part > 1e-7, part, 0.0)
    return out


def _lengths(
    own: Geometries, pieces: Geometries, met: Ints, distance: Floats, count: int
) -> Floats:
    """Lengths of lines inside areas, on whichever side the line is, by pair.

    ``met``: subject, piece and pair of each meeting. A line along the border of two cells lies in
    the pieces on both sides of it, so what a pair shares is united before it is measured.
    """
    one = shapely.get_dimensions(own[met[:, 0]])
    two = shapely.get_dimensions(pieces[met[:, 1]])
    met = met[(distance <= 0) & (np.minimum(one, two) == 1) & (np.maximum(one, two) == 2)]
    shared = shapely.intersection(own[met[:, 0]], pieces[met[:, 1]])
    lines, of = of_dimension(shared, 1)
    pairs, united = union_groups(lines, met[of, 2])
    out = np.zeros(count)
    out[pairs] = shapely.length(united)
    return out


def slivers(own: Geometries, groups: Groups, found: Encounters, scale: float) -> Bools:
    """Whether all of an overlap is narrower than 0.05 ft (2 x area / perimeter) in every piece.

    Such an overlap is a line drawn twice, not an encroachment.
    """
    out = np.zeros(len(found.subject), bool)
    perimeter = shapely.length(own[found.subject]) * scale + groups.whole_boundary_ft[found.group]
    # an overlap with more area than this has a wider piece somewhere
    maybe = np.flatnonzero((found.area_sqft > 0) & (found.area_sqft < SLIVER_FT / 2 * perimeter))
    overlap = shapely.intersection(own[found.subject[maybe]], groups.geometries[found.group[maybe]])
    parts, of = of_dimension(overlap, 2)
    wide = 2 * shapely.area(parts) / shapely.length(parts) * scale >= SLIVER_FT
    out[maybe] = np.bincount(of, wide, len(maybe)) == 0
    return out


def boundary_inside(own: Geometries, groups: Groups, found: Encounters, scale: float) -> Floats:
    """Feet of the group's boundary inside the subject, for pairs that overlap."""
    out = np.zeros(len(found.subject))
    met = np.flatnonzero(found.area_sqft > 0)
    if not len(met):
        return out
    subjects, place = np.unique(found.subject[met], return_inverse=True)
    grid = CellGrid.over(shapely.bounds(own[subjects]), CELL_FT / scale)
    used, at = np.unique(found.group[met], return_inverse=True)
    lines = cut(shapely.boundary(groups.geometries[used]), grid, dimension=1)
    tree = shapely.STRtree(lines.geometries)
    s, p = tree.query(own[subjects], predicate="intersects")
    order = np.lexsort((p, s))
    s, p = s[order], p[order]
    inside = shapely.length(shapely.intersection(own[subjects[s]], lines.geometries[p]))
    keys = s * len(used) + lines.owners[p]
    sums = np.bincount(keys, inside, len(subjects) * len(used)) if len(keys) else None
    if sums is not None:
        out[met] = sums[place.reshape(-1) * len(used) + at.reshape(-1)] * scale
    return out
