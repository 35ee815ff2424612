"""How far a run is: a line that moves on a terminal, a log line a minute elsewhere.

``screen`` and ``assess`` take any callable ``progress(done, total, what)``; :func:`show_progress`
makes the one that the command line hands them.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

__all__ = ["Progress", "memory_mb", "show_progress"]

LOG = logging.getLogger("wetgis")
MINUTE = 60.0


class Progress(Protocol):
    """What a long operation calls now and then; ``what`` names what is counted."""

    def __call__(self, done: int, total: int, what: str) -> None:
        """Tell that ``done`` of ``total`` are finished."""


@contextlib.contextmanager
def show_progress(*, quiet: bool = False) -> Iterator[Progress]:
    """A progress callable that writes to stderr while the block runs.

    Parameters
    ----------
    quiet : bool
        Neither a bar nor log lines.

    Yields
    ------
    callable
        ``progress(done, total, what)``.

    Examples
    --------
    >>> with show_progress(quiet=True) as progress:
    ...     progress(3, 10, "parcels")
    """
    if quiet:
        yield _nothing
    elif sys.stderr.isatty():
        bar = _terminal_bar()
        with bar:
            yield _OnTerminal(bar)
    else:
        yield _InLog()


def _nothing(done: int, total: int, what: str) -> None:
    """Say nothing."""


class _InLog:
    """A log line a minute, and one at the end of what took longer than a minute."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._what = ""
        self._begun = self._said = clock()

    def __call__(self, done: int, total: int, what: str) -> None:
        now = self._clock()
        if what != self._what:
            self._what, self._begun, self._said = what, now, now
        finished = done >= total and now - self._begun >= MINUTE
        if now - self._said < MINUTE and not finished:
            return
        self._said = now
        LOG.info("%s", progress_line(done, total, what, now - self._begun))


def progress_line(done: int, total: int, what: str, seconds: float) -> str:
    """One line of text: how many, how fast, how long still, how much memory.

    Examples
    --------
    >>> progress_line(50, 200, "parcels", 10.0).split("; memory")[0]
    '50 of 200 parcels (25 %), 5.0 a second, 0:00:30 left'
    """
    share = 100 * done / total if total else 100.0
    text = f"{done:,} of {total:,} {what} ({share:.0f} %)"
    if done and seconds > 0:
        rate = done / seconds
        text += f", {rate:,.1f} a second, {_clock_text((total - done) / rate)} left"
    memory = memory_mb()
    return text if memory is None else f"{text}; memory {memory:,.0f} MB"


def _clock_text(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}"


class _OnTerminal:
    """One bar a thing that is counted."""

    def __init__(self, bar: Bar) -> None:
        self._bar = bar
        self._tasks: dict[str, TaskID] = {}

    def __call__(self, done: int, total: int, what: str) -> None:
        if what not in self._tasks:
            self._tasks[what] = self._bar.add_task(what, total=total, memory="")
        memory = memory_mb()
        said = "" if memory is None else f"{memory:,.0f} MB"
        self._bar.update(self._tasks[what], completed=done, total=total, memory=said)


def _terminal_bar() -> Bar:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class Rate(ProgressColumn):
        """How many a second."""

        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            return Text("" if speed is None else f"{speed:,.0f}/s")

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        Rate(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[memory]}", markup=False),
        console=Console(stderr=True),
        transient=True,
    )


def memory_mb() -> float | None:
    """Resident memory of this process and its direct children, MB; None where it is not told."""
    try:
        page = os.sysconf("SC_PAGE_SIZE")
        children: list[str] = []
        for listed in Path("/proc/self/task").glob("*/children"):
            children += listed.read_text().split()
    except (OSError, ValueError, AttributeError):  # not Linux
        return None
    own = _resident_pages("self")
    return (own + sum(map(_resident_pages, children))) * page / 1e6 if own else None


def _resident_pages(pid: str) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except OSError:  # a child that ended meanwhile, or a system without /proc
        return 0
