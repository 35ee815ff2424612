"""Published faults, at the level of a site: what is read, refused and said."""

from __future__ import annotations

from pathlib import Path

import pytest
import shapely

import wetgis
from wetgis.errors import CrsError, InputError
from wetgis.site import Site

pytestmark = pytest.mark.shared


def area(site: Site, kind: str) -> dict[str, float]:
    frame = site.layers[kind].frame
    return dict(zip(frame["id"], frame.area, strict=True))


def union(site: Site, kind: str) -> shapely.Geometry:
    return site.layers[kind].frame.union_all()


def codes(site: Site, kind: str) -> list[str]:
    return [i.code for i in site.issues if i.layer == kind]


# 03 ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["no_crs.geojson", "wrong_crs.geojson"])
def test_03_feet_that_say_they_are_degrees_are_refused(shared: Path, name: str) -> None:
    path = shared / "cases" / "03-feet-declared-4326" / name
    with pytest.raises(CrsError) as error:
        Site.from_layers(parcels=wetgis.Layer(path, where="kind = 'parcel'"))
    assert "source_crs" in str(error.value)


@pytest.mark.parametrize(
    ("name", "keys"),
    [("old_crs.geojson", {}), ("no_crs.geojson", {"source_crs": "EPSG:2263"})],
)
@pytest.mark.parametrize("crs", [None, "EPSG:2260", "EPSG:2263"])
def test_03_stated_feet_are_measured(
    shared: Path, name: str, keys: dict[str, str], crs: str | None
) -> None:
    path = shared / "cases" / "03-feet-declared-4326" / name
    site = Site.from_layers(
        parcels=wetgis.Layer(path, where="kind = 'parcel'", **keys),
        wetlands=wetgis.Layer(path, where="kind = 'wetland'", **keys),
        crs=crs,
    )
    assert sum(area(site, "wetlands").values()) == pytest.approx(4800, rel=1e-3)
    assert sum(area(site, "parcels").values()) == pytest.approx(43560, rel=1e-3)
    both = union(site, "wetlands").intersection(union(site, "parcels")).area
    assert both == pytest.approx(2400, rel=1e-3)


# 04 ----------------------------------------------------------------------------------------


def test_04_five_crs_come_into_one(shared: Path) -> None:
    folder = shared / "cases" / "04-four-crs-one-site"
    site = Site.from_layers(
        parcels=folder / "parcel.shp",
        footprints=folder / "footprint.geojson",
        wetlands=folder / "wetlands.gpkg",
        soils=folder / "soils.gpkg",
        floodplain=folder / "flood.shp",
        crs="EPSG:2263",
    )
    assert {str(layer.frame.crs.to_epsg()) for layer in site.layers.values()} == {"2263"}
    p, d, w, s, f = (
        union(site, k) for k in ("parcels", "footprints", "wetlands", "soils", "floodplain")
    )
    expected = {
        120000: p, 12000: d, 6404.96: d & w, 5000.0: d & s, 3360.0: d & f,
        32251.78: p & w, 40000.0: p & f, 8956.89: d & (w | s | f),
    }  # fmt: skip
    for value, geometry in expected.items():
        assert geometry.area == pytest.approx(value, rel=1e-3)
    # the file in this CRS already is not moved; the others say by what they were
    moved = {kind: layer.operations for kind, layer in site.layers.items()}
    assert all(moved[k] for k in ("footprints", "wetlands", "soils", "floodplain"))
    assert "ballpark" not in [i.code for i in site.issues]


# 07 ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("id_column", ["parcel_id", None])
def test_07_order_and_ids_of_the_files_are_kept(shared: Path, id_column: str | None) -> None:
    folder = shared / "cases" / "07-index-misalignment"
    keys = {"id": id_column} if id_column else {}
    site = Site.from_layers(
        parcels=wetgis.Layer(folder / "parcels.gpkg", **keys),
        footprints=wetgis.Layer(
            folder / "footprints.gpkg", fields={"parcel_id": "applicant_parcel"}
        ),
        wetlands=folder / "wetlands.gpkg",
    )
    parcels, prints = site.layers["parcels"].frame, site.layers["footprints"].frame
    if id_column:
        assert list(parcels["id"]) == [f"10-{i}" for i in range(1, 7)]
    assert list(prints["parcel_id"]) == ["10-5", "10-3", "10-1", "10-3", "10-6"]
    assert prints["id"].is_unique
    assert list(prints.index) == list(range(5))
    disturbed = [shapely.area(g & prints.union_all()) for g in parcels.geometry]
    assert disturbed == pytest.approx([2000, 500, 3100, 0, 3000, 1600], rel=1e-3)


# 08 ----------------------------------------------------------------------------------------


def test_08_a_parcel_without_geometry_stays_and_is_named(shared: Path) -> None:
    folder = shared / "cases" / "08-parcel-without-wetland"
    site = Site.from_layers(
        parcels=wetgis.Layer(folder / "parcels.shp", id="parcel_id"),
        wetlands=wetgis.Layer(folder / "wetlands.shp", id="wet_id"),
        packs=["rye-ny-195"],
    )
    frame = site.layers["parcels"].frame
    assert list(frame["id"]) == ["DRY", "PART", "WET", "TOUCH", "RETIRED", "FAR"]
    assert frame.geometry[4] is None
    found = next(i for i in site.issues if i.code == "null_geometry")
    assert (found.severity, found.record_id, found.layer) == ("error", "RETIRED", "parcels")
    reached = next(i for i in site.issues if i.code == "extent_reached")
    assert "FAR" in reached.message
    assert "RETIRED" not in reached.message


# 16 ----------------------------------------------------------------------------------------


def test_16_the_layer_is_named_or_asked_for(shared: Path) -> None:
    path = shared / "cases" / "16-gpkg-layers" / "site.gpkg"
    with pytest.raises(InputError) as error:
        Site.from_layers(parcels=path, wetlands=path)
    for name in ("wetlands_1995", "wetlands_2024", "vernal_pools", "parcels", "permits"):
        assert name in str(error.value)
    site = Site.from_layers(
        parcels=path, wetlands=wetgis.Layer(path, layer="wetlands_2024", id="wet_id")
    )
    assert area(site, "wetlands") == pytest.approx({"A": 3600, "B": 4400}, rel=1e-3)
    assert len(site.layers["parcels"].frame) == 2
    assert "several_layers" in codes(site, "parcels")


def test_16_an_empty_layer_is_an_answer_and_a_table_is_refused(shared: Path) -> None:
    path = shared / "cases" / "16-gpkg-layers" / "site.gpkg"
    site = Site.from_layers(parcels=path, wetlands=wetgis.Layer(path, layer="vernal_pools"))
    assert len(site.layers["wetlands"].frame) == 0
    assert codes(site, "wetlands").count("empty_layer") == 1
    with pytest.raises(InputError, match="permits"):
        Site.from_layers(parcels=path, wetlands=wetgis.Layer(path, layer="permits"))


# 18 ----------------------------------------------------------------------------------------


def test_18_bad_records_do_not_stop_the_others(shared: Path) -> None:
    folder = shared / "cases" / "18-bad-records-in-batch"
    site = Site.from_layers(
        parcels=wetgis.Layer(folder / "parcels.gpkg", id="parcel_id"),
        wetlands=wetgis.Layer(folder / "wetlands.gpkg", id="wet_id"),
        packs=["rye-ny-195"],
    )
    frame = site.layers["wetlands"].frame
    assert len(frame) == 8
    assert set(frame["id"][frame.geometry.isna()]) == {"NULL", "EMPTY", "NANV", "INFV"}
    assert union(site, "wetlands").area == pytest.approx(34400, abs=0.5)
    errors = {i.record_id for i in site.issues if i.severity == "error"}
    assert errors == {"NULL", "EMPTY", "NANV", "INFV"}
    (bow,) = [i for i in site.issues if i.code == "repaired"]
    assert bow.record_id == "BOW"
    assert bow.after_sqft == pytest.approx(2400, abs=0.5)
    wetlands = wetgis.Layer(folder / "wetlands.gpkg", id="wet_id")
    with pytest.raises(InputError, match="BOW"):
        Site.from_layers(parcels=folder / "parcels.gpkg", wetlands=wetlands, strict=True)


def test_18_an_unclosed_ring_is_closed_and_said(shared: Path) -> None:
    folder = shared / "cases" / "18-bad-records-in-batch"
    site = Site.from_layers(
        parcels=wetgis.Layer(folder / "parcels.gpkg", id="parcel_id"),
        wetlands=wetgis.Layer(folder / "wetlands_unclosed.geojson", id="wet_id"),
        packs=["rye-ny-195"],
    )
    found = area(site, "wetlands")
    assert found["OK"] == pytest.approx(4500, abs=0.5)
    said = {i.code for i in site.issues if i.record_id == "UNCLOSED"}
    assert said
    assert found["UNCLOSED"] == pytest.approx(4095, abs=0.5) or "unreadable_record" in said


# 37 ----------------------------------------------------------------------------------------


def test_37_without_a_prj_the_crs_is_asked_for(shared: Path) -> None:
    folder = shared / "cases" / "37-missing-prj-metric-layer"
    parcels = wetgis.Layer(folder / "parcels.shp", id="parcel_id")
    with pytest.raises(CrsError) as error:
        Site.from_layers(parcels=parcels, wetlands=folder / "wetlands.shp")
    assert "source_crs" in str(error.value)
    site = Site.from_layers(
        parcels=parcels,
        wetlands=wetgis.Layer(folder / "wetlands.shp", id="wet_id", source_crs="EPSG:32118"),
        measure={"buffer_ft": 100},
    )
    assert area(site, "wetlands") == pytest.approx({"W1": 5400, "W2": 3000}, rel=1e-3)
    lots = site.layers["parcels"].frame.set_index("id").geometry
    wet = union(site, "wetlands")
    assert lots["P1"].intersection(wet).area == pytest.approx(2400, rel=1e-3)
    distances = {i: lots[i].distance(wet) for i in lots.index}
    assert distances == pytest.approx({"P1": 0, "P2": 80.0, "P3": 264.008}, abs=0.05)


def test_37_the_projects_crs_assumed_for_it_is_far_away(shared: Path) -> None:
    folder = shared / "cases" / "37-missing-prj-metric-layer"
    with pytest.raises(InputError, match="miles from the subjects"):
        Site.from_layers(
            parcels=folder / "parcels.shp",
            wetlands=wetgis.Layer(folder / "wetlands.shp", source_crs="EPSG:2263"),
        )
