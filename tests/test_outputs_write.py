"""Everything that a run leaves behind, together."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import geopandas as gpd
import pandas as pd
import pytest
import shapely

import wetgis
from wetgis import outputs
from wetgis.errors import OutputError
from wetgis.outputs import text

sys.path.insert(0, str(Path(__file__).parent))
standin = importlib.import_module("outputs_standin")

FILES = {
    "measures.parquet", "findings.parquet", "contacts.parquet", "parts.parquet", "issues.csv",
    "checklist.csv", "run.json", "screening.gpkg", "measures.csv", "findings.csv", "screening.xlsx",
    "report.html",
}  # fmt: skip


@pytest.fixture(scope="module")
def screening() -> wetgis.Screening:
    """Two lots, a footprint and a wetland through the whole engine and the law of Rye."""
    x, y = standin.ORIGIN

    def frame(*boxes: tuple[float, ...], **columns: object) -> gpd.GeoDataFrame:
        shapes = [shapely.box(x + a, y + b, x + c, y + d) for a, b, c, d in boxes]
        return gpd.GeoDataFrame(columns, geometry=shapes, crs=standin.CRS)

    return wetgis.screen(
        wetgis.Site.from_layers(
            parcels=frame((0, 0, 200, 200), (2000, 0, 2200, 200), id=["=A1", "007"]),
            footprints=frame((100, 50, 140, 90), id=["F-1"], activity=["deck"]),
            wetlands=frame((150, 0, 400, 200), id=["W-1"]),
            packs=["rye-ny-195"],
            title="Two lots",
        )
    )


def test_a_run_leaves_its_files_and_nothing_else(
    screening: wetgis.Screening, tmp_path: Path
) -> None:
    written = outputs.write(screening, tmp_path / "out")
    assert {p.name for p in written} == FILES == {p.name for p in (tmp_path / "out").iterdir()}
    assert written[0].name == "report.html"
    assert written[-1].name == "run.json"
    page = written[0].read_text("utf-8")
    assert "1 of 2 parcels reaches a mapped wetland" in page
    assert "City of Rye NY" in page
    assert "Regulated activity in a wetland, watercourse or buffer" in page  # the pack's own title


def test_an_opened_run_writes_the_same_bytes(screening: wetgis.Screening, tmp_path: Path) -> None:
    outputs.write(screening, tmp_path / "a")
    again = wetgis.open_run(tmp_path / "a")
    assert again.title == "Two lots"
    assert set(again.layers) >= {"wetlands", "buffer"}
    assert [p.id for p in again.packs] == ["rye-ny-195"]
    outputs.write(again, tmp_path / "b")
    for path in (tmp_path / "a").iterdir():
        if path.suffix in (".parquet", ".csv", ".json"):
            assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes(), path.name


@pytest.mark.parametrize("broken", ["office.write_workbook", "geopackage.write_geopackage"])
def test_a_failed_run_leaves_the_earlier_one(
    broken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = standin.town(24)
    outputs.write(result, tmp_path)
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(f"wetgis.outputs.{broken}", full)
    with pytest.raises(OutputError, match="No space left") as caught:
        outputs.write(result, tmp_path)
    assert "unfinished" not in str(caught.value)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


def test_a_file_that_is_held_open_is_an_error_with_a_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def held(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "replace", held)
    with pytest.raises(OutputError, match="close the file") as caught:
        outputs.write(standin.town(24), tmp_path)
    assert "report.html" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # zipfile's own
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_full_disk_is_told_by_every_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from wetgis.outputs import atomic, geopackage, office

    def into_full(prefix: str, dir: Path) -> str:
        folder = dir / f"{prefix}x"
        folder.mkdir()
        for name in ("screening.xlsx", "screening.gpkg"):
            (folder / name).symlink_to("/dev/full")
        return str(folder)

    monkeypatch.setattr(atomic.tempfile, "mkdtemp", into_full)
    for write in (office.write_workbook, geopackage.write_geopackage):
        name = "screening.xlsx" if write is office.write_workbook else "screening.gpkg"
        with pytest.raises(OutputError, match="cannot be written"):
            write(standin.town(24), tmp_path / name)
        assert list(tmp_path.iterdir()) == []


def test_cards_tell_a_subject_in_full(screening: wetgis.Screening) -> None:
    told = text.cards(screening)
    assert "Parcel =A1: On a wetland or watercourse." in told
    assert "10,000 sq ft" in told  # of wetland
    assert "Footprint F-1: In the buffer." in told
    assert "195-4C(1)" in told
    assert "wetland W-1" in told
    assert "10.00 ft" in told


def test_cards_of_many_are_counted(screening: wetgis.Screening) -> None:
    many = SimpleNamespace(**vars(standin.town(120)))
    assert "more; findings.csv and the report have them." in text.cards(many, limit=3)
    assert text.cards(many, limit=3).count("Outside") <= 3


def test_outputs_do_not_change_the_result(screening: wetgis.Screening, tmp_path: Path) -> None:
    before = {
        n: getattr(screening, n).copy() for n in ("measures", "findings", "contacts", "parts")
    }
    outputs.write(screening, tmp_path)
    text.summary(screening)
    for name, frame in before.items():
        pd.testing.assert_frame_equal(pd.DataFrame(frame), pd.DataFrame(getattr(screening, name)))
