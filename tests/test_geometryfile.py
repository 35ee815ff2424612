"""Geometries on disk come back by row, the same to the bit."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import shapely

from wetgis import geometryfile
from wetgis.geometryfile import GeometryFile, GeometryWriter


def shapes(count, seed=1):
    rng = np.random.default_rng(seed)
    xy = rng.uniform(0, 5000, (count, 2))
    out = shapely.buffer(shapely.points(xy), rng.uniform(1, 90, count), quad_segs=3)
    out[::7] = None
    out[1::11] = shapely.linestrings(rng.uniform(0, 5000, (len(out[1::11]), 4, 2)))
    return out


def written(folder, geometries, chunk):
    writer = GeometryWriter(folder)
    for start in range(0, len(geometries), chunk):
        writer.append(geometries[start : start + chunk])
    return writer.close()


def same(a, b):
    return [None if g is None else shapely.to_wkb(g) for g in a] == [
        None if g is None else shapely.to_wkb(g) for g in b
    ]


@pytest.mark.parametrize("chunk", [1, 13, 1000])
@pytest.mark.parametrize(("gap", "span"), [(1 << 16, 1 << 24), (0, 1), (200, 3000), (10**6, 700)])
def test_rows_come_back_in_the_order_asked_for(tmp_path, monkeypatch, chunk, gap, span):
    monkeypatch.setattr(geometryfile, "_GAP", gap)
    monkeypatch.setattr(geometryfile, "_SPAN", span)
    made = shapes(200)
    file = written(tmp_path, made, chunk)
    assert len(file) == 200
    rng = np.random.default_rng(2)
    for rows in (np.arange(200), rng.permutation(200)[:60], np.array([5, 5, 3]), np.array([], int)):
        assert same(file.take(rows), made[rows])
    assert same(np.concatenate([g for _, g in file.chunks(37)]), made)


@pytest.mark.parametrize("span", [1, 3000, 1 << 24])
def test_rows_are_copied_as_they_are(tmp_path, monkeypatch, span):
    monkeypatch.setattr(geometryfile, "_SPAN", span)
    made = shapes(200)
    file = written(tmp_path / "a", made, 50)
    rng = np.random.default_rng(3)
    for k, rows in enumerate((np.arange(200), rng.permutation(200)[:60], np.array([], int))):
        writer = GeometryWriter(tmp_path / f"copy-{k}")
        writer.append(made[:3])
        writer.copy(file, rows)
        copy = writer.close()
        assert same(copy.take(np.arange(len(copy))), np.concatenate([made[:3], made[rows]]))
        np.testing.assert_array_equal(copy.boxes[3:], file.boxes[rows])
        np.testing.assert_array_equal(copy.vertices[3:], file.vertices[rows])


def test_boxes_and_vertices_are_those_of_the_geometries(tmp_path):
    made = shapes(100)
    file = written(tmp_path, made, 30)
    np.testing.assert_array_equal(file.boxes, shapely.bounds(made))
    np.testing.assert_array_equal(file.vertices, shapely.get_num_coordinates(made))


def test_a_window_meets_the_boxes_that_a_tree_finds(tmp_path):
    made = shapes(300)
    file = written(tmp_path, made, 300)
    for box in ((0, 0, 900, 900), (2000, 100, 2600, 4000), (-5, -5, -1, -1)):
        found = np.sort(shapely.STRtree(made).query(shapely.box(*box)))
        assert file.meeting(np.array(box, float)).tolist() == found.tolist()


def test_without_a_row(tmp_path):
    file = GeometryWriter(tmp_path).close()
    assert len(file) == 0
    assert file.boxes.shape == (0, 4)
    assert len(file.take(np.array([], int))) == 0
    assert not len(file.meeting(np.array([0.0, 0, 1, 1])))


def test_it_is_pickled_by_its_folder(tmp_path):
    made = shapes(20)
    file = written(tmp_path, made, 20)
    again = pickle.loads(pickle.dumps(file))
    assert isinstance(again, GeometryFile)
    assert same(again.take(np.arange(20)), made)
