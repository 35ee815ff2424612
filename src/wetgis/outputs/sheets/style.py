"""How each kind of feature is drawn: told apart without colour, by line, hatch and letter."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["STYLES", "Style"]

Dash = tuple[float, ...]
SOLID: Dash = ()


@dataclass(frozen=True)
class Style:
    """Pen and fill of a kind; widths and dashes in points on paper, ``order`` from the bottom.

    ``letter`` breaks a line at intervals, as the W of a water main. ``symbol`` fills polygons
    (``marsh``) or stands for points (``triangle``, ``circle``).
    """

    label: str
    order: int
    line: str = ""
    width: float = 0.5
    dash: Dash = SOLID
    fill: str = ""
    hatch: str = ""
    symbol: str = ""
    letter: str = ""
    text: str = ""
    alpha: float = 1.0


STYLES: dict[str, Style] = {
    "floodplain": Style("100-year floodplain", 2, "#3d6f99", 0.9, (7, 2, 1.5, 2, 1.5, 2), "#86bdea",
                        text="#2c5577", alpha=0.32),
    "flood unknown": Style("Flood hazard not determined", 2, "#3d6f99", 0.6, (2, 3),
                           text="#2c5577"),
    "soils": Style("Soil map unit", 2, "#a08968", 0.4, (5, 2.5), text="#7d6848"),
    "buffer": Style("Buffer", 1, "", fill="#fef8ea", text="#7a4f00"),
    "buffer edge": Style("Buffer", 3, "#8a5a00", 0.9, (6, 3), text="#7a4f00"),
    "vegetation": Style("Vegetation", 4, "#5b8a3c", 0.5, (1.2, 1.8), text="#46702c"),
    "study": Style("Limit of vegetation study", 5, "#5b8a3c", 0.7, (9, 2.5, 2, 2.5),
                   text="#46702c"),
    "indicators": Style("Wetland indicator, not adopted", 6, "#6d5aa6", 0.6, (3, 2), hatch="..",
                        text="#564690"),
    "adopted_wetlands": Style("Wetland, adopted map", 7, "#4d4d4d", 0.7, (4, 2)),
    "adopted_watercourses": Style("Watercourse, adopted map", 7, "#4d4d4d", 0.7, (1.5, 2)),
    "wetlands": Style("Wetland", 8, "#1f6b4f", 1.1, SOLID, "#e3f1e8", symbol="marsh",
                      text="#14533c"),
    "watercourses": Style("Watercourse", 9, "#1f5f9b", 1.0, SOLID, "#d3e5f4", text="#174a7a"),
    "contours": Style("Contour", 10, "#9a7b56", 0.3, text="#7a5d3a"),
    "index contours": Style("Index contour", 10, "#8a6a44", 0.65, text="#7a5d3a"),
    "strips": Style("Topsoil strip", 11, "#8c5a3c", 0.5, (4, 2)),
    "stockpiles": Style("Stockpile", 11, "#8c5a3c", 0.7, SOLID, "#f1e4d8", text="#6d4429"),
    "toes": Style("Toe of embankment", 11, "#8c5a3c", 0.8, (1.5, 1.5)),
    "roads": Style("Road", 12, "#6b6b6b", 0.7, SOLID, "#f0f0ee", text="#444444"),
    "improvements": Style("Public improvement", 13, "#444444", 0.7, (8, 2)),
    "utilities": Style("Utility line", 14, "#8b2f7a", 0.7, (10, 2), letter="U", text="#702362"),
    "structures": Style("Structure", 15, "#2b2b2b", 0.8, SOLID, "#d9d9d6", text="#2b2b2b"),
    "trees": Style("Tree", 16, "#46702c", 0.5, symbol="circle"),
    "municipality": Style("Municipal limit", 17, "#1a1a1a", 1.6, (14, 3, 3, 3), text="#1a1a1a"),
    "other parcels": Style("Parcel, adjoining", 18, "#8a8a8a", 0.4, SOLID, text="#6f6f6f"),
    "parcels": Style("Parcel of the site", 19, "#111111", 1.6, (16, 3, 3, 3, 3, 3),
                     text="#111111"),
    "footprints": Style("Proposed disturbance", 20, "#b3261e", 1.2, SOLID, hatch="////",
                        text="#8f1d17"),
    "flags": Style("Field flag", 21, "#1a1a1a", 0.6, symbol="triangle", text="#1a1a1a"),
}  # fmt: skip
