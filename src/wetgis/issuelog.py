"""What the reader of a result must know about the input.

An issue never replaces a result and never goes missing: each record that was
repaired, left out or read with an assumption has one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from math import nan
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import geopandas
    import pandas

__all__ = ["CODES", "ISSUE_COLUMNS", "Issue", "IssueLog", "issues"]

SEVERITIES = ("error", "warning", "note")

ISSUE_COLUMNS = (
    "severity",
    "code",
    "layer",
    "file",
    "record_id",
    "message",
    "effect",
    "before_sqft",
    "after_sqft",
)

#: The closed list of codes. A record that could not be used is an error.
CODES: dict[str, str] = {
    # records
    "null_geometry": "a record has no geometry",
    "empty_geometry": "a record has an empty geometry",
    "non_finite": "a record has a NaN or infinite coordinate",
    "wrong_geometry_type": "a record's geometry is of a kind that the layer cannot hold",
    "unreadable_record": "a record could not be decoded",
    "repaired": "an invalid geometry was repaired; areas before and after stand beside it",
    "collapsed": "nothing with an area was left after the repair",
    "unclosed_ring": "a ring was closed",
    "duplicate_id": "an id occurs more than once",
    "generated_id": "ids were made from the geometries",
    "missing_id": "a record has no id",
    "multipart": "a record with several parts is taken as one",
    "curve_linearised": "curves were turned into chords by the reader",
    "dropped_dimension": "Z or M values were left out",
    "null_value": "a value that stands for 'not known' was read as such",
    "bad_value": "a value could not be read as what its column holds",
    # layers and files
    "several_layers": "the file has other layers; they were not read",
    "index_misfit": "the index beside a parcel file did not fit it; the file itself was read",
    "empty_layer": "the layer has no records",
    "missing_column": "a column that the kind needs is not there",
    "stale_area": "an area attribute disagrees with the geometry",
    "overlapping_records": "records of one layer overlap; each square foot counts once",
    "no_zone": "the flood layer has no zones; all of it is taken as special flood hazard area",
    "not_rated": "soil units without a hydric rating",
    "unmatched_key": "a key of a joined table was not found",
    "repeated_key": "a key of a joined table occurs more than once",
    "no_accuracy": "no horizontal accuracy is stated, so no interval is given",
    "centreline": "a watercourse is a line without a half-width; its buffer is understated",
    "piped": "a watercourse is marked as piped; it is still buffered",
    # coordinate systems
    "reprojected": "the layer was reprojected",
    "unfit_crs": "the coordinate system must not be measured in; another was taken",
    "outside_area_of_use": "data lie outside the area of use of their coordinate system",
    "null_operation": "two datums are joined by a null operation of a stated accuracy",
    "ballpark": "a datum shift is a ballpark one, or a grid is missing",
    "assumed_crs": "the coordinate system was stated by the user",
    # extents
    "no_overlap": "a layer does not overlap the subjects",
    "extent_reached": "subjects reach beyond the box of a layer whose extent is not stated",
    "not_in_force": "features are not in force on the day that is asked about",
    "partial_raster": "a raster does not cover all of the subjects",
    # rasters
    "nodata": "cells without data, declared",
    "undeclared_nodata": "cells with an impossible height were taken as without data",
    "z_unit": "the vertical unit, and where it was found",
    # measuring
    "buffer_rebuilt": "a buffer failed its audit and was built another way",
    "buffer_audit": "a buffer's outline could not be brought within the tolerance",
    "no_parameter": "no parameter is stated, so a measure is not known",
    "overlay_failed": "a measure of one subject could not be computed",
    "stray_footprint": "a footprint reaches a parcel other than the one it names",
    "tile_failed": "a tile failed twice; its subjects have no measures",
    # amending
    "no_match": "no proposed feature has the id of one on the map",
    "drawn_buffer": "records of the adopted map are buffers that were drawn",
    "cut_at_extent": "a proposed feature reaches beyond the extent of the amendment",
    "not_closed": "totals before and after differ from what was added and removed",
    # law
    "unknown_activity": "an activity's words are not in the table",
    "outside_jurisdiction": "subjects lie outside the place whose law is applied",
}


@dataclass(frozen=True)
class Issue:
    """One thing about the input. Areas are square feet, NaN where they do not apply."""

    severity: str
    code: str
    message: str
    layer: str = ""
    file: str = ""
    record_id: str = ""
    effect: str = ""
    before_sqft: float = nan
    after_sqft: float = nan

    def __post_init__(self) -> None:
        if self.severity not in SEVERITIES:
            raise ValueError(f"severity {self.severity!r} is none of {SEVERITIES}")
        if self.code not in CODES:
            raise ValueError(f"code {self.code!r} is not in wetgis.issuelog.CODES")


@dataclass
class IssueLog:
    """Issues in the order in which they were met."""

    rows: list[Issue] = field(default_factory=list)

    def add(self, severity: str, code: str, message: str, **more: Any) -> None:
        """Add one issue."""
        self.rows.append(Issue(severity, code, message, **more))

    def extend(self, rows: Iterable[Issue]) -> None:
        """Add several."""
        self.rows.extend(rows)

    def frame(self) -> pandas.DataFrame:
        """All issues as the table that the contract describes."""
        return issue_frame(self.rows)

    def as_json(self, limit: int = 100) -> list[dict[str, Any]]:
        """The first ``limit`` issues as plain JSON (NaN becomes null)."""
        return [_plain(row) for row in self.rows[:limit]]


def issue_frame(rows: Iterable[Issue]) -> pandas.DataFrame:
    """Issues as a table with the contract's columns."""
    import pandas as pd

    frame = pd.DataFrame([asdict(row) for row in rows], columns=list(ISSUE_COLUMNS))
    text = [c for c in ISSUE_COLUMNS if not c.endswith("_sqft")]
    frame[text] = frame[text].astype("str")
    return frame.astype({"before_sqft": "float64", "after_sqft": "float64"})


def _plain(row: Issue) -> dict[str, Any]:
    return {k: (None if v != v else v) for k, v in asdict(row).items()}


def issues(frame: geopandas.GeoDataFrame) -> pandas.DataFrame:
    """The issues of a layer that ``read_layer`` has read: its first hundred.

    Parameters
    ----------
    frame : GeoDataFrame
        A layer; one that did not come from ``read_layer`` has no issues.

    Returns
    -------
    DataFrame
        ``severity``, ``code``, ``layer``, ``file``, ``record_id``, ``message``, ``effect``,
        ``before_sqft``, ``after_sqft``.

    Examples
    --------
    >>> import geopandas
    >>> len(issues(geopandas.GeoDataFrame(geometry=[])))
    0
    """
    meta = frame.attrs.get("wetgis", {})
    rows = meta.get("issues", []) if isinstance(meta, dict) else []
    known: list[dict[str, Any]] = [
        {k: nan if v is None else v for k, v in row.items()} for row in rows
    ]
    return issue_frame(Issue(**row) for row in known)


def dumps(rows: Iterable[Issue]) -> str:
    """Issues as JSON text."""
    return json.dumps([_plain(row) for row in rows])
