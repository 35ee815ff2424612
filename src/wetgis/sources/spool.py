"""Layers that GDAL reads, their geometries laid aside on disk as they come.

GDAL reads a file once, from its beginning to its end. What is decided about a layer as a whole
needs its geometries before they can be moved, so that they lie in a file of Arrow meanwhile.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wetgis.sources.containers import Found, opened
from wetgis.sources.decode import RawLayer, bare_layer, frame_columns, ogr_options
from wetgis.sources.wkb import CURVES, wkb_kinds

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

__all__ = ["spool_layer"]


@dataclass(frozen=True)
class Spool:
    """The WKB of a layer in a file of its own."""

    path: Path

    def batches(self) -> Iterator[pa.Array]:
        """See `wetgis.sources.steps.Stream`."""
        import pyarrow as pa

        with pa.OSFile(str(self.path)) as file, pa.ipc.open_file(file) as held:
            for i in range(held.num_record_batches):
                yield held.get_batch(i).column(0)


def spool_layer(found: Found, where: str | None, chunk: int, folder: Path) -> RawLayer | None:
    """A layer by GDAL's Arrow stream, its geometries in a file in ``folder``.

    None where the stream is not sound, or breaks, or where there is more to be done than to read
    it: then the layer is to be read as a whole, which knows what to do.
    """
    if found.dataset.ending == ".dxf":
        return None
    try:
        with opened(found.dataset) as target:
            read = _spooled(target, ogr_options(found, where), chunk, folder)
            return None if read is None else _layer(read, target, found)
    except Exception:  # whatever it is, reading as a whole finds it again, and tells
        return None


def _layer(read: tuple[pd.DataFrame, str | None, Spool], target: str, found: Found) -> RawLayer:
    frame, crs, spool = read
    raw = bare_layer(frame, crs, target, found)
    raw.stream = spool
    return raw


def _spooled(
    target: str, options: dict[str, Any], chunk: int, folder: Path
) -> tuple[pd.DataFrame, str | None, Spool] | None:
    """The attributes of a layer, its CRS as text, and where its geometries are."""
    import pandas as pd
    import pyarrow as pa
    from pyogrio.raw import open_arrow

    _, path = tempfile.mkstemp(".arrow", dir=folder)
    wkb = pa.schema([("wkb", pa.large_binary())])
    with (
        open_arrow(target, use_pyarrow=True, batch_size=chunk, **options) as (meta, reader),
        pa.OSFile(path, "wb") as file,
        pa.ipc.new_file(file, wkb) as spool,
    ):
        name = meta["geometry_name"] or "wkb_geometry"
        if name not in reader.schema.names:
            return None
        count, attributes = 0, []
        for batch in reader:
            batch.validate(full=True)
            column = batch.column(name).cast(pa.large_binary())
            if not _as_it_stands(column):
                return None
            spool.write_batch(pa.record_batch([column], schema=wkb))
            count += len(batch)
            attributes.append(_copied(batch.drop_columns([name])))
        schema = reader.schema.remove(reader.schema.get_field_index(name))
    if schema.names:
        frame = frame_columns(pa.Table.from_batches(attributes, schema))
    else:
        frame = pd.DataFrame(index=pd.RangeIndex(count))
    return frame, meta["crs"], Spool(Path(path))


def _as_it_stands(column: pa.Array) -> bool:
    """Whether WKB can be taken as it comes: no curves, and none without a byte.

    FlatGeobuf's stream gives no bytes where a record has no geometry, and wrong offsets after
    that, but not where the batch ends there.
    """
    import pyarrow.compute as pc

    shortest = pc.min(pc.binary_length(column)).as_py()
    return shortest != 0 and not wkb_kinds(column) & CURVES


def _copied(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A batch in memory of its own: it would keep the geometries that it came with."""
    import numpy as np

    return batch.take(np.arange(len(batch))) if batch.num_columns else batch
