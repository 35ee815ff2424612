"""The adopted map's new state: from when each feature holds, what it takes the place of."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import shapely

from wetgis.amendment.maps import joined
from wetgis.schema import EPS_SQFT
from wetgis.shapes import normal_order

if TYPE_CHECKING:
    import geopandas as gpd
    from numpy.typing import NDArray

    from wetgis.amendment.changes import MapChange

__all__ = ["HISTORY_COLUMNS", "State", "new_state"]

HISTORY_COLUMNS = ("feature_id", "event", "attribute", "before", "after", "effective_from")
#: Columns that say where a record was read, not what it is.
_NOT_ATTRIBUTES = {"id", "geometry", "source", "record", "effective_from", "effective_to", "_new",
                   "supersedes", "superseded_by"}  # fmt: skip
State = tuple["gpd.GeoDataFrame", "gpd.GeoDataFrame", pd.DataFrame]


def new_state(
    before: gpd.GeoDataFrame,
    after: gpd.GeoDataFrame,
    change: MapChange,
    day: datetime.date,
    scale: float,
) -> State:
    """The adopted map, the records that it supersedes, and the history of attributes."""
    after = after.assign(id=after["id"].astype(str))
    attributes = _attribute_rows(before, after)
    told = {row["feature_id"] for row in attributes}
    changed = set(change.changed) | told
    after = _as_they_were(before, after, changed)
    replaced = _replaced(change, scale)
    new = after["id"].isin(changed) & after["_new"].astype(bool) | after["id"].isin(change.changed)
    adopted = _dated(after.drop(columns="_new"), new.to_numpy(bool), day)
    for name in (c for c in ("effective_from",) if c in before.columns):
        adopted.loc[~new, name] = _old_dates(before, adopted.loc[~new, "id"], name)
    adopted["supersedes"] = [
        ";".join(replaced.get(i, [])) or (i if i in told else "") if n else ""
        for i, n in zip(adopted["id"], new, strict=True)
    ]
    gone = before[before["id"].astype(str).isin(changed)].reset_index(drop=True)
    by = _turned(replaced)
    gone = gone.assign(
        effective_to=pd.Timestamp(day - datetime.timedelta(days=1)),
        superseded_by=[";".join(by.get(str(i), [])) for i in gone["id"]],
    )
    table = _history(change, replaced, attributes, day)
    return _in_order(adopted), _in_order(gone), table


def _in_order(frame: gpd.GeoDataFrame) -> gpd.GeoDataFrame:
    """Records by id, those of one id by their ground."""
    place = np.argsort(normal_order(frame.geometry.to_numpy()))
    order = np.lexsort((place, frame["id"].to_numpy(str)))
    return frame.iloc[order].reset_index(drop=True)


def _as_they_were(before: Any, after: Any, changed: set[str]) -> gpd.GeoDataFrame:
    """Features that a new map repeats as they are keep the record that they have."""
    same = after["_new"].astype(bool) & ~after["id"].isin(changed)
    same &= after["id"].isin(set(before["id"].astype(str)))
    if not same.any():
        return after
    old = before[before["id"].astype(str).isin(set(after.loc[same, "id"]))].assign(_new=False)
    return joined([after[~same], old], before.crs)


def _dated(frame: gpd.GeoDataFrame, new: NDArray[np.bool_], day: datetime.date) -> Any:
    """``effective_from`` of new records: their own, else the day of the site."""
    out = frame.copy()
    given = (
        pd.to_datetime(out["effective_from"], errors="coerce")
        if "effective_from" in out.columns
        else pd.Series(pd.NaT, index=out.index, dtype="datetime64[us]")
    ).astype("datetime64[us]")
    given[new & given.isna().to_numpy()] = pd.Timestamp(day)
    out["effective_from"] = given
    return out


def _old_dates(before: Any, ids: pd.Series, name: str) -> Any:
    dates = pd.to_datetime(before[name], errors="coerce").astype("datetime64[us]")
    first = pd.Series(dates.to_numpy(), index=before["id"].astype(str))
    first = first[~first.index.duplicated()]
    return first.reindex(ids).to_numpy()


def _replaced(change: MapChange, scale: float) -> dict[str, list[str]]:
    """For each changed feature after, the changed features before whose ground it has."""
    old = change.old.reindex(list(change.changed)).dropna()
    new = change.new.reindex(list(change.changed)).dropna()
    out = {str(i): [str(i)] for i in new.index if i in old.index}
    if not len(old) or not len(new):
        return out
    n, o = shapely.STRtree(old.to_numpy(object)).query(new.to_numpy(object), "intersects")
    shared = shapely.intersection(new.to_numpy(object)[n], old.to_numpy(object)[o])
    much = (shapely.area(shared) * scale**2 > EPS_SQFT) | (shapely.length(shared) > 0) & (
        shapely.get_dimensions(shared) == 1
    ) & (shapely.get_dimensions(new.to_numpy(object)[n]) == 1)  # fmt: skip
    for a, b in zip(new.index[n[much]], old.index[o[much]], strict=True):
        if b not in out.setdefault(str(a), []):
            out[str(a)].append(str(b))
    return {k: sorted(v) for k, v in out.items()}


def _turned(replaced: dict[str, list[str]]) -> dict[str, list[str]]:
    out: dict[str, list[str]] = {}
    for new, old in replaced.items():
        for one in old:
            out.setdefault(one, []).append(new)
    return out


def _texts(frame: pd.DataFrame, name: str) -> pd.Series:
    """A column by id as text, several records joined, "" where nothing is stated."""
    column = frame[name]
    if pd.api.types.is_float_dtype(column):
        texts = column.map(lambda v: "" if v != v else f"{v:.10g}")
    else:
        texts = column.astype(object).where(column.notna(), "").astype(str)
    ids = frame["id"].astype(str).to_numpy(object)
    joined: pd.Series = pd.Series(texts.to_numpy(object), index=ids).groupby(level=0).agg(
        lambda v: "; ".join(sorted({str(t) for t in v} - {""}))
    )  # fmt: skip
    return joined


def _attribute_rows(before: pd.DataFrame, after: pd.DataFrame) -> list[dict[str, str]]:
    """Attributes that a proposed record states otherwise than the map did; silence is no change."""
    rows = []
    new = after[after["_new"].astype(bool)]
    shared = [c for c in before.columns if c in after.columns and c not in _NOT_ATTRIBUTES]
    for name in shared if len(new) and len(before) else []:
        old, now = _texts(before, name), _texts(new, name)
        both = old.index.intersection(now.index)
        differs = (now.loc[both] != "") & (now.loc[both] != old.loc[both])
        rows += [
            {"feature_id": str(i), "event": "attribute", "attribute": str(name),
             "before": str(old[i]), "after": str(now[i])}
            for i in both[differs.to_numpy(bool)]
        ]  # fmt: skip
    return rows


def _history(
    change: MapChange, replaced: dict[str, list[str]], attributes: list[dict[str, str]],
    day: datetime.date,
) -> pd.DataFrame:  # fmt: skip
    """What happened to each feature: added, removed, boundary moved, attributes changed."""
    rows = list(attributes)
    turned = _turned(replaced)
    for i in change.changed:
        was, now = i in change.old.index, i in change.new.index
        event = "boundary" if was and now else ("added" if now else "removed")
        rows.append({"feature_id": i, "event": event, "attribute": "",
                     "before": ";".join(replaced.get(i, [])) if now else i,
                     "after": i if now else ";".join(turned.get(i, []))})  # fmt: skip
    table = pd.DataFrame(rows, columns=list(HISTORY_COLUMNS[:-1]))
    table["effective_from"] = day.isoformat()
    return table.sort_values(["feature_id", "event", "attribute"]).reset_index(drop=True)
