"""What a run leaves behind: tables, layers, a workbook, a page, words.

Every writer takes a ``Screening``, or a ``Finished`` run whose tables come in pieces, and changes
nothing in it. Files appear under their
final names only when they are complete.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wetgis.outputs.pieces import Finished
    from wetgis.screening import Screening

__all__ = ["write", "write_finished"]


def write(screening: Screening, out_dir: str | Path, *, all_findings: bool = False) -> list[Path]:
    """Write everything that a screening leaves behind into a folder.

    Parameters
    ----------
    screening : Screening
        The result.
    out_dir : str or Path
        The folder; made where it does not exist. Files of an earlier run are replaced.
    all_findings : bool
        Also write findings that are ``not_met`` to the CSV file, the workbook and the layers.

    Returns
    -------
    list of Path
        The files, in the order in which a reader opens them.

    Raises
    ------
    OutputError
        Where a file cannot be written; nothing half-written is left.

    See Also
    --------
    wetgis.outputs.tables.write_run : the tables alone.
    """
    from wetgis.outputs.pieces import Finished

    return write_finished(Finished.of(screening), out_dir, all_findings=all_findings)


def write_finished(run: Finished, out_dir: str | Path, *, all_findings: bool = False) -> list[Path]:
    """Write everything that a run leaves behind, whose tables come in pieces.

    The same as ``write``, byte for byte: it is what ``write`` does. Every writer reads the pieces
    by itself; two work at a time, since most of a page's time is spent in compiled code.
    """
    from wetgis.outputs import geopackage, office, report, tables
    from wetgis.outputs.atomic import staged
    from wetgis.outputs.tally import Tally

    tally = Tally.of(run)
    options: dict[str, Any] = {"all_findings": all_findings, "tally": tally}

    def page_and_layers(folder: Path) -> None:
        report.write_report(run, folder / "report.html", tally)
        geopackage.write_geopackage(run, folder / "screening.gpkg", **options)

    def book_and_tables(folder: Path) -> None:
        office.write_workbook(run, folder / "screening.xlsx", **options)
        tables.write_tables(run, folder, **options)

    with staged(Path(out_dir)) as (folder, finals):
        with ThreadPoolExecutor(2) as writers:
            work = [writers.submit(some, folder) for some in (page_and_layers, book_and_tables)]
        for done in work:
            done.result()
    return finals
