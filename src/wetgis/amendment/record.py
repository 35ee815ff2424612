"""``run.json`` of an amendment: that of a screening, with what was proposed and how."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pandas as pd

from wetgis.crs import ft_per_unit
from wetgis.record import run_record

if TYPE_CHECKING:
    from wetgis.amendment.maps import Proposed
    from wetgis.buffers import Audit
    from wetgis.site import Site

__all__ = ["amendment_record"]


def amendment_record(
    site: Site,
    audit: Audit,
    tables: dict[str, pd.DataFrame],
    proposal: Proposed,
    options: dict[str, Any],
    started: float,
) -> dict[str, Any]:
    """The record as plain values; the clock stands under ``run`` alone."""
    worked = {"seconds": time.perf_counter() - started}
    record = run_record(site, audit, ft_per_unit(site.crs), tables["issues"], {}, worked)
    record["amendment"] = {
        **options,
        "totals": tables["totals"].to_dict("records"),
    }
    record["inputs"] += [
        {"kind": "proposed", **s.as_json()} for p in proposal.pieces for s in p.sources
    ]
    record["operations"] += [o.as_json() for p in proposal.pieces for o in p.operations]
    parcels, changes = tables["parcels"], tables["changes"]
    kinds = changes["what"] + " " + changes["change"]
    record["counts"] = {
        "changes": {str(name): int(n) for name, n in sorted(kinds.value_counts().items())},
        "parcels": len(parcels),
        "slivers": int(parcels["sliver"].sum()),
        "newly_regulated": int((parcels["newly_regulated"] & ~parcels["sliver"]).sum()),
        "released": int((parcels["released"] & ~parcels["sliver"]).sum()),
        "issues": record["counts"]["issues"],
    }  # fmt: skip
    return record
