"""Tables and notes of a sheet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wetgis.outputs.sheets.blocks import Block, table_block, text_block
from wetgis.outputs.words import CAVEATS, number

if TYPE_CHECKING:
    from wetgis.outputs.sheets.content import Item, ScaleCheck
    from wetgis.outputs.sheets.source import SheetData

__all__ = ["line_table", "tables"]

#: Rows of a table beyond this are counted, not printed.
MOST_ROWS = 120
AREAS = (("Wetland", "wetland_sqft"), ("Water", "watercourse_sqft"), ("Buffer", "buffer_sqft"),
         ("Outside", "outside_sqft"), ("Flood", "floodplain_sqft"))  # fmt: skip
STATUS = {"shown": "shown", "in part": "in part", "not shown": "NOT SHOWN"}


def tables(
    data: SheetData,
    ft: float,
    items: Sequence[Item],
    checks: Sequence[ScaleCheck],
    room: tuple[float, float],
) -> list[Block]:
    """Every table and note in the order in which they stand.

    Parameters
    ----------
    data : SheetData
    ft : float
        Survey feet in one unit.
    items, checks
        What the law wants on the map, and at which scale.
    room : (width, scale)
        Of a column, inches; letters against ARCH D's.
    """
    made = [_areas(data, ft, room), _wetlands(data, ft, room)]
    made += [_content(items, room), _checks(checks, room), _sources(data, room), _notes(data, room)]
    return [block for block in made if block is not None]


def line_table(
    rows: Sequence[tuple[str, str, str]], room: tuple[float, float], title: str
) -> Block:
    """Lines that had no room for their bearing on the map."""
    columns = (("Line", 0.7, "left"), ("Bearing", 2.0, "left"), ("Length", 1.1, "right"))
    return table_block(title, columns, rows, *room)


def _capped(rows: list[list[str]]) -> list[list[str]]:
    """Rows that are printed; the last one counts those that are not."""
    if len(rows) <= MOST_ROWS:
        return rows
    rest = len(rows) - MOST_ROWS
    return [*rows[:MOST_ROWS], [f"and {rest} more", *[""] * (len(rows[0]) - 1)]]


def _areas(data: SheetData, ft: float, room: tuple[float, float]) -> Block | None:
    """Areas of the subjects by place, from the measures where there are some."""
    longest = max((len(str(i)) for i in data.subjects["id"]), default=0)
    first = ("Parcel", min(max(1.4, 0.17 * longest), 3.0), "left")
    columns: list[tuple[str, float, str]] = [first, ("Area", 1.0, "right")]
    if data.measures is None:
        frame = data.subjects
        if len(frame) == 0:
            return None
        areas = frame.geometry.area.to_numpy() * ft**2
        rows = [[str(i), number(float(a), "sqft")] for i, a in zip(frame["id"], areas, strict=True)]
        total = ["*Total", number(float(areas.sum()), "sqft")]
        return table_block("Areas, square feet", columns, [*_capped(rows), total], *room)
    kinds = data.measures["subject_kind"].isin(["parcel", "footprint"])
    own = data.measures["subject_id"].isin(set(data.subjects["id"]))
    table = data.measures[kinds & own]
    if len(table) == 0:
        return None
    shown = [(name, column) for name, column in AREAS if table[column].notna().any()]
    columns += [(name, 1.0, "right") for name, _ in shown]
    names = ["area_sqft", *(column for _, column in shown)]
    rows = [[str(row["subject_id"]), *(number(float(row[c]), "sqft") for c in names)]
            for row in table[["subject_id", *names]].to_dict("records")]  # fmt: skip
    parcels = table[table["subject_kind"] == "parcel"]
    out = _capped(rows)
    if len(parcels) > 1:
        sums = [number(float(parcels[c].sum(min_count=len(parcels))), "sqft") for c in names]
        out.append(["*All parcels", *sums])
    return table_block("Areas, square feet", columns, out, *room)


def _wetlands(data: SheetData, ft: float, room: tuple[float, float]) -> Block | None:
    """Each wetland and its area, with the interval where the layer has one."""
    frame = data.frame("wetlands")
    if len(frame) == 0:
        return None
    areas = frame["area_sqft"] if "area_low_sqft" in frame.columns else frame.geometry.area * ft**2
    low, high = (_numbers(frame, name) for name in ("area_low_sqft", "area_high_sqft"))
    rows = []
    for i, name in enumerate(frame["id"].astype(str)):
        spread = (
            f"{number(low[i], 'sqft')} to {number(high[i], 'sqft')}" if low[i] == low[i] else ""
        )
        basis = _cell(frame, "basis", i).replace("_", " ")
        rows.append([name, _cell(frame, "class", i) or _cell(frame, "cowardin", i), basis,
                     number(float(areas.iloc[i]), "sqft"), spread])  # fmt: skip
    columns = [("Wetland", 1.2, "left"), ("Class", 1.0, "left"), ("Basis", 1.1, "left"),
               ("Area", 1.0, "right"), ("95 %", 1.5, "right")]  # fmt: skip
    keep = [0, *[k for k in (1, 2) if any(row[k] for row in rows)], 3]
    keep += [4] if any(row[4] for row in rows) else []
    rows = [[row[k] for k in keep] for row in rows]
    return table_block("Wetlands, square feet", [columns[k] for k in keep], _capped(rows), *room)


def _numbers(frame: Any, name: str) -> Any:
    if name not in frame.columns:
        return np.full(len(frame), np.nan)
    return frame[name].to_numpy(dtype="float64", na_value=np.nan)


def _cell(frame: Any, name: str, i: int) -> str:
    if name not in frame.columns:
        return ""
    value = frame[name].iloc[i]
    return "" if value is None or value != value else str(value)


def _content(items: Sequence[Item], room: tuple[float, float]) -> Block | None:
    """What the law wants on the map, and what the data could not show."""
    if not items:
        return None
    rows = []
    for item in items:
        why = f"{item.what.rstrip('.')}. {item.why[:1].upper()}{item.why[1:]}".rstrip(". ") + "."
        rows.append([item.rule, STATUS[item.status], why, item.cite])
    columns = (("Rule", 0.75, "left"), ("On map", 0.75, "left"), ("What, and what is missing", 2.7,
               "left"), ("Cited", 0.95, "left"))  # fmt: skip
    return table_block("Content asked for", columns, rows, *room)


def _checks(checks: Sequence[ScaleCheck], room: tuple[float, float]) -> Block | None:
    """The scale against what each pack asks."""
    if not checks:
        return None
    columns = (("Law", 1.2, "left"), ("Scale", 0.8, "left"), ("Asked for", 1.7, "left"),
               ("Cited", 1.1, "left"))  # fmt: skip
    rows = [[check.pack, check.outcome, check.says, check.cite] for check in checks]
    return table_block("Scale asked for", columns, rows, *room)


def _sources(data: SheetData, room: tuple[float, float]) -> Block | None:
    """Where each layer comes from."""
    lines = [f"- {kind.replace('_', ' ').capitalize()}: {text}." for kind, text in data.sources]
    if data.dem is not None:
        names = ", ".join(sorted({tile.path.replace("\\", "/").rsplit("/", 1)[-1]
                                  for tile in data.dem.tiles})[:4])  # fmt: skip
        lines.append(f"- Heights: {names}, in {data.dem.band.unit}.")
    return text_block("Sources", lines, *room) if lines else None


def _notes(data: SheetData, room: tuple[float, float]) -> Block:
    """What the reader must know."""
    notes = [
        "- This drawing was made from data, not from a survey of the ground. Bearings and lengths "
        "are those of the layers.",
        *(f"- {text}" for text in CAVEATS[:4]),
    ]
    notes += [f"- About the input: {text}" for text in data.issues[:8]]
    if len(data.issues) > 8:
        notes.append(f"- And {len(data.issues) - 8} more remarks on the input; the run's issues "
                     "have them all.")  # fmt: skip
    return text_block("Notes", notes, *room)
