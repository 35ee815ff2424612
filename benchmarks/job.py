"""The job that every engine does, the clock that times it, and how a process is measured."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["ANSWERS", "AREAS", "BUFFER_FT", "DISTANCES", "QUADS", "Clock", "Measured", "measured"]

Floats = NDArray[np.float64]

#: Width of the regulated strip and segments a quadrant, the same for every engine.
BUFFER_FT, QUADS = 100.0, 84
#: Square feet of each parcel on wetland, on wetland and its buffer, on hydric soil, in the
#: floodplain; feet to the nearest wetland and watercourse; square feet steeper than 30 per cent.
AREAS = ("wet", "reg", "hyd", "flood")
DISTANCES = ("d_wet", "d_wat")
ANSWERS = (*AREAS, *DISTANCES, "steep")


class Clock:
    """Wall clock and CPU seconds by phase; a phase done on a sample is scaled up."""

    def __init__(self) -> None:
        self.phases: dict[str, float] = {}
        self.cpu = 0.0
        self.start()

    def start(self) -> None:
        """Forget what was before."""
        self._last, self._used = time.perf_counter(), time.process_time()

    def __call__(self, phase: str, times: float = 1.0) -> None:
        now, used = time.perf_counter(), time.process_time()
        self.phases[phase] = self.phases.get(phase, 0.0) + (now - self._last) * times
        self.cpu += (used - self._used) * times
        self._last, self._used = now, used

    @property
    def total(self) -> float:
        """Wall clock of all phases together."""
        return sum(self.phases.values())


@dataclass
class Measured:
    """One process that did the job. ``others``: cores that the rest of the machine used."""

    name: str
    wall: float
    cpu: float
    rss_mb: float
    others: float
    sample: int
    phases: dict[str, float]
    answers: dict[str, Floats] = field(default_factory=dict, repr=False)
    versions: dict[str, str] = field(default_factory=dict)
    error: str = ""


def _machine_cpu() -> float:
    """CPU seconds that all processes have used since the machine was started."""
    ticks = [int(n) for n in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")


def measured(
    name: str, county: Path, work: Path, *, sample: int = 1, extra: dict[str, str] | None = None
) -> Measured:
    """Do the job in a process of its own; wall is that of the phases, imports left out."""
    out = work / f"{name}.npz"
    out.unlink(missing_ok=True)
    command = [sys.executable, "-m", "benchmarks.child", name, str(county), str(out),
               "--sample", str(sample)]  # fmt: skip
    before, start = _machine_cpu(), time.perf_counter()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    root = Path(__file__).parents[1]
    done = subprocess.run(command, capture_output=True, text=True, cwd=root,
                          env={**os.environ, **(extra or {})})  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    own = after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime
    elapsed = time.perf_counter() - start
    result = next((line[7:] for line in done.stdout.splitlines() if line.startswith("RESULT ")), "")
    if not result or not out.exists():
        tail = (done.stderr or done.stdout).strip().splitlines()[-1:] or ["no result"]
        return Measured(name, 0, 0, 0, 0, sample, {}, error=tail[0][:200])
    found: dict[str, Any] = json.loads(result)
    others = max(_machine_cpu() - before - own - found["outside_cpu"], 0.0) / elapsed
    with np.load(out) as file:
        answers = {k: file[k] for k in file.files}
    return Measured(
        name, found["wall"], found["cpu"], found["rss_mb"], others, sample, found["phases"],
        answers, found["versions"],
    )  # fmt: skip
