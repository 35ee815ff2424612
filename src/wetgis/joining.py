"""Where the two halves meet: measures become evidence, and the law finds on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from wetgis.crs import combined_factor
from wetgis.engine import subjects_on_disk
from wetgis.evidence import Evidence, LayerFacts
from wetgis.issuelog import Issue
from wetgis.measures import mean_elevation_ft
from wetgis.scene import Subjects
from wetgis.schema import CHECKLIST_COLUMNS, FINDING_COLUMNS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wetgis.engine import Measures
    from wetgis.scene import Scene
    from wetgis.site import Site

__all__ = ["elsewhere", "join_halves", "law_of", "subject_keys"]


def join_halves(site: Site, m: Measures) -> tuple[pd.DataFrame, pd.DataFrame, list[Issue]]:
    """The law half: findings, checklist, and what it says about the input."""
    told = elsewhere(site, m.subjects.bounds) if site.packs and len(m.table) else []
    return *law_of(site, m), told


def law_of(site: Site, m: Measures) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Findings and checklist; empty without a pack or a subject."""
    if not site.packs or not len(m.table):
        empty = pd.DataFrame(columns=list(FINDING_COLUMNS))
        return empty, pd.DataFrame(columns=list(CHECKLIST_COLUMNS))
    from wetgis.extras import make_extras
    from wetgis.findings import find

    evidence = Evidence(
        subjects=_subjects_table(site, m),
        contacts=pd.DataFrame(m.contacts.drop(columns="geometry")),
        members=m.members,
        extras=make_extras(site, m),
        layers=_layer_facts(site),
        as_of=site.as_of,
        facts=dict(site.facts),
        buffer_ft=site.measure.buffer_ft,
    )
    return find(evidence, site.packs)


def elsewhere(site: Site, boxes: NDArray[np.float64]) -> list[Issue]:
    """Packs whose place is somewhere else than the subjects, of which these are the boxes."""
    from wetgis.crs import as_crs, geographic_bounds

    bounds = boxes[np.isfinite(boxes).all(axis=1)]
    if not len(bounds):
        return []
    low, high = bounds[:, :2].min(axis=0), bounds[:, 2:].max(axis=0)
    box = (float(low[0]), float(low[1]), float(high[0]), float(high[1]))
    west, south, east, north = geographic_bounds(site.crs, box)
    found = []
    for pack in site.packs:
        place = as_crs(pack.crs).area_of_use if pack.crs else None
        if place is not None and (
            east < place.west or west > place.east or north < place.south or south > place.north
        ):
            found.append(
                Issue(
                    "warning",
                    "outside_jurisdiction",
                    f"{pack.id}: the subjects lie outside {pack.crs}, where {pack.place} is.",
                    effect="its provisions do not govern them; its citations are an exercise",
                )
            )
    return found


def _subjects_table(site: Site, m: Measures) -> pd.DataFrame:
    """The measures as the law half reads them."""
    import shapely

    table = m.table.copy()
    own = m.subjects.geometries
    table["geometry_dim"] = shapely.get_dimensions(own)
    inside = _boundary_by_kind(m)
    for place in ("wetland", "watercourse", "floodplain"):
        table[f"boundary_{place}_ft"] = inside.get(place, np.zeros(len(table)))
    table["boundary_buffer_ft"] = _buffer_outline(m)
    table["combined_factor"] = _factor(site, m.scene)
    return table


def _factor(site: Site, scene: Scene) -> float:
    """Grid to ground at the middle of the site: as stated, else from projection and elevation.

    It is that of the whole site, so that one parcel is told what all of them are.
    """
    if site.combined_factor is not None:
        return site.combined_factor
    ready = site._ready.get("whole", site._ready)  # of a part: what is known of all of it
    if "factor" not in ready:
        bounds = _all_boxes(site, scene)
        ready["factor"] = 1.0
        if len(bounds):
            low, high = bounds[:, :2].min(axis=0), bounds[:, 2:].max(axis=0)
            box = (float(low[0]), float(low[1]), float(high[0]), float(high[1]))
            elevation = mean_elevation_ft(scene, bounds)
            ready["factor"] = combined_factor(site.crs, box, elevation)
    return float(ready["factor"])


def _all_boxes(site: Site, scene: Scene) -> NDArray[np.float64]:
    """The boxes of all subjects of the site, also of the parcels that are not held here."""
    subjects, _, _ = subjects_on_disk(site, scene.scale)
    if isinstance(subjects, Subjects):
        others = subjects.bounds[(subjects.table["subject_kind"] != "parcel").to_numpy(bool)]
    else:
        others = subjects.rest.bounds
    parcels = [site.layers["parcels"].boxes] if "parcels" in site.layers else []
    boxes = np.concatenate([*parcels, others])
    found: NDArray[np.float64] = boxes[np.isfinite(boxes).all(axis=1)]
    return found


def subject_keys(frame: pd.DataFrame) -> pd.MultiIndex:
    """Kind, id and record of each row."""
    return pd.MultiIndex.from_frame(frame[["subject_kind", "subject_id", "record"]])


def _boundary_by_kind(m: Measures) -> dict[str, NDArray[np.float64]]:
    """Feet of boundary of each kind inside each subject."""
    keys = subject_keys(m.table)
    out: dict[str, NDArray[np.float64]] = {}
    for kind, rows in m.contacts.groupby("feature_kind"):
        sums = (
            rows["boundary_ft"].groupby(subject_keys(rows)).sum() if "boundary_ft" in rows else None
        )
        if sums is not None:
            out[str(kind)] = sums.reindex(keys).fillna(0.0).to_numpy(float)
    return out


def _buffer_outline(m: Measures) -> NDArray[np.float64]:
    """The outline of the buffer's part in each subject, ft: no less than the legal line in it."""
    rows = m.parts[m.parts["place"] == "buffer"]
    lengths = pd.Series(rows.length.to_numpy() * m.scene.scale, index=subject_keys(rows))
    lengths = lengths[~lengths.index.duplicated()]
    return lengths.reindex(subject_keys(m.table)).fillna(0.0).to_numpy(float)


def _layer_facts(site: Site) -> dict[str, LayerFacts]:
    """What is known of each layer as a whole."""
    facts = {}
    for kind, layer in site.layers.items():
        facts[kind] = LayerFacts(
            given=True,
            **vars(layer.summary),
            ballpark=any(o.ballpark for o in layer.operations),
        )
    for kind, raster in site.rasters.items():
        facts[kind] = LayerFacts(
            given=True, features=len(raster.paths), source="; ".join(p.name for p in raster.paths)
        )
    return facts
