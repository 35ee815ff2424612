"""Data points: the three criteria, and which one fails.

The vegetation tables with their answers are taken from published data forms and from the
regional supplements' own worked tables, so that the expected numbers are not ours.
"""

from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wetgis.datapoints import data_points, dominants, prevalence
from wetgis.errors import InputError, UsageError

MARCH_TO_OCTOBER = ((3, 1), (10, 31))


def plants(*rows: tuple[str, float, str], point: str = "P") -> pd.DataFrame:
    """Rows of stratum, cover and status."""
    table = pd.DataFrame(rows, columns=["stratum", "cover_pct", "indicator"])
    return table.assign(point=point, species=[f"species {i}" for i in range(len(table))])


def seen(**values: object) -> pd.DataFrame:
    return pd.DataFrame([{"point": "P", **values}])


def test_of(result: object, test: str) -> pd.Series:
    criteria = result.criteria  # type: ignore[attr-defined]
    return criteria[criteria.test == test].iloc[0]


test_of.__test__ = False  # type: ignore[attr-defined]


def test_supplement_table_of_the_prevalence_index() -> None:
    # ERDC/EL TR-10-16, table 3: 451 over 164
    cover = pd.Series([2, 82.5, 41, 31.5, 7.0])
    index, low, high = prevalence(cover, pd.Series(["OBL", "FACW", "FAC", "FACU", "UPL"]))
    assert round(index, 2) == 2.75
    assert index == low == high
    # ERDC/EL TR-08-28, table 5: 108 over 48
    index, *_ = prevalence(pd.Series([42, 3, 3.0]), pd.Series(["FACW", "FAC", "UPL"]))
    assert index == 2.25


# City of Ramsey, Minnesota, sampling point SP5-2upl: 1 of 5 dominants, index 510 over 145.
# One dominant of the herbs has no status; the form counts it among the dominants.
RAMSEY = plants(
    ("tree", 20, "FACU"), ("tree", 20, "FACU"), ("shrub", 70, "FAC"), ("shrub", 10, "FACU"),
    ("herb", 25, "FACU"), ("herb", 25, "none"),
)  # fmt: skip
# Burnett County, Wisconsin, WET-1: 5 of 5 dominants, all tied with the second; 165 over 140.
BURNETT = plants(
    ("herb", 40, "OBL"), ("herb", 25, "OBL"), ("herb", 25, "OBL"), ("herb", 25, "FACW"),
    ("herb", 25, "OBL"),
)  # fmt: skip
# Metropolitan area, Minnesota, SP11-1UD: 1 of 4 dominants, 275 over 75.
UPLAND = plants(
    ("tree", 35, "FAC"), ("herb", 20, "FACU"), ("herb", 10, "UPL"), ("herb", 10, "FACU")
)


@pytest.mark.parametrize(
    ("table", "share", "note", "index", "dominance", "by_index"),
    [
        (RAMSEY, 20, "1 of 5 dominants, 1 of unknown status", 510 / 145, "not_met", "not_met"),
        (BURNETT, 100, "5 of 5 dominants", 165 / 140, "met", "met"),
        (UPLAND, 25, "1 of 4 dominants", 275 / 75, "not_met", "not_met"),
    ],
)
def test_published_forms(
    table: pd.DataFrame, share: float, note: str, index: float, dominance: str, by_index: str
) -> None:
    result = data_points(table, seen(), manual="1987")
    row = test_of(result, "dominance")
    assert (row.value, row.note, row.outcome) == (share, note, dominance)
    row = test_of(result, "prevalence index")
    assert row.value == pytest.approx(index)
    assert row.outcome == by_index


def test_a_prevalence_of_three() -> None:
    """Exactly 3.0 is met by the supplement and not by the 1989 manual."""
    table = plants(("herb", 50, "FACU"), ("herb", 50, "FACW"))
    assert (
        test_of(data_points(table, seen(), manual="1989"), "prevalence index").outcome == "not_met"
    )
    assert test_of(data_points(table, seen(), manual="1987"), "prevalence index").outcome == "met"


def test_half_of_the_dominants_is_not_more_than_half() -> None:
    table = plants(("herb", 50, "FACU"), ("tree", 50, "OBL"))
    row = test_of(data_points(table, seen()), "dominance")
    assert (row.value, row.outcome) == (50, "not_met")


def test_unknown_status_matters_only_where_it_could_turn_the_outcome() -> None:
    turns = plants(("herb", 50, "FACU"), ("tree", 50, "OBL"), ("vine", 5, ""))
    assert test_of(data_points(turns, seen()), "dominance").outcome == "undetermined"
    sure = plants(("herb", 50, "OBL"), ("tree", 50, "OBL"), ("vine", 5, ""))
    assert test_of(data_points(sure, seen()), "dominance").outcome == "met"


def test_signs_behind_a_status() -> None:
    result = data_points(plants(("herb", 50, "FACW+"), ("herb", 40, "fac-")), seen())
    assert result.plants.status.tolist() == ["FACW", "FAC"]


ALL_WET = {"hydric_soil": True, "primary": "A1; B9"}


@pytest.mark.parametrize(
    ("values", "wetland", "failed", "unknown"),
    [
        (ALL_WET, "met", "", ""),
        ({**ALL_WET, "hydric_soil": False}, "not_met", "soil", ""),
        ({**ALL_WET, "hydric_soil": None}, "undetermined", "", "soil"),
        ({**ALL_WET, "hydric_soil": None, "soil_indicator": "F3"}, "met", "", ""),
        ({**ALL_WET, "hydric_soil": "no", "soil_indicator": "F3"}, "undetermined", "", "soil"),
        ({**ALL_WET, "primary": ""}, "not_met", "hydrology", ""),
        ({"hydric_soil": True}, "undetermined", "", "hydrology"),
        ({"hydric_soil": True, "wet_days": 7}, "met", "", ""),
        ({"hydric_soil": True, "wet_days": 6.9}, "not_met", "hydrology", ""),
        ({"hydric_soil": False, "wet_days": 0}, "not_met", "soil;hydrology", ""),
        ({}, "undetermined", "", "soil;hydrology"),
    ],
)
def test_which_criterion_failed(
    values: dict[str, object], wetland: str, failed: str, unknown: str
) -> None:
    row = data_points(BURNETT, seen(**values)).points.iloc[0]
    assert (row.wetland, row.failed, row.unknown) == (wetland, failed, unknown)


def test_secondary_indicators() -> None:
    two = seen(hydric_soil=True, primary="", secondary="B6; C2")
    assert data_points(BURNETT, two, manual="1987").points.wetland[0] == "met"
    one = seen(hydric_soil=True, primary="", secondary="B6")
    assert data_points(BURNETT, one, manual="1987").points.failed[0] == "hydrology"
    # the 1989 manual does not count them
    assert data_points(BURNETT, two, manual="1989").points.failed[0] == "hydrology"


def test_problem_area() -> None:
    dry = plants(("herb", 90, "FACU"))
    row = data_points(dry, seen(**ALL_WET), manual="1989").points.iloc[0]
    assert (row.wetland, row.failed) == ("undetermined", "vegetation")
    assert "delineator decides" in row.says
    assert data_points(dry, seen(**ALL_WET), manual="1987").points.wetland[0] == "not_met"


def test_no_plants() -> None:
    row = data_points(plants(), seen(**ALL_WET)).points.iloc[0]
    assert (row.wetland, row.unknown) == ("undetermined", "vegetation")


def test_side() -> None:
    wet = data_points(BURNETT, seen(**ALL_WET, side="wetland", flag="A-3")).points.iloc[0]
    assert (wet.agrees, wet.flag) == ("true", "A-3")
    assert data_points(BURNETT, seen(**ALL_WET, side="upland")).points.agrees[0] == "false"
    assert data_points(BURNETT, seen(side="upland")).points.agrees[0] == ""


@pytest.mark.parametrize(
    ("day", "outcome"),
    [("2026-03-01", "met"), ("2026-10-31", "met"), ("2026-11-01", "not_met"),
     ("2026-02-28", "not_met")],
)  # fmt: skip
def test_growing_season(day: str, outcome: str) -> None:
    result = data_points(BURNETT, seen(**ALL_WET, date=day), growing_season=MARCH_TO_OCTOBER)
    row = result.criteria[result.criteria.criterion == "season"].iloc[0]
    assert row.outcome == outcome
    # it is said, and changes nothing
    assert result.points.wetland[0] == "met"


def test_season_over_the_turn_of_the_year_and_without_a_date() -> None:
    southern = ((10, 1), (4, 30))
    result = data_points(BURNETT, seen(date="2026-01-15"), growing_season=southern)
    assert "met" in result.criteria[result.criteria.criterion == "season"].outcome.tolist()
    result = data_points(BURNETT, seen(), growing_season=MARCH_TO_OCTOBER)
    assert "season" not in result.criteria.criterion.tolist()


def test_several_points_keep_apart() -> None:
    table = pd.concat([BURNETT.assign(point="1"), UPLAND.assign(point="2")], ignore_index=True)
    result = data_points(table, pd.DataFrame({"point": [1], "hydric_soil": [True]}))
    assert result.points.point.tolist() == ["1", "2"]
    assert result.points.failed.tolist() == ["", "vegetation"]
    assert set(result.criteria.point) == {"1", "2"}
    assert (result.criteria[result.criteria.test == ""].groupby("point").size() == 3).all()


def test_explain() -> None:
    result = data_points(UPLAND, seen(hydric_soil=True, wet_days=3))
    text = result.explain("P")
    assert text.splitlines()[0] == "P: fails vegetation and hydrology"
    assert "dominance: 25 pct not_met (1 of 4 dominants)" in text
    with pytest.raises(UsageError, match="'Q'"):
        result.explain("Q")


def test_refusals() -> None:
    with pytest.raises(InputError, match="cover_pct"):
        data_points(BURNETT.drop(columns="cover_pct"), seen())
    with pytest.raises(InputError, match="twice"):
        data_points(BURNETT, pd.DataFrame({"point": ["P", "P"]}))
    with pytest.raises(UsageError, match="1989"):
        data_points(BURNETT, seen(), manual="2001")
    with pytest.raises(InputError, match="below zero"):
        data_points(plants(("herb", -1, "OBL")), seen())


covers = st.lists(st.integers(0, 100).map(float), min_size=1, max_size=12)


@given(covers, st.randoms(use_true_random=False))
def test_dominants_do_not_depend_on_the_order(cover: list[float], random: object) -> None:
    series = pd.Series(cover)
    chosen = dominants(series)
    order = list(range(len(cover)))
    random.shuffle(order)  # type: ignore[attr-defined]
    again = dominants(series.iloc[order])
    assert chosen.sort_index().tolist() == again.sort_index().tolist()
    total = series.sum()
    if total > 0:
        # together more than half, and nothing larger is left out
        assert series[chosen].sum() > total / 2
        assert series[~chosen].max() != series[~chosen].max() or (
            series[~chosen].max() < series[chosen].min()
        )
