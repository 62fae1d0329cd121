"""Which words of a text mention a target."""

import time

import pytest

from weft.absa.represent.targets import mentioning, target_positions


@pytest.mark.parametrize(
    ("text", "target", "found"),
    [
        ("The Hotel Aurora, HOTEL AURORA", "Hotel Aurora", ["Hotel Aurora"]),
        ("the hotel aurora", "Hotel Aurora", ["hotel aurora"]),
        ("LOCATION1and more", "LOCATION1", []),
        ("the location", "cat", []),
        ("two cats' beds", "cat", ["cats"]),
        ("one battery", "batteries", ["battery"]),
        ("Batteries and more", "battery", ["Batteries"]),
        ("the dishes and the dish", "dishes", ["dishes"]),
        ("a dish", "dishes", ["dish"]),
        ("Mira’s pool", "Mira", ["Mira"]),
        ("這家酒店很好", "酒店", ["酒店"]),
        ("LOCATION10 is not LOCATION1", "LOCATION1", ["LOCATION1"]),
        ("a.b (c)", "(c)", ["(c)"]),
        ("thank u, b", "US", []),
        ("my GP", "GPS", []),
        ("Ga. and bu", "gas", []),
        ("the GPS and the gps", "gps", ["gps"]),
        ("one ad", "ads", ["ad"]),
        ("nothing here", "Hotel", []),
        ("anything", None, []),
    ],
)
def test_target_mentions(text, target, found):
    characters = [(i, i + 1) for i in range(len(text))]
    positions = target_positions(text, target, characters)
    spans = "".join(text[i] for i in positions)
    assert spans == "".join(found)
    if text.startswith("LOCATION10"):
        assert positions[0] == text.rindex("LOCATION1")


def mentioned(text, target):
    return "".join(text[i] for i in target_positions(text, target, [(i, i + 1) for i in range(len(text))]))


@pytest.mark.parametrize(
    ("text", "target", "found"),
    [
        ("We ate at St. John’s again", "St. John's", "St. John’s"),
        ("Olga's coffee", "Olga’s", "Olga's"),
        ("Olgaʼs coffee", "Olga's", "Olgaʼs"),
        ("We ate at St John's again", "St. John’s", "St John's"),
        ("We ate at St. John's again", "St John's", "St. John's"),
        ("Ask Prof Ames", "Prof. Ames", "Prof Ames"),
        ("Paul was kind", "Paul.", "Paul"),
        ("Ask Paul.", "Paul.", "Paul"),
        ("at Hotel\nAurora", "Hotel Aurora", "Hotel\nAurora"),
        ("We left the hotel. Aurora stayed", "Hotel Aurora", ""),
        ("fine ...", "...", "..."),
        ("version 35", "3.5", ""),
        ("the cafe\u0301 was full", "café", "cafe\u0301"),
        ("the Café was full", "cafe\u0301", "Café"),
        ("two cafe\u0301s", "café", "cafe\u0301s"),
        ("ल\u095cका अच्छा", "ल\u095cका", "ल\u095cका"),
        ("at Ben &amp; Jerry&#39;s", "Ben & Jerry's", "Ben &amp; Jerry&#39;s"),
        ("at Ben & Jerry&rsquo;s", "Ben & Jerry's", "Ben & Jerry&rsquo;s"),
        ("the front&nbsp;desk slept", "front desk", "front&nbsp;desk"),
        ("the front<br />desk slept", "front desk", "front<br />desk"),
        ("our caf&eacute;s; a caf&#xE9;", "café", "caf&#xE9;"),
        ("our caf&eacute;s", "café", "caf&eacute;s"),
        ("the café and <b>more</b>", "caf&eacute;", "café"),
        ("a slow check‑in", "check-in", "check‑in"),
        ("a slow check-in", "check‐in", "check-in"),
    ],
)
def test_apostrophes_dots_and_spaces_may_be_others(text, target, found):
    assert mentioned(text, target) == found


NUMBERS = """
bus buses, child children, mouse mice, knife knives, woman women, man men, foot feet, tooth teeth, person people,
salesman salesmen, salesperson salespeople, bookshelf bookshelves, battery batteries, cookie cookies, toy toys,
dish dishes, church churches, stomach stomachs, box boxes, axe axes, glass glasses, quiz quizzes, lens lenses,
size sizes, headache headaches, house houses, potato potatoes, photo photos, shoe shoes, toe toes, leaf leaves,
menu menus, human humans, olive olives, analysis analyses, curriculum curricula, LOCATION1 LOCATION1s, TV TVs
"""


@pytest.mark.parametrize("pair", [pair.strip() for pair in NUMBERS.split(",")])
def test_a_target_is_found_in_the_other_number(pair):
    one, more = pair.split()
    for written, target in ((one, more), (more, one)):
        assert mentioned(f"Our {written} pleased", target) == written
        assert mentioned(f"Our old {written.upper()}!", f"old {target}") == f"old {written.upper()}"


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("the boxes", "boxe"),
        ("the dishes", "dishe"),
        ("two planes", "plan"),
        ("it rates well", "rat"),
        ("go to bed", "toes"),
        ("tell us", "uses"),
        ("a new phone", "news"),
        ("as it is", "a"),
        ("Olga' and", "Olga's"),
        ("the box", "boxe"),
    ],
)
def test_what_only_looks_like_another_number_is_not_found(text, target):
    assert mentioned(text, target) == ""


def test_the_whole_text_says_what_a_mention_of_a_name_is():
    windows = ["They told us.", "Made in the US."]
    text, begins = " ".join(windows), [0, 14]
    assert mentioning(text, "US", begins, windows) == [False, True]
    assert mentioning("They told us.", "US", [0], ["They told us."]) == [True]
    # Words in small letters are the same at a sentence's begin.
    assert (
        mentioning("Camera is bad. A camera.", "camera", [0, 15], ["Camera is bad.", "A camera."])
        == [True] * 2
    )
    assert mentioning(text, None, begins, windows) == [True, True]
    assert mentioning(text, "Rome", begins, windows) == [False, False]


def test_many_mentions_take_time_in_proportion_to_their_number():
    words = 20_000
    text = "the " * words
    offsets = [(0, 0), *((start, start + 3) for start in range(0, len(text), 4)), (0, 0)]
    begun = time.process_time()
    assert target_positions(text, "the", offsets) == list(range(1, words + 1))
    begins = list(range(0, len(text), 4))
    assert mentioning(f"{text}THE", "THE", [*begins, len(text)], [*["the"] * words, "THE"]) == [
        *[False] * words,
        True,
    ]
    assert time.process_time() - begun < 5
