"""Legal buffers, proved.

GEOS draws an arc as chords that lie up to ``r (1 - cos(1.5 pi / 4n))`` inside it (n segments a
quadrant), and before that it simplifies its input by one per cent of the distance, with no
switch: a line that zigzags by half a foot can lose a third of its buffer near its end, and on
real streams the outline errs outward too. So nothing here is trusted: every outline is measured
against the exact distance, at its vertices and at the middle of its chords, and features that
fail are built again as the union of the buffers of their single segments, which no
simplification can touch.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import acos, ceil, pi
from typing import TYPE_CHECKING, Any

import geopandas as gpd
import numpy as np
import pandas as pd
import shapely

from wetgis.crs import ft_per_unit, require_measuring_crs, require_same_crs
from wetgis.errors import GeometryError
from wetgis.rings import outlines
from wetgis.segments import SegmentGrid, Segments, segments
from wetgis.shapes import union_groups, usable
from wetgis.workers import in_threads

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import NDArray

    Bools = NDArray[np.bool_]
    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Geometries = NDArray[np.object_]

__all__ = ["Audit", "Zone", "audited_zone", "bank_polygons", "buffer_zone", "quad_segments"]

TOLERANCE_FT = 0.01
#: Outlines of more vertices than this that also turn by more than ``ROUGH`` radians over a stretch
#: as long as the buffer is wide are buffered in pieces of ``RUN`` segments: GEOS slows down with
#: the number of arcs that lie over each other. A smooth outline is fastest as a whole.
LONG = 1000
ROUGH = 3.0
RUN = 16
#: Lines are buffered in runs of so many segments, so that of a stream that crosses a county a
#: window need buffer what reaches it.
REACH = 256
#: How far (in distances) outside the legal line a wrong outline is looked for.
SLACK = 0.05


@dataclass(frozen=True)
class Audit:
    """Worst deviations of an outline from the legal line, CRS units, and what was built again.

    ``inside``: how far the outline falls short; ``outside``: how far it reaches beyond.
    """

    inside: float = 0.0
    outside: float = 0.0
    points: int = 0
    rebuilt: tuple[int, ...] = ()

    def __add__(self, other: Audit) -> Audit:
        return Audit(
            max(self.inside, other.inside),
            max(self.outside, other.outside),
            self.points + other.points,
            tuple(sorted({*self.rebuilt, *other.rebuilt})),
        )


def quad_segments(distance: float, tolerance: float) -> int:
    """Segments a quadrant for which no chord lies more than ``tolerance`` inside its arc.

    Examples
    --------
    >>> quad_segments(100.0, 0.01)
    84
    """
    if distance <= tolerance:
        return 8
    return max(8, ceil(1.5 * pi / (4 * acos(1 - tolerance / distance))))


class Zone:
    """The buffers of a fixed set of features, ready to be united anywhere and audited.

    Parameters
    ----------
    geometries : array of n valid 2-D geometries, none of them empty
    distances : array (n,), CRS units
    tolerance : float, CRS units
    """

    def __init__(
        self, geometries: Geometries, distances: Floats, tolerance: float, *, threads: int = 2
    ) -> None:
        self.geometries, self.distances, self.tolerance = geometries, distances, tolerance
        self.threads = threads
        self.reach = float(distances.max(initial=0.0)) * (1 + SLACK)
        self.quads = quad_segments(float(distances.max(initial=1.0)), tolerance)
        self.boundary: Segments = segments(geometries)
        self.radii = distances[self.boundary.owner]
        # cells smaller than the distance: those between a point and its outline are empty
        self.grid = SegmentGrid(
            self.boundary.rows, max(float(distances.max(initial=1.0)) / 2, 1e-9)
        )
        self._tree: shapely.STRtree | None = None

    @property
    def tree(self) -> shapely.STRtree:
        """The features' boxes."""
        if self._tree is None:
            self._tree = shapely.STRtree(self.geometries)
        return self._tree

    def pieces(self, bounds: Floats | None = None) -> tuple[Geometries, Ints]:
        """Polygons whose union is the zone with its features, and the feature of each.

        With ``bounds`` those that reach into a box. What a piece looks like does not depend on it.
        """
        count = shapely.get_num_coordinates(self.geometries)
        long = count > LONG
        long[long] = self._turning(np.flatnonzero(long)) > ROUGH
        line = ~long & (count > REACH) & (shapely.get_dimensions(self.geometries) == 1)
        whole = np.flatnonzero(~long & ~line)
        parts = [
            _runs(self.geometries[long], np.flatnonzero(long), RUN),
            _runs(self.geometries[line], np.flatnonzero(line), REACH),
            (self.geometries[whole], whole),
        ]
        sources, of = (np.concatenate([p[k] for p in parts]) for k in (0, 1))
        if bounds is not None:
            near = self._near(sources, of, bounds)
            sources, of = sources[near], of[near]
        # long ones first, so that no thread is left alone with the last of them
        order = np.argsort(-shapely.get_num_coordinates(sources), kind="stable")
        sources, of = sources[order], of[order]
        built = self._buffer(sources, self.distances[of])
        areal = np.flatnonzero(long & (shapely.get_dimensions(self.geometries) == 2))
        return np.concatenate([built, self.geometries[areal]]), np.concatenate([of, areal])

    def _near(self, sources: Geometries, of: Ints, bounds: Floats) -> Bools:
        """Which pieces' buffers may reach into a box."""
        boxes, more = shapely.bounds(sources), self.distances[of, None] * (1 + SLACK)
        low, high = boxes[:, :2] - more, boxes[:, 2:] + more
        near: Bools = ((low <= bounds[2:]) & (high >= bounds[:2])).all(axis=1)
        return near

    def _turning(self, features: Ints) -> Floats:
        """Radians by which an outline turns, on average, over a stretch as long as its buffer."""
        chosen = np.isin(self.boundary.owner, features)
        rows, owner = self.boundary.rows[chosen], self.boundary.owner[chosen]
        along = rows[:, 2:] - rows[:, :2]
        length = np.bincount(owner, np.hypot(along[:, 0], along[:, 1]))[features]
        joined = (rows[1:, :2] == rows[:-1, 2:]).all(axis=1) & (owner[1:] == owner[:-1])
        turn = np.diff(np.arctan2(along[:, 1], along[:, 0]))[joined]
        turn = np.abs((turn + np.pi) % (2 * np.pi) - np.pi)
        total = np.bincount(owner[1:][joined], turn, minlength=int(features.max(initial=0)) + 1)
        return total[features] * self.distances[features] / np.maximum(length, 1e-12)

    def _buffer(self, sources: Geometries, distances: Floats) -> Geometries:
        parts = in_threads(
            lambda s, e: shapely.buffer(sources[s:e], distances[s:e], quad_segs=self.quads),
            len(sources), chunk=16, threads=self.threads,
        )  # fmt: skip
        return np.concatenate(parts) if parts else np.empty(0, object)

    def capsules(self, features: Ints, box: Floats | None) -> tuple[Geometries, Ints]:
        """The second construction: the buffers of single segments, and the features themselves."""
        chosen = np.concatenate(
            [np.arange(self.boundary.offsets[f], self.boundary.offsets[f + 1]) for f in features]
        )
        if box is not None:
            rows, r = self.boundary.rows[chosen], self.radii[chosen]
            chosen = chosen[
                (np.minimum(rows[:, 0], rows[:, 2]) - r <= box[2])
                & (np.maximum(rows[:, 0], rows[:, 2]) + r >= box[0])
                & (np.minimum(rows[:, 1], rows[:, 3]) - r <= box[3])
                & (np.maximum(rows[:, 1], rows[:, 3]) + r >= box[1])
            ]
        lines = shapely.linestrings(self.boundary.rows[chosen].reshape(-1, 2, 2))
        built = self._buffer(lines, self.radii[chosen])
        areal = features[shapely.get_dimensions(self.geometries[features]) == 2]
        polygons = self.geometries[areal]
        if box is not None:
            polygons = shapely.intersection(polygons, shapely.box(*box))
            built = shapely.intersection(built, shapely.box(*box))
        return (
            np.concatenate([built, polygons]),
            np.concatenate([self.boundary.owner[chosen], areal]),
        )

    def deviations(self, zone: Any, box: Floats | None) -> tuple[Floats, Floats]:
        """Points of an outline (vertices, chord middles) and how far each is off, CRS units."""
        rings = outlines(np.array([zone], dtype=object))
        xy, of = rings.xy, rings.of_vertices()
        joined = of[1:] == of[:-1]
        points = np.concatenate([xy, ((xy[1:] + xy[:-1]) / 2)[joined]])
        if box is not None:
            inner = (
                (points[:, 0] > box[0])
                & (points[:, 0] < box[2])
                & (points[:, 1] > box[1])
                & (points[:, 1] < box[3])
            )
            points = points[inner]
        return points, self.grid.deviation(points, self.radii, self.reach, self.threads)

    def unite(
        self, pieces: Geometries, owners: Ints, box: Floats | None = None
    ) -> tuple[Any, Audit]:
        """Unite pieces (all inside ``box``), audit the outline, and build what failed again."""
        rebuilt: tuple[int, ...] = ()
        for attempt in range(4):
            zone = pieces[0] if len(pieces) == 1 else shapely.union_all(pieces)
            points, off = self.deviations(zone, box)
            bad = np.abs(off) > self.tolerance
            if not bad.any() or attempt == 3:
                break
            failed = self._responsible(points[bad], off[bad], rebuilt, attempt)
            if not len(failed):
                break
            rebuilt = tuple(sorted({*rebuilt, *failed.tolist()}))
            again, of = self.capsules(failed, box)
            kept = ~np.isin(owners, failed)
            pieces, owners = (
                np.concatenate([pieces[kept], again]),
                np.concatenate([owners[kept], of]),
            )
        inside, outside = float(-off.min(initial=0.0)), float(off.max(initial=0.0))
        return zone, Audit(inside, outside, len(points), rebuilt)

    def _responsible(
        self, points: Floats, off: Floats, rebuilt: tuple[int, ...], attempt: int
    ) -> Ints:
        """Features whose buffers may have made these points wrong, not yet built again."""
        if attempt == 2 or not np.isfinite(off).all():
            near = np.arange(len(self.geometries))
        else:
            radius = float(self.distances.max()) + max(float(off.max()), 0.0) + self.tolerance
            near = np.unique(
                self.tree.query(shapely.points(points), predicate="dwithin", distance=radius)[1]
            )
        return np.setdiff1d(near, np.asarray(rebuilt, dtype=np.int64))


def _runs(geometries: Geometries, owners: Ints, run: int) -> tuple[Geometries, Ints]:
    """The boundaries of features as runs of so many segments."""
    lines: list[Any] = []
    of: list[int] = []
    for geometry, owner in zip(geometries, owners, strict=True):
        outline = shapely.boundary(geometry) if shapely.get_dimensions(geometry) == 2 else geometry
        for line in shapely.get_parts(outline):
            xy = shapely.get_coordinates(line)
            made = [shapely.LineString(xy[s : s + run + 1]) for s in range(0, len(xy) - 1, run)]
            lines += made
            of += [int(owner)] * len(made)
    out = np.empty(len(lines), object)
    out[:] = lines
    return out, np.asarray(of, dtype=np.int64)


def audited_zone(geometries: Geometries, distances: Floats, tolerance: float) -> tuple[Any, Audit]:
    """One dissolved zone around features (features included), and its audit; CRS units."""
    if not len(geometries):
        return shapely.Polygon(), Audit()
    zone = Zone(geometries, distances, tolerance)
    return zone.unite(*zone.pieces())


def bank_polygons(frame: gpd.GeoDataFrame) -> gpd.GeoDataFrame:
    """Lines that have a half-width become the polygon between their banks, with flat ends.

    A line that is itself measured from a bank or an edge stays a line.

    Parameters
    ----------
    frame : GeoDataFrame
        With the optional columns ``half_width_ft`` and ``measured_from``.

    Returns
    -------
    GeoDataFrame
        A copy; rows without a half-width keep their geometry.
    """
    if "half_width_ft" not in frame.columns:
        return frame
    half = pd.to_numeric(frame["half_width_ft"], errors="coerce").to_numpy(float)
    chosen = (half > 0) & (shapely.get_dimensions(frame.geometry.to_numpy()) == 1)
    if "measured_from" in frame.columns:
        chosen &= ~frame["measured_from"].isin(["bank", "edge"]).to_numpy()
    if not chosen.any():
        return frame
    geometries = frame.geometry.to_numpy().copy()
    scale = ft_per_unit(frame.crs)
    geometries[chosen] = _banks(geometries[chosen], half[chosen] / scale, TOLERANCE_FT / scale)
    return frame.set_geometry(gpd.GeoSeries(geometries, index=frame.index, crs=frame.crs))


def _banks(lines: Geometries, half: Floats, tolerance: float) -> Geometries:
    """The ground between the banks of lines, each within the tolerance of its half-width."""
    quads = max(32, quad_segments(float(half.max()), tolerance))
    built: Geometries = shapely.buffer(
        lines, half, cap_style="flat", join_style="round", quad_segs=quads
    )
    asked = _simplified(lines, half)
    wrong = asked[_beside_banks(lines[asked], half[asked], built[asked], tolerance)]
    if len(wrong):
        built[wrong] = _banks_by_segment(lines[wrong], half[wrong], quads)
    return built


def _simplified(lines: Geometries, half: Floats) -> Ints:
    """Lines with a vertex so near the chord between its neighbours that GEOS may leave it out."""
    made = segments(lines)
    one, two = made.rows[:-1], made.rows[1:]
    chord = two[:, 2:] - one[:, :2]
    side = one[:, 2:] - one[:, :2]
    length = np.hypot(chord[:, 0], chord[:, 1])
    height = np.abs(chord[:, 0] * side[:, 1] - chord[:, 1] * side[:, 0])
    limit = 0.011 * half[made.owner[1:]] * length
    near = (height <= limit) & (height > 1e-9 * length) & (made.owner[1:] == made.owner[:-1])
    return np.unique(made.owner[1:][near | (length == 0)])


def _beside_banks(lines: Geometries, half: Floats, built: Geometries, tolerance: float) -> Ints:
    """Lines whose banks were drawn wrongly; near a flat end a bank may be nearer than elsewhere."""
    if not len(lines):
        return np.zeros(0, np.int64)
    boundary = segments(lines)
    size = float(half.max())
    ends = boundary.rows[:, :2] - boundary.rows[:, 2:]
    grid = SegmentGrid(boundary.rows, max(size, float(np.median(np.abs(ends))), 1e-9))
    rings = outlines(built)
    of = rings.owner[rings.of_vertices()]
    joined = np.ones(len(of), bool)
    joined[rings.offsets[1:] - 1] = False
    start = np.flatnonzero(joined)
    xy = np.concatenate([rings.xy[start], (rings.xy[start] + rings.xy[start + 1]) / 2])
    of = np.concatenate([of[start], of[start]])
    off = grid.deviation(xy, half[boundary.owner], size * (1 + SLACK))
    # a bank inside another line's channel looks wrong too: of those the own line is asked
    asked = np.flatnonzero(~(np.abs(off) <= tolerance))
    points, of = shapely.points(xy[asked]), of[asked]
    own = shapely.distance(points, lines[of]) - half[of]
    end = shapely.distance(points, shapely.boundary(lines[of])) <= half[of] + tolerance
    return np.unique(of[(own > tolerance) | ((own < -tolerance) & ~end)])


def _banks_by_segment(lines: Geometries, half: Floats, quads: int) -> Geometries:
    """The same from a strip along each segment and a sector in each bend: nothing is simplified."""
    made = segments(lines)
    rows, owner = made.rows, made.owner
    moves = (rows[:, :2] != rows[:, 2:]).any(axis=1)
    rows, owner = rows[moves], owner[moves]
    strips = shapely.buffer(
        shapely.linestrings(rows.reshape(-1, 2, 2)), half[owner], cap_style="flat"
    )
    # a segment goes on in the next one; where a line closes, its last in its first
    first = np.flatnonzero(np.r_[True, owner[1:] != owner[:-1]])
    after = np.arange(1, len(rows) + 1)
    after[np.r_[first[1:], len(rows)] - 1] = first
    bent = np.flatnonzero((rows[:, 2:] == rows[after, :2]).all(axis=1))
    along = rows[:, 2:] - rows[:, :2]
    u, v = along[bent], along[after[bent]]
    turn = np.arctan2(u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0], (u * v).sum(axis=1))
    start = np.arctan2(u[:, 1], u[:, 0]) - np.where(turn >= 0, pi / 2, -pi / 2)
    angle = start[:, None] + turn[:, None] * np.linspace(0, 1, 2 * quads + 1)
    arc = np.stack([np.cos(angle), np.sin(angle)], axis=2) * half[owner[bent], None, None]
    corner = rows[bent, None, 2:]
    sectors = shapely.polygons(np.concatenate([corner, corner + arc], axis=1))
    some = np.abs(turn) > 1e-9
    pieces = np.concatenate([strips, sectors[some]])
    united: Geometries = union_groups(pieces, np.concatenate([owner, owner[bent][some]]))[1]
    return united


def buffer_zone(
    features: gpd.GeoDataFrame | gpd.GeoSeries,
    distance_ft: float | pd.Series,
    *,
    exclude: Sequence[gpd.GeoDataFrame | gpd.GeoSeries] = (),
    by: str | pd.Series | None = None,
    tolerance_ft: float = TOLERANCE_FT,
) -> gpd.GeoSeries:
    """The ground within a distance of features, without the features: one dissolved zone.

    Corners are round, islands are buffered inward too, ground between two features is counted
    once. The outline is audited (vertices and chord middles) against the exact distance and
    lies within ``tolerance_ft`` of it on both sides.

    Parameters
    ----------
    features : GeoDataFrame or GeoSeries
        Polygons, lines and points in a CRS fit to measure in. None, empty and non-finite
        geometries are passed over, invalid ones repaired. Lines with a positive
        ``half_width_ft`` become the polygon between their banks first (flat ends).
    distance_ft : float or Series
        US survey feet; a Series is aligned to the index of ``features``.
    exclude : sequence of GeoDataFrame or GeoSeries, optional
        Taken out of the zone as the features themselves are.
    by : str or Series, optional
        One zone for each value of this column.
    tolerance_ft : float, default 0.01

    Returns
    -------
    GeoSeries
        One row (index 0), or one a group with the groups as the index; an empty polygon where
        there are no features.

    Raises
    ------
    CrsError
        No CRS, two CRSs, or one that must not be measured in.
    GeometryError
        A distance that is negative or not finite, or a Series without a value for a row.

    Notes
    -----
    City of Rye NY, section 195-3 (buffer "within 100 feet", horizontally, paralleling the
    boundary) is the model.

    Examples
    --------
    >>> import geopandas, shapely
    >>> wetland = geopandas.GeoSeries([shapely.box(7e5, 7e5, 7e5 + 200, 7e5 + 100)], crs=2260)
    >>> round(float(buffer_zone(wetland, 100.0).area.iloc[0]), -1)
    91410.0
    """
    frame = features if isinstance(features, gpd.GeoDataFrame) else features.to_frame("geometry")
    require_measuring_crs(frame)
    require_same_crs(frame, *exclude)
    scale = ft_per_unit(frame.crs)
    distances = _distances(distance_ft, frame.index) / scale
    frame = bank_polygons(frame)
    geometries, index = usable(frame.geometry.to_numpy())
    outside = _union([usable(other.geometry.to_numpy())[0] for other in exclude])
    groups = _groups(frame, by)[index]
    zones: dict[Hashable, Any] = {}
    for value in list(pd.unique(groups)) or ([0] if by is None else []):
        # features that name no group are a group too: their ground must not go missing
        chosen = pd.isna(groups) if pd.isna(value) else groups == value
        zone, _ = audited_zone(geometries[chosen], distances[index][chosen], tolerance_ft / scale)
        own = shapely.union_all(geometries[chosen])
        zones[value] = shapely.difference(shapely.difference(zone, own), outside)
    return gpd.GeoSeries(list(zones.values()), index=pd.Index(list(zones)), crs=frame.crs)


def _union(groups: list[Geometries]) -> Any:
    return shapely.union_all(np.concatenate(groups)) if groups else shapely.Polygon()


def _groups(frame: gpd.GeoDataFrame, by: str | pd.Series | None) -> NDArray[Any]:
    if by is None:
        return np.zeros(len(frame), np.int64)
    if isinstance(by, str) and by not in frame.columns:
        raise GeometryError(
            f"there is no column '{by}'.", needed=f"one of {', '.join(map(str, frame.columns))}"
        )
    column = frame[by] if isinstance(by, str) else by
    values: NDArray[Any] = column.reindex(frame.index).to_numpy()
    return values


def _distances(distance_ft: float | pd.Series, index: pd.Index) -> Floats:
    if isinstance(distance_ft, pd.Series):
        values = distance_ft.reindex(index).to_numpy(float)
    else:
        values = np.full(len(index), float(distance_ft))
    if not (np.isfinite(values) & (values >= 0)).all():
        raise GeometryError(
            "a distance is negative or not a number.",
            needed="feet, zero or more, for each feature",
        )
    return values
