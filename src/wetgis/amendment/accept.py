"""A council adopts some of the changes: the map as it is with those alone."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np
import shapely

from wetgis.amendment.maps import joined
from wetgis.errors import InputError, UsageError

if TYPE_CHECKING:
    import geopandas as gpd

    from wetgis.amendment.changes import MapChange

__all__ = ["accepted_map"]


def accepted_map(
    before: gpd.GeoDataFrame,
    after: gpd.GeoDataFrame,
    change: MapChange,
    changes: gpd.GeoDataFrame,
    accept: Sequence[str],
) -> gpd.GeoDataFrame:
    """The map with the accepted changes: whole features, or some pieces of one."""
    if isinstance(accept, str):
        raise UsageError("accept is a text.", needed="a list of change or feature ids")
    wanted = [str(a) for a in accept]
    _check(wanted, changes, after, before)
    rows = changes[changes["change_id"].isin(wanted) | changes["feature_id"].isin(wanted)]
    whole = {str(i) for i in wanted if i not in set(changes["change_id"])}
    counts = changes.groupby("feature_id").size()
    for name, n in rows.groupby("feature_id").size().items():
        if n == counts[name]:
            whole.add(str(name))
    partly = {str(i) for i in rows["feature_id"]} - whole
    old_ids, new_ids = before["id"].astype(str), after["id"].astype(str)
    parts = [
        before[~old_ids.isin(whole | partly)].assign(_new=False),
        after[new_ids.isin(whole)],
        *(_partly(name, before, after, rows, change) for name in sorted(partly)),
    ]
    return joined(parts, before.crs)


def _check(wanted: list[str], changes: Any, after: Any, before: Any) -> None:
    known = {*changes["change_id"], *changes["feature_id"], *after["id"].astype(str),
             *before["id"].astype(str)}  # fmt: skip
    for one in wanted:
        if one[:3] in ("BA-", "BR-") and one not in known:
            raise UsageError(
                f"'{one}' is a change of the buffer.",
                needed="changes of the map; the buffer follows from them",
            )
        if one not in known:
            near = get_close_matches(one, sorted(known), 2)
            raise InputError(
                f"accept: there is no change or feature '{one}'.",
                needed=f"one of .changes, as {', '.join(near)}" if near else "ids of .changes",
            )


def _partly(name: str, before: Any, after: Any, rows: Any, change: MapChange) -> Any:
    """A feature of which some pieces are adopted: its old ground with and without these."""
    old = change.old.get(name, shapely.Polygon())
    new = change.new.get(name, shapely.Polygon())
    own = rows[rows["feature_id"] == name]
    shapes = own.geometry.to_numpy()
    drawn = np.concatenate([f[f["id"].astype(str) == name].geometry.to_numpy()
                            for f in (before, after)])  # fmt: skip
    if (shapely.get_dimensions(drawn) < 2).any():
        raise UsageError(
            f"'{name}' is drawn as a line; its pieces cannot be adopted apart.",
            needed=f"accept '{name}' as a whole",
        )
    added = (own["change"] == "added").to_numpy()
    shape = shapely.union_all([old, *shapes[added]])
    if (~added).any():
        shape = shapely.difference(shape, shapely.union_all(shapes[~added]))
    if shape.is_empty:
        return before.iloc[:0].assign(_new=False)
    source = after if not new.is_empty else before
    record = source[source["id"].astype(str) == name].iloc[:1].assign(_new=True)
    return record.set_geometry([shape], crs=before.crs)
