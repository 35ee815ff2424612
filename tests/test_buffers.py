"""Buffers: worked cases, closed forms, and outlines measured by another way."""

from __future__ import annotations

from math import acos, cos, pi, radians, sin, sqrt
from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely
from tests.engine_makers import (
    RYE,
    arc_deficit,
    boundary_distance,
    box,
    frame,
    moved,
    outline_points,
    worst_deviation,
)

import wetgis
from wetgis.buffers import _banks_by_segment, audited_zone, bank_polygons, quad_segments
from wetgis.errors import CrsError, GeometryError

CIRCLE = pi * 100.0**2


def ring(features: gpd.GeoDataFrame, distance: float = 100.0, **keys: Any) -> float:
    zone = wetgis.buffer_zone(features, distance, **keys)
    assert zone.crs == features.crs
    assert bool(zone.is_valid.all())
    return float(zone.area.sum())


def close(found: float, exact: float, turns: float = 1.0) -> bool:
    """Exact, but for what the chords of the arcs leave out."""
    return exact - arc_deficit(100.0, turns) <= found <= exact + 0.01


# ---------------------------------------------------------------- worked cases


def test_a_rectangle(origin: tuple[float, float]) -> None:
    marsh = frame([box(0, 0, 200, 100)], origin)
    assert close(ring(marsh), 600 * 100 + CIRCLE)


def test_a_round_wetland(origin: tuple[float, float]) -> None:
    pond = shapely.Point(0, 0).buffer(200, quad_segs=256)
    exact = pond.length * 100 + CIRCLE
    assert close(ring(frame([pond], origin)), exact)
    assert exact == pytest.approx(157_079.63, abs=2.0)


def test_a_small_island_is_all_buffer(origin: tuple[float, float]) -> None:
    marsh = frame([box(0, 0, 400, 400, (125, 125, 275, 275))], origin)
    assert close(ring(marsh), 1600 * 100 + CIRCLE + 22_500)


def test_a_large_island_keeps_a_free_core(origin: tuple[float, float]) -> None:
    marsh = frame([box(0, 0, 600, 600, (150, 150, 450, 450))], origin)
    assert close(ring(marsh), 2400 * 100 + CIRCLE + 80_000)
    zone = wetgis.buffer_zone(marsh, 100.0)
    core = moved(box(250, 250, 350, 350), origin)
    assert zone.intersection(core).area.sum() == pytest.approx(0, abs=1e-6)
    assert wetgis.distance_to(gpd.GeoSeries([core], crs=2260), marsh).iloc[0] == 100.0


def lens(half_gap: float, r: float = 100.0) -> float:
    """The area that two circles of one radius share, centres two half gaps apart."""
    return 2 * (r * r * acos(half_gap / r) - half_gap * sqrt(r * r - half_gap**2))


def test_two_rings_count_their_overlap_once(origin: tuple[float, float]) -> None:
    marshes = frame([box(0, 0, 100, 100), box(150, 0, 250, 100)], origin)
    # the shared ground: a strip between the facing sides, and half a lens over each end of it
    shared = 150 * 100 + lens(25)
    assert shared == pytest.approx(36_521.09, abs=0.01)
    union = 2 * (50_000 + CIRCLE) - shared
    assert close(ring(marshes), union - 20_000, 2)
    assert union - 20_000 == pytest.approx(106_310.76, abs=0.01)
    apart = wetgis.buffer_zone(marshes, 100.0, by="id").area
    assert apart.index.tolist() == ["a", "b"]
    assert close(float(apart.sum()), 2 * (40_000 + CIRCLE), 2)


def test_the_quarter_circle_at_a_corner(origin: tuple[float, float]) -> None:
    marsh = frame([box(0, 0, 100, 100)], origin)
    corner = gpd.GeoSeries([moved(box(100, 100, 200, 200), origin)], crs=2260)
    zone = wetgis.buffer_zone(marsh, 100.0)
    found = float(wetgis.overlap_area(corner, zone).iloc[0])
    assert close(found, CIRCLE / 4, 0.25)
    assert round(CIRCLE / 4, 2) == 7_853.98


def test_a_point_between_the_chord_and_the_arc_is_within(origin: tuple[float, float]) -> None:
    marsh = frame([box(0, 0, 100, 100)], origin)
    angle = radians(5.625)
    well = shapely.Point(100 + 99.8 * cos(angle), 100 + 99.8 * sin(angle))
    wells = gpd.GeoSeries([moved(well, origin)], crs=2260)
    assert float(wetgis.distance_to(wells, marsh).iloc[0]) == pytest.approx(99.80, abs=1e-9)
    assert bool(wetgis.buffer_zone(marsh, 100.0).intersects(wells).iloc[0])
    coarse = shapely.buffer(marsh.geometry.iloc[0], 100, quad_segs=8)
    assert not coarse.intersects(wells.iloc[0])


def test_a_channel_is_its_banks_before_it_is_buffered(origin: tuple[float, float]) -> None:
    centreline = shapely.LineString([(0, 0), (500, 0)])
    stream = frame([centreline], origin, half_width_ft=[10.0])
    assert close(ring(stream), 1040 * 100 + CIRCLE)
    zone = wetgis.buffer_zone(stream, 100.0)
    assert zone.total_bounds[3] - origin[1] == pytest.approx(110, abs=1e-6)
    assert zone.total_bounds[0] - origin[0] == pytest.approx(-100, abs=1e-6)
    bare = frame([centreline], origin)
    assert wetgis.buffer_zone(bare, 100.0).total_bounds[3] - origin[1] == pytest.approx(100)
    # a line that is itself the bank keeps its place
    bank = stream.assign(measured_from="bank")
    assert wetgis.buffer_zone(bank, 100.0).total_bounds[3] - origin[1] == pytest.approx(100)


def test_an_amended_map(origin: tuple[float, float]) -> None:
    old, new = frame([box(0, 0, 100, 100)], origin), frame([box(0, 0, 120, 100)], origin)
    before, after = ring(old), ring(new)
    assert close(before, 71_415.93, 1)
    assert after - before == pytest.approx(4_000, abs=0.01)
    left = wetgis.buffer_zone(old, 100.0).union(old.geometry.iloc[0]).difference(
        wetgis.buffer_zone(new, 100.0).union(new.geometry.iloc[0])
    )  # fmt: skip
    assert left.area.sum() == pytest.approx(0, abs=1e-3)


def test_the_study_area_around_a_disturbance(origin: tuple[float, float]) -> None:
    lot = frame([box(0, 0, 100, 50)], origin)
    assert close(ring(lot) + 5_000, 66_415.93)


# ---------------------------------------------------------------- points, lines, groups, units


def test_points_and_lines_have_round_ends() -> None:
    well = frame([shapely.Point(0, 0)])
    assert close(ring(well), CIRCLE)
    pipe = frame([shapely.LineString([(0, 0), (300, 0)])])
    assert close(ring(pipe), 300 * 200 + CIRCLE)
    mixed = frame(
        [shapely.Point(0, 0), shapely.LineString([(500, 0), (800, 0)]), box(0, 500, 9, 509)]
    )
    assert close(ring(mixed), 2 * CIRCLE + 60_000 + 36 * 100 + CIRCLE, 3)


def test_a_collection_is_all_that_is_in_it() -> None:
    both = shapely.GeometryCollection([shapely.Point(0, 0), box(500, 0, 600, 100)])
    assert close(ring(frame([both])), CIRCLE + 40_000 + CIRCLE, 2)


def test_each_row_may_have_its_own_distance() -> None:
    marshes = frame([box(0, 0, 100, 100), box(1000, 0, 1100, 100)])
    marshes.index = ["x", "y"]
    distance = pd.Series({"y": 50.0, "x": 100.0})
    found = wetgis.buffer_zone(marshes, distance, by="id").area
    assert close(found["a"], 40_000 + CIRCLE)
    assert found["b"] == pytest.approx(20_000 + pi * 50**2, abs=arc_deficit(50.0))


def test_rows_of_one_distance_meet_rows_of_another() -> None:
    """The outline is right where a wide zone runs into a narrow one."""
    marshes = frame([box(0, 0, 100, 100), box(190, -300, 290, 400)])
    distance = pd.Series([100.0, 25.0], index=marshes.index)
    zone = wetgis.buffer_zone(marshes, distance).iloc[0]
    wide, narrow = marshes.geometry
    points = outline_points(zone)
    off = np.minimum(boundary_distance(wide, points) - 100, boundary_distance(narrow, points) - 25)
    on = (boundary_distance(narrow, points) < 1e-6) | (boundary_distance(wide, points) < 1e-6)
    assert np.abs(off[~on]).max() <= 0.01


def test_features_that_name_no_group_are_a_group() -> None:
    wells = frame([shapely.Point(0, 0), shapely.Point(900, 0), shapely.Point(1_800, 0)])
    kind = pd.Series(["x", None, "x"], index=wells.index)
    zones = wetgis.buffer_zone(wells, 100.0, by=kind).area
    assert len(zones) == 2
    assert close(zones["x"], 2 * CIRCLE, 2)
    assert close(zones[zones.index.isna()].iloc[0], CIRCLE)


def test_what_is_excluded_is_taken_out() -> None:
    marsh, pond = frame([box(0, 0, 100, 100)]), frame([box(100, 0, 150, 100)])
    zone = wetgis.buffer_zone(marsh, 100.0, exclude=[pond])
    assert zone.intersection(pond.geometry.iloc[0]).area.sum() == pytest.approx(0, abs=1e-9)
    assert close(float(zone.area.sum()), 40_000 + CIRCLE - 5_000)


def test_nothing_is_a_zone_of_nothing() -> None:
    nothing = gpd.GeoDataFrame({"id": []}, geometry=gpd.GeoSeries([], crs=2260))
    zone = wetgis.buffer_zone(nothing, 100.0)
    assert zone.area.tolist() == [0.0]
    holes = frame([box(0, 0, 10, 10)]).reindex([0, 1, 2])
    holes.geometry = gpd.GeoSeries(
        [None, shapely.Polygon(), moved(shapely.Point(0, 0), RYE)], crs=2260
    )
    assert close(float(wetgis.buffer_zone(holes, 100.0).area.sum()), CIRCLE)


def test_a_broken_ring_is_repaired_first() -> None:
    bowtie = shapely.Polygon([(0, 0), (100, 100), (100, 0), (0, 100)])
    lobes = shapely.MultiPolygon(
        [
            shapely.Polygon([(0, 0), (50, 50), (0, 100)]),
            shapely.Polygon([(100, 0), (100, 100), (50, 50)]),
        ]
    )
    assert ring(frame([bowtie])) == pytest.approx(ring(frame([lobes])), abs=1e-6)


def test_nan_coordinates_are_no_place() -> None:
    with np.errstate(invalid="ignore"):
        both = frame([shapely.Polygon([(0, 0), (np.nan, 0), (10, 10)]), box(0, 0, 100, 100)])
    assert close(ring(both), 40_000 + CIRCLE)


def test_feet_are_feet_whatever_the_unit_of_the_crs() -> None:
    metres = gpd.GeoSeries([shapely.box(300_000, 60_000, 300_100, 60_100)], crs="EPSG:32118")
    zone = wetgis.buffer_zone(metres, 100.0)
    r = 100 * 1200 / 3937
    assert float(zone.area.iloc[0]) == pytest.approx(400 * r + pi * r * r, abs=arc_deficit(r))


def test_neither_degrees_nor_no_crs_nor_two() -> None:
    degrees = gpd.GeoSeries([shapely.box(-73.7, 40.9, -73.6, 41.0)], crs=4326)
    with pytest.raises(CrsError, match="EPSG:4326"):
        wetgis.buffer_zone(degrees, 100.0)
    with pytest.raises(CrsError):
        wetgis.buffer_zone(degrees.set_crs(None, allow_override=True), 100.0)
    with pytest.raises(CrsError):
        wetgis.buffer_zone(degrees.to_crs(3857), 100.0)
    a, b = frame([box(0, 0, 1, 1)]), frame([box(0, 0, 1, 1)], crs="EPSG:2261")
    with pytest.raises(CrsError):
        wetgis.buffer_zone(a, 100.0, exclude=[b])


@pytest.mark.parametrize("distance", [-1.0, np.nan, np.inf])
def test_a_distance_that_is_none(distance: float) -> None:
    with pytest.raises(GeometryError):
        wetgis.buffer_zone(frame([box(0, 0, 1, 1)]), distance)
    with pytest.raises(GeometryError):
        wetgis.buffer_zone(frame([box(0, 0, 1, 1)]), pd.Series([distance]))


def test_a_row_without_a_distance_and_an_unknown_group() -> None:
    two = frame([box(0, 0, 1, 1), box(5, 5, 6, 6)])
    with pytest.raises(GeometryError):
        wetgis.buffer_zone(two, pd.Series([100.0], index=[0]))
    with pytest.raises(GeometryError, match="colour"):
        wetgis.buffer_zone(two, 100.0, by="colour")


def test_the_input_is_not_changed() -> None:
    marsh = frame([box(0, 0, 100, 100)], half_width_ft=[3.0])
    before = marsh.copy(deep=True)
    wetgis.buffer_zone(marsh, 100.0, exclude=[marsh], by="id")
    pd.testing.assert_frame_equal(pd.DataFrame(marsh), pd.DataFrame(before))


@pytest.mark.parametrize(("r", "tolerance"), [(100, 0.01), (100, 0.1), (250, 0.01), (1000, 0.05)])
def test_the_number_of_segments_keeps_the_tolerance(r: float, tolerance: float) -> None:
    n = quad_segments(r, tolerance)
    assert r * (1 - cos(1.5 * pi / (4 * n))) <= tolerance * (1 + 1e-9)
    assert n == 8 or r * (1 - cos(1.5 * pi / (4 * (n - 1)))) > tolerance


def test_a_finer_tolerance_is_kept() -> None:
    blob = shapely.Polygon([(0, 0), (130, 20), (170, 140), (60, 180), (-40, 90)])
    marsh = frame([blob])
    zone = wetgis.buffer_zone(marsh, 100.0, tolerance_ft=0.0005).iloc[0]
    short, over = worst_deviation(zone, marsh.geometry.iloc[0], 100.0)
    assert short <= 0.0005
    assert over <= 0.0005


# ---------------------------------------------------------------- outlines that GEOS gets wrong


def zigzag(count: int, pitch: float = 0.5, height: float = 0.5) -> shapely.LineString:
    return shapely.LineString([(i * pitch, height * (i % 2)) for i in range(count)])


def traced() -> shapely.Polygon:
    """A round wetland traced from pixels of three feet: steps along every edge."""
    cell, size = 3.0, 200
    y, x = (np.mgrid[:size, :size] + 0.5) * cell
    turn = np.arctan2(y - 300, x - 300)
    inside = np.hypot(x - 300, y - 300) < 200 + 30 * np.sin(5 * turn) + 12 * np.sin(17 * turn)
    rows, columns = np.nonzero(inside)
    pixels = shapely.box(columns * cell, rows * cell, (columns + 1) * cell, (rows + 1) * cell)
    return max(shapely.get_parts(shapely.union_all(pixels)), key=lambda part: part.area)


def near_closed() -> shapely.Polygon:
    """A ring of marsh a foot wide that all but closes on itself."""
    turn = np.radians(np.linspace(2.0, 358.0, 713))
    line = shapely.LineString(np.column_stack([150 * np.cos(turn), 150 * np.sin(turn)]))
    return line.buffer(0.5, cap_style="flat")


def needle() -> shapely.Polygon:
    return shapely.Polygon([(0, 0), (400, 0.02), (800, 0), (400, 0.3)])


def jitter() -> shapely.LineString:
    """A long stream walked with a receiver that wavers by some tenths of a foot."""
    rng = np.random.default_rng(7)
    x = np.arange(0, 900, 0.4)
    y = 60 * np.sin(x / 90) + 25 * np.sin(x / 31) + rng.normal(0, 0.35, len(x))
    return shapely.LineString(np.column_stack([x, y]))


AUDITED = {
    "zigzag, even": zigzag(1000),
    "zigzag, odd": zigzag(1001),
    "zigzag, fine": zigzag(1201, 0.3, 0.09),
    "zigzag, a foot": zigzag(1001, 0.5, 1.0),
    "zigzag around a corner": shapely.LineString(
        [*zigzag(401).coords, *[(200 + 0.5 * (i % 2), i * 0.5) for i in range(1, 401)]]
    ),
    "traced from pixels": traced(),
    "needle": needle(),
    "near-closed ring": near_closed(),
    "jitter": jitter(),
    "spike": shapely.Polygon(
        [(0, 0), (100, 0), (100, 50), (50.01, 50), (50, 400), (49.99, 50), (0, 50)]
    ),
}


@pytest.mark.parametrize("name", AUDITED)
def test_every_outline_point_is_at_the_distance(name: str) -> None:
    shape = AUDITED[name]
    assert shape.is_valid
    layer = frame([shape])
    zone = wetgis.buffer_zone(layer, 100.0).iloc[0]
    short, over = worst_deviation(zone, layer.geometry.iloc[0], 100.0)
    assert short <= 0.01
    assert over <= 0.01
    # nothing is missing as a whole, and no free ground is filled in
    x0, y0, x1, y1 = layer.total_bounds + np.array([-110, -110, 110, 110])
    xy = np.random.default_rng(3).uniform((x0, y0), (x1, y1), (3000, 2))
    found = boundary_distance(layer.geometry.iloc[0], xy)
    points = shapely.points(xy)
    inside = shapely.intersects(zone, points) | shapely.intersects(layer.geometry.iloc[0], points)
    assert inside[found < 99.98].all()
    free = (found > 100.02) & ~shapely.intersects(layer.geometry.iloc[0], points)
    assert not inside[free].any()
    assert free.any()


def test_the_zigzag_is_one_that_geos_gets_wrong() -> None:
    """Else the audit above would prove nothing."""
    shape = zigzag(1001)
    plain = shapely.buffer(shape, 100, quad_segs=84)
    assert worst_deviation(plain, shape, 100.0)[0] > 10
    zone, audit = audited_zone(np.array([shape], dtype=object), np.array([100.0]), 0.01)
    assert audit.rebuilt == (0,)
    assert max(audit.inside, audit.outside) <= 0.01
    assert zone.area > plain.area + 100


def test_the_audit_sees_what_an_independent_measure_sees() -> None:
    shape = traced()
    zone, audit = audited_zone(np.array([shape], dtype=object), np.array([100.0]), 0.01)
    short, over = worst_deviation(zone, shape, 100.0)
    assert audit.inside == pytest.approx(short, abs=2e-3)
    assert audit.outside == pytest.approx(over, abs=2e-3)


def test_a_wrong_feature_beside_right_ones_is_found() -> None:
    shapes = [box(-400, 100, -300, 200), zigzag(1001), box(700, 0, 800, 100)]
    layer = frame(shapes)
    zone = wetgis.buffer_zone(layer, 100.0).iloc[0]
    short, over = worst_deviation(zone, layer.geometry.union_all(), 100.0)
    assert max(short, over) <= 0.01


@pytest.mark.parametrize("distance", [5.0, 25.0, 250.0])
def test_other_distances(distance: float) -> None:
    layer = frame([zigzag(401), box(0, 300, 40, 400)])
    zone = wetgis.buffer_zone(layer, distance).iloc[0]
    short, over = worst_deviation(zone, layer.geometry.union_all(), distance)
    assert max(short, over) <= 0.01


@pytest.mark.parametrize("count", [1000, 1001])
@pytest.mark.parametrize("half", [6.0, 50.0, 100.0])
def test_banks_lie_at_the_half_width(count: int, half: float) -> None:
    """The ground between the banks is a buffer itself, and GEOS can get that wrong too."""
    river = frame([zigzag(count)], half_width_ft=[half])
    banks, line = bank_polygons(river).geometry.iloc[0], river.geometry.iloc[0]
    xy = outline_points(banks)
    off = boundary_distance(line, xy) - half
    end = shapely.distance(shapely.boundary(line), shapely.points(xy)) <= half * 1.001
    assert off.max() <= 0.01
    assert off[~end].min(initial=0) >= -0.01
    assert banks.is_valid
    # the ends are flat: nothing lies beyond the first and the last bank
    assert banks.bounds[0] >= line.bounds[0] - half / sqrt(2) - 0.01


def test_banks_by_segment_are_those_of_geos() -> None:
    """Where nothing is simplified both constructions agree; a ring of a moat closes."""
    bends = [
        shapely.LineString([(0, 0), (100, 0), (100, 50), (30, 60)]),
        shapely.LineString([(0, 0), (90, 10), (20, 25), (200, 200)]),
        shapely.LineString([(0, 0), (200, 0), (200, 200), (0, 200), (0, 0)]),
        shapely.MultiLineString([[(0, 0), (50, 80)], [(400, 0), (420, 90), (500, 60)]]),
    ]
    lines = np.array(bends, dtype=object)
    found = _banks_by_segment(lines, np.full(len(lines), 12.0), 64)
    exact = shapely.buffer(lines, 12.0, cap_style="flat", join_style="round", quad_segs=64)
    assert shapely.area(shapely.symmetric_difference(found, exact)) == pytest.approx(0, abs=0.05)


@pytest.fixture(scope="module")
def streams(shared: Path) -> gpd.GeoDataFrame:
    return gpd.read_file(shared / "data/hydro/bangor_me_streams.geojson.zip").to_crs(26847)


@pytest.mark.shared
def test_the_stream_on_which_geos_errs_outward(streams: gpd.GeoDataFrame) -> None:
    one = streams.iloc[[95]]
    assert worst_deviation(shapely.buffer(one.geometry.iloc[0], 100.0, quad_segs=84),
                           one.geometry.iloc[0], 100.0)[1] > 0.5  # fmt: skip
    zone = wetgis.buffer_zone(one, 100.0).iloc[0]
    assert max(worst_deviation(zone, one.geometry.iloc[0], 100.0)) <= 0.01


@pytest.mark.shared
def test_streams_of_a_city(streams: gpd.GeoDataFrame) -> None:
    some = streams.iloc[85:]
    zone = wetgis.buffer_zone(some, 100.0).iloc[0]
    assert max(worst_deviation(zone, some.union_all(), 100.0)) <= 0.01
