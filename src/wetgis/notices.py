"""Who is to be told of an amendment: affected owners and abutters, each once.

Owner data is used only where its columns are named, and is never logged.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import shapely

from wetgis.crs import ft_per_unit
from wetgis.errors import InputError, UsageError
from wetgis.schema import EPS_FT

if TYPE_CHECKING:
    import geopandas as gpd

    from wetgis.amendment import Amendment

__all__ = ["Meeting", "Notices", "notices"]


@dataclass(frozen=True)
class Meeting:
    """What a letter says about the hearing; what is empty is a blank to be filled in.

    Parameters
    ----------
    body : str
        Who decides.
    date : date or text, optional
    place : str
    object_by : date or text, optional
        Until when written comments are taken.
    object_to : str
        Where they are to be sent.
    sender : str
        Who writes.
    """

    body: str = ""
    date: datetime.date | str = ""
    place: str = ""
    object_by: datetime.date | str = ""
    object_to: str = ""
    sender: str = ""


@dataclass(frozen=True, eq=False)
class Notices:
    """What `notices` returns.

    Attributes
    ----------
    recipients : DataFrame
        A row an addressee: ``notice`` (a number), the columns of ``owners`` as texts,
        ``reason`` (``affected``, ``abutter``), ``parcel_ids`` (affected ones first, ``;``
        between). Equal addressees (whatever the case and the blanks) are one. Without ``owners``
        a row a parcel.
    parcels : DataFrame
        Every parcel that is noticed: ``parcel_id``, ``reason``, ``distance_ft`` (to the nearest
        affected parcel), ``notice``.
    amendment : Amendment
    meeting : Meeting
    owners : tuple of str
        The columns that the addresses were made of.
    """

    recipients: pd.DataFrame
    parcels: pd.DataFrame
    amendment: Amendment = field(repr=False)
    meeting: Meeting = Meeting()
    owners: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<Notices to {len(self.recipients)} addressees on {len(self.parcels)} parcels>"

    def write(self, folder: str | Path) -> list[Path]:
        """Write ``notices.xlsx``, ``labels.docx`` and the letters (``letters.pdf``, ``.docx``)."""
        from wetgis.outputs.letters import write_notices

        return write_notices(self, folder)


def notices(
    amendment: Amendment,
    *,
    owners: Sequence[str] = (),
    within_ft: float = 0.0,
    meeting: Meeting | None = None,
    slivers: bool = False,
) -> Notices:
    """List who is to be told of an amendment.

    Parameters
    ----------
    amendment : Amendment
    owners : sequence of str
        Columns of the parcels that make an address, line by line: name first. They must be kept by
        the layer (``keep`` in the site file): owner data is never read otherwise.
    within_ft : float
        Owners of parcels at most this far from an affected parcel are told too, US survey feet;
        0: those that touch one.
    meeting : Meeting, optional
    slivers : bool
        Also count parcels that slivers alone reach as affected.

    Returns
    -------
    Notices

    Raises
    ------
    UsageError
        On a distance that is negative or not a number.
    InputError
        On a column that the parcels do not have or that was not kept.
    """
    if not (np.isfinite(within_ft) and within_ft >= 0):
        raise UsageError(f"within_ft is {within_ft}.", needed="feet, zero or more")
    if isinstance(owners, str):
        raise UsageError("owners is a text.", needed="a list of columns")
    layer = amendment.site_after.layers.get("parcels")
    if layer is None:
        raise InputError("the site has no parcels.", needed="a layer of parcels")
    for column in owners:
        if column not in layer.frame.columns or column not in layer.keep:
            raise InputError(
                f"the parcels keep no column '{column}'.",
                needed=f"one of {', '.join(layer.keep)}" if layer.keep else "columns that are kept",
                mend="name it in keep of layers.parcels",
            )
    parcels = _noticed(amendment, layer.frame, within_ft, slivers=slivers)
    recipients, parcels = _addressees(parcels, layer.frame, tuple(owners))
    return Notices(recipients, parcels, amendment, meeting or Meeting(), tuple(owners))


def _noticed(
    amendment: Amendment, frame: gpd.GeoDataFrame, within_ft: float, *, slivers: bool
) -> pd.DataFrame:
    """Affected parcels and those near them, with the row of each in the layer."""
    affected = amendment.parcels
    if not slivers:
        affected = affected[~affected["sliver"].astype(bool)]
    keys = set(zip(affected["parcel_id"], affected["record"], strict=True))
    ids = frame["id"].astype(str)
    own = np.array([k in keys for k in zip(ids, frame["record"], strict=True)], dtype=bool)
    shapes, scale = frame.geometry.to_numpy(), ft_per_unit(frame.crs)
    distance = np.full(len(frame), np.inf)
    if own.any():
        reach = (within_ft + EPS_FT) / scale
        tree = shapely.STRtree(shapes[own])
        k, a = tree.query(shapes, predicate="dwithin", distance=reach)
        np.minimum.at(distance, k, shapely.distance(shapes[k], shapes[own][a]) * scale)
    rows = np.flatnonzero(own | np.isfinite(distance))
    table = pd.DataFrame({
        "parcel_id": ids.to_numpy(object)[rows], "record": frame["record"].to_numpy()[rows],
        "reason": np.where(own[rows], "affected", "abutter"),
        "distance_ft": np.where(own[rows], 0.0, distance[rows]), "row": rows,
    })  # fmt: skip
    table = table.sort_values(["reason", "parcel_id", "record"], ascending=[False, True, True])
    return table.sort_values("reason", key=lambda s: s != "affected", kind="stable")


def _addressees(
    parcels: pd.DataFrame, frame: gpd.GeoDataFrame, owners: tuple[str, ...]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """One row an addressee; parcels of an owner come together."""
    lines = {c: _texts(frame[c].iloc[parcels["row"].to_numpy()]) for c in owners}
    if owners:
        keys = [_same("\n".join(values)) for values in zip(*lines.values(), strict=True)]
        # a parcel whose owner is not known has a notice of its own, to be addressed by hand
        keys = [k or f"\0{p}" for k, p in zip(keys, parcels["parcel_id"], strict=True)]
    else:
        keys = [f"\0{p}" for p in parcels["parcel_id"]]
    codes, _ = pd.factorize(pd.Series(keys, dtype=object))
    parcels = parcels.drop(columns="row").assign(notice=codes + 1).reset_index(drop=True)
    groups = parcels.groupby("notice", sort=True)
    table = pd.DataFrame({"notice": np.arange(1, len(groups) + 1)})
    first = ~pd.Series(codes).duplicated().to_numpy()
    for column, values in lines.items():
        table[column] = np.array(values, dtype=object)[first]
    table["reason"] = groups["reason"].first().to_numpy(object)
    table["parcel_ids"] = groups["parcel_id"].agg(lambda v: ";".join(dict.fromkeys(v))).to_numpy()
    return table, parcels


def _texts(column: pd.Series) -> list[str]:
    known = column.notna().to_numpy()
    return [str(v).strip() if ok else "" for v, ok in zip(column, known, strict=True)]


def _same(text: str) -> str:
    """What makes two addresses one: letters and digits, whatever the case, blanks and marks.

    Examples
    --------
    >>> _same("Oak  St. 5") == _same("OAK ST 5")
    True
    """
    return re.sub(r"[^0-9a-z]+", " ", text.casefold()).strip()
