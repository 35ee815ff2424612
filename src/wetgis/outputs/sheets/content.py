"""What a law wants on the map, against what the data can show; and the scale it asks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wetgis.outputs.words import number

if TYPE_CHECKING:
    from wetgis.outputs.sheets.source import SheetData
    from wetgis.packs import Pack

__all__ = ["Item", "ScaleCheck", "map_content", "scale_checks"]

#: Provisions of checklists that are about a map's content, and what they need.
MAP_CHECKLIST = {"MON-28": "contours", "MON-31": "no layer"}
#: What a plan reader expects beside the shape, by kind: any one column of each group.
ATTRIBUTES: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "structures": (("use", ("use", "type", "kind")), ("capacity", ("capacity",))),
    "roads": (("surface", ("surface", "surf_type", "pavement")), ("width", ("width_ft", "width"))),
    "utilities": (("what it carries", ("kind", "type", "utility")),),
    "vegetation": (("description", ("description", "kind", "cover", "type", "name")),),
    "floodplain": (("zone", ("zone",)),),
}


@dataclass(frozen=True)
class Item:
    """One thing that a law wants on the map: ``shown``, ``in part`` or ``not shown``, and why."""

    pack: str
    rule: str
    what: str
    status: str
    why: str
    cite: str


@dataclass(frozen=True)
class ScaleCheck:
    """A map's scale against a pack's: ``outcome`` is ``PASS``, ``FAIL`` or ``not stated``."""

    pack: str
    outcome: str
    says: str
    cite: str


def scale_checks(ft_per_in: float, packs: Sequence[Pack]) -> list[ScaleCheck]:
    """Whether a scale is as large as each pack asks.

    Parameters
    ----------
    ft_per_in : float
        Feet an inch of the drawing.
    packs : sequence of Pack
        The number is the parameter that the pack's ``[drawing]`` names; a pack without one says
        nothing.

    Returns
    -------
    list of ScaleCheck
        One a pack that names one.
    """
    made = []
    for pack in packs:
        limit = _limit(pack, pack.model.drawing.scale_ft_per_in)
        if limit is None:
            continue
        if limit.value != limit.value:
            made.append(ScaleCheck(pack.id, "not stated", limit.missing, limit.cite))
            continue
        # a larger scale has fewer feet an inch
        fits = ft_per_in <= limit.value * (1 + 1e-12)
        says = f"1 in = {number(limit.value)} ft or larger"
        made.append(ScaleCheck(pack.id, "PASS" if fits else "FAIL", says, limit.cite))
    return made


def contour_interval(packs: Sequence[Pack], default: float) -> float:
    """The smallest interval of contours that a pack asks for, else the default."""
    limits = [_limit(pack, pack.model.drawing.contours_ft) for pack in packs]
    values = [limit.value for limit in limits if limit is not None and limit.value == limit.value]
    return min(values, default=default)


def _limit(pack: Pack, name: str | None) -> Any:
    """A parameter of a pack, None where it names none."""
    return None if name is None else pack.limit(name)


def map_content(data: SheetData, *, contours: str, datum: str, gap: str = "") -> list[Item]:
    """What each pack wants on the map, and whether the layers could show it.

    Parameters
    ----------
    data : SheetData
        The layers.
    contours : str
        The interval drawn, as ``2 ft``; empty where none could be.
    datum : str
        The vertical datum as the DEM names it; empty where it does not.
    gap : str
        Why there are no contours, or not everywhere; empty where they are.

    Returns
    -------
    list of Item
        For the rules of a pack that say what must be shown, and the provisions of
        its checklist that are about the map, in the order of their numbers.
    """
    items: list[Item] = []
    for pack in data.packs:
        own = [_of_rule(data, pack, rule) for rule in pack.rules
               if rule.answers.met == "must_be_shown"]  # fmt: skip
        for entry in pack.model.checklist:
            if entry.rule in MAP_CHECKLIST:
                status, why = _special(MAP_CHECKLIST[entry.rule], contours, datum, gap)
                own.append(Item(pack.id, entry.rule, entry.says, status, why, entry.cite))
        # a place with no such rules has no map of that sort
        items += sorted(own, key=lambda item: item.rule)
    return items


def _special(need: str, contours: str, datum: str, gap: str) -> tuple[str, str]:
    """Contours, and what no layer carries."""
    if need != "contours":
        return "not shown", "no layer carries it; to be supplied by borings or a soil report"
    if not contours:
        return "not shown", gap or "no DEM was given"
    remarks = [gap] if gap else []
    remarks += [] if datum else ["the DEM does not name its vertical datum"]
    drawn = f"drawn every {contours}{' on ' + datum if datum else ''}"
    return "in part" if remarks else "shown", "; ".join([drawn, *remarks])


def _of_rule(data: SheetData, pack: Pack, rule: Any) -> Item:
    """One rule: its layers given or not, their attributes, their extent."""
    if not rule.features:
        return _of_parcels(data, pack, rule)
    kinds = list(rule.features)
    missing = [kind for kind in kinds if not data.given(kind)]
    remarks = [f"no layer of {_plural(kind)}" for kind in missing]
    counts = []
    for kind in kinds:
        if kind not in missing:
            frame = data.frame(kind)
            counts.append(f"{_plural(kind)}: {len(frame) if len(frame) else 'none here'}")
            remarks += _lacking(kind, frame)
            if kind not in data.complete:
                remarks.append(f"the extent of {_plural(kind)} is not stated")
    if len(missing) == len(kinds):
        status = "not shown"
    else:
        status = "in part" if remarks else "shown"
    return Item(pack.id, rule.id, rule.title, status, "; ".join([*counts, *remarks]), rule.cite)


def _of_parcels(data: SheetData, pack: Pack, rule: Any) -> Item:
    """The parcels that the sheet is about."""
    if not data.given("parcels"):
        return Item(pack.id, rule.id, rule.title, "not shown", "no layer of parcels", rule.cite)
    n = int(data.frame("parcels")["id"].isin(set(data.subjects["id"])).sum())
    why = f"{n} parcel{'' if n == 1 else 's'} of the site"
    return Item(pack.id, rule.id, rule.title, "shown" if n else "not shown", why, rule.cite)


def _plural(kind: str) -> str:
    return kind.replace("_", " ")


def _lacking(kind: str, frame: Any) -> list[str]:
    """Attributes that a reader expects and that no column holds."""
    if len(frame) == 0:
        return []
    there = {str(column).lower() for column in frame.columns if frame[column].notna().any()}
    return [f"{what} of {_plural(kind)} is not given"
            for what, columns in ATTRIBUTES.get(kind, ())
            if not there & set(columns)]  # fmt: skip
