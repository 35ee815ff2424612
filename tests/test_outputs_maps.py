"""Plot, map and card."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import geopandas as gpd
import numpy as np
import pytest
import shapely

from wetgis.errors import UsageError
from wetgis.outputs import maps, palette

sys.path.insert(0, str(Path(__file__).parent))
standin = importlib.import_module("outputs_standin")


@pytest.fixture(scope="module")
def result() -> SimpleNamespace:
    return standin.town(240, hostile=True)


@pytest.fixture(autouse=True)
def drawn_in_memory() -> Iterator[None]:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    yield
    plt.close("all")


def empty(result: SimpleNamespace) -> SimpleNamespace:
    made = SimpleNamespace(**vars(result))
    for name in ("measures", "findings", "contacts", "parts", "issues"):
        setattr(made, name, getattr(result, name).iloc[:0])
    made.layers = {}
    return made


def test_a_plot_shows_every_status_and_layer_and_counts_parcels(result: SimpleNamespace) -> None:
    ax = maps.plot(result)
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    parcels = result.measures[result.measures["subject_kind"] == "parcel"]
    on = (parcels["status"] == "on_feature").sum()
    assert f"On a wetland or watercourse ({on})" in labels
    assert {"Wetlands", "Watercourses", "Buffer", "Footprints"} <= set(labels)
    assert ax.get_title(loc="left") == standin.HOSTILE
    assert ax.get_aspect() == 1.0
    x0, x1 = ax.get_xlim()
    bounds = parcels.total_bounds
    assert x0 < bounds[0] < bounds[2] < x1


def test_a_plot_is_a_picture_in_the_palettes_colours(
    result: SimpleNamespace, tmp_path: Path
) -> None:
    from matplotlib import image

    ax = maps.plot(result)
    ax.figure.savefig(tmp_path / "plot.png", dpi=80)
    pixels = (image.imread(tmp_path / "plot.png")[..., :3] * 255).round().astype(int)
    seen = {f"#{r:02x}{g:02x}{b:02x}" for r, g, b in np.unique(pixels.reshape(-1, 3), axis=0)}
    for colour in (
        palette.STATUS_COLOURS["on_feature"],
        palette.STATUS_COLOURS["in_buffer"],
        palette.LAYER_STYLES["wetlands"].fill,
        palette.LAYER_STYLES["watercourses"].fill,
    ):
        assert colour in seen


def test_a_plot_takes_an_axes_and_leaves_it_to_the_caller(result: SimpleNamespace) -> None:
    import matplotlib.pyplot as plt

    _, given = plt.subplots()
    assert maps.plot(result, ax=given) is given


def test_nothing_can_be_plotted_too(result: SimpleNamespace) -> None:
    assert maps.plot(empty(result)).get_legend() is None


def test_without_matplotlib_the_error_says_how_to_get_it(
    result: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(UsageError, match=r"wetgis\[maps\]"):
        maps.plot(result)
    monkeypatch.setitem(sys.modules, "folium", None)
    with pytest.raises(UsageError, match=r"wetgis\[maps\]"):
        maps.explore(result)


def test_explore_gives_a_map_whose_text_is_text(result: SimpleNamespace) -> None:
    page = maps.explore(result).get_root().render()
    for label in ("Parcels", "Footprints", "Wetlands", "Watercourses", "Buffer"):
        assert f'"{label}"' in page
    assert "<img src=x" not in page


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        assert not [n for n, _ in attrs if n in ("src", "href") or n.startswith("on")]

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_the_card_loads_nothing_and_says_what_was_found(result: SimpleNamespace) -> None:
    card = maps.repr_html(result)
    tags = Tags(card)
    assert not {"script", "img", "link", "iframe"} & set(tags.names)
    words = " ".join(tags.words)
    assert "of 240 parcels reach a mapped wetland" in words
    assert standin.HOSTILE in words
    assert "the officials whom the law names determine" in words


def test_the_cards_map_has_the_parcels_where_they_are(result: SimpleNamespace) -> None:
    svg = re.search(r"<svg.*</svg>", maps.repr_html(result), re.S)
    assert svg is not None
    root = ElementTree.fromstring(svg.group(0))
    paths = {p.get("fill"): p.get("d", "") for p in root.iter("path")}
    for status, colour in palette.STATUS_COLOURS.items():
        rows = result.measures["status"] == status
        n = int((rows & (result.measures["subject_kind"] == "parcel")).sum())
        assert paths.get(colour, "").count("M") == n
    _, _, width, height = (float(v) for v in root.get("viewBox", "").split())
    starts = np.array(re.findall(r"M(-?\d+) (-?\d+)", paths["#d4785a"]), dtype=float)
    assert (starts >= 0).all()
    assert (starts <= (width, height)).all()


def test_a_card_of_a_large_town_stays_small(
    result: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = maps.repr_html(result)
    monkeypatch.setattr(maps, "_CARD_PARCELS", 100)
    merged = maps.repr_html(result)
    assert len(merged) < len(small)
    assert "<svg" in merged


def test_overlapping_parcels_are_drawn_all_the_same(result: SimpleNamespace) -> None:
    lots = np.array([shapely.box(0, 0, 10, 10), shapely.box(5, 5, 15, 15)])
    merged = maps._merged(lots)
    assert shapely.intersects(merged, shapely.Point(1, 1))
    assert shapely.intersects(merged, shapely.Point(14, 14))


def test_a_card_of_nothing(result: SimpleNamespace) -> None:
    card = maps.repr_html(empty(result))
    assert "no subjects" in card
    assert "<svg" not in card


def test_a_subject_without_a_shape_is_left_out(result: SimpleNamespace) -> None:
    some = SimpleNamespace(**vars(result))
    measures = result.measures.copy()
    measures.loc[measures.index[:3], "geometry"] = [None, shapely.Polygon(), None]
    some.measures = gpd.GeoDataFrame(measures, geometry="geometry", crs=standin.CRS)
    assert "<svg" in maps.repr_html(some)
    assert maps.plot(some) is not None
