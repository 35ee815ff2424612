"""Where a layer is: its CRS found, doubted, refused or changed, and what moved it.

All of that is decided once for a layer, by the boxes of its records; the records are then
moved one part after the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from pyproj import CRS, Transformer

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
)
from wetgis.errors import CrsError
from wetgis.issuelog import IssueLog
from wetgis.operations import carried, operation_within

if TYPE_CHECKING:
    from wetgis.sources.reading import Context
    from wetgis.sources.steps import Told

__all__ = [
    "Near",
    "Way",
    "decide",
    "near_frame",
    "sqft_per_unit2",
    "tell_of_moved",
    "total_bounds",
]

Bounds = tuple[float, float, float, float]
#: The CRS of other layers and the box they lie in.
Near = tuple[CRS, Bounds]
Objects = np.ndarray[Any, np.dtype[np.object_]]
#: A box a record (n x 4), NaN where it has no geometry.
Boxes = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Way:
    """How the records of a layer come into the CRS to measure in.

    Attributes
    ----------
    crs, source_crs : CRS or None
        To and from; no source where there is no coordinate to ask about.
    operation : Operation or None
        What moves them.
    bounds : tuple of float or None
        The box of the layer, in the source's coordinates.
    out : ndarray of bool
        Records that their CRS cannot hold: they lose their geometry.
    transformer : Transformer or None
        None where there is nothing to be done.
    """

    crs: CRS | None
    source_crs: CRS | None
    operation: Operation | None
    bounds: Bounds | None
    out: np.ndarray[Any, np.dtype[np.bool_]]
    transformer: Transformer | None = None

    def move(self, rows: np.ndarray[Any, Any], geoms: Objects) -> tuple[Objects, list[int]]:
        """Some records in the working CRS, and which of them could not be carried there."""
        import shapely

        geoms = geoms.copy()
        geoms[self.out[rows]] = None
        if self.transformer is None:
            return geoms, []
        moved = np.asarray(carried(geoms, self.transformer), dtype=object)
        if self.operation is None or not self.operation.definition:
            return moved, []
        xy, owner = shapely.get_coordinates(moved, return_index=True)
        lost = np.unique(owner[~np.isfinite(xy).all(axis=1)])
        moved[lost] = None
        return moved, rows[lost].tolist()


def near_frame(frame: Any) -> Near | None:
    """Where a frame lies, for ranking suggestions; None where it lies nowhere."""
    if frame is None or getattr(frame, "crs", None) is None or not len(frame):
        return None
    box = tuple(float(v) for v in frame.total_bounds)
    return (as_crs(frame.crs), (box[0], box[1], box[2], box[3])) if np.isfinite(box).all() else None


def sqft_per_unit2(crs: CRS | None) -> float:
    """Square feet in a square unit; NaN where the unit is a degree or not known."""
    return ft_per_unit(crs) ** 2 if crs is not None and crs.is_projected else float("nan")


def decide(
    boxes: Boxes,
    ids: list[str],
    file_crs: CRS | None,
    target: CRS | None,
    context: Context,
    log: IssueLog,
) -> Way:
    """How a layer comes into the CRS to measure in.

    Parameters
    ----------
    boxes : ndarray of float
        Those of its geometries, which are two-dimensional and finite.
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
    source = _source_crs(total_bounds(boxes), file_crs, target, context, log)
    none_out = np.zeros(len(boxes), dtype=bool)
    if source is None:
        return Way(target, None, None, None, none_out)
    out = _contradictions(boxes, ids, source, context, log)
    bounds = total_bounds(boxes[~out])
    if bounds is not None and (outside := outside_area_of_use(source, bounds)):
        degrees = source.is_projected and max(map(abs, bounds)) <= 180.0
        hint = "; the numbers look like degrees: state source_crs if they are" if degrees else ""
        log.add("warning", "outside_area_of_use", outside + hint + ".", **context.about)
    working = _working_crs(source, target, bounds, context, log)
    transformer, operation = operation_within(source, working, bounds)
    if operation.definition:
        _notes_on(operation, context, log)
    return Way(working, source, operation, bounds, out, transformer)


def tell_of_moved(
    way: Way,
    told: Told,
    ids: list[str],
    target: CRS | None,
    context: Context,
    log: IssueLog,
) -> None:
    """What is known once all records of a layer were moved: those lost, and where they lie."""
    for row in told.lost:
        log.add(
            "error",
            "non_finite",
            f"its coordinates cannot be carried to {label(way.crs)}.",
            record_id=ids[row],
            effect="not used",
            **context.about,
        )
    if target is not None and way.source_crs is not None:
        _warn_of_target(told.moved_bounds, target, context, log)


def total_bounds(boxes: Boxes) -> Bounds | None:
    """The box of boxes; None where there is none."""
    held = boxes[np.isfinite(boxes).all(axis=1)]
    if not len(held):
        return None
    low, high = held[:, :2].min(axis=0), held[:, 2:].max(axis=0)
    return (float(low[0]), float(low[1]), float(high[0]), float(high[1]))


def _source_crs(
    bounds: Bounds | None,
    file_crs: CRS | None,
    target: CRS | None,
    context: Context,
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


def _where(context: Context) -> str:
    return context.record.path + (f", layer {context.record.layer}" if context.record.layer else "")


def _contradictions(
    boxes: Boxes, ids: list[str], source: CRS, context: Context, log: IssueLog
) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Records whose coordinates their CRS cannot hold; refuse where most are such."""
    out = np.zeros(len(boxes), dtype=bool)
    bounds = total_bounds(boxes)
    if bounds is None or not check_coordinates(source, *grid(bounds, 9)).any():
        return out
    rows = np.flatnonzero(np.isfinite(boxes).all(axis=1))
    box = boxes[rows]
    bad = check_coordinates(source, box[:, 0], box[:, 1])
    bad |= check_coordinates(source, box[:, 2], box[:, 3])
    if not bad.any():
        return out
    if bad.mean() > 0.5 or bad.sum() == len(rows):
        codes = suggestions_for_numbers(bounds, near=context.near)
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
    out[rows[bad]] = True
    return out


def _pair(bounds: Bounds, at: int) -> str:
    return f"({bounds[at]:.10g}, {bounds[at + 1]:.10g})"


def _working_crs(
    source: CRS, target: CRS | None, bounds: Bounds | None, context: Context, log: IssueLog
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


def _warn_of_target(bounds: Bounds | None, target: CRS, context: Context, log: IssueLog) -> None:
    """Say that nothing may be measured in a target of degrees or of distorted angles.

    A scale that is off far from the work is no fault of the target's: layers reach further.
    """
    reason = fit_to_measure(target, bounds) if bounds is not None else ""
    if reason and "the scale of" not in reason:
        effect = "measuring in it is refused"
        log.add("warning", "unfit_crs", f"{reason}.", effect=effect, **context.about)


def _notes_on(operation: Operation, context: Context, log: IssueLog) -> None:
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
