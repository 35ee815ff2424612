"""Letters to owners, the list of addressees, and labels."""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wetgis.outputs.atomic import staged
from wetgis.outputs.package.facts import citations, sqft
from wetgis.outputs.package.paper import Document, Heading, Part, Picture, Table, Text, write_pdf
from wetgis.outputs.package.picture import draw_change_map, ground_around

if TYPE_CHECKING:
    from wetgis.notices import Notices

__all__ = ["letter", "write_notices"]

_LOG = logging.getLogger("wetgis")
WIDE, HIGH = 4.6, 3.3
AROUND_FT = 60.0
BLANK = "____________________"
#: Of the law an owner is told what the map is worth and how a line is found.
_TOLD = ("map_caveat", "boundary_basis")
_PLACES = ("wetland", "watercourse", "buffer", "regulated")
#: Labels of 1 by 2 5/8 inches, thirty on a letter sheet.
ACROSS = 3


def write_notices(notices: Notices, folder: str | Path) -> list[Path]:
    """Write the list, the labels and a letter an addressee with an affected parcel.

    Parameters
    ----------
    notices : Notices
    folder : path

    Returns
    -------
    list of Path
        ``notices.xlsx``, ``labels.docx``, ``letters.pdf``, ``letters.docx``; what needs a package
        that is not installed is left out, and a warning says so.
    """
    from wetgis.outputs.office import write_book

    word = importlib.util.find_spec("docx") is not None
    drawn = importlib.util.find_spec("matplotlib") is not None
    with staged(Path(folder)) as (made, finals):
        book = {"Addressees": notices.recipients, "Parcels": notices.parcels}
        write_book(book, made / "notices.xlsx", notices.amendment.title)
        if word:
            _labels(notices, made / "labels.docx")
        if drawn:
            title = f"Notices: {notices.amendment.title}"
            letters = [letter(notices, n) for n in _affected(notices)]
            if letters:
                write_pdf(letters, made / "letters.pdf", title)
            if letters and word:
                from wetgis.outputs.package.paper import write_docx

                write_docx(letters, made / "letters.docx", title)
        if not (word and drawn):
            _LOG.warning("letters or labels were left out: they need wetgis[maps,office]")
    return finals


def _affected(notices: Notices) -> list[int]:
    rows = notices.recipients[notices.recipients["reason"] == "affected"]
    return [int(n) for n in rows["notice"]]


def letter(notices: Notices, notice: int) -> Document:
    """The letter to one addressee: their parcels before and after, map, date, how to object."""
    amendment, meeting = notices.amendment, notices.meeting
    row = notices.recipients.set_index("notice").loc[notice]
    own = notices.parcels[
        (notices.parcels["notice"] == notice) & (notices.parcels["reason"] == "affected")
    ]
    address = [str(row[c]) for c in notices.owners if str(row[c])] or ["To the owner"]
    parts: list[Part] = [
        *(Text(line) for line in address),
        Text(f"{meeting.sender or BLANK}, {amendment.site_before.as_of.isoformat()}"),
        Text(f"Proposed amendment of the map of {amendment.kind}: {amendment.title}", bold=True),
        Text(_opening(len(own), amendment.kind)),
    ]
    for parcel in own.to_dict("records"):
        parts += _parcel(notices, parcel)
    parts += [
        Heading("Hearing, and how to object"),
        Text(f"{meeting.body or BLANK} hears the amendment on {meeting.date or BLANK}, at "
             f"{meeting.place or BLANK}. Anyone may speak there. Written comments and objections "
             f"are taken until {meeting.object_by or BLANK}, to {meeting.object_to or BLANK}; name "
             "the parcel and, if you can, add a survey or photographs of the line on the ground."),
        *(Text(f"{c['says']} [{c['cite']}]", small=True, mark="•")
          for c in citations(amendment.packs) if c["kind"] in _TOLD),
        Text("The areas are measured on the map; they are no determination. The boundary is found "
             "on the ground.", small=True),
    ]  # fmt: skip
    return Document("Notice to the owner", tuple(parts), f"Notice {notice}. {amendment.title}")


def _opening(count: int, kind: str) -> str:
    what = "a parcel" if count == 1 else f"{count} parcels"
    return (
        f"By the parcel records you own {what} on which the map of {kind} and of their buffer "
        "would change. The table says what would be different, the map where."
    )


def _parcel(notices: Notices, parcel: Mapping[Any, Any]) -> list[Part]:
    """One parcel: before, after, and a map."""
    from wetgis.crs import ft_per_unit

    amendment = notices.amendment
    table = amendment.parcels
    row = table[
        (table["parcel_id"] == parcel["parcel_id"]) & (table["record"] == parcel["record"])
    ].iloc[0]
    rows = []
    for place in _PLACES:
        values = [row[f"{place}_{side}_sqft"] for side in ("before", "after", "change")]
        if values[0] == values[0] or values[1] == values[1]:
            rows.append((place.capitalize(), *(sqft(float(v)) for v in values)))
    note = "It would be regulated for the first time." if row["newly_regulated"] else ""
    note = "It would no longer be regulated." if row["released"] else note
    shape = row["geometry"]
    margin = AROUND_FT / ft_per_unit(table.crs)
    bounds = ground_around([shape], WIDE, HIGH, margin)

    def draw(ax: Any) -> None:
        draw_change_map(ax, amendment, bounds, own=shape, label="Your parcel")

    return [
        Heading(f"Parcel {row['parcel_id']}"),
        *([Text(note)] if note else []),
        Table(("Sq ft", "Before", "After", "Change"), tuple(rows), (1.4, 1, 1, 1),
              frozenset({1, 2, 3})),
        Picture(draw, WIDE, HIGH),
    ]  # fmt: skip


def _labels(notices: Notices, path: Path) -> None:
    """Thirty labels a sheet, in the order of the list."""
    import datetime

    from docx import Document as Word
    from docx.enum.table import WD_ROW_HEIGHT_RULE
    from docx.shared import Inches, Pt

    from wetgis.outputs.package.word import clean

    word = Word()
    section = word.sections[0]
    section.page_width, section.page_height = Inches(8.5), Inches(11)
    section.left_margin = section.right_margin = Inches(0.19)
    section.top_margin = section.bottom_margin = Inches(0.48)
    stamp = datetime.datetime(2000, 1, 1)
    word.core_properties.created = word.core_properties.modified = stamp
    texts = [_address(row, notices.owners) for row in notices.recipients.to_dict("records")]
    count = -(-max(len(texts), 1) // ACROSS)
    table = word.add_table(rows=count, cols=ACROSS)
    table.autofit = False
    for r, row in enumerate(table.rows):
        row.height, row.height_rule = Inches(1.0), WD_ROW_HEIGHT_RULE.EXACTLY
        for k, cell in enumerate(row.cells):
            cell.width = Inches(2.7)
            n = r * ACROSS + k
            run = cell.paragraphs[0].add_run(clean(texts[n]) if n < len(texts) else "")
            run.font.size = Pt(9)
    word.save(str(path))


def _address(row: Mapping[Any, Any], owners: tuple[str, ...]) -> str:
    lines = [str(row[c]) for c in owners if str(row[c])]
    return "\n".join(lines) if lines else f"Owner of parcel\n{row['parcel_ids']}"
