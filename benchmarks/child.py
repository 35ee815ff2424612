"""One engine, one county, one process: ``python -m benchmarks.child NAME COUNTY OUT.npz``."""

from __future__ import annotations

import argparse
import importlib
import json
import resource
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

from benchmarks.job import Clock


def _versions(names: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def main() -> None:
    """Do the job and print what it took as one line of JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("county", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--sample", type=int, default=1)
    given = parser.parse_args()
    engine = importlib.import_module(f"benchmarks.peers.{given.name}")
    engine.prepare()
    clock = Clock()
    answers = engine.run(given.county, clock, given.sample)
    outside = float(getattr(engine, "outside_cpu", lambda: 0.0)())
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    np.savez(given.out, **answers)
    result = {
        "wall": clock.total,
        "cpu": clock.cpu + outside,
        "outside_cpu": outside,
        "rss_mb": memory,
        "phases": clock.phases,
        "versions": {**_versions(engine.PACKAGES), **getattr(engine, "VERSIONS", {})},
    }
    print("RESULT " + json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
