"""Findings that turn with an amendment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from wetgis.screening import assess

if TYPE_CHECKING:
    from wetgis.amendment import Amendment

__all__ = ["turned_findings"]

_KEY = ["subject_kind", "subject_id", "record", "pack", "rule"]
_TOLD = ["outcome", "answer", "value"]
COLUMNS = [*_KEY, *(f"{t}_{s}" for t in _TOLD for s in ("before", "after")), "cite"]
#: Of several features' outcomes under one rule the first of these stands.
_RANK = {"met": 0, "undetermined": 1, "not_met": 2}


def turned_findings(amendment: Amendment) -> pd.DataFrame:
    """Each subject and rule whose outcome or answer is another one afterwards.

    Of the features that a rule asks about the strongest outcome stands: features may have other
    ids on the new map.
    """
    parcels = amendment.parcels
    ids = sorted({str(i) for i in parcels.loc[~parcels["sliver"].astype(bool), "parcel_id"]})
    if not ids or not amendment.packs:
        return pd.DataFrame(columns=COLUMNS)
    old, new = (
        _strongest(assess(site, ids).findings)
        for site in (amendment.site_before, amendment.site_after)
    )
    both = old.join(new, how="outer", lsuffix="_before", rsuffix="_after")
    text = [f"{t}_{s}" for t in ("outcome", "answer", "cite") for s in ("before", "after")]
    both[text] = both[text].fillna("")
    # a rule that no feature made anyone ask is as good as one that is not met
    outcomes = [both[f"outcome_{s}"].replace("", "not_met") for s in ("before", "after")]
    answers = both["answer_before"] != both["answer_after"]
    asked = (both["outcome_before"] != "") & (both["outcome_after"] != "")
    table = both[(outcomes[0] != outcomes[1]) | (answers & asked)].reset_index()
    cite = table["cite_after"].where(table["cite_after"] != "", table["cite_before"])
    return table.assign(cite=cite)[COLUMNS].reset_index(drop=True)


def _strongest(findings: pd.DataFrame) -> pd.DataFrame:
    rank = findings["outcome"].map(_RANK)
    first = findings.assign(_rank=rank).sort_values([*_KEY, "_rank"], kind="stable")
    return first.drop_duplicates(_KEY).set_index(_KEY)[[*_TOLD, "cite"]].sort_index()
