"""The rows of a layer on disk: attributes as Arrow in batches, geometries beside them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from wetgis.geometryfile import GeometryFile, GeometryWriter

if TYPE_CHECKING:
    import geopandas as gpd
    import pandas as pd
    from numpy.typing import NDArray
    from pyproj import CRS

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

__all__ = ["StoredRows", "Unstorable", "store_frame", "store_table", "typed"]

#: Rows that are read together.
BATCH = 4096
#: Geometries that are handed over at once.
_CHUNK = 20_000


class Unstorable(Exception):
    """A table whose values would not come back from disk as they are."""


def store_frame(frame: gpd.GeoDataFrame, folder: Path) -> StoredRows:
    """Write a layer that is in memory to disk."""
    shutil.rmtree(folder, ignore_errors=True)
    writer = GeometryWriter(folder)
    geometries = frame.geometry.to_numpy()
    for start in range(0, len(geometries), _CHUNK):
        writer.append(geometries[start : start + _CHUNK])
    writer.close()
    names = tuple(str(c) for c in frame.columns)
    table = frame.drop(columns=frame.geometry.name)
    return store_table(table, frame.crs, folder, columns=names, geometry=str(frame.geometry.name))


def store_table(
    table: pd.DataFrame, crs: CRS, folder: Path, *, columns: tuple[str, ...], geometry: str
) -> StoredRows:
    """Write the attributes of a layer beside its geometries, and open both.

    Raises
    ------
    Unstorable
        Where a column holds what Arrow cannot keep exactly, as text and numbers mixed.
    """
    import pandas as pd
    import pyarrow as pa

    plain = pd.DataFrame(table).reset_index(drop=True)
    plain.attrs = {}
    try:
        made, like = pa.Table.from_pandas(plain, preserve_index=False), _like(plain)
        again = typed(made.to_pandas(), like)
        same = again.dtypes.equals(plain.dtypes) and again.equals(plain)
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise Unstorable(str(error)) from error
    if not same:
        raise Unstorable("its columns hold values of several kinds")
    path = folder / "rows.arrow"
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, made.schema) as writer:
        writer.write_table(made.combine_chunks(), max_chunksize=BATCH)
    return StoredRows(folder, crs, like, columns, geometry, len(plain))


def typed(table: pd.DataFrame, like: pd.DataFrame) -> pd.DataFrame:
    """A table with the types of another: a chunk without a gap would have narrower ones.

    A gap in a column of objects comes back as None; where it was NaN, ``like`` says so.
    """
    for name in like.columns:
        if table[name].dtype != like[name].dtype:
            table[name] = table[name].astype(like[name].dtype)
        if name in like.attrs.get("nan", ()):
            table[name] = table[name].where(table[name].notna(), np.nan)
    return table


def _like(table: pd.DataFrame) -> pd.DataFrame:
    """A table without its rows; its ``attrs`` name the columns of objects whose gaps are NaN."""
    out = table.iloc[:0].copy()
    out.attrs["nan"] = {
        name
        for name in table.columns
        if table[name].dtype == object
        and any(isinstance(v, float) for v in table[name][table[name].isna()])
    }
    return out


@dataclass(frozen=True, eq=False)
class StoredRows:
    """Rows on disk, by number.

    ``like``: the attributes without a row, with their types. ``columns``: the names of all in
    their order, that of the ``geometry`` among them.
    """

    folder: Path
    crs: CRS
    like: pd.DataFrame
    columns: tuple[str, ...]
    geometry: str
    count: int

    def __len__(self) -> int:
        return self.count

    @property
    def shapes(self) -> GeometryFile:
        """The geometries."""
        return GeometryFile(self.folder)

    @property
    def boxes(self) -> Floats:
        """The box of each row, NaN where it has no geometry."""
        return self.shapes.boxes

    def table(self, rows: Ints | None = None) -> pd.DataFrame:
        """The attributes of some rows, or of all, in a plain range."""
        import pyarrow as pa

        with pa.memory_map(str(self.folder / "rows.arrow")) as source:
            reader = pa.ipc.open_file(source)
            if rows is None:
                return typed(reader.read_all().to_pandas(), self.like)
            rows = np.asarray(rows, dtype=np.int64)
            order = np.argsort(rows, kind="stable")
            batches = [
                reader.get_batch(number).take(pa.array(inside))
                for number, inside in _by_batch(rows[order])
            ]
            found = pa.Table.from_batches(batches, reader.schema).to_pandas()
        back = np.empty(len(rows), np.int64)
        back[order] = np.arange(len(rows))
        return typed(found.iloc[back].reset_index(drop=True), self.like)

    def column(self, name: str) -> pd.Series:
        """One attribute of all rows."""
        import pyarrow as pa

        with pa.memory_map(str(self.folder / "rows.arrow")) as source:
            reader = pa.ipc.open_file(source)
            chosen = reader.read_all().select([name]).to_pandas()
        like = self.like[[name]]
        like.attrs["nan"] = self.like.attrs["nan"] & {name}
        return typed(chosen, like)[name]

    def take(self, rows: Ints | None = None) -> gpd.GeoDataFrame:
        """Some rows, or all, with their geometries, in a plain range."""
        import geopandas as gpd

        wanted = np.arange(self.count) if rows is None else rows
        shapes = gpd.GeoSeries(self.shapes.take(wanted), crs=self.crs)
        frame = gpd.GeoDataFrame(self.table(rows).assign(**{self.geometry: shapes}))
        return frame[list(self.columns)].set_geometry(self.geometry)

    def chunks(self, size: int = _CHUNK) -> Iterator[gpd.GeoDataFrame]:
        """All rows, some at a time."""
        for start in range(0, self.count, size):
            yield self.take(np.arange(start, min(start + size, self.count)))


def _by_batch(rows: Ints) -> Iterator[tuple[int, Ints]]:
    """The batches that sorted rows lie in, and their places in them."""
    batch = rows // BATCH
    for chosen in np.split(rows, np.flatnonzero(np.diff(batch)) + 1):
        if len(chosen):
            yield int(chosen[0] // BATCH), chosen % BATCH
