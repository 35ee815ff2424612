"""Who is told of an amendment: affected, abutters, each once, and nobody's data unasked."""

from __future__ import annotations

import logging

import openpyxl
import pytest
from tests.conftest import boxes
from tests.test_amend_package import text_of_docx, text_of_pdf

import wetgis
from wetgis.errors import InputError, UsageError
from wetgis.notices import Meeting, notices
from wetgis.outputs.letters import letter

MAILS = ["1 Main St", "1 MAIN ST", "2 Main St", "", "3 Main St", "x"]
OWNERS = ["Owner One", "owner one.", "Owner Two", "", "Owner Three", "Owner Four"]


def town(*, keep=("OWNER", "MAIL")):
    """A lot that stays wet, three that change (one of nobody known), one 50 ft off, one far."""
    lots = boxes((0, 0, 100, 100), (100, 0, 150, 100), (150, 0, 240, 100), (0, 100, 150, 300),
                 (290, 0, 400, 100), (2000, 0, 2100, 100),
                 OWNER=OWNERS, MAIL=MAILS)  # fmt: skip
    layer = wetgis.Layer(lots, keep=list(keep)) if keep else lots
    site = wetgis.Site.from_layers(parcels=layer, wetlands=boxes((0, 0, 100, 100)),
                                   packs=["rye-ny-195"], title="Town")  # fmt: skip
    return wetgis.amend(site, boxes((0, 0, 120, 100)), mode="by_id")


@pytest.fixture(scope="module")
def made():
    return town()


def test_each_owner_once(made):
    told = notices(made, owners=["OWNER", "MAIL"])
    # lot 0 lies in the old wetland: nothing changes on it, and it abuts lot 1 of the same owner
    assert told.recipients["parcel_ids"].tolist() == ["1;0", "2", "3"]
    assert told.recipients["reason"].tolist() == ["affected"] * 3
    rows = told.recipients.set_index("parcel_ids")
    assert rows.loc["2", "OWNER"] == "Owner Two"


def test_abutters_within_a_distance(made):
    """To the nearest affected parcel; exactly at the distance counts."""
    near = notices(made, owners=["OWNER", "MAIL"], within_ft=50)
    assert "4" in set(near.parcels["parcel_id"])
    far = notices(made, owners=["OWNER", "MAIL"], within_ft=49.99)
    assert "4" not in set(far.parcels["parcel_id"])
    row = near.parcels.set_index("parcel_id").loc["4"]
    assert (row["reason"], row["distance_ft"]) == ("abutter", pytest.approx(50))
    assert "5" not in set(near.parcels["parcel_id"])


def test_same_owner_whatever_the_writing(made):
    told = notices(made, owners=["OWNER", "MAIL"], within_ft=50)
    by = told.parcels.set_index("parcel_id")["notice"]
    assert by["0"] == by["1"]
    assert by.drop("0").is_unique
    assert told.recipients["notice"].tolist() == list(range(1, len(told.recipients) + 1))
    assert len(told.recipients) == told.parcels["notice"].nunique()


def test_nobody_s_data_unasked():
    """Columns that were not kept are refused; without any the list has parcels alone."""
    made = town(keep=())
    with pytest.raises(InputError, match="keep no column 'OWNER'"):
        notices(made, owners=["OWNER"])
    told = notices(made)
    assert not any("Owner" in str(v) for v in told.recipients.to_numpy().ravel())


def test_written(made, tmp_path, caplog):
    """List, labels and letters; nothing of an owner in a log."""
    meeting = Meeting(body="The Commission", date="2027-01-12", place="Town Hall",
                      object_by="2027-01-10", object_to="The Clerk")  # fmt: skip
    told = notices(made, owners=["OWNER", "MAIL"], within_ft=50, meeting=meeting)
    with caplog.at_level(logging.DEBUG):
        names = {p.name for p in told.write(tmp_path)}
    assert names == {"notices.xlsx", "labels.docx", "letters.pdf", "letters.docx"}
    assert "Owner" not in caplog.text
    sheet = openpyxl.load_workbook(tmp_path / "notices.xlsx")["Addressees"]
    assert sheet.max_row == 1 + len(told.recipients)
    assert "Owner Two\n2 Main St" in text_of_docx(tmp_path / "labels.docx")
    text = " ".join(text_of_pdf(tmp_path / "letters.pdf").split())
    for part in ("Owner Two", "2 Main St", "The Commission hears the amendment on 2027-01-12",
                 "until 2027-01-10, to The Clerk", "guides both ways", "Parcel 2"):  # fmt: skip
        assert part in text, part
    assert "Owner Three" not in text  # an abutter is on the list, and has no letter about a parcel
    assert "not subject" not in text.lower()


def test_blanks_where_nothing_is_known(made):
    """Without a meeting a letter has lines to fill in; an unknown owner is 'the owner'."""
    told = notices(made, owners=["OWNER", "MAIL"])
    number = int(told.parcels.set_index("parcel_id").loc["3", "notice"])
    words = [getattr(part, "text", "") for part in letter(told, number).parts]
    assert "To the owner" in words
    assert any("____" in w for w in words)


def test_slivers_have_no_letter(tmp_path):
    lots = boxes((219.99, 0, 300, 100))
    site = wetgis.Site.from_layers(parcels=lots, wetlands=boxes((0, 0, 100, 100)),
                                   packs=["rye-ny-195"])  # fmt: skip
    made = wetgis.amend(site, boxes((0, 0, 120, 100)), mode="by_id")
    assert len(made.parcels) == 1
    told = notices(made)
    assert len(told.recipients) == 0
    assert {p.name for p in told.write(tmp_path)} == {"notices.xlsx", "labels.docx"}
    assert len(notices(made, slivers=True).recipients) == 1


def test_refused(made):
    with pytest.raises(UsageError, match="within_ft"):
        notices(made, within_ft=float("nan"))
    with pytest.raises(UsageError, match="owners is a text"):
        notices(made, owners="OWNER")
