"""A run in pieces leaves the same files behind, wherever a piece ends."""

from __future__ import annotations

import csv
import dataclasses
import functools
import importlib
import io
import json
import re
import sqlite3
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import shapely

import wetgis
from wetgis import outputs
from wetgis.errors import InputError
from wetgis.outputs import office, pagedata, pagesize, parquet, report, tables, text
from wetgis.outputs.geopackage import write_geopackage
from wetgis.outputs.pieces import SORTED_BY, SUBJECT, Finished, in_order, sized
from wetgis.outputs.tally import Findings, Shapes, Subjects, Tally
from wetgis.samples import sample_sites

sys.path.insert(0, str(Path(__file__).parent))
standin = importlib.import_module("outputs_standin")

WHOLE = 10**9


@functools.cache
def sample(name: str) -> wetgis.Screening:
    return wetgis.screen(wetgis.read_site(next(p for p in sample_sites() if p.parent.name == name)))


def town(**changes: Any) -> SimpleNamespace:
    made = SimpleNamespace(**vars(standin.town(40, hostile=True)))
    for name, value in changes.items():
        setattr(made, name, value)
    return made


def awkward() -> SimpleNamespace:
    """A town with ids that need quotes, letters of everywhere, and columns that are rarely full."""
    made = town()
    measures = made.measures.copy()
    measures["ADDRESS"] = [("a, b", 'say "no"', "Straße 五", "-1", None)[i % 5] for i in range(46)]
    measures["BUILT"] = pd.to_datetime(
        ["1999-12-31"] * 40 + ["2001-02-03 04:05"] * 5 + [None], format="ISO8601"
    )
    measures["ROOMS"] = pd.array([*range(45), None], dtype="Int64")
    made.measures = measures
    made.findings = made.findings.assign(note="one\r\ntwo; drei, 四")
    return made


def nothing() -> SimpleNamespace:
    made = town(layers={}, title="", provenance={"schema_version": 1})
    for name in (*SORTED_BY, "issues", "checklist"):
        setattr(made, name, getattr(made, name).iloc[:0])
    return made


RUNS = {
    "highmoor": (lambda: sample("highmoor"), (64,)),
    "shoreville": (lambda: sample("shoreville"), (64,)),
    "town": (town, (1, 7)),
    "awkward": (awkward, (1, 7)),
    "no law": (lambda: town(findings=town().findings.iloc[:0], packs=()), (1,)),
    "nothing": (nothing, (1,)),
}
CASES = [(name, size) for name, (_, sizes) in RUNS.items() for size in sizes]
SLOW = [
    pytest.param(name, 7, marks=pytest.mark.slow)
    for name in ("highmoor", "shoreville")  # pieces of one subject: the small towns
]


@functools.cache
def run_of(name: str) -> Any:
    return RUNS[name][0]()


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The files of a run in pieces of a size, written once."""

    @functools.cache
    def written(name: str, size: int) -> Path:
        folder = tmp_path_factory.mktemp("run")
        outputs.write_finished(Finished.of(run_of(name), size), folder)
        return folder

    return written


@pytest.mark.parametrize(("name", "size"), [*CASES, *SLOW])
def test_every_file_is_the_same(name: str, size: int, folders: Any) -> None:
    one, other = folders(name, WHOLE), folders(name, size)
    assert {p.name for p in one.iterdir()} == {p.name for p in other.iterdir()}
    for path in one.iterdir():
        if path.suffix not in (".gpkg", ".xlsx"):
            assert path.read_bytes() == (other / path.name).read_bytes(), path.name
    assert sheets(one) == sheets(other)
    layers, others = content(one), content(other)
    assert layers.keys() == others.keys()
    for layer, rows in layers.items():
        assert rows == others[layer], layer


def sheets(folder: Path) -> dict[str, bytes]:
    """Every part of the workbook but the one that has the time of day."""
    with zipfile.ZipFile(folder / "screening.xlsx") as book:
        return {n: book.read(n) for n in book.namelist() if n != "docProps/core.xml"}


def content(folder: Path) -> dict[str, list[Any]]:
    """Every table of the GeoPackage as it is stored, its index and its styles among them."""
    with sqlite3.connect(f"file:{folder / 'screening.gpkg'}?mode=ro", uri=True) as connection:
        names = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'")
        found = {}
        for name, sql in names.fetchall():
            columns = connection.execute(f'PRAGMA table_info("{name}")').fetchall()
            kept = ", ".join(
                f'"{c[1]}"' for c in columns if c[1] not in ("last_change", "update_time")
            )
            found[name] = [sql, *connection.execute(f'SELECT {kept} FROM "{name}"').fetchall()]
        return found


def test_a_screening_is_written_by_the_same_code(folders: Any, tmp_path: Path) -> None:
    outputs.write(run_of("shoreville"), tmp_path)
    for path in folders("shoreville", 64).iterdir():
        if path.suffix not in (".gpkg", ".xlsx"):
            assert path.read_bytes() == (tmp_path / path.name).read_bytes(), path.name


@pytest.mark.parametrize(("name", "size"), CASES)
def test_the_words_are_the_same(name: str, size: int) -> None:
    run = run_of(name)
    assert text.summary_of(Finished.of(run, size)) == text.summary(run)
    findings = Findings.of(Finished.of(run, size).read("findings"))
    assert text.provisions(run, findings) == text.provisions(run)


@pytest.mark.parametrize("table", SORTED_BY)
@pytest.mark.parametrize("size", [1, 7, WHOLE])
def test_pieces_are_whole_subjects_in_the_order_of_the_files(table: str, size: int) -> None:
    made = town()
    shuffled = town(**{table: getattr(made, table).sample(frac=1, random_state=2)})
    run = Finished.of(shuffled, size)
    pieces = list(run.read(table))
    assert [len(p) for p in pieces] == [len(p) for p in run.read(table)]  # as often as one likes
    assert sum(map(len, pieces)) == run.counts[table] == len(getattr(made, table))
    again = pd.concat([pd.DataFrame(p) for p in pieces], ignore_index=True)
    pd.testing.assert_frame_equal(again, pd.DataFrame(in_order(table, getattr(made, table))))
    subjects = [set(p[SUBJECT].itertuples(index=False, name=None)) for p in pieces]
    assert all(len(s) == size for s in subjects[:-1])
    assert len(set().union(*subjects)) == sum(map(len, subjects))
    assert all((p.dtypes == pieces[0].dtypes).all() for p in pieces)


@pytest.mark.parametrize("table", SORTED_BY)
def test_a_table_of_nothing_is_one_empty_piece(table: str) -> None:
    (piece,) = Finished.of(nothing()).read(table)
    assert len(piece) == 0
    assert list(piece.columns) == list(getattr(town(), table).columns)


@pytest.mark.parametrize("rows", [1, 4, 5, 9, 100])
def test_frames_of_a_size(rows: int) -> None:
    pieces = [pd.DataFrame({"n": range(a, b)}) for a, b in ((0, 4), (4, 4), (4, 9), (9, 10))]
    made = list(sized(pieces, rows))
    assert [n for frame in made for n in frame["n"]] == list(range(10))
    assert all(len(frame) == rows for frame in made[:-1])
    assert 0 < len(made[-1]) <= rows
    assert [len(frame) for frame in sized(pieces[1:2], rows)] == [0]


@pytest.mark.parametrize("group", [5, 16, 46])
def test_row_groups_do_not_follow_pieces(
    group: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "_ROWS_PER_GROUP", group)
    for size in (1, 7, 46, WHOLE):
        tables.write_run(Finished.of(town(), size), tmp_path / str(size))
    for table in SORTED_BY:
        files = {(tmp_path / str(s) / f"{table}.parquet").read_bytes() for s in (1, 7, 46, WHOLE)}
        assert len(files) == 1
        about = pq.read_metadata(tmp_path / "7" / f"{table}.parquet")
        rows = [about.row_group(i).num_rows for i in range(about.num_row_groups)]
        assert all(n == group for n in rows[:-1])
        assert sum(rows) == len(getattr(town(), table))


def test_the_head_of_a_file_knows_every_geometry(tmp_path: Path) -> None:
    x, y = standin.ORIGIN
    far = shapely.MultiPolygon([shapely.box(x - 900, y - 900, x - 800, y - 800)])
    parts = town().parts.copy()
    parts.loc[parts.index[-1], "geometry"] = far
    parts.loc[parts.index[:2], "geometry"] = [None, shapely.Point()]
    tables.write_run(Finished.of(town(parts=parts), 1), tmp_path)
    head = json.loads(pq.read_schema(tmp_path / "parts.parquet").metadata[b"geo"])
    about = head["columns"]["geometry"]
    assert set(about["geometry_types"]) == {"Point", "Polygon", "MultiPolygon"} | {
        g.geom_type for g in parts.geometry[2:]
    }
    known = parts.geometry[2:]
    np.testing.assert_array_equal(about["bbox"], known.total_bounds)
    read = gpd.read_parquet(tmp_path / "parts.parquet")
    assert read.crs == parts.crs
    assert read.geometry.isna().sum() == 1


def test_cells_of_people_are_guarded_in_every_piece(folders: Any) -> None:
    for size in (1, WHOLE):
        told = (folders("awkward", size) / "measures.csv").read_text("utf-8")
        rows = list(csv.DictReader(io.StringIO(told)))
        assert len(rows) == 46
        assert {row["BUILT"] for row in rows} == {"1999-12-31", "2001-02-03 04:05:00", ""}
        assert {row["ADDRESS"] for row in rows} == {"a, b", 'say "no"', "Straße 五", "'-1", ""}
        findings = (folders("awkward", size) / "findings.csv").read_text("utf-8")
        assert {r["note"] for r in csv.DictReader(io.StringIO(findings))} == {"one\ntwo; drei, 四"}


def test_a_layer_in_pieces_is_one_layer(folders: Any) -> None:
    for name in ("wetlands", "parcels", "parts"):
        rows = content(folders("town", 1))[name][1:]
        assert [row[0] for row in rows] == list(range(1, len(rows) + 1))
    index = content(folders("town", 1))["rtree_parcels_geom"]
    assert len(index) == 1 + 40


def broken(run: Any, table: str, after: int) -> Finished:
    """A run whose pieces cannot be read to the end."""
    whole = Finished.of(run, 7)

    def read(name: str) -> Iterator[pd.DataFrame]:
        for number, piece in enumerate(whole.read(name)):
            if name == table and number == after:
                raise InputError("the piece is torn.", where="findings-0002")
            yield piece

    return dataclasses.replace(whole, read=read)


@pytest.mark.parametrize("table", SORTED_BY)
def test_a_piece_that_cannot_be_read_is_told_as_such(table: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="torn"):
        outputs.write_finished(broken(town(), table, 1), tmp_path)
    assert list(tmp_path.iterdir()) == []
    tally = Tally.of(Finished.of(town()))
    with pytest.raises(InputError, match="torn"):
        write_geopackage(broken(town(), table, 1), tmp_path / "a.gpkg", tally=tally)
    assert list(tmp_path.iterdir()) == []


def test_a_sheet_reads_no_more_than_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(office, "_ROWS_OF_A_SHEET", 12)
    monkeypatch.setattr(office, "_ROWS_AT_ONCE", 7)
    run = town()
    tally = Tally.of(Finished.of(run))
    office.write_workbook(broken(run, "measures", 3), tmp_path / "a.xlsx", tally=tally)
    office.write_workbook(run, tmp_path / "b.xlsx")
    parts = []
    for name in ("a.xlsx", "b.xlsx"):
        with zipfile.ZipFile(tmp_path / name) as book:
            parts.append(book.read("xl/worksheets/sheet2.xml"))
    assert parts[0] == parts[1]
    assert b"The first 10 of 46 rows" in parts[0]


def test_areas_are_the_same_in_any_order() -> None:
    measures = town().measures
    forth = Subjects.of([measures])
    back = Subjects.of([measures.iloc[i : i + 1] for i in range(45, -1, -1)])
    assert forth.area_sqft("parcel", "wetland_sqft") == back.area_sqft("parcel", "wetland_sqft")
    known = measures.loc[measures["subject_kind"] == "parcel", "wetland_sqft"].sum()
    assert forth.area_sqft("parcel", "wetland_sqft") == pytest.approx(known, abs=1e-4)
    unknown = measures.assign(wetland_sqft=np.nan)
    assert Subjects.of([unknown]).area_sqft("parcel", "wetland_sqft") is None


def test_shapes_of_pieces_are_those_of_all() -> None:
    geoms = np.array([None, shapely.Point(), shapely.box(0, 1, 2, 3), shapely.Point(9, -4)])
    whole, pieces = Shapes(), Shapes()
    whole.add(geoms)
    for geom in geoms:
        one = Shapes()
        one.add(np.array([geom]))
        pieces.also(one)
    assert pieces == whole
    assert whole == Shapes({"Point", "Polygon"}, {0, 2}, (0.0, -4.0, 9.0, 3.0), 6)


# ---- the page of a run that is too large for one


def page_of(run: Any, bytes_: int, monkeypatch: pytest.MonkeyPatch) -> tuple[str, dict[str, Any]]:
    monkeypatch.setattr(pagesize, "_FEW_SUBJECTS", 100)
    monkeypatch.setattr(pagesize, "_LEAST_SUBJECTS", 5)
    monkeypatch.setattr(report, "MAX_BYTES", bytes_)
    monkeypatch.setattr(report, "_PLAIN_CHARACTERS", WHOLE)
    page = report.report_html(run)
    data = re.search(r'id="data"[^>]*>(.*?)</script>', page, re.S)
    assert data is not None
    return page, json.loads(data.group(1))


def test_a_large_page_is_not_made_first(monkeypatch: pytest.MonkeyPatch) -> None:
    run = standin.town(2_000)
    sizes = [len(pagedata.script_json(pagedata.page_data(run, d))) for d in pagedata.LADDER]
    # a guess is made of packed sizes; here nothing is packed
    monkeypatch.setattr(pagesize.zlib, "compress", lambda text: text)
    monkeypatch.setattr(pagesize, "_CHARACTERS_A_BYTE", 1.0)
    page, _ = page_of(run, WHOLE, monkeypatch)
    room = len(page.encode()) - sizes[0] + sizes[3] + 500
    made: list[pagedata.Detail] = []
    real = report.page_text
    monkeypatch.setattr(
        report, "page_text", lambda r, detail, t: made.append(detail) or real(r, detail, t)
    )
    page, _ = page_of(Finished.of(run, 300), room, monkeypatch)
    assert len(page.encode()) <= room
    assert made[-1] == pagedata.LADDER[3]
    assert pagedata.LADDER[0] not in made  # it is told from every second subject


def test_the_last_page_lists_the_gravest_subjects(monkeypatch: pytest.MonkeyPatch) -> None:
    run = standin.town(400)
    least = report.report_html(town())
    page, data = page_of(run, len(least.encode()), monkeypatch)
    assert len(page.encode()) <= len(least.encode())
    told = re.search(r"Of the others ([\d,]+) are listed", page)
    assert told is not None
    most = int(told.group(1).replace(",", ""))
    listed = data["subjects"]["status"]
    assert len(listed) == most
    near = run.measures[run.measures["status"] != "none_found"]
    ranks = sorted(list(pagedata.STATUSES).index(s) for s in near["status"])
    assert sorted(listed) == ranks[:most]
    assert set(data["findings"]["subject"]) <= set(range(most))


@pytest.mark.parametrize("most", [0, 3, 10**6])
def test_what_is_shown_is_counted_by_status(most: int) -> None:
    subjects = Subjects.of([standin.town(120).measures])
    detail = dataclasses.replace(pagedata.LADDER[-1], most=most)
    shown = detail.shown(subjects)
    assert sum(shown.values()) == min(most, 126 - subjects.of_status("none_found"))
    assert "none_found" not in shown
    assert sum(pagedata.LADDER[0].shown(subjects).values()) == 126
