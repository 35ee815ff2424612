"""Which coordinate systems may be measured in, which are suggested, and what moves coordinates."""

from __future__ import annotations

import math

import geopandas as gpd
import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from pyproj import CRS, Geod

from wetgis import crs as wcrs
from wetgis.errors import CrsError

RYE_DEG = (-73.69, 40.96, -73.68, 40.97)
MONROE_DEG = (-74.19, 41.32, -74.18, 41.33)
INTL_FEET = CRS(
    "+proj=tmerc +lat_0=38.8333333333333 +lon_0=-74.5 +k=0.9999 +x_0=150000 +y_0=0 "
    "+datum=NAD83 +to_meter=0.3048 +no_defs"
)


def at(code: object, degrees: tuple[float, float, float, float] = RYE_DEG) -> gpd.GeoDataFrame:
    box = gpd.GeoSeries([shapely.box(*degrees)], crs="EPSG:4269")
    return box.to_crs(code).to_frame("geometry")


@pytest.mark.parametrize("code", [2260, 2263, 32115, 32118, 6539, 2234])
def test_state_plane_may_be_measured_in(code: int) -> None:
    frame = at(code)
    assert wcrs.fit_to_measure(frame.crs, tuple(frame.total_bounds)) == ""
    assert wcrs.require_measuring_crs(frame) == frame.crs


@pytest.mark.parametrize(
    ("code", "word"),
    [(4326, "degrees"), (4269, "degrees"), (3857, "conformal"), (5070, "conformal"),
     (26918, "scale"), (32618, "scale"), (6933, "conformal")],
)  # fmt: skip
def test_what_must_not_be_measured_in(code: int, word: str) -> None:
    frame = at(code)
    assert word in wcrs.fit_to_measure(frame.crs, tuple(frame.total_bounds))
    with pytest.raises(CrsError, match="EPSG:"):
        wcrs.require_measuring_crs(frame)


def test_utm_passes_on_its_secants_only() -> None:
    for east, fit in ((320_000.0, True), (680_000.0, True), (500_000.0, False), (420_000, False)):
        box = (east, 4_540_000.0, east + 1000, 4_541_000.0)
        assert (wcrs.fit_to_measure(CRS(26918), box) == "") is fit


def test_scale_is_looked_at_over_the_whole_of_the_data() -> None:
    # the middle lies on a secant of UTM, the edges far from it
    assert wcrs.fit_to_measure(CRS(26918), (320_000, 4_540_000, 321_000, 4_541_000)) == ""
    assert "scale" in wcrs.fit_to_measure(CRS(26918), (220_000, 4_540_000, 420_000, 4_541_000))


@given(
    lon=st.floats(-76, -73.5), lat=st.floats(41, 45), east=st.floats(-800, 800),
    north=st.floats(-800, 800),
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_lengths_in_a_fit_crs_are_the_ellipsoids_within_2e_4(
    lon: float, lat: float, east: float, north: float
) -> None:
    if math.hypot(east, north) < 50:
        return
    geod = Geod(ellps="GRS80")
    away = geod.fwd(lon, lat, math.degrees(math.atan2(east, north)), math.hypot(east, north))
    line = gpd.GeoSeries([shapely.LineString([(lon, lat), away[:2]])], crs=4269).to_crs(2260)
    if wcrs.fit_to_measure(line.crs, tuple(line.total_bounds)):
        return
    metres = line.length.iloc[0] * wcrs.ft_per_unit(line.crs) * 1200 / 3937
    assert metres == pytest.approx(math.hypot(east, north), rel=2.001e-4)


def test_feet_are_exact() -> None:
    assert wcrs.ft_per_unit(CRS(2260)) == 1.0
    assert wcrs.ft_per_unit(CRS(32115)) == 3937 / 1200
    assert wcrs.ft_per_unit(CRS(2253)) == pytest.approx(0.3048 * 3937 / 1200, rel=1e-15)
    assert wcrs.ft_per_unit(INTL_FEET) == pytest.approx(0.999998, abs=1e-12)
    with pytest.raises(CrsError):
        wcrs.ft_per_unit(CRS(4326))


def test_no_crs_is_refused_with_what_fits_the_numbers() -> None:
    frame = gpd.GeoDataFrame(geometry=gpd.GeoSeries(list(at(32115).geometry)))
    with pytest.raises(CrsError, match="EPSG:32115"):
        wcrs.require_measuring_crs(frame)
    degrees = gpd.GeoDataFrame(geometry=[shapely.box(*RYE_DEG)])
    with pytest.raises(CrsError, match="EPSG:4326"):
        wcrs.require_measuring_crs(degrees)


def test_suggestions_near_other_data_come_first() -> None:
    metres = tuple(at(32118).total_bounds)
    near = (CRS(2263), tuple(at(2263).total_bounds))
    assert wcrs.suggestions_for_numbers(metres, near=near)[0] == "EPSG:32118"
    feet = tuple(at(2263, (-73.2, 40.8, -73.19, 40.81)).total_bounds)
    near = (CRS(2263), tuple(at(2263, (-73.3, 40.8, -73.29, 40.81)).total_bounds))
    assert "EPSG:2263" in wcrs.suggestions_for_numbers(feet, near=near)[:2]
    assert wcrs.suggestions_for_numbers((math.nan,) * 4) == []


def test_two_crss_meet() -> None:
    assert wcrs.require_same_crs(at(2260), at(2260)) == CRS(2260)
    with pytest.raises(CrsError, match="EPSG:2260 and EPSG:2263"):
        wcrs.require_same_crs(at(2260), at(2263))
    with pytest.raises(CrsError):
        wcrs.require_same_crs(at(2260), gpd.GeoDataFrame(geometry=list(at(2260).geometry)))


def test_same_crs_by_numbers_not_by_name() -> None:
    esri = CRS(CRS(2263).to_wkt("WKT1_ESRI"))
    assert wcrs.same_crs(esri, CRS(2263))
    assert wcrs.canonical(esri).to_epsg() == 2263
    assert not wcrs.same_crs(CRS(2263), CRS(6539))  # another realisation of NAD83
    assert not wcrs.same_crs(CRS(2260), INTL_FEET)  # another foot
    assert not wcrs.same_crs(CRS(4269), CRS(4326))
    assert wcrs.canonical(INTL_FEET) == INTL_FEET
    compound = CRS("EPSG:2260+6360")
    assert wcrs.same_crs(compound, CRS(2260))


@pytest.mark.parametrize(
    ("degrees", "code"),
    [
        (RYE_DEG, 2263),  # three zones hold it; Long Island's centre is nearest
        ((-73.9, 43.0, -73.89, 43.01), 2260),
        ((-71.1, 42.37, -71.09, 42.38), 2249),
        ((-68.8, 44.8, -68.79, 44.81), 26847),
        ((-76.71, 37.27, -76.70, 37.28), 2284),
        ((-84.5, 42.7, -84.49, 42.71), 2253),  # Michigan's legal foot is the international one
    ],
)
def test_the_state_plane_zone_in_feet_whose_centre_is_nearest(
    degrees: tuple[float, float, float, float], code: int
) -> None:
    for source in (4326, 26918 if degrees[0] > -78 else 4269, 5070):
        assert wcrs.suggest_crs(at(source, degrees), preferred=[]).to_epsg() == code


def test_a_preferred_crs_goes_first_where_it_holds_the_data() -> None:
    ny_east = [CRS(2260)]
    assert wcrs.suggest_crs(at(4326), preferred=ny_east).to_epsg() == 2260
    boston = at(4326, (-71.1, 42.37, -71.09, 42.38))
    assert wcrs.suggest_crs(boston, preferred=ny_east).to_epsg() == 2249


@pytest.mark.parametrize("degrees", [(10.0, 50.0, 10.2, 50.1), (-80.6, 42.0, -79.6, 42.4)])
def test_elsewhere_a_local_transverse_mercator_in_feet(
    degrees: tuple[float, float, float, float],
) -> None:
    found = wcrs.suggest_crs(at(4326, degrees), preferred=[])
    if found.to_epsg() is None:
        assert "transverse Mercator" in found.name
    assert wcrs.ft_per_unit(found) == 1.0
    frame = gpd.GeoSeries([shapely.box(*degrees)], crs=4326).to_crs(found)
    assert wcrs.fit_to_measure(found, tuple(frame.total_bounds)) == ""
    geodesic = abs(Geod(ellps="WGS84").geometry_area_perimeter(shapely.box(*degrees))[0])
    assert frame.segmentize(100).area.iloc[0] * (1200 / 3937) ** 2 == pytest.approx(
        geodesic, rel=4e-4
    )


def test_data_too_wide_for_any_projection() -> None:
    with pytest.raises(CrsError, match="too wide"):
        wcrs.suggest_crs(at(4326, (-100, 30, -80, 45)), preferred=[])
    with pytest.raises(CrsError, match="no geometry"):
        wcrs.suggest_crs(gpd.GeoDataFrame(geometry=[None], crs=4326))
    with pytest.raises(CrsError, match="no coordinate system"):
        wcrs.suggest_crs(gpd.GeoDataFrame(geometry=[shapely.Point(1, 1)]))


def test_outside_the_area_of_use() -> None:
    assert wcrs.outside_area_of_use(CRS(2260), tuple(at(2260).total_bounds)) == ""
    ohio = at(2260, (-81.0, 41.4, -80.9, 41.5))
    assert "EPSG:2260" in wcrs.outside_area_of_use(CRS(2260), tuple(ohio.total_bounds))


def test_contradicted_coordinates() -> None:
    x, y = np.array([-73.7, 717_000.0, 10.0]), np.array([41.0, 783_000.0, 95.0])
    assert wcrs.check_coordinates(CRS(4326), x, y).tolist() == [False, True, True]
    x, y = np.array([717_000.0, 1e12, 7e7]), np.array([783_000.0, -1e12, 8e7])
    assert wcrs.check_coordinates(CRS(2260), x, y).tolist() == [False, True, True]


# ---------------------------------------------------------------- operations


def test_coordinates_go_there_and_back() -> None:
    start = at(4326)
    there, first = wcrs.transform(start, CRS(2260))
    back, second = wcrs.transform(there, CRS(4326))
    assert shapely.hausdorff_distance(start.geometry.iloc[0], back.geometry.iloc[0]) < 1e-11
    assert start.crs.to_epsg() == 4326
    assert first.from_crs == second.to_crs == "EPSG:4326"
    assert set(first.as_json()) >= {
        "from", "to", "definition", "accuracy_m", "ballpark", "missing_grids"
    }  # fmt: skip
    assert "proj=pipeline" in first.definition


def test_the_same_datum_needs_no_shift() -> None:
    _, operation = wcrs.transform(at(2263), CRS(2260))
    assert operation.accuracy_m == 0.0
    assert not operation.ballpark
    assert not operation.null_datum
    assert operation.missing_grids == ()


def test_nothing_is_done_between_two_names_of_one_crs() -> None:
    esri = CRS(CRS(2263).to_wkt("WKT1_ESRI"))
    frame = at(2263).set_crs(esri, allow_override=True)
    moved, operation = wcrs.transform(frame, CRS(2263))
    assert operation.definition == ""
    assert moved.crs.to_epsg() == 2263
    assert moved.geometry.iloc[0].equals(frame.geometry.iloc[0])


@pytest.mark.parametrize("code", [4326, 6318, 6347, 4759, 4152, 2829, 6539, 4269])
def test_null_operations_of_nad83_and_wgs84_are_accepted(code: int) -> None:
    _, operation = wcrs.find_operation(CRS(code), CRS(2260), (-74.0, 40.9, -73.5, 41.3))
    assert not operation.ballpark
    assert operation.null_datum is (code != 4269)


def test_nad27_is_a_ballpark_without_its_grids() -> None:
    _, operation = wcrs.find_operation(CRS(4267), CRS(2260), (-74.0, 40.9, -73.5, 41.3))
    if not operation.ballpark:
        pytest.skip("the grids of NAD27 are installed here")
    assert operation.missing_grids
    assert operation.accuracy_m is None


def test_one_operation_for_the_whole_layer_whatever_its_rows() -> None:
    whole = gpd.GeoDataFrame(
        geometry=[shapely.Point(-73.69, 40.96), None, shapely.Point(-73.68, 40.97)], crs=4326
    )
    moved, one = wcrs.transform(whole, CRS(2260))
    part, other = wcrs.transform(whole.iloc[[2]], CRS(2260))
    assert moved.geometry.iloc[1] is None
    assert one.definition == other.definition
    assert moved.geometry.iloc[2].equals(part.geometry.iloc[0])


def test_the_survey_foot_and_the_international_one_lie_apart() -> None:
    point = gpd.GeoDataFrame(geometry=[shapely.Point(578_000, 909_000)], crs=INTL_FEET)
    moved, _ = wcrs.transform(point, CRS(2260))
    shift = moved.geometry.iloc[0].distance(point.geometry.iloc[0])
    assert shift == pytest.approx(2e-6 * math.hypot(578_000, 909_000), rel=1e-3)


@pytest.mark.parametrize("lon", [-74.5, -73.68])
def test_combined_factor(lon: float) -> None:
    east = (lon + 74.5) * math.cos(math.radians(41)) * math.pi / 180 * 6_378_137
    expected = 0.9999 * (1 + east**2 / (2 * 6_370_000.0**2))
    assert wcrs.combined_factor(CRS(2260), (lon, 41.0)) == pytest.approx(expected, abs=2e-7)
    high = wcrs.combined_factor(CRS(2260), (lon, 41.0), 1000.0)
    assert high / expected == pytest.approx(1 - 1000 / 20_902_000, abs=3e-7)


def test_as_crs_drops_the_vertical_and_refuses_nonsense() -> None:
    assert wcrs.as_crs("EPSG:2260+6360").to_epsg() == 2260
    assert wcrs.as_crs(4979).to_epsg() == 4326
    with pytest.raises(CrsError, match="EPSG:2260"):
        wcrs.as_crs("New York East")
    assert wcrs.is_unknown(CRS('LOCAL_CS["site grid",UNIT["foot",0.3048]]'))
    assert wcrs.is_unknown(
        CRS(
            'GEOGCS["Undefined geographic SRS",DATUM["unknown",SPHEROID["unknown",6378137,'
            '298.257223563]],PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433]]'
        )
    )
