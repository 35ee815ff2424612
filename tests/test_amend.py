"""Amendments by hand: totals, parcels, modes, what is accepted, the map's new state."""

from __future__ import annotations

import datetime

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import RYE, boxes

import wetgis
from wetgis.errors import InputError, UsageError

#: What a drawn arc of a full circle of 100 ft may fall short by, sq ft.
ARC = 100 * 2 * np.pi * 0.01


def site_of(wetlands, parcels=None, *, packs=("rye-ny-195",), **layers):
    return wetgis.Site.from_layers(
        parcels=parcels, wetlands=wetlands, packs=list(packs), as_of="2026-11-30",
        **({} if packs else {"measure": {"buffer_ft": 100}}), **layers,
    )  # fmt: skip


def total(amendment, what):
    return amendment.totals.set_index("what").loc[what]


def closes(amendment):
    for row in amendment.totals.dropna().itertuples():
        off = row.before_sqft + row.added_sqft - row.removed_sqft - row.after_sqft
        assert abs(off) < 0.01, row.what


@pytest.mark.parametrize("packs", [("rye-ny-195",), ()])
def test_widened_wetland(origin, packs):
    """A square of 100 ft that is widened by 20: known to the foot."""
    site = site_of(boxes((0, 0, 100, 100), at=origin), boxes((0, 0, 1, 1), at=origin), packs=packs)
    made = wetgis.amend(site, boxes((0, 0, 120, 100), at=origin), mode="by_id")
    closes(made)
    wet, buffer, all_of_it = (total(made, w) for w in ("wetland", "buffer", "regulated"))
    assert wet.tolist() == pytest.approx([10_000, 2_000, 0, 12_000])
    assert 71_415.93 - ARC < buffer.before_sqft <= 71_415.93
    assert 75_415.93 - ARC < buffer.after_sqft <= 75_415.93
    assert buffer.after_sqft - buffer.before_sqft == pytest.approx(4_000, abs=1e-3)
    assert all_of_it.after_sqft - all_of_it.before_sqft == pytest.approx(6_000, abs=1e-3)
    assert all_of_it.removed_sqft == pytest.approx(0, abs=1e-3)
    assert len(made.changes) == 3
    row = made.changes.iloc[0]
    assert (row["what"], row["change"], row["feature_id"]) == ("wetland", "added", "0")
    assert row["shift_ft"] == pytest.approx(20)
    assert made.shift["hausdorff_ft"].tolist() == pytest.approx([20])
    assert made.profile["shift_ft"].max() == pytest.approx(20)
    assert made.profile["shift_ft"].min() == pytest.approx(0, abs=1e-9)


def test_parcels_at_the_edge():
    """Ground exactly at the new buffer's edge gains nothing; a hair nearer it gains a sliver."""
    lots = boxes((220, 0, 300, 100), (219.99, 0, 300, 100), (219.5, 0, 300, 100),
                 (150, 0, 300, 100), (0, 0, 100, 100), (-99, 0, 0, 100),
                 (5000, 0, 5100, 100))  # fmt: skip
    site = site_of(boxes((0, 0, 100, 100)), lots)
    made = wetgis.amend(site, boxes((0, 0, 120, 100)), mode="by_id")
    rows = made.parcels.set_index("parcel_id")
    assert sorted(rows.index) == ["1", "2", "3"]
    assert rows["sliver"].to_dict() == {"1": True, "2": False, "3": False}
    assert "narrower than 0.05 ft" in rows.loc["1", "reason"]
    assert rows["newly_regulated"].to_dict() == {"1": True, "2": True, "3": False}
    assert rows.loc["2", "buffer_change_sqft"] == pytest.approx(50)
    assert rows.loc["3", "buffer_before_sqft"] == pytest.approx(5_000)
    assert rows.loc["3", "buffer_change_sqft"] == pytest.approx(2_000)
    for place in ("wetland", "buffer", "outside", "regulated"):
        change = rows[f"{place}_after_sqft"] - rows[f"{place}_before_sqft"]
        assert change.tolist() == pytest.approx(rows[f"{place}_change_sqft"].tolist(), abs=1e-5)


def test_slivers_keep_their_row():
    """Below min_change_sqft a parcel is on the list with its reason, and can be told apart."""
    lots = boxes((219.5, 0, 300, 1), (219.5, 1, 300, 100))
    site = site_of(boxes((0, 0, 100, 100)), lots)
    made = wetgis.amend(site, boxes((0, 0, 120, 100)), mode="by_id", min_change_sqft=1.0)
    rows = made.parcels.set_index("parcel_id")
    assert rows["sliver"].to_dict() == {"0": True, "1": False}
    assert rows.loc["0", "reason"] == "smaller than 1 sq ft"
    again = wetgis.amend(site, boxes((0, 0, 120, 100)), mode="by_id", min_change_sqft=0.1)
    assert not again.parcels["sliver"].any()


def test_redrawn_line_is_a_sliver():
    """A line that was digitised again 0.02 ft away is listed, and is no change of the ground."""
    site = site_of(boxes((0, 0, 100, 100)), boxes((50, 0, 150, 100)))
    made = wetgis.amend(site, boxes((0, 0, 100.02, 100)), mode="by_id")
    own = made.changes[made.changes["what"] == "wetland"]
    assert own["area_sqft"].tolist() == pytest.approx([2.0], abs=1e-6)
    assert own["sliver"].all()
    assert made.parcels["sliver"].all()


def test_nothing_changes():
    """0 changes: tables with their columns, totals that stand still, the map as it was."""
    before = boxes((0, 0, 100, 100), (500, 0, 600, 100))
    site = site_of(before, boxes((0, 0, 300, 300)))
    tried = (("by_id", before.iloc[:1]), ("whole", before), ("by_id", before.iloc[:0]))
    for mode, proposed in tried:
        made = wetgis.amend(site, proposed, mode=mode)
        closes(made)
        assert len(made.changes) == len(made.parcels) == len(made.history) == 0
        assert {"change_id", "area_sqft", "shift_ft"} <= set(made.changes.columns)
        assert {"parcel_id", "wetland_change_sqft", "newly_regulated"} <= set(made.parcels.columns)
        assert total(made, "wetland").tolist() == pytest.approx([20_000, 0, 0, 20_000])
        assert made.adopted["id"].tolist() == ["0", "1"]
        assert (made.adopted["supersedes"] == "").all()


def test_last_wetland_removed():
    """The map without any wetland: zero, not unknown."""
    site = site_of(boxes((0, 0, 100, 100)), boxes((50, 0, 400, 100)))
    for made in (
        wetgis.amend(site, boxes((0, 0, 1, 1)).iloc[:0], mode="by_id", remove=["0"]),
        wetgis.amend(site, boxes((0, 0, 1, 1)).iloc[:0], mode="whole"),
    ):
        closes(made)
        assert total(made, "wetland").after_sqft == 0
        assert total(made, "buffer").after_sqft == 0
        row = made.parcels.iloc[0]
        assert row["released"]
        assert row["wetland_after_sqft"] == 0
        assert len(made.adopted) == 0
        assert made.superseded["effective_to"].tolist() == [pd.Timestamp("2026-11-29")]
        assert made.history["event"].tolist() == ["removed"]
        assert made.wetlands["became"].tolist() == ["gone"]


def test_first_wetland():
    """A map that had none of the kind."""
    site = site_of(boxes((0, 0, 100, 100)).iloc[:0], boxes((50, 0, 400, 100)))
    made = wetgis.amend(site, boxes((0, 0, 100, 100)), mode="whole")
    assert total(made, "wetland").tolist() == pytest.approx([0, 10_000, 0, 10_000])
    assert made.parcels["newly_regulated"].tolist() == [True]
    assert made.adopted["effective_from"].tolist() == [pd.Timestamp("2026-11-30")]
    assert np.isnan(made.changes["shift_ft"].iloc[0])


def test_swap_on_one_parcel():
    """What a parcel gains in one corner it loses in another: affected, though its sum stands."""
    site = site_of(boxes((0, 0, 10, 10), (20, 0, 30, 10)), boxes((0, 0, 30, 10)))
    proposed = boxes((0, 0, 12, 10), (22, 0, 30, 10))
    made = wetgis.amend(site, proposed, mode="by_id")
    row = made.parcels.iloc[0]
    assert row["wetland_change_sqft"] == 0
    assert (row["wetland_added_sqft"], row["wetland_removed_sqft"]) == pytest.approx((20, 20))
    assert not row["sliver"]


def test_split_below_a_size():
    """A wetland of 4,200 sq ft is cut by a strip into two that a rule by size leaves out."""
    site = site_of(boxes((0, 0, 84, 50)), boxes((-50, -50, 200, 200)), packs=["monroe-ny-46"])
    made = wetgis.amend(site, boxes((0, 0, 40, 50), (44, 0, 84, 50), id=["0", "0b"]), mode="by_id")
    closes(made)
    assert made.wetlands["whole_sqft"].tolist() == pytest.approx([4_200, 2_000, 2_000])
    assert made.wetlands["became"].tolist() == ["split", "split", "split"]
    turned = made.findings()
    size = turned[turned["rule"] == "MON-26"]
    assert len(size) >= 1
    assert set(size["outcome_before"]) & {"met"}
    assert made.adopted.set_index("id")["supersedes"].to_dict() == {"0": "0", "0b": "0"}


def test_merged_above_a_size():
    """Two wetlands of 2,000 sq ft that a strip makes one of 4,200."""
    before = boxes((0, 0, 40, 50), (44, 0, 84, 50))
    site = site_of(before, boxes((-50, -50, 200, 200)), packs=["monroe-ny-46"])
    new = boxes((40, 0, 44, 50))
    new["id"] = ["strip"]
    made = wetgis.amend(site, new, mode="by_id")
    closes(made)
    after = made.wetlands[made.wetlands["side"] == "after"]
    assert after["whole_sqft"].tolist() == pytest.approx([4_200])
    assert after["became"].tolist() == ["merged"]
    turned = made.findings()
    assert "met" in set(turned.loc[turned["rule"] == "MON-26", "outcome_after"])


def test_other_coordinate_system():
    """A proposal in degrees on the same datum gives the same numbers."""
    site = site_of(boxes((0, 0, 100, 100)), boxes((0, 0, 300, 300)))
    here = wetgis.amend(site, boxes((0, 0, 120, 100)), mode="by_id")
    there = wetgis.amend(site, boxes((0, 0, 120, 100)).to_crs(4269), mode="by_id")
    assert there.totals["after_sqft"].tolist() == pytest.approx(
        here.totals["after_sqft"].tolist(), abs=0.01, nan_ok=True
    )
    assert there.provenance["operations"][-1]["from"] != ""
    kept = there.changes[~there.changes["sliver"]]
    assert len(kept) == len(here.changes)


def test_whole_and_within():
    """The whole new map, and all inside an extent."""
    before = boxes((0, 0, 100, 100), (500, 0, 600, 100), (900, 0, 1000, 100))
    site = site_of(before, boxes((0, 0, 1000, 100)))
    whole = wetgis.amend(site, before.iloc[[0, 2]], mode="whole")
    assert whole.changes.query("what == 'wetland'")["feature_id"].tolist() == ["1"]
    ox, oy = RYE
    extent = shapely.box(ox + 550, oy - 500, ox + 950, oy + 500)
    new = boxes((700, 0, 720, 100), (940, 0, 960, 100))
    new["id"] = ["new", "over"]
    made = wetgis.amend(site, new, mode="within", extent=extent)
    closes(made)
    # half of 1 and half of 2 lie inside and are gone; `over` is cut at the extent
    assert total(made, "wetland").tolist() == pytest.approx([30_000, 2_000, 9_000, 23_000])
    assert "cut_at_extent" in set(made.issues["code"])
    assert {"0", "1", "2", "new", "over"} == set(made.adopted["id"])


def test_accept_some():
    """Three of five: map, parcels and totals are those of the three; ids stay."""
    before = boxes(*((500 * k, 0, 500 * k + 100, 100) for k in range(5)))
    lots = boxes(*((500 * k, 0, 500 * k + 400, 100) for k in range(5)))
    site = site_of(before, lots)
    proposed = boxes(*((500 * k, 0, 500 * k + 110, 100) for k in range(5)))
    whole = wetgis.amend(site, proposed, mode="by_id")
    own = whole.changes.query("what == 'wetland'")
    ids = own.loc[own["feature_id"].isin(["0", "1"]), "change_id"].tolist()
    made = wetgis.amend(site, proposed, mode="by_id", accept=[*ids, "4"])
    closes(made)
    assert total(made, "wetland").added_sqft == pytest.approx(3_000)
    assert sorted(made.parcels["parcel_id"]) == ["0", "1", "4"]
    assert set(ids) <= set(made.changes["change_id"])
    moved = made.adopted.set_index("id")["supersedes"]
    assert moved.to_dict() == {"0": "0", "1": "1", "2": "", "3": "", "4": "4"}
    none = wetgis.amend(site, proposed, mode="by_id", accept=[])
    assert len(none.changes) == 0


def test_accept_a_piece_of_a_feature():
    """A boundary that moves on two sides, of which one side is adopted."""
    site = site_of(boxes((0, 0, 100, 100)), boxes((-50, 0, 200, 100)))
    proposed = boxes((-10, 0, 95, 100))
    whole = wetgis.amend(site, proposed, mode="by_id").changes.query("what == 'wetland'")
    assert sorted(whole["change"]) == ["added", "removed"]
    for row in whole.itertuples():
        made = wetgis.amend(site, proposed, mode="by_id", accept=[row.change_id])
        closes(made)
        own = made.changes.query("what == 'wetland'")
        assert own["change_id"].tolist() == [row.change_id]
        assert own["area_sqft"].tolist() == pytest.approx([row.area_sqft])


def test_drawn_buffer_is_not_a_wetland():
    """The adopted map comes before the wetlands layer; its drawn buffer stands apart."""
    adopted = boxes((0, 0, 100, 100), (-80, -80, 180, 180))
    adopted["TYPE"] = ["Wetland", "100 ft buffer"]
    site = site_of(boxes((0, 0, 500, 500)), boxes((0, 0, 300, 300)), adopted_wetlands=adopted)
    made = wetgis.amend(site, boxes((0, 0, 120, 100)), mode="by_id")
    assert total(made, "wetland").before_sqft == pytest.approx(10_000)
    assert made.layers["buffer_drawn"]["made"].tolist() == ["drawn"]
    assert set(made.layers["buffer_after"]["made"]) == {"recomputed"}
    assert "drawn_buffer" in set(made.issues["code"])


def test_all_current_features_make_the_buffer():
    """Ground that another feature's buffer covers already does not become regulated."""
    before = boxes((0, 0, 100, 100), (250, 0, 350, 100))
    site = site_of(before, boxes((200, 0, 220, 100)))
    made = wetgis.amend(site, boxes((0, 0, 120, 100)), mode="by_id")
    assert len(made.parcels) == 0
    stream = gpd.GeoDataFrame(
        {"id": ["s"]},
        geometry=[shapely.LineString([(RYE[0] + 210, RYE[1] - 400), (RYE[0] + 210, RYE[1] + 400)])],
        crs=2260,
    )
    site = site_of(before.iloc[:1], boxes((200, 0, 220, 100)), watercourses=stream)
    assert len(wetgis.amend(site, boxes((0, 0, 120, 100)), mode="by_id").parcels) == 0


def test_watercourses():
    """A centreline that moves: lengths, and the buffer that follows."""
    ox, oy = RYE

    def line(x):
        return gpd.GeoDataFrame(
            {"id": ["s"], "half_width_ft": [np.nan]},
            geometry=[shapely.LineString([(ox + x, oy), (ox + x, oy + 500)])], crs=2260,
        )  # fmt: skip

    site = site_of(None, boxes((0, 0, 400, 500)), watercourses=line(100))
    made = wetgis.amend(site, line(110), kind="watercourses", mode="by_id")
    closes(made)
    own = made.changes.query("what == 'watercourse'")
    assert own["length_ft"].tolist() == pytest.approx([500, 500])
    assert total(made, "buffer").added_sqft == pytest.approx(10 * 700, rel=0.1)
    assert np.isnan(total(made, "wetland").before_sqft)
    row = made.parcels.iloc[0]
    assert row["buffer_change_sqft"] == pytest.approx(0, abs=1e-6)
    gained = (row["buffer_added_sqft"], row["buffer_removed_sqft"])
    assert gained == pytest.approx((5_000, 5_000))
    with pytest.raises(UsageError, match="drawn as a line"):
        wetgis.amend(site, line(110), kind="watercourses", mode="by_id",
                     accept=[own["change_id"].iloc[0]])  # fmt: skip


def test_wetland_over_a_pond():
    """Ground that was pond and becomes wetland leaves the watercourse: each foot once."""
    site = site_of(boxes((0, 0, 100, 100)), boxes((0, 0, 200, 100)),
                   watercourses=boxes((100, 0, 150, 100)))  # fmt: skip
    made = wetgis.amend(site, boxes((0, 0, 120, 100)), mode="by_id")
    closes(made)
    assert total(made, "watercourse").tolist() == pytest.approx([5_000, 0, 2_000, 3_000])
    row = made.parcels.iloc[0]
    assert row["watercourse_change_sqft"] == pytest.approx(-2_000)
    assert row["regulated_change_sqft"] == pytest.approx(0, abs=1e-6)


def test_outside_the_municipality():
    """A wetland beyond the limit counts by its buffer alone; the buffer is clipped, not it."""
    town = boxes((0, 0, 1000, 1000))
    before = boxes((-200, 0, -150, 100))
    site = site_of(before, boxes((0, 0, 100, 100)), municipality=town)
    made = wetgis.amend(site, boxes((-200, 0, -50, 100)), mode="by_id")
    closes(made)
    assert total(made, "wetland").after_sqft == 0
    assert made.changes["what"].tolist() == ["buffer"]
    assert made.parcels["buffer_change_sqft"].tolist() == pytest.approx([5_000])
    assert made.parcels["newly_regulated"].tolist() == [True]


def test_history_of_attributes():
    """What was stated otherwise is told with both values; silence changes nothing."""
    before = boxes((0, 0, 100, 100), (500, 0, 600, 100), name=["Marsh", "Swamp"],
                   basis=["city_map", "city_map"], effective_from=["1991-12-18"] * 2)  # fmt: skip
    site = site_of(before, boxes((0, 0, 300, 300)))
    proposed = boxes((0, 0, 120, 100), basis=["field_survey"])
    made = wetgis.amend(site, proposed, mode="by_id")
    rows = made.history.set_index(["event", "attribute"])
    assert rows.loc[("attribute", "basis"), ["before", "after"]].tolist() == [
        "city_map", "field_survey"]  # fmt: skip
    adopted = made.adopted.set_index("id")
    assert adopted.loc["0", "name"] == "Marsh"
    assert adopted["effective_from"].dt.date.tolist() == [
        datetime.date(1991, 12, 18) if i == "1" else datetime.date(2026, 11, 30)
        for i in adopted.index
    ]
    assert made.superseded["effective_to"].dt.date.tolist() == [datetime.date(2026, 11, 29)]
    assert made.superseded["superseded_by"].tolist() == ["0"]


def test_the_same_whatever_the_order():
    """Ids, tables and totals do not depend on the order of the rows."""
    before = boxes((0, 0, 100, 100), (90, 50, 200, 150), (500, 0, 600, 100))
    lots = boxes((0, 0, 300, 300), (300, 0, 700, 300))
    new = boxes((0, 0, 120, 110), (90, 40, 210, 150), (480, 0, 600, 90))
    one = wetgis.amend(site_of(before, lots), new, mode="by_id")
    two = wetgis.amend(site_of(before[::-1], lots[::-1]), new[::-1], mode="by_id")
    drop = {"geometry"}
    for name in ("changes", "parcels", "totals", "history", "wetlands", "shift"):
        a, b = getattr(one, name), getattr(two, name)
        columns = [c for c in a.columns if c not in drop]
        pd.testing.assert_frame_equal(pd.DataFrame(a)[columns], pd.DataFrame(b)[columns])


@pytest.mark.parametrize(
    ("how", "error", "text"),
    [
        ({"mode": "all"}, UsageError, "mode is 'all'"),
        ({"mode": "within"}, UsageError, "belong together"),
        ({"mode": "by_id", "extent": shapely.box(0, 0, 1, 1)}, UsageError, "belong together"),
        ({"mode": "by_id", "kind": "soils"}, UsageError, "kind is 'soils'"),
        ({"mode": "by_id", "remove": ["x"]}, InputError, "no feature of the map has the id 'x'"),
        ({"mode": "by_id", "remove": ["0"]}, UsageError, "removed and is proposed"),
        ({"mode": "by_id", "remove": "0"}, UsageError, "remove is a text"),
        ({"mode": "by_id", "accept": ["WA-nothing"]}, InputError, "no change or feature"),
        ({"mode": "by_id", "min_change_sqft": -1}, UsageError, "min_change_sqft"),
    ],
)
def test_refused(how, error, text):
    site = site_of(boxes((0, 0, 100, 100)), boxes((0, 0, 300, 300)))
    with pytest.raises(error, match=text):
        wetgis.amend(site, boxes((0, 0, 120, 100)), **how)


def test_unmatched_ids_are_said():
    site = site_of(boxes((0, 0, 100, 100)), boxes((0, 0, 300, 300)))
    new = boxes((0, 0, 120, 100))
    new["id"] = ["other"]
    assert "no_match" in set(wetgis.amend(site, new, mode="by_id").issues["code"])


#: A corner and a side, so that shapes meet at edges, at corners and inside each other.
SQUARE = st.tuples(st.integers(0, 12), st.integers(0, 12), st.integers(1, 8))
MAP = st.lists(SQUARE, max_size=4)


def drawn(squares):
    frame = boxes(*((50 * x, 50 * y, 50 * (x + s), 50 * (y + s)) for x, y, s in squares),
                  (0, 0, 1, 1))  # fmt: skip
    return frame.iloc[: len(squares)]


@settings(max_examples=20, deadline=None)
@given(MAP, MAP, st.sampled_from(["by_id", "whole"]))
def test_any_two_maps(old, new, mode):
    """Totals close, areas are those of a plain union, and parcels that tile the ground add up."""
    lots = boxes(*((x, y, x + 400, y + 400) for x in range(-400, 1600, 400)
                   for y in range(-400, 1600, 400)))  # fmt: skip
    site = site_of(drawn(old), lots)
    made = wetgis.amend(site, drawn(new), mode=mode, min_change_sqft=0)
    closes(made)
    before, after = drawn(old).union_all(), made.adopted.union_all()
    wet = total(made, "wetland")
    assert wet.before_sqft == pytest.approx(before.area, abs=1e-3)
    assert wet.after_sqft == pytest.approx(after.area, abs=1e-3)
    assert wet.added_sqft == pytest.approx(after.difference(before).area, abs=1e-3)
    assert wet.removed_sqft == pytest.approx(before.difference(after).area, abs=1e-3)
    for place in ("wetland", "buffer", "regulated"):
        row = total(made, place)
        change = made.parcels[f"{place}_change_sqft"].sum()
        assert change == pytest.approx(row.after_sqft - row.before_sqft, abs=0.01)
    for sign in ("added", "removed"):
        own = made.changes[(made.changes["what"] == "wetland") & (made.changes["change"] == sign)]
        assert own["area_sqft"].sum() == pytest.approx(wet[f"{sign}_sqft"], abs=1e-3)
        shapes = own.geometry.to_numpy()
        assert shapely.union_all(shapes).area == pytest.approx(shapely.area(shapes).sum(), abs=1e-3)


@settings(max_examples=10, deadline=None)
@given(MAP, MAP)
def test_there_and_back(old, new):
    """What is added there is removed on the way back."""
    lots = boxes((-400, -400, 1600, 1600))
    there = wetgis.amend(site_of(drawn(old), lots), drawn(new), mode="whole")
    back = wetgis.amend(site_of(drawn(new), lots), drawn(old), mode="whole")
    for what in ("wetland", "buffer", "regulated"):
        a, b = total(there, what), total(back, what)
        assert (a.added_sqft, a.before_sqft) == pytest.approx((b.removed_sqft, b.after_sqft))
