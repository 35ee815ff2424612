"""Evidence tables from a few plain words; the builder itself is ``wetgis.rulecases``."""

from __future__ import annotations

import dataclasses
import functools
from pathlib import Path
from typing import Any

import pandas as pd

from wetgis import rulecases
from wetgis.evidence import Evidence
from wetgis.findings import find
from wetgis.packs import Pack, load_pack

CASES = Path(__file__).parent / "cases"
#: Kinds of rules that others look at.
LEANED_ON = ("exempt_by_size", "exempt_duty", "permit_tier", "screening_order")


def read_cases() -> list[dict[str, Any]]:
    """Every case of every file, with its file's name."""
    files = sorted(CASES.glob("*.toml"))
    return [{"file": p.stem, **case.says} for p in files for case in rulecases.read_cases(p)]


def evidence_of(case: dict[str, Any]) -> Evidence:
    """The tables of a case."""
    return rulecases.evidence_of(case, packs_of(case))


def packs_of(case: dict[str, Any]) -> list[Pack]:
    """The packs of a case, its overrides applied; each file is read once."""
    packs = [_pack(name).at(case.get("as_of", rulecases.DAY)) for name in case["packs"]]
    for change in case.get("overrides", []):
        rest = {key: value for key, value in change.items() if key != "pack"}
        packs = [p.override(**rest) if p.id == change["pack"] else p for p in packs]
    return packs


@functools.cache
def _pack(name: str) -> Pack:
    return load_pack(name)


def findings_of(case: dict[str, Any], rule: str = "") -> pd.DataFrame:
    """The findings of a case; of one rule only, where it is named, which is quicker."""
    packs = packs_of(case)
    return find(evidence_of(case), [_only(p, rule) for p in packs] if rule else packs)[0]


def _only(pack: Pack, rule: str) -> Pack:
    kept = tuple(r for r in pack.rules if r.id == rule or r.kind in LEANED_ON)
    return dataclasses.replace(pack, model=pack.model.model_copy(update={"rules": kept}))
