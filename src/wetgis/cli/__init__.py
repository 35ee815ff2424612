"""The command line: thin verbs on the Python functions.

Only the standard library, typer and the small foundations are imported here; each verb imports
what it needs when it runs, so that ``wetgis --help`` answers at once.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from wetgis import __version__
from wetgis.cli import amending, house, layers, maps, packs, runs, screening, shell

__all__ = ["app", "main"]

app = typer.Typer(
    name="wetgis",
    help=(
        "Wetlands, watercourses and their buffers against parcels and proposed work, under local "
        "law. It measures and cites; the board determines."
    ),
    epilog=(
        "Exit codes: 0 done; 1 an error; 2 wrong usage; 3 done, but some records could not be "
        "used; 130 stopped by the user."
    ),
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"wetgis {__version__}\n")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="The version.")
    ] = False,
) -> None:
    """Options of the command itself."""


for _module in (screening, layers, maps, amending, runs, house):
    app.add_typer(_module.app)
app.add_typer(packs.app, name="packs")


def main() -> None:
    """Entry point of the ``wetgis`` command."""
    shell.start()
    try:
        app()
    finally:
        shell.finish()
