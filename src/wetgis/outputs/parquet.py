"""Tables as Parquet, written piece by piece: the bytes do not depend on where a piece ends."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from wetgis.schema import CONTACT_COLUMNS, FINDING_COLUMNS, MEASURE_COLUMNS, SCHEMA_VERSION

if TYPE_CHECKING:
    import pyarrow as pa

    from wetgis.outputs.tally import Shapes

__all__ = ["arrow_table", "as_text", "write_pieces"]

_ROWS_PER_GROUP = 65_536
_OPTIONS: dict[str, Any] = {
    "version": "2.6",
    "data_page_version": "1.0",
    "compression": "zstd",
    "compression_level": 6,
    "use_dictionary": True,
    "write_statistics": True,
}
#: Text that a reader may compare with "" rather than with null.
_TEXT = {*MEASURE_COLUMNS, *CONTACT_COLUMNS, *FINDING_COLUMNS, "place"}


def write_pieces(pieces: Iterable[pd.DataFrame], path: Path, shapes: Shapes | None = None) -> None:
    """Write a table that comes in pieces as Parquet.

    Parameters
    ----------
    pieces : iterable of DataFrame
        At least one; all have the same columns and dtypes.
    path : Path
        The file.
    shapes : Shapes, optional
        What the geometries of all pieces are, for a table that has them: the head of a GeoParquet
        file must be known before its first row.
    """
    import pyarrow.parquet as pq

    rest = iter(pieces)
    first = next(rest)
    columns = arrow_table(first)
    schema = columns.schema.with_metadata(_metadata(first, shapes))
    with pq.ParquetWriter(path, schema, **_OPTIONS) as writer:
        for group in _row_groups(columns, rest):
            writer.write_table(group.cast(schema), row_group_size=_ROWS_PER_GROUP)


def _row_groups(first: pa.Table, rest: Iterator[pd.DataFrame]) -> Iterator[pa.Table]:
    """Tables of the rows of one group each, every column in one stretch; an empty one of none."""
    import pyarrow as pa

    held, rows = [first], first.num_rows
    for piece in rest:
        held.append(arrow_table(piece))
        rows += len(piece)
        if rows > _ROWS_PER_GROUP:
            whole, begin = pa.concat_tables(held), 0
            while rows - begin > _ROWS_PER_GROUP:
                yield whole.slice(begin, _ROWS_PER_GROUP).combine_chunks()
                begin += _ROWS_PER_GROUP
            held, rows = [whole.slice(begin)], rows - begin
    whole = pa.concat_tables(held)
    for begin in range(0, max(rows, 1), _ROWS_PER_GROUP):
        yield whole.slice(begin, _ROWS_PER_GROUP).combine_chunks()


def arrow_table(frame: pd.DataFrame) -> pa.Table:
    """A table with fixed types: 64-bit numbers, UTF-8 text, WKB; no index of pandas."""
    import pyarrow as pa

    columns = {}
    for position, name in enumerate(str(c) for c in frame.columns):
        column = frame.iloc[:, position]
        columns[name] = _wkb(column) if _is_geometry(column) else _arrow_column(name, column)
    return pa.table(columns)


def _is_geometry(column: pd.Series) -> bool:
    return str(column.dtype) == "geometry"


def _metadata(frame: pd.DataFrame, shapes: Shapes | None) -> dict[str, str]:
    """What stands in the head of a file; ``frame`` is any piece of the table."""
    meta = {"wetgis": json.dumps({"schema_version": SCHEMA_VERSION})}
    for position, name in enumerate(str(c) for c in frame.columns):
        column = frame.iloc[:, position]
        if not _is_geometry(column):
            continue
        assert shapes is not None
        crs = column.array.crs  # type: ignore[union-attr, unused-ignore]
        about: dict[str, Any] = {
            "encoding": "WKB",
            "geometry_types": sorted(shapes.types),
            "crs": None if crs is None else crs.to_json_dict(),
        }
        if shapes.bounds is not None:
            about["bbox"] = list(shapes.bounds)
        geo = {"version": "1.1.0", "primary_column": name, "columns": {name: about}}
        meta["geo"] = json.dumps(geo, sort_keys=True)
    return meta


def _arrow_column(name: str, column: pd.Series) -> Any:
    import pyarrow as pa

    kinds = pd.api.types
    if kinds.is_bool_dtype(column):
        return pa.array(column, type=pa.bool_(), from_pandas=True)
    if kinds.is_integer_dtype(column):
        return pa.array(column, type=pa.int64(), from_pandas=True)
    if kinds.is_float_dtype(column):
        values = column.to_numpy(dtype="float64", na_value=np.nan) + 0.0
        return pa.array(values, mask=np.isnan(values))
    if kinds.is_datetime64_any_dtype(column):
        return pa.array(column, from_pandas=True)
    text = as_text(column)
    missing = None if name in _TEXT else column.isna().to_numpy()
    return pa.array(text.to_numpy(dtype=object), type=pa.string(), mask=missing)


def _wkb(column: pd.Series) -> Any:
    import pyarrow as pa
    import shapely

    geoms = np.asarray(column.array, dtype=object)
    return pa.array(shapely.to_wkb(geoms, byte_order=1, flavor="iso"), type=pa.binary())


def as_text(column: pd.Series) -> pd.Series:
    """A column as Python strings, with "" where there is no value."""
    if isinstance(column.dtype, pd.StringDtype):
        values = column.fillna("").to_numpy(dtype=object)
    else:
        known = column.notna().to_numpy()
        everything = column.to_numpy(dtype=object)
        values = np.array(
            [str(v) if ok else "" for v, ok in zip(everything, known, strict=True)], dtype=object
        )
    return pd.Series(values, index=column.index, dtype="object")
