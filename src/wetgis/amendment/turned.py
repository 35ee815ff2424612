"""Findings that turn with an amendment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from wetgis.screening import assess

if TYPE_CHECKING:
    from wetgis.amendment import Amendment

__all__ = ["turned_findings"]

_KEY = ["subject_kind", "subject_id", "record", "pack", "rule", "feature_kind", "feature_id"]
_TOLD = ["outcome", "answer", "value"]
COLUMNS = [*_KEY, *(f"{t}_{s}" for t in _TOLD for s in ("before", "after")), "cite"]


def turned_findings(amendment: Amendment) -> pd.DataFrame:
    """Each finding on an affected parcel whose outcome or answer is another one afterwards."""
    parcels = amendment.parcels
    ids = sorted({str(i) for i in parcels.loc[~parcels["sliver"].astype(bool), "parcel_id"]})
    if not ids or not amendment.packs:
        return pd.DataFrame(columns=COLUMNS)
    old, new = (
        _first(assess(site, ids).findings) for site in (amendment.site_before, amendment.site_after)
    )
    both = old.join(new, how="outer", lsuffix="_before", rsuffix="_after")
    text = [f"{t}_{s}" for t in ("outcome", "answer", "cite") for s in ("before", "after")]
    both[text] = both[text].fillna("")
    turned = (both["outcome_before"] != both["outcome_after"]) | (
        both["answer_before"] != both["answer_after"]
    )
    table = both[turned].reset_index()
    cite = table["cite_after"].where(table["cite_after"] != "", table["cite_before"])
    return table.assign(cite=cite)[COLUMNS].reset_index(drop=True)


def _first(findings: pd.DataFrame) -> pd.DataFrame:
    table = findings.drop_duplicates(_KEY).set_index(_KEY)
    return table[[*_TOLD, "cite"]].sort_index()
