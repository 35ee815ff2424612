"""The tax map: numbers, addresses, uses, and the faults that real tax maps have."""

from __future__ import annotations

from typing import Any

import numpy as np
import shapely

from .lots import Lot, flag_split

ACRE = 43_560.0


def with_rear(lots: list[Lot], rear: list[shapely.Polygon]) -> list[Lot]:
    """Lots and the land behind them; that is open land, reached from the nearest street."""
    fronts = shapely.points(np.array([lot.front for lot in lots]))
    tree = shapely.STRtree(fronts)
    out = list(lots)
    for shape in rear:
        near = lots[tree.nearest(shape)]
        out.append(Lot(shape, near.street, near.front, near.along, use="open"))
    return out


def split_flags(
    lots: list[Lot], wanted: int, rng: np.random.Generator, *, least: float
) -> list[Lot]:
    """Some of the deepest lots made into a front lot and a flag lot."""
    depth = [2 * shapely.Point(lot.front).distance(lot.shape.centroid) for lot in lots]
    out = list(lots)
    for k in np.argsort(depth)[::-1]:
        lot = lots[k]
        if wanted == 0 or lot.use != "house" or lot.shape.area < least:
            continue
        made = flag_split(lot, share=0.5, pole=20)
        if made:
            out[out.index(lot)] = made[0]
            out.append(made[1])
            wanted -= 1
    return out


def join_pairs(lots: list[Lot], wanted: int, tag: str, rng: np.random.Generator) -> None:
    """Some pairs of neighbours made into one lot, in place (a condominium's ground)."""
    order = rng.permutation(len(lots))
    for k in order:
        if wanted == 0:
            return
        if k >= len(lots) or lots[k].use != "house" or lots[k].tags:
            continue
        for m, other in enumerate(lots):
            shared = lots[k].shape.intersection(other.shape).length if m != k else 0
            if (
                shared > 100
                and other.use == "house"
                and not other.tags
                and other.street == lots[k].street
            ):
                union = shapely.union(lots[k].shape, other.shape, grid_size=0.01)
                if union.geom_type == "Polygon":
                    lots[k].shape = union
                    lots[k].tags.add(tag)
                    lots[k].use = tag
                    del lots[m]
                    wanted -= 1
                    break


def join_across(lots: list[Lot], wanted: int, rng: np.random.Generator) -> None:
    """Some lots that own a strip on the other side of the street: one record in two parts."""
    for k in rng.permutation(len(lots)):
        if wanted == 0 or k >= len(lots):
            return
        lot = lots[k]
        if lot.use != "house" or lot.tags:
            continue
        for m, other in enumerate(lots):
            gap = lot.shape.distance(other.shape)
            if 40 < gap < 65 and other.use == "house" and not other.tags:
                lot.shape = shapely.MultiPolygon([lot.shape, other.shape])
                lot.tags.add("multipart")
                del lots[m]
                wanted -= 1
                break


def numbered(
    lots: list[Lot], swis: str, section: int, rng: np.random.Generator
) -> list[dict[str, Any]]:
    """Records of the tax map, a block after the other, in the order of the shore of each block."""
    shapes = np.array([lot.shape for lot in lots])
    block = _blocks(shapes)
    corner = shapely.bounds(shapes)
    order = np.lexsort((corner[:, 0], -corner[:, 3], block))
    counters: dict[int, int] = {}
    doors: dict[str, int] = {}
    rows = []
    for k in order:
        lot, b = lots[k], int(block[k])
        counters[b] = counters.get(b, 0) + 1
        doors[lot.street] = doors.get(lot.street, 0) + 2
        area = shapely.area(shapes[k])
        rows.append(
            {
                "SWIS": swis,
                "PRINT_KEY": f"{section + b // 9:03d}.-{b % 9 + 1}-{counters[b]:02d}",
                "LOC_UNIT": "",
                "ADDRESS": f"{doors[lot.street]} {lot.street}",
                "PROP_CLASS": {"house": "210", "open": "330", "condo": "411"}[lot.use],
                "ACRES": round(float(area / ACRE * rng.normal(1, 0.002)), 3),
                "OWNER": f"Owner {k + 1:04d}",
                "ROLL_YR": 2026,
                "lot": lot,
                "geometry": lot.shape,
            }
        )
    return rows


def _blocks(shapes: np.ndarray) -> np.ndarray:
    """Which lots hang together: blocks, numbered from the north-west."""
    tree = shapely.STRtree(shapes)
    a, b = tree.query(shapes, predicate="dwithin", distance=1.0)
    label = np.arange(len(shapes))
    for _ in range(len(shapes)):
        lower = label.copy()
        np.minimum.at(lower, a, label[b])
        if (lower == label).all():
            break
        label = lower
    _, block = np.unique(label, return_inverse=True)
    return block


def condominium(rows: list[dict[str, Any]], units: int, *, same_key: bool) -> list[dict[str, Any]]:
    """One building's ground once a unit: identical outlines, told apart by the unit."""
    found = next(r for r in rows if r["lot"].use == "condo" and not r["LOC_UNIT"])
    at = rows.index(found)
    stack = []
    for unit in range(1, units + 1):
        key = found["PRINT_KEY"] if same_key else f"{found['PRINT_KEY']}./{100 + unit}"
        stack.append(
            found
            | {
                "PRINT_KEY": key,
                "LOC_UNIT": str(100 + unit),
                "OWNER": f"{found['OWNER']}-{unit}",
                "ACRES": round(found["ACRES"] / units, 2),
            }
        )
    return rows[:at] + stack + rows[at + 1 :]


def neighbours(rows: list[dict[str, Any]], number: int) -> list[tuple[int, int]]:
    """Pairs of plain lots with a long common line, no lot twice."""
    pairs, used = [], set()
    shapes = np.array([r["geometry"] for r in rows])
    tree = shapely.STRtree(shapes)
    for k, row in enumerate(rows):
        if row["lot"].use != "house" or row["lot"].tags or k in used or k % 7:
            continue
        for m in tree.query(row["geometry"], predicate="touches"):
            other = rows[m]["lot"]
            if m in used or other.use != "house" or other.tags:
                continue
            if row["geometry"].intersection(shapes[m]).length > 60:
                pairs.append((k, int(m)))
                used |= {k, int(m)}
                break
        if len(pairs) == number:
            break
    return pairs


def spoil(rows: list[dict[str, Any]]) -> dict[str, list[str]]:
    """Real tax maps' faults, in place; which record has which is returned for the tests."""
    overlap, gap, twice = neighbours(rows, 3)
    a, b = overlap
    line = rows[a]["geometry"].intersection(rows[b]["geometry"])
    grown = rows[a]["geometry"].union(line.buffer(0.3, cap_style="flat"))
    rows[a]["geometry"] = max(shapely.get_parts(grown), key=shapely.area)
    c, d = gap
    line = rows[c]["geometry"].intersection(rows[d]["geometry"])
    shrunk = rows[c]["geometry"].difference(line.buffer(0.2, cap_style="square"))
    rows[c]["geometry"] = max(shapely.get_parts(shrunk), key=shapely.area)
    e, f = twice
    rows[f]["PRINT_KEY"] = rows[e]["PRINT_KEY"]
    stale = next(r for r in rows if r["lot"].use == "open")
    stale["ACRES"] = round(stale["ACRES"] * 1.6, 2)
    blank = rows[-1] | {"PRINT_KEY": "099.-1-01", "ADDRESS": "", "geometry": None, "ACRES": 0.25}
    rows.append(blank)
    return {
        "overlap": [rows[a]["PRINT_KEY"], rows[b]["PRINT_KEY"]],
        "gap": [rows[c]["PRINT_KEY"], rows[d]["PRINT_KEY"]],
        "twice": [rows[e]["PRINT_KEY"]],
        "stale": [stale["PRINT_KEY"]],
        "null": ["099.-1-01"],
    }
