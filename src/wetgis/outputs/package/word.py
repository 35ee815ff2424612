"""Documents in Word: the one that comes with wetgis, and a town's own template."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

from wetgis.errors import InputError
from wetgis.outputs.package.paper import Blank, Document, Heading, Picture, Table, Text

__all__ = ["fill", "page_break", "render", "starter_template", "styled"]

#: What XML does not allow in a text.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def clean(text: str) -> str:
    r"""A text without the characters that Word refuses.

    Examples
    --------
    >>> clean("a\x01b")
    'ab'
    """
    return _CONTROL.sub("", text)


def styled(word: Any) -> None:
    """Letter paper, quiet type."""
    from docx.shared import Inches, Pt, RGBColor

    for section in word.sections:
        section.page_width, section.page_height = Inches(8.5), Inches(11)
        section.left_margin = section.right_margin = Inches(0.95)
        section.top_margin = section.bottom_margin = Inches(0.9)
    normal = word.styles["Normal"]
    normal.font.name, normal.font.size = "Calibri", Pt(10.5)
    normal.paragraph_format.space_after = Pt(4)
    for name, size in (("Title", 20), ("Heading 1", 13)):
        font = word.styles[name].font
        font.name, font.size, font.bold = "Calibri", Pt(size), True
        font.color.rgb = RGBColor(0x1F, 0x3A, 0x4D)


def page_break(word: Any) -> None:
    """What follows begins on a new page."""
    word.add_page_break()


def fill(word: Any, document: Document) -> None:
    """All parts of a document, one after the other."""
    from docx.shared import Inches, Pt

    word.add_heading(clean(document.title), 0)
    for part in document.parts:
        if isinstance(part, Heading):
            word.add_heading(clean(part.text), 1)
        elif isinstance(part, Text):
            paragraph = word.add_paragraph(style="List Bullet" if part.mark else None)
            run = paragraph.add_run(clean(part.text))
            run.bold = part.bold
            if part.small:
                run.font.size = Pt(9)
        elif isinstance(part, Blank):
            word.add_paragraph(f"{clean(part.label)} {'_' * max(12, 60 - len(part.label))}")
        elif isinstance(part, Table):
            _table(word, part)
        else:
            word.add_picture(_picture(part), width=Inches(part.width))
    if document.foot:
        word.sections[-1].footer.paragraphs[0].text = clean(document.foot)


def _table(word: Any, part: Table) -> None:
    from docx.enum.text import WD_ALIGN_PARAGRAPH
    from docx.shared import Inches, Pt

    table = word.add_table(rows=1 + len(part.rows), cols=len(part.header))
    table.style = "Light Grid Accent 1"
    table.autofit = False
    total = sum(part.shares)
    grid = [list(row.cells) for row in table.rows]  # cells are slow to find one by one
    for i, row in enumerate((part.header, *part.rows)):
        for k, text in enumerate(row):
            cell = grid[i][k]
            cell.width = Inches(6.6 * part.shares[k] / total)
            paragraph = cell.paragraphs[0]
            run = paragraph.add_run(clean(text))
            run.font.size = Pt(8.5)
            run.bold = i == 0
            if k in part.right:
                paragraph.alignment = WD_ALIGN_PARAGRAPH.RIGHT
    repeat_header(table)
    word.add_paragraph()


def repeat_header(table: Any) -> None:
    """The first row stands again on each page."""
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn

    properties = table.rows[0]._tr.get_or_add_trPr()
    element = OxmlElement("w:tblHeader")
    element.set(qn("w:val"), "true")
    properties.append(element)


def _picture(part: Picture) -> io.BytesIO:
    """The drawing as PNG."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(part.width, part.height))
    ax = figure.add_axes((0, 0, 1, 1))
    part.draw(ax)
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=170, metadata={"Software": None})
    out.seek(0)
    return out


def render(template: str | Path, facts: dict[str, Any], path: Path) -> None:
    """Fill a town's own Word template.

    Parameters
    ----------
    template : path
        A .docx with tags of Jinja, as ``starter_template`` writes one.
    facts : dict
        See docs/amendment.md.
    path : Path

    Raises
    ------
    InputError
        Where the template is not there, is no Word file, or names what the facts do not hold.
    """
    from docxtpl import DocxTemplate
    from jinja2 import StrictUndefined, TemplateError
    from jinja2.sandbox import SandboxedEnvironment

    if not Path(template).is_file():
        raise InputError("the template is not there.", needed="a .docx file", where=str(template))
    # a template comes from outside: it may show facts and do nothing else
    environment = SandboxedEnvironment(autoescape=True, undefined=StrictUndefined)
    try:
        made = DocxTemplate(str(template))
        made.render(_cleaned(facts), environment, autoescape=True)
        made.save(str(path))
    except (TemplateError, KeyError, ValueError, OSError) as error:
        raise InputError(f"the template cannot be filled: {error}.",
                         needed="a Word file whose tags name the facts of an amendment",
                         mend="start from the one that starter_template writes",
                         where=str(template)) from error  # fmt: skip


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {k: _cleaned(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_cleaned(v) for v in value]
    return value


def starter_template(path: str | Path) -> None:
    """Write a Word template with the tags of an amendment, for a town to make its own.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> out = pathlib.Path(tempfile.mkdtemp()) / "finding.docx"
    >>> starter_template(out)
    >>> out.stat().st_size > 10_000
    True
    """
    from docx import Document as Word

    word = Word()
    styled(word)
    word.add_heading("Amendment of the map: {{ title }}", 0)
    word.add_paragraph("Prepared {{ date }}, in {{ crs }}.")
    word.add_heading("What changes", 1)
    word.add_paragraph("{%p for line in headlines %}")
    word.add_paragraph("{{ line }}", style="List Bullet")
    word.add_paragraph("{%p endfor %}")
    _loop(word, "totals", ("what", "before", "added", "removed", "after"))
    word.add_heading("Affected parcels", 1)
    _loop(word, "parcels", ("parcel_id", "before", "after", "change", "note"))
    word.add_heading("What the law says", 1)
    word.add_paragraph("{%p for law in citations %}")
    word.add_paragraph("{{ law.says }} [{{ law.cite }}]", style="List Bullet")
    word.add_paragraph("{%p endfor %}")
    word.add_heading("Decision", 1)
    word.add_paragraph("{%p for line in blanks %}")
    word.add_paragraph("{{ line }} ______________________________")
    word.add_paragraph("{%p endfor %}")
    word.save(str(path))


def _loop(word: Any, name: str, columns: tuple[str, ...]) -> None:
    table = word.add_table(rows=4, cols=len(columns))
    table.style = "Light Grid Accent 1"
    for k, column in enumerate(columns):
        table.cell(0, k).text = column.replace("_", " ").capitalize()
        table.cell(2, k).text = f"{{{{ row.{column} }}}}"
    table.cell(1, 0).text = f"{{%tr for row in {name} %}}"
    table.cell(3, 0).text = "{%tr endfor %}"
    repeat_header(table)
