"""The same tiles on a real cluster of two workers, one of which is killed on the way."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest
from tests.conftest import boxes

import wetgis

distributed = pytest.importorskip("distributed", reason="the extra wetgis[dask] is not installed")

pytestmark = [
    pytest.mark.slow,
    # a killed worker leaves its sockets to the collector
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:Port .* is already in use:UserWarning"),
]

STEPS = range(0, 250_000, 25_000)


@pytest.fixture
def client() -> Iterator[Any]:
    import dask

    with (
        dask.config.set({"distributed.admin.log-format": "%(message)s"}),
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            silence_logs=50,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def site() -> wetgis.Site:
    lots = boxes(*[(x, 0, x + 200, 200) for x in STEPS])
    wetlands = boxes(*[(x + 150, 0, x + 300, 90) for x in STEPS])
    return wetgis.Site.from_layers(parcels=lots, wetlands=wetlands, packs=["rye-ny-195"])


def test_cluster_with_a_lost_worker_gives_the_same_tables(client: Any) -> None:
    serial = wetgis.screen(site())
    killed: list[int] = []

    def progress(done: int, total: int, what: str) -> None:
        if not killed:
            pid = next(iter(client.run(os.getpid).values()))
            killed.append(pid)
            os.kill(pid, signal.SIGKILL)

    spread = wetgis.screen(site(), executor=client.get_executor(), progress=progress)
    assert killed, "no worker was lost"
    for name in ("measures", "contacts", "parts"):
        pd.testing.assert_frame_equal(
            pd.DataFrame(getattr(spread, name)),
            pd.DataFrame(getattr(serial, name)),
            check_exact=True,
        )
    pd.testing.assert_frame_equal(spread.findings, serial.findings, check_exact=True)
    assert "tile_failed" not in set(spread.issues["code"])
