"""Pictures of a screening: a plot, a map in a browser, and the card of a notebook.

The card is one piece of HTML with an inline SVG: it loads nothing and needs no JavaScript.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import shapely

from wetgis.outputs.palette import LAYER_STYLES, STATUS_COLOURS, SUBJECT_LINE, LayerStyle
from wetgis.outputs.shapes import Geometries, Grid, encode
from wetgis.outputs.text import headlines, issue_line, provisions
from wetgis.outputs.words import ANSWER_WORDS, STATUS_WORDS
from wetgis.schema import STATUSES

if TYPE_CHECKING:
    import geopandas as gpd

    from wetgis.screening import Screening

__all__ = ["explore", "plot", "repr_html"]

#: Features drawn over the parcels, from the bottom up.
_OVER = ("buffer", "wetlands", "watercourses", "municipality")
#: From here on a card draws the parcels of one status as one area.
_CARD_PARCELS = 4_000
_CARD_WIDTH, _CARD_HEIGHT = 560, 380


def plot(screening: Screening, ax: Any = None) -> Any:
    """Draw the subjects by status with wetlands, watercourses and buffer.

    Parameters
    ----------
    screening : Screening
        The result.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure otherwise.

    Returns
    -------
    matplotlib.axes.Axes
        In the units of the working CRS, equal in both directions, without ticks.

    Raises
    ------
    UsageError
        Where matplotlib is not installed.
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise _missing("plot", "matplotlib") from None
    if ax is None:
        _, ax = plt.subplots(figsize=(9, 7.5), layout="constrained")
    measures = screening.measures
    handles = _plot_parcels(ax, measures[measures["subject_kind"] == "parcel"])
    with plt.rc_context({"hatch.linewidth": 0.5}):
        for name in _OVER:
            handles += _plot_layer(ax, screening.layers.get(name), LAYER_STYLES[name])
        footprints = measures[measures["subject_kind"] == "footprint"]
        handles += _plot_layer(ax, footprints, LAYER_STYLES["footprints"])
    _frame(ax, screening)
    if handles:
        ax.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    ax.set_title(screening.title or "Screening", loc="left", fontsize=13, fontweight="bold")
    return ax


def _plot_parcels(ax: Any, parcels: gpd.GeoDataFrame) -> list[Any]:
    from matplotlib.patches import Patch

    handles = []
    for status in STATUSES:
        rows = _drawable(parcels[parcels["status"] == status])
        if len(rows):
            colour = STATUS_COLOURS[status]
            rows.plot(ax=ax, color=colour, edgecolor=SUBJECT_LINE, linewidth=0.35, aspect=None)
            label = f"{STATUS_WORDS[status]} ({len(rows):,})"
            handles.append(Patch(facecolor=colour, edgecolor=SUBJECT_LINE, label=label))
    return handles


def _plot_layer(ax: Any, frame: gpd.GeoDataFrame | None, style: LayerStyle) -> list[Any]:
    from matplotlib.patches import Patch

    rows = None if frame is None else _drawable(frame)
    if rows is None or len(rows) == 0:
        return []
    line = {"linewidth": 2.6 * style.width, "linestyle": "--" if style.dashed else "-"}
    areas = rows[shapely.get_dimensions(rows.geometry.to_numpy()) == 2]
    others = rows[shapely.get_dimensions(rows.geometry.to_numpy()) < 2]
    look: dict[str, Any] = {"facecolor": style.fill or "none", "edgecolor": style.line, **line}
    if style.hatch:
        look |= {"facecolor": "none", "hatch": "//////"}
    if len(areas):
        areas.plot(ax=ax, aspect=None, **look)
    if len(others):
        others.plot(ax=ax, aspect=None, color=style.line, **line)
    return [Patch(label=style.label, **look)]


def _drawable(frame: gpd.GeoDataFrame) -> gpd.GeoDataFrame:
    geoms = frame.geometry.to_numpy()
    return frame[~(shapely.is_missing(geoms) | shapely.is_empty(geoms))]


def _frame(ax: Any, screening: Screening) -> None:
    """The subjects fill the picture, whatever the layers' extent."""
    rows = _drawable(screening.measures)
    ax.set_aspect("equal")
    ax.set_xticks([])
    ax.set_yticks([])
    ax.set_xlabel("")
    ax.set_ylabel("")
    if len(rows):
        x0, y0, x1, y1 = shapely.total_bounds(rows.geometry.to_numpy())
        room = 0.04 * max(x1 - x0, y1 - y0, 1.0)
        ax.set_xlim(x0 - room, x1 + room)
        ax.set_ylim(y0 - room, y1 + room)


def _missing(what: str, package: str) -> Exception:
    from wetgis.errors import UsageError

    return UsageError(
        f"{what} needs {package}, which is not installed.", mend='pip install "wetgis[maps]"'
    )


def explore(screening: Screening) -> Any:
    """A map in the browser with background tiles, by geopandas and folium.

    Parameters
    ----------
    screening : Screening
        The result.

    Returns
    -------
    folium.Map
        The tiles and the program that draws the map come from the network: without one the map
        stays empty. ``report.html`` and the card of a notebook need no network.

    Raises
    ------
    UsageError
        Where folium is not installed.
    """
    try:
        import folium
    except ImportError:
        raise _missing("explore", "folium") from None
    made: Any = folium.Map(tiles="OpenStreetMap", control_scale=True)
    shown = ["subject_id", "status", "wetland_sqft", "watercourse_sqft", "buffer_sqft", "n_met"]
    for kind in ("parcel", "project", "footprint"):
        rows = _drawable(screening.measures[screening.measures["subject_kind"] == kind])
        if len(rows):
            there = [*shown, "geometry"]
            _explore_layer(_as_text(rows[there]), made, f"{kind}s".capitalize(), "status")
    for name in _OVER:
        frame = screening.layers.get(name)
        rows = None if frame is None else _drawable(frame)
        if rows is not None and len(rows):
            there = [c for c in ("id", "name", "geometry") if c in rows]
            _explore_layer(_as_text(rows[there]), made, LAYER_STYLES[name].label, name)
    folium.LayerControl(collapsed=False).add_to(made)
    bounds = _bounds_wgs84(screening.measures)
    if bounds is not None:
        made.fit_bounds(bounds)
    return made


def _as_text(rows: gpd.GeoDataFrame) -> gpd.GeoDataFrame:
    """Attributes as escaped text: a popup takes what it is given for HTML."""
    made = rows.copy()
    for name in made.columns:
        if name != "geometry":
            made[name] = [escape(str(v)) for v in made[name]]
    return made


def _explore_layer(rows: gpd.GeoDataFrame, into: Any, label: str, colour: str) -> None:
    tooltip = [c for c in rows.columns if c != "geometry"]
    if colour == "status":
        fills = {status: STATUS_COLOURS[status] for status in STATUSES}
        line = SUBJECT_LINE
        key = "status"
    else:
        style = LAYER_STYLES[colour]
        fills, line, key = {"": style.fill or "transparent"}, style.line, ""

    def look(feature: dict[str, Any]) -> dict[str, Any]:
        value = feature["properties"].get(key, "") if key else ""
        return {
            "fillColor": fills.get(value, "transparent"),
            "color": line,
            "weight": 1,
            "fillOpacity": 0.7,
        }

    rows.explore(m=into, name=label, tooltip=tooltip, style_kwds={"style_function": look})


def _bounds_wgs84(frame: gpd.GeoDataFrame) -> list[list[float]] | None:
    rows = _drawable(frame)
    if len(rows) == 0:
        return None
    x0, y0, x1, y1 = rows.to_crs(4326).total_bounds.tolist()
    return [[y0, x0], [y1, x1]]


def repr_html(screening: Screening) -> str:
    """A screening as a card for a notebook: words, a small map, the gravest findings.

    Returns
    -------
    str
        HTML with an inline SVG. It loads nothing, and text from files is escaped.
    """
    title = screening.title or "Screening"
    told = "".join(f"<p style='margin:2px 0'>{escape(text)}</p>" for text in headlines(screening))
    rows = []
    for p in provisions(screening)[:6]:
        answer = " or ".join(ANSWER_WORDS.get(a, a) for a in p.answers) or "Cannot be told"
        cells = (p.rule, answer, p.title or p.says, p.cite)
        rows.append(
            "<tr>"
            + "".join(f"<td style='{_CELL};text-align:left'>{escape(c)}</td>" for c in cells)
            + f"<td style='{_CELL};text-align:right'>{p.met:,}</td>"
            + f"<td style='{_CELL};text-align:right'>{p.undetermined:,}</td></tr>"
        )
    head = "".join(
        f"<th style='{_CELL};text-align:left'>{h}</th>"
        for h in ("Rule", "Says", "What it asks", "Citation", "Met", "Cannot be told")
    )
    table = f"<table style='border-collapse:collapse'><tr>{head}</tr>{''.join(rows)}</table>"
    return (
        "<div style='font:13px/1.45 system-ui,sans-serif;color:#1d2a33;background:#fff;"
        "max-width:900px;border:1px solid #d9dfe2;border-radius:5px;padding:12px 16px'>"
        f"<div style='font-size:17px;font-weight:650'>{escape(title)}</div>"
        f"{told}{_svg(screening)}{_key(screening.measures)}{table if rows else ''}"
        f"<p style='margin:6px 0 0;color:#4f5f6a'>{escape(issue_line(screening.issues))} This is a "
        "screening; the officials whom the law names determine.</p></div>"
    )


_CELL = "padding:3px 10px 3px 0;border-bottom:1px solid #e8ecee;vertical-align:top"


def _key(measures: pd.DataFrame) -> str:
    items = []
    for status in STATUSES:
        n = int((measures["status"] == status).sum())
        if n:
            box = (
                "display:inline-block;width:11px;height:11px;margin-right:5px;"
                f"border:1px solid {SUBJECT_LINE};background:{STATUS_COLOURS[status]}"
            )
            text = f"{STATUS_WORDS[status]} {n:,}"
            items.append(
                f"<span style='margin-right:14px;white-space:nowrap'><span style='{box}'></span>"
                f"{escape(text)}</span>"
            )
    return f"<div style='margin:4px 0 8px'>{''.join(items)}</div>"


def _svg(screening: Screening) -> str:
    """A small map without text."""
    measures = _drawable(screening.measures)
    if len(measures) == 0:
        return ""
    x0, y0, x1, y1 = shapely.total_bounds(measures.geometry.to_numpy())
    room = 0.03 * max(x1 - x0, y1 - y0, 1.0)
    x0, y0, x1, y1 = x0 - room, y0 - room, x1 + room, y1 + room
    step = max((x1 - x0) / _CARD_WIDTH, (y1 - y0) / _CARD_HEIGHT) / 10  # a tenth of a pixel
    grid = Grid(float(x0), float(y0), float(step))
    coarse = step * 5
    layers = []
    for status in reversed(STATUSES):
        rows = measures[(measures["status"] == status) & (measures["subject_kind"] == "parcel")]
        look = f'fill="{STATUS_COLOURS[status]}" stroke="{SUBJECT_LINE}" stroke-width="3"'
        geoms = rows.geometry.to_numpy()
        if len(measures) > _CARD_PARCELS:  # single parcels would be smaller than a line is wide
            geoms = np.array([_merged(geoms)])
        layers.append(_path(geoms, grid, coarse, look))
    window = shapely.box(x0, y0, x1, y1)
    for name in ("buffer", "wetlands", "watercourses"):
        frame, style = screening.layers.get(name), LAYER_STYLES[name]
        if frame is not None and len(frame):
            near = shapely.intersects(window, frame.geometry.to_numpy())
            geoms = frame.geometry.to_numpy()[near]
            opacity = 0.25 if style.hatch else 0.9
            dash = ' stroke-dasharray="30 20"' if style.dashed else ""
            look = (
                f'fill="{style.fill}" fill-opacity="{opacity}" stroke="{style.line}" '
                f'stroke-width="7"{dash}'
            )
            layers.append(_path(geoms, grid, coarse, look))
    geoms = measures[measures["subject_kind"] != "parcel"].geometry.to_numpy()
    layers.append(_path(geoms, grid, coarse, 'fill="#3d3a34" stroke="#1f1d1a" stroke-width="8"'))
    width, height = (x1 - x0) / step, (y1 - y0) / step
    return (
        f'<svg role="img" aria-label="Map of the subjects by status" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width / 10:.0f}" '
        f'style="max-width:100%;height:auto;margin-top:8px;display:block">'
        f'<g transform="matrix(1 0 0 -1 0 {height:.0f})" fill-rule="evenodd" '
        f'stroke-linejoin="round">{"".join(layers)}</g></svg>'
    )


def _merged(geoms: Geometries) -> Any:
    """One area of many; quick, and right enough for a picture where parcels overlap."""
    try:
        return shapely.coverage_union_all(geoms[shapely.get_dimensions(geoms) == 2])
    except shapely.GEOSException:
        return shapely.geometrycollections(geoms)


def _path(geoms: Geometries, grid: Grid, coarse: float, look: str) -> str:
    commands = []
    for shape in encode(geoms, grid, coarse):
        for numbers in shape[1:] if shape else ():
            pairs = np.array(numbers).reshape(-1, 2)
            if len(pairs) > 1:
                moves = " ".join(f"{x} {y}" for x, y in pairs[1:].tolist())
                close = "z" if shape[0] == 2 else ""
                commands.append(f"M{pairs[0][0]} {pairs[0][1]}l{moves}{close}")
    if not commands:
        return ""
    return f'<path d="{"".join(commands)}" {look}/>'
