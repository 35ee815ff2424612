"""``python -m benchmarks``: wetgis and its peers on one county, times, ratios and agreement."""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.agree import TOLERANCE, agreement, by_geos, judged
from benchmarks.county import make_county
from benchmarks.floor import floor_seconds
from benchmarks.job import Measured, measured
from benchmarks.machine import described
from benchmarks.peers import PEERS, SHORT, load
from benchmarks.peers.wetgis_engine import FULL, JOB, NO_TERRAIN, STREAMED, TERRAIN, WHOLE

OURS = "wetgis_engine"
#: What a peer answers.
BOTH, AREAS_ONLY, RASTER = "areas, distances", "areas", "slope"


def options() -> argparse.Namespace:
    """The command line."""
    short = {v: k for k, v in SHORT.items()}
    names = [short.get(p, p) for p in PEERS]
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--parcels", type=int, default=10_000, help="size of the county")
    parser.add_argument("--peers", default="geopandas,exactextract",
                        help=f"any of {','.join(names)}; 'all'; '' for none")  # fmt: skip
    parser.add_argument("--repeat", type=int, default=3, help="runs of wetgis; the median is told")
    parser.add_argument("--sample", type=int, default=1,
                        help="slow peers do one parcel in so many, times scaled up")  # fmt: skip
    parser.add_argument("--full", action="store_true", help="time a run with all outputs too")
    parser.add_argument("--floor", action="store_true", help="time the bare steps of the job too")
    parser.add_argument("--cold", action=argparse.BooleanOptionalAction, default=True,
                        help="time a first run, kernels compiled, too")  # fmt: skip
    parser.add_argument("--growth", default="", help="sizes whose CPU seconds to compare, "
                        "as 10000,50000,250000")  # fmt: skip
    parser.add_argument("--data", type=Path, help="folder that keeps counties between runs")
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args()
    wanted = names if given.peers == "all" else [p for p in given.peers.split(",") if p]
    unknown = [p for p in wanted if SHORT.get(p, p) not in PEERS]
    if unknown:
        parser.error(f"no such peer: {', '.join(unknown)}; there are {', '.join(names)}")
    given.peers = [SHORT.get(p, p) for p in wanted]
    return given


def county_of(given: argparse.Namespace, parcels: int, work: Path) -> Path:
    """The county's folder; made unless it is there from before."""
    folder: Path = (given.data or work) / f"county-{parcels}-seed{given.seed}"
    if not (folder / "info.json").exists():
        make_county(parcels, folder, given.seed)
    return folder


def ours(given: argparse.Namespace, county: Path, work: Path, job: str) -> Measured:
    """The median of several processes that do a part of the job, by wall clock."""
    runs = []
    for _ in range(given.repeat):
        run = measured(OURS, county, work, extra={JOB: job})
        if run.error:
            sys.exit(f"wetgis failed: {run.error}")
        runs.append(run)
        line(f"wetgis, {job}", run)
    median = sorted(runs, key=lambda r: r.wall)[len(runs) // 2]
    median.cpu = statistics.median(r.cpu for r in runs)
    return median


def line(title: str, run: Measured, more: str = "") -> None:
    """One row of the table."""
    memory = f"{run.rss_mb:7,.0f}" if run.rss_mb else "      -"
    print(
        f"{title:28s} {run.wall:9.2f} {run.cpu:9.2f} {memory} {run.others:7.1f}  {more}", flush=True
    )


def scope(peer: Measured, mine: dict[str, Measured]) -> tuple[float, float, str]:
    """Wall and CPU seconds of wetgis for what the peer was asked."""
    if set(peer.phases) == {"slope"}:
        run, phases, told = mine[TERRAIN], ["slope"], RASTER
    else:
        run, told = mine[NO_TERRAIN], BOTH if "d_wet" in peer.answers else AREAS_ONLY
        phases = [p for p in run.phases if told == BOTH or p != "distances"]
    wall = sum(run.phases[p] for p in phases)
    return wall, run.cpu * wall / run.wall, told


def against(
    name: str, given: argparse.Namespace, county: Path, work: Path, mine: dict[str, Measured]
) -> bool:
    """One peer: its row, the ratio, the agreement. True where an answer is wrong."""
    peer = load(name)
    why = peer.missing()
    if why:
        print(f"{peer.TITLE:28s} left out: {why}", flush=True)
        return False
    sampled = name in ("geopandas_overlay", "local", "dask_geopandas", "exactextract_zonal",
                       "rasterstats_zonal")  # fmt: skip
    run = measured(name, county, work, sample=given.sample if sampled else 1)
    if run.error:
        print(f"{peer.TITLE:28s} failed: {run.error}", flush=True)
        return False
    wall, cpu, told = scope(run, mine)
    ratio = f"{run.wall / wall:.1f} x wall, {run.cpu / cpu:.1f} x CPU"
    if run.sample > 1:
        ratio += f", on 1 parcel in {run.sample}"
    line(peer.TITLE, run, f"{ratio}  ({told})")
    print(f"{'':28s} {', '.join(f'{k} {v}' for k, v in run.versions.items())}")
    return _differs(name, county, run, mine[WHOLE])


def _differs(name: str, county: Path, run: Measured, mine: Measured) -> bool:
    """Tell how far answers are apart; whether that is more than it may be."""
    found = agreement(mine.answers, run.answers)
    print(f"{'':28s} largest difference of a parcel: "
          + ", ".join(f"{k} {v:.1e}" for k, v in found.worst.items()))  # fmt: skip
    # cell centres are another question
    apart = [] if name == "rasterstats_zonal" else found.failed
    failed = [k for k in apart if _ours_is_off(k, county, found.row[k], mine)]
    for k in apart:
        whose = "wetgis" if k in failed else "this engine"
        print(f"{'':28s} {k} of row {found.row[k]} is off by more than {TOLERANCE[k]:g}: {whose}")
    if "reg" in run.answers:
        looked, wrong, theirs = judged(county, mine.answers, run.answers)
        print(f"{'':28s} reg of {looked} parcels against the buffers of single segments: "
              f"wetgis out of bounds {wrong}, this engine {theirs}")  # fmt: skip
        failed += ["reg"] * (wrong > 0)
    return bool(failed)


def _ours_is_off(name: str, county: Path, row: int, mine: Measured) -> bool:
    """Who is wrong: an area is asked of GEOS alone; of anything else nobody else is asked."""
    if name not in ("wet", "hyd", "flood"):
        return True
    own = float(mine.answers[name][mine.answers["row"] == row][0])
    return not abs(by_geos(county, name, row) - own) <= TOLERANCE[name]


def growth(given: argparse.Namespace, work: Path) -> None:
    """CPU seconds and memory by size, in memory and from disk to disk."""
    for job in (WHOLE, STREAMED):
        last: Measured | None = None
        for size in map(int, given.growth.split(",")):
            run = measured(OURS, county_of(given, size, work), work, extra={JOB: job})
            if run.error:
                sys.exit(f"wetgis failed at {size:,}: {run.error}")
            more = f"{run.cpu / last.cpu:.2f} x the CPU of the size before" if last else ""
            line(f"{size:,}, {job}", run, more)
            print(f"{'':28s} {', '.join(f'{k} {v:.1f}' for k, v in run.phases.items())}")
            last = run


def _same_from_disk(one: Measured, two: Measured) -> bool:
    """Whether the answers from disk are those from memory, to the bit."""
    a, b = (run.answers["row"].argsort() for run in (one, two))
    same = all(
        np.array_equal(one.answers[k][a], two.answers[k][b], equal_nan=True) for k in two.answers
    )
    print(f"{'':28s} answers from disk {'the same, to the bit' if same else 'DIFFER'}")
    return same


def main() -> int:
    """Print the table; 1 where an answer is wrong."""
    given = options()
    print(described())
    with tempfile.TemporaryDirectory(prefix="wetgis-bench-") as folder:
        work = Path(folder)
        county = county_of(given, given.parcels, work)
        print(f"{given.parcels:,} parcels, seed {given.seed}, 84 segments a quadrant")
        print("wall: without imports; others: cores that the rest of the machine used")
        print(f"{'':28s} {'wall s':>9s} {'CPU s':>9s} {'MB':>7s} {'others':>7s}")
        if given.cold:
            cold = measured(OURS, county, work, extra={"NUMBA_CACHE_DIR": str(work / "numba")})
            line("wetgis, the very first run", cold, "kernels compiled")
        jobs = [WHOLE, *([NO_TERRAIN, TERRAIN] if given.peers else [])]
        mine = {job: ours(given, county, work, job) for job in jobs}
        print(f"{'':28s} {', '.join(f'{k} {v}' for k, v in mine[WHOLE].versions.items())}")
        for job, run in mine.items():
            print(f"{'':28s} {job}, median by phase: "
                  + ", ".join(f"{k} {v:.2f}" for k, v in run.phases.items()))  # fmt: skip
        if not _same_from_disk(ours(given, county, work, STREAMED), mine[WHOLE]):
            return 1
        if given.full:
            line("wetgis, with all outputs", measured(OURS, county, work, extra={JOB: FULL}))
        if given.floor:
            steps = floor_seconds(county)
            bound = steps.pop("wall")
            print(f"{'the bare steps, on two cores':28s} {bound:9.2f}  wetgis "
                  f"{mine[WHOLE].wall / bound:.2f} times that  ("
                  + ", ".join(f"{k} {v:.1f}" for k, v in steps.items()) + " CPU s)",
                  flush=True)  # fmt: skip
        wrong = [against(name, given, county, work, mine) for name in given.peers]
        if given.growth:
            growth(given, work)
    return int(any(wrong))


if __name__ == "__main__":
    sys.exit(main())
