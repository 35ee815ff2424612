"""Repair: what comes out can be computed with, and nothing is lost unsaid."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from wetgis.validity import area_part, repair

BOWTIE = shapely.Polygon([(0, 0), (60, 100), (60, 0), (0, 100)])
SPIKE = shapely.Polygon([(0, 0), (60, 0), (60, 65), (60, 200), (60, 65), (0, 65)])
LOOP = shapely.Polygon(  # a ring that passes through one point twice: a hole that touches it
    [(0, 0), (80, 0), (80, 60), (40, 60), (50, 40), (30, 40), (40, 60), (0, 60)]
)
OVERLAP = shapely.MultiPolygon([shapely.box(0, 0, 50, 48), shapely.box(22, 23, 72, 71)])


def codes(geoms: list[Any], **options: Any) -> list[tuple[str, str, str]]:
    out = repair(geoms, **options)
    return [(i.severity, i.code, i.record_id) for i in out.issues]


@pytest.mark.parametrize(
    ("geom", "before", "after"),
    [
        (BOWTIE, 0.0, 3000.0),
        (SPIKE, 3900.0, 3900.0),
        (LOOP, 4600.0, 4600.0),
        (OVERLAP, 4800.0, 4100.0),
        # a ring that is drawn as a hole but lies outside its shell is ground of its own
        (shapely.Polygon(shapely.box(0, 0, 10, 10).exterior, [shapely.box(20, 0, 25, 5).exterior]),
         75.0, 125.0),
    ],
    ids=["bowtie", "spike", "loop", "overlap", "hole outside"],
)  # fmt: skip
def test_each_fault_keeps_the_ground_it_covers(geom: Any, before: float, after: float) -> None:
    out = repair([geom], ids=["X"])
    (issue,) = out.issues
    assert (issue.severity, issue.code, issue.record_id) == ("note", "repaired", "X")
    assert abs(issue.before_sqft) == pytest.approx(before)
    assert issue.after_sqft == pytest.approx(after)
    assert out.geoms[0].area == pytest.approx(after)
    assert out.geoms[0].is_valid


def test_a_spike_does_not_reach_anything() -> None:
    assert repair([SPIKE]).geoms[0].bounds == (0, 0, 60, 65)


def test_areas_are_square_feet_whatever_the_unit() -> None:
    (issue,) = repair([OVERLAP], sqft_per_unit2=10.0).issues
    assert (issue.before_sqft, issue.after_sqft) == (48_000.0, 41_000.0)
    (issue,) = repair([OVERLAP], sqft_per_unit2=math.nan).issues
    assert math.isnan(issue.before_sqft)


def test_what_cannot_be_used_keeps_its_place() -> None:
    with np.errstate(invalid="ignore"):
        nan = shapely.Polygon([(0, 0), (1, 0), (math.nan, 1)])
        inf = shapely.LineString([(0, 0), (math.inf, 1)])
    flat = shapely.Polygon([(0, 0), (5, 5), (10, 10)])
    geoms = [None, shapely.Polygon(), nan, inf, flat, shapely.box(0, 0, 1, 1)]
    out = repair(geoms, ids=list("abcdef"))
    assert [g is None for g in out.geoms] == [True] * 5 + [False]
    assert [(i.severity, i.code, i.record_id) for i in out.issues] == [
        ("error", "null_geometry", "a"),
        ("error", "empty_geometry", "b"),
        ("error", "non_finite", "c"),
        ("error", "non_finite", "d"),
        ("error", "collapsed", "e"),
    ]


def test_a_bad_z_is_no_fault_of_the_ground() -> None:
    deep = shapely.Polygon([(0, 0, math.nan), (10, 0, 1), (10, 10, math.inf)])
    out = repair([deep])
    assert not shapely.has_z(out.geoms[0])
    assert out.geoms[0].area == 50.0
    assert [i.code for i in out.issues] == ["dropped_dimension"]


def test_m_is_dropped() -> None:
    if not hasattr(shapely, "has_m"):
        pytest.skip("this shapely knows no M")
    out = repair([shapely.from_wkt("LINESTRING ZM (0 0 1 5, 3 4 1 6)")])
    assert out.geoms[0].wkt == "LINESTRING (0 0, 3 4)"


def test_wrong_kinds_are_errors() -> None:
    geoms = [shapely.Point(0, 0), shapely.LineString([(0, 0), (1, 1)]), shapely.box(0, 0, 1, 1)]
    wrong = ("error", "wrong_geometry_type")
    assert codes(geoms, ids=list("abc"), dimensions=(2,)) == [(*wrong, "a"), (*wrong, "b")]
    assert codes(geoms, ids=list("abc"), dimensions=(0,)) == [(*wrong, "b"), (*wrong, "c")]
    assert codes(geoms, ids=list("abc"), dimensions=(0, 1, 2)) == []


def test_of_a_mixed_collection_the_part_that_the_layer_holds() -> None:
    inner = shapely.GeometryCollection([shapely.box(0, 0, 2, 2), shapely.Point(9, 9)])
    mixed = shapely.GeometryCollection([inner, shapely.LineString([(5, 5), (6, 6)])])
    out = repair([mixed], dimensions=(2,))
    assert out.geoms[0].equals(shapely.box(0, 0, 2, 2))
    assert [(i.severity, i.code) for i in out.issues] == [("warning", "wrong_geometry_type")]
    assert repair([mixed], dimensions=(0,)).geoms[0].equals(shapely.Point(9, 9))
    lone = shapely.GeometryCollection([shapely.Point(1, 1)])
    assert repair([lone], dimensions=(2,)).geoms[0] is None
    assert repair([mixed], dimensions=()).geoms[0].equals(mixed)


def test_rings_are_oriented_and_holes_kept() -> None:
    clockwise = shapely.Polygon(
        [(0, 0), (0, 10), (10, 10), (10, 0)], [[(2, 2), (4, 2), (4, 4), (2, 4)]]
    )
    out = repair([clockwise]).geoms[0]
    assert out.area == 96
    assert out.exterior.is_ccw
    assert not out.interiors[0].is_ccw


def test_area_part_of_several() -> None:
    two = shapely.GeometryCollection(
        [shapely.box(0, 0, 1, 1), shapely.box(3, 0, 4, 1), shapely.Point(0, 0)]
    )
    parts = area_part(np.array([two, shapely.Point(0, 0), None, shapely.box(0, 0, 1, 1)]))
    assert [None if p is None else p.geom_type for p in parts] == [
        "MultiPolygon", None, None, "Polygon",
    ]  # fmt: skip


def test_nothing_and_the_empty_list() -> None:
    assert len(repair([]).geoms) == 0
    assert codes([None]) == [("error", "null_geometry", "0")]


def test_the_input_is_not_changed() -> None:
    geoms = np.array([BOWTIE, None], dtype=object)
    repair(geoms)
    assert geoms[0] is BOWTIE


coordinates = st.tuples(st.integers(0, 12), st.integers(0, 12))


@given(st.lists(st.lists(coordinates, min_size=3, max_size=9), min_size=1, max_size=6))
@settings(max_examples=150, deadline=None)
def test_whatever_ring_comes_the_result_is_sound(rings: list[list[tuple[int, int]]]) -> None:
    geoms = [shapely.Polygon(r) for r in rings]
    out = repair(geoms, ids=[str(i) for i in range(len(geoms))], dimensions=(2,))
    told = {i.record_id for i in out.issues}
    for i, (old, new) in enumerate(zip(geoms, out.geoms, strict=True)):
        if new is None:
            assert str(i) in told
            continue
        assert new.is_valid
        assert new.geom_type in {"Polygon", "MultiPolygon"}
        assert old.is_valid or str(i) in told
        assert new.area <= old.envelope.area + 1e-9
        if old.is_valid:
            assert new.equals(old)
    again = repair(list(out.geoms), dimensions=(2,))
    assert [i.code for i in again.issues if i.code != "null_geometry"] == []
