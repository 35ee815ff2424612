"""A finding as sentences that a board can be read, and a subject as a card.

A finding is not a determination: the strongest negative here is that the layers used hold no
indicator.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from wetgis.schema import STATUSES
from wetgis.wording import UNIT_WORDS, shown

__all__ = ["card", "explain"]

ANSWERS = {
    "permit_required": "a permit is required",
    "as_of_right": "it is a use of right",
    "as_of_right_conditional": "it is a use of right if what is not known here holds",
    "prohibited": "it is prohibited",
    "may_be_subject": "the area may be subject to the chapter",
    "no_indicator_found": "no indicator was found on the layers used",
    "exempt": "it is exempt",
    "not_exempt": "this exemption is not made out",
    "must_be_shown": "it must be shown on the map",
    "need_not_be_shown": "on the layers used, this rule finds nothing that must be shown",
    "required": "it is required",
    "not_required": "on the layers used, this rule does not ask for it",
    "pass": "it passes",
    "fail": "it fails",
    "flag": "it is flagged",
    "no_flag": "nothing is flagged by this rule on the layers used",
    "tier_minor": "the disturbance reaches the minor permit",
    "tier_major": "the disturbance reaches the major permit",
    "below_tiers": "the disturbance lies below the tiers that were supplied",
    "cannot_tell": "it cannot be told from what was given",
}
COMPARED = {"gt": "more than", "ge": "at least", "lt": "less than", "le": "at most"}
CITED = {
    "inferred": " (section number inferred)",
    "cited_only": " (cited by other sections; its own text was not at hand)",
    "override": " (supplied by the user in place of the pack's own number)",
}
#: Why an answer could turn, and what would settle it.
DOUBT = {
    "accuracy": ("the interval reaches the number", "a survey of that boundary"),
    "foot": ("survey feet and international feet differ here", "the foot that the source is in"),
    "ground": ("grid and ground measure differ here", "a measurement on the ground"),
    "arc": ("it hangs on how the buffer's arcs are drawn", "a closer drawing of the arcs"),
    "datum": ("a layer was moved by a rough datum shift", "a better transformation of that layer"),
    "sliver": ("the overlap is no wider than a line", "a survey of that boundary"),
}
NEEDED = {
    "layer": "the layer {}",
    "parameter": "the number of {}, with its citation",
    "fact": "the fact {}",
    "extent": "where the layer {} is complete, or that ground mapped",
}
STATUS = {
    "on_feature": "some of it lies in a mapped wetland or watercourse",
    "in_buffer": "some of it lies in the buffer of a wetland or watercourse",
    "touching": "it touches a boundary and shares no ground",
    "indicator": "only indicators reach it",
    "unknown": "it cannot be told: a layer is missing or ends within reach",
    "none_found": "no indicator was found on the layers used",
}


def explain(finding: Mapping[str, Any]) -> str:
    """One finding as sentences.

    Parameters
    ----------
    finding : mapping
        A row of the findings table: ``dict``, ``Series`` or any mapping with its columns.

    Returns
    -------
    str
        The answer; the number, its interval and the number of the law; what the law says in our
        words and where; what the finding leans on; why it could turn; what would settle it.

    Examples
    --------
    >>> row = {"rule": "MON-48", "subject_kind": "project", "subject_id": "P1", "record": 1,
    ...        "feature_kind": "", "feature_id": "", "outcome": "not_met",
    ...        "answer": "not_required", "value": 217800.0, "unit": "sqft", "comparison": "gt",
    ...        "threshold": 217800.0, "value_low": 217800.0, "value_high": 217800.0, "doubt": "",
    ...        "needs": "", "cite": "46-17B(7)", "cite_status": "inferred",
    ...        "says": "Larger sites are built in phases.", "note": ""}
    >>> print(explain(row))
    MON-48 for project P1: on the layers used, this rule does not ask for it. Measured: 217,800.00 \
sq ft; held against: more than 217,800.00 sq ft. The law, in our words: Larger sites are \
built in phases. Cited: 46-17B(7) (section number inferred).
    """
    get = _texts(finding)
    parts = [f"{get('rule')} for {_subject(get)}: {ANSWERS.get(get('answer'), get('answer'))}."]
    parts += [_measured(finding, get), f"The law, in our words: {get('says')}"]
    parts.append(f"Cited: {get('cite')}{CITED.get(get('cite_status'), '')}.")
    if get("note"):
        parts.append(f"It leans on: {get('note').rstrip('.')}.")
    doubts = [d for d in get("doubt").split("; ") if d]
    if doubts:
        parts.append("It could turn: " + "; ".join(DOUBT[d][0] for d in doubts) + ".")
    settle = [*_needed(get("needs")), *(DOUBT[d][1] for d in doubts)]
    if settle:
        parts.append("What would settle it: " + "; ".join(dict.fromkeys(settle)) + ".")
    return " ".join(part for part in parts if part)


def _texts(finding: Mapping[str, Any]) -> Any:
    def get(name: str) -> str:
        value = finding.get(name, "")
        return "" if value is None or value != value else str(value)

    return get


def _subject(get: Any) -> str:
    text = f"{get('subject_kind')} {get('subject_id')}"
    if get("record") not in ("", "1"):
        text += f" (record {get('record')})"
    if get("feature_id"):
        text += f" and {get('feature_kind')} {get('feature_id')}"
    return text


def _measured(finding: Mapping[str, Any], get: Any) -> str:
    value, threshold = (_number(finding, name) for name in ("value", "threshold"))
    if value != value:
        return ""
    unit = UNIT_WORDS.get(get("unit"), get("unit"))
    decimals = 0 if get("unit") in ("count", "days") else 2
    text = f"Measured: {_with(shown(value, threshold, decimals=decimals), unit)}"
    low, high = (_number(finding, name) for name in ("value_low", "value_high"))
    if low < value or high > value:
        between = f"{shown(low, threshold)} and {shown(high, threshold)}"
        text += f" (between {_with(between, unit)} by the accuracy that is stated)"
    if threshold == threshold and get("comparison"):
        law = _with(shown(threshold, decimals=decimals), unit)
        text += f"; held against: {COMPARED[get('comparison')]} {law}"
    return text + "."


def _number(finding: Mapping[str, Any], name: str) -> float:
    value = finding.get(name)
    return float("nan") if value is None else float(value)


def _with(number: str, unit: str) -> str:
    return number if not unit or number in ("not known", "none near") else f"{number} {unit}"


def _needed(needs: str) -> list[str]:
    out = []
    for need in filter(None, needs.split("; ")):
        sort, _, what = need.partition(": ")
        out.append(NEEDED[sort].format(what.replace("_", " ")) if sort in NEEDED else need)
    return out


def card(measures: Mapping[str, Any], findings: pd.DataFrame) -> str:
    """One subject as a card: words first, then numbers.

    Parameters
    ----------
    measures : mapping
        A row of the measures.
    findings : DataFrame
        The findings; those of other subjects are left out.

    Returns
    -------
    str
        The status, what is met, what cannot be told and what it needs, then the areas and
        distances.
    """
    get = _texts(measures)
    own = findings
    for name in ("subject_kind", "subject_id", "record"):
        if name in measures:
            own = own[own[name].astype(str) == get(name)]
    status = get("status") if get("status") in STATUSES else "unknown"
    lines = [f"{get('subject_kind').capitalize()} {get('subject_id')}: {STATUS[status]}."]
    lines += _met_lines(own)
    lines += _open_lines(own)
    lines += _number_lines(measures)
    lines.append("A screening, not a determination: the officials whom the law names decide.")
    return "\n".join(lines)


def _met_lines(own: pd.DataFrame) -> list[str]:
    met = own[(own["outcome"] == "met") & (own["severity"] != "inform")]
    lines = []
    for row in met.to_dict("records"):
        what = f" ({row['feature_kind']} {row['feature_id']})" if row["feature_id"] else ""
        doubt = " In doubt: " + row["doubt"] + "." if row["doubt"] else ""
        cite = f"{row['cite']}{CITED.get(row['cite_status'], '')}"
        lines.append(f"  {row['rule']}{what}: {ANSWERS[row['answer']]} [{cite}].{doubt}")
    return lines or ["  No condition of the packs in force is met on the layers used."]


def _open_lines(own: pd.DataFrame) -> list[str]:
    open_ = own[own["outcome"] == "undetermined"]
    wanted: dict[str, list[str]] = {}
    for rule, needs in zip(open_["rule"], open_["needs"], strict=True):
        for need in _needed(needs) or ["more than is known"]:
            rules = wanted.setdefault(need, [])
            if rule not in rules:
                rules.append(rule)
    return [
        f"  Cannot be told without {need}: {', '.join(rules)}." for need, rules in wanted.items()
    ]


def _number_lines(measures: Mapping[str, Any]) -> list[str]:
    named = {
        "area_sqft": "area", "wetland_sqft": "wetland", "watercourse_sqft": "watercourse",
        "buffer_sqft": "buffer", "outside_sqft": "outside", "unmapped_sqft": "not mapped",
        "hydric_sqft": "hydric soil", "floodplain_sqft": "floodplain", "steep_sqft": "steep",
        "wetland_ft": "to a wetland", "watercourse_ft": "to a watercourse",
    }  # fmt: skip
    out = []
    for name, text in named.items():
        if name in measures:
            unit = "sq ft" if name.endswith("_sqft") else "ft"
            out.append(f"  {text}: {_with(shown(_number(measures, name)), unit)}")
    return out
