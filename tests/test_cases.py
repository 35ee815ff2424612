"""Published faults, small inputs: the right answers by the calls that a user makes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
from tests.engine_makers import by_id, rows, site

import wetgis
from wetgis.errors import CrsError, InputError

pytestmark = pytest.mark.shared


@pytest.fixture
def case(shared: Path, request: pytest.FixtureRequest) -> Path:
    """The folder of the case whose number the test's name begins with."""
    number = request.node.originalname.removeprefix("test_")[:2]
    return next((shared / "cases").glob(f"{number}-*"))


def read(path: Path, kind: str | None = None, **keys: Any) -> gpd.GeoDataFrame:
    return wetgis.read_layer(path, kind, **keys)


def parcels(path: Path, **keys: Any) -> wetgis.Layer:
    return wetgis.Layer(path, id="parcel_id", **keys)


def wetlands(path: Path, **keys: Any) -> wetgis.Layer:
    return wetgis.Layer(path, id="wet_id", **keys)


def within(lots: gpd.GeoDataFrame, wet: gpd.GeoDataFrame, name: str = "id") -> dict[str, float]:
    return by_id(wetgis.distance_to(lots, wet), lots[name])


def listed(issues: pd.DataFrame, code: str) -> set[str]:
    return set(issues.loc[issues["code"] == code, "record_id"])


# ---------------------------------------------------------------- A: units, coordinate systems


def test_01_a_buffer_in_degrees(case: Path) -> None:
    raw = gpd.read_file(case / "wetlands.geojson")
    with pytest.raises(CrsError, match="4326"):
        wetgis.buffer_zone(raw, 100.0)
    wet = read(case / "wetlands.geojson", "wetlands", id="wet_id")
    lots = read(case / "parcels.geojson", "parcels", id="parcel_id", like=wet)
    assert wet.crs.is_projected
    ring = wetgis.buffer_zone(wet, 100.0, by="id").area
    exact = {"W1": 111_416, "W2": 119_197, "W3": 118_264}
    assert ring.to_dict() == pytest.approx(exact, rel=1e-3)
    whole = {"W1": 151_416, "W2": 155_697, "W3": 172_314}
    own = by_id(wetgis.overlap_area(wet, wet), wet["id"])
    assert {k: own[k] + ring[k] for k in own} == pytest.approx(whole, rel=1e-3)
    feet = within(lots, wet)
    assert feet == pytest.approx({"E90": 90, "E110": 110, "N90": 90, "N110": 110}, abs=0.05)
    found = wetgis.screen(
        site(
            parcels=parcels(case / "parcels.geojson"), wetlands=wetlands(case / "wetlands.geojson")
        )
    )
    status = rows(found.measures)["status"]
    assert {i for i, s in status.items() if s == "in_buffer"} == {"E90", "N90"}


def test_02_two_feet(case: Path) -> None:
    found = wetgis.screen(
        site(parcels=parcels(case / "parcels.shp"), wetlands=wetlands(case / "wetlands.shp"))
    )
    table = rows(found.measures)
    assert table["wetland_ft"].to_dict() == pytest.approx({"NORTH": 99, "SOUTH": 101}, abs=0.02)
    assert table["status"].to_dict()["NORTH"] == "in_buffer"
    assert found.contacts["subject_id"].tolist() == ["NORTH"]


@pytest.mark.parametrize("name", ["no_crs.geojson", "wrong_crs.geojson"])
def test_03_feet_that_say_they_are_degrees(case: Path, name: str) -> None:
    with pytest.raises(CrsError, match="source_crs"):
        read(case / name)


@pytest.mark.parametrize(
    ("name", "keys"), [("old_crs.geojson", {}), ("no_crs.geojson", {"source_crs": "EPSG:2263"})]
)
def test_03_feet_that_are_told(case: Path, name: str, keys: dict[str, str]) -> None:
    both = read(case / name, crs="EPSG:2263", **keys)
    wet, lot = both[both["kind"] == "wetland"], both[both["kind"] == "parcel"]
    assert wetgis.overlap_area(wet, wet).tolist() == pytest.approx([4_800], rel=1e-3)
    assert wetgis.overlap_area(lot, lot).tolist() == pytest.approx([43_560], rel=1e-3)
    assert wetgis.overlap_area(lot, wet).tolist() == pytest.approx([2_400], rel=1e-3)


def test_04_five_systems_one_site(case: Path) -> None:
    found = wetgis.screen(
        site(parcels=case / "parcel.shp", footprints=case / "footprint.geojson",
             wetlands=case / "wetlands.gpkg", soils=case / "soils.gpkg",
             floodplain=case / "flood.shp", crs="EPSG:2263")
    )  # fmt: skip
    work = found.measures[found.measures["subject_kind"] == "footprint"].iloc[0]
    lot = found.measures[found.measures["subject_kind"] == "parcel"].iloc[0]
    assert lot["area_sqft"] == pytest.approx(120_000, rel=1e-3)
    assert work["area_sqft"] == pytest.approx(12_000, rel=1e-3)
    assert work["wetland_sqft"] == pytest.approx(6_404.96, rel=1e-3)
    assert work["floodplain_sqft"] == pytest.approx(3_360, rel=1e-3)
    assert lot["wetland_sqft"] == pytest.approx(32_251.78, rel=1e-3)
    assert lot["floodplain_sqft"] == pytest.approx(40_000, rel=1e-3)
    layers = {
        name: read(case / name, crs="EPSG:2263")
        for name in ("wetlands.gpkg", "soils.gpkg", "flood.shp", "footprint.geojson")
    }
    disturbed = layers.pop("footprint.geojson")
    assert wetgis.overlap_area(disturbed, layers["soils.gpkg"]).tolist() == pytest.approx(
        [5_000], rel=1e-3
    )
    together = gpd.GeoDataFrame(
        pd.concat([f[["geometry"]] for f in layers.values()], ignore_index=True), crs="EPSG:2263"
    )
    assert wetgis.overlap_area(disturbed, together).tolist() == pytest.approx([8_956.89], rel=1e-3)


def test_37_no_prj_no_answer(case: Path) -> None:
    with pytest.raises(CrsError, match="source_crs"):
        site(parcels=parcels(case / "parcels.shp"), wetlands=wetlands(case / "wetlands.shp"))
    wet = wetlands(case / "wetlands.shp", source_crs="EPSG:32118")
    found = wetgis.screen(
        site(parcels=parcels(case / "parcels.shp"), wetlands=wet, crs="EPSG:2263")
    )
    table = rows(found.measures)
    exact = {"P1": 0, "P2": 80.0, "P3": 264.008}
    assert table["wetland_ft"].to_dict() == pytest.approx(exact, abs=0.05)
    assert table.loc["P1", "wetland_sqft"] == pytest.approx(2_400, rel=1e-3)
    assert set(found.contacts["subject_id"]) == {"P1", "P2"}
    layer = read(
        case / "wetlands.shp", "wetlands", id="wet_id", source_crs="EPSG:32118", crs="EPSG:2263"
    )
    own = by_id(wetgis.overlap_area(layer, layer), layer["id"])
    assert own == pytest.approx({"W1": 5_400, "W2": 3_000}, rel=1e-3)
    ring = wetgis.buffer_zone(layer, 100.0, by="id").area.to_dict()
    assert {k: own[k] + ring[k] for k in own} == pytest.approx(
        {"W1": 66_815.9, "W2": 56_415.9}, rel=1e-3
    )


# ---------------------------------------------------------------- B: geometry


def test_05_rings_that_cross_themselves(case: Path) -> None:
    wet = read(case / "wetlands.geojson", "wetlands", id="wet_id")
    exact = {"BOWTIE": 5_430, "SPIKE": 3_900, "LOOP": 4_600, "OVERLAP": 4_100}
    own = by_id(wetgis.overlap_area(wet, wet), wet["id"])
    assert own == pytest.approx(exact, abs=1.0)
    assert {k for k, area in own.items() if area > 4_000} == {"BOWTIE", "LOOP", "OVERLAP"}
    told = wetgis.issues(wet)
    assert listed(told, "repaired") == set(exact)
    assert told.loc[told["code"] == "repaired", ["before_sqft", "after_sqft"]].notna().all().all()


def test_05_the_spike_is_no_wetland_for_distances(case: Path) -> None:
    wet = read(case / "wetlands.geojson", "wetlands", id="wet_id")
    body = wet[wet["id"] == "SPIKE"].total_bounds
    assert (body[2] - body[0]) * (body[3] - body[1]) == pytest.approx(3_900, abs=1.0)


def test_06_ground_that_two_inventories_map(case: Path) -> None:
    found = wetgis.screen(
        site(parcels=parcels(case / "parcels.gpkg"), wetlands=wetlands(case / "wetlands.gpkg"))
    )
    table = rows(found.measures)
    exact = {"P1": 28_244.44, "P2": 4_000}
    assert table["wetland_sqft"].to_dict() == pytest.approx(exact, abs=0.5)
    share = 100 * table["wetland_sqft"] / table["area_sqft"]
    assert share.to_dict() == pytest.approx({"P1": 47.0741, "P2": 10}, abs=0.01)
    assert found.contacts["whole_sqft"].tolist() == pytest.approx([32_244.44] * 2, abs=0.5)
    codes = set(found.issues.loc[found.issues["layer"] == "wetlands", "code"])
    assert {"overlapping_records", "stale_area"} <= codes


def test_07_rows_in_another_order(case: Path) -> None:
    lots, work, wet = (read(case / f"{n}.gpkg") for n in ("parcels", "footprints", "wetlands"))
    exact = {"10-1": 2_000, "10-2": 500, "10-3": 3_100, "10-4": 0, "10-5": 3_000, "10-6": 1_600}
    key = lots["parcel_id"]
    assert by_id(wetgis.overlap_area(lots, work), key) == pytest.approx(exact, abs=0.01)
    exact = {"10-1": 1_000, "10-2": 250, "10-3": 1_200, "10-4": 0, "10-5": 1_500, "10-6": 0}
    ground = gpd.GeoDataFrame(geometry=work.intersection(wet.union_all()), crs=work.crs)
    assert by_id(wetgis.overlap_area(lots, ground), key) == pytest.approx(exact, abs=0.01)
    proposed = wetgis.Layer(case / "footprints.gpkg", fields={"parcel_id": "applicant_parcel"})
    found = wetgis.screen(
        site(parcels=parcels(case / "parcels.gpkg"), footprints=proposed,
             wetlands=wetlands(case / "wetlands.gpkg"))
    )  # fmt: skip
    table = rows(found.measures, "parcel")["disturbed_sqft"]
    assert table.to_dict()["10-2"] == pytest.approx(500, abs=0.01)
    strays = found.issues[found.issues["code"] == "stray_footprint"]["message"]
    assert strays.str.contains("10-1").any()
    assert strays.str.contains("10-2").any()


def test_08_parcels_without_a_wetland(case: Path) -> None:
    lots, wet = parcels(case / "parcels.shp"), wetlands(case / "wetlands.shp")
    none = read(case / "wetlands.shp").iloc[:0]
    found = wetgis.screen(site(parcels=lots, wetlands=wet, watercourses=none))
    table = rows(found.measures)
    assert len(table) == 6
    known = ["DRY", "PART", "WET", "TOUCH", "FAR"]
    exact = {"DRY": 0, "PART": 5_000, "WET": 10_000, "TOUCH": 0, "FAR": 0}
    assert table.loc[known, "wetland_sqft"].to_dict() == pytest.approx(exact, abs=0.5)
    upland = (table["buffer_sqft"] + table["outside_sqft"])[known].to_dict()
    exact = {"DRY": 10_000, "PART": 5_000, "WET": 0, "TOUCH": 10_000, "FAR": 10_000}
    assert upland == pytest.approx(exact, abs=0.5)
    exact = {"DRY": 50, "PART": 0, "WET": 0, "TOUCH": 0, "FAR": 1_700}
    assert table.loc[known, "wetland_ft"].to_dict() == pytest.approx(exact, abs=0.01)
    exact = {"DRY": 5_000, "PART": 0, "WET": 0, "TOUCH": 0, "FAR": 10_000}
    assert table.loc[known, "outside_sqft"].to_dict() == pytest.approx(exact, abs=0.5)
    assert np.isnan(table.loc["RETIRED", "wetland_sqft"])
    assert table.loc["RETIRED", "status"] == "unknown"
    told = found.issues[found.issues["record_id"] == "RETIRED"]
    assert "error" in set(told["severity"])


def test_09_the_chord_is_not_the_arc(case: Path) -> None:
    found = wetgis.screen(
        site(parcels=parcels(case / "parcels.gpkg"), wetlands=wetlands(case / "wetlands.gpkg"))
    )
    table = rows(found.measures)
    near = {i for i, feet in table["wetland_ft"].items() if feet <= 100}
    assert near == {"A_99.60_at_39.375", "B_99.95_at_5.625", "C_99.999_at_61.0"}
    assert set(found.contacts["subject_id"]) == near
    assert "several_layers" in set(found.issues["code"])
    pond = read(case / "wetlands.gpkg", "wetlands", id="wet_id")
    spring = read(case / "wetlands.gpkg", layer="springs")
    around = float(wetgis.buffer_zone(pond, 100.0).area.iloc[0])
    assert around + wetgis.overlap_area(pond, pond).sum() == pytest.approx(151_415.93, rel=1e-4)
    assert wetgis.buffer_zone(spring, 100.0).tolist()[0].area == pytest.approx(31_415.93, rel=1e-4)


def test_10_a_ring_with_an_island(case: Path) -> None:
    wet, lots = (
        read(case / "wetlands.shp", "wetlands", id="wet_id"),
        read(case / "parcels.gpkg", "parcels", id="parcel_id"),
    )
    exact = {"MARSH": 911_600, "RING": 910_000, "CCW": 10_000}
    own = by_id(wetgis.overlap_area(wet, wet), wet["id"])
    assert own == pytest.approx(exact, rel=5e-4)
    ring = wetgis.buffer_zone(wet, 100.0, by="id").area.to_dict()
    exact = {"MARSH": 1_431_415.93, "RING": 1_421_415.93, "CCW": 81_415.93}
    assert {k: own[k] + ring[k] for k in own} == pytest.approx(exact, rel=5e-5)
    found = wetgis.screen(
        site(parcels=lots, wetlands=wetlands(case / "wetlands.shp"), watercourses=wet.iloc[:0])
    )
    table = rows(found.measures)
    assert table.loc["ISLE", "wetland_sqft"] == pytest.approx(1_600, rel=5e-4)
    assert table.loc["ISLE", "outside_sqft"] == pytest.approx(0, abs=0.01)
    assert table.loc["COURT", "wetland_sqft"] == pytest.approx(0, abs=0.01)
    assert table.loc["COURT", "outside_sqft"] == pytest.approx(10_000, rel=5e-4)


# ---------------------------------------------------------------- C: rasters, through a screening


@pytest.mark.parametrize("name", ["dem.tif", "dem_ft.tif"])
def test_11_heights_in_metres_or_feet(case: Path, name: str) -> None:
    found = wetgis.screen(site(footprints=case / "footprint.gpkg", dem=case / name))
    row = found.measures.iloc[0]
    assert row["area_sqft"] == pytest.approx(90_000, rel=1e-3)
    assert row["steep_sqft"] == pytest.approx(70_000, abs=100)
    assert row["slope_mean_pct"] == pytest.approx(53.333, abs=0.2)
    three_to_one = wetgis.zonal(
        read(case / "footprint.gpkg"), wetgis.slope(case / name), above=100 / 3
    )
    # the column at the first break reads 32.5 per cent in a window of three cells: 2,000 less
    assert three_to_one["above_sqft"].iloc[0] == pytest.approx(68_000, abs=100)


@pytest.mark.parametrize("name", ["dem_a.tif", "dem_b.tif", "dem_c.tif"])
def test_12_voids_that_nobody_declared(case: Path, name: str) -> None:
    found = wetgis.screen(site(footprints=case / "footprint.geojson", dem=case / name))
    row = found.measures.iloc[0]
    assert row["area_sqft"] == pytest.approx(60_000, rel=1e-3)
    assert row["steep_sqft"] == pytest.approx(0, abs=0.01)
    assert row["slope_mean_pct"] == pytest.approx(10, abs=0.05)
    assert 3_590 <= row["slope_unknown_sqft"] <= 6_410
    if name != "dem_b.tif":
        assert "undeclared_nodata" in set(found.issues["code"])


def test_13_footprints_smaller_than_a_cell(case: Path) -> None:
    found = wetgis.screen(
        site(footprints=wetgis.Layer(case / "footprints.gpkg"), slope=case / "slope.tif")
    )
    table = rows(found.measures, "footprint")
    exact = {"SHED": 64, "TRENCH": 420, "HALF": 1_800, "L1": 1_500}
    assert table["steep_sqft"].to_dict() == pytest.approx(exact, abs=1)
    exact = {"SHED": 50, "TRENCH": 30.7407, "HALF": 30, "L1": 32.2222}
    assert table["slope_mean_pct"].to_dict() == pytest.approx(exact, abs=0.01)


@pytest.mark.parametrize("name", ["dem_northup.tif", "dem_southup.tif"])
def test_14_south_up(case: Path, name: str) -> None:
    found = wetgis.screen(
        site(footprints=wetgis.Layer(case / "footprints.gpkg", id="name"), dem=case / name)
    )
    table = rows(found.measures, "footprint")
    assert table["steep_sqft"].to_dict() == pytest.approx({"NORTH": 10_000, "SOUTH": 0}, abs=2)
    assert table["slope_mean_pct"].to_dict() == pytest.approx({"NORTH": 45, "SOUTH": 10}, abs=0.01)
    height = wetgis.zonal(read(case / "footprints.gpkg", "footprints"), case / name)
    assert height["mean"].tolist() == pytest.approx([169.5, 109.0], abs=0.1)


# ---------------------------------------------------------------- D: input


def test_15_ids_with_leading_zeros(case: Path) -> None:
    lots = read(case / "parcels.shp", "parcels", id="KEY")
    joined = wetgis.join_table(lots, case / "permits.csv", on="KEY")
    assert len(joined) == 5
    amounts = pd.to_numeric(joined["DIST_SQFT"])
    assert amounts.tolist() == [11_000, 4_000, 4_001, 250, 43_560]
    assert (amounts > 4_000).sum() == 3
    damaged = wetgis.join_table(lots, case / "permits_excel.csv", on="KEY")
    assert damaged["DIST_SQFT"].isna().all()
    assert (wetgis.issues(damaged)["code"] == "unmatched_key").any()
    zones = read(case / "parcels.shp")["ZONE_NO"]
    assert [None if pd.isna(z) else int(z) for z in zones] == [3, 12, None, 7, 1]


def test_16_the_layer_is_named_or_asked_for(case: Path) -> None:
    path = case / "site.gpkg"
    names = ["wetlands_1995", "wetlands_2024", "vernal_pools", "parcels", "permits"]
    with pytest.raises(InputError) as asked:
        read(path, "wetlands")
    assert all(name in str(asked.value) for name in names)
    wet = wetlands(path, layer="wetlands_2024")
    found = wetgis.screen(site(parcels=parcels(path, layer="parcels"), wetlands=wet))
    table = rows(found.measures)
    exact = {"P1": 5_600, "P2": 2_400}
    assert table["wetland_sqft"].to_dict() == pytest.approx(exact, abs=0.5)
    layer = read(path, "wetlands", layer="wetlands_2024", id="wet_id")
    own = by_id(wetgis.overlap_area(layer, layer), layer["id"])
    assert own == pytest.approx({"A": 3_600, "B": 4_400}, abs=0.5)
    assert len(read(path, layer="vernal_pools")) == 0
    with pytest.raises(InputError, match="permits"):
        read(path, "wetlands", layer="permits")


def test_18_bad_records_do_not_stop_the_rest(case: Path) -> None:
    found = wetgis.screen(
        site(parcels=parcels(case / "parcels.gpkg"), wetlands=wetlands(case / "wetlands.gpkg"))
    )
    wet = found.measures.set_index("subject_id")["wetland_sqft"]
    assert len(wet) == 60
    exact = {"L00": 2_500, "L01": 5_000, "L02": 2_500, "L14": 3_000, "L24": 6_000, "L34": 3_000,
             "L26": 2_400, "L57": 2_500, "L58": 7_500}  # fmt: skip
    assert wet[wet > 0].to_dict() == pytest.approx(exact, abs=0.5)
    assert wet.notna().all()
    assert wet.sum() == pytest.approx(34_400, abs=1)
    told = found.issues[found.issues["layer"] == "wetlands"]
    assert listed(told, "repaired") == {"BOW"}
    errors = set(told.loc[told["severity"] == "error", "record_id"])
    assert errors == {"NULL", "EMPTY", "NANV", "INFV"}


def test_18_an_open_ring(case: Path) -> None:
    wet = read(case / "wetlands_unclosed.geojson", "wetlands", id="wet_id")
    own = by_id(wetgis.overlap_area(wet, wet), wet["id"])
    assert own["OK"] == pytest.approx(4_500, rel=1e-3)
    told = wetgis.issues(wet)
    if np.isnan(own["UNCLOSED"]):
        assert "UNCLOSED" in set(told.loc[told["severity"] == "error", "record_id"])
    else:
        assert own["UNCLOSED"] == pytest.approx(4_095, rel=1e-3)
        assert "UNCLOSED" in listed(told, "unclosed_ring")


def test_19_soils_by_component(case: Path) -> None:
    soils = wetgis.Layer(case / "soils.shp", components=case / "component.csv")
    lot = case / "parcel.geojson"
    for pct, exact in ((50.0, 62_500), (100.0, 25_000), (1.0, 100_000)):
        found = wetgis.screen(site(parcels=lot, soils=soils, measure={"hydric_pct": pct}))
        row = found.measures.iloc[0]
        assert row["hydric_sqft"] == pytest.approx(exact, rel=1e-4), pct
        assert row["hydric_weighted_sqft"] == pytest.approx(53_125, rel=1e-4)
        assert row["soil_unknown_sqft"] == pytest.approx(20_000, rel=1e-4)
        assert row["area_sqft"] == pytest.approx(120_000, rel=1e-4)


# ---------------------------------------------------------------- E: many


def test_20_boxes_are_not_shapes(case: Path) -> None:
    lots, brook = read(case / "lots.gpkg"), read(case / "stream.gpkg")
    feet = wetgis.distance_to(lots, brook)
    assert (feet <= 100).sum() == 144
    assert (feet == 0).sum() == 88
    zone = wetgis.buffer_zone(brook, 100.0)
    assert wetgis.overlap_area(lots, zone).sum() == pytest.approx(828_528.14, rel=1e-5)
    found = wetgis.screen(
        site(parcels=case / "lots.gpkg", watercourses=case / "stream.gpkg",
             wetlands=brook.iloc[:0])
    )  # fmt: skip
    table = found.measures
    assert (table["watercourse_length_ft"] > 0).sum() == 30
    assert (table["status"] == "on_feature").sum() == 30
    assert table["status"].isin(["on_feature", "in_buffer", "touching"]).sum() == 144
    assert table["buffer_sqft"].sum() == pytest.approx(828_528.14, rel=1e-5)
    crossed = found.contacts[found.contacts["length_ft"] > 0]
    assert len(crossed) == 30
