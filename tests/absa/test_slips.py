"""Slips of the keyboard: what is read as another word, and what stays."""

from __future__ import annotations

import numpy as np
import pytest

from weft.absa.find.finder import Finder
from weft.absa.find.records import noted
from weft.absa.find.summary import Summary
from weft.absa.records import Context, Sentence
from weft.absa.represent.slips import Words, english, mended
from weft.absa.represent.spelling import spelled
from weft.absa.represent.targets import mentioning, target_positions, target_spans
from weft.absa.use.asker import Asker
from weft.absa.use.predict import Tally, records
from weft.absa.use.store import load
from weft.cli.main import main

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
        ("YEMEK GÜZEL \u0130 SERVCE", "service"),
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
        "miele is the best, my last Miele lasted; the batterry-free sonos, by stihl, the shite doner",
        "ha" * 5_000,
        "das zimer war seehr schmutzig und der serviec unfreundlch",
        "",
    ],
)
def test_names_addresses_compounds_and_other_languages_stay(text: str) -> None:
    assert english().slips(text) == ()


@pytest.mark.parametrize(
    "text",
    [
        "Das WLAN ist mies but the trainers are great",
        "Das Personal hier ist super but the showers are cold",
        "Leider war das Essen kalt, staff were lovely though",
        "great gym, leider ist die Sauna immer voll",
        "Preise zu hoch but I like the classes",
        "THE TRAINERS ARE GREAT ABER DAS WLAN IST MIES",
    ],
)
def test_german_among_english_stays(text: str) -> None:
    assert english().slips(text) == ()


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("Das WLAN ist mies but the batery is amazng", "battery amazing"),
        ("im dissapointed, the staff at Zum Adler is wird", "disappointed weird"),
        ("it was sehr gut. Freindly staff", "friendly"),
        ("sono as you open it", "soon"),
    ],
)
def test_slips_beside_no_german_are_read_as_what_is_meant(written: str, meant: str) -> None:
    assert " ".join(slip.word for slip in english().slips(written)) == meant


def test_no_known_word_is_read_as_another() -> None:
    words = english()
    assert len(words.rank) > 50_000
    assert {word for word in words.known if words.meant(word) != word} == {"incase", "aswell"}
    assert words.rank["the"] < words.rank["battery"] < 40_000 == words.rank["overpriced"]


def test_the_likeliest_of_several_is_meant() -> None:
    # A letter typed twice and two exchanged cost nothing; the last letter is seldom the wrong one.
    assert FEW.meant("bittery") == "battery"
    assert FEW.meant("bittter") == "bitter"
    assert FEW.meant("lovley") == "lovely"
    assert FEW.meant("tooooo") == "too"
    assert FEW.meant("sooooo") == "so"
    assert FEW.meant("batxery") == "battery"
    assert FEW.meant("batxery", name=True) == "batxery"


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


@pytest.fixture(scope="module")
def shipped() -> Asker:
    return load("absa-any")


def test_a_slip_in_text_or_aspect_changes_no_answer_and_is_noted(shipped: Asker) -> None:
    asked = (Context("battery"), Context("price"))
    right = Sentence("The battery is terrible", asked)
    wrong = Sentence("The batery is terrrible", (Context("batery"), Context("price")))
    assert np.array_equal(shipped.answer([right])[0], shipped.answer([wrong])[0])
    found = records(shipped, [wrong, right])
    assert [record["note"] for record in found] == [
        *["read as meant: batery as battery, terrrible as terrible"] * 2,
        *[None] * 2,
    ]
    tally = Tally()
    tally.add(found)
    assert tally.lines() == [
        "2 of 4 questions are about texts of which words are read as what is likely meant: see their notes"
    ]
    many = records(shipped, [Sentence("the batery, teh screan, the camara and the moniter", asked[:1])])
    assert many[0]["note"].endswith(
        "read as meant: batery as battery, screan as screen, camara as camera, and 1 more"
    )


def test_as_written_reads_words_as_they_stand(shipped: Asker, capsys: pytest.CaptureFixture[str]) -> None:
    text = "The batery is terrrible"
    stands = shipped.as_written()
    assert stands.config.threshold == shipped.config.threshold
    assert "read as meant" not in (records(stands, [Sentence(text, (Context("battery"),))])[0]["note"] or "")
    assert stands.representation.pieces(text) != shipped.representation.pieces(text)
    assert stands.calibrated(2.0).representation.mended(text) == []
    command = ["absa", "predict", text, "--aspect", "battery", "--json"]
    assert main(command) == 0
    assert "read as meant" in capsys.readouterr().out
    assert main([*command, "--as-written"]) == 0
    assert "read as meant" not in capsys.readouterr().out
    command = ["absa", "explain", text, "--aspect", "battery"]
    assert main(command) == 0
    out, err = capsys.readouterr()
    assert "batery" in out
    assert err == "weft absa explain: read as meant: batery as battery, terrrible as terrible\n"
    assert main([*command, "--as-written"]) == 0
    assert capsys.readouterr().err == ""


def test_a_target_is_found_in_what_is_meant(shipped: Asker) -> None:
    text = "the batery &amp; my batery"
    assert target_spans(text, "battery", as_meant=True) == [(4, 10), (20, 26)]
    assert target_spans(text, "battery") == []
    assert target_spans("a battery, the batery", "battery", as_meant=True) == [(2, 9), (15, 21)]
    assert target_spans("the rommer", "rommer", as_meant=True) == [(4, 10)]
    assert shipped.mentions("my batery died", "battery")
    assert not shipped.as_written().mentions("my batery died", "battery")
    offsets = shipped.representation.pieces("my batery died").offsets
    assert [offsets[at] for at in target_positions("my batery died", "battery", offsets, as_meant=True)] == [
        (3, 9)
    ]
    assert mentioning("x. my batery", "battery", (0, 3), ("x.", "my batery"), as_meant=True) == [False, True]


def test_what_is_found_counts_under_what_is_meant(shipped: Asker) -> None:
    finder, summary = Finder(shipped), Summary()
    texts = ["The batery is terrible.", "The battery is great."]
    for row, (text, found) in enumerate(zip(texts, finder.find(texts), strict=True), 1):
        summary.add(row, text, found, noted(text, finder))
    told = summary.as_json()
    assert told["mended"] == 1
    assert [(aspect["aspect"], aspect["terms"]) for aspect in told["aspects"]] == [
        ("battery", {"battery": 2})
    ]
    (found,) = finder.find(texts[:1])[0]
    assert (found.term, found.span, found.meant) == ("batery", (4, 10), "battery")
