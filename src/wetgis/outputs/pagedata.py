"""What the report's page holds: every table it shows and the shapes it draws, as one JSON text.

Columns instead of rows, each word once, shapes on a grid, so that a town fits into a page.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import shapely

from wetgis.outputs import words
from wetgis.outputs.palette import LAYER_STYLES, STATUS_COLOURS, SUBJECT_LINE
from wetgis.outputs.parquet import as_text
from wetgis.outputs.pieces import in_order
from wetgis.outputs.shapes import Grid, encode
from wetgis.outputs.text import rule_titles
from wetgis.schema import (
    ANSWERS,
    COMPARISONS,
    FINDING_SEVERITIES,
    NUMBER_COLUMNS,
    OUTCOMES,
    STATUSES,
    SUBJECT_KINDS,
    UNITS,
)

if TYPE_CHECKING:
    import geopandas as gpd

    from wetgis.screening import Screening

__all__ = ["LADDER", "Detail", "page_data", "script_json"]

#: Layers that the map shows when the page opens; the reader may turn on the others.
SHOWN_AT_FIRST = ("municipality", "buffer", "wetlands", "watercourses")
#: From the bottom up.
_DRAWN = ("floodplain", "soils", "indicators", "buffer", "wetlands", "watercourses", "municipality")
_SUBJECT = ["subject_kind", "subject_id", "record"]


@dataclass(frozen=True)
class Detail:
    """How much a page holds."""

    step_ft: float
    subjects_ft: float
    features_ft: float
    not_met: bool = True
    all_shapes: bool = True
    all_rows: bool = True
    share: float = 1.0  # of the fullest page's size, as far as experience tells

    def left_out(self) -> list[str]:
        """What the page says that it left out or simplified."""
        within = max(self.subjects_ft, self.features_ft) + self.step_ft
        told = [
            f"Shapes are drawn to within {within:g} ft; every number comes from the full shapes."
        ]
        if not self.not_met:
            told.append("Findings that are not met are left out here; findings.parquet has them.")
        if not self.all_shapes:
            told.append("Subjects for which no indicator was found are not drawn on the map.")
        if not self.all_rows:
            told.append(
                "Subjects for which no indicator was found are not listed; measures.csv has them."
            )
        return told


#: Tried in this order until the page is small enough.
LADDER = (
    Detail(0.1, 0.1, 0.2),
    Detail(0.5, 1.0, 1.5, share=0.86),
    Detail(0.5, 1.0, 1.5, not_met=False, share=0.83),
    Detail(1.0, 3.0, 5.0, not_met=False, share=0.76),
    Detail(1.0, 3.0, 5.0, not_met=False, all_shapes=False, share=0.62),
    Detail(1.0, 3.0, 5.0, not_met=False, all_shapes=False, all_rows=False, share=0.28),
)


def page_data(screening: Screening, detail: Detail) -> dict[str, Any]:
    """Everything that the page's program needs.

    Parameters
    ----------
    screening : Screening
        The result.
    detail : Detail
        How much of it.

    Returns
    -------
    dict
        Plain JSON: ``grid``, ``layers``, ``subjects``, ``findings``, ``contacts``, ``words``.
    """
    measures = in_order("measures", screening.measures)
    if not detail.all_rows:
        measures = measures[measures["status"] != "none_found"].reset_index(drop=True)
    grid = _grid(measures, screening.layers, detail)
    rows = pd.MultiIndex.from_frame(measures[_SUBJECT])
    findings = _chosen(in_order("findings", screening.findings), measures, detail)
    return {
        "grid": grid.as_json(),
        "layers": _layers(screening.layers, measures, grid, detail),
        "subjects": _subjects(measures, grid, detail),
        "findings": _findings(findings, rows, rule_titles(screening)),
        "contacts": _contacts(in_order("contacts", screening.contacts), rows, grid),
        "words": _words(),
    }


def script_json(data: Any) -> str:
    """JSON that stays inside a script element whatever the texts in it are."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _grid(measures: gpd.GeoDataFrame, layers: dict[str, Any], detail: Detail) -> Grid:
    from wetgis.projection import ft_per_unit

    crs = measures.crs
    per_unit = ft_per_unit(crs) if crs is not None and crs.is_projected else 1.0
    bounds = _bounds(measures)
    if bounds is None:
        frames = [frame for frame in layers.values() if _bounds(frame) is not None]
        bounds = _bounds(frames[0]) if frames else (0.0, 0.0, 1.0, 1.0)
    assert bounds is not None
    x, y = np.floor(np.array(bounds[:2]) * per_unit)
    return Grid(float(x), float(y), detail.step_ft, per_unit)


def _bounds(frame: Any) -> tuple[float, float, float, float] | None:
    geoms = frame.geometry.to_numpy()
    geoms = geoms[~(shapely.is_missing(geoms) | shapely.is_empty(geoms))]
    return tuple(shapely.total_bounds(geoms).tolist()) if len(geoms) else None


def _coded(column: pd.Series) -> dict[str, Any]:
    """A column of text as its different values and their places."""
    codes, values = pd.factorize(as_text(column))
    return {"of": [str(v) for v in values], "at": codes.tolist()}


def _index(column: pd.Series, closed: tuple[str, ...]) -> list[int]:
    """The place of each word in its closed list; -1 where it has none."""
    places = pd.Index(closed).get_indexer(pd.Index(as_text(column)))
    return [int(i) for i in places]


def _rounded(values: Any, decimals: int) -> list[Any]:
    """Numbers for print; what is small keeps four digits, NaN is null, infinity is text."""
    numbers = np.asarray(values, dtype="float64")
    finite = np.isfinite(numbers)
    made = np.round(np.where(finite, numbers, 0.0), decimals)
    small = finite & (np.abs(numbers) < 10.0 ** (1 - decimals)) & (numbers != 0)
    out: list[Any] = made.tolist()
    for i in np.flatnonzero(small):
        out[i] = float(f"{numbers[i]:.4g}")
    for i in np.flatnonzero(~finite):
        out[i] = "inf" if numbers[i] > 0 else None
    return [int(v) if isinstance(v, float) and v.is_integer() else v for v in out]


def _exact(values: pd.Series, against: pd.Series) -> list[Any]:
    """Numbers that a threshold is held against: short where that changes nothing."""
    out = _rounded(values, 2)
    limits = against.to_numpy(dtype="float64", na_value=np.nan)
    numbers = values.to_numpy(dtype="float64", na_value=np.nan)
    near = np.isfinite(numbers) & ((np.abs(numbers - limits) < 0.02) | (np.abs(numbers) < 0.02))
    for i in np.flatnonzero(near):
        out[i] = float(numbers[i])
    return out


def _layers(
    layers: dict[str, Any], measures: gpd.GeoDataFrame, grid: Grid, detail: Detail
) -> list[dict[str, Any]]:
    """The layers of the map from the bottom up, near the subjects."""
    made = []
    bounds = _bounds(measures)
    for name in _DRAWN:
        frame = layers.get(name)
        if frame is None or len(frame) == 0:
            continue
        geoms = frame.geometry.to_numpy()
        if bounds is not None:
            near = shapely.intersects(shapely.box(*bounds).buffer(1000 / grid.per_unit), geoms)
            frame, geoms = frame[near], geoms[near]
        style = LAYER_STYLES[name]
        made.append(
            {
                "name": name,
                "label": style.label,
                "fill": style.fill,
                "line": style.line,
                "hatch": style.hatch,
                "dashed": style.dashed,
                "shown": name in SHOWN_AT_FIRST,
                "ids": as_text(frame["id"]).tolist() if "id" in frame else [""] * len(frame),
                "names": as_text(frame["name"]).tolist() if "name" in frame else [],
                "shapes": encode(geoms, grid, detail.features_ft),
            }
        )
    return made


def _subjects(measures: gpd.GeoDataFrame, grid: Grid, detail: Detail) -> dict[str, Any]:
    geoms = measures.geometry.to_numpy().copy()
    if not detail.all_shapes:
        geoms[(measures["status"] == "none_found").to_numpy()] = None
    numbers = {}
    for name in NUMBER_COLUMNS:
        if name in measures and measures[name].notna().any():
            decimals = 1 if name.endswith("_sqft") else 2
            values = measures[name].to_numpy(dtype="float64", na_value=np.nan)
            numbers[name] = _rounded(values, decimals)
    ours = {*words.COLUMN_WORDS, "geometry"}
    kept = [c for c in measures.columns if c not in ours and str(measures[c].dtype) != "geometry"]
    return {
        "kind": _index(measures["subject_kind"], SUBJECT_KINDS),
        "id": as_text(measures["subject_id"]).tolist(),
        "record": measures["record"].astype("int64").tolist(),
        "status": _index(measures["status"], STATUSES),
        "parcel": _coded(measures["parcel_id"]),
        "project": _coded(measures["project_id"]),
        "unknown": _coded(measures["unknown_layers"]),
        "met": _rounded(measures["n_met"], 0),
        "numbers": numbers,
        "kept": {str(name): _coded(measures[name]) for name in kept},
        "shapes": encode(geoms, grid, detail.subjects_ft),
    }


def _chosen(findings: pd.DataFrame, measures: pd.DataFrame, detail: Detail) -> pd.DataFrame:
    """Met and undetermined; ``not_met`` with a doubt or near a feature, where there is room."""
    keep = findings["outcome"] != "not_met"
    if detail.not_met:
        quiet = measures.loc[measures["status"] == "none_found", _SUBJECT]
        subject = pd.MultiIndex.from_frame(findings[_SUBJECT])
        keep |= ~subject.isin(pd.MultiIndex.from_frame(quiet))
        keep |= as_text(findings["doubt"]) != ""
    return findings[keep]


def _findings(
    findings: pd.DataFrame, rows: pd.MultiIndex, titles: dict[tuple[str, str], str]
) -> dict[str, Any]:
    subject = rows.get_indexer(pd.MultiIndex.from_frame(findings[_SUBJECT]))
    findings, subject = findings[subject >= 0], subject[subject >= 0]
    rule_columns = ["pack", "rule", "says", "cite", "cite_status", "severity"]
    if len(findings):
        rule, first = pd.factorize(pd.MultiIndex.from_frame(findings[rule_columns]))
        rules = [dict(zip(rule_columns, map(str, key), strict=True)) for key in first]
    else:
        rule, rules = np.array([], dtype=int), []
    for one in rules:
        one["title"] = titles.get((one["pack"], one["rule"]), "")
    return {
        "rules": rules,
        "subject": subject.tolist(),
        "rule": rule.tolist(),
        "outcome": _index(findings["outcome"], OUTCOMES),
        "answer": _index(findings["answer"], ANSWERS),
        "unit": _index(findings["unit"], UNITS),
        "comparison": _index(findings["comparison"], COMPARISONS),
        "value": _exact(findings["value"], findings["threshold"]),
        "threshold": _exact(findings["threshold"], findings["value"]),
        "low": _exact(findings["value_low"], findings["threshold"]),
        "high": _exact(findings["value_high"], findings["threshold"]),
        **{
            name: _coded(findings[name]) for name in ("feature_kind", "feature_id", "doubt", "note")
        },
        "needs": _needs(findings["needs"]),
    }


def _needs(column: pd.Series) -> dict[str, Any]:
    coded = _coded(column)
    return {"of": [", ".join(words.needed(text)) for text in coded["of"]], "at": coded["at"]}


def _contacts(contacts: gpd.GeoDataFrame, rows: pd.MultiIndex, grid: Grid) -> dict[str, Any]:
    subject = rows.get_indexer(pd.MultiIndex.from_frame(contacts[_SUBJECT]))
    contacts, subject = contacts[subject >= 0], subject[subject >= 0]
    coded = ("feature_kind", "feature_id", "name", "class", "source", "basis")
    return {
        "subject": subject.tolist(),
        "distance": _rounded(contacts["distance_ft"], 2),
        "area": _rounded(contacts["area_sqft"], 1),
        "length": _rounded(contacts["length_ft"], 1),
        "whole": _rounded(contacts["whole_sqft"], 1),
        "lines": encode(contacts.geometry.to_numpy(), grid),
        **{name: _coded(contacts[name]) for name in coded},
    }


def _words() -> dict[str, Any]:
    """The closed lists in the order of the places that stand in the columns, with their words."""
    return {
        "kinds": [words.SUBJECT_WORDS[k] for k in SUBJECT_KINDS],
        "statuses": [
            {
                "code": s,
                "words": words.STATUS_WORDS[s],
                "short": words.STATUS_SHORT[s],
                "means": words.STATUS_MEANINGS[s],
                "colour": STATUS_COLOURS[s],
            }
            for s in STATUSES
        ],
        "outcomes": [{"code": o, "words": words.OUTCOME_WORDS[o]} for o in OUTCOMES],
        "answers": [{"code": a, "words": words.ANSWER_WORDS[a]} for a in ANSWERS],
        "severities": {s: words.SEVERITY_WORDS[s] for s in FINDING_SEVERITIES},
        "doubts": words.DOUBT_WORDS,
        "cites": words.CITE_WORDS,
        "comparisons": [words.COMPARISON_WORDS[c] for c in COMPARISONS],
        "units": [{"code": u, "words": words.UNIT_WORDS[u]} for u in UNITS],
        "places": words.PLACE_WORDS,
        "columns": {
            name: {"words": words.COLUMN_WORDS[name], "unit": words.column_unit(name)}
            for name in NUMBER_COLUMNS
        },
        "line": SUBJECT_LINE,
    }  # fmt: skip
