"""The keys of a layer, as they stand in ``site.toml`` and as keywords of ``read_layer``."""

from __future__ import annotations

import datetime as dt
import difflib
from collections.abc import Mapping
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from wetgis.errors import SiteError
from wetgis.schema import BASES

__all__ = ["LayerKeys", "check_model", "nearest", "parse_keys"]

Model = TypeVar("Model", bound=BaseModel)


class LayerKeys(BaseModel):
    """How one source of a layer is to be read. Closed: any other key is refused.

    Attributes
    ----------
    path : str or list of str, optional
        A file, a glob, or a list of them taken as one layer.
    layer : str, optional
        The layer inside; a glob of names takes several as one.
    source_crs : str, optional
        What the file is in, where it does not say or says wrongly.
    id : str or list of str, optional
        The column that names a record; several are joined by ``-``.
    where : str, optional
        An OGR SQL condition.
    fields : dict
        Canonical name = the file's own.
    components : str, optional
        For soils: a table of components, joined on ``mukey``.
    keep : list of str
        Columns carried to the outputs.
    duplicates : {"keep", "unite", "error"}
        What to do where an id occurs more than once.
    accuracy_ft : float, optional
        Horizontal accuracy of the source in feet, 95 %.
    basis : str, optional
        What the source rests on.
    source_date : str, optional
        The date of the source.
    extent : str or list of str, optional
        Where the layer is complete: a path to polygons, ``municipality`` or ``features``.
    z_unit : str, optional
        For rasters: the unit of the heights.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, coerce_numbers_to_str=True)

    path: str | list[str] | None = None
    layer: str | None = None
    source_crs: str | None = None
    id: str | list[str] | None = None
    where: str | None = None
    fields: dict[str, str] = Field(default_factory=dict)
    components: str | None = None
    keep: list[str] = Field(default_factory=list)
    duplicates: Literal["keep", "unite", "error"] = "keep"
    accuracy_ft: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    basis: str | None = None
    source_date: str | None = None
    extent: str | list[str] | None = None
    z_unit: str | None = None

    @field_validator("basis")
    @classmethod
    def _known_basis(cls, value: str | None) -> str | None:
        if value is not None and value not in BASES:
            raise ValueError(f"is none of {', '.join(BASES)}{nearest(value, BASES)}")
        return value

    @field_validator("source_date", mode="before")
    @classmethod
    def _date_as_text(cls, value: Any) -> Any:
        return value.isoformat() if isinstance(value, (dt.date, dt.datetime)) else value

    @field_validator("source_crs", mode="before")
    @classmethod
    def _crs_as_text(cls, value: Any) -> Any:
        if hasattr(value, "to_wkt"):
            authority = value.to_authority()
            return ":".join(authority) if authority else value.to_wkt()
        return f"EPSG:{value}" if isinstance(value, int) else value

    @field_validator("keep", mode="before")
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value

    @field_validator("path", "components", mode="before")
    @classmethod
    def _path_as_text(cls, value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [str(v) for v in value]
        return None if value is None else str(value)


def nearest(word: str, words: Any) -> str:
    """``"; did you mean 'path'?"`` where one of the words is near, else empty.

    Examples
    --------
    >>> nearest("pth", ["path", "layer"])
    "; did you mean 'path'?"
    """
    lowered = {str(w).lower(): str(w) for w in words}
    found = difflib.get_close_matches(str(word).lower(), list(lowered), n=1, cutoff=0.5)
    return f"; did you mean '{lowered[found[0]]}'?" if found else ""


def parse_keys(keys: Mapping[str, Any], *, where: str = "") -> LayerKeys:
    """The keys of a layer, checked.

    Raises
    ------
    SiteError
        On an unknown key, naming it and the nearest valid one, or on a value of a wrong kind.

    Examples
    --------
    >>> parse_keys({"where": "A = 1"}).where
    'A = 1'
    """
    return check_model(LayerKeys, dict(keys), where=where)


def check_model(model: type[Model], data: Mapping[str, Any], *, where: str = "") -> Model:
    """A pydantic model of closed keys from plain data; the first fault as one message.

    Raises
    ------
    SiteError
        Names the key, the nearest valid one where it is unknown, and what is wrong with it.
    """
    try:
        return model.model_validate(dict(data))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            known = sorted(model.model_fields)
            raise SiteError(
                f"unknown key '{place}'{nearest(place.rsplit('.', 1)[-1], known)}",
                needed="one of " + ", ".join(known),
                where=where,
            ) from error
        raise SiteError(
            f"key '{place}': {first['msg'].removeprefix('Value error, ')}"
            f" (it is {first['input']!r}).",
            where=where,
        ) from error
