"""What is odd about a layer as a whole: repeated ids, records that overlap, stale areas."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from wetgis.crs import ft_per_unit
from wetgis.errors import InputError
from wetgis.issuelog import IssueLog
from wetgis.schema import SUBJECT_LAYERS
from wetgis.sources.keys import LayerKeys
from wetgis.units import FT_PER_METRE, SQFT_PER_ACRE

if TYPE_CHECKING:
    import geopandas

__all__ = ["duplicates", "look_over"]

#: Vertices that the search for overlapping records may look at: some tenths of a second.
OVERLAP_BUDGET = 400_000
#: An area attribute that differs by more than this share is stale.
STALE = 0.01
_ACRES = re.compile(r"acre|^areaac$")
_SQUARE_METRES = {"sqmeters", "sqmetres", "area_m2", "area_sqm"}
_SQUARE_FEET = {"sq_ft", "sqft", "area_sqft", "area_sf", "land_sf", "sqfeet"}
_AREAL = (
    "wetlands", "watercourses", "indicators", "soils", "floodplain", "adopted_wetlands",
    "adopted_watercourses", "footprints",
)  # fmt: skip


def duplicates(
    frame: geopandas.GeoDataFrame,
    kind: str | None,
    keys: LayerKeys,
    log: IssueLog,
    about: dict[str, str],
) -> geopandas.GeoDataFrame:
    """Rows of one id: kept and said, united, or refused, as the key ``duplicates`` says."""
    repeated = frame["id"].duplicated(keep=False).to_numpy()
    if not repeated.any() or (kind is None and keys.duplicates == "keep"):
        return frame
    names = frame["id"][repeated]
    count = names.nunique()
    some = ", ".join(sorted(names.unique().tolist())[:5])
    if keys.duplicates == "error":
        raise InputError(
            f"{count} ids occur more than once ({some}).",
            needed='ids that occur once, because of duplicates = "error"',
            where=about["file"],
        )
    if keys.duplicates == "unite":
        text = f"{count} ids occur more than once ({some}); their rows were united."
        log.add("warning", "duplicate_id", text, **about)
        return _united(frame, repeated)
    if kind in SUBJECT_LAYERS or _same_shapes(frame, repeated):
        what = "each row is a subject of its own" if kind in SUBJECT_LAYERS else "all rows are kept"
        text = f"{count} ids occur more than once ({some})."
        severity = "warning" if kind in SUBJECT_LAYERS else "note"
        log.add(severity, "duplicate_id", text, effect=what, **about)
    return frame


def _same_shapes(frame: geopandas.GeoDataFrame, repeated: np.ndarray[Any, Any]) -> bool:
    """Whether a repeated id repeats its shape too: a record that is there twice."""
    from wetgis.sources.columns import geometry_digests

    part = frame[repeated]
    shapes = geometry_digests(np.array(part.geometry.array), 64)
    pairs = list(zip(part["id"], shapes, strict=True))
    return len(set(pairs)) < len(pairs)


def _united(
    frame: geopandas.GeoDataFrame, repeated: np.ndarray[Any, Any]
) -> geopandas.GeoDataFrame:
    """One row an id: the union of its geometries, the attributes of the first by its digest."""
    import pandas as pd
    import shapely

    from wetgis.sources.columns import geometry_digests

    shapes = np.full(len(frame), "", dtype=object)
    shapes[repeated] = geometry_digests(np.array(frame.geometry.array[repeated]), 64)
    order = pd.DataFrame(
        {"id": frame["id"].astype(object), "shape": shapes, "row": np.arange(len(frame))}
    )
    first_seen = order.groupby("id", sort=False)["row"].min()
    order = order.sort_values(["id", "shape", "row"], kind="stable")
    chosen = order.groupby("id", sort=False)["row"].first()
    geoms = np.array(frame.geometry.array, dtype=object)
    for name in frame["id"][repeated].unique().tolist():
        rows = order.loc[order["id"] == name, "row"].to_numpy()
        united = shapely.union_all(geoms[rows])
        geoms[chosen[name]] = None if united.is_empty else united
    out = frame.set_geometry(
        type(frame.geometry)(geoms, index=frame.index, crs=frame.crs, name="geometry")
    )
    return out.iloc[chosen[first_seen.sort_values().index].to_numpy()].reset_index(drop=True)


def look_over(
    frame: geopandas.GeoDataFrame, kind: str, log: IssueLog, about: dict[str, str]
) -> None:
    """Add what is odd about a layer of a kind to its issues."""
    if frame["accuracy_ft"].isna().all():
        text = "no horizontal accuracy is stated."
        log.add("note", "no_accuracy", text, effect="no interval is given", **about)
    if kind in ("watercourses", "adopted_watercourses"):
        _centrelines(frame, log, about)
    if frame.crs is None or not frame.crs.is_projected:
        return
    _stale_areas(frame, log, about)
    if kind in _AREAL:
        _overlaps(frame, log, about)


def _centrelines(frame: geopandas.GeoDataFrame, log: IssueLog, about: dict[str, str]) -> None:
    lines = frame.geometry.geom_type.isin(["LineString", "MultiLineString"]).to_numpy().copy()
    if "half_width_ft" in frame.columns:
        lines &= frame["half_width_ft"].isna().to_numpy()
    if "measured_from" in frame.columns:
        lines &= ~frame["measured_from"].isin(["bank", "edge"]).to_numpy()
    if lines.any():
        text = f"{int(lines.sum())} watercourses are centrelines without half_width_ft."
        effect = "their buffer is understated by half the channel's width"
        log.add("warning", "centreline", text, effect=effect, **about)


def _stale_areas(frame: geopandas.GeoDataFrame, log: IssueLog, about: dict[str, str]) -> None:
    import pandas as pd

    area = frame.geometry.area.to_numpy() * ft_per_unit(frame.crs) ** 2
    for column in frame.columns:
        name = str(column).lower()
        factor = (
            SQFT_PER_ACRE
            if _ACRES.search(name)
            else FT_PER_METRE**2
            if name in _SQUARE_METRES
            else 1.0
            if name in _SQUARE_FEET
            else None
        )
        if factor is None:
            continue
        stated = pd.to_numeric(frame[column], errors="coerce").to_numpy("float64") * factor
        with np.errstate(invalid="ignore", divide="ignore"):
            off = np.abs(stated - area) > STALE * np.maximum(area, stated)
        off &= np.isfinite(stated) & (stated > 0) & (area > 0)
        if off.any():
            worst = int(np.argmax(np.where(off, np.abs(stated - area), -1.0)))
            text = (
                f"{column} disagrees with the geometry by more than 1 % in {int(off.sum())} of "
                f"{len(frame)} records; most in {frame['id'].iloc[worst]}: "
                f"{_size(stated[worst])} against {_size(area[worst])} sq ft."
            )
            log.add("note", "stale_area", text, effect="areas are measured, not read", **about)


def _size(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _overlaps(frame: geopandas.GeoDataFrame, log: IssueLog, about: dict[str, str]) -> None:
    """Pairs of records that share more ground than a shared line can account for.

    Only a note depends on it, so that on a large layer the pairs with the fewest vertices are
    tried, up to a budget, and the note says how many that were.
    """
    import shapely

    geoms = np.array(frame.geometry.array, dtype=object)
    left, right, tried = _neighbours(geoms)
    if not len(left):
        return
    left, right = left[tried], right[tried]
    try:
        shared = shapely.area(shapely.intersection(geoms[left], geoms[right]))
    except shapely.errors.GEOSException:
        return
    shared = shared * ft_per_unit(frame.crs) ** 2
    real = shared > 1.0
    if real.any():
        worst = int(np.argmax(shared))
        a, b = frame["id"].iloc[int(left[worst])], frame["id"].iloc[int(right[worst])]
        part = "" if tried.all() else f" among {int(tried.sum()):,} of {len(tried):,} pairs tried"
        text = (
            f"{int(real.sum())} pairs of records overlap{part}, by {shared[real].sum():,.0f} sq ft "
            f"together; most: {a} and {b}, {shared[worst]:,.0f} sq ft."
        )
        log.add("note", "overlapping_records", text, effect="each square foot counts once", **about)


def _neighbours(
    geoms: np.ndarray[Any, Any],
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Pairs of polygons whose boxes share ground, and which of them are within the budget."""
    import shapely

    rows = np.flatnonzero(shapely.get_dimensions(geoms) == 2)
    nothing = np.array([], dtype=int)
    if len(rows) < 2:
        return nothing, nothing, nothing.astype(bool)
    left, right = shapely.STRtree(geoms[rows]).query(geoms[rows])
    upper = left < right
    left, right = rows[left[upper]], rows[right[upper]]
    a, b = shapely.bounds(geoms[left]), shapely.bounds(geoms[right])
    wide = np.minimum(a[:, 2:], b[:, 2:]) - np.maximum(a[:, :2], b[:, :2])
    real = (wide > 0).all(axis=1)
    left, right = left[real], right[real]
    sizes = shapely.get_num_coordinates(geoms)
    cost = sizes[left] + sizes[right]
    order = np.sort(cost)
    within = np.searchsorted(np.cumsum(order), OVERLAP_BUDGET, side="right")
    limit = order[within] if within < len(order) else np.inf
    return left, right, cost < limit
