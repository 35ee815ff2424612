"""What a sheet is drawn from: a site, a screening, or frames by kind."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite, nan
from typing import TYPE_CHECKING, Any

import numpy as np

from wetgis.errors import GeometryError, InputError
from wetgis.schema import KINDS

if TYPE_CHECKING:
    import geopandas as gpd
    import pandas as pd
    from shapely.geometry.base import BaseGeometry

    from wetgis.packs import Pack
    from wetgis.rasters.surface import Surface

__all__ = ["SheetData", "sheet_data"]


@dataclass(frozen=True)
class SheetData:
    """Layers in one CRS, and what the tables and notes say.

    ``subjects`` are the parcels and footprints that the sheet is about; ``layers`` holds the
    others of their kind too. ``complete`` names the kinds whose extent is stated.
    """

    title: str
    crs: Any
    layers: dict[str, gpd.GeoDataFrame]
    subjects: gpd.GeoDataFrame
    packs: tuple[Pack, ...] = ()
    dem: Surface | None = None
    measures: pd.DataFrame | None = None
    buffer_ft: float = nan
    buffer_regulated: bool = True
    combined_factor: float | None = None
    as_of: datetime.date | None = None
    sources: tuple[tuple[str, str], ...] = ()
    complete: frozenset[str] = field(default_factory=frozenset)
    issues: tuple[str, ...] = ()

    def on(self, ground: BaseGeometry) -> SheetData:
        """The same with only the features that reach some ground; the subjects stay whole."""
        import shapely

        shapely.prepare(ground)
        layers = {}
        for kind, frame in self.layers.items():
            hit = shapely.intersects(ground, np.asarray(frame.geometry.array, dtype=object))
            layers[kind] = frame[hit]
        return replace(self, layers=layers, sources=_sources(layers))

    def zone(self, ground: BaseGeometry) -> gpd.GeoDataFrame | None:
        """The buffer of all wetlands and watercourses that reach some ground with it."""
        import geopandas as gpd
        import pandas as pd
        import shapely

        from wetgis.buffers import buffer_zone
        from wetgis.crs import ft_per_unit

        if not self.buffer_ft > 0:
            return None
        reach = 1.01 * self.buffer_ft / ft_per_unit(self.crs)
        frames = []
        for kind in ("wetlands", "watercourses"):
            frame = self.frame(kind)
            near = shapely.dwithin(frame.geometry.to_numpy(), ground, reach)
            columns = [c for c in ("half_width_ft",) if c in frame.columns]
            frames.append(gpd.GeoDataFrame(frame[near][columns], geometry=frame.geometry[near]))
        features = pd.concat([frame for frame in frames if len(frame)] or frames[:1])
        if len(features) == 0:
            return None
        features = gpd.GeoDataFrame(features.reset_index(drop=True), crs=self.crs)
        return buffer_zone(features, self.buffer_ft).to_frame("geometry")

    def given(self, kind: str) -> bool:
        """Whether there is a layer of a kind, with or without features."""
        return kind in self.layers

    def frame(self, kind: str) -> gpd.GeoDataFrame:
        """The usable features of a kind, none where there is no such layer."""
        import geopandas as gpd
        import shapely

        if kind not in self.layers:
            return gpd.GeoDataFrame({"id": []}, geometry=[], crs=self.crs)
        frame = self.layers[kind]
        geoms = np.asarray(frame.geometry.array, dtype=object)
        return frame[~(shapely.is_missing(geoms) | shapely.is_empty(geoms))]


def sheet_data(source: Any, ids: Sequence[str] | None = None) -> SheetData:
    """What to draw, from whatever was given.

    Parameters
    ----------
    source : Site, Screening or mapping of frames by kind
        A site is screened first, so that buffer and areas are those of the tables.
    ids : sequence of str, optional
        The parcels or footprints that the sheet is about; all where it is not given.

    Raises
    ------
    InputError
        Without anything to draw, or on an id that is not there.
    GeometryError
        On frames of several coordinate systems.
    """
    if hasattr(source, "measures") and hasattr(source, "findings"):
        return _from_screening(source, ids)
    if hasattr(source, "with_layers"):
        return _from_site(source, ids)
    if isinstance(source, Mapping):
        return _from_frames(source, ids)
    raise InputError(
        f"a sheet cannot be drawn from a {type(source).__name__}.",
        needed="a site, a screening, or a mapping of frames by kind",
    )


def _from_frames(source: Mapping[str, Any], ids: Sequence[str] | None) -> SheetData:
    """Frames by kind, ``buffer`` among them; the first one's CRS is the sheet's."""
    from wetgis.crs import require_same_crs

    valid = (*KINDS, "buffer")
    strange = [kind for kind in source if kind not in valid]
    if strange:
        raise GeometryError(f"'{strange[0]}' is no kind of layer.", needed=f"of {', '.join(valid)}")
    layers = {kind: frame for kind, frame in source.items() if frame is not None}
    if not layers:
        raise InputError("there is nothing to draw.", needed="at least one layer")
    crs = require_same_crs(*layers.values())
    return SheetData("", crs, layers, _chosen(layers, ids, crs))


def _from_screening(source: Any, ids: Sequence[str] | None) -> SheetData:
    """A screening: its subjects and the layers that it keeps for maps."""
    measures = source.measures
    layers = {kind: frame for kind, frame in source.layers.items() if kind != "buffer"}
    for kind, name in (("parcel", "parcels"), ("footprint", "footprints")):
        rows = measures[measures["subject_kind"] == kind]
        if len(rows):
            layers[name] = rows.assign(id=rows["subject_id"]).reset_index(drop=True)
    options = dict(source.provenance.get("options", {}))
    as_of = options.get("as_of")
    buffers = [
        pack.measure.buffer_ft for pack in source.packs if pack.measure.buffer_ft is not None
    ]
    stated = (options.get("measure") or {}).get("buffer_ft")
    return SheetData(
        source.title,
        measures.crs,
        layers,
        _chosen(layers, ids, measures.crs),
        tuple(source.packs),
        measures=measures,
        buffer_ft=float(stated if stated is not None else buffers[0] if buffers else nan),
        buffer_regulated=not source.packs or any(p.regulates_buffer for p in source.packs),
        as_of=datetime.date.fromisoformat(str(as_of)) if as_of else None,
        sources=_sources(layers),
        issues=_worst(source.issues),
    )


def _from_site(site: Any, ids: Sequence[str] | None) -> SheetData:
    """A site: screened, with every layer and its DEM beside."""
    from wetgis.rasters.surface import open_surface
    from wetgis.screening import assess

    layers = {kind: layer.frame for kind, layer in site.layers.items()}
    subjects = _chosen(layers, ids, site.crs)
    measures, issues = None, site.issue_frame()
    if len(subjects):
        found = assess(site, None if ids is None else list(subjects["id"]))
        measures, issues = found.measures, found.issues
    dem = open_surface(site.rasters["dem"]) if "dem" in site.rasters else None
    return SheetData(
        site.title,
        site.crs,
        layers,
        subjects,
        site.packs,
        dem=dem,
        measures=measures,
        buffer_ft=site.measure.buffer_ft,
        buffer_regulated=site.measure.buffer_regulated or not site.packs,
        combined_factor=site.combined_factor,
        as_of=site.as_of,
        sources=_sources(layers),
        complete=frozenset(k for k, layer in site.layers.items() if layer.extent is not None),
        issues=_worst(issues),
    )


def _chosen(
    layers: Mapping[str, gpd.GeoDataFrame], ids: Sequence[str] | None, crs: Any
) -> gpd.GeoDataFrame:
    """The parcels and footprints that the sheet is about."""
    import geopandas as gpd
    import pandas as pd

    frames = []
    wanted = None if ids is None else [str(i) for i in ([ids] if isinstance(ids, str) else ids)]
    for kind in ("parcels", "footprints"):
        if kind in layers:
            frame = layers[kind]
            rows = frame if wanted is None else frame[frame["id"].isin(wanted)]
            frames.append(gpd.GeoDataFrame({"id": rows["id"].tolist()}, crs=crs,
                                           geometry=list(rows.geometry)))  # fmt: skip
    if not frames:
        return gpd.GeoDataFrame({"id": []}, geometry=[], crs=crs)
    found = gpd.GeoDataFrame(pd.concat(frames, ignore_index=True), crs=crs)
    missing = sorted(set(wanted or ()) - set(found["id"]))
    if missing:
        raise InputError(
            f"there is no parcel or footprint '{missing[0]}'.", needed="ids as they are"
        )
    return found


def _sources(layers: Mapping[str, gpd.GeoDataFrame]) -> tuple[tuple[str, str], ...]:
    """Each layer's sources in a line: file, basis, date, accuracy."""
    lines = []
    for kind, frame in layers.items():
        if kind == "buffer" or "source" not in frame.columns:
            continue
        for name, rows in frame.groupby("source", sort=True):
            lines.append((kind, _about(str(name), rows)))
    return tuple(lines)


def _about(name: str, rows: gpd.GeoDataFrame) -> str:
    """One source: what is the same for all of its features."""
    parts = [name]
    for column, words in (("basis", "{}"), ("source_date", "dated {}")):
        values = _values(rows, column)
        if values:
            parts.append(words.format(", ".join(values[:3]).replace("_", " ")))
    if "accuracy_ft" in rows.columns and rows["accuracy_ft"].notna().any():
        worst = float(rows["accuracy_ft"].max())
        if isfinite(worst):
            parts.append(f"\u00b1{worst:g} ft at 95 %")
    return "; ".join(parts)


def _values(rows: gpd.GeoDataFrame, column: str) -> list[str]:
    """The texts that a column holds, without empty ones."""
    if column not in rows.columns:
        return []
    texts = rows[column].dropna().astype(str)
    return sorted(set(texts[~texts.isin(["", "nan", "NaT", "None"])]))


def _worst(issues: pd.DataFrame) -> tuple[str, ...]:
    """Errors and warnings in a line each, equal ones once."""
    rows = issues[issues["severity"].isin(["error", "warning"])]
    lines = (rows["layer"].where(rows["layer"] != "", "input") + ": " + rows["message"]).tolist()
    return tuple(dict.fromkeys(lines))
