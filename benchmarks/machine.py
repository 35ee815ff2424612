"""What the figures were taken on."""

from __future__ import annotations

import datetime
import os
import platform
from pathlib import Path

__all__ = ["described"]


def described() -> str:
    """Date, processor, cores, memory, load and Python, in one line."""
    info = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    model = next((s.split(":")[1].strip() for s in info.splitlines() if "model name" in s),
                 platform.processor() or "unknown processor")  # fmt: skip
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    load = os.getloadavg()[0]
    return (
        f"{datetime.date.today().isoformat()}, {model}, {os.cpu_count()} cores, "
        f"{pages / 2**30:.0f} GB, load {load:.1f} at the start, Python {platform.python_version()}"
    )
