"""Record by record, by fiona, where a file cannot be read in bulk."""

from __future__ import annotations

import warnings
from typing import Any

import fiona
import numpy as np
import pandas as pd
import shapely
import shapely.geometry
from pyproj import CRS

from wetgis.crs import as_crs, canonical, is_unknown
from wetgis.errors import CrsError
from wetgis.sources.containers import Found
from wetgis.sources.decode import RawLayer

__all__ = ["read_stream"]


def read_stream(target: str, found: Found, where: str | None, cause: str) -> RawLayer:
    """Read a layer one record at a time; a record that fails keeps its row.

    Parameters
    ----------
    target : str
        What GDAL opens.
    found : Found
        The layer.
    where : str or None
        An OGR SQL condition.
    cause : str
        Why it was not read in bulk, for the notes.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with fiona.open(target, layer=found.layer) as source:
            rows, geoms, unreadable = _records(source, where)
            names = list(source.schema["properties"])
            table = pd.DataFrame(rows, columns=names, index=pd.RangeIndex(len(rows)))
            raw = RawLayer(table, geoms, _crs(source.crs_wkt), source.driver, found.layer)
            raw.lost = 0 if where else max(0, _counted(source) - len(rows))
    raw.unreadable = unreadable
    raw.notes.append(("unreadable_record", f"read record by record, because of: {cause}"))
    return raw


def _counted(source: Any) -> int:
    """How many records the file says it has; 0 where it does not say."""
    try:
        return max(0, len(source))
    except (TypeError, fiona.errors.FionaError):
        return 0


def _records(
    source: Any, where: str | None
) -> tuple[list[dict[str, Any]], np.ndarray[Any, np.dtype[np.object_]], dict[int, str]]:
    """All records of a layer, one after the other, and what was wrong with which."""
    rows: list[dict[str, Any]] = []
    geoms: list[Any] = []
    unreadable: dict[int, str] = {}
    stream = source.filter(where=where) if where else iter(source)
    # a stream that fails again and again has no more to give
    while len(unreadable) <= 1000:
        try:
            record = next(stream)
        except StopIteration:
            break
        except Exception as error:  # the fault of this record; the next may be sound
            unreadable[len(rows)] = f"the record could not be read ({error})."
            rows.append({})
            geoms.append(None)
            continue
        rows.append(dict(record.properties))
        geoms.append(_shape(record.geometry, len(rows) - 1, unreadable))
    out = np.full(len(geoms), None, dtype=object)
    for i, geom in enumerate(geoms):
        out[i] = geom
    return rows, out, unreadable


def _crs(wkt: str) -> CRS | None:
    try:
        crs = as_crs(wkt) if wkt else None
    except CrsError:
        return None
    return None if crs is None or is_unknown(crs) else canonical(crs)


def _shape(geometry: Any, row: int, unreadable: dict[int, str]) -> Any:
    if geometry is None:
        return None
    try:
        return shapely.geometry.shape(geometry)
    except (ValueError, TypeError, shapely.errors.ShapelyError) as error:
        unreadable[row] = f"the geometry could not be decoded ({error})."
        return None
