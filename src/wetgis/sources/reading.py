"""A layer as the rest of wetgis sees it: one CRS, valid geometries, canonical columns, issues."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pyproj import CRS

from wetgis.crs import Operation, as_crs, label
from wetgis.errors import InputError
from wetgis.issuelog import Issue, IssueLog
from wetgis.provenance import SourceRecord, plain, sha256
from wetgis.schema import KINDS, RASTER_KINDS, SUBJECT_LAYERS
from wetgis.sources import checks, columns, placing
from wetgis.sources.containers import Found, choose_layers, find
from wetgis.sources.decode import RawLayer, read_raw
from wetgis.sources.figures import InMemory, Several, Shapes
from wetgis.sources.keys import LayerKeys, nearest, parse_keys
from wetgis.sources.kinds import ANY_DIMENSION, DIMENSIONS, enrich
from wetgis.sources.records import full_ids, labelled, number_records, raw_notes
from wetgis.sources.steps import Append, Steps, passage_of

if TYPE_CHECKING:
    import geopandas
    import pandas as pd

__all__ = [
    "Context",
    "Loaded",
    "checked_keys",
    "load",
    "number_records",
    "prepared",
    "raw_layers",
    "read_layer",
    "together",
]


@dataclass(frozen=True)
class Loaded:
    """A layer, and all that is known about where it came from.

    Attributes
    ----------
    frame : GeoDataFrame
        The features; its index is a plain range.
    issues : tuple of Issue
        All of them; ``frame.attrs["wetgis"]`` holds the first hundred.
    sources : tuple of SourceRecord
        One for each layer of each file.
    operations : tuple of Operation
        What moved the coordinates of each; one that did nothing is there too.
    """

    frame: geopandas.GeoDataFrame
    issues: tuple[Issue, ...]
    sources: tuple[SourceRecord, ...]
    operations: tuple[Operation, ...]

    @property
    def source(self) -> SourceRecord:
        """The first source."""
        return self.sources[0]

    @property
    def operation(self) -> Operation | None:
        """The first operation, where there is one."""
        return self.operations[0] if self.operations else None


@dataclass
class Piece:
    """One layer of one file on its way; a ``frame`` with its geometries, or without them."""

    frame: Any
    shapes: Shapes
    crs: CRS | None
    log: IssueLog
    source: SourceRecord
    operation: Operation | None
    came_from: dict[str, str]
    generated: bool


@dataclass(frozen=True)
class Together:
    """The layers of all files as one; see `Loaded`."""

    frame: Any
    crs: CRS | None
    issues: tuple[Issue, ...]
    sources: tuple[SourceRecord, ...]
    operations: tuple[Operation, ...]


def read_layer(
    path: Any, kind: str | None = None, *, crs: Any = None, like: Any = None, **keys: Any
) -> geopandas.GeoDataFrame:
    """Read a layer so that it can be measured.

    GeoPackage, Shapefile (also in a zip archive, in whatever folder of it), GeoJSON,
    TopoJSON, GeoParquet, FlatGeobuf, FileGDB (folder or zip) and KML. A glob or a list of
    paths is one layer. Ids stay text; without any, they are made of the geometries.

    Parameters
    ----------
    path : str, Path, list of them, or GeoDataFrame
        What to read.
    kind : str, optional
        What the layer is (``parcels``, ``wetlands``, ...): its columns get canonical names
        beside their own. None leaves the attributes as they are, but for ``id``.
    crs : CRS or code, optional
        The target. Without it the file's own where it may be measured in, else
        `suggest_crs`.
    like : GeoDataFrame, optional
        A frame whose CRS is the target.
    **keys
        Those of a layer in ``site.toml``: ``layer``, ``source_crs``, ``id``, ``where``,
        ``fields``, ``components``, ``keep``, ``duplicates``, ``accuracy_ft``, ``basis``,
        ``source_date``, ``extent``.

    Returns
    -------
    GeoDataFrame
        A row a record, in the order of the file. A record whose geometry cannot be used
        keeps its row, with geometry None. ``attrs["wetgis"]`` is plain JSON: ``source``,
        ``operation``, ``counts``, ``issues`` (the first hundred).

    Raises
    ------
    InputError
        Where the file, the layer or a column is not there, or the choice of layer is open.
    CrsError
        Where there is no CRS, or the coordinates contradict it.
    SiteError
        On an unknown key.

    Examples
    --------
    >>> import tempfile, geopandas, shapely
    >>> file = tempfile.mkdtemp() + "/ponds.gpkg"
    >>> box = shapely.box(717000, 783000, 717100, 783200)
    >>> geopandas.GeoDataFrame({"NO": ["007"]}, geometry=[box], crs=2260).to_file(file)
    >>> ponds = read_layer(file, "wetlands", id="NO")
    >>> ponds["id"].tolist(), float(ponds.area.iloc[0])
    (['007'], 20000.0)
    """
    target = as_crs(crs) if crs is not None else None
    if like is not None:
        if target is not None:
            raise InputError("crs and like are both given.", needed="one of the two")
        if getattr(like, "crs", None) is None:
            raise InputError("the frame given as like has no CRS.", needed="a frame with one")
        target = as_crs(like.crs)
    near = placing.near_frame(like)
    return load(path, kind, parse_keys(keys, where="read_layer"), target, near=near).frame


def load(
    source: Any,
    kind: str | None,
    keys: LayerKeys | Mapping[str, Any] | None = None,
    target_crs: CRS | None = None,
    *,
    base: Path | None = None,
    near: placing.Near | None = None,
) -> Loaded:
    """Read a layer with everything that is known about it; `read_layer` is its public face.

    Parameters
    ----------
    source : path, list of paths, or GeoDataFrame
        What to read; paths are relative to ``base``.
    kind : str or None
        One of the kinds of vector layers.
    keys : LayerKeys or mapping, optional
        How to read it.
    target_crs : CRS, optional
        The working CRS; without it the source's own or a suggested one.
    base : Path, optional
        The folder that relative paths start from.
    near : tuple of CRS and box, optional
        Where other layers lie, to rank suggestions for a missing CRS.
    """
    keys = checked_keys(kind, keys)
    layers = raw_layers(source, kind, keys, base, read_raw)
    pieces = prepared(layers, Context(kind, keys, base, near), target_crs)
    found = together(pieces, kind, keys)
    return Loaded(found.frame, found.issues, found.sources, found.operations)


def checked_keys(kind: str | None, keys: LayerKeys | Mapping[str, Any] | None) -> LayerKeys:
    """The keys of a layer, whose kind must be known.

    Raises
    ------
    InputError, SiteError
        Where the kind or a key is not known.
    """
    _check_kind(kind)
    return keys if isinstance(keys, LayerKeys) else parse_keys(keys or {})


def prepared(
    layers: Iterable[tuple[RawLayer, SourceRecord, Carried]],
    context: Context,
    target: CRS | None,
    append: Append | None = None,
    chunk: int = 0,
) -> list[Piece]:
    """The layers of all files in the CRS to measure in: that of the first where none is chosen.

    With ``append`` geometries are handed over to it as they are ready, at most ``chunk`` at once;
    the frames have none then.
    """
    pieces: list[Piece] = []
    for raw, record, carried in layers:
        about = replace(context, record=record)
        piece = _prepare(raw, about, target, carried, append, chunk)
        target = piece.crs if target is None else target
        pieces.append(piece)
    return pieces


def _check_kind(kind: str | None) -> None:
    vector = [k for k in KINDS if k not in RASTER_KINDS]
    if kind is not None and kind not in vector:
        what = "is a raster" if kind in RASTER_KINDS else "is not a kind of layer"
        raise InputError(
            f"'{kind}' {what}{nearest(kind, vector)}", needed="one of " + ", ".join(vector)
        )


@dataclass(frozen=True)
class Context:
    """How a layer is asked for, and which layer of which file is at hand."""

    kind: str | None
    keys: LayerKeys
    base: Path | None
    near: placing.Near | None
    record: SourceRecord = field(default_factory=lambda: SourceRecord(path=""))

    @property
    def about(self) -> dict[str, str]:
        """Layer and file, for issues."""
        return {"layer": self.record.layer or (self.kind or ""), "file": self.record.path}


Carried = tuple[Issue, ...]
#: How a layer of a file is read, with a condition or without one.
Reader = Callable[[Found, str | None], RawLayer]


def raw_layers(
    source: Any, kind: str | None, keys: LayerKeys, base: Path | None, read: Reader
) -> list[tuple[RawLayer, SourceRecord, Carried]]:
    """Each layer of each file as it stands there, its record, and what an earlier reading found."""
    if hasattr(source, "to_frame") and hasattr(source, "crs"):
        source = source.to_frame("geometry")
    if hasattr(source, "geometry") and hasattr(source, "columns"):
        return [_from_frame(source, keys)]
    out: list[tuple[RawLayer, SourceRecord, Carried]] = []
    for datasets in find(source if source is not None else keys.path, base=base):
        layers, left = choose_layers(datasets, kind, keys.layer)
        with ThreadPoolExecutor(1) as beside:
            # a large file takes as long to be hashed as to be parsed
            digest = beside.submit(sha256, datasets[0].file)
            for found in layers:
                raw = read(found, keys.where)
                told = _drawing(raw, found, kind, keys) if found.dataset.ending == ".dxf" else ()
                if left:
                    others = f"the layer '{found.layer}' was read; not read: {', '.join(left)}."
                    raw.notes.append(("several_layers", others))
                out.append((raw, _record(found, raw, digest.result()), told))
    return out


def _drawing(raw: RawLayer, found: Found, kind: str | None, keys: LayerKeys) -> Carried:
    """What a drawing says and does not say: outlines closed or open, and its unit."""
    from wetgis.sources.drawing import outlines, unit_of_header

    raw.layer = found.layer
    told = outlines(raw, found.layer, kind, keys.source_crs, found.dataset.shown)
    crs = as_crs(keys.source_crs) if keys.source_crs else None
    named = unit_of_header(found.dataset.file) if found.dataset.gdal[:4] != "/vsi" else None
    if named is not None and crs is not None:
        metres = float(crs.axis_info[0].unit_conversion_factor)
        if not crs.is_projected or abs(named[1] / metres - 1) > 1e-5:
            text = f"the drawing's header says {named[0]}; its numbers were taken as {label(crs)}."
            at = {"layer": found.layer, "file": found.dataset.shown, "effect": "not scaled"}
            told.append(_issue({"severity": "warning", "code": "bad_value", "message": text, **at}))
    return tuple(told)


def _record(found: Found, raw: RawLayer, digest: str) -> SourceRecord:
    return SourceRecord(
        path=found.dataset.shown,
        sha256=digest,
        layer=found.layer,
        driver=raw.driver,
        features=len(raw.table),
    )


def _from_frame(
    frame: geopandas.GeoDataFrame, keys: LayerKeys
) -> tuple[RawLayer, SourceRecord, Carried]:
    """A frame as a layer: what an earlier reading found goes with it."""
    import pandas as pd

    meta = frame.attrs.get("wetgis", {})
    table = pd.DataFrame(frame.drop(columns=frame.geometry.name)).reset_index(drop=True)
    table.attrs = {}
    geoms = np.array(frame.geometry.array, dtype=object)
    if keys.where is not None:
        from wetgis.sources.decode import rows_where

        kept = rows_where(table, keys.where, "frame")
        table, geoms = table[kept].reset_index(drop=True), geoms[kept]
    if meta.get("generated_id") and keys.id is None and "id" not in keys.fields:
        table = table.drop(columns="id", errors="ignore")
    crs = frame.crs
    raw = RawLayer(table, geoms, as_crs(crs) if crs is not None else None, "frame", "")
    earlier = meta.get("source") or {}
    record = SourceRecord(path="(frame)", driver="frame", features=len(table))
    if earlier.get("path"):
        record = replace(
            record,
            path=earlier["path"],
            sha256=earlier.get("sha256", ""),
            layer=earlier.get("layer", ""),
            driver=earlier.get("driver", "frame"),
        )
    carried = tuple(_issue(row) for row in meta.get("issues", []))
    return raw, record, carried


def _issue(row: dict[str, Any]) -> Issue:
    values: dict[str, Any] = {k: (float("nan") if v is None else v) for k, v in row.items()}
    return Issue(**values)


def _prepare(
    raw: RawLayer,
    context: Context,
    target: CRS | None,
    carried: Carried,
    append: Append | None,
    chunk: int,
) -> Piece:
    """One layer, from what the file holds to what can be measured."""
    import geopandas as gpd

    log, kind, keys, about = IssueLog(), context.kind, context.keys, context.about
    log.extend(carried)
    passage = passage_of(raw, chunk)
    wanted = () if kind is None else DIMENSIONS.get(kind, ANY_DIMENSION)
    ids, id_from = columns.id_column(raw.table, kind, keys, log, about)
    made = passage.generated_ids(kind, wanted) if ids is None or ids.isna().any() else []
    names = full_ids(ids, made, log, about)
    steps = Steps(names, wanted, where=(about["layer"], about["file"]))
    decided = IssueLog()
    way = placing.decide(passage.boxes(steps), names, raw.crs, target, context, decided)
    told, shapes = passage.through(steps, way, append)
    raw_notes(raw, told, names, log, about)
    log.extend(
        told.screening_issues(steps, {i.record_id for i in carried if i.severity == "error"})
    )
    log.extend(decided.rows)
    placing.tell_of_moved(way, told, names, target, context, log)
    log.extend(told.mended)
    frame, came_from = _columns(raw.table, names, context, log)
    if id_from:
        came_from["id"] = id_from
    if append is None:
        geoms = gpd.GeoSeries(shapes.take(np.arange(len(frame))), index=frame.index, crs=way.crs)
        frame = gpd.GeoDataFrame(frame, geometry=geoms)
    record = replace(context.record, bounds=way.bounds, crs=label(way.source_crs))
    if kind is not None:
        frame = labelled(frame, keys, record)
    operation, generated = way.operation, ids is None
    return Piece(frame, shapes, way.crs, log, record, operation, came_from, generated)


def _columns(
    table: pd.DataFrame, names: list[str], context: Context, log: IssueLog
) -> tuple[pd.DataFrame, dict[str, str]]:
    """The attributes as the kind has them, ids first, and where each column came from."""
    import pandas as pd

    kind, keys, about = context.kind, context.keys, context.about
    came_from: dict[str, str] = {}
    if kind is not None:
        table, came_from = columns.canonical_columns(table, kind, keys, log, about)
        table = enrich(table, kind, log, about, _components(keys, context.base))
    # a copy, as a table of many columns is read column by column and lies scattered
    table = table.drop(columns=[c for c in ("id", "geometry") if c in table.columns]).copy()
    table.insert(0, "id", columns.as_text(pd.Series(names, index=table.index, dtype=object)))
    return table, came_from


def _components(keys: LayerKeys, base: Path | None) -> Path | None:
    if keys.components is None:
        return None
    path = Path(keys.components).expanduser()
    return path if base is None or path.is_absolute() else base / path


def together(pieces: list[Piece], kind: str | None, keys: LayerKeys) -> Together:
    """The layers of all files as one."""
    import pandas as pd

    crs = next((p.crs for p in pieces if p.crs is not None), None)
    frame = _one_frame([p.frame for p in pieces], crs)
    shapes = pieces[0].shapes if len(pieces) == 1 else Several([p.shapes for p in pieces])
    log = IssueLog([issue for p in pieces for issue in p.log.rows])
    about = {
        "layer": pieces[0].source.layer or (kind or ""),
        "file": pieces[0].source.path,
    }
    frame = checks.duplicates(frame, kind, keys, log, about, shapes)
    if keys.duplicates == "unite":
        shapes = InMemory(frame.geometry.array)
    if not len(frame):
        log.add("warning", "empty_layer", "the layer has no records.", **about)
    elif kind is not None:
        checks.look_over(frame, shapes, crs, kind, log, about)
    if kind in SUBJECT_LAYERS:
        frame["record"] = number_records(frame, shapes)
    frame.index = pd.RangeIndex(len(frame))
    usable = int((shapes.types >= 0).sum())
    frame.attrs["wetgis"] = _meta(pieces, len(frame), usable, log)
    operations = tuple(p.operation for p in pieces if p.operation is not None)
    return Together(frame, crs, tuple(log.rows), tuple(p.source for p in pieces), operations)


def _one_frame(frames: list[Any], crs: CRS | None) -> Any:
    import geopandas as gpd
    import pandas as pd

    if len(frames) == 1:
        return frames[0]
    if not isinstance(frames[0], gpd.GeoDataFrame):
        return pd.concat(frames, ignore_index=True)
    frames = [f if f.crs is not None or crs is None else f.set_crs(crs) for f in frames]
    return gpd.GeoDataFrame(pd.concat(frames, ignore_index=True), crs=crs)


def _meta(pieces: list[Piece], records: int, usable: int, log: IssueLog) -> dict[str, Any]:
    counts = {
        "records": records,
        "usable": usable,
        **{f"{s}s": sum(i.severity == s for i in log.rows) for s in ("error", "warning", "note")},
        "repaired": sum(i.code == "repaired" for i in log.rows),
    }
    first = pieces[0]
    meta: dict[str, Any] = plain(
        {
            "source": first.source,
            "operation": first.operation,
            "columns": first.came_from,
            "generated_id": all(p.generated for p in pieces),
            "counts": counts,
            "issues": log.as_json(100),
        }
    )
    if len(pieces) > 1:
        meta["sources"] = plain([p.source for p in pieces])
        meta["operations"] = plain([p.operation for p in pieces if p.operation is not None])
    return meta
