"""The report's page as text: what is in it, what stays text, how large it gets."""

from __future__ import annotations

import base64
import gzip
import importlib
import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import shapely

from wetgis.outputs import pagedata, report, shapes
from wetgis.outputs.words import CAVEATS

sys.path.insert(0, str(Path(__file__).parent))
standin = importlib.import_module("outputs_standin")


@pytest.fixture(scope="module")
def result() -> SimpleNamespace:
    return standin.town(120, hostile=True)


@pytest.fixture(scope="module")
def page(result: SimpleNamespace) -> str:
    return report.report_html(result)


class Seen(HTMLParser):
    """Every element and every address on a page."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.attributes: list[str] = []
        self.words: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]
        self.addresses += [
            v or "" for name, v in attrs if name in ("src", "href", "data", "action")
        ]

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def data_of(page: str) -> dict[str, Any]:
    found = re.search(
        r'<script type="application/json" id="data"([^>]*)>(.*?)</script>', page, re.S
    )
    assert found is not None
    text = found.group(2)
    if "gzip" in found.group(1):
        text = gzip.decompress(base64.b64decode(text)).decode("utf-8")
    return dict(json.loads(text))


def test_it_opens_with_what_was_found_and_how_to_read_it(page: str) -> None:
    words = " ".join(Seen(page).words)
    found, caveat = words.index("120 parcels reach a mapped wetland"), words.index(CAVEATS[0])
    assert found < words.index("Table and map", words.index("Provenance"))
    assert caveat < words.index("By provision")
    for text in CAVEATS:
        assert text in words
    assert "does not apply" not in words


def test_nothing_is_loaded_from_elsewhere(page: str) -> None:
    seen = Seen(page)
    assert {"img", "iframe", "object", "embed", "form", "base"} & set(seen.tags) == set()
    assert all(a.startswith(("#", "data:,")) for a in seen.addresses)
    assert seen.tags.count("link") == 1  # the empty icon
    assert "url(" not in page.split("</style>")[0]
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    assert "default-src 'none'" in policy.group(1)
    assert "unsafe" not in policy.group(1)


def test_the_policy_names_the_pages_own_program_and_style(page: str) -> None:
    style = page.split("<style>")[1].split("</style>")[0]
    script = page.rsplit("<script>", 1)[1].split("</script>")[0]
    assert report._hash(style) in page
    assert report._hash(script) in page


def test_hostile_text_stays_text(page: str, result: SimpleNamespace) -> None:
    seen = Seen(page)
    assert seen.tags.count("script") == 2
    assert not [a for a in seen.attributes if a.startswith("on")]
    assert standin.HOSTILE not in page
    assert standin.HOSTILE in " ".join(seen.words)  # the title, as text
    data = data_of(page)
    assert standin.HOSTILE in data["subjects"]["id"]
    assert standin.HOSTILE in data["subjects"]["kept"]["ADDRESS"]["of"]


def test_json_in_a_script_has_no_way_out() -> None:
    text = pagedata.script_json({"a": "</script><!-- & \u2028 ]]>"})
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text)["a"] == "</script><!-- & \u2028 ]]>"


def test_the_pages_numbers_are_the_tables(page: str, result: SimpleNamespace) -> None:
    data = data_of(page)
    theirs = result.measures.sort_values(["subject_kind", "subject_id"])
    subjects = data["subjects"]
    assert subjects["id"] == list(theirs["subject_id"])
    np.testing.assert_allclose(
        subjects["numbers"]["wetland_sqft"], theirs["wetland_sqft"], atol=0.051
    )
    assert set(subjects["numbers"]["indicator_ft"]) == {"inf"}
    assert "steep_sqft" not in subjects["numbers"]  # known nowhere
    kept = result.findings[result.findings["outcome"] != "not_met"]
    met = [o for o in data["findings"]["outcome"] if o != 1]
    assert len(met) == len(kept)


def test_a_value_near_its_threshold_is_not_shortened() -> None:
    import pandas as pd

    values = pd.Series([4000.0004, 4000.0, 5000.123456, 0.0001, np.nan, np.inf])
    exact = pagedata._exact(values, pd.Series([4000.0] * 6))
    assert exact == [4000.0004, 4000.0, 5000.12, 0.0001, None, "inf"]


@pytest.mark.parametrize(
    ("geometry", "told"),
    [
        (shapely.box(0, 0, 2, 1), [2, [2, 0, 0, 1, -2, 0, 0, -1]]),
        (shapely.LineString([(0, 0), (3, 4), (3, 4.2)]), [1, [0, 0, 3, 4]]),
        (shapely.Point(5, 6), [0, [5, 6]]),
        (shapely.Polygon(), None),
        (None, None),
        (shapely.MultiPoint([(0, 0), (1, 1)]), [0, [0, 0], [1, 1]]),
        (
            shapely.GeometryCollection([shapely.Point(9, 9), shapely.LineString([(0, 0), (1, 0)])]),
            [1, [0, 0, 1, 0]],
        ),
    ],
    ids=["area", "line", "point", "empty", "none", "points", "collection"],
)
def test_shapes_on_a_grid(geometry: object, told: object) -> None:
    geoms = np.array([geometry], dtype=object)
    assert shapes.encode(geoms, shapes.Grid(0.0, 0.0, 1.0)) == [told]


def test_a_collection_is_reduced_to_what_is_largest_in_it() -> None:
    square, other = shapely.box(0, 0, 1, 1), shapely.box(5, 5, 6, 6)
    line = shapely.LineString([(0, 0), (9, 9)])
    deep = shapely.GeometryCollection(
        [shapely.GeometryCollection([line, shapely.MultiPolygon([square, other])]), line]
    )
    lines = shapely.GeometryCollection([line, shapely.Point(1, 2)])
    made = shapes.without_collections(
        np.array([deep, line, lines, None, shapely.GeometryCollection()], dtype=object)
    )
    assert shapely.equals(made[0], shapely.MultiPolygon([square, other]))
    assert made[1] is line
    assert made[2].geom_type == "MultiLineString"
    assert list(made[3:]) == [None, None]


def test_shapes_come_back_within_half_a_step() -> None:
    rng = np.random.default_rng(5)
    rings = [rng.uniform(0, 900, (9, 2)) + standin.ORIGIN for _ in range(40)]
    lines = np.array([shapely.LineString(r) for r in rings], dtype=object)
    grid = shapes.Grid(*standin.ORIGIN, 0.1)
    for line, shape in zip(rings, shapes.encode(lines, grid), strict=True):
        back = np.cumsum(np.array(shape[1]).reshape(-1, 2), axis=0) * 0.1 + standin.ORIGIN
        assert np.abs(back - line).max() <= 0.05 + 1e-9


def test_holes_are_kept() -> None:
    donut = shapely.box(0, 0, 10, 10).difference(shapely.box(4, 4, 6, 6))
    shape = shapes.encode(np.array([donut]), shapes.Grid(0.0, 0.0, 1.0))[0]
    assert len(shape) == 3


def test_a_page_that_would_be_too_large_says_what_it_left_out(
    result: SimpleNamespace, page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "Shapes are drawn to within 0.3 ft" in page
    sizes = [len(pagedata.script_json(pagedata.page_data(result, d))) for d in pagedata.LADDER]
    assert sizes == sorted(sizes, reverse=True)
    monkeypatch.setattr(report, "MAX_BYTES", len(page.encode()) - 4_000)
    smaller = report.report_html(result)
    assert len(smaller.encode()) < len(page.encode()) - 4_000
    assert "Shapes are drawn to within 0.3 ft" not in smaller
    monkeypatch.setattr(report, "MAX_BYTES", 1)
    least = report.report_html(result)
    for told in ("findings.parquet has them", "not drawn", "measures.csv has them"):
        assert told in least
    statuses = data_of(least)["subjects"]["status"]
    assert 5 not in statuses  # none_found


def test_a_packed_page_holds_the_same(
    result: SimpleNamespace, page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "_PLAIN_CHARACTERS", 10)
    packed = report.report_html(result)
    assert len(packed) < len(page)
    assert data_of(packed) == data_of(page)


def test_not_met_is_told_near_features_and_in_doubt_only(result: SimpleNamespace) -> None:
    data = pagedata.page_data(result, pagedata.LADDER[0])
    findings, subjects = data["findings"], data["subjects"]
    not_met = [i for i, o in enumerate(findings["outcome"]) if o == 1]
    assert not_met
    for row in not_met:
        quiet = subjects["status"][findings["subject"][row]] == 5
        assert not quiet or findings["doubt"]["of"][findings["doubt"]["at"][row]]


def test_metres_become_feet_on_the_page(result: SimpleNamespace) -> None:
    metric = SimpleNamespace(**vars(result))
    crs = "EPSG:32115"  # the same zone's projection in metres
    metric.measures = result.measures.to_crs(crs)
    metric.contacts = result.contacts.to_crs(crs)
    metric.layers = {k: v.to_crs(crs) for k, v in result.layers.items()}
    feet = pagedata.page_data(result, pagedata.LADDER[0])["subjects"]["shapes"]
    metres = pagedata.page_data(metric, pagedata.LADDER[0])["subjects"]["shapes"]

    def width(shape: list[Any]) -> int:
        x = np.cumsum(np.array(shape[1]).reshape(-1, 2)[:, 0])
        return int(x.max() - x.min())

    for a, b in zip(feet, metres, strict=True):
        assert abs(width(a) - width(b)) <= 6  # tenths of a foot; two datums' realisations


def test_issues_overrides_and_provenance_are_told(result: SimpleNamespace) -> None:
    told = SimpleNamespace(**vars(result))
    told.provenance = {
        **result.provenance,
        "overrides": [
            {"pack": "monroe-ny-46", "parameter": "major_permit_disturbance", "value": 43560.0,
             "unit": "sqft", "comparison": "ge", "cite": "46-3D as supplied by the town"}
        ],
        "operations": [
            {"from": "EPSG:4267", "to": "EPSG:2260", "definition": "+proj=x", "accuracy_m": None,
             "ballpark": True, "missing_grids": ["us_noaa_conus.tif"]}
        ],
    }  # fmt: skip
    words = " ".join(Seen(report.report_html(told)).words)
    for text in (
        "major_permit_disturbance", "46-3D as supplied by the town", "ballpark",
        "us_noaa_conus.tif", "091-12", "41,250", "41,199", "RYE-13", "ab" * 32, "cd" * 32,
    ):  # fmt: skip
        assert text in words, text


def test_a_screening_of_nothing_has_a_page(result: SimpleNamespace) -> None:
    empty = SimpleNamespace(**vars(result))
    for name in ("measures", "findings", "contacts", "parts", "issues", "checklist"):
        setattr(empty, name, getattr(result, name).iloc[:0])
    empty.layers, empty.provenance, empty.title = {}, {"schema_version": 1}, ""
    page = report.report_html(empty)
    assert "There were no subjects to screen." in page
    assert data_of(page)["subjects"]["id"] == []


@pytest.mark.slow
def test_twenty_thousand_parcels_stay_below_ten_megabytes(tmp_path: Path) -> None:
    big = standin.town(20_000)
    report.write_report(big, tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size < 10_000_000
    data = data_of((tmp_path / "report.html").read_text("utf-8"))
    assert len(data["subjects"]["id"]) == len(big.measures)
    assert all(data["subjects"]["shapes"])
