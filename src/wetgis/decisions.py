"""Which part of a footprint lies where, and what the law says of its activities there.

The partition decides the place; the strictest part is the answer; a use of right holds only
where the law allows it, with its provisos.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pandas as pd

from wetgis.activities import Job, jobs, needs_review
from wetgis.doubts import Bools, Trial, Words
from wetgis.ground import only_slivers
from wetgis.nearness import drawn_note, parts_note
from wetgis.packs import Limit
from wetgis.packs.model import Activity, Rule
from wetgis.reaches import Reach, by_dimension, measure_reach
from wetgis.schema import EPS_FT, EPS_SQFT
from wetgis.trials import Case, Outcome, append, rows, words

__all__ = ["permit_within", "provisos", "regulated_activity", "use_of_right"]

Fact = Callable[[str], bool | None]
OF_RIGHT, CONDITIONAL, PERMIT = "as_of_right", "as_of_right_conditional", "permit_required"
RANK = {"": 0, OF_RIGHT: 1, CONDITIONAL: 2, PERMIT: 3}


@dataclass(frozen=True)
class Answer:
    """What the law says of an activity: the word, what would settle it, and why."""

    word: str = ""
    needs: tuple[str, ...] = ()
    why: tuple[str, ...] = ()

    def or_stricter(self, other: Answer) -> Answer:
        """The stricter of two; of two alike, both reasons."""
        if RANK[other.word] != RANK[self.word]:
            return other if RANK[other.word] > RANK[self.word] else self
        needs = tuple(dict.fromkeys((*self.needs, *other.needs)))
        return Answer(self.word, needs, tuple(dict.fromkeys((*self.why, *other.why))))


@dataclass
class Places:
    """A frame of footprints and where they lie, by a reach around wetlands and watercourses."""

    frame: pd.DataFrame
    reach: Reach
    trial: Trial
    within: Bools
    touch: Bools
    known: list[frozenset[str]]
    possible: list[frozenset[str]]
    note: Words
    jobs: list[Job]
    review: list[bool]
    answers: list[dict[str, Answer]] = field(default_factory=list)
    overall: list[Answer] = field(default_factory=list)
    could_be: list[Answer] = field(default_factory=list)


def places(case: Case, rule: Rule) -> list[Places]:
    """Where the footprints lie, and the answer for each of their activities; made once."""
    key = ("places", rule.parameters["reach"], rule.features)
    return case.once(key, lambda: _places(case, rule))


def _places(case: Case, rule: Rule) -> list[Places]:
    limit, out = case.limit(rule, "reach"), []
    for frame, comparison in by_dimension(case.subjects("footprint")):
        reach = measure_reach(case, frame, rule.features)
        trial = reach.trial(limit, comparison)
        within = trial.met & ~_beyond_limit(case, frame)
        known = _known_places(case, frame, within, limit)
        packs = list(case.packs) or [case.pack]
        found = jobs(frame, case.pack, packs)
        place = Places(
            frame, reach, trial, within, ~trial.met & (np.abs(trial.margin) <= trial.noise),
            known, _possible_places(case, rule, frame, reach, known), words(len(frame)),
            found, [needs_review(job, case.pack, packs) for job in found],
        )  # fmt: skip
        place.note = _place_note(case, rule, place)
        _decide(case, place)
        out.append(place)
    return out


def _beyond_limit(case: Case, frame: pd.DataFrame) -> Bools:
    """Areas whose part inside the municipality reaches no wetland, watercourse or buffer."""
    inside = sum(
        np.nan_to_num(case.number(frame, f"{p}_sqft")) for p in ("wetland", "watercourse", "buffer")
    )
    beyond = case.number(frame, "beyond_limit_sqft") > EPS_SQFT
    return np.asarray(beyond & (inside <= EPS_SQFT), dtype=bool)


def _known_places(
    case: Case, frame: pd.DataFrame, within: Bools, limit: Limit
) -> list[frozenset[str]]:
    wetland = _lies_in(case, frame, "wetland") & within
    channel = _lies_in(case, frame, "watercourse") & within
    bare = case.number(frame, "watercourse_length_ft") > EPS_FT
    channel |= bare & (case.number(frame, "watercourse_ft") <= EPS_FT) & within
    rest = within & ~wetland & ~channel
    if case.evidence.buffer_ft == limit.value or np.isnan(case.evidence.buffer_ft):
        area = case.number(frame, "buffer_sqft") > EPS_SQFT
        length = case.number(frame, "buffer_length_ft") > EPS_FT
        rest |= within & (area | length)
    pairs = (("wetland", wetland), ("watercourse", channel), ("buffer", rest))
    return [frozenset(name for name, mask in pairs if mask[i]) for i in range(len(frame))]


def _lies_in(case: Case, frame: pd.DataFrame, place: str) -> Bools:
    """By area for areas (slivers apart), by length for lines, by distance for points."""
    dim = case.number(frame, "geometry_dim")
    area = case.number(frame, f"{place}_sqft") > EPS_SQFT
    area &= ~only_slivers(case, frame, [f"{place}s"])
    length = case.number(frame, f"{place}_length_ft") > EPS_FT
    near = case.number(frame, f"{place}_ft") <= EPS_FT
    lengths_known = ~np.isnan(case.number(frame, f"{place}_length_ft"))
    line = np.where(lengths_known, length, near)
    return np.where(dim == 0, near, np.where(dim == 1, line, area)).astype(bool)


def _possible_places(
    case: Case, rule: Rule, frame: pd.DataFrame, reach: Reach, known: list[frozenset[str]]
) -> list[frozenset[str]]:
    """Where a footprint might lie besides, for want of a layer or of its extent."""
    under = case.number(frame, "unmapped_sqft") > EPS_SQFT
    under |= case.number(frame, "unmapped_length_ft") > EPS_FT
    out = []
    for i in range(len(frame)):
        more = {"buffer"} if reach.open[i] else set()
        for kind in rule.features:
            if not case.given(kind) or under[i]:
                more.add(kind.rstrip("s"))
        out.append(known[i] | more if reach.open[i] or under[i] else known[i])
    return out


def _place_note(case: Case, rule: Rule, place: Places) -> Words:
    note = parts_note(case, place.frame)
    note = append(note, place.touch, "touches the buffer's outer edge, shares no ground with it")
    beyond = _beyond_limit(case, place.frame) & place.trial.met
    note = append(note, beyond, "what lies within reach is beyond the municipal limit")
    near = case.nearest(place.frame, rule.features)
    name = case.text(near, "source")
    note = append(note, name != "", np.array([f"nearest: {s}" for s in name], dtype=object))
    return drawn_note(case, near, note)


# ---------------------------------------------------------------- the table of activities


def _decide(case: Case, place: Places) -> None:
    """Fill in the answers of every activity of every job, and the strictest."""
    table = {a.code: a for a in case.pack.model.activities.codes}
    spare = case.pack.model.activities.unknown
    facts = _facts(case, place.frame, table.values())
    for i, job in enumerate(place.jobs):
        codes = list(job.codes)
        if place.review[i] and spare and spare not in codes:
            codes.append(spare)
        fact: Fact = partial(_look_up, facts, i)
        decide = partial(_decide_code, case, table, codes, fact)
        known = {code: decide(table[code], place.known[i]) for code in codes}
        for code in codes:
            if known[code].word == PERMIT and table[code].sort == "of_right":
                for other in _becomes(table[code], place.known[i], fact):
                    why = (f"follows from {code} here",)
                    known.setdefault(other, Answer(PERMIT, why=why))
        place.answers.append(known)
        place.overall.append(_strictest(known.values(), bool(place.known[i]), bool(codes)))
        could = [decide(table[code], place.possible[i]) for code in codes]
        place.could_be.append(_strictest(could, bool(place.possible[i]), bool(codes)))


def _strictest(answers: Iterable[Answer], inside: bool, named: bool) -> Answer:
    if inside and not named:
        why = "no activity is stated: what is neither of right nor permitted is prohibited; review"
        return Answer(PERMIT, why=(why,))
    out = Answer()
    for answer in answers:
        out = out.or_stricter(answer)
    return out


def _facts(case: Case, frame: pd.DataFrame, table: Iterable[Activity]) -> dict[str, Words]:
    names: set[str] = {p.fact for p in case.pack.model.activities.provisos}
    for activity in table:
        names |= {*activity.blocked_by, *activity.only_if, *activity.only_if_not}
        names |= {e.fact for e in activity.escapes}
        if activity.review_in:
            names.add(_review_fact(activity))
    return {name: case.fact(frame, name) for name in sorted(names)}


def _look_up(facts: dict[str, Words], row: int, name: str) -> bool | None:
    value: bool | None = facts[name][row]
    return value


def _review_fact(activity: Activity) -> str:
    return f"review_{activity.code.lower()}"


def _decide_code(
    case: Case, table: dict[str, Activity], codes: list[str], fact: Fact, activity: Activity,
    where: frozenset[str],
) -> Answer:  # fmt: skip
    """The strictest answer for one activity over the places of a footprint."""
    out = Answer()
    for place in sorted(where):
        if activity.sort == "of_right":
            answer = _of_right(case, table, codes, fact, activity, place)
        else:
            answer = _regulated(case, table, codes, fact, activity, place)
        out = out.or_stricter(answer)
    return out


def _regulated(
    case: Case, table: dict[str, Activity], codes: list[str], fact: Fact, activity: Activity,
    place: str,
) -> Answer:  # fmt: skip
    hints = []
    for escape in activity.escapes:
        said = fact(escape.fact)
        if said is True:
            saved = _of_right(case, table, codes, fact, table[escape.use], place)
            if saved.word != PERMIT:
                why = (f"of right as {escape.use}: {table[escape.use].says}",)
                return Answer(saved.word, saved.needs, (*why, *saved.why))
        elif said is None:
            hints.append(f"{escape.use} if {escape.fact.replace('_', ' ')}")
    why = (f"would be of right as {' or '.join(hints)}",) if hints else ()
    return Answer(PERMIT, why=why)


def _of_right(
    case: Case, table: dict[str, Activity], codes: list[str], fact: Fact, use: Activity, place: str
) -> Answer:
    """A use of right in one place: where it is allowed, its own conditions, the provisos."""
    refused = [f"{c} in the same job" for c in use.not_with if c in codes]
    refused += [name.replace("_", " ") for name in use.blocked_by if fact(name) is True]
    refused += [name.replace("_", " ") for name in use.only_if_not if fact(name) is True]
    refused += ["not " + name.replace("_", " ") for name in use.only_if if fact(name) is False]
    if place not in (*use.of_right_in, *use.review_in):
        refused.append(f"not of right in a {place}")
    open_ = [name for name in (*use.only_if, *use.only_if_not) if fact(name) is None]
    if place in use.review_in and fact(_review_fact(use)) is not True:
        if fact(_review_fact(use)) is False:
            refused.append("refused on review")
        else:
            open_.append(_review_fact(use))
    defeated = {proviso for code in codes for proviso in table[code].defeats}
    for proviso in case.pack.model.activities.provisos:
        said = False if proviso.id in defeated else fact(proviso.fact)
        if said is False:
            refused.append(f"proviso {proviso.id} fails ({proviso.says})")
        elif said is None:
            open_.append(proviso.fact)
    if refused:
        return Answer(PERMIT, why=(f"{use.code}: {', '.join(refused)}",))
    if open_:
        return Answer(CONDITIONAL, tuple(f"fact: {name}" for name in open_))
    return Answer(OF_RIGHT)


def _becomes(use: Activity, where: frozenset[str], fact: Fact) -> tuple[str, ...]:
    """What a use is where the law does not allow it, unless only a proviso failed."""
    elsewhere = bool(where - {*use.of_right_in, *use.review_in})
    broken = any(fact(name) is True for name in (*use.blocked_by, *use.only_if_not))
    return use.becomes if elsewhere or broken else ()


# ---------------------------------------------------------------- rules


def _open(place: Places) -> Bools:
    """Where a layer that is missing, or ends too soon, could make the answer stricter."""
    stricter = [
        RANK[could.word] > RANK[now.word]
        for could, now in zip(place.could_be, place.overall, strict=True)
    ]
    return np.array(stricter, dtype=bool) | (~place.within & place.reach.open)


def _answered(
    case: Case, rule: Rule, place: Places, keep: Bools, answers: list[Answer], notes: Words
) -> Outcome:
    """Met where within, by the number alone; open where a layer or a fact could turn it."""
    from wetgis.determination import nothing_mapped

    n = int(keep.sum())
    within, hidden = place.within[keep], _open(place)[keep]
    word = np.array([a.word for a in answers], dtype=object)
    conditional = within & (word == CONDITIONAL)
    settled = within & (word == PERMIT)
    hidden = hidden & ~settled
    needs = append(words(n), hidden, place.reach.needs[keep])
    facts = np.array(["; ".join(a.needs) for a in answers], dtype=object)
    needs = append(needs, conditional, facts)
    answer = np.where(within & ~hidden, word, "")
    outside = nothing_mapped(case, rule, place)[keep]
    answer = np.where(within | hidden, answer, outside).astype(object)
    answer = np.where(hidden, "cannot_tell", answer).astype(object)
    note = place.note[keep]
    note = append(note, notes != "", notes)
    why = np.array(["; ".join(a.why) for a in answers], dtype=object)
    note = append(note, within & (why != ""), why)
    trial = Trial(
        place.trial.value[keep], place.trial.comparison, place.trial.threshold, "ft",
        half=place.reach.half[keep], span=(place.reach.low[keep], place.reach.high[keep]),
        factor=place.reach.factor[keep],
    )  # fmt: skip
    return Outcome(
        within, hidden | conditional, trial, needs=needs, note=note, answer=answer,
        limit=case.limit(rule, "reach"), layers=rule.features,
    )  # fmt: skip


def permit_within(case: Case, rule: Rule, subject_kind: str) -> list[pd.DataFrame]:
    """Whether a job lies within the reach, and the strictest answer of its activities."""
    out = []
    says = {a.code: a.says for a in case.pack.model.activities.codes}
    for place in places(case, rule):
        keep = np.ones(len(place.frame), dtype=bool)
        notes = np.array(
            ["; ".join(f"{code}: {says[code]}" for code in found) for found in place.answers],
            dtype=object,
        )
        strange = np.array(["; ".join(job.unknown) for job in place.jobs], dtype=object)
        review = np.array(place.review, dtype=bool)
        text = np.array([f"not in the table, to be reviewed: {s}" for s in strange], dtype=object)
        notes = append(notes, review, text)
        found = _answered(case, rule, place, keep, place.overall, notes)
        out.append(rows(case, rule, place.frame, found))
    return out


def _with_code(place: Places, code: str | None) -> tuple[Bools, list[Answer]]:
    keep = np.array([code in found for found in place.answers], dtype=bool)
    return keep, [found[code] for found in place.answers if code is not None and code in found]


def regulated_activity(case: Case, rule: Rule, subject_kind: str) -> list[pd.DataFrame]:
    """One regulated activity of a job: a permit within the reach, unless a use of right saves it."""
    out = []
    for place in places(case, rule):
        keep, answers = _with_code(place, rule.activity)
        frame = place.frame[keep].reset_index(drop=True)
        found = _answered(case, rule, place, keep, answers, words(len(frame)))
        out.append(rows(case, rule, frame, found))
    return out


def use_of_right(case: Case, rule: Rule, subject_kind: str) -> list[pd.DataFrame]:
    """One use of right of a job: met where it is of right, not met where a permit is needed."""
    from wetgis.determination import nothing_mapped

    out = []
    for place in places(case, rule):
        keep, answers = _with_code(place, rule.activity)
        frame = place.frame[keep].reset_index(drop=True)
        within, hidden = place.within[keep], _open(place)[keep]
        word = np.array([a.word for a in answers], dtype=object)
        hidden = hidden & ~(within & (word == PERMIT))
        conditional = within & (word == CONDITIONAL) & ~hidden
        needs = append(words(len(frame)), hidden, place.reach.needs[keep])
        facts = np.array(["; ".join(a.needs) for a in answers], dtype=object)
        needs = append(needs, within & (word == CONDITIONAL), facts)
        answer = np.where(within, word, nothing_mapped(case, rule, place)[keep])
        answer = np.where(hidden, "cannot_tell", answer).astype(object)
        why = np.array(["; ".join(a.why) for a in answers], dtype=object)
        note = append(place.note[keep], within & (why != ""), why)
        note = append(note, ~within & ~hidden, "outside what is mapped")
        out.append(rows(case, rule, frame, Outcome(
            within & (word == OF_RIGHT), hidden | conditional, needs=needs, note=note,
            answer=answer, layers=rule.features,
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


