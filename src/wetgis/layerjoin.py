"""All sources of a kind as one layer: what is in force, repeated ids, records, the extent."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import TYPE_CHECKING

from wetgis.errors import SiteError
from wetgis.heldlayers import IndexedLayer, SiteLayer, StoredLayer, summary_of
from wetgis.issuelog import IssueLog
from wetgis.schema import SUBJECT_LAYERS
from wetgis.sitelayers import Piece
from wetgis.storedrows import Unstorable, store_table

if TYPE_CHECKING:
    import geopandas as gpd
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray
    from shapely.geometry.base import BaseGeometry

__all__ = ["join", "join_on_disk"]

#: What to do with a repeated id, from the mildest to the strictest.
_RULES = ("keep", "unite", "error")


def join(
    kind: str,
    pieces: Sequence[Piece],
    *,
    as_of: datetime.date,
    municipality: BaseGeometry | None,
    where: str = "",
) -> SiteLayer:
    """All pieces of a kind as one layer, as it is in force on a day."""
    from wetgis.sources import number_records

    index = pieces[0].index
    if index is not None:  # what follows was done when it was made
        extent = _extent(kind, pieces, municipality, where)
        return IndexedLayer(index, extent, tuple(pieces[0].keys.keep))
    log = IssueLog([issue for piece in pieces for issue in piece.issues])
    frames = [
        _duplicates(_in_force(piece, kind, as_of, log), kind, [piece], log) for piece in pieces
    ]
    frame = _concat(frames)
    if len(pieces) > 1 and _shared_ids(frames):
        frame = _duplicates(frame, kind, pieces, log)
    if kind in SUBJECT_LAYERS:
        frame["record"] = number_records(frame)
    return SiteLayer(
        kind=kind,
        frame=frame,
        extent=_extent(kind, pieces, municipality, where),
        sources=tuple(source for p in pieces for source in p.sources),
        operations=tuple(operation for p in pieces for operation in p.operations),
        issues=tuple(log.rows),
        keep=tuple(dict.fromkeys(k for p in pieces for k in p.keys.keep)),
    )


def join_on_disk(
    kind: str,
    piece: Piece,
    *,
    as_of: datetime.date,
    municipality: BaseGeometry | None,
    where: str = "",
) -> SiteLayer | None:
    """The layer of one source that was spilled to disk.

    None where that takes its rows in memory: some are not in force, or repeated ids are united.
    """
    spilled, log = piece.spilled, IssueLog(list(piece.issues))
    assert spilled is not None
    table = spilled.table
    if not _stands(table, as_of).all():
        return None
    repeated = table["id"].duplicated(keep=False).to_numpy()
    if repeated.any():
        if piece.keys.duplicates == "unite":
            return None
        _duplicates(spilled.frame(repeated), kind, [piece], log)
    try:
        names = (*(str(c) for c in table.columns), "geometry")
        rows = store_table(
            table, spilled.crs, spilled.shapes.folder, columns=names, geometry="geometry"
        )
    except Unstorable:
        return None
    return StoredLayer(
        rows,
        kind=kind,
        extent=_extent(kind, [piece], municipality, where),
        sources=piece.sources,
        operations=piece.operations,
        issues=tuple(log.rows),
        keep=tuple(piece.keys.keep),
        summary=summary_of(table),
    )


def _concat(frames: list[gpd.GeoDataFrame]) -> gpd.GeoDataFrame:
    """One frame of several; an empty one adds its columns only where all are empty."""
    import pandas as pd

    filled = [f for f in frames if len(f)] or frames[:1]
    frame = filled[0].copy() if len(filled) == 1 else None
    if frame is None:
        bare = [f.copy() for f in filled]
        for one in bare:
            one.attrs = {}
        frame = pd.concat(bare, ignore_index=True)
    frame = frame.reset_index(drop=True)
    frame.attrs = {}
    return frame


def _stands(table: pd.DataFrame, as_of: datetime.date) -> NDArray[np.bool_]:
    """Which rows are in force on a day."""
    import numpy as np

    inside = np.ones(len(table), dtype=bool)
    for column, sign in (("effective_from", 1), ("effective_to", -1)):
        if column not in table.columns:
            continue
        days = table[column].to_numpy().astype("datetime64[D]")
        after = (days - np.datetime64(as_of, "D")).astype("int64") * sign > 0
        inside &= ~(after & ~np.isnat(days))
    return inside


def _in_force(piece: Piece, kind: str, as_of: datetime.date, log: IssueLog) -> gpd.GeoDataFrame:
    """The features of a piece that are in force on a day; both ends count.

    The reader has made the columns dates; one that is not stated bounds nothing.
    """
    frame = piece.frame
    inside = _stands(frame, as_of)
    if inside.all():
        return frame
    out = int((~inside).sum())
    text = f"{out} of {len(frame)} features are not in force on {as_of.isoformat()}."
    log.add("note", "not_in_force", text, layer=kind, file=piece.about, effect="they are left out")
    return frame[inside].reset_index(drop=True)


def _duplicates(
    frame: gpd.GeoDataFrame, kind: str, pieces: Sequence[Piece], log: IssueLog
) -> gpd.GeoDataFrame:
    """Repeated ids, by the strictest rule of the sources that they come from."""
    from wetgis.sources.checks import duplicates

    keys = max((p.keys for p in pieces), key=lambda k: _RULES.index(k.duplicates))
    files = ", ".join(dict.fromkeys(p.about for p in pieces))
    return duplicates(frame, kind, keys, log, {"layer": kind, "file": files})


def _shared_ids(frames: Sequence[gpd.GeoDataFrame]) -> bool:
    """Whether an id stands in more than one source."""
    import pandas as pd

    ids = [frame["id"].drop_duplicates() for frame in frames if len(frame)]
    return bool(ids) and bool(pd.concat(ids).duplicated().any())


def _extent(
    kind: str, pieces: Sequence[Piece], municipality: BaseGeometry | None, where: str
) -> BaseGeometry | None:
    """Where a layer is complete: the extents of its sources united; None if none is stated.

    ``features`` is the bounding box of the source's features: a map that was drawn for a sheet is
    complete on that sheet, also between its features.
    """
    import shapely

    found: list[BaseGeometry] = []
    for piece in pieces:
        if piece.polygons is not None:
            found.append(piece.polygons)
        elif piece.keys.extent == "municipality":
            if municipality is None:
                raise SiteError(
                    f'layers.{kind}.extent = "municipality", but no such layer is given.',
                    needed="a layer of the kind municipality",
                    where=where,
                )
            found.append(municipality)
        elif piece.keys.extent == "features" and len(piece.frame):
            bounds = piece.frame.total_bounds
            if bounds[0] <= bounds[2]:
                found.append(shapely.box(*bounds))
    return shapely.union_all(found) if found else None
