"""Every example in a docstring runs, and says what comes out."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "wetgis"
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def names() -> list[str]:
    paths = (p.relative_to(PACKAGE.parent).with_suffix("") for p in PACKAGE.rglob("*.py"))
    return sorted(".".join(p.parts).removesuffix(".__init__") for p in paths if ">>> " in _text(p))


def _text(path: Path) -> str:
    return (PACKAGE.parent / path).with_suffix(".py").read_text("utf-8")


@pytest.mark.parametrize("name", names())
def test_examples(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module(name)
    monkeypatch.chdir(tmp_path)
    result = doctest.testmod(module, optionflags=FLAGS)
    assert result.attempted > 0
    assert result.failed == 0


def test_the_example_of_the_readme() -> None:
    readme = PACKAGE.parents[1] / "README.md"
    result = doctest.testfile(str(readme), module_relative=False, optionflags=FLAGS)
    assert result.attempted > 5
    assert result.failed == 0
