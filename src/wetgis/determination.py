"""Screening for a determination: in what order signs are read, and what goes with it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from wetgis.doubts import Floats, Trial, Words
from wetgis.packs.model import Rule
from wetgis.reaches import (
    BEYOND,
    DISTANCE_OF,
    Reach,
    beyond_limit,
    by_dimension,
    measure_reach,
    nearest_of,
    source_words,
)
from wetgis.schema import EPS_SQFT, INDICATING, SINGULAR
from wetgis.trials import Case, Outcome, append, rows, words
from wetgis.wording import shown

__all__ = [
    "attach_determination",
    "map_caveat",
    "nothing_mapped",
    "screening_order",
]

#: Signs in the order in which they are read: the first that holds decides.
SIGNS = ("strong", "borderline", "uncertain", "indicator")
SIGN_WORDS = {
    "strong": "strong: lies within reach of a mapped wetland or watercourse",
    "borderline": "borderline: touches the reach, or lies at its very distance",
    "uncertain": "uncertain: beyond the reach by less than the accuracy of the layers",
    "indicator": "indicator",
}


@dataclass(frozen=True)
class Signs:
    """What was found for a frame of subjects."""

    frame: pd.DataFrame
    reach: Reach
    sign: Words  # one of SIGNS, or empty
    value: Floats  # the distance that decides
    threshold: Floats
    feature_kind: Words
    note: Words


def screening_order(case: Case, rule: Rule, subject_kind: str) -> list[pd.DataFrame]:
    """Mapped features, their edge, their accuracy, then indicators; what decides is named."""
    out = []
    for frame, _ in by_dimension(case.subjects(subject_kind)):
        found = _signs(case, rule, frame)
        limit = case.limit(rule, "reach")
        near = found.sign == "indicator"
        half = np.where(near, np.nan, found.reach.half)
        low = np.where(near, found.value, found.reach.low)
        high = np.where(near, found.value, found.reach.high)
        trial = Trial(
            found.value, limit.comparison, found.threshold, "ft", half=half, span=(low, high),
            factor=found.reach.factor,
        )  # fmt: skip
        met = found.sign != ""
        flags = {"accuracy": found.sign == "uncertain"}
        out.append(rows(case, rule, frame, Outcome(
            met, ~met & found.reach.open, trial, flags, needs=found.reach.needs, note=found.note,
            feature_kind=found.feature_kind, feature_id=_named(case, found, rule.features),
            limit=limit, layers=rule.features,
        )))  # fmt: skip
    return out


def _signs(case: Case, rule: Rule, frame: pd.DataFrame) -> Signs:
    limit = case.limit(rule, "reach")
    mapped = [kind for kind in rule.features if kind not in INDICATING]
    hints = [kind for kind in rule.features if kind in INDICATING]
    reach = measure_reach(case, frame, mapped)
    flat = np.isin(case.number(frame, "geometry_dim"), (0, 1)).all()
    comparison = "le" if flat else "lt"
    trial = reach.trial(limit, comparison)
    beyond, wholly = beyond_limit(case, frame)
    reach = replace(reach, open=reach.open & ~wholly)
    strong = trial.met & ~beyond
    edge = ~strong & ~beyond & (np.abs(trial.margin) <= trial.noise)
    unsure = ~strong & ~edge & ~beyond & (reach.low <= limit.value)
    hint, which = _indicator(case, frame, hints)
    hinted = ~strong & ~edge & ~unsure & (hint <= limit.value + trial.noise)
    sign = np.select([strong, edge, unsure, hinted], list(SIGNS), "").astype(object)
    value = np.where(hinted, hint, reach.value)
    # what the accuracy adds to the reach, where it decides
    more = np.where(unsure, reach.value, 0.0) - np.where(unsure, reach.low, 0.0)
    threshold = limit.value + np.maximum(more, 0.0)
    nearest = _nearest_kind(case, frame, mapped)
    kind = np.where(hinted, which, np.where(sign == "", "", nearest)).astype(object)
    note = _sign_note(case, rule, frame, sign, hint, which)
    note = append(note, beyond & trial.met, BEYOND)
    return Signs(frame, reach, sign, value, threshold, kind, note)


def _indicator(case: Case, frame: pd.DataFrame, kinds: list[str]) -> tuple[Floats, Words]:
    """The distance to the nearest indicator, and its kind."""
    best, which = np.full(len(frame), np.inf), words(len(frame))
    for kind in kinds:
        if not case.given(kind):
            continue
        distance = case.number(frame, DISTANCE_OF[kind])
        nearer = distance < best
        best = np.where(nearer, distance, best)
        which = np.where(nearer, SINGULAR[kind], which).astype(object)
    return best, which


def _named(case: Case, found: Signs, kinds: tuple[str, ...]) -> Words:
    """The id of the feature that decides, where it is among the contacts."""
    out = words(len(found.frame))
    for kind in kinds:
        mask = found.feature_kind == SINGULAR[kind]
        if mask.any():
            near = case.nearest(found.frame[mask].reset_index(drop=True), [kind])
            out[mask] = case.text(near, "feature_id")
    return out


def _nearest_kind(case: Case, frame: pd.DataFrame, kinds: list[str]) -> Words:
    best, which = np.full(len(frame), np.inf), words(len(frame))
    for kind in kinds:
        distance = case.number(frame, DISTANCE_OF[kind])
        nearer = distance < best
        best = np.where(nearer, distance, best)
        which = np.where(nearer, SINGULAR[kind], which).astype(object)
    return which


def _sign_note(
    case: Case, rule: Rule, frame: pd.DataFrame, sign: Words, hint: Floats, which: Words
) -> Words:
    note = np.array([SIGN_WORDS.get(s, "") for s in sign], dtype=object)
    mapped = [kind for kind in rule.features if kind not in INDICATING]
    source = source_words(case, nearest_of(case, frame, mapped))
    hinted = sign == "indicator"
    note = append(note, (sign != "") & ~hinted, source)
    for kind in (k for k in rule.features if k in INDICATING and case.given(k)):
        mask = hinted & (which == SINGULAR[kind])
        if not mask.any():
            continue
        near = case.nearest(frame[mask].reset_index(drop=True), [kind])
        names = zip(case.text(near, "class"), case.text(near, "name"), strict=True)
        label = [" ".join(filter(None, pair)) for pair in names]
        text = [
            f": {SINGULAR[kind]}{' ' + one if one else ''} at {shown(d)} ft"
            for one, d in zip(label, hint[mask], strict=True)
        ]
        note[mask] = [old + new for old, new in zip(note[mask], text, strict=True)]
    used = [kind for kind in rule.features if case.given(kind)]
    absent = [kind for kind in rule.features if not case.given(kind)]
    told = "layers used: " + (", ".join(used) or "none")
    told += f"; not given: {', '.join(absent)}" if absent else ""
    note = append(note, sign == "", told)
    gap = case.number(frame, "soil_unknown_sqft") > EPS_SQFT
    return append(note, (sign == "") & gap, "soil not known under part of it")


def nothing_mapped(case: Case, frame: pd.DataFrame) -> Words:
    """The answer outside what is mapped: no indicator found, or see the screening."""
    screening = next((r for r in case.pack.rules if r.kind == "screening_order"), None)
    if screening is None:
        return words(len(frame))
    sign = _signs(case, screening, frame).sign
    return np.where(sign == "", "no_indicator_found", "no_flag").astype(object)


# ---------------------------------------------------------------- what goes with it


def map_caveat(case: Case, rule: Rule, subject_kind: str) -> list[pd.DataFrame]:
    """The caveat that holds for everything that a map says."""
    frame = case.subjects(subject_kind)
    return [rows(case, rule, frame, Outcome(np.ones(len(frame), dtype=bool)))]


def attach_determination(case: Case, rule: Rule, subject_kind: str) -> list[pd.DataFrame]:
    """Whether a determination goes with another application, by a fact."""
    frame = case.subjects(subject_kind)
    said = case.fact(frame, rule.facts[0])
    met = np.array([v is True for v in said], dtype=bool)
    unknown = np.array([v is None for v in said], dtype=bool)
    needs = words(len(frame), f"fact: {rule.facts[0]}")
    return [rows(case, rule, frame, Outcome(met, unknown, needs=needs))]
