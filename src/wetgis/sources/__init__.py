"""Reading and writing layers: files in, frames that can be measured out, and back.

Names are loaded when they are first used.
"""

from __future__ import annotations

import importlib
from typing import Any

_HOMES = {
    "LayerKeys": "keys",
    "LoadedTo": "spilling",
    "Loaded": "reading",
    "check_model": "keys",
    "join_table": "join",
    "load": "reading",
    "load_to": "spilling",
    "number_records": "records",
    "parse_keys": "keys",
    "read_layer": "reading",
    "read_table": "tables",
    "write_layer": "write",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"wetgis.sources.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'wetgis.sources' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
