"""A run that was stopped goes on, and comes to the same bytes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pandas as pd
import pytest
from tests.conftest import boxes

import wetgis
from wetgis.errors import InputError, Stopped
from wetgis.outputs.tables import write_run
from wetgis.resume import FOLDER

#: Far enough apart to lie in different tiles.
STEPS = range(0, 100_000, 25_000)
TABLES = ("measures.parquet", "contacts.parquet", "parts.parquet", "findings.parquet", "issues.csv")


def site(*, shift: float = 0.0, **keys: object) -> wetgis.Site:
    lots = boxes(*[(x, 0, x + 200, 200) for x in STEPS])
    wetlands = boxes(*[(x + 150 + shift, 0, x + 300, 90) for x in STEPS])
    return wetgis.Site.from_layers(parcels=lots, wetlands=wetlands, packs=["rye-ny-195"], **keys)


def written(found: wetgis.Screening, folder: Path) -> dict[str, bytes]:
    write_run(found, folder)
    return {name: (folder / name).read_bytes() for name in TABLES}


def stop_after(tiles: int):
    calls = []

    def progress(done: int, total: int, what: str) -> None:
        calls.append(done)
        if len(calls) == tiles:
            raise KeyboardInterrupt

    return progress


def test_stopped_and_resumed_run_has_the_same_bytes(tmp_path: Path) -> None:
    whole = written(wetgis.screen(site()), tmp_path / "whole")
    out = tmp_path / "stopped"
    with pytest.raises(Stopped, match=r"2 of 4 subjects.*--resume") as stopped:
        wetgis.screen(site(), out=out, progress=stop_after(2))
    assert stopped.value.exit_code == 130
    kept = sorted((out / FOLDER).glob("tile-*"))
    assert len(kept) >= 2, "a tile that was under way may be done, too"
    for tile in kept[2:]:
        shutil.rmtree(tile)
    seen = []
    again = wetgis.screen(site(), out=out, resume=True, progress=lambda d, t, w: seen.append(d))
    assert seen == [3, 4], "finished tiles are not done again"
    assert written(again, out) == whole
    again.write(out)
    assert not (out / FOLDER).exists()


def test_another_run_is_not_gone_on_with(tmp_path: Path) -> None:
    with pytest.raises(Stopped):
        wetgis.screen(site(), out=tmp_path, progress=stop_after(1))
    with pytest.raises(InputError, match=r"wetlands.*To mend it: run without --resume"):
        wetgis.screen(site(shift=1), out=tmp_path, resume=True)
    with pytest.raises(InputError, match="measure"):
        wetgis.screen(site(measure={"buffer_ft": 99}), out=tmp_path, resume=True)
    with pytest.raises(InputError, match="ids"):
        wetgis.screen(site(), ids=["1"], out=tmp_path, resume=True)


def test_without_resume_a_run_begins_again(tmp_path: Path) -> None:
    with pytest.raises(Stopped):
        wetgis.screen(site(), out=tmp_path, progress=stop_after(1))
    found = wetgis.screen(site(shift=1), out=tmp_path)
    assert found.measures["wetland_sqft"].tolist() == [49 * 90.0] * 4


def test_half_written_tile_does_not_count(tmp_path: Path) -> None:
    with pytest.raises(Stopped):
        wetgis.screen(site(), out=tmp_path, progress=stop_after(1))
    for tile in (tmp_path / FOLDER).glob("tile-*"):
        tile.rename(tile.with_suffix(".half"))
    found = wetgis.screen(site(), out=tmp_path, resume=True)
    pd.testing.assert_frame_equal(
        pd.DataFrame(found.measures), pd.DataFrame(wetgis.screen(site()).measures)
    )


@pytest.mark.slow
def test_processes_come_to_the_same_bytes(tmp_path: Path) -> None:
    serial = written(wetgis.screen(site()), tmp_path / "serial")
    assert written(wetgis.screen(site(), jobs=2), tmp_path / "jobs") == serial


def test_failed_tile_is_reported_with_its_parcels(monkeypatch: pytest.MonkeyPatch) -> None:
    from wetgis import dispatch

    real = dispatch.run_tile

    def broken(work):
        if "1" in work.subjects.table["subject_id"].tolist():
            raise ValueError("broken on purpose")
        return real(work)

    monkeypatch.setattr(dispatch, "run_tile", broken)
    found = wetgis.screen(site())
    failed = found.issues[found.issues["code"] == "tile_failed"]
    assert failed["record_id"].tolist() == ["1"]
    assert failed["severity"].tolist() == ["error"]
    measures = found.measures.set_index("subject_id")
    assert measures["wetland_sqft"].isna().to_dict() == {
        "0": False,
        "1": True,
        "2": False,
        "3": False,
    }
    assert measures.loc["1", "status"] == "unknown"
