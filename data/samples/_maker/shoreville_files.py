"""Shoreville's layers and files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import shapely

from . import files, layers, parcels, works
from . import lots as lt
from . import shoreville as town
from .fields import inside, noise
from .shapes import blob, scaled_to

SWIS = "009901"


def build(out: Path) -> dict[str, Any]:
    """Write the whole town; what is deliberately wrong in it is returned."""
    rng = np.random.default_rng(town.SEED)
    made = town.ground(rng)
    streets = town.streets(made, rng)
    domain = shapely.Polygon(DOMAIN)
    land = (
        shapely.Polygon(DOMAIN).buffer(350).difference(shapely.union_all([made.sound, made.creek]))
    )
    cut, rear, _ = lt.cut_lots(streets, land, rng, wide=(74, 118), deep=158)
    cut = [c for c in cut if domain.contains(c.shape.centroid)]
    rear = [p for r in rear for p in shapely.get_parts(r.intersection(domain)) if p.area > 25_000]
    out.mkdir(parents=True, exist_ok=True)
    rows, faults = tax_map(cut, rear, rng)
    places = works.Places(
        shapely.union_all([*made.marsh, *made.swamps]), shapely.union_all(_waters(made))
    )
    yards = _yards(rows, places, rng)
    files.write(files.frame(_plain(rows), town.ORIGIN), out / "parcels.gpkg")
    files.write_table(_sales(rows), out / "parcels.gpkg", "sales")
    faults |= wetlands(out, made, rows, rng)
    waters(out, made)
    soils(out, made, rng)
    flood(out, made, rng)
    around(out, made, streets, yards, domain)
    footprints(out, made, yards, places, rng)
    void = made.sound.buffer(-25)
    files.write_dem(
        out / "dem.tif",
        (made.grid, made.z),
        town.ORIGIN,
        cell=10,
        box=(-60, -60, town.SIZE[0] + 60, town.SIZE[1] + 60),
        void=void,
    )
    return faults


DOMAIN = [
    (60, 40),
    (1500, -40),
    (3560, 60),
    (3620, 1500),
    (3540, 3120),
    (1900, 3190),
    (90, 3150),
    (20, 1700),
]


def _waters(made: town.Ground) -> list[shapely.Geometry]:
    lines = [shapely.LineString(v).buffer(4, cap_style="flat") for v in made.streams.values()]
    return [made.sound, made.creek, *made.ponds.values(), *lines]


def tax_map(cut: list, rear: list, rng: np.random.Generator) -> tuple[list, dict]:
    """Lots as records, with condominiums and the usual faults."""
    lots = parcels.split_flags(parcels.with_rear(cut, rear), 8, rng, least=15_000)
    parcels.join_pairs(lots, 2, "condo", rng)
    parcels.join_across(lots, 3, rng)
    rows = parcels.numbered(lots, SWIS, 31, rng)
    rows = parcels.condominium(rows, 8, same_key=False)
    rows = parcels.condominium(rows, 5, same_key=True)
    faults = parcels.spoil(rows)
    faults["stacked"] = sorted({r["PRINT_KEY"] for r in rows if r["LOC_UNIT"]})
    return rows, faults


def _plain(rows: list) -> list:
    return [{k: v for k, v in r.items() if k != "lot"} for r in rows]


def _sales(rows: list) -> list:
    return [
        {"PRINT_KEY": r["PRINT_KEY"], "YEAR": 2015 + k % 11}
        for k, r in enumerate(rows)
        if k % 23 == 0
    ]


def _yards(rows: list, places: works.Places, rng: np.random.Generator) -> list[works.Yard]:
    """Lots with houses where the ground is dry enough for one."""
    wet = shapely.union(places.wet, places.water.buffer(9))
    shapely.prepare(wet)
    yards = []
    for row in rows:
        lot = row["lot"]
        if lot.use != "house" or row["geometry"] is None or lot.shape.geom_type != "Polygon":
            continue
        shape = lt.house(lot, rng, setback=24)
        if shape is not None and shape.intersection(wet).area > 0:
            shape = None
        yards.append(works.Yard(f"{row['SWIS']}-{row['PRINT_KEY']}", lot, shape))
    return yards


def wetlands(out: Path, made: town.Ground, rows: list, rng: np.random.Generator) -> dict:
    """The adopted city map, a surveyor's lines beside it, and a proposed amendment."""
    grid = made.grid
    tidal = layers.coded(made.marsh, ("E2EM1P", "E2EM1N"), grid, rng, least=20_000, wavelength=260)
    fresh = layers.coded(made.swamps, ("PEM1E", "PFO1E"), grid, rng, least=30_000)
    records = []
    for prefix, pieces, regulator in (("T", tidal, "DEC tidal"), ("F", fresh, "City")):
        for shape, code, whole in pieces:
            records.append(_wetland(f"{prefix}-{whole + 1:02d}", code, regulator, shape))
    small = [
        scaled_to(blob(rng, c, 36), a) for c, a in (((640, 820), 3_991.0), ((1330, 1010), 4_014.0))
    ]
    records += [_wetland(f"V-{k}", "PEM1C", "City", s) for k, s in enumerate(small, 1)]
    crossed = layers.slip(blob(rng, (2655, 1610), 42))
    records.append(_wetland("F-90", "PSS1E", "City", crossed))
    # a line that the council moved in 2025: the outline before it is still in the file
    k = int(np.argmin([abs(p.area - 90_000) for p in made.swamps]))
    old = layers.shifted(made.swamps[k], grid, rng, feet=22)
    for r in records:
        if r["WET_ID"] == f"F-{k + 1:02d}":
            r["EFF_FROM"] = "2025-07-01"
    records.append(_wetland(f"F-{k + 1:02d}", "PFO1E", "City", old) | {"EFF_TO": "2025-06-30"})
    files.write(files.frame(records, town.ORIGIN), out / "wetlands.gpkg", "city_wetlands_2025")
    files.write(
        files.frame(
            [{"NOTE": "sheet edge", "geometry": shapely.box(0, 0, 1800, 1600)}], town.ORIGIN
        ),
        out / "wetlands.gpkg",
        "index_sheets",
    )
    _surveyed(out, made, rng)
    return {"bowtie": ["F-90"], "under": ["V-1"], "over": ["V-2"]}


def _wetland(name: str, code: str, regulator: str, shape: shapely.Geometry) -> dict:
    return {
        "WET_ID": name,
        "COWARDIN": code,
        "REGULATOR": regulator,
        "EFF_FROM": "2008-03-01",
        "EFF_TO": None,
        "geometry": shape,
    }


def _surveyed(out: Path, made: town.Ground, rng: np.random.Generator) -> None:
    """Two delineations: one that redraws a mapped wetland, one that the map does not have."""
    order = sorted(made.swamps, key=lambda p: abs(p.area - 45_000))
    redrawn = layers.shifted(order[0], made.grid, rng, feet=9)
    new = blob(rng, (2980, 1500), 60, stretch=2.1)
    rows = [
        {
            "id": "S-1",
            "cowardin": "PFO1E",
            "surveyor": "licensed survey 2026-04",
            "geometry": redrawn.simplify(1.5),
        },
        {"id": "S-2", "cowardin": "PSS1C", "surveyor": "licensed survey 2026-05", "geometry": new},
    ]
    files.write_geojson(files.frame(rows, town.ORIGIN), out / "wetlands_survey.geojson")
    # what the naturalist proposes for the map: the line as surveyed, and the wetland it lacked
    mapped = next(k for k, shape in enumerate(made.swamps) if shape is order[0])
    amended = [
        {"WET_ID": f"F-{mapped + 1:02d}", "COWARDIN": "PFO1E", "geometry": rows[0]["geometry"]},
        {"WET_ID": "F-91", "COWARDIN": "PSS1C", "geometry": new},
    ]
    files.write_geojson(files.frame(amended, town.ORIGIN), out / "proposed_wetlands.geojson")


def waters(out: Path, made: town.Ground) -> None:
    """Centrelines with height and measure; ponds, creek and sound as areas."""
    facts = {
        "Heron Brook": ("perennial", 7.0),
        "North Branch": ("perennial", 3.5),
        "Town Ditch": ("intermittent", None),
    }
    rows, heights = [], []
    for name, course in made.streams.items():
        cuts = [
            (0, len(course) // 2),
            (len(course) // 2, len(course) - (90 if name == "Heron Brook" else 1)),
        ]
        for k, (a, b) in enumerate(cuts):
            points = shapely.get_coordinates(shapely.LineString(course[a : b + 1]).simplify(0.6))
            flow, half = facts[name]
            rows.append(
                {
                    "REACH": f"{name[0]}{k + 1}",
                    "GNIS_NAME": name,
                    "FLOW": flow,
                    "HALF_W": half,
                    "PIPED": "N",
                    "geometry": shapely.LineString(points),
                }
            )
            heights.append(made.grid.at(made.z, points))
    pipe = shapely.get_coordinates(
        shapely.LineString([(1500, 950), (1660, 1010), (1790, 1110), (1990, 1160)])
    )
    rows.append(
        {
            "REACH": "P1",
            "GNIS_NAME": "Orchard drain",
            "FLOW": "intermittent",
            "HALF_W": 1.5,
            "PIPED": "Y",
            "geometry": shapely.LineString(pipe),
        }
    )
    heights.append(made.grid.at(made.z, pipe))
    files.write_lines_zm(files.frame(rows, town.ORIGIN), heights, out / "streams.shp")
    frame = shapely.Polygon(DOMAIN).buffer(700)
    areas = [
        {"WATER_ID": f"W{k}", "NAME": n, "FTYPE": "LakePond", "geometry": p}
        for k, (n, p) in enumerate(made.ponds.items(), 1)
    ]
    areas.append(
        {
            "WATER_ID": "W8",
            "NAME": "Heron Creek (tidal)",
            "FTYPE": "StreamRiver",
            "geometry": _one(made.creek),
        }
    )
    areas.append(
        {
            "WATER_ID": "W9",
            "NAME": "The Sound",
            "FTYPE": "SeaOcean",
            "geometry": _one(made.sound.intersection(frame)).simplify(0.5),
        }
    )
    files.write_geojson(files.frame(areas, town.ORIGIN), out / "waters.geojson")


def _one(shape: shapely.Geometry) -> shapely.Geometry:
    return max(shapely.get_parts(shape), key=shapely.area)


def soils(out: Path, made: town.Ground, rng: np.random.Generator) -> None:
    """Soil map units that follow the ground, with their components."""
    grid = made.grid
    wobble = noise(grid, rng, 500)
    labels = np.where(wobble + 0.5 * noise(grid, rng, 1400) > 0.1, 2, 1)
    labels[made.z + 5 * wobble > 45] = 3
    labels[made.above / 3.2 + made.away / 150 + 0.8 * wobble < 1.1] = 4
    labels[made.above / 2.2 + made.away / 90 + wobble < 0.2] = 5
    labels[(made.z < 6.5) & (made.away < 500)] = 6
    labels[inside(grid, made.sound)] = 7
    labels = layers.despeckled(labels, 90)
    units = {
        1: ("UdB", "990101"),
        2: ("ChB", "990102"),
        3: ("CrC", "990103"),
        4: ("RdA", "990104"),
        5: ("Ce", "990105"),
        6: ("Ip", "990106"),
        7: ("W", "990107"),
    }
    rows = layers.soil_units(grid, labels, units, "XX901")
    files.write(files.frame(rows, town.ORIGIN, "EPSG:4326"), out / "soilmu_a_xx901.shp")
    files.write_csv(layers.components(COMPONENTS), out / "component.csv")


COMPONENTS = [
    ("990101", "Urban land", 70, ""),
    ("990101", "Udorthents", 20, "Unranked"),
    ("990101", "Leicester", 10, "Yes"),
    ("990102", "Charlton", 85, "No"),
    ("990102", "Sutton", 12, "No"),
    ("990102", "Leicester", 3, "Yes"),
    ("990103", "Chatfield", 55, "No"),
    ("990103", "Hollis", 30, "No"),
    ("990103", "Rock outcrop", 15, "Unranked"),
    ("990104", "Ridgebury", 70, "Yes"),
    ("990104", "Woodbridge", 20, "No"),
    ("990104", "Udorthents", 10, "Unranked"),
    ("990105", "Carlisle", 90, "Yes"),
    ("990105", "Palms", 10, "Yes"),
    ("990106", "Ipswich", 85, "Yes"),
    ("990106", "Pawcatuck", 15, "Yes"),
]


def flood(out: Path, made: town.Ground, rng: np.random.Generator) -> None:
    """Coastal and riverine zones, a floodway, and a panel that was never printed."""
    grid = made.grid
    x, y = grid.mesh()
    wobble = noise(grid, rng, 400)
    labels = np.ones(made.z.shape, int)
    labels[(made.above + 0.7 * wobble < 5.2) & (made.away < 330)] = 2
    labels[(made.above + 0.7 * wobble < 3.4) & (made.away < 300)] = 3
    labels[(made.away + 9 * wobble < 34) & (made.above < 4)] = 4
    surge = made.z + 0.6 * wobble
    coastal = inside(grid, made.sound.buffer(900)) & (y < 1700)
    labels[coastal & (surge < 13.5) & (labels < 3)] = 2
    labels[coastal & (surge < 11.5)] = 3
    labels[inside(grid, made.sound.buffer(38))] = 5
    labels[inside(grid, made.sound.buffer(-120))] = 6
    labels = layers.despeckled(labels, 40)
    labels[(x > 3050) & (y > 2500)] = 7
    labels[(x < 420) & (y > 2750)] = 0
    rows = layers.flood_zones(grid, labels, "36999C", {3: 12.0, 5: 15.0})
    files.write(files.frame(rows, town.ORIGIN, "EPSG:4269"), out / "S_FLD_HAZ_AR.shp")


def around(
    out: Path, made: town.Ground, streets: list, yards: list, domain: shapely.Polygon
) -> None:
    """City limit, buildings and pavements."""
    limit = shapely.Polygon(
        [
            (-40, 2900),
            (640, 2760),
            (1500, 3080),
            (2300, 3010),
            (3380, 3260),
            (3700, 3240),
            (3700, 700),
            (3000, -150),
            (900, -400),
            (-40, -300),
        ]
    )
    rows = [{"id": "Shoreville", "name": "City of Shoreville", "geometry": limit}]
    files.write_geojson(files.frame(rows, town.ORIGIN, "EPSG:4326"), out / "municipality.geojson")
    built = [(y.key, y.house) for y in yards if y.house is not None]
    files.write(files.frame(layers.houses(built), town.ORIGIN), out / "structures.fgb")
    files.write(
        files.frame(layers.roads(streets, domain, "asphalt"), town.ORIGIN), out / "roads.fgb"
    )


def footprints(
    out: Path, made: town.Ground, yards: list, places: works.Places, rng: np.random.Generator
) -> None:
    """Works that owners ask for, where the rules tell them apart."""
    lived = [y for y in yards if y.house is not None]
    creek = shapely.union(made.creek, made.ponds["Mill Pond"])
    by_water = [y for y in yards if y.lot.shape.distance(creek) < 12]
    rows = []
    for name, code, kind, make, where, more in _wanted(creek):
        at_water = name in ("dock", "dock repair", "wall repair")
        found = works.find(
            make, where, by_water if at_water else lived, places, rng, stay=not at_water
        )
        if found is None:
            print(f"shoreville: no place for {name!r} in {where}")
            continue
        yard, shape = found
        rows.append(_work(len(rows) + 1, yard.key, name, code, kind, shape, more))
    rows += _rebuild(lived, places, rng, len(rows))
    files.write_geojson(files.frame(rows, town.ORIGIN), out / "footprints.geojson")


FACTS = (
    "existing_structure",
    "proviso_p1",
    "proviso_p2",
    "proviso_p3",
    "cost_usd",
    "project_id",
    "phase",
)


def _work(number: int, key: str, name: str, code: str, kind: str, shape: Any, more: dict) -> dict:
    row = {
        "id": f"SV-{number:03d}",
        "parcel_id": key,
        "label": name,
        "activity": code,
        "kind": kind,
        "status": "proposed",
        "permanence": "permanent",
    }
    return row | {f: more.get(f) for f in FACTS} | {"geometry": shape}


def _wanted(creek: shapely.Geometry) -> list[tuple]:
    """Name, activity (a code or the applicant's words), kind, how drawn, where, facts."""
    yes = {"proviso_p1": True, "proviso_p2": True, "proviso_p3": True, "existing_structure": True}
    return [
        ("deck", "C1", "structure", works.slab(22, 14), "B", {"cost_usd": 9500}),
        ("deck", "deck", "structure", works.slab(18, 12), "O", {"cost_usd": 7200}),
        ("deck", "Deck", "structure", works.slab(20, 14, 34), "edge", {"cost_usd": 8800}),
        ("addition", "addition", "structure", works.slab(24, 20, 22), "B", {"cost_usd": 86000}),
        ("shed", "shed", "structure", works.slab(12, 10, 50), "W", {"cost_usd": 3800}),
        ("pool", "C1;C2;C6", "excavation", works.patch(16, 44), "B", {"cost_usd": 52000}),
        ("pool", "pool", "excavation", works.patch(15, 40), "O", {"cost_usd": 48000}),
        ("patio", "patio", "structure", works.slab(24, 18, 28), "B", {"cost_usd": 10000}),
        ("driveway", "driveway", "grading", works.drive, "any", {"cost_usd": 12500}),
        ("driveway", "driveway", "grading", works.drive, "O", {"cost_usd": 11000}),
        ("regrading", "C6", "grading", works.patch(34, 52), "W", {}),
        ("fill", "fill", "fill", works.patch(19, 60), "W", {}),
        ("fill", "C3", "fill", works.patch(17, 50), "B", {}),
        ("dock", "dock", "structure", works.dock(creek), "WC", {"cost_usd": 31000}),
        ("dock repair", "D3", "structure", works.dock(creek, 30), "WC", yes),
        ("wall repair", "repair of wall", "structure", works.along_shore(creek), "any", yes),
        ("septic tank", "C5", "excavation", works.point(50), "B", {"cost_usd": 18000}),
        ("well", "well", "excavation", works.point(40), "O", {}),
        ("drain", "French drain", "excavation", works.line(85), "any", {}),
        ("pipe", "C9", "excavation", works.line(95), "W", {}),
        ("service trench", "trench for electric", "excavation", works.service, "B", {}),
        ("mowing", "D1", "landscaping", works.lawn, "B", yes),
        (
            "mowing",
            "mowing",
            "landscaping",
            works.lawn,
            "W",
            {"proviso_p1": True, "proviso_p2": None, "proviso_p3": True},
        ),
        ("planting", "D4", "landscaping", works.patch(14, 40), "B", yes),
        ("planting", "D4", "landscaping", works.patch(14, 52), "W", yes),
        ("planting and feeding", "D4;C12", "landscaping", works.patch(18, 40), "B", yes),
        ("fertilizing", "fertilizer", "landscaping", works.lawn, "B", {}),
        ("brush clearing", "clearing shrubs", "clearing", works.patch(26, 60), "B", {}),
        ("tree removal", "dead tree", "clearing", works.point(48), "B", yes),
        ("selective cutting", "D2", "clearing", works.patch(30, 58), "B", yes),
        ("fence", "fence", "structure", works.fence, "B", {"cost_usd": 4200}),
        ("fence", "fence", "structure", works.fence, "O", {"cost_usd": 3900}),
        ("labyrinth", "turf labyrinth", "landscaping", works.patch(20, 45), "B", {}),
    ]


def _rebuild(yards: list, places: works.Places, rng: np.random.Generator, start: int) -> list[dict]:
    """One project of several works in two phases: a house is taken down and built anew."""
    parts = [
        ("new house", "house", "structure", works.slab(56, 34, 6), 1),
        ("driveway", "driveway", "grading", works.drive, 1),
        ("pool", "pool", "excavation", works.patch(17, 52), 2),
        ("planting", "planting beds", "landscaping", works.patch(22, 50), 2),
    ]
    for k in rng.permutation(len(yards)):
        yard = yards[k]
        shapes = [
            make(works.Yard(yard.key, yard.lot, yard.house if n else None), rng)
            for n, (_, _, _, make, _) in enumerate(parts)
        ]
        kinds = [places.of(s) for s in shapes]
        if "B" in kinds[2:] and all(
            yard.lot.shape.buffer(0.5).contains(s) and s.geom_type == "Polygon" for s in shapes
        ):
            facts = {"project_id": "SV-P1", "existing_structure": True, "cost_usd": 410000}
            return [
                _work(
                    start + n + 1, yard.key, name, code, kind, shape, facts | {"phase": str(phase)}
                )
                for n, ((name, code, kind, _, phase), shape) in enumerate(
                    zip(parts, shapes, strict=True)
                )
            ]
    return []
