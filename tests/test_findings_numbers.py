"""Comparisons at their edges, intervals and doubts; what a finding may never do."""

from __future__ import annotations

import importlib
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wetgis.doubts import FOOT, Trial, both, holds
from wetgis.findings import find
from wetgis.packs import load_pack
from wetgis.schema import EPS_FT, EPS_PCT, EPS_SQFT, FINDING_COLUMNS

sys.path.insert(0, str(Path(__file__).parent))
law = importlib.import_module("law_evidence")


# ---------------------------------------------------------------- comparisons


@pytest.mark.parametrize(
    ("comparison", "below", "at", "above"),
    [("gt", False, False, True), ("ge", False, True, True),
     ("lt", True, False, False), ("le", True, True, False)],
)  # fmt: skip
@pytest.mark.parametrize("eps", [EPS_SQFT, EPS_FT, EPS_PCT])
def test_below_at_and_above(
    comparison: str, below: bool, at: bool, above: bool, eps: float
) -> None:
    values = [100 - 2 * eps, 100 - eps / 2, 100.0, 100 + eps / 2, 100 + 2 * eps]
    assert holds(values, comparison, 100.0, eps).tolist() == [below, at, at, at, above]


def test_infinity_is_beyond_everything_and_nan_is_nothing() -> None:
    assert holds([math.inf, math.nan], "gt", 100.0, EPS_FT).tolist() == [True, False]
    assert holds([math.inf, math.nan], "le", 100.0, EPS_FT).tolist() == [False, False]


def parcel_finding(rule: str, **near: Any) -> dict[str, Any]:
    case = {
        "packs": ["monroe-ny-46"], "parcel": [{"id": "P"}],
        "layers": {"improvements": {}, "structures": {}, "roads": {}, "utilities": {}},
        "near": [{"of": "parcel P", "distance_ft": 0.0, "regulator": "DEC", **near}],
    }  # fmt: skip
    found = law.findings_of(case, rule)
    return found[found["rule"] == rule].iloc[0].to_dict()


def project_finding(rule: str, area: float, **more: Any) -> dict[str, Any]:
    case = {
        "packs": ["monroe-ny-46"], "footprint": [{"id": "F", **more}],
        "project": [{"id": "J", "area_sqft": area}],
        "extra": [
            {"of": "project J", "name": f"group_sqft:{name}", "value": area}
            for name in ("all", "monroe-ny-46:counted", "monroe-ny-46:46-4E")
        ],
    }  # fmt: skip
    found = law.findings_of(case, rule)
    return found[found["rule"] == rule].iloc[0].to_dict()


def footprint_finding(pack: str, rule: str, **columns: Any) -> dict[str, Any]:
    case = {"packs": [pack], "footprint": [{"id": "F", **columns}], "layers": {"dem": {}}}
    found = law.findings_of(case, rule)
    return found[found["rule"] == rule].iloc[0].to_dict()


def slope(rule: str, pct: float) -> dict[str, Any]:
    return footprint_finding("monroe-ny-46", rule, slope_max_pct=pct, steep_sqft=1.0,
                             slope_unknown_sqft=0.0)  # fmt: skip


def proposed(rule: str, pct: float) -> dict[str, Any]:
    case = {
        "packs": ["monroe-ny-46"], "footprint": [{"id": "F"}], "layers": {"dem_proposed": {}},
        "extra": [{"of": "footprint F", "name": "proposed_slope_max_pct", "value": pct}],
    }  # fmt: skip
    found = law.findings_of(case, rule)
    return found[found["rule"] == rule].iloc[0].to_dict()


def stockpile(rule: str, distance: float) -> dict[str, Any]:
    case = {
        "packs": ["monroe-ny-46"], "parcel": [{"id": "P"}], "layers": {"stockpiles": {}},
        "extra": [{"of": "parcel P", "feature": "stockpile S", "name": "stockpile_water_ft",
                   "value": distance}],
    }  # fmt: skip
    found = law.findings_of(case, rule)
    return found[found["rule"] == rule].iloc[0].to_dict()


def votes(rule: str, number: float) -> dict[str, Any]:
    return footprint_finding(
        "rye-ny-195", rule, affirmative_votes=number, other_city_approval=False
    )


#: rule, how to try it, the number, a step that counts, outcome below / at / above.
EDGES = [
    ("MON-26", lambda r, v: parcel_finding(r, feature="wetland W", whole_sqft=v),
     4000.0, 0.01, "not_met", "not_met", "met"),
    ("MON-27", lambda r, v: parcel_finding(r, feature="watercourse S", distance_ft=v),
     100.0, 0.01, "met", "met", "not_met"),
    ("MON-25", lambda r, v: parcel_finding(r, feature="improvement I", distance_ft=v),
     200.0, 0.01, "met", "met", None),
    ("MON-29", lambda r, v: parcel_finding(r, feature="utility U", distance_ft=v),
     0.0, 0.01, "met", "met", "not_met"),
    ("MON-15", lambda r, v: project_finding(r, v, activity="landscaping", existing_structure=True),
     11000.0, 0.01, "met", "not_met", "not_met"),
    ("MON-48", project_finding, 217800.0, 0.01, "not_met", "not_met", "met"),
    ("MON-49", slope, 30.0, 0.01, "not_met", "not_met", "met"),
    ("MON-53", proposed, 100 / 3, 0.01, "not_met", "not_met", "met"),
    ("MON-38", stockpile, 200.0, 0.01, "met", "not_met", "not_met"),
    ("RYE-12", lambda r, v: footprint_finding("rye-ny-195", r, activity="C1", wetland_ft=v),
     100.0, 0.01, "met", "not_met", "not_met"),
    ("RYE-12", lambda r, v: footprint_finding("rye-ny-195", r, activity="C1", wetland_ft=v,
                                              geometry_dim=0),
     100.0, 0.01, "met", "met", "not_met"),
    ("RYE-01", lambda r, v: footprint_finding("rye-ny-195", r, watercourse_ft=v),
     100.0, 0.01, "met", "not_met", "not_met"),
    ("RYE-16", lambda r, v: footprint_finding("rye-ny-195", r, wetland_ft=v),
     100.0, 0.01, "met", "met", "not_met"),
    ("RYE-14", votes, 5.0, 1.0, "not_met", "met", "met"),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "tried", "number", "step", "below", "at", "above"), EDGES)
def test_each_number_of_the_law(
    rule: str, tried: Any, number: float, step: float, below: str, at: str, above: str | None
) -> None:
    if number > 0:
        row = tried(rule, number - step)
        assert row["outcome"] == below
        assert row["margin"] == pytest.approx(-step, abs=1e-6)
    assert tried(rule, number)["outcome"] == at
    assert tried(rule, number)["margin"] == pytest.approx(0.0, abs=1e-9)
    if above is not None:
        assert tried(rule, number + step)["outcome"] == above


MONOTONE = [e for e in EDGES if e[0] not in ("RYE-14", "MON-25", "MON-29")]


@pytest.mark.parametrize("edge", MONOTONE, ids=lambda e: e[0])
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_the_outcome_is_monotone_in_the_measure(edge: Any, data: st.DataObject) -> None:
    rule, tried, number, *_, below, _at, above = edge
    near = st.floats(1, 3 * number, allow_nan=False)
    low, high = sorted((data.draw(near), data.draw(near)))
    order = [below, above] if above else [below]
    if abs(low - number) < 1e-2 or abs(high - number) < 1e-2:
        return
    first, second = tried(rule, low)["outcome"], tried(rule, high)["outcome"]
    assert order.index(first) <= order.index(second)


# ---------------------------------------------------------------- intervals and doubts


def trial(value: float, **more: Any) -> Trial:
    given = {"comparison": "gt", "threshold": 4000.0, "unit": "sqft"}
    arrays = {k: np.array([v]) if k in ("half", "factor", "arc_ft") else v for k, v in more.items()}
    return Trial(np.array([value]), **{**given, **arrays})


def doubts(one: Trial) -> set[str]:
    return {name for name, mask in one.doubts().items() if mask.any()}


def test_an_interval_that_reaches_the_number() -> None:
    one = trial(4100.0, half=100.0)
    assert (one.low[0], one.high[0]) == (4000.0, 4200.0)
    assert doubts(one) == {"accuracy"}
    assert doubts(trial(4100.0, half=99.0)) == set()
    assert doubts(trial(4100.0, half=math.nan)) == set()
    assert doubts(trial(3900.0, half=150.0)) == {"accuracy"}


def test_an_interval_does_not_go_below_nothing() -> None:
    one = trial(50.0, half=80.0)
    assert (one.low[0], one.high[0]) == (0.0, 130.0)


def test_either_foot() -> None:
    assert doubts(trial(4000.0)) == {"foot"}
    assert doubts(trial(4000.01)) == {"foot"}
    assert doubts(trial(4000.02)) == set()
    assert doubts(trial(3999.985)) == {"foot"}
    assert doubts(trial(3999.98)) == set()
    assert pytest.approx(1.000002, abs=1e-9) == FOOT


def test_ground_and_grid() -> None:
    assert doubts(trial(3999.5, factor=0.9998797)) == {"ground"}
    assert doubts(trial(3999.0, factor=0.9998797)) == set()
    far = Trial(np.array([99.99]), "le", 100.0, "ft", factor=np.array([0.9998797]))
    assert doubts(far) == {"ground"}


def test_arcs() -> None:
    short = Trial(np.array([0.3]), "gt", 0.0, "sqft", arc_ft=np.array([500.0]))
    assert doubts(short) == {"arc"}
    assert doubts(Trial(np.array([8.0]), "gt", 0.0, "sqft", arc_ft=np.array([500.0]))) == set()
    assert doubts(Trial(np.array([0.0]), "gt", 0.0, "sqft", arc_ft=np.array([500.0]))) == set()


def test_two_conditions_turn_together() -> None:
    large, small = trial(9000.0), trial(10.0)
    edge = Trial(np.array([100.0001]), "le", 100.0, "ft")
    met, flags = both(large, edge)
    assert not met[0]
    assert flags["foot"][0]
    # a distance at the edge turns nothing where the size is too small by far
    _, flags = both(small, edge)
    assert not flags["foot"][0]


@settings(max_examples=200, deadline=None)
@given(
    value=st.floats(0, 1e6), threshold=st.floats(0, 1e6), half=st.floats(0, 1e3),
    factor=st.floats(0.999, 1.001), comparison=st.sampled_from(["gt", "ge", "lt", "le"]),
)  # fmt: skip
def test_a_doubt_never_changes_the_outcome(
    value: float, threshold: float, half: float, factor: float, comparison: str
) -> None:
    with_doubt = trial(value, half=half, factor=factor, threshold=threshold, comparison=comparison)
    plain = trial(value, threshold=threshold, comparison=comparison)
    assert with_doubt.met[0] == plain.met[0]
    assert with_doubt.low[0] <= value <= with_doubt.high[0]


def test_accuracy_of_a_distance_is_the_sum_of_both_layers() -> None:
    case = {
        "packs": ["monroe-ny-46"], "parcel": [{"id": "P", "accuracy_ft": 2.0}],
        "near": [{"of": "parcel P", "feature": "watercourse S", "distance_ft": 97.0,
                  "accuracy_ft": 5.0}],
    }  # fmt: skip
    found = law.findings_of(case)
    row = found[found["rule"] == "MON-27"].iloc[0]
    assert (row["value_low"], row["value_high"]) == (90.0, 104.0)
    assert row["doubt"] == "accuracy"
    assert row["outcome"] == "met"


def test_accuracy_of_an_area_is_its_boundary_times_it() -> None:
    row = parcel_finding("MON-26", feature="wetland W", whole_sqft=4500.0, whole_boundary_ft=260.0,
                         accuracy_ft=2.0)  # fmt: skip
    assert (row["value_low"], row["value_high"]) == (3980.0, 5020.0)
    assert row["doubt"] == "accuracy"


def test_what_states_no_accuracy_has_no_interval_and_a_note() -> None:
    row = parcel_finding("MON-26", feature="wetland W", whole_sqft=4500.0, whole_boundary_ft=260.0)
    assert row["value_low"] == row["value_high"] == row["value"]
    assert "no accuracy is stated" in row["note"]


def test_the_layers_accuracy_stands_where_no_contact_is_near() -> None:
    case = {
        "packs": ["rye-ny-195"], "layers": {"wetlands": {"accuracy_ft": 40.0}},
        "footprint": [{"id": "F", "activity": "C1", "wetland_ft": 130.0}],
    }  # fmt: skip
    found = law.findings_of(case).set_index("rule")
    assert found.loc["RYE-12", "doubt"] == "accuracy"
    assert found.loc["RYE-16", "answer"] == "may_be_subject"


def test_the_nearer_interval_counts_not_only_the_nearer_feature() -> None:
    case = {
        "packs": ["rye-ny-195"], "footprint": [{"id": "F", "activity": "C1"}],
        "near": [
            {"of": "footprint F", "feature": "wetland W", "distance_ft": 105.0, "accuracy_ft": 0.1},
            {"of": "footprint F", "feature": "watercourse S", "distance_ft": 120.0,
             "accuracy_ft": 40.0},
        ],
    }  # fmt: skip
    row = law.findings_of(case).set_index("rule").loc["RYE-12"]
    assert row["value"] == 105.0
    assert row["value_low"] == 80.0
    assert row["doubt"] == "accuracy"


# ---------------------------------------------------------------- the table as a whole


def shuffled(frame: pd.DataFrame, seed: int) -> pd.DataFrame:
    return frame.sample(frac=1, random_state=seed).reset_index(drop=True)


def test_the_order_of_contacts_members_and_extras_changes_nothing() -> None:
    crowded = sorted(
        law.read_cases(), key=lambda c: -len([*c.get("near", []), *c.get("extra", [])])
    )
    for case in crowded[:8]:
        evidence, packs = law.evidence_of(case), law.packs_of(case)
        plain, _ = find(evidence, packs)
        changed = type(evidence)(**{
            **vars(evidence), "contacts": shuffled(evidence.contacts, 3),
            "members": shuffled(evidence.members, 3), "extras": shuffled(evidence.extras, 3),
        })  # fmt: skip
        pd.testing.assert_frame_equal(plain, find(changed, packs)[0])


def test_the_input_is_left_alone() -> None:
    case = law.read_cases()[0]
    evidence = law.evidence_of(case)
    before = [t.copy() for t in (evidence.subjects, evidence.contacts, evidence.extras)]
    find(evidence, law.packs_of(case))
    for old, new in zip(
        before, (evidence.subjects, evidence.contacts, evidence.extras), strict=True
    ):
        pd.testing.assert_frame_equal(old, new)


def test_no_packs_and_no_subjects_give_empty_tables() -> None:
    evidence = law.evidence_of({"packs": [], "parcel": [{"id": "P"}]})
    found, left = find(evidence, [])
    assert found.empty
    assert tuple(found.columns) == FINDING_COLUMNS
    assert left.empty
    empty = type(evidence)(**{**vars(evidence), "subjects": evidence.subjects.iloc[:0]})
    found, left = find(empty, [load_pack("rye-ny-195")])
    assert found.empty
    assert not left.empty
    assert found["value"].dtype == "float64"


def test_as_of_picks_the_number(tmp_path: Path) -> None:
    text = (Path(law.__file__).parents[1] / "src/wetgis/packs/rye-ny-195.toml").read_text("utf-8")
    old = "[parameters.class_a_area]\nvalue = 12.4"
    assert old in text
    dated = "effective = [{ to = 2027-12-31, value = 12.4 }, { from = 2028-01-01, value = 7.4 }]"
    path = tmp_path / "dated.toml"
    path.write_text(text.replace(old, f"[parameters.class_a_area]\n{dated}"), encoding="utf-8")
    answers = []
    for day in ("2026-11-30", "2028-01-01"):
        case = {
            "packs": [str(path)], "as_of": pd.Timestamp(day).date(), "parcel": [{"id": "P"}],
            "near": [{"of": "parcel P", "feature": "wetland W", "distance_ft": 0.0,
                      "whole_sqft": 400000.0}],
        }  # fmt: skip
        row = law.findings_of(case).set_index("rule").loc["RYE-02"]
        answers.append((row["outcome"], row["threshold"]))
    assert answers == [("not_met", 540144.0), ("met", 322344.0)]


def test_columns_of_facts_win_over_the_sites_facts() -> None:
    case = {
        "packs": ["rye-ny-195"],
        "facts": {"proviso_p1": True, "proviso_p2": True, "proviso_p3": True},
        "footprint": [
            {"id": "A", "activity": "mowing", "wetland_ft": 60.0},
            {"id": "B", "activity": "mowing", "wetland_ft": 60.0, "proviso_p2": "no"},
            {"id": "C", "activity": "mowing", "wetland_ft": 60.0, "proviso_p2": "perhaps"},
        ],
    }  # fmt: skip
    found = law.findings_of(case)
    outcomes = found[found["rule"] == "RYE-33"].set_index("subject_id")["outcome"].to_dict()
    assert outcomes == {"A": "met", "B": "not_met", "C": "undetermined"}


def test_records_of_one_id_keep_their_own_rows() -> None:
    case = {
        "packs": ["monroe-ny-46"],
        "parcel": [{"id": "P", "record": 1}, {"id": "P", "record": 2}],
        "near": [{"of": "parcel P", "record": 2, "feature": "watercourse S", "distance_ft": 5.0}],
    }  # fmt: skip
    found = law.findings_of(case)
    rows = found[found["rule"] == "MON-27"].set_index("record")
    assert rows["outcome"].to_dict() == {1: "not_met", 2: "met"}


def test_the_checklist_once_a_run() -> None:
    packs = [load_pack("rye-ny-195"), load_pack("monroe-ny-46")]
    evidence = law.evidence_of({"packs": [], "parcel": [{"id": "P"}, {"id": "Q"}]})
    _, left = find(evidence, packs)
    assert list(left.columns) == ["pack", "rule", "says", "cite"]
    assert not left.duplicated(["pack", "rule"]).any()
    assert left["cite"].str.contains("section number inferred").any()
    assert "MON-59" not in set(left["rule"])
    assert "MON-59" in set(find(evidence, packs[1:])[1]["rule"])
