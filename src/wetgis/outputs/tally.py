"""What a run comes to: sums and counts, added up over the pieces of its tables.

Words, tiles, the first sheet of the workbook and the heads of files all take them from here. No
sum depends on where a piece ends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import shapely

from wetgis.outputs.pieces import SUBJECT
from wetgis.outputs.words import needed

if TYPE_CHECKING:
    from wetgis.outputs.pieces import Finished

__all__ = ["AREAS", "Findings", "Rule", "Shapes", "Subjects", "Tally"]

#: The areas that a summary adds up over all subjects.
AREAS = ("wetland_sqft", "watercourse_sqft", "buffer_sqft")
#: Areas are added as whole numbers of this part of a square foot, so that their sum is the same
#: whatever the order.
_PARTS_OF_A_SQFT = 2**20
_RULE = ["pack", "rule"]
_SAYS = ["says", "cite", "cite_status", "severity"]


@dataclass
class Shapes:
    """What the geometries of a table are.

    Attributes
    ----------
    types : set of str
        Of all that are there, as GeoParquet calls them.
    dimensions : set of int
        Of those that are not empty.
    bounds : tuple of float or None
        West, south, east, north of those that are not empty.
    vertices : int
    """

    types: set[str] = field(default_factory=set)
    dimensions: set[int] = field(default_factory=set)
    bounds: tuple[float, float, float, float] | None = None
    vertices: int = 0

    def add(self, geoms: Any) -> None:
        """Add an array of geometries; None and empty ones may be among them."""
        known = geoms[~shapely.is_missing(geoms)]
        one_each = np.unique(shapely.get_type_id(known), return_index=True)[1]
        self.types |= {geom.geom_type for geom in known[one_each]}
        filled = known[~shapely.is_empty(known)]
        if len(filled) == 0:
            return
        self.vertices += int(shapely.get_num_coordinates(filled).sum())
        self.dimensions |= set(np.unique(shapely.get_dimensions(filled)).tolist())
        self._reach(shapely.total_bounds(filled))

    def also(self, other: Shapes) -> None:
        """Add what others are."""
        self.types |= other.types
        self.dimensions |= other.dimensions
        self.vertices += other.vertices
        if other.bounds is not None:
            self._reach(np.array(other.bounds))

    def _reach(self, bounds: Any) -> None:
        if self.bounds is not None:
            low = np.fmin(self.bounds[:2], bounds[:2])
            bounds = np.concatenate([low, np.fmax(self.bounds[2:], bounds[2:])])
        west, south, east, north = bounds.tolist()
        self.bounds = (west, south, east, north)


@dataclass
class Subjects:
    """The measures of a run, added up.

    Attributes
    ----------
    columns : tuple of str
        Of the table.
    count : Counter
        Subjects by kind and status.
    shapes : dict of Shapes
        By kind and status.
    """

    columns: tuple[str, ...] = ()
    count: Counter[tuple[str, str]] = field(default_factory=Counter)
    shapes: dict[tuple[str, str], Shapes] = field(default_factory=dict)
    _areas: Counter[tuple[str, str]] = field(default_factory=Counter)
    _known: set[tuple[str, str]] = field(default_factory=set)

    @classmethod
    def of(cls, pieces: Iterable[pd.DataFrame], *, shapes: bool = False) -> Subjects:
        """Add up pieces of ``measures``; their shapes only where they are asked for."""
        made = cls()
        for piece in pieces:
            made.columns = tuple(str(c) for c in piece.columns)
            made._add(piece, shapes=shapes)
        return made

    def _add(self, piece: pd.DataFrame, *, shapes: bool) -> None:
        for (kind, status), rows in piece.groupby(["subject_kind", "status"], sort=False):
            self.count[str(kind), str(status)] += len(rows)
            if shapes:
                there = self.shapes.setdefault((str(kind), str(status)), Shapes())
                there.add(rows["geometry"].to_numpy())
        for kind, rows in piece.groupby("subject_kind", sort=False):
            for name in AREAS:
                values = rows[name].to_numpy(dtype="float64", na_value=np.nan)
                values = values[np.isfinite(values)]
                if len(values):
                    parts = np.rint(values * _PARTS_OF_A_SQFT).astype(np.int64)
                    self._areas[str(kind), name] += int(parts.sum())
                    self._known.add((str(kind), name))

    def of_kind(self, kind: str) -> Counter[str]:
        """Subjects of a kind by status."""
        found: Counter[str] = Counter()
        for (one, status), n in self.count.items():
            if one == kind:
                found[status] += n
        return found

    def of_status(self, status: str) -> int:
        """Subjects of every kind that have a status."""
        return sum(n for (_, one), n in self.count.items() if one == status)

    def area_sqft(self, kind: str, name: str) -> float | None:
        """The sum of a column of ``AREAS`` over what is known of it; None where nothing is."""
        if (kind, name) not in self._known:
            return None
        return self._areas[kind, name] / _PARTS_OF_A_SQFT

    def all_shapes(self, kind: str = "", *, but: str = "") -> Shapes:
        """What the geometries of all subjects are, of one kind, or but those of one status."""
        made = Shapes()
        for (one, status), shapes in self.shapes.items():
            if kind in ("", one) and status != but:
                made.also(shapes)
        return made


@dataclass
class Rule:
    """What one rule came to; ``met``, ``undetermined`` and ``doubtful`` count subjects."""

    says: str
    cite: str
    cite_status: str
    severity: str
    met: int = 0
    undetermined: int = 0
    doubtful: int = 0
    answers: set[str] = field(default_factory=set)  # of those that are met
    needs: set[str] = field(default_factory=set)


@dataclass
class Findings:
    """The findings of a run, added up: ``rules`` by pack and rule, rows by ``outcome``."""

    rules: dict[tuple[str, str], Rule] = field(default_factory=dict)
    outcome: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, pieces: Iterable[pd.DataFrame]) -> Findings:
        """Add up pieces of ``findings``, each of which holds whole subjects."""
        made = cls()
        for piece in pieces:
            if len(piece):
                made._add(piece)
        return made

    def _add(self, piece: pd.DataFrame) -> None:
        for outcome, n in piece["outcome"].value_counts().items():
            self.outcome[str(outcome)] += int(n)
        for row in piece[[*_RULE, *_SAYS]].drop_duplicates(_RULE).itertuples(index=False):
            pack, rule, says, cite, cite_status, severity = map(str, row)
            self.rules.setdefault((pack, rule), Rule(says, cite, cite_status, severity))
        met = piece[piece["outcome"] == "met"]
        unsure = piece[piece["outcome"] == "undetermined"]
        for one, n in _subjects_of_rules(met):
            self.rules[one].met += n
        for one, n in _subjects_of_rules(unsure):
            self.rules[one].undetermined += n
        for one, n in _subjects_of_rules(piece[piece["doubt"].fillna("") != ""]):
            self.rules[one].doubtful += n
        for pack, rule, answer in _different(met, "answer"):
            self.rules[pack, rule].answers.add(answer)
        for pack, rule, needs in _different(unsure, "needs"):
            self.rules[pack, rule].needs.update(needed(needs))

    def rows(self, *, not_met: bool) -> int:
        """Rows as people get them, with those ``not_met`` or without."""
        return self.outcome.total() - (0 if not_met else self.outcome["not_met"])


def _subjects_of_rules(rows: pd.DataFrame) -> Iterator[tuple[tuple[str, str], int]]:
    once = rows[[*_RULE, *SUBJECT]].drop_duplicates()
    counts: Counter[tuple[str, str]] = Counter(zip(once["pack"], once["rule"], strict=True))
    yield from counts.items()


def _different(rows: pd.DataFrame, column: str) -> Iterator[tuple[Any, Any, Any]]:
    yield from rows[[*_RULE, column]].drop_duplicates().itertuples(index=False)


@dataclass(frozen=True)
class Tally:
    """What a run comes to: its subjects, findings, and the shapes of its other tables."""

    subjects: Subjects
    findings: Findings
    contacts: Shapes
    parts: Shapes
    layers: dict[str, Shapes]

    @classmethod
    def of(cls, run: Finished) -> Tally:
        """Read every table and layer of a run once."""
        return cls(
            Subjects.of(run.read("measures"), shapes=True),
            Findings.of(run.read("findings")),
            _shapes(run.read("contacts")),
            _shapes(run.read("parts")),
            {name: _shapes(read()) for name, read in run.layers.items()},
        )


def _shapes(pieces: Iterable[pd.DataFrame]) -> Shapes:
    made = Shapes()
    for piece in pieces:
        made.add(piece["geometry"].to_numpy())
    return made
