"""Facts of a text that is read as a whole and section by section."""

from __future__ import annotations

from dataclasses import replace

import pytest

from weft.kg.extraction.entities import EntityExtractor
from weft.kg.extraction.entity_fact import EntityFact
from weft.kg.extraction.sections import in_sections
from weft.kg.read.documents import Mention, TextDocument
from weft.platform.models import find_model

NOTES = (
    "The bakery\n\nLund Foods was founded in 1962 by Greta Olsen in Stavanger. It has two shops.\n\n"
    "A visitor\n\nMaria Costa, born in Porto on 3 May 1975, is a Portuguese biologist. She works in Bergen.\n"
)


@pytest.fixture(scope="module")
def shipped() -> EntityExtractor:
    return EntityExtractor.load(find_model("kg", "kg-text-small"))


def fact(head: str, tail: str, sure: float, place: int = 0, tail_place: int = 0) -> EntityFact:
    return EntityFact(head, "born", tail, sure, (place, place + 4), (tail_place, tail_place + 4), (0, 99))


def test_two_readings_are_weighed(shipped: EntityExtractor) -> None:
    text = "Anna Lyon.\n\nTitle\n\nPaul Oslo Rome."
    starts = (0, 12)
    places = {name: text.index(name) for name in ("Anna", "Lyon", "Paul", "Oslo", "Rome")}
    mentions = tuple(
        Mention(place, place + 4, number, name) for number, (name, place) in enumerate(places.items())
    )
    document = TextDocument("a", text, mentions)
    whole = [
        fact("Anna", "Lyon", 0.5, places["Anna"], places["Lyon"]),
        fact("Paul", "Oslo", 0.5, places["Paul"], places["Oslo"]),
        fact("Anna", "Oslo", 0.5, places["Anna"], places["Oslo"]),
    ]
    parts = [
        (0, [fact("Anna", "Lyon", 0.9, 0, 5)]),
        (12, [fact("Paul", "Rome", 0.9, places["Paul"] - 12, places["Rome"] - 12)]),
    ]
    sure = shipped.confidence
    assert sure is not None
    found = {
        (item.head, item.tail): item
        for item in in_sections(document, starts, whole, parts, sure, frozenset({"born"}))
    }
    assert found["Anna", "Lyon"].confidence == pytest.approx(0.6 * 0.9 + 0.4 * 0.5)
    assert found["Paul", "Oslo"].confidence == pytest.approx(0.4 * 0.5)
    assert found["Paul", "Rome"].confidence == pytest.approx(0.6 * 0.9)
    assert found["Paul", "Rome"].place[0] == places["Paul"]
    assert found["Paul", "Rome"].tail_place[0] == places["Rome"]
    assert found["Anna", "Oslo"].confidence == sure.of_names_apart(0.5, 2, 2, divided=True)
    # Where the distance is in the confidence already, and for relations by words, it stays.
    for by, trained in ((None, {"born"}), (sure, set[str]())):
        again = in_sections(document, starts, whole, parts, by, trained)
        assert {(item.head, item.tail): item for item in again}["Anna", "Oslo"].confidence == 0.5


def test_sections_do_not_lend_each_other_their_places(shipped: EntityExtractor) -> None:
    assert shipped.confidence is not None
    once = replace(shipped, confidence=replace(shipped.confidence, apart=None))
    document = TextDocument("a", NOTES)
    bakery, visitor = (
        {"Lund Foods", "Greta Olsen", "Stavanger"},
        {"Maria Costa", "Porto", "Portuguese", "Bergen"},
    )

    def across(extractor: EntityExtractor) -> float:
        return sum(
            item.confidence
            for item in extractor.facts_of(document, least=0.0)
            if {item.head, item.tail} & bakery and {item.head, item.tail} & visitor
        )

    assert across(shipped) < across(once) / 2
    births = [item for item in shipped.facts_of(document) if item.relation == "place_of_birth"]
    best = max(births, key=lambda item: item.confidence)
    assert (best.head, best.tail) == ("Maria Costa", "Porto")
    for item in shipped.facts_of(document, least=0.0):
        assert NOTES[item.place[0] : item.place[1]] == item.head
        assert item.span[0] <= item.place[0] < item.place[1] <= item.span[1]
    # Without headings there is one reading.
    plain = TextDocument("a", NOTES.replace("The bakery\n\n", "").replace("A visitor\n\n", ""))
    assert shipped.facts_of(plain, least=0.0) == once.facts_of(plain, least=0.0)
