"""``weft.kg.read.together``: several documents as one text."""

from __future__ import annotations

from weft.kg.read.documents import GivenFact, Mention, TextDocument
from weft.kg.read.together import together

FIRST = TextDocument(
    "a",
    "Anna of Lund.",
    (Mention(0, 4, 0, "Anna", "PER"), Mention(8, 12, 1, "Lund", "LOC")),
    (GivenFact(0, "residence", 1),),
)
SECOND = TextDocument(
    "b",
    "LUND, where Ida of Lund reads Anna.",
    (
        Mention(0, 4, 3, "Lund", "LOC"),
        Mention(12, 15, 7, "Ida", "PER"),
        Mention(19, 23, 3, "Lund", "LOC"),
        Mention(30, 34, 1, "Anna", "MISC"),
    ),
    (GivenFact(7, "residence", 3), GivenFact(7, "notable_work", 1)),
)


def test_places_move_and_names_that_read_alike_are_one_of_a_type() -> None:
    text, starts = together([FIRST, SECOND], "both")
    assert text.id == "both"
    assert text.text == "Anna of Lund.\n\nLUND, where Ida of Lund reads Anna."
    assert starts == (0, 15)
    shown = [(text.text[m.start : m.end], m.entity, m.type) for m in text.mentions]
    assert shown == [
        ("Anna", 0, "PER"),
        ("Lund", 1, "LOC"),
        ("LUND", 1, "LOC"),
        ("Ida", 2, "PER"),
        ("Lund", 1, "LOC"),
        ("Anna", 3, "MISC"),
    ]
    # Each fact is that of its own document: nothing connects the two Annas.
    assert text.facts == ((0, "residence", 1), (2, "notable_work", 3), (2, "residence", 1))


def test_one_document_stays_as_it_is() -> None:
    text, starts = together([FIRST], "a")
    assert (text, starts) == (FIRST, (0,))


def test_father_and_son_of_one_name_are_no_fact_with_themselves() -> None:
    names = (Mention(0, 4, 0, "Anna", "PER"), Mention(9, 13, 1, "Anna", "PER"))
    document = TextDocument("a", "Anna and Anna.", names, (GivenFact(0, "child", 1),))
    text, _ = together([document], "a")
    assert [item.entity for item in text.mentions] == [0, 0]
    assert text.facts == ()
