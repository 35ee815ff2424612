"""Every layer of a site: read, joined, and kept in memory or on disk."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from wetgis.heldlayers import SiteLayer, stored
from wetgis.indexing import renewed
from wetgis.layerjoin import join, join_on_disk
from wetgis.schema import KINDS
from wetgis.siteconfig import is_raster
from wetgis.sitelayers import Given, Piece, polygons_of, read
from wetgis.workers import hand_back

if TYPE_CHECKING:
    from pathlib import Path

    from shapely.geometry.base import BaseGeometry

    from wetgis.site import Site

__all__ = ["joined_layers", "read_all"]


def read_all(
    kind: str, several: tuple[Given, ...], crs: Any, store: Path | None
) -> tuple[Piece, ...]:
    """The sources of a kind, read into a CRS (None: as they are).

    With a store the geometries of a kind that has one source go there as they are read.
    """
    folder = store / kind if store is not None and len(several) == 1 else None
    return tuple(read(one, crs, folder) for one in several)


def joined_layers(site: Site) -> tuple[dict[str, SiteLayer], dict[str, tuple[Piece, ...]]]:
    """Every layer, and the pieces that it was made of.

    With a store one kind after the other goes to disk, so that no two are in memory at once.
    """
    vectors = [k for k in KINDS if k in site._given and not is_raster(k)]
    pieces: dict[str, tuple[Piece, ...]] = {}
    layers: dict[str, SiteLayer] = {}
    limit = None
    # the municipal limit first: other layers may be complete inside it
    for kind in sorted(vectors, key=lambda k: (k != "municipality", KINDS.index(k))):
        own = site._pieces.get(kind) or read_all(kind, site._given[kind], site.crs, site._store)
        layer = _layer(site, kind, own, limit)
        if kind == "municipality" and _ask_for_limit(site._given):
            limit = polygons_of(layer.frame, "the layer 'municipality'", site._where)
        if kind == "parcels":
            layer, own = renewed(site, layer, own)
        if site._store is not None:
            layer = stored(layer, site._store / kind)
            hand_back(len(layer.boxes))
        else:
            pieces[kind] = own
        layers[kind] = layer
    return {k: layers[k] for k in KINDS if k in layers}, pieces


def _layer(
    site: Site, kind: str, pieces: tuple[Piece, ...], limit: BaseGeometry | None
) -> SiteLayer:
    about: Any = {"as_of": site.as_of, "municipality": limit, "where": site._where}
    layer = join_on_disk(kind, pieces[0], **about) if pieces[0].spilled else None
    return layer or join(kind, [p.in_memory() for p in pieces], **about)


def _ask_for_limit(given: Mapping[str, tuple[Given, ...]]) -> bool:
    """Whether a layer says that it is complete inside the municipality."""
    keys = (one.keys for several in given.values() for one in several)
    return any(getattr(k, "extent", None) == "municipality" for k in keys)
