"""Features on disk, made ready some at a time, are those that are made ready in memory."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

import wetgis
from wetgis import storedfeatures
from wetgis.engine import ground_of
from wetgis.heldlayers import SiteLayer, stored
from wetgis.samples import sample_sites
from wetgis.scene import Scene
from wetgis.site import Measure
from wetgis.storedfeatures import StoredFeatures, in_bulk, on_disk, scene_on_disk


def codes(geometries):
    return [None if g is None else shapely.to_wkb(g) for g in geometries]


def assert_same(one, two):
    """Two sets of features are the same to the bit."""
    assert codes(one.geometries) == codes(two.geometries)
    assert codes(one.lines) == codes(two.lines)
    pd.testing.assert_frame_equal(
        one.table.reset_index(drop=True), two.table.reset_index(drop=True)
    )
    pd.testing.assert_frame_equal(
        one.group_table.reset_index(drop=True), two.group_table.reset_index(drop=True)
    )
    a, b = one.groups, two.groups
    assert codes(a.geometries) == codes(b.geometries)
    assert a.ids.tolist() == b.ids.tolist()
    for name in ("whole_sqft", "whole_boundary_ft", "first"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


@pytest.mark.parametrize("bulk", [1, 500, 400_000])
@pytest.mark.parametrize("path", sample_sites(), ids=lambda p: p.parent.name)
def test_the_scene_of_a_sample_town(path, bulk, tmp_path, monkeypatch):
    monkeypatch.setattr(storedfeatures, "SMALL", 0)
    monkeypatch.setattr(storedfeatures, "BULK", bulk)
    held = wetgis.read_site(path)
    kept = wetgis.read_site(path, store=tmp_path / "layers")
    one = Scene.from_site(held)
    two = scene_on_disk(kept, ground_of(kept), tmp_path / "features")
    assert (two.draws_clear, two.soils_overlap) == (one.draws_clear, one.soils_overlap)
    assert list(two.features) == list(one.features)
    assert list(two.near) == list(one.near)
    assert any(isinstance(f, StoredFeatures) for f in two.features.values())
    for kind, features in one.features.items():
        assert_same(two.features[kind], features)
        if kind in one.near:
            assert_same(two.near[kind], one.near[kind])
        box = shapely.total_bounds(features.geometries)
        middle = (box[:2] + box[2:]) / 2
        for window in (np.r_[box[:2], middle], np.r_[middle, box[2:] + 1], np.r_[middle, middle]):
            assert_same(two.features[kind].window(window), features.window(window))


@st.composite
def wetlands(draw):
    """Squares on a coarse grid: many touch, some lie over each other, some share an id."""
    places = draw(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=20))
    shapes = [shapely.box(7e5 + 10 * x, 7e5 + 10 * y, 7e5 + 10 * x + 10, 7e5 + 10 * y + 10)
              for x, y in places]  # fmt: skip
    ids = draw(st.lists(st.sampled_from("abcdefgh"), min_size=len(shapes), max_size=len(shapes)))
    holes = draw(st.sets(st.integers(0, 19), max_size=3))
    return ids, [None if k in holes else s for k, s in enumerate(shapes)]


@settings(deadline=None, max_examples=60)
@given(wetlands(), st.sampled_from(["wetlands", "soils", "structures"]), st.integers(1, 60))
def test_groups_and_overlaps_of_squares(tmp_path_factory, made, kind, bulk):
    ids, shapes = made
    folder = tmp_path_factory.mktemp("squares")
    import geopandas as gpd

    frame = gpd.GeoDataFrame(
        {"id": np.array(ids, dtype=object).astype(str), "hydric_pct_low": 60.0},
        geometry=gpd.GeoSeries(shapes, crs=2260),
        crs=2260,
    )
    before = storedfeatures.SMALL, storedfeatures.BULK
    storedfeatures.SMALL, storedfeatures.BULK = -1, bulk
    try:
        layer = stored(SiteLayer(kind, frame), folder / "rows")
        two = on_disk(kind, layer, Measure(100.0, 50.0, 30.0), 1.0, folder / "made")
        from wetgis.scene import feature_set, prepared

        one = prepared(kind, feature_set(kind, frame), Measure(100.0, 50.0, 30.0), 1.0)
        assert_same(two.features, one.features)
        assert_same(two.near, one.near)
        assert two.overlap == one.overlap
    finally:
        storedfeatures.SMALL, storedfeatures.BULK = before


def test_in_bulk_leaves_nothing_out(monkeypatch):
    monkeypatch.setattr(storedfeatures, "BULK", 10)
    counts = np.array([3, 3, 3, 3, 50, 0, 0, 10, 1])
    parts = [list(range(9))[part] for part in in_bulk(counts)]
    assert parts == [[0, 1, 2], [3], [4], [5, 6, 7], [8]]
    assert not list(in_bulk(np.zeros(0, np.int64)))


def test_distances_to_features_on_one_level_line(tmp_path):
    """Their box has no area, so nothing says how far apart features are."""
    from wetgis.geometryfile import GeometryWriter
    from wetgis.nearby import distances_to_file

    writer = GeometryWriter(tmp_path)
    writer.append(np.array([shapely.Point(x, 0) for x in (0, 400)], dtype=object))
    own = np.array([shapely.box(30, 40, 31, 41), None, shapely.box(-1, -1, 1, 1)], dtype=object)
    found = distances_to_file(own, writer.close(), None, np.zeros(0, np.int64), 0.0)
    np.testing.assert_array_equal(found, [50.0, np.nan, 0.0])
