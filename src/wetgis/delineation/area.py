"""How sure an area is, given how sure its corners are.

Accuracies are horizontal at 95 %: the true place of a flag lies within that distance of the
measured one nineteen times of twenty. With errors alike in both axes and normal, a distance
follows Rayleigh's law, and the sigma of one axis is the accuracy over
sqrt(-2 ln 0.05) = 2.4477 (FGDC-STD-007.3-1998, 3.2.1, has the same factor).

For corners with independent errors of sigma_i in each axis the signed area's variance is, to
the last term,

    1/4 sum_i sigma_i^2 |p_(i+1) - p_(i-1)|^2  +  1/2 sum_i sigma_i^2 sigma_(i+1)^2.

Errors that all flags have in common (a base station's) shift the polygon and leave its area.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

__all__ = ["SIGMAS_95", "area_spread", "area_variance", "shoelace"]

Floats = npt.NDArray[np.float64]

#: Radius of the circle with 95 % of a circular normal distribution, in sigmas of one axis.
SIGMAS_95 = float(np.sqrt(-2.0 * np.log(0.05)))
DRAWS = 10_000
#: Numbers drawn at a time; bounds the memory and leaves the stream as it is.
_CHUNK = 2_000_000


def shoelace(ring: Floats) -> float:
    """Signed area of a ring of corners (the first not repeated), counter-clockwise positive.

    Examples
    --------
    >>> shoelace(np.array([[0.0, 0], [4, 0], [4, 3]]))
    6.0
    """
    at = ring - ring[0]
    after = np.roll(at, -1, axis=0)
    return float(0.5 * np.sum(at[:, 0] * after[:, 1] - after[:, 0] * at[:, 1]))


def area_variance(ring: Floats, sigma: Floats) -> float:
    """Variance of a ring's signed area for independent errors of its corners.

    Parameters
    ----------
    ring : ndarray (n, 2)
        Corners, the first not repeated.
    sigma : ndarray (n,)
        Standard deviation of each corner in each axis, in the ring's unit.

    Returns
    -------
    float
        In the unit to the fourth power.

    Examples
    --------
    A square of 100 ft, each corner known to 1 ft a axis: the diagonals give
    1/4 (4 x 20,000) and the products 1/2 (4 x 1).

    >>> area_variance(np.array([[0.0, 0], [100, 0], [100, 100], [0, 100]]), np.ones(4))
    20002.0
    """
    chord = np.roll(ring, -1, axis=0) - np.roll(ring, 1, axis=0)
    squared = sigma**2
    linear = 0.25 * np.sum(squared * np.sum(chord**2, axis=1))
    return float(linear + 0.5 * np.sum(squared * np.roll(squared, -1)))


def area_spread(
    rings: Sequence[Floats], sigmas: Sequence[Floats], *, seed: int = 0, draws: int = DRAWS
) -> tuple[float, float, float, float]:
    """Standard deviations and interval of an area: the first ring less the others.

    Parameters
    ----------
    rings : sequence of ndarray (n, 2)
        The outline, then holes, each in its canonical order: the draws follow the corners.
    sigmas : sequence of ndarray (n,)
        Standard deviations by corner; one NaN and nothing is known.
    seed : int
        Equal seeds and rings give equal numbers, whatever else is drawn in the run.
    draws : int
        Of the Monte Carlo.

    Returns
    -------
    closed_form_sd, monte_carlo_sd, low, high
        ``low`` and ``high`` hold 95 % of the draws, and the area itself. NaN where a sigma is.

    Examples
    --------
    >>> square = np.array([[0.0, 0], [100, 0], [100, 100], [0, 100]])
    >>> sd, drawn, low, high = area_spread([square], [np.ones(4)])
    >>> round(sd, 3), abs(drawn / sd - 1) < 0.02, low < 9_800 < 10_000 < 10_200 < high
    (141.428, True, True)
    """
    area = abs(shoelace(rings[0])) - sum(abs(shoelace(ring)) for ring in rings[1:])
    sigma = np.concatenate(list(sigmas))
    if np.isnan(sigma).any():
        return (np.nan, np.nan, np.nan, np.nan)
    closed = float(np.sqrt(sum(area_variance(r, s) for r, s in zip(rings, sigmas, strict=True))))
    if closed == 0:
        return (0.0, 0.0, area, area)
    drawn = _drawn(rings, sigma, seed, draws)
    low, high = np.quantile(drawn, (0.025, 0.975))
    return (
        closed,
        float(np.std(drawn, ddof=1)),
        max(0.0, min(float(low), area)),
        max(float(high), area),
    )


def _drawn(rings: Sequence[Floats], sigma: Floats, seed: int, draws: int) -> Floats:
    """Areas of the polygon with its corners moved at random."""
    corners = np.concatenate(list(rings))
    corners = corners - corners[0]
    digest = hashlib.sha256(corners.tobytes() + sigma.tobytes()).digest()
    random = np.random.default_rng([seed, *np.frombuffer(digest[:16], dtype="<u4").tolist()])
    ends = np.cumsum([len(ring) for ring in rings])
    step = max(1, _CHUNK // (2 * len(corners)))
    out = []
    for done in range(0, draws, step):
        size = (min(step, draws - done), len(corners), 2)
        moved = corners + random.standard_normal(size) * sigma[:, None]
        pieces = np.split(moved, ends[:-1], axis=1)
        areas = [np.abs(_shoelaces(piece)) for piece in pieces]
        out.append(areas[0] - np.sum(areas[1:], axis=0) if len(areas) > 1 else areas[0])
    return np.concatenate(out)


def _shoelaces(rings: Floats) -> Floats:
    """Signed areas of many rings at once, shape (draws, n, 2)."""
    after = np.roll(rings, -1, axis=1)
    cross = rings[..., 0] * after[..., 1] - after[..., 0] * rings[..., 1]
    return np.asarray(0.5 * cross.sum(axis=1))
