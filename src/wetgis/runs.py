"""Two questions about runs on disk: are the inputs still those, and what differs between two.

``verify_run`` compares what ``run.json`` names with what is there now; ``diff_runs`` compares the
measures and findings of two folders.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wetgis.errors import InputError
from wetgis.schema import EPS_FT, EPS_PCT, EPS_SQFT

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["RunDiff", "Verified", "diff_runs", "read_run", "verify_run"]

SUBJECT = ["subject_kind", "subject_id", "record"]
FINDING = [*SUBJECT, "pack", "rule", "feature_kind", "feature_id"]
#: What makes a finding another one, in the order in which it is told.
TOLD = ["outcome", "answer", "doubt", "needs", "value", "comparison", "threshold", "cite_status"]
#: Keys of run.json that explain why two runs differ.
CAUSES = ("options", "facts", "overrides", "packs", "inputs", "operations", "versions")


def read_run(folder: str | Path) -> dict[str, Any]:
    """The ``run.json`` of a run.

    Raises
    ------
    InputError
        Where the folder holds none, or one that cannot be read.
    """
    path = Path(folder) / "run.json"
    try:
        run = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise InputError(
            "there is no run.json in this folder.",
            needed="the folder that a screening, an assessment or an amendment was written to",
            where=str(folder),
        ) from None
    except (OSError, ValueError) as error:
        raise InputError(f"run.json cannot be read: {error}.", where=str(path)) from None
    if not isinstance(run, dict):
        raise InputError("run.json holds no object.", where=str(path))
    return run


@dataclass(frozen=True)
class Verified:
    """What ``verify_run`` found: ``same``, ``changed`` or ``missing`` for each thing named."""

    rows: tuple[tuple[str, str, str, str], ...]  # what, name, state, detail

    @property
    def changed(self) -> bool:
        """Whether an input or a pack is another one, or gone."""
        return any(state != "same" for what, _, state, _ in self.rows if what != "version")

    def as_json(self) -> list[dict[str, str]]:
        """A row a thing that the run names."""
        return [
            dict(zip(("what", "name", "state", "detail"), row, strict=True)) for row in self.rows
        ]


def verify_run(folder: str | Path, *, inputs: str | Path | None = None) -> Verified:
    """Compare the inputs, packs and versions that a run names with those of today.

    Parameters
    ----------
    folder : str or Path
        The folder of a run.
    inputs : str or Path, optional
        Where the paths of the inputs begin now, if the site has moved.

    Returns
    -------
    Verified
        Inputs are told apart by their sha256. A path that is not absolute begins at the site file
        that the run names, or at the current folder where it names none.
    """
    folder = Path(folder)
    run = read_run(folder)
    base = Path(inputs) if inputs is not None else Path(run.get("run", {}).get("site", "")).parent
    rows = [_input_state(entry, base) for entry in run.get("inputs", [])]
    rows += [_pack_state(entry) for entry in run.get("packs", [])]
    rows += _version_states(run.get("versions", {}))
    return Verified(tuple(dict.fromkeys(rows)))


def _input_state(entry: dict[str, Any], base: Path) -> tuple[str, str, str, str]:
    from wetgis.provenance import sha256

    given, was = str(entry.get("path") or ""), str(entry.get("sha256") or "")
    if not given or not was:
        return "input", given or "(a table in memory)", "same", "not a file: nothing to compare"
    path = base / given
    if not path.exists():
        return "input", given, "missing", f"there is no {path}"
    now = sha256(path)
    if now == was:
        return "input", given, "same", ""
    return "input", given, "changed", f"sha256 was {was[:12]}, is {now[:12]}"


def _pack_state(entry: dict[str, Any]) -> tuple[str, str, str, str]:
    from wetgis.errors import WetgisError
    from wetgis.packs import load_pack

    name = str(entry.get("id", ""))
    try:
        now = load_pack(name).sha256
    except WetgisError as error:
        return "pack", name, "missing", error.found
    if now == entry.get("sha256"):
        return "pack", name, "same", ""
    return "pack", name, "changed", "the pack's text is another one than in the run"


def _version_states(versions: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    from wetgis.provenance import versions as current

    now = current()
    return [
        ("version", name, "changed", f"was {was}, is {now.get(name)}")
        for name, was in versions.items()
        if now.get(name) != was
    ]


@dataclass(frozen=True)
class RunDiff:
    """What differs between two runs.

    Attributes
    ----------
    causes : list of str
        Keys of ``run.json`` that differ, with their parts.
    measures : DataFrame
        ``subject_kind``, ``subject_id``, ``record``, ``column``, ``before``, ``after``; a subject
        of one run only has the column ``subject`` and ``absent`` on the other side.
    findings : DataFrame
        The finding's key, ``column``, ``before``, ``after``.
    """

    causes: list[str]
    measures: pd.DataFrame
    findings: pd.DataFrame

    @property
    def same(self) -> bool:
        """Whether the measures and the findings are equal within noise."""
        return self.measures.empty and self.findings.empty

    def as_json(self) -> dict[str, Any]:
        """Plain JSON of all three."""
        return {
            "causes": self.causes,
            "measures": self.measures.to_dict("records"),
            "findings": self.findings.to_dict("records"),
        }


def diff_runs(before: str | Path, after: str | Path) -> RunDiff:
    """Compare the measures and findings of two runs.

    Parameters
    ----------
    before, after : str or Path
        Folders of runs.

    Returns
    -------
    RunDiff
        Numbers that are equal within noise (1e-4 sq ft, 1e-6 ft, 1e-3 percentage points) do not
        differ.
    """
    causes = _causes(read_run(before), read_run(after))
    tables = {
        name: (_table(Path(before), name, key), _table(Path(after), name, key))
        for name, key in (("measures", SUBJECT), ("findings", FINDING))
    }
    old, new = tables["measures"]
    measures = _changes(old, new, _shared(old, new), "subject")
    old, new = tables["findings"]
    told = [c for c in TOLD if c in old and c in new]
    return RunDiff(causes, measures, _changes(old, new, told, "finding"))


def _table(folder: Path, name: str, key: list[str]) -> pd.DataFrame:
    import pandas as pd
    import pyarrow.parquet as pq

    path = folder / f"{name}.parquet"
    if not path.exists():
        raise InputError(f"there is no {name}.parquet in this folder.", where=str(folder))
    columns = [c for c in pq.read_schema(path).names if c != "geometry"]
    table = pd.read_parquet(path, columns=columns)
    table[key] = table[key].astype("str")
    # rows that no key tells apart (a rule asked twice of one feature) are matched in their order
    table["nth"] = table.groupby(key, dropna=False).cumcount()
    return table.set_index([*key, "nth"])


def _shared(old: pd.DataFrame, new: pd.DataFrame) -> list[str]:
    return [c for c in old.columns if c in set(new.columns)]


def _changes(old: pd.DataFrame, new: pd.DataFrame, columns: list[str], thing: str) -> pd.DataFrame:
    import pandas as pd

    rows = []
    for index, was, now in ((old.index.difference(new.index), "present", "absent"),
                            (new.index.difference(old.index), "absent", "present")):  # fmt: skip
        rows.append(_rows(index, thing, [was] * len(index), [now] * len(index)))
    both = old.index.intersection(new.index)
    left, right = old.loc[both], new.loc[both]
    for column in columns:
        differs = _differs(left[column], right[column], column)
        if differs.any():
            was, now = left[column][differs].tolist(), right[column][differs].tolist()
            rows.append(_rows(both[differs], column, was, now))
    return pd.concat(rows, ignore_index=True)


def _rows(index: pd.Index, column: str, was: list[Any], now: list[Any]) -> pd.DataFrame:
    frame = index.to_frame(index=False).drop(columns="nth")
    return frame.assign(column=column, before=was, after=now).astype(
        {"before": object, "after": object}
    )


def _differs(left: pd.Series, right: pd.Series, column: str) -> Any:
    import numpy as np
    import pandas as pd

    if pd.api.types.is_numeric_dtype(left) and pd.api.types.is_numeric_dtype(right):
        noise = (
            EPS_PCT if column.endswith("_pct") else EPS_FT if column.endswith("_ft") else EPS_SQFT
        )
        a, b = left.to_numpy("float64", na_value=np.nan), right.to_numpy("float64", na_value=np.nan)
        return ~np.isclose(a, b, rtol=0, atol=noise, equal_nan=True)
    a, b = (s.astype("object").where(s.notna(), "").astype("str").to_numpy() for s in (left, right))
    return a != b


def _causes(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    told = []
    for key in CAUSES:
        old, new = before.get(key), after.get(key)
        if old == new:
            continue
        if isinstance(old, dict) and isinstance(new, dict):
            names = sorted(n for n in {*old, *new} if old.get(n) != new.get(n))
            told += [f"{key}.{n}: {_short(old.get(n))} -> {_short(new.get(n))}" for n in names]
        elif isinstance(old, list) and isinstance(new, list):
            gone = [f"{key}: - {_short(o)}" for o in old if o not in new]
            told += gone + [f"{key}: + {_short(o)}" for o in new if o not in old]
    return told


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    return text if len(text) <= 160 else text[:157] + "..."
