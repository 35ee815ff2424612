"""Two delineations of one place."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from shapely import LineString, Point

import wetgis
from wetgis.compare import compare
from wetgis.delineation import delineate
from wetgis.delineation.separation import farthest, profile
from wetgis.errors import GeometryError, InputError, WetgisError

CRS = "EPSG:2260"
OX, OY = 717_000.0, 783_000.0


def flags(*places: tuple[float, float], series: str) -> gpd.GeoDataFrame:
    names = [f"{series}-{i + 1}" for i in range(len(places))]
    points = [Point(x + OX, y + OY) for x, y in places]
    return gpd.GeoDataFrame({"name": names}, geometry=points, crs=CRS)


A = delineate(flags((0, 0), (100, 0), (100, 100), (50, 100), (0, 100), series="A"), close=True)
# B bulges to y = 130 at x = 50 and gives up a strip of 10 ft on the right
B = delineate(flags((0, 0), (90, 0), (90, 100), (50, 130), (0, 100), series="B"), close=True)


def test_by_hand() -> None:
    result = compare(A, B)
    area = dict(zip(result.totals.what, result.totals.area_sqft, strict=True))
    assert area["A"] == 10_000
    assert area["B"] == 9_000 + 90 * 30 / 2
    assert area["only A"] == 1_000
    assert area["only B"] == 1_350
    assert area["both"] == 9_000
    assert area["either"] == 11_350
    strips = result.strips.set_index("strip")
    assert strips.index.tolist() == ["A1", "B1"]
    assert strips.area_sqft.tolist() == [1_000, 1_350]
    assert strips.width_ft.tolist() == pytest.approx([10, 30])
    assert strips.flags_a.tolist() == ["A-2 to A-3", "A-4 to A-5"]
    assert strips.flags_b.tolist() == ["B-2 to B-3", "B-3 to B-5"]
    assert not strips.sliver.any()
    far = result.separation.set_index("walked")
    assert far.distance_ft["B to A"] == pytest.approx(30)
    assert far.near_flags["B to A"] == "B-4"
    # on A's upper side, as far from the left flank of B's peak as from the right one
    left, right = 30 / np.hypot(50, 30), 30 / np.hypot(40, 30)
    assert far.distance_ft["A to B"] == pytest.approx(90 * right / (1 + right / left))
    assert result.findings is None
    assert "farthest apart by 30.00 ft, near B-4" in result.summary()


def test_profile_is_signed() -> None:
    result = compare(A, B, step_ft=1)
    shift = result.profile.shift_ft
    assert shift.max() == pytest.approx(10)
    # under B's peak A falls short; the step of 1 ft may miss the farthest place by half of that
    assert shift.min() == pytest.approx(-24.9286, abs=0.5)
    assert result.profile.along_ft.iloc[-1] == pytest.approx(400)
    assert (np.diff(result.profile.along_ft) <= 1 + 1e-9).all()


def test_equal_ones_have_no_strip() -> None:
    result = compare(A, A)
    assert len(result.strips) == 0
    assert result.separation.distance_ft.tolist() == [0, 0]
    assert (result.profile.shift_ft == 0).all()
    assert list(result.strips.columns)[:2] == ["strip", "only_in"]


def test_a_sliver_is_listed() -> None:
    moved = gpd.GeoDataFrame(
        {"id": ["w"]}, geometry=[shapely.box(OX, OY, OX + 100.01, OY + 100)], crs=CRS
    )
    result = compare(A, moved)
    assert result.strips.sliver.tolist() == [True]
    # polygons without flags are named by their id
    assert result.strips.flags_b.tolist() == ["w"]


def test_in_metres() -> None:
    def metres(result: object) -> gpd.GeoDataFrame:
        return result.wetlands.to_crs("EPSG:32115")  # type: ignore[attr-defined]

    result = compare(metres(A), metres(B))
    assert result.strips.area_sqft.tolist() == pytest.approx([1_000, 1_350], rel=1e-6)
    assert result.separation.distance_ft.max() == pytest.approx(30, rel=1e-6)


def test_from_files(tmp_path: Path) -> None:
    a, b = A.write(tmp_path / "a.gpkg"), B.write(tmp_path / "b.gpkg")
    result = compare(a, b)
    assert result.strips.area_sqft.tolist() == pytest.approx([1_000, 1_350])
    assert result.strips.flags_a.tolist() == ["A-2 to A-3", "A-4 to A-5"]


def test_refusals() -> None:
    with pytest.raises(WetgisError):
        compare(A, B.wetlands.to_crs("EPSG:2263"))
    with pytest.raises(InputError, match="B has no polygon"):
        compare(A, delineate(flags((0, 0), (9, 9), series="C")))
    bow = shapely.Polygon([(0, 0), (9, 9), (9, 0), (0, 9)])
    with pytest.raises(GeometryError, match="not valid"):
        compare(gpd.GeoDataFrame({"id": ["w"]}, geometry=[bow], crs=CRS), A)


class FakeSite:
    """A site that keeps what its wetlands are replaced by."""

    def with_layers(self, *, wetlands: gpd.GeoDataFrame) -> gpd.GeoDataFrame:
        return wetlands


def test_findings_under_a_b_both_either() -> None:
    def screened(wetlands: gpd.GeoDataFrame) -> SimpleNamespace:
        """More than 10,500 sq ft is met under one rule; another never turns."""
        big = "met" if wetlands.area.sum() > 10_100 else "not_met"
        rows = [("S-1", big, ""), ("S-1", "not_met", "B"), ("S-2", "met", "")]
        return SimpleNamespace(
            findings=pd.DataFrame(
                {
                    "subject_kind": "parcel",
                    "subject_id": "7",
                    "record": 1,
                    "pack": "p",
                    "rule": [r for r, _, _ in rows],
                    "outcome": [o for _, o, _ in rows],
                    "answer": "flag",
                    "feature_id": [f for _, _, f in rows],
                }
            )
        )

    table = compare(A, B, site=FakeSite(), screen=screened).findings  # type: ignore[arg-type]
    assert table is not None
    row = table.set_index("rule").loc["S-1"]
    assert [row[f"outcome_{c}"] for c in ("a", "b", "both", "either")] == [
        "not_met", "met", "not_met", "met"
    ]  # fmt: skip
    assert table.set_index("rule").differs.to_dict() == {"S-1": True, "S-2": False}


def test_a_site_is_screened_under_each() -> None:
    """A shed 95 ft from A's boundary and 105 ft from B's: a permit turns with the choice."""
    shed = gpd.GeoDataFrame(
        {"id": ["shed"], "activity": ["shed"]},
        geometry=[shapely.box(OX + 195, OY + 40, OX + 205, OY + 50)],
        crs=CRS,
    )
    site = wetgis.Site.from_layers(footprints=shed, packs=["rye-ny-195"], as_of="2026-11-30")
    table = compare(A, B, site=site).findings
    assert table is not None
    row = table[table.rule == "RYE-12"].iloc[0]
    outcomes = {case: row[f"outcome_{case}"] for case in ("a", "b", "both", "either")}
    assert (outcomes["a"], outcomes["either"]) == ("met", "met")
    assert outcomes["b"] == outcomes["both"] != "met"
    assert row.differs


# ---- the largest distance


def test_between_the_corners() -> None:
    """Farthest from a gate of two posts is the middle, where neither line has a corner."""
    posts = shapely.MultiLineString([[(0, 0), (0, 5)], [(10, 0), (10, 5)]])
    found = farthest(LineString([(0, 0), (10, 0)]), posts)
    assert found.distance == pytest.approx(5, abs=1e-6)
    assert found.at.x == pytest.approx(5, abs=1e-5)
    assert found.line.length == pytest.approx(5, abs=1e-6)


def test_side_by_side_over_miles() -> None:
    x = np.linspace(0, 10_000, 5_001)
    one = LineString(np.column_stack([x, np.zeros_like(x)]))
    two = LineString(np.column_stack([x, np.full_like(x, 7.0)]))
    assert farthest(one, two).distance == pytest.approx(7, abs=1e-9)


corner = st.tuples(st.integers(0, 100), st.integers(0, 100))


@given(st.lists(corner, min_size=2, max_size=8), st.lists(corner, min_size=2, max_size=8))
@settings(max_examples=80, deadline=None)
def test_against_a_dense_search(a: list[tuple[int, int]], b: list[tuple[int, int]]) -> None:
    one, two = LineString(a), LineString(b)
    if one.length == 0 or two.length == 0:
        return
    step = 0.05
    dense = shapely.points(shapely.get_coordinates(shapely.segmentize(one, step)))
    searched = shapely.distance(dense, two).max()
    found = farthest(one, two).distance
    assert searched - 1e-6 <= found <= searched + step / 2 + 1e-6


def test_profile_walks_holes() -> None:
    ring = shapely.box(0, 0, 10, 10).difference(shapely.box(4, 4, 6, 6))
    along, shift, places = profile(ring, shapely.box(0, 0, 10, 10), step=1)
    assert along[-1] == pytest.approx(48)
    assert shift.min() == pytest.approx(-4)
    assert len(along) == len(places)
