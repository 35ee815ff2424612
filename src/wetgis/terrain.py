"""Slope of a height raster on its own grid, and what a raster says under subjects.

Nothing is resampled: polygons go to the grid. Ground without a known height is unknown, never flat.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from wetgis.errors import CrsError, OutputError, UsageError
from wetgis.issuelog import Issue, IssueLog, issue_frame
from wetgis.rasters.coverage import BAD, VOID
from wetgis.rasters.horn import Grid
from wetgis.rasters.surface import Surface, open_surface
from wetgis.rasters.zones import Read, summarise

if TYPE_CHECKING:
    import geopandas
    import pandas
    from pyproj import CRS


__all__ = ["Slope", "Surface", "open_surface", "slope", "zonal"]

ZONAL_COLUMNS = ("area_sqft", "unknown_sqft", "above_sqft", "mean", "max")
#: Cells that are done at once.
STRIP_CELLS = 1 << 20
#: Written for NaN in a GeoTIFF: every reader knows it.
NODATA = -9999.0


@dataclass(frozen=True, eq=False)
class Slope:
    """Slope in percent (100 x rise / run) on the grid of the heights it was made from.

    Attributes
    ----------
    array : float64 array (rows, columns)
        Percent; NaN where not known: at the edges, on cells without data and on all that touch
        one.
    transform : Affine
        Of the heights' grid, as rasterio has it.
    crs : CRS
        Of the grid, horizontal.
    issues : DataFrame
        What the reader of the numbers must know: ``severity``, ``code``, ``message`` ...
    noise : float32 array, optional
        By how much, in percentage points, heights stored as float32 can turn each cell's slope:
        the float32 step of the highest of its nine heights over one cell. A slope exceeds a
        threshold where it is larger by more than this and by more than 0.001.
    """

    array: NDArray[np.float64]
    transform: Any
    crs: CRS
    issues: pandas.DataFrame
    noise: NDArray[np.float32] | None = None


def slope(
    dem: str | Path | list[str | Path],
    out: str | Path | None = None,
    *,
    z_unit: str | None = None,
) -> Slope:
    """Slope of a height raster in percent, by Horn's 3 x 3 window, on the raster's own grid.

    Heights and cells are brought to one unit. On a grid in degrees, and in a projection that
    stretches lengths by more than 0.2 % (Web Mercator, Conus Albers), a cell's sides are
    those of the ground, row by row; otherwise the grid's own lengths hold.

    Parameters
    ----------
    dem : path or list of paths
        A raster of heights; several that lie on one grid are one surface, and where they overlap
        the first that knows a cell wins. The first band is read, with its scale and offset.
    out : path, optional
        A GeoTIFF (float64, unit ``percent``) to write as well.
    z_unit : {"m", "ft", "us-ft"}, optional
        Unit of the heights, where the file does not say (by its band's unit or its vertical
        CRS). Where the file says otherwise, this holds, and an issue says so.

    Returns
    -------
    Slope
        Percent, NaN where not known: edges, cells without data (declared, masked, NaN, or lower
        than -500 m or higher than 9000 m) and the cells that touch them.

    Raises
    ------
    CrsError
        The raster has no CRS, or one that contradicts its numbers.
    InputError
        No such file, no raster, no unit of height, or several files off one grid.
    OutputError
        ``out`` cannot be written.

    Notes
    -----
    Horn, B. K. P. (1981), Hill shading and the reflectance map, Proc. IEEE 69(1), 14-47.

    Examples
    --------
    >>> import tempfile, numpy as np, rasterio
    >>> from rasterio.transform import from_origin
    >>> path = tempfile.mkdtemp() + "/plane.tif"
    >>> heights = np.tile(3.0 * np.arange(5), (4, 1))  # 3 ft up every 10 ft
    >>> with rasterio.open(path, "w", driver="GTiff", width=5, height=4, count=1, dtype="float64",
    ...                    crs="EPSG:2260", transform=from_origin(717000, 783000, 10, 10)) as data:
    ...     data.write(heights, 1)
    >>> slope(path, z_unit="us-ft").array.round(6)
    array([[nan, nan, nan, nan, nan],
           [nan, 30., 30., 30., nan],
           [nan, 30., 30., 30., nan],
           [nan, nan, nan, nan, nan]])
    """
    from rasterio import Affine

    surface = open_surface(dem, kind="dem", z_unit=z_unit)
    if out is not None:
        _refuse_input(surface, Path(out))
    grid = surface.grid
    array = np.empty((grid.height, grid.width))
    noise = np.empty((grid.height, grid.width), np.float32)
    step = max(1, STRIP_CELLS // grid.width)
    with surface.reader() as reader:
        for row in range(0, grid.height, step):
            rows = row, min(row + step, grid.height)
            array[rows[0] : rows[1]], noise[rows[0] : rows[1]] = reader.values(
                rows, (0, grid.width)
            )
        issues = [*surface.issues, *_void_issues(noise, reader.impossible, surface)]
    found = Slope(array, Affine(*grid.transform), grid.crs, issue_frame(issues), noise)
    if out is not None:
        _write(found, Path(out))
    return found


def _void_issues(noise: NDArray[np.float32], examples: set[float], surface: Surface) -> list[Issue]:
    """Cells without a height, declared and impossible, counted once each."""
    about: dict[str, Any] = {"layer": surface.kind, "file": surface.tiles[0].path}
    rows = []
    bad, void = int((noise == BAD).sum()), int((noise == VOID).sum())
    if bad:
        shown = ", ".join(f"{v:.8g}" for v in sorted(examples)[:3])
        rows.append(
            Issue(
                "warning",
                "undeclared_nodata",
                f"{bad} cells hold an impossible height ({shown}) that is not declared as nodata",
                effect="taken as without data: they and the cells that touch them are unknown",
                **about,
            )
        )
    if void:
        rows.append(
            Issue(
                "note",
                "nodata",
                f"{void} cells are declared to be without data",
                effect="they and the cells that touch them are unknown",
                **about,
            )
        )
    return rows


def _refuse_input(surface: Surface, out: Path) -> None:
    for tile in surface.tiles:
        if Path(tile.path).resolve() == out.resolve():
            raise UsageError(
                "the result would be written over the input.", mend="name another file",
                where=str(out),
            )  # fmt: skip


def _write(found: Slope, out: Path) -> None:
    """As a GeoTIFF, under its final name only when it is whole."""
    import rasterio

    part = out.with_name(f".{out.name}.part")
    height, width = found.array.shape
    profile: dict[str, Any] = {
        "driver": "GTiff", "height": height, "width": width, "count": 1, "dtype": "float64",
        "crs": rasterio.crs.CRS.from_wkt(found.crs.to_wkt()), "transform": found.transform,
        "nodata": NODATA, "compress": "deflate", "predictor": 3, "tiled": True,
        "blockxsize": 256, "blockysize": 256, "bigtiff": "if_safer",
    }  # fmt: skip
    try:
        with rasterio.open(part, "w", **profile) as data:
            for row in range(0, height, 256):
                strip = found.array[row : row + 256]
                window = rasterio.windows.Window(0, row, width, len(strip))
                data.write(np.where(np.isnan(strip), NODATA, strip), 1, window=window)
            data.units = ("percent",)
            data.set_band_description(1, "slope in percent, Horn")
        os.replace(part, out)
    except (rasterio.errors.RasterioError, OSError) as error:
        part.unlink(missing_ok=True)
        raise OutputError(
            "the slope raster cannot be written.",
            needed="a folder that exists and may be written to",
            where=str(out),
        ) from error


def zonal(
    subjects: geopandas.GeoDataFrame,
    raster: Slope | str | Path | list[str | Path],
    *,
    above: float | None = None,
    z_unit: str | None = None,
) -> pandas.DataFrame:
    """What a raster says under each subject, by the exact part of each cell that it covers.

    Parameters
    ----------
    subjects : GeoDataFrame
        Polygons, lines or points of any index, in a CRS fit to measure in. They go to the raster's
        grid, long edges broken up where the CRSs differ; the raster is never warped.
    raster : Slope, or path (or a list of paths on one grid)
        A path without ``z_unit`` is a raster whose numbers are taken as they are: percents
        of a slope raster, or heights for their mean. Slopes that the file says to be in degrees,
        radians or a ratio are made percent. A path with ``z_unit`` is a raster of heights, and
        stands for ``slope(path, z_unit=z_unit)``.
    above : float, optional
        Threshold, in the raster's numbers: percent for slopes. Equal within noise is not above.
    z_unit : {"m", "ft", "us-ft"}, optional
        Unit of the heights.

    Returns
    -------
    DataFrame
        Index of ``subjects``. ``area_sqft`` (of the subject, in its own CRS), ``unknown_sqft``
        (its part without a value: nodata, cells touching it, ground off the raster),
        ``above_sqft``, and ``mean`` and ``max`` of the part that is known. Parts are fractions
        of the subject's own area. Nothing known: ``above_sqft``, ``mean`` and ``max`` are NaN.
        Lines and points have areas 0; their ``mean`` is weighted by length, ``max`` is over the
        cells they run through. A subject without usable geometry is all NaN.
        ``wetgis.issues`` of the result tells what else to know.

    Raises
    ------
    CrsError
        Subjects or raster without a CRS; subjects in one that must not be measured in.
    InputError, UsageError
        As ``slope``; ``z_unit`` with a ``Slope``.

    Examples
    --------
    >>> import geopandas, shapely, numpy as np
    >>> from rasterio import Affine
    >>> from pyproj import CRS
    >>> steep = Slope(np.array([[10.0, 50.0]]), Affine(30, 0, 717000, 0, -30, 783030),
    ...               CRS("EPSG:2260"), None)
    >>> shed = geopandas.GeoDataFrame(
    ...     geometry=[shapely.box(717028, 783010, 717036, 783018)], crs="EPSG:2260")
    >>> zonal(shed, steep, above=30)
       area_sqft  unknown_sqft  above_sqft  mean   max
    0       64.0           0.0        48.0  40.0  50.0
    """
    import pandas as pd
    import shapely

    from wetgis.crs import ft_per_unit, require_measuring_crs
    from wetgis.shapes import mend

    crs = require_measuring_crs(subjects)
    geometries = mend(np.asarray(subjects.geometry.array))
    limit = np.nan if above is None else float(above)
    log = IssueLog()
    got = _summary(geometries, crs, (raster, z_unit), limit, log)
    area = shapely.area(geometries) * ft_per_unit(crs) ** 2
    frame = pd.DataFrame(
        {
            "area_sqft": area,
            "unknown_sqft": area * got["unknown"],
            "above_sqft": area * got["above"],
            "mean": got["mean"],
            "max": got["max"],
        },
        index=subjects.index,
        columns=list(ZONAL_COLUMNS),
    )
    _coverage_issues(got, log)
    frame.attrs["wetgis"] = {"issues": log.as_json()}
    return frame


def _summary(
    geometries: NDArray[np.object_],
    crs: CRS,
    source: tuple[Any, str | None],
    above: float,
    log: IssueLog,
) -> dict[str, NDArray[np.float64]]:
    raster, z_unit = source
    if isinstance(raster, Slope):
        if z_unit is not None:
            raise UsageError("z_unit was stated for a slope that is computed already.",
                             mend="state it in slope(dem, z_unit=...)")  # fmt: skip
        grid, read = _in_memory(raster)
        return summarise(grid, read, geometries, crs, above)
    surface = open_surface(raster, kind="values" if z_unit is None else "dem", z_unit=z_unit)
    log.extend(surface.issues)
    if z_unit is None and surface.band.is_length and not np.isnan(above):
        log.add(
            "warning", "z_unit",
            f"the raster's numbers are heights in {surface.band.unit}: 'above' was compared with"
            " heights, not with slopes",
            file=surface.tiles[0].path,
            effect="for slopes, give wetgis.slope(path) or state z_unit",
        )  # fmt: skip
    with surface.reader() as reader:
        return summarise(surface.grid, reader.values, geometries, crs, above)


def _in_memory(found: Slope) -> tuple[Grid, Read]:
    """The grid of a slope, and how to read it."""
    from wetgis.crs import as_crs

    if found.crs is None:
        raise CrsError("the slope has no coordinate system.")
    t = found.transform
    height, width = found.array.shape
    transform = (float(t.a), float(t.b), float(t.c), float(t.d), float(t.e), float(t.f))
    crs = as_crs(found.crs)
    metres = float(crs.axis_info[0].unit_conversion_factor) if crs.is_projected else 1.0

    def read(
        rows: tuple[int, int], cols: tuple[int, int]
    ) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
        part = slice(*rows), slice(*cols)
        values = np.ascontiguousarray(found.array[part], np.float64)
        if found.noise is None:
            return values, np.zeros(values.shape, np.float32)
        return values, np.ascontiguousarray(found.noise[part])

    return Grid(transform, height, width, crs, metres, crs.is_geographic), read


def _coverage_issues(got: dict[str, NDArray[np.float64]], log: IssueLog) -> None:
    """Subjects beyond the raster, or on impossible cells."""
    off = int((got["covered"] < 1.0).sum())
    if off:
        log.add(
            "warning", "partial_raster", f"the raster does not cover all of {off} subjects",
            effect="what it does not cover is unknown, not flat",
        )  # fmt: skip
    bad = int((got["impossible"] > 0.0).sum())
    if bad:
        log.add(
            "warning", "undeclared_nodata",
            f"{bad} subjects lie on cells with an impossible value that is not declared as nodata",
            effect="taken as without data: they and the cells that touch them are unknown",
        )  # fmt: skip
