"""Plan sheets: a PDF at an exact scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wetgis.errors import InputError, UsageError
from wetgis.outputs.atomic import replacing
from wetgis.outputs.sheets.blocks import Block, Column, flow
from wetgis.outputs.sheets.compose import Scene, draw_map, scene_of, used_styles
from wetgis.outputs.sheets.content import (
    Item,
    ScaleCheck,
    contour_interval,
    map_content,
    scale_checks,
)
from wetgis.outputs.sheets.furniture import (
    NorthInfo,
    Title,
    grid_ticks,
    key_block,
    legend_block,
    match_lines,
    north_block,
    title_height,
    title_panel,
)
from wetgis.outputs.sheets.ink import RC, Paper
from wetgis.outputs.sheets.notes import line_table, tables
from wetgis.outputs.sheets.page import Box, Page, page_of
from wetgis.outputs.sheets.source import SheetData, sheet_data
from wetgis.outputs.sheets.tiling import View, tile

if TYPE_CHECKING:
    import geopandas as gpd

__all__ = ["SheetOptions", "Sheets", "scale_checks", "write_sheet"]

#: Contours where no pack states an interval.
CONTOUR_FT = 2.0
#: Bearings and lengths are written on the lines of up to this many parcels.
LABELLED_PARCELS = 12


@dataclass(frozen=True)
class SheetOptions:
    """Words and choices of a sheet; what is empty stays a blank to be filled in.

    Parameters
    ----------
    title : str
        The project; the site's own title where it is empty.
    sheet : str
        What the drawing is.
    place, client, drawn, checked, date : str
        For the title block.
    prefix : str
        Before the sheets' numbers.
    north : str
        ``grid`` or ``true``: where the arrow points. The map itself is always on the grid.
    contour_ft : float, optional
        Interval; None: what a pack asks for, else 2 ft. 0: none.
    label_lines : bool, optional
        Bearings and lengths on the parcels' lines; None: where the parcels are few.
    around_ft : float, optional
        Ground shown around the parcels; None: the largest distance that a pack asks about.
    """

    title: str = ""
    sheet: str = "Existing features map"
    place: str = ""
    client: str = ""
    drawn: str = ""
    checked: str = ""
    date: str = ""
    prefix: str = "EX-"
    north: str = "grid"
    contour_ft: float | None = None
    label_lines: bool | None = None
    around_ft: float | None = None


@dataclass(frozen=True)
class Sheets:
    """What was written.

    Attributes
    ----------
    path : Path
        The PDF.
    pages : tuple of str
        What each page is: ``index``, ``map`` or ``notes``.
    checks : tuple of ScaleCheck
        The scale against each pack's.
    content : tuple of Item
        What each pack wants on the map, and what the data could not show.
    left_out : dict
        How many labels of each sort found no room.
    """

    path: Path
    pages: tuple[str, ...]
    checks: tuple[ScaleCheck, ...]
    content: tuple[Item, ...]
    left_out: dict[str, int]


def write_sheet(
    source: Any,
    out_pdf: str | Path,
    *,
    scale_ft_per_in: float = 50.0,
    page: str = "ARCH D",
    ids: Sequence[str] | None = None,
    options: SheetOptions | None = None,
) -> Sheets:
    """Draw plan sheets as a PDF at an exact scale.

    Parameters
    ----------
    source : Site, Screening or mapping of frames by kind
        A site is screened first. A mapping may hold any kind of layer, and ``buffer``.
    out_pdf : str or Path
        Replaced only when all is drawn.
    scale_ft_per_in : float
        US survey feet of the grid an inch of paper: at 50, a hundred feet measure two inches.
    page : str
        ``LETTER``, ``LEGAL``, ``TABLOID``, ``ANSI B`` to ``D``, ``ARCH A`` to ``D``; the
        long side is level.
    ids : sequence of str, optional
        The parcels or footprints that the sheets are about; all where it is not given.
    options : SheetOptions, optional
        Words of the title block, contours, north.

    Returns
    -------
    Sheets

    Raises
    ------
    UsageError
        On a page that is not known or a scale that is not above 0.
    InputError
        Where there is nothing to draw.
    OutputError
        Where it would take more than 60 sheets, or the file cannot be written.

    Notes
    -----
    Where the ground does not fit on one sheet there are several, with match lines and an index
    sheet before them; tables that find no room have sheets of their own at the end. Print at
    100 %: "fit to page" ends the scale.

    Examples
    --------
    >>> import geopandas, pathlib, shapely, tempfile
    >>> lot = geopandas.GeoDataFrame({"id": ["91.-1-30"]}, crs="EPSG:2260",
    ...     geometry=[shapely.box(578_000, 909_000, 578_300, 909_200)])
    >>> out = pathlib.Path(tempfile.mkdtemp()) / "sheet.pdf"
    >>> write_sheet({"parcels": lot}, out, page="LETTER").pages
    ('map',)
    """
    import matplotlib as mpl

    chosen = options or SheetOptions()
    if not scale_ft_per_in > 0:
        raise UsageError(f"the scale is {scale_ft_per_in} ft an inch.", needed="more than 0")
    if chosen.north not in ("grid", "true"):
        raise UsageError(f"north is '{chosen.north}'.", needed="grid or true")
    with mpl.rc_context(RC):
        drawing = _Drawing(sheet_data(source, ids), page_of(page), float(scale_ft_per_in), chosen)
        papers = drawing.sheets()
        _save(papers, Path(out_pdf), drawing.title)
    return Sheets(
        Path(out_pdf),
        tuple(kind for kind, _, _ in papers),
        tuple(drawing.checks),
        tuple(drawing.content),
        dict(sorted(drawing.left_out.items())),
    )


def _save(papers: list[Any], path: Path, title: str) -> None:
    """All pages into one file, without a date, so that equal drawings are equal bytes."""
    from matplotlib.backends.backend_pdf import PdfPages

    from wetgis import __version__

    about = {"Title": title, "Creator": f"wetgis {__version__}", "CreationDate": None}
    with replacing(path) as part, PdfPages(part, metadata=about) as pdf:
        for _, paper, _ in papers:
            pdf.savefig(paper.figure)


class _Drawing:
    """All sheets of one drawing; pages are made first, their title blocks when all are counted."""

    def __init__(self, data: SheetData, page: Page, scale: float, options: SheetOptions) -> None:
        import shapely

        from wetgis.crs import ft_per_unit

        self.data, self.page, self.options = data, page, options
        self.ft_per_in, self.ft = scale, ft_per_unit(data.crs)
        self.title = options.title or data.title or "Site"
        self.checks = scale_checks(scale, data.packs)
        self.left_out: dict[str, int] = {}
        self.views = self._views()
        ground = shapely.union_all([view.box() for view in self.views])
        if "buffer" not in data.layers:
            zone = data.zone(ground)
            data = data if zone is None else replace(data, layers={**data.layers, "buffer": zone})
        self.data = data = data.on(ground)
        self.interval = self._interval()
        contours, why = self._contours()
        drawn = f"{self.interval:g} ft" if len(contours) else ""
        self.datum = self._datum()
        self.content = map_content(data, contours=drawn, datum=self.datum, gap=why)
        self.scene: Scene = scene_of(data, contours, self._study(), self._legs(), ground)
        self.legend = used_styles(self.scene, self.interval)

    # ---- what is shown

    def _bounds(self) -> tuple[float, float, float, float]:
        """The ground to be shown: the subjects and what lies around them."""
        frames = [self.data.subjects] if len(self.data.subjects) else [
            self.data.frame(kind) for kind in self.data.layers]  # fmt: skip
        boxes = np.array([frame.total_bounds for frame in frames if len(frame)])
        if len(boxes) == 0 or not np.isfinite(boxes).all():
            raise InputError("there is nothing to draw.", needed="features with a geometry")
        d = self._around() / self.ft
        west, south = boxes[:, :2].min(axis=0) - d
        east, north = boxes[:, 2:].max(axis=0) + d
        return float(west), float(south), float(east), float(north)

    def _around(self) -> float:
        if self.options.around_ft is not None:
            return self.options.around_ft
        if len(self.data.subjects) == 0:
            return 0.0
        asked = [pack.reach_ft for pack in self.data.packs]
        asked += [self.data.buffer_ft] if self.data.buffer_ft == self.data.buffer_ft else []
        return max(asked, default=0.0)

    def _views(self) -> list[View]:
        import shapely

        bounds = self._bounds()
        d = self._around() / self.ft
        if len(self.data.subjects):
            west, south, east, north = self.data.subjects.geometry.bounds.to_numpy().T
            needed = shapely.box(west - d, south - d, east + d, north + d)
            needed = needed[np.isfinite(west)]
        else:
            needed = np.array([shapely.box(*bounds)], dtype=object)
        return tile(bounds, self.page.frame, self.ft_per_in / self.ft, needed)

    def _interval(self) -> float:
        if self.options.contour_ft is not None:
            return self.options.contour_ft
        return contour_interval(self.data.packs, CONTOUR_FT)

    def _contours(self) -> tuple[gpd.GeoDataFrame, str]:
        import geopandas as gpd

        from wetgis.outputs.sheets.contours import contour_lines

        none = gpd.GeoDataFrame({"level_ft": [], "index": []}, geometry=[], crs=self.data.crs)
        if self.data.dem is None or self.interval <= 0:
            return none, ""
        corners = np.array([view.bounds for view in self.views])
        west, south = corners[:, :2].min(axis=0)
        east, north = corners[:, 2:].max(axis=0)
        return contour_lines(self.data.dem, self.data.crs, (west, south, east, north),
                             interval_ft=self.interval)  # fmt: skip

    def _datum(self) -> str:
        from wetgis.outputs.sheets.contours import vertical_datum

        return "" if self.data.dem is None else vertical_datum(self.data.dem)

    def _study(self) -> Any:
        """The ground whose vegetation a pack wants described."""
        from wetgis.buffers import buffer_zone

        footprints = self.data.frame("footprints")
        reaches = [pack.limit(rule.parameters["reach"]).value for pack in self.data.packs
                   for rule in pack.rules if rule.kind == "study_area"]  # fmt: skip
        reaches = [reach for reach in reaches if reach > 0]
        if len(footprints) == 0 or not reaches:
            return None
        return buffer_zone(footprints, max(reaches)).to_frame("geometry")

    def _legs(self) -> Any:
        from wetgis.outputs.sheets.labels import legs_of_parcels

        parcels = self.data.frame("parcels")
        if len(parcels):
            parcels = parcels[parcels["id"].isin(set(self.data.subjects["id"]))]
        few = 0 < len(parcels) <= LABELLED_PARCELS
        wanted = few if self.options.label_lines is None else self.options.label_lines
        return legs_of_parcels(parcels, self.ft) if wanted and len(parcels) else None

    # ---- the sheets

    def sheets(self) -> list[tuple[str, Paper, View | None]]:
        """Every page: what it is, the paper, and the view of a map."""
        made: list[tuple[str, Paper, View | None]] = []
        room = (self.page.strip.width - 0.24 * self.page.type_scale, self.page.type_scale)
        blocks = tables(self.data, self.ft, self.content, self.checks, room)
        if len(self.views) > 1:
            paper, index = self._index_sheet()
            blocks = self._strip(paper, index, [], blocks)
            made.append(("index", paper, index))
        for view in self.views:
            paper = Paper(self.page)
            lines, left = draw_map(paper, view, self.scene)
            for what, n in left.items():
                self.left_out[what] = self.left_out.get(what, 0) + n
            self._around_map(paper, view)
            name = f"{self.options.prefix}{view.number}"
            own = [line_table(lines, room, f"Lines of sheet {name}")] if lines else []
            alone = blocks if len(self.views) == 1 else []
            rest = self._strip(paper, view, own, alone)
            blocks = rest if len(self.views) == 1 else [*blocks, *rest]
            made.append(("map", paper, view))
        while blocks:
            paper, blocks = self._notes_sheet(blocks)
            made.append(("notes", paper, None))
        for number, (kind, paper, shown) in enumerate(made, start=1):
            self._title(paper, kind, shown, (number, len(made)))
        return made

    def _around_map(self, paper: Paper, view: View) -> None:
        """Frame, grid and match lines."""
        paper.box(view.frame, 1.0, zorder=33)
        grid_ticks(paper, view)
        match_lines(paper, view, self.options.prefix)

    def _index_sheet(self) -> tuple[Paper, View]:
        """All sheets on one, at a round scale of its own."""
        from wetgis.outputs.sheets.north import nice_scale

        cores = np.array([view.core for view in self.views])
        west, south = cores[:, :2].min(axis=0)
        east, north = cores[:, 2:].max(axis=0)
        f = self.page.frame
        needed = max((east - west) / f.width, (north - south) / f.height) * self.ft * 1.04
        unit = nice_scale(needed) / self.ft
        at = ((west + east - f.width * unit) / 2, (south + north - f.height * unit) / 2)
        view = View(1, f, *at, unit, (0, 0, 0, 0), {})
        paper = Paper(self.page)
        draw_map(paper, view, self.scene, index=True)
        for other in self.views:
            (x0, x1), (y0, y1) = view.paper(other.core[::2], other.core[1::2])
            box = Box(x0, y0, x1 - x0, y1 - y0)
            paper.box(box, 1.6, zorder=32)
            paper.text(*box.middle, f"{self.options.prefix}{other.number}", 16, weight="bold",
                       ha="center", va="center", zorder=33,
                       bbox={"facecolor": "white", "edgecolor": "none", "pad": 2})  # fmt: skip
        self._around_map(paper, view)
        return paper, view

    def _strip(self, paper: Paper, view: View, own: list[Block], more: list[Block]) -> list[Block]:
        """North, key, legend and tables beside a map; what found no room comes back."""
        strip, pad = self.page.strip, 0.12 * paper.scale
        width = strip.width - 2 * pad
        high = title_height(paper)
        box = Box(strip.x + pad, strip.y + high + 0.05, width, strip.height - high - 0.05 - pad)
        ft_per_in = view.unit_per_in * self.ft
        blocks = [north_block(self._north(view, ft_per_in), width, paper.scale)]
        blocks.append(legend_block(self.legend, paper.scale))
        column = Column(paper, box)
        rest = flow(blocks, [column])
        if len(self.views) > 1 and view.number != 1:
            shapes = np.asarray(self.data.subjects.geometry.array, dtype=object)
            key = key_block(self.views, shapes, view.number, width, paper.scale,
                            self.options.prefix)  # fmt: skip
            # where there is no room for the key, the index sheet has it
            flow([key], [column])
        return [*rest, *flow([*own, *more], [column])]

    def _north(self, view: View, ft_per_in: float) -> NorthInfo:
        from wetgis.crs import combined_factor
        from wetgis.outputs.sheets.north import true_north_deg

        west, south, east, north = view.bounds
        middle = ((west + east) / 2, (south + north) / 2)
        factor = self.data.combined_factor
        if factor is None:
            factor = combined_factor(self.data.crs, view.bounds)
        turn = true_north_deg(self.data.crs, *middle)
        return NorthInfo(turn, self.options.north, self.data.crs.name, factor or nan, ft_per_in,
                         self.datum)  # fmt: skip

    def _notes_sheet(self, blocks: list[Block]) -> tuple[Paper, list[Block]]:
        """A sheet of columns of tables and notes."""
        paper = Paper(self.page)
        strip, f, gap = self.page.strip, self.page.frame, 0.3 * paper.scale
        width = strip.width - 0.24 * paper.scale
        count = max(1, int((f.width + gap) // (width + gap)))
        columns = [Column(paper, Box(f.x + k * (width + gap), f.y, width, f.height))
                   for k in range(count)]  # fmt: skip
        high = title_height(paper)
        columns.append(Column(paper, Box(strip.x + 0.12 * paper.scale, strip.y + high + 0.1, width,
                                         strip.height - high - 0.22)))  # fmt: skip
        return paper, flow(blocks, columns)

    def _title(self, paper: Paper, kind: str, view: View | None, page: tuple[int, int]) -> None:
        """Border, strip and title block."""
        options, border, strip = self.options, self.page.border, self.page.strip
        paper.box(border, 2.0)
        paper.line([strip.x, strip.x], [border.y, border.top], 1.2)
        words = {"index": "Index of sheets", "notes": "Notes and tables", "map": options.sheet}
        feet = 0.0 if view is None else view.unit_per_in * self.ft
        scale = f"1 in = {feet:,.6g} ft (1:{feet * 12:,.6g})" if feet else "no scale"
        check = self.checks[0] if self.checks and kind == "map" else None
        date = options.date or (self.data.as_of.isoformat() if self.data.as_of else "")
        place = options.place or next((pack.place for pack in self.data.packs), "")
        title_panel(
            paper,
            Box(strip.x, strip.y, strip.width, title_height(paper)),
            Title(
                place, self.title, words[kind], f"{options.prefix}{page[0]}", page[1], scale, date,
                self.page.name,
                (check.outcome, f"{check.says} ({check.cite})") if check else ("", ""),
                options.client, options.drawn, options.checked,
            ),
        )  # fmt: skip
