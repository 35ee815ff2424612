"""What a run leaves behind: tables, layers, a workbook, a page, words.

Every writer takes a finished ``Screening`` and changes nothing in it. Files appear under their
final names only when they are complete.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wetgis.screening import Screening

__all__ = ["write"]


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
    from wetgis.outputs.atomic import staged
    from wetgis.outputs.geopackage import write_geopackage
    from wetgis.outputs.office import write_workbook
    from wetgis.outputs.report import write_report
    from wetgis.outputs.tables import write_tables

    with staged(Path(out_dir)) as (folder, finals):
        write_report(screening, folder / "report.html")
        write_workbook(screening, folder / "screening.xlsx", all_findings=all_findings)
        write_geopackage(screening, folder / "screening.gpkg", all_findings=all_findings)
        write_tables(screening, folder, all_findings=all_findings)
    return finals
