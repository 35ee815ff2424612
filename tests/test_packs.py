"""Packs: closed keys, cited numbers, dates, overrides."""

from __future__ import annotations

import ast
import datetime
import re
import tomllib
from pathlib import Path

import pytest

import wetgis
from wetgis.errors import PackError
from wetgis.findings import KIND_FUNCTIONS
from wetgis.packs import FOLDER, Pack, list_packs, load_pack
from wetgis.packs.model import KINDS, PackModel
from wetgis.packs.reading import problems_of
from wetgis.schema import ANSWERS, FINDING_SEVERITIES

DAY = datetime.date(2026, 11, 30)

SMALL = """
schema_version = 1
id = "small"
title = "A small law"
place = "Nowhere"
crs = "EPSG:2260"
source = "made for a test"
regulates_buffer = true

[measure]
buffer_ft = "reach"

[parameters.reach]
value = 75
unit = "ft"
comparison = "le"
cite = "1-2"
cite_status = "exact"
says = "The buffer reaches 75 feet."

[[rules]]
id = "S-1"
title = "Near"
kind = "within_reach"
subjects = ["parcel"]
features = ["wetlands"]
parameters = { reach = "reach" }
severity = "inform"
answers = { met = "flag", not_met = "no_flag" }
cite = "1-2"
cite_status = "exact"
says = "Ground near a wetland is its buffer."
"""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL, encoding="utf-8")
    return path


def refused(text: str, path: Path) -> str:
    path.write_text(text, encoding="utf-8")
    with pytest.raises(PackError) as caught:
        load_pack(path)
    return str(caught.value)


# ---------------------------------------------------------------- the packs that come along


def test_the_numbers_of_rye() -> None:
    pack = load_pack("rye-ny-195", as_of=DAY)
    buffer, size = pack.limit("buffer"), pack.limit("class_a_area")
    assert (buffer.value, buffer.unit, buffer.comparison) == (100.0, "ft", "le")
    assert (size.value, size.unit, size.comparison) == (540144.0, "sqft", "ge")
    assert size.lawful == "12.4 acre"
    assert pack.limit("commission_votes").value == 5.0
    assert pack.regulates_buffer
    assert (pack.measure.buffer_ft, pack.measure.hydric_pct, pack.measure.steep_pct) == (
        100.0, 66.0, None,
    )  # fmt: skip
    assert pack.reach_ft == 100.0
    assert pack.crs == "EPSG:2260"


def test_the_numbers_of_monroe() -> None:
    pack = load_pack("monroe-ny-46", as_of=DAY)
    wanted = {
        "map_reach": (100.0, "ft", "le"),
        "wetland_size": (4000.0, "sqft", "gt"),
        "improvements_reach": (200.0, "ft", "le"),
        "utilities_reach": (0.0, "ft", "le"),
        "vegetation_reach": (100.0, "ft", "le"),
        "stockpile_distance": (200.0, "ft", "lt"),
        "toe_strip": (5.0, "ft", "ge"),
        "phasing_area": (217800.0, "sqft", "gt"),
        "steep_slope": (30.0, "pct", "gt"),
        "landscaping_area": (11000.0, "sqft", "lt"),
    }
    for name, expected in wanted.items():
        limit = pack.limit(name)
        assert (limit.value, limit.unit, limit.comparison) == expected, name
    assert pack.limit("stable_slope").value == pytest.approx(100 / 3, abs=1e-12)
    assert not pack.regulates_buffer
    assert pack.reach_ft == 200.0
    assert pack.measure.buffer_ft == 100.0
    assert pack.measure.steep_pct == 30.0


@pytest.mark.parametrize("name", ["minor_permit_disturbance", "major_permit_disturbance"])
def test_numbers_that_the_source_does_not_give_are_missing(name: str) -> None:
    limit = load_pack("monroe-ny-46").limit(name)
    assert not limit.known
    assert limit.missing
    assert limit.cite_status == "cited_only"
    assert limit.section in ("46-3C", "46-3D")


def scope(prefix: str, *spans: tuple[int, int]) -> set[str]:
    return {f"{prefix}-{n:02d}" for a, b in spans for n in range(a, b + 1)}


def test_nothing_of_the_law_is_silently_absent() -> None:
    wanted = {
        "rye-ny-195": scope("RYE", (1, 46)),
        "monroe-ny-46": scope("MON", (1, 60)) - {"MON-10"} | {"MON-10C", "MON-10D"},
    }
    for name, ids in wanted.items():
        pack = load_pack(name)
        there = {r.id for r in pack.rules} | {e.rule for e in pack.model.checklist}
        assert ids <= there, ids - there


def test_the_rules_in_scope_are_tried() -> None:
    rye = {r.id for r in load_pack("rye-ny-195").rules}
    monroe = {r.id for r in load_pack("monroe-ny-46").rules}
    assert scope("RYE", (1, 6), (11, 14), (16, 16), (19, 41)) <= rye
    listed = {1, 2, 3, 4, 5, 11, 12, 14, 15, 16, 17, 18, 24, 25, 26, 27, 29, 30, 32, 38, 39, 48, 49}
    listed |= {50, 53, 59}
    assert {f"MON-{n:02d}" for n in listed} | {"MON-10C", "MON-10D"} <= monroe


@pytest.mark.parametrize("name", list_packs())
def test_words_of_a_pack_are_the_tables_words(name: str) -> None:
    for rule in load_pack(name).rules:
        assert rule.severity in FINDING_SEVERITIES
        answers = rule.answers
        assert {answers.met, answers.not_met, answers.undetermined} <= set(ANSWERS)


@pytest.mark.parametrize("name", list_packs())
def test_a_paraphrase_never_clears_a_site(name: str) -> None:
    text = (FOLDER / f"{name}.toml").read_text("utf-8").lower()
    assert "does not apply" not in text
    assert "not subject" not in text


@pytest.mark.shared
@pytest.mark.parametrize("name", list_packs())
def test_no_sentence_of_the_law_is_copied(name: str, shared: Path) -> None:
    def runs(text: str, length: int = 7) -> set[tuple[str, ...]]:
        words = re.findall(r"[a-z0-9]+", text.lower())
        return {tuple(words[i : i + length]) for i in range(len(words) - length + 1)}

    law = runs((shared / "law" / f"{name}.txt").read_text("utf-8"))
    for piece in re.findall(r'"([^"]*)"', (FOLDER / f"{name}.toml").read_text("utf-8")):
        assert not runs(piece) & law, piece


def test_every_kind_has_a_function_and_every_function_a_kind() -> None:
    # the rule on conflicts looks at all findings together and has none of its own
    assert set(KIND_FUNCTIONS) | {"stricter_rule"} == set(KINDS)


# ---------------------------------------------------------------- what is refused


def test_a_small_pack_of_a_users_own_is_read(small: Path) -> None:
    pack = load_pack(small)
    assert pack.id == "small"
    assert pack.measure.buffer_ft == 75.0
    assert len(pack.sha256) == 64
    assert load_pack(str(small)).sha256 == pack.sha256


def test_an_unknown_key_names_its_path_and_the_nearest(small: Path) -> None:
    text = refused(SMALL.replace('comparison = "le"', 'comparision = "le"'), small)
    assert "small.toml: parameters.reach.comparision" in text
    assert "write 'comparison'" in text
    text = refused(SMALL.replace('severity = "inform"', 'severty = "inform"'), small)
    assert "rules[0].severity" in text or "rules[0].severty" in text
    text = refused(SMALL.replace("[measure]\nbuffer_ft", "[measure]\nbufer_ft"), small)
    assert "measure.bufer_ft" in text
    assert "write 'buffer_ft'" in text
    text = refused(SMALL.replace("place =", "plase ="), small)
    assert "plase" in text or "place" in text


@pytest.mark.parametrize("key", ["unit", "cite", "cite_status", "says", "comparison"])
def test_a_number_needs_unit_citation_and_comparison(small: Path, key: str) -> None:
    lines = SMALL.splitlines(keepends=True)
    start = lines.index("[parameters.reach]\n")
    drop = next(i for i in range(start, len(lines)) if lines[i].startswith(f"{key} ="))
    text = refused("".join(lines[:drop] + lines[drop + 1 :]), small)
    assert f"parameters.reach.{key}" in text


def test_an_empty_citation_is_none(small: Path) -> None:
    text = refused(SMALL.replace('cite = "1-2"', 'cite = " "', 1), small)
    assert "parameters.reach.cite" in text


def test_an_unused_parameter_is_refused(small: Path) -> None:
    extra = (
        SMALL
        + """
[parameters.spare]
value = 3
unit = "ft"
comparison = "le"
cite = "1-3"
cite_status = "exact"
says = "Nothing uses it."
"""
    )
    text = refused(extra, small)
    assert "parameters.spare" in text
    assert "uses this parameter" in text


def test_a_value_and_a_reason_for_its_absence_exclude_each_other(small: Path) -> None:
    both = SMALL.replace("value = 75", 'value = 75\nmissing = "it is not there"\nsection = "1-2"')
    assert "missing" in refused(both, small)
    neither = SMALL.replace("value = 75\n", "")
    assert "parameters.reach" in refused(neither, small)


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        ('kind = "within_reach"', 'kind = "within_reech"', "rules[0].kind"),
        ('reach = "reach" }', 'reach = "rech" }', "rules[0].parameters.reach"),
        ('reach = "reach" }', 'size = "reach" }', "rules[0].parameters"),
        ('features = ["wetlands"]', 'features = ["wetland"]', "rules[0].features"),
        ('unit = "ft"', 'unit = "sqft"', "rules[0].parameters.reach"),
        ('unit = "ft"', 'unit = "feet"', "parameters.reach.unit"),
        ('buffer_ft = "reach"', 'buffer_ft = "rech"', "measure.buffer_ft"),
        ('met = "flag"', 'met = "not subject"', "rules[0].answers.met"),
        ('severity = "inform"', 'severity = "tell"', "rules[0].severity"),
        ("value = 75", 'value = "many"', "parameters.reach.value"),
        ("schema_version = 1", "schema_version = 2", "schema_version"),
    ],
)
def test_what_does_not_fit_is_named(small: Path, old: str, new: str, path: str) -> None:
    assert old in SMALL
    assert path in refused(SMALL.replace(old, new, 1), small)


def test_twice_the_same_id(small: Path) -> None:
    rules = SMALL[SMALL.index("[[rules]]") :]
    assert "rules[1].id" in refused(SMALL + rules, small)


def test_every_problem_is_told_to_the_one_who_checks() -> None:
    text = (
        SMALL.replace('kind = "within_reach"', 'kind = "nothing"')
        + """
[parameters.spare]
unit = "ft"
cite = "1-3"
cite_status = "exact"
says = "Nothing uses it."
"""
    )
    _, problems = problems_of(text)
    assert len(problems) == 3


def test_text_that_is_no_toml(small: Path) -> None:
    assert "TOML" in refused("schema_version = = 1", small)


def test_a_pack_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(PackError, match="write 'rye-ny-195'"):
        load_pack("rye-ny-159")
    with pytest.raises(PackError, match="cannot be read"):
        load_pack(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b'title = "\xe9"')
    with pytest.raises(PackError, match="UTF-8"):
        load_pack(tmp_path / "latin.toml")


def test_the_schema_is_that_of_the_model_and_closed() -> None:
    schema = PackModel.model_json_schema()
    assert schema["additionalProperties"] is False
    assert all(part.get("additionalProperties") is False or "enum" in part
               for part in schema["$defs"].values())  # fmt: skip
    for name in list_packs():
        keys = tomllib.loads((FOLDER / f"{name}.toml").read_text("utf-8"))
        assert set(keys) <= set(schema["properties"])


# ---------------------------------------------------------------- dates and overrides

DATED = SMALL.replace(
    "value = 75",
    "effective = [{ to = 2027-12-31, value = 50 }, { from = 2028-01-01, value = 75.5 }]",
)


def test_a_number_is_that_of_its_day(small: Path) -> None:
    small.write_text(DATED, encoding="utf-8")
    before = load_pack(small, as_of=datetime.date(2027, 12, 31))
    after = load_pack(small, as_of=datetime.date(2028, 1, 1))
    assert (before.limit("reach").value, after.limit("reach").value) == (50.0, 75.5)
    assert before.at(datetime.date(2030, 1, 1)).limit("reach").value == 75.5


def test_a_day_without_a_number_is_said(small: Path) -> None:
    small.write_text(
        DATED.replace("{ to = 2027-12-31", "{ from = 2020-01-01, to = 2027-12-31"),
        encoding="utf-8",
    )
    limit = load_pack(small, as_of=datetime.date(2019, 1, 1)).limit("reach")
    assert not limit.known
    assert "2019-01-01" in limit.missing


def test_periods_must_not_overlap(small: Path) -> None:
    text = refused(DATED.replace("from = 2028-01-01", "from = 2027-06-01"), small)
    assert "parameters.reach.effective[1]" in text
    text = refused(DATED.replace("to = 2027-12-31", "from = 2029-01-01, to = 2027-12-31"), small)
    assert "parameters.reach.effective" in text


def override(pack: Pack, **change: object) -> Pack:
    given = {"value": 10000, "unit": "sqft", "comparison": "ge", "cite": "a letter"}
    return pack.override("minor_permit_disturbance", **{**given, **change})  # type: ignore[arg-type]


def test_an_override_is_a_new_pack_and_marked() -> None:
    pack = load_pack("monroe-ny-46")
    new = override(pack)
    assert not pack.limit("minor_permit_disturbance").known
    limit = new.limit("minor_permit_disturbance")
    assert (limit.value, limit.comparison, limit.cite_status) == (10000.0, "ge", "override")
    assert limit.cite == "a letter"
    assert new.overrides[0].as_json()["value"] == 10000.0
    again = override(new, value=0.25, unit="acre")
    assert again.limit("minor_permit_disturbance").value == 10890.0
    assert len(again.overrides) == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"cite": " "}, "without a citation"),
        ({"unit": "ft"}, "does not measure"),
        ({"comparison": ">"}, "comparison"),
        ({"value": float("nan")}, "not a number"),
        ({"value": float("inf")}, "not a number"),
        ({"value": -1}, "not a number"),
        ({"value": True}, "not a number"),
        ({"value": "many"}, "not a number"),
    ],
)
def test_an_override_that_is_refused(change: dict[str, object], words: str) -> None:
    with pytest.raises(PackError, match=words):
        override(load_pack("monroe-ny-46"), **change)


def test_an_override_of_what_is_not_there() -> None:
    with pytest.raises(PackError, match="write 'wetland_size'"):
        load_pack("monroe-ny-46").override(
            "wetlands_size", value=1, unit="sqft", comparison="gt", cite="a letter"
        )


def test_public_names() -> None:
    assert wetgis.list_packs() == ["monroe-ny-46", "rye-ny-195"]
    assert wetgis.load_pack("rye-ny-195").title.startswith("City of Rye")


# ---------------------------------------------------------------- no legal number in Python

PACKAGE = Path(wetgis.__file__).parent
#: The numbers of both laws, in the law's own units and in those of the findings.
LEGAL = {4000, 11000, 217800, 540144, 12.4, 7.4, 10890, 322344, 12578.54}
#: Pixels and points of a page may happen to be such numbers.
PAGES = ("outputs", "cli")
LAW_MODULES = (
    "activities", "decisions", "determination", "doubts", "explain", "findings", "ground",
    "nearness", "places", "projects", "reaches", "trials", "wording",
)  # fmt: skip
#: What may stand in the law half besides 0, 1 and 2: decimals, ranks, columns.
HARMLESS = {3, 4, 5, 9, 0.01, 0.5}
GEOMETRY = {"shapely", "geopandas", "pyproj", "rasterio", "fiona", "pyogrio", "rtree", "numba"}


def numbers(path: Path) -> list[tuple[float, int]]:
    found = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            found.append((node.value, node.lineno))
    return found


MODULES = [p for p in sorted(PACKAGE.rglob("*.py")) if p.relative_to(PACKAGE).parts[0] not in PAGES]


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_no_legal_number_stands_in_the_code(path: Path) -> None:
    assert not [n for n in numbers(path) if n[0] in LEGAL]


@pytest.mark.parametrize("name", LAW_MODULES)
def test_the_law_half_has_no_numbers_of_its_own(name: str) -> None:
    allowed = {0, 1, 2, *HARMLESS}
    assert not [n for n in numbers(PACKAGE / f"{name}.py") if n[0] not in allowed]


@pytest.mark.parametrize("name", [*LAW_MODULES, "packs/__init__", "packs/model", "packs/reading"])
def test_the_law_half_loads_no_geometry_library(name: str) -> None:
    tree = ast.parse((PACKAGE / f"{name}.py").read_text("utf-8"))
    roots = {
        a.name.split(".")[0] for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names
    }
    roots |= {str(n.module).split(".")[0] for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    assert not roots & GEOMETRY
