"""A site from frames and from a file: CRS, law, issues, what is refused."""

from __future__ import annotations

import datetime

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely
from tests.conftest import RYE, boxes

import wetgis
from wetgis.errors import CrsError, InputError, SiteError
from wetgis.site import Site

PARCELS = ((0, 0, 100, 100), (100, 0, 200, 100))


def codes(site: Site, kind: str | None = None) -> list[str]:
    return [i.code for i in site.issues if kind is None or i.layer == kind]


def issue(site: Site, code: str, kind: str | None = None) -> wetgis.issuelog.Issue:
    return next(i for i in site.issues if i.code == code and kind in (None, i.layer))


def simple(**more: object) -> Site:
    given = {
        "parcels": boxes(*PARCELS),
        "wetlands": boxes((150, 0, 180, 50)),
        "packs": [],
        "measure": {"buffer_ft": 100},
        "crs": "EPSG:2260",
    }
    return Site.from_layers(**{**given, **more})


# frames ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "index", [[0, 1], [7, 7], ["b", "a"], pd.MultiIndex.from_tuples([("x", 1), ("x", 2)])]
)
def test_a_frame_of_any_index_is_copied_and_never_changed(index: object) -> None:
    parcels = boxes(*PARCELS, extra=[1.5, None])
    parcels.index = index
    before = parcels.copy(deep=True)
    site = simple(parcels=parcels)
    site.layers["parcels"].frame["id"] = "changed"
    site.layers["parcels"].frame.loc[0, "geometry"] = shapely.Point(0, 0)
    pd.testing.assert_frame_equal(parcels, before)
    assert isinstance(site.layers["parcels"].frame.index, pd.RangeIndex)


@pytest.mark.parametrize("ids", [["a", "b"], [1, 2], [np.int64(1), np.int64(2)], ["007", "07"]])
def test_ids_of_any_type_become_text(ids: list[object]) -> None:
    parcels = boxes(*PARCELS).assign(id=ids)
    assert list(simple(parcels=parcels).layers["parcels"].frame["id"]) == [str(i) for i in ids]


def test_a_frame_without_ids_gets_them_from_its_geometry() -> None:
    parcels = boxes(*PARCELS).drop(columns="id")
    forward = simple(parcels=parcels).layers["parcels"].frame["id"]
    backward = simple(parcels=parcels[::-1]).layers["parcels"].frame["id"]
    assert set(forward) == set(backward)
    assert len(set(forward)) == 2
    assert forward.str.fullmatch(r"parcels-[0-9a-f]{10}").all()


def test_generated_ids_are_the_same_from_a_file(tmp_path) -> None:
    parcels = boxes(*PARCELS).drop(columns="id")
    parcels.to_file(tmp_path / "p.gpkg")
    one = simple(parcels=parcels).layers["parcels"].frame["id"]
    two = simple(parcels=tmp_path / "p.gpkg").layers["parcels"].frame["id"]
    assert list(one) == list(two)


def test_several_sources_are_one_layer_each_with_its_own_accuracy() -> None:
    site = simple(
        wetlands=[
            wetgis.Layer(boxes((0, 0, 10, 10)), accuracy_ft=1, basis="field_survey"),
            boxes((50, 0, 60, 10)),
        ]
    )
    frame = site.layers["wetlands"].frame
    assert list(frame["accuracy_ft"].isna()) == [False, True]
    assert frame["basis"][0] == "field_survey"
    assert issue(site, "no_accuracy", "wetlands")
    assert len(site.layers["wetlands"].sources) == 2


def test_an_absent_layer_may_be_none() -> None:
    assert "soils" not in simple(soils=None).layers


def test_footprints_alone_are_subjects() -> None:
    site = Site.from_layers(footprints=boxes(*PARCELS), measure={"buffer_ft": 1})
    assert list(site.layers) == ["footprints"]
    assert list(site.layers["footprints"].frame["record"]) == [1, 1]


# keys that are wrong -----------------------------------------------------------------------


def test_an_unknown_key_names_the_nearest() -> None:
    with pytest.raises(SiteError, match=r"'wetland'.*did you mean 'wetlands'"):
        simple(wetland=boxes((0, 0, 1, 1)))
    with pytest.raises(SiteError, match=r"'acuracy_ft'.*did you mean 'accuracy_ft'"):
        wetgis.Layer("x.gpkg", acuracy_ft=3)
    with pytest.raises(SiteError, match=r"measure.bufer_ft.*did you mean 'buffer_ft'"):
        simple(measure={"bufer_ft": 3})


@pytest.mark.parametrize(
    ("keys", "word"),
    [
        ({"measure": {"buffer_ft": -1}}, "measure.buffer_ft"),
        ({"measure": {"hydric_pct": 101}}, "measure.hydric_pct"),
        ({"measure": {"steep_pct": "30 %"}}, "measure.steep_pct"),
        ({"measure": 100}, "measure"),
        ({"strict": "yes"}, "strict"),
        ({"combined_factor": 1.5}, "combined_factor"),
        ({"as_of": "30.11.2026"}, "as_of"),
        ({"facts": {"x": [1, 2]}}, "facts.x"),
        ({"packs": "rye-ny-195"}, "packs"),
        ({"crs": "EPSG:999999"}, "EPSG:999999"),
        ({"parcels": 5}, "layers.parcels"),
        ({"parcels": []}, "layers.parcels"),
        ({"wetlands": wetgis.Layer("x", basis="guess")}, "layers.wetlands.basis"),
        ({"wetlands": wetgis.Layer("x", duplicates="drop")}, "layers.wetlands.duplicates"),
        ({"wetlands": wetgis.Layer("x", accuracy_ft=-1)}, "layers.wetlands.accuracy_ft"),
        ({"wetlands": wetgis.Layer("x", z_unit="m")}, "z_unit"),
        ({"dem": wetgis.Layer("x.tif", z_unit="feet")}, "layers.dem.z_unit"),
        ({"dem": wetgis.Layer("x.tif", id="x")}, "layers.dem.id"),
    ],
)
def test_a_value_that_cannot_be_used_is_named(keys: dict[str, object], word: str) -> None:
    with pytest.raises((SiteError, CrsError)) as error:
        simple(**keys)
    assert word in str(error.value)


# the law -----------------------------------------------------------------------------------


def test_measures_come_from_the_site_then_the_packs_else_they_are_unknown() -> None:
    site = simple(measure={})
    assert np.isnan(site.measure.buffer_ft)
    messages = [i.message for i in site.issues if i.code == "no_parameter"]
    assert [m.split()[0] for m in messages] == [
        "measure.buffer_ft",
        "measure.hydric_pct",
        "measure.steep_pct",
    ]
    assert issue(site, "no_parameter", "wetlands").severity == "warning"
    rye = simple(packs=["rye-ny-195"], measure={})
    assert rye.measure.buffer_ft == 100
    assert rye.measure.buffer_regulated
    assert simple(packs=["rye-ny-195"], measure={"buffer_ft": 50}).measure.buffer_ft == 50


def test_no_pack_regulates_no_buffer() -> None:
    assert not simple().measure.buffer_regulated
    assert not simple(packs=["monroe-ny-46"]).measure.buffer_regulated


def test_packs_may_be_objects_and_come_in_their_order() -> None:
    monroe = wetgis.load_pack("monroe-ny-46")
    site = simple(packs=[monroe, "rye-ny-195"])
    assert [p.id for p in site.packs] == ["monroe-ny-46", "rye-ny-195"]
    assert site.spec["packs"] == ["monroe-ny-46", "rye-ny-195"]
    with pytest.raises(SiteError, match="twice"):
        simple(packs=[monroe, "monroe-ny-46"])


OVERRIDE = {
    "pack": "monroe-ny-46",
    "parameter": "major_permit_disturbance",
    "value": 43560,
    "unit": "sqft",
    "comparison": "ge",
    "cite": "Town Code 46-3D as supplied by the town",
}


def test_an_override_is_applied_and_cited() -> None:
    site = simple(packs=["monroe-ny-46"], overrides=[OVERRIDE])
    assert site.packs[0].sha256  # the pack keeps its identity
    plain = simple(packs=["monroe-ny-46"])
    assert site.packs[0] != plain.packs[0]
    assert site.spec["overrides"][0]["cite"] == OVERRIDE["cite"]


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"cite": None}, "cite"),
        ({"cite": "  "}, "cite"),
        ({"pack": "rye-ny-195"}, "rye-ny-195"),
        ({"unit": "ft"}, "sqft"),
        ({"comparison": ">="}, "comparison"),
        ({"value": "43560"}, "overrides[0].value"),
        ({"value": float("inf")}, "overrides[0].value"),
        ({"sighting": "x"}, "did you mean"),
        ({"parameter": "major_permit_disturbence"}, "major_permit_disturbance"),
    ],
)
def test_an_override_without_cite_or_with_other_faults_is_refused(
    change: dict[str, object], word: str
) -> None:
    table = {k: v for k, v in {**OVERRIDE, **change}.items() if v is not None}
    with pytest.raises(wetgis.WetgisError) as error:
        simple(packs=["monroe-ny-46"], overrides=[table])
    assert word in str(error.value)


# the working CRS ---------------------------------------------------------------------------


def test_the_crs_is_the_one_asked_for_else_the_packs_else_suggested() -> None:
    far_west = boxes(*PARCELS).to_crs("EPSG:26918")
    asked = simple(parcels=far_west, crs="EPSG:2263")
    assert asked.crs.to_epsg() == 2263
    assert asked.layers["parcels"].frame.crs.to_epsg() == 2263
    packed = simple(parcels=far_west, crs=None, packs=["rye-ny-195"])
    assert packed.crs.to_epsg() == 2260
    suggested = simple(parcels=far_west, crs=None)
    assert suggested.crs == wetgis.suggest_crs(boxes(*PARCELS))


@pytest.mark.parametrize("bad", ["EPSG:5070", "EPSG:3857", "EPSG:4326", "EPSG:26918"])
def test_a_crs_that_must_not_be_measured_in_is_replaced(bad: str) -> None:
    site = simple(crs=bad)
    assert site.crs.to_epsg() == 2260
    found = issue(site, "unfit_crs")
    assert found.severity == "warning"
    assert bad in found.message
    assert "EPSG:2260" in found.message
    area = site.layers["parcels"].frame.area
    assert area.to_numpy() == pytest.approx(10_000, abs=1e-3)


def test_layers_of_any_crs_come_into_the_working_one() -> None:
    site = simple(wetlands=boxes((150, 0, 180, 50)).to_crs("EPSG:4326"))
    assert site.layers["wetlands"].frame.crs == site.crs
    assert site.layers["wetlands"].frame.area.sum() == pytest.approx(1_500, abs=1e-2)


def test_a_pack_of_another_place_does_not_decide_the_crs() -> None:
    maine = gpd.GeoDataFrame(
        {"id": ["1"]}, geometry=[shapely.box(-68.80, 44.80, -68.799, 44.801)], crs="EPSG:4326"
    )
    site = Site.from_layers(parcels=maine, packs=["rye-ny-195"])
    assert site.crs.to_epsg() != 2260
    assert "EPSG:2260" in issue(site, "unfit_crs").message


def test_no_crs_is_an_error() -> None:
    bare = gpd.GeoDataFrame(boxes(*PARCELS)[["id"]], geometry=boxes(*PARCELS).geometry.to_numpy())
    with pytest.raises(CrsError):
        simple(parcels=bare)
    stated = simple(parcels=wetgis.Layer(bare, source_crs="EPSG:2260"))
    assert stated.layers["parcels"].frame.total_bounds[0] == pytest.approx(RYE[0])


# where the layers lie ----------------------------------------------------------------------


def test_a_layer_more_than_25_miles_away_is_an_error() -> None:
    x = 26 * 5280
    with pytest.raises(InputError, match=r"'wetlands' lies 26 miles from the subjects"):
        simple(wetlands=boxes((x, 0, x + 500, 50)))
    with pytest.raises(InputError, match="'footprints'"):
        simple(footprints=boxes((x, 0, x + 500, 50)))
    x = 24 * 5280
    assert "no_overlap" in codes(simple(wetlands=boxes((x, 0, x + 500, 50))), "wetlands")


def test_a_layer_apart_is_a_warning_but_one_within_reach_is_not() -> None:
    apart = simple(wetlands=boxes((301, 0, 400, 50)))
    found = issue(apart, "no_overlap")
    assert (found.severity, found.layer) == ("warning", "wetlands")
    assert "101 ft" in found.message
    assert "no_overlap" not in codes(simple(wetlands=boxes((300, 0, 400, 50))))
    assert "no_overlap" not in codes(simple())


def test_an_empty_layer_is_an_issue_not_an_error() -> None:
    site = simple(wetlands=boxes((0, 0, 1, 1)).iloc[:0])
    assert len(site.layers["wetlands"].frame) == 0
    assert codes(site, "wetlands").count("empty_layer") == 1
    assert "no_overlap" not in codes(site)
    nothing = simple(parcels=boxes((0, 0, 1, 1)).iloc[:0])
    assert "empty_layer" in codes(nothing, "parcels")


def test_subjects_that_reach_beyond_the_box_of_a_layer_are_counted() -> None:
    around = boxes((-100, -100, -90, -90), (199.9, 190, 200, 200))
    site = simple(wetlands=around)
    found = issue(site, "extent_reached")
    assert found.record_id == "1"  # the second parcel's reach ends at 300, the box at 200
    assert found.message.startswith("1 subjects")
    assert issue(site, "extent_reached").layer == "wetlands"
    whole = simple(wetlands=boxes((-100, -100, -90, -90), (290, 190, 300, 200)))
    assert "extent_reached" not in codes(whole)
    stated = simple(wetlands=wetgis.Layer(around, extent="features"))
    assert "extent_reached" not in codes(stated)


def test_the_reach_is_the_largest_legal_distance() -> None:
    assert simple().reach_ft == 100
    monroe = simple(packs=["monroe-ny-46"])
    assert monroe.reach_ft == max(100, monroe.packs[0].reach_ft)
    assert monroe.reach_ft >= 200


# what is said of single layers ---------------------------------------------------------------


def streams(**columns: object) -> gpd.GeoDataFrame:
    x, y = RYE
    lines = [shapely.LineString([(x, y + d), (x + 200, y + d)]) for d in (10, 20, 30)]
    return gpd.GeoDataFrame({"id": ["a", "b", "c"], **columns}, geometry=lines, crs="EPSG:2260")


def test_lines_without_a_half_width_and_piped_ones_are_counted() -> None:
    site = simple(watercourses=streams(half_width_ft=[4.0, None, None], piped=[True, False, None]))
    assert issue(site, "centreline", "watercourses").message.startswith("2 watercourses")
    assert issue(site, "piped", "watercourses").message.startswith("1 watercourses")
    assert "centreline" not in codes(simple(watercourses=streams(half_width_ft=4.0)))
    assert "piped" not in codes(simple(watercourses=streams()))
    banks = simple(watercourses=streams(measured_from="bank"))
    assert "centreline" not in codes(banks)


def test_no_stated_accuracy_is_a_note_on_layers_that_determine() -> None:
    assert codes(simple(), "wetlands").count("no_accuracy") == 1
    stated = simple(wetlands=wetgis.Layer(boxes((150, 0, 180, 50)), accuracy_ft=0))
    assert "no_accuracy" not in codes(stated, "wetlands")
    some = simple(wetlands=boxes((0, 0, 5, 5), (9, 0, 10, 5), accuracy_ft=[1.0, None]))
    assert issue(some, "no_accuracy", "wetlands").message.startswith("1 of 2 features")


# frozen, and grown -------------------------------------------------------------------------


def test_a_site_is_frozen() -> None:
    with pytest.raises(AttributeError):
        simple().title = "x"  # type: ignore[misc]


def test_with_layers_replaces_adds_and_leaves_out() -> None:
    site = simple()
    grown = site.with_layers(soils=boxes((0, 0, 300, 300)), wetlands=boxes((0, 0, 5, 5)))
    assert list(grown.layers) == ["parcels", "wetlands", "soils"]
    assert grown.layers["wetlands"].frame.area.sum() == pytest.approx(25)
    assert site.layers["wetlands"].frame.area.sum() == pytest.approx(1500)
    assert "soils" not in site.layers
    assert "wetlands" not in grown.with_layers(wetlands=None).layers
    assert grown.crs == site.crs
    with pytest.raises(SiteError, match="did you mean 'soils'"):
        site.with_layers(soil=boxes((0, 0, 1, 1)))


def test_with_layers_says_what_is_true_of_the_new_layers() -> None:
    site = simple(wetlands=boxes((5000, 0, 5100, 50)))
    assert "no_overlap" in codes(site)
    assert "no_overlap" not in codes(site.with_layers(wetlands=boxes((0, 0, 5, 5))))


def test_the_day_is_today_unless_it_is_stated() -> None:
    assert simple().as_of == datetime.date.today()
    assert simple(as_of=datetime.date(2026, 11, 30)).as_of == datetime.date(2026, 11, 30)
    assert simple(as_of="2026-11-30").as_of == datetime.date(2026, 11, 30)
