"""Lines and outlines as nature and surveyors draw them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import rasterio.features
import shapely
from rasterio.transform import from_origin

from .fields import Array, Grid


def resample(points: Array, step: float) -> Array:
    """Points along a polyline at about equal steps, ends kept."""
    line = shapely.LineString(points)
    n = max(2, round(line.length / step) + 1)
    return shapely.get_coordinates(
        shapely.line_interpolate_point(line, np.linspace(0, line.length, n))
    )


def smooth(points: Array, step: float, width: float) -> Array:
    """A polyline smoothed along itself by a bell of ``width`` feet; ends stay."""
    xy = resample(np.asarray(points, float), step)
    reach = min(int(3 * width / step), len(xy) - 1)
    if reach < 1:
        return xy
    bell = np.exp(-0.5 * (np.arange(-reach, reach + 1) * step / width) ** 2)
    # reflected through the ends, so that they do not move
    head = 2 * xy[0] - xy[reach:0:-1]
    tail = 2 * xy[-1] - xy[-2 : -reach - 2 : -1]
    padded = np.vstack([head, xy, tail])
    out = np.column_stack([np.convolve(padded[:, k], bell / bell.sum(), "valid") for k in (0, 1)])
    out[0], out[-1] = xy[0], xy[-1]
    return out


def meander(points: Array, rng: np.random.Generator, *, step: float, swing: float) -> Array:
    """A polyline that swings left and right of its course by a smoothed random walk."""
    xy = resample(points, step)
    n = len(xy)
    walk = np.convolve(rng.standard_normal(n + 40), np.hanning(13), "same")[20:-20]
    walk = walk - np.convolve(np.pad(walk, 30, "edge"), np.ones(61) / 61, "valid")
    walk *= swing / max(walk.std(), 1e-9)
    fade = np.minimum(1, np.minimum(np.arange(n), np.arange(n)[::-1]) * step / (8 * swing + 1))
    along = np.gradient(xy, axis=0)
    along /= np.hypot(*along.T)[:, None]
    normal = np.column_stack([-along[:, 1], along[:, 0]])
    return smooth(xy + normal * (walk * fade)[:, None], step, step)


def blob(
    rng: np.random.Generator,
    centre: tuple[float, float],
    radius: float,
    *,
    stretch: float = 1.5,
    rough: float = 0.22,
    points: int = 90,
) -> shapely.Polygon:
    """A rounded, irregular outline: a pond, a clearing, a small wetland."""
    angle = np.linspace(0, 2 * np.pi, points, endpoint=False)
    r = np.zeros(points)
    for k in range(1, 9):
        r += rng.normal(0, rough / k**1.4) * np.cos(k * angle + rng.uniform(0, 2 * np.pi))
    r = radius * np.exp(r)
    turn = rng.uniform(0, np.pi)
    x, y = r * np.cos(angle) * np.sqrt(stretch), r * np.sin(angle) / np.sqrt(stretch)
    c, s = np.cos(turn), np.sin(turn)
    ring = np.column_stack([centre[0] + c * x - s * y, centre[1] + s * x + c * y])
    return shapely.Polygon(ring).buffer(0)


def with_island(
    polygon: shapely.Polygon, rng: np.random.Generator, share: float = 0.42
) -> shapely.Polygon:
    """The outline with a dry knoll in its widest place."""
    radius = shapely.maximum_inscribed_circle(polygon)
    middle = radius.coords[0]
    return polygon.difference(blob(rng, middle, radius.length * share, stretch=1.4, points=48))


def scaled_to(polygon: shapely.Polygon, area: float) -> shapely.Polygon:
    """The same outline about the same centre with the area wanted."""
    k = np.sqrt(area / polygon.area)
    centre = np.array(polygon.centroid.coords[0])
    return shapely.transform(polygon, lambda xy: centre + k * (xy - centre))


def tapered(points: Array, widths: Sequence[float]) -> shapely.Geometry:
    """A strip along a line whose half-width runs through ``widths`` from end to end."""
    xy = resample(points, 12)
    half = np.interp(np.linspace(0, 1, len(xy)), np.linspace(0, 1, len(widths)), widths)
    discs = shapely.buffer(shapely.points(xy), half, quad_segs=12)
    pairs = shapely.multipolygons(np.column_stack([discs[:-1], discs[1:]]))
    return shapely.union_all(shapely.convex_hull(pairs)).simplify(0.4)


def coverage(grid: Grid, labels: Array, *, tolerance: float, bend: int = 2) -> dict[int, list]:
    """Polygons of a grid of labels that share their lines, without the grid's stairs."""
    transform = from_origin(grid.x0, grid.y0 + grid.cell * grid.ny, grid.cell, grid.cell)
    found = [
        (shapely.geometry.shape(geometry), int(value))
        for geometry, value in rasterio.features.shapes(
            labels[::-1].astype("int32"), transform=transform
        )
    ]
    polygons = shapely.coverage_simplify(
        np.array([p for p, _ in found]), tolerance, simplify_boundary=False
    )
    arcs = shapely.line_merge(shapely.union_all(shapely.boundary(polygons)))
    rounded = [_rounded(arc, bend) for arc in shapely.get_parts(arcs)]
    faces = shapely.get_parts(shapely.polygonize([shapely.union_all(rounded)]))
    spots = shapely.get_coordinates(shapely.point_on_surface(faces))
    column = np.clip(((spots[:, 0] - grid.x0) / grid.cell).astype(int), 0, grid.nx - 1)
    row = np.clip(((spots[:, 1] - grid.y0) / grid.cell).astype(int), 0, grid.ny - 1)
    out: dict[int, list] = {}
    for face, value in zip(faces, labels[row, column], strict=True):
        out.setdefault(int(value), []).append(face)
    return out


def _rounded(arc: shapely.LineString, times: int) -> shapely.LineString:
    """Corners cut off again and again; ends (or the seam of a ring) stay."""
    xy = shapely.get_coordinates(arc)
    for _ in range(times):
        if len(xy) < 3:
            break
        a = 0.75 * xy[:-1] + 0.25 * xy[1:]
        b = 0.25 * xy[:-1] + 0.75 * xy[1:]
        cut = np.stack([a, b], axis=1).reshape(-1, 2)
        xy = np.vstack([xy[:1], cut[1:-1], xy[-1:]])
    return shapely.LineString(xy)


def placed(corners: Sequence[tuple[float, float]], centre: Array, angle: float) -> shapely.Polygon:
    """A shape given by its corners, turned and moved."""
    c, s = np.cos(angle), np.sin(angle)
    xy = np.asarray(corners, float) @ np.array([[c, s], [-s, c]]) + centre
    return shapely.Polygon(xy)


def tidy(geometry: shapely.Geometry, digits: int = 2) -> shapely.Geometry:
    """Coordinates as a survey writes them: hundredths of a foot."""
    return shapely.transform(geometry, lambda xy: np.round(xy, digits))
