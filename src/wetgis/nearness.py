"""Rules about what lies near a parcel: which features, how large, on what basis."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan

import numpy as np
import pandas as pd

from wetgis.doubts import Bools, Floats, Trial, Words, both
from wetgis.packs import Limit
from wetgis.packs.model import Rule
from wetgis.reaches import (
    BEYOND,
    DISTANCE_OF,
    beyond_limit,
    by_dimension,
    counted,
    measure_reach,
    nearest_of,
    open_ground,
    parcel_contacts,
    parcel_view,
    source_words,
)
from wetgis.trials import KEYS, Case, Outcome, append, rows, words
from wetgis.wording import shown, sqft

__all__ = [
    "boundary_basis",
    "counted_regulator",
    "features_near",
    "features_near_by_size",
    "stockpile_distance",
    "tidal_class",
    "watercourse_kept",
    "whole_size",
    "within_reach",
]

FIELD_BASES = ("field_survey", "flagged_gps")


def within_reach(case: Case, rule: Rule, subject_kind: str) -> list[pd.DataFrame]:
    """Whether some of the subject lies within a reach of a feature, by the exact distance."""
    limit, out = case.limit(rule, "reach"), []
    for frame, comparison in by_dimension(case.subjects(subject_kind)):
        reach = measure_reach(case, frame, rule.features)
        trial = reach.trial(limit, comparison)
        nothing, wholly = beyond_limit(case, frame)
        met = trial.met & ~nothing
        touch = ~trial.met & (np.abs(trial.margin) <= trial.noise)
        note = append(parts_note(case, frame), np.ones(len(frame), dtype=bool),
                      source_words(case, nearest_of(case, frame, rule.features)))  # fmt: skip
        note = append(note, nothing & trial.met, BEYOND)
        note = append(note, touch, "touches the reach, shares no ground with it")
        out.append(rows(case, rule, frame, Outcome(
            met, ~met & ~wholly & reach.open, trial, needs=reach.needs, note=note, limit=limit,
            layers=rule.features,
        )))  # fmt: skip
    return out


def parts_note(case: Case, frame: pd.DataFrame) -> Words:
    """How much of an area lies in each place."""
    places = ("wetland", "watercourse", "buffer", "outside", "unmapped", "beyond_limit")
    areas = {p: case.number(frame, f"{p}_sqft") for p in places}
    lengths = {p: case.number(frame, f"{p}_length_ft") for p in places}
    dim = case.number(frame, "geometry_dim")
    out = words(len(frame))
    for i in np.flatnonzero(dim != 0):  # a point has no parts
        source, unit = (lengths, "ft") if dim[i] == 1 else (areas, "sq ft")
        found = [
            f"{place.replace('_', ' ')} {shown(column[i])}"
            for place, column in source.items()
            if column[i] > 0 or (place in places[:4] and column[i] == 0)
        ]
        out[i] = f"{', '.join(found)} {unit}" if found else ""
    return out


# ---------------------------------------------------------------- features within a reach


def features_near(case: Case, rule: Rule, subject_kind: str) -> list[pd.DataFrame]:
    """A row for each feature within the reach of the parcels; one without where there is none."""
    view, limit = parcel_view(case, subject_kind), case.limit(rule, "reach")
    near = _with_view(case, parcel_contacts(case, subject_kind, rule.features), view)
    trial = _distance_trial(case, near, limit)
    kept = trial.met | np.logical_or.reduce(list(trial.doubts().values()))
    found = near[kept].reset_index(drop=True)
    trial = _distance_trial(case, found, limit)
    listed = rows(case, rule, found, Outcome(
        trial.met, None, trial, note=_contact_note(case, found, limit), limit=limit,
        feature_kind=case.text(found, "feature_kind"), feature_id=case.text(found, "feature_id"),
        layers=("parcels", *rule.features),
    ))  # fmt: skip
    return [listed, _without(case, rule, view, found, limit, near)]


def features_near_by_size(case: Case, rule: Rule, subject_kind: str) -> list[pd.DataFrame]:
    """The same, for features that are large enough; the whole feature is measured."""
    view, reach, size = (
        parcel_view(case, subject_kind), case.limit(rule, "reach"), case.limit(rule, "size"),
    )  # fmt: skip
    near = _with_view(case, parcel_contacts(case, subject_kind, rule.features), view)
    counts, unknown = counted(case.text(near, "regulator"), rule.regulators)
    near = near[counts | unknown].reset_index(drop=True)
    distance = _distance_trial(case, near, reach)
    kept = distance.met | np.logical_or.reduce(list(distance.doubts().values()))
    found = near[kept].reset_index(drop=True)
    distance, area = _distance_trial(case, found, reach), _size_trial(case, found, size)
    met, flags = both(area, distance)
    cut = case.flag(found, "truncated") & ~area.met & distance.met
    note = _size_note(case, found, rule, reach, cut)
    listed = rows(case, rule, found, Outcome(
        met, cut | ~area.known, area, flags, flags_only=True, note=note, limit=size,
        needs=words(len(found), "extent: wetlands"), layers=("parcels", *rule.features),
        feature_kind=case.text(found, "feature_kind"), feature_id=case.text(found, "feature_id"),
    ))  # fmt: skip
    return [listed, _without_size(case, rule, view, found, size)]


def _with_view(case: Case, near: pd.DataFrame, view: pd.DataFrame) -> pd.DataFrame:
    """Contacts with their subject's accuracy and factor."""
    own = view[KEYS].copy()
    own["factor"] = case.number(view, "combined_factor")
    own["subject_accuracy_ft"] = (
        case.accuracy(view) if "accuracy_ft" in view.columns
        else np.full(len(view), case.layer("parcels").accuracy_ft)
    )  # fmt: skip
    own["subject_accuracy_ft"] = own["subject_accuracy_ft"].fillna(
        case.layer("parcels").accuracy_ft
        if len(view) and view["subject_kind"].iloc[0] != "footprint"
        else nan
    )
    return near.merge(own, on=KEYS, how="inner")


def _distance_trial(case: Case, near: pd.DataFrame, limit: Limit) -> Trial:
    mine, theirs = case.number(near, "subject_accuracy_ft"), case.number(near, "accuracy_ft")
    half = np.nan_to_num(mine) + np.nan_to_num(theirs)
    half = np.where(np.isnan(mine) & np.isnan(theirs), nan, half)
    value, factor = case.number(near, "distance_ft"), case.number(near, "factor")
    return Trial(value, limit.comparison, limit.value, "ft", half=half, factor=factor)


def _size_trial(case: Case, near: pd.DataFrame, limit: Limit) -> Trial:
    half = case.number(near, "whole_boundary_ft") * case.number(near, "accuracy_ft")
    value, factor = case.number(near, "whole_sqft"), case.number(near, "factor")
    return Trial(value, limit.comparison, limit.value, "sqft", half=half, factor=factor)


def _contact_note(case: Case, near: pd.DataFrame, limit: Limit) -> Words:
    distances = case.number(near, "distance_ft")
    every = np.ones(len(near), dtype=bool)
    told = [f"distance {shown(d, limit.value)} ft" for d in distances]
    note = append(np.array(told, dtype=object), every, case.text(near, "name"))
    note = append(note, every, source_words(case, near))
    return drawn_note(case, near, note)


def drawn_note(case: Case, near: pd.DataFrame, note: Words) -> Words:
    """How a watercourse is drawn, as far as it changes how a distance is to be read."""
    bare = case.text(near, "measured_from") == "centreline"
    note = append(note, bare, "drawn as a centreline: the distance is too long by half the channel")
    piped = case.flag(near, "piped")
    return append(note, piped, "marked as piped: it is kept, have it reviewed")


def _size_note(case: Case, found: pd.DataFrame, rule: Rule, reach: Limit, cut: Bools) -> Words:
    note = _contact_note(case, found, reach)
    on_site = case.number(found, "area_sqft")
    every = np.ones(len(found), dtype=bool)
    note = append(note, every, np.array([f"on site {sqft(a)}" for a in on_site], dtype=object))
    _, unknown = counted(case.text(found, "regulator"), rule.regulators)
    note = append(note, unknown, "who regulates it is not stated: it is kept")
    return append(note, cut, "cut off at the edge of its layer: the whole is larger")


def _nearest_known(case: Case, view: pd.DataFrame, rule: Rule, near: pd.DataFrame) -> Floats:
    """The distance to the nearest feature of the rule's layers, NaN where it is not measured."""
    measured = [k for k in rule.features if k in DISTANCE_OF and case.given(k)]
    if measured:
        columns = [case.number(view, DISTANCE_OF[k]) for k in measured]
        return np.asarray(np.fmin.reduce(columns), dtype="float64")
    best = near.sort_values("distance_ft", kind="stable").drop_duplicates(KEYS)
    return case.number(view[KEYS].merge(best, on=KEYS, how="left"), "distance_ft")


def _without(
    case: Case,
    rule: Rule,
    view: pd.DataFrame,
    found: pd.DataFrame,
    limit: Limit,
    near: pd.DataFrame,
) -> pd.DataFrame:
    """One row without a feature: none within the reach, or it cannot be told."""
    value = _nearest_known(case, view, rule, near)
    open_, needs = _open_parcels(case, view, rule.features)
    listed = _among(view, found)
    # a feature in reach has its own row; another one, unseen, would be a further row
    value = np.where(listed, nan, value)
    keep = open_ | ~listed
    trial = Trial(value[keep], limit.comparison, limit.value, "ft")
    frame = view[keep].reset_index(drop=True)
    return rows(case, rule, frame, Outcome(
        np.zeros(len(frame), dtype=bool), open_[keep], trial, needs=needs[keep], limit=limit,
        flags_only=True, layers=("parcels", *rule.features),
    ))  # fmt: skip


def _without_size(
    case: Case, rule: Rule, view: pd.DataFrame, found: pd.DataFrame, limit: Limit
) -> pd.DataFrame:
    open_, needs = _open_parcels(case, view, rule.features)
    listed = _among(view, found)
    keep = open_ | ~listed
    frame = view[keep].reset_index(drop=True)
    value = np.where(open_[keep], nan, 0.0)
    return rows(case, rule, frame, Outcome(
        np.zeros(len(frame), dtype=bool), open_[keep],
        Trial(value, limit.comparison, limit.value, "sqft"), needs=needs[keep], limit=limit,
        flags_only=True, layers=("parcels", *rule.features),
    ))  # fmt: skip


def _open_parcels(case: Case, view: pd.DataFrame, kinds: Sequence[str]) -> tuple[Bools, Words]:
    open_, needs = open_ground(case, view, kinds)
    lost = case.flag(view, "parcels_missing")
    return open_ | lost, np.where(lost, "layer: parcels", needs).astype(object)


def _among(view: pd.DataFrame, found: pd.DataFrame) -> Bools:
    """Which subjects have a row already."""
    mine = pd.MultiIndex.from_frame(view[KEYS])
    return np.asarray(mine.isin(pd.MultiIndex.from_frame(found[KEYS])), dtype=bool)


# ---------------------------------------------------------------- about each feature


def _each(case: Case, rule: Rule, subject_kind: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The contacts that a rule looks at one by one, and the subjects."""
    view = parcel_view(case, subject_kind)
    if subject_kind == "footprint":
        near = case.contacts(subject_kind, rule.features)
    else:
        near = parcel_contacts(case, subject_kind, rule.features)
    near = _with_view(case, near, view)
    # what another law in force looks for farther away is not this one's
    trial = _distance_trial(case, near, case.limit(rule, "reach"))
    kept = trial.met | np.logical_or.reduce(list(trial.doubts().values()))
    return near[kept].reset_index(drop=True), view


def _listed(case: Case, rule: Rule, near: pd.DataFrame, found: Outcome) -> pd.DataFrame:
    found.feature_kind = case.text(near, "feature_kind")
    found.feature_id = case.text(near, "feature_id")
    found.layers = rule.features
    return rows(case, rule, near, found)


def _missing(case: Case, rule: Rule, view: pd.DataFrame) -> pd.DataFrame:
    """One row a subject where none of the layers was given; else what is given has its rows."""
    absent = [kind for kind in rule.features if not case.given(kind)]
    if len(absent) < len(rule.features):
        return rows(case, rule, view.iloc[:0], Outcome(np.zeros(0, dtype=bool)))
    every = np.ones(len(view), dtype=bool)
    needs = words(len(view), "; ".join(f"layer: {kind}" for kind in absent))
    return rows(case, rule, view, Outcome(~every, every, needs=needs))


def whole_size(case: Case, rule: Rule, subject_kind: str) -> list[pd.DataFrame]:
    """The size of each whole feature near the subject, or a fact that takes its place."""
    limit = case.limit(rule, "size")
    near, view = _each(case, rule, subject_kind)
    trial = _size_trial(case, near, limit)
    important = np.array([v is True for v in case.fact(near, rule.facts[0])], dtype=bool)
    cut = case.flag(near, "truncated") & ~trial.met & ~important
    note = append(words(len(near)), important & ~trial.met, "below the size; locally important")
    note = append(note, cut, "cut off at the edge of its layer: the whole is larger")
    found = Outcome(
        trial.met | important, cut | (~trial.known & ~important), trial, limit=limit, note=note,
        needs=words(len(near), f"extent: {rule.features[0]}"),
    )  # fmt: skip
    return [_listed(case, rule, near, found), _missing(case, rule, view)]


def tidal_class(case: Case, rule: Rule, subject_kind: str) -> list[pd.DataFrame]:
    """Whether the class of a wetland is a tidal one."""
    near, view = _each(case, rule, subject_kind)
    codes = np.array([str(c).strip().upper() for c in case.text(near, "class")], dtype=object)
    tidal = np.array([c[:1] in ("E", "M") for c in codes], dtype=bool)
    unknown = codes == ""
    note = np.array([f"class {c}" if c else "no class is stated" for c in codes], dtype=object)
    needs = words(len(near), "fact: tidal")
    found = Outcome(tidal, unknown, needs=needs, note=note)
    return [_listed(case, rule, near, found), _missing(case, rule, view)]


def boundary_basis(case: Case, rule: Rule, subject_kind: str) -> list[pd.DataFrame]:
    """Whether the boundary of a feature comes from anything but the field."""
    near, view = _each(case, rule, subject_kind)
    basis = case.text(near, "basis")
    field = np.isin(basis.astype(str), FIELD_BASES)
    note = np.array([f"basis: {b or 'not stated'}" for b in basis], dtype=object)
    dates = case.text(near, "source_date")
    note = append(note, dates != "", np.array([f"source of {d}" for d in dates], dtype=object))
    found = Outcome(~field, basis == "", needs=words(len(near), "fact: basis"), note=note)
    return [_listed(case, rule, near, found), _missing(case, rule, view)]


def counted_regulator(case: Case, rule: Rule, subject_kind: str) -> list[pd.DataFrame]:
    """Whether a wetland is regulated by one of those whose wetlands count."""
    near, view = _each(case, rule, subject_kind)
    regulator = case.text(near, "regulator")
    counts, unknown = counted(regulator, rule.regulators)
    note = np.array([f"regulator: {r or 'not stated'}" for r in regulator], dtype=object)
    note = append(note, unknown, "kept until it is known")
    needs = words(len(near), "fact: regulator")
    found = Outcome(counts, unknown, needs=needs, note=note)
    return [_listed(case, rule, near, found), _missing(case, rule, view)]


def watercourse_kept(case: Case, rule: Rule, subject_kind: str) -> list[pd.DataFrame]:
    """Each watercourse near the subject: it counts whatever its size; how it is drawn."""
    near, view = _each(case, rule, subject_kind)
    distance, flow = case.number(near, "distance_ft"), case.text(near, "flow")
    note = np.array(
        [
            f"at {shown(d)} ft" + (f", {f}" if f else "")
            for d, f in zip(distance, flow, strict=True)
        ],
        dtype=object,
    )
    note = drawn_note(case, near, note)
    found = Outcome(np.ones(len(near), dtype=bool), note=note)
    return [_listed(case, rule, near, found), _missing(case, rule, view)]


# ---------------------------------------------------------------- stockpiles


def stockpile_distance(case: Case, rule: Rule, subject_kind: str) -> list[pd.DataFrame]:
    """Each stockpile: too near to surface water, or far enough."""
    limit, extras = case.limit(rule, "reach"), case.evidence.extras
    mask = (extras["name"] == "stockpile_water_ft") & (extras["subject_kind"] == subject_kind)
    found = extras[mask].reset_index(drop=True)
    view = parcel_view(case, subject_kind)
    found = _with_view(case, found, view)
    accuracies = [case.layer(k).accuracy_ft for k in ("stockpiles", *rule.features)]
    spread = float(np.nansum(accuracies)) if not np.isnan(accuracies).all() else nan
    value = case.number(found, "value")
    trial = Trial(
        value, limit.comparison, limit.value, "ft",
        half=np.full(len(found), spread), factor=case.number(found, "factor"),
    )  # fmt: skip
    missing = [k for k in rule.features if not case.given(k)]
    beyond = np.array([bool(u == u and u) for u in case.number(found, "unknown")], dtype=bool)
    open_ = (~trial.met & (beyond | bool(missing))) | np.isnan(value)
    needs = append(words(len(found)), np.full(len(found), bool(missing)),
                   "; ".join(f"layer: {k}" for k in missing))  # fmt: skip
    needs = append(needs, beyond, f"extent: {rule.features[0]}")
    needs = append(needs, (needs == ""), "layer: stockpiles")
    return [rows(case, rule, found, Outcome(
        trial.met, open_, trial, needs=needs, limit=limit,
        feature_kind="stockpile", feature_id=case.text(found, "feature_id"),
        layers=("stockpiles", *rule.features),
    ))]  # fmt: skip
