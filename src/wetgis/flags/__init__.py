"""Field flags: their names, and the files in which they come.

A boundary is flagged in *series*: ``A-1 ... A-27``. A name may also carry a mark
(``A-27 END``, ``A-14 STREAM``, ``A-27 TIE TO B-3``), and lines of another kind are
flagged beside the boundary (``STREAM-1``, ``TIE-1``). Nothing here puts flags in another
order: the row of the file stays beside the number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wetgis.errors import InputError
from wetgis.flags.names import DASHES, FlagName, parse_flag

if TYPE_CHECKING:
    import geopandas as gpd
    import pandas as pd

__all__ = ["FLAG_COLUMNS", "FlagName", "flag_table", "parse_flag", "read_flags"]

#: Columns of a table of flags; ``n`` and ``suffix`` are the number taken apart.
FLAG_COLUMNS = (
    "name",
    "series",
    "number",
    "n",
    "suffix",
    "kind",
    "mark",
    "ties_to",
    "accuracy_ft",
    "row",
)

#: Columns in which a whole name may stand, the first that is there.
NAME_COLUMNS = ("name", "flag", "flag_id", "flagid", "label", "point", "point_id", "pt", "id",
                "description", "desc")  # fmt: skip


def flag_table(
    frame: gpd.GeoDataFrame, *, series: str = "series", number: str = "number"
) -> gpd.GeoDataFrame:
    """Flags with their names taken apart, in the order of the input.

    Parameters
    ----------
    frame : GeoDataFrame
        Points. Either a column ``series`` (and ``number``), or one with whole names: ``name``,
        ``flag``, ``label``, ``point`` ...
    series, number : str
        The columns' names where they differ.

    Returns
    -------
    GeoDataFrame
        ``FLAG_COLUMNS`` and the geometry; ``row`` counts the input's rows from 0. A row
        that only breaks a series keeps the place where it stood.

    Raises
    ------
    InputError
        Where there is neither a series nor a name, or a geometry is not a point.

    Examples
    --------
    >>> import geopandas
    >>> from shapely import Point
    >>> frame = geopandas.GeoDataFrame({"name": ["A-1", "A-2"]},
    ...     geometry=[Point(0, 0), Point(5, 0)], crs="EPSG:2260")
    >>> flag_table(frame)[["series", "number"]].values.tolist()
    [['A', '1'], ['A', '2']]
    """
    import geopandas as gpd
    import numpy as np

    names, parsed = _names_of(frame, series, number)
    parsed, ambiguous = _settle_bare(parsed)
    geometry = _as_points(frame.geometry)
    accuracy = np.full(len(frame), np.nan)
    if "accuracy_ft" in frame.columns:
        accuracy = frame["accuracy_ft"].to_numpy(dtype="float64", na_value=np.nan)
    table = gpd.GeoDataFrame(
        {
            "name": names,
            "series": [f.series for f in parsed],
            "number": [f.number for f in parsed],
            "n": [np.nan if f.n is None else f.n for f in parsed],
            "suffix": [f.suffix for f in parsed],
            "kind": [f.kind for f in parsed],
            "mark": [f.mark for f in parsed],
            "ties_to": [f.ties_to for f in parsed],
            "accuracy_ft": accuracy,
            "row": np.arange(len(frame)),
        },
        geometry=geometry,
        crs=frame.crs,
    )
    table.attrs = {"ambiguous": ambiguous}
    return table


def _names_of(
    frame: gpd.GeoDataFrame, series: str, number: str
) -> tuple[list[str], list[FlagName]]:
    """Names as written and taken apart, from two columns or from one."""
    if series in frame.columns:
        left = _text(frame[series])
        right = _text(frame[number]) if number in frame.columns else [""] * len(frame)
        if number not in frame.columns and _whole_names(left):
            return left, [parse_flag(text) for text in left]
        names = [f"{a}-{b}".strip("-") for a, b in zip(left, right, strict=True)]
        return names, [_of_two(a, b) for a, b in zip(left, right, strict=True)]
    lower = {str(c).lower(): str(c) for c in frame.columns}
    for name in NAME_COLUMNS:
        if name in lower:
            names = _text(frame[lower[name]])
            return names, [parse_flag(text) for text in names]
    raise InputError(
        f"the flags have neither a column '{series}' nor one with their names.",
        needed=f"'{series}' and '{number}', or one of {', '.join(NAME_COLUMNS)}",
        mend=f"name the columns; there are {', '.join(map(str, frame.columns))}",
    )


def _whole_names(texts: list[str]) -> bool:
    """Whether these are names of flags (all with a number, none twice), not of series."""
    parsed = [parse_flag(text) for text in texts if text]
    whole = all(f.n is not None or f.kind == "mark" for f in parsed)
    return bool(parsed) and whole and len(set(texts)) == len(texts)


def _of_two(series: str, number: str) -> FlagName:
    """A name from a column of series and one of numbers, either of which may hold a mark."""
    flag = parse_flag(number) if number else FlagName("", None)
    if not series:
        return flag
    own = parse_flag(series)
    if own.mark and own.n is None and not flag.mark:
        # "STREAM" in the series column, 3 in the number column
        return parse_flag(f"{series} {number}".strip())
    written = " ".join(series.translate(DASHES).upper().split())
    return FlagName(written, flag.n, flag.suffix, flag.kind, flag.mark, flag.ties_to)


def _text(column: pd.Series[Any]) -> list[str]:
    """A column as text; a whole float loses its ``.0``, what is missing is empty."""
    import pandas as pd

    out = []
    for value in column.tolist():
        if pd.isna(value):
            out.append("")
        elif isinstance(value, float) and value.is_integer():
            out.append(str(int(value)))
        else:
            out.append(str(value).strip())
    return out


def _settle_bare(parsed: Sequence[FlagName]) -> tuple[list[FlagName], list[int]]:
    """``1A, 2A, 3A`` is series A; ``1, 1A, 2`` is one series with an inserted flag.

    Returns the names and the rows whose reading the reader should know about.
    """
    bare = [
        i for i, f in enumerate(parsed) if f.kind == "flag" and not f.series and f.n is not None
    ]
    lettered = [i for i in bare if parsed[i].suffix]
    if not lettered:
        return list(parsed), []
    out = list(parsed)
    if len(lettered) == len(bare):
        for i in lettered:
            f = parsed[i]
            out[i] = FlagName(f.suffix, f.n, "", f.kind, f.mark, f.ties_to)
    return out, lettered


def _as_points(geometry: gpd.GeoSeries) -> Any:
    """Points in two dimensions; a multipoint of one is that point."""
    import numpy as np
    import shapely

    geoms = shapely.force_2d(np.asarray(geometry.array, dtype=object))
    types = shapely.get_type_id(geoms)
    single = (types == 4) & (shapely.get_num_geometries(geoms) == 1)
    geoms = np.where(single, shapely.get_geometry(geoms, 0), geoms)
    wrong = ~np.isin(shapely.get_type_id(geoms), (-1, 0))
    if wrong.any():
        first = int(np.flatnonzero(wrong)[0])
        raise InputError(
            f"{int(wrong.sum())} of {len(geoms)} flags are not points "
            f"(row {first + 1}: {geoms[first].geom_type}).",
            needed="a layer of points",
            mend="name the layer of points, or turn the line's vertices into points",
        )
    return geoms


def read_flags(
    path: str | Path,
    *,
    source_crs: Any = None,
    crs: Any = None,
    layer: str | None = None,
    columns: str | None = None,
) -> gpd.GeoDataFrame:
    r"""Read flags from CSV, GPX or any point layer.

    Parameters
    ----------
    path : str or Path
        A CSV with longitude and latitude, or northing and easting; a GPX file (its waypoints);
        or any layer of points that GDAL reads.
    source_crs : optional
        What the file is in. A CSV does not say, so it is required there.
    crs : optional
        The CRS of the result; the file's own where it is not given.
    layer : str, optional
        The layer, where the file has several.
    columns : str, optional
        For a CSV without a header: its columns in order, one letter each: ``p`` point,
        ``n`` northing, ``e`` easting, ``z`` elevation, ``d`` description, ``-`` left out;
        ``pnezd`` is the surveyors' usual one.

    Returns
    -------
    GeoDataFrame
        ``name``, ``accuracy_ft`` (95 %, NaN where the file does not state one), what else the
        file has, and points (None for a row without a position), in the file's order.

    Raises
    ------
    InputError, CrsError
        Where positions or the CRS cannot be told.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "flags.csv"
    >>> _ = path.write_text("Name,Northing,Easting\nA-1,783000,717000\nA-2,783000,717050\n")
    >>> read_flags(path, source_crs="EPSG:2260").name.tolist()
    ['A-1', 'A-2']
    """
    path = Path(path)
    if not path.exists():
        raise InputError("the file does not exist.", where=str(path), mend="check the path")
    if path.suffix.lower() in {".csv", ".txt", ".tsv", ".asc"}:
        from wetgis.flags.csvfile import read_csv

        frame = read_csv(path, source_crs=source_crs, columns=columns)
    else:
        frame = _read_layer(path, source_crs, layer)
    if crs is not None:
        frame = frame.to_crs(crs)
    return frame


def _read_layer(path: Path, source_crs: Any, layer: str | None) -> gpd.GeoDataFrame:
    """A layer of points through GDAL; of a GPX file the waypoints."""
    import numpy as np
    import pyogrio

    if path.suffix.lower() == ".gpx":
        layer = layer or "waypoints"
    gpkg = path.suffix.lower() == ".gpkg" and not path.with_name(path.name + "-wal").exists()
    # without a lock SQLite leaves no files beside the input; with a journal there it must read it
    frame = pyogrio.read_dataframe(path, layer=layer, **({"NOLOCK": "YES"} if gpkg else {}))
    if source_crs is not None:
        frame = frame.set_crs(source_crs, allow_override=True)
    if path.suffix.lower() == ".gpx" and frame.empty:
        raise InputError(
            "the GPX file has no waypoints.",
            needed="flags as waypoints; a track has no names",
            mend="export the waypoints, or name layer='track_points'",
            where=str(path),
        )
    if "accuracy_ft" not in frame.columns:
        frame["accuracy_ft"] = np.nan
    return frame.loc[:, _filled(frame.columns, frame)]


def _filled(columns: Iterable[Any], frame: gpd.GeoDataFrame) -> list[Any]:
    """Columns in which something stands; GPX has thirty that are always empty."""
    keep = {"name", "accuracy_ft", frame.geometry.name}
    return [c for c in columns if c in keep or not frame[c].isna().all()]
