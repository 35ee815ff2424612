"""Rules about a whole project: totals of disturbance, tiers, exemptions, what its plan shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from wetgis.activities import COUNTED, COUNTED_LESS, GROUP_ALL, Job, group_name, jobs
from wetgis.doubts import Bools, Floats, Trial, Words
from wetgis.packs import Limit
from wetgis.packs.model import Activity, Rule
from wetgis.reaches import parcel_view
from wetgis.schema import EPS_SQFT
from wetgis.trials import Case, Outcome, append, as_fact, rows, words
from wetgis.wording import sqft

__all__ = [
    "common_plan",
    "deemed_permit",
    "disturbance_over",
    "exempt_activity",
    "exempt_by_location",
    "exempt_by_size",
    "exempt_duty",
    "parcels_as_unit",
    "parcels_prepared",
    "permit_tier",
    "study_area",
    "total_disturbance",
]


# ---------------------------------------------------------------- totals


@dataclass(frozen=True)
class Totals:
    """Areas of disturbance of each project, each square foot once."""

    all: Floats
    counted: Floats
    less: Floats  # without work whose exemption hangs on its size
    sized: Floats  # that work
    exempt: Words  # True, False, None: whether that work is exempt
    half: Floats

    @property
    def value(self) -> Floats:
        """The total that counts, as far as it is known; the larger where it is not."""
        settled = np.array([e is True for e in self.exempt], dtype=bool)
        return np.where(settled, self.less, self.counted)


def totals(case: Case) -> Totals:
    """Every total that a rule of this pack may ask for."""
    return case.once("totals", lambda: _totals(case))


def _totals(case: Case) -> Totals:
    frame = case.subjects("project")
    every, boundary = extra(case, frame, f"group_sqft:{GROUP_ALL}")
    every = np.where(np.isnan(every), case.number(frame, "area_sqft"), every)
    counted = group_area(case, frame, COUNTED, every)
    less = group_area(case, frame, COUNTED_LESS, every)
    half = boundary * case.accuracy(frame)
    sized, exempt = np.zeros(len(frame)), np.full(len(frame), False, dtype=object)
    for rule in case.pack.rules:
        if rule.kind == "exempt_by_size":
            sized, _, exempt = _sized(case, rule, frame)
    return Totals(every, counted, less, sized, exempt, half)


def extra(case: Case, frame: pd.DataFrame, name: str) -> tuple[Floats, Floats]:
    """A further measure of each subject, and the length of the boundary it leans on."""
    table = case.evidence.extras
    kind = str(frame["subject_kind"].iloc[0]) if len(frame) else ""
    found = table[(table["name"] == name) & (table["subject_kind"] == kind)]
    by_id = found.drop_duplicates(["subject_id", "record"]).set_index(["subject_id", "record"])
    index = pd.MultiIndex.from_frame(frame[["subject_id", "record"]])
    aligned = by_id.reindex(index)
    return case.number(aligned, "value"), case.number(aligned, "boundary_ft")


def group_area(case: Case, frame: pd.DataFrame, part: str, every: Floats) -> Floats:
    """Area of a group; 0 where the engine measured groups and this one has no footprint."""
    value, _ = extra(case, frame, f"group_sqft:{group_name(case.pack, part)}")
    table = case.evidence.extras
    grouped = table[table["name"].astype(str).str.startswith("group_sqft:")]["subject_id"]
    measured = frame["subject_id"].isin(set(grouped)).to_numpy(dtype=bool)
    return np.where(np.isnan(value), np.where(measured, 0.0, every), value)


def _sized(case: Case, rule: Rule, frame: pd.DataFrame) -> tuple[Floats, Trial, Words]:
    """Work of one activity in all, and whether its size and its fact make it exempt."""
    limit, name = case.limit(rule, "size"), group_name(case.pack, str(rule.activity))
    value, boundary = extra(case, frame, f"group_sqft:{name}")
    value = np.nan_to_num(value, nan=0.0)
    trial = Trial(
        value, limit.comparison, limit.value, "sqft", half=boundary * case.accuracy(frame),
        factor=case.number(frame, "combined_factor"),
    )  # fmt: skip
    exempt = words(len(frame))
    facts = [project_fact(case, frame, fact, rule.activity) for fact in rule.facts]
    for i in range(len(frame)):
        said = [column[i] for column in facts]
        if value[i] <= EPS_SQFT or (not trial.met[i]) or False in said:
            exempt[i] = False
        else:
            exempt[i] = None if None in said else True
    return value, trial, exempt


def project_fact(case: Case, frame: pd.DataFrame, name: str, code: str | None = None) -> Words:
    """A fact of a project: its own, else that of all its footprints (of one activity)."""
    own = [as_fact(v) for v in frame[name]] if name in frame.columns else [None] * len(frame)
    footprints = case.subjects("footprint")
    said = dict(zip(footprints["subject_id"], case.fact(footprints, name), strict=True))
    if code is not None:
        found = zip(footprints["subject_id"], footprint_jobs(case), strict=True)
        chosen = {key for key, job in found if code in job.codes}
        said = {key: value for key, value in said.items() if key in chosen}
    members = case.evidence.members
    by_project: dict[str, list[bool | None]] = {}
    for project, footprint in zip(members["project_id"], members["footprint_id"], strict=True):
        if footprint in said:
            by_project.setdefault(project, []).append(said[footprint])
    default = as_fact(case.evidence.facts.get(name))
    out = words(len(frame))
    for i, key in enumerate(frame["subject_id"]):
        values = by_project.get(key, [default])
        together = False if False in values else None if None in values else True
        out[i] = together if own[i] is None else own[i]
    return out


def footprint_jobs(case: Case) -> list[Job]:
    """The job of each footprint, as this pack reads it."""
    packs = list(case.packs) or [case.pack]
    return case.once("jobs", lambda: jobs(case.subjects("footprint"), case.pack, packs))


def _total_note(case: Case, found: Totals) -> Words:
    """Both totals: with and without what the law does not count."""
    out = words(len(found.all))
    for i in range(len(out)):
        pieces = [f"all footprints {sqft(found.all[i])}"]
        if found.counted[i] != found.all[i]:
            pieces.append(f"counted {sqft(found.counted[i])}")
        if found.sized[i] > EPS_SQFT:
            state = {True: "exempt", False: "not exempt"}.get(found.exempt[i], "perhaps exempt")
            pieces.append(f"landscaping {sqft(found.sized[i])}, {state}")
            pieces.append(f"without it {sqft(found.less[i])}")
        out[i] = "; ".join(pieces)
    return out


def total_disturbance(case: Case, rule: Rule, subject_kind: str) -> list[pd.DataFrame]:
    """The area of all footprints of a project, each square foot once."""
    frame, found = case.subjects(subject_kind), totals(case)
    trial = Trial(found.all, "gt", 0.0, "sqft", half=found.half)
    lost = _lost(case, frame)
    open_ = np.isnan(found.all) | (lost & ~trial.met)
    needs = words(len(frame), "layer: footprints")
    note = append(_total_note(case, found), lost, _LOST)
    return [rows(case, rule, frame, Outcome(
        trial.met, open_, trial, needs=needs, note=note,
    ))]  # fmt: skip


#: A total without the ground of these is a lower bound: it decides what it reaches, nothing else.
_LOST = "incomplete: footprints without a usable geometry are not in the total"


def _lost(case: Case, frame: pd.DataFrame) -> Bools:
    """Projects some of whose footprints have no usable geometry."""
    return case.number(frame, "footprints_unusable") > 0


def _total_trial(case: Case, frame: pd.DataFrame, limit: Limit, value: Floats) -> Trial:
    return Trial(
        value, limit.comparison or "ge", limit.value, "sqft", half=totals(case).half,
        factor=case.number(frame, "combined_factor"),
    )  # fmt: skip


def _by_total(case: Case, rule: Rule, frame: pd.DataFrame, limit: Limit) -> Outcome:
    """A total held against a size; open where an exemption in doubt decides it."""
    found = totals(case)
    trial = _total_trial(case, frame, limit, found.value)
    other = _total_trial(case, frame, limit, found.less)
    in_doubt = np.array([e is None for e in found.exempt], dtype=bool)
    lost = _lost(case, frame)
    no_total = np.isnan(found.value) | (lost & ~trial.met)
    open_ = (in_doubt & (trial.met != other.met)) | no_total
    fact = rule.facts[0] if rule.facts else "exemption"
    needs = append(words(len(frame)), open_ & in_doubt, f"fact: {fact}")
    needs = append(needs, no_total, "layer: footprints")
    note = append(_total_note(case, found), lost, _LOST)
    return Outcome(trial.met, open_, trial, needs=needs, note=note, limit=limit)


def disturbance_over(case: Case, rule: Rule, subject_kind: str) -> list[pd.DataFrame]:
    """Whether the total of a project is beyond a size."""
    frame = case.subjects(subject_kind)
    return [rows(case, rule, frame, _by_total(case, rule, frame, case.limit(rule, "size")))]


def permit_tier(case: Case, rule: Rule, subject_kind: str) -> list[pd.DataFrame]:
    """Whether the total reaches a tier; undetermined while its number is missing."""
    frame, limit = case.subjects(subject_kind), case.limit(rule, "size")
    found = _by_total(case, rule, frame, limit)
    n = len(frame)
    open_ = np.zeros(n, dtype=bool) if found.open is None else found.open
    if not limit.known:
        every = np.ones(n, dtype=bool)
        found.open, found.needs = every, words(n, f"parameter: {limit.section}")
        text = f"{limit.section} is not in the source: {limit.missing}"
        found.note = append(_total_note(case, totals(case)), every, text)
        return [rows(case, rule, frame, found)]
    others = [r for r in case.pack.rules if r.kind == "permit_tier" and r.id != rule.id]
    limits = [case.limit(other, "size") for other in others]
    elsewhere = np.full(n, any(not other.known for other in limits))
    for other in limits:
        elsewhere |= _total_trial(case, frame, other, totals(case).value).met
    # below this tier only: of the other one nothing is said, or it is reached
    found.answer = np.where(elsewhere & ~found.met & ~open_, "not_required", "")
    return [rows(case, rule, frame, found)]


# ---------------------------------------------------------------- exemptions


def exempt_by_size(case: Case, rule: Rule, subject_kind: str) -> list[pd.DataFrame]:
    """Work of one activity in all, exempt below a size where a fact holds."""
    frame = case.subjects(subject_kind)
    value, _, _ = _sized(case, rule, frame)
    frame = frame[value > EPS_SQFT].reset_index(drop=True)
    value, trial, exempt = _sized(case, rule, frame)
    met = np.array([e is True for e in exempt], dtype=bool)
    # what is exempt below a size is not known to be so where ground is missing from it
    lost = _lost(case, frame) & met
    met = met & ~lost
    open_ = np.array([e is None for e in exempt], dtype=bool) | lost
    facts = [(name, project_fact(case, frame, name, rule.activity)) for name in rule.facts]
    needs = append(words(len(frame)), lost, "layer: footprints")
    note = append(words(len(frame)), lost, _LOST)
    for name, column in facts:
        unknown = np.array([v is None for v in column], dtype=bool)
        refused = np.array([v is False for v in column], dtype=bool)
        needs = append(needs, unknown, f"fact: {name}")
        note = append(note, refused, f"not exempt: {name.replace('_', ' ')} is false")
    note = append(note, met, _duty(case))
    limit = case.limit(rule, "size")
    return [rows(case, rule, frame, Outcome(
        met, open_, trial, needs=needs, note=note, limit=limit,
    ))]  # fmt: skip


def exempt_activity(case: Case, rule: Rule, subject_kind: str) -> list[pd.DataFrame]:
    """Work that is exempt by what it is."""
    frame, table = case.subjects(subject_kind), _table(case)
    pairs = [
        (i, code)
        for i, job in enumerate(footprint_jobs(case))
        for code in job.codes
        if code in rule.activities
    ]
    frame = frame.iloc[[i for i, _ in pairs]].reset_index(drop=True)
    met, open_ = np.ones(len(frame), dtype=bool), np.zeros(len(frame), dtype=bool)
    needs = words(len(frame))
    note = np.array([f"{code}: {table[code].says}" for _, code in pairs], dtype=object)
    for name in dict.fromkeys(fact for _, code in pairs for fact in table[code].only_if):
        asked = np.array([name in table[code].only_if for _, code in pairs], dtype=bool)
        said = case.fact(frame, name)
        unknown = asked & np.array([v is None for v in said], dtype=bool)
        met &= ~asked | np.array([v is True for v in said], dtype=bool)
        open_ |= unknown
        needs = append(needs, unknown, f"fact: {name}")
    note = append(note, met, _duty(case))
    return [rows(case, rule, frame, Outcome(met, open_, needs=needs, note=note))]


def exempt_by_location(case: Case, rule: Rule, subject_kind: str) -> list[pd.DataFrame]:
    """Work that is exempt unless it lies in a location that the law lists."""
    frame, limit = case.subjects(subject_kind), case.limit(rule, "place")
    chosen = [i for i, job in enumerate(footprint_jobs(case)) if rule.activity in job.codes]
    frame = frame.iloc[chosen].reset_index(drop=True)
    whose, where = (case.fact(frame, name) for name in rule.facts)
    refused = np.array([w is False for w in whose], dtype=bool) | np.array(
        [w is True for w in where], dtype=bool
    )
    someone = np.array([w is None for w in whose], dtype=bool)
    somewhere = np.array([w is None for w in where], dtype=bool)
    needs = append(words(len(frame)), someone, f"fact: {rule.facts[0]}")
    needs = append(needs, somewhere, f"parameter: {limit.section}")
    every = np.ones(len(frame), dtype=bool)
    note = append(words(len(frame)), every, "its area counts in the total all the same")
    text = f"{limit.section} is not in the source; the fact {rule.facts[1]} settles it"
    note = append(note, somewhere & ~refused, text)
    open_ = (someone | somewhere) & ~refused
    note = append(note, ~refused & ~open_, _duty(case))
    return [rows(case, rule, frame, Outcome(~refused, open_, needs=needs, note=note))]


def exempt_duty(case: Case, rule: Rule, subject_kind: str) -> list[pd.DataFrame]:
    """The duty that stays with work that may be exempt."""
    frame, table = case.subjects(subject_kind), _table(case)
    chosen = [
        i for i, job in enumerate(footprint_jobs(case))
        if any(table[code].sort == "exempt" for code in job.codes)
    ]  # fmt: skip
    frame = frame.iloc[chosen].reset_index(drop=True)
    return [rows(case, rule, frame, Outcome(np.ones(len(frame), dtype=bool)))]


def _table(case: Case) -> dict[str, Activity]:
    return {activity.code: activity for activity in case.pack.model.activities.codes}


def _duty(case: Case) -> str:
    """The duty's own words, for every exemption."""
    return next((rule.says for rule in case.pack.rules if rule.kind == "exempt_duty"), "")


def deemed_permit(case: Case, rule: Rule, subject_kind: str) -> list[pd.DataFrame]:
    """An approved plan that stands in for the permit: all the facts must hold."""
    frame = case.subjects(subject_kind)
    met, refused = np.ones(len(frame), dtype=bool), np.zeros(len(frame), dtype=bool)
    needs = words(len(frame))
    for name in rule.facts:
        said = project_fact(case, frame, name)
        met &= np.array([v is True for v in said], dtype=bool)
        refused |= np.array([v is False for v in said], dtype=bool)
        needs = append(needs, np.array([v is None for v in said], dtype=bool), f"fact: {name}")
    return [rows(case, rule, frame, Outcome(met, ~met & ~refused, needs=needs))]


# ---------------------------------------------------------------- what makes a project


def _count(value: Any, least: float) -> Trial:
    return Trial(np.asarray(value, dtype="float64"), "gt", least, "count")


def parcels_as_unit(case: Case, rule: Rule, subject_kind: str) -> list[pd.DataFrame]:
    """How many parcels a project lies on; they are taken as one."""
    frame, members = case.subjects(subject_kind), case.evidence.members
    on = members[members["parcel_id"].astype(object) != ""]
    number = on.groupby("project_id")["parcel_id"].nunique()
    value = frame["subject_id"].map(number).fillna(0).to_numpy(dtype="float64")
    trial = _count(value, 0.0)
    names = on.groupby("project_id")["parcel_id"].unique()
    note = np.array(
        ["parcels " + ", ".join(sorted(names.get(key, []))) if key in names.index else ""
         for key in frame["subject_id"]], dtype=object,
    )  # fmt: skip
    open_ = np.full(len(frame), not case.given("parcels"))
    needs = words(len(frame), "layer: parcels")
    return [rows(case, rule, frame, Outcome(trial.met, open_, trial, needs=needs, note=note))]


def common_plan(case: Case, rule: Rule, subject_kind: str) -> list[pd.DataFrame]:
    """Whether a project has several footprints, which are then one plan."""
    frame, members = case.subjects(subject_kind), case.evidence.members
    number = members.groupby("project_id")["footprint_id"].nunique()
    value = frame["subject_id"].map(number).fillna(0).to_numpy(dtype="float64")
    trial = _count(value, 1.0)
    return [rows(case, rule, frame, Outcome(trial.met, None, trial))]


def parcels_prepared(case: Case, rule: Rule, subject_kind: str) -> list[pd.DataFrame]:
    """Whether ground is to be prepared on the parcel: how many footprints lie on it."""
    view, members = parcel_view(case, subject_kind), case.evidence.members
    footprints = case.subjects("footprint")
    flat = set(footprints.loc[case.number(footprints, "geometry_dim") < 2, "subject_id"])
    areas = pd.to_numeric(members["area_sqft"], errors="coerce")
    lies = (members["parcel_id"].astype(object) != "") & (
        (areas > EPS_SQFT) | members["footprint_id"].isin(flat)
    )
    key = "parcel_id" if subject_kind == "parcel" else "project_id"
    group = members[lies].assign(area=areas[lies]).groupby(key)
    value = view["subject_id"].map(group["footprint_id"].nunique()).fillna(0)
    if subject_kind == "parcel":
        area = case.number(view, "disturbed_sqft")
    else:
        area, _ = extra(case, view, f"group_sqft:{GROUP_ALL}")
    trial = _count(value.to_numpy(dtype="float64"), 0.0)
    every = np.array([f"disturbed: {sqft(a)}" for a in area], dtype=object)
    note = append(words(len(view)), (value.to_numpy() > 0) & ~np.isnan(area), every)
    given = case.given("footprints") or not footprints.empty
    open_ = np.full(len(view), not given) | case.flag(view, "parcels_missing")
    needs = words(len(view), "layer: footprints" if not given else "layer: parcels")
    return [rows(case, rule, view, Outcome(trial.met, open_, trial, needs=needs, note=note))]


def study_area(case: Case, rule: Rule, subject_kind: str) -> list[pd.DataFrame]:
    """The ground whose vegetation the plan shows: the disturbance and a reach around it."""
    frame, limit = case.subjects(subject_kind), case.limit(rule, "reach")
    value, _ = extra(case, frame, "vegetation_study_sqft")
    trial = Trial(value, "gt", 0.0, "sqft")
    text = f"the disturbance and {limit.lawful} around it, over parcel lines if need be"
    note = words(len(frame), text)
    absent = [kind for kind in rule.features if not case.given(kind)]
    note = append(note, np.full(len(frame), bool(absent)), "what grows there is in no layer given")
    open_ = np.isnan(value)
    needs = words(len(frame), "layer: footprints")
    return [rows(case, rule, frame, Outcome(
        trial.met, open_, trial, needs=needs, note=note, limit=limit,
    ))]  # fmt: skip
