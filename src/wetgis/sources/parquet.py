"""GeoParquet, by pyarrow: WKB and native encodings, and what its metadata says of the CRS."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from pyproj import CRS

from wetgis.crs import as_crs, canonical, is_unknown
from wetgis.errors import CrsError, InputError
from wetgis.sources.containers import Found
from wetgis.sources.decode import RawLayer, decode_wkb, frame_columns, rows_where

__all__ = ["read_parquet"]


def read_parquet(found: Found, where: str | None) -> RawLayer:
    """Read a GeoParquet file.

    A ``crs`` that is absent from the metadata means OGC:CRS84; one that is null means that
    nobody knows. A file without the ``geo`` metadata has no geometry that could be trusted.

    Raises
    ------
    InputError
        Where it is not Parquet, or not GeoParquet.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = found.dataset.gdal
    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise InputError(
            f"the file cannot be read as Parquet: {error}", where=found.dataset.shown
        ) from error
    meta = _geo(table, found.dataset.shown)
    name = meta["primary_column"]
    about = meta["columns"][name]
    geometry = table.column(name)
    others = [c for c in meta["columns"] if c in table.column_names]
    covering = [c for c in table.column_names if c == "bbox" and "covering" in about]
    frame = frame_columns(table.drop_columns([*others, *covering]))
    raw = RawLayer(
        frame, np.full(len(frame), None, dtype=object), _crs(about), "Parquet", found.layer
    )
    if str(about.get("encoding", "WKB")).upper() == "WKB":
        values = geometry.to_pandas().to_numpy(dtype=object, na_value=None)
        decode_wkb(raw, np.asarray(values, dtype=object))
    else:
        raw.geoms = _native(path, found)
    if where is not None:
        raw.keep(rows_where(raw.table, where, found.dataset.shown))
    return raw


def _geo(table: Any, shown: str) -> dict[str, Any]:
    text = (table.schema.metadata or {}).get(b"geo")
    try:
        meta: dict[str, Any] = json.loads(text) if text else {}
        primary = meta["primary_column"]
        known = primary in table.column_names and primary in meta["columns"]
    except (ValueError, KeyError, TypeError):
        known = False
    if not known:
        raise InputError(
            "this Parquet file has no geometries (no 'geo' metadata).",
            needed="GeoParquet",
            mend="join a plain table with wetgis.join_table",
            where=shown,
        )
    return meta


def _crs(about: dict[str, Any]) -> CRS | None:
    if "crs" not in about:
        return as_crs("OGC:CRS84")
    if about["crs"] is None:
        return None
    value = about["crs"]
    try:
        crs = as_crs(json.dumps(value) if isinstance(value, dict) else value)
    except CrsError:
        return None
    return None if is_unknown(crs) else canonical(crs)


def _native(path: str, found: Found) -> np.ndarray[Any, np.dtype[np.object_]]:
    import geopandas as gpd

    try:
        return np.asarray(gpd.read_parquet(path).geometry.array, dtype=object)
    except (ValueError, TypeError, NotImplementedError) as error:
        raise InputError(
            f"its geometry encoding cannot be read: {error}", where=found.dataset.shown
        ) from error
