"""The verbs about one file, on layers that the test writes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import pytest
import shapely

import wetgis

CORNER = (717_000.0, 783_000.0)


def box(a: float, b: float, c: float, d: float) -> shapely.Polygon:
    x, y = CORNER
    return shapely.box(a + x, b + y, c + x, d + y)


@pytest.fixture
def ponds(tmp_path: Path) -> Path:
    """Two ponds, 100 ft by 100 ft and 50 ft by 50 ft, 300 ft apart."""
    path = tmp_path / "ponds.gpkg"
    frame = gpd.GeoDataFrame(
        {"NO": ["007", "008"]}, geometry=[box(0, 0, 100, 100), box(400, 0, 450, 50)], crs=2260
    )
    frame.to_file(path)
    return path


@pytest.fixture
def torn(tmp_path: Path) -> Path:
    """One good pond and one record without a geometry."""
    path = tmp_path / "torn.gpkg"
    frame = gpd.GeoDataFrame({"NO": ["1", "2"]}, geometry=[box(0, 0, 10, 10), None], crs=2260)
    frame.to_file(path)
    return path


def test_check_says_what_is_there(cli: Callable[..., Any], ponds: Path) -> None:
    ran = cli("check", ponds, "--id", "NO")
    assert ran.code == 0
    assert "2 features, polygons" in ran.out
    assert "EPSG:2260" in ran.out


def test_check_as_json(cli: Callable[..., Any], ponds: Path) -> None:
    ran = cli("check", ponds, "--json")
    (layer,) = json.loads(ran.out)["layers"]
    assert (layer["features"], layer["fit_to_measure"]) == (2, True)


def test_check_says_the_way_into_another_system(cli: Callable[..., Any], ponds: Path) -> None:
    ran = cli("check", ponds, "--crs", "EPSG:26918")
    assert ran.code == 0
    assert "from EPSG:2260 to EPSG:26918, accuracy 0 m: " in ran.err
    assert "it is in that system already" in cli("check", ponds, "--crs", "EPSG:2260").err


def test_a_record_that_cannot_be_used_is_3(cli: Callable[..., Any], torn: Path) -> None:
    assert cli("check", torn, "--id", "NO").code == 3
    assert cli("convert", torn, torn.with_name("whole.gpkg"), "--id", "NO").code == 3


def test_check_writes_a_repaired_copy(cli: Callable[..., Any], tmp_path: Path) -> None:
    x, y = CORNER
    bow = shapely.Polygon([(x, y), (x + 10, y + 10), (x + 10, y), (x, y + 10)])
    path = tmp_path / "bow.gpkg"
    gpd.GeoDataFrame({"NO": ["1"]}, geometry=[bow], crs=2260).to_file(path)
    ran = cli("check", path, "--fix", tmp_path / "mended.gpkg")
    assert ran.code == 0
    assert "repaired" in ran.out
    mended = gpd.read_file(tmp_path / "mended.gpkg")
    assert mended.geometry.is_valid.all()
    assert mended.area.sum() == pytest.approx(50.0)


def test_a_site_is_checked_by_itself(cli: Callable[..., Any], ponds: Path) -> None:
    assert cli("check", ponds, "site.toml").code == 2


def test_check_of_a_site(cli: Callable[..., Any], ponds: Path) -> None:
    site = ponds.with_name("site.toml")
    site.write_text(
        'title = "Ponds"\npacks = []\n[measure]\nbuffer_ft = 100\n'
        '[layers.parcels]\npath = "ponds.gpkg"\nid = "NO"\n',
        encoding="utf-8",
    )
    ran = cli("check", site)
    assert ran.code == 0
    assert ran.out.startswith("Ponds: measured in EPSG:2260")


def test_check_of_what_is_not_there(cli: Callable[..., Any], tmp_path: Path) -> None:
    ran = cli("check", tmp_path / "nothing.gpkg")
    assert ran.code == 1


def test_convert_keeps_ids_and_says_what_was_shortened(
    cli: Callable[..., Any], tmp_path: Path
) -> None:
    path = tmp_path / "a.gpkg"
    frame = gpd.GeoDataFrame(
        {"PARCEL_NUMBER": ["007"]}, geometry=[box(0, 0, 100, 100)], crs="EPSG:2260"
    )
    frame.to_file(path)
    ran = cli("convert", path, tmp_path / "a.shp", "--id", "PARCEL_NUMBER")
    assert ran.code == 0
    assert ran.out.strip() == str(tmp_path / "a.shp")
    assert "the column PARCEL_NUMBER is called" in ran.err
    assert gpd.read_file(tmp_path / "a.shp")["id"].tolist() == ["007"]


def test_convert_brings_into_another_system(cli: Callable[..., Any], ponds: Path) -> None:
    out = ponds.with_name("ponds.geojson")
    assert cli("convert", ponds, out, "--id", "NO", "--crs", "EPSG:6537").code == 0
    assert gpd.read_file(out).crs.to_epsg() == 6537


@pytest.mark.parametrize(("distance", "feet"), [("100ft", 100.0), ("30m", 98.425)])
def test_buffer(cli: Callable[..., Any], ponds: Path, distance: str, feet: float) -> None:
    """A square's buffer has the area 4 s d + pi d^2 (Steiner)."""
    out = ponds.with_name("zone.gpkg")
    ran = cli("buffer", ponds, out, "--distance", distance, "--id", "NO")
    assert ran.code == 0, ran.err
    zone = gpd.read_file(out)
    expected = sum(4 * side * feet + np.pi * feet**2 for side in (100, 50))
    assert zone.area.sum() == pytest.approx(expected, rel=2e-4)
    assert zone["distance_ft"].iloc[0] == pytest.approx(feet)


@pytest.mark.parametrize("distance", ["0", "-5ft", "ft", "100furlongs"])
def test_a_distance_must_carry_its_unit(
    cli: Callable[..., Any], ponds: Path, distance: str
) -> None:
    out = ponds.with_name("zone.gpkg")
    assert cli("buffer", ponds, out, f"--distance={distance}").code == 2
    assert not out.exists()


def test_slope_of_a_plane(cli: Callable[..., Any], tmp_path: Path) -> None:
    """Rising 3 ft in 10 ft eastward: 30 percent, but for the unknown edge."""
    import rasterio

    heights = np.tile(np.arange(8) * 3.0, (6, 1))
    path = tmp_path / "dem.tif"
    profile = {
        "driver": "GTiff", "width": 8, "height": 6, "count": 1, "dtype": "float64",
        "crs": "EPSG:2260", "transform": rasterio.Affine(10, 0, CORNER[0], 0, -10, CORNER[1]),
    }  # fmt: skip
    with rasterio.open(path, "w", **profile) as file:
        file.write(heights, 1)
    ran = cli("slope", path, tmp_path / "slope.tif", "--z-unit", "us-ft")
    assert ran.code == 0, ran.err
    with rasterio.open(tmp_path / "slope.tif") as file:
        slope = file.read(1, masked=True)
    assert slope[1:-1, 1:-1].filled(-1) == pytest.approx(30.0)
    assert slope.mask[0].all() or np.isnan(slope.data[0]).all()


def test_slope_needs_a_unit(cli: Callable[..., Any], tmp_path: Path) -> None:
    import rasterio

    path = tmp_path / "dem.tif"
    profile = {
        "driver": "GTiff", "width": 4, "height": 4, "count": 1, "dtype": "float32",
        "crs": "EPSG:2260", "transform": rasterio.Affine(10, 0, CORNER[0], 0, -10, CORNER[1]),
    }  # fmt: skip
    with rasterio.open(path, "w", **profile) as file:
        file.write(np.zeros((4, 4), "float32"), 1)
    ran = cli("slope", path, tmp_path / "slope.tif")
    assert ran.code == 1
    assert "z_unit" in ran.err
    assert not (tmp_path / "slope.tif").exists()


def test_inputs_are_left_alone(cli: Callable[..., Any], ponds: Path, tmp_path: Path) -> None:
    before = ponds.read_bytes()
    there = sorted(p.name for p in tmp_path.iterdir())
    cli("check", ponds)
    assert ponds.read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == there
    assert len(wetgis.read_layer(ponds)) == 2


def test_index_says_what_it_made(cli: Callable[..., Any], torn: Path) -> None:
    ran = cli("index", torn, "--id", "NO", "--crs", "EPSG:2260")
    assert ran.code == 3  # one record has no geometry
    assert ran.out.strip() == f"{torn}.wetgis-index"
    assert "2 parcels (1 without a usable geometry) in EPSG:2260" in ran.err
    assert "MB, written in" in ran.err
    assert "uses it by itself" in ran.err
    site = torn.with_name("site.toml")
    keys = f'crs = "EPSG:2260"\n[layers.parcels]\npath = "{torn.name}"\nid = "NO"\n'
    site.write_text(keys)
    ran = cli("assess", site, "1")
    assert "index_misfit" not in ran.err
    assert "1" in ran.out
    # a site that reads the file otherwise makes it anew, and says so
    site.write_text(keys + "accuracy_ft = 5\n")
    assert "index_misfit" in cli("assess", site, "1").err
    assert "index_misfit" not in cli("assess", site, "1").err
    assert cli("index", site).code == 3
    assert cli("index", site, "--id", "NO").code == 2
    assert cli("index", torn.with_name("none.gpkg")).code == 1
