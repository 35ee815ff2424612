"""delineate, compare and sheet on flags and lots that the test writes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import geopandas as gpd
import pandas as pd
import pytest
import shapely

X, Y = 717_000.0, 783_000.0


def flags(path: Path, corners: list[tuple[float, float]]) -> Path:
    rows = [f"A-{i},{Y + y},{X + x}" for i, (x, y) in enumerate(corners, 1)]
    path.write_text("\n".join(["Name,Northing,Easting", *rows, ""]), encoding="utf-8")
    return path


@pytest.fixture
def square(tmp_path: Path) -> Path:
    return flags(tmp_path / "flags.csv", [(0, 0), (100, 0), (100, 100), (0, 100)])


def test_delineate(cli: Callable[..., Any], square: Path) -> None:
    """A square of 100 ft; a side short where it is left open."""
    out = square.with_name("map.gpkg")
    ran = cli("delineate", square, out, "--source-crs", "EPSG:2260")
    assert ran.code == 0
    assert ran.out == "series A: 4 flags, 300.0 ft, open\n"
    ran = cli(
        "delineate", square, out, "--source-crs", "EPSG:2260", "--close", "all",
        "--accuracy", "2ft", "--json",
    )  # fmt: skip
    (wetland,) = json.loads(ran.out)["wetlands"]
    assert wetland["area_sqft"] == pytest.approx(10_000.0)
    assert wetland["area_low_sqft"] < 10_000 < wetland["area_high_sqft"]
    assert gpd.read_file(out, layer="wetlands").area.tolist() == pytest.approx([10_000.0])


def test_delineate_closes_along_a_line(cli: Callable[..., Any], tmp_path: Path) -> None:
    """Three sides of a square by flags, the fourth along a wall that bows out by 50 ft."""
    source = flags(tmp_path / "flags.csv", [(0, 0), (0, 100), (100, 100), (100, 0)])
    wall = shapely.LineString([(X, Y), (X + 50, Y - 50), (X + 100, Y)])
    path = tmp_path / "wall.gpkg"
    gpd.GeoDataFrame({"id": ["w"]}, geometry=[wall], crs=2260).to_file(path)
    ran = cli(
        "delineate", source, tmp_path / "map.gpkg", "--source-crs", "EPSG:2260", "--along", path,
        "--json",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    (wetland,) = json.loads(ran.out)["wetlands"]
    assert wetland["area_sqft"] == pytest.approx(10_000.0 + 100 * 50 / 2)


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ([], 1),  # a CSV does not say what its numbers are in
        (["--source-crs", "EPSG:2260", "--accuracy", "2"], 2),
        (["--source-crs", "EPSG:2260", "--close", "Z"], 2),
    ],
)
def test_delineate_refuses(
    cli: Callable[..., Any], square: Path, more: list[str], code: int
) -> None:
    ran = cli("delineate", square, square.with_name("map.gpkg"), *more)
    assert ran.code == code
    assert "Traceback" not in ran.err
    assert not square.with_name("map.gpkg").exists()


def test_compare(cli: Callable[..., Any], tmp_path: Path) -> None:
    """Two squares, one 10 ft wider: a strip of 1,000 sq ft, 10 ft apart."""
    for name, width in (("a", 100), ("b", 110)):
        corners = [(0, 0), (width, 0), (width, 100), (0, 100)]
        source = flags(tmp_path / f"{name}.csv", corners)
        out = tmp_path / f"{name}.gpkg"
        cli("delineate", source, out, "--source-crs", "EPSG:2260", "--close", "all")
    strips = tmp_path / "strips.gpkg"
    ran = cli("compare", tmp_path / "a.gpkg", tmp_path / "b.gpkg", "--out", strips)
    assert ran.code == 0, ran.err
    assert "Only in A 0.0 sq ft, only in B 1,000.0" in ran.out
    assert gpd.read_file(strips, layer="strips")["area_sqft"].tolist() == pytest.approx([1_000.0])
    document = json.loads(cli("compare", tmp_path / "a.gpkg", tmp_path / "b.gpkg", "--json").out)
    assert document["findings"] is None
    assert max(r["distance_ft"] for r in document["separation"]) == pytest.approx(10.0)


def test_sheet(cli: Callable[..., Any], tmp_path: Path) -> None:
    lot = shapely.box(X, Y, X + 300, Y + 200)
    gpd.GeoDataFrame({"id": ["1"]}, geometry=[lot], crs=2260).to_file(tmp_path / "lots.gpkg")
    site = tmp_path / "site.toml"
    site.write_text('packs = []\n[layers.parcels]\npath = "lots.gpkg"\n', encoding="utf-8")
    out = tmp_path / "plan.pdf"
    ran = cli("sheet", site, "--out", out, "--page", "letter", "--scale", "50ft")
    assert ran.code == 0, ran.err
    assert out.read_bytes().startswith(b"%PDF")
    assert "sheets: " in ran.out
    assert cli("sheet", site, "--out", out, "--page", "A4").code == 2
    assert cli("sheet", site, "--out", out, "--scale", "50").code == 2


def test_amend(cli: Callable[..., Any], tmp_path: Path) -> None:
    """A wetland of 100 ft by 100 ft grows by 20 ft over one lot: 2,000 sq ft more."""

    def write(name: str, *boxes: tuple[float, float, float, float]) -> Path:
        shapes = [shapely.box(X + a, Y + b, X + c, Y + d) for a, b, c, d in boxes]
        ids = [f"{name}-{i}" for i in range(len(boxes))]
        frame = gpd.GeoDataFrame({"id": ids}, geometry=shapes, crs="EPSG:2260")
        frame.to_file(tmp_path / f"{name}.gpkg")
        return tmp_path / f"{name}.gpkg"

    write("lots", (0, 0, 400, 400), (2000, 0, 2400, 400))
    write("wetlands", (0, 0, 100, 100))
    proposed = write("proposed", (0, 0, 120, 100))
    site = tmp_path / "site.toml"
    site.write_text(
        'packs = []\n[measure]\nbuffer_ft = 100\n[layers.parcels]\npath = "lots.gpkg"\n'
        '[layers.wetlands]\npath = "wetlands.gpkg"\n',
        encoding="utf-8",
    )
    out = tmp_path / "out"
    ran = cli("amend", site, "--proposed", proposed, "--mode", "whole", "--out", out, "--json")
    assert ran.code == 0, ran.err
    document = json.loads(ran.out)
    totals = {row["what"]: row for row in document["totals"]}
    assert totals["wetland"]["added_sqft"] == pytest.approx(2_000.0, abs=0.01)
    assert {"amendment.gpkg", "parcels.csv", "report.docx", "run.json"} <= set(document["files"])
    parcels = pd.read_csv(out / "parcels.csv", dtype={"parcel_id": str})
    assert parcels["parcel_id"].tolist() == ["lots-0"]
    assert cli("amend", site, "--proposed", proposed, "--mode", "some", "--out", out).code == 2
