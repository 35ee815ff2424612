"""Words and numbers as a reader sees them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wetgis import schema
from wetgis.outputs import words


def test_every_word_of_the_tables_has_words() -> None:
    assert set(words.STATUS_WORDS) == set(schema.STATUSES) == set(words.STATUS_MEANINGS)
    assert set(words.ANSWER_WORDS) == set(schema.ANSWERS)
    assert set(words.SEVERITY_WORDS) == set(schema.FINDING_SEVERITIES)
    assert set(words.DOUBT_WORDS) == set(schema.DOUBTS)
    assert set(words.OUTCOME_WORDS) == set(schema.OUTCOMES)
    assert set(words.PLACE_WORDS) == set(schema.PLACES)
    assert set(words.COMPARISON_WORDS) == set(schema.COMPARISONS)
    assert set(words.UNIT_WORDS) == set(schema.UNITS)
    assert set(words.SUBJECT_WORDS) == set(schema.SUBJECT_KINDS)
    assert set(words.CITE_WORDS) == {"exact", "inferred", "cited_only", "override"}
    assert set(words.STATUS_SHORT) == set(schema.STATUSES)
    assert set(words.COLUMN_WORDS) == set(schema.MEASURE_COLUMNS)


@pytest.mark.parametrize("phrase", ["does not apply", "not subject"])
def test_the_strongest_negative_is_no_indicator_found(phrase: str) -> None:
    said = [*words.ANSWER_WORDS.values(), *words.STATUS_WORDS.values(), *words.CAVEATS]
    said += words.STATUS_MEANINGS.values()
    assert not [text for text in said if phrase in text.lower()]


@pytest.mark.parametrize(
    ("value", "unit", "against", "printed"),
    [
        (4000.0, "sqft", 4000.0, "4,000"),
        (4000.00005, "sqft", 4000.0, "4,000"),  # equal within noise
        (4000.01, "sqft", 4000.0, "4,000.01"),
        (3999.99995, "sqft", 4000.0, "4,000"),
        (99.999, "ft", 100.0, "99.999"),
        (100.0, "ft", 100.0, "100.00"),
        (30.0005, "pct", 30.0, "30"),
        (30.04, "pct", 30.0, "30.04"),
        (-12.25, "ft", None, "-12.25"),
        (12.25, "sqft", None, "12.3"),
        (0.0, "ft", None, "0"),
        (-0.0, "sqft", None, "0"),
        (math.inf, "ft", 100.0, "none mapped"),
        (math.nan, "ft", 100.0, "not known"),
        (12.0, "count", None, "12"),
        (0.35, "ratio", 0.3, "0.35"),
    ],
)
def test_number(value: float, unit: str, against: float | None, printed: str) -> None:
    assert words.number(value, unit, against) == printed


@given(
    st.floats(-1e7, 1e7).filter(lambda v: v == 0 or abs(v) > 1e-3),
    st.floats(0, 1e6),
    st.sampled_from(["sqft", "ft", "pct"]),
)
def test_a_number_is_never_printed_equal_to_what_it_differs_from(
    value: float, threshold: float, unit: str
) -> None:
    printed = words.number(value, unit, threshold)
    if abs(value - threshold) > 2e-3:
        assert printed != words.number(threshold, unit)
        assert float(printed.replace(",", "")) != threshold
    assert (float(printed.replace(",", "")) == 0) == (abs(value) <= words._EPS[unit])
