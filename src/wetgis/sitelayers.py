"""From the tables of a site to its layers: paths, several sources of a kind, ids, extents.

A *given* is one source of a kind as the user wrote it; a *piece* is that source read into the
working CRS; a *site layer* is all pieces of a kind as one frame.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wetgis.errors import InputError, SiteError
from wetgis.heldlayers import SiteLayer
from wetgis.issuelog import Issue
from wetgis.parcelindex import Misfit, ParcelIndex, Request, folder_of, open_index
from wetgis.siteconfig import VECTOR_KEYS, RasterKeys, is_raster, layer_keys, unknown_key
from wetgis.sources.keys import LayerKeys
from wetgis.spilled import Spilled, spill

if TYPE_CHECKING:
    import geopandas as gpd
    from shapely.geometry.base import BaseGeometry

    from wetgis.crs import Operation
    from wetgis.provenance import SourceRecord
    from wetgis.sources.reading import Loaded
    from wetgis.sources.spilling import LoadedTo

__all__ = [
    "Given",
    "Layer",
    "Piece",
    "RasterLayer",
    "SiteLayer",
    "givens",
    "read",
    "read_raster",
]

_GLOB = set("*?[")


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

    Where the rows stay on an ``index`` or are ``spilled`` to disk, ``frame`` holds the box of all
    of them and nothing else.
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
    spilled: Spilled | None = None

    def in_crs(self, crs: Any) -> Piece:
        """The same under another name of the same CRS."""
        frame = self.frame.set_crs(crs, allow_override=True)
        spilled = self.spilled and replace(self.spilled, crs=crs)
        index = self.index and self.index.in_crs(crs)
        return replace(self, frame=frame, index=index, spilled=spilled)

    def in_memory(self) -> Piece:
        """The same with its rows in memory."""
        if self.spilled is None:
            return self
        return replace(self, frame=self.spilled.frame(), spilled=None)

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


def read(given: Given, target_crs: Any, folder: Path | None = None) -> Piece:
    """Read a source into the target CRS (None: as it is). A frame is copied by the reader.

    Repeated ids are looked at later, among the features that are in force. Parcels that have an
    index beside them are left on it where it fits. With a ``folder`` geometries go there.
    """
    keys = given.keys
    assert isinstance(keys, LayerKeys)
    misfit = ""
    try:
        request = index_request(given, target_crs) if folder is None else None
        if request and folder_of(request.file).exists():
            return _on_index(open_index(request), keys)
    except Misfit as reason:
        misfit = str(reason)
    try:
        frame, loaded, spilled = _load(given, keys, target_crs, folder)
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
        frame=frame,
        sources=loaded.sources,
        operations=loaded.operations,
        issues=(*issues, *extra),
        polygons=polygons,
        misfit=misfit,
        spilled=spilled,
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


def _load(
    given: Given, keys: LayerKeys, crs: Any, folder: Path | None
) -> tuple[gpd.GeoDataFrame, Loaded | LoadedTo, Spilled | None]:
    from wetgis.sources import load

    source = given.frame if given.frame is not None else list(given.names)
    kept = keys.model_copy(update={"duplicates": "keep"})
    if folder is None:
        loaded: Loaded = load(source, given.kind, kept, crs, base=given.base)
        return loaded.frame, loaded, None
    told, spilled = spill(source, given.kind, kept, crs, folder, given.base)
    return spilled.box(), told, spilled


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
