"""Editing the map: the numbers of a full run, and the way back to the same bytes."""

from __future__ import annotations

import pickle

import geopandas as gpd
import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import RYE, boxes

import wetgis
from wetgis.errors import GeometryError, InputError, UsageError
from wetgis.mapedit import MapEdit

OX, OY = RYE


def square(x, y, side=100):
    return shapely.box(OX + x, OY + y, OX + x + side, OY + y + side)


def town(**layers):
    lots = boxes(*((x, y, x + 190, y + 190) for x in range(0, 4000, 200) for y in (0, 200, 400)))
    marsh = boxes(*((x, 150, x + 130, 260) for x in range(0, 4000, 700)))
    stream = gpd.GeoDataFrame(
        {"id": ["s"], "half_width_ft": [6.0]},
        geometry=[shapely.LineString([(OX - 50, OY + 330), (OX + 2000, OY + 350),
                                      (OX + 4100, OY + 300)])], crs=2260)  # fmt: skip
    given = {"parcels": lots, "wetlands": marsh, "watercourses": stream, **layers}
    return wetgis.Site.from_layers(packs=["rye-ny-195"], **given)


def bits(edit):
    return edit.measures.drop(columns=["parcel_id", "record"]).to_numpy().tobytes()


@pytest.fixture(scope="module")
def site():
    return town()


def test_starts_as_a_screening(site):
    """The partition is that of ``screen``, to the bit."""
    edit = MapEdit(site)
    full = wetgis.screen(site).measures
    for name in ("wetland_sqft", "watercourse_sqft", "buffer_sqft", "outside_sqft"):
        assert edit.measures[name].to_numpy().tobytes() == full[name].to_numpy().tobytes(), name


def test_edits_equal_a_full_run(site):
    """After each edit every parcel has the bits of a run that measures all."""
    edit = MapEdit(site)
    told = edit.add(square(1530, 400), id="new")
    assert (told["wetland_change_sqft"] > 0).any()
    assert bits(edit) == edit.measure_all().tobytes()
    edit.replace("1", square(650, 120, 180))
    edit.remove("0")
    assert bits(edit) == edit.measure_all().tobytes()
    fresh = MapEdit(town(wetlands=edit.features))
    assert bits(fresh) == edit.measure_all().tobytes()


def test_edit_and_inverse_restore_the_bytes(site):
    """By undo, and by the edit that is its inverse."""
    edit = MapEdit(site)
    start, map_before = bits(edit), edit.features.to_wkb()
    old = edit.features.set_index("id").geometry
    edit.add(square(1530, 400), id="new")
    edit.remove("new")
    edit.replace("2", square(1400, 100))
    edit.replace("2", old["2"])
    edit.remove("3")
    edit.add(old["3"], id="3")
    assert bits(edit) == start
    assert edit.features["geometry"].geom_equals_exact(gpd.GeoSeries(old.to_numpy(), crs=2260),
                                                       0).all()  # fmt: skip
    for _ in range(6):
        edit.undo()
    assert bits(edit) == start
    assert edit.features.to_wkb().equals(map_before)
    with pytest.raises(UsageError, match="no edit"):
        edit.undo()


def test_only_what_an_edit_can_reach(site):
    """Parcels far away keep their very row; those told are the ones that changed."""
    edit = MapEdit(site)
    before = edit.measures
    told = edit.add(square(3650, 420, 60), id="new")
    changed = (before["buffer_sqft"] - edit.measures["buffer_sqft"]).abs().to_numpy() > 1e-4
    far = shapely.box(OX - 100, OY - 100, OX + 2900, OY + 700)
    same = site.layers["parcels"].frame.within(far).to_numpy()
    assert before[same].equals(edit.measures[same])
    assert set(before.loc[changed, "parcel_id"]) <= set(told["parcel_id"])
    assert told["regulated_change_sqft"].ge(0).all()


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["add", "remove", "replace", "undo"]),
                          st.integers(0, 3800), st.integers(0, 500), st.integers(5, 400)),
                min_size=1, max_size=5))  # fmt: skip
def test_any_run_of_edits(steps):
    edit = MapEdit(SMALL)
    for n, (what, x, y, side) in enumerate(steps):
        ids = edit.features["id"].tolist()
        if what == "add":
            edit.add(square(x, y, side), id=f"n{n}")
        elif what == "remove" and ids:
            edit.remove(ids[x % len(ids)])
        elif what == "replace" and ids:
            edit.replace(ids[x % len(ids)], square(x, y, side))
        elif what == "undo" and edit._steps:
            edit.undo()
    assert bits(edit) == edit.measure_all().tobytes()


SMALL = town()


def test_the_last_and_the_first_feature(site):
    edit = MapEdit(town(wetlands=boxes((0, 0, 100, 100)), watercourses=None))
    edit.remove("0")
    assert len(edit.features) == 0
    assert (edit.measures["wetland_sqft"] == 0).all()
    assert (edit.measures["buffer_sqft"] == 0).all()
    edit.add(square(0, 0), id="0")
    assert edit.measures["wetland_sqft"].sum() == pytest.approx(10_000, rel=0.2)


def test_watercourse_with_banks(site):
    """A centreline with a half-width is found by its banks."""
    edit = MapEdit(site, kind="watercourses")
    line = shapely.LineString([(OX + 3000, OY - 300), (OX + 3000, OY + 900)])
    edit.add(line, id="brook", half_width_ft=40.0)
    assert bits(edit) == edit.measure_all().tobytes()
    edit.undo()


def test_pickled_without_its_trees(site):
    edit = MapEdit(site)
    edit.add(square(1530, 400), id="new")
    again = pickle.loads(pickle.dumps(edit))
    again.remove("new")
    edit.undo()
    assert again.measures.equals(edit.measures)


def test_into_an_amendment(site):
    """The edited map makes the papers."""
    edit = MapEdit(site)
    told = edit.replace("1", square(650, 120, 180))
    made = wetgis.amend(site, edit.features, mode="whole", min_change_sqft=0)
    rows = made.parcels.set_index("parcel_id")
    for row in told.itertuples():
        assert rows.loc[row.parcel_id, "buffer_change_sqft"] == pytest.approx(
            row.buffer_change_sqft, abs=1e-5)  # fmt: skip


@pytest.mark.parametrize("bad", [None, shapely.Polygon(), shapely.Point(np.nan, 1)])
def test_refused_geometry(site, bad):
    """Never a box that is not one in the R-tree."""
    with pytest.raises(GeometryError, match="usable"):
        MapEdit(SMALL).add(bad, id="x")


def test_refused(site):
    edit = MapEdit(site)
    with pytest.raises(InputError, match="already"):
        edit.add(square(0, 0), id="1")
    with pytest.raises(InputError, match="no feature 'zz'"):
        edit.remove("zz")
    with pytest.raises(UsageError, match="kind"):
        MapEdit(site, kind="soils")
    with pytest.raises(InputError, match="parcels"):
        MapEdit(wetgis.Site.from_layers(wetlands=boxes((0, 0, 1, 1))))
