"""From field flags to a boundary, its polygon, and what can be said against it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from wetgis.delineation.area import DRAWS, SIGMAS_95
from wetgis.delineation.lines import Checks, Part, in_line, label, xy
from wetgis.delineation.shape import Closer, Line, check_legs, turns_deg
from wetgis.delineation.wetlands import check_accuracy, check_series, wetlands_of
from wetgis.errors import InputError, OutputError, UsageError

if TYPE_CHECKING:
    import geopandas as gpd
    import pandas as pd

__all__ = ["Delineation", "delineate"]

Floats = npt.NDArray[np.float64]

BOUNDARY_COLUMNS = ("series", "part", "kind", "closed", "closed_by", "n_flags", "length_ft",
                    "closing_ft")  # fmt: skip


@dataclass(frozen=True)
class Delineation:
    """What `delineate` returns.

    Attributes
    ----------
    boundaries : GeoDataFrame
        A line a series (and part of it, where a mark breaks it): ``series``, ``part``, ``kind``
        (``flag``, ``stream``, ``tie``), ``closed``, ``closed_by`` (``flags``, ``straight``,
        ``line``), ``n_flags``, ``length_ft``, ``closing_ft`` (from the last flag to the first).
    wetlands : GeoDataFrame
        A polygon a closed series: ``id``, ``area_sqft``, ``area_low_sqft`` and
        ``area_high_sqft`` (95 % of the Monte Carlo), ``area_sd_sqft`` (closed form),
        ``area_drawn_sd_sqft`` (Monte Carlo), ``perimeter_ft``, ``accuracy_ft`` (the worst flag's).
        A series that crosses itself has no geometry and NaN.
    checks : DataFrame
        ``series``, ``number``, ``severity``, ``code`` (of `wetgis.delineation.lines.CHECKS`),
        ``message``, ``distance_ft``.
    points : GeoDataFrame
        Every flag of the input that has a position: ``series``, ``number``, ``name``, ``kind``,
        ``mark``, ``part`` and ``position`` in it (0 where it is not used), ``next_ft`` and
        ``next_azimuth_deg`` to the flag after it, ``turn_deg``, ``accuracy_ft``, ``row``.
    provenance : dict
        Plain JSON: what was done, with which numbers.
    """

    boundaries: gpd.GeoDataFrame
    wetlands: gpd.GeoDataFrame
    checks: pd.DataFrame
    points: gpd.GeoDataFrame
    provenance: dict[str, Any]

    def write(self, path: str | Path) -> Path:
        """Write a GeoPackage with the four tables as layers.

        Parameters
        ----------
        path : str or Path
            Ends in ``.gpkg``. Replaced only when all is written.

        Returns
        -------
        Path

        Raises
        ------
        OutputError
            Where the name does not end in ``.gpkg`` or the folder is not there.
        """
        return _write(self, Path(path))


def delineate(
    flags: gpd.GeoDataFrame | str | Path,
    *,
    series: str = "series",
    number: str = "number",
    close: bool | Collection[str] = False,
    closing_line: Any = None,
    accuracy_ft: float | None = None,
    seed: int = 0,
    islands: Collection[str] = (),
) -> Delineation:
    """Turn flags into boundaries, wetlands and checks.

    Parameters
    ----------
    flags : GeoDataFrame or path
        Points with a series and a number, or with names (``A-1``, ``A-27 END``, ``STREAM-3``);
        see `wetgis.flags.flag_table`. A path is read with `wetgis.flags.read_flags`.
    series, number : str
        The columns' names. Without a column ``series`` the names are taken apart.
    close : bool or names of series
        Close open series by a straight line from the last flag to the first: all that no mark
        breaks, or those named. Nothing is closed that was not asked for; a series whose last
        flag stands exactly on its first is closed as it is.
    closing_line : LineString, GeoSeries, GeoDataFrame or name of a series, optional
        Close open series (all, or those in ``close``) along this line, a parcel's for example;
        the outlines of polygons are taken. From each end the boundary is led straight to it.
    accuracy_ft : float, optional
        Horizontal accuracy at 95 % of flags that state none in a column ``accuracy_ft``.
    seed : int
        Of the Monte Carlo.
    islands : names of series
        Closed series of upland, cut out of the wetland around them.

    Returns
    -------
    Delineation

    Raises
    ------
    InputError, CrsError
        Without flags, names or a CRS.
    UsageError
        Where ``close``, ``closing_line`` or ``islands`` name a series that is not there.

    Notes
    -----
    Flags follow each other by number and letter (``A-9, A-10, A-10A, A-11``), whatever the
    file's order; each difference from it is a check. Measures are on the grid of the CRS. Where
    that must not be measured in the flags are reprojected first, and a check says to what.
    For the area's interval see `wetgis.delineation.area`.

    Examples
    --------
    >>> import geopandas
    >>> from shapely import Point
    >>> flags = geopandas.GeoDataFrame({"series": "A", "number": [1, 2, 3, 4]}, crs="EPSG:2260",
    ...     geometry=[Point(0, 0), Point(100, 0), Point(100, 100), Point(0, 100)])
    >>> open_, closed = delineate(flags), delineate(flags, close=True, accuracy_ft=2)
    >>> len(open_.wetlands), float(open_.boundaries.length_ft[0]), open_.checks.code.tolist()
    (0, 300.0, ['open', 'no_accuracy'])
    >>> closed.wetlands[["area_sqft", "area_sd_sqft"]].round(1).values.tolist()
    [[10000.0, 115.6]]
    """
    if seed < 0:
        raise UsageError(f"seed is {seed}.", needed="0 or more")
    table, steps = _table(flags, series, number)
    checks, ft = steps.checks, steps.ft
    if accuracy_ft is not None:
        table["accuracy_ft"] = table["accuracy_ft"].fillna(float(accuracy_ft))
    parts = in_line(table, ft, checks)
    lines = [_line(table, part, ft) for part in parts]
    closer = Closer(lines, close, closing_line, table.crs, checks)
    lines = [closer.close(line, part.whole, ft) for line, part in zip(lines, parts, strict=True)]
    for line in lines:
        check_legs(line, ft, checks)
    check_accuracy(lines, checks)
    check_series(lines, checks)
    wetlands = wetlands_of(lines, table.crs, ft, seed=seed, islands=islands, checks=checks)
    boundaries = _boundaries(lines, table.crs, ft)
    provenance = {
        **steps.provenance,
        "accuracy_ft": accuracy_ft,
        "sigmas_95": SIGMAS_95,
        "seed": seed,
        "draws": DRAWS,
        "closed": sorted(line.series for line in lines if line.closed),
    }
    return Delineation(boundaries, wetlands, checks.frame(), _points(table, parts, ft), provenance)


@dataclass(frozen=True)
class _Start:
    """What reading the flags leaves beside them."""

    checks: Checks
    ft: float
    provenance: dict[str, Any]


def _table(flags: Any, series: str, number: str) -> tuple[gpd.GeoDataFrame, _Start]:
    """Flags taken apart, in a CRS to measure in."""
    from wetgis.crs import (
        ft_per_unit,
        measuring_reason,
        require_measuring_crs,
        suggest_crs,
        transform,
    )
    from wetgis.flags import flag_table, read_flags

    checks = Checks()
    frame = read_flags(flags) if isinstance(flags, str | Path) else flags
    if len(frame) == 0 or frame.geometry.isna().all():
        raise InputError("there are no flags.", needed="points with a position")
    table = flag_table(frame, series=series, number=number)
    ambiguous = table.attrs
    provenance: dict[str, Any] = {"flags": len(frame)}
    reason = measuring_reason(table) if table.crs is not None else ""
    if reason:
        target = suggest_crs(table)
        table, operation = transform(table, target)
        checks.add("note", "reprojected", f"{reason} The flags are measured in {target.name}.")
        provenance["operation"] = operation.as_json()
    crs = require_measuring_crs(table)
    table.attrs = ambiguous
    provenance["crs"] = crs.to_string()
    return table, _Start(checks, ft_per_unit(crs), provenance)


def _line(table: gpd.GeoDataFrame, part: Part, ft: float) -> Line:
    """The corners of a part."""
    sigma = table["accuracy_ft"].to_numpy()[part.rows] / SIGMAS_95 / ft
    return Line(
        part.series,
        part.part,
        part.kind,
        xy(table, part.rows),
        sigma,
        tuple(label(table, row) for row in part.rows),
        tuple(table["number"].iloc[part.rows]),
    )


def _boundaries(lines: list[Line], crs: Any, ft: float) -> gpd.GeoDataFrame:
    """A line a part; a part of one flag has no line and is only in the checks."""
    import geopandas as gpd
    import shapely

    drawn = [line for line in lines if len(line.xy) > 1]
    rows = [
        {
            "series": line.series,
            "part": line.part,
            "kind": line.kind,
            "closed": line.closed,
            "closed_by": line.closed_by,
            "n_flags": sum(map(bool, line.names)),
            "length_ft": float(np.hypot(*np.diff(line.corners(), axis=0).T).sum() * ft),
            "closing_ft": line.closing(ft),
        }
        for line in drawn
    ]
    geometry = [shapely.linestrings(line.corners()) for line in drawn]
    frame = gpd.GeoDataFrame(rows, columns=list(BOUNDARY_COLUMNS), geometry=geometry, crs=crs)
    return frame.astype({"series": "str", "kind": "str", "closed_by": "str", "closed": bool})


def _points(table: gpd.GeoDataFrame, parts: list[Part], ft: float) -> gpd.GeoDataFrame:
    """Every flag with a position: where it stands in its line, and what follows it."""
    from wetgis.delineation.bearings import azimuth_deg

    out = table[["series", "number", "name", "kind", "mark", "accuracy_ft", "row"]].copy()
    part, position = np.zeros(len(table), dtype=int), np.zeros(len(table), dtype=int)
    after = np.full((3, len(table)), np.nan)
    for stretch in parts:
        rows, corners = stretch.rows, xy(table, stretch.rows)
        part[rows], position[rows] = stretch.part, np.arange(1, len(rows) + 1)
        if len(rows) > 1:
            dx, dy = np.diff(corners, axis=0).T
            after[0, rows[:-1]], after[1, rows[:-1]] = np.hypot(dx, dy) * ft, azimuth_deg(dx, dy)
            after[2, rows] = turns_deg(corners, closed=False)
    out.insert(5, "part", part)
    out.insert(6, "position", position)
    for name, values in zip(("next_ft", "next_azimuth_deg", "turn_deg"), after, strict=True):
        out[name] = values
    out = out.set_geometry(table.geometry)
    out.attrs = {}
    placed = ~(table.geometry.isna() | table.geometry.is_empty).to_numpy()
    return out[placed].reset_index(drop=True)


def _write(result: Delineation, path: Path) -> Path:
    """All tables into one GeoPackage, under a temporary name first."""
    import json

    import pandas as pd
    import pyogrio

    if path.suffix.lower() != ".gpkg":
        raise OutputError(f"'{path.name}' is no GeoPackage.", needed="a name that ends in .gpkg")
    if not path.parent.is_dir():
        raise OutputError(f"the folder {path.parent} is not there.", mend="make it first")
    part = path.with_name(f".{path.stem}.part.gpkg")
    part.unlink(missing_ok=True)
    try:
        for name, kind in (("wetlands", "Polygon"), ("boundaries", "LineString"),
                           ("points", "Point")):  # fmt: skip
            frame = getattr(result, name)
            pyogrio.write_dataframe(frame, part, layer=name, geometry_type=kind)
        pyogrio.write_dataframe(result.checks, part, layer="checks")
        rows = [(key, json.dumps(value)) for key, value in result.provenance.items()]
        provenance = pd.DataFrame(rows, columns=["key", "value"])
        pyogrio.write_dataframe(provenance, part, layer="provenance")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return path
