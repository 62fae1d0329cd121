"""Conversations: the labels of who speaks are no words of what is said, and heads stay what they are."""

import time

import pytest

from weft.absa.explain.attribution import explain
from weft.absa.find.domain import common_categories
from weft.absa.find.finder import Finder
from weft.absa.represent.speakers import speakers, stated_by_others, without_speakers
from weft.absa.use.notes import notes_on
from weft.absa.use.store import load
from weft.absa.use.windows import sentence_begins

CHAT = (
    "Agent: Hello, you are through to Sofie.\nCustomer: my invoice is wrong again\nAgent: Corrected.\n"
    "Customer: wow that was quick"
)


def labels(text):
    return [text[start:stop].strip() for start, stop in speakers(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (CHAT, ["Agent:", "Customer:", "Agent:", "Customer:"]),
        ("User: it crashes\nSupport: which version?", ["User:", "Support:"]),
        ("Desk: hi\nMe: the heating is off", ["Desk:", "Me:"]),
        ("me: where is my order\nbot: on its way", ["me:", "bot:"]),
        ("AGENT: hi\nCUSTOMER: it is slow", ["AGENT:", "CUSTOMER:"]),
        ("Customer: it is slow\n\nCustomer: and dear", ["Customer:", "Customer:"]),
        ("Agent: hi\nMy invoice is wrong\nAgent: corrected", ["Agent:", "Agent:"]),
        (
            "[10:32] Anna: slow\n[10:33] Ben: yes\n[10:35] Anna: dear",
            ["[10:32] Anna:", "[10:33] Ben:", "[10:35] Anna:"],
        ),
        ("(10:32:01) Mo: slow\n(10:35:07) Mo: dear", ["(10:32:01) Mo:", "(10:35:07) Mo:"]),
        ("12/05/2024, 10:32 - Jo: late\n12/05/2024, 11:02 - Jo: dirty", None),
        ("2024-05-12T10:32:11Z Jo: late\n2024-05-12 10:40 Jo: dirty", None),
        ("Mo [10:32 am]: late\nMo [10:40 am]: dirty", None),
        ("Anna K. (agent): hi\nTom (customer): late", ["Anna K. (agent):", "Tom (customer):"]),
        ("Agent Sofie: hi\nCustomer 1: late\nCustomer #2: dirty", None),
        ("**Agent:** hi\n**Customer:** late", None),
        ("> Agent: hi\n> Customer: late", None),
        ("Anna: cold\nBen: mine was great\nAnna: slow", ["Anna:", "Ben:", "Anna:"]),
        ("Support: hi\nMirjana: late\nSupport: sorry\nMirjana: bad", None),
        ("Agent:\nHello\nCustomer:\nMy invoice is wrong", ["Agent:", "Customer:"]),
        ("Agent: hi<br>Customer: late", ["Agent:", "Customer:"]),
        ("Agent: Hi! Customer: it is late. Agent: Sorry.", ["Agent:", "Customer:", "Agent:"]),
        ("Agent: Hi | Customer: it is late", ["Agent:", "Customer:"]),
    ],
)
def test_who_speaks_is_told_by_labels(text, expected):
    found = labels(text)
    assert all(label.rstrip("*_").endswith(":") for label in found)
    assert found == expected if expected else len(found) == len(text.split("\n"))


@pytest.mark.parametrize(
    "text",
    [
        "Pros: light\nCons: loud",
        "Pros: light\nCons: loud\nPros: cheap\nCons: ugly",
        "Likes: pool\nDislikes: stairs",
        "Battery: great\nScreen: dim",
        "Battery: great / Screen: dim",
        "Phone A\nBattery: great\nScreen: dim\nPhone B\nBattery: bad\nScreen: fine",
        "Support: slow\nPrice: fair",
        "Support: slow\nPrice: fair\nSupport: rude on the phone",
        "Host: lovely\nLocation: central",
        "Doctor: kind\nWaiting time: awful\nDoctor: listens",
        "Update: it broke\nUpdate: they mended it",
        "Day 1: rain\nDay 2: sun",
        "Anna: friendly\nBen: rude",
        "10:00 Breakfast: cold\n12:00 Lunch: fine",
        "Customer service: rude\nDelivery: late",
        "User interface: clunky\nSupport: slow",
        "User Interface: clunky\nGuest Rooms: small\nSupport: slow",
        "The agent: a disaster. The customer: me.",
        "Wifi: slow\nWifi: dead in the evening",
        "Customer: late",
        "I told the agent: fix it. Customer: none.",
        "See https://example.org/a: good\nSee https://example.org/b: bad",
        "",
    ],
)
def test_heads_of_what_is_judged_are_no_speakers(text):
    assert not speakers(text)
    assert without_speakers(text) is text


def test_a_head_inside_a_turn_stays():
    text = "Customer: two things\nPros: fast\nCons: loud\nBattery: weak\nAgent: noted"
    assert labels(text) == ["Customer:", "Agent:"]


def test_without_labels_all_else_stays_in_its_place_and_sentences_end():
    said = without_speakers(CHAT)
    assert len(said) == len(CHAT)
    for word in ("invoice", "wow"):
        assert said.index(word) == CHAT.index(word)
    assert "Agent" not in said
    assert "Customer" not in said
    assert ":" not in said
    begins = [said[begin:].split()[1:3] for begin in sentence_begins(said)]
    assert [one for one in begins if one[0] in ("my", "wow")] == [["my", "invoice"], ["wow", "that"]]
    assert without_speakers(said) == said


def test_labels_alone_stay():
    assert without_speakers("Agent:\nCustomer:") == "Agent:\nCustomer:"


def test_a_long_text_is_looked_at_in_time_that_grows_with_it():
    start = time.perf_counter()
    assert not speakers(f"{'x' * 200_000}:\n" * 2)
    assert not speakers("Agent " * 100_000 + "\n: b")
    assert len(speakers("Agent: a\nCustomer: b\n" * 10_000)) == 20_000
    assert time.perf_counter() - start < 5


@pytest.fixture(scope="module")
def finder():
    return Finder(load("absa-any"), common_categories())


@pytest.mark.parametrize(
    "chat",
    [
        CHAT,
        CHAT.replace("Agent:", "Desk:").replace("Customer:", "Me:"),
        CHAT.replace("Agent:", "Support:").replace("Customer:", "User:"),
        CHAT.replace("Agent:", "[10:32] Anna K. (agent):").replace("Customer:", "[10:33] Tom (customer):"),
    ],
)
def test_find_tells_what_is_judged_and_no_speaker(finder, chat):
    (found,) = finder.find([chat])
    assert [(one.term, one.polarity) for one in found if one.term] == [("invoice", "negative")]
    for one in found:
        assert not any(":" in word or "\n" in word for word in one.words)
        assert one.span is None or chat[slice(*one.span)] == one.term


def test_find_still_finds_what_heads_name(finder):
    (found,) = finder.find(["Battery: great\nScreen: dim"])
    assert [one.term for one in found] == ["Battery", "Screen"]


def test_questions_are_answered_as_without_labels(finder):
    asker = finder.asker
    assert (asker.predict([CHAT], ["invoice"]) == asker.predict([without_speakers(CHAT)], ["invoice"])).all()
    as_written = asker.as_written()
    shares = [as_written.predict([text], ["invoice"]) for text in (CHAT, without_speakers(CHAT))]
    assert not (shares[0] == shares[1]).all()


def test_labels_are_neither_corrected_nor_explained(finder):
    assert notes_on(CHAT, finder.asker) == [
        "left out, as those who answer state it: Hello, you are through to Sofie., and 1 more"
    ]
    found = explain(finder.asker, CHAT, "invoice", method="gradient")
    assert [word.text for word in found.words][:2] == ["my", "invoice"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (CHAT, ["Hello, you are through to Sofie.", "Corrected."]),
        (
            "Customer: it is slow\nSupport: Version 3.2 is fast. Which one is yours?\nCustomer: the old one",
            ["Version 3.2 is fast."],
        ),
        ("Rep: The plan is great. It has a good camera.\nMe: No, it is not.", ["The plan is great."]),
        ("Agent: The plan is great. Do you want it?\nMe: No. My old one is fine.", ["The plan is great."]),
        ("Agent: Was it late?\nCustomer: yes", []),
        ("Me: slow\nAgent: We are fast.\n\nI left them after that, rude people.", ["We are fast."]),
        ("Customer: ok. Agent: We are fast. Customer: hm", ["We are fast."]),
        ("Agent: hi\nMy invoice is wrong\nAgent: corrected", []),
        ("Support: slow\nBattery: great", []),
        ("Anna: the pizza was cold\nBen: mine was great\nAnna: slow, too", []),
    ],
)
def test_what_those_who_answer_state_is_left_out(text, expected):
    assert [text[slice(*place)] for place in stated_by_others(text)] == expected
    said = without_speakers(text)
    assert len(said) == len(text)
    assert not [sentence for sentence in expected if sentence in said]


def test_an_agent_s_praise_is_no_opinion(finder):
    text = (
        "Customer: The new update drains my battery in two hours.\n"
        "Agent: Our latest version has a great battery saver and a beautiful new design. Have you tried a restart?\n"
        "Customer: No, and it is still empty by lunch."
    )
    shares = finder.asker.predict_proba([(text, "design"), (text, "battery")])
    assert [finder.asker.classes_[number] for number in shares.argmax(1)] == ["none", "negative"]
    assert {one.polarity for one in finder.find([text])[0]} == {"negative"}


def test_windows_of_a_long_conversation_have_no_labels(finder):
    text = "\n".join(f"{who}: line {n} of it" for n in range(200) for who in ("Agent", "Customer"))
    windows = finder.asker.tags([text])[0]
    assert len(windows) > 1
    (_, window) = finder.asker.window(text, "line")
    assert "Agent" not in window.text
    assert "Customer" not in window.text
