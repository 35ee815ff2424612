"""Distances of one tile's subjects to layers that stay on disk.

A window around the subjects is read; whoever has a feature no farther away than the window's
margin has its nearest. For the others the window is widened, until it holds all of the layer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import shapely

from wetgis.distances import DISTANCES, overlapping, speaks
from wetgis.overlay import Nearest, typical_size
from wetgis.segments import Runs
from wetgis.storedfeatures import StoredFeatures

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wetgis.geometryfile import GeometryFile
    from wetgis.scene import Scene

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]
    Geometries = NDArray[np.object_]

__all__ = ["distances_to_file", "tile_distances"]

#: How much wider the next window is.
_WIDER = 2.0
#: The first margin, in typical distances between two features.
_FIRST = 0.5
#: The least margin, CRS units.
_LEAST = 1.0


def tile_distances(scene: Scene, own: Geometries, columns: dict[str, Floats]) -> dict[str, Floats]:
    """What ``distances.distances`` gives for the subjects of one tile, whose areas are known.

    ``scene``: the whole one, whose layers may lie on disk.
    """
    out = {name: np.full(len(own), np.nan) for name in DISTANCES}
    every, areal = np.arange(len(own)), bool((shapely.get_dimensions(own) == 2).all())
    for name, (kind, inside) in DISTANCES.items():
        if not speaks(scene, kind):
            continue
        known, lost = None, np.zeros(0, np.int64)
        if inside and areal:
            told = overlapping(columns, inside, every)
            known, lost = (None, lost) if told is None else told
        layer = scene.near[kind]
        if isinstance(layer, StoredFeatures):
            apart = distances_to_file(own, layer.records, known, lost, scene.distance)
        else:
            held = scene.nearest(kind, typical_size(own), keep=True)
            apart = _distances(own, held, known, lost)
        out[name] = apart * scene.scale
    return out


def distances_to_file(
    own: Geometries,
    layer: GeometryFile,
    known_inside: Bools | None,
    ask_inside: Ints,
    reach: float,
) -> Floats:
    """Distance from each subject to the nearest feature of a layer on disk.

    Parameters
    ----------
    own : array of geometries or None
    layer : GeometryFile
    known_inside : array of bool, optional
        Which subjects overlap a polygon of the layer; None where all must be asked.
    ask_inside : array of int
        Those of which ``known_inside`` does not tell.
    reach : float
        The least margin of a window, CRS units.

    Returns
    -------
    array of float
        CRS units; 0 where they meet, inf where the layer is empty, NaN without a geometry.
    """
    out = np.where(shapely.is_missing(own), np.nan, np.inf)
    boxes = shapely.bounds(own)
    open_ = np.flatnonzero(np.isfinite(boxes).all(axis=1))
    usable = np.isfinite(layer.boxes).all(axis=1)
    if not usable.any():
        return out
    low, high = layer.boxes[usable, :2].min(axis=0), layer.boxes[usable, 2:].max(axis=0)
    # never 0, as it would be for features on one level line: a window of 0 cannot be widened
    margin = max(reach, _FIRST * float(np.sqrt(np.prod(high - low) / usable.sum())), _LEAST)
    asked = np.zeros(len(own), bool)
    asked[ask_inside] = True
    while len(open_):
        window = _spread(boxes[open_], margin)
        whole = bool((window[:2] <= low).all() and (window[2:] >= high).all())
        rows = layer.meeting(window)
        if len(rows):
            inside = None if known_inside is None else known_inside[open_].copy()
            some = own[open_]
            near = Nearest(layer.take(rows), typical_size(some))
            found = _distances(some, near, inside, np.flatnonzero(asked[open_]))
            settled = (found <= margin) | whole
            out[open_[settled]] = found[settled]
            open_ = open_[~settled]
        elif whole:
            break
        margin *= _WIDER
    return out


def _spread(boxes: Floats, margin: float) -> Floats:
    low, high = boxes[:, :2].min(axis=0) - margin, boxes[:, 2:].max(axis=0) + margin
    return np.concatenate([low, high])


def _distances(own: Geometries, layer: Nearest, inside: Bools | None, ask_inside: Ints) -> Floats:
    if inside is not None:
        inside[ask_inside[layer.inside(own[ask_inside])]] = True
    return layer.distances(own, Runs(own), known_inside=inside, threads=1)
