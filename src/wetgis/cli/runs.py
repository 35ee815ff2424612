"""Verbs about runs on disk: verify, diff."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wetgis.cli.shell import DONE, FAILED, print_json, say, verb

if TYPE_CHECKING:
    import pandas as pd

    from wetgis.runs import RunDiff

app = typer.Typer()
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]
#: Lines of a table that are printed; the rest is counted.
LINES = 40


@app.command()
@verb
def verify(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a run.")],
    inputs: Annotated[
        Path | None,
        typer.Option("--inputs", metavar="DIR", help="Where the site's files are now."),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Are the inputs and packs of a run still the ones it names? Exit code 1 where not."""
    from wetgis.runs import verify_run

    found = verify_run(folder, inputs=inputs)
    if as_json:
        print_json({"changed": found.changed, "rows": found.as_json()})
    else:
        for what, name, state, detail in found.rows:
            print(f"{state:<8} {what} {name}" + (f": {detail}" if detail else ""))
    if found.changed:
        say("The run's numbers belong to other inputs than those that are here now.")
    return FAILED if found.changed else DONE


@app.command()
@verb
def diff(
    before: Annotated[Path, typer.Argument(metavar="BEFORE", help="The folder of a run.")],
    after: Annotated[Path, typer.Argument(metavar="AFTER", help="The folder of another.")],
    as_json: AsJson = False,
) -> int:
    """Which subjects and which rules came out differently in two runs, and what may be why."""
    from wetgis.runs import diff_runs

    found = diff_runs(before, after)
    if as_json:
        print_json({"same": found.same, **found.as_json()})
    else:
        print(_diff_text(found))
    return DONE


def _diff_text(found: RunDiff) -> str:
    lines = ["What went in differs:", *(f"  {c}" for c in found.causes)] if found.causes else []
    for name, table in (("measures", found.measures), ("findings", found.findings)):
        if table.empty:
            lines.append(f"The {name} are the same.")
            continue
        subjects = table[["subject_kind", "subject_id", "record"]].drop_duplicates()
        lines.append(f"The {name} differ in {len(table):,} values of {len(subjects):,} subjects:")
        lines += _rows(table)
    return "\n".join(lines)


def _rows(table: pd.DataFrame) -> list[str]:
    lines = []
    for row in table.head(LINES).to_dict("records"):
        who = f"{row['subject_kind']} {row['subject_id']}"
        if row["record"] not in ("1", 1):
            who += f" (record {row['record']})"
        if "rule" in row:
            who += f" {row['rule']} {row['feature_id']}".rstrip()
        lines.append(f"  {who}: {row['column']}: {row['before']} -> {row['after']}")
    if len(table) > LINES:
        lines.append(f"  ... and {len(table) - LINES:,} more (--json prints all)")
    return lines
