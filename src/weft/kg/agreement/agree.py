"""Facts that must agree with each other: a relation with its inverse, a head's only tail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

from torch import Tensor

from weft.kg.schema import Schema
from weft.kg.values import value_of


class Stated(Protocol):
    """A fact with its confidence."""

    @property
    def head(self) -> str:
        """Name of the head."""
        ...

    @property
    def relation(self) -> str:
        """Name of the relation."""
        ...

    @property
    def tail(self) -> str:
        """Name of the tail."""
        ...

    @property
    def confidence(self) -> float:
        """How sure."""
        ...


Fact = TypeVar("Fact", bound=Stated)
_PARENTS = {"child": True, "father": False, "mother": False}
"""Relations of a parent and a child, and whether the head is the parent."""


def with_inverses(margin: Tensor, inverses: Mapping[int, int]) -> Tensor:
    """Scores that say the same of a pair read either way.

        l_ijr ← (l_ijr + l_jis) / 2        s the inverse of r

    Args:
        margin: ``(B, N, N, relations)``, without a column for "none".
        inverses: Relation id, from 1, to the inverse's id.
    """
    result, turned = margin.clone(), margin.transpose(1, 2)
    for relation, other in inverses.items():
        result[..., relation - 1] = (margin[..., relation - 1] + turned[..., other - 1]) / 2
    return result


def without_contradictions(facts: Sequence[Fact], schema: Schema) -> list[Fact]:
    """Facts of one document, in order, without those that a surer one rules out.

    A relation that has an inverse other than itself holds one way alone. Of the tails of a relation with ``one_tail``
    the surest stays, and those that another fact connects with it, as the country of a place of birth, or that are the
    same time said more or less exactly, as 1943 and July 1943. Nobody is the parent of his own parent, nor father and
    mother of one child.

    Args:
        facts: Each once.
        schema: Names all of their relations.
    """
    rules = {relation.name: relation for relation in schema.relations}
    connected = {frozenset((fact.head, fact.tail)) for fact in facts}
    only: dict[tuple[str, str], str] = {}
    kept: set[tuple[str, str, str]] = set()
    parents: set[tuple[str, str]] = set()
    for fact in sorted(facts, key=lambda item: (-item.confidence, item.head, item.relation, item.tail)):
        rule = rules[fact.relation]
        if fact.relation in _PARENTS:
            pair = (fact.head, fact.tail) if _PARENTS[fact.relation] else (fact.tail, fact.head)
            other = {"father": "mother", "mother": "father"}.get(fact.relation)
            if pair[::-1] in parents or (other and (fact.head, other, fact.tail) in kept):
                continue
            parents.add(pair)
        if rule.inverse and (fact.tail, fact.relation, fact.head) in kept:
            continue
        if rule.one_tail:
            first = only.setdefault((fact.head, fact.relation), fact.tail)
            apart = first != fact.tail and frozenset((first, fact.tail)) not in connected
            if apart and not _one_time(first, fact.tail):
                continue
        kept.add((fact.head, fact.relation, fact.tail))
    return [fact for fact in facts if (fact.head, fact.relation, fact.tail) in kept]


def _one_time(first: str, second: str) -> bool:
    """Whether two names are dates, one of which holds the other."""
    values = value_of(first, "TIME"), value_of(second, "TIME")
    if values[0] is None or values[1] is None:
        return False
    return values[0].text.startswith(values[1].text) or values[1].text.startswith(values[0].text)
