"""The report in a browser: what a reader does with it."""

from __future__ import annotations

import importlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from wetgis.outputs import report, words

sys.path.insert(0, str(Path(__file__).parent))
standin = importlib.import_module("outputs_standin")

pytestmark = pytest.mark.browser

SWITCHES = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    names = ("chromium", "chromium-browser", "google-chrome")
    program = next((path for path in map(shutil.which, names) if path), None)
    if program is None:
        pytest.skip("Chromium is not installed (Debian: apt-get install chromium)")
    playwright = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, headless=True, args=[*SWITCHES])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def axe() -> str:
    """axe-core's program, kept outside the repository between runs."""
    folder = Path(tempfile.gettempdir()) / "wetgis-axe-core-4"
    program = folder / "node_modules" / "axe-core" / "axe.min.js"
    if not program.exists():
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip("npm is not installed, so axe-core is not here")
        folder.mkdir(exist_ok=True)
        command = [npm, "install", "--prefix", str(folder), "--no-audit", "--no-fund", "axe-core@4"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        if not program.exists():
            pytest.skip(f"axe-core could not be installed: {done.stderr.strip()[-200:]}")
    return program.read_text("utf-8")


@dataclass
class Reader:
    """A page, and what went wrong on it."""

    page: Any
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def rows(self) -> list[str]:
        return [
            str(t)
            for t in self.page.locator("#subjects tbody tr td:nth-child(2)").all_inner_texts()
        ]

    def column(self, head: str) -> list[str]:
        heads = self.page.locator("#subjects thead button").all_inner_texts()
        at = next(i for i, text in enumerate(heads) if text.startswith(head))
        cells = self.page.locator(f"#subjects tbody tr td:nth-child({at + 1})").all_inner_texts()
        return [str(c) for c in cells]

    def shown(self) -> str:
        return str(self.page.inner_text("#shown"))


@pytest.fixture(scope="module")
def result() -> SimpleNamespace:
    return standin.town(240, hostile=True)


@pytest.fixture(scope="module")
def path(result: SimpleNamespace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    report.write_report(result, path)
    return path


def opened(chromium: Any, path: Path, tail: str = "", **options: Any) -> Iterator[Reader]:
    context = chromium.new_context(viewport={"width": 1400, "height": 900}, **options)
    page = context.new_page()
    reader = Reader(page)

    def route(request: Any) -> None:
        if request.request.url.startswith(path.as_uri()):
            request.continue_()
        else:
            reader.requests.append(request.request.url)
            request.abort()

    page.route("**/*", route)
    page.on("console", lambda message: reader.complaints.append(message.text))
    page.on("pageerror", lambda error: reader.complaints.append(str(error)))
    page.on("dialog", lambda dialog: (reader.complaints.append("dialog"), dialog.dismiss()))
    page.goto(path.as_uri() + tail)
    page.wait_for_selector("html[data-ready]", timeout=60_000)
    yield reader
    context.close()
    assert reader.complaints == []
    assert reader.requests == []


@pytest.fixture
def reader(chromium: Any, path: Path) -> Iterator[Reader]:
    """The page as it opens; at its end it must have kept quiet and to itself."""
    yield from opened(chromium, path)


def test_search_and_filters(reader: Reader, result: SimpleNamespace) -> None:
    page = reader.page
    measures = result.measures
    assert reader.shown() == f"{len(measures)} listed"
    page.fill("#search", "001.04-1")
    wanted = measures["subject_id"].str.contains("001.04-1", regex=False).sum()
    assert reader.shown() == f"{wanted} of {len(measures)} listed"
    page.fill("#search", "BROOK st")  # a kept column, whatever the case
    assert reader.shown() != "0 of"
    page.click("#clear-filters")
    page.select_option("#filter-status", label="In the buffer")
    assert reader.shown().startswith(f"{(measures['status'] == 'in_buffer').sum()} of")
    page.select_option("#filter-kind", label="Footprints")
    assert all("footprint" in row for row in reader.rows())
    page.click("#clear-filters")
    page.check("#filter-doubt")
    doubtful = result.findings.loc[result.findings["doubt"] != "", "subject_id"].nunique()
    assert reader.shown() == f"{doubtful} of {len(measures)} listed"
    page.fill("#search", "no such id")
    assert "Nothing matches" in page.inner_text("#subjects")


def test_sorting_by_number_and_by_id(reader: Reader, result: SimpleNamespace) -> None:
    page = reader.page
    page.locator("#subjects thead button", has_text="Wetland").first.click()
    top = reader.column("Wetland")
    numbers = [float(text.replace(",", "")) for text in top]
    assert numbers == sorted(numbers, reverse=True)
    assert numbers[0] == pytest.approx(result.measures["wetland_sqft"].max(), abs=0.6)
    header = page.locator("#subjects th[aria-sort]")
    assert header.get_attribute("aria-sort") == "descending"
    page.locator("#subjects th[aria-sort] button").press("Enter")  # by keyboard, focus stayed
    again = [float(text.replace(",", "")) for text in reader.column("Wetland")]
    assert again == sorted(again)
    page.select_option("#filter-kind", label="Parcels")
    page.locator("#subjects thead button", has_text="Id").click()
    ids = [row for row in reader.rows() if row.startswith("001.")]
    assert ids.index("001.00-9") < ids.index("001.00-10")  # as people count


def test_pages_of_the_table(reader: Reader) -> None:
    page = reader.page
    first = reader.rows()
    assert page.inner_text("#page-number") == "Page 1 of 5"
    assert page.is_disabled("#page-before")
    page.click("#page-after")
    assert not set(first) & set(reader.rows())


def test_from_the_table_to_the_map_and_back(reader: Reader) -> None:
    page = reader.page
    page.fill("#search", "001.05-9")
    drawn = int(page.get_attribute("#map", "data-drawn"))
    page.get_by_role("button", name="Parcel 001.05-9", exact=True).click()
    assert int(page.get_attribute("#map", "data-drawn")) > drawn
    assert page.inner_text("#sheet-title") == "Parcel 001.05-9"
    assert "001.05-9" in page.inner_text("#chosen")
    assert page.url.endswith("#subject=parcel/001.05-9/1")
    # the map looks at the parcel now: what lies in its middle is that parcel
    page.fill("#search", "")
    box = page.locator("#map").bounding_box()
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.click(*middle)
    assert page.inner_text("#sheet-title") == "Parcel 001.05-9"
    # back: a parcel beside it, picked on the map, is the chosen row of the table
    page.mouse.click(middle[0] + 75, middle[1])
    chosen = page.inner_text("#sheet-title")
    assert chosen != "Parcel 001.05-9"
    row = page.locator("#subjects tr[aria-current]")
    assert row.count() == 1
    assert row.inner_text().split("\t")[1].split()[0] in chosen
    assert row.is_visible()


def test_a_filter_that_hides_what_is_picked_gives_way(reader: Reader) -> None:
    page = reader.page
    page.get_by_role("button", name="Parcel 001.05-9", exact=True).click()
    page.fill("#search", "nothing at all")
    box = page.locator("#map").bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert page.locator("#subjects tr[aria-current]").inner_text().count("001.05-9") == 1


def test_pan_and_zoom_by_mouse_wheel_and_keyboard(reader: Reader) -> None:
    page = reader.page
    page.locator("#map").scroll_into_view_if_needed()

    def picture() -> bytes:
        page.wait_for_timeout(250)
        return bytes(page.locator("#map").screenshot())

    seen = [picture()]
    page.click("#zoom-in")
    seen.append(picture())
    box = page.locator("#map").bounding_box()
    page.mouse.move(box["x"] + 300, box["y"] + 300)
    page.mouse.down()
    page.mouse.move(box["x"] + 200, box["y"] + 260, steps=4)
    page.mouse.up()
    seen.append(picture())
    before = page.evaluate("scrollY")
    page.focus("#map")
    page.mouse.wheel(0, -400)
    seen.append(picture())
    assert page.evaluate("scrollY") == before
    for key in ("ArrowLeft", "-"):
        page.keyboard.press(key)
        seen.append(picture())
    assert len(set(seen)) == len(seen)
    page.keyboard.press("0")
    page.mouse.move(5, 5)
    page.evaluate("document.activeElement.blur()")
    assert page.inner_text("#sheet-empty").startswith("Choose")  # dragging picked nothing


def test_layers_can_be_turned_off(reader: Reader) -> None:
    page = reader.page
    before = page.locator("#map").screenshot()
    page.get_by_role("checkbox", name="Wetlands").uncheck()
    page.wait_for_timeout(100)
    assert page.locator("#map").screenshot() != before


def test_tiles_and_provisions_filter_the_table(reader: Reader, result: SimpleNamespace) -> None:
    page = reader.page
    parcels = result.measures[result.measures["subject_kind"] == "parcel"]
    page.locator("#tiles button", has_text="On a wetland").click()
    on = (parcels["status"] == "on_feature").sum()
    assert reader.shown().startswith(f"{on} of")
    page.get_by_role("button", name="RYE-12: show the").click()
    met = result.findings[
        (result.findings["rule"] == "RYE-12") & (result.findings["outcome"] == "met")
    ]
    assert reader.shown().startswith(f"{len(met)} of")


def test_the_sheet_has_findings_citations_contacts_and_doubts(
    chromium: Any, path: Path, result: SimpleNamespace
) -> None:
    doubtful = result.findings[
        (result.findings["doubt"] != "") & (result.findings["outcome"] == "met")
    ].iloc[0]
    address = f"#subject={doubtful['subject_kind']}/{doubtful['subject_id']}/1"
    for reader in opened(chromium, path, address):  # an address opens its sheet
        sheet = reader.page.inner_text("#sheet-body")
        assert str(doubtful["subject_id"]) in sheet
        assert "§ 195-4" in sheet
        assert "accuracy of the layers reaches the threshold" in sheet
        assert "the number of 46-3C" in sheet
        assert "its text is not at hand" in sheet
        assert "made_up.gpkg:layer, city map" in sheet
        assert "between 0 and" in sheet  # its interval
        assert reader.page.locator("#sheet-body canvas").get_attribute("data-drawn")


def test_a_sheet_says_nothing_about_what_is_not_there(reader: Reader) -> None:
    page = reader.page
    for name in ("Parcel 001.00-6", "Footprint F-1"):  # one without an address
        page.fill("#search", name.split()[1])
        page.get_by_role("button", name=name, exact=True).click()
        told = page.inner_text("#sheet-body")
        assert name in told
        for word in ("null", "undefined", "NaN", "[object"):
            assert word not in told


def test_python_and_the_page_print_the_same_numbers(reader: Reader) -> None:
    numbers = [
        (v, unit, against)
        for v in (
            0.0,
            4e-5,
            0.004,
            0.5,
            12.25,
            99.999,
            100.0,
            3999.9997,
            4000.0004,
            1234567.891,
            -3.5,
        )
        for unit in ("sqft", "ft", "pct", "count", "ratio", "days")
        for against in (None, 0.0, 100.0, 4000.0)
    ]
    program = report._part("core.js") + "\nreturn rows.map((r) => number(...r));"
    made = _evaluated(reader, program, numbers)
    told = [words.number(v, unit, against) for v, unit, against in numbers]
    assert made == told


def _evaluated(reader: Reader, program: str, rows: list[Any]) -> list[str]:
    """Run a part of the page's program in an empty page, which has no policy against it."""
    page = reader.page.context.new_page()
    page.goto("about:blank")
    made = page.evaluate(
        "([program, rows]) => new Function('rows', program)(rows)", [program, rows]
    )
    page.close()
    return list(made)


def test_hostile_text_is_shown_and_does_nothing(reader: Reader) -> None:
    page = reader.page
    assert page.inner_text("h1") == standin.HOSTILE
    page.fill("#search", "onerror")
    assert reader.shown().startswith("2 of")
    page.get_by_role("button", name=f"Parcel {standin.HOSTILE}").click()
    assert page.inner_text("#sheet-title") == f"Parcel {standin.HOSTILE}"
    assert page.locator("main img").count() == 0
    page.goto("about:blank")
    page.go_back()
    page.wait_for_selector("html[data-ready]")
    assert page.inner_text("#sheet-title") == f"Parcel {standin.HOSTILE}"  # its address holds too


def test_accessible(reader: Reader, axe: str) -> None:
    page = reader.page
    page.evaluate(axe)
    run = "axe.run(document, {resultTypes: ['violations']})"
    assert [v["id"] for v in page.evaluate(run)["violations"]] == []
    page.get_by_role("button", name="Parcel 001.05-9", exact=True).click()
    page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true })")
    found = page.evaluate(run)["violations"]
    assert [(v["id"], v["nodes"][0]["target"]) for v in found] == []


def test_on_a_narrow_screen_nothing_sticks_out(chromium: Any, path: Path) -> None:
    for reader in opened(chromium, path):
        reader.page.set_viewport_size({"width": 390, "height": 800})
        reader.page.wait_for_timeout(200)
        wide = reader.page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 390


def test_it_prints(reader: Reader) -> None:
    page = reader.page
    page.get_by_role("button", name="Parcel 001.05-9", exact=True).click()
    page.emulate_media(media="print")
    assert not page.is_visible("nav")
    assert not page.is_visible(".tools")
    assert page.is_visible("#sheet-title")
    assert page.is_visible(".printonly")
    page.evaluate("document.body.classList.add('print-sheet')")
    assert not page.is_visible("#explore")
    assert page.is_visible("#sheet-title")


def test_without_javascript_the_words_are_there(chromium: Any, path: Path) -> None:
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(path.as_uri())
    text = page.inner_text("body")
    context.close()
    assert "parcels reach a mapped wetland" in text
    assert "measures.csv" in text
    assert "MON-26" in text


@pytest.mark.slow
def test_twenty_thousand_parcels_open_and_answer(chromium: Any, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    report.write_report(standin.town(20_000), path)
    for reader in opened(chromium, path):
        page = reader.page
        assert page.locator("script[data-packed=gzip]").count() == 1
        assert reader.shown() == "20,006 listed"
        page.fill("#search", "001.06")
        page.locator("#subjects tbody button").first.click()
        assert page.inner_text("#sheet-title").startswith("Parcel 001.06")
