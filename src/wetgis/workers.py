"""Threads of one process: work in chunks, side by side."""

from __future__ import annotations

import os
import threading
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

__all__ = ["THREADS", "hand_back", "in_chunks", "in_order", "in_threads", "in_turn", "settled"]

#: GEOS and the kernels work side by side; what is between them does not, so that more gain little.
THREADS = 2


def in_threads(
    work: Callable[[int, int], Any], count: int, *, chunk: int, threads: int = THREADS
) -> list[Any]:
    """``work(start, stop)`` over chunks of ``range(count)``, results in order.

    The kernels and shapely release the interpreter lock, so threads do work side by side. What
    each item gets does not depend on the chunks.
    """
    spans = [(s, min(s + chunk, count)) for s in range(0, count, chunk)]
    # a thread of a pool must not wait for others of it: they may wait for the same
    if threads < 2 or len(spans) < 2 or threading.current_thread().name.startswith(_NAME):
        return [work(*span) for span in spans]
    return list(_pool(threads).map(lambda span: work(*span), spans))


def _pool(threads: int) -> ThreadPoolExecutor:
    if threads not in _pools:
        _pools[threads] = ThreadPoolExecutor(threads, thread_name_prefix=_NAME)
    return _pools[threads]


def in_chunks(function: Callable[..., Any], *arrays: NDArray[Any], chunk: int = 4096) -> Any:
    """A function of whole arrays, element by element, done in threads."""
    import numpy as np

    count = len(arrays[0])
    if count <= chunk:
        return function(*arrays)
    parts = in_threads(lambda s, e: function(*(a[s:e] for a in arrays)), count, chunk=chunk)
    return np.concatenate(parts)


def in_order(
    function: Callable[[Any], Any], items: Iterable[Any], *, threads: int = THREADS
) -> Iterator[Any]:
    """``map`` in threads, with no more items under way than there are threads.

    Neither items nor results pile up, however many there are. A single item is done by the
    caller, so that what is inside may be done in threads.
    """
    rest = iter(items)
    first = list(islice(rest, 2))
    if len(first) < 2 or threads < 2 or threading.current_thread().name.startswith(_NAME):
        yield from map(function, chain(first, rest))
        return
    running: deque[Future[Any]] = deque()
    try:
        for item in chain(first, rest):
            running.append(_pool(threads).submit(function, item))
            if len(running) >= threads:
                yield running.popleft().result()
        while running:
            yield running.popleft().result()
    finally:
        for future in running:
            future.cancel()


def hand_back(subjects: int) -> None:
    """Give memory that was freed back to the system, where the C library keeps it.

    The many small arrays of geometries leave a heap full of holes: without this a county takes
    half as much again as it needs. With few subjects it would cost more than it brings.
    """
    if subjects < MANY:
        return
    import ctypes
    import gc
    import sys

    gc.collect()  # tables hold themselves in circles
    if "pyarrow" in sys.modules:
        sys.modules["pyarrow"].default_memory_pool().release_unused()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc has it, musl has not
        if trim is not None:
            trim(0)


@contextmanager
def settled(subjects: int) -> Iterator[None]:
    """While a large run lasts, the search for circles passes over what was there before it.

    It holds all threads, and most of what it would look at is the libraries themselves.
    """
    if subjects < MANY:
        yield
        return
    import gc

    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def in_turn(function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    """A function of each item, done in threads, results in order."""
    return [r for part in in_threads(lambda s, e: [function(i) for i in items[s:e]], len(items),
                                     chunk=1) for r in part]  # fmt: skip


MANY = 20_000
_NAME = "wetgis-chunks"
#: Pools by their number of threads: making one anew costs as much as a small piece of work.
_pools: dict[int, ThreadPoolExecutor] = {}
if hasattr(os, "register_at_fork"):
    # the threads of a pool do not live on in a forked process
    os.register_at_fork(after_in_child=_pools.clear)
