"""Rules of the house that a parser can check."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "wetgis"
SOURCES = sorted(PACKAGE.rglob("*.py"))
MODULE_LINES, FUNCTION_LINES, ARGUMENTS = 500, 60, 6
#: What a report must never say of a place: only the board says it.
DETERMINATIONS = ("does not apply", "not subject to", "no permit is needed", "is compliant")


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def functions(path: Path) -> Iterator[ast.FunctionDef]:
    yield from (n for n in ast.walk(parsed(path)) if isinstance(n, ast.FunctionDef))


def compiled(function: ast.FunctionDef) -> bool:
    """A numba kernel takes arrays one by one."""
    return any("njit" in ast.unparse(d) for d in function.decorator_list)


def short(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


@pytest.mark.parametrize("path", SOURCES, ids=short)
def test_size(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) <= MODULE_LINES
    for f in functions(path):
        body = f.body[1:] if ast.get_docstring(f) and len(f.body) > 1 else f.body
        lines = (body[-1].end_lineno or 0) - body[0].lineno + 1
        assert lines <= FUNCTION_LINES, f"{f.name} has {lines} lines"


@pytest.mark.parametrize("path", SOURCES, ids=short)
def test_few_arguments(path: Path) -> None:
    if path.parent.name == "cli":
        pytest.skip("an option a parameter")
    for f in functions(path):
        if compiled(f):
            continue
        positional = [a.arg for a in (*f.args.posonlyargs, *f.args.args) if a.arg != "self"]
        assert len(positional) <= ARGUMENTS, f"{f.name}: {positional}"


@pytest.mark.parametrize("path", SOURCES, ids=short)
def test_no_fault_is_hidden(path: Path) -> None:
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.ExceptHandler):
            assert node.type is not None, f"line {node.lineno}: a bare except"
            broad = ast.unparse(node.type) in {"Exception", "BaseException"}
            silent = all(isinstance(n, ast.Pass | ast.Continue) for n in node.body)
            assert not (broad and silent), f"line {node.lineno}: an except that says nothing"


@pytest.mark.parametrize("path", SOURCES, ids=short)
def test_only_the_command_line_prints(path: Path) -> None:
    if path.parent.name == "cli":
        pytest.skip("it may")
    calls = [n for n in ast.walk(parsed(path)) if isinstance(n, ast.Call)]
    assert not [c.lineno for c in calls if ast.unparse(c.func) == "print"]


@pytest.mark.parametrize("path", SOURCES, ids=short)
def test_no_loop_over_rows(path: Path) -> None:
    names = [n for n in ast.walk(parsed(path)) if isinstance(n, ast.Attribute)]
    assert not [n.lineno for n in names if n.attr == "iterrows"]
    calls = [n for n in ast.walk(parsed(path)) if isinstance(n, ast.Call)]
    rows = [
        k
        for c in calls
        for k in c.keywords
        if k.arg == "axis" and ast.unparse(c.func)[-6:] == ".apply"
    ]
    assert not [ast.unparse(k) for k in rows]


@pytest.mark.parametrize("path", SOURCES, ids=short)
def test_no_determination_is_printed(path: Path) -> None:
    tree = parsed(path)
    said = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}  # docstrings
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            low = node.value.lower()
            assert not [w for w in DETERMINATIONS if w in low], f"line {node.lineno}"


def written_files() -> list[Path]:
    folders = [ROOT / name for name in ("src", "tests", "docs", "benchmarks", "data", ".ci")]
    found = [
        p for folder in folders for p in folder.rglob("*") if p.suffix in {".py", ".md", ".toml"}
    ]
    return sorted([*found, *ROOT.glob("*.md"), *ROOT.glob("*.toml"), ROOT / "Makefile"])


def test_no_place_of_one_machine() -> None:
    """A path of somebody's machine, or a word that says 'not done', has no place here."""
    folders = "|".join(("tmp", "work", "home", "root", "farm"))
    place = re.compile(rf"(?<![\w.}}*-])/({folders})/")
    undone = re.compile("|".join(("TO" + "DO", "FIX" + "ME", "X" * 3)))
    found = [
        f"{path.relative_to(ROOT)}:{i}: {line.strip()}"
        for path in written_files()
        for i, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if place.search(line) or undone.search(line)
    ]
    assert not found
