"""What became less or more and is better so: what it is read as, and what stays."""

from __future__ import annotations

import time

import pytest

from weft.absa import load
from weft.absa.records import Context, Sentence
from weft.absa.represent.changes import changes
from weft.absa.represent.slips import replaced
from weft.absa.use.predict import records


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Waiting times have come down a lot since May.", "Waiting times are no longer a problem since May."),
        ("Delays shrink at Heathrow", "Delays are no longer a problem at Heathrow"),
        ("Load times were cut in half.", "Load times are no longer a problem."),
        ("Complaints about the bank down 40%", "Complaints about the bank are no longer a problem"),
        ("They cut the wait from an hour to ten minutes.", "They improved the wait."),
        ("half as many bugs", "far fewer bugs"),
        ("The choice of tea has grown.", "The choice of tea are much better."),
        ("They extended the opening hours", "They improved the opening hours"),
    ],
)
def test_what_is_better_is_read_so(text: str, read: str) -> None:
    assert replaced(text, None, changes(text))[0] == read


@pytest.mark.parametrize(
    "text",
    [
        "Waiting times have gone up.",
        "Prices have gone through the roof",
        "The quality has dropped.",
        "Share prices have fallen",
        "They cut the staff",
        "Unless prices drop 5% we leave",
        "I hope that delays have come down",
        "Have the delays fallen?",
        "The delays have not fallen",
        "Prices fell short of it",
        "The queue dropped me",
        "They failed to cut the noise",
        "the extended battery life",
        "Price drops are flagged",
    ],
)
def test_what_is_worse_hoped_or_something_else_stays(text: str) -> None:
    assert changes(text) == []


def test_less_of_a_bad_thing_is_praise_and_more_of_it_blame() -> None:
    asked = [
        Sentence("Delays shrink at Heathrow", (Context("delays"),)),
        Sentence("Delays grow at Heathrow", (Context("delays"),)),
        Sentence("Load times were cut in half.", (Context("load times"),)),
    ]
    answers = [record["polarity"] for record in records(load("absa-any"), asked)]
    assert answers == ["positive", "negative", "positive"]


def test_long_texts_take_their_time_once() -> None:
    start = time.process_time()
    for text in (
        "delays fell " * 5_000,
        "the " * 15_000,
        "delays of a b c " * 5_000,
        "cut the a " * 5_000,
    ):
        changes(text)
    assert time.process_time() - start < 10
