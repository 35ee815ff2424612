"""Several files as one surface: no seam, same bits, windows only, and what is refused."""

from __future__ import annotations

import pickle
import threading
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import rasterio
import shapely
from pyproj import CRS
from rasterio import Affine
from tests.terrain_makers import centres, plane, write

import wetgis
from wetgis.errors import CrsError, InputError, UsageError
from wetgis.rasters import zones
from wetgis.rasters.surface import open_surface

FEET = CRS("EPSG:2260")
AT = (717_000.0, 783_000.0)
H, W = 90, 110
WHOLE = Affine(10, 0, AT[0], 0, -10, AT[1] + H * 10)


def rough() -> np.ndarray:
    x, y = centres(WHOLE, (H, W))
    x, y = x - AT[0], y - AT[1]
    bumps = 40 * np.sin(x / 63) * np.cos(y / 41) + 15 * np.sin(x / 17 + y / 29)
    return (500 + bumps + np.random.default_rng(3).normal(0, 0.5, x.shape)).astype(np.float32)


def cut(
    folder: Path, cells: np.ndarray, rows: tuple[int, int], cols: tuple[int, int], **more: object
) -> Path:
    path = folder / f"t{rows[0]}_{cols[0]}.tif"
    here = WHOLE * Affine.translation(cols[0], rows[0])
    return write(path, cells[slice(*rows), slice(*cols)], here, unit="us-ft", nodata=-9999, **more)


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    return write(tmp_path / "whole.tif", rough(), WHOLE, unit="us-ft", nodata=-9999)


@pytest.fixture
def quarters(tmp_path: Path) -> list[Path]:
    """Four files that overlap by 0 to 6 cells, each stored another way."""
    z = rough()
    tiled = {"tiled": True, "blockysize": 16}
    return [
        cut(tmp_path, z, (0, 48), (0, 50), blockxsize=32, compress="deflate", **tiled),
        cut(tmp_path, z, (0, 42), (50, 110), compress="lzw", predictor=3),
        cut(tmp_path, z, (42, 90), (0, 56), blockxsize=16, **tiled),
        cut(tmp_path, z, (42, 90), (50, 110), blockysize=1),
    ]


def shapes(n: int = 60) -> np.ndarray:
    rng = np.random.default_rng(11)
    middle = rng.uniform((0, 0), (W * 10, H * 10), (n, 2)) + AT
    return np.array(
        [shapely.Point(p).buffer(r, quad_segs=3) for p, r in zip(middle, rng.uniform(2, 200, n),
                                                                 strict=True)],
        object,
    )  # fmt: skip


def same(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> None:
    assert a.keys() == b.keys()
    for name, column in a.items():
        np.testing.assert_array_equal(column, b[name], err_msg=name)


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 1, 0, 2)])
def test_four_tiles_are_one_file(whole, quarters, order):
    tiles = [quarters[k] for k in order]
    one, four = wetgis.slope(whole), wetgis.slope(tiles)
    np.testing.assert_array_equal(one.array, four.array)
    assert one.transform == four.transform
    assert np.isfinite(four.array[1:-1, 1:-1]).all()
    a, b = open_surface(whole, kind="dem"), open_surface(tiles, kind="dem")
    same(a.zonal(shapes(), FEET, 30.0), b.zonal(shapes(), FEET, 30.0))


def test_window_and_company_do_not_matter(whole, monkeypatch):
    surface = open_surface(whole, kind="dem")
    geoms = shapes()
    all_at_once = surface.zonal(geoms, FEET, 30.0)
    one_by_one = [surface.zonal(geoms[[k]], FEET, 30.0) for k in range(len(geoms))]
    same(all_at_once, {k: np.concatenate([o[k] for o in one_by_one]) for k in all_at_once})
    monkeypatch.setattr(zones, "BLOCK", 7)
    monkeypatch.setattr(zones, "STRIP_CELLS", 13)
    same(all_at_once, surface.zonal(geoms, FEET, 30.0))
    monkeypatch.undo()
    from wetgis.terrain import _in_memory

    grid, read = _in_memory(wetgis.slope(whole))
    in_memory = zones.summarise(grid, read, geoms, FEET, 30.0)
    np.testing.assert_array_equal(in_memory["above"], all_at_once["above_frac"])
    np.testing.assert_array_equal(in_memory["mean"], all_at_once["mean_pct"])


def test_steps_of_the_public_slope_do_not_matter(whole, monkeypatch):
    from wetgis import terrain

    before = wetgis.slope(whole)
    monkeypatch.setattr(terrain, "STRIP_CELLS", 3 * W)
    after = wetgis.slope(whole)
    np.testing.assert_array_equal(before.array, after.array)
    np.testing.assert_array_equal(before.noise, after.noise)


def test_first_tile_that_knows_a_cell_wins(tmp_path):
    a = np.full((10, 10), 7.0, np.float32)
    b = np.full((10, 10), 9.0, np.float32)
    a[4, 4] = -9999  # declared
    a[5, 5] = 1e6  # impossible
    b[5, 6] = -9999
    paths = [
        write(tmp_path / f"{n}.tif", z, WHOLE, unit="us-ft", nodata=-9999)
        for n, z in (("a", a), ("b", b))
    ]
    with open_surface(paths, kind="values").reader() as reader:
        cells, noise = reader.values((0, 10), (0, 10))
    expected = np.full((10, 10), 7.0)
    expected[[4, 5], [4, 5]] = 9.0
    np.testing.assert_array_equal(cells, expected)
    assert (noise == 0).all()


def test_ground_between_tiles_is_not_covered(tmp_path):
    z = rough()
    paths = [cut(tmp_path, z, (0, 40), (0, 40)), cut(tmp_path, z, (40, 90), (40, 110))]
    surface = open_surface(paths, kind="dem")
    x, y = AT
    boxes = [
        shapely.box(x + 300, y + 500, x + 500, y + 700),  # half on the first, half on none
        shapely.box(x + 600, y + 600, x + 700, y + 700),  # on none
        shapely.box(x + 100, y + 600, x + 200, y + 700),
    ]
    got = surface.zonal(np.array(boxes, object), FEET, 30.0)
    assert got["covered_frac"] == pytest.approx([0.5, 0.0, 1.0])
    assert got["known_frac"] == pytest.approx([(9 * 19) / 400, 0.0, 1.0])
    assert np.isnan(got["mean_pct"][1])
    assert (got["known_frac"] + got["unknown_frac"]) == pytest.approx(1.0)


def test_impossible_heights_are_found_by_subject(tmp_path):
    z = rough()
    z[10, 10] = -32768.0
    path = write(tmp_path / "dem.tif", z, WHOLE, unit="us-ft")
    x, top = AT[0], AT[1] + H * 10
    boxes = [shapely.box(x + 100, top - 110, x + 120, top - 100), shapely.box(*AT, x + 50, 783_050)]
    got = open_surface(path, kind="dem").zonal(np.array(boxes, object), FEET, 30.0)
    assert got["impossible_frac"].tolist() == [0.5, 0.0]


def test_pickled_and_in_threads(whole, quarters):
    surface = pickle.loads(pickle.dumps(open_surface(quarters, kind="dem")))
    expected = open_surface(whole, kind="dem").zonal(shapes(), FEET, 30.0)
    results: list[dict[str, np.ndarray]] = []
    threads = [
        threading.Thread(target=lambda: results.append(surface.zonal(shapes(), FEET, 30.0)))
        for _ in range(4)
    ]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(results) == 4
    for got in results:
        same(got, expected)


def test_files_are_opened_anew_in_each_process_and_not_too_many(whole, quarters, monkeypatch):
    from wetgis.rasters import files

    surface = open_surface(quarters, kind="dem")
    expected = open_surface(whole, kind="dem").zonal(shapes(), FEET, 30.0)
    opened: list[str] = []
    plain = files.open_tile
    monkeypatch.setattr(files, "open_tile", lambda path: opened.append(path) or plain(path))
    same(surface.zonal(shapes(), FEET, 30.0), expected)
    same(surface.zonal(shapes(), FEET, 30.0), expected)
    assert len(opened) == 4
    monkeypatch.setattr(files.os, "getpid", lambda: -1)
    same(surface.zonal(shapes(), FEET, 30.0), expected)
    assert len(opened) == 8
    monkeypatch.setattr(files, "OPEN_FILES", 2)
    same(open_surface(quarters, kind="dem").zonal(shapes(), FEET, 30.0), expected)


def test_only_windows_are_read(tmp_path):
    """A raster of 4e10 cells, stored sparse: three small shapes cost three small windows."""
    path = tmp_path / "state.tif"
    n = 200_000
    corner = Affine(3, 0, 700_000, 0, -3, 1_300_000)
    with rasterio.open(path, "w", driver="GTiff", height=n, width=n, count=1, dtype="float32",
                       crs="EPSG:2260", transform=corner, tiled=True, blockxsize=256,
                       blockysize=256, SPARSE_OK=True, nodata=-9999,
                       bigtiff="yes") as data:  # fmt: skip
        data.units = ("us-ft",)
        x = np.tile(np.arange(256, dtype=np.float32), (256, 1))
        data.write(x, 1, window=rasterio.windows.Window(100_096, 150_016, 256, 256))
    box = shapely.box(*(corner * (100_100, 150_120)), *(corner * (100_200, 150_050)))
    far = [shapely.box(705_000, 1_290_000, 705_100, 1_290_100), shapely.Point(1_250_000, 750_000)]
    surface = open_surface(path, kind="dem")
    surface.zonal(np.array([box], object), FEET, 30.0)
    tracemalloc.start()
    got = surface.zonal(np.array([box, *far], object), FEET, 30.0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40e6
    assert got["mean_pct"][0] == pytest.approx(100 / 3)
    assert got["known_frac"].tolist() == [1.0, 0.0, 0.0]
    assert got["covered_frac"].tolist() == [1.0, 1.0, 1.0]


def test_a_shape_larger_than_the_raster(whole):
    """Its strips hold a bounded number of cells, and its own area is the measure."""
    surface = open_surface(whole, kind="dem")
    huge = shapely.box(AT[0] - 1e6, AT[1] - 1e6, AT[0] + 1e6, AT[1] + 1e6)
    inner = shapely.box(AT[0], AT[1], AT[0] + W * 10, AT[1] + H * 10)
    got = surface.zonal(np.array([huge, inner], object), FEET, 30.0)
    assert got["covered_frac"][0] == pytest.approx(inner.area / huge.area)
    assert got["mean_pct"][0] == pytest.approx(got["mean_pct"][1], rel=1e-12)


def test_slopes_and_heights_are_not_mixed_up(tmp_path, whole):
    flat = np.full((5, 5), 20.0, np.float32)
    unsaid = write(tmp_path / "s.tif", flat, WHOLE)
    surface = open_surface(unsaid, kind="slope")
    assert [i.code for i in surface.issues] == ["z_unit"]
    with pytest.raises(InputError, match="heights, not slopes"):
        open_surface(whole, kind="slope")
    with pytest.raises(InputError, match="no heights"):
        open_surface(unsaid, kind="slope", z_unit="m")
    with pytest.raises(UsageError, match="no kind of surface"):
        open_surface(unsaid, kind="parcels")
    with pytest.raises(InputError, match="no raster"):
        open_surface([], kind="dem")


@pytest.mark.parametrize(
    ("unit", "value", "percent"),
    [("degrees", 45.0, 100.0), ("radians", np.pi / 4, 100.0), ("rise/run", 0.5, 50.0),
     ("percent", 50.0, 50.0), ("percent", -9999.0, None), ("degrees", 95.0, None)],
)  # fmt: skip
def test_slopes_in_other_units(tmp_path, unit, value, percent):
    path = write(tmp_path / "s.tif", np.full((5, 5), value), WHOLE, unit=unit)
    box = shapely.box(AT[0], AT[1] + H * 10 - 50, AT[0] + 50, AT[1] + H * 10)
    got = open_surface(path, kind="slope").zonal(np.array([box], object), FEET, 30.0)
    if percent is None:
        assert got["known_frac"][0] == 0.0
        assert got["impossible_frac"][0] == 1.0
    else:
        assert got["mean_pct"][0] == pytest.approx(percent)


def test_a_layer_of_a_site_opens(whole):
    class Layer:
        kind = "dem"
        paths = (whole,)
        z_unit = "us-ft"

    surface = open_surface(Layer())
    assert surface.kind == "dem"
    record = surface.source[0]
    assert record.path == str(whole)
    assert len(record.sha256) == 64
    assert record.crs == "EPSG:2260"
    assert record.bounds == (AT[0], AT[1], AT[0] + W * 10, AT[1] + H * 10)
    assert surface.grid.cell == (10.0, 10.0)


def test_tiles_off_one_grid_are_refused(tmp_path):
    z = rough()
    first = cut(tmp_path, z, (0, 40), (0, 40))
    shifted = write(tmp_path / "b.tif", z, WHOLE * Affine.translation(40.3, 0), unit="us-ft")
    finer = write(tmp_path / "c.tif", z, WHOLE * Affine.scale(0.5), unit="us-ft")
    for other in (shifted, finer):
        with pytest.raises(InputError, match="do not share a grid"):
            open_surface([first, other], kind="dem")
    other_crs = write(tmp_path / "d.tif", z, WHOLE, unit="us-ft", crs="EPSG:2263")
    with pytest.raises(CrsError, match="two CRSs"):
        open_surface([first, other_crs], kind="dem")
    other_unit = write(tmp_path / "e.tif", z, WHOLE, unit="m")
    with pytest.raises(InputError, match="units differ: m, us-ft"):
        open_surface([first, other_unit], kind="dem")
    # rounding of an origin, as agencies' tiles have it, is no shift
    nearly = write(tmp_path / "f.tif", z, WHOLE * Affine.translation(40.0000001, 0), unit="us-ft")
    assert open_surface([first, nearly], kind="dem").grid.width == 40 + W


def test_tiles_may_differ_in_type_and_scale(tmp_path):
    x = np.tile(np.arange(40), (20, 1))
    a = write(tmp_path / "a.tif", (x[:, :20] * 10).astype(np.int16), WHOLE, unit="us-ft",
              scale=0.4, offset=100.0, nodata=-1)  # fmt: skip
    right = WHOLE * Affine.translation(20, 0)
    b = write(tmp_path / "b.tif", 100 + x[:, 20:] * 4.0, right, unit="us-ft")
    steep = wetgis.slope([a, b])
    assert steep.array[1:-1, 1:-1] == pytest.approx(40.0)


def test_more_than_one_band_is_told(tmp_path):
    path = tmp_path / "rgb.tif"
    with rasterio.open(path, "w", driver="GTiff", height=5, width=5, count=3, dtype="uint8",
                       crs="EPSG:2260", transform=WHOLE) as data:  # fmt: skip
        data.write(np.zeros((3, 5, 5), np.uint8))
    surface = open_surface(path, kind="dem", z_unit="m")
    assert [i.code for i in surface.issues] == ["several_layers", "z_unit"]


def test_band_and_vertical_crs_that_disagree(tmp_path):
    path = plane(tmp_path / "dem.tif", lambda x, y: 0.3 * x, crs="EPSG:2260+6360", unit="m")
    issues = open_surface(path, kind="dem").issues
    assert [(i.severity, i.code) for i in issues] in ([("warning", "z_unit")], [])


def test_damaged_blocks_are_an_error_that_names_the_file(tmp_path, whole):
    data = bytearray(whole.read_bytes())
    del data[-len(data) // 2 :]
    (tmp_path / "cut.tif").write_bytes(data)
    with pytest.raises(InputError, match=r"cut\.tif"):
        wetgis.slope(tmp_path / "cut.tif", z_unit="us-ft")


@pytest.mark.shared
def test_real_lidar_in_quarters(shared, tmp_path):
    """A 2 m lidar DEM with holes, cut in four: one surface, and as much known."""
    path = shared / "data" / "dem" / "ny_lakeplain_lidar_2m_utm18.tif"
    with rasterio.open(path) as data:
        z, t, nodata = data.read(1), data.transform, data.nodata
    paths = []
    for k, (r, c) in enumerate(((0, 0), (0, 250), (600, 0), (600, 250))):
        part = z[r : r + (600 if r == 0 else 900), c : c + (250 if c == 0 else 900)]
        paths.append(write(tmp_path / f"{k}.tif", part, t * Affine.translation(c, r),
                           crs="EPSG:26918", nodata=nodata))  # fmt: skip
    one, four = wetgis.slope(path, z_unit="m"), wetgis.slope(paths, z_unit="m")
    np.testing.assert_array_equal(one.array, four.array)
    assert "1644 cells are declared" in " ".join(one.issues.message)
    assert 0 < np.nanmedian(one.array) < 20
