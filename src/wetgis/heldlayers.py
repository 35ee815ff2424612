"""A layer of a site: held in memory, or left on disk until rows are asked for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wetgis.parcelindex import ParcelIndex, Summary
from wetgis.storedrows import StoredRows, Unstorable, store_frame

if TYPE_CHECKING:
    import geopandas as gpd
    import pandas as pd
    import shapely
    from numpy.typing import NDArray
    from shapely.geometry.base import BaseGeometry

    from wetgis.crs import Operation
    from wetgis.issuelog import Issue
    from wetgis.provenance import SourceRecord

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

__all__ = ["IndexedLayer", "SiteLayer", "StoredLayer", "rows_under", "stored"]


@dataclass(frozen=True, eq=False)
class SiteLayer:
    """All sources of one kind in the working CRS.

    ``extent`` is where the layer is complete, None where that is not stated. ``whole`` is the
    layer of which this one holds some rows.
    """

    kind: str
    frame: gpd.GeoDataFrame
    extent: BaseGeometry | None = None
    sources: tuple[SourceRecord, ...] = ()
    operations: tuple[Operation, ...] = ()
    issues: tuple[Issue, ...] = ()
    keep: tuple[str, ...] = ()
    whole: SiteLayer | None = None

    @cached_property
    def boxes(self) -> Floats:
        """The box of each row of the whole layer, NaN where it has no geometry."""
        import shapely

        if self.whole is not None:
            return self.whole.boxes
        found: Floats = shapely.bounds(self.frame.geometry.to_numpy())
        return found

    @property
    def bounds(self) -> tuple[float, float, float, float] | None:
        """The box of the whole layer; None where nothing in it has a geometry."""
        boxes = self.boxes
        boxes = boxes[np.isfinite(boxes[:, 0])]
        if not len(boxes):
            return None
        low, high = boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0)
        box = (float(low[0]), float(low[1]), float(high[0]), float(high[1]))
        return box if np.isfinite(box).all() else None

    @cached_property
    def summary(self) -> Summary:
        """What is known of the layer as a whole."""
        return self.whole.summary if self.whole is not None else summary_of(self.frame)

    @cached_property
    def _by_id(self) -> pd.Index:
        import pandas as pd

        found: pd.Index = pd.Index(self.frame["id"].astype(str))
        return found

    @cached_property
    def _tree(self) -> tuple[shapely.STRtree, Ints]:
        import shapely

        geometries = self.frame.geometry.to_numpy()
        rows = np.flatnonzero(~(shapely.is_missing(geometries) | shapely.is_empty(geometries)))
        return shapely.STRtree(geometries[rows]), rows

    def ids(self, rows: Any = None) -> list[str]:
        """The ids of some rows, or of all."""
        column = self.frame["id"] if rows is None else self.frame["id"].iloc[rows]
        return [str(i) for i in column]

    def rows_of(self, ids: Iterable[str]) -> Ints:
        """The rows of some ids, in order."""
        import pandas as pd

        names = sorted(set(map(str, ids)))
        if self._by_id.is_unique:
            found = self._by_id.get_indexer_for(pd.Index(names))
            return np.sort(found[found >= 0]).astype(np.int64)
        return np.flatnonzero(self._by_id.isin(names)).astype(np.int64)

    def rows_near(self, boxes: Floats) -> Ints:
        """The rows whose boxes meet one of some boxes, in order."""
        import shapely

        tree, rows = self._tree
        asked = boxes[np.isfinite(boxes).all(axis=1)]
        found: Ints = rows[np.unique(tree.query(shapely.box(*asked.T))[1])]
        return found

    def take(self, rows: Ints) -> gpd.GeoDataFrame:
        """Some rows in a plain range."""
        return self.frame.iloc[rows].reset_index(drop=True)

    def part(self, rows: Ints) -> SiteLayer:
        """The layer with some of its rows."""
        return SiteLayer(
            self.kind, self.take(rows), self.extent, self.sources, self.operations, self.issues,
            self.keep, whole=self,
        )  # fmt: skip


class IndexedLayer(SiteLayer):
    """A layer on its index: ``frame`` reads all of it, once, when it is first asked for."""

    def __init__(self, index: ParcelIndex, extent: BaseGeometry | None, keep: tuple[str, ...]):
        # the table stays on disk, so the fields are set without it
        values = {
            "kind": "parcels", "index": index, "extent": extent, "keep": keep, "whole": None,
            "sources": index.told.sources, "operations": index.told.operations,
            "issues": index.told.issues,
        }  # fmt: skip
        for name, value in values.items():
            object.__setattr__(self, name, value)

    index: ParcelIndex

    @cached_property
    def frame(self) -> gpd.GeoDataFrame:
        """All rows."""
        return self.index.take()

    @cached_property
    def boxes(self) -> Floats:
        """The box of each row."""
        return self.index.boxes

    @property
    def bounds(self) -> tuple[float, float, float, float] | None:
        """The box of all rows."""
        return self.index.bounds

    @cached_property
    def summary(self) -> Summary:
        """What is known of the layer as a whole."""
        return self.index.summary

    def ids(self, rows: Any = None) -> list[str]:
        """The ids of some rows, or of all."""
        return self.index.ids(rows)

    def rows_of(self, ids: Iterable[str]) -> Ints:
        """The rows of some ids, in order."""
        return self.index.rows_of(ids)

    def rows_near(self, boxes: Floats) -> Ints:
        """The rows whose boxes meet one of some boxes, in order."""
        return self.index.rows_near(boxes)

    def take(self, rows: Ints) -> gpd.GeoDataFrame:
        """Some rows in a plain range."""
        return self.index.take(rows)

    def with_issues(self, *more: Issue) -> SiteLayer:
        """The layer with more to say."""
        made = IndexedLayer(self.index, self.extent, self.keep)
        object.__setattr__(made, "issues", (*self.issues, *more))
        return made


class StoredLayer(SiteLayer):
    """A layer whose rows lie on disk: ``frame`` reads all of them each time it is asked for."""

    def __init__(self, rows: StoredRows, **known: Any) -> None:
        # the table stays on disk, so the fields are set without it
        for name, value in {**known, "rows": rows, "whole": None}.items():
            object.__setattr__(self, name, value)

    rows: StoredRows

    @property
    def frame(self) -> gpd.GeoDataFrame:
        """All rows, read anew."""
        return self.rows.take()

    @cached_property
    def boxes(self) -> Floats:
        """The box of each row."""
        return self.rows.boxes

    def ids(self, rows: Any = None) -> list[str]:
        """The ids of some rows, or of all."""
        column = self.rows.column("id") if rows is None else self.rows.table(rows)["id"]
        return [str(i) for i in column]

    def rows_of(self, ids: Iterable[str]) -> Ints:
        """The rows of some ids, in order."""
        names = set(map(str, ids))
        return np.flatnonzero(self.rows.column("id").astype(str).isin(names)).astype(np.int64)

    def rows_near(self, boxes: Floats) -> Ints:
        """The rows whose boxes meet one of some boxes, in order."""
        import shapely

        rows = np.flatnonzero(np.isfinite(self.boxes).all(axis=1))
        tree = shapely.STRtree(shapely.box(*self.boxes[rows].T))
        asked = boxes[np.isfinite(boxes).all(axis=1)]
        found: Ints = rows[np.unique(tree.query(shapely.box(*asked.T))[1])]
        return found

    def take(self, rows: Ints) -> gpd.GeoDataFrame:
        """Some rows in a plain range."""
        return self.rows.take(rows)


def stored(layer: SiteLayer, folder: Path) -> SiteLayer:
    """The layer with its rows on disk; as it is where disk would not keep them exactly."""
    if isinstance(layer, IndexedLayer | StoredLayer):
        return layer
    try:
        rows = store_frame(layer.frame, folder)
    except Unstorable:
        return layer
    return StoredLayer(rows, **_known(layer))


def _known(layer: SiteLayer) -> dict[str, Any]:
    """What is known of a layer besides its rows."""
    names = ("kind", "extent", "sources", "operations", "issues", "keep", "summary")
    return {name: getattr(layer, name) for name in names}


def rows_under(parcels: SiteLayer, boxes: Floats) -> Ints:
    """The parcels whose boxes meet one of some boxes, and every other row of theirs."""
    near = parcels.rows_near(boxes)
    # the rows of a parcel belong together
    found: Ints = np.union1d(near, parcels.rows_of(parcels.ids(near)))
    return found


def with_issues(layer: SiteLayer, *more: Issue) -> SiteLayer:
    """A layer with more to say."""
    if isinstance(layer, IndexedLayer):
        return layer.with_issues(*more)
    if isinstance(layer, StoredLayer):
        return StoredLayer(layer.rows, **_known(layer) | {"issues": (*layer.issues, *more)})
    return replace(layer, issues=(*layer.issues, *more))


def summary_of(frame: pd.DataFrame) -> Summary:
    """What is known of a table of features as a whole."""
    import pandas as pd

    accuracy = pd.to_numeric(frame.get("accuracy_ft", pd.Series(dtype=float)), errors="coerce")
    return Summary(
        features=len(frame),
        accuracy_ft=float(accuracy.max()) if accuracy.notna().any() else float("nan"),
        basis=_joined(frame, "basis"),
        source=_joined(frame, "source"),
        source_date=_joined(frame, "source_date"),
    )


def _joined(frame: pd.DataFrame, name: str) -> str:
    if name not in frame.columns:
        return ""
    values = {str(v) for v in frame[name].dropna().unique()} - {"", "None", "nan", "NaT"}
    return "; ".join(sorted(values))
