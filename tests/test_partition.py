"""Where the ground of a subject lies: each square foot in one place, and all of it in some."""

from __future__ import annotations

from functools import cache
from math import acos, pi, sqrt
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely
from tests.engine_makers import arc_deficit, box, frame, laid_out, rows, site

import wetgis
from wetgis.schema import PLACES

Place = tuple[float, float]
SQUARE, CIRCLE = box(0, 0, 100, 100), pi * 100**2
WIDE = box(-400, -400, 1_200, 1_200)

BLOCKS: dict[str, dict[str, list[Any]]] = {
    "16": {"parcels": [box(50, 25, 250, 75)], "wetlands": [SQUARE]},
    "17": {"parcels": [box(50, 25, 200, 75)], "wetlands": [SQUARE, box(150, 0, 250, 100)]},
    "18": {"parcels": [box(100, 100, 200, 200)], "wetlands": [SQUARE]},
    "22": {"parcels": [box(150, 0, 350, 200)], "wetlands": [SQUARE]},
    "11": {"parcels": [WIDE], "wetlands": [box(0, 0, 200, 100)]},
    "13": {"parcels": [WIDE], "wetlands": [box(0, 0, 400, 400, (125, 125, 275, 275))]},
    "14": {"parcels": [WIDE], "wetlands": [box(0, 0, 600, 600, (150, 150, 450, 450))]},
    "15": {"parcels": [WIDE], "wetlands": [SQUARE, box(150, 0, 250, 100)]},
    "21": {
        "parcels": [WIDE],
        "watercourses": [(shapely.LineString([(0, 0), (500, 0)]), {"half_width_ft": 10.0})],
    },
    # a pond in a marsh: the marsh comes first, the pond keeps what sticks out
    "both": {"parcels": [WIDE], "wetlands": [SQUARE], "watercourses": [box(50, 0, 150, 100)]},
    "line": {"parcels": [WIDE], "watercourses": [shapely.LineString([(0, 0), (500, 0)])]},
    "dry": {"parcels": [WIDE]},
    "twice": {"parcels": [WIDE], "wetlands": [SQUARE, SQUARE, box(0, 0, 50, 100)]},
}
EXACT = {
    "16": {"wetland": 2_500, "buffer": 5_000, "outside": 2_500},
    "17": {"wetland": 5_000, "buffer": 2_500, "outside": 0},
    "18": {"wetland": 0, "buffer": CIRCLE / 4, "outside": 10_000 - CIRCLE / 4},
    "11": {"wetland": 20_000, "buffer": 600 * 100 + CIRCLE},
    "13": {"wetland": 137_500, "buffer": 1_600 * 100 + CIRCLE + 22_500},
    "14": {"wetland": 270_000, "buffer": 2_400 * 100 + CIRCLE + 80_000},
    "21": {"wetland": 0, "watercourse": 10_000, "buffer": 1_040 * 100 + CIRCLE},
    "both": {"wetland": 10_000, "watercourse": 5_000, "buffer": 500 * 100 + CIRCLE},
    "line": {"wetland": 0, "watercourse": 0, "buffer": 500 * 200 + CIRCLE},
    "dry": {"wetland": 0, "watercourse": 0, "buffer": 0, "outside": WIDE.area},
    "twice": {"wetland": 10_000, "buffer": 40_000 + CIRCLE},
}


@cache
def screened(origin: Place) -> wetgis.Screening:
    return wetgis.screen(site(**laid_out(BLOCKS, origin)))


def places(row: Any) -> dict[str, float]:
    return {place: float(row[f"{place}_sqft"]) for place in PLACES}


@pytest.mark.parametrize("block", EXACT)
def test_areas_by_place(origin: Place, block: str) -> None:
    row = rows(screened(origin).measures).loc[f"{block}.0"]
    for place, exact in EXACT[block].items():
        assert row[f"{place}_sqft"] == pytest.approx(exact, abs=arc_deficit(100.0) + 0.01), place
    assert row["area_sqft"] == pytest.approx(sum(places(row).values()), abs=1e-6)


def test_15_two_buffers_share_ground(origin: Place) -> None:
    half = 25.0
    shared = 150 * 100 + 2 * (100**2 * acos(half / 100) - half * sqrt(100**2 - half**2))
    exact = 2 * (50_000 + CIRCLE) - shared - 20_000
    assert exact == pytest.approx(106_310.76, abs=0.01)
    row = rows(screened(origin).measures).loc["15.0"]
    assert row["buffer_sqft"] == pytest.approx(exact, abs=2 * arc_deficit(100.0))
    assert row["buffer_sqft"] <= exact + 0.01


def test_22_regulated_ground_of_a_parcel(origin: Place) -> None:
    """The layers are there, but no pack is in force that regulates a buffer."""
    row = rows(screened(origin).measures).loc["22.0"]
    assert row["buffer_sqft"] == pytest.approx(8_070.92, abs=1.1)
    assert row["buffer_sqft"] <= 8_070.93
    assert np.isnan(row["regulated_sqft"])
    layers = laid_out({"22": BLOCKS["22"]}, origin)
    for pack, regulated in (("rye-ny-195", True), ("monroe-ny-46", False)):
        found = wetgis.screen(site(packs=[pack], watercourses=frame([], origin), **layers))
        value = found.measures["regulated_sqft"].iloc[0]
        assert np.isnan(value) != regulated
        if regulated:
            assert value == row["buffer_sqft"]


def test_parts_are_the_partition_drawn(origin: Place) -> None:
    found = screened(origin)
    parts = found.parts
    assert set(parts["place"]) <= set(PLACES)
    assert not parts.duplicated(["subject_kind", "subject_id", "record", "place"]).any()
    assert bool(parts.is_valid.all())
    assert parts.geometry.area.to_numpy() == pytest.approx(parts["area_sqft"], abs=1e-4)
    wide = parts.pivot_table(index="subject_id", columns="place", values="area_sqft", aggfunc="sum")
    measures = rows(found.measures)
    for place in PLACES:
        drawn = wide.reindex(index=measures.index, columns=list(PLACES))[place].fillna(0)
        assert drawn.to_numpy() == pytest.approx(
            measures[f"{place}_sqft"].fillna(0).to_numpy(), abs=1e-6
        ), place
    for subject, own in parts.groupby("subject_id"):
        whole = measures.loc[subject, "geometry"]
        assert own.union_all().symmetric_difference(whole).area < 1e-4


def test_the_buffer_leaves_features_out(origin: Place) -> None:
    found = screened(origin)
    layers = laid_out(BLOCKS, origin)
    stream = layers["watercourses"][layers["watercourses"].geom_type == "Polygon"]
    features = shapely.union_all([*layers["wetlands"].geometry, *stream.geometry])
    buffer = found.layers["buffer"].union_all()
    assert buffer.intersection(features).area == pytest.approx(0, abs=1e-6)


# ---------------------------------------------------------------- limits and extents


def test_the_buffer_is_cut_at_the_limit_never_the_feature(origin: Place) -> None:
    """A wetland beyond the limit has a buffer inside it."""
    town = frame([box(100, -1_000, 1_000, 1_000)], origin)
    lot = frame([box(0, 0, 300, 100)], origin)
    row = wetgis.screen(
        site(parcels=lot, wetlands=frame([SQUARE], origin), watercourses=frame([], origin),
             municipality=town)
    ).measures.iloc[0]  # fmt: skip
    assert places(row) == pytest.approx(
        {"beyond_limit": 10_000, "wetland": 0, "watercourse": 0, "buffer": 10_000,
         "outside": 10_000, "unmapped": 0}, abs=1e-6,
    )  # fmt: skip
    assert row["wetland_ft"] == 0


def test_ground_beyond_the_map_is_unmapped_not_outside(origin: Place) -> None:
    mapped = frame([box(-1_000, -1_000, 150, 1_000)], origin)
    lot = frame([box(0, 0, 500, 100)], origin)
    wet = wetgis.Layer(frame([SQUARE], origin), extent="municipality")
    found = wetgis.screen(
        site(parcels=lot, wetlands=wet, watercourses=frame([], origin), municipality=mapped)
    )
    row = found.measures.iloc[0]
    assert row["beyond_limit_sqft"] == pytest.approx(35_000, abs=1e-6)
    assert row["buffer_sqft"] == pytest.approx(5_000, abs=1e-6)
    assert row["unmapped_sqft"] == 0


def test_a_feature_beyond_its_extent_still_counts(origin: Place, tmp_path: Any) -> None:
    path = tmp_path / "extent.gpkg"
    frame([box(-1_000, -1_000, 250, 1_000)], origin).to_file(path)
    lot = frame([box(0, 0, 500, 100)], origin)
    wet = wetgis.Layer(frame([SQUARE, box(300, 0, 320, 100)], origin), extent=str(path))
    row = wetgis.screen(
        site(parcels=lot, wetlands=wet, watercourses=frame([], origin))
    ).measures.iloc[0]
    exact = {"wetland": 12_000, "buffer": 30_000, "outside": 0, "unmapped": 8_000}
    assert {k: v for k, v in places(row).items() if k in exact} == pytest.approx(exact, abs=1e-6)
    assert "wetlands" in row["unknown_layers"].split(";")


def test_without_any_extent_nothing_is_unmapped(origin: Place) -> None:
    assert (screened(origin).measures["unmapped_sqft"] == 0).all()
    assert (screened(origin).measures["beyond_limit_sqft"] == 0).all()


def test_unmapped_within_reach_makes_the_status_unknown(origin: Place, tmp_path: Any) -> None:
    path = tmp_path / "extent.gpkg"
    frame([box(-1_000, -1_000, 150, 1_000)], origin).to_file(path)
    lots = frame([box(0, 0, 60, 60), box(0, 0, 40, 40)], origin)
    wet = wetgis.Layer(frame([], origin), extent=str(path))
    found = wetgis.screen(site(parcels=lots, wetlands=wet, watercourses=frame([], origin)))
    assert found.measures["status"].tolist() == ["unknown", "none_found"]


# ---------------------------------------------------------------- layers that are not given


def test_a_layer_not_given_leaves_its_own_column_unknown(origin: Place) -> None:
    lot, wet = frame([box(50, 0, 250, 100)], origin), frame([SQUARE], origin)
    dry = wetgis.screen(site(parcels=lot)).measures.iloc[0]
    assert dry[["wetland_sqft", "watercourse_sqft", "buffer_sqft", "regulated_sqft"]].isna().all()
    assert dry["outside_sqft"] == 20_000
    one = wetgis.screen(site(parcels=lot, wetlands=wet)).measures.iloc[0]
    assert np.isnan(one["watercourse_sqft"])
    assert np.isnan(one["watercourse_ft"])
    assert [one["wetland_sqft"], one["buffer_sqft"], one["outside_sqft"]] == pytest.approx(
        [5_000, 10_000, 5_000], abs=1e-6
    )
    assert one["unknown_layers"].split(";")[:1] == ["watercourses"]
    other = wetgis.screen(site(parcels=lot, watercourses=wet)).measures.iloc[0]
    assert np.isnan(other["wetland_sqft"])
    assert other["watercourse_sqft"] == pytest.approx(5_000, abs=1e-6)


def test_no_distance_no_buffer(origin: Place) -> None:
    lot, wet = frame([box(50, 0, 250, 100)], origin), frame([SQUARE], origin)
    found = wetgis.screen(site(parcels=lot, wetlands=wet, measure={}))
    row = found.measures.iloc[0]
    assert np.isnan(row["buffer_sqft"])
    assert row["wetland_sqft"] == pytest.approx(5_000, abs=1e-6)
    assert row["area_sqft"] == pytest.approx(row["wetland_sqft"] + row["outside_sqft"])
    assert "no_parameter" in set(found.issues["code"])
    assert found.issues.set_index("code").loc["no_parameter", "message"] is not None


# ---------------------------------------------------------------- slivers, touches, lines, points


def test_a_line_drawn_twice_is_no_encroachment(origin: Place) -> None:
    lots = frame([box(99.98, 0, 200, 100), box(99.9, 0, 200, 100), box(100, 0, 200, 100)], origin)
    found = wetgis.screen(
        site(parcels=lots, wetlands=frame([SQUARE], origin), watercourses=frame([], origin))
    )
    table = found.measures
    assert table["wetland_sqft"].tolist() == pytest.approx([2, 10, 0], abs=1e-6)
    assert table["status"].tolist() == ["in_buffer", "on_feature", "in_buffer"]
    assert table["wetland_ft"].tolist() == [0, 0, 0]
    bare = wetgis.screen(
        site(parcels=lots, wetlands=frame([SQUARE], origin), watercourses=frame([], origin),
             measure={})
    )  # fmt: skip
    assert bare.measures["status"].tolist() == ["touching", "on_feature", "touching"]


def test_a_sliver_beside_a_wide_piece_is_an_encroachment(origin: Place) -> None:
    ell = box(99.98, 0, 200, 100).union(box(90, 100, 200, 110))
    marsh = box(0, 0, 100, 110)
    found = wetgis.screen(
        site(parcels=frame([ell], origin), wetlands=frame([marsh], origin),
             watercourses=frame([], origin))
    )  # fmt: skip
    assert found.measures["status"].tolist() == ["on_feature"]


def test_lines_by_length_and_points_by_place(origin: Place) -> None:
    pipe = shapely.LineString([(-150, 50), (350, 50)])
    well, far = shapely.Point(150, 50), shapely.Point(900, 900)
    work = frame([pipe, well, far, shapely.Point(50, 50)], origin, id=["pipe", "well", "far", "in"])
    found = wetgis.screen(
        site(footprints=work, wetlands=frame([SQUARE], origin), watercourses=frame([], origin))
    )
    table = rows(found.measures, "footprint")
    lengths = table.loc["pipe", [f"{p}_length_ft" for p in ("wetland", "buffer", "outside")]]
    assert lengths.tolist() == pytest.approx([100, 200, 200], abs=1e-6)
    assert table.loc["pipe", "length_ft"] == pytest.approx(500, abs=1e-6)
    assert table.loc["pipe", "area_sqft"] == 0
    assert table["status"].tolist() == ["on_feature", "in_buffer", "none_found", "on_feature"]
    assert table.loc[["well", "far", "in"], "length_ft"].isna().all()
    parts = found.parts[(found.parts["subject_id"] == "pipe")
                        & (found.parts["subject_kind"] == "footprint")]  # fmt: skip
    assert parts.set_index("place")["length_ft"].to_dict() == pytest.approx(
        {"wetland": 100, "buffer": 200, "outside": 200}, abs=1e-6
    )


def test_a_line_along_the_edge_of_a_marsh_is_in_one_place() -> None:
    """Ground on the line between two places belongs to the first of them."""
    work = frame([shapely.LineString([(0, 100), (100, 100)]), shapely.Point(50, 100)])
    found = wetgis.screen(site(footprints=work, wetlands=frame([SQUARE]), watercourses=frame([])))
    parts = found.parts[found.parts["subject_kind"] == "footprint"]
    assert parts[["subject_id", "place"]].to_numpy().tolist() == [
        ["a", "wetland"],
        ["b", "wetland"],
    ]
    assert parts["length_ft"].tolist() == [100, 0]


def test_a_subject_without_geometry_keeps_its_row(origin: Place) -> None:
    lots = frame([box(50, 0, 250, 100), box(0, 0, 1, 1)], origin)
    lots.loc[1, "geometry"] = None
    found = wetgis.screen(
        site(parcels=lots, wetlands=frame([SQUARE], origin), watercourses=frame([], origin))
    )
    row = found.measures.iloc[1]
    assert (row["subject_id"], row["status"]) == ("b", "unknown")
    numbers = [c for c in found.measures.columns if c.endswith(("_sqft", "_ft", "_pct"))]
    assert row[numbers].isna().all()
    assert set(found.issues.set_index("record_id").loc[["b"], "severity"]) == {"error"}


def test_an_island_and_its_pond(origin: Place) -> None:
    """A pond in the hole of a marsh: the hole is divided between pond and buffer."""
    marsh = box(0, 0, 300, 300, (100, 100, 200, 200))
    pond = box(120, 120, 180, 180)
    lot = frame([box(100, 100, 200, 200)], origin)
    row = wetgis.screen(
        site(parcels=lot, wetlands=frame([marsh], origin), watercourses=frame([pond], origin))
    ).measures.iloc[0]
    assert places(row) == pytest.approx(
        {"wetland": 0, "watercourse": 3_600, "buffer": 6_400, "outside": 0, "unmapped": 0,
         "beyond_limit": 0}, abs=1e-6,
    )  # fmt: skip


def test_the_buffer_agrees_with_the_public_function(origin: Place) -> None:
    layers = laid_out(BLOCKS, origin)
    both = pd.concat([layers["wetlands"], layers["watercourses"]], ignore_index=True)
    zone = wetgis.buffer_zone(gpd.GeoDataFrame(both, crs="EPSG:2260"), 100.0)
    found = wetgis.overlap_area(layers["parcels"], zone)
    measured = rows(screened(origin).measures).loc[layers["parcels"]["id"], "buffer_sqft"]
    assert found.to_numpy() == pytest.approx(measured.to_numpy(), abs=1e-3)
