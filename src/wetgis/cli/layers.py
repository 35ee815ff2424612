"""Verbs about one file: check, convert, buffer, slope, index."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wetgis.cli.shell import DONE, SOME_UNUSED, print_json, say, verb, warn
from wetgis.errors import UsageError
from wetgis.issuelog import issue_frame

if TYPE_CHECKING:
    import geopandas as gpd
    import pandas as pd

app = typer.Typer()

LayerName = Annotated[
    str | None, typer.Option("--layer", metavar="NAME", help="Which layer of the file.")
]
IdColumn = Annotated[
    list[str] | None,
    typer.Option(
        "--id", metavar="COLUMN", help="The column with the id; several are joined by '-'."
    ),
]
SourceCrs = Annotated[
    str | None,
    typer.Option("--source-crs", metavar="CRS", help="What the file is in, where it does not say."),
]
TargetCrs = Annotated[
    str | None, typer.Option("--crs", metavar="CRS", help="What to bring it into, as EPSG:2260.")
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]
#: Issues that are printed one by one; the rest is counted.
LINES = 10


def layer_keys(layer: str | None, ids: list[str] | None, source_crs: str | None) -> dict[str, Any]:
    """The options of a verb that reads one file, as keys of a layer."""
    keys: dict[str, Any] = {"layer": layer, "source_crs": source_crs}
    if ids:
        keys["id"] = ids[0] if len(ids) == 1 else ids
    return {name: value for name, value in keys.items() if value is not None}


def tell_issues(issues: pd.DataFrame, *, unused: int | None = None) -> int:
    """Say what is wrong with the input; the exit code that follows from it.

    ``unused`` counts the records that could not be used, where ``issues`` is cut off.
    """
    shown = issues[issues["severity"] != "note"]
    for row in shown.head(LINES).to_dict("records"):
        who = " ".join(t for t in (row["layer"], row["record_id"]) if t)
        say(f"issue: {row['severity']} {row['code']}{f' ({who})' if who else ''}: {row['message']}")
    if len(shown) > LINES:
        say(f"issue: ... and {len(shown) - LINES:,} more")
    notes = issues.loc[issues["severity"] == "note", "code"].value_counts(sort=False)
    if len(notes):
        counted = (str(code) if n == 1 else f"{code} x {n:,}" for code, n in notes.items())
        say(f"notes: {', '.join(counted)}")
    if unused is None:
        unused = int((issues["severity"] == "error").sum())
    if unused:
        warn(f"{unused:,} record{'s' * (unused > 1)} could not be used.")
    return SOME_UNUSED if unused else DONE


def tell_layer(frame: gpd.GeoDataFrame) -> int:
    """The same for a layer that was read: it carries its first hundred issues, and counts."""
    import wetgis

    return tell_issues(wetgis.issues(frame), unused=frame.attrs["wetgis"]["counts"]["errors"])


def read(
    path: Path, crs: str | None, keys: dict[str, Any], *, kind: str | None = None
) -> gpd.GeoDataFrame:
    """Read one layer and say what it is."""
    import wetgis

    frame = wetgis.read_layer(path, kind, crs=crs, **keys)
    say(f"{path}: {len(frame):,} features in {frame.crs.to_string()}")
    return frame


@app.command()
@verb
def check(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...|SITE.toml")],
    fix: Annotated[
        Path | None, typer.Option("--fix", metavar="OUT", help="Write a repaired copy.")
    ] = None,
    layer: LayerName = None,
    ids: IdColumn = None,
    source_crs: SourceCrs = None,
    crs: TargetCrs = None,
    as_json: AsJson = False,
) -> int:
    """Say what files or a site hold, whether it can be measured, and what is wrong with it."""
    from wetgis.check import check_files, check_site, write_repaired

    keys, target = layer_keys(layer, ids, source_crs), {"crs": crs} if crs else {}
    sites = [path for path in files if path.suffix.lower() == ".toml"]
    if not sites:
        report = check_files(files, **keys)
    elif len(files) == 1 and not keys and fix is None:
        report = check_site(files[0], **target)
    else:
        raise UsageError(
            "a site is checked by itself, with the options that stand in it.",
            needed="one site.toml, or layers' files",
        )
    if as_json:
        print_json(report.as_json())
    else:
        print(report.text())
    if target and not sites:
        for path in files:
            say(_way_there(read(path, crs, keys)))
    if fix is not None:
        written = write_repaired(files, fix, **keys, **target)
        say(f"Repaired copy: {fix} ({', '.join(written)})")
    return report.exit_code


def _way_there(frame: gpd.GeoDataFrame) -> str:
    """How a layer got into the system that was asked for."""
    way = frame.attrs["wetgis"]["operation"]
    if not way or not way["definition"]:
        return "  it is in that system already"
    accuracy = way["accuracy_m"]
    known = "not known" if accuracy is None else f"{accuracy:g} m"
    return f"  from {way['from']} to {way['to']}, accuracy {known}: {way['definition']}"


@app.command()
@verb
def convert(
    source: Annotated[Path, typer.Argument(metavar="IN")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The ending says the format.")],
    layer: LayerName = None,
    ids: IdColumn = None,
    source_crs: SourceCrs = None,
    crs: TargetCrs = None,
) -> int:
    """Read a layer, repair it, bring it into one coordinate system and write it."""
    import wetgis

    frame = read(source, crs, layer_keys(layer, ids, source_crs))
    written = wetgis.write_layer(frame, out)
    for column, name in written["names"].items():
        if column != name:
            warn(f"the column {column} is called {name} in {out.name}")
    for column, what in written["lost"].items():
        warn(f"{column}: {what}")
    print(out)
    return tell_layer(frame)


@app.command()
@verb
def buffer(
    source: Annotated[Path, typer.Argument(metavar="IN")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The ending says the format.")],
    distance: Annotated[
        str, typer.Option("--distance", metavar="100ft", help="With its unit: 100ft, 30m.")
    ],
    layer: LayerName = None,
    ids: IdColumn = None,
    source_crs: SourceCrs = None,
    crs: TargetCrs = None,
) -> int:
    """Write the zone within a distance of a layer's features, proved to 0.01 ft."""
    import wetgis
    from wetgis.units import length_in_ft

    feet = length_in_ft(distance)
    frame = read(source, crs, layer_keys(layer, ids, source_crs))
    zone = wetgis.buffer_zone(frame, feet)
    wetgis.write_layer(_as_layer(zone, feet), out)
    print(out)
    return tell_layer(frame)


def _as_layer(zone: gpd.GeoSeries, feet: float) -> gpd.GeoDataFrame:
    import geopandas as gpd

    return gpd.GeoDataFrame({"distance_ft": [feet] * len(zone)}, geometry=zone.array, crs=zone.crs)


@app.command()
@verb
def slope(
    dem: Annotated[Path, typer.Argument(metavar="DEM")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="A GeoTIFF, percent.")],
    z_unit: Annotated[
        str | None,
        typer.Option(
            "--z-unit", metavar="UNIT", help="m, ft or us-ft, where the file does not say."
        ),
    ] = None,
) -> int:
    """Write the slope of a DEM in percent, on the DEM's own grid."""
    import wetgis

    surface = wetgis.slope(dem, out, z_unit=z_unit)
    print(out)
    return tell_issues(surface.issues)


@app.command()
@verb
def index(
    file: Annotated[Path, typer.Argument(metavar="FILE|SITE.toml")],
    layer: LayerName = None,
    ids: IdColumn = None,
    source_crs: SourceCrs = None,
    crs: TargetCrs = None,
) -> int:
    """Write an index beside a parcel file, so that single parcels are assessed at once."""
    from time import perf_counter

    from wetgis.indexing import index_parcels

    keys, started = layer_keys(layer, ids, source_crs), perf_counter()
    if file.suffix.lower() != ".toml":
        made = index_parcels(file, crs=crs, **keys)
    elif keys or crs:
        raise UsageError(
            "a site's parcels are read as the site says.", needed="one site.toml without options"
        )
    else:
        made = index_parcels(file)
    without = len(made) - made.manifest["count_in_tree"]
    lost = f" ({without:,} without a usable geometry)" if without else ""
    say(f"{len(made):,} parcels{lost} in {made.crs.to_string()}")
    say(f"{made.size / 1e6:,.1f} MB, written in {perf_counter() - started:.1f} s")
    say(
        "A site that reads this file in this coordinate system and with the same keys uses it by"
        " itself; when the file changes, it is noticed and made anew."
    )
    print(made.folder)
    return tell_issues(issue_frame(made.told.issues))
