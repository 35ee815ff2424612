"""The two sample towns: what they hold, what is deliberately wrong, and that they are remade."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import warnings
from pathlib import Path

import geopandas as gpd
import numpy as np
import pandas as pd
import pyogrio
import pytest
import rasterio
import shapely

SAMPLES = Path(__file__).resolve().parents[1] / "data" / "samples"
TOWNS = ("shoreville", "highmoor")
HOME = "EPSG:2260"


def read(
    town: str, name: str, layer: str | None = None, folder: Path = SAMPLES
) -> gpd.GeoDataFrame:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # measured and several-layer warnings are wetgis's to give
        return gpd.read_file(folder / town / name, **({"layer": layer} if layer else {}))


def spatial_layers(town: str, folder: Path = SAMPLES) -> list[tuple[str, str]]:
    """(file, layer) of every vector layer of a town."""
    out = []
    for path in sorted((folder / town).iterdir()):
        if path.suffix in (".gpkg", ".shp", ".fgb", ".geojson"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                out += [(path.name, name) for name, kind in pyogrio.list_layers(path) if kind]
    return out


def faults(town: str) -> dict[str, list[str]]:
    return json.loads((SAMPLES / town / "faults.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def lots() -> gpd.GeoDataFrame:
    return read("shoreville", "parcels.gpkg", "parcels")


@pytest.fixture(scope="module")
def hill_lots() -> gpd.GeoDataFrame:
    return read("highmoor", "tax_parcels.shp").to_crs(HOME)


def of(frame: gpd.GeoDataFrame, key: str) -> shapely.Geometry:
    return frame.loc[key == frame.PRINT_KEY, "geometry"].iloc[0]


def test_small_enough_to_ship() -> None:
    files = [p for p in SAMPLES.rglob("*") if p.is_file() and "__pycache__" not in p.parts]
    assert sum(p.stat().st_size for p in files) < 3_000_000
    assert not [
        p for p in files if p.suffix in (".aux", ".xml") or p.name.endswith(("-wal", "-shm"))
    ]


@pytest.mark.parametrize("town", TOWNS)
def test_every_file_of_the_site_is_there_and_every_file_is_used(town: str) -> None:
    text = (SAMPLES / town / "site.toml").read_text(encoding="utf-8")
    named = re.findall(r'^(?:path|components|extent) = "([^"]+\.\w+)"', text, re.MULTILINE)
    there = set()
    for pattern in named:
        found = {p.name for p in (SAMPLES / town).glob(pattern)}
        assert found, pattern
        there |= found
    unused = {p.name for p in (SAMPLES / town).iterdir() if p.suffix in
              (".gpkg", ".shp", ".fgb", ".geojson", ".csv", ".tif")} - there  # fmt: skip
    assert unused <= {"flags.csv", "proposed_wetlands.gpkg", "proposed_wetlands.geojson"}


@pytest.mark.parametrize("town", TOWNS)
def test_formats_and_coordinate_systems_are_mixed(town: str) -> None:
    layers = spatial_layers(town)
    assert {Path(f).suffix for f, _ in layers} == {".gpkg", ".shp", ".fgb", ".geojson"}
    codes = {read(town, f, n).crs.to_epsg() for f, n in layers}
    assert {2260, 4269, 4326} <= codes
    if town == "highmoor":
        assert {26918, 5070} <= codes


@pytest.mark.parametrize(
    ("town", "low", "high"), [("shoreville", 500, 700), ("highmoor", 300, 500)]
)
def test_counts(town: str, low: int, high: int) -> None:
    name = "parcels.gpkg" if town == "shoreville" else "tax_parcels.shp"
    assert low <= len(read(town, name, "parcels" if town == "shoreville" else None)) <= high


@pytest.mark.parametrize("town", TOWNS)
def test_shapes_are_not_rectangles(town: str) -> None:
    wetlands = read(
        town, "wetlands.gpkg", pyogrio.list_layers(SAMPLES / town / "wetlands.gpkg")[0, 0]
    )
    corners = shapely.get_num_coordinates(wetlands.geometry.values)
    assert np.median(corners) > 25
    boxes = shapely.area(shapely.minimum_rotated_rectangle(wetlands.geometry.buffer(0).values))
    assert np.median(wetlands.geometry.buffer(0).area / boxes) < 0.8
    assert shapely.get_num_interior_rings(shapely.get_parts(wetlands.geometry.values)).sum() >= 1


def test_the_towns_lie_where_the_laws_apply() -> None:
    for town, at in (("shoreville", (717_000, 783_000)), ("highmoor", (578_000, 909_000))):
        box = read(town, "municipality.geojson").to_crs(HOME).total_bounds
        assert abs((box[0] + box[2]) / 2 - at[0]) < 900
        assert abs((box[1] + box[3]) / 2 - at[1]) < 900


# --- parcels


@pytest.mark.parametrize("town", TOWNS)
def test_ids_have_leading_zeros(
    town: str, lots: gpd.GeoDataFrame, hill_lots: gpd.GeoDataFrame
) -> None:
    frame = lots if town == "shoreville" else hill_lots
    assert frame.SWIS.str.startswith("00").all()
    assert frame.PRINT_KEY.str.match(r"0\d\d\.-\d-\d\d+").all()


@pytest.mark.parametrize("town", TOWNS)
def test_faults_of_the_tax_map(
    town: str, lots: gpd.GeoDataFrame, hill_lots: gpd.GeoDataFrame
) -> None:
    frame, known = (lots, faults(town)) if town == "shoreville" else (hill_lots, faults(town))
    overlap = of(frame, known["overlap"][0]).intersection(of(frame, known["overlap"][1]))
    assert 0.1 < 2 * overlap.area / overlap.length < 0.5
    a, b = (of(frame, k) for k in known["gap"])
    assert 0.15 < a.distance(b) < 0.25
    twice = frame[known["twice"][0] == frame.PRINT_KEY].geometry
    assert len(twice) == 2
    assert not twice.iloc[0].equals(twice.iloc[1])
    assert frame.loc[known["null"][0] == frame.PRINT_KEY, "geometry"].isna().all()
    stale = frame[known["stale"][0] == frame.PRINT_KEY].iloc[0]
    assert stale.ACRES / (stale.geometry.area / 43_560) > 1.4


@pytest.mark.parametrize("town", TOWNS)
def test_lots_in_two_parts_and_flag_lots(
    town: str, lots: gpd.GeoDataFrame, hill_lots: gpd.GeoDataFrame
) -> None:
    frame = lots if town == "shoreville" else hill_lots
    shapes = frame.geometry.dropna()
    assert (shapely.get_num_geometries(shapes.values) == 2).sum() >= 3
    # a flag lot: a pole of 20 ft that opening by 12 ft takes away
    pole = shapes.area - shapes.buffer(-12).buffer(12.5).intersection(shapes).area
    assert ((pole > 750) & (shapely.get_num_geometries(shapes.values) == 1)).sum() >= 5


def test_condominiums_are_stacked(lots: gpd.GeoDataFrame) -> None:
    units = lots[lots.LOC_UNIT.notna() & (lots.LOC_UNIT != "")]
    stacks = units.groupby(shapely.to_wkb(units.geometry.values), sort=False).PRINT_KEY
    assert sorted(stacks.size()) == [5, 8]
    assert sorted(stacks.nunique()) == [1, 8]


# --- waters and wetlands


@pytest.mark.parametrize("town", TOWNS)
def test_one_wetland_just_under_and_one_just_over_4000(town: str) -> None:
    name, key = ("city_wetlands_2025", "WET_ID") if town == "shoreville" else ("wetlands", "id")
    frame = read(town, "wetlands.gpkg", name).set_index(key)
    known = faults(town)
    assert 3_980 < frame.geometry[known["under"][0]].area < 4_000
    assert 4_000 < frame.geometry[known["over"][0]].area < 4_020


@pytest.mark.parametrize("town", TOWNS)
def test_bowtie_and_nothing_else_is_invalid(town: str) -> None:
    key = "WET_ID" if town == "shoreville" else "id"
    for name, layer in spatial_layers(town):
        frame = read(town, name, layer)
        invalid = frame[~frame.geometry.isna() & ~frame.is_valid]
        expected = faults(town)["bowtie"] if name == "wetlands.gpkg" and key in frame else []
        assert list(invalid[key] if len(invalid) else []) == expected, name


@pytest.mark.parametrize("town", TOWNS)
def test_fragments_split_by_cover_touch(town: str) -> None:
    name, key, code = (
        ("city_wetlands_2025", "WET_ID", "COWARDIN")
        if town == "shoreville"
        else ("wetlands", "id", "cowardin")
    )
    frame = read(town, "wetlands.gpkg", name)
    frame = frame[frame.is_valid]
    if town == "shoreville":
        frame = frame[frame.EFF_TO.isna()]
    split = frame.groupby(key)[code].nunique()
    assert (split > 1).sum() >= 3
    whole = frame[frame[key] == split.idxmax()].geometry
    assert whole.distance(whole.iloc[0]).min() == 0
    apart = whole.union_all().area
    assert whole.area.sum() == pytest.approx(apart, rel=2e-3)


def test_a_small_wetland_reaches_4000_only_with_its_neighbour() -> None:
    frame = read("highmoor", "wetlands.gpkg", "wetlands").set_index("id")
    left, right = (frame.geometry[k] for k in faults("highmoor")["touching"])
    assert max(left.area, right.area) < 4_000 < left.area + right.area
    assert left.distance(right) < 0.05


def test_a_replaced_outline_is_still_in_the_file() -> None:
    frame = read("shoreville", "wetlands.gpkg", "city_wetlands_2025")
    ended = frame[frame.EFF_TO.notna()]
    assert len(ended) == 1
    assert ended.EFF_TO.iloc[0] < frame[ended.WET_ID.iloc[0] == frame.WET_ID].EFF_FROM.max()


def test_streams_carry_heights_and_measures_that_run_downhill() -> None:
    with pytest.warns(UserWarning, match="Measured"):
        frame = gpd.read_file(SAMPLES / "shoreville" / "streams.shp")
    assert frame.geometry.has_z.all()
    fall = [g.coords[0][2] - g.coords[-1][2] for g in frame[frame.PIPED == "N"].geometry]
    assert min(fall) > 0
    assert frame.HALF_W.isna().any()
    assert (frame.PIPED == "Y").sum() == 1


@pytest.mark.parametrize("town", TOWNS)
def test_waters_as_lines_and_as_areas(town: str) -> None:
    lines = read(town, "streams.shp" if town == "shoreville" else "streams.fgb")
    areas = read(town, "waters.geojson" if town == "shoreville" else "ponds.geojson")
    assert set(lines.geom_type) == {"LineString"}
    assert set(areas.geom_type) == {"Polygon"}
    sinuosity = lines.to_crs(HOME).length / shapely.length(
        [
            shapely.LineString([g.coords[0][:2], g.coords[-1][:2]])
            for g in lines.to_crs(HOME).geometry
        ]
    )
    assert sinuosity.median() > 1.03


# --- soils, flood, terrain


@pytest.mark.parametrize(
    ("town", "name"), [("shoreville", "soilmu_a_xx901.shp"), ("highmoor", "soils.fgb")]
)
def test_soils(town: str, name: str) -> None:
    units, table = (
        read(town, name),
        pd.read_csv(SAMPLES / town / "component.csv", dtype={"mukey": str}),
    )
    sums = table.groupby("mukey").comppct_r.sum()
    assert (sums == 100).all()
    assert {"Yes", "No", "Unranked"} <= set(table.hydricrating.dropna())
    assert table.compname.eq("Urban land").any()
    assert set(units.MUKEY) - set(table.mukey)  # water has no components: not rated
    if town == "highmoor":
        assert set(table.mukey) - set(units.MUKEY)
    inside = units.to_crs(HOME)
    assert inside.union_all().area == pytest.approx(inside.area.sum(), rel=1e-6)


@pytest.mark.parametrize(
    ("town", "name"), [("shoreville", "S_FLD_HAZ_AR.shp"), ("highmoor", "flood.gpkg")]
)
def test_flood_zones(town: str, name: str) -> None:
    zones = read(town, name).to_crs(HOME)
    assert {"AE", "X"} <= set(zones.FLD_ZONE)
    assert {"D", "AREA NOT INCLUDED"} & set(zones.FLD_ZONE)
    floodway = zones[zones.ZONE_SUBTY == "FLOODWAY"]
    assert len(floodway)
    assert (floodway.FLD_ZONE == "AE").all()
    assert zones.union_all().area == pytest.approx(zones.area.sum(), rel=1e-6)
    # a panel that was never printed: a hole in the layer, inside the town
    town_line = read(town, "municipality.geojson").to_crs(HOME).union_all()
    assert town_line.difference(zones.union_all()).area > 100_000


def test_terrain_units_voids_and_tiles() -> None:
    with rasterio.open(SAMPLES / "shoreville" / "dem.tif") as dem:
        assert dem.crs.to_epsg() == 2260
        assert dem.nodata == -9999
        assert (dem.read(1) == -9999).mean() > 0.1  # the sound
        assert dem.read(1, masked=True).max() < 120
    tiles = [rasterio.open(SAMPLES / "highmoor" / f) for f in ("dem_s.tif", "dem_n.tif")]
    assert {t.crs.to_epsg() for t in tiles} == {26918}
    assert tiles[0].res == tiles[1].res == (5.0, 5.0)
    north = tiles[1].read(1)
    assert tiles[1].nodata is None
    assert (north < -1000).sum() > 20
    heights = north[north > -1000]
    assert 90 < heights.min() < heights.max() < 400  # metres
    dy, dx = np.gradient(tiles[0].read(1).astype(float), 5)
    steep = 100 * np.hypot(dx, dy) > 30
    assert 0.03 < steep.mean() < 0.3
    for tile in tiles:
        tile.close()


# --- works and the rest


@pytest.mark.parametrize(
    ("town", "name"), [("shoreville", "footprints.geojson"), ("highmoor", "footprints.gpkg")]
)
def test_works(town: str, name: str) -> None:
    frame = read(town, name).to_crs(HOME)
    assert frame.id.is_unique
    assert len(frame) >= 30
    assert set(frame.existing_structure.dropna()) <= {0, 1}
    assert {"clearing", "grading", "excavation", "fill", "landscaping", "structure"} <= set(
        frame.kind
    )
    assert frame.phase.dropna().nunique() >= 2
    assert frame.project_id.notna().sum() >= 4
    assert frame.cost_usd.notna().any()
    assert set(frame.geom_type) >= {"Point", "Polygon"}
    if town == "shoreville":
        assert "LineString" in set(frame.geom_type)
        assert frame.activity.str.fullmatch(r"[CD]\d+(;[CD]\d+)*").sum() >= 8
        assert (~frame.activity.str.fullmatch(r"[CD]\d+(;[CD]\d+)*")).sum() >= 8
        assert {True, False} >= set(frame.proviso_p1.dropna())


def test_the_subdivision_is_larger_than_five_acres_and_crosses_a_brook() -> None:
    frame = read("highmoor", "footprints.gpkg")
    works = frame[frame.project_id == "HM-SUB"]
    assert works.geometry.union_all().area > 217_800
    assert works.area.sum() > works.geometry.union_all().area + 10_000  # houses lie in clearings
    road = works[works.label == "subdivision road"].geometry.iloc[0]
    assert read("highmoor", "streams.fgb").intersects(road).any()


def test_landscaping_on_both_sides_of_11000() -> None:
    frame = read("highmoor", "footprints.gpkg")
    areas = frame[(frame.activity == "landscaping") & (frame.existing_structure == 1)].area
    assert (areas < 11_000).any()
    assert (areas > 11_000).any()


def test_stockpiles_toes_and_strips() -> None:
    water = shapely.union_all(read("highmoor", "ponds.geojson").geometry.values)
    streams = read("highmoor", "streams.fgb")
    half = streams.half_width_ft.fillna(0).to_numpy()
    channels = shapely.buffer(streams.geometry.values, np.maximum(half, 1e-9), cap_style="flat")
    piles = read("highmoor", "stockpiles.geojson").geometry
    away = sorted(piles.distance(shapely.union_all([water, *channels])))
    assert away[0] < 190
    assert 195 < away[1] < 200 < away[2]
    toes, strips = read("highmoor", "toes.geojson"), read("highmoor", "strips.geojson")
    missing = toes.buffer(5).area - toes.buffer(5).intersection(strips, align=False).area
    assert sorted(missing > 1) == [False, True]


def test_flags_and_proposal() -> None:
    flags = pd.read_csv(SAMPLES / "highmoor" / "flags.csv", dtype=str)
    assert set(flags.series) == {"A", "B"}
    assert flags.number.str.endswith("END").sum() == 2
    assert "B-9" not in set(flags.name)
    proposed, adopted = (read("highmoor", f) for f in ("proposed_wetlands.gpkg", "wetlands.gpkg"))
    assert len(set(proposed.id) & set(adopted.id)) >= 3
    assert len(set(proposed.id) - set(adopted.id)) == 1


def test_a_proposal_for_the_city_map_moves_one_wetland_and_adds_one() -> None:
    proposed = read("shoreville", "proposed_wetlands.geojson")
    adopted = read("shoreville", "wetlands.gpkg", "city_wetlands_2025")
    adopted = adopted[adopted.EFF_TO.isna() & adopted.is_valid]
    assert len(set(proposed.WET_ID) - set(adopted.WET_ID)) == 1
    moved = proposed[proposed.WET_ID.isin(adopted.WET_ID)].iloc[0]
    before = adopted[adopted.WET_ID == moved.WET_ID].union_all()
    change = before.symmetric_difference(moved.geometry).area / before.area
    assert 0.01 < change < 0.5


@pytest.mark.parametrize("town", TOWNS)
def test_the_town_line_cuts_features_off(town: str) -> None:
    line = read(town, "municipality.geojson").to_crs(HOME).union_all()
    name, layer = ("parcels.gpkg", "parcels") if town == "shoreville" else ("tax_parcels.shp", None)
    shapes = read(town, name, layer).to_crs(HOME).geometry.dropna()
    assert (~shapes.intersects(line)).sum() >= 3
    assert (shapes.intersects(line) & ~shapes.within(line)).sum() >= 3


@pytest.mark.parametrize("town", TOWNS)
def test_nobody_real_is_named(town: str) -> None:
    name = "parcels.gpkg" if town == "shoreville" else "tax_parcels.shp"
    frame = read(town, name, "parcels" if town == "shoreville" else None)
    owner = frame["OWNER" if "OWNER" in frame else "PRIMARY_OW"]
    assert owner.str.match(r"Owner \d{4}").all()


@pytest.mark.slow
def test_made_again_the_towns_are_the_same(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, str(SAMPLES / "make_samples.py"), str(tmp_path)],
        check=True,
        capture_output=True,
    )
    for town in TOWNS:
        assert json.loads((tmp_path / town / "faults.json").read_text()) == faults(town)
        for name, layer in spatial_layers(town):
            old, new = read(town, name, layer), read(town, name, layer, tmp_path)
            assert len(old) == len(new), name
            pd.testing.assert_frame_equal(
                pd.DataFrame(old.drop(columns="geometry")),
                pd.DataFrame(new.drop(columns="geometry")),
            )
            # a hundredth of a foot: another processor may round the last digit the other way
            tolerance = 2e-7 if old.crs.is_geographic else 0.02
            both = shapely.equals_exact(old.geometry.values, new.geometry.values, tolerance)
            empty = old.geometry.isna() & new.geometry.isna()
            assert (both | empty.to_numpy()).all(), name
        for name in (
            ("dem.tif",)
            if town == "shoreville"
            else ("dem_n.tif", "dem_s.tif", "proposed_grades.tif")
        ):
            with (
                rasterio.open(SAMPLES / town / name) as a,
                rasterio.open(tmp_path / town / name) as b,
            ):
                assert np.allclose(a.read(1), b.read(1), atol=0.05)


# --- what wetgis says about them

SEEN = {
    "shoreville": {
        "null_geometry", "duplicate_id", "stale_area", "repaired", "not_in_force",
        "dropped_dimension", "centreline", "piped", "overlapping_records", "reprojected",
        "null_operation",
        "unmatched_key", "not_rated", "generated_id", "no_accuracy",
    },
    "highmoor": {
        "null_geometry", "duplicate_id", "stale_area", "repaired", "centreline", "piped",
        "overlapping_records", "reprojected", "null_operation", "unmatched_key", "not_rated",
        "generated_id", "no_accuracy",
    },
}  # fmt: skip


@pytest.mark.parametrize("town", TOWNS)
def test_the_site_reads_and_every_fault_is_noticed(town: str) -> None:
    import wetgis

    site = wetgis.read_site(SAMPLES / town / "site.toml")
    issues = [*site.issues, *(i for layer in site.layers.values() for i in layer.issues)]
    codes = {issue.code for issue in issues}
    assert SEEN[town] <= codes
    assert {i.code for i in issues if i.severity == "error"} == {"null_geometry"}
    assert "unknown_activity" not in codes
    ids = site.layers["parcels"].frame.id
    assert ids.str.startswith("0099").all()
    extents = {kind: layer.extent is not None for kind, layer in site.layers.items()}
    assert extents["wetlands"]
    assert extents["watercourses"]
