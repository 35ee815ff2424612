"""Progress: a bar on a terminal, a line a minute in a log, nothing when told to be quiet."""

from __future__ import annotations

import io
import logging
import sys

import pytest

from wetgis import progress


class Clock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_one_line_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    tell = progress._InLog(clock)
    with caplog.at_level(logging.INFO, logger="wetgis"):
        for second in range(151):
            clock.now = float(second)
            tell(second, 300, "parcels")
    lines = [r.getMessage() for r in caplog.records]
    assert [line.split(" (")[0] for line in lines] == ["60 of 300 parcels", "120 of 300 parcels"]
    assert "1.0 a second, 0:04:00 left" in lines[0]


def test_a_short_run_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    tell = progress._InLog(clock)
    with caplog.at_level(logging.INFO, logger="wetgis"):
        for done in range(11):
            clock.now = 5.0 * done
            tell(done, 10, "parcels")
    assert caplog.records == []


def test_a_long_one_says_when_it_is_done(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    tell = progress._InLog(clock)
    with caplog.at_level(logging.INFO, logger="wetgis"):
        for done in (0, 10):
            clock.now = 61.0 * (done > 0)
            tell(done, 10, "tiles")
    assert [r.getMessage().split(",")[0] for r in caplog.records] == ["10 of 10 tiles (100 %)"]


def test_nothing_to_do_is_all_done() -> None:
    assert progress.progress_line(0, 0, "parcels", 1.0).startswith("0 of 0 parcels (100 %)")


def test_memory_is_that_of_a_process_with_numpy_or_not_told() -> None:
    memory = progress.memory_mb()
    assert memory is None or 10 < memory < 100_000


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with progress.show_progress() as tell:
        tell(30, 100, "parcels [bold]")
    assert "parcels [bold]" in screen.getvalue()
    assert "30/100" in screen.getvalue()


def test_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.show_progress(quiet=True) as tell:
        tell(1, 2, "parcels")
    said = capsys.readouterr()
    assert said.out + said.err == ""
