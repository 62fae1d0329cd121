"""Mentions as tags: there and back, Viterbi against all sequences, letter cases."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import InputError
from weft.kg.dataset.letter_cases import (
    CAPITALISED,
    CAPITALS,
    DIGITS,
    MIXED,
    SMALL,
    letter_case,
    letter_cases,
)
from weft.kg.dataset.tokens import Tokens
from weft.kg.mentions.tags import Span, decode, number_of_tags, tags_of


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(1, 3), st.integers(0, 2)), max_size=5),
    st.integers(0, 3),
)
def test_spans_come_back(gaps, rest):
    spans, place = [], 0
    for gap, width, kind in gaps:
        spans.append(Span(place + gap, place + gap + width, kind))
        place += gap + width
    tags = tags_of(spans, place + rest)
    certain = np.where(np.arange(number_of_tags(3)) == tags[:, None], 0.0, -50.0)
    assert [span._replace(probability=1.0) for span in decode(certain)] == spans


@pytest.mark.parametrize("seed", range(5))
def test_the_best_allowed_sequence_of_all(seed):
    generator = np.random.default_rng(seed)
    length, types = 4, 2
    tags = number_of_tags(types)
    probabilities = generator.dirichlet(np.ones(tags) * 0.7, size=length)

    def allowed(sequence):
        return all(
            tag % 2 == 1 or tag == 0 or (place and sequence[place - 1] in (tag, tag - 1))
            for place, tag in enumerate(sequence)
        )

    every = [sequence for sequence in itertools.product(range(tags), repeat=length) if allowed(sequence)]
    best = max(every, key=lambda sequence: np.prod(probabilities[np.arange(length), sequence]))
    found = decode(np.log(probabilities))
    assert tags_of(found, length).tolist() == list(best)
    for span in found:
        expected = np.prod(probabilities[np.arange(span.first, span.stop), best[span.first : span.stop]])
        if span.stop < length:
            expected *= 1 - probabilities[span.stop, 2 + 2 * span.type]
        assert span.probability == pytest.approx(expected)


def test_neighbours_of_one_type_stay_two():
    assert tags_of([Span(0, 2, 0), Span(2, 3, 0)], 3).tolist() == [1, 2, 1]


def test_nothing_is_nothing():
    assert decode(np.zeros((0, 3))) == []


@pytest.mark.parametrize("spans", [[Span(0, 3, 0)], [Span(1, 1, 0)], [Span(0, 2, 0), Span(1, 2, 1)]])
def test_impossible_spans_are_refused(spans):
    with pytest.raises(InputError, match="mention of tokens"):
        tags_of(spans, 2)


def test_letter_cases():
    words = {
        "river": SMALL,
        "Po": CAPITALISED,
        "I": CAPITALISED,
        "NATO": CAPITALS,
        "McDonald": MIXED,
        "iPod": MIXED,
    }
    words |= {"1990s": DIGITS, "B2B": DIGITS, "—": SMALL, "U.S.": CAPITALS, "É": CAPITALISED, "北京": SMALL}
    assert {word: letter_case(word) for word in words} == words


def test_all_tokens_of_a_word_have_its_case():
    text = "see McDonald"
    tokens = Tokens(*(np.array(column) for column in ([9, 8, 7], [0, 4, 6], [3, 6, 12], [0, 1, 1])))
    assert letter_cases(text, tokens).tolist() == [SMALL, MIXED, MIXED]
    assert letter_cases("", Tokens(*(np.array([], dtype=np.int64) for _ in range(4)))).tolist() == []
