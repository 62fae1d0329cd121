"""Adjectives of countries and names of peoples are no places: Malmö's country is Sweden, not "Swedish"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weft.kg.extraction.entity_fact import EntityFact

_PLACE = "LOC"


def country_of(name: str) -> str | None:
    """The country that an adjective or the name of a people is of; None where it is neither."""
    return _countries().get(" ".join(name.casefold().split()))


def with_countries(facts: Sequence[EntityFact]) -> list[EntityFact]:
    """Facts in order, with the country where a place is named by what comes from it; the surest of those that are one.

    Only an end that counts as a place is changed: the language of a book stays Swedish. Where it stands in the text
    stays, too. A fact that would say of a country what it is to itself is left out.

    Args:
        facts: Each once.
    """
    best: dict[tuple[str, str, str], EntityFact] = {}
    for fact in facts:
        head, tail = _named(fact.head, fact.head_type), _named(fact.tail, fact.tail_type)
        if (head, tail) != (fact.head, fact.tail):
            if head == tail:
                continue
            fact = replace(fact, head=head, tail=tail)
        key = fact.head, fact.relation, fact.tail
        if key not in best or fact.confidence > best[key].confidence:
            best[key] = fact
    return list(best.values())


def _named(name: str, kind: str) -> str:
    return (country_of(name) or name) if kind == _PLACE else name


@cache
def _countries() -> dict[str, str]:
    found: dict[str, str] = {}
    text = files("weft.kg.agreement").joinpath("demonyms.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        if line and not line.startswith("#"):
            country, names = line.split("|")
            found.update({name.strip().casefold(): country.strip() for name in names.split(";")})
    return found
