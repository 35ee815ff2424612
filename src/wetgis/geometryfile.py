"""Geometries on disk, read by row: what a county's layers are while its tiles are measured.

A folder holds their WKB one after the other, where each begins, and their boxes. Nothing of them
stays in memory but the boxes, which are mapped.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import shapely

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Geometries = NDArray[np.object_]

__all__ = ["GeometryFile", "GeometryWriter"]

#: Bytes that are read along rather than passed over.
_GAP = 1 << 15
#: Bytes that are read at once.
_SPAN = 1 << 24


class GeometryWriter:
    """Writes geometries chunk by chunk; ``close`` makes them a `GeometryFile`.

    Parameters
    ----------
    folder : Path
        Made where it does not exist.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._file = (folder / "shapes.wkb").open("wb")
        self._sizes: list[Ints] = []
        self._boxes: list[Floats] = []
        self._counts: list[Ints] = []

    def append(self, geometries: Geometries) -> None:
        """Write geometries (or None) after those that were written before."""
        codes = shapely.to_wkb(geometries)
        self._file.writelines(code for code in codes if code is not None)
        sizes = (0 if code is None else len(code) for code in codes)
        self._sizes.append(np.fromiter(sizes, np.int64, len(codes)))
        self._boxes.append(shapely.bounds(geometries))
        self._counts.append(shapely.get_num_coordinates(geometries).astype(np.int64))

    def copy(self, source: GeometryFile, rows: Ints) -> None:
        """Write rows of another file as they are there, in the order asked for."""
        rows = np.asarray(rows, dtype=np.int64)
        for data, sizes in source.codes(rows):
            self._file.write(data)
            self._sizes.append(sizes)
        self._boxes.append(source.boxes[rows])
        self._counts.append(source.vertices[rows])

    def close(self) -> GeometryFile:
        """Finish the file and open it."""
        self._file.close()
        sizes = np.concatenate([np.zeros(1, np.int64), *self._sizes])
        np.save(self.folder / "starts.npy", np.cumsum(sizes))
        np.save(self.folder / "boxes.npy", np.concatenate([np.empty((0, 4)), *self._boxes]))
        np.save(self.folder / "counts.npy", np.concatenate([np.zeros(0, np.int64), *self._counts]))
        return GeometryFile(self.folder)


class GeometryFile:
    """Geometries by row, as a `GeometryWriter` wrote them.

    Threads may read side by side, and it can be pickled where the folder is to be had.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __len__(self) -> int:
        return len(self._starts) - 1

    def __reduce__(self) -> Any:
        return GeometryFile, (self.folder,)

    @cached_property
    def _starts(self) -> Ints:
        found: Ints = np.load(self.folder / "starts.npy", mmap_mode="r")
        return found

    @cached_property
    def boxes(self) -> Floats:
        """The box of each row (n x 4), NaN where there is no geometry."""
        found: Floats = np.load(self.folder / "boxes.npy", mmap_mode="r")
        return found

    @cached_property
    def vertices(self) -> Ints:
        """How many vertices each row has."""
        found: Ints = np.load(self.folder / "counts.npy", mmap_mode="r")
        return found

    def take(self, rows: Ints) -> Geometries:
        """Some rows, in the order asked for; None where there is no geometry."""
        rows = np.asarray(rows, dtype=np.int64)
        order = np.argsort(rows, kind="stable")
        ranked = rows[order]
        first, last = self._starts[ranked], self._starts[ranked + 1]
        out = np.full(len(rows), None, dtype=object)
        with (self.folder / "shapes.wkb").open("rb") as file:
            for a, b in _spans(first, last):
                file.seek(int(first[a]))
                data = file.read(int(last[b - 1] - first[a]))
                out[order[a:b]] = _decoded(data, first[a:b] - first[a], last[a:b] - first[a])
        return out

    def codes(self, rows: Ints) -> Iterator[tuple[bytes, Ints]]:
        """The bytes of some rows in the order asked for, some at a time, and how many each has."""
        first, last = self._starts[rows], self._starts[rows + 1]
        sizes = last - first
        with (self.folder / "shapes.wkb").open("rb") as file:
            # rows that follow each other in the file are read at once
            new = np.flatnonzero(first[1:] != last[:-1]) + 1
            ends = np.append(new, len(rows)) if len(rows) else new
            begin = 0
            for end in ends.tolist():
                while begin < end:
                    full = int(np.searchsorted(last[begin:end], first[begin] + _SPAN, "right"))
                    stop = min(begin + max(full, 1), end)
                    file.seek(int(first[begin]))
                    data = file.read(int(last[stop - 1] - first[begin]))
                    yield data, sizes[begin:stop]
                    begin = stop

    def chunks(self, size: int) -> Iterator[tuple[Ints, Geometries]]:
        """All rows, some at a time: their numbers and geometries."""
        for start in range(0, len(self), size):
            rows = np.arange(start, min(start + size, len(self)))
            yield rows, self.take(rows)

    def meeting(self, bounds: Floats) -> Ints:
        """The rows whose boxes meet a box, in order."""
        b = self.boxes
        with np.errstate(invalid="ignore"):
            met = (b[:, 0] <= bounds[2]) & (b[:, 2] >= bounds[0])
            met &= (b[:, 1] <= bounds[3]) & (b[:, 3] >= bounds[1])
        return np.flatnonzero(met)


def _spans(first: Ints, last: Ints) -> Iterator[tuple[int, int]]:
    """Runs of rows that lie near enough to each other to be read at once."""
    if not len(first):
        return
    a, begun = 0, first[0]
    for cut in [*np.flatnonzero(first[1:] - last[:-1] > _GAP).tolist(), len(first) - 1]:
        # a run may still be longer than what is wanted in memory at once
        while last[cut] - begun > _SPAN and cut > a:
            b = max(int(np.searchsorted(last[a : cut + 1], begun + _SPAN, side="right")) + a, a + 1)
            yield a, b
            a = b
            if a > cut:
                break
            begun = first[a]
        if a <= cut:
            yield a, cut + 1
        a = cut + 1
        begun = first[a] if a < len(first) else 0


def _decoded(data: bytes, first: Ints, last: Ints) -> Geometries:
    view = memoryview(data)
    codes = np.full(len(first), None, dtype=object)
    for k in np.flatnonzero(last > first).tolist():
        codes[k] = bytes(view[first[k] : last[k]])
    out: Geometries = shapely.from_wkb(codes)
    return out
