"""Reading against faults that people reported, and against areas that agencies published."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import pytest

import wetgis
from wetgis.errors import CrsError, InputError, WetgisError
from wetgis.sources import join_table, read_layer

pytestmark = pytest.mark.shared

ACRE = 43_560.0


@pytest.fixture
def cases(shared: Path) -> Path:
    return shared / "cases"


@pytest.fixture
def data(shared: Path) -> Path:
    return shared / "data"


def codes(frame: gpd.GeoDataFrame, severity: str | None = None) -> list[str]:
    table = wetgis.issues(frame)
    return table["code"][table["severity"] == severity if severity else slice(None)].tolist()


# ---------------------------------------------------------------- faults


def test_degrees(cases: Path) -> None:
    folder = cases / "01-buffer-in-degrees"
    wetlands = read_layer(folder / "wetlands.geojson", "wetlands", id="wet_id")
    ring = {"W1": 111_416, "W2": 119_197, "W3": 118_264}
    whole = {"W1": 151_416, "W2": 155_697, "W3": 172_314}
    truth = {k: whole[k] - ring[k] for k in ring}
    assert wetlands.set_index("id").area.to_dict() == pytest.approx(truth, rel=1e-3)
    parcels = read_layer(folder / "parcels.geojson", "parcels", id="parcel_id", like=wetlands)
    far = parcels.set_index("id").distance(wetlands.union_all())
    assert far.to_dict() == pytest.approx(
        {"E90": 90, "E110": 110, "N90": 90, "N110": 110}, abs=0.05
    )


def test_two_feet(cases: Path) -> None:
    folder = cases / "02-us-vs-intl-foot"
    parcels = read_layer(folder / "parcels.shp", "parcels", id="parcel_id")
    wetlands = read_layer(folder / "wetlands.shp", "wetlands", like=parcels)
    for one, other in ((parcels, wetlands), (parcels.to_crs(2260), None)):
        water = other if other is not None else read_layer(folder / "wetlands.shp", like=one)
        far = one.set_index("id").distance(water.union_all()) * wetgis.crs.ft_per_unit(one.crs)
        assert far.to_dict() == pytest.approx({"NORTH": 99.0, "SOUTH": 101.0}, abs=0.02)
    with pytest.raises(CrsError):
        wetgis.crs.require_same_crs(parcels, read_layer(folder / "wetlands.shp"))


def test_feet_declared_as_degrees(cases: Path) -> None:
    folder = cases / "03-feet-declared-4326"
    for name in ("no_crs", "wrong_crs"):
        with pytest.raises(CrsError, match="EPSG:2263"):
            read_layer(folder / f"{name}.geojson", "wetlands")
    for name, keys in (("old_crs", {}), ("no_crs", {"source_crs": "EPSG:2263"})):
        got = read_layer(folder / f"{name}.geojson", id="kind", **keys).set_index("id")
        assert got.area.to_dict() == pytest.approx({"wetland": 4800, "parcel": 43_560}, rel=1e-3)
        overlap = got.geometry["wetland"].intersection(got.geometry["parcel"]).area
        assert overlap == pytest.approx(2400, rel=1e-3)


def test_five_coordinate_systems_meet_in_one(cases: Path) -> None:
    folder = cases / "04-four-crs-one-site"
    parcel = read_layer(folder / "parcel.shp", "parcels")
    kinds = {"wetlands.gpkg": "wetlands", "soils.gpkg": "soils", "flood.shp": "floodplain",
             "footprint.geojson": "footprints"}  # fmt: skip
    w, s, f, d = (
        read_layer(folder / name, kind, like=parcel).union_all() for name, kind in kinds.items()
    )
    p = parcel.union_all()
    assert parcel.crs.to_epsg() == 2263
    areas = [p.area, d.area, (d & w).area, (d & s).area, (d & f).area, (p & w).area, (p & f).area,
             (d & (w | s | f)).area]  # fmt: skip
    truth = [120_000, 12_000, 6404.96, 5000, 3360, 32_251.78, 40_000, 8956.89]
    assert areas == pytest.approx(truth, rel=1e-3)


def test_invalid_rings(cases: Path) -> None:
    got = read_layer(cases / "05-bowtie-threshold" / "wetlands.geojson", "wetlands", id="wet_id")
    truth = {"BOWTIE": 5430, "SPIKE": 3900, "LOOP": 4600, "OVERLAP": 4100}
    assert got.set_index("id").area.to_dict() == pytest.approx(truth, abs=1)
    repaired = wetgis.issues(got).query("code == 'repaired'").set_index("record_id")
    assert repaired["after_sqft"].to_dict() == pytest.approx(truth, abs=1)
    assert got.attrs["wetgis"]["counts"]["repaired"] == 4
    spike = got.set_index("id").geometry["SPIKE"]
    assert spike.equals(spike.envelope)


def test_overlapping_inventories(cases: Path) -> None:
    got = read_layer(cases / "06-overlap-double-count" / "wetlands.gpkg", "wetlands")
    assert {"duplicate_id", "overlapping_records", "stale_area"} <= set(codes(got))
    assert len(got) == 4
    assert got.union_all().area == pytest.approx(32_244.44, abs=0.5)


def test_a_retired_parcel_keeps_its_row(cases: Path) -> None:
    got = read_layer(cases / "08-parcel-without-wetland" / "parcels.shp", id="parcel_id")
    assert len(got) == 6
    bad = wetgis.issues(got).query("severity == 'error'")
    assert bad["record_id"].tolist() == ["RETIRED"]
    assert bad["code"].tolist() == ["null_geometry"]


def test_rings_in_any_order_and_winding(cases: Path) -> None:
    got = read_layer(cases / "10-donut-island" / "wetlands.shp", "wetlands", id="WET_ID")
    truth = {"MARSH": 911_600, "RING": 910_000, "CCW": 10_000}
    assert got.set_index("id").area.to_dict() == pytest.approx(truth, rel=1e-9)


def test_long_keys(cases: Path) -> None:
    folder = cases / "15-leading-zero-ids"
    parcels = read_layer(folder / "parcels.shp", "parcels", id="KEY")
    assert parcels["ZONE_NO"].fillna(-1).tolist() == [3, 12, -1, 7, 1]
    joined = join_table(parcels, folder / "permits.csv", on="KEY")
    assert joined["DIST_SQFT"].tolist() == [11_000, 4_000, 4_001, 250, 43_560]
    assert int((joined["DIST_SQFT"] > 4000).sum()) == 3
    damaged = join_table(parcels, folder / "permits_excel.csv", on="KEY")
    assert len(damaged) == 5
    assert damaged["DIST_SQFT"].isna().all()
    text = wetgis.issues(damaged).query("code == 'unmatched_key'")["message"].iloc[0]
    assert text.startswith("5 keys")


def test_layers_of_a_geopackage(cases: Path) -> None:
    path = cases / "16-gpkg-layers" / "site.gpkg"
    for kind in (None, "wetlands"):
        with pytest.raises(InputError) as caught:
            read_layer(path, kind)
        for name in ("wetlands_1995", "wetlands_2024", "vernal_pools", "parcels", "permits"):
            assert name in str(caught.value)
    got = read_layer(path, "wetlands", layer="wetlands_2024", id="wet_id")
    assert got.set_index("id").area.to_dict() == pytest.approx({"A": 3600, "B": 4400})
    assert codes(read_layer(path, layer="vernal_pools")) == ["generated_id", "empty_layer"]
    with pytest.raises(InputError, match="table"):
        read_layer(path, layer="permits")


@pytest.mark.parametrize(("name", "crs"), [("site_ft", 2263), ("site_m", 32118)])
def test_a_site_plan(cases: Path, name: str, crs: int) -> None:
    path = cases / "17-dxf-site-plan" / f"{name}.dxf"
    work = read_layer(path, "footprints", layer="DISTURBANCE", source_crs=crs, crs=2263)
    marsh = read_layer(path, "wetlands", layer="WETLAND", source_crs=crs, crs=2263)
    assert work.area.sum() == pytest.approx(10_713.7, rel=1e-3)
    assert work.union_all().area == pytest.approx(10_713.7, rel=1e-3)
    assert marsh.area.sum() == pytest.approx(5026.5, rel=1e-3)
    assert work.distance(marsh.union_all()).min() == pytest.approx(60.0, rel=1e-3)
    assert codes(work, "error") == ["unclosed_ring"]
    with pytest.raises(CrsError):
        read_layer(path, "footprints", layer="DISTURBANCE")


def test_bad_records_in_a_batch(cases: Path) -> None:
    folder = cases / "18-bad-records-in-batch"
    got = read_layer(folder / "wetlands.gpkg", "wetlands", id="wet_id")
    table = wetgis.issues(got)
    assert sorted(table.query("severity == 'error'")["record_id"]) == [
        "EMPTY", "INFV", "NANV", "NULL"
    ]  # fmt: skip
    assert table.query("code == 'repaired'")["record_id"].tolist() == ["BOW"]
    lots = read_layer(folder / "parcels.gpkg", "parcels", id="parcel_id")
    wet = lots.intersection(got.union_all()).area
    assert len(lots) == 60
    assert wet.sum() == pytest.approx(34_400, abs=0.5)
    unclosed = read_layer(folder / "wetlands_unclosed.geojson", "wetlands", id="wet_id")
    assert unclosed.set_index("id").area.to_dict() == pytest.approx(
        {"OK": 4500, "UNCLOSED": 4095}, abs=0.5
    )
    assert wetgis.issues(unclosed).query("code == 'unclosed_ring'")["record_id"].tolist() == [
        "UNCLOSED"
    ]


def test_soils_and_their_components(cases: Path) -> None:
    folder = cases / "19-soils-component-join"
    parcel = read_layer(folder / "parcel.geojson", "parcels", id="parcel_id")
    soils = read_layer(
        folder / "soils.shp", "soils", like=parcel, components=str(folder / "component.csv")
    )
    on = soils.intersection(parcel.union_all()).area
    low = soils["hydric_pct_low"]
    assert len(soils) == 4
    figures = [on[low > 0].sum(), on[low >= 50].sum(), on[low >= 100].sum(),
               (on * low / 100).sum(), on[low.isna()].sum(), parcel.area.sum()]  # fmt: skip
    assert figures == pytest.approx([100_000, 62_500, 25_000, 53_125, 20_000, 120_000], abs=1)


def test_a_missing_prj(cases: Path) -> None:
    folder = cases / "37-missing-prj-metric-layer"
    parcels = read_layer(folder / "parcels.shp", "parcels", id="parcel_id")
    with pytest.raises(CrsError, match="EPSG:32118"):
        read_layer(folder / "wetlands.shp", "wetlands", like=parcels)
    wet = read_layer(
        folder / "wetlands.shp", "wetlands", id="wet_id", like=parcels, source_crs="EPSG:32118"
    )
    assert wet.set_index("id").area.to_dict() == pytest.approx({"W1": 5400, "W2": 3000}, rel=1e-3)
    far = parcels.set_index("id").distance(wet.union_all())
    assert far.to_dict() == pytest.approx({"P1": 0, "P2": 80.0, "P3": 264.008}, abs=0.05)


# ---------------------------------------------------------------- published figures


@pytest.mark.parametrize(
    ("name", "acres"),
    [
        ("soils/bangor_me_soils.geojson.zip", 22_031.952),
        ("wetlands/bangor_me_wetland.geojson.zip", 1353.92),
        ("hydro/bangor_me_ponds.geojson.zip", 129.09),
        ("hydro/bangor_me_streams.geojson.zip", 156.862),
        ("flood/bangor_me_floodZone.geojson", 1315.869),
        ("footprints/bangor_me_deckPatio.geojson.zip", 22.948),
        ("published/bangor_me_shorelandZone.geojson.zip", 572.937),
        ("wetlands/bangor_me_wadingbirdWaterfowl.geojson", 777.089),
        ("wetlands/bangor_me_significantVernalPools.geojson", 32.79),
    ],
)
def test_bangors_own_areas(data: Path, name: str, acres: float) -> None:
    got = read_layer(data / name)  # the suggested CRS is the one the city worked in
    assert got.crs.to_epsg() == 26847
    assert got.area.sum() / ACRE == pytest.approx(acres, rel=1e-4, abs=2e-3)
    stated = got[next(c for c in got.columns if c.lower() == "shape_area")].to_numpy(float)
    valid = ~np.isin(got["id"], wetgis.issues(got).query("code == 'repaired'")["record_id"])
    assert got.area.to_numpy()[valid] == pytest.approx(stated[valid], rel=1e-6)


@pytest.mark.parametrize(("years", "count"), [("100", 157), ("500", 655)])
def test_cambridges_parcels_in_the_floodplain(data: Path, years: str, count: int) -> None:
    end = "" if years == "100" else ".zip"
    lots = read_layer(data / f"published/cambridge_ma_parcels_in_{years}yr.geojson{end}", "parcels")
    flood = read_layer(data / f"flood/cambridge_ma_fema_{years}yr.geojson{end}", "floodplain",
                       like=lots)  # fmt: skip
    assert lots.crs.to_epsg() == 2249
    assert int(lots.intersects(flood.union_all()).sum()) == len(lots) == count
    assert set(flood["sfha"]) == ({"T"} if years == "100" else {"T", "F"})


def test_williamsburgs_areas(data: Path) -> None:
    parcels = read_layer(data / "parcels/williamsburg_va_parcels.geojson.zip", "parcels", id="PID")
    assert parcels.crs.to_epsg() == 2284
    assert len(parcels) == 4464
    assert codes(parcels, "error") == ["null_geometry"]
    off = parcels.area / ACRE / parcels["AreaAc"] - 1
    assert abs(off.median()) < 1e-8
    assert float((off.abs() < 1e-3).sum()) / 4463 == pytest.approx(0.744, abs=0.002)
    assert "stale_area" in codes(parcels)
    zoning = read_layer(data / "parcels/williamsburg_va_zoning.geojson.zip")
    assert abs((zoning.area / ACRE / zoning["F_Acres"] - 1).median()) < 1e-8
    assert zoning.area.sum() / ACRE == pytest.approx(5097.307, abs=0.01)


def test_nwi_acres_are_of_conus_albers(data: Path) -> None:
    path = data / "wetlands/williamsburg_va_nwi.geojson"
    metres = read_layer(path, "indicators", crs=5070)
    off = metres.area / 4046.8564224 / metres["ACRES"] - 1
    assert abs(off.median()) < 1e-7
    assert int((off.abs() < 1e-3).sum()) == 115
    feet = read_layer(path, "indicators")
    assert (feet.area / ACRE / feet["ACRES"] - 1).median() == pytest.approx(-1.1e-4, abs=1e-5)
    assert feet["cowardin"].isna().sum() == feet["ATTRIBUTE"].isna().sum()


def test_albers_metres_that_say_nothing(data: Path) -> None:
    path = data / "defects/nwi_mississippi_albers_labelled_wgs84.geojson"
    with pytest.raises(CrsError, match="contradict"):
        read_layer(path, "indicators")
    got = read_layer(path, "indicators", source_crs="EPSG:5070", crs="EPSG:5070")
    assert (got.area / 4046.8564224).tolist() == pytest.approx(got["ACRES"].tolist(), rel=1e-9)


def test_ohio_and_new_york_native_areas(data: Path) -> None:
    ohio = read_layer(data / "parcels/oh_geauga_parcels_3734.gpkg", "parcels", id="PARCEL_ID")
    assert ohio.crs.to_epsg() == 3734
    assert ohio.area.to_numpy() == pytest.approx(ohio["AREA"].to_numpy(), rel=1e-8)
    assert ohio.length.to_numpy() == pytest.approx(ohio["PERIMETER"].to_numpy(), rel=1e-7)
    nybb = read_layer(data / "oracle/nybb_16a.zip", "municipality")
    assert nybb.crs.to_epsg() == 2263
    assert nybb.area.to_numpy() == pytest.approx(nybb["Shape_Area"].to_numpy(), rel=2e-6)


def test_the_official_nwi_download(data: Path) -> None:
    path = data / "wetlands/DC_shapefile_wetlands.zip"
    got = read_layer(path, "indicators", basis="nwi")
    assert len(got) == 1556
    assert got.attrs["wetgis"]["source"]["layer"] == "DC_Wetlands"
    assert got.attrs["wetgis"]["counts"]["repaired"] == 1
    assert {"several_layers", "overlapping_records", "unfit_crs"} <= set(codes(got))
    assert got["cowardin"].nunique() == 114
    assert wetgis.crs.fit_to_measure(got.crs, tuple(got.total_bounds)) == ""
    with pytest.raises(InputError, match="District_of_Columbia"):
        read_layer(path)


def test_mesa_verdes_hydric_share(data: Path) -> None:
    got = read_layer(data / "soils/meve_co_ssurgo_muaggatt.fgb", "soils", crs=5070)
    acres = got.area / 4046.8564224
    assert acres[got["hydric_pct_low"] >= 50].sum() == pytest.approx(119.564, abs=0.01)
    assert acres[got["hydric_pct_low"] > 0].sum() == pytest.approx(2816.989, abs=0.01)


# ---------------------------------------------------------------- everything there is


def _files(shared: Path) -> list[Path]:
    found = []
    for root in (shared / "data", shared / "cases"):
        for folder, folders, files in os.walk(root):
            if folder.endswith(".gdb"):
                continue
            found += [Path(folder) / d for d in folders if d.endswith(".gdb")]
            found += [Path(folder) / f for f in files if not f.endswith((".xml", ".py", ".md"))]
    return sorted(found)


def _try(path: Path, **keys: Any) -> WetgisError | gpd.GeoDataFrame:
    """What comes of reading a file: a layer or an error raised on purpose; no warning."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            got = read_layer(path, **keys)
        except WetgisError as error:
            return error
        finally:
            assert not told, (path, [str(w.message) for w in told])
    missing = got.geometry.isna()
    assert got.attrs["wetgis"]["counts"]["errors"] >= missing.sum(), path
    assert got.geometry[~missing].is_valid.all(), path
    return got


@pytest.mark.slow
def test_every_file_is_read_or_refused_with_a_reason(shared: Path) -> None:
    refused = 0
    for path in _files(shared):
        got = _try(path, kind="wetlands")
        if isinstance(got, CrsError):
            assert "source_crs" in str(got), got
            _try(path, kind="wetlands", source_crs="EPSG:2260")
        if isinstance(got, WetgisError):
            refused += 1
            assert path.name in str(got), got
            assert got.needed or got.mend or len(got.found) > 20, got
    assert refused > 30


@pytest.mark.slow
def test_every_layer_of_the_databases(data: Path) -> None:
    from wetgis.sources.containers import find, list_layers

    for name in (
        "formats/fiona_testopenfilegdb.gdb.zip", "formats/trpa_zoning.gdb",
        "hydro/nhdplus_walker_ca.gpkg", "hydro/nhdplus_sample_natseamless_wi.gpkg",
        "formats/fastkml_KML_Samples.kml", "formats/taudem_LoganSample.sqlite",
    ):  # fmt: skip
        for found in list_layers(find(data / name)[0][0]):
            got = _try(data / name, layer=found.layer)
            usable = isinstance(got, (gpd.GeoDataFrame, CrsError))
            assert usable or found.geometry is None, (name, got)
