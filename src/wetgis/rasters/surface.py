"""One or several raster files as one surface: heights, of which the slope is taken, or slopes.

A surface keeps paths and what the files say about themselves, no cells: it can be pickled. Files
are opened when they are first read, anew in each thread and process, which share nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from wetgis.errors import InputError, UsageError
from wetgis.issuelog import Issue
from wetgis.rasters.files import Handles, Tile, join_tiles
from wetgis.rasters.horn import Grid, blank, decode, horn_slope
from wetgis.rasters.zones import summarise
from wetgis.rasters.zunit import Band, band_of

if TYPE_CHECKING:
    from pyproj import CRS

    from wetgis.provenance import SourceRecord

__all__ = ["Reader", "Surface", "open_surface"]

Floats = NDArray[np.float64]
Noise = NDArray[np.float32]
Rows = tuple[int, int]

#: Kinds of a surface: heights whose slope is taken; slopes; numbers as they are.
KINDS = {"dem": "heights", "dem_proposed": "heights", "slope": "slopes", "values": "values"}
#: GDAL's cache of decoded blocks, bytes: a row of windows of a raster stored in whole rows.
CACHE_MIN, CACHE_MAX = 32 << 20, 512 << 20
_NO_MASK = np.ones((1, 1), np.uint8)


@dataclass(frozen=True)
class Surface:
    """Raster files of one kind that lie on one grid, as one surface.

    Attributes
    ----------
    kind : str
        ``dem``, ``dem_proposed`` (the slope of their heights is taken), ``slope`` (percent as it
        is), ``values`` (numbers as they are).
    tiles : tuple of Tile
        In the order given: the first that knows a cell wins.
    grid : Grid
        That holds all tiles.
    band : Band
        What the numbers are, and which of them are impossible.
    issues : tuple of Issue
        What the files' own words left open.
    handles : Handles
        Files that are open.
    """

    kind: str
    tiles: tuple[Tile, ...]
    grid: Grid
    band: Band
    issues: tuple[Issue, ...] = ()
    handles: Handles = field(default_factory=Handles, repr=False, compare=False)

    @cached_property
    def source(self) -> tuple[SourceRecord, ...]:
        """What was read, a record a file; digests are computed on first use."""
        from wetgis.projection import label
        from wetgis.provenance import SourceRecord, sha256

        return tuple(
            SourceRecord(
                path=tile.path,
                sha256=sha256(tile.path),
                layer=self.kind,
                driver=tile.driver,
                bounds=tile.grid.bounds,
                crs=label(tile.grid.crs),
            )
            for tile in self.tiles
        )

    @cached_property
    def boxes(self) -> NDArray[np.int64]:
        """First row and column, end row and column of each tile in the grid."""
        return np.array(
            [(t.row, t.col, t.row + t.height, t.col + t.width) for t in self.tiles], np.int64
        )

    @cached_property
    def row_bytes(self) -> int:
        """Bytes of the widest tile's row."""
        return max(tile.width * tile.itemsize for tile in self.tiles)

    def reader(self) -> Reader:
        """Opens the files; use it in a ``with`` statement, in one thread."""
        return Reader(self)

    def zonal(
        self, geometries: NDArray[np.object_], crs: CRS, above_pct: float | None = None
    ) -> dict[str, Floats]:
        """What the surface says under each of many shapes, in one call.

        Parameters
        ----------
        geometries : array of geometries
            2-D and valid; polygons, lines or points. None and empty ones give NaN.
        crs : CRS
            Theirs. The shapes go to the grid, never the grid to the shapes.
        above_pct : float, optional
            Threshold; a value exceeds it where it is larger by more than its noise.

        Returns
        -------
        dict of float64 arrays
            ``covered_frac`` (on some file's cells), ``known_frac`` (with a value), ``unknown_frac``
            (the rest), ``above_frac``, ``impossible_frac`` (on cells with an impossible number):
            shares of the shape's own area, for lines of their length, for points of their number;
            ``mean_pct``, ``max_pct``.
            Where nothing is known, ``above_frac``, ``mean_pct`` and ``max_pct`` are NaN.
        """
        above = np.nan if above_pct is None else float(above_pct)
        with self.reader() as reader:
            got = summarise(self.grid, reader.values, np.asarray(geometries, object), crs, above)
        return {
            "covered_frac": got["covered"],
            "known_frac": got["known"],
            "unknown_frac": got["unknown"],
            "above_frac": got["above"],
            "impossible_frac": got["impossible"],
            "mean_pct": got["mean"],
            "max_pct": got["max"],
        }

    def heights(self, geometries: NDArray[np.object_], crs: CRS) -> Floats:
        """Mean height under each of many shapes, US survey feet; NaN where it is not known."""
        from wetgis.units import FT_PER_METRE

        numbers = replace(self, kind="values")
        found: Floats = numbers.zonal(geometries, crs)["mean_pct"]
        return found * self.band.metres * FT_PER_METRE


class Reader:
    """Windows of a surface, with a modest cache of decoded blocks.

    ``impossible`` holds examples of the impossible values met so far.
    """

    def __init__(self, surface: Surface) -> None:
        self.surface = surface
        self.impossible: set[float] = set()
        self._stack = ExitStack()

    def __enter__(self) -> Reader:
        import rasterio

        self._stack.enter_context(rasterio.Env(GDAL_CACHEMAX=self._cache_bytes()))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _cache_bytes(self) -> int:
        return min(max(1200 * self.surface.row_bytes, CACHE_MIN), CACHE_MAX)

    def values(self, rows: Rows, cols: Rows) -> tuple[Floats, Noise]:
        """Slope in percent, or the numbers as they are, and their noise; NaN where not known."""
        band = self.surface.band
        if KINDS[self.surface.kind] != "heights":
            values, noise = self.cells(rows, cols)
            return band.to_percent(values), noise
        grid = self.surface.grid
        heights, why = self.cells((rows[0] - 1, rows[1] + 1), (cols[0] - 1, cols[1] + 1))
        matrix = grid.gradient(rows[0], rows[1], band.metres)
        if matrix.shape[1] > 1:
            matrix = np.ascontiguousarray(matrix[:, cols[0] : cols[1]])
        return horn_slope(heights, why, matrix, 100.0 * band.metres / grid.cell_metres)

    def cells(self, rows: Rows, cols: Rows) -> tuple[Floats, Noise]:
        """Cells as they are in the files, scaled; rows and columns may reach beyond the grid."""
        values, noise = blank(rows[1] - rows[0], cols[1] - cols[0])
        boxes = self.surface.boxes
        on = (boxes[:, :2] < (rows[1], cols[1])) & (boxes[:, 2:] > (rows[0], cols[0]))
        for k in np.flatnonzero(on.all(axis=1)):
            tile = self.surface.tiles[k]
            r0, r1 = max(rows[0], tile.row), min(rows[1], tile.row + tile.height)
            c0, c1 = max(cols[0], tile.col), min(cols[1], tile.col + tile.width)
            window = c0 - tile.col, r0 - tile.row, c1 - c0, r1 - r0
            self._fill(tile, window, (r0 - rows[0], c0 - cols[0]), (values, noise))
        return values, noise

    def _fill(
        self,
        tile: Tile,
        window: tuple[int, int, int, int],
        corner: tuple[int, int],
        into: tuple[Floats, Noise],
    ) -> None:
        """One tile's cells into a window of the surface, from its row and column ``corner`` on."""
        from rasterio.windows import Window

        data = self.surface.handles.get(tile.path)
        where = Window(*window)
        try:
            raw = data.read(1, window=where).astype(np.float64)
            own = data.read_masks(1, window=where) if tile.masked else _NO_MASK
        except Exception as error:
            raise InputError(
                "the raster's cells cannot be read.", mend="check the file", where=tile.path
            ) from error
        band = self.surface.band
        nodata = np.nan if tile.nodata is None else tile.nodata
        declared = float(tile.nodata is not None)
        rules = np.array([nodata, band.low, band.high, tile.scale, tile.offset, declared])
        bad, example = decode(raw, own, rules, corner, *into)
        if bad:
            self.impossible.add(float(example))


def open_surface(source: Any, *, kind: str = "", z_unit: str | None = None) -> Surface:
    """Raster files as one surface, after what they say about themselves was checked.

    Parameters
    ----------
    source : path, sequence of paths, or RasterLayer
        Several files must share one CRS and lie on one grid; where they overlap, the first
        that knows a cell wins.
    kind : str
        ``dem``, ``dem_proposed``, ``slope`` or ``values``; a layer's own where it is one.
    z_unit : str, optional
        ``m``, ``ft`` or ``us-ft``, for heights; where the file contradicts, this holds and an
        issue says so.

    Returns
    -------
    Surface

    Raises
    ------
    CrsError
        Without a CRS of the earth, or where the files' CRSs differ.
    InputError
        A file that cannot be read, files that do not share a grid, heights without a unit.
    """
    if hasattr(source, "paths"):
        kind, z_unit, source = kind or source.kind, z_unit or source.z_unit, source.paths
    if kind not in KINDS:
        raise UsageError(f"'{kind}' is no kind of surface.", needed=", ".join(KINDS))
    paths: Sequence[Any] = [source] if isinstance(source, (str, Path)) else list(source)
    if not paths:
        raise InputError("no raster file was named.", needed="at least one path")
    tiles, grid, words, issues = join_tiles([str(p) for p in paths], kind)
    band, more = band_of(words, kind=kind, use=KINDS[kind], stated=z_unit)
    return Surface(kind, tiles, grid, band, (*issues, *more))
