"""What changes on the ground: pieces added and removed, by feature, each foot once."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import shapely

from wetgis.amendment.maps import by_feature
from wetgis.buffers import bank_polygons
from wetgis.schema import EPS_FT, EPS_SQFT, SINGULAR, SLIVER_FT
from wetgis.shapes import areal, of_dimension, union_groups

if TYPE_CHECKING:
    import geopandas as gpd
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]
    Geometries = NDArray[np.object_]

__all__ = ["CHANGE_COLUMNS", "MapChange", "change_frame", "map_change", "without"]

CHANGE_COLUMNS = (
    "change_id", "what", "change", "feature_id", "area_sqft", "length_ft", "shift_ft", "sliver",
    "reason", "geometry",
)  # fmt: skip
_LETTER = {"wetland": "W", "watercourse": "C", "buffer": "B"}
_SIGN = {"added": "A", "removed": "R"}


@dataclass(frozen=True)
class MapChange:
    """The features of one kind before and after, by id, and the pieces in which they differ.

    ``rows``: ``what``, ``change``, ``feature_id``, ``geometry`` (CRS units), a row a piece.
    ``reached``: every changed feature's geometry before and after, as it is measured.
    """

    kind: str
    old: pd.Series
    new: pd.Series
    changed: tuple[str, ...]
    rows: pd.DataFrame
    reached: Geometries


def map_change(kind: str, before: gpd.GeoDataFrame, after: gpd.GeoDataFrame) -> MapChange:
    """Compare two maps of a kind by the ground that they cover."""
    old, new = by_feature(bank_polygons(before)), by_feature(bank_polygons(after))
    ids = sorted({*old.index, *new.index})
    a, b = _at(old, ids), _at(new, ids)
    differs = shapely.to_wkb(shapely.normalize(a)) != shapely.to_wkb(shapely.normalize(b))
    changed = np.flatnonzero(differs)
    names = np.array(ids, dtype=object)[changed]
    rows = [
        _pieces("added", kind, names, b[changed], old.to_numpy(object)),
        _pieces("removed", kind, names, a[changed], new.to_numpy(object)),
    ]
    reached = np.concatenate([a[changed], b[changed]])
    return MapChange(
        kind, old, new, tuple(names), pd.concat(rows, ignore_index=True),
        reached[~shapely.is_empty(reached)],
    )  # fmt: skip


def _at(features: pd.Series, ids: list[str]) -> Geometries:
    out = features.reindex(ids).to_numpy(object).copy()
    out[pd.isna(out)] = shapely.Polygon()
    return out


def _pieces(
    change: str, kind: str, names: NDArray[np.object_], own: Geometries, other: Geometries
) -> pd.DataFrame:
    """What these features cover and the other map does not, cut into connected pieces."""
    parts, owner = [], []
    for dimension in (2, 1, 0):
        shapes, of = of_dimension(own, dimension)
        shapes = without(shapes, other)
        shapes = without(shapes, shapes, earlier=True)
        pieces, at = of_dimension(shapes, dimension)
        parts.append(pieces)
        owner.append(of[at])
    geometry, of = np.concatenate(parts), np.concatenate(owner)
    return pd.DataFrame(
        {"what": SINGULAR[kind], "change": change, "feature_id": names[of], "geometry": geometry}
    )


def without(own: Geometries, other: Geometries, *, earlier: bool = False) -> Geometries:
    """Geometries without the union of others; with ``earlier``, of those before them alone."""
    out = np.array(own, dtype=object)
    left, right = shapely.STRtree(other).query(out, predicate="intersects")
    if earlier:
        left, right = left[right < left], right[right < left]
    if not len(left):
        return out
    order = np.lexsort((right, left))
    found, united = union_groups(np.asarray(other, dtype=object)[right[order]], left[order])
    out[found] = shapely.difference(out[found], united)
    return out


def change_frame(rows: pd.DataFrame, crs: Any, scale: float, min_sqft: float) -> gpd.GeoDataFrame:
    """The table of changes: areas, ids, which pieces are slivers and why; noise is left out."""
    import geopandas as gpd

    geometry = shapely.normalize(rows["geometry"].to_numpy(object))
    area = shapely.area(geometry) * scale**2
    length = np.where(shapely.get_dimensions(geometry) == 1, shapely.length(geometry), 0.0) * scale
    point = shapely.get_dimensions(geometry) == 0
    kept = np.flatnonzero((area > EPS_SQFT) | (length > EPS_FT) | point)
    rows, geometry = rows.iloc[kept].reset_index(drop=True), geometry[kept]
    table = rows.drop(columns="geometry").assign(
        area_sqft=area[kept], length_ft=length[kept], shift_ft=np.nan
    )
    table["change_id"] = _change_ids(rows, geometry)
    table["reason"] = _why_sliver(geometry, area[kept], scale, min_sqft)
    table["sliver"] = (table["reason"] != "").to_numpy(bool)
    rank = table["what"].map({"wetland": 0, "watercourse": 1, "buffer": 2})
    order = np.lexsort((table["change_id"].to_numpy(str), table["change"].to_numpy(str),
                        table["feature_id"].to_numpy(str), rank.to_numpy()))  # fmt: skip
    columns = [c for c in CHANGE_COLUMNS if c != "geometry"]
    frame = gpd.GeoDataFrame(table[columns], geometry=geometry, crs=crs)
    return frame.iloc[order].reset_index(drop=True)


def _change_ids(rows: pd.DataFrame, geometry: Geometries) -> list[str]:
    """An id made of what changes and where, so that a change keeps it from one run to the next."""
    out: list[str] = []
    seen: dict[str, int] = {}
    rounded = shapely.to_wkb(
        shapely.transform(geometry, lambda xy: np.round(xy, 2) + 0.0), byte_order=1
    )
    named = zip(rows["what"], rows["change"], rows["feature_id"], rounded, strict=True)
    for what, change, feature, wkb in named:
        digest = hashlib.sha256(f"{what}\0{change}\0{feature}\0".encode() + wkb).hexdigest()
        name = f"{_LETTER[what]}{_SIGN[change]}-{digest[:8]}"
        seen[name] = seen.get(name, 0) + 1
        out.append(name if seen[name] == 1 else f"{name}-{seen[name]}")
    return out


def thin(geometry: Geometries, scale: float) -> Bools:
    """Polygons whose pieces are all narrower than 0.05 ft (2 x area / perimeter)."""
    parts, of = areal(geometry)
    wide = 2 * shapely.area(parts) / shapely.length(parts) * scale >= SLIVER_FT
    has = np.bincount(of, minlength=len(geometry)) > 0
    out: Bools = has & (np.bincount(of, wide, len(geometry)) == 0)
    return out


THIN = f"narrower than {SLIVER_FT:g} ft: a line drawn twice, not a change of the ground"


def small(min_sqft: float) -> str:
    """The reason of a piece below the size asked for."""
    return f"smaller than {min_sqft:g} sq ft"


def _why_sliver(geometry: Geometries, area: Floats, scale: float, min_sqft: float) -> list[str]:
    narrow = thin(geometry, scale)
    little = (area > 0) & (area < min_sqft)
    return [
        THIN if n else (small(min_sqft) if s else "") for n, s in zip(narrow, little, strict=True)
    ]
