"""What a job is, in the words of a law: codes, aliases, exemptions, groups of footprints.

The tables are data of the packs; here they are only read. No geometry library is imported.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import pandas as pd

from wetgis.packs import Pack
from wetgis.packs.model import Activities, Activity, Alias
from wetgis.trials import as_fact

__all__ = ["GROUP_ALL", "Job", "Vocabulary", "classify", "group_name", "groups"]

#: The group of every footprint of a project.
GROUP_ALL = "all"
#: Counted in the total of a law; and the same without work whose exemption hangs on its size.
COUNTED, COUNTED_LESS = "counted", "counted_less_sized"
COUNTING_KINDS = frozenset({"permit_tier", "disturbance_over", "exempt_by_size"})
#: "no", "without any", "no ... or": what follows is not part of the job. Phrases that were read
#: already stand as NULs.
NEGATION = re.compile(r"\b(?:no|not|without)\s+(?:(?:any|new|use of)\s+)?(?:\x00+\s+n?or\s+)*$")
BETWEEN_CODES = re.compile(r"[\s,/+&]+")


@dataclass(frozen=True)
class Job:
    """What one footprint is about, as one pack reads it.

    ``codes`` in the order of the table; ``unknown`` the phrases that the table does not have;
    ``dropped`` codes that a use of right in the same phrase takes away; ``review`` whether
    a part of it is in the table of no law in force.
    """

    text: str
    codes: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    review: bool = False


@dataclass(frozen=True)
class Vocabulary:
    """The activities of a pack, ready to read what people write."""

    table: Activities
    foreign: frozenset[str] = frozenset()  # codes of the other packs in force

    @cached_property
    def codes(self) -> dict[str, Activity]:
        """Activities by code."""
        return {activity.code: activity for activity in self.table.codes}

    @cached_property
    def phrases(self) -> list[tuple[re.Pattern[str], Alias]]:
        """Aliases as patterns, the longest words first."""
        pairs = [(word, alias) for alias in self.table.aliases for word in alias.words]
        pairs.sort(key=lambda pair: (-len(pair[0]), pair[0]))
        return [(_pattern(word), alias) for word, alias in pairs]

    def read(self, text: str, kind: str = "") -> Job:
        """The codes of a job.

        Parameters
        ----------
        text : str
            Codes or words; several parts by ``;``.
        kind : str
            The footprint's kind, which counts where the text has no code.

        Examples
        --------
        >>> from wetgis.packs import load_pack
        >>> words = Vocabulary(load_pack("rye-ny-195").model.activities)
        >>> words.read("dock repair").codes, words.read("planting; fertilizer").codes
        (('D3',), ('C12', 'D4'))
        """
        found: set[str] = set()
        unknown: list[str] = []
        dropped: set[str] = set()
        for part in filter(None, (p.strip() for p in re.split(r"[;\n]", text))):
            codes = self._as_codes(part)
            if codes is None:
                codes, lost = self._as_words(part)
                dropped |= lost
                if not codes:
                    unknown.append(part)
            found |= codes
        if not found:
            found = set(self.table.kinds.get(kind.strip().lower(), ()))
        order = [code for code in self.codes if code in found]
        return Job(text, tuple(order), tuple(unknown), tuple(sorted(dropped - found)))

    def _as_codes(self, part: str) -> set[str] | None:
        """The codes of a part that is made of codes only, ours or another pack's."""
        pieces = [p.upper() for p in BETWEEN_CODES.split(part) if p]
        mine = {code.upper(): code for code in self.codes}
        if all(p in mine or p in self.foreign for p in pieces):
            return {mine[p] for p in pieces if p in mine}
        return None

    def _as_words(self, part: str) -> tuple[set[str], set[str]]:
        text = re.sub(r"\s+", " ", part.lower())
        places: list[tuple[int, Alias]] = []
        for pattern, alias in self.phrases:
            for match in pattern.finditer(text):
                places.append((match.start(), alias))
                # a shorter alias must not be found inside this one
                text = text[: match.start()] + "\x00" * len(match[0]) + text[match.end() :]
        stated = [alias for start, alias in places if NEGATION.search(text[:start]) is None]
        found = {code for alias in stated for code in alias.codes}
        firm = {code for alias in stated if alias.firm for code in alias.codes}
        return self._without_escaped(found, firm)

    def _without_escaped(self, found: set[str], firm: set[str]) -> tuple[set[str], set[str]]:
        """Repair of a dock is a repair: the use of right takes the activity away."""
        lost = {
            code
            for code in found - firm
            if any(escape.use in found for escape in self.codes[code].escapes)
        }
        return found - lost, lost


def _pattern(word: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-]){re.escape(word.lower())}(?:s|es)?(?![\w-])")


def vocabularies(packs: Sequence[Pack]) -> dict[str, Vocabulary]:
    """A vocabulary a pack, each knowing the codes of the others."""
    codes = {p.id: {a.code.upper() for a in p.model.activities.codes} for p in packs}
    return {
        pack.id: Vocabulary(
            pack.model.activities,
            frozenset().union(*(c for key, c in codes.items() if key != pack.id)),
        )
        for pack in packs
    }


def jobs(footprints: pd.DataFrame, pack: Pack, packs: Sequence[Pack]) -> list[Job]:
    """The job of each footprint as one pack reads it; ``packs`` are all that are in force."""
    known = vocabularies([*packs, *([] if any(p.id == pack.id for p in packs) else [pack])])
    mine = known.pop(pack.id)
    pairs = list(zip(_texts(footprints, "activity"), _texts(footprints, "kind"), strict=True))
    found = {pair: _reviewed(mine.read(*pair), known.values()) for pair in dict.fromkeys(pairs)}
    return [found[pair] for pair in pairs]


def _reviewed(job: Job, others: Iterable[Vocabulary]) -> Job:
    """A phrase that another law in force knows is not strange, unless nothing else was read."""
    strange = [part for part in job.unknown if not any(v.read(part).codes for v in others)]
    return replace(job, review=bool(strange) or (bool(job.unknown) and not job.codes))


def _texts(frame: pd.DataFrame, column: str) -> list[str]:
    if column not in frame.columns:
        return [""] * len(frame)
    values = frame[column].astype(object)
    return [str(v) if v is not None and v == v and v is not pd.NA else "" for v in values]


def classify(
    footprints: pd.DataFrame, packs: Sequence[Pack], facts: Mapping[str, Any] | None = None
) -> pd.DataFrame:
    """The activities of each footprint.

    Parameters
    ----------
    footprints : DataFrame
        ``id`` or ``subject_id``, ``record``, ``activity`` (codes or words, several by ``;``),
        ``kind``.
    packs : sequence of Pack
    facts : mapping, optional
        Not used for the codes themselves; accepted so that calls look alike.

    Returns
    -------
    DataFrame
        ``footprint_id``, ``record``, ``pack``, ``code``, ``says``, ``words`` (of the job) and
        ``known``: False where the table has no entry for the words, and the pack's code for
        unknown work stands in.
    """
    ids, records = _ids(footprints), _records(footprints)
    out: list[tuple[str, int, str, str, str, str, bool]] = []
    for pack in packs:
        table = {a.code: a.says for a in pack.model.activities.codes}
        spare = pack.model.activities.unknown
        for key, record, job in zip(ids, records, jobs(footprints, pack, packs), strict=True):
            for code in job.codes:
                out.append((key, record, pack.id, code, table[code], job.text, True))
            if spare and spare not in job.codes and job.review:
                out.append((key, record, pack.id, spare, table[spare], job.text, False))
    columns = ["footprint_id", "record", "pack", "code", "says", "words", "known"]
    return pd.DataFrame(out, columns=columns)


def group_name(pack: Pack, part: str) -> str:
    """The name of a group of a pack's footprints."""
    return f"{pack.id}:{part}"


def groups(
    footprints: pd.DataFrame, packs: Sequence[Pack], facts: Mapping[str, Any] | None = None
) -> pd.DataFrame:
    """Groups of footprints whose areas the law adds up, each square foot once.

    Parameters
    ----------
    footprints : DataFrame
        As ``classify`` takes them, facts as further columns.
    packs : sequence of Pack
    facts : mapping, optional
        The site's ``[facts]``; a column of the same name wins.

    Returns
    -------
    DataFrame
        ``footprint_id``, ``record``, ``group``; a footprint may be in several groups: ``all``,
        and for each pack that totals disturbance ``<pack>:counted``,
        ``<pack>:counted_less_sized`` (without work whose exemption hangs on its size) and
        ``<pack>:<code>`` for each exemption.
    """
    ids, records = _ids(footprints), _records(footprints)
    out = [(key, record, GROUP_ALL) for key, record in zip(ids, records, strict=True)]
    for pack in packs:
        if not any(rule.kind in COUNTING_KINDS for rule in pack.rules):
            continue
        sized = {r.activity for r in pack.rules if r.kind == "exempt_by_size"}
        table = {a.code: a for a in pack.model.activities.codes}
        for i, job in enumerate(jobs(footprints, pack, packs)):
            names = _groups_of(job, table, sized, partial(_row_fact, footprints, i, facts or {}))
            out.extend((ids[i], records[i], group_name(pack, name)) for name in names)
    return pd.DataFrame(out, columns=["footprint_id", "record", "group"])


def _groups_of(
    job: Job, table: Mapping[str, Activity], sized: set[str | None], fact: Any
) -> Iterable[str]:
    exempt = [code for code in job.codes if table[code].sort == "exempt"]
    yield from exempt
    free = [code for code in exempt if not table[code].counts_in_total]
    free = [code for code in free if all(fact(name) is True for name in table[code].only_if)]
    pure = bool(job.codes) and not job.unknown
    # work that is exempt for another reason than its size never counts
    if pure and set(job.codes) <= set(free) - sized:
        return
    yield COUNTED
    if not (pure and set(job.codes) <= set(free)):
        yield COUNTED_LESS


def _row_fact(
    footprints: pd.DataFrame, row: int, facts: Mapping[str, Any], name: str
) -> bool | None:
    own = as_fact(footprints[name].iloc[row]) if name in footprints.columns else None
    return as_fact(facts.get(name)) if own is None else own


def _ids(frame: pd.DataFrame) -> list[str]:
    column = "subject_id" if "subject_id" in frame.columns else "id"
    return [str(v) for v in frame[column]]


def _records(frame: pd.DataFrame) -> list[int]:
    return [int(v) for v in frame["record"]] if "record" in frame.columns else [1] * len(frame)
