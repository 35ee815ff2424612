"""What the law half is handed: reach, factor, extents by layer, totals that are not whole."""

from __future__ import annotations

from pathlib import Path

import geopandas as gpd
import numpy as np
import pytest
import rasterio
import shapely
from rasterio.transform import from_origin
from tests.conftest import MONROE, RYE, boxes

import wetgis
from wetgis.engine import scene_of
from wetgis.joining import _factor


def one(found: wetgis.Screening, rule: str, kind: str) -> dict[str, object]:
    rows = found.findings
    rows = rows[(rows["rule"] == rule) & (rows["subject_kind"] == kind)]
    assert len(rows) == 1, rows
    return rows.iloc[0].to_dict()


def test_accuracy_widens_what_the_law_sees_and_not_the_contacts() -> None:
    parcel = boxes((0, 0, 300, 200))
    marsh = boxes((403, 50, 503, 150)).assign(id="M", regulator="DEC")
    site = wetgis.Site.from_layers(
        parcels=wetgis.Layer(parcel, accuracy_ft=2),
        wetlands=wetgis.Layer(marsh, accuracy_ft=5),
        watercourses=boxes((5000, 0, 5010, 10)),
        packs=["rye-ny-195"],
    )
    found = wetgis.screen(site)
    assert found.contacts.empty, "103 ft away is beyond the legal distance"
    row = one(found, "RYE-16", "parcel")
    assert row["feature_id"] == "M" or "M" in str(row["note"])
    assert row["answer"] == "may_be_subject"


def dem(folder: Path, at: tuple[float, float], height: float, unit: str) -> Path:
    path = folder / "dem.tif"
    profile = {
        "driver": "GTiff", "width": 60, "height": 60, "count": 1, "dtype": "float32",
        "crs": "EPSG:2260", "transform": from_origin(at[0] - 100, at[1] + 500, 10, 10),
    }  # fmt: skip
    with rasterio.open(path, "w", **profile) as file:
        file.write(np.full((60, 60), height, "float32"), 1)
        file.set_band_unit(1, unit)
    return path


@pytest.mark.parametrize(("height", "unit"), [(700.0, "US survey foot"), (213.36043, "metre")])
def test_combined_factor_has_the_elevation_in_it(tmp_path: Path, height: float, unit: str) -> None:
    parcel = boxes((0, 0, 100, 100), (200, 200, 300, 300), at=MONROE)
    level = wetgis.Site.from_layers(parcels=parcel, packs=["monroe-ny-46"])
    raised = wetgis.Site.from_layers(
        parcels=parcel, dem=dem(tmp_path, MONROE, height, unit), packs=["monroe-ny-46"]
    )
    ratio = _factor(raised, scene_of(raised)) / _factor(level, scene_of(level))
    # a mean earth radius of 20,902,000 ft to four digits
    assert ratio == pytest.approx(1 - 700 / 20.902e6, abs=5e-8)


def test_stated_factor_is_taken_as_it_is() -> None:
    site = wetgis.Site.from_layers(
        parcels=boxes((0, 0, 100, 100)), packs=["rye-ny-195"], combined_factor=0.9998797
    )
    assert _factor(site, scene_of(site)) == 0.9998797


def test_each_layer_answers_for_its_own_extent(tmp_path: Path) -> None:
    ox, oy = RYE
    small = gpd.GeoDataFrame(
        geometry=[shapely.box(ox - 900, oy - 900, ox + 50, oy + 900)], crs="EPSG:2260"
    )
    small.to_file(tmp_path / "mapped.gpkg")
    site = wetgis.Site.from_layers(
        parcels=boxes((0, 0, 200, 100)),
        wetlands=wetgis.Layer(boxes((-800, 0, -700, 50)), extent=str(tmp_path / "mapped.gpkg")),
        watercourses=boxes((4000, 0, 4010, 10)),
        packs=["monroe-ny-46"],
    )
    found = wetgis.screen(site)
    assert found.measures["unknown_layers"].str.split(";").iloc[0][0] == "wetlands"
    assert "watercourses" not in found.measures["unknown_layers"].iloc[0]
    assert one(found, "MON-26", "parcel")["needs"] == "extent: wetlands"
    assert one(found, "MON-27", "parcel")["outcome"] == "not_met"


def project(*areas: tuple[float, float, float, float], lost: int) -> wetgis.Screening:
    whole = boxes(*areas)
    geometries = [*whole.geometry, *([None] * lost)]
    footprints = gpd.GeoDataFrame(
        {"id": [f"F{i}" for i in range(len(geometries))], "project_id": "P", "kind": "grading"},
        geometry=geometries,
        crs=whole.crs,
    )
    site = wetgis.Site.from_layers(
        parcels=boxes((-100, -100, 2000, 2000)), footprints=footprints, packs=["monroe-ny-46"]
    )
    return wetgis.screen(site)


def test_total_without_a_lost_footprint_decides_only_what_it_reaches() -> None:
    whole = one(project((0, 0, 300, 300), lost=0), "MON-48", "project")
    assert (whole["outcome"], whole["needs"]) == ("not_met", "")
    lost = one(project((0, 0, 300, 300), lost=1), "MON-48", "project")
    assert (lost["outcome"], lost["needs"]) == ("undetermined", "layer: footprints")
    assert "incomplete" in str(lost["note"])
    reached = one(project((0, 0, 660, 331), lost=1), "MON-48", "project")
    assert reached["outcome"] == "met", "what is known is over five acres already"
