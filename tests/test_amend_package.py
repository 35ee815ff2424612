"""The amendment package: every file, the numbers in it, a town's template, QGIS."""

from __future__ import annotations

import json
from pathlib import Path

import geopandas as gpd
import numpy as np
import openpyxl
import pandas as pd
import pyogrio
import pytest
import shapely
from tests.conftest import ROOT, boxes

import wetgis
from wetgis.errors import InputError

FILES = {
    "amendment.gpkg", "amendment.xlsx", "report.pdf", "report.docx", "finding.pdf", "finding.docx",
    "sheet_before.pdf", "sheet_after.pdf", "run.json", "issues.csv",
    *(f"{n}.csv" for n in ("totals", "changes", "parcels", "slivers", "whole_features",
                           "findings_turned", "history", "shift", "profile")),
}  # fmt: skip
HOSTILE = '=1+1 <b>&"x"</b>\x01'


def hostile_town() -> wetgis.Site:
    lots = boxes((0, 0, 150, 150), (150, 0, 300, 150), (0, 209.99, 100, 300))
    lots["id"] = ["=1+1", "<b>two</b> & more", "003"]
    marsh = boxes((0, 0, 100, 100), name=[HOSTILE])
    return wetgis.Site.from_layers(parcels=lots, wetlands=marsh, packs=["rye-ny-195"],
                                   title=HOSTILE.strip("\x01"), as_of="2026-11-30")  # fmt: skip


@pytest.fixture(scope="module")
def made():
    return wetgis.amend(hostile_town(), boxes((0, 0, 120, 110)), mode="by_id")


@pytest.fixture(scope="module")
def folder(made, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("package")
    assert {p.name for p in made.write(out)} == FILES
    return out


def test_only_finished_files(folder):
    assert {p.name for p in folder.iterdir()} == FILES


def test_tables_tie_up(made, folder):
    """Totals, parcels and layers say the same; ids stay text, nothing is a formula."""
    totals = pd.read_csv(folder / "totals.csv").set_index("what")
    layers = pyogrio.read_dataframe(folder / "amendment.gpkg", layer="changes")
    sums = layers.groupby(["what", "change"])["area_sqft"].sum()
    assert sums["wetland", "added"] == pytest.approx(totals.loc["wetland", "added_sqft"])
    assert layers.geometry.area.sum() == pytest.approx(layers["area_sqft"].sum(), rel=1e-9)
    book = openpyxl.load_workbook(folder / "amendment.xlsx")
    ids = [row[0].value for row in book["Parcels"].iter_rows(min_row=2)]
    assert "'=1+1" in ids
    thin = [row[0].value for row in book["Slivers"].iter_rows(min_row=2)]
    assert thin == ["003"]
    assert book["Parcels"]["A2"].data_type == "s"


def test_run_record(made, folder):
    run = json.loads((folder / "run.json").read_text())
    assert run["amendment"]["mode"] == "by_id"
    assert {i["kind"] for i in run["inputs"]} == {"parcels", "wetlands", "proposed"}
    assert run["audit"]["inside_ft"] <= 0.01
    assert run["counts"]["slivers"] == 1


def text_of_pdf(path: Path) -> str:
    from pypdf import PdfReader

    return "\n".join(page.extract_text() for page in PdfReader(path).pages)


def text_of_docx(path: Path) -> str:
    from docx import Document

    word = Document(str(path))
    cells = [c.text for t in word.tables for r in t.rows for c in r.cells]
    return "\n".join([p.text for p in word.paragraphs] + cells)


@pytest.mark.parametrize("name", ["finding.pdf", "finding.docx"])
def test_draft_finding(folder, name):
    """Facts, the law with its sections, the votes that the pack knows, blanks."""
    text = text_of_pdf(folder / name) if name.endswith("pdf") else text_of_docx(folder / name)
    text = " ".join(text.split())
    for part in ("DRAFT", "10,000.00", "13,200.00", "195-4A(3)", "Votes in favour (5 needed",
                 "finds, in writing", "guides both ways", "licensed surveyor",
                 "Votes against"):  # fmt: skip
        assert part in text, part
    assert "not subject" not in text.lower()


@pytest.mark.parametrize("name", ["report.pdf", "report.docx"])
def test_report(folder, name):
    text = text_of_pdf(folder / name) if name.endswith("pdf") else text_of_docx(folder / name)
    text = " ".join(text.split())
    for part in ("<b>two</b> & more", "narrower than 0.05 ft", "Hausdorff", "2 parcels affected"):
        assert part in text, part


def test_pages_are_letter_and_fonts_embedded(folder):
    from pypdf import PdfReader

    for page in PdfReader(folder / "report.pdf").pages:
        assert (float(page.mediabox.width), float(page.mediabox.height)) == (612, 792)


def test_the_same_bytes_twice(made, folder, tmp_path):
    """Tables and papers do not know the clock."""
    made.write(tmp_path)
    for name in FILES - {"amendment.gpkg", "amendment.xlsx", "report.docx", "finding.docx"}:
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes(), name


def test_a_town_s_own_template(made, tmp_path):
    from docx import Document

    from wetgis.outputs.package.word import starter_template

    starter_template(tmp_path / "ours.docx")
    made.write(tmp_path / "out", template=tmp_path / "ours.docx")
    text = text_of_docx(tmp_path / "out" / "finding.docx")
    assert "13,200.00" in text
    assert "{{" not in text
    assert "{%" not in text
    assert "<b>two</b> & more" in text
    word = Document()
    word.add_paragraph("{{ nothing_of_this_name }}")
    word.save(str(tmp_path / "bad.docx"))
    with pytest.raises(InputError, match="cannot be filled"):
        made.write(tmp_path / "bad", template=tmp_path / "bad.docx")
    assert not list((tmp_path / "bad").iterdir())
    word = Document()
    word.add_paragraph("{{ title.__class__.__mro__ }}")
    word.save(str(tmp_path / "evil.docx"))
    with pytest.raises(InputError, match="cannot be filled"):
        made.write(tmp_path / "evil", template=tmp_path / "evil.docx")
    with pytest.raises(InputError, match="not there"):
        made.write(tmp_path / "none", template=tmp_path / "none.docx")


def test_package_of_nothing(tmp_path):
    """No change: every table, no sheet."""
    made = wetgis.amend(hostile_town(), boxes((0, 0, 100, 100)), mode="by_id")
    names = {p.name for p in made.write(tmp_path)}
    assert names == FILES - {"sheet_before.pdf", "sheet_after.pdf"}
    assert "Nothing changes" in text_of_pdf(tmp_path / "report.pdf")


def test_verb(cli, tmp_path):
    """The command line on a sample: package and letters, exit code 3 for the sample's defects."""
    town = ROOT / "data" / "samples" / "shoreville"
    ran = cli("amend", town / "site.toml", "--proposed", town / "proposed_wetlands.geojson",
              "--mode", "by_id", "--accept", "F-13", "--owner", "ADDRESS", "--within", "50ft",
              "--out", tmp_path / "out")  # fmt: skip
    assert ran.code == 3
    assert "15 parcels affected" in ran.out
    assert {p.name for p in (tmp_path / "out").iterdir()} >= FILES | {"notices", "run.log"}
    assert "Dune Street" not in (tmp_path / "out" / "run.log").read_text()
    assert "Dune Street" not in ran.out + ran.err
    assert cli("verify", tmp_path / "out").code == 0
    refused = cli("amend", town / "site.toml", "--proposed", town / "proposed_wetlands.geojson",
                  "--mode", "all", "--out", tmp_path / "no")  # fmt: skip
    assert refused.code == 2
    assert "by_id" in refused.err


@pytest.mark.qgis
def test_qgis_opens_it_styled(folder, tmp_path):
    from tests.test_outputs_geopackage import in_qgis

    order = ["changes", "adopted", "wetlands_before", "wetlands_after", "buffer_before",
             "buffer_after", "parcels"]  # fmt: skip
    told = in_qgis(folder / "amendment.gpkg", tmp_path / "map.png", order)
    assert set(told) == {f"{name}2" for name in order}
    assert all(layer["valid"] and layer["features"] for layer in told.values())
    assert told["changes2"]["renderer"] == told["parcels2"]["renderer"] == "categorizedSymbol"
    assert "Wetland added" in told["changes2"]["labels"]


@pytest.mark.shared
@pytest.mark.slow
def test_a_real_map(shared, tmp_path):
    """Part of a boundary of a mapped wetland moves by ten feet: measured, closed, drawn."""
    source = next((shared / "data" / "wetlands").glob("*illiamsburg*"), None)
    if source is None:
        pytest.skip("the wetlands of Williamsburg are not here")
    marsh = wetgis.read_layer(source, kind="wetlands")
    marsh = marsh[marsh.geometry.area > 20_000].reset_index(drop=True)
    row = marsh.iloc[[len(marsh) // 2]].reset_index(drop=True)
    shape = row.geometry.iloc[0]
    x0, y0, x1, y1 = shape.bounds
    half = shapely.box(x0 - 50, y0 - 50, (x0 + x1) / 2, y1 + 50)
    wider = shapely.union(shape, shapely.intersection(shapely.buffer(shape, 10.0), half))
    proposed = row.set_geometry([wider], crs=marsh.crs)
    cx, cy = shape.centroid.x, shape.centroid.y
    lots = [shapely.box(cx + a, cy + b, cx + a + 150, cy + b + 150)
            for a in range(-900, 900, 150) for b in range(-900, 900, 150)]  # fmt: skip
    parcels = gpd.GeoDataFrame({"id": [f"L{i}" for i in range(len(lots))]}, geometry=lots,
                               crs=marsh.crs)  # fmt: skip
    site = wetgis.Site.from_layers(parcels=parcels, wetlands=source, measure={"buffer_ft": 100},
                                   crs=marsh.crs, title="A real map")  # fmt: skip
    made = wetgis.amend(site, proposed, mode="by_id")
    for total in made.totals.dropna().itertuples():
        off = total.before_sqft + total.added_sqft - total.removed_sqft - total.after_sqft
        assert abs(off) < 0.01
    assert made.totals.set_index("what").loc["wetland", "added_sqft"] > 100
    assert made.shift["hausdorff_ft"].iloc[0] <= 10.0 * 3.3
    assert (made.parcels["wetland_change_sqft"] >= 0).all()
    assert np.isfinite(made.parcels["regulated_after_sqft"]).all()
    assert {p.name for p in made.write(tmp_path)} == FILES
