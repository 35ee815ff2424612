"""The report and the draft finding, put together from the facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wetgis.outputs.package.paper import Blank, Document, Heading, Part, Picture, Table, Text
from wetgis.outputs.package.picture import draw_change_map, ground_around

if TYPE_CHECKING:
    from wetgis.amendment import Amendment

__all__ = ["finding", "report"]

WIDE, HIGH = 6.6, 4.1
#: Rows of the longest tables that paper shows; the workbook has them all.
MOST = 400
_NUMBERS = frozenset({1, 2, 3, 4})


def report(amendment: Amendment, facts: dict[str, Any]) -> Document:
    """What changes and for whom, in full."""
    own = [c for c in facts["changes"] if c["what"] != "buffer" and not c["reason"]]
    thin = [c for c in facts["changes"] if c["reason"]]
    parts: list[Part] = [
        Text(f"{facts['place'] or 'No law in force'}. Prepared {facts['date']}; areas are square "
             f"feet of the grid of {facts['crs']}."),
        Text(f"What was compared: {facts['kind']}; {facts['mode']}. The buffer"
             f"{' of ' + facts['buffer_ft'] + ' ft' if facts['buffer_ft'] != 'not known' else ''} "
             "is recomputed from all features of the map, not from those that change."),
        *_accepted(facts),
        Heading("What changes"),
        *(Text(line, mark="•") for line in facts["headlines"]),
        _totals(facts),
        *_map(amendment),
        Heading("Changes of the map"),
        *_changes(own),
        *_wholes(facts),
        *_shifts(facts),
        Heading("Affected parcels"),
        *_parcels(facts["parcels"]),
        Heading("Parcels that slivers alone reach"),
        *_slivers(facts["slivers"], thin),
        *_turned(facts),
        *_history(facts),
        Heading("What the law says about the map"),
        *_law(facts),
        *_origin(facts),
    ]  # fmt: skip
    return Document(f"Amendment of the map: {facts['title']}", tuple(parts), _foot(facts))


def finding(amendment: Amendment, facts: dict[str, Any]) -> Document:
    """A draft for the body that decides, with blanks for all that it decides."""
    body = [
        Text("DRAFT. Nothing here is decided: what stands below was measured, and the lines are "
             "for the body to fill in.", bold=True),
        Heading("Facts"),
        *(Text(line, mark="•") for line in facts["headlines"]),
        _totals(facts),
        *_changes([c for c in facts["changes"] if c["what"] != "buffer" and not c["reason"]]),
        *_map(amendment),
        Heading("What the law says"),
        *_law(facts),
        *(Text(f"{v['says']} [{v['cite']}]", mark="•") for v in facts["votes"]),
        Heading("Finding"),
        *(Blank(line) for line in facts["blanks"]),
        Heading("How far these facts go"),
        *(Text(line, small=True) for line in facts["caveats"]),
    ]  # fmt: skip
    return Document(f"Draft finding: {facts['title']}", tuple(body), _foot(facts))


def _foot(facts: dict[str, Any]) -> str:
    return f"{facts['title']}, {facts['date']}. Measured by wetgis; a screening, not a decision."


def _accepted(facts: dict[str, Any]) -> list[Part]:
    if facts["accepted"] is None:
        return []
    ids = ", ".join(facts["accepted"]) or "none"
    return [
        Text(f"Adopted of what was proposed: {ids}. All below is about these alone.", bold=True)
    ]


def _totals(facts: dict[str, Any]) -> Table:
    names = ("what", "before", "added", "removed", "after")
    return Table(
        ("Sq ft", "Before", "Added", "Removed", "After"),
        tuple(tuple(row[n] for n in names) for row in facts["totals"]), (1.4, 1, 1, 1, 1), _NUMBERS,
    )  # fmt: skip


def _map(amendment: Amendment) -> list[Part]:
    """All changes on one map; nothing where there is none."""
    if not len(amendment.changes):
        return []
    shapes = amendment.changes.geometry.to_numpy()
    margin = 0.05 * max(shapes_span(shapes), 1.0)
    bounds = ground_around(shapes, WIDE, HIGH, margin)

    def draw(ax: Any) -> None:
        draw_change_map(ax, amendment, bounds)

    return [Heading("Map of the changes"), Picture(draw, WIDE, HIGH)]


def shapes_span(shapes: Any) -> float:
    """The longer side of the box around geometries."""
    import shapely

    x0, y0, x1, y1 = shapely.total_bounds(shapes)
    return float(max(x1 - x0, y1 - y0))


def _changes(rows: list[dict[str, str]]) -> list[Part]:
    if not rows:
        return [Text("None.")]
    names = ("change_id", "feature_id", "what", "change", "size", "shift")
    return [
        Table(("Change", "Feature", "What", "", "Size", "Line moved"),
              tuple(tuple(r[n] for n in names) for r in rows[:MOST]),
              (1.3, 1.2, 1, 0.8, 1.6, 0.9), frozenset({4, 5})),
        *_more(rows),
    ]  # fmt: skip


def _more(rows: list[Any]) -> list[Part]:
    over = len(rows) - MOST
    return [Text(f"{over:,} more stand in the workbook.")] if over > 0 else []


def _wholes(facts: dict[str, Any]) -> list[Part]:
    if not facts["wholes"]:
        return []
    names = ("side", "feature_id", "size", "became")
    return [
        Heading("Whole features, pieces that touch taken as one"),
        Table(("Side", "Feature", "Sq ft", "Became"),
              tuple(tuple(r[n] for n in names) for r in facts["wholes"][:MOST]),
              (0.8, 2.6, 1.2, 1), frozenset({2})),
    ]  # fmt: skip


def _shifts(facts: dict[str, Any]) -> list[Part]:
    return [
        Text(f"The boundary of {s['feature_id']} moves by at most {s['hausdorff']} ft (Hausdorff).",
             mark="•")
        for s in facts["shifts"][:MOST]
    ]  # fmt: skip


def _parcels(rows: list[dict[str, str]]) -> list[Part]:
    if not rows:
        return [Text("None.")]
    names = ("parcel_id", "wetland_change", "buffer_change", "before", "after", "note")
    return [
        Text(f"{len(rows):,} parcels; regulated ground before and after, and what changes, sq ft."),
        Table(("Parcel", "Wetland +/-", "Buffer +/-", "Regulated before", "Regulated after", ""),
              tuple(tuple(r[n] for n in names) for r in rows[:MOST]),
              (1.7, 1, 1, 1.1, 1.1, 1.5), _NUMBERS),
        *_more(rows),
    ]  # fmt: skip


def _slivers(rows: list[dict[str, str]], changes: list[dict[str, str]]) -> list[Part]:
    parts: list[Part] = []
    if rows:
        parts.append(
            Table(("Parcel", "Regulated +/-, sq ft", "Why"),
                  tuple((r["parcel_id"], r["change"], r["note"]) for r in rows[:MOST]),
                  (1.4, 1, 3), frozenset({1})))  # fmt: skip
    else:
        parts.append(Text("None."))
    if changes:
        parts.append(Text(f"{len(changes):,} pieces of the change are slivers themselves; they are "
                          "in the layers and the workbook, each with its reason."))  # fmt: skip
    return parts


def _turned(facts: dict[str, Any]) -> list[Part]:
    rows = facts["turned"]
    if not rows:
        return []
    names = ("subject", "rule", "before", "after", "cite")
    return [
        Heading("Findings that turn"),
        Table(("Subject", "Rule", "Before", "After", "Where"),
              tuple(tuple(r[n] for n in names) for r in rows[:MOST]),
              (1.8, 0.8, 1.1, 1.1, 1.9)),
        *_more(rows),
    ]  # fmt: skip


def _history(facts: dict[str, Any]) -> list[Part]:
    rows = facts["history"]
    if not rows:
        return []
    names = ("feature_id", "event", "attribute", "before", "after")
    return [
        Heading("History of the features"),
        Table(("Feature", "Event", "Attribute", "Before", "After"),
              tuple(tuple(r[n] for n in names) for r in rows[:MOST]), (1.2, 0.9, 1.1, 1.6, 1.6)),
    ]  # fmt: skip


def _law(facts: dict[str, Any]) -> list[Part]:
    if not facts["citations"]:
        return [Text("No law in force here says how its map is amended; see the chapter itself.")]
    return [Text(f"{c['says']} [{c['cite']}]", mark="•") for c in facts["citations"]]


def _origin(facts: dict[str, Any]) -> list[Part]:
    names = ("kind", "path", "layer", "features", "crs", "sha256")
    return [
        Heading("What it was made from"),
        Table(("Kind", "File", "Layer", "Features", "Coordinates", "SHA-256"),
              tuple(tuple(s[n] for n in names) for s in facts["sources"]),
              (1, 1.7, 1.1, 0.7, 1.2, 1.2), frozenset({3})),
        *(Text(f"{i['layer']}: {i['message']}", mark="!", small=True)
          for i in facts["issues"][:40]),
        Text(facts["audit"], small=True),
        Heading("How far this goes"),
        *(Text(line, small=True) for line in facts["caveats"]),
    ]  # fmt: skip
