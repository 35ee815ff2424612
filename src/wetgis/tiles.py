"""The work of one tile, a function of what it is handed and of nothing else.

Tiles are blocks of cells, anchored at the origin of the coordinate system. A subject belongs to
the tile that holds the middle of its box. A tile's scene is a window that holds every feature
within the largest legal distance of its subjects; features are in an order of their own, and what
is united is united cell by cell, so the numbers do not depend on tiles or workers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import geopandas as gpd
import numpy as np
import pandas as pd
import shapely

from wetgis.cells import CELL_FT, TILE_CELLS, CellGrid
from wetgis.encounters import boundary_inside, encounters, slivers
from wetgis.measures import measure
from wetgis.parts import make_parts, place_lengths
from wetgis.schema import CONTACT_COLUMNS, PART_COLUMNS, SINGULAR

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wetgis.buffers import Audit
    from wetgis.scene import Asked, Features, Scene, Subjects

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]

__all__ = ["FLAGS", "TILE_CELLS", "TileResult", "TileWork", "plan", "run_tile", "work_of"]

#: What a tile says of each subject with yes or no.
FLAGS = ("sliver", "crossed", "unmapped_reach_wetlands", "unmapped_reach_watercourses")
_TEXT = ("name", "class", "source", "basis")
_MORE_TEXT = ("regulator", "flow", "measured_from", "source_date")


@dataclass(frozen=True)
class TileWork:
    """All that a worker is handed. ``index``: positions of the subjects in the run."""

    index: Ints
    scene: Scene
    subjects: Subjects
    reach: float
    full: bool
    threads: int = 2


@dataclass(frozen=True)
class TileResult:
    """What a worker hands back; tables are by position in the run."""

    index: Ints
    columns: dict[str, Floats]
    flags: dict[str, Bools]
    contacts: gpd.GeoDataFrame
    parts: gpd.GeoDataFrame
    buffer: NDArray[np.object_]
    audit: Audit
    rebuilt: tuple[str, ...] = field(default=())


#: More subjects than this are not worked on at once: a tile of small lots is divided.
MOST = 20_000


def plan(subjects: Asked, scale: float) -> list[Ints]:
    """The subjects of each tile, tiles in order; those without a geometry come last."""
    bounds = subjects.bounds
    usable = np.flatnonzero(np.isfinite(bounds).all(axis=1))
    middle = (bounds[:, :2] + bounds[:, 2:]) / 2
    rest = np.setdiff1d(np.arange(len(bounds)), usable)
    blocks = _by_square(usable, middle, CELL_FT / scale, TILE_CELLS)
    return [b for b in (*blocks, rest) if len(b)]


def _by_square(index: Ints, middle: Floats, cell: float, cells: int) -> list[Ints]:
    """Subjects by the square of so many cells that holds their middle, halved where full."""
    column, row = np.floor(middle[index] / (cells * cell)).astype(np.int64).T
    order = np.lexsort((row, column))
    new = (np.diff(column[order]) != 0) | (np.diff(row[order]) != 0)
    out: list[Ints] = []
    for block in np.split(index[order], np.flatnonzero(new) + 1):
        full = len(block) > MOST and cells > 1
        out += _by_square(np.sort(block), middle, cell, cells // 2) if full else [block]
    return out


def work_of(
    scene: Scene, subjects: Asked, index: Ints, reach: float, *, full: bool, threads: int
) -> TileWork:
    """Cut out what a tile needs: all features that reach the cells under its subjects."""
    own = subjects.take(index)
    grid = CellGrid.over(own.bounds, CELL_FT / scene.scale)
    # a hair more than the largest distance, so that "exactly at it" is never lost
    margin = max(reach, scene.distance) * 1.01 + 1.0
    window = grid.bounds + np.array([-margin, -margin, margin, margin])
    return TileWork(index, scene.window(window, full=full), own, reach, full, threads)


def run_tile(work: TileWork) -> TileResult:
    """Measure the subjects of a tile, and with ``full`` find their contacts and parts."""
    scene, subjects = work.scene, work.subjects
    found = measure(scene, subjects, threads=work.threads)
    columns = dict(found.columns)
    buffer: NDArray[np.object_] = np.empty(0, object)
    if not work.full:
        contacts, parts = empty_contacts(scene.crs), empty_parts(scene.crs)
    else:
        contacts = make_contacts(scene, subjects, work.reach)
        parts = make_parts(scene, found.ground, subjects, columns)
        lengths = place_lengths(subjects, parts, scene.scale)
        line = np.isfinite(lengths["length_ft"])
        for name, values in lengths.items():
            columns[name] = np.where(line, values, columns.get(name, np.nan))
        buffer = found.ground.places["buffer"].geometries
    flags = {
        "sliver": found.sliver,
        "crossed": found.crossed,
        **{f"unmapped_reach_{kind}": near for kind, near in found.unmapped_reach.items()},
    }
    audit = found.ground.audit
    return TileResult(
        work.index, columns, flags, contacts, parts, buffer, audit, _rebuilt_ids(scene, audit)
    )


def _rebuilt_ids(scene: Scene, audit: Audit) -> tuple[str, ...]:
    ids = [
        f"{kind}:{i}"
        for kind in ("wetlands", "watercourses")
        if scene.given(kind)
        for i in scene.features[kind].table["id"].astype(str)
    ]
    return tuple(ids[k] for k in audit.rebuilt)


def make_contacts(scene: Scene, subjects: Subjects, reach: float) -> gpd.GeoDataFrame:
    """Every subject and feature within a distance (CRS units), nearest first."""
    tables = [
        _contacts_with(scene, subjects, kind, features, reach)
        for kind, features in scene.near.items()
        if len(features.groups.ids)
    ]
    tables = [t for t in tables if len(t)]
    if not tables:
        return empty_contacts(scene.crs)
    joined = pd.concat(tables, ignore_index=True)
    order = np.lexsort(
        (
            joined["feature_id"].to_numpy(str),
            joined["distance_ft"].to_numpy(),
            joined["feature_kind"].to_numpy(str),
            joined["_subject"].to_numpy(),
        )
    )
    frame = gpd.GeoDataFrame(joined.iloc[order].reset_index(drop=True), crs=scene.crs)
    return frame.drop(columns="_subject")


def _contacts_with(
    scene: Scene, subjects: Subjects, kind: str, features: Features, reach: float
) -> gpd.GeoDataFrame:
    groups = features.groups
    found = encounters(subjects.geometries, groups, reach, scene.scale)
    if not len(found.subject):
        return gpd.GeoDataFrame()
    names = subjects.table[["subject_kind", "subject_id", "record"]].iloc[found.subject]
    table = names.reset_index(drop=True).assign(
        feature_kind=SINGULAR[kind], feature_id=groups.ids[found.group]
    )
    about = features.group_table
    for name in (*_TEXT, *_MORE_TEXT):
        table[name] = _text(about, name)[found.group]
    table = table.assign(
        distance_ft=found.distance_ft,
        area_sqft=found.area_sqft,
        length_ft=found.length_ft,
        whole_sqft=groups.whole_sqft[found.group],
        sliver=slivers(subjects.geometries, groups, found, scene.scale),
        boundary_ft=0.0,
        whole_boundary_ft=groups.whole_boundary_ft[found.group],
        accuracy_ft=_number(about, "accuracy_ft")[found.group],
        piped=_truth(about, "piped")[found.group],
        truncated=_truncated(scene, kind, features)[found.group],
        _subject=found.subject,
    )
    if np.isfinite(table["accuracy_ft"].to_numpy(float)).any():
        table["boundary_ft"] = boundary_inside(subjects.geometries, groups, found, scene.scale)
    return gpd.GeoDataFrame(table, geometry=gpd.GeoSeries(found.shortest, crs=scene.crs))


def _text(table: pd.DataFrame, name: str) -> NDArray[np.object_]:
    if name not in table.columns:
        return np.full(len(table), "", dtype=object)
    values = table[name].to_numpy(dtype=object, copy=True)
    values[pd.isna(values)] = ""
    return np.array([str(v) for v in values], dtype=object)


def _number(table: pd.DataFrame, name: str) -> Floats:
    if name not in table.columns:
        return np.full(len(table), np.nan)
    return pd.to_numeric(table[name], errors="coerce").to_numpy(float)


def _truth(table: pd.DataFrame, name: str) -> Bools:
    words = pd.Series(_text(table, name)).str.lower()
    return words.isin(["true", "1", "1.0", "t", "y", "yes"]).to_numpy()


def _truncated(scene: Scene, kind: str, features: Features) -> Bools:
    """Features that reach the edge of what their layer covers, and so may go on beyond it."""
    extent = scene.extents.get(kind)
    if extent is None:
        return np.zeros(len(features.groups.ids), bool)
    edge = shapely.boundary(extent)
    out: Bools = shapely.dwithin(features.groups.geometries, edge, 0.05 / scene.scale)
    return out


def empty_contacts(crs: Any) -> gpd.GeoDataFrame:
    """The table of contacts without a row."""
    return _empty(CONTACT_COLUMNS, crs)


def empty_parts(crs: Any) -> gpd.GeoDataFrame:
    """The table of parts without a row."""
    return _empty(PART_COLUMNS, crs)


def _empty(columns: tuple[str, ...], crs: Any) -> gpd.GeoDataFrame:
    return gpd.GeoDataFrame(_no_rows(columns).copy(), geometry=gpd.GeoSeries([], crs=crs))


@cache
def _no_rows(columns: tuple[str, ...]) -> pd.DataFrame:
    types = {
        c: float if c.endswith(("_ft", "_sqft")) else (np.int64 if c == "record" else str)
        for c in columns
    }
    return pd.DataFrame({c: pd.Series(dtype=t) for c, t in types.items()})
