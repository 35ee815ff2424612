"""A site made ready to measure: features in an order of their own, wetlands grouped, subjects.

All that must be known of a layer as a whole (which wetlands are one wetland, how large it is) is
settled here, before anything is cut into tiles, so that no edge of a tile can turn an answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pandas as pd
import shapely

from wetgis.buffers import bank_polygons
from wetgis.cells import CELL_FT, TILE_CELLS, CellGrid, cut
from wetgis.crs import ft_per_unit
from wetgis.encounters import Groups
from wetgis.overlay import Nearest
from wetgis.schema import SINGULAR
from wetgis.shapes import have_overlaps, normal_order, usable
from wetgis.workers import in_turn

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import geopandas as gpd
    from numpy.typing import NDArray
    from pyproj import CRS
    from shapely.geometry.base import BaseGeometry

    from wetgis.site import Measure, Site, SiteLayer
    from wetgis.terrain import Surface

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]
    Geometries = NDArray[np.object_]

__all__ = ["FeatureSet", "Scene", "Subjects", "feature_set", "hydric", "special_flood"]

#: Kinds whose features a subject may be near; the rest are parts of the frame, not features.
CONTACT_KINDS = (
    "wetlands",
    "watercourses",
    "indicators",
    "soils",
    "floodplain",
    "structures",
    "roads",
    "improvements",
    "utilities",
    "vegetation",
    "stockpiles",
)

#: Layers that hold no features to measure from.
NO_FEATURES = frozenset(
    {"parcels", "municipality", "flags", "trees", "adopted_wetlands", "adopted_watercourses"}
)
#: Kinds of which the records themselves are asked for nothing but areas.
AREAS_ONLY = ("soils", "floodplain")
#: Polygons with more vertices are cut where tiles will lie.
LARGE = 600


class Features(Protocol):
    """Features of one kind, in memory or on disk."""

    @property
    def table(self) -> pd.DataFrame: ...
    @property
    def geometries(self) -> Geometries: ...
    @property
    def groups(self) -> Groups: ...
    @property
    def lines(self) -> Geometries: ...
    @property
    def group_table(self) -> pd.DataFrame: ...
    def __len__(self) -> int: ...
    def window(self, bounds: Floats, *, groups: bool = True) -> FeatureSet: ...


@dataclass(frozen=True)
class FeatureSet:
    """The usable features of one kind, in the order of their normalised WKB.

    ``geometries`` and ``table`` are by record, ``groups`` and ``group_table`` by feature as the
    law counts it.
    """

    kind: str
    geometries: Geometries
    table: pd.DataFrame
    groups: Groups
    group_table: pd.DataFrame
    lines: Geometries = field(default_factory=lambda: np.empty(0, object))

    def __len__(self) -> int:
        return len(self.geometries)

    @cached_property
    def _trees(self) -> tuple[shapely.STRtree, shapely.STRtree, shapely.STRtree]:
        return tuple(
            shapely.STRtree(g) for g in (self.geometries, self.groups.geometries, self.lines)
        )

    def window(self, bounds: Floats, *, groups: bool = True) -> FeatureSet:
        """What lies in or reaches into a box; ``groups``: the whole features, too.

        Here they cost nothing, and are there always.
        """
        box = shapely.box(*bounds)
        records, whole, lines = (np.sort(tree.query(box)) for tree in self._trees)
        g = self.groups
        return FeatureSet(
            self.kind,
            self.geometries[records],
            self.table.iloc[records].reset_index(drop=True),
            Groups(
                g.geometries[whole], g.ids[whole], g.whole_sqft[whole],
                g.whole_boundary_ft[whole], g.first[whole], np.zeros(0, np.int64),
            ),
            self.group_table.iloc[whole].reset_index(drop=True),
            self.lines[lines],
        )  # fmt: skip

    def in_tiles(self, scale: float) -> FeatureSet:
        """The same with its large polygons cut where tiles will lie, for areas.

        So a floodplain of a county is not cut once for every tile. The groups stay whole.
        """
        large = shapely.get_num_coordinates(self.geometries) > LARGE
        grid = CellGrid.over(shapely.bounds(self.geometries[large]), TILE_CELLS * CELL_FT / scale)
        pieces = cut(self.geometries[large], grid)
        of = np.concatenate([np.flatnonzero(~large), np.flatnonzero(large)[pieces.owners]])
        geometries = np.concatenate([self.geometries[~large], pieces.geometries])
        order = np.argsort(of, kind="stable")
        return replace(
            self,
            geometries=geometries[order],
            table=self.table.iloc[of[order]].reset_index(drop=True),
        )

    def select(self, chosen: Bools, scale: float) -> FeatureSet:
        """Some of the records, grouped by id again."""
        geometries, table = self.geometries[chosen], self.table[chosen].reset_index(drop=True)
        return _grouped(self.kind, geometries, table, scale)


def as_read(geometries: Geometries) -> Geometries:
    """Geometries of a layer of a site: the reader has made them 2-D, finite and valid."""
    out = np.array(geometries, dtype=object)
    out[shapely.is_empty(out)] = None
    return out


def feature_set(kind: str, frame: gpd.GeoDataFrame) -> FeatureSet:
    """The usable features of a frame; wetlands are grouped by id and by contact."""
    scale = ft_per_unit(frame.crs)
    drawn = frame.geometry.to_numpy()
    lines = drawn[shapely.get_dimensions(drawn) == 1] if kind == "watercourses" else drawn[:0]
    if kind == "watercourses":
        frame = bank_polygons(frame)
    geometries = as_read(frame.geometry.to_numpy())
    index = np.flatnonzero(~shapely.is_missing(geometries))
    geometries = geometries[index]
    order = normal_order(geometries)
    table = pd.DataFrame(frame.drop(columns=frame.geometry.name)).iloc[index[order]]
    made = _grouped(kind, geometries[order], table.reset_index(drop=True), scale)
    lines = as_read(lines)
    return replace(made, lines=lines[~shapely.is_missing(lines)])


def _grouped(kind: str, geometries: Geometries, table: pd.DataFrame, scale: float) -> FeatureSet:
    ids = table["id"].astype(str).to_numpy(dtype=object)
    groups = Groups.by_id(geometries, ids, scale, touching=kind == "wetlands")
    return FeatureSet(
        kind, geometries, table, groups, table.iloc[groups.first].reset_index(drop=True)
    )


class Asked(Protocol):
    """Subjects in memory or on disk: their boxes, and some of them in memory."""

    @property
    def bounds(self) -> Floats: ...
    def take(self, index: Ints | Bools) -> Subjects: ...


@dataclass(frozen=True)
class Subjects:
    """What is asked about: ``geometries`` may hold None; ``table`` has a row for each."""

    geometries: Geometries
    table: pd.DataFrame

    def __len__(self) -> int:
        return len(self.geometries)

    def take(self, index: Ints | Bools) -> Subjects:
        """Some of them."""
        return Subjects(
            self.geometries[index],
            self.table[index].reset_index(drop=True)
            if index.dtype == bool
            else self.table.iloc[index].reset_index(drop=True),
        )

    @cached_property
    def bounds(self) -> Floats:
        """Boxes, NaN where there is no geometry."""
        out: Floats = shapely.bounds(self.geometries)
        return out

    @classmethod
    def of(cls, layer: SiteLayer) -> Subjects:
        """The subjects of a layer: every row, usable or not."""
        frame = layer.frame
        table = pd.DataFrame(frame.drop(columns=frame.geometry.name)).reset_index(drop=True)
        table = table.rename(columns={"id": "subject_id"})
        table.insert(0, "subject_kind", SINGULAR[layer.kind])
        if "record" not in table.columns:
            table["record"] = table.groupby("subject_id").cumcount() + 1
        return cls(as_read(frame.geometry.to_numpy()), table)

    def __add__(self, other: Subjects) -> Subjects:
        table = (
            pd.concat([self.table, other.table], ignore_index=True)
            if len(other) and len(self)
            else (self.table if len(self) else other.table)
        )
        return Subjects(np.concatenate([self.geometries, other.geometries]), table)


@dataclass(frozen=True)
class Scene:
    """Everything a tile needs, in CRS units; ``scale`` is US survey feet per unit."""

    crs: CRS
    scale: float
    measure: Measure
    features: Mapping[str, Features]
    near: Mapping[str, Features]
    extents: dict[str, BaseGeometry | None]
    limit: BaseGeometry | None
    surfaces: dict[str, Surface]
    #: whether the flood layer draws the ground outside the floodplain too
    draws_clear: bool = False
    #: whether soil units overlap anywhere
    soils_overlap: bool = False
    _nearest: dict[str, Nearest] = field(
        init=False, default_factory=dict, repr=False, compare=False
    )

    @property
    def distance(self) -> float:
        """The buffer's width in CRS units, 0 where it is not known."""
        return self.measure.buffer_ft / self.scale if np.isfinite(self.measure.buffer_ft) else 0.0

    def given(self, kind: str) -> bool:
        """Whether a layer of the kind was given."""
        return kind in self.features

    def nearest(self, kind: str, size: float, *, keep: bool) -> Nearest:
        """A layer ready to be asked how far it is; with ``keep`` it stays ready."""
        if kind in self._nearest:
            return self._nearest[kind]
        made = Nearest(self.near[kind].geometries, size)
        if keep:
            self._nearest[kind] = made
        return made

    def window(self, bounds: Floats, *, full: bool = True) -> Scene:
        """The scene as one tile sees it; ``full``: with all that contacts are asked of."""
        features = {
            # whether an overlap is a sliver is asked of whole wetlands and watercourses
            k: f.window(bounds, groups=full or k in ("wetlands", "watercourses"))
            for k, f in self.features.items()
        }
        near = {
            k: features[k] if f is self.features.get(k) else f.window(bounds)
            for k, f in self.near.items()
            if full
        }
        return replace(self, features=features, near=near)

    @classmethod
    def ground_of(cls, site: Site) -> Scene:
        """A site without its features: enough for its terrain."""
        limit = site.layers.get("municipality")
        return cls(
            site.crs,
            ft_per_unit(site.crs),
            site.measure,
            {},
            {},
            {k: v.extent for k, v in site.layers.items()},
            shapely.union_all(usable(limit.frame.geometry.to_numpy())[0]) if limit else None,
            _surfaces(site),
        )

    @classmethod
    def from_site(
        cls,
        site: Site,
        ground: Scene | None = None,
        prepare: Callable[[str], Prepared] | None = None,
    ) -> Scene:
        """Make a site ready to measure.

        ``ground``: from ``ground_of``, where it is made. ``prepare``: makes the layer of a kind
        ready, where that is not done in memory.
        """
        ground = cls.ground_of(site) if ground is None else ground
        kinds = [k for k in site.layers if k not in NO_FEATURES]
        make = prepare or partial(_in_memory, site, ground.scale)
        made = dict(zip(kinds, in_turn(make, kinds), strict=True))
        features = {k: one.features for k, one in made.items()}
        return replace(
            ground,
            features=features,
            near={k: one.near for k, one in made.items() if k in CONTACT_KINDS},
            draws_clear="floodplain" in features and draws_clear(features["floodplain"]),
            soils_overlap=any(one.overlap for one in made.values()),
        )


@dataclass(frozen=True)
class Prepared:
    """A layer made ready: all of it, what a subject may be near, whether soil units overlap."""

    features: Features
    near: Features
    overlap: bool


def prepared(kind: str, made: FeatureSet, measure: Measure, scale: float) -> Prepared:
    """Features in memory made ready."""
    near = _near(made, measure.hydric_pct, scale)
    overlap = kind == "soils" and have_overlaps(made.geometries)
    return Prepared(made.in_tiles(scale) if kind in AREAS_ONLY else made, near, overlap)


def _in_memory(site: Site, scale: float, kind: str) -> Prepared:
    return prepared(kind, feature_set(kind, site.layers[kind].frame), site.measure, scale)


def hydric(features: Features, threshold_pct: float) -> tuple[Bools, Floats, Bools]:
    """Which soil units are hydric, their low percentage (NaN where not rated), which are rated."""
    column = features.table.get("hydric_pct_low")
    low = (
        np.full(len(features.table), np.nan) if column is None
        else pd.to_numeric(column, errors="coerce").to_numpy(float)
    )  # fmt: skip
    with np.errstate(invalid="ignore"):
        return low >= threshold_pct, low, np.isfinite(low)


def special_flood(features: Features) -> tuple[Bools, Bools, Bools]:
    """Which flood features are special flood hazard area, floodway, and known to be neither."""
    table = features.table
    sfha = (
        table["sfha"].astype(str).str.upper()
        if "sfha" in table.columns
        else pd.Series("T", index=table.index)
    )
    subtype = table["subtype"] if "subtype" in table.columns else pd.Series("", index=table.index)
    special = (sfha == "T").to_numpy()
    way = subtype.astype(str).str.upper().str.startswith("FLOODWAY").to_numpy()
    return special, way & special, (sfha == "F").to_numpy()


def _near(features: FeatureSet, hydric_pct: float, scale: float) -> FeatureSet:
    """What subjects may be near: of soils the hydric units, of flood zones the special ones."""
    if features.kind == "soils":
        return features.select(hydric(features, hydric_pct)[0], scale)
    if features.kind == "floodplain":
        return features.select(special_flood(features)[0], scale)
    return features


def draws_clear(features: Features) -> bool:
    return "sfha" in features.table.columns and bool((features.table["sfha"] == "F").any())


def _surfaces(site: Site) -> dict[str, Any]:
    if not site.rasters:
        return {}
    from wetgis.terrain import open_surface

    return {
        kind: open_surface(layer.paths, kind=kind, z_unit=layer.z_unit)
        for kind, layer in site.rasters.items()
    }
