"""The numbers of the subjects of one tile. No number of any law stands here."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import shapely

from wetgis.cells import CELL_FT, CellGrid, CellLayer, Pieces, Subdivided, cut, dissolve
from wetgis.encounters import encounters, slivers
from wetgis.issuelog import IssueLog
from wetgis.overlay import settle
from wetgis.partition import Ground, divide, minus
from wetgis.scene import hydric, special_flood
from wetgis.schema import SLIVER_FT
from wetgis.segments import lengths_inside
from wetgis.shapes import areal, of_dimension, union_groups

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wetgis.scene import Features, Scene, Subjects

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]
    Geometries = NDArray[np.object_]

__all__ = [
    "COVERAGE",
    "Measured",
    "log_coverage",
    "measure",
    "slopes",
    "terrain",
]

#: Places at which the height of the ground is asked for.
SAMPLED = 300
#: A line this near to an edge runs along it.
ALONG_FT = 1e-6
#: Polygons with more vertices than this are cut into cells, smaller ones are held as they are.
WHOLE = 600


@dataclass(frozen=True)
class Measured:
    """Columns by name (feet), and what else the tile found out."""

    columns: dict[str, Floats]
    ground: Ground
    sliver: Bools
    crossed: Bools
    unmapped_reach: dict[str, Bools]


@dataclass(frozen=True)
class _Frame:
    """A tile's subjects as the measures need them; areas in CRS units squared."""

    scene: Scene
    subjects: Subjects
    parts: Subdivided
    grid: CellGrid
    whole: Floats
    threads: int

    @property
    def sqft(self) -> float:
        return self.scene.scale**2

    def area_on(self, pieces: Pieces) -> Floats:
        """Square feet of each subject on pieces that do not overlap."""
        raw = CellLayer(pieces.geometries, self.grid).areas(self.parts, threads=self.threads)
        return settle(raw, self.whole, self.scene.scale) * self.sqft

    def dissolved(self, features: Features, chosen: Bools | None = None) -> Pieces:
        """Some features of a layer in cells, each foot once."""
        geometries = features.geometries if chosen is None else features.geometries[chosen]
        return dissolve(cut(geometries, self.grid, threads=self.threads), threads=self.threads)


def measure(scene: Scene, subjects: Subjects, *, threads: int = 2) -> Measured:
    """Measure subjects; ``scene`` must hold every feature within its distance of them."""
    whole = np.where(
        shapely.is_missing(subjects.geometries), np.nan, shapely.area(subjects.geometries)
    )
    grid = CellGrid.over(subjects.bounds, CELL_FT / scene.scale)
    parts = Subdivided(subjects.geometries, grid, threads=threads)
    frame = _Frame(scene, subjects, parts, grid, whole, threads)
    ground = divide(scene, grid, threads=threads)
    columns = _places(frame, ground)
    for more in (_soils, _flood, _indicators, _disturbed, _watercourse_lengths):
        columns |= more(frame)
    missing = shapely.is_missing(subjects.geometries)
    for values in columns.values():
        values[missing] = np.nan
    return Measured(
        columns,
        ground,
        _only_slivers(frame, columns),
        _crossed(frame),
        _reaches_unmapped(frame),
    )


def _places(frame: _Frame, ground: Ground) -> dict[str, Floats]:
    """The partition of each subject. A layer that is not given leaves its own column NaN."""
    area = frame.whole * frame.sqft
    inside = area if ground.limit is None else frame.area_on(ground.limit)
    wet = frame.area_on(ground.wet)
    water = wet if ground.water is ground.wet else np.maximum(frame.area_on(ground.water), wet)
    regulated = (
        water if ground.regulated is ground.water
        else np.maximum(frame.area_on(ground.regulated), water)
    )  # fmt: skip
    unmapped = frame.area_on(ground.unmapped)
    outside = _rest(inside - regulated - unmapped)
    unknown = np.full(len(area), np.nan)
    has_w, has_wc = frame.scene.given("wetlands"), frame.scene.given("watercourses")
    known_zone = (has_w or has_wc) and np.isfinite(frame.scene.measure.buffer_ft)
    buffer = _rest(regulated - water) if known_zone else unknown
    return {
        "area_sqft": area,
        "wetland_sqft": wet if has_w else unknown,
        "watercourse_sqft": _rest(water - wet) if has_wc else unknown.copy(),
        "buffer_sqft": buffer.copy(),
        "outside_sqft": outside,
        "unmapped_sqft": unmapped,
        "beyond_limit_sqft": _rest(area - inside),
        "regulated_sqft": (
            regulated.copy()
            if known_zone and frame.scene.measure.buffer_regulated
            else unknown.copy()
        ),
    }


def _rest(values: Floats) -> Floats:
    """What is left of an area, without the noise of the subtraction."""
    return np.where(np.abs(values) < 1e-6, 0.0, np.maximum(values, 0.0))


def _soils(frame: _Frame) -> dict[str, Floats]:
    names = ("hydric_sqft", "hydric_weighted_sqft", "soil_unknown_sqft")
    if not frame.scene.given("soils"):
        return {n: np.full(len(frame.whole), np.nan) for n in names}
    features = frame.scene.features["soils"]
    strong, low, rated = hydric(features, frame.scene.measure.hydric_pct)
    weights = np.column_stack([strong, np.nan_to_num(low) / 100.0, rated]).astype(float)
    geometries, owners = _flat(features, -np.nan_to_num(low, nan=-1.0), frame)
    raw = CellLayer(geometries, frame.grid).areas(
        frame.parts, weights[owners], threads=frame.threads
    )
    on = [settle(raw[:, k], frame.whole, frame.scene.scale) * frame.sqft for k in range(3)]
    known = np.isfinite(frame.scene.measure.hydric_pct) & (on[2] > 0)
    area = frame.whole * frame.sqft
    return {
        "hydric_sqft": np.where(known, on[0], np.nan),
        "hydric_weighted_sqft": np.where(on[2] > 0, on[1], np.nan),
        "soil_unknown_sqft": _rest(area - on[2]),
    }


def _flat(features: Features, priority: Floats, frame: _Frame) -> tuple[NDArray[np.object_], Ints]:
    """A layer with no ground twice, and the record of each polygon.

    Where records overlap, the first in priority has the ground.
    """
    geometries = features.geometries
    if not frame.scene.soils_overlap:
        large = shapely.get_num_coordinates(geometries) > WHOLE
        cut_up = cut(geometries[large], frame.grid, threads=frame.threads)
        owners = np.concatenate([np.flatnonzero(~large), np.flatnonzero(large)[cut_up.owners]])
        return np.concatenate([geometries[~large], cut_up.geometries]), owners
    pieces = cut(geometries, frame.grid, threads=frame.threads)
    order = np.lexsort((pieces.owners, priority[pieces.owners], pieces.cells))
    parts, cells = pieces.geometries[order].copy(), pieces.cells[order]
    owners = pieces.owners[order]
    rank = np.arange(len(cells)) - np.searchsorted(cells, cells)
    covered = parts[rank == 0].copy()
    place = np.cumsum(rank == 0) - 1
    for turn in range(1, int(rank.max(initial=0)) + 1):
        now = np.flatnonzero(rank == turn)
        before = covered[place[now]]
        covered[place[now]] = shapely.union(before, parts[now])
        parts[now] = shapely.difference(parts[now], before)
    parts, of = areal(parts)
    return parts, owners[of]


def _flood(frame: _Frame) -> dict[str, Floats]:
    names = ("floodplain_sqft", "floodway_sqft", "flood_unknown_sqft")
    if not frame.scene.given("floodplain"):
        return {n: np.full(len(frame.whole), np.nan) for n in names}
    features = frame.scene.features["floodplain"]
    special, way, _ = special_flood(features)
    area = frame.whole * frame.sqft
    sfha = frame.dissolved(features, special)
    on = frame.area_on(sfha)
    known = _known_flood(frame, features, sfha, area)
    nothing = (known <= 0) & (on <= 0) & (area > 0)
    floodway = frame.area_on(frame.dissolved(features, way))
    return {
        "floodplain_sqft": np.where(nothing, np.nan, on),
        "floodway_sqft": np.where(nothing, np.nan, floodway),
        "flood_unknown_sqft": _rest(area - np.maximum(known, on)),
    }


def _known_flood(frame: _Frame, features: Features, sfha: Pieces, area: Floats) -> Floats:
    """Ground whose zone is known: that of the zones, or all but the undetermined zones.

    A layer that draws the ground outside the floodplain too is silent where it draws nothing;
    one that draws the floodplain alone says "not in it" by drawing nothing, within its extent.
    """
    special, _, clear = special_flood(features)
    if frame.scene.draws_clear:
        return frame.area_on(frame.dissolved(features, special | clear))
    open_ground = frame.area_on(minus(frame.dissolved(features, ~special & ~clear), sfha))
    extent = frame.scene.extents.get("floodplain")
    if extent is None:
        return area - open_ground
    inside = cut(np.array([extent], dtype=object), frame.grid)
    return np.maximum(frame.area_on(inside) - open_ground, 0.0)


def _indicators(frame: _Frame) -> dict[str, Floats]:
    if not frame.scene.given("indicators"):
        return {"indicator_sqft": np.full(len(frame.whole), np.nan)}
    return {"indicator_sqft": frame.area_on(frame.dissolved(frame.scene.features["indicators"]))}


def _disturbed(frame: _Frame) -> dict[str, Floats]:
    """Footprints on parcels; for a footprint or project that question is not asked."""
    out = np.full(len(frame.whole), np.nan)
    if frame.scene.given("footprints"):
        parcel = (frame.subjects.table["subject_kind"] == "parcel").to_numpy()
        on = frame.area_on(frame.dissolved(frame.scene.features["footprints"]))
        out[parcel] = on[parcel]
    return {"disturbed_sqft": out}


def _interior_lines(frame: _Frame) -> tuple[Ints, Floats]:
    """Pairs of an areal subject and a watercourse line inside it: the subject, and feet inside."""
    # in short pieces: a pair costs what its piece has vertices
    pieces = cut(frame.scene.features["watercourses"].lines, frame.grid.finer(4), dimension=1)
    # a reach that is drawn twice has its length once
    lines, _ = of_dimension(union_groups(pieces.geometries, pieces.cells)[1], 1)
    own, owners = frame.parts.geometries, frame.parts.owners
    s, p = shapely.STRtree(lines).query(own)
    order = np.lexsort((p, s))  # sums in an order that is not the tree's
    s, p = s[order], p[order]
    areal = shapely.get_dimensions(own[s]) == 2
    s, p = s[areal], p[areal]
    feet = lengths_inside(own, lines, s, p, ALONG_FT / frame.scene.scale, threads=frame.threads)
    # a line along the edge of a part may be inside the subject all the same: that is asked of
    # the whole subject, once
    along = np.isnan(feet)
    edge = np.unique(np.column_stack([owners[s[along]], p[along]]), axis=0)
    whole, line = frame.subjects.geometries[edge[:, 0]], lines[edge[:, 1]]
    again = shapely.length(shapely.intersection(whole, line))
    again -= shapely.length(shapely.intersection(shapely.boundary(whole), line))
    rest = ~np.isin(owners[s] * len(lines) + p, edge[:, 0] * len(lines) + edge[:, 1])
    subject = np.concatenate([owners[s[rest]], edge[:, 0]])
    feet = np.concatenate([feet[rest], again]) * frame.scene.scale
    return subject, np.where(feet > 1e-6, feet, 0.0)


def _watercourse_lengths(frame: _Frame) -> dict[str, Floats]:
    if not frame.scene.given("watercourses"):
        return {"watercourse_length_ft": np.full(len(frame.whole), np.nan)}
    s, feet = _interior_lines(frame)
    return {"watercourse_length_ft": np.bincount(s, feet, len(frame.whole)).astype(float)}


def _crossed(frame: _Frame) -> Bools:
    """Subjects that a line or point feature lies in, or that are lines or points in a feature."""
    out = np.zeros(len(frame.whole), bool)
    own = frame.subjects.geometries
    thin = np.flatnonzero(shapely.get_dimensions(own) < 2)
    for kind in ("wetlands", "watercourses"):
        if not frame.scene.given(kind):
            continue
        features = frame.scene.features[kind].geometries
        out[thin[_met(own[thin], features)]] = True
        # lines of watercourses are measured by their length inside
        below = 1 if kind == "watercourses" else 2
        out[_met(own, features[shapely.get_dimensions(features) < below])] = True
    return out


def _met(own: NDArray[np.object_], features: NDArray[np.object_]) -> Ints:
    """Subjects whose interior meets the interior of a feature."""
    s, p = shapely.STRtree(features).query(own, predicate="intersects")
    return np.unique(s[shapely.relate_pattern(own[s], features[p], "T********")])


def _only_slivers(frame: _Frame, columns: dict[str, Floats]) -> Bools:
    """Areal subjects whose whole overlap with water and wetland is narrower than 0.05 ft."""
    out = np.zeros(len(frame.whole), bool)
    overlap = np.nan_to_num(columns["wetland_sqft"]) + np.nan_to_num(columns["watercourse_sqft"])
    # with more area than this it is wider somewhere, a feature as long as the outline included
    maybe = np.flatnonzero(
        (overlap > 0)
        & (overlap < SLIVER_FT * 2 * shapely.length(frame.subjects.geometries) * frame.scene.scale)
    )
    if not len(maybe):
        return out
    scale = frame.scene.scale
    own = frame.subjects.geometries[maybe]
    wide = np.zeros(len(maybe), bool)
    for kind in ("wetlands", "watercourses"):
        if frame.scene.given(kind):
            groups = frame.scene.features[kind].groups
            found = encounters(own, groups, 0.0, scale)
            thick = (found.area_sqft > 0) & ~slivers(own, groups, found, scale)
            wide[found.subject[thick]] = True
    out[maybe] = ~wide
    return out


def _reaches_unmapped(frame: _Frame) -> dict[str, Bools]:
    """By layer, the subjects within the buffer's width of ground that it does not cover."""
    scene, own = frame.scene, frame.subjects.geometries
    out: dict[str, Bools] = {}
    for kind in ("wetlands", "watercourses"):
        out[kind] = np.zeros(len(own), bool)
        extent = scene.extents.get(kind)
        if not scene.given(kind) or extent is None:
            continue
        shapely.prepare(extent)
        near = shapely.dwithin(shapely.boundary(extent), own, scene.distance * (1 - 1e-12))
        out[kind] = (~shapely.covers(extent, own) | near) & ~shapely.is_missing(own)
    return out


_SLOPES = ("steep_sqft", "slope_unknown_sqft", "slope_mean_pct", "slope_max_pct")


def slopes(
    scene: Scene, subjects: Subjects, blocks: list[Ints]
) -> tuple[dict[str, Floats], IssueLog]:
    """Steep ground, mean and maximum slope.

    ``blocks``: subjects that lie near each other; a raster is read for one block at a time. What
    a raster's own words left open, impossible heights and ground that it does not cover stand in
    the log.
    """
    log = IssueLog()
    kind = next((k for k in ("slope", "dem") if k in scene.surfaces), None)
    if kind is None:
        return {name: np.full(len(subjects), np.nan) for name in _SLOPES}, log
    log.extend(replace(issue, layer=kind) for issue in scene.surfaces[kind].issues)
    columns: dict[str, Floats] = {}
    for block in blocks:
        for name, values in terrain(scene, subjects.geometries[block]).items():
            columns.setdefault(name, np.full(len(subjects), np.nan))[block] = values
    ids = subjects.table["subject_id"].astype(str).to_numpy()
    log_coverage(kind, {name: ids[columns.pop(name) > 0] for name in COVERAGE}, log)
    return columns, log


#: Columns of ``terrain`` that say what the raster does not: 1 where it is so.
COVERAGE = ("on_impossible", "beyond_raster")


def terrain(scene: Scene, own: Geometries) -> dict[str, Floats]:
    """Steep ground, mean and maximum slope of subjects that lie near each other, and `COVERAGE`.

    Without a raster that gives slopes all of it is NaN.
    """
    kind = next((k for k in ("slope", "dem") if k in scene.surfaces), None)
    if kind is None:
        return {name: np.full(len(own), np.nan) for name in (*_SLOPES, *COVERAGE)}
    steep = scene.measure.steep_pct
    found = scene.surfaces[kind].zonal(own, scene.crs, steep)
    area = shapely.area(own) * scene.scale**2
    nothing = ~(found["known_frac"] > 0)
    return {
        "steep_sqft": np.where(nothing | ~np.isfinite(steep), np.nan, found["above_frac"] * area),
        "slope_unknown_sqft": _rest(area * found["unknown_frac"]),
        "slope_mean_pct": found["mean_pct"].copy(),
        "slope_max_pct": found["max_pct"].copy(),
        "on_impossible": (found["impossible_frac"] > 0).astype(float),
        "beyond_raster": (found["covered_frac"] < 1 - 1e-12).astype(float),
    }


def mean_elevation_ft(scene: Scene, bounds: Floats) -> float:
    """Mean height of the ground, ft, at the middles of some boxes; 0 without a DEM there.

    A few hundred of them, in an order of their own, are enough for a combined factor: 20 ft of
    elevation move it by one in a million.
    """
    surface = scene.surfaces.get("dem")
    if surface is None:
        return 0.0
    middles = np.unique((bounds[:, :2] + bounds[:, 2:]) / 2, axis=0)
    some = middles[:: max(1, len(middles) // SAMPLED)]
    heights = surface.heights(shapely.points(some), scene.crs)
    known = heights[np.isfinite(heights)]
    return float(known.mean()) if len(known) else 0.0


def log_coverage(kind: str, ids: dict[str, NDArray[Any]], log: IssueLog) -> None:
    """Say which subjects lie on impossible heights and which reach beyond a raster."""
    for name, code, text in (
        ("on_impossible", "undeclared_nodata", "lie on cells with impossible heights"),
        ("beyond_raster", "partial_raster", "reach beyond the raster"),
    ):
        found = ids[name]
        if len(found):
            some = ", ".join(sorted(set(found))[:5]) + (", ..." if len(found) > 5 else "")
            effect = "that ground counts as not known, never as flat"
            message = f"{len(found)} subjects {text} ({some})."
            log.add("warning", code, message, layer=kind, effect=effect)
