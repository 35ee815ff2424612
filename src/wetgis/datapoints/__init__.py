"""Data points of a delineation: which of the three criteria holds, and which fails.

What a delineator writes down at a point beside the flags (plants by stratum, soil, signs of
water) is tried against a manual. The numbers are the manuals', each with its source; a town's
law says which manual counts. The City of Rye names the 1989 federal one, so it is the default.

Nothing here is a determination: a point tells what its data say, and ``undetermined`` where
something was not recorded. Hydrology and soil are taken as the delineator reports them.

Sources
-------
- Federal Interagency Committee for Wetland Delineation (1989), *Federal Manual for Identifying
  and Delineating Jurisdictional Wetlands*: part II (mandatory technical criteria), part III.
- Environmental Laboratory (1987), *Corps of Engineers Wetlands Delineation Manual*, Y-87-1.
- U.S. Army Corps of Engineers (2012), *Regional Supplement ... Northcentral and Northeast
  Region*, version 2.0, ERDC/EL TR-12-1, chapters 2 and 4.
- Wentworth, Johnson and Kologiski (1988) for the prevalence index.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING, Any

from wetgis.datapoints.manuals import MANUALS, Manual
from wetgis.errors import InputError, UsageError

if TYPE_CHECKING:
    import datetime

    import pandas as pd

__all__ = ["MANUALS", "DataPoints", "Manual", "data_points", "dominants", "prevalence"]

#: Weight of an indicator status in the prevalence index.
STATUS_WEIGHT = {"OBL": 1, "FACW": 2, "FAC": 3, "FACU": 4, "UPL": 5}
WET = ("OBL", "FACW", "FAC")
CRITERIA = ("vegetation", "soil", "hydrology")
CRITERION_COLUMNS = ("point", "criterion", "test", "outcome", "value", "unit", "comparison",
                     "threshold", "cite", "note")  # fmt: skip
POINT_COLUMNS = ("point", "flag", "side", "wetland", "failed", "unknown", "agrees", "says")


@dataclass(frozen=True)
class DataPoints:
    """What `data_points` returns.

    Attributes
    ----------
    points : DataFrame
        A row a point: ``point``, ``flag``, ``side`` (``wetland``, ``upland`` or empty, as the
        delineator placed it), ``wetland`` (``met``, ``not_met``, ``undetermined``: all three
        criteria), ``failed``, ``unknown`` (criteria, ``;`` between), ``agrees`` (whether that
        goes with ``side``), ``says`` (a sentence).
    criteria : DataFrame
        A row a point and test: ``point``, ``criterion``, ``test``, ``outcome``, ``value``,
        ``unit``, ``comparison``, ``threshold``, ``cite``, ``note``. The row of a criterion as a
        whole has an empty ``test``.
    plants : DataFrame
        The vegetation with ``status`` and ``dominant``.
    """

    points: pd.DataFrame
    criteria: pd.DataFrame
    plants: pd.DataFrame

    def explain(self, point: str) -> str:
        """A point in words, a line a test."""
        rows = self.points[self.points["point"] == str(point)]
        if rows.empty:
            raise UsageError(f"there is no data point '{point}'.",
                             needed=f"of {', '.join(self.points['point'])}")  # fmt: skip
        lines = [str(rows["says"].iloc[0])]
        for row in _records(self.criteria[self.criteria["point"] == str(point)]):
            if row["test"]:
                known = row["value"] == row["value"]
                number = f" {row['value']:g} {row['unit']}".rstrip() if known else ""
                note = f" ({row['note']})" if row["note"] else ""
                lines.append(f"  {row['criterion']}, {row['test']}:{number} {row['outcome']}{note}")
        return "\n".join(lines)


def dominants(cover: pd.Series[float]) -> pd.Series[bool]:
    """The dominant species of one stratum by the 50/20 rule.

    Parameters
    ----------
    cover : Series
        Absolute cover of each species in percent.

    Returns
    -------
    Series of bool
        On the same index: the most abundant species until together they exceed half of the
        stratum's cover, those tied with the last of them, and each with a fifth of it or more.

    Examples
    --------
    >>> import pandas as pd
    >>> dominants(pd.Series([40.0, 25, 25, 25, 25])).tolist()
    [True, True, True, True, True]
    >>> dominants(pd.Series([70.0, 10])).tolist()
    [True, False]
    """
    ranked = cover.fillna(0.0).sort_values(ascending=False, kind="stable")
    total = ranked.sum()
    before = ranked.cumsum() - ranked
    # a species is needed while those before it do not exceed half
    least = ranked[(before <= 0.5 * total + 1e-9) & (ranked > 0)].min()
    chosen = (cover >= least - 1e-9) | (cover >= 0.2 * total - 1e-9)
    return chosen.fillna(False) & (cover > 0) & (total > 0)


def prevalence(cover: pd.Series[float], status: pd.Series[str]) -> tuple[float, float, float]:
    """The prevalence index, and its bounds where the status of some cover is not known.

    Parameters
    ----------
    cover : Series
        Absolute cover in percent, all strata together.
    status : Series
        ``OBL``, ``FACW``, ``FAC``, ``FACU``, ``UPL``; anything else is not known.

    Returns
    -------
    index, low, high
        ``index`` over what is known; the bounds with the rest as OBL and as UPL. NaN without
        any cover.

    Examples
    --------
    >>> import pandas as pd
    >>> prevalence(pd.Series([42.0, 3, 3]), pd.Series(["FACW", "FAC", "UPL"]))
    (2.25, 2.25, 2.25)
    """
    weight = status.map(STATUS_WEIGHT)
    known = weight.notna()
    total, known_cover = float(cover.sum()), float(cover[known].sum())
    if total <= 0:
        return nan, nan, nan
    summed = float((cover[known] * weight[known]).sum())
    rest = total - known_cover
    index = summed / known_cover if known_cover > 0 else nan
    return index, (summed + rest) / total, (summed + 5 * rest) / total


def data_points(
    vegetation: pd.DataFrame,
    observations: pd.DataFrame,
    *,
    manual: str = "1989",
    growing_season: tuple[tuple[int, int], tuple[int, int]] | None = None,
) -> DataPoints:
    """Try the three criteria at every data point.

    Parameters
    ----------
    vegetation : DataFrame
        A row a species and stratum: ``point``, ``stratum``, ``species``, ``cover_pct``,
        ``indicator`` (``OBL``, ``FACW``, ``FAC``, ``FACU``, ``UPL``; a plus or minus behind it
        is left out; anything else is not known).
    observations : DataFrame
        A row a point: ``point``, and as far as they were recorded ``flag``, ``side``
        (``wetland``, ``upland``), ``date``, ``hydric_soil`` (true or false),
        ``soil_indicator`` (as ``F3``), ``wet_days`` (consecutive, in the growing season),
        ``primary`` and ``secondary`` (indicators of hydrology, ``;`` between).
    manual : str
        ``1989`` or ``1987`` (`MANUALS`).
    growing_season : ((month, day), (month, day)), optional
        First and last day, as the law states them. A date outside adds a row ``season``, which
        does not change the criteria.

    Returns
    -------
    DataPoints

    Raises
    ------
    InputError
        Where a column that is needed is not there, or a point is twice in ``observations``.
    UsageError
        On a manual that is not known.

    Notes
    -----
    Vegetation is met by dominance (more than half of the dominants of all strata OBL, FACW or
    FAC) or by the prevalence index. Statuses that are not known make an outcome undetermined
    only where they could turn it. By the 1989 manual an area with hydric soil and hydrology
    whose vegetation fails may still be a wetland (a problem area): ``undetermined``, never met.
    The manual lets hydric soil be presumed where every dominant is OBL: a note, never met.

    Examples
    --------
    >>> import pandas as pd
    >>> plants = pd.DataFrame({"point": "W1", "stratum": "herb", "cover_pct": [60, 20],
    ...     "species": ["Carex stricta", "Solidago"], "indicator": ["OBL", "FACU"]})
    >>> seen = pd.DataFrame({"point": ["W1"], "hydric_soil": [False], "primary": ["B9"]})
    >>> data_points(plants, seen).points[["wetland", "failed"]].values.tolist()
    [['not_met', 'soil']]
    """
    if manual not in MANUALS:
        raise UsageError(f"there is no manual '{manual}'.", needed=f"of {', '.join(MANUALS)}")
    rules = MANUALS[manual]
    plants = _plants(vegetation)
    seen = _observations(observations, plants)
    rows: list[dict[str, Any]] = []
    for record in _records(seen):
        own = plants[plants["point"] == record["point"]]
        tried = _vegetation(own, rules) + _soil(record, own, rules) + _hydrology(record, rules)
        tried += _season(record, growing_season, rules)
        rows += [{"point": record["point"], **row} for row in tried]
    return _assembled(seen, rows, plants, rules)


def _plants(vegetation: pd.DataFrame) -> pd.DataFrame:
    """Vegetation with its status and the dominants of each stratum."""
    import pandas as pd

    needed = ["point", "stratum", "species", "cover_pct", "indicator"]
    missing = [c for c in needed if c not in vegetation.columns]
    if missing:
        raise InputError(f"the vegetation has no column {', '.join(missing)}.",
                         needed=", ".join(needed))  # fmt: skip
    plants = vegetation.reset_index(drop=True).copy()
    plants["point"] = plants["point"].astype("str")
    plants["cover_pct"] = pd.to_numeric(plants["cover_pct"], errors="coerce").astype("float64")
    if (plants["cover_pct"] < 0).any():
        raise InputError("a cover is below zero.", needed="percent")
    status = plants["indicator"].fillna("").astype("str").str.strip().str.upper().str.rstrip("+-*")
    plants["status"] = status.where(status.isin(list(STATUS_WEIGHT)), "")
    groups = plants.groupby(["point", "stratum"], sort=False)["cover_pct"]
    plants["dominant"] = groups.transform(dominants).astype(bool) if len(plants) else False
    return plants


def _observations(observations: pd.DataFrame, plants: pd.DataFrame) -> pd.DataFrame:
    """One row a point, points that have only plants among them; missing columns are empty."""
    import pandas as pd

    if "point" not in observations.columns:
        raise InputError("the observations have no column point.", needed="a row a point")
    seen = observations.reset_index(drop=True).copy()
    seen["point"] = seen["point"].astype("str")
    if seen["point"].duplicated().any():
        twice = seen.loc[seen["point"].duplicated(), "point"].iloc[0]
        raise InputError(f"point {twice} is twice in the observations.", needed="a row a point")
    only_plants = [p for p in plants["point"].unique() if p not in set(seen["point"])]
    if only_plants:
        seen = pd.concat([seen, pd.DataFrame({"point": only_plants})], ignore_index=True)
    for column in ("flag", "side", "date", "hydric_soil", "soil_indicator", "wet_days", "primary",
                   "secondary"):  # fmt: skip
        if column not in seen.columns:
            seen[column] = None
    return seen


def _records(seen: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows as dictionaries by column."""
    return [{str(k): v for k, v in row.items()} for row in seen.to_dict("records")]


def _row(criterion: str, test: str, outcome: str, **more: Any) -> dict[str, Any]:
    """A row of the criteria; what does not apply is NaN or empty."""
    empty = {"value": nan, "unit": "", "comparison": "", "threshold": nan, "cite": "", "note": ""}
    return {"criterion": criterion, "test": test, "outcome": outcome} | empty | more


def _vegetation(plants: pd.DataFrame, rules: Manual) -> list[dict[str, Any]]:
    """Dominance, prevalence and, where the manual has it, the rapid test."""
    cite = rules.cite("vegetation")
    if plants["cover_pct"].sum() <= 0:
        return [_row("vegetation", "", "undetermined", cite=cite, note="no plants recorded")]
    tests = [_dominance(plants, rules), _prevalence(plants, rules)]
    if rules.rapid_test:
        status = plants.loc[plants["dominant"], "status"]
        sure, maybe = status.isin(["OBL", "FACW"]).all(), status.isin(["OBL", "FACW", ""]).all()
        outcome = "met" if sure else "undetermined" if maybe else "not_met"
        tests.insert(0, _row("vegetation", "rapid test", outcome, cite=cite))
    return [*tests, _row("vegetation", "", _any([t["outcome"] for t in tests]), cite=cite)]


def _dominance(plants: pd.DataFrame, rules: Manual) -> dict[str, Any]:
    """The share of dominants that are OBL, FACW or FAC; unknown ones as a bound."""
    status = plants.loc[plants["dominant"], "status"]
    n, wet, unknown = len(status), int(status.isin(WET).sum()), int((status == "").sum())
    low, high = wet / n, (wet + unknown) / n
    outcome = "met" if low > rules.dominance else "undetermined"
    outcome = "not_met" if high <= rules.dominance else outcome
    note = f"{wet} of {n} dominants"
    note += f", {unknown} of unknown status" if unknown else ""
    return _row("vegetation", "dominance", outcome, value=100 * low, unit="pct", comparison="gt",
                threshold=100 * rules.dominance, cite=rules.cite("vegetation"),
                note=note)  # fmt: skip


def _prevalence(plants: pd.DataFrame, rules: Manual) -> dict[str, Any]:
    """The prevalence index against the manual's limit; unknown cover as a bound."""
    index, low, high = prevalence(plants["cover_pct"], plants["status"])
    strict = rules.prevalence_comparison == "lt"
    limit = rules.prevalence

    def holds(value: float) -> bool:
        return value < limit - 1e-9 if strict else value <= limit + 1e-9

    outcome = "met" if holds(high) else "undetermined" if holds(low) else "not_met"
    note = "" if low == high else f"{low:.2f} to {high:.2f} with what is not known"
    return _row("vegetation", "prevalence index", outcome, value=index, unit="ratio",
                comparison=rules.prevalence_comparison, threshold=limit,
                cite=rules.cite("vegetation"), note=note)  # fmt: skip


def _any(outcomes: list[str]) -> str:
    """Met where one is, not met where all are not."""
    if "met" in outcomes:
        return "met"
    return "undetermined" if "undetermined" in outcomes else "not_met"


def _soil(record: dict[str, Any], plants: pd.DataFrame, rules: Manual) -> list[dict[str, Any]]:
    """Hydric soil as reported; an indicator that is named stands for it."""
    stated, named = _truth(record["hydric_soil"]), _words(record["soil_indicator"])
    outcome = {True: "met", False: "not_met", None: "undetermined"}[stated]
    note = f"indicator {', '.join(named)}" if named else ""
    if stated is None and named:
        outcome = "met"
    elif stated is False and named:
        outcome, note = "undetermined", f"not hydric, but {note} is named"
    elif stated is None:
        note = "soil not recorded"
        status = plants.loc[plants["dominant"], "status"]
        if rules.problem_area and len(status) and (status == "OBL").all():
            note += "; every dominant is OBL, so the manual lets it be presumed"
    cite = rules.cite("soil")
    return [_row("soil", "as reported", outcome, cite=cite, note=note),
            _row("soil", "", outcome, cite=cite)]  # fmt: skip


def _hydrology(record: dict[str, Any], rules: Manual) -> list[dict[str, Any]]:
    """Days of wetness where they were recorded, and indicators."""
    cite = rules.cite("hydrology")
    days, tests = _number(record["wet_days"]), []
    if days == days:
        outcome = "met" if days >= rules.wet_days else "not_met"
        tests.append(_row("hydrology", "days", outcome, value=days, unit="days", comparison="ge",
                          threshold=rules.wet_days, cite=cite))  # fmt: skip
    for name, needed in (("primary", rules.primary), ("secondary", rules.secondary)):
        written = record[name]
        if needed is None or written is None or written != written:
            continue
        count = len(_words(written))
        outcome = "met" if count >= needed else "not_met"
        tests.append(_row("hydrology", f"{name} indicators", outcome, value=float(count),
                          unit="count", comparison="ge", threshold=float(needed), cite=cite,
                          note=", ".join(_words(written))))  # fmt: skip
    outcome = _any([t["outcome"] for t in tests]) if tests else "undetermined"
    note = "" if tests else "hydrology not recorded"
    return [*tests, _row("hydrology", "", outcome, cite=cite, note=note)]


def _season(
    record: dict[str, Any],
    season: tuple[tuple[int, int], tuple[int, int]] | None,
    rules: Manual,
) -> list[dict[str, Any]]:
    """Whether the day lies in the growing season, where both are known."""
    import pandas as pd

    day = pd.to_datetime(record["date"], errors="coerce")
    if season is None or pd.isna(day):
        return []
    outcome = "met" if _within(day.date(), season) else "not_met"
    note = "" if outcome == "met" else f"{day.date().isoformat()} lies outside the growing season"
    return [_row("season", "date", outcome, cite=rules.cite("season"), note=note)]


def _within(day: datetime.date, season: tuple[tuple[int, int], tuple[int, int]]) -> bool:
    """Whether a day lies between two days of the year, both included."""
    first, last = season
    at = (day.month, day.day)
    return first <= at <= last if first <= last else at >= first or at <= last


def _truth(value: Any) -> bool | None:
    """True, false or not known, from what tables hold."""
    if value is None or value != value:
        return None
    text = str(value).strip().lower()
    if text in {"true", "yes", "y", "1", "1.0", "t"}:
        return True
    if text in {"false", "no", "n", "0", "0.0", "f"}:
        return False
    return None


def _words(value: Any) -> list[str]:
    """The parts of a text between semicolons; none where it is empty."""
    if value is None or value != value:
        return []
    return [part.strip() for part in str(value).split(";") if part.strip()]


def _number(value: Any) -> float:
    """A number, NaN where there is none."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return nan


def _assembled(
    seen: pd.DataFrame, rows: list[dict[str, Any]], plants: pd.DataFrame, rules: Manual
) -> DataPoints:
    """Tables from the rows, and each point's three criteria together."""
    import pandas as pd

    criteria = pd.DataFrame(rows, columns=list(CRITERION_COLUMNS))
    text = [c for c in CRITERION_COLUMNS if c not in ("value", "threshold")]
    criteria[text] = criteria[text].astype("str")
    whole = criteria[criteria["test"] == ""].pivot(index="point", columns="criterion",
                                                   values="outcome")  # fmt: skip
    points = []
    for record in _records(seen):
        outcomes = whole.loc[record["point"], list(CRITERIA)].to_dict()
        points.append(_together(record, outcomes, rules))
    frame = pd.DataFrame(points, columns=list(POINT_COLUMNS)).astype("str")
    return DataPoints(frame, criteria, plants)


def _together(record: dict[str, Any], outcomes: dict[str, str], rules: Manual) -> dict[str, str]:
    """One point: all three criteria, the failed ones named."""
    failed = [c for c in CRITERIA if outcomes[c] == "not_met"]
    unknown = [c for c in CRITERIA if outcomes[c] == "undetermined"]
    wetland = "not_met" if failed else "undetermined" if unknown else "met"
    says = {
        "met": "all three criteria are met",
        "not_met": f"fails {' and '.join(failed)}",
        "undetermined": f"cannot be told: {' and '.join(unknown)} not known",
    }[wetland]
    if failed == ["vegetation"] and not unknown and rules.problem_area:
        wetland = "undetermined"
        says = ("vegetation fails, soil and hydrology are met: by the manual this may be a problem "
                "area, and the delineator decides")  # fmt: skip
    side = "" if record["side"] is None or record["side"] != record["side"] else str(record["side"])
    expected = {"wetland": "met", "upland": "not_met"}.get(side.strip().lower(), "")
    agrees = "" if not expected or wetland == "undetermined" else str(wetland == expected).lower()
    flag = record["flag"]
    return {
        "point": record["point"],
        "flag": "" if flag is None or flag != flag else str(flag),
        "side": side,
        "wetland": wetland,
        "failed": ";".join(failed),
        "unknown": ";".join(unknown),
        "agrees": agrees,
        "says": f"{record['point']}: {says}",
    }
