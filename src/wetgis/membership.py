"""Which footprints make a project, and which parcels they lie on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import shapely

from wetgis.encounters import Groups, encounters, slivers
from wetgis.evidence import MEMBER_COLUMNS
from wetgis.scene import Subjects
from wetgis.shapes import normal_order, union_groups

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

__all__ = ["assign", "members_of", "project_subjects"]


def members_of(footprints: Subjects, parcels: Subjects, scale: float) -> pd.DataFrame:
    """Each footprint and each parcel it lies on or touches.

    Returns
    -------
    DataFrame
        ``footprint`` (position), ``footprint_id``, ``parcel_id``, ``area_sqft`` (of the footprint
        on it), ``lies_on`` (more than a touch or a shared line).
    """
    columns = ["footprint", "footprint_id", "parcel_id", "area_sqft", "lies_on"]
    usable = np.flatnonzero(~shapely.is_missing(parcels.geometries))
    if len(usable):
        tree = shapely.STRtree(parcels.geometries[usable])
        usable = usable[np.unique(tree.query(footprints.geometries)[1])]
    if not len(usable):
        return pd.DataFrame(columns=columns).astype({"area_sqft": float, "lies_on": bool})
    ids = parcels.table["subject_id"].to_numpy(dtype=object)[usable]
    groups = Groups.by_id(parcels.geometries[usable], ids, scale)
    found = encounters(footprints.geometries, groups, 0.0, scale)
    thin = shapely.get_dimensions(footprints.geometries[found.subject]) < 2
    crosses = np.zeros(len(thin), bool)
    crosses[thin] = shapely.relate_pattern(
        footprints.geometries[found.subject[thin]],
        groups.geometries[found.group[thin]],
        "T********",
    )
    lies = ((found.area_sqft > 0) & ~slivers(footprints.geometries, groups, found, scale)) | crosses
    return pd.DataFrame(
        {
            "footprint": found.subject,
            "footprint_id": footprints.table["subject_id"].to_numpy(dtype=object)[found.subject],
            "parcel_id": groups.ids[found.group],
            "area_sqft": found.area_sqft,
            "lies_on": lies,
        }
    )[columns]


def assign(footprints: Subjects, members: pd.DataFrame) -> NDArray[np.object_]:
    """The project of each footprint: the one it names; else those that share a parcel."""
    ids = footprints.table["subject_id"].astype(str).to_numpy(dtype=object)
    given = footprints.table.get("project_id")
    named = np.zeros(len(ids), bool)
    out = np.array([""] * len(ids), dtype=object)
    if given is not None:
        text = given.astype(object).where(given.notna(), "").astype(str).str.strip()
        named = (text != "").to_numpy()
        out[named] = text.to_numpy(dtype=object)[named]
    free = np.flatnonzero(~named)
    if not len(free):
        return out
    labels = _by_parcel(free, members, len(ids))
    for label in np.unique(labels[free]):
        chosen = free[labels[free] == label]
        out[chosen] = min(ids[chosen])
    return out


def _by_parcel(free: Ints, members: pd.DataFrame, count: int) -> Ints:
    from wetgis.encounters import components

    pairs = members[members["footprint"].isin(free)]
    labels = np.arange(count)
    first = pairs.groupby("parcel_id")["footprint"].transform("min")
    if not len(pairs):
        return labels
    return components(labels, pairs["footprint"].to_numpy(int), first.to_numpy(int))


def project_subjects(
    footprints: Subjects, projects: NDArray[np.object_], members: pd.DataFrame
) -> tuple[Subjects, pd.DataFrame]:
    """Projects as subjects (each foot of their footprints once), and ``MEMBER_COLUMNS``."""
    names, labels = np.unique(projects.astype(str), return_inverse=True)
    usable = ~shapely.is_missing(footprints.geometries)
    order = normal_order(footprints.geometries[usable])
    found, united = union_groups(
        footprints.geometries[usable][order], labels.reshape(-1)[usable][order]
    )
    geometries = np.full(len(names), None, dtype=object)
    geometries[found] = united
    table = members.assign(project_id=projects[members["footprint"].to_numpy(int)])
    lying = table[table["lies_on"]]
    table = _complete(footprints, projects, lying)
    parcels = lying.groupby("project_id")["parcel_id"].agg(lambda ids: ";".join(sorted(set(ids))))
    subjects = pd.DataFrame(
        {
            "subject_kind": "project",
            "subject_id": names.astype(object),
            "record": 1,
            "parcel_id": [parcels.get(name, "") for name in names],
            "project_id": names.astype(object),
            # their ground is not in any total
            "footprints_unusable": np.bincount(labels.reshape(-1)[~usable], minlength=len(names)),
        }
    )
    return Subjects(geometries, subjects), table


def _complete(
    footprints: Subjects, projects: NDArray[np.object_], lying: pd.DataFrame
) -> pd.DataFrame:
    """Every footprint has a row, with an empty parcel where it lies on none."""
    alone = np.setdiff1d(np.arange(len(footprints)), lying["footprint"].to_numpy(int))
    rest = pd.DataFrame(
        {
            "project_id": projects[alone],
            "footprint_id": footprints.table["subject_id"].to_numpy(dtype=object)[alone],
            "parcel_id": "",
            "area_sqft": 0.0,
        }
    )
    rows = [frame[list(MEMBER_COLUMNS)] for frame in (lying, rest) if len(frame)]
    if not rows:
        return pd.DataFrame(columns=list(MEMBER_COLUMNS))
    return (
        pd.concat(rows, ignore_index=True)
        .sort_values(["project_id", "footprint_id", "parcel_id"], kind="stable")
        .reset_index(drop=True)
    )
