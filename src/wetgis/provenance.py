"""What a result was made of and by: inputs with their digests, versions, canonical JSON."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

__all__ = [
    "INDEX_SUFFIX",
    "SourceRecord",
    "canonical_json",
    "members",
    "plain",
    "sha256",
    "versions",
]

_CHUNK = 1 << 20
#: The files that make one shapefile; indexes and locks are not part of the data.
_SHAPEFILE_PARTS = (".shp", ".shx", ".dbf", ".prj", ".cpg")
#: A folder of this ending holds our own index of the file beside it, and no data.
INDEX_SUFFIX = ".wetgis-index"


@dataclass(frozen=True)
class SourceRecord:
    """One layer of one file, as it was read.

    Attributes
    ----------
    path : str
        As it was given.
    sha256 : str
        Digest of the file; of a shapefile, a folder or a glob, of their parts (see `sha256`).
    layer, driver : str
        The layer inside, and what read it.
    features : int
        Records read.
    bounds : tuple of float or None
        In the file's own CRS.
    crs : str
        Code or name of the file's own CRS, or as the user stated it.
    """

    path: str
    sha256: str = ""
    layer: str = ""
    driver: str = ""
    features: int = 0
    bounds: tuple[float, float, float, float] | None = None
    crs: str = ""

    @property
    def label(self) -> str:
        """The file's name and the layer, as it stands in ``source`` columns."""
        name = Path(self.path).name or self.path
        return f"{name}:{self.layer}" if self.layer else name

    def as_json(self) -> dict[str, Any]:
        """As plain JSON."""
        row = asdict(self)
        row["bounds"] = list(self.bounds) if self.bounds else None
        return row


def sha256(path: str | Path) -> str:
    """The SHA-256 of a file, or one digest over the parts of a data set in several files.

    A plain file has its own digest, as ``sha256sum`` prints it. A shapefile's covers its
    .shp, .shx, .dbf, .prj and .cpg, a folder's all files below it: the digest of lines
    ``<digest>  <name>`` in the order of their names.

    Parameters
    ----------
    path : path
        A file or a folder.

    Returns
    -------
    str
        64 hexadecimal digits.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "a.txt"
    >>> _ = file.write_bytes(b"")
    >>> sha256(file)[:8]
    'e3b0c442'
    """
    path = Path(path)
    parts = list(members(path))
    if parts == [path]:
        return _digest(path)
    root = path if path.is_dir() else path.parent
    listing = sorted((p.relative_to(root).as_posix(), _digest(p)) for p in parts)
    text = "".join(f"{digest}  {name}\n" for name, digest in listing)
    return hashlib.sha256(text.encode()).hexdigest()


def members(path: Path) -> Iterator[Path]:
    """The files that make a data set: those of a folder, the parts of a shapefile, or the file."""
    if path.is_dir():
        # lock files come and go while someone else has the folder open
        yield from (
            p
            for p in path.rglob("*")
            if p.is_file()
            and p.suffix != ".lock"
            and not any(folder.suffix == INDEX_SUFFIX for folder in p.relative_to(path).parents)
        )
    elif path.suffix.lower() == ".shp":
        beside = path.parent.iterdir()
        yield from (
            p
            for p in beside
            if p.stem == path.stem and p.suffix.lower() in _SHAPEFILE_PARTS and p.is_file()
        )
    else:
        yield path


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def plain(value: Any) -> Any:
    """A value as plain JSON: tuples as lists, numpy scalars as numbers, NaN and infinity as null.

    Examples
    --------
    >>> plain({"a": (1, float("inf")), "b": Path("x")})
    {'a': [1, None], 'b': 'x'}
    """
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(v) for v in value]
    if hasattr(value, "as_json"):
        return plain(value.as_json())
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        return plain(value.item())
    if hasattr(value, "isoformat"):
        return value.isoformat()
    return str(value)


def canonical_json(value: Any) -> str:
    """JSON by RFC 8785: keys sorted, no blanks, numbers as ECMAScript prints them.

    Parameters
    ----------
    value : object
        Made plain first (see `plain`).

    Examples
    --------
    >>> canonical_json({"b": 1.0, "a": None})
    '{"a":null,"b":1}'
    """
    import rfc8785

    tidy = plain(value)
    try:
        return str(rfc8785.dumps(tidy), "utf-8")
    except rfc8785.IntegerDomainError:
        # integers beyond 2**53 have no number of their own in RFC 8785
        safe = json.loads(json.dumps(tidy), parse_int=_safe_int)
        return str(rfc8785.dumps(safe), "utf-8")


def _safe_int(text: str) -> int | str:
    number = int(text)
    return number if abs(number) < 2**53 else text


def versions() -> dict[str, str]:
    """Python, wetgis, and every library that a number may depend on, each GDAL, PROJ and GEOS.

    Returns
    -------
    dict
        Name to version; a library that is not installed is left out.
    """
    return dict(_versions())


@cache
def _versions() -> dict[str, str]:
    import platform
    from importlib import metadata

    found = {"python": platform.python_version()}
    names = (
        "wetgis numpy pandas shapely geopandas pyogrio pyarrow pyproj rasterio fiona rtree numba"
    )
    for name in names.split():
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    found.update(_native())
    return found


def _native() -> dict[str, str]:
    import importlib

    def dotted(value: Any) -> str:
        return ".".join(map(str, value)) if isinstance(value, tuple) else str(value)

    wanted = {
        "pyogrio": {"gdal": "__gdal_version__", "geos": "__gdal_geos_version__"},
        "shapely": {"geos": "geos_version_string"},
        "pyproj": {"proj": "proj_version_str"},
        "rasterio": {
            "gdal": "__gdal_version__",
            "proj": "__proj_version__",
            "geos": "__geos_version__",
        },
        "fiona": {"gdal": "__gdal_version__"},
    }
    found: dict[str, str] = {}
    for name, attributes in wanted.items():
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        for library, attribute in attributes.items():
            value = getattr(module, attribute, None)
            if value is not None:
                found[f"{name}.{library}"] = dotted(value)
    return found
