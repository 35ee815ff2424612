"""A synthetic county, the same for the same seed: parcels and all that they are held against.

Every curved layer is a plane figure pushed through shears (``x += f(y)``, ``y += g(x)``). A shear
is injective whatever its amplitude, so a coverage stays a coverage and a ring stays simple, and
neighbours of the soil map keep vertices that are the same to the bit.

The statistics follow a county of New York: a parcel of 1 to 2 acres and 21 vertices in blocks
between roads, wetlands of half an acre (some of 200 acres and 2,000 vertices, some with an
island, some overlapping), half of them along streams, a soil map without gaps of which a quarter
is hydric, floodplains of up to 50,000 vertices, and ground of which 7 per cent is steep.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import shapely
from numpy.typing import NDArray

__all__ = ["CRS", "LAYERS", "make_county"]

CRS = "EPSG:2260"
LAYERS = ("parcels", "wetlands", "watercourses", "soils", "floodplain")
ACRE = 43_560.0
#: The lower left corner of every county, US survey feet.
CORNER = np.array([640_000.0, 760_000.0])
CELL_FT = 10.0

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Geometries = NDArray[np.object_]
Rng = np.random.Generator


@dataclass(frozen=True)
class Shears:
    """Shears one after the other, along x and y in turn: amplitude, wave number, phase."""

    steps: tuple[tuple[float, float, float], ...]

    @classmethod
    def of(cls, rng: Rng, waves: Sequence[tuple[float, float]]) -> Shears:
        """From amplitudes and wavelengths (feet), with phases of their own."""
        return cls(tuple((a, 2 * np.pi / w, rng.uniform(0, 2 * np.pi)) for a, w in waves))

    def __call__(self, xy: Floats) -> Floats:
        x, y = xy[:, 0].copy(), xy[:, 1].copy()
        for k, (amplitude, number, phase) in enumerate(self.steps):
            if k % 2 == 0:
                x += amplitude * np.sin(number * y + phase)
            else:
                y += amplitude * np.sin(number * x + phase)
        return np.column_stack([x, y])


def _within(counts: Ints) -> Ints:
    """0, 1, .. for each of these counts, one after the other."""
    return np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)


# ------------------------------------------------------------------------------ parcels


def _split(rng: Rng, boxes: Floats, target: Floats, jitter: float) -> tuple[Floats, Ints]:
    """Halve boxes across their longer side until they are small; leaves and their first box."""
    root = np.arange(len(boxes))
    leaves: list[Floats] = []
    roots: list[Ints] = []
    while len(boxes):
        width, height = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
        small = width * height < target[root] * np.exp(rng.normal(0, jitter, len(boxes)))
        leaves.append(boxes[small])
        roots.append(root[small])
        boxes, root = boxes[~small], root[~small]
        width, height = width[~small], height[~small]
        at = rng.uniform(0.36, 0.64, len(boxes))
        x = np.round(boxes[:, 0] + at * width, 2)
        y = np.round(boxes[:, 1] + at * height, 2)
        low, high, wide = boxes.copy(), boxes.copy(), width > height
        low[wide, 2], high[wide, 0] = x[wide], x[wide]
        low[~wide, 3], high[~wide, 1] = y[~wide], y[~wide]
        boxes, root = np.concatenate([low, high]), np.concatenate([root, root])
    return np.concatenate(leaves), np.concatenate(roots)


def _lots(rng: Rng, side: float) -> Floats:
    """Lots in blocks between roads of 50 feet."""
    county = np.array([[0.0, 0.0, side, side]])
    blocks, _ = _split(rng, county, np.array([16 * ACRE]), 0.5)
    blocks = blocks + np.array([25.0, 25.0, -25.0, -25.0])
    size = blocks[:, 2:] - blocks[:, :2]
    blocks = blocks[(size > 120).all(axis=1)]
    target = np.exp(rng.normal(np.log(1.9 * ACRE), 1.0, len(blocks)))
    lots, _ = _split(rng, blocks, np.clip(target, 0.3 * ACRE, 26 * ACRE), 0.25)
    return lots[(lots[:, 2] - lots[:, 0]) * (lots[:, 3] - lots[:, 1]) > 0.08 * ACRE]


def _outline(lots: Floats, step: float) -> Geometries:
    """The lots as polygons with a vertex at every multiple of ``step`` along their sides."""
    rows: list[tuple[Ints, Ints, Ints, Floats]] = []
    sides = ((0, 2, 1, False), (1, 3, 2, False), (0, 2, 3, True), (1, 3, 0, True))
    for turn, (low, high, fixed, back) in enumerate(sides):
        first = np.floor(lots[:, low] / step).astype(np.int64) + 1
        last = np.ceil(lots[:, high] / step).astype(np.int64) - 1
        count = np.maximum(last - first + 1, 0)
        own, j = np.repeat(np.arange(len(lots)), count), _within(count)
        between = (last[own] - j if back else first[own] + j) * step
        lot = np.concatenate([np.arange(len(lots)), own])
        along = np.concatenate([lots[:, high if back else low], between])
        across = lots[lot, fixed]
        pair = (along, across) if low == 0 else (across, along)
        rank = np.concatenate([np.full(len(lots), -1), j])
        rows.append((lot, np.full(len(lot), turn), rank, np.column_stack(pair)))
    lot, turn, rank, xy = (np.concatenate([r[k] for r in rows]) for k in range(4))
    order = np.lexsort((rank, turn, lot))
    out: Geometries = shapely.linearrings(xy[order], indices=lot[order].astype(np.int64))
    return out


def _parcels(seed: int, count: int) -> tuple[Geometries, float]:
    """That many parcels (or a few less), in no order, and the side of the county in feet."""
    side = float(np.sqrt(count * 1.2 * ACRE))
    for _ in range(6):
        lots = _lots(np.random.default_rng(seed), side)
        if count <= len(lots) <= 1.01 * count:
            break
        side *= float(np.sqrt(1.005 * count / len(lots)))
    rng = np.random.default_rng(seed + 1)
    if len(lots) > count:
        lots = lots[np.sort(rng.choice(len(lots), count, replace=False))]
    rings = _outline(lots[rng.permutation(len(lots))], 36.0)
    waves = ((400, 14_000), (400, 11_000), (60, 3000), (60, 3300), (12, 700), (12, 800))
    bent = Shears.of(np.random.default_rng(seed + 2), waves)
    xy, of = shapely.get_coordinates(rings, return_index=True)
    return shapely.polygons(shapely.linearrings(bent(xy) + CORNER, indices=of)), side


# ------------------------------------------------------------------- water and wetlands


def _watercourses(rng: Rng, count: int, side: float) -> Geometries:
    """Streams that wander: the heading is a random walk that forgets."""
    lines = []
    for _ in range(count):
        steps = int(np.clip(np.exp(rng.normal(np.log(220), 0.9)), 50, 2000))
        stride, heading = rng.uniform(10, 20), rng.uniform(0, 2 * np.pi)
        noise, bend = rng.normal(0, 0.16, steps), np.zeros(steps)
        for j in range(1, steps):
            bend[j] = 0.93 * bend[j - 1] + noise[j]
        path = np.cumsum(stride * np.column_stack([np.cos(heading + bend), np.sin(heading + bend)]),
                         axis=0)  # fmt: skip
        lines.append(path - path[steps // 2] + rng.uniform(0, side, 2) + CORNER)
    return np.array([shapely.LineString(xy) for xy in lines], dtype=object)


def _wetland(rng: Rng, area: float, centre: Floats) -> Any:
    """One wetland: a wavy ellipse, sheared; larger ones may have an island."""
    radius, stretch = np.sqrt(area / np.pi), np.sqrt(rng.uniform(1, 4))
    corners = 2 * np.pi * radius * stretch * 1.4 / rng.uniform(7, 16)
    corners = int(np.clip(corners, 30, 2000))
    angle = np.arange(corners) * 2 * np.pi / corners
    waves = np.arange(2, min(24, corners // 5) + 2)
    height, phase = (
        rng.normal(0, 0.35, len(waves)) / (waves - 1) ** 1.1,
        rng.uniform(0, 7, len(waves)),
    )
    out = radius * np.exp(
        0.9 * (height[:, None] * np.cos(waves[:, None] * angle + phase[:, None])).sum(0)
    )
    turn = rng.uniform(0, 2 * np.pi)
    bent = Shears.of(rng, ((0.25 * radius, 3.1 * radius), (0.25 * radius, 3.3 * radius)))
    rotation = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])

    def placed(distance: Floats, at: Floats) -> Floats:
        flat = np.column_stack([distance * np.cos(at) * stretch, distance * np.sin(at) / stretch])
        return bent(flat @ rotation) + centre

    islands = []
    if area > ACRE and rng.random() < 0.35:
        at = np.arange(max(12, corners // 5)) * 2 * np.pi / max(12, corners // 5)
        islands.append(placed(0.25 * out.min() * np.exp(0.2 * np.cos(3 * at)), at))
    return shapely.Polygon(placed(out, angle), islands)


def _wetlands(rng: Rng, count: int, side: float, shores: Floats) -> Geometries:
    """Wetlands, half of them along the streams; some overlap."""
    area = np.clip(np.exp(rng.normal(np.log(0.55), 1.5, count)) * ACRE, 500, 200 * ACRE)
    large = max(2, count // 400)
    area[:large] = rng.uniform(60, 200, large) * ACRE
    centres = rng.uniform(0, side, (count, 2)) + CORNER
    near = rng.random(count) < 0.5
    on_shore = shores[rng.integers(len(shores), size=int(near.sum()))]
    centres[near] = on_shore + rng.normal(0, 150, on_shore.shape)
    made = np.array([_wetland(rng, a, c) for a, c in zip(area, centres, strict=True)], object)
    return _valid(made)


def _valid(geometries: Geometries) -> Geometries:
    wrong = ~shapely.is_valid(geometries)
    geometries[wrong] = shapely.buffer(geometries[wrong], 0)
    return geometries[~shapely.is_empty(geometries)]


# ---------------------------------------------------------------------- soils and floods


def _soils(rng: Rng, count: int, side: float) -> tuple[Geometries, NDArray[np.bool_]]:
    """A soil map without gaps that reaches past the county, and which units are hydric."""
    margin = 3000.0
    points = rng.uniform(-margin, side + margin, (int(count * (1 + 2 * margin / side) ** 2), 2))
    cells = shapely.get_parts(shapely.voronoi_polygons(shapely.multipoints(points)))
    middle = shapely.get_coordinates(shapely.centroid(cells))
    box = shapely.bounds(cells)
    # cells at the rim of the diagram reach far out
    inner = ((middle > -1500) & (middle < side + 1500)).all(axis=1)
    inner &= (box > -2 * margin).all(axis=1) & (box < side + 2 * margin).all(axis=1)
    xy, of = shapely.get_coordinates(cells[inner], return_index=True)
    corners, number = np.unique(xy, axis=0, return_inverse=True)
    start = np.flatnonzero(of[1:] == of[:-1])
    number = number.reshape(-1)
    first, second, of = number[start], number[start + 1], of[start]
    # both neighbours lay the vertices of their edge from its lower end, so that no bit differs
    low, high = np.minimum(first, second), np.maximum(first, second)
    run = corners[high] - corners[low]
    steps = np.clip((np.hypot(run[:, 0], run[:, 1]) / 10).astype(np.int64), 1, 400)
    edge, j = np.repeat(np.arange(len(steps)), steps), _within(steps)
    at = np.where(first == low, 0, steps)[edge] + np.where(first == low, 1, -1)[edge] * j
    at = (at / steps[edge])[:, None]
    laid = corners[low][edge] * (1 - at) + corners[high][edge] * at
    waves = ((300, 9000), (300, 8000), (60, 1500), (60, 1300), (25, 420), (25, 380), (8, 130),
             (8, 120))  # fmt: skip
    bent = Shears.of(rng, waves)(laid) + CORNER
    units = shapely.polygons(shapely.linearrings(bent, indices=of[edge]))
    return _valid(units), rng.random(len(units)) < 0.25


def _valley(rng: Rng, length: float, width: float, corners: int) -> Any:
    """A straight floodplain with side valleys and islands."""
    parts = [shapely.box(-length / 2, -width / 2, length / 2, width / 2)]
    for _ in range(int(rng.integers(0, 2 + corners // 2000))):
        x, way = rng.uniform(-length / 2, length / 2), rng.choice([-1, 1])
        reach = rng.uniform(300, min(0.25 * length + 400, 9000))
        half = width * rng.uniform(0.1, 0.3)
        foot = ((x - half, 0), (x + half, 0))
        head = (
            (x + reach / 2 + half / 1.5, way * reach),
            (x + reach / 2 - half / 1.5, way * reach),
        )
        parts.append(shapely.Polygon((*foot, *head)))
    valley = shapely.union_all(parts)
    islands = [
        shapely.Point(rng.uniform(-length / 2, length / 2), rng.uniform(-width / 4, width / 4))
        .buffer(width * rng.uniform(0.05, 0.15))
        for _ in range(corners // 1500)
    ]  # fmt: skip
    if islands:
        valley = shapely.difference(valley, shapely.union_all(islands))
    return shapely.segmentize(valley, shapely.length(valley) / corners)


def _floodplain(rng: Rng, count: int, side: float) -> Geometries:
    """Floodplains of 300 to 50,000 vertices; some overlap."""
    corners = np.clip(np.exp(rng.normal(np.log(1500), 1.3, count)), 300, 50_000).astype(np.int64)
    corners[0] = 50_000
    corners[1 : 1 + count // 100] = rng.integers(20_000, 50_000, count // 100)
    out = np.empty(count, dtype=object)
    for i, number in enumerate(corners):
        length = min(0.95 * side, number * rng.uniform(2.5, 4))
        width = rng.uniform(120, 450) * (length / 8000) ** 0.3
        valley = _valley(rng, length, width, int(number))
        waves = ((0.05 * width, 300), (0.4 * width, 2200), (0.1 * width, 900), (0.2 * width, 700),
                 (5, 90), (5, 80), (0, 1), (min(0.1 * length, 2500), 15_000))  # fmt: skip
        bent, turn = Shears.of(rng, waves), rng.uniform(0, np.pi)
        rotation = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
        centre = rng.uniform(0.1 * side, 0.9 * side, 2) if i else np.full(2, side / 2)
        xy = bent(shapely.get_coordinates(valley)) @ rotation + centre + CORNER
        moved = shapely.set_coordinates(valley, xy)
        if not moved.is_valid:
            moved = shapely.make_valid(moved, method="structure", keep_collapsed=False)
        out[i] = moved
    return out


# ------------------------------------------------------------------------------- terrain


def _relief(rng: Rng, size: int = 2048) -> NDArray[np.float32]:
    """A square of ground that repeats without a seam; 7 % of it is steeper than 30 %."""
    along, across = np.fft.fftfreq(size)[:, None], np.fft.rfftfreq(size)[None]
    wave = np.hypot(along, across)
    wave[0, 0] = 1
    strength = (wave + 2 / size) ** -2.0 * np.exp(-((wave / 0.12) ** 2))
    ground = np.fft.irfft2(strength * np.exp(2j * np.pi * rng.random(wave.shape)), (size, size))
    slope = np.hypot(*np.gradient(ground))
    return (ground * 0.30 * CELL_FT / np.quantile(slope, 0.93)).astype(np.float32)


def _write_dem(rng: Rng, side: float, path: Path) -> int:
    """Write the terrain of the county and 1,500 feet around it; the number of cells."""
    import rasterio
    from rasterio.transform import from_origin

    ground = _relief(rng)
    margin, period = 1500.0, len(ground)
    count = int(np.ceil((side + 2 * margin) / CELL_FT))
    profile = {
        "driver": "GTiff", "width": count, "height": count, "count": 1, "dtype": "float32",
        "crs": CRS, "tiled": True, "blockxsize": 512, "blockysize": 512, "compress": "deflate",
        "zlevel": 1, "predictor": 3, "num_threads": 2, "BIGTIFF": "IF_SAFER",
        "transform": from_origin(CORNER[0] - margin, CORNER[1] + side + margin, CELL_FT, CELL_FT),
    }  # fmt: skip
    columns = np.arange(count) % period
    with rasterio.open(path, "w", **profile) as file:
        for top in range(0, count, 512):
            rows = np.arange(top, min(count, top + 512))
            window = ((top, int(rows[-1]) + 1), (0, count))
            file.write(ground[np.ix_(rows % period, columns)], 1, window=window)
        file.update_tags(1, unit="us-ft")
        file.units = ("US survey foot",)
    return count * count


# --------------------------------------------------------------------------------- write


def make_county(n: int, folder: str | Path, seed: int = 7) -> dict[str, Any]:
    """Write a county of about ``n`` parcels as GeoParquet, one file a layer, and ``dem.tif``.

    Parameters
    ----------
    n : int
        Parcels; there are n/25 wetlands, n/100 watercourses, n/20 soil units in the county and
        some around it, n/500 floodplains.
    folder : str or Path
        Made where it is missing.
    seed : int, default 7

    Returns
    -------
    dict
        What was made: the number of features and vertices of each layer; also ``info.json``.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    parcels, side = _parcels(seed, n)
    rng = [np.random.default_rng(seed + k) for k in range(10, 21)]
    water = _watercourses(rng[0], max(n // 100, 2), side)
    wetlands = _wetlands(rng[1], max(n // 25, 4), side, shapely.get_coordinates(water))
    soils, hydric = _soils(rng[2], max(n // 20, 20), side)
    flood = _floodplain(rng[3], max(4, n // 500), side)
    percent = np.where(hydric, 100.0, 0.0)
    columns: dict[str, dict[str, Any]] = {
        "soils": {"hydric_pct_low": percent, "hydric_pct_high": percent},
        "floodplain": {"zone": "AE", "sfha": "T"},
    }
    info: dict[str, Any] = {"parcels_wanted": n, "seed": seed, "side_ft": side}
    made = zip(LAYERS, (parcels, wetlands, water, soils, flood), strict=True)
    for kind, geometries in made:
        ids = [f"{kind[:1]}{k}" for k in range(len(geometries))]
        frame = gpd.GeoDataFrame({"id": ids, **columns.get(kind, {})}, geometry=geometries, crs=CRS)
        frame.to_parquet(folder / f"{kind}.parquet", write_covering_bbox=True,
                         row_group_size=20_000)  # fmt: skip
        vertices = shapely.get_num_coordinates(geometries)
        info[kind] = {
            "features": len(geometries),
            "vertices": int(vertices.sum()),
            "most_vertices": int(vertices.max()),
            "invalid": int((~shapely.is_valid(geometries)).sum()),
        }
    info["dem_cells"] = _write_dem(rng[10], side, folder / "dem.tif")
    (folder / "info.json").write_text(json.dumps(info, indent=1) + "\n")
    return info
