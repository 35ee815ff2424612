"""One set of colours for the report, the layers in QGIS, the plots and the cards.

Chosen to be told apart without red and green, and with a dark line on every fill.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["LAYER_STYLES", "PLACE_COLOURS", "STATUS_COLOURS", "LayerStyle"]

#: Fill of a subject by its status.
STATUS_COLOURS = {
    "on_feature": "#d4785a",
    "in_buffer": "#efbf76",
    "touching": "#f7e4ad",
    "indicator": "#c0b2dc",
    "unknown": "#cbcbc5",
    "none_found": "#f6f4ee",
}
#: Line around a subject, whatever its status.
SUBJECT_LINE = "#6f6a60"
#: Fill of a part of a subject by its place.
PLACE_COLOURS = {
    "wetland": "#5f9f86",
    "watercourse": "#5b97c9",
    "buffer": "#f3d6a0",
    "outside": "#f4f2ec",
    "unmapped": "#bcbcb6",
    "beyond_limit": "#dddad2",
}


@dataclass(frozen=True)
class LayerStyle:
    """How the features of one layer are drawn; widths in millimetres on paper."""

    label: str
    fill: str
    line: str
    width: float = 0.26
    hatch: bool = False
    dashed: bool = False


LAYER_STYLES = {
    "municipality": LayerStyle("Municipal limit", "", "#3d3a34", 0.5, dashed=True),
    "floodplain": LayerStyle("Floodplain", "#bcd7e8", "#7fa9c6", 0.2),
    "soils": LayerStyle("Soils", "#e6dcc4", "#b8a67c", 0.15),
    "indicators": LayerStyle("Indicators", "#d9d2ea", "#8475ad", 0.3, dashed=True),
    "buffer": LayerStyle("Buffer", "#4a6580", "#33506b", 0.3, hatch=True, dashed=True),
    "wetlands": LayerStyle("Wetlands", "#5f9f86", "#2c6650"),
    "watercourses": LayerStyle("Watercourses", "#5b97c9", "#265f91"),
    "footprints": LayerStyle("Footprints", "#3d3a34", "#1f1d1a", 0.4, hatch=True),
    "contacts": LayerStyle("Shortest lines", "", "#4d4942", 0.2, dashed=True),
}
