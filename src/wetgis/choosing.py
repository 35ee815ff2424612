"""Which subjects are wanted, and the part of a site that answers for them.

A parcel of a county is found by its id, and those that footprints lie on by their boxes; no other
row is touched. What must be known of all parcels is asked of the layer as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from wetgis.crs import ft_per_unit
from wetgis.engine import scene_of, subjects_of
from wetgis.errors import InputError
from wetgis.heldlayers import rows_under

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wetgis.site import Site

    Bools = NDArray[np.bool_]

__all__ = ["Keys", "choose", "only"]

Keys = set[tuple[str, str]]


def choose(
    site: Site, ids: Sequence[str] | None, project: str | None
) -> tuple[Site, Keys | None, Bools | None]:
    """The part of a site that holds the wanted subjects, their keys, and which to measure.

    Raises
    ------
    InputError
        Where an id is not there; the nearest ones are named.
    """
    if ids is None and project is None:
        return site, None, None
    whole, wanted_ids = site, [str(i) for i in ids or ()]
    site = _part(site, wanted_ids)
    subjects, members, _ = subjects_of(site, ft_per_unit(site.crs))
    kinds = subjects.table["subject_kind"].astype(str)
    names = subjects.table["subject_id"].astype(str)
    wanted = names.isin(wanted_ids)
    _require(wanted_ids, names, whole, "subject")
    if project is not None:
        _require([project], names[kinds == "project"], None, "project")
        wanted |= (kinds == "project") & (names == project)
        wanted |= (kinds == "footprint") & names.isin(
            members.loc[members["project_id"] == project, "footprint_id"].astype(str)
        )
    keep = set(zip(kinds[wanted], names[wanted], strict=True))
    # a project is judged by its footprints and from its parcels: they are measured with it
    chosen_projects = {n for k, n in keep if k == "project"}
    related = members[members["project_id"].isin(chosen_projects)]
    needed = wanted | ((kinds == "parcel") & names.isin(related["parcel_id"].astype(str)))
    needed |= (kinds == "footprint") & names.isin(related["footprint_id"].astype(str))
    return site, keep, needed.to_numpy()


def _part(site: Site, ids: Sequence[str]) -> Site:
    """The site with the parcels of these ids and those that its footprints lie on."""
    parcels = site.layers.get("parcels")
    if parcels is None:
        return site
    rows = parcels.rows_of(ids)
    if "footprints" in site.layers:
        rows = np.union1d(rows, rows_under(parcels, site.layers["footprints"].boxes))
    if not len(rows):  # a table has its columns only with a row
        rows = np.arange(min(len(parcels.boxes), 1))
    # the layers that are measured against are made ready once, for the site and all its parts
    scene_of(site)
    part = replace(site, layers={**site.layers, "parcels": parcels.part(rows)})
    part._ready.update({k: v for k, v in site._ready.items() if k != "subjects"})
    part._ready["whole"] = site._ready
    return part


def _require(ids: Sequence[str], names: pd.Series, whole: Site | None, what: str) -> None:
    missing = sorted(set(map(str, ids)) - set(names))
    if missing:
        known = set(names)
        if whole is not None and "parcels" in whole.layers:
            known |= set(whole.layers["parcels"].ids())
        near = get_close_matches(missing[0], sorted(known), 3)
        raise InputError(
            f"there is no {what} '{missing[0]}'"
            + (f" (and {len(missing) - 1} more)." if len(missing) > 1 else "."),
            needed=f"an id of the site, as {', '.join(near)}" if near else "an id of the site",
        )


def only(tables: dict[str, Any], keep: Keys) -> dict[str, Any]:
    """The rows of the tables that are about these subjects."""
    out = dict(tables)
    for name in ("measures", "findings", "contacts", "parts"):
        frame = tables[name]
        pairs = zip(frame["subject_kind"], frame["subject_id"].astype(str), strict=True)
        chosen = np.array([pair in keep for pair in pairs], dtype=bool)
        out[name] = frame[chosen].reset_index(drop=True)
    return out
