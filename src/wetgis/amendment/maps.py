"""The map before an amendment, what is proposed for it, and the map after.

A feature is all records of one id. Nothing is measured here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import shapely

from wetgis.errors import InputError, UsageError
from wetgis.issuelog import IssueLog
from wetgis.shapes import normal_order, union_groups
from wetgis.sitelayers import Layer, Piece, SiteLayer, givens, polygons_of, read
from wetgis.sources.keys import LayerKeys

if TYPE_CHECKING:
    import geopandas as gpd
    from numpy.typing import NDArray
    from shapely.geometry.base import BaseGeometry

    from wetgis.site import Site

    Geometries = NDArray[np.object_]

__all__ = [
    "MODES",
    "Apply",
    "Current",
    "Proposed",
    "apply",
    "by_feature",
    "check_mode",
    "current_map",
    "extent_of",
    "joined",
    "read_proposed",
]

MODES = ("by_id", "whole", "within")
MAPPED = ("wetlands", "watercourses")
#: What a feature is, as long as nobody says otherwise; how its line was found goes with the line.
_LASTING = (
    "name", "regulator", "cowardin", "class", "flow", "piped", "half_width_ft", "measured_from",
)  # fmt: skip
#: Columns that tell what a record is; a drawn buffer is called so in one of them.
_TYPE_COLUMNS = {
    "class", "type", "kind", "feature", "feat_type", "feature_ty", "featuretyp", "layer",
    "category", "place", "zone", "descriptio", "description", "cowardin",
}  # fmt: skip


@dataclass(frozen=True)
class Current:
    """The map as it stands: layers by kind, and buffers that somebody drew on it."""

    layers: dict[str, SiteLayer]
    drawn: gpd.GeoDataFrame
    adopted: dict[str, bool]


@dataclass(frozen=True)
class Proposed:
    """What is proposed, in the site's CRS."""

    frame: gpd.GeoDataFrame
    pieces: tuple[Piece, ...]


def current_map(site: Site, kind: str, log: IssueLog) -> Current:
    """Wetlands and watercourses before: of the adopted map where it is given."""
    layers: dict[str, SiteLayer] = {}
    adopted: dict[str, bool] = {}
    drawn = []
    for name in MAPPED:
        layer = site.layers.get(f"adopted_{name}")
        adopted[name] = layer is not None
        layer = layer or site.layers.get(name)
        if layer is None and name == kind:
            layer = SiteLayer(name, _none(site.crs))  # the first map there is
        if layer is None:
            continue
        buffers = _drawn_buffers(layer.frame)
        if buffers.any():
            drawn.append(layer.frame[buffers])
            _log_drawn(layer, int(buffers.sum()), log)
        frame = layer.frame[~buffers].reset_index(drop=True)
        layers[name] = replace(layer, kind=name, frame=_bare(frame))
    return Current(layers, joined(drawn, site.crs), adopted)


def _none(crs: Any) -> gpd.GeoDataFrame:
    import geopandas as gpd

    return gpd.GeoDataFrame({"id": pd.Series(dtype="str")}, geometry=[], crs=crs)


def _bare(frame: gpd.GeoDataFrame) -> gpd.GeoDataFrame:
    out = frame.copy()
    out.attrs = {}
    return out


def joined(frames: Sequence[gpd.GeoDataFrame], crs: Any) -> gpd.GeoDataFrame:
    """Frames below each other; those without a row do not decide on any type."""
    import geopandas as gpd

    filled = [_bare(f) for f in frames if len(f)]
    if not filled:
        return _bare(frames[0]) if frames else _none(crs)
    if len(filled) == 1:
        return filled[0].reset_index(drop=True)
    columns = list(dict.fromkeys(c for f in filled for c in f.columns))
    # a column that a frame has no value in takes the other frame's type
    trimmed = [f.loc[:, [c for c in f.columns if c == "geometry" or f[c].notna().any()]]
               for f in filled]  # fmt: skip
    table = pd.concat(trimmed, ignore_index=True)
    return gpd.GeoDataFrame(table.reindex(columns=columns), geometry="geometry", crs=crs)


def _drawn_buffers(frame: gpd.GeoDataFrame) -> NDArray[np.bool_]:
    """Records that are a buffer somebody drew, not a wetland or watercourse."""
    out = np.zeros(len(frame), bool)
    for column in frame.columns:
        if str(column).lower() not in _TYPE_COLUMNS or len(frame) == 0:
            continue
        values = frame[column]
        if pd.api.types.is_numeric_dtype(values) or pd.api.types.is_datetime64_any_dtype(values):
            continue
        words = values.astype(object).where(values.notna(), "").astype(str)
        out |= words.str.contains(r"\bbuffer\b", case=False, regex=True).to_numpy(dtype=bool)
    return out


def _log_drawn(layer: SiteLayer, count: int, log: IssueLog) -> None:
    log.add(
        "note",
        "drawn_buffer",
        f"{count} records of the map are buffers that were drawn, not wetlands or watercourses",
        layer=layer.kind,
        effect="the buffer is computed from all current features; the drawn one stands beside it",
    )


def read_proposed(site: Site, proposed: Any, kind: str, current: Current) -> Proposed:
    """Read what is proposed as a layer of the kind is read, in the site's CRS.

    Where the proposal does not say which column holds its ids, the columns that the site names for
    the current map are tried first. Buffers drawn in it are passed over: they follow.
    """
    pieces: list[Piece] = []
    for one in proposed if isinstance(proposed, list | tuple) else [proposed]:
        pieces += _read(site, one, kind, current)
    frame = joined([p.frame for p in pieces], site.crs)
    return Proposed(frame[~_drawn_buffers(frame)].reset_index(drop=True), tuple(pieces))


def _read(site: Site, one: Any, kind: str, current: Current) -> tuple[Piece, ...]:
    where = "wetgis.amend"
    if not isinstance(one, Layer | Mapping):
        name = f"adopted_{kind}" if current.adopted[kind] else kind
        tried: list[dict[str, Any]] = [
            {k: v for k, v in (("id", g.keys.id), ("fields", _present(one, g.keys.fields))) if v}
            for g in site._given.get(name, ())
            if isinstance(g.keys, LayerKeys) and g.keys.id
        ]
        if hasattr(one, "columns") and "id" in one.columns:
            # ids that were made of the geometry when it was read stay those of the features,
            # though the geometry has been edited since
            tried.append({"id": "id"})
        for keys in tried:
            try:
                given = givens(kind, Layer(one, **keys), base=None, where=where)
                return tuple(read(g, site.crs) for g in given)
            except InputError:
                continue  # another source's columns, or none: the reader finds the id itself
    return tuple(read(g, site.crs) for g in givens(kind, one, base=None, where=where))


def _present(one: Any, fields: Mapping[str, str] | None) -> dict[str, str]:
    """Those of the current map's columns that the proposal has too."""
    if not fields:
        return {}
    if hasattr(one, "columns"):
        names = {str(c) for c in one.columns}
    else:
        import pyogrio

        try:
            names = set(map(str, pyogrio.read_info(one)["fields"]))
        except Exception:  # a glob or a folder: the reader knows better, and finds columns itself
            return {}
    return {canonical: theirs for canonical, theirs in fields.items() if theirs in names}


def extent_of(site: Site, extent: Any) -> BaseGeometry:
    """The ground inside which a proposal is complete."""
    if isinstance(extent, shapely.geometry.base.BaseGeometry):
        if extent.area <= 0:
            raise InputError("the extent has no area.", needed="a polygon")
        return extent
    given = givens("municipality", extent, base=None, where="wetgis.amend")
    frames = [read(g, site.crs).frame for g in given]
    return polygons_of(joined(frames, site.crs), "the extent", "wetgis.amend")


@dataclass(frozen=True)
class Apply:
    """How a proposal goes into a map."""

    mode: str
    extent: BaseGeometry | None = None
    remove: tuple[str, ...] = ()


def check_mode(mode: str, extent: Any, remove: Sequence[str]) -> None:
    """Refuse what does not go together."""
    if mode not in MODES:
        raise UsageError(f"the mode is '{mode}'.", needed=f"one of {', '.join(MODES)}")
    if (mode == "within") != (extent is not None):
        raise UsageError(
            "mode 'within' and an extent belong together.",
            needed="mode='within' with extent=, or another mode without it",
        )
    if isinstance(remove, str):
        raise UsageError("remove is a text.", needed="a list of ids")


def apply(
    before: gpd.GeoDataFrame, proposed: gpd.GeoDataFrame, how: Apply, log: IssueLog
) -> gpd.GeoDataFrame:
    """The map after: records kept, and records of the proposal (``_new`` tells which)."""
    old_ids, new_ids = _ids(before), _ids(proposed)
    _check_removed(how, set(old_ids), set(new_ids))
    gone = np.isin(old_ids, np.array(how.remove, dtype=object))
    if how.mode == "by_id":
        replaced = np.isin(old_ids, new_ids)
        if len(proposed) and len(before) and not replaced.any():
            log.add("warning", "no_match", "no proposed feature has the id of one on the map",
                    layer="proposed", effect="all of them are taken as new features")  # fmt: skip
        kept = before[~gone & ~replaced]
    elif how.mode == "whole":
        kept = before.iloc[:0]
    else:
        kept, proposed = _within(before[~gone], proposed, how.extent, log)
    proposed = _with_lasting(proposed, before)
    return joined([kept.assign(_new=False), proposed.assign(_new=True)], before.crs)


def _with_lasting(proposed: gpd.GeoDataFrame, before: gpd.GeoDataFrame) -> gpd.GeoDataFrame:
    """What a feature of the map is stays so where the proposal does not speak of it."""
    out = proposed.copy()
    first = before.assign(id=before["id"].astype(str)).drop_duplicates("id").set_index("id")
    ids = _ids(out)
    for name in (c for c in _LASTING if c in before.columns):
        was = first[name].reindex(ids)
        if name not in out.columns:
            out[name] = was.to_numpy()
            continue
        blank = out[name].isna() | (out[name].astype(str) == "")
        fill = blank.to_numpy(bool) & was.notna().to_numpy(bool)
        if fill.any():
            values = out[name].astype(object).to_numpy().copy()
            values[fill] = was.to_numpy(object)[fill]
            out[name] = pd.Series(values, index=out.index).infer_objects()
    return out


def _ids(frame: gpd.GeoDataFrame) -> NDArray[np.object_]:
    out: NDArray[np.object_] = frame["id"].astype(str).to_numpy(dtype=object)
    return out


def _check_removed(how: Apply, old: set[str], new: set[str]) -> None:
    unknown = sorted(set(how.remove) - old)
    if unknown:
        raise InputError(f"remove: no feature of the map has the id '{unknown[0]}'.",
                         needed="ids of the map as it stands")  # fmt: skip
    both = sorted(set(how.remove) & new)
    if both:
        raise UsageError(f"'{both[0]}' is to be removed and is proposed too.", needed="one of both")


def _within(
    before: gpd.GeoDataFrame, proposed: gpd.GeoDataFrame, extent: Any, log: IssueLog
) -> tuple[gpd.GeoDataFrame, gpd.GeoDataFrame]:
    """All inside an extent is as proposed; features of the map keep what lies outside."""
    shapely.prepare(extent)
    own = before.geometry.to_numpy()
    met = shapely.intersects(extent, own)
    rest = own.copy()
    rest[met] = _same_dimension(shapely.difference(own[met], extent), own[met])
    keep = ~(met & shapely.is_empty(rest))
    kept = before.set_geometry(rest, crs=before.crs)[keep]
    new = proposed.geometry.to_numpy()
    inside = _same_dimension(shapely.intersection(new, extent), new)
    lost = np.where(shapely.is_missing(new), 0.0, shapely.area(new) - shapely.area(inside))
    beyond = (lost > 1e-6) | (shapely.is_empty(inside) & ~shapely.is_missing(new))
    for i in proposed["id"].astype(str).to_numpy()[beyond]:
        log.add("warning", "cut_at_extent", f"proposed feature {i} reaches beyond the extent",
                layer="proposed", record_id=str(i),
                effect="only what lies inside is taken")  # fmt: skip
    chosen = proposed.set_geometry(inside, crs=before.crs)[~shapely.is_empty(inside)]
    return kept, chosen


def _same_dimension(cut: Geometries, source: Geometries) -> Geometries:
    """The parts of an overlay that are of their source's dimension; empty where none is left."""
    out: Geometries = np.array(cut, dtype=object)
    for k in np.flatnonzero(shapely.get_type_id(cut) == 7):
        parts = shapely.get_parts(cut[k])
        same = parts[shapely.get_dimensions(parts) == shapely.get_dimensions(source[k])]
        out[k] = shapely.union_all(same) if len(same) else shapely.Polygon()
    wrong = np.asarray(shapely.get_dimensions(out) != shapely.get_dimensions(source))
    out[wrong & ~np.asarray(shapely.is_missing(out))] = shapely.Polygon()
    return out


def by_feature(frame: gpd.GeoDataFrame) -> pd.Series:
    """The geometry of each id, its records united; records without a geometry are passed over."""
    geometries = frame.geometry.to_numpy()
    usable = ~(shapely.is_missing(geometries) | shapely.is_empty(geometries))
    geometries, ids = geometries[usable], _ids(frame)[usable].astype(str)
    names, labels = np.unique(ids, return_inverse=True)
    order = normal_order(geometries)
    _, united = union_groups(geometries[order], labels[order])
    return pd.Series(united, index=pd.Index(names.astype(object)), dtype=object)
