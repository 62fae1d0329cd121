"""Ratings inside a text: what they are read as, and what is none."""

from __future__ import annotations

import pytest

from weft.absa import load
from weft.absa.records import Context, Sentence
from weft.absa.represent.meant import as_read, read_otherwise
from weft.absa.represent.ratings import ratings
from weft.absa.represent.slips import Slip, replaced
from weft.absa.use.notes import notes_on
from weft.absa.use.predict import records


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Food 9/10, service 2/10.", "Food is excellent, service is terrible."),
        (
            "Room: 8.5 / 10, desk 5 out of 10, bed 3 out of 5 stars",
            "Room is good, desk is average, bed is average",
        ),
        ("Speed 95/100, look 35/100, app 0/5", "Speed is excellent, look is bad, app is terrible"),
        ("chef 11/10, waiter 13/10", "chef is excellent, waiter 13/10"),
        ("Screen ★★★★★ speakers ★☆☆☆☆", "Screen is excellent, speakers is terrible"),
        ("Screen ⭐⭐⭐⭐ speakers ⭐", "Screen is good, speakers is terrible"),
        ("⭐ Great phone ⭐", "⭐ Great phone ⭐"),
        ("Nurse: 5 stars. Food: one star", "Nurse is excellent. Food is terrible"),
        ("a 4 star hotel with 5 stars", "a 4 star hotel with 5 stars"),
        ("Coffee 👍🏽 toilets 👎👎 fine", "Coffee is good, toilets is bad, fine"),
        ("✅ beach ❌ wifi\nbus ✔️ late", "good beach , bad wifi\nbus is good, late"),
        ("5/5 Lovely", "excellent. Lovely"),
        ("★★☆☆☆", "bad"),
        ("on 9/10 we came, 4/5 of the rooms, 9/10/2024, 1/100th, $5/10, v2.5/10, 24/7, 1/5-2/5", None),
        (
            "in size 9/10, grade 4/5, waited 5/10 minutes, 9/10 times, a 10/100 switch, 5/5 mm",
            None,
        ),
        ("my pain was 9/10, noise level: 9/10, the app had 4.8/5, 4.8/5 reviews, would be 5/5 if", None),
        ("★★ GREAT WIFI ★★", None),
        ("wifi ★ ★ ★ ★ ☆ pool ★ ☆ ☆ ☆ ☆", "wifi is good, pool is terrible"),
        ("food👍toilets👎", "food is good, toilets is bad"),
        ("2/10 for the wifi, 9/10 for the pool", "terrible for the wifi, excellent for the pool"),
        (
            "1/10 food but 10/10 drinks\nwould go 9/10",
            "terrible food but excellent drinks\nwould go is excellent",
        ),
        ("10/10 would recommend", "excellent. would recommend"),
        # What is denied, would be given, or is a fact.
        (
            "not a 10/10, it doesn\u0027t deserve ★★★★★, better than 5/10, never a 👍",
            "not a perfect, it doesn\u0027t deserve ★★★★★, better than 5/10, never a 👍",
        ),
        ("not 9/10 times, isn\u0027t a 3/10", None),
        ("not bad, 8/10", "not bad, is good"),
        ("👍 if you agree, press 👍 or 👎", None),
        ("Hotel Adler ★★★★, Michelin ⭐⭐", None),
        ("Hotel ★★★★★ beach ★★", "Hotel is excellent, beach is bad"),
        ("To do:\n✅ laundry\n❌ dishes", None),
        ("Packing list for boarding:\n✔ bowl\n✔ blanket", None),
        ("What to bring:\n✔ bowl\n✘ toys", None),
        ("A packing list for boarding ✔ bowl ✘", "A packing list for boarding is good, bowl is bad"),
        ("Mon ✅ Tuesday ❌", None),
        ("Included: ✅ breakfast ❌ dinner", None),
        ("Paid ✔ Invoice ✘", None),
        ("Order 1182: packed ✅ not yet shipped ❌\nVisa ✔️", None),
        ("Well packed ✅ price ❌", "Well packed is good, price is bad"),
        ("I purchased it, order placed 9/10, it died 10/10, expires 5/10", None),
        ("chapter 3/10, 9/10 dentists, 1 out of 10 worked, 45/100 sold, strength 5/5 bilaterally", None),
        ("7/10 abdominal pain, headache 7/10, 8/10 pain in the knee", None),
        ("9/10 pain relief", "excellent pain relief"),
        ("EDIT (9/10): works, update 5/10", None),
        ("The food was 9/10, tubs are a 2/10", "The food was excellent, tubs are a terrible"),
        ("", None),
    ],
)
def test_ratings_are_words(text: str, read: str | None) -> None:
    assert replaced(text, None, ratings(text))[0] == (text if read is None else read)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Sauna: 9/10\nTowels: 2/10\n", "Sauna is excellent.\nTowels is terrible\n"),
        ("Sauna - 9/10\n\nTowels - 2/10", "Sauna is excellent.\n\nTowels is terrible"),
        ("Sauna 9 out of 10\nTowels 2 out of 10", "Sauna is excellent.\nTowels is terrible"),
        ("Sauna: 9/10 Towels: 2/10", "Sauna is excellent. Towels is terrible"),
        ("sauna 9/10 hot towels 2/10", "sauna is excellent, hot towels is terrible"),
        ("Sauna (9/10) Towels (2/10)", "Sauna is excellent. Towels is terrible"),
        ("Sauna 9/10 / Towels 2/10", "Sauna is excellent, / Towels is terrible"),
        ("| Sauna | 9/10 |\n| Towels | 2/10 |", "| Sauna is excellent |\n| Towels is terrible |"),
        ("* Sauna: 9/10 hot\n* Towels: 2/10", "* Sauna is excellent, hot\n* Towels is terrible"),
        ("1. Sauna: 9/10 2. Towels: 2/10", "1. Sauna is excellent, 2. Towels is terrible"),
        ("Sauna\n9/10\n\nHot towels:\n★☆☆☆☆\n", "Sauna is excellent.\n\nHot towels is terrible.\n"),
        ("Sauna: ★★★★★\nTowels: 👎\n", "Sauna is excellent.\nTowels is bad\n"),
        ("9/10 Sauna\n2/10 Towels", "excellent Sauna\n, terrible Towels"),
        ("9/10 Sauna, 2/10 Towels", "excellent Sauna, terrible Towels"),
        ("Check-in 8/10\nbar 3/10", "Check-in is good.\nbar is bad"),
        ("Sauna: 9/10 we came on 9/10", "Sauna is excellent, we came on 9/10"),
        (
            "Host 9/10\nGuests 3/10\nPain relief 8/10",
            "Host is excellent.\nGuests is bad.\nPain relief is good",
        ),
        ("9/10\nwifi was slow", "excellent.\nwifi was slow"),
        # No list: one mark before a sentence, joined items, a mark in brackets inside a sentence, dates in lines.
        ("10/10 Would recommend\nThanks all", "excellent. Would recommend\nThanks all"),
        ("sauna 9/10 and towels 2/10", "sauna is excellent and towels is terrible"),
        ("The sauna (9/10) was hot", "The sauna (is excellent) was hot"),
        ("We left. Bus:\n\n9/10", "We left. Bus:\n\nexcellent"),
        ("Arrived on 9/10\nParking 4/5 of the days", None),
    ],
)
def test_a_rating_belongs_to_its_own_item(text: str, read: str | None) -> None:
    assert replaced(text, None, ratings(text))[0] == (text if read is None else read)


def test_a_note_names_a_rating_without_its_colon() -> None:
    asker = load("absa-any")
    assert notes_on("Bar: 9/10\nBed (2/10)\nFood\n4/5", asker) == [
        "read as meant: 9/10 as excellent, (2/10) as terrible, 4/5 as good"
    ]


def test_of_a_list_of_ratings_each_item_gets_its_own() -> None:
    text = "Care: 10/10\nBilling: 1/10\nFood: 9/10"
    asked = Sentence(text, tuple(Context(aspect) for aspect in ("care", "billing", "food")))
    answers = [record["polarity"] for record in records(load("absa-any"), [asked])]
    assert answers == ["positive", "negative", "positive"]


def test_places_go_through_ratings_characters_and_slips() -> None:
    text = "Wifi 👍 batery’s 2/10 — so&nbsp;bad"
    read, places = as_read(text, str.isascii, as_meant=True)
    assert read == "Wifi is good, battery's is terrible - so bad"
    assert places is not None
    assert len(places) == len(read)
    shown = {
        part: text[slice(*places[read.index(part)])]
        for part in ("is good", "battery", "'", "is terr", "-", "so")
    }
    assert shown == {"is good": "👍", "battery": "batery", "'": "’", "is terr": "2/10", "-": "—", "so": "s"}
    assert read_otherwise(text, str.isascii) == [
        Slip(5, 6, "is good,"),
        Slip(7, 13, "battery"),
        Slip(16, 20, "is terrible"),
    ]
    assert as_read(text, str.isascii, as_meant=False)[0].startswith("Wifi  thumbs up  batery's 2/10")
