"""Highmoor's works: single jobs, a subdivision in phases, its earthworks and its new surface."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import shapely
from shapely import affinity

from . import files, works
from . import highmoor as town
from . import lots as lt
from .fields import inside, nearest, noise, outlines
from .shapes import blob, placed, scaled_to, smooth

UTM = "EPSG:26918"


def vegetation(
    made: town.Ground, around_shape: shapely.Geometry, rng: np.random.Generator
) -> list[dict]:
    """Cover types around the works, as a field crew maps them."""
    cover = noise(made.grid, rng, 420)
    area = around_shape.buffer(160)
    rows = []
    for name, low, high in (
        ("meadow", -99, -0.6),
        ("shrub", -0.6, 0.2),
        ("oak-maple forest", 0.2, 99),
    ):
        for shape in outlines(made.grid, cover, low, high):
            for part in shapely.get_parts(shape.intersection(area)):
                if part.geom_type == "Polygon" and part.area > 400:
                    rows.append(
                        {"id": f"VG-{len(rows) + 1}", "cover": name, "geometry": part.simplify(0.8)}
                    )
    return rows


#: The subdivision's road, from the town road over the brook to a turning circle.
ROUTE = [
    (2010, 1500),
    (1985, 1800),
    (1930, 2060),
    (1800, 2290),
    (1570, 2430),
    (1320, 2520),
    (1120, 2700),
    (1010, 2890),
]


def subdivision(rows: list) -> dict[str, Any]:
    """The tract that is being subdivided: open land with a brook and ravines in it."""
    middle = shapely.Point(ROUTE[4])
    row = next(r for r in rows if r["geometry"] is not None and r["geometry"].contains(middle))
    tract = row["geometry"]
    course = shapely.LineString(smooth(np.array(ROUTE), 12, 70)).intersection(tract.buffer(-4))
    road = max(shapely.get_parts(course), key=shapely.length)
    return {
        "key": f"{row['SWIS']}-{row['PRINT_KEY']}",
        "tract": tract,
        "road": shapely.get_coordinates(road),
    }


def footprints(
    out: Path,
    made: town.Ground,
    yards: list,
    places: works.Places,
    site: dict,
    rng: np.random.Generator,
) -> None:
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


def _work(
    name: str, key: str, label: str, activity: str, kind: str, shape: Any, more: dict
) -> dict:
    row = {
        "id": name,
        "parcel_id": key,
        "label": label,
        "activity": activity,
        "kind": kind,
        "status": more.get("status", "proposed"),
    }
    return row | {f: more.get(f) for f in FACTS} | {"geometry": shape}


def _wanted(ponds: shapely.Geometry, brooks: shapely.Geometry) -> list[tuple]:
    """Name, activity, kind, how drawn, where, facts, on a lot with a house."""
    home = {"existing_structure": True, "single_family": True}
    return [
        (
            "landscaping",
            "landscaping",
            "landscaping",
            works.patch(58, 60),
            "any",
            home | {"sqft": 10_990.0},
            True,
        ),
        (
            "landscaping",
            "landscaping",
            "landscaping",
            works.patch(58, 60),
            "any",
            home | {"sqft": 11_020.0},
            True,
        ),
        (
            "landscaping",
            "landscaping",
            "landscaping",
            works.patch(40, 60),
            "B",
            {"existing_structure": False},
            False,
        ),
        ("pool", "pool", "excavation", works.patch(18, 48), "B", home, True),
        ("pool", "pool", "excavation", works.patch(18, 48), "O", home, True),
        ("septic system", "septic", "excavation", works.slab(60, 30, 75), "O", home, True),
        ("well", "well", "excavation", works.point(70), "O", home, True),
        ("vegetable garden", "gardening", "landscaping", works.patch(24, 55), "O", home, True),
        ("hay field", "farm operation", "clearing", works.patch(62, 95), "any", {}, False),
        (
            "pond dredging",
            "dredging",
            "excavation",
            works.at_shore(ponds, 34),
            "WC",
            {"cost_usd": 64000},
            None,
        ),
        ("fill", "fill", "fill", works.patch(36, 80), "W", {}, True),
        ("driveway", "driveway", "grading", works.drive, "B", {"single_family": True}, False),
        ("tree clearing", "tree cutting", "clearing", works.patch(70, 90), "O", {}, False),
        ("deck", "deck", "structure", works.slab(26, 16), "O", home | {"cost_usd": 14000}, True),
        ("culvert repair", "emergency", "excavation", works.at_shore(brooks, 13), "WC", {}, None),
        (
            "drainage basin repair",
            "stormwater repair",
            "grading",
            works.patch(30, 50),
            "O",
            {"status": "approved"},
            True,
        ),
    ]


def _house_project(
    vacant: list, places: works.Places, made: town.Ground, rng: np.random.Generator, start: int
) -> list[dict]:
    """A house on a vacant, steep lot: basement, septic field, well, drive and lawn."""
    slope = town.slope_of(made)
    for k in rng.permutation(len(vacant)):
        yard = vacant[k]
        shapes = [
            works.slab(54, 34, 0)(yard, rng),
            works.slab(70, 36, 70)(yard, rng),
            works.point(20, 60)(yard, rng),
            works.drive(yard, rng),
            works.patch(46, 10, 8)(yard, rng),
        ]
        whole = shapely.union_all(shapes)
        steep = slope[inside(made.grid, shapes[-1])]
        if (
            steep.size
            and (steep > 30).mean() > 0.1
            and yard.lot.shape.buffer(1.5).contains(whole)
            and places.of(shapes[-1]) != "W"
        ):
            facts = {
                "project_id": "HM-P2",
                "single_family": True,
                "existing_structure": False,
                "cost_usd": 520000,
            }
            names = [
                ("house and basement", "basement", "excavation"),
                ("septic field", "septic", "excavation"),
                ("well", "well", "excavation"),
                ("driveway", "driveway", "grading"),
                ("lawn", "grading", "grading"),
            ]
            return [
                _work(f"HM-{start + n + 1:03d}", yard.key, label, activity, kind, s, facts)
                for n, ((label, activity, kind), s) in enumerate(zip(names, shapes, strict=True))
            ]
    return []


def _phases(site: dict, places: works.Places, rng: np.random.Generator, start: int) -> list[dict]:
    """The subdivision: road first, then clearings on both sides, in three phases."""
    line = shapely.LineString(site["road"])
    road = line.buffer(33, cap_style="flat").intersection(site["tract"])
    wet = shapely.union(places.wet.buffer(12), places.water.buffer(14))
    dry = site["tract"].buffer(-8).difference(wet)
    jobs = [("subdivision road", "grading", "grading", road, "1")]
    number = 0
    for at in np.arange(0.1, 1.01, 0.125):
        phase = "2" if at < 0.55 else "3"
        for side in (-128, 128):
            centre, turn = _beside(line, at, side)
            shape = blob(
                rng, tuple(centre), rng.uniform(74, 90), stretch=1.25, rough=0.12, points=48
            )
            shape = shape.intersection(dry)
            if shape.geom_type != "Polygon" or shape.area < 9000:
                continue
            number += 1
            home = placed(lt.HOUSES[number % 4], centre, turn)
            jobs.append(
                (f"lot {number}", "clearing; grading", "clearing", shape.simplify(0.5), phase)
            )
            if shape.contains(home):
                jobs.append((f"house {number}", "house", "structure", home, phase))
    facts = {"project_id": "HM-SUB", "existing_structure": False, "single_family": True}
    return [
        _work(f"HM-{start + n:03d}", site["key"], *what, shape, facts | {"phase": phase})
        for n, (*what, shape, phase) in enumerate(jobs, 1)
    ]


def _beside(line: shapely.LineString, at: float, side: float) -> tuple[np.ndarray, float]:
    """A place beside a line (positive: left), and the direction of the line there."""
    a, b = (line.interpolate(min(at + d, 1) * line.length) for d in (-0.01, 0.01))
    turn = float(np.arctan2(b.y - a.y, b.x - a.x))
    middle = np.array([a.x + b.x, a.y + b.y]) / 2
    return middle + side * np.array([-np.sin(turn), np.cos(turn)]), turn


#: An embankment under the road, where it meets the ground, along the road's direction.
TOE = [(-110, -34), (-40, -46), (55, -41), (112, -30), (115, 32), (48, 44), (-60, 40), (-112, 28)]


def earthworks(out: Path, made: town.Ground, site: dict, rng: np.random.Generator) -> None:
    """Stockpiles nearer and farther than 200 ft from water, an embankment and its strips."""
    water = shapely.union_all(town.waters_of(made))
    tract = site["tract"].buffer(-25)
    rows = []
    for name, wanted in (("SP-1", 120.0), ("SP-2", 199.7), ("SP-3", 330.0)):
        shape = _at_distance(
            blob(rng, (0, 0), 26, stretch=1.3, points=36), tract, water, wanted, rng
        )
        rows.append(
            {
                "id": name,
                "parcel_id": site["key"],
                "project_id": "HM-SUB",
                "material": "topsoil",
                "geometry": shape,
            }
        )
    files.write_geojson(files.frame(rows, town.ORIGIN), out / "stockpiles.geojson")
    road = shapely.LineString(site["road"])
    toes, strips = [], []
    for k, (at, widths) in enumerate(((0.3, (6.5, 6.5)), (0.71, (6.0, 3.4))), 1):
        spot, ahead = (road.interpolate(at + d, normalized=True) for d in (0, 0.03))
        turn = float(np.arctan2(ahead.y - spot.y, ahead.x - spot.x))
        toe = placed(TOE, np.array([spot.x, spot.y]), turn)
        toe = toe.buffer(8, quad_segs=5).buffer(-6, quad_segs=5).simplify(0.3)
        wide, narrow = toe.buffer(widths[0], quad_segs=10), toe.buffer(widths[1], quad_segs=10)
        left, _ = lt.halves(wide, tuple(toe.centroid.coords[0]), 0.9)
        strip = shapely.union(left, narrow) if widths[0] != widths[1] else wide
        toes.append({"id": f"TOE-{k}", "project_id": "HM-SUB", "geometry": toe})
        strips.append(
            {
                "id": f"STR-{k}",
                "toe_id": f"TOE-{k}",
                "project_id": "HM-SUB",
                "geometry": strip.simplify(0.05),
            }
        )
    files.write_geojson(files.frame(toes, town.ORIGIN), out / "toes.geojson")
    files.write_geojson(files.frame(strips, town.ORIGIN), out / "strips.geojson")


def _at_distance(
    shape: shapely.Polygon,
    tract: shapely.Geometry,
    water: shapely.Geometry,
    wanted: float,
    rng: np.random.Generator,
) -> shapely.Polygon:
    """The shape moved into the tract so that it lies about ``wanted`` feet from water."""
    x0, y0, x1, y1 = tract.bounds
    spots = np.column_stack([rng.uniform(x0, x1, 4000), rng.uniform(y0, y1, 4000)])
    points = shapely.points(spots)
    shapely.prepare(tract)
    fits = shapely.contains(tract, points)
    gap = np.abs(shapely.distance(points, water) - wanted - 24) + np.where(fits, 0, 1e6)
    spot = spots[np.argmin(gap)]
    for _ in range(30):
        moved = affinity.translate(shape, *spot)
        near = shapely.shortest_line(moved, water)
        way = np.diff(np.array(near.coords), axis=0)[0]
        spot = spot + way / max(np.hypot(*way), 1e-9) * (near.length - wanted)
    return moved


def terrain(out: Path, made: town.Ground, site: dict) -> None:
    """Two tiles of the state's heights (metres, UTM), and the subdivision's proposed surface."""
    surface = (made.grid, made.z)
    metres = 1200 / 3937
    hole = blob(np.random.default_rng(3), (4700, 4300), 60)
    for name, low, high, nodata in (
        ("dem_s.tif", -150, 2500, -999999.0),
        ("dem_n.tif", 2500, 5150, None),
    ):
        files.write_dem(
            out / name,
            surface,
            town.ORIGIN,
            crs=UTM,
            cell=5.0,
            box=(-150, low, town.SIZE[0] + 150, high),
            unit=metres,
            void=hole,
            nodata=nodata,
        )
    box = shapely.LineString(site["road"]).buffer(120).bounds
    after = (made.grid, proposed(made, site["road"]))
    files.write_dem(out / "proposed_grades.tif", after, town.ORIGIN, cell=10, box=box)


def proposed(made: town.Ground, road: np.ndarray) -> np.ndarray:
    """The surface after grading: a road bench with banks of 1 on 2."""
    grade = np.interp(np.arange(len(road)), [0, len(road) - 1], made.grid.at(made.z, road[[0, -1]]))
    away, index = nearest(made.grid, road)
    level = grade[index]
    bank = np.clip(away - 18, 0, None) * 0.5
    return np.where(
        made.z > level, np.minimum(made.z, level + bank), np.maximum(made.z, level - bank)
    )
