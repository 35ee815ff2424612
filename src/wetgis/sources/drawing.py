"""CAD drawings (DXF): outlines that close are areas, the rest of the sheet is left out.

GDAL reads the entities. What follows here is what a site plan needs: model space only, no
labels, outlines closed within half a tenth of a foot, chains of lines joined, hatches that
fill an outline not counted beside it, and outlines that stay open named, not closed.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import shapely

from wetgis.crs import as_crs, ft_per_unit
from wetgis.issuelog import Issue

if TYPE_CHECKING:
    import pandas as pd

    from wetgis.sources.decode import RawLayer

__all__ = ["CLOSE_FT", "layer_names", "outlines", "unit_of_header"]

#: Ends of a line that lie within this of each other are one point, in feet.
CLOSE_FT = 0.05
#: Kinds whose records have an area; a line in them is an outline that was left open.
_AREAL = (
    "parcels", "footprints", "wetlands", "indicators", "soils", "floodplain", "municipality",
    "adopted_wetlands", "vegetation", "stockpiles",
)  # fmt: skip
#: $INSUNITS: the word, and metres in one.
_UNITS = {
    1: ("inches", 0.0254), 2: ("feet", 0.3048), 4: ("millimetres", 0.001),
    5: ("centimetres", 0.01), 6: ("metres", 1.0), 21: ("US survey feet", 1200 / 3937),
}  # fmt: skip

Objects = np.ndarray[Any, np.dtype[np.object_]]


def layer_names(target: str) -> list[str]:
    """The CAD layers that hold something in model space, in the order of their names."""
    import pyogrio

    table = pyogrio.read_dataframe(target, read_geometry=False, columns=["Layer", "PaperSpace"])
    return sorted(table.loc[_in_model(table), "Layer"].dropna().unique().tolist())


def _in_model(table: pd.DataFrame) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which entities lie in model space, not on a sheet to be printed."""
    if "PaperSpace" not in table.columns:
        return np.ones(len(table), dtype=bool)
    on_sheet = table["PaperSpace"].astype("string").str.lower().isin(["1", "1.0", "true"])
    return ~on_sheet.fillna(False).to_numpy(dtype=bool)


def unit_of_header(path: Path) -> tuple[str, float] | None:
    """The unit that a drawing's header names ($INSUNITS), where it names one."""
    with path.open("rb") as file:
        head = file.read(200_000).decode("latin-1").splitlines()
    for i, line in enumerate(head[:-2]):
        if line.strip() == "$INSUNITS":
            word = head[i + 2].strip()
            return _UNITS.get(int(word)) if word.isdigit() else None
    return None


def outlines(
    raw: RawLayer, layer: str, kind: str | None, source_crs: str | None, shown: str
) -> list[Issue]:
    """Turn the entities of one CAD layer into records with an area, in place.

    Parameters
    ----------
    raw : RawLayer
        All entities, as GDAL reads them.
    layer : str
        The CAD layer.
    kind : str or None
        What the layer is; where its records have an area, open outlines are errors.
    source_crs : str or None
        What the drawing is in; it gives the tolerance its unit.
    shown : str
        The file, for the issues.
    """
    table = raw.table
    raw.keep((table["Layer"] == layer).to_numpy(dtype=bool) & _in_model(table))
    issues: list[Issue] = []
    label = (shapely.get_type_id(raw.geoms) == 0) & _texts(raw.table)
    if kind != "flags" and label.any():
        raw.keep(~label)
    tolerance = CLOSE_FT / _ft(source_crs)
    raw.geoms = shapely.force_2d(raw.geoms)
    issues += _close(raw, tolerance, (layer, shown))
    areal = kind in _AREAL
    if areal or kind is None:
        issues += _chains(raw, tolerance, (layer, shown))
        issues += _without_hatches(raw, (layer, shown))
    if areal:
        _name_open_ones(raw)
    return issues


def _texts(table: pd.DataFrame) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which entities are labels: by their class, or by the text that they carry."""
    by_class = table["SubClasses"].astype("string").str.contains("Text").fillna(False)
    by_text = table["Text"].notna() if "Text" in table.columns else False
    return np.asarray(by_class | by_text, dtype=bool)


def _ft(source_crs: str | None) -> float:
    crs = as_crs(source_crs) if source_crs else None
    return ft_per_unit(crs) if crs is not None and crs.is_projected else 1.0


def _note(code: str, text: str, about: tuple[str, str]) -> Issue:
    return Issue("note", code, text, layer=about[0], file=about[1])


def _handle(raw: RawLayer, row: int) -> str:
    value = raw.table["EntityHandle"].iloc[row] if "EntityHandle" in raw.table else row
    return str(value)


def _gaps(lines: Objects) -> np.ndarray[Any, np.dtype[np.float64]]:
    ends = shapely.get_point(lines, 0), shapely.get_point(lines, -1)
    return np.asarray(shapely.distance(*ends), dtype=float)


def _close(raw: RawLayer, tolerance: float, about: tuple[str, str]) -> list[Issue]:
    """Lines whose ends meet within the tolerance become polygons."""
    rows = np.flatnonzero(shapely.get_type_id(raw.geoms) == 1)
    rows = rows[shapely.get_num_points(raw.geoms[rows]) >= 4]
    if not len(rows):
        return []
    gaps = _gaps(raw.geoms[rows])
    issues = []
    for row, gap in zip(rows[gaps <= tolerance].tolist(), gaps[gaps <= tolerance], strict=True):
        corners = shapely.get_coordinates(raw.geoms[row])
        corners[-1] = corners[0]
        raw.geoms[row] = shapely.Polygon(corners)
        if gap > 0:
            text = f"entity {_handle(raw, row)}: an outline was closed over a gap of {gap:.3g}."
            issues.append(_note("unclosed_ring", text, about))
    return issues


def _chains(raw: RawLayer, tolerance: float, about: tuple[str, str]) -> list[Issue]:
    """Lines that together make a closed outline become one record, at the first one's place."""
    rows = np.flatnonzero(shapely.get_type_id(raw.geoms) == 1)
    if len(rows) < 2:
        return []
    lines = _joined_ends(raw.geoms[rows], tolerance)
    merged = shapely.get_parts(shapely.line_merge(shapely.multilinestrings(lines)))
    merged = merged[shapely.is_ring(merged)]
    if not len(merged):
        return []
    drop = np.zeros(len(raw.geoms), dtype=bool)
    issues = []
    for ring in merged:
        part = np.flatnonzero(
            shapely.covers(ring, shapely.line_interpolate_point(lines, 0.5, normalized=True))
        )
        part = part[shapely.distance(ring, lines[part]) == 0]
        if not len(part):
            continue
        members = rows[part].tolist()
        raw.geoms[members[0]] = shapely.Polygon(shapely.get_coordinates(ring))
        drop[members[1:]] = True
        text = f"{len(members)} lines were joined to one outline ({_handle(raw, members[0])})."
        issues.append(_note("unclosed_ring", text, about))
    raw.keep(~drop)
    return issues


def _joined_ends(lines: Objects, tolerance: float) -> Objects:
    """The lines with ends that lie within the tolerance of each other made the same point."""
    lines = lines.copy()
    ends = np.concatenate([shapely.get_point(lines, 0), shapely.get_point(lines, -1)])
    tree = shapely.STRtree(ends)
    left, right = tree.query(ends, predicate="dwithin", distance=tolerance)
    first = np.arange(len(ends))
    np.minimum.at(first, left, right)
    xy = shapely.get_coordinates(ends)[first[first]]
    for i in range(len(lines)):
        corners = shapely.get_coordinates(lines[i])
        corners[0], corners[-1] = xy[i], xy[i + len(lines)]
        lines[i] = shapely.LineString(corners)
    return lines


def _without_hatches(raw: RawLayer, about: tuple[str, str]) -> list[Issue]:
    """Leave out hatches that fill an outline that is there itself."""
    hatch = raw.table["SubClasses"].fillna("").astype(str).str.contains("Hatch").to_numpy()
    area = np.isin(shapely.get_type_id(raw.geoms), (3, 6))
    drawn = raw.geoms[area & ~hatch]
    if not (hatch & area).any() or not len(drawn):
        return []
    ground = shapely.union_all(shapely.make_valid(drawn))
    filled = shapely.make_valid(raw.geoms[hatch & area])
    beyond = shapely.area(shapely.difference(filled, ground)) / shapely.area(filled)
    rows = np.flatnonzero(hatch & area)[beyond < 1e-3]
    if not len(rows):
        return []
    keep = np.ones(len(raw.geoms), dtype=bool)
    keep[rows] = False
    raw.keep(keep)
    text = f"{len(rows)} hatches fill outlines that are there themselves; they were left out."
    return [_note("overlapping_records", text, about)]


def _name_open_ones(raw: RawLayer) -> None:
    """Outlines that stay open have no area; they are named, and not closed."""
    rows = np.flatnonzero(np.isin(shapely.get_type_id(raw.geoms), (1, 5)))
    for row in rows.tolist():
        gap = float(_gaps(raw.geoms[[row]])[0])
        where = "" if np.isnan(gap) else f" by {gap:,.2f} units"
        raw.open[row] = f"outline {_handle(raw, row)} is open{where}; it was not closed."
        raw.geoms[row] = None
