"""Layers back into files: nothing lost unsaid, nothing half-written under a final name."""

from __future__ import annotations

import datetime as dt
import json
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wetgis.errors import OutputError
from wetgis.provenance import plain

if TYPE_CHECKING:
    import geopandas
    import pandas as pd

__all__ = ["write_layer"]

_DRIVERS = {
    ".gpkg": "GPKG",
    ".shp": "ESRI Shapefile",
    ".geojson": "GeoJSON",
    ".json": "GeoJSON",
    ".fgb": "FlatGeobuf",
    ".kml": "LIBKML",
    ".parquet": "Parquet",
    ".geoparquet": "Parquet",
    ".csv": "CSV",
}
#: The longest text that a dBase field holds, and the longest name of a field.
_DBF_TEXT, _DBF_NAME = 254, 10


@dataclass
class _Report:
    """What became of the columns."""

    names: dict[str, str] = field(default_factory=dict)
    lost: dict[str, str] = field(default_factory=dict)

    def lose(self, column: str, what: str) -> None:
        before = self.lost.get(column)
        self.lost[column] = f"{before}; {what}" if before else what


def write_layer(
    frame: geopandas.GeoDataFrame, path: str | Path, *, layer: str | None = None
) -> dict[str, dict[str, str]]:
    """Write a layer in the format that the path's ending names.

    GeoPackage (``.gpkg``; other layers of the file stay), Shapefile (``.shp``), GeoJSON,
    FlatGeobuf (``.fgb``), GeoParquet (``.parquet``), KML, and CSV with the geometry as WKT.
    The file appears under its name only when it is complete.

    Parameters
    ----------
    frame : GeoDataFrame
        Any index; the index is not written. An ``id`` that was generated is not written.
    path : path
        Where to.
    layer : str, optional
        The layer's name, where the format has layers; else the file's name.

    Returns
    -------
    dict
        ``names``: each column and how it is called in the file. ``lost``: column to what the
        format could not hold (M values, times of day, long texts, infinite numbers, lists
        written as JSON text). Empty where nothing was lost.

    Raises
    ------
    OutputError
        Where the ending is not known, the folder is not there, or the format cannot hold the
        geometries (a shapefile holds one kind).

    Examples
    --------
    >>> import tempfile, geopandas, shapely
    >>> ponds = geopandas.GeoDataFrame(
    ...     {"measured_from": ["bank"]}, geometry=[shapely.Point(717000, 783000)], crs=2260
    ... )
    >>> write_layer(ponds, tempfile.mkdtemp() + "/ponds.shp")["names"]
    {'measured_from': 'measured_f'}
    """
    path = Path(path)
    ending = path.suffix.lower()
    if ending not in _DRIVERS:
        raise OutputError(
            f"'{ending or path.name}' is not a format that layers are written in.",
            needed="one of " + ", ".join(_DRIVERS),
            where=str(path),
        )
    if not path.parent.is_dir():
        raise OutputError("the folder is not there.", mend="make it first", where=str(path))
    report = _Report()
    out = _prepared(frame, _DRIVERS[ending], report)
    try:
        _write(out, path, layer or path.stem, _DRIVERS[ending], report)
    except OutputError:
        raise
    except Exception as error:  # pyogrio, pyarrow and the disk share no root of errors
        said = str(error).replace("\n", " ") or type(error).__name__
        raise OutputError(f"the layer cannot be written: {said}", where=str(path)) from error
    return {"names": report.names, "lost": report.lost}


def _prepared(
    frame: geopandas.GeoDataFrame, driver: str, report: _Report
) -> geopandas.GeoDataFrame:
    """The frame as the format can hold it, with what that costs."""
    out = frame.copy()
    if _generated(frame):
        out = out.drop(columns="id")
    out.attrs = {}
    out = _one_geometry(out, report)
    out = _dimensions(out, driver, report)
    if driver in {"GeoJSON", "LIBKML"}:
        out = _degrees_where_needed(out, driver, report)
    columns = [c for c in out.columns if c != out.geometry.name]
    for column in columns:
        out[column] = _values(out[column], driver, str(column), report)
        report.names[str(column)] = str(column)
    out.columns = [str(c) for c in out.columns]
    if driver != "Parquet":
        out = _own_names(out, driver, report)
    return out.reset_index(drop=True)


def _generated(frame: geopandas.GeoDataFrame) -> bool:
    """Whether the ids are those that the reader made, and nobody has written others since."""
    if not frame.attrs.get("wetgis", {}).get("generated_id") or "id" not in frame.columns:
        return False
    made = frame["id"].astype("string").str.fullmatch(r"[a-z_]+-[0-9a-f]{10}")
    return bool(made.fillna(False).all())


def _one_geometry(out: geopandas.GeoDataFrame, report: _Report) -> geopandas.GeoDataFrame:
    """Other geometry columns as WKT text: files hold one geometry a record."""
    for column in out.columns:
        if column != out.geometry.name and str(out[column].dtype) == "geometry":
            text = out[column].to_wkt()
            out[column] = text.astype(object).where(out[column].notna(), None)
            report.lose(str(column), "a second geometry, written as WKT text")
    return out


def _dimensions(
    out: geopandas.GeoDataFrame, driver: str, report: _Report
) -> geopandas.GeoDataFrame:
    """Without M values, which no writer at hand keeps; all with Z or none where that is asked."""
    import shapely

    geoms = np.array(out.geometry.array, dtype=object)
    name, changed = str(out.geometry.name), False
    measured = np.asarray(shapely.has_m(geoms)) if hasattr(shapely, "has_m") else np.array(False)
    if measured.any():
        flat = measured & ~shapely.has_z(geoms)
        deep = measured & ~flat
        geoms[flat] = shapely.force_2d(geoms[flat])
        z = shapely.get_coordinates(geoms[deep], include_z=True)[:, 2]
        # by way of two dimensions: force_3d leaves an M where it is
        geoms[deep] = _with_z(shapely.force_3d(shapely.force_2d(geoms[deep])), z)
        report.lose(name, "M values")
        changed = True
    deep = shapely.has_z(geoms)
    held = ~shapely.is_missing(geoms)
    if driver in {"FlatGeobuf", "ESRI Shapefile"} and deep.any() and not deep[held].all():
        geoms = shapely.force_2d(geoms)
        report.lose(name, "Z values, as only some records have them")
        changed = True
    return _with_geometry(out, geoms, out.crs) if changed else out


def _with_z(geoms: np.ndarray[Any, Any], z: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    import shapely

    xyz = shapely.get_coordinates(geoms, include_z=True)
    xyz[:, 2] = z
    return np.asarray(shapely.set_coordinates(geoms, xyz))


def _with_geometry(
    out: geopandas.GeoDataFrame, geoms: np.ndarray[Any, Any], crs: Any
) -> geopandas.GeoDataFrame:
    import geopandas as gpd

    name = str(out.geometry.name)
    series = gpd.GeoSeries(geoms, index=out.index, crs=crs, name=name)
    return out.drop(columns=name).assign(**{name: series}).set_geometry(name, crs=crs)


def _degrees_where_needed(
    out: geopandas.GeoDataFrame, driver: str, report: _Report
) -> geopandas.GeoDataFrame:
    """In longitude and latitude where the format has no other way to say where it is."""
    from wetgis.crs import as_crs, same_crs, transform

    if out.crs is None or same_crs(out.crs, as_crs("OGC:CRS84")):
        return out
    coded = out.crs.to_authority(min_confidence=100)
    if driver == "GeoJSON" and coded and coded[0] == "EPSG":
        return out
    moved, operation = transform(out, as_crs("OGC:CRS84"))
    what = f"written in longitude and latitude, from {operation.from_crs}"
    if operation.accuracy_m is not None:
        what += f", accurate to {operation.accuracy_m:g} m"
    report.lose(str(out.geometry.name), what)
    return moved


# ---------------------------------------------------------------- values


def _values(values: pd.Series[Any], driver: str, name: str, report: _Report) -> Any:
    """A column as the format can hold it."""
    import pandas as pd

    kinds = pd.api.types
    if driver == "LIBKML" and not (values.dtype == object or kinds.is_string_dtype(values)):
        report.lose(name, "its type; KML keeps text")
    if kinds.is_float_dtype(values):
        return _finite(values, driver, name, report)
    if kinds.is_integer_dtype(values) and driver == "ESRI Shapefile":
        return _long_numbers(values, name, report)
    if isinstance(values.dtype, pd.CategoricalDtype):
        values = values.astype(object)
    if kinds.is_datetime64_any_dtype(values):
        return _times(values, driver, name, report)
    if kinds.is_timedelta64_dtype(values):
        report.lose(name, "a length of time, written as text")
        return values.astype("str").where(values.notna(), None)
    if kinds.is_bool_dtype(values) and driver == "ESRI Shapefile":
        report.lose(name, "yes and no, written as 1 and 0")
        return values.astype("Int32")
    if values.dtype == object:
        values = _objects(values, driver, name, report)
    if driver == "ESRI Shapefile" and not kinds.is_numeric_dtype(values):
        values = _short_texts(values, name, report)
    return values


def _long_numbers(values: pd.Series[Any], name: str, report: _Report) -> pd.Series[Any]:
    """Whole numbers of more digits than a dBase number keeps, as text."""
    held = values.dropna()
    if not len(held) or int(held.abs().max()) < 10**17:
        return values
    report.lose(name, "whole numbers of more than 17 digits, written as text")
    return values.map(str, na_action="ignore").astype(object).where(values.notna(), None)


def _finite(values: pd.Series[Any], driver: str, name: str, report: _Report) -> pd.Series[Any]:
    infinite = np.isinf(values.to_numpy("float64", na_value=np.nan))
    if driver == "Parquet" or not infinite.any():
        return values
    report.lose(name, f"{int(infinite.sum())} infinite values, written as empty")
    return values.mask(infinite)


def _times(values: pd.Series[Any], driver: str, name: str, report: _Report) -> Any:
    if driver == "Parquet":
        return values
    held = values.dropna()
    if getattr(values.dt, "tz", None) is not None:
        held = held.dt.tz_localize(None)
    if (held.dt.normalize() == held).all():
        # a day without a time of day is a date in every format
        return values.map(lambda v: None if v != v or v is None else v.date()).astype(object)
    if driver == "ESRI Shapefile":
        report.lose(name, "times of day; dates are kept")
        return values.map(lambda v: None if v != v or v is None else v.date()).astype(object)
    return values


def _objects(values: pd.Series[Any], driver: str, name: str, report: _Report) -> Any:
    """Objects of one simple kind as they are, all others as JSON text."""
    import pandas as pd

    held = values[values.notna().to_numpy() if not _nested(values) else _not_none(values)]
    kinds = {type(v) for v in held}
    if not kinds or kinds <= {str}:
        return values.where(values.notna(), None)
    if kinds <= {dt.date}:
        return values.where(values.notna(), None)
    if kinds <= {bool, np.bool_}:
        return _values(values.astype("boolean"), driver, name, report)
    if kinds <= {int, np.int64, np.int32}:
        return values.astype("Int64")
    if kinds <= {int, float, np.float64, np.int64}:
        return _finite(pd.to_numeric(values).astype("float64"), driver, name, report)
    if kinds <= {dt.datetime, pd.Timestamp}:
        return _times(pd.to_datetime(values), driver, name, report)
    report.lose(name, "lists or mixed values, written as JSON text")
    turn: Callable[[Any], Any] = lambda v: (  # noqa: E731
        None if _is_nothing(v) else v if isinstance(v, str) else json.dumps(_listed(v))
    )
    return values.map(turn).astype(object)


def _nested(values: pd.Series[Any]) -> bool:
    return any(isinstance(v, (list, tuple, dict, set, np.ndarray)) for v in values)


def _not_none(values: pd.Series[Any]) -> np.ndarray[Any, Any]:
    return np.array([not _is_nothing(v) for v in values], dtype=bool)


def _is_nothing(value: Any) -> bool:
    import pandas as pd

    if value is None or value is pd.NA or value is pd.NaT:
        return True
    return isinstance(value, float) and value != value


def _listed(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        value = value.tolist()
    return value.hex() if isinstance(value, (bytes, bytearray)) else plain(value)


def _short_texts(values: pd.Series[Any], name: str, report: _Report) -> pd.Series[Any]:
    long = values.map(lambda v: isinstance(v, str) and len(v.encode()) > _DBF_TEXT).astype(bool)
    if not long.any():
        return values
    report.lose(name, f"text beyond {_DBF_TEXT} bytes in {int(long.sum())} records")
    cut = values[long].map(lambda v: v.encode()[:_DBF_TEXT].decode(errors="ignore"))
    return values.astype(object).where(~long, cut)


def _own_names(out: geopandas.GeoDataFrame, driver: str, report: _Report) -> geopandas.GeoDataFrame:
    """A name of its own for each column, whatever its case, as long as the format allows."""
    limit = _DBF_NAME if driver == "ESRI Shapefile" else 1000
    # a GeoPackage has these columns itself
    taken = {"fid", "geom"} if driver == "GPKG" else set()
    renamed: dict[str, str] = {}
    for column in [c for c in out.columns if c != out.geometry.name]:
        name = column[:limit]
        number = 1
        while name.lower() in taken:
            tail = f"_{number}"
            name = column[: limit - len(tail)] + tail
            number += 1
        taken.add(name.lower())
        renamed[column] = name
    report.names = dict(renamed)
    return out.rename(columns=renamed)


# ---------------------------------------------------------------- files


def _write(
    out: geopandas.GeoDataFrame, path: Path, layer: str, driver: str, report: _Report
) -> None:
    with tempfile.TemporaryDirectory(prefix=".wetgis-", dir=path.parent) as folder:
        temporary = Path(folder) / path.name
        if driver == "Parquet":
            out.to_parquet(temporary, index=False)
        elif driver == "CSV":
            _csv(out, temporary, report)
        else:
            if driver == "GPKG" and path.exists():
                # the other layers of the file stay, and a failure leaves it as it was
                shutil.copyfile(path, temporary)
            _ogr(out, temporary, layer, driver)
        if driver == "ESRI Shapefile":
            _clear_stale_parts(path, {p.name for p in Path(folder).iterdir()})
        for part in sorted(Path(folder).iterdir()):
            os.replace(part, path.parent / part.name)


def _clear_stale_parts(path: Path, new: set[str]) -> None:
    """Remove what an older shapefile of the name would add to the new one."""
    for ending in (".prj", ".cpg", ".sbn", ".sbx", ".qix", ".shp.xml"):
        old = path.with_suffix("").with_name(path.stem + ending)
        if old.name not in new:
            old.unlink(missing_ok=True)


def _csv(out: geopandas.GeoDataFrame, temporary: Path, report: _Report) -> None:
    import pandas as pd

    table = pd.DataFrame(out.drop(columns=out.geometry.name))
    wkt = out.geometry.to_wkt().astype(object)
    table["wkt"] = wkt.where(out.geometry.notna().to_numpy(), None)
    report.names[str(out.geometry.name)] = "wkt"
    if out.crs is not None:
        report.lose(str(out.geometry.name), "its coordinate system; a CSV file states none")
    for column in table.columns:
        if table[column].dtype == object or str(table[column].dtype) in {"str", "string"}:
            guarded = table[column].map(_no_formula, na_action="ignore")
            held = table[column].notna()
            if (guarded[held] != table[column][held]).any():
                report.lose(column, "text that a spreadsheet would run, behind an apostrophe")
            table[column] = guarded
    table.to_csv(temporary, index=False, lineterminator="\n")


def _no_formula(value: Any) -> Any:
    """Text that a spreadsheet would run, behind an apostrophe; numbers stay as they are."""
    if not isinstance(value, str) or not value.startswith(("=", "+", "-", "@", "\t", "\r")):
        return value
    try:
        float(value)
    except ValueError:
        return "'" + value
    return value


def _ogr(out: geopandas.GeoDataFrame, temporary: Path, layer: str, driver: str) -> None:
    import pyogrio

    options: dict[str, Any] = {}
    kind = _geometry_type(out, driver)
    if kind is not None:
        options["geometry_type"] = kind
    if driver in {"GPKG", "FlatGeobuf", "LIBKML"}:
        options["layer"] = layer
    if driver == "FlatGeobuf" and not out.geometry.notna().all():
        # its spatial index cannot hold a record without a geometry
        options["SPATIAL_INDEX"] = "NO"
    if driver == "GeoJSON":
        # as many digits as a double needs to come back as it was
        options["COORDINATE_PRECISION"] = 15 if out.crs is None or out.crs.is_geographic else 9
    if driver == "ESRI Shapefile":
        options["encoding"] = "UTF-8"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pyogrio.write_dataframe(out, temporary, driver=driver, use_arrow=True, **options)


def _geometry_type(out: geopandas.GeoDataFrame, driver: str) -> str | None:
    """One type that holds all geometries; Unknown where there is none and the format allows it."""
    import shapely

    geoms = np.array(out.geometry.array, dtype=object)
    held = geoms[~shapely.is_missing(geoms)]
    kinds = set(shapely.get_type_id(held).tolist())
    deep = bool(len(held)) and bool(shapely.has_z(held).any())
    families = ({0}, {4}, {1, 2, 5}, {3, 6})
    names = ("Point", "MultiPoint", "MultiLineString", "MultiPolygon")
    singles = {1: "LineString", 3: "Polygon"}
    if len(kinds) == 1 and next(iter(kinds)) in singles:
        found: str | None = singles[next(iter(kinds))]
    else:
        found = next(
            (n for f, n in zip(families, names, strict=True) if kinds and kinds <= f), None
        )
    if found is None and driver == "ESRI Shapefile" and kinds:
        raise OutputError(
            "the layer mixes points, lines, polygons or collections; a shapefile holds one kind.",
            mend="write a GeoPackage (.gpkg), or each kind to a file of its own",
        )
    if found is None:
        return "Unknown" if kinds else None
    return found + (" Z" if deep else "")
