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
    rows: list[dict[str, Any]] = []
    geoms: list[Any] = []
    unreadable: dict[int, str] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with fiona.open(target, layer=found.layer) as source:
            crs, driver = _crs(source.crs_wkt), source.driver
            names = list(source.schema["properties"])
            stream = source.filter(where=where) if where else iter(source)
            while True:
                try:
                    record = next(stream)
                except StopIteration:
                    break
                except Exception as error:  # the fault of this record; the next may be sound
                    unreadable[len(rows)] = f"the record could not be read ({error})."
                    rows.append({})
                    geoms.append(None)
                    if len(unreadable) > 1000:
                        break
                    continue
                rows.append(dict(record.properties))
                geoms.append(_shape(record.geometry, len(rows) - 1, unreadable))
    table = pd.DataFrame(rows, columns=names, index=pd.RangeIndex(len(rows)))
    raw = RawLayer(table, np.full(len(rows), None, dtype=object), crs, driver, found.layer)
    for i, geom in enumerate(geoms):
        raw.geoms[i] = geom
    raw.unreadable = unreadable
    raw.notes.append(("unreadable_record", f"read record by record, because of: {cause}"))
    return raw


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
