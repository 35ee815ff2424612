"""Soils, floodplain, slope, indicators and distances of subjects, and what is not known of them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import shapely
from tests.engine_makers import box, frame, laid_out, rows, site
from tests.terrain_makers import plane, write

import wetgis

Place = tuple[float, float]
LOT = box(0, 0, 400, 100)


def unit(x0: float, x1: float, low: Any, high: Any = None) -> tuple[Any, dict[str, Any]]:
    return box(x0, 0, x1, 100), {"hydric_pct_low": low, "hydric_pct_high": high or low}


NAN = float("nan")
BLOCKS: dict[str, dict[str, list[Any]]] = {
    "45": {
        "parcels": [LOT],
        "soils": [unit(0, 100, 100), unit(100, 200, 85), unit(200, 350, 5), unit(350, 400, NAN)],
    },
    # half of the lot in no unit at all; the two units overlap by 50 feet
    "overlap": {"parcels": [LOT], "soils": [unit(0, 150, 100), unit(100, 200, 5)]},
    "unrated": {"parcels": [LOT], "soils": [unit(0, 400, NAN)]},
    "nosoil": {"parcels": [LOT]},
    "at66": {"parcels": [LOT], "soils": [unit(0, 400, 66.0)]},
    "under": {"parcels": [LOT], "soils": [unit(0, 400, 65.0)]},
    "dry": {"parcels": [LOT], "soils": [unit(0, 400, 0.0), unit(460, 500, 90.0)]},
    "44": {
        "parcels": [box(0, 0, 400, 300)],
        "floodplain": [
            (box(250, 0, 500, 300), {"zone": "AE"}),
            (box(200, 0, 250, 300), {"zone": "X", "subtype": "0.2 PCT ANNUAL CHANCE FLOOD HAZARD"}),
            (box(300, 0, 350, 300), {"zone": "AE", "subtype": "FLOODWAY"}),
            (box(0, 0, 200, 300), {"zone": "D"}),
        ],
    },
    "upland": {"parcels": [LOT], "floodplain": [(LOT, {"zone": "X"})]},
    "beside": {
        "parcels": [LOT],
        "floodplain": [(LOT, {"zone": "X"}), (box(430, 0, 500, 100), {"zone": "A"})],
    },
    "undrawn": {"parcels": [LOT]},
    "nwi": {"parcels": [LOT], "indicators": [box(300, 0, 500, 100), box(350, 0, 500, 100)]},
    "near": {"parcels": [LOT], "indicators": [box(437, 0, 500, 100)]},
    "work": {
        "parcels": [LOT, box(400, 0, 500, 100)],
        "footprints": [box(0, 0, 100, 50), box(50, 0, 150, 50), box(380, 0, 420, 10)],
    },
    "brook": {
        "parcels": [LOT, box(0, 100, 400, 200)],
        "watercourses": [shapely.LineString([(-50, 50), (200, 50), (200, 150), (500, 150)])],
    },
}


@cache
def screened(origin: Place) -> pd.DataFrame:
    layers = laid_out(BLOCKS, origin)
    layers.setdefault("wetlands", frame([], origin))
    return rows(wetgis.screen(site(**layers)).measures)


# ---------------------------------------------------------------- soils


@pytest.mark.parametrize(
    ("block", "hydric", "weighted", "unknown"),
    [
        ("45", 20_000, 19_250, 5_000),
        ("overlap", 15_000, 15_000 + 250, 20_000),
        ("at66", 40_000, 26_400, 0),
        ("under", 0, 26_000, 0),
        ("dry", 0, 0, 0),
        ("unrated", NAN, NAN, 40_000),
        ("nosoil", NAN, NAN, 40_000),
    ],
)
def test_hydric_soil(
    origin: Place, block: str, hydric: float, weighted: float, unknown: float
) -> None:
    row = screened(origin).loc[f"{block}.0"]
    found = row[["hydric_sqft", "hydric_weighted_sqft", "soil_unknown_sqft"]].astype(float)
    assert found.tolist() == pytest.approx([hydric, weighted, unknown], abs=0.01, nan_ok=True)
    assert ("soils" in row["unknown_layers"].split(";")) == (unknown > 0)


def test_the_distance_is_to_hydric_units_only(origin: Place) -> None:
    table = screened(origin)
    assert table.loc["dry.0", "hydric_ft"] == pytest.approx(60, abs=1e-9)
    assert table.loc["45.0", "hydric_ft"] == 0
    assert table.loc["under.0", "hydric_ft"] > 1_000


def test_low_and_high_are_different_questions(origin: Place) -> None:
    """A unit that may be hydric by its unranked components is not counted as hydric."""
    soils = frame([LOT], origin, hydric_pct_low=[40.0], hydric_pct_high=[90.0])
    row = wetgis.screen(site(parcels=frame([LOT], origin), soils=soils)).measures.iloc[0]
    assert row["hydric_sqft"] == 0
    assert row["hydric_weighted_sqft"] == pytest.approx(16_000, abs=0.01)


def test_no_threshold_no_hydric_area(origin: Place) -> None:
    soils = frame([LOT], origin, hydric_pct_low=[90.0], hydric_pct_high=[90.0])
    found = wetgis.screen(site(parcels=frame([LOT], origin), soils=soils, measure={}))
    row = found.measures.iloc[0]
    assert np.isnan(row["hydric_sqft"])
    assert np.isnan(row["hydric_ft"])
    assert row["hydric_weighted_sqft"] == pytest.approx(36_000, abs=0.01)
    said = found.issues[found.issues["code"] == "no_parameter"]["message"]
    assert said.str.contains("hydric_pct").any()


# ---------------------------------------------------------------- floodplain


@pytest.mark.parametrize(
    ("block", "plain", "way", "unknown"),
    [
        ("44", 45_000, 15_000, 60_000),
        ("upland", 0, 0, 0),
        ("beside", 0, 0, 0),
        ("undrawn", NAN, NAN, 40_000),
    ],
)
def test_floodplain(origin: Place, block: str, plain: float, way: float, unknown: float) -> None:
    row = screened(origin).loc[f"{block}.0"]
    found = row[["floodplain_sqft", "floodway_sqft", "flood_unknown_sqft"]].astype(float)
    assert found.tolist() == pytest.approx([plain, way, unknown], abs=0.01, nan_ok=True)


def test_the_distance_is_to_the_floodplain_only(origin: Place) -> None:
    table = screened(origin)
    assert table.loc["beside.0", "floodplain_ft"] == pytest.approx(30, abs=1e-9)
    assert table.loc["44.0", "floodplain_ft"] == 0


def test_a_layer_of_the_floodplain_alone_is_silent_elsewhere(origin: Place) -> None:
    """Without a zone all of it is floodplain, and an issue says so."""
    lots = frame([LOT, box(600, 0, 700, 100)], origin)
    flood = frame([box(300, 0, 500, 100)], origin)
    found = wetgis.screen(site(parcels=lots, floodplain=flood))
    assert found.measures["floodplain_sqft"].tolist() == pytest.approx([10_000, 0], abs=0.01)
    assert found.measures["flood_unknown_sqft"].tolist() == [0, 0]
    assert found.measures["floodplain_ft"].tolist() == pytest.approx([0, 100], abs=1e-9)
    assert "no_zone" in set(found.issues["code"])


def test_an_empty_layer_is_zero_and_infinitely_far(origin: Place) -> None:
    nothing = frame([], origin)
    found = wetgis.screen(
        site(parcels=frame([LOT], origin), wetlands=nothing, watercourses=nothing,
             floodplain=nothing, indicators=nothing)
    )  # fmt: skip
    row = found.measures.iloc[0]
    areas = ["wetland_sqft", "watercourse_sqft", "buffer_sqft", "floodplain_sqft", "indicator_sqft"]
    assert row[areas].tolist() == [0] * 5
    feet = ["wetland_ft", "watercourse_ft", "floodplain_ft", "indicator_ft"]
    assert row[feet].tolist() == [np.inf] * 4
    assert row["status"] == "none_found"
    assert (found.issues["code"] == "empty_layer").sum() == 4


# ---------------------------------------------------------------- indicators, work, watercourses


def test_indicators_count_each_foot_once_and_decide_nothing(origin: Place) -> None:
    table = screened(origin)
    assert table.loc["nwi.0", "indicator_sqft"] == pytest.approx(10_000, abs=0.01)
    assert table.loc["nwi.0", "indicator_ft"] == 0
    assert table.loc["near.0", "indicator_ft"] == pytest.approx(37, abs=1e-9)
    assert table.loc[["nwi.0", "near.0"], "status"].tolist() == ["indicator", "indicator"]
    assert table.loc["nwi.0", "wetland_sqft"] == 0


def test_disturbance_on_each_parcel_each_foot_once(origin: Place) -> None:
    table = screened(origin)
    assert table.loc["work.0", "disturbed_sqft"].tolist()[0] == pytest.approx(7_700, abs=0.01)
    parcels = table[table["subject_kind"] == "parcel"]
    assert parcels.loc[["work.0", "work.1"], "disturbed_sqft"].tolist() == pytest.approx(
        [7_700, 200], abs=0.01
    )
    assert parcels.loc["dry.0", "disturbed_sqft"] == 0
    project = table[table["subject_kind"] == "project"]
    assert project["area_sqft"].tolist() == pytest.approx([7_900], abs=0.01)
    assert project["disturbed_sqft"].isna().all()
    assert project["parcel_id"].tolist() == ["work.0;work.1"]


def test_the_length_of_a_watercourse_inside(origin: Place) -> None:
    table = screened(origin)
    lengths = table.loc[["brook.0", "brook.1"], "watercourse_length_ft"]
    assert lengths.tolist() == pytest.approx([250, 250], abs=1e-6)
    assert table.loc[["brook.0", "brook.1"], "status"].tolist() == ["on_feature", "on_feature"]
    assert table.loc["dry.0", "watercourse_length_ft"] == 0


def test_a_line_along_the_border_of_two_cells_has_its_length_once() -> None:
    """The place of the Rye cases is a corner of cells; a large lot is cut there itself."""
    lots = frame([shapely.Point(0, 0).buffer(3_000, quad_segs=128), box(-100, -50, 100, 50)])
    brook = shapely.LineString([(0, -4_000), (0, 4_000)])
    pipe = frame([shapely.LineString([(-200, 0), (400, 0)])], id=["pipe"])
    found = wetgis.screen(
        site(parcels=lots, footprints=pipe, watercourses=frame([brook, brook], id=["b", "b"]),
             wetlands=frame([box(-50, -50, 150, 50)]))
    )  # fmt: skip
    lengths = found.measures["watercourse_length_ft"].tolist()
    assert lengths[:2] == pytest.approx([6_000, 100], abs=1e-6)
    table = found.contacts.set_index(["subject_id", "feature_kind"])["length_ft"]
    assert table["a", "watercourse"] == pytest.approx(6_000, abs=1e-6)
    assert table["b", "watercourse"] == pytest.approx(100, abs=1e-6)
    assert table["pipe", "wetland"].tolist() == pytest.approx([200, 200], abs=1e-6)


def test_a_lot_deep_in_a_marsh_beyond_the_limit_is_at_no_distance(origin: Place) -> None:
    found = wetgis.screen(
        site(parcels=frame([box(0, 0, 50, 50), box(0, 900, 50, 950)], origin),
             wetlands=frame([box(-500, -500, 500, 500)], origin), watercourses=frame([], origin),
             municipality=frame([box(0, 800, 100, 1_000)], origin))
    )  # fmt: skip
    assert found.measures["wetland_ft"].tolist() == pytest.approx([0, 400], abs=1e-9)
    assert found.measures["beyond_limit_sqft"].tolist() == pytest.approx([2_500, 0], abs=1e-9)
    contact = found.contacts[found.contacts["subject_id"] == "a"].iloc[0]
    assert contact["distance_ft"] == 0
    assert contact["area_sqft"] == pytest.approx(2_500)


# ---------------------------------------------------------------- slope


def steep(path: Path, shape: Any, origin: Place, **more: Any) -> pd.Series:
    lot = frame([shape], origin)
    return wetgis.screen(site(parcels=lot, dem=path, **more)).measures.iloc[0]


@pytest.mark.parametrize(
    ("height", "dtype", "exact"),
    [
        (lambda x, y: 0.30 * x, "float64", 0),
        (lambda x, y: 0.3001 * x, "float64", 10_000),
        (lambda x, y: 0.18 * x + 0.24 * y, "float64", 0),
        (lambda x, y: 0.30 * x + 1_000, "float32", 0),
        (lambda x, y: 0.40 * x, "float64", 10_000),
    ],
)
def test_34_thirty_per_cent(
    tmp_path: Path, origin: Place, height: Any, dtype: str, exact: float
) -> None:
    path = plane(tmp_path / "dem.tif", height, origin=origin, dtype=dtype)
    row = steep(path, box(100, 100, 200, 200), origin)
    assert row["steep_sqft"] == pytest.approx(exact, abs=0.01)
    assert row["slope_unknown_sqft"] == 0
    assert "dem" not in row["unknown_layers"].split(";")


def test_35_a_break_in_the_slope(tmp_path: Path, origin: Place) -> None:
    path = plane(
        tmp_path / "dem.tif", lambda x, y: np.where(x <= 200, 0.25, 0.35) * (x - 200) + 50,
        origin=origin,
    )  # fmt: skip
    row = steep(path, box(150, 100, 250, 200), origin)
    assert row["steep_sqft"] == pytest.approx(5_000, abs=0.01)


def test_36_by_coverage_fractions(tmp_path: Path, origin: Place) -> None:
    path = plane(tmp_path / "dem.tif", lambda x, y: 0.4 * x, origin=origin)
    row = steep(path, box(100, 100, 193, 200), origin)
    assert row["steep_sqft"] == pytest.approx(9_300, abs=0.01)
    assert row["slope_mean_pct"] == pytest.approx(40, abs=1e-6)
    assert row["slope_max_pct"] == pytest.approx(40, abs=1e-6)


def test_37_heights_without_a_unit_are_asked_for(tmp_path: Path, origin: Place) -> None:
    path = plane(tmp_path / "dem.tif", lambda x, y: 0.4 * x, origin=origin, unit="")
    with pytest.raises(wetgis.WetgisError, match="z_unit"):
        steep(path, box(100, 100, 200, 200), origin)
    row = steep(wetgis.Layer(path, z_unit="us-ft"), box(100, 100, 200, 200), origin)
    assert row["slope_mean_pct"] == pytest.approx(40, abs=1e-6)
    row = steep(wetgis.Layer(path, z_unit="m"), box(100, 100, 200, 200), origin)
    assert row["slope_mean_pct"] == pytest.approx(40 * 3937 / 1200, abs=1e-6)


def test_37_a_raster_of_slope_is_read_as_it_stands(tmp_path: Path, origin: Place) -> None:
    path = plane(tmp_path / "slope.tif", lambda x, y: 25.0 + 0 * x, origin=origin, unit="")
    lot = frame([box(100, 100, 200, 200)], origin)
    row = wetgis.screen(site(parcels=lot, slope=path)).measures.iloc[0]
    assert row["steep_sqft"] == 0
    assert row["slope_mean_pct"] == pytest.approx(25, abs=1e-9)


def test_a_raster_that_covers_half(tmp_path: Path, origin: Place) -> None:
    path = plane(tmp_path / "dem.tif", lambda x, y: 0.4 * x, origin=origin)
    lots = frame([box(300, 100, 500, 200), box(600, 100, 700, 200)], origin)
    found = wetgis.screen(site(parcels=lots, dem=path))
    half, none = (found.measures.iloc[k] for k in (0, 1))
    # the outermost row of cells has no neighbours on one side, so its slope is not known
    assert half["steep_sqft"] == pytest.approx(9_000, abs=0.01)
    assert half["slope_unknown_sqft"] == pytest.approx(11_000, abs=0.01)
    assert np.isnan(none["steep_sqft"])
    assert np.isnan(none["slope_mean_pct"])
    assert none["slope_unknown_sqft"] == pytest.approx(10_000, abs=0.01)
    assert all("dem" in u.split(";") for u in found.measures["unknown_layers"])
    assert "partial_raster" in set(found.issues["code"])


def test_voids_are_unknown_never_flat(tmp_path: Path, origin: Place) -> None:
    from rasterio import Affine

    cells = np.tile(0.4 * 10 * np.arange(40.0), (40, 1))
    cells[20, 20] = -9999
    transform = Affine(10, 0, origin[0], 0, -10, origin[1] + 400)
    path = write(tmp_path / "dem.tif", cells, transform, unit="US survey foot", nodata=-9999.0)
    row = steep(path, box(100, 100, 300, 300), origin)
    assert row["slope_unknown_sqft"] == pytest.approx(900, abs=0.01)
    assert row["steep_sqft"] == pytest.approx(40_000 - 900, abs=0.01)


def test_no_threshold_no_steep_area(tmp_path: Path, origin: Place) -> None:
    path = plane(tmp_path / "dem.tif", lambda x, y: 0.4 * x, origin=origin)
    found = wetgis.screen(
        site(parcels=frame([box(100, 100, 200, 200)], origin), dem=path, measure={})
    )
    row = found.measures.iloc[0]
    assert np.isnan(row["steep_sqft"])
    assert row["slope_mean_pct"] == pytest.approx(40, abs=1e-6)
    said = found.issues[found.issues["code"] == "no_parameter"]["message"]
    assert said.str.contains("steep_pct").any()


# ---------------------------------------------------------------- units, columns kept


def test_metres_inside_feet_outside() -> None:
    """A site in a metre CRS gives the very feet of the same site in survey feet."""
    at = (300_000.0, 60_000.0)
    metric = {"at": at, "crs": "EPSG:32118"}
    lots, wet = frame([box(10, 0, 90, 40)], **metric), frame([box(0, 0, 30, 30)], **metric)
    water = frame([shapely.LineString([(-60, 20), (100, 20)])], **metric, half_width_ft=[10.0])
    one = wetgis.screen(site(parcels=lots, wetlands=wet, watercourses=water, crs="EPSG:32118"))
    two = wetgis.screen(site(parcels=lots, wetlands=wet, watercourses=water, crs="EPSG:2263"))
    for name in ("area_sqft", "wetland_sqft", "watercourse_sqft", "buffer_sqft", "outside_sqft"):
        assert one.measures[name].iloc[0] == pytest.approx(two.measures[name].iloc[0], abs=0.01), (
            name
        )
    assert one.measures["area_sqft"].iloc[0] == pytest.approx(3_200 / (1200 / 3937) ** 2)


def test_only_the_columns_named_are_carried(origin: Place) -> None:
    lots = frame([LOT], origin, ADDRESS="12 Main Street", OWNER="somebody")
    kept = wetgis.Layer(lots, keep=["ADDRESS"])
    found = wetgis.screen(site(parcels=kept, wetlands=frame([], origin)))
    assert found.measures["ADDRESS"].tolist() == ["12 Main Street"]
    assert "OWNER" not in found.measures.columns
