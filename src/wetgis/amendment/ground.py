"""The ground before and after, tile by tile: totals, and the changes that follow from the map's.

A tile that no change reaches is divided once: what a cell holds depends on the features in it
alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import shapely

from wetgis.buffers import Audit
from wetgis.cells import CELL_FT, CellGrid, Pieces
from wetgis.partition import Ground, divide, minus
from wetgis.shapes import areal
from wetgis.tiles import TILE_CELLS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wetgis.scene import Scene

    Bools = NDArray[np.bool_]
    Floats = NDArray[np.float64]
    Geometries = NDArray[np.object_]

__all__ = ["MAP_PLACES", "GroundChange", "ground_change"]

MAP_PLACES = ("wetland", "watercourse", "buffer")
#: What is added up: the places, and all that they are together.
SETS = (*MAP_PLACES, "regulated")
#: More pieces than this stay as the cells have cut them.
JOINED = 2_000


@dataclass(frozen=True)
class GroundChange:
    """Areas in square feet by set, and the pieces by place and change, joined across cells."""

    before: dict[str, float]
    after: dict[str, float]
    added: dict[str, float]
    removed: dict[str, float]
    pieces: dict[tuple[str, str], Geometries]
    zones: tuple[Geometries, Geometries]
    audit: Audit


def ground_change(
    old: Scene, new: Scene, reached: Geometries, *, buffer_counts: bool
) -> GroundChange:
    """Divide the ground of two maps and compare it; ``reached`` are the features that changed."""
    old, new = replace(old, extents={}), replace(new, extents={})
    sums = {name: np.zeros(len(SETS)) for name in ("before", "after", "added", "removed")}
    found: dict[tuple[str, str], list[Geometries]] = {}
    zones: tuple[list[Geometries], list[Geometries]] = ([], [])
    audit = Audit()
    touched = set(_tiles(shapely.bounds(reached), old))
    for tile in sorted({*_map_tiles(old), *_map_tiles(new), *touched}):
        one = _divide(old, tile)
        two = _divide(new, tile) if tile in touched else one
        audit = audit + one.audit + two.audit
        a, b = _sets(one, buffer_counts), _sets(two, buffer_counts)
        sums["before"] += [_area(p) for p in a.values()]
        sums["after"] += [_area(p) for p in b.values()]
        for side, ground in zip(zones, (one, two), strict=True):
            side.append(ground.places["buffer"].geometries)
        if two is not one:
            cells = _cells(one.grid, reached, old)
            for k, name in enumerate(SETS):
                was, now = _only(a[name], cells), _only(b[name], cells)
                plus, less = minus(now, was), minus(was, now)
                sums["added"][k] += _area(plus)
                sums["removed"][k] += _area(less)
                found.setdefault((name, "added"), []).append(plus.geometries)
                found.setdefault((name, "removed"), []).append(less.geometries)
    sqft = old.scale**2
    totals = {n: dict(zip(SETS, (v * sqft).tolist(), strict=True)) for n, v in sums.items()}
    return GroundChange(
        **totals,
        pieces={key: _joined(parts) for key, parts in found.items()},
        zones=(_joined(zones[0]), _joined(zones[1])),
        audit=audit,
    )


def _spread(bounds: Floats, scene: Scene) -> Floats:
    """Boxes spread by a little more than the buffer's width."""
    margin = scene.distance * 1.01 + 1.0
    usable = bounds[np.isfinite(bounds).all(axis=1)]
    spread: Floats = usable + np.array([-margin, -margin, margin, margin])
    return spread


def _cells(grid: CellGrid, reached: Geometries, scene: Scene) -> Bools:
    """Which cells of a window a changed feature or its buffer may lie in."""
    out = np.zeros((grid.columns, grid.rows), bool)
    ranges = grid.ranges(_spread(shapely.bounds(reached), scene))
    low = np.maximum(ranges[:, [0, 2]], 0)
    for (i0, j0), (_, i1, _, j1) in zip(low.tolist(), ranges.tolist(), strict=True):
        if i1 >= 0 and j1 >= 0:
            out[i0 : i1 + 1, j0 : j1 + 1] = True
    return out.reshape(-1)


def _only(pieces: Pieces, cells: Bools) -> Pieces:
    chosen = cells[pieces.cells]
    return Pieces(pieces.geometries[chosen], pieces.cells[chosen], pieces.owners[chosen])


def _tiles(bounds: Floats, scene: Scene) -> Iterator[tuple[int, int]]:
    """Tiles under boxes that are spread by the buffer's width."""
    size = TILE_CELLS * CELL_FT / scene.scale
    spread = _spread(bounds, scene)
    for i0, j0, i1, j1 in np.unique(np.floor(spread / size).astype(int), axis=0).tolist():
        for i in range(i0, i1 + 1):
            yield from ((i, j) for j in range(j0, j1 + 1))


def _map_tiles(scene: Scene) -> Iterator[tuple[int, int]]:
    for kind in ("wetlands", "watercourses"):
        if scene.given(kind):
            yield from _tiles(shapely.bounds(scene.features[kind].geometries), scene)


def _divide(scene: Scene, tile: tuple[int, int]) -> Ground:
    size = CELL_FT / scene.scale
    grid = CellGrid(size, tile[0] * TILE_CELLS, tile[1] * TILE_CELLS, TILE_CELLS, TILE_CELLS)
    margin = scene.distance * 1.01 + 1.0
    return divide(scene.window(grid.bounds + np.array([-margin, -margin, margin, margin])), grid)


def _sets(ground: Ground, buffer_counts: bool) -> dict[str, Pieces]:
    whole = ground.regulated if buffer_counts else ground.water
    return {**{name: ground.places[name] for name in MAP_PLACES}, "regulated": whole}


def _area(pieces: Pieces) -> float:
    return float(shapely.area(pieces.geometries).sum())


def _joined(parts: list[Geometries]) -> Geometries:
    """Polygons that the cells have cut, joined again."""
    polygons = np.concatenate(parts) if parts else np.empty(0, object)
    if not 0 < len(polygons) <= JOINED:
        return polygons
    return areal(np.array([shapely.union_all(polygons)], dtype=object))[0]


def rows_of(change: GroundChange, skip: str) -> pd.DataFrame:
    """Pieces of the places other than the one that was amended itself."""
    rows: list[dict[str, Any]] = []
    for (what, sign), geometry in change.pieces.items():
        if what in MAP_PLACES and what != skip:
            rows += [{"what": what, "change": sign, "feature_id": "", "geometry": g}
                     for g in geometry]  # fmt: skip
    return pd.DataFrame(rows, columns=["what", "change", "feature_id", "geometry"])
