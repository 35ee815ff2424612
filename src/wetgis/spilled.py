"""A source that is read with its geometries going to disk."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wetgis.geometryfile import GeometryFile, GeometryWriter

if TYPE_CHECKING:
    import geopandas as gpd
    import pandas as pd
    from pyproj import CRS

    from wetgis.sources.keys import LayerKeys
    from wetgis.sources.spilling import LoadedTo

__all__ = ["Spilled", "spill"]


@dataclass(frozen=True, eq=False)
class Spilled:
    """A source on disk. ``table``: all of its columns but the geometries."""

    table: pd.DataFrame
    shapes: GeometryFile
    crs: CRS

    def frame(self, rows: Any = None) -> gpd.GeoDataFrame:
        """Some rows, or all, in memory."""
        import geopandas as gpd

        index = np.arange(len(self.table))[slice(None) if rows is None else rows]
        table = self.table.iloc[index]
        shapes = gpd.GeoSeries(self.shapes.take(index), table.index, crs=self.crs)
        return gpd.GeoDataFrame(table, geometry=shapes)

    def box(self) -> gpd.GeoDataFrame:
        """The box of all rows as a frame of one; without a row where none has a geometry."""
        import geopandas as gpd
        import shapely

        boxes = self.shapes.boxes
        boxes = boxes[np.isfinite(boxes).all(axis=1)]
        corners = [(*boxes[:, :2].min(axis=0), *boxes[:, 2:].max(axis=0))] if len(boxes) else []
        return gpd.GeoDataFrame(geometry=[shapely.box(*c) for c in corners], crs=self.crs)


def spill(
    source: Any, kind: str, keys: LayerKeys, crs: Any, folder: Path, base: Path | None
) -> tuple[LoadedTo, Spilled]:
    """Read a source, its geometries into a folder; what the reader said, and the rows."""
    from wetgis.sources.spilling import load_to

    shutil.rmtree(folder, ignore_errors=True)
    writer = GeometryWriter(folder)
    loaded = load_to(source, kind, keys, crs, writer, base=base)
    return loaded, Spilled(loaded.table, writer.close(), loaded.crs)
