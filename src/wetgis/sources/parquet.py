"""GeoParquet, by pyarrow: WKB and native encodings, and what its metadata says of the CRS."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from pyproj import CRS

from wetgis.crs import as_crs, canonical, is_unknown
from wetgis.errors import CrsError, InputError
from wetgis.sources.containers import Found
from wetgis.sources.decode import RawLayer, frame_columns, rows_where
from wetgis.sources.wkb import decoded

__all__ = ["read_parquet", "stream_parquet"]


def read_parquet(found: Found, where: str | None) -> RawLayer:
    """Read a GeoParquet file.

    A ``crs`` that is absent from the metadata means OGC:CRS84; one that is null means that
    nobody knows. A file without the ``geo`` metadata has no geometry that could be trusted.

    Raises
    ------
    InputError
        Where it is not Parquet, or not GeoParquet.
    """
    path = found.dataset.gdal
    table = _read(found)
    meta = _geo(table.schema, found.dataset.shown)
    geometry = table.column(meta["primary_column"])
    raw = _layer(table.select(_attributes(meta, table.column_names)), meta, found)
    if _is_wkb(meta):
        values = geometry.to_pandas().to_numpy(dtype=object, na_value=None)
        raw.take_in(decoded(np.asarray(values, dtype=object)))
    else:
        raw.geoms = _native(path, found)
    if where is not None:
        raw.keep(rows_where(raw.table, where, found.dataset.shown))
    return raw


def stream_parquet(found: Found, where: str | None, chunk: int) -> RawLayer | None:
    """As `read_parquet`, but for the geometries: they stay in the file.

    None where they must be read at once, as the encodings other than WKB, or cannot be read.

    Raises
    ------
    InputError
        Where it is not GeoParquet.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(found.dataset.gdal) as file:
            schema, count = file.schema_arrow, file.metadata.num_rows
    except (pa.ArrowException, OSError):
        return None
    meta = _geo(schema, found.dataset.shown)
    name = meta["primary_column"]
    single = len(set(schema.names)) == len(schema.names)
    if not (_is_wkb(meta) and single and "." not in name and _is_binary(schema.field(name).type)):
        return None
    table = _read(found, _attributes(meta, schema.names))
    if table.num_rows != count:
        return None
    raw = _layer(table, meta, found)
    kept = None if where is None else rows_where(raw.table, where, found.dataset.shown)
    if kept is not None:
        raw.keep(kept)
    raw.stream = _Column(found, name, chunk, kept)
    return raw


@dataclass(frozen=True)
class _Column:
    """The WKB of a file, or of the rows that are kept, batch by batch."""

    found: Found
    name: str
    chunk: int
    kept: np.ndarray[Any, np.dtype[np.bool_]] | None

    def batches(self) -> Iterator[Any]:
        """See `wetgis.sources.steps.Stream`."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        start = 0
        try:
            # read as it is decoded: neither a group of rows nor the whole column beforehand
            options = {"buffer_size": 1 << 20, "pre_buffer": False}
            with pq.ParquetFile(self.found.dataset.gdal, **options) as file:
                for batch in file.iter_batches(self.chunk, columns=[self.name], use_threads=False):
                    column = batch.column(0)
                    column = getattr(column, "storage", column)
                    stop = start + len(column)
                    yield column if self.kept is None else column.filter(self.kept[start:stop])
                    start = stop
        except (pa.ArrowException, OSError) as error:
            raise _unreadable(self.found, error) from error


def _read(found: Found, columns: list[str] | None = None) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.read_table(found.dataset.gdal, columns=columns)
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(found, error) from error


def _unreadable(found: Found, error: Exception) -> InputError:
    return InputError(f"the file cannot be read as Parquet: {error}", where=found.dataset.shown)


def _layer(attributes: Any, meta: dict[str, Any], found: Found) -> RawLayer:
    frame = frame_columns(attributes)
    nothing = np.full(len(frame), None, dtype=object)
    about = meta["columns"][meta["primary_column"]]
    return RawLayer(frame, nothing, _crs(about), "Parquet", found.layer)


def _attributes(meta: dict[str, Any], names: list[str]) -> list[str]:
    """The columns that are neither geometries nor their boxes."""
    covered = "covering" in meta["columns"][meta["primary_column"]]
    return [n for n in names if n not in meta["columns"] and not (n == "bbox" and covered)]


def _is_wkb(meta: dict[str, Any]) -> bool:
    return str(meta["columns"][meta["primary_column"]].get("encoding", "WKB")).upper() == "WKB"


def _is_binary(kind: Any) -> bool:
    import pyarrow.types as kinds

    kind = getattr(kind, "storage_type", kind)
    return bool(kinds.is_binary(kind) or kinds.is_large_binary(kind))


def _geo(schema: Any, shown: str) -> dict[str, Any]:
    text = (schema.metadata or {}).get(b"geo")
    try:
        meta: dict[str, Any] = json.loads(text) if text else {}
        primary = meta["primary_column"]
        known = primary in schema.names and primary in meta["columns"]
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
