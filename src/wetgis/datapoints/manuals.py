"""The numbers of the manuals that data points are tried against."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["MANUALS", "Manual"]


@dataclass(frozen=True)
class Manual:
    """The numbers of one manual."""

    title: str
    prevalence: float = 3.0
    prevalence_comparison: str = "le"
    dominance: float = 0.5
    #: Consecutive days of inundation or saturation to the surface in the growing season.
    wet_days: float = 14.0
    #: How many indicators of hydrology stand for them.
    primary: int = 1
    secondary: int | None = 2
    #: Whether all dominants OBL or FACW are enough by themselves.
    rapid_test: bool = False
    #: Whether hydric soil and hydrology may carry vegetation that fails its tests.
    problem_area: bool = False
    cites: tuple[tuple[str, str], ...] = ()

    def cite(self, criterion: str) -> str:
        """Where the manual has a criterion."""
        return f"{self.title}, {dict(self.cites).get(criterion, criterion)}"


MANUALS: Mapping[str, Manual] = {
    "1989": Manual(
        "1989 federal manual",
        prevalence_comparison="lt",
        wet_days=7.0,
        secondary=None,
        problem_area=True,
        cites=(
            ("vegetation", "part II, hydrophytic vegetation criterion"),
            ("soil", "part II, hydric soil criterion"),
            ("hydrology", "part II, wetland hydrology criterion"),
            ("season", "glossary, growing season"),
        ),
    ),
    "1987": Manual(
        "1987 Corps manual with the Northcentral and Northeast supplement 2.0",
        rapid_test=True,
        cites=(
            ("vegetation", "supplement, chapter 2"),
            ("soil", "supplement, chapter 3"),
            ("hydrology", "supplement, chapter 4"),
            ("season", "supplement, chapter 4"),
        ),
    ),
}
