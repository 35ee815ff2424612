"""write_layer, join_table and read_table: nothing lost unsaid, keys as they are written."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

import wetgis
from wetgis.errors import InputError, OutputError
from wetgis.sources import join_table, read_layer, read_table, write_layer

X, Y = 717_000.0, 783_000.0
FORMATS = [".gpkg", ".shp", ".geojson", ".parquet", ".fgb"]


@pytest.fixture
def layer() -> gpd.GeoDataFrame:
    return gpd.GeoDataFrame(
        {
            "id": ["001", "002", "x"],
            "measured_from": ["bank", None, "edge"],
            "measured_feet": [1.5, np.inf, np.nan],
            "tags": [["a", 1], None, []],
            "day": [dt.date(2026, 1, 2), None, dt.date(2025, 12, 31)],
            "at": pd.to_datetime(["2026-01-01 10:00", None, "2026-01-02 00:00"]),
            "piped": [True, False, True],
            "maybe": pd.array([True, None, False], dtype="boolean"),
            "count": pd.array([1, None, 3], dtype="Int64"),
            "long": ["é" * 200, "b", ""],
            "big": [2**60, 1, 2],
        },
        geometry=[
            shapely.box(X, Y, X + 100, Y + 200),
            None,
            shapely.MultiPolygon(
                [shapely.box(X + 200, Y, X + 300, Y + 200), shapely.box(X + 400, Y, X + 500, Y + 9)]
            ),
        ],
        crs=2260,
        index=[7, 7, 3],
    )


@pytest.mark.parametrize("ending", FORMATS)
def test_there_and_back(layer: gpd.GeoDataFrame, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"out{ending}"
    before = layer.copy()
    report = write_layer(layer, path)
    got = read_layer(path)
    assert set(report) == {"names", "lost"}
    assert set(report["names"]) == set(layer.columns) - {"geometry"}
    assert set(report["names"].values()) <= set(got.columns)
    got = got.set_index("id").loc[["001", "002", "x"]]
    assert got.geometry.isna().tolist() == [False, True, False]
    assert got.geometry.area.fillna(0).tolist() == [20_000, 0, 20_900]
    assert got.crs.to_epsg() == 2260
    names = report["names"]
    assert got[names["measured_from"]].tolist()[0] == "bank"
    assert got[names["measured_from"]].isna().tolist() == [False, True, False]
    assert got[names["count"]].tolist()[0] == 1
    assert got[names["count"]].isna().tolist() == [False, True, False]
    assert pd.Timestamp(got[names["day"]].iloc[0]).date() == dt.date(2026, 1, 2)
    assert "tags" in report["lost"]
    assert ("measured_feet" in report["lost"]) is (ending != ".parquet")
    pd.testing.assert_frame_equal(layer, before)
    assert sorted(p.stem for p in tmp_path.iterdir()) == ["out"] * len(list(tmp_path.iterdir()))


def test_what_a_shapefile_cannot_hold(layer: gpd.GeoDataFrame, tmp_path: Path) -> None:
    report = write_layer(layer, tmp_path / "out.shp")
    assert report["names"]["measured_from"] == "measured_f"
    assert report["names"]["measured_feet"] == "measured_1"
    assert set(report["lost"]) == {"measured_feet", "tags", "at", "piped", "maybe", "long", "big"}
    got = read_layer(tmp_path / "out.shp")
    assert got["big"].tolist() == [str(2**60), "1", "2"]
    assert got["piped"].tolist() == [1, 0, 1]
    assert set(got["long"].iloc[0]) == {"é"}


def test_a_name_that_differs_only_in_case_or_after_ten_characters(tmp_path: Path) -> None:
    columns = {f"measured_{i:02d}": [i] for i in range(12)} | {"MEASURED_0": [99]}
    frame = gpd.GeoDataFrame(columns, geometry=[shapely.Point(X, Y)], crs=2260)
    names = write_layer(frame, tmp_path / "out.shp")["names"]
    assert len({n.lower() for n in names.values()}) == 13
    assert all(len(n) <= 10 for n in names.values())
    got = read_layer(tmp_path / "out.shp")
    for column, written in names.items():
        assert got[written].iloc[0] == columns[column][0]


@pytest.mark.parametrize("ending", FORMATS)
def test_columns_that_a_format_keeps_for_itself(tmp_path: Path, ending: str) -> None:
    columns = {"fid": [5, 5], "ID": [1, 2], "id": ["a", "b"], "geom": ["x", "y"], "Geom": [7, 8]}
    points = [shapely.Point(X, Y), shapely.Point(X, Y + 1)]
    frame = gpd.GeoDataFrame(columns, geometry=points, crs=2260)
    names = write_layer(frame, tmp_path / f"a{ending}")["names"]
    got = read_layer(tmp_path / f"a{ending}", id=names["id"]).sort_values("id")
    for column in ("fid", "ID", "geom", "Geom"):
        assert got[names[column]].tolist() == columns[column]
    assert got["id"].tolist() == ["a", "b"]


def test_a_generated_id_is_not_written(tmp_path: Path) -> None:
    frame = gpd.GeoDataFrame({"a": [1]}, geometry=[shapely.box(X, Y, X + 1, Y + 1)], crs=2260)
    got = read_layer(frame, "parcels")
    assert "id" not in write_layer(got, tmp_path / "a.gpkg")["names"]
    assert read_layer(tmp_path / "a.gpkg", "parcels")["id"].tolist() == got["id"].tolist()
    named = got.assign(id=["007"])
    assert write_layer(named, tmp_path / "b.gpkg")["names"]["id"] == "id"
    assert read_layer(tmp_path / "b.gpkg")["id"].tolist() == ["007"]


def test_the_other_layers_of_a_geopackage_stay(layer: gpd.GeoDataFrame, tmp_path: Path) -> None:
    path = tmp_path / "site.gpkg"
    write_layer(layer, path, layer="one")
    write_layer(layer.iloc[:1], path, layer="two")
    write_layer(layer.iloc[:2], path, layer="one")
    assert len(read_layer(path, layer="one")) == 2
    assert len(read_layer(path, layer="two")) == 1


def test_a_failure_leaves_no_file_and_no_change(
    layer: gpd.GeoDataFrame, tmp_path: Path, monkeypatch: Any
) -> None:
    import pyogrio

    path = tmp_path / "site.gpkg"
    write_layer(layer, path)
    before = path.read_bytes()

    def fail(*_: Any, **__: Any) -> None:
        raise pyogrio.errors.DataSourceError("disk full")

    monkeypatch.setattr(pyogrio, "write_dataframe", fail)
    for target in (path, tmp_path / "new.shp"):
        with pytest.raises(OutputError, match="disk full"):
            write_layer(layer, target)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["site.gpkg"]


def test_an_old_shapefiles_parts_do_not_haunt_the_new_one(tmp_path: Path) -> None:
    frame = gpd.GeoDataFrame({"a": [1]}, geometry=[shapely.Point(X, Y)], crs=2260)
    for ending in (".prj", ".qix", ".sbn"):
        (tmp_path / f"a{ending}").write_text("old")
    write_layer(frame.set_crs(None, allow_override=True), tmp_path / "a.shp")
    assert sorted(p.suffix for p in tmp_path.iterdir()) == [".cpg", ".dbf", ".shp", ".shx"]


def test_z_m_and_mixed_geometries(tmp_path: Path) -> None:
    if not hasattr(shapely, "has_m"):
        pytest.skip("this shapely knows no M")
    geoms = shapely.from_wkt(
        ["POLYGON ZM ((0 0 1 9, 9 0 2 9, 9 9 3 9, 0 0 1 9))", "LINESTRING M (0 0 7, 3 4 7)",
         "POINT (1 2)", "GEOMETRYCOLLECTION (POINT (0 0))"]
    )  # fmt: skip
    frame = gpd.GeoDataFrame({"n": [1, 2, 3, 4]}, geometry=geoms, crs=2260)
    for ending in (".gpkg", ".geojson", ".parquet", ".fgb"):
        report = write_layer(frame, tmp_path / f"a{ending}")
        assert "M values" in report["lost"]["geometry"]
        opened = gpd.read_parquet if ending == ".parquet" else gpd.read_file
        got = opened(tmp_path / f"a{ending}").set_index("n")
        if ending != ".fgb":
            assert got.geometry.loc[1].wkt.startswith("POLYGON Z ((0 0 1, 9 0 2, 9 9 3")
        assert got.geometry.loc[2].wkt == "LINESTRING (0 0, 3 4)"
    with pytest.raises(OutputError, match="GeoPackage"):
        write_layer(frame, tmp_path / "a.shp")
    lines = write_layer(frame.iloc[[1]], tmp_path / "b.shp")
    assert lines["lost"] == {"geometry": "M values"}


def test_geojson_that_could_not_say_where_it_is_is_in_degrees(tmp_path: Path) -> None:
    box = shapely.box(-81.0, 50.0, -80.99, 50.01)
    local = read_layer(gpd.GeoDataFrame({"a": [1]}, geometry=[box], crs=4326))
    assert local.crs.to_epsg() is None
    report = write_layer(local, tmp_path / "a.geojson")
    assert "longitude" in report["lost"]["geometry"]
    got = read_layer(tmp_path / "a.geojson", like=local)
    assert got.area.iloc[0] == pytest.approx(local.area.iloc[0], rel=1e-9)


def test_csv(layer: gpd.GeoDataFrame, tmp_path: Path) -> None:
    layer["note"] = ["=cmd()", "-5", "@x"]
    report = write_layer(layer, tmp_path / "a.csv")
    table = pd.read_csv(tmp_path / "a.csv", dtype=str)
    assert table["id"].tolist() == ["001", "002", "x"]
    assert table["note"].tolist() == ["'=cmd()", "-5", "'@x"]
    assert table["wkt"].iloc[0].startswith("POLYGON")
    assert pd.isna(table["wkt"].iloc[1])
    assert "note" in report["lost"]
    assert "inf" not in (tmp_path / "a.csv").read_text()


def test_empty_and_null_only(tmp_path: Path) -> None:
    empty = gpd.GeoDataFrame({"a": pd.array([], dtype="int64")}, geometry=[], crs=2260)
    nulls = gpd.GeoDataFrame({"a": [1]}, geometry=[None], crs=2260)
    for ending in FORMATS:
        write_layer(empty, tmp_path / f"e{ending}")
        assert len(read_layer(tmp_path / f"e{ending}")) == 0
        write_layer(nulls, tmp_path / f"n{ending}")
        assert len(read_layer(tmp_path / f"n{ending}")) == 1


def test_where_it_cannot_be_written(layer: gpd.GeoDataFrame, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"\.gpkg"):
        write_layer(layer, tmp_path / "a.docx")
    with pytest.raises(OutputError, match="folder"):
        write_layer(layer, tmp_path / "no" / "a.gpkg")


# ---------------------------------------------------------------- joining


def lots(*keys: Any) -> gpd.GeoDataFrame:
    return gpd.GeoDataFrame(
        {"KEY": list(keys)}, geometry=[shapely.Point(X + i, Y) for i in range(len(keys))], crs=2260
    )


def codes(frame: gpd.GeoDataFrame) -> list[str]:
    return wetgis.issues(frame)["code"].tolist()


LONG = ["00000100000000000000000070", "01420001460010000100020000", "55140000000000000000000007"]


def test_long_keys_are_text(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(
        "KEY,SQFT\n" + "\n".join(f"{k},{i}000" for i, k in enumerate(LONG, 1))
    )
    got = join_table(lots(*LONG[::-1]), tmp_path / "t.csv", on="KEY")
    assert got["SQFT"].tolist() == [3000, 2000, 1000]
    assert codes(got) == []


def test_damaged_keys_are_never_guessed(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("KEY,SQFT\n1E+20,1\n1.42E+24,2\n5.514E+25,3\n")
    got = join_table(lots(*LONG), tmp_path / "t.csv", on="KEY")
    assert got["SQFT"].isna().all()
    assert len(got) == 3
    assert codes(got) == ["unmatched_key", "unmatched_key"]
    number = pd.DataFrame({"KEY": [float(k) for k in LONG], "SQFT": [1, 2, 3]})
    assert join_table(lots(*LONG), number, on="KEY")["SQFT"].isna().all()


@pytest.mark.parametrize("keys", [[12, 7], [12.0, 7.0], ["12", "7"], [" 12", "7 "]])
def test_numbers_and_text_meet_as_text(keys: list[Any]) -> None:
    table = pd.DataFrame({"K": ["7", "12"], "V": ["a", "b"]})
    assert join_table(lots(*keys), table, on=["KEY", "K"])["V"].tolist() == ["b", "a"]
    assert join_table(lots("7", "12"), pd.DataFrame({"KEY": keys, "V": [1, 2]}), on="KEY")[
        "V"
    ].tolist() == [2, 1]


def test_repeated_keys_where_rows_agree_and_where_they_differ() -> None:
    table = pd.DataFrame(
        {"KEY": ["a", "a", "b", "b", "c"], "V": [1, 2, 5, 5, 6], "W": ["x", "x", "y", "y", "z"]}
    )
    got = join_table(lots("a", "b", "c", "d", None), table, on="KEY")
    assert len(got) == 5
    assert got["V"].isna().tolist() == [True, False, False, True, True]
    assert got["V"].tolist()[1:3] == [5, 6]
    assert got["W"].tolist()[:3] == ["x", "y", "z"]
    assert codes(got) == ["repeated_key", "unmatched_key", "unmatched_key"]


def test_columns_and_names_that_are_taken() -> None:
    left = lots("a", "b").set_index(pd.Index([9, 9]))
    left["V"] = ["mine", "mine"]
    table = pd.DataFrame({"key": ["b", "a"], "V": ["theirs", "theirs"], "W": [1, 2]})
    got = join_table(left, table, on=["KEY", "key"], columns=["v"])
    assert list(got.columns) == ["KEY", "geometry", "V", "V_table"]
    assert got.index.tolist() == [9, 9]
    assert list(left.columns) == ["KEY", "geometry", "V"]
    for bad in ({"on": "KEYS"}, {"on": ["KEY", "k"]}, {"on": ["KEY", "key"], "columns": ["X"]}):
        with pytest.raises(InputError):
            join_table(left, table, **bad)
    with pytest.raises(InputError, match="no such table"):
        join_table(left, "nowhere.csv", on="KEY")


@given(
    keys=st.lists(st.sampled_from(["a", "b", "c", "01", "1", ""]), min_size=1, max_size=6),
    rows=st.lists(st.tuples(st.sampled_from(["a", "b", "01", "1"]), st.integers(0, 3)), max_size=6),
)
@settings(max_examples=60, deadline=None)
def test_a_row_stays_a_row_and_a_value_is_its_keys(
    keys: list[str], rows: list[tuple[str, int]]
) -> None:
    table = pd.DataFrame(rows, columns=["KEY", "V"])
    got = join_table(lots(*keys), table, on="KEY")
    assert got["KEY"].tolist() == keys
    for key, value in zip(keys, got["V"], strict=True):
        values = {v for k, v in rows if k == key}
        assert (pd.isna(value) and len(values) != 1) or values == {value}


# ---------------------------------------------------------------- tables


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["1", "2"], [1, 2]),
        (["1.5", "2"], [1.5, 2.0]),
        (["01", "2"], ["01", "2"]),
        (["1234567890123456", "2"], ["1234567890123456", "2"]),
        (["1,5", "2"], ["1,5", "2"]),
        (["-3", "+4"], [-3, 4]),
        (["1e3", "2"], [1000.0, 2.0]),
        (["0", "0.0"], [0.0, 0.0]),
        (["12-5", "x"], ["12-5", "x"]),
    ],
)
def test_a_column_is_numbers_only_where_every_value_is_one(
    tmp_path: Path, cells: list[str], values: list[Any]
) -> None:
    (tmp_path / "t.csv").write_text("A;B\n" + "\n".join(f"{c};x" for c in cells))
    assert read_table(tmp_path / "t.csv")["A"].tolist() == values


def test_tables_of_every_kind(tmp_path: Path) -> None:
    table = pd.DataFrame({"KEY": ["001", "002"], "V": [1, 2]})
    table.to_parquet(tmp_path / "t.parquet")
    table.to_excel(tmp_path / "t.xlsx", index=False)
    table.to_csv(tmp_path / "t.tsv", index=False, sep="\t")
    (tmp_path / "t.csv").write_bytes(b"\xef\xbb\xbfKEY,V\n001,1\n002,2\n")
    for ending in ("parquet", "xlsx", "tsv", "csv"):
        got = read_table(tmp_path / f"t.{ending}")
        assert got["KEY"].tolist() == ["001", "002"]
        assert got["V"].tolist() == [1, 2]
    (tmp_path / "old.csv").write_bytes("KEY,V\nä,1\n".encode("cp1252"))
    assert read_table(tmp_path / "old.csv")["KEY"].tolist() == ["ä"]
    (tmp_path / "bad.xlsx").write_bytes(b"no")
    with pytest.raises(InputError, match="cannot be read"):
        read_table(tmp_path / "bad.xlsx")
