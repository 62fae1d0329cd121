"""Hiding words and masking spans on the device, against loops over examples."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.kg.read.tokens import MASK, NO_WORD, PAD
from weft.kg.represent.batch import IGNORED
from weft.kg.represent.corruption import hide_words, mask_spans, span_edges

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


def batch(rows: int = 400, width: int = 120) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(5, 500, (rows, width), generator=generator)
    words = torch.randint(0, 3, (rows, width), generator=generator)
    words = torch.where(words == 2, NO_WORD, words)
    ids[:, 100:] = PAD
    words[:, 100:] = NO_WORD
    return ids, words


def test_spans_cover_their_share_and_split_80_10_10() -> None:
    ids, words = batch()
    rows = torch.ones(len(ids), dtype=torch.bool)
    shown, targets = mask_spans(ids, words, rows, 500, torch.Generator().manual_seed(0))
    masked = targets != IGNORED
    assert not masked[:, 100:].any()
    assert torch.equal(targets[masked], ids[masked])
    assert torch.equal(shown[~masked], ids[~masked])
    assert 0.135 < float(masked[:, :100].float().mean()) < 0.165
    kinds = shown[masked]
    assert 0.78 < float((kinds == MASK).float().mean()) < 0.82
    assert 0.08 < float((kinds == ids[masked]).float().mean()) < 0.12
    assert int(kinds[kinds != MASK].min()) >= 5


def test_spans_begin_at_word_starts() -> None:
    ids, words = batch()
    rows = torch.ones(len(ids), dtype=torch.bool)
    _, targets = mask_spans(ids, words, rows, 500, torch.Generator().manual_seed(0), share=0.05)
    masked = targets != IGNORED
    begins = masked.clone()
    begins[:, 1:] &= ~masked[:, :-1]
    same_word = torch.zeros_like(masked)
    same_word[:, 1:] = (words[:, 1:] == words[:, :-1]) & (words[:, 1:] != NO_WORD)
    assert begins.any()
    assert not (begins & same_word).any()


def test_only_chosen_rows_are_masked() -> None:
    ids, words = batch(8)
    rows = torch.tensor([True, False] * 4)
    shown, targets = mask_spans(ids, words, rows, 500, torch.Generator().manual_seed(0))
    assert (targets[1::2] == IGNORED).all()
    assert torch.equal(shown[1::2], ids[1::2])
    assert (targets[::2] != IGNORED).any()


@given(st.lists(st.booleans(), min_size=1, max_size=16))
@settings(max_examples=80, deadline=None)
def test_span_edges_equal_a_loop(masked: list[bool]) -> None:
    targets = torch.tensor([[7 if one else IGNORED for one in masked]])
    found = list(zip(*(part.tolist() for part in span_edges(targets)), strict=True))
    expected = []
    for place, one in enumerate(masked):
        if not one:
            continue
        left, right = place, place
        while left >= 0 and masked[left]:
            left -= 1
        while right < len(masked) and masked[right]:
            right += 1
        if left >= 0 and right < len(masked) and right - left <= 8:
            expected.append((0, left, right, place - left - 1))
    assert found == expected
