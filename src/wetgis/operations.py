"""How a layer gets from one coordinate system to another.

Only pyproj moves coordinates. A transformation is chosen once for a whole layer, by the
layer's own extent, and written down with its accuracy and the grids that were missing.
"""

from __future__ import annotations

import threading
import warnings
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from pyproj import CRS, Transformer
from pyproj.aoi import AreaOfInterest
from pyproj.transformer import TransformerGroup

from wetgis.errors import CrsError
from wetgis.projection import Bounds, geographic_bounds, label, same_crs

if TYPE_CHECKING:
    import geopandas

__all__ = ["Operation", "carried", "find_operation", "operation_within", "transform"]

#: How the datums are called that NAD83's realisations and WGS 84 have.
_MODERN = (
    "nad83",
    "north american datum 1983",
    "north american 1983",
    "world geodetic system 1984",
    "wgs 1984",
    "wgs84",
    "wgs 84",
)

#: A transformer that was chosen among several is not for two threads at once.
_ONE_AT_A_TIME = threading.Lock()


@dataclass(frozen=True)
class Operation:
    """What moved a layer's coordinates.

    Attributes
    ----------
    from_crs, to_crs : str
        Codes or names.
    definition : str
        The PROJ pipeline; empty where nothing was to be done.
    accuracy_m : float or None
        As PROJ states it; None where it states none.
    ballpark : bool
        A datum shift was left out that is not accepted as a null operation.
    missing_grids : tuple of str
        Grids that a better operation would have needed.
    null_datum : bool
        Between NAD83's realisations and WGS 84, where PROJ knows only a null operation.
    """

    from_crs: str
    to_crs: str
    definition: str = ""
    accuracy_m: float | None = None
    ballpark: bool = False
    missing_grids: tuple[str, ...] = ()
    null_datum: bool = False

    def as_json(self) -> dict[str, Any]:
        """As plain JSON, keys as in ``run.json``."""
        row = asdict(self)
        row["from"], row["to"] = row.pop("from_crs"), row.pop("to_crs")
        row["missing_grids"] = list(self.missing_grids)
        return row


@lru_cache(maxsize=256)
def find_operation(
    source: CRS, target: CRS, lonlat: Bounds | None
) -> tuple[Transformer | None, Operation]:
    """One operation for a whole layer, and what there is to say about it.

    Parameters
    ----------
    source, target : CRS
        From and to.
    lonlat : tuple of float or None
        The layer's box in degrees, outward; None where it has none.
    """
    names = label(source), label(target)
    if same_crs(source, target):
        return None, Operation(*names, accuracy_m=0.0)
    area = AreaOfInterest(*lonlat) if lonlat else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        group = TransformerGroup(source, target, always_xy=True, area_of_interest=area)
    if not group.transformers:
        raise CrsError(
            f"PROJ knows no way from {names[0]} to {names[1]}.",
            mend="state source_crs, or another target crs",
        )
    best = group.transformers[0]
    accuracy = float(best.accuracy) if best.accuracy is not None and best.accuracy >= 0 else None
    family = _modern(source) and _modern(target)
    crude = accuracy is None or "allpark" in best.description
    missing: tuple[str, ...] = ()
    if not group.best_available and group.unavailable_operations:
        grids = group.unavailable_operations[0].grids
        missing = tuple(sorted(g.short_name for g in grids if not g.available))
    shifted = not _one_datum(source, target)
    return best, Operation(
        *names,
        definition=best.definition,
        accuracy_m=accuracy,
        ballpark=shifted and not family and (crude or bool(missing)),
        missing_grids=missing if shifted else (),
        null_datum=shifted and family,
    )


def _one_datum(a: CRS, b: CRS) -> bool:
    ga, gb = a.geodetic_crs, b.geodetic_crs
    return (
        ga is not None and gb is not None and not a.is_bound and not b.is_bound and same_crs(ga, gb)
    )


def _modern(crs: CRS) -> bool:
    """Whether a CRS is on a realisation of NAD83 or on WGS 84."""
    geodetic = crs.geodetic_crs
    if geodetic is None or geodetic.datum is None or crs.is_bound:
        return False
    name = geodetic.datum.name.lower().replace("_", " ")
    return any(word in name for word in _MODERN)


def transform(
    frame: geopandas.GeoDataFrame, to_crs: CRS
) -> tuple[geopandas.GeoDataFrame, Operation]:
    """A frame in another CRS, by one recorded operation for all of its rows.

    Parameters
    ----------
    frame : GeoDataFrame
        With a CRS. Rows without geometry stay as they are. The input is not changed.
    to_crs : CRS
        The target.

    Returns
    -------
    frame, operation
        Coordinates that the operation cannot carry become infinite.

    Raises
    ------
    CrsError
        Where the frame has no CRS, or there is no way between the two.

    Examples
    --------
    >>> import geopandas, shapely
    >>> point = geopandas.GeoDataFrame(geometry=[shapely.Point(-73.7, 41)], crs="EPSG:4326")
    >>> moved, operation = transform(point, CRS("EPSG:2260"))
    >>> moved.crs.to_epsg(), operation.accuracy_m, operation.ballpark
    (2260, 4.0, False)
    """
    if frame.crs is None:
        raise CrsError("the data have no coordinate system.", mend="state source_crs")
    bounds = cast(Bounds, tuple(float(v) for v in frame.total_bounds))
    transformer, operation = operation_within(frame.crs, to_crs, bounds)
    out = frame.copy()
    if transformer is None:
        return out.set_crs(to_crs, allow_override=True), operation
    moved = carried(np.asarray(frame.geometry.array), transformer)
    out = out.set_geometry(_series(moved, out.index, to_crs))
    return out, operation


def operation_within(
    source: CRS, target: CRS, bounds: Bounds | None
) -> tuple[Transformer | None, Operation]:
    """`find_operation` for a layer's box in its own coordinates; NaN or None where it has none."""
    lonlat = None
    if bounds is not None and np.isfinite(bounds).all():
        lonlat = _outward(*geographic_bounds(source, bounds))
    return find_operation(source, target, lonlat)


def carried(geoms: np.ndarray, transformer: Transformer) -> np.ndarray:
    """Geometries moved by an operation; what it cannot carry becomes infinite."""
    import shapely

    with _ONE_AT_A_TIME:
        moved: np.ndarray = shapely.transform(geoms, _mover(transformer), interleaved=False)
    return moved


def _outward(west: float, south: float, east: float, north: float) -> Bounds | None:
    """To whole tenths of a degree, so that a layer's edits do not choose another operation."""
    box = (
        max(float(np.floor(west * 10) / 10), -180.0),
        max(float(np.floor(south * 10) / 10), -90.0),
        min(float(np.ceil(east * 10) / 10), 180.0),
        min(float(np.ceil(north * 10) / 10), 90.0),
    )
    return box if box[0] < box[2] and box[1] < box[3] else None


def _mover(transformer: Transformer) -> Any:
    def move(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        moved = transformer.transform(x, y, errcheck=False)
        return moved[0], moved[1]

    return move


def _series(geoms: np.ndarray, index: Any, crs: CRS) -> Any:
    import geopandas as gpd

    return gpd.GeoSeries(geoms, index=index, crs=crs, name="geometry")
