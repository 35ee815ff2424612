"""Closed series made polygons, their areas, and how the series lie to each other."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from wetgis.delineation.area import SIGMAS_95, area_spread
from wetgis.delineation.lines import Checks
from wetgis.delineation.shape import Line, canonical_ring, check_crossings
from wetgis.errors import UsageError

if TYPE_CHECKING:
    import geopandas as gpd

__all__ = ["WETLAND_COLUMNS", "check_accuracy", "check_series", "wetlands_of"]

Floats = npt.NDArray[np.float64]

WETLAND_COLUMNS = ("id", "series", "n_flags", "closed_by", "area_sqft", "area_low_sqft",
                   "area_high_sqft", "area_sd_sqft", "area_drawn_sd_sqft", "perimeter_ft",
                   "accuracy_ft")  # fmt: skip


@dataclass(frozen=True)
class _Ring:
    """A closed series in its canonical order; ``polygon`` is None where it crosses itself."""

    id: str
    line: Line
    xy: Floats
    sigma: Floats
    polygon: Any


def wetlands_of(
    lines: Sequence[Line],
    crs: Any,
    ft: float,
    *,
    seed: int,
    islands: Collection[str],
    checks: Checks,
) -> gpd.GeoDataFrame:
    """A polygon a closed series, with its area and the area's interval.

    Parameters
    ----------
    lines : sequence of Line
        Those that are not closed give nothing.
    crs : CRS
        Of the lines.
    ft : float
        Survey feet in one unit.
    seed : int
        Of the Monte Carlo.
    islands : names of series
        Cut out of the wetland that holds them.
    checks : Checks
        Crossings, overlaps and islands are added to it.

    Returns
    -------
    GeoDataFrame
        ``WETLAND_COLUMNS`` and the polygon, None and NaN where the series crosses itself.
    """
    import geopandas as gpd

    rings = _rings(lines, checks)
    wanted = {str(name).strip().upper() for name in islands}
    unknown = sorted(wanted - {ring.line.series for ring in rings})
    if unknown:
        there = ", ".join(sorted({ring.line.series for ring in rings}))
        raise UsageError(
            f"islands names series {', '.join(unknown)}, which is not closed or not there.",
            needed=f"of {there}" if there else "a closed series; there is none",
        )
    holes = [ring for ring in rings if ring.line.series in wanted]
    shells = [ring for ring in rings if ring.line.series not in wanted]
    owned = _owned(shells, holes, checks)
    _check_overlaps(shells, ft, checks)
    rows = [_row(shell, owned[i], ft, seed) for i, shell in enumerate(shells)]
    geometry = [_polygon(shell, owned[i]) for i, shell in enumerate(shells)]
    frame = gpd.GeoDataFrame(rows, columns=list(WETLAND_COLUMNS), geometry=geometry, crs=crs)
    numbers = [c for c in WETLAND_COLUMNS if c.endswith(("_sqft", "_ft"))]
    kinds = {"id": "str", "series": "str", "closed_by": "str", "n_flags": "int64"}
    return frame.astype({**kinds, **dict.fromkeys(numbers, "float64")})


def _rings(lines: Sequence[Line], checks: Checks) -> list[_Ring]:
    """Closed series; one that crosses itself keeps its line and has no polygon."""
    import shapely

    out = []
    for line in lines:
        crossed = len(line.xy) > 2 and check_crossings(line, checks)
        if not line.closed:
            continue
        xy, sigma = canonical_ring(line.xy, line.sigma)
        usable = not crossed and len(xy) > 2
        polygon = shapely.normalize(shapely.polygons(xy)) if usable else None
        if polygon is not None and not (polygon.is_valid and polygon.area > 0):
            polygon = None
        several = sum(other.series == line.series and other.closed for other in lines) > 1
        name = line.series or "wetland"
        out.append(_Ring(f"{name}-{line.part}" if several else name, line, xy, sigma, polygon))
    return out


def _owned(shells: list[_Ring], holes: list[_Ring], checks: Checks) -> list[list[_Ring]]:
    """The islands of each wetland; other series that lie within one are reported."""
    owned: list[list[_Ring]] = [[] for _ in shells]
    for hole in holes:
        around = [i for i, shell in enumerate(shells) if _holds(shell, hole)]
        if not around:
            checks.add("error", "island",
                       f"series {hole.line.series} was named an island and lies in no wetland",
                       series=hole.line.series)  # fmt: skip
            continue
        least = min(around, key=lambda i: shells[i].polygon.area)
        owned[least].append(hole)
        checks.add("note", "island",
                   f"series {hole.line.series} is cut out of {shells[least].id}",
                   series=hole.line.series)  # fmt: skip
    for inner in shells:
        for outer in shells:
            if outer is not inner and _holds(outer, inner):
                checks.add("warning", "inside",
                           f"series {inner.line.series} lies within {outer.id}; if it is upland, "
                           "name it in islands", series=inner.line.series)  # fmt: skip
    return owned


def _holds(outer: _Ring, inner: _Ring) -> bool:
    """Whether one polygon lies in another, and both are polygons."""
    if outer.polygon is None or inner.polygon is None:
        return False
    return bool(outer.polygon.contains(inner.polygon))


def _check_overlaps(shells: list[_Ring], ft: float, checks: Checks) -> None:
    """Wetlands that share ground without one lying in the other."""
    import shapely

    whole = [ring for ring in shells if ring.polygon is not None]
    if len(whole) < 2:
        return
    polygons = np.array([ring.polygon for ring in whole], dtype=object)
    i, j = shapely.STRtree(polygons).query(polygons, predicate="overlaps")
    areas = shapely.area(shapely.intersection(polygons[i], polygons[j])) * ft**2
    for a, b, area in zip(i.tolist(), j.tolist(), areas.tolist(), strict=True):
        if a < b:
            checks.add("error", "overlap",
                       f"{whole[a].id} and {whole[b].id} share {area:,.1f} sq ft",
                       series=whole[a].line.series)  # fmt: skip


def _polygon(shell: _Ring, holes: list[_Ring]) -> Any:
    """The polygon with its islands cut out."""
    import shapely

    if shell.polygon is None or not holes:
        return shell.polygon
    return shapely.normalize(shapely.difference(shell.polygon, shapely.union_all(
        [hole.polygon for hole in holes])))  # fmt: skip


def _row(shell: _Ring, holes: list[_Ring], ft: float, seed: int) -> dict[str, Any]:
    """The numbers of a wetland."""
    flags = np.array([bool(name) for name in shell.line.names])
    worst = float(np.max(shell.line.sigma[flags]) * ft * SIGMAS_95)
    row: dict[str, Any] = {
        "id": shell.id,
        "series": shell.line.series,
        "n_flags": int(flags.sum()),
        "closed_by": shell.line.closed_by,
        "accuracy_ft": worst,
    }
    if shell.polygon is None:
        return row
    polygon, unit = _polygon(shell, holes), ft**2
    rings = [shell, *holes]
    spread = area_spread([r.xy for r in rings], [r.sigma for r in rings], seed=seed)
    area = float(polygon.area * unit)
    closed, drawn, low, high = (value * unit for value in spread)
    return row | {
        "area_sqft": area,
        "area_low_sqft": min(low, area) if low == low else low,
        "area_high_sqft": max(high, area) if high == high else high,
        "area_sd_sqft": closed,
        "area_drawn_sd_sqft": drawn,
        "perimeter_ft": float(polygon.length * ft),
    }


def check_accuracy(lines: Sequence[Line], checks: Checks) -> None:
    """Flags without an accuracy, counted by series."""
    for line in lines:
        flags = [(name, s) for name, s in zip(line.names, line.sigma, strict=True) if name]
        missing = [name for name, s in flags if s != s]
        if missing:
            which = f"{len(missing)} of {len(flags)} flags of series {line.series}"
            checks.add("note", "no_accuracy",
                       f"{which} state no accuracy (the first is {missing[0]}); the area has no "
                       "interval", series=line.series)  # fmt: skip


def check_series(lines: Sequence[Line], checks: Checks) -> None:
    """Boundaries of different series that cross each other."""
    import shapely

    drawn = [line for line in lines if len(line.xy) > 1 and line.kind == "flag"]
    geoms = np.array([shapely.linestrings(line.corners()) for line in drawn], dtype=object)
    if len(geoms) < 2:
        return
    i, j = shapely.STRtree(geoms).query(geoms, predicate="crosses")
    for a, b in sorted(zip(i.tolist(), j.tolist(), strict=True)):
        if a < b:
            times = shapely.get_num_coordinates(shapely.intersection(geoms[a], geoms[b]))
            checks.add("warning", "series_crossing",
                       f"the lines of {drawn[a].series} and {drawn[b].series} cross "
                       f"{'once' if times == 1 else f'{times} times'}",
                       series=drawn[a].series)  # fmt: skip
