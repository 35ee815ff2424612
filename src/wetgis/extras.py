"""Further measures that rules ask for: groups of footprints, study areas, stockpiles, strips.

Which rules ask, and at what distance, is read off the packs in force; each measure is geometry.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import shapely

from wetgis.buffers import audited_zone
from wetgis.evidence import EXTRA_COLUMNS
from wetgis.overlay import nearest_to
from wetgis.shapes import mend, normal_order, union_groups

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wetgis.engine import Measures
    from wetgis.site import Site

    Floats = NDArray[np.float64]
    Geometries = NDArray[np.object_]

__all__ = ["make_extras"]

#: Outlines of required strips are drawn ten times finer than a buffer's.
STRIP_TOLERANCE_FT = 0.001


def make_extras(site: Site, m: Measures) -> pd.DataFrame:
    """Every further measure that a rule in force asks for.

    Returns
    -------
    DataFrame
        ``wetgis.evidence.EXTRA_COLUMNS``. ``unknown`` is the square feet on which the measure is
        not known, NaN where all of it is not.
    """
    asked = {
        rule.kind: pack.limit(next(iter(rule.parameters.values()))).value if rule.parameters else 0
        for pack in site.packs
        for rule in pack.rules
    }
    rows: list[dict[str, Any]] = []
    rows += _groups(site, m)
    if "study_area" in asked:
        rows += _study_areas(m, asked["study_area"])
    if "stockpile_distance" in asked and m.scene.given("stockpiles"):
        rows += _stockpiles(m)
    if "strip_beyond_toe" in asked and m.scene.given("toes"):
        rows += _strips(m, asked["strip_beyond_toe"])
    if "proposed_slope" in asked and "dem_proposed" in m.scene.surfaces:
        rows += _proposed(m, asked["proposed_slope"])
    table = pd.DataFrame(rows, columns=list(EXTRA_COLUMNS))
    return table.astype({"value": float, "boundary_ft": float, "unknown": float, "record": int})


def _row(subject: Any, name: str, value: float, unit: str, **more: Any) -> dict[str, Any]:
    kind, subject_id, record = subject
    return {
        "subject_kind": kind,
        "subject_id": subject_id,
        "record": record,
        "name": name,
        "feature_kind": "",
        "feature_id": "",
        "value": value,
        "unit": unit,
        "boundary_ft": 0.0,
        "unknown": 0.0,
        **more,
    }


def _of_kind(m: Measures, kind: str) -> tuple[list[tuple[str, str, int]], Geometries]:
    table = m.subjects.table
    chosen = (table["subject_kind"] == kind).to_numpy()
    rows = table.loc[chosen, ["subject_kind", "subject_id", "record"]]
    return list(rows.itertuples(index=False, name=None)), m.subjects.geometries[chosen]


def _groups(site: Site, m: Measures) -> Iterator[dict[str, Any]]:
    """The union of the footprints of each project and group, each square foot once."""
    from wetgis.activities import groups

    table = m.subjects.table
    chosen = (table["subject_kind"] == "footprint").to_numpy()
    footprints = table[chosen].reset_index(drop=True)
    if not len(footprints):
        return
    geometries = m.subjects.geometries[chosen]
    found = groups(footprints, site.packs, dict(site.facts))
    keys = pd.MultiIndex.from_frame(footprints[["subject_id", "record"]])
    position = pd.Series(np.arange(len(keys)), index=keys)
    position = position[~position.index.duplicated()]
    at = position.reindex(pd.MultiIndex.from_frame(found[["footprint_id", "record"]])).to_numpy()
    project = footprints["project_id"].astype(str).to_numpy()[at.astype(int)]
    labels, names = pd.factorize(
        pd.MultiIndex.from_arrays([project, found["group"].astype(str)]), sort=True
    )
    members = geometries[at.astype(int)]
    usable = ~shapely.is_missing(members)
    order = normal_order(members[usable])
    which, united = union_groups(members[usable][order], labels[usable][order])
    scale = m.scene.scale
    for label, shape in zip(which, united, strict=True):
        project_id, group = names[label]
        yield _row(
            ("project", project_id, 1),
            f"group_sqft:{group}",
            float(shapely.area(shape)) * scale**2,
            "sqft",
            boundary_ft=float(shapely.length(shape)) * scale,
        )


def _study_areas(m: Measures, reach_ft: float) -> Iterator[dict[str, Any]]:
    """The disturbance of each project and the ground around it."""
    scale = m.scene.scale
    for subject, shape in zip(*_of_kind(m, "project"), strict=True):
        if shape is None:
            continue
        zone, _ = audited_zone(
            np.array([shape], dtype=object), np.array([reach_ft / scale]), 0.01 / scale
        )
        yield _row(
            subject,
            "vegetation_study_sqft",
            float(shapely.area(zone)) * scale**2,
            "sqft",
            boundary_ft=float(shapely.length(zone)) * scale,
        )


def _homes(m: Measures, geometries: Geometries) -> Iterator[tuple[Any, int]]:
    """Which features lie on which parcels, and with them on which projects."""
    scale = m.scene.scale
    subjects, shapes = _of_kind(m, "parcel")
    own = [(subject, shape) for subject, shape in zip(subjects, shapes, strict=True)]
    projects, disturbed = _of_kind(m, "project")
    own += list(zip(projects, disturbed, strict=True))
    if not own:
        return
    tree = shapely.STRtree(geometries)
    s, f = tree.query(
        np.array([o[1] for o in own], dtype=object), predicate="dwithin", distance=1e-6 / scale
    )
    pairs = {(own[i][0], int(j)) for i, j in zip(s, f, strict=True)}
    by_parcel: dict[str, set[str]] = {}
    for row in m.members.itertuples():
        by_parcel.setdefault(str(row.parcel_id), set()).add(str(row.project_id))
    for (kind, subject_id, _), feature in list(pairs):
        if kind == "parcel":
            pairs |= {(("project", p, 1), feature) for p in by_parcel.get(str(subject_id), ())}
    yield from sorted(pairs)


def _stockpiles(m: Measures) -> Iterator[dict[str, Any]]:
    """The distance from each stockpile to the nearest surface water."""
    piles = m.scene.features["stockpiles"]
    shapes = piles.groups.geometries
    if m.scene.given("watercourses"):
        water = m.scene.features["watercourses"].geometries
        distance = nearest_to(shapes, water) * m.scene.scale
        unknown = 0.0
    else:
        distance, unknown = np.full(len(shapes), np.nan), float("nan")
    for subject, k in _homes(m, shapes):
        yield _row(
            subject,
            "stockpile_water_ft",
            float(distance[k]),
            "ft",
            feature_kind="stockpile",
            feature_id=piles.groups.ids[k],
            unknown=unknown,
        )


def _strips(m: Measures, width_ft: float) -> Iterator[dict[str, Any]]:
    """The ground that must be stripped around each toe of slope, and what of it is not."""
    scale = m.scene.scale
    toes = m.scene.features["toes"]
    shapes = toes.groups.geometries
    given = m.scene.given("strips")
    strips = m.scene.features["strips"].geometries if given else np.empty(0, object)
    stripped = shapely.union_all(strips)
    for subject, k in _homes(m, shapes):
        zone, _ = audited_zone(
            shapes[k : k + 1], np.array([width_ft / scale]), STRIP_TOLERANCE_FT / scale
        )
        missing = shapely.area(shapely.difference(zone, stripped)) * scale**2
        about = {"feature_kind": "toe", "feature_id": toes.groups.ids[k]}
        outline = float(shapely.length(zone)) * scale
        yield _row(
            subject, "strip_required_sqft", float(shapely.area(zone)) * scale**2, "sqft",
            boundary_ft=outline, **about,
        )  # fmt: skip
        yield _row(
            subject, "strip_missing_sqft", float(missing) if given else float("nan"), "sqft",
            boundary_ft=outline, unknown=0.0 if given else float("nan"), **about,
        )  # fmt: skip


def _proposed(m: Measures, slope_pct: float) -> Iterator[dict[str, Any]]:
    """Ground steeper than a number on the proposed surface, under footprints and projects."""
    surface = m.scene.surfaces["dem_proposed"]
    for kind in ("footprint", "project"):
        subjects, shapes = _of_kind(m, kind)
        if not subjects:
            continue
        own = mend(shapes)
        found = surface.zonal(own, m.scene.crs, slope_pct)
        area = shapely.area(own) * m.scene.scale**2
        known = np.nan_to_num(found["known_frac"])
        for k, subject in enumerate(subjects):
            unknown = float(area[k] * (1 - known[k])) if known[k] > 0 else float("nan")
            steep = float(found["above_frac"][k] * area[k]) if known[k] > 0 else float("nan")
            yield _row(subject, "proposed_steep_sqft", steep, "sqft", unknown=unknown)
            yield _row(
                subject,
                "proposed_slope_max_pct",
                float(found["max_pct"][k]),
                "pct",
                unknown=unknown,
            )
