"""Areas without topology and nearest distances, held against exact numbers and against GEOS."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import shapely

from wetgis import kernels
from wetgis.overlay import nearest_to
from wetgis.rings import outlines
from wetgis.segments import (
    Runs,
    SegmentGrid,
    edges,
    lengths_inside,
    nearest_distance,
    segments,
)
from wetgis.workers import in_threads

FAR = np.array([650_000.0, 800_000.0])
BOX = shapely.box(0, 0, 100, 100)
DISC = shapely.Point(50, 50).buffer(30)


def array(*shapes: Any) -> np.ndarray[Any, Any]:
    out = np.empty(len(shapes), object)
    out[:] = shapes
    return out


def pair_area(a: Any, b: Any) -> float:
    one, two = edges(array(a)), edges(array(b))
    out, zero = np.zeros(1), np.zeros(1, np.int64)
    kernels.pair_areas(
        one.rows, one.offsets, one.boxes, two.rows, two.offsets, zero, zero, out, 0, 1
    )
    return float(out[0])


DEGENERATE = {
    "the same twice": (BOX, BOX, 10_000),
    "a shared edge only": (BOX, shapely.box(100, 0, 200, 100), 0),
    "half, along shared lines": (BOX, shapely.box(0, 0, 50, 100), 5_000),
    "a corner touched": (BOX, shapely.box(100, 100, 200, 200), 0),
    "a hole inside": (BOX, shapely.box(-50, -50, 150, 150).difference(DISC), 10_000 - DISC.area),
    "the hole is the other": (DISC, BOX.difference(DISC), 0),
    "a hole of the same outline": (BOX, shapely.box(-9, -9, 109, 109).difference(BOX), 0),
    "a corner on an edge": (BOX, shapely.Polygon([(50, 0), (100, 50), (50, 100), (0, 50)]), 5_000),
    "turned": (BOX, shapely.affinity.rotate(BOX, 45), 8e4 * (np.sqrt(2) - 1) / 4),
    "apart": (BOX, shapely.box(500, 500, 600, 600), 0),
    "inside": (shapely.box(40, 40, 60, 60), BOX, 400),
    "around": (BOX, shapely.box(40, 40, 60, 60), 400),
    "a line has no area": (BOX, shapely.LineString([(0, 0), (100, 100)]), 0),
    "neither has a point": (shapely.Point(5, 5), BOX, 0),
}


@pytest.mark.parametrize("name", DEGENERATE)
@pytest.mark.parametrize("turn", [0, 1, 2, 3])
@pytest.mark.parametrize("clockwise", [False, True])
def test_degenerate_pairs(name: str, turn: int, clockwise: bool) -> None:
    a, b, exact = DEGENERATE[name]

    def place(shape: Any) -> Any:
        shape = shapely.affinity.rotate(shape, 90 * turn, origin=(0, 0))
        if shape.geom_type == "Polygon":
            shape = shapely.geometry.polygon.orient(shape, -1 if clockwise else 1)
        return shapely.transform(shape, lambda xy: xy + FAR)

    assert pair_area(place(a), place(b)) == pytest.approx(exact, abs=1e-5)
    assert pair_area(place(b), place(a)) == pytest.approx(exact, abs=1e-5)


def clip(polygon: list[tuple[int, int]], convex: list[tuple[int, int]]) -> Fraction:
    """Twice the area of a polygon inside a convex one, in exact rationals (Sutherland-Hodgman)."""
    out = [(Fraction(x), Fraction(y)) for x, y in polygon]
    for (ax, ay), (bx, by) in zip(convex, [*convex[1:], convex[0]], strict=True):
        made = []

        def side(
            p: tuple[Fraction, Fraction], ax: int = ax, ay: int = ay, bx: int = bx, by: int = by
        ) -> Fraction:
            return (bx - ax) * (p[1] - ay) - (by - ay) * (p[0] - ax)

        for p, q in zip(out, [*out[1:], *out[:1]], strict=True):
            s, t = side(p), side(q)
            if s >= 0:
                made.append(p)
            if (s > 0 > t) or (s < 0 < t):
                f = s / (s - t)
                made.append((p[0] + f * (q[0] - p[0]), p[1] + f * (q[1] - p[1])))
        out = made
    pairs = zip(out, [*out[1:], *out[:1]], strict=True)
    return abs(sum((p[0] * q[1] - q[0] * p[1] for p, q in pairs), Fraction(0)))


def test_whole_numbers_against_exact_rationals() -> None:
    rng = np.random.default_rng(11)
    seen = 0
    for _ in range(300):
        turn = np.sort(rng.uniform(0, 2 * np.pi, int(rng.integers(3, 15))))
        reach = rng.uniform(20, 300, len(turn))
        star = np.round(np.column_stack([reach * np.cos(turn), reach * np.sin(turn)])).astype(int)
        hull = shapely.convex_hull(shapely.MultiPoint(rng.integers(-250, 250, (8, 2))))
        shape = shapely.Polygon(star)
        if not shape.is_valid or hull.geom_type != "Polygon":
            continue
        corners = shapely.get_coordinates(shapely.geometry.polygon.orient(hull, 1))[:-1]
        exact = clip(
            [(int(x), int(y)) for x, y in star], [(int(x), int(y)) for x, y in corners]
        ) / 2  # fmt: skip
        at = np.array([700_000, 800_000])
        found = pair_area(shapely.Polygon(star + at), shapely.Polygon(corners + at))
        assert found == pytest.approx(float(exact), abs=1e-6)
        seen += 1
    assert seen > 200


def test_edges_do_not_depend_on_the_way_a_ring_runs() -> None:
    holed = BOX.difference(DISC)
    for shape in (holed, holed.reverse(), shapely.geometry.polygon.orient(holed, -1)):
        assert pair_area(shape, shapely.box(-1, -1, 101, 101)) == pytest.approx(holed.area)


def test_edges_of_what_has_none() -> None:
    found = edges(array(None, shapely.Polygon(), shapely.Point(0, 0), BOX))
    assert found.offsets.tolist() == [0, 0, 0, 0, 2]  # upright edges are not needed
    assert segments(array(None, shapely.Point(1, 2))).rows.tolist() == [[1, 2, 1, 2]]


@pytest.mark.parametrize("size", [1.0, 37.0, 5_000.0])
def test_the_nearest_is_the_same_whatever_the_grid(size: float) -> None:
    rng = np.random.default_rng(2)
    at = rng.uniform(-3000, 3000, (60, 2)) + FAR
    lines = array(*(shapely.LineString(p + np.cumsum(rng.normal(0, 20, (30, 2)), 0)) for p in at))
    wells = array(*(shapely.Point(p) for p in rng.uniform(-6000, 6000, (50, 2)) + FAR))
    lots = shapely.buffer(wells, 25.0)
    exact = np.array([shapely.distance(lot, lines).min() for lot in lots])
    grid = SegmentGrid(segments(lines).rows, size)
    found = nearest_distance(Runs(lots), grid, out=np.full(len(lots), np.inf))
    assert found == pytest.approx(exact, abs=1e-9)


def test_crossing_touching_and_inside() -> None:
    pond = shapely.box(0, 0, 100, 100).difference(shapely.box(40, 40, 60, 60))
    subjects = {
        "crosses without a corner inside": (shapely.LineString([(-50, 30), (150, 30)]), 0.0),
        "touches at a corner": (shapely.box(100, 100, 200, 200), 0.0),
        "along an edge": (shapely.box(100, 20, 200, 80), 0.0),
        "inside": (shapely.box(10, 10, 20, 20), 0.0),
        "in the hole": (shapely.box(45, 45, 50, 50), 5.0),
        "around it all": (shapely.box(-500, -500, 500, 500), 0.0),
        "its own hole around it all": (
            shapely.box(-500, -500, 500, 500).difference(shapely.box(-7, -7, 107, 107)), 7.0,
        ),
        "a part of many inside": (
            shapely.MultiPolygon([shapely.box(900, 0, 910, 10), shapely.box(10, 10, 20, 20)]), 0.0,
        ),
        "beside": (shapely.Point(103, 104), 5.0),
    }  # fmt: skip
    move = np.array([717_000.0, 783_000.0])
    own = array(*(shapely.transform(s, lambda xy: xy + move) for s, _ in subjects.values()))
    found = nearest_to(own, array(shapely.transform(pond, lambda xy: xy + move)))
    assert found == pytest.approx([d for _, d in subjects.values()], abs=1e-9)
    back = [nearest_to(array(shapely.transform(pond, lambda xy: xy + move)), own[k : k + 1])[0]
            for k in range(len(own))]  # fmt: skip
    assert back == pytest.approx([d for _, d in subjects.values()], abs=1e-9)


def test_nothing_near_nothing() -> None:
    assert nearest_to(array(BOX, None), np.empty(0, object)).tolist()[0] == np.inf
    assert np.isnan(nearest_to(array(None), array(BOX))[0])
    assert len(nearest_to(np.empty(0, object), array(BOX))) == 0


def test_work_in_threads_comes_back_in_order() -> None:
    spans = in_threads(lambda s, e: (s, e), 10, chunk=3, threads=4)
    assert spans == [(0, 3), (3, 6), (6, 9), (9, 10)]
    assert in_threads(lambda s, e: (s, e), 0, chunk=3) == []


# ---------------------------------------------------------------- lines inside polygons


def length_inside(polygon: Any, line: Any) -> float:
    zero = np.zeros(1, np.int64)
    return float(lengths_inside(array(polygon), array(line), zero, zero, 1e-6, threads=1)[0])


RING = BOX.difference(shapely.box(40, 40, 60, 60))


@pytest.mark.parametrize("at", [np.zeros(2), FAR])
@pytest.mark.parametrize(
    ("polygon", "xy", "feet"),
    [
        (BOX, [(-50, 30), (150, 30)], 100),
        (BOX, [(10, 10), (90, 10), (90, 70)], 140),
        (BOX, [(-50, -50), (150, 150)], 100 * 2**0.5),  # through two corners
        (BOX, [(100, 100), (200, 200)], 0),  # touches one
        (BOX, [(-10, 50), (0, 50), (50, 50)], 50),  # a vertex on the boundary
        (BOX, [(110, 0), (110, 100)], 0),
        (RING, [(-50, 50), (150, 50)], 80),  # over the hole
        (RING, [(45, 45), (55, 55)], 0),  # in it
        (shapely.MultiPolygon([BOX, shapely.box(200, 0, 300, 100)]), [(50, 5), (250, 5)], 100),
        (BOX, [(20, 20), (20, 20), (30, 20)], 10),  # a vertex twice
    ],
)
def test_length_of_a_line_inside(polygon: Any, xy: Any, feet: float, at: Any) -> None:
    moved = shapely.transform(polygon, lambda p: p + at)
    line = shapely.LineString(np.asarray(xy, float) + at)
    assert length_inside(moved, line) == pytest.approx(feet, abs=1e-7)


@pytest.mark.parametrize(
    "xy", [[(0, 10), (0, 90)], [(-50, 0), (50, 0), (50, 50)], [(20, 100), (150, 100)]]
)
def test_a_line_along_the_boundary_is_left_to_others(xy: Any) -> None:
    assert np.isnan(length_inside(BOX, shapely.LineString(xy)))


def test_lengths_of_many_lines_against_geos() -> None:
    rng = np.random.default_rng(9)
    angles = np.sort(rng.uniform(0, 2 * np.pi, (200, 24)), axis=1)
    reach = rng.uniform(30, 150, (200, 24))
    stars = shapely.polygons(np.stack([reach * np.cos(angles), reach * np.sin(angles)], 2) + FAR)
    stars = np.where(rng.random(200) < 0.5, stars, shapely.difference(stars, DISC))
    walks = shapely.linestrings(np.cumsum(rng.normal(0, 30, (200, 40, 2)), 1) + FAR)
    usable = shapely.is_valid(stars)
    stars, walks = stars[usable], walks[usable]
    pairs = np.arange(len(stars))
    found = lengths_inside(stars, walks, pairs, pairs[::-1].copy(), 1e-6, threads=2)
    exact = shapely.length(shapely.intersection(stars, walks[::-1]))
    assert len(stars) > 150
    assert (exact > 10).mean() > 0.5
    assert found == pytest.approx(exact, abs=1e-8)


# ---------------------------------------------------------------- how far outlines are off


def test_rings_are_audited_as_their_points_are() -> None:
    rng = np.random.default_rng(4)
    features = shapely.linestrings(np.cumsum(rng.normal(0, 40, (12, 25, 2)), 1) + FAR)
    made = segments(features)
    radii = np.full(len(made.rows), 100.0)
    grid = SegmentGrid(made.rows, 50.0)
    zones = array(*shapely.buffer(features, 99.0))  # a foot short everywhere
    rings = outlines(zones)
    everywhere = np.tile([-1e9, -1e9, 1e9, 1e9], (len(rings.owner), 1))
    worst = grid.deviation_of_rings(rings, everywhere, radii, 105.0)
    start = np.flatnonzero(np.diff(rings.of_vertices()) == 0)
    points = np.concatenate([rings.xy[start], (rings.xy[start] + rings.xy[start + 1]) / 2])
    exact = shapely.distance(shapely.points(points), shapely.union_all(features)) - 100.0
    assert worst[:, 2].sum() == len(points)
    assert worst[:, 0].min() == pytest.approx(exact.min(), abs=1e-9)
    assert worst[:, 1].max() == pytest.approx(exact.max(), abs=1e-9)
    assert exact.min() < -0.9
    half = everywhere.copy()
    half[:, 2] = FAR[0]
    inside = points[:, 0] < FAR[0]
    assert grid.deviation_of_rings(rings, half, radii, 105.0)[:, 2].sum() == inside.sum()
