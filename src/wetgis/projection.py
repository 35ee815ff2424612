"""What a coordinate system is: its unit, its scale, where it holds, and when two are the same.

Nothing here knows a layer, and nothing chooses. ``crs`` stands on it.
"""

from __future__ import annotations

import re
import warnings
from functools import lru_cache
from typing import Any

import numpy as np
from pyproj import CRS, Geod, Transformer
from pyproj.exceptions import CRSError as ProjCrsError
from pyproj.exceptions import ProjError

from wetgis.errors import CrsError

__all__ = [
    "as_crs",
    "canonical",
    "check_coordinates",
    "combined_factor",
    "fit_to_measure",
    "ft_per_unit",
    "geographic_bounds",
    "grid",
    "is_unknown",
    "label",
    "outside_area_of_use",
    "projector",
    "same_crs",
]

#: The scale of a projection may differ from 1 by this much where it is measured in.
MAX_SCALE_ERROR = 2e-4
#: A projection whose scale differs by direction by more than this is not conformal.
MAX_ANISOTROPY = 1e-6
#: Mean radius of the earth, US survey feet.
EARTH_RADIUS_FT = 20_902_000.0

Bounds = tuple[float, float, float, float]
_UNKNOWN = re.compile(r"undefined|^unknown$|unnamed|^engineering crs", re.I)


def as_crs(value: Any, *, where: str = "") -> CRS:
    """A CRS from whatever names one: a code, WKT, PROJ JSON or a CRS; always horizontal.

    Raises
    ------
    CrsError
        Where nothing of that name is known.

    Examples
    --------
    >>> as_crs("EPSG:2260").name
    'NAD83 / New York East (ftUS)'
    """
    try:
        crs = CRS.from_user_input(value)
    except (ProjCrsError, TypeError, ValueError) as error:
        raise CrsError(
            f"'{value}' is not a coordinate system that PROJ knows.",
            needed="a code as EPSG:2260, WKT, or a PROJ string",
            where=where,
        ) from error
    return _horizontal(crs)


def _horizontal(crs: CRS) -> CRS:
    """The two-dimensional horizontal part of a compound or three-dimensional CRS."""
    if crs.is_compound:
        return _horizontal(crs.sub_crs_list[0])
    if len(crs.axis_info) == 3 and not crs.is_geocentric:
        return crs.to_2d()
    return crs


def is_unknown(crs: CRS | None) -> bool:
    """Whether a CRS says nothing about the earth: none, an engineering one, an undefined one.

    Examples
    --------
    >>> is_unknown(None), is_unknown(CRS("EPSG:2260"))
    (True, False)
    """
    if crs is None or crs.is_engineering or not (crs.is_geographic or crs.is_projected):
        return True
    if crs.is_projected:
        return False
    return bool(_UNKNOWN.search(crs.name)) and "datum=" not in _proj4(crs)


@lru_cache(maxsize=64)
def _proj4(crs: CRS) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return str(crs.to_proj4())


def label(crs: CRS | None) -> str:
    """A short name for messages and records: the code where there is one, else the name.

    Examples
    --------
    >>> label(CRS("EPSG:2260"))
    'EPSG:2260'
    """
    return "" if crs is None else _label(crs)


@lru_cache(maxsize=256)
def _label(crs: CRS) -> str:
    authority = crs.to_authority(min_confidence=100)
    if authority:
        return ":".join(authority)
    if crs.name.lower() in {"unknown", "unnamed"}:
        method = crs.coordinate_operation.method_name if crs.coordinate_operation else "degrees"
        return f"unnamed CRS ({method}, {crs.ellipsoid.name if crs.ellipsoid else 'no ellipsoid'})"
    return str(crs.name)


@lru_cache(maxsize=64)
def canonical(crs: CRS) -> CRS:
    """The registered CRS that this one is by its numbers, else itself.

    An Esri ``.prj`` carries no code. A candidate from the registry is taken only where its
    unit, ellipsoid and datum family agree and where it gives the same coordinates.

    Examples
    --------
    >>> label(canonical(CRS(CRS("EPSG:2260").to_wkt("WKT1_ESRI"))))
    'EPSG:2260'
    """
    if crs.to_authority(min_confidence=100):
        return crs
    for info in crs.list_authority(auth_name="EPSG", min_confidence=25):
        candidate = CRS.from_authority(info.auth_name, info.code)
        if candidate.is_projected == crs.is_projected and same_crs(crs, candidate):
            return candidate
    return crs


def same_crs(a: CRS, b: CRS) -> bool:
    """Whether two CRSs are the same coordinates on the same datum, whatever they are called.

    Examples
    --------
    >>> same_crs(CRS("EPSG:4326"), CRS("OGC:CRS84"))
    True
    >>> same_crs(CRS("EPSG:2260"), CRS("EPSG:32115"))
    False
    """
    return _same(_horizontal(a), _horizontal(b))


@lru_cache(maxsize=256)
def _same(a: CRS, b: CRS) -> bool:
    if a == b or a.equals(b, ignore_axis_order=True):
        return True
    if a.is_projected != b.is_projected or a.is_geographic != b.is_geographic:
        return False
    if not (a.is_projected or a.is_geographic) or not _same_datum(a, b):
        return False
    return a.is_geographic or _same_numbers(a, b)


def _datum_name(crs: CRS) -> str:
    geodetic = crs.geodetic_crs
    name = geodetic.datum.name if geodetic is not None and geodetic.datum is not None else crs.name
    key = re.sub(r"[^a-z0-9]", "", name.lower())
    key = re.sub(r"^d(?=northamerican|wgs)", "", key).removesuffix("ensemble")
    if key.startswith("nad83"):
        key = "northamericandatum1983" + key[5:]
    return key.replace("northamericandatum", "northamerican").replace("worldgeodeticsystem", "wgs")


def _same_datum(a: CRS, b: CRS) -> bool:
    ea, eb = a.ellipsoid, b.ellipsoid
    if ea is None or eb is None:
        return False
    close = abs(ea.semi_major_metre - eb.semi_major_metre) < 1e-3 and (
        abs(ea.inverse_flattening - eb.inverse_flattening) < 1e-6
    )
    return close and _datum_name(a) == _datum_name(b)


def _same_numbers(a: CRS, b: CRS) -> bool:
    """Whether both project the same places to the same numbers, to a micrometre's worth."""
    area = a.area_of_use or b.area_of_use
    box: Bounds = area.bounds if area else (-75.0, 40.0, -73.0, 42.0)
    lon, lat = grid(box, 3)
    ax, ay = projector(a).transform(lon, lat)
    bx, by = projector(b).transform(lon, lat)
    if not np.isfinite([ax, ay, bx, by]).all():
        return False
    return bool(
        np.abs(np.subtract(ax, bx)).max() < 1e-3 and np.abs(np.subtract(ay, by)).max() < 1e-3
    )


@lru_cache(maxsize=64)
def projector(crs: CRS) -> Transformer:
    """From the CRS's own longitude and latitude to its coordinates: no datum is involved."""
    base = crs.source_crs if crs.is_bound and crs.source_crs is not None else crs
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Transformer.from_crs(base.geodetic_crs, base, always_xy=True)


def grid(bounds: Bounds, n: int) -> tuple[np.ndarray, np.ndarray]:
    """``n`` by ``n`` places over a box, edges included."""
    x0, y0, x1, y1 = bounds
    xs, ys = np.meshgrid(np.linspace(x0, x1, n), np.linspace(y0, y1, n))
    return xs.ravel(), ys.ravel()


def ft_per_unit(crs: CRS) -> float:
    """US survey feet in one unit of a projected CRS.

    Raises
    ------
    CrsError
        For a CRS in degrees.

    Examples
    --------
    >>> ft_per_unit(CRS("EPSG:2260"))
    1.0
    >>> round(ft_per_unit(CRS("EPSG:32115")), 6)
    3.280833
    """
    if not crs.is_projected:
        raise CrsError(f"{label(crs)} is in degrees; it has no feet.", needed="a projected CRS")
    factor = float(crs.axis_info[0].unit_conversion_factor)
    # PROJ keeps the survey foot to 15 digits; 1200/3937 exactly is 1
    if abs(factor * 3937.0 / 1200.0 - 1.0) < 1e-9:
        return 1.0
    return factor * 3937.0 / 1200.0


def geographic_bounds(crs: CRS, bounds: Bounds) -> Bounds:
    """The longitudes and latitudes of a box, in the CRS's own datum.

    Raises
    ------
    CrsError
        Where the CRS cannot be inverted there.
    """
    x, y = grid(bounds, 9)
    if crs.is_geographic:
        # always_xy: geopandas keeps longitude first whatever the axes are called
        lon, lat = x, y
    else:
        try:
            lon, lat = projector(crs).transform(x, y, direction="INVERSE", errcheck=False)
        except ProjError as error:
            raise CrsError(f"coordinates cannot be inverted in {label(crs)}.") from error
    lon, lat = np.asarray(lon), np.asarray(lat)
    ok = np.isfinite(lon) & np.isfinite(lat)
    if not ok.any():
        raise CrsError(f"coordinates cannot be inverted in {label(crs)}.")
    return (
        float(lon[ok].min()),
        float(lat[ok].min()),
        float(lon[ok].max()),
        float(lat[ok].max()),
    )


def check_coordinates(crs: CRS, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Which places contradict their CRS: beyond the degrees there are, or not invertible.

    Parameters
    ----------
    crs : CRS
        What the coordinates are said to be in.
    x, y : ndarray
        Finite coordinates.

    Returns
    -------
    ndarray of bool
        True where a place contradicts.

    Examples
    --------
    >>> check_coordinates(CRS("EPSG:4326"), np.array([-73.7, 717000.0]), np.array([41.0, 783000.0]))
    array([False,  True])
    """
    if crs.is_geographic:
        per_degree = np.degrees(crs.axis_info[0].unit_conversion_factor)
        beyond = (np.abs(x * per_degree) > 180.0 + 1e-6) | (np.abs(y * per_degree) > 90.0 + 1e-6)
        return np.asarray(beyond)
    to = projector(crs)
    lon, lat = to.transform(x, y, direction="INVERSE", errcheck=False)
    bad = ~(np.isfinite(lon) & np.isfinite(lat))
    bx, by = to.transform(np.where(bad, 0.0, lon), np.where(bad, 0.0, lat), errcheck=False)
    # beyond a projection's reach the inverse gives a place that does not come back
    reach = 1.0 + 1e-6 * np.maximum(np.abs(x), np.abs(y))
    with np.errstate(invalid="ignore"):
        lost = ~((np.abs(bx - x) < reach) & (np.abs(by - y) < reach))
    return np.asarray(bad | lost)


def outside_area_of_use(crs: CRS, bounds: Bounds) -> str:
    """In words, how a box lies outside the area of use of its CRS; empty where it does not.

    Examples
    --------
    >>> outside_area_of_use(CRS("EPSG:2260"), (717000, 783000, 718000, 784000))
    ''
    """
    area = crs.area_of_use
    if area is None:
        return ""
    west, south, east, north = geographic_bounds(crs, bounds)
    slack = 0.02  # areas of use are boxes rounded to hundredths of a degree
    inside = south >= area.south - slack and north <= area.north + slack
    if area.west <= area.east:
        inside = inside and west >= area.west - slack and east <= area.east + slack
    if inside:
        return ""
    return (
        f"longitudes {west:.3f} to {east:.3f} and latitudes {south:.3f} to {north:.3f} "
        f"reach beyond the area of use of {label(crs)} ({area.west:g} to {area.east:g}, "
        f"{area.south:g} to {area.north:g}: {area.name.split(' - counties')[0]})"
    )


def _scale(crs: CRS, lon: np.ndarray, lat: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scale along the meridian and the parallel, and the cosine of the angle between them.

    Central differences on the ellipsoid, so that it holds for any CRS whatever its unit.
    """
    to, geod = projector(crs), _geod(crs)
    metres = float(crs.axis_info[0].unit_conversion_factor)
    step = 5e-4
    vectors, lengths = [], []
    for dlon, dlat in ((0.0, step), (step, 0.0)):
        ax, ay = to.transform(lon - dlon, lat - dlat)
        bx, by = to.transform(lon + dlon, lat + dlat)
        vectors.append((np.subtract(bx, ax) * metres, np.subtract(by, ay) * metres))
        lengths.append(geod.inv(lon - dlon, lat - dlat, lon + dlon, lat + dlat)[2])
    (nx, ny), (ex, ey) = vectors
    h, k = np.hypot(nx, ny) / lengths[0], np.hypot(ex, ey) / lengths[1]
    skew = (nx * ex + ny * ey) / (np.hypot(nx, ny) * np.hypot(ex, ey))
    return h, k, skew


@lru_cache(maxsize=16)
def _geod(crs: CRS) -> Geod:
    ellipsoid = crs.ellipsoid
    if ellipsoid is None:
        return Geod(ellps="GRS80")
    return Geod(a=ellipsoid.semi_major_metre, b=ellipsoid.semi_minor_metre)


def fit_to_measure(crs: CRS, bounds: Bounds) -> str:
    """Why a CRS must not be measured in at a box of its coordinates; empty where it may.

    It must be projected, conformal, in one unit of length, and its scale within 2e-4 of 1
    everywhere in the box.

    Parameters
    ----------
    crs : CRS
        The CRS.
    bounds : tuple of float
        ``(min x, min y, max x, max y)`` of the data, in that CRS.

    Returns
    -------
    str
        The reason, or empty.

    Examples
    --------
    >>> fit_to_measure(CRS("EPSG:2260"), (717000, 783000, 718000, 784000))
    ''
    >>> fit_to_measure(CRS("EPSG:4326"), (-73.7, 40.9, -73.6, 41.0))
    'EPSG:4326 is in degrees'
    """
    if is_unknown(crs):
        return "it is not a coordinate system of the earth"
    if not crs.is_projected:
        return (
            f"{label(crs)} is in degrees" if crs.is_geographic else f"{label(crs)} is not projected"
        )
    if not np.isfinite(bounds).all():
        bounds = _area_in(crs)
    return _fit(crs, tuple(float(f"{v:.6g}") for v in bounds))


@lru_cache(maxsize=512)
def _fit(crs: CRS, bounds: Bounds) -> str:
    x, y = grid(bounds, 7)
    try:
        lon, lat = projector(crs).transform(x, y, direction="INVERSE")
        h, k, skew = _scale(crs, np.asarray(lon), np.asarray(lat))
    except ProjError:
        return f"{label(crs)} cannot be inverted at the data"
    if not np.isfinite([h, k, skew]).all():
        return f"{label(crs)} cannot be inverted at the data"
    if max(np.abs(h / k - 1.0).max(), np.abs(skew).max()) > MAX_ANISOTROPY:
        return f"{label(crs)} is not conformal: a length depends on its direction"
    worst = h.ravel()[np.abs(h - 1.0).argmax()]
    if abs(worst - 1.0) > MAX_SCALE_ERROR:
        return f"the scale of {label(crs)} at the data is {worst:.6f}, not within 2e-4 of 1"
    return ""


def _area_in(crs: CRS) -> Bounds:
    """The middle of a CRS's area of use, in its coordinates: for a layer without any."""
    area = crs.area_of_use
    if area is None:
        return (0.0, 0.0, 0.0, 0.0)
    x, y = projector(crs).transform((area.west + area.east) / 2, (area.south + area.north) / 2)
    return (x, y, x, y)


def combined_factor(
    crs: CRS, where: Bounds | tuple[float, float], elevation_ft: float = 0.0
) -> float:
    """Grid to ground: scale factor of the projection times elevation factor.

    A ground length is the grid length divided by it.

    Parameters
    ----------
    crs : CRS
        A projected CRS.
    where : tuple of float
        A longitude and latitude, or a box in the CRS (its middle is taken).
    elevation_ft : float
        Height above the ellipsoid, near enough above the sea, in feet.

    Examples
    --------
    >>> round(combined_factor(CRS("EPSG:2260"), (-74.5, 41.0)), 6)
    0.9999
    """
    if len(where) == 2:
        lon, lat = where
    else:
        x, y = (where[0] + where[2]) / 2, (where[1] + where[3]) / 2
        lon, lat = projector(crs).transform(x, y, direction="INVERSE")
    h, _, _ = _scale(crs, np.array([lon]), np.array([lat]))
    return float(h[0]) * EARTH_RADIUS_FT / (EARTH_RADIUS_FT + elevation_ft)
