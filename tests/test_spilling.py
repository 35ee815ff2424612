"""A layer whose geometries go into a sink is the layer that is read as a whole."""

from __future__ import annotations

import json
import os
import sqlite3
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from wetgis.errors import CrsError, InputError, UsageError, WetgisError
from wetgis.geometryfile import GeometryWriter
from wetgis.sources import LoadedTo, load, load_to

pytestmark = pytest.mark.filterwarnings("ignore:.crs. was not provided")

X, Y = 717_000.0, 783_000.0
ROOT = Path(__file__).resolve().parents[1]


class InMemory:
    """A sink for tests."""

    def __init__(self) -> None:
        self.parts: list[NDArray[np.object_]] = []

    def append(self, geometries: NDArray[np.object_]) -> None:
        self.parts.append(geometries)

    def all(self) -> list[Any]:
        return [g for part in self.parts for g in part]


def spilled(source: Any, kind: str | None, keys: Any, crs: Any, **more: Any) -> tuple[Any, Any]:
    sink = InMemory()
    found = load_to(source, kind, keys, crs, sink, **more)
    return found, sink


def outcome(read: Any) -> Any:
    """What a reading gives, or the error that it raises."""
    try:
        return read()
    except WetgisError as error:
        return type(error), str(error)


def require_same(
    source: Any, kind: str | None = "wetlands", keys: Any = None, crs: Any = None,
    chunks: tuple[int, ...] = (1, 3, 1000), **more: Any,
) -> Any:  # fmt: skip
    """Both ways give one result, or raise one error; returns what was read as a whole."""
    whole = outcome(lambda: load(source, kind, keys, crs, **more))
    for chunk in chunks:
        got = outcome(lambda c=chunk: spilled(source, kind, keys, crs, chunk=c, **more))
        if isinstance(whole, tuple):
            assert got == whole
            continue
        found, sink = got
        compare(found, sink.all(), whole)
        assert all(0 < len(part) <= chunk for part in sink.parts)
    return whole


def compare(found: LoadedTo, geometries: list[Any], whole: Any) -> None:
    table, frame = found.table, whole.frame
    assert type(table) is pd.DataFrame
    bare = pd.DataFrame(frame.drop(columns="geometry"))
    pd.testing.assert_frame_equal(table, bare, check_exact=True, check_freq=True)
    assert list(table.dtypes) == list(bare.dtypes)
    assert type(table.index) is type(frame.index)
    assert json.dumps(table.attrs) == json.dumps(frame.attrs)
    assert found.crs == frame.crs
    wanted = shapely.to_wkb(np.array(frame.geometry.array, dtype=object)).tolist()
    assert [None if g is None else shapely.to_wkb(g) for g in geometries] == wanted
    # NaN is the same only as text
    assert [repr(i) for i in found.issues] == [repr(i) for i in whole.issues]
    assert found.sources == whole.sources
    assert found.operations == whole.operations


def square(dx: float = 0, dy: float = 0, side: float = 100) -> Any:
    return shapely.box(X + dx, Y + dy, X + dx + side, Y + dy + side)


BOW = shapely.Polygon([(X, Y), (X + 60, Y + 100), (X + 60, Y), (X, Y + 100)])
HOLE = square(side=90).difference(square(20, 20, 20))


def nan_polygon() -> Any:
    with np.errstate(invalid="ignore"):
        return shapely.Polygon([(X, Y), (X + 9, Y), (np.nan, Y)])


def odd() -> list[Any]:
    """Geometries of every kind that a reader has something to say of."""
    flat = shapely.Polygon([(X, Y), (X + 10, Y), (X + 20, Y)])
    return [
        square(), None, BOW, shapely.Polygon(), nan_polygon(), HOLE, flat,
        shapely.force_3d(square(300), 7.0),
        shapely.Point(X, Y),
        shapely.LineString([(X, Y), (X + 50, Y + 5)]),
        shapely.MultiPolygon([square(500), square(700)]),
        shapely.GeometryCollection([square(900), shapely.Point(X, Y)]),
        shapely.GeometryCollection([shapely.LineString([(X, Y), (X + 1, Y)]), shapely.Point(X, Y)]),
        shapely.MultiPoint([(X, Y), (X + 1, Y)]),
        square(),
    ]  # fmt: skip


def frame_of(geometries: list[Any], crs: Any = 2260, **columns: Any) -> gpd.GeoDataFrame:
    return gpd.GeoDataFrame(columns, geometry=geometries, crs=crs)


def save(frame: gpd.GeoDataFrame, path: Path, **options: Any) -> Path:
    if path.suffix == ".parquet":
        frame.to_parquet(path, **options)
    else:
        frame.to_file(path, **options)
    return path


ENDINGS = [".parquet", ".gpkg", ".shp", ".geojson", ".fgb", ".gdb"]


def save_as(frame: gpd.GeoDataFrame, folder: Path, ending: str, name: str = "a") -> Path:
    options = {"driver": "OpenFileGDB"} if ending == ".gdb" else {}
    return save(frame, folder / f"{name}{ending}", **options)


@pytest.fixture
def lots() -> gpd.GeoDataFrame:
    keys = ["007", "008", "0x", "1", "2", None, "007"]
    numbers = pd.array([3, None, 7, 1, 2, 3, 4], dtype="Int32")
    shapes = [square(200 * i, side=100 - i) for i in range(6)] + [square()]
    return frame_of(shapes, KEY=keys, ZONE_NO=numbers, ACRES=[0.2] * 7)


# ---------------------------------------------------------------- formats


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("kind", ["parcels", "wetlands", None])
def test_every_format(lots: gpd.GeoDataFrame, tmp_path: Path, ending: str, kind: str) -> None:
    path = save_as(lots, tmp_path, ending)
    for keys in ({}, {"id": "KEY"}, {"id": "KEY", "where": "ZONE_NO > 2"}):
        assert len(require_same(path, kind, keys).frame) > 0
    require_same(path, kind, {"where": "NOPE ==== 7"})
    require_same(path, kind, {"id": "NOPE"})


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("code", [4326, 26918, 32015])
def test_moved(lots: gpd.GeoDataFrame, tmp_path: Path, ending: str, code: int) -> None:
    path = save_as(lots.set_crs(code, allow_override=True) if code == 32015 else lots.to_crs(code),
                   tmp_path, ending)  # fmt: skip
    from wetgis.crs import as_crs

    require_same(path, "parcels", {"id": "KEY"})
    whole = require_same(path, "parcels", {"id": "KEY"}, as_crs(2263))
    assert whole.operations[0].definition


@pytest.mark.parametrize("ending", [".parquet", ".gpkg"])
@pytest.mark.parametrize("kind", ["parcels", "wetlands", "watercourses", "flags", None])
def test_whatever_is_wrong_with_a_record(tmp_path: Path, ending: str, kind: str) -> None:
    shapes = odd()
    ids = [None if i == 3 else f"w{i % 11}" for i in range(len(shapes))]
    path = save_as(frame_of(shapes, W=ids), tmp_path, ending)
    codes = {i.code for i in require_same(path, kind, {"id": "W"}).issues}
    assert {"null_geometry", "empty_geometry", "non_finite", "dropped_dimension"} <= codes
    assert "missing_id" in codes
    require_same(path, kind)


def test_one_after_the_other(lots: gpd.GeoDataFrame, tmp_path: Path) -> None:
    save(lots.iloc[:2], tmp_path / "a1.gpkg")
    save(lots.iloc[2:].to_crs(4326), tmp_path / "a2.gpkg")
    save(lots.iloc[:0], tmp_path / "b.parquet")
    one, two, none = tmp_path / "a1.gpkg", tmp_path / "a2.gpkg", tmp_path / "b.parquet"
    for path in (tmp_path / "a*.gpkg", [two, one], [none, one], [one, none], none):
        for kind in ("parcels", "wetlands"):
            require_same(path, kind, {"id": "KEY"})


def test_frames_and_what_is_read_as_a_whole(lots: gpd.GeoDataFrame, tmp_path: Path) -> None:
    require_same(lots, "parcels", {"id": "KEY"})
    path = save(lots, tmp_path / "a.parquet")
    for rule in ("unite", "error", "keep"):
        require_same(path, "wetlands", {"id": "KEY", "duplicates": rule})
    save(lots, tmp_path / "b.parquet", geometry_encoding="geoarrow")
    require_same(tmp_path / "b.parquet", "parcels", {"id": "KEY"})


@pytest.mark.parametrize("ending", ENDINGS)
def test_geometries_stay_in_the_file(
    lots: gpd.GeoDataFrame, tmp_path: Path, ending: str, monkeypatch: Any
) -> None:
    """No format is read as a whole where nothing is wrong with it."""
    from wetgis.sources import spilling

    path = save_as(lots, tmp_path, ending)
    whole = load(path, "parcels", {"id": "KEY"})

    def never(*_: Any) -> None:
        raise AssertionError("read as a whole")

    monkeypatch.setattr(spilling, "read_raw", never)
    found, sink = spilled(path, "parcels", {"id": "KEY"}, None, chunk=2)
    compare(found, sink.all(), whole)
    assert [len(part) for part in sink.parts] == [2, 2, 2, 1]


def test_large_records_go_through_by_themselves(tmp_path: Path, monkeypatch: Any) -> None:
    from wetgis.sources import steps

    monkeypatch.setattr(steps, "PART", 2000)
    rounds = [shapely.Point(X + 50 * i, Y).buffer(40, quad_segs=2 + 9 * (i % 4)) for i in range(9)]
    for ending in (".parquet", ".gpkg"):
        path = save_as(frame_of([*rounds, None, square()]), tmp_path, ending)
        _, sink = spilled(path, "wetlands", {}, None, chunk=1000)
        sizes = [sum(len(shapely.to_wkb(g)) for g in part if g) for part in sink.parts]
        assert len(sizes) > 4
        assert all(n <= 2000 or len(p) == 1 for n, p in zip(sizes, sink.parts, strict=True))
        require_same(path, "wetlands")


def test_nothing_is_left_behind(lots: gpd.GeoDataFrame, tmp_path: Path, monkeypatch: Any) -> None:
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "own"))
    (tmp_path / "own").mkdir()
    spilled(save(lots, tmp_path / "a.gpkg"), "parcels", {}, None)
    with pytest.raises(CrsError):
        spilled(save(lots.set_crs(4326, allow_override=True), tmp_path / "b.gpkg"), None, {}, None)
    assert not list((tmp_path / "own").iterdir())


def _is_plain(geometry: Any) -> bool:
    if geometry is None or geometry.is_empty or geometry.has_z:
        return False
    if not np.isfinite(shapely.get_coordinates(geometry)).all():
        return False
    if geometry.geom_type == "MultiPolygon":
        return len(geometry.geoms) == 1 and _is_plain(geometry.geoms[0])
    if geometry.geom_type == "Polygon":
        return not geometry.interiors
    return bool(geometry.geom_type == "LineString")


def test_the_boxes_of_plain_wkb() -> None:
    """They are taken from the bytes; what is not plain is left to those who decode."""
    from wetgis.sources.wkb import plain_boxes

    known = [*odd(), shapely.MultiPolygon([square(3)]), shapely.MultiLineString([[(1, 2), (3, 5)]]),
             shapely.LineString([(5, 1), (1, 7), (2, np.inf)]), square(-7, 9)]  # fmt: skip
    codes = [b"" if g is None else shapely.to_wkb(g) for g in known]
    for cut in (0, 2, len(codes) - 1):
        some = codes[cut:]
        data = np.frombuffer(b"\1\3\0" + b"".join(some), np.uint8)
        starts = 3 + np.cumsum([0, *map(len, some)])
        for dimensions in ((), (1,), (2,), (0,), (0, 1, 2)):
            plain, boxes = plain_boxes(data, starts, dimensions)
            assert len(boxes) == plain.sum()
            for row, geometry, box in zip(
                np.flatnonzero(plain), np.array(known[cut:], object)[plain], boxes, strict=True
            ):
                assert known[cut + row] is geometry
                assert tuple(box) == geometry.bounds
                assert not dimensions or shapely.get_dimensions(geometry) in dimensions
            usual = [
                _is_plain(g) and (not dimensions or shapely.get_dimensions(g) in dimensions)
                for g in known[cut:]
            ]
            assert plain.tolist() == usual


def test_a_chunk_holds_something(lots: gpd.GeoDataFrame) -> None:
    with pytest.raises(UsageError):
        load_to(lots, None, {}, None, InMemory(), chunk=0)


# ---------------------------------------------------------------- decisions of a layer as a whole


@pytest.mark.parametrize("ending", [".parquet", ".gpkg"])
def test_where_a_layer_is(lots: gpd.GeoDataFrame, tmp_path: Path, ending: str) -> None:
    from wetgis.crs import as_crs

    far = frame_of([None, square(), square(9), shapely.box(3e9, 3e9, 3.1e9, 3.1e9)])
    most = frame_of([square(), *[shapely.box(3e9, 3e9, 3.1e9, 3.1e9)] * 2])
    wide = frame_of([shapely.box(-100, 30, -99, 31), shapely.box(-80, 44, -79, 45)], 4326)
    ohio = frame_of([shapely.box(-81, 41.4, -80.99, 41.41)], 4326).to_crs(2260)
    bare = lots.set_crs(None, allow_override=True)
    for i, frame in enumerate((far, most, wide, ohio, bare)):
        path = save_as(frame, tmp_path, ending, f"f{i}")
        require_same(path, "wetlands")
        require_same(path, "wetlands", {}, as_crs(4326))
        require_same(path, "wetlands", {"source_crs": "EPSG:2260"}, as_crs(5070))
        box = (X, Y, X + 10, Y + 10)
        require_same(path, "wetlands", near=(as_crs(2260), box))
    whole = require_same(tmp_path / f"f0{ending}", "wetlands")
    assert "non_finite" in {i.code for i in whole.issues}
    assert whole.frame.geometry.isna().tolist() == [True, False, False, True]
    with pytest.raises(CrsError, match="contradict"):
        load(tmp_path / f"f1{ending}", "wetlands")


@pytest.mark.parametrize("ending", [".parquet", ".gpkg"])
def test_what_cannot_be_carried(tmp_path: Path, ending: str) -> None:
    from wetgis.crs import as_crs

    near, far = shapely.box(-74, 41, -73.9, 41.1), shapely.box(106, -41, 106.1, -40.9)
    frame = frame_of([near, far, near, None, far, near], 4326, N=list("abcdef"))
    target = as_crs("+proj=gnom +lat_0=41 +lon_0=-74 +datum=WGS84")
    issues = require_same(save_as(frame, tmp_path, ending), "wetlands", {"id": "N"}, target).issues
    assert [i.record_id for i in issues if i.code == "non_finite"] == ["b", "e"]
    assert "unfit_crs" in {i.code for i in issues}


def test_curves(tmp_path: Path) -> None:
    from pyogrio.raw import write

    arc = bytes.fromhex("0108000000") + (3).to_bytes(4, "little")
    arc += np.array([X, Y, X + 50, Y + 50, X + 100, Y]).tobytes()
    line = shapely.to_wkb(shapely.LineString([(X, Y), (X + 9, Y)]))
    codes = np.array([line, None, arc, line], dtype=object)
    write(
        tmp_path / "a.gpkg", codes, [np.array(list("abcd"), dtype=object)], ["N"],
        geometry_type="Unknown", crs="EPSG:2260", driver="GPKG", layer="a",
    )  # fmt: skip
    whole = require_same(tmp_path / "a.gpkg", "watercourses", {"id": "N"})
    assert "curve_linearised" in {i.code for i in whole.issues}
    assert whole.frame.geometry.length.iloc[2] == pytest.approx(50 * np.pi, rel=1e-4)


def test_overlaps_and_stale_areas(tmp_path: Path, monkeypatch: Any) -> None:
    from wetgis.sources import checks

    shapes = [square(30 * i, side=100 - i % 7) for i in range(40)]
    shapes[::3] = [g.segmentize(5 + i) for i, g in enumerate(shapes[::3])]
    frame = frame_of(shapes, ACRES=[0.2 + i / 100 for i in range(40)])
    for ending in (".parquet", ".gpkg"):
        path = save_as(frame, tmp_path, ending)
        for budget in (400_000, 1500, 5):
            monkeypatch.setattr(checks, "OVERLAP_BUDGET", budget)
            codes = {i.code for i in require_same(path, "wetlands").issues}
            assert "stale_area" in codes
            assert ("overlapping_records" in codes) == (budget > 5)


def test_repeated_ids(tmp_path: Path) -> None:
    shapes = [square(), square(200), square(), square(50), None, None, BOW]
    frame = frame_of(shapes, K=list("abaabaa"), V=[1, 2, 3, 4, 5, 6, 7])
    for ending in (".parquet", ".gpkg"):
        path = save_as(frame, tmp_path, ending)
        for kind in ("parcels", "wetlands", "flags", None):
            require_same(path, kind, {"id": "K"})
            require_same(path, kind)
    for third, same in ((square(200), True), (square(400), False)):
        twice = frame_of([square(), square(200), third], K=list("xaa"))
        issues = require_same(save(twice, tmp_path / "b.parquet"), "wetlands", {"id": "K"}).issues
        assert ("duplicate_id" in {i.code for i in issues}) == same


# ---------------------------------------------------------------- faults of files


def test_wkb_that_nothing_can_decode(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    good = shapely.to_wkb(square())
    tin = bytes.fromhex("0110000000") + (0).to_bytes(4, "little")
    ring = shapely.to_wkb(shapely.Polygon([(X, Y), (X + 90, Y), (X + 90, Y + 91), (X, Y + 91)]))
    unclosed = ring[:9] + (4).to_bytes(4, "little") + ring[13:-16]
    big = shapely.to_wkb(BOW, byte_order=0)
    ewkb = shapely.to_wkb(shapely.set_srid(square(9), 2260), include_srid=True)
    trailing = good + b"\0" * 7
    short_ring = ring[:9] + (2).to_bytes(4, "little") + ring[13:45]
    values = [good, tin, good[:40], b"", None, unclosed, big, ewkb, trailing, short_ring]
    geo = {
        "version": "1.0.0", "primary_column": "geometry",
        "columns": {"geometry": {"encoding": "WKB", "geometry_types": [], "crs": None}},
    }  # fmt: skip
    table = pa.table({"n": list(range(len(values))), "a.b": ["x"] * len(values)})
    for kind in (pa.binary(), pa.large_binary(), pa.binary_view()):
        full = table.append_column("geometry", pa.array(values, pa.binary()).cast(kind))
        pq.write_table(
            full.replace_schema_metadata({b"geo": json.dumps(geo)}), tmp_path / "a.parquet"
        )
        keys = {"source_crs": 2260, "fields": {"id": "n"}}
        codes = [i.code for i in require_same(tmp_path / "a.parquet", "wetlands", keys).issues]
        assert codes.count("unreadable_record") >= 3
        assert "unclosed_ring" in codes
        require_same(tmp_path / "a.parquet", "wetlands", {**keys, "where": "n > 4"})


def test_files_that_are_cut_off(lots: gpd.GeoDataFrame, tmp_path: Path) -> None:
    for ending, cut in ((".fgb", 60), (".shp", 30), (".gpkg", 9000), (".parquet", 900),
                        (".geojson", 200)):  # fmt: skip
        path = save(lots, tmp_path / f"a{ending}")
        path.write_bytes(path.read_bytes()[:-cut])
        require_same(path, "parcels", {"id": "KEY"})


def test_flatgeobuf_without_some_geometries(lots: gpd.GeoDataFrame, tmp_path: Path) -> None:
    lots.loc[[0, 4], "geometry"] = None
    save(lots, tmp_path / "a.fgb", SPATIAL_INDEX="NO")
    require_same(tmp_path / "a.fgb", "parcels", {"id": "KEY"})


def test_text_in_the_wrong_encoding(lots: gpd.GeoDataFrame, tmp_path: Path) -> None:
    lots["NAME"] = ["Étang", "Größe", "x", "y", "z", "Å", None]
    save(lots, tmp_path / "a.shp", encoding="CP1252")
    (tmp_path / "a.cpg").write_text("UTF-8")
    require_same(tmp_path / "a.shp")
    (tmp_path / "a.cpg").unlink()
    require_same(tmp_path / "a.shp")


def test_archives_databases_and_parts(lots: gpd.GeoDataFrame, tmp_path: Path) -> None:
    save(lots, tmp_path / "lots.shp")
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as z:
        for part in sorted(tmp_path.glob("lots.*")):
            z.write(part, "in/" + part.name)
    (tmp_path / "lots.shx").unlink()
    for name in ("wet_1", "wet_2", "parcels"):
        save(lots, tmp_path / "b.gpkg", layer=name)
    db = sqlite3.connect(tmp_path / "b.gpkg")
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("DELETE FROM wet_1 WHERE fid IN (1, 4)")
    db.commit()
    db.close()
    for name, keys in (("a.zip", {}), ("lots.shp", {}), ("b.gpkg", {}),
                       ("b.gpkg", {"layer": "wet_*"}), ("b.gpkg", {"layer": "none"})):  # fmt: skip
        require_same(tmp_path / name, "parcels", {"id": "KEY", **keys})


def test_columns_of_many_types(tmp_path: Path) -> None:
    shapes = [square(150 * i) for i in range(5)]
    frame = frame_of(
        shapes,
        day=pd.to_datetime(pd.Series(["2020-01-01", None, "2021-02-03", "2022-01-01", None])),
        yes=[True, False, True, True, False],
        maybe=pd.array([True, None, False, None, True], dtype="boolean"),
        small=np.arange(5, dtype="int16"),
        real=[1.5, np.nan, 2.0, 3.0, 4.0],
        text=["a", None, "", "é", "b"],
        none=[None] * 5,
    )
    for ending in ENDINGS:
        kept = frame.drop(columns=["day"]) if ending in {".shp", ".gdb"} else frame
        require_same(save_as(kept, tmp_path, ending))


# ---------------------------------------------------------------- whatever there is


@st.composite
def layers(draw: Any) -> tuple[gpd.GeoDataFrame, bool, str | None]:
    size = draw(st.integers(1, 12))
    shapes = draw(st.lists(st.sampled_from(range(len(odd()))), min_size=size, max_size=size))
    shift = draw(st.lists(st.sampled_from([0, 0, 40, 300]), min_size=size, max_size=size))
    known = odd()
    moved = [
        None if known[i] is None else shapely.transform(known[i], lambda c, d=d: c + d)
        for i, d in zip(shapes, shift, strict=True)
    ]
    names = st.sampled_from(["a", "b", "c", "", None, "0"])
    ids = draw(st.lists(names, min_size=size, max_size=size))
    crs = draw(st.sampled_from([2260, 2260, 32118, None]))
    frame = frame_of(moved, crs, K=ids, ACRES=[0.1 * i for i in range(size)])
    kind = draw(st.sampled_from(["parcels", "wetlands", "watercourses", "soils", "flags", None]))
    return frame, draw(st.booleans()), kind


@pytest.mark.parametrize("ending", [".parquet", ".gpkg"])
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture],
          deadline=None)  # fmt: skip
@given(made=layers(), number=st.integers(1, 5))
def test_any_layer(tmp_path: Path, ending: str, made: Any, number: int) -> None:
    frame, named, kind = made
    path = tmp_path / f"a{ending}"
    path.unlink(missing_ok=True)
    save(frame, path)
    require_same(path, kind, {"id": "K"} if named else {}, chunks=(number,))


def sample_files() -> list[Path]:
    found = [p for p in (ROOT / "data" / "samples").rglob("*") if p.is_file()]
    return sorted(p for p in found if p.suffix in {".gpkg", ".parquet", ".geojson", ".shp", ".fgb"})


@pytest.mark.parametrize("path", sample_files(), ids=lambda p: p.name)
def test_the_samples(path: Path) -> None:
    for kind in ("parcels", "wetlands", None):
        require_same(path, kind, chunks=(7, 1000))


def _files(shared: Path) -> Iterator[Path]:
    for root in (shared / "cases", shared / "data"):
        for folder, folders, files in os.walk(root):
            if folder.endswith(".gdb"):
                continue
            yield from (Path(folder) / d for d in folders if d.endswith(".gdb"))
            yield from (Path(folder) / f for f in files if not f.endswith((".xml", ".py", ".md")))


@pytest.mark.shared
@pytest.mark.slow
def test_every_file_there_is(shared: Path) -> None:
    read = 0
    for path in sorted(_files(shared)):
        if path.stat().st_size > 6_000_000:
            continue
        count = 0
        for keys in ({}, {"source_crs": "EPSG:2260"}):
            whole = require_same(path, "wetlands", keys, chunks=(1000,))
            count = count if isinstance(whole, tuple) else len(whole.frame)
        if 0 < count < 300:
            require_same(path, "parcels", {"source_crs": "EPSG:2260"}, chunks=(1, 3))
        read += count > 0
    assert read > 30


def test_rows_are_given_in_the_order_asked_for() -> None:
    from wetgis.sources.figures import Figures, OnDisk, Several
    from wetgis.sources.figures import InMemory as Held

    known = np.array([square(9 * i) for i in range(7)], dtype=object)
    held = Held(known)

    def again(rows: NDArray[np.int64]) -> Iterator[tuple[Any, Any]]:
        assert rows.tolist() == sorted(set(rows.tolist()))
        for part in np.array_split(rows, 2):
            yield part, known[part]

    far = OnDisk(Figures.of(known), again)
    both = Several([Held(known[:3]), OnDisk(Figures.of(known[3:]), lambda r: [(r, known[3:][r])])])
    for rows in ([5, 1, 1, 6, 0], [3], []):
        asked = np.array(rows, dtype=np.int64)
        for one in (far, both):
            assert one.take(asked).tolist() == known[asked].tolist()
            assert one.digests(asked) == held.digests(asked)
    for one in (far, both):
        assert one.boxes.tolist() == held.boxes.tolist()
        assert one.sizes.tolist() == held.sizes.tolist()


# ---------------------------------------------------------------- memory


def test_a_writer_is_a_sink(lots: gpd.GeoDataFrame, tmp_path: Path) -> None:
    path = save(lots, tmp_path / "a.parquet")
    writer = GeometryWriter(tmp_path / "shapes")
    found = load_to(path, "parcels", {"id": "KEY"}, None, writer, chunk=2)
    held = writer.close()
    compare(found, held.take(np.arange(len(held))).tolist(), load(path, "parcels", {"id": "KEY"}))


@pytest.mark.parametrize("ending", [".parquet", ".gpkg"])
def test_no_more_than_a_few_chunks_are_held(tmp_path: Path, ending: str) -> None:
    """Geometries that the sink lets go of are gone while others are read."""
    import gc
    import weakref

    count, chunk = 600, 20
    path = save_as(frame_of([square(150 * i) for i in range(count)]), tmp_path, ending)
    alive: list[weakref.ref[Any]] = []
    most = 0

    class Watch:
        def append(self, geometries: NDArray[np.object_]) -> None:
            nonlocal most
            gc.collect()
            alive[:] = [r for r in alive if r() is not None]
            most = max(most, len(alive))
            alive.extend(weakref.ref(g) for g in geometries)

    load_to(path, "parcels", {}, None, Watch(), chunk=chunk)
    assert most <= 2 * chunk


def test_the_reader_says_what_it_cannot_read(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        load_to(tmp_path / "none.gpkg", "parcels", {}, None, InMemory())


def test_items_are_done_in_order_and_not_piled_up() -> None:
    import threading

    from wetgis.workers import in_order

    taken, finished, most = 0, 0, 0

    def items(count: int) -> Iterator[int]:
        nonlocal taken, most
        for i in range(count):
            taken += 1
            most = max(most, taken - finished)
            yield i

    def work(item: int) -> tuple[int, bool]:
        if item == 77:
            raise ValueError("77")
        return item, threading.current_thread() is threading.main_thread()

    found = []
    for one in in_order(work, items(50)):
        found.append(one)
        finished += 1
    assert found == [(i, False) for i in range(50)]
    assert most <= 3
    assert list(in_order(work, [5])) == [(5, True)]
    assert list(in_order(work, [])) == []
    with pytest.raises(ValueError, match="77"):
        list(in_order(work, range(100)))
