"""What every kind of rule needs: the evidence by subject, facts, layers, and rows of findings.

Tables in, tables out; no geometry library is imported and no legal number stands here.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from math import nan
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from wetgis.doubts import Bools, Floats, Trial, Words, join
from wetgis.evidence import Evidence, LayerFacts
from wetgis.packs import Limit, Pack
from wetgis.packs.model import Rule
from wetgis.schema import DETERMINING, DOUBTS, FINDING_COLUMNS, SINGULAR

__all__ = ["KEYS", "Case", "Outcome", "append", "as_fact", "rows", "words"]

KEYS = ["subject_kind", "subject_id", "record"]
T = TypeVar("T")
#: The layer that a subject comes from.
LAYER_OF = {"parcel": "parcels", "footprint": "footprints", "project": "footprints"}
TRUE = frozenset({"true", "t", "yes", "y", "1", "1.0"})
FALSE = frozenset({"false", "f", "no", "n", "0", "0.0"})


def as_fact(value: Any) -> bool | None:
    """Yes, no, or not known.

    Examples
    --------
    >>> as_fact("Yes"), as_fact(0), as_fact(""), as_fact("maybe")
    (True, False, None, None)
    """
    if value is None or value is pd.NA or (isinstance(value, float) and value != value):
        return None
    text = str(value).strip().lower()
    return True if text in TRUE else False if text in FALSE else None


def words(length: int, text: str = "") -> Words:
    """A column of one text."""
    return np.full(length, text, dtype=object)


def append(column: Words, where: Any, text: Any, separator: str = "; ") -> Words:
    """Add a piece of text where a condition holds; ``text`` is one text or a column of them."""
    mask = np.asarray(where, dtype=bool)
    if not mask.any():
        return column
    out = column.copy()
    pieces = [text] * int(mask.sum()) if isinstance(text, str) else list(np.asarray(text)[mask])
    out[mask] = [
        piece if not old else f"{old}{separator}{piece}" if piece else old
        for old, piece in zip(column[mask], pieces, strict=True)
    ]
    return out


@dataclass
class Case:
    """The evidence as one pack sees it."""

    evidence: Evidence
    pack: Pack
    packs: Sequence[Pack] = ()
    _cache: dict[Hashable, Any] = field(default_factory=dict, repr=False)

    def subjects(self, kind: str) -> pd.DataFrame:
        """The subjects of one kind, in the order of the evidence."""
        return self.once(("subjects", kind), lambda: self._subjects(kind))

    def _subjects(self, kind: str) -> pd.DataFrame:
        table = self.evidence.subjects
        return table[table["subject_kind"] == kind].reset_index(drop=True)

    def contacts(self, subject_kind: str, kinds: Iterable[str]) -> pd.DataFrame:
        """Contacts of the subjects of one kind with features of some layers, nearest first."""
        names = tuple(SINGULAR.get(kind, kind) for kind in kinds)
        key = ("contacts", subject_kind, names)
        return self.once(key, lambda: self._contacts(subject_kind, names))

    def _contacts(self, subject_kind: str, names: tuple[str, ...]) -> pd.DataFrame:
        table = self.evidence.contacts
        mask = (table["subject_kind"] == subject_kind) & table["feature_kind"].isin(names)
        order = [*KEYS, "distance_ft", "feature_kind", "feature_id"]
        found = table[mask].drop(columns="geometry", errors="ignore")
        return found.sort_values(order, kind="stable").reset_index(drop=True)

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """What ``make`` makes, made the first time only."""
        if key not in self._cache:
            self._cache[key] = make()
        found: T = self._cache[key]
        return found

    def layer(self, kind: str) -> LayerFacts:
        """What is known about a layer; nothing, if it was not given."""
        return self.evidence.layers.get(kind, LayerFacts())

    def given(self, kind: str) -> bool:
        """Whether a layer was given."""
        return self.evidence.given(kind)

    def limit(self, rule: Rule, role: str) -> Limit:
        """The number that plays a role in a rule."""
        return self.pack.limit(rule.parameters[role])

    def number(self, frame: pd.DataFrame, column: str) -> Floats:
        """A column of numbers, NaN where there is none."""
        if column not in frame.columns:
            return np.full(len(frame), nan)
        values = frame[column]
        if values.dtype == "float64":
            return values.to_numpy(copy=True)
        return pd.to_numeric(values, errors="coerce").to_numpy(dtype="float64", na_value=nan)

    def flag(self, frame: pd.DataFrame, column: str) -> Bools:
        """A column of yes and no, no where there is nothing."""
        if column not in frame.columns:
            return np.zeros(len(frame), dtype=bool)
        values = frame[column]
        if values.dtype == bool:
            return values.to_numpy(dtype=bool)
        if values.isna().all():
            return np.zeros(len(frame), dtype=bool)
        return np.array([as_fact(v) is True for v in values], dtype=bool)

    def text(self, frame: pd.DataFrame, column: str) -> Words:
        """A column of text, empty where there is none."""
        if column not in frame.columns:
            return words(len(frame))
        values = frame[column].to_numpy(dtype=object, copy=True)
        values[pd.isna(values)] = ""
        return values

    def fact(self, frame: pd.DataFrame, name: str) -> Words:
        """A fact by subject: its own column, its parcel's, then the site's ``[facts]``."""
        found = np.empty(len(frame), dtype=object)
        if name not in frame.columns and not self._parcel_facts(name):
            found[:] = as_fact(self.evidence.facts.get(name))
            return found
        found[:] = [as_fact(value) for value in self.raw_fact(frame, name)]
        return found

    def raw_fact(self, frame: pd.DataFrame, name: str) -> list[Any]:
        """The same, not yet read as yes or no."""
        default = self.evidence.facts.get(name)
        own = list(frame[name]) if name in frame.columns else [None] * len(frame)
        by_parcel = self._parcel_facts(name)
        parcels = self.text(frame, "parcel_id") if by_parcel else words(len(frame))
        return [
            value if _stated(value) else by_parcel.get(parcel, default)
            for value, parcel in zip(own, parcels, strict=True)
        ]

    def _parcel_facts(self, name: str) -> dict[str, Any]:
        parcels = self.subjects("parcel")
        if name not in parcels.columns:
            return {}
        pairs = zip(parcels["subject_id"], parcels[name], strict=True)
        return {str(key): value for key, value in pairs if _stated(value)}

    def accuracy(self, frame: pd.DataFrame) -> Floats:
        """Horizontal accuracy of the subjects themselves."""
        own = self.number(frame, "accuracy_ft")
        kinds = frame["subject_kind"]
        for kind, layer in LAYER_OF.items():
            unsaid = np.isnan(own) & (kinds == kind).to_numpy(dtype=bool)
            own = np.where(unsaid, self.layer(layer).accuracy_ft, own)
        return own

    def unmapped(self, frame: pd.DataFrame, kind: str) -> Bools:
        """Where ground beyond the extent of a layer lies within reach."""
        if f"unmapped_reach_{kind}" in frame.columns:
            return self.flag(frame, f"unmapped_reach_{kind}")
        if kind not in DETERMINING:  # the flag for all is about these
            return np.zeros(len(frame), dtype=bool)
        return self.flag(frame, "unmapped_reach")

    def nearest(self, frame: pd.DataFrame, kinds: Sequence[str]) -> pd.DataFrame:
        """The nearest contact of each subject, aligned with the frame; NaN where none is near."""
        if frame.empty:
            return self.evidence.contacts.iloc[:0].reset_index(drop=True)
        subject_kind = str(frame["subject_kind"].iloc[0])
        first = self.once(
            ("nearest", subject_kind, tuple(kinds)),
            lambda: self.contacts(subject_kind, kinds).drop_duplicates(KEYS),
        )
        return frame[KEYS].merge(first, on=KEYS, how="left")

    def ballpark(self, subject_kind: str, kinds: Iterable[str]) -> bool:
        """Whether a layer that a finding leans on was moved by a ballpark shift."""
        return any(self.layer(k).ballpark for k in (LAYER_OF[subject_kind], *kinds))


def _stated(value: Any) -> bool:
    if value is None or value is pd.NA or (isinstance(value, float) and value != value):
        return False
    return bool(str(value).strip())


@dataclass
class Outcome:
    """What a kind of rule found for some subjects; columns as long as the frame.

    ``open`` marks what is undetermined, ``needs`` says what would settle it. ``answer``
    replaces the rule's own words where it is not empty.
    """

    met: Bools
    open: Bools | None = None
    trial: Trial | None = None
    flags: dict[str, Bools] = field(default_factory=dict)
    flags_only: bool = False  # the flags stand instead of the trial's own doubts
    needs: Words | None = None
    note: Words | None = None
    answer: Words | None = None
    feature_kind: Words | str = ""
    feature_id: Words | str = ""
    limit: Limit | None = None
    layers: tuple[str, ...] = ()


def rows(case: Case, rule: Rule, frame: pd.DataFrame, found: Outcome) -> pd.DataFrame:
    """Rows of findings from what a rule found; ``frame`` has the subjects' keys."""
    n = len(frame)
    if n == 0:
        return pd.DataFrame(columns=list(FINDING_COLUMNS))
    undecided = np.zeros(n, dtype=bool) if found.open is None else found.open
    outcome = np.where(undecided, "undetermined", np.where(found.met, "met", "not_met"))
    data: dict[str, Any] = {key: frame[key].to_numpy() for key in KEYS}
    data["feature_kind"], data["feature_id"] = found.feature_kind, found.feature_id
    data["pack"], data["rule"], data["outcome"] = case.pack.id, rule.id, outcome
    data["answer"] = _answers(rule, outcome, found.answer)
    data["severity"] = rule.severity
    data |= _numbers(found, n)
    data["doubt"] = _doubts(case, found, frame, undecided)
    needs = words(n) if found.needs is None else found.needs
    data["needs"] = np.where(undecided, needs, "")
    data |= _citation(rule, found.limit)
    data["note"] = _note(rule, found, n)
    return pd.DataFrame(data, columns=list(FINDING_COLUMNS))


def _answers(rule: Rule, outcome: Words, own: Words | None) -> Words:
    table = rule.answers.model_dump()
    answer = words(len(outcome), table["undetermined"])
    for name in ("met", "not_met"):
        answer[outcome == name] = table[name]
    return answer if own is None else np.where(own != "", own, answer)


def _numbers(found: Outcome, n: int) -> dict[str, Any]:
    trial = found.trial
    if trial is None:
        none = np.full(n, nan)
        empty = {"unit": "", "comparison": ""}
        numbers = ("value", "threshold", "margin", "value_low", "value_high")
        return {**dict.fromkeys(numbers, none), **empty}
    threshold = np.broadcast_to(np.asarray(trial.threshold, dtype="float64"), (n,))
    return {
        "value": trial.value,
        "unit": trial.unit,
        "comparison": trial.comparison,
        "threshold": threshold,
        "margin": trial.margin,
        "value_low": trial.low,
        "value_high": trial.high,
    }


def _doubts(case: Case, found: Outcome, frame: pd.DataFrame, undecided: Bools) -> Words:
    flags = dict(found.flags)
    if found.trial is not None and not found.flags_only:
        for name, mask in found.trial.doubts().items():
            flags[name] = mask | flags.get(name, np.zeros(len(frame), dtype=bool))
    kinds = frame["subject_kind"].unique()
    if any(case.ballpark(str(kind), found.layers) for kind in kinds):
        flags["datum"] = np.ones(len(frame), dtype=bool)
    text = join(flags, len(frame), DOUBTS)
    return np.where(undecided, "", text)


def _citation(rule: Rule, limit: Limit | None) -> dict[str, str]:
    if limit is not None and limit.cite_status == "override":
        return {"cite": limit.cite, "cite_status": "override", "says": rule.says}
    return {"cite": rule.cite, "cite_status": rule.cite_status, "says": rule.says}


def _note(rule: Rule, found: Outcome, n: int) -> Words:
    note = words(n) if found.note is None else found.note
    trial = found.trial
    if trial is not None and trial.half is not None:
        bare = np.isnan(trial.half) & np.isfinite(trial.value) & (trial.value > 0)
        bare &= (trial.low == trial.value) & (trial.high == trial.value)
        note = append(note, bare, "no accuracy is stated, so there is no interval")
    if found.limit is not None and found.limit.cite_status == "override":
        text = f"the number {found.limit.lawful} replaces the pack's own ({rule.cite})"
        note = append(note, np.ones(n, dtype=bool), text)
    if rule.caveat:
        note = append(note, np.ones(n, dtype=bool), rule.caveat)
    return note
