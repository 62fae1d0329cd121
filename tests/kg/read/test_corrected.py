"""Of what a text says to be so and not otherwise the first stands, wherever else the other is said."""

from __future__ import annotations

import re

import pytest

from weft.kg.extraction.entity_fact import EntityFact
from weft.kg.extraction.unsaid import UNSAID, less_unsaid
from weft.kg.read.corrected import corrections
from weft.kg.read.documents import Mention, TextDocument

_NAME = re.compile(r"\[([^]|]+)(?:\|(\w+))?\]")


def document(text: str) -> TextDocument:
    """``[Name|TYPE]`` marks a name, a place where no type is said."""
    plain, mentions, numbers, last = "", list[Mention](), dict[str, int](), 0
    for found in _NAME.finditer(text):
        plain += text[last : found.start()]
        number = numbers.setdefault(found[1], len(numbers))
        mentions.append(Mention(len(plain), len(plain) + len(found[1]), number, found[1], found[2] or "LOC"))
        plain, last = plain + found[1], found.end()
    return TextDocument("a", plain + text[last:], tuple(mentions))


@pytest.mark.parametrize(
    "text",
    [
        "She was born in [Ulm], not in [Bonn].",
        "She was born in [Ulm] and not in [Bonn].",
        "She was born not in [Bonn] but in [Ulm].",
        "She studied in [Ulm] rather than [Bonn].",
    ],
)
def test_corrections(text: str) -> None:
    read = document(text)
    assert [item[:2] for item in corrections(read.text, read.mentions)] == [("Ulm", "Bonn")]


@pytest.mark.parametrize(
    "text",
    [
        "She was born in [Ulm], not far from [Bonn].",
        "She lived not only in [Bonn] but in [Ulm].",
        "She lived in [Ulm], not in [Bonn], where she was born.",
        "She was born in [Ulm], not [Ada Berg|PER].",
        "She left [Ulm] but not for long. In [Bonn] she wrote.",
        "She lived in [Bonn] but in [Ulm] she was happy.",
    ],
)
def test_what_is_none(text: str) -> None:
    read = document(text)
    assert corrections(read.text, read.mentions) == []


def sure(text: str, *facts: tuple[str, str, str, float]) -> list[float]:
    read = document(text)
    told = [
        EntityFact(head, relation, tail, confidence, (0, 1), (0, 1), (0, len(read.text)))
        for head, relation, tail, confidence in facts
    ]
    return [round(fact.confidence, 3) for fact in less_unsaid(told, read)]


def test_the_quoted_error_is_less_sure_than_what_corrects_it() -> None:
    text = "[Ada Berg|PER] was born in [Ulm], not in [Bonn]. You wrote: [Ada Berg|PER] was born in [Bonn]."
    born = [("Ada Berg", "place_of_birth", "Ulm", 0.9), ("Ada Berg", "place_of_birth", "Bonn", 0.9)]
    assert sure(text, *born) == [0.9, round(UNSAID * 0.9, 3)]
    turned = [(tail, "birthplace_of", head, value) for head, _, tail, value in born]
    assert sure(text, *turned) == [0.9, round(UNSAID * 0.9, 3)]


def test_others_and_other_relations_keep_theirs() -> None:
    text = (
        "[Ada Berg|PER] was born in [Ulm], not in [Bonn]. She was a smith. [Karl Orr|PER] was born in [Bonn]. "
        "[Ada Berg|PER] died in [Bonn]."
    )
    facts = [
        ("Ada Berg", "place_of_birth", "Ulm", 0.9),
        ("Karl Orr", "place_of_birth", "Bonn", 0.9),
        ("Karl Orr", "place_of_birth", "Ulm", 0.6),
        ("Ada Berg", "place_of_death", "Bonn", 0.9),
    ]
    assert sure(text, *facts) == [0.9, 0.9, 0.6, 0.9]
    # What the correction says to be so is itself not sure.
    unsure = [("Ada Berg", "place_of_birth", "Ulm", 0.3), ("Ada Berg", "place_of_birth", "Bonn", 0.9)]
    assert sure(text + " [Ada Berg|PER] was born in [Bonn].", *unsure) == [0.3, 0.9]
