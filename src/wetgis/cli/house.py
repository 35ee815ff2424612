"""Verbs about the installation and the start: init, doctor."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Annotated

import typer

from wetgis.cli.shell import DONE, FAILED, print_json, say, verb
from wetgis.errors import OutputError

app = typer.Typer()


def write_template(template: str, path: Path, **words: str) -> None:
    """Copy a template of the package to ``path``, never over a file; ``words`` are put in."""
    if path.exists():
        raise OutputError(
            "there is a file of this name already, and it was left alone.",
            mend="name another place, or move the file away",
            where=str(path),
        )
    text = (resources.files("wetgis.cli") / "templates" / template).read_text("utf-8")
    for name, word in words.items():
        text = text.replace(name, word)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@app.command()
@verb
def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where site.toml is to stand.")],
) -> int:
    """Write a site.toml to fill in, each key explained."""
    path = folder / "site.toml"
    write_template("site.toml", path)
    print(path)
    say(f"Fill it in, then:  wetgis check {path}  and  wetgis screen {path} --out out")
    return DONE


@app.command()
@verb
def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> int:
    """Try every GDAL, PROJ and GEOS that is installed, and say their versions."""
    from dataclasses import asdict

    from wetgis.doctor import examine

    found = examine()
    if as_json:
        print_json({"ok": all(f.ok for f in found), "tried": [asdict(f) for f in found]})
    else:
        width = max(len(f.name) for f in found)
        for f in found:
            print(f"{'ok ' if f.ok else 'BAD'}  {f.name:<{width}}  {f.detail}")
    return DONE if all(f.ok for f in found) else FAILED
