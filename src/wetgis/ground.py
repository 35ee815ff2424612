"""Rules about the ground itself: soil, floodplain, slope, channels, topsoil strips."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from wetgis.doubts import Bools, Floats, Trial, Words
from wetgis.packs.model import Rule
from wetgis.reaches import DISTANCE_OF, parcel_view
from wetgis.schema import EPS_FT, EPS_PCT, EPS_SQFT, SINGULAR
from wetgis.trials import KEYS, Case, Outcome, append, rows, words
from wetgis.wording import shown, sqft

__all__ = [
    "channel_overlap",
    "floodplain_ground",
    "hydric_ground",
    "proposed_slope",
    "steep_ground",
    "strip_beyond_toe",
]


def hydric_ground(case: Case, rule: Rule, subject_kind: str) -> list[pd.DataFrame]:
    """Whether hydric soil lies under the subject."""
    return _overlap(case, rule, subject_kind, "soils", "hydric_sqft", "soil_unknown_sqft")


def floodplain_ground(case: Case, rule: Rule, subject_kind: str) -> list[pd.DataFrame]:
    """Whether some of the subject lies in the 100-year floodplain."""
    return _overlap(case, rule, subject_kind, "floodplain", "floodplain_sqft", "flood_unknown_sqft")


def _overlap(
    case: Case, rule: Rule, subject_kind: str, layer: str, area: str, unknown: str
) -> list[pd.DataFrame]:
    """An area of a layer under the subject, more than none; points and lines by their distance."""
    view = parcel_view(case, subject_kind)
    flat = np.isin(case.number(view, "geometry_dim"), (0, 1))
    out = []
    for mask in (~flat, flat):
        frame = view[mask].reset_index(drop=True)
        if frame.empty:
            continue
        if mask is flat:
            trial = Trial(case.number(frame, DISTANCE_OF[layer]), "le", 0.0, "ft")
        else:
            column = f"boundary_{layer}_ft"
            half = case.number(frame, column) * case.layer(layer).accuracy_ft
            spread = half if column in frame.columns else None
            trial = Trial(case.number(frame, area), "gt", 0.0, "sqft", half=spread)
        out.append(_ground_rows(case, rule, frame, trial, case.number(frame, unknown)))
    return out


def _ground_rows(
    case: Case, rule: Rule, frame: pd.DataFrame, trial: Trial, gap: Floats
) -> pd.DataFrame:
    layer = rule.features[0]
    given, distance = case.given(layer), case.number(frame, DISTANCE_OF[layer])
    partly = (gap > EPS_SQFT) & (trial.unit == "sqft")
    open_ = ~trial.met & (partly | ~trial.known)
    note = append(words(len(frame)), partly, _incomplete(gap))
    text = f"extent: {layer}" if given else f"layer: {layer}"
    needs = append(words(len(frame)), np.ones(len(frame), dtype=bool), text)
    lost = case.flag(frame, "parcels_missing")
    needs = np.where(lost, "layer: parcels", needs).astype(object)
    open_ = open_ | (lost & ~trial.met)
    # nothing of it inside, yet near enough that the layer's accuracy could bring it in
    spread = np.nan_to_num(case.accuracy(frame)) + np.nan_to_num(case.layer(layer).accuracy_ft)
    near = ~trial.met & (distance > 0) & (distance <= spread)
    return rows(case, rule, frame, Outcome(
        trial.met, open_, trial, {"accuracy": near}, needs=needs, note=note, layers=(layer,),
    ))  # fmt: skip


def _incomplete(gap: Floats) -> Words:
    return np.array([f"incomplete: {sqft(g)} not known" for g in gap], dtype=object)


# ---------------------------------------------------------------- slopes


def steep_ground(case: Case, rule: Rule, subject_kind: str) -> list[pd.DataFrame]:
    """Whether the ground under a footprint is steeper than a limit, now."""
    frame, limit = case.subjects(subject_kind), case.limit(rule, "slope")
    steepest, steep = case.number(frame, "slope_max_pct"), case.number(frame, "steep_sqft")
    area, unknown = case.number(frame, "area_sqft"), case.number(frame, "slope_unknown_sqft")
    given = case.given("dem") or case.given("slope")
    trial = Trial(steepest, limit.comparison, limit.value, "pct", eps=_slope_noise(case, frame))
    note = _steep_note(steep, area, trial.met)
    found = Outcome(trial.met, None, trial, note=note, limit=limit, layers=rule.features)
    return [_slope_rows(case, rule, frame, found, unknown, given)]


def proposed_slope(case: Case, rule: Rule, subject_kind: str) -> list[pd.DataFrame]:
    """Whether a proposed grade is steeper than a limit."""
    frame, limit = case.subjects(subject_kind), case.limit(rule, "slope")
    steepest, seen = _extra(case, frame, "proposed_slope_max_pct", "value")
    given = case.given("dem_proposed")
    if not given and subject_kind == "footprint":
        return []  # the project says it once
    measured = (case.evidence.extras["name"] == "proposed_slope_max_pct").any()
    if given and measured:
        frame = frame[seen].reset_index(drop=True)
        steepest, _ = _extra(case, frame, "proposed_slope_max_pct", "value")
    unknown, _ = _extra(case, frame, "proposed_slope_max_pct", "unknown")
    steep, _ = _extra(case, frame, "proposed_steep_sqft", "value")
    trial = Trial(steepest, limit.comparison, limit.value, "pct", eps=_slope_noise(case, frame))
    note = _steep_note(steep, case.number(frame, "area_sqft"), trial.met)
    found = Outcome(trial.met, None, trial, note=note, limit=limit, layers=rule.features)
    return [_slope_rows(case, rule, frame, found, unknown, given)]


def _slope_noise(case: Case, frame: pd.DataFrame) -> Floats:
    """What counts as equal for a slope: the surface's own noise where it is known."""
    own = np.nan_to_num(case.number(frame, "slope_eps_pct"), nan=0.0)
    return np.maximum(own, EPS_PCT)


def _steep_note(steep: Floats, area: Floats, met: Bools) -> Words:
    out = words(len(steep))
    for i in np.flatnonzero(met & (steep > 0)):
        share = f" ({steep[i] / area[i]:.1%} of it)" if area[i] > 0 else ""
        out[i] = f"steeper ground {sqft(steep[i])}{share}"
    return out


def _slope_rows(
    case: Case, rule: Rule, frame: pd.DataFrame, found: Outcome, unknown: Floats, given: bool
) -> pd.DataFrame:
    """Open where some slope is not known and what is known does not decide."""
    layer, trial = rule.features[0], found.trial
    known = found.met if trial is None else trial.known
    partly = unknown > EPS_SQFT
    found.open = ~found.met & (partly | ~known)
    if found.note is not None:
        found.note = append(found.note, partly & known, _incomplete(unknown))
    found.needs = words(len(frame), f"extent: {layer}" if given else f"layer: {layer}")
    return rows(case, rule, frame, found)


def _extra(case: Case, frame: pd.DataFrame, name: str, column: str) -> tuple[Floats, Bools]:
    """A column of a further measure, aligned with the subjects, and which of them have it."""
    table = case.evidence.extras
    found = table[table["name"] == name].drop_duplicates(KEYS)
    aligned = frame[KEYS].merge(found, on=KEYS, how="left", indicator=True)
    seen = (aligned["_merge"] == "both").to_numpy(dtype=bool)
    return case.number(aligned, column), seen


# ---------------------------------------------------------------- channels and strips


def channel_overlap(case: Case, rule: Rule, subject_kind: str) -> list[pd.DataFrame]:
    """Whether a footprint lies on a watercourse; a shared line does not count."""
    layer, out = rule.features[0], []
    view = case.subjects(subject_kind)
    area, length = case.number(view, "watercourse_sqft"), case.number(view, "watercourse_length_ft")
    # a line is measured by its length in the channel, and so is a channel that is a bare line
    by_length = (case.number(view, "geometry_dim") == 1) | (~(area > EPS_SQFT) & (length > EPS_FT))
    for mask in (~by_length, by_length):
        frame = view[mask].reset_index(drop=True)
        if frame.empty:
            continue
        measure, unit = (area, "sqft") if mask is not by_length else (length, "ft")
        half = case.number(frame, "boundary_watercourse_ft") * case.layer(layer).accuracy_ft
        trial = Trial(measure[mask], "gt", 0.0, unit, half=half if unit == "sqft" else None)
        sliver = only_slivers(case, frame, [layer]) & trial.met
        gap = case.number(frame, "unmapped_sqft") > EPS_SQFT
        met = trial.met & ~sliver
        open_ = ~met & (gap | ~trial.known)
        text = f"extent: {layer}" if case.given(layer) else f"layer: {layer}"
        flags = {"sliver": sliver, "accuracy": _could_reach(case, frame, layer) & ~met}
        note = append(words(len(frame)), sliver, "a shared line, no encroachment")
        out.append(rows(case, rule, frame, Outcome(
            met, open_, trial, flags, needs=words(len(frame), text), note=note, layers=(layer,),
        )))  # fmt: skip
    return out


def _could_reach(case: Case, frame: pd.DataFrame, layer: str) -> Bools:
    distance = case.number(frame, DISTANCE_OF[layer])
    theirs = case.number(case.nearest(frame, [layer]), "accuracy_ft")
    theirs = np.where(np.isnan(theirs), case.layer(layer).accuracy_ft, theirs)
    spread = np.nan_to_num(case.accuracy(frame)) + np.nan_to_num(theirs)
    return np.asarray((distance <= spread) & (spread > 0), dtype=bool)


def only_slivers(case: Case, frame: pd.DataFrame, layers: Sequence[str]) -> Bools:
    """Where every overlap with these layers is a sliver."""
    kind = str(frame["subject_kind"].iloc[0])
    near = case.contacts(kind, layers)
    near = near[case.number(near, "area_sqft") > 0]
    if near.empty:
        return case.flag(frame, "sliver")
    real = near[~case.flag(near, "sliver")]
    mine = pd.MultiIndex.from_frame(frame[KEYS])
    some = mine.isin(pd.MultiIndex.from_frame(near[KEYS]))
    return np.asarray(some & ~mine.isin(pd.MultiIndex.from_frame(real[KEYS])), dtype=bool)


def strip_beyond_toe(case: Case, rule: Rule, subject_kind: str) -> list[pd.DataFrame]:
    """Each toe of a fill: whether ground of the strip around it is left unstripped."""
    limit, extras = case.limit(rule, "width"), case.evidence.extras
    mask = (extras["name"] == "strip_missing_sqft") & (extras["subject_kind"] == subject_kind)
    frame = extras[mask].reset_index(drop=True)
    trial = Trial(
        case.number(frame, "value"), "gt", 0.0, "sqft", arc_ft=case.number(frame, "boundary_ft")
    )
    required = extras[(extras["name"] == "strip_required_sqft")]
    sizes = {
        (k, f): v
        for k, f, v in zip(
            required["subject_id"], required["feature_id"], required["value"], strict=True
        )
    }
    pairs = zip(frame["subject_id"], frame["feature_id"], strict=True)
    note = np.array(
        [f"{limit.lawful} all round need {shown(float(sizes[p]))} sq ft" if p in sizes else ""
         for p in pairs], dtype=object,
    )  # fmt: skip
    absent = "; ".join(f"layer: {kind}" for kind in rule.features if not case.given(kind))
    needs = words(len(frame), absent or f"layer: {rule.features[-1]}")
    return [rows(case, rule, frame, Outcome(
        trial.met, ~trial.known, trial, needs=needs, note=note, limit=limit,
        feature_kind=SINGULAR[rule.features[0]], feature_id=case.text(frame, "feature_id"),
        layers=rule.features,
    ))]  # fmt: skip
