"""Layers in cells: nothing is lost, nothing is twice, and the window does not show."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import shapely

from wetgis.cells import CellGrid, CellLayer, Subdivided, cut, dissolve
from wetgis.shapes import have_overlaps, mend, normal_order, union_groups

SIZE = 1500.0


def array(*shapes: Any) -> np.ndarray[Any, Any]:
    out = np.empty(len(shapes), object)
    out[:] = shapes
    return out


def lake(corners: int, reach: float, x: float, y: float, seed: int = 0) -> shapely.Polygon:
    rng = np.random.default_rng(seed)
    turn = np.linspace(0, 2 * np.pi, corners, endpoint=False)
    waves = sum(rng.normal(0, 0.06) * np.cos(k * turn + rng.uniform(0, 6)) for k in range(2, 9))
    r = reach * (1 + waves)
    return shapely.Polygon(np.column_stack([x + r * np.cos(turn), y + r * np.sin(turn)]))


@pytest.mark.parametrize("at", [(650_000.0, 800_000.0), (-3_100.0, -2_900.0), (0.0, 0.0)])
def test_pieces_make_up_the_whole(at: tuple[float, float]) -> None:
    shapes = array(
        lake(900, 4_000, *at), lake(300, 700, at[0] + 3_000, at[1], 1), None,
        shapely.MultiPolygon([shapely.box(at[0], at[1], at[0] + 9, at[1] + 9)]),
    )  # fmt: skip
    shapes[0] = shapes[0].difference(lake(80, 900, *at, 2))
    grid = CellGrid.over(shapely.bounds(shapes), SIZE)
    pieces = cut(shapes, grid)
    assert shapely.is_valid(pieces.geometries).all()
    area = np.bincount(pieces.owners, shapely.area(pieces.geometries), 4)
    assert area[[0, 1, 3]] == pytest.approx(shapely.area(shapes[[0, 1, 3]]), abs=1e-6)
    assert area[2] == 0
    for cell in np.unique(pieces.cells):
        inside = shapely.bounds(pieces.geometries[pieces.cells == cell])
        low, high = grid.box(int(cell))[:2], grid.box(int(cell))[2:]
        assert (inside[:, :2] >= low - 1e-9).all()
        assert (inside[:, 2:] <= high + 1e-9).all()


def test_a_piece_is_the_same_in_any_window() -> None:
    shape = lake(600, 5_000, 650_000, 800_000)
    wide = CellGrid.over(shapely.bounds(array(shape.buffer(20_000))), SIZE)
    narrow = CellGrid.over(np.array([[650_200.0, 800_100.0, 652_900.0, 801_300.0]]), SIZE)
    whole = cut(array(shape), wide)
    kept = {
        tuple(wide.box(int(cell))): shapely.to_wkb(piece)
        for piece, cell in zip(whole.geometries, whole.cells, strict=True)
    }
    pieces = cut(array(shape), narrow)
    assert len(pieces.cells)
    for geometry, cell in zip(pieces.geometries, pieces.cells, strict=True):
        assert kept[tuple(narrow.box(int(cell)))] == shapely.to_wkb(geometry)


def test_lines_are_cut_too() -> None:
    x = np.linspace(0, 9_000, 400)
    stream = shapely.LineString(np.column_stack([x + 650_000, 800_000 + 900 * np.sin(x / 700)]))
    grid = CellGrid.over(shapely.bounds(array(stream)), SIZE)
    pieces = cut(array(stream), grid, dimension=1)
    assert shapely.length(pieces.geometries).sum() == pytest.approx(stream.length, abs=1e-6)
    assert len(cut(array(stream), grid).cells) == 0


def test_a_line_along_the_border_of_two_cells_is_there_once() -> None:
    border = shapely.LineString([(3_000, 100), (3_000, 1_400)])
    grid = CellGrid.over(np.array([[0.0, 0, 6_000, 1_400]]), SIZE)
    pieces = cut(array(border), grid, dimension=1)
    assert shapely.length(pieces.geometries).sum() == pytest.approx(1_300)


@pytest.mark.parametrize("turn", [0, 90, 180, 270])
def test_lines_that_run_along_a_border_for_a_while_are_whole(turn: int) -> None:
    x = 3_000.0
    shapes = [
        [(x, 60), (x, 120), (x - 73, 187), (x - 73, 243)],
        [(x, 60), (x, 120), (x + 73, 187), (x - 9, 243), (x, 300), (x, 350), (x - 5, 400)],
        [(x - 50, 0), (x, 0), (x, 3_100), (x + 9, 3_100)],
        [(x, 0), (x, 1_500), (2 * x, 1_500), (2 * x, 1_600), (x, 1_500)],
    ]
    lines = array(*(
        shapely.affinity.rotate(shapely.LineString(s), turn, origin=(x, 1_500)) for s in shapes
    ))  # fmt: skip
    lines = shapely.set_precision(lines, 1e-6)
    grid = CellGrid.over(shapely.bounds(lines), SIZE)
    pieces = cut(lines, grid, dimension=1)
    length = np.bincount(pieces.owners, shapely.length(pieces.geometries), len(lines))
    assert length == pytest.approx(shapely.length(lines), abs=1e-6)
    for k, line in enumerate(lines):
        united = shapely.union_all(pieces.geometries[pieces.owners == k])
        assert united.hausdorff_distance(line) < 1e-6


def test_each_foot_once_after_dissolving() -> None:
    shapes = array(*(lake(60, 800, 650_000 + 500 * k, 800_000, k) for k in range(8)))
    grid = CellGrid.over(shapely.bounds(shapes), SIZE)
    united = dissolve(cut(shapes, grid))
    exact = shapely.union_all(shapes).area
    assert shapely.area(united.geometries).sum() == pytest.approx(exact, abs=1e-6)
    lots = shapely.box(*np.array([[650_000 + 90 * k, 799_900, 650_080 + 90 * k, 800_300]
                                  for k in range(30)], float).T)  # fmt: skip
    found = CellLayer(united.geometries, grid).areas(Subdivided(lots, grid))
    assert found == pytest.approx(
        shapely.area(shapely.intersection(lots, shapely.union_all(shapes))), abs=1e-6
    )


def test_large_subjects_are_summed_over_their_pieces() -> None:
    county = array(lake(2_000, 8_000, 650_000, 800_000), None, shapely.Point(650_000, 800_000))
    ponds = array(*(lake(40, 300, 646_000 + 900 * k, 799_000, k) for k in range(10)))
    grid = CellGrid.over(shapely.bounds(county), SIZE)
    parts = Subdivided(county, grid)
    assert len(parts.geometries) > 20
    found = CellLayer(dissolve(cut(ponds, grid)).geometries, grid).areas(parts)
    exact = shapely.area(shapely.intersection(county[0], shapely.union_all(ponds)))
    assert found.tolist() == pytest.approx([exact, 0, 0], abs=1e-6)


def test_weights_have_a_row_a_piece() -> None:
    soils = array(shapely.box(0, 0, 3_000, 100), shapely.box(0, 100, 3_000, 200))
    grid = CellGrid.over(shapely.bounds(soils), SIZE)
    pieces = cut(soils, grid)
    weights = np.array([[1.0, 0.5], [0.0, 1.0]])[pieces.owners]
    lot = Subdivided(array(shapely.box(1_400, 50, 1_600, 150)), grid)
    assert CellLayer(pieces.geometries, grid).areas(lot, weights).tolist() == [[10_000.0, 15_000.0]]


def test_no_window_and_no_features() -> None:
    grid = CellGrid.over(np.full((2, 4), np.nan), SIZE)
    assert (grid.columns, grid.rows) == (1, 1)
    pieces = cut(np.empty(0, object), grid)
    assert CellLayer(dissolve(pieces).geometries, grid).areas(
        Subdivided(array(None), grid)
    ).tolist() == [0]


def test_mending_keeps_the_ground_and_loses_what_is_none() -> None:
    bowtie = shapely.Polygon([(0, 0), (10, 10), (10, 0), (0, 10)])
    spike = shapely.Polygon([(0, 0), (10, 0), (10, 10), (10, 90), (10, 10), (0, 10)])
    nested = shapely.GeometryCollection(
        [shapely.MultiPolygon([shapely.box(0, 0, 9, 9)]), shapely.box(5, 0, 14, 9)]
    )
    with np.errstate(invalid="ignore"):
        lost = shapely.Point(np.inf, 0)
    found = mend(array(bowtie, spike, nested, lost, shapely.Polygon(), None))
    assert shapely.area(found[:3]).tolist() == [50.0, 100.0, 126.0]
    assert shapely.bounds(found[1]).tolist() == [0, 0, 10, 10]
    assert [g is None for g in found] == [False, False, False, True, True, True]
    z = mend(array(shapely.Point(1, 2, 3)))
    assert not shapely.has_z(z).any()


def test_an_order_that_owes_nothing_to_the_rows() -> None:
    shapes = array(*(lake(30, 100, 100 * k, 0, k) for k in range(20)))
    shuffled = shapes[np.random.default_rng(0).permutation(20)]
    shuffled = array(
        *(shapely.Polygon(np.roll(shapely.get_coordinates(s)[:-1], 3, 0)) for s in shuffled)
    )
    one, two = shapes[normal_order(shapes)], shuffled[normal_order(shuffled)]
    assert (shapely.to_wkb(shapely.normalize(one)) == shapely.to_wkb(shapely.normalize(two))).all()


def test_unions_by_label() -> None:
    shapes = array(*(shapely.box(k, 0, k + 1.5, 1) for k in range(6)))
    labels, united = union_groups(shapes, np.array([3, 3, 1, 1, 1, 0]))
    assert labels.tolist() == [0, 1, 3]
    assert shapely.area(united).tolist() == pytest.approx([1.5, 3.5, 2.5])


# ---------------------------------------------------------------- ground covered twice

SQUARES = [shapely.box(x, y, x + 10, y + 10) for x in (0, 10, 20) for y in (0, 10)]


@pytest.mark.parametrize(
    ("shapes", "overlap"),
    [
        (SQUARES, False),
        ([*SQUARES, SQUARES[2]], True),  # one of a map twice
        ([SQUARES[0], SQUARES[0]], True),  # alone and twice
        ([*SQUARES, shapely.box(12, 2, 14, 4)], True),  # inside another
        ([*SQUARES, shapely.box(25, 5, 35, 15)], True),
        ([*SQUARES, shapely.box(30, 0, 40, 20)], False),  # a neighbour with longer edges
        ([*SQUARES, shapely.box(29.9, 0, 40, 20)], True),
        ([SQUARES[0].difference(shapely.box(2, 2, 4, 4)), shapely.box(2, 2, 4, 4)], False),
        ([SQUARES[0].difference(shapely.box(2, 2, 4, 4)), shapely.box(2, 2, 4, 5)], True),
        ([shapely.MultiPolygon([SQUARES[0], SQUARES[4]]), SQUARES[2]], False),
    ],
)
def test_whether_a_map_covers_ground_twice(shapes: list[shapely.Polygon], overlap: bool) -> None:
    geometries = np.array([*shapes], dtype=object)
    assert have_overlaps(shapely.orient_polygons(geometries)) is overlap


def test_what_a_rectangle_cannot_cut_is_cut_by_a_true_intersection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real, shapes = shapely.clip_by_rect, [shapely.box(x, -500, x + 4_000, 900) for x in (0, 90)]

    def refuses(geometry: object, *rect: float) -> object:
        many = isinstance(geometry, np.ndarray)
        if any(g is shapes[1] for g in (geometry if many else [geometry])):
            raise shapely.errors.GEOSException("Invalid number of points in LinearRing found 3")
        return real(geometry, *rect)

    geometries, grid = np.array(shapes, dtype=object), CellGrid(1500.0, -2, -2, 8, 4)
    usual = cut(geometries, grid)
    monkeypatch.setattr(shapely, "clip_by_rect", refuses)
    found = cut(geometries, grid)
    assert found.cells.tolist() == usual.cells.tolist()
    assert found.owners.tolist() == usual.owners.tolist()
    assert shapely.equals(found.geometries, usual.geometries).all()
