"""The words of wetgis: kinds of layers, places, columns of the tables, answers.

Nothing here computes. Both halves (geometry and law) and the outputs read it.
"""

from __future__ import annotations

__all__ = [
    "ANSWERS",
    "CONTACT_COLUMNS",
    "FEATURE_KINDS",
    "FINDING_COLUMNS",
    "FINDING_SEVERITIES",
    "KINDS",
    "MEASURE_COLUMNS",
    "OUTCOMES",
    "PLACES",
    "RASTER_KINDS",
    "SCHEMA_VERSION",
    "SINGULAR",
    "STATUSES",
    "SUBJECT_KINDS",
]

SCHEMA_VERSION = 1

#: Layers whose features are subjects.
SUBJECT_LAYERS = ("parcels", "footprints")
SUBJECT_KINDS = ("parcel", "footprint", "project")
#: Kinds that determine, kinds that indicate only, and the rest.
DETERMINING = ("wetlands", "watercourses")
INDICATING = ("indicators", "soils")
FEATURE_KINDS = (
    *DETERMINING,
    *INDICATING,
    "floodplain",
    "municipality",
    "adopted_wetlands",
    "adopted_watercourses",
    "flags",
    "structures",
    "roads",
    "improvements",
    "utilities",
    "vegetation",
    "stockpiles",
    "toes",
    "strips",
    "trees",
)
RASTER_KINDS = ("dem", "dem_proposed", "slope")
KINDS = (*SUBJECT_LAYERS, *FEATURE_KINDS, *RASTER_KINDS)

#: The name of one feature of a kind, as it stands in ``feature_kind`` and ``subject_kind``.
SINGULAR = {
    "parcels": "parcel",
    "footprints": "footprint",
    "wetlands": "wetland",
    "watercourses": "watercourse",
    "indicators": "indicator",
    "soils": "soil",
    "floodplain": "floodplain",
    "municipality": "municipality",
    "adopted_wetlands": "adopted_wetland",
    "adopted_watercourses": "adopted_watercourse",
    "flags": "flag",
    "structures": "structure",
    "roads": "road",
    "improvements": "improvement",
    "utilities": "utility",
    "vegetation": "vegetation",
    "stockpiles": "stockpile",
    "toes": "toe",
    "strips": "strip",
    "trees": "tree",
}

BASES = ("field_survey", "flagged_gps", "city_map", "state_map", "nwi", "soils", "other")

PLACES = ("wetland", "watercourse", "buffer", "outside", "unmapped", "beyond_limit")
STATUSES = ("on_feature", "in_buffer", "touching", "indicator", "unknown", "none_found")

PARTITION_COLUMNS = tuple(f"{place}_sqft" for place in PLACES)
LENGTH_COLUMNS = ("length_ft", *(f"{place}_length_ft" for place in PLACES))
#: The numbers of a subject, in the order of the table.
NUMBER_COLUMNS = (
    "area_sqft",
    *PARTITION_COLUMNS,
    "regulated_sqft",
    "hydric_sqft",
    "hydric_weighted_sqft",
    "soil_unknown_sqft",
    "floodplain_sqft",
    "floodway_sqft",
    "flood_unknown_sqft",
    "steep_sqft",
    "slope_unknown_sqft",
    "slope_mean_pct",
    "slope_max_pct",
    "indicator_sqft",
    "disturbed_sqft",
    "wetland_ft",
    "watercourse_ft",
    "hydric_ft",
    "indicator_ft",
    "floodplain_ft",
    # `watercourse_length_ft` is both a length of watercourse in an area and a place of a line
    *LENGTH_COLUMNS,
)
SUBJECT_COLUMNS = (
    "subject_kind",
    "subject_id",
    "record",
    "parcel_id",
    "project_id",
    "status",
    "n_met",
    "unknown_layers",
)
MEASURE_COLUMNS = (*SUBJECT_COLUMNS, *NUMBER_COLUMNS)

PART_COLUMNS = ("subject_kind", "subject_id", "record", "place", "area_sqft", "length_ft")
CONTACT_COLUMNS = (
    "subject_kind",
    "subject_id",
    "record",
    "feature_kind",
    "feature_id",
    "name",
    "class",
    "source",
    "basis",
    "distance_ft",
    "area_sqft",
    "length_ft",
    "whole_sqft",
)
FINDING_COLUMNS = (
    "subject_kind",
    "subject_id",
    "record",
    "feature_kind",
    "feature_id",
    "pack",
    "rule",
    "outcome",
    "answer",
    "severity",
    "value",
    "unit",
    "comparison",
    "threshold",
    "margin",
    "value_low",
    "value_high",
    "doubt",
    "needs",
    "cite",
    "cite_status",
    "says",
    "note",
)
CHECKLIST_COLUMNS = ("pack", "rule", "says", "cite")

OUTCOMES = ("met", "not_met", "undetermined")
ANSWERS = (
    "permit_required",
    "as_of_right",
    "as_of_right_conditional",
    "prohibited",
    "may_be_subject",
    "no_indicator_found",
    "exempt",
    "not_exempt",
    "must_be_shown",
    "need_not_be_shown",
    "required",
    "not_required",
    "pass",
    "fail",
    "flag",
    "no_flag",
    "tier_minor",
    "tier_major",
    "below_tiers",
    "cannot_tell",
)
FINDING_SEVERITIES = ("prohibit", "permit", "avoid", "require", "show", "exempt", "inform")
DOUBTS = ("accuracy", "foot", "ground", "arc", "datum", "sliver")
COMPARISONS = ("gt", "ge", "lt", "le")
UNITS = ("sqft", "ft", "pct", "count", "days", "usd", "ratio")

#: Equal within noise counts as equal.
EPS_SQFT = 1e-4
EPS_FT = 1e-6
EPS_PCT = 1e-3
#: Pieces of an overlap narrower than this (2 x area / perimeter) are a shared line.
SLIVER_FT = 0.05
#: Features of a wetland this near each other are one wetland.
SNAP_FT = 0.05
