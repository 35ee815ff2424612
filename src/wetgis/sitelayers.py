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
from wetgis.issuelog import Issue
from wetgis.schema import SUBJECT_LAYERS
from wetgis.siteconfig import VECTOR_KEYS, RasterKeys, is_raster, layer_keys, unknown_key
from wetgis.sources.keys import LayerKeys

if TYPE_CHECKING:
    import geopandas as gpd
    from shapely.geometry.base import BaseGeometry

    from wetgis.crs import Operation
    from wetgis.provenance import SourceRecord

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
_EXAMPLES = 5
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
class SiteLayer:
    """All sources of one kind in the working CRS.

    ``extent`` is where the layer is complete, None where that is not stated.
    """

    kind: str
    frame: gpd.GeoDataFrame
    extent: BaseGeometry | None = None
    sources: tuple[SourceRecord, ...] = ()
    operations: tuple[Operation, ...] = ()
    issues: tuple[Issue, ...] = ()
    keep: tuple[str, ...] = ()


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

    def files(self) -> list[tuple[str, str]]:
        """Each file, as given and as to be opened; globs are resolved, in order of their names."""
        return [pair for name in self.names for pair in _resolve(name, self.base, self)]


@dataclass(frozen=True, eq=False)
class Piece:
    """One source, read. ``polygons`` is the stated extent where that is a layer of its own."""

    keys: LayerKeys
    frame: gpd.GeoDataFrame
    source: SourceRecord | None = None
    operation: Operation | None = None
    issues: tuple[Issue, ...] = ()
    polygons: BaseGeometry | None = None
    file: str = ""


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


def _resolve(name: str, base: Path | None, given: Given) -> list[tuple[str, str]]:
    path = Path(name).expanduser()
    full = path if base is None or path.is_absolute() else base / path
    if full.exists() or not _GLOB & set(name):
        return [(name, str(full))]
    # a glob is one layer of several files, each with a record of its own
    hits = sorted(glob.glob(str(full), recursive=True))
    if not hits:
        raise SiteError(
            f"no file fits '{name}' (layers.{given.kind}.path).",
            needed="a file, or a glob that fits at least one",
            where=given.where,
        )
    if base is None or path.is_absolute():
        return [(hit, hit) for hit in hits]
    return [(Path(os.path.relpath(hit, base)).as_posix(), hit) for hit in hits]


def beside(name: str, base: Path | None) -> str:
    """A path in a key, relative to the site file."""
    return name if base is None or Path(name).is_absolute() else str(base / name)


def read(given: Given, target_crs: Any) -> list[Piece]:
    """Read every file of a source into the target CRS (None: as it is).

    A frame is copied by the reader; two layers of a site never share rows.
    """
    keys = given.keys
    assert isinstance(keys, LayerKeys)
    if keys.components:
        keys = keys.model_copy(update={"components": beside(keys.components, given.base)})
    polygons, extra = _stated_extent(given, keys, target_crs)
    if given.frame is not None:
        pieces = [_piece(given.frame, given.kind, keys, target_crs, "")]
    else:
        pieces = [_piece(path, given.kind, keys, target_crs, name) for name, path in given.files()]
    first = replace(pieces[0], issues=(*pieces[0].issues, *extra))
    return [replace(p, polygons=polygons) for p in (first, *pieces[1:])]


def _piece(source: Any, kind: str, keys: LayerKeys, crs: Any, name: str) -> Piece:
    from wetgis.sources import load

    loaded = load(source, kind, keys, crs)
    record = replace(loaded.source, path=name) if name else loaded.source
    return Piece(
        keys=keys,
        frame=loaded.frame,
        source=record,
        operation=loaded.operation,
        issues=tuple(loaded.issues),
        file=Path(name).name,
    )


def read_raster(several: Sequence[Given]) -> RasterLayer:
    """The files of a raster kind; nothing of them is opened yet.

    Raises
    ------
    InputError
        Where a file is not there.
    SiteError
        Where the sources of one kind state different vertical units.
    """
    kind = several[0].kind
    files = [pair for given in several for pair in given.files()]
    for name, path in files:
        if not Path(path).exists() and "://" not in path and not path.startswith("/vsi"):
            raise InputError(
                f"there is no file '{name}'.", needed=f"a raster (layers.{kind}.path)",
                where=several[0].where,
            )  # fmt: skip
    units = {getattr(given.keys, "z_unit", None) for given in several}
    if len(units) > 1:
        raise SiteError(
            f"the sources of layers.{kind} state different vertical units.",
            needed="one z_unit for all of them",
            where=several[0].where,
        )
    return RasterLayer(kind, tuple(Path(path) for _, path in files), z_unit=units.pop())


def _stated_extent(
    given: Given, keys: LayerKeys, crs: Any
) -> tuple[BaseGeometry | None, tuple[Issue, ...]]:
    """The polygons of an extent that is a layer of its own, in the target CRS."""
    import shapely

    extent = keys.extent
    if extent is None or extent in ("municipality", "features"):
        return None, ()
    names = [extent] if isinstance(extent, str) else extent
    pieces = [
        _piece(beside(name, given.base), "municipality", LayerKeys(), crs, name) for name in names
    ]
    what = f"the extent of layers.{given.kind}"
    polygons = shapely.union_all([polygons_of(p.frame, what, given.where) for p in pieces])
    return polygons, tuple(issue for p in pieces for issue in p.issues)


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
    import numpy as np

    log: list[Issue] = [issue for piece in pieces for issue in piece.issues]
    frames = [_in_force(piece, kind, as_of, log) for piece in pieces]
    rules = np.repeat([_RULES.index(p.keys.duplicates) for p in pieces], [len(f) for f in frames])
    frame = _concat(frames)
    frame = _duplicates(frame, rules, kind, log, where)
    if kind in SUBJECT_LAYERS:
        frame["record"] = (frame.groupby("id").cumcount() + 1).astype("int64")
    if not len(frame) and not any(i.code == "empty_layer" for i in log):
        log.append(
            Issue("warning", "empty_layer", f"the layer '{kind}' has no records", layer=kind,
                  effect="nothing of this kind is found anywhere")
        )  # fmt: skip
    return SiteLayer(
        kind=kind,
        frame=frame,
        extent=_extent(kind, pieces, municipality, where),
        sources=tuple(p.source for p in pieces if p.source is not None),
        operations=tuple(p.operation for p in pieces if p.operation is not None),
        issues=tuple(log),
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


def _in_force(piece: Piece, kind: str, as_of: datetime.date, log: list[Issue]) -> gpd.GeoDataFrame:
    """The features of a piece that are in force on a day; both ends count."""
    import numpy as np

    frame = piece.frame
    inside = np.ones(len(frame), dtype=bool)
    for column, sign in (("effective_from", 1), ("effective_to", -1)):
        if column not in frame.columns:
            continue
        days, bad = _days(frame[column])
        if bad.any():
            log.append(
                Issue("warning", "bad_value", f"{int(bad.sum())} values of {column} are no day,"
                      f" as '{frame[column][bad].iloc[0]}'", layer=kind, file=piece.file,
                      effect="taken as not stated, so these features count as in force")
            )  # fmt: skip
        after = (days - np.datetime64(as_of, "D")).astype("int64") * sign > 0
        inside &= ~(after & ~np.isnat(days))
    if inside.all():
        return frame
    log.append(
        Issue("note", "not_in_force", f"{int((~inside).sum())} of {len(frame)} features are not"
              f" in force on {as_of.isoformat()}", layer=kind, file=piece.file,
              effect="they are left out")
    )  # fmt: skip
    return frame[inside]


def _days(column: Any) -> tuple[Any, Any]:
    """A column as days (NaT where not stated), and where a stated value is none."""
    import numpy as np
    import pandas as pd

    text = column.astype("object").where(column.notna(), None)
    stated = np.array([v is not None and str(v).strip() != "" for v in text], dtype=bool)
    words = pd.Series(list(text)).astype("str")
    days = pd.to_datetime(words, errors="coerce", format="mixed", utc=True)
    values = days.dt.tz_localize(None).to_numpy().astype("datetime64[D]")
    values[~stated] = np.datetime64("NaT")
    return values, stated & np.isnat(values)


def _duplicates(
    frame: gpd.GeoDataFrame, rules: Any, kind: str, log: list[Issue], where: str
) -> gpd.GeoDataFrame:
    """Apply the strictest rule among the rows of a repeated id.

    Rows of one wetland (or soil unit) repeat its id by nature, so only subjects are warned about.
    """
    repeated = frame["id"].duplicated(keep=False).to_numpy()
    if not repeated.any():
        return frame
    rule = frame.assign(_rule=rules).groupby("id")["_rule"].transform("max").to_numpy()
    names = frame["id"][repeated].drop_duplicates()
    shown = ", ".join(names[:_EXAMPLES]) + (", ..." if len(names) > _EXAMPLES else "")
    if (repeated & (rule == _RULES.index("error"))).any():
        raise InputError(
            f"{len(names)} ids of the layer '{kind}' occur more than once: {shown}.",
            needed="one row an id",
            mend='correct the ids, or write duplicates = "keep" or "unite"',
            where=where,
        )
    unite = repeated & (rule == _RULES.index("unite"))
    if unite.any():
        frame = _unite(frame, unite)
    elif kind not in SUBJECT_LAYERS:
        return frame
    effect = "rows of one id were united" if unite.any() else "each row is a subject of its own"
    log.append(
        Issue("warning", "duplicate_id", f"{len(names)} ids occur more than once: {shown}",
              layer=kind, record_id=names.iloc[0] if len(names) == 1 else "", effect=effect)
    )  # fmt: skip
    return frame


def _unite(frame: gpd.GeoDataFrame, which: Any) -> gpd.GeoDataFrame:
    """Rows of one id as one: the union of their geometries, the first value that is stated."""
    import pandas as pd
    import shapely

    many = frame[which]
    first = many.reset_index().groupby("id", sort=False)["index"].min()
    united = many.dissolve(by="id", aggfunc="first", sort=False).reset_index()
    unusable = shapely.is_empty(united.geometry.array)
    united.loc[unusable, united.geometry.name] = None
    united.index = pd.Index(first.loc[united["id"]].to_numpy())
    joined = pd.concat([frame[~which], united[frame.columns]]).sort_index()
    return joined.reset_index(drop=True)


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
