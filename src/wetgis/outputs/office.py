"""A workbook for people who work in Excel: words first, then every table.

Ids stay text with their leading zeros, numbers stay numbers, and no cell is a formula.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from wetgis.outputs.atomic import failed, replacing
from wetgis.outputs.cells import Rows, fill
from wetgis.outputs.palette import STATUS_COLOURS
from wetgis.outputs.pieces import Finished, finished, issues_in_order, sized
from wetgis.outputs.tables import guard, plain, shown_findings
from wetgis.outputs.tally import Tally
from wetgis.outputs.text import headlines, issue_line, provisions
from wetgis.outputs.words import (
    ANSWER_WORDS,
    CAVEATS,
    COLUMN_WORDS,
    STATUS_MEANINGS,
    STATUS_WORDS,
    column_unit,
)
from wetgis.schema import SCHEMA_VERSION, STATUSES

if TYPE_CHECKING:
    from wetgis.screening import Screening

__all__ = ["write_book", "write_workbook"]

_OPTIONS = {
    "strings_to_formulas": False,
    "strings_to_urls": False,
    "strings_to_numbers": False,
    "constant_memory": True,
}
#: A tenth of what a sheet can hold: a county's tables would make a workbook that nobody can open.
_ROWS_OF_A_SHEET = 100_000
#: Rows of a table that are written at once; a column is as wide as the first thousand ask for.
_ROWS_AT_ONCE = 4_000
_ROWS_OF_A_WIDTH = 1_000
_TEXT_WIDTH = 92
_WIDE = {"says": 60, "note": 40, "message": 60, "effect": 40, "cite": 22, "needs": 26, "source": 26}
#: Plain words that stand beside the closed words of a column.
_WORDS = {"status": STATUS_WORDS, "answer": ANSWER_WORDS}
_FORMATS = {
    "title": {"bold": True, "font_size": 16, "font_color": "#1f3a4d"},
    "heading": {"bold": True, "font_size": 12, "font_color": "#1f3a4d", "bottom": 1},
    "text": {"text_wrap": True, "valign": "top"},
    "bold": {"bold": True, "valign": "top", "text_wrap": True},
    "header": {
        "bold": True, "font_color": "#ffffff", "bg_color": "#1f3a4d", "text_wrap": True,
        "valign": "top", "border": 1, "border_color": "#ffffff",
    },
    "sqft": {"num_format": "#,##0.0"},
    "ft": {"num_format": "#,##0.00"},
    "pct": {"num_format": "0.0"},
    "exact": {"num_format": "#,##0.00######"},
    "count": {"num_format": "#,##0", "valign": "top"},
    "id": {"num_format": "@"},
}  # fmt: skip


def write_workbook(
    run: Screening | Finished,
    path: str | Path,
    *,
    all_findings: bool = False,
    tally: Tally | None = None,
) -> None:
    """Write a screening as an Excel workbook.

    Parameters
    ----------
    run : Screening or Finished
        The result; no more of a table is read than fits on its sheet.
    path : str or Path
        The file; it is replaced where it exists.
    all_findings : bool
        Also write findings that are ``not_met``.
    tally : Tally, optional
        What the run comes to, where that is known already.

    Notes
    -----
    Sheets ``Summary`` (in words), ``Measures``, ``Findings``, ``Contacts``, ``Checklist``,
    ``Issues``, ``Columns`` (what each column is, with its unit). The first row of a table is frozen
    and has a filter; its cells have the column's words and unit as a comment. Unknown and infinite
    numbers are empty cells. A table of more than 100,000 rows is cut; its last row says so, and
    that the CSV and Parquet files have all.

    Raises
    ------
    OutputError
        Where the file cannot be written.
    """
    run = finished(run)
    tally = tally or Tally.of(run)
    shown = partial(shown_findings, all_findings=all_findings)
    count = tally.findings.rows(not_met=all_findings)
    tables = {
        "Measures": (run.read("measures"), run.counts["measures"]),
        "Findings": (map(shown, run.read("findings")), count),
        "Contacts": (run.read("contacts"), run.counts["contacts"]),
        "Checklist": ([run.checklist], len(run.checklist)),
        "Issues": ([issues_in_order(run.issues)], len(run.issues)),
    }
    with _new_book(Path(path), run.title) as (book, formats, sheets):
        _summary(book.add_worksheet("Summary"), run, tally, formats)
        for name, (pieces, rows) in tables.items():
            sheet = book.add_worksheet(name)
            sheets[len(book.worksheets())] = _table(sheet, map(_with_words, pieces), rows, formats)
        _columns(book.add_worksheet("Columns"), tally.subjects.columns, formats)


def write_book(tables: Mapping[str, pd.DataFrame], path: str | Path, title: str) -> None:
    """Write tables as the sheets of a workbook, by name; ids stay text, nothing is a formula.

    Raises
    ------
    OutputError
        Where the file cannot be written.
    """
    with _new_book(Path(path), title) as (book, formats, sheets):
        for number, (name, frame) in enumerate(tables.items(), start=1):
            sheets[number] = _table(book.add_worksheet(name), [frame], len(frame), formats)


@contextmanager
def _new_book(path: Path, title: str) -> Iterator[tuple[Any, dict[str, Any], dict[int, Rows]]]:
    """A workbook, its formats, and a place for the rows that go below the heads of its sheets."""
    import xlsxwriter
    from xlsxwriter.exceptions import XlsxWriterException

    sheets: dict[int, Rows] = {}
    with replacing(path) as temporary:
        heads = temporary.with_name("heads.xlsx")
        book = xlsxwriter.Workbook(str(heads), _OPTIONS)
        try:
            colours = {name: {"bg_color": colour} for name, colour in STATUS_COLOURS.items()}
            formats = {name: book.add_format(kind) for name, kind in (_FORMATS | colours).items()}
            yield book, formats, sheets
            book.set_properties({"title": guard(title), "comments": _about()})
            book.close()
        except XlsxWriterException as error:
            raise failed(path, error) from error
        fill(heads, temporary, sheets)


def _about() -> str:
    return f"wetgis, schema version {SCHEMA_VERSION}. A screening, not a determination."


def _summary(sheet: Any, run: Finished, tally: Tally, formats: dict[str, Any]) -> None:
    """The first sheet: what was found, in words."""
    sheet.hide_gridlines(2)
    sheet.set_landscape()
    sheet.fit_to_pages(1, 0)
    sheet.set_column(0, 0, 36)
    sheet.set_column(1, 1, _TEXT_WIDTH)
    sheet.set_column(2, 4, 17)
    for number, (style, *cells) in enumerate(_summary_rows(run, tally)):
        longest = max((len(c) for c in cells[1:2]), default=0)
        if style == "text":
            sheet.set_row(number, 15 * max(1, -(-longest // _TEXT_WIDTH)))
        for column, value in enumerate(cells):
            if isinstance(value, str):
                how = "bold" if style == "text" and column == 0 else style
                sheet.write_string(number, column, guard(value), formats[how])
            else:
                sheet.write_number(number, column, value, formats["count"])


def _summary_rows(run: Finished, tally: Tally) -> list[tuple[Any, ...]]:
    """The rows of the first sheet: how they look, then their cells."""
    rows: list[tuple[Any, ...]] = [("title", run.title or "Screening")]
    rows.append(("heading", "What was found", ""))
    rows += [("text", "", told) for told in headlines(tally.subjects)]
    rows += [("text", "", issue_line(run.issues)), ("text",)]
    rows.append(("heading", "By status", "What it means", "Subjects"))
    for name in STATUSES:
        count = tally.subjects.of_status(name)
        rows.append(("text", STATUS_WORDS[name], STATUS_MEANINGS[name], count))
    rows += [("text",)]
    rows.append(("heading", "By provision", "What it asks", "Met", "Cannot be told", "In doubt"))
    for p in provisions(run, tally.findings):
        answers = " or ".join(ANSWER_WORDS.get(a, a) for a in p.answers)
        text = ": ".join(part for part in (p.title, p.says) if part)
        text += f" Where met: {answers}." if answers else ""
        rows.append(("text", f"{p.rule}  {p.cite}", text, p.met, p.undetermined, p.doubtful))
    rows += [("text",), ("heading", "How to read this", "")]
    return rows + [("text", "", text) for text in CAVEATS]


def _table(sheet: Any, pieces: Iterable[pd.DataFrame], whole: int, formats: dict[str, Any]) -> Rows:
    """A table of so many rows, with a frozen first row and a filter; the rows are still to come."""
    rows = min(whole, _ROWS_OF_A_SHEET - 2)
    frames = map(plain, sized(pieces, _ROWS_AT_ONCE))
    first = next(frames)
    names = [str(name) for name in first.columns]
    _head(sheet, names, first.iloc[:rows], formats)
    sheet.freeze_panes(1, 0)
    sheet.set_landscape()
    sheet.repeat_rows(0)
    if names:
        sheet.autofilter(0, 0, rows, len(names) - 1)
    if "status" in names and rows:
        _colour(sheet, names.index("status"), rows, formats)
    told = f"The first {rows:,} of {whole:,} rows; the CSV and Parquet files have all."
    return Rows(_up_to(rows, chain([first], frames)), rows, told if rows < whole else "")


def _up_to(rows: int, frames: Iterable[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    """So many rows of frames; no frame is read that has none of them."""
    for frame in frames:
        yield frame.iloc[:rows]
        rows -= len(frame)
        if rows <= 0:
            return


def _head(sheet: Any, names: list[str], first: pd.DataFrame, formats: dict[str, Any]) -> None:
    """The first row of a table, and how its columns look; ``first`` has its first rows."""
    for j, name in enumerate(names):
        how = formats[_format_of(name, first.iloc[:, j])]
        sheet.set_column(j, j, _width(name, first.iloc[:, j]), how)
    sheet.set_row(0, 32)
    for j, name in enumerate(names):
        sheet.write_string(0, j, name, formats["header"])
        words = _words_of(name)
        if words:
            sheet.write_comment(0, j, words, {"x_scale": 1.2, "y_scale": 0.6})


def _format_of(name: str, column: pd.Series) -> str:
    if not pd.api.types.is_numeric_dtype(column):
        return "id"
    if name in ("value", "threshold", "margin", "value_low", "value_high"):
        return "exact"  # a number that trips a threshold is never shown equal to it
    ending = name.rpartition("_")[2]
    return ending if ending in ("sqft", "ft", "pct") else "count"


def _width(name: str, column: pd.Series) -> float:
    if name in _WIDE:
        return _WIDE[name]
    if pd.api.types.is_numeric_dtype(column):
        return 13
    longest = int(column.iloc[:_ROWS_OF_A_WIDTH].astype(str).str.len().max()) if len(column) else 0
    return float(min(max(11, longest + 2), 40))


def _words_of(name: str) -> str:
    unit = column_unit(name)
    words = COLUMN_WORDS.get(name, "")
    return f"{words}, {unit}" if words and unit else words


def _colour(sheet: Any, column: int, rows: int, formats: dict[str, Any]) -> None:
    """Status cells in the colours of the map."""
    for status in STATUS_COLOURS:
        rule = {"type": "cell", "criteria": "==", "value": f'"{status}"'}
        sheet.conditional_format(1, column, rows, column, rule | {"format": formats[status]})


def _with_words(frame: pd.DataFrame) -> pd.DataFrame:
    """The table with plain words beside its closed words."""
    made = frame.copy()
    for name, words in _WORDS.items():
        if name in made:
            at = list(made.columns).index(name)
            made.insert(at + 1, f"{name} in words", made[name].map(words).fillna(""))
    return made


def _columns(sheet: Any, measured: Iterable[str], formats: dict[str, Any]) -> None:
    """What each column of the measures is."""
    sheet.set_column(0, 0, 28)
    sheet.set_column(1, 2, 30)
    for j, name in enumerate(("column", "words", "unit")):
        sheet.write_string(0, j, name, formats["header"])
    names = [name for name in measured if name != "geometry"]
    for i, name in enumerate(names, start=1):
        sheet.write_string(i, 0, guard(name))
        sheet.write_string(i, 1, COLUMN_WORDS.get(name, "as in the source"))
        sheet.write_string(i, 2, column_unit(name) if name in COLUMN_WORDS else "")
    sheet.freeze_panes(1, 0)
