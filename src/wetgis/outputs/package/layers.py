"""The amendment's layers as one styled GeoPackage."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from wetgis.outputs.geopackage import Look, write_layers
from wetgis.outputs.package.picture import CHANGE_LOOK
from wetgis.outputs.palette import LAYER_STYLES, SUBJECT_LINE, LayerStyle
from wetgis.outputs.words import CAVEATS
from wetgis.schema import SCHEMA_VERSION

if TYPE_CHECKING:
    from wetgis.amendment import Amendment

__all__ = ["write_amendment_geopackage"]

_SIDES = ("wetlands", "watercourses", "buffer")


def write_amendment_geopackage(amendment: Amendment, path: Path, findings: pd.DataFrame) -> None:
    """Write all layers, those of the change on top."""
    changes = amendment.changes
    changes = changes.assign(what_changes=changes["what"] + " " + changes["change"])
    parcels = amendment.parcels.assign(effect=_effects(amendment.parcels))
    layers: dict[str, Any] = {
        "changes": changes, "parcels": parcels, "adopted": amendment.adopted,
        "superseded": amendment.superseded,
    }  # fmt: skip
    layers |= {n: f for n, f in amendment.layers.items() if n != "municipality"}
    if "municipality" in amendment.layers:
        layers["municipality"] = amendment.layers["municipality"]
    layers |= {
        "totals": amendment.totals, "history": amendment.history,
        "whole_features": amendment.wetlands,
        "findings_turned": findings, "issues": amendment.issues, "about": _about(amendment),
    }  # fmt: skip
    looks = {name: look for name in layers if (look := _look(name)) is not None}
    write_layers(layers, path, looks)


def _effects(parcels: pd.DataFrame) -> list[str]:
    """One word a parcel, for the map."""
    return [
        "sliver" if s else "newly regulated" if n else "released" if r else "changed"
        for s, n, r in zip(parcels["sliver"], parcels["newly_regulated"], parcels["released"],
                           strict=True)
    ]  # fmt: skip


def _about(amendment: Amendment) -> pd.DataFrame:
    rows = [("schema_version", str(SCHEMA_VERSION)), ("title", amendment.title),
            ("as_of", amendment.site_before.as_of.isoformat()),
            ("kind", amendment.kind), ("mode", amendment.mode)]  # fmt: skip
    rows += [("caveat", text) for text in CAVEATS]
    return pd.DataFrame(rows, columns=["name", "text"])


def _look(name: str) -> Look | None:
    """How a layer is drawn, in the colours of the papers; None for tables."""
    if name == "changes":
        return Look(_changes(), "what_changes")
    if name == "parcels":
        return Look(_parcels(), "effect")
    kind, _, side = name.rpartition("_")
    if kind in _SIDES:
        base = LAYER_STYLES[kind]
        before = side != "after"
        style = LayerStyle(f"{base.label}, {side}", "" if before else base.fill, base.line,
                           0.4 if before else base.width, base.hatch, before)  # fmt: skip
        return Look({name: style})
    if name in ("adopted", "superseded"):
        old = name == "superseded"
        line = "#7a1f3d" if old else "#0e3a2a"
        return Look({name: LayerStyle(name.capitalize(), "", line, 0.5, False, old)})
    return Look({name: LAYER_STYLES[name]}) if name in LAYER_STYLES else None


def _changes() -> dict[str, LayerStyle]:
    made = {}
    for (what, sign), look in reversed(CHANGE_LOOK.items()):
        gone = sign == "removed"
        fill = look["edgecolor"] if gone else look["facecolor"]
        made[f"{what} {sign}"] = LayerStyle(
            f"{what.capitalize()} {sign}", fill, look["edgecolor"], 0.3, gone
        )
    return made


def _parcels() -> dict[str, LayerStyle]:
    return {
        "newly regulated": LayerStyle("Newly regulated", "#d4785a", SUBJECT_LINE, 0.3),
        "released": LayerStyle("Released", "#c0b2dc", SUBJECT_LINE, 0.3),
        "changed": LayerStyle("More or less regulated", "#f7e4ad", SUBJECT_LINE, 0.3),
        "sliver": LayerStyle("A sliver alone", "#f6f4ee", SUBJECT_LINE, 0.3, False, True),
    }
