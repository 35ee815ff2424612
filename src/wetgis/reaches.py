"""Distances and contacts by subject, as the rules about nearness need them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from wetgis.doubts import Bools, Floats, Trial, Words
from wetgis.packs import Limit
from wetgis.schema import EPS_SQFT
from wetgis.trials import KEYS, LAYER_OF, Case, append, words

__all__ = [
    "BEYOND",
    "Reach",
    "beyond_limit",
    "by_dimension",
    "counted",
    "measure_reach",
    "nearest_of",
    "open_ground",
    "parcel_contacts",
    "parcel_view",
    "source_words",
]

BEYOND = "what lies within reach is beyond the municipal limit"
#: The measure that tells how far the nearest feature of a layer is.
DISTANCE_OF = {
    "wetlands": "wetland_ft",
    "watercourses": "watercourse_ft",
    "soils": "hydric_ft",
    "indicators": "indicator_ft",
    "floodplain": "floodplain_ft",
}
UNKNOWN_REGULATOR = frozenset({"", "UNKNOWN", "NA", "NONE STATED", "NULL"})


@dataclass(frozen=True)
class Reach:
    """How far the nearest feature of some layers is, its interval, and what cannot be told."""

    value: Floats
    half: Floats  # NaN where no accuracy is stated
    low: Floats
    high: Floats
    factor: Floats
    open: Bools  # another feature might be nearer than what is known
    needs: Words
    lows: dict[str, Floats] = field(default_factory=dict)  # by layer, 0 where it may be met

    def trial(self, limit: Limit, comparison: str, *, threshold: Floats | None = None) -> Trial:
        """The distance held against a reach."""
        return Trial(
            self.value, comparison, limit.value if threshold is None else threshold, "ft",
            half=self.half, span=(self.low, self.high), factor=self.factor,
        )  # fmt: skip


def by_dimension(frame: pd.DataFrame) -> Iterator[tuple[pd.DataFrame, str]]:
    """Areas, for which a touch at the reach is outside, and the rest, for which it is within."""
    if "geometry_dim" not in frame.columns:
        area = np.ones(len(frame), dtype=bool)
    else:
        area = ~frame["geometry_dim"].isin([0, 1]).to_numpy(dtype=bool)
    for mask, comparison in ((area, "lt"), (~area, "le")):
        if mask.any():
            yield frame[mask].reset_index(drop=True), comparison


def measure_reach(case: Case, frame: pd.DataFrame, kinds: Sequence[str]) -> Reach:
    """The distance to the nearest feature of several layers."""
    n = len(frame)
    value = np.full(n, np.inf)
    low, high, half = value.copy(), value.copy(), np.full(n, np.nan)
    seen = np.zeros(n, dtype=bool)
    mine, lows = case.accuracy(frame), {}
    for kind in kinds:
        distance = case.number(frame, DISTANCE_OF[kind]) if case.given(kind) else np.full(n, np.nan)
        near = case.nearest(frame, [kind])
        theirs = case.number(near, "accuracy_ft")
        theirs = np.where(np.isnan(theirs), case.layer(kind).accuracy_ft, theirs)
        stated = ~(np.isnan(mine) & np.isnan(theirs))
        spread = np.nan_to_num(mine) + np.nan_to_num(theirs)
        known = ~np.isnan(distance)
        nearer = known & (distance < value)
        half = np.where(nearer, np.where(stated, spread, np.nan), half)
        value = np.where(nearer, distance, value)
        lows[kind] = np.where(known, np.maximum(distance - spread, 0.0), np.inf)
        low = np.minimum(low, lows[kind])
        high = np.where(known, np.minimum(high, distance + spread), high)
        seen |= known
    open_, needs = open_ground(case, frame, kinds)
    factor = case.number(frame, "combined_factor")
    value, low, high = (np.where(seen, column, np.nan) for column in (value, low, high))
    return Reach(value, half, low, high, factor, open_, needs, lows)


def open_ground(case: Case, frame: pd.DataFrame, kinds: Sequence[str]) -> tuple[Bools, Words]:
    """Where a layer is missing or ends within reach, and the words for it."""
    n = len(frame)
    undecided, needs = np.zeros(n, dtype=bool), words(n)
    unusable = case.number(frame, "geometry_dim") == -1
    if unusable.any():
        own = [f"layer: {LAYER_OF[kind]}" for kind in frame["subject_kind"]]
        needs, undecided = append(needs, unusable, np.array(own, dtype=object)), unusable
    for kind in kinds:
        if not case.given(kind):
            gap, text = np.ones(n, dtype=bool), f"layer: {kind}"
        else:
            gap, text = case.unmapped(frame, kind), f"extent: {kind}"
            if kind in DISTANCE_OF and DISTANCE_OF[kind] in frame.columns:
                gap = gap | np.isnan(case.number(frame, DISTANCE_OF[kind]))
        gap = gap & ~unusable
        needs, undecided = append(needs, gap, text), undecided | gap
    return undecided, needs


def parcel_view(case: Case, subject_kind: str) -> pd.DataFrame:
    """Parcels; or projects, each with the measures of its parcels taken as one.

    A project whose parcels are not among the subjects has ``parcels_missing``.
    """
    key = ("parcel_view", subject_kind)
    return case.once(key, lambda: _parcel_view(case, subject_kind))


def _parcel_view(case: Case, subject_kind: str) -> pd.DataFrame:
    if subject_kind != "project":
        return case.subjects(subject_kind).assign(parcels_missing=False)
    projects, parcels = case.subjects("project"), case.subjects("parcel")
    own = parcels.drop(columns=["project_id"], errors="ignore")
    own = own.assign(parcel_id=parcels["subject_id"].astype(object))
    # a parcel that stands in its file twice is one piece of ground
    measured = [c for c in own.columns if c.endswith(("_sqft", "_ft"))]
    own = own.drop_duplicates(["parcel_id", *measured])
    joined = _links(case).merge(own, on="parcel_id", how="left")
    view = projects[[c for c in (*KEYS, "geometry_dim") if c in projects.columns]].copy()
    ids = view["subject_id"].astype(object)
    for column in parcels.columns:
        together = _together(joined, column)
        if together is not None:
            view[column] = ids.map(together)
    found = joined["subject_kind"].notna().groupby(joined["project_id"]).all()
    view["parcels_missing"] = ~ids.map(found).eq(True)
    return view


def _together(joined: pd.DataFrame, column: str) -> pd.Series | None:
    """A measure of several parcels taken as one; None for what cannot be taken so."""
    group = joined.groupby("project_id", sort=False)[column]
    if column.endswith("_sqft") or column.startswith("boundary_"):
        return group.sum(min_count=1)
    if column == "accuracy_ft":
        return group.max()
    if column.endswith("_ft"):
        return group.min()
    if column.startswith("unmapped_reach"):
        return joined[column].eq(True).groupby(joined["project_id"]).any()
    return group.first() if column == "combined_factor" else None


def _links(case: Case) -> pd.DataFrame:
    """Which parcels a project lies on, each pair once."""
    members = case.evidence.members
    links = members[members["parcel_id"].astype(object) != ""][["project_id", "parcel_id"]]
    return links.astype(object).drop_duplicates().reset_index(drop=True)


def parcel_contacts(case: Case, subject_kind: str, kinds: Sequence[str]) -> pd.DataFrame:
    """Contacts of parcels; or of projects, by the nearest of their parcels."""
    if subject_kind != "project":
        return case.contacts(subject_kind, kinds)
    key = ("parcel_contacts", subject_kind, tuple(kinds))
    return case.once(key, lambda: _project_contacts(case, kinds))


def _project_contacts(case: Case, kinds: Sequence[str]) -> pd.DataFrame:
    near = case.contacts("parcel", kinds)
    measured = ["subject_id", "feature_kind", "feature_id", "distance_ft", "area_sqft"]
    near = near.drop_duplicates([c for c in measured if c in near.columns])
    joined = _links(case).merge(
        near.assign(parcel_id=near["subject_id"].astype(object)), on="parcel_id", how="inner"
    )
    joined["subject_kind"], joined["record"] = "project", 1
    joined["subject_id"] = joined["project_id"]
    feature = ["subject_id", "feature_kind", "feature_id"]
    area = joined.groupby(feature, sort=False)["area_sqft"].sum()
    joined = joined.sort_values([*feature, "distance_ft"], kind="stable").drop_duplicates(feature)
    joined["area_sqft"] = area.reindex(pd.MultiIndex.from_frame(joined[feature])).to_numpy()
    return joined.drop(columns=["parcel_id", "project_id"]).reset_index(drop=True)


def counted(regulator: Words, wanted: Sequence[str]) -> tuple[Bools, Bools]:
    """Which features are regulated by one of these, and of which that is not known."""
    yes, unknown = np.zeros(len(regulator), dtype=bool), np.zeros(len(regulator), dtype=bool)
    for i, text in enumerate(regulator):
        plain = str(text).strip().upper()
        unknown[i] = plain in UNKNOWN_REGULATOR
        tokens = re.findall(r"[A-Z]+", plain)
        yes[i] = any(token.endswith(name.upper()) for token in tokens for name in wanted)
    return yes, unknown


def beyond_limit(case: Case, frame: pd.DataFrame) -> tuple[Bools, Bools]:
    """Which subjects reach beyond the municipal limit and have nothing within reach inside it.

    And which of them lie beyond it wholly, so that nothing unmapped could matter.
    """

    def parts(*places: str) -> Floats:
        dim = case.number(frame, "geometry_dim")
        areas = sum(np.nan_to_num(case.number(frame, f"{p}_sqft")) for p in places)
        lengths = sum(np.nan_to_num(case.number(frame, f"{p}_length_ft")) for p in places)
        return np.asarray(np.where(dim == 1, lengths, areas), dtype="float64")

    inside = parts("wetland", "watercourse", "buffer")
    nothing = (parts("beyond_limit") > EPS_SQFT) & (inside <= EPS_SQFT)
    return nothing, nothing & (parts("outside", "unmapped") <= EPS_SQFT)


def nearest_of(case: Case, frame: pd.DataFrame, kinds: Sequence[str]) -> pd.DataFrame:
    """The nearest contact over several layers; of two as near, that of the layer named first."""
    found = [case.nearest(frame, [kind]) for kind in kinds]
    distances = np.array([case.number(near, "distance_ft") for near in found])
    first = np.argmin(np.where(np.isnan(distances), np.inf, distances), axis=0)
    together = pd.concat(found, ignore_index=True)
    chosen: pd.DataFrame = together.iloc[first * len(frame) + np.arange(len(frame))]
    return chosen.reset_index(drop=True)


def source_words(case: Case, near: pd.DataFrame) -> Words:
    """Where a feature comes from: source, its date and its basis; empty where nothing is near."""
    columns = [case.text(near, name) for name in ("source", "source_date", "basis")]
    known: dict[tuple[str, ...], str] = {}
    out = words(len(near))
    for i, row in enumerate(zip(*columns, strict=True)):
        if row not in known:
            source, date, basis = row
            pieces = [source + (f" of {date}" if date else ""), basis.replace("_", " ")]
            told = ", ".join(piece for piece in pieces if piece)
            known[row] = f"source: {told}" if told else ""
        out[i] = known[row]
    return out
