"""One map put together: layers from the bottom up, then names, heights and bearings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from wetgis.outputs.sheets.draw import Map
from wetgis.outputs.sheets.labels import Labels, Legs
from wetgis.outputs.sheets.style import STYLES, Style
from wetgis.outputs.sheets.tiling import match_boxes
from wetgis.outputs.words import number

if TYPE_CHECKING:
    import geopandas as gpd
    from shapely.geometry.base import BaseGeometry

    from wetgis.outputs.sheets.ink import Paper
    from wetgis.outputs.sheets.source import SheetData
    from wetgis.outputs.sheets.tiling import View

__all__ = ["Scene", "draw_map", "used_styles"]

#: An index contour, a name along a line: shorter pieces have no label, inches.
CONTOUR_IN, NAME_IN = 1.3, 1.5
LABEL = 6.8
#: Names and heights come again along a line this often, inches.
AGAIN_IN = 7.0


@dataclass(frozen=True)
class Scene:
    """What is drawn on every sheet: layers by style, in order, and what is written on lines."""

    data: SheetData
    layers: dict[str, gpd.GeoDataFrame]
    ft: float
    legs: Legs | None
    centres: dict[str, gpd.GeoDataFrame]


def scene_of(
    data: SheetData,
    contours: gpd.GeoDataFrame,
    study: gpd.GeoDataFrame | None,
    legs: Legs | None,
    ground: BaseGeometry,
) -> Scene:
    """Layers by the names of their styles; ``ground`` is what the sheets show."""
    from wetgis.crs import ft_per_unit

    ft = ft_per_unit(data.crs)
    layers = {kind: data.frame(kind) for kind in data.layers if kind in STYLES}
    if "parcels" in layers:
        parcels = layers.pop("parcels")
        own = parcels["id"].isin(set(data.subjects["id"]))
        layers["other parcels"], layers["parcels"] = parcels[~own], parcels[own]
    if len(contours):
        layers["contours"] = contours[~contours["index"].astype(bool)]
        layers["index contours"] = contours[contours["index"].astype(bool)]
    if study is not None:
        layers["study"] = study
    if "floodplain" in layers and "sfha" in layers["floodplain"].columns:
        flood = layers["floodplain"]
        layers["floodplain"] = flood[flood["sfha"] == "T"]
        layers["flood unknown"] = flood[flood["sfha"] == "U"]
    if "buffer" in layers:
        layers["buffer edge"] = _outer_edge(data, layers["buffer"], ft)
    centres: dict[str, Any] = {
        kind: layers[kind] for kind in ("watercourses", "roads") if kind in layers
    }
    for kind, width in (("watercourses", "half_width_ft"), ("roads", "width_ft")):
        if kind in layers:
            half = 1.0 if kind == "watercourses" else 0.5
            layers[kind] = _banks(layers[kind], width, half / ft)
    if "municipality" in layers:
        # its limit is drawn, not its ground; a limit beyond the sheets is not in the legend
        town = layers["municipality"]
        limit = town.set_geometry(town.boundary)
        layers["municipality"] = limit[limit.intersects(ground)]
    layers = {name: frame for name, frame in layers.items() if len(frame)}
    order = sorted(layers, key=lambda name: STYLES[name].order)
    return Scene(data, {name: layers[name] for name in order}, ft, legs, centres)


def _outer_edge(data: SheetData, buffer: gpd.GeoDataFrame, ft: float) -> gpd.GeoDataFrame:
    """The buffer's outline without the stretches along the features themselves."""
    import geopandas as gpd
    import shapely

    features = [data.frame(kind).geometry.to_numpy() for kind in ("wetlands", "watercourses")]
    around = np.concatenate(features)
    edges = shapely.get_parts(shapely.boundary(buffer.geometry.to_numpy()))
    if len(around) and data.buffer_ft == data.buffer_ft:
        pairs = _pairs(edges)
        middles = shapely.points(pairs.mean(axis=1))
        distance = shapely.STRtree(around).query_nearest(
            middles, all_matches=False, return_distance=True
        )[1]
        outer = distance * ft > 0.5 * data.buffer_ft
        # a chord may lie on a feature at both ends and still run out: the middle decides
        legs = shapely.linestrings(pairs[outer])
        edges = shapely.get_parts(shapely.line_merge(shapely.multilinestrings(legs)))
    return gpd.GeoDataFrame(geometry=list(edges), crs=buffer.crs)


def _pairs(lines: Any) -> Any:
    """Legs of lines, shape (n, 2, 2)."""
    import shapely

    xy, owner = shapely.get_coordinates(lines, return_index=True)
    same = owner[1:] == owner[:-1]
    return np.stack([xy[:-1][same], xy[1:][same]], axis=1)


def _banks(frame: gpd.GeoDataFrame, column: str, share: float) -> gpd.GeoDataFrame:
    """Lines of a known width drawn as their two edges."""
    import pandas as pd
    import shapely

    if column not in frame.columns:
        return frame
    geoms = frame.geometry.to_numpy().copy()
    width = pd.to_numeric(frame[column], errors="coerce").to_numpy(dtype=float) * share
    wide = (shapely.get_dimensions(geoms) == 1) & (width > 0)
    lines = shapely.line_merge(geoms[wide])
    left = shapely.offset_curve(lines, width[wide])
    right = shapely.offset_curve(lines, -width[wide])
    geoms[wide] = shapely.union(left, right)
    return frame.set_geometry(geoms, crs=frame.crs)


def used_styles(scene: Scene, interval_ft: float) -> list[Style]:
    """The legend's entries, from the top down."""
    made = []
    for name in reversed(scene.layers):
        style = STYLES[name]
        if name == "buffer edge":
            continue
        if name == "buffer":
            edge = STYLES["buffer edge"]
            style = replace(style, line=edge.line, width=edge.width, dash=edge.dash)
        if name == "buffer" and scene.data.buffer_ft == scene.data.buffer_ft:
            style = replace(style, label=_buffer_words(scene.data)[0])
        elif name == "contours":
            style = replace(style, label=f"Contour, {number(interval_ft)} ft")
        elif name == "index contours":
            style = replace(style, label=f"Index contour, {number(5 * interval_ft)} ft")
        made.append(style)
    return made


def _buffer_words(data: SheetData) -> tuple[str, str]:
    """The buffer in the legend and on its line: a law that regulates none has a distance."""
    feet = number(data.buffer_ft)
    if data.buffer_regulated:
        return f"Buffer, {feet} ft", f"{feet}-FT BUFFER"
    return f"Within {feet} ft of a wetland or watercourse", f"{feet} FT FROM WETLAND OR WATERCOURSE"


def draw_map(paper: Paper, view: View, scene: Scene, *, index: bool = False) -> tuple[
    list[tuple[str, str, str]], dict[str, int]
]:  # fmt: skip
    """Draw the map of a view.

    Returns
    -------
    lines, left_out
        Rows of the table of lines that had no room for their bearing, and how many labels of
        each sort found no place.
    """
    import shapely

    sheet = Map(paper, view)
    seen = {}
    for name, frame in scene.layers.items():
        if index and name in ("contours", "index contours", "soils", "flags", "trees"):
            continue
        style = STYLES[name]
        geoms = np.asarray(frame.geometry.array, dtype=object)
        if name in ("soils", "study"):
            geoms = shapely.boundary(geoms)
        seen[name] = sheet.seen(geoms)
        sheet.shapes(seen[name], replace(style, symbol="") if index else style)
    labels = Labels(sheet)
    if index:
        return [], {}
    for name in ("wetlands", "footprints", "structures"):
        if name in seen:
            labels.avoid(seen[name], what=name)
    for line in match_boxes(view, 0.2 * paper.scale):
        labels.reserve(line)
    lines = _write(labels, scene, seen)
    return lines, labels.left_out


def _write(labels: Labels, scene: Scene, seen: dict[str, Any]) -> list[tuple[str, str, str]]:
    """All labels, what matters most first."""
    layers = scene.layers
    _areas(labels, scene, seen, "parcels", _parcel_text, LABEL + 1.4, weight="bold")
    lines = scene.legs.write(labels) if scene.legs is not None else []
    _areas(labels, scene, seen, "wetlands", _wetland_text, LABEL, weight="bold")
    if "flags" in seen:
        labels.points(seen["flags"], _column(layers["flags"], "name", "id"), 5.8, what="flags")
    _areas(labels, scene, seen, "footprints", _footprint_text, LABEL)
    if "index contours" in seen:
        texts = [number(float(v)) for v in layers["index contours"]["level_ft"]]
        labels.along(seen["index contours"], texts, 5.8, least=CONTOUR_IN, every=AGAIN_IN,
                     what="contours", color=STYLES["contours"].text)  # fmt: skip
    for name, columns in (("floodplain", ("zone",)), ("structures", ("use", "name")),
                          ("vegetation", ("description", "name")), ("stockpiles", ("name", "id")),
                          ("other parcels", ("id",)), ("soils", ("musym", "id")),
                          ("watercourses", ("name",)), ("roads", ("name",))):  # fmt: skip
        if name in seen:
            frame, shapes = layers[name], seen[name]
            if name in scene.centres:
                frame = scene.centres[name]
                shapes = labels.map.seen(np.asarray(frame.geometry.array, dtype=object))
            _named(labels, name, frame, shapes, columns)
    if "buffer edge" in seen and scene.data.buffer_ft == scene.data.buffer_ft:
        _outline(labels, seen["buffer edge"], _buffer_words(scene.data)[1], "buffer edge")
    if "study" in seen:
        _outline(labels, seen["study"], "LIMIT OF VEGETATION STUDY", "study")
    if "municipality" in seen:
        _outline(labels, seen["municipality"], "MUNICIPAL LIMIT", "municipality")
    return lines


def _areas(
    labels: Labels, scene: Scene, seen: dict[str, Any], name: str, *rest: Any, **style: Any
) -> None:
    """Names and areas of one layer's polygons; ``rest`` is how they are written, and the size."""
    text, size = rest
    if name in seen:
        labels.areas(seen[name], text(scene.layers[name], scene.ft), size, what=name,
                     color=STYLES[name].text, **style)  # fmt: skip


def _named(labels: Labels, name: str, frame: Any, seen: Any, columns: Sequence[str]) -> None:
    """A name in polygons, along lines and beside points."""
    import shapely

    texts = _column(frame, *columns)
    if name == "floodplain":
        ways = ["FLOODWAY" in text.upper() for text in _column(frame, "subtype")]
        texts = [f"ZONE {text}{', FLOODWAY' if way else ''}" if text else ""
                 for text, way in zip(texts, ways, strict=True)]  # fmt: skip
    usable = np.array([s is not None for s in seen])
    dims = np.where(usable, shapely.get_dimensions(seen), -1)
    style = {"what": name, "color": STYLES[name].text}
    for dim in (2, 1, 0):
        rows = np.flatnonzero(dims == dim)
        if len(rows) == 0:
            continue
        own = [texts[i] for i in rows]
        if dim == 2:
            labels.areas(seen[rows], [[text] for text in own], 6.2, **style)
        elif dim == 1:
            labels.along(seen[rows], own, 6.0, least=NAME_IN, every=AGAIN_IN, **style)
        else:
            labels.points(seen[rows], own, 5.2, **style)


def _outline(labels: Labels, seen: Any, text: str, name: str) -> None:
    """A text on the outline of a zone, every few inches."""
    import shapely

    usable = seen[[s is not None and not s.is_empty for s in seen]]
    edges = shapely.get_parts(np.where(shapely.get_dimensions(usable) == 2,
                                       shapely.boundary(usable), usable))  # fmt: skip
    labels.along(edges, [text] * len(edges), 5.8, least=2.5, every=AGAIN_IN, what=name,
                 color=STYLES[name].text)  # fmt: skip


def _column(frame: Any, *names: str) -> list[str]:
    """The first column that holds something, as text."""
    for name in names:
        if name in frame.columns and frame[name].notna().any():
            return ["" if value is None or value != value else str(value).strip()
                    for value in frame[name].tolist()]  # fmt: skip
    return [""] * len(frame)


def _parcel_text(frame: Any, ft: float) -> list[list[str]]:
    areas = frame.geometry.area.to_numpy() * ft**2
    return [[str(i), f"{number(float(a), 'sqft')} sq ft"]
            for i, a in zip(frame["id"], areas, strict=True)]  # fmt: skip


def _wetland_text(frame: Any, ft: float) -> list[list[str]]:
    areas = frame.geometry.area.to_numpy() * ft**2
    names, classes = _column(frame, "name", "id"), _column(frame, "class", "cowardin")
    titles = [n if n.lower().startswith("wetland") else f"WETLAND {n}" for n in names]
    return [[title, kind, f"{number(float(a), 'sqft')} sq ft" if a > 0 else ""]
            for title, kind, a in zip(titles, classes, areas, strict=True)]  # fmt: skip


def _footprint_text(frame: Any, ft: float) -> list[list[str]]:
    areas = frame.geometry.area.to_numpy() * ft**2
    what = _column(frame, "activity", "kind")
    return [[str(i), w, f"{number(float(a), 'sqft')} sq ft"]
            for i, w, a in zip(frame["id"], what, areas, strict=True)]  # fmt: skip
