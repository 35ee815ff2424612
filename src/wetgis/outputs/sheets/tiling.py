"""Which ground each sheet shows, and where its neighbours begin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from wetgis.errors import OutputError
from wetgis.outputs.sheets.page import Box

if TYPE_CHECKING:
    from shapely.geometry.base import BaseGeometry

__all__ = ["MAX_SHEETS", "View", "match_boxes", "tile"]

#: More sheets than this are a mistake in the scale or the page.
MAX_SHEETS = 60
#: Ground beyond a match line, in inches of paper.
OVERLAP_IN = 0.5


@dataclass(frozen=True)
class View:
    """The ground on one sheet: a box in the CRS's unit, and the frame on the page that shows it.

    ``unit_per_in`` is how many units of the CRS an inch of paper is. ``core`` is the part within
    the match lines; ``neighbours`` the numbers of the sheets beyond its sides (``N``, ``E``,
    ``S``, ``W``).
    """

    number: int
    frame: Box
    west: float
    south: float
    unit_per_in: float
    core: tuple[float, float, float, float]
    neighbours: dict[str, int]

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """West, south, east, north of the frame."""
        return (
            self.west,
            self.south,
            self.west + self.frame.width * self.unit_per_in,
            self.south + self.frame.height * self.unit_per_in,
        )

    def paper(self, x: Any, y: Any) -> tuple[Any, Any]:
        """Places of the ground in inches of the page."""
        return (
            self.frame.x + (np.asarray(x) - self.west) / self.unit_per_in,
            self.frame.y + (np.asarray(y) - self.south) / self.unit_per_in,
        )

    def box(self) -> BaseGeometry:
        """The ground that the frame shows."""
        import shapely

        return shapely.box(*self.bounds)


def tile(
    bounds: tuple[float, float, float, float],
    frame: Box,
    unit_per_in: float,
    needed: npt.NDArray[np.object_],
) -> list[View]:
    """The views that together show a box at a scale.

    Parameters
    ----------
    bounds : (west, south, east, north)
        Of what is to be shown, in the CRS's unit.
    frame : Box
        The map's frame on the page, in inches.
    unit_per_in : float
        Units of the CRS in an inch of paper.
    needed : array of geometries
        A sheet whose ground meets none of them is left out.

    Returns
    -------
    list of View
        One, numbered 1, where everything fits; else by rows from the north west, numbered from
        2: the first sheet is then the index.

    Raises
    ------
    OutputError
        Where there would be more than `MAX_SHEETS`.
    """
    west, south, east, north = bounds
    width, height = frame.width * unit_per_in, frame.height * unit_per_in
    middle = ((west + east) / 2, (south + north) / 2)
    if east - west <= width and north - south <= height:
        at = (middle[0] - width / 2, middle[1] - height / 2)
        core = (at[0], at[1], at[0] + width, at[1] + height)
        return [View(1, frame, *at, unit_per_in, core, {})]
    lap = OVERLAP_IN * unit_per_in
    across = int(np.ceil((east - west) / (width - 2 * lap)))
    down = int(np.ceil((north - south) / (height - 2 * lap)))
    step = (width - 2 * lap, height - 2 * lap)
    left, top = middle[0] - across * step[0] / 2, middle[1] + down * step[1] / 2
    return _views((across, down), step, (left, top), lap, frame, unit_per_in, needed)


def _views(
    count: tuple[int, int],
    step: tuple[float, float],
    corner: tuple[float, float],
    lap: float,
    *rest: Any,
) -> list[View]:
    """Views of a grid of sheets whose north west corner is given."""
    import shapely

    frame, unit_per_in, needed = rest
    cells = [(row, col) for row in range(count[1]) for col in range(count[0])]
    cores = np.array([(corner[0] + col * step[0], corner[1] - (row + 1) * step[1])
                      for row, col in cells])  # fmt: skip
    boxes = shapely.box(cores[:, 0], cores[:, 1], cores[:, 0] + step[0], cores[:, 1] + step[1])
    tree = shapely.STRtree(needed)
    meets = np.zeros(len(boxes), dtype=bool)
    meets[tree.query(boxes, predicate="intersects")[0]] = True
    kept = [cell for cell, use in zip(cells, meets, strict=True) if use]
    if len(kept) > MAX_SHEETS:
        raise OutputError(
            f"it would take {len(kept)} sheets.",
            needed=f"{MAX_SHEETS} or fewer",
            mend="name the parcels (ids), a larger page or a smaller scale",
        )
    numbers = {cell: i + 2 for i, cell in enumerate(kept)}
    sides = {"N": (-1, 0), "S": (1, 0), "W": (0, -1), "E": (0, 1)}
    views = []
    for (row, col), (x, y) in zip(cells, cores.tolist(), strict=True):
        if (row, col) in numbers:
            beside = {side: numbers[row + dr, col + dc] for side, (dr, dc) in sides.items()
                      if (row + dr, col + dc) in numbers}  # fmt: skip
            core = (x, y, x + step[0], y + step[1])
            views.append(
                View(numbers[row, col], frame, x - lap, y - lap, unit_per_in, core, beside)
            )
    return views


def match_boxes(view: View, width: float) -> list[BaseGeometry]:
    """Strips of paper around a view's match lines, in inches."""
    import shapely

    west, south, east, north = view.core
    (x0, x1), (y0, y1) = view.paper([west, east], [south, north])
    f = view.frame
    strips = {
        "N": (f.x, y1 - width, f.right, y1 + width), "S": (f.x, y0 - width, f.right, y0 + width),
        "W": (x0 - width, f.y, x0 + width, f.top), "E": (x1 - width, f.y, x1 + width, f.top),
    }  # fmt: skip
    return [shapely.box(*strips[side]) for side in view.neighbours]
