"""Parcels that a change reaches: every place before and after, and which changes it is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import shapely

from wetgis.amendment.changes import THIN, small, thin
from wetgis.engine import Measures, Run, measure_site
from wetgis.scene import as_read
from wetgis.schema import EPS_FT, EPS_SQFT, PLACES
from wetgis.shapes import areal

if TYPE_CHECKING:
    import geopandas as gpd
    from numpy.typing import NDArray

    from wetgis.site import Site

    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]

__all__ = ["affected_parcels", "buffer_counts", "reduced"]

#: All that areas by place are made of.
_LAYERS = ("parcels", "wetlands", "watercourses", "municipality")
_MAP = ("wetland", "watercourse", "buffer")


def buffer_counts(site: Site) -> bool:
    """Whether ground in the buffer counts as regulated: not where a law is in force that leaves it.

    Without any law, a buffer that was asked for counts.
    """
    return site.measure.buffer_regulated or not site.packs


def reduced(site: Site) -> Site:
    """The site with nothing but parcels, map and limit: what areas by place are measured from."""
    layers = {k: v for k, v in site.layers.items() if k in _LAYERS}
    return replace(site, layers=layers, rasters={})


def affected_parcels(
    before: Site, after: Site, changes: gpd.GeoDataFrame, scale: float, min_sqft: float
) -> tuple[gpd.GeoDataFrame, tuple[Measures, ...]]:
    """Measure the parcels that lie in a change, on both maps."""
    import geopandas as gpd

    layer = before.layers.get("parcels")
    own = as_read(layer.frame.geometry.to_numpy()) if layer else np.empty(0, object)
    pairs = _pairs(own, changes, scale)
    chosen = np.zeros(len(own), bool)
    chosen[pairs["parcel"].to_numpy(int)] = True
    if layer is None or not chosen.any():
        empty = _table(np.zeros(0, np.int64), pairs, pd.DataFrame(), pd.DataFrame(), before)
        return gpd.GeoDataFrame(empty, geometry=[], crs=before.crs), ()
    run = Run(chosen=chosen, full=False)
    one, two = (measure_site(reduced(s), 0.0, run) for s in (before, after))
    table = _table(np.flatnonzero(chosen), pairs, one.table, two.table, before)
    table = _reasons(table, np.flatnonzero(chosen), pairs, min_sqft)
    table["doubt"] = _doubts(table, layer.frame[chosen], pairs, np.flatnonzero(chosen))
    kept = [c for c in layer.keep if c in layer.frame.columns and c not in table]
    for name in kept:
        table[name] = layer.frame[name].to_numpy()[chosen]
    frame = gpd.GeoDataFrame(table, geometry=own[chosen], crs=before.crs)
    order = np.lexsort((frame["record"].to_numpy(int), frame["parcel_id"].to_numpy(str)))
    return frame.iloc[order].reset_index(drop=True), (one, two)


def _pairs(own: Any, changes: gpd.GeoDataFrame, scale: float) -> pd.DataFrame:
    """Each parcel and change that share ground (or length): how much, and whether it is thin."""
    shapes = changes.geometry.to_numpy()
    p, c = shapely.STRtree(own).query(shapes, predicate="intersects")[::-1]
    overlap = shapely.intersection(own[p], shapes[c])
    line = shapely.get_dimensions(shapes[c]) == 1
    surfaces, of = areal(overlap)
    area = np.bincount(of, shapely.area(surfaces), len(p)) * scale**2
    length = np.where(line, shapely.length(overlap), 0.0) * scale
    perimeter = np.bincount(of, shapely.length(surfaces), len(p)) * scale
    with np.errstate(invalid="ignore", divide="ignore"):
        width = np.where(perimeter > 0, 2 * area / perimeter, np.inf)
    table = pd.DataFrame({
        "parcel": p, "change": c, "area": area, "length": length, "width": width,
        "thin": thin(overlap, scale), "sliver": changes["sliver"].to_numpy(bool)[c],
        "what": changes["what"].to_numpy(object)[c],
        "sign": changes["change"].to_numpy(object)[c],
        "id": changes["change_id"].to_numpy(object)[c],
    })  # fmt: skip
    return table[(area > EPS_SQFT) | (length > EPS_FT)].reset_index(drop=True)


def _table(
    parcels: Any, pairs: pd.DataFrame, one: pd.DataFrame, two: pd.DataFrame, site: Site
) -> pd.DataFrame:
    """Every place before, after and changed, and what the parcel gains and loses."""
    columns: dict[str, Any] = {
        "parcel_id": one.get("subject_id", pd.Series(dtype=object)).astype(str).to_numpy(object),
        "record": one.get("record", pd.Series(dtype=np.int64)).to_numpy(np.int64),
        "area_sqft": _column(one, "area_sqft"),
    }
    for place in PLACES:
        a, b = _column(one, f"{place}_sqft"), _column(two, f"{place}_sqft")
        columns |= _three(place, a, b)
    counted = _MAP if buffer_counts(site) else _MAP[:2]
    a, b = (_sum([_column(t, f"{p}_sqft") for p in counted]) for t in (one, two))
    columns |= _three("regulated", a, b)
    for what in _MAP:
        for sign in ("added", "removed"):
            rows = pairs[(pairs["what"] == what) & (pairs["sign"] == sign)]
            sums = rows.groupby("parcel")["area"].sum().reindex(parcels).fillna(0.0)
            known = np.isfinite(columns[f"{what}_after_sqft"])
            columns[f"{what}_{sign}_sqft"] = np.where(known, sums.to_numpy(float), np.nan)
    columns["newly_regulated"] = (a <= EPS_SQFT) & (b > EPS_SQFT)
    columns["released"] = (a > EPS_SQFT) & (b <= EPS_SQFT)
    ids = pairs.sort_values("id").groupby("parcel")["id"].agg(";".join)
    columns |= {"sliver": False, "reason": "", "doubt": ""}
    columns["change_ids"] = ids.reindex(parcels).fillna("").to_numpy(object)
    return pd.DataFrame(columns, index=range(len(columns["parcel_id"])))


def _column(table: pd.DataFrame, name: str) -> Floats:
    return table[name].to_numpy(float) if name in table.columns else np.zeros(len(table))


def _three(place: str, a: Floats, b: Floats) -> dict[str, Floats]:
    change = b - a
    change[np.abs(change) < 1e-6] = 0.0  # the noise of two measurements
    return {f"{place}_before_sqft": a, f"{place}_after_sqft": b, f"{place}_change_sqft": change}


def _sum(parts: list[Floats]) -> Floats:
    """What is known of several places; NaN where none is."""
    known = np.isfinite(parts)
    total = np.where(known, parts, 0.0).sum(axis=0)
    return np.where(known.any(axis=0), total, np.nan)


def _reasons(table: pd.DataFrame, parcels: Any, pairs: pd.DataFrame, least: float) -> pd.DataFrame:
    """Parcels whose whole change is a sliver, and why."""
    groups = pairs.groupby("parcel")
    by = pairs["parcel"]
    flat = pairs["length"] <= 0
    narrow = (pairs["thin"] & flat).groupby(by).all().reindex(parcels).to_numpy(bool)
    part = (pairs["sliver"] & flat).groupby(by).all().reindex(parcels).to_numpy(bool)
    largest = groups["area"].sum()
    line = groups["length"].sum()
    little = ((largest < least) & (line <= 0)).reindex(parcels).to_numpy(bool)
    of_slivers = "it lies in slivers of the map's change alone"
    reason = np.select([narrow, little, part], [THIN, small(least), of_slivers], default="").astype(
        object
    )
    return table.assign(sliver=narrow | little | part, reason=reason)


def _doubts(table: pd.DataFrame, parcels: pd.DataFrame, pairs: pd.DataFrame, at: Any) -> Any:
    """``accuracy`` where a strip is no wider than the tax map is accurate: it may be its error."""
    if "accuracy_ft" not in parcels.columns:
        return ""
    accuracy = pd.to_numeric(parcels["accuracy_ft"], errors="coerce").to_numpy(float)
    widest = pairs.groupby("parcel")["width"].max().reindex(at).to_numpy(float)
    with np.errstate(invalid="ignore"):
        return np.where((widest <= accuracy) & ~table["sliver"], "accuracy", "").astype(object)
