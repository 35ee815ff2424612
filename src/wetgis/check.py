"""What ``wetgis check`` says: each file's layers, whether they can be measured, what is wrong.

Nothing is screened here, and nothing is written unless a repaired copy is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wetgis.errors import InputError, UsageError, WetgisError
from wetgis.issuelog import Issue, issue_frame

if TYPE_CHECKING:
    import geopandas as gpd
    import pandas as pd

    from wetgis.site import Site

__all__ = ["LAYER_COLUMNS", "CheckReport", "check_files", "check_site", "write_repaired"]

LAYER_COLUMNS = (
    "file",
    "layer",
    "kind",
    "geometry",
    "features",
    "usable",
    "ids",
    "repeated_ids",
    "crs",
    "fit_to_measure",
    "unfit_because",
    "extent",
)
_RASTERS = {".tif", ".tiff", ".img", ".asc", ".vrt", ".jp2"}
_EXAMPLES = 3


@dataclass(frozen=True)
class CheckReport:
    """What was found in some files or in a site.

    Parameters
    ----------
    layers : DataFrame
        A row a layer; columns ``LAYER_COLUMNS``.
    issues : DataFrame
        The contract's columns.
    errors : tuple of str
        What stopped a file or layer from being read at all: one message each.
    """

    layers: pd.DataFrame
    issues: pd.DataFrame
    errors: tuple[str, ...] = ()
    title: str = ""
    notes: tuple[str, ...] = field(default=())

    @property
    def exit_code(self) -> int:
        """0 fine; 1 where a file cannot be read; 3 where some records cannot be used."""
        if self.errors:
            return 1
        return 3 if (self.issues["severity"] == "error").any() else 0

    def text(self) -> str:
        """The report in words."""
        lines = [self.title] if self.title else []
        lines += [_layer_in_words(row) for row in _records(self.layers)]
        lines += self.notes
        lines += _issues_in_words(self.issues)
        lines += [f"ERROR {message}" for message in self.errors]
        return "\n".join(lines)

    def as_json(self) -> dict[str, Any]:
        """The report as plain JSON."""
        from wetgis.provenance import plain
        from wetgis.schema import SCHEMA_VERSION

        return {
            "schema_version": SCHEMA_VERSION,
            "layers": plain(self.layers.to_dict("records")),
            "issues": plain(self.issues.to_dict("records")),
            "errors": list(self.errors),
            "exit_code": self.exit_code,
        }


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(k): v for k, v in row.items()} for row in table.to_dict("records")]


def _report(
    rows: list[dict[str, Any]], issues: Iterable[Issue], errors: Iterable[str], **more: Any
) -> CheckReport:
    import pandas as pd

    table = pd.DataFrame(rows, columns=list(LAYER_COLUMNS))
    return CheckReport(table, issue_frame(issues), tuple(errors), **more)


def check_files(paths: Iterable[str | Path], **keys: Any) -> CheckReport:
    """Look at every layer of some files.

    Parameters
    ----------
    paths : iterable of paths
        Vector files, archives, folders or rasters. A ``site.toml`` is for `check_site`.
    **keys
        Keys of a layer: ``layer``, ``id``, ``source_crs`` ...

    Returns
    -------
    CheckReport
        A file that cannot be read is an error in it; the others are looked at all the same.
    """
    rows: list[dict[str, Any]] = []
    issues: list[Issue] = []
    errors: list[str] = []
    for path in paths:
        if Path(path).suffix.lower() in _RASTERS:
            _look_at(errors, lambda p=path: rows.append(_raster_row(Path(p))))
            continue
        for layer in _layer_names(path, keys.get("layer"), errors):
            more = {**keys, "layer": layer} if layer else keys
            _look_at(errors, lambda p=path, k=more: _look_at_layer(p, k, rows, issues))
    return _report(rows, issues, errors)


def _look_at(errors: list[str], look: Any) -> None:
    try:
        look()
    except WetgisError as error:
        errors.append(str(error))


def _layer_names(path: str | Path, layer: str | None, errors: list[str]) -> Iterator[str | None]:
    """The layers of a file that are looked at: the one named, else all that have geometries."""
    from wetgis.sources.containers import find, list_layers

    if layer is not None:
        yield layer
        return
    try:
        found = [one for sets in find(path) for data in sets for one in list_layers(data)]
    except WetgisError as error:
        errors.append(str(error))
        return
    spatial = [one.layer for one in found if one.geometry is not None]
    if not spatial:
        errors.append(f"{path}: there is no layer with geometries in it.")
    yield from (dict.fromkeys(spatial) if len(spatial) > 1 else [None] * len(spatial))


def _look_at_layer(
    path: str | Path, keys: dict[str, Any], rows: list[dict[str, Any]], issues: list[Issue]
) -> None:
    from wetgis.sources import load
    from wetgis.sources.keys import parse_keys

    loaded = load(path, None, parse_keys(keys, where=str(path)), None)
    issues += loaded.issues
    row = _frame_row(loaded.frame)
    made = any(i.code == "generated_id" for i in loaded.issues)
    # the reader has brought it into a CRS that may be measured in; said is what the file is in
    unfit = next((i.message for i in loaded.issues if i.code == "unfit_crs"), "")
    rows.append(
        {
            **row,
            "crs": loaded.source.crs,
            "fit_to_measure": not unfit,
            "unfit_because": unfit,
            "file": str(path),
            "layer": loaded.source.layer,
            "kind": "",
            "ids": "made from the geometries" if made else "stated",
        }
    )


def _frame_row(frame: gpd.GeoDataFrame) -> dict[str, Any]:
    """What a frame is: counts, kinds of geometry, CRS, whether it may be measured in."""
    import shapely

    from wetgis.crs import label, measuring_reason

    geoms = frame.geometry.to_numpy()
    usable = ~shapely.is_missing(geoms)
    words = {0: "points", 1: "lines", 2: "polygons"}
    dims = sorted({int(d) for d in shapely.get_dimensions(geoms[usable]) if d >= 0})
    because = measuring_reason(frame)
    return {
        "geometry": " and ".join(words[d] for d in dims) or "none",
        "features": len(frame),
        "usable": int(usable.sum()),
        "repeated_ids": int(frame["id"].duplicated().sum()),
        "crs": label(frame.crs),
        "fit_to_measure": not because,
        "unfit_because": because,
        "extent": "",
    }


def _raster_row(path: Path) -> dict[str, Any]:
    """What a raster is, from its header."""
    from wetgis.crs import as_crs, fit_to_measure, label
    from wetgis.rasters.files import open_tile

    with open_tile(str(path)) as data:
        crs = as_crs(data.crs.to_wkt(), where=str(path)) if data.crs else None
        shape, bounds, nodata = data.shape, tuple(data.bounds), data.nodata
        unit = (data.units or (None,))[0]
    because = "" if crs is None else fit_to_measure(crs, bounds)
    words = f"raster of {shape[1]} x {shape[0]} cells"
    words += f", heights in {unit}" if unit else ", the unit of its heights is not stated (z_unit)"
    words += "" if nodata is None else f", without data where {nodata:g}"
    return {
        "file": str(path), "layer": "", "kind": "", "geometry": words, "features": 0, "usable": 0,
        "ids": "", "repeated_ids": 0, "crs": label(crs), "fit_to_measure": not because,
        "unfit_because": because or ("" if crs else "it has no coordinate system"), "extent": "",
    }  # fmt: skip


def check_site(path: str | Path, **keys: Any) -> CheckReport:
    """Read a site and say what it holds; where it cannot be read, what is wrong with each layer.

    Parameters
    ----------
    path : path
        A ``site.toml``.
    **keys
        Keys of a site that replace those of the file, as ``as_of``.

    Returns
    -------
    CheckReport
        Never raises on what is in the file; a mistake in it is an error of the report.
    """
    from wetgis.site import read_site

    try:
        site = read_site(path, **keys)
    except WetgisError as error:
        return _report([], [], dict.fromkeys([str(error), *_each_layer(path)]), title=str(path))
    rows = [_site_row(site, kind) for kind in site.layers]
    return _report(rows, site.issues, [], title=_title(site), notes=tuple(_site_notes(site)))


def _each_layer(path: str | Path) -> Iterator[str]:
    """The errors of the layers taken one by one, so that one mistake does not hide the next."""
    from wetgis.siteconfig import is_raster, read_toml
    from wetgis.sitelayers import givens, read, read_raster

    try:
        layers = read_toml(path).get("layers", {})
    except WetgisError:
        return  # said already
    base = Path(path).resolve().parent
    for kind, value in layers.items() if isinstance(layers, dict) else ():
        errors: list[str] = []
        try:
            several = givens(kind, value, base=base, where=str(path))
            if is_raster(kind):
                read_raster(several)
            else:
                for one in several:
                    read(one, None)
        except WetgisError as error:
            errors.append(str(error))
        yield from errors


def _site_row(site: Site, kind: str) -> dict[str, Any]:
    layer = site.layers[kind]
    made = any(i.code == "generated_id" for i in layer.issues)
    names = {Path(s.path).name: None for s in layer.sources if s.path}
    return {
        **_frame_row(layer.frame),
        "file": ", ".join(names),
        "layer": ", ".join(dict.fromkeys(s.layer for s in layer.sources if s.layer)),
        "kind": kind,
        "ids": "made from the geometries" if made else "stated",
        "extent": "not stated" if layer.extent is None else "stated",
    }


def _title(site: Site) -> str:
    from wetgis.crs import label

    packs = ", ".join(p.id for p in site.packs) or "no law pack"
    return (
        f"{site.title or 'Site'}: measured in {label(site.crs)}, {packs},"
        f" as of {site.as_of.isoformat()}"
    )


def _site_notes(site: Site) -> Iterator[str]:
    for kind, raster in site.rasters.items():
        files = ", ".join(p.name for p in raster.paths[:_EXAMPLES])
        more = ", ..." if len(raster.paths) > _EXAMPLES else ""
        yield f"{kind}: {len(raster.paths)} rasters ({files}{more})"
    numbers = {
        "buffer": (site.measure.buffer_ft, " ft"),
        "hydric from": (site.measure.hydric_pct, " %"),
        "steep above": (site.measure.steep_pct, " %"),
    }
    stated = [f"{k} {v:g}{unit}" for k, (v, unit) in numbers.items() if isfinite(v)]
    if stated:
        yield f"measures: {', '.join(stated)}"


def _layer_in_words(row: dict[str, Any]) -> str:
    name = row["kind"] or row["file"]
    inside = row["layer"] if row["layer"] and row["layer"] != Path(row["file"]).stem else ""
    source = row["file"] if row["kind"] else ""
    brackets = ", ".join(t for t in (source, f"layer {inside}" if inside else "") if t)
    head = f"{name} ({brackets})" if brackets else name
    if row["geometry"].startswith("raster"):
        text = f"{head}: {row['geometry']}"
    else:
        text = f"{head}: {row['features']:,} features, {row['geometry']}"
        if row["usable"] < row["features"]:
            text += f"; {row['features'] - row['usable']:,} without a usable geometry"
        text += f"; ids {row['ids']}"
        text += f", {row['repeated_ids']:,} repeated" if row["repeated_ids"] else ""
    text += f"; {row['crs'] or 'no coordinate system'}"
    text += ", fit to measure in" if row["fit_to_measure"] else f": {row['unfit_because']}"
    return text


def _issues_in_words(issues: pd.DataFrame) -> Iterator[str]:
    """A line for each severity, code and layer, with how many and an example."""
    if not len(issues):
        yield "No issues."
        return
    order = {"error": 0, "warning": 1, "note": 2}
    groups: dict[tuple[str, str, str, str], list[dict[str, Any]]] = {}
    for row in _records(issues):
        # records of one fault are counted; what is said of a whole layer is said in full
        words = "" if row["record_id"] else row["message"]
        groups.setdefault((row["severity"], row["code"], row["layer"], words), []).append(row)
    for (severity, code, layer, _), rows in sorted(groups.items(), key=lambda g: order[g[0][0]]):
        ids = [row["record_id"] for row in rows if row["record_id"]]
        where = f" ({layer}{': ' if layer and ids else ''}{_some(ids)})" if layer or ids else ""
        count = f" x {len(rows):,}" if len(rows) > 1 else ""
        yield f"{severity} {code}{count}{where}: {rows[0]['message']}"


def _some(ids: list[str]) -> str:
    return ", ".join(ids[:_EXAMPLES]) + (", ..." if len(ids) > _EXAMPLES else "")


def write_repaired(paths: Iterable[str | Path], out: str | Path, **keys: Any) -> list[str]:
    """Write a copy of some layers with every geometry repaired, attributes as they were.

    Parameters
    ----------
    paths : iterable of paths
        Vector files; all their layers unless ``layer`` names one.
    out : path
        Its ending says the format. Several layers need a GeoPackage.
    **keys
        Keys of a layer.

    Returns
    -------
    list of str
        The names of the layers written. A record without a usable geometry keeps its row.

    Raises
    ------
    UsageError
        Where several layers do not fit into one file, or the output is an input.
    """
    from wetgis.sources import read_layer, write_layer

    paths, out = list(paths), Path(out)
    if any(Path(p).resolve() == out.resolve() for p in paths):
        raise UsageError(f"{out} is an input.", needed="another file; inputs are never changed")
    errors: list[str] = []
    todo = [(p, name) for p in paths for name in _layer_names(p, keys.get("layer"), errors)]
    if errors:
        raise InputError(errors[0])
    if len(todo) > 1 and out.suffix.lower() != ".gpkg":
        raise UsageError(f"{len(todo)} layers do not fit into {out.name}.", needed="a .gpkg")
    written: list[str] = []
    for path, name in todo:
        frame = read_layer(path, None, **({**keys, "layer": name} if name else keys))
        target = name or Path(path).stem
        if target in written:
            target = f"{Path(path).stem}_{target}"
        write_layer(frame, out, layer=target if out.suffix.lower() == ".gpkg" else None)
        written.append(target)
    return written
