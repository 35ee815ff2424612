"""The tables of a run as Parquet and CSV, and ``run.json``.

The Parquet and CSV files of two runs with equal results are equal to the byte: rows are sorted by
text, columns have fixed types, and neither the clock nor the index of a frame reaches a file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from wetgis.errors import InputError, WetgisError
from wetgis.outputs.atomic import staged
from wetgis.outputs.parquet import as_text, write_pieces
from wetgis.outputs.pieces import SORTED_BY, Finished, finished, issues_in_order
from wetgis.outputs.tally import Tally

if TYPE_CHECKING:
    from wetgis.packs import Pack
    from wetgis.screening import Screening

__all__ = [
    "csv_text",
    "guard",
    "guarded",
    "plain",
    "read_run",
    "shown_findings",
    "write_run",
    "write_tables",
]

#: A spreadsheet takes a text that begins like this for a formula; full-width forms too.
_FORMULA = r"^'*[=+\-@\t\r\n＝＋－＠]"


def write_run(
    screening: Screening | Finished, out_dir: str | Path, *, all_findings: bool = False
) -> list[Path]:
    """Write the tables of a run and ``run.json`` into a folder.

    Parameters
    ----------
    screening : Screening or Finished
        The result.
    out_dir : str or Path
        The folder; made where it does not exist.
    all_findings : bool
        Also write findings that are ``not_met`` to ``findings.csv``. The Parquet file has them
        always.

    Returns
    -------
    list of Path
        ``measures``, ``findings``, ``contacts``, ``parts`` as Parquet; ``measures``, ``findings``,
        ``issues``, ``checklist`` as CSV; ``run.json``.

    Raises
    ------
    OutputError
        Where a file cannot be written; nothing half-written is left.
    """
    with staged(Path(out_dir)) as (folder, finals):
        write_tables(screening, folder, all_findings=all_findings)
    return finals


def write_tables(
    run: Screening | Finished,
    folder: Path,
    *,
    all_findings: bool = False,
    tally: Tally | None = None,
) -> None:
    """Write the files of ``write_run`` into a folder that exists, one after the other."""
    from wetgis.provenance import canonical_json

    run = finished(run)
    tally = tally or Tally.of(run)
    shapes = {
        "measures": tally.subjects.all_shapes(),
        "contacts": tally.contacts,
        "parts": tally.parts,
    }
    for name in SORTED_BY:
        pieces = run.read(name)
        if name == "measures":
            pieces = _into_csv(pieces, folder / "measures.csv")
        elif name == "findings":
            shown = partial(shown_findings, all_findings=all_findings)
            pieces = _into_csv(pieces, folder / "findings.csv", shown)
        write_pieces(pieces, folder / f"{name}.parquet", shapes.get(name))
    for name, frame in {
        "issues": issues_in_order(run.issues),
        "checklist": run.checklist,
    }.items():
        path = folder / f"{name}.csv"
        path.write_text(csv_text(frame), encoding="utf-8", newline="")
    record = canonical_json(run.provenance)
    (folder / "run.json").write_bytes(record.encode("utf-8") if isinstance(record, str) else record)


def _into_csv(
    pieces: Iterable[pd.DataFrame],
    path: Path,
    shown: Callable[[pd.DataFrame], pd.DataFrame] = lambda piece: piece,
) -> Iterator[pd.DataFrame]:
    """The pieces as they come; what is shown of each is in the CSV file when it has passed."""
    with path.open("w", encoding="utf-8", newline="") as file:
        for number, piece in enumerate(pieces):
            file.write(csv_text(shown(piece), header=number == 0))
            yield piece


def shown_findings(findings: pd.DataFrame, *, all_findings: bool = False) -> pd.DataFrame:
    """Findings as people get them: without ``not_met``, unless all are asked for."""
    if all_findings:
        return findings
    return findings[findings["outcome"] != "not_met"].reset_index(drop=True)


def guard(text: str) -> str:
    """A text that no spreadsheet takes for a formula.

    Examples
    --------
    >>> guard("=1+1"), guard("91.-1-30.11"), guard("'=1")
    ("'=1+1", '91.-1-30.11', "''=1")
    """
    return str(guarded(pd.Series([text], dtype="object")).iloc[0])


def guarded(column: pd.Series) -> pd.Series:
    """The same for a column of text.

    A text that already begins with apostrophes and then like a formula gets one more, so that
    taking one away always gives back what was there.
    """
    risky = column.str.contains(_FORMULA, regex=True, na=False).to_numpy(dtype=bool)
    if not risky.any():
        return column
    column = column.astype("object").copy()
    column[risky] = "'" + column[risky].astype("object")
    return column


def _unguarded(column: pd.Series) -> pd.Series:
    ours = column.str.contains("^'" + _FORMULA[1:], regex=True, na=False).to_numpy(dtype=bool)
    column = column.copy()
    column[ours] = column[ours].str.slice(1)
    return column


def _is_text(column: pd.Series) -> bool:
    kinds = pd.api.types
    return not (kinds.is_numeric_dtype(column) or kinds.is_datetime64_any_dtype(column))


def plain(frame: pd.DataFrame) -> pd.DataFrame:
    """A table for people's programs: no geometry, no infinity, no text that is a formula.

    Line ends inside a text become newlines. What is written of a value does not depend on the rows
    beside it.
    """
    names = [str(guard(str(c))) for c in frame.columns]
    columns: dict[str, Any] = {}
    for position, name in enumerate(names):
        column = frame.iloc[:, position]
        if str(column.dtype) == "geometry":
            continue
        if _is_text(column):
            text = as_text(column).str.replace("\r\n?", "\n", regex=True)
            columns[name] = guarded(text).to_numpy(dtype=object)
        elif pd.api.types.is_datetime64_any_dtype(column):
            columns[name] = _times(column)
        elif pd.api.types.is_float_dtype(column):
            values = column.to_numpy(dtype="float64", na_value=np.nan) + 0.0  # no minus zero
            columns[name] = np.where(np.isfinite(values), values, np.nan)
        else:
            columns[name] = column.array
    return pd.DataFrame(columns, index=range(len(frame)))


def _times(column: pd.Series) -> list[str]:
    """Days and times as text, each by itself: what has no time of day is a day."""
    known = column.notna().to_numpy()
    texts = (str(v) if ok else "" for v, ok in zip(column, known, strict=True))
    return [text.removesuffix(" 00:00:00") for text in texts]


def csv_text(frame: pd.DataFrame, *, header: bool = True) -> str:
    """A table as CSV: UTF-8, newlines, the shortest numbers that read back the same."""
    return str(plain(frame).to_csv(index=False, header=header, lineterminator="\n"))


def read_run(folder: str | Path) -> dict[str, Any]:
    """The fields of a ``Screening`` from the folder of a run.

    Parameters
    ----------
    folder : str or Path
        A folder that ``write_run`` or ``wetgis screen`` has written.

    Returns
    -------
    dict
        ``measures``, ``findings``, ``contacts``, ``parts``, ``checklist``, ``issues``,
        ``provenance``, ``layers`` (empty without ``screening.gpkg``), ``packs`` (those that are
        still at hand and the same; all stand in ``provenance``), ``title``.

    Raises
    ------
    InputError
        Where a file is missing or cannot be read.
    """
    import geopandas as gpd

    folder = Path(folder)
    names = [*(f"{n}.parquet" for n in SORTED_BY), "issues.csv", "checklist.csv", "run.json"]
    missing = [name for name in names if not (folder / name).is_file()]
    if missing:
        raise InputError(
            f"this is not the folder of a complete run: {', '.join(missing)} not found.",
            needed="a folder that `wetgis screen` has written",
            where=str(folder),
        )
    run: dict[str, Any] = {}
    try:
        for name in ("measures", "contacts", "parts"):
            run[name] = gpd.read_parquet(folder / f"{name}.parquet")
        run["findings"] = pd.read_parquet(folder / "findings.parquet")
        for name in ("issues", "checklist"):
            run[name] = _read_csv(folder / f"{name}.csv")
        run["provenance"] = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        run["layers"] = _read_layers(folder / "screening.gpkg")
    except (OSError, ValueError) as error:
        raise InputError(f"the run cannot be read: {error}.", where=str(folder)) from error
    run["packs"] = _read_packs(run["provenance"].get("packs", []))
    run["title"] = str(run["provenance"].get("options", {}).get("title") or "")
    return run


def _read_packs(named: list[dict[str, Any]]) -> tuple[Pack, ...]:
    """The packs of a run, as far as they are still what they were."""
    import datetime

    from wetgis.packs import load_pack

    found = []
    for one in named:
        try:
            pack = load_pack(one["id"], as_of=datetime.date.fromisoformat(one["as_of"]))
        except (KeyError, ValueError, WetgisError):
            continue
        if pack.sha256 == one.get("sha256"):
            found.append(pack)
    return tuple(found)


def _read_csv(path: Path) -> pd.DataFrame:
    frame = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8")
    for name in frame.columns:
        if name.endswith("_sqft"):
            frame[name] = pd.to_numeric(frame[name].replace("", np.nan)).astype("float64")
        else:
            frame[name] = _unguarded(frame[name])
    return frame


def _read_layers(path: Path) -> dict[str, Any]:
    """The layers that only a map needs; the others are tables of the run."""
    if not path.is_file():
        return {}
    import pyogrio

    from wetgis.outputs.geopackage import RESULT_LAYERS

    return {
        name: pyogrio.read_dataframe(path, layer=name)
        for name, kind in pyogrio.list_layers(path)
        if kind is not None and name not in RESULT_LAYERS
    }
