"""From the tables of a site to its layers: paths, several sources of a kind, ids, extents.

A *given* is one source of a kind as the user wrote it; a *piece* is that source read into the
working CRS; a *site layer* is all pieces of a kind as one frame.
"""

from __future__ import annotations

import datetime
import glob
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wetgis.errors import InputError, SiteError
from wetgis.heldlayers import IndexedLayer, SiteLayer
from wetgis.issuelog import Issue, IssueLog
from wetgis.parcelindex import Misfit, ParcelIndex, Request, folder_of, open_index
from wetgis.schema import SUBJECT_LAYERS
from wetgis.siteconfig import VECTOR_KEYS, RasterKeys, is_raster, layer_keys, unknown_key
from wetgis.sources.keys import LayerKeys

if TYPE_CHECKING:
    import geopandas as gpd
    from shapely.geometry.base import BaseGeometry

    from wetgis.crs import Operation
    from wetgis.provenance import SourceRecord
    from wetgis.sources.reading import Loaded

__all__ = [
    "Given",
    "Layer",
    "Piece",
    "RasterLayer",
    "SiteLayer",
    "givens",
    "join",
    "read",
    "read_raster",
]

_GLOB = set("*?[")
#: What to do with a repeated id, from the mildest to the strictest.
_RULES = ("keep", "unite", "error")


class Layer:
    """A layer with its keys, for a site that is made in Python.

    Parameters
    ----------
    source : GeoDataFrame, path or list of paths
        A frame is copied, never changed. A path may be a glob; several paths are one layer.
    **keys
        The keys of a layer in ``site.toml``, except ``path``.

    Raises
    ------
    SiteError
        On a key that is not known; the nearest known one is named.

    Examples
    --------
    >>> Layer("field.gpkg", id="FLAG_ID", accuracy_ft=3).keys["accuracy_ft"]
    3
    """

    __slots__ = ("keys", "source")

    def __init__(self, source: Any, **keys: Any) -> None:
        valid = [k for k in (*VECTOR_KEYS, "z_unit") if k != "path"]
        for key in keys:
            if key not in valid:
                raise unknown_key(key, valid, place="", where="wetgis.Layer")
        self.source = source
        self.keys = keys

    def __repr__(self) -> str:
        shown = "frame" if hasattr(self.source, "columns") else repr(self.source)
        return f"Layer({', '.join([shown, *(f'{k}={v!r}' for k, v in self.keys.items())])})"


@dataclass(frozen=True, eq=False)
class RasterLayer:
    """The files of one raster kind, and the vertical unit where it was stated."""

    kind: str
    paths: tuple[Path, ...]
    z_unit: str | None = None
    sources: tuple[SourceRecord, ...] = ()
    issues: tuple[Issue, ...] = ()


@dataclass(frozen=True, eq=False)
class Given:
    """One source of a kind as it was written: ``names`` are paths as given, ``frame`` in memory."""

    kind: str
    keys: LayerKeys | RasterKeys
    names: tuple[str, ...] = ()
    frame: gpd.GeoDataFrame | None = None
    base: Path | None = None
    where: str = ""

    def as_json(self) -> dict[str, Any]:
        """The keys as given, as plain JSON; a table in memory has no path."""
        shown = self.keys.model_dump(mode="json", exclude_unset=True, exclude={"path"})
        path: Any = "(frame)" if self.frame is not None else list(self.names)
        return {"path": path[0] if len(path) == 1 else path, **shown}

    def files(self) -> list[tuple[str, Path]]:
        """Each file as given and as to be opened; globs are resolved, in order of their names."""
        return [pair for name in self.names for pair in _resolve(name, self)]


@dataclass(frozen=True, eq=False)
class Piece:
    """One source, read. ``polygons`` is the stated extent where that is a layer of its own.

    Where the rows stay on an ``index``, ``frame`` holds the box of all of them and nothing else.
    ``misfit`` says why an index that is there was not used.
    """

    keys: LayerKeys
    frame: gpd.GeoDataFrame
    sources: tuple[SourceRecord, ...] = ()
    operations: tuple[Operation, ...] = ()
    issues: tuple[Issue, ...] = ()
    polygons: BaseGeometry | None = None
    index: ParcelIndex | None = None
    misfit: str = ""

    def in_crs(self, crs: Any) -> Piece:
        """The same under another name of the same CRS."""
        frame = self.frame.set_crs(crs, allow_override=True)
        return replace(self, frame=frame, index=self.index and self.index.in_crs(crs))

    @property
    def about(self) -> str:
        """The files, for issues."""
        return ", ".join(dict.fromkeys(source.path for source in self.sources))


def givens(kind: str, value: Any, *, base: Path | None, where: str) -> tuple[Given, ...]:
    """Every source of a kind: a frame, a path, a `Layer`, a table of keys, or a list of them."""
    place = f"layers.{kind}"
    if isinstance(value, list | tuple):
        if not value:
            raise SiteError(f"'{place}' is an empty list.", needed="a source", where=where)
        several = len(value) > 1
        return tuple(
            _given(kind, one, base, where, f"{place}[{i}]" if several else place)
            for i, one in enumerate(value)
        )
    return (_given(kind, value, base, where, place),)


def _given(kind: str, value: Any, base: Path | None, where: str, place: str) -> Given:
    source, keys = value, {}
    if isinstance(value, Layer):
        source, keys = value.source, value.keys
    elif isinstance(value, Mapping):
        keys = {k: v for k, v in value.items() if k != "path"}
        source = value.get("path")
        if source is None:
            raise SiteError(f"'{place}' has no path.", needed=f"{place}.path", where=where)
    checked_keys = layer_keys(kind, keys, place=place, where=where)
    if hasattr(source, "columns"):
        if is_raster(kind):
            raise SiteError(f"'{place}' is a table.", needed="the path of a raster", where=where)
        return Given(kind, checked_keys, frame=source, where=where)
    names = source if isinstance(source, list | tuple) else [source]
    if not names or not all(isinstance(n, str | os.PathLike) and str(n) for n in names):
        raise SiteError(
            f"'{place}' is {type(source).__name__}, neither a path nor a frame.",
            needed="a GeoDataFrame, a path, a wetgis.Layer or a list of them",
            where=where,
        )
    return Given(kind, checked_keys, names=tuple(str(n) for n in names), base=base, where=where)


def _resolve(name: str, given: Given) -> list[tuple[str, Path]]:
    path = Path(name).expanduser()
    inside = given.base is not None and not path.is_absolute()
    full = given.base / path if given.base is not None and inside else path
    if full.exists():
        return [(name, full)]
    hits = sorted(glob.glob(str(full), recursive=True)) if _GLOB & set(name) else []
    if not hits:
        raise InputError(
            f"there is no file '{name}' (layers.{given.kind}.path).",
            needed="a file, or a glob that fits at least one",
            where=given.where,
        )
    shown = [os.path.relpath(hit, given.base) if inside else hit for hit in hits]
    return [(Path(name).as_posix(), Path(hit)) for name, hit in zip(shown, hits, strict=True)]


def read(given: Given, target_crs: Any) -> Piece:
    """Read a source into the target CRS (None: as it is). A frame is copied by the reader.

    Repeated ids are looked at later, among the features that are in force. Parcels that have an
    index beside them are left on it where it fits.
    """
    keys = given.keys
    assert isinstance(keys, LayerKeys)
    misfit = ""
    try:
        if (request := index_request(given, target_crs)) and folder_of(request.file).exists():
            return _on_index(open_index(request), keys)
    except Misfit as reason:
        misfit = str(reason)
    try:
        loaded = _load(given, keys, target_crs)
        polygons, extra = _stated_extent(given, keys, target_crs)
    except InputError as error:
        # which layer of which site: the reader knows only the file
        place = [t for t in (given.where, f"layers.{given.kind}", error.where) if t]
        raise type(error)(
            error.found, needed=error.needed, mend=error.mend, where=": ".join(place)
        ) from error
    issues = [replace(i, layer=given.kind) for i in loaded.issues if i.code != "duplicate_id"]
    return Piece(
        keys=keys,
        frame=loaded.frame,
        sources=loaded.sources,
        operations=loaded.operations,
        issues=(*issues, *extra),
        polygons=polygons,
        misfit=misfit,
    )


def index_request(given: Given, crs: Any) -> Request | None:
    """What an index of this source would be asked for; None where it can have none.

    An index is of one parcel file (or geodatabase) that is named in full.
    """
    keys = given.keys
    if given.kind != "parcels" or len(given.names) != 1 or not isinstance(keys, LayerKeys):
        return None
    name = given.names[0]
    file = Path(name).expanduser()
    file = file if given.base is None or file.is_absolute() else given.base / file
    geodatabase = file.is_dir() and file.suffix.lower() == ".gdb"
    if not (file.is_file() or geodatabase) or keys.extent not in (None, "features"):
        return None
    if keys.duplicates != "keep":
        return None
    shown = keys.model_dump(mode="json", exclude={"path", "duplicates", "extent"})
    return Request(file, name, shown, crs)


def _on_index(index: ParcelIndex, keys: LayerKeys) -> Piece:
    import geopandas as gpd
    import shapely

    told = index.told
    box = gpd.GeoDataFrame(geometry=[shapely.box(*index.bounds)], crs=index.crs)
    return Piece(keys, box, told.sources, told.operations, told.issues, index=index)


def _load(given: Given, keys: LayerKeys, crs: Any) -> Loaded:
    from wetgis.sources import load

    source = given.frame if given.frame is not None else list(given.names)
    kept = keys.model_copy(update={"duplicates": "keep"})
    loaded: Loaded = load(source, given.kind, kept, crs, base=given.base)
    return loaded


def read_raster(several: Sequence[Given]) -> RasterLayer:
    """The files of a raster kind: only their headers are read, and their digests taken.

    Raises
    ------
    InputError
        Where a file is not there, or no raster.
    SiteError
        Where the sources of one kind state different vertical units.
    """
    kind = several[0].kind
    files = [pair for given in several for pair in given.files()]
    units = {getattr(given.keys, "z_unit", None) for given in several}
    if len(units) > 1:
        raise SiteError(
            f"the sources of layers.{kind} state different vertical units.",
            needed="one z_unit for all of them",
            where=several[0].where,
        )
    return RasterLayer(
        kind,
        tuple(path for _, path in files),
        z_unit=units.pop(),
        sources=tuple(_raster_record(name, path) for name, path in files),
    )


def _raster_record(name: str, path: Path) -> SourceRecord:
    from wetgis.crs import as_crs, label
    from wetgis.provenance import SourceRecord, sha256
    from wetgis.rasters.files import open_tile

    with open_tile(str(path)) as data:
        crs = label(as_crs(data.crs.to_wkt(), where=name)) if data.crs else ""
        left, bottom, right, top = data.bounds
        # a raster with its south up has its bottom above its top
        box = (min(left, right), min(bottom, top), max(left, right), max(bottom, top))
        return SourceRecord(path=name, sha256=sha256(path), driver=data.driver, bounds=box, crs=crs)


def _stated_extent(
    given: Given, keys: LayerKeys, crs: Any
) -> tuple[BaseGeometry | None, tuple[Issue, ...]]:
    """The polygons of an extent that is a layer of its own, in the target CRS."""
    from wetgis.sources import load

    extent = keys.extent
    if extent is None or extent in ("municipality", "features"):
        return None, ()
    loaded = load(extent, "municipality", LayerKeys(), crs, base=given.base)
    polygons = polygons_of(loaded.frame, f"the extent of layers.{given.kind}", given.where)
    wrong = [i for i in loaded.issues if i.severity != "note" or i.code == "repaired"]
    return polygons, tuple(replace(i, layer=f"{given.kind} (extent)") for i in wrong)


def polygons_of(frame: gpd.GeoDataFrame, what: str, where: str) -> BaseGeometry:
    """The union of a frame's polygons; an InputError where it has none."""
    import shapely

    geoms = frame.geometry.array
    area = shapely.area(geoms) > 0  # None gives NaN, which is not above 0
    if not area.any():
        raise InputError(f"{what} has no polygons.", needed="at least one polygon", where=where)
    return shapely.union_all(geoms[area])


def join(
    kind: str,
    pieces: Sequence[Piece],
    *,
    as_of: datetime.date,
    municipality: BaseGeometry | None,
    where: str = "",
) -> SiteLayer:
    """All pieces of a kind as one layer, as it is in force on a day."""
    from wetgis.sources import number_records

    index = pieces[0].index
    if index is not None:  # what follows was done when it was made
        extent = _extent(kind, pieces, municipality, where)
        return IndexedLayer(index, extent, tuple(pieces[0].keys.keep))
    log = IssueLog([issue for piece in pieces for issue in piece.issues])
    frames = [
        _duplicates(_in_force(piece, kind, as_of, log), kind, [piece], log) for piece in pieces
    ]
    frame = _concat(frames)
    if len(pieces) > 1 and _shared_ids(frames):
        frame = _duplicates(frame, kind, pieces, log)
    if kind in SUBJECT_LAYERS:
        frame["record"] = number_records(frame)
    return SiteLayer(
        kind=kind,
        frame=frame,
        extent=_extent(kind, pieces, municipality, where),
        sources=tuple(source for p in pieces for source in p.sources),
        operations=tuple(operation for p in pieces for operation in p.operations),
        issues=tuple(log.rows),
        keep=tuple(dict.fromkeys(k for p in pieces for k in p.keys.keep)),
    )


def _concat(frames: list[gpd.GeoDataFrame]) -> gpd.GeoDataFrame:
    """One frame of several; an empty one adds its columns only where all are empty."""
    import pandas as pd

    filled = [f for f in frames if len(f)] or frames[:1]
    frame = filled[0].copy() if len(filled) == 1 else None
    if frame is None:
        bare = [f.copy() for f in filled]
        for one in bare:
            one.attrs = {}
        frame = pd.concat(bare, ignore_index=True)
    frame = frame.reset_index(drop=True)
    frame.attrs = {}
    return frame


def _in_force(piece: Piece, kind: str, as_of: datetime.date, log: IssueLog) -> gpd.GeoDataFrame:
    """The features of a piece that are in force on a day; both ends count.

    The reader has made the columns dates; one that is not stated bounds nothing.
    """
    import numpy as np

    frame = piece.frame
    inside = np.ones(len(frame), dtype=bool)
    for column, sign in (("effective_from", 1), ("effective_to", -1)):
        if column not in frame.columns:
            continue
        days = frame[column].to_numpy().astype("datetime64[D]")
        after = (days - np.datetime64(as_of, "D")).astype("int64") * sign > 0
        inside &= ~(after & ~np.isnat(days))
    if inside.all():
        return frame
    out = int((~inside).sum())
    text = f"{out} of {len(frame)} features are not in force on {as_of.isoformat()}."
    log.add("note", "not_in_force", text, layer=kind, file=piece.about, effect="they are left out")
    return frame[inside].reset_index(drop=True)


def _duplicates(
    frame: gpd.GeoDataFrame, kind: str, pieces: Sequence[Piece], log: IssueLog
) -> gpd.GeoDataFrame:
    """Repeated ids, by the strictest rule of the sources that they come from."""
    from wetgis.sources.checks import duplicates

    keys = max((p.keys for p in pieces), key=lambda k: _RULES.index(k.duplicates))
    files = ", ".join(dict.fromkeys(p.about for p in pieces))
    return duplicates(frame, kind, keys, log, {"layer": kind, "file": files})


def _shared_ids(frames: Sequence[gpd.GeoDataFrame]) -> bool:
    """Whether an id stands in more than one source."""
    import pandas as pd

    ids = [frame["id"].drop_duplicates() for frame in frames if len(frame)]
    return bool(ids) and bool(pd.concat(ids).duplicated().any())


def _extent(
    kind: str, pieces: Sequence[Piece], municipality: BaseGeometry | None, where: str
) -> BaseGeometry | None:
    """Where a layer is complete: the extents of its sources united; None if none is stated.

    ``features`` is the bounding box of the source's features: a map that was drawn for a sheet is
    complete on that sheet, also between its features.
    """
    import shapely

    found: list[BaseGeometry] = []
    for piece in pieces:
        if piece.polygons is not None:
            found.append(piece.polygons)
        elif piece.keys.extent == "municipality":
            if municipality is None:
                raise SiteError(
                    f'layers.{kind}.extent = "municipality", but no such layer is given.',
                    needed="a layer of the kind municipality",
                    where=where,
                )
            found.append(municipality)
        elif piece.keys.extent == "features" and len(piece.frame):
            bounds = piece.frame.total_bounds
            if bounds[0] <= bounds[2]:
                found.append(shapely.box(*bounds))
    return shapely.union_all(found) if found else None
