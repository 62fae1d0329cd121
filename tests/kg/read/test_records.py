"""Tables and forms are known by their lines, and what their labels say by a list."""

from __future__ import annotations

import time

import pytest

from weft.kg.read.labels import Labels, Stated, kind_of_label, plain_label
from weft.kg.read.markdown import markdown_text
from weft.kg.read.markup import html_text
from weft.kg.read.records import Form, Table, records_of
from weft.kg.schema import Relation, Schema
from weft.platform.models import find_model

LABELS = Labels.of(Schema.load(find_model("kg", "kg-text-small") / "schema.json"))


def said(text: str) -> list[tuple[list[str], list[list[str]]]]:
    """Of each record the lines above it, and its lines."""
    found = []
    for record in records_of(text):
        lines = (
            [record.head, *record.rows]
            if isinstance(record, Table)
            else [(field.label, field.value) for field in record.fields]
        )
        above = [text[slice(*span)] for span in record.above]
        found.append((above, [[text[slice(*span)] for span in line] for line in lines]))
    return found


def test_lines_with_labels_are_a_form_below_its_heading() -> None:
    text = "Mira Holt\n=========\n\nBorn: 1958 in Ghent\nHead office ....: Sheffield, England\n\nShe retired in 2019.\n"
    assert said(text) == [
        (["Mira Holt"], [["Born", "1958 in Ghent"], ["Head office ....", "Sheffield, England"]])
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Name: Ann Lee\nEmployer: Galp\n\nName: Bo Falk\nEmployer: Shell\n",
        "Name: Ann Lee\nEmployer: Galp\nName: Bo Falk\nEmployer: Shell\n",
        "- **Name:** Ann Lee\n- **Employer:** Galp\n\n\n- **Name:** Bo Falk\n- **Employer:** Shell\n",
    ],
)
def test_a_form_for_each(text: str) -> None:
    assert [[line[1] for line in lines] for _, lines in said(text)] == [
        ["Ann Lee", "Galp"],
        ["Bo Falk", "Shell"],
    ]


def test_lines_parted_by_empty_ones_are_one_form_and_a_title_is_none() -> None:
    apart = "Employer: Galp\n\nSpouse: Bo Falk\n\nBorn: 1958\n"
    assert [len(lines) for _, lines in said(apart)] == [3]
    titled = "Family sheet: Ann Lee\n\nBorn: 1958\nSpouse: Bo Falk\n"
    assert said(titled) == [(["Family sheet: Ann Lee"], [["Born", "1958"], ["Spouse", "Bo Falk"]])]


def test_what_stands_behind_a_label_goes_on_in_short_lines() -> None:
    text = html_text("<table><tr><th>Children<td>Jo Lee<br>Di Lee<tr><th>Born<td>1958</table>")
    assert said(text)[0][1] == [["Children", "Jo Lee\nDi Lee"], ["Born", "1958"]]


def test_prose_is_no_form() -> None:
    assert not records_of("She said: we go.\nHe went home, and the door stayed open.\nThen it rained.\n")
    assert not records_of("Note: the office is closed.\n\nIt opens again in May. Ask Ann Lee | Bo Falk.\n")


def test_an_empty_cell_keeps_its_place() -> None:
    page = "<table><tr><th>Firm<th>Owner<th>Seat<tr><td>Galp<td><td>Faro<tr><td>Shell<td>Bo Falk<td></table>"
    assert html_text(page) == "Firm | Owner | Seat\nGalp |  | Faro\nShell | Bo Falk"
    assert said(html_text(page))[0][1] == [
        ["Firm", "Owner", "Seat"],
        ["Galp", "", "Faro"],
        ["Shell", "Bo Falk", ""],
    ]


@pytest.mark.parametrize("is_plain", [True, False])
def test_tables_of_markdown_and_of_plain_text(is_plain: bool) -> None:
    table = "Crew\n\n| Name | Ship |\n|------|:----:|\n| Ann Lee | Vega |\n| Bo Falk | Lyra |\n"
    text = table if is_plain else markdown_text(table)
    above, rows = said(text)[0]
    if is_plain:
        assert (above, rows[0]) == (["Crew"], ["Name", "Ship"])
    else:
        assert above == ["Name: Ship", "Crew"]
    assert rows[-2:] == [["Ann Lee", "Vega"], ["Bo Falk", "Lyra"]]


def test_labels_as_people_write_them() -> None:
    assert plain_label("**Founder(s):**") == "founders"
    assert plain_label("Head office (since 2012)") == "head office"
    assert LABELS.said(plain_label("Former employer")) == (Stated("employer", False),)
    assert LABELS.said(plain_label("EMPLOYEES")) == (Stated("employer", True),)
    assert LABELS.said("favourite city") == ()
    assert kind_of_label("ship") == "MISC"
    assert kind_of_label("price") is None


def test_what_stands_beside_a_label_may_decide() -> None:
    assert Stated("publication_date", False) in LABELS.said("year", ["book", "author"])
    assert Stated("inception", False) in LABELS.said("year", ["ship", "builder"])
    assert LABELS.said("year", ["club", "winner"]) == ()
    assert Stated("author", False) in LABELS.said("written by", ["publisher"])
    assert Stated("author", False) not in LABELS.said("written by", ["starring"])


def test_relations_of_ones_own_are_labels_by_their_names() -> None:
    own = Labels.of(Schema((Relation("flows_through", "a river and a town", also=("course", "Q12")),)))
    assert own.said("flows through") == own.said("course") == (Stated("flows_through", False),)
    assert own.said("employer") == ()


def test_every_listed_label_belongs_to_a_relation_and_says_it_once() -> None:
    names = set(LABELS.relations)
    for label, found in LABELS.stated.items():
        assert label == plain_label(label)
        assert {item.relation for item, _ in found} <= names
        assert len(found) == len(set(found)), label


@pytest.mark.parametrize(
    "text",
    [
        "Label: " + " " * 300_000 + "x\n" * 3,
        "A | " * 100_000 + "\n" + "B | " * 100_000,
        "Employer: Galp\n" + "Ann\n" * 100_000,
        "Employer: Galp\nSpouse: Bo\n" * 30_000,
        "(" * 200_000 + "Born: 1958\n" * 2,
    ],
)
def test_long_input_takes_its_time_and_no_more(text: str) -> None:
    start = time.perf_counter()
    records_of(text)
    assert time.perf_counter() - start < 10


def test_a_form_is_told_from_a_table() -> None:
    kinds = [type(record) for record in records_of("Born: 1958\nDied: 2001\n\nA | B\nC | D\n")]
    assert kinds == [Form, Table]


@pytest.mark.parametrize("blank", ["\u00a0", "\u3000", "\u2028", "\x85", "\x1c", " \t"])
def test_lines_of_blanks_say_nothing(blank: str) -> None:
    assert records_of(f"Ann Lee works for Galp.\n{blank}\nShe left.\n") == []


def test_a_short_first_row_and_a_bar_that_is_a_letter() -> None:
    text = "| Name | Firm | Seat |\n|---|---|---|\n| Ann Lee | A\\|B |\n| Bo Falk | Galp | Faro |\n"
    rows = [line for _, lines in said(text) for line in lines]
    assert rows == [["Name", "Firm", "Seat"], ["Ann Lee", "A\\|B", ""], ["Bo Falk", "Galp", "Faro"]]
