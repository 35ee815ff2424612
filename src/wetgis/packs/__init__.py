"""Law as data: the packs that come with wetgis, and those that a user writes.

No geometry library is imported here, and no number of any law stands in the code.
"""

from __future__ import annotations

import datetime
import hashlib
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from math import isfinite, nan
from pathlib import Path
from typing import Any

from wetgis.errors import PackError
from wetgis.packs.model import BASE_UNITS, PackModel, Rule
from wetgis.packs.reading import nearest, parse_pack, read_text
from wetgis.schema import COMPARISONS

__all__ = ["Limit", "MeasureValues", "Override", "Pack", "list_packs", "load_pack"]

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Limit:
    """A number of the law as a rule uses it: in sq ft, ft or per cent. NaN where it is missing."""

    name: str
    value: float
    unit: str
    comparison: str
    cite: str
    cite_status: str
    says: str
    section: str = ""
    missing: str = ""
    lawful: str = ""  # as the law writes it, with its own unit

    @property
    def known(self) -> bool:
        """Whether there is a number to compare with."""
        return self.value == self.value


@dataclass(frozen=True)
class Override:
    """A parameter that a user replaced, and on what authority."""

    parameter: str
    value: Decimal
    unit: str
    comparison: str
    cite: str

    def as_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "parameter": self.parameter,
            "value": float(self.value),
            "unit": self.unit,
            "comparison": self.comparison,
            "cite": self.cite,
        }


@dataclass(frozen=True)
class MeasureValues:
    """What a pack asks the geometry to measure with; None where it states nothing."""

    buffer_ft: float | None
    hydric_pct: float | None
    steep_pct: float | None


@dataclass(frozen=True)
class Pack:
    """One chapter of a law on one day. Made by ``load_pack``."""

    model: PackModel
    as_of: datetime.date
    sha256: str
    path: str
    overrides: tuple[Override, ...] = field(default=())

    @property
    def id(self) -> str:
        """The id, as it stands in findings and in site files."""
        return self.model.id

    @property
    def title(self) -> str:
        """What the chapter is called."""
        return self.model.title

    @property
    def place(self) -> str:
        """Whose law it is."""
        return self.model.place

    @property
    def crs(self) -> str:
        """The coordinate system in which this place measures."""
        return self.model.crs

    @property
    def regulates_buffer(self) -> bool:
        """Whether the chapter itself regulates a buffer."""
        return self.model.regulates_buffer

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Every rule, in the order of the file."""
        return self.model.rules

    @property
    def measure(self) -> MeasureValues:
        """What to measure with."""
        names = self.model.measure.model_dump()
        found = {key: self.limit(name).value if name else nan for key, name in names.items()}
        return MeasureValues(**{k: (v if v == v else None) for k, v in found.items()})

    @property
    def reach_ft(self) -> float:
        """The largest distance at which a rule of this pack looks for a feature."""
        names = {r.parameters["reach"] for r in self.rules if "reach" in r.parameters}
        reaches = [self.limit(name).value for name in names]
        return max((r for r in reaches if r == r), default=0.0)

    def limit(self, parameter: str) -> Limit:
        """A parameter on the pack's day, an override applied."""
        raw = self.model.parameters[parameter]
        override = next((o for o in self.overrides if o.parameter == parameter), None)
        if override is not None:
            return Limit(
                parameter, _in_base(override.value, override.unit), raw.base_unit,
                override.comparison, override.cite, "override", raw.says, raw.section or "", "",
                f"{override.value} {override.unit}",
            )  # fmt: skip
        value = raw.value_on(self.as_of)
        missing = raw.missing or ""
        if value is None and not missing:
            missing = f"no value is in force on {self.as_of.isoformat()}"
        return Limit(
            parameter, nan if value is None else raw.in_base(value), raw.base_unit,
            raw.comparison or "", raw.cite, raw.cite_status, raw.says,
            raw.section or parameter, missing, "" if value is None else f"{value} {raw.unit}",
        )  # fmt: skip

    def at(self, day: datetime.date) -> Pack:
        """The same pack on another day."""
        return self if day == self.as_of else replace(self, as_of=day)

    def override(
        self, parameter: str, *, value: float | str, unit: str, comparison: str, cite: str
    ) -> Pack:
        """A new pack in which one parameter is replaced.

        Parameters
        ----------
        parameter : str
            A name from the pack's ``[parameters]``.
        value : float or str
            A finite number, 0 or more.
        unit : str
            A unit that measures the same as the parameter's: ``sqft`` or ``acre`` for an area.
        comparison : {'gt', 'ge', 'lt', 'le'}
            How a measure is held against it.
        cite : str
            On what authority. It stands in every finding that uses the number, and
            ``cite_status`` is ``override``.

        Raises
        ------
        PackError
            If the parameter is not known, the unit does not fit, or there is no citation.

        Examples
        --------
        >>> pack = load_pack("monroe-ny-46").override(
        ...     "major_permit_disturbance", value=1, unit="acre", comparison="ge",
        ...     cite="46-3D as supplied by the town")
        >>> pack.limit("major_permit_disturbance").value
        43560.0
        """
        where = f"{self.id}: override of {parameter}"
        if parameter not in self.model.parameters:
            hint = nearest(parameter, self.model.parameters)
            raise PackError("this pack has no such parameter.", mend=hint, where=where)
        if not str(cite).strip():
            raise PackError(
                "an override without a citation is refused.",
                mend="say in cite = on what authority the number rests",
                where=where,
            )
        if comparison not in COMPARISONS:
            hint = nearest(str(comparison), COMPARISONS)
            raise PackError(f"the comparison '{comparison}' is not known.", mend=hint, where=where)
        wanted = self.model.parameters[parameter].base_unit
        if BASE_UNITS.get(unit, unit) != wanted:
            raise PackError(
                f"'{unit}' does not measure what this parameter does.", needed=wanted, where=where
            )
        new = Override(parameter, _number(value, where), unit, comparison, str(cite).strip())
        kept = tuple(o for o in self.overrides if o.parameter != parameter)
        return replace(self, overrides=(*kept, new))


def _number(value: float | str, where: str) -> Decimal:
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        number = Decimal("NaN")
    if isinstance(value, bool) or not isfinite(number) or number < 0:
        raise PackError(f"{value!r} is not a number that can be compared with.", where=where)
    return number


def _in_base(value: Decimal, unit: str) -> float:
    from wetgis.packs.model import Parameter

    stand_in = Parameter.model_construct(unit=unit)
    return stand_in.in_base(value)


def list_packs() -> list[str]:
    """The ids of the packs that come with wetgis, sorted.

    Returns
    -------
    list of str
        Each can be given to ``load_pack``.

    Examples
    --------
    >>> list_packs()
    ['monroe-ny-46', 'rye-ny-195']
    """
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def installed_crs() -> tuple[str, ...]:
    """The coordinate systems that the installed packs measure in, each once.

    Examples
    --------
    >>> installed_crs()
    ('EPSG:2260',)
    """
    return tuple(dict.fromkeys(load_pack(name).crs for name in list_packs()))


def load_pack(name_or_path: str | Path | Pack, *, as_of: datetime.date | None = None) -> Pack:
    """Read a law pack.

    Parameters
    ----------
    name_or_path : str, Path or Pack
        An id from ``list_packs()`` or the path of a TOML file.
    as_of : date, optional
        The day whose numbers are taken; today if not given.

    Returns
    -------
    Pack
        Frozen; ``Pack.override`` gives a new one.

    Raises
    ------
    PackError
        Names the file and the key: unknown keys, numbers without unit or citation, parameters
        that nothing uses.

    Examples
    --------
    >>> pack = load_pack("rye-ny-195")
    >>> pack.measure.buffer_ft
    100.0
    """
    day = as_of or datetime.date.today()
    if isinstance(name_or_path, Pack):
        return name_or_path.at(as_of or name_or_path.as_of)
    path = _path_of(name_or_path)
    text = read_text(path)
    model = parse_pack(text, where=str(name_or_path))
    return Pack(model, day, hashlib.sha256(text.encode("utf-8")).hexdigest(), str(name_or_path))


def _path_of(name_or_path: str | Path) -> Path:
    name = str(name_or_path)
    if name in list_packs():
        return FOLDER / f"{name}.toml"
    path = Path(name)
    if path.suffix != ".toml" and not path.exists():
        hint = nearest(name, list_packs()) + ", or give the path of a TOML file"
        raise PackError(f"there is no pack '{name}'.", mend=hint)
    return path
