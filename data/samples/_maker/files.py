"""Writing the layers: each in a format and a coordinate system in which such data come."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import pyogrio
import pyproj
import rasterio
import shapely
from rasterio.transform import from_origin

from .fields import Array, Grid

HOME = "EPSG:2260"
STAMP = "2026-11-30T00:00:00.000Z"


def frame(
    rows: list[dict[str, Any]], origin: tuple[float, float], crs: str = HOME
) -> gpd.GeoDataFrame:
    """Rows with a ``geometry`` in town feet as a layer in a coordinate system."""
    shapes = np.array([r["geometry"] for r in rows], dtype=object)
    moved = shapely.transform(shapes, lambda xy: np.round(xy + np.array(origin), 2))
    data = pd.DataFrame([{k: v for k, v in r.items() if k != "geometry"} for r in rows])
    for name in data.columns:
        # yes, no and not stated stay that; as objects they would be written as words
        if any(isinstance(v, bool) for v in data[name]):
            data[name] = data[name].astype("boolean")
    made = gpd.GeoDataFrame(data, geometry=gpd.GeoSeries(moved, crs=HOME))
    if crs == HOME:
        return made
    digits = 8 if pyproj.CRS(crs).is_geographic else 3
    made = made.to_crs(crs)
    made.geometry = shapely.transform(made.geometry.values, lambda xy: np.round(xy, digits))
    return made


def write(layer: gpd.GeoDataFrame, path: Path, name: str | None = None, **options: Any) -> None:
    """A vector file by its ending; the date inside it is always the same."""
    pyogrio.set_gdal_config_options({"OGR_CURRENT_DATE": STAMP})
    more: dict[str, Any] = dict(options)
    if path.suffix == ".shp":
        more |= {"DBF_DATE_LAST_UPDATE": "2026-11-30", "ENCODING": "UTF-8"}
    if path.suffix == ".gpkg":
        more |= {"layer": name or path.stem, "append": path.exists()}
    if path.suffix == ".geojson" and layer.crs.is_geographic:
        more |= {"COORDINATE_PRECISION": 8}
    elif path.suffix == ".geojson":
        more |= {"COORDINATE_PRECISION": 2}
    # a layer whose records are not all of one kind is written as what it is
    pyogrio.write_dataframe(layer, path, **more)


def write_lines_zm(layer: gpd.GeoDataFrame, z: list[Array], path: Path) -> None:
    """Lines with a height and a measure (feet from the upper end) at each vertex."""
    lines = []
    for line, heights in zip(layer.geometry, z, strict=True):
        xy = shapely.get_coordinates(line)
        m = np.concatenate([[0], np.cumsum(np.hypot(*np.diff(xy, axis=0).T))])
        # ISO codes: the extended ones are refused by the driver
        points = np.column_stack([xy, np.round(heights, 2), np.round(m, 1)])
        head = np.array([1], "u1").tobytes() + np.array([3002, len(xy)], "<u4").tobytes()
        lines.append(head + points.astype("<f8").tobytes())
    columns = [c for c in layer.columns if c != "geometry"]
    data = [layer[c].to_numpy() for c in columns]
    data = [d.astype(object) if d.dtype.kind not in "fib" else d for d in data]
    pyogrio.raw.write(
        str(path), np.array(lines, dtype=object), data, columns,
        geometry_type="Unknown", crs=layer.crs.to_wkt(), DBF_DATE_LAST_UPDATE="2026-11-30",
    )  # fmt: skip


def write_geojson(layer: gpd.GeoDataFrame, path: Path) -> None:
    """GeoJSON with one feature a line; nulls, booleans and mixed geometries stay what they are."""
    code = layer.crs.to_epsg()
    digits = 8 if layer.crs.is_geographic else 2
    features = []
    for row in layer.to_dict("records"):
        shape = row.pop("geometry")
        features.append(
            {
                "type": "Feature",
                "properties": {k: _plain(v) for k, v in row.items()},
                "geometry": None
                if shape is None
                else _rounded(shapely.geometry.mapping(shape), digits),
            }
        )
    lines = ",\n".join(json.dumps(f, ensure_ascii=False) for f in features)
    crs = {"type": "name", "properties": {"name": f"urn:ogc:def:crs:EPSG::{code}"}}
    head = "" if code == 4326 else f'"crs": {json.dumps(crs)},\n'
    start = f'{{"type": "FeatureCollection", "name": "{path.stem}",\n{head}"features": [\n'
    path.write_text(f"{start}{lines}\n]}}\n", encoding="utf-8")


def _plain(value: Any) -> Any:
    if value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value)):
        return None
    return value.item() if isinstance(value, np.generic) else value


def _rounded(mapping: Mapping[str, Any], digits: int) -> dict[str, Any]:
    def down(x: Any) -> Any:
        return round(x, digits) if isinstance(x, float) else [down(v) for v in x]

    return {"type": mapping["type"], "coordinates": down(mapping["coordinates"])}


def write_csv(rows: list[dict[str, Any]], path: Path) -> None:
    """A plain table."""
    pd.DataFrame(rows).to_csv(path, index=False, lineterminator="\n")


def write_table(rows: list[dict[str, Any]], path: Path, name: str) -> None:
    """A table without geometry in an existing GeoPackage."""
    pyogrio.set_gdal_config_options({"OGR_CURRENT_DATE": STAMP})
    pyogrio.write_dataframe(pd.DataFrame(rows), path, layer=name, append=True)


def write_dem(
    path: Path,
    surface: tuple[Grid, Array],
    origin: tuple[float, float],
    *,
    crs: str = HOME,
    cell: float,
    box: tuple[float, float, float, float],
    unit: float = 1.0,
    void: shapely.Geometry | None = None,
    nodata: float | None = -9999.0,
) -> None:
    """A height raster; ``box`` in town feet, ``cell`` and heights in the units of the file.

    Heights are rounded to 1/64 so that they compress; ``void`` is left without data.
    """
    grid, z = surface
    to = pyproj.Transformer.from_crs(HOME, crs, always_xy=True)
    back = pyproj.Transformer.from_crs(crs, HOME, always_xy=True)
    left, bottom, right, top = to.transform_bounds(
        box[0] + origin[0], box[1] + origin[1], box[2] + origin[0], box[3] + origin[1]
    )
    left, top = np.floor(left / cell) * cell, np.ceil(top / cell) * cell
    nx, ny = int((right - left) / cell), int((top - bottom) / cell)
    x, y = np.meshgrid(left + cell * (np.arange(nx) + 0.5), top - cell * (np.arange(ny) + 0.5))
    px, py = back.transform(x.ravel(), y.ravel())
    spots = np.column_stack([np.array(px) - origin[0], np.array(py) - origin[1]])
    heights = np.round(grid.at(z, spots) * unit * 64) / 64
    if void is not None:
        shapely.prepare(void)
        heights[shapely.contains_xy(void, spots)] = -9999.0 if nodata is None else nodata
    with rasterio.open(
        path, "w", driver="GTiff", width=nx, height=ny, count=1, dtype="float32", crs=crs,
        transform=from_origin(left, top, cell, cell), nodata=nodata,
        compress="deflate", predictor=3, zlevel=9, tiled=True, blockxsize=256, blockysize=256,
    ) as out:  # fmt: skip
        out.write(heights.reshape(ny, nx).astype("float32"), 1)
