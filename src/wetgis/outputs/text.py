"""A screening in words: what was found, what could not be told, what the reader must know.

``headlines`` and ``lines`` are also what the report and the workbook open with.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from wetgis.outputs.pieces import Finished
from wetgis.outputs.tally import AREAS, Findings, Subjects
from wetgis.outputs.words import (
    ANSWER_WORDS,
    CITE_WORDS,
    COLUMN_WORDS,
    DOUBT_WORDS,
    SEVERITY_WORDS,
    STATUS_WORDS,
    compared,
    counted,
    needed,
    with_unit,
)
from wetgis.schema import EPS_SQFT, FINDING_SEVERITIES, NUMBER_COLUMNS, SUBJECT_KINDS

if TYPE_CHECKING:
    from wetgis.screening import Screening

__all__ = [
    "Provision",
    "areas_line",
    "cards",
    "cited",
    "doubts_in_words",
    "headlines",
    "issue_line",
    "lines",
    "provisions",
    "rule_titles",
    "summary",
    "summary_of",
]

_SUBJECT = ["subject_kind", "subject_id", "record"]


@dataclass(frozen=True)
class Provision:
    """One rule of one pack over all subjects."""

    pack: str
    rule: str
    title: str
    says: str
    cite: str
    cite_status: str
    severity: str
    answers: tuple[str, ...]  # of those that are met
    met: int  # subjects
    undetermined: int
    doubtful: int
    needs: tuple[str, ...]


def _met_and(parts: Iterable[str]) -> str:
    words = list(parts)
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 2 else words)


def headlines(run: Screening | Subjects) -> list[str]:
    """The result in a sentence for each kind of subject.

    Returns
    -------
    list of str
        As "97 of 240 parcels reach a mapped wetland, a watercourse or their buffer (56 the wetland
        or watercourse itself); 26 more have an indicator only."
    """
    subjects = run if isinstance(run, Subjects) else Subjects.of([run.measures])
    if not subjects.count:
        return ["There were no subjects to screen."]
    counts = {kind: subjects.of_kind(kind) for kind in SUBJECT_KINDS}
    return [_sentence(kind, count) for kind, count in counts.items() if count]


def _sentence(kind: str, n: Counter[str]) -> str:
    near = n["on_feature"] + n["in_buffer"] + n["touching"]
    of = counted(n.total(), kind)
    if n.total() == 1:
        return f"The {kind}: {STATUS_WORDS[next(iter(n))].lower()}."
    text = f"{near:,} of {of} reach a mapped wetland, a watercourse or their buffer"
    if near == 0:
        text = f"None of {of} reaches a mapped wetland, a watercourse or their buffer"
    elif near == 1:
        text = text.replace("reach a", "reaches a")
    if n["on_feature"]:
        text += f" ({n['on_feature']:,} the wetland or watercourse itself)"
    rest = []
    if n["indicator"]:
        rest.append(f"{n['indicator']:,} more {_have(n['indicator'])} an indicator only")
    if n["unknown"]:
        rest.append(f"for {n['unknown']:,} it cannot be told")
    if n["none_found"]:
        rest.append(f"for {n['none_found']:,} no indicator was found on the layers used")
    return text + (f"; {_met_and(rest)}." if rest else ".")


def _have(n: int) -> str:
    return "has" if n == 1 else "have"


def provisions(run: Screening | Finished, findings: Findings | None = None) -> list[Provision]:
    """What each rule came to over all subjects, the gravest first.

    Rules that no subject meets and that could be told everywhere are left out. ``findings`` is
    what the run's findings add up to, where that is known already.
    """
    findings = findings or Findings.of(_pieces(run, "findings"))
    titles = rule_titles(run)
    made = [
        Provision(
            pack=pack,
            rule=name,
            title=titles.get((pack, name), ""),
            says=rule.says,
            cite=rule.cite,
            cite_status=rule.cite_status,
            severity=rule.severity,
            answers=tuple(sorted(rule.answers)),
            met=rule.met,
            undetermined=rule.undetermined,
            doubtful=rule.doubtful,
            needs=tuple(sorted(rule.needs)),
        )
        for (pack, name), rule in findings.rules.items()
        if rule.met + rule.undetermined > 0
    ]
    rank = {severity: i for i, severity in enumerate(FINDING_SEVERITIES)}
    return sorted(
        made, key=lambda p: (p.met == 0, rank.get(p.severity, 99), -p.met, p.pack, p.rule)
    )


def _pieces(run: Screening | Finished, name: str) -> Iterable[pd.DataFrame]:
    """A table in pieces; one in memory is a piece by itself, for a sum in any order."""
    return run.read(name) if isinstance(run, Finished) else [getattr(run, name)]


def rule_titles(run: Screening | Finished) -> dict[tuple[str, str], str]:
    """The title of each rule, as far as the packs are at hand."""
    titles: dict[tuple[str, str], str] = {}
    for pack in run.packs:
        for rule in getattr(pack, "rules", ()):
            titles[(str(pack.id), str(rule.id))] = str(getattr(rule, "title", ""))
    return titles


def _several(text: Any) -> list[str]:
    if not isinstance(text, str):
        return []
    return [part.strip() for part in text.split(";") if part.strip()]


def doubts_in_words(doubt: str) -> str:
    """The doubts of a finding in words, "" where there is none.

    Examples
    --------
    >>> doubts_in_words("foot;sliver")
    'it turns with the foot: survey or international; the overlap is no wider than a line'
    """
    return "; ".join(DOUBT_WORDS.get(word, word) for word in _several(doubt))


def issue_line(issues: pd.DataFrame) -> str:
    """How many records and layers a reader must know about, in words."""
    n = {s: int((issues["severity"] == s).sum()) for s in ("error", "warning", "note")}
    if not any(n.values()):
        return "Nothing about the input needs to be known."
    parts = []
    if n["error"]:
        what = "record or layer" if n["error"] == 1 else "records or layers"
        parts.append(f"{n['error']:,} {what} could not be used")
    for severity in ("warning", "note"):
        if n[severity]:
            parts.append(f"{n[severity]:,} {severity}{'' if n[severity] == 1 else 's'}")
    return f"About the input: {_met_and(parts)}."


def lines(run: Screening | Finished, *, limit: int = 12) -> list[str]:
    """What each rule came to, a line a rule; what is left out is counted in the last line."""
    made = []
    several = provisions(run)
    for p in several[:limit]:
        kinds = f"{p.met:,} met" if p.met else ""
        unsure = f"{p.undetermined:,} cannot be told" if p.undetermined else ""
        counts = ", ".join(text for text in (kinds, unsure) if text)
        answer = " or ".join(ANSWER_WORDS.get(a, a) for a in p.answers)
        answer = answer or SEVERITY_WORDS.get(p.severity, p.severity)
        text = f"{p.rule}  {answer}: {p.title or p.says} [{p.cite}] {counts}"
        if p.needs:
            text += f" (needs {', '.join(p.needs)})"
        made.append(text)
    if len(several) > limit:
        made.append(
            f"... and {len(several) - limit} more rules; all of them stand in findings.csv."
        )
    return made


def summary(screening: Screening, *, limit: int = 12) -> str:
    """A screening in a few lines for a terminal.

    Parameters
    ----------
    screening : Screening
        The result.
    limit : int
        How many rules are told.

    Returns
    -------
    str
        Title, headlines, areas, a line a rule, the issues, and the caveat.
    """
    return summary_of(Finished.of(screening), limit=limit)


def summary_of(run: Finished, *, limit: int = 12) -> str:
    """The same for a run whose tables come in pieces."""
    subjects = Subjects.of(run.read("measures"))
    text = [run.title or "Screening", *headlines(subjects)]
    areas = areas_line(subjects)
    if areas:
        text.append(areas)
    told = lines(run, limit=limit)
    if told:
        text += ["", "Findings", *(f"  {line}" for line in told)]
    text += ["", issue_line(run.issues)]
    text.append("This is a screening. The officials whom the law names determine.")
    return "\n".join(text)


def areas_line(measures: pd.DataFrame | Subjects) -> str:
    """The sums over parcels (over footprints where there are none) of what is known."""
    subjects = measures if isinstance(measures, Subjects) else Subjects.of([measures])
    words = dict(zip(AREAS, ("in wetlands", "in watercourses", "in the buffer"), strict=True))
    for kind in ("parcel", "footprint", "project"):
        if not subjects.of_kind(kind):
            continue
        parts = []
        for column, word in words.items():
            area_sqft = subjects.area_sqft(kind, column)
            if area_sqft is not None:
                parts.append(f"{with_unit(area_sqft, 'sqft')} {word}")
        return f"Of the {kind}s, {_met_and(parts)}." if parts else ""
    return ""


def cards(screening: Screening, *, limit: int = 20) -> str:
    """A card for each subject that a finding is met or cannot be told for, words first.

    Parameters
    ----------
    screening : Screening
        The result; an assessment of a few subjects reads best.
    limit : int
        How many subjects are told in full; the others are counted.

    Returns
    -------
    str
        Status, measures, findings with citations, features nearby, a subject a paragraph.
    """
    measures = screening.measures
    findings = screening.findings[screening.findings["outcome"] != "not_met"]
    told = pd.MultiIndex.from_frame(findings[_SUBJECT])
    some = measures[pd.MultiIndex.from_frame(measures[_SUBJECT]).isin(told)]
    if len(measures) <= limit:
        some = measures
    titles = rule_titles(screening)
    text = [screening.title or "Screening", *headlines(screening)]
    for row in some.head(limit).to_dict("records"):
        text += ["", *_subject_lines(screening, row, titles)]
    if len(some) > limit:
        text += ["", f"... and {len(some) - limit:,} more; findings.csv and the report have them."]
    text += ["", issue_line(screening.issues)]
    text.append("This is a screening. The officials whom the law names determine.")
    return "\n".join(text)


def _subject_lines(
    screening: Screening, row: dict[Any, Any], titles: dict[tuple[str, str], str]
) -> list[str]:
    name = f"{str(row['subject_kind']).capitalize()} {row['subject_id']}"
    record = f" (record {row['record']})" if row["record"] > 1 else ""
    text = [f"{name}{record}: {STATUS_WORDS[row['status']]}."]
    known = [c for c in NUMBER_COLUMNS if c in row and _worth_telling(c, float(row[c]))]
    text += [
        f"  {COLUMN_WORDS[c]:<24} {with_unit(float(row[c]), c.rpartition('_')[2]):>16}"
        for c in known
    ]
    findings = _of_subject(screening.findings, row)
    for one in findings[findings["outcome"] != "not_met"].to_dict("records"):
        what = titles.get((one["pack"], one["rule"])) or one["says"]
        text += [f"  {line}" for line in _finding_lines(one, what)]
    for one in _of_subject(screening.contacts, row).sort_values("distance_ft").to_dict("records"):
        distance = with_unit(one["distance_ft"], "ft")
        text.append(f"  {one['feature_kind']} {one['feature_id']} {one['name']} at {distance}")
    return text


def _worth_telling(column: str, value: float) -> bool:
    """Whether a measure is known, and is a distance or more than nothing."""
    distance = column.endswith("_ft") and not column.endswith("length_ft")
    return value == value and (distance or abs(value) > EPS_SQFT)


def _of_subject(table: pd.DataFrame, row: dict[Any, Any]) -> pd.DataFrame:
    same = pd.Series(True, index=table.index)
    for column in _SUBJECT:
        same &= table[column] == row[column]
    return table.loc[same]


def _finding_lines(one: Any, what: str) -> list[str]:
    answer = ANSWER_WORDS.get(one["answer"], one["answer"])
    feature = f" ({one['feature_kind']} {one['feature_id']})" if one["feature_id"] else ""
    text = [
        f"{one['rule']}  {answer}: {what}{feature} [{cited(one)}]" if what else answer + feature
    ]
    number = compared(one)
    if number:
        text.append(f"    {number}")
    if one["doubt"]:
        text.append(f"    doubt: {doubts_in_words(one['doubt'])}")
    if one["needs"]:
        text.append(f"    needed: {', '.join(needed(one['needs']))}")
    if one["note"]:
        text.append(f"    {one['note']}")
    return text


def cited(finding: Any) -> str:
    """The citation of a finding, with what its status adds.

    Examples
    --------
    >>> cited({"cite": "46-5", "cite_status": "inferred"})
    '46-5, section number inferred'
    """
    more = CITE_WORDS.get(finding["cite_status"], "")
    return f"{finding['cite']}, {more}" if more else str(finding["cite"])
