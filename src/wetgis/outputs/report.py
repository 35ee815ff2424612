"""The report: one page that works from a disk, without a network, and loads nothing.

Words, tables and provenance are in the page itself. Table, map and sheets are drawn by the page's
own program from the data that the page carries.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from wetgis.outputs.atomic import replacing
from wetgis.outputs.pagedata import page_text
from wetgis.outputs.pagesize import details
from wetgis.outputs.palette import LAYER_STYLES, PLACE_COLOURS, STATUS_COLOURS
from wetgis.outputs.parquet import as_text
from wetgis.outputs.pieces import Finished, finished, issues_in_order
from wetgis.outputs.tally import Subjects, Tally
from wetgis.outputs.text import areas_line, headlines, issue_line, provisions
from wetgis.outputs.words import (
    ANSWER_WORDS,
    CAVEATS,
    SEVERITY_WORDS,
    STATUS_WORDS,
    SUBJECT_WORDS,
    counted,
    number,
)
from wetgis.schema import SCHEMA_VERSION, STATUSES, SUBJECT_KINDS

if TYPE_CHECKING:
    from jinja2 import Environment

    from wetgis.screening import Screening

__all__ = ["report_html", "write_report"]

#: The page stays below this, bytes.
MAX_BYTES = 9_500_000
#: Data longer than this is packed, and unpacked by the browser.
_PLAIN_CHARACTERS = 1_500_000
#: A browser takes no more than this at ease, characters once unpacked.
_MAX_CHARACTERS = 60_000_000
_ROWS_OF_AN_ISSUE = 200
_SCRIPTS = ("core.js", "shapes.js", "map.js", "table.js", "sheet.js", "page.js")


def write_report(run: Screening | Finished, path: str | Path, tally: Tally | None = None) -> None:
    """Write a screening as one HTML page.

    Parameters
    ----------
    run : Screening or Finished
        The result.
    path : str or Path
        The file; it is replaced where it exists.
    tally : Tally, optional
        What the run comes to, where that is known already.

    Notes
    -----
    The page stays below 10 MB: where it would be larger, shapes are drawn more coarsely, then
    findings that are not met are left out, then the shapes and rows of subjects for which no
    indicator was found, at last the rows of others, those on a wetland or watercourse kept longest;
    the page says what it left out. Of more than 5,000 subjects every so many are tried first, and
    the details at which they promise a page a tenth too large are passed over: so it may show one
    detail less than would have fitted.

    Raises
    ------
    OutputError
        Where the file cannot be written.
    """
    page = report_html(run, tally)
    with replacing(Path(path)) as temporary:
        temporary.write_text(page, encoding="utf-8", newline="\n")


def report_html(run: Screening | Finished, tally: Tally | None = None) -> str:
    """The page as text; see ``write_report``."""
    run = finished(run)
    tally = tally or Tally.of(run)
    fixed = _fixed(run, tally)
    template = _environment().get_template("report.html.j2")
    page = template.render(**fixed, left_out=[], packed=False, data="")
    room = MAX_BYTES - len(page.encode("utf-8"))
    for detail in details(run, tally, room, _MAX_CHARACTERS):
        data = page_text(run, detail, tally)
        packed = len(data) > _PLAIN_CHARACTERS
        page = template.render(
            **fixed,
            left_out=detail.left_out(),
            packed=packed,
            data=_safe(_pack(data) if packed else data),
        )
        if len(page.encode("utf-8")) <= MAX_BYTES and len(data) <= _MAX_CHARACTERS:
            break
    return page


def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("wetgis.outputs", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=False,
    )


def _safe(text: str) -> Any:
    """Text of our own making that the template must not escape."""
    from markupsafe import Markup

    return Markup(text)


def _pack(text: str) -> str:
    return base64.b64encode(gzip.compress(text.encode("utf-8"), 9, mtime=0)).decode("ascii")


def _part(name: str) -> str:
    return (Path(__file__).parent / "templates" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """The hash by which the page's policy knows its own program and style."""
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return "sha256-" + base64.b64encode(digest).decode("ascii")


def _colours() -> str:
    """The palette as CSS."""
    rules = [f".status-{name}{{--c:{colour}}}" for name, colour in STATUS_COLOURS.items()]
    rules += [f".place-{name}{{--c:{colour}}}" for name, colour in PLACE_COLOURS.items()]
    for name, style in LAYER_STYLES.items():
        fill = style.fill or "#ffffff"
        rules.append(f".layer-{name}{{--c:{fill};--e:{style.line}}}")
        if style.hatch:
            stripes = f"repeating-linear-gradient(135deg,{fill} 0 1.5px,#fff 1.5px 4.5px)"
            rules.append(f".swatch.layer-{name}{{background:{stripes}}}")
    return "".join(rules)


def _fixed(run: Finished, tally: Tally) -> dict[str, Any]:
    """Everything of the page that does not depend on how much data it carries."""
    from wetgis import __version__

    style = _part("report.css") + _colours()
    script = '"use strict";(()=>{\n' + "\n".join(map(_part, _SCRIPTS)) + "})();"
    kept = [c for c in tally.subjects.columns if c.isupper()]
    return {
        "version": __version__,
        "schema_version": SCHEMA_VERSION,
        "title": run.title or "Screening",
        "subtitle": _subtitle(run, tally.subjects),
        "style": _safe(style),
        "style_hash": _safe(_hash(style)),
        "script": _safe(script),
        "script_hash": _safe(_hash(script)),
        "headlines": headlines(tally.subjects),
        "areas": areas_line(tally.subjects),
        "issue_line": issue_line(run.issues),
        **_tiles(tally.subjects),
        "caveats": CAVEATS,
        "overrides": _overrides(run.provenance),
        "provisions": _provisions(run, tally),
        "search_more": " or " + kept[0] if kept else "",
        "issues": _issues(run.issues),
        "checklist": run.checklist.astype("object").to_dict("records"),
        **_provenance(run),
    }


def _subtitle(run: Finished, subjects: Subjects) -> str:
    counts = {kind: subjects.of_kind(kind).total() for kind in SUBJECT_KINDS}
    told = [counted(n, kind) for kind, n in counts.items() if n]
    text = "Screening of " + (", ".join(told) or "no subjects")
    as_of = run.provenance.get("options", {}).get("as_of")
    if as_of:
        text += f", as of {as_of}"
    titles = [str(pack.title) for pack in run.packs]
    titles = titles or [str(p.get("id", "")) for p in run.provenance.get("packs", [])]
    return text + ("; law: " + "; ".join(titles) if titles else "; without any law") + "."


def _tiles(subjects: Subjects) -> dict[str, Any]:
    """The statuses of the parcels, or of footprints where there are no parcels."""
    there = [k for k in SUBJECT_KINDS if subjects.of_kind(k)]
    kind = there[0] if there else SUBJECT_KINDS[0]
    counts = subjects.of_kind(kind)
    statuses = []
    for status in STATUSES:
        n = counts[status]
        one = {"code": status, "words": STATUS_WORDS[status], "count": n, "printed": f"{n:,}"}
        statuses.append(one)
    return {
        "statuses": statuses,
        "tiles_kind": SUBJECT_KINDS.index(kind),
        "tiles_title": f"{SUBJECT_WORDS[kind][1].capitalize()} by status",
        "legend": [s for s in statuses if subjects.of_status(str(s["code"]))],
    }


def _overrides(provenance: dict[str, Any]) -> list[str]:
    """A sentence for each parameter that the user replaced."""
    told = []
    for one in provenance.get("overrides") or []:
        words = " ".join(str(one.get(k, "")) for k in ("comparison", "value", "unit")).strip()
        told.append(
            f"The parameter {one.get('parameter', '')} of {one.get('pack', 'a pack')} was set by "
            f"the user to {words} ({one.get('cite', 'no citation')})."
        )
    return told


def _provisions(run: Finished, tally: Tally) -> list[dict[str, Any]]:
    return [
        {
            "pack": p.pack,
            "rule": p.rule,
            "title": p.title,
            "says": p.says,
            "cite": p.cite + (" (inferred)" if p.cite_status == "inferred" else ""),
            "severity": SEVERITY_WORDS.get(p.severity, p.severity),
            "answers": " or ".join(ANSWER_WORDS.get(a, a) for a in p.answers),
            "needs": p.needs,
            "met": p.met,
            "undetermined": p.undetermined,
            "met_printed": f"{p.met:,}",
            "undetermined_printed": f"{p.undetermined:,}",
            "doubtful_printed": f"{p.doubtful:,}",
        }
        for p in provisions(run, tally.findings)
    ]


def _issues(issues: pd.DataFrame) -> list[dict[str, Any]]:
    """Issues in groups of one severity, code and layer, the worst first."""
    from wetgis.issuelog import CODES

    groups = []
    ordered = issues_in_order(issues)
    for (severity, code, layer), rows in ordered.groupby(["severity", "code", "layer"], sort=False):
        some = rows.head(_ROWS_OF_AN_ISSUE)
        texts = {c: as_text(some[c]) for c in ("file", "record_id", "message", "effect")}
        table = pd.DataFrame(texts)
        table["before"] = ["" if v != v else number(v, "sqft") for v in some["before_sqft"]]
        table["after"] = ["" if v != v else number(v, "sqft") for v in some["after_sqft"]]
        groups.append(
            {
                "severity": severity,
                "code": code,
                "layer": layer,
                "words": CODES.get(str(code), str(code)).capitalize(),
                "count": f"{len(rows):,}",
                "rows": table.to_dict("records"),
                "areas": bool(rows["before_sqft"].notna().any()),
                "more": f"{len(rows) - len(some):,}" if len(rows) > len(some) else "",
            }
        )
    return groups


def _provenance(finished_run: Finished) -> dict[str, Any]:
    run = finished_run.provenance
    titles = {str(pack.id): str(pack.title) for pack in finished_run.packs}
    packs = [
        {k: str(p.get(k, "")) for k in ("id", "as_of", "sha256")} for p in run.get("packs", [])
    ]
    for pack in packs:
        pack["title"] = titles.get(pack["id"], "")
    names = ("path", "layer", "driver", "features", "crs", "sha256")
    inputs = [{k: _said(one.get(k)) for k in names} for one in run.get("inputs", [])]
    facts = []
    for name in ("versions", "counts", "repairs", "audit", "facts", "run"):
        value = run.get(name)
        if value not in (None, {}, []):
            facts.append((name.capitalize(), _said(value)))
    return {
        "packs": packs,
        "inputs": inputs,
        "operations": [_operation(one) for one in run.get("operations", [])],
        "facts": facts,
        "options": json.dumps(run.get("options", {}), indent=2, ensure_ascii=False, sort_keys=True),
    }


def _operation(one: dict[str, Any]) -> dict[str, str]:
    remarks = []
    if one.get("ballpark"):
        remarks.append("A ballpark transformation: see the doubts.")
    if one.get("missing_grids"):
        remarks.append(f"Missing grids: {_said(one['missing_grids'])}.")
    accuracy = one.get("accuracy_m")
    return {
        "from_crs": _said(one.get("from", one.get("from_crs"))),
        "to_crs": _said(one.get("to", one.get("to_crs"))),
        "accuracy": "not known" if accuracy is None or accuracy < 0 else f"{accuracy:g}",
        "definition": _said(one.get("definition")),
        "remark": " ".join(remarks),
    }


def _said(value: Any) -> str:
    """A value of ``run.json`` in a cell."""
    if value is None:
        return ""
    if isinstance(value, dict):
        return ", ".join(f"{k} {_said(v)}" for k, v in sorted(value.items()))
    if isinstance(value, list):
        return ", ".join(_said(v) for v in value)
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
