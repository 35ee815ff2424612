"""The GeoPackage, with any reader and in QGIS."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import geopandas as gpd
import numpy as np
import pandas as pd
import pyogrio
import pytest
import shapely

from wetgis.errors import OutputError
from wetgis.outputs import palette, qml
from wetgis.outputs.geopackage import write_geopackage

sys.path.insert(0, str(Path(__file__).parent))
standin = importlib.import_module("outputs_standin")

LAYERS = {
    "parcels", "footprints", "projects", "parts", "contacts", "buffer", "wetlands", "watercourses",
    "findings", "issues",
}  # fmt: skip


@pytest.fixture(scope="module")
def result() -> SimpleNamespace:
    return standin.town(120, hostile=True)


@pytest.fixture(scope="module")
def written(result: SimpleNamespace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("gpkg") / "screening.gpkg"
    write_geopackage(result, path)
    return path


def names(path: Path) -> set[str]:
    return {name for name, _ in pyogrio.list_layers(path)}


def styles(path: Path) -> dict[str, str]:
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
        rows = connection.execute("SELECT f_table_name, styleQML, useAsDefault FROM layer_styles")
        return {name: text for name, text, default in rows if default == 1}


def test_it_has_the_contracts_layers(written: Path) -> None:
    assert names(written) >= LAYERS
    assert list(written.parent.iterdir()) == [written]


def test_the_measures_are_there_and_infinity_is_not(result: SimpleNamespace, written: Path) -> None:
    parcels = pyogrio.read_dataframe(written, layer="parcels")
    theirs = result.measures[result.measures["subject_kind"] == "parcel"]
    assert len(parcels) == len(theirs)
    assert parcels["indicator_ft"].isna().all()
    assert set(parcels["subject_id"]) == set(theirs["subject_id"])
    assert standin.HOSTILE in set(parcels["subject_id"])
    assert parcels["wetland_sqft"].sum() == pytest.approx(theirs["wetland_sqft"].sum(), abs=1e-6)
    assert parcels.crs == theirs.crs
    contacts = pyogrio.read_dataframe(written, layer="contacts")
    assert contacts.geometry.isna().sum() == (result.contacts["distance_ft"] == 0).sum()


def test_every_style_is_one_that_its_layer_can_wear(written: Path) -> None:
    found = styles(written)
    assert set(found) >= LAYERS - {"findings", "issues"}
    for text in found.values():
        root = ElementTree.fromstring(text)
        for symbol in root.iter("symbol"):
            for layer in symbol.findall("layer"):
                for prop in layer.findall("prop"):
                    assert prop.get("v") is not None
    statuses = [c.get("value") for c in ElementTree.fromstring(found["parcels"]).iter("category")]
    assert statuses == list(palette.STATUS_COLOURS)


def test_not_met_stays_out_unless_asked_for(
    result: SimpleNamespace, written: Path, tmp_path: Path
) -> None:
    write_geopackage(result, tmp_path / "all.gpkg", all_findings=True)
    some = pyogrio.read_dataframe(written, layer="findings")
    everything = pyogrio.read_dataframe(tmp_path / "all.gpkg", layer="findings")
    assert len(everything) == len(result.findings) > len(some) > 0
    assert set(some["outcome"]) == {"met", "undetermined"}


def mixed_waters(result: SimpleNamespace) -> SimpleNamespace:
    made = SimpleNamespace(**vars(result))
    x, y = standin.ORIGIN
    waters = gpd.GeoDataFrame(
        {"id": ["a", "b", "c"], "FID": [7, 8, 9], "geom": "text", "Fid": 1},
        geometry=[
            shapely.box(x, y, x + 200, y + 200),
            shapely.LineString([(x + 300, y), (x + 800, y + 700)]),
            None,
        ],
        crs=standin.CRS,
    )
    made.layers = {**result.layers, "watercourses": waters}
    return made


def test_a_layer_of_areas_and_lines_keeps_every_row(
    result: SimpleNamespace, tmp_path: Path
) -> None:
    write_geopackage(mixed_waters(result), tmp_path / "m.gpkg")
    waters = pyogrio.read_dataframe(tmp_path / "m.gpkg", layer="watercourses")
    assert list(waters["id"]) == ["a", "b", "c"]
    assert list(waters.geom_type[:2]) == ["Polygon", "LineString"]
    assert set(waters.columns) == {"id", "FID_", "geom_", "Fid__", "geometry"}
    root = ElementTree.fromstring(styles(tmp_path / "m.gpkg")["watercourses"])
    assert root.find("layerGeometryType") is None  # it fits every kind
    filters = [rule.get("filter", "") for rule in root.iter("rule") if rule.get("filter")]
    assert len(filters) == 2


def test_what_an_overlay_leaves_beside_an_area_is_left_out(
    result: SimpleNamespace, tmp_path: Path
) -> None:
    some = SimpleNamespace(**vars(result))
    parts = result.parts.copy()
    left = shapely.GeometryCollection([parts.geometry.iloc[0], shapely.Point(0, 0)])
    parts.loc[parts.index[0], "geometry"] = left
    some.parts = parts
    write_geopackage(some, tmp_path / "c.gpkg")  # without GDAL's warning of a wrong type
    read = pyogrio.read_dataframe(tmp_path / "c.gpkg", layer="parts")
    assert set(read.geom_type.dropna()) == {"MultiPolygon"}
    assert read.area.sum() == pytest.approx(result.parts.area.sum(), rel=1e-12)
    assert len(read) == len(parts)


def test_text_stays_text_in_a_style() -> None:
    style = palette.LayerStyle("\"><x/> & '", "#000000", "#ffffff")
    root = ElementTree.fromstring(qml.categories("a'b", {'<&"': style}, "fill"))
    category = next(root.iter("category"))
    assert category.get("value") == '<&"'
    assert category.get("label") == style.label


def test_a_failed_write_leaves_the_old_file(
    result: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "screening.gpkg"
    path.write_bytes(b"old")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("wetgis.outputs.geopackage._write_styles", full)
    with pytest.raises(OutputError, match="No space left"):
        write_geopackage(result, path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


SCRIPT = """
import json, os, sys
from qgis.core import (Qgis, QgsApplication, QgsCoordinateTransformContext,
                       QgsMapRendererParallelJob, QgsMapSettings, QgsProviderRegistry,
                       QgsProviderSublayerDetails, QgsRectangle)
from qgis.PyQt.QtCore import QSize
from qgis.PyQt.QtGui import QColor
app = QgsApplication([], False)
app.initQgis()
path, picture, names = sys.argv[1], sys.argv[2], sys.argv[3].split(",")
layers, told = [], {}
# as the program itself adds a file: a layer a kind of geometry
ogr = QgsProviderRegistry.instance().providerMetadata("ogr")
found = ogr.querySublayers(path, Qgis.SublayerQueryFlag.ResolveGeometryType)
options = QgsProviderSublayerDetails.LayerOptions(QgsCoordinateTransformContext())
for name in names:
    for part in [p for p in found if p.name() == name]:
        layer = part.toLayer(options)
        renderer = layer.renderer()
        kind = renderer.type() if renderer else ""
        told[name + str(layer.geometryType())] = {
            "valid": layer.isValid(),
            "features": layer.featureCount(),
            "renderer": kind,
            "labels": [c.label() for c in renderer.categories()] if kind[:4] == "cate" else [],
            "colour": renderer.symbol().color().name() if kind[:4] == "sing" else "",
        }
        layers.append(layer)
settings = QgsMapSettings()
settings.setLayers(layers)
settings.setDestinationCrs(layers[0].crs())
settings.setOutputSize(QSize(900, 700))
settings.setBackgroundColor(QColor("white"))
extent = QgsRectangle()
for layer in layers:
    extent.combineExtentWith(layer.extent())
settings.setExtent(extent)
job = QgsMapRendererParallelJob(settings)
job.start()
job.waitForFinished()
job.renderedImage().save(picture)
print(json.dumps(told), flush=True)
os._exit(0)
"""


def in_qgis(path: Path, picture: Path, names: list[str]) -> dict[str, dict[str, object]]:
    python = "/usr/bin/python3"
    if shutil.which("qgis") is None or not Path(python).exists():
        pytest.skip("QGIS is not installed (Debian: apt-get install qgis python3-qgis)")
    foreign = ("PYTHON", "PROJ", "GDAL")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(foreign)}
    home = str(picture.parent)
    environment |= {"QT_QPA_PLATFORM": "offscreen", "HOME": home, "XDG_RUNTIME_DIR": home}
    done = subprocess.run(
        [python, "-c", SCRIPT, str(path), str(picture), ",".join(names)],
        env=environment, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    if "No module named 'qgis'" in done.stderr:
        pytest.skip("QGIS has no Python (Debian: apt-get install python3-qgis)")
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


@pytest.mark.qgis
def test_qgis_opens_it_styled(written: Path, tmp_path: Path) -> None:
    order = ["footprints", "watercourses", "wetlands", "buffer", "parcels", "parts"]
    told = in_qgis(written, tmp_path / "map.png", order)
    assert set(told) == {f"{name}2" for name in order}
    assert all(layer["valid"] and layer["features"] for layer in told.values())
    assert told["parcels2"]["renderer"] == told["parts2"]["renderer"] == "categorizedSymbol"
    assert "On a wetland or watercourse" in told["parcels2"]["labels"]  # type: ignore[operator]
    assert told["wetlands2"]["colour"] == palette.LAYER_STYLES["wetlands"].fill
    shares = _shares(tmp_path / "map.png")
    for colour in (
        palette.STATUS_COLOURS["on_feature"],
        palette.STATUS_COLOURS["none_found"],
        palette.LAYER_STYLES["wetlands"].fill,
        palette.LAYER_STYLES["watercourses"].fill,
    ):
        assert shares.get(colour, 0) > 0.002, colour


@pytest.mark.qgis
def test_qgis_styles_each_kind_of_a_mixed_layer(result: SimpleNamespace, tmp_path: Path) -> None:
    write_geopackage(mixed_waters(result), tmp_path / "m.gpkg")
    told = in_qgis(tmp_path / "m.gpkg", tmp_path / "map.png", ["watercourses"])
    assert {name: layer["renderer"] for name, layer in told.items()} == {
        "watercourses1": "RuleRenderer",
        "watercourses2": "RuleRenderer",
    }
    style = palette.LAYER_STYLES["watercourses"]
    assert _shares(tmp_path / "map.png").get(style.fill, 0) > 0.01
    # the right half holds nothing but the line, its edges softened
    pixels = _pixels(tmp_path / "map.png")[:, 450:].reshape(-1, 3)
    line = [int(style.line[i : i + 2], 16) for i in (1, 3, 5)]
    assert (np.abs(pixels - line).max(axis=1) < 60).sum() > 50


def _pixels(path: Path) -> np.ndarray:
    from matplotlib import image

    return (image.imread(path)[..., :3] * 255).round().astype(int)


def _shares(path: Path) -> dict[str, float]:
    """The share of the picture that each colour has."""
    pixels = _pixels(path).reshape(-1, 3)
    values, counts = np.unique(pixels, axis=0, return_counts=True)
    return dict(
        zip((f"#{r:02x}{g:02x}{b:02x}" for r, g, b in values), counts / len(pixels), strict=True)
    )


def test_a_screening_without_anything_is_a_file(tmp_path: Path, result: SimpleNamespace) -> None:
    empty = SimpleNamespace(**vars(result))
    for name in ("measures", "findings", "contacts", "parts", "issues"):
        setattr(empty, name, getattr(result, name).iloc[:0])
    empty.layers = {}
    write_geopackage(empty, tmp_path / "e.gpkg")
    assert names(tmp_path / "e.gpkg") >= LAYERS
    assert isinstance(pyogrio.read_dataframe(tmp_path / "e.gpkg", layer="findings"), pd.DataFrame)
