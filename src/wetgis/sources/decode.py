"""From a layer of a file to a table and geometries, as they stand there.

Bulk reading goes through GDAL's Arrow stream. Geometries are decoded here, not there, so
that one bad record never ends a file: it keeps its row, and is named.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from pyproj import CRS

from wetgis.crs import as_crs, canonical, is_unknown
from wetgis.errors import InputError, WetgisError
from wetgis.sources.containers import Dataset, opened, read_bytes
from wetgis.sources.containers import Found as Layer
from wetgis.sources.keys import nearest
from wetgis.sources.wkb import CURVES, Decoded, Objects, decoded, wkb_kinds

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from wetgis.sources.steps import Stream

__all__ = ["RawLayer", "bare_layer", "frame_columns", "ogr_options", "read_raw", "rows_where"]

#: The old member of GeoJSON that names a CRS, and the names that mean degrees.
_CRS_MEMBER = re.compile(r'"crs"\s*:\s*\{[^{}]*\{[^{}]*"name"\s*:\s*"([^"]+)"')
_DEGREES = re.compile(r"4326|4979|CRS:?84|WGS", re.I)


@dataclass
class RawLayer:
    """A layer as its file holds it.

    Attributes
    ----------
    table : DataFrame
        The attributes, a row a record.
    geoms : ndarray of object
        The geometries; None where there is none or it could not be decoded.
    crs : CRS or None
        What the file says; None where it says nothing about the earth.
    driver, layer : str
        What read it, and the layer's name.
    closed : list of int
        Rows whose ring was open and was closed.
    unreadable : dict
        Row to what is wrong with it.
    open : dict
        Row to what is open about an outline that should have an area.
    curves : bool
        Whether curves became chords.
    lost : int
        Records that the file counts and that could not be read at all.
    notes : list of (code, message)
        More that the reader has to say.
    stream : Stream, optional
        Where the geometries stay in the file; ``geoms`` is empty then.
    """

    table: pd.DataFrame
    geoms: Objects
    crs: CRS | None
    driver: str
    layer: str
    closed: list[int] = field(default_factory=list)
    unreadable: dict[int, str] = field(default_factory=dict)
    open: dict[int, str] = field(default_factory=dict)
    curves: bool = False
    lost: int = 0
    notes: list[tuple[str, str]] = field(default_factory=list)
    stream: Stream | None = None

    def take_in(self, part: Decoded) -> None:
        """Take the geometries of all records, and what is wrong with some."""
        self.geoms = part.geoms
        self.closed, self.unreadable = list(part.closed), dict(part.unreadable)

    def whole(self) -> Decoded:
        """The geometries of all records in one part."""
        rows = np.arange(len(self.table))
        return Decoded(rows, self.geoms, tuple(self.closed), self.unreadable, self.open)

    def keep(self, kept: np.ndarray[Any, np.dtype[np.bool_]]) -> None:
        """Keep the rows of a mask, in place."""
        position = {old: new for new, old in enumerate(np.flatnonzero(kept).tolist())}
        self.table = self.table[kept].reset_index(drop=True)
        self.geoms = self.geoms[kept]
        self.closed = [position[i] for i in self.closed if i in position]
        self.unreadable = {position[i]: t for i, t in self.unreadable.items() if i in position}
        self.open = {position[i]: t for i, t in self.open.items() if i in position}


def read_raw(found: Layer, where: str | None) -> RawLayer:
    """Read one layer, with an OGR SQL condition where one is given.

    Raises
    ------
    InputError
        Where the file, the layer or the condition cannot be read at all.
    """
    if found.dataset.is_parquet:
        from wetgis.sources.parquet import read_parquet

        return read_parquet(found, where)
    try:
        with opened(found.dataset) as target:
            return _read_ogr(target, found, where)
    except WetgisError:
        raise
    except Exception as error:  # pyogrio, pyarrow and GDAL share no root of errors
        if where is not None and _readable_without(found):
            raise _bad_condition(where, str(error), found) from error
        return _record_by_record(found, where, error)


def _read_ogr(target: str, found: Layer, where: str | None) -> RawLayer:
    options = ogr_options(found, where)
    read = _by_arrow(target, options)
    if read is None:
        frame, wkb, crs = _by_features(target, options)
    else:
        meta, table = read
        name = meta["geometry_name"] or "wkb_geometry"
        frame = frame_columns(table.drop_columns([name] if name in table.column_names else []))
        wkb = _to_objects(table.column(name)) if name in table.column_names else None
        crs = meta["crs"]
    raw = bare_layer(frame, crs, target, found)
    if wkb is not None:
        _decode_into(raw, wkb, lambda: _as_chords(target, options))
    return raw


def ogr_options(found: Layer, where: str | None) -> dict[str, Any]:
    """What GDAL is told about how to read a layer."""
    options: dict[str, Any] = {"layer": _layer_in(found), "where": where}
    if found.dataset.ending == ".dxf":
        options["CLOSED_LINE_AS_POLYGON"] = "YES"
    return options


def bare_layer(frame: pd.DataFrame, crs: str | None, target: str, found: Layer) -> RawLayer:
    """A layer that GDAL has read, without its geometries."""
    driver = _driver(target, _layer_in(found))
    raw = RawLayer(frame, _nothing(len(frame)), _crs(crs), driver, found.layer)
    degrees = raw.crs is not None and raw.crs.to_epsg() == 4326
    if degrees and raw.driver == "GeoJSON" and _names_unknown_crs(found.dataset):
        raw.crs = None
    return raw


def _layer_in(found: Layer) -> str | None:
    """What GDAL calls the layer: a shapefile has but one, a drawing has its entities."""
    if found.dataset.ending == ".dxf":
        return "entities"
    return None if found.dataset.parts or found.dataset.ending == ".shp" else found.layer


def _by_arrow(target: str, options: dict[str, Any]) -> tuple[dict[str, Any], pa.Table] | None:
    """A layer by GDAL's Arrow stream; None where what came is not sound.

    The stream is checked before it is used: some drivers write wrong offsets where a record
    has no geometry, and text may not be in the encoding that the file names.
    """
    import pyarrow as pa
    from pyogrio.raw import read_arrow

    try:
        meta, table = read_arrow(target, **options)
        table.validate(full=True)
    except pa.ArrowInvalid:
        return None
    return meta, table


def _by_features(
    target: str, options: dict[str, Any]
) -> tuple[pd.DataFrame, Objects | None, str | None]:
    """A layer feature by feature, which costs more and trusts less."""
    import pandas as pd
    from pyogrio.raw import read

    try:
        meta, _, geometry, fields = read(target, **options)
    except UnicodeDecodeError:
        # text that is not what the file says it is: read it as Windows wrote it
        meta, _, geometry, fields = read(target, encoding="CP1252", **options)
    size = len(geometry) if geometry is not None else (len(fields[0]) if len(fields) else 0)
    columns = {}
    kinds = zip(meta["ogr_types"], meta["ogr_subtypes"], strict=True)
    for name, (kind, subkind), values in zip(meta["fields"], kinds, fields, strict=True):
        column = pd.Series(values)
        if subkind == "OFSTBoolean" and column.dtype.kind != "b":
            column = column.astype("boolean")
        elif kind in {"OFTInteger", "OFTInteger64"} and column.dtype.kind in "fO":
            column = column.astype("Int64")
        elif kind in {"OFTDate", "OFTDateTime"} and column.dtype == object:
            column = pd.to_datetime(column, format="ISO8601", errors="coerce")
        columns[str(name)] = column
    frame = pd.DataFrame(columns, index=pd.RangeIndex(size))
    wkb = None if geometry is None else np.asarray(geometry, dtype=object)
    return frame, wkb, meta["crs"]


def _crs(text: str | None) -> CRS | None:
    if not text:
        return None
    try:
        crs = as_crs(text)
    except WetgisError:
        return None
    return None if is_unknown(crs) else canonical(crs)


def _names_unknown_crs(dataset: Dataset) -> bool:
    """Whether a GeoJSON names a CRS that nobody knows, which GDAL takes for degrees."""
    size = 100_000
    with read_bytes(dataset) as file:
        text = file.read(size)
        if dataset.file.stat().st_size > size:
            file.seek(-size, 2)
            text += file.read(size)
    named = _CRS_MEMBER.search(text.decode("utf-8", errors="replace"))
    if named is None or _DEGREES.search(named.group(1)):
        return False
    try:
        as_crs(named.group(1))
    except WetgisError:
        return True
    return False


def _driver(target: str, layer: str | None) -> str:
    """What read the layer, as GDAL calls it."""
    import pyogrio

    info = pyogrio.read_info(target, layer=layer, force_feature_count=False)
    return str(info.get("driver") or "OGR")


def _nothing(size: int) -> Objects:
    return np.full(size, None, dtype=object)


def frame_columns(table: pa.Table) -> pd.DataFrame:
    """Arrow columns as pandas ones: whole numbers stay whole where some are missing.

    Examples
    --------
    >>> import pyarrow
    >>> frame_columns(pyarrow.table({"ZONE_NO": [3, None]}))["ZONE_NO"].tolist()
    [3, <NA>]
    """
    import pandas as pd
    import pyarrow.types as kinds

    nullable = _nullable_types()
    columns: list[pd.Series[Any]] = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        kind = column.type
        if kind in nullable and column.null_count:
            made = column.to_pandas(types_mapper=nullable.get)
        elif kinds.is_date(kind):
            made = pd.Series(pd.to_datetime(column.to_pandas()))
        elif kinds.is_nested(kind):
            made = pd.Series(column.to_pylist(), dtype=object)
        else:
            made = column.to_pandas()
        made = pd.Series(made)
        made.name = name
        columns.append(made.reset_index(drop=True))
    if not columns:
        return pd.DataFrame(index=pd.RangeIndex(table.num_rows))
    frame = pd.concat(columns, axis=1)
    frame.index = pd.RangeIndex(table.num_rows)
    return frame


def _nullable_types() -> dict[Any, Any]:
    import pandas as pd
    import pyarrow as pa

    return {
        pa.bool_(): pd.BooleanDtype(),
        pa.int8(): pd.Int8Dtype(),
        pa.int16(): pd.Int16Dtype(),
        pa.int32(): pd.Int32Dtype(),
        pa.int64(): pd.Int64Dtype(),
        pa.uint8(): pd.UInt8Dtype(),
        pa.uint16(): pd.UInt16Dtype(),
        pa.uint32(): pd.UInt32Dtype(),
        pa.uint64(): pd.UInt64Dtype(),
    }


def _decode_into(
    raw: RawLayer,
    wkb: Objects,
    as_chords: Callable[[], Objects],
) -> None:
    """Fill in the geometries of a layer, and say which could not be."""
    if wkb_kinds(wkb) & CURVES:
        raw.curves = True
        wkb = as_chords()
        if len(wkb) != len(raw.table):
            raise InputError("curves could not be read as chords.", where=raw.layer)
    raw.take_in(decoded(wkb))


def _to_objects(column: Any) -> Objects:
    values = column.to_pandas().to_numpy(dtype=object, na_value=None)
    return np.asarray(values, dtype=object)


def _as_chords(target: str, options: dict[str, Any]) -> Objects:
    from pyogrio.raw import read

    _, _, geometry, _ = read(target, columns=[], **options)
    return np.asarray(geometry, dtype=object)


def _readable_without(found: Layer) -> bool:
    """Whether a layer that cannot be read with a condition can be read without it."""
    from pyogrio.raw import read

    try:
        with opened(found.dataset) as target:
            read(target, layer=_layer_in(found), max_features=1)
    except Exception:  # GDAL's faults have no common root
        return False
    return True


def _bad_condition(where: str, said: str, found: Layer) -> InputError:
    import pyogrio

    try:
        with opened(found.dataset) as target:
            columns = [str(c) for c in pyogrio.read_info(target, layer=_layer_in(found))["fields"]]
    except Exception:  # the list is a courtesy; the fault itself has been found
        columns = []
    said = said.replace("\n", " ").strip()
    return InputError(
        f'where = "{where}" is not understood: {said}',
        needed="an OGR SQL condition on its columns"
        + (": " + ", ".join(columns) if columns else ""),
        where=found.dataset.shown,
    )


def _record_by_record(found: Layer, where: str | None, cause: Exception) -> RawLayer:
    """A file that cannot be read in bulk, by fiona, which goes on after a bad record."""
    try:
        from wetgis.sources.stream import read_stream
    except ImportError:
        raise _unreadable(found, cause) from cause
    try:
        with opened(found.dataset) as target:
            return read_stream(target, found, where, str(cause))
    except WetgisError:
        raise
    except Exception:
        raise _unreadable(found, cause) from cause


def _unreadable(found: Layer, cause: Exception) -> InputError:
    said = str(cause).replace("\n", " ").strip().rstrip(".") or type(cause).__name__
    return InputError(
        f"layer '{found.layer}' cannot be read: {said}.",
        mend="open and save it again in a GIS, as GeoPackage",
        where=found.dataset.shown,
    )


def rows_where(table: pd.DataFrame, where: str, shown: str) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which rows of a table meet an OGR SQL condition, for formats that GDAL does not read.

    Raises
    ------
    InputError
        Where the condition is not understood.
    """
    import io

    import pyogrio

    simple = table.copy()
    for name in simple.columns:
        if simple[name].dtype == object:
            simple[name] = simple[name].astype("string")
    number = "wetgis_row_number"
    simple[number] = np.arange(len(simple))
    with io.BytesIO() as memory, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pyogrio.write_dataframe(simple, memory, driver="GPKG", layer="t")
        memory.seek(0)
        try:
            _, hits = pyogrio.raw.read_arrow(memory, layer="t", where=where, columns=[number])
        except Exception as error:  # GDAL's fault, whatever its class
            columns = list(map(str, table.columns))
            raise InputError(
                f'where = "{where}" is not understood: {error}{nearest(where, columns)}',
                needed="an OGR SQL condition on its columns: " + ", ".join(columns),
                where=shown,
            ) from error
    kept = np.zeros(len(table), dtype=bool)
    kept[hits.column(number).to_numpy()] = True
    return kept
