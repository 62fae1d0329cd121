"""Lists of words in few bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.absa.represent.slips import english
from weft.absa.represent.word_lists import pack, unpack

WORDS = st.text("abc", min_size=1, max_size=40)


@given(st.lists(WORDS, min_size=1), st.lists(WORDS, unique=True).map(sorted))
def test_lists_come_back(ranked: list[str], ordered: list[str]) -> None:
    assert list(unpack(pack(ranked, ordered, []))) == [ranked, ordered, []]


@pytest.mark.parametrize(("word", "rank"), [("the", 0), ("of", 1), ("aardvarks", 40_000)])
def test_the_lists_that_ship(word: str, rank: int) -> None:
    assert english().rank[word] == rank


def test_known_words_stay_known() -> None:
    words = english()
    assert "aalto" in words.known - words.rank.keys()
    assert not words.rank.keys() & {""}
    assert len(words.known) > len(words.rank) > 60_000
