"""The worked cases of the two chapters, from layers to findings, at both places.

The cases of a town are laid out as blocks 4,000 feet apart and screened in one run.
"""

from __future__ import annotations

from functools import cache
from math import cos, radians, sin
from typing import Any

import pandas as pd
import pytest
import shapely
from tests.engine_makers import box, frame, laid_out, site

import wetgis

MONROE, RYE = "monroe-ny-46", "rye-ny-195"
DAY = "2026-11-30"
Place = tuple[float, float]
HOME = box(-200, -200, 300, 300)
LOT = box(0, 0, 300, 200)
MARSH = box(0, 0, 100, 100)
FIELD = box(-500, -500, 1_500, 1_500)
PROVISOS = {"proviso_p1": True, "proviso_p2": True, "proviso_p3": True}


def screened(pack: str, origin: Place, **layers: Any) -> wetgis.Screening:
    for kind in ("wetlands", "watercourses"):
        layers.setdefault(kind, frame([], origin))
    return wetgis.screen(site(packs=[pack], as_of=DAY, **layers))


def on(found: wetgis.Screening, rule: str, kind: str, block: str = "", **more: str) -> pd.DataFrame:
    """The findings of a rule on the subjects of a kind, of one block."""
    table = found.findings
    table = table[(table["rule"] == rule) & (table["subject_kind"] == kind)]
    if block:
        table = table[table["subject_id"].str.startswith(block + ".")]
    for column, value in more.items():
        table = table[table[column] == value]
    return table.reset_index(drop=True)


def one(
    found: wetgis.Screening, rule: str, kind: str = "parcel", block: str = "", **more: str
) -> pd.Series:
    table = on(found, rule, kind, block, **more)
    assert len(table) == 1, table.to_dict("records")
    return table.iloc[0]


def numbers(found: wetgis.Screening, kind: str, block: str) -> pd.Series:
    table = found.measures
    chosen = (table["subject_kind"] == kind) & table["subject_id"].str.startswith(block + ".")
    assert chosen.sum() == 1
    return table[chosen].iloc[0]


def as_dec(shape: Any, **more: Any) -> tuple[Any, dict[str, Any]]:
    return shape, {"regulator": "DEC", **more}


# ---------------------------------------------------------------- Monroe

STRIP, TOE = (box(-5, -5, 205, 55), box(0, 0, 200, 50))
SIDE = 130_680 / 330


def lawn(height: float, standing: bool) -> tuple[Any, dict[str, Any]]:
    return box(0, 0, 100, height), {"kind": "landscaping", "existing_structure": standing}


def phases(second: float) -> list[Any]:
    return [
        (box(0, 0, SIDE, 330), {"phase": "1", "kind": "grading"}),
        (box(second, 0, second + SIDE, 330), {"phase": "2", "kind": "grading"}),
    ]


HOUSE = {"single_family": True, "listed_location": False}
MONROE_BLOCKS: dict[str, dict[str, list[Any]]] = {
    "01": {"parcels": [HOME], "wetlands": [as_dec(box(0, 0, 80, 50))]},
    "02": {"parcels": [HOME], "wetlands": [as_dec(box(0, 0, 80, 50.000125))]},
    "03": {
        "parcels": [HOME],
        "wetlands": [as_dec(box(0, 0, 60, 40)), as_dec(box(60, 0, 120, 40))],
    },
    "04": {
        "parcels": [HOME],
        "wetlands": [as_dec(box(0, 0, 60, 40)), as_dec(box(65, 0, 125, 40))],
    },
    "04id": {
        "parcels": [HOME],
        "wetlands": [as_dec(box(0, 0, 60, 40), id="w"), as_dec(box(65, 0, 125, 40), id="w")],
    },
    "05": {"parcels": [box(80, -200, 480, 200)], "wetlands": [as_dec(box(0, 0, 100, 60))]},
    "06": {"parcels": [LOT], "wetlands": [as_dec(box(400, 50, 500, 150))]},
    "06out": {"parcels": [LOT], "wetlands": [as_dec(box(400.01, 50, 500, 150))]},
    "07": {"parcels": [LOT], "watercourses": [box(399, 0, 419, 25)]},
    "07wet": {"parcels": [LOT], "wetlands": [as_dec(box(399, 0, 419, 25))]},
    "08": {
        "parcels": [HOME],
        "wetlands": [as_dec(box(0, 0, 50, 60)), as_dec(box(50.002, 0, 100.002, 60))],
    },
    "19": {"parcels": [box(160, 180, 300, 300)], "wetlands": [as_dec(MARSH)]},
    "30": {"parcels": [HOME], "footprints": [lawn(109.9999, True)]},
    "30at": {"parcels": [HOME], "footprints": [lawn(110.0, True)]},
    "30new": {"parcels": [HOME], "footprints": [lawn(50.0, False)]},
    "31": {
        "parcels": [HOME],
        "footprints": [
            (box(0, 0, 60, 40), {"kind": "structure"}),
            (box(50, 15, 150, 27), {"kind": "grading"}),
            (box(-20, -20, 80, 60), {"kind": "clearing"}),
        ],
    },
    "32": {
        "parcels": [HOME],
        "footprints": [
            (box(0, 0, 50, 30), {"id": "basement", "activity": "46-4A", **HOUSE}),
            (box(100, 0, 130, 30), {"id": "septic", "activity": "46-4A", **HOUSE}),
            (box(0, 100, 100, 180), {"id": "lawn", "kind": "grading"}),
        ],
    },
    "33": {"parcels": [FIELD], "footprints": [box(0, 0, 660, 330)]},
    "33more": {"parcels": [FIELD], "footprints": [box(0, 0, 660, 330.66)]},
    "33hair": {"parcels": [FIELD], "footprints": [box(0, 0, 660, 330 + 0.01 / 660)]},
    "33same": {"parcels": [FIELD], "footprints": phases(0)},
    "33apart": {"parcels": [FIELD], "footprints": phases(500)},
    "39": {
        "parcels": [box(-50, -50, 90, 90)],
        "stockpiles": [box(0, 0, 20, 20)],
        "watercourses": [box(220, -20, 300, 60)],
    },
    "39near": {
        "parcels": [box(-50, -50, 90, 90)],
        "stockpiles": [box(0, 0, 20, 20)],
        "watercourses": [box(219.99, -20, 300, 60)],
    },
    "40": {"parcels": [box(-100, -100, 300, 150)], "toes": [TOE], "strips": [STRIP]},
    "40short": {
        "parcels": [box(-100, -100, 300, 150)],
        "toes": [TOE],
        "strips": [box(-4.5, -5, 204.5, 55)],
    },
    "43": {"parcels": [box(-10, -10, 110, 60)], "footprints": [box(0, 0, 100, 50)]},
    "44": {
        "parcels": [box(0, 0, 400, 300)],
        "floodplain": [
            (box(250, 0, 500, 300), {"zone": "AE"}),
            (
                box(200, 0, 250, 300),
                {"zone": "X", "subtype": "0.2 PCT ANNUAL CHANCE FLOOD HAZARD"},
            ),
            (box(300, 0, 350, 300), {"zone": "AE", "subtype": "FLOODWAY"}),
            (box(0, 0, 200, 300), {"zone": "D"}),
        ],
    },
    "46": {"parcels": [LOT], "improvements": [shapely.Point(500, 100)]},
    "46out": {"parcels": [LOT], "improvements": [shapely.Point(500.01, 100)]},
    "46road": {"parcels": [LOT], "roads": [box(498, -500, 508, 700)], "structures": [LOT]},
}


@cache
def monroe(origin: Place) -> wetgis.Screening:
    return screened(MONROE, origin, **laid_out(MONROE_BLOCKS, origin))


def test_01_exactly_4000_is_not_greater(origin: Place) -> None:
    row = one(monroe(origin), "MON-26", block="01")
    assert (row["outcome"], row["answer"]) == ("not_met", "need_not_be_shown")
    assert row["value"] == pytest.approx(4_000, abs=1e-6)
    assert row["threshold"] == 4_000
    assert row["margin"] == pytest.approx(0, abs=1e-6)
    assert row["doubt"] != ""
    assert (row["cite"], row["cite_status"]) == ("46-11A(3)", "inferred")


def test_02_a_hundredth_more_is(origin: Place) -> None:
    row = one(monroe(origin), "MON-26", block="02")
    assert (row["outcome"], row["answer"]) == ("met", "must_be_shown")
    assert row["margin"] == pytest.approx(0.01, abs=1e-4)
    assert row["doubt"] != ""


def test_03_two_records_that_share_an_edge_are_one(origin: Place) -> None:
    row = one(monroe(origin), "MON-26", block="03")
    assert (row["outcome"], row["feature_id"]) == ("met", "03.0+03.1")
    assert row["value"] == pytest.approx(4_800, abs=0.01)


def test_04_two_that_are_five_feet_apart_are_two(origin: Place) -> None:
    rows = on(monroe(origin), "MON-26", "parcel", "04")
    assert rows["feature_id"].tolist() == ["04.0", "04.1"]
    assert rows["outcome"].tolist() == ["not_met", "not_met"]
    assert rows["value"].tolist() == pytest.approx([2_400, 2_400], abs=0.01)


def test_04_of_one_id_they_are_one_wherever_they_lie(origin: Place) -> None:
    row = one(monroe(origin), "MON-26", block="04id")
    assert (row["outcome"], row["feature_id"]) == ("met", "04id.w")
    assert row["value"] == pytest.approx(4_800, abs=0.01)


def test_05_the_whole_wetland_is_measured(origin: Place) -> None:
    row = one(monroe(origin), "MON-26", block="05")
    assert row["outcome"] == "met"
    assert row["value"] == pytest.approx(6_000, abs=0.01)
    near = monroe(origin).contacts
    contact = near[near["subject_id"] == "05.0"].iloc[0]
    assert contact["area_sqft"] == pytest.approx(1_200, abs=0.01)
    assert contact["whole_sqft"] == pytest.approx(6_000, abs=0.01)


def test_06_exactly_100_feet_is_within(origin: Place) -> None:
    assert one(monroe(origin), "MON-26", block="06")["outcome"] == "met"
    assert set(on(monroe(origin), "MON-26", "parcel", "06out")["outcome"]) == {"not_met"}
    near = monroe(origin).contacts.set_index("subject_id")["distance_ft"]
    assert near["06.0"] == 100.0
    assert near["06out.0"] == pytest.approx(100.01, abs=1e-6)  # within 200, the largest


def test_07_a_pond_is_a_watercourse_whatever_its_size(origin: Place) -> None:
    row = one(monroe(origin), "MON-27", block="07")
    assert (row["outcome"], row["answer"]) == ("met", "must_be_shown")
    assert row["value"] == pytest.approx(99, abs=1e-6)
    row = one(monroe(origin), "MON-26", block="07wet")
    assert row["outcome"] == "not_met"
    assert row["value"] == pytest.approx(500, abs=0.01)


def test_08_a_seam_between_map_sheets_does_not_divide(origin: Place) -> None:
    row = one(monroe(origin), "MON-26", block="08")
    assert row["outcome"] == "met"
    assert row["value"] == pytest.approx(6_000, abs=0.01)


def test_09_square_metres_are_survey_feet(origin: Place) -> None:
    """371.6130 square metres are 3,999.993 survey, but 4,000.009 international square feet."""
    foot = 1200 / 3937
    at = (origin[0] * foot, origin[1] * foot)
    wet = frame([box(0, 0, 371.6130 / 20, 20)], at, crs="EPSG:32115", regulator="DEC")
    found = screened(MONROE, origin, parcels=frame([HOME], origin), wetlands=wet)
    row = one(found, "MON-26")
    assert row["outcome"] == "not_met"
    assert row["value"] == pytest.approx(3_999.9930, abs=2e-4)
    assert "foot" in row["doubt"]


def test_10_on_the_ground_it_would_be_larger(origin: Place) -> None:
    layers = {
        "parcels": frame([HOME], origin),
        "wetlands": frame([box(0, 0, 80, 3_999.5 / 80)], origin, regulator="DEC"),
    }
    row = one(screened(MONROE, origin, combined_factor=0.9998797, **layers), "MON-26")
    assert row["outcome"] == "not_met"
    assert row["value"] == pytest.approx(3_999.50, abs=1e-4)
    assert "ground" in row["doubt"]
    # the factor of Rye does not carry it across
    row = one(screened(MONROE, origin, combined_factor=0.9999617, **layers), "MON-26")
    assert row["outcome"] == "not_met"
    assert "ground" not in row["doubt"]


def test_19_a_touch_at_100_feet_is_shown(origin: Place) -> None:
    row = one(monroe(origin), "MON-26", block="19")
    assert row["outcome"] == "met"
    assert row["value"] == pytest.approx(10_000, abs=0.01)


@pytest.mark.parametrize(
    ("block", "outcome", "value"),
    [("30", "met", 10_999.99), ("30at", "not_met", 11_000), ("30new", "not_met", 5_000)],
)
def test_30_landscaping_below_11000(origin: Place, block: str, outcome: str, value: float) -> None:
    row = one(monroe(origin), "MON-15", "project", block)
    assert row["outcome"] == outcome
    assert row["answer"] == {"met": "exempt", "not_met": "not_exempt"}[outcome]
    assert row["value"] == pytest.approx(value, abs=1e-4)


def test_31_each_foot_of_a_project_once(origin: Place) -> None:
    found = monroe(origin)
    assert one(found, "MON-05", "project", "31")["value"] == pytest.approx(8_840, abs=0.01)
    assert numbers(found, "project", "31")["area_sqft"] == pytest.approx(8_840, abs=0.01)
    assert numbers(found, "parcel", "31")["disturbed_sqft"] == pytest.approx(8_840, abs=0.01)


def test_32_exempt_excavation_counts_in_the_total(origin: Place) -> None:
    found = monroe(origin)
    for name in ("32.basement", "32.septic"):
        row = one(found, "MON-11", "footprint", subject_id=name)
        assert (row["outcome"], row["answer"]) == ("met", "exempt")
    for rule, section in (("MON-10C", "46-3C"), ("MON-10D", "46-3D")):
        row = one(found, rule, "project", "32")
        assert (row["outcome"], row["answer"]) == ("undetermined", "cannot_tell")
        assert row["needs"] == f"parameter: {section}"
        assert row["value"] == pytest.approx(10_400, abs=0.01)


def test_32_a_threshold_with_a_citation(origin: Place) -> None:
    override = {
        "pack": MONROE, "parameter": "minor_permit_disturbance", "value": 10_000, "unit": "sqft",
        "comparison": "ge", "cite": "a number for this test only",
    }  # fmt: skip
    layers = laid_out({"32": MONROE_BLOCKS["32"]}, origin)
    found = screened(MONROE, origin, overrides=[override], **layers)
    row = one(found, "MON-10C", "project")
    assert (row["outcome"], row["answer"]) == ("met", "tier_minor")
    assert (row["cite_status"], row["threshold"]) == ("override", 10_000)
    assert row["margin"] == pytest.approx(400, abs=0.01)
    assert one(found, "MON-10D", "project")["outcome"] == "undetermined"


@pytest.mark.parametrize(
    ("block", "value", "outcome"),
    [
        ("33", 217_800, "not_met"),
        ("33more", 218_235.60, "met"),
        ("33hair", 217_800.01, "met"),
        ("33same", 130_680, "not_met"),
        ("33apart", 261_360, "met"),
    ],
)
def test_33_more_than_five_acres(origin: Place, block: str, value: float, outcome: str) -> None:
    row = one(monroe(origin), "MON-48", "project", block)
    assert row["outcome"] == outcome
    assert row["value"] == pytest.approx(value, abs=1e-3)
    assert row["threshold"] == 217_800


@pytest.mark.parametrize(
    ("block", "value", "outcome", "answer"),
    [("39", 200.0, "not_met", "pass"), ("39near", 199.99, "met", "fail")],
)
def test_39_a_stockpile_at_200_feet(
    origin: Place, block: str, value: float, outcome: str, answer: str
) -> None:
    row = one(monroe(origin), "MON-38", block=block)
    assert (row["outcome"], row["answer"]) == (outcome, answer)
    assert row["value"] == pytest.approx(value, abs=1e-6)
    assert (row["feature_kind"], row["comparison"]) == ("stockpile", "lt")


@pytest.mark.parametrize(
    ("block", "outcome", "answer"), [("40", "not_met", "pass"), ("40short", "met", "fail")]
)
def test_40_five_feet_beyond_the_toe(origin: Place, block: str, outcome: str, answer: str) -> None:
    row = one(monroe(origin), "MON-39", block=block)
    assert (row["outcome"], row["answer"]) == (outcome, answer)


def test_43_vegetation_100_feet_around_the_disturbance(origin: Place) -> None:
    """It runs over the line of the parcel where it must."""
    value = one(monroe(origin), "MON-30", "project", "43")["value"]
    assert 66_415.93 - 4.2 <= value <= 66_415.94


def test_44_the_floodplain_on_a_parcel(origin: Place) -> None:
    row = one(monroe(origin), "MON-32", block="44")
    assert row["outcome"] == "met"
    assert row["value"] == pytest.approx(45_000, abs=0.01)
    found = numbers(monroe(origin), "parcel", "44")
    assert found["floodplain_sqft"] == pytest.approx(45_000, abs=0.01)
    assert found["floodway_sqft"] == pytest.approx(15_000, abs=0.01)
    assert found["flood_unknown_sqft"] == pytest.approx(60_000, abs=0.01)
    # where the layer draws nothing nothing is known
    row = one(monroe(origin), "MON-32", block="01")
    assert (row["outcome"], row["needs"]) == ("undetermined", "extent: floodplain")


def test_46_a_hydrant_at_200_feet(origin: Place) -> None:
    assert one(monroe(origin), "MON-25", block="46", outcome="met")["value"] == 200.0
    assert set(on(monroe(origin), "MON-25", "parcel", "46out")["outcome"]) == {"not_met"}


def test_46_a_road_by_its_edge(origin: Place) -> None:
    rows = on(monroe(origin), "MON-25", "parcel", "46road", outcome="met")
    assert dict(zip(rows["feature_kind"], rows["value"], strict=True)) == pytest.approx(
        {"road": 198, "structure": 0}, abs=1e-6
    )


# ---------------------------------------------------------------- Rye

DECK, INSIDE = box(160, 40, 180, 60), box(40, 40, 60, 60)
ANGLE = radians(5.625)
BROOK = shapely.LineString([(0, 0), (500, 0)])
SHED = box(250, 105, 270, 120)
RIVER = [(MARSH, {"measured_from": "bank"})]


def beside(shape: Any, activity: str, **columns: Any) -> dict[str, list[Any]]:
    """One footprint beside the marsh."""
    return {"wetlands": [MARSH], "footprints": [(shape, {"activity": activity, **columns})]}


def soil(gap: float) -> dict[str, list[Any]]:
    unit = {"hydric_pct_low": 85.0, "hydric_pct_high": 85.0, "musym": "Fc", "mukey": "1"}
    return {
        "soils": [(box(50 + gap, 0, 400, 50), unit)],
        "footprints": [(box(0, 0, 50, 50), {"activity": "deck"})],
    }


def acres(less: float) -> dict[str, list[Any]]:
    wide = box(0, 0, (540_144.0 - less) / 600, 600)
    return {"parcels": [box(0, -50, 50, -10)], "wetlands": [as_dec(wide)]}


RYE_BLOCKS: dict[str, dict[str, list[Any]]] = {
    "16": beside(box(50, 25, 250, 75), "deck"),
    "17": {
        "wetlands": [MARSH, box(150, 0, 250, 100)],
        "footprints": [(box(50, 25, 200, 75), {"activity": "deck"})],
    },
    "18": beside(box(100, 100, 200, 200), "deck"),
    "19": {"parcels": [box(160, 180, 300, 300)], "wetlands": [MARSH]},
    "20": beside(shapely.Point(100 + 99.8 * cos(ANGLE), 100 + 99.8 * sin(ANGLE)), "C9"),
    "21": {
        "watercourses": [(BROOK, {"half_width_ft": 10.0})],
        "footprints": [(SHED, {"activity": "shed"})],
    },
    "21bare": {
        "watercourses": [(BROOK, {"measured_from": "centreline"})],
        "footprints": [(SHED, {"activity": "shed"})],
    },
    "24a": beside(DECK, "deck"),
    "24b": beside(DECK, "mowing"),
    "24c": beside(DECK, "D4"),
    "24d": beside(INSIDE, "D4"),
    "24e": beside(DECK, "C12"),
    "24f": beside(DECK, "D4; C12"),
    "24g": {"watercourses": RIVER, "footprints": [(INSIDE, {"activity": "D3"})]},
    "24gnew": {"watercourses": RIVER, "footprints": [(INSIDE, {"activity": "dock"})]},
    "24h": beside(shapely.Point(200.0, 50), "septic"),
    "24hout": beside(shapely.Point(200.01, 50), "septic"),
    "24i": beside(shapely.LineString([(90, 50), (300, 50)]), "C9"),
    "27": soil(60),
    "27far": soil(140),
    "29": acres(0.0),
    "29less": acres(0.01),
}


@cache
def rye(origin: Place) -> wetgis.Screening:
    return screened(RYE, origin, facts=PROVISOS, **laid_out(RYE_BLOCKS, origin))


@pytest.mark.parametrize(
    ("block", "answer", "areas"),
    [
        ("16", "permit_required", (2_500, 5_000, 2_500)),
        ("17", "permit_required", (5_000, 2_500, 0)),
        ("18", "permit_required", (0, 7_853.98, 2_146.02)),
    ],
)
def test_16_to_18_by_the_strictest_part(
    origin: Place, block: str, answer: str, areas: tuple[float, ...]
) -> None:
    found = rye(origin)
    row = one(found, "RYE-12", "footprint", block)
    assert (row["outcome"], row["answer"]) == ("met", answer)
    measured = numbers(found, "footprint", block)
    places = [measured[f"{p}_sqft"] for p in ("wetland", "buffer", "outside")]
    assert places == pytest.approx(areas, abs=1.1 if block == "18" else 0.01)
    assert sum(places) == pytest.approx(measured["area_sqft"], abs=1e-6)
    for area in places:
        assert area == 0 or f"{area:,.2f}" in row["note"]


def test_19_a_touch_at_100_feet(origin: Place) -> None:
    row = numbers(rye(origin), "parcel", "19")
    assert row["wetland_ft"] == pytest.approx(100, abs=1e-9)
    assert row["regulated_sqft"] == 0
    assert row["status"] == "touching"
    assert one(rye(origin), "RYE-16", block="19")["answer"] == "may_be_subject"


def test_20_between_the_chord_and_the_arc(origin: Place) -> None:
    row = numbers(rye(origin), "footprint", "20")
    assert row["wetland_ft"] == pytest.approx(99.80, abs=1e-6)
    assert row["status"] == "in_buffer"
    assert one(rye(origin), "RYE-27", "footprint", "20")["outcome"] == "met"


def test_21_a_shed_is_95_feet_from_the_bank(origin: Place) -> None:
    assert numbers(rye(origin), "footprint", "21")["watercourse_ft"] == pytest.approx(95, abs=1e-6)
    row = one(rye(origin), "RYE-19", "footprint", "21")
    assert (row["outcome"], row["answer"]) == ("met", "permit_required")
    bare = numbers(rye(origin), "footprint", "21bare")
    assert bare["watercourse_ft"] == pytest.approx(105, abs=1e-6)
    assert one(rye(origin), "RYE-19", "footprint", "21bare")["outcome"] == "not_met"
    assert "centreline" in set(rye(origin).issues["code"])


@pytest.mark.parametrize(
    ("block", "rule", "outcome", "answer"),
    [
        ("24a", "RYE-19", "met", "permit_required"),
        ("24b", "RYE-33", "met", "as_of_right"),
        ("24c", "RYE-36", "met", "as_of_right"),
        ("24d", "RYE-36", "not_met", "permit_required"),
        ("24e", "RYE-30", "met", "permit_required"),
        ("24f", "RYE-30", "met", "permit_required"),
        ("24f", "RYE-36", "not_met", "permit_required"),
        ("24g", "RYE-35", "met", "as_of_right"),
        ("24gnew", "RYE-26", "met", "permit_required"),
        ("24h", "RYE-23", "met", "permit_required"),
        ("24hout", "RYE-23", "not_met", "no_indicator_found"),
        ("24i", "RYE-27", "met", "permit_required"),
    ],
)
def test_24_activities_by_place(
    origin: Place, block: str, rule: str, outcome: str, answer: str
) -> None:
    row = one(rye(origin), rule, "footprint", block)
    assert (row["outcome"], row["answer"]) == (outcome, answer)
    permit = one(rye(origin), "RYE-12", "footprint", block)
    assert permit["answer"] == answer
    assert len(on(rye(origin), "RYE-11", "footprint", block)) == 1


def test_24_where_the_jobs_lie(origin: Place) -> None:
    deck = numbers(rye(origin), "footprint", "24a")
    assert deck["wetland_ft"] == pytest.approx(60, abs=1e-9)
    assert deck["buffer_sqft"] == pytest.approx(400, abs=1e-6)
    pipe = numbers(rye(origin), "footprint", "24i")
    lengths = [pipe[f"{p}_length_ft"] for p in ("wetland", "buffer", "outside")]
    assert lengths == pytest.approx([10, 100, 100], abs=1e-6)
    assert pipe["length_ft"] == pytest.approx(210, abs=1e-6)


def test_24_a_proviso_that_is_not_known(origin: Place) -> None:
    layers = laid_out({"24j": RYE_BLOCKS["24b"]}, origin)
    found = screened(RYE, origin, facts={"proviso_p1": True, "proviso_p3": True}, **layers)
    row = one(found, "RYE-33", "footprint")
    assert (row["outcome"], row["answer"]) == ("undetermined", "as_of_right_conditional")
    assert row["needs"] == "fact: proviso_p2"


@pytest.mark.parametrize(
    ("block", "gap", "answer", "status"),
    [("27", 60, "may_be_subject", "indicator"), ("27far", 140, "no_indicator_found", "none_found")],
)
def test_27_hydric_soil_is_a_sign(
    origin: Place, block: str, gap: float, answer: str, status: str
) -> None:
    """No mapped feature is near; the soil layer is all there is."""
    assert one(rye(origin), "RYE-16", "footprint", block)["answer"] == answer
    row = numbers(rye(origin), "footprint", block)
    assert row["hydric_ft"] == pytest.approx(gap, abs=1e-6)
    assert row["status"] == status
    assert one(rye(origin), "RYE-19", "footprint", block)["outcome"] == "not_met"


@pytest.mark.parametrize(("block", "outcome"), [("29", "met"), ("29less", "not_met")])
def test_29_twelve_and_four_tenths_acres(origin: Place, block: str, outcome: str) -> None:
    row = one(rye(origin), "RYE-02", block=block)
    assert row["outcome"] == outcome
    assert row["value"] == pytest.approx(540_144 - (0.01 if block == "29less" else 0), abs=1e-3)


# ---------------------------------------------------------------- what is missing


def test_48_no_wetlands_layer_is_not_no_wetland(origin: Place) -> None:
    home = frame([HOME], origin)
    found = wetgis.screen(
        site(packs=[MONROE], as_of=DAY, parcels=home, watercourses=frame([], origin))
    )
    row = one(found, "MON-26")
    assert (row["outcome"], row["answer"]) == ("undetermined", "cannot_tell")
    assert row["needs"] == "layer: wetlands"
    measured = found.measures.iloc[0]
    assert pd.isna(measured["wetland_sqft"])
    assert pd.isna(measured["wetland_ft"])
    assert measured["status"] == "unknown"
    assert "wetlands" in measured["unknown_layers"].split(";")


@pytest.mark.parametrize("known", [True, False])
def test_48_a_layer_without_features(origin: Place, known: bool) -> None:
    """Is an answer where it covers the ground, and none where it ends within reach."""
    nothing = wetgis.Layer(frame([], origin), extent="municipality")
    town = frame([box(-900, -900, 900 if known else 350, 900)], origin)
    found = screened(
        MONROE, origin, parcels=frame([HOME], origin), wetlands=nothing, watercourses=nothing,
        municipality=town,
    )  # fmt: skip
    wet, water = one(found, "MON-26"), one(found, "MON-27")
    measured = found.measures.iloc[0]
    assert measured["wetland_sqft"] == 0
    assert measured["wetland_ft"] == float("inf")
    if known:
        assert (wet["outcome"], wet["answer"]) == ("not_met", "need_not_be_shown")
        assert measured["status"] == "none_found"
    else:
        assert (wet["outcome"], wet["needs"]) == ("undetermined", "extent: wetlands")
        assert (water["outcome"], water["needs"]) == ("undetermined", "extent: watercourses")
        assert measured["status"] == "unknown"
