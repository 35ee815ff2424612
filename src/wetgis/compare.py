"""Two delineations of one place: where they differ, by how much, and whether it matters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wetgis.delineation import Delineation
from wetgis.errors import GeometryError, InputError
from wetgis.schema import SLIVER_FT

if TYPE_CHECKING:
    import geopandas as gpd
    import pandas as pd

    from wetgis.site import Site

__all__ = ["Comparison", "compare"]

STRIP_COLUMNS = ("strip", "only_in", "area_sqft", "width_ft", "flags_a", "flags_b", "sliver")
CASES = ("a", "b", "both", "either")
#: Flags this near a strip lie on it.
ON_STRIP_FT = 0.1
_KEYS = ["subject_kind", "subject_id", "record", "pack", "rule"]
#: Of several features' outcomes under one rule the first of these stands.
_RANK = ("met", "undetermined", "not_met")


@dataclass(frozen=True)
class Comparison:
    """What `compare` returns.

    Attributes
    ----------
    strips : GeoDataFrame
        A row a piece that only one has: ``strip``, ``only_in`` (``A``, ``B``), ``area_sqft``,
        ``width_ft`` (how far it reaches from the other's boundary), ``flags_a``, ``flags_b``
        (the flags along it, or the nearest), ``sliver`` (narrower than 0.05 ft).
    totals : DataFrame
        ``what`` (``A``, ``B``, ``both``, ``either``, ``only A``, ``only B``), ``area_sqft``.
    separation : GeoDataFrame
        The largest distance each way: ``walked`` (``A to B``, ``B to A``), ``distance_ft``,
        ``near_flags``, and the line; the larger is the Hausdorff distance.
    profile : DataFrame
        Along A's boundary: ``along_ft``, ``shift_ft`` (positive where A reaches farther),
        ``x``, ``y``.
    findings : DataFrame or None
        With a site: each subject and rule with ``outcome_a``, ``outcome_b``, ``outcome_both``,
        ``outcome_either`` and ``differs``.
    """

    strips: gpd.GeoDataFrame
    totals: pd.DataFrame
    separation: gpd.GeoDataFrame
    profile: pd.DataFrame
    findings: pd.DataFrame | None

    def summary(self) -> str:
        """The comparison in a few lines."""
        area = dict(zip(self.totals["what"], self.totals["area_sqft"], strict=True))
        far = self.separation.loc[self.separation["distance_ft"].idxmax()]
        lines = [
            f"A has {area['A']:,.1f} sq ft, B {area['B']:,.1f}; {area['both']:,.1f} are in both.",
            f"Only in A {area['only A']:,.1f} sq ft, only in B {area['only B']:,.1f}, in "
            f"{len(self.strips)} strips.",
            f"They stand farthest apart by {far.distance_ft:,.2f} ft, near {far.near_flags}.",
        ]
        if self.findings is not None:
            n = int(self.findings["differs"].sum())
            lines.append(f"{n} of {len(self.findings)} findings turn with the choice.")
        return "\n".join(lines)


def compare(
    a: Any,
    b: Any,
    *,
    site: Site | None = None,
    step_ft: float = 5.0,
    screen: Callable[[Any], Any] | None = None,
) -> Comparison:
    """Compare two delineations of one place.

    Parameters
    ----------
    a, b : Delineation, GeoDataFrame of polygons, or path of a GeoPackage
        A path is one that `wetgis.delineation.Delineation.write` made, or any polygons.
    site : Site, optional
        Screened four times, its wetlands replaced by A's, B's, what both have and what either
        has.
    step_ft : float
        The profile's step along A's boundary.
    screen : callable, optional
        What screens a site; `wetgis.screen` where it is not given.

    Returns
    -------
    Comparison

    Raises
    ------
    GeometryError
        Where the two are in different coordinate systems, or one that must not be measured in.
    InputError
        Where one has no polygon.

    Examples
    --------
    >>> import geopandas, shapely
    >>> def one(*box):
    ...     return geopandas.GeoDataFrame({"id": ["W"]}, geometry=[shapely.box(*box)],
    ...         crs="EPSG:2260")
    >>> result = compare(one(0, 0, 100, 100), one(0, 0, 110, 100))
    >>> result.strips[["only_in", "area_sqft", "width_ft"]].values.tolist()
    [['B', 1000.0, 10.0]]
    """
    from wetgis.crs import ft_per_unit, require_same_crs

    left, right = _Side.of(a, "A"), _Side.of(b, "B")
    crs = require_same_crs(left.wetlands, right.wetlands)
    ft = ft_per_unit(crs)
    strips = _strips(left, right, crs, ft)
    return Comparison(
        strips,
        _totals(left, right, ft),
        _separation(left, right, crs, ft),
        _profile(left, right, ft, step_ft),
        None if site is None else _findings(left, right, site, screen),
    )


@dataclass(frozen=True)
class _Side:
    """One delineation: its wetlands, their union, and its flags."""

    name: str
    wetlands: gpd.GeoDataFrame
    whole: Any
    flags: gpd.GeoDataFrame | None

    @staticmethod
    def of(given: Any, name: str) -> _Side:
        """From whatever was given."""
        import shapely

        wetlands, flags = _tables(given)
        geoms = np.asarray(wetlands.geometry.array, dtype=object)
        usable = ~shapely.is_missing(geoms) & (shapely.get_dimensions(geoms) == 2)
        if not usable.any():
            raise InputError(f"{name} has no polygon.", needed="a closed series or polygons")
        if not shapely.is_valid(geoms[usable]).all():
            raise GeometryError(
                f"{name} has a polygon that is not valid.",
                mend="read it with wetgis.read_layer, which repairs it",
            )
        whole = shapely.union_all(shapely.normalize(geoms[usable]))
        return _Side(name, wetlands[usable], whole, flags)

    def near(self, geometry: Any, ft: float) -> str:
        """The flags on a geometry, or the nearest; the wetland's id where there are no flags."""
        import shapely

        table = self.wetlands if self.flags is None else self.flags
        distance = shapely.distance(np.asarray(table.geometry.array, dtype=object), geometry) * ft
        if self.flags is None:
            ids = table["id"] if "id" in table.columns else table.index.astype(str)
            return str(list(ids)[int(np.argmin(distance))])
        on = np.flatnonzero(distance <= ON_STRIP_FT)
        return _run(table, on if len(on) else np.array([int(np.argmin(distance))]))


def _tables(given: Any) -> tuple[gpd.GeoDataFrame, gpd.GeoDataFrame | None]:
    """Wetlands, and the flags in line where there are any."""
    if isinstance(given, Delineation):
        return given.wetlands, _in_line(given.points)
    if isinstance(given, str | Path):
        import pyogrio

        from wetgis.sources import read_layer

        names = {str(name) for name, _ in pyogrio.list_layers(given)}
        if {"wetlands", "points", "checks"} <= names:
            points = read_layer(given, layer="points")
            return read_layer(given, kind="wetlands", layer="wetlands", id="id"), _in_line(points)
        return read_layer(given, kind="wetlands"), None
    return given, None


def _in_line(points: gpd.GeoDataFrame) -> gpd.GeoDataFrame:
    """Flags of the boundary in their order."""
    used = points[(points["kind"] == "flag") & (points["position"] > 0)]
    return used.sort_values(["series", "part", "position"], kind="stable").reset_index(drop=True)


def _run(flags: gpd.GeoDataFrame, rows: Any) -> str:
    """Flags in words, runs of neighbours as ``A-3 to A-7``."""
    names = (flags["series"] + "-" + flags["number"].astype("str")).str.strip("-").tolist()
    key = (flags["series"] + "\0" + flags["part"].astype("str")).tolist()
    out: list[list[int]] = []
    for row in rows.tolist():
        if out and row == out[-1][-1] + 1 and key[row] == key[out[-1][-1]]:
            out[-1].append(row)
        else:
            out.append([row])
    return ", ".join(
        names[run[0]] if len(run) == 1 else f"{names[run[0]]} to {names[run[-1]]}" for run in out
    )


def _strips(left: _Side, right: _Side, crs: Any, ft: float) -> gpd.GeoDataFrame:
    """What only one has, a row a piece, the largest first."""
    import geopandas as gpd
    import shapely

    from wetgis.delineation.separation import farthest

    rows, geometry = [], []
    for mine, other in ((left, right), (right, left)):
        pieces = _polygons(shapely.difference(mine.whole, other.whole))
        areas = shapely.area(pieces) * ft**2
        for number, i in enumerate(np.lexsort((shapely.to_wkb(pieces), -areas)), start=1):
            piece = pieces[i]
            rows.append({
                "strip": f"{mine.name}{number}",
                "only_in": mine.name,
                "area_sqft": float(areas[i]),
                "width_ft": farthest(piece, shapely.boundary(other.whole)).distance * ft,
                "flags_a": left.near(piece, ft),
                "flags_b": right.near(piece, ft),
                "sliver": bool(2 * areas[i] / (piece.length * ft) < SLIVER_FT),
            })  # fmt: skip
            geometry.append(piece)
    return gpd.GeoDataFrame(rows, columns=list(STRIP_COLUMNS), geometry=geometry, crs=crs)


def _polygons(geometry: Any) -> Any:
    """The polygons of an overlay, without the lines and points that it may leave."""
    import shapely

    parts = shapely.get_parts(geometry)
    return shapely.normalize(parts[shapely.area(parts) > 0])


def _totals(left: _Side, right: _Side, ft: float) -> pd.DataFrame:
    """Areas of both, of what they share, and of what only one has."""
    import pandas as pd

    both = left.whole.intersection(right.whole)
    areas = {
        "A": left.whole.area,
        "B": right.whole.area,
        "both": both.area,
        "either": left.whole.union(right.whole).area,
        "only A": left.whole.difference(right.whole).area,
        "only B": right.whole.difference(left.whole).area,
    }
    return pd.DataFrame({"what": list(areas), "area_sqft": [v * ft**2 for v in areas.values()]})


def _separation(left: _Side, right: _Side, crs: Any, ft: float) -> gpd.GeoDataFrame:
    """The largest distance each way, with the flags at it."""
    import geopandas as gpd

    from wetgis.delineation.separation import farthest

    rows, lines = [], []
    for mine, other in ((left, right), (right, left)):
        far = farthest(mine.whole, other.whole)
        rows.append({"walked": f"{mine.name} to {other.name}", "distance_ft": far.distance * ft,
                     "near_flags": mine.near(far.at, ft)})  # fmt: skip
        lines.append(far.line)
    return gpd.GeoDataFrame(rows, geometry=lines, crs=crs)


def _profile(left: _Side, right: _Side, ft: float, step_ft: float) -> pd.DataFrame:
    """The shift along A's boundary."""
    import pandas as pd

    from wetgis.delineation.separation import profile

    along, shift, places = profile(left.whole, right.whole, step=step_ft / ft)
    return pd.DataFrame(
        {"along_ft": along * ft, "shift_ft": shift * ft, "x": places[:, 0], "y": places[:, 1]}
    )


def _findings(
    left: _Side, right: _Side, site: Site, screen: Callable[[Any], Any] | None
) -> pd.DataFrame:
    """Each subject and rule under A, B, both and either."""
    import pandas as pd

    if screen is None:
        from wetgis import screening

        screen = screening.screen
    tables = []
    for case, wetlands in _cases(left, right).items():
        found = screen(site.with_layers(wetlands=wetlands)).findings
        tables.append(_by_rule(found, case))
    table = pd.concat(tables, axis=1, sort=True)
    table = table.fillna("").reset_index()
    outcomes = [f"outcome_{case}" for case in CASES]
    table["differs"] = table[outcomes].nunique(axis=1) > 1
    return table


def _cases(left: _Side, right: _Side) -> dict[str, gpd.GeoDataFrame]:
    """The wetlands of the four cases."""
    import geopandas as gpd

    def as_frame(geometry: Any, name: str) -> gpd.GeoDataFrame:
        parts = _polygons(geometry)
        ids = [f"{name}-{i + 1}" for i in range(len(parts))]
        return gpd.GeoDataFrame({"id": ids}, geometry=parts, crs=left.wetlands.crs)

    return {
        "a": left.wetlands,
        "b": right.wetlands,
        "both": as_frame(left.whole.intersection(right.whole), "both"),
        "either": as_frame(left.whole.union(right.whole), "either"),
    }


def _by_rule(findings: pd.DataFrame, case: str) -> pd.DataFrame:
    """One outcome a subject and rule, and the answer that goes with it."""
    rank = findings["outcome"].map({name: i for i, name in enumerate(_RANK)})
    first = findings.assign(_rank=rank).sort_values([*_KEYS, "_rank"], kind="stable")
    first = first.drop_duplicates(_KEYS).set_index(_KEYS)[["outcome", "answer"]]
    return first.rename(columns={"outcome": f"outcome_{case}", "answer": f"answer_{case}"})
