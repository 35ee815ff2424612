"""Digests, versions and canonical JSON."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import math
from pathlib import Path

import numpy as np
import pyproj
import pytest
import shapely

from wetgis.provenance import SourceRecord, canonical_json, plain, sha256, versions


def test_the_digest_of_a_file_is_its_own(tmp_path: Path) -> None:
    file = tmp_path / "a.gpkg"
    file.write_bytes(b"x" * 3_000_000)
    assert sha256(file) == hashlib.sha256(b"x" * 3_000_000).hexdigest()


def test_a_shapefiles_digest_covers_its_attributes(tmp_path: Path) -> None:
    for ending in (".shp", ".shx", ".dbf", ".prj", ".sbn"):
        (tmp_path / f"a{ending}").write_bytes(ending.encode())
    (tmp_path / "ab.dbf").write_bytes(b"another")
    first = sha256(tmp_path / "a.shp")
    (tmp_path / "a.sbn").write_bytes(b"an index")
    assert sha256(tmp_path / "a.shp") == first
    (tmp_path / "a.dbf").write_bytes(b"edited")
    assert sha256(tmp_path / "a.shp") != first
    (tmp_path / "a.dbf").write_bytes(b".dbf")
    assert sha256(tmp_path / "a.shp") == first


def test_a_folders_digest_knows_names_and_not_locks(tmp_path: Path) -> None:
    folder = tmp_path / "x.gdb"
    folder.mkdir()
    (folder / "a").write_bytes(b"1")
    first = sha256(folder)
    (folder / "x.lock").write_bytes(b"")
    assert sha256(folder) == first
    (folder / "a").rename(folder / "b")
    assert sha256(folder) != first


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": [True, None, "é"]}, '{"a":[true,null,"é"],"b":1}'),
        ({"x": 1e21, "y": 1e-7, "z": 0.1 + 0.2}, '{"x":1e+21,"y":1e-7,"z":0.30000000000000004}'),
        ({"n": math.nan, "i": math.inf}, '{"i":null,"n":null}'),
        ((1.0, -0.0, 100.5), "[1,0,100.5]"),
        ({"d": dt.date(2026, 11, 30), "p": Path("a/b")}, '{"d":"2026-11-30","p":"a/b"}'),
        ({"f": np.float64(2.5), "k": np.int64(7)}, '{"f":2.5,"k":7}'),
        ({"big": 2**60}, '{"big":"1152921504606846976"}'),
        ({"€": 1, "\r": 2, "1": 3}, '{"\\r":2,"1":3,"€":1}'),
    ],
)
def test_canonical_json(value: object, text: str) -> None:
    assert canonical_json(value) == text
    assert json.loads(text) is not None


def test_plain_is_json() -> None:
    record = SourceRecord("a.gpkg", layer="x", bounds=(0.0, 1.0, 2.0, math.nan))
    assert json.loads(json.dumps(plain({"r": record})))["r"]["bounds"] == [0, 1, 2, None]
    assert record.label == "a.gpkg:x"
    assert SourceRecord("data/b.shp").label == "b.shp"


def test_versions_name_every_library_loaded() -> None:
    found = versions()
    assert found["shapely.geos"] == shapely.geos_version_string
    assert found["pyproj.proj"] == pyproj.proj_version_str
    assert {"python", "wetgis", "pyogrio.gdal", "rasterio.gdal", "rasterio.proj"} <= set(found)
