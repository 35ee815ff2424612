"""Highmoor's layers and files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import shapely

from . import files, layers, parcels, works
from . import highmoor as town
from . import highmoor_works as jobs
from . import lots as lt
from .fields import inside, noise, outlines
from .shapes import blob, scaled_to

SWIS = "009946"
DOMAIN = [
    (90, 70),
    (2600, 20),
    (5110, 90),
    (5150, 2600),
    (5090, 4920),
    (2500, 4970),
    (70, 4900),
    (40, 2400),
]
UTM = "EPSG:26918"


def build(out: Path) -> dict[str, Any]:
    """Write the whole town; what is deliberately wrong in it is returned."""
    rng = np.random.default_rng(town.SEED)
    made = town.ground(rng)
    streets = town.streets(made)
    domain = shapely.Polygon(DOMAIN)
    lake = made.ponds["Basin Pond"]
    cut, rear, _ = lt.cut_lots(
        streets, domain.buffer(420).difference(lake), rng, wide=(125, 215), deep=300
    )
    cut = [c for c in cut if domain.contains(c.shape.centroid)]
    rear = [p for r in rear for p in shapely.get_parts(r.intersection(domain)) if p.area > 60_000]
    out.mkdir(parents=True, exist_ok=True)
    rows, faults = tax_map(cut, rear, rng)
    places = works.Places(shapely.union_all(made.wetlands), shapely.union_all(town.waters_of(made)))
    yards = _yards(rows, made, places, rng)
    files.write(_shape_names(files.frame(_plain(rows), town.ORIGIN, UTM)), out / "tax_parcels.shp")
    faults |= wetlands(out, made, rng)
    waters(out, made)
    soils(out, made, rng)
    flood(out, made, rng)
    around(out, made, streets, yards, domain)
    site = jobs.subdivision(rows)
    jobs.footprints(out, made, yards, places, site, rng)
    jobs.earthworks(out, made, site, rng)
    jobs.terrain(out, made, site)
    return faults


def _plain(rows: list) -> list:
    return [{k: v for k, v in r.items() if k != "lot"} for r in rows]


def _shape_names(frame: Any) -> Any:
    """Ten letters, as the public state file has them."""
    return frame.rename(
        columns={"PROP_CLASS": "PROP_CLASS", "ADDRESS": "PARCEL_ADD", "OWNER": "PRIMARY_OW"}
    )


def tax_map(cut: list, rear: list, rng: np.random.Generator) -> tuple[list, dict]:
    """Lots as records, with flag lots, lots in two parts and the usual faults."""
    lots = parcels.split_flags(parcels.with_rear(cut, rear), 14, rng, least=52_000)
    parcels.join_across(lots, 4, rng)
    rows = parcels.numbered(lots, SWIS, 4, rng)
    return rows, parcels.spoil(rows)


def _yards(
    rows: list, made: town.Ground, places: works.Places, rng: np.random.Generator
) -> list[works.Yard]:
    """Houses where the ground is dry and not too steep; one lot in six is vacant."""
    wet = shapely.union(places.wet, places.water.buffer(12))
    shapely.prepare(wet)
    steep = shapely.union_all(np.array(outlines(made.grid, town.slope_of(made), 27, 999)))
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


def wetlands(out: Path, made: town.Ground, rng: np.random.Generator) -> dict:
    """State and federal wetlands, a delineation, the NWI, and a proposed map."""
    grid = made.grid
    rows = []
    for shape, code, whole in layers.coded(
        made.wetlands, ("PEM1E", "PFO1E"), grid, rng, least=40_000, wavelength=560
    ):
        big = made.wetlands[whole].area > 400_000
        rows.append(
            _wetland(f"H-{whole + 1}", code, "DEC" if big else "USACE" if whole % 3 else "", shape)
        )
    spots = {
        "H-41": ((1900, 3330), 3_988.0),
        "H-42": ((3080, 1560), 4_013.0),
        "H-43": ((4420, 2130), 2_450.0),
    }
    small = {
        name: scaled_to(blob(rng, at, 35, stretch=2.0), area) for name, (at, area) in spots.items()
    }
    rows += [_wetland(name, "PEM1C", "USACE", shape) for name, shape in small.items()]
    # an interpreter cut this one at a change of cover: alone it is small, with its neighbour not
    left, right = lt.halves(scaled_to(blob(rng, (1480, 2330), 50), 5_200.0), (1480, 2330), 1.1)
    rows += [_wetland("H-44", "PSS1E", "USACE", left), _wetland("H-45", "PEM1E", "USACE", right)]
    rows.append(_wetland("H-46", "PSS1E", "USACE", layers.slip(blob(rng, (3700, 4520), 60))))
    files.write(files.frame(rows, town.ORIGIN), out / "wetlands.gpkg", "wetlands")
    inner = shapely.box(400, 400, 4800, 4600)
    ranked = sorted(
        [w for w in made.wetlands if inner.contains(w)], key=lambda p: abs(p.area - 60_000)
    )
    survey = layers.shifted(ranked[0], grid, rng, feet=8)
    near = [
        {
            "id": "D-1",
            "cowardin": "PFO1E",
            "regulator": "USACE",
            "basis": "flagged_gps",
            "geometry": survey.simplify(1.5),
        },
        {
            "id": "D-2",
            "cowardin": "PEM1C",
            "regulator": "USACE",
            "basis": "flagged_gps",
            "geometry": blob(rng, (2900, 2790), 48),
        },
    ]
    files.write(files.frame(near, town.ORIGIN), out / "delineations.fgb")
    indicators(out, made, rng)
    proposal(out, made, rows, rng)
    return {"bowtie": ["H-46"], "under": ["H-41"], "over": ["H-42"], "touching": ["H-44", "H-45"]}


def _wetland(name: str, code: str, regulator: str, shape: shapely.Geometry) -> dict:
    return {
        "id": name,
        "cowardin": code,
        "regulator": regulator,
        "effective_from": "2011-03-09",
        "geometry": shape,
    }


def indicators(out: Path, made: town.Ground, rng: np.random.Generator) -> None:
    """The national inventory: coarser, displaced, in metres of another projection, overlapping."""
    rows = []
    for k, shape in enumerate(made.wetlands):
        if k % 4 == 3:
            continue
        coarse = layers.shifted(
            shape.buffer(-6) if shape.area > 20_000 else shape, made.grid, rng, feet=26
        ).simplify(9)
        rows.append(_nwi("PFO1E", "Freshwater Forested/Shrub Wetland", coarse))
    for at, r in (((4600, 3650), 95), ((2050, 4420), 70), ((900, 2700), 60)):
        rows.append(
            _nwi("PSS1E", "Freshwater Forested/Shrub Wetland", blob(rng, at, r).simplify(5))
        )
    overlap = shapely.transform(rows[-1]["geometry"], lambda xy: xy + np.array([38, 12]))
    rows.append(_nwi("PEM1C", "Freshwater Emergent Wetland", overlap))
    for pond in made.ponds.values():
        rows.append(_nwi("PUBHh", "Freshwater Pond", pond.simplify(4)))
    frame = files.frame(rows, town.ORIGIN, "EPSG:5070")
    frame["Shape_Area"] = frame.area.round(2)
    files.write(frame, out / "XX_Wetlands.shp")


def _nwi(code: str, kind: str, shape: shapely.Geometry) -> dict:
    return {
        "ATTRIBUTE": code,
        "WETLAND_TY": kind,
        "ACRES": round(shape.area / parcels.ACRE * 1.01, 2),
        "geometry": shape,
    }


def proposal(out: Path, made: town.Ground, rows: list, rng: np.random.Generator) -> None:
    """A new state of the map: three lines moved, one wetland added; and the surveyor's flags."""
    ids = sorted({r["id"] for r in rows if r["id"].startswith("H-") and len(r["id"]) < 5})
    wholes = {i: shapely.union_all([r["geometry"] for r in rows if r["id"] == i]) for i in ids}
    mid = sorted(
        (i for i in ids if 20_000 < wholes[i].area < 400_000), key=lambda i: wholes[i].area
    )[:3]
    new = [
        {
            "id": i,
            "cowardin": "PFO1E",
            "regulator": "USACE",
            "geometry": layers.shifted(
                max(shapely.get_parts(wholes[i]), key=shapely.area), made.grid, rng, feet=14
            ),
        }
        for i in mid
    ]
    added = blob(rng, (2250, 3560), 78, stretch=1.9, points=64)
    new.append({"id": "H-60", "cowardin": "PSS1E", "regulator": "USACE", "geometry": added})
    files.write(files.frame(new, town.ORIGIN), out / "proposed_wetlands.gpkg", "proposed_wetlands")
    flags(out, added, blob(rng, (3400, 2100), 60, stretch=2.4, points=40), rng)


def flags(
    out: Path, closed: shapely.Polygon, open_side: shapely.Polygon, rng: np.random.Generator
) -> None:
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
    return {
        "name": f"{series}-{number}",
        "series": series,
        "number": number,
        "northing_ft": round(y + town.ORIGIN[1], 2),
        "easting_ft": round(x + town.ORIGIN[0], 2),
        "hrms_ft": round(float(rng.uniform(0.4, 2.2)), 2),
        "date": "2026-06-18",
    }


def waters(out: Path, made: town.Ground) -> None:
    """Stream reaches with half-widths, a culvert, and ponds."""
    names = ["Moor Brook", "Laurel Brook", "Hollow Run", "Basin Outlet"]
    rows = []
    for k, s in enumerate(sorted(made.streams, key=lambda s: -s.half), 1):
        line = shapely.LineString(s.points).simplify(0.6)
        rows.append(
            {
                "id": f"HS-{k:02d}",
                "name": names[k - 1] if k <= len(names) else "",
                "flow": s.flow,
                "half_width_ft": s.half if k % 9 else None,
                "piped": False,
                "measured_from": "centreline",
                "geometry": line,
            }
        )
    culvert = shapely.LineString([(2330, 3010), (2420, 2960), (2500, 2955)])
    rows.append(
        {
            "id": "HS-90",
            "name": "culvert",
            "flow": "intermittent",
            "half_width_ft": 1.5,
            "piped": True,
            "measured_from": "centreline",
            "geometry": culvert,
        }
    )
    files.write(files.frame(rows, town.ORIGIN), out / "streams.fgb")
    ponds = [
        {"id": f"HP-{k}", "name": n, "geometry": p}
        for k, (n, p) in enumerate(made.ponds.items(), 1)
    ]
    files.write_geojson(files.frame(ponds, town.ORIGIN), out / "ponds.geojson")


def soils(out: Path, made: town.Ground, rng: np.random.Generator) -> None:
    """Soil map units that follow valley, slope and ledge."""
    grid, slope = made.grid, town.slope_of(made)
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
    units = {
        1: ("ChB", "990201"),
        2: ("PtB", "990202"),
        3: ("ChC", "990203"),
        4: ("RoE", "990204"),
        5: ("RdA", "990205"),
        6: ("Ce", "990206"),
        7: ("UH", "990207"),
        8: ("W", "990208"),
    }
    rows = layers.soil_units(grid, labels, units, "XX946")
    files.write(files.frame(rows, town.ORIGIN, "EPSG:4326"), out / "soils.fgb")
    # the key is text in one file and looks like a number in the other; 990299 is nowhere mapped
    files.write_csv(layers.components(COMPONENTS), out / "component.csv")


COMPONENTS = [
    ("990201", "Charlton", 80, "No"),
    ("990201", "Sutton", 15, "No"),
    ("990201", "Leicester", 5, "Yes"),
    ("990202", "Paxton", 75, "No"),
    ("990202", "Ridgebury", 15, "Yes"),
    ("990202", "Woodbridge", 10, "No"),
    ("990203", "Charlton", 90, "No"),
    ("990203", "Chatfield", 10, "No"),
    ("990204", "Rock outcrop", 55, "Unranked"),
    ("990204", "Hollis", 45, "No"),
    ("990205", "Ridgebury", 68, "Yes"),
    ("990205", "Sun", 12, "Yes"),
    ("990205", "Woodbridge", 20, "No"),
    ("990206", "Carlisle", 85, "Yes"),
    ("990206", "Palms", 15, "Yes"),
    ("990207", "Udorthents", 60, "Unranked"),
    ("990207", "Urban land", 40, ""),
    ("990299", "Wallkill", 100, "Yes"),
]


def flood(out: Path, made: town.Ground, rng: np.random.Generator) -> None:
    """Zones along the larger brooks, a floodway, an approximate zone A, an unmapped panel."""
    grid = made.grid
    x, y = grid.mesh()
    wobble = noise(grid, rng, 500)
    large = shapely.union_all(
        [shapely.LineString(s.points) for s in made.streams if s.flow == "perennial"]
    )
    near_large = inside(grid, large.buffer(420))
    near_small = inside(
        grid, shapely.union_all([shapely.LineString(s.points) for s in made.streams]).buffer(160)
    )
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


def around(
    out: Path, made: town.Ground, streets: list, yards: list, domain: shapely.Polygon
) -> None:
    """Town line, where wetlands are mapped, buildings, roads, utilities, cover, public works."""
    limit = shapely.Polygon(
        [(-60, -60), (5300, -60), (5300, 4560), (3950, 4700), (3120, 5100), (-60, 5100)]
    )
    rows = [{"id": "Highmoor", "name": "Town of Highmoor", "geometry": limit}]
    files.write_geojson(files.frame(rows, town.ORIGIN, "EPSG:4326"), out / "municipality.geojson")
    mapped = limit.buffer(300).difference(shapely.box(4550, -800, 6500, 1050))
    files.write_geojson(
        files.frame([{"id": "mapped", "geometry": mapped}], town.ORIGIN),
        out / "mapped_area.geojson",
    )
    built = [(y.key, y.house) for y in yards if y.house is not None]
    files.write(files.frame(layers.houses(built), town.ORIGIN), out / "structures.fgb")
    files.write(
        files.frame(layers.roads(streets, domain, "asphalt"), town.ORIGIN), out / "roads.fgb"
    )
    lines = []
    for k, street in enumerate(streets[:9]):
        side = street.line.offset_curve(16 if k % 2 else -16).simplify(0.5)
        kind = ("water", "electric", "gas")[k % 3]
        lines.append({"id": f"U-{k + 1}", "kind": kind, "geometry": side.intersection(domain)})
    # a transmission line takes no notice of lots
    towers = shapely.LineString(
        [(-200, 2620), (1150, 3080), (2700, 3420), (3900, 4080), (5400, 4300)]
    )
    lines.append({"id": "U-20", "kind": "electric", "geometry": towers.intersection(domain)})
    lines = [r for r in lines if r["geometry"].geom_type == "LineString"]
    files.write_geojson(files.frame(lines, town.ORIGIN), out / "utilities.geojson")
    hydrants = [
        {"id": f"HY-{k}-{m}", "kind": "hydrant", "geometry": s.line.interpolate(at)}
        for k, s in enumerate(streets[:6], 1)
        for m, at in enumerate(np.arange(300, s.line.length - 200, 900), 1)
        if domain.contains(s.line.interpolate(at))
    ]
    files.write_geojson(files.frame(hydrants, town.ORIGIN), out / "improvements.geojson")
