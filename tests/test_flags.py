"""Names of flags, and the files in which they come."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import geopandas as gpd
import numpy as np
import pytest
from shapely import LineString, MultiPoint, Point

from wetgis.errors import CrsError, InputError
from wetgis.flags import flag_table, read_flags
from wetgis.flags.csvfile import to_number
from wetgis.flags.names import FlagName, parse_flag

CRS = "EPSG:2260"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("A-1", FlagName("A", 1)),
        ("a 12", FlagName("A", 12)),
        ("A12", FlagName("A", 12)),
        ("A_001", FlagName("A", 1)),
        ("B\u20137", FlagName("B", 7)),
        ("WL-A-12", FlagName("WL-A", 12)),
        ("WF2-12", FlagName("WF2", 12)),
        ("A-12B", FlagName("A", 12, "B")),
        ("A-1-A", FlagName("A", 1, "A")),
        ("A-12.5", FlagName("A", 12.5)),
        ("Flag A-3", FlagName("A", 3)),
        ("1A", FlagName("", 1, "A")),
        ("27", FlagName("", 27)),
        ("A-27 END", FlagName("A", 27, mark="end")),
        ("END A-27", FlagName("A", 27, mark="end")),
        ("A-14 (STREAM)", FlagName("A", 14, mark="stream")),
        ("A27 tie to B-3", FlagName("A", 27, mark="tie", ties_to="B-3")),
        ("END", FlagName("", None, kind="mark", mark="end")),
        ("TIE TO B-4", FlagName("", None, kind="mark", mark="tie", ties_to="B-4")),
        ("TIE-1", FlagName("TIE", 1, kind="tie")),
        ("STREAM-3", FlagName("STREAM", 3, kind="stream")),
        ("STREAM A-3", FlagName("STREAM A", 3, kind="stream")),
        # words in which a mark is only a part
        ("STRAWBERRY-3", FlagName("STRAWBERRY", 3)),
        ("LEGEND 4", FlagName("LEGEND", 4)),
        ("??", FlagName("??", None, kind="unread")),
        ("", FlagName("", None, kind="unread")),
    ],
)
def test_names(name: str, expected: FlagName) -> None:
    assert parse_flag(name) == expected


def points(n: int) -> list[Point]:
    return [Point(717_000 + 10 * i, 783_000) for i in range(n)]


def named(*names: str) -> gpd.GeoDataFrame:
    return gpd.GeoDataFrame({"name": list(names)}, geometry=points(len(names)), crs=CRS)


def test_all_lettered_is_a_series() -> None:
    table = flag_table(named("1A", "2A", "3B"))
    assert table.series.tolist() == ["A", "A", "B"]
    assert table.number.tolist() == ["1", "2", "3"]
    assert table.attrs["ambiguous"] == [0, 1, 2]


def test_some_lettered_is_an_inserted_flag() -> None:
    table = flag_table(named("1", "1A", "2"))
    assert table.series.tolist() == ["", "", ""]
    assert table.number.tolist() == ["1", "1A", "2"]
    assert table.attrs["ambiguous"] == [1]


def test_two_columns() -> None:
    frame = gpd.GeoDataFrame(
        {"S": ["A", "A", "STREAM", "b"], "N": [1.0, 2.0, 3.0, 1.0]}, geometry=points(4), crs=CRS
    )
    table = flag_table(frame, series="S", number="N")
    assert table.series.tolist() == ["A", "A", "STREAM", "B"]
    assert table.number.tolist() == ["1", "2", "3", "1"]
    assert table.kind.tolist() == ["flag", "flag", "stream", "flag"]


def test_marks_in_the_number_column() -> None:
    frame = gpd.GeoDataFrame(
        {"series": ["A", "A"], "number": ["1", "2A END"]}, geometry=points(2), crs=CRS
    )
    table = flag_table(frame)
    assert table.number.tolist() == ["1", "2A"]
    assert table["mark"].tolist() == ["", "end"]


def test_whole_names_under_series() -> None:
    frame = gpd.GeoDataFrame({"series": ["A-1", "A-2"]}, geometry=points(2), crs=CRS)
    assert flag_table(frame).number.tolist() == ["1", "2"]
    frame = gpd.GeoDataFrame({"series": ["WL2", "WL2"]}, geometry=points(2), crs=CRS)
    assert flag_table(frame).series.tolist() == ["WL2", "WL2"]
    assert flag_table(frame).number.tolist() == ["", ""]


@pytest.mark.parametrize("index", [[5, 3], ["x", "y"]])
def test_any_index(index: list[object]) -> None:
    frame = named("A-1", "A-2").set_index(np.array(index, dtype=object))
    assert flag_table(frame).row.tolist() == [0, 1]


def test_without_names() -> None:
    frame = gpd.GeoDataFrame({"elev": [1.0]}, geometry=points(1), crs=CRS)
    with pytest.raises(InputError, match="elev"):
        flag_table(frame)


def test_geometries() -> None:
    frame = named("A-1", "A-2")
    frame.loc[1, "geometry"] = MultiPoint([(1, 2)])
    assert flag_table(frame).geometry[1] == Point(1, 2)
    frame.loc[1, "geometry"] = LineString([(0, 0), (1, 1)])
    with pytest.raises(InputError, match="LineString"):
        flag_table(frame)


# ---- CSV


def write(tmp_path: Path, text: str, name: str = "flags.csv", encoding: str = "utf-8") -> Path:
    path = tmp_path / name
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize(
    "text",
    [
        "Name,Northing,Easting\nA-1,783000.25,717000\nA-2,783050,717100\n",
        "\ufeffFlag;N;E\nA-1;783000,25;717000,0\nA-2;783050,0;717100,0\n",
        'Point,Northing (ft),Easting (ft)\nA-1,"783,000.25","717,000"\nA-2,"783,050","717,100"\n',
        "NAME\tGRID N\tGRID E\r\nA-1\t783000.25\t717000\r\n\r\nA-2\t783050\t717100\r\n",
    ],
)
def test_northing_and_easting(tmp_path: Path, text: str) -> None:
    frame = read_flags(write(tmp_path, text), source_crs=CRS)
    assert frame["name"].tolist() == ["A-1", "A-2"]
    assert frame.geometry.x.tolist() == [717000, 717100]
    assert frame.geometry.y.tolist() == [783000.25, 783050]
    assert frame.accuracy_ft.isna().all()
    assert frame.crs.to_epsg() == 2260


def test_without_header(tmp_path: Path) -> None:
    path = write(tmp_path, "101,783000,717000,20.1,A-1\n102,783050,717100,20.4,A-2 END\n")
    with pytest.raises(InputError, match="pnezd"):
        read_flags(path, source_crs=CRS)
    frame = read_flags(path, source_crs=CRS, columns="pnezd")
    # the points are counted; the flags stand in the description
    assert frame["name"].tolist() == ["A-1", "A-2 END"]
    assert frame.geometry.x.tolist() == [717000, 717100]
    with pytest.raises(InputError, match="'q'"):
        read_flags(path, source_crs=CRS, columns="pq")


@pytest.mark.parametrize(
    ("text", "degrees"),
    [
        ("41 02 11.5 N", 41 + 2 / 60 + 11.5 / 3600),
        ("73°41'30\"W", -(73 + 41 / 60 + 30 / 3600)),
        ("-73 41 30", -(73 + 41 / 60 + 30 / 3600)),
        ("W 73:41.5", -(73 + 41.5 / 60)),
        ("33 30 36 S", -33.51),
        ("41.5", 41.5),
        ("-73.25", -73.25),
    ],
)
def test_degrees(text: str, degrees: float) -> None:
    assert to_number(text) == pytest.approx(degrees, abs=1e-12)


@pytest.mark.parametrize("text", ["", "n/a", "41 61 00", "41 02 75", "N 41 02 11 S"])
def test_no_number(text: str) -> None:
    assert np.isnan(to_number(text))


def test_lon_lat_needs_a_crs(tmp_path: Path) -> None:
    path = write(tmp_path, "name,lat,lon\nA-1,41.0,-73.7\n")
    with pytest.raises(CrsError, match="EPSG:4326"):
        read_flags(path)
    frame = read_flags(path, source_crs="EPSG:4326")
    assert frame.geometry[0] == Point(-73.7, 41.0)
    assert read_flags(path, source_crs="EPSG:4326", crs=CRS).crs.to_epsg() == 2260


def test_crs_against_the_numbers(tmp_path: Path) -> None:
    feet = write(tmp_path, "name,lat,lon\nA-1,783000,717000\n", "a.csv")
    with pytest.raises(CrsError, match="cannot be degrees"):
        read_flags(feet, source_crs="EPSG:4326")
    metres = write(tmp_path, "name,Northing (m),Easting (m)\nA-1,4500000,600000\n", "b.csv")
    with pytest.raises(CrsError, match="one unit"):
        read_flags(metres, source_crs=CRS)
    assert len(read_flags(metres, source_crs="EPSG:26918")) == 1
    with pytest.raises(InputError, match="northing and easting"):
        read_flags(write(tmp_path, "name,lat,lon\nA-1,41,-73\n", "c.csv"), source_crs=CRS)
    with pytest.raises(CrsError, match="EPSG:99999"):
        read_flags(feet, source_crs="EPSG:99999")


def test_a_row_that_only_marks(tmp_path: Path) -> None:
    path = write(tmp_path, "name,N,E\nA-1,783000,717000\nEND,,\nA-2,783050,717100\n")
    frame = read_flags(path, source_crs=CRS)
    assert frame["name"].tolist() == ["A-1", "END", "A-2"]
    assert frame.geometry.isna().tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("column", "value", "feet"),
    [
        ("accuracy_ft", "2.5", 2.5),
        # one metre, radial root mean square
        ("ESRIGNSS_H_RMS", "1", 1.7308 * 3937 / 1200),
        # in the unit of the coordinates
        ("HRMS", "1.0", 1.7308),
        ("HRMS (m)", "1.0", 1.7308 * 3937 / 1200),
        ("HRMS", "-1", np.nan),
        ("HRMS", "", np.nan),
    ],
)
def test_accuracy(tmp_path: Path, column: str, value: str, feet: float) -> None:
    path = write(tmp_path, f"name,N,E,{column}\nA-1,783000,717000,{value}\n")
    frame = read_flags(path, source_crs=CRS)
    assert frame.accuracy_ft[0] == pytest.approx(feet, nan_ok=True)


def test_cp1252(tmp_path: Path) -> None:
    path = write(tmp_path, "name,N,E,note\nA-1,1,2,café\n", encoding="cp1252")
    assert read_flags(path, source_crs=CRS)["note"][0] == "café"


def test_empty_and_missing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="empty"):
        read_flags(write(tmp_path, "\n"), source_crs=CRS)
    with pytest.raises(InputError, match="does not exist"):
        read_flags(tmp_path / "none.csv")


# ---- other formats

GPX = """<?xml version="1.0"?>
<gpx version="1.1" creator="t" xmlns="http://www.topografix.com/GPX/1/1">
<wpt lat="41.0" lon="-73.7"><time>2026-05-01T10:00:00Z</time><name>A-1</name><hdop>1.2</hdop></wpt>
<wpt lat="41.0005" lon="-73.7"><time>2026-05-01T10:01:00Z</time><name>A-2</name></wpt>
</gpx>"""


def test_gpx(tmp_path: Path) -> None:
    frame = read_flags(write(tmp_path, GPX, "flags.gpx"))
    assert frame["name"].tolist() == ["A-1", "A-2"]
    assert frame.crs.to_epsg() == 4326
    # a dilution of precision is no accuracy
    assert frame.accuracy_ft.isna().all()
    assert "hdop" in frame.columns
    assert "magvar" not in frame.columns


def test_gpx_without_waypoints(tmp_path: Path) -> None:
    empty = GPX[: GPX.index("<wpt")] + "</gpx>"
    with pytest.raises(InputError, match="waypoints"):
        read_flags(write(tmp_path, empty, "flags.gpx"))


def test_geopackage(tmp_path: Path) -> None:
    path = tmp_path / "flags.gpkg"
    named("A-1", "A-2").to_file(path, layer="flags")
    with sqlite3.connect(path) as base:
        base.execute("pragma journal_mode = wal")
    base.close()
    before = path.read_bytes()
    frame = read_flags(path)
    assert [p.name for p in tmp_path.iterdir()] == ["flags.gpkg"]
    assert path.read_bytes() == before
    assert flag_table(frame).number.tolist() == ["1", "2"]
    assert frame.crs.to_epsg() == 2260
