"""From a site to its measures: subjects, tiles, workers, and the tables put together again."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import geopandas as gpd
import numpy as np
import pandas as pd
import shapely

from wetgis.buffers import Audit
from wetgis.dispatch import Run, Task, TileStore, outcomes
from wetgis.distances import distances
from wetgis.evidence import MEMBER_COLUMNS
from wetgis.heldlayers import StoredLayer, rows_under
from wetgis.issuelog import IssueLog
from wetgis.measures import slopes
from wetgis.membership import assign, members_of, project_subjects
from wetgis.scene import Scene, Subjects
from wetgis.schema import EPS_FT, NUMBER_COLUMNS, SUBJECT_COLUMNS, SUBJECT_LAYERS
from wetgis.storedfeatures import scene_on_disk
from wetgis.storedsubjects import StoredSubjects
from wetgis.tiles import (
    FLAGS,
    TileResult,
    TileWork,
    empty_contacts,
    empty_parts,
    plan,
    work_of,
)
from wetgis.workers import THREADS, hand_back, settled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wetgis.site import Site

    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]
    Geometries = NDArray[np.object_]

__all__ = ["Measures", "Run", "measure_site", "subjects_of"]


@dataclass(frozen=True)
class Measures:
    """The measured site: tables in the order of the subjects, and what was met on the way."""

    subjects: Subjects
    table: pd.DataFrame
    contacts: gpd.GeoDataFrame
    parts: gpd.GeoDataFrame
    members: pd.DataFrame
    buffer: gpd.GeoSeries
    audit: Audit
    scene: Scene
    issues: IssueLog = field(default_factory=IssueLog)


def scene_of(site: Site) -> Scene:
    """The scene of a site, made once for each site."""
    if "scene" not in site._ready:
        ground, store = ground_of(site), site._store
        site._ready["scene"] = (
            Scene.from_site(site, ground) if store is None
            else scene_on_disk(site, ground, store / "features")
        )  # fmt: skip
    scene: Scene = site._ready["scene"]
    return scene


def ground_of(site: Site) -> Scene:
    """The scene of a site with or without its features, made once for each site."""
    if "scene" in site._ready:
        return scene_of(site)
    if "ground" not in site._ready:
        site._ready["ground"] = Scene.ground_of(site)
    ground: Scene = site._ready["ground"]
    return ground


def subjects_of(site: Site, scale: float) -> tuple[Subjects, pd.DataFrame, IssueLog]:
    """Every subject of a site (parcels, footprints, projects) and the members of the projects."""
    if "subjects" not in site._ready:
        site._ready["subjects"] = _subjects_of(site, scale)
    made: tuple[Subjects, pd.DataFrame, IssueLog] = site._ready["subjects"]
    return made


def subjects_on_disk(
    site: Site, scale: float
) -> tuple[Subjects | StoredSubjects, pd.DataFrame, IssueLog]:
    """The same; parcels that lie on disk stay there, but for those under footprints."""
    parcels = site.layers.get("parcels")
    if not isinstance(parcels, StoredLayer):
        return subjects_of(site, scale)
    if "on disk" not in site._ready:
        site._ready["on disk"] = _subjects_on_disk(site, parcels, scale)
    made: tuple[StoredSubjects, pd.DataFrame, IssueLog] = site._ready["on disk"]
    return made


def _subjects_on_disk(
    site: Site, parcels: StoredLayer, scale: float
) -> tuple[StoredSubjects, pd.DataFrame, IssueLog]:
    rows = np.zeros(0, np.int64)
    if "footprints" in site.layers:
        rows = rows_under(parcels, site.layers["footprints"].boxes)
    if not len(rows):  # a table has its columns only with a row
        rows = np.arange(min(len(parcels.boxes), 1))
    part = replace(site, layers={**site.layers, "parcels": parcels.part(rows)})
    some, members, log = _subjects_of(part, scale)
    rest = some.take(np.arange(len(rows), len(some)))
    return StoredSubjects(parcels, rest, some.table.iloc[:0]), members, log


def _subjects_of(site: Site, scale: float) -> tuple[Subjects, pd.DataFrame, IssueLog]:
    log = IssueLog()
    none = Subjects(np.empty(0, object), pd.DataFrame())
    parcels = Subjects.of(site.layers["parcels"]) if "parcels" in site.layers else none
    if "footprints" not in site.layers:
        return parcels, pd.DataFrame(columns=list(MEMBER_COLUMNS)), log
    footprints = Subjects.of(site.layers["footprints"])
    members = members_of(footprints, parcels, scale)
    projects = assign(footprints, members)
    _log_strays(footprints, members, log)
    footprints = Subjects(
        footprints.geometries,
        footprints.table.assign(project_id=projects, parcel_id=_parcel_of(footprints, members)),
    )
    whole, table = project_subjects(footprints, projects, members)
    return parcels + footprints + whole, table, log


def _parcel_of(footprints: Subjects, members: pd.DataFrame) -> NDArray[np.object_]:
    """The parcel that a footprint names, else the one that holds most of it."""
    out = np.full(len(footprints), "", dtype=object)
    order = members.sort_values(
        ["footprint", "lies_on", "area_sqft", "parcel_id"], ascending=[True, False, False, True]
    ).drop_duplicates("footprint")
    out[order["footprint"].to_numpy(int)] = order["parcel_id"].to_numpy(object)
    named = _named_parcel(footprints)
    out[named != ""] = named[named != ""]
    return out


def _named_parcel(footprints: Subjects) -> NDArray[np.object_]:
    given = footprints.table.get("parcel_id")
    if given is None:
        return np.full(len(footprints), "", dtype=object)
    text = given.astype(object).where(given.notna(), "").astype(str).str.strip()
    return text.to_numpy(dtype=object)


def _log_strays(footprints: Subjects, members: pd.DataFrame, log: IssueLog) -> None:
    """A footprint that reaches a parcel other than the one it names."""
    named = _named_parcel(footprints)
    rows = members[members["lies_on"].astype(bool)]
    wanted = named[rows["footprint"].to_numpy(int)]
    for row in rows[(wanted != "") & (rows["parcel_id"].to_numpy(object) != wanted)].itertuples():
        log.add(
            "warning",
            "stray_footprint",
            f"footprint {row.footprint_id} names parcel {named[row.footprint]} and reaches "
            f"parcel {row.parcel_id} with {row.area_sqft:,.1f} sq ft",
            layer="footprints",
            record_id=str(row.footprint_id),
            effect="each parcel counts the ground that lies on it",
        )


def measure_site(site: Site, reach_ft: float, run: Run) -> Measures:
    """Measure the subjects of a site.

    Parameters
    ----------
    site : Site
    reach_ft : float
        How far contacts are looked for.
    run : Run
    """
    with settled(sum(len(site.layers[k].boxes) for k in SUBJECT_LAYERS if k in site.layers)):
        return _measured(site, reach_ft, run)


def _measured(site: Site, reach_ft: float, run: Run) -> Measures:
    ground = ground_of(site)
    subjects, members, own = subjects_of(site, ground.scale)
    log = IssueLog(list(own.rows))
    if run.chosen is not None:
        subjects = subjects.take(run.chosen)
    # the order of the rows of a file must not show in any number: work goes in an order of its own
    blocks = plan(subjects, ground.scale)

    # many tiles are done side by side, one alone is done with all threads
    threads = 1 if run.executor is not None or len(blocks) > 1 else THREADS

    def work(tile: int) -> TileWork:
        reach = reach_ft / scene.scale
        return work_of(scene, subjects, blocks[tile], reach, full=run.full, threads=threads)

    with ThreadPoolExecutor(1) as beside:
        terrain = beside.submit(slopes, ground, subjects, blocks)
        hand_back(len(subjects))  # what reading took
        scene = scene_of(site)
        hand_back(len(subjects))
        task = Task([len(b) for b in blocks], work, partial(_saved, run.store), _kept(blocks, run))
        results = list(outcomes(task, run, log).values())
        steep, told = terrain.result()
    columns, flags = _joined(results, len(subjects))
    results = [replace(r, columns={}, flags={}) for r in results]  # they are in the table now
    columns |= distances(scene, subjects, columns, blocks)
    hand_back(len(subjects))
    columns |= steep
    log.extend(told.rows)
    table = table_of(site, scene, subjects, columns, flags)
    audit = Audit()
    for result in results:
        audit += result.audit
    log_audit(scene, audit, sorted({i for r in results for i in r.rebuilt}), log)
    contacts = _stacked([r.contacts for r in results], empty_contacts(scene.crs))
    parts = _stacked([r.parts for r in results], empty_parts(scene.crs))
    buffer = _buffer(results, scene)
    return Measures(subjects, table, contacts, parts, members, buffer, audit, scene, log)


def _saved(
    store: TileStore | None, tile: int, result: TileResult, _: TileWork | None
) -> TileResult:
    if store is not None:
        store.save(tile, result)
    return result


def _kept(blocks: list[Any], run: Run) -> dict[int, TileResult]:
    """Tiles that were done before."""
    store = run.store
    return {} if store is None else {t: store.load(t) for t in range(len(blocks)) if t in store}


def _joined(results: list[TileResult], count: int) -> tuple[dict[str, Floats], dict[str, Bools]]:
    """Columns of all tiles in the order of the subjects; NaN where a tile failed."""
    columns: dict[str, Floats] = {name: np.full(count, np.nan) for name in NUMBER_COLUMNS}
    flags = {name: np.zeros(count, bool) for name in FLAGS}
    for result in results:
        for name, values in result.columns.items():
            columns[name][result.index] = values
        for name, truth in result.flags.items():
            flags[name][result.index] = truth
    return columns, either_unmapped(flags)


def either_unmapped(flags: dict[str, Bools]) -> dict[str, Bools]:
    """The flags of the tiles, and whether any determining layer does not cover the ground."""
    either = flags["unmapped_reach_wetlands"] | flags["unmapped_reach_watercourses"]
    return {**flags, "unmapped_reach": either}


def _stacked(frames: list[gpd.GeoDataFrame], empty: gpd.GeoDataFrame) -> gpd.GeoDataFrame:
    """Tables of all tiles, in the order of kind, id and record."""
    full = [f for f in frames if len(f)]
    if not full:
        return empty
    joined = gpd.GeoDataFrame(pd.concat(full, ignore_index=True), crs=empty.crs)
    keys = ["subject_kind", "subject_id", "record"]
    return joined.sort_values(keys, kind="stable").reset_index(drop=True)


def _buffer(results: list[TileResult], scene: Scene) -> gpd.GeoSeries:
    """The buffer as polygons for maps: pieces joined where there are not too many."""
    pieces = [r.buffer for r in results if len(r.buffer)]
    geometries = np.concatenate(pieces) if pieces else np.empty(0, object)
    return gpd.GeoSeries(joined_buffer(geometries), crs=scene.crs)


#: Pieces of a buffer that are joined for a map.
FEW_PIECES = 2_000


def joined_buffer(pieces: Geometries) -> Geometries:
    """Pieces of the buffer joined, where there are not too many."""
    if not 0 < len(pieces) <= FEW_PIECES:
        return pieces
    whole: Geometries = shapely.get_parts(shapely.union_all(pieces))
    return whole


def log_audit(scene: Scene, audit: Audit, rebuilt: list[str], log: IssueLog) -> None:
    for name in rebuilt:
        kind, _, record = name.partition(":")
        log.add(
            "note",
            "buffer_rebuilt",
            "the buffer of this feature failed its audit and was built from its single segments",
            layer=kind,
            record_id=record,
        )
    worst = max(audit.inside, audit.outside) * scene.scale
    if worst > 0.01 + 1e-9:
        log.add(
            "error",
            "buffer_audit",
            f"an outline of the buffer lies {worst:.4f} ft off the legal line",
            effect="areas of the buffer are less exact than 0.01 ft of its outline",
        )


def table_of(
    site: Site,
    scene: Scene,
    subjects: Subjects,
    columns: dict[str, Floats],
    flags: dict[str, Bools],
) -> pd.DataFrame:
    """The measures, with flags and every attribute of the subjects beside them."""
    numbers = pd.DataFrame({n: columns[n] for n in NUMBER_COLUMNS})
    attributes = subjects.table.reset_index(drop=True)
    for name in ("parcel_id", "project_id"):
        attributes[name] = _or_empty(attributes, name)
    parcel = (attributes["subject_kind"] == "parcel").to_numpy()
    attributes.loc[parcel, "parcel_id"] = attributes.loc[parcel, "subject_id"]
    table = attributes.assign(
        status=_status(scene, subjects, columns, flags),
        n_met=0,
        unknown_layers=_unknown_layers(site, scene, subjects, columns, flags),
    )
    rest = [c for c in table.columns if c not in SUBJECT_COLUMNS and c not in NUMBER_COLUMNS]
    parts = [table[list(SUBJECT_COLUMNS)], numbers, table[rest], pd.DataFrame(flags)]
    return pd.concat(parts, axis=1)


def _or_empty(table: pd.DataFrame, name: str) -> pd.Series:
    if name not in table.columns:
        return pd.Series("", index=table.index, dtype=object)
    column = table[name].astype(object)
    return column.where(column.notna(), "").astype(str)


def _status(
    scene: Scene, subjects: Subjects, columns: dict[str, Floats], flags: dict[str, Bools]
) -> NDArray[np.object_]:
    """The first of the statuses that holds."""
    reach = scene.measure.buffer_ft if np.isfinite(scene.measure.buffer_ft) else 0.0
    with np.errstate(invalid="ignore"):
        overlap = np.nan_to_num(columns["wetland_sqft"]) + np.nan_to_num(
            columns["watercourse_sqft"]
        )
        length = np.nan_to_num(columns["watercourse_length_ft"]) > 0
        line = shapely.get_dimensions(subjects.geometries) == 1
        on = ((overlap > 0) & ~flags["sliver"]) | flags["crossed"] | (length & ~line)
        near = np.fmin(columns["wetland_ft"], columns["watercourse_ft"])
        indicator = np.fmin(columns["hydric_ft"], columns["indicator_ft"])
        missing = shapely.is_missing(subjects.geometries)
        absent = not (scene.given("wetlands") and scene.given("watercourses"))
        rules = [
            (missing | np.isnan(columns["area_sqft"]), "unknown"),
            (on, "on_feature"),
            (near < reach - EPS_FT, "in_buffer"),
            (near <= reach + EPS_FT, "touching"),
            (indicator <= reach + EPS_FT, "indicator"),
            (flags["unmapped_reach"] | absent | np.isnan(near), "unknown"),
        ]
    return np.select([r[0] for r in rules], [r[1] for r in rules], "none_found").astype(object)


def _unknown_layers(
    site: Site,
    scene: Scene,
    subjects: Subjects,
    columns: dict[str, Floats],
    flags: dict[str, Bools],
) -> NDArray[np.object_]:
    """Which layers tell nothing, or not all, about each subject; joined by ``;``."""
    count = len(subjects)
    terrain = "slope" in scene.surfaces or "dem" in scene.surfaces
    unknown = {
        **{
            kind: _where(not scene.given(kind), count) | flags[f"unmapped_reach_{kind}"]
            for kind in ("wetlands", "watercourses")
        },
        "soils": _where(not scene.given("soils"), count) | (columns["soil_unknown_sqft"] > 0),
        "floodplain": _where(not scene.given("floodplain"), count)
        | (columns["flood_unknown_sqft"] > 0),
        "dem": _where(not terrain, count) | (columns["slope_unknown_sqft"] > 0),
    }
    code = np.zeros(count, np.int64)
    for k, flag in enumerate(unknown.values()):
        code |= flag.astype(np.int64) << k
    told = [
        ";".join(name for k, name in enumerate(unknown) if c >> k & 1)
        for c in range(1 << len(unknown))
    ]
    return np.array(told, dtype=object)[code]


def _where(truth: bool, count: int) -> Bools:
    return np.full(count, truth)
