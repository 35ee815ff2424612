"""read_layer: formats, layers, coordinate systems, ids, and what a bad record does."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
import zipfile
from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely

import wetgis
from wetgis.errors import CrsError, InputError, SiteError, WetgisError
from wetgis.provenance import sha256
from wetgis.sources import load, read_layer

X, Y = 717_000.0, 783_000.0


def square(dx: float = 0, dy: float = 0, side: float = 100) -> Any:
    return shapely.box(X + dx, Y + dy, X + dx + side, Y + dy + side)


def codes(frame: gpd.GeoDataFrame, severity: str | None = None) -> list[str]:
    table = wetgis.issues(frame)
    if severity:
        table = table[table["severity"] == severity]
    return table["code"].tolist()


@pytest.fixture
def lots() -> gpd.GeoDataFrame:
    return gpd.GeoDataFrame(
        {"KEY": ["007", "008", "0x"], "ZONE_NO": pd.array([3, None, 7], dtype="Int32")},
        geometry=[square(), square(200), square(400, side=50)],
        crs=2260,
    )


def save(frame: gpd.GeoDataFrame, path: Path, **options: Any) -> Path:
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_file(path, **options)
    return path


# ---------------------------------------------------------------- formats


@pytest.mark.parametrize("ending", [".gpkg", ".shp", ".geojson", ".fgb", ".parquet", ".gdb"])
def test_every_format_gives_the_same_layer(
    lots: gpd.GeoDataFrame, tmp_path: Path, ending: str
) -> None:
    options = {"driver": "OpenFileGDB"} if ending == ".gdb" else {}
    path = save(lots, tmp_path / f"lots{ending}", **options)
    got = read_layer(path, "parcels", id="KEY").sort_values("id")
    assert got["id"].tolist() == ["007", "008", "0x"]
    assert got["ZONE_NO"].tolist()[0] == 3
    assert got["ZONE_NO"].isna().tolist() == [False, True, False]
    assert str(got["ZONE_NO"].dtype).startswith("Int")
    assert got.crs.to_epsg() == 2260
    # a file geodatabase keeps coordinates on a grid of a ten-thousandth
    assert got.area.tolist() == pytest.approx([10_000, 10_000, 2_500], rel=1e-6)
    assert got["record"].tolist() == [1, 1, 1]


def test_shapefiles_in_archives_wherever_they_lie(lots: gpd.GeoDataFrame, tmp_path: Path) -> None:
    save(lots, tmp_path / "lots.shp")
    for inside in ("", "folder/", "a folder/b/"):
        archive = tmp_path / f"lots{len(inside)}.zip"
        with zipfile.ZipFile(archive, "w") as z:
            for part in tmp_path.glob("lots.*"):
                if part.suffix != ".zip":
                    z.write(part, inside + part.name)
            z.writestr(inside + "readme.txt", "text")
            z.writestr("__MACOSX/._lots.shp", b"junk")
        got = read_layer(archive, "parcels", id="KEY")
        assert got["id"].tolist() == ["007", "008", "0x"]
        assert got.attrs["wetgis"]["source"]["sha256"] == sha256(archive)


def test_of_an_archive_with_several_layers_the_one_named_as_the_kind(
    lots: gpd.GeoDataFrame, tmp_path: Path
) -> None:
    with zipfile.ZipFile(tmp_path / "site.zip", "w") as z:
        for name in ("parcels", "Wetlands", "roads"):
            save(lots, tmp_path / f"{name}.shp")
            for part in tmp_path.glob(f"{name}.*"):
                z.write(part, f"site/{part.name}")
    got = read_layer(tmp_path / "site.zip", "wetlands")
    assert got.attrs["wetgis"]["source"]["layer"] == "Wetlands"
    assert "several_layers" in codes(got)
    with pytest.raises(InputError, match=r"parcels.*roads"):
        read_layer(tmp_path / "site.zip")
    assert len(read_layer(tmp_path / "site.zip", layer="roads")) == 3


def test_a_gdb_in_an_archive(lots: gpd.GeoDataFrame, tmp_path: Path) -> None:
    save(lots, tmp_path / "x.gdb", driver="OpenFileGDB", layer="lots")
    archive = shutil.make_archive(str(tmp_path / "x.gdb"), "zip", tmp_path, "x.gdb")
    got = read_layer(archive, "parcels", id="KEY")
    assert got["id"].tolist() == ["007", "008", "0x"]


def test_globs_and_lists_are_one_layer(lots: gpd.GeoDataFrame, tmp_path: Path) -> None:
    save(lots.iloc[:1], tmp_path / "a1.gpkg")
    save(lots.iloc[1:].to_crs(4326), tmp_path / "a2.gpkg")
    for path in (tmp_path / "a*.gpkg", [tmp_path / "a1.gpkg", tmp_path / "a2.gpkg"]):
        loaded = load(path, "parcels", {"id": "KEY"})
        assert loaded.frame["id"].tolist() == ["007", "008", "0x"]
        assert loaded.frame.crs.to_epsg() == 2260
        assert loaded.frame.index.tolist() == [0, 1, 2]
        assert len(loaded.sources) == len(loaded.operations) == 2
        assert loaded.frame["source"].tolist()[0] == "a1.gpkg:a1"
    with pytest.raises(InputError, match="no file matches"):
        read_layer(tmp_path / "b*.gpkg")
    with pytest.raises(InputError, match="empty"):
        read_layer([])


def test_a_glob_of_layer_names(lots: gpd.GeoDataFrame, tmp_path: Path) -> None:
    for name in ("WL_East", "WL_West", "other"):
        save(lots, tmp_path / "w.gpkg", layer=name)
    assert len(read_layer(tmp_path / "w.gpkg", "wetlands", layer="WL_*")) == 6


def test_missing_and_unreadable_files_say_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "parcels.gpkg").write_bytes(b"not a database at all, but long enough to look at")
    (tmp_path / "empty.shp").write_bytes(b"")
    (tmp_path / "page.zip").write_text("<html>404</html>")
    (tmp_path / "dem.tif").write_bytes(b"II*\0")
    with pytest.raises(InputError, match=r"parcels\.gpkg"):
        read_layer(tmp_path / "parcel.gpkg")
    with pytest.raises(InputError, match="cannot be opened"):
        read_layer(tmp_path / "parcels.gpkg")
    with pytest.raises(InputError, match="0 bytes"):
        read_layer(tmp_path / "empty.shp")
    with pytest.raises(InputError, match="not a zip"):
        read_layer(tmp_path / "page.zip")
    with pytest.raises(InputError, match="dem"):
        read_layer(tmp_path / "dem.tif")
    (tmp_path / "sub").mkdir()
    with pytest.raises(InputError, match="no vector data"):
        read_layer(tmp_path / "sub")
    with pytest.raises(InputError, match="download"):
        read_layer("https://example.org/parcels.geojson")


def test_a_zip_that_would_burst_is_refused(tmp_path: Path, monkeypatch: Any) -> None:
    from wetgis.sources import containers

    monkeypatch.setattr(containers, "MAX_UNPACKED", 1000)
    with zipfile.ZipFile(tmp_path / "b.zip", "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr("a.shp", b"0" * 5000)
    with pytest.raises(InputError, match="beyond"):
        read_layer(tmp_path / "b.zip")


def test_names_that_climb_out_of_an_archive_are_left_alone(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as z:
        z.writestr("../evil.geojson", "{}")
        z.writestr("/evil.geojson", "{}")
    with pytest.raises(InputError, match="no vector data"):
        read_layer(tmp_path / "b.zip")
    assert not (tmp_path.parent / "evil.geojson").exists()


def test_input_folders_are_never_written_to(lots: gpd.GeoDataFrame, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    save(lots, folder / "a.shp")
    (folder / "a.shx").unlink()
    save(lots, folder / "b.gpkg")
    db = sqlite3.connect(folder / "b.gpkg")
    db.execute("PRAGMA journal_mode=WAL")
    db.close()
    before = {p.name: (p.stat().st_mtime_ns, p.read_bytes()) for p in folder.iterdir()}
    assert read_layer(folder / "a.shp", "parcels", id="KEY").area.sum() == 22_500
    assert read_layer(folder / "b.gpkg", "parcels", id="KEY").area.sum() == 22_500
    after = {p.name: (p.stat().st_mtime_ns, p.read_bytes()) for p in folder.iterdir()}
    assert before == after


def test_text_in_the_wrong_encoding_is_read(lots: gpd.GeoDataFrame, tmp_path: Path) -> None:
    lots["NAME"] = ["Étang", "Größe", "x"]
    save(lots, tmp_path / "a.shp", encoding="CP1252")
    (tmp_path / "a.cpg").write_text("UTF-8")
    assert read_layer(tmp_path / "a.shp")["NAME"].tolist()[2] == "x"
    (tmp_path / "a.cpg").unlink()
    assert read_layer(tmp_path / "a.shp")["NAME"].tolist() == ["Étang", "Größe", "x"]


def test_a_flatgeobuf_with_records_without_geometry(lots: gpd.GeoDataFrame, tmp_path: Path) -> None:
    lots.loc[1, "geometry"] = None
    save(lots, tmp_path / "a.fgb", SPATIAL_INDEX="NO")
    got = read_layer(tmp_path / "a.fgb", "parcels", id="KEY")
    assert got["id"].tolist() == ["007", "008", "0x"]
    assert got.geometry.isna().tolist() == [False, True, False]
    assert got["ZONE_NO"].isna().tolist() == [False, True, False]


def test_a_file_that_is_cut_off_says_what_it_lost(lots: gpd.GeoDataFrame, tmp_path: Path) -> None:
    for ending, cut in ((".fgb", 60), (".shp", 30)):
        path = save(lots, tmp_path / f"a{ending}")
        path.write_bytes(path.read_bytes()[:-cut])
        got = read_layer(path, "parcels", id="KEY")
        assert got.attrs["wetgis"]["counts"]["usable"] < 3
        assert len(codes(got, "error")) == 1
    for ending in (".gpkg", ".parquet", ".geojson"):
        path = save(lots, tmp_path / f"a{ending}")
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        with pytest.raises(InputError):
            read_layer(path)


def test_what_is_no_path_and_no_frame(lots: gpd.GeoDataFrame) -> None:
    assert len(read_layer(lots.geometry, "parcels")) == 3
    for wrong in (None, 5, pd.DataFrame({"a": [1]}), b"a.shp"):
        with pytest.raises(InputError, match="cannot be read as a layer"):
            read_layer(wrong)


def topojson(quantised: bool) -> dict[str, Any]:
    ring = [[-73.69, 40.96], [-73.68, 40.96], [-73.68, 40.97], [-73.69, 40.97], [-73.69, 40.96]]
    topology: dict[str, Any] = {
        "type": "Topology",
        "objects": {"ponds": {"type": "GeometryCollection", "geometries": [
            {"type": "Polygon", "arcs": [[0]], "properties": {"NO": "07", "N": 1}},
            {"type": None, "properties": {"NO": "08", "N": 2}},
        ]}},
        "arcs": [ring],
    }  # fmt: skip
    if quantised:
        topology["transform"] = {"scale": [0.01, 0.01], "translate": [-73.69, 40.96]}
        topology["arcs"] = [[[0, 0], [1, 0], [0, 1], [-1, 0], [0, -1]]]
    return topology


@pytest.mark.parametrize("quantised", [False, True])
def test_topojson(tmp_path: Path, quantised: bool) -> None:
    path = tmp_path / "ponds.topojson"
    path.write_text(json.dumps(topology := topojson(quantised)))
    assert topology["type"] == "Topology"
    with pytest.raises(CrsError, match="EPSG:4326"):
        read_layer(path, "wetlands")
    got = read_layer(path, "wetlands", id="NO", source_crs="EPSG:4326", where="N = 1")
    truth = gpd.GeoSeries([shapely.box(-73.69, 40.96, -73.68, 40.97)], crs=4326).to_crs(got.crs)
    assert got["id"].tolist() == ["07"]
    assert got.area.iloc[0] == pytest.approx(truth.area.iloc[0], rel=1e-9)
    assert "assumed_crs" in codes(got)


def test_geoparquet_says_its_crs_in_three_ways(lots: gpd.GeoDataFrame, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    degrees = lots.to_crs(4326)
    path = save(degrees, tmp_path / "a.parquet")
    table = pq.read_table(path)
    for crs, works in (("absent", True), (None, False)):
        meta = json.loads(table.schema.metadata[b"geo"])
        meta["columns"]["geometry"].pop("crs", None)
        if crs is None:
            meta["columns"]["geometry"]["crs"] = None
        pq.write_table(
            table.replace_schema_metadata({b"geo": json.dumps(meta).encode()}),
            tmp_path / f"{crs}.parquet",
        )
        if works:
            got = read_layer(tmp_path / f"{crs}.parquet", "parcels", id="KEY", like=lots)
            assert got.area.sum() == pytest.approx(22_500, rel=1e-6)
        else:
            with pytest.raises(CrsError, match="no coordinate system"):
                read_layer(tmp_path / f"{crs}.parquet", "parcels")
    pd.DataFrame({"a": [1]}).to_parquet(tmp_path / "plain.parquet")
    with pytest.raises(InputError, match="no geometries"):
        read_layer(tmp_path / "plain.parquet")


def test_kml(tmp_path: Path) -> None:
    ring = "-73.69,40.96,0 -73.68,40.96,0 -73.68,40.97,0 -73.69,40.96,0"
    (tmp_path / "a.kml").write_text(
        '<kml xmlns="http://www.opengis.net/kml/2.2"><Document><name>d</name><Placemark>'
        "<name>pond</name><Polygon><outerBoundaryIs><LinearRing><coordinates>"
        f"{ring}</coordinates></LinearRing></outerBoundaryIs></Polygon></Placemark>"
        "</Document></kml>"
    )
    got = read_layer(tmp_path / "a.kml", "wetlands")
    assert got.area.iloc[0] > 1_000_000
    assert got["name"].tolist() == ["pond"]
    assert "dropped_dimension" in codes(got)


# ---------------------------------------------------------------- layers


def test_several_layers_are_never_guessed(lots: gpd.GeoDataFrame, tmp_path: Path) -> None:
    path = tmp_path / "site.gpkg"
    for name in ("wetlands_1995", "wetlands_2024", "parcels"):
        save(lots, path, layer=name)
    save(lots.iloc[:0], path, layer="pools")
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE permits (fid INTEGER PRIMARY KEY, no TEXT)")
    db.execute(
        "INSERT INTO gpkg_contents (table_name, data_type, identifier) "
        "VALUES ('permits', 'attributes', 'permits')"
    )
    db.commit()
    db.close()
    for kind in (None, "wetlands"):
        with pytest.raises(InputError) as caught:
            read_layer(path, kind)
        for name in ("wetlands_1995", "wetlands_2024", "parcels", "pools", "permits (a table)"):
            assert name in str(caught.value)
    with pytest.raises(InputError, match="did you mean 'wetlands_2024'"):
        read_layer(path, layer="wetlands_2025")
    with pytest.raises(InputError, match="plain table"):
        read_layer(path, layer="permits")
    assert len(read_layer(path, "parcels")) == 3
    empty = read_layer(path, "wetlands", layer="pools")
    assert len(empty) == 0
    assert {"id", "basis", "accuracy_ft", "source", "class"} <= set(empty.columns)
    assert codes(empty, "warning") == ["empty_layer"]
    assert read_layer(path, layer="PARCELS")["id"].str.startswith("feature-").all()


def test_the_agencies_names_count_only_where_nothing_rivals_them(
    lots: gpd.GeoDataFrame, tmp_path: Path
) -> None:
    for name in ("NY_Wetlands", "NY_Wetlands_Project_Metadata", "New_York"):
        save(lots, tmp_path / "a.gpkg", layer=name)
    assert read_layer(tmp_path / "a.gpkg", "indicators").attrs["wetgis"]["source"]["layer"] == (
        "NY_Wetlands"
    )
    save(lots, tmp_path / "a.gpkg", layer="wetlands_2024")
    with pytest.raises(InputError, match="none is named"):
        read_layer(tmp_path / "a.gpkg", "indicators")


def test_kinds_are_closed(lots: gpd.GeoDataFrame) -> None:
    with pytest.raises(InputError, match="did you mean 'wetlands'"):
        read_layer(lots, "wetland")
    with pytest.raises(InputError, match="raster"):
        read_layer(lots, "dem")


# ---------------------------------------------------------------- coordinate systems


def geojson(path: Path, coordinates: list[Any], crs: str | None = None) -> Path:
    data: dict[str, Any] = {
        "type": "FeatureCollection",
        "features": [
            {"type": "Feature", "properties": {"n": i},
             "geometry": {"type": "Polygon", "coordinates": [ring]}}
            for i, ring in enumerate(coordinates)
        ],
    }  # fmt: skip
    if crs:
        data["crs"] = {"type": "name", "properties": {"name": crs}}
    path.write_text(json.dumps(data))
    return path


FEET = [list(c) for c in square().exterior.coords]


def test_feet_that_say_nothing_or_degrees_are_refused(tmp_path: Path) -> None:
    for crs in (None, "urn:ogc:def:crs:OGC:1.3:CRS84", "EPSG:4326"):
        path = geojson(tmp_path / "a.geojson", [FEET], crs)
        with pytest.raises(CrsError, match=r"EPSG:2260.*|source_crs") as caught:
            read_layer(path, "wetlands")
        assert "EPSG:2260" in str(caught.value)
        got = read_layer(path, "wetlands", source_crs="EPSG:2260")
        assert got.area.tolist() == [10_000.0]
    path = geojson(tmp_path / "a.geojson", [FEET], "urn:ogc:def:crs:EPSG::2260")
    assert read_layer(path, "wetlands").area.tolist() == [10_000.0]


def test_a_crs_that_nobody_knows_is_not_degrees(tmp_path: Path) -> None:
    ring = [[-73.69, 40.96], [-73.68, 40.96], [-73.68, 40.97], [-73.69, 40.96]]
    path = geojson(tmp_path / "a.geojson", [ring], "urn:ogc:def:crs:EPSG::99999999")
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as z:
        z.write(path, "in/a.geojson")
    for one in (path, tmp_path / "a.zip"):
        with pytest.raises(CrsError, match="no coordinate system"):
            read_layer(one, "wetlands")
        assert len(read_layer(one, "wetlands", source_crs=4326)) == 1
    for known in ("urn:ogc:def:crs:OGC:1.3:CRS84", "EPSG:4326", "urn:ogc:def:crs:OGC::CRS84"):
        assert len(read_layer(geojson(tmp_path / "b.geojson", [ring], known), "wetlands")) == 1


def test_one_mad_record_does_not_end_the_layer(tmp_path: Path) -> None:
    good = [[-73.69, 40.96], [-73.68, 40.96], [-73.68, 40.97], [-73.69, 40.96]]
    path = geojson(tmp_path / "a.geojson", [good, FEET, good])
    got = read_layer(path, "wetlands", fields={"id": "n"})
    assert got.geometry.isna().tolist() == [False, True, False]
    table = wetgis.issues(got)
    assert table.loc[table["severity"] == "error", "record_id"].tolist() == ["1"]


def test_what_must_not_be_measured_in_is_reprojected_and_said(
    lots: gpd.GeoDataFrame, tmp_path: Path
) -> None:
    for code in (4326, 3857, 5070, 26918):
        path = save(lots.to_crs(code), tmp_path / f"{code}.gpkg")
        got = read_layer(path, "parcels", id="KEY")
        assert got.crs.to_epsg() == 2260  # where an installed pack's CRS holds the data
        # straight edges in one projection bend a little in another
        assert got.area.tolist() == pytest.approx([10_000, 10_000, 2_500], rel=1e-5)
        (text,) = wetgis.issues(got).query("code == 'unfit_crs'")["message"]
        assert f"EPSG:{code}" in text
        assert "EPSG:2260" in text
        assert got.attrs["wetgis"]["operation"]["from"] == f"EPSG:{code}"
    fit = read_layer(save(lots.to_crs(2263), tmp_path / "x.gpkg"), "parcels")
    assert fit.crs.to_epsg() == 2263
    assert "reprojected" not in codes(fit)


def test_targets(lots: gpd.GeoDataFrame, tmp_path: Path) -> None:
    path = save(lots, tmp_path / "a.gpkg")
    assert read_layer(path, crs="EPSG:2263").crs.to_epsg() == 2263
    assert read_layer(path, crs=32115).crs.to_epsg() == 32115
    assert read_layer(path, like=lots.to_crs(2263)).crs.to_epsg() == 2263
    with pytest.raises(InputError, match="both"):
        read_layer(path, crs=2263, like=lots)
    with pytest.raises(CrsError, match="not a coordinate system"):
        read_layer(path, crs="EPSG:999999")
    with pytest.raises(CrsError, match="not a coordinate system"):
        read_layer(path, source_crs="New York")


def test_a_target_that_must_not_be_measured_in_is_a_warning(lots: gpd.GeoDataFrame) -> None:
    for code in (4326, 3857, 5070):
        assert "unfit_crs" in codes(read_layer(lots, "parcels", crs=code), "warning")
    far = lots.set_geometry(lots.translate(6_000_000, 0))
    assert "unfit_crs" not in codes(read_layer(far, "parcels", crs=2260))


def test_small_plan_coordinates_are_not_degrees(tmp_path: Path) -> None:
    ring = [[0, 0], [240, 0], [240, 80], [0, 80], [0, 0]]
    with pytest.raises(CrsError, match="contradict"):
        read_layer(geojson(tmp_path / "a.geojson", [ring]), "wetlands")


def test_a_missing_prj_is_asked_for(lots: gpd.GeoDataFrame, tmp_path: Path) -> None:
    save(lots.to_crs(32118), tmp_path / "a.shp")
    (tmp_path / "a.prj").unlink()
    with pytest.raises(CrsError, match="EPSG:32118"):
        read_layer(tmp_path / "a.shp", "wetlands", like=lots.to_crs(2263))
    got = read_layer(tmp_path / "a.shp", "wetlands", source_crs="EPSG:32118", like=lots)
    assert got.area.sum() == pytest.approx(22_500, rel=1e-4)
    assert "assumed_crs" in codes(got, "note")


def test_a_stated_crs_that_contradicts_the_file_is_a_warning(
    lots: gpd.GeoDataFrame, tmp_path: Path
) -> None:
    path = save(lots, tmp_path / "a.gpkg")
    assert "assumed_crs" in codes(read_layer(path, source_crs="EPSG:2261"), "warning")
    assert "assumed_crs" not in codes(read_layer(path, source_crs=2260))


def test_outside_the_area_of_use_and_nad27(lots: gpd.GeoDataFrame, tmp_path: Path) -> None:
    west = gpd.GeoDataFrame(geometry=[shapely.box(-81, 41.4, -80.99, 41.41)], crs=4326)
    got = read_layer(save(west.to_crs(2260), tmp_path / "a.gpkg"))
    assert "outside_area_of_use" in codes(got, "warning")
    old = lots.set_crs(32015, allow_override=True)  # NAD27 / New York East
    got = read_layer(save(old, tmp_path / "b.gpkg"), crs=2260)
    if got.attrs["wetgis"]["operation"]["ballpark"]:
        assert "ballpark" in codes(got, "warning")
    small = gpd.GeoDataFrame(geometry=[shapely.box(-73.7, 40.9, -73.6, 41)], crs=None)
    small = small.set_crs(2260)
    text = wetgis.issues(read_layer(save(small, tmp_path / "c.gpkg")))["message"]
    assert text.str.contains("look like degrees").any()


def test_one_note_for_a_null_operation(lots: gpd.GeoDataFrame, tmp_path: Path) -> None:
    for code, accuracy in ((4326, 4.0), (6318, None)):
        got = read_layer(save(lots.to_crs(code), tmp_path / f"{code}.gpkg"), crs=2260)
        assert codes(got, "note").count("null_operation") == 1
        assert not got.attrs["wetgis"]["operation"]["ballpark"]
        assert got.attrs["wetgis"]["operation"]["accuracy_m"] == accuracy


def test_data_too_wide_stay_where_they_are(tmp_path: Path) -> None:
    wide = gpd.GeoDataFrame(geometry=[shapely.box(-100, 30, -80, 45)], crs=4326)
    got = read_layer(save(wide, tmp_path / "a.gpkg"))
    assert got.crs.to_epsg() == 4326
    assert "unfit_crs" in codes(got, "warning")
    with pytest.raises(WetgisError):
        wetgis.crs.require_measuring_crs(got)


# ---------------------------------------------------------------- records


def test_bad_records_keep_their_rows(tmp_path: Path) -> None:
    with np.errstate(invalid="ignore"):
        nan = shapely.Polygon([(X, Y), (X + 9, Y), (np.nan, Y)])
    bow = shapely.Polygon([(X, Y), (X + 60, Y + 100), (X + 60, Y), (X, Y + 100)])
    frame = gpd.GeoDataFrame(
        {"W": ["OK", "BOW", "NULL", "EMPTY", "NAN"]},
        geometry=[square(), bow, None, shapely.Polygon(), nan],
        crs=2260,
    )
    got = read_layer(save(frame, tmp_path / "a.gpkg"), "wetlands", id="W")
    assert got["id"].tolist() == ["OK", "BOW", "NULL", "EMPTY", "NAN"]
    assert got.geometry.isna().tolist() == [False, False, True, True, True]
    table = wetgis.issues(got).set_index("record_id")
    assert table.loc["BOW", "code"] == "repaired"
    assert table.loc["BOW", "after_sqft"] == pytest.approx(3000)
    bad = table[table["severity"] == "error"]
    assert bad["code"].to_dict() == {
        "NULL": "null_geometry", "EMPTY": "empty_geometry", "NAN": "non_finite",
    }  # fmt: skip
    assert (bad["effect"] == "not used").all()
    assert got.attrs["wetgis"]["counts"] == {
        "records": 5, "usable": 2, "errors": 3, "warnings": 0,
        "notes": got.attrs["wetgis"]["counts"]["notes"], "repaired": 1,
    }  # fmt: skip


def test_an_unclosed_ring_is_closed_and_said(tmp_path: Path) -> None:
    ring = [[X, Y], [X + 90, Y], [X + 90, Y + 91], [X, Y + 91]]
    path = geojson(tmp_path / "a.geojson", [FEET, ring], "urn:ogc:def:crs:EPSG::2260")
    got = read_layer(path, "wetlands", fields={"id": "n"})
    assert got.area.tolist() == [10_000, 8_190]
    table = wetgis.issues(got)
    assert table.loc[table["code"] == "unclosed_ring", "record_id"].tolist() == ["1"]


def test_a_geometry_that_nothing_can_decode_is_an_error_of_its_record(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    good = shapely.to_wkb(square())
    tin = bytes.fromhex("0110000000") + (0).to_bytes(4, "little")
    cut = good[:40]
    curve = shapely.to_wkb(shapely.LineString([(0, 0), (1, 1)])).replace(
        b"\x01\x02", b"\x01\x08", 1
    )
    geo = {
        "version": "1.0.0", "primary_column": "geometry",
        "columns": {"geometry": {"encoding": "WKB", "geometry_types": [], "crs": None}},
    }  # fmt: skip
    table = pa.table({"n": [0, 1, 2, 3], "geometry": [good, tin, cut, curve]})
    pq.write_table(table.replace_schema_metadata({b"geo": json.dumps(geo)}), tmp_path / "a.parquet")
    got = read_layer(tmp_path / "a.parquet", "wetlands", source_crs=2260, fields={"id": "n"})
    assert got.geometry.isna().tolist() == [False, True, True, True]
    assert codes(got, "error") == ["unreadable_record"] * 3


def test_wrong_kinds_of_geometry(tmp_path: Path) -> None:
    frame = gpd.GeoDataFrame({"N": ["a", "b"]}, geometry=[shapely.Point(X, Y), square()], crs=2260)
    path = save(frame, tmp_path / "a.gpkg")
    soils = read_layer(path, "soils", id="N")
    assert soils.geometry.isna().tolist() == [True, False]
    assert codes(soils, "error") == ["wrong_geometry_type"]
    flags = read_layer(path, "flags", id="N")
    assert flags.geometry.isna().tolist() == [False, True]
    assert codes(read_layer(path, "wetlands", id="N"), "error") == []


def test_curves_are_read_as_chords(shared: Path) -> None:
    got = read_layer(shared / "data" / "formats" / "pyogrio_curvepolygon.gpkg")
    assert got.geometry.notna().all()
    assert "curve_linearised" in codes(got)


# ---------------------------------------------------------------- ids


def test_generated_ids_are_made_of_the_geometry_alone(
    lots: gpd.GeoDataFrame, tmp_path: Path
) -> None:
    path = save(lots[["geometry"]], tmp_path / "a.gpkg")
    got = read_layer(path, "parcels")
    wkb = shapely.to_wkb(shapely.normalize(square()), byte_order=1)
    assert got["id"].iloc[0] == "parcels-" + hashlib.sha256(wkb).hexdigest()[:10]
    turned = lots[["geometry"]].iloc[::-1].copy()
    corners = list(square().exterior.coords)
    turned.loc[0, "geometry"] = shapely.Polygon([*corners[2:-1], *corners[:2]])
    again = read_layer(save(turned, tmp_path / "b.gpkg"), "parcels")
    assert again["id"].tolist() == got["id"].tolist()[::-1]
    # in the file's CRS, so a target does not change them
    assert read_layer(path, "parcels", crs=2263)["id"].tolist() == got["id"].tolist()
    assert got.attrs["wetgis"]["generated_id"] is True


def test_equal_records_without_ids_have_equal_ids(tmp_path: Path) -> None:
    frame = gpd.GeoDataFrame({"UNIT": [2, 1]}, geometry=[square(), square()], crs=2260)
    got = read_layer(save(frame, tmp_path / "a.gpkg"), "parcels")
    assert got["id"].nunique() == 1
    assert sorted(got["record"]) == [1, 2]
    turned = read_layer(save(frame.iloc[::-1], tmp_path / "b.gpkg"), "parcels")
    assert dict(zip(got["UNIT"], got["record"], strict=True)) == dict(
        zip(turned["UNIT"], turned["record"], strict=True)
    )
    assert "duplicate_id" in codes(got, "warning")


def test_ids_are_text(tmp_path: Path) -> None:
    frame = gpd.GeoDataFrame(
        {"F": [12.0, np.nan, 0.5], "I": [7, 8, 9], "S": ["001", "", " 2 "]},
        geometry=[square(), square(200), square(400)],
        crs=2260,
    )
    path = save(frame, tmp_path / "a.gpkg")
    got = read_layer(path, "parcels", id="f")
    assert got["id"].tolist()[0] == "12"
    assert got["id"].tolist()[1].startswith("parcels-")
    assert got["id"].tolist()[2] == "0.5"
    assert "missing_id" in codes(got, "warning")
    assert read_layer(path, "parcels", id=["S", "I"])["id"].tolist()[::2] == ["001-7", "2-9"]
    with pytest.raises(InputError, match="one of F, I, S"):
        read_layer(path, "parcels", id="SBL")


def test_an_id_column_is_used_and_a_shapefiles_cut_name_found(
    lots: gpd.GeoDataFrame, tmp_path: Path
) -> None:
    lots["ID"] = [10, 11, 12]
    lots["Permanent_"] = ["a", "b", "c"]
    path = save(lots, tmp_path / "a.shp")
    assert read_layer(path)["id"].tolist() == ["10", "11", "12"]
    assert read_layer(path, id="Permanent_Identifier")["id"].tolist() == ["a", "b", "c"]


def test_a_column_id_of_zeros_names_nothing() -> None:
    frame = gpd.GeoDataFrame({"Id": [0, 0]}, geometry=[square(), square(200)], crs=2260)
    got = read_layer(frame, "wetlands")
    assert got["id"].nunique() == 2
    assert "bad_value" in codes(got, "note")
    assert read_layer(frame, "wetlands", id="Id")["id"].tolist() == ["0", "0"]
    assert read_layer(frame.iloc[:1], "wetlands")["id"].tolist() == ["0"]


def test_keep_is_checked(lots: gpd.GeoDataFrame) -> None:
    assert "zone_no" in read_layer(lots, "parcels", keep=["zone_no"]).columns
    with pytest.raises(InputError, match="did you mean 'ZONE_NO'"):
        read_layer(lots, "parcels", keep=["ZONE"])


def test_duplicates(tmp_path: Path) -> None:
    frame = gpd.GeoDataFrame(
        {"K": ["a", "b", "a"], "V": [1, 2, 3]},
        geometry=[square(), square(200), square(50)],
        crs=2260,
    )
    path = save(frame, tmp_path / "a.gpkg")
    kept = read_layer(path, "parcels", id="K")
    assert kept["id"].tolist() == ["a", "b", "a"]
    assert sorted(zip(kept["id"], kept["record"], strict=True)) == [("a", 1), ("a", 2), ("b", 1)]
    united = read_layer(path, "parcels", id="K", duplicates="unite")
    assert united["id"].tolist() == ["a", "b"]
    assert united.area.tolist() == [15_000, 10_000]
    turned = save(frame.iloc[::-1], tmp_path / "b.gpkg")
    again = read_layer(turned, "parcels", id="K", duplicates="unite")
    assert again.set_index("id")["V"].to_dict() == united.set_index("id")["V"].to_dict()
    with pytest.raises(InputError, match="more than once"):
        read_layer(path, "parcels", id="K", duplicates="error")
    # features of one id are one wetland: nothing to say
    assert "duplicate_id" not in codes(read_layer(path, "wetlands", id="K"))


def test_where_and_its_faults(lots: gpd.GeoDataFrame, tmp_path: Path) -> None:
    for ending in (".gpkg", ".shp", ".geojson", ".parquet", ".fgb"):
        path = save(lots, tmp_path / f"a{ending}")
        got = read_layer(path, "parcels", id="KEY", where="ZONE_NO = 7 OR KEY = '007'")
        assert sorted(got["id"]) == ["007", "0x"]
        with pytest.raises(InputError, match="KEY"):
            read_layer(path, "parcels", where="NOPE ==== 7")
    assert read_layer(lots, "parcels", id="KEY", where="KEY = '008'")["id"].tolist() == ["008"]


def test_keys_are_closed(lots: gpd.GeoDataFrame) -> None:
    with pytest.raises(SiteError, match=r"'wher'.*did you mean 'where'"):
        read_layer(lots, "parcels", wher="A = 1")
    with pytest.raises(SiteError, match="basis"):
        read_layer(lots, "parcels", basis="survey")
    with pytest.raises(SiteError, match="accuracy_ft"):
        read_layer(lots, "parcels", accuracy_ft=-1)
    with pytest.raises(SiteError, match="duplicates"):
        read_layer(lots, "parcels", duplicates="drop")


def test_a_frame_is_a_source_and_reading_twice_changes_nothing(
    lots: gpd.GeoDataFrame, tmp_path: Path
) -> None:
    lots.loc[3] = ["bad", None, None]
    path = save(lots, tmp_path / "a.gpkg")
    once = read_layer(path, "parcels", id="KEY", accuracy_ft=5, basis="city_map")
    twice = load(once, "parcels", {}, once.crs)
    assert twice.frame.drop(columns="geometry").equals(once.drop(columns="geometry"))
    assert twice.frame.geometry.to_wkb().tolist() == once.geometry.to_wkb().tolist()
    assert twice.source.path == str(path)
    assert [i.code for i in twice.issues].count("null_geometry") == 1
    bare = read_layer(path, "parcels")
    again = read_layer(bare, "parcels", crs=2263)
    assert again["id"].tolist()[:3] != []
    assert lots.attrs == {}
    assert "id" not in lots.columns


def test_an_odd_index_and_another_geometry_name(lots: gpd.GeoDataFrame) -> None:
    odd = lots.set_index(pd.Index(["c", "a", "b"])).rename_geometry("shape")
    got = read_layer(odd, "parcels", id="KEY")
    assert got.index.tolist() == [0, 1, 2]
    assert got.geometry.name == "geometry"
    assert got["id"].tolist() == ["007", "008", "0x"]


def test_attrs_are_plain_json(lots: gpd.GeoDataFrame, tmp_path: Path) -> None:
    frame = pd.concat([lots] * 60, ignore_index=True)
    frame.loc[:, "geometry"] = None
    got = read_layer(save(frame.set_crs(2260), tmp_path / "a.gpkg"), "wetlands")
    meta = got.attrs["wetgis"]
    assert json.loads(json.dumps(meta)) == meta
    assert len(meta["issues"]) == 100
    assert meta["counts"]["errors"] == 180
    assert len(wetgis.issues(got)) == 100
    assert meta["source"]["features"] == 180
    assert {"path", "sha256", "layer", "driver", "bounds", "crs"} <= set(meta["source"])


def test_kind_none_leaves_the_attributes(lots: gpd.GeoDataFrame, tmp_path: Path) -> None:
    lots["OWNER"] = "someone"
    lots["ATTRIBUTE"] = "-9999"
    got = read_layer(save(lots, tmp_path / "a.gpkg"))
    assert list(got.columns) == ["id", "KEY", "ZONE_NO", "OWNER", "ATTRIBUTE", "geometry"]
    assert got["ATTRIBUTE"].tolist() == ["-9999"] * 3


@pytest.mark.skipif(os.name == "nt", reason="file modes")
def test_a_file_that_may_not_be_read(lots: gpd.GeoDataFrame, tmp_path: Path) -> None:
    path = save(lots, tmp_path / "a.gpkg")
    path.chmod(0)
    try:
        if os.access(path, os.R_OK):
            pytest.skip("this user may read everything")
        with pytest.raises(WetgisError):
            read_layer(path)
    finally:
        path.chmod(0o644)
