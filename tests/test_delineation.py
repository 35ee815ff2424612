"""Flags to boundaries, polygons and checks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from shapely import LineString, Point

import wetgis
from wetgis.delineation import Delineation, delineate
from wetgis.delineation.area import SIGMAS_95, area_spread, area_variance, shoelace
from wetgis.delineation.lines import CHECKS
from wetgis.errors import CrsError, GeometryError, InputError, OutputError, UsageError

CRS = "EPSG:2260"
OX, OY = 717_000.0, 783_000.0
SQUARE = [(0, 0), (100, 0), (100, 100), (0, 100)]


def flags(
    *places: tuple[float, float] | None,
    names: list[str] | None = None,
    series: str = "A",
    **more: Any,
) -> gpd.GeoDataFrame:
    """Flags by name, A-1 and on where none are given, in feet from a corner at Rye."""
    names = names or [f"{series}-{i + 1}" for i in range(len(places))]
    geometry = [None if p is None else Point(p[0] + OX, p[1] + OY) for p in places]
    return gpd.GeoDataFrame({"name": names, **more}, geometry=geometry, crs=CRS)


def found(result: Delineation, code: str) -> list[str]:
    """Messages of one code."""
    return result.checks.loc[result.checks.code == code, "message"].tolist()


def codes(result: Delineation) -> set[str]:
    return set(result.checks.code)


def both(*frames: gpd.GeoDataFrame) -> gpd.GeoDataFrame:
    import pandas as pd

    return gpd.GeoDataFrame(pd.concat(frames, ignore_index=True), crs=CRS)


# ---- a clean series


def test_a_square() -> None:
    result = wetgis.delineate(flags(*SQUARE), close=True, accuracy_ft=2.4477)
    row = result.wetlands.iloc[0]
    assert (row["id"], row.n_flags, row.closed_by) == ("A", 4, "straight")
    assert row.area_sqft == 10_000
    assert row.perimeter_ft == 400
    # one foot of sigma an axis, four corners, diagonals of 141.42 ft: sqrt(20,002)
    assert row.area_sd_sqft == pytest.approx(141.428, abs=0.01)
    assert row.area_drawn_sd_sqft == pytest.approx(141.428, rel=0.03)
    assert row.area_low_sqft == pytest.approx(10_000 - 1.96 * 141.428, abs=12)
    assert row.area_high_sqft == pytest.approx(10_000 + 1.96 * 141.428, abs=12)
    line = result.boundaries.iloc[0]
    assert (line.closed, line.length_ft, line.closing_ft) == (True, 400, 100)
    assert codes(result) == {"closed"}
    assert result.points.next_ft.tolist()[:3] == [100, 100, 100]
    assert np.isnan(result.points.next_ft.iloc[3])
    assert result.points.next_azimuth_deg.tolist()[:3] == [90, 0, 270]


def test_not_closed_unless_told() -> None:
    result = delineate(flags(*SQUARE))
    assert len(result.wetlands) == 0
    assert list(result.wetlands.columns[:3]) == ["id", "series", "n_flags"]
    assert not result.boundaries.closed[0]
    assert result.boundaries.length_ft[0] == 300
    assert "100.0 ft from A-4 back to A-1" in found(result, "open")[0]


def test_closed_by_its_own_flags() -> None:
    result = delineate(flags(*SQUARE, (0, 0)))
    assert result.wetlands.closed_by[0] == "flags"
    assert result.wetlands.area_sqft[0] == 10_000
    assert result.wetlands.n_flags[0] == 4


def test_in_metres() -> None:
    frame = flags(*SQUARE, accuracy_ft=2.4477)
    metres = delineate(frame.to_crs("EPSG:32115"), close=True)
    row = metres.wetlands.iloc[0]
    assert row.area_sqft == pytest.approx(10_000, abs=0.01)
    assert row.perimeter_ft == pytest.approx(400, abs=1e-3)
    assert row.area_sd_sqft == pytest.approx(141.428, abs=0.01)
    assert metres.points.next_ft[0] == pytest.approx(100, abs=1e-4)


def test_degrees_are_reprojected() -> None:
    frame = flags(*SQUARE).to_crs("EPSG:4269")
    result = delineate(frame, close=True)
    # another grid has another scale: 2e-4 of a length, 4e-4 of an area
    assert result.wetlands.area_sqft[0] == pytest.approx(10_000, rel=4e-4)
    assert "New York" in found(result, "reprojected")[0]
    assert result.provenance["operation"]["from"] == "EPSG:4269"
    json.dumps(result.provenance)


def test_refusals(tmp_path: Path) -> None:
    with pytest.raises(CrsError):
        delineate(flags(*SQUARE).set_crs(None, allow_override=True))
    with pytest.raises(InputError, match="no flags"):
        delineate(flags(*SQUARE).iloc[:0])
    with pytest.raises(UsageError, match="closing_line"):
        delineate(flags(*SQUARE), closing_line="Q")
    with pytest.raises(UsageError, match="close names series B"):
        delineate(flags(*SQUARE), close=["A", "B"])
    with pytest.raises(UsageError, match="islands"):
        delineate(flags(*SQUARE), close=True, islands=["B"])
    with pytest.raises(UsageError, match="seed"):
        delineate(flags(*SQUARE), seed=-1)
    line = gpd.GeoSeries([LineString([(0, 0), (1, 1)])], crs="EPSG:2263")
    with pytest.raises(GeometryError, match="one CRS"):
        delineate(flags(*SQUARE), closing_line=line)
    with pytest.raises(GeometryError, match="no line"):
        delineate(flags(*SQUARE), closing_line=Point(0, 0))
    with pytest.raises(OutputError, match=r"\.gpkg"):
        delineate(flags(*SQUARE)).write(tmp_path / "out.shp")
    with pytest.raises(OutputError, match="folder"):
        delineate(flags(*SQUARE)).write(tmp_path / "none" / "out.gpkg")


def test_input_is_left_alone() -> None:
    frame = flags(*SQUARE)
    before = frame.copy()
    delineate(frame, close=True, accuracy_ft=1)
    assert frame.equals(before)
    assert list(frame.columns) == list(before.columns)


# ---- each kind of defect has its message


def test_natural_order() -> None:
    places = [(float(i), 0.0) for i in range(12)]
    names = [f"A-{i + 1}" for i in range(9)] + ["A-10", "A-10A", "A-11"]
    result = delineate(flags(*places, names=names))
    assert result.points.position.tolist() == list(range(1, 13))
    assert result.boundaries.length_ft[0] == 11
    assert not codes(result) & {"out_of_order", "gap", "repeat"}


def test_gap() -> None:
    result = delineate(flags(*SQUARE, names=["A-1", "A-2", "A-5", "A-6"]))
    assert found(result, "gap") == [
        "3 to 4 are missing between A-2 and A-5; the line goes straight, 100.0 ft"
    ]
    row = result.checks[result.checks.code == "gap"].iloc[0]
    assert (row.series, row.number, row.distance_ft) == ("A", "2", 100)
    result = delineate(flags(*SQUARE, names=["A-3", "A-4", "A-5", "A-7"]))
    assert found(result, "gap")[0] == "the series begins with A-3"
    assert "6 is missing" in found(result, "gap")[1]


def test_repeat() -> None:
    result = delineate(flags(*SQUARE, names=["A-1", "A-2", "A-2", "A-3"]))
    assert found(result, "repeat") == [
        "A-2 stands at two places 100.0 ft apart; both are in the line, in the order of the file"
    ]
    assert result.boundaries.n_flags[0] == 4
    twice = flags((0, 0), (100, 0), (100.03, 0), (100, 100), names=["A-1", "A-2", "A-2", "A-3"])
    result = delineate(twice)
    assert "0.03 ft apart" in found(result, "repeat_same_place")[0]
    assert result.boundaries.n_flags[0] == 3
    assert result.points.position.tolist() == [1, 2, 0, 3]


def test_out_of_order() -> None:
    frame = flags((0, 0), (100, 100), (100, 0), (0, 100), names=["A-1", "A-3", "A-2", "A-4"])
    result = delineate(frame, close=True)
    assert "A-3 stands in the file before A-2" in found(result, "out_of_order")[0]
    # the numbers' order, so no crossing
    assert result.wetlands.area_sqft[0] == 10_000
    backwards = delineate(flags(*SQUARE, names=["A-4", "A-3", "A-2", "A-1"]), close=True)
    assert "from A-4 to A-1" in found(backwards, "reversed")[0]
    assert not found(backwards, "out_of_order")


def test_names_that_cannot_be_used() -> None:
    frame = flags(*SQUARE, (50, 150), (20, 20), names=["A-1", "A-2", "A-3", "A-4", "??", "A"])
    result = delineate(frame, close=True)
    assert "'??'" in found(result, "unreadable_name")[0]
    assert "row 6" in found(result, "unnumbered")[0]
    assert result.wetlands.area_sqft[0] == 10_000
    frame = flags(*SQUARE, names=["1A", "2A", "3A", "4A"])
    assert len(found(delineate(frame), "ambiguous_name")) == 4


def test_no_position() -> None:
    frame = flags((0, 0), (100, 0), None, (100, 100), (0, 100))
    result = delineate(frame, close=True)
    assert found(result, "no_position") == ["A-3 has no position; it is left out"]
    assert "3 is missing" in found(result, "gap")[0]
    assert len(result.points) == 4


def test_without_numbers() -> None:
    result = delineate(flags(*SQUARE, names=["WET"] * 4), close=True)
    assert "order of the file" in found(result, "file_order")[0]
    assert result.wetlands.area_sqft[0] == 10_000


def test_same_place_and_close_flags() -> None:
    frame = flags((0, 0), (100, 0), (100, 0.02), (100, 100), (0, 100))
    assert found(delineate(frame), "same_place") == ["A-2 and A-3 stand at one place"]
    frame = flags((0, 0), (100, 0), (100, 1), (100, 100), (0, 100), accuracy_ft=5.0)
    assert "A-2 and A-3 are 1.00 ft apart" in found(delineate(frame), "close_flags")[0]


def test_spike() -> None:
    frame = flags((0, 0), (50, 0), (50, 60), (51, 0), (100, 0), (100, 100), (0, 100))
    result = delineate(frame, close=True)
    assert (
        "at A-3 the line turns by 179 degrees and comes back 60.0 ft" in found(result, "spike")[0]
    )
    assert result.checks[result.checks.code == "spike"].distance_ft.iloc[0] == pytest.approx(
        60, abs=0.1
    )


def test_long_leg() -> None:
    frame = flags(*[(20.0 * i, 0.0) for i in range(6)], (400, 0), (420, 0))
    assert found(delineate(frame), "long_leg") == [
        "from A-6 to A-7 it is 300.0 ft, 15.0 times the series' median"
    ]


def test_crossing() -> None:
    bow = flags((0, 0), (100, 100), (100, 0), (0, 100))
    result = delineate(bow, close=True, accuracy_ft=1)
    assert found(result, "crossing") == ["the line A-1 to A-2 crosses A-3 to A-4"]
    assert result.wetlands.geometry[0] is None
    assert result.wetlands.area_sqft.isna().all()
    assert result.wetlands["id"].tolist() == ["A"]
    # open it is reported all the same
    assert found(delineate(bow), "crossing")


def test_crossing_of_the_closing_line() -> None:
    frame = flags((0, 0), (100, 0), (100, 100), (50, -50), (0, 100))
    result = delineate(frame, close=True)
    assert found(result, "crossing") == [
        "the line A-1 to A-2 crosses A-3 to A-4",
        "the line A-1 to A-2 crosses A-4 to A-5",
    ]


def test_touch() -> None:
    frame = flags((0, 0), (100, 0), (100, 100), (50, 0), (0, 100))
    result = delineate(frame, close=True)
    assert "meets" in found(result, "touch")[0]
    assert not found(result, "crossing")


def test_flags_at_one_place_do_not_meet_themselves() -> None:
    frame = flags((0, 0), (100, 0), (100, 0), (100, 100), (0, 100))
    result = delineate(frame, close=True)
    assert not codes(result) & {"touch", "crossing"}
    assert result.wetlands.area_sqft[0] == 10_000


def test_series_that_cross_overlap_or_lie_inside() -> None:
    other = flags((50, 50), (150, 50), (150, 150), (50, 150), series="B")
    result = delineate(both(flags(*SQUARE), other), close=True)
    assert found(result, "series_crossing") == ["the lines of A and B cross 2 times"]
    assert found(result, "overlap") == ["A and B share 2,500.0 sq ft"]
    inner = flags((40, 40), (60, 40), (60, 60), (40, 60), series="B")
    result = delineate(both(flags(*SQUARE), inner), close=True)
    assert found(result, "inside") == [
        "series B lies within A; if it is upland, name it in islands"
    ]
    assert result.wetlands.area_sqft.tolist() == [10_000, 400]


def test_islands() -> None:
    inner = flags((40, 40), (60, 40), (60, 60), (40, 60), series="B")
    result = delineate(both(flags(*SQUARE), inner), close=True, islands=["b"], accuracy_ft=2.4477)
    assert result.wetlands["id"].tolist() == ["A"]
    assert result.wetlands.area_sqft[0] == 9_600
    # variances add: 20,002 and 1/4 (4 x 800) + 2
    assert result.wetlands.area_sd_sqft[0] == pytest.approx(np.sqrt(20_002 + 802), abs=0.01)
    outside = flags((400, 40), (460, 40), (460, 60), series="B")
    result = delineate(both(flags(*SQUARE), outside), close=True, islands=["B"])
    assert "lies in no wetland" in found(result, "island")[0]


def test_marks_break_the_line() -> None:
    names = ["A-1", "A-2", "A-3 STREAM", "A-4", "A-5", "A-6"]
    result = delineate(flags(*[(20.0 * i, 0.0) for i in range(6)], names=names), close=True)
    assert result.boundaries.part.tolist() == [1, 2]
    assert result.boundaries.length_ft.tolist() == [40, 40]
    assert "between A-3 and A-4" in found(result, "break")[0]
    assert len(found(result, "open")) == 2
    # at the last flag there is nothing to break
    result = delineate(flags(*SQUARE, names=["A-1", "A-2", "A-3", "A-4 END"]), close=True)
    assert not found(result, "break")
    assert len(result.wetlands) == 1


def test_a_row_that_only_marks() -> None:
    frame = flags(
        (0, 0), (10, 0), None, (20, 0), (30, 0), names=["A-1", "A-2", "END", "A-3", "A-4"]
    )
    result = delineate(frame)
    assert result.boundaries.n_flags.tolist() == [2, 2]
    frame["name"] = ["A-1", "A-2", "START", "A-3", "A-4"]
    assert delineate(frame).boundaries.n_flags.tolist() == [2, 2]


def test_streams_and_ties_are_lines_of_their_own() -> None:
    stream = flags((0, 50), (30, 50), names=["STREAM-1", "STREAM-2"])
    tie = flags((0, 0), (-40, -30), names=["TIE-1", "TIE-2"])
    frame = both(flags(*SQUARE, names=["A-1", "A-2", "A-3", "A-4 TIE TO A-1"]), stream, tie)
    result = delineate(frame, close=True)
    assert result.boundaries.kind.tolist() == ["flag", "stream", "tie"]
    assert result.boundaries.length_ft.tolist() == [400, 30, 50]
    assert result.boundaries.closed.tolist() == [True, False, False]
    assert found(result, "tie") == ["a tie at A-4 to A-1 is noted"]


def test_too_few() -> None:
    assert "one flag" in found(delineate(flags((0, 0))), "too_few")[0]
    result = delineate(flags((0, 0), (10, 0)), close=True)
    assert "three" in found(result, "too_few")[0]
    assert len(result.wetlands) == 0


def test_no_accuracy() -> None:
    frame = flags(*SQUARE, accuracy_ft=[1.0, np.nan, 1.0, 1.0])
    result = delineate(frame, close=True)
    assert (
        "1 of 4 flags of series A state no accuracy (the first is A-2)"
        in (found(result, "no_accuracy")[0])
    )
    assert result.wetlands[["area_low_sqft", "area_sd_sqft"]].isna().all(axis=None)
    assert result.wetlands.area_sqft[0] == 10_000
    filled = delineate(frame, close=True, accuracy_ft=3)
    assert not found(filled, "no_accuracy")
    assert filled.wetlands.accuracy_ft[0] == pytest.approx(3)
    exact = delineate(flags(*SQUARE), close=True, accuracy_ft=0).wetlands.iloc[0]
    assert exact.area_low_sqft == exact.area_sqft == exact.area_high_sqft


# ---- closing along a line

SHORE = [(0, 5), (0, 60), (100, 60), (100, 5)]


def moved(*places: tuple[float, float]) -> LineString:
    return LineString([(x + OX, y + OY) for x, y in places])


def test_closed_along_a_parcel_line() -> None:
    # the line y = 0; both ends stand 5 ft above it
    result = delineate(flags(*SHORE), closing_line=moved((-50, 0), (200, 0)), accuracy_ft=1)
    assert result.wetlands.area_sqft[0] == pytest.approx(6_000, abs=1e-6)
    assert result.wetlands.closed_by[0] == "line"
    assert result.boundaries.length_ft[0] == pytest.approx(320)
    messages = found(result, "closed_along")
    assert "A-1 stands 5.0 ft from the closing line; the boundary is led straight to it" in messages
    assert "closed by 100.0 ft along the closing line" in messages
    assert found(result, "line_accuracy")
    # the corners on the line are exact, the four flags are not
    sigma = np.array([0, 1, 1, 1, 1, 0]) / SIGMAS_95
    ring = np.array([(0, 0), *SHORE, (100, 0)], dtype=float)
    assert result.wetlands.area_sd_sqft[0] == pytest.approx(np.sqrt(area_variance(ring, sigma)))


def test_closed_along_a_bent_line_either_way() -> None:
    bent = [(-50, 0), (50, -20), (200, 0)]
    one = delineate(flags(*SHORE), closing_line=moved(*bent))
    two = delineate(flags(*SHORE), closing_line=moved(*bent[::-1]))
    assert one.wetlands.area_sqft[0] == pytest.approx(two.wetlands.area_sqft[0])
    assert (50 + OX, -20 + OY) in one.wetlands.geometry[0].exterior.coords


def test_closed_along_a_polygon_takes_the_shorter_side() -> None:
    parcel = gpd.GeoDataFrame(
        {"accuracy_ft": [2.0]}, geometry=[shapely.box(OX - 50, OY - 300, OX + 150, OY)], crs=CRS
    )
    result = delineate(flags(*SHORE), closing_line=parcel, accuracy_ft=1)
    assert result.wetlands.area_sqft[0] == pytest.approx(6_000, abs=1e-6)
    assert "100.0 ft one way, 900.0 ft the other" in found(result, "closing_side")[0]
    # the parcel states its accuracy
    assert not found(result, "line_accuracy")


def test_closed_along_another_series() -> None:
    edge = flags((-50, 0), (20, -10), (80, -10), (200, 0), series="B", accuracy_ft=1.0)
    result = delineate(both(flags(*SHORE, accuracy_ft=1.0), edge), closing_line="b")
    assert result.wetlands["id"].tolist() == ["A"]
    assert (20 + OX, -10 + OY) in result.wetlands.geometry[0].exterior.coords
    assert result.wetlands.area_sd_sqft[0] > 0
    assert "along series B" in found(result, "closed_along")[-1]
    assert len(found(result, "open")) == 1  # B itself


def test_far_from_the_closing_line() -> None:
    result = delineate(flags(*SHORE), closing_line=moved((-50, -500), (200, -500)))
    assert "A-1 stands 505.0 ft" in found(result, "closing_far")[0]


def test_only_the_series_named() -> None:
    frame = both(flags(*SQUARE), flags((300, 0), (400, 0), (400, 90), series="B"))
    result = delineate(frame, close=["b"])
    assert result.wetlands["id"].tolist() == ["B"]
    assert len(found(result, "open")) == 1


def test_ends_on_the_line_itself() -> None:
    shore = [(0, 0), (0, 60), (100, 60), (100, 0)]
    result = delineate(flags(*shore), closing_line=moved((-50, 0), (200, 0)))
    assert len(result.wetlands.geometry[0].exterior.coords) == 5
    assert not codes(result) & {"touch", "crossing"}


# ---- invariants

coordinate = st.floats(-500, 500, allow_nan=False).map(lambda v: round(v, 2))


@st.composite
def stars(draw: st.DrawFn) -> list[tuple[float, float]]:
    """Corners of a simple polygon: one radius an angle."""
    n = draw(st.integers(3, 12))
    radii = draw(st.lists(st.floats(20, 400), min_size=n, max_size=n))
    turn = draw(st.floats(0, 6.28))
    angles = turn + np.arange(n) * 2 * np.pi / n
    return [
        (float(r * np.cos(a)), float(r * np.sin(a))) for r, a in zip(radii, angles, strict=True)
    ]


@given(
    stars(),
    st.integers(0, 11),
    st.booleans(),
    st.lists(st.floats(0.1, 9), min_size=12, max_size=12),
)
@settings(max_examples=60, deadline=None)
def test_rotating_and_reversing_change_nothing(
    places: list[tuple[float, float]], start: int, back: bool, accuracies: list[float]
) -> None:
    accuracy = accuracies[: len(places)]
    one = delineate(flags(*places, accuracy_ft=accuracy), close=True)
    step = -1 if back else 1
    order = np.roll(np.arange(len(places))[::step], start)
    two = delineate(
        flags(*[places[i] for i in order], accuracy_ft=[accuracy[i] for i in order]), close=True
    )
    assert one.wetlands.geometry[0].wkb == two.wetlands.geometry[0].wkb
    for column in ("area_sqft", "area_low_sqft", "area_high_sqft", "area_sd_sqft", "perimeter_ft"):
        assert one.wetlands[column].tolist() == two.wetlands[column].tolist()


@given(stars(), st.randoms(use_true_random=False))
@settings(max_examples=30, deadline=None)
def test_rows_in_any_order(places: list[tuple[float, float]], random: Any) -> None:
    frame = flags(*places, accuracy_ft=1.0)
    rows = list(range(len(places)))
    random.shuffle(rows)
    one, two = delineate(frame, close=True), delineate(frame.iloc[rows], close=True)
    assert one.wetlands.geometry[0].wkb == two.wetlands.geometry[0].wkb
    assert one.wetlands.area_low_sqft.tolist() == two.wetlands.area_low_sqft.tolist()
    assert one.boundaries.length_ft.tolist() == two.boundaries.length_ft.tolist()


@given(stars(), st.floats(0.1, 5))
@settings(max_examples=25, deadline=None)
def test_drawn_and_closed_form_agree(places: list[tuple[float, float]], sigma: float) -> None:
    ring, errors = np.array(places), np.full(len(places), sigma)
    closed, drawn, low, high = area_spread([ring], [errors], draws=4_000)
    area = abs(shoelace(ring))
    # areas are drawn as sizes: where the error is a fraction of the area they agree
    if closed < area / 6:
        assert drawn == pytest.approx(closed, rel=0.08)
        assert low == pytest.approx(area - 1.96 * closed, abs=0.25 * closed)
    assert low <= area <= high


@given(st.lists(st.tuples(coordinate, coordinate), min_size=1, max_size=9))
@settings(max_examples=80, deadline=None)
def test_any_places_give_an_answer(places: list[tuple[float, float]]) -> None:
    result = delineate(flags(*places), close=True, accuracy_ft=3)
    assert set(result.checks.code) <= set(CHECKS)
    known = result.wetlands.area_sqft.notna()
    assert result.wetlands.geometry[known].is_valid.all()
    assert (result.wetlands.area_low_sqft[known] <= result.wetlands.area_sqft[known]).all()
    assert (result.wetlands.area_sqft[known] <= result.wetlands.area_high_sqft[known]).all()
    # what has no polygon has a reason
    if len(result.wetlands) == 0 or not known.all():
        assert codes(result) & {"crossing", "too_few", "same_place", "touch", "spike"}


def test_seeds() -> None:
    frame = flags(*SQUARE, accuracy_ft=5.0)
    one, again = (delineate(frame, close=True).wetlands.area_low_sqft[0] for _ in range(2))
    assert one == again
    assert one != delineate(frame, close=True, seed=1).wetlands.area_low_sqft[0]
    # another series in the file changes nothing
    more = both(frame, flags((300, 0), (400, 0), (400, 90), series="B", accuracy_ft=5.0))
    assert delineate(more, close=True).wetlands.area_low_sqft[0] == one


def test_many_flags_stay_in_memory() -> None:
    angle = np.linspace(0, 2 * np.pi, 1_501)[:-1]
    places = [
        (float(x), float(y))
        for x, y in zip(2_000 * np.cos(angle), 2_000 * np.sin(angle), strict=True)
    ]
    result = delineate(flags(*places), close=True, accuracy_ft=3)
    row = result.wetlands.iloc[0]
    assert row.area_drawn_sd_sqft == pytest.approx(row.area_sd_sqft, rel=0.03)


# ---- written


def test_write(tmp_path: Path) -> None:
    import pyogrio

    result = delineate(flags(*SQUARE), close=True, accuracy_ft=2)
    path = result.write(tmp_path / "out.gpkg")
    assert {name for name, _ in pyogrio.list_layers(path)} == {
        "wetlands", "boundaries", "points", "checks", "provenance"
    }  # fmt: skip
    back = gpd.read_file(path, layer="wetlands")
    assert back.area_sqft[0] == 10_000
    assert back.crs.to_epsg() == 2260
    assert [p.name for p in tmp_path.iterdir()] == ["out.gpkg"]
    result.write(path)
    # with nothing closed and nothing wrong the layers are there all the same
    delineate(flags(*SQUARE)).write(tmp_path / "open.gpkg")
    assert len(gpd.read_file(tmp_path / "open.gpkg", layer="wetlands")) == 0


def test_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "flags.gpkg"
    flags(*SQUARE).to_file(path, layer="flags")
    assert wetgis.delineate(path, close=True).wetlands.area_sqft[0] == 10_000


def test_the_page_lists_every_check() -> None:
    page = Path(__file__).resolve().parents[1] / "docs" / "delineation.md"
    rows = [line for line in page.read_text("utf-8").splitlines() if line.startswith("| `")]
    listed = {row.split("|")[1].strip(" `"): row.split("|")[2].strip() for row in rows}
    assert {code: listed.get(code) for code in CHECKS} == CHECKS
