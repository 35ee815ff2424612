"""What holds whatever the shapes: sums, invariances, orders that must not be broken."""

from __future__ import annotations

from math import pi
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.engine_makers import box, frame, moved, pieces_of, site

import wetgis

FEW = settings(
    max_examples=12, deadline=None, derandomize=True, phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)  # fmt: skip
MORE = settings(FEW, max_examples=40)
PLACES = ("wetland", "watercourse", "buffer", "outside", "unmapped", "beyond_limit")


@st.composite
def blobs(draw: st.DrawFn, reach: float = 900.0, digits: int = 2) -> shapely.Polygon:
    """A valid polygon somewhere within reach: star-shaped, at times with a hole."""
    count = draw(st.integers(3, 14))
    steps = draw(st.lists(st.floats(0.2, 1.0), min_size=count, max_size=count))
    radii = draw(st.lists(st.floats(15, 260), min_size=count, max_size=count))
    turn = np.cumsum(steps) / np.sum(steps) * 2 * pi
    at = draw(st.tuples(st.floats(-reach, reach), st.floats(-reach, reach)))
    xy = np.column_stack([np.cos(turn), np.sin(turn)]) * np.array(radii)[:, None] + at
    shape = shapely.make_valid(
        shapely.Polygon(np.round(xy, digits)), method="structure", keep_collapsed=False
    )
    if draw(st.booleans()):
        shape = shape.difference(shapely.affinity.scale(shape, 0.4, 0.4))
    parts = [p for p in shapely.get_parts(shape) if p.geom_type == "Polygon" and p.area > 1]
    return max(parts, key=lambda p: p.area) if parts else shapely.box(*at, at[0] + 9, at[1] + 9)


@st.composite
def lines(draw: st.DrawFn, reach: float = 900.0) -> shapely.LineString:
    at = np.array(draw(st.tuples(st.floats(-reach, reach), st.floats(-reach, reach))))
    count = draw(st.integers(2, 12))
    steps = draw(
        st.lists(st.tuples(st.floats(-90, 90), st.floats(5, 90)), min_size=count, max_size=count)
    )
    return shapely.LineString(np.round(at + np.cumsum(steps, axis=0), 2))


LAYER = st.lists(blobs(), min_size=1, max_size=6)


def measured(**layers: Any) -> pd.DataFrame:
    return wetgis.screen(site(**layers)).measures


def areas(table: pd.DataFrame) -> np.ndarray[Any, Any]:
    return table[[f"{p}_sqft" for p in PLACES]].to_numpy(float)


# ---------------------------------------------------------------- sums


@FEW
@given(lots=LAYER, wet=LAYER, streams=st.lists(lines(), max_size=3), town=blobs(reach=200))
def test_the_places_of_a_subject_make_it_up(
    lots: list[Any], wet: list[Any], streams: list[Any], town: Any
) -> None:
    town = shapely.affinity.scale(town, 4, 4)
    found = wetgis.screen(
        site(parcels=frame(lots), wetlands=wetgis.Layer(frame(wet), extent="features"),
             watercourses=frame(streams, half_width_ft=7.0), municipality=frame([town]))
    )  # fmt: skip
    table = found.measures
    assert areas(table).sum(axis=1) == pytest.approx(table["area_sqft"].to_numpy(), abs=1e-5)
    assert (areas(table) >= 0).all()
    assert table["area_sqft"].to_numpy() == pytest.approx([lot.area for lot in lots], rel=1e-9)
    drawn = found.parts.groupby("subject_id")["area_sqft"].sum()
    assert drawn.reindex(table["subject_id"]).to_numpy() == pytest.approx(
        table["area_sqft"].to_numpy(), abs=1e-5
    )
    outside = table["beyond_limit_sqft"].to_numpy()
    exact = shapely.area(shapely.difference(np.array(lots, object), town))
    assert outside == pytest.approx(exact, abs=1e-5)


@FEW
@given(pipes=st.lists(lines(), min_size=1, max_size=4), wet=LAYER, water=LAYER)
def test_the_places_of_a_line_make_it_up(
    pipes: list[Any], wet: list[Any], water: list[Any]
) -> None:
    found = wetgis.screen(
        site(footprints=frame(pipes), wetlands=frame(wet), watercourses=frame(water))
    )
    table = found.measures[found.measures["subject_kind"] == "footprint"]
    lengths = table[[f"{p}_length_ft" for p in PLACES]].to_numpy(float)
    pipe = np.array(pipes, object)
    assert lengths.sum(axis=1) == pytest.approx(shapely.length(pipe), abs=1e-6)
    marsh, both = shapely.union_all(wet), shapely.union_all([*wet, *water])
    exact = shapely.length(shapely.intersection(pipe, marsh))
    assert lengths[:, 0] == pytest.approx(exact, abs=1e-6)
    exact = shapely.length(shapely.intersection(pipe, both)) - exact
    assert lengths[:, 1] == pytest.approx(exact, abs=1e-6)
    drawn = found.parts[found.parts["subject_kind"] == "footprint"]
    for place, k in zip(PLACES, range(len(PLACES)), strict=True):
        own = drawn[drawn["place"] == place].set_index("subject_id").geometry.length
        assert own.reindex(table["subject_id"]).fillna(0).to_numpy() == pytest.approx(
            lengths[:, k], abs=1e-6
        )


@FEW
@given(wet=LAYER, water=LAYER)
def test_a_buffer_holds_no_feature(wet: list[Any], water: list[Any]) -> None:
    wetlands, watercourses = frame(wet), frame(water)
    zone = wetgis.buffer_zone(wetlands, 100.0, exclude=[watercourses]).iloc[0]
    features = shapely.union_all([*wetlands.geometry, *watercourses.geometry])
    assert zone.intersection(features).area < 1e-6
    assert zone.is_valid


@MORE
@given(subject=blobs(), features=LAYER)
def test_areas_against_geos(subject: Any, features: list[Any]) -> None:
    lots, wet = frame([subject]), frame(features)
    exact = subject.intersection(shapely.union_all(features)).area
    found = float(wetgis.overlap_area(lots, wet).iloc[0])
    assert found == pytest.approx(exact, abs=1e-6)
    one_by_one = wetgis.overlap_area(lots, wet, by="id").iloc[0]
    assert found <= one_by_one.sum() + 1e-6
    assert found >= one_by_one.max() - 1e-6
    assert one_by_one.to_numpy() == pytest.approx(
        [subject.intersection(f).area for f in features], abs=1e-6
    )


@MORE
@given(
    subject=st.one_of(blobs(), lines()),
    features=st.lists(st.one_of(blobs(), lines()), min_size=1, max_size=5),
)
def test_distances_against_geos(subject: Any, features: list[Any]) -> None:
    found = float(wetgis.distance_to(frame([subject]), frame(features)).iloc[0])
    assert found == pytest.approx(min(subject.distance(f) for f in features), abs=1e-8)
    near = wetgis.contacts(frame([subject]), frame(features), 250.0)
    exact = {chr(97 + k): subject.distance(f) for k, f in enumerate(features)}
    inside = {k: d for k, d in exact.items() if d <= 250}
    assert dict(zip(near["feature_id"], near["distance_ft"], strict=True)) == pytest.approx(
        inside, abs=1e-8
    )


# ---------------------------------------------------------------- what must not matter


@FEW
@given(lots=LAYER, wet=LAYER, dx=st.floats(-9_000, 9_000), dy=st.floats(-9_000, 9_000))
def test_moving_everything_changes_nothing(
    lots: list[Any], wet: list[Any], dx: float, dy: float
) -> None:
    here = measured(parcels=frame(lots), wetlands=frame(wet), watercourses=frame([]))
    at = (717_000.0 + round(dx), 783_000.0 + round(dy))
    there = measured(parcels=frame(lots, at), wetlands=frame(wet, at), watercourses=frame([], at))
    assert areas(there) == pytest.approx(areas(here), rel=1e-6, abs=0.01)
    assert there["wetland_ft"].to_numpy() == pytest.approx(here["wetland_ft"], abs=1e-7)
    assert there["status"].tolist() == here["status"].tolist()


@FEW
@given(lots=LAYER, wet=LAYER, angle=st.floats(1, 359))
def test_turning_everything_changes_nothing(lots: list[Any], wet: list[Any], angle: float) -> None:
    def turned(shapes: list[Any]) -> gpd.GeoDataFrame:
        return frame([shapely.affinity.rotate(s, angle, origin=(0, 0)) for s in shapes])

    here = measured(parcels=frame(lots), wetlands=frame(wet), watercourses=frame([]))
    there = measured(parcels=turned(lots), wetlands=turned(wet), watercourses=frame([]))
    assert areas(there) == pytest.approx(areas(here), rel=1e-6, abs=0.05)
    assert there["wetland_ft"].to_numpy() == pytest.approx(here["wetland_ft"], abs=1e-6)


@FEW
@given(lots=LAYER, wet=blobs(), across=st.integers(2, 5), up=st.integers(1, 4))
def test_a_wetland_in_adjoining_pieces_is_the_same(
    lots: list[Any], wet: Any, across: int, up: int
) -> None:
    x0, y0, x1, y1 = wet.bounds
    xs, ys = np.linspace(x0, x1, across + 1), np.linspace(y0, y1, up + 1)
    sheets = [
        part
        for i in range(across)
        for j in range(up)
        for part in shapely.get_parts(
            wet.intersection(shapely.box(xs[i], ys[j], xs[i + 1], ys[j + 1]))
        )
        if part.geom_type == "Polygon"
    ]
    one = wetgis.screen(site(parcels=frame(lots), wetlands=frame([wet]), watercourses=frame([])))
    many = wetgis.screen(site(parcels=frame(lots), wetlands=frame(sheets), watercourses=frame([])))
    assert areas(many.measures) == pytest.approx(areas(one.measures), rel=1e-6, abs=0.02)
    assert many.measures["wetland_ft"].to_numpy() == pytest.approx(
        one.measures["wetland_ft"].to_numpy(), abs=1e-6
    )
    assert many.contacts["whole_sqft"].tolist() == pytest.approx(
        one.contacts["whole_sqft"].tolist(), abs=1e-4
    )
    assert len(many.contacts) == len(one.contacts)


@FEW
@given(lots=LAYER, wet=LAYER, seed=st.integers(0, 1_000))
def test_order_and_copies_change_nothing(lots: list[Any], wet: list[Any], seed: int) -> None:
    wetlands = frame(wet)
    here = measured(parcels=frame(lots), wetlands=wetlands, watercourses=frame([]))
    shuffled = wetlands.sample(frac=1, random_state=seed)
    there = measured(parcels=frame(lots), wetlands=shuffled, watercourses=frame([]))
    assert (areas(there) == areas(here)).all()
    assert (there["wetland_ft"] == here["wetland_ft"]).all()
    twice = gpd.GeoDataFrame(pd.concat([shuffled, wetlands]), crs=wetlands.crs)
    there = measured(parcels=frame(lots), wetlands=twice, watercourses=frame([]))
    assert areas(there) == pytest.approx(areas(here), abs=1e-6)
    assert (there["wetland_ft"] == here["wetland_ft"]).all()


# ---------------------------------------------------------------- more gives more


@FEW
@given(lots=LAYER, wet=LAYER, more=blobs())
def test_another_wetland_never_shrinks_what_is_regulated(
    lots: list[Any], wet: list[Any], more: Any
) -> None:
    layers = {"parcels": frame(lots), "watercourses": frame([])}
    before = measured(wetlands=frame(wet), **layers)
    after = measured(wetlands=frame([*wet, more]), **layers)

    def regulated(table: pd.DataFrame) -> Any:
        return table["wetland_sqft"] + table["buffer_sqft"]

    # an outline may be drawn anew where the new wetland touches, within a hundredth of a foot
    slack = 0.01 * shapely.length(frame(lots).geometry.to_numpy()) + 1e-6
    assert (regulated(after) >= regulated(before) - slack).all()
    assert (after["wetland_sqft"] >= before["wetland_sqft"] - 1e-6).all()
    assert (after["wetland_ft"] <= before["wetland_ft"] + 1e-9).all()


@FEW
@given(wet=LAYER, near=st.floats(5, 150), far=st.floats(1, 150))
def test_a_wider_buffer_holds_the_narrower(wet: list[Any], near: float, far: float) -> None:
    layer = frame(wet)
    small = wetgis.buffer_zone(layer, near).iloc[0]
    large = wetgis.buffer_zone(layer, near + far).iloc[0]
    assert small.difference(large).area <= 0.01 * small.length
    assert large.area > small.area


def test_answers_are_monotone_in_distance_and_in_size() -> None:
    """Nearer, or larger, never turns a finding that is met into one that is not."""
    rng = np.random.default_rng(9)
    gaps = np.sort(np.r_[rng.uniform(0, 210, 40), 100 - 1e-4, 100.0, 100 + 1e-4, 0.0])
    sizes = np.sort(np.r_[rng.uniform(3_800, 4_200, 40), 3_999.9, 4_000.0, 4_000.1, 100.0])
    lots = [box(1_000 * k, 0, 1_000 * k + 100, 100) for k in range(len(gaps))]
    by_gap = [box(1_000 * k + 100 + g, 0, 1_000 * k + 300 + g, 100) for k, g in enumerate(gaps)]
    by_size = [box(1_000 * k, 2_110, 1_000 * k + 100, 2_110 + s / 100) for k, s in enumerate(sizes)]
    upper = [moved(lot, (0, 2_000)) for lot in lots]
    found = wetgis.screen(
        site(packs=["rye-ny-195", "monroe-ny-46"], as_of="2026-11-30",
             parcels=frame([*lots, *upper], id=[f"{k:03d}" for k in range(len(lots) * 2)]),
             wetlands=frame([*by_gap, *by_size], regulator="DEC",
                            id=[f"w{k:03d}" for k in range(len(gaps) * 2)]),
             watercourses=frame([]))
    ).findings  # fmt: skip
    lower = found[found["subject_id"] < f"{len(lots):03d}"]
    higher = found[found["subject_id"] >= f"{len(lots):03d}"]
    # ground that only touches the reach is not within it; a touch may be subject, and is shown
    within = {"RYE-01": gaps < 100 - 1e-6, "RYE-16": gaps <= 100, "MON-26": gaps <= 100}
    for rule, exact in within.items():
        rows = lower[lower["rule"] == rule]
        met = rows.groupby("subject_id")["outcome"].agg(lambda o: (o == "met").any())
        assert met.tolist() == sorted(met, reverse=True), rule
        assert met.tolist() == exact.tolist(), rule
    met = (
        higher[higher["rule"] == "MON-26"]
        .groupby("subject_id")["outcome"]
        .agg(lambda o: (o == "met").any())
    )
    assert met.tolist() == sorted(met)
    assert met.sum() == (sizes > 4_000 + 1e-4).sum()


# ---------------------------------------------------------------- closed forms


@MORE
@given(
    points=st.lists(
        st.tuples(st.integers(-400, 400), st.integers(-400, 400)), min_size=3, max_size=12
    ),
    distance=st.sampled_from([25.0, 100.0, 250.0]),
)
def test_steiner(points: list[tuple[int, int]], distance: float) -> None:
    hull = shapely.MultiPoint(points).convex_hull
    layer = frame([hull])
    found = float(wetgis.buffer_zone(layer, distance).area.iloc[0])
    around = hull.length if hull.geom_type == "Polygon" else 2 * hull.length
    exact = around * distance + pi * distance**2
    assert exact - 0.01 * 2 * pi * distance <= found <= exact + 0.02


@FEW
@given(wet=st.lists(st.one_of(blobs(), lines()), min_size=1, max_size=4), spots=st.integers(0, 999))
def test_inside_or_outside_goes_by_the_distance(wet: list[Any], spots: int) -> None:
    """Every point is in the drawn zone or not as its exact distance says, to a hundredth."""
    layer = frame(wet)
    zone = wetgis.buffer_zone(layer, 100.0).iloc[0]
    ground = shapely.union_all(layer.geometry)
    x0, y0, x1, y1 = ground.bounds
    xy = np.random.default_rng(spots).uniform((x0 - 120, y0 - 120), (x1 + 120, y1 + 120), (500, 2))
    points = shapely.points(xy)
    _, distance = shapely.STRtree(pieces_of(ground)).query_nearest(
        points, return_distance=True, all_matches=False
    )
    within = shapely.intersects(ground, points)
    drawn = shapely.intersects(zone, points)
    assert drawn[~within & (distance < 99.99)].all()
    assert not drawn[~within & (distance > 100.01)].any()
    assert not drawn[within & (distance > 1e-6) & (shapely.get_dimensions(ground) == 2)].any()
