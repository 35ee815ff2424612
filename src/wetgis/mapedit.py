"""Try changes of the map by hand: each edit measures again the parcels that it can reach."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import shapely

from wetgis.amendment.effects import buffer_counts, reduced
from wetgis.amendment.maps import MAPPED, current_map
from wetgis.cells import CELL_FT, CellGrid
from wetgis.errors import GeometryError, InputError, UsageError
from wetgis.issuelog import IssueLog
from wetgis.measures import measure
from wetgis.scene import Scene, Subjects, feature_set
from wetgis.schema import EPS_SQFT, PARTITION_COLUMNS
from wetgis.shapes import mend, normal_order
from wetgis.sitelayers import givens, read
from wetgis.tiles import plan

if TYPE_CHECKING:
    import geopandas as gpd
    from numpy.typing import NDArray

    from wetgis.site import Site

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Record = dict[str, Any]

__all__ = ["MapEdit"]

FEW = 1000
MEASURED = ("area_sqft", *PARTITION_COLUMNS)
_SHOWN = ("wetland", "watercourse", "buffer", "regulated")


@dataclass(frozen=True)
class _Step:
    """What an edit took out and put in, and the measures that it replaced."""

    gone: dict[int, Record]
    come: dict[int, Record]
    parcels: Ints
    measures: Floats


class MapEdit:
    """The map of a site under edit, with the places of every parcel kept up to date.

    Parameters
    ----------
    site : Site
        With parcels. The map is ``adopted_wetlands`` and ``adopted_watercourses`` where they are
        given, else ``wetlands`` and ``watercourses``. The site itself is never changed.
    kind : str
        Which of both is edited: ``wetlands`` or ``watercourses``.

    Attributes
    ----------
    features : GeoDataFrame
        The map as it stands, in order of ids; ``wetgis.amend(site, edit.features, mode="whole")``
        makes the papers.
    measures : DataFrame
        A row a parcel: ``parcel_id``, ``record``, ``area_sqft`` and the six places.

    Notes
    -----
    Edits take the time of the parcels around them, not of the county: features stand in an R-tree
    that is edited with them, and what a cell of the grid holds depends on the features in it
    alone. The numbers are those of a full run, to the bit; an edit and its inverse leave the same
    bytes.

    Examples
    --------
    >>> import geopandas, shapely, wetgis
    >>> def one(*box):
    ...     return geopandas.GeoDataFrame(
    ...         {"id": ["W"]}, geometry=[shapely.box(*box)], crs="EPSG:2260")
    >>> site = wetgis.Site.from_layers(
    ...     parcels=one(717000, 783000, 717400, 783400),
    ...     wetlands=one(717000, 783000, 717100, 783100), measure={"buffer_ft": 100})
    >>> edit = MapEdit(site)
    >>> edit.replace("W", shapely.box(717000, 783000, 717120, 783100))["wetland_change_sqft"].item()
    2000.0
    >>> len(edit.undo())
    1
    """

    def __init__(self, site: Site, *, kind: str = "wetlands") -> None:
        if kind not in MAPPED:
            raise UsageError(f"the kind is '{kind}'.", needed="wetlands or watercourses")
        if "parcels" not in site.layers:
            raise InputError("the site has no parcels.", needed="a layer of parcels")
        current = current_map(site, kind, IssueLog())
        rest = {k: v for k, v in site.layers.items() if k not in MAPPED}
        self.site, self.kind = site, kind
        self._base = Scene.from_site(reduced(replace(site, layers={**rest, **current.layers})))
        self._counts = ("wetland", "watercourse", "buffer")[: 3 if buffer_counts(site) else 2]
        frame = current.layers[kind].frame
        self._columns = [c for c in frame.columns if c != "geometry"]
        records = frame[frame.geometry.notna() & ~frame.geometry.is_empty]
        self._records: dict[int, Record] = dict(enumerate(records.to_dict("records")))
        self._next = len(self._records)
        self._parcels = Subjects.of(site.layers["parcels"])
        self._parcel_tree = shapely.STRtree(self._parcels.geometries)
        self._steps: list[_Step] = []
        self._index = self._indexed()
        self._values = self.measure_all()

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the R-trees, which pickling would empty."""
        return {k: v for k, v in self.__dict__.items() if k not in ("_index", "_parcel_tree")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._parcel_tree = shapely.STRtree(self._parcels.geometries)
        self._index = self._indexed()

    def __repr__(self) -> str:
        return f"<MapEdit of {len(self._records)} {self.kind}, {len(self._steps)} edits>"

    # ---- what it holds

    @property
    def features(self) -> gpd.GeoDataFrame:
        """The map as it stands."""
        frame = self._frame(self._records)
        place = np.argsort(normal_order(frame.geometry.to_numpy()))
        order = np.lexsort((place, frame["id"].astype(str).to_numpy(str)))
        return frame.iloc[order].reset_index(drop=True)

    @property
    def measures(self) -> pd.DataFrame:
        """The places of every parcel on the map as it stands."""
        about = self._parcels.table
        table = pd.DataFrame(
            {"parcel_id": about["subject_id"].astype(str), "record": about["record"]}
        )
        return table.assign(**{n: self._values[:, k].copy() for k, n in enumerate(MEASURED)})

    # ---- edits

    def add(self, feature: Any, *, id: str | None = None, **attributes: Any) -> pd.DataFrame:
        """Add features.

        Parameters
        ----------
        feature : geometry, GeoDataFrame or path
            A geometry is in the site's CRS; anything else is read as a layer is.
        id : str, optional
            Of a geometry; without it one is made of its coordinates.
        **attributes
            Of a geometry.

        Returns
        -------
        DataFrame
            The parcels that the edit changed: ``parcel_id``, ``record``, and for wetland,
            watercourse, buffer and regulated ``_before_sqft``, ``_after_sqft``, ``_change_sqft``.

        Raises
        ------
        InputError
            Where an id is on the map already.
        GeometryError
            Where a geometry is empty, missing or not finite.
        """
        records = self._taken(feature, id, attributes)
        known = {str(r["id"]) for r in self._records.values()}
        for record in records:
            if str(record["id"]) in known:
                raise InputError(f"the map has a feature '{record['id']}' already.",
                                 mend="replace it, or give another id")  # fmt: skip
        return self._edit({}, records)

    def replace(self, id: str, feature: Any, **attributes: Any) -> pd.DataFrame:
        """Replace all records of a feature; attributes that are not given stay. See `add`."""
        gone = self._of(id)
        was = next(iter(gone.values()))
        if isinstance(feature, shapely.geometry.base.BaseGeometry):
            attributes = {**{k: v for k, v in was.items() if k not in ("geometry", "id")},
                          **attributes}  # fmt: skip
        records = [{**r, "id": str(id)} for r in self._taken(feature, str(id), attributes)]
        return self._edit(gone, records)

    def remove(self, id: str) -> pd.DataFrame:
        """Take a feature off the map. See `add`."""
        return self._edit(self._of(id), [])

    def undo(self) -> pd.DataFrame:
        """Take the last edit back.

        Raises
        ------
        UsageError
            Where there is nothing to take back.
        """
        if not self._steps:
            raise UsageError("there is no edit to take back.")
        step = self._steps.pop()
        self._swap(step.come, step.gone)
        before = self._values[step.parcels].copy()
        self._values[step.parcels] = step.measures
        return self._told(step.parcels, before)

    # ---- how it works

    def _of(self, id: str) -> dict[int, Record]:
        found = {h: r for h, r in self._records.items() if str(r["id"]) == str(id)}
        if not found:
            raise InputError(f"the map has no feature '{id}'.", needed="an id of .features")
        return found

    def _taken(self, feature: Any, id: str | None, attributes: dict[str, Any]) -> list[Record]:
        """What is to be added, as records."""
        if isinstance(feature, shapely.geometry.base.BaseGeometry) or feature is None:
            name = id or f"{self.kind}-{_digest(feature)}"
            records = [{**attributes, "id": name, "geometry": feature}]
        else:
            pieces = [read(g, self.site.crs) for g in
                      givens(self.kind, feature, base=None, where="MapEdit")]  # fmt: skip
            records = [r for p in pieces for r in p.frame.to_dict("records")]
        shapes = np.empty(len(records), object)
        shapes[:] = [r["geometry"] for r in records]
        mended = mend(shapes)
        if shapely.is_missing(mended).any():
            raise GeometryError("a feature has no usable geometry.",
                                needed="finite coordinates, not empty")  # fmt: skip
        return [{**r, "geometry": g} for r, g in zip(records, mended, strict=True)]

    def _edit(self, gone: dict[int, Record], records: list[Record]) -> pd.DataFrame:
        come = dict(enumerate(records, start=self._next))
        self._next += len(records)
        for record in records:
            self._columns += [c for c in record if c not in self._columns and c != "geometry"]
        shapes = [r["geometry"] for r in (*gone.values(), *come.values())]
        parcels = self._reached(self._frame(dict(enumerate(
            [{"id": "", **r} for r in (*gone.values(), *come.values())]
        ))) if shapes else None)  # fmt: skip
        before = self._values[parcels].copy()
        self._swap(gone, come)
        self._values[parcels] = self._measure(parcels)
        self._steps.append(_Step(gone, come, parcels, before))
        return self._told(parcels, before)

    def _swap(self, gone: dict[int, Record], come: dict[int, Record]) -> None:
        """Features out and in, here and in the R-tree."""
        for handle, record in gone.items():
            self._index.delete(handle, self._box(record))
            del self._records[handle]
        for handle, record in come.items():
            self._index.insert(handle, self._box(record))
            self._records[handle] = record

    def _box(self, record: Record) -> tuple[float, ...]:
        """The box of a feature between its banks."""
        half = record.get("half_width_ft")
        half = float(half) if half is not None and half == half and half != "" else 0.0
        box = np.asarray(record["geometry"].bounds, float)
        return tuple(box + np.array([-1.0, -1.0, 1.0, 1.0]) * half / self._base.scale)

    def _indexed(self) -> Any:
        from rtree.index import Index

        if not self._records:
            return Index()
        return Index(((h, self._box(r), None) for h, r in self._records.items()))

    def _frame(self, records: dict[int, Record]) -> gpd.GeoDataFrame:
        import geopandas as gpd

        table = pd.DataFrame(list(records.values()), columns=[*self._columns, "geometry"])
        return gpd.GeoDataFrame(table, geometry="geometry", crs=self.site.crs)

    def _reached(self, frame: gpd.GeoDataFrame | None) -> Ints:
        """Parcels that meet a cell in which a feature or its buffer lies."""
        if frame is None or not len(frame):
            return np.zeros(0, np.int64)
        size = CELL_FT / self._base.scale
        margin = self._base.distance * 1.01 + 1.0
        boxes = shapely.bounds(feature_set(self.kind, frame).geometries)
        spread = np.vstack([boxes, shapely.bounds(frame.geometry.to_numpy())])
        spread = spread + np.array([-margin, -margin, margin, margin])
        low = np.floor(spread[:, :2] / size) * size
        high = (np.floor(spread[:, 2:] / size) + 1) * size
        cells = shapely.box(low[:, 0], low[:, 1], high[:, 0], high[:, 1])
        found = self._parcel_tree.query(np.atleast_1d(cells))[1]
        return np.unique(found).astype(np.int64)

    def _measure(self, parcels: Ints) -> Floats:
        """The places of some parcels on the map as it stands."""
        out = np.full((len(parcels), len(MEASURED)), np.nan)
        own = self._parcels.take(parcels)
        for block in plan(own, self._base.scale):
            part = own.take(block)
            # starting a thread takes longer than a few hundred parcels
            threads = 1 if len(block) < FEW else 2
            columns = measure(self._scene(part), part, threads=threads).columns
            out[block] = np.column_stack([columns[n] for n in MEASURED])
        return out

    def _scene(self, subjects: Subjects) -> Scene:
        """The base with the features that the R-tree finds around subjects."""
        base = self._base
        margin = base.distance * 1.01 + 1.0
        window = CellGrid.over(subjects.bounds, CELL_FT / base.scale).bounds
        window = window + np.array([-margin, -margin, margin, margin])
        near = {h: self._records[h] for h in sorted(self._index.intersection(tuple(window)))}
        features = {k: f.window(window) for k, f in base.features.items() if k != self.kind}
        features[self.kind] = feature_set(self.kind, self._frame(near))
        return replace(base, features=features, near={})

    def measure_all(self) -> Floats:
        """Measure every parcel anew: rows by parcel, columns ``MEASURED``; changes nothing."""
        return self._measure(np.arange(len(self._parcels)))

    def _told(self, parcels: Ints, before: Floats) -> pd.DataFrame:
        """The parcels that an edit changed, in sq ft."""
        after = self._values[parcels]
        about = self._parcels.table.iloc[parcels]
        table = pd.DataFrame(
            {"parcel_id": about["subject_id"].astype(str).to_numpy(),
             "record": about["record"].to_numpy()})  # fmt: skip
        moved = np.zeros(len(parcels), bool)
        for place in _SHOWN:
            a, b = (self._place(v, place) for v in (before, after))
            table[f"{place}_before_sqft"], table[f"{place}_after_sqft"] = a, b
            table[f"{place}_change_sqft"] = np.where(np.abs(b - a) < 1e-6, 0.0, b - a)
            moved |= np.abs(b - a) > EPS_SQFT
        return table[moved].reset_index(drop=True)

    def _place(self, values: Floats, place: str) -> Floats:
        wanted: Iterable[str] = self._counts if place == "regulated" else (place,)
        found = values[:, [MEASURED.index(f"{w}_sqft") for w in wanted]]
        known = np.isfinite(found)
        sums: Floats = np.where(known.any(axis=1), np.where(known, found, 0.0).sum(axis=1), np.nan)
        return sums


def _digest(geometry: Any) -> str:
    import hashlib

    return hashlib.sha256(shapely.to_wkb(shapely.normalize(geometry))).hexdigest()[:10]
