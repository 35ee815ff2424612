"""What ``wetgis check`` finds, and the repaired copy."""

from __future__ import annotations

import json
from pathlib import Path

import geopandas as gpd
import numpy as np
import pytest
import rasterio
import shapely
from rasterio.transform import from_origin
from tests.conftest import RYE, boxes

import wetgis
from wetgis.check import LAYER_COLUMNS, check_files, check_site, write_repaired
from wetgis.errors import UsageError


def bowtie() -> gpd.GeoDataFrame:
    x, y = RYE
    ring = [(x, y), (x + 60, y + 80), (x + 60, y), (x, y + 80)]
    geoms = [shapely.Polygon(ring), shapely.box(x, y, x + 10, y + 10), None]
    return gpd.GeoDataFrame({"KEY": ["B", "S", "N"], "n": [1, 2, 3]}, geometry=geoms, crs=2260)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    bowtie().to_file(tmp_path / "wet.gpkg", layer="wet")
    boxes((0, 0, 100, 100), (0, 0, 100, 100)).to_crs(5070).to_file(tmp_path / "lots.gpkg")
    return tmp_path


def test_a_file_is_described(folder: Path) -> None:
    report = check_files([folder / "wet.gpkg"], id="KEY")
    (row,) = report.layers.to_dict("records")
    assert list(report.layers.columns) == list(LAYER_COLUMNS)
    assert (row["features"], row["usable"], row["geometry"]) == (3, 2, "polygons")
    assert (row["crs"], row["fit_to_measure"]) == ("EPSG:2260", True)
    assert {"repaired", "null_geometry"} <= set(report.issues["code"])
    assert report.exit_code == 3
    text = report.text()
    assert "3 features, polygons; 1 without a usable geometry" in text
    assert "fit to measure in" in text
    assert "error null_geometry" in text
    assert json.loads(json.dumps(report.as_json()))["exit_code"] == 3


def test_a_crs_that_must_not_be_measured_in_is_said(folder: Path) -> None:
    report = check_files([folder / "lots.gpkg"])
    (row,) = report.layers.to_dict("records")
    assert not row["fit_to_measure"]
    assert "5070" in row["unfit_because"]
    assert row["repeated_ids"] in (0, 1)


def test_a_file_that_cannot_be_read_does_not_hide_the_next(folder: Path) -> None:
    (folder / "broken.gpkg").write_bytes(b"no database")
    report = check_files([folder / "no.gpkg", folder / "broken.gpkg", folder / "wet.gpkg"])
    assert len(report.errors) == 2
    assert len(report.layers) == 1
    assert report.exit_code == 1
    assert "ERROR" in report.text()


def test_every_layer_of_a_file(folder: Path) -> None:
    boxes((0, 0, 1, 1)).to_file(folder / "two.gpkg", layer="a")
    boxes((0, 0, 1, 1)).to_file(folder / "two.gpkg", layer="b")
    assert list(check_files([folder / "two.gpkg"]).layers["layer"]) == ["a", "b"]
    assert list(check_files([folder / "two.gpkg"], layer="b").layers["layer"]) == ["b"]


def test_a_raster(folder: Path) -> None:
    options = {"driver": "GTiff", "count": 1, "dtype": "float32", "crs": "EPSG:2260"}
    place = from_origin(*RYE, 10, 10)
    with rasterio.open(folder / "dem.tif", "w", width=4, height=3, transform=place, **options) as d:
        d.write(np.zeros((1, 3, 4), "float32"))
    text = check_files([folder / "dem.tif"]).text()
    assert "raster of 4 x 3 cells" in text
    assert "z_unit" in text
    (folder / "bad.tif").write_text("no raster")
    assert check_files([folder / "bad.tif"]).exit_code == 1


SITE = 'packs = ["rye-ny-195"]\ntitle = "Brook"\n[layers.parcels]\npath = "lots.gpkg"\n'


def test_a_site_is_described(folder: Path) -> None:
    path = folder / "site.toml"
    path.write_text(SITE + '[layers.wetlands]\npath = "wet.gpkg"\nid = "KEY"\n')
    report = check_site(path)
    assert list(report.layers["kind"]) == ["parcels", "wetlands"]
    text = report.text()
    assert text.startswith("Brook: measured in EPSG:2260, rye-ny-195, as of ")
    assert "buffer 100 ft" in text
    assert report.exit_code == 3
    assert wetgis.read_site(path).title == "Brook"


def test_each_mistake_of_a_site_is_named(folder: Path) -> None:
    path = folder / "site.toml"
    path.write_text(
        SITE
        + '[layers.wetlands]\npath = "no.gpkg"\n[layers.soils]\npath = "lots.gpkg"\nlayer = "x"\n'
        + '[layers.dem]\npath = "no.tif"\n'
    )
    report = check_site(path)
    assert report.exit_code == 1
    assert len(report.errors) == 3
    for word in ("no.gpkg", "no.tif"):
        assert any(word in error for error in report.errors)


def test_a_site_with_an_unknown_key(folder: Path) -> None:
    path = folder / "site.toml"
    path.write_text("titel = 1\n" + SITE)
    (error,) = check_site(path).errors
    assert "did you mean 'title'" in error
    assert check_site(folder / "none.toml").exit_code == 1


def test_the_repaired_copy(folder: Path) -> None:
    out = folder / "fixed.gpkg"
    write_repaired([folder / "wet.gpkg"], out)
    frame = gpd.read_file(out)
    assert list(frame["KEY"]) == ["B", "S", "N"]
    assert list(frame["n"]) == [1, 2, 3]
    assert frame.geometry[:2].is_valid.all()
    assert frame.area[0] == pytest.approx(2400)
    assert "id" not in frame.columns  # it was made, so it is not part of the data
    assert frame.crs.to_epsg() == 2260


def test_the_repaired_copy_of_several(folder: Path) -> None:
    out = folder / "fixed.gpkg"
    names = write_repaired([folder / "wet.gpkg", folder / "lots.gpkg"], out)
    assert names == ["wet", "lots"]
    assert set(gpd.list_layers(out)["name"]) == {"wet", "lots"}
    with pytest.raises(UsageError, match="do not fit"):
        write_repaired([folder / "wet.gpkg", folder / "lots.gpkg"], folder / "fixed.geojson")
    with pytest.raises(UsageError, match="is an input"):
        write_repaired([folder / "wet.gpkg"], folder / "wet.gpkg")
