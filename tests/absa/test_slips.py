"""Slips of the keyboard: what is read as another word, and what stays."""

from __future__ import annotations

import itertools

import pytest

from weft.absa.represent.slips import Words, english, mended
from weft.absa.represent.spelling import spelled

FEW = Words(
    {"the": 0, "good": 100, "battery": 900, "bitter": 2_000, "lovely": 3_000, "too": 50, "soo": 20_000},
    ["so"],
)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("Recieved it, the batery is definately amazng", "received battery definitely amazing"),
        ("the staf were freindly", "staff friendly"),
        ("Dissapointed. Resturant was closed", "disappointed restaurant"),
        ("SOOOO SLOWWW, TERIBLE SERVIEC", "so slow terrible service"),
        ("it is goood and tooo loud, loooove it", "good too love"),
    ],
)
def test_slips_are_read_as_what_is_meant(written: str, meant: str) -> None:
    assert " ".join(slip.word for slip in english().slips(written)) == meant


@pytest.mark.parametrize(
    "text",
    [
        "didnt wasnt dont youre theyll",
        "Lohan at Bistro Amadia, and Anna's Kuchel",
        "see www.restuarant.com or mail servce@hotle.org, #amazng @freindly",
        "the wi-fi, the ice-crem maker and a x_batery",
        "earbuds, firmware, laggy, macarons, hoovered, vape, paneer",
        "qzx ab teh",
        "das zimer war seehr schmutzig und der serviec unfreundlch",
        "",
    ],
)
def test_names_addresses_compounds_and_other_languages_stay(text: str) -> None:
    assert english().slips(text) == []


def test_no_known_word_is_read_as_another() -> None:
    words = english()
    assert len(words.rank) > 50_000
    assert all(words.meant(word) == word for word in itertools.islice(words.known, 0, None, 97))
    assert words.rank["the"] < words.rank["battery"] < 40_000 == words.rank["overpriced"]


def test_the_likeliest_of_several_is_meant() -> None:
    # A letter typed twice and two exchanged cost nothing; the last letter is seldom the wrong one.
    assert FEW.meant("bittery") == "battery"
    assert FEW.meant("bittter") == "bitter"
    assert FEW.meant("lovley") == "lovely"
    assert FEW.meant("tooooo") == "too"
    assert FEW.meant("sooooo") == "so"
    assert FEW.meant("goxd", most=0.5) == "goxd"


def test_a_mended_word_stands_for_all_that_was_written() -> None:
    text = "The batery’s fine &amp; soooo good"
    written, places = mended(*spelled(text, str.isascii))
    assert written == "The battery's fine & so good"
    assert places is not None
    assert len(places) == len(written)
    assert {text[slice(*places[written.index("battery") + at])] for at in range(7)} == {"batery"}
    assert [text[slice(*places[written.index(part)])] for part in ("'", "&", "so", "good")] == [
        "’",
        "&amp;",
        "soooo",
        "g",
    ]
    assert mended("all is fine", None) == ("all is fine", None)
