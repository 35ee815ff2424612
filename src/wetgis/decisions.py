"""Rules about the activities of a footprint: regulated, of right, or in need of a finding."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from wetgis.doubts import Bools, Trial, Words
from wetgis.packs.model import Rule
from wetgis.places import CONDITIONAL, OF_RIGHT, RANK, Answer, Places, places, strictest
from wetgis.trials import Case, Outcome, append, rows, words

__all__ = [
    "permit_within",
    "provisos",
    "regulated_activity",
    "unmapped_finding",
    "use_of_right",
]


@dataclass(frozen=True)
class Chosen:
    """The footprints that a rule is about, and what it says of each: now, and perhaps."""

    place: Places
    keep: Bools
    now: list[Answer]
    could: list[Answer]  # if what is not mapped were known
    nearly: list[Answer]  # if the layers were off by their accuracy

    @property
    def frame(self) -> pd.DataFrame:
        """Their rows."""
        return self.place.frame[self.keep].reset_index(drop=True)

    @property
    def within(self) -> Bools:
        """Which lie within the reach."""
        return self.place.within[self.keep]

    @property
    def word(self) -> Words:
        """The answer of each."""
        return np.array([answer.word for answer in self.now], dtype=object)

    @property
    def hidden(self) -> Bools:
        """Where a layer that is missing, or ends too soon, could make the answer stricter."""
        open_ = self.place.reach.open[self.keep]
        return (self._stricter(self.could) & open_) | (~self.within & open_)

    @property
    def flags(self) -> dict[str, Bools]:
        """Where a sliver, or the accuracy of the layers, could make the answer stricter."""
        turns = self._stricter(self.nearly)
        sliver = self.place.sliver[self.keep] & self.within
        lenient = np.isin(self.word.astype(str), [OF_RIGHT, CONDITIONAL])
        return {"accuracy": turns & ~sliver, "sliver": sliver & lenient}

    def _stricter(self, others: list[Answer]) -> Bools:
        pairs = zip(others, self.now, strict=True)
        return np.array([RANK[o.word] > RANK[n.word] for o, n in pairs], dtype=bool)

    def needs(self, hidden: Bools) -> Words:
        """Layers, then facts, that would settle it."""
        out = append(words(len(self.now)), hidden, self.place.reach.needs[self.keep])
        facts = np.array(["; ".join(answer.needs) for answer in self.now], dtype=object)
        return append(out, self.within & (self.word == CONDITIONAL), facts)

    def note(self, more: Words) -> Words:
        """Where it lies, what it is, and why the answer is what it is."""
        note = append(self.place.note[self.keep], more != "", more)
        why = np.array(["; ".join(answer.why) for answer in self.now], dtype=object)
        return append(note, self.within & (why != ""), why)

    def answer(self, hidden: Bools) -> Words:
        """The word of each: the decision's within, the screening's outside."""
        answer = np.where(self.within, self.word, self.place.outside[self.keep])
        return np.where(hidden, "cannot_tell", answer).astype(object)


def _all(place: Places) -> Chosen:
    """Every footprint, by the strictest of its activities."""
    nearly = [strictest(found) for found in place.nearly]
    keep = np.ones(len(place.frame), dtype=bool)
    return Chosen(place, keep, place.overall, place.could_be, nearly)


def _with_code(place: Places, code: str) -> Chosen:
    """The footprints whose job has this activity, or comes to it."""
    keep = np.array([code in found for found in place.answers], dtype=bool)
    chosen = np.flatnonzero(keep)
    now = [place.answers[i][code] for i in chosen]
    could = [place.could[i].get(code, place.answers[i][code]) for i in chosen]
    nearly = [place.nearly[i].get(code, place.answers[i][code]) for i in chosen]
    return Chosen(place, keep, now, could, nearly)


def _regulated_rows(case: Case, rule: Rule, chosen: Chosen, more: Words) -> pd.DataFrame:
    """Met where within, by the number alone; open where a layer or a fact could turn it."""
    keep, place = chosen.keep, chosen.place
    hidden = chosen.hidden
    conditional = chosen.within & (chosen.word == CONDITIONAL)
    trial = Trial(
        place.trial.value[keep], place.trial.comparison, place.trial.threshold, "ft",
        half=place.reach.half[keep], span=(place.reach.low[keep], place.reach.high[keep]),
        factor=place.reach.factor[keep],
    )  # fmt: skip
    return rows(case, rule, chosen.frame, Outcome(
        chosen.within, hidden | conditional, trial, chosen.flags, needs=chosen.needs(hidden),
        note=chosen.note(more), answer=chosen.answer(hidden),
        limit=case.limit(rule, "reach"), layers=rule.features,
    ))  # fmt: skip


def permit_within(case: Case, rule: Rule, subject_kind: str) -> list[pd.DataFrame]:
    """Whether a job lies within the reach, and the strictest answer of its activities."""
    out = []
    says = {a.code: a.says for a in case.pack.model.activities.codes}
    for place in places(case, rule):
        named = [[f"{code}: {says[code]}" for code in found] for found in place.answers]
        for i, job in enumerate(place.jobs):
            if job.review:
                named[i].append("not in the table, to be reviewed: " + "; ".join(job.unknown))
        more = np.array(["; ".join(one) for one in named], dtype=object)
        out.append(_regulated_rows(case, rule, _all(place), more))
    return out


def regulated_activity(case: Case, rule: Rule, subject_kind: str) -> list[pd.DataFrame]:
    """One regulated activity: a permit within the reach, unless a use of right saves it."""
    out = []
    for place in places(case, rule):
        chosen = _with_code(place, str(rule.activity))
        if not chosen.now:
            continue
        out.append(_regulated_rows(case, rule, chosen, words(len(chosen.now))))
    return out


def use_of_right(case: Case, rule: Rule, subject_kind: str) -> list[pd.DataFrame]:
    """One use of right of a job: met where it is of right, not met where a permit is needed."""
    out = []
    for place in places(case, rule):
        chosen = _with_code(place, str(rule.activity))
        if not chosen.now:
            continue
        hidden, within = chosen.hidden, chosen.within
        conditional = within & (chosen.word == CONDITIONAL)
        note = chosen.note(words(len(chosen.now)))
        note = append(note, ~within & ~hidden, "outside what is mapped")
        out.append(rows(case, rule, chosen.frame, Outcome(
            within & (chosen.word == OF_RIGHT), hidden | conditional, flags=chosen.flags,
            needs=chosen.needs(hidden), note=note, answer=chosen.answer(hidden),
            layers=rule.features,
        )))  # fmt: skip
    return out


def provisos(case: Case, rule: Rule, subject_kind: str) -> list[pd.DataFrame]:
    """The provisos of every use of right, where a job has one within the reach."""
    out = []
    table = {a.code: a for a in case.pack.model.activities.codes}
    wanted = case.pack.model.activities.provisos
    for place in places(case, rule):
        keep = place.within & np.array(
            [any(table[c].sort == "of_right" for c in found) for found in place.answers], dtype=bool
        )
        frame = place.frame[keep].reset_index(drop=True)
        chosen = [found for found, kept in zip(place.answers, keep, strict=True) if kept]
        held, needs = np.ones(len(frame), dtype=bool), words(len(frame))
        broken, note = np.zeros(len(frame), dtype=bool), words(len(frame))
        for proviso in wanted:
            said = case.fact(frame, proviso.fact)
            defeated = np.array(
                [any(proviso.id in table[c].defeats for c in found) for found in chosen], dtype=bool
            )
            no = defeated | np.array([v is False for v in said], dtype=bool)
            unknown = ~defeated & np.array([v is None for v in said], dtype=bool)
            held, broken = held & ~no & ~unknown, broken | no
            needs = append(needs, unknown, f"fact: {proviso.fact}")
            note = append(note, no, f"{proviso.id} fails: {proviso.says}")
        found = Outcome(held, ~held & ~broken, needs=needs, note=note, layers=rule.features)
        out.append(rows(case, rule, frame, found))
    return out


def unmapped_finding(case: Case, rule: Rule, subject_kind: str) -> list[pd.DataFrame]:
    """Off the map and without another approval: whether the votes for a finding are there."""
    limit, out = case.limit(rule, "votes"), []
    approval, votes = rule.facts
    for place in places(case, rule):
        frame = place.frame
        other = case.fact(frame, approval)
        counts = np.array([_as_number(v) for v in case.raw_fact(frame, votes)], dtype="float64")
        trial = Trial(counts, limit.comparison, limit.value, "count")
        mapped = place.within
        named = np.array([v is True for v in other], dtype=bool)
        closed = mapped | named
        unsaid = np.array([v is None for v in other], dtype=bool)
        refused = trial.known & ~trial.met
        open_ = ~closed & ~refused & (place.reach.open | unsaid | ~trial.known)
        needs = append(words(len(frame)), place.reach.open, place.reach.needs)
        needs = append(needs, unsaid, f"fact: {approval}")
        needs = append(needs, ~trial.known, f"fact: {votes}")
        note = append(words(len(frame)), mapped, "this ground is mapped")
        note = append(
            note, named & ~mapped, "another approval of the place is needed: its way is the one"
        )
        out.append(rows(case, rule, frame, Outcome(
            ~closed & trial.met, open_, trial, needs=needs, note=note, limit=limit,
            layers=rule.features,
        )))  # fmt: skip
    return out


def _as_number(value: object) -> float:
    try:
        return float(str(value))
    except ValueError:
        return np.nan
