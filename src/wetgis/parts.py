"""The partition as geometries: which ground of a subject is wetland, buffer, outside.

The areas of the parts are the measures; the geometries are what a map shows of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import geopandas as gpd
import numpy as np
import pandas as pd
import shapely

from wetgis.schema import EPS_FT, PART_COLUMNS, PLACES
from wetgis.shapes import of_dimension, union_groups
from wetgis.workers import in_threads

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from shapely.geometry.base import BaseGeometry

    from wetgis.cells import Pieces
    from wetgis.partition import Ground
    from wetgis.scene import Scene, Subjects

    Floats = NDArray[np.float64]
    Geometries = NDArray[np.object_]

__all__ = ["make_parts", "place_lengths"]

_EMPTY = shapely.Polygon()


def make_parts(
    scene: Scene, ground: Ground, subjects: Subjects, columns: dict[str, Floats]
) -> gpd.GeoDataFrame:
    """One row a subject and place: ``PART_COLUMNS`` and the (multipart) geometry."""
    shapes = _shapes(scene, ground, subjects, columns)
    tables = []
    for place in PLACES:
        geometries = shapes[place]
        areal = shapely.get_dimensions(subjects.geometries) == 2
        area = np.where(areal, np.nan_to_num(columns[f"{place}_sqft"]), 0.0)
        length = np.where(areal, 0.0, shapely.length(geometries) * scene.scale)
        point = (shapely.get_dimensions(subjects.geometries) == 0) & (
            ~shapely.is_empty(geometries) & ~shapely.is_missing(geometries)
        )
        there = (area > 0) | (length > EPS_FT) | point
        index = np.flatnonzero(there)
        table = subjects.table.loc[index, ["subject_kind", "subject_id", "record"]].copy()
        table["place"] = place
        table["area_sqft"], table["length_ft"] = area[index], length[index]
        table["_subject"], table["geometry"] = index, geometries[index]
        tables.append(table)
    joined = pd.concat(tables, ignore_index=True).sort_values("_subject", kind="stable")
    frame = gpd.GeoDataFrame(joined.reset_index(drop=True), geometry="geometry", crs=scene.crs)
    return frame[[*PART_COLUMNS, "geometry"]]


def _shapes(
    scene: Scene, ground: Ground, subjects: Subjects, columns: dict[str, Floats]
) -> dict[str, Geometries]:
    own = subjects.geometries
    inside = own
    out: dict[str, Geometries] = {}
    if scene.limit is not None:
        inside = _within(own, scene.limit, columns["beyond_limit_sqft"])
        out["beyond_limit"] = _beyond(own, scene.limit, columns["beyond_limit_sqft"])
    else:
        out["beyond_limit"] = np.full(len(own), _EMPTY, dtype=object)
    taken = np.full(len(own), _EMPTY, dtype=object)
    for place, pieces in ground.places.items():
        known = columns[f"{place}_sqft"]
        shape = _in_place(inside, own, pieces, known, columns["area_sqft"])
        out[place] = shape
        some = ~shapely.is_empty(shape)
        taken[some] = shapely.union(taken[some], shape[some])
    out["outside"] = _left(inside, taken, columns)
    thin = np.flatnonzero(np.isin(shapely.get_dimensions(own), (0, 1)))
    for place, shape in _divided(inside[thin], ground).items():
        out[place][thin] = shape
    return out


def _divided(rest: Geometries, ground: Ground) -> dict[str, Geometries]:
    """Lines and points by place, each place taking from what those before it have left.

    What is left is cut out by the polygons of a place: a line cannot be cut out of another one,
    since the points where it was divided do not lie on it to the last digit.
    """
    rest = rest.copy()
    dimension = shapely.get_dimensions(rest)
    out: dict[str, Geometries] = {}
    for place, pieces in ground.places.items():
        out[place] = np.full(len(rest), _EMPTY, dtype=object)
        s, p = shapely.STRtree(pieces.geometries).query(rest, predicate="intersects")
        met, zones = union_groups(pieces.geometries[p], s)
        shared = shapely.intersection(rest[met], zones)
        rest[met] = shapely.difference(rest[met], zones)
        for d in (1, 0):
            parts, of = of_dimension(shared, d)
            own = dimension[met[of]] == d
            found, united = union_groups(parts[own], met[of[own]])
            out[place][found] = united
    return {**out, "outside": rest}


def _within(own: Geometries, limit: BaseGeometry, beyond: Floats) -> Geometries:
    out = own.copy()
    touched = (np.nan_to_num(beyond) > 0) | (shapely.get_dimensions(own) < 2)
    out[touched] = shapely.intersection(own[touched], limit)
    return out


def _beyond(own: Geometries, limit: BaseGeometry, beyond: Floats) -> Geometries:
    out = np.full(len(own), _EMPTY, dtype=object)
    touched = (np.nan_to_num(beyond) > 0) | (shapely.get_dimensions(own) < 2)
    out[touched] = shapely.difference(own[touched], limit)
    return out


def _in_place(
    inside: Geometries, own: Geometries, pieces: Pieces, known: Floats, area: Floats
) -> Geometries:
    """The part of each subject on the pieces of one place; all of it where the measure says so."""
    out = np.full(len(own), _EMPTY, dtype=object)
    dimension = shapely.get_dimensions(own)
    whole = (dimension == 2) & (known > 0) & (known == area)
    out[whole] = own[whole]
    partly = np.flatnonzero((dimension == 2) & (known > 0) & ~whole)
    if not len(partly) or not len(pieces.geometries):
        return out
    s, p = shapely.STRtree(pieces.geometries).query(inside[partly], predicate="intersects")
    met = in_threads(
        lambda i, j: shapely.intersection(inside[partly[s[i:j]]], pieces.geometries[p[i:j]]),
        len(s), chunk=2048,
    )  # fmt: skip
    if not met:
        return out
    parts, of = of_dimension(np.concatenate(met), 2)
    found, united = union_groups(parts, partly[s[of]])
    out[found] = united
    return out


def _left(inside: Geometries, taken: Geometries, columns: dict[str, Floats]) -> Geometries:
    out = np.full(len(inside), _EMPTY, dtype=object)
    some = (shapely.get_dimensions(inside) == 2) & (columns["outside_sqft"] > 0)
    out[some] = shapely.difference(inside[some], taken[some])
    return out


def place_lengths(subjects: Subjects, parts: gpd.GeoDataFrame, scale: float) -> dict[str, Floats]:
    """``length_ft`` and a length for each place, for subjects that are lines; NaN for the rest."""
    line = shapely.get_dimensions(subjects.geometries) == 1
    out = {"length_ft": np.where(line, shapely.length(subjects.geometries) * scale, np.nan)}
    keys = list(
        zip(
            subjects.table["subject_kind"],
            subjects.table["subject_id"],
            subjects.table["record"],
            strict=True,
        )
    )
    rows = {key: i for i, key in enumerate(keys)}
    of = np.array(
        [
            rows[k]
            for k in zip(parts["subject_kind"], parts["subject_id"], parts["record"], strict=True)
        ],
        dtype=np.int64,
    )
    for place in PLACES:
        chosen = (parts["place"] == place).to_numpy()
        sums = (
            np.bincount(of[chosen], parts["length_ft"].to_numpy()[chosen], len(line))
            if chosen.any()
            else np.zeros(len(line))
        )
        out[f"{place}_length_ft"] = np.where(line, sums, np.nan)
    return out
