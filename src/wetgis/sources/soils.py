"""The hydric share of soil map units, from their components or from a stated percentage."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from wetgis.errors import InputError
from wetgis.issuelog import IssueLog
from wetgis.sources.columns import find_column, text_key
from wetgis.sources.tables import read_table

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["hydric_shares", "soils"]

#: Where the columns stand in SSURGO's comp.txt, which has no header.
_SSURGO = {"comppct_r": 1, "hydricrating": 22, "mukey": -2}


def soils(
    table: pd.DataFrame, log: IssueLog, about: dict[str, str], components: Path | None
) -> pd.DataFrame:
    """``hydric_pct_low`` and ``hydric_pct_high`` of each record; NaN where it is not rated.

    From ``components`` where given; else the file's own columns; else its one stated
    percentage (``hydclprs``), which is both.
    """
    import pandas as pd

    if "mukey" in table.columns:
        keys = table["mukey"].map(text_key, na_action="ignore").astype(object)
        table["mukey"] = keys
    if components is not None:
        if "mukey" not in table.columns:
            raise InputError(
                "the soil layer has no column 'mukey' to join components on.",
                mend='name it: fields = { mukey = "..." }',
                where=about["file"],
            )
        shares = hydric_shares(_component_table(components), log, about)
        for column in ("hydric_pct_low", "hydric_pct_high"):
            table[column] = table["mukey"].map(shares[column]).astype("float64")
        _unmatched(table, shares, log, about)
    elif "hydric_pct_low" not in table.columns and "hydclprs" in table.columns:
        table["hydric_pct_low"] = table["hydclprs"]
    if "hydric_pct_low" not in table.columns:
        table["hydric_pct_low"] = np.nan
    if "hydric_pct_high" not in table.columns:
        table["hydric_pct_high"] = table["hydric_pct_low"]
    table = table.drop(columns=[c for c in ("hydclprs",) if c in table.columns and components])
    unrated = pd.Series(table["hydric_pct_low"]).isna()
    if len(table) and unrated.any():
        log.add(
            "note",
            "not_rated",
            f"{int(unrated.sum())} of {len(table)} soil records have no hydric rating.",
            effect="unknown there, never 'not hydric'",
            **about,
        )
    return table


def hydric_shares(parts: pd.DataFrame, log: IssueLog, about: dict[str, str]) -> pd.DataFrame:
    """The hydric percentage of each map unit, low and high, by ``mukey``.

    Low is the sum of the components rated hydric; components without a rating make the
    difference to high. A unit whose components' percentages are all missing is not rated.

    Parameters
    ----------
    parts : DataFrame
        ``mukey``, ``comppct_r``, ``hydricrating``, a row a component.

    Examples
    --------
    >>> import pandas
    >>> parts = pandas.DataFrame(
    ...     {"mukey": ["1"] * 3, "comppct_r": [60, 30, 10], "hydricrating": ["Yes", "No", None]}
    ... )
    >>> hydric_shares(parts, IssueLog(), {}).loc["1"].tolist()
    [60.0, 70.0]
    """
    import pandas as pd

    rating = parts["hydricrating"].astype("string").str.strip().str.lower()
    percent = pd.to_numeric(parts["comppct_r"], errors="coerce").astype("float64")
    nameless = percent.isna()
    if nameless.any():
        text = f"components: {int(nameless.sum())} rows have no comppct_r."
        log.add("warning", "bad_value", text, effect="left out of the hydric share", **about)
    keys = parts["mukey"].map(text_key, na_action="ignore")
    yes = percent.where(rating.eq("yes").fillna(False), 0.0)
    no = rating.eq("no").fillna(False)
    open_ = percent.where(~(rating.eq("yes").fillna(False) | no), 0.0)
    sums = pd.DataFrame({"yes": yes, "open": open_, "all": percent}).groupby(keys).sum(min_count=1)
    odd = (sums["all"] - 100.0).abs() > 0.5
    if odd.any():
        text = f"components of {int(odd.sum())} map units do not add up to 100 %."
        log.add("note", "bad_value", text, effect="percentages taken as they stand", **about)
    low = sums["yes"].clip(upper=100.0)
    return pd.DataFrame(
        {"hydric_pct_low": low, "hydric_pct_high": (low + sums["open"]).clip(upper=100.0)}
    ).where(sums["all"].notna())


def _component_table(path: Path) -> pd.DataFrame:
    import pandas as pd

    if path.suffix.lower() == ".txt":
        plain = pd.read_csv(
            path, sep="|", header=None, dtype=str, quotechar='"', encoding_errors="replace"
        )
        if plain.shape[1] < 24:
            raise InputError(
                f"the component table has {plain.shape[1]} columns.",
                needed="SSURGO's comp.txt, or a table with mukey, comppct_r, hydricrating",
                where=str(path),
            )
        return pd.DataFrame(
            {name: plain.iloc[:, at] for name, at in _SSURGO.items()},
        )
    table = read_table(path)
    columns = list(table.columns)
    return pd.DataFrame({n: table[find_column(columns, n, where=str(path))] for n in _SSURGO})


def _unmatched(
    table: pd.DataFrame, shares: pd.DataFrame, log: IssueLog, about: dict[str, str]
) -> None:
    lost = sorted({str(k) for k in table["mukey"].dropna().unique()} - set(shares.index))
    if lost:
        text = f"{len(lost)} map units have no components ({', '.join(lost[:5])})."
        log.add("warning", "unmatched_key", text, effect="not rated", **about)
