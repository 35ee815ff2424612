"""Measures meet the law: one row a subject and rule, with outcome, doubt and citation."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from wetgis import decisions, determination, ground, nearness, projects
from wetgis.evidence import Evidence
from wetgis.packs import Pack
from wetgis.packs.model import Rule
from wetgis.schema import CHECKLIST_COLUMNS, FINDING_COLUMNS, SUBJECT_KINDS
from wetgis.trials import KEYS, Case, Outcome, append, rows, words

__all__ = ["KIND_FUNCTIONS", "checklist", "find"]

NUMBERS = ("value", "threshold", "margin", "value_low", "value_high")
#: Severities that ask something of the applicant, the strictest highest.
STRICTNESS = {"prohibit": 5, "permit": 4, "avoid": 3, "require": 2, "show": 1}
KindFunction = Callable[[Case, Rule, str], list[pd.DataFrame]]

#: The closed list of kinds, each with the function that tries it.
KIND_FUNCTIONS: dict[str, KindFunction] = {
    "within_reach": nearness.within_reach,
    "features_near": nearness.features_near,
    "features_near_by_size": nearness.features_near_by_size,
    "whole_size": nearness.whole_size,
    "tidal_class": nearness.tidal_class,
    "boundary_basis": nearness.boundary_basis,
    "counted_regulator": nearness.counted_regulator,
    "watercourse_kept": nearness.watercourse_kept,
    "stockpile_distance": nearness.stockpile_distance,
    "hydric_ground": ground.hydric_ground,
    "floodplain_ground": ground.floodplain_ground,
    "steep_ground": ground.steep_ground,
    "proposed_slope": ground.proposed_slope,
    "channel_overlap": ground.channel_overlap,
    "strip_beyond_toe": ground.strip_beyond_toe,
    "permit_within": decisions.permit_within,
    "regulated_activity": decisions.regulated_activity,
    "use_of_right": decisions.use_of_right,
    "provisos": decisions.provisos,
    "screening_order": determination.screening_order,
    "map_caveat": determination.map_caveat,
    "attach_determination": determination.attach_determination,
    "unmapped_finding": decisions.unmapped_finding,
    "parcels_as_unit": projects.parcels_as_unit,
    "common_plan": projects.common_plan,
    "total_disturbance": projects.total_disturbance,
    "disturbance_over": projects.disturbance_over,
    "permit_tier": projects.permit_tier,
    "exempt_activity": projects.exempt_activity,
    "exempt_by_location": projects.exempt_by_location,
    "exempt_by_size": projects.exempt_by_size,
    "exempt_duty": projects.exempt_duty,
    "deemed_permit": projects.deemed_permit,
    "parcels_prepared": projects.parcels_prepared,
    "study_area": projects.study_area,
}


def find(evidence: Evidence, packs: Sequence[Pack]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Try every rule of every pack on the evidence.

    Parameters
    ----------
    evidence : Evidence
        Tables that the geometry half made.
    packs : sequence of Pack
        The law in force; each is taken on ``evidence.as_of``. None gives empty tables.

    Returns
    -------
    findings, checklist : DataFrame
        ``schema.FINDING_COLUMNS`` in the order of subjects, packs, rules and features; and
        ``schema.CHECKLIST_COLUMNS``, what cannot be computed, once a run.
    """
    dated = [pack.at(evidence.as_of) for pack in packs]
    cases = [Case(evidence, pack, dated) for pack in dated]
    pieces: list[pd.DataFrame] = []
    for number, case in enumerate(cases):
        for rank, rule in enumerate(case.pack.rules):
            pieces += [found.assign(_pack=number, _rule=rank) for found in _try(case, rule)]
    if len(dated) > 1 and pieces:
        together = pd.concat(pieces, ignore_index=True)
        pieces += [more for n, case in enumerate(cases) for more in _stricter(case, n, together)]
    return _in_order(evidence, pieces), checklist(dated)


def _try(case: Case, rule: Rule) -> list[pd.DataFrame]:
    function = KIND_FUNCTIONS.get(rule.kind)
    if function is None:
        return []
    out: list[pd.DataFrame] = []
    for subject_kind in rule.subjects:
        if not case.subjects(subject_kind).empty:
            out.extend(piece for piece in function(case, rule, subject_kind) if not piece.empty)
    return out


def _stricter(case: Case, number: int, together: pd.DataFrame) -> list[pd.DataFrame]:
    """For a rule on conflicts: where another law in force is the stricter one."""
    out: list[pd.DataFrame] = []
    asked = together["severity"].isin(STRICTNESS) & (together["answer"] != "as_of_right")
    met = together[(together["outcome"] == "met") & asked]
    met = met.assign(_rank=met["severity"].map(STRICTNESS), _mine=met["_pack"] == number)
    met = met.sort_values(["_rank", "_pack", "_rule"], ascending=[False, True, True], kind="stable")
    for rank, rule in enumerate(case.pack.rules):
        if rule.kind != "stricter_rule":
            continue
        for kind in rule.subjects:
            frame = case.subjects(kind)
            mine, theirs = (
                frame[KEYS].merge(
                    met[met["_mine"] == own].drop_duplicates(KEYS), on=KEYS, how="left"
                )
                for own in (True, False)
            )
            stricter = (theirs["_rank"].fillna(0) > mine["_rank"].fillna(0)).to_numpy(dtype=bool)
            texts = [
                f"stricter here: {pack} {other}, {answer}"
                for pack, other, answer in zip(
                    theirs["pack"], theirs["rule"], theirs["answer"], strict=True
                )
            ]
            note = append(words(len(frame)), stricter, np.array(texts, dtype=object))
            found = rows(case, rule, frame, Outcome(stricter, note=note))
            out.append(found.assign(_pack=number, _rule=rank))
    return out


def _in_order(evidence: Evidence, pieces: list[pd.DataFrame]) -> pd.DataFrame:
    if not pieces:
        return _typed(pd.DataFrame(columns=list(FINDING_COLUMNS)))
    table = pd.concat(pieces, ignore_index=True)
    table["_kind"] = table["subject_kind"].map({k: i for i, k in enumerate(SUBJECT_KINDS)})
    place = evidence.subjects[KEYS].drop_duplicates().reset_index(drop=True)
    place["_place"] = np.arange(len(place))
    table = table.merge(place, on=KEYS, how="left")
    order = ["_kind", "_place", "_pack", "_rule", "feature_kind", "feature_id"]
    table = table.sort_values(order, kind="stable").reset_index(drop=True)
    return _typed(table[list(FINDING_COLUMNS)])


def _typed(table: pd.DataFrame) -> pd.DataFrame:
    types = dict.fromkeys(FINDING_COLUMNS, "str") | dict.fromkeys(NUMBERS, "float64")
    types["record"] = "int64"
    return table.astype(types)


def checklist(packs: Sequence[Pack]) -> pd.DataFrame:
    """What no rule computes: ``pack``, ``rule``, ``says``, ``cite``."""
    found = [
        (pack.id, entry.rule, entry.says, _cite(entry.cite, entry.cite_status))
        for pack in packs
        for entry in pack.model.checklist
    ]
    if len(packs) == 1:  # with one pack there is nothing to compare
        found += [
            (packs[0].id, rule.id, rule.says, _cite(rule.cite, rule.cite_status))
            for rule in packs[0].rules
            if rule.kind == "stricter_rule"
        ]
    return pd.DataFrame(found, columns=list(CHECKLIST_COLUMNS)).astype("str")


def _cite(cite: str, status: str) -> str:
    words = {"inferred": " (section number inferred)", "cited_only": " (text not at hand)"}
    return cite + words.get(status, "")
