"""Which coordinate system fits the data, and which must be refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from pyproj import CRS, Geod
from pyproj.database import query_crs_info
from pyproj.enums import PJType

from wetgis.errors import CrsError, PackError
from wetgis.operations import Operation, find_operation, transform
from wetgis.projection import (
    Bounds,
    as_crs,
    canonical,
    check_coordinates,
    combined_factor,
    fit_to_measure,
    ft_per_unit,
    geographic_bounds,
    grid,
    is_unknown,
    label,
    outside_area_of_use,
    projector,
    same_crs,
)

if TYPE_CHECKING:
    import geopandas

__all__ = [
    "Operation",
    "as_crs",
    "canonical",
    "check_coordinates",
    "combined_factor",
    "find_operation",
    "fit_to_measure",
    "ft_per_unit",
    "geographic_bounds",
    "grid",
    "is_unknown",
    "label",
    "measuring_reason",
    "outside_area_of_use",
    "pack_crs",
    "require_measuring_crs",
    "require_same_crs",
    "same_crs",
    "stated",
    "suggest_crs",
    "suggest_for_bounds",
    "suggestions_for_numbers",
    "transform",
]


def measuring_reason(frame: geopandas.GeoDataFrame) -> str:
    """Why a frame must not be measured in; empty where it may."""
    if frame.crs is None:
        return "it has no coordinate system"
    return fit_to_measure(frame.crs, tuple(frame.total_bounds))


def require_measuring_crs(frame: geopandas.GeoDataFrame) -> CRS:
    """The CRS of a frame, where it may be measured in.

    Raises
    ------
    CrsError
        Where there is none, or it must not be measured in.

    Examples
    --------
    >>> import geopandas, shapely
    >>> box = geopandas.GeoSeries([shapely.box(717000, 783000, 718000, 784000)], crs="EPSG:2260")
    >>> require_measuring_crs(box.to_frame("geometry")).to_epsg()
    2260
    """
    crs = frame.crs
    if crs is None:
        raise CrsError(
            "the data have no coordinate system.",
            needed="a projected, conformal CRS whose scale at the data is 1 within 2e-4",
            mend=stated(suggestions_for_numbers(tuple(frame.total_bounds))),
        )
    reason = measuring_reason(frame)
    if reason:
        suggestion = ""
        if frame.geometry.notna().any():
            best = suggest_crs(frame)
            suggestion = f"read it with crs='{label(best)}', or call .to_crs" if best else ""
        raise CrsError(
            f"{reason}; nothing may be measured in it.",
            needed="a projected, conformal CRS whose scale at the data is 1 within 2e-4",
            mend=suggestion,
        )
    return crs


def require_same_crs(*frames: geopandas.GeoDataFrame) -> CRS:
    """The one CRS of several frames, fit to measure in.

    Raises
    ------
    CrsError
        Where two differ, or the first must not be measured in.
    """
    first = require_measuring_crs(frames[0])
    for frame in frames[1:]:
        if frame.crs is None:
            require_measuring_crs(frame)
        if not same_crs(first, frame.crs):
            raise CrsError(
                f"two coordinate systems meet: {label(first)} and {label(frame.crs)}.",
                needed="one CRS for all layers",
                mend="read the second with like=<the first>, or call .to_crs",
            )
    return first


@dataclass(frozen=True)
class _Zone:
    authority: str
    code: str
    bounds: Bounds

    def crs(self) -> CRS:
        return CRS.from_authority(self.authority, self.code)


@lru_cache(maxsize=1)
def _state_plane_feet() -> tuple[_Zone, ...]:
    """Every NAD83 State Plane zone in feet, of EPSG; of Esri where EPSG has it in metres only.

    Where a zone has two feet, the one that EPSG lists is the state's legal one.
    """
    epsg = [c for c in _projected("EPSG") if c.name.startswith("NAD83 / ") and "(ft" in c.name]
    zones = [_Zone("EPSG", c.code, c.area_of_use.bounds) for c in epsg if "BLM" not in c.name]
    areas = {c.area_of_use.name for c in epsg}
    for c in _projected("ESRI"):
        if not c.name.startswith("NAD_1983_StatePlane_") or not c.name.endswith("_Feet"):
            continue
        if c.area_of_use is not None and c.area_of_use.name not in areas:
            zones.append(_Zone("ESRI", c.code, c.area_of_use.bounds))
    return tuple(zones)


def _projected(authority: str) -> list[Any]:
    infos = query_crs_info(auth_name=authority, pj_types=PJType.PROJECTED_CRS)
    return [c for c in infos if c.area_of_use is not None and not c.deprecated]


def _contains(outer: Bounds, inner: Bounds) -> bool:
    return (
        outer[0] <= inner[0]
        and outer[1] <= inner[1]
        and outer[2] >= inner[2]
        and outer[3] >= inner[3]
    )


def _centre_distance(outer: Bounds, inner: Bounds) -> float:
    a = ((outer[0] + outer[2]) / 2, (outer[1] + outer[3]) / 2)
    b = ((inner[0] + inner[2]) / 2, (inner[1] + inner[3]) / 2)
    return float(Geod(ellps="GRS80").inv(*a, *b)[2])


def _holds(crs: CRS, lonlat: Bounds) -> bool:
    """Whether a CRS is meant for a box of degrees and may be measured in there."""
    area = crs.area_of_use
    if area is not None and not _contains(area.bounds, lonlat):
        return False
    return not fit_to_measure(crs, _project_box(crs, lonlat))


def _project_box(crs: CRS, lonlat: Bounds) -> Bounds:
    x, y = projector(crs).transform(*grid(lonlat, 5))
    return (float(np.min(x)), float(np.min(y)), float(np.max(x)), float(np.max(y)))


def suggest_for_bounds(crs: CRS, bounds: Bounds, preferred: Sequence[CRS] = ()) -> CRS | None:
    """The CRS to measure data of this extent in, or None where none can hold it.

    Parameters
    ----------
    crs : CRS
        What the data are in.
    bounds : tuple of float
        Their box, in that CRS.
    preferred : sequence of CRS
        Taken first, in this order, where they hold the data.
    """
    lonlat = geographic_bounds(crs, bounds)
    for candidate in preferred:
        if _holds(candidate, lonlat):
            return candidate
    zones = [z for z in _state_plane_feet() if _contains(z.bounds, lonlat)]
    for zone in sorted(zones, key=lambda z: (_centre_distance(z.bounds, lonlat), z.code)):
        candidate = zone.crs()
        if _holds(candidate, lonlat):
            return candidate
    local = _local_transverse_mercator(crs, lonlat)
    return local if not fit_to_measure(local, _project_box(local, lonlat)) else None


def _local_transverse_mercator(crs: CRS, lonlat: Bounds) -> CRS:
    """A transverse Mercator through the middle of the data, in survey feet, on their own datum."""
    lon = round((lonlat[0] + lonlat[2]) / 2, 2)
    lat = round((lonlat[1] + lonlat[3]) / 2, 2)
    survey_foot = {
        "type": "LinearUnit",
        "name": "US survey foot",
        "conversion_factor": 0.304800609601219,
    }
    degree, unity = "degree", "unity"
    parameters = (
        ("Latitude of natural origin", lat, degree, 8801),
        ("Longitude of natural origin", lon, degree, 8802),
        ("Scale factor at natural origin", 1, unity, 8805),
        ("False easting", 1_000_000, survey_foot, 8806),
        ("False northing", 1_000_000, survey_foot, 8807),
    )
    base = crs.geodetic_crs
    assert base is not None
    definition = {
        "type": "ProjectedCRS",
        "name": f"Local transverse Mercator {lat:.2f}, {lon:.2f} (ftUS)",
        "base_crs": base.to_json_dict(),
        "conversion": {
            "name": f"Local transverse Mercator {lat:.2f}, {lon:.2f}",
            "method": {"name": "Transverse Mercator", "id": {"authority": "EPSG", "code": 9807}},
            "parameters": [
                {"name": n, "value": v, "unit": u, "id": {"authority": "EPSG", "code": c}}
                for n, v, u, c in parameters
            ],
        },
        "coordinate_system": {
            "subtype": "Cartesian",
            "axis": [
                {"name": n, "abbreviation": a, "direction": d, "unit": survey_foot}
                for n, a, d in (("Easting", "E", "east"), ("Northing", "N", "north"))
            ],
        },
    }
    return CRS.from_json_dict(definition)


def suggest_crs(frame: geopandas.GeoDataFrame, preferred: Sequence[CRS] | None = None) -> CRS:
    """The CRS to measure a frame in.

    One of the installed packs' that holds the data; else the NAD83 State Plane zone in feet
    that holds it, of several the one whose centre is nearest; else a local transverse Mercator
    in survey feet.

    Parameters
    ----------
    frame : GeoDataFrame or GeoSeries
        Data with a CRS. Rows without geometry are left aside.
    preferred : sequence of CRS, optional
        Taken first in place of the packs'.

    Returns
    -------
    CRS

    Raises
    ------
    CrsError
        Without a CRS, without any geometry, or where the data reach too wide for any CRS.

    Examples
    --------
    >>> import geopandas, shapely
    >>> rye = geopandas.GeoSeries([shapely.box(-73.69, 40.96, -73.68, 40.97)], crs="EPSG:4326")
    >>> label(suggest_crs(rye, preferred=[]))
    'EPSG:2263'
    """
    if frame.crs is None:
        raise CrsError(
            "the data have no coordinate system.",
            mend=stated(suggestions_for_numbers(tuple(frame.total_bounds))),
        )
    bounds = cast(Bounds, tuple(float(v) for v in frame.total_bounds))
    if not np.isfinite(bounds).all():
        raise CrsError("there is no geometry to find a coordinate system for.")
    found = suggest_for_bounds(
        frame.crs, bounds, pack_crs() if preferred is None else tuple(preferred)
    )
    if found is None:
        raise CrsError(
            "the data reach too wide: no projection keeps its scale within 2e-4 over them.",
            needed="data of a county or less",
            mend="read a part of the file with where, or state crs",
        )
    return found


def pack_crs() -> tuple[CRS, ...]:
    """The CRSs of the installed packs, each once."""
    try:
        return _installed()
    except PackError:
        # a broken pack is told where packs are loaded; no layer is unreadable because of it
        return ()


@lru_cache(maxsize=1)
def _installed() -> tuple[CRS, ...]:
    import importlib

    # packs stand above this module, so they are asked for by name and only when needed
    packs = importlib.import_module("wetgis.packs")
    found: list[CRS] = []
    for value in packs.installed_crs():
        crs = as_crs(value)
        if crs not in found:
            found.append(crs)
    return tuple(found)


def suggestions_for_numbers(
    bounds: Bounds, *, near: tuple[CRS, Bounds] | None = None, limit: int = 6
) -> list[str]:
    """Codes of the usual CRSs in which a box of bare numbers would be a place that makes sense.

    Parameters
    ----------
    bounds : tuple of float
        The box of the numbers.
    near : tuple of CRS and box, optional
        Where other data of the same work lie: those that put the numbers near them come first.
        Without it, those that put them where the packs' laws hold.
    limit : int
        The most that are named.

    Examples
    --------
    >>> suggestions_for_numbers((-73.7, 40.9, -73.6, 41.0))
    ['EPSG:4326']
    """
    if not np.isfinite(bounds).all():
        return []
    if abs(bounds[0]) <= 180 and abs(bounds[2]) <= 180 and max(map(abs, bounds[1::2])) <= 90:
        return ["EPSG:4326"]
    target = _home()
    if near is not None and np.isfinite(near[1]).all():
        target = geographic_bounds(*near)
    ranked = []
    for order, (code, area) in enumerate(_usual()):
        found = _try_numbers(code, bounds)
        if found is None or not _contains(area, found):
            continue
        far = _centre_distance(target or area, found)
        ranked.append((target is not None and far > 80_000.0, far, order, code))
    return [code for *_, code in sorted(ranked)][:limit]


def _home() -> Bounds | None:
    """Where the installed packs' laws hold."""
    areas = [crs.area_of_use.bounds for crs in pack_crs() if crs.area_of_use is not None]
    return areas[0] if areas else None


@lru_cache(maxsize=1)
def _usual() -> tuple[tuple[str, Bounds], ...]:
    """State Plane in feet and metres, UTM, Conus Albers, Web Mercator, with their areas."""
    zones = [(f"{z.authority}:{z.code}", z.bounds) for z in _state_plane_feet()]
    utm, metres = [], []
    for c in _projected("EPSG"):
        if c.name.startswith("NAD83 / UTM zone"):
            utm.append((f"EPSG:{c.code}", c.area_of_use.bounds))
        elif c.code == "5070" or (c.name.startswith("NAD83 / ") and 32099 < int(c.code) < 32162):
            metres.append((f"EPSG:{c.code}", c.area_of_use.bounds))
    return (*zones, *utm, *metres, ("EPSG:3857", (-125.0, 24.0, -66.0, 50.0)))


def _try_numbers(code: str, bounds: Bounds) -> Bounds | None:
    try:
        return geographic_bounds(CRS(code), bounds)
    except CrsError:
        return None


def stated(codes: Sequence[str]) -> str:
    """How to mend a missing CRS."""
    if not codes:
        return "state what it is in by source_crs (no usual CRS fits these numbers)"
    return "state what it is in by source_crs; these fit the numbers: " + ", ".join(codes)
