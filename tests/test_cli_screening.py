"""screen, assess, verify and diff on a tiny site that the test writes.

One parcel of 200 ft by 200 ft, a wetland over its eastern 50 ft, a footprint of 20 ft by 20 ft
whose near side lies 30 ft west of the wetland, and a parcel 1,000 ft away.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import geopandas as gpd
import pandas as pd
import pytest
import shapely

X, Y = 717_000.0, 783_000.0

SITE = """
title = "Tiny"
packs = ["rye-ny-195"]
as_of = 2026-11-30

[layers.parcels]
path = "parcels.gpkg"
id = "PRINT_KEY"

[layers.footprints]
path = "footprints.gpkg"
id = "NO"

[layers.wetlands]
path = "wetlands.gpkg"
id = "WET"
extent = "limit.gpkg"

[layers.watercourses]
path = "streams.gpkg"
id = "REACH"
extent = "limit.gpkg"
"""


def box(a: float, b: float, c: float, d: float) -> shapely.Polygon:
    return shapely.box(a + X, b + Y, c + X, d + Y)


def write(path: Path, key: str, rows: dict[str, Any]) -> None:
    frame = gpd.GeoDataFrame({key: list(rows)}, geometry=list(rows.values()), crs="EPSG:2260")
    frame.to_file(path)


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    folder.mkdir()
    write(
        folder / "parcels.gpkg",
        "PRINT_KEY",
        {"091.-1-01": box(0, 0, 200, 200), "091.-1-02": box(1000, 0, 1200, 200)},
    )
    write(folder / "footprints.gpkg", "NO", {"01": box(100, 50, 120, 70)})
    write(folder / "wetlands.gpkg", "WET", {"W-1": box(150, -100, 400, 300)})
    write(folder / "streams.gpkg", "REACH", {"S-1": box(3000, 0, 3010, 200)})
    write(folder / "limit.gpkg", "NAME", {"city": box(-5000, -5000, 5000, 5000)})
    (folder / "site.toml").write_text(SITE, encoding="utf-8")
    return folder / "site.toml"


FILES = {
    "measures.parquet", "findings.parquet", "contacts.parquet", "parts.parquet", "issues.csv",
    "checklist.csv", "run.json", "screening.gpkg", "measures.csv", "findings.csv",
    "screening.xlsx", "report.html", "run.log",
}  # fmt: skip


def test_screen(cli: Callable[..., Any], tiny: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    ran = cli("screen", tiny, "--out", out)
    assert ran.code == 0, ran.err
    assert ran.out.startswith("Tiny\n")
    assert {p.name for p in out.iterdir()} == FILES
    measures = pd.read_csv(out / "measures.csv", dtype={"subject_id": str}).set_index("subject_id")
    row = measures.loc["091.-1-01"]
    assert row["wetland_sqft"] == pytest.approx(50 * 200)
    assert row["buffer_sqft"] == pytest.approx(100 * 200)
    assert row["outside_sqft"] == pytest.approx(50 * 200)
    assert measures.loc["091.-1-02", "wetland_ft"] == pytest.approx(600.0)
    findings = pd.read_parquet(out / "findings.parquet").set_index(["subject_kind", "rule"])
    assert findings.loc[("footprint", "RYE-12")]["outcome"] != "not_met"
    assert "wetgis screen" in (out / "run.log").read_text("utf-8")


def test_screen_as_json_is_one_document(
    cli: Callable[..., Any], tiny: Path, tmp_path: Path
) -> None:
    ran = cli("screen", tiny, "--out", tmp_path / "out", "--json")
    document = json.loads(ran.out)
    assert document["counts"]["subjects"] == {"parcel": 2, "footprint": 1, "project": 1}
    assert set(document["files"]) == FILES
    assert document["exit_code"] == ran.code == 0


def test_all_keeps_what_is_not_met(cli: Callable[..., Any], tiny: Path, tmp_path: Path) -> None:
    cli("screen", tiny, "--out", tmp_path / "some")
    cli("screen", tiny, "--out", tmp_path / "all", "--all")
    some, everything = (
        pd.read_csv(tmp_path / name / "findings.csv", dtype=str) for name in ("some", "all")
    )
    assert "not_met" not in set(some["outcome"])
    assert "not_met" in set(everything["outcome"])


def test_ids_from_a_file(cli: Callable[..., Any], tiny: Path, tmp_path: Path) -> None:
    ids = tmp_path / "ids.txt"
    ids.write_text("091.-1-02\n\n", encoding="utf-8-sig")
    ran = cli("screen", tiny, "--out", tmp_path / "out", "--ids", ids)
    assert ran.code == 0, ran.err
    measures = pd.read_csv(tmp_path / "out" / "measures.csv", dtype=str)
    assert measures["subject_id"].tolist() == ["091.-1-02"]


@pytest.mark.parametrize("text", ["", "no-such-parcel\n"])
def test_ids_that_are_not_there(
    cli: Callable[..., Any], tiny: Path, tmp_path: Path, text: str
) -> None:
    ids = tmp_path / "ids.txt"
    ids.write_text(text, encoding="utf-8")
    ran = cli("screen", tiny, "--out", tmp_path / "out", "--ids", ids)
    assert ran.code == 1
    assert "Traceback" not in ran.err


def test_as_of_picks_the_day(cli: Callable[..., Any], tiny: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert cli("screen", tiny, "--out", out, "--as-of", "2020-01-02").code == 0
    assert json.loads((out / "run.json").read_text("utf-8"))["options"]["as_of"] == "2020-01-02"
    assert cli("screen", tiny, "--out", out, "--as-of", "yesterday").code == 2


def test_one_bad_record_is_3_and_the_rest_is_done(
    cli: Callable[..., Any], tiny: Path, tmp_path: Path
) -> None:
    rows = {"091.-1-01": box(0, 0, 200, 200), "091.-1-03": None}
    (tiny.parent / "parcels.gpkg").unlink()
    write(tiny.parent / "parcels.gpkg", "PRINT_KEY", rows)
    out = tmp_path / "out"
    ran = cli("screen", tiny, "--out", out)
    assert ran.code == 3
    assert "1 record could not be used" in ran.err
    measures = pd.read_csv(out / "measures.csv", dtype={"subject_id": str}).set_index("subject_id")
    assert measures.loc["091.-1-01", "wetland_sqft"] == pytest.approx(10_000)
    assert measures.loc["091.-1-03", "status"] == "unknown"
    assert "091.-1-03" in (out / "issues.csv").read_text("utf-8")


def test_an_unknown_key_is_1_and_named(cli: Callable[..., Any], tiny: Path, tmp_path: Path) -> None:
    tiny.write_text(SITE.replace("as_of", "as_off"), encoding="utf-8")
    ran = cli("screen", tiny, "--out", tmp_path / "out")
    assert ran.code == 1
    assert "as_off" in ran.err
    assert "as_of" in ran.err
    assert not (tmp_path / "out" / "measures.parquet").exists()


def test_screen_needs_a_folder(cli: Callable[..., Any], tiny: Path) -> None:
    assert cli("screen", tiny).code == 2


def test_assess_prints_a_card(cli: Callable[..., Any], tiny: Path, tmp_path: Path) -> None:
    ran = cli("assess", tiny, "01")
    assert ran.code == 0, ran.err
    assert "01" in ran.out
    out = tmp_path / "out"
    assert cli("assess", tiny, "091.-1-01", "--out", out).code == 0
    measures = pd.read_csv(out / "measures.csv", dtype=str)
    assert measures["subject_id"].tolist() == ["091.-1-01"]


def test_assess_tries_proposed_work(cli: Callable[..., Any], tiny: Path, tmp_path: Path) -> None:
    proposed = tmp_path / "proposed.gpkg"
    write(proposed, "id", {"P-9": box(160, 50, 180, 70)})
    out = tmp_path / "out"
    ran = cli("assess", tiny, "P-9", "--footprint", proposed, "--out", out)
    assert ran.code == 0, ran.err
    measures = pd.read_csv(out / "measures.csv", dtype={"subject_id": str})
    assert measures["subject_kind"].tolist() == ["footprint", "project"]
    assert measures["wetland_sqft"].tolist() == pytest.approx([400.0, 400.0])


def test_assess_needs_somebody(cli: Callable[..., Any], tiny: Path) -> None:
    assert cli("assess", tiny).code == 2
    ran = cli("assess", tiny, "091.-1-10")
    assert ran.code == 1
    assert "091.-1-01" in ran.err


def test_a_scheduler_that_is_not_there(
    cli: Callable[..., Any], tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    ran = cli("screen", tiny, "--out", tmp_path / "out", "--scheduler", "tcp://127.0.0.1:1")
    assert ran.code == 2
    assert "wetgis[dask]" in ran.err


def test_verify(cli: Callable[..., Any], tiny: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    cli("screen", tiny, "--out", out)
    ran = cli("verify", out)
    assert ran.code == 0, ran.out
    assert ran.out.count("same") == len(ran.out.splitlines())
    write(tiny.parent / "wetlands.gpkg", "WET", {"W-1": box(150, -100, 400, 301)})
    (tiny.parent / "streams.gpkg").rename(tiny.parent / "gone.gpkg")
    ran = cli("verify", out, "--json")
    assert ran.code == 1
    states = {r["name"]: r["state"] for r in json.loads(ran.out)["rows"]}
    assert states["wetlands.gpkg"] == "changed"
    assert states["streams.gpkg"] == "missing"
    assert states["parcels.gpkg"] == "same"


def test_verify_after_a_move(cli: Callable[..., Any], tiny: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    cli("screen", tiny, "--out", out)
    tiny.parent.rename(tmp_path / "moved")
    assert cli("verify", out).code == 1
    assert cli("verify", out, "--inputs", tmp_path / "moved").code == 0


def test_diff(cli: Callable[..., Any], tiny: Path, tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    cli("screen", tiny, "--out", one)
    same = cli("diff", one, one)
    assert same.code == 0
    assert "The measures are the same." in same.out
    write(tiny.parent / "wetlands.gpkg", "WET", {"W-1": box(151, -100, 400, 300)})
    cli("screen", tiny, "--out", two)
    ran = cli("diff", one, two)
    assert "parcel 091.-1-01: wetland_sqft: 10000.0 -> 9800.0" in ran.out
    assert "091.-1-02: wetland_sqft" not in ran.out
    document = json.loads(cli("diff", one, two, "--json").out)
    assert any(c.startswith("inputs: ") for c in document["causes"])
    assert {r["rule"] for r in document["findings"]} >= {"RYE-01"}


def test_diff_names_subjects_of_one_run_only(
    cli: Callable[..., Any], tiny: Path, tmp_path: Path
) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    cli("screen", tiny, "--out", one)
    ids = tmp_path / "ids.txt"
    ids.write_text("091.-1-01\n", encoding="utf-8")
    cli("screen", tiny, "--out", two, "--ids", ids)
    ran = cli("diff", one, two)
    assert "parcel 091.-1-02: subject: present -> absent" in ran.out


def test_diff_needs_two_runs(cli: Callable[..., Any], tmp_path: Path) -> None:
    assert cli("diff", tmp_path, tmp_path).code == 1


def test_ctrl_c_is_130_and_the_run_can_go_on(
    cli: Callable[..., Any], tiny: Path, tmp_path: Path
) -> None:
    """Stopped in the middle: one message, nothing under a final name; then it goes on."""
    out, whole = tmp_path / "out", tmp_path / "whole"
    code = (
        "import os, signal, sys, wetgis.tilefiles as r\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a shell may have it ignored
        "save = r.TileFiles.save\n"
        "def stop(self, *a): save(self, *a); os.kill(os.getpid(), signal.SIGINT)\n"
        "r.TileFiles.save = stop\n"
        f"sys.argv = ['wetgis', 'screen', {str(tiny)!r}, '--out', {str(out)!r}]\n"
        "from wetgis.cli import main\nmain()\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 130, ran.stderr
    assert "--resume" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert {p.name for p in out.iterdir()} == {"run.log", ".parts"}
    assert cli("screen", tiny, "--out", out, "--resume").code == 0
    cli("screen", tiny, "--out", whole)
    for name in sorted(FILES - {"run.json", "run.log", "report.html"}):
        if name.endswith((".parquet", ".csv")):
            assert (out / name).read_bytes() == (whole / name).read_bytes(), name
    assert {p.name for p in out.iterdir()} == FILES


def test_resume_refuses_another_run(cli: Callable[..., Any], tiny: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    parts = out / ".parts"
    parts.mkdir(parents=True)
    (parts / "run.json").write_text("{}", encoding="utf-8")
    ran = cli("screen", tiny, "--out", out, "--resume")
    assert ran.code == 1
    assert "Traceback" not in ran.err
