"""Tiles handed out to threads, processes or a cluster, and what comes back.

A tile that fails twice is reported, and the rest is delivered; one that cannot be written ends the
run. Ctrl-C ends it in words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from wetgis.errors import OutputError, Stopped
from wetgis.tiles import TileResult, TileWork, run_tile
from wetgis.workers import THREADS, hand_back

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from wetgis.issuelog import IssueLog

__all__ = ["Portable", "Run", "Task", "TileStore", "outcomes"]

Progress = Callable[[int, int, str], None]


class TileStore(Protocol):
    """Where finished tiles are kept, so that a stopped run can go on."""

    def __contains__(self, tile: int) -> bool: ...
    def save(self, tile: int, result: TileResult) -> None:
        """Keep a finished tile."""

    def load(self, tile: int) -> TileResult:
        """A tile that was kept."""
        ...


@dataclass(frozen=True)
class Run:
    """How to run: which subjects, with what workers, and whom to tell."""

    chosen: NDArray[np.bool_] | None = None
    jobs: int | None = None
    executor: Executor | None = None
    progress: Progress | None = None
    full: bool = True
    store: TileStore | None = None

    @property
    def handed_out(self) -> bool:
        """Whether tiles are done by other processes."""
        return self.executor is not None or (self.jobs or 1) > 1


class Portable(Protocol):
    """Does a tile from beginning to end, in whatever process of this machine."""

    def whole(self, tile: int) -> Any:
        """The outcome of a tile."""


@dataclass(frozen=True)
class Task:
    """What is done for each tile.

    ``sizes``: subjects of each. ``work`` cuts out what a tile needs; ``finish`` takes its result
    (and the work, where it is still at hand) in this process, beside others, and what it gives is
    the tile's outcome. ``kept``: outcomes from before. ``portable``: all of this as an object that
    other processes of this machine can be given, where the layers lie on disk.
    """

    sizes: list[int]
    work: Callable[[int], TileWork]
    finish: Callable[[int, TileResult, TileWork | None], Any]
    kept: dict[int, Any]
    portable: Portable | None = None


def outcomes(task: Task, run: Run, log: IssueLog) -> dict[int, Any]:
    """Run every tile that is not kept; the outcome of each that did not fail, tiles in order."""
    total = sum(task.sizes)
    found = dict(task.kept)
    failed: dict[int, BaseException] = {}
    done = sum(task.sizes[t] for t in found)
    # the largest first, so that nobody is left alone with one at the end
    order = sorted(range(len(task.sizes)), key=lambda t: -task.sizes[t])
    open_tiles = [t for t in order if t not in found]
    try:
        for tile, result, error in _attempts(task, open_tiles, run):
            done += task.sizes[tile]
            hand_back(total)
            if error is None:
                found[tile] = result
            else:
                failed[tile] = error
            if run.progress is not None:
                run.progress(done, total, "subjects")
    except KeyboardInterrupt:
        mend = "" if run.store is None else "the same command with --resume goes on from there"
        raise Stopped(
            f"stopped by the user after {done:,} of {total:,} subjects.", mend=mend
        ) from None
    for tile in sorted(failed):
        _log_failed(task.work(tile), failed[tile], log)
    return {t: found[t] for t in sorted(found)}


_Outcome = tuple[int, Any, BaseException | None]


def _attempts(task: Task, tiles: list[int], run: Run) -> Iterator[_Outcome]:
    if run.executor is not None:
        yield from _submitted(_handed_out(task, run.executor), task, tiles, 8)
    elif (run.jobs or 1) > 1:
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import get_context

        pool = ProcessPoolExecutor(
            run.jobs,
            mp_context=get_context("spawn"),
            initializer=_given,
            initargs=(task.portable,),
        )
        submit = _handed_out(task, pool) if task.portable is None else _by_number(pool)
        try:
            yield from _submitted(submit, task, tiles, 2 * int(run.jobs or 1))
        finally:
            pool.shutdown(cancel_futures=True)
    elif len(tiles) > 1:
        threads = ThreadPoolExecutor(THREADS)
        try:
            yield from _submitted(
                lambda tile: (threads.submit(_whole, task, tile), False), task, tiles, THREADS + 1
            )
        finally:
            threads.shutdown(cancel_futures=True)
    else:
        for tile in tiles:
            yield _here(task, tile)


def _whole(task: Task, tile: int) -> Any:
    work = task.work(tile)
    return task.finish(tile, run_tile(work), work)


def _here(task: Task, tile: int) -> _Outcome:
    for attempt in (1, 2):
        try:
            return tile, _whole(task, tile), None
        except OutputError:
            raise
        except Exception as error:  # a tile must not end a batch; it is reported with its parcels
            if attempt == 2:
                return tile, None, error
    raise AssertionError


#: The future of a tile, and whether its result is yet to be finished; None: nobody takes it.
_Submit = Callable[[int], tuple["Future[Any]", bool] | None]


def _handed_out(task: Task, executor: Executor) -> _Submit:
    def submit(tile: int) -> tuple[Future[Any], bool] | None:
        try:
            return executor.submit(run_tile, task.work(tile)), True
        except RuntimeError:  # the pool itself has died, so that the tile is done here
            return None

    return submit


#: What a worker process was given when it began.
_portable: list[Portable] = []


def _given(portable: Portable | None) -> None:
    if portable is not None:
        _portable[:] = [portable]


def _in_worker(tile: int) -> Any:
    return _portable[0].whole(tile)


def _by_number(executor: Executor) -> _Submit:
    """Workers that read what they need themselves are told no more than which tile."""

    def submit(tile: int) -> tuple[Future[Any], bool] | None:
        try:
            return executor.submit(_in_worker, tile), False
        except RuntimeError:
            return None

    return submit


def _submitted(submit: _Submit, task: Task, tiles: list[int], limit: int) -> Iterator[_Outcome]:
    """Keep a bounded number of tiles under way; a lost worker's tile is tried again."""
    waiting: dict[Future[Any], tuple[int, int, bool]] = {}
    queue = list(reversed(tiles))
    while waiting or queue:
        while queue and len(waiting) < limit:
            tile = queue.pop()
            taken = submit(tile)
            if taken is None:
                yield _here(task, tile)
            else:
                waiting[taken[0]] = (tile, 1, taken[1])
        ready, _ = wait(waiting, return_when=FIRST_COMPLETED)
        for future in ready:
            tile, attempt, unfinished = waiting.pop(future)
            result, error = _came_back(future, task, tile, unfinished)
            if error is None or attempt == 2:
                yield tile, result, error
            elif (again := submit(tile)) is not None:
                waiting[again[0]] = (tile, 2, again[1])
            else:
                yield _here(task, tile)


def _came_back(
    future: Future[Any], task: Task, tile: int, unfinished: bool
) -> tuple[Any, BaseException | None]:
    error = future.exception()
    if isinstance(error, OutputError):
        raise error
    if error is not None:
        return None, error
    try:
        result = future.result()
        return (task.finish(tile, result, None) if unfinished else result), None
    except OutputError:
        raise
    except Exception as failure:  # as in `_here`
        return None, failure


def _log_failed(work: TileWork, error: BaseException, log: IssueLog) -> None:
    ids = work.subjects.table["subject_id"].astype(str)
    for i in ids:
        log.add(
            "error",
            "tile_failed",
            f"the tile of this subject failed twice: {type(error).__name__}: {error}",
            record_id=i,
            effect="its measures are empty",
        )
