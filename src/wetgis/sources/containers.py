"""Where the data are: files, globs, folders, archives, and the layers inside them.

Input folders are never written to. Archives are read where they lie, within bounds; what
has to be opened in a way that would write beside it is copied to a folder of its own first.
"""

from __future__ import annotations

import fnmatch
import glob
import os
import re
import shutil
import tempfile
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, Any

import numpy as np
import pyogrio

from wetgis.errors import InputError
from wetgis.provenance import INDEX_SUFFIX
from wetgis.schema import SINGULAR
from wetgis.sources.keys import nearest

__all__ = ["Dataset", "Found", "choose_layers", "find", "list_layers", "opened", "read_bytes"]

#: Endings of data sets inside a folder or an archive.
VECTOR_ENDINGS = (
    ".shp", ".gpkg", ".geojson", ".json", ".topojson", ".fgb", ".kml", ".gml", ".gpx", ".dxf",
    ".sqlite",
)  # fmt: skip
PARQUET_ENDINGS = (".parquet", ".geoparquet", ".pq")
#: Folders that are not looked into for files: a geodatabase is one data set, an index none.
NO_DATA = (".gdb", INDEX_SUFFIX)
RASTER_ENDINGS = (".tif", ".tiff", ".img", ".asc", ".vrt", ".jp2")

#: Degrees of arc of one chord: the area of a circle comes out 0.0013 % small.
ARC_STEP = "0.5"

MAX_MEMBERS = 50_000
MAX_UNPACKED = 16 * 2**30
MAX_RATIO = 500

#: What agencies call the layer of a kind.
_AGENCY = {
    "wetlands": re.compile(r"[A-Z]{2}_Wetlands|HU8_\d{8}_Wetlands|CONUS_wet_poly"),
    "soils": re.compile(r"soilmu_a(_\w+)?|mupolygon", re.I),
    "floodplain": re.compile(r"s_fld_haz_ar", re.I),
    "watercourses": re.compile(r"nhdflowline", re.I),
}
_AGENCY["indicators"] = _AGENCY["wetlands"]


@dataclass(frozen=True)
class Dataset:
    """One thing that GDAL or pyarrow can open.

    Attributes
    ----------
    shown : str
        For people and records: the path as given, with the member of an archive behind it.
    gdal : str
        What is opened.
    file : Path
        The file or folder on disk, for its digest.
    name : str
        What the layer is called where the format has no layers of its own.
    parts : dict
        Of a shapefile whose index is missing: the parts that are there.
    """

    shown: str
    gdal: str
    file: Path
    name: str
    parts: dict[str, str] = field(default_factory=dict)

    @property
    def ending(self) -> str:
        """The file's ending, lower case."""
        return PurePosixPath(self.gdal).suffix.lower()

    @property
    def is_parquet(self) -> bool:
        """Whether it is read by pyarrow."""
        return self.ending in PARQUET_ENDINGS


@dataclass(frozen=True)
class Found:
    """One layer of a data set; ``geometry`` is None for a plain table."""

    dataset: Dataset
    layer: str
    geometry: str | None


def find(path: Any, *, base: Path | None = None) -> list[list[Dataset]]:
    """The data sets at a path, a glob or a list of them: a list for each file found.

    Raises
    ------
    InputError
        Where nothing is there.
    """
    if isinstance(path, (list, tuple)):
        if not path:
            raise InputError("the list of paths is empty.", needed="at least one file")
        return [found for one in path for found in find(one, base=base)]
    if not isinstance(path, (str, os.PathLike)):
        raise InputError(
            f"a {type(path).__name__} cannot be read as a layer.",
            needed="a path, a list of paths, or a GeoDataFrame",
        )
    text = str(path)
    if re.match(r"^[a-z][a-z0-9+.-]+://", text, re.I) or text.startswith("/vsi"):
        raise InputError(
            "wetgis reads files, not addresses.",
            needed="a path on disk",
            mend="download the file first, so that its digest can be kept",
            where=text,
        )
    full = Path(text).expanduser()
    if base is not None and not full.is_absolute():
        full = base / full
    if full.exists():
        return [_inside(full, text)]
    if any(c in text for c in "*?["):
        hits = sorted(h for h in glob.glob(str(full), recursive=True) if not _is_index(h))
        if hits:
            return [_inside(Path(h), _as_given(h, full, text)) for h in hits]
        raise InputError("no file matches this pattern.", where=text)
    raise InputError("there is no such file.", mend=_neighbours(full), where=text)


def _is_index(hit: str) -> bool:
    return any(part.endswith(INDEX_SUFFIX) for part in Path(hit).parts)


def _as_given(hit: str, full: Path, text: str) -> str:
    """A hit of a glob, written as the pattern was: relative where that was relative."""
    prefix = str(full)[: len(str(full)) - len(text)]
    return hit[len(prefix) :] if prefix and hit.startswith(prefix) else hit


def _neighbours(full: Path) -> str:
    if not full.parent.is_dir():
        return f"the folder {full.parent} is not there either"
    names = sorted(p.name for p in full.parent.iterdir())
    near = nearest(full.name, names)
    return f"check the name{near}" if near else "check the name and the folder"


def _inside(path: Path, shown: str) -> list[Dataset]:
    """The data sets in one file or folder."""
    ending = path.suffix.lower()
    if ending in RASTER_ENDINGS:
        raise InputError(
            "this is a raster.", needed="a vector layer", mend="give it as dem", where=shown
        )
    if path.is_dir():
        if ending == ".gdb" or (path / "gdb").is_file():
            return [Dataset(shown, str(path), path, path.stem)]
        return _folder(path, shown)
    if path.stat().st_size == 0:
        raise InputError("the file is empty (0 bytes).", where=shown)
    if zipfile.is_zipfile(path) and ending in {".zip", ".kmz", ".shz"}:
        return _archive(path, shown)
    if ending in {".zip", ".kmz"}:
        raise InputError(
            "this is not a zip archive, whatever its name says.",
            mend="download it again",
            where=shown,
        )
    return [Dataset(shown, str(path), path, path.stem, _shapefile_parts(path))]


def _folder(path: Path, shown: str) -> list[Dataset]:
    found = []
    for member in sorted(path.rglob("*")):
        name = f"{shown}/{member.relative_to(path).as_posix()}"
        ending = member.suffix.lower()
        if any(p.suffix.lower() in NO_DATA for p in member.relative_to(path).parents):
            continue
        if member.is_dir() and ending == ".gdb":
            found.append(Dataset(name, str(member), member, member.stem))
        elif member.is_file() and ending in (*VECTOR_ENDINGS, *PARQUET_ENDINGS):
            parts = _shapefile_parts(member)
            found.append(Dataset(name, str(member), member, member.stem, parts))
    if not found:
        raise InputError("the folder holds no vector data.", where=shown)
    return found


def _shapefile_parts(path: Path) -> dict[str, str]:
    """The parts of a shapefile whose .shx is missing; empty where nothing is wrong."""
    if path.suffix.lower() != ".shp":
        return {}
    beside = {
        p.suffix.lower(): str(p)
        for p in path.parent.iterdir()
        if p.stem == path.stem and p.is_file()
    }
    return {} if ".shx" in beside else beside


def _archive(path: Path, shown: str) -> list[Dataset]:
    """The data sets in a zip archive, whatever folders they lie in."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, OSError) as error:
        raise InputError(
            "the archive cannot be read.", mend="download it again", where=shown
        ) from error
    _bounded(members, shown)
    names = [m.filename for m in members if not m.is_dir()]
    root = f"/vsizip/{{{path.resolve()}}}"
    found: dict[str, Dataset] = {}
    for name in sorted(names):
        posix = PurePosixPath(name)
        if posix.is_absolute() or ".." in posix.parts or "__MACOSX" in posix.parts:
            continue
        database = next((p for p in posix.parents if p.suffix.lower() == ".gdb"), None)
        if database is not None:
            key = str(database)
            found.setdefault(key, Dataset(f"{shown}/{key}", f"{root}/{key}", path, database.stem))
        elif posix.suffix.lower() in VECTOR_ENDINGS:
            parts = _parts_inside(posix, names)
            gdal = f"{root}/{name}"
            found[name] = Dataset(f"{shown}/{name}", gdal, path, posix.stem, parts)
    if not found and any(n.lower().endswith("gdbtable") for n in names):
        return [Dataset(shown, root, path, path.name.split(".")[0])]
    if not found:
        listed = ", ".join(sorted(names)[:8]) or "nothing"
        raise InputError(
            f"the archive holds no vector data (it holds {listed}).",
            mend="unpack it, and give the file inside",
            where=shown,
        )
    return list(found.values())


def _bounded(members: Sequence[zipfile.ZipInfo], shown: str) -> None:
    size = sum(m.file_size for m in members)
    packed = max(sum(m.compress_size for m in members), 1)
    if len(members) > MAX_MEMBERS or size > MAX_UNPACKED or (
        size > 2**30 and size / packed > MAX_RATIO
    ):  # fmt: skip
        raise InputError(
            f"the archive would unpack to {size / 2**20:,.0f} MiB in {len(members):,} files; "
            "that is beyond what is opened unasked.",
            mend="unpack it, and give the file inside",
            where=shown,
        )


def _parts_inside(posix: PurePosixPath, names: Sequence[str]) -> dict[str, str]:
    if posix.suffix.lower() != ".shp":
        return {}
    stem = str(posix.with_suffix("")) + "."
    beside = {PurePosixPath(n).suffix.lower(): n for n in names if n.startswith(stem)}
    return {} if ".shx" in beside else beside


@contextmanager
def opened(dataset: Dataset) -> Iterator[str]:
    """What to hand to GDAL: the data set, or a copy where opening it would write beside it.

    GDAL's settings are put back afterwards, and its warnings are kept from the user: what
    they say is found again and told as an issue.
    """
    wanted = {"OGR_ARC_STEPSIZE": ARC_STEP}
    if dataset.parts:
        wanted["SHAPE_RESTORE_SHX"] = "YES"
    before = {name: pyogrio.get_gdal_config_option(name) for name in wanted}
    pyogrio.set_gdal_config_options(wanted)
    try:
        with warnings.catch_warnings(), np.errstate(invalid="ignore"):
            warnings.simplefilter("ignore")
            with _source_or_copy(dataset) as target:
                yield target
    finally:
        pyogrio.set_gdal_config_options(before)


@contextmanager
def _source_or_copy(dataset: Dataset) -> Iterator[str]:
    if dataset.parts:
        with tempfile.TemporaryDirectory(prefix="wetgis-") as folder:
            yield _copy_parts(dataset, Path(folder))
    elif dataset.ending in {".gpkg", ".sqlite"} and _has_wal(dataset):
        with tempfile.TemporaryDirectory(prefix="wetgis-") as folder:
            for end in ("", "-wal"):
                beside = Path(str(dataset.file) + end)
                if beside.exists():
                    shutil.copyfile(beside, Path(folder) / beside.name)
            yield str(Path(folder) / dataset.file.name)
    else:
        yield dataset.gdal


@contextmanager
def read_bytes(dataset: Dataset) -> Iterator[IO[bytes]]:
    """The bytes of a data set that is one file, in an archive or not."""
    if dataset.gdal.startswith("/vsizip/"):
        member = dataset.gdal.split("}/", 1)[1]
        with zipfile.ZipFile(dataset.file) as archive, archive.open(member) as packed:
            yield packed
    else:
        with dataset.file.open("rb") as file:
            yield file


def _has_wal(dataset: Dataset) -> bool:
    """Whether SQLite would make files beside it even for a reader (write-ahead logging)."""
    if dataset.gdal.startswith("/vsi"):
        return False
    with dataset.file.open("rb") as file:
        head = file.read(20)
    return len(head) == 20 and 2 in head[18:20]


def _copy_parts(dataset: Dataset, folder: Path) -> str:
    for ending, source in dataset.parts.items():
        target = folder / f"part{ending}"
        if dataset.gdal.startswith("/vsizip/"):
            with (
                zipfile.ZipFile(dataset.file) as archive,
                archive.open(source) as packed,
                target.open("wb") as file,
            ):
                shutil.copyfileobj(packed, file)
        else:
            shutil.copyfile(source, target)
    return str(folder / "part.shp")


# ---------------------------------------------------------------- layers


def list_layers(dataset: Dataset) -> list[Found]:
    """The layers of a data set, plain tables included.

    Raises
    ------
    InputError
        Where GDAL cannot open it.
    """
    if dataset.is_parquet:
        return [Found(dataset, dataset.name, "Unknown")]
    if dataset.ending == ".dwg":
        raise InputError("DWG drawings cannot be read.", mend="save it as DXF", where=dataset.shown)
    with opened(dataset) as target:
        try:
            if dataset.ending == ".dxf":
                from wetgis.sources.drawing import layer_names

                return [Found(dataset, name, "Unknown") for name in layer_names(target)]
            rows = pyogrio.list_layers(target)
        except Exception as error:  # GDAL's faults have no common root here
            raise InputError(
                f"the file cannot be opened: {_reason(error, target)}",
                needed="GeoPackage, Shapefile, GeoJSON, TopoJSON, GeoParquet, FlatGeobuf, "
                "FileGDB or KML",
                where=dataset.shown,
            ) from error
    single = len(rows) == 1 and (dataset.parts or dataset.ending == ".shp")
    return [
        Found(dataset, dataset.name if single else str(name), None if kind is None else str(kind))
        for name, kind in rows
    ]


def _reason(error: Exception, target: str) -> str:
    text = str(error).replace(f"'{target}'", "it is").replace(target, "it")
    text = text.split("; ")[0].strip().replace("it is not recognized", "it is not recognised")
    return (text or type(error).__name__).rstrip(".") + "."


def choose_layers(
    datasets: Sequence[Dataset], kind: str | None, layer: str | None
) -> tuple[list[Found], list[str]]:
    """The layers to read of one file, and the names of the spatial ones that are left.

    The one that is named (a glob may name several); else the only spatial one; else the one
    named as the kind.

    Raises
    ------
    InputError
        Lists every layer, tables included, where the choice is open or the name is wrong.
    """
    found = [f for d in datasets for f in list_layers(d)]
    where = datasets[0].shown if len(datasets) == 1 else str(datasets[0].file)
    if layer is not None:
        return _named(found, layer, where), []
    spatial = [f for f in found if f.geometry is not None]
    if not spatial:
        raise InputError(
            "no layer has geometries.",
            needed="a spatial layer",
            mend=f"there are: {_listing(found)}",
            where=where,
        )
    if len(spatial) == 1:
        return spatial, []
    hits = _as_kind(spatial, kind)
    if len(hits) == 1:
        return hits, [f.layer for f in spatial if f is not hits[0]]
    raise InputError(
        f"there are {len(spatial)} layers, and none is named.",
        needed="layer = one of " + _listing(found),
        where=where,
    )


def _named(found: Sequence[Found], layer: str, where: str) -> list[Found]:
    hits = [f for f in found if f.layer == layer]
    if not hits and any(c in layer for c in "*?["):
        hits = [f for f in found if fnmatch.fnmatchcase(f.layer, layer) and f.geometry is not None]
    if not hits:
        hits = [f for f in found if f.layer.lower() == layer.lower()]
    if not hits:
        raise InputError(
            f"there is no layer '{layer}'{nearest(layer, [f.layer for f in found])}",
            needed="one of " + _listing(found),
            where=where,
        )
    tables = [f.layer for f in hits if f.geometry is None]
    if tables:
        raise InputError(
            f"'{tables[0]}' is a plain table without geometries.",
            needed="one of " + _listing([f for f in found if f.geometry is not None]),
            mend="join it with wetgis.join_table",
            where=where,
        )
    return hits


def _as_kind(found: Sequence[Found], kind: str | None) -> list[Found]:
    if kind is None:
        return []
    words = {kind, SINGULAR.get(kind, kind)}
    hits = [f for f in found if f.layer.lower() in words]
    if hits or kind not in _AGENCY:
        return hits
    hits = [f for f in found if _AGENCY[kind].fullmatch(f.layer)]
    # beside another layer of the kind's name an agency's name decides nothing
    word = "wetland" if kind == "indicators" else SINGULAR[kind]
    rivals = [f for f in found if word in f.layer.lower() and f not in hits]
    if len(hits) == 1 and any(not f.layer.startswith(hits[0].layer) for f in rivals):
        return []
    return hits


def _listing(found: Sequence[Found]) -> str:
    return ", ".join(f.layer + ("" if f.geometry else " (a table)") for f in found)
