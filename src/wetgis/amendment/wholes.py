"""Whole wetlands as the law counts them, before and after: what was split, what was merged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import shapely

if TYPE_CHECKING:
    from wetgis.amendment.changes import MapChange
    from wetgis.scene import Scene

__all__ = ["whole_features"]

COLUMNS = ("side", "feature_id", "whole_sqft", "became")


def whole_features(scenes: tuple[Scene, ...], change: MapChange, kind: str) -> pd.DataFrame:
    """Groups of touching features that have a changed one, on both sides."""
    names = set(change.changed)
    sides = [_groups(s, kind, names, change) if s.given(kind) else ([], [], []) for s in scenes[:2]]
    (old_ids, old_sizes, old_shapes), (new_ids, new_sizes, new_shapes) = sides
    left, right = shapely.STRtree(_array(new_shapes)).query(
        _array(old_shapes), predicate="intersects"
    )
    left, right = left.tolist(), right.tolist()
    rows = []
    for k, (name, size) in enumerate(zip(old_ids, old_sizes, strict=True)):
        heirs = [r for a, r in zip(left, right, strict=True) if a == k]
        word = "gone" if not heirs else ("split" if len(heirs) > 1 else "changed")
        rows.append(("before", name, size, word))
    for k, (name, size) in enumerate(zip(new_ids, new_sizes, strict=True)):
        origins = [a for a, r in zip(left, right, strict=True) if r == k]
        word = "new" if not origins else ("merged" if len(origins) > 1 else "changed")
        if origins and any(left.count(a) > 1 for a in origins) and word == "changed":
            word = "split"
        rows.append(("after", name, size, word))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _array(shapes: list[Any]) -> Any:
    out = np.empty(len(shapes), object)
    out[:] = shapes
    return out


def _groups(
    scene: Scene, kind: str, names: set[str], change: MapChange
) -> tuple[list[str], list[float], list[Any]]:
    groups = scene.features[kind].groups
    touched = set()
    if len(change.reached) and len(groups.geometries):
        near = shapely.STRtree(groups.geometries).query(change.reached, predicate="intersects")
        touched = set(near[1].tolist())
    chosen = [k for k, n in enumerate(groups.ids) if k in touched or names & set(str(n).split("+"))]
    return (
        [str(groups.ids[k]) for k in chosen],
        [float(groups.whole_sqft[k]) for k in chosen],
        [groups.geometries[k] for k in chosen],
    )
