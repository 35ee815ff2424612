"""The verbs about law packs."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


def test_list(cli: Callable[..., Any]) -> None:
    ran = cli("packs", "list")
    assert ran.code == 0
    assert [line.split()[0] for line in ran.out.splitlines()] == ["monroe-ny-46", "rye-ny-195"]
    assert {p["crs"] for p in json.loads(cli("packs", "list", "--json").out)} == {"EPSG:2260"}


def test_show_cites_each_number(cli: Callable[..., Any]) -> None:
    ran = cli("packs", "show", "rye-ny-195")
    assert ran.code == 0
    assert "buffer: up to 100 ft" in ran.out
    shown = json.loads(cli("packs", "show", "rye-ny-195", "--json").out)
    assert all(p["cite"] for p in shown["parameters"].values())
    assert all(f"[{p['cite']}" in ran.out for p in shown["parameters"].values())


def test_show_says_what_the_source_does_not_give(cli: Callable[..., Any]) -> None:
    ran = cli("packs", "show", "monroe-ny-46")
    assert "major_permit_disturbance: " in ran.out
    assert "not known (" in ran.out


def test_unknown_pack(cli: Callable[..., Any]) -> None:
    ran = cli("packs", "show", "rye-ny-196")
    assert ran.code == 1
    assert "rye-ny-195" in ran.err


def test_new_writes_one_that_is_right(cli: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "my-town.toml"
    assert cli("packs", "new", path).code == 0
    checked = cli("packs", "check", path)
    assert (checked.code, checked.out) == (0, "")
    assert "1 numbers, 2 rules" in checked.err
    assert cli("packs", "new", path).code == 1


def test_new_writes_cases_that_come_out(cli: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "my-town.toml"
    cases = tmp_path / "my-town-cases.toml"
    assert cli("packs", "new", path).out.splitlines() == [str(path), str(cases)]
    ran = cli("packs", "test", cases)
    assert (ran.code, ran.out) == (0, ""), ran.out
    assert "2 of 2 cases" in ran.err


def test_a_case_that_comes_out_otherwise_is_told(cli: Callable[..., Any], tmp_path: Path) -> None:
    cli("packs", "new", tmp_path / "my-town.toml")
    cases = tmp_path / "my-town-cases.toml"
    text = cases.read_text("utf-8").replace("distance_ft = 100.01", "distance_ft = 99.0")
    cases.write_text(text, encoding="utf-8")
    ran = cli("packs", "test", cases)
    assert ran.code == 1
    assert "at 100.01 ft it does not" in ran.out
    assert "outcome is 'met', expected 'not_met'" in ran.out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "there is no case in it"),
        ("[[case]]\nname = 'x'\n", "has no packs and no expect"),
        ("case = [", "this is not TOML"),
    ],
)
def test_case_files_that_cannot_be_used(
    cli: Callable[..., Any], tmp_path: Path, text: str, said: str
) -> None:
    path = tmp_path / "cases.toml"
    path.write_text(text, encoding="utf-8")
    ran = cli("packs", "test", path)
    assert ran.code == 1
    assert said in ran.err


def test_a_word_that_no_finding_has(cli: Callable[..., Any], tmp_path: Path) -> None:
    cli("packs", "new", tmp_path / "my-town.toml")
    cases = tmp_path / "my-town-cases.toml"
    cases.write_text(cases.read_text("utf-8").replace("outcome =", "outcom ="), encoding="utf-8")
    ran = cli("packs", "test", cases)
    assert ran.code == 1
    assert "cannot expect 'outcom'" in ran.err


def test_check_names_every_mistake_and_its_place(cli: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "my-town.toml"
    cli("packs", "new", path)
    text = path.read_text("utf-8").replace('comparison = "le"', 'comparision = "le"', 1)
    path.write_text(text, encoding="utf-8")
    ran = cli("packs", "check", path)
    assert ran.code == 1
    assert "parameters.buffer.comparision" in ran.out
    (row,) = json.loads(cli("packs", "check", path, "--json").out)["problems"]
    assert "comparison" in row["mend"]


def test_the_installed_packs_pass_their_own_check(cli: Callable[..., Any]) -> None:
    from wetgis.packs import FOLDER, list_packs

    ran = cli("packs", "check", *[FOLDER / f"{name}.toml" for name in list_packs()])
    assert ran.code == 0, ran.out


def test_schema_is_json_schema(cli: Callable[..., Any]) -> None:
    schema = json.loads(cli("packs", "schema").out)
    assert schema["additionalProperties"] is False
    assert {"parameters", "rules", "checklist"} <= set(schema["properties"])


def test_the_new_pack_works_in_a_screening(cli: Callable[..., Any], tmp_path: Path) -> None:
    import geopandas
    import shapely

    import wetgis

    path = tmp_path / "my-town.toml"
    cli("packs", "new", path)
    assert tomllib.loads(path.read_text("utf-8"))["id"] == "my-town"

    def frame(*box: float) -> geopandas.GeoDataFrame:
        return geopandas.GeoDataFrame({"id": ["a"]}, geometry=[shapely.box(*box)], crs=2260)

    found = wetgis.screen(
        wetgis.Site.from_layers(
            footprints=frame(717000, 783000, 717050, 783050),
            wetlands=frame(717100, 783000, 717200, 783050),
            watercourses=frame(717500, 783000, 717510, 783050),
            packs=[path],
        )
    )
    rows = found.findings[found.findings["rule"] == "MYT-02"]
    assert rows["answer"].tolist() == ["permit_required"]
