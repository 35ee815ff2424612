"""Rules tried on cases that stand as data in ``cases/*.toml``."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from wetgis.schema import ANSWERS, FINDING_COLUMNS, FINDING_SEVERITIES, OUTCOMES

sys.path.insert(0, str(Path(__file__).parent))
law = importlib.import_module("law_evidence")

CASES = law.read_cases()
TEXTS = ("outcome", "answer", "severity", "comparison", "unit", "doubt", "needs", "cite_status")
NUMBERS = ("value", "threshold", "margin", "value_low", "value_high")
KNOWN = {"of", "rule", "feature", "rows", "note_has", "note_lacks", "cite", *TEXTS, *NUMBERS}


def matching(findings: pd.DataFrame, wanted: dict[str, Any]) -> pd.DataFrame:
    kind, name = wanted["of"].split(" ", 1)
    found = findings[
        (findings["subject_kind"] == kind)
        & (findings["subject_id"] == name)
        & (findings["rule"] == wanted["rule"])
    ]
    if "feature" in wanted:
        feature_kind, _, feature_id = wanted["feature"].partition(" ")
        found = found[found["feature_id"] == feature_id]
        if feature_id:
            found = found[found["feature_kind"] == feature_kind]
    return found


def check(found: pd.DataFrame, wanted: dict[str, Any]) -> None:
    assert set(wanted) <= KNOWN, "a word of the expectation is not known"
    if "rows" in wanted:
        assert len(found) == wanted["rows"], found.to_dict("records")
    checks = [key for key in wanted if key not in ("of", "rule", "feature", "rows")]
    if checks and "rows" not in wanted:
        assert len(found) == 1, found.to_dict("records")
    for row in found.to_dict("records") if checks else []:
        for key in checks:
            if key in TEXTS or key == "cite":
                assert row[key] == wanted[key], (key, row)
            elif key == "note_has":
                assert wanted[key] in row["note"], row["note"]
            elif key == "note_lacks":
                assert wanted[key] not in row["note"], row["note"]
            else:
                assert row[key] == pytest.approx(wanted[key], abs=1e-6), (key, row)


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c['file']}: {c['name']}")
def test_case(case: dict[str, Any]) -> None:
    findings = law.findings_of(case)
    for wanted in case["expect"]:
        check(matching(findings, wanted), wanted)


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c['file']}: {c['name']}")
def test_the_table_keeps_its_words(case: dict[str, Any]) -> None:
    found = law.findings_of(case)
    assert tuple(found.columns) == FINDING_COLUMNS
    assert set(found["outcome"]) <= set(OUTCOMES)
    assert set(found["answer"]) <= set(ANSWERS)
    assert set(found["severity"]) <= set(FINDING_SEVERITIES)
    keys = ["subject_kind", "subject_id", "record", "feature_kind", "feature_id", "pack", "rule"]
    assert not found.duplicated(keys).any(), found[found.duplicated(keys, keep=False)]
    open_ = found["outcome"] == "undetermined"
    assert (found.loc[open_, "needs"] != "").all(), found[open_ & (found["needs"] == "")]
    assert (found.loc[~open_, "needs"] == "").all()
    sorts = {n.split(": ")[0] for text in found["needs"] for n in text.split("; ") if n}
    assert sorts <= {"layer", "parameter", "fact", "extent"}


def test_no_case_is_without_a_question() -> None:
    assert len({(c["file"], c["name"]) for c in CASES}) == len(CASES)
    assert all(c["expect"] for c in CASES)
