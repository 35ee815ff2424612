"""A layer too large to be held: its attributes as a table, its geometries into a sink."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from pyproj import CRS

from wetgis.crs import Operation
from wetgis.errors import UsageError
from wetgis.issuelog import Issue
from wetgis.provenance import SourceRecord
from wetgis.sources import placing
from wetgis.sources.containers import Found
from wetgis.sources.decode import RawLayer, read_raw
from wetgis.sources.keys import LayerKeys
from wetgis.sources.parquet import stream_parquet
from wetgis.sources.reading import (
    Context,
    Loaded,
    checked_keys,
    load,
    prepared,
    raw_layers,
    together,
)
from wetgis.sources.spool import spool_layer
from wetgis.sources.wkb import Objects

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["LoadedTo", "Sink", "load_to"]


class Sink(Protocol):
    """Takes the geometries of a layer."""

    def append(self, geometries: Objects) -> None:
        """Take some more: valid and two-dimensional or None, in the order of the records."""


@dataclass(frozen=True)
class LoadedTo:
    """A layer whose geometries went into a sink; otherwise as `Loaded`.

    Attributes
    ----------
    table : DataFrame
        ``Loaded.frame`` without its geometries: the same rows, columns and ``attrs``.
    crs : CRS or None
        What the geometries are in.
    issues : tuple of Issue
        All of them.
    sources : tuple of SourceRecord
        One for each layer of each file.
    operations : tuple of Operation
        What moved the coordinates of each.
    """

    table: pd.DataFrame
    crs: CRS | None
    issues: tuple[Issue, ...]
    sources: tuple[SourceRecord, ...]
    operations: tuple[Operation, ...]


def load_to(
    source: Any,
    kind: str | None,
    keys: LayerKeys | Mapping[str, Any] | None,
    target_crs: CRS | None,
    sink: Sink,
    *,
    base: Path | None = None,
    near: placing.Near | None = None,
    chunk: int = 5_000,
) -> LoadedTo:
    """Read a layer as `load` does, without ever holding all of its geometries.

    Rows, columns, geometries (to the bit), issues, sources and operations are those of `load`.
    Where it raises, the sink may have taken some geometries.

    Some layers are read as a whole and handed over afterwards, which bounds no memory: a
    GeoDataFrame, GeoParquet that is not WKB, drawings (DXF), layers with curves, those that GDAL
    cannot read by its Arrow stream from beginning to end (a damaged file, text in another encoding
    than is stated, FlatGeobuf with records that have no geometry), and any with
    ``duplicates = "unite"``.

    What GDAL reads lies in a file in the system's folder for such meanwhile, as large as its WKB.

    Parameters
    ----------
    source, kind, keys, target_crs, base, near
        As for `load`.
    sink : Sink
        Takes the geometries.
    chunk : int
        How many records are read, moved and mended at once; fewer where they are large. Two
        threads work, so that a few times as many are in memory.
    """
    if chunk < 1:
        raise UsageError("chunk must be at least 1.")
    keys = checked_keys(kind, keys)
    if keys.duplicates == "unite":
        # records depend on each other's geometries
        loaded = load(source, kind, keys, target_crs, base=base, near=near)
        return _handed_over(loaded, sink, chunk)
    with tempfile.TemporaryDirectory(prefix="wetgis-") as folder:
        reader = _Reader(chunk, Path(folder))
        layers = raw_layers(source, kind, keys, base, reader)
        context = Context(kind, keys, base, near)
        pieces = prepared(layers, context, target_crs, sink.append, chunk)
        found = together(pieces, kind, keys)
    return LoadedTo(found.frame, found.crs, found.issues, found.sources, found.operations)


@dataclass(frozen=True)
class _Reader:
    """Reads the layers of files, their geometries left there where that is possible."""

    chunk: int
    folder: Path

    def __call__(self, found: Found, where: str | None) -> RawLayer:
        if found.dataset.is_parquet:
            raw = stream_parquet(found, where, self.chunk)
        else:
            raw = spool_layer(found, where, self.chunk, self.folder)
        return read_raw(found, where) if raw is None else raw


def _handed_over(loaded: Loaded, sink: Sink, chunk: int) -> LoadedTo:
    """A layer that was read as a whole."""
    import pandas as pd

    geoms = np.array(loaded.frame.geometry.array, dtype=object)
    for start in range(0, len(geoms), chunk):
        sink.append(geoms[start : start + chunk])
    table = pd.DataFrame(loaded.frame.drop(columns="geometry"))
    table.attrs = loaded.frame.attrs
    crs = loaded.frame.crs
    return LoadedTo(table, crs, loaded.issues, loaded.sources, loaded.operations)
