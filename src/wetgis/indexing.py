"""Making and renewing the index of a site's parcels."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wetgis.errors import InputError, OutputError, UsageError
from wetgis.heldlayers import IndexedLayer, SiteLayer, with_issues
from wetgis.issuelog import Issue
from wetgis.parcelindex import Told, folder_of, write_index
from wetgis.sitelayers import Layer, Piece, index_request

if TYPE_CHECKING:
    from wetgis.parcelindex import ParcelIndex
    from wetgis.site import Site

__all__ = ["index_parcels", "renewed"]


def index_parcels(source: Any, *, crs: Any = None, **keys: Any) -> ParcelIndex:
    """Write an index beside a parcel file, anew if there is one.

    Parameters
    ----------
    source : path or Site
        A parcel file that wetgis reads, a ``site.toml``, or a site that was read from one.
    crs : CRS or code, optional
        The working CRS of the sites that will use it; without it the one that suits the data.
    **keys
        Keys of the layer, as in ``site.toml``. A site that states others makes the index anew.

    Returns
    -------
    ParcelIndex
        Open. ``read_site`` and ``Site.from_layers`` use it by themselves where it fits.

    Raises
    ------
    UsageError
        Where the parcels are not one file that is named in full, or depend on the day.
    InputError, OutputError
        Where the file cannot be read or kept exactly, or nothing can be written beside it.

    Examples
    --------
    >>> import pathlib, tempfile, geopandas, shapely
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "lots.gpkg"
    >>> box = shapely.box(717000, 783000, 717200, 783100)
    >>> geopandas.GeoDataFrame({"KEY": ["7"]}, geometry=[box], crs=2260).to_file(file)
    >>> index = index_parcels(file, id="KEY")
    >>> len(index), index.rows_of(["7"]).tolist(), index.folder.name
    (1, [0], 'lots.gpkg.wetgis-index')
    """
    from wetgis.site import Site, read_site

    if not isinstance(source, Site) and Path(source).suffix.lower() == ".toml":
        source = read_site(source)
    if isinstance(source, Site):
        site = source
        if "parcels" not in site.layers:
            raise UsageError("the site has no parcels.", needed="layers.parcels")
    else:
        # what is there must not be read in place of the file
        shutil.rmtree(folder_of(Path(source).expanduser()), ignore_errors=True)
        site = Site.from_layers(parcels=Layer(source, **keys), crs=crs)
    return _written(site, site.layers["parcels"], len(site._given["parcels"]))


def _written(site: Site, layer: SiteLayer, count: int) -> ParcelIndex:
    given = site._given["parcels"][0]
    request = index_request(given, site.crs if _stated(site) else None)
    reason = "" if request is not None and count == 1 else "they are not one file, named in full"
    frame = layer.frame
    dated = [c for c in ("effective_from", "effective_to") if c in frame.columns]
    if any(frame[c].notna().any() for c in dated):
        reason = "some are in force on some days only"
    if layer.bounds is None:
        reason = "none of them has a geometry"
    if reason or request is None:
        raise UsageError(
            f"the parcels cannot have an index: {reason}.",
            needed='one file or .gdb folder, duplicates = "keep", no stated extent of its own',
            where=", ".join(given.names) or "(frame)",
        )
    told = Told(layer.sources, layer.operations, layer.issues)
    return write_index(request, frame, told, layer.summary)


def _stated(site: Site) -> bool:
    """Whether the working CRS was asked for, and does not follow from the data."""
    return bool(site.spec.get("crs")) or any(p.crs for p in site.packs)


def renewed(
    site: Site, layer: SiteLayer, pieces: tuple[Piece, ...]
) -> tuple[SiteLayer, tuple[Piece, ...]]:
    """A layer whose index did not fit, after that was made anew where it could be.

    That it did not fit is an issue, now; the next reading finds it in order.
    """
    reason = next((p.misfit for p in pieces if p.misfit), "")
    if not reason or isinstance(layer, IndexedLayer):
        return layer, pieces
    try:
        _written(site, layer, len(pieces))
        effect = "it was made anew"
    except (InputError, OutputError, UsageError) as error:
        effect = f"it could not be made anew: {error.found}"
    issue = Issue(
        "note", "index_misfit", f"the index beside the parcels was not used: {reason}.",
        layer="parcels", file=pieces[0].about or Path(site._where).name, effect=effect,
    )  # fmt: skip
    settled = tuple(replace(p, misfit="") for p in pieces)
    return with_issues(layer, issue), settled
