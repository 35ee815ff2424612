"""Features onto the page, cut at the map's frame."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from wetgis.outputs.sheets.page import Box
from wetgis.outputs.sheets.style import Style
from wetgis.outputs.sheets.tiling import View

if TYPE_CHECKING:
    from matplotlib.path import Path

    from wetgis.outputs.sheets.ink import Paper

__all__ = ["Map", "path_of", "sample", "upright"]

Floats = npt.NDArray[np.float64]
Geometries = npt.NDArray[np.object_]

#: Spacing of the marsh symbol, inches of paper.
MARSH = (0.46, 0.36)
#: Styles of this order and above are objects that stand on the ground.
OBJECTS = 10
#: Ground drawn beyond the frame, so that a cut never shows.
BEYOND_IN = 0.3
#: A letter breaks a utility line this often, inches.
LETTERS_IN = 1.6


def path_of(geometries: Geometries) -> Path:
    """Lines and polygons as one path; holes run against their shells."""
    import shapely
    from matplotlib.path import Path

    parts = shapely.get_parts(geometries)
    areal = shapely.get_dimensions(parts) == 2
    rings = shapely.get_rings(shapely.orient_polygons(parts[areal]))
    lines = parts[shapely.get_dimensions(parts) == 1]
    xy, owner = shapely.get_coordinates(np.concatenate([rings, lines]), return_index=True)
    if len(xy) == 0:
        return Path(np.empty((0, 2)))
    codes = np.full(len(xy), Path.LINETO, dtype=np.uint8)
    first = np.concatenate([[True], owner[1:] != owner[:-1]])
    last = np.concatenate([owner[1:] != owner[:-1], [True]])
    codes[first] = Path.MOVETO
    codes[last & (owner < len(rings))] = Path.CLOSEPOLY
    return Path(xy, codes)


class Map:
    """The map of one sheet."""

    def __init__(self, paper: Paper, view: View) -> None:
        from matplotlib.patches import Rectangle

        self.paper, self.view = paper, view
        self.frame = view.frame
        f = view.frame
        self._clip = Rectangle((f.x, f.y), f.width, f.height, transform=paper.ax.transData)

    def seen(self, geometries: Geometries) -> Geometries:
        """The parts of geometries on the sheet, in inches; None where nothing is."""
        import shapely

        if len(geometries) == 0:
            return geometries
        west, south, east, north = self.view.bounds
        beyond = BEYOND_IN * self.view.unit_per_in
        ground = shapely.box(west - beyond, south - beyond, east + beyond, north + beyond)
        shapely.prepare(ground)
        out = np.full(len(geometries), None, dtype=object)
        hit = shapely.intersects(ground, geometries)
        whole = hit & shapely.contains_properly(ground, geometries)
        out[whole] = geometries[whole]
        cut = hit & ~whole
        out[cut] = shapely.intersection(geometries[cut], ground)
        return np.asarray(shapely.transform(out, self._on_paper))

    def _on_paper(self, xy: Floats) -> Floats:
        return np.column_stack(self.view.paper(xy[:, 0], xy[:, 1]))

    def shapes(self, seen: Geometries, style: Style) -> None:
        """Lines and polygons in their style."""
        import shapely

        seen = seen[~(shapely.is_missing(seen) | shapely.is_empty(seen))]
        areas = seen[shapely.get_dimensions(seen) == 2]
        if len(areas) and (style.fill or style.hatch):
            self._patch(path_of(areas), style, fill=True)
        if len(areas) and style.symbol == "marsh":
            self._marsh(areas, style)
        if style.line and not style.symbol.startswith(("triangle", "circle")):
            self._patch(path_of(seen), style, fill=False)
        if style.letter:
            self._letters(seen, style)
        if style.symbol in ("triangle", "circle"):
            self._points(seen, style)

    def _patch(self, path: Path, style: Style, *, fill: bool) -> None:
        from matplotlib.patches import PathPatch

        scale = self.paper.scale
        dash = tuple(d * scale for d in style.dash)
        patch = PathPatch(
            path,
            facecolor=style.fill or "none" if fill else "none",
            edgecolor=style.line if not fill or style.hatch else "none",
            linewidth=0.0 if fill else style.width * scale,
            linestyle=(0, dash) if dash and not fill else "solid",
            hatch=style.hatch if fill and style.hatch else None,
            alpha=style.alpha if fill and style.alpha < 1 else None,
            joinstyle="round",
            capstyle="butt",
            # tints of ground lie under every line; a building's or a road's covers what it hides
            zorder=(style.order / 100 if style.order < OBJECTS else style.order)
            if fill
            else style.order + 0.4,
        )
        self._add(patch)

    def _add(self, artist: Any) -> None:
        """Add an artist, cut at the frame."""
        self.paper.ax.add_artist(artist)
        artist.set_clip_path(self._clip)

    def _marsh(self, areas: Geometries, style: Style) -> None:
        """Tufts of grass on a grid that goes through from sheet to sheet."""
        import shapely
        from matplotlib.collections import LineCollection

        places = self._grid()
        whole = shapely.union_all(areas)
        shapely.prepare(whole)
        size = 0.075 * self.paper.scale
        around = shapely.box(places[:, 0] - 1.3 * size, places[:, 1] - 0.4 * size,
                             places[:, 0] + 1.3 * size, places[:, 1] + 1.3 * size)  # fmt: skip
        places = places[shapely.contains(whole, around)]
        blades = [(-1.2, 0, 1.2, 0), (0, 0.15, 0, 1.2), (-0.35, 0.15, -0.7, 0.95),
                  (0.35, 0.15, 0.7, 0.95)]  # fmt: skip
        strokes = np.array(blades).reshape(-1, 2, 2) * size
        tufts = (places[:, None, None, :] + strokes[None]).reshape(-1, 2, 2)
        self._add(LineCollection(list(tufts), colors=style.line, linewidths=0.4 * self.paper.scale,
                                 zorder=style.order + 0.2))  # fmt: skip

    def _grid(self) -> Floats:
        """Staggered places in inches, at whole steps of ground from the CRS's origin."""
        view = self.view
        dx, dy = (step * self.paper.scale for step in MARSH)
        west, south, east, north = view.bounds
        unit = view.unit_per_in
        rows = np.arange(np.floor(south / unit / dy), np.ceil(north / unit / dy) + 1)
        cols = np.arange(np.floor(west / unit / dx), np.ceil(east / unit / dx) + 1)
        col, row = np.meshgrid(cols, rows)
        x = (col + 0.5 * (row % 2)) * dx * unit
        y = row * dy * unit
        return np.column_stack(view.paper(x.ravel(), y.ravel()))

    def _letters(self, seen: Geometries, style: Style) -> None:
        """A letter in a gap of the line, every so often."""
        import shapely

        lines = shapely.get_parts(seen)
        for line in lines[shapely.get_dimensions(lines) == 1]:
            for at in np.arange(LETTERS_IN / 2, line.length, LETTERS_IN):
                here, ahead = line.interpolate(at - 0.02), line.interpolate(at + 0.02)
                angle = np.degrees(np.arctan2(ahead.y - here.y, ahead.x - here.x))
                self.label(here.x, here.y, style.letter, 5.5, angle=upright(float(angle)),
                           color=style.line, zorder=style.order + 0.5)  # fmt: skip

    def _points(self, seen: Geometries, style: Style) -> None:
        """Triangles for flags, circles for trees; a polygon or line at its middle."""
        import shapely
        from matplotlib.collections import PolyCollection

        if len(seen) == 0:
            return
        at = shapely.get_coordinates(shapely.centroid(seen))
        size = 0.055 * self.paper.scale
        angles = np.radians([90, 210, 330] if style.symbol == "triangle" else np.arange(0, 360, 15))
        shape = size * np.column_stack([np.cos(angles), np.sin(angles)])
        filled = "white" if style.symbol == "triangle" else "none"
        self._add(PolyCollection(list(at[:, None, :] + shape[None]), facecolors=filled,
                                 edgecolors=style.line, linewidths=style.width * self.paper.scale,
                                 zorder=style.order + 0.4))  # fmt: skip

    def label(
        self, x: float, y: float, text: str, size: float, *, angle: float = 0.0, **style: Any
    ) -> None:
        """A text on white, at its middle."""
        halo = {"facecolor": "white", "edgecolor": "none", "pad": 0.7 * self.paper.scale,
                "alpha": 0.82}  # fmt: skip
        style = {"ha": "center", "va": "center", "bbox": halo, "zorder": 30} | style
        self.paper.text(x, y, text, size, rotation=angle, rotation_mode="anchor", clip_on=True,
                        **style)  # fmt: skip


def upright(angle: float) -> float:
    """An angle at which a text is not upside down.

    Examples
    --------
    >>> upright(170.0), upright(-90.0), upright(45.0)
    (-10.0, 90.0, 45.0)
    """
    angle = (angle + 180.0) % 360.0 - 180.0
    if angle > 90.0:
        return angle - 180.0
    return angle + 180.0 if angle <= -90.0 else angle


def sample(paper: Paper, box: Box, style: Style) -> None:
    """A piece of a style in a box, for the legend."""
    import shapely

    s = paper.scale
    view = View(0, box, box.x, box.y, 1.0, (0, 0, 0, 0), {})
    drawn = Map(paper, view)
    x0, x1, y = box.x, box.right, box.y + box.height / 2
    if style.symbol in ("triangle", "circle"):
        shapes = [shapely.points((x0 + x1) / 2, y)]
    elif style.fill or style.hatch:
        shapes = [shapely.box(x0 + 0.01, box.y + 0.005, x1 - 0.01, box.top - 0.005)]
    else:
        shapes = [shapely.linestrings([(x0, y), (x1, y)])]
    drawn.shapes(np.array(shapes, dtype=object), replace(style, letter=""))
    if style.letter:
        paper.text((x0 + x1) / 2, y - 0.025 * s, style.letter, 5.5, ha="center", color=style.line,
                   bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5})  # fmt: skip
