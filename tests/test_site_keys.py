"""Every key of a ``site.toml`` does what it says: a test a key."""

from __future__ import annotations

import datetime
from pathlib import Path

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import rasterio
import shapely
from rasterio.transform import from_origin
from tests.conftest import RYE, boxes

import wetgis
from wetgis.errors import CrsError, InputError, SiteError
from wetgis.site import Site

LOTS = ((0, 0, 100, 100), (100, 0, 200, 100))
HEAD = 'packs = []\ncrs = "EPSG:2260"\n[measure]\nbuffer_ft = 100\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two lots in `lots.gpkg`, a wetland in `wet.gpkg`."""
    lots = boxes(*LOTS, PRINT_KEY=["1.-1-1", "1.-1-2"], SWIS=["551400", "551400"], N=[1, 2])
    lots.drop(columns="id").to_file(tmp_path / "lots.gpkg", layer="lots")
    wet = boxes((150, 0, 180, 50), WID=["W1"])
    wet.drop(columns="id").to_file(tmp_path / "wet.gpkg", layer="wet")
    return tmp_path


def make(folder: Path, text: str, name: str = "site.toml") -> Site:
    (folder / name).write_text(text)
    return wetgis.read_site(folder / name)


def layers(
    folder: Path,
    wetlands: str = 'path = "wet.gpkg"',
    parcels: str = 'path = "lots.gpkg"\nid = "PRINT_KEY"',
    head: str = HEAD,
    more: str = "",
) -> Site:
    return make(
        folder, f"{head}[layers.parcels]\n{parcels}\n[layers.wetlands]\n{wetlands}\n{more}\n"
    )


def wet(site: Site) -> gpd.GeoDataFrame:
    return site.layers["wetlands"].frame


def found(site: Site, code: str) -> list[wetgis.issuelog.Issue]:
    return [i for i in site.issues if i.code == code]


# the top -----------------------------------------------------------------------------------


def test_title_and_spec(folder: Path) -> None:
    site = layers(folder, head='title = "Blind Brook"\n' + HEAD)
    assert site.title == "Blind Brook"
    assert site.spec["title"] == "Blind Brook"
    assert site.spec["measure"] == {"buffer_ft": 100.0}
    assert site.spec["layers"]["parcels"] == [{"path": "lots.gpkg", "id": "PRINT_KEY"}]
    assert [s.path for s in site.layers["parcels"].sources] == ["lots.gpkg"]


def test_packs_by_id_and_by_path_beside_the_file(folder: Path) -> None:
    from wetgis.packs import FOLDER

    text = (FOLDER / "rye-ny-195.toml").read_text()
    (folder / "own.toml").write_text(text.replace('id = "rye-ny-195"', 'id = "own"', 1))
    head = HEAD.replace("packs = []", 'packs = ["own.toml", "monroe-ny-46"]')
    assert [p.id for p in layers(folder, head=head).packs] == ["own", "monroe-ny-46"]


def test_crs(folder: Path) -> None:
    assert layers(folder, head=HEAD.replace("2260", "2263")).crs.to_epsg() == 2263


def test_as_of_picks_the_features_and_both_ends_count(folder: Path) -> None:
    frame = boxes(
        (0, 0, 10, 10), (20, 0, 30, 10), (40, 0, 50, 10), (60, 0, 70, 10),
        effective_from=["2026-11-30", "2026-12-01", None, ""],
        effective_to=[None, None, "2026-11-30", "2026-11-29"],
    )  # fmt: skip
    frame.to_file(folder / "wet.gpkg", layer="wet")
    site = layers(folder, 'path = "wet.gpkg"\nid = "id"', head="as_of = 2026-11-30\n" + HEAD)
    assert site.as_of == datetime.date(2026, 11, 30)
    assert list(wet(site)["id"]) == ["0", "2"]
    (issue,) = found(site, "not_in_force")
    assert issue.message == "2 of 4 features are not in force on 2026-11-30."
    later = layers(folder, 'path = "wet.gpkg"\nid = "id"', head="as_of = 2026-12-01\n" + HEAD)
    assert list(wet(later)["id"]) == ["0", "1"]


def test_as_of_reads_days_of_any_type() -> None:
    day = datetime.date(2026, 11, 30)
    for value in (day, pd.Timestamp(day), "2026-11-30T00:00:00", np.datetime64(day)):
        for column, kept in (("effective_from", [1, 0]), ("effective_to", [1, 1])):
            frame = boxes((0, 0, 10, 10)).assign(**{column: pd.Series([value])})
            got = [
                len(Site.from_layers(wetlands=frame, as_of=d).layers["wetlands"].frame)
                for d in (day, day - datetime.timedelta(days=1))
            ]
            assert got == kept


def test_a_day_that_is_none_is_an_issue_and_the_feature_stays() -> None:
    frame = boxes((0, 0, 10, 10)).assign(effective_from=["soon"])
    site = Site.from_layers(wetlands=frame)
    assert len(wet(site)) == 1
    assert "'soon'" in found(site, "bad_value")[0].message


def test_as_of_picks_the_law(folder: Path) -> None:
    head = 'as_of = 2020-01-01\npacks = ["rye-ny-195"]\n'
    assert layers(folder, head=head).packs[0].as_of == datetime.date(2020, 1, 1)
    pack = wetgis.load_pack("rye-ny-195", as_of=datetime.date(2000, 1, 1))
    site = Site.from_layers(parcels=boxes(*LOTS), packs=[pack], as_of="2021-02-03")
    assert site.packs[0].as_of == datetime.date(2021, 2, 3)


def test_combined_factor(folder: Path) -> None:
    assert layers(folder).combined_factor is None
    assert layers(folder, head="combined_factor = 0.9998797\n" + HEAD).combined_factor == 0.9998797


def test_facts_and_columns(folder: Path) -> None:
    head = HEAD + "[facts]\nexisting_structure = true\nproviso_p1 = false\n"
    assert layers(folder, head=head).facts == {"existing_structure": True, "proviso_p1": False}


def test_facts_of_single_footprints_are_columns_that_stay(folder: Path) -> None:
    work = boxes((0, 0, 10, 10), (20, 0, 30, 10), existing_structure=[True, None])
    work.to_file(folder / "work.gpkg")
    head = HEAD + "[facts]\nexisting_structure = false\n"
    site = layers(folder, head=head, more='[layers.footprints]\npath = "work.gpkg"')
    column = site.layers["footprints"].frame["existing_structure"]
    assert bool(column[0]) is True
    assert column.isna()[1]
    assert site.facts["existing_structure"] is False


def test_measure(folder: Path) -> None:
    head = "packs = []\n[measure]\nbuffer_ft = 75\nhydric_pct = 50\nsteep_pct = 15\n"
    measure = layers(folder, head=head).measure
    assert (measure.buffer_ft, measure.hydric_pct, measure.steep_pct) == (75, 50, 15)
    assert not found(layers(folder, head=head), "no_parameter")


def test_overrides(folder: Path) -> None:
    table = (
        '[[overrides]]\npack = "monroe-ny-46"\nparameter = "major_permit_disturbance"\n'
        'value = 43560\nunit = "sqft"\ncomparison = "ge"\n'
    )
    head = 'packs = ["monroe-ny-46"]\n' + table
    site = layers(folder, head=head + 'cite = "as supplied by the town"\n')
    limit = site.packs[0].limit("major_permit_disturbance")
    assert (limit.value, limit.comparison, limit.cite_status) == (43560.0, "ge", "override")
    with pytest.raises(SiteError, match=r"overrides\[0\].cite") as error:
        layers(folder, head=head)
    assert "site.toml" in str(error.value)


# strict ------------------------------------------------------------------------------------

STRICT = "strict = true\n" + HEAD


def test_strict_refuses_a_repaired_wetland_but_not_a_repaired_soil(folder: Path) -> None:
    x, y = RYE
    ring = [(x, y), (x + 60, y + 80), (x + 60, y), (x, y + 80)]
    bowtie = gpd.GeoDataFrame({"id": ["B"]}, geometry=[shapely.Polygon(ring)], crs="EPSG:2260")
    bowtie.to_file(folder / "bow.gpkg")
    lax = layers(folder, 'path = "bow.gpkg"')
    assert found(lax, "repaired")
    with pytest.raises(InputError, match="strict"):
        layers(folder, 'path = "bow.gpkg"', head=STRICT)
    soils = '[layers.soils]\npath = "bow.gpkg"'
    assert layers(folder, head=STRICT, more=soils).strict


def test_strict_refuses_a_ballpark_transformation(folder: Path) -> None:
    boxes((150, 0, 180, 50)).set_crs("EPSG:32015", allow_override=True)
    old = boxes((150, 0, 180, 50)).to_crs("EPSG:4267")
    old.to_file(folder / "old.gpkg")
    lax = layers(folder, 'path = "old.gpkg"')
    if not found(lax, "ballpark"):
        pytest.skip("this machine has the NADCON grids")
    with pytest.raises(CrsError, match="strict"):
        layers(folder, 'path = "old.gpkg"', head=STRICT)


def test_strict_refuses_unmapped_ground(folder: Path) -> None:
    boxes((0, 0, 150, 150)).to_file(folder / "sheet.gpkg")
    boxes((0, 0, 200, 100)).to_file(folder / "town.gpkg")
    keys = 'path = "wet.gpkg"\nextent = "sheet.gpkg"'
    assert layers(folder, keys).layers["wetlands"].extent.area == pytest.approx(22_500)
    with pytest.raises(InputError, match=r"1 parcels .* 'wetlands' does not map: 1.-1-2"):
        layers(folder, keys, head=STRICT)
    assert layers(folder, keys.replace("sheet", "town"), head=STRICT).strict


# a layer's keys ----------------------------------------------------------------------------


def test_an_unknown_key_names_the_key_the_nearest_and_its_place(folder: Path) -> None:
    with pytest.raises(SiteError) as error:
        layers(folder, 'path = "wet.gpkg"\nacuracy_ft = 5')
    text = str(error.value)
    assert "layers.wetlands.acuracy_ft" in text
    assert "'accuracy_ft'" in text
    assert "site.toml" in text
    with pytest.raises(SiteError, match=r"layers.wetland.*'wetlands'"):
        layers(folder, more='[layers.wetland]\npath = "wet.gpkg"')
    with pytest.raises(SiteError, match=r"'titel'.*'title'"):
        layers(folder, head='titel = "x"\n' + HEAD)
    with pytest.raises(SiteError, match=r"measure.bufferft.*'buffer_ft'"):
        layers(folder, head="packs = []\n[measure]\nbufferft = 1\n")
    with pytest.raises(SiteError, match=r"layers.wetlands\[1\].idd"):
        make(
            folder,
            HEAD + "[[layers.wetlands]]\npath = 'a'\n[[layers.wetlands]]\npath = 'b'\nidd = 'x'",
        )


def test_files_that_are_not_there_or_not_toml(folder: Path) -> None:
    with pytest.raises(SiteError, match=r"no such file"):
        wetgis.read_site(folder / "no.toml")
    with pytest.raises(SiteError, match="not TOML"):
        make(folder, "title = ")
    with pytest.raises(SiteError, match="folder"):
        wetgis.read_site(folder)
    with pytest.raises(InputError, match=r"no\.gpkg"):
        layers(folder, 'path = "no.gpkg"')
    with pytest.raises(InputError, match=r"site.toml: layers.wetlands: \*\.shp"):
        layers(folder, 'path = "*.shp"')
    with pytest.raises(SiteError, match=r"layers.wetlands.path"):
        layers(folder, 'id = "WID"')


def test_path_is_relative_to_the_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert len(wet(layers(folder))) == 1
    text = (folder / "site.toml").read_text().replace("lots.gpkg", "../lots.gpkg")
    assert len(wet(make(elsewhere, text.replace("wet.gpkg", "../wet.gpkg")))) == 1
    absolute = (folder / "wet.gpkg").as_posix()
    assert len(wet(layers(folder, f'path = "{absolute}"'))) == 1


def test_path_may_be_a_glob_or_a_list(folder: Path) -> None:
    boxes((0, 0, 10, 10)).to_file(folder / "sheet_b.gpkg")
    boxes((50, 0, 60, 10)).to_file(folder / "sheet_a.gpkg")
    one = layers(folder, 'path = "sheet_*.gpkg"')
    assert [s.path for s in one.layers["wetlands"].sources] == ["sheet_a.gpkg", "sheet_b.gpkg"]
    assert wet(one).bounds.minx.sub(RYE[0]).round().tolist() == [50, 0]
    two = layers(folder, 'path = ["sheet_b.gpkg", "sheet_a.gpkg"]')
    assert wet(two).bounds.minx.sub(RYE[0]).round().tolist() == [0, 50]


def test_layer_names_one_of_several(folder: Path) -> None:
    boxes((0, 0, 10, 10)).to_file(folder / "two.gpkg", layer="old")
    boxes((0, 0, 20, 20)).to_file(folder / "two.gpkg", layer="new")
    assert wet(layers(folder, 'path = "two.gpkg"\nlayer = "new"')).area[0] == pytest.approx(400)
    with pytest.raises(InputError, match="old"):
        layers(folder, 'path = "two.gpkg"\nlayer = "nwe"')
    with pytest.raises(InputError, match="old"):
        layers(folder, 'path = "two.gpkg"')


def test_source_crs(folder: Path) -> None:
    wrong = boxes((150, 0, 180, 50)).to_crs("EPSG:2263").set_crs("EPSG:2260", allow_override=True)
    wrong.to_file(folder / "wrong.gpkg")
    site = layers(folder, 'path = "wrong.gpkg"\nsource_crs = "EPSG:2263"')
    assert wet(site).total_bounds - [*RYE, *RYE] == pytest.approx([150, 0, 180, 50], abs=0.01)


def test_id_one_column_or_several_or_none(folder: Path) -> None:
    ids = layers(folder).layers["parcels"].frame["id"]
    assert list(ids) == ["1.-1-1", "1.-1-2"]
    both = layers(folder, parcels='path = "lots.gpkg"\nid = ["SWIS", "PRINT_KEY"]')
    assert list(both.layers["parcels"].frame["id"]) == ["551400-1.-1-1", "551400-1.-1-2"]
    none = layers(folder, parcels='path = "lots.gpkg"\nwhere = "N = 1"')
    assert none.layers["parcels"].frame["id"][0].startswith(("parcels-", "1.-1-1"))


def test_where(folder: Path) -> None:
    site = layers(folder, parcels='path = "lots.gpkg"\nid = "PRINT_KEY"\nwhere = "N = 2"')
    assert list(site.layers["parcels"].frame["id"]) == ["1.-1-2"]


def test_fields(folder: Path) -> None:
    site = layers(folder, 'path = "wet.gpkg"\nfields = { name = "WID" }')
    assert list(wet(site)["name"]) == ["W1"]


def test_components_lie_beside_the_file(folder: Path) -> None:
    boxes((0, 0, 200, 100), MUKEY=["1"]).to_file(folder / "soil.gpkg")
    (folder / "component.csv").write_text(
        "mukey,cokey,comppct_r,hydricrating\n1,a,80,Yes\n1,b,15,No\n1,c,5,Unranked\n"
    )
    soils = '[layers.soils]\npath = "soil.gpkg"\ncomponents = "component.csv"'
    frame = layers(folder, more=soils).layers["soils"].frame
    assert frame["hydric_pct_low"][0] == pytest.approx(80)
    assert frame["hydric_pct_high"][0] == pytest.approx(85)


def test_keep(folder: Path) -> None:
    site = layers(folder, parcels='path = "lots.gpkg"\nid = "PRINT_KEY"\nkeep = ["SWIS"]')
    assert site.layers["parcels"].keep == ("SWIS",)
    assert list(site.layers["parcels"].frame["SWIS"]) == ["551400", "551400"]
    assert layers(folder).layers["parcels"].keep == ()


def condos(folder: Path, rule: str) -> Site:
    three = boxes((0, 0, 100, 100), (100, 0, 200, 100), (50, 0, 150, 100), KEY=["A", "B", "A"])
    three.assign(note=[None, "b", "x"]).drop(columns="id").to_file(folder / "condo.gpkg")
    parcels = f'path = "condo.gpkg"\nid = "KEY"\nkeep = ["note"]\n{rule}'
    return layers(folder, parcels=parcels)


@pytest.mark.parametrize("rule", ["", 'duplicates = "keep"'])
def test_duplicates_keep(folder: Path, rule: str) -> None:
    site = condos(folder, rule)
    frame = site.layers["parcels"].frame
    assert list(frame["id"]) == ["A", "B", "A"]
    assert sorted(frame["record"][[0, 2]]) == [1, 2]
    assert frame["record"][1] == 1
    (issue,) = found(site, "duplicate_id")
    assert (issue.severity, issue.layer) == ("warning", "parcels")
    assert "(A)" in issue.message


def test_duplicates_unite(folder: Path) -> None:
    site = condos(folder, 'duplicates = "unite"')
    frame = site.layers["parcels"].frame
    assert list(frame["id"]) == ["A", "B"]
    assert list(frame["record"]) == [1, 1]
    assert frame.area.tolist() == pytest.approx([15_000, 10_000])
    assert frame["note"][0] == "x"  # the first value that is stated
    assert frame.crs == site.crs
    assert found(site, "duplicate_id")


def test_duplicates_error(folder: Path) -> None:
    with pytest.raises(InputError, match=r"1 ids occur more than once \(A\)"):
        condos(folder, 'duplicates = "error"')


def test_rows_of_one_wetland_repeat_its_id_without_a_warning(folder: Path) -> None:
    boxes((0, 0, 10, 10), (20, 0, 30, 10), WID=["W", "W"]).to_file(folder / "w.gpkg")
    site = layers(folder, 'path = "w.gpkg"\nid = "WID"')
    assert len(wet(site)) == 2
    assert not found(site, "duplicate_id")
    one = layers(folder, 'path = "w.gpkg"\nid = "WID"\nduplicates = "unite"')
    assert len(wet(one)) == 1


def test_unite_of_rows_without_geometry_stays_without() -> None:
    lots = boxes(*LOTS).assign(id=["A", "A"])
    lots["geometry"] = None
    site = Site.from_layers(
        parcels=[wetgis.Layer(lots, duplicates="unite"), boxes((0, 0, 1, 1)).assign(id="B")]
    )
    frame = site.layers["parcels"].frame
    assert list(frame["id"]) == ["A", "B"]
    assert frame.geometry[0] is None


def test_accuracy_basis_and_source_date(folder: Path) -> None:
    plain = layers(folder)
    assert np.isnan(wet(plain)["accuracy_ft"][0])
    assert "wetlands" in [i.layer for i in found(plain, "no_accuracy")]
    site = layers(
        folder,
        'path = "wet.gpkg"\naccuracy_ft = 5\nbasis = "city_map"\nsource_date = 2025-07-01',
    )
    row = wet(site).iloc[0]
    assert (row["accuracy_ft"], row["basis"], row["source_date"]) == (5, "city_map", "2025-07-01")
    assert "wetlands" not in [i.layer for i in found(site, "no_accuracy")]


# extent ------------------------------------------------------------------------------------


def test_extent_is_unknown_unless_it_is_stated(folder: Path) -> None:
    assert layers(folder).layers["wetlands"].extent is None


def test_extent_of_a_path_of_the_municipality_and_of_the_features(folder: Path) -> None:
    boxes((0, 0, 300, 300)).to_crs("EPSG:26918").to_file(folder / "sheet.gpkg")
    by_path = layers(folder, 'path = "wet.gpkg"\nextent = "sheet.gpkg"').layers["wetlands"].extent
    assert by_path.area == pytest.approx(90_000, rel=1e-6)
    boxes((0, 0, 400, 400), (400, 0, 500, 400)).to_file(folder / "town.gpkg")
    town = '[layers.municipality]\npath = "town.gpkg"'
    keys = 'path = "wet.gpkg"\nextent = "municipality"'
    assert layers(folder, keys, more=town).layers["wetlands"].extent.area == pytest.approx(200_000)
    with pytest.raises(SiteError, match="municipality"):
        layers(folder, keys)
    features = layers(folder, 'path = "wet.gpkg"\nextent = "features"').layers["wetlands"].extent
    assert features.bounds == pytest.approx((RYE[0] + 150, RYE[1], RYE[0] + 180, RYE[1] + 50))


def test_extent_without_polygons_is_refused(folder: Path) -> None:
    points = boxes((0, 0, 1, 1))
    points.set_geometry(points.centroid).to_file(folder / "dots.gpkg")
    with pytest.raises(InputError, match="no polygons"):
        layers(folder, 'path = "wet.gpkg"\nextent = "dots.gpkg"')


def test_extents_of_several_sources_unite(folder: Path) -> None:
    boxes((0, 0, 100, 100)).to_file(folder / "a.gpkg")
    boxes((50, 0, 150, 100)).to_file(folder / "b.gpkg")
    text = HEAD + '[layers.parcels]\npath = "lots.gpkg"\n'
    for name in ("a", "b"):
        text += f'[[layers.wetlands]]\npath = "{name}.gpkg"\nextent = "features"\n'
    assert make(folder, text).layers["wetlands"].extent.area == pytest.approx(15_000)


def test_several_sources_keep_their_own_keys(folder: Path) -> None:
    boxes((0, 0, 10, 10), K=["f"]).drop(columns="id").to_file(folder / "field.gpkg")
    text = HEAD + '[layers.parcels]\npath = "lots.gpkg"\n'
    text += '[[layers.wetlands]]\npath = "field.gpkg"\nid = "K"\nbasis = "field_survey"\n'
    text += "accuracy_ft = 0.1\nsource_date = 2026-05-01\n"
    text += '[[layers.wetlands]]\npath = "wet.gpkg"\nid = "WID"\nbasis = "nwi"\naccuracy_ft = 40\n'
    frame = wet(make(folder, text))
    assert list(frame["id"]) == ["f", "W1"]
    assert list(frame["basis"]) == ["field_survey", "nwi"]
    assert list(frame["accuracy_ft"]) == [0.1, 40]
    assert list(frame["source_date"]) == ["2026-05-01", ""]


# rasters -----------------------------------------------------------------------------------


def dem(path: Path, dx: float = 0) -> None:
    transform = from_origin(RYE[0] + dx, RYE[1] + 100, 10, 10)
    options = {"driver": "GTiff", "count": 1, "dtype": "float32", "crs": "EPSG:2260"}
    with rasterio.open(path, "w", width=10, height=10, transform=transform, **options) as out:
        out.write(np.zeros((1, 10, 10), "float32"))


def test_rasters_glob_and_z_unit(folder: Path) -> None:
    dem(folder / "dem_2.tif", 100)
    dem(folder / "dem_1.tif")
    site = layers(folder, more='[layers.dem]\npath = "dem_*.tif"\nz_unit = "m"')
    assert [p.name for p in site.rasters["dem"].paths] == ["dem_1.tif", "dem_2.tif"]
    assert site.rasters["dem"].z_unit == "m"
    assert [s.path for s in site.rasters["dem"].sources] == ["dem_1.tif", "dem_2.tif"]
    assert site.rasters["dem"].sources[0].crs == "EPSG:2260"
    assert len(site.rasters["dem"].sources[0].sha256) == 64
    assert layers(folder, more='[layers.dem]\npath = "dem_1.tif"').rasters["dem"].z_unit is None
    with pytest.raises(InputError, match=r"no\.tif"):
        layers(folder, more='[layers.dem]\npath = "no.tif"')


def test_a_raster_elsewhere_is_an_error_and_one_apart_a_warning(folder: Path) -> None:
    dem(folder / "far.tif", 26 * 5280)
    with pytest.raises(InputError, match="'dem' lies 26 miles"):
        layers(folder, more='[layers.dem]\npath = "far.tif"')
    dem(folder / "apart.tif", 1000)
    site = layers(folder, more='[layers.dem]\npath = "apart.tif"')
    assert [i.layer for i in found(site, "no_overlap")] == ["dem"]


def test_keys_given_to_read_site_replace_the_files(folder: Path) -> None:
    layers(folder)
    site = wetgis.read_site(folder / "site.toml", as_of="2020-01-02", strict=True)
    assert site.as_of == datetime.date(2020, 1, 2)
    assert site.strict
