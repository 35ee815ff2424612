"""The features of a large layer on disk: made ready some at a time, read by window.

What must be known of the layer as a whole (the order of its features, which wetlands are one
wetland and how large it is, whether soil units overlap) is worked out here as for a layer in
memory, by the same functions, with no more than a few hundred thousand vertices at once.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import shapely

from wetgis.cells import CELL_FT, TILE_CELLS, CellGrid
from wetgis.encounters import Groups, components, names_of, sizes_of
from wetgis.geometryfile import GeometryFile, GeometryWriter
from wetgis.heldlayers import StoredLayer
from wetgis.scene import (
    FeatureSet,
    Prepared,
    Scene,
    as_read,
    feature_set,
    hydric,
    prepared,
    special_flood,
)
from wetgis.schema import SNAP_FT
from wetgis.shapes import have_overlaps, order_of, union_groups

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wetgis.site import Measure, Site

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]
    Geometries = NDArray[np.object_]

__all__ = ["StoredFeatures", "in_bulk", "on_disk", "scene_on_disk"]

#: Layers with fewer vertices stay in memory.
SMALL = 200_000
#: Vertices that are in memory at once.
BULK = 400_000


@dataclass(frozen=True)
class StoredFeatures:
    """What a `FeatureSet` holds, with the geometries on disk.

    ``records``, ``table``: by record; ``whole``, ``ids``, ``whole_sqft``, ``whole_boundary_ft``,
    ``group_table``: by feature as the law counts it; ``drawn``: lines of watercourses.
    """

    kind: str
    records: GeometryFile
    table: pd.DataFrame
    whole: GeometryFile
    ids: NDArray[np.object_]
    whole_sqft: Floats
    whole_boundary_ft: Floats
    first: Ints
    group_table: pd.DataFrame
    drawn: GeometryFile

    def __len__(self) -> int:
        return len(self.records)

    def window(self, bounds: Floats, *, groups: bool = True) -> FeatureSet:
        """What lies in or reaches into a box; ``groups``: the whole features, too."""
        whole = self.whole.meeting(bounds) if groups else np.zeros(0, np.int64)
        return self._some(self.records.meeting(bounds), whole, self.drawn.meeting(bounds))

    def _some(self, records: Ints, groups: Ints, lines: Ints) -> FeatureSet:
        return FeatureSet(
            self.kind,
            self.records.take(records),
            self.table.iloc[records].reset_index(drop=True),
            Groups(
                self.whole.take(groups), self.ids[groups], self.whole_sqft[groups],
                self.whole_boundary_ft[groups], self.first[groups], np.zeros(0, np.int64),
            ),
            self.group_table.iloc[groups].reset_index(drop=True),
            self.drawn.take(lines),
        )  # fmt: skip

    @property
    def geometries(self) -> Geometries:
        """All records, read anew."""
        return self.records.take(np.arange(len(self.records)))

    @property
    def lines(self) -> Geometries:
        """All lines of watercourses, read anew."""
        return self.drawn.take(np.arange(len(self.drawn)))

    @property
    def groups(self) -> Groups:
        """All features, read anew."""
        every = np.arange(len(self.whole))
        return self._some(np.zeros(0, np.int64), every, np.zeros(0, np.int64)).groups


def scene_on_disk(site: Site, ground: Scene, folder: Path) -> Scene:
    """The scene of a site whose layers lie on disk; what is made of them goes to a folder."""

    def prepare(kind: str) -> Prepared:
        layer = site.layers[kind]
        own = folder / kind
        shutil.rmtree(own, ignore_errors=True)
        if isinstance(layer, StoredLayer):
            return on_disk(kind, layer, site.measure, ground.scale, own)
        return prepared(kind, feature_set(kind, layer.frame), site.measure, ground.scale)

    return Scene.from_site(site, ground, prepare)


def on_disk(
    kind: str, layer: StoredLayer, measure: Measure, scale: float, folder: Path
) -> Prepared:
    """Make a layer on disk ready to be measured against; small ones are read."""
    if int(layer.rows.shapes.vertices.sum()) < SMALL:
        return prepared(kind, feature_set(kind, layer.frame), measure, scale)
    if kind == "watercourses" and "half_width_ft" in layer.rows.like.columns:
        # banks are drawn with an eye on the widest of all
        made = _kept(feature_set(kind, layer.frame), folder)
    else:
        made = _sorted(kind, layer, scale, folder)
    return _ready(kind, made, measure, scale, folder)


def _ready(
    kind: str, made: StoredFeatures, measure: Measure, scale: float, folder: Path
) -> Prepared:
    chosen = None
    if kind == "soils":
        chosen = hydric(made, measure.hydric_pct)[0]
    elif kind == "floodplain":
        chosen = special_flood(made)[0]
    if chosen is None:
        return Prepared(made, made, overlap=False)
    near = _selected(made, chosen, scale, folder / "near")
    overlap = kind == "soils" and _overlap(made.records, scale)
    return Prepared(_in_tiles(made, scale, folder / "tiles"), near, overlap)


# ---------------------------------------------------------------- some at a time


def in_bulk(vertices: Ints) -> Iterator[slice]:
    """Runs of geometries that have no more vertices together than may be in memory."""
    total = np.cumsum(vertices)
    start = 0
    while start < len(total):
        before = total[start - 1] if start else 0
        stop = max(int(np.searchsorted(total, before + BULK, side="right")), start + 1)
        yield slice(start, stop)
        start = stop


def _copied(source: GeometryFile, rows: Ints, folder: Path) -> GeometryFile:
    """Some rows of a file as a file of their own."""
    writer = GeometryWriter(folder)
    writer.copy(source, rows)
    return writer.close()


def _kept(made: FeatureSet, folder: Path) -> StoredFeatures:
    """Features that are in memory, on disk."""
    files = []
    for name, geometries in (
        ("records", made.geometries), ("groups", made.groups.geometries), ("lines", made.lines),
    ):  # fmt: skip
        writer = GeometryWriter(folder / name)
        for part in in_bulk(shapely.get_num_coordinates(geometries)):
            writer.append(geometries[part])
        files.append(writer.close())
    g = made.groups
    return StoredFeatures(
        made.kind, files[0], made.table, files[1], g.ids, g.whole_sqft, g.whole_boundary_ft,
        g.first, made.group_table, files[2],
    )  # fmt: skip


def _sorted(kind: str, layer: StoredLayer, scale: float, folder: Path) -> StoredFeatures:
    """The usable records of a layer in their normal order, grouped."""
    shapes = layer.rows.shapes
    index = np.flatnonzero(np.isfinite(shapes.boxes).all(axis=1))
    order = order_of(
        shapes.boxes[index], shapes.vertices[index], lambda tied: shapes.take(index[tied])
    )
    records = _copied(shapes, index[order], folder / "records")
    table = layer.rows.table(index[order])
    lines = GeometryWriter(folder / "lines")
    if kind == "watercourses":
        _draw(shapes, lines)
    return _grouped(kind, records, table, lines.close(), scale, folder)


def _draw(shapes: GeometryFile, lines: GeometryWriter) -> None:
    """The lines of a layer, in the order of its records."""
    for part in in_bulk(shapes.vertices):
        some = as_read(shapes.take(np.arange(part.start, part.stop)))
        lines.append(some[shapely.get_dimensions(some) == 1])


def _grouped(
    kind: str,
    records: GeometryFile,
    table: pd.DataFrame,
    drawn: GeometryFile,
    scale: float,
    folder: Path,
) -> StoredFeatures:
    """Records of one id are one feature, and wetlands that touch."""
    ids = table["id"].astype(str).to_numpy(dtype=object)
    labels = np.unique(ids.astype(str), return_inverse=True)[1].astype(np.int64)
    if kind == "wetlands" and len(labels):
        labels = components(labels, *_touching(records, SNAP_FT / scale))
    found, of = np.unique(labels, return_inverse=True)
    of = of.reshape(-1).astype(np.int64)
    writer = GeometryWriter(folder / "groups")
    sizes: list[tuple[Floats, Floats]] = [(np.empty(0), np.empty(0))]
    count = np.bincount(of, minlength=len(found))
    ranked, ends = np.argsort(of, kind="stable"), np.cumsum(count)
    for part in in_bulk(np.bincount(of, records.vertices, len(found)).astype(np.int64)):
        rows = np.sort(ranked[ends[part.start - 1] if part.start else 0 : ends[part.stop - 1]])
        united = union_groups(records.take(rows), of[rows])[1]
        sizes.append(sizes_of(united, scale))
        if (count[part] == 1).all():  # each is its record
            writer.copy(records, rows[np.argsort(of[rows], kind="stable")])
        else:
            writer.append(united)
    sqft, boundary_ft = (np.concatenate(column) for column in zip(*sizes, strict=True))
    names, first = names_of(ids, of, np.arange(len(ids)))
    return StoredFeatures(
        kind, records, table, writer.close(), names, sqft, boundary_ft, first,
        table.iloc[first].reset_index(drop=True), drawn,
    )  # fmt: skip


def _touching(records: GeometryFile, within: float) -> tuple[Ints, Ints]:
    """Pairs of records that lie within a distance of each other."""
    boxes = shapely.box(*records.boxes.T)
    left, right = shapely.STRtree(boxes).query(boxes, predicate="dwithin", distance=within)
    left, right = left[left < right], right[left < right]
    order = np.lexsort((right, left))
    left, right = left[order], right[order]
    near = np.zeros(len(left), bool)
    for part in in_bulk(records.vertices[left] + records.vertices[right]):
        one, of = np.unique(left[part], return_inverse=True)
        first = records.take(one)
        shapely.prepare(first)
        near[part] = shapely.dwithin(first[of.reshape(-1)], records.take(right[part]), within)
    return left[near], right[near]


def _selected(made: StoredFeatures, chosen: Bools, scale: float, folder: Path) -> StoredFeatures:
    """Some of the records, grouped by id again."""
    records = _copied(made.records, np.flatnonzero(chosen), folder / "records")
    table = made.table[chosen].reset_index(drop=True)
    return _grouped(made.kind, records, table, made.drawn, scale, folder)


def _in_tiles(made: StoredFeatures, scale: float, folder: Path) -> StoredFeatures:
    """The same with its large polygons cut where tiles will lie."""
    writer = GeometryWriter(folder / "records")
    of: list[Ints] = [np.zeros(0, np.int64)]
    for part in in_bulk(made.records.vertices):
        rows = np.arange(part.start, part.stop)
        some = made._some(rows, np.zeros(0, np.int64), np.zeros(0, np.int64))
        some.table["_row"] = rows
        pieces = some.in_tiles(scale)
        writer.append(pieces.geometries)
        of.append(pieces.table["_row"].to_numpy(np.int64))
    table = made.table.iloc[np.concatenate(of)].reset_index(drop=True)
    return StoredFeatures(
        made.kind, writer.close(), table, made.whole, made.ids, made.whole_sqft,
        made.whole_boundary_ft, made.first, made.group_table, made.drawn,
    )  # fmt: skip


def _overlap(records: GeometryFile, scale: float) -> bool:
    """Whether any two share ground: they do so in some tile."""
    boxes = records.boxes[np.isfinite(records.boxes).all(axis=1)]
    grid = CellGrid.over(boxes, TILE_CELLS * CELL_FT / scale)
    for cell in range(grid.columns * grid.rows):
        rows = records.meeting(grid.box(cell))
        if len(rows) > 1 and have_overlaps(records.take(rows)):
            return True
    return False
