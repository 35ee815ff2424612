"""Rule cases: what lies where, in plain words, and what the findings must be.

For those who write packs.

A case file is TOML that a lawyer can read. A case names packs, parcels, footprints and projects,
what lies near them, and what it expects. What it does not say is filled in as a surveyor would
expect: areas, on a usable geometry, with layers of wetlands and watercourses given and nothing in
them.
"""

from __future__ import annotations

import datetime
import tomllib
from dataclasses import dataclass
from math import isclose, nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wetgis.errors import PackError
from wetgis.evidence import (
    CONTACT_EXTRA_COLUMNS,
    EXTRA_COLUMNS,
    MEMBER_COLUMNS,
    Evidence,
    LayerFacts,
)
from wetgis.schema import CONTACT_COLUMNS, NUMBER_COLUMNS, SINGULAR

if TYPE_CHECKING:
    import pandas as pd

    from wetgis.packs import Pack

__all__ = ["Case", "evidence_of", "findings_of", "packs_of", "problems_of", "read_cases"]

#: The day of a case that names none: cases do not change their answer overnight.
DAY = datetime.date(2026, 11, 30)
KIND_OF = {one: many for many, one in SINGULAR.items()}
DISTANCES = {"wetland": "wetland_ft", "watercourse": "watercourse_ft"}
CONTACTS = [*CONTACT_COLUMNS, *CONTACT_EXTRA_COLUMNS]
CONTACT_TEXTS = (
    "name", "class", "source", "basis", "regulator", "flow", "measured_from", "source_date",
)  # fmt: skip
#: What may be expected of a finding.
TEXTS = (
    "outcome", "answer", "severity", "comparison", "unit", "doubt", "needs", "cite_status", "cite",
)  # fmt: skip
NUMBERS = ("value", "threshold", "margin", "value_low", "value_high")
KNOWN = {"of", "rule", "feature", "rows", "note_has", "note_lacks", *TEXTS, *NUMBERS}
NOISE = 1e-6


@dataclass(frozen=True)
class Case:
    """One case: its name, the file it stands in, and what it says."""

    name: str
    file: Path
    says: dict[str, Any]


def read_cases(path: str | Path) -> list[Case]:
    """The cases of a file.

    Parameters
    ----------
    path : str or Path
        TOML with ``[[case]]`` tables.

    Returns
    -------
    list of Case
        In the order of the file.

    Raises
    ------
    PackError
        Where the file cannot be read, holds no case, or a case has no name, packs or expectation.
    """
    path = Path(path)
    try:
        cases = tomllib.loads(path.read_text("utf-8")).get("case", [])
    except OSError as error:
        raise PackError(f"the cases cannot be read ({error.strerror}).", where=str(path)) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PackError(f"this is not TOML: {error}.", where=str(path)) from None
    if not cases:
        raise PackError("there is no case in it.", needed="[[case]] tables", where=str(path))
    for number, case in enumerate(cases, 1):
        lacking = [key for key in ("name", "packs", "expect") if not case.get(key)]
        if lacking:
            where = f"{path}: case {number}"
            raise PackError(f"it has no {' and no '.join(lacking)}.", where=where)
    return [Case(case["name"], path, case) for case in cases]


def problems_of(case: Case) -> list[str]:
    """What came out otherwise than the case expects, a line each; empty where all is right."""
    findings = findings_of(case)
    return [text for wanted in case.says["expect"] for text in _differences(findings, wanted)]


def findings_of(case: Case) -> pd.DataFrame:
    """The findings of a case, with the contract's columns."""
    from wetgis.findings import find

    packs = packs_of(case)
    return find(evidence_of(case.says, packs), packs)[0]


def packs_of(case: Case) -> list[Pack]:
    """The packs of a case (ids, or paths from the case file's folder), overrides applied."""
    from wetgis.packs import list_packs, load_pack

    day = case.says.get("as_of", DAY)
    names = [n if n in list_packs() else case.file.parent / n for n in case.says["packs"]]
    packs = [load_pack(name, as_of=day) for name in names]
    for change in case.says.get("overrides", []):
        rest = {key: value for key, value in change.items() if key != "pack"}
        packs = [p.override(**rest) if p.id == change["pack"] else p for p in packs]
    return packs


def _differences(findings: pd.DataFrame, wanted: dict[str, Any]) -> list[str]:
    unknown = sorted(set(wanted) - KNOWN)
    if unknown:
        raise PackError(
            f"a case cannot expect '{unknown[0]}'.", needed=f"one of {', '.join(sorted(KNOWN))}"
        )
    found: list[dict[str, Any]] = _matching(findings, wanted).to_dict("records")  # type: ignore[assignment]
    about = " ".join(str(wanted[k]) for k in ("of", "rule", "feature") if k in wanted)
    checks = {k: v for k, v in wanted.items() if k not in {"of", "rule", "feature", "rows"}}
    rows = wanted.get("rows", 1 if checks else None)
    if rows is not None and len(found) != rows:
        return [f"{about}: {len(found)} findings, expected {rows}"]
    return [
        f"{about}: {key} is {row[key.split('_')[0] if key.startswith('note_') else key]!r}, "
        f"expected {value!r}"
        for row in found
        for key, value in checks.items()
        if not _as_expected(row, key, value)
    ]


def _as_expected(row: dict[str, Any], key: str, value: Any) -> bool:
    if key == "note_has":
        return value in row["note"]
    if key == "note_lacks":
        return value not in row["note"]
    if key in NUMBERS:
        return isclose(row[key], value, rel_tol=NOISE, abs_tol=NOISE)
    return bool(row[key] == value)


def _matching(findings: pd.DataFrame, wanted: dict[str, Any]) -> pd.DataFrame:
    kind, name = wanted["of"].split(" ", 1)
    found: pd.DataFrame = findings[
        (findings["subject_kind"] == kind)
        & (findings["subject_id"] == name)
        & (findings["rule"] == wanted["rule"])
    ]
    if "feature" in wanted:
        feature_kind, _, feature_id = wanted["feature"].partition(" ")
        found = found[found["feature_id"] == feature_id]
        if feature_id:
            found = found[found["feature_kind"] == feature_kind]
    return found


def evidence_of(case: dict[str, Any], packs: list[Pack]) -> Evidence:
    """The tables of a case; the buffer is the first pack's that states one, as in a screening."""
    stated = [p.measure.buffer_ft for p in packs if p.measure.buffer_ft is not None]
    layers = _layers(case)
    contacts = _contacts(case)
    return Evidence(
        subjects=_subjects(case, contacts, layers),
        contacts=contacts,
        members=_members(case),
        extras=_extras(case),
        layers=layers,
        as_of=case.get("as_of", DAY),
        facts=case.get("facts", {}),
        buffer_ft=case.get("buffer_ft", stated[0] if stated else nan),
    )


def _layers(case: dict[str, Any]) -> dict[str, LayerFacts]:
    given: dict[str, dict[str, Any]] = {
        "wetlands": {},
        "watercourses": {},
        "parcels": {},
        "footprints": {},
    }
    given |= {KIND_OF[c["feature"].split()[0]]: {} for c in case.get("near", [])}
    given |= case.get("layers", {})
    out = {}
    for kind, facts in given.items():
        if kind in case.get("without", []):
            continue
        out[kind] = LayerFacts(given=True, **facts)
    return out


def _contacts(case: dict[str, Any]) -> pd.DataFrame:
    import pandas as pd

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
        elif column in CONTACT_TEXTS:
            frame[column] = frame[column].astype(object).where(frame[column].notna(), "")
        elif column.endswith(("_ft", "_sqft")):
            frame[column] = frame[column].astype("float64")
    return frame.astype({"record": "int64"})


def _subjects(
    case: dict[str, Any], contacts: pd.DataFrame, layers: dict[str, LayerFacts]
) -> pd.DataFrame:
    import numpy as np
    import pandas as pd

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
    import numpy as np
    import pandas as pd

    rows = [
        (f.get("project_id", case["project"][0]["id"]), f["id"], f.get("parcel_id", ""),
         f.get("area_sqft", np.nan))
        for f in case.get("footprint", [])
        if case.get("project")
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=list(MEMBER_COLUMNS))


def _extras(case: dict[str, Any]) -> pd.DataFrame:
    import pandas as pd

    rows = []
    for item in case.get("extra", []):
        row = dict(item)
        row["subject_kind"], row["subject_id"] = row.pop("of").split(" ", 1)
        if "feature" in row:
            row["feature_kind"], row["feature_id"] = row.pop("feature").split(" ", 1)
        rows.append({"record": 1, "unknown": 0.0, "boundary_ft": 0.0, **row})
    frame = pd.DataFrame(rows, columns=list(EXTRA_COLUMNS))
    return frame.astype({"value": "float64", "boundary_ft": "float64", "unknown": "float64"})
