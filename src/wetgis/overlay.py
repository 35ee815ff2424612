"""Areas and distances between subjects and a layer, and the list of who meets whom.

The functions take plain frames, keep the index of the subjects and never change their input.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import geopandas as gpd
import numpy as np
import pandas as pd
import shapely

from wetgis.buffers import bank_polygons
from wetgis.cells import CELL_FT, CellGrid, CellLayer, Subdivided, cut, dissolve
from wetgis.crs import ft_per_unit, require_measuring_crs, require_same_crs
from wetgis.errors import GeometryError
from wetgis.segments import Runs, SegmentGrid, nearest_distance, segments
from wetgis.shapes import mend, normal_order, usable

if TYPE_CHECKING:
    from typing import TypeAlias

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Geometries = NDArray[np.object_]
    Frame: TypeAlias = gpd.GeoDataFrame | gpd.GeoSeries

__all__ = [
    "Nearest",
    "contacts",
    "distance_to",
    "nearest_to",
    "overlap_area",
    "settle",
    "typical_size",
]

#: Areas below this are noise of the arithmetic, square feet.
NOISE_SQFT = 1e-6


def settle(areas: Floats, whole: Floats, scale: float) -> Floats:
    """Areas without the noise of the arithmetic: next to nothing is 0, next to all is all.

    ``areas`` and ``whole`` in CRS units squared, ``scale`` in US survey feet per CRS unit.
    """
    noise = NOISE_SQFT / scale**2
    out = np.where(areas < noise, 0.0, areas)
    near = np.abs(out - whole) < noise
    settled: Floats = np.where(near & (out > 0), whole, np.minimum(out, whole))
    return settled


def _pair(subjects: Frame, features: Frame) -> tuple[float, bool]:
    """Feet per unit of the common CRS, and whether both are the same frame."""
    require_measuring_crs(subjects)
    require_same_crs(subjects, features)
    return ft_per_unit(subjects.crs), subjects is features


def overlap_area(
    subjects: Frame, features: Frame, *, by: str | pd.Series | None = None
) -> pd.Series | pd.DataFrame:
    """Square feet of each subject that lie on features, each square foot once.

    Parameters
    ----------
    subjects, features : GeoDataFrame or GeoSeries
        In one CRS fit to measure in. Invalid geometries are repaired, None and empty ones
        passed over. Lines and points have no area; features that are lines with a
        ``half_width_ft`` are the ground between their banks. The same frame twice gives each
        row its own area.
    by : str or Series, optional
        A column of ``features``: one column of the result for each of its values.

    Returns
    -------
    Series or DataFrame
        Square feet, index of ``subjects``. NaN where a subject has no usable geometry, 0 where
        it meets no feature.

    Raises
    ------
    CrsError
        No CRS, two CRSs, or one that must not be measured in.

    Examples
    --------
    >>> import geopandas, shapely
    >>> lot = geopandas.GeoSeries([shapely.box(7e5, 7e5, 7e5 + 100, 7e5 + 50)], crs=2260)
    >>> pond = geopandas.GeoSeries([shapely.box(7e5 + 90, 7e5, 7e5 + 200, 7e5 + 50)] * 2, crs=2260)
    >>> overlap_area(lot, pond).tolist()
    [500.0]
    """
    scale, same = _pair(subjects, features)
    own = mend(subjects.geometry.to_numpy())
    if same and by is None:
        return pd.Series(shapely.area(own) * scale**2, index=subjects.index, name="area_sqft")
    geometries, index = _measured(features)
    if by is None:
        areas = _dissolved_area(own, geometries, scale)
        return pd.Series(areas, index=subjects.index, name="area_sqft")
    values = _values(features, by)[index]
    columns = {
        value: _dissolved_area(own, geometries[values == value], scale)
        for value in pd.unique(values)
        if not pd.isna(value)
    }
    return pd.DataFrame(columns, index=subjects.index)


def _measured(features: Frame) -> tuple[Geometries, Ints]:
    """Features as the law measures from them: lines with a half-width from their banks."""
    if isinstance(features, gpd.GeoDataFrame):
        features = bank_polygons(features)
    return usable(features.geometry.to_numpy())


def _values(features: Frame, by: str | pd.Series) -> NDArray[Any]:
    columns = features.columns if isinstance(features, gpd.GeoDataFrame) else ()
    if isinstance(by, str) and by not in columns:
        raise GeometryError(f"the features have no column '{by}'.", needed="a column of them")
    column = features[by] if isinstance(by, str) else by
    values: NDArray[Any] = column.reindex(features.index).to_numpy()
    return values


def _dissolved_area(own: Geometries, features: Geometries, scale: float) -> Floats:
    """Square feet of each subject on the union of features; NaN where there is no subject."""
    grid = CellGrid.over(shapely.bounds(own), CELL_FT / scale)
    ordered = features[normal_order(features)]
    layer = CellLayer(dissolve(cut(ordered, grid)).geometries, grid)
    whole = np.where(shapely.is_missing(own), np.nan, shapely.area(own))
    return settle(layer.areas(Subdivided(own, grid)), whole, scale) * scale**2


def distance_to(subjects: Frame, features: Frame) -> pd.Series:
    """Exact distance in feet from each subject to the nearest feature, 0 where they meet.

    Parameters
    ----------
    subjects, features : GeoDataFrame or GeoSeries
        In one CRS fit to measure in; polygons, lines and points. The same frame twice gives 0.
        Features that are lines with a ``half_width_ft`` are measured from their banks.

    Returns
    -------
    Series
        US survey feet, index of ``subjects``; inf where there are no features, NaN where a
        subject has no usable geometry.

    Raises
    ------
    CrsError
        No CRS, two CRSs, or one that must not be measured in.

    Examples
    --------
    >>> import geopandas, shapely
    >>> lot = geopandas.GeoSeries([shapely.box(7e5, 7e5, 7e5 + 100, 7e5 + 50)], crs=2260)
    >>> well = geopandas.GeoSeries([shapely.Point(7e5 + 160, 7e5 + 130)], crs=2260)
    >>> distance_to(lot, well).tolist()
    [100.0]
    """
    scale, _ = _pair(subjects, features)
    own = mend(subjects.geometry.to_numpy())
    geometries, _ = _measured(features)
    return pd.Series(nearest_to(own, geometries) * scale, index=subjects.index, name="distance_ft")


def nearest_to(own: Geometries, features: Geometries) -> Floats:
    """Distance from each geometry to the nearest feature, CRS units; NaN where it is None."""
    return Nearest(features, typical_size(own)).distances(own)


class Nearest:
    """A layer ready to be asked how far it is.

    Parameters
    ----------
    features : array of valid geometries
    size : float
        What the subjects measure across, CRS units: the cells of its grid are about as large.
        The answers do not depend on it.
    """

    def __init__(self, features: Geometries, size: float) -> None:
        rows = segments(features).rows
        some = rows[:: len(rows) // 10_000 + 1]
        lengths = np.hypot(some[:, 2] - some[:, 0], some[:, 3] - some[:, 1])
        length = float(np.median(lengths)) if len(some) else 0.0
        self.grid = SegmentGrid(rows, max(size, 8 * length, 1e-3))
        self.grid.members = np.zeros(0, np.int64)  # which segment is nearest is not asked
        self.points = shapely.STRtree(_first_points(features)[0])
        self.areal = features[shapely.get_dimensions(features) == 2]
        self._tree: shapely.STRtree | None = None

    def distances(
        self,
        own: Geometries,
        runs: Runs | None = None,
        *,
        known_inside: NDArray[np.bool_] | None = None,
        threads: int = 2,
    ) -> Floats:
        """Distance from each geometry, 0 where they meet, inf where the layer is empty.

        ``runs``: those of the geometries, where they are made already. ``known_inside``: which
        subjects overlap a polygon of the layer; where it is not given they are looked for, since
        the kernel sees boundaries only.
        """
        out = np.where(shapely.is_missing(own), np.nan, np.inf)
        if not len(self.grid.rows):
            return out
        areal = np.flatnonzero(shapely.get_dimensions(own) == 2)
        out[areal[np.unique(self.points.query(own[areal], predicate="intersects")[0])]] = 0.0
        out[self.inside(own) if known_inside is None else known_inside] = 0.0
        runs = Runs(own) if runs is None else runs
        return nearest_distance(runs, self.grid, out=out, threads=threads)

    def inside(self, own: Geometries) -> Ints:
        """Subjects a part of which lies in a polygon of the layer."""
        if not len(self.areal):
            return np.zeros(0, np.int64)
        if self._tree is None:
            self._tree = shapely.STRtree(self.areal)
        points, of = _first_points(own)
        return np.unique(of[self._tree.query(points, predicate="intersects")[0]])


def _first_points(geometries: Geometries) -> tuple[Geometries, Ints]:
    """A vertex of each part, and the position of its geometry."""
    parts, of = shapely.get_parts(geometries, return_index=True)
    xy, at = shapely.get_coordinates(parts, return_index=True)
    first = np.flatnonzero(np.r_[True, at[1:] != at[:-1]]) if len(at) else np.zeros(0, np.int64)
    return shapely.points(xy[first]), of[at[first]]


def typical_size(own: Geometries) -> float:
    """What geometries measure across, the median; 1 where there is none."""
    boxes = shapely.bounds(own)
    boxes = boxes[np.isfinite(boxes).all(axis=1)]
    if not len(boxes):
        return 1.0
    return float(np.median(np.maximum(boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1])))


def contacts(
    subjects: gpd.GeoDataFrame, features: gpd.GeoDataFrame, within_ft: float
) -> gpd.GeoDataFrame:
    """Each subject and each feature within a distance of it.

    Features of one ``id`` are one feature.

    Parameters
    ----------
    subjects, features : GeoDataFrame
        In one CRS fit to measure in, with an ``id`` (without it the index serves).
    within_ft : float
        US survey feet, inclusive.

    Returns
    -------
    GeoDataFrame
        ``subject_kind`` ("subject"), ``subject_id``, ``record``, ``feature_kind`` ("feature"),
        ``feature_id``, ``name``, ``class``, ``source``, ``basis``, ``distance_ft`` (exact, 0
        where they meet), ``area_sqft`` (inside the subject), ``length_ft`` (of a line inside
        it), ``whole_sqft``, ``geometry`` (the shortest line, empty where they meet); sorted by
        the order of the subjects, then distance, then id.

    Raises
    ------
    CrsError
        No CRS, two CRSs, or one that must not be measured in.

    Examples
    --------
    >>> import geopandas, shapely
    >>> def frame(name, shape):
    ...     return geopandas.GeoDataFrame({"id": [name]}, geometry=[shape], crs=2260)
    >>> lot = frame("7", shapely.box(7e5, 7e5, 7e5 + 9, 7e5 + 9))
    >>> well = frame("w", shapely.Point(7e5 + 59, 7e5))
    >>> contacts(lot, well, 100)[["subject_id", "feature_id", "distance_ft"]].values.tolist()
    [['7', 'w', 50.0]]
    """
    from wetgis.encounters import Groups, encounters

    scale, _ = _pair(subjects, features)
    own = mend(subjects.geometry.to_numpy())
    features = bank_polygons(features)
    geometries, index = usable(features.geometry.to_numpy())
    kept = features.iloc[index]
    groups = Groups.by_id(geometries, _ids(kept), scale)
    found = encounters(own, groups, within_ft / scale, scale)
    return _contact_frame(found, subjects, kept, groups)


def _ids(frame: gpd.GeoDataFrame) -> NDArray[np.object_]:
    column = frame["id"] if "id" in frame.columns else frame.index.to_series()
    ids: NDArray[np.object_] = column.astype(str).to_numpy(dtype=object)
    return ids


def _contact_frame(
    found: Any, subjects: gpd.GeoDataFrame, features: gpd.GeoDataFrame, groups: Any
) -> gpd.GeoDataFrame:
    first = features.iloc[groups.first]
    table = pd.DataFrame(
        {
            "subject_kind": "subject",
            "subject_id": _ids(subjects)[found.subject],
            "record": 1,
            "feature_kind": "feature",
            "feature_id": groups.ids[found.group],
        }
    )
    for name in ("name", "class", "source", "basis"):
        column = (
            first[name].astype(object).fillna("")
            if name in first.columns
            else pd.Series("", index=first.index)
        )
        table[name] = column.astype(str).to_numpy()[found.group]
    table = table.assign(
        distance_ft=found.distance_ft,
        area_sqft=found.area_sqft,
        length_ft=found.length_ft,
        whole_sqft=groups.whole_sqft[found.group],
    )
    frame = gpd.GeoDataFrame(table, geometry=gpd.GeoSeries(found.shortest, crs=subjects.crs))
    order = np.lexsort((frame["feature_id"].to_numpy(str), found.distance_ft, found.subject))
    return frame.iloc[order].reset_index(drop=True)
