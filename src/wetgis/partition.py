"""The ground of one tile, divided into places: wetland, watercourse, buffer, unmapped, beyond.

Each set holds the one before it (wetland, with watercourse, with buffer), so that a subject's
areas are differences of three measured areas, and its parts add up to it by construction.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import shapely

from wetgis.buffers import TOLERANCE_FT, Audit, Zone
from wetgis.cells import CellGrid, Pieces, cut, dissolve
from wetgis.rings import outlines
from wetgis.shapes import areal, union_groups

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from shapely.geometry.base import BaseGeometry

    from wetgis.scene import Scene

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Geometries = NDArray[np.object_]

__all__ = ["Ground", "divide", "minus", "zone_in_cells"]


def zone_in_cells(zone: Zone, grid: CellGrid) -> tuple[Pieces, Audit]:
    """The zone (features included), united in each cell and audited there."""
    cut_up, owners = _zone_pieces(zone, grid)
    united = dissolve(cut_up, threads=zone.threads)
    cells, off = _deviations(zone, united, grid)
    wrong = np.unique(cells[(np.abs(off[:, :2]) > zone.tolerance).any(axis=1)])
    good = ~np.isin(cells, wrong)
    audit = Audit(
        float(-off[good, 0].min(initial=0.0)),
        float(off[good, 1].max(initial=0.0)),
        int(off[good, 2].sum()),
    )
    if not len(wrong):
        return united, audit
    parts, at = (
        [united.geometries[~np.isin(united.cells, wrong)]],
        [united.cells[~np.isin(united.cells, wrong)]],
    )
    for cell in wrong:
        chosen = cut_up.cells == cell
        made, one = zone.unite(cut_up.geometries[chosen], owners[chosen], grid.box(int(cell)))
        audit += one
        polygons, _ = areal(np.array([made], dtype=object))
        parts.append(polygons)
        at.append(np.full(len(polygons), cell))
    geometries, of = np.concatenate(parts), np.concatenate(at)
    order = np.argsort(of, kind="stable")
    return Pieces(geometries[order], of[order], np.full(len(of), -1, np.int64)), audit


def _zone_pieces(zone: Zone, grid: CellGrid) -> tuple[Pieces, Ints]:
    """The buffers cut into cells, and the feature of each piece."""
    built, owners = zone.pieces(grid.bounds)
    cut_up = cut(built, grid, threads=zone.threads)
    return cut_up, owners[cut_up.owners]


def _deviations(zone: Zone, pieces: Pieces, grid: CellGrid) -> tuple[Ints, Floats]:
    """The cell of each outline with a point inside its cell, and its worst points.

    Least and largest deviation, and at how many points: vertices and middles of chords.
    """
    rings = outlines(pieces.geometries)
    cells = pieces.cells[rings.owner]
    low = np.column_stack([grid.i0 + cells // grid.rows, grid.j0 + cells % grid.rows])
    boxes = np.hstack([low * grid.size, (low + 1) * grid.size])
    off = zone.grid.deviation_of_rings(rings, boxes, zone.radii, zone.reach, zone.threads)
    inside = off[:, 2] > 0
    return cells[inside], off[inside]


def _restrict(pieces: Pieces, region: Pieces | None) -> Pieces:
    """Pieces inside a region that is cut into the same cells; None is everywhere."""
    if region is None:
        return pieces
    order = np.argsort(region.cells, kind="stable")
    cells, united = union_groups(region.geometries[order], region.cells[order])
    place = np.searchsorted(cells, pieces.cells)
    inside = (
        (place < len(cells)) & (cells[np.minimum(place, len(cells) - 1)] == pieces.cells)
        if len(cells)
        else np.zeros(len(pieces.cells), bool)
    )
    parts, of = areal(shapely.intersection(pieces.geometries[inside], united[place[inside]]))
    at = pieces.cells[inside][of]
    return Pieces(parts, at, np.full(len(parts), -1, np.int64))


def minus(pieces: Pieces, other: Pieces) -> Pieces:
    """Pieces without others, cell by cell."""
    if not len(pieces.cells) or not len(other.cells):
        return pieces
    cells, united = union_groups(other.geometries, other.cells)
    place = np.minimum(np.searchsorted(cells, pieces.cells), len(cells) - 1)
    met = cells[place] == pieces.cells
    out = pieces.geometries.copy()
    out[met] = shapely.difference(out[met], united[place[met]])
    parts, of = areal(out)
    return Pieces(parts, pieces.cells[of], np.full(len(parts), -1, np.int64))


@dataclass(frozen=True)
class Ground:
    """The ground of a tile. ``wet`` is in ``water`` is in ``regulated``; the rest is apart."""

    grid: CellGrid
    wet: Pieces
    water: Pieces
    regulated: Pieces
    unmapped: Pieces
    limit: Pieces | None
    audit: Audit

    @cached_property
    def places(self) -> dict[str, Pieces]:
        """Pieces of each place that is a feature of the map, none overlapping another."""
        return {
            "wetland": self.wet,
            "watercourse": minus(self.water, self.wet),
            "buffer": minus(self.regulated, self.water),
            "unmapped": self.unmapped,
        }


def divide(scene: Scene, grid: CellGrid, *, threads: int = 2) -> Ground:
    """Divide the cells of a window; ``scene`` must hold all features within reach of them."""
    shapes = {
        k: scene.features[k].geometries for k in ("wetlands", "watercourses") if scene.given(k)
    }
    none = np.empty(0, object)
    limit = cut(np.array([scene.limit], dtype=object), grid) if scene.limit is not None else None
    wet = _dissolved(shapes.get("wetlands", none), grid, threads)
    both = np.concatenate([none, *shapes.values()])
    has_water = bool((shapely.get_dimensions(shapes.get("watercourses", none)) == 2).any())
    water = _dissolved(both, grid, threads) if has_water else wet
    regulated, audit = water, Audit()
    if scene.distance > 0 and len(both):
        zone = Zone(
            both, np.full(len(both), scene.distance), TOLERANCE_FT / scene.scale, threads=threads
        )
        regulated, audit = zone_in_cells(zone, grid)
    unmapped = minus(_unmapped(scene, grid, limit), regulated)
    inside = [_restrict(p, limit) for p in (wet, water, regulated)]
    return Ground(grid, inside[0], inside[1], inside[2], unmapped, limit, audit)


def _dissolved(geometries: Geometries, grid: CellGrid, threads: int) -> Pieces:
    return dissolve(cut(geometries, grid, threads=threads), threads=threads)


def _unmapped(scene: Scene, grid: CellGrid, limit: Pieces | None) -> Pieces:
    """Ground beyond the stated extent of the wetlands or the watercourses layer."""
    stated = [
        scene.extents[k]
        for k in ("wetlands", "watercourses")
        if scene.given(k) and scene.extents.get(k) is not None
    ]
    empty = Pieces(np.empty(0, object), np.zeros(0, np.int64), np.zeros(0, np.int64))
    if not stated:
        return empty
    mapped: Any = stated[0] if len(stated) == 1 else shapely.intersection_all(stated)
    cells = np.arange(grid.columns * grid.rows)
    boxes: BaseGeometry = shapely.box(*np.array([grid.box(int(c)) for c in cells]).T)
    everywhere = Pieces(np.asarray(boxes, dtype=object), cells, np.full(len(cells), -1, np.int64))
    inside = cut(np.array([mapped], dtype=object), grid)
    return _restrict(minus(everywhere, inside), limit)
