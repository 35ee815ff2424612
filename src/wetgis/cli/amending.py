"""The verb that amends a map."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wetgis.cli.layers import AsJson, IdColumn, LayerName, SourceCrs, layer_keys, tell_issues
from wetgis.cli.screening import AsOf, OutFolder, SitePath, read_site
from wetgis.cli.shell import log_into, print_json, say, verb

if TYPE_CHECKING:
    from wetgis.amendment import Amendment

app = typer.Typer()


@app.command()
@verb
def amend(
    site: SitePath,
    out: OutFolder,
    mode: Annotated[
        str,
        typer.Option(
            "--mode", metavar="MODE", help="by_id, whole (the new map), within (an extent)."
        ),
    ],
    proposed: Annotated[
        Path, typer.Option("--proposed", metavar="FILE", help="The proposed features.")
    ],
    kind: Annotated[
        str, typer.Option("--kind", metavar="KIND", help="wetlands or watercourses.")
    ] = "wetlands",
    extent: Annotated[
        Path | None, typer.Option("--extent", metavar="FILE", help="For --mode within.")
    ] = None,
    remove: Annotated[
        list[str] | None, typer.Option("--remove", metavar="ID", help="A feature that goes.")
    ] = None,
    accept: Annotated[
        list[str] | None,
        typer.Option("--accept", metavar="ID", help="Only this change or feature is adopted."),
    ] = None,
    min_change: Annotated[
        float,
        typer.Option("--min-change-sqft", metavar="NUMBER", help="Changes below are slivers."),
    ] = 1.0,
    template: Annotated[
        Path | None, typer.Option("--template", metavar="DOCX", help="Your own finding.")
    ] = None,
    owner: Annotated[
        list[str] | None,
        typer.Option("--owner", metavar="COLUMN", help="Of the address: letters are written."),
    ] = None,
    within: Annotated[
        str, typer.Option("--within", metavar="100ft", help="Abutters this near are told too.")
    ] = "0ft",
    layer: LayerName = None,
    ids: IdColumn = None,
    source_crs: SourceCrs = None,
    as_of: AsOf = None,
    as_json: AsJson = False,
) -> int:
    """Amend a map: what changes, for whom, and the papers that a board needs."""
    import wetgis
    from wetgis.units import length_in_ft

    near_ft = length_in_ft(within)
    log_into(out)
    loaded = read_site(site, as_of)
    keys = layer_keys(layer, ids, source_crs)
    # a full path: `verify` looks for what is not absolute beside the site file
    path = str(proposed.resolve())
    made = wetgis.amend(
        loaded,
        wetgis.Layer(path, **keys) if keys else path,
        kind=kind,
        mode=mode,
        extent=extent,
        remove=remove or (),
        accept=accept,
        min_change_sqft=min_change,
    )
    made.provenance["run"]["site"] = str(site.resolve())
    made.write(out, template=template)
    if owner:
        _letters(made, owner, near_ft, out / "notices")
    code = tell_issues(made.issues)
    if as_json:
        print_json(_document(made, out, code))
    else:
        print(made.summary())
    say(f"Written to {out}")
    return code


def _letters(made: Amendment, owner: list[str], near_ft: float, folder: Path) -> None:
    from wetgis.notices import notices

    told = notices(made, owners=owner, within_ft=near_ft)
    told.write(folder)
    say(f"{len(told.recipients)} addressees: {folder}")


def _document(made: Amendment, out: Path, code: int) -> dict[str, Any]:
    return {
        "schema_version": made.provenance["schema_version"],
        "out": str(out),
        "files": sorted(p.name for p in out.iterdir() if p.is_file()),
        "counts": made.provenance["counts"],
        "totals": made.totals.to_dict("records"),
        "exit_code": code,
    }
