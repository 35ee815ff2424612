"""The coverage kernel against exact geometry: what part of each cell lies in a shape."""

from __future__ import annotations

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from pyproj import CRS
from rasterio import Affine

from wetgis.rasters import coverage, zones
from wetgis.rasters.horn import Grid

FEET = CRS("EPSG:2260")
ROWS, COLS = 13, 17
AT = (717_000.0, 783_000.0)
WEIGHTS = np.random.default_rng(7).uniform(1.0, 2.0, (ROWS, COLS))


def shapes_of(geometries: list[shapely.Geometry], affine: Affine) -> coverage.PixelShapes:
    return coverage.pixel_polygons(*zones._rings(np.array(geometries, object)), tuple(affine)[:6])


def sums_of(
    geometries: list[shapely.Geometry],
    affine: Affine,
    values: NDArray[np.float64] = WEIGHTS,
    *,
    step: int | None = None,
    above: float = 1.5,
) -> NDArray[np.float64]:
    """Sums over the whole window, or over windows of ``step`` rows."""
    shapes = shapes_of(geometries, affine)
    sums = coverage.new_sums(len(geometries))
    pick = np.arange(len(geometries))
    noise = np.zeros(values.shape, np.float32)
    step = step or values.shape[0]
    for row in range(0, values.shape[0], step):
        part = np.ascontiguousarray(values[row : row + step])
        window = part, noise[: len(part)]
        coverage.cover(shapes, pick, window, (0, row), above, sums)
    return sums


def cells(affine: Affine, shape: tuple[int, int] = (ROWS, COLS)) -> NDArray[np.object_]:
    col, row = np.meshgrid(np.arange(shape[1]), np.arange(shape[0]))
    corners = [affine * (col + i, row + j) for i, j in ((0, 0), (1, 0), (1, 1), (0, 1))]
    return shapely.polygons(np.stack([np.stack(c, -1) for c in corners], -2))


def star(seed: int, *, centre: tuple[float, float], radius: float, hole: bool) -> shapely.Polygon:
    """A polygon of random spikes, with or without a hole."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 24))
    angle = np.sort(rng.uniform(0, 2 * np.pi, n))
    far = rng.uniform(0.35, 1.0, n) * radius
    shell = np.column_stack([centre[0] + far * np.cos(angle), centre[1] + far * np.sin(angle)])
    holes = []
    if hole:
        a = np.linspace(0, 2 * np.pi, 6)[:-1]
        r = 0.1 * radius
        holes = [np.column_stack([centre[0] + r * np.cos(a), centre[1] + r * np.sin(a)])]
    made = shapely.make_valid(shapely.Polygon(shell, holes), method="structure")
    return made


AFFINES = {
    "north up": Affine(10, 0, 717_000, 0, -10, 783_130),
    "south up": Affine(10, 0, 717_000, 0, 10, 783_000),
    "east west flipped": Affine(-10, 0, 717_170, 0, -10, 783_130),
    "oblong": Affine(7, 0, 717_000, 0, -11, 783_130),
    "rotated": Affine.translation(717_060, 783_000) * Affine.rotation(30) * Affine.scale(9, 9),
    "sheared": Affine(10, 3, 717_000, 1, -8, 783_110),
}


@pytest.mark.parametrize("name", AFFINES)
@given(seed=st.integers(0, 10**6), hole=st.booleans(), off=st.floats(-40, 140))
@settings(max_examples=40, deadline=None)
def test_every_cell_as_geos_cuts_it(name: str, seed: int, hole: bool, off: float) -> None:
    affine = AFFINES[name]
    polygon = star(seed, centre=affine * (off / 10, 6.3), radius=70.0, hole=hole)
    got = sums_of([polygon], affine)[0]
    parts = shapely.area(shapely.intersection(cells(affine), polygon)) / abs(affine.determinant)
    assert got[coverage.KNOWN] == pytest.approx(parts.sum(), abs=1e-8)
    assert got[coverage.SUM] == pytest.approx((parts * WEIGHTS).sum(), abs=1e-8)
    assert got[coverage.ABOVE] == pytest.approx(parts[WEIGHTS > 1.5 + 1e-3].sum(), abs=1e-8)
    touched = parts > 2 * coverage.CUT
    if touched.any():
        assert got[coverage.MAXIMUM] >= WEIGHTS[touched].max()
        assert got[coverage.MAXIMUM] <= WEIGHTS[parts > 0].max()
    area = shapes_of([polygon], affine).area[0]
    assert area == pytest.approx(polygon.area / abs(affine.determinant), rel=1e-9)


@given(seed=st.integers(0, 10**6), hole=st.booleans())
@settings(max_examples=60, deadline=None)
def test_cells_sum_to_the_area(seed: int, hole: bool) -> None:
    affine = AFFINES["north up"]
    polygon = star(seed, centre=affine * (8.4, 6.3), radius=60.0, hole=hole)
    got = sums_of([polygon], affine)[0]
    assert 100.0 * got[coverage.KNOWN] == pytest.approx(polygon.area, abs=1e-6)


@given(
    seed=st.integers(0, 10**6), cols=st.integers(-50_000, 50_000), rows=st.integers(-50_000, 50_000)
)
@settings(max_examples=60, deadline=None)
def test_moved_by_whole_cells_the_same_bits(seed: int, cols: int, rows: int) -> None:
    rng = np.random.default_rng(seed)
    # coordinates on a dyadic grid, so that moving them is exact
    ring = np.round(rng.uniform(5, 115, (9, 2)) * 64) / 64
    hull = shapely.convex_hull(shapely.multipoints(ring))
    if hull.area == 0:
        return
    by = np.array([10.0 * cols, -10.0 * rows])
    here = shapely.transform(hull, lambda xy: xy + np.array(AT))
    there = shapely.transform(here, lambda xy: xy + by)
    affine = AFFINES["north up"]
    moved = Affine(10, 0, affine.c + 10.0 * cols, 0, -10, affine.f - 10.0 * rows)
    np.testing.assert_array_equal(sums_of([here], affine), sums_of([there], moved))


@pytest.mark.parametrize("name", AFFINES)
@given(seed=st.integers(0, 10**6), turn=st.floats(0, 180), step=st.integers(1, 13))
@settings(max_examples=30, deadline=None)
def test_parts_add_up_and_strips_do_not_matter(
    name: str, seed: int, turn: float, step: int
) -> None:
    affine = AFFINES[name]
    polygon = star(seed, centre=affine * (8.4, 6.3), radius=65.0, hole=True)
    cut = shapely.affinity.rotate(
        shapely.box(*np.subtract(affine * (8.4, 6.3), [500, 500]), affine.c + 84, affine.f + 600),
        turn,
        origin=affine * (8.4, 6.3),
    )
    halves = [shapely.intersection(polygon, cut), shapely.difference(polygon, cut)]
    halves = [h for h in halves if h.area > 0]
    whole, *parts = sums_of([polygon, *halves], affine)
    added = np.sum(parts, axis=0)
    for k in (coverage.KNOWN, coverage.SUM, coverage.ABOVE):
        assert added[k] == pytest.approx(whole[k], abs=1e-7)
    np.testing.assert_array_equal(
        sums_of([polygon, *halves], affine), sums_of([polygon, *halves], affine, step=step)
    )


def test_direction_of_rings_does_not_matter() -> None:
    affine = AFFINES["north up"]
    polygon = star(3, centre=affine * (8.4, 6.3), radius=60.0, hole=True)
    turned = shapely.Polygon(polygon.exterior.coords[::-1], [r.coords for r in polygon.interiors])
    a, b = sums_of([polygon, turned], affine)
    assert a == pytest.approx(b, abs=1e-12)


@pytest.mark.parametrize("inside", [(0, 0, 170, 130), (20, 30, 110, 90), (20, 30, 30, 40)])
def test_whole_cells_are_exactly_one(inside: tuple[int, int, int, int]) -> None:
    affine = AFFINES["north up"]
    x0, y0, x1, y1 = inside
    box = shapely.box(717_000 + x0, 783_000 + y0, 717_000 + x1, 783_000 + y1)
    got = sums_of([box], affine)[0]
    assert got[coverage.KNOWN] == (x1 - x0) * (y1 - y0) / 100
    rows = slice(13 - y1 // 10, 13 - y0 // 10)
    assert got[coverage.MAXIMUM] == WEIGHTS[rows, x0 // 10 : x1 // 10].max()


def test_slivers_of_rounding_touch_no_cell() -> None:
    """A box off its cells by what a coordinate's last bit is worth."""
    affine = AFFINES["north up"]
    values = np.full((ROWS, COLS), 9.0)
    values[5, 5] = 1.0
    box = shapely.box(717_050 - 1e-9, 783_070 - 1e-9, 717_060 + 1e-9, 783_080 + 1e-9)
    got = sums_of([box], affine, values, above=5.0)[0]
    assert got[coverage.MAXIMUM] == 1.0
    assert got[coverage.ABOVE] == 0.0


def test_a_shape_far_smaller_than_a_cell() -> None:
    affine = Affine(1000, 0, 717_000, 0, -1000, 796_000)
    tiny = shapely.box(717_500, 795_500, 717_500.01, 795_500.01)
    got = sums_of([tiny], affine)[0]
    assert got[coverage.KNOWN] == pytest.approx(1e-10, rel=1e-6)
    assert got[coverage.MAXIMUM] == WEIGHTS[0, 0]


def test_ground_without_a_value_by_its_reason() -> None:
    affine = AFFINES["north up"]
    values = WEIGHTS.copy()
    noise = np.zeros(values.shape, np.float32)
    for col, why in enumerate((coverage.NO_TILE, coverage.BAD, coverage.VOID, 0.0)):
        values[0, col] = np.nan
        noise[0, col] = why
    shapes = shapes_of([shapely.box(717_000, 783_120, 717_050, 783_130)], affine)
    sums = coverage.new_sums(1)
    coverage.cover(shapes, np.array([0]), (values, noise), (0, 0), 1.5, sums)
    assert sums[0, coverage.OUTSIDE] == 1.0
    assert sums[0, coverage.UNKNOWN] == 3.0
    assert sums[0, coverage.IMPOSSIBLE] == 1.0
    assert sums[0, coverage.KNOWN] == 1.0
    assert sums[0, coverage.MAXIMUM] == WEIGHTS[0, 4]


def test_noise_decides_what_is_above() -> None:
    affine = AFFINES["north up"]
    values = np.full((ROWS, COLS), 30.005)
    noise = np.zeros(values.shape, np.float32)
    noise[:, 5:] = 0.01
    shapes = shapes_of([shapely.box(717_000, 783_000, 717_100, 783_130)], affine)
    sums = coverage.new_sums(1)
    coverage.cover(shapes, np.array([0]), (values, noise), (0, 0), 30.0, sums)
    assert sums[0, coverage.ABOVE] == 5 * 13.0
    coverage.cover(shapes, np.array([0]), (values, noise), (0, 0), 30.0042, sums)
    assert sums[0, coverage.ABOVE] == 5 * 13.0


# ---------------------------------------------------------------- shapes of every kind


def grid(affine: Affine = AFFINES["north up"], crs: CRS = FEET) -> Grid:
    return Grid(tuple(affine)[:6], ROWS, COLS, crs)


def read(rows: tuple[int, int], cols: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    values = np.ascontiguousarray(WEIGHTS[slice(*rows), slice(*cols)])
    return values, np.zeros(values.shape, np.float32)


@pytest.mark.parametrize("name", AFFINES)
@given(seed=st.integers(0, 10**6))
@settings(max_examples=30, deadline=None)
def test_lines_by_their_length(name: str, seed: int) -> None:
    affine = AFFINES[name]
    rng = np.random.default_rng(seed)
    line = shapely.LineString([affine * p for p in rng.uniform(1, 12, (5, 2))])
    got = zones.summarise(grid(affine), read, np.array([line], object), FEET, 1.5)
    length = shapely.length(shapely.intersection(cells(affine), line))
    assert got["known"][0] == 1.0
    assert got["mean"][0] == pytest.approx((length * WEIGHTS).sum() / line.length, rel=1e-9)
    share = length[WEIGHTS > 1.5 + 1e-3].sum() / line.length
    assert got["above"][0] == pytest.approx(share, abs=1e-9)


def test_half_a_line_off_the_grid() -> None:
    line = shapely.LineString([(716_900, 783_005), (717_100, 783_005)])
    got = zones.summarise(grid(), read, np.array([line], object), FEET, np.nan)
    assert got["covered"][0] == pytest.approx(0.5)
    assert got["known"][0] == pytest.approx(0.5)
    assert got["mean"][0] == pytest.approx(WEIGHTS[12, :10].mean())
    assert np.isnan(got["above"][0])


def test_points_and_shapes_without_an_area() -> None:
    two = shapely.MultiPoint([(717_005, 783_005), (717_165, 783_125)])
    flat = shapely.Polygon([(717_005, 783_005), (717_015, 783_005), (717_005, 783_005)])
    off = shapely.Point(0, 0)
    got = zones.summarise(grid(), read, np.array([two, flat, off], object), FEET, 1.0)
    assert got["mean"][0] == pytest.approx((WEIGHTS[12, 0] + WEIGHTS[0, 16]) / 2)
    assert got["max"][0] == max(WEIGHTS[12, 0], WEIGHTS[0, 16])
    assert got["mean"][1] == pytest.approx((WEIGHTS[12, 0] + WEIGHTS[12, 1]) / 2)
    assert got["known"].tolist() == [1.0, 1.0, 0.0]
    assert got["unknown"].tolist() == [0.0, 0.0, 1.0]
    assert np.isnan(got["mean"][2])


@given(seeds=st.lists(st.integers(0, 10**6), min_size=1, max_size=12, unique=True))
@settings(max_examples=25, deadline=None)
def test_company_order_and_blocks_do_not_matter(seeds: list[int]) -> None:
    """Alone or together, in small blocks or strips of a row: the same bits."""
    affine = AFFINES["north up"]
    rng = np.random.default_rng(0)
    geoms = np.array(
        [
            star(s, centre=affine * tuple(rng.uniform(-1, 15, 2)), radius=40.0, hole=s % 2 == 0)
            for s in seeds
        ],
        object,
    )
    together = zones.summarise(grid(), read, geoms, FEET, 1.5)
    back = zones.summarise(grid(), read, geoms[::-1], FEET, 1.5)
    alone = [zones.summarise(grid(), read, geoms[[k]], FEET, 1.5) for k in range(len(geoms))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(zones, "BLOCK", 4)
        patch.setattr(zones, "STRIP_CELLS", 1)
        small = zones.summarise(grid(), read, geoms, FEET, 1.5)
    for name, column in together.items():
        np.testing.assert_array_equal(column, back[name][::-1])
        np.testing.assert_array_equal(column, np.concatenate([a[name] for a in alone]))
        np.testing.assert_array_equal(column, small[name])


def test_long_edges_bend_on_the_way_to_the_grid() -> None:
    """A box of half a degree is a box on no State Plane grid: its long sides sag by 130 ft."""
    import pyproj

    to = pyproj.Transformer.from_crs(4269, 2260, always_xy=True)
    box = shapely.box(-73.9, 41.00, -73.4, 41.01)
    fine = shapely.transform(shapely.segmentize(box, 1e-3), to.transform, interleaved=False)
    bare = shapely.transform(box, to.transform, interleaved=False)
    x0, _, _, y1 = fine.bounds
    values = np.tile(np.arange(70.0)[:, None], (1, 1500))
    here = Grid((100, 0, x0 - 500, 0, -100, y1 + 500), *values.shape, FEET)

    def strip(rows: tuple[int, int], cols: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
        part = np.ascontiguousarray(values[slice(*rows), slice(*cols)])
        return part, np.zeros(part.shape, np.float32)

    def mean(shape: shapely.Geometry, crs: CRS) -> float:
        got = zones.summarise(here, strip, np.array([shape], object), crs, np.nan)
        assert got["unknown"][0] == 0.0
        return float(got["mean"][0])

    assert mean(box, CRS("EPSG:4269")) == pytest.approx(mean(fine, FEET), abs=1e-3)
    assert abs(mean(bare, FEET) - mean(fine, FEET)) > 0.3


def test_exactextract_agrees(tmp_path) -> None:
    exactextract = pytest.importorskip("exactextract")
    import geopandas as gpd
    import rasterio

    affine = Affine(10, 0, 717_000, 0, -10, 783_130)
    path = tmp_path / "w.tif"
    with rasterio.open(path, "w", driver="GTiff", height=ROWS, width=COLS, count=1,
                       dtype="float64", crs="EPSG:2260", transform=affine) as data:  # fmt: skip
        data.write(WEIGHTS, 1)
    rng = np.random.default_rng(1)
    polygons = [
        star(k, centre=affine * tuple(rng.uniform(0, 14, 2)), radius=50.0, hole=k % 2 == 0)
        for k in range(300)
    ]
    frame = gpd.GeoDataFrame(geometry=polygons, crs="EPSG:2260")
    theirs = exactextract.exact_extract(str(path), frame, ["count", "mean", "max"], output="pandas")
    ours = zones.summarise(grid(), read, frame.geometry.to_numpy(), FEET, 1.5)
    sums = sums_of(polygons, affine)
    np.testing.assert_allclose(sums[:, coverage.KNOWN], theirs["count"], atol=1e-5)
    np.testing.assert_allclose(ours["mean"], theirs["mean"], atol=1e-6)
    np.testing.assert_allclose(ours["max"], theirs["max"], atol=1e-12)
