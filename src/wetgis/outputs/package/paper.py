"""A document as a list of parts, and the same document as pages of a PDF or as Word."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Blank", "Document", "Heading", "Picture", "Table", "Text", "write_docx", "write_pdf"]


@dataclass(frozen=True)
class Heading:
    """A heading above what follows."""

    text: str


@dataclass(frozen=True)
class Text:
    """A paragraph; ``mark`` stands before it, as the dot of a list."""

    text: str
    mark: str = ""
    bold: bool = False
    small: bool = False


@dataclass(frozen=True)
class Blank:
    """A line that a person fills in."""

    label: str


@dataclass(frozen=True)
class Table:
    """Cells as text; ``shares`` are the widths, ``right`` the columns of numbers."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    shares: tuple[float, ...]
    right: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Picture:
    """A drawing: ``draw(ax)`` on axes of this size in inches."""

    draw: Callable[[Any], None]
    width: float
    height: float


Part = Heading | Text | Blank | Table | Picture


@dataclass(frozen=True)
class Document:
    """A title and what stands below it; several documents of one file begin on new pages."""

    title: str
    parts: tuple[Part, ...]
    foot: str = ""


def write_pdf(documents: Sequence[Document], path: Path, title: str) -> None:
    """Letter pages, fonts embedded; equal documents are equal bytes."""
    import matplotlib as mpl
    from matplotlib.backends.backend_pdf import PdfPages

    from wetgis import __version__
    from wetgis.outputs.package.pages import pages_of
    from wetgis.outputs.sheets.ink import RC

    about = {"Title": title, "Creator": f"wetgis {__version__}", "CreationDate": None}
    with mpl.rc_context(RC), PdfPages(path, metadata=about) as pdf:
        for document in documents:
            for paper in pages_of(document):
                pdf.savefig(paper.figure)


def write_docx(documents: Sequence[Document], path: Path, title: str) -> None:
    """The same as Word."""
    import datetime

    from docx import Document as Word

    from wetgis.outputs.package.word import fill, page_break, styled

    word = Word()
    styled(word)
    word.core_properties.title = title
    word.core_properties.author = "wetgis"
    word.core_properties.comments = ""
    # no clock in a file: the day is in its text
    word.core_properties.created = word.core_properties.modified = datetime.datetime(2000, 1, 1)
    for k, document in enumerate(documents):
        if k:
            page_break(word)
        fill(word, document)
    word.save(str(path))
