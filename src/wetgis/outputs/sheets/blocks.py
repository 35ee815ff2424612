"""Blocks of text and tables, made of rows, that flow from column to column and sheet to sheet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from wetgis.outputs.sheets.ink import BLACK, GREY, Paper, clean, text_width, wrap
from wetgis.outputs.sheets.page import Box

__all__ = ["Block", "Column", "Row", "flow", "table_block", "text_block"]

#: Draws a row: the paper, left edge, upper edge, width.
Draw = Callable[[Paper, float, float, float], None]
BODY, HEAD = 7.4, 8.6
#: Free room at the right of a cell, inches.
PAD = 0.05


@dataclass(frozen=True)
class Row:
    """A piece that is not parted: its height in inches and how it is drawn."""

    height: float
    draw: Draw


@dataclass(frozen=True)
class Block:
    """A titled run of rows; ``header`` comes again where the block goes on elsewhere."""

    title: str
    rows: tuple[Row, ...]
    header: tuple[Row, ...] = ()


@dataclass
class Column:
    """Free room on a page, filled from the top."""

    paper: Paper
    box: Box
    used: float = field(default=0.0)

    @property
    def left(self) -> float:
        """Height that is still free."""
        return self.box.height - self.used

    def put(self, row: Row) -> None:
        """Draw a row and move down."""
        row.draw(self.paper, self.box.x, self.box.top - self.used, self.box.width)
        self.used += row.height


def _heading(title: str, scale: float, *, again: bool) -> Row:
    """The title of a block over a thin line."""
    height = 0.26 * scale

    def draw(paper: Paper, x: float, y: float, width: float) -> None:
        text = title.upper() + (" (continued)" if again else "")
        paper.text(x, y - 0.16 * scale, text, HEAD, weight="bold")
        paper.line([x, x + width], [y - 0.21 * scale] * 2, 0.5)

    return Row(height, draw)


def flow(blocks: Sequence[Block], columns: Sequence[Column]) -> list[Block]:
    """Put blocks into columns, one after the other.

    Parameters
    ----------
    blocks : sequence of Block
        In order.
    columns : sequence of Column
        In order; each is filled from where it stands.

    Returns
    -------
    list of Block
        What found no room; of a block that was parted, the rest.
    """
    waiting = list(blocks)
    for column in columns:
        while waiting and _fits(waiting[0], column):
            rest = _pour(waiting[0], column)
            waiting = ([rest] if rest else []) + waiting[1:]
            if rest:
                break
    return waiting


def _head(block: Block, scale: float) -> list[Row]:
    """Title and header of a block, the title of a rest marked as such."""
    again = block.title.endswith("\0")
    return [_heading(block.title.rstrip("\0"), scale, again=again), *block.header]


def _fits(block: Block, column: Column) -> bool:
    """Whether title and first rows have room; in an empty column they are taken to."""
    rows = [*_head(block, column.paper.scale), *block.rows[:2]]
    return column.used == 0 or sum(row.height for row in rows) <= column.left


def _pour(block: Block, column: Column) -> Block | None:
    """Put as much of a block as there is room for, at least one row; the rest comes back."""
    for row in _head(block, column.paper.scale):
        column.put(row)
    rows = list(block.rows)
    first = True
    while rows and (first or rows[0].height <= column.left):
        column.put(rows.pop(0))
        first = False
    column.used += 0.14 * column.paper.scale
    if not rows:
        return None
    return Block(block.title.rstrip("\0") + "\0", tuple(rows), block.header)


def text_block(title: str, paragraphs: Sequence[str], width: float, scale: float) -> Block:
    """Paragraphs, wrapped; one that begins with ``- `` is a point of a list."""
    size, step = BODY * scale, 0.135 * scale
    rows: list[Row] = []
    for paragraph in paragraphs:
        point = paragraph.startswith("- ")
        indent = 0.12 * scale if point else 0.0
        body = paragraph[2:] if point else paragraph
        for k, line in enumerate(wrap(body, size, width - indent)):
            rows.append(Row(step, _text_line(line, indent, point and k == 0)))
        rows.append(Row(0.05 * scale, lambda *_: None))
    return Block(title, tuple(rows))


def _text_line(line: str, indent: float, mark: bool) -> Draw:
    def draw(paper: Paper, x: float, y: float, width: float) -> None:
        if mark:
            paper.text(x, y - 0.1 * paper.scale, "\u2022", BODY)
        paper.text(x + indent, y - 0.1 * paper.scale, line, BODY)

    return draw


def table_block(
    title: str,
    columns: Sequence[tuple[str, float, str]],
    rows: Sequence[Sequence[str]],
    width: float,
    scale: float,
) -> Block:
    """A table.

    Parameters
    ----------
    title : str
    columns : sequence of (name, share of the width, "left" or "right")
    rows : sequence of cells as text
        A row whose first cell begins with ``*`` is a total: bold, a line above.
    width, scale : float
        In inches; letters against ARCH D's.
    """
    shares = [share for _, share, _ in columns]
    widths = [width * share / sum(shares) for share in shares]
    sides = [side for _, _, side in columns]
    names = [name for name, _, _ in columns]
    size = _size_for([names, *rows], widths, scale)
    header = _table_row(names, widths, sides, (scale, size), style="head")
    body = tuple(
        _table_row(
            [cell.removeprefix("*") for cell in row],
            widths,
            sides,
            (scale, size),
            style="total" if row[0].startswith("*") else "body",
        )
        for row in rows
    )
    return Block(title, body, (header,))


def _size_for(rows: Sequence[Sequence[str]], widths: Sequence[float], scale: float) -> float:
    """The letters' size at which no word is cut, within two thirds of the usual one."""
    most = 1.0
    for row in rows:
        for cell, width in zip(row, widths, strict=True):
            for word in clean(cell, bold=True).split():
                room = width - PAD * scale - 1e-3
                most = min(most, room / text_width(word, BODY * scale, True))
    return BODY * max(most, 0.66)


def _table_row(
    cells: Sequence[str],
    widths: Sequence[float],
    sides: Sequence[str],
    type_: tuple[float, float],
    *,
    style: str,
) -> Row:
    """One row, as high as its tallest cell; ``type_`` is the scale and the letters' size."""
    scale, points = type_
    size, step, pad = points * scale, 0.0174 * points * scale, PAD * scale
    bold = style != "body"
    lines = [wrap(cell, size, w - pad, bold=bold) for cell, w in zip(cells, widths, strict=True)]
    height = step * max(map(len, lines)) + 0.035 * scale

    def draw(paper: Paper, x: float, y: float, width: float) -> None:
        left = x
        for cell, w, side in zip(lines, widths, sides, strict=True):
            at = left if side == "left" else left + w - pad
            for k, line in enumerate(cell):
                paper.text(at, y - 0.8 * step - k * step, line, points, ha=side,
                           weight="bold" if bold else "normal")  # fmt: skip
            left += w
        if style == "head":
            paper.line([x, x + width], [y - height + 0.01 * scale] * 2, 0.35, color=GREY)
        if style == "total":
            paper.line([x, x + width], [y + 0.005 * scale] * 2, 0.35, color=BLACK)

    return Row(height, draw)


def fitted(text: str, size: float, width: float, *, bold: bool = False) -> float:
    """The size at which a text is no wider than ``width``, at most ``size``."""
    wide = text_width(clean(text, bold=bold), size, bold)
    return size if wide <= width else size * width / wide
