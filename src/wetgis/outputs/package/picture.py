"""The map of an amendment on a few inches of paper."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import shapely

from wetgis.outputs.palette import LAYER_STYLES, PLACE_COLOURS

if TYPE_CHECKING:
    import geopandas as gpd

    from wetgis.amendment import Amendment

__all__ = ["CHANGE_LOOK", "draw_change_map", "ground_around"]

Bounds = tuple[float, float, float, float]
#: Added and removed are told apart without colour too: filled, and hatched.
CHANGE_LOOK: dict[tuple[str, str], dict[str, Any]] = {
    ("buffer", "added"): {"facecolor": "#f1b24a", "edgecolor": "#8a5a00", "linewidth": 0.5},
    ("buffer", "removed"): {"facecolor": "white", "edgecolor": "#8a5a00", "linewidth": 0.5,
                            "hatch": "....."},
    ("watercourse", "added"): {"facecolor": "#2f6fa8", "edgecolor": "#12375a", "linewidth": 0.7},
    ("watercourse", "removed"): {"facecolor": "white", "edgecolor": "#265f91", "linewidth": 0.7,
                                 "hatch": "/////"},
    ("wetland", "added"): {"facecolor": "#1f6b4f", "edgecolor": "#0e3a2a", "linewidth": 0.7},
    ("wetland", "removed"): {"facecolor": "white", "edgecolor": "#7a1f3d", "linewidth": 0.7,
                             "hatch": "/////"},
}  # fmt: skip
_GROUND: dict[str, dict[str, Any]] = {
    "buffer_after": {"facecolor": PLACE_COLOURS["buffer"], "edgecolor": "none", "alpha": 0.55},
    "wetlands_after": {"facecolor": LAYER_STYLES["wetlands"].fill, "edgecolor": "none",
                       "alpha": 0.75},
    "watercourses_after": {"facecolor": LAYER_STYLES["watercourses"].fill,
                           "edgecolor": LAYER_STYLES["watercourses"].line, "linewidth": 0.6},
}  # fmt: skip


def ground_around(shapes: Any, width: float, height: float, margin: float) -> Bounds:
    """Bounds around geometries, with a margin in CRS units, in the shape of the paper."""
    x0, y0, x1, y1 = shapely.total_bounds(shapes)
    x0, y0, x1, y1 = x0 - margin, y0 - margin, x1 + margin, y1 + margin
    unit = max((x1 - x0) / width, (y1 - y0) / height)
    cx, cy = (x0 + x1) / 2, (y0 + y1) / 2
    return (cx - unit * width / 2, cy - unit * height / 2,
            cx + unit * width / 2, cy + unit * height / 2)  # fmt: skip


def draw_change_map(
    ax: Any, amendment: Amendment, bounds: Bounds, *, own: Any = None, label: str = "",
    legend: bool = True,
) -> None:  # fmt: skip
    """Map, changes and parcels inside bounds; ``own`` is a parcel that is drawn strongly."""
    from matplotlib.patches import Patch, Rectangle

    ax.set_axis_off()
    ax.set_aspect("auto")
    ax.set_xlim(bounds[0], bounds[2])
    ax.set_ylim(bounds[1], bounds[3])
    window = shapely.box(*bounds)
    handles = []
    for name, look in _GROUND.items():
        if _shapes(ax, _within(amendment.layers.get(name), window), look, 1):
            handles.append(Patch(label=_name(name), **look))
    changes = amendment.changes
    for (what, sign), look in CHANGE_LOOK.items():
        rows = changes[(changes["what"] == what) & (changes["change"] == sign)]
        if _shapes(ax, _within(rows, window), look, 3):
            handles.append(Patch(label=f"{what.capitalize()} {sign}", **look))
    parcels = amendment.site_after.layers.get("parcels")
    if parcels is not None:
        line = {"facecolor": "none", "edgecolor": "#6f6a60", "linewidth": 0.45}
        _shapes(ax, _within(parcels.frame, window), line, 4)
    if own is not None:
        strong: dict[str, Any] = {"facecolor": "none", "edgecolor": "#111111", "linewidth": 2.0}
        _shapes(ax, np.array([own], dtype=object), strong, 5)
        handles.append(Patch(label=label or "This parcel", **strong))
    size = bounds[2] - bounds[0], bounds[3] - bounds[1]
    pen: dict[str, Any] = {"facecolor": "none", "edgecolor": "#1a1a1a", "linewidth": 0.9}
    edge = Rectangle(bounds[:2], *size, zorder=9, clip_on=False, **pen)
    ax.add_patch(edge)
    _bar(ax, bounds, _feet(amendment))
    if legend and handles:
        ax.legend(handles=handles, loc="upper right", fontsize=6, framealpha=0.92, borderpad=0.5,
                  handlelength=1.6).set_zorder(12)  # fmt: skip


def _feet(amendment: Amendment) -> float:
    from wetgis.crs import ft_per_unit

    return ft_per_unit(amendment.changes.crs)


def _name(layer: str) -> str:
    kind = layer.removesuffix("_after")
    return f"{LAYER_STYLES[kind].label}, after"


def _within(frame: gpd.GeoDataFrame | None, window: Any) -> Any:
    """Geometries that meet a window, cut to a little more than it."""
    if frame is None or not len(frame):
        return np.empty(0, object)
    shapes = frame.geometry.to_numpy()
    shapes = shapes[shapely.intersects(shapes, window)]
    x0, y0, x1, y1 = window.bounds
    room = 0.02 * (x1 - x0)
    return shapely.clip_by_rect(shapes, x0 - room, y0 - room, x1 + room, y1 + room)


def _shapes(ax: Any, shapes: Any, look: dict[str, Any], order: int) -> bool:
    """Draw polygons and lines; whether there was one."""
    from matplotlib.patches import PathPatch

    path = _path(shapes, 2)
    if path is not None:
        ax.add_patch(PathPatch(path, zorder=order, **look))
    lines = _path(shapes, 1)
    if lines is not None:
        pen: dict[str, Any] = {
            "facecolor": "none",
            "edgecolor": look["edgecolor"],
            "linewidth": 1.1,
        }
        if pen["edgecolor"] == "none":
            pen["edgecolor"] = look["facecolor"]
        ax.add_patch(PathPatch(lines, zorder=order, **pen))
    return path is not None or lines is not None


def _path(shapes: Any, dimension: int) -> Any:
    """All polygons (or lines) as one path; holes stay holes."""
    from matplotlib.path import Path

    from wetgis.shapes import of_dimension

    parts, _ = of_dimension(np.asarray(shapes, dtype=object), dimension)
    rings = shapely.get_rings(shapely.orient_polygons(parts)) if dimension == 2 else parts
    if not len(rings):
        return None
    xy, of = shapely.get_coordinates(rings, return_index=True)
    codes = np.full(len(xy), Path.LINETO, dtype=np.uint8)
    codes[np.concatenate([[True], of[1:] != of[:-1]])] = Path.MOVETO
    if dimension == 2:
        codes[np.concatenate([of[1:] != of[:-1], [True]])] = Path.CLOSEPOLY
    return Path(xy, codes)


def _bar(ax: Any, bounds: Bounds, feet: float) -> None:
    """A bar scale and north, which is the grid's."""
    from wetgis.outputs.sheets.north import nice_scale

    span, high = bounds[2] - bounds[0], bounds[3] - bounds[1]
    length = nice_scale(span * feet / 6)
    x, y = bounds[0] + 0.03 * span, bounds[1] + 0.04 * high
    white = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 1.5}
    ax.plot([x, x + length / feet], [y, y], color="#1a1a1a", linewidth=2.2, zorder=11,
            solid_capstyle="butt")  # fmt: skip
    ax.text(x, y + 0.018 * high, f"{length:,.0f} ft, grid north is up", fontsize=6.5, zorder=11,
            bbox=white, parse_math=False)  # fmt: skip
