"""What a sentence supposes, asks, denies or wishes is not what it states."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from weft.kg.extraction.entity_fact import EntityFact
from weft.kg.extraction.unsaid import UNSAID, less_unsaid
from weft.kg.read.documents import Mention, TextDocument
from weft.kg.read.unsaid import says_nothing

EXAMPLES = Path(__file__).parents[3] / "examples/kg/unsaid"
SENTENCES = [
    item
    for name in ("choice.yaml", "claim.yaml")
    for item in yaml.safe_load((EXAMPLES / name).read_text(encoding="utf-8"))
]
NOT = [
    ("Lena Hart is not the mother of Ben Colley.", False),
    ("Lena Hart wasn’t born in Oslo.", False),
    ("Lena Hart never left Oslo.", True),
    ("Lena Hart is not only the mother of Ben Colley.", True),
    ("Lena Hart did not move to Oslo until 1990.", True),
    ("Lena Hart, who never married, was born in Oslo.", True),
    ("Lena Hart denied the charge and moved to Oslo.", True),
    ("“Is Lena Hart from Oslo?”", False),
    ("Lena Hart of Oslo asks: what now?", True),
    ("The Iller is a tributary of the Danube.", True),
]


def places(text: str, *names: str) -> list[tuple[int, int]]:
    return [(text.index(name), text.index(name) + len(name)) for name in names]


@pytest.mark.parametrize("item", SENTENCES, ids=lambda item: item["text"][:40])
def test_written_sentences(item: dict[str, str]) -> None:
    first, second = places(item["text"], item["head"], item["tail"])
    assert says_nothing(item["text"], first, second) is not item["stated"]
    assert says_nothing(item["text"], second, first) is not item["stated"]


@pytest.mark.parametrize(("text", "stated"), NOT)
def test_not(text: str, stated: bool) -> None:
    names = (
        ("Iller", "Danube") if "Iller" in text else ("Lena Hart", "Ben Colley" if "Ben" in text else "Oslo")
    )
    assert says_nothing(text, *places(text, *names)) is not stated


def fact(text: str, head: str, tail: str) -> EntityFact:
    place, tail_place = places(text, head, tail)
    return EntityFact(head, "place_of_birth", tail, 0.9, place, tail_place, (0, len(text)))


@pytest.mark.parametrize(("lines", "stated"), [(10, False), (100, True)])
def test_a_list_that_ends_in_a_question_asks_nothing(lines: int, stated: bool) -> None:
    others = "\n".join(f"Guest {number} of the evening" for number in range(lines))
    text = f"Was Bo Lind of Vindel a guest\n{others}?"
    mentions = tuple(
        Mention(*place, number, name)
        for number, name in enumerate(("Bo Lind", "Vindel"))
        for place in places(text, name)
    )
    (found,) = less_unsaid([fact(text, "Bo Lind", "Vindel")], TextDocument("one", text, mentions))
    assert found.confidence == pytest.approx(0.9 if stated else UNSAID * 0.9)


def test_one_sentence_that_states_it_is_enough() -> None:
    denied, stated = "Is it true that Bo Lind was born in Vindel?", " Bo Lind was born in Vindel."
    for text, sure in ((denied, 0.9 * UNSAID), (denied + stated, 0.9)):
        mentions = [
            Mention(at, at + len(name), number, name)
            for number, name in enumerate(("Bo Lind", "Vindel"))
            for at in (text.index(name), text.rindex(name))
        ]
        document = TextDocument("one", text, tuple(dict.fromkeys(mentions)))
        (found,) = less_unsaid([fact(text, "Bo Lind", "Vindel")], document)
        assert found.confidence == pytest.approx(sure)


def test_names_of_two_sentences_are_left_alone() -> None:
    text = "Is Bo Lind here? Vindel is far."
    mentions = (Mention(3, 10, 0, "Bo Lind"), Mention(17, 23, 1, "Vindel"))
    (found,) = less_unsaid([fact(text, "Bo Lind", "Vindel")], TextDocument("one", text, mentions))
    assert found.confidence == 0.9


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("Q: Was Lena Hart born in Oslo?\nA: She was not.", False),
        ("[09:17] Mira: is Lena Hart from Oslo??\n[09:18] Dev: no", False),
        ("09:16 - Bo: perfect\n09:17 - Mira: is Lena Hart from Oslo?\n09:18 - Bo: no", False),
        ("[09:16] Bo: She was born in Rome\n[09:17] Mira: is Lena Hart from Oslo?", False),
        ("[09:16] Mira: Lena Hart is from Oslo\n[09:17] Dev: is that so?", True),
        ("Name: Lena Hart\nBorn: Oslo, Norway\nStatus: not married", True),
        ("Q: Lena Hart?\nA: She was born in Oslo.", True),
    ],
)
def test_what_one_speaker_asks(text: str, stated: bool) -> None:
    mentions = tuple(
        Mention(*place, number, text[slice(*place)], "")
        for number, place in enumerate(places(text, "Lena Hart", "Oslo"))
    )
    document = TextDocument("d", text, mentions)
    (found,) = less_unsaid([fact(text, "Lena Hart", "Oslo")], document)
    assert found.confidence == pytest.approx(0.9 if stated else UNSAID * 0.9)


def test_a_daughter_is_no_parent_of_whom_the_text_goes_on_about() -> None:
    """She is named nearer to a later mention of her father than to the one before."""
    text = "Gerald died in 2013. He is survived by their daughter, Imogen. Gerald wrote a memoir."
    mentions = (Mention(0, 6, 0, "Gerald"), Mention(55, 61, 1, "Imogen"), Mention(63, 69, 0, "Gerald"))
    assert [text[item.start : item.end] for item in mentions] == ["Gerald", "Imogen", "Gerald"]
    for head, tail, sure in (("Imogen", "Gerald", UNSAID * 0.9), ("Gerald", "Imogen", 0.9)):
        places = {"Gerald": (63, 69), "Imogen": (55, 61)}
        stated = EntityFact(head, "child", tail, 0.9, places[head], places[tail], (0, len(text)))
        (found,) = less_unsaid([stated], TextDocument("d", text, mentions))
        assert found.confidence == pytest.approx(sure)
