"""Lines and letters on a page whose unit is the inch."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from wetgis.outputs.sheets.page import Box, Page

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["BLACK", "GREY", "RC", "Paper", "clean", "text_width", "wrap"]

BLACK, GREY = "#1a1a1a", "#7a7a7a"
#: Settings under which sheets are drawn: fonts embedded whole, nothing simplified or scaled.
RC: dict[str, Any] = {
    "pdf.fonttype": 42,
    "pdf.compression": 6,
    "path.simplify": False,
    "lines.scale_dashes": False,
    "hatch.linewidth": 0.35,
    "font.family": "DejaVu Sans",
    "text.usetex": False,
    "axes.linewidth": 0,
}
POINTS = 72.0


@lru_cache(maxsize=4)
def _font(bold: bool) -> Any:
    """The face that ships with matplotlib, so that sheets look alike everywhere."""
    from matplotlib import font_manager

    weight = "bold" if bold else "normal"
    prop = font_manager.FontProperties(family="DejaVu Sans", weight=weight)
    path = font_manager.findfont(prop, fallback_to_default=True)
    return font_manager.get_font(path)


@lru_cache(maxsize=4)
def _letters(bold: bool) -> frozenset[int]:
    return frozenset(_font(bold).get_charmap())


def clean(text: object, *, bold: bool = False) -> str:
    r"""A text on one line, letters that the face lacks as question marks.

    Examples
    --------
    >>> clean("a\nb \u4e2d")
    'a b ?'
    """
    known = _letters(bold)
    return " ".join("".join(c if ord(c) in known else " " if c.isspace() else "?"
                            for c in str(text)).split())  # fmt: skip


@lru_cache(maxsize=20_000)
def text_width(text: str, size: float, bold: bool = False) -> float:
    """The width of a text in inches."""
    font = _font(bold)
    font.set_size(100.0, POINTS)
    font.set_text(text, 0.0)
    return float(font.get_width_height()[0]) / 64.0 / 100.0 * size / POINTS


def wrap(text: str, size: float, width: float, *, bold: bool = False) -> list[str]:
    """A text in lines no wider than ``width`` inches; a long word is cut.

    Examples
    --------
    >>> wrap("one two three", 10, 0.6)
    ['one two', 'three']
    """
    lines: list[str] = []
    line = ""
    for word in clean(text, bold=bold).split():
        joined = f"{line} {word}".strip()
        if not line or text_width(joined, size, bold) <= width:
            line = joined
        else:
            lines.append(line)
            line = word
        while text_width(line, size, bold) > width and len(line) > 1:
            cut = next(n for n in range(len(line), 0, -1)
                       if n == 1 or text_width(line[:n], size, bold) <= width)  # fmt: skip
            lines.append(line[:cut])
            line = line[cut:]
    return [*lines, line] if line else lines or [""]


class Paper:
    """One page: a figure with axes in inches for everything but the map."""

    def __init__(self, page: Page) -> None:
        from matplotlib.figure import Figure

        self.page = page
        self.figure: Figure = Figure(figsize=(page.width, page.height))
        self.ax: Axes = self.axes(Box(0, 0, page.width, page.height), zorder=5)
        self.ax.set_xlim(0, page.width)
        self.ax.set_ylim(0, page.height)
        self.scale = page.type_scale

    def axes(self, box: Box, *, zorder: float) -> Axes:
        """Axes without a frame that fill a box exactly."""
        w, h = self.page.width, self.page.height
        where = (box.x / w, box.y / h, box.width / w, box.height / h)
        ax = self.figure.add_axes(where, zorder=zorder)
        ax.set_axis_off()
        ax.patch.set_visible(False)
        ax.set_autoscale_on(False)
        return ax

    def text(self, x: float, y: float, text: object, size: float = 8.0, **style: Any) -> None:
        """A text; ``size`` is in points on ARCH D. Never read as a formula."""
        bold = style.get("weight") == "bold"
        style = {"ha": "left", "va": "baseline", "color": BLACK} | style
        self.ax.text(x, y, clean(text, bold=bold), fontsize=size * self.scale,
                     parse_math=False, **style)  # fmt: skip

    def line(
        self, xs: Sequence[float], ys: Sequence[float], width: float = 0.6, **style: Any
    ) -> None:
        """A line; ``width`` is in points on ARCH D."""
        from matplotlib.lines import Line2D

        style = {"color": BLACK, "solid_capstyle": "butt"} | style
        self.ax.add_line(Line2D(xs, ys, linewidth=width * self.scale, **style))

    def box(self, box: Box, width: float = 0.6, **style: Any) -> None:
        """A rectangle."""
        from matplotlib.patches import Rectangle

        style = {"edgecolor": BLACK, "facecolor": "none", "joinstyle": "miter"} | style
        self.ax.add_patch(Rectangle((box.x, box.y), box.width, box.height,
                                    linewidth=width * self.scale, **style))  # fmt: skip

    def polygon(
        self, corners: Sequence[tuple[float, float]], width: float = 0.6, **style: Any
    ) -> None:
        """A closed shape."""
        from matplotlib.patches import Polygon

        style = {"edgecolor": BLACK, "facecolor": BLACK, "joinstyle": "miter"} | style
        self.ax.add_patch(Polygon(corners, closed=True, linewidth=width * self.scale, **style))

    def mask(self, box: Box) -> None:
        """White paper over what was drawn there."""
        self.box(box, 0, facecolor="white", edgecolor="none")
