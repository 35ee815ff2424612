"""What every verb shares: messages, ``run.log``, exit codes, the environment, JSON.

Results go to stdout, everything else to stderr and, once a verb knows its folder, to
``run.log`` in it.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import logging
import math
import os
import shlex
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TextIO

import typer

from wetgis.errors import UsageError, WetgisError

if TYPE_CHECKING:
    import datetime

__all__ = [
    "DONE",
    "FAILED",
    "SOME_UNUSED",
    "clean_environment",
    "day",
    "finish",
    "log_into",
    "print_json",
    "say",
    "start",
    "verb",
    "warn",
]

DONE, FAILED, USAGE, SOME_UNUSED, STOPPED = 0, 1, 2, 3, 130
#: Variables that point GDAL and PROJ at data files; another program's files break ours.
DATA_VARIABLES = ("PROJ_DATA", "PROJ_LIB", "GDAL_DATA")

LOG = logging.getLogger("wetgis")
P = ParamSpec("P")


def say(text: str) -> None:
    """A message: stderr and ``run.log``."""
    LOG.info("%s", text)


def warn(text: str) -> None:
    """A message about something that the user should look at."""
    LOG.warning("%s", text)


class _Stderr(logging.Handler):
    """Writes to whatever stderr is now: a progress bar may stand in for it."""

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if record.levelno >= logging.WARNING:
            text = f"{record.levelname.lower()}: {text}"
        print(text, file=sys.stderr)


def start() -> None:
    """Set up messages and drop what would break the libraries; once a process."""
    LOG.setLevel(logging.INFO)
    LOG.handlers = [_Stderr()]
    # GDAL's own remarks reach Python's logging; they are kept for run.log and do not fill stderr.
    logging.getLogger().handlers = [logging.NullHandler()]
    warnings.showwarning = _show_warning
    for name, path in clean_environment().items():
        warn(f"{name}={path} belongs to another program and was ignored.")


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """A library's warning is a message for ``run.log``."""
    logging.getLogger("python").warning(
        "%s: %s (%s:%s)", category.__name__, message, filename, lineno
    )


def clean_environment() -> dict[str, str]:
    """Drop foreign ``PROJ_DATA``, ``PROJ_LIB`` and ``GDAL_DATA``; must run before GDAL is loaded.

    Returns
    -------
    dict
        What was dropped: name and value.

    Notes
    -----
    Wheels carry their own data files, and three GDALs and PROJs live in this process; a database
    of another version breaks at least one of them. Where the libraries come without their own
    files (conda), a variable that points into this environment is theirs and stays.
    """
    given = {name: os.environ[name] for name in DATA_VARIABLES if os.environ.get(name)}
    if not given:
        return {}
    bundled = _carries_its_data()
    home = Path(sys.prefix).resolve()
    dropped = {
        name: value
        for name, value in given.items()
        if bundled or home not in Path(value).resolve().parents
    }
    for name in dropped:
        del os.environ[name]
    return dropped


def _carries_its_data() -> bool:
    spec = importlib.util.find_spec("rasterio")
    folders = spec.submodule_search_locations if spec else None
    return any((Path(folder) / "proj_data").is_dir() for folder in folders or [])


def log_into(folder: Path) -> Path:
    """Make ``folder`` and write every further message into its ``run.log`` too."""
    from wetgis import __version__

    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "run.log"
    handler = logging.FileHandler(path, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logging.getLogger().addHandler(handler)
    command = shlex.join(["wetgis", *sys.argv[1:]])
    first = {"levelname": "INFO", "msg": f"wetgis {__version__}: {command}"}
    handler.emit(logging.makeLogRecord(first))
    return path


def finish() -> None:
    """Close what ``log_into`` opened."""
    root = logging.getLogger()
    for handler in [h for h in root.handlers if isinstance(h, logging.FileHandler)]:
        root.removeHandler(handler)
        handler.close()


def _log_file() -> Path | None:
    for handler in logging.getLogger().handlers:
        if isinstance(handler, logging.FileHandler):
            return Path(handler.baseFilename)
    return None


def verb(function: Callable[P, int | None]) -> Callable[P, None]:
    """Turn what a verb returns or raises into an exit code and one message."""

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        raise typer.Exit(_guarded(functools.partial(function, *args, **kwargs)))

    return run


def _guarded(call: Callable[[], int | None]) -> int:
    try:
        return call() or DONE
    except WetgisError as error:
        LOG.error("%s", error_text(error))
        return error.exit_code
    except KeyboardInterrupt:
        LOG.error("stopped")
        return STOPPED
    except BrokenPipeError:  # the reader of stdout has gone: no more can be said there
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except typer.Exit:
        raise
    except Exception as error:
        LOG.error("%s", _unexpected(error))
        return FAILED


def error_text(error: WetgisError) -> str:
    """What was found, what is needed and how to mend it, a line each."""
    lines = [f"{error.where}: {error.found}" if error.where else error.found]
    if error.needed:
        lines.append(f"  needed: {error.needed}")
    if error.mend:
        lines.append(f"  to mend it: {error.mend}")
    return "\n".join(lines)


def _unexpected(error: Exception) -> str:
    """One line; the traceback goes into ``run.log``, or into a file of its own."""
    text = traceback.format_exc()
    path = _log_file()
    if path is None:
        handle, name = tempfile.mkstemp(prefix="wetgis-", suffix=".log", text=True)
        path = Path(name)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
    else:
        logging.getLogger("traceback").error("%s", text)
    first = (str(error).splitlines() or [""])[0]
    return (
        f"this should not have happened ({type(error).__name__}: {first}). "
        f"The traceback is in {path}"
    )


def day(text: str | None) -> datetime.date | None:
    """A day as 2026-11-30, or None where none is given."""
    import datetime

    if text is None:
        return None
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise UsageError(
            f"'{text}' is no day.", needed="year, month and day, as 2026-11-30"
        ) from None


def print_json(document: Any) -> None:
    """One JSON document on stdout; NaN and infinity become null."""
    json.dump(_plain(document), sys.stdout, ensure_ascii=False, indent=1, allow_nan=False)
    sys.stdout.write("\n")


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, str) or value is None or isinstance(value, bool):
        return value
    if isinstance(value, Sequence | set | frozenset):
        return [_plain(item) for item in value]
    if hasattr(value, "item"):  # a NumPy scalar
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, int) else str(value)
