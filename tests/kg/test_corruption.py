"""Hiding words on the device, against a loop over examples."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.kg.dataset.tokens import MASK, NO_WORD, PAD
from weft.kg.represent.corruption import hide_words

ROW = st.lists(st.tuples(st.integers(5, 60), st.sampled_from([0, 1, 2, NO_WORD])), min_size=1, max_size=12)


@given(st.lists(ROW, min_size=1, max_size=4), st.sets(st.sampled_from([0, 1, 2])))
@settings(max_examples=60, deadline=None)
def test_hide_words_equals_a_loop(rows: list[list[tuple[int, int]]], hidden: set[int]) -> None:
    width = 12
    ids = torch.full((len(rows), width), PAD)
    words = torch.full((len(rows), width), NO_WORD)
    for number, row in enumerate(rows):
        ids[number, : len(row)] = torch.tensor([token for token, _ in row])
        words[number, : len(row)] = torch.tensor([word for _, word in row])
    gone = torch.zeros(len(rows), 256, dtype=torch.bool)
    gone[:, list(hidden)] = True
    new_ids, new_words, place = hide_words(ids, words, gone)
    for number, row in enumerate(rows):
        expected, expected_words, places, before = [], [], [], None
        for token, word in row:
            if word in hidden and word == before:
                places.append(len(expected) - 1)
            else:
                places.append(len(expected))
                expected.append(MASK if word in hidden else token)
                expected_words.append(NO_WORD if word in hidden else word)
            before = word
        assert new_ids[number].tolist() == expected + [PAD] * (width - len(expected))
        assert new_words[number].tolist() == expected_words + [NO_WORD] * (width - len(expected))
        assert place[number, : len(row)].tolist() == places
