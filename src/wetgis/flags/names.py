"""Names of field flags, taken apart."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["DASHES", "FlagName", "parse_flag"]

#: Word in a name -> the mark that it stands for.
_MARKS = {
    "END": "end",
    "ENDS": "end",
    "STOP": "end",
    "START": "start",
    "BEGIN": "start",
    "TIE": "tie",
    "TIES": "tie",
    "TIED": "tie",
    "STREAM": "stream",
    "STR": "stream",
    "BROOK": "stream",
}
_MARK = re.compile(rf"(?<![A-Z])({'|'.join(sorted(_MARKS, key=len, reverse=True))})(?![A-Z])")
_CORE = re.compile(r"^(?P<series>.*?)[\s_\-#.:]*(?P<n>\d+(?:\.\d+)?)\s*-?(?P<suffix>[A-Z]?)$")
_NOISE = re.compile(r"^(?:WETLAND\s+)?FLAG\s+|^(?:TO|INTO|IN|WITH|AT|@)\s+")
DASHES = str.maketrans({"\u2010": "-", "\u2011": "-", "\u2012": "-", "\u2013": "-", "\u2014": "-"})


@dataclass(frozen=True)
class FlagName:
    """A name taken apart.

    ``kind`` is ``flag``, ``stream`` or ``tie`` (a point of such a line), ``mark`` (a row that
    only breaks a series) or ``unread``. ``mark`` is ``end``, ``start``, ``tie``, ``stream``
    or empty. ``n`` is None where the name has no number.
    """

    series: str
    n: float | None
    suffix: str = ""
    kind: str = "flag"
    mark: str = ""
    ties_to: str = ""

    @property
    def number(self) -> str:
        """The number as it is written, suffix and all."""
        return "" if self.n is None else f"{self.n:g}{self.suffix}"


def parse_flag(name: str) -> FlagName:
    """Take a flag's name apart.

    Parameters
    ----------
    name : str
        As written in the field; case, dashes and blanks do not matter.

    Returns
    -------
    FlagName
        Never an error: a name that cannot be read has ``kind = "unread"``. A number and a
        letter without a series (``1A``) stays number 1, suffix A; what it means is decided
        with the other names of the file (`flag_table`).

    Examples
    --------
    >>> parse_flag("A-12")
    FlagName(series='A', n=12.0, suffix='', kind='flag', mark='', ties_to='')
    >>> parse_flag("a27 tie to B-3").ties_to
    'B-3'
    >>> parse_flag("STREAM-4").kind, parse_flag("END").kind
    ('stream', 'mark')
    """
    text = " ".join(name.translate(DASHES).upper().split())
    found = _MARK.search(text)
    if found is None:
        return _core(text)
    mark = _MARKS[found.group(1)]
    head = text[: found.start()].strip(" -_/,;()")
    tail = text[found.end() :].strip(" -_/,;()")
    if head:
        flag = _core(head)
        return FlagName(
            flag.series,
            flag.n,
            flag.suffix,
            flag.kind,
            mark,
            _target(tail) if mark == "tie" else "",
        )
    return _marked_first(mark, tail)


def _core(text: str) -> FlagName:
    """Series, number and suffix of a name without a mark."""
    text = _NOISE.sub("", text)
    found = _CORE.match(text)
    if found is None:
        kind = "flag" if re.fullmatch(r"[A-Z][A-Z0-9 _\-]*", text) else "unread"
        return FlagName(text.strip(" -_#.:"), None, kind=kind)
    return FlagName(found["series"].strip(" -_#.:"), float(found["n"]), found["suffix"])


def _target(text: str) -> str:
    """The flag to which a tie goes, as series-number; empty where none is named."""
    if not text:
        return ""
    flag = _core(text)
    if flag.n is None:
        return flag.series
    return f"{flag.series}-{flag.number}" if flag.series else flag.number


def _marked_first(mark: str, tail: str) -> FlagName:
    """A name that begins with a mark: a row that breaks, or a point of a line of its own."""
    if not tail:
        return FlagName("", None, kind="mark", mark=mark)
    if mark == "tie" and _NOISE.match(tail):
        return FlagName("", None, kind="mark", mark=mark, ties_to=_target(tail))
    flag = _core(tail)
    if mark in {"end", "start"}:
        return FlagName(flag.series, flag.n, flag.suffix, mark=mark)
    series = f"{mark.upper()} {flag.series}".strip()
    return FlagName(series, flag.n, flag.suffix, kind=mark)
