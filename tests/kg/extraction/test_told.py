"""The evidence of a fact is the one sentence that holds both names, where there is one."""

from __future__ import annotations

from weft.kg.extraction.entity_fact import EntityFact
from weft.kg.extraction.told import in_one_sentence
from weft.kg.read.documents import Mention, TextDocument

TEXT = "Diop of Fes, it says, was born in May. Diop lives in Rom. Fes is old. Diop. Fes."


def mentions(*names: str) -> tuple[Mention, ...]:
    found = []
    for number, name in enumerate(names):
        place = TEXT.find(name)
        while place >= 0:
            found.append(Mention(place, place + len(name), number, name))
            place = TEXT.find(name, place + 1)
    return tuple(sorted(found))


def fact(
    head: str, tail: str, place: int, tail_place: int, span: tuple[int, int] = (0, len(TEXT))
) -> EntityFact:
    return EntityFact(
        head, "r", tail, 0.9, (place, place + len(head)), (tail_place, tail_place + len(tail)), span
    )


def test_one_sentence_before_the_nearest_places() -> None:
    document = TextDocument("a", TEXT, mentions("Diop", "May", "Rom", "Fes"))
    second, may, rom = TEXT.index("Diop lives"), TEXT.index("May"), TEXT.index("Rom")
    last = TEXT.index("Diop.")
    near = fact("Diop", "May", second, may)
    (told,) = in_one_sentence([near], document)
    assert (told.place, told.tail_place) == ((0, 4), (may, may + 3))
    same = fact("Diop", "Rom", second, rom)
    apart = fact("May", "Rom", may, rom)
    # That sentence is not of the passage which the fact was read from.
    elsewhere = fact("Diop", "Fes", last, TEXT.rindex("Fes"), (second, len(TEXT)))
    assert in_one_sentence([same, apart, elsewhere], document) == [same, apart, elsewhere]
    whole = fact("Diop", "Fes", last, TEXT.rindex("Fes"))
    assert in_one_sentence([whole], document)[0].place == (0, 4)
