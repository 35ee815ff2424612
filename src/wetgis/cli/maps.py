"""Verbs that make maps: delineate, compare, sheet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wetgis.cli.layers import (
    AsJson,
    LayerName,
    SourceCrs,
    TargetCrs,
    tell_issues,
)
from wetgis.cli.screening import AsOf, SitePath, read_site
from wetgis.cli.shell import DONE, SOME_UNUSED, print_json, say, verb, warn
from wetgis.errors import UsageError

if TYPE_CHECKING:
    from wetgis.compare import Comparison
    from wetgis.delineation import Delineation
    from wetgis.outputs.sheet import Sheets

app = typer.Typer()


@app.command()
@verb
def delineate(
    flags: Annotated[Path, typer.Argument(metavar="FLAGS", help="CSV, GPX or a point layer.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="A GeoPackage.")],
    series: Annotated[
        str, typer.Option("--series", metavar="COLUMN", help="The column of series.")
    ] = "series",
    number: Annotated[
        str, typer.Option("--number", metavar="COLUMN", help="The column of numbers.")
    ] = "number",
    close: Annotated[
        list[str] | None,
        typer.Option("--close", metavar="SERIES", help="Close this one; 'all' closes every one."),
    ] = None,
    along: Annotated[
        str | None,
        typer.Option("--along", metavar="FILE|SERIES", help="Close along this line, not straight."),
    ] = None,
    island: Annotated[
        list[str] | None, typer.Option("--island", metavar="SERIES", help="Upland inside.")
    ] = None,
    accuracy: Annotated[
        str | None,
        typer.Option("--accuracy", metavar="3ft", help="At 95 %, of flags that state none."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Of the Monte Carlo.")] = 0,
    columns: Annotated[
        str | None,
        typer.Option(
            "--columns", metavar="pnezd", help="Of a CSV without a header, letter by letter."
        ),
    ] = None,
    layer: LayerName = None,
    source_crs: SourceCrs = None,
    crs: TargetCrs = None,
    as_json: AsJson = False,
) -> int:
    """Turn field flags into boundaries and wetlands, with checks and an interval of the area."""
    import wetgis
    from wetgis.flags import read_flags
    from wetgis.units import length_in_ft

    feet = None if accuracy is None else length_in_ft(accuracy)
    points = read_flags(flags, source_crs=source_crs, crs=crs, layer=layer, columns=columns)
    found = wetgis.delineate(
        points,
        series=series,
        number=number,
        close=_closed(close),
        closing_line=_line(along, points),
        accuracy_ft=feet,
        seed=seed,
        islands=island or (),
    )
    found.write(out)
    unused = int((found.checks["severity"] == "error").sum())
    code = SOME_UNUSED if unused else DONE
    if as_json:
        print_json(_document(found, out, code))
    else:
        print(_text(found))
    for row in found.checks.to_dict("records"):
        who = f"{row['series']}-{row['number']}".strip("-")
        (say if row["severity"] == "note" else warn)(f"{row['code']} {who}: {row['message']}")
    say(f"Written to {out}")
    return code


@app.command()
@verb
def compare(
    a: Annotated[str, typer.Argument(metavar="A", help="A delineation, or polygons.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The other one.")],
    site: Annotated[
        Path | None, typer.Argument(metavar="SITE.toml", help="Try its law under A, B, both.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="OUT.gpkg", help="Strips and the rest.")
    ] = None,
    step: Annotated[
        str, typer.Option("--step", metavar="5ft", help="Of the profile along A's boundary.")
    ] = "5ft",
    as_json: AsJson = False,
) -> int:
    """Where two delineations of one place differ, by how much, and which findings turn."""
    import wetgis
    from wetgis.compare import compare as compared
    from wetgis.units import length_in_ft

    step_ft = length_in_ft(step)
    loaded = None if site is None else wetgis.read_site(site)
    found = compared(a, b, site=loaded, step_ft=step_ft)
    if out is not None:
        _write_comparison(found, out)
        say(f"Written to {out}")
    if as_json:
        print_json(_comparison(found))
    else:
        print(found.summary())
    return DONE


def _comparison(found: Comparison) -> dict[str, Any]:
    tables = {
        name: getattr(found, name).drop(columns="geometry", errors="ignore").to_dict("records")
        for name in ("totals", "strips", "separation", "profile")
    }
    return {
        **tables,
        "findings": None if found.findings is None else found.findings.to_dict("records"),
    }


def _write_comparison(found: Comparison, out: Path) -> None:
    import wetgis

    if out.suffix.lower() != ".gpkg":
        raise UsageError(f"'{out.name}' cannot hold two layers.", needed="a name ending in .gpkg")
    wetgis.write_layer(found.strips, out, layer="strips")
    wetgis.write_layer(found.separation, out, layer="separation")


@app.command()
@verb
def sheet(
    site: SitePath,
    out: Annotated[Path, typer.Option("--out", metavar="PDF", help="The file to write.")],
    scale: Annotated[
        str, typer.Option("--scale", metavar="50ft", help="Ground on an inch of paper.")
    ] = "50ft",
    page: Annotated[
        str,
        typer.Option(
            "--page", metavar="PAGE", help="LETTER, LEGAL, TABLOID, ANSI B to D, ARCH A to D."
        ),
    ] = "ARCH D",
    ids: Annotated[
        list[str] | None, typer.Option("--id", metavar="ID", help="Sheets about this subject only.")
    ] = None,
    title: Annotated[
        str, typer.Option("--title", metavar="TEXT", help="Of the project; else the site's.")
    ] = "",
    north: Annotated[
        str, typer.Option("--north", metavar="NORTH", help="Where the arrow points: grid, true.")
    ] = ("grid"),
    contours: Annotated[
        str | None, typer.Option("--contours", metavar="2ft", help="Their interval.")
    ] = None,
    around: Annotated[
        str | None, typer.Option("--around", metavar="200ft", help="Ground around the parcels.")
    ] = None,
    as_of: AsOf = None,
    as_json: AsJson = False,
) -> int:
    """Draw plan sheets of a site at an exact scale, and say what the data could not show."""
    from wetgis.outputs.sheet import SheetOptions, write_sheet
    from wetgis.units import length_in_ft

    options = SheetOptions(
        title=title,
        north=north,
        contour_ft=None if contours is None else length_in_ft(contours),
        around_ft=None if around is None else length_in_ft(around),
    )
    per_inch = length_in_ft(scale)
    loaded = read_site(site, as_of)
    drawn = write_sheet(loaded, out, scale_ft_per_in=per_inch, page=page, ids=ids, options=options)
    if as_json:
        print_json(asdict(drawn))
    else:
        print("\n".join(_sheet_lines(drawn)))
    say(f"Written to {out}; print it at 100 %: 'fit to page' ends the scale.")
    return tell_issues(loaded.issue_frame())


def _sheet_lines(drawn: Sheets) -> Iterator[str]:
    yield f"{len(drawn.pages)} sheets: {', '.join(drawn.pages)}"
    for check in drawn.checks:
        yield f"scale, {check.pack}: {check.outcome}. {check.says} [{check.cite}]"
    for item in drawn.content:
        if item.status != "shown":
            yield f"{item.rule} {item.what}: {item.status}, {item.why} [{item.cite}]"
    for what, count in drawn.left_out.items():
        yield f"no room for {count} {what}"


def _closed(names: list[str] | None) -> bool | list[str]:
    if names and "all" in [name.lower() for name in names]:
        return True
    return names or False


def _line(along: str | None, points: Any) -> Any:
    """A layer of lines or outlines where this is a file, else the name of a series."""
    if along is None or not Path(along).suffix:
        return along
    import wetgis

    if points.crs is None:
        raise UsageError("the flags have no coordinate system.", mend="state it with --source-crs")
    return wetgis.read_layer(along, like=points)


def _document(found: Delineation, out: Path, code: int) -> dict[str, Any]:
    tables = {
        name: getattr(found, name).drop(columns="geometry", errors="ignore").to_dict("records")
        for name in ("boundaries", "wetlands", "checks")
    }
    return {"out": str(out), **tables, "provenance": found.provenance, "exit_code": code}


def _text(found: Delineation) -> str:
    lines = []
    for row in found.boundaries.to_dict("records"):
        state = "closed" if row["closed"] else "open"
        lines.append(
            f"series {row['series']}: {row['n_flags']} flags, {row['length_ft']:,.1f} ft, {state}"
        )
    for row in found.wetlands.to_dict("records"):
        text = f"wetland {row['id']}: {row['area_sqft']:,.0f} sq ft"
        if row["area_low_sqft"] == row["area_low_sqft"]:
            text += f" ({row['area_low_sqft']:,.0f} to {row['area_high_sqft']:,.0f}, 95 %)"
        lines.append(text)
    return "\n".join(lines)
