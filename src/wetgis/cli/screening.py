"""Verbs that screen: screen, assess, demo."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wetgis.cli.layers import tell_issues
from wetgis.cli.shell import DONE, day, log_into, print_json, say, verb
from wetgis.errors import InputError, UsageError

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from wetgis.screening import Screening
    from wetgis.screento import FolderRun
    from wetgis.site import Site

app = typer.Typer()

SitePath = Annotated[Path, typer.Argument(metavar="SITE.toml")]
OutFolder = Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the results go.")]
AsOf = Annotated[
    str | None, typer.Option("--as-of", metavar="DATE", help="The day whose law and map count.")
]
AllFindings = Annotated[
    bool, typer.Option("--all", help="findings.csv with the conditions that are not met, too.")
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]


@app.command()
@verb
def screen(
    site: SitePath,
    out: OutFolder,
    ids: Annotated[
        Path | None, typer.Option("--ids", metavar="FILE", help="Screen these only: an id a line.")
    ] = None,
    jobs: Annotated[int | None, typer.Option("--jobs", metavar="N", help="Processes.")] = None,
    scheduler: Annotated[
        str | None,
        typer.Option("--scheduler", metavar="ADDRESS", help="A dask scheduler's address."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a run that stopped.")
    ] = False,
    as_of: AsOf = None,
    all_findings: AllFindings = False,
    as_json: AsJson = False,
) -> int:
    """Screen every parcel, footprint and project of a site."""
    import wetgis
    from wetgis.progress import show_progress

    log_into(out)
    wanted = read_ids(ids) if ids else None
    with layers_of(site, out) as store:
        loaded = read_site(site, as_of, store)
        with executor_at(scheduler) as executor, show_progress() as progress:
            found = wetgis.screen_to(
                loaded,
                out,
                ids=wanted,
                jobs=jobs,
                executor=executor,
                progress=progress,
                resume=resume,
                all_findings=all_findings,
                site_file=site,
            )
    return report(found, out, as_json=as_json)


@app.command()
@verb
def assess(
    site: SitePath,
    ids: Annotated[list[str] | None, typer.Argument(metavar="ID...")] = None,
    project: Annotated[str | None, typer.Option("--project", metavar="ID")] = None,
    footprint: Annotated[
        Path | None, typer.Option("--footprint", metavar="FILE", help="Proposed work to try.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Where the results go.")
    ] = None,
    as_of: AsOf = None,
    all_findings: AllFindings = False,
    as_json: AsJson = False,
) -> int:
    """Assess single parcels or a project, and print a card of each."""
    import wetgis

    if not ids and project is None and footprint is None:
        raise UsageError("nothing to assess is named.", needed="an ID, --project or --footprint")
    if out:
        log_into(out)
    loaded = read_site(site, as_of)
    found = wetgis.assess(loaded, ids or None, project=project, footprints=footprint)
    if out:
        write(found, out, site, all_findings=all_findings)
    if not as_json:
        print(found.show())
    return report(found, out, as_json=as_json, words=False)


def read_site(path: Path, as_of: str | None, store: Path | None = None) -> Site:
    """The site, on another day where one is named, its layers in memory or in a store."""
    import wetgis

    site: Site = wetgis.read_site(path, store=store, **({"as_of": day(as_of)} if as_of else {}))
    return site


#: A site whose files are larger together is not held in memory.
HELD_BYTES = 50_000_000


@contextlib.contextmanager
def layers_of(site: Path, out: Path) -> Iterator[Path | None]:
    """A folder for the layers of a large site, gone afterwards; None for one that is held."""
    from wetgis.siteconfig import bytes_of

    if bytes_of(site) < HELD_BYTES:
        yield None
        return
    folder = out / ".layers"
    shutil.rmtree(folder, ignore_errors=True)
    try:
        folder.mkdir(parents=True)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def write(found: Screening, out: Path, site: Path, *, all_findings: bool = False) -> None:
    """Write a run; its record says where the site file lies, so that `verify` finds the inputs."""
    found.provenance["run"]["site"] = str(site.resolve())
    found.write(out, all_findings=all_findings)


def read_ids(path: Path) -> list[str]:
    """Ids, one a line; blank lines do not count."""
    try:
        lines = path.read_text("utf-8-sig").splitlines()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}.", where=str(path)) from None
    except UnicodeDecodeError:
        raise InputError("is no text in UTF-8.", needed="an id a line", where=str(path)) from None
    ids = [line.strip() for line in lines if line.strip()]
    if not ids:
        raise InputError("holds no id.", needed="an id a line", where=str(path))
    return list(dict.fromkeys(ids))


@contextlib.contextmanager
def executor_at(address: str | None) -> Iterator[Executor | None]:
    """A dask cluster's executor, or None where no address is given."""
    if address is None:
        yield None
        return
    try:
        from distributed import Client
    except ImportError:
        raise UsageError(
            "--scheduler needs dask, which is not installed.", mend="pip install 'wetgis[dask]'"
        ) from None
    with Client(address) as client:
        yield client.get_executor()


def report(
    found: Screening | FolderRun, out: Path | None, *, as_json: bool, words: bool = True
) -> int:
    """Print what was found; the exit code."""
    code = tell_issues(found.issues)
    if as_json:
        print_json(run_document(found, out, code))
    elif words:
        print(found.summary())
    if out:
        say(f"Written to {out}")
    return code


def run_document(found: Screening | FolderRun, out: Path | None, code: int) -> dict[str, Any]:
    """What ``--json`` prints: counts, and where the tables are."""
    severity = found.issues["severity"].value_counts()
    return {
        "schema_version": found.provenance["schema_version"],
        "out": None if out is None else str(out),
        "files": sorted(p.name for p in out.iterdir() if p.is_file()) if out else [],
        "counts": found.provenance["counts"],
        "issues": {str(name): int(n) for name, n in severity.items()},
        "exit_code": code,
    }


@app.command()
@verb
def demo(
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the results go.")] = Path(
        "out"
    ),
) -> int:
    """Screen the two sample towns and say where the reports are."""
    import wetgis
    from wetgis.progress import show_progress
    from wetgis.samples import sample_sites

    out.mkdir(parents=True, exist_ok=True)
    log_into(out)
    for path in sample_sites():
        folder = out / path.parent.name
        with show_progress() as progress:
            found = wetgis.screen(wetgis.read_site(path), progress=progress)
        write(found, folder, path)
        print(found.summary())
        print(f"Report: {folder / 'report.html'}\n")
    return DONE
