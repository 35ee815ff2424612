"""Where the sample towns lie: in a checkout under ``data/samples``, in a wheel in the package."""

from __future__ import annotations

from pathlib import Path

from wetgis.errors import InputError

__all__ = ["sample_sites"]


def sample_sites() -> list[Path]:
    """The ``site.toml`` of each sample town, by name.

    Raises
    ------
    InputError
        Where this installation has none.
    """
    package = Path(__file__).resolve().parent
    for folder in (package.parents[1] / "data" / "samples", package / "_samples"):
        sites = sorted(folder.glob("*/site.toml"))
        if sites:
            return sites
    raise InputError(
        "the sample towns are not in this installation.",
        needed="the files under data/samples, or a wheel, which carries them",
        mend="pip install --force-reinstall wetgis",
    )
