"""A run that never holds a county gives the files of one that does, byte for byte."""

from __future__ import annotations

import json
from pathlib import Path

import geopandas as gpd
import numpy as np
import pandas as pd
import pyogrio
import pytest
import shapely
from tests.engine_makers import RYE

import wetgis
from wetgis import storedfeatures, tilefiles
from wetgis.errors import InputError, OutputError, Stopped
from wetgis.resume import FOLDER
from wetgis.samples import sample_sites

SAME = (
    "measures.parquet", "findings.parquet", "contacts.parquet", "parts.parquet",
    "measures.csv", "findings.csv", "issues.csv", "checklist.csv",
)  # fmt: skip


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every layer is large, and a bucket holds a few subjects."""
    monkeypatch.setattr(storedfeatures, "SMALL", 0)
    monkeypatch.setattr(storedfeatures, "BULK", 3000)
    monkeypatch.setattr(tilefiles, "BUCKET", 150)


def bytes_in(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in SAME}


@pytest.fixture(scope="module", params=sample_sites(), ids=lambda p: p.parent.name)
def whole(request, tmp_path_factory) -> tuple[Path, Path, wetgis.Screening]:
    """A sample town screened in memory, and the folder of that run."""
    folder = tmp_path_factory.mktemp("whole")
    found = wetgis.screen(wetgis.read_site(request.param))
    found.write(folder)
    return request.param, folder, found


def plain(path: Path) -> dict[str, object]:
    """``run.json`` without the clock, and without what a store cannot change."""
    record = json.loads((path / "run.json").read_text("utf-8"))
    return {k: v for k, v in record.items() if k != "run"}


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("stored", [False, True])
def test_the_same_bytes_as_in_memory(whole, tmp_path, stored) -> None:
    path, folder, found = whole
    site = wetgis.read_site(path, store=tmp_path / "layers" if stored else None)
    run = wetgis.screen_to(site, tmp_path / "out")
    assert bytes_in(tmp_path / "out") == bytes_in(folder)
    assert plain(tmp_path / "out") == plain(folder)
    assert run.summary() == found.summary()
    assert {p.name for p in run.files} == {p.name for p in folder.iterdir()}
    pd.testing.assert_frame_equal(run.issues, found.issues)
    assert not (tmp_path / "out" / FOLDER).exists()


@pytest.mark.usefixtures("small")
def test_the_same_layers_for_maps(whole, tmp_path) -> None:
    path, folder, _ = whole
    wetgis.screen_to(wetgis.read_site(path, store=tmp_path / "layers"), tmp_path / "out")
    one, two = (f / "screening.gpkg" for f in (folder, tmp_path / "out"))
    names = [n for n, _ in pyogrio.list_layers(one)]
    assert [n for n, _ in pyogrio.list_layers(two)] == names
    for name in names:
        a, b = (pyogrio.read_dataframe(p, layer=name) for p in (one, two))
        assert list(a.columns) == list(b.columns)
        assert len(a) == len(b), name
        if "geometry" in a:
            assert shapely.equals_exact(a.geometry.array, b.geometry.array).all() or (
                a.geometry.isna().any()
            ), name
    assert (tmp_path / "out" / "report.html").stat().st_size > 100_000


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_other_processes_come_to_the_same_bytes(whole, tmp_path) -> None:
    path, folder, _ = whole
    wetgis.screen_to(wetgis.read_site(path, store=tmp_path / "layers"), tmp_path / "out", jobs=2)
    assert bytes_in(tmp_path / "out") == bytes_in(folder)


@pytest.mark.usefixtures("small")
def test_some_subjects_only(whole, tmp_path) -> None:
    path, _, found = whole
    ids = sorted(set(found.measures["subject_id"]))[5:40:7]
    wetgis.screen(wetgis.read_site(path), ids=ids).write(tmp_path / "some")
    wetgis.screen_to(wetgis.read_site(path, store=tmp_path / "l"), tmp_path / "out", ids=ids)
    assert bytes_in(tmp_path / "out") == bytes_in(tmp_path / "some")


def towns(count: int = 7, shift: float = 0.0) -> wetgis.Site:
    """Parcels in tiles of their own, each with a marsh over its east."""
    x, y = RYE
    at = [(x + 25_000 * k, y) for k in range(count)]
    lots = [shapely.box(a, b, a + 200, b + 200) for a, b in at]
    marsh = [shapely.box(a + 150 + shift, b, a + 400, b + 200) for a, b in at]
    names = [f"p{k}" for k in range(count)]
    return wetgis.Site.from_layers(
        parcels=gpd.GeoDataFrame({"id": names[::-1]}, geometry=lots, crs=2260),
        wetlands=gpd.GeoDataFrame({"id": names}, geometry=marsh, crs=2260),
        packs=[], measure={"buffer_ft": 100},
    )  # fmt: skip


def test_a_stopped_run_goes_on(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(tilefiles, "BUCKET", 2)
    wetgis.screen(towns()).write(tmp_path / "whole")
    out = tmp_path / "out"

    def stop(done: int, total: int, what: str) -> None:
        if done >= 2:
            raise KeyboardInterrupt

    with pytest.raises(Stopped, match="--resume"):
        wetgis.screen_to(towns(), out, progress=stop)
    kept = sorted((out / FOLDER).glob("tile-*"))
    assert 2 <= len(kept) < 7
    with pytest.raises(InputError, match="wetlands"):
        wetgis.screen_to(towns(shift=1), out, resume=True)
    seen: list[tuple[int, str]] = []
    wetgis.screen_to(towns(), out, resume=True, progress=lambda d, t, w: seen.append((d, w)))
    assert [d for d, w in seen if w == "subjects"] == list(range(len(kept) + 1, 8))
    assert bytes_in(out) == bytes_in(tmp_path / "whole")


def test_stopped_while_the_law_is_tried(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(tilefiles, "BUCKET", 2)

    def stop(done: int, total: int, what: str) -> None:
        if what != "subjects":
            raise KeyboardInterrupt

    with pytest.raises(Stopped, match="finished tiles"):
        wetgis.screen_to(towns(), tmp_path, progress=stop)
    assert len(list((tmp_path / FOLDER).glob("tile-*"))) == 7
    run = wetgis.screen_to(towns(), tmp_path, resume=True)
    whole = wetgis.screen(towns()).measures.set_index("subject_id")
    found = run.open().measures.set_index("subject_id")
    assert found["wetland_sqft"].to_dict() == whole["wetland_sqft"].to_dict()


def test_a_failed_tile_leaves_the_rest(tmp_path, monkeypatch) -> None:
    from wetgis import dispatch

    real = dispatch.run_tile

    def broken(work):
        if "p3" in work.subjects.table["subject_id"].tolist():
            raise ValueError("broken on purpose")
        return real(work)

    monkeypatch.setattr(dispatch, "run_tile", broken)
    run = wetgis.screen_to(towns(), tmp_path)
    measures = run.open().measures.set_index("subject_id")
    assert measures.loc["p3", "status"] == "unknown"
    assert np.isnan(measures.loc["p3", "wetland_sqft"])
    assert measures["wetland_sqft"].notna().sum() == 6
    assert run.issues["code"].tolist().count("tile_failed") == 1


def test_a_full_disk_ends_the_run(tmp_path, monkeypatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tilefiles, "write_batches", full)
    with pytest.raises(OutputError, match=r"No space left.*--resume"):
        wetgis.screen_to(towns(), tmp_path)


def test_without_a_subject(tmp_path) -> None:
    site = towns(1)
    none = site.with_layers(parcels=site.layers["parcels"].frame.iloc[:0])
    wetgis.screen(none).write(tmp_path / "whole")
    wetgis.screen_to(none, tmp_path / "out")
    assert bytes_in(tmp_path / "out") == bytes_in(tmp_path / "whole")
