"""What a relative clause tells is told of the name before it."""

from __future__ import annotations

import re

import pytest

from weft.kg.extraction.entity_fact import EntityFact
from weft.kg.extraction.unsaid import UNSAID, less_unsaid
from weft.kg.read.documents import Mention, TextDocument

_NAME = re.compile(r"\[([^]]+)\]")


def kept(text: str, head: str, relation: str, tail: str) -> bool:
    """Whether a fact keeps its confidence; ``[…]`` marks names."""
    plain, mentions, numbers, last = "", list[Mention](), dict[str, int](), 0
    for found in _NAME.finditer(text):
        plain += text[last : found.start()]
        number = numbers.setdefault(found[1], len(numbers))
        mentions.append(Mention(len(plain), len(plain) + len(found[1]), number, found[1]))
        plain, last = plain + found[1], found.end()
    document = TextDocument("a", plain + text[last:], tuple(mentions))
    fact = EntityFact(head, relation, tail, 1.0, (0, 1), (0, 1), (0, len(document.text)))
    (found,) = less_unsaid([fact], document)
    assert found.confidence in (1.0, UNSAID)
    return found.confidence == 1.0


SOLD = "[Lomond] has agreed to sell its subsidiary [Hesper] to [Aster], whose headquarters are in [Aachen]."
SAID = '[Ada Berg] founded [Orbel]. "It was brave," said [Karl Orr], who now lives in [Ulm].'


@pytest.mark.parametrize(
    ("text", "head", "relation", "tail", "stands"),
    [
        (SOLD, "Lomond", "headquarters", "Aachen", False),
        (SOLD, "Hesper", "located_in", "Aachen", False),
        (SOLD, "Aster", "headquarters", "Aachen", True),
        (SOLD, "Lomond", "owner_of", "Hesper", True),
        (SAID, "Karl Orr", "residence", "Ulm", True),
        ("[Ada Berg] thanked [Karl Orr], who lives in [Ulm].", "Ada Berg", "residence", "Ulm", False),
        ("[Ada Berg] and [Karl Orr], who live in [Ulm], wrote it.", "Ada Berg", "residence", "Ulm", True),
        ("[Ada Berg], wife of [Karl Orr], who died in [Ulm].", "Ada Berg", "place_of_death", "Ulm", True),
        ("[Ada Berg] met [Karl Orr], who left, and died in [Ulm].", "Ada Berg", "place_of_death", "Ulm", True),
        ("[Ada] met [Karl], who drove to [Ulm]. [Ada] died in [Ulm].", "Ada", "place_of_death", "Ulm", True),
        ("[Ada Berg] sold it to [Karl Orr], who bought [Orbel].", "Ada Berg", "owner_of", "Orbel", True),
    ],
)  # fmt: skip
def test_clauses(text: str, head: str, relation: str, tail: str, stands: bool) -> None:
    assert kept(text, head, relation, tail) is stands
