"""``run.json``: what a result was made of, so that it can be checked and made again."""

from __future__ import annotations

import datetime
import os
import platform
from typing import TYPE_CHECKING, Any

from wetgis.provenance import versions
from wetgis.schema import SCHEMA_VERSION

if TYPE_CHECKING:
    import pandas as pd

    from wetgis.buffers import Audit
    from wetgis.site import Site

__all__ = ["added", "counts_of", "run_record"]


def run_record(
    site: Site,
    audit: Audit,
    scale: float,
    issues: pd.DataFrame,
    counts: dict[str, Any],
    run: dict[str, Any],
) -> dict[str, Any]:
    """The record of a run as plain values; time, machine and workers stand under ``run`` alone.

    ``counts``: of the tables, from `counts_of`.
    """
    layers: list[Any] = [*site.layers.values(), *site.rasters.values()]
    operations = [o for layer in site.layers.values() for o in layer.operations]
    return {
        "schema_version": SCHEMA_VERSION,
        "versions": versions(),
        "options": _options(site),
        "facts": dict(site.facts),
        "overrides": [
            {"pack": pack.id, **o.as_json()} for pack in site.packs for o in pack.overrides
        ],
        "packs": [
            {"id": p.id, "title": p.title, "sha256": p.sha256, "as_of": p.as_of.isoformat()}
            for p in site.packs
        ],
        "inputs": [{"kind": x.kind, **s.as_json()} for x in layers for s in x.sources],
        "operations": [o.as_json() for o in operations],
        "repairs": _repairs(issues),
        "audit": {
            "inside_ft": audit.inside * scale,
            "outside_ft": audit.outside * scale,
            "points": audit.points,
            "rebuilt": int((issues["code"] == "buffer_rebuilt").sum()),
        },
        "counts": {
            **counts,
            "issues": {str(k): int(n) for k, n in issues["severity"].value_counts().items()},
        },
        "run": {
            "at": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "machine": platform.platform(),
            "cpus": os.cpu_count(),
            **run,
        },
    }


def _options(site: Site) -> dict[str, Any]:
    measure = site.measure
    return {
        **site.spec,
        "title": site.title,
        "crs": site.crs.to_string(),
        "as_of": site.as_of.isoformat(),
        "strict": site.strict,
        "combined_factor": site.combined_factor,
        "measure": {
            "buffer_ft": measure.buffer_ft,
            "hydric_pct": measure.hydric_pct,
            "steep_pct": measure.steep_pct,
        },
    }


def _repairs(issues: pd.DataFrame) -> list[dict[str, Any]]:
    rows = issues[issues["code"].isin(["repaired", "collapsed", "unclosed_ring"])]
    names = ["layer", "file", "record_id", "before_sqft", "after_sqft"]
    in_order = rows.sort_values(names[:3], kind="stable")[names]
    return [dict(zip(names, row, strict=True)) for row in in_order.itertuples(index=False)]


def counts_of(tables: dict[str, pd.DataFrame]) -> dict[str, Any]:
    """How many subjects, of which status, and how many rows of the other tables."""
    measures = tables["measures"]
    return {
        "subjects": {str(k): int(n) for k, n in measures["subject_kind"].value_counts().items()},
        "status": {str(k): int(n) for k, n in measures["status"].value_counts().items()},
        **{name: len(tables[name]) for name in ("findings", "contacts", "parts")},
    }


def added(one: dict[str, Any], two: dict[str, Any]) -> dict[str, Any]:
    """The counts of two parts of a run together."""
    out = dict(one)
    for name, value in two.items():
        before = out.get(name)
        if isinstance(value, dict):
            out[name] = added(before or {}, value)
        else:
            out[name] = (before or 0) + value
    return out
