"""How a text that is longer than a passage is cut."""

from __future__ import annotations

from dataclasses import replace

import pytest

from weft.kg.extraction.entities import EntityExtractor
from weft.kg.read.apart import Breaks
from weft.kg.read.documents import TextDocument
from weft.kg.represent.document import document_passages
from weft.platform.models import find_model

SENTENCE = "Anna Berg was born in Lyon and moved to Oslo in 1999. "


@pytest.fixture(scope="module")
def shipped() -> EntityExtractor:
    return EntityExtractor.load(find_model("kg", "kg-text-small"))


def lengths(shipped: EntityExtractor, sentences: int, most: int, window: int | None) -> list[int]:
    document = TextDocument("a", SENTENCE * sentences)
    found = document_passages(
        document, shipped.tokenizer, shipped.model.config.types, most, shared=1, window=window
    )
    return [len(example.ids) for example, _ in found]


def test_a_text_that_fits_is_one_passage_and_a_longer_one_several_smaller(shipped: EntityExtractor) -> None:
    (fits,) = lengths(shipped, 30, 512, 256)
    assert 256 < fits <= 512
    assert [fits] == lengths(shipped, 30, 512, None)
    cut = lengths(shipped, 60, 512, 256)
    assert len(cut) > len(lengths(shipped, 60, 512, None)) > 1
    assert max(cut) <= 256
    # A model that reads less at once than a window is asked no more than it reads.
    assert max(lengths(shipped, 60, 128, 256)) <= 128


def test_facts_of_a_long_text_come_from_passages_of_at_most_a_window(shipped: EntityExtractor) -> None:
    people = ("Anna Berg", "Paul Stone", "Maria Lund", "John Hale", "Eva Holm", "Carl Moor", "Ida Roth")
    towns = ("Lyon", "Oslo", "Turin", "Ghent", "Porto", "Basel", "Cork")
    dull = "Nothing else is known of those days, and nobody asked about them again. " * 6
    text = "".join(f"{who} was born in {where}. {dull}" for who, where in zip(people, towns, strict=True))
    assert len(shipped.tokenizer.encode(text)) > 512
    facts = shipped.facts_of(TextDocument("a", text), least=0.3)
    births = {(fact.head, fact.tail) for fact in facts if fact.relation == "place_of_birth"}
    assert births == set(zip(people, towns, strict=True))
    tokens = [len(shipped.tokenizer.encode(text[fact.span[0] : fact.span[1]])) for fact in facts]
    assert max(tokens) <= 256


def test_how_far_apart_names_stand_counts_in_long_texts_alone(shipped: EntityExtractor) -> None:
    assert shipped.confidence is not None
    assert shipped.confidence.apart is not None
    plain = replace(shipped, confidence=replace(shipped.confidence, apart=None))
    short = TextDocument("a", SENTENCE + "\n\nPaul Stone was born there.")
    assert shipped.facts_of(short, least=0.0) == plain.facts_of(short, least=0.0)
    dull = "Nothing else is known of those days, and nobody asked about them again. " * 6
    text = f"{SENTENCE}\n\n{dull}\n\nPaul Stone came from Ghent.\n\n{dull * 6}"
    document, breaks = TextDocument("a", text), Breaks.of(text)
    whole = {(fact.head, fact.relation, fact.tail): fact for fact in plain.facts_of(document, least=0.0)}
    seen: set[int] = set()
    for fact in shipped.facts_of(document, least=0.0):
        before = whole[fact.head, fact.relation, fact.tail]
        between = breaks.between(fact.place[0], fact.tail_place[0])
        seen.add(between[0])
        if before.span == fact.span:
            expected = shipped.confidence.of_names_apart(before.confidence, *between, divided=True)
            assert fact.confidence == pytest.approx(expected)
    assert {0, 2} <= seen
    births = {
        (fact.head, fact.tail): fact.confidence
        for fact in shipped.facts_of(document)
        if fact.relation == "place_of_birth"
    }
    assert max(births, key=lambda pair: births[pair]) == ("Anna Berg", "Lyon")
