"""Names, areas, heights and bearings on the map, none over another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from wetgis.delineation.bearings import azimuth_deg, quadrant
from wetgis.outputs.sheets.draw import Map, upright
from wetgis.outputs.sheets.ink import clean, text_width

if TYPE_CHECKING:
    import geopandas as gpd

__all__ = ["Labels", "Legs", "legs_of_parcels"]

Floats = npt.NDArray[np.float64]
Geometries = npt.NDArray[np.object_]

#: Corners that leave the line by less than this are no corners of a parcel, in feet.
STRAIGHT_FT = 0.05
#: Legs shorter than this on paper have no label, in inches.
TOO_SHORT_IN = 0.14
LINE_SIZE, TAG_SIZE = 6.2, 6.0


@dataclass
class Labels:
    """Labels of one map. What is placed first stays; what finds no room is counted."""

    map: Map
    left_out: dict[str, int] = field(default_factory=dict)
    _placed: list[Any] = field(default_factory=list)
    _avoided: dict[str, list[Any]] = field(default_factory=dict)

    def _frame(self) -> Any:
        """The map's frame as a shape, in inches."""
        import shapely

        f = self.map.frame
        return shapely.box(f.x, f.y, f.right, f.top)

    def avoid(self, shapes: Geometries, *, what: str) -> None:
        """Shapes, in inches, that labels stand on only where there is no other room.

        A label of the shapes' own sort keeps off their outlines alone.
        """
        self._avoided[what] = [s for s in shapes if s is not None and not s.is_empty]

    def reserve(self, box: Any) -> None:
        """A shape, in inches, that no label may stand on."""
        self._placed.append(box)

    def _disliked(self, what: str) -> list[Any]:
        """What labels of one sort keep off where they can."""
        import shapely

        out: list[Any] = []
        for name, shapes in self._avoided.items():
            areal = name != what and (what in ("parcels", "other parcels") or name == "structures")
            own = np.array(shapes, dtype=object)
            out += list(own if areal else shapely.boundary(own)) if len(own) else []
        return out

    def _free(self, shape: Any, others: list[Any]) -> bool:
        import shapely

        return not others or not bool(shapely.intersects(np.array(others), shape).any())

    def place(
        self,
        lines: Sequence[str],
        places: Iterable[tuple[float, float, float]],
        size: float,
        *,
        what: str,
        spacing: float = 1.18,
        **style: Any,
    ) -> bool:
        """Write lines of text at the first of some places (x, y, angle) that is free."""
        import shapely
        from shapely import affinity

        scale = self.map.paper.scale
        lines = [clean(line) for line in lines if line]
        if not lines:
            return False
        width = max(text_width(line, size * scale) for line in lines)
        step = spacing * size * scale / 72.0
        half = (width / 2 + 0.02, step * len(lines) / 2 + 0.01)
        paper = self._frame()
        spots, disliked = list(places), self._disliked(what)
        for n, (x, y, angle) in enumerate([*spots, *spots]):
            shape = affinity.rotate(shapely.box(x - half[0], y - half[1], x + half[0], y + half[1]),
                                    angle)  # fmt: skip
            crowded = n < len(spots) and not self._free(shape, disliked)
            if crowded or not paper.contains(shape) or not self._free(shape, self._placed):
                continue
            self._placed.append(shape)
            up = np.array([-np.sin(np.radians(angle)), np.cos(np.radians(angle))])
            for k, line in enumerate(lines):
                at = np.array([x, y]) + up * step * ((len(lines) - 1) / 2 - k)
                self.map.label(at[0], at[1], line, size, angle=angle, **style)
            return True
        self.left_out[what] = self.left_out.get(what, 0) + 1
        return False

    def areas(
        self, seen: Geometries, texts: Sequence[Sequence[str]], size: float, **style: Any
    ) -> None:
        """Texts in polygons, the largest polygon first."""
        import shapely

        sizes = shapely.area(seen)
        for i in np.argsort(-np.nan_to_num(sizes), kind="stable"):
            if not sizes[i] > 0 or not any(texts[i]):
                continue
            self.place(texts[i], self._inside(seen[i]), size, **style)

    def _inside(self, shape: Any) -> list[tuple[float, float, float]]:
        """Places in a polygon: its middle where that lies in it, and along a level line."""
        import shapely

        shape = shapely.intersection(shape, self._frame())
        if shape.is_empty:
            return []
        parts = shapely.get_parts(shape)
        part = parts[int(np.argmax(shapely.area(parts)))]
        found = [part.representative_point()]
        if part.contains(part.centroid):
            found.insert(0, part.centroid)
        west, south, east, north = part.bounds
        for share in (0.5, 0.35, 0.65, 0.2, 0.8, 0.1, 0.9):
            level = south + share * (north - south)
            cut = part.intersection(shapely.linestrings([(west - 1, level), (east + 1, level)]))
            pieces = shapely.get_parts(cut)
            if len(pieces):
                longest = pieces[int(np.argmax(shapely.length(pieces)))]
                found += [longest.interpolate(at, normalized=True) for at in (0.5, 0.3, 0.7)]
        return [(p.x, p.y, 0.0) for p in found]

    def along(
        self, seen: Geometries, texts: Sequence[str], size: float, *, least: float,
        every: float = np.inf, **style: Any
    ) -> None:  # fmt: skip
        """A text on lines longer than ``least`` inches, in their direction, again and again."""
        import shapely

        frame = self._frame()
        for line, text in zip(seen, texts, strict=True):
            if line is None or not text:
                continue
            for part in shapely.get_parts(shapely.line_merge(shapely.intersection(line, frame))):
                if shapely.get_dimensions(part) != 1 or part.length < least:
                    continue
                pieces = max(1, int(part.length // every))
                for k in range(pieces):
                    self.place([text], _spots(part, k, pieces), size, **style)

    def points(self, seen: Geometries, texts: Sequence[str], size: float, **style: Any) -> None:
        """A text beside each point."""
        scale = self.map.paper.scale
        for point, text in zip(seen, texts, strict=True):
            if point is None or point.is_empty or not text:
                continue
            at = point.centroid
            dx = text_width(clean(text), size * scale) / 2 + 0.09 * scale
            dy = 0.11 * scale
            spots = [(dx, 0), (-dx, 0), (0, dy), (0, -dy)]
            spots += [(dx, dy), (-dx, dy), (dx, -dy), (-dx, -dy)]
            self.place([text], [(at.x + a, at.y + b, 0.0) for a, b in spots], size, **style)


def _spots(line: Any, piece: int, pieces: int) -> list[tuple[float, float, float]]:
    """Places along one of equal pieces of a line, with its direction there."""
    out = []
    for share in (0.5, 0.35, 0.65, 0.2, 0.8):
        at = (piece + share) / pieces * line.length
        here, ahead = line.interpolate(max(at - 0.12, 0)), line.interpolate(at + 0.12)
        middle = line.interpolate(at)
        angle = np.degrees(np.arctan2(ahead.y - here.y, ahead.x - here.x))
        out.append((middle.x, middle.y, upright(float(angle))))
    return out


@dataclass(frozen=True)
class Legs:
    """Straight legs of parcels: ends in the CRS's unit, shape (n, 2, 2), with what is written."""

    ends: Floats
    bearing: tuple[str, ...]
    length_ft: Floats

    def write(self, labels: Labels) -> list[tuple[str, str, str]]:
        """Bearing and length on each leg; what has no room gets a number and a row of a table."""
        rows: list[tuple[str, str, str]] = []
        view, frame = labels.map.view, labels.map.frame
        a = np.column_stack(view.paper(*self.ends[:, 0].T))
        b = np.column_stack(view.paper(*self.ends[:, 1].T))
        for i in range(len(a)):
            part = _cut(a[i], b[i], frame)
            if part is None:
                continue
            length = f"{self.length_ft[i]:.2f}'"
            spot, angle, room = part
            scale = labels.map.paper.scale
            need = text_width(clean(self.bearing[i]), LINE_SIZE * scale) + 0.1 * scale
            # the bearing stands over the line, the length under it
            texts = [self.bearing[i], length]
            fits = room >= need and labels.place(
                texts, [(*spot, angle)], LINE_SIZE, what="lengths", spacing=2.1
            )
            if fits:
                continue
            if room >= TOO_SHORT_IN * scale:
                tag = f"L{len(rows) + 1}"
                labels.left_out.pop("lengths", None)
                if labels.place([tag], [(*spot, 0.0)], TAG_SIZE, what="short lines",
                                weight="bold"):  # fmt: skip
                    rows.append((tag, self.bearing[i], length))
            else:
                labels.left_out["short lines"] = labels.left_out.get("short lines", 0) + 1
        return rows


def _cut(a: Floats, b: Floats, frame: Any) -> tuple[tuple[float, float], float, float] | None:
    """Middle, angle and length of the part of a leg within the frame, in inches."""
    import shapely

    box = shapely.box(frame.x, frame.y, frame.right, frame.top)
    part = shapely.intersection(shapely.linestrings([a, b]), box)
    if part.is_empty or shapely.get_dimensions(part) != 1:
        return None
    angle = upright(float(np.degrees(np.arctan2(b[1] - a[1], b[0] - a[0]))))
    middle = part.interpolate(0.5, normalized=True)
    return (middle.x, middle.y), angle, float(part.length)


def legs_of_parcels(parcels: gpd.GeoDataFrame, ft: float, factor: float | None = None) -> Legs:
    """The straight legs of parcels, one that two parcels share once.

    Parameters
    ----------
    parcels : GeoDataFrame
        Polygons; corners that leave the line by less than 0.05 ft are no corners here.
    ft : float
        Survey feet in one unit.
    factor : float, optional
        Grid to ground: lengths are divided by it.
    """
    import shapely

    geoms = shapely.simplify(np.asarray(parcels.geometry.array, dtype=object), STRAIGHT_FT / ft)
    rings = shapely.get_rings(shapely.get_parts(geoms))
    xy, owner = shapely.get_coordinates(rings, return_index=True)
    if len(xy) < 2:
        return Legs(np.empty((0, 2, 2)), (), np.empty(0))
    same = owner[1:] == owner[:-1]
    ends = np.stack([xy[:-1][same], xy[1:][same]], axis=1)
    # the same leg of two parcels runs once each way
    key = np.round(ends * ft, 2)
    turned = (key[:, 0, 0] > key[:, 1, 0]) | (
        (key[:, 0, 0] == key[:, 1, 0]) & (key[:, 0, 1] > key[:, 1, 1])
    )
    key[turned] = key[turned][:, ::-1]
    _, first = np.unique(key.reshape(len(key), 4), axis=0, return_index=True)
    ends = ends[np.sort(first)]
    run = ends[:, 1] - ends[:, 0]
    length = np.hypot(*run.T) * ft / (factor or 1.0)
    bearing = tuple(quadrant(float(a)) for a in azimuth_deg(run[:, 0], run[:, 1]))
    return Legs(ends, bearing, length)
