"""Every layer of a site: read, joined, and kept in memory or on disk."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from wetgis.heldlayers import SiteLayer, stored
from wetgis.indexing import renewed
from wetgis.schema import KINDS
from wetgis.siteconfig import is_raster
from wetgis.sitelayers import Given, Piece, join, polygons_of, read

if TYPE_CHECKING:
    from wetgis.site import Site

__all__ = ["joined_layers", "read_all"]


def read_all(several: tuple[Given, ...], crs: Any) -> tuple[Piece, ...]:
    """The sources of a kind, read into a CRS (None: as they are)."""
    return tuple(read(one, crs) for one in several)


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
        own = site._pieces.get(kind) or read_all(site._given[kind], site.crs)
        layer = join(kind, own, as_of=site.as_of, municipality=limit, where=site._where)
        if kind == "municipality" and _ask_for_limit(site._given):
            limit = polygons_of(layer.frame, "the layer 'municipality'", site._where)
        if kind == "parcels":
            layer, own = renewed(site, layer, own)
        if site._store is not None:
            layer = stored(layer, site._store / kind)
        else:
            pieces[kind] = own
        layers[kind] = layer
    return {k: layers[k] for k in KINDS if k in layers}, pieces


def _ask_for_limit(given: Mapping[str, tuple[Given, ...]]) -> bool:
    """Whether a layer says that it is complete inside the municipality."""
    keys = (one.keys for several in given.values() for one in several)
    return any(getattr(k, "extent", None) == "municipality" for k in keys)
