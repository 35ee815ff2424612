"""Wetland and watercourse buffers, parcel screening and map amendments under local law.

Import order, ground floor first: errors, units, schema, issuelog; crs, validity, provenance;
sources, kernels, packs; site, terrain, overlay, buffers, tiles, delineation; evidence;
scene, measures | activities, findings; screening; amendment; outputs; cli.
Names are loaded when they are first used, so that ``import wetgis`` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

#: Public name -> module that defines it.
_HOMES = {
    "Layer": "site",
    "Pack": "packs",
    "Screening": "screening",
    "Site": "site",
    "Slope": "terrain",
    "WetgisError": "errors",
    "amend": "amendment",
    "assess": "screening",
    "buffer_zone": "buffers",
    "contacts": "overlay",
    "delineate": "delineation",
    "distance_to": "overlay",
    "issues": "issuelog",
    "join_table": "sources",
    "list_packs": "packs",
    "load_pack": "packs",
    "open_run": "screening",
    "overlap_area": "overlay",
    "read_layer": "sources",
    "read_site": "site",
    "screen": "screening",
    "screen_to": "screento",
    "slope": "terrain",
    "suggest_crs": "crs",
    "write_layer": "sources",
    "zonal": "terrain",
}

__all__ = ["__version__", *sorted(_HOMES)]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"wetgis.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'wetgis' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
