"""A town of 5,000 parcels and awkward layers: the same bytes whoever does the work."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely
from tests.conftest import ROOT, RYE, boxes

import wetgis
from wetgis.errors import Stopped
from wetgis.outputs.tables import write_run
from wetgis.resume import FOLDER

SMALL_TILES = 4
#: The town is measured without a law, the samples with theirs.
MEASURE = {"buffer_ft": 100.0, "hydric_pct": 50.0, "steep_pct": 30.0}
SAMPLES = ROOT / "data" / "samples"


@pytest.fixture(scope="module")
def county(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The town's files; parcels, wetlands, streams, soils, floodplain and a DEM."""
    return made(tmp_path_factory.mktemp("county"), 5_000)


def made(folder: Path, parcels: int) -> Path:
    from benchmarks.county import make_county

    make_county(parcels, folder, seed=11)
    return folder


def town(county: Path, store: Path | None = None) -> wetgis.Site:
    kinds = ("parcels", "wetlands", "watercourses", "soils", "floodplain")
    layers: dict[str, Any] = {kind: str(county / f"{kind}.parquet") for kind in kinds}
    dem = wetgis.Layer(str(county / "dem.tif"), z_unit="us-ft")
    return wetgis.Site.from_layers(
        **layers, dem=dem, packs=[], measure=MEASURE, crs="EPSG:2260", as_of="2026-11-30",
        store=store,
    )  # fmt: skip


def tables(found: wetgis.Screening, folder: Path) -> dict[str, bytes]:
    """The bytes of every Parquet and CSV file of a run."""
    write_run(found, folder)
    return written(folder)


def written(folder: Path) -> dict[str, bytes]:
    files = [p for p in sorted(folder.iterdir()) if p.suffix in (".parquet", ".csv")]
    assert len(files) >= 6
    return {p.name: p.read_bytes() for p in files}


def stopped_after(tiles: int) -> Callable[[int, int, str], None]:
    calls: list[int] = []

    def progress(done: int, total: int, what: str) -> None:
        calls.append(done)
        if len(calls) == tiles:
            raise KeyboardInterrupt

    return progress


def same_by_all_ways(
    site: Callable[..., wetgis.Site], folder: Path, tiles: int, monkeypatch: pytest.MonkeyPatch
) -> dict[str, bytes]:
    """In memory, and on disk by threads, in processes, on a cluster, stopped and resumed."""
    whole = tables(wetgis.screen(site()), folder / "whole")
    on_disk(monkeypatch)

    def run(name: str, **how: Any) -> dict[str, bytes]:
        kept = site(store=folder / f"{name} layers")
        wetgis.screen_to(kept, folder / name, **how)
        return written(folder / name)

    assert run("jobs", jobs=2) == whole
    with cluster() as executor:
        assert run("cluster", executor=executor) == whole
    with pytest.raises(Stopped):
        run("resumed", progress=stopped_after(tiles))
    assert len(list((folder / "resumed" / FOLDER).glob("tile-*"))) >= tiles
    assert run("resumed", resume=True) == whole
    return whole


def on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """No layer is small enough for memory, a bucket is small, and the tables alone are written."""
    import wetgis.outputs
    from wetgis import storedfeatures, tilefiles
    from wetgis.outputs.atomic import staged
    from wetgis.outputs.tables import write_tables

    def write(finished: Any, out: Path, *, all_findings: bool = False) -> list[Path]:
        with staged(Path(out)) as (folder, finals):
            write_tables(finished, folder, all_findings=all_findings)
        return finals

    monkeypatch.setattr(wetgis.outputs, "write_finished", write)
    monkeypatch.setattr(storedfeatures, "SMALL", 0)
    monkeypatch.setattr(tilefiles, "BUCKET", 700)


class cluster:
    """Two workers of dask.distributed."""

    def __enter__(self) -> Any:
        distributed = pytest.importorskip(
            "distributed", reason="the extra wetgis[dask] is not installed"
        )
        self.cluster = distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
        )
        self.client = distributed.Client(self.cluster)
        return self.client.get_executor()

    def __exit__(self, *_: object) -> None:
        self.client.close()
        self.cluster.close()


pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:Port .* is already in use:UserWarning"),
]


@pytest.mark.slow
def test_a_town_has_the_same_bytes_by_all_ways(
    county: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from wetgis import tiles

    large = tables(wetgis.screen(town(county)), tmp_path / "large tiles")
    monkeypatch.setattr(tiles, "TILE_CELLS", SMALL_TILES)
    assert same_by_all_ways(partial(town, county), tmp_path, 3, monkeypatch) == large


@pytest.mark.slow
@pytest.mark.parametrize("name", ["shoreville", "highmoor"])
def test_a_sample_has_the_same_bytes_by_all_ways(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from wetgis import tiles

    monkeypatch.setattr(tiles, "TILE_CELLS", SMALL_TILES)
    path = SAMPLES / name / "site.toml"
    site = partial(wetgis.read_site, path, as_of="2026-11-30")
    same_by_all_ways(site, tmp_path, 2, monkeypatch)


RUN = """
import sys
from wetgis import tiles
tiles.TILE_CELLS = 2
from wetgis.cli import main
sys.argv = ["wetgis", "screen", *sys.argv[1:]]
main()
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL on this system")
def test_a_killed_run_goes_on_to_the_same_bytes(tmp_path: Path) -> None:
    county = made(tmp_path / "county", 1_000)
    layers = "".join(
        f'[layers.{kind}]\npath = "{(county / kind).as_posix()}.parquet"\n'
        for kind in ("parcels", "wetlands", "watercourses", "soils", "floodplain")
    )
    site = tmp_path / "site.toml"
    keys = 'title = "Town"\ncrs = "EPSG:2260"\nas_of = 2026-11-30\npacks = ["rye-ny-195"]\n'
    site.write_text(keys + layers, "utf-8")

    def command(out: str, *more: str) -> list[str]:
        return [sys.executable, "-c", RUN, str(site), "--out", str(tmp_path / out), *more]

    run = subprocess.Popen(command("killed"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    parts = tmp_path / "killed" / FOLDER
    while run.poll() is None and len(list(parts.glob("tile-??????"))) < 3:
        time.sleep(0.01)
    os.kill(run.pid, signal.SIGKILL)
    assert run.wait() == -signal.SIGKILL, "the run was over before it could be killed"
    assert parts.is_dir()
    for out, more in (("killed", ["--resume"]), ("whole", [])):
        done = subprocess.run(command(out, *more), capture_output=True, text=True)
        assert done.returncode in (0, 3), done.stderr
    names = [p.name for p in sorted((tmp_path / "whole").iterdir())]
    compared = [n for n in names if n.endswith((".parquet", ".csv"))]
    assert "measures.parquet" in compared
    assert "findings.csv" in compared
    for name in compared:
        killed, whole = ((tmp_path / k / name).read_bytes() for k in ("killed", "whole"))
        assert killed == whole, name


def test_a_full_tile_is_divided_and_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """400 lots in one tile, at most 30 at once."""
    from wetgis import tiles

    x, y = edge_of_tiles()
    lots = boxes(*[(50 + 200 * i, 50 + 200 * j, 240 + 200 * i, 240 + 200 * j)
                   for i in range(20) for j in range(20)], at=(x, y))  # fmt: skip
    marsh = boxes((1000, 1000, 1900, 2200), at=(x, y))
    site = wetgis.Site.from_layers(parcels=lots, wetlands=marsh, packs=["rye-ny-195"])
    seen: list[int] = []
    whole = wetgis.screen(site, progress=lambda done, *_: seen.append(done))
    assert seen == [400]
    monkeypatch.setattr(tiles, "MOST", 30)
    divided = wetgis.screen(site, progress=lambda done, *_: seen.append(done))
    assert max(np.diff([0, *seen[1:]])) <= 30
    assert divided.measures.equals(whole.measures)
    assert divided.findings.equals(whole.findings)


# ---------------------------------------------------------------- a wetland over a tile's edge


def edge_of_tiles() -> tuple[float, float]:
    """A place on the corner of four tiles."""
    from wetgis.cells import CELL_FT, TILE_CELLS

    side = TILE_CELLS * CELL_FT
    return (round(RYE[0] / side) * side, round(RYE[1] / side) * side)


@pytest.mark.parametrize("pieces", [1, 3])
def test_a_wetland_over_tiles_answers_as_a_whole(pieces: int) -> None:
    """90 x 50 = 4,500 sq ft over the corner of four tiles, in one piece or in fragments."""
    cuts = np.linspace(-45, 45, pieces + 1)
    wetland = boxes(*[(a, -25, b, 25) for a, b in itertools.pairwise(cuts)],
                    at=edge_of_tiles())  # fmt: skip
    lots = boxes((-200, -200, 0, 0), (0, -200, 200, 0), (-200, 0, 0, 200), (0, 0, 200, 200),
                 at=edge_of_tiles())  # fmt: skip
    found = wetgis.screen(
        wetgis.Site.from_layers(parcels=lots, wetlands=wetland, packs=["rye-ny-195"])
    )
    assert found.measures["wetland_sqft"].tolist() == pytest.approx([1125.0] * 4, abs=1e-6)
    own = found.contacts[found.contacts["feature_kind"] == "wetland"]
    assert len(own) == 4
    assert own["whole_sqft"].tolist() == pytest.approx([4500.0] * 4, abs=1e-6)


# ---------------------------------------------------------------- layers that could stall a run


def valley(vertices: int) -> shapely.Polygon:
    """A floodplain with that many vertices, two miles long."""
    t = np.linspace(0, 2 * np.pi, vertices, endpoint=False)
    ripple = 1 + 0.08 * np.sin(700 * t) + 0.05 * np.sin(1900 * t)
    return shapely.Polygon(
        np.column_stack([5_000 * np.cos(t) * ripple, 900 * np.sin(t) * ripple]) + RYE
    )


def pixels(vertices: int) -> shapely.Polygon:
    """A wetland traced along the edges of cells of 3 ft, comb-like, with that many vertices."""
    teeth = vertices // 4
    x = np.repeat(np.arange(2 * teeth + 1) * 3.0, 2)[1:-1]
    y = np.tile([0.0, 0.0, 6.0, 6.0], teeth)[: len(x)]
    width = x[-1]
    outline = np.column_stack([x, y + 30.0]).tolist()
    return shapely.transform(
        shapely.Polygon([(0.0, 0.0), *outline, (width, 0.0)]),
        lambda xy: np.column_stack([xy[:, 0] % 1e9 - width / 2, xy[:, 1]]) + RYE,
    )


@pytest.mark.parametrize(
    ("kind", "shape", "column"),
    [
        ("floodplain", valley(50_000), "floodplain_sqft"),
        ("wetlands", pixels(16_000), "wetland_sqft"),
    ],
    ids=["floodplain of 50,000 vertices", "pixel-edge wetland of 16,000"],
)
def test_a_huge_outline_does_not_stall_a_run(kind: str, shape: Any, column: str) -> None:
    assert shape.is_valid
    assert shapely.get_num_coordinates(shape) >= 15_900
    steps = np.arange(-6_000, 6_000, 200.0)
    lots = boxes(*[(x, y, x + 200, y + 200) for x in steps for y in (-400, -200, 0, 200)])
    feature = boxes((0, 0, 1, 1)).set_geometry([shape], crs="EPSG:2260")
    if kind == "floodplain":
        feature = feature.assign(sfha="T", zone="AE")
    site = wetgis.Site.from_layers(
        parcels=lots, **{kind: feature}, packs=[], measure={"buffer_ft": 100}
    )
    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(wetgis.screen, site).result(timeout=120)
    exact = shapely.area(shapely.intersection(lots.geometry.to_numpy(), shape))
    assert found.measures[column].to_numpy(float) == pytest.approx(exact, abs=1e-5)
    assert found.measures[column].sum() > 10_000
    assert "tile_failed" not in set(found.issues["code"])
