"""Facts of tables and forms: what labels state, and what stands beside each other and has nothing in common."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from weft.kg.extraction.entities import EntityExtractor
from weft.kg.extraction.entity_fact import EntityFact
from weft.kg.extraction.labelled import ACROSS, LABELLED, by_labels
from weft.kg.mentions.cells import with_cells
from weft.kg.mentions.join import Mention as Found
from weft.kg.read.documents import Mention, TextDocument
from weft.kg.read.labels import Labels
from weft.kg.read.markup import html_text
from weft.kg.schema import Relation, Schema
from weft.platform.models import find_model

LABELS = Labels.of(Schema.load(find_model("kg", "kg-text-small") / "schema.json"))
Triple = tuple[str, str, str]


@pytest.fixture(scope="module")
def shipped() -> EntityExtractor:
    return EntityExtractor.load(find_model("kg", "kg-text-small"))


def stated(extractor: EntityExtractor, text: str) -> set[Triple]:
    facts = extractor.facts_of(TextDocument("a", text), least=0.5)
    return {(fact.head, fact.relation, fact.tail) for fact in facts}


def names(text: str, *found: tuple[str, str]) -> dict[str, str]:
    """The names of a text and their types, where a model found some of these types."""
    places = [Found(text.index(name), text.index(name) + len(name), kind, 0.9) for name, kind in found]
    return {text[item.start : item.end]: item.type for item in with_cells(text, places, LABELS)}


def test_a_page_with_an_infobox(shipped: EntityExtractor) -> None:
    page = (
        "<h1>Ingrid Falk</h1><table><tr><th>Born<td>9 June 1971, Uppsala<tr><th>Employer<td>Havnfjord Instruments"
        "<tr><th>Spouse<td>Anders Falk<tr><th>Children<td>Jonas Falk and Mira Falk"
        "<tr><th>Assistant<td>Helga Roth</table>"
    )
    found = {fact for fact in stated(shipped, html_text(page)) if fact[1] != "sibling"}
    assert found == {
        ("Ingrid Falk", "date_of_birth", "9 June 1971"),
        ("Ingrid Falk", "place_of_birth", "Uppsala"),
        ("Ingrid Falk", "employer", "Havnfjord Instruments"),
        ("Ingrid Falk", "spouse", "Anders Falk"),
        ("Ingrid Falk", "child", "Jonas Falk"),
        ("Ingrid Falk", "child", "Mira Falk"),
    }


def test_a_table_whose_first_column_is_a_number(shipped: EntityExtractor) -> None:
    text = (
        "No. | Name | Works for | Phone | Born in\n1 | Aoife Kearney | Shannon Mills | 555-201 | Limerick\n"
        "2 | Bram de Wit | Delta Pumps | 555-202 | Zwolle\n"
    )
    assert stated(shipped, text) == {
        ("Aoife Kearney", "employer", "Shannon Mills"),
        ("Aoife Kearney", "place_of_birth", "Limerick"),
        ("Bram de Wit", "employer", "Delta Pumps"),
        ("Bram de Wit", "place_of_birth", "Zwolle"),
    }


def test_a_table_of_two_columns_and_a_heading_that_says_more(shipped: EntityExtractor) -> None:
    page = (
        "<h2>Subsidiaries of Kestrel Group</h2><table><tr><th>Company<th>CEO<tr><td>Tarn Robotics<td>Ellen Vosper"
        "<tr><td>Lumen Dairy<td>Paulo Reis</table>"
    )
    found = stated(shipped, html_text(page))
    assert found >= {
        ("Tarn Robotics", "chairperson", "Ellen Vosper"),
        ("Ellen Vosper", "employer", "Tarn Robotics"),
        ("Lumen Dairy", "chairperson", "Paulo Reis"),
        ("Kestrel Group", "subsidiary", "Tarn Robotics"),
        ("Kestrel Group", "subsidiary", "Lumen Dairy"),
    }
    assert not {fact for fact in found if {"Tarn Robotics", "Paulo Reis"} <= set(fact)}


def test_a_label_says_what_a_name_is_and_where_it_ends() -> None:
    text = "Name: Deirdre Callow\nEmployer: Trent Valley Water\nLives in: Wick Abbas\nContact: Graham Pell\n"
    found = names(
        text, ("Deirdre Callow", "ORG"), ("Trent Valley", "LOC"), ("Abbas", "PER"), ("Graham Pell", "ORG")
    )
    assert found == {
        "Deirdre Callow": "PER",
        "Trent Valley Water": "ORG",
        "Wick Abbas": "LOC",
        "Graham Pell": "ORG",  # nobody knows what a contact is
    }


def test_names_of_lists_of_firms_and_of_places_behind_them() -> None:
    text = (
        "Name: Kestrel Group\nSubsidiaries: Tarn, Inc., Minch and Sound Ferries, Polmotor Sp. z o.o.\n"
        "Founders: Dr. Ann Lee and Bo Falk (both until 1990)\nParent company: Hartsop Books, Hull\n"
    )
    found = names(text, ("Hull", "LOC"), ("1990", "TIME"))
    assert found == {
        "Kestrel Group": "ORG",
        "Tarn, Inc.": "ORG",
        "Minch and Sound Ferries": "ORG",
        "Polmotor Sp. z o.o.": "ORG",
        "Ann Lee": "PER",
        "Bo Falk": "PER",
        "1990": "TIME",
        "Hartsop Books": "ORG",
        "Hull": "LOC",
    }


@pytest.mark.parametrize(
    "date", ["3 May 1961", "May 1961", "1961", "1961-05-03", "03.05.1961", "11/06/1958", "May 3, 1961"]
)
def test_dates_are_whole(date: str) -> None:
    text = f"Name: Ann Lee\nBorn: {date} in Ghent\nSpouse: unknown\n"
    assert names(text, ("Ghent", "ORG")) == {"Ann Lee": "PER", date: "TIME", "Ghent": "LOC"}


def test_names_do_not_reach_into_the_next_cell_and_labels_name_nothing() -> None:
    text = "Name | Works for\nAnn Lee | Galp\nBo Falk | Shell\n"
    places = [Found(7, 16, "MISC"), Found(17, 31, "PER"), Found(32, 39, "PER")]
    found = with_cells(text, places, LABELS)
    assert [text[item.start : item.end] for item in found] == ["Ann Lee", "Galp", "Bo Falk", "Shell"]


def _document(text: str, *found: tuple[str, str]) -> TextDocument:
    mentions = (
        Mention(text.index(name), text.index(name) + len(name), number, name, kind)
        for number, (name, kind) in enumerate(found)
    )
    return TextDocument("a", text, tuple(sorted(mentions)))


def _fact(document: TextDocument, head: str, relation: str, tail: str, confidence: float = 0.8) -> EntityFact:
    at = {item.name: (item.start, item.end) for item in document.mentions}
    return EntityFact(head, relation, tail, confidence, at[head], at[tail], (0, len(document.text)))


def test_what_stands_in_two_cells_and_is_not_stated_is_less_sure() -> None:
    text = (
        "Ann Lee\n\nEmployer: Galp\nSpouse: Bo Falk\nFriend: Di Roe of Hull\n\nGalp was founded by Cy Poe.\n"
    )
    kinds = (
        ("Ann Lee", "PER"),
        ("Galp", "ORG"),
        ("Bo Falk", "PER"),
        ("Di Roe", "PER"),
        ("Hull", "LOC"),
        ("Cy Poe", "PER"),
    )
    document = _document(text, *kinds)
    read = [
        _fact(document, "Galp", "chairperson", "Bo Falk"),
        _fact(document, "Ann Lee", "sibling", "Di Roe"),
        _fact(document, "Di Roe", "residence", "Hull"),
        _fact(document, "Galp", "founded_by", "Cy Poe"),
        _fact(document, "Ann Lee", "employer", "Galp", 0.95),
    ]
    sure = {
        (fact.head, fact.relation, fact.tail): fact.confidence for fact in by_labels(document, read, LABELS)
    }
    assert sure == {
        ("Galp", "chairperson", "Bo Falk"): pytest.approx(0.8 * ACROSS),
        ("Ann Lee", "sibling", "Di Roe"): pytest.approx(0.8 * ACROSS),
        ("Di Roe", "residence", "Hull"): 0.8,
        ("Galp", "founded_by", "Cy Poe"): 0.8,
        ("Ann Lee", "employer", "Galp"): 0.95,
        ("Ann Lee", "spouse", "Bo Falk"): LABELLED,
    }


def test_a_wider_place_is_no_second_seat() -> None:
    text = "Name: Tarn Robotics\nHead office: Sheffield, England\nRegion: Yorkshire, England\n"
    kinds = (("Tarn Robotics", "ORG"), ("Sheffield", "LOC"), ("England", "LOC"), ("Yorkshire", "LOC"))
    found = {(fact.relation, fact.tail) for fact in by_labels(_document(text, *kinds), [], LABELS)}
    assert found == {("headquarters", "Sheffield"), ("located_in", "Yorkshire")}


def test_texts_without_tables_are_as_they_were() -> None:
    document = _document("Ann Lee works for Galp.", ("Ann Lee", "PER"), ("Galp", "ORG"))
    read = [_fact(document, "Ann Lee", "employer", "Galp")]
    assert by_labels(document, read, LABELS) == read
    places = [Found(0, 7, "PER"), Found(18, 22, "ORG")]
    assert with_cells(document.text, places, LABELS) == places


def test_the_store_says_that_a_label_states_it(tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    table = "| Firm | Owner | Seat |\n|---|---|---|\n| Tarn Robotics | Ellen Vosper | Sheffield |\n"
    (tmp_path / "texts" / "a.md").write_text(table)
    command = [sys.executable, "-m", "weft", "kg"]
    subprocess.run(
        [*command, "extract", "texts", "-o", "store"], cwd=tmp_path, check=True, capture_output=True
    )
    shown = subprocess.run(
        [*command, "show", "store", "Tarn Robotics", "--json"], cwd=tmp_path, check=True, capture_output=True
    )
    facts = json.loads(shown.stdout)["facts"]
    assert {(fact["relation"], fact["tail"], fact["origin"]) for fact in facts} >= {
        ("owned_by", "Ellen Vosper", "label"),
        ("headquarters", "Sheffield", "label"),
    }
    printed = subprocess.run(
        [*command, "show", "store", "Tarn Robotics"], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    assert "owned_by Ellen Vosper (by a table or form)" in printed.stdout
    asked = subprocess.run(
        [*command, "ask", "store", "Who owns Tarn Robotics?"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    )
    assert "Firm | Owner | Seat" in asked.stdout


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        (
            "Lena Brandt\n\nLanguages: German, Danish\nBorn: 1988\n\nYears | Employer\n2012 | Vestas\n",
            {("Lena Brandt", "employer", "Vestas"), ("Lena Brandt", "languages_spoken", "Danish")},
        ),
        (
            "Minutes of Thornbury Allotment Society\n\nDate: 4 March 2023\nChair: Joan Pickles\nPresent: Tom Rudge\n",
            {("Thornbury Allotment Society", "chairperson", "Joan Pickles")},
        ),
        (
            "Company: Nordlys Energy\nLocation: Hamburg\nSalary: high\nContact: Mira Holt\n",
            {("Nordlys Energy", "located_in", "Hamburg")},
        ),
        (
            "SS Corrigan\n\nSS Corrigan, here in 1911, was a ship.\n\nOwner: Blue Star Line\nLaunched: 12 March 1908\n",
            {("SS Corrigan", "inception", "12 March 1908"), ("SS Corrigan", "owned_by", "Blue Star Line")},
        ),
        ("Option: Default\nPrecision: fp32\nThreads: 4\n", set[Triple]()),
        (
            "From: Ann Lee\nTo: Bo Falk\nDate: 3 May 2021\nSubject: Kestrel Group in Sheffield\n",
            set[Triple](),
        ),
    ],
)
def test_forms_of_many_kinds(shipped: EntityExtractor, text: str, facts: set[Triple]) -> None:
    found = shipped.facts_of(TextDocument("a", text), least=0.5)
    labelled = {(fact.head, fact.relation, fact.tail) for fact in found if fact.label is not None}
    assert facts <= labelled if facts else not labelled
    assert not {fact for fact in labelled if fact[1] == "inception" and fact[2] == "1911"}


def labelled(extractor: EntityExtractor, text: str) -> set[Triple]:
    found = extractor.facts_of(TextDocument("a", text), least=0.5)
    return {(fact.head, fact.relation, fact.tail) for fact in found if fact.label is not None}


def test_who_says_something_in_a_talk_keeps_what_is_said_of_them(shipped: EntityExtractor) -> None:
    talk = "Anna Lind: I joined Nordlys Energi in 1999.\nTom Birch: I was born in Leeds.\n"
    assert ("Anna Lind", "employer", "Nordlys Energi") in stated(shipped, talk)
    people = "Our people\n\n- Peter Voss: founder of Havnfjord Instruments\n- Mira Holt: worked for Kestrel Group\n"
    assert ("Mira Holt", "employer", "Kestrel Group") in stated(shipped, people)


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        (
            "Anna Lind\nCompany: Nordlys Energi\nBorn: 1950\n\nTom Birch\nCompany: Kestrel Group\nBorn: 1960\n",
            {("Anna Lind", "employer", "Nordlys Energi"), ("Anna Lind", "date_of_birth", "1950")}
            | {("Tom Birch", "employer", "Kestrel Group"), ("Tom Birch", "date_of_birth", "1960")},
        ),
        (
            "Norway\nCapital: Oslo\nPrime minister: Eva Holt\n\nSweden\nCapital: Stockholm\nPrime minister: Per Berg\n",
            {("Norway", "capital", "Oslo"), ("Norway", "head_of_government", "Eva Holt")}
            | {("Sweden", "capital", "Stockholm"), ("Sweden", "head_of_government", "Per Berg")},
        ),
        (
            "Nordlys Cup\n\nYear | Winner | Venue\n2010 | Anna Lind | Bergen\n2011 | Tom Birch | Oslo\n",
            set[Triple](),
        ),
        (
            "Anna Lind\n\nEducation: Law\nLead: Copper\nState: Active\nClub: Rotary\nSince: 2011\n",
            set[Triple](),
        ),
        ("Action | Owner | Due\nAnnual Report | Tom Birch | May\nBudget | Anna Lind | June\n", set[Triple]()),
        (
            "Anna Lind\n\nEmployer: Smith, Jones and Partners\nSpouse: Dr. Tom Birch (m. 1975)\nTitle: Director\n",
            {("Anna Lind", "employer", "Smith, Jones and Partners"), ("Anna Lind", "spouse", "Tom Birch")},
        ),
        (
            "Kestrel Group\n\nOffices: London, Paris, Berlin\nFounded: 1988\n",
            {("Kestrel Group", "headquarters", city) for city in ("London", "Paris", "Berlin")}
            | {("Kestrel Group", "inception", "1988")},
        ),
        (
            "Country | Company | Owner\nNorway | Fjell Kraft | Otieno Group\nDenmark | Ravn Foods | Holm family\n",
            {("Fjell Kraft", "country", "Norway"), ("Ravn Foods", "country", "Denmark")}
            | {("Fjell Kraft", "owned_by", "Otieno Group")},
        ),
        (
            "Borough Museum\n\nObject: Sea chest\nMaker: Ned Rowe\n\nObject: Brig\nMaker: n/a\n",
            {("Sea chest", "manufacturer", "Ned Rowe")},
        ),
        (
            "Parish of Bude\n\nHusband: Elias Thorne\nFather: not Isaac Thorne\n\nWife: Ida Korn\nFather: Korn, Max\n",
            {("Ida Korn", "father", "Korn, Max")},
        ),
        (
            "Name: Ann Weir\nEmployer: Tarn Robotics\nChildren:\n   Peter Weir\n   Ruth Weir\nResidence: Hull\n",
            {("Ann Weir", "employer", "Tarn Robotics"), ("Ann Weir", "residence", "Hull")}
            | {("Ann Weir", "child", "Peter Weir"), ("Ann Weir", "child", "Ruth Weir")},
        ),
        (
            "Company\tCEO\tSeat\nTarn Robotics\tEllen Vosper\tSheffield\nLumen Dairy\tVacant\tPorto\n",
            {("Tarn Robotics", "headquarters", "Sheffield"), ("Lumen Dairy", "headquarters", "Porto")}
            | {
                ("Tarn Robotics", "chairperson", "Ellen Vosper"),
                ("Ellen Vosper", "employer", "Tarn Robotics"),
            },
        ),
        (
            "Company        CEO            Seat\nTarn Robotics  Ellen Vosper   Sheffield\n",
            {("Tarn Robotics", "headquarters", "Sheffield")}
            | {
                ("Tarn Robotics", "chairperson", "Ellen Vosper"),
                ("Ellen Vosper", "employer", "Tarn Robotics"),
            },
        ),
        ("Board of Arden Water\n\nTopic | Owner\nPumps | Sue Ray\nRates | Tom Birch\n", set[Triple]()),
        (
            html_text(
                "<h1>Orwell Mills</h1><table><tr><th>Seat<td>Ipswich<tr><th>Key people<td><ul><li>Maud Keeble"
                "<li>Jack Syer</ul><tr><th>Founders<td><ul><li>Amos Keeble<li>Ned Rowe</ul></table>"
            ),
            {("Orwell Mills", "headquarters", "Ipswich"), ("Orwell Mills", "founded_by", "Amos Keeble")}
            | {("Orwell Mills", "founded_by", "Ned Rowe")},
        ),
        (
            html_text(
                "<table><tr><th>Ship<th>Builder<th>Owner<tr><td>Corran Star<td>Ailsa<td>Corran Line<br>Hellas Ferries"
                "<tr><td>Corran Maid<td>Harland* &amp; Wolff†<td>Hellas Ferries</table>"
            ),
            {("Corran Star", "manufacturer", "Ailsa"), ("Corran Star", "owned_by", "Corran Line")}
            | {("Corran Star", "owned_by", "Hellas Ferries"), ("Corran Maid", "owned_by", "Hellas Ferries")}
            | {("Corran Maid", "manufacturer", "Harland* & Wolff")},
        ),
        (
            html_text(
                "<table><tr><th>Name<th>Employer<th>Born<tr><td>Ann Lee<td>Galp<td>Faro<tr><td>Tom Birch<td><td>"
                "<tr><td>Eva Holt<td>Kestrel Group<td>Hull</table>"
            ),
            {("Ann Lee", "employer", "Galp"), ("Ann Lee", "place_of_birth", "Faro")}
            | {("Eva Holt", "employer", "Kestrel Group"), ("Eva Holt", "place_of_birth", "Hull")},
        ),
    ],
)
def test_what_labels_state_and_nothing_else(shipped: EntityExtractor, text: str, facts: set[Triple]) -> None:
    assert labelled(shipped, text) == facts


def test_a_name_that_the_text_knows_as_a_place_stays_one(shipped: EntityExtractor) -> None:
    text = "Anna Lind lives in Leeds. Leeds is a city in England.\n\nName: Anna Lind\nEmployer: Leeds\n"
    kinds = {item.name: item.type for item in shipped.with_found(TextDocument("a", text)).mentions}
    assert kinds["Leeds"] == "LOC"


def test_given_mentions_of_no_type_and_of_other_types() -> None:
    text = "Ann Lee\n\nBorn: 4 May 1958, Oslo\nEmployer: Galp\nLanguage: English\n"
    names = ("Ann Lee", "4 May 1958", "Oslo", "Galp", "English")
    for kind in ("", "PERSON"):
        document = _document(text, *((name, kind) for name in names))
        found = {(fact.head, fact.relation, fact.tail) for fact in by_labels(document, [], LABELS)}
        assert ("Ann Lee", "employer", "Galp") in found
        assert not {
            fact for fact in found if fact[1] in ("place_of_birth", "official_language", "languages_spoken")
        }


def test_types_of_ones_own_stay() -> None:
    own = Labels.of(Schema((Relation("made_by", "by whom", head_types=("PRODUCT",), tail_types=("BRAND",)),)))
    text = "Product | Made by\nKite | Lumo\n"
    places = [Found(18, 22, "PRODUCT"), Found(25, 29, "BRAND")]
    assert with_cells(text, places, own) == places
    document = _document(text, ("Kite", "PRODUCT"), ("Lumo", "BRAND"))
    assert [(fact.head, fact.relation, fact.tail) for fact in by_labels(document, [], own)] == [
        ("Kite", "made_by", "Lumo")
    ]
