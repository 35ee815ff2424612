"""An amendment in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wetgis.amendment import Amendment

__all__ = ["headlines", "summary"]


def headlines(amendment: Amendment) -> list[str]:
    """What changes, in sentences."""
    changes, parcels = amendment.changes, amendment.parcels
    own = changes[changes["what"] != "buffer"]
    lines = []
    if not len(changes):
        lines.append("Nothing changes on the ground.")
    for row in amendment.totals.dropna().to_dict("records"):
        lines.append(
            f"{str(row['what']).capitalize()}: {row['before_sqft']:,.2f} sq ft before, "
            f"{row['added_sqft']:,.2f} added, {row['removed_sqft']:,.2f} removed, "
            f"{row['after_sqft']:,.2f} after."
        )
    lines.append(
        f"{len(own)} changes of the map ({int(own['sliver'].sum())} of them slivers), "
        f"{len(changes) - len(own)} of the buffer that follows from it."
    )
    real = ~parcels["sliver"].astype(bool)
    lines.append(
        f"{int(real.sum())} parcels are affected: {int((parcels['newly_regulated'] & real).sum())} "
        f"newly regulated, {int((parcels['released'] & real).sum())} released. "
        f"{int((~real).sum())} more only by slivers."
    )
    return lines


def summary(amendment: Amendment) -> str:
    """The sentences below each other."""
    return "\n".join(headlines(amendment))
