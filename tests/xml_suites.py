"""A reader of the XML test suites of JTS and GEOS: geometries, an operation, what must come out."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import shapely


@dataclass(frozen=True)
class Trial:
    """One operation of one case. ``expected`` is text as it stands in the file."""

    name: str
    operation: str
    a: Any
    b: Any
    arguments: tuple[str, ...]
    expected: str

    @property
    def answer(self) -> Any:
        """The geometry that is expected."""
        return geometry(self.expected)


def geometry(text: str | None) -> Any:
    """A geometry from WKT or hexadecimal WKB; None where shapely cannot hold it."""
    if text is None or not text.strip():
        return None
    compact = re.sub(r"\s+", "", text)
    try:
        with np.errstate(invalid="ignore"):  # NaN is a coordinate in some of them
            if re.fullmatch(r"[0-9a-fA-F]+", compact):
                return shapely.from_wkb(bytes.fromhex(compact))
            return shapely.from_wkt(re.sub(r"\s+", " ", text.strip()))
    except (shapely.errors.GEOSException, ValueError, NotImplementedError):
        return None


def floating(root: ET.Element) -> bool:
    """Whether a suite computes in full precision."""
    model = root.find("precisionModel")
    return model is None or model.get("scale") is None


def read_suite(path: Path) -> Iterator[Trial]:
    """Every operation of a file that computes in full precision."""
    root = ET.parse(path).getroot()
    if not floating(root):
        return
    for k, case in enumerate(root.iter("case")):
        shapes = {"a": geometry(case.findtext("a")), "b": geometry(case.findtext("b"))}
        for test in case.iter("test"):
            op = test.find("op")
            if op is None:
                continue
            given = [op.get(f"arg{i}") for i in (1, 2, 3)]
            named = [g for g in given if g is not None]
            used = [shapes.get(g.lower()) for g in named if g.lower() in shapes]
            rest = tuple(g for g in named if g.lower() not in shapes)
            yield Trial(
                f"{path.stem}, case {k}", str(op.get("name")).lower(),
                used[0] if used else None, used[1] if len(used) > 1 else None,
                rest, (op.text or "").strip(),
            )  # fmt: skip


def read_suites(folder: Path) -> list[Trial]:
    """The operations of all files under a folder."""
    return [trial for path in sorted(folder.rglob("*.xml")) for trial in read_suite(path)]
