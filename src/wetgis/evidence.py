"""What the geometry half hands to the law half: tables, no geometry.

This module imports neither a geometry library nor a law.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import datetime

    import pandas as pd

__all__ = ["CONTACT_EXTRA_COLUMNS", "EXTRA_COLUMNS", "MEMBER_COLUMNS", "Evidence", "LayerFacts"]

#: Columns of ``Evidence.contacts`` beyond the contract's.
CONTACT_EXTRA_COLUMNS = (
    "sliver",  # bool: every piece of the overlap is narrower than 0.05 ft
    "boundary_ft",  # feature boundary inside the subject, ft
    "whole_boundary_ft",  # boundary of the whole (dissolved) feature, ft
    "accuracy_ft",  # of the feature's source, NaN where it is not stated
    "regulator",
    "flow",
    "measured_from",
    "piped",
    "source_date",
    "truncated",  # bool: the feature touches the edge of its layer's data
)
#: project_id, footprint_id, parcel_id ("" where the footprint lies on none), area_sqft on it.
MEMBER_COLUMNS = ("project_id", "footprint_id", "parcel_id", "area_sqft")
#: Further measures that rules ask for, long form.
EXTRA_COLUMNS = (
    "subject_kind",
    "subject_id",
    "record",
    "name",
    "feature_kind",
    "feature_id",
    "value",
    "unit",
    "boundary_ft",
    "unknown",
)


@dataclass(frozen=True)
class LayerFacts:
    """What is known about one layer as a whole."""

    given: bool = False
    features: int = 0
    accuracy_ft: float = float("nan")
    basis: str = ""
    source: str = ""
    source_date: str = ""
    ballpark: bool = False


@dataclass(frozen=True)
class Evidence:
    """Everything that a finding may lean on.

    Parameters
    ----------
    subjects : DataFrame
        The measures of every subject, with all canonical attributes and facts of a footprint or
        parcel as further columns, and ``boundary_wetland_ft``, ``boundary_watercourse_ft``,
        ``boundary_buffer_ft``, ``boundary_floodplain_ft`` (the length of that boundary inside the
        subject), ``sliver`` (bool), ``geometry_dim`` (0, 1, 2; -1 unusable), ``combined_factor``,
        ``unmapped_reach`` (bool: ground beyond the ``extent`` of a W or WC layer lies under the
        subject or within the largest legal distance of it). Where they are there,
        ``unmapped_reach_wetlands`` and ``unmapped_reach_watercourses`` tell the layers apart, and
        ``footprints_unusable`` is how many footprints of a project have no usable geometry, and
        ``slope_eps_pct`` is what counts as equal for the slopes of this subject's surface.
    contacts : DataFrame
        The contract's columns and ``CONTACT_EXTRA_COLUMNS``.
    members : DataFrame
        ``MEMBER_COLUMNS``.
    extras : DataFrame
        ``EXTRA_COLUMNS``.
    layers : dict
        ``LayerFacts`` by kind; a kind that is not in it was not given.
    """

    subjects: pd.DataFrame
    contacts: pd.DataFrame
    members: pd.DataFrame
    extras: pd.DataFrame
    layers: dict[str, LayerFacts]
    as_of: datetime.date
    facts: dict[str, Any] = field(default_factory=dict)
    buffer_ft: float = float("nan")

    def given(self, kind: str) -> bool:
        """Whether a layer of this kind was given."""
        return kind in self.layers and self.layers[kind].given
