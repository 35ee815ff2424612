"""Which part of a footprint lies where, and what the law says of its activities there.

The partition decides the place; the strictest part is the answer; a use of right holds only
where the law allows it, with its provisos.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import pandas as pd

from wetgis.activities import Job, jobs
from wetgis.determination import nothing_mapped
from wetgis.doubts import Bools, Trial, Words
from wetgis.ground import only_slivers
from wetgis.nearness import drawn_note, parts_note
from wetgis.packs import Limit
from wetgis.packs.model import Activity, Proviso, Rule
from wetgis.reaches import (
    BEYOND,
    Reach,
    beyond_limit,
    by_dimension,
    measure_reach,
    nearest_of,
    source_words,
)
from wetgis.schema import EPS_FT, EPS_SQFT
from wetgis.trials import Case, append, words

__all__ = ["CONDITIONAL", "OF_RIGHT", "PERMIT", "RANK", "Answer", "Places", "places", "strictest"]

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
    possible: list[frozenset[str]]  # besides, for want of a layer or of its extent
    near: list[frozenset[str]]  # besides, within the accuracy of the layers
    sliver: Bools  # what meets a wetland or watercourse is no wider than a line
    note: Words
    jobs: list[Job]
    outside: Words  # the answer where nothing mapped is within reach
    answers: list[dict[str, Answer]] = field(default_factory=list)
    could: list[dict[str, Answer]] = field(default_factory=list)
    nearly: list[dict[str, Answer]] = field(default_factory=list)
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
        nothing, wholly = beyond_limit(case, frame)
        reach = replace(reach, open=reach.open & ~wholly)
        within = trial.met & ~nothing
        known = _known_places(case, frame, within, limit)
        place = Places(
            frame, reach, trial, within, ~trial.met & (np.abs(trial.margin) <= trial.noise),
            known, _possible_places(case, rule, frame, reach, known),
            _near_places(rule, reach, known), only_slivers(case, frame, rule.features),
            words(len(frame)), jobs(frame, case.pack, list(case.packs) or [case.pack]),
            nothing_mapped(case, frame),
        )  # fmt: skip
        place.note = _place_note(case, rule, place)
        _decide(case, place)
        out.append(place)
    return out


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


def _near_places(rule: Rule, reach: Reach, known: list[frozenset[str]]) -> list[frozenset[str]]:
    """Where a footprint lies, and what the accuracy of the layers could bring it into."""
    out = []
    for i, here in enumerate(known):
        met = {kind.rstrip("s") for kind in rule.features if reach.lows[kind][i] <= 0}
        out.append(here | met if here else here)
    return out


def _place_note(case: Case, rule: Rule, place: Places) -> Words:
    note = parts_note(case, place.frame)
    note = append(note, place.touch, "touches the buffer's outer edge, shares no ground with it")
    note = append(note, place.trial.met & ~place.within, BEYOND)
    near = nearest_of(case, place.frame, rule.features)
    note = append(note, np.ones(len(note), dtype=bool), source_words(case, near))
    return drawn_note(case, near, note)


# ---------------------------------------------------------------- the table of activities


@dataclass(frozen=True)
class JobReader:
    """The table of activities, held against one job and its facts."""

    table: dict[str, Activity]
    provisos: tuple[Proviso, ...]
    codes: list[str]
    fact: Fact

    def decide(self, code: str, where: frozenset[str]) -> Answer:
        """The strictest answer for one activity over the places of a footprint."""
        activity, out = self.table[code], Answer()
        for place in sorted(where):
            right = activity.sort == "of_right"
            answer = self.of_right(activity, place) if right else self.regulated(activity, place)
            out = out.or_stricter(answer)
        return out

    def regulated(self, activity: Activity, place: str) -> Answer:
        """A permit, unless a use of right takes the activity out of it."""
        hints = []
        for escape in activity.escapes:
            said = self.fact(escape.fact)
            if said is True:
                use = self.table[escape.use]
                saved = self.of_right(use, place)
                if saved.word != PERMIT:
                    why = f"{activity.code}: of right as {use.code}, {use.says}"
                    return Answer(saved.word, saved.needs, (why, *saved.why))
            elif said is None:
                hints.append(f"{escape.use} if {_plain(escape.fact)}")
        hint = f"{activity.code}: of right only as {' or '.join(hints)}"
        return Answer(PERMIT, why=(hint,) if hints else ())

    def of_right(self, use: Activity, place: str) -> Answer:
        """A use of right in one place: where it is allowed, its conditions, the provisos."""
        refused, open_ = self._conditions(use)
        if place not in (*use.of_right_in, *use.review_in):
            refused.append(f"not of right in a {place}")
        if place in use.review_in:
            said = self.fact(review_fact(use))
            refused += ["refused on review"] if said is False else []
            open_ += [review_fact(use)] if said is None else []
        defeated = {proviso for code in self.codes for proviso in self.table[code].defeats}
        for proviso in self.provisos:
            held = False if proviso.id in defeated else self.fact(proviso.fact)
            refused += [f"proviso {proviso.id} fails ({proviso.says})"] if held is False else []
            open_ += [proviso.fact] if held is None else []
        if refused:
            return Answer(PERMIT, why=(f"{use.code}: {', '.join(refused)}",))
        if open_:
            return Answer(CONDITIONAL, tuple(f"fact: {name}" for name in open_))
        return Answer(OF_RIGHT)

    def _conditions(self, use: Activity) -> tuple[list[str], list[str]]:
        """What refuses a use by its own conditions, and the facts that leave it open."""
        refused = [f"{code} in the same job" for code in use.not_with if code in self.codes]
        bad = (*use.blocked_by, *use.only_if_not)
        refused += [_plain(name) for name in bad if self.fact(name) is True]
        refused += ["not " + _plain(name) for name in use.only_if if self.fact(name) is False]
        asked = (*use.only_if, *use.only_if_not)
        return refused, [name for name in asked if self.fact(name) is None]

    def becomes(self, code: str, where: frozenset[str]) -> tuple[str, ...]:
        """What a use is where the law does not allow it; nothing, if only a proviso failed."""
        use = self.table[code]
        elsewhere = bool(where - {*use.of_right_in, *use.review_in})
        broken = any(self.fact(name) is True for name in (*use.blocked_by, *use.only_if_not))
        return use.becomes if elsewhere or broken else ()


def _decide(case: Case, place: Places) -> None:
    """Fill in the answers of every activity of every job, and the strictest."""
    activities = case.pack.model.activities
    table = {a.code: a for a in activities.codes}
    facts = _facts(case, place.frame)
    for i, job in enumerate(place.jobs):
        spare = [activities.unknown] if job.review and activities.unknown else []
        codes = list(dict.fromkeys((*job.codes, *spare)))
        reader = JobReader(table, activities.provisos, codes, partial(_look_up, facts, i))
        here, perhaps = place.known[i], place.possible[i]
        known = {code: reader.decide(code, here) for code in codes}
        for code in codes:
            if known[code].word == PERMIT and table[code].sort == "of_right":
                for other in reader.becomes(code, here):
                    known.setdefault(other, Answer(PERMIT, why=(f"follows from {code} here",)))
        place.answers.append(known)
        place.overall.append(_strictest(known, bool(here)))
        could = {code: reader.decide(code, perhaps) for code in codes}
        place.could.append(could)
        place.could_be.append(_strictest(could, bool(perhaps)))
        place.nearly.append({code: reader.decide(code, place.near[i]) for code in codes})


def _strictest(found: dict[str, Answer], inside: bool) -> Answer:
    if inside and not found:
        return Answer(PERMIT, why=("no activity is stated, so none is of right: have it reviewed",))
    return strictest(found)


def strictest(found: dict[str, Answer]) -> Answer:
    """The strictest answer of a job's activities."""
    out = Answer()
    for answer in found.values():
        out = out.or_stricter(answer)
    return out


def _facts(case: Case, frame: pd.DataFrame) -> dict[str, Words]:
    """Every fact that the table may ask for."""
    names: set[str] = {p.fact for p in case.pack.model.activities.provisos}
    for activity in case.pack.model.activities.codes:
        names |= {*activity.blocked_by, *activity.only_if, *activity.only_if_not}
        names |= {escape.fact for escape in activity.escapes}
        names |= {review_fact(activity)} if activity.review_in else set()
    return {name: case.fact(frame, name) for name in sorted(names)}


def _look_up(facts: dict[str, Words], row: int, name: str) -> bool | None:
    value: bool | None = facts[name][row]
    return value


def review_fact(activity: Activity) -> str:
    """The fact that a use was reviewed and allowed where the law leaves it open."""
    return f"review_{activity.code.lower()}"


def _plain(fact: str) -> str:
    return fact.replace("_", " ")
