"""Every error that wetgis raises on purpose.

::

    WetgisError                 exit code 1
      InputError                a file, layer or record cannot be used as it is
        CrsError                a coordinate system is missing, contradicted or unfit
        SiteError               a site file or its keys
      PackError                 a law pack or an override
      GeometryError             a geometry function was called with something it must refuse
      OutputError               a result cannot be written
      UsageError                exit code 2
      Stopped                   exit code 130, resumable
"""

from __future__ import annotations

__all__ = [
    "CrsError",
    "GeometryError",
    "InputError",
    "OutputError",
    "PackError",
    "SiteError",
    "Stopped",
    "UsageError",
    "WetgisError",
]


class WetgisError(Exception):
    """Root of every error raised on purpose.

    Parameters
    ----------
    found : str
        What was found, as one sentence.
    needed, mend : str, optional
        What is needed instead, and how to mend it.
    where : str, optional
        File, layer and record, as far as they are known.
    """

    exit_code = 1

    def __init__(self, found: str, *, needed: str = "", mend: str = "", where: str = "") -> None:
        self.found, self.needed, self.mend, self.where = found, needed, mend, where
        text = f"{where}: {found}" if where else found
        if needed:
            text += f" Needed: {needed}"
        if mend:
            text += f" To mend it: {mend}"
        super().__init__(text)


class InputError(WetgisError):
    """A file, layer or record cannot be used as it is."""


class CrsError(InputError):
    """A coordinate system is missing, contradicted or unfit to measure in."""


class SiteError(InputError):
    """A site file or a key of it cannot be used."""


class PackError(WetgisError):
    """A law pack or an override of one of its parameters cannot be used."""


class GeometryError(WetgisError):
    """A geometry function was given something that it must refuse."""


class OutputError(WetgisError):
    """A result cannot be written."""


class UsageError(WetgisError):
    """The call itself is wrong."""

    exit_code = 2


class Stopped(WetgisError):
    """The user stopped the run; what is on disk can be resumed."""

    exit_code = 130
