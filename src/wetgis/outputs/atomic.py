"""Files that appear under their final names only when they are complete."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from wetgis.errors import OutputError

__all__ = ["failed", "replacing", "staged"]

#: A reader opens these first; ``run.json`` comes last and so vouches for the rest.
_ORDER = ("report.html", "screening.xlsx", "screening.gpkg")


def failed(path: Path, error: Exception) -> OutputError:
    """The error that says that a file cannot be written, and how to mend it."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return OutputError(
        f"it cannot be written: {reason.strip().rstrip('.')}.",
        needed="a folder that may be written to, with room, and no program holding the old file",
        mend="close the file where it is open, or write to another folder",
        where=str(path),
    )


def _rank(name: str) -> tuple[int, str]:
    if name in _ORDER:
        return _ORDER.index(name), name
    return len(_ORDER) + (name == "run.json"), name


@contextmanager
def staged(out_dir: Path) -> Iterator[tuple[Path, list[Path]]]:
    """A folder to write into, whose files move to ``out_dir`` when the block ends well.

    Yields the folder and a list that holds the final paths after the block.

    Raises
    ------
    OutputError
        Where the folder cannot be made or a file cannot be written or moved.
    """
    finals: list[Path] = []
    try:
        out_dir.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=".unfinished-", dir=out_dir))
    except OSError as error:
        raise failed(out_dir, error) from error
    current = out_dir
    try:
        yield folder, finals
        for name in sorted((p.name for p in folder.iterdir()), key=_rank):
            current = out_dir / name
            os.replace(folder / name, current)
            finals.append(current)
    except OSError as error:
        raise failed(current, error) from error
    except OutputError as error:  # one file of several: it is told by its final name
        final = str(out_dir / Path(error.where).name)
        raise OutputError(error.found, needed=error.needed, mend=error.mend, where=final) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A path to write to, of the same suffix, that becomes ``path`` when the block ends well.

    Raises
    ------
    OutputError
        Where it cannot be written or moved.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=".unfinished-", dir=path.parent))
    except OSError as error:
        raise failed(path, error) from error
    try:
        yield folder / path.name
        os.replace(folder / path.name, path)
    except OSError as error:
        raise failed(path, error) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)
