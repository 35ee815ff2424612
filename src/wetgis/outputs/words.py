"""The closed words of the tables in plain English, and numbers as a reader sees them.

Everything that prints a word or a number for a person takes it from here: report, workbook,
summary and maps say the same thing in the same way.
"""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from wetgis.schema import EPS_FT, EPS_PCT, EPS_SQFT

__all__ = [
    "ANSWER_WORDS",
    "CAVEATS",
    "CITE_WORDS",
    "COLUMN_WORDS",
    "COMPARISON_WORDS",
    "DOUBT_WORDS",
    "OUTCOME_WORDS",
    "PLACE_WORDS",
    "SEVERITY_WORDS",
    "STATUS_MEANINGS",
    "STATUS_SHORT",
    "STATUS_WORDS",
    "SUBJECT_WORDS",
    "UNIT_WORDS",
    "column_unit",
    "compared",
    "counted",
    "needed",
    "number",
    "with_unit",
]

STATUS_WORDS = {
    "on_feature": "On a wetland or watercourse",
    "in_buffer": "In the buffer",
    "touching": "Touches the boundary",
    "indicator": "Indicator only",
    "unknown": "Cannot be told",
    "none_found": "No indicator found",
}
#: The same for a column of a table.
STATUS_SHORT = {
    "on_feature": "On a feature",
    "in_buffer": "In the buffer",
    "touching": "Touching",
    "indicator": "Indicator only",
    "unknown": "Cannot be told",
    "none_found": "None found",
}
#: What each status means, for legends and the first sheet of the workbook.
STATUS_MEANINGS = {
    "on_feature": "Some of it lies in a mapped wetland or watercourse.",
    "in_buffer": "None of it lies in a wetland or watercourse, some of it in their buffer.",
    "touching": "It lies exactly at the legal distance, or along a boundary line.",
    "indicator": "Only a layer that indicates (soils, inventory maps) reaches it.",
    "unknown": "A layer that decides is missing, or the ground near it is not mapped.",
    "none_found": "No indicator was found on the layers used.",
}
SUBJECT_WORDS = {
    "parcel": ("parcel", "parcels"),
    "footprint": ("footprint", "footprints"),
    "project": ("project", "projects"),
}
PLACE_WORDS = {
    "wetland": "Wetland",
    "watercourse": "Watercourse",
    "buffer": "Buffer",
    "outside": "Outside all of them",
    "unmapped": "Not mapped",
    "beyond_limit": "Beyond the municipal limit",
}
OUTCOME_WORDS = {"met": "Met", "not_met": "Not met", "undetermined": "Cannot be told"}
ANSWER_WORDS = {
    "permit_required": "Permit required",
    "as_of_right": "Permitted as of right",
    "as_of_right_conditional": "As of right, if its conditions hold",
    "prohibited": "Prohibited",
    "may_be_subject": "May be subject to the law",
    "no_indicator_found": "No indicator found on the layers used",
    "exempt": "Exempt",
    "not_exempt": "Not exempt",
    "must_be_shown": "Must be shown on the map",
    "need_not_be_shown": "Need not be shown by this rule",
    "required": "Required",
    "not_required": "Not required by this rule",
    "pass": "Passes",
    "fail": "Fails",
    "flag": "Flagged",
    "no_flag": "Nothing flagged by this rule",
    "tier_minor": "Minor permit",
    "tier_major": "Major permit",
    "below_tiers": "Below the permit tiers",
    "cannot_tell": "Cannot be told from the layers used",
}
SEVERITY_WORDS = {
    "prohibit": "Prohibition",
    "permit": "Permit",
    "avoid": "To be avoided",
    "require": "Requirement",
    "show": "To be shown",
    "exempt": "Exemption",
    "inform": "Information",
}
DOUBT_WORDS = {
    "accuracy": "the stated accuracy of the layers reaches the threshold",
    "foot": "it turns with the foot: survey or international",
    "ground": "it turns with grid or ground distance",
    "arc": "it turns with how an arc is drawn",
    "datum": "the datum shift of a layer is a rough one",
    "sliver": "the overlap is no wider than a line",
}
NEED_WORDS = {
    "layer": "the layer {}",
    "parameter": "the number of {}",
    "fact": "the fact “{}”",
    "extent": "where the layer {} is complete",
}
#: What is added to a citation that is not simply exact.
CITE_WORDS = {
    "exact": "",
    "inferred": "section number inferred",
    "cited_only": "cited by the source, its text is not at hand",
    "override": "set by the user",
}
COMPARISON_WORDS = {"gt": "more than", "ge": "at least", "lt": "less than", "le": "at most"}
UNIT_WORDS = {
    "sqft": "sq ft",
    "ft": "ft",
    "pct": "%",
    "count": "",
    "days": "days",
    "usd": "US dollars",
    "ratio": "",
}
#: What the law says about the map, and what a screening is. Packs may add their own.
CAVEATS = (
    "This is a screening, not a determination. Whether a law applies is for the officials whom "
    "that law names: the City Naturalist and the Planning Commission, or the Stormwater "
    "Management Officer.",
    "An official map is general guidance, in both directions: a wetland that it does not show may "
    "be there, and one that it shows may be smaller or larger. A boundary found in the field "
    "replaces the map.",
    "“No indicator found” speaks of the layers used and of nothing else. It does not clear a site.",
    "What a layer does not cover is not known. It is never counted as zero.",
    "Answers follow from the unrounded numbers; what is printed is rounded. A finding with a doubt "
    "could turn within the accuracy of the data.",
)
#: Headings of the measures for a reader, without the unit.
COLUMN_WORDS = {
    "subject_kind": "Kind",
    "subject_id": "Id",
    "record": "Record",
    "parcel_id": "Parcel",
    "project_id": "Project",
    "status": "Status",
    "n_met": "Conditions met",
    "unknown_layers": "Layers not known",
    "area_sqft": "Area",
    "wetland_sqft": "Wetland",
    "watercourse_sqft": "Watercourse",
    "buffer_sqft": "Buffer",
    "outside_sqft": "Outside",
    "unmapped_sqft": "Not mapped",
    "beyond_limit_sqft": "Beyond the limit",
    "regulated_sqft": "Regulated",
    "hydric_sqft": "Hydric soil",
    "hydric_weighted_sqft": "Hydric soil, weighted",
    "soil_unknown_sqft": "Soil not known",
    "floodplain_sqft": "Floodplain",
    "floodway_sqft": "Floodway",
    "flood_unknown_sqft": "Flood zone not known",
    "steep_sqft": "Steep ground",
    "slope_unknown_sqft": "Slope not known",
    "slope_mean_pct": "Mean slope",
    "slope_max_pct": "Steepest slope",
    "indicator_sqft": "Indicator",
    "disturbed_sqft": "Disturbed",
    "wetland_ft": "Nearest wetland",
    "watercourse_ft": "Nearest watercourse",
    "hydric_ft": "Nearest hydric soil",
    "indicator_ft": "Nearest indicator",
    "floodplain_ft": "Nearest floodplain",
    "length_ft": "Length",
    "wetland_length_ft": "Length in wetland",
    "watercourse_length_ft": "Watercourse length",
    "buffer_length_ft": "Length in buffer",
    "outside_length_ft": "Length outside",
    "unmapped_length_ft": "Length not mapped",
    "beyond_limit_length_ft": "Length beyond the limit",
}

_EPS = {"sqft": EPS_SQFT, "ft": EPS_FT, "pct": EPS_PCT}
_MOST_DECIMALS = 8


def column_unit(name: str) -> str:
    """The unit that a column's name states, as it is printed.

    Examples
    --------
    >>> column_unit("wetland_sqft"), column_unit("slope_max_pct"), column_unit("status")
    ('sq ft', '%', '')
    """
    unit = name.rpartition("_")[2]
    return UNIT_WORDS[unit] if unit in ("sqft", "ft", "pct") else ""


def number(value: float, unit: str = "", against: float | None = None) -> str:
    """A number as a reader sees it.

    Parameters
    ----------
    value : float
        NaN is "not known", infinity "none mapped".
    unit : str
        One of ``schema.UNITS``; it decides the decimals and what counts as equal.
    against : float, optional
        A threshold. A value that differs from it, beyond noise, is never printed equal to it;
        nor is one that differs from zero printed as zero.

    Examples
    --------
    >>> number(12345.6, "sqft"), number(0.0, "sqft"), number(float("nan"))
    ('12,346', '0', 'not known')
    >>> number(4000.0004, "sqft", 4000), number(99.9996, "ft", 100), number(0.003, "sqft")
    ('4,000.0004', '99.9996', '0.003')
    """
    if math.isnan(value):
        return "not known"
    if math.isinf(value):
        return "none mapped" if value > 0 else "not known"
    decimals = {"sqft": 0 if abs(value) >= 100 else 1, "ft": 2, "pct": 1, "ratio": 3}.get(unit, 0)
    if unit not in _EPS and not float(value).is_integer():
        decimals = max(decimals, 2)
    noise = _EPS.get(unit, 0.0)
    rivals = [rival for rival in (0.0, against) if rival is not None and not math.isnan(rival)]
    for rival in rivals:
        if abs(value - rival) > noise:
            while decimals < _MOST_DECIMALS and _fixed(value, decimals) == _fixed(rival, decimals):
                decimals += 1
    text = f"{_fixed(value, decimals):,}"
    if "." in text and unit != "ft":
        text = text.rstrip("0").rstrip(".")
    return "0" if float(text.replace(",", "")) == 0 else text


def _fixed(value: float, decimals: int) -> Decimal:
    """Rounded as people round: a half goes away from zero. The page rounds the same way."""
    return Decimal(value).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)


def with_unit(value: float, unit: str, against: float | None = None) -> str:
    """A number and its unit; words for what is not a number stand alone.

    Examples
    --------
    >>> with_unit(99.5, "ft"), with_unit(30.0, "pct"), with_unit(2500.0, "usd")
    ('99.50 ft', '30%', '$2,500')
    """
    text = number(value, unit, against)
    if not math.isfinite(value):
        return text
    if unit == "usd":
        return f"${text}"
    if unit == "pct":
        return f"{text}%"
    return f"{text} {UNIT_WORDS[unit]}".rstrip() if unit in UNIT_WORDS else text


def compared(finding: Any) -> str:
    """The number of a finding beside its threshold, as a phrase.

    Parameters
    ----------
    finding : mapping
        A row with ``value``, ``unit``, ``comparison``, ``threshold``.

    Examples
    --------
    >>> compared({"value": 120.0, "unit": "ft", "comparison": "le", "threshold": 100.0})
    '120.00 ft (asked: at most 100 ft)'
    """
    value, threshold, unit = finding["value"], finding["threshold"], finding["unit"]
    if math.isnan(value) and math.isnan(threshold):
        return ""
    text = with_unit(value, unit, threshold)
    words = COMPARISON_WORDS.get(finding["comparison"], "")
    if not words or math.isnan(threshold):
        return text
    return f"{text} (asked: {words} {with_unit(threshold, unit).replace('.00', '')})"


def needed(needs: Any) -> list[str]:
    """What an undetermined finding needs, in words.

    Examples
    --------
    >>> needed("layer: floodplain; parameter: 46-3C")
    ['the layer floodplain', 'the number of 46-3C']
    """
    told = []
    for need in str(needs).split(";") if isinstance(needs, str) else ():
        sort, _, what = (part.strip() for part in need.partition(":"))
        words = NEED_WORDS.get(sort, "{}")
        if sort:
            told.append(words.format(what.replace("_", " ") or sort))
    return told


def counted(n: int, kind: str) -> str:
    """A number of subjects in words.

    Examples
    --------
    >>> counted(1, "parcel"), counted(1200, "footprint")
    ('1 parcel', '1,200 footprints')
    """
    one, many = SUBJECT_WORDS.get(kind, (kind, kind))
    return f"{n:,} {one if n == 1 else many}"
