"""What stands around a map: grid, match lines, north arrow, bar scale, legend, key, title."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np

from wetgis.outputs.sheets.blocks import BODY, Block, Row, fitted
from wetgis.outputs.sheets.ink import BLACK, GREY, Paper, wrap
from wetgis.outputs.sheets.north import turned
from wetgis.outputs.sheets.page import Box
from wetgis.outputs.sheets.style import Style
from wetgis.outputs.sheets.tiling import View

__all__ = ["Title", "grid_ticks", "key_block", "legend_block", "match_lines", "north_block",
           "title_height", "title_panel"]  # fmt: skip

#: Crosses of the grid stand about this far apart, inches.
GRID_IN = 4.0


def grid_ticks(paper: Paper, view: View) -> None:
    """Ticks with coordinates around the frame and crosses in it."""
    f, s = view.frame, paper.scale
    step = _round_step(GRID_IN * s * view.unit_per_in)
    west, south, east, north = view.bounds
    xs = np.arange(np.ceil(west / step), np.floor(east / step) + 1) * step
    ys = np.arange(np.ceil(south / step), np.floor(north / step) + 1) * step
    px, py = view.paper(xs, np.zeros(len(xs)))[0], view.paper(np.zeros(len(ys)), ys)[1]
    arm, tick = 0.08 * s, 0.1 * s
    for x in px:
        for y in py:
            if f.x + arm < x < f.right - arm and f.y + arm < y < f.top - arm:
                paper.line([x - arm, x + arm], [y, y], 0.3, color=GREY, zorder=29)
                paper.line([x, x], [y - arm, y + arm], 0.3, color=GREY, zorder=29)
    for x, value in zip(px, xs, strict=True):
        for y, d, va in ((f.y, -1, "top"), (f.top, 1, "bottom")):
            paper.line([x, x], [y, y + d * tick], 0.5)
            paper.text(x, y + d * (tick + 0.02 * s), f"E {value:,.0f}", 6, ha="center", va=va)
    for y, value in zip(py, ys, strict=True):
        for x, d, side in ((f.x, -1, "right"), (f.right, 1, "left")):
            paper.line([x, x + d * tick], [y, y], 0.5)
            paper.text(x + d * (tick + 0.02 * s), y, f"N {value:,.0f}", 6, rotation=90,
                       ha=side, va="center", rotation_mode="default")  # fmt: skip


def _round_step(size: float) -> float:
    """1, 2 or 5 times a power of ten, the nearest below."""
    power = 10.0 ** np.floor(np.log10(size))
    return float(max(step for step in (1, 2, 5) if step * power <= size * (1 + 1e-9)) * power)


def match_lines(paper: Paper, view: View, prefix: str) -> None:
    """A heavy broken line where the next sheet begins, with its number."""
    west, south, east, north = view.core
    (x0, x1), (y0, y1) = view.paper([west, east], [south, north])
    f = view.frame
    ends = {
        "N": ([f.x, f.right], [y1, y1], 0), "S": ([f.x, f.right], [y0, y0], 0),
        "W": ([x0, x0], [f.y, f.top], 90), "E": ([x1, x1], [f.y, f.top], 90),
    }  # fmt: skip
    for side, number in view.neighbours.items():
        xs, ys, angle = ends[side]
        paper.line(xs, ys, 2.2, dashes=(14, 4, 3, 4), color=BLACK, zorder=31)
        outward = {"N": (0, 1), "S": (0, -1), "W": (-1, 0), "E": (1, 0)}[side]
        at = (sum(xs) / 2 + outward[0] * 0.12 * paper.scale,
              sum(ys) / 2 + outward[1] * 0.12 * paper.scale)  # fmt: skip
        halo = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
        paper.text(*at, f"MATCH LINE - SEE SHEET {prefix}{number}", 8, weight="bold",
                   rotation=angle, ha="center", va="center", bbox=halo, zorder=32)  # fmt: skip


@dataclass(frozen=True)
class NorthInfo:
    """What the block under the north arrow says."""

    true_deg: float
    show: str
    crs_name: str
    factor: float
    ft_per_in: float
    datum: str


def north_block(info: NorthInfo, width: float, scale: float) -> Block:
    """North arrow, bar scale and the words on both, as one row."""
    lines = _north_words(info, width * 0.59, scale)
    body = max(1.42 * scale, 0.13 * scale * len(lines) + 0.1 * scale)
    height = body + 0.62 * scale

    def draw(paper: Paper, x: float, y: float, width: float) -> None:
        _arrow(paper, x + 0.19 * width, y - 0.8 * scale, 0.4 * scale, info)
        for k, line in enumerate(lines):
            paper.text(x + 0.4 * width, y - 0.12 * scale - k * 0.13 * scale, line, BODY - 0.6)
        _bar(paper, x, y - body - 0.22 * scale, width, info.ft_per_in)

    return Block("North and scale", (Row(height, draw),))


def _north_words(info: NorthInfo, width: float, scale: float) -> list[str]:
    """The sentences beside the arrow, wrapped."""
    size = (BODY - 0.6) * scale
    where = f"True north lies {turned(info.true_deg)} grid north here."
    texts = [
        f"The arrow is {info.show} north. {where}",
        f"Grid: {info.crs_name}. Distances and areas are on the grid.",
    ]
    if isfinite(info.factor):
        texts.append(f"Combined factor {info.factor:.7f}; ground = grid / factor.")
    texts.append(f"Heights: {info.datum or 'the vertical datum is not named by the data'}.")
    return [line for text in texts for line in wrap(text, size, width)]


def _arrow(paper: Paper, x: float, y: float, r: float, info: NorthInfo) -> None:
    """A north arrow; the other north as a thin line with a ring."""
    main = 0.0 if info.show == "grid" else info.true_deg
    other = info.true_deg if info.show == "grid" else 0.0

    def turn(dx: float, dy: float, degrees: float) -> tuple[float, float]:
        a = np.radians(degrees)
        return x + dx * np.cos(a) + dy * np.sin(a), y - dx * np.sin(a) + dy * np.cos(a)

    paper.ax.add_patch(_circle(x, y, r, 0.5 * paper.scale))
    tip, tail = turn(0, 1.28 * r, main), turn(0, -0.55 * r, main)
    left, right = turn(-0.34 * r, -0.85 * r, main), turn(0.34 * r, -0.85 * r, main)
    paper.polygon([tip, tail, left], 0.5, facecolor="white")
    paper.polygon([tip, tail, right], 0.5)
    at = turn(0, 1.5 * r, main)
    paper.text(*at, "N", 12, weight="bold", ha="center", va="center")
    far = turn(0, 1.12 * r, other)
    if abs(info.true_deg) > 0.05:
        start = turn(0, -1.0 * r, other)
        paper.line([start[0], far[0]], [start[1], far[1]], 0.4, dashes=(3, 2))
    name = "GRID NORTH" if info.show == "grid" else "TRUE NORTH"
    paper.text(x, y - 1.28 * r, name, 5.6, ha="center", va="center")


def _circle(x: float, y: float, r: float, width: float) -> Any:
    from matplotlib.patches import Circle

    return Circle((x, y), r, facecolor="none", edgecolor=BLACK, linewidth=width)


def _bar(paper: Paper, x: float, y: float, width: float, ft_per_in: float) -> None:
    """A bar of whole round feet, and the scale in words under it."""
    s = paper.scale
    step = _round_step(0.21 * width * ft_per_in)
    n = min(4, int(0.92 * width * ft_per_in // step))
    inches = step / ft_per_in
    left = x + (width - n * inches) / 2
    h = 0.075 * s
    for k in range(n):
        fill = BLACK if k % 2 == 0 else "white"
        paper.box(Box(left + k * inches, y, inches, h), 0.5, facecolor=fill, gid=f"bar{k}")
    for k in range(n + 1):
        paper.text(left + k * inches, y + h + 0.04 * s, f"{k * step:,.0f}", 6, ha="center")
    words = f"1 inch = {ft_per_in:,.6g} US survey feet (1:{ft_per_in * 12:,.6g})"
    size = fitted(words, 7.4 * s, width, bold=True) / s
    paper.text(x + width / 2, y - 0.14 * s, words, size, ha="center", weight="bold")


def legend_block(styles: Sequence[Style], scale: float) -> Block:
    """What each line, hatch and mark stands for; only what is on the sheets."""
    rows = []
    for style in styles:
        rows.append(Row(0.172 * scale, _legend_row(style)))
    return Block("Legend", tuple(rows))


def _legend_row(style: Style) -> Any:
    def draw(paper: Paper, x: float, y: float, width: float) -> None:
        from wetgis.outputs.sheets.draw import sample

        s = paper.scale
        sample(paper, Box(x, y - 0.165 * s, 0.62 * s, 0.13 * s), style)
        paper.text(x + 0.74 * s, y - 0.13 * s, style.label, BODY)

    return draw


def key_block(
    views: Sequence[View], shapes: Any, here: int, width: float, scale: float, prefix: str
) -> Block:
    """A small map of all sheets, this one shaded."""
    cores = np.array([view.core for view in views])
    west, south = cores[:, :2].min(axis=0)
    east, north = cores[:, 2:].max(axis=0)
    inches = min(width / (east - west), 1.5 * scale / (north - south))
    height = (north - south) * inches + 0.1 * scale

    def draw(paper: Paper, x: float, y: float, width: float) -> None:
        import shapely
        from matplotlib.patches import PathPatch

        from wetgis.outputs.sheets.draw import path_of

        left = x + (width - (east - west) * inches) / 2
        low = y - height + 0.05 * scale
        moved = shapely.transform(shapes, lambda xy: (xy - [west, south]) * inches + [left, low])
        paper.ax.add_artist(PathPatch(path_of(moved), facecolor="none", edgecolor=GREY,
                                      linewidth=0.3 * scale))  # fmt: skip
        for view in views:
            a, b, c, d = view.core
            box = Box(left + (a - west) * inches, low + (b - south) * inches, (c - a) * inches,
                      (d - b) * inches)  # fmt: skip
            shade = "#d9d9d9" if view.number == here else "none"
            paper.box(box, 0.6, facecolor=shade, alpha=1.0, zorder=0.5)
            paper.text(*box.middle, f"{prefix}{view.number}", 7, weight="bold", ha="center",
                       va="center")  # fmt: skip

    return Block("Key to sheets", (Row(height, draw),))


@dataclass(frozen=True)
class Title:
    """The words of a title block; what is empty stays a blank to be filled in."""

    place: str
    project: str
    sheet: str
    number: str
    of: int
    scale: str
    date: str
    page: str
    check: tuple[str, str] = ("", "")
    client: str = ""
    drawn: str = ""
    checked: str = ""


def title_height(paper: Paper) -> float:
    """How high the title block is, by the room that the strip has."""
    s, high = paper.scale, paper.page.strip.height
    return (5.0 if high > 15 else 3.5 if high > 9 else 2.75) * s


def title_panel(paper: Paper, box: Box, title: Title) -> None:
    """The title block: project, sheet, scale and its check, date, blanks, seal, number."""
    s = paper.scale
    paper.mask(box)
    paper.box(box, 1.2)
    pad, y = 0.1 * s, box.top
    inner = box.width - 2 * pad
    for text, size, bold, color, most in (
        (title.place.upper(), 7.4, False, BLACK, 2),
        (title.project, 14, True, BLACK, 3),
        (title.sheet.upper(), 9.6, True, BLACK, 2),
        (title.client, 7.4, False, GREY, 1),
    ):
        for line in wrap(text, size * s, inner, bold=bold)[:most] if text else []:
            y -= 1.32 * size * s / 72
            paper.text(box.x + pad, y, line, size, color=color,
                       weight="bold" if bold else "normal")  # fmt: skip
        y -= 0.035 * s
    y -= 0.05 * s
    half, row = box.width / 2, 0.3 * s
    facts = [("SCALE", title.scale), ("DATE", title.date), ("DRAWN", title.drawn),
             ("CHECKED", title.checked)]  # fmt: skip
    for k, (name, value) in enumerate(facts):
        at = Box(box.x + (k % 2) * half, y - (k // 2 + 1) * row, half, row)
        _cell(paper, at, name, value)
    y -= 2 * row
    if title.check[0]:
        words = f"{title.check[0]}   {title.check[1]}"
        _cell(paper, Box(box.x, y - row, box.width, row), "SCALE ASKED FOR", words, bold=True)
        y -= row
    if y - box.y > 2.5 * s:
        y = _revisions(paper, Box(box.x, box.y, box.width, y - box.y))
    _number_cell(paper, Box(box.x, box.y, box.width, y - box.y), title)


def _cell(paper: Paper, box: Box, name: str, value: str, *, bold: bool = False) -> None:
    """A small heading and a value in a ruled cell."""
    s = paper.scale
    paper.box(box, 0.5)
    paper.text(box.x + 0.06 * s, box.top - 0.095 * s, name, 5, color=GREY)
    size = fitted(value, 8 * s, box.width - 0.12 * s, bold=bold) / s
    paper.text(box.x + 0.06 * s, box.top - 0.24 * s, value, size,
               weight="bold" if bold else "normal")  # fmt: skip


def _revisions(paper: Paper, box: Box) -> float:
    """Empty rows for revisions; where the cells under them begin."""
    s, row = paper.scale, 0.2 * paper.scale
    columns = (("NO.", 0.12), ("DATE", 0.25), ("REVISION", 0.63))
    y = box.top
    for k in range(4):
        paper.line([box.x, box.right], [y - row] * 2, 0.4)
        left = box.x
        for name, share in columns:
            if k == 0:
                paper.text(left + 0.06 * s, y - 0.14 * s, name, 5, color=GREY)
            left += share * box.width
            paper.line([left, left], [y, y - row], 0.4)
        y -= row
    return y


def _number_cell(paper: Paper, box: Box, title: Title) -> None:
    """Seal at the left, the sheet's number at the right."""
    s = paper.scale
    wide = 0.4 * box.width
    paper.line([box.right - wide] * 2, [box.y, box.top], 0.8)
    paper.text(box.x + 0.06 * s, box.top - 0.095 * s, "SEAL AND SIGNATURE", 5, color=GREY)
    paper.text(box.right - wide + 0.06 * s, box.top - 0.095 * s, "SHEET", 5, color=GREY)
    size = fitted(title.number, min(30 * s, box.height * 72 * 0.45), wide - 0.2 * s, bold=True)
    x = box.right - wide / 2
    paper.text(x, box.y + 0.5 * box.height, title.number, size / s, weight="bold", ha="center",
               va="center")  # fmt: skip
    paper.text(x, box.y + 0.08 * s, f"of {title.of}  ({title.page})", 5.6, ha="center")
