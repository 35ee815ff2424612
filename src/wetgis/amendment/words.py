"""An amendment in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wetgis.amendment import Amendment

__all__ = ["headlines", "summary", "totals_lines"]


def totals_lines(amendment: Amendment) -> list[str]:
    """The totals, a sentence each."""
    return [
        f"{str(row['what']).capitalize()}: {row['before_sqft']:,.2f} sq ft before, "
        f"{row['added_sqft']:,.2f} added, {row['removed_sqft']:,.2f} removed, "
        f"{row['after_sqft']:,.2f} after."
        for row in amendment.totals.dropna().to_dict("records")
    ]


def headlines(amendment: Amendment) -> list[str]:
    """What changes and for how many, in sentences."""
    changes, parcels = amendment.changes, amendment.parcels
    if not len(changes):
        return ["Nothing changes on the ground."]
    own = changes[changes["what"] != "buffer"]
    real = ~parcels["sliver"].astype(bool)
    new = int((parcels["newly_regulated"] & real).sum())
    released = int((parcels["released"] & real).sum())
    thin = int((~real).sum())
    return [
        f"{_counted(len(own), 'change')} of the map ({int(own['sliver'].sum())} of them slivers), "
        f"{len(changes) - len(own):,} of the buffer that follows from it.",
        f"{_counted(int(real.sum()), 'parcel')} affected: {new:,} newly regulated, {released:,} "
        f"released. {_counted(thin, 'parcel')} reached by slivers alone.",
    ]


def _counted(n: int, what: str) -> str:
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"


def summary(amendment: Amendment) -> str:
    """The sentences below each other."""
    return "\n".join([*totals_lines(amendment), *headlines(amendment)])
