"""What may stand in a ``site.toml``: closed keys, checked before anything is read.

A key that is not known is an error that names it, the nearest one that is, and the place
in the file. Nothing here opens a layer.
"""

from __future__ import annotations

import datetime
import difflib
import glob
import math
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from wetgis.errors import SiteError
from wetgis.schema import KINDS, RASTER_KINDS
from wetgis.sources.keys import LayerKeys

__all__ = [
    "VECTOR_KEYS",
    "ClosedKeys",
    "MeasureKeys",
    "OverrideKeys",
    "RasterKeys",
    "SiteKeys",
    "bytes_of",
    "check_kind",
    "checked",
    "is_raster",
    "layer_keys",
    "read_toml",
    "site_keys",
    "unknown_key",
]

Model = TypeVar("Model", bound=BaseModel)
#: The keys of a vector layer.
VECTOR_KEYS = tuple(name for name in LayerKeys.model_fields if name != "z_unit")
#: A fact is a plain value; a list or a table would not fit into a column.
Fact = bool | int | float | str | datetime.date


class ClosedKeys(BaseModel):
    """Keys of one table: no other key, no silent change of type, nothing changed afterwards."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class MeasureKeys(ClosedKeys):
    """``[measure]``: numbers that come before those of the packs."""

    buffer_ft: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    hydric_pct: float | None = Field(default=None, gt=0, le=100)
    steep_pct: float | None = Field(default=None, gt=0, allow_inf_nan=False)


class OverrideKeys(ClosedKeys):
    """``[[overrides]]``: one parameter of a pack, with the citation that it rests on.

    The pack itself knows which units and comparisons fit the parameter.
    """

    pack: str
    parameter: str
    value: int | Annotated[float, Field(allow_inf_nan=False)]
    unit: str
    comparison: str
    cite: str

    @field_validator("cite", "pack", "parameter")
    @classmethod
    def _said(cls, text: str) -> str:
        if not text.strip():
            raise ValueError("must not be empty")
        return text


class RasterKeys(ClosedKeys):
    """``[layers.dem]`` and the other rasters."""

    path: str | list[str] | None = None
    z_unit: str | None = None

    @field_validator("z_unit")
    @classmethod
    def _z_unit(cls, text: str | None) -> str | None:
        return text if text is None else one_of(text, ("m", "ft", "us-ft"))


class SiteKeys(ClosedKeys):
    """The top of a ``site.toml``; its layers are checked one by one (``site.Layer``)."""

    title: str = ""
    packs: list[str] = Field(default_factory=list)
    crs: str | None = None
    as_of: datetime.date | None = None
    strict: bool = False
    combined_factor: float | None = Field(default=None, gt=0.9, lt=1.1)
    measure: MeasureKeys = MeasureKeys()
    facts: dict[str, Fact] = Field(default_factory=dict)
    overrides: list[OverrideKeys] = Field(default_factory=list)

    @field_validator("as_of", mode="before")
    @classmethod
    def _day(cls, value: Any) -> Any:
        """A day may be written as text too; a time of day says nothing here."""
        if isinstance(value, datetime.datetime):
            return value.date()
        return datetime.date.fromisoformat(value) if isinstance(value, str) else value

    def as_json(self) -> dict[str, Any]:
        """The options as given, as plain JSON; what was not given is left out."""
        return self.model_dump(mode="json", exclude_unset=True, exclude_none=True)


def one_of(text: str, words: Iterable[str]) -> str:
    """The text itself where it is one of the words; else a ValueError that lists them."""
    words = tuple(words)
    if text not in words:
        raise ValueError(f"must be one of {', '.join(words)}")
    return text


def nearest(word: str, words: Iterable[str]) -> str:
    """The known word that is most like another one.

    Examples
    --------
    >>> nearest("acuracy_ft", ["accuracy_ft", "extent"])
    'accuracy_ft'
    """
    lower = {w.lower(): w for w in words}
    close = difflib.get_close_matches(word.lower(), list(lower), n=1, cutoff=0.0)
    return lower[close[0]] if close else ""


def unknown_key(key: str, valid: Iterable[str], *, place: str, where: str) -> SiteError:
    """The error for a key that is not known: the key, the nearest one, and the place."""
    valid = list(valid)
    full = f"{place}.{key}" if place else key
    return SiteError(
        f"unknown key '{key}' ({full}).",
        needed=f"one of {', '.join(valid)}",
        mend=f"did you mean '{nearest(key, valid)}'?",
        where=where,
    )


def checked(model: type[Model], data: Any, *, place: str, where: str) -> Model:
    """A table of keys as its model, or a SiteError that says what is wrong and where.

    Parameters
    ----------
    model : type
        A closed model whose own tables were taken out of ``data`` or are models already.
    data : mapping
        The table.
    place : str
        Dotted path of the table in the file, ``""`` for its top.
    where : str
        The file.
    """
    if not isinstance(data, Mapping):
        raise SiteError(
            f"'{place}' is {_type_in_words(data)}.", needed="a table of keys", where=where
        )
    for key in data:
        if key not in model.model_fields:
            raise unknown_key(str(key), model.model_fields, place=place, where=where)
    try:
        return model.model_validate(dict(data))
    except ValidationError as error:
        raise _site_error(error, place, where) from None


def _site_error(error: ValidationError, place: str, where: str) -> SiteError:
    first = error.errors()[0]
    names = [str(part) for part in first["loc"] if isinstance(part, str)][:1]
    key = ".".join([p for p in (place, *names) if p])
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] == "missing":
        hint = " An override must say what it rests on." if names == ["cite"] else ""
        return SiteError(f"the key '{key}' is missing.{hint}", needed=f"{key} = ...", where=where)
    return SiteError(
        f"{key} = {first['input']!r} cannot be used: {message}.",
        mend=f"write another value for {key}",
        where=where,
    )


def _type_in_words(value: Any) -> str:
    names = {list: "a list", str: "a text", int: "a number", float: "a number", bool: "true/false"}
    return names.get(type(value), f"a {type(value).__name__}")


def layer_keys(kind: str, data: Any, *, place: str, where: str) -> LayerKeys | RasterKeys:
    """The keys of one source of a kind, its path taken out, checked."""
    if is_raster(kind):
        return checked(RasterKeys, data, place=place, where=where)
    if isinstance(data, Mapping) and "z_unit" in data:
        # a vertical unit says nothing about a vector layer
        raise unknown_key("z_unit", VECTOR_KEYS, place=place, where=where)
    return checked(LayerKeys, data, place=place, where=where)


def read_toml(path: str | Path) -> dict[str, Any]:
    """The tables of a TOML file; a SiteError where it is not there or not TOML."""
    path = Path(path)
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except FileNotFoundError:
        raise SiteError(
            "there is no such file.",
            needed="a site.toml",
            mend="write one with `wetgis init DIR`, or correct the path",
            where=str(path),
        ) from None
    except IsADirectoryError:
        raise SiteError(
            "this is a folder.", needed="the site.toml in it", where=str(path)
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SiteError(f"this is not TOML: {error}.", where=str(path)) from None


def bytes_of(path: str | Path) -> int:
    """How large the files of a site's vector layers are together; what is not found counts 0."""
    base, total = Path(path).resolve().parent, 0
    layers = read_toml(path).get("layers", {})
    for kind, value in layers.items() if isinstance(layers, Mapping) else ():
        if kind in RASTER_KINDS:
            continue
        several = value if isinstance(value, list) else [value]
        for name in (one.get("path") for one in several if isinstance(one, Mapping)):
            for text in name if isinstance(name, list) else [name]:
                total += _bytes(base, str(text))
    return total


def _bytes(base: Path, name: str) -> int:
    path = base / Path(name).expanduser()
    files = [path] if path.exists() else [Path(p) for p in glob.glob(str(path), recursive=True)]
    inside = [f for p in files for f in (p.rglob("*") if p.is_dir() else (p,))]
    return sum(f.stat().st_size for f in inside if f.is_file())


def site_keys(data: Mapping[str, Any], *, where: str) -> SiteKeys:
    """Check the top of a site (without its layers) and the tables in it.

    Raises
    ------
    SiteError
        On a key that is not known (the nearest known one is named) or a value that cannot be used.

    Examples
    --------
    >>> keys = site_keys({"measure": {"buffer_ft": 100}}, where="")
    >>> keys.measure.buffer_ft
    100.0
    """
    data = dict(data)
    for key in data:
        if key not in SiteKeys.model_fields:
            raise unknown_key(key, [*SiteKeys.model_fields, "layers"], place="", where=where)
    if "measure" in data:
        data["measure"] = checked(MeasureKeys, data["measure"], place="measure", where=where)
    if "overrides" in data:
        data["overrides"] = _overrides(data["overrides"], where)
    if "facts" in data:
        _check_facts(data["facts"], where)
    return checked(SiteKeys, data, place="", where=where)


def _overrides(tables: Any, where: str) -> list[OverrideKeys]:
    if not isinstance(tables, list):
        raise SiteError("'overrides' is no list.", needed="[[overrides]] tables", where=where)
    return [
        checked(OverrideKeys, table, place=f"overrides[{i}]", where=where)
        for i, table in enumerate(tables)
    ]


def _check_facts(facts: Any, where: str) -> None:
    if not isinstance(facts, Mapping):
        raise SiteError("'facts' is no table.", needed="[facts] with a line a fact", where=where)
    for name, value in facts.items():
        plain = isinstance(value, bool | int | float | str | datetime.date)
        if not plain or (isinstance(value, float) and not math.isfinite(value)):
            raise SiteError(
                f"facts.{name} = {value!r} is no plain value.",
                needed="true, false, a number, a text or a day",
                where=where,
            )


def check_kind(kind: str, *, where: str) -> None:
    """A SiteError where this is no kind of layer."""
    if kind not in KINDS:
        raise unknown_key(kind, KINDS, place="layers", where=where)


def is_raster(kind: str) -> bool:
    """Whether layers of this kind are rasters."""
    return kind in RASTER_KINDS
