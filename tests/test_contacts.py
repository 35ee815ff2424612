"""Which features lie near a subject, and what counts as one feature."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import shapely
from tests.engine_makers import box, frame, site

import wetgis
from wetgis.schema import CONTACT_COLUMNS

Place = tuple[float, float]
LOT = box(0, 0, 300, 200)


def near(origin: Place, wetlands: Any, **layers: Any) -> pd.DataFrame:
    layers.setdefault("parcels", frame([LOT], origin))
    found = wetgis.screen(site(wetlands=wetlands, watercourses=frame([], origin), **layers))
    return found.contacts


def wholes(table: pd.DataFrame) -> dict[str, float]:
    return dict(zip(table["feature_id"], table["whole_sqft"].round(2), strict=True))


# ---------------------------------------------------------------- one wetland or several


@pytest.mark.parametrize(
    ("shapes", "ids", "exact"),
    [
        ([box(0, 0, 60, 40), box(60, 0, 120, 40)], "ab", {"a+b": 4_800}),
        ([box(0, 0, 60, 40), box(65, 0, 125, 40)], "ab", {"a": 2_400, "b": 2_400}),
        ([box(0, 0, 60, 40), box(65, 0, 125, 40)], "aa", {"a": 4_800}),
        ([box(0, 0, 50, 60), box(50.002, 0, 100.002, 60)], "ab", {"a+b": 6_000}),
        ([box(0, 0, 50, 60), box(50.049, 0, 100.049, 60)], "ab", {"a+b": 6_000}),
        ([box(0, 0, 50, 60), box(50.051, 0, 100.051, 60)], "ab", {"a": 3_000, "b": 3_000}),
        # a corner is enough
        ([box(0, 0, 50, 50), box(50, 50, 100, 100)], "ab", {"a+b": 5_000}),
        # a chain, through the id of the third
        ([box(0, 0, 10, 10), box(10, 0, 20, 10), box(50, 0, 60, 10)], "abb", {"a+b": 300}),
        # overlapping ground counts once, a copy not at all
        ([box(0, 0, 60, 40), box(30, 0, 90, 40)], "ab", {"a+b": 3_600}),
        ([box(0, 0, 60, 40), box(0, 0, 60, 40)], "aa", {"a": 2_400}),
        ([box(0, 0, 60, 40), box(0, 0, 60, 40)], "ba", {"a+b": 2_400}),
        # one inside the hole of another, and one inside the other
        ([box(0, 0, 90, 90, (30, 30, 60, 60)), box(30, 30, 60, 60)], "ab", {"a+b": 8_100}),
        ([box(0, 0, 90, 90, (30, 30, 60, 60)), box(40, 40, 50, 50)], "ab", {"a": 7_200, "b": 100}),
        ([box(0, 0, 90, 90), box(40, 40, 50, 50)], "ab", {"a+b": 8_100}),
    ],
)
def test_what_counts_as_one(
    origin: Place, shapes: list[Any], ids: str, exact: dict[str, float]
) -> None:
    for order in (1, -1):
        table = near(origin, frame(shapes[::order], origin, id=list(ids)[::order]))
        assert wholes(table) == pytest.approx(exact, abs=0.01)
        assert (table["distance_ft"] == 0).all()


def test_watercourses_are_one_by_id_alone(origin: Place) -> None:
    reaches = frame([box(0, 0, 60, 40), box(60, 0, 120, 40), box(120, 0, 180, 40)], origin,
                    id=["a", "a", "b"])  # fmt: skip
    found = wetgis.screen(site(parcels=frame([LOT], origin), watercourses=reaches))
    assert wholes(found.contacts) == pytest.approx({"a": 4_800, "b": 2_400}, abs=0.01)


def test_an_id_that_is_made_stands_for_the_geometry(origin: Place) -> None:
    wet = frame([box(0, 0, 60, 40), box(100, 0, 160, 40)], origin).drop(columns="id")
    one = near(origin, wet)
    two = near(origin, wet.iloc[::-1])
    assert one["feature_id"].str.match(r"^wetlands?-[0-9a-f]{10}$").all()
    assert sorted(one["feature_id"]) == sorted(two["feature_id"])


# ---------------------------------------------------------------- the table


def test_columns_and_order(origin: Place) -> None:
    wet = frame(
        [box(350, 0, 360, 10), box(310, 0, 320, 10), box(100, 100, 400, 150)], origin,
        name=["Far", "Near", "Across"], basis=["nwi", "field_survey", ""],
        cowardin=["PEM1C", "PFO1", "PSS1"],
    )  # fmt: skip
    pond = frame([box(340, 0, 345, 10)], origin, id=["pond"])
    soil = frame([box(200, 0, 500, 200)], origin, id=["Fc"], hydric_pct_low=[90.0])
    found = wetgis.screen(
        site(parcels=frame([LOT], origin), wetlands=wet, watercourses=pond, soils=soil)
    )
    table = found.contacts
    assert tuple(table.columns) == (*CONTACT_COLUMNS, "geometry")
    assert table["feature_kind"].unique().tolist() == sorted(table["feature_kind"].unique())
    wetlands = table[table["feature_kind"] == "wetland"]
    assert wetlands["feature_id"].tolist() == ["c", "b", "a"]
    assert wetlands["distance_ft"].tolist() == pytest.approx([0, 10, 50])
    assert wetlands["area_sqft"].tolist() == pytest.approx([10_000, 0, 0], abs=1e-6)
    assert wetlands["name"].tolist() == ["Across", "Near", "Far"]
    assert wetlands["class"].tolist() == ["PSS1", "PFO1", "PEM1C"]
    assert wetlands["basis"].tolist() == ["", "field_survey", "nwi"]
    assert wetlands.geometry.is_empty.tolist() == [True, False, False]
    assert wetlands.geometry.length.tolist() == pytest.approx([0, 10, 50])
    water = table[table["feature_kind"] == "watercourse"].iloc[0]
    assert (water["feature_id"], water["distance_ft"]) == ("pond", pytest.approx(40))


def test_within_the_largest_distance_and_no_further(origin: Place) -> None:
    wet = frame([box(400, 0, 410, 10), box(400.01, 50, 410, 60)], origin)
    assert near(origin, wet)["feature_id"].tolist() == ["a"]
    law = wetgis.screen(
        site(packs=["monroe-ny-46"], parcels=frame([LOT], origin),
             wetlands=frame([box(500, 0, 510, 10), box(500.01, 50, 510, 60)], origin),
             watercourses=frame([], origin))
    )  # fmt: skip
    assert law.contacts["feature_id"].tolist() == ["a"]  # 200 feet in that chapter
    assert law.contacts["distance_ft"].tolist() == [200.0]


def test_lengths_of_lines(origin: Place) -> None:
    brook = frame([shapely.LineString([(-50, 50), (200, 50)])], origin, id=["brook"])
    drain = frame([shapely.LineString([(10, 10), (10, 90)])], origin, id=["drain"])
    found = wetgis.screen(
        site(parcels=frame([LOT], origin), footprints=drain, watercourses=brook,
             wetlands=frame([box(0, 0, 300, 20)], origin))
    )  # fmt: skip
    table = found.contacts.set_index(["subject_kind", "feature_kind"])
    assert table.loc[("parcel", "watercourse"), "length_ft"] == pytest.approx(200)
    assert table.loc[("footprint", "wetland"), "length_ft"] == pytest.approx(10)
    assert table.loc[("footprint", "watercourse"), "distance_ft"] == 0


def test_subjects_of_every_kind_have_contacts(origin: Place) -> None:
    work = frame([box(10, 10, 50, 50), box(250, 10, 290, 50)], origin, id=["w1", "w2"])
    wet = frame([box(295, 0, 400, 200)], origin)
    found = wetgis.screen(
        site(parcels=frame([LOT], origin), footprints=work, wetlands=wet,
             watercourses=frame([], origin))
    )  # fmt: skip
    table = found.contacts.set_index(["subject_kind", "subject_id"])["distance_ft"]
    assert table.to_dict() == pytest.approx(
        {("parcel", "a"): 0, ("footprint", "w2"): 5, ("project", "w1"): 5}, abs=1e-9
    )


def test_repeated_parcels_have_their_own_rows(origin: Place) -> None:
    lots = frame([LOT, box(1_000, 0, 1_100, 100)], origin, id=["7", "7"])
    found = wetgis.screen(
        site(parcels=lots, wetlands=frame([box(1_050, 0, 1_200, 50)], origin),
             watercourses=frame([], origin))
    )  # fmt: skip
    assert sorted(found.measures["record"]) == [1, 2]
    assert found.measures["wetland_sqft"].tolist() == pytest.approx([0, 2_500], abs=1e-6)
    wet = found.measures["record"].tolist()[1]
    assert found.contacts[["subject_id", "record"]].to_numpy().tolist() == [["7", wet]]
    assert found.parts["record"].isin([1, 2]).all()
    assert "duplicate_id" in set(found.issues["code"])


def test_the_contacts_agree_with_the_measures(origin: Place) -> None:
    rng = np.random.default_rng(6)
    lots = frame([box(x, y, x + 90, y + 60) for x, y in rng.uniform(0, 4_000, (150, 2))], origin)
    wet = frame(
        [shapely.Point(p).buffer(r) for p, r in
         zip(rng.uniform(0, 4_000, (25, 2)), rng.uniform(20, 300, 25), strict=True)], origin,
    )  # fmt: skip
    found = wetgis.screen(site(parcels=lots, wetlands=wet, watercourses=frame([], origin)))
    table = found.contacts.groupby("subject_id")[["distance_ft", "area_sqft"]].agg(
        {"distance_ft": "min", "area_sqft": "sum"}
    )
    measures = found.measures.set_index("subject_id")
    assert len(measures) == 150
    inside = measures["wetland_ft"] <= 100
    assert set(table.index) == set(measures.index[inside])
    both = measures.loc[table.index]
    assert table["distance_ft"].to_numpy() == pytest.approx(both["wetland_ft"], abs=1e-9)
    assert table["area_sqft"].to_numpy() == pytest.approx(both["wetland_sqft"], abs=1e-6)


def test_nothing_near_is_a_table_without_rows(origin: Place) -> None:
    table = near(origin, frame([], origin))
    assert tuple(table.columns) == (*CONTACT_COLUMNS, "geometry")
    assert len(table) == 0
    assert table.crs is not None
