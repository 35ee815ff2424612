"""How far the boundaries move: each change, each feature, and along the line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import shapely

from wetgis.delineation.separation import farthest, profile
from wetgis.schema import SNAP_FT

if TYPE_CHECKING:
    import geopandas as gpd

    from wetgis.amendment.changes import MapChange

__all__ = ["boundary_shift", "change_shift"]

STEP_FT = 5.0


def change_shift(frame: gpd.GeoDataFrame, change: MapChange, scale: float) -> gpd.GeoDataFrame:
    """How far each piece reaches from the line that it moved, feet."""
    out = frame["shift_ft"].to_numpy(float).copy()
    rows = zip(frame["what"], frame["change"], frame["feature_id"], frame.geometry, strict=True)
    for k, (what, sign, name, piece) in enumerate(rows):
        other = (change.old if sign == "added" else change.new).get(name)
        if what == "buffer" or other is None or not _areas(other, piece):
            continue
        if shapely.distance(piece, other) * scale <= SNAP_FT:
            out[k] = farthest(piece, shapely.boundary(other)).distance * scale
    return frame.assign(shift_ft=out)


def _areas(*shapes: Any) -> bool:
    return all(shapely.get_dimensions(s) == 2 and not shapely.is_empty(s) for s in shapes)


def boundary_shift(change: MapChange, scale: float) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The Hausdorff distance of each moved boundary, and the shift along the new one."""
    rows, lines = [], []
    for name in change.changed:
        old, new = change.old.get(name), change.new.get(name)
        if old is None or new is None or not _areas(old, new):
            continue
        far = max(farthest(new, old), farthest(old, new), key=lambda f: f.distance)
        rows.append({"feature_id": name, "hausdorff_ft": far.distance * scale,
                     "x": far.at.x, "y": far.at.y})  # fmt: skip
        along, shift, places = profile(new, old, step=STEP_FT / scale)
        lines.append(pd.DataFrame({
            "feature_id": name, "along_ft": along * scale, "shift_ft": shift * scale,
            "x": places[:, 0], "y": places[:, 1]}))  # fmt: skip
    shift_table = pd.DataFrame(rows, columns=["feature_id", "hausdorff_ft", "x", "y"])
    empty = pd.DataFrame({c: pd.Series(dtype=float) for c in ("along_ft", "shift_ft", "x", "y")})
    empty.insert(0, "feature_id", pd.Series(dtype=object))
    return shift_table, pd.concat(lines, ignore_index=True) if lines else empty


def moved(profile_rows: pd.DataFrame, least_ft: float = 0.05) -> float:
    """The share of a boundary's length that moved by more than a line's width."""
    if not len(profile_rows):
        return 0.0
    return float(np.mean(np.abs(profile_rows["shift_ft"].to_numpy(float)) > least_ft))
