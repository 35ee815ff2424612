"""The agencies' columns as the canonical ones, ids as text, and what stands for 'not known'."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wetgis.errors import InputError
from wetgis.issuelog import IssueLog
from wetgis.schema import BASES
from wetgis.sources.keys import LayerKeys, nearest

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "as_text",
    "canonical_columns",
    "find_column",
    "generated_ids",
    "geometry_digests",
    "id_column",
    "text_key",
    "to_dates",
    "to_numbers",
]

_EVERY = {
    "name": ("gnis_name",),
    "basis": (),
    "accuracy_ft": (),
    "effective_from": (),
    "effective_to": (),
    "source_date": (),
}
_WETLAND = {
    "cowardin": ("attribute", "wetlands.attribute", "cowardin_code"),
    "regulator": (),
}
_WATER = {
    "half_width_ft": (),
    "measured_from": (),
    "flow": (),
    "piped": (),
    "fcode": ("nhdflowline.fcode", "nhdarea.fcode", "nhdwaterbody.fcode"),
}
_FOOTPRINT_TEXT = (
    "parcel_id", "project_id", "phase", "status", "permanence", "kind", "activity",
)  # fmt: skip
#: kind -> canonical column -> names that agencies give it, lower case, besides its own.
ALIASES: dict[str, dict[str, tuple[str, ...]]] = {
    "parcels": {},
    "footprints": {**dict.fromkeys(_FOOTPRINT_TEXT, ()), "cost_usd": ()},
    "wetlands": _WETLAND,
    "adopted_wetlands": _WETLAND,
    "indicators": _WETLAND,
    "watercourses": _WATER,
    "adopted_watercourses": _WATER,
    "soils": {
        "mukey": ("map_unit_key",),
        "musym": ("map_symbol",),
        "hydric_pct_low": (),
        "hydric_pct_high": (),
        "hydclprs": ("hydric_pct", "hydricpct", "hydclprs_pct", "hydric_percent"),
    },
    "floodplain": {
        "zone": ("fld_zone", "flood_zone", "zone_", "floodzone"),
        "subtype": ("zone_subty", "zone_subtype", "floodway"),
        "sfha": ("sfha_tf",),
    },
}
#: The column of ids where the user names none; only names whose meaning is fixed by an agency.
ID_ALIASES: dict[str, tuple[str, ...]] = {"parcels": ("print_key",)}

_NUMBERS = {"accuracy_ft", "half_width_ft", "hydric_pct_low", "hydric_pct_high", "hydclprs",
            "cost_usd"}  # fmt: skip
_DATES = {"effective_from", "effective_to"}
_NULL_WORDS = {"", "np", "null", "<null>", "none", "nan", "n/a", "na", "-9999", "-8888", "-9999.0",
               "-8888.0"}  # fmt: skip
_NULL_NUMBERS = (-9999.0, -8888.0, -99999.0)
_OWNER = re.compile(r"(^|_)(own|owner|owners|ownr|mail|mailing)\w*($|_)|ownername|owner_?\d", re.I)


def as_text(values: pd.Series[Any]) -> pd.Series[Any]:
    """Texts and None as pandas keeps text: its string type, or objects before pandas 3."""
    import pandas as pd

    modern = int(pd.__version__.split(".")[0]) >= 3
    return values.astype("str") if modern else values.astype(object).where(values.notna(), None)


def find_column(columns: Sequence[Any], name: str, *, where: str = "") -> str:
    """The column that a user means: as written, else in any case, else cut to ten characters.

    Raises
    ------
    InputError
        Where there is none, with the nearest one.
    """
    found = _find(columns, name)
    if found is None:
        listed = ", ".join(map(str, columns))
        raise InputError(
            f"there is no column '{name}'{nearest(name, columns)}",
            needed=f"one of {listed}" if listed else "",
            where=where,
        )
    return found


def _find(columns: Sequence[Any], name: str) -> str | None:
    names = [str(c) for c in columns]
    if name in names:
        return name
    lowered = {c.lower(): c for c in reversed(names)}
    low = name.lower()
    if low in lowered:
        return lowered[low]
    # a shapefile keeps ten characters of a name
    return lowered.get(low[:10]) if len(low) > 10 else None


def canonical_columns(
    table: pd.DataFrame, kind: str, keys: LayerKeys, log: IssueLog, about: dict[str, str]
) -> tuple[pd.DataFrame, dict[str, str]]:
    """The table with canonical columns beside its own, and where each came from.

    Parameters
    ----------
    table : DataFrame
        Attributes as the file has them.
    kind : str
        What the layer is.
    keys : LayerKeys
        ``fields`` go before aliases; owner data are left out unless ``keep`` names them.
    log : IssueLog
        Takes null values and values that could not be read.
    about : dict
        ``layer`` and ``file`` for the issues.
    """
    out = table.drop(columns=[c for c in table.columns if _is_owner(str(c), keys)])
    came_from: dict[str, str] = {}
    wanted = {**_EVERY, **ALIASES.get(kind, {})}
    for canonical, theirs in keys.fields.items():
        came_from[canonical] = find_column(list(table.columns), theirs, where=about["file"])
        out[canonical] = table[came_from[canonical]]
    for canonical, aliases in wanted.items():
        if canonical in came_from:
            continue
        column = _by_alias(list(table.columns), canonical, aliases)
        if column is not None:
            came_from[canonical] = column
            out[canonical] = table[column]
    for name in keys.keep:
        column = find_column(list(table.columns), name, where=about["file"])
        if name not in out.columns:
            out[name] = table[column]
    for canonical in [c for c in came_from if c in wanted or c in keys.fields]:
        out[canonical] = _clean(out[canonical], canonical, log, about)
    _check_basis(out, log, about)
    return out, came_from


def _by_alias(columns: Sequence[Any], canonical: str, aliases: Sequence[str]) -> str | None:
    lowered = {str(c).lower(): str(c) for c in reversed(list(columns))}
    for name in (canonical, *aliases):
        # in a service or a join the layer's name may stand before the column's
        for candidate in (name, name[:10] if len(name) > 10 else name):
            if candidate in lowered:
                return lowered[candidate]
    return None


def _is_owner(column: str, keys: LayerKeys) -> bool:
    named = {name.lower() for name in (*keys.keep, *keys.fields.values())}
    named |= {n.lower() for n in (keys.id if isinstance(keys.id, list) else [keys.id or ""])}
    return (
        column.lower() not in named
        and bool(_OWNER.search(column))
        and column.lower() != "owner_type"
    )


def _clean(values: pd.Series[Any], canonical: str, log: IssueLog, about: dict[str, str]) -> Any:
    if canonical in _NUMBERS:
        return to_numbers(values, canonical, log, about)
    if canonical in _DATES:
        return to_dates(values, canonical, log, about)
    return _without_null_words(values, canonical, log, about)


def _without_null_words(
    values: pd.Series[Any], name: str, log: IssueLog, about: dict[str, str]
) -> pd.Series[Any]:
    """Text columns without the words that stand for 'not known'; others as they are."""
    import pandas as pd

    if pd.api.types.is_bool_dtype(values) or pd.api.types.is_datetime64_any_dtype(values):
        return values
    text = values.map(text_key, na_action="ignore").astype(object)
    held = text.notna()
    words = text[held].str.strip()
    null = pd.Series(False, index=values.index)
    null[held] = words.str.lower().isin(_NULL_WORDS)
    spoken = null & held
    spoken[held] &= words != ""
    if spoken.any():
        count = int(spoken.sum())
        word = str(words[spoken[held]].iloc[0])
        log.add(
            "note",
            "null_value",
            f"{name}: {count} values ('{word}') stand for 'not known'.",
            **about,
        )
    text[held] = words
    return as_text(text.where(~null & held, None))


def to_numbers(
    values: pd.Series[Any], name: str, log: IssueLog, about: dict[str, str]
) -> pd.Series[Any]:
    """A column as floats: sentinels become NaN and are noted, other text is a warning."""
    import pandas as pd

    numbers = pd.to_numeric(values, errors="coerce").astype("float64")
    sentinel = numbers.isin(_NULL_NUMBERS)
    words = values.astype("str").str.strip().str.lower()
    lost = numbers.isna() & values.notna() & ~words.isin(_NULL_WORDS)
    if sentinel.any():
        text = f"{name}: {int(sentinel.sum())} values (-9999 and the like) stand for 'not known'."
        log.add("note", "null_value", text, **about)
    if lost.any():
        example = str(values[lost].iloc[0])
        text = f"{name}: {int(lost.sum())} values are not numbers (as '{example}')."
        log.add("warning", "bad_value", text, effect="taken as not known", **about)
    known: pd.Series[Any] = numbers.mask(sentinel | ~np.isfinite(numbers))
    return known


def to_dates(
    values: pd.Series[Any], name: str, log: IssueLog, about: dict[str, str]
) -> pd.Series[Any]:
    """A column as dates; what is not one becomes NaT and is a warning."""
    import pandas as pd

    if pd.api.types.is_datetime64_any_dtype(values):
        naive = values.dt.tz_localize(None) if values.dt.tz is not None else values
        days: pd.Series[Any] = naive.dt.normalize()
        return days
    text = values.astype("string").str.strip()
    held = text.notna() & ~text.str.lower().isin(_NULL_WORDS)
    parsed = pd.to_datetime(text.where(held), errors="coerce", format="ISO8601")
    other = held & parsed.isna()
    if other.any():
        us = pd.to_datetime(text.where(other), errors="coerce", format="%m/%d/%Y")
        parsed = parsed.fillna(us)
    lost = held & parsed.isna()
    if lost.any():
        message = f"{name}: {int(lost.sum())} values are not dates (as '{text[lost].iloc[0]}')."
        log.add("warning", "bad_value", message, effect="taken as not known", **about)
    dates_only: pd.Series[Any] = parsed.dt.normalize()
    return dates_only


def _check_basis(table: pd.DataFrame, log: IssueLog, about: dict[str, str]) -> None:
    if "basis" not in table.columns:
        return
    wrong = table["basis"].notna() & ~table["basis"].isin(BASES)
    if wrong.any():
        example = str(table.loc[wrong, "basis"].iloc[0])
        text = f"basis: '{example}' is none of {', '.join(BASES)} ({int(wrong.sum())} records)."
        log.add("warning", "bad_value", text, effect="taken as other", **about)
        table.loc[wrong, "basis"] = "other"


# ---------------------------------------------------------------- ids


def text_key(value: Any) -> Any:
    """A key as text: 12.0 is "12", text keeps its leading zeros and loses its outer blanks.

    Examples
    --------
    >>> text_key(12.0), text_key(" 0012 "), text_key(7)
    ('12', '0012', '7')
    """
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, (float, np.floating)):
        if np.isnan(value):
            return None
        return str(int(value)) if float(value).is_integer() else repr(float(value))
    if isinstance(value, (bytes, bytearray)):
        return value.hex()
    return str(value)


def id_column(
    table: pd.DataFrame, kind: str | None, keys: LayerKeys, log: IssueLog, about: dict[str, str]
) -> tuple[pd.Series[Any] | None, str]:
    """The ids that a file has, as text, and the column they came from; None where it has none."""
    where = about["file"]
    columns = list(table.columns)
    if keys.id is not None:
        names = [keys.id] if isinstance(keys.id, str) else keys.id
        found = [find_column(columns, n, where=where) for n in names]
        parts = [_key_text(table[c]) for c in found]
        joined = parts[0]
        for part in parts[1:]:
            joined = joined + "-" + part
        return joined, "-".join(found)
    own = keys.fields.get("id")
    names = [own] if own else ["id", *ID_ALIASES.get(kind or "", ())]
    for name in names:
        column = _find(columns, name)
        if column is None or not (found_ids := _key_text(table[column])).notna().any():
            continue
        if own is None and len(table) > 1 and (found_ids == "0").all():
            # editors leave a column Id of zeros behind; it names nothing. Another value may
            # well be the id of all: a wetland in several records
            text = f"column {column} holds 0 for all records; it was not taken as id."
            log.add("note", "bad_value", text, **about)
            continue
        return found_ids, column
    return None, ""


def _key_text(values: pd.Series[Any]) -> pd.Series[Any]:
    import pandas as pd

    if pd.api.types.is_integer_dtype(values) and not values.isna().any():
        return as_text(values.astype(str))
    text = values.map(text_key, na_action="ignore").astype(object)
    held = text.notna() & (text != "")
    return as_text(text.where(held, None))


def geometry_digests(geoms: np.ndarray[Any, Any], length: int = 10) -> list[str]:
    """The first hexadecimal digits of the SHA-256 of each geometry's normalised WKB.

    Examples
    --------
    >>> import shapely
    >>> geometry_digests(np.array([shapely.Point(1, 2), None]))
    ['10a39f36ce', 'e3b0c44298']
    """
    import shapely

    flat = shapely.force_2d(geoms)
    box = shapely.bounds(flat)
    xy, owner = shapely.get_coordinates(flat, return_index=True)
    broken = np.zeros(len(flat), dtype=bool)
    broken[owner[~np.isfinite(xy).all(axis=1)]] = True
    sound = ~broken & np.isfinite(box).all(axis=1)
    flat = np.array(flat, dtype=object)
    flat[sound] = shapely.normalize(flat[sound])
    wkb = shapely.to_wkb(flat, byte_order=1)
    digest: Callable[[bytes], str] = lambda w: hashlib.sha256(w).hexdigest()[:length]  # noqa: E731
    return [digest(b"" if w is None else w) for w in wkb]


def generated_ids(geoms: np.ndarray[Any, Any], kind: str | None) -> list[str]:
    """Ids made of the geometries alone: equal geometries have equal ids, in any order of rows."""
    return [f"{kind or 'feature'}-{d}" for d in geometry_digests(geoms)]
