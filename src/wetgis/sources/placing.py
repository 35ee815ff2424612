"""Where a layer is: its CRS found, doubted, refused or changed, and what moved it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from pyproj import CRS

from wetgis.crs import (
    Operation,
    as_crs,
    canonical,
    check_coordinates,
    fit_to_measure,
    ft_per_unit,
    grid,
    label,
    outside_area_of_use,
    pack_crs,
    same_crs,
    stated,
    suggest_for_bounds,
    suggestions_for_numbers,
    transform,
)
from wetgis.errors import CrsError
from wetgis.issuelog import IssueLog

if TYPE_CHECKING:
    from wetgis.sources.reading import _Context

__all__ = ["Near", "Placed", "near_frame", "place", "sqft_per_unit2"]

Bounds = tuple[float, float, float, float]
#: The CRS of other layers and the box they lie in.
Near = tuple[CRS, Bounds]
Objects = np.ndarray[Any, np.dtype[np.object_]]


@dataclass(frozen=True)
class Placed:
    """Geometries in the CRS to measure in, and how they came there."""

    geoms: Objects
    crs: CRS | None
    source_crs: CRS | None
    operation: Operation | None
    bounds: Bounds | None


def near_frame(frame: Any) -> Near | None:
    """Where a frame lies, for ranking suggestions; None where it lies nowhere."""
    if frame is None or getattr(frame, "crs", None) is None or not len(frame):
        return None
    box = tuple(float(v) for v in frame.total_bounds)
    return (as_crs(frame.crs), (box[0], box[1], box[2], box[3])) if np.isfinite(box).all() else None


def sqft_per_unit2(crs: CRS | None) -> float:
    """Square feet in a square unit; NaN where the unit is a degree or not known."""
    return ft_per_unit(crs) ** 2 if crs is not None and crs.is_projected else float("nan")


def place(
    geoms: Objects,
    ids: list[str],
    file_crs: CRS | None,
    target: CRS | None,
    context: _Context,
    log: IssueLog,
) -> Placed:
    """Bring a layer's geometries into the CRS to measure in.

    Parameters
    ----------
    geoms : ndarray of object
        Two-dimensional and finite, or None.
    ids : list of str
        Their records, for the issues.
    file_crs : CRS or None
        What the file says.
    target : CRS or None
        The working CRS, where it is chosen.
    context, log
        Keys and names of the layer; takes the issues.

    Raises
    ------
    CrsError
        Where there is no CRS or most of the coordinates contradict it.
    """
    geoms = geoms.copy()
    source = _source_crs(geoms, file_crs, target, context, log)
    if source is None:
        return Placed(geoms, target, None, None, None)
    _contradictions(geoms, ids, source, file_crs, context, log)
    bounds = _bounds(geoms)
    if bounds is not None and (outside := outside_area_of_use(source, bounds)):
        degrees = source.is_projected and max(map(abs, bounds)) <= 180.0
        hint = "; the numbers look like degrees: state source_crs if they are" if degrees else ""
        log.add("warning", "outside_area_of_use", outside + hint + ".", **context.about)
    working = _working_crs(source, target, bounds, context, log)
    moved, operation = _move(geoms, ids, source, working, context, log)
    if target is not None:
        _warn_of_target(moved, target, context, log)
    return Placed(moved, working, source, operation, bounds)


def _bounds(geoms: Objects) -> Bounds | None:
    import shapely

    if not len(geoms):
        return None
    box = shapely.total_bounds(geoms)
    if not np.isfinite(box).all():
        return None
    return (float(box[0]), float(box[1]), float(box[2]), float(box[3]))


def _source_crs(
    geoms: Objects,
    file_crs: CRS | None,
    target: CRS | None,
    context: _Context,
    log: IssueLog,
) -> CRS | None:
    """What the coordinates are in: as the user states, else as the file does.

    None only where there is no coordinate to ask about.
    """
    if context.keys.source_crs is not None:
        said = canonical(as_crs(context.keys.source_crs, where=context.record.path))
        if file_crs is None:
            text = f"the file states no coordinate system; {label(said)} was stated by the user."
            log.add("note", "assumed_crs", text, **context.about)
        elif not same_crs(said, file_crs):
            text = f"the file says {label(file_crs)}; {label(said)} was stated by the user."
            log.add("warning", "assumed_crs", text, **context.about)
        return said
    if file_crs is not None:
        return file_crs
    bounds = _bounds(geoms)
    if bounds is None:
        return None
    near = context.near
    if near is None and target is not None and target.area_of_use is not None:
        near = (as_crs("EPSG:4326"), target.area_of_use.bounds)
    codes = suggestions_for_numbers(bounds, near=near)
    numbers = " ({:.10g}, {:.10g} to {:.10g}, {:.10g})".format(*bounds)
    raise CrsError(
        f"the file states no coordinate system that is known for its numbers{numbers}.",
        needed="what they are in; it is not guessed",
        mend=stated(codes),
        where=_where(context),
    )


def _where(context: _Context) -> str:
    return context.record.path + (f", layer {context.record.layer}" if context.record.layer else "")


def _contradictions(
    geoms: Objects,
    ids: list[str],
    source: CRS,
    file_crs: CRS | None,
    context: _Context,
    log: IssueLog,
) -> None:
    """Take out records whose coordinates their CRS cannot hold; refuse where most are such."""
    import shapely

    rows = np.flatnonzero(~shapely.is_missing(geoms))
    if not len(rows):
        return
    whole = _bounds(geoms)
    if whole is not None and not check_coordinates(source, *grid(whole, 9)).any():
        return
    box = shapely.bounds(geoms[rows])
    bad = check_coordinates(source, box[:, 0], box[:, 1])
    bad |= check_coordinates(source, box[:, 2], box[:, 3])
    if not bad.any():
        return
    if bad.mean() > 0.5 or bad.sum() == len(rows):
        bounds = _bounds(geoms)
        codes = suggestions_for_numbers(bounds, near=context.near) if bounds else []
        why = (
            "longitudes must lie within 180 and latitudes within 90 degrees"
            if source.is_geographic
            else "they cannot be carried back to longitude and latitude"
        )
        raise CrsError(
            f"the coordinates contradict the file's coordinate system {label(source)}: {why}, "
            f"and they reach from {_pair(bounds, 0)} to {_pair(bounds, 2)}.",
            needed="what the numbers are in; it is not guessed",
            mend=stated(codes),
            where=_where(context),
        )
    for row in rows[bad].tolist():
        log.add(
            "error",
            "non_finite",
            f"its coordinates lie beyond what {label(source)} can hold.",
            record_id=ids[row],
            effect="not used",
            **context.about,
        )
    geoms[rows[bad]] = None


def _pair(bounds: Bounds | None, at: int) -> str:
    return "nowhere" if bounds is None else f"({bounds[at]:.10g}, {bounds[at + 1]:.10g})"


def _working_crs(
    source: CRS, target: CRS | None, bounds: Bounds | None, context: _Context, log: IssueLog
) -> CRS:
    """The target; else the source's own where it may be measured in; else one that may."""
    if target is not None:
        return target
    if bounds is None:
        return source
    reason = fit_to_measure(source, bounds)
    if not reason:
        return source
    found = suggest_for_bounds(source, bounds, pack_crs())
    if found is None:
        log.add(
            "warning",
            "unfit_crs",
            f"{reason}; the data reach too wide for any projection to measure all of them in.",
            effect=f"left in {label(source)}, where measuring is refused",
            **context.about,
        )
        return source
    log.add(
        "note",
        "unfit_crs",
        f"{reason}: reprojected from {label(source)} to {label(found)}.",
        **context.about,
    )
    return found


def _warn_of_target(geoms: Objects, target: CRS, context: _Context, log: IssueLog) -> None:
    """Say that nothing may be measured in a target of degrees or of distorted angles.

    A scale that is off far from the work is no fault of the target's: layers reach further.
    """
    bounds = _bounds(geoms)
    reason = fit_to_measure(target, bounds) if bounds is not None else ""
    if reason and "the scale of" not in reason:
        effect = "measuring in it is refused"
        log.add("warning", "unfit_crs", f"{reason}.", effect=effect, **context.about)


def _move(
    geoms: Objects,
    ids: list[str],
    source: CRS,
    working: CRS,
    context: _Context,
    log: IssueLog,
) -> tuple[Objects, Operation]:
    """Transform a layer at once, and say what there is to say about the way it went."""
    import geopandas as gpd
    import shapely

    frame = gpd.GeoDataFrame(geometry=gpd.GeoSeries(geoms, crs=source))
    moved, operation = transform(frame, working)
    out: Objects = np.array(moved.geometry.array, dtype=object)
    if operation.definition:
        _notes_on(operation, context, log)
        xy, owner = shapely.get_coordinates(out, return_index=True)
        lost = np.unique(owner[~np.isfinite(xy).all(axis=1)])
        for row in lost.tolist():
            log.add(
                "error",
                "non_finite",
                f"its coordinates cannot be carried to {label(working)}.",
                record_id=ids[row],
                effect="not used",
                **context.about,
            )
        out[lost] = None
    return out, operation


def _notes_on(operation: Operation, context: _Context, log: IssueLog) -> None:
    way = f"from {operation.from_crs} to {operation.to_crs}"
    accuracy = (
        "no accuracy is stated for it"
        if operation.accuracy_m is None
        else f"its stated accuracy is {operation.accuracy_m:g} m"
    )
    log.add("note", "reprojected", f"reprojected {way}; {accuracy}.", **context.about)
    grids = ", ".join(operation.missing_grids)
    if operation.null_datum:
        text = f"{way} the datums are joined by a null operation; {accuracy}."
        if grids:
            text += f" A better one needs {grids}."
        log.add("note", "null_operation", text, **context.about)
    elif operation.ballpark:
        text = f"{way} only a ballpark datum shift is at hand; {accuracy}."
        if grids:
            text += f" A better one needs {grids}."
        effect = "every finding of this layer has the doubt 'datum'"
        log.add("warning", "ballpark", text, effect=effect, **context.about)
