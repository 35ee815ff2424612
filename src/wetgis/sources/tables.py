"""Plain tables: CSV, Excel, Parquet, dBase and the tables of a database, keys kept as text."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wetgis.errors import InputError
from wetgis.sources.columns import as_text

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["read_table"]

#: A number as a machine writes it: no leading zeros, no more digits than a float holds.
_NUMBER = re.compile(r"[+-]?(0|[1-9]\d{0,14})(\.\d+)?([eE][+-]?\d{1,2})?")
_WHOLE = re.compile(r"[+-]?(0|[1-9]\d{0,14})")


def read_table(path: str | Path, *, layer: str | None = None, text: Any = ()) -> pd.DataFrame:
    """A table whose keys stay as they are written.

    A column becomes numbers only where every value is one as a machine writes it; a leading
    zero, a sixteenth digit or a blank inside keeps all of it text.

    Parameters
    ----------
    path : path
        ``.csv``, ``.tsv``, ``.txt``, ``.xlsx``, ``.parquet``, or what GDAL opens as a table.
    layer : str, optional
        The table inside a database or workbook.
    text : collection of str
        Columns that stay text whatever they hold.

    Raises
    ------
    InputError
        Where it is missing or not a table.
    """
    import pandas as pd

    path = Path(path)
    if not path.exists():
        raise InputError("there is no such table.", where=str(path))
    ending = path.suffix.lower()
    try:
        if ending in {".csv", ".tsv", ".txt"}:
            return _typed(_delimited(path, ending), set(text))
        if ending in {".xlsx", ".xlsm"}:
            sheet = pd.read_excel(path, sheet_name=layer or 0, dtype=str)
            return _typed(sheet, set(text))
        if ending in {".parquet", ".pq"}:
            return pd.read_parquet(path)
        return _by_gdal(path, layer)
    except InputError:
        raise
    except Exception as error:  # pandas, openpyxl and GDAL share no root of errors
        raise InputError(f"the table cannot be read: {error}", where=str(path)) from error


def _delimited(path: Path, ending: str) -> pd.DataFrame:
    import csv

    import pandas as pd

    with path.open("rb") as file:
        head = file.read(65536)
    encoding = "utf-8-sig"
    try:
        # a cut in the middle of a character is no fault of the file's
        head.decode("utf-8-sig", errors="strict" if len(head) < 65536 else "ignore")
    except UnicodeDecodeError:
        encoding = "cp1252"
    separator = "\t" if ending == ".tsv" else ","
    first = head.decode(encoding, errors="replace").splitlines()[:1]
    if first and separator not in first[0]:
        try:
            separator = csv.Sniffer().sniff(first[0], delimiters=";|\t,").delimiter
        except csv.Error:
            separator = ","
    return pd.read_csv(
        path, sep=separator, dtype=str, encoding=encoding, keep_default_na=False, na_values=[""],
        skipinitialspace=True,
    )  # fmt: skip


def _typed(table: pd.DataFrame, text: set[str]) -> pd.DataFrame:
    import pandas as pd

    out = {}
    for name in table.columns:
        values = table[name].astype("string").str.strip()
        values = values.where(values != "", None)
        held = values.dropna()
        if name in text or not len(held) or not held.str.fullmatch(_NUMBER).all():
            out[name] = as_text(values.astype(object))
        elif held.str.fullmatch(_WHOLE).all():
            whole = pd.to_numeric(values).astype("Int64")
            out[name] = whole if values.isna().any() else whole.astype("int64")
        else:
            out[name] = pd.to_numeric(values).astype("float64")
    return pd.DataFrame(out, index=table.index)


def _by_gdal(path: Path, layer: str | None) -> pd.DataFrame:
    import pyogrio

    from wetgis.sources.decode import frame_columns

    tables = [str(n) for n, kind in pyogrio.list_layers(path) if kind is None or layer == n]
    name = layer or (tables[0] if len(tables) == 1 else None)
    if name is None:
        raise InputError(
            f"there are {len(tables)} tables, and none is named.",
            needed="one of " + ", ".join(str(n) for n, _ in pyogrio.list_layers(path)),
            where=str(path),
        )
    meta, table = pyogrio.raw.read_arrow(path, layer=name, read_geometry=False)
    del meta
    return frame_columns(table)
