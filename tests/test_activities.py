"""What a job is: codes, words, denials, groups that the law adds up."""

from __future__ import annotations

import pandas as pd
import pytest

from wetgis.activities import Vocabulary, classify, groups, jobs, vocabularies
from wetgis.packs import load_pack

RYE, MONROE = load_pack("rye-ny-195"), load_pack("monroe-ny-46")
WORDS = Vocabulary(RYE.model.activities)
TOWN = Vocabulary(MONROE.model.activities)

#: The alias list of the table, one row a word that people write.
ALIASES = {
    "deck": "C1", "shed": "C1", "house": "C1", "addition": "C1", "fence": "C1", "new wall": "C1",
    "patio": "C1", "tennis court": "C1", "pool": "C1 C2 C6", "driveway": "C1 C3 C6",
    "parking": "C1 C3 C6", "regrading": "C6", "leveling": "C6", "fill": "C3", "mulch pile": "C3",
    "dumping": "C3", "trench for electric": "C2 C4", "trench for cable": "C2 C4",
    "trench for gas": "C2 C4", "septic": "C5", "outfall": "C5 C9", "pool discharge": "C5 C9",
    "sump discharge": "C5 C9", "swale": "C2 C7 C9", "French drain": "C2 C7 C9",
    "culvert": "C2 C7 C9", "dock": "C8", "pier": "C8", "bulkhead": "C8", "bridge": "C8",
    "new dam": "C8", "well": "C9", "pipe": "C9", "clearing shrubs": "C11", "herbicide": "C12",
    "fertilizer": "C12", "de-icing salt": "C12", "mowing": "D1", "pruning": "D1",
    "dead tree": "D1", "repair of wall": "D3", "repair of walk": "D3", "dock repair": "D3",
    "interior renovation": "D3", "planting beds": "D4", "removal of live trees": "D2",
    "clear-cutting": "C10",
}  # fmt: skip


@pytest.mark.parametrize(("words", "codes"), ALIASES.items(), ids=list(ALIASES))
def test_the_alias_list(words: str, codes: str) -> None:
    job = WORDS.read(words)
    assert job.codes == tuple(sorted(codes.split(), key=list(WORDS.codes).index))
    assert not job.unknown


@pytest.mark.parametrize("code", list(WORDS.codes))
def test_each_code_is_itself(code: str) -> None:
    assert WORDS.read(code).codes == (code,)
    assert WORDS.read(f" {code.lower()} ").codes == (code,)


def test_the_table_is_complete() -> None:
    assert list(WORDS.codes) == [f"C{n}" for n in range(1, 15)] + [f"D{n}" for n in range(1, 9)]
    by_activity = {r.activity: r.id for r in RYE.rules if r.activity}
    for n in range(1, 15):
        assert by_activity[f"C{n}"] == f"RYE-{18 + n}"
    for n in range(1, 9):
        assert by_activity[f"D{n}"] == f"RYE-{32 + n}"


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("C1;C12", "C1 C12"),
        ("C1, C3", "C1 C3"),
        ("C1 / D4", "C1 D4"),
        ("house with swimming pool and driveway", "C1 C2 C3 C6"),
        ("planting; fertilizer", "C12 D4"),
        ("planting, no fertilizer, no clearing", "D4"),
        ("planting, no fertilizer or pesticides", "D4"),
        ("planting without any herbicide", "D4"),
        ("mowing, not pruning; deck", "C1 D1"),
        ("Decks", "C1"),
        ("repair of two docks", "D3"),
        ("repair and enlargement of the dock", "C1 D3"),
        ("deck; repair", "C1 D3"),
        ("  ;; ", ""),
        ("", ""),
        ("FERTILIZING   THE LAWN", "C12"),
        ("wellness centre", ""),
    ],
)
def test_several_codes_and_denials(text: str, codes: str) -> None:
    assert WORDS.read(text).codes == tuple(codes.split())


def test_a_repair_takes_away_the_structure_in_the_same_phrase_only() -> None:
    assert WORDS.read("dock repair").dropped == ("C8",)
    assert WORDS.read("dock; repair").codes == ("C8", "D3")


def test_the_kind_counts_where_the_words_have_no_code() -> None:
    assert WORDS.read("", "excavation").codes == ("C2",)
    assert WORDS.read("deck", "excavation").codes == ("C1",)
    assert WORDS.read("", "Landscaping").codes == ("D4",)
    assert WORDS.read("", "something else").codes == ()


def frame(*activities: str, **columns: list[object]) -> pd.DataFrame:
    ids = [f"f{i}" for i in range(len(activities))]
    return pd.DataFrame({"id": ids, "activity": list(activities), **columns})


def test_what_another_law_in_force_knows_is_not_strange() -> None:
    both = [RYE, MONROE]
    assert [j.review for j in jobs(frame("deck; emergency", "deck; frob"), RYE, both)] == [
        False, True,
    ]  # fmt: skip
    assert [j.review for j in jobs(frame("deck; emergency"), RYE, [RYE])] == [True]
    # alone it leaves the city without any code: then it is for review
    assert [j.review for j in jobs(frame("emergency"), RYE, both)] == [True]


def test_codes_of_another_law_are_passed_over() -> None:
    words = vocabularies([RYE, MONROE])["rye-ny-195"]
    assert words.read("C1; 46-4A").codes == ("C1",)
    assert words.read("C1; 46-4A").unknown == ()


def test_classify() -> None:
    table = classify(frame("deck; basement", "frobnication"), [RYE, MONROE])
    found = {(r.footprint_id, r.pack, r.code, r.known) for r in table.itertuples()}
    assert found == {
        ("f0", "rye-ny-195", "C1", True),
        ("f0", "monroe-ny-46", "46-4A", True),
        ("f1", "rye-ny-195", "C14", False),
    }


def test_columns_may_be_missing_or_empty() -> None:
    assert classify(pd.DataFrame({"id": ["a"]}), [RYE]).empty
    table = pd.DataFrame(
        {"id": ["a", "b"], "activity": [None, float("nan")], "kind": [None, "fill"]}
    )
    assert classify(table, [RYE])["code"].tolist() == ["C3"]


def grouped(table: pd.DataFrame, facts: dict[str, object] | None = None) -> dict[str, set[str]]:
    found = groups(table, [RYE, MONROE], facts)
    return {str(k): set(v) for k, v in found.groupby("group")["footprint_id"]}


def test_exempt_excavation_counts_farming_does_not() -> None:
    found = grouped(frame("basement", "farm", "lawn grading", "landscaping", "deck; gardening"))
    assert found["all"] == {"f0", "f1", "f2", "f3", "f4"}
    assert found["monroe-ny-46:46-4A"] == {"f0"}
    assert found["monroe-ny-46:46-4E"] == {"f3"}
    # landscaping may be exempt by its size, so both totals are measured; a job that is only in
    # part exempt counts whole
    assert found["monroe-ny-46:counted"] == {"f0", "f2", "f3", "f4"}
    assert found["monroe-ny-46:counted_less_sized"] == {"f0", "f2", "f4"}
    assert not [name for name in found if name.startswith("rye")]


def test_an_exemption_with_a_condition_needs_its_fact() -> None:
    table = frame("46-4G", "46-4G", governmental_exempt=[True, None])
    assert grouped(table)["monroe-ny-46:counted"] == {"f1"}
    assert "monroe-ny-46:counted" not in grouped(table, {"governmental_exempt": True})


@pytest.mark.parametrize(
    ("words", "code"),
    [("basement", "46-4A"), ("footings", "46-4A"), ("septic tank", "46-4A"), ("well", "46-4A"),
     ("swimming pool", "46-4A"), ("farm operations", "46-4B"), ("home gardening", "46-4D"),
     ("landscaping", "46-4E"), ("horticulture", "46-4E"), ("emergency work", "46-4F"),
     ("governmental", "46-4G"), ("repair of stormwater facilities", "46-4H"), ("46-4b", "46-4B")],
)  # fmt: skip
def test_the_exemptions_of_monroe(words: str, code: str) -> None:
    assert TOWN.read(words).codes == (code,)
