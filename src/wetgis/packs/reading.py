"""From a TOML file to a pack whose every part is accounted for."""

from __future__ import annotations

import difflib
import tomllib
import types
import typing
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from wetgis.errors import PackError
from wetgis.packs.model import KINDS, ROLE_UNITS, PackModel
from wetgis.schema import KINDS as LAYER_KINDS

__all__ = ["parse_pack", "problems_of"]

Loc = tuple[int | str, ...]


def parse_pack(text: str, *, where: str) -> PackModel:
    """The pack in a TOML text.

    Raises
    ------
    PackError
        Names the file, the path of the key in it and the nearest key that is known.
    """
    model, problems = problems_of(text)
    if problems or model is None:
        more = f" ({len(problems) - 1} more)" if len(problems) > 1 else ""
        path, found, mend = problems[0]
        raise PackError(found + more, mend=mend, where=f"{where}: {path}" if path else where)
    return model


def problems_of(text: str) -> tuple[PackModel | None, list[tuple[str, str, str]]]:
    """The pack, if it can be read at all, and each problem as path, what was found, how to mend."""
    try:
        raw = tomllib.loads(text, parse_float=Decimal)
    except tomllib.TOMLDecodeError as error:
        return None, [("", f"this is not TOML: {error}.", "mend the line that it names")]
    try:
        model = PackModel.model_validate(raw)
    except ValidationError as error:
        return None, [_from_pydantic(item) for item in error.errors()]
    return model, [*_check_parameters(model), *_check_rules(model), *_check_activities(model)]


def nearest(word: str, known: typing.Iterable[str]) -> str:
    """A hint at the nearest known word, or the list of all."""
    words = sorted(known)
    close = difflib.get_close_matches(word, words, n=1, cutoff=0.5)
    return f"write '{close[0]}'" if close else "use one of " + ", ".join(words)


def dotted(loc: Loc) -> str:
    """``parameters.buffer.unit``, ``rules[3].kind``."""
    text = ""
    for step in loc:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else str(step)
    return text


def _from_pydantic(item: Any) -> tuple[str, str, str]:
    loc: Loc = tuple(item["loc"])
    path = dotted(loc)
    if item["type"] == "extra_forbidden":
        return path, f"the key '{loc[-1]}' is not known.", nearest(str(loc[-1]), _keys_at(loc[:-1]))
    if item["type"] == "missing":
        return path, f"the key '{loc[-1]}' is missing.", f"add {loc[-1]} = ..."
    return path, f"{item['msg']} (found {item.get('input')!r}).", "correct the value"


def _keys_at(loc: Loc) -> list[str]:
    """The keys that a table at this path may have."""
    kind: Any = PackModel
    for step in loc:
        fields = kind.model_fields if _is_model(kind) else {}
        named = {(f.alias or name): f.annotation for name, f in fields.items()}
        kind = _inside(named.get(str(step), kind) if named else kind)
    if not _is_model(kind):
        return []
    return [f.alias or name for name, f in kind.model_fields.items()]


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _inside(kind: Any) -> Any:
    """The model in ``tuple[Model, ...]``, ``dict[str, Model]``, ``Model | None``."""
    if typing.get_origin(kind) in (tuple, dict, types.UnionType, typing.Union):
        for part in typing.get_args(kind):
            inner = _inside(part)
            if _is_model(inner):
                return inner
    return kind


def _check_parameters(model: PackModel) -> Iterator[tuple[str, str, str]]:
    used = {name for rule in model.rules for name in rule.parameters.values()}
    for table in (model.measure, model.drawing):
        used |= {name for name in table.model_dump().values() if name}
    for name, parameter in model.parameters.items():
        path = f"parameters.{name}"
        has_value = parameter.value is not None or bool(parameter.effective)
        if has_value == (parameter.missing is not None):
            mend = "give value = or effective =, or missing = with the reason, and not both"
            yield path, "a parameter has a value or says why it is missing.", mend
        if has_value and parameter.comparison is None:
            yield f"{path}.comparison", "a number needs its comparison.", "add gt, ge, lt or le"
        if parameter.missing and not parameter.section:
            yield f"{path}.section", "a missing number needs its section.", "add section = ..."
        yield from _check_periods(path, parameter.effective)
        if name not in used:
            mend = "name it in a rule, in [measure] or in [drawing], or remove it"
            yield path, "no rule and no measure uses this parameter.", mend
    for place, keys in (("measure", model.measure), ("drawing", model.drawing)):
        for key, name in keys.model_dump().items():
            if name and name not in model.parameters:
                hint = nearest(name, model.parameters)
                yield f"{place}.{key}", f"there is no parameter '{name}'.", hint


def _check_periods(path: str, periods: tuple[Any, ...]) -> Iterator[tuple[str, str, str]]:
    for i, period in enumerate(periods):
        if period.start and period.end and period.start > period.end:
            mend = "put the earlier day first"
            yield f"{path}.effective[{i}]", "a period ends before it begins.", mend
        if i and (periods[i - 1].end is None or period.start is None):
            mend = "close each period but the last, in order"
            yield f"{path}.effective[{i}]", "periods overlap.", mend
        elif i and periods[i - 1].end >= period.start:
            mend = "let each period begin after the one before it ends"
            yield f"{path}.effective[{i}]", "periods overlap.", mend


def _check_rules(model: PackModel) -> Iterator[tuple[str, str, str]]:
    seen: set[str] = set()
    codes = {activity.code for activity in model.activities.codes}
    for i, rule in enumerate(model.rules):
        path = f"rules[{i}]"
        if rule.id in seen:
            yield f"{path}.id", f"'{rule.id}' is there twice.", "give each rule its own id"
        seen.add(rule.id)
        if rule.kind not in KINDS:
            yield f"{path}.kind", f"the kind '{rule.kind}' is not known.", nearest(rule.kind, KINDS)
            continue
        yield from _check_roles(path, rule, model)
        for kind in rule.features:
            if kind not in LAYER_KINDS:
                hint = nearest(kind, LAYER_KINDS)
                yield f"{path}.features", f"there is no kind of layer '{kind}'.", hint
        for code in filter(None, (rule.activity, *rule.activities)):
            if code not in codes:
                yield (
                    f"{path}.activity",
                    f"no activity has the code '{code}'.",
                    nearest(code, codes),
                )


def _check_roles(path: str, rule: Any, model: PackModel) -> Iterator[tuple[str, str, str]]:
    roles = KINDS[rule.kind]
    for role in roles:
        if role not in rule.parameters:
            mend = f"add parameters = {{ {role} = ... }}"
            yield f"{path}.parameters", f"a rule of kind '{rule.kind}' needs '{role}'.", mend
    for role, name in rule.parameters.items():
        if role not in roles:
            hint = nearest(role, roles) if roles else "remove it"
            yield f"{path}.parameters.{role}", f"'{rule.kind}' has no '{role}'.", hint
        elif name not in model.parameters:
            hint = nearest(name, model.parameters)
            yield f"{path}.parameters.{role}", f"there is no parameter '{name}'.", hint
        elif model.parameters[name].base_unit not in ROLE_UNITS[role]:
            found = f"'{name}' is in {model.parameters[name].unit}."
            yield f"{path}.parameters.{role}", found, f"give it in {ROLE_UNITS[role][0]}"


def _check_activities(model: PackModel) -> Iterator[tuple[str, str, str]]:
    table = model.activities
    codes = [activity.code for activity in table.codes]
    provisos = {proviso.id for proviso in table.provisos}
    named = [(f"aliases[{i}].codes", code) for i, a in enumerate(table.aliases) for code in a.codes]
    named += [(f"kinds.{kind}", code) for kind, found in table.kinds.items() for code in found]
    named += [("unknown", table.unknown)] if table.unknown else []
    for i, activity in enumerate(table.codes):
        uses = (*activity.becomes, *activity.not_with, *(e.use for e in activity.escapes))
        named += [(f"codes[{i}]", code) for code in uses]
        if codes.count(activity.code) > 1:
            mend = "give each its own code"
            yield f"activities.codes[{i}]", f"'{activity.code}' is there twice.", mend
        for proviso in activity.defeats:
            if proviso not in provisos:
                found = f"there is no proviso '{proviso}'."
                yield f"activities.codes[{i}].defeats", found, nearest(proviso, provisos)
    for path, code in named:
        if code not in codes:
            yield f"activities.{path}", f"no activity has the code '{code}'.", nearest(code, codes)
    words = [word for alias in table.aliases for word in alias.words]
    for word in sorted({w for w in words if words.count(w) > 1}):
        yield "activities.aliases", f"'{word}' is there twice.", "keep one"


def read_text(path: Path) -> str:
    """The text of a pack's file."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise PackError(
            f"the pack cannot be read ({error.strerror}).",
            mend="give the id of a pack that comes with wetgis, or the path of a TOML file",
            where=str(path),
        ) from error
    except UnicodeDecodeError as error:
        raise PackError("the pack is not UTF-8 text.", where=str(path)) from error
