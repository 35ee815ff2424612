"""A site: its layers in one CRS that may be measured in, the law in force, and what to know.

A site is made once and never changes; what is said about the input stands in its issues.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import isfinite, nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wetgis.errors import SiteError
from wetgis.issuelog import Issue
from wetgis.schema import KINDS, SUBJECT_LAYERS
from wetgis.siteassembly import joined_layers, read_all
from wetgis.siteconfig import (
    SiteKeys,
    check_kind,
    is_raster,
    read_toml,
    site_keys,
    unknown_key,
)
from wetgis.sitelayers import (
    Given,
    Layer,
    Piece,
    RasterLayer,
    SiteLayer,
    givens,
    read_raster,
)

if TYPE_CHECKING:
    import pandas as pd
    from pyproj import CRS

    from wetgis.packs import Pack

__all__ = ["Layer", "Measure", "RasterLayer", "Site", "SiteLayer", "read_site"]

#: The numbers of ``[measure]``, and the layers that they are about.
_MEASURED_ON = {
    "buffer_ft": ("wetlands", "watercourses"),
    "hydric_pct": ("soils",),
    "steep_pct": ("dem", "dem_proposed", "slope"),
}


@dataclass(frozen=True)
class Measure:
    """What to measure with: NaN where neither the site nor a pack states the number."""

    buffer_ft: float = nan
    hydric_pct: float = nan
    steep_pct: float = nan
    buffer_regulated: bool = False


@dataclass(frozen=True, eq=False)
class Site:
    """Layers in one working CRS, the packs in force with their overrides, and the issues.

    Made by `read_site`, `Site.from_layers` or `Site.with_layers`; frozen.

    Parameters
    ----------
    title : str
        As given.
    crs : CRS
        The working CRS, fit to measure in.
    as_of : date
        The day whose law and whose features are taken.
    strict : bool
        Whether doubtful input raises instead of being an issue.
    combined_factor : float or None
        Grid to ground, where it was stated.
    measure : Measure
        The buffer's width and the thresholds of hydric soil and steep ground.
    facts : dict
        What no layer tells; a column of the same name on a footprint or parcel wins.
    packs : tuple of Pack
        In the order given.
    layers, rasters : dict
        `SiteLayer` and `RasterLayer` by kind.
    issues : tuple of Issue
        Everything that the reader of a result must know about the input.
    spec : dict
        The options as given, plain JSON.
    """

    title: str
    crs: CRS
    as_of: datetime.date
    strict: bool
    combined_factor: float | None
    measure: Measure
    facts: dict[str, Any]
    packs: tuple[Pack, ...]
    layers: dict[str, SiteLayer]
    rasters: dict[str, RasterLayer]
    issues: tuple[Issue, ...]
    spec: dict[str, Any]
    _given: dict[str, tuple[Given, ...]] = field(default_factory=dict, repr=False)
    _pieces: dict[str, tuple[Piece, ...]] = field(default_factory=dict, repr=False)
    _own: tuple[Issue, ...] = field(default=(), repr=False)
    _where: str = field(default="", repr=False)
    #: the folder whose layers are on disk; None where they are in memory
    _store: Path | None = field(default=None, repr=False)
    #: what the engine has made ready of this very site; a changed site begins anew
    _ready: dict[str, Any] = field(init=False, default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_layers(cls, **layers_and_keys: Any) -> Site:
        """Make a site in Python.

        Parameters
        ----------
        **layers_and_keys
            Layers by kind: a frame, a path, a `wetgis.Layer` or a list of them (None: not given).
            And the keys of a ``site.toml``: ``title``, ``packs`` (ids, paths or `Pack`), ``crs``,
            ``as_of``, ``strict``, ``combined_factor``, ``measure``, ``facts``, ``overrides``.
            ``store``: a folder in which the layers are kept instead of in memory.
            Frames are copied, never changed. Paths are relative to the working directory.

        Returns
        -------
        Site
            Frozen.

        Raises
        ------
        SiteError
            On a key or kind that is not known, or a value that cannot be used.
        CrsError, InputError
            On a layer that cannot be read, has no CRS or a contradicted one, or lies more than
            25 miles from the subjects.

        Examples
        --------
        >>> import geopandas, shapely
        >>> lot = geopandas.GeoDataFrame(
        ...     {"id": ["91.-1-30"]}, geometry=[shapely.box(717000, 783000, 717200, 783100)],
        ...     crs="EPSG:2260")
        >>> site = Site.from_layers(parcels=lot, packs=[], measure={"buffer_ft": 100})
        >>> site.crs.to_epsg(), list(site.layers["parcels"].frame["id"])
        (2260, ['91.-1-30'])
        """
        store = layers_and_keys.pop("store", None)
        keys = {k: v for k, v in layers_and_keys.items() if k not in KINDS}
        layers = {k: v for k, v in layers_and_keys.items() if k in KINDS and v is not None}
        valid = [*SiteKeys.model_fields, *KINDS]
        for key in keys:
            if key not in SiteKeys.model_fields:
                raise unknown_key(key, valid, place="", where="Site.from_layers")
        kept = None if store is None else Path(store)
        return _site(keys, layers, base=None, where="", store=kept)

    def with_layers(self, **layers: Any) -> Site:
        """The same site with some layers replaced, added, or (None) left out.

        The working CRS, the packs and every other layer stay as they are.

        Examples
        --------
        >>> import geopandas, shapely
        >>> lot = geopandas.GeoDataFrame(
        ...     {"id": ["1"]}, geometry=[shapely.box(717000, 783000, 717200, 783100)],
        ...     crs="EPSG:2260")
        >>> site = Site.from_layers(parcels=lot).with_layers(wetlands=lot)
        >>> sorted(site.layers)
        ['parcels', 'wetlands']
        """
        given, pieces, rasters = dict(self._given), dict(self._pieces), dict(self.rasters)
        for kind, value in layers.items():
            check_kind(kind, where="Site.with_layers")
            given.pop(kind, None)
            pieces.pop(kind, None)
            rasters.pop(kind, None)
            if value is not None:
                given[kind] = givens(kind, value, base=None, where="Site.with_layers")
        spec = {**self.spec, "layers": _layers_json(given)}
        return _assemble(replace(self, spec=spec, rasters=rasters, _given=given, _pieces=pieces))

    @property
    def reach_ft(self) -> float:
        """The largest distance that the site's packs or its buffer ask about, in feet."""
        stated = [self.measure.buffer_ft, *(float(p.reach_ft) for p in self.packs)]
        return max((d for d in stated if isfinite(d)), default=0.0)

    def issue_frame(self) -> pd.DataFrame:
        """The issues as the table that the contract describes."""
        from wetgis.issuelog import issue_frame

        return issue_frame(self.issues)


def read_site(path: str | Path, *, store: str | Path | None = None, **keys: Any) -> Site:
    r"""Read a ``site.toml`` and every layer it names.

    Parameters
    ----------
    path : str or Path
        The file. Paths in it are relative to it.
    store : path, optional
        A folder in which the layers are kept, instead of in memory, as long as the site is used;
        see `wetgis.screen_to`.
    **keys
        Keys of a site (``as_of``, ``strict``, ``packs`` ...) that replace those of the file.

    Returns
    -------
    Site
        Frozen; what was found about the input stands in ``.issues``.

    Raises
    ------
    SiteError
        On a missing file, a key that is not known (the nearest known one and its place in the
        file are named) or a value that cannot be used.
    CrsError, InputError
        On a layer that cannot be used; see `Site.from_layers`.

    Examples
    --------
    >>> import pathlib, tempfile, geopandas, shapely
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> lot = geopandas.GeoDataFrame(
    ...     {"PRINT_KEY": ["91.-1-30"]}, crs="EPSG:2260",
    ...     geometry=[shapely.box(717000, 783000, 717200, 783100)])
    >>> lot.to_file(folder / "lots.gpkg")
    >>> keys = 'packs = []\n[layers.parcels]\npath = "lots.gpkg"\nid = "PRINT_KEY"'
    >>> _ = (folder / "site.toml").write_text(keys)
    >>> site = read_site(folder / "site.toml", as_of="2026-11-30")
    >>> site.as_of.year, list(site.layers["parcels"].frame["id"])
    (2026, ['91.-1-30'])
    """
    where = str(path)
    data = read_toml(path)
    layers = data.pop("layers", {})
    if not isinstance(layers, Mapping):
        raise SiteError("'layers' is no table.", needed="[layers.parcels] and so on", where=where)
    for kind in layers:
        check_kind(kind, where=where)
    site_keys(data, where=where)  # the file's own mistakes first, with its own name
    data.update({k: v for k, v in keys.items() if v is not None})
    kept = None if store is None else Path(store)
    return _site(data, layers, base=Path(path).resolve().parent, where=where, store=kept)


def _site(
    data: Mapping[str, Any],
    layers: Mapping[str, Any],
    *,
    base: Path | None,
    where: str,
    store: Path | None = None,
) -> Site:
    """Check the keys, load the law, then the layers."""
    named, ready = _packs_by_name(data.get("packs", []), where)
    data = {**data, "packs": named} if "packs" in data else dict(data)
    if data.get("crs") is not None and not isinstance(data["crs"], str):
        data["crs"] = _crs_text(data["crs"], where)
    keys = site_keys(data, where=where)
    as_of = keys.as_of or datetime.date.today()
    packs = _packs(keys, ready, as_of, base, where)
    given = {k: givens(k, v, base=base, where=where) for k, v in layers.items()}
    site = Site(
        title=keys.title,
        crs=None,  # chosen in the next step, from the data
        as_of=as_of,
        strict=keys.strict,
        combined_factor=keys.combined_factor,
        measure=_measure(keys, packs),
        facts=dict(keys.facts),
        packs=packs,
        layers={},
        rasters={},
        issues=(),
        spec={**keys.as_json(), "layers": _layers_json(given)},
        _given=given,
        _where=where,
        _store=store,
    )
    return _assemble(_with_crs(site, keys.crs))


def _layers_json(given: Mapping[str, tuple[Given, ...]]) -> dict[str, Any]:
    return {kind: [one.as_json() for one in several] for kind, several in given.items()}


def _crs_text(value: Any, where: str) -> str:
    from wetgis.crs import as_crs

    return str(as_crs(value, where=where).to_string())


def _packs_by_name(packs: Any, where: str) -> tuple[list[str], dict[str, Pack]]:
    """The packs as text; those that are objects already, by that text."""
    if isinstance(packs, str) or not isinstance(packs, list | tuple):
        raise SiteError(f"packs = {packs!r} is no list.", needed='packs = ["id"]', where=where)
    names: list[str] = []
    ready: dict[str, Pack] = {}
    for pack in packs:
        if isinstance(pack, str | Path):
            names.append(str(pack))
        elif hasattr(pack, "id") and hasattr(pack, "override"):
            names.append(str(pack.id))
            ready[str(pack.id)] = pack
        else:
            raise SiteError(f"{pack!r} is no pack.", needed="an id, a path or a Pack", where=where)
    return names, ready


def _packs(
    keys: SiteKeys, ready: Mapping[str, Pack], as_of: datetime.date, base: Path | None, where: str
) -> tuple[Pack, ...]:
    """The packs in force on the day, with the overrides applied."""
    if not keys.packs and not keys.overrides:
        return ()
    from wetgis.packs import load_pack

    packs: dict[str, Pack] = {}
    for name in keys.packs:
        # a path in a site file is relative to it; an id is not a path
        path = base / name if base is not None and name.endswith(".toml") else name
        pack = load_pack(ready.get(name, path), as_of=as_of)
        if pack.id in packs:
            raise SiteError(f"the pack '{pack.id}' is named twice.", where=where)
        packs[pack.id] = pack
    for change in keys.overrides:
        if change.pack not in packs:
            raise SiteError(
                f"overrides: the pack '{change.pack}' is not in force here.",
                needed=f"one of {', '.join(packs) or 'the packs that this site names'}",
                where=where,
            )
        packs[change.pack] = packs[change.pack].override(
            change.parameter,
            value=change.value,
            unit=change.unit,
            comparison=change.comparison,
            cite=change.cite,
        )
    return tuple(packs.values())


def _measure(keys: SiteKeys, packs: tuple[Pack, ...]) -> Measure:
    """Each number: the site's, else that of the first pack that states one, else NaN."""
    found: dict[str, float] = {}
    for name in _MEASURED_ON:
        stated = [getattr(keys.measure, name), *(getattr(p.measure, name, None) for p in packs)]
        found[name] = next((float(v) for v in stated if v is not None and v == v), nan)
    return Measure(**found, buffer_regulated=any(p.regulates_buffer for p in packs))


def _missing_parameters(site: Site) -> list[Issue]:
    """An issue for each number that nothing states; a warning where a layer needs it."""
    there = {*site.layers, *site.rasters}
    issues = []
    for name, kinds in _MEASURED_ON.items():
        if isfinite(getattr(site.measure, name)):
            continue
        needed = [k for k in kinds if k in there]
        issues.append(
            Issue("warning" if needed else "note", "no_parameter",
                  f"measure.{name} is stated neither by the site nor by a pack",
                  layer=needed[0] if needed else "", effect="what it measures is not known (NaN)")
        )  # fmt: skip
    return issues


def _with_crs(site: Site, asked: str | None) -> Site:
    """Choose the working CRS: the one asked for, else the packs', else what suits the subjects.

    The subjects (else the first layer that has a geometry) are read for it; what was read is
    kept where it fits.
    """
    from wetgis.crs import as_crs, fit_to_measure, label, suggest_crs

    where = site._where
    named = asked or next((p.crs for p in site.packs if p.crs), None)
    wanted = as_crs(named, where=where) if named else None
    pieces = _read_for_crs(site, wanted)
    frames = [p.frame for several in pieces.values() for p in several if _has_bounds(p.frame)]
    if wanted is None:
        if not frames:
            raise SiteError(
                "nothing says which coordinate system to measure in: no layer has a geometry.",
                needed="a layer with a geometry, a pack, or crs",
                where=where,
            )
        better = _suggested(pieces) or suggest_crs(frames[0])
        return replace(site, crs=better, _pieces=_kept(pieces, better))
    boxes = [_bounds(f) for f in frames] or [(nan, nan, nan, nan)]
    reason = next((r for box in boxes if (r := fit_to_measure(wanted, box))), "")
    if not reason:
        return replace(site, crs=wanted, _pieces=pieces)
    if not frames:
        raise SiteError(f"{reason}; nothing may be measured in it.", where=where)
    better = suggest_crs(frames[0])
    unfit = Issue(
        "warning",
        "unfit_crs",
        f"{reason}; the layers were reprojected from {label(wanted)} to {label(better)}",
        effect=f"all measures are taken in {label(better)}",
    )
    return replace(site, crs=better, _own=(*site._own, unfit))


def _read_for_crs(site: Site, wanted: CRS | None) -> dict[str, tuple[Piece, ...]]:
    """The subjects, in the CRS that is wanted; without any geometry in them, further layers."""
    vectors = [k for k in site._given if not is_raster(k)]
    subjects = [k for k in SUBJECT_LAYERS if k in vectors]
    pieces = {k: read_all(k, site._given[k], wanted, site._store) for k in subjects}
    for kind in (k for k in vectors if k not in subjects):
        if any(_has_bounds(p.frame) for several in pieces.values() for p in several):
            break
        pieces[kind] = read_all(kind, site._given[kind], wanted, site._store)
    return pieces


def _suggested(pieces: Mapping[str, tuple[Piece, ...]]) -> CRS | None:
    """What an index was told to be the CRS that suits the parcels; None without an index."""
    index = pieces["parcels"][0].index if "parcels" in pieces else None
    return index.crs if index is not None else None


def _kept(pieces: Mapping[str, tuple[Piece, ...]], crs: CRS) -> dict[str, tuple[Piece, ...]]:
    """Pieces that need not be read again: in this CRS already, and without a layer beside them."""
    from wetgis.crs import same_crs

    return {
        kind: tuple(p.in_crs(crs) for p in several)
        for kind, several in pieces.items()
        if all(same_crs(p.frame.crs, crs) and p.polygons is None for p in several)
    }


def _has_bounds(frame: Any) -> bool:
    return bool(len(frame)) and bool(isfinite(float(frame.total_bounds[0])))


def _bounds(frame: Any) -> tuple[float, float, float, float]:
    low_x, low_y, high_x, high_y = (float(v) for v in frame.total_bounds)
    return low_x, low_y, high_x, high_y


def _assemble(site: Site) -> Site:
    """Read what is not read yet, join each kind, and look at the layers side by side."""
    from wetgis import sitechecks as checks
    from wetgis.crs import ft_per_unit

    layers, pieces = joined_layers(site)
    rasters = {
        k: site.rasters.get(k) or read_raster(site._given[k])
        for k in KINDS
        if k in site._given and is_raster(k)
    }
    site = replace(site, layers=layers, rasters=rasters, _pieces=pieces)
    ft = ft_per_unit(site.crs)
    issues = [*site._own]
    issues += [i for layer in layers.values() for i in layer.issues]
    issues += [i for raster in rasters.values() for i in raster.issues]
    issues += checks.side_by_side(layers, rasters, site.crs, reach_ft=site.reach_ft)
    issues += checks.layer_notes(layers)
    issues += checks.reaching(layers, reach_ft=site.reach_ft, ft=ft)
    issues += _missing_parameters(site)
    if site.strict:
        checks.refuse_if_strict(layers, ft=ft)
    return replace(site, issues=tuple(issues))
