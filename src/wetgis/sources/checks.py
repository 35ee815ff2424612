"""What is odd about a layer as a whole: repeated ids, records that overlap, stale areas."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
from pyproj import CRS

from wetgis.crs import ft_per_unit
from wetgis.errors import InputError
from wetgis.issuelog import IssueLog
from wetgis.schema import SUBJECT_LAYERS
from wetgis.sources.keys import LayerKeys
from wetgis.units import FT_PER_METRE, SQFT_PER_ACRE

if TYPE_CHECKING:
    import geopandas
    import pandas as pd

    from wetgis.sources.figures import Shapes

__all__ = ["duplicates", "look_over"]

#: Vertices that the search for overlapping records may look at: some tenths of a second.
OVERLAP_BUDGET = 400_000
#: An area attribute that differs by more than this share is stale.
STALE = 0.01
#: shapely's numbers of LineString and MultiLineString.
_LINES = (1, 5)
_ACRES = re.compile(r"acre|^areaac$")
_SQUARE_METRES = {"sqmeters", "sqmetres", "area_m2", "area_sqm"}
_SQUARE_FEET = {"sq_ft", "sqft", "area_sqft", "area_sf", "land_sf", "sqfeet"}
_AREAL = (
    "wetlands", "watercourses", "indicators", "soils", "floodplain", "adopted_wetlands",
    "adopted_watercourses", "footprints",
)  # fmt: skip


def duplicates(
    frame: Any,
    kind: str | None,
    keys: LayerKeys,
    log: IssueLog,
    about: dict[str, str],
    shapes: Shapes | None = None,
) -> Any:
    """Rows of one id: kept and said, united, or refused, as the key ``duplicates`` says.

    ``shapes`` are the geometries of a table that does not hold them; such rows are not united.
    """
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
    if kind in SUBJECT_LAYERS or _same_shapes(frame, repeated, shapes):
        what = "each row is a subject of its own" if kind in SUBJECT_LAYERS else "all rows are kept"
        text = f"{count} ids occur more than once ({some})."
        severity = "warning" if kind in SUBJECT_LAYERS else "note"
        log.add(severity, "duplicate_id", text, effect=what, **about)
    return frame


def _same_shapes(
    frame: pd.DataFrame, repeated: np.ndarray[Any, Any], shapes: Shapes | None
) -> bool:
    """Whether a repeated id repeats its shape too: a record that is there twice."""
    found = (shapes or _held(frame)).digests(np.flatnonzero(repeated))
    pairs = list(zip(frame["id"][repeated], found, strict=True))
    return len(set(pairs)) < len(pairs)


def _held(frame: Any) -> Shapes:
    from wetgis.sources.figures import InMemory

    return InMemory(frame.geometry.array)


def _united(
    frame: geopandas.GeoDataFrame, repeated: np.ndarray[Any, Any]
) -> geopandas.GeoDataFrame:
    """One row an id: the union of its geometries, the attributes of the first by its digest."""
    import pandas as pd
    import shapely

    shapes = np.full(len(frame), "", dtype=object)
    shapes[repeated] = _held(frame).digests(np.flatnonzero(repeated))
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
    table: pd.DataFrame,
    shapes: Shapes,
    crs: CRS | None,
    kind: str,
    log: IssueLog,
    about: dict[str, str],
) -> None:
    """Add what is odd about a layer of a kind to its issues."""
    if table["accuracy_ft"].isna().all():
        text = "no horizontal accuracy is stated."
        log.add("note", "no_accuracy", text, effect="no interval is given", **about)
    if kind in ("watercourses", "adopted_watercourses"):
        _centrelines(table, shapes, log, about)
    if crs is None or not crs.is_projected:
        return
    _stale_areas(table, shapes.areas * ft_per_unit(crs) ** 2, log, about)
    if kind in _AREAL:
        _overlaps(table, shapes, ft_per_unit(crs) ** 2, log, about)


def _centrelines(table: pd.DataFrame, shapes: Shapes, log: IssueLog, about: dict[str, str]) -> None:
    lines = np.isin(shapes.types, _LINES)
    if "half_width_ft" in table.columns:
        lines &= table["half_width_ft"].isna().to_numpy()
    if "measured_from" in table.columns:
        lines &= ~table["measured_from"].isin(["bank", "edge"]).to_numpy()
    if lines.any():
        text = f"{int(lines.sum())} watercourses are centrelines without half_width_ft."
        effect = "their buffer is understated by half the channel's width"
        log.add("warning", "centreline", text, effect=effect, **about)


def _stale_areas(
    table: pd.DataFrame, area: np.ndarray[Any, Any], log: IssueLog, about: dict[str, str]
) -> None:
    """Attributes that state an area in square feet other than the one measured."""
    import pandas as pd

    for column in table.columns:
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
        stated = pd.to_numeric(table[column], errors="coerce").to_numpy("float64") * factor
        with np.errstate(invalid="ignore", divide="ignore"):
            off = np.abs(stated - area) > STALE * np.maximum(area, stated)
        off &= np.isfinite(stated) & (stated > 0) & (area > 0)
        if off.any():
            worst = int(np.argmax(np.where(off, np.abs(stated - area), -1.0)))
            text = (
                f"{column} disagrees with the geometry by more than 1 % in {int(off.sum())} of "
                f"{len(table)} records; most in {table['id'].iloc[worst]}: "
                f"{_size(stated[worst])} against {_size(area[worst])} sq ft."
            )
            log.add("note", "stale_area", text, effect="areas are measured, not read", **about)


def _size(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _overlaps(
    table: pd.DataFrame, shapes: Shapes, sqft: float, log: IssueLog, about: dict[str, str]
) -> None:
    """Pairs of records that share more ground than a shared line can account for.

    Only a note depends on it, so that on a large layer the pairs with the fewest vertices are
    tried, up to a budget, and the note says how many that were.
    """
    import shapely

    left, right, tried = _neighbours(shapes)
    if not len(left):
        return
    left, right = left[tried], right[tried]
    rows = np.unique([left, right])
    geoms = shapes.take(rows)
    pair = geoms[np.searchsorted(rows, left)], geoms[np.searchsorted(rows, right)]
    try:
        shared = shapely.area(shapely.intersection(*pair))
    except shapely.errors.GEOSException:
        return
    shared = shared * sqft
    real = shared > 1.0
    if real.any():
        worst = int(np.argmax(shared))
        a, b = table["id"].iloc[int(left[worst])], table["id"].iloc[int(right[worst])]
        part = "" if tried.all() else f" among {int(tried.sum()):,} of {len(tried):,} pairs tried"
        text = (
            f"{int(real.sum())} pairs of records overlap{part}, by {shared[real].sum():,.0f} sq ft "
            f"together; most: {a} and {b}, {shared[worst]:,.0f} sq ft."
        )
        log.add("note", "overlapping_records", text, effect="each square foot counts once", **about)


def _neighbours(
    shapes: Shapes,
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Pairs of polygons whose boxes share ground, and which of them are within the budget."""
    import shapely

    rows = np.flatnonzero(shapes.dimensions == 2)
    nothing = np.array([], dtype=int)
    if len(rows) < 2:
        return nothing, nothing, nothing.astype(bool)
    # a line from corner to corner has the same box, which is all that the tree looks at
    corners = shapely.linestrings(shapes.boxes[rows].reshape(-1, 2, 2))
    left, right = shapely.STRtree(corners).query(corners)
    upper = left < right
    left, right = rows[left[upper]], rows[right[upper]]
    a, b = shapes.boxes[left], shapes.boxes[right]
    wide = np.minimum(a[:, 2:], b[:, 2:]) - np.maximum(a[:, :2], b[:, :2])
    real = (wide > 0).all(axis=1)
    left, right = left[real], right[real]
    cost = shapes.sizes[left].astype("int64") + shapes.sizes[right]
    order = np.sort(cost)
    within = np.searchsorted(np.cumsum(order), OVERLAP_BUDGET, side="right")
    limit = order[within] if within < len(order) else np.inf
    return left, right, cost < limit
