"""Does this installation work: each GDAL, PROJ and GEOS is asked for a small answer that is known.

Three libraries bring a GDAL and a PROJ of their own into one process, and each can be broken by
itself: by a foreign data folder, by a wheel of another system, by a grid that is not there.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Finding", "examine"]

#: White Plains, longitude and latitude.
POINT = (-73.7629, 41.034)
TOLERANCE_FT = 0.01
NEW_YORK = (-79.8, 40.4, -71.8, 45.1)


@dataclass(frozen=True)
class Finding:
    """One thing that was tried."""

    name: str
    ok: bool
    detail: str


def examine() -> list[Finding]:
    """Try every library once.

    Returns
    -------
    list of Finding
        In a fixed order; nothing is raised.
    """
    trials: list[tuple[str, Callable[[], str]]] = [
        ("python", _python),
        ("GEOS (shapely)", _geos),
        ("PROJ (pyproj)", _pyproj),
        ("GDAL (pyogrio)", _pyogrio),
        ("GDAL and PROJ (rasterio)", _rasterio),
        ("GDAL and PROJ (fiona)", _fiona),
        ("libspatialindex (rtree)", _rtree),
        ("numba", _numba),
        ("pyarrow", _pyarrow),
        ("samples", _samples),
        ("law packs", _packs),
    ]
    return [_tried(name, trial) for name, trial in trials]


def _tried(name: str, trial: Callable[[], str]) -> Finding:
    try:
        return Finding(name, True, trial())
    except Exception as error:  # whatever a broken library throws is the finding
        first = (str(error).splitlines() or [""])[0]
        return Finding(name, False, f"{type(error).__name__}: {first}")


def _expect(condition: bool, said: str) -> None:
    if not condition:
        raise RuntimeError(said)


def _python() -> str:
    _expect(sys.version_info >= (3, 11), "Python 3.11 or newer is needed")
    return f"{sys.version.split()[0]} on {sys.platform}"


def _geos() -> str:
    import shapely

    ring = shapely.box(0, 0, 10, 10).difference(shapely.box(4, 4, 6, 6))
    _expect(shapely.area(ring) == 96.0, "a square less a square has another area")
    return f"shapely {shapely.__version__}, GEOS {shapely.geos_version_string}"


def _pyproj() -> str:
    import pyproj
    from pyproj.aoi import AreaOfInterest
    from pyproj.transformer import TransformerGroup

    forward = pyproj.Transformer.from_crs(4269, 2260, always_xy=True)
    back = pyproj.Transformer.from_crs(2260, 4269, always_xy=True)
    lon, lat = back.transform(*forward.transform(*POINT))
    near = abs(lon - POINT[0]) < 1e-9 and abs(lat - POINT[1]) < 1e-9
    _expect(near, "EPSG:2260 and back is another point")
    with warnings.catch_warnings():  # what is missing is said below
        warnings.simplefilter("ignore")
        datum = TransformerGroup(
            4267, 4269, always_xy=True, area_of_interest=AreaOfInterest(*NEW_YORK)
        )
    grids = {g.short_name for o in datum.unavailable_operations for g in o.grids if not g.available}
    missing = sorted(name for name in grids if name.startswith("us_"))
    text = f"pyproj {pyproj.__version__}, PROJ {pyproj.proj_version_str}"
    return text + (f"; NAD27 is rough without {', '.join(missing)}" if missing else "")


def _pyogrio() -> str:
    import geopandas
    import pyogrio
    import shapely

    frame = geopandas.GeoDataFrame({"id": ["007"]}, geometry=[shapely.box(0, 0, 1, 1)], crs=2260)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "doctor.gpkg"
        pyogrio.write_dataframe(frame, path)
        again = pyogrio.read_dataframe(path)
    _expect(
        list(again["id"]) == ["007"] and again.crs == frame.crs, "a GeoPackage came back changed"
    )
    return f"pyogrio {pyogrio.__version__}, GDAL {pyogrio.__gdal_version_string__}"


def _rasterio() -> str:
    import pyproj
    import rasterio
    from rasterio.crs import CRS
    from rasterio.warp import transform

    xs, ys = transform(CRS.from_epsg(4269), CRS.from_epsg(2260), [POINT[0]], [POINT[1]])
    x, y = pyproj.Transformer.from_crs(4269, 2260, always_xy=True).transform(*POINT)
    near = abs(xs[0] - x) < TOLERANCE_FT and abs(ys[0] - y) < TOLERANCE_FT
    _expect(near, "rasterio's PROJ and pyproj's put a point at different places")
    return f"rasterio {rasterio.__version__}, GDAL {rasterio.__gdal_version__}"


def _fiona() -> str:
    try:
        import fiona
    except ImportError:
        _expect(sys.version_info >= (3, 14), "fiona is not installed")
        return "not installed: there is no wheel for this Python; pyogrio's stream is used"
    schema = {"geometry": "Point", "properties": {"id": "str"}}
    row = {"geometry": {"type": "Point", "coordinates": (1.0, 2.0)}, "properties": {"id": "007"}}
    with fiona.MemoryFile() as memory:
        with memory.open(driver="GPKG", schema=schema, crs="EPSG:2260") as out:
            out.write(row)
        with memory.open() as again:
            _expect(next(iter(again))["properties"]["id"] == "007", "a record came back changed")
            _expect(bool(again.crs), "the coordinate system was lost")
    return f"fiona {fiona.__version__}, GDAL {fiona.__gdal_version__}"


def _rtree() -> str:
    import rtree

    index = rtree.index.Index()
    index.insert(7, (0.0, 0.0, 1.0, 1.0))
    _expect(list(index.intersection((0.5, 0.5, 2.0, 2.0))) == [7], "an index lost its box")
    return f"rtree {rtree.__version__}"


def _numba() -> str:
    import numba

    double = numba.njit(lambda x: 2.0 * x)
    _expect(double(21.0) == 42.0, "a compiled function gives another number")
    return f"numba {numba.__version__}, {numba.config.NUMBA_NUM_THREADS} threads"


def _pyarrow() -> str:
    import pyarrow

    return f"pyarrow {pyarrow.__version__}"


def _samples() -> str:
    from wetgis.samples import sample_sites

    return ", ".join(path.parent.name for path in sample_sites())


def _packs() -> str:
    from wetgis.packs import list_packs, load_pack

    names = list(list_packs())
    for name in names:
        load_pack(name)
    _expect(bool(names), "no pack is installed")
    return ", ".join(names)
