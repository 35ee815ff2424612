"""What may stand in a ``site.toml``: closed keys, checked before anything is read.

A key that is not known is an error that names it, the nearest one that is, and the place
in the file. Nothing here opens a layer.
"""

from __future__ import annotations

import datetime
import math
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, field_validator

from wetgis.errors import SiteError
from wetgis.schema import KINDS, RASTER_KINDS
from wetgis.sources.keys import ClosedKeys, checked, one_of, unknown_key

__all__ = [
    "MeasureKeys",
    "OverrideKeys",
    "RasterKeys",
    "SiteKeys",
    "check_kind",
    "is_raster",
    "read_toml",
    "site_keys",
]

#: A fact is a plain value; a list or a table would not fit into a column.
Fact = bool | int | float | str | datetime.date


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
