"""What a kind of layer means: canonical columns, flood zones, hydric soils, streams, drawings."""

from __future__ import annotations

import datetime as dt
import math
from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

import wetgis
from wetgis.errors import InputError
from wetgis.issuelog import IssueLog
from wetgis.sources import read_layer
from wetgis.sources.columns import text_key
from wetgis.sources.kinds import flood_answer
from wetgis.sources.soils import hydric_shares

X, Y = 717_000.0, 783_000.0


def frame(size: int = 3, **columns: Any) -> gpd.GeoDataFrame:
    size = len(next(iter(columns.values()))) if columns else size
    geoms = [shapely.box(X + 200 * i, Y, X + 200 * i + 100, Y + 100) for i in range(size)]
    return gpd.GeoDataFrame(columns, geometry=geoms, crs=2260)


def codes(got: gpd.GeoDataFrame, severity: str | None = None) -> list[str]:
    table = wetgis.issues(got)
    return table["code"][table["severity"] == severity if severity else slice(None)].tolist()


# ---------------------------------------------------------------- columns


def test_every_layer_says_where_it_comes_from(tmp_path: Path) -> None:
    frame(2).to_file(tmp_path / "w.gpkg", layer="ponds")
    got = read_layer(
        tmp_path / "w.gpkg", "wetlands", basis="city_map", accuracy_ft=5, source_date="2025-07-01"
    )
    assert got["source"].tolist() == ["w.gpkg:ponds"] * 2
    assert got["basis"].tolist() == ["city_map"] * 2
    assert got["accuracy_ft"].tolist() == [5.0] * 2
    assert got["source_date"].tolist() == ["2025-07-01"] * 2
    assert "no_accuracy" not in codes(got)
    plain = read_layer(tmp_path / "w.gpkg", "wetlands")
    assert plain["accuracy_ft"].isna().all()
    assert plain["basis"].tolist() == [""] * 2
    assert codes(plain).count("no_accuracy") == 1


def test_a_records_own_accuracy_and_basis_go_before_the_layers() -> None:
    layer = frame(accuracy_ft=[2.0, None, -9999], BASIS=["nwi", None, "guess"])
    got = read_layer(layer, "wetlands", accuracy_ft=33, basis="state_map")
    assert got["accuracy_ft"].tolist() == [2.0, 33.0, 33.0]
    assert got["basis"].tolist() == ["nwi", "state_map", "other"]
    assert {"null_value", "bad_value"} <= set(codes(got))


@pytest.mark.parametrize(
    ("kind", "theirs", "canonical"),
    [
        ("wetlands", "ATTRIBUTE", "cowardin"),
        ("indicators", "Wetlands.ATTRIBUTE", "cowardin"),
        ("soils", "MUKEY", "mukey"),
        ("soils", "MUSYM", "musym"),
        ("floodplain", "FLD_ZONE", "zone"),
        ("floodplain", "ZONE_SUBTY", "subtype"),
        ("floodplain", "ZONE", "zone"),
        ("watercourses", "GNIS_Name", "name"),
        ("watercourses", "half_width", "half_width_ft"),
        ("watercourses", "measured_f", "measured_from"),
        ("footprints", "Project_ID", "project_id"),
    ],
)
def test_the_agencies_columns(kind: str, theirs: str, canonical: str) -> None:
    if theirs == "half_width":
        theirs = "half_width"[:10]
    got = read_layer(frame(**{theirs: ["1", "1", "1"]}), kind)
    assert canonical in got.columns
    assert theirs in got.columns


def test_print_key_is_the_id_of_a_new_york_parcel() -> None:
    got = read_layer(frame(PRINT_KEY=["91.-1-30.11", "91.-1-30.2"]), "parcels")
    assert got["id"].tolist() == ["91.-1-30.11", "91.-1-30.2"]
    assert got.attrs["wetgis"]["columns"]["id"] == "PRINT_KEY"


def test_fields_go_before_aliases_and_are_copies() -> None:
    got = read_layer(
        frame(ATTRIBUTE=["x"], CODE=["PFO1A"]), "wetlands", fields={"cowardin": "code"}
    )
    assert got["cowardin"].tolist() == got["class"].tolist() == got["CODE"].tolist() == ["PFO1A"]
    with pytest.raises(InputError, match="did you mean 'CODE'"):
        read_layer(frame(CODE=["PFO1A"]), "wetlands", fields={"cowardin": "CODES"})


def test_owner_data_only_where_they_are_named() -> None:
    layer = frame(PRIMARY_OWNER=["a"], MAIL_ADDR=["b"], Owner1=["c"], OWNER_TYPE=["8"], TOWN=["x"])
    got = read_layer(layer, "parcels")
    assert {"OWNER_TYPE", "TOWN"} <= set(got.columns)
    assert not {"PRIMARY_OWNER", "MAIL_ADDR", "Owner1"} & set(got.columns)
    kept = read_layer(layer, "parcels", keep=["PRIMARY_OWNER"])
    assert kept["PRIMARY_OWNER"].tolist() == ["a"]
    assert "MAIL_ADDR" not in kept.columns


def test_words_for_not_known() -> None:
    layer = frame(FLD_ZONE=["AE", "NP", " -9999 "], ZONE_SUBTY=["", "FLOODWAY", None])
    got = read_layer(layer, "floodplain")
    assert got["zone"].isna().tolist() == [False, True, True]
    assert got["sfha"].tolist() == ["T", "U", "U"]
    assert "null_value" in codes(got, "note")


def test_dates() -> None:
    layer = frame(
        effective_from=["2025-01-02", "1/2/2026", "soon", None],
        effective_to=[dt.date(2026, 1, 1), None, None, None],
    )
    got = read_layer(layer, "wetlands")
    assert got["effective_from"].dt.strftime("%Y-%m-%d").tolist()[:2] == [
        "2025-01-02",
        "2026-01-02",
    ]
    assert got["effective_from"].isna().tolist() == [False, False, True, True]
    assert got["effective_to"].iloc[0] == pd.Timestamp("2026-01-01")
    assert codes(got, "warning") == ["bad_value"]


@given(st.one_of(st.integers(-(10**30), 10**30), st.text("0123456789.-", min_size=1, max_size=30)))
def test_a_key_is_what_is_written(value: Any) -> None:
    assert text_key(value) == str(value)
    if isinstance(value, int) and abs(value) < 2**53:
        assert text_key(float(value)) == str(value)


# ---------------------------------------------------------------- floodplain

ZONES = {
    "T": [
        "A",
        "AE",
        "AH",
        "AO",
        "AR",
        "A99",
        "A1",
        "A30",
        "A1-30",
        "V",
        "VE",
        "V12",
        "AR/AE",
        "ae",
    ],
    "F": ["X", "B", "C", "X500", "X PROTECTED BY LEVEE", "0.2 PCT ANNUAL CHANCE FLOOD HAZARD"],
    "U": ["D", "AREA NOT INCLUDED", "ANI", "OPEN WATER", "UNDES", "", None, "Q", "ALLUVIUM"],
}


@pytest.mark.parametrize(
    ("zone", "answer"), [(z, a) for a, zones in ZONES.items() for z in zones]
)  # fmt: skip
def test_flood_zones(zone: str | None, answer: str) -> None:
    assert flood_answer(zone) == answer


def test_subtypes() -> None:
    assert flood_answer("X", "0.2 PCT ANNUAL CHANCE FLOOD HAZARD") == "F"
    assert flood_answer("X", "AREA OF MINIMAL FLOOD HAZARD") == "F"
    assert flood_answer("AE", "FLOODWAY") == "T"
    assert flood_answer("X", "AREA NOT INCLUDED") == "U"
    got = read_layer(frame(FLD_ZONE=["AE", "X"], ZONE_SUBTY=["FLOODWAY", None]), "floodplain")
    assert got["class"].tolist() == ["AE FLOODWAY", "X"]
    q3 = read_layer(frame(ZONE=["AE", "X500"], FLOODWAY=["FW", None]), "floodplain")
    assert q3["subtype"].tolist()[0] == "FLOODWAY"


def test_the_files_own_flag() -> None:
    q3 = read_layer(frame(ZONE=["A", "X500", None], SFHA=["IN", "OUT", "OUT"]), "floodplain")
    assert q3["sfha"].tolist() == ["T", "F", "F"]
    only = read_layer(frame(SFHA_TF=["T", "F", "U", "maybe"]), "floodplain")
    assert only["sfha"].tolist() == ["T", "F", "U", "U"]
    assert "no_zone" not in codes(only)
    # D is not studied: the map's F says only that it is not a hazard area on the map
    open_ = read_layer(frame(FLD_ZONE=["D", "OPEN WATER"], SFHA_TF=["F", "F"]), "floodplain")
    assert open_["sfha"].tolist() == ["U", "U"]


def test_zone_and_flag_that_contradict_are_hazard_and_said() -> None:
    got = read_layer(frame(FLD_ZONE=["AE", "X"], SFHA_TF=["F", "T"]), "floodplain")
    assert got["sfha"].tolist() == ["T", "T"]
    assert codes(got, "warning") == ["bad_value"]


def test_a_flood_layer_without_zones_is_all_hazard() -> None:
    got = read_layer(frame(2), "floodplain")
    assert got["sfha"].tolist() == ["T", "T"]
    assert codes(got, "warning") == ["no_zone"]


# ---------------------------------------------------------------- soils

COMPONENTS = """mukey,comppct_r,majcompflag,hydricrating
1,85,Yes,No
1,15,No ,Yes
2,60,Yes, Yes
2,40,No,Unranked
3,100,Yes,Yes
4,100,Yes,
05,90,Yes,No
"""


def test_components(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text(COMPONENTS)
    layer = frame(MUKEY=["1", "2", "3", "4", "05", "9"])
    got = read_layer(layer, "soils", components=str(tmp_path / "c.csv"))
    assert len(got) == 6
    assert got["hydric_pct_low"].tolist()[:5] == [15, 60, 100, 0, 0]
    assert got["hydric_pct_high"].tolist()[:5] == [15, 100, 100, 100, 0]
    assert math.isnan(got["hydric_pct_low"].iloc[5])
    assert "unmatched_key" in codes(got, "warning")
    assert "not_rated" in codes(got)
    # 90 % of unit 05 is all there is
    assert "bad_value" in codes(got, "note")


@pytest.mark.parametrize("keys", [[1, 2], [1.0, 2.0], ["1", "2"]])
def test_keys_join_whatever_they_are_on_either_side(tmp_path: Path, keys: list[Any]) -> None:
    (tmp_path / "c.csv").write_text(COMPONENTS)
    got = read_layer(frame(MUKEY=keys), "soils", components=str(tmp_path / "c.csv"))
    assert got["hydric_pct_low"].tolist() == [15, 60]
    assert got["mukey"].tolist() == ["1", "2"]


def test_a_component_table_without_a_header(tmp_path: Path) -> None:
    def row(percent: int, hydric: str, mukey: str) -> str:
        cells = [""] * 109
        cells[1], cells[22], cells[-2], cells[-1] = str(percent), f'"{hydric}"', f'"{mukey}"', '"c"'
        return "|".join(cells)

    (tmp_path / "comp.txt").write_text("\n".join([row(70, "Yes", "1"), row(30, "No", "1")]))
    got = read_layer(frame(MUKEY=["1"]), "soils", components=str(tmp_path / "comp.txt"))
    assert got["hydric_pct_low"].tolist() == [70]


def test_a_stated_percentage_and_none() -> None:
    got = read_layer(frame(MUKEY=["1", "2"], HYDCLPRS=[30, None]), "soils")
    assert got["hydric_pct_low"].tolist()[0] == got["hydric_pct_high"].tolist()[0] == 30
    assert math.isnan(got["hydric_pct_high"].iloc[1])
    bare = read_layer(frame(MUSYM=["Wh"]), "soils")
    assert bare["hydric_pct_low"].isna().all()
    assert "not_rated" in codes(bare)
    assert bare["class"].tolist() == ["Wh"]


def test_a_missing_or_wrong_component_table(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such table"):
        read_layer(frame(MUKEY=["1"]), "soils", components=str(tmp_path / "c.csv"))
    (tmp_path / "c.csv").write_text("mukey,pct\n1,5\n")
    with pytest.raises(InputError, match="comppct_r"):
        read_layer(frame(MUKEY=["1"]), "soils", components=str(tmp_path / "c.csv"))
    (tmp_path / "c.csv").write_text(COMPONENTS)
    with pytest.raises(InputError, match="mukey"):
        read_layer(frame(MUSYM=["1"]), "soils", components=str(tmp_path / "c.csv"))


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b"]), st.integers(0, 100),
            st.sampled_from(["Yes", "No", "Unranked", None]),
        ),
        min_size=1, max_size=12,
    )
)  # fmt: skip
def test_shares_are_a_range_within_a_hundred(rows: list[tuple[str, int, str | None]]) -> None:
    parts = pd.DataFrame(rows, columns=["mukey", "comppct_r", "hydricrating"])
    out = hydric_shares(parts, IssueLog(), {})
    assert set(out.index) == set(parts["mukey"])
    assert (out["hydric_pct_low"] <= out["hydric_pct_high"]).all()
    assert out.to_numpy().min() >= 0
    assert out.to_numpy().max() <= 100
    turned = hydric_shares(parts.iloc[::-1], IssueLog(), {})
    pd.testing.assert_frame_equal(out.sort_index(), turned.sort_index())


# ---------------------------------------------------------------- watercourses


def lines(**columns: Any) -> gpd.GeoDataFrame:
    size = len(next(iter(columns.values())))
    geoms = [shapely.LineString([(X, Y + 50 * i), (X + 500, Y + 50 * i)]) for i in range(size)]
    return gpd.GeoDataFrame(columns, geometry=geoms, crs=2260)


def test_flow_from_the_nhds_codes() -> None:
    layer = lines(FCode=[46006, 46003, 46007, 46000, 42801, 55800])
    got = read_layer(layer, "watercourses")
    assert got["flow"].tolist()[:3] == ["perennial", "intermittent", "ephemeral"]
    assert got["flow"].isna().tolist() == [False] * 3 + [True] * 3
    assert got["piped"].tolist() == [False, False, False, False, True, False]
    assert "piped" in codes(got, "note")
    assert got["class"].tolist()[:4] == ["perennial", "intermittent", "ephemeral", ""]


def test_centrelines_are_told() -> None:
    got = read_layer(
        lines(half_width_ft=[3.0, None, -9999], measured_from=["centerline", "Bank", None]),
        "watercourses",
    )
    assert got["measured_from"].tolist()[:2] == ["centreline", "bank"]
    assert got["half_width_ft"].isna().tolist() == [False, True, True]
    (text,) = wetgis.issues(got).query("code == 'centreline'")["message"]
    assert text.startswith("1 watercourses")
    assert "centreline" not in codes(read_layer(frame(2), "watercourses"))


def test_piped_in_every_way_of_saying_yes() -> None:
    got = read_layer(lines(piped=["Y", "no", "TRUE", None, "1"]), "watercourses")
    assert got["piped"].tolist() == [True, False, True, False, True]
    assert read_layer(lines(piped=[True, False]), "watercourses")["piped"].tolist() == [True, False]


# ---------------------------------------------------------------- the layer as a whole


def test_overlaps_and_stale_areas_are_told() -> None:
    layer = frame(ACRES=[10_000 / 43_560, 9.99, None])
    layer.loc[2, "geometry"] = shapely.box(X + 50, Y, X + 150, Y + 100)
    got = read_layer(layer, "wetlands")
    table = wetgis.issues(got).set_index("code")["message"]
    assert "1 pairs of records overlap, by 5,000 sq ft" in table["overlapping_records"]
    assert "1 of 3 records" in table["stale_area"]
    assert "overlapping_records" not in codes(read_layer(frame(), "wetlands"))


def test_the_search_for_overlaps_has_a_budget(monkeypatch: Any) -> None:
    from wetgis.sources import checks

    monkeypatch.setattr(checks, "OVERLAP_BUDGET", 25)
    layer = frame()
    for row in (1, 2):
        layer.loc[row, "geometry"] = shapely.box(X + 10 * row, Y, X + 100 + 10 * row, Y + 100)
    circle = shapely.Point(X + 50, Y + 50).buffer(40)
    layer.loc[3] = [circle]
    text = wetgis.issues(read_layer(layer, "wetlands")).set_index("code")["message"]
    assert "overlapping_records" not in text.index or "tried" in text["overlapping_records"]


# ---------------------------------------------------------------- drawings


def dxf(path: Path, entities: str, units: int = 21) -> Path:
    path.write_text(
        f"0\nSECTION\n2\nHEADER\n9\n$INSUNITS\n70\n{units}\n0\nENDSEC\n"
        f"0\nSECTION\n2\nENTITIES\n{entities}0\nENDSEC\n0\nEOF\n"
    )
    return path


def polyline(layer: str, corners: list[tuple[float, float]], closed: bool, sheet: int = 0) -> str:
    text = f"0\nLWPOLYLINE\n8\n{layer}\n67\n{sheet}\n90\n{len(corners)}\n70\n{int(closed)}\n"
    return text + "".join(f"10\n{X + x!r}\n20\n{Y + y!r}\n" for x, y in corners)


def segment(layer: str, a: tuple[float, float], b: tuple[float, float]) -> str:
    return (
        f"0\nLINE\n8\n{layer}\n10\n{X + a[0]!r}\n20\n{Y + a[1]!r}\n"
        f"11\n{X + b[0]!r}\n21\n{Y + b[1]!r}\n"
    )


BOX = [(0.0, 0.0), (100.0, 0.0), (100.0, 50.0), (0.0, 50.0)]


def test_a_drawing(tmp_path: Path) -> None:
    near = [(x + 200, y) for x, y in BOX] + [(200.0, 0.03)]
    open_ = [(x + 400, y) for x, y in BOX] + [(400.0, 10.0)]
    chain = [segment("WORK", (600, 0), (650, 0)), segment("WORK", (650.02, 0), (650, 50)),
             segment("WORK", (600, 0), (650, 50))]  # fmt: skip
    text = f"0\nTEXT\n8\nWORK\n10\n{X}\n20\n{Y}\n40\n5\n1\nlimit\n"
    path = dxf(
        tmp_path / "plan.dxf",
        polyline("WORK", BOX, True) + polyline("WORK", near, False) + polyline("WORK", open_, False)
        + "".join(chain) + text + polyline("WORK", BOX, True, sheet=1)
        + polyline("TREES", BOX, True),
    )  # fmt: skip
    got = read_layer(path, "footprints", layer="WORK", source_crs=2260)
    areas = got.area.fillna(0).round(1).tolist()
    assert sorted(areas) == pytest.approx([0, 1250, 5000, 5000], abs=1)
    assert codes(got, "error") == ["unclosed_ring"]
    assert codes(got).count("unclosed_ring") == 3
    assert codes(got, "warning") == []
    with pytest.raises(InputError, match="TREES, WORK"):
        read_layer(path, "footprints", source_crs=2260)
    with pytest.raises(InputError, match="did you mean 'WORK'"):
        read_layer(path, "footprints", layer="WORKS", source_crs=2260)
    assert len(read_layer(path, layer="*", source_crs=2260)) == 5
    roads = read_layer(path, "roads", layer="WORK", source_crs=2260)
    assert (roads.geom_type == "LineString").sum() == 4
    with pytest.raises(wetgis.WetgisError, match="no coordinate system"):
        read_layer(path, "footprints", layer="WORK")


def test_a_header_that_contradicts_is_a_warning_and_nothing_is_scaled(tmp_path: Path) -> None:
    path = dxf(tmp_path / "plan.dxf", polyline("WORK", BOX, True), units=1)
    got = read_layer(path, "footprints", source_crs=2260)
    assert got.area.tolist() == [5000]
    assert codes(got, "warning") == ["bad_value"]


def test_a_hatch_does_not_count_its_outline_twice(tmp_path: Path) -> None:
    corners = "".join(f"10\n{X + x!r}\n20\n{Y + y!r}\n" for x, y in BOX)
    hatch = (
        "0\nHATCH\n100\nAcDbEntity\n8\nWORK\n100\nAcDbHatch\n10\n0\n20\n0\n30\n0\n210\n0\n220\n0\n"
        f"230\n1\n2\nSOLID\n70\n1\n71\n0\n91\n1\n92\n3\n72\n0\n73\n1\n93\n4\n{corners}97\n0\n75\n0\n"
        "76\n1\n98\n0\n"
    )
    both = dxf(tmp_path / "a.dxf", polyline("WORK", BOX, True) + hatch)
    alone = dxf(tmp_path / "b.dxf", hatch)
    for path in (both, alone):
        got = read_layer(path, "footprints", source_crs=2260)
        assert got.area.tolist() == [5000]
    assert "overlapping_records" in codes(read_layer(both, "footprints", source_crs=2260))


def test_numbers_that_are_not() -> None:
    got = read_layer(frame(accuracy_ft=["5", "five", "inf"]), "wetlands")
    assert got["accuracy_ft"].tolist()[0] == 5
    assert np.isnan(got["accuracy_ft"].to_numpy()[1:]).all()
    assert "bad_value" in codes(got, "warning")
