"""Finished tiles on disk, so that a run that was stopped can go on where it was.

A tile's folder appears under its final name when all of it is written; what a stopped run left
half-written has another name and does not count. Nothing is taken up again unless inputs, packs,
options and version are the same.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import geopandas as gpd
import numpy as np
import pandas as pd

from wetgis import __version__
from wetgis.buffers import Audit
from wetgis.cells import CELL_FT
from wetgis.errors import InputError
from wetgis.provenance import canonical_json, plain
from wetgis.schema import SCHEMA_VERSION
from wetgis.tiles import FLAGS, MOST, TILE_CELLS, TileResult

if TYPE_CHECKING:
    from wetgis.site import Site

__all__ = ["FOLDER", "Store", "fingerprint", "forget"]

#: Inside the folder of a run, until the run is complete.
FOLDER = ".parts"


def fingerprint(site: Site, ids: list[str] | None, *, full: bool) -> dict[str, Any]:
    """What must be the same for finished tiles to count, as plain values by name."""
    layers: dict[str, Any] = {**site.layers, **site.rasters}
    inputs = {
        f"input {kind} {s.path} {s.layer}".strip(): s.sha256 or _digest(layer)
        for kind, layer in layers.items()
        for s in layer.sources
    }
    packs = {
        f"pack {p.id}": [p.sha256, p.as_of, [o.as_json() for o in p.overrides]] for p in site.packs
    }
    about = {
        "version": __version__,
        "schema_version": SCHEMA_VERSION,
        "tiles": [CELL_FT, TILE_CELLS, MOST],
        "crs": site.crs.to_string(),
        "measure": vars(site.measure),
        "options": {k: v for k, v in site.spec.items() if k not in ("title", "layers")},
        "layers": site.spec.get("layers", {}),
        "ids": ids,
        "full": full,
    }
    made: dict[str, Any] = json.loads(canonical_json({**about, **inputs, **packs}))
    return made


def _digest(layer: Any) -> str:
    """A digest of a layer that is in memory only."""
    import hashlib

    import shapely

    digest = hashlib.sha256()
    if hasattr(layer, "frame"):
        for wkb in shapely.to_wkb(layer.frame.geometry.to_numpy()):
            digest.update(wkb or b"-")
        attributes = layer.frame.drop(columns=layer.frame.geometry.name)
        digest.update(attributes.to_csv(index=False).encode())
    return digest.hexdigest()


class Store:
    """The finished tiles of one run.

    Parameters
    ----------
    folder : path
        Of the run.
    about : dict
        From ``fingerprint``.
    resume : bool
        Go on with what is there; otherwise it is thrown away.

    Raises
    ------
    InputError
        On ``resume`` if the tiles there belong to another run; what differs is named.
    """

    def __init__(self, folder: Path, about: dict[str, Any], *, resume: bool) -> None:
        self.root = Path(folder) / FOLDER
        there = self.root / "run.json"
        if resume and there.is_file():
            _require_same(json.loads(there.read_text("utf-8")), about, str(folder))
        else:
            shutil.rmtree(self.root, ignore_errors=True)
            self.root.mkdir(parents=True)
            there.write_text(canonical_json(about), "utf-8")

    def __contains__(self, tile: int) -> bool:
        return self._path(tile).is_dir()

    def _path(self, tile: int) -> Path:
        return self.root / f"tile-{tile:06d}"

    def save(self, tile: int, result: TileResult) -> None:
        """Write a tile; it is there as a whole or not at all."""
        final = self._path(tile)
        half = final.with_suffix(".half")
        shutil.rmtree(half, ignore_errors=True)
        half.mkdir()
        numbers = pd.DataFrame({"_index": result.index, **result.columns})
        for name in FLAGS:
            numbers[f"_{name}"] = result.flags[name]
        numbers.to_parquet(half / "numbers.parquet", index=False)
        result.contacts.to_parquet(half / "contacts.parquet", index=False)
        result.parts.to_parquet(half / "parts.parquet", index=False)
        crs = result.parts.crs
        gpd.GeoDataFrame(geometry=gpd.GeoSeries(result.buffer, crs=crs)).to_parquet(
            half / "buffer.parquet", index=False
        )
        audit = result.audit
        about = {
            "inside": audit.inside.hex(),
            "outside": audit.outside.hex(),
            "points": audit.points,
            "rebuilt": list(result.rebuilt),
        }
        (half / "audit.json").write_text(json.dumps(about), "utf-8")
        os.replace(half, final)

    def load(self, tile: int) -> TileResult:
        """A finished tile as it was saved."""
        folder = self._path(tile)
        numbers = pd.read_parquet(folder / "numbers.parquet")
        names = [str(c) for c in numbers if not str(c).startswith("_")]
        columns = {name: numbers[name].to_numpy(float) for name in names}
        about = json.loads((folder / "audit.json").read_text("utf-8"))
        audit = Audit(
            float.fromhex(about["inside"]), float.fromhex(about["outside"]), about["points"]
        )
        return TileResult(
            numbers["_index"].to_numpy(np.int64),
            columns,
            {name: numbers[f"_{name}"].to_numpy(bool) for name in FLAGS},
            gpd.read_parquet(folder / "contacts.parquet"),
            gpd.read_parquet(folder / "parts.parquet"),
            gpd.read_parquet(folder / "buffer.parquet").geometry.to_numpy(),
            audit,
            tuple(about["rebuilt"]),
        )


def forget(folder: Path) -> None:
    """The run in this folder is complete: its parts are not needed any more."""
    shutil.rmtree(folder / FOLDER, ignore_errors=True)


def _require_same(before: dict[str, Any], now: dict[str, Any], where: str) -> None:
    names = sorted({*before, *now})
    differ = [n for n in names if plain(before.get(n)) != plain(now.get(n))]
    if differ:
        changes = "; ".join(
            f"{n}: was {_short(before.get(n))}, is {_short(now.get(n))}" for n in differ
        )
        raise InputError(
            f"the run that was stopped here is another one ({changes}).",
            needed="the same inputs, packs, options and version",
            mend="run without --resume to start again",
            where=where,
        )


def _short(value: Any) -> str:
    text = "not there" if value is None else json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
