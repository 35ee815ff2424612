"""What is said about a site before anything is measured: layers elsewhere, extents, accuracy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from wetgis.errors import CrsError, InputError
from wetgis.issuelog import Issue
from wetgis.schema import DETERMINING, EPS_FT, EPS_SQFT, SUBJECT_LAYERS

if TYPE_CHECKING:
    from pyproj import CRS

    from wetgis.sitelayers import RasterLayer, SiteLayer

__all__ = [
    "FAR_FT",
    "Bounds",
    "far_or_apart",
    "layer_notes",
    "reaching",
    "refuse_if_strict",
    "side_by_side",
]

Bounds = tuple[float, float, float, float]
#: A layer further from the subjects than 25 miles is not about them.
FAR_FT = 25 * 5280.0
_EXAMPLES = 5
_REPAIRS = ("repaired", "collapsed", "unclosed_ring")


def bounds_of(layers: Iterable[SiteLayer]) -> Bounds | None:
    """The bounding box of all geometries of some layers; None where there are none."""
    boxes = [box for layer in layers if (box := layer.bounds) is not None]
    if not boxes:
        return None
    west, south, east, north = zip(*boxes, strict=True)
    return min(west), min(south), max(east), max(north)


def gap(a: Bounds, b: Bounds) -> float:
    """The distance between two boxes, 0 where they meet.

    Examples
    --------
    >>> gap((0, 0, 1, 1), (4, 5, 6, 6))
    5.0
    """
    dx = max(a[0] - b[2], b[0] - a[2], 0.0)
    dy = max(a[1] - b[3], b[1] - a[3], 0.0)
    return float((dx * dx + dy * dy) ** 0.5)


def far_or_apart(
    kind: str, bounds: Bounds | None, subjects: Bounds | None, *, reach_ft: float, ft: float,
    file: str = "",
) -> list[Issue]:  # fmt: skip
    """An InputError for a layer more than 25 miles from the subjects; a warning for one apart.

    A layer within the legal reach of the subjects is about them, though its box may not overlap.
    """
    if bounds is None or subjects is None:
        return []
    distance = gap(bounds, subjects) * ft
    if distance > FAR_FT:
        raise InputError(
            f"the layer '{kind}' lies {distance / 5280:,.0f} miles from the subjects.",
            needed="layers within 25 miles of the parcels or footprints",
            mend="see whether it is the right file, and whether its coordinate system is stated"
            " rightly (source_crs)",
            where=file,
        )
    if distance <= reach_ft:
        return []
    return [
        Issue("warning", "no_overlap", f"the layer '{kind}' does not overlap the subjects: it lies"
              f" {distance:,.0f} ft from them", layer=kind, file=file,
              effect="its measures are zero")
    ]  # fmt: skip


def side_by_side(
    layers: Mapping[str, SiteLayer],
    rasters: Mapping[str, RasterLayer],
    crs: CRS,
    *,
    reach_ft: float,
) -> list[Issue]:
    """Each layer against the subjects: an error where it is far, a warning where it is apart."""
    from wetgis.crs import ft_per_unit

    ft = ft_per_unit(crs)
    subjects = bounds_of(layers[k] for k in SUBJECT_LAYERS if k in layers)
    parcels = bounds_of([layers["parcels"]]) if "parcels" in layers else None
    issues = []
    for kind, layer in layers.items():
        if kind == "parcels":
            continue
        against = parcels if kind == "footprints" else subjects
        file = layer.sources[0].path if layer.sources else ""
        box = bounds_of([layer])
        issues += far_or_apart(kind, box, against, reach_ft=reach_ft, ft=ft, file=file)
    for kind, raster in rasters.items():
        box = raster_bounds(raster, crs)
        file = raster.sources[0].path if raster.sources else ""
        issues += far_or_apart(kind, box, subjects, reach_ft=reach_ft, ft=ft, file=file)
    return issues


def reaching(
    layers: Mapping[str, SiteLayer], *, reach_ft: float, ft: float
) -> list[Issue]:  # fmt: skip
    """A warning for each W or WC layer without an extent whose box subjects reach beyond."""
    import numpy as np

    issues = []
    subjects = [layers[k] for k in SUBJECT_LAYERS if k in layers]
    for kind in DETERMINING:
        layer = layers.get(kind)
        if layer is None or layer.extent is not None or not subjects:
            continue
        box = bounds_of([layer])
        if box is None:
            continue
        d = reach_ft / ft
        slack = EPS_FT / ft
        beyond: list[str] = []
        for subject in subjects:
            b = subject.boxes
            with np.errstate(invalid="ignore"):
                out = (b[:, 0] - d < box[0] - slack) | (b[:, 1] - d < box[1] - slack)
                out |= (b[:, 2] + d > box[2] + slack) | (b[:, 3] + d > box[3] + slack)
            if out.any():
                beyond += subject.ids(np.flatnonzero(out))
        if beyond:
            issues.append(_beyond_box(kind, beyond, reach_ft))
    return issues


def _beyond_box(kind: str, beyond: list[str], reach_ft: float) -> Issue:
    return Issue(
        "warning",
        "extent_reached",
        f"{len(beyond)} subjects reach, with {reach_ft:g} ft, beyond the bounding box of the layer"
        f" '{kind}', whose extent is not stated: {some(beyond)}",
        layer=kind,
        record_id=beyond[0] if len(beyond) == 1 else "",
        effect="features beyond the box would not be known; state where the layer is complete"
        f" (layers.{kind}.extent)",
    )


def some(ids: Sequence[str]) -> str:
    """The first few ids, as text."""
    return ", ".join(ids[:_EXAMPLES]) + (", ..." if len(ids) > _EXAMPLES else "")


def layer_notes(layers: Mapping[str, SiteLayer]) -> list[Issue]:
    """A note for each determining layer some of whose features have no stated accuracy.

    The reader says so where none has.
    """
    issues = []
    for kind in DETERMINING:
        layer = layers.get(kind)
        if layer is None or any(i.code == "no_accuracy" for i in layer.issues):
            continue
        unknown = layer.frame["accuracy_ft"].isna()
        if unknown.any():
            text = f"{int(unknown.sum())} of {len(unknown)} features have no stated accuracy."
            effect = "no interval is given for what is measured from them"
            issues.append(Issue("note", "no_accuracy", text, layer=kind, effect=effect))
    return issues


def refuse_if_strict(layers: Mapping[str, SiteLayer], *, ft: float) -> None:
    """With ``strict``: raise on a ballpark transformation, a repaired W or WC, unmapped ground."""
    for kind, layer in layers.items():
        for issue in layer.issues:
            if issue.code == "ballpark":
                raise CrsError(
                    issue.message,
                    needed="a transformation of known accuracy (strict = true)",
                    mend="install the grid, deliver the layer in another datum, or strict = false",
                    where=issue.file or kind,
                )
            if kind in DETERMINING and issue.code in _REPAIRS:
                raise InputError(
                    f"the layer '{kind}' has a repaired feature '{issue.record_id}':"
                    f" {issue.message}.",
                    needed="valid wetlands and watercourses (strict = true)",
                    mend="correct the layer (`wetgis check --fix` writes a repaired copy), or"
                    " strict = false",
                    where=issue.file or kind,
                )
    for kind in DETERMINING:
        if kind in layers and layers[kind].extent is not None:
            _refuse_unmapped(layers, kind, ft)


def _refuse_unmapped(layers: Mapping[str, SiteLayer], kind: str, ft: float) -> None:
    import shapely

    extent = layers[kind].extent
    shapely.prepare(extent)
    for name in SUBJECT_LAYERS:
        if name not in layers:
            continue
        frame = layers[name].frame
        geoms = frame.geometry.to_numpy()
        out = ~shapely.covers(extent, geoms) & ~shapely.is_missing(geoms)
        rest = shapely.difference(geoms[out], extent)
        seen = (shapely.area(rest) * ft**2 > EPS_SQFT) | (shapely.length(rest) * ft > EPS_FT)
        # a point has neither area nor length: it is out where it is not covered
        seen |= shapely.get_dimensions(geoms[out]) == 0
        ids = list(frame["id"][out][seen])
        if ids:
            raise InputError(
                f"{len(ids)} {name} lie on ground that '{kind}' does not map: {some(ids)}.",
                needed=f"subjects inside the extent of '{kind}' (strict = true)",
                mend=f"give a layer that covers them, correct layers.{kind}.extent, or"
                " strict = false",
            )


def raster_bounds(layer: RasterLayer, crs: CRS) -> Bounds | None:
    """The bounding box of a raster in the working CRS; None where its own CRS is not known."""
    import numpy as np
    from pyproj import Transformer

    from wetgis.crs import as_crs
    from wetgis.rasters.files import open_tile

    found = []
    for path in layer.paths:
        with open_tile(str(path)) as data:
            if data.crs is None:
                return None
            own = as_crs(data.crs.to_wkt(), where=str(path))
            to = Transformer.from_crs(own, crs, always_xy=True)
            found.append(to.transform_bounds(*data.bounds))
    box = np.array(found)
    if not np.isfinite(box).all():
        return None
    x, y = box[:, [0, 2]], box[:, [1, 3]]
    return float(x.min()), float(y.min()), float(x.max()), float(y.max())
