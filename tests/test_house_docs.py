"""Pages that list names list all of them, and none that is not there.

``python tests/test_house_docs.py`` writes docs/issue-codes.md anew.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from wetgis import schema
from wetgis.issuelog import CODES, ISSUE_COLUMNS

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
ISSUE_CODES = DOCS / "issue-codes.md"


def issue_page() -> str:
    rows = "\n".join(f"| `{code}` | {meaning} |" for code, meaning in CODES.items())
    return (
        "# Issue codes\n\n"
        "The closed list of `code` in `issues.csv`. An issue of severity `error` is a record that\n"
        "could not be used; the command line then ends with exit code 3.\n\n"
        f"| code | what it means |\n|---|---|\n{rows}\n"
    )


def named(page: str) -> set[str]:
    """Everything in backquotes on a page."""
    return set(re.findall(r"`([^`\n]+)`", (DOCS / page).read_text("utf-8")))


def test_issue_codes_page_is_the_list() -> None:
    assert ISSUE_CODES.read_text("utf-8") == issue_page(), "run python tests/test_house_docs.py"


@pytest.mark.parametrize(
    "columns",
    [
        schema.MEASURE_COLUMNS,
        schema.PART_COLUMNS,
        schema.CONTACT_COLUMNS,
        schema.FINDING_COLUMNS,
        schema.CHECKLIST_COLUMNS,
        ISSUE_COLUMNS,
        schema.ANSWERS,
        schema.STATUSES,
        schema.PLACES,
        schema.OUTCOMES,
        schema.FINDING_SEVERITIES,
        schema.DOUBTS,
        schema.COMPARISONS,
        schema.BASES,
    ],
)
def test_every_word_of_the_tables_is_explained(columns: tuple[str, ...]) -> None:
    assert set(columns) <= named("columns.md")


def test_no_column_is_explained_that_is_not_there() -> None:
    known = {
        *schema.MEASURE_COLUMNS,
        *schema.PART_COLUMNS,
        *schema.CONTACT_COLUMNS,
        *schema.FINDING_COLUMNS,
        *ISSUE_COLUMNS,
    }
    told = {n for n in named("columns.md") if re.fullmatch(r"[a-z_]+_(sqft|ft|pct)", n)}
    assert told - known <= {"hydric_pct", "steep_pct"}


def test_the_design_has_a_place_for_every_module() -> None:
    package = ROOT / "src" / "wetgis"
    there = {p.stem for p in package.glob("*.py")} | {
        p.parent.name for p in package.glob("*/__init__.py")
    }
    told = set(re.findall(r"`([^`\n]+)`", (ROOT / "DESIGN.md").read_text("utf-8")))
    assert there - told == {"__init__", "__main__"}


@pytest.mark.parametrize("page", sorted([*ROOT.glob("*.md"), *DOCS.glob("*.md")]), ids=str)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text("utf-8")):
        if not target.startswith(("http:", "https:", "mailto:")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


if __name__ == "__main__":
    ISSUE_CODES.write_text(issue_page(), encoding="utf-8")
