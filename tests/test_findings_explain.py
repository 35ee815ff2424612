"""The sentences that a board can be read, and the card of a subject."""

from __future__ import annotations

import importlib
import math
import sys
from pathlib import Path

import pytest

from wetgis.explain import ANSWERS, COMPARED, DOUBT, STATUS, card, explain
from wetgis.schema import ANSWERS as ALL_ANSWERS
from wetgis.schema import COMPARISONS, DOUBTS, STATUSES
from wetgis.wording import shown

sys.path.insert(0, str(Path(__file__).parent))
law = importlib.import_module("law_evidence")

CLEARED = ("does not apply", "not subject", "no permit is needed")


def test_every_word_of_the_tables_has_its_own_words() -> None:
    assert set(ANSWERS) == set(ALL_ANSWERS)
    assert set(DOUBT) == set(DOUBTS)
    assert set(COMPARED) == set(COMPARISONS)
    assert set(STATUS) == set(STATUSES)


def test_no_finding_is_explained_as_a_clearance() -> None:
    for case in law.read_cases():
        for row in law.findings_of(case).to_dict("records"):
            text = explain(row)
            assert not [words for words in CLEARED if words in text.lower()]
            assert "nan" not in text.split()
            assert row["rule"] in text
            assert row["cite"] in text


def accurate() -> dict[str, object]:
    return {
        "packs": ["rye-ny-195"], "parcel": [{"id": "12-3", "accuracy_ft": 1.0}],
        "near": [{"of": "parcel 12-3", "feature": "wetland W", "distance_ft": 97.0,
                  "accuracy_ft": 5.0, "source": "city.gpkg:wetlands", "basis": "city_map",
                  "source_date": "2025-07-01"}],
    }  # fmt: skip


def test_number_interval_threshold_citation_and_what_would_settle_it() -> None:
    found = law.findings_of(accurate()).set_index("rule")
    text = explain({"rule": "RYE-16", **found.loc["RYE-16"].to_dict()})
    assert "parcel 12-3" in text
    assert "Measured: 97.00 ft (between 91.00 and 103.00 ft by the accuracy" in text
    assert "at most 100.00 ft" in text
    assert "195-4B(1) (section number inferred)" in text
    assert "It could turn: the interval reaches the number" in text
    assert "a survey of that boundary" in text
    assert "source: city.gpkg:wetlands of 2025-07-01, city map" in text


def test_what_is_missing_is_named() -> None:
    case = {"packs": ["monroe-ny-46"], "footprint": [{"id": "F"}],
            "project": [{"id": "J", "area_sqft": 10400.0}]}  # fmt: skip
    found = law.findings_of(case).set_index("rule")
    text = explain({"rule": "MON-10C", **found.loc["MON-10C"].to_dict()})
    assert "it cannot be told from what was given" in text
    assert "the number of 46-3C, with its citation" in text
    assert "10,400.00 sq ft" in text
    case = {"packs": ["monroe-ny-46"], "without": ["wetlands"], "parcel": [{"id": "P"}]}
    found = law.findings_of(case).set_index("rule")
    assert "the layer wetlands" in explain({"rule": "MON-26", **found.loc["MON-26"].to_dict()})


def test_an_override_says_so() -> None:
    case = {
        "packs": ["monroe-ny-46"], "footprint": [{"id": "F"}],
        "project": [{"id": "J", "area_sqft": 10400.0}],
        "overrides": [{"pack": "monroe-ny-46", "parameter": "minor_permit_disturbance",
                       "value": 10000, "unit": "sqft", "comparison": "ge", "cite": "a letter"}],
    }  # fmt: skip
    found = law.findings_of(case).set_index("rule")
    text = explain({"rule": "MON-10C", **found.loc["MON-10C"].to_dict()})
    assert "a letter (supplied by the user in place of the pack's own number)" in text


@pytest.mark.parametrize(
    ("value", "against", "text"),
    [
        (4000.01, 4000.0, "4,000.01"), (4000.001, 4000.0, "4,000.001"),
        (4000.0, 4000.0, "4,000.00"), (99.9996, 100.0, "99.9996"), (0.001, 0.0, "0.001"),
        (math.inf, 100.0, "none near"), (math.nan, 1.0, "not known"), (12.341, None, "12.34"),
    ],
)  # fmt: skip
def test_a_number_that_trips_is_never_printed_equal(
    value: float, against: float | None, text: str
) -> None:
    assert shown(value, against) == text


def test_a_card_has_words_first() -> None:
    case = accurate()
    evidence = law.evidence_of(case)
    found = law.findings_of(case)
    measures = {**evidence.subjects.iloc[0].to_dict(), "status": "in_buffer"}
    lines = card(measures, found).splitlines()
    assert lines[0] == "Parcel 12-3: some of it lies in the buffer of a wetland or watercourse."
    assert lines[1].startswith(
        "  RYE-16 (wetland W): the area may be subject to the chapter [195-4B(1)"
    )
    assert "In doubt: accuracy" in lines[1]
    assert any("Cannot be told without the layer soils: RYE-04" in line for line in lines)
    assert any("to a wetland: 97.00 ft" in line for line in lines)
    assert lines[-1].startswith("A screening, not a determination")


def test_a_card_of_one_subject_leaves_the_others_out() -> None:
    case = {"packs": ["monroe-ny-46"], "parcel": [{"id": "P"}, {"id": "Q"}],
            "near": [{"of": "parcel P", "feature": "watercourse S", "distance_ft": 5.0}],
            }  # fmt: skip
    evidence, found = law.evidence_of(case), law.findings_of(case)
    other = card({**evidence.subjects.iloc[1].to_dict(), "status": "none_found"}, found)
    assert "watercourse S" not in other
    assert "no indicator was found on the layers used" in other
    assert "No condition of the packs in force is met" in other
