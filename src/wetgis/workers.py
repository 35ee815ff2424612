"""Threads of one process: work in chunks, side by side."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["THREADS", "in_chunks", "in_threads"]

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
    if threads < 2 or len(spans) < 2:
        return [work(*span) for span in spans]
    if threads not in _pools:
        _pools[threads] = ThreadPoolExecutor(threads)
    return list(_pools[threads].map(lambda span: work(*span), spans))


def in_chunks(function: Callable[..., Any], *arrays: NDArray[Any], chunk: int = 4096) -> Any:
    """A function of whole arrays, element by element, done in threads."""
    import numpy as np

    count = len(arrays[0])
    if count <= chunk:
        return function(*arrays)
    parts = in_threads(lambda s, e: function(*(a[s:e] for a in arrays)), count, chunk=chunk)
    return np.concatenate(parts)


#: Pools by their number of threads: making one anew costs as much as a small piece of work.
_pools: dict[int, ThreadPoolExecutor] = {}
if hasattr(os, "register_at_fork"):
    # the threads of a pool do not live on in a forked process
    os.register_at_fork(after_in_child=_pools.clear)
