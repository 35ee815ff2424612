"""The amendment package: layers, sheets before and after, tables, a report and a draft finding."""

from __future__ import annotations

import importlib.util
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import shapely

from wetgis.errors import OutputError, UsageError
from wetgis.outputs.atomic import staged

if TYPE_CHECKING:
    from wetgis.amendment import Amendment

__all__ = ["write_package"]

_LOG = logging.getLogger("wetgis")
PAGE = "TABLOID"
#: A sheet shows no more ground on an inch than this, ft; beyond it there are several.
SCALES = (20.0, 30.0, 40.0, 50.0, 60.0, 100.0, 200.0)
AROUND_FT = 60.0


def write_package(
    amendment: Amendment, folder: str | Path, *, template: str | Path | None = None
) -> list[Path]:
    """Write everything that a board needs of an amendment into a folder.

    Parameters
    ----------
    amendment : Amendment
    folder : path
        Made where it does not exist; files of an earlier run are replaced, and nothing
        half-written is left.
    template : path, optional
        A Word template (.docx) with tags of Jinja that makes ``finding.docx`` in place of ours.

    Returns
    -------
    list of Path
        ``amendment.gpkg`` (styled), ``sheet_before.pdf``, ``sheet_after.pdf``, ``report.pdf``,
        ``report.docx``, ``finding.pdf``, ``finding.docx``, ``amendment.xlsx``, the tables as CSV,
        ``run.json``. PDFs need ``wetgis[maps]``, Word files ``wetgis[office]``: without them they
        are left out, and a warning says so.

    Raises
    ------
    UsageError
        Where a template is given and docxtpl is not installed.
    InputError
        Where the template cannot be filled.
    OutputError
        Where a file cannot be written.
    """
    from wetgis.outputs.package.layers import write_amendment_geopackage

    if template is not None and not _there("docxtpl"):
        raise UsageError("a template needs docxtpl, which is not installed.",
                         mend='pip install "wetgis[office]"')  # fmt: skip
    findings = amendment.findings()
    with staged(Path(folder)) as (made, finals):
        write_amendment_geopackage(amendment, made / "amendment.gpkg", findings)
        _tables(amendment, made, findings)
        _papers(amendment, made, template)
        if _there("matplotlib"):
            _sheets(amendment, made)
        else:
            _LOG.warning("sheets were left out: matplotlib is not installed (wetgis[maps])")
    return finals


def _there(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def _tables(amendment: Amendment, folder: Path, findings: pd.DataFrame) -> None:
    """CSV, the workbook, run.json."""
    from wetgis.outputs.office import write_book
    from wetgis.outputs.tables import csv_text
    from wetgis.provenance import canonical_json

    slivers = amendment.parcels["sliver"].astype(bool)
    tables: dict[str, Any] = {
        "totals": amendment.totals, "changes": amendment.changes,
        "parcels": amendment.parcels[~slivers], "slivers": amendment.parcels[slivers],
        "whole_features": amendment.wetlands, "findings_turned": findings,
        "history": amendment.history, "shift": amendment.shift, "profile": amendment.profile,
        "issues": amendment.issues,
    }  # fmt: skip
    plain = {
        n: pd.DataFrame(t).drop(columns="geometry", errors="ignore") for n, t in tables.items()
    }
    for name, table in plain.items():
        (folder / f"{name}.csv").write_text(csv_text(table), encoding="utf-8", newline="")
    book = {n.replace("_", " ").capitalize(): t for n, t in plain.items()}
    write_book(book, folder / "amendment.xlsx", amendment.title)
    record = {**amendment.provenance}
    (folder / "run.json").write_text(canonical_json(record), encoding="utf-8")


def _papers(amendment: Amendment, folder: Path, template: str | Path | None) -> None:
    from wetgis.outputs.package.documents import finding, report
    from wetgis.outputs.package.facts import amendment_facts
    from wetgis.outputs.package.paper import write_docx, write_pdf
    from wetgis.outputs.package.word import render

    facts = amendment_facts(amendment)
    papers = {"report": report(amendment, facts), "finding": finding(amendment, facts)}
    drawn, word = _there("matplotlib"), _there("docx")
    for name, document in papers.items():
        if drawn:
            write_pdf([document], folder / f"{name}.pdf", document.title)
        if name == "finding" and template is not None:
            render(template, facts, folder / f"{name}.docx")
        elif word and drawn:
            write_docx([document], folder / f"{name}.docx", document.title)
    if not (drawn and word):
        _LOG.warning("papers were left out: they need wetgis[maps,office]")


def _sheets(amendment: Amendment, folder: Path) -> None:
    """The map before and after, on sheets at one exact scale."""
    from wetgis.crs import ft_per_unit
    from wetgis.outputs.sheet import SheetOptions, write_sheet

    focus = _focus(amendment)
    if focus is None:
        return
    scale = _scale(focus, ft_per_unit(amendment.changes.crs))
    for side, words in (("before", "Map before the amendment"), ("after", "Map as amended")):
        options = SheetOptions(
            title=amendment.title or "Map amendment", sheet=words, prefix="B-" if side == "before"
            else "A-", date=amendment.site_before.as_of.isoformat(), around_ft=AROUND_FT,
            label_lines=False,
        )  # fmt: skip
        source = _shown(amendment, side, focus)
        target = folder / f"sheet_{side}.pdf"
        try:
            write_sheet(source, target, scale_ft_per_in=scale, page=PAGE, options=options)
        except OutputError:  # changes all over a city: one sheet of it all
            whole = _scale(focus, ft_per_unit(amendment.changes.crs), most=np.inf)
            write_sheet(source, target, scale_ft_per_in=whole, page=PAGE, options=options)


def _focus(amendment: Amendment) -> Any:
    """The ground that the sheets are about: the changes, and the parcels that lie in them."""
    if not len(amendment.changes):
        return None
    parcels = amendment.parcels[~amendment.parcels["sliver"].astype(bool)]
    return np.concatenate([amendment.changes.geometry.to_numpy(), parcels.geometry.to_numpy()])


def _scale(focus: Any, feet: float, *, most: float = SCALES[-1]) -> float:
    """The largest usual scale at which everything is on one sheet, or the smallest usual one."""
    from wetgis.outputs.sheets.north import nice_scale
    from wetgis.outputs.sheets.page import page_of

    frame = page_of(PAGE).frame
    x0, y0, x1, y1 = shapely.total_bounds(focus)
    spread = 2 * AROUND_FT
    needed = max(((x1 - x0) * feet + spread) / frame.width,
                 ((y1 - y0) * feet + spread) / frame.height) * 1.02  # fmt: skip
    usual = next((s for s in SCALES if s >= needed), None)
    return usual if usual is not None else min(most, nice_scale(needed))


def _shown(amendment: Amendment, side: str, focus: Any) -> dict[str, Any]:
    """Frames of a sheet: those near the changes."""
    import geopandas as gpd

    x0, y0, x1, y1 = shapely.total_bounds(focus)
    room = 0.2 * max(x1 - x0, y1 - y0) + 500.0
    window = shapely.box(x0 - room, y0 - room, x1 + room, y1 + room)

    def near(frame: gpd.GeoDataFrame) -> gpd.GeoDataFrame:
        return frame[frame.intersects(window)].reset_index(drop=True)

    out: dict[str, Any] = {}
    for kind in ("wetlands", "watercourses"):
        if f"{kind}_{side}" in amendment.layers:
            out[kind] = near(amendment.layers[f"{kind}_{side}"])
    if side == "after":
        out[f"adopted_{amendment.kind}"] = near(amendment.layers[f"{amendment.kind}_before"])
    out["buffer"] = near(amendment.layers[f"buffer_{side}"])
    if "municipality" in amendment.layers:
        out["municipality"] = near(amendment.layers["municipality"])
    for kind in ("roads", "structures"):
        if kind in amendment.site_before.layers:
            out[kind] = near(amendment.site_before.layers[kind].frame)
    if "parcels" in amendment.site_before.layers:
        parcels = amendment.site_before.layers["parcels"].frame
        real = ~amendment.parcels["sliver"].astype(bool)
        touched = set(amendment.parcels.loc[real, "parcel_id"])
        chosen = parcels[parcels["id"].astype(str).isin(touched)]
        out["parcels"] = chosen.reset_index(drop=True) if len(chosen) else near(parcels)
    return out
