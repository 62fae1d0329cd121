"""Short forms of chats read as words: what is one, and what only looks like one."""

from __future__ import annotations

import pytest

from weft.absa.represent.meant import as_read
from weft.absa.represent.shorthand import shorthand


def read(text: str) -> str:
    return as_read(text, lambda _: True, as_meant=True)[0]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("gr8 staff tho u w8 4ever", "great staff though you wait forever"),
        ("LUV it, idk y ppl moan", "love it, I do not know y people moan"),
        (
            "fries w/ mayo, burger w/o bun b/c they ran out",
            "fries with mayo, burger without bun because they ran out",
        ),
        ("food was v good n hot", "food was very good and hot"),
        ("rooms r big but u r on ur own", "rooms are big but you are on your own"),
        ("2 loud 4 me, had 2 call 4 a refund", "too loud for me, had to call for a refund"),
        ("so easy 2 use bt ez 2 break", "so easy to use but easy to break"),
        ("queue is slow af rn.", "queue is slow as hell right now."),
        ("Thx. Def worth it", "thanks. Def worth it"),
    ],
)
def test_forms_are_read_as_words(text, meant):
    assert read(text) == meant


@pytest.mark.parametrize(
    "text",
    [
        "A course in R, vitamin U, the N train and Ty himself.",
        "The n word was written on the wall.",
        "A table for 2 small children, 4 of them, 2 hot meals each",
        "My BC trip, the RN on duty, the ATM outside, a BT keyboard.",
        "season 2 see above, room 4 a mess, only 2 call buttons, had 2 hot meals",
        "See w/e or example.com/thx or @ppl or #gr8, dat-file.rn",
        "guns n' roses, b&n, 4x4, 2-4 days",
    ],
)
def test_what_only_looks_like_one_stays(text):
    assert list(shorthand(text)) == []


def test_every_character_knows_its_place():
    text = "gr8 spot 4 me"
    written, places = as_read(text, lambda _: True, as_meant=True)
    assert written == "great spot for me"
    assert places is not None
    assert [text[slice(*places[written.index(word)])] for word in written.split()] == ["gr8", "s", "4", "m"]


def test_as_written_it_stays():
    assert as_read("gr8 staff", lambda _: True, as_meant=False) == ("gr8 staff", None)


def test_words_of_ones_own_stay():
    own = frozenset({"luv"})
    assert [slip.word for slip in shorthand("luv the Luv bar, gr8", own)] == ["great"]
    assert as_read("Luv bar is gr8", lambda _: True, True, own)[0] == "Luv bar is great"
