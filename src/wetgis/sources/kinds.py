"""What a kind of layer means: the flood zones, the soils' hydric share, the streams' flow."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wetgis.issuelog import IssueLog
from wetgis.sources.columns import as_text, text_key

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["DIMENSIONS", "enrich", "flood_answer"]

#: Which geometries a layer of a kind may hold: 0 points, 1 lines, 2 polygons.
DIMENSIONS: dict[str, tuple[int, ...]] = {
    "parcels": (2,),
    "soils": (2,),
    "floodplain": (2,),
    "municipality": (2,),
    "flags": (0,),
}
ANY_DIMENSION = (0, 1, 2)

#: NHD's FCode: what flows how. Other streams say nothing about it.
_FLOW = {46006: "perennial", 46003: "intermittent", 46007: "ephemeral"}
_FLOWS = ("perennial", "intermittent", "ephemeral")
_MEASURED_FROM = ("bank", "centreline", "edge")


def enrich(
    table: pd.DataFrame, kind: str, log: IssueLog, about: dict[str, str], components: Path | None
) -> pd.DataFrame:
    """The columns that a kind derives from others, and its ``class``.

    Parameters
    ----------
    table : DataFrame
        With canonical columns.
    kind : str
        The kind.
    log, about
        Take the issues.
    components : Path or None
        For soils, the table of components.
    """
    made: Callable[..., pd.DataFrame] | None = {
        "floodplain": _floodplain,
        "watercourses": _watercourses,
        "adopted_watercourses": _watercourses,
    }.get(kind)
    if kind == "soils":
        from wetgis.sources.soils import soils

        table = soils(table, log, about, components)
    elif made is not None:
        table = made(table, log, about)
    table["class"] = _class(table, kind)
    return table


def _class(table: pd.DataFrame, kind: str) -> pd.Series[Any]:
    import pandas as pd

    columns = {
        "wetlands": ("cowardin", "class"),
        "adopted_wetlands": ("cowardin", "class"),
        "indicators": ("cowardin", "class"),
        "soils": ("musym", "mukey"),
        "watercourses": ("flow",),
        "adopted_watercourses": ("flow",),
        "floodplain": ("zone",),
    }.get(kind, ("class",))
    text = pd.Series("", index=table.index, dtype=object)
    for column in columns:
        if column in table.columns:
            text = table[column].map(text_key, na_action="ignore").astype(object)
            text = text.where(table[column].notna(), "")
            break
    if kind == "floodplain" and "subtype" in table.columns:
        subtype = table["subtype"].astype(object).where(table["subtype"].notna(), "")
        text = (text + " " + subtype).str.strip()
    return as_text(text)


# ---------------------------------------------------------------- floodplain

_UNKNOWN_ZONE = re.compile(
    r"^(D|ANI|UNDES|OPEN WATER|AREA NOT INCLUDED|NOT INCLUDED|N/?A|OW)\b", re.I
)
_HAZARD = re.compile(r"^(A|V)(E|H|O|R|99|\d{1,2})?(\b|[/ ,(]|$)|^(AR|A99)\b", re.I)
_NO_HAZARD = re.compile(r"^(X|B|C|X\s?500|X\d*|0\.2)(\b|[ ,(/]|$)|^0\.2 PCT|^SHADED X", re.I)
_TRUTH = {
    "t": "T", "true": "T", "in": "T", "y": "T", "yes": "T", "1": "T",
    "f": "F", "false": "F", "out": "F", "n": "F", "no": "F", "0": "F",
    "u": "U", "unknown": "U",
}  # fmt: skip


def flood_answer(zone: str | None, subtype: str | None = None) -> str:
    """Whether a flood zone is special flood hazard area: ``T``, ``F``, or ``U`` for unknown.

    Every zone that begins with A or V is; X, B and C are not, the 0.2 % chance zone
    included; D, open water and what was not studied are unknown, never dry.

    Examples
    --------
    >>> [flood_answer(z) for z in ("AE", "A12", "VE", "X", "X500", "D", "AREA NOT INCLUDED", None)]
    ['T', 'T', 'T', 'F', 'F', 'U', 'U', 'U']
    """
    if zone is None or not zone.strip():
        return "U"
    text = zone.strip()
    if _UNKNOWN_ZONE.match(text) or (subtype and _UNKNOWN_ZONE.match(subtype.strip())):
        return "U"
    if re.match(r"^AREA OF MINIMAL", text, re.I) or _NO_HAZARD.match(text):
        return "F"
    return "T" if _HAZARD.match(text) else "U"


def _floodplain(table: pd.DataFrame, log: IssueLog, about: dict[str, str]) -> pd.DataFrame:
    import pandas as pd

    flag = _flag(table, log, about)
    if "zone" not in table.columns:
        if flag is None:
            log.add(
                "warning",
                "no_zone",
                "the flood layer has no zone column.",
                effect="all of it is taken as special flood hazard area",
                **about,
            )
            table["sfha"] = "T"
        else:
            table["sfha"] = flag.fillna("U")
        return table
    zones = table["zone"].astype(object).where(table["zone"].notna(), None)
    subtypes = pd.Series([None] * len(table), index=table.index, dtype=object)
    if "subtype" in table.columns:
        # Q3 data mark the floodway with FW in a column of its own
        table["subtype"] = table["subtype"].replace("FW", "FLOODWAY")
        subtypes = table["subtype"].astype(object).where(table["subtype"].notna(), None)
    pairs = list(zip(zones, subtypes, strict=True))
    by_pair = {pair: flood_answer(*pair) for pair in set(pairs)}
    answer = pd.Series([by_pair[p] for p in pairs], index=table.index, dtype=object)
    if flag is not None:
        answer = _with_flag(answer, flag, zones, log, about)
    strange = sorted({str(z) for (z, _), a in by_pair.items() if a == "U" and _is_strange(z)})
    if strange:
        text = f"zone: {', '.join(strange[:5])} not known as a flood zone."
        log.add("warning", "bad_value", text, effect="unknown, unless flagged", **about)
    table["sfha"] = as_text(answer)
    return table


def _is_strange(zone: str | None) -> bool:
    return bool(zone and zone.strip()) and not _UNKNOWN_ZONE.match(str(zone).strip())


def _flag(table: pd.DataFrame, log: IssueLog, about: dict[str, str]) -> pd.Series[Any] | None:
    """The file's own yes or no, as T, F, U; None where it has none."""
    if "sfha" not in table.columns:
        return None
    values = table["sfha"]
    text = values.map(text_key, na_action="ignore").astype(object)
    held = values.notna()
    answer = text[held].str.strip().str.lower().map(_TRUTH)
    if answer.isna().any():
        example = str(text[held][answer.isna()].iloc[0])
        message = f"sfha: '{example}' is none of T, F, U, IN, OUT."
        log.add("warning", "bad_value", message, effect="unknown", **about)
    return answer.reindex(table.index)


def _with_flag(
    answer: pd.Series[Any],
    flag: pd.Series[Any],
    zones: pd.Series[Any],
    log: IssueLog,
    about: dict[str, str],
) -> pd.Series[Any]:
    """Zone and flag together: where they contradict, the hazard holds, and it is said."""
    odd = ((answer == "T") & (flag == "F")) | ((answer == "F") & (flag == "T"))
    if odd.any():
        message = (
            f"zone and SFHA flag contradict each other in {int(odd.sum())} records "
            f"(as zone {zones[odd].iloc[0]} with {flag[odd].iloc[0]})."
        )
        effect = "taken as special flood hazard area"
        log.add("warning", "bad_value", message, effect=effect, **about)
    unclear = (answer == "U") & zones.map(_is_strange).astype(bool) & flag.notna()
    unclear |= (answer == "U") & zones.isna() & flag.notna()
    return answer.mask(odd, "T").mask(unclear, flag)


# ---------------------------------------------------------------- watercourses


def _watercourses(table: pd.DataFrame, log: IssueLog, about: dict[str, str]) -> pd.DataFrame:
    import pandas as pd

    code = None
    if "fcode" in table.columns:
        code = pd.to_numeric(table["fcode"], errors="coerce")
        if "flow" not in table.columns:
            table["flow"] = as_text(code.map(_FLOW).astype(object))
        if "piped" not in table.columns:
            table["piped"] = code.between(42800, 42899) | (code == 33603)
    for column, words in (("flow", _FLOWS), ("measured_from", _MEASURED_FROM)):
        if column in table.columns:
            table[column] = _word(table[column], words, column, log, about)
    if "piped" in table.columns:
        table["piped"] = _yes(table["piped"])
        count = int(table["piped"].sum())
        if count:
            text = f"{count} watercourses are marked as piped."
            log.add("note", "piped", text, effect="still buffered", **about)
    return table


def _word(
    values: pd.Series[Any], words: tuple[str, ...], name: str, log: IssueLog, about: dict[str, str]
) -> pd.Series[Any]:
    text = values.map(text_key, na_action="ignore").astype(object)
    low = text.where(values.notna(), None).map(
        lambda v: v.strip().lower().replace("centerline", "centreline"), na_action="ignore"
    )
    wrong = low.notna() & ~low.isin(words)
    if wrong.any():
        message = f"{name}: '{low[wrong].iloc[0]}' is none of {', '.join(words)}."
        log.add("warning", "bad_value", message, effect="taken as not known", **about)
    return as_text(low.mask(wrong, None))


def _yes(values: pd.Series[Any]) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """True where a value says yes, in whatever way; what is not known is not a yes."""
    text = values.map(text_key, na_action="ignore").astype(object)
    low = text.where(values.notna(), "").astype(str).str.strip().str.lower()
    return np.asarray(low.isin({"true", "t", "yes", "y", "1"}), dtype=bool)
