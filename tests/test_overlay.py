"""Areas, distances and contacts of plain frames: any index, any geometry, any unit."""

from __future__ import annotations

from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely
from tests.engine_makers import RYE, box, frame, moved

import wetgis
from wetgis.errors import CrsError, GeometryError

LOTS = [box(0, 0, 100, 100), box(100, 0, 200, 100), box(500, 0, 600, 100)]
MARSHES = [box(50, 0, 150, 50), box(50, 0, 150, 50), box(140, 0, 160, 100)]


def lots(**columns: Any) -> gpd.GeoDataFrame:
    return frame(LOTS, **columns)


# ---------------------------------------------------------------- areas


@pytest.mark.parametrize(
    "index",
    [
        [0, 1, 2],
        [7, 3, 5],
        ["x", "y", "z"],
        [4, 4, 4],
        pd.MultiIndex.from_tuples([(1, "a"), (1, "b"), (2, "a")]),
        pd.DatetimeIndex(["2026-01-01", "2026-01-03", "2026-01-02"]),
    ],
    ids=["range", "shuffled", "words", "all the same", "two levels", "days"],
)
def test_the_index_is_the_subjects_and_pairs_nothing(index: Any) -> None:
    subjects, marshes = lots(), frame(MARSHES)
    subjects.index = index
    marshes.index = list(reversed(range(10, 13)))
    areas = wetgis.overlap_area(subjects, marshes)
    assert areas.index.equals(subjects.index)
    assert areas.tolist() == pytest.approx([2_500, 4_000, 0])
    feet = wetgis.distance_to(subjects, marshes)
    assert feet.index.equals(subjects.index)
    assert feet.tolist() == [0, 0, 340]


def test_each_square_foot_once() -> None:
    lot = frame([box(0, 0, 200, 100)])
    assert wetgis.overlap_area(lot, frame(MARSHES)).tolist() == pytest.approx([6_500])
    apart = wetgis.overlap_area(lot, frame(MARSHES, kind=["p", "p", "q"]), by="kind")
    assert list(apart.columns) == ["p", "q"]
    assert apart.iloc[0].tolist() == pytest.approx([5_000, 2_000])


def test_a_column_a_value_and_none_for_what_has_none() -> None:
    marshes = frame(MARSHES)
    by = pd.Series(["p", None, "q"], index=marshes.index)
    found = wetgis.overlap_area(lots(), marshes, by=by)
    assert list(found.columns) == ["p", "q"]
    assert found["q"].tolist() == pytest.approx([0, 2_000, 0])
    with pytest.raises(GeometryError, match="colour"):
        wetgis.overlap_area(lots(), marshes, by="colour")
    with pytest.raises(GeometryError):
        wetgis.overlap_area(lots(), marshes.geometry, by="kind")


def test_the_same_frame_gives_each_row_its_own_area() -> None:
    both = frame([box(0, 0, 10, 10), box(5, 0, 25, 10)])
    assert wetgis.overlap_area(both, both).tolist() == [100, 200]
    assert wetgis.overlap_area(both, both.copy()).tolist() == [100, 200]
    assert wetgis.distance_to(both, both).tolist() == [0, 0]


def test_none_empty_and_broken_subjects_keep_their_rows() -> None:
    subjects = frame([box(0, 0, 10, 10)] * 5)
    bowtie = shapely.Polygon([(0, 0), (10, 10), (10, 0), (0, 10)])
    with np.errstate(invalid="ignore"):
        lost = shapely.Polygon([(0, 0), (np.nan, 1), (5, 5)])
        shapes = [
            None,
            shapely.Polygon(),
            moved(lost, RYE),
            moved(bowtie, RYE),
            subjects.geometry[0],
        ]
    subjects.geometry = gpd.GeoSeries(shapes, crs=2260)
    everywhere = frame([box(-50, -50, 50, 50)])
    areas = wetgis.overlap_area(subjects, everywhere).to_numpy()
    assert np.isnan(areas[:3]).all()
    assert areas[3:].tolist() == pytest.approx([50, 100])
    feet = wetgis.distance_to(subjects, everywhere).to_numpy()
    assert np.isnan(feet[:3]).all()
    assert feet[3:].tolist() == [0, 0]


def test_broken_features_are_mended_or_passed_over() -> None:
    bowtie = shapely.Polygon([(0, 0), (100, 100), (100, 0), (0, 100)])
    with np.errstate(invalid="ignore"):
        marshes = frame([bowtie, shapely.Polygon([(0, 0), (np.inf, 0), (9, 9)])])
    marshes.loc[2] = ["n", None]
    assert wetgis.overlap_area(lots(), marshes).tolist() == pytest.approx([5_000, 0, 0])
    assert wetgis.distance_to(lots(), marshes).tolist() == [0, 0, 400]


def test_lines_and_points_have_no_area() -> None:
    thin = frame([shapely.LineString([(0, 0), (90, 90)]), shapely.Point(5, 5)])
    assert wetgis.overlap_area(lots(), thin).tolist() == [0, 0, 0]
    assert wetgis.overlap_area(thin, lots()).tolist() == [0, 0]
    assert wetgis.distance_to(thin, lots()).tolist() == [0, 0]
    assert wetgis.distance_to(thin, frame([shapely.Point(5, 10)])).tolist() == pytest.approx(
        [25 / np.sqrt(2) / 5, 5]
    )


def test_no_features_is_zero_and_infinitely_far() -> None:
    nothing = frame([])
    assert wetgis.overlap_area(lots(), nothing).tolist() == [0, 0, 0]
    assert wetgis.distance_to(lots(), nothing).tolist() == [np.inf] * 3
    assert len(wetgis.contacts(lots(), nothing, 100)) == 0
    assert wetgis.overlap_area(nothing, lots()).tolist() == []
    assert wetgis.distance_to(nothing, lots()).tolist() == []
    assert len(wetgis.contacts(nothing, lots(), 100)) == 0
    assert wetgis.overlap_area(lots(), nothing, by="id").shape == (3, 0)


def test_a_collection_is_measured_once_and_flat() -> None:
    twice = shapely.GeometryCollection(
        [shapely.MultiPolygon([box(0, 0, 10, 10), box(900, 0, 910, 10)]), box(5, 0, 15, 10)]
    )
    subjects = frame([twice])
    assert wetgis.overlap_area(subjects, frame([box(-99, -99, 99, 99)])).tolist() == [150]
    assert wetgis.distance_to(frame([box(400, 0, 410, 10)]), subjects).tolist() == [385]


def test_a_channel_is_measured_from_its_banks() -> None:
    stream = frame([shapely.LineString([(0, 0), (500, 0)])], half_width_ft=[10.0])
    shed = frame([shapely.Point(250, 105)])
    assert wetgis.distance_to(shed, stream).tolist() == [95]
    assert wetgis.distance_to(shed, stream.drop(columns="half_width_ft")).tolist() == [105]
    lot = frame([box(100, 0, 200, 50)])
    assert wetgis.overlap_area(lot, stream).tolist() == pytest.approx([1_000])
    assert wetgis.contacts(lot, stream, 100)["area_sqft"].tolist() == pytest.approx([1_000])


def test_feet_whatever_the_unit_of_the_crs() -> None:
    at = (300_000.0, 60_000.0)
    metres = {"at": at, "crs": "EPSG:32118"}
    lot, pond = frame([box(0, 0, 100, 100)], **metres), frame([box(50, 0, 90, 100)], **metres)
    foot = 1200 / 3937
    assert wetgis.overlap_area(lot, pond).iloc[0] == pytest.approx(4_000 / foot**2, rel=1e-12)
    away = frame([box(130, 0, 150, 100)], **metres)
    assert wetgis.distance_to(lot, away).iloc[0] == pytest.approx(30 / foot, rel=1e-12)
    row = wetgis.contacts(lot, away, 100.0).iloc[0]
    assert row["distance_ft"] == pytest.approx(30 / foot, rel=1e-12)
    assert row["whole_sqft"] == pytest.approx(2_000 / foot**2, rel=1e-12)
    assert len(wetgis.contacts(lot, away, 98.0)) == 0


def test_no_crs_two_crs_and_degrees_are_refused() -> None:
    a, b = lots(), frame(MARSHES)
    for call in (wetgis.overlap_area, wetgis.distance_to, lambda x, y: wetgis.contacts(x, y, 9)):
        with pytest.raises(CrsError):
            call(a.set_crs(None, allow_override=True), b)
        with pytest.raises(CrsError):
            call(a, b.to_crs(2263))
        with pytest.raises(CrsError):
            call(a.to_crs(4326), b.to_crs(4326))
        with pytest.raises(CrsError):
            call(a.to_crs(3857), b.to_crs(3857))


def test_nothing_is_changed() -> None:
    subjects, marshes = lots(n=[1, 2, 3]), frame(MARSHES, half_width_ft=[1.0, 2.0, 3.0])
    before = [pd.DataFrame(f.copy(deep=True)) for f in (subjects, marshes)]
    wetgis.overlap_area(subjects, marshes)
    wetgis.distance_to(subjects, marshes)
    wetgis.contacts(subjects, marshes, 100)
    pd.testing.assert_frame_equal(pd.DataFrame(subjects), before[0])
    pd.testing.assert_frame_equal(pd.DataFrame(marshes), before[1])


def test_order_and_duplicates_of_features_change_nothing() -> None:
    rng = np.random.default_rng(8)
    at = rng.uniform(0, 900, (40, 2))
    marshes = frame(
        [shapely.Point(p).buffer(r) for p, r in zip(at, rng.uniform(20, 150, 40), strict=True)]
    )
    subjects = frame([box(x, y, x + 90, y + 70) for x, y in rng.uniform(0, 900, (60, 2))])
    first = wetgis.overlap_area(subjects, marshes)
    again = marshes.sample(frac=1, random_state=1)
    assert (wetgis.overlap_area(subjects, again) == first).all()
    again = pd.concat([again, marshes.iloc[:7]])
    assert wetgis.overlap_area(subjects, again).to_numpy() == pytest.approx(first, abs=1e-7)
    exact = shapely.area(shapely.intersection(subjects.geometry.values, marshes.union_all()))
    assert first.to_numpy() == pytest.approx(exact, abs=1e-6)
    assert (wetgis.distance_to(subjects, again) == wetgis.distance_to(subjects, marshes)).all()


# ---------------------------------------------------------------- contacts


def test_who_meets_whom() -> None:
    marshes = frame(
        [box(50, 0, 150, 50), box(300, 0, 400, 100)], name=["Long Marsh", None], basis=["nwi", ""]
    )
    marshes["class"] = ["PEM1", "PFO1"]
    found = wetgis.contacts(lots(), marshes, 100)
    assert found[["subject_id", "feature_id", "distance_ft"]].to_numpy().tolist() == [
        ["a", "a", 0.0], ["b", "a", 0.0], ["b", "b", 100.0], ["c", "b", 100.0],
    ]  # fmt: skip
    assert found["area_sqft"].tolist() == pytest.approx([2_500, 2_500, 0, 0])
    assert found["whole_sqft"].tolist() == pytest.approx([5_000, 5_000, 10_000, 10_000])
    assert found["name"].tolist() == ["Long Marsh", "Long Marsh", "", ""]
    assert found["class"].tolist() == ["PEM1", "PEM1", "PFO1", "PFO1"]
    assert found.geometry.is_empty.tolist() == [True, True, False, False]
    assert found.geometry.length.tolist() == pytest.approx([0, 0, 100, 100])
    assert found.crs == marshes.crs


def test_exactly_at_the_distance_and_a_hair_beyond() -> None:
    lot = frame([box(0, 0, 300, 200)])
    at = frame([box(400, 50, 500, 150), box(400.01, 50, 500, 150)])
    found = wetgis.contacts(lot, at, 100)
    assert found["feature_id"].tolist() == ["a"]
    assert found["distance_ft"].tolist() == [100.0]


def test_rows_of_one_id_are_one_feature() -> None:
    marsh = frame([box(50, 0, 150, 50), box(160, 0, 170, 50), box(130, 0, 150, 50)], id=["m"] * 3)
    found = wetgis.contacts(lots(), marsh, 10)
    assert found["feature_id"].tolist() == ["m", "m"]
    assert found["whole_sqft"].tolist() == pytest.approx([5_500, 5_500])
    assert found["area_sqft"].tolist() == pytest.approx([2_500, 3_000])


def test_the_length_of_a_line_inside() -> None:
    brook = frame([shapely.LineString([(-50, 50), (150, 50)])])
    found = wetgis.contacts(lots(), brook, 0)
    assert found["length_ft"].tolist() == pytest.approx([100, 50])
    assert found["area_sqft"].tolist() == [0, 0]
    back = wetgis.contacts(brook, lots(), 0)
    assert back["length_ft"].tolist() == pytest.approx([100, 50])


def test_the_index_serves_where_there_is_no_id() -> None:
    subjects, marshes = lots().drop(columns="id"), frame(MARSHES[:1]).drop(columns="id")
    subjects.index, marshes.index = [5, 6, 7], ["m9"]
    found = wetgis.contacts(subjects, marshes, 1)
    assert found["subject_id"].tolist() == ["5", "6"]
    assert found["feature_id"].tolist() == ["m9", "m9"]


def test_far_and_many_agree_with_the_distance() -> None:
    rng = np.random.default_rng(4)
    marshes = frame(
        [shapely.Point(p).buffer(r).difference(shapely.Point(p).buffer(r / 2))
         for p, r in zip(rng.uniform(-4000, 4000, (30, 2)), rng.uniform(20, 700, 30), strict=True)]
    )  # fmt: skip
    subjects = frame([box(x, y, x + 90, y + 70) for x, y in rng.uniform(-4000, 4000, (120, 2))])
    found = wetgis.contacts(subjects, marshes, 250)
    distance = shapely.distance(
        subjects.geometry.to_numpy()[:, None], marshes.geometry.to_numpy()[None, :]
    )
    area = shapely.area(shapely.intersection(
        subjects.geometry.to_numpy()[:, None], marshes.geometry.to_numpy()[None, :]
    ))  # fmt: skip
    s = [subjects["id"].tolist().index(i) for i in found["subject_id"]]
    m = [marshes["id"].tolist().index(i) for i in found["feature_id"]]
    assert len(found) == (distance <= 250).sum()
    assert found["distance_ft"].to_numpy() == pytest.approx(distance[s, m], abs=1e-9)
    assert found["area_sqft"].to_numpy() == pytest.approx(area[s, m], abs=1e-6)
    assert found.geometry.length.to_numpy() == pytest.approx(distance[s, m], abs=1e-9)
