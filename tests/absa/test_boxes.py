"""Boxes to tick inside a text: what is said of them, and what is no such box."""

from __future__ import annotations

import time

import pytest

from weft.absa import load
from weft.absa.find.finder import Finder
from weft.absa.records import Context, Sentence
from weft.absa.represent.boxes import boxes
from weft.absa.represent.meant import as_read
from weft.absa.represent.slips import replaced
from weft.absa.use.notes import notes_on
from weft.absa.use.predict import records


def read(text: str) -> str:
    return replaced(text, None, boxes(text))[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Bugs: ☐ Many ☑ None", "Bugs: None"),
        ("☑ Short wait ☐ Long wait", "Short wait."),
        ("☐ Kind staff ☑ Rude staff", "Rude staff"),
        ("Wait: ☑ too long ☐ acceptable ☐ short", "Wait: too long."),
        ("[x] Great story [ ] Boring story", "Great story."),
        ("Fees: ( ) fair (x) too high. I left.", "Fees: too high. I left."),
        ("Sound: ⬜ Good ✅ Awful", "Sound: Awful"),
        ("☐ Ja ☒ Nein", "Nein"),
        ("☑ pool ☒ sauna", "pool."),
        ("Bugs: ☐ Many ☑ None Load time: ☑ Long ☐ Short", "Bugs: None. Load time: Long."),
        ("---{Story}---\n☐ Weak\n☑ Great\n☐ None\n\n~ Sound ~\n☑ Poor\n☐ Good", "Story: Great. Sound: Poor."),
        ("Story\n[ ] Weak\n[x] Great", "Story: Great"),
        ("- [x] Short wait\n- [ ] Clean rooms\nThanks", "- Short wait. - Thanks"),
        # A box behind what it is about.
        ("Short wait ☑\nClean rooms ☐\nThanks", "Short wait. Thanks"),
        ("Bugs: Many ☐ None ☑", "Bugs: None."),
        ("Short wait: ☑\nClean rooms: ☐", "Short wait."),
        # Ticks alone.
        ("☑ Nice food ☑ Kind staff", "Nice food. Kind staff"),
        # Crosses that say what a tick says otherwise.
        ("Bugs: ❌ Many ✅ None", "Bugs: None"),
        ("❌ Good sound ✅ Bad sound", "Bad sound"),
    ],
)
def test_what_is_not_ticked_is_not_said(text: str, said: str) -> None:
    assert " ".join(read(text).split()) == said


@pytest.mark.parametrize(
    "text",
    [
        "✅ pool ❌ wifi",
        "Hotel: ✅ pool ❌ wifi",
        "✅ kind staff ❌ bad food",
        "Beach ✅ wifi ❌",
        "To do:\n☐ laundry\n☑ dishes",
        "Paid ☑ Sent ☐\nVisa ✔",
        "☐ rude ☐ kind",
        "see [x](b) and [ ] in f(x)",
        "an array [ ] and its index [i]",
        "",
    ],
)
def test_what_is_no_form_stays(text: str) -> None:
    assert read(text) == text


def test_answers_are_about_what_is_ticked() -> None:
    asker = load("absa-any")
    asked = [
        Sentence("Bugs: ☐ Many ☑ None", (Context("bugs"),)),
        Sentence("☐ Kind staff ☑ Rude staff", (Context("staff"),)),
        Sentence("☐ Rude staff\n☑", (Context("staff"),)),
    ]
    assert [record["polarity"] for record in records(asker, asked)] == ["positive", "negative", "none"]
    text = "---{Graphics}---\n☐ Beautiful\n☑ Poor\n\n---{Sound}---\n☑ Amazing\n☐ Bad"
    found = [(finding.term, finding.polarity) for finding in Finder(asker).find([text])[0]]
    assert found == [("Graphics", "negative"), ("Sound", "positive")]


def test_a_note_names_what_is_not_ticked() -> None:
    text = f"---{{Story}}---\n☐ Weak\n[x] Great\n[ ] {'so ' * 40}"
    assert notes_on(text, load("absa-any")) == [
        f"read as meant: ☐ Weak as not ticked, [ ] {'so ' * 11}so… as not ticked"
    ]


def test_places_go_through_boxes() -> None:
    text = "Bugs: ☐ Many ☑ None 9/10"
    words, places = as_read(text, str.isascii, as_meant=True)
    assert words == "Bugs: None is excellent"
    assert places is not None
    assert len(places) == len(words)
    assert text[slice(*places[words.index("None")])] == "N"


def test_long_texts_of_boxes_take_their_time_once() -> None:
    start = time.process_time()
    for text in (
        "☐ a ☑ b " * 20_000,
        "A: ☐ a ☑ b\n" * 15_000,
        f"☐ {'a' * 200_000} ☑ {'b ' * 100_000}",
        "☐\n☑\n" * 40_000,
    ):
        assert boxes(text)
    assert time.process_time() - start < 10
