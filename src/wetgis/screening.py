"""Screening: a site's measures meet the law, and become one result that can be read and kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import geopandas as gpd
import numpy as np
import pandas as pd

from wetgis.choosing import choose, only
from wetgis.engine import Measures, Run, measure_site
from wetgis.errors import UsageError
from wetgis.issuelog import issue_frame
from wetgis.joining import join_halves, subject_keys
from wetgis.record import counts_of, run_record
from wetgis.resume import Store, fingerprint, forget
from wetgis.schema import (
    CONTACT_COLUMNS,
    EPS_FT,
    MEASURE_COLUMNS,
    SUBJECT_LAYERS,
)

if TYPE_CHECKING:
    from wetgis.packs import Pack
    from wetgis.site import Site

__all__ = ["Assessment", "Screening", "assess", "open_run", "screen"]

Progress = Callable[[int, int, str], None]
#: Layers that a map shows beside the subjects.
SHOWN = ("wetlands", "watercourses", "municipality", "floodplain", "indicators")
#: The row of a subject in all that was measured, while some are chosen.
ROW = "_row"


@dataclass(frozen=True)
class Screening:
    """The result of ``screen``: tables, and ways to read and keep them.

    Attributes
    ----------
    measures : GeoDataFrame
        One row a subject: areas in sq ft, distances in ft (see docs/columns.md).
    findings : DataFrame
        One row a subject and rule, with value, threshold, margin, doubt and citation.
    contacts : GeoDataFrame
        One row a subject and feature within the largest legal distance.
    parts : GeoDataFrame
        The partition of each subject, one row a place.
    checklist : DataFrame
        The provisions that nothing here computes.
    issues : DataFrame
        What the reader must know about the input.
    provenance : dict
        What ``run.json`` holds.
    layers : dict
        Frames for maps: wetlands, watercourses, buffer and others.
    packs : tuple of Pack
    title : str
    """

    measures: gpd.GeoDataFrame
    findings: pd.DataFrame
    contacts: gpd.GeoDataFrame
    parts: gpd.GeoDataFrame
    checklist: pd.DataFrame
    issues: pd.DataFrame
    provenance: dict[str, Any]
    layers: dict[str, gpd.GeoDataFrame] = field(default_factory=dict)
    packs: tuple[Pack, ...] = ()
    title: str = ""

    def summary(self) -> str:
        """What was found, in words, and how many records went to the issues."""
        from wetgis.outputs.text import summary

        return summary(self)

    def show(self) -> str:
        """A card for each subject that a finding is met or cannot be told for, words first."""
        from wetgis.outputs.text import cards

        return cards(self)

    def explain(self, rule: str) -> str:
        """The sentences that a board can be read about one rule, a subject a paragraph.

        Raises
        ------
        UsageError
            If no finding is about this rule.
        """
        from wetgis.explain import explain

        rows = self.findings[self.findings["rule"].str.upper() == rule.strip().upper()]
        if not len(rows):
            known = sorted(self.findings["rule"].unique())
            near = get_close_matches(rule.upper(), known, 1)
            raise UsageError(
                f"there is no finding on rule '{rule}'.",
                needed=f"one of {', '.join(known)}" if known else "a screening with a pack",
                mend=f"did you mean {near[0]}?" if near else "",
            )
        return "\n\n".join(
            explain({str(k): v for k, v in row.items()}) for row in rows.to_dict("records")
        )

    def write(self, folder: str | Path, *, all_findings: bool = False) -> list[Path]:
        """Write every output into a folder; see docs/columns.md. Returns the files."""
        from wetgis.outputs import write

        files = write(self, folder, all_findings=all_findings)
        forget(Path(folder))
        return files

    def plot(self, ax: Any = None) -> Any:
        """Draw the subjects by status with wetlands, watercourses and buffer (needs matplotlib)."""
        from wetgis.outputs.maps import plot

        return plot(self, ax=ax)

    def explore(self) -> Any:
        """An interactive map on web tiles (needs folium and, to show the tiles, the network)."""
        from wetgis.outputs.maps import explore

        return explore(self)

    def _repr_html_(self) -> str:
        from wetgis.outputs.maps import repr_html

        return repr_html(self)

    def __repr__(self) -> str:
        name = type(self).__name__
        return f"<{name} of {len(self.measures)} subjects, {len(self.findings)} findings>"


@dataclass(frozen=True, repr=False)
class Assessment(Screening):
    """A screening of a few subjects."""


def screen(
    site: Site,
    *,
    ids: Sequence[str] | None = None,
    jobs: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
    out: str | Path | None = None,
    resume: bool = False,
) -> Screening:
    """Measure every subject of a site and try the law in force on it.

    Parameters
    ----------
    site : Site
        From ``read_site`` or ``Site.from_layers``.
    ids : sequence of str, optional
        Only these parcels, footprints and projects.
    jobs : int, optional
        Processes; without it, two threads of this process.
    executor : concurrent.futures.Executor, optional
        Runs the tiles elsewhere.
    progress : callable, optional
        ``progress(done, total, what)`` after each tile.
    out : path, optional
        The folder that the result will be written to: finished tiles are kept in it until
        ``Screening.write`` is done, so that a run that was stopped can go on.
    resume : bool
        Go on with the tiles in ``out``.

    Returns
    -------
    Screening
        Of every subject the site has: parcels, footprints, and the projects that footprints
        make, in the order of the input. A subject without usable geometry keeps its row.

    Raises
    ------
    InputError
        If one of ``ids`` is not there, or the tiles to go on with belong to another run.
    Stopped
        On Ctrl-C.

    Notes
    -----
    The numbers are the same whatever the workers, the tiles and the order of the rows.

    Examples
    --------
    >>> import geopandas, shapely, wetgis
    >>> def frame(*boxes):
    ...     shapes = [shapely.box(*b) for b in boxes]
    ...     return geopandas.GeoDataFrame({"id": ["a"]}, geometry=shapes, crs=2260)
    >>> lot = frame((717000, 783000, 717200, 783200))
    >>> marsh = frame((717150, 783000, 717400, 783200))
    >>> site = wetgis.Site.from_layers(
    ...     parcels=lot, wetlands=marsh, packs=[], measure={"buffer_ft": 100})
    >>> wetgis.screen(site).measures[["status", "wetland_sqft", "buffer_sqft"]].values.tolist()
    [['on_feature', 10000.0, 20000.0]]
    """
    store = None
    if out is not None:
        about = fingerprint(site, None if ids is None else list(ids), full=True)
        store = Store(Path(out), about, resume=resume)
    run = Run(jobs=jobs, executor=executor, progress=progress, store=store)
    return _screen(site, Screening, ids, run)


def assess(
    site: Site,
    ids: str | Sequence[str] | None = None,
    *,
    project: str | None = None,
    footprints: Any = None,
) -> Assessment:
    """Screen a few subjects of a site, through the same tiles as ``screen``.

    Parameters
    ----------
    site : Site
    ids : str or sequence of str, optional
        Parcels, footprints or projects; all of the site's where nothing is named.
    project : str, optional
        A project with its footprints.
    footprints : frame, path or Layer, optional
        Proposed work to try in place of the site's footprints.

    Returns
    -------
    Assessment
        A ``Screening`` of those subjects, with the very numbers of a full run.

    Raises
    ------
    InputError
        If an id is not there; the nearest ones are named.

    Examples
    --------
    >>> import geopandas, shapely, wetgis
    >>> def frame(*boxes):
    ...     shapes = [shapely.box(*b) for b in boxes]
    ...     return geopandas.GeoDataFrame({"id": ["a"]}, geometry=shapes, crs=2260)
    >>> site = wetgis.Site.from_layers(
    ...     parcels=frame((717000, 783000, 717200, 783200)),
    ...     wetlands=frame((717250, 783000, 717400, 783200)),
    ...     packs=[], measure={"buffer_ft": 100})
    >>> assess(site, "a").measures[["status", "wetland_ft"]].values.tolist()
    [['in_buffer', 50.0]]
    """
    if footprints is not None:
        site = site.with_layers(footprints=footprints)
    wanted = [ids] if isinstance(ids, str) else ([str(i) for i in ids] if ids is not None else None)
    found = _screen(site, Assessment, wanted, Run(), project=project)
    assert isinstance(found, Assessment)
    return found


def _screen(
    site: Site,
    kind: type[Screening],
    ids: Sequence[str] | None,
    run: Run,
    *,
    project: str | None = None,
) -> Screening:
    started = time.perf_counter()
    site, keep, measured = choose(site, ids, project)
    reach_ft = reach_of(site)
    m = measure_site(site, reach_ft + accuracy_of(site), replace(run, chosen=measured))
    findings, checklist, law_issues = join_halves(site, m)
    tables = tables_of(m, findings, reach_ft)
    tables["issues"] = issue_frame([*site.issues, *m.issues.rows, *law_issues])
    if keep is not None:
        tables = only(tables, keep)
    worked = {"seconds": time.perf_counter() - started, "jobs": run.jobs}
    return kind(
        measures_frame(site, m, tables["measures"]),
        tables["findings"],
        gpd.GeoDataFrame(tables["contacts"][[*CONTACT_COLUMNS, "geometry"]], crs=site.crs),
        gpd.GeoDataFrame(tables["parts"], crs=site.crs),
        checklist,
        tables["issues"],
        run_record(site, m.audit, m.scene.scale, tables["issues"], counts_of(tables), worked),
        _map_layers(site, m),
        site.packs,
        site.title,
    )


def tables_of(m: Measures, findings: pd.DataFrame, reach_ft: float) -> dict[str, pd.DataFrame]:
    """The tables of a result; ``measures`` keeps the row of each subject in `ROW`."""
    return {
        "measures": _counted(m.table, findings).assign(**{ROW: np.arange(len(m.table))}),
        "findings": findings,
        # the law half also sees what stated accuracy could bring within the distance
        "contacts": m.contacts[m.contacts["distance_ft"] <= reach_ft + EPS_FT],
        "parts": m.parts,
    }


def reach_of(site: Site) -> float:
    reaches = [p.reach_ft for p in site.packs]
    if np.isfinite(site.measure.buffer_ft):
        reaches.append(site.measure.buffer_ft)
    return max(reaches, default=0.0)


def accuracy_of(site: Site) -> float:
    """How far the stated accuracy of a subject and a feature could move them together."""

    def largest(kinds: Iterable[str]) -> float:
        stated = [site.layers[k].summary.accuracy_ft for k in kinds]
        return max((v for v in stated if np.isfinite(v)), default=0.0)

    subjects = set(SUBJECT_LAYERS) & set(site.layers)
    return largest(subjects) + largest(set(site.layers) - subjects)


def _counted(table: pd.DataFrame, findings: pd.DataFrame) -> pd.DataFrame:
    """The measures with the number of findings met for each subject."""
    out = table.copy()
    met = findings[findings["outcome"] == "met"]
    if len(met):
        counts = met.groupby(subject_keys(met)).size()
        out["n_met"] = counts.reindex(subject_keys(out)).fillna(0).to_numpy(np.int64)
    return out


def measures_frame(site: Site, m: Measures, table: pd.DataFrame) -> gpd.GeoDataFrame:
    """The table of measures as the contract has it: columns in order, then those kept."""
    kept: list[str] = []
    for kind in ("parcels", "footprints"):
        if kind in site.layers:
            kept += [c for c in site.layers[kind].keep if c not in kept and c in table.columns]
    frame = table[[*MEASURE_COLUMNS, *kept]].reset_index(drop=True)
    own = m.subjects.geometries[table[ROW].to_numpy()]
    return gpd.GeoDataFrame(frame, geometry=gpd.GeoSeries(own, index=frame.index, crs=site.crs))


def _map_layers(site: Site, m: Measures) -> dict[str, gpd.GeoDataFrame]:
    """Frames that a map shows beside the subjects."""
    layers = {k: site.layers[k].frame for k in SHOWN if k in site.layers}
    layers["buffer"] = gpd.GeoDataFrame(geometry=m.buffer, crs=site.crs)
    return layers


def open_run(folder: str | Path) -> Screening:
    """Open the folder of a run as the ``Screening`` that wrote it.

    Parameters
    ----------
    folder : str or Path
        Written by ``Screening.write`` or ``wetgis screen``.

    Returns
    -------
    Screening

    Raises
    ------
    InputError
        Where a file is missing or cannot be read.

    Examples
    --------
    >>> open_run("no-such-folder")
    Traceback (most recent call last):
    wetgis.errors.InputError: ...
    """
    from wetgis.outputs.tables import read_run

    return Screening(**read_run(folder))
