"""Who stands in a paragraph of his own, with a firm of his own, has not his neighbour's."""

from __future__ import annotations

import pytest

from weft.kg.extraction.entity_fact import EntityFact
from weft.kg.extraction.neighbours import NEIGHBOURS, less_of_neighbours
from weft.kg.read.documents import Mention, TextDocument

KINDS = {"Mira": "PER", "Ben": "PER", "Galp": "ORG", "Siemens": "ORG", "Porto": "LOC", "Trier": "LOC"}
APART = "Mira works for Galp.\n\nBen works for Siemens."


def sure(text: str, *facts: tuple[str, str, str, float]) -> list[float]:
    """How sure they are then."""
    mentions = tuple(
        sorted(
            Mention(at, at + len(name), number, name, kind)
            for number, (name, kind) in enumerate(KINDS.items())
            for at in range(len(text))
            if text.startswith(name, at)
        )
    )
    stated = [
        EntityFact(head, relation, tail, value, (0, 1), (0, 1), (0, len(text)), KINDS[head], KINDS[tail])
        for head, relation, tail, value in facts
    ]
    return [fact.confidence for fact in less_of_neighbours(stated, TextDocument("d", text, mentions))]


OWN = (("Mira", "employer", "Galp", 0.9), ("Ben", "employer", "Siemens", 0.9))
CROSSED = (("Mira", "employer", "Siemens", 0.8), ("Ben", "employer", "Galp", 0.8))


@pytest.mark.parametrize("text", [APART, APART.replace("\n\n", "\n"), APART.replace("\n\n", "\r\n \r\n")])
def test_neighbours_lose(text: str) -> None:
    lost = NEIGHBOURS * 0.8
    assert sure(text, *OWN, *CROSSED) == pytest.approx([0.9, 0.9, lost, lost])


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        # One paragraph, or names that share one somewhere.
        (APART.replace("\n\n", " "), (*OWN, *CROSSED)),
        (APART + " Ben had left Galp. Mira now helps him.", (*OWN, *CROSSED)),
        # No partner on one of both sides: he goes on in the next paragraph.
        ("Mira is a chemist.\n\nBen works for Siemens. Galp is far.", (OWN[1], CROSSED[0])),
        ("Mira works for Galp.\n\nShe had been at Siemens.", (OWN[0], CROSSED[0])),
        # A partner that is not sure enough.
        (APART, (OWN[0], ("Ben", "employer", "Siemens", 0.4), *CROSSED)),
        # Of another relation or of another type.
        (APART, (OWN[0], ("Ben", "founded_by", "Siemens", 0.9), *CROSSED)),
        # Neighbours share a country, and places without persons their region.
        (
            "Mira is from Porto.\n\nBen is from Trier.",
            (
                ("Mira", "country_of_citizenship", "Porto", 0.9),
                ("Ben", "country_of_citizenship", "Trier", 0.9),
                ("Mira", "country_of_citizenship", "Trier", 0.8),
            ),
        ),
        (
            "Galp is in Porto.\n\nSiemens is in Trier.",
            (
                ("Galp", "headquarters", "Porto", 0.9),
                ("Siemens", "headquarters", "Trier", 0.9),
                ("Galp", "headquarters", "Trier", 0.8),
            ),
        ),
    ],
)
def test_others_stay(text: str, facts: tuple[tuple[str, str, str, float], ...]) -> None:
    assert sure(text, *facts) == [fact[3] for fact in facts]
