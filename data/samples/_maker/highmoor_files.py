"""Highmoor's layers and files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import shapely

from . import files, layers, parcels, works
from . import highmoor as town
from . import lots as lt
from .fields import inside, nearest, noise, outlines
from .shapes import blob, placed, scaled_to, smooth

SWIS = "009946"
DOMAIN = [(90, 70), (2600, 20), (5110, 90), (5150, 2600), (5090, 4920), (2500, 4970), (70, 4900), (40, 2400)]  # fmt: skip
UTM = "EPSG:26918"


def build(out: Path) -> dict[str, Any]:
    """Write the whole town; what is deliberately wrong in it is returned."""
    rng = np.random.default_rng(town.SEED)
    made = town.ground(rng)
    streets = town.streets(made)
    domain = shapely.Polygon(DOMAIN)
    lake = made.ponds["Basin Pond"]
    cut, rear, row = lt.cut_lots(streets, domain.buffer(420).difference(lake), rng, wide=(125, 215), deep=300)
    cut = [c for c in cut if domain.contains(c.shape.centroid)]
    rear = [p for r in rear for p in shapely.get_parts(r.intersection(domain)) if p.area > 60_000]
    out.mkdir(parents=True, exist_ok=True)
    rows, faults = tax_map(cut, rear, rng)
    places = works.Places(shapely.union_all(made.wetlands), shapely.union_all(_waters(made)))
    yards = _yards(rows, made, places, rng)
    files.write(_shape_names(files.frame(_plain(rows), town.ORIGIN, UTM)), out / "tax_parcels.shp")
    faults |= wetlands(out, made, rng)
    waters(out, made)
    soils(out, made, rng)
    flood(out, made, rng)
    around(out, made, streets, yards, domain)
    site = subdivision(rows, made)
    footprints(out, made, yards, places, site, rng)
    earthworks(out, made, site, rng)
    terrain(out, made, site)
    return faults


def _plain(rows: list) -> list:
    return [{k: v for k, v in r.items() if k != "lot"} for r in rows]


def _shape_names(frame: Any) -> Any:
    """Ten letters, as the public state file has them."""
    return frame.rename(columns={"PROP_CLASS": "PROP_CLASS", "ADDRESS": "PARCEL_ADD", "OWNER": "PRIMARY_OW"})


def _waters(made: town.Ground) -> list[shapely.Geometry]:
    lines = [shapely.LineString(s.points).buffer(s.half, cap_style="flat") for s in made.streams]
    return [*made.ponds.values(), *lines]


def tax_map(cut: list, rear: list, rng: np.random.Generator) -> tuple[list, dict]:
    """Lots as records, with flag lots, lots in two parts and the usual faults."""
    lots = parcels.split_flags(parcels.with_rear(cut, rear), 14, rng, least=52_000)
    parcels.join_across(lots, 4, rng)
    rows = parcels.numbered(lots, SWIS, 4, rng)
    return rows, parcels.spoil(rows)


def _yards(rows: list, made: town.Ground, places: works.Places, rng: np.random.Generator) -> list[works.Yard]:
    """Houses where the ground is dry and not too steep; one lot in six is vacant."""
    wet = shapely.union(places.wet, places.water.buffer(12))
    shapely.prepare(wet)
    steep = shapely.union_all(np.array(outlines(made.grid, _slope(made), 27, 999)))
    shapely.prepare(steep)
    yards = []
    for row in rows:
        lot = row["lot"]
        if lot.use != "house" or row["geometry"] is None or lot.shape.geom_type != "Polygon":
            continue
        shape = lt.house(lot, rng, setback=55) if rng.random() > 0.16 else None
        if shape is not None and (shape.intersects(wet) or shape.intersection(steep).area > 200):
            shape = None
        yards.append(works.Yard(f"{row['SWIS']}-{row['PRINT_KEY']}", lot, shape))
    return yards


def _slope(made: town.Ground) -> np.ndarray:
    dy, dx = np.gradient(made.z, made.grid.cell)
    return 100 * np.hypot(dx, dy)


def wetlands(out: Path, made: town.Ground, rng: np.random.Generator) -> dict:
    """State and federal wetlands, a delineation, the NWI, and a proposed map."""
    grid = made.grid
    rows = []
    for shape, code, whole in layers.coded(made.wetlands, ("PEM1E", "PFO1E"), grid, rng, least=40_000, wavelength=560):
        big = made.wetlands[whole].area > 400_000
        rows.append(_wetland(f"H-{whole + 1}", code, "DEC" if big else "USACE" if whole % 3 else "", shape))
    spots = {"H-41": ((1900, 3330), 3_988.0), "H-42": ((3080, 1560), 4_013.0), "H-43": ((4420, 2130), 2_450.0)}
    small = {name: scaled_to(blob(rng, at, 35, stretch=2.0), area) for name, (at, area) in spots.items()}
    rows += [_wetland(name, "PEM1C", "USACE", shape) for name, shape in small.items()]
    # an interpreter cut this one at a change of cover: alone it is small, with its neighbour not
    left, right = lt.halves(scaled_to(blob(rng, (1480, 2330), 50), 5_200.0), (1480, 2330), 1.1)
    rows += [_wetland("H-44", "PSS1E", "USACE", left), _wetland("H-45", "PEM1E", "USACE", right)]
    rows.append(_wetland("H-46", "PSS1E", "USACE", layers.slip(blob(rng, (3700, 4520), 60))))
    files.write(files.frame(rows, town.ORIGIN), out / "wetlands.gpkg", "wetlands")
    inner = shapely.box(400, 400, 4800, 4600)
    ranked = sorted([w for w in made.wetlands if inner.contains(w)], key=lambda p: abs(p.area - 60_000))
    survey = layers.shifted(ranked[0], grid, rng, feet=8)
    near = [{"id": "D-1", "cowardin": "PFO1E", "regulator": "USACE", "basis": "flagged_gps", "geometry": survey.simplify(1.5)},
            {"id": "D-2", "cowardin": "PEM1C", "regulator": "USACE", "basis": "flagged_gps", "geometry": blob(rng, (2900, 2790), 48)}]
    files.write(files.frame(near, town.ORIGIN), out / "delineations.fgb")
    indicators(out, made, rng)
    proposal(out, made, rows, rng)
    return {"bowtie": ["H-46"], "under": ["H-41"], "over": ["H-42"], "touching": ["H-44", "H-45"]}


def _wetland(name: str, code: str, regulator: str, shape: shapely.Geometry) -> dict:
    return {"id": name, "cowardin": code, "regulator": regulator, "effective_from": "2011-03-09",
            "geometry": shape}  # fmt: skip


def indicators(out: Path, made: town.Ground, rng: np.random.Generator) -> None:
    """The national inventory: coarser, displaced, in metres of another projection, overlapping."""
    rows = []
    for k, shape in enumerate(made.wetlands):
        if k % 4 == 3:
            continue
        coarse = layers.shifted(shape.buffer(-6) if shape.area > 20_000 else shape, made.grid, rng, feet=26).simplify(9)
        rows.append(_nwi("PFO1E", "Freshwater Forested/Shrub Wetland", coarse))
    for at, r in (((4600, 3650), 95), ((2050, 4420), 70), ((900, 2700), 60)):
        rows.append(_nwi("PSS1E", "Freshwater Forested/Shrub Wetland", blob(rng, at, r).simplify(5)))
    overlap = shapely.transform(rows[-1]["geometry"], lambda xy: xy + [38, 12])
    rows.append(_nwi("PEM1C", "Freshwater Emergent Wetland", overlap))
    for pond in made.ponds.values():
        rows.append(_nwi("PUBHh", "Freshwater Pond", pond.simplify(4)))
    frame = files.frame(rows, town.ORIGIN, "EPSG:5070")
    frame["Shape_Area"] = frame.area.round(2)
    files.write(frame, out / "XX_Wetlands.shp")


def _nwi(code: str, kind: str, shape: shapely.Geometry) -> dict:
    return {"ATTRIBUTE": code, "WETLAND_TY": kind, "ACRES": round(shape.area / parcels.ACRE * 1.01, 2),
            "geometry": shape}  # fmt: skip


def proposal(out: Path, made: town.Ground, rows: list, rng: np.random.Generator) -> None:
    """A new state of the map: three lines moved, one wetland added; and the surveyor's flags."""
    ids = sorted({r["id"] for r in rows if r["id"].startswith("H-") and len(r["id"]) < 5})
    wholes = {i: shapely.union_all([r["geometry"] for r in rows if r["id"] == i]) for i in ids}
    mid = sorted((i for i in ids if 20_000 < wholes[i].area < 400_000), key=lambda i: wholes[i].area)[:3]
    new = [
        {"id": i, "cowardin": "PFO1E", "regulator": "USACE",
         "geometry": layers.shifted(max(shapely.get_parts(wholes[i]), key=shapely.area), made.grid, rng, feet=14)}
        for i in mid
    ]  # fmt: skip
    added = blob(rng, (2250, 3560), 78, stretch=1.9, points=64)
    new.append({"id": "H-60", "cowardin": "PSS1E", "regulator": "USACE", "geometry": added})
    files.write(files.frame(new, town.ORIGIN), out / "proposed_wetlands.gpkg", "proposed_wetlands")
    flags(out, added, blob(rng, (3400, 2100), 60, stretch=2.4, points=40), rng)


def flags(out: Path, closed: shapely.Polygon, open_side: shapely.Polygon, rng: np.random.Generator) -> None:
    """Flags as a receiver writes them: a closed series A, an open series B that ends at a line."""
    rows = []
    for series, shape, last in (("A", closed, 27), ("B", open_side, 15)):
        ring = shape.exterior
        share = 1.0 if series == "A" else 0.72
        at = (np.arange(last) + rng.uniform(-0.15, 0.15, last)) * ring.length * share / last
        points = shapely.get_coordinates(shapely.line_interpolate_point(ring, np.abs(at)))
        for k, (x, y) in enumerate(points, 1):
            # B-9 was pulled out by deer and never set again
            if (series, k) != ("B", 9):
                rows.append(_flag(series, f"{k} END" if k == last else f"{k}", x, y, rng))
    files.write_csv(rows, out / "flags.csv")


def _flag(series: str, number: str, x: float, y: float, rng: np.random.Generator) -> dict:
    return {"name": f"{series}-{number}", "series": series, "number": number,
            "northing_ft": round(y + town.ORIGIN[1], 2), "easting_ft": round(x + town.ORIGIN[0], 2),
            "hrms_ft": round(float(rng.uniform(0.4, 2.2)), 2), "date": "2026-06-18"}  # fmt: skip


def waters(out: Path, made: town.Ground) -> None:
    """Stream reaches with half-widths, a culvert, and ponds."""
    names = ["Moor Brook", "Laurel Brook", "Hollow Run", "Basin Outlet"]
    rows = []
    for k, s in enumerate(sorted(made.streams, key=lambda s: -s.half), 1):
        line = shapely.LineString(s.points).simplify(0.6)
        rows.append({"id": f"HS-{k:02d}", "name": names[k - 1] if k <= len(names) else "", "flow": s.flow,
                     "half_width_ft": s.half if k % 9 else None, "piped": False, "measured_from": "bank",
                     "geometry": line})  # fmt: skip
    culvert = shapely.LineString([(2330, 3010), (2420, 2960), (2500, 2955)])
    rows.append({"id": "HS-90", "name": "culvert", "flow": "intermittent", "half_width_ft": 1.5, "piped": True,
                 "measured_from": "bank", "geometry": culvert})  # fmt: skip
    files.write(files.frame(rows, town.ORIGIN), out / "streams.fgb")
    ponds = [{"id": f"HP-{k}", "name": n, "geometry": p} for k, (n, p) in enumerate(made.ponds.items(), 1)]
    files.write_geojson(files.frame(ponds, town.ORIGIN), out / "ponds.geojson")


def soils(out: Path, made: town.Ground, rng: np.random.Generator) -> None:
    """Soil map units that follow valley, slope and ledge."""
    grid, slope = made.grid, _slope(made)
    wobble = noise(grid, rng, 700)
    labels = np.where(wobble > 0.3, 2, 1)
    labels[slope + 3 * wobble > 17] = 3
    labels[slope + 4 * wobble > 31] = 4
    labels[made.above / 6 + made.away / 260 + 0.7 * wobble < 1.0] = 5
    labels[made.above / 3.2 + made.away / 120 + 0.9 * wobble < 0.5] = 6
    far = noise(grid, rng, 1500) > 1.7
    labels[far & (labels < 4)] = 7
    labels[inside(grid, shapely.union_all(list(made.ponds.values())))] = 8
    labels = layers.despeckled(labels, 60)
    units = {1: ("ChB", "990201"), 2: ("PtB", "990202"), 3: ("ChC", "990203"), 4: ("RoE", "990204"),
             5: ("RdA", "990205"), 6: ("Ce", "990206"), 7: ("UH", "990207"), 8: ("W", "990208")}  # fmt: skip
    rows = layers.soil_units(grid, labels, units, "XX946")
    files.write(files.frame(rows, town.ORIGIN, "EPSG:4326"), out / "soils.fgb")
    # the key is text in one file and looks like a number in the other; 990299 is nowhere mapped
    files.write_csv(layers.components(COMPONENTS), out / "component.csv")


COMPONENTS = [
    ("990201", "Charlton", 80, "No"), ("990201", "Sutton", 15, "No"), ("990201", "Leicester", 5, "Yes"),
    ("990202", "Paxton", 75, "No"), ("990202", "Ridgebury", 15, "Yes"), ("990202", "Woodbridge", 10, "No"),
    ("990203", "Charlton", 90, "No"), ("990203", "Chatfield", 10, "No"),
    ("990204", "Rock outcrop", 55, "Unranked"), ("990204", "Hollis", 45, "No"),
    ("990205", "Ridgebury", 68, "Yes"), ("990205", "Sun", 12, "Yes"), ("990205", "Woodbridge", 20, "No"),
    ("990206", "Carlisle", 85, "Yes"), ("990206", "Palms", 15, "Yes"),
    ("990207", "Udorthents", 60, "Unranked"), ("990207", "Urban land", 40, ""),
    ("990299", "Wallkill", 100, "Yes"),
]  # fmt: skip


def flood(out: Path, made: town.Ground, rng: np.random.Generator) -> None:
    """Zones along the larger brooks, a floodway, an approximate zone A, an unmapped panel."""
    grid = made.grid
    x, y = grid.mesh()
    wobble = noise(grid, rng, 500)
    large = shapely.union_all([shapely.LineString(s.points) for s in made.streams if s.flow == "perennial"])
    near_large = inside(grid, large.buffer(420))
    near_small = inside(grid, shapely.union_all([shapely.LineString(s.points) for s in made.streams]).buffer(160))
    labels = np.ones(made.z.shape, int)
    labels[near_small & (made.above + wobble < 4.0)] = 9
    labels[near_large & (made.above + wobble < 8.5)] = 2
    labels[near_large & (made.above + wobble < 6.0)] = 3
    labels[near_large & (made.away + 8 * wobble < 42) & (made.above < 6)] = 4
    labels = layers.despeckled(labels, 30)
    labels[(x > 3900) & (y > 3300)] = 8
    labels[(x < 800) & (y > 4200)] = 0
    rows = layers.flood_zones(grid, labels, "36998C", {3: 548.0})
    files.write(files.frame(rows, town.ORIGIN, "EPSG:4269"), out / "flood.gpkg", "S_FLD_HAZ_AR")


def around(out: Path, made: town.Ground, streets: list, yards: list, domain: shapely.Polygon) -> None:
    """Town line, where wetlands are mapped, buildings, roads, utilities, cover, public works."""
    limit = shapely.Polygon([(-60, -60), (5300, -60), (5300, 4560), (3950, 4700), (3120, 5100), (-60, 5100)])
    rows = [{"id": "Highmoor", "name": "Town of Highmoor", "geometry": limit}]
    files.write_geojson(files.frame(rows, town.ORIGIN, "EPSG:4326"), out / "municipality.geojson")
    mapped = limit.buffer(300).difference(shapely.box(4550, -800, 6500, 1050))
    files.write_geojson(files.frame([{"id": "mapped", "geometry": mapped}], town.ORIGIN), out / "mapped_area.geojson")
    built = [(y.key, y.house) for y in yards if y.house is not None]
    files.write(files.frame(layers.houses(built), town.ORIGIN), out / "structures.fgb")
    files.write(files.frame(layers.roads(streets, domain, "asphalt"), town.ORIGIN), out / "roads.fgb")
    lines = []
    for k, street in enumerate(streets[:9]):
        side = street.line.offset_curve(16 if k % 2 else -16).simplify(0.5)
        kind = ("water", "electric", "gas")[k % 3]
        lines.append({"id": f"U-{k + 1}", "kind": kind, "geometry": side.intersection(domain)})
    lines = [r for r in lines if r["geometry"].geom_type == "LineString"]
    files.write_geojson(files.frame(lines, town.ORIGIN), out / "utilities.geojson")
    hydrants = [
        {"id": f"HY-{k}-{m}", "kind": "hydrant", "geometry": s.line.interpolate(at)}
        for k, s in enumerate(streets[:6], 1)
        for m, at in enumerate(np.arange(300, s.line.length - 200, 900), 1)
        if domain.contains(s.line.interpolate(at))
    ]
    files.write_geojson(files.frame(hydrants, town.ORIGIN), out / "improvements.geojson")


def vegetation(made: town.Ground, around_shape: shapely.Geometry, rng: np.random.Generator) -> list[dict]:
    """Cover types around the works, as a field crew maps them."""
    cover = noise(made.grid, rng, 420)
    area = around_shape.buffer(160)
    rows = []
    for name, low, high in (("meadow", -99, -0.6), ("shrub", -0.6, 0.2), ("oak-maple forest", 0.2, 99)):
        for shape in outlines(made.grid, cover, low, high):
            for part in shapely.get_parts(shape.intersection(area)):
                if part.geom_type == "Polygon" and part.area > 400:
                    rows.append({"id": f"VG-{len(rows) + 1}", "cover": name, "geometry": part.simplify(0.8)})
    return rows


#: The subdivision's road, from the town road over the brook to a turning circle.
ROUTE = [(2010, 1500), (1985, 1800), (1930, 2060), (1800, 2290), (1570, 2430), (1320, 2520), (1120, 2700), (1010, 2890)]  # fmt: skip


def subdivision(rows: list, made: town.Ground) -> dict[str, Any]:
    """The tract that is being subdivided: open land with a brook and ravines in it."""
    middle = shapely.Point(ROUTE[4])
    row = next(r for r in rows if r["geometry"] is not None and r["geometry"].contains(middle))
    tract = row["geometry"]
    course = shapely.LineString(smooth(np.array(ROUTE), 12, 70)).intersection(tract.buffer(-4))
    road = max(shapely.get_parts(course), key=shapely.length)
    return {"key": f"{row['SWIS']}-{row['PRINT_KEY']}", "tract": tract, "road": shapely.get_coordinates(road)}


def footprints(out: Path, made: town.Ground, yards: list, places: works.Places, site: dict, rng: np.random.Generator) -> None:
    """Works: single houses, exempt ones, a farm, and a subdivision in three phases."""
    lived = [y for y in yards if y.house is not None]
    vacant = [y for y in yards if y.house is None]
    rows: list[dict] = []
    ponds = shapely.union_all(list(made.ponds.values()))
    brooks = shapely.union_all([shapely.LineString(s.points).buffer(s.half) for s in made.streams])
    near = [y for y in yards if y.lot.shape.distance(shapely.union(ponds, brooks)) < 1]
    pools = {True: lived, False: vacant, None: near}
    for name, activity, kind, make, where, more, pool in _wanted(ponds, brooks):
        found = works.find(make, where, pools[pool], places, rng, stay=pool is not None)
        if found is None:
            print(f"highmoor: no place for {name!r} in {where}")
            continue
        yard, shape = found
        if "sqft" in more:
            shape = scaled_to(shape, more["sqft"])
        rows.append(_work(f"HM-{len(rows) + 1:03d}", yard.key, name, activity, kind, shape, more))
    rows += _house_project(vacant, places, made, rng, len(rows))
    rows += _phases(site, places, rng, len(rows))
    files.write(files.frame(rows, town.ORIGIN), out / "footprints.gpkg", "footprints")
    touched = shapely.union_all([r["geometry"] for r in rows if r["project_id"] == "HM-SUB"])
    files.write(files.frame(vegetation(made, touched, rng), town.ORIGIN), out / "vegetation.fgb")


FACTS = ("project_id", "phase", "existing_structure", "single_family", "cost_usd")


def _work(name: str, key: str, label: str, activity: str, kind: str, shape: Any, more: dict) -> dict:
    row = {"id": name, "parcel_id": key, "label": label, "activity": activity, "kind": kind, "status": more.get("status", "proposed")}
    return row | {f: more.get(f) for f in FACTS} | {"geometry": shape}


def _wanted(ponds: shapely.Geometry, brooks: shapely.Geometry) -> list[tuple]:
    """Name, activity, kind, how drawn, where, facts, on a lot with a house."""
    home = {"existing_structure": True, "single_family": True}
    return [
        ("landscaping", "landscaping", "landscaping", works.patch(58, 60), "any", home | {"sqft": 10_990.0}, True),
        ("landscaping", "landscaping", "landscaping", works.patch(58, 60), "any", home | {"sqft": 11_020.0}, True),
        ("landscaping", "landscaping", "landscaping", works.patch(40, 60), "B", {"existing_structure": False}, False),
        ("pool", "pool", "excavation", works.patch(18, 48), "B", home, True),
        ("pool", "pool", "excavation", works.patch(18, 48), "O", home, True),
        ("septic system", "septic", "excavation", works.slab(60, 30, 75), "O", home, True),
        ("well", "well", "excavation", works.point(70), "O", home, True),
        ("vegetable garden", "gardening", "landscaping", works.patch(24, 55), "O", home, True),
        ("hay field", "farm operation", "clearing", works.patch(62, 95), "any", {}, False),
        ("pond dredging", "dredging", "excavation", works.at_shore(ponds, 34), "WC", {"cost_usd": 64000}, None),
        ("fill", "fill", "fill", works.patch(36, 80), "W", {}, True),
        ("driveway", "driveway", "grading", works.drive, "B", {"single_family": True}, False),
        ("tree clearing", "tree cutting", "clearing", works.patch(70, 90), "O", {}, False),
        ("deck", "deck", "structure", works.slab(26, 16), "O", home | {"cost_usd": 14000}, True),
        ("culvert repair", "emergency", "excavation", works.at_shore(brooks, 13), "WC", {}, None),
        ("drainage basin repair", "stormwater repair", "grading", works.patch(30, 50), "O", {"status": "approved"}, True),
    ]  # fmt: skip


def _house_project(vacant: list, places: works.Places, made: town.Ground, rng: np.random.Generator, start: int) -> list[dict]:
    """A house on a vacant, steep lot: basement, septic field, well, drive and lawn."""
    slope = _slope(made)
    for k in rng.permutation(len(vacant)):
        yard = vacant[k]
        shapes = [works.slab(54, 34, 0)(yard, rng), works.slab(70, 36, 70)(yard, rng), works.point(20, 60)(yard, rng),
                  works.drive(yard, rng), works.patch(62, 10, 8)(yard, rng)]  # fmt: skip
        whole = shapely.union_all(shapes)
        steep = slope[inside(made.grid, shapes[-1])]
        if steep.size and (steep > 30).mean() > 0.15 and yard.lot.shape.contains(whole) and places.of(shapes[-1]) != "W":
            facts = {"project_id": "HM-P2", "single_family": True, "existing_structure": False, "cost_usd": 520000}
            names = [("house and basement", "basement", "excavation"), ("septic field", "septic", "excavation"),
                     ("well", "well", "excavation"), ("driveway", "driveway", "grading"), ("lawn", "grading", "grading")]  # fmt: skip
            return [
                _work(f"HM-{start + n + 1:03d}", yard.key, label, activity, kind, s, facts)
                for n, ((label, activity, kind), s) in enumerate(zip(names, shapes, strict=True))
            ]
    return []


def _phases(site: dict, places: works.Places, rng: np.random.Generator, start: int) -> list[dict]:
    """The subdivision: road first, then clearings on both sides, in three phases."""
    road = shapely.LineString(site["road"])
    rows = [("subdivision road", "grading", "grading", road.buffer(33, cap_style="round", quad_segs=6), "1")]
    dry = site["tract"].buffer(-8).difference(shapely.union(places.wet.buffer(12), places.water.buffer(14)))
    number = 0
    for at in np.arange(0.1, 1.01, 0.125):
        for side in (-1, 1):
            spot = road.interpolate(at, normalized=True)
            ahead = road.interpolate(min(at + 0.02, 1.02), normalized=True)
            way = np.array([ahead.x - spot.x, ahead.y - spot.y])
            way = way / max(np.hypot(*way), 1e-9)
            centre = np.array([spot.x, spot.y]) + side * 128 * np.array([-way[1], way[0]])
            shape = blob(rng, tuple(centre), rng.uniform(74, 90), stretch=1.25, rough=0.12, points=48).intersection(dry)
            if shape.geom_type == "Polygon" and shape.area > 9000:
                number += 1
                rows.append((f"lot {number}", "clearing; grading", "clearing", shape.simplify(0.5), "2" if at < 0.55 else "3"))
                rows.append((f"house {number}", "house", "structure", placed(lt.HOUSES[number % 4], centre, float(np.arctan2(*way[::-1]))), "2" if at < 0.55 else "3"))
    facts = {"project_id": "HM-SUB", "existing_structure": False, "single_family": True}
    return [
        _work(f"HM-{start + n + 1:03d}", site["key"], label, activity, kind, shape, facts | {"phase": phase})
        for n, (label, activity, kind, shape, phase) in enumerate(rows)
    ]


def earthworks(out: Path, made: town.Ground, site: dict, rng: np.random.Generator) -> None:
    """Stockpiles nearer and farther than 200 ft from water, an embankment and its strips."""
    water = shapely.union_all(_waters(made))
    tract = site["tract"].buffer(-25)
    rows = []
    for name, wanted in (("SP-1", 120.0), ("SP-2", 199.7), ("SP-3", 330.0)):
        shape = _at_distance(blob(rng, (0, 0), 26, stretch=1.3, points=36), tract, water, wanted, rng)
        rows.append({"id": name, "parcel_id": site["key"], "project_id": "HM-SUB", "material": "topsoil", "geometry": shape})
    files.write_geojson(files.frame(rows, town.ORIGIN), out / "stockpiles.geojson")
    centre = np.array(rows[2]["geometry"].centroid.coords[0])
    toes, strips = [], []
    for k, (offset, widths) in enumerate((((150, 60), (6.5, 6.5)), ((-170, 40), (6.0, 3.4))), 1):
        toe = placed([(-90, -22), (-30, -30), (60, -26), (95, -12), (95, 14), (40, 24), (-60, 26), (-95, 8)],
                     centre + np.array(offset), rng.uniform(0, 3))  # fmt: skip
        toe = toe.buffer(8, quad_segs=5).buffer(-6, quad_segs=5).simplify(0.3)
        wide, narrow = toe.buffer(widths[0], quad_segs=10), toe.buffer(widths[1], quad_segs=10)
        left, right = lt.halves(wide, tuple(toe.centroid.coords[0]), 0.9)
        strip = shapely.union(left, narrow) if widths[0] != widths[1] else wide
        toes.append({"id": f"TOE-{k}", "project_id": "HM-SUB", "geometry": toe})
        strips.append({"id": f"STR-{k}", "toe_id": f"TOE-{k}", "project_id": "HM-SUB", "geometry": strip.simplify(0.05)})
    files.write_geojson(files.frame(toes, town.ORIGIN), out / "toes.geojson")
    files.write_geojson(files.frame(strips, town.ORIGIN), out / "strips.geojson")


def _at_distance(shape: shapely.Polygon, tract: shapely.Geometry, water: shapely.Geometry, wanted: float, rng: np.random.Generator) -> shapely.Polygon:
    """The shape moved into the tract so that it lies about ``wanted`` feet from water."""
    x0, y0, x1, y1 = tract.bounds
    spots = np.column_stack([rng.uniform(x0, x1, 4000), rng.uniform(y0, y1, 4000)])
    points = shapely.points(spots)
    shapely.prepare(tract)
    fits = shapely.contains(tract, points)
    gap = np.abs(shapely.distance(points, water) - wanted - 24) + np.where(fits, 0, 1e6)
    spot = spots[np.argmin(gap)]
    for _ in range(30):
        moved = shapely.transform(shape, lambda xy: xy + spot)
        near = shapely.shortest_line(moved, water)
        way = np.diff(np.array(near.coords), axis=0)[0]
        spot = spot + way / max(np.hypot(*way), 1e-9) * (near.length - wanted)
    return moved


def terrain(out: Path, made: town.Ground, site: dict) -> None:
    """Two tiles of the state's heights (metres, UTM), and the subdivision's proposed surface."""
    surface = (made.grid, made.z)
    metres = 1200 / 3937
    hole = blob(np.random.default_rng(3), (4700, 4300), 60)
    for name, low, high, nodata in (("dem_s.tif", -150, 2500, -999999.0), ("dem_n.tif", 2500, 5150, None)):
        files.write_dem(
            out / name, surface, town.ORIGIN, crs=UTM, cell=5.0,
            box=(-150, low, town.SIZE[0] + 150, high), unit=metres, void=hole, nodata=nodata,
        )  # fmt: skip
    box = shapely.LineString(site["road"]).buffer(120).bounds
    after = (made.grid, proposed(made, site["road"]))
    files.write_dem(out / "proposed_grades.tif", after, town.ORIGIN, cell=10, box=box)


def proposed(made: town.Ground, road: np.ndarray) -> np.ndarray:
    """The surface after grading: a road bench with banks of 1 on 2."""
    x, y = made.grid.mesh()
    grade = np.interp(np.arange(len(road)), [0, len(road) - 1], made.grid.at(made.z, road[[0, -1]]))
    away, index = nearest(made.grid, road)
    level = grade[index]
    bank = np.clip(away - 18, 0, None) * 0.5
    return np.where(made.z > level, np.minimum(made.z, level + bank), np.maximum(made.z, level - bank))
