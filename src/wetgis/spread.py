"""A site measured onto disk: each tile's numbers go to files as soon as it is done.

In memory are the tiles under way, and of every subject its box, its id and its place in the
order of the tables.
"""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import geopandas as gpd
import numpy as np
import pandas as pd

from wetgis.buffers import Audit
from wetgis.dispatch import Run, Task, outcomes
from wetgis.engine import (
    Measures,
    either_unmapped,
    ground_of,
    log_audit,
    scene_of,
    subjects_on_disk,
    table_of,
)
from wetgis.issuelog import IssueLog
from wetgis.measures import COVERAGE, log_coverage, terrain
from wetgis.nearby import tile_distances
from wetgis.schema import NUMBER_COLUMNS
from wetgis.storedsubjects import keys_of
from wetgis.tilefiles import PLACE, Done, TileFiles
from wetgis.tiles import FLAGS, empty_contacts, empty_parts, plan, run_tile, work_of
from wetgis.workers import THREADS, hand_back, settled

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from wetgis.scene import Scene, Subjects
    from wetgis.site import Site
    from wetgis.storedsubjects import StoredSubjects
    from wetgis.tiles import TileResult, TileWork

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]

__all__ = ["Spread", "spread_site"]


@dataclass(frozen=True)
class Spread:
    """A measured site whose numbers lie on disk.

    ``order``: the position of each subject among ``subjects``, in the order of the tables.
    ``tiles``: those that were done.
    """

    site: Site
    scene: Scene
    subjects: Subjects | StoredSubjects
    members: pd.DataFrame
    order: Ints
    files: TileFiles
    tiles: list[int]
    audit: Audit
    issues: IssueLog = field(default_factory=IssueLog)

    @property
    def buckets(self) -> int:
        """How many buckets there are, at least one."""
        return self.files.buckets

    def bucket(self, number: int) -> tuple[Measures, Bools]:
        """The measures of a bucket's subjects, and which of the rows are about them.

        The others are those that the law looks at together with them: the footprints and parcels
        of a project.
        """
        size = self.files.size
        own = np.arange(number * size, min((number + 1) * size, len(self.order)))
        places = np.union1d(own, self._related(own))
        subjects = self.subjects.take(self.order[places])
        tables = {name: self._rows(name, places) for name in ("numbers", "contacts", "parts")}
        columns, flags = _columns(tables["numbers"], places)
        measures = Measures(
            subjects,
            table_of(self.site, self.scene, subjects, columns, flags),
            self._located(tables["contacts"], empty_contacts(self.scene.crs)),
            self._located(tables["parts"], empty_parts(self.scene.crs)),
            self.members,
            gpd.GeoSeries([], crs=self.scene.crs),
            self.audit,
            self.scene,
        )
        return measures, np.isin(places, own)

    def _located(self, table: pd.DataFrame, empty: gpd.GeoDataFrame) -> gpd.GeoDataFrame:
        return gpd.GeoDataFrame(table.drop(columns=PLACE)) if len(table) else empty

    def _rows(self, name: str, places: Ints) -> pd.DataFrame:
        """The rows of a table that are about some subjects."""
        found = [
            self.files.read(self.tiles, name, int(b)) for b in np.unique(places // self.files.size)
        ] or [self.files.read(self.tiles, name, 0)]
        filled = [f for f in found if len(f)] or found[:1]
        table = filled[0] if len(filled) == 1 else pd.concat(filled, ignore_index=True)
        wanted = np.isin(table[PLACE].to_numpy(), places)
        return table if wanted.all() else table[wanted].reset_index(drop=True)

    @cached_property
    def _relations(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Pairs of a subject's place and the number of a project that it belongs to."""
        subjects = self.keys.assign(place=self.files.places)
        project = pd.factorize(self.members["project_id"])[0]
        found = [np.zeros((0, 2), np.int64)]
        for kind in ("project", "footprint", "parcel"):
            ids = self.members[f"{kind}_id"].astype(str)
            asked = pd.DataFrame({"subject_kind": kind, "subject_id": ids, "project": project})
            met = asked.drop_duplicates().merge(subjects, on=["subject_kind", "subject_id"])
            found.append(met[["place", "project"]].to_numpy(np.int64))
        place, project = np.unique(np.concatenate(found), axis=0).T
        return place, project

    @cached_property
    def keys(self) -> pd.DataFrame:
        """Kind, id and record of each subject."""
        return keys_of(self.subjects)

    def _related(self, places: Ints) -> Ints:
        if not len(self.members):
            return places
        place, project = self._relations
        touched = np.unique(project[np.isin(place, places)])
        return place[np.isin(project, touched)]


def _columns(numbers: pd.DataFrame, places: Ints) -> tuple[dict[str, Floats], dict[str, Bools]]:
    """The numbers of some subjects as arrays; NaN where a tile failed."""
    columns = {name: np.full(len(places), np.nan) for name in NUMBER_COLUMNS}
    flags = {name: np.zeros(len(places), bool) for name in FLAGS}
    at = np.searchsorted(places, numbers[PLACE].to_numpy())
    for name, values in columns.items():
        if name in numbers:
            values[at] = numbers[name].to_numpy(float)
    for name, truth in flags.items():
        if f"_{name}" in numbers:
            truth[at] = numbers[f"_{name}"].to_numpy(bool)
    return columns, either_unmapped(flags)


# ---------------------------------------------------------------- measuring


def spread_site(site: Site, reach_ft: float, run: Run, root: Path) -> Spread:
    """Measure the subjects of a site into files.

    Parameters
    ----------
    site : Site
        Its layers may lie on disk.
    reach_ft : float
        How far contacts are looked for.
    run : Run
    root : Path
        The folder of the tiles; those that are there are done.
    """
    ground = ground_of(site)
    subjects, members, own = subjects_on_disk(site, ground.scale)
    log = IssueLog(list(own.rows))
    if run.chosen is not None:
        subjects = subjects.take(run.chosen)
    keys = keys_of(subjects)
    order = keys.sort_values(list(keys.columns), kind="stable").index.to_numpy(np.int64)
    del keys
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    files = TileFiles(root, places, site.crs)
    blocks = plan(subjects, ground.scale)
    hand_back(len(subjects))
    scene = scene_of(site)
    hand_back(len(subjects))
    alone = len(blocks) == 1 and run.executor is None
    tiles = _Tiles(scene, subjects, blocks, reach_ft / scene.scale, run.full, alone, files)
    kept = {t: files.done(t) for t in range(len(blocks)) if t in files}
    portable = None if site._store is None else tiles
    with ThreadPoolExecutor(1) as beside:
        ahead = _Ahead(tiles, beside) if run.handed_out and portable is None else tiles
        task = Task([len(b) for b in blocks], ahead.work, ahead.finish, kept, portable)
        with settled(len(subjects)):
            done = outcomes(task, run, log)
    audit = _told(scene, done, log)
    return Spread(site, scene, subjects, members, order, files, list(done), audit, log)


def _told(scene: Scene, done: dict[int, Done], log: IssueLog) -> Audit:
    """What all tiles said together."""
    kind = next((k for k in ("slope", "dem") if k in scene.surfaces), None)
    if kind is not None:
        log.extend(replace(issue, layer=kind) for issue in scene.surfaces[kind].issues)
        ids = {name: [i for d in done.values() for i in d.on_raster[name]] for name in COVERAGE}
        log_coverage(kind, {name: np.array(i, dtype=object) for name, i in ids.items()}, log)
    audit = Audit()
    for one in done.values():
        audit += one.audit
    log_audit(scene, audit, sorted({i for d in done.values() for i in d.rebuilt}), log)
    return audit


@dataclass(frozen=True)
class _Tiles:
    """The work of each tile, and what is done with its result. It can be pickled."""

    scene: Scene
    subjects: Subjects | StoredSubjects
    blocks: list[Ints]
    reach: float
    full: bool
    alone: bool
    files: TileFiles

    def work(self, tile: int) -> TileWork:
        """What a worker is handed."""
        return work_of(
            self.scene, self.subjects, self.blocks[tile], self.reach,
            full=self.full, threads=THREADS if self.alone else 1,
        )  # fmt: skip

    def whole(self, tile: int) -> Done:
        """A tile from beginning to end."""
        work = self.work(tile)
        return self.finish(tile, run_tile(work), work)

    def finish(
        self,
        tile: int,
        result: TileResult,
        work: TileWork | None,
        steep: dict[str, Floats] | None = None,
    ) -> Done:
        """Distances and terrain beside a tile's other numbers, and all of it to disk."""
        own = self.subjects.take(self.blocks[tile]) if work is None else work.subjects
        columns = dict(result.columns)
        columns |= tile_distances(self.scene, own.geometries, columns)
        steep = self.terrain(own) if steep is None else steep
        ids = own.table["subject_id"].astype(str).to_numpy(dtype=object)
        on_raster = {name: list(ids[steep[name] > 0]) for name in COVERAGE}
        columns |= {name: values for name, values in steep.items() if name not in COVERAGE}
        done = Done(result.audit, result.rebuilt, on_raster)
        return self.files.save(tile, replace(result, columns=columns), own, done)

    def terrain(self, own: Subjects) -> dict[str, Floats]:
        """Slopes of some subjects."""
        with _READING:
            return terrain(self.scene, own.geometries)


#: The files of a raster are read by one thread of a process at a time.
_READING = threading.Lock()


@dataclass(frozen=True)
class _Ahead:
    """The same where tiles are done elsewhere: terrain is begun here when a tile is handed out."""

    tiles: _Tiles
    beside: ThreadPoolExecutor
    slopes: dict[int, Future[dict[str, Floats]]] = field(default_factory=dict)

    def work(self, tile: int) -> TileWork:
        """What a worker is handed."""
        made = self.tiles.work(tile)
        self.slopes[tile] = self.beside.submit(self.tiles.terrain, made.subjects)
        return made

    def finish(self, tile: int, result: TileResult, work: TileWork | None) -> Done:
        """A tile's result with its terrain."""
        return self.tiles.finish(tile, result, work, self.slopes.pop(tile).result())
