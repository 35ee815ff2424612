"""What cannot be used is refused with what was found, needed and how to mend it; or it is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import geopandas as gpd
import pandas as pd
import pytest
import shapely
from tests.engine_makers import RYE, box, frame
from tests.terrain_makers import plane

import wetgis
from wetgis.errors import CrsError, InputError, SiteError, WetgisError

LOT, MARSH = [box(0, 0, 200, 200)], [box(150, 0, 400, 200)]
PLAIN = """
title = "Two lots"
packs = []
crs = "EPSG:2260"
[measure]
buffer_ft = 100
steep_pct = 30
[layers.parcels]
path = "parcels.gpkg"
id = "PIN"
[layers.wetlands]
path = "wetlands.gpkg"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A site that can be screened; each test spoils it."""
    frame(LOT).rename(columns={"id": "PIN"}).to_file(tmp_path / "parcels.gpkg", layer="parcels")
    frame(MARSH).to_file(tmp_path / "wetlands.gpkg", layer="wetlands")
    (tmp_path / "site.toml").write_text(PLAIN)
    return tmp_path


def changed(folder: Path, old: str, new: str) -> Path:
    path = folder / "site.toml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    return path


def said(path: Path, error: type[WetgisError], *words: str) -> str:
    with pytest.raises(error) as caught:
        wetgis.screen(wetgis.read_site(path))
    text = str(caught.value)
    for word in words:
        assert word in text, text
    return text


def screened(path: Path) -> wetgis.Screening:
    return wetgis.screen(wetgis.read_site(path))


def codes(found: wetgis.Screening, layer: str = "") -> set[str]:
    table = found.issues
    return set(table.loc[(table["layer"] == layer) | (layer == ""), "code"])


def test_the_site_before_it_is_spoilt(folder: Path) -> None:
    row = screened(folder / "site.toml").measures.iloc[0]
    assert row["wetland_sqft"] == pytest.approx(10_000, abs=1e-6)


def test_a_file_that_is_not_there(folder: Path) -> None:
    said(changed(folder, "wetlands.gpkg", "wetland.gpkg"), InputError, "wetland.gpkg", "wetlands")
    said(folder / "sight.toml", SiteError, "sight.toml")


def test_a_layer_that_is_not_in_the_file(folder: Path) -> None:
    path = folder / "wetlands.gpkg"
    frame(MARSH).to_file(path, layer="pools")
    site = changed(folder, 'path = "wetlands.gpkg"', 'path = "wetlands.gpkg"\nlayer = "ponds"')
    said(site, InputError, "ponds", "wetlands", "pools")
    # of two the one that is named as its kind is read, and that is told
    found = screened(changed(folder, '\nlayer = "ponds"', ""))
    assert "several_layers" in codes(found, "wetlands")


def test_two_layers_of_other_names(folder: Path) -> None:
    path = folder / "wetlands.gpkg"
    path.unlink()
    for name in ("y1995", "y2024"):
        frame(MARSH).to_file(path, layer=name)
    said(folder / "site.toml", InputError, "y1995", "y2024", "layer")


@pytest.mark.filterwarnings("ignore:'crs' was not provided")
def test_no_crs(folder: Path) -> None:
    frame(MARSH, crs=None).to_file(folder / "wetlands.gpkg", layer="wetlands")
    text = said(folder / "site.toml", CrsError, "source_crs")
    assert "EPSG:2260" in text
    site = changed(folder, 'path = "wetlands.gpkg"',
                   'path = "wetlands.gpkg"\nsource_crs = "EPSG:2260"')  # fmt: skip
    assert screened(site).measures["wetland_sqft"].iloc[0] == pytest.approx(10_000, abs=1e-6)


def test_a_crs_that_the_numbers_contradict(folder: Path) -> None:
    wrong = frame(MARSH).set_crs("EPSG:4326", allow_override=True)
    wrong.to_file(folder / "wetlands.gpkg", layer="wetlands")
    said(folder / "site.toml", CrsError, "EPSG:4326", "source_crs")


def test_a_key_that_is_not_known(folder: Path) -> None:
    site = changed(folder, 'id = "PIN"', 'id = "PIN"\nacuracy_ft = 5')
    said(site, SiteError, "acuracy_ft", "accuracy_ft")
    site = changed(folder, "\nacuracy_ft = 5", "")
    said(changed(folder, "[measure]", "[mesure]"), SiteError, "mesure", "measure")


def test_a_column_that_is_not_there(folder: Path) -> None:
    said(changed(folder, '"PIN"', '"PINS"'), InputError, "PINS", "PIN")


@pytest.mark.parametrize("rule", ["keep", "unite", "error"])
def test_an_id_that_occurs_twice(folder: Path, rule: str) -> None:
    lots = frame([*LOT, box(500, 0, 600, 100), box(900, 0, 950, 50)], id=["1", "1", "2"])
    lots.rename(columns={"id": "PIN"}).to_file(folder / "parcels.gpkg", layer="parcels")
    site = changed(folder, 'id = "PIN"', f'id = "PIN"\nduplicates = "{rule}"')
    if rule == "error":
        said(site, InputError, "1", "duplicates")
        return
    found = screened(site)
    count = {"keep": 3, "unite": 2}[rule]
    assert len(found.measures) == count
    assert "duplicate_id" in codes(found, "parcels")


def test_a_layer_elsewhere_on_earth(folder: Path) -> None:
    far = frame(MARSH, at=(RYE[0], RYE[1] + 2_000_000), crs="EPSG:2261")
    far.to_file(folder / "wetlands.gpkg", layer="wetlands")
    said(folder / "site.toml", WetgisError, "wetlands", "miles")


def test_a_layer_beside_the_subjects(folder: Path) -> None:
    frame(MARSH, at=(RYE[0], RYE[1] + 9_000)).to_file(folder / "wetlands.gpkg", layer="wetlands")
    found = screened(folder / "site.toml")
    assert "no_overlap" in codes(found, "wetlands")
    assert found.measures["wetland_sqft"].tolist() == [0]


def test_a_layer_without_features(folder: Path) -> None:
    frame([]).to_file(folder / "wetlands.gpkg", layer="wetlands")
    found = screened(folder / "site.toml")
    assert "empty_layer" in codes(found, "wetlands")
    row = found.measures.iloc[0]
    assert row["wetland_sqft"] == 0
    assert row["wetland_ft"] == float("inf")


def test_a_raster_that_covers_half(folder: Path) -> None:
    plane(folder / "dem.tif", lambda x, y: 0.4 * x, shape=(40, 10), unit="US survey foot")
    text = (folder / "site.toml").read_text() + '[layers.dem]\npath = "dem.tif"\n'
    (folder / "site.toml").write_text(text)
    found = screened(folder / "site.toml")
    assert "partial_raster" in codes(found, "dem")
    row = found.measures.iloc[0]
    assert row["slope_unknown_sqft"] > 20_000
    assert 0 < row["steep_sqft"] < 20_000


def test_records_that_cannot_be_used_are_errors_and_the_rest_is_measured(folder: Path) -> None:
    bowtie = shapely.Polygon([(300, 0), (400, 100), (400, 0), (300, 100)])
    wet = frame([*MARSH, bowtie], id=["ok", "bow"])
    none: Any = gpd.GeoDataFrame({"id": ["null"]}, geometry=[None], crs=wet.crs)
    empty = gpd.GeoDataFrame({"id": ["empty"]}, geometry=[shapely.Polygon()], crs=wet.crs)
    table = gpd.GeoDataFrame(pd.concat([wet, none, empty]), crs=wet.crs)
    site = wetgis.Site.from_layers(
        parcels=frame(LOT), wetlands=table, packs=[], measure={"buffer_ft": 100}
    )
    found = wetgis.screen(site)
    told = found.issues[found.issues["layer"] == "wetlands"].set_index("record_id")
    assert told.loc["null", "severity"] == "error"
    assert told.loc["empty", "severity"] == "error"
    assert told.loc["bow", "code"] == "repaired"
    assert told.loc["bow", ["before_sqft", "after_sqft"]].notna().all()
    assert found.measures["wetland_sqft"].tolist() == pytest.approx([10_000], abs=1e-6)
