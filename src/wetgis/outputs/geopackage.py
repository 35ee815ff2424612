"""A GeoPackage that QGIS opens with its styles.

The styles stand in the table ``layer_styles`` that QGIS reads; any other program ignores it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
from wetgis.outputs.pieces import Finished, in_order, issues_in_order, whole
from wetgis.outputs.shapes import without_collections
from wetgis.outputs.tables import shown_findings
from wetgis.outputs.words import CAVEATS, PLACE_WORDS, STATUS_WORDS
from wetgis.schema import SCHEMA_VERSION, SUBJECT_KINDS

if TYPE_CHECKING:
    import geopandas as gpd

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
_SHAPES = {2: "fill", 1: "line", 0: "point"}
_TYPES = {2: "MultiPolygon", 1: "MultiLineString", 0: "MultiPoint"}


def write_geopackage(
    screening: Screening | Finished, path: str | Path, *, all_findings: bool = False
) -> None:
    """Write a screening as a styled GeoPackage.

    Parameters
    ----------
    screening : Screening
        The result.
    path : str or Path
        The file; it is replaced where it exists.
    all_findings : bool
        Also write findings that are ``not_met``.

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
    screening = whole(screening)
    measures = in_order("measures", screening.measures)
    layers: dict[str, Any] = dict.fromkeys(
        ("buffer", "wetlands", "watercourses"), _none_like(measures)
    )
    layers |= {n: frame for n, frame in screening.layers.items() if n not in RESULT_LAYERS}
    for kind in SUBJECT_KINDS:
        layers[f"{kind}s"] = measures[measures["subject_kind"] == kind]
    layers["parts"] = in_order("parts", screening.parts)
    layers["contacts"] = in_order("contacts", screening.contacts)
    findings = in_order("findings", screening.findings)
    layers["findings"] = shown_findings(findings, all_findings=all_findings)
    layers["issues"] = issues_in_order(screening.issues)
    layers["about"] = _about(screening)
    write_layers(layers, Path(path), _looks())


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
    from pyogrio.errors import DataLayerError, DataSourceError

    with replacing(path) as temporary:
        try:
            _write_styles(temporary, _write_all(layers, temporary, looks or {}))
        except (DataLayerError, DataSourceError, sqlite3.Error) as error:
            raise failed(path, error) from error


def _write_all(
    layers: Mapping[str, pd.DataFrame], path: Path, looks: Mapping[str, Look]
) -> dict[str, str]:
    """Write every layer; the styles by layer."""
    styles: dict[str, str] = {}
    for name, frame in layers.items():
        if "geometry" not in frame:
            _write(_columns(frame), path, name)
            continue
        dimensions = _dimensions(frame, 1 if name == "contacts" else 2)
        _write_features(frame, path, name, dimensions)
        if name in looks:
            styles[name] = looks[name].qml(dimensions)
    return styles


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


def _about(screening: Screening) -> pd.DataFrame:
    """What the file is, in rows of name and text."""
    rows = [("schema_version", str(SCHEMA_VERSION)), ("title", screening.title)]
    options = screening.provenance.get("options", {})
    rows += [(name, str(options[name])) for name in ("as_of", "crs") if name in options]
    rows += [("caveat", text) for text in CAVEATS]
    return pd.DataFrame(rows, columns=["name", "text"])


def _none_like(frame: gpd.GeoDataFrame) -> gpd.GeoDataFrame:
    import geopandas as gpd

    return gpd.GeoDataFrame({"id": pd.Series(dtype="object")}, geometry=[], crs=frame.crs)


def _dimensions(frame: gpd.GeoDataFrame, default: int) -> list[int]:
    """The dimensions that a layer's geometries have, areas first."""
    import shapely

    geoms = frame.geometry.to_numpy()
    there = set(shapely.get_dimensions(geoms[~shapely.is_empty(geoms)]).tolist()) - {-1}
    return sorted(there, reverse=True) or [default]


def _columns(frame: pd.DataFrame) -> pd.DataFrame:
    """Attributes that a GeoPackage can hold: text, numbers, no infinity, no name twice."""
    taken = set(_TAKEN)
    columns: dict[str, Any] = {}
    for position, original in enumerate(frame.columns):
        column = frame.iloc[:, position]
        if str(column.dtype) == "geometry":
            continue
        name = str(original)
        while name.lower() in taken:
            name += "_"
        taken.add(name.lower())
        if pd.api.types.is_float_dtype(column):
            values = column.to_numpy(dtype="float64", na_value=np.nan)
            columns[name] = np.where(np.isfinite(values), values, np.nan)
        elif pd.api.types.is_numeric_dtype(column) or pd.api.types.is_datetime64_any_dtype(column):
            columns[name] = column.array
        else:
            columns[name] = as_text(column).to_numpy(dtype=object)
    return pd.DataFrame(columns, index=range(len(frame)))


def _write_features(
    frame: gpd.GeoDataFrame, path: Path, name: str, dimensions: Sequence[int]
) -> None:
    import geopandas as gpd
    import shapely

    geoms = without_collections(frame.geometry.to_numpy())
    geoms[shapely.is_empty(geoms)] = None
    one = len(dimensions) == 1
    _write(
        gpd.GeoDataFrame(_columns(frame), geometry=geoms, crs=frame.crs),
        path,
        name,
        geometry_type=_TYPES[dimensions[0]] if one else "Unknown",
        promote_to_multi=one,
        layer_options={"GEOMETRY_NAME": "geom", "FID": "fid"},
    )


def _write(frame: pd.DataFrame, path: Path, name: str, **options: Any) -> None:
    import pyogrio

    there = path.exists()
    if not there:
        options["dataset_options"] = {"VERSION": "1.2"}  # what older programs read too
    pyogrio.write_dataframe(frame, path, layer=name, driver="GPKG", append=there, **options)


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
