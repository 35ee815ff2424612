"""An index on disk beside a parcel file: its rows as the reader made them, found by id or place.

``parcels.shp.wetgis-index/`` holds a manifest, the rows (Arrow, opened without reading them), their
boxes, the digests of their ids in order, and an R-tree. It is there whole or not at all. What does
not fit the file, the keys, the coordinate system or the versions at hand is not used.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wetgis.errors import InputError, OutputError
from wetgis.issuelog import Issue
from wetgis.operations import Operation
from wetgis.pages import Tree, build_tree
from wetgis.provenance import INDEX_SUFFIX, SourceRecord, members, sha256, versions

if TYPE_CHECKING:
    import geopandas as gpd
    from numpy.typing import NDArray
    from pyproj import CRS

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

__all__ = ["Misfit", "ParcelIndex", "Request", "Summary", "folder_of", "open_index", "write_index"]

FORMAT = 1
MANIFEST = "manifest.json"
FILES = ("rows.arrow", "boxes.npy", "ids.npy", "tree.bin", "pages.npy")
#: What the rows may depend on besides the file and the keys.
_VERSIONS = ("wetgis", "pandas", "shapely.geos", "pyproj.proj", "pyogrio.gdal")
_SHAPES = "__wkb"
_NAN: Any = float("nan")


class Misfit(Exception):
    """Why an index cannot be used; it is made again."""


@dataclass(frozen=True)
class Request:
    """What an index is wanted for.

    Attributes
    ----------
    file : Path
        The parcel file.
    name : str
        The same as the user wrote it.
    keys : dict
        How it is to be read.
    crs : CRS or None
        What it is to be read into; None where that follows from the data.
    """

    file: Path
    name: str
    keys: dict[str, Any]
    crs: CRS | None


@dataclass(frozen=True)
class Summary:
    """What is known of a layer as a whole."""

    features: int
    accuracy_ft: float
    basis: str
    source: str
    source_date: str


@dataclass(frozen=True)
class Told:
    """What reading the layer had to say."""

    sources: tuple[SourceRecord, ...]
    operations: tuple[Operation, ...]
    issues: tuple[Issue, ...]


def folder_of(file: Path) -> Path:
    """Where the index of a file lies."""
    return file.parent / f"{file.name}{INDEX_SUFFIX}"


# ------------------------------------------------------------------------------ writing


def write_index(
    request: Request, frame: gpd.GeoDataFrame, told: Told, summary: Summary
) -> ParcelIndex:
    """Write the index of a layer that was read, and open it.

    Parameters
    ----------
    request : Request
        How it was read. Without a CRS the index also stands for the one that the data suggest.
    frame : GeoDataFrame
        All rows, in the working CRS.
    told, summary
        What was said about it, and what is known of all of it.

    Raises
    ------
    InputError
        Where the rows cannot be kept exactly, or the file has changed since it was read.
    OutputError
        Where nothing can be written beside the file.
    """
    home = folder_of(request.file)
    try:
        folder = Path(tempfile.mkdtemp(prefix=".unfinished-", dir=home.parent))
        try:
            parts = _write_parts(folder, frame, request.name)
            manifest = _manifest(request, frame, told, summary) | parts
            text = json.dumps(manifest, indent=1, ensure_ascii=False)
            (folder / MANIFEST).write_text(text + "\n", "utf-8")
            os.chmod(folder, 0o755)
            _swap(folder, home)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    except OSError as error:
        raise OutputError(
            f"no index can be written: {error.strerror or error}.",
            needed="a folder that may be written to, with room",
            where=str(home),
        ) from error
    return open_index(request)


def _swap(folder: Path, home: Path) -> None:
    """Put a finished folder where the old one was."""
    if home.exists():
        old = Path(tempfile.mkdtemp(prefix=".unfinished-", dir=home.parent))
        os.replace(home, old / "old")
        shutil.rmtree(old, ignore_errors=True)
    os.replace(folder, home)


def _write_parts(folder: Path, frame: gpd.GeoDataFrame, name: str) -> dict[str, Any]:
    import shapely

    boxes = shapely.bounds(frame.geometry.to_numpy())
    _write_rows(folder / "rows.arrow", frame, name)
    np.save(folder / "boxes.npy", boxes)
    digests = np.array([_digest(i) for i in frame["id"]], dtype=np.uint64)
    order = np.argsort(digests, kind="stable")
    np.save(folder / "ids.npy", np.stack([digests[order], order.astype(np.uint64)]))
    inside = build_tree(boxes, folder / "tree.bin", folder / "pages.npy")
    low, high = np.nanmin(boxes[:, :2], axis=0), np.nanmax(boxes[:, 2:], axis=0)
    return {
        "count": len(frame),
        "count_in_tree": inside,
        "bounds": [float(v) for v in (*low, *high)],
        "parts": {n: _stamp(folder / n) for n in FILES},
    }


def _digest(name: Any) -> int:
    return int.from_bytes(hashlib.blake2b(str(name).encode(), digest_size=8).digest(), "big")


def _write_rows(path: Path, frame: gpd.GeoDataFrame, name: str) -> None:
    """The rows as Arrow in one batch; refused where they would not come back the same."""
    import pandas as pd
    import pyarrow as pa
    import shapely

    attributes = pd.DataFrame(frame.drop(columns=frame.geometry.name))
    attributes.attrs = {}
    try:
        table = pa.Table.from_pandas(attributes, preserve_index=False)
        again = table.to_pandas()
        same = again.dtypes.equals(attributes.dtypes) and again.equals(attributes)
    except (pa.ArrowException, ValueError, TypeError):
        same = False
    if not same:
        raise InputError(
            "its columns hold values that an index cannot keep exactly.",
            needed="texts, numbers and dates",
            where=name,
        )
    shapes = pa.array(shapely.to_wkb(frame.geometry.to_numpy()), type=pa.large_binary())
    table = table.append_column(_SHAPES, shapes).combine_chunks()
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


def _manifest(
    request: Request, frame: gpd.GeoDataFrame, told: Told, summary: Summary
) -> dict[str, Any]:
    files = {n: _stamp(p) for n, p in _members(request.file).items()}
    digest = told.sources[0].sha256
    if digest and sha256(request.file) != digest:
        raise InputError("the file has changed while it was read.", where=request.name)
    unfit = any(issue.code == "unfit_crs" for issue in told.issues)
    return {
        "format": FORMAT,
        "versions": _versions(),
        "files": files,
        "sha256": digest,
        "keys": request.keys,
        "crs": frame.crs.srs,
        "geometry": frame.geometry.name,
        # what was read without a CRS that was asked for may have been told so
        "for_suggested": request.crs is None,
        "for_stated": request.crs is not None or not unfit,
        "summary": _blank(asdict(summary)),
        "sources": [_unnamed(asdict(s), "path", request.name) for s in told.sources],
        "operations": [asdict(o) for o in told.operations],
        "issues": [_unnamed(_blank(asdict(i)), "file", request.name) for i in told.issues],
    }


def _versions() -> dict[str, str]:
    known = versions()
    return {name: known.get(name, "") for name in _VERSIONS}


def _members(file: Path) -> dict[str, Path]:
    root = file if file.is_dir() else file.parent
    return {p.relative_to(root).as_posix(): p for p in members(file)}


def _stamp(path: Path) -> dict[str, Any]:
    about = path.stat()
    return {"size": about.st_size, "mtime_ns": about.st_mtime_ns, "sha256": sha256(path)}


def _blank(row: dict[str, Any]) -> dict[str, Any]:
    """NaN has no place in JSON."""
    return {k: (None if isinstance(v, float) and v != v else v) for k, v in row.items()}


def _unnamed(row: dict[str, Any], field: str, name: str) -> dict[str, Any]:
    """A path without the part that the user wrote, which may be another one next time."""
    own = str(row[field]).startswith(name)
    return {**row, field: row[field][len(name) :] if own else row[field], "own": own}


def _named(row: dict[str, Any], field: str, name: str) -> dict[str, Any]:
    row = dict(row)
    return row | {field: name + row[field]} if row.pop("own") else row


# ------------------------------------------------------------------------------ opening


def open_index(request: Request) -> ParcelIndex:
    """Open the index beside a file; nothing but the manifest is read.

    Raises
    ------
    Misfit
        Where it is not of this file, of these keys and this CRS, or damaged.
    """
    from wetgis.crs import as_crs, same_crs

    folder = folder_of(request.file)
    try:
        manifest = json.loads((folder / MANIFEST).read_text("utf-8"))
        _require_own(manifest, request)
        _require_unchanged(manifest["files"], _members(request.file), "the file")
        _require_unchanged(manifest["parts"], {n: folder / n for n in FILES}, "the index")
        crs = as_crs(manifest["crs"])
        if request.crs is None:
            fits = bool(manifest["for_suggested"])
        else:
            fits = bool(manifest["for_stated"]) and same_crs(crs, request.crs)
        if not fits:
            raise Misfit("it is in another coordinate system")
        index = ParcelIndex(request, manifest, folder, request.crs or crs)
        index.check()
    except Misfit:
        raise
    except Exception as error:  # whatever is in the folder, it is not what was written
        raise Misfit(f"it cannot be read ({type(error).__name__})") from error
    return index


def _require_own(manifest: dict[str, Any], request: Request) -> None:
    if manifest["format"] != FORMAT or manifest["versions"] != _versions():
        raise Misfit("it was made by another version")
    if manifest["keys"] != request.keys:
        differ = [k for k in request.keys if manifest["keys"].get(k) != request.keys[k]]
        raise Misfit(f"it was made with other keys ({', '.join(differ) or 'fewer'})")


def _require_unchanged(stamps: dict[str, Any], files: dict[str, Path], what: str) -> None:
    """The same size and time is the same file; where the time differs its digest decides."""
    if set(stamps) != set(files):
        raise Misfit(f"{what} has other parts")
    for name, path in files.items():
        stamp, about = stamps[name], path.stat()
        if about.st_size != stamp["size"]:
            raise Misfit(f"{what} has changed ({name})")
        if about.st_mtime_ns != stamp["mtime_ns"] and sha256(path) != stamp["sha256"]:
            raise Misfit(f"{what} has changed ({name})")


@dataclass(frozen=True, eq=False)
class ParcelIndex:
    """An open index. Rows are numbered as in the layer."""

    request: Request
    manifest: dict[str, Any]
    folder: Path
    crs: CRS

    def __len__(self) -> int:
        return int(self.manifest["count"])

    def __reduce__(self) -> Any:
        # an R-tree cannot be pickled (it would come out empty): the index is opened again
        return _reopened, (self.request, self.crs)

    def in_crs(self, crs: CRS) -> ParcelIndex:
        """The same under another name of the same CRS."""
        return replace(self, crs=crs)

    def check(self) -> None:
        """Raise a Misfit where the parts do not belong together."""
        count, inside = len(self), int(self.manifest["count_in_tree"])
        held = (self._batch.num_rows, len(self.boxes), self._ids.shape[1])
        if held != (count, count, count) or self._tree.count != inside:
            raise Misfit("its numbers of parcels do not agree")

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """The box of all parcels."""
        a, b, c, d = self.manifest["bounds"]
        return a, b, c, d

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return sum(p.stat().st_size for p in self.folder.iterdir())

    @cached_property
    def boxes(self) -> Floats:
        """The box of each row, NaN where it has no geometry."""
        found: Floats = np.load(self.folder / "boxes.npy", mmap_mode="r")
        return found

    @cached_property
    def _ids(self) -> NDArray[np.uint64]:
        found: NDArray[np.uint64] = np.load(self.folder / "ids.npy", mmap_mode="r")
        return found

    @cached_property
    def _tree(self) -> Tree:
        return Tree(self.folder / "tree.bin", self.folder / "pages.npy")

    @cached_property
    def _batch(self) -> Any:
        import pyarrow as pa

        reader = pa.ipc.open_file(pa.memory_map(str(self.folder / "rows.arrow")))
        return reader.get_batch(0)

    @cached_property
    def summary(self) -> Summary:
        """What is known of all parcels."""
        stored = self.manifest["summary"]
        accuracy = stored["accuracy_ft"]
        return Summary(**{**stored, "accuracy_ft": float("nan") if accuracy is None else accuracy})

    @cached_property
    def told(self) -> Told:
        """What the reader said, with the name that the file has now."""
        name = self.request.name
        sources = [_named(s, "path", name) for s in self.manifest["sources"]]
        for source in sources:
            source["bounds"] = tuple(source["bounds"]) if source["bounds"] else None
        operations = [
            Operation(**{**o, "missing_grids": tuple(o["missing_grids"])})
            for o in self.manifest["operations"]
        ]
        rows = [_named(i, "file", name) for i in self.manifest["issues"]]
        issues = [Issue(**{k: _NAN if v is None else v for k, v in row.items()}) for row in rows]
        return Told(tuple(SourceRecord(**s) for s in sources), tuple(operations), tuple(issues))

    def rows_of(self, ids: Iterable[str]) -> Ints:
        """The rows of some ids, in order; an id that is not there has none."""
        names = sorted(set(map(str, ids)))
        digests, rows = self._ids
        found: list[int] = []
        for name in names:
            digest = np.uint64(_digest(name))
            first, last = (int(np.searchsorted(digests, digest, side=s)) for s in ("left", "right"))
            found += [int(r) for r in rows[first:last] if str(self._id(int(r))) == name]
        return np.array(sorted(found), dtype=np.int64)

    def _id(self, row: int) -> Any:
        return self._batch.column("id")[row].as_py()

    def ids(self, rows: Sequence[int] | Ints | None = None) -> list[str]:
        """The ids of some rows, or of all."""
        column = self._batch.column("id")
        return [str(i) for i in (column if rows is None else column.take(_taken(rows))).to_pylist()]

    def rows_near(self, boxes: Floats) -> Ints:
        """The rows whose boxes meet one of some boxes, in order; NaN boxes meet nothing."""
        return self._tree.query(boxes)

    def take(self, rows: Sequence[int] | Ints | None = None) -> gpd.GeoDataFrame:
        """Some rows, or all, as the reader made them, in a plain range."""
        import geopandas as gpd
        import shapely

        batch = self._batch if rows is None else self._batch.take(_taken(rows))
        shapes = batch.column(_SHAPES).to_numpy(zero_copy_only=False)
        kept = batch.select([n for n in batch.schema.names if n != _SHAPES])
        frame = gpd.GeoDataFrame(
            kept.to_pandas(),
            geometry=gpd.GeoSeries(shapely.from_wkb(shapes), crs=self.crs),
        )
        frame.attrs = {}
        return frame


def _taken(rows: Sequence[int] | Ints) -> Any:
    import pyarrow as pa

    return pa.array(np.asarray(rows, dtype=np.int64))


def _reopened(request: Request, crs: CRS) -> ParcelIndex:
    return open_index(request).in_crs(crs)
