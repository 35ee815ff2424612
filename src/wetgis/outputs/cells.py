"""The rows of a workbook's sheets, written as text into a workbook whose sheets have their heads.

A workbook of a county has millions of cells. Written a column at a time they take a quarter of the
time that they take one by one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import numpy as np
import pandas as pd

__all__ = ["Rows", "fill"]

_LONGEST_CELL = 32_767  # units of UTF-16
_ROWS_OF_A_CHUNK = 2_000
_DIMENSION = re.compile(r'<dimension ref="A1(?::([A-Z]+)1)?"/>')
_COLUMN = re.compile(r'<col min="(\d+)" max="(\d+)"[^>]* style="(\d+)"')
#: What a workbook writes as ``_x0001_``, and a text that looks like that.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\ufffe\uffff]")
_LIKE_CONTROL = re.compile("_(x[0-9a-fA-F]{4}_)")


@dataclass(frozen=True)
class Rows:
    """What stands on a sheet below its first row.

    Attributes
    ----------
    frames : iterable of DataFrame
        Numbers and texts; NaN and "" are empty cells.
    count : int
        Their rows.
    last : str
        A line below them, where there is one.
    """

    frames: Iterable[pd.DataFrame]
    count: int
    last: str = ""


def fill(heads: Path, path: Path, sheets: Mapping[int, Rows]) -> None:
    """Write a workbook again, with rows below the first rows of sheets, which count from 1."""
    with ZipFile(heads) as book, ZipFile(path, "w", ZIP_DEFLATED) as filled:
        for part in book.infolist():
            same = ZipInfo(part.filename, part.date_time)
            same.compress_type = part.compress_type
            same.external_attr = part.external_attr
            number = re.fullmatch(r"xl/worksheets/sheet(\d+)\.xml", part.filename)
            rows = sheets.get(int(number[1])) if number else None
            if rows is None:
                filled.writestr(same, book.read(part))
                continue
            with filled.open(same, "w") as file:
                for text in _sheet(book.read(part).decode("utf-8"), rows):
                    file.write(text.encode("utf-8"))


def _sheet(head: str, rows: Rows) -> Iterator[str]:
    """The text of a sheet whose first row is there."""
    before, end, after = head.partition("</sheetData>")
    found = _DIMENSION.search(before)
    assert found is not None
    assert end
    bottom = 1 + rows.count + bool(rows.last)
    corner = f"{found[1] or 'A'}{bottom}"
    reach = f'<dimension ref="A1:{corner}"/>' if corner != "A1" else found[0]
    yield before[: found.start()] + reach + before[found.end() :]
    styles = _styles(before)
    top = 2
    for frame in rows.frames:
        yield from _rows(frame, top, styles)
        top += len(frame)
    if rows.last:
        yield from _rows(pd.DataFrame({"last": [rows.last]}), bottom, styles)
    yield end + after


def _styles(head: str) -> dict[int, str]:
    """The style of each column, which its cells repeat."""
    styles: dict[int, str] = {}
    for first, last, style in _COLUMN.findall(head):
        styles |= dict.fromkeys(range(int(first), int(last) + 1), f' s="{style}"')
    return styles


def _rows(frame: pd.DataFrame, top: int, styles: Mapping[int, str]) -> Iterator[str]:
    for begin in range(0, len(frame), _ROWS_OF_A_CHUNK):
        some = frame.iloc[begin : begin + _ROWS_OF_A_CHUNK]
        columns = [
            _cells(some.iloc[:, j], _letters(j + 1), top + begin, styles.get(j + 1, ""))
            for j in range(some.shape[1])
        ]
        texts = map("".join, zip(*columns, strict=True))
        yield "".join(
            f'<row r="{number}">{text}</row>'
            for number, text in enumerate(texts, start=top + begin)
            if text
        )


def _cells(column: pd.Series, letters: str, top: int, style: str) -> list[str]:
    """The cells of a column from a row on; "" where one is empty."""
    if pd.api.types.is_numeric_dtype(column):
        values = column.to_numpy(dtype="float64", na_value=np.nan).tolist()
        return [
            f'<c r="{letters}{number}"{style}><v>{value:.16G}</v></c>' if value == value else ""
            for number, value in enumerate(values, start=top)
        ]
    places, different = pd.factorize(column.to_numpy(dtype=object))
    inside = [_inside(str(text), style) for text in different]
    return [
        f'<c r="{letters}{number}{inside[place]}' if place >= 0 and inside[place] else ""
        for number, place in enumerate(places.tolist(), start=top)
    ]


def _inside(text: str, style: str) -> str:
    """A cell with a text after its address; "" for no text."""
    if not text:
        return ""
    text = _CONTROL.sub(
        lambda m: f"_x{ord(m[0]):04X}_", _LIKE_CONTROL.sub(r"_x005F_\1", _cut(text))
    )
    blanks = ' xml:space="preserve"' if text[:1].isspace() or text[-1:].isspace() else ""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return f'"{style} t="inlineStr"><is><t{blanks}>{text}</t></is></c>'


def _cut(text: str) -> str:
    """A text that a cell can hold."""
    if len(text) <= _LONGEST_CELL // 2 or len(text.encode("utf-16-le")) <= 2 * _LONGEST_CELL:
        return text
    held = text.encode("utf-16-le")[: 2 * (_LONGEST_CELL - 1)]
    return held.decode("utf-16-le", "ignore") + "…"


def _letters(number: int) -> str:
    """What a sheet calls a column.

    Examples
    --------
    >>> _letters(1), _letters(26), _letters(27), _letters(703)
    ('A', 'Z', 'AA', 'AAA')
    """
    text = ""
    while number:
        number, rest = divmod(number - 1, 26)
        text = chr(65 + rest) + text
    return text
