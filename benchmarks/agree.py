"""Whether two engines give the same answers, and whose buffer it is where they do not."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import shapely
from numpy.typing import NDArray

from benchmarks.job import ANSWERS, BUFFER_FT, QUADS
from benchmarks.peers.layers import read

__all__ = ["Agreement", "agreement", "by_geos", "judged", "within_bounds"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: The largest difference of a parcel that is let pass, square feet and feet. ``reg`` leans on how
#: a buffer is drawn, and is held against bounds instead (`within_bounds`).
TOLERANCE = {"wet": 1e-6, "hyd": 1e-6, "flood": 1e-6, "d_wet": 1e-9, "d_wat": 1e-9, "steep": 1e-3}
#: What the outline of wetgis is audited to, and what noise of the arithmetic may add.
OUTLINE_FT, NOISE_SQFT = 0.01, 1e-6


@dataclass(frozen=True)
class Agreement:
    """The largest difference of a parcel by answer, and the parcel's row."""

    worst: dict[str, float]
    row: dict[str, int]

    @property
    def failed(self) -> list[str]:
        """Answers that differ more than they may."""
        return [k for k, limit in TOLERANCE.items() if not self.worst.get(k, 0.0) <= limit]


def agreement(ours: dict[str, Floats], theirs: dict[str, Floats]) -> Agreement:
    """Compare by parcel; ``theirs`` may hold some parcels only, and NaN where it was not asked."""
    mine = np.argsort(ours["row"])
    place = mine[np.searchsorted(ours["row"], theirs["row"], sorter=mine)]
    worst, row = {}, {}
    for name in ANSWERS:
        if name not in theirs or name not in ours:
            continue
        off = np.abs(ours[name][place] - theirs[name])
        if np.isnan(off).all():
            continue
        k = int(np.nanargmax(off))
        worst[name], row[name] = float(off[k]), int(theirs["row"][k])
    return Agreement(worst, row)


def by_geos(county: Path, name: str, row: int) -> float:
    """The area of one parcel on one layer, by a union and an intersection of GEOS."""
    kind = {"wet": "wetlands", "hyd": "hydric", "flood": "floodplain"}[name]
    layers = read(county, 1)
    own = layers["parcels"].geometry.iloc[row]
    layer = layers[kind].geometry.to_numpy()
    near = layer[shapely.STRtree(layer).query(own, predicate="intersects")]
    return float(shapely.area(shapely.intersection(shapely.union_all(near), own)))


def doubtful(ours: dict[str, Floats], theirs: dict[str, Floats], count: int) -> Ints:
    """Rows of the parcels whose regulated area differs most, and as many at even steps."""
    mine = np.argsort(ours["row"])
    place = mine[np.searchsorted(ours["row"], theirs["row"], sorter=mine)]
    order = np.argsort(-np.abs(ours["reg"][place] - theirs["reg"]), kind="stable")
    met = np.flatnonzero(theirs["reg"] > 0)
    even = met[:: max(1, len(met) // count)]
    return np.unique(theirs["row"][np.concatenate([order[:count], even])]).astype(np.int64)


def within_bounds(county: Path, rows: Ints) -> tuple[Floats, Floats]:
    """The least and the most regulated ground that parcels can have, by the second construction.

    The zone is the union of the buffers of single segments, which no simplification touches,
    with the wetlands themselves: once 0.01 ft too narrow and with chords inside the arcs, once
    0.01 ft too wide and with chords outside. An outline within 0.01 ft of the legal line gives
    an area between the two.
    """
    layers = read(county, 1)
    own = layers["parcels"].geometry.to_numpy()[rows]
    wet = layers["wetlands"].geometry.to_numpy()
    lines = np.concatenate(
        [shapely.boundary(wet), layers["watercourses"].geometry.to_numpy()]
    ).astype(object)
    xy, of = shapely.get_coordinates(shapely.get_parts(lines), return_index=True)
    start = np.flatnonzero(of[1:] == of[:-1])
    segments = shapely.linestrings(np.stack([xy[start], xy[start + 1]], axis=1))
    reach = BUFFER_FT + 1.0
    parcel, segment = shapely.STRtree(segments).query(own, predicate="dwithin", distance=reach)
    inside, wetland = shapely.STRtree(wet).query(own, predicate="intersects")
    chord = np.cos(1.5 * np.pi / (4 * QUADS))
    bounds = []
    for radius in (BUFFER_FT - OUTLINE_FT, (BUFFER_FT + OUTLINE_FT) / chord):
        area = np.zeros(len(own))
        for k in range(len(own)):
            capsules = shapely.buffer(segments[segment[parcel == k]], radius, quad_segs=QUADS)
            parts = np.concatenate([capsules, wet[wetland[inside == k]]])
            area[k] = shapely.area(shapely.intersection(shapely.union_all(parts), own[k]))
        bounds.append(area)
    return bounds[0] - NOISE_SQFT, bounds[1] + NOISE_SQFT


def judged(
    county: Path, ours: dict[str, Floats], theirs: dict[str, Floats], count: int = 60
) -> tuple[int, int, int]:
    """Parcels looked at, and how many of each engine's regulated areas are out of bounds."""
    rows = doubtful(ours, theirs, count)
    low, high = within_bounds(county, rows)
    out = []
    for answers in (ours, theirs):
        order = np.argsort(answers["row"])
        area = answers["reg"][order[np.searchsorted(answers["row"], rows, sorter=order)]]
        out.append(int(((area < low) | (area > high)).sum()))
    return len(rows), out[0], out[1]
