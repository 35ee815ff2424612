"""What an amendment's papers say, as plain texts: what a town's template can show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from wetgis.amendment.words import headlines
from wetgis.outputs.words import CAVEATS, CITE_WORDS, OUTCOME_WORDS, number

if TYPE_CHECKING:
    from wetgis.amendment import Amendment
    from wetgis.packs import Pack

__all__ = ["amendment_facts", "citations", "votes"]

#: Kinds of rules that speak of the map and of who decides about it.
_OF_THE_MAP = ("unmapped_finding", "map_caveat", "boundary_basis")
MODE_WORDS = {
    "by_id": "features of the map are replaced, added or removed by their id",
    "whole": "the proposal is the whole new map",
    "within": "all inside a stated extent is as proposed; outside the map stays",
}


def sqft(value: float) -> str:
    """Square feet to the hundredth: totals must be seen to close."""
    return "not known" if value != value else f"{value:,.2f}"


def citations(packs: tuple[Pack, ...]) -> list[dict[str, str]]:
    """What the packs in force say about the map, its boundaries and a finding."""
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for pack in packs:
        for rule in (r for r in pack.rules if r.kind in _OF_THE_MAP):
            rows.setdefault((pack.id, rule.id), _law(pack, rule.id, rule, rule.kind))
        named = {r.id for r in pack.rules if r.kind in _OF_THE_MAP}
        for entry in pack.model.checklist:
            if entry.rule in named or "map" in entry.says.lower().split():
                rows.setdefault((pack.id, entry.rule), _law(pack, entry.rule, entry))
        if pack.model.measure.buffer_ft:
            limit = pack.limit(pack.model.measure.buffer_ft)
            rows[pack.id, "buffer"] = _law(pack, "buffer", limit)
    return list(rows.values())


def _law(pack: Pack, rule: str, source: Any, kind: str = "") -> dict[str, str]:
    status = CITE_WORDS.get(source.cite_status, "")
    cite = f"{source.cite} ({status})" if status else source.cite
    return {"pack": pack.title, "rule": rule, "kind": kind, "says": source.says, "cite": cite}


def votes(packs: tuple[Pack, ...]) -> list[dict[str, str]]:
    """How many votes a finding needs, where a pack tells."""
    rows = []
    for pack in packs:
        for rule in pack.rules:
            if "votes" in rule.parameters:
                limit = pack.limit(rule.parameters["votes"])
                if limit.value == limit.value:
                    rows.append({"pack": pack.title, "needed": f"{limit.value:.0f}",
                                 "says": limit.says, "cite": limit.cite})  # fmt: skip
    return rows


def blanks(packs: tuple[Pack, ...]) -> list[str]:
    """What people decide and write down themselves."""
    needed = "; ".join(f"{v['needed']} needed, {v['cite']}" for v in votes(packs))
    return [
        "Application or file number",
        "Date of the public hearing",
        "Boundary found in the field by, and date",
        "Surveyor, licence number and date of the survey",
        "The body finds, in writing, that the changes",
        f"Votes in favour ({needed})" if needed else "Votes in favour",
        "Votes against, abstentions, absent",
        "Changes adopted, if not all (ids)",
        "Date of adoption, and day from which it holds",
        "Date of filing with the clerk",
        "Signed for the body",
    ]


def amendment_facts(amendment: Amendment) -> dict[str, Any]:
    """Everything that the papers say."""
    parcels = amendment.parcels
    real, thin = (parcels[parcels["sliver"] == s] for s in (False, True))
    run = amendment.provenance
    turned = amendment.findings()
    return {
        "title": amendment.title or "Map amendment",
        "date": amendment.site_before.as_of.isoformat(),
        "kind": amendment.kind,
        "mode": MODE_WORDS[amendment.mode],
        "accepted": run["amendment"]["accept"],
        "place": "; ".join(p.place for p in amendment.packs),
        "law": [p.title for p in amendment.packs],
        "crs": amendment.changes.crs.name,
        "buffer_ft": number(amendment.site_before.measure.buffer_ft, "").replace(".00", ""),
        "headlines": headlines(amendment),
        "totals": [_total(row) for row in amendment.totals.to_dict("records")],
        "changes": [_change(r) for r in amendment.changes.to_dict("records")],
        "parcels": [_parcel(row) for row in real.to_dict("records")],
        "slivers": [_parcel(row) for row in thin.to_dict("records")],
        "wholes": [_whole(row) for row in amendment.wetlands.to_dict("records")],
        "shifts": [
            {"feature_id": str(r["feature_id"]), "hausdorff": number(r["hausdorff_ft"], "ft")}
            for r in amendment.shift.to_dict("records")
        ],
        "history": amendment.history.astype(str).to_dict("records"),
        "turned": [_turned(row) for row in turned.to_dict("records")],
        "citations": citations(amendment.packs),
        "votes": votes(amendment.packs),
        "blanks": blanks(amendment.packs),
        "sources": _sources(run),
        "issues": _issues(amendment.issues),
        "caveats": list(CAVEATS),
        "audit": _audit(run),
    }  # fmt: skip


def _total(row: Mapping[Any, Any]) -> dict[str, str]:
    sides = ("before", "added", "removed", "after")
    return {"what": str(row["what"]).capitalize(), **{c: sqft(row[f"{c}_sqft"]) for c in sides}}


def _change(row: Mapping[Any, Any]) -> dict[str, str]:
    size = f"{sqft(row['area_sqft'])} sq ft"
    if row["length_ft"] > 0:
        size = f"{number(row['length_ft'], 'ft')} ft of line"
    moved = row["shift_ft"]
    return {
        "change_id": str(row["change_id"]), "what": str(row["what"]), "change": str(row["change"]),
        "feature_id": str(row["feature_id"]), "size": size,
        "shift": f"{number(moved, 'ft')} ft" if moved == moved else "",
        "reason": str(row["reason"]),
    }  # fmt: skip


def _parcel(row: Mapping[Any, Any]) -> dict[str, str]:
    notes = [word for flag, word in (("newly_regulated", "newly regulated"),
                                     ("released", "released")) if row[flag]]  # fmt: skip
    if row["doubt"]:
        notes.append("within the accuracy of the parcel map")
    if row["reason"]:
        notes.append(str(row["reason"]))
    out = {"parcel_id": str(row["parcel_id"]), "note": "; ".join(notes),
           "change_ids": str(row["change_ids"]).replace(";", "; ")}  # fmt: skip
    for side in ("before", "after", "change"):
        out[side] = sqft(row[f"regulated_{side}_sqft"])
        for place in ("wetland", "watercourse", "buffer"):
            out[f"{place}_{side}"] = sqft(row[f"{place}_{side}_sqft"])
    return out


def _whole(row: Mapping[Any, Any]) -> dict[str, str]:
    return {"side": str(row["side"]), "feature_id": str(row["feature_id"]).replace("+", " + "),
            "size": sqft(row["whole_sqft"]), "became": str(row["became"])}  # fmt: skip


def _turned(row: Mapping[Any, Any]) -> dict[str, str]:
    return {
        "subject": f"{row['subject_kind']} {row['subject_id']}",
        "rule": str(row["rule"]),
        "before": OUTCOME_WORDS.get(row["outcome_before"], "Not asked"),
        "after": OUTCOME_WORDS.get(row["outcome_after"], "Not asked"),
        "cite": str(row["cite"]),
    }


def _sources(run: dict[str, Any]) -> list[dict[str, str]]:
    wanted = ("wetlands", "watercourses", "adopted_wetlands", "adopted_watercourses", "parcels",
              "municipality", "proposed")  # fmt: skip
    return [
        {"kind": str(i["kind"]).replace("_", " "), "path": str(i["path"]),
         "layer": str(i["layer"] or ""), "crs": str(i["crs"] or ""),
         "features": f"{i['features']:,}", "sha256": str(i["sha256"])[:12]}
        for i in run["inputs"] if i["kind"] in wanted
    ]  # fmt: skip


def _issues(issues: pd.DataFrame) -> list[dict[str, str]]:
    rows = issues[issues["severity"] != "note"].drop_duplicates(["layer", "message"])
    return [
        {"severity": r["severity"], "layer": r["layer"], "message": r["message"]}
        for r in rows.to_dict("records")
    ]


def _audit(run: dict[str, Any]) -> str:
    audit = run["audit"]
    return (
        f"The outline of the buffer was measured at {audit['points']:,} points against the exact "
        f"distance: it lies at most {audit['inside_ft']:.4f} ft inside and "
        f"{audit['outside_ft']:.4f} ft outside of it."
    )
