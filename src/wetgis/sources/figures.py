"""What the checks of a layer ask about its geometries, wherever those are held."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import shapely

from wetgis.sources.columns import geometry_digests
from wetgis.sources.wkb import Ints, Objects

__all__ = ["Figures", "InMemory", "OnDisk", "Several", "Shapes"]

Numbers = np.ndarray[Any, Any]


class Shapes(Protocol):
    """The geometries of a layer: a few figures of each, and themselves where few are asked for."""

    @property
    def types(self) -> Numbers:
        """The type of each as shapely numbers them; -1 where there is none."""

    @property
    def dimensions(self) -> Numbers:
        """0 for points, 1 for lines, 2 for areas; -1 where there is none."""

    @property
    def areas(self) -> Numbers:
        """The area of each, NaN where there is none."""

    @property
    def boxes(self) -> Numbers:
        """The box of each (n x 4), NaN where there is none."""

    @property
    def sizes(self) -> Numbers:
        """How many vertices each has."""

    def take(self, rows: Ints) -> Objects:
        """Some of them, in the order asked for."""

    def digests(self, rows: Ints) -> list[str]:
        """The digests of some of them, in full."""


class InMemory:
    """An array of geometries; see `Shapes`."""

    def __init__(self, geoms: Any) -> None:
        self.geoms: Objects = np.array(geoms, dtype=object)

    @cached_property
    def types(self) -> Numbers:
        """See `Shapes`."""
        return np.asarray(shapely.get_type_id(self.geoms))

    @cached_property
    def dimensions(self) -> Numbers:
        """See `Shapes`."""
        return np.asarray(shapely.get_dimensions(self.geoms))

    @cached_property
    def areas(self) -> Numbers:
        """See `Shapes`."""
        return np.asarray(shapely.area(self.geoms))

    @cached_property
    def boxes(self) -> Numbers:
        """See `Shapes`."""
        return np.asarray(shapely.bounds(self.geoms)).reshape(-1, 4)

    @cached_property
    def sizes(self) -> Numbers:
        """See `Shapes`."""
        return np.asarray(shapely.get_num_coordinates(self.geoms))

    def take(self, rows: Ints) -> Objects:
        """See `Shapes`."""
        return self.geoms[rows]

    def digests(self, rows: Ints) -> list[str]:
        """See `Shapes`."""
        return geometry_digests(self.geoms[rows], 64)


@dataclass(frozen=True)
class Figures:
    """What is kept of geometries that are not."""

    types: Numbers
    dimensions: Numbers
    areas: Numbers
    boxes: Numbers
    sizes: Numbers

    @classmethod
    def of(cls, geoms: Objects) -> Figures:
        """The figures of some geometries."""
        held = InMemory(geoms)
        types, dimensions = held.types.astype("int8"), held.dimensions.astype("int8")
        return cls(types, dimensions, held.areas, held.boxes, held.sizes.astype("int32"))

    @classmethod
    def joined(cls, parts: Sequence[Any]) -> Figures:
        """Those of all parts, one after the other; parts may be `Shapes` as well."""
        parts = parts or [cls.of(np.array([], dtype=object))]
        names = [f.name for f in fields(cls)]
        return cls(*(np.concatenate([getattr(p, name) for p in parts]) for name in names))


class OnDisk:
    """Geometries that are read again where they are asked for; see `Shapes`.

    Parameters
    ----------
    figures : Figures
        Of all of them.
    again : callable
        Some rows, in their order, to their numbers and geometries, part by part.
    """

    def __init__(
        self, figures: Figures, again: Callable[[Ints], Iterable[tuple[Ints, Objects]]]
    ) -> None:
        self._again = again
        self.types, self.dimensions = figures.types, figures.dimensions
        self.areas, self.boxes, self.sizes = figures.areas, figures.boxes, figures.sizes

    def take(self, rows: Ints) -> Objects:
        """See `Shapes`."""
        return _by_row(rows, self._again)

    def digests(self, rows: Ints) -> list[str]:
        """See `Shapes`."""

        def digested(wanted: Ints) -> Iterator[tuple[Ints, Objects]]:
            for some, geoms in self._again(wanted):
                yield some, np.array(geometry_digests(geoms, 64), dtype=object)

        found: list[str] = _by_row(rows, digested).tolist()
        return found


def _by_row(rows: Ints, parts_of: Callable[[Ints], Iterable[tuple[Ints, Objects]]]) -> Objects:
    """A value a row in the order asked for, from parts in the order of the layer."""
    wanted, back = np.unique(rows, return_inverse=True)
    out = np.full(len(wanted), None, dtype=object)
    if len(wanted):
        for some, values in parts_of(wanted):
            out[np.searchsorted(wanted, some)] = values
    taken: Objects = out[back]
    return taken


class Several:
    """The geometries of several sources one after the other; see `Shapes`."""

    def __init__(self, parts: Sequence[Shapes]) -> None:
        self._parts = parts
        figures = Figures.joined(parts)
        self.types, self.dimensions = figures.types, figures.dimensions
        self.areas, self.boxes, self.sizes = figures.areas, figures.boxes, figures.sizes
        self._starts = np.cumsum([0, *(len(p.types) for p in parts)])

    def take(self, rows: Ints) -> Objects:
        """See `Shapes`."""
        return self._each(rows, lambda part, own: part.take(own))

    def digests(self, rows: Ints) -> list[str]:
        """See `Shapes`."""
        found: list[str] = self._each(rows, lambda part, own: part.digests(own)).tolist()
        return found

    def _each(self, rows: Ints, ask: Callable[[Shapes, Ints], Any]) -> Objects:
        out = np.full(len(rows), None, dtype=object)
        for part, start, stop in zip(self._parts, self._starts, self._starts[1:], strict=False):
            here = np.flatnonzero((rows >= start) & (rows < stop))
            if len(here):
                out[here] = ask(part, rows[here] - start)
        return out
