"""Exact distances of subjects to layers that are in memory."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import shapely

from wetgis.overlay import Nearest, typical_size
from wetgis.scene import hydric, special_flood
from wetgis.segments import Runs
from wetgis.workers import THREADS, hand_back, in_turn

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wetgis.scene import Scene, Subjects

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]
    Geometries = NDArray[np.object_]

__all__ = ["DISTANCES", "distances", "overlapping", "speaks"]

#: Columns of distances: the kind of layer, and the area that tells who is inside it.
DISTANCES = {
    "wetland_ft": ("wetlands", "wetland_sqft"),
    "watercourse_ft": ("watercourses", ""),
    "hydric_ft": ("soils", "hydric_sqft"),
    "indicator_ft": ("indicators", "indicator_sqft"),
    "floodplain_ft": ("floodplain", "floodplain_sqft"),
}


def distances(
    scene: Scene, subjects: Subjects, columns: dict[str, Floats], blocks: list[Ints]
) -> dict[str, Floats]:
    """Exact distances to whole layers, in feet; inf where a layer has no such feature.

    ``blocks``: subjects that lie near each other, worked on together. Layers are taken one after
    the other, so that memory stays small.
    """
    out = {name: np.full(len(subjects), np.nan) for name in DISTANCES}
    asked = [name for name, (kind, _) in DISTANCES.items() if speaks(scene, kind)]
    if not asked:
        return out
    own = [subjects.geometries[block] for block in blocks]
    runs = in_turn(Runs, own)
    size = typical_size(subjects.geometries)
    for name in asked:
        kind, inside = DISTANCES[name]
        known = [overlapping(columns, inside, block) for block in blocks]
        hand_back(len(subjects))
        found = _to_layer(scene, kind, size, list(zip(own, runs, known, strict=True)))
        for block, apart in zip(blocks, found, strict=True):
            out[name][block] = apart * scene.scale
    return out


_Block = tuple["Geometries", Runs, "tuple[Bools, Ints] | None"]


def _to_layer(scene: Scene, kind: str, size: float, blocks: list[_Block]) -> list[Floats]:
    """Distances of each block's subjects to one layer, which is forgotten after that."""
    # but a few subjects are asked about again and again, all of them once
    layer = scene.nearest(kind, size, keep=len(blocks) == 1)
    return in_turn(partial(_distance, layer, threads=THREADS if len(blocks) == 1 else 1), blocks)


def overlapping(columns: dict[str, Floats], name: str, block: Ints) -> tuple[Bools, Ints] | None:
    """Which subjects overlap the layer, and of which its area does not tell."""
    if not name:
        return None
    # ground beyond the limit, or of a tile that failed, is in no place
    return columns[name][block] > 0, np.flatnonzero(~(columns["beyond_limit_sqft"][block] <= 0))


def _distance(layer: Nearest, block: _Block, threads: int) -> Floats:
    own, runs, inside = block
    known = None
    if inside is not None and bool((shapely.get_dimensions(own) == 2).all()):
        known, lost = inside
        known[lost[layer.inside(own[lost])]] = True
    return layer.distances(own, runs, known_inside=known, threads=threads)


def speaks(scene: Scene, kind: str) -> bool:
    """Whether a layer can say that something is not there: one without any rating cannot."""
    if not scene.given(kind):
        return False
    if kind == "soils":
        if not np.isfinite(scene.measure.hydric_pct):
            return False
        rated = hydric(scene.features[kind], scene.measure.hydric_pct)[2]
        return bool(rated.any()) or not len(rated)
    if kind == "floodplain":
        special, _, clear = special_flood(scene.features[kind])
        return bool((special | clear).any()) or not len(special)
    return True
