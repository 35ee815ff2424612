"""What each geometry of a layer goes through, from what the file holds to what can be measured.

All steps are of one record, so that a layer may pass in parts. What is decided for all of its
records at once (`placing.decide`) needs their boxes, which are taken in a first pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import shapely

from wetgis.issuelog import Issue
from wetgis.sources import columns, placing
from wetgis.sources.figures import Figures, InMemory, OnDisk, Shapes
from wetgis.sources.wkb import Decoded, Ints, Objects, decoded, plain_boxes
from wetgis.validity import Causes, Screened, mend, screened, screening_issues
from wetgis.workers import hand_back, in_order

if TYPE_CHECKING:
    import pyarrow as pa

    from wetgis.sources.decode import RawLayer

__all__ = ["Passage", "Steps", "Stream", "Told", "passage_of"]

Append = Callable[[Objects], None]

#: Bytes of WKB that go through the steps at once; as geometries they take some times more.
PART = 1 << 20


class Stream(Protocol):
    """Geometries that stay in a file, as WKB; they can be read again and again."""

    def batches(self) -> Iterator[pa.Array]:
        """All of them in the order of the records, batch by batch; null where there is none."""


@dataclass
class Told:
    """What was said about the geometries of a layer, part by part."""

    closed: list[int] = field(default_factory=list)
    unreadable: dict[int, str] = field(default_factory=dict)
    open: dict[int, str] = field(default_factory=dict)
    screening: list[Causes] = field(default_factory=list)
    lost: list[int] = field(default_factory=list)
    moved: list[placing.Bounds] = field(default_factory=list)
    mended: list[Issue] = field(default_factory=list)

    def screening_issues(self, steps: Steps, names: set[str]) -> list[Issue]:
        """Those of screening, without records whose geometry is known to be missing, and why."""
        known = names | {steps.names[i] for i in (*self.unreadable, *self.open)}
        found = screening_issues(self.screening, steps.where)
        return [i for i in found if not (i.code == "null_geometry" and i.record_id in known)]

    @property
    def moved_bounds(self) -> placing.Bounds | None:
        """The box of all in the working CRS, before they were mended."""
        return placing.total_bounds(np.array(self.moved).reshape(-1, 4))


@dataclass(frozen=True)
class _Ready:
    """A part that has gone through all steps."""

    geoms: Objects
    part: Decoded
    screening: Causes
    lost: list[int]
    moved: placing.Bounds | None
    mended: tuple[Issue, ...]

    def tell(self, told: Told) -> None:
        """Add what was said to that of the parts before."""
        told.closed += self.part.closed
        told.unreadable |= self.part.unreadable
        told.open |= self.part.open
        told.screening.append(self.screening)
        told.lost += self.lost
        told.moved += [] if self.moved is None else [self.moved]
        told.mended += self.mended


@dataclass(frozen=True)
class Steps:
    """The steps of the records of a layer: their names, what it may hold, layer and file."""

    names: list[str]
    dimensions: tuple[int, ...]
    where: tuple[str, str]

    def screen(self, part: Decoded) -> Screened:
        """Take out what cannot be used."""
        ids = [self.names[i] for i in part.rows.tolist()]
        return screened(part.geoms, ids=ids, dimensions=self.dimensions, where=self.where)

    def finish(self, part: Decoded, first: Screened, way: placing.Way) -> _Ready:
        """Move what was screened, and mend it."""
        moved, lost = way.move(part.rows, first.geoms)
        bounds = placing.total_bounds(shapely.bounds(moved).reshape(-1, 4))
        final = mend(
            moved,
            ids=[self.names[i] for i in part.rows.tolist()],
            dimensions=self.dimensions,
            sqft_per_unit2=placing.sqft_per_unit2(way.crs),
            where=self.where,
        )
        return _Ready(final.geoms, part, first.causes, lost, bounds, final.issues)


class Passage(Protocol):
    """The geometries of a layer on their way through the steps."""

    def generated_ids(self, kind: str | None, dimensions: tuple[int, ...]) -> list[str]:
        """Ids made of the geometries."""

    def boxes(self, steps: Steps) -> placing.Boxes:
        """The box of each once it was screened, NaN where there is none."""

    def through(self, steps: Steps, way: placing.Way, append: Append | None) -> tuple[Told, Shapes]:
        """All of them through the steps, into a sink where there is one."""


def passage_of(raw: RawLayer, chunk: int) -> Passage:
    """The way of a layer's geometries: part by part where they stay in the file, else at once."""
    return _AtOnce(raw, chunk) if raw.stream is None else _InParts(raw.stream)


class _AtOnce:
    """Geometries that are in memory; they are one part."""

    def __init__(self, raw: RawLayer, chunk: int) -> None:
        self._part, self._chunk = raw.whole(), chunk
        self._screened: Screened | None = None

    def generated_ids(self, kind: str | None, dimensions: tuple[int, ...]) -> list[str]:
        return columns.generated_ids(self._part.geoms, kind)

    def boxes(self, steps: Steps) -> placing.Boxes:
        self._screened = steps.screen(self._part)
        return np.asarray(shapely.bounds(self._screened.geoms)).reshape(-1, 4)

    def through(self, steps: Steps, way: placing.Way, append: Append | None) -> tuple[Told, Shapes]:
        first, told = self._screened or steps.screen(self._part), Told()
        ready = steps.finish(self._part, first, way)
        ready.tell(told)
        if append is not None:
            for start in range(0, len(ready.geoms), self._chunk):
                append(ready.geoms[start : start + self._chunk])
        return told, InMemory(ready.geoms)


class _InParts:
    """Geometries that stay in their file; each pass reads them again."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._boxes: list[placing.Boxes] | None = None

    def generated_ids(self, kind: str | None, dimensions: tuple[int, ...]) -> list[str]:
        def look(encoded: _Encoded) -> tuple[list[str], placing.Boxes]:
            geoms = encoded.decoded().geoms
            return columns.generated_ids(geoms, kind), _boxes(geoms, dimensions)

        made: list[str] = []
        self._boxes = []
        for ids, boxes in in_order(look, self._parts()):
            made += ids
            self._boxes.append(boxes)
        return made

    def boxes(self, steps: Steps) -> placing.Boxes:
        if self._boxes is None:
            self._boxes = list(in_order(lambda e: e.boxes(steps.dimensions), self._parts()))
        found, self._boxes = self._boxes, None
        return np.concatenate([np.empty((0, 4)), *found])

    def through(self, steps: Steps, way: placing.Way, append: Append | None) -> tuple[Told, Shapes]:
        def go(encoded: _Encoded) -> tuple[_Ready, Figures]:
            part = encoded.decoded()
            ready = steps.finish(part, steps.screen(part), way)
            return ready, Figures.of(ready.geoms)

        told, figures = Told(), []
        for ready, figure in in_order(go, self._parts()):
            ready.tell(told)
            figures.append(figure)
            if append is not None:
                append(ready.geoms)
        hand_back(len(steps.names))
        return told, OnDisk(Figures.joined(figures), lambda rows: self._again(rows, steps, way))

    def _again(self, rows: Ints, steps: Steps, way: placing.Way) -> Iterator[tuple[Ints, Objects]]:
        def go(part: Decoded) -> tuple[Ints, Objects]:
            return part.rows, steps.finish(part, steps.screen(part), way).geoms

        some = (encoded.some(rows) for encoded in self._parts())
        yield from in_order(go, (part for part in some if len(part.rows)))

    def _parts(self) -> Iterator[_Encoded]:
        start = 0
        for batch in self._stream.batches():
            for column in _cut(batch):
                yield _Encoded(start, column)
                start += len(column)


@dataclass(frozen=True)
class _Encoded:
    """Some records of a layer, as WKB."""

    start: int
    column: Any

    def decoded(self) -> Decoded:
        rows = np.arange(self.start, self.start + len(self.column))
        return decoded(_objects(self.column), rows)

    def boxes(self, dimensions: tuple[int, ...]) -> placing.Boxes:
        """Those of all, most of them without making a geometry."""
        boxes = np.full((len(self.column), 4), np.nan)
        plain, found = plain_boxes(*_bytes(self.column), dimensions)
        boxes[plain] = found
        rest = np.flatnonzero(~plain & ~np.asarray(self.column.is_null()))
        if len(rest):
            boxes[rest] = _boxes(self.some(rest + self.start).geoms, dimensions)
        return boxes

    def some(self, wanted: Ints) -> Decoded:
        """Those of some rows of the layer that are here."""
        first, last = np.searchsorted(wanted, [self.start, self.start + len(self.column)])
        rows = wanted[first:last]
        return decoded(_objects(self.column.take(rows - self.start)), rows)


def _cut(column: Any) -> Iterator[Any]:
    """A column in slices of a megabyte, or of one value that is larger."""
    _, starts = _bytes(column)
    first = 0
    while first < len(column):
        last = int(np.searchsorted(starts, starts[first] + PART, side="right")) - 1
        last = min(max(last, first + 1), len(column))
        yield column.slice(first, last - first)
        first = last


def _bytes(column: Any) -> tuple[np.ndarray[Any, np.dtype[np.uint8]], Ints]:
    """The bytes of a column and where each value begins, n + 1."""
    import pyarrow as pa

    wide = column.cast(pa.large_binary())
    _, offsets, data = wide.buffers()
    starts = np.frombuffer(offsets, dtype=np.int64)[wide.offset :][: len(wide) + 1]
    held = data is not None and data.size > 0
    return np.frombuffer(data if held else b"\0", dtype=np.uint8), starts


def _objects(column: Any) -> Objects:
    return np.asarray(column.to_pandas().to_numpy(dtype=object, na_value=None), dtype=object)


def _boxes(geoms: Objects, dimensions: tuple[int, ...]) -> placing.Boxes:
    first = screened(geoms, dimensions=dimensions)
    return np.asarray(shapely.bounds(first.geoms)).reshape(-1, 4)
