"""Plan sheets, read back from the PDF."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import pypdf
import pyproj
import pytest
import rasterio
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from rasterio.transform import from_origin
from shapely import LineString, Point, Polygon

import wetgis
from wetgis.errors import InputError, OutputError, UsageError, WetgisError
from wetgis.outputs.sheet import SheetOptions, scale_checks, write_sheet
from wetgis.outputs.sheets.blocks import Block, Column, Row, flow, table_block
from wetgis.outputs.sheets.contours import contour_lines
from wetgis.outputs.sheets.draw import Map, path_of
from wetgis.outputs.sheets.ink import Paper, clean, text_width, wrap
from wetgis.outputs.sheets.labels import Labels, legs_of_parcels
from wetgis.outputs.sheets.north import nice_scale, true_north_deg
from wetgis.outputs.sheets.page import PAGES, Box, page_of
from wetgis.outputs.sheets.tiling import MAX_SHEETS, View, tile
from wetgis.rasters.surface import open_surface

CRS = "EPSG:2260"
OX, OY = 578_000.0, 909_000.0


def at(*places: tuple[float, float]) -> list[tuple[float, float]]:
    return [(x + OX, y + OY) for x, y in places]


def frame(*shapes: Any, **columns: Any) -> gpd.GeoDataFrame:
    ids = columns.pop("id", [str(i + 1) for i in range(len(shapes))])
    return gpd.GeoDataFrame({"id": ids, **columns}, geometry=list(shapes), crs=CRS)


def box(x0: float, y0: float, x1: float, y1: float) -> Polygon:
    return shapely.box(x0 + OX, y0 + OY, x1 + OX, y1 + OY)


LOT = frame(box(0, 0, 300, 200), id=["91.-1-30"])


def paths(page: pypdf.PageObject) -> list[np.ndarray]:
    """Every path of a page as its corners, in inches."""
    content = pypdf.generic.ContentStream(page.get_contents(), page.pdf)
    found: list[np.ndarray] = []
    corners: list[tuple[float, float]] = []
    for operands, operator in content.operations:
        if operator == b"m":
            if len(corners) > 1:
                found.append(np.array(corners) / 72)
            corners = [(float(operands[0]), float(operands[1]))]
        elif operator == b"l":
            corners.append((float(operands[0]), float(operands[1])))
        elif operator in (b"S", b"f", b"B", b"b", b"s", b"n"):
            if len(corners) > 1:
                found.append(np.array(corners) / 72)
            corners = []
    return found


def rectangles(page: pypdf.PageObject, width: float, height: float) -> list[np.ndarray]:
    """Paths whose extent is so many inches, to a ten-thousandth."""
    size = np.array([width, height])
    return [p for p in paths(page) if np.abs(np.ptp(p, axis=0) - size).max() < 1e-4]


# ---- scale


@pytest.mark.parametrize(("page", "scale"), [("LETTER", 50.0), ("ARCH D", 20.0), ("TABLOID", 33.0)])
def test_the_scale_is_exact(tmp_path: Path, page: str, scale: float) -> None:
    out = write_sheet({"parcels": LOT}, tmp_path / "s.pdf", page=page, scale_ft_per_in=scale).path
    first = pypdf.PdfReader(out).pages[0]
    width, height = PAGES[page]
    assert (float(first.mediabox.width), float(first.mediabox.height)) == (72 * width, 72 * height)
    # the lot's outline: 300 by 200 ft
    assert rectangles(first, 300 / scale, 200 / scale)


def test_a_hundred_feet_measure_two_inches(tmp_path: Path) -> None:
    line = frame(LineString(at((10, 20), (110, 20))), id=["road"])
    out = write_sheet({"parcels": LOT, "roads": line}, tmp_path / "s.pdf", page="LETTER").path
    page = pypdf.PdfReader(out).pages[0]
    level = [p for p in rectangles(page, 2.0, 0.0) if len(p) == 2]
    assert level
    (outline,) = rectangles(page, 6.0, 4.0)[:1]
    # and it lies where it lies in the lot
    assert np.abs(level[0].min(axis=0) - outline.min(axis=0) - [0.2, 0.4]).max() < 1e-4


def test_the_bar_is_as_long_as_it_says(tmp_path: Path) -> None:
    out = write_sheet({"parcels": LOT}, tmp_path / "s.pdf", page="ARCH D").path
    page = pypdf.PdfReader(out).pages[0]
    text = page.extract_text()
    assert "1 inch = 50 US survey feet (1:600)" in text
    # four pieces of 50 ft, an inch each
    assert len(rectangles(page, 1.0, 0.075)) == 4


def test_a_crs_in_metres(tmp_path: Path) -> None:
    metres = frame(box(0, 0, 300, 200)).to_crs("EPSG:32115")
    out = write_sheet({"parcels": metres}, tmp_path / "s.pdf", page="LETTER").path
    sizes = np.array([np.ptp(p, axis=0) for p in paths(pypdf.PdfReader(out).pages[0])])
    assert (np.abs(sizes - [6, 4]).max(axis=1) < 1e-3).any()


def test_letters_are_embedded(tmp_path: Path) -> None:
    out = write_sheet({"parcels": LOT}, tmp_path / "s.pdf", page="LETTER").path
    fonts = [
        font.get_object()
        for page in pypdf.PdfReader(out).pages
        for font in page["/Resources"]["/Font"].get_object().values()  # type: ignore[index]
    ]
    assert fonts
    for font in fonts:
        inner = font["/DescendantFonts"][0].get_object() if "/DescendantFonts" in font else font
        assert inner["/Subtype"] in ("/CIDFontType2", "/TrueType")
        assert "/FontFile2" in inner["/FontDescriptor"].get_object()


def test_equal_drawings_are_equal_bytes(tmp_path: Path) -> None:
    one, two = (
        write_sheet({"parcels": LOT}, tmp_path / name, page="LETTER").path.read_bytes()
        for name in ("a.pdf", "b.pdf")
    )
    assert one == two


# ---- law


class FakeLimit:
    def __init__(self, value: float) -> None:
        self.value, self.cite, self.missing = value, "1-2", "not at hand"


@pytest.mark.parametrize(
    ("scale", "outcome"), [(50.0, "PASS"), (20.0, "PASS"), (50.001, "FAIL"), (60.0, "FAIL")]
)
def test_monroe_asks_for_a_scale(scale: float, outcome: str) -> None:
    (check,) = scale_checks(scale, [wetgis.load_pack("monroe-ny-46")])
    assert check.outcome == outcome
    assert check.says == "1 in = 50 ft or larger"
    assert check.cite == "46-11A, D"


def test_other_numbers_and_other_laws() -> None:
    assert scale_checks(500, [wetgis.load_pack("rye-ny-195")]) == []
    pack = wetgis.load_pack("monroe-ny-46").override(
        "map_scale", value=100, unit="ft", comparison="le", cite="as told by the board"
    )
    (check,) = scale_checks(100, [pack])
    assert (check.outcome, check.cite) == ("PASS", "as told by the board")


DEM_FT = 5.0


@pytest.fixture(scope="module")
def dem(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ground that rises one foot in ten to the east from 600 ft, with a hole."""
    path = tmp_path_factory.mktemp("dem") / "dem.tif"
    x = np.arange(300) * DEM_FT + DEM_FT / 2 - 500
    z = np.repeat((600 + x / 10)[None, :], 260, axis=0).astype("float32")
    z[100:110, 100:110] = -9999
    with rasterio.open(
        path, "w", driver="GTiff", width=300, height=260, count=1, dtype="float32", crs=CRS,
        nodata=-9999, transform=from_origin(OX - 500, OY + 800, DEM_FT, DEM_FT),
    ) as data:  # fmt: skip
        data.write(z, 1)
    return path


def site(heights: Path, **more: Any) -> Any:
    layers = {
        "parcels": frame(box(0, 0, 300, 200), box(300, 0, 500, 200), id=["A-1", "A-2"]),
        "footprints": frame(
            box(40, 40, 140, 120), id=["F"], parcel_id=["A-1"], activity=["grading"]
        ),
        "wetlands": frame(box(150, 100, 260, 190), id=["W-1"], cowardin=["PFO1E"]),
        "watercourses": frame(LineString(at((-300, 150), (800, 160))), name=["Mill Brook"]),
        "structures": frame(box(320, 20, 360, 60), use=["dwelling"]),
        "dem": wetgis.Layer(heights, z_unit="us-ft"),
    }
    keys = {"title": "Lands at the brook", "packs": ["monroe-ny-46"], "as_of": "2026-11-30"}
    return wetgis.Site.from_layers(**{**layers, **keys, **more})


@pytest.fixture(scope="module")
def drawn(dem: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    out = tmp_path_factory.mktemp("sheet") / "s.pdf"
    return write_sheet(site(dem), out, ids=["A-1"], options=SheetOptions(drawn="N. N."))


def test_a_site(drawn: Any) -> None:
    assert drawn.pages == ("map",)
    reader = pypdf.PdfReader(drawn.path)
    text = reader.pages[0].extract_text()
    for words in (
        "Lands at the brook", "EXISTING FEATURES MAP", "TOWN OF MONROE", "2026-11-30", "N. N.",
        "PASS", "EX-1", "of 1 (ARCH D)", "GRID NORTH", "WETLAND W-1", "PFO1E",
        "100 FT FROM WETLAND OR WATERCOURSE",
        "Mill Brook", "60,000 sq ft", "300.00'", "AREAS, SQUARE FEET", "CONTENT ASKED FOR",
        "Index contour, 10 ft", "This is a screening",
    ):  # fmt: skip
        assert words in text, words
    assert "N 90°00'00\" E" in text or "S 90°00'00\" W" in text
    assert reader.metadata is not None
    assert reader.metadata.title == "Lands at the brook"


def test_what_the_data_could_not_show(drawn: Any) -> None:
    items = {item.rule: item for item in drawn.content}
    assert items["MON-24"].status == "shown"
    assert items["MON-25"].status == "in part"
    assert "no layer of roads" in items["MON-25"].why
    assert "capacity of structures is not given" in items["MON-25"].why
    assert "the extent of wetlands is not stated" in items["MON-26"].why
    assert items["MON-28"].status == "in part"
    assert items["MON-28"].why == (
        "drawn every 2 ft; the DEM leaves some of this ground out; "
        "the DEM does not name its vertical datum"
    )
    for rule in ("MON-29", "MON-30", "MON-31", "MON-32"):
        assert items[rule].status == "not shown", rule
    assert list(items) == sorted(items)


def test_without_a_dem(dem: Path, tmp_path: Path) -> None:
    result = write_sheet(site(dem, dem=None), tmp_path / "s.pdf")
    items = {item.rule: item for item in result.content}
    assert (items["MON-28"].status, items["MON-28"].why) == ("not shown", "no DEM was given")


def test_from_a_screening_at_a_scale_too_small(dem: Path, tmp_path: Path) -> None:
    found = wetgis.screen(site(dem))
    result = write_sheet(found, tmp_path / "s.pdf", scale_ft_per_in=100, page="TABLOID")
    assert result.pages[0] == "map"
    assert [check.outcome for check in result.checks] == ["FAIL"]
    text = pypdf.PdfReader(result.path).pages[0].extract_text()
    for words in ("FAIL", "WETLAND W-1", "100 FT FROM", "2026-11-30"):
        assert words in text, words


def test_true_north(tmp_path: Path) -> None:
    out = write_sheet({"parcels": LOT}, tmp_path / "s.pdf", page="LETTER",
                      options=SheetOptions(north="true")).path  # fmt: skip
    text = pypdf.PdfReader(out).pages[0].extract_text()
    assert "TRUE NORTH" in text
    assert "The arrow is true north" in " ".join(text.split())


@pytest.mark.parametrize("place", [(717_000, 783_000), (578_000, 909_000), (300_000, 900_000)])
def test_convergence(place: tuple[float, float]) -> None:
    """Against PROJ's own meridian convergence, which is counted the other way."""
    proj = pyproj.Proj(CRS)
    lon, lat = proj(*place, inverse=True)
    own = true_north_deg(pyproj.CRS(CRS), *place)
    assert own == pytest.approx(-proj.get_factors(lon, lat).meridian_convergence, abs=1e-6)


def test_a_law_that_regulates_a_buffer_calls_it_one(tmp_path: Path) -> None:
    layers = {"parcels": LOT, "wetlands": frame(box(100, 50, 150, 90), id=["W"])}
    wet = wetgis.Site.from_layers(**layers, packs=["rye-ny-195"], as_of="2026-11-30")
    result = write_sheet(wet, tmp_path / "s.pdf", page="ARCH C")
    text = pypdf.PdfReader(result.path).pages[0].extract_text()
    assert "100-FT BUFFER" in text
    assert "Buffer, 100 ft" in text
    assert (result.content, result.checks) == ((), ())


def test_the_buffer_reaches_beyond_the_parcels(tmp_path: Path) -> None:
    """A wetland far from the lot, but on the sheet, has its buffer drawn whole."""
    layers = {"parcels": LOT, "wetlands": frame(box(-200, 0, -150, 50), id=["W"])}
    wet = wetgis.Site.from_layers(**layers, packs=[], measure={"buffer_ft": 50})
    result = write_sheet(wet, tmp_path / "s.pdf", page="ARCH C")
    sizes = np.array([np.ptp(p, axis=0) for p in paths(pypdf.PdfReader(result.path).pages[0])])
    assert (np.abs(sizes - [3.0, 3.0]).max(axis=1) < 1e-3).any()


def test_only_special_flood_hazard_is_floodplain(tmp_path: Path) -> None:
    flood = frame(
        box(0, 0, 150, 200), box(150, 0, 300, 200), zone=["AE", "X"], sfha=["T", "F"], id=["a", "x"]
    )
    out = write_sheet({"parcels": LOT, "floodplain": flood}, tmp_path / "s.pdf", page="LETTER").path
    text = pypdf.PdfReader(out).pages[0].extract_text()
    assert "ZONE AE" in text
    assert "ZONE X" not in text
    assert "Flood hazard not determined" not in text


# ---- several sheets


def test_match_lines_and_index(tmp_path: Path) -> None:
    lots = frame(box(0, 0, 700, 200), id=["long"])
    result = write_sheet({"parcels": lots}, tmp_path / "s.pdf", page="LETTER")
    assert result.pages[:3] == ("index", "map", "map")
    pages = [page.extract_text() for page in pypdf.PdfReader(result.path).pages]
    assert "INDEX OF SHEETS" in pages[0]
    assert "MATCH LINE - SEE SHEET EX-3" in pages[1]
    assert "MATCH LINE - SEE SHEET EX-2" in pages[2]
    assert "1 in = 50 ft" in pages[1]
    assert "1 in = 50 ft" not in pages[0]


def test_sheets_meet_at_the_match_line() -> None:
    f = page_of("LETTER").frame
    one, two = tile((0, 0, 600, 200), f, 50.0, np.array([shapely.box(0, 0, 600, 200)]))
    assert (one.number, two.number) == (2, 3)
    assert (one.neighbours, two.neighbours) == ({"E": 3}, {"W": 2})
    assert one.core[2] == pytest.approx(two.core[0])
    # the same ground lies half an inch inside either frame
    (x1, _), (x2, _) = one.paper(one.core[2], 0), two.paper(two.core[0], 0)
    assert f.right - x1 == pytest.approx(0.5)
    assert x2 - f.x == pytest.approx(0.5)


@given(
    st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.floats(1, 5_000), st.floats(1, 5_000),
    st.sampled_from(sorted(PAGES)), st.sampled_from([20.0, 50.0, 100.0]),
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_all_the_ground_is_on_some_sheet(
    x: float, y: float, width: float, height: float, page: str, scale: float
) -> None:
    bounds = (x, y, x + width, y + height)
    ground = shapely.box(*bounds)
    f = page_of(page).frame
    if width * height > 0.5 * MAX_SHEETS * (f.width - 1) * (f.height - 1) * scale**2:
        return
    views = tile(bounds, f, scale, np.array([ground]))
    assert len(views) <= MAX_SHEETS
    shown = shapely.union_all([shapely.box(*view.core) for view in views])
    assert shapely.difference(ground, shown.buffer(1e-6)).area == pytest.approx(0, abs=1e-6)
    for view in views:
        assert view.box().buffer(1e-6).contains(shapely.box(*view.core))
        for side, number in view.neighbours.items():
            back = {"N": "S", "S": "N", "E": "W", "W": "E"}[side]
            other = next(v for v in views if v.number == number)
            assert other.neighbours[back] == view.number


def test_sheets_without_the_site_are_left_out() -> None:
    far = np.array([shapely.box(0, 0, 50, 50), shapely.box(3_000, 3_000, 3_050, 3_050)])
    views = tile((0, 0, 3_050, 3_050), page_of("LETTER").frame, 50.0, far)
    assert len(views) == 2


def test_tables_flow_to_sheets_of_their_own(tmp_path: Path) -> None:
    many = frame(*[box(20 * i, 0, 20 * i + 15, 15) for i in range(15)],
                 *[box(20 * (i % 15), 20 + 20 * (i // 15), 20 * (i % 15) + 15, 35 + 20 * (i // 15))
                   for i in range(120)])  # fmt: skip
    result = write_sheet({"parcels": many}, tmp_path / "s.pdf", page="LETTER", scale_ft_per_in=60)
    assert result.pages == ("map", "notes")
    notes = pypdf.PdfReader(result.path).pages[1].extract_text()
    assert "NOTES AND TABLES" in notes
    assert "(continued)" in notes
    assert "and 15 more" in notes


def test_a_row_too_tall_does_not_go_on_for_ever() -> None:
    paper = Paper(page_of("LETTER"))
    tall = Block("Tall", (Row(50.0, lambda *_: None), Row(50.0, lambda *_: None)))
    rest = flow([tall], [Column(paper, Box(0, 0, 2, 2)), Column(paper, Box(3, 0, 2, 2))])
    assert rest == []


# ---- contours


def test_contours_of_a_plane(dem: Path) -> None:
    surface = open_surface(dem, kind="dem", z_unit="us-ft")
    lines, why = contour_lines(
        surface, pyproj.CRS(CRS), (OX, OY, OX + 300, OY + 100), interval_ft=2
    )
    assert why == ""
    # one foot in ten: the 610-ft contour runs at x = 100
    row = lines[lines.level_ft == 610].iloc[0]
    xy = shapely.get_coordinates(row.geometry)
    assert np.abs(xy[:, 0] - (OX + 100)).max() < 1e-3
    assert bool(row["index"])
    assert not lines[lines.level_ft == 612]["index"].any()
    assert (np.round(lines.level_ft / 2) * 2 == lines.level_ft).all()


def test_contours_stop_at_a_hole(dem: Path) -> None:
    surface = open_surface(dem, kind="dem", z_unit="us-ft")
    hole = shapely.box(OX + 1, OY + 251, OX + 49, OY + 299)
    lines, why = contour_lines(surface, pyproj.CRS(CRS), (OX - 50, OY + 200, OX + 100, OY + 350),
                               interval_ft=2)  # fmt: skip
    assert len(lines) > 0
    assert why == "the DEM leaves some of this ground out"
    assert not shapely.intersects(lines.geometry.to_numpy(), hole).any()


def test_contours_in_another_crs_and_unit(dem: Path) -> None:
    """The same numbers taken as metres are 3.28 times as high; the place does not move."""
    surface = open_surface(dem, kind="dem", z_unit="m")
    bounds = gpd.GeoSeries([box(0, 0, 300, 100)], crs=CRS).to_crs("EPSG:32115").total_bounds
    lines, why = contour_lines(surface, pyproj.CRS("EPSG:32115"), tuple(bounds), interval_ft=2)
    assert why == ""
    level = lines.level_ft.iloc[len(lines) // 2]
    back = lines[lines.level_ft == level].to_crs(CRS)
    x = shapely.get_coordinates(back.geometry.iloc[0])[:, 0]
    expected = OX + (level * 1200 / 3937 - 600) * 10
    assert np.abs(x - expected).max() < 0.01


def test_ground_beyond_the_dem_is_said(dem: Path) -> None:
    surface = open_surface(dem, kind="dem", z_unit="us-ft")
    # the DEM ends 800 ft above the origin
    ground = (OX, OY + 700, OX + 100, OY + 850)
    lines, why = contour_lines(surface, pyproj.CRS(CRS), ground, interval_ft=2)
    assert len(lines) > 0
    assert why == "the DEM leaves some of this ground out"


def test_no_contours_and_why(dem: Path) -> None:
    surface = open_surface(dem, kind="dem", z_unit="us-ft")
    crs = pyproj.CRS(CRS)
    lines, why = contour_lines(surface, crs, (OX + 9e4, OY, OX + 9.1e4, OY + 100), interval_ft=2)
    assert (len(lines), why) == (0, "the DEM does not reach this ground")
    lines, why = contour_lines(surface, crs, (OX, OY, OX + 100, OY + 100), interval_ft=500)
    assert (len(lines), why) == (0, "the ground is level within one interval")


# ---- lines and labels


def test_legs_of_two_parcels() -> None:
    lots = frame(box(0, 0, 100, 50), box(100, 0, 160, 50))
    legs = legs_of_parcels(lots, 1.0)
    # 4 and 4, the common one once
    assert len(legs.length_ft) == 7
    assert sorted(legs.length_ft) == [50, 50, 50, 60, 60, 100, 100]
    assert set(legs.bearing) <= {
        "N 90°00'00\" E", "S 90°00'00\" W", "N 00°00'00\" E", "S 00°00'00\" E",
        "N 90°00'00\" W", "S 90°00'00\" E", "S 00°00'00\" W", "N 00°00'00\" W",
    }  # fmt: skip


def test_a_corner_in_a_straight_line_is_none() -> None:
    bent = Polygon(at((0, 0), (50, 0.01), (100, 0), (100, 50), (0, 50)))
    legs = legs_of_parcels(frame(bent), 1.0)
    assert sorted(legs.length_ft) == [50, 50, 100, 100]
    grounded = legs_of_parcels(frame(bent), 1.0, 0.9999)
    assert max(grounded.length_ft) == pytest.approx(100 / 0.9999)


def view_of(page: str = "LETTER") -> tuple[Paper, View]:
    paper = Paper(page_of(page))
    f = paper.page.frame
    return paper, View(1, f, 0.0, 0.0, 50.0, (0, 0, 1, 1), {})


def test_labels_do_not_lie_over_each_other() -> None:
    paper, view = view_of()
    labels = Labels(Map(paper, view))
    x, y = view.frame.middle
    assert labels.place(["one"], [(x, y, 0.0)], 8, what="a")
    assert not labels.place(["two"], [(x, y, 0.0)], 8, what="a")
    assert labels.place(["two"], [(x, y, 0.0), (x, y + 1, 30.0)], 8, what="a")
    assert labels.left_out == {"a": 1}
    # nor beyond the frame
    assert not labels.place(["out"], [(view.frame.right, y, 0.0)], 8, what="b")


def test_labels_keep_off_shapes_where_they_can() -> None:
    paper, view = view_of()
    labels = Labels(Map(paper, view))
    x, y = view.frame.middle
    shape = shapely.box(x - 0.5, y - 0.5, x + 0.5, y + 0.5)
    labels.avoid(np.array([shape]), what="footprints")
    labels.place(["lot"], [(x, y, 0.0), (x, y + 1, 0.0)], 8, what="parcels")
    assert paper.ax.texts[-1].get_position()[1] == pytest.approx(y + 1)
    labels.place(["lot"], [(x, y, 0.0)], 8, what="parcels")
    assert paper.ax.texts[-1].get_position()[1] == pytest.approx(y)


def test_holes_run_against_their_shells() -> None:
    ring = shapely.box(0, 0, 10, 10).difference(shapely.box(4, 4, 6, 6))
    path = path_of(np.array([ring, LineString([(0, 0), (3, 3)])]))
    assert len(path.vertices) == 12
    shell, hole = path.vertices[:5], path.vertices[5:10]

    def area(ring: np.ndarray) -> float:
        return float(np.sum(ring[:-1, 0] * ring[1:, 1] - ring[1:, 0] * ring[:-1, 1]) / 2)

    assert area(shell) * area(hole) < 0


# ---- text


def test_text_is_never_read_as_a_formula(tmp_path: Path) -> None:
    lots = frame(box(0, 0, 300, 200), id=["$\\frac{1}{2}$ \u4e2d\u6587"])
    words = SheetOptions(title="Lots $x^2$\nand more", client="A_1 & B")
    out = write_sheet({"parcels": lots}, tmp_path / "s.pdf", page="LETTER", options=words).path
    text = pypdf.PdfReader(out).pages[0].extract_text()
    assert "$\\frac{1}{2}$ ??" in text
    assert "Lots $x^2$ and more" in " ".join(text.split())


@given(st.text(max_size=80), st.floats(0.2, 5))
@settings(deadline=None)
def test_wrapped_lines_fit(text: str, width: float) -> None:
    lines = wrap(text, 8, width)
    assert "".join(lines).replace(" ", "") == clean(text).replace(" ", "")
    for line in lines:
        assert len(line) <= 1 or text_width(line, 8) <= width


def test_words_of_a_table_are_not_cut() -> None:
    block = table_block("T", [("Watercourse", 1.0, "left"), ("Area", 1.0, "right")],
                        [["a", "1"]], 1.3, 1.0)  # fmt: skip
    paper = Paper(page_of("LETTER"))
    flow([block], [Column(paper, Box(0, 0, 1.3, 3))])
    assert "Watercourse" in [text.get_text() for text in paper.ax.texts]


@pytest.mark.parametrize("name", sorted(PAGES))
def test_pages(name: str) -> None:
    page = page_of(name)
    paper = shapely.box(0, 0, page.width, page.height)
    border, strip, f = (shapely.box(b.x, b.y, b.right, b.top)
                        for b in (page.border, page.strip, page.frame))  # fmt: skip
    assert paper.contains_properly(border)
    assert border.contains(strip)
    assert border.contains_properly(f)
    assert f.intersection(strip).area == 0
    assert f.area > 0.5 * paper.area
    assert 0.7 <= page.type_scale <= 1


@given(st.floats(0.5, 50_000))
def test_nice_scales(feet: float) -> None:
    scale = nice_scale(feet)
    assert feet <= scale * (1 + 1e-9) <= 2.1 * feet
    assert f"{scale:e}"[0] in "123456"


# ---- refusals


def test_refusals(tmp_path: Path) -> None:
    out = tmp_path / "s.pdf"
    with pytest.raises(UsageError, match="ARCH D"):
        write_sheet({"parcels": LOT}, out, page="A4")
    with pytest.raises(UsageError, match="scale"):
        write_sheet({"parcels": LOT}, out, scale_ft_per_in=0)
    with pytest.raises(UsageError, match="north"):
        write_sheet({"parcels": LOT}, out, options=SheetOptions(north="magnetic"))
    with pytest.raises(InputError, match="'7'"):
        write_sheet({"parcels": LOT}, out, ids=["7"])
    with pytest.raises(InputError, match="nothing to draw"):
        write_sheet({"parcels": LOT.iloc[:0]}, out)
    with pytest.raises(InputError, match="nothing to draw"):
        write_sheet({}, out)
    with pytest.raises(InputError, match="int"):
        write_sheet(7, out)
    with pytest.raises(WetgisError, match="'lakes'"):
        write_sheet({"lakes": LOT}, out)
    with pytest.raises(WetgisError):
        write_sheet({"parcels": LOT, "wetlands": LOT.to_crs("EPSG:2263")}, out)
    with pytest.raises(OutputError, match="sheets"):
        write_sheet({"parcels": frame(box(0, 0, 9_000, 9_000))}, out, page="LETTER")
    assert not out.exists()
    assert list(tmp_path.iterdir()) == []


def test_null_geometries_are_passed_over(tmp_path: Path) -> None:
    lots = frame(box(0, 0, 100, 100), None, Polygon())
    assert write_sheet({"parcels": lots}, tmp_path / "s.pdf", page="LETTER").pages[0] == "map"


def test_every_kind_has_a_pen(tmp_path: Path) -> None:
    from wetgis.outputs.sheets.style import STYLES
    from wetgis.schema import FEATURE_KINDS

    shapes = [box(20, 20, 80, 60), LineString(at((10, 10), (250, 150))), Point(OX + 50, OY + 90)]
    for kind in FEATURE_KINDS:
        assert kind in STYLES, kind
    layers = {kind: frame(*shapes, name=["a", "b", "c"]) for kind in FEATURE_KINDS}
    result = write_sheet({"parcels": LOT, **layers}, tmp_path / "s.pdf", page="TABLOID")
    text = pypdf.PdfReader(result.path).pages[0].extract_text()
    assert "Utility line" in text
    assert datetime.date.today().isoformat() not in text
