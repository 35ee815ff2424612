"""The index on disk beside a parcel file: the same answers as without it, or none at all."""

from __future__ import annotations

import json
import os
import pickle
import shutil
from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

import wetgis
from wetgis.errors import InputError, UsageError
from wetgis.heldlayers import IndexedLayer
from wetgis.indexing import index_parcels
from wetgis.pages import Tree, build_tree
from wetgis.parcelindex import Misfit, Request, folder_of, open_index
from wetgis.samples import sample_sites
from wetgis.site import Site

X, Y = 717_000.0, 783_000.0


def lots(side: int = 6) -> gpd.GeoDataFrame:
    """Lots of 100 by 100 ft in rows, and after them every kind of record that is no box."""
    corners = [(X + 100 * i, Y + 100 * j) for j in range(side) for i in range(side)]
    shapes: list[Any] = [shapely.box(x, y, x + 100, y + 100) for x, y in corners]
    ids = [f"{k:03d}" for k in range(len(shapes))]
    bow = shapely.Polygon([(X, Y - 50), (X + 50, Y - 10), (X + 50, Y - 50), (X, Y - 10)])
    with np.errstate(invalid="ignore"):
        hole = shapely.polygons([[X + 60, Y - 50], [X + 90, Y - 50], [X + 90, np.nan], [X, Y]])
    shapes += [None, shapely.Polygon(), hole, bow, shapes[7], shapes[7], shapes[30]]
    ids += ["none", "empty", "nan", "bow", "007", "twin", "001"]
    money = [float(k) if k % 5 else np.nan for k in range(len(ids))]
    return gpd.GeoDataFrame({"KEY": ids, "VALUE": money}, geometry=shapes, crs=2260)


def town(folder: Path, *, ending: str = "parquet", keys: str = "", work: bool = True) -> Path:
    """A site of those lots with a wetland, a stream and proposed work; its file."""
    frame = lots()
    if ending == "parquet":
        frame.to_parquet(folder / "lots.parquet")
    else:
        odd = ["nan", *(["none", "empty"] if ending == "fgb" else [])]
        frame[~frame["KEY"].isin(odd)].to_file(folder / f"lots.{ending}")
    box = shapely.box(X + 150, Y + 120, X + 330, Y + 260)
    gpd.GeoDataFrame({"id": ["w"]}, geometry=[box], crs=2260).to_file(folder / "wet.gpkg")
    line = shapely.LineString([(X - 50, Y + 450), (X + 700, Y + 480)])
    gpd.GeoDataFrame({"id": ["s"]}, geometry=[line], crs=2260).to_file(folder / "stream.gpkg")
    sheds = [
        shapely.box(X + 90, Y + 110, X + 120, Y + 150),
        shapely.box(X + 900, Y, X + 910, Y + 9),
    ]
    table = {"id": ["shed", "far"], "project_id": ["P", "Q"]}
    gpd.GeoDataFrame(table, geometry=sheds, crs=2260).to_file(folder / "work.gpkg")
    text = f"""packs = ["rye-ny-195"]
as_of = 2026-11-30
[layers.parcels]
path = "lots.{ending}"
id = "KEY"
keep = ["VALUE"]
{keys}
[layers.wetlands]
path = "wet.gpkg"
[layers.watercourses]
path = "stream.gpkg"
"""
    site = folder / "site.toml"
    site.write_text(text + ('[layers.footprints]\npath = "work.gpkg"\n' if work else ""))
    return site


def same(a: Any, b: Any) -> None:
    """Two results are equal to the bit, issues and record included."""
    for name in ("measures", "findings", "contacts", "parts", "checklist", "issues"):
        left, right = getattr(a, name), getattr(b, name)
        assert left.columns.tolist() == right.columns.tolist(), name
        assert (left.dtypes == right.dtypes).all(), name
        if "geometry" in left.columns:
            wkb = [shapely.to_wkb(f.geometry.to_numpy()).tolist() for f in (left, right)]
            assert wkb[0] == wkb[1], name
            left, right = left.drop(columns="geometry"), right.drop(columns="geometry")
        pd.testing.assert_frame_equal(pd.DataFrame(left), pd.DataFrame(right), check_exact=True)
    records = [{k: v for k, v in r.provenance.items() if k != "run"} for r in (a, b)]
    assert repr(records[0]) == repr(records[1])


def misfits(site: Site) -> list[str]:
    return [i.message for i in site.issues if i.code == "index_misfit"]


def on_index(site: Site) -> bool:
    return isinstance(site.layers["parcels"], IndexedLayer)


def request_for(file: Path, **keys: Any) -> Request:
    from wetgis.sitelayers import Layer, givens, index_request

    given_ = givens("parcels", Layer(file, id="KEY", **keys), base=None, where="")[0]
    found = index_request(given_, None)
    assert found is not None
    return found


QUESTIONS: list[dict[str, Any]] = [
    {"ids": "014"},
    {"ids": ["007"]},  # three rows of one id and shape, twice; the twin is another parcel
    {"ids": ["none", "empty", "nan", "bow", "001", "035"]},
    {"ids": ["shed"]},
    {"ids": ["P", "021"]},
    {"project": "P"},
    {"project": "Q"},
    {"ids": None},
]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Site, Site]:
    """The town without an index, and with one."""
    folder = tmp_path_factory.mktemp("town")
    file = town(folder)
    plain = wetgis.read_site(file)
    index_parcels(wetgis.read_site(file))
    indexed = wetgis.read_site(file)
    assert on_index(indexed)
    assert not on_index(plain)
    return plain, indexed


@pytest.mark.parametrize("question", QUESTIONS, ids=str)
def test_same_answers_with_and_without(pair: tuple[Site, Site], question: dict[str, Any]) -> None:
    plain, indexed = pair
    same(wetgis.assess(plain, **question), wetgis.assess(indexed, **question))


@pytest.mark.parametrize("question", [q for q in QUESTIONS if q.get("ids") is not None], ids=str)
def test_a_part_is_told_what_all_are_told(pair: tuple[Site, Site], question: Any) -> None:
    """What one parcel is told is what the run over the whole town tells it."""
    full = wetgis.screen(pair[0])
    one = wetgis.assess(pair[1], **question)
    keys = ["subject_kind", "subject_id", "record"]
    for name in ("measures", "findings"):
        rows, told = (pd.DataFrame(getattr(x, name)).astype(str) for x in (full, one))
        chosen = rows.set_index(keys).index.isin(told.set_index(keys).index)
        assert sorted(map(tuple, rows[chosen].to_numpy())) == sorted(map(tuple, told.to_numpy()))


def test_only_what_is_asked_for_is_loaded(pair: tuple[Site, Site]) -> None:
    indexed = pair[1].with_layers(footprints=None)
    assert on_index(indexed)
    wetgis.assess(indexed, "014")
    assert "frame" not in vars(indexed.layers["parcels"])


def test_a_whole_run_uses_the_rows_of_the_index(pair: tuple[Site, Site]) -> None:
    plain, indexed = pair
    same(wetgis.screen(plain), wetgis.screen(indexed))
    left, right = plain.layers["parcels"].frame, indexed.layers["parcels"].frame
    pd.testing.assert_frame_equal(
        pd.DataFrame(left.drop(columns="geometry")), pd.DataFrame(right.drop(columns="geometry"))
    )
    wkb = [shapely.to_wkb(f.geometry.to_numpy()).tolist() for f in (left, right)]
    assert wkb[0] == wkb[1]
    assert left.crs == right.crs
    assert left.geometry.name == right.geometry.name


@pytest.mark.parametrize("ending", ["shp", "gpkg", "fgb"])
def test_formats(tmp_path: Path, ending: str) -> None:
    file = town(tmp_path, ending=ending)
    plain = wetgis.read_site(file)
    index = index_parcels(plain)
    assert index.folder == tmp_path / f"lots.{ending}.wetgis-index"
    indexed = wetgis.read_site(file)
    assert on_index(indexed)
    same(wetgis.assess(plain, "014"), wetgis.assess(indexed, "014"))


@pytest.mark.parametrize("sample", sample_sites(), ids=lambda p: p.parent.name)
def test_sample_town(tmp_path: Path, sample: Path) -> None:
    shutil.copytree(sample.parent, tmp_path / "town")
    file = tmp_path / "town" / sample.name
    plain = wetgis.read_site(file, as_of="2026-11-30")
    index_parcels(plain)
    indexed = wetgis.read_site(file, as_of="2026-11-30")
    assert on_index(indexed)
    every = plain.layers["parcels"].ids()
    same(wetgis.assess(plain, every[3:6]), wetgis.assess(indexed, every[3:6]))


def test_without_pack_or_crs(tmp_path: Path) -> None:
    """The CRS is then the one that suits the parcels, with the index too."""
    file = town(tmp_path)
    file.write_text(file.read_text().replace('["rye-ny-195"]', "[]"))
    plain = wetgis.read_site(file, measure={"buffer_ft": 100})
    index_parcels(tmp_path / "lots.parquet", id="KEY", keep="VALUE")
    indexed = wetgis.read_site(file, measure={"buffer_ft": 100})
    assert on_index(indexed)
    assert not misfits(indexed)
    assert indexed.crs == plain.crs
    same(wetgis.assess(plain, "014"), wetgis.assess(indexed, "014"))


def test_in_degrees(tmp_path: Path) -> None:
    """Parcels in degrees are kept in the system that they were brought into."""
    file = town(tmp_path)
    frame = lots()
    frame[frame["KEY"] != "nan"].to_crs(4326).to_parquet(tmp_path / "lots.parquet")
    plain = wetgis.read_site(file)
    index_parcels(plain)
    indexed = wetgis.read_site(file)
    assert on_index(indexed)
    assert indexed.layers["parcels"].operations == plain.layers["parcels"].operations
    same(wetgis.assess(plain, "014"), wetgis.assess(indexed, "014"))


def test_unknown_id_names_the_nearest(pair: tuple[Site, Site]) -> None:
    texts = []
    for site in pair:
        with pytest.raises(InputError) as error:
            wetgis.assess(site, "0144")
        texts.append(str(error.value))
    assert texts[0] == texts[1]
    assert "'0144'" in texts[0]
    assert "014" in texts[0].replace("0144", "")


# --------------------------------------------------------------- what does not fit


@pytest.fixture
def made(tmp_path: Path) -> tuple[Path, Path]:
    """A site with an index: its file, and the folder of the index."""
    file = town(tmp_path, work=False)
    return file, index_parcels(wetgis.read_site(file)).folder


def renewed(file: Path, reason: str) -> Site:
    """The index is told to be unfit once, and fits after that."""
    site = wetgis.read_site(file)
    assert [reason in text for text in misfits(site)] == [True], misfits(site)
    assert not on_index(site)
    again = wetgis.read_site(file)
    assert on_index(again)
    assert not misfits(again)
    without = [i for i in site.issues if i.code != "index_misfit"]
    assert repr(without) == repr(list(again.issues))
    return again


def test_stale(made: tuple[Path, Path]) -> None:
    file, _ = made
    frame = lots()
    frame.loc[0, "KEY"] = "new"
    frame.to_parquet(file.parent / "lots.parquet")
    site = renewed(file, "the file has changed")
    assert len(wetgis.assess(site, "new").measures) == 1


def test_touched_is_not_stale(made: tuple[Path, Path]) -> None:
    file, _ = made
    os.utime(file.parent / "lots.parquet", ns=(1, 1))
    site = wetgis.read_site(file)
    assert on_index(site)
    assert not misfits(site)


def test_one_part_of_a_shapefile(tmp_path: Path) -> None:
    file = town(tmp_path, ending="shp", work=False)
    index_parcels(wetgis.read_site(file))
    with (tmp_path / "lots.dbf").open("r+b") as table:
        table.seek(-30, os.SEEK_END)
        table.write(b"  9")
    renewed(file, "lots.dbf")


def test_foreign(made: tuple[Path, Path], tmp_path: Path) -> None:
    """An index that was copied from another town's file of the same name."""
    file, folder = made
    other = tmp_path / "other"
    other.mkdir()
    elsewhere = town(other, work=False)
    lots(7).to_parquet(other / "lots.parquet")
    theirs = index_parcels(wetgis.read_site(elsewhere)).folder
    shutil.rmtree(folder)
    shutil.copytree(theirs, folder)
    renewed(file, "the file has changed")


def test_other_keys(made: tuple[Path, Path]) -> None:
    file, _ = made
    file.write_text(file.read_text().replace('keep = ["VALUE"]', "accuracy_ft = 5"))
    renewed(file, "other keys (keep, accuracy_ft)")


def test_other_crs(made: tuple[Path, Path]) -> None:
    file, _ = made
    file.write_text('crs = "EPSG:2263"\n' + file.read_text())
    assert renewed(file, "another coordinate system").crs.to_epsg() == 2263


@pytest.mark.parametrize("name", ["rows.arrow", "boxes.npy", "ids.npy", "tree.bin", "pages.npy"])
@pytest.mark.parametrize("harm", ["cut", "turned", "gone"])
def test_damaged(made: tuple[Path, Path], name: str, harm: str) -> None:
    file, folder = made
    data = bytearray((folder / name).read_bytes())
    if harm == "gone":
        (folder / name).unlink()
    else:
        data[len(data) // 2] ^= 0xFF
        (folder / name).write_bytes(data[: len(data) // 2] if harm == "cut" else data)
    renewed(file, "")


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("format", 0, "another version"),
        ("versions", {}, "another version"),
        ("count", 5, "do not agree"),
        ("count_in_tree", 5, "do not agree"),
        ("crs", "none", "cannot be read"),
        (None, None, "cannot be read"),
    ],
)
def test_manifest_that_does_not_fit(
    made: tuple[Path, Path], key: str | None, value: Any, reason: str
) -> None:
    file, folder = made
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    path.write_text("{" if key is None else json.dumps({**manifest, key: value}))
    renewed(file, reason)


def test_copied_with_its_file_it_fits(made: tuple[Path, Path], tmp_path: Path) -> None:
    file, folder = made
    there = tmp_path / "moved"
    there.mkdir()
    for part in file.parent.iterdir():
        if part.is_file():
            shutil.copyfile(part, there / part.name)
    shutil.copytree(folder, there / folder.name, copy_function=shutil.copyfile)
    site = wetgis.read_site(there / "site.toml")
    assert on_index(site)
    assert not misfits(site)


def test_where_it_cannot_be_made_anew_the_file_is_read(
    made: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    file, folder = made
    (folder / "boxes.npy").unlink()

    def full(**_: Any) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("wetgis.parcelindex.tempfile.mkdtemp", full)
    site = wetgis.read_site(file)
    told = [i for i in site.issues if i.code == "index_misfit"]
    assert len(told) == 1
    assert "No space left" in told[0].effect
    assert wetgis.assess(site, "014").measures["subject_id"].tolist() == ["014"]


def test_a_failed_writing_leaves_the_old_one(
    made: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    file, folder = made
    before = sorted(p.name for p in folder.parent.iterdir())

    def broken(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("wetgis.parcelindex.build_tree", broken)
    with pytest.raises(wetgis.WetgisError, match="No space left"):
        index_parcels(wetgis.read_site(file))
    assert sorted(p.name for p in folder.parent.iterdir()) == before
    assert on_index(wetgis.read_site(file))


def test_a_folder_of_data_does_not_hold_its_indexes(made: tuple[Path, Path]) -> None:
    from wetgis.provenance import sha256

    file, folder = made
    with_it = sha256(file.parent)
    shutil.rmtree(folder)
    assert sha256(file.parent) == with_it


def test_what_cannot_have_one(tmp_path: Path) -> None:
    lots().to_parquet(tmp_path / "a.parquet")
    lots().to_parquet(tmp_path / "b.parquet")
    with pytest.raises(UsageError, match="not one file"):
        index_parcels(str(tmp_path / "*.parquet"), id="KEY")
    frame = lots().assign(KEY="x", geometry=None)
    gpd.GeoDataFrame(frame, crs=2260).to_parquet(tmp_path / "none.parquet")
    with pytest.raises(wetgis.WetgisError):
        index_parcels(
            tmp_path / "none.parquet", id="KEY", source_crs="EPSG:2260", duplicates="keep"
        )
    dated = lots().assign(effective_from="2026-01-01")
    dated.to_parquet(tmp_path / "dated.parquet")
    with pytest.raises(UsageError, match="some days only"):
        index_parcels(tmp_path / "dated.parquet", id="KEY")


# --------------------------------------------------------------- the parts of it


def test_ids_and_rows(tmp_path: Path) -> None:
    """Rows 7, 40 and 36 to 38 are as drawn: the id 007 twice, and four records without a box."""
    lots().to_parquet(tmp_path / "lots.parquet")
    index = index_parcels(tmp_path / "lots.parquet", id="KEY")
    assert len(index) == 43
    assert index.manifest["count_in_tree"] == 40  # none, empty, nan
    assert index.rows_of(["007"]).tolist() == [7, 40]
    assert index.rows_of(["nan", "none", "nobody"]).tolist() == [36, 38]
    assert index.take([7, 40])["record"].tolist() == [1, 2]
    # a box inside lot 0 and another that touches a corner of lots 14, 15, 20 and 21 and their twins
    assert index.rows_near(np.array([[X + 1, Y + 1, X + 2, Y + 2]])).tolist() == [0]
    corner = np.array([[X + 300, Y + 300, X + 300, Y + 300]])
    assert index.rows_near(corner).tolist() == [14, 15, 20, 21]
    assert index.rows_near(np.full((1, 4), np.nan)).tolist() == []


def test_pickled_it_is_opened_again(tmp_path: Path) -> None:
    """An R-tree would be empty after that, without an error."""
    lots().to_parquet(tmp_path / "lots.parquet")
    index = index_parcels(tmp_path / "lots.parquet", id="KEY")
    box = np.array([[X, Y, X + 500, Y + 500]])
    again = pickle.loads(pickle.dumps(index))
    assert again.rows_near(box).tolist() == index.rows_near(box).tolist() != []
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(index._tree)
    shutil.rmtree(index.folder)
    data = pickle.dumps(index)
    with pytest.raises(Misfit):
        pickle.loads(data)


def test_threads_get_the_same(tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    lots().to_parquet(tmp_path / "lots.parquet")
    index = index_parcels(tmp_path / "lots.parquet", id="KEY")
    box = np.array([[X, Y, X + 250, Y + 250]])
    want = index.rows_near(box).tolist()
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: index.rows_near(box).tolist(), range(200)))
    assert all(rows == want for rows in found)


NUMBER = st.one_of(st.integers(0, 20).map(float), st.sampled_from([np.nan, np.inf, -np.inf]))
BOXES = st.lists(st.tuples(NUMBER, NUMBER, NUMBER, NUMBER), max_size=150)


@settings(max_examples=60, deadline=None)
@given(boxes=BOXES, asked=BOXES)
def test_tree_against_brute_force(
    tmp_path_factory: pytest.TempPathFactory, boxes: list[Any], asked: list[Any]
) -> None:
    """NaN, infinite, inverted and repeated boxes among the good ones."""
    folder = tmp_path_factory.mktemp("tree")
    held = np.array(boxes, dtype=float).reshape(-1, 4)
    windows = np.array(asked[:8], dtype=float).reshape(-1, 4)

    def good(b: Any) -> Any:
        return np.isfinite(b).all(axis=1) & (b[:, 0] <= b[:, 2]) & (b[:, 1] <= b[:, 3])

    inside = build_tree(held, folder / "tree", folder / "pages.npy")
    assert inside == good(held).sum()
    want = [
        row
        for row, b in enumerate(held)
        if good(held)[row]
        and any(
            b[0] <= w[2] and b[2] >= w[0] and b[1] <= w[3] and b[3] >= w[1]
            for w in windows[good(windows)]
        )
    ]
    assert Tree(folder / "tree", folder / "pages.npy").query(windows).tolist() == want


def test_open_says_why_not(tmp_path: Path) -> None:
    lots().to_parquet(tmp_path / "lots.parquet")
    index_parcels(tmp_path / "lots.parquet", id="KEY")
    assert len(open_index(request_for(tmp_path / "lots.parquet"))) == 43
    with pytest.raises(Misfit, match="other keys"):
        open_index(request_for(tmp_path / "lots.parquet", where="VALUE > 3"))
    shutil.rmtree(folder_of(tmp_path / "lots.parquet"))
    with pytest.raises(Misfit, match="cannot be read"):
        open_index(request_for(tmp_path / "lots.parquet"))
