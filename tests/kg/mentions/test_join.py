"""Mentions to entities: what is joined, and what must stay apart."""

import re
import time
from itertools import accumulate

import pytest

from weft.kg.mentions.join import Mention, join_mentions, with_agreed_types


def entities(text: str) -> list[tuple[str, str, int]]:
    """``[Name|TYPE]`` marks a mention; name, type and number of mentions of each entity."""
    mentions, plain, place = [], "", 0
    for match in re.finditer(r"\[([^|\]]+)\|(\w+)\]", text):
        plain += text[place : match.start()]
        mentions.append(Mention(len(plain), len(plain) + len(match[1]), match[2]))
        plain += match[1]
        place = match.end()
    plain += text[place:]
    return [(item.name, item.type, len(item.mentions)) for item in join_mentions(plain, mentions)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[Marie Curie|PER] met [Curie|PER]'s sister.", [("Marie Curie", "PER", 2)]),
        ("[Curie|PER] is short for [Marie Curie|PER].", [("Marie Curie", "PER", 2)]),
        ("[Dr. Curie|PER] and [Curie|PER]", [("Dr. Curie", "PER", 2)]),
        ("[Marie|PER], born [Marie Curie|PER]", [("Marie Curie", "PER", 2)]),
        ("[President Curie|PER] is [Marie Curie|PER]", [("President Curie", "PER", 2)]),
        ("[World Health Organization|MISC] ([WHO|ORG])", [("World Health Organization", "MISC", 2)]),
        ("[the Alps|LOC] and [Alps|LOC]", [("the Alps", "LOC", 2)]),
        ("[Acme Corp.|ORG] and [ACME|ORG]", [("Acme Corp.", "ORG", 2)]),
        ("[World Health Organization|ORG] ([WHO|ORG])", [("World Health Organization", "ORG", 2)]),
        ("[Bank of England|ORG], the [BE|ORG]", [("Bank of England", "ORG", 2)]),
        ("[São Paulo|LOC] or [Sao Paulo|LOC]", [("São Paulo", "LOC", 2)]),
        ("[Paris|LOC], [Paris|ORG]", [("Paris", "LOC", 2)]),
        ("[Conan O’Brien|PER] and [Conan O'Brien|PER]", [("Conan O’Brien", "PER", 2)]),
        ("[Mal\xadmö|LOC] and [Malmö|LOC]", [("Mal\xadmö", "LOC", 2)]),
        ('[Ada "Addie" Byron|PER], [Addie Byron|PER], [Addie|PER]', [("Addie Byron", "PER", 3)]),
        ("[Robert (Bob) Pryce|PER] or [Bob Pryce|PER]", [("Bob Pryce", "PER", 2)]),
        ("[Ida Holm|PER] is [Ida “Kit” Holm|PER]", [("Ida Holm", "PER", 2)]),
        ("[Ida “Kit” Holm|PER] or [Kit|PER]", [("Ida “Kit” Holm", "PER", 2)]),
        ('[JOHN PAUL "JACK" ORR|PER], [Jack|PER], [J. P. Orr|PER]', [('JOHN PAUL "JACK" ORR', "PER", 3)]),
        ("[Klaus Weber|PER] lives. [K. Weber|PER] writes.", [("Klaus Weber", "PER", 2)]),
        ("[J.P. Orr|PER] is [John P. Orr|PER]", [("John P. Orr", "PER", 2)]),
        ("[N. C. Wyeth|PER], or [Newell Convers Wyeth|PER]", [("Newell Convers Wyeth", "PER", 2)]),
        ("[K Weber|PER] is [Dr Klaus Maria Weber|PER]", [("Dr Klaus Maria Weber", "PER", 2)]),
        (
            "[LINDGREN|PER] WINS. [Maja Lindgren|PER] left her father, [Olof Lindgren|PER].",
            [("Maja Lindgren", "PER", 2), ("Olof Lindgren", "PER", 1)],
        ),
        ("[SAN DIEGO|LOC], in [San Diego|LOC]", [("San Diego", "LOC", 2)]),
    ],
)
def test_joined(text, expected):
    assert entities(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "[Marie Curie|PER] and [Pierre Curie|PER]",
        "[Curie|PER] before [Marie Curie|PER] and [Pierre Curie|PER]",
        "[John Quincy Adams|PER] and [Quincy|PER]",
        "[World Health Organization|MISC], not the [WHO|ORG]",
        "[Washington|PER] in [Washington|LOC]",
        "[1990|TIME] and [1990s|TIME]",
        "[Rome|LOC] and [Romans|MISC]",
        "[US|LOC] and [United Sausages|ORG] and [Union Street|LOC] and [Upper Slaughter|LOC]",
        "[12|NUM] of [12|TIME]",
        '[Ada "Addie" Byron|PER], [Addie Lee|PER] and [Byron Addie|PER]',
        "[K. Weber|PER], [L. Weber|PER]",
        "[K. Weber|PER], [Anna Weber|PER]",
        "[J. K. Orr|PER], [John Paul Orr|PER]",
        "[K. Webern|PER], [Klaus Weber|PER]",
        "[A. Co|ORG], [Alpha Co|ORG]",
        "[Klaus Weber|PER] and his father, [K. Weber|PER]",
        "[K. Weber|PER] and his son, [Klaus Weber|PER]",
    ],
)
def test_apart(text):
    found = entities(text)
    assert len(found) >= 2
    assert "Curie" not in text or ("Marie Curie", "PER", 1) in found


@pytest.mark.parametrize(
    "text",
    [
        "[Klaus Weber|PER], [Karin Weber|PER], [K. Weber|PER]",
        "[LINDGREN|PER] WINS. [Maja Lindgren|PER] beat [Eva Lindgren|PER].",
    ],
)
def test_who_may_be_either_of_two_stays_apart(text: str) -> None:
    assert len(entities(text)) == 3


def test_an_acronym_of_two_names_is_neither():
    text = "[US|LOC] is neither [Union Street|LOC] nor [Upper Slaughter|LOC]"
    assert entities(text) == [(name, "LOC", 1) for name in ("US", "Union Street", "Upper Slaughter")]


def test_the_one_named_last_is_meant():
    text = "[Marie Curie|PER]. [Pierre Curie|PER]. [Curie|PER]"
    assert entities(text) == [("Marie Curie", "PER", 1), ("Pierre Curie", "PER", 2)]


def test_the_type_is_the_surest_and_the_order_that_of_the_text():
    text = "Rome, Rome, Rome"
    mentions = [Mention(12, 16, "ORG", 0.9), Mention(0, 4, "LOC", 0.5), Mention(6, 10, "LOC", 0.6)]
    (found,) = join_mentions(text, mentions)
    assert (found.type, found.mentions, found.probability) == ("LOC", (1, 2, 0), 0.9)
    unsure = [mentions[0], *(item._replace(probability=0.4) for item in mentions[1:])]
    assert join_mentions(text, unsure)[0].type == "ORG"


def test_a_mention_without_letters_is_an_entity_of_its_own():
    assert [
        item.name for item in join_mentions("? and !", [Mention(0, 1, "MISC"), Mention(6, 7, "MISC")])
    ] == ["?", "!"]


def test_what_reads_alike_is_of_the_type_that_most_of_it_is_surest_of():
    text = "Apple, apple and apple; Paris, Apples."
    places = [
        (0, 5, "ORG", 0.9),
        (7, 12, "LOC", 0.5),
        (17, 22, "LOC", 0.3),
        (24, 29, "LOC", 0.2),
        (31, 37, "MISC", 0.9),
    ]
    found = [Mention(*place) for place in places]
    agreed = with_agreed_types(text, found)
    assert [item.type for item in agreed] == ["ORG", "ORG", "ORG", "LOC", "MISC"]
    assert [item[:2] + item[3:] for item in agreed] == [item[:2] + item[3:] for item in found]
    surer = [found[0]._replace(probability=0.7), *found[1:]]
    assert [item.type for item in with_agreed_types(text, surer)[:3]] == ["LOC"] * 3


def test_many_names_of_a_long_text_are_joined_in_a_moment() -> None:
    parts = [name for number in range(8_000) for name in (f"Ada Ek{number}", f"Ek{number}", "UNO")]
    starts = list(accumulate((len(part) + 1 for part in parts), initial=0))
    mentions = [
        Mention(start, start + len(part), "ORG" if part == "UNO" else "PER")
        for part, start in zip(parts, starts, strict=False)
    ]
    began = time.process_time()
    joined = join_mentions(" ".join(parts), mentions)
    assert time.process_time() - began < 5
    assert len(joined) == 8_001


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "[Ada Kessler|PER] lives. Her father, [Wim Kessler|PER], was a smith. [Kessler|PER] writes.",
            {"Ada Kessler": 2, "Wim Kessler": 1},
        ),
        (
            "[Ada Kessler|PER] and her brother, the pilot [Wim Kessler|PER], flew. [Kessler|PER] writes.",
            {"Ada Kessler": 2, "Wim Kessler": 1},
        ),
        (
            "[Ada Kessler|PER] is the daughter of a smith, [Wim Kessler|PER]. [Kessler|PER] writes.",
            {"Ada Kessler": 2, "Wim Kessler": 1},
        ),
        (
            "[Ada Kessler|PER] met [Wim Kessler|PER], her cousin, in Ulm. [Kessler|PER] writes.",
            {"Ada Kessler": 2, "Wim Kessler": 1},
        ),
        (
            "[Wim Kessler|PER], the father of [Ada Kessler|PER], was a smith. [Kessler|PER] died.",
            {"Wim Kessler": 2, "Ada Kessler": 1},
        ),
        # Named again for himself he is whom the text goes on about.
        (
            "[Ada Kessler|PER] lives. Her father was [Wim Kessler|PER]. [Wim Kessler|PER] wrote. [Kessler|PER] died.",
            {"Ada Kessler": 1, "Wim Kessler": 3},
        ),
        # No relative: a clause ends before the name, or the word of kinship is another's.
        (
            "[Ada Kessler|PER] lost her father. [Wim Kessler|PER] is a pilot. [Kessler|PER] writes.",
            {"Ada Kessler": 1, "Wim Kessler": 2},
        ),
        ("Her father was [Wim Kessler|PER]. [Kessler|PER] writes.", {"Wim Kessler": 2}),
        (
            "[Ada Boll|PER] lives. Her father, [Ada Kessler|PER], met [Wim Boll|PER]. [Ada|PER] writes.",
            {"Ada Boll": 1, "Ada Kessler": 2, "Wim Boll": 1},
        ),
    ],
)
def test_a_bare_last_name_is_no_relative_s(text: str, expected: dict[str, int]) -> None:
    """By it a text calls whom it is about, and not the father or the brother who is named in between."""
    assert {name: count for name, _, count in entities(text)} == expected
