"""The notebooks run from beginning to end and say what they promise."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"
EVERY = sorted(NOTEBOOKS.glob("*.ipynb"))
#: Words that the printed output of a notebook holds.
SAYS = {
    "01_first_screening": (
        "Shoreville as of 2026-11-30",
        "of 567 parcels",
        "RYE-12",
        "SV-006",
        "report.html",
        "run.json",
        "This is a screening",
    ),
}


def run(path: Path) -> Any:
    """The notebook with its outputs, run in its own folder by this interpreter."""
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    client = pytest.importorskip("nbclient")
    book = nbformat.read(path, as_version=4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of the kernel's own machinery
        runner = client.NotebookClient(
            book,
            timeout=600,
            kernel_name="python3",
            resources={"metadata": {"path": str(path.parent)}},
        )
        runner.execute()
    return book


def printed(book: Any) -> str:
    """All that the cells print or show as text."""
    texts = []
    for cell in book.cells:
        for output in cell.get("outputs", []):
            texts.append(output.get("text", ""))
            texts.append(output.get("data", {}).get("text/plain", ""))
    return "\n".join(texts)


@pytest.mark.slow
@pytest.mark.parametrize("path", EVERY, ids=lambda p: p.stem)
def test_runs_without_error_or_warning(path: Path) -> None:
    book = run(path)
    streams = [o for c in book.cells for o in c.get("outputs", []) if o.output_type == "stream"]
    assert not [o.text for o in streams if o.name == "stderr" and "Warning" in o.text]
    text = printed(book)
    for words in SAYS.get(path.stem, ()):
        assert words in text, words


@pytest.mark.parametrize("path", EVERY, ids=lambda p: p.stem)
def test_is_kept_without_outputs(path: Path) -> None:
    nbformat = pytest.importorskip("nbformat")
    book = nbformat.read(path, as_version=4)
    nbformat.validate(book)
    code = [c for c in book.cells if c.cell_type == "code"]
    assert code
    assert all(not c.outputs and c.execution_count is None for c in code)
    assert book.cells[0].cell_type == "markdown"
