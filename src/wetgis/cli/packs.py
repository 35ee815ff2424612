"""Verbs about law packs: list, show, check, test, new, schema."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wetgis.cli.house import write_template
from wetgis.cli.shell import DONE, FAILED, day, print_json, say, verb

if TYPE_CHECKING:
    from wetgis.packs import Pack

app = typer.Typer(
    help="Law packs: a chapter of local law as data.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]
Name = Annotated[str, typer.Argument(metavar="PACK", help="An id, or the path of a TOML file.")]
WIDTH = 100
COMPARED = {"gt": "more than", "ge": "at least", "lt": "less than", "le": "up to"}


@app.command("list")
@verb
def list_(as_json: AsJson = False) -> int:
    """The packs that are installed."""
    from wetgis.packs import list_packs, load_pack

    packs = [load_pack(name) for name in list_packs()]
    if as_json:
        print_json([{"id": p.id, "title": p.title, "place": p.place, "crs": p.crs} for p in packs])
    else:
        for pack in packs:
            print(f"{pack.id:<16} {pack.title}")
    return DONE


@app.command()
@verb
def show(
    pack: Name,
    as_of: Annotated[
        str | None, typer.Option("--as-of", metavar="DATE", help="The day whose numbers are shown.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """A pack's numbers, rules and checklist, each with its citation."""
    from wetgis.packs import load_pack

    loaded = load_pack(pack, as_of=day(as_of))
    if as_json:
        print_json({"sha256": loaded.sha256, **loaded.model.model_dump(mode="json", by_alias=True)})
    else:
        print(_pack_text(loaded))
    return DONE


def _pack_text(pack: Pack) -> str:
    lines = [
        f"{pack.id}: {pack.title}",
        f"on {pack.as_of}, {pack.crs}",
        "",
        "Numbers",
    ]
    for name in pack.model.parameters:
        limit = pack.limit(name)
        number = limit.lawful if limit.known else f"not known ({limit.missing})"
        compared = COMPARED.get(limit.comparison, "")
        status = "" if limit.cite_status == "exact" else f", {limit.cite_status}"
        lines += [f"  {name}: {compared} {number}", f"    [{limit.cite}{status}]"]
        lines += _wrapped(limit.says)
    lines += ["", "Rules"]
    for rule in pack.rules:
        lines += [f"  {rule.id} {rule.title} [{rule.cite}]", *_wrapped(rule.says)]
    lines += ["", "Checklist: what no layer can answer"]
    for entry in pack.model.checklist:
        lines += [f"  {entry.rule} [{entry.cite}]", *_wrapped(entry.says)]
    return "\n".join(lines)


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent="    ", subsequent_indent="    ")


@app.command()
@verb
def check(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Packs, TOML.")],
    as_json: AsJson = False,
) -> int:
    """Say everything that is wrong in a pack, with the path of the key in the file."""
    from wetgis.packs.reading import problems_of, read_text

    rows: list[dict[str, Any]] = []
    for path in files:
        model, problems = problems_of(read_text(path))
        rows += [
            {"file": str(path), "key": key, "found": found, "mend": mend}
            for key, found, mend in problems
        ]
        if model is not None and not problems:
            counted = f"{len(model.parameters)} numbers, {len(model.rules)} rules"
            say(
                f"{path}: {counted}, {len(model.checklist)} entries of the checklist; nothing wrong"
            )
    if as_json:
        print_json({"ok": not rows, "problems": rows})
    else:
        for row in rows:
            place = f"{row['file']}: {row['key']}" if row["key"] else row["file"]
            print(f"{place}: {row['found']} {row['mend']}".rstrip())
    return FAILED if rows else DONE


@app.command("test")
@verb
def try_cases(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Rule cases, TOML.")],
    as_json: AsJson = False,
) -> int:
    """Run rule cases: what lies where, in plain words, and what the findings must be."""
    from wetgis.rulecases import problems_of, read_cases

    cases = [case for path in files for case in read_cases(path)]
    failed = {f"{c.file}: {c.name}": found for c in cases if (found := problems_of(c))}
    if as_json:
        print_json({"cases": len(cases), "failed": failed})
    else:
        for name, found in failed.items():
            print("\n  ".join([name, *found]))
    say(f"{len(cases) - len(failed)} of {len(cases)} cases came out as expected.")
    return FAILED if failed else DONE


@app.command()
@verb
def new(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where the pack is to stand.")],
) -> int:
    """Write a small pack to begin another town's law with, and cases to try it on."""
    cases = file.with_name(f"{file.stem}-cases.toml")
    write_template("pack.toml", file)
    write_template("cases.toml", cases, PACK=file.name)
    print(file)
    print(cases)
    say(f"Fill them in, then:  wetgis packs check {file}  and  wetgis packs test {cases}")
    return DONE


@app.command()
@verb
def schema() -> int:
    """The JSON Schema of a pack, for editors that complete and check TOML."""
    from wetgis.packs.model import PackModel

    print_json(PackModel.model_json_schema())
    return DONE
