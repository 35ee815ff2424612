"""An R-tree in a file that is only read: its pages, and where each begins.

The library's own files are written anew each time they are closed, whoever only asked them, and
need a folder that may be written to. Here the pages lie in one file that is mapped into memory.
"""

from __future__ import annotations

import mmap
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rtree.index import CustomStorage, Index, Property

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

__all__ = ["Tree", "build_tree"]


class _Pages(CustomStorage):  # type: ignore[misc]
    """Pages by number: a list while a tree is built, a mapped file when it is asked."""

    def __init__(self, data: Any = None, starts: Ints | None = None) -> None:
        super().__init__()
        self.made: dict[int, bytes] = {}
        self.data, self.starts = data, starts

    @property
    def hasData(self) -> bool:
        return self.data is not None

    def create(self, returnError: Any) -> None:
        """Nothing is to be made."""

    def destroy(self, returnError: Any) -> None:
        """Nothing is to be closed."""

    def flush(self, returnError: Any) -> None:
        """Nothing is written."""

    def loadByteArray(self, page: int, returnError: Any) -> bytes:
        """One page."""
        if page in self.made:
            return self.made[page]
        if self.starts is None or not 0 <= page < len(self.starts) - 1:
            returnError.contents.value = self.InvalidPageError
            return b""
        return bytes(self.data[self.starts[page] : self.starts[page + 1]])

    def storeByteArray(self, page: int, data: bytes, returnError: Any) -> int:
        """Keep a page, of a new number where it has none."""
        if page == self.NewPage:
            page = len(self.made)
        self.made[page] = data
        return page

    def deleteByteArray(self, page: int, returnError: Any) -> None:
        """A page that is not needed stays."""


def usable(boxes: Floats) -> Ints:
    """The rows whose boxes a tree can hold: finite, the low corner not above the high one."""
    with np.errstate(invalid="ignore"):
        good = np.isfinite(boxes).all(axis=1) & (boxes[:, :2] <= boxes[:, 2:]).all(axis=1)
    return np.flatnonzero(good)


def build_tree(boxes: Floats, file: Path, index: Path) -> int:
    """Write the tree of some boxes (payload: their row); how many it holds.

    Boxes that are NaN or empty stay out: the tree would die on them, or find them nowhere.
    """
    rows = usable(boxes)
    pages = _Pages()
    about = Property()
    about.leaf_capacity = about.index_capacity = 64
    if len(rows):
        corners = boxes[rows].tolist()
        stream = ((r, c, None) for r, c in zip(rows.tolist(), corners, strict=True))
        tree = Index(pages, stream, properties=about)
        tree.close()
    data = [pages.made[k] for k in range(len(pages.made))]
    starts = np.concatenate([[0], np.cumsum([len(d) for d in data], dtype=np.int64)])
    file.write_bytes(b"".join(data))
    np.save(index, np.concatenate([[len(rows)], starts]).astype(np.int64))
    return len(rows)


class Tree:
    """A tree that was written by `build_tree`. Not to be pickled; asked by one thread at a time."""

    def __init__(self, file: Path, index: Path) -> None:
        head = np.load(index)
        self.count = int(head[0])
        self._lock = threading.Lock()
        self._tree: Any = None
        if not self.count:
            return
        with file.open("rb") as open_file:
            data = mmap.mmap(open_file.fileno(), 0, access=mmap.ACCESS_READ)
        if len(data) != int(head[-1]):
            raise ValueError(f"{file} is {len(data)} bytes long, not {int(head[-1])}")
        self._pages = _Pages(data, head[1:])
        self._tree = Index(self._pages)

    def __reduce__(self) -> Any:
        raise TypeError("an R-tree cannot be pickled; open it again from its file")

    def query(self, boxes: Floats) -> Ints:
        """The rows whose boxes meet one of these, in order; each once."""
        asked = np.asarray(boxes, dtype=float).reshape(-1, 4)
        asked = asked[usable(asked)]
        if self._tree is None or not len(asked):
            return np.empty(0, np.int64)
        with self._lock:
            found = [np.fromiter(self._tree.intersection(b), np.int64) for b in asked.tolist()]
        rows: Ints = np.unique(np.concatenate(found))
        return rows
