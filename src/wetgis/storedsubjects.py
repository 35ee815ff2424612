"""The subjects of a site whose parcels stay on disk."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from wetgis.scene import Subjects

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wetgis.heldlayers import SiteLayer

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]

__all__ = ["KEYS", "StoredSubjects", "keys_of"]

KEYS = ["subject_kind", "subject_id", "record"]


@dataclass(frozen=True)
class StoredSubjects:
    """Parcels on disk, then the ``rest`` (footprints and projects) in memory.

    ``like``: the table of all subjects without a row, with its columns and their types.
    """

    parcels: SiteLayer
    rest: Subjects
    like: pd.DataFrame

    def __len__(self) -> int:
        return len(self.parcels.boxes) + len(self.rest)

    @cached_property
    def bounds(self) -> Floats:
        """Boxes, NaN where there is no geometry."""
        if not len(self.rest):
            return self.parcels.boxes
        return np.concatenate([self.parcels.boxes, self.rest.bounds])

    def take(self, index: Ints | Bools) -> Subjects:
        """Some of them, in memory."""
        index = np.arange(len(self))[index]
        count = len(self.parcels.boxes)
        order = np.argsort(index >= count, kind="stable")
        rows = index[order][index[order] < count]
        others = index[order][index[order] >= count] - count
        found = Subjects.of(self.parcels.part(rows)) + self.rest.take(others)
        back = np.empty(len(index), np.int64)
        back[order] = np.arange(len(index))
        table = found.table.reindex(columns=self.like.columns).iloc[back].reset_index(drop=True)
        return Subjects(found.geometries[back], table.astype(dict(self.like.dtypes)))


def keys_of(subjects: Subjects | StoredSubjects) -> pd.DataFrame:
    """Kind, id and record of every subject."""
    if isinstance(subjects, Subjects):
        return subjects.table[KEYS].reset_index(drop=True)
    rows = subjects.parcels.rows  # type: ignore[attr-defined]
    parcels = pd.DataFrame(
        {"subject_kind": "parcel", "subject_id": rows.column("id"), "record": rows.column("record")}
    )
    rest = subjects.rest.table
    return pd.concat([parcels, rest[KEYS]], ignore_index=True) if len(rest) else parcels
