"""Pages, and where on them the map and the strip beside it lie; all in inches."""

from __future__ import annotations

from dataclasses import dataclass

from wetgis.errors import UsageError

__all__ = ["PAGES", "Box", "Page", "page_of"]

#: Width and height in inches, the long side level.
PAGES: dict[str, tuple[float, float]] = {
    "LETTER": (11.0, 8.5),
    "LEGAL": (14.0, 8.5),
    "TABLOID": (17.0, 11.0),
    "ANSI B": (17.0, 11.0),
    "ANSI C": (22.0, 17.0),
    "ANSI D": (34.0, 22.0),
    "ARCH A": (12.0, 9.0),
    "ARCH B": (18.0, 12.0),
    "ARCH C": (24.0, 18.0),
    "ARCH D": (36.0, 24.0),
}


@dataclass(frozen=True)
class Box:
    """A rectangle on the page: its lower left corner and its size."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """The right edge."""
        return self.x + self.width

    @property
    def top(self) -> float:
        """The upper edge."""
        return self.y + self.height

    @property
    def middle(self) -> tuple[float, float]:
        """The centre."""
        return self.x + self.width / 2, self.y + self.height / 2

    def inside(self, by: float) -> Box:
        """The box shrunk by a distance on every side."""
        return Box(self.x + by, self.y + by, self.width - 2 * by, self.height - 2 * by)


@dataclass(frozen=True)
class Page:
    """A page: its size, its border, the map's frame and the strip at its right.

    ``type_scale`` scales letters and marks: 1 on ARCH D, smaller where the page is.
    """

    name: str
    width: float
    height: float

    @property
    def type_scale(self) -> float:
        """How large letters are against ARCH D's."""
        return min(1.0, 0.78 + 0.22 * (self.height - 8.5) / (24.0 - 8.5))

    @property
    def border(self) -> Box:
        """The outer line; the binding edge of large pages is wider."""
        large = self.width >= 22
        left, other = (1.25, 0.5) if large else (0.4, 0.4)
        return Box(left, other, self.width - left - other, self.height - 2 * other)

    @property
    def strip(self) -> Box:
        """Where title, legend and tables stand."""
        b = self.border
        width = min(max(2.35, 0.165 * self.width), 5.6)
        return Box(b.right - width, b.y, width, b.height)

    @property
    def frame(self) -> Box:
        """The map's frame: within the border, with room for the numbers of the grid."""
        b, room = self.border, 0.28 * self.type_scale + 0.05
        return Box(
            b.x + room, b.y + room, b.width - self.strip.width - 2 * room, b.height - 2 * room
        )


def page_of(name: str) -> Page:
    """A page by its name, whatever the case.

    Raises
    ------
    UsageError
        Where there is none of that name.

    Examples
    --------
    >>> page_of("arch d")
    Page(name='ARCH D', width=36.0, height=24.0)
    """
    key = " ".join(name.upper().replace("-", " ").replace("_", " ").split())
    if key not in PAGES:
        raise UsageError(f"there is no page '{name}'.", needed=f"of {', '.join(PAGES)}")
    return Page(key, *PAGES[key])
