"""How far apart two places stand, and documents cut into paragraphs."""

from __future__ import annotations

import time
from random import Random

import pytest

from weft.kg.read.apart import Breaks, in_paragraphs
from weft.kg.read.documents import Mention, TextDocument
from weft.kg.read.sentences import sentence_starts

TEXT = "Anna came. Paul left.\n\nMaria stayed. Nobody asked.\n \nEva wrote."


def test_paragraphs_and_sentences_between_two_places() -> None:
    breaks = Breaks.of(TEXT)
    places = {word: TEXT.index(word) for word in ("Anna", "Paul", "Maria", "Nobody", "Eva")}
    assert breaks.between(places["Anna"], places["Paul"]) == (0, 1)
    assert breaks.between(places["Maria"], places["Paul"]) == (1, 1)
    assert breaks.between(places["Anna"], places["Eva"]) == (2, 4)
    assert breaks.between(places["Eva"], places["Eva"]) == (0, 0)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_an_end_of_a_line_is_one_however_it_is_written(end: str) -> None:
    text = TEXT.replace("came. ", "came,\nsaw. ").replace("\n", end)
    breaks = Breaks.of(text)
    assert [text[start:][:4] for start in breaks.sentences] == ["Paul", "Mari", "Nobo", "Eva "]
    assert [text[start:][:4] for start in breaks.paragraphs] == ["Mari", "Eva "]


@pytest.mark.parametrize(
    ("text", "second"),
    [
        ("J.K. Rowling wrote it. It sold.", "It"),
        ("Yahoo! was founded. It sold.", "It"),
        ("He said … that it was. It was.", "It"),
        ("He left! She stayed.", "She"),
        ("Plan B. It worked.", "It"),
        ("Plan B. Smith worked.", None),
    ],
)
def test_a_sentence_is_not_cut_in_a_name(text: str, second: str | None) -> None:
    starts = sentence_starts(text)
    assert [text[start:].split()[0] for start in starts[1:]] == ([] if second is None else [second])


def test_empty_lines_take_time_in_proportion_to_their_number() -> None:
    begun = time.process_time()
    assert sentence_starts("One.\n" + "\r\n " * 50_000 + "Two.") == (0, 150_005)
    assert time.process_time() - begun < 5


def test_a_document_in_paragraphs_keeps_its_mentions() -> None:
    text = "Anna Berg came from St. Paul. She left. Paul Stone stayed there. He wrote."
    names = ("Anna Berg", "St. Paul", "Paul Stone")
    mentions = tuple(
        Mention(text.index(name), text.index(name) + len(name), number, name)
        for number, name in enumerate(names)
    )
    document = TextDocument("a", text, mentions, (), (0, 24, 30, 40, 65))
    cut = in_paragraphs(document, Random(0), share=1.0)
    # No paragraph begins inside of "St. Paul", though a sentence is said to.
    assert cut.text == "Anna Berg came from St. Paul.\n\nShe left.\n\nPaul Stone stayed there.\n\nHe wrote."
    assert tuple(cut.text[item.start : item.end] for item in cut.mentions) == names
    assert in_paragraphs(document, Random(0), share=0.0).text == text
    some = in_paragraphs(document, Random(1), share=0.5)
    assert 0 < some.text.count("\n\n") < 3
    assert some == in_paragraphs(document, Random(1), share=0.5)
