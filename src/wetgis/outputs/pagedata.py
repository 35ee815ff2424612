"""What the report's page holds: every table it shows and the shapes it draws, as one JSON text.

Columns instead of rows, each word once, shapes on a grid, so that a town fits into a page.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import shapely

from wetgis.outputs import words
from wetgis.outputs.palette import LAYER_STYLES, STATUS_COLOURS, SUBJECT_LINE
from wetgis.outputs.parquet import as_text
from wetgis.outputs.pieces import SUBJECT, Finished, finished
from wetgis.outputs.shapes import Grid, encode
from wetgis.outputs.tally import Subjects, Tally
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

__all__ = [
    "LADDER",
    "QUIET",
    "Detail",
    "page_data",
    "page_sections",
    "page_text",
    "script_json",
]

#: Layers that the map shows when the page opens; the reader may turn on the others.
SHOWN_AT_FIRST = ("municipality", "buffer", "wetlands", "watercourses")
#: From the bottom up.
_DRAWN = ("floodplain", "soils", "indicators", "buffer", "wetlands", "watercourses", "municipality")
#: The status of subjects that a page may leave out.
QUIET = "none_found"
_PLACE = "_place"

Bounds = tuple[float, float, float, float]


@dataclass(frozen=True)
class Detail:
    """How much a page holds."""

    step_ft: float
    subjects_ft: float
    features_ft: float
    not_met: bool = True
    all_shapes: bool = True
    all_rows: bool = True
    most: int | None = None  # subjects

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
        if self.most is not None:
            told.append(
                f"Of the others {self.most:,} are listed, those on a wetland or watercourse first, "
                "then those in a buffer, and so on; measures.csv has all."
            )
        return told

    def shown(self, subjects: Subjects) -> dict[str, int]:
        """How many subjects of each status the page lists."""
        left = self.most
        shown: dict[str, int] = {}
        for status in STATUSES:
            n = subjects.of_status(status)
            if status == QUIET and not self.all_rows:
                continue
            shown[status] = n if left is None else min(n, left)
            left = None if left is None else left - shown[status]
        return shown


#: Tried in this order until the page is small enough.
LADDER = (
    Detail(0.1, 0.1, 0.2),
    Detail(0.5, 1.0, 1.5),
    Detail(0.5, 1.0, 1.5, not_met=False),
    Detail(1.0, 3.0, 5.0, not_met=False),
    Detail(1.0, 3.0, 5.0, not_met=False, all_shapes=False),
    Detail(1.0, 3.0, 5.0, not_met=False, all_shapes=False, all_rows=False),
    Detail(4.0, 12.0, 20.0, not_met=False, all_shapes=False, all_rows=False),
)


def page_data(
    run: Screening | Finished, detail: Detail, tally: Tally | None = None
) -> dict[str, Any]:
    """Everything that the page's program needs.

    Parameters
    ----------
    run : Screening or Finished
        The result.
    detail : Detail
        How much of it.
    tally : Tally, optional
        What the run comes to, where that is known already.

    Returns
    -------
    dict
        Plain JSON: ``grid``, ``layers``, ``subjects``, ``findings``, ``contacts``, ``words``.
    """
    run = finished(run)
    return dict(page_sections(run, detail, tally or Tally.of(run)))


def page_sections(run: Finished, detail: Detail, tally: Tally) -> Iterator[tuple[str, Any]]:
    """The same one after the other; of every table only the rows that the page shows are held."""
    bounds = tally.subjects.all_shapes(but="" if detail.all_rows else QUIET).bounds
    grid = _grid(run, bounds, tally, detail)
    yield "grid", grid.as_json()
    yield "layers", _layers(run, bounds, grid, detail)
    measures, shapes = _shown(run, grid, detail, tally)
    yield "subjects", _subjects(measures, shapes)
    del shapes
    rows = pd.MultiIndex.from_frame(measures[SUBJECT])
    quiet = rows[(measures["status"] == QUIET).to_numpy()]
    chosen = (_chosen(piece, quiet, detail) for piece in run.read("findings"))
    yield "findings", _findings(_of_subjects(chosen, rows), rule_titles(run))
    yield "contacts", _contacts(run, rows, grid)
    yield "words", _words()


def page_text(run: Finished, detail: Detail, tally: Tally) -> str:
    """The same as the text that a page carries; one section is held in lists at a time."""
    sections = page_sections(run, detail, tally)
    return "{" + ",".join(f'"{name}":{script_json(data)}' for name, data in sections) + "}"


def script_json(data: Any) -> str:
    """JSON that stays inside a script element whatever the texts in it are."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _grid(run: Finished, bounds: Bounds | None, tally: Tally, detail: Detail) -> Grid:
    from wetgis.projection import ft_per_unit

    crs = run.crs
    per_unit = ft_per_unit(crs) if crs is not None and crs.is_projected else 1.0
    others = [shapes.bounds for shapes in tally.layers.values() if shapes.bounds is not None]
    west, south, _, _ = bounds or next(iter(others), (0.0, 0.0, 1.0, 1.0))
    x, y = np.floor(np.array([west, south]) * per_unit)
    return Grid(float(x), float(y), detail.step_ft, per_unit)


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
    run: Finished, bounds: Bounds | None, grid: Grid, detail: Detail
) -> list[dict[str, Any]]:
    """The layers of the map from the bottom up, near the subjects."""
    window = None if bounds is None else shapely.box(*bounds).buffer(1000 / grid.per_unit)
    made = []
    for name in _DRAWN:
        pieces = (piece for piece in run.layers.get(name, list)() if len(piece))
        features = [_features(piece, window, grid, detail) for piece in pieces]
        if not features:
            continue
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
                **{what: [v for some in features for v in some[what]] for what in features[0]},
            }
        )
    return made


def _features(
    frame: gpd.GeoDataFrame, window: Any, grid: Grid, detail: Detail
) -> dict[str, list[Any]]:
    """Ids, names and shapes of the features of a layer that reach a window."""
    geoms = frame.geometry.to_numpy()
    if window is not None:
        near = shapely.intersects(window, geoms)
        frame, geoms = frame[near], geoms[near]
    return {
        "ids": as_text(frame["id"]).tolist() if "id" in frame else [""] * len(frame),
        "names": as_text(frame["name"]).tolist() if "name" in frame else [],
        "shapes": encode(geoms, grid, detail.features_ft),
    }


def _shown(
    run: Finished, grid: Grid, detail: Detail, tally: Tally
) -> tuple[pd.DataFrame, list[Any]]:
    """The measures of the subjects that the page lists, and their shapes."""
    left = detail.shown(tally.subjects)
    frames: list[pd.DataFrame] = []
    shapes: list[Any] = []
    for piece in run.read("measures"):
        status = piece["status"].to_numpy(dtype=object)
        keep = np.zeros(len(piece), dtype=bool)
        for name in left:
            places = np.flatnonzero(status == name)[: left[name]]
            keep[places] = True
            left[name] -= len(places)
        if not keep.any() and frames:
            continue
        geoms = piece["geometry"].to_numpy()[keep]
        if not detail.all_shapes:
            geoms[status[keep] == QUIET] = None
        shapes += encode(geoms, grid, detail.subjects_ft)
        frames.append(pd.DataFrame(piece.drop(columns="geometry"))[keep])
    return pd.concat(frames, ignore_index=True), shapes


def _subjects(measures: pd.DataFrame, shapes: list[Any]) -> dict[str, Any]:
    numbers = {}
    for name in NUMBER_COLUMNS:
        if name in measures and measures[name].notna().any():
            decimals = 1 if name.endswith("_sqft") else 2
            values = measures[name].to_numpy(dtype="float64", na_value=np.nan)
            numbers[name] = _rounded(values, decimals)
    kept = [c for c in measures.columns if c not in words.COLUMN_WORDS]
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
        "shapes": shapes,
    }


def _chosen(findings: pd.DataFrame, quiet: pd.MultiIndex, detail: Detail) -> pd.DataFrame:
    """Met and undetermined; ``not_met`` with a doubt or near a feature, where there is room."""
    keep = findings["outcome"] != "not_met"
    if detail.not_met:
        keep |= ~pd.MultiIndex.from_frame(findings[SUBJECT]).isin(quiet)
        keep |= as_text(findings["doubt"]) != ""
    return findings[keep]


def _of_subjects(pieces: Iterable[pd.DataFrame], rows: pd.MultiIndex) -> pd.DataFrame:
    """The rows about subjects of the page, each with its subject's place there."""
    frames = []
    for piece in pieces:
        place = rows.get_indexer(pd.MultiIndex.from_frame(piece[SUBJECT]))
        frames.append(piece.assign(**{_PLACE: place})[place >= 0])
    return pd.concat(frames, ignore_index=True)


def _findings(findings: pd.DataFrame, titles: dict[tuple[str, str], str]) -> dict[str, Any]:
    rule_columns = ["pack", "rule", "says", "cite", "cite_status", "severity"]
    rule = findings.groupby(rule_columns, sort=False, dropna=False).ngroup()
    first = findings[rule_columns].drop_duplicates().itertuples(index=False, name=None)
    rules = [dict(zip(rule_columns, map(str, key), strict=True)) for key in first]
    for one in rules:
        one["title"] = titles.get((one["pack"], one["rule"]), "")
    return {
        "rules": rules,
        "subject": findings[_PLACE].tolist(),
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


def _contacts(run: Finished, rows: pd.MultiIndex, grid: Grid) -> dict[str, Any]:
    lines: list[Any] = []

    def drawn() -> Iterator[pd.DataFrame]:
        for piece in run.read("contacts"):
            near = _of_subjects([piece], rows)
            lines.extend(encode(near["geometry"].to_numpy(), grid))
            yield pd.DataFrame(near.drop(columns="geometry"))

    contacts = pd.concat(drawn(), ignore_index=True)
    coded = ("feature_kind", "feature_id", "name", "class", "source", "basis")
    return {
        "subject": contacts[_PLACE].tolist(),
        "distance": _rounded(contacts["distance_ft"], 2),
        "area": _rounded(contacts["area_sqft"], 1),
        "length": _rounded(contacts["length_ft"], 1),
        "whole": _rounded(contacts["whole_sqft"], 1),
        "lines": lines,
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
