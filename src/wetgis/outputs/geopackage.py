"""A GeoPackage that QGIS opens with its styles.

The styles stand in the table ``layer_styles`` that QGIS reads; any other program ignores it.
"""

from __future__ import annotations

import sqlite3
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from wetgis.outputs import qml
from wetgis.outputs.atomic import failed, replacing
from wetgis.outputs.palette import (
    LAYER_STYLES,
    PLACE_COLOURS,
    STATUS_COLOURS,
    SUBJECT_LINE,
    LayerStyle,
)
from wetgis.outputs.parquet import as_text
from wetgis.outputs.pieces import Finished, finished, issues_in_order
from wetgis.outputs.shapes import as_multi, without_collections
from wetgis.outputs.tables import shown_findings
from wetgis.outputs.tally import Shapes, Subjects, Tally
from wetgis.outputs.words import CAVEATS, PLACE_WORDS, STATUS_WORDS
from wetgis.schema import SCHEMA_VERSION, SUBJECT_KINDS

if TYPE_CHECKING:
    import pyarrow as pa
    from pyproj import CRS

    from wetgis.screening import Screening

__all__ = ["RESULT_LAYERS", "Look", "write_geopackage", "write_layers"]

#: Layers that are tables of the run; the others are the features behind it.
RESULT_LAYERS = (
    "parcels",
    "footprints",
    "projects",
    "parts",
    "contacts",
    "findings",
    "issues",
    *(
        f"{n}_{s}"
        for n in ("parcels", "footprints", "projects", "parts")
        for s in ("lines", "points")
    ),
)
#: Names that a GeoPackage keeps for itself.
_TAKEN = {"fid", "geom", "ogc_fid"}
_GEOMETRY = "geom"
_SHAPES = {2: "fill", 1: "line", 0: "point"}
_TYPES = {2: "MultiPolygon", 1: "MultiLineString", 0: "MultiPoint"}


def write_geopackage(
    run: Screening | Finished,
    path: str | Path,
    *,
    all_findings: bool = False,
    tally: Tally | None = None,
) -> None:
    """Write a screening as a styled GeoPackage.

    Parameters
    ----------
    run : Screening or Finished
        The result.
    path : str or Path
        The file; it is replaced where it exists.
    all_findings : bool
        Also write findings that are ``not_met``.
    tally : Tally, optional
        What the run comes to, where that is known already.

    Notes
    -----
    Layers ``parcels``, ``footprints``, ``projects`` (with the measures), ``parts``, ``contacts``,
    ``buffer``, ``wetlands``, ``watercourses`` and the other layers of the screening; ``findings``
    and ``issues`` are tables without geometry, and ``about`` says what the file is. A layer of
    areas, lines and points is one layer, which QGIS opens as one a kind, each with its style.
    Infinite distances are empty. A column that is called as one of the file's own
    (``fid``, ``geom``) gets an underscore.

    Raises
    ------
    OutputError
        Where the file cannot be written.
    """
    run = finished(run)
    tally = tally or Tally.of(run)
    features = {name: _Layer(read(), tally.layers[name]) for name, read in run.layers.items()}
    layers = {name: _none_of(run.crs) for name in ("buffer", "wetlands", "watercourses")}
    layers |= {name: layer for name, layer in features.items() if name not in RESULT_LAYERS}
    for kind in SUBJECT_KINDS:
        shapes = tally.subjects.all_shapes(kind)
        layers[f"{kind}s"] = _Layer(_of_kind(run, kind, tally.subjects), shapes)
    layers["parts"] = _Layer(run.read("parts"), tally.parts)
    layers["contacts"] = _Layer(run.read("contacts"), tally.contacts, drawn_as=1)
    shown = partial(shown_findings, all_findings=all_findings)
    layers["findings"] = _Layer(map(shown, run.read("findings")))
    layers["issues"] = _Layer([issues_in_order(run.issues)])
    layers["about"] = _Layer([_about(run)])
    _write_new(layers, Path(path), _looks())


def write_layers(
    layers: Mapping[str, pd.DataFrame], path: Path, looks: Mapping[str, Look] | None = None
) -> None:
    """Write frames as the layers of a new GeoPackage, with styles.

    Parameters
    ----------
    layers : mapping of str to DataFrame or GeoDataFrame
        By name; frames without geometry become tables. Every row is written, a geometry that is
        missing or empty as none.
    path : Path
        The file.
    looks : mapping of str to Look, optional
        How a layer is drawn.
    """
    _write_new({name: _Layer.of(name, frame) for name, frame in layers.items()}, path, looks or {})


@dataclass(frozen=True)
class _Layer:
    """A layer to be written: its rows in pieces, and what the geometries of all of them are."""

    pieces: Iterable[pd.DataFrame]
    shapes: Shapes | None = None
    drawn_as: int = 2  # dimension, where no geometry tells

    @classmethod
    def of(cls, name: str, frame: pd.DataFrame) -> _Layer:
        """A frame in memory."""
        if "geometry" not in frame:
            return cls([frame])
        shapes = Shapes()
        shapes.add(frame["geometry"].to_numpy())
        return cls([frame], shapes, drawn_as=1 if name == "contacts" else 2)

    def dimensions(self) -> list[int]:
        """The dimensions that the geometries have, areas first."""
        there = self.shapes.dimensions if self.shapes else set()
        return sorted(there, reverse=True) or [self.drawn_as]


def _write_new(layers: Mapping[str, _Layer], path: Path, looks: Mapping[str, Look]) -> None:
    """Write layers, one after the other, into a new file with styles."""
    from pyogrio.errors import DataLayerError, DataSourceError

    styles: dict[str, str] = {}
    with replacing(path) as temporary:
        try:
            for name, layer in layers.items():
                _write(layer, temporary, name)
                if layer.shapes is not None and name in looks:
                    styles[name] = looks[name].qml(layer.dimensions())
            _write_styles(temporary, styles)
        except (DataLayerError, DataSourceError, sqlite3.Error) as error:
            raise failed(path, error) from error


@dataclass(frozen=True)
class Look:
    """How a layer is drawn: one style, or one a value of a column."""

    styles: Mapping[str, LayerStyle]
    column: str = ""

    def qml(self, dimensions: Sequence[int]) -> str:
        """The style for the kinds of geometry that a layer holds."""
        shapes = [_SHAPES[d] for d in dimensions]
        if len(shapes) > 1:
            return qml.mixed(self.styles, shapes, self.column)
        if self.column:
            return qml.categories(self.column, self.styles, shapes[0])
        return qml.single(next(iter(self.styles.values())), shapes[0])


def _about(run: Finished) -> pd.DataFrame:
    """What the file is, in rows of name and text."""
    rows = [("schema_version", str(SCHEMA_VERSION)), ("title", run.title)]
    options = run.provenance.get("options", {})
    rows += [(name, str(options[name])) for name in ("as_of", "crs") if name in options]
    rows += [("caveat", text) for text in CAVEATS]
    return pd.DataFrame(rows, columns=["name", "text"])


def _none_of(crs: CRS | None) -> _Layer:
    """A layer without rows."""
    import geopandas as gpd

    frame = gpd.GeoDataFrame({"id": pd.Series(dtype="object")}, geometry=[], crs=crs)
    return _Layer([frame], Shapes())


def _of_kind(run: Finished, kind: str, subjects: Subjects) -> Iterator[pd.DataFrame]:
    """The measures of one kind of subject; pieces without any are passed over, but for one."""
    left = subjects.of_kind(kind).total()
    for number, piece in enumerate(run.read("measures")):
        chosen = piece[piece["subject_kind"] == kind]
        left -= len(chosen)
        if len(chosen) or number == 0:
            yield chosen
        if left == 0:
            return


def _write(layer: _Layer, path: Path, name: str) -> None:
    """Write a layer in one go, a piece in memory at a time."""
    import pyogrio

    rest = iter(layer.pieces)
    first = next(rest)
    options: dict[str, Any] = {}
    as_table: Callable[[pd.DataFrame], pa.Table] = _attributes
    if layer.shapes is not None:
        dimensions = layer.dimensions()
        one = len(dimensions) == 1
        as_table = partial(_features, multi=one)
        options = {
            "geometry_name": _GEOMETRY,
            "geometry_type": _TYPES[dimensions[0]] if one else "Unknown",
            "crs": _named(first["geometry"].array.crs),
            "layer_options": {"GEOMETRY_NAME": _GEOMETRY, "FID": "fid"},
        }
    there = path.exists()
    if not there:
        options["dataset_options"] = {"VERSION": "1.2"}  # what older programs read too
    stream = _Stream(as_table, first, rest)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "'crs' was not provided", UserWarning)
        try:
            pyogrio.write_arrow(
                stream.reader(), path, layer=name, driver="GPKG", append=there, **options
            )
        except Exception:
            if stream.failure is not None:  # the rows could not be read
                raise stream.failure from None
            raise


class _Stream:
    """Pieces as record batches; an error on the way is kept, for the other end hides it."""

    def __init__(
        self,
        as_table: Callable[[pd.DataFrame], pa.Table],
        first: pd.DataFrame,
        rest: Iterator[pd.DataFrame],
    ) -> None:
        self._as_table, self._first, self._rest = as_table, as_table(first), rest
        self.failure: Exception | None = None

    def reader(self) -> pa.RecordBatchReader:
        import pyarrow as pa

        return pa.RecordBatchReader.from_batches(self._first.schema, self._batches())

    def _batches(self) -> Iterator[pa.RecordBatch]:
        try:
            yield from self._first.to_batches()
            for piece in self._rest:
                yield from self._as_table(piece).to_batches()
        except Exception as error:
            self.failure = error
            raise


def _named(crs: CRS | None) -> str | None:
    """A CRS as GDAL reads it."""
    if crs is None:
        return None
    code = crs.to_epsg()
    return f"EPSG:{code}" if code else str(crs.to_wkt("WKT1_GDAL"))


def _attributes(frame: pd.DataFrame) -> pa.Table:
    """A table without geometry."""
    import pyarrow as pa

    fields, columns = _columns(frame)
    return pa.table(columns, schema=pa.schema(fields))


def _columns(frame: pd.DataFrame) -> tuple[list[pa.Field], list[pa.Array]]:
    """Attributes that a GeoPackage can hold: text, numbers, no infinity, no name twice."""
    import pyarrow as pa

    taken = set(_TAKEN)
    fields, columns = [], []
    for position, original in enumerate(frame.columns):
        column = frame.iloc[:, position]
        if str(column.dtype) == "geometry":
            continue
        name = str(original)
        while name.lower() in taken:
            name += "_"
        taken.add(name.lower())
        values, meta = _attribute(column)
        columns.append(values)
        fields.append(pa.field(name, values.type, metadata=meta))
    return fields, columns


def _attribute(column: pd.Series) -> tuple[pa.Array, dict[str, str] | None]:
    """A column's values, and what GDAL must be told about them."""
    import pyarrow as pa

    kinds = pd.api.types
    if kinds.is_float_dtype(column):
        values = column.to_numpy(dtype="float64", na_value=np.nan)
        return pa.array(values, mask=~np.isfinite(values)), None
    if isinstance(column.dtype, pd.DatetimeTZDtype) and str(column.dtype.tz) != "UTC":
        text = pa.array(column.astype("string"), type=pa.string(), from_pandas=True)
        return text, {"GDAL:OGR:type": "DateTime"}  # else offsets of summer and winter are lost
    if kinds.is_numeric_dtype(column) or kinds.is_datetime64_any_dtype(column):
        return pa.array(column.array, from_pandas=True), None
    return pa.array(as_text(column).to_numpy(dtype=object), type=pa.string()), None


def _features(frame: pd.DataFrame, *, multi: bool) -> pa.Table:
    """Attributes and WKB; a geometry that is missing or empty as none."""
    import pyarrow as pa
    import shapely

    geoms = without_collections(frame["geometry"].to_numpy())
    geoms[shapely.is_empty(geoms)] = None
    if multi:
        geoms = as_multi(geoms)
    fields, columns = _columns(frame)
    wkb = pa.field(_GEOMETRY, pa.binary(), metadata={"ARROW:extension:name": "geoarrow.wkb"})
    values = pa.array(shapely.to_wkb(geoms), type=pa.binary())
    return pa.table([*columns, values], schema=pa.schema([*fields, wkb]))


def _write_styles(path: Path, styles: Mapping[str, str]) -> None:
    """The table that QGIS reads when it opens a layer."""
    connection = sqlite3.connect(path)
    try:
        with connection:
            connection.execute(
                "CREATE TABLE layer_styles (id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, "
                "f_table_catalog TEXT(256), f_table_schema TEXT(256), f_table_name TEXT(256), "
                "f_geometry_column TEXT(256), styleName TEXT(30), styleQML TEXT, styleSLD TEXT, "
                "useAsDefault BOOLEAN, description TEXT, owner TEXT(30), ui TEXT(30), "
                "update_time DATETIME DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ','now')))"
            )
            connection.execute(
                "INSERT INTO gpkg_contents (table_name, data_type, identifier) "
                "VALUES ('layer_styles', 'attributes', 'layer_styles')"
            )
            connection.executemany(
                "INSERT INTO layer_styles (f_table_catalog, f_table_schema, f_table_name, "
                "f_geometry_column, styleName, styleQML, styleSLD, useAsDefault, description, "
                "owner, ui) VALUES ('', '', ?, 'geom', 'wetgis', ?, '', 1, ?, '', '')",
                [(name, style, f"{name}, as wetgis draws it") for name, style in styles.items()],
            )
    finally:
        connection.close()


def _looks() -> dict[str, Look]:
    """How each layer is drawn."""
    by_status = Look(_status_styles(), "status")
    looks = {name: Look({name: style}) for name, style in LAYER_STYLES.items()}
    return looks | {
        "parcels": by_status,
        "projects": by_status,
        "parts": Look(_place_styles(), "place"),
    }


def _status_styles() -> dict[str, LayerStyle]:
    return {
        status: LayerStyle(STATUS_WORDS[status], colour, SUBJECT_LINE, 0.15)
        for status, colour in STATUS_COLOURS.items()
    }


def _place_styles() -> dict[str, LayerStyle]:
    return {
        place: LayerStyle(PLACE_WORDS[place], colour, SUBJECT_LINE, 0.1)
        for place, colour in PLACE_COLOURS.items()
    }
