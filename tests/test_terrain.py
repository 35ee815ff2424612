"""Slope and zonal by the contract's calls: worked cases, faults, published rasters."""

from __future__ import annotations

from pathlib import Path

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import rasterio
import shapely
from pyproj import CRS, Geod, Transformer
from rasterio import Affine
from tests.conftest import boxes
from tests.terrain_makers import centres, plane, write

import wetgis
from wetgis.rasters.surface import open_surface

AT = (717_000.0, 783_000.0)


def numbers(frame: pd.DataFrame) -> dict[str, list[float]]:
    return {c: frame[c].tolist() for c in frame.columns}


# ---------------------------------------------------------------- worked cases (AC)


@pytest.mark.parametrize(
    ("height", "dtype", "above_sqft"),
    [
        (lambda x, y: 0.30 * x, "float64", 0.0),
        (lambda x, y: 0.3001 * x, "float64", 10_000.0),
        (lambda x, y: 0.18 * x + 0.24 * y, "float64", 0.0),
        (lambda x, y: 0.30 * x + 1000.0, "float32", 0.0),
        (lambda x, y: 0.30 * x + 6000.0, "float32", 0.0),
    ],
    ids=["30", "30.01", "oblique", "float32 noise", "float32 high"],
)
def test_threshold_is_not_tripped_by_noise(tmp_path, origin, height, dtype, above_sqft):
    dem = plane(tmp_path / "dem.tif", height, origin=origin, dtype=dtype)
    fp = boxes((100, 100, 200, 200), at=origin)
    got = wetgis.zonal(fp, wetgis.slope(dem), above=30)
    assert got.above_sqft[0] == above_sqft
    assert got.unknown_sqft[0] == 0.0


def test_noise_follows_the_height_of_the_cell_alone(tmp_path):
    """A mountain far off does not widen the tolerance here."""
    at_30_01 = plane(tmp_path / "a.tif", lambda x, y: 0.3001 * x, dtype="float32", cell=1.0)
    both = plane(
        tmp_path / "b.tif",
        lambda x, y: 0.3001 * x + np.where(y > 30, 8000.0, 0.0),
        dtype="float32",
        cell=1.0,
    )
    fp = boxes((5, 5, 15, 15))
    for dem in (at_30_01, both):
        assert wetgis.zonal(fp, wetgis.slope(dem), above=30).above_sqft[0] == 100.0


def test_break_line(tmp_path, origin):
    x0, y0 = origin
    dem = plane(
        tmp_path / "dem.tif",
        lambda x, y: np.where(x <= 200, 0.25 * (x - 200), 0.35 * (x - 200)),
        origin=origin,
    )
    row = wetgis.slope(dem).array[20, 15:25]
    assert row == pytest.approx([25, 25, 25, 25, 27.5, 32.5, 35, 35, 35, 35], abs=1e-9)
    fp = boxes((150, 150, 250, 250), at=(x0, y0))
    assert wetgis.zonal(fp, wetgis.slope(dem), above=30).above_sqft[0] == 5_000.0


def test_coverage_fraction_area(tmp_path, origin):
    dem = plane(tmp_path / "dem.tif", lambda x, y: 0.40 * x, origin=origin)
    got = wetgis.zonal(boxes((100, 100, 193, 200), at=origin), wetgis.slope(dem), above=30)
    assert got.above_sqft[0] == got.area_sqft[0] == 9_300.0


def test_degrees_are_not_percents(tmp_path):
    cells = np.full((20, 20), 20.0, np.float32)
    transform = Affine(10, 0, AT[0], 0, -10, AT[1] + 200)
    in_degrees = write(tmp_path / "deg.tif", cells, transform, unit="degrees")
    in_percent = write(tmp_path / "pct.tif", cells + 5.0, transform, unit="percent")
    fp = boxes((50, 50, 150, 150))
    got = wetgis.zonal(fp, in_degrees, above=30)
    assert got["mean"][0] == pytest.approx(36.397, abs=5e-4)
    assert got.above_sqft[0] == 10_000.0
    assert "degree" in wetgis.issues(got).message[0]
    assert wetgis.zonal(fp, in_percent, above=30).above_sqft[0] == 0.0


@pytest.mark.parametrize("said", ["band", "stated", "vertical crs"])
def test_feet_on_a_metre_grid_are_converted(tmp_path, said):
    more = {"band": {"unit": "ft"}, "stated": {"unit": ""}, "vertical crs": {"unit": ""}}[said]
    crs = "EPSG:26918+8228" if said == "vertical crs" else "EPSG:26918"
    dem = plane(
        tmp_path / "dem.tif", lambda x, y: 0.30 * x / 0.3048, origin=(600_000, 4_540_000),
        cell=1.0, crs=crs, **more,
    )  # fmt: skip
    got = wetgis.slope(dem, z_unit="ft" if said == "stated" else None)
    assert np.nanmax(got.array) == pytest.approx(30.0, abs=1e-9)
    if said != "vertical crs":
        return
    assert got.crs.to_epsg() == 26918


def test_heights_without_a_unit_are_refused(tmp_path):
    dem = plane(tmp_path / "dem.tif", lambda x, y: 0.3 * x, unit="")
    with pytest.raises(wetgis.WetgisError, match="z_unit = 'm', 'ft' or 'us-ft'"):
        wetgis.slope(dem)


def test_stated_unit_holds_and_the_contradiction_is_told(tmp_path):
    dem = plane(tmp_path / "dem.tif", lambda x, y: 0.3 * x, unit="m")
    assert np.nanmax(wetgis.slope(dem).array) == pytest.approx(98.425, abs=1e-3)
    got = wetgis.slope(dem, z_unit="us-ft")
    assert np.nanmax(got.array) == pytest.approx(30.0, abs=1e-9)
    assert got.issues.code.tolist() == ["z_unit"]
    assert got.issues.severity.tolist() == ["warning"]
    with pytest.raises(wetgis.WetgisError, match="furlong"):
        wetgis.slope(dem, z_unit="furlong")


def test_three_to_one(tmp_path):
    """10 ft up in 30 is 3:1 and not steeper; 10 in 29 is."""
    fp = boxes((100, 100, 200, 200))
    for run, sqft in ((30, 0.0), (29, 10_000.0)):
        dem = plane(tmp_path / f"{run}.tif", lambda x, y, run=run: 10.0 * x / run)
        assert wetgis.zonal(fp, wetgis.slope(dem), above=100 / 3).above_sqft[0] == sqft


# ---------------------------------------------------------------- reported faults


@pytest.mark.shared
def test_case_feet_metres_percent(shared):
    case = shared / "cases" / "11-dem-feet-metres-percent"
    fp = gpd.read_file(case / "footprint.gpkg")
    for name in ("dem.tif", "dem_ft.tif"):
        steep = wetgis.slope(case / name)
        got = wetgis.zonal(fp, steep, above=30)
        assert got.area_sqft[0] == pytest.approx(90_000)
        assert got.above_sqft[0] == pytest.approx(70_000, abs=100)
        assert got["mean"][0] == pytest.approx(53.333, abs=0.2)
        # the column at the first break reads 32.5 %: above 30, not above 3:1 (the case's closed
        # form counts its 2,000 sq ft, a 3 x 3 window cannot)
        assert wetgis.zonal(fp, steep, above=100 / 3).above_sqft[0] == pytest.approx(68_000)
    assert np.nanmax(np.abs(wetgis.slope(case / "dem.tif").array
                            - wetgis.slope(case / "dem_ft.tif").array)) < 1e-3  # fmt: skip


@pytest.mark.shared
@pytest.mark.parametrize("name", ["dem_a.tif", "dem_b.tif", "dem_c.tif"])
def test_case_undeclared_nodata(shared, name):
    case = shared / "cases" / "12-undeclared-nodata"
    fp = gpd.read_file(case / "footprint.geojson").set_crs("EPSG:2263", allow_override=True)
    steep = wetgis.slope(case / name)
    got = wetgis.zonal(fp, steep, above=30)
    assert numbers(got) == {
        "area_sqft": [60_000.0],
        "unknown_sqft": [6_400.0],
        "above_sqft": [0.0],
        "mean": [pytest.approx(10.0, abs=0.05)],
        "max": [pytest.approx(10.0, abs=0.05)],
    }
    assert steep.issues.code.tolist() == ["undeclared_nodata"]
    assert steep.issues.message[0].startswith("36 cells")


@pytest.mark.shared
def test_case_footprint_smaller_than_a_cell(shared):
    case = shared / "cases" / "13-footprint-smaller-than-cell"
    fp = gpd.read_file(case / "footprints.gpkg").set_index("id")
    got = wetgis.zonal(fp, case / "slope.tif", above=30)
    assert got.index.tolist() == ["SHED", "TRENCH", "HALF", "L1"]
    assert got.area_sqft.tolist() == pytest.approx([64, 810, 3600, 2700])
    assert got.above_sqft.tolist() == pytest.approx([64, 420, 1800, 1500])
    assert got["mean"].tolist() == pytest.approx([50, 30.7407, 30, 32.2222], abs=1e-4)
    assert got.unknown_sqft.tolist() == [0.0] * 4


@pytest.mark.shared
def test_case_south_up(shared):
    case = shared / "cases" / "14-south-up-raster"
    fp = gpd.read_file(case / "footprints.gpkg").set_index("name")
    answers = []
    for name in ("dem_northup.tif", "dem_southup.tif"):
        got = wetgis.zonal(fp, wetgis.slope(case / name), above=30)
        assert got.above_sqft.to_dict() == {"NORTH": 10_000.0, "SOUTH": 0.0}
        assert got["mean"].to_dict() == pytest.approx({"NORTH": 45.0, "SOUTH": 10.0})
        heights = wetgis.zonal(fp, case / name)
        assert heights["mean"].to_dict() == pytest.approx({"NORTH": 169.5, "SOUTH": 109.0})
        assert heights.above_sqft.isna().all()
        answers.append((numbers(got), numbers(heights[["mean", "max"]])))
    assert answers[0] == answers[1]


# ---------------------------------------------------------------- what is not known


def test_edges_are_unknown_not_flat(tmp_path):
    dem = plane(tmp_path / "dem.tif", lambda x, y: 0.4 * x, shape=(10, 10))
    array = wetgis.slope(dem).array
    assert np.isnan(array[[0, -1]]).all()
    assert np.isnan(array[:, [0, -1]]).all()
    assert np.isfinite(array[1:-1, 1:-1]).all()
    got = wetgis.zonal(boxes((0, 0, 100, 100)), wetgis.slope(dem), above=30)
    assert numbers(got[["area_sqft", "unknown_sqft", "above_sqft"]]) == {
        "area_sqft": [10_000.0], "unknown_sqft": [3_600.0], "above_sqft": [6_400.0],
    }  # fmt: skip


@pytest.mark.parametrize(
    "void", [-999_999.0, -3.4028235e38, np.nan, np.inf, -9999.0, -999.0, 1e5, -501.0]
)
@pytest.mark.parametrize("declared", [False, True])
def test_one_void_cell_makes_nine_unknown(tmp_path, void, declared):
    cells = np.tile(np.arange(12.0, dtype=np.float32), (12, 1))
    cells[5, 6] = void
    dem = write(
        tmp_path / "dem.tif", cells, Affine(1, 0, 600_000, 0, -1, 4_540_000), crs="EPSG:26918",
        unit="metre", nodata=void if declared else None,
    )  # fmt: skip
    got = wetgis.slope(dem)
    unknown = np.isnan(got.array[1:-1, 1:-1])
    assert unknown.sum() == 9
    assert unknown[3:6, 4:7].all()
    assert got.issues.code.tolist() == ["nodata" if declared else "undeclared_nodata"]
    assert got.issues.message[0].startswith("1 cells")


def test_heights_of_the_earth_are_possible(tmp_path):
    for low, high, unit in ((-430.0, 8849.0, "m"), (-1412.0, 29_032.0, "ft")):
        dem = plane(
            tmp_path / "d.tif", lambda x, y, a=low, b=high: a + (b - a) * x / 400, unit=unit
        )
        assert len(wetgis.slope(dem).issues) == 0


def test_masked_cells_are_unknown(tmp_path):
    mask = np.full((20, 20), 255, np.uint8)
    mask[10, 10] = 0
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True):
        dem = plane(tmp_path / "dem.tif", lambda x, y: 0.4 * x, shape=(20, 20), mask=mask)
    assert np.isnan(wetgis.slope(dem).array[1:-1, 1:-1]).sum() == 9


def test_raster_that_covers_half(tmp_path):
    dem = plane(tmp_path / "dem.tif", lambda x, y: 0.4 * x)
    steep = wetgis.slope(dem)
    got = wetgis.zonal(boxes((200, 100, 590, 300), (1000, 0, 1100, 100)), steep, above=30)
    # the last column of cells has no slope either
    assert got.above_sqft[0] == pytest.approx(190 * 200)
    assert got.unknown_sqft[0] == pytest.approx(200 * 200)
    assert got["mean"][0] == pytest.approx(40)
    assert got.unknown_sqft[1] == got.area_sqft[1] == 10_000.0
    assert got.loc[1, ["above_sqft", "mean", "max"]].isna().all()
    assert wetgis.issues(got).code.tolist() == ["partial_raster"]


def test_subject_on_the_raster_edge_is_covered(tmp_path):
    """Exactly the raster's own box: no rounding may look like missing ground."""
    cells = np.full((7, 9), 50.0)
    path = write(tmp_path / "s.tif", cells, Affine(3.3, 0, *AT[:1], 0, -3.3, AT[1]), unit="percent")
    fp = gpd.GeoDataFrame(
        geometry=[shapely.box(AT[0], AT[1] - 7 * 3.3, AT[0] + 9 * 3.3, AT[1])], crs="EPSG:2260"
    )
    got = wetgis.zonal(fp, path, above=30)
    assert got.unknown_sqft[0] == 0.0
    assert got.above_sqft[0] == got.area_sqft[0]


# ---------------------------------------------------------------- grids of every kind


@pytest.mark.parametrize("turn", [0.0, 17.0, 90.0, 200.0])
@pytest.mark.parametrize("flip", [False, True])
def test_rotated_grid_reads_a_plane(tmp_path, turn, flip):
    transform = (
        Affine.translation(AT[0] + 300, AT[1] + 300)
        * Affine.rotation(turn)
        * Affine.scale(10.0, 7.0 if flip else -7.0)
        * Affine.translation(-25, -35)
    )
    x, y = centres(transform, (70, 50))
    heights = 0.18 * (x - AT[0]) + 0.24 * (y - AT[1])
    dem = write(tmp_path / "dem.tif", heights, transform, unit="US survey foot")
    steep = wetgis.slope(dem)
    assert np.nanmin(steep.array) == pytest.approx(30.0, abs=1e-7)
    assert np.nanmax(steep.array) == pytest.approx(30.0, abs=1e-7)
    fp = boxes((250, 255, 340, 341.5))
    got = wetgis.zonal(fp, steep, above=29.5)
    assert got.unknown_sqft[0] == 0.0
    assert got.above_sqft[0] == got.area_sqft[0]
    # heights are linear, so their exact mean is the height of the centroid
    mean = wetgis.zonal(fp, dem)["mean"][0]
    assert mean == pytest.approx(0.18 * 295 + 0.24 * 298.25, abs=0.35)


@pytest.mark.parametrize("crs", ["EPSG:4326", "EPSG:4269", "EPSG:3857", "EPSG:5070", "EPSG:26918"])
def test_other_crs_reads_the_plane_and_the_break(tmp_path, crs):
    """30 % ground in State Plane, sampled on another grid: within its scale of 30 %."""
    corner = Transformer.from_crs("EPSG:2260", crs, always_xy=True)
    back = Transformer.from_crs(crs, "EPSG:2260", always_xy=True)
    west, north = corner.transform(AT[0] - 100, AT[1] + 700)
    cell = 4e-5 if CRS(crs).is_geographic else 4.0
    transform = Affine(cell, 0, west, 0, -cell, north)
    y = back.transform(*centres(transform, (100, 100)))[1]
    heights = 100.0 + np.where(y > AT[1] + 300, 0.5, 0.3) * (y - AT[1] - 300)
    dem = write(tmp_path / "dem.tif", heights, transform, crs=crs, unit="US survey foot")
    steep = wetgis.slope(dem)
    # UTM is read on its own grid: 4e-4 at most; the others by the ground, State Plane within 1e-4
    assert np.nanmin(steep.array) == pytest.approx(30.0, rel=1e-3)
    assert np.nanmax(steep.array) == pytest.approx(50.0, rel=1e-3)
    got = wetgis.zonal(boxes((100, 200, 300, 400)), steep, above=40)
    assert got.area_sqft[0] == 40_000.0
    assert got.unknown_sqft[0] == 0.0
    # the break falls in one row of cells, some 13 ft high
    assert got.above_sqft[0] == pytest.approx(20_000, abs=200 * 8)
    told = "unfit_crs" in set(steep.issues.code)
    assert told == (crs in {"EPSG:3857", "EPSG:5070"})


def test_cells_in_degrees_follow_the_ellipsoid(tmp_path):
    transform = Affine(0.001, 0, -73.7, 0, -0.0005, 41.5)
    lon, lat = centres(transform, (9, 9))
    heights = 1000.0 * (lon + 73.7) + 3000.0 * (lat - 41.5)
    dem = write(tmp_path / "dem.tif", heights, transform, crs="EPSG:4269", unit="m")
    geod = Geod(ellps="GRS80")
    got = wetgis.slope(dem).array
    for r in (1, 4, 7):
        y = lat[r, 4]
        east = geod.inv(-73.7005, y, -73.6995, y)[2]
        north = geod.inv(-73.7, y - 0.0005, -73.7, y + 0.0005)[2]
        assert got[r, 4] == pytest.approx(100 * np.hypot(1.0 / east, 3.0 / north), rel=1e-7)


def test_point_pixels_are_the_same_ground(tmp_path):
    fp = boxes((103, 100, 151, 200))
    made = [
        plane(tmp_path / f"{p}.tif", lambda x, y: 0.0008 * x * x, tags={"AREA_OR_POINT": p})
        for p in ("Area", "Point")
    ]
    a, b = (wetgis.zonal(fp, wetgis.slope(p), above=20) for p in made)
    assert numbers(a) == numbers(b)


@pytest.mark.parametrize("dtype", ["int16", "uint16", "int32", "uint8"])
def test_whole_numbers_with_scale_and_offset(tmp_path, dtype):
    dem = plane(tmp_path / "dem.tif", lambda x, y: x / 10, dtype=dtype, scale=0.5, offset=100.0)
    got = wetgis.slope(dem)
    assert np.nanmax(got.array) == pytest.approx(5.0)
    assert np.nanmin(got.array) == pytest.approx(5.0)
    assert wetgis.zonal(boxes((100, 100, 200, 200)), dem)["mean"][0] == pytest.approx(107.25)


# ---------------------------------------------------------------- subjects


def test_any_index_and_every_kind_of_geometry(tmp_path):
    steep = wetgis.slope(plane(tmp_path / "dem.tif", lambda x, y: 0.001 * x * x))
    x0, y0 = AT
    box = shapely.box(x0 + 95, y0 + 95, x0 + 115, y0 + 115)
    bow = shapely.Polygon([(x0 + 100, y0 + 100), (x0 + 120, y0 + 120), (x0 + 120, y0 + 100),
                           (x0 + 100, y0 + 120)])  # fmt: skip
    fp = gpd.GeoDataFrame(
        geometry=[
            box,
            None,
            shapely.Point(),
            shapely.LineString([(x0 + 100, y0 + 105), (x0 + 130, y0 + 105)]),
            shapely.Point(x0 + 105, y0 + 105),
            shapely.GeometryCollection([box, shapely.Point(x0 + 5, y0 + 5)]),
            bow,
            shapely.MultiPolygon([box, shapely.box(x0 + 200, y0 + 100, x0 + 220, y0 + 120)]),
            shapely.Polygon([(x0 + 100, y0 + 100, 5.0), (x0 + 110, y0 + 100, np.nan),
                             (x0 + 110, y0 + 110, 5.0)]),  # Z is no matter
        ],
        index=list("aabcdefgh"),
        crs="EPSG:2260",
    )  # fmt: skip
    before = fp.copy()
    got = wetgis.zonal(fp, steep, above=20)
    assert got.index.tolist() == list("aabcdefgh")
    pd.testing.assert_frame_equal(pd.DataFrame(fp), pd.DataFrame(before))
    rows = got.reset_index(drop=True)
    assert rows.loc[[1, 2]].isna().all(axis=None)
    # centres at 105, 115, 125: slopes 21, 23, 25
    assert rows.loc[3].tolist() == pytest.approx([0, 0, 0, 23.0, 25.0])
    assert rows.loc[4].tolist() == pytest.approx([0, 0, 0, 21.0, 21.0])
    # 5 ft at 19, 10 at 21, 5 at 23
    assert rows.loc[0].tolist() == pytest.approx([400, 0, 300, 21.0, 23.0])
    assert rows.loc[5].tolist() == rows.loc[0].tolist()
    assert rows.loc[6].tolist() == pytest.approx([200, 0, 200, 22.0, 23.0])
    assert rows.loc[7, "area_sqft"] == pytest.approx(800)
    assert rows.loc[7, "mean"] == pytest.approx(0.5 * (21.0 + 42.0))
    assert rows.loc[8].tolist() == pytest.approx([50, 0, 50, 21.0, 21.0])


def test_no_subjects(tmp_path):
    steep = wetgis.slope(plane(tmp_path / "dem.tif", lambda x, y: x))
    got = wetgis.zonal(gpd.GeoDataFrame(geometry=[], crs="EPSG:2260"), steep, above=30)
    assert list(got.columns) == ["area_sqft", "unknown_sqft", "above_sqft", "mean", "max"]
    assert len(got) == 0


def test_area_is_in_square_feet_whatever_the_crs(tmp_path):
    steep = wetgis.slope(plane(tmp_path / "dem.tif", lambda x, y: 0.4 * x))
    metres = boxes((100, 100, 200, 200)).to_crs("EPSG:32115")
    got = wetgis.zonal(metres, steep, above=30)
    assert got.area_sqft[0] == pytest.approx(10_000, rel=1e-9)
    assert got.above_sqft[0] == got.area_sqft[0]


def test_a_path_with_z_unit_is_heights(tmp_path):
    dem = plane(tmp_path / "dem.tif", lambda x, y: 0.4 * x, unit="")
    fp = boxes((100, 100, 193, 200))
    assert numbers(wetgis.zonal(fp, dem, above=30, z_unit="us-ft")) == numbers(
        wetgis.zonal(fp, wetgis.slope(dem, z_unit="us-ft"), above=30)
    )


def test_heights_compared_with_a_threshold_are_told(tmp_path):
    dem = plane(tmp_path / "dem.tif", lambda x, y: 0.4 * x)
    got = wetgis.zonal(boxes((100, 100, 200, 200)), dem, above=30)
    assert wetgis.issues(got).code.tolist() == ["z_unit"]


def test_subjects_must_be_measurable(tmp_path):
    steep = wetgis.slope(plane(tmp_path / "dem.tif", lambda x, y: x))
    for crs in (None, "EPSG:4326", "EPSG:3857"):
        fp = boxes((100, 100, 200, 200)).to_crs(crs or "EPSG:2260")
        if crs is None:
            fp = fp.set_crs(None, allow_override=True)
        with pytest.raises(wetgis.errors.CrsError):
            wetgis.zonal(fp, steep)


# ---------------------------------------------------------------- files in and out


def test_out_is_the_same_slope(tmp_path):
    dem = plane(tmp_path / "dem.tif", lambda x, y: 0.001 * x * x)
    found = wetgis.slope(dem, tmp_path / "slope.tif")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["dem.tif", "slope.tif"]
    with rasterio.open(tmp_path / "slope.tif") as data:
        back = data.read(1, masked=True).filled(np.nan)
        assert data.units == ("percent",)
        assert data.transform == found.transform
        assert data.crs.to_epsg() == 2260
    np.testing.assert_array_equal(back, found.array)
    fp = boxes((95, 95, 115, 115))
    assert numbers(wetgis.zonal(fp, tmp_path / "slope.tif", above=20)) == numbers(
        wetgis.zonal(fp, found, above=20)
    )


def test_out_that_cannot_be_written(tmp_path):
    dem = plane(tmp_path / "dem.tif", lambda x, y: x)
    with pytest.raises(wetgis.errors.OutputError, match="folder"):
        wetgis.slope(dem, tmp_path / "no" / "slope.tif")
    before = dem.read_bytes()
    with pytest.raises(wetgis.WetgisError, match="over the input"):
        wetgis.slope(dem, dem)
    assert dem.read_bytes() == before


def test_files_that_cannot_be_used(tmp_path):
    with pytest.raises(wetgis.errors.InputError, match="no such file"):
        wetgis.slope(tmp_path / "none.tif")
    (tmp_path / "text.tif").write_text("not a raster")
    with pytest.raises(wetgis.errors.InputError, match="cannot be read as a raster"):
        wetgis.slope(tmp_path / "text.tif")
    bare = plane(tmp_path / "bare.tif", lambda x, y: x, crs=None)
    with pytest.raises(wetgis.errors.CrsError, match="no coordinate system"):
        wetgis.slope(bare)
    wrong = plane(tmp_path / "wrong.tif", lambda x, y: x, crs="EPSG:4326")
    with pytest.raises(wetgis.errors.CrsError, match="cannot be coordinates"):
        wetgis.slope(wrong)
    percent = plane(tmp_path / "pct.tif", lambda x, y: x, unit="percent")
    with pytest.raises(wetgis.errors.InputError, match="slopes, not heights"):
        wetgis.slope(percent)
    whole = (tmp_path / "bare.tif").read_bytes()
    (tmp_path / "cut.tif").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(wetgis.WetgisError):
        wetgis.slope(tmp_path / "cut.tif", z_unit="m")


@pytest.mark.shared
def test_a_crs_of_no_place_is_refused(shared):
    with pytest.raises(wetgis.errors.CrsError, match="not one of the earth"):
        wetgis.slope(shared / "data" / "dem" / "wbpy_nocrs_pixelispoint.tif", z_unit="m")


# ---------------------------------------------------------------- published rasters


def published(path: Path) -> np.ndarray:
    with rasterio.open(path) as data:
        return data.read(1, masked=True).astype(float).filled(np.nan)


@pytest.mark.shared
def test_gdal_slope_in_degrees(shared):
    folder = shared / "data" / "oracle" / "slope"
    ours = np.degrees(
        np.arctan(wetgis.slope(folder / "zion_srtm_32612.tif", z_unit="m").array / 100)
    )
    theirs = published(folder / "zion_srtm_32612_slope_gdaldem_deg.tif")
    np.testing.assert_array_equal(np.isnan(ours), np.isnan(theirs))
    assert np.nanmax(np.abs(ours - theirs)) < 4e-6


@pytest.mark.shared
def test_arcgis_percent_rise_of_feet_over_metres(shared):
    folder = shared / "data" / "oracle" / "slope"
    ours = wetgis.slope(folder / "az_dem_10m_utm12_zfeet.tif", z_unit="ft").array
    theirs = published(folder / "az_slope_arcgis_percent.tif")
    assert np.nanmax(np.abs(ours - theirs)) < 7e-4
    assert np.isnan(ours).sum() == 4 * 399  # ArcGIS fills the rim, we do not


@pytest.mark.shared
def test_saga_slope_in_radians_where_the_ground_is_plane(shared):
    """SAGA's file uses another window (Zevenbergen and Thorne); on plane ground the two agree."""
    folder = shared / "data" / "oracle" / "slope"
    dem = folder / "qgis_dem25_ed50.tif"
    ours = np.arctan(wetgis.slope(dem, z_unit="m").array / 100)
    theirs = published(folder / "qgis_slope_saga_rad.tif")
    z = published(dem)
    up, down = np.roll(z, 1, 0), np.roll(z, -1, 0)

    def across(rows: np.ndarray) -> np.ndarray:
        return np.roll(rows, -1, 1) - np.roll(rows, 1, 1)

    edge_x, edge_y = across(z), down - up
    corner_x = 0.5 * (across(up) + across(down))
    corner_y = 0.5 * (np.roll(edge_y, 1, 1) + np.roll(edge_y, -1, 1))
    level = np.hypot(edge_x - corner_x, edge_y - corner_y) < 0.05  # of 50 m
    level[[0, -1]] = level[:, [0, -1]] = False
    assert level.sum() > 1_000
    assert np.abs(ours - theirs)[level].max() < 0.0006
    assert np.nanmedian(np.abs(ours - theirs)) < 0.009


@pytest.mark.shared
def test_published_zonal_statistics(shared):
    """rasterstats counts cells by their centres; over just those cells we must agree with it."""
    folder = shared / "data" / "oracle" / "zonal"
    fields = gpd.read_file(folder / "polygons.shp")
    surface = open_surface(folder / "slope.tif", kind="values")
    x, y = centres(Affine(*surface.grid.transform), (surface.grid.height, surface.grid.width))
    side = surface.grid.cell[0] / 2
    for polygon, mean, count in zip(
        fields.geometry, (14.660084635416666, 56.60576171875), (75, 50), strict=True
    ):
        inside = shapely.contains_xy(polygon, x, y)
        cells = shapely.box(x[inside] - side, y[inside] - side, x[inside] + side, y[inside] + side)
        assert inside.sum() == count
        got = surface.zonal(np.array([shapely.union_all(cells), polygon]), fields.crs)
        assert got["mean_pct"][0] == pytest.approx(mean, abs=1e-5)
        assert got["mean_pct"][1] == pytest.approx(mean, rel=0.06)
        assert got["known_frac"].tolist() == [1.0, 1.0]
