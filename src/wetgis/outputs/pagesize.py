"""How large a page would become: told from every so many subjects, before it is made."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from wetgis.outputs.pagedata import LADDER, Detail, page_sections, script_json
from wetgis.outputs.pieces import SUBJECT, Finished
from wetgis.outputs.tally import Shapes, Tally

if TYPE_CHECKING:
    import geopandas as gpd

__all__ = ["details"]

#: A run of fewer subjects is not worth a guess.
_FEW_SUBJECTS = 5_000
#: What a guess is made from: subjects, and vertices of each layer.
_SOME_SUBJECTS = 1_500
_SOME_VERTICES = 100_000
#: A page that promises to be so much too large is not made.
_TOO_LARGE = 1.1
#: Packed data is written as four characters for three bytes.
_CHARACTERS_A_BYTE = 4 / 3
_LEAST_SUBJECTS = 500


def details(run: Finished, tally: Tally, room: int, most_characters: int) -> Iterator[Detail]:
    """The details that a page is tried at, the fullest first.

    Parameters
    ----------
    run : Finished
    tally : Tally
        What it comes to.
    room : int
        Bytes that the page has for its data.
    most_characters : int
        Of that data once unpacked.

    Yields
    ------
    Detail
        Of ``LADDER``, those at which the page may fit; then with fewer and fewer subjects. The
        first at which it does fit is the page's.
    """
    if run.counts["measures"] <= _FEW_SUBJECTS:
        yield from LADDER
        return
    guess = _Guess(run, tally)
    times = 1.0
    for detail in LADDER:
        characters, packed = guess.size(detail)
        times = max(packed / max(room, 1), characters / most_characters)
        if times <= _TOO_LARGE:
            yield detail
    listed = sum(LADDER[-1].shown(tally.subjects).values())
    most = int(0.9 * listed / max(times, 1.0))
    while most > _LEAST_SUBJECTS:
        yield replace(LADDER[-1], most=most)
        most = int(0.7 * most)
    yield replace(LADDER[-1], most=_LEAST_SUBJECTS)


class _Guess:
    """The size of a page by a part of the run: every so many subjects, and features of layers."""

    def __init__(self, run: Finished, tally: Tally) -> None:
        step = math.ceil(run.counts["measures"] / _SOME_SUBJECTS)
        tables = {"measures": pd.concat(_every(run.read("measures"), step), ignore_index=True)}
        subjects = pd.MultiIndex.from_frame(tables["measures"][SUBJECT])
        for name in ("findings", "contacts"):
            tables[name] = pd.concat(_about(run.read(name), subjects), ignore_index=True)
        layers = {
            name: list(_every(read(), 1 + tally.layers[name].vertices // _SOME_VERTICES))
            for name, read in run.layers.items()
        }
        self._tally = tally
        self._times = run.counts["measures"] / len(subjects)
        self._times_layer = {
            name: tally.layers[name].vertices / max(_vertices(frames), 1)
            for name, frames in layers.items()
        }
        self._part = replace(
            run,
            read=lambda name: iter([tables[name]]),
            layers={name: _again(frames) for name, frames in layers.items()},
        )

    def size(self, detail: Detail) -> tuple[float, float]:
        """Characters of a page's data, and of what the page has of it once it is packed."""
        characters = packed = 0.0
        for name, data in page_sections(self._part, detail, self._tally):
            each = [(self._times, data)]
            if name == "layers":
                each = [(self._times_layer[layer["name"]], layer) for layer in data]
            for times, some in each:
                text = script_json(some).encode("utf-8")
                characters += times * len(text)
                packed += times * len(zlib.compress(text)) * _CHARACTERS_A_BYTE
        return characters, packed


def _every(pieces: Iterator[Any], step: int) -> Iterator[Any]:
    """Every so many rows, counted over all pieces."""
    passed = 0
    for piece in pieces:
        yield piece.iloc[-passed % step :: step]
        passed += len(piece)


def _about(pieces: Iterator[pd.DataFrame], subjects: pd.MultiIndex) -> Iterator[pd.DataFrame]:
    for piece in pieces:
        yield piece[pd.MultiIndex.from_frame(piece[SUBJECT]).isin(subjects)]


def _vertices(frames: list[gpd.GeoDataFrame]) -> int:
    shapes = Shapes()
    for frame in frames:
        shapes.add(frame["geometry"].to_numpy())
    return shapes.vertices


def _again(frames: list[Any]) -> Callable[[], Iterator[Any]]:
    return lambda: iter(frames)
