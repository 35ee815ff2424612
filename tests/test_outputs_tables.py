"""The tables of a run on disk."""

from __future__ import annotations

import csv
import importlib
import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import geopandas as gpd
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wetgis import schema
from wetgis.errors import InputError, OutputError
from wetgis.outputs import tables

sys.path.insert(0, str(Path(__file__).parent))
standin = importlib.import_module("outputs_standin")

TABLES = ("measures", "findings", "contacts", "parts")


@pytest.fixture(scope="module")
def result() -> SimpleNamespace:
    return standin.town(120, hostile=True)


def test_a_run_has_its_files_and_no_others(result: SimpleNamespace, tmp_path: Path) -> None:
    written = tables.write_run(result, tmp_path / "new" / "run")
    names = {p.name for p in written}
    wanted = {f"{n}.parquet" for n in TABLES}
    wanted |= {"measures.csv", "findings.csv", "issues.csv", "checklist.csv", "run.json"}
    assert names == wanted == {p.name for p in (tmp_path / "new" / "run").iterdir()}


def test_the_order_of_rows_does_not_reach_a_file(result: SimpleNamespace, tmp_path: Path) -> None:
    tables.write_run(result, tmp_path / "a")
    shuffled = SimpleNamespace(**vars(result))
    for name in (*TABLES, "issues"):
        frame = getattr(result, name).sample(frac=1.0, random_state=3)
        frame.attrs = {"wetgis": {"read": "today"}}
        setattr(shuffled, name, frame)
    tables.write_run(shuffled, tmp_path / "b")
    for path in sorted((tmp_path / "a").iterdir()):
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes(), path.name


def test_parquet_has_the_contracts_columns_and_fixed_types(
    result: SimpleNamespace, tmp_path: Path
) -> None:
    tables.write_run(result, tmp_path)
    wanted = {
        "measures": (*schema.MEASURE_COLUMNS, "ADDRESS", "geometry"),
        "findings": schema.FINDING_COLUMNS,
        "contacts": (*schema.CONTACT_COLUMNS, "geometry"),
        "parts": (*schema.PART_COLUMNS, "geometry"),
    }
    for name, columns in wanted.items():
        stored = pq.read_schema(tmp_path / f"{name}.parquet")
        assert tuple(stored.names) == columns
        assert b"pandas" not in (stored.metadata or {})
        for field in stored:
            if field.name.endswith(("_sqft", "_ft", "_pct")):
                assert str(field.type) == "double"
        assert str(stored.field("subject_id").type) == "string"
        assert str(stored.field("record").type) == "int64"
    again = gpd.read_parquet(tmp_path / "measures.parquet")
    assert again.crs == result.measures.crs
    by_hand = result.measures.sort_values(["subject_kind", "subject_id", "record"])
    assert list(again["subject_id"]) == list(by_hand["subject_id"])
    assert again.geometry.geom_equals_exact(
        by_hand.geometry.reset_index(drop=True), 0.0, align=False
    ).all()
    np.testing.assert_array_equal(again["wetland_ft"], by_hand["wetland_ft"])


def test_infinity_stays_in_parquet_alone(result: SimpleNamespace, tmp_path: Path) -> None:
    tables.write_run(result, tmp_path, all_findings=True)
    assert np.isinf(gpd.read_parquet(tmp_path / "measures.parquet")["indicator_ft"]).all()
    for path in tmp_path.glob("*.csv"):
        for row in csv.reader(io.StringIO(path.read_text("utf-8"))):
            assert not {"inf", "-inf", "nan", "NaN", "None", "<NA>"} & set(row), path.name
    read = pd.read_csv(tmp_path / "measures.csv")
    assert read["indicator_ft"].isna().all()


def test_findings_csv_leaves_out_not_met_unless_all(
    result: SimpleNamespace, tmp_path: Path
) -> None:
    assert (result.findings["outcome"] == "not_met").any()
    tables.write_run(result, tmp_path / "some")
    tables.write_run(result, tmp_path / "all", all_findings=True)
    some = pd.read_csv(tmp_path / "some" / "findings.csv")
    everything = pd.read_csv(tmp_path / "all" / "findings.csv")
    assert set(some["outcome"]) == {"met", "undetermined"}
    assert len(everything) == len(result.findings)
    assert len(pd.read_parquet(tmp_path / "some" / "findings.parquet")) == len(result.findings)


def test_no_cell_begins_like_a_formula_and_numbers_are_left_alone(
    result: SimpleNamespace, tmp_path: Path
) -> None:
    tables.write_run(result, tmp_path)
    text = (tmp_path / "measures.csv").read_text("utf-8")
    rows = list(csv.DictReader(io.StringIO(text)))
    ids = {row["subject_id"] for row in rows}
    assert "'=HYPERLINK(1)" in ids
    assert standin.HOSTILE in ids
    assert "'@SUM(A1)" in {row["ADDRESS"] for row in rows}
    findings = pd.read_csv(tmp_path / "findings.csv")
    assert findings["margin"].dtype == "float64"
    frame = pd.DataFrame({"n": [-1.5, -0.0], "t": ["-1.5", "x"], "=h": ["\tx", "\r"]})
    assert tables.csv_text(frame) == "n,t,'=h\n-1.5,'-1.5,'\tx\n0.0,x,\"'\n\"\n"


@given(st.text(max_size=8) | st.text(alphabet="'=+-@\t\r\n ab", max_size=6))
def test_what_the_guard_adds_can_be_taken_away(text: str) -> None:
    made = tables.guard(text)
    assert not made.startswith(("=", "+", "-", "@", "\t", "\r"))
    assert tables._unguarded(pd.Series([made], dtype="object")).iloc[0] == text


def test_numbers_read_back_the_same(tmp_path: Path) -> None:
    values = [0.1 + 0.2, 1e-17, 123456789.123456789, 5.0]
    text = tables.csv_text(pd.DataFrame({"area_sqft": values}))
    assert [float(v) for v in text.split()[1:]] == values


def test_read_run_gives_back_what_was_written(result: SimpleNamespace, tmp_path: Path) -> None:
    tables.write_run(result, tmp_path)
    run = tables.read_run(tmp_path)
    assert run["title"] == result.title
    assert run["provenance"] == json.loads((tmp_path / "run.json").read_text("utf-8"))
    assert run["provenance"]["schema_version"] == 1
    assert len(run["findings"]) == len(result.findings)
    issues = run["issues"]
    assert list(issues["severity"]) == ["error", "warning", "note", "note"]
    assert issues["record_id"].iloc[0] == "091-12"
    assert issues["before_sqft"].isna().sum() == 3
    pd.testing.assert_frame_equal(run["checklist"].astype(object), result.checklist.astype(object))
    again = SimpleNamespace(**run)
    tables.write_run(again, tmp_path / "again")
    for path in sorted((tmp_path / "again").iterdir()):
        assert path.read_bytes() == (tmp_path / path.name).read_bytes(), path.name


def test_a_run_without_subjects_or_findings_is_a_run(
    result: SimpleNamespace, tmp_path: Path
) -> None:
    empty = SimpleNamespace(**vars(result))
    for name in (*TABLES, "issues", "checklist"):
        setattr(empty, name, getattr(result, name).iloc[:0])
    tables.write_run(empty, tmp_path)
    run = tables.read_run(tmp_path)
    assert [len(run[name]) for name in TABLES] == [0, 0, 0, 0]


def test_a_failed_run_leaves_nothing(
    result: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables.write_run(result, tmp_path)
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tables, "csv_text", full)
    with pytest.raises(OutputError, match="No space left"):
        tables.write_run(result, tmp_path, all_findings=True)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


def test_a_file_in_the_way_and_a_folder_that_is_no_run(
    result: SimpleNamespace, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(OutputError):
        tables.write_run(result, tmp_path / "file")
    with pytest.raises(InputError, match=r"run\.json"):
        tables.read_run(tmp_path)
