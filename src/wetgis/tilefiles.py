"""Finished tiles on disk in buckets of subjects, so that a table is read without the others.

The subjects of a run have an order in which its tables are stored; a bucket is a stretch of it. A
tile's rows stand in that order, one batch a bucket, so that a bucket is gathered from all tiles
by reading what is in it and nothing else.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import geopandas as gpd
import numpy as np
import pandas as pd

from wetgis.buffers import Audit
from wetgis.errors import OutputError
from wetgis.storedsubjects import KEYS
from wetgis.tiles import FLAGS

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pyproj import CRS

    from wetgis.scene import Subjects
    from wetgis.tiles import TileResult

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Geometries = NDArray[np.object_]

__all__ = ["BUCKET", "PLACE", "Done", "TileFiles", "read_batch", "write_batches"]

#: Subjects of a bucket.
BUCKET = 8192
#: The column that holds a row's subject by its place in the order of the tables.
PLACE = "_place"
_SHAPES = "__wkb"
_TABLES = ("numbers", "contacts", "parts")


@dataclass(frozen=True)
class Done:
    """What is known of a finished tile besides its tables."""

    audit: Audit
    rebuilt: tuple[str, ...]
    on_raster: dict[str, list[str]]


class TileFiles:
    """The tiles of one run.

    Parameters
    ----------
    root : Path
        Where they lie; see `wetgis.resume.Store`.
    places : array of int
        The place of each subject in the order of the tables.
    crs : CRS
        Of geometries in the tables.
    """

    def __init__(self, root: Path, places: Ints, crs: CRS) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self.root, self.places, self.crs = root, places, crs
        self.size = BUCKET
        self.buckets = max(1, -(-len(places) // self.size))

    def __contains__(self, tile: int) -> bool:
        return self._path(tile).is_dir()

    def _path(self, tile: int) -> Path:
        return self.root / f"tile-{tile:06d}"

    def save(self, tile: int, result: TileResult, own: Subjects, done: Done) -> Done:
        """Write a tile; it is there as a whole or not at all.

        Raises
        ------
        OutputError
            Where it cannot be written: that is no fault of the tile, and ends the run.
        """
        try:
            return self._saved(tile, result, own, done)
        except OSError as error:
            raise OutputError(
                f"a finished tile cannot be written: {error.strerror or error}.",
                needed="a folder that may be written to, with room",
                mend="make room; the same command with --resume goes on with what is done",
                where=str(self.root),
            ) from error

    def _saved(self, tile: int, result: TileResult, own: Subjects, done: Done) -> Done:
        final = self._path(tile)
        half = final.with_suffix(".half")
        shutil.rmtree(half, ignore_errors=True)
        half.mkdir()
        place = self.places[result.index]
        numbers = pd.DataFrame({"_index": result.index, **result.columns})
        for name in FLAGS:
            numbers[f"_{name}"] = result.flags[name]
        self._write(half, "numbers", numbers, place)
        keys = pd.MultiIndex.from_frame(own.table[KEYS])
        for name, table in (("contacts", result.contacts), ("parts", result.parts)):
            found = keys.get_indexer(pd.MultiIndex.from_frame(table[KEYS]))
            self._write(half, name, table, place[found])
        buffer = gpd.GeoDataFrame(geometry=gpd.GeoSeries(result.buffer, crs=self.crs))
        write_batches(buffer, np.array([0, len(buffer)]), half / "buffer.arrow")
        (half / "done.json").write_text(json.dumps(_plain(done)), "utf-8")
        os.replace(half, final)
        return done

    def _write(self, folder: Path, name: str, table: pd.DataFrame, place: Ints) -> None:
        order = np.argsort(place, kind="stable")
        ranked = place[order]
        ordered = table.iloc[order].assign(**{PLACE: ranked})
        starts = np.searchsorted(ranked, np.arange(self.buckets + 1) * self.size)
        write_batches(ordered, starts, folder / f"{name}.arrow")

    def done(self, tile: int) -> Done:
        """What was said of a finished tile."""
        about = json.loads((self._path(tile) / "done.json").read_text("utf-8"))
        audit = Audit(
            float.fromhex(about["inside"]), float.fromhex(about["outside"]), about["points"]
        )
        return Done(audit, tuple(about["rebuilt"]), about["on_raster"])

    def read(self, tiles: list[int], name: str, bucket: int) -> pd.DataFrame:
        """The rows of a table in a bucket, from all tiles, in the order of the subjects."""
        files = [self._path(tile) / f"{name}.arrow" for tile in tiles]
        found = read_batch(files, bucket, self.crs)
        return found.sort_values(PLACE, kind="stable").reset_index(drop=True)

    def buffer(self, tile: int) -> Geometries:
        """The pieces of the buffer of a tile."""
        found = read_batch([self._path(tile) / "buffer.arrow"], 0, self.crs)
        assert isinstance(found, gpd.GeoDataFrame)
        pieces: Geometries = found.geometry.to_numpy()
        return pieces


def _plain(done: Done) -> dict[str, Any]:
    return {
        "inside": done.audit.inside.hex(),
        "outside": done.audit.outside.hex(),
        "points": done.audit.points,
        "rebuilt": list(done.rebuilt),
        "on_raster": done.on_raster,
    }


def write_batches(table: pd.DataFrame, starts: Ints, path: Path) -> None:
    """Write a table as Arrow, a batch between each two starts."""
    import pyarrow as pa
    import shapely

    shapes = table["geometry"].to_numpy() if "geometry" in table else None
    attributes = pd.DataFrame(table.drop(columns="geometry", errors="ignore"))
    made = pa.Table.from_pandas(attributes.reset_index(drop=True), preserve_index=False)
    if shapes is not None:
        codes = pa.array(shapely.to_wkb(shapes), type=pa.large_binary())
        # a table of shapes alone has no other column to tell its length
        made = (
            made.append_column(_SHAPES, codes) if made.num_columns
            else pa.table({_SHAPES: codes})
        )  # fmt: skip
    made = made.combine_chunks()
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with (
        pa.OSFile(str(path), "wb") as sink,
        pa.ipc.new_file(sink, made.schema, options=options) as writer,
    ):
        for start, stop in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
            part = made.slice(start, stop - start).combine_chunks()
            batches = part.to_batches() or [pa.RecordBatch.from_pylist([], made.schema)]
            assert len(batches) == 1
            writer.write_batch(batches[0])


def read_batch(files: list[Path], number: int, crs: CRS) -> pd.DataFrame:
    """One batch of each of some files, one after the other."""
    import pyarrow as pa
    import shapely

    parts = list(_batches(files, number))
    filled = [p for p in parts if p.num_rows] or parts[:1]
    if not filled:
        return pd.DataFrame({PLACE: np.zeros(0, np.int64)})
    joined: Any = pa.concat_tables(filled, promote_options="permissive")
    if _SHAPES not in joined.column_names:
        return pd.DataFrame(joined.to_pandas())
    codes = joined.column(_SHAPES).to_numpy()
    table = joined.drop_columns([_SHAPES]).to_pandas()
    shapes = gpd.GeoSeries(shapely.from_wkb(codes), crs=crs)
    made: pd.DataFrame = gpd.GeoDataFrame(table, geometry=shapes)
    return made


def _batches(files: list[Path], number: int) -> Iterator[Any]:
    import pyarrow as pa

    for path in files:
        with pa.OSFile(str(path), "rb") as source:
            yield pa.Table.from_batches([pa.ipc.open_file(source).get_batch(number)])
