"""The keys of a layer, as they stand in a ``site.toml`` or in a call: closed, and checked.

Also the small machinery that other tables of closed keys use. Nothing here opens a file.
"""

from __future__ import annotations

import datetime
import difflib
from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from wetgis.errors import SiteError
from wetgis.schema import BASES

__all__ = ["ClosedKeys", "LayerKeys", "checked", "layer_keys", "nearest", "one_of", "unknown_key"]

Model = TypeVar("Model", bound=BaseModel)


class ClosedKeys(BaseModel):
    """Keys of one table: no other key, no silent change of type, nothing changed afterwards."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, arbitrary_types_allowed=True
    )


class LayerKeys(ClosedKeys):
    """The keys of one source of a vector layer.

    ``path`` is None for a frame that is in memory. ``components`` is a path or a table,
    ``extent`` a path, ``"municipality"``, ``"features"`` or a frame of polygons.
    """

    path: str | list[str] | None = None
    layer: str | None = None
    source_crs: str | None = None
    id: str | list[str] | None = None
    where: str | None = None
    fields: dict[str, str] = Field(default_factory=dict)
    components: Any = None
    keep: list[str] = Field(default_factory=list)
    duplicates: Literal["keep", "unite", "error"] = "keep"
    accuracy_ft: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    basis: str | None = None
    source_date: datetime.date | None = None
    extent: Any = None

    @field_validator("source_crs", mode="before")
    @classmethod
    def _crs_text(cls, value: Any) -> Any:
        """A CRS object or an EPSG number is as good as its text."""
        if value is None or isinstance(value, str):
            return value
        from pyproj import CRS
        from pyproj.exceptions import CRSError

        try:
            return str(CRS.from_user_input(value).to_string())
        except CRSError:
            raise ValueError("is no coordinate system") from None

    @field_validator("source_date", mode="before")
    @classmethod
    def _day(cls, value: Any) -> Any:
        if isinstance(value, datetime.datetime):
            return value.date()
        return datetime.date.fromisoformat(value) if isinstance(value, str) else value

    @field_validator("basis")
    @classmethod
    def _basis(cls, text: str | None) -> str | None:
        return text if text is None else one_of(text, BASES)

    @field_validator("extent", "components")
    @classmethod
    def _path_or_table(cls, value: Any) -> Any:
        if value is None or isinstance(value, str) or hasattr(value, "columns"):
            return value
        raise ValueError("must be a path or a table")


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


def layer_keys(place: str = "", where: str = "", **keys: Any) -> LayerKeys:
    """Keys of a layer, checked.

    Raises
    ------
    SiteError
        On a key that is not known (the nearest known one is named) or a value that cannot be used.

    Examples
    --------
    >>> layer_keys(id="PRINT_KEY").duplicates
    'keep'
    """
    return checked(LayerKeys, keys, place=place, where=where)


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
