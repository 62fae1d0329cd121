"""Words that are run together: what is read apart, and what stays one word."""

import pytest

from weft.absa.represent.meant import as_read
from weft.absa.represent.slips import Words, english


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("it was inthe room, toomuch noise", "it was in the room, too much noise"),
        ("waited outside andthe food wasgood", "waited outside and the food was good"),
        ("wakes thebaby, areso loud", "wakes the baby, are so loud"),
        ("yetagain behindthe counter", "yet again behind the counter"),
    ],
)
def test_two_words_are_read_apart(text, meant):
    assert as_read(text, lambda _: True, as_meant=True)[0] == meant


@pytest.mark.parametrize(
    "word",
    ["youtube", "linkedin", "westin", "justin", "batterylife", "inn", "batteryl"],
)
def test_one_word_stays(word):
    assert " " not in english().meant(word)


def test_a_name_stays():
    assert english().slips("We met Thefood, Westin and Andrea at the bar of Thefood") == ()


def test_both_words_are_frequent_and_one_of_them_joins():
    words = Words({"the": 0, "slow": 900, "food": 700, "rare": 4_900, "gourd": 5_000, "ox": 600})
    assert words.meant("theslow") == "the slow"
    # Neither joins; not frequent; too costly; too short a part that joins nothing.
    for word in ("slowfood", "thegourd", "therare", "theox"):
        assert words.meant(word) == word
