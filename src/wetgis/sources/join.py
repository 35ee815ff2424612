"""A table joined to a layer by a key that is text on both sides."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wetgis.errors import InputError
from wetgis.issuelog import IssueLog
from wetgis.sources.columns import as_text, find_column, text_key
from wetgis.sources.tables import read_table

if TYPE_CHECKING:
    import geopandas
    import pandas as pd

__all__ = ["join_table"]

#: How many keys a message names.
_NAMED = 5


def join_table(
    frame: geopandas.GeoDataFrame,
    table_or_path: pd.DataFrame | str | Path,
    *,
    on: str | Sequence[str],
    columns: Sequence[str] | None = None,
) -> geopandas.GeoDataFrame:
    """A layer with the columns of a table, matched by a key; one row stays one row.

    Keys are compared as text, exactly: leading zeros count, and nothing is guessed from a
    damaged key. A key that the table holds several times is used only where its rows agree.

    Parameters
    ----------
    frame : GeoDataFrame
        The layer; its index and order are kept, the input is not changed.
    table_or_path : DataFrame or path
        The table, or a CSV, Excel, Parquet or database file that holds it.
    on : str, or two of them
        The key's column; where it is called otherwise in the table, both: layer's, table's.
    columns : sequence of str, optional
        The columns to take; all of them without it. One whose name the layer has already
        gets ``_table`` behind it.

    Returns
    -------
    GeoDataFrame
        Rows without a match have empty values. Unmatched and repeated keys are issues.

    Raises
    ------
    InputError
        Where the table or a column is not there.

    Examples
    --------
    >>> import geopandas, pandas, shapely
    >>> lots = geopandas.GeoDataFrame({"KEY": ["007", "08"]}, geometry=[shapely.Point(0, 0)] * 2)
    >>> join_table(lots, pandas.DataFrame({"KEY": ["007", "8"], "SQFT": [5, 6]}), on="KEY")[
    ...     "SQFT"
    ... ].tolist()
    [5, <NA>]
    """
    ours, theirs = (on, on) if isinstance(on, str) else _two(on)
    shown = str(table_or_path) if isinstance(table_or_path, (str, Path)) else "table"
    table = _table(table_or_path, theirs)
    right = find_column(list(table.columns), theirs, where=shown)
    left = find_column([c for c in frame.columns if c != frame.geometry.name], ours)
    wanted = [c for c in table.columns if c != right]
    if columns is not None:
        wanted = [find_column(list(table.columns), c, where=shown) for c in columns]
    log = IssueLog()
    keys = _keys(table[right])
    table = table[wanted].set_axis(range(len(table)), axis=0)
    keys = keys.set_axis(range(len(table)), axis=0)
    table, keys = _one_a_key(table[keys.notna()], keys[keys.notna()], log, shown)
    mine = _keys(frame[left])
    _unmatched(mine, keys, log, shown)
    lookup = table.set_axis(keys.to_numpy(), axis=0)
    out = frame.copy()
    for column in wanted:
        name = column if column not in out.columns else f"{column}_table"
        values = lookup[column]
        if _whole(values) and not mine.isin(keys).all():
            # whole numbers stay whole where some are missing
            values = values.astype("Int64")
        out[name] = values.reindex(mine.to_numpy(na_value="\0missing")).set_axis(out.index)
    _remember(out, log)
    return out


def _two(on: Sequence[str]) -> tuple[str, str]:
    names = list(on)
    if len(names) == 1:
        return names[0], names[0]
    if len(names) != 2:
        raise InputError("on names one key, or the layer's and the table's.", needed="two names")
    return names[0], names[1]


def _table(table_or_path: pd.DataFrame | str | Path, key: str) -> pd.DataFrame:
    import pandas as pd

    if not isinstance(table_or_path, (str, Path)):
        return pd.DataFrame(table_or_path).reset_index(drop=True)
    table = read_table(table_or_path, text={key})
    name = find_column(list(table.columns), key, where=str(table_or_path))
    # the key's name is found in any case; its column must be read as text whatever it is called
    return table if name == key else read_table(table_or_path, text={name})


def _keys(values: pd.Series[Any]) -> pd.Series[Any]:
    text = values.map(text_key, na_action="ignore").astype(object)
    held = values.notna() & (text != "")
    return as_text(text.where(held, None))


def _one_a_key(
    table: pd.DataFrame, keys: pd.Series[Any], log: IssueLog, shown: str
) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """One row a key: of rows that agree the first, of rows that differ what they agree in."""
    import numpy as np

    repeated = keys.duplicated(keep=False)
    if not repeated.any():
        return table, keys
    names = sorted(keys[repeated].unique().tolist())
    text = f"{len(names)} keys occur more than once in the table ({', '.join(names[:_NAMED])})."
    first = ~keys.duplicated()
    out = table[first].copy()
    open_columns = []
    for column in table.columns:
        values = table.loc[repeated, column].map(repr)
        differ = values.groupby(keys[repeated].to_numpy()).nunique() > 1
        bad = keys[first].isin(differ.index[differ.to_numpy()])
        if bad.any():
            open_columns.append(str(column))
            out[column] = out[column].mask(bad.to_numpy(), np.nan if _number(out[column]) else None)
    effect = "used, as their rows agree"
    if open_columns:
        effect = f"left empty where their rows differ ({', '.join(open_columns)})"
    log.add("warning", "repeated_key", text, file=shown, effect=effect)
    return out, keys[first]


def _whole(values: pd.Series[Any]) -> bool:
    import pandas as pd

    return bool(pd.api.types.is_integer_dtype(values))


def _number(values: pd.Series[Any]) -> bool:
    import pandas as pd

    return bool(pd.api.types.is_numeric_dtype(values))


def _unmatched(mine: pd.Series[Any], keys: pd.Series[Any], log: IssueLog, shown: str) -> None:
    known, wanted = set(keys), set(mine.dropna())
    for lost, what in (
        (sorted(wanted - known), "keys of the layer are not in the table"),
        (sorted(known - wanted), "keys of the table are not in the layer"),
    ):
        if lost:
            some = ", ".join(lost[:_NAMED])
            text = f"{len(lost)} {what} ({some})."
            log.add("warning", "unmatched_key", text, file=shown, effect="not joined")
    empty = int(mine.isna().sum())
    if empty:
        text = f"{empty} records of the layer have no key."
        log.add("warning", "unmatched_key", text, file=shown, effect="not joined")


def _remember(out: geopandas.GeoDataFrame, log: IssueLog) -> None:
    meta = dict(out.attrs.get("wetgis", {}))
    meta["issues"] = [*meta.get("issues", []), *log.as_json()][:100]
    out.attrs["wetgis"] = meta
