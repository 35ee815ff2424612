"""The shape of a law pack: one TOML file a chapter, every key closed.

A pack holds every legal number, its citation and a paraphrase. Rules name a *kind*, one of a
closed list that the law half implements as small functions; there is no expression language.
"""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from wetgis.schema import SUBJECT_KINDS
from wetgis.units import SQFT_PER_ACRE

__all__ = [
    "BASE_UNITS",
    "KINDS",
    "ROLE_UNITS",
    "Activities",
    "Activity",
    "Alias",
    "ChecklistEntry",
    "Drawing",
    "Escape",
    "Measure",
    "PackModel",
    "Parameter",
    "Period",
    "Proviso",
    "Rule",
]

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Unit = Literal["sqft", "acre", "ft", "pct", "h_per_v", "count", "days", "usd", "ratio"]
Comparison = Literal["gt", "ge", "lt", "le"]
CiteStatus = Literal["exact", "inferred", "cited_only", "override"]
Place = Literal["wetland", "watercourse", "buffer"]
Severity = Literal["prohibit", "permit", "avoid", "require", "show", "exempt", "inform"]
Answer = Literal[
    "permit_required", "as_of_right", "as_of_right_conditional", "prohibited", "may_be_subject",
    "no_indicator_found", "exempt", "not_exempt", "must_be_shown", "need_not_be_shown",
    "required", "not_required", "pass", "fail", "flag", "no_flag", "tier_minor", "tier_major",
    "below_tiers", "cannot_tell",
]  # fmt: skip

#: Unit of a parameter in the law -> unit of the finding.
BASE_UNITS = {"acre": "sqft", "h_per_v": "pct"}

#: Every kind of rule: the roles that its parameters play (all of them must be filled).
KINDS: dict[str, tuple[str, ...]] = {
    # nearness
    "within_reach": ("reach",),  # some of the subject lies within the reach of a feature
    "features_near": ("reach",),  # a row for each feature within the reach
    "features_near_by_size": ("reach", "size"),  # and only features beyond a size count
    "whole_size": ("reach", "size"),  # the size of each whole feature near the subject
    "tidal_class": ("reach",),  # by the class of each feature
    "boundary_basis": ("reach",),  # how the boundary of each feature was found
    "counted_regulator": ("reach",),  # who regulates each wetland
    "watercourse_kept": ("reach",),  # each watercourse near the subject, and how it is drawn
    "screening_order": ("reach",),
    "stockpile_distance": ("reach",),
    # ground
    "hydric_ground": (),
    "floodplain_ground": (),
    "steep_ground": ("slope",),
    "proposed_slope": ("slope",),
    "channel_overlap": (),
    "strip_beyond_toe": ("width",),
    # activities and places
    "permit_within": ("reach",),
    "regulated_activity": ("reach",),
    "use_of_right": ("reach",),
    "provisos": ("reach",),
    "map_caveat": (),
    "attach_determination": (),
    "unmapped_finding": ("reach", "votes"),
    # projects
    "parcels_as_unit": (),
    "common_plan": (),
    "total_disturbance": (),
    "disturbance_over": ("size",),
    "permit_tier": ("size",),
    "exempt_activity": (),
    "exempt_by_location": ("place",),
    "exempt_by_size": ("size",),
    "exempt_duty": (),
    "deemed_permit": (),
    "parcels_prepared": (),
    "study_area": ("reach",),
    # several packs
    "stricter_rule": (),
}

#: What a role is measured in.
ROLE_UNITS = {
    "reach": ("ft",),
    "width": ("ft",),
    "size": ("sqft",),
    "slope": ("pct",),
    "votes": ("count",),
    "place": ("count",),
}


class Closed(BaseModel):
    """A table whose keys are closed: an unknown one is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class Period(Closed):
    """A value that holds from one day to another, both included."""

    start: datetime.date | None = Field(default=None, alias="from")
    end: datetime.date | None = Field(default=None, alias="to")
    value: Decimal


class Parameter(Closed):
    """One number of the law, or the statement why the source does not give it."""

    unit: Unit
    cite: Text
    cite_status: CiteStatus
    says: Text
    comparison: Comparison | None = None
    value: Decimal | None = None
    effective: tuple[Period, ...] = ()
    missing: Text | None = None
    section: Text | None = None  # short name of the section, as it stands in `needs`

    def value_on(self, day: datetime.date) -> Decimal | None:
        """The value in force on a day, in the law's own unit; None where there is none."""
        for period in self.effective:
            after = period.start is None or period.start <= day
            if after and (period.end is None or day <= period.end):
                return period.value
        return self.value

    @property
    def base_unit(self) -> str:
        """The unit in which a finding gives it."""
        return BASE_UNITS.get(self.unit, self.unit)

    def in_base(self, value: Decimal) -> float:
        """A value of this parameter in the unit of the findings."""
        if self.unit == "acre":
            return float(value * Decimal(SQFT_PER_ACRE))
        if self.unit == "h_per_v":
            return float(Decimal(100) / value)
        return float(value)


class Answers(Closed):
    """What each outcome is called."""

    met: Answer
    not_met: Answer
    undetermined: Answer = "cannot_tell"


class Rule(Closed):
    """One condition of the law."""

    id: Text
    title: Text
    kind: Text
    subjects: tuple[Literal[SUBJECT_KINDS], ...] = Field(min_length=1)  # type: ignore[valid-type]
    features: tuple[Text, ...] = ()
    parameters: dict[str, str] = Field(default_factory=dict)
    activity: Text | None = None  # the code of the activities' table that it is about
    activities: tuple[Text, ...] = ()
    facts: tuple[Text, ...] = ()
    regulators: tuple[Text, ...] = ()
    severity: Severity
    answers: Answers
    cite: Text
    cite_status: CiteStatus
    says: Text
    caveat: Text | None = None


class Escape(Closed):
    """A use of right that takes an activity out of the permit, where a fact is so."""

    use: Text
    fact: Text


class Activity(Closed):
    """One activity of the law: what it is, where, and what saves or defeats it."""

    code: Text
    says: Text
    sort: Literal["regulated", "of_right", "exempt"]
    of_right_in: tuple[Place, ...] = ()
    review_in: tuple[Place, ...] = ()
    escapes: tuple[Escape, ...] = ()
    defeats: tuple[Text, ...] = ()  # provisos that this activity breaks
    blocked_by: tuple[Text, ...] = ()  # facts that, where true, end the use of right
    only_if: tuple[Text, ...] = ()  # facts that must be known to be true
    only_if_not: tuple[Text, ...] = ()  # facts that must be known to be false
    not_with: tuple[Text, ...] = ()  # codes that may not be in the same job
    becomes: tuple[Text, ...] = ()  # what it is where it is not of right
    counts_in_total: bool = True
    group: Text | None = None


class Proviso(Closed):
    """A condition of every use of right."""

    id: Text
    fact: Text
    says: Text


class Alias(Closed):
    """Words that people write, and the codes that they mean."""

    words: tuple[Text, ...] = Field(min_length=1)
    codes: tuple[Text, ...] = Field(min_length=1)
    firm: bool = False  # no use of right in the same phrase takes it away


class Activities(Closed):
    """The activities of a chapter, the words that people use for them, and the provisos."""

    codes: tuple[Activity, ...] = ()
    provisos: tuple[Proviso, ...] = ()
    aliases: tuple[Alias, ...] = ()
    kinds: dict[str, tuple[Text, ...]] = Field(default_factory=dict)
    unknown: Text | None = None  # the code of words that are not in the table


class Measure(Closed):
    """Which parameters tell the geometry what to measure."""

    buffer_ft: Text | None = None
    hydric_pct: Text | None = None
    steep_pct: Text | None = None


class Drawing(Closed):
    """Which parameters say how the chapter's maps are drawn."""

    scale_ft_per_in: Text | None = None
    contours_ft: Text | None = None


class ChecklistEntry(Closed):
    """A provision that nothing here computes."""

    rule: Text
    says: Text
    cite: Text
    cite_status: CiteStatus = "exact"


class PackModel(Closed):
    """A pack as its file has it."""

    schema_version: Literal[1]
    id: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]*$")]
    title: Text
    place: Text
    crs: Text
    source: Text
    adopted: datetime.date | None = None
    regulates_buffer: bool
    measure: Measure = Field(default_factory=Measure)
    drawing: Drawing = Field(default_factory=Drawing)
    parameters: dict[str, Parameter] = Field(default_factory=dict)
    rules: tuple[Rule, ...] = ()
    activities: Activities = Field(default_factory=Activities)
    checklist: tuple[ChecklistEntry, ...] = ()
