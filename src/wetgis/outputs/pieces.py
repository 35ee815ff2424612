"""A finished run in pieces: what every writer reads, so that memory follows a piece, not a county.

A table is never held whole here. A screening in memory is cut into pieces by positions; a run that
lies on disk hands out its own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    import geopandas as gpd
    from pyproj import CRS

    from wetgis.packs import Pack
    from wetgis.screening import Screening

__all__ = ["SORTED_BY", "SUBJECT", "Finished", "finished", "in_order", "issues_in_order", "sized"]

SUBJECT = ["subject_kind", "subject_id", "record"]
#: What the rows of each table are sorted by.
SORTED_BY = {
    "measures": SUBJECT,
    "findings": [*SUBJECT, "pack", "rule", "feature_kind", "feature_id"],
    "contacts": [*SUBJECT, "feature_kind", "feature_id", "distance_ft"],
    "parts": [*SUBJECT, "place"],
}
#: Subjects of a piece: some ten megabytes of every table.
SUBJECTS_OF_A_PIECE = 8_000
_SEVERITY_RANK = {"error": "0", "warning": "1", "note": "2"}

Frame = TypeVar("Frame", bound=pd.DataFrame)


@dataclass(frozen=True)
class Finished:
    """A finished run as the writers read it: tables in pieces, in the order they are stored in.

    Attributes
    ----------
    read : callable
        ``read(name)`` gives the pieces of ``measures``, ``findings``, ``contacts`` or ``parts``,
        as often as it is called. Pieces follow ``SORTED_BY``, hold whole subjects, and all have
        the same columns and dtypes; an empty table is one empty piece.
    counts : mapping of str to int
        Rows of each of the four tables.
    crs : CRS or None
        Of every geometry.
    checklist, issues : DataFrame
        Whole; they are short.
    provenance : dict
        What ``run.json`` holds.
    layers : mapping of str to callable
        Wetlands, buffer and other features for maps, each in pieces of its own.
    packs : tuple of Pack
    title : str
    """

    read: Callable[[str], Iterator[pd.DataFrame]]
    counts: Mapping[str, int]
    crs: CRS | None
    checklist: pd.DataFrame
    issues: pd.DataFrame
    provenance: dict[str, Any]
    layers: Mapping[str, Callable[[], Iterator[gpd.GeoDataFrame]]]
    packs: tuple[Pack, ...]
    title: str

    @classmethod
    def of(cls, screening: Screening, subjects: int = SUBJECTS_OF_A_PIECE) -> Finished:
        """A screening in memory, its tables put in order and cut after so many subjects."""
        tables = {name: getattr(screening, name) for name in SORTED_BY}
        cuts: dict[str, _Cut] = {}
        ordering = threading.Lock()  # writers side by side: a table is put in order once

        def read(name: str) -> Iterator[pd.DataFrame]:
            with ordering:
                if name not in cuts:
                    cuts[name] = _Cut.of(name, tables[name], subjects)
            return cuts[name].pieces()

        return cls(
            read,
            {name: len(frame) for name, frame in tables.items()},
            screening.measures.crs,
            screening.checklist,
            screening.issues,
            screening.provenance,
            {
                name: partial(_slices, frame, subjects)
                for name, frame in screening.layers.items()
            },
            tuple(screening.packs),
            screening.title,
        )  # fmt: skip


def finished(run: Screening | Finished) -> Finished:
    """A run as the writers read it, whether it lies in memory or in pieces."""
    return run if isinstance(run, Finished) else Finished.of(run)


@dataclass(frozen=True)
class _Cut:
    """A table in memory with the order of its rows, and where a piece of it ends."""

    frame: pd.DataFrame
    order: np.ndarray[Any, np.dtype[np.intp]]
    ends: np.ndarray[Any, np.dtype[np.intp]]

    @classmethod
    def of(cls, name: str, frame: pd.DataFrame, subjects: int) -> _Cut:
        order = _order(name, frame)
        keys = pd.DataFrame(frame[SUBJECT]).iloc[order].reset_index(drop=True)
        begins = np.flatnonzero((keys != keys.shift()).any(axis=1).to_numpy())
        return cls(frame, order, np.append(begins[::subjects], len(frame)))

    def pieces(self) -> Iterator[pd.DataFrame]:
        if len(self.ends) == 1:
            yield self.frame.reset_index(drop=True)
        for begin, end in pairwise(self.ends.tolist()):
            yield self.frame.iloc[self.order[begin:end]].reset_index(drop=True)


def _slices(frame: Frame, rows: int) -> Iterator[Frame]:
    for begin in range(0, max(len(frame), 1), rows):
        yield frame.iloc[begin : begin + rows]


def sized(pieces: Iterable[Frame], rows: int) -> Iterator[Frame]:
    """The rows of pieces in frames of so many rows; the last has what is left.

    Examples
    --------
    >>> pieces = [pd.DataFrame({"n": [1, 2, 3]}), pd.DataFrame({"n": [4, 5]})]
    >>> [frame["n"].tolist() for frame in sized(pieces, 2)]
    [[1, 2], [3, 4], [5]]
    """
    held: list[Frame] = []
    count, given = 0, False
    for piece in pieces:
        held.append(piece)
        count += len(piece)
        while count >= rows and count:
            whole = _joined(held)
            yield whole.iloc[:rows].reset_index(drop=True)
            given = True
            held, count = [whole.iloc[rows:]], count - rows
    if count or not given:
        yield _joined(held).reset_index(drop=True)


def _joined(frames: list[Frame]) -> Frame:
    there = [frame for frame in frames if len(frame)] or frames[:1]
    joined: Any = there[0] if len(there) == 1 else pd.concat(there, ignore_index=True)
    return joined  # type: ignore[no-any-return]


def in_order(name: str, frame: Frame) -> Frame:
    """A table, or a piece of one, sorted as it is stored, whatever the order it came in."""
    ordered: Any = frame.iloc[_order(name, frame)].reset_index(drop=True)
    return ordered  # type: ignore[no-any-return]


def _order(name: str, frame: pd.DataFrame) -> np.ndarray[Any, np.dtype[np.intp]]:
    """The positions of a table's rows as they are stored."""
    by = [column for column in SORTED_BY[name] if column in frame]
    keys = pd.DataFrame(frame[by]).reset_index(drop=True)
    return keys.sort_values(by, kind="stable").index.to_numpy()


def issues_in_order(issues: pd.DataFrame) -> pd.DataFrame:
    """Issues by severity, the worst first, then by every other column."""
    rank = issues["severity"].map(_SEVERITY_RANK).fillna("3")
    by = ["_rank", *(c for c in issues.columns if c != "severity")]
    ordered = issues.assign(_rank=rank).sort_values(by, kind="stable")
    return ordered.drop(columns="_rank").reset_index(drop=True)
