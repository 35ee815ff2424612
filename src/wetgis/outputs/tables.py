"""The tables of a run as Parquet and CSV, and ``run.json``.

The Parquet and CSV files of two runs with equal results are equal to the byte: rows are sorted by
text, columns have fixed types, and neither the clock nor the index of a frame reaches a file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from wetgis.errors import InputError, WetgisError
from wetgis.outputs.atomic import staged
from wetgis.schema import CONTACT_COLUMNS, FINDING_COLUMNS, MEASURE_COLUMNS, SCHEMA_VERSION

if TYPE_CHECKING:
    import pyarrow as pa

    from wetgis.packs import Pack
    from wetgis.screening import Screening

__all__ = [
    "csv_text",
    "guard",
    "guarded",
    "read_run",
    "shown_findings",
    "write_parquet",
    "write_run",
    "write_tables",
]

SUBJECT = ["subject_kind", "subject_id", "record"]
#: What the rows of each table are sorted by.
SORTED_BY = {
    "measures": SUBJECT,
    "findings": [*SUBJECT, "pack", "rule", "feature_kind", "feature_id"],
    "contacts": [*SUBJECT, "feature_kind", "feature_id", "distance_ft"],
    "parts": [*SUBJECT, "place"],
}
_SEVERITY_RANK = {"error": "0", "warning": "1", "note": "2"}
#: A spreadsheet takes a text that begins like this for a formula; full-width forms too.
_FORMULA = r"^'*[=+\-@\t\r\n＝＋－＠]"
_ROWS_PER_GROUP = 65_536
#: Text that a reader may compare with "" rather than with null.
_TEXT = {*MEASURE_COLUMNS, *CONTACT_COLUMNS, *FINDING_COLUMNS, "place"}


def write_run(
    screening: Screening, out_dir: str | Path, *, all_findings: bool = False
) -> list[Path]:
    """Write the tables of a run and ``run.json`` into a folder.

    Parameters
    ----------
    screening : Screening
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


def write_tables(screening: Screening, folder: Path, *, all_findings: bool = False) -> None:
    """Write the files of ``write_run`` into a folder that exists, one after the other."""
    from wetgis.provenance import canonical_json

    tables = {name: in_order(name, getattr(screening, name)) for name in SORTED_BY}
    for name, frame in tables.items():
        write_parquet(frame, folder / f"{name}.parquet")
    tables["findings"] = shown_findings(tables["findings"], all_findings=all_findings)
    tables["issues"] = issues_in_order(screening.issues)
    tables["checklist"] = screening.checklist
    for name in ("measures", "findings", "issues", "checklist"):
        text = csv_text(tables[name])
        (folder / f"{name}.csv").write_text(text, encoding="utf-8", newline="")
    run = canonical_json(screening.provenance)
    (folder / "run.json").write_bytes(run.encode("utf-8") if isinstance(run, str) else run)


def in_order(name: str, frame: pd.DataFrame) -> pd.DataFrame:
    """A table sorted as it is stored: by text, whatever the order of the rows that came in."""
    by = [column for column in SORTED_BY[name] if column in frame]
    return frame.sort_values(by, kind="stable").reset_index(drop=True)


def issues_in_order(issues: pd.DataFrame) -> pd.DataFrame:
    """Issues by severity, the worst first, then by every other column."""
    rank = issues["severity"].map(_SEVERITY_RANK).fillna("3")
    by = ["_rank", *(c for c in issues.columns if c != "severity")]
    ordered = issues.assign(_rank=rank).sort_values(by, kind="stable")
    return ordered.drop(columns="_rank").reset_index(drop=True)


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


def as_text(column: pd.Series) -> pd.Series:
    """A column as Python strings, with "" where there is no value."""
    if isinstance(column.dtype, pd.StringDtype):
        values = column.fillna("").to_numpy(dtype=object)
    else:
        known = column.notna().to_numpy()
        everything = column.to_numpy(dtype=object)
        values = np.array(
            [str(v) if ok else "" for v, ok in zip(everything, known, strict=True)], dtype=object
        )
    return pd.Series(values, index=column.index, dtype="object")


def plain(frame: pd.DataFrame) -> pd.DataFrame:
    """A table for people's programs: no geometry, no infinity, no text that is a formula.

    Line ends inside a text become newlines.
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
        elif pd.api.types.is_float_dtype(column):
            values = column.to_numpy(dtype="float64", na_value=np.nan) + 0.0  # no minus zero
            columns[name] = np.where(np.isfinite(values), values, np.nan)
        else:
            columns[name] = column.array
    return pd.DataFrame(columns, index=range(len(frame)))


def csv_text(frame: pd.DataFrame) -> str:
    """A table as CSV: UTF-8, newlines, the shortest numbers that read back the same."""
    return str(plain(frame).to_csv(index=False, lineterminator="\n"))


def write_parquet(frame: pd.DataFrame, path: Path) -> None:
    """Write a table as Parquet, as GeoParquet (WKB) where it has a geometry."""
    import pyarrow.parquet as pq

    pq.write_table(
        arrow_table(frame),
        path,
        row_group_size=_ROWS_PER_GROUP,
        version="2.6",
        data_page_version="1.0",
        compression="zstd",
        compression_level=6,
        use_dictionary=True,
        write_statistics=True,
    )


def arrow_table(frame: pd.DataFrame) -> pa.Table:
    """A table with fixed types: 64-bit numbers, UTF-8 text, WKB; no index of pandas."""
    import pyarrow as pa

    columns, meta = {}, {"wetgis": json.dumps({"schema_version": SCHEMA_VERSION})}
    for position, name in enumerate(str(c) for c in frame.columns):
        column = frame.iloc[:, position]
        if str(column.dtype) == "geometry":
            columns[name], meta["geo"] = _wkb(name, column)
        else:
            columns[name] = _arrow_column(name, column)
    return pa.table(columns).replace_schema_metadata(meta)


def _arrow_column(name: str, column: pd.Series) -> Any:
    import pyarrow as pa

    kinds = pd.api.types
    if kinds.is_bool_dtype(column):
        return pa.array(column, type=pa.bool_(), from_pandas=True)
    if kinds.is_integer_dtype(column):
        return pa.array(column, type=pa.int64(), from_pandas=True)
    if kinds.is_float_dtype(column):
        values = column.to_numpy(dtype="float64", na_value=np.nan) + 0.0
        return pa.array(values, mask=np.isnan(values))
    if kinds.is_datetime64_any_dtype(column):
        return pa.array(column, from_pandas=True)
    text = as_text(column)
    missing = None if name in _TEXT else column.isna().to_numpy()
    return pa.array(text.to_numpy(dtype=object), type=pa.string(), mask=missing)


def _wkb(name: str, column: pd.Series) -> tuple[Any, str]:
    """A geometry column and its GeoParquet metadata."""
    import pyarrow as pa
    import shapely

    geoms = np.asarray(column.array, dtype=object)
    known = geoms[~shapely.is_missing(geoms)]
    one_each = np.unique(shapely.get_type_id(known), return_index=True)[1]
    types = sorted(geom.geom_type for geom in known[one_each])
    about: dict[str, Any] = {"encoding": "WKB", "geometry_types": types}
    crs = column.array.crs  # type: ignore[union-attr, unused-ignore]
    about["crs"] = None if crs is None else crs.to_json_dict()
    filled = known[~shapely.is_empty(known)]
    if len(filled):
        about["bbox"] = shapely.total_bounds(filled).tolist()
    wkb = shapely.to_wkb(geoms, byte_order=1, flavor="iso")
    geo = {"version": "1.1.0", "primary_column": name, "columns": {name: about}}
    return pa.array(wkb, type=pa.binary()), json.dumps(geo, sort_keys=True)


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
