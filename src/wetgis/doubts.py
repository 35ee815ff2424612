"""A number held against a number of the law: outcome, margin, interval, and why it could turn.

Everything here works on whole columns. The outcome is that of the unrounded number alone;
doubts stand beside it and never change it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wetgis.schema import EPS_FT, EPS_PCT, EPS_SQFT
from wetgis.units import METRES_PER_UNIT

__all__ = ["ARC_FT", "Trial", "both", "holds", "join"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Words = NDArray[np.object_]

#: One survey foot in international feet.
FOOT = float(METRES_PER_UNIT["us-ft"] / METRES_PER_UNIT["ft"])
#: How far a chord of a drawn buffer may lie inside its arc.
ARC_FT = 0.01
EPS = {"sqft": EPS_SQFT, "ft": EPS_FT, "pct": EPS_PCT}
POWER = {"sqft": 2, "ft": 1}


def holds(value: Any, comparison: str, threshold: Any, eps: Any = 0.0) -> Bools:
    """Whether a value stands in this relation to a threshold; NaN never does.

    Examples
    --------
    >>> bool(holds(4000.00001, "gt", 4000.0, 1e-4)), bool(holds(100.0, "le", 100.0))
    (False, True)
    """
    value = np.asarray(value, dtype="float64")
    with np.errstate(invalid="ignore"):
        gap = value - threshold
        equal = np.abs(gap) <= eps
        if comparison in ("gt", "ge"):
            beyond = gap > eps
        else:
            beyond = gap < -np.asarray(eps)
    return np.asarray(beyond | equal if comparison in ("ge", "le") else beyond, dtype=bool)


@dataclass(frozen=True)
class Trial:
    """One condition tried on many subjects.

    Parameters
    ----------
    value, half, factor : array of float
        The numbers, the half widths of their intervals (NaN: nothing is stated) and the
        combined factors grid to ground (NaN: not known).
    comparison : {'gt', 'ge', 'lt', 'le'}
    threshold : float or array
    unit : str
        ``sqft``, ``ft``, ``pct`` ...
    span : two arrays of float, optional
        The interval itself, where it does not lie evenly about the number.
    arc_ft : array of float, optional
        Length of drawn buffer boundary that an area leans on.
    eps : float or array, optional
        What counts as equal; the house's for the unit if not given.
    """

    value: Floats
    comparison: str
    threshold: float | Floats
    unit: str
    half: Floats | None = None
    span: tuple[Floats, Floats] | None = None
    factor: Floats | None = None
    arc_ft: Floats | None = None
    eps: Any = field(default=None)

    @property
    def noise(self) -> Any:
        """What counts as equal."""
        return EPS.get(self.unit, 0.0) if self.eps is None else self.eps

    @property
    def known(self) -> Bools:
        """Where there is a number and something to hold it against."""
        unknown = np.isnan(self.value) | np.isnan(np.asarray(self.threshold, dtype="float64"))
        return np.asarray(~unknown, dtype=bool)

    @property
    def met(self) -> Bools:
        """By the unrounded number alone."""
        return self._holds(self.value)

    @property
    def margin(self) -> Floats:
        """Value less threshold."""
        return np.asarray(self.value - self.threshold, dtype="float64")

    @property
    def low(self) -> Floats:
        """Lower end of the interval, not below 0; the number where nothing is stated."""
        if self.span is not None:
            return np.where(np.isnan(self.span[0]), self.value, self.span[0])
        spread = self._spread
        return np.where(spread > 0, np.maximum(self.value - spread, 0.0), self.value)

    @property
    def high(self) -> Floats:
        """Upper end of the interval; the number where nothing is stated."""
        if self.span is not None:
            return np.where(np.isnan(self.span[1]), self.value, self.span[1])
        return np.asarray(self.value + self._spread, dtype="float64")

    @property
    def _spread(self) -> Floats:
        if self.half is None:
            return np.zeros(len(self.value))
        return np.nan_to_num(self.half, nan=0.0)

    def alternatives(self) -> dict[str, tuple[Floats, ...]]:
        """What else the number might be, by the name of the doubt."""
        power = POWER.get(self.unit, 0)
        out: dict[str, tuple[Floats, ...]] = {"accuracy": (self.low, self.high)}
        if power:
            scale = FOOT**power
            out["foot"] = (self.value * scale, self.value / scale)
            if self.factor is not None:
                out["ground"] = (self.value / self.factor**power,)
        if self.arc_ft is not None and power:
            short = np.nan_to_num(self.arc_ft * ARC_FT, nan=0.0)
            out["arc"] = (self.value + np.where(self.value > EPS_SQFT, short, 0.0),
                          np.maximum(self.value - short, 0.0))  # fmt: skip
        return out

    def turns(self) -> dict[str, tuple[Bools, Bools]]:
        """By doubt: where the condition could hold, and where it could fail."""
        met = self.met
        out = {}
        for name, values in self.alternatives().items():
            others = [np.where(np.isnan(v), met, self._holds(v)) for v in values]
            could = np.logical_or.reduce([met, *others])
            could_not = np.logical_or.reduce([~met, *(~o for o in others)])
            if name == "accuracy":
                reached = self._interval_reaches()
                could, could_not = could | reached, could_not | reached
            out[name] = (could & self.known, could_not & self.known)
        return out

    def doubts(self) -> dict[str, Bools]:
        """By doubt: where the answer could turn."""
        met = self.met
        return {name: np.where(met, no, yes) for name, (yes, no) in self.turns().items()}

    def _interval_reaches(self) -> Bools:
        with np.errstate(invalid="ignore"):
            inside = (self.low <= self.threshold + self.noise) & (
                self.high >= self.threshold - self.noise
            )
            wide = self.high > self.low
        return np.asarray(inside & wide, dtype=bool)

    def _holds(self, value: Floats) -> Bools:
        return holds(value, self.comparison, self.threshold, self.noise)


def both(first: Trial, second: Trial) -> tuple[Bools, dict[str, Bools]]:
    """Two conditions that must hold together: where they do, and where that could turn."""
    met = first.met & second.met
    out: dict[str, Bools] = {}
    one, two = first.turns(), second.turns()
    for name in {**one, **two}:
        yes1, no1 = one.get(name, (first.met, ~first.met))
        yes2, no2 = two.get(name, (second.met, ~second.met))
        out[name] = np.where(met, no1 | no2, yes1 & yes2)
    return met, out


def join(flags: dict[str, Bools], length: int, order: tuple[str, ...]) -> Words:
    """Names of the doubts that hold, ``;`` between, in a fixed order."""
    text = np.full(length, "", dtype=object)
    for name in order:
        if name in flags:
            rows = np.asarray(flags[name], dtype=bool)
            text[rows] = [f"{old}; {name}" if old else name for old in text[rows]]
    return text
