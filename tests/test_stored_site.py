"""A site whose layers stay on disk is the site."""

from __future__ import annotations

import datetime
from pathlib import Path

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely
from geopandas.testing import assert_geodataframe_equal

import wetgis
from wetgis import storedrows
from wetgis.heldlayers import SiteLayer, StoredLayer, stored
from wetgis.samples import sample_sites


@pytest.mark.parametrize("path", sample_sites(), ids=lambda p: p.parent.name)
def test_the_same_layers_and_issues(path: Path, tmp_path: Path) -> None:
    held, kept = wetgis.read_site(path), wetgis.read_site(path, store=tmp_path)
    assert kept.issues == held.issues
    assert list(kept.layers) == list(held.layers)
    for kind, layer in held.layers.items():
        other = kept.layers[kind]
        assert isinstance(other, StoredLayer)
        found = other.frame[list(layer.frame.columns)]
        assert_geodataframe_equal(found, layer.frame)
        assert found.dtypes.equals(layer.frame.dtypes)
        np.testing.assert_array_equal(other.boxes, layer.boxes)
        assert (other.bounds, other.summary) == (layer.bounds, layer.summary) or (
            np.isnan(layer.summary.accuracy_ft)
        )
        assert other.ids() == layer.ids()
        some = layer.ids()[:3]
        assert other.rows_of(some).tolist() == layer.rows_of(some).tolist()
        near = layer.boxes[:2] + np.array([-50, -50, 50, 50])
        assert other.rows_near(near).tolist() == layer.rows_near(near).tolist()


def frame(count: int = 10) -> gpd.GeoDataFrame:
    """A table with every kind of column, and gaps in some."""
    days = [datetime.date(2026, 1, 1 + k) if k % 3 else None for k in range(count)]
    return gpd.GeoDataFrame(
        {
            "id": [f"p{k}" for k in range(count)],
            "ACRES": np.where(np.arange(count) < 6, np.arange(count) / 3, np.nan),
            "whole": np.arange(count),
            "geometry": [shapely.box(k, 0, k + 1, 1) if k != 4 else None for k in range(count)],
            "flag": pd.Series([True, False, None, *[True] * (count - 3)], dtype=object),
            "odd": pd.Series([True, np.nan, *[False] * (count - 2)], dtype=object),
            "since": pd.to_datetime(pd.Series(days)),
            "note": pd.Series(["é", None, *["x"] * (count - 2)], dtype="str"),
        },
        crs=2260,
    )


@pytest.mark.parametrize("rows", [[3, 3, 0], [9], [], list(range(10)), [8, 1, 5]])
@pytest.mark.parametrize("batch", [1, 3, 4096])
def test_some_rows_have_the_types_of_all(tmp_path, monkeypatch, rows, batch):
    monkeypatch.setattr(storedrows, "BATCH", batch)
    whole = frame()
    kept = stored(SiteLayer("parcels", whole), tmp_path)
    found, wanted = kept.take(np.array(rows, int)), whole.iloc[rows].reset_index(drop=True)
    assert_geodataframe_equal(found, wanted)
    assert found.dtypes.equals(wanted.dtypes)


def test_what_disk_would_change_stays_in_memory(tmp_path):
    mixed = frame().assign(mixed=pd.Series([1, "1", *[None] * 8], dtype=object))
    layer = SiteLayer("parcels", mixed)
    assert stored(layer, tmp_path) is layer


def test_another_layer_is_read_into_the_same_store(tmp_path):
    site = wetgis.read_site(sample_sites()[0], store=tmp_path)
    other = site.with_layers(wetlands=site.layers["wetlands"].frame.iloc[:2])
    assert isinstance(other.layers["wetlands"], StoredLayer)
    assert len(other.layers["wetlands"].frame) == 2
