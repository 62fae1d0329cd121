"""Countries in the place of adjectives."""

from __future__ import annotations

from weft.kg.agreement.demonyms import country_of, with_countries
from weft.kg.extraction.entity_fact import EntityFact


def fact(head: str, relation: str, tail: str, confidence: float, kinds: tuple[str, str]) -> EntityFact:
    return EntityFact(head, relation, tail, confidence, (0, 1), (2, 3), (0, 9), *kinds)


def test_what_comes_from_a_country_names_it() -> None:
    assert country_of("Swedish") == "Sweden"
    assert country_of("new  zealanders") == "New Zealand"
    assert country_of("Sweden") is None
    assert country_of("European") is None


def test_places_alone_are_changed_and_facts_that_become_one_are_one() -> None:
    stated = [
        fact("Malmö", "country", "Swedish", 0.9, ("LOC", "LOC")),
        fact("Malmö", "country", "Sweden", 0.7, ("LOC", "LOC")),
        fact("Kris", "original_language", "Swedish", 0.8, ("MISC", "MISC")),
        fact("Swedish", "capital", "Stockholm", 0.5, ("LOC", "LOC")),
        fact("Swedish", "country", "Sweden", 0.6, ("LOC", "LOC")),
        fact("Ida", "country_of_citizenship", "European", 0.6, ("PER", "LOC")),
    ]
    kept = with_countries(stated)
    assert [(item.head, item.relation, item.tail, item.confidence) for item in kept] == [
        ("Malmö", "country", "Sweden", 0.9),
        ("Kris", "original_language", "Swedish", 0.8),
        ("Sweden", "capital", "Stockholm", 0.5),
        ("Ida", "country_of_citizenship", "European", 0.6),
    ]
    assert kept[0].tail_place == (2, 3)
