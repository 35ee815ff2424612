"""An amendment of the adopted map: what changes, for whom, and the map as it will be."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import shapely

from wetgis.amendment import maps
from wetgis.amendment.accept import accepted_map
from wetgis.amendment.changes import MapChange, change_frame, map_change, without
from wetgis.amendment.effects import affected_parcels, buffer_counts, reduced
from wetgis.amendment.ground import MAP_PLACES, GroundChange, ground_change, rows_of
from wetgis.amendment.history import new_state
from wetgis.amendment.lines import boundary_shift, change_shift
from wetgis.amendment.record import amendment_record
from wetgis.amendment.wholes import whole_features
from wetgis.errors import UsageError
from wetgis.issuelog import IssueLog, issue_frame
from wetgis.scene import Scene
from wetgis.schema import SINGULAR

if TYPE_CHECKING:
    import geopandas as gpd

    from wetgis.packs import Pack
    from wetgis.site import Site

__all__ = ["Amendment", "amend"]

#: How far apart totals may stand that should close, sq ft.
CLOSES = 0.01
#: Square feet that an overlay of equal lines may leave.
NOISE = 1e-6


@dataclass(frozen=True, eq=False)
class Amendment:
    """What `amend` returns.

    Attributes
    ----------
    changes : GeoDataFrame
        A row a connected piece of ground: ``change_id``, ``what`` (``wetland``, ``watercourse``,
        ``buffer``), ``change`` (``added``, ``removed``), ``feature_id``, ``area_sqft``,
        ``length_ft`` (of watercourses drawn as lines), ``shift_ft`` (how far the line moved; NaN
        for the buffer and for features that are new or gone), ``sliver``, ``reason``.
    parcels : GeoDataFrame
        The affected parcels: every place (and ``regulated``) with ``_before_sqft``,
        ``_after_sqft``, ``_change_sqft``; what each gains and loses in ``_added_sqft``,
        ``_removed_sqft``; ``newly_regulated``, ``released``, ``sliver`` with its ``reason``,
        ``doubt`` (``accuracy``: the strip is no wider than the parcel map is accurate),
        ``change_ids``.
    totals : DataFrame
        ``what`` (the places, ``regulated``), ``before_sqft``, ``added_sqft``, ``removed_sqft``,
        ``after_sqft``: inside the municipal limit where one is given, each foot once.
    adopted, superseded : GeoDataFrame
        The new map with ``effective_from`` and ``supersedes``; the records that it replaces with
        ``effective_to`` and ``superseded_by``.
    history : DataFrame
        What happened to each feature and its attributes.
    wetlands : DataFrame
        Whole features of the amended kind as the law counts them (pieces that touch are one
        wetland), where anything changed: ``side`` (``before``, ``after``), ``feature_id``,
        ``whole_sqft``, ``became`` (``split``, ``merged``, ``new``, ``gone``, ``changed``).
    shift, profile : DataFrame
        Of each moved boundary the Hausdorff distance, and the shift along it every few feet.
    issues : DataFrame
    provenance : dict
        What ``run.json`` holds.
    kind, mode, title : str
    site_before, site_after : Site
        For screenings before and after.
    layers : dict
        Frames for maps: the features and the buffer before and after, and drawn buffers.
    packs : tuple of Pack
    """

    changes: gpd.GeoDataFrame
    parcels: gpd.GeoDataFrame
    totals: pd.DataFrame
    adopted: gpd.GeoDataFrame
    superseded: gpd.GeoDataFrame
    history: pd.DataFrame
    wetlands: pd.DataFrame
    shift: pd.DataFrame
    profile: pd.DataFrame
    issues: pd.DataFrame
    provenance: dict[str, Any]
    kind: str
    mode: str
    title: str
    site_before: Site
    site_after: Site
    layers: dict[str, gpd.GeoDataFrame] = field(default_factory=dict)
    packs: tuple[Pack, ...] = ()

    def findings(self) -> pd.DataFrame:
        """The findings that turn on the affected parcels and their footprints.

        Returns
        -------
        DataFrame
            ``subject_kind``, ``subject_id``, ``record``, ``pack``, ``rule``, then
            ``outcome_before``, ``outcome_after``, ``answer_before``, ``answer_after``,
            ``value_before``, ``value_after``, and ``cite``; slivers are left out.
        """
        from wetgis.amendment.turned import turned_findings

        return turned_findings(self)

    def summary(self) -> str:
        """The amendment in a few sentences."""
        from wetgis.amendment.words import summary

        return summary(self)

    def write(self, folder: str | Path, *, template: str | Path | None = None) -> list[Path]:
        """Write the amendment package; see `wetgis.outputs.package`.

        Parameters
        ----------
        folder : path
        template : path, optional
            The town's own Word template in place of the one that comes with wetgis.
        """
        from wetgis.outputs.package import write_package

        return write_package(self, folder, template=template)

    def __repr__(self) -> str:
        return f"<Amendment of {len(self.changes)} changes, {len(self.parcels)} parcels>"


def amend(
    site: Site,
    proposed: Any,
    *,
    kind: str = "wetlands",
    mode: str,
    extent: Any = None,
    remove: Sequence[str] = (),
    accept: Sequence[str] | None = None,
    min_change_sqft: float = 1.0,
) -> Amendment:
    """Work out an amendment of the adopted map.

    Parameters
    ----------
    site : Site
        The map before is ``adopted_wetlands`` and ``adopted_watercourses`` where they are given,
        else ``wetlands`` and ``watercourses``.
    proposed : GeoDataFrame, path, `wetgis.Layer` or a list of them
        In any coordinate system; read as a layer of the kind is. None with ``remove`` alone.
    kind : str
        ``wetlands`` or ``watercourses``.
    mode : str
        ``by_id``: a proposed feature replaces all records of its id, others are added.
        ``whole``: the proposal is the whole new map. ``within``: it is the map inside
        ``extent``; outside all stays.
    extent : polygon, GeoDataFrame or path, optional
        For mode ``within``. A geometry is in the site's coordinate system.
    remove : sequence of str
        Ids of features that go.
    accept : sequence of str, optional
        Only these changes (``change_id``) or features (``feature_id``) are adopted; everything
        is then about them alone. Without it all are.
    min_change_sqft : float
        Changes and parcels below this are slivers: listed with the reason, never left out.

    Returns
    -------
    Amendment

    Raises
    ------
    UsageError
        On a mode, kind or combination that is not known.
    InputError, CrsError
        On an id or change that is not there, or a layer that cannot be read.

    Notes
    -----
    The buffer is recomputed from all features, not from those that changed. A wetland outside the
    municipal limit has its buffer inside it; the buffer is clipped, never the wetland.

    Examples
    --------
    >>> import geopandas, shapely, wetgis
    >>> def one(*box):
    ...     return geopandas.GeoDataFrame(
    ...         {"id": ["W"]}, geometry=[shapely.box(*box)], crs="EPSG:2260")
    >>> site = wetgis.Site.from_layers(
    ...     parcels=one(717000, 783000, 717400, 783400),
    ...     wetlands=one(717000, 783000, 717100, 783100), measure={"buffer_ft": 100})
    >>> made = amend(site, one(717000, 783000, 717120, 783100), mode="by_id")
    >>> made.totals.set_index("what").round(2).loc["wetland"].tolist()
    [10000.0, 2000.0, 0.0, 12000.0]
    >>> made.parcels[["parcel_id", "wetland_change_sqft"]].round(2).values.tolist()
    [['W', 2000.0]]
    """
    started = time.perf_counter()
    _check(kind, min_change_sqft)
    maps.check_mode(mode, extent, remove)
    log = IssueLog()
    current = maps.current_map(site, kind, log)
    layer = current.layers[kind]
    proposal = maps.read_proposed(site, proposed, kind, current)
    how = maps.Apply(
        mode, None if extent is None else maps.extent_of(site, extent), tuple(map(str, remove))
    )
    after = maps.apply(layer.frame, proposal.frame, how, log)
    change = map_change(kind, layer.frame, after)
    work = _Work(site, current, kind, min_change_sqft, log)
    if accept is not None:
        whole = work.own_changes(change, after)
        after = accepted_map(layer.frame, after, change, whole, accept)
        change = map_change(kind, layer.frame, after)
    return _finish(work, after, change, proposal, _options(mode, remove, accept), started)


def _check(kind: str, least: float) -> None:
    if kind not in maps.MAPPED:
        raise UsageError(f"the kind is '{kind}'.", needed="wetlands or watercourses")
    if not (np.isfinite(least) and least >= 0):
        raise UsageError(f"min_change_sqft is {least}.", needed="square feet, zero or more")


def _options(mode: str, remove: Sequence[str], accept: Sequence[str] | None) -> dict[str, Any]:
    return {
        "mode": mode,
        "remove": sorted(map(str, remove)),
        "accept": None if accept is None else sorted(map(str, accept)),
    }


@dataclass(frozen=True)
class _Work:
    """An amendment under way."""

    site: Site
    current: maps.Current
    kind: str
    least: float
    log: IssueLog

    def sites(self, after: gpd.GeoDataFrame) -> tuple[Site, Site]:
        """The site with the map before, and with the map after."""
        rest = {k: v for k, v in self.site.layers.items() if k not in maps.MAPPED}
        old = {**rest, **self.current.layers}
        changed = replace(self.current.layers[self.kind], frame=after.drop(columns="_new"))
        return replace(self.site, layers=old), replace(
            self.site, layers={**old, self.kind: changed}
        )

    def own_changes(self, change: MapChange, after: gpd.GeoDataFrame) -> gpd.GeoDataFrame:
        """The changes of the amended kind alone."""
        scenes = _scenes(*self.sites(after))
        return self.table(self.clipped(change, scenes), change, scenes[0].scale)

    def clipped(self, change: MapChange, scenes: tuple[Scene, ...]) -> pd.DataFrame:
        """Pieces inside the municipal limit; a watercourse has no ground in a wetland."""
        rows = change.rows
        geometry = rows["geometry"].to_numpy(object)
        if scenes[0].limit is not None and len(rows):
            geometry = shapely.intersection(geometry, scenes[0].limit)
        if self.kind == "watercourses" and scenes[0].given("wetlands"):
            areas = shapely.get_dimensions(geometry) == 2
            wet = scenes[0].features["wetlands"].geometries
            geometry[areas] = without(geometry[areas], wet)
        parts, of = _simple(geometry)
        out: pd.DataFrame = rows.iloc[of].assign(geometry=parts).reset_index(drop=True)
        return out

    def table(self, rows: pd.DataFrame, change: MapChange, scale: float) -> gpd.GeoDataFrame:
        """Rows as the table of changes, with the shift of the line."""
        frame = change_frame(rows, self.site.crs, scale, self.least)
        return change_shift(frame, change, scale)


def _scenes(old: Site, new: Site) -> tuple[Scene, ...]:
    return tuple(Scene.from_site(reduced(s)) for s in (old, new))


def _simple(geometry: Any) -> tuple[Any, Any]:
    """Simple parts, of whatever dimension, and where each came from."""
    from wetgis.shapes import of_dimension

    found = [of_dimension(geometry, d) for d in (2, 1, 0)]
    return np.concatenate([f[0] for f in found]), np.concatenate([f[1] for f in found])


def _finish(
    work: _Work,
    after: gpd.GeoDataFrame,
    change: MapChange,
    proposal: maps.Proposed,
    options: dict[str, Any],
    started: float,
) -> Amendment:
    site, kind, log = work.site, work.kind, work.log
    old_site, new_site = work.sites(after)
    scenes = _scenes(old_site, new_site)
    scale = scenes[0].scale
    counts = buffer_counts(site)
    ground = ground_change(scenes[0], scenes[1], change.reached, buffer_counts=counts)
    rows = [work.clipped(change, scenes), _followers(ground, change, scenes, kind)]
    changes = work.table(
        pd.concat([r for r in rows if len(r)] or rows[:1], ignore_index=True), change, scale
    )
    totals = _totals(ground, scenes[0], scenes[1], counts, log)
    parcels, measured = affected_parcels(old_site, new_site, changes, scale, work.least)
    adopted, superseded, history = new_state(
        work.current.layers[kind].frame, after, change, site.as_of, scale
    )
    shift, profile = boundary_shift(change, scale)
    issues = issue_frame(
        [*site.issues, *(i for p in proposal.pieces for i in p.issues), *log.rows,
         *(i for m in measured for i in m.issues.rows)]
    )  # fmt: skip
    tables = {"changes": changes, "parcels": parcels, "totals": totals, "issues": issues}
    options |= {"kind": kind, "min_change_sqft": work.least}
    return Amendment(
        changes, parcels, totals, adopted, superseded, history,
        whole_features(scenes, change, kind), shift, profile, issues,
        amendment_record(site, ground.audit, tables, proposal, options, started),
        kind, str(options["mode"]), site.title, old_site, new_site,
        _layers(work, old_site, new_site, ground), site.packs,
    )  # fmt: skip


def _followers(
    ground: GroundChange, change: MapChange, scenes: tuple[Scene, ...], kind: str
) -> pd.DataFrame:
    """Changes that follow: the buffer's, and those of a place that the amended one covers."""
    rows = rows_of(ground, SINGULAR[kind])
    shapes = rows["geometry"].to_numpy(object)
    ids: list[list[str]] = [[] for _ in range(len(rows))]
    names = np.array(list(change.changed), dtype=object)
    if len(rows) and len(names):
        pieces = change.rows
        s, p = shapely.STRtree(pieces["geometry"].to_numpy(object)).query(
            shapes, predicate="dwithin", distance=scenes[0].distance * 1.001 + 1e-6
        )
        of = pieces["feature_id"].to_numpy(object)
        for a, b in zip(s.tolist(), p.tolist(), strict=True):
            ids[a].append(str(of[b]))
    rows["feature_id"] = ["+".join(sorted(set(i))) for i in ids]
    return rows


def _totals(
    ground: GroundChange, old: Scene, new: Scene, counts: bool, log: IssueLog
) -> pd.DataFrame:
    """Before, added, removed, after; NaN for what no layer or distance tells."""
    known = {
        "wetland": old.given("wetlands") or new.given("wetlands"),
        "watercourse": old.given("watercourses") or new.given("watercourses"),
        "buffer": bool(np.isfinite(old.measure.buffer_ft)),
        "regulated": not counts or bool(np.isfinite(old.measure.buffer_ft)),
    }
    columns = ("before", "added", "removed", "after")
    rows = []
    for what in (*MAP_PLACES, "regulated"):
        found = [getattr(ground, c)[what] if known[what] else np.nan for c in columns]
        values = [0.0 if abs(v) < NOISE else v for v in found]
        rows.append([what, *values])
        off = values[0] + values[1] - values[2] - values[3]
        if abs(off) > CLOSES:
            log.add("warning", "not_closed", f"the totals of {what} stand {off:.3f} sq ft apart",
                    effect="look at the map's geometry there")  # fmt: skip
    return pd.DataFrame(rows, columns=["what", *(f"{c}_sqft" for c in columns)])


def _layers(work: _Work, old: Site, new: Site, ground: GroundChange) -> dict[str, gpd.GeoDataFrame]:
    """Frames for maps."""
    import geopandas as gpd

    out: dict[str, gpd.GeoDataFrame] = {}
    for side, site, zone in (("before", old, ground.zones[0]), ("after", new, ground.zones[1])):
        for kind in maps.MAPPED:
            if kind in site.layers:
                out[f"{kind}_{side}"] = site.layers[kind].frame
        made = gpd.GeoDataFrame({"made": "recomputed"}, index=range(len(zone)), geometry=zone,
                                crs=site.crs)  # fmt: skip
        out[f"buffer_{side}"] = made
    if len(work.current.drawn):
        out["buffer_drawn"] = work.current.drawn.assign(made="drawn")
    if "municipality" in work.site.layers:
        out["municipality"] = work.site.layers["municipality"].frame
    return out
