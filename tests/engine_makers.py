"""What the tests of the engine share: frames at a place, and measures that owe nothing to it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import pi
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import shapely

from wetgis.site import Site

RYE = (717_000.0, 783_000.0)
CRS = "EPSG:2260"


def moved(shape: Any, at: tuple[float, float]) -> Any:
    """A geometry (or an array of them) in feet from an origin, where the origin is."""
    return shapely.transform(shape, lambda xy: xy + np.asarray(at))


def box(
    a: float, b: float, c: float, d: float, *holes: tuple[float, float, float, float]
) -> shapely.Polygon:
    """A rectangle with rectangular holes."""
    return shapely.box(a, b, c, d).difference(shapely.union_all([shapely.box(*h) for h in holes]))


def frame(
    shapes: Sequence[Any], at: tuple[float, float] = RYE, crs: Any = CRS, **columns: Any
) -> gpd.GeoDataFrame:
    """Shapes in feet from an origin as a layer; ids are a, b, c ... unless they are given."""
    ids = columns.pop("id", [chr(97 + i) if i < 26 else f"f{i}" for i in range(len(shapes))])
    geometries = gpd.GeoSeries([moved(s, at) for s in shapes], crs=crs)
    return gpd.GeoDataFrame({"id": list(ids), **columns}, geometry=geometries, crs=crs)


def laid_out(
    blocks: dict[str, dict[str, list[Any]]], origin: tuple[float, float]
) -> dict[str, Any]:
    """Layers from blocks: kind -> shapes, or (shape, columns); ids are ``block.number``."""
    rows: dict[str, list[dict[str, Any]]] = {}
    for k, (block, layers) in enumerate(blocks.items()):
        at = (origin[0] + 4_000 * (k % 6), origin[1] + 4_000 * (k // 6))
        for kind, shapes in layers.items():
            for n, given in enumerate(shapes):
                shape, columns = given if isinstance(given, tuple) else (given, {})
                row = {"id": str(n), **columns, "geometry": moved(shape, at)}
                rows.setdefault(kind, []).append({**row, "id": f"{block}.{row['id']}"})
    return {kind: gpd.GeoDataFrame(table, crs="EPSG:2260") for kind, table in rows.items()}


def site(**layers: Any) -> Site:
    """A site without any law and a buffer of 100 feet, unless something else is said."""
    layers.setdefault("packs", [])
    if not layers["packs"]:
        layers.setdefault("measure", {"buffer_ft": 100, "hydric_pct": 66, "steep_pct": 30})
    return Site.from_layers(**layers)


def rows(table: pd.DataFrame, kind: str | None = None) -> pd.DataFrame:
    """Measures by id, of one kind of subject."""
    chosen = table if kind is None else table[table["subject_kind"] == kind]
    return chosen.set_index("subject_id")


def arc_deficit(distance: float, turns: float = 1.0) -> float:
    """The most that arcs drawn with 84 steps a quadrant may fall short, square units."""
    full = pi * distance**2
    chords = 2 * 84 * distance**2 * np.sin(pi / (2 * 84))
    return float(2.25 * (full - chords) * turns)


def outline_points(zone: Any) -> np.ndarray[Any, Any]:
    """Vertices and the points at a quarter, the middle and three quarters of every chord."""
    points = []
    for ring in shapely.get_rings(shapely.get_parts(zone)):
        xy = shapely.get_coordinates(ring)
        points.append(xy)
        points += [xy[:-1] + t * (xy[1:] - xy[:-1]) for t in (0.25, 0.5, 0.75)]
    return np.concatenate(points) if points else np.empty((0, 2))


def pieces_of(features: Any, length: int = 16) -> np.ndarray[Any, Any]:
    """Boundaries and lines of features in short runs, so that a distance is quickly found."""
    parts: list[Any] = []
    for part in shapely.get_parts(features):
        lines = shapely.get_rings(part) if part.geom_type == "Polygon" else [part]
        for line in lines:
            xy = shapely.get_coordinates(line)
            if len(xy) == 1:
                parts.append(shapely.Point(xy[0]))
            parts += [
                shapely.LineString(xy[s : s + length + 1]) for s in range(0, len(xy) - 1, length)
            ]
    return np.array(parts, dtype=object)


def boundary_distance(features: Any, xy: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The distance from points to the boundary of features, by GEOS; no part of wetgis is used."""
    _, found = shapely.STRtree(pieces_of(features)).query_nearest(
        shapely.points(xy), return_distance=True, all_matches=False
    )
    return np.asarray(found)


def worst_deviation(zone: Any, features: Any, distance: float) -> tuple[float, float]:
    """How far the outline of a zone around features falls short and reaches beyond.

    Points on the features' own outline are passed over: the zone leaves the features out.
    """
    found = boundary_distance(features, outline_points(zone))
    off = found[found > 1e-6] - distance
    return float(-off.min(initial=0.0)), float(off.max(initial=0.0))


def by_id(values: pd.Series, ids: Iterable[Any]) -> dict[str, float]:
    """A result beside the ids of its rows."""
    return dict(zip(ids, values.tolist(), strict=True))
