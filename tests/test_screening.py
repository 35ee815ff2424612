"""Screening as a whole: the same tables whatever the tiles, workers, rows and ids asked for."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely
from tests.engine_makers import RYE, box, frame, site

import wetgis
from wetgis import tiles
from wetgis.errors import InputError
from wetgis.schema import FINDING_COLUMNS, MEASURE_COLUMNS, PART_COLUMNS, STATUSES

PACKS = ["rye-ny-195", "monroe-ny-46"]
SPREAD = 6_000


def blob(rng: np.random.Generator, x: float, y: float, reach: float) -> shapely.Polygon:
    turn = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    r = reach * (1 + 0.3 * np.sin(3 * turn + rng.uniform(0, 6)) * rng.uniform(0, 1))
    return shapely.Polygon(np.column_stack([x + r * np.cos(turn), y + r * np.sin(turn)]))


@cache
def county() -> dict[str, gpd.GeoDataFrame]:
    """Some square miles of lots, marshes, brooks, soils, floodplain and work."""
    rng = np.random.default_rng(12)
    corner = rng.uniform(0, SPREAD, (80, 2))
    size = rng.uniform(40, 260, (80, 2))
    lots = [box(x, y, x + w, y + h) for (x, y), (w, h) in zip(corner, size, strict=True)]
    lots.append(blob(rng, 3_000, 3_000, 1_900))  # over many cells
    marshes = [blob(rng, *rng.uniform(0, SPREAD, 2), rng.uniform(60, 500)) for _ in range(25)]
    marshes[3] = marshes[3].difference(shapely.affinity.scale(marshes[3], 0.6, 0.6))
    x = np.arange(0, SPREAD, 40.0)
    brook = shapely.LineString(np.column_stack([x, 2_000 + 400 * np.sin(x / 800)]))
    # half-foot wavering, which GEOS buffers wrongly, over the border of two cells
    wavering = shapely.LineString([(4_300 + 0.5 * i, 1_400 + 0.5 * (i % 2)) for i in range(701)])
    soils = [box(i * 1_700, j * 2_300, (i + 1) * 1_700, (j + 1) * 2_300)
             for i in range(6) for j in range(4)]  # fmt: skip
    work = [shapely.affinity.scale(lot, 0.4, 0.4) for lot in lots[:15]]
    n = len(soils)
    return {
        "parcels": frame(lots, id=[f"p{i:03d}" for i in range(len(lots))]),
        "wetlands": frame(marshes, id=[f"w{i:02d}" for i in range(25)], regulator="DEC",
                          accuracy_ft=5.0),
        "watercourses": frame([brook, wavering], id=["brook", "drain"], half_width_ft=[6.0, NAN]),
        "soils": frame(soils, id=[f"s{i}" for i in range(n)],
                       hydric_pct_low=rng.choice([0.0, 5.0, 90.0, NAN], n)),
        "floodplain": frame([blob(rng, 3_000, 2_000, 900)], zone=["AE"]),
        "footprints": frame(work, id=[f"f{i:02d}" for i in range(15)], kind="grading",
                            activity="deck"),
    }  # fmt: skip


NAN = float("nan")


def county_site(**changes: Any) -> wetgis.Site:
    return site(packs=PACKS, as_of="2026-11-30", **{**county(), **changes})


@cache
def serial() -> wetgis.Screening:
    return wetgis.screen(county_site())


def plain(table: pd.DataFrame) -> pd.DataFrame:
    """A table in an order of its own, geometries as their bytes."""
    out = pd.DataFrame(table).copy()
    if "geometry" in out.columns:
        out["geometry"] = shapely.to_wkb(out["geometry"].to_numpy())
    keys = [c for c in ("subject_kind", "subject_id", "record", "pack", "rule", "feature_kind",
                        "feature_id", "place") if c in out.columns]  # fmt: skip
    return out.sort_values(keys, kind="stable").reset_index(drop=True)


def same(one: wetgis.Screening, two: wetgis.Screening) -> None:
    """The very same numbers and shapes, bit by bit."""
    for name in ("measures", "contacts", "parts", "findings", "checklist"):
        pd.testing.assert_frame_equal(
            plain(getattr(one, name)), plain(getattr(two, name)), check_exact=True, obj=name
        )


# ---------------------------------------------------------------- the same whatever


@pytest.mark.parametrize("cells", [1, 3, 100])
def test_tiles_do_not_show(cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = serial()
    monkeypatch.setattr(tiles, "TILE_CELLS", cells)
    same(wetgis.screen(county_site()), expected)


def test_processes_do_not_show() -> None:
    same(wetgis.screen(county_site(), jobs=2), serial())


def test_an_executor_does_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = serial()
    monkeypatch.setattr(tiles, "TILE_CELLS", 2)
    told: list[tuple[int, int, str]] = []
    with ThreadPoolExecutor(3) as pool:
        found = wetgis.screen(county_site(), executor=pool, progress=lambda *a: told.append(a))
    same(found, expected)
    assert told[-1][0] == told[-1][1] == len(expected.measures)
    assert [t[0] for t in told] == sorted(t[0] for t in told)


def test_the_order_of_rows_does_not_show() -> None:
    shuffled = {
        kind: table.sample(frac=1, random_state=k)
        for k, (kind, table) in enumerate(county().items())
    }
    found = wetgis.screen(county_site(**shuffled))
    same(found, serial())
    # the measures stand in the order of the input
    parcels = found.measures[found.measures["subject_kind"] == "parcel"]
    assert parcels["subject_id"].tolist() == shuffled["parcels"]["id"].tolist()


def test_the_order_of_layers_and_of_sources_does_not_show() -> None:
    layers = county()
    wet = layers["wetlands"]
    parts = [wetgis.Layer(wet.iloc[15:]), wetgis.Layer(wet.iloc[:15])]
    turned = {**dict(reversed(layers.items())), "wetlands": parts}
    found = wetgis.screen(site(packs=PACKS, as_of="2026-11-30", **turned))
    pd.testing.assert_frame_equal(plain(found.measures), plain(serial().measures), check_exact=True)


def test_the_index_does_not_show() -> None:
    turned = {}
    for kind, table in county().items():
        table = table.copy()
        table.index = [f"{kind} {i % 7}" for i in range(len(table))]
        turned[kind] = table
    same(wetgis.screen(county_site(**turned)), serial())


def test_duplicate_features_change_nothing() -> None:
    layers = county()
    twice = {
        kind: pd.concat([layers[kind], layers[kind].iloc[:7]])
        for kind in ("wetlands", "watercourses", "soils", "floodplain")
    }
    found = wetgis.screen(county_site(**twice))
    one, two = plain(found.measures), plain(serial().measures)
    numbers = [c for c in one.columns if c.endswith(("_sqft", "_ft", "_pct"))]
    assert np.allclose(one[numbers].astype(float), two[numbers].astype(float), rtol=0, atol=1e-6,
                       equal_nan=True)  # fmt: skip
    assert (one["status"] == two["status"]).all()
    pairs = [(t["subject_id"] + t["feature_id"]).tolist() for t in
             (plain(found.contacts), plain(serial().contacts))]  # fmt: skip
    assert pairs[0] == pairs[1]


def test_duplicate_parcels_are_subjects_of_their_own() -> None:
    lots = county()["parcels"]
    found = wetgis.screen(county_site(parcels=pd.concat([lots, lots.iloc[:5]])))
    parcels = found.measures[found.measures["subject_kind"] == "parcel"]
    assert len(parcels) == len(lots) + 5
    assert parcels["record"].value_counts().to_dict() == {1: len(lots), 2: 5}
    first = parcels[parcels["record"] == 1].set_index("subject_id")
    again = parcels[parcels["record"] == 2].set_index("subject_id")
    for name in ("wetland_sqft", "buffer_sqft", "wetland_ft", "status"):
        assert first.loc[again.index, name].tolist() == again[name].tolist()
    assert (found.issues["code"] == "duplicate_id").any()
    # each project is judged by its parcels, each piece of ground once
    keys = ["subject_id", "rule", "feature_id"]
    one, two = (
        table[table["subject_kind"] == "project"].set_index(keys)["value"].sort_index()
        for table in (found.findings, serial().findings)
    )
    pd.testing.assert_series_equal(one, two, check_exact=False, rtol=1e-9)


@pytest.mark.parametrize("ids", [["p003"], ["p080", "f07"], ["p001", "p002", "p003"]])
def test_a_few_have_the_very_numbers_of_all(ids: list[str]) -> None:
    whole = serial()
    for found in (wetgis.assess(county_site(), ids), wetgis.screen(county_site(), ids=ids)):
        wanted = whole.measures[whole.measures["subject_id"].isin(ids)]
        assert set(found.measures["subject_id"]) == set(ids)
        for name in ("measures", "contacts", "parts", "findings"):
            all_of_them = getattr(whole, name)
            chosen = all_of_them[all_of_them["subject_id"].isin(ids)]
            pd.testing.assert_frame_equal(
                plain(getattr(found, name)), plain(chosen), check_exact=True, obj=name
            )
        assert len(wanted) == len(found.measures)


def test_an_id_that_is_not_there_names_the_nearest() -> None:
    with pytest.raises(InputError, match=r"p0033.*p003"):
        wetgis.assess(county_site(), "p0033")
    with pytest.raises(InputError, match="f99"):
        wetgis.screen(county_site(), ids=["p001", "f99"])
    with pytest.raises(InputError, match="project 'p001'"):
        wetgis.assess(county_site(), project="p001")


def test_proposed_work_in_place_of_the_sites() -> None:
    work = frame([box(0, 0, 40, 30)], id=["trial"], activity="deck")
    found = wetgis.assess(county_site(), footprints=work)
    assert set(found.measures["subject_kind"]) == {"parcel", "footprint", "project"}
    footprint = found.measures[found.measures["subject_kind"] == "footprint"]
    assert footprint["subject_id"].tolist() == ["trial"]
    assert footprint["area_sqft"].tolist() == pytest.approx([1_200])


# ---------------------------------------------------------------- against brute force


def test_the_index_against_brute_force() -> None:
    """Every parcel against every feature, by GEOS, without any index, tile or kernel."""
    layers, found = county(), serial().measures
    parcels = found[found["subject_kind"] == "parcel"]
    own = parcels.geometry.to_numpy()
    water = layers["watercourses"].geometry.to_numpy().copy()
    water[0] = shapely.buffer(water[0], 6.0, cap_style="flat", join_style="round", quad_segs=32)
    wet, both = (shapely.union_all(g) for g in (
        layers["wetlands"].geometry, [*layers["wetlands"].geometry, *water]))  # fmt: skip
    exact = shapely.area(shapely.intersection(own, wet))
    assert parcels["wetland_sqft"].to_numpy() == pytest.approx(exact, abs=1e-6)
    exact = shapely.area(shapely.intersection(own, both)) - exact
    assert parcels["watercourse_sqft"].to_numpy() == pytest.approx(exact, abs=1e-6)
    distance = shapely.distance(own[:, None], layers["wetlands"].geometry.to_numpy()[None, :])
    assert parcels["wetland_ft"].to_numpy() == pytest.approx(distance.min(axis=1), abs=1e-9)
    distance = shapely.distance(own[:, None], water[None, :]).min(axis=1)
    assert parcels["watercourse_ft"].to_numpy() == pytest.approx(distance, abs=1e-9)
    flood = layers["floodplain"].geometry.iloc[0]
    exact = shapely.area(shapely.intersection(own, flood))
    assert parcels["floodplain_sqft"].to_numpy() == pytest.approx(exact, abs=1e-6)
    work = shapely.union_all(layers["footprints"].geometry)
    exact = shapely.area(shapely.intersection(own, work))
    assert parcels["disturbed_sqft"].to_numpy() == pytest.approx(exact, abs=1e-6)


def test_the_buffer_against_single_segments() -> None:
    """Every segment's own buffer, finely drawn and united by GEOS."""
    layers = county()
    brook, drain = layers["watercourses"].geometry
    channel = shapely.buffer(brook, 6.0, cap_style="flat", join_style="round", quad_segs=32)
    shapes = [*layers["wetlands"].geometry, channel, drain]
    segments = []
    for shape in shapes:
        for line in [shape] if shape.geom_type == "LineString" else shapely.get_rings(shape):
            xy = shapely.get_coordinates(line)
            segments.append(np.stack([xy[:-1], xy[1:]], axis=1))
    lines = shapely.linestrings(np.concatenate(segments))
    zone = shapely.union_all([*shapely.buffer(lines, 100, quad_segs=64),
                              *(s for s in shapes if s.geom_type != "LineString")])  # fmt: skip
    features = shapely.union_all([s for s in shapes if s.geom_type != "LineString"])
    ring = shapely.difference(zone, features)
    parcels = serial().measures
    parcels = parcels[parcels["subject_kind"] == "parcel"]
    exact = shapely.area(shapely.intersection(parcels.geometry.to_numpy(), ring))
    # both outlines are chords: each lies up to a hundredth of a foot inside the true line
    slack = 0.02 * shapely.length(parcels.geometry.to_numpy()) + 0.02 * exact / 50 + 1e-6
    assert (np.abs(parcels["buffer_sqft"].to_numpy() - exact) <= slack).all()


# ---------------------------------------------------------------- what a screening holds


def test_the_tables_keep_their_words() -> None:
    found = serial()
    assert tuple(found.measures.columns) == (*MEASURE_COLUMNS, "geometry")
    assert tuple(found.findings.columns) == FINDING_COLUMNS
    assert tuple(found.parts.columns) == (*PART_COLUMNS, "geometry")
    assert set(found.measures["status"]) <= set(STATUSES)
    assert found.measures["subject_kind"].drop_duplicates().tolist() == [
        "parcel", "footprint", "project",
    ]  # fmt: skip
    counts = found.findings[found.findings["outcome"] == "met"].groupby("subject_id").size()
    measures = found.measures.set_index("subject_id")
    assert measures.loc["p003", "n_met"] == counts["p003"]
    assert isinstance(found.measures, gpd.GeoDataFrame)
    assert found.measures.crs == found.parts.crs == found.contacts.crs


def test_the_partition_of_a_county_closes() -> None:
    table = serial().measures
    places = ["wetland", "watercourse", "buffer", "outside", "unmapped", "beyond_limit"]
    total = table[[f"{p}_sqft" for p in places]].sum(axis=1)
    assert total.to_numpy() == pytest.approx(table["area_sqft"].to_numpy(), abs=1e-4)


def test_the_audit_of_the_buffer_stands_in_the_record() -> None:
    audit = serial().provenance["audit"]
    assert max(audit["inside_ft"], audit["outside_ft"]) <= 0.01
    assert audit["points"] > 1_000
    rebuilt = serial().issues[serial().issues["code"] == "buffer_rebuilt"]
    # what lies beside it may be built again with it
    told = rebuilt.set_index("record_id")["layer"].to_dict()
    assert told["drain"] == "watercourses"
    assert len(told) < 5


def test_statuses_follow_from_the_numbers() -> None:
    table = serial().measures
    table = table[table["subject_kind"] == "parcel"]
    on = (table["wetland_sqft"] > 10) | (table["watercourse_sqft"] > 10)
    assert (table.loc[on, "status"] == "on_feature").all()
    near = np.fmin(table["wetland_ft"], table["watercourse_ft"])
    assert (table.loc[(near > 0) & (near < 100), "status"] == "in_buffer").all()
    assert not table.loc[near > 100.1, "status"].isin(["on_feature", "in_buffer"]).any()


def test_a_site_is_not_changed_and_may_be_screened_again() -> None:
    one = county_site()
    before = {k: v.frame.copy(deep=True) for k, v in one.layers.items()}
    same(wetgis.screen(one), serial())
    for kind, layer in one.layers.items():
        pd.testing.assert_frame_equal(pd.DataFrame(layer.frame), pd.DataFrame(before[kind]))


def test_parcels_alone_and_footprints_alone() -> None:
    alone = wetgis.screen(site(parcels=county()["parcels"].iloc[:3]))
    assert alone.measures["subject_kind"].tolist() == ["parcel"] * 3
    assert alone.measures["status"].tolist() == ["unknown"] * 3
    assert alone.measures["disturbed_sqft"].isna().all()
    work = wetgis.screen(site(footprints=county()["footprints"].iloc[:2]))
    kinds = work.measures["subject_kind"].value_counts().to_dict()
    assert kinds == {"footprint": 2, "project": 2}


def test_projects_by_id_by_parcel_and_alone() -> None:
    lots = frame([box(0, 0, 100, 100), box(100, 0, 200, 100), box(900, 0, 950, 50)])
    work = frame(
        [box(10, 10, 20, 20), box(80, 10, 120, 20), box(150, 50, 160, 60), box(500, 0, 510, 10),
         box(905, 5, 915, 15), box(920, 5, 930, 15)],
        id=["z", "m", "c", "alone", "x1", "x2"], project_id=[None, None, None, None, "X", "X"],
    )  # fmt: skip
    found = wetgis.screen(site(parcels=lots, footprints=work)).measures
    named = found[found["subject_kind"] == "footprint"].set_index("subject_id")["project_id"]
    assert named.to_dict() == {
        "z": "c", "m": "c", "c": "c", "alone": "alone", "x1": "X", "x2": "X",
    }  # fmt: skip
    projects = found[found["subject_kind"] == "project"].set_index("subject_id")
    assert sorted(projects.index) == ["X", "alone", "c"]
    assert projects.loc["c", "area_sqft"] == pytest.approx(100 + 400 + 100)
    assert projects.loc["c", "parcel_id"] == "a;b"
    assert projects.loc["alone", "parcel_id"] == ""


def test_no_subject_at_all() -> None:
    nothing = wetgis.screen(site(parcels=frame([]), wetlands=frame([box(0, 0, 9, 9)])))
    assert len(nothing.measures) == 0
    assert tuple(nothing.measures.columns) == (*MEASURE_COLUMNS, "geometry")
    assert len(nothing.contacts) == len(nothing.parts) == len(nothing.findings) == 0
    assert "empty_layer" in set(nothing.issues["code"])


def test_a_stray_footprint_is_told() -> None:
    lots = frame([box(0, 0, 100, 100), box(100, 0, 200, 100)], id=["10-1", "10-2"])
    work = frame([box(80, 0, 110, 50)], id=["f"], parcel_id=["10-1"])
    found = wetgis.screen(site(parcels=lots, footprints=work))
    told = found.issues[found.issues["code"] == "stray_footprint"].iloc[0]
    assert "10-1" in told["message"]
    assert "10-2" in told["message"]
    parcels = found.measures[found.measures["subject_kind"] == "parcel"]
    assert parcels["disturbed_sqft"].tolist() == pytest.approx([1_000, 500], abs=1e-6)


def test_features_far_away_are_an_error_and_beside_a_warning() -> None:
    lot = frame([box(0, 0, 100, 100)])
    far = frame([box(0, 0, 9, 9)], at=(RYE[0], RYE[1] + 140_000))
    with pytest.raises(wetgis.WetgisError, match="25 miles"):
        site(parcels=lot, wetlands=far)
    beside = frame([box(0, 0, 9, 9)], at=(RYE[0], RYE[1] + 20_000))
    found = wetgis.screen(site(parcels=lot, wetlands=beside, watercourses=frame([])))
    assert "no_overlap" in set(found.issues["code"])
    assert found.measures["wetland_sqft"].tolist() == [0]
    assert found.measures["wetland_ft"].tolist() == pytest.approx([19_900])
