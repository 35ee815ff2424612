"""Screening into a folder: nothing of a county is in memory but the tile and the piece at hand.

Tiles go to disk as they are done; then the law is tried on one bucket of subjects after the
other, in the order in which the tables are stored; then the files are written piece by piece.
The numbers, and the bytes of the tables, are those of ``wetgis.screen``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import geopandas as gpd
import numpy as np
import pandas as pd

from wetgis import tilefiles
from wetgis.choosing import choose
from wetgis.dispatch import Run
from wetgis.engine import FEW_PIECES, joined_buffer
from wetgis.errors import Stopped
from wetgis.heldlayers import StoredLayer
from wetgis.issuelog import issue_frame
from wetgis.joining import elsewhere, law_of
from wetgis.record import added, counts_of, run_record
from wetgis.resume import FOLDER, Store, fingerprint, forget
from wetgis.schema import CONTACT_COLUMNS
from wetgis.screening import SHOWN, accuracy_of, measures_frame, reach_of, tables_of
from wetgis.spread import spread_site
from wetgis.storedrows import typed
from wetgis.storedsubjects import KEYS
from wetgis.tilefiles import read_batch, write_batches
from wetgis.workers import hand_back, settled

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pyproj import CRS

    from wetgis.choosing import Keys
    from wetgis.engine import Measures
    from wetgis.outputs.pieces import Finished
    from wetgis.screening import Screening
    from wetgis.site import Site
    from wetgis.spread import Spread

    Bools = NDArray[np.bool_]

__all__ = ["FolderRun", "screen_to"]

Progress = Callable[[int, int, str], None]
_TABLES = ("measures", "findings", "contacts", "parts")
#: Memory is handed back after so many buckets: looking for what is free takes a while.
_REST = 8


@dataclass(frozen=True)
class FolderRun:
    """A run that was written to a folder.

    Attributes
    ----------
    folder : Path
    files : list of Path
        In the order in which a reader opens them.
    issues : DataFrame
        What the reader must know about the input.
    provenance : dict
        What ``run.json`` holds.
    words : str
        What was found, as ``Screening.summary`` says it.
    """

    folder: Path
    files: list[Path]
    issues: pd.DataFrame
    provenance: dict[str, Any]
    words: str = field(repr=False)

    def summary(self) -> str:
        """What was found, in words, and how many records went to the issues."""
        return self.words

    def open(self) -> Screening:
        """The run as a ``Screening``, read whole from its folder."""
        from wetgis.screening import open_run

        return open_run(self.folder)


def screen_to(
    site: Site,
    folder: str | Path,
    *,
    ids: Sequence[str] | None = None,
    jobs: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
    resume: bool = False,
    all_findings: bool = False,
    site_file: str | Path | None = None,
) -> FolderRun:
    """Screen a site and write every output into a folder, without holding a county in memory.

    Parameters
    ----------
    site : Site
        From ``read_site`` or ``Site.from_layers``. With ``read_site(path, store=folder)`` its
        layers are not in memory either.
    folder : path
        Made where it does not exist.
    ids : sequence of str, optional
        Only these parcels, footprints and projects.
    jobs : int, optional
        Processes; without it, two threads of this process.
    executor : concurrent.futures.Executor, optional
        Runs the tiles elsewhere.
    progress : callable, optional
        ``progress(done, total, what)`` after each tile, and while the law is tried.
    resume : bool
        Go on with the tiles in ``folder``.
    all_findings : bool
        ``findings.csv`` with the conditions that are not met, too.
    site_file : path, optional
        Where the site was read from, for the record of the run.

    Returns
    -------
    FolderRun
        The files are those that ``screen(site).write(folder)`` writes; the Parquet and CSV files
        are the same bytes.

    Raises
    ------
    InputError
        If one of ``ids`` is not there, or the tiles to go on with belong to another run.
    OutputError
        Where a file cannot be written.
    Stopped
        On Ctrl-C.

    Examples
    --------
    >>> import pathlib, tempfile, geopandas, shapely, wetgis
    >>> def frame(*boxes):
    ...     shapes = [shapely.box(*b) for b in boxes]
    ...     return geopandas.GeoDataFrame({"id": ["a"]}, geometry=shapes, crs=2260)
    >>> site = wetgis.Site.from_layers(
    ...     parcels=frame((717000, 783000, 717200, 783200)),
    ...     wetlands=frame((717150, 783000, 717400, 783200)),
    ...     packs=[], measure={"buffer_ft": 100})
    >>> run = screen_to(site, pathlib.Path(tempfile.mkdtemp()) / "run")
    >>> run.open().measures[["status", "wetland_sqft", "buffer_sqft"]].values.tolist()
    [['on_feature', 10000.0, 20000.0]]
    """
    from wetgis.outputs import write_finished
    from wetgis.outputs.text import summary_of

    started, folder = time.perf_counter(), Path(folder)
    about = fingerprint(site, None if ids is None else list(ids), full=True)
    store = Store(folder, {**about, "buckets": tilefiles.BUCKET}, resume=resume)
    part, keep, measured = choose(site, None if ids is None else list(map(str, ids)), None)
    reach_ft = reach_of(part)
    run = Run(measured, jobs, executor, progress, store=store)
    spread = spread_site(part, reach_ft + accuracy_of(part), run, store.root)
    found = _Found(folder / FOLDER / "found", part.crs)
    made = _judged(spread, reach_ft, keep, found, progress)
    issues = issue_frame([*part.issues, *spread.issues.rows, *_elsewhere(spread)])
    worked: dict[str, Any] = {"seconds": time.perf_counter() - started, "jobs": jobs}
    if site_file is not None:
        worked["site"] = str(Path(site_file).resolve())
    record = run_record(part, spread.audit, spread.scene.scale, issues, made.counts, worked)
    finished = _finished(spread, found, made, issues, record)
    files = write_finished(finished, folder, all_findings=all_findings)
    words = summary_of(finished)
    forget(folder)
    return FolderRun(folder, files, issues, record, words)


# ---------------------------------------------------------------- the law, bucket by bucket


class _Found:
    """The final tables of the buckets, on disk."""

    def __init__(self, folder: Path, crs: CRS) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.crs, self.count = folder, crs, 0
        self.like: dict[str, pd.DataFrame] = {}

    def add(self, tables: dict[str, pd.DataFrame]) -> None:
        """Write the tables of the next bucket."""
        from wetgis.outputs.pieces import in_order

        for name in _TABLES:
            table = in_order(name, tables[name])
            self.like.setdefault(name, table.iloc[:0])
            path = self.folder / f"{name}-{self.count:05d}.arrow"
            write_batches(table, np.array([0, len(table)]), path)
        self.count += 1

    def read(self, name: str) -> Iterator[pd.DataFrame]:
        """The pieces of a table; a bucket in which it has no row is passed over."""
        given = False
        for number in range(self.count):
            path = self.folder / f"{name}-{number:05d}.arrow"
            piece = read_batch([path], 0, self.crs)
            if len(piece):
                given = True
                yield typed(piece, self.like[name])
        if not given:
            yield self.like[name]


@dataclass(frozen=True)
class _Judged:
    """What is known of all buckets together."""

    counts: dict[str, Any]
    checklist: pd.DataFrame


def _judged(
    spread: Spread, reach_ft: float, keep: Keys | None, found: _Found, progress: Progress | None
) -> _Judged:
    """Try the law on one bucket after the other."""
    counts: dict[str, Any] = {}
    checklist = pd.DataFrame()
    try:
        with settled(len(spread.order)):
            for number in range(spread.buckets):
                measures, own = spread.bucket(number)
                findings, checklist = law_of(spread.site, measures)
                tables = _own(tables_of(measures, findings, reach_ft), own, keep)
                counts = added(counts, counts_of(tables))
                found.add(_framed(spread.site, measures, tables))
                if number % _REST == 0:
                    hand_back(len(spread.order))
                if progress is not None and spread.buckets > 1:
                    progress(number + 1, spread.buckets, "parts of the tables")
    except KeyboardInterrupt:
        raise Stopped(
            "stopped by the user while the tables were made.",
            mend="the same command with --resume goes on from the finished tiles",
        ) from None
    return _Judged(counts, checklist)


def _own(tables: dict[str, pd.DataFrame], own: Bools, keep: Keys | None) -> dict[str, pd.DataFrame]:
    """The rows about a bucket's own subjects, and of them those that are wanted."""
    measures = tables["measures"][own].reset_index(drop=True)
    if keep is not None:
        pairs = zip(measures["subject_kind"], measures["subject_id"].astype(str), strict=True)
        measures = measures[[pair in keep for pair in pairs]].reset_index(drop=True)
    keys = pd.MultiIndex.from_frame(measures[KEYS])
    out = {"measures": measures}
    for name in ("findings", "contacts", "parts"):
        frame = tables[name]
        chosen = pd.MultiIndex.from_frame(frame[KEYS]).isin(keys)
        out[name] = frame[chosen].reset_index(drop=True)
    return out


def _framed(site: Site, m: Measures, tables: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """The tables with the columns of the contract."""
    contacts = tables["contacts"][[*CONTACT_COLUMNS, "geometry"]]
    return {
        "measures": measures_frame(site, m, tables["measures"]),
        "findings": tables["findings"],
        "contacts": gpd.GeoDataFrame(contacts, crs=site.crs),
        "parts": gpd.GeoDataFrame(tables["parts"], crs=site.crs),
    }


def _elsewhere(spread: Spread) -> list[Any]:
    return elsewhere(spread.site, spread.subjects.bounds) if len(spread.order) else []


# ---------------------------------------------------------------- what the writers read


def _finished(
    spread: Spread,
    found: _Found,
    made: _Judged,
    issues: pd.DataFrame,
    record: dict[str, Any],
) -> Finished:
    from wetgis.outputs.pieces import Finished

    site = spread.site
    layers: dict[str, Callable[[], Iterator[gpd.GeoDataFrame]]] = {
        kind: partial(_rows, site, kind) for kind in SHOWN if kind in site.layers
    }
    counts = made.counts
    return Finished(
        read=found.read,
        counts={
            "measures": sum(counts["subjects"].values()),
            **{name: counts[name] for name in ("findings", "contacts", "parts")},
        },
        crs=site.crs,
        checklist=made.checklist,
        issues=issues,
        provenance=record,
        layers={**layers, "buffer": partial(_buffer, spread)},
        packs=site.packs,
        title=site.title,
    )


def _rows(site: Site, kind: str) -> Iterator[gpd.GeoDataFrame]:
    layer = site.layers[kind]
    if isinstance(layer, StoredLayer):
        yield from layer.rows.chunks()
    else:
        yield layer.frame


def _buffer(spread: Spread) -> Iterator[gpd.GeoDataFrame]:
    """The buffer for maps: joined where there are few pieces, else as the tiles have it."""
    few: list[Any] = []
    many = 0
    for tile in spread.tiles:
        few.append(spread.files.buffer(tile))
        many += len(few[-1])
        if many > FEW_PIECES:
            break
    if many <= FEW_PIECES:
        pieces = np.concatenate([np.empty(0, object), *few])
        yield gpd.GeoDataFrame(geometry=gpd.GeoSeries(joined_buffer(pieces), crs=spread.site.crs))
        return
    for tile in spread.tiles:
        pieces = spread.files.buffer(tile)
        yield gpd.GeoDataFrame(geometry=gpd.GeoSeries(pieces, crs=spread.site.crs))
