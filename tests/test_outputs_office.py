"""The workbook and the words on stdout."""

from __future__ import annotations

import importlib
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace

import openpyxl
import pytest

from wetgis.outputs import office, text

sys.path.insert(0, str(Path(__file__).parent))
standin = importlib.import_module("outputs_standin")


@pytest.fixture(scope="module")
def result() -> SimpleNamespace:
    return standin.town(120, hostile=True)


@pytest.fixture(scope="module")
def path(result: SimpleNamespace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("office") / "screening.xlsx"
    office.write_workbook(result, path)
    return path


@pytest.fixture(scope="module")
def book(path: Path) -> openpyxl.Workbook:
    return openpyxl.load_workbook(path)


def column(sheet: openpyxl.worksheet.worksheet.Worksheet, name: str) -> list[object]:
    names = [cell.value for cell in sheet[1]]
    return [row[names.index(name)] for row in sheet.iter_rows(min_row=2, values_only=True)]


def test_the_first_sheet_is_in_words(book: openpyxl.Workbook) -> None:
    assert book.sheetnames[0] == "Summary"
    told = [str(v) for row in book["Summary"].iter_rows(values_only=True) for v in row if v]
    assert any("parcels reach a mapped wetland" in line for line in told)
    assert any("screening, not a determination" in line for line in told)


def test_ids_are_text_and_numbers_are_numbers(
    book: openpyxl.Workbook, result: SimpleNamespace
) -> None:
    sheet = book["Measures"]
    ids = column(sheet, "subject_id")
    assert all(isinstance(v, str) for v in ids)
    assert "001.00-3" in ids
    theirs = result.measures.sort_values(["subject_kind", "subject_id"])
    assert column(sheet, "wetland_sqft") == pytest.approx(list(theirs["wetland_sqft"]))
    assert set(column(sheet, "indicator_ft")) == {None}  # infinite
    assert set(column(sheet, "steep_sqft")) == {None}  # not known


def test_headers_stay_in_sight_and_say_their_unit(book: openpyxl.Workbook) -> None:
    for name in ("Measures", "Findings", "Contacts", "Issues", "Checklist"):
        sheet = book[name]
        assert sheet.freeze_panes == "A2"
        assert sheet.auto_filter.ref
    comments = {c.value: c.comment.text for c in book["Measures"][1] if c.comment}
    assert comments["wetland_sqft"].endswith("Wetland, sq ft")
    units = dict(
        zip(column(book["Columns"], "column"), column(book["Columns"], "unit"), strict=True)
    )
    assert units["slope_max_pct"] == "%"


def test_nothing_is_a_formula(book: openpyxl.Workbook, path: Path) -> None:
    for sheet in book:
        for row in sheet.iter_rows():
            for cell in row:
                assert cell.data_type != "f"
                assert not (isinstance(cell.value, str) and cell.value.startswith(("=", "+", "@")))
    assert "'=HYPERLINK(1)" in column(book["Measures"], "subject_id")
    with zipfile.ZipFile(path) as archive:
        sheets = [n for n in archive.namelist() if n.startswith("xl/worksheets/sheet")]
        assert not any(
            b"<f>" in archive.read(n) or b"hyperlink " in archive.read(n) for n in sheets
        )


def test_answers_stand_in_words_too(book: openpyxl.Workbook) -> None:
    assert "May be subject to the law" in column(book["Findings"], "answer in words")
    assert "not_met" not in column(book["Findings"], "outcome")


def test_a_table_longer_than_a_sheet_says_so(
    result: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(office, "_ROWS_OF_A_SHEET", 12)
    office.write_workbook(result, tmp_path / "short.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "short.xlsx")["Measures"]
    assert sheet.max_row == 12
    assert str(sheet.cell(12, 1).value).startswith("The first 10 of 12")


def test_the_summary_says_what_was_found(result: SimpleNamespace) -> None:
    told = text.summary(result)
    parcels = result.measures[result.measures["subject_kind"] == "parcel"]
    near = parcels["status"].isin(["on_feature", "in_buffer", "touching"]).sum()
    assert f"{near} of 120 parcels reach a mapped wetland" in told
    assert "RYE-12  May be subject to the law" in told
    assert "needs the number of 46-3C" in told
    assert "1 record or layer could not be used, 1 warning and 2 notes" in told
    assert told.splitlines()[0] == standin.HOSTILE


def test_the_summary_of_nothing(result: SimpleNamespace) -> None:
    empty = SimpleNamespace(**vars(result))
    for name in ("measures", "findings", "contacts", "parts", "issues"):
        setattr(empty, name, getattr(result, name).iloc[:0])
    told = text.summary(empty)
    assert "no subjects" in told
    assert "Nothing about the input" in told


def test_one_subject_is_told_by_its_status(result: SimpleNamespace) -> None:
    one = SimpleNamespace(**vars(result))
    one.measures = result.measures.iloc[:1]
    assert text.headlines(one)[0].startswith("The parcel: ")


def test_provisions_count_subjects_and_not_rows(result: SimpleNamespace) -> None:
    twice = SimpleNamespace(**vars(result))
    import pandas as pd

    twice.findings = pd.concat([result.findings, result.findings], ignore_index=True)
    assert text.provisions(twice) == text.provisions(result)
