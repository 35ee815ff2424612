"""Evidence tables from a few plain words, so that a rule's test can be read by a lawyer.

A case names parcels, footprints and projects, what lies near them, and the layers that were given.
What it does not say is filled in as a surveyor would expect: areas, on a usable geometry, with
every layer of wetlands and watercourses given and nothing in it.
"""

from __future__ import annotations

import dataclasses
import datetime
import functools
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from wetgis.evidence import (
    CONTACT_EXTRA_COLUMNS,
    EXTRA_COLUMNS,
    MEMBER_COLUMNS,
    Evidence,
    LayerFacts,
)
from wetgis.findings import find
from wetgis.packs import Pack, load_pack
from wetgis.schema import CONTACT_COLUMNS, NUMBER_COLUMNS, SINGULAR

CASES = Path(__file__).parent / "cases"
DAY = datetime.date(2026, 11, 30)
#: Kinds of rules that others look at.
LEANED_ON = ("exempt_by_size", "exempt_duty", "permit_tier", "screening_order")
KIND_OF = {one: many for many, one in SINGULAR.items()}
DISTANCES = {"wetland": "wetland_ft", "watercourse": "watercourse_ft"}
CONTACTS = [*CONTACT_COLUMNS, *CONTACT_EXTRA_COLUMNS]
TEXTS = ("name", "class", "source", "basis", "regulator", "flow", "measured_from", "source_date")


def read_cases() -> list[dict[str, Any]]:
    """Every case of every file, with its file's name."""
    out = []
    for path in sorted(CASES.glob("*.toml")):
        for case in tomllib.loads(path.read_text("utf-8"))["case"]:
            out.append({"file": path.stem, **case})
    return out


def evidence_of(case: dict[str, Any]) -> Evidence:
    """The tables of a case."""
    layers = _layers(case)
    contacts = _contacts(case)
    subjects = _subjects(case, contacts, layers)
    return Evidence(
        subjects=subjects,
        contacts=contacts,
        members=_members(case),
        extras=_extras(case),
        layers=layers,
        as_of=case.get("as_of", DAY),
        facts=case.get("facts", {}),
        buffer_ft=case.get("buffer_ft", 100.0),
    )


def packs_of(case: dict[str, Any]) -> list[Pack]:
    """The packs of a case, its overrides applied."""
    packs = [_pack(name).at(case.get("as_of", DAY)) for name in case["packs"]]
    for change in case.get("overrides", []):
        change = dict(change)
        name = change.pop("pack")
        packs = [p.override(**change) if p.id == name else p for p in packs]
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


def _layers(case: dict[str, Any]) -> dict[str, LayerFacts]:
    given = {"wetlands": {}, "watercourses": {}, "parcels": {}, "footprints": {}}
    given |= {KIND_OF[c["feature"].split()[0]]: {} for c in case.get("near", [])}
    given |= case.get("layers", {})
    out = {}
    for kind, facts in given.items():
        if kind in case.get("without", []):
            continue
        out[kind] = LayerFacts(given=True, **facts)
    return out


def _contacts(case: dict[str, Any]) -> pd.DataFrame:
    rows = []
    for item in case.get("near", []):
        row = dict(item)
        row["subject_kind"], row["subject_id"] = row.pop("of").split(" ", 1)
        row["feature_kind"], row["feature_id"] = row.pop("feature").split(" ", 1)
        row.setdefault("record", 1)
        row.setdefault("area_sqft", 0.0)
        rows.append(row)
    frame = pd.DataFrame(rows, columns=CONTACTS)
    for column in CONTACTS:
        if column in ("sliver", "truncated"):
            frame[column] = frame[column].eq(True)
        elif column in TEXTS:
            frame[column] = frame[column].astype(object).where(frame[column].notna(), "")
        elif column.endswith(("_ft", "_sqft")):
            frame[column] = frame[column].astype("float64")
    return frame.astype({"record": "int64"})


def _subjects(
    case: dict[str, Any], contacts: pd.DataFrame, layers: dict[str, LayerFacts]
) -> pd.DataFrame:
    rows = []
    for kind in ("parcel", "footprint", "project"):
        for item in case.get(kind, []):
            row = {"subject_kind": kind, "subject_id": item["id"], "record": 1, "geometry_dim": 2}
            row |= {"combined_factor": 1.0, "unmapped_reach": False, "sliver": False}
            row |= {k: v for k, v in item.items() if k != "id"}
            for one, column in DISTANCES.items():
                own = contacts[
                    (contacts["subject_kind"] == kind)
                    & (contacts["subject_id"] == item["id"])
                    & (contacts["feature_kind"] == one)
                ]
                given = KIND_OF[one] in layers
                nearest = own["distance_ft"].min() if len(own) else np.inf
                row.setdefault(column, nearest if given else np.nan)
                row.setdefault(f"{one}_sqft", float(own["area_sqft"].sum()) if given else np.nan)
            rows.append(row)
    frame = pd.DataFrame(rows)
    for column in NUMBER_COLUMNS:
        if column not in frame.columns:
            frame[column] = np.nan
    return frame


def _members(case: dict[str, Any]) -> pd.DataFrame:
    rows = [
        (f.get("project_id", case["project"][0]["id"]), f["id"], f.get("parcel_id", ""),
         f.get("area_sqft", np.nan))
        for f in case.get("footprint", [])
        if case.get("project")
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=list(MEMBER_COLUMNS))


def _extras(case: dict[str, Any]) -> pd.DataFrame:
    rows = []
    for item in case.get("extra", []):
        row = dict(item)
        row["subject_kind"], row["subject_id"] = row.pop("of").split(" ", 1)
        if "feature" in row:
            row["feature_kind"], row["feature_id"] = row.pop("feature").split(" ", 1)
        rows.append({"record": 1, "unknown": 0.0, "boundary_ft": 0.0, **row})
    frame = pd.DataFrame(rows, columns=list(EXTRA_COLUMNS))
    return frame.astype({"value": "float64", "boundary_ft": "float64", "unknown": "float64"})
