"""Documents as letter pages in ink."""

from __future__ import annotations

from collections.abc import Iterator

from wetgis.outputs.package.paper import Blank, Document, Heading, Part, Picture, Table, Text
from wetgis.outputs.sheets.ink import GREY, Paper, text_width, wrap
from wetgis.outputs.sheets.page import Box, Page

__all__ = ["pages_of"]

WIDTH, HEIGHT, MARGIN = 8.5, 11.0, 0.95
ROOM = WIDTH - 2 * MARGIN
FLOOR = 0.85
#: Points on paper; `Paper` scales what it is given, so sizes are divided by its scale.
BODY, SMALL, CELL, HEAD, TITLE = 10.0, 8.2, 8.2, 11.5, 16.0
LEADING = 1.35


class _Writer:
    """Puts parts below each other and begins a new page where there is no room."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.papers: list[Paper] = []
        self.new_page()

    def new_page(self) -> None:
        self.paper = Paper(Page("letter, upright", WIDTH, HEIGHT))
        self.papers.append(self.paper)
        self.y = HEIGHT - MARGIN

    def need(self, height: float) -> None:
        """Begin a new page where less than this is left."""
        if self.y - height < FLOOR + 0.1:
            self.new_page()

    def ink(self, x: float, text: str, size: float, **style: object) -> None:
        self.paper.text(x, self.y, text, size / self.paper.scale, **style)

    def lines(
        self, text: str, size: float, *, left: float = 0.0, bold: bool = False, after: float = 0.06,
        color: str = "#1a1a1a",
    ) -> None:  # fmt: skip
        """A paragraph."""
        weight = "bold" if bold else "normal"
        for line in wrap(text, size, ROOM - left, bold=bold):
            self.need(size / 72 * LEADING)
            self.y -= size / 72 * LEADING
            self.ink(MARGIN + left, line, size, weight=weight, color=color)
        self.y -= after


def pages_of(document: Document) -> list[Paper]:
    """All pages of a document, numbered."""
    writer = _Writer(document)
    writer.lines(document.title, TITLE, bold=True, after=0.12)
    parts = list(document.parts)
    for k, part in enumerate(parts):
        _put(writer, part, parts[k + 1] if k + 1 < len(parts) else None)
    count = len(writer.papers)
    for number, paper in enumerate(writer.papers, start=1):
        paper.line([MARGIN, WIDTH - MARGIN], [FLOOR - 0.12] * 2, 0.4, color=GREY)
        size = 7.5 / paper.scale
        foot = wrap(document.foot, 7.5, ROOM - 1.0)[0]
        paper.text(MARGIN, FLOOR - 0.3, foot, size, color=GREY)
        paper.text(WIDTH - MARGIN, FLOOR - 0.3, f"{number} of {count}", size, ha="right",
                   color=GREY)  # fmt: skip
    return writer.papers


def _put(writer: _Writer, part: Part, following: Part | None) -> None:
    if isinstance(part, Heading):
        # a heading does not stand alone at the foot of a page
        more = following.height if isinstance(following, Picture) else 0.7
        writer.need(0.45 + more)
        writer.y -= 0.12
        writer.lines(part.text, HEAD, bold=True, after=0.05)
    elif isinstance(part, Text):
        size = SMALL if part.small else BODY
        left = 0.2 if part.mark else 0.0
        if part.mark:
            writer.need(size / 72 * LEADING)
            at = writer.y
            writer.y -= size / 72 * LEADING
            writer.ink(MARGIN + 0.04, part.mark, size)
            writer.y = at
        writer.lines(part.text, size, left=left, bold=part.bold)
    elif isinstance(part, Blank):
        _blank(writer, part)
    elif isinstance(part, Table):
        _table(writer, part)
    else:
        writer.need(part.height + 0.15)
        writer.y -= part.height
        x = MARGIN + (ROOM - part.width) / 2
        part.draw(writer.paper.axes(Box(x, writer.y, part.width, part.height), zorder=4))
        writer.y -= 0.15


def _blank(writer: _Writer, part: Blank) -> None:
    lines = wrap(part.label, BODY, ROOM - 2.0)
    writer.need(0.36 + 0.19 * (len(lines) - 1))
    writer.y -= 0.12
    for line in lines:
        writer.y -= BODY / 72 * LEADING
        writer.ink(MARGIN, line, BODY)
    start = MARGIN + text_width(lines[-1], BODY) + 0.1
    writer.paper.line([start, WIDTH - MARGIN], [writer.y - 0.03] * 2, 0.7)
    writer.y -= 0.08


def _table(writer: _Writer, table: Table) -> None:
    writer.y -= 0.06
    total = sum(table.shares)
    widths = [ROOM * share / total for share in table.shares]
    _row(writer, table, table.header, widths, head=True)
    for row in table.rows:
        height = _height(row, widths)
        if writer.y - height < FLOOR + 0.1:
            writer.new_page()
            _row(writer, table, table.header, widths, head=True)
        _row(writer, table, row, widths)
    writer.y -= 0.12


def _cells(row: tuple[str, ...], widths: list[float], *, bold: bool) -> Iterator[list[str]]:
    for text, width in zip(row, widths, strict=True):
        yield wrap(text, CELL, width - 0.08, bold=bold)


def _height(row: tuple[str, ...], widths: list[float], *, bold: bool = False) -> float:
    most = max(len(lines) for lines in _cells(row, widths, bold=bold))
    return most * CELL / 72 * 1.25 + 0.06


def _row(
    writer: _Writer, table: Table, row: tuple[str, ...], widths: list[float], *, head: bool = False
) -> None:
    height = _height(row, widths, bold=head)
    writer.need(height + (0.2 if head else 0.0))
    x, top = MARGIN, writer.y
    if head:
        writer.paper.box(Box(MARGIN, top - height, ROOM, height), 0, facecolor="#e9edf0",
                         edgecolor="none", zorder=0)  # fmt: skip
    for k, lines in enumerate(_cells(row, widths, bold=head)):
        right = k in table.right
        writer.y = top - 0.02
        for line in lines:
            writer.y -= CELL / 72 * 1.25
            at = x + widths[k] - 0.05 if right else x + 0.04
            writer.ink(at, line, CELL, ha="right" if right else "left",
                       weight="bold" if head else "normal")  # fmt: skip
        x += widths[k]
    writer.y = top - height
    writer.paper.line([MARGIN, WIDTH - MARGIN], [writer.y] * 2, 0.35, color="#b9bfc4")
