"""Layers that both towns have: soils, flood zones, wetlands by code, houses, streets."""

from __future__ import annotations

from typing import Any

import numpy as np
import shapely

from .fields import Array, Grid, noise, outlines
from .lots import Street
from .shapes import coverage

Rows = list[dict[str, Any]]


def coded(
    polygons: list[shapely.Polygon],
    codes: tuple[str, str],
    grid: Grid,
    rng: np.random.Generator,
    *,
    least: float,
    wavelength: float = 380,
) -> list[tuple[shapely.Polygon, str, int]]:
    """Wetlands cut by cover, as an interpreter does: pieces that touch, each with its code.

    Returned with the number of the whole that a piece belongs to.
    """
    shade = noise(grid, rng, wavelength)
    wooded = shapely.union_all(np.array(outlines(grid, shade, 0.25, 99)))
    out = []
    for number, whole in enumerate(polygons):
        parts = [whole]
        if whole.area > least:
            one, two = whole.intersection(wooded), whole.difference(wooded)
            if one.area > 2500 and two.area > 2500:
                parts = [*shapely.get_parts(one), *shapely.get_parts(two)]
        for part in parts:
            if part.geom_type == "Polygon" and part.area > 60:
                spot = np.array(part.representative_point().coords)
                out.append((part, codes[int(grid.at(shade, spot)[0] > 0.25)], number))
    return out


def slip(polygon: shapely.Polygon) -> shapely.Polygon:
    """A digitising slip: two vertices in the wrong order, so that the ring crosses itself."""
    xy = shapely.get_coordinates(polygon.exterior.simplify(6))
    n = len(xy) // 3
    xy[[n, n + 2]] = xy[[n + 2, n]]
    xy[-1] = xy[0]
    return shapely.Polygon(xy)


def shifted(
    polygon: shapely.Polygon, grid: Grid, rng: np.random.Generator, *, feet: float
) -> shapely.Polygon:
    """The line of another observer: the same outline, off by some feet here and there."""
    dx, dy = noise(grid, rng, 260), noise(grid, rng, 260)

    def move(xy: Array) -> Array:
        return xy + feet * np.column_stack([grid.at(dx, xy), grid.at(dy, xy)])

    moved = shapely.make_valid(shapely.transform(polygon.segmentize(18), move), method="structure")
    return max(shapely.get_parts(moved), key=shapely.area)


def soil_units(grid: Grid, labels: Array, units: dict[int, tuple[str, str]], area: str) -> Rows:
    """Map units from a grid of labels; ``units`` gives symbol and key of each label."""
    rows = []
    for label, shapes in sorted(coverage(grid, labels, tolerance=60, bend=2).items()):
        symbol, key = units[label]
        for shape in shapes:
            rows.append(
                {
                    "AREASYMBOL": area,
                    "SPATIALVER": 7,
                    "MUSYM": symbol,
                    "MUKEY": key,
                    "geometry": shape,
                }
            )
    return rows


def components(table: list[tuple]) -> Rows:
    """Component rows: key of the unit, name, percent, rating."""
    return [
        {
            "mukey": mukey,
            "cokey": f"{mukey}{k:02d}",
            "compname": name,
            "comppct_r": percent,
            "majcompflag": "Yes" if percent >= 15 else "No",
            "hydricrating": rating,
        }
        for k, (mukey, name, percent, rating) in enumerate(table)
    ]


def despeckled(labels: Array, least: int) -> Array:
    """Patches of fewer cells than ``least`` given to what surrounds them."""
    import rasterio.features

    return rasterio.features.sieve(labels.astype("int32"), size=least)


ZONES = {
    1: ("X", "AREA OF MINIMAL FLOOD HAZARD", "F"),
    2: ("X", "0.2 PCT ANNUAL CHANCE FLOOD HAZARD", "F"),
    3: ("AE", "", "T"),
    4: ("AE", "FLOODWAY", "T"),
    5: ("VE", "", "T"),
    6: ("OPEN WATER", "", "F"),
    7: ("D", "", "U"),
    8: ("AREA NOT INCLUDED", "", "U"),
    9: ("A", "", "T"),
}


def flood_zones(grid: Grid, labels: Array, panel: str, elevation: dict[int, float]) -> Rows:
    """Flood hazard areas from a grid of labels; zone 0 is a panel that was never printed."""
    rows = []
    for label, shapes in sorted(coverage(grid, labels, tolerance=22, bend=2).items()):
        if label == 0:
            continue
        zone, subtype, sfha = ZONES[label]
        for shape in shapes:
            rows.append(
                {
                    "DFIRM_ID": panel,
                    "FLD_AR_ID": f"{panel}_{len(rows) + 1}",
                    "FLD_ZONE": zone,
                    "ZONE_SUBTY": subtype,
                    "SFHA_TF": sfha,
                    "STATIC_BFE": elevation.get(label, -9999.0),
                    "V_DATUM": "NAVD88" if label in elevation else "",
                    "geometry": shape,
                }
            )
    return rows


def houses(pairs: list[tuple[str, shapely.Polygon]]) -> Rows:
    """Building outlines."""
    return [
        {"BLDG_ID": f"B{k:04d}", "USE": "residential", "geometry": shape}
        for k, (_, shape) in enumerate(pairs, 1)
    ]


def roads(streets: list[Street], within: shapely.Geometry, surface: str) -> Rows:
    """Pavements as areas, street by street."""
    rows = []
    for k, street in enumerate(streets, 1):
        shape = street.line.buffer(street.half * 0.5, quad_segs=4, cap_style="flat")
        shape = shape.intersection(within).simplify(0.4)
        if not shape.is_empty:
            rows.append(
                {
                    "ROAD_ID": f"R{k:02d}",
                    "NAME": street.name,
                    "SURFACE": surface,
                    "WIDTH_FT": street.half,
                    "geometry": shape,
                }
            )
    return rows
