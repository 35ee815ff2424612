"""The records of a layer: their names, their numbers, what was odd in reading them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wetgis.issuelog import IssueLog
from wetgis.provenance import SourceRecord
from wetgis.sources import columns
from wetgis.sources.decode import RawLayer
from wetgis.sources.keys import LayerKeys

if TYPE_CHECKING:
    import pandas as pd

    from wetgis.sources.figures import Shapes
    from wetgis.sources.steps import Told

__all__ = ["full_ids", "labelled", "number_records", "raw_notes"]


def full_ids(
    ids: pd.Series[Any] | None, made: list[str], log: IssueLog, about: dict[str, str]
) -> list[str]:
    """An id for each record: its own, else the one made of its geometry."""
    if ids is None:
        log.add("note", "generated_id", "ids were made from the geometries.", **about)
        return made
    missing = ids.isna().to_numpy()
    names = [str(v) for v in ids.to_numpy(dtype=object)]
    if missing.any():
        text = f"{int(missing.sum())} records have no id; ids were made from their geometries."
        log.add("warning", "missing_id", text, **about)
        names = [made[i] if lost else names[i] for i, lost in enumerate(missing.tolist())]
    return names


def raw_notes(
    raw: RawLayer, told: Told, names: list[str], log: IssueLog, about: dict[str, str]
) -> None:
    """What the reader of the file has to say, and what was said of its geometries, as issues."""
    for row in told.closed:
        text = "a ring was open; it was closed."
        log.add("note", "unclosed_ring", text, record_id=names[row], **about)
    for row, text in told.unreadable.items():
        log.add(
            "error", "unreadable_record", text, record_id=names[row], effect="not used", **about
        )
    for row, text in told.open.items():
        log.add("error", "unclosed_ring", text, record_id=names[row], effect="not used", **about)
    if raw.lost:
        text = f"{raw.lost} records could not be read at all: the file is cut off or damaged."
        log.add("error", "unreadable_record", text, effect="not used", **about)
    if raw.curves:
        text = (
            "curves were read as chords of half a degree of arc (a circle's area 0.0013 % small)."
        )
        log.add("note", "curve_linearised", text, **about)
    for code, text in raw.notes:
        log.add("warning" if code == "several_layers" else "note", code, text, **about)


def labelled(frame: pd.DataFrame, keys: LayerKeys, record: SourceRecord) -> pd.DataFrame:
    """The columns that say where a feature comes from; a record's own go before the layer's."""
    import pandas as pd

    if "source" not in frame.columns or record.driver != "frame":
        frame["source"] = record.label
    for column, value in (("basis", keys.basis), ("source_date", keys.source_date)):
        own = frame[column] if column in frame.columns else None
        text = pd.Series(value or "", index=frame.index, dtype=object)
        if own is not None:
            text = own.astype(object).where(own.notna() & (own.astype(object) != ""), value or "")
            text = text.map(lambda v: v.date().isoformat() if hasattr(v, "date") else str(v))
        frame[column] = columns.as_text(text)
    stated = float("nan") if keys.accuracy_ft is None else keys.accuracy_ft
    if "accuracy_ft" in frame.columns:
        frame["accuracy_ft"] = frame["accuracy_ft"].astype("float64").fillna(stated)
    else:
        frame["accuracy_ft"] = stated
    return frame


def number_records(frame: Any, shapes: Shapes | None = None) -> pd.Series[Any]:
    """1 for each record, and the count of a repeated id, in an order that rows do not decide.

    Records of one id are counted in the order of their geometries' digests, then of their
    attributes as text.

    Parameters
    ----------
    frame : GeoDataFrame, or DataFrame with shapes
        With ``id``.
    shapes : Shapes, optional
        The geometries of a table that does not hold them.

    Returns
    -------
    Series of int64
    """
    import pandas as pd

    out = pd.Series(1, index=frame.index, dtype="int64")
    repeated = frame["id"].duplicated(keep=False).to_numpy()
    if not repeated.any():
        return out
    if shapes is None:
        from wetgis.sources.figures import InMemory

        shapes = InMemory(frame.geometry.array)
    part = pd.DataFrame(frame[repeated])
    order = pd.DataFrame(
        {
            "id": part["id"].astype(object),
            "shape": shapes.digests(np.flatnonzero(repeated)),
            "rest": [repr(r) for r in _attributes(part).itertuples(index=False)],
        },
        index=part.index,
    ).sort_values(["id", "shape", "rest"], kind="stable")
    out.loc[order.index] = (order.groupby("id").cumcount() + 1).astype("int64")
    return out


def _attributes(part: pd.DataFrame) -> pd.DataFrame:
    names = sorted(c for c in part.columns if c not in {"geometry", "id", "record"})
    return part[names]
