"""Words spelled by ear: what edits cost, and which word is meant."""

from __future__ import annotations

import math
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.absa.represent.by_ear import ByEar, edits
from weft.absa.represent.slips import english

WORDS = st.text(string.ascii_lowercase, min_size=1, max_size=5)


@pytest.mark.parametrize(
    ("word", "meant", "cost"),
    [
        ("delicious", "delicious", 0.0),
        ("frendly", "friendly", 1.0),
        ("carefull", "careful", 1.0),
        ("disapointed", "disappointed", 0.5),
        ("wierd", "weird", 1.5),
        ("fantastik", "fantastic", 2.0),
        ("qwality", "quality", 3.0),
        ("brekfest", "breakfast", 3.0),
        ("commincations", "communications", 2.5),
    ],
)
def test_edits_cost_what_they_are(word: str, meant: str, cost: float) -> None:
    assert edits(word, meant) == cost


def _literal(word: str, meant: str) -> float:
    """The same by recursion over what is left of both words, without a table and without a bound."""
    vowels, alike = (
        set("aeiouy"),
        [set("ckq"), set("cszx"), set("fv"), set("dt"), set("gj"), set("mn"), set("bp")],
    )

    def left(at: int) -> float:
        if meant[at] == "h" or (at and meant[at - 1] == meant[at]):
            return 0.5
        return 1.0 if meant[at] in vowels else 1.5

    def over(at: int) -> float:
        if at and word[at - 1] == word[at]:
            return 1.0
        return 1.5 if word[at] == "h" else 2.0 if word[at] in vowels else 3.0

    def go(at: int, to: int) -> float:
        ways = [] if at or to else [0.0]
        if to:
            ways.append(go(at, to - 1) + left(to - 1))
        if at:
            ways.append(go(at - 1, to) + over(at - 1))
        if at and to:
            one, other = word[at - 1], meant[to - 1]
            near = {one, other} <= vowels or any({one, other} <= group for group in alike)
            ways.append(go(at - 1, to - 1) + (0.0 if one == other else 2.0 if near else 3.0))
        if (
            at > 1
            and to > 1
            and word[at - 1] != word[at - 2]
            and word[at - 2 : at] == meant[to - 2 : to][::-1]
        ):
            ways.append(go(at - 2, to - 2) + 1.5)
        return min(ways)

    return go(len(word), len(meant))


@settings(deadline=None)
@given(WORDS, WORDS)
def test_edits_are_those_of_the_literal_form(word: str, meant: str) -> None:
    cost = edits(word, meant)
    assert cost == pytest.approx(_literal(word, meant))
    assert edits(word, meant, cost) == cost
    assert edits(word, meant, cost - 0.1) in (cost, math.inf)


def test_the_likeliest_word_is_meant_where_it_is_ahead() -> None:
    few = ByEar({"comfortable": 1_500, "uncomfortable": 9_000, "minutes": 500, "minister": 600, "zoo": 3})
    assert few.meant("comftable") == "comfortable"
    assert few.meant("comfterbel") == "comfterbel"
    assert few.meant("minits") == "minutes"
    assert ByEar({"stationary": 9_000, "stationery": 9_100}).meant("stationry") == "stationry"
    assert few.meant("komftable") == "komftable"
    assert few.meant("comftable", 0.1) == "comftable"
    assert few.meant("queue") == "queue"


def test_what_several_edits_part_from_every_word() -> None:
    text = (
        "We booked months ago, and the resturaunt was beautifuly done, but for me it was claustaphobic to sit there "
        "for hours on such an uncomftable chair near the beach, with no view of the bay at all."
    )
    assert [slip.word for slip in english().slips(text)] == [
        "restaurant",
        "beautifully",
        "claustrophobic",
        "uncomfortable",
    ]
    usual = "alot of mussles, definatly a good restraunt"
    assert [slip.word for slip in english().slips(usual)] == ["a lot", "mussels", "definitely", "restaurant"]


def test_a_text_of_many_words_spelled_by_ear_stays_as_another_languages() -> None:
    assert english().slips("delishious resturaunt, uncomftable nightmair") == ()
