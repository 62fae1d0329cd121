import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from weft.documents.tails import mask_tails
from weft.errors import ConfigError, DtypeError, InputError, ShapeError
from weft.objective.losses import IGNORED
from weft.objective.masking import (
    MaskVocabulary,
    Split,
    mask_spans,
    mask_tokens,
    span_boundaries,
)

PAD, CLS, SEP, MASK = range(4)
VOCABULARY = MaskVocabulary(size=40, mask_id=MASK, special_ids=(PAD, CLS, SEP))
SEEDS = st.integers(0, 2**31)
LENGTHS = st.lists(st.integers(0, 40), min_size=1, max_size=4)


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def batch_of(lengths: list[int], seed: int) -> Tensor:
    """[CLS] tokens [SEP] padding."""
    ids = torch.full((len(lengths), max(lengths) + 2), PAD)
    for row, length in enumerate(lengths):
        ids[row, 0], ids[row, length + 1] = CLS, SEP
        ids[row, 1 : length + 1] = torch.randint(4, 40, (length,), generator=generator(seed))
    return ids


def check_invariants(ids: Tensor, masked, maskable: Tensor) -> None:
    hidden = masked.labels != IGNORED
    assert not (hidden & ~maskable).any()
    assert torch.equal(masked.labels[hidden], ids[hidden])
    assert torch.equal(masked.input_ids[~hidden], ids[~hidden])
    assert torch.equal(hidden, masked.units >= 0)
    new = masked.input_ids[hidden]
    assert ((new == MASK) | (new >= 4)).all()
    found = masked.units[hidden].unique()
    assert torch.equal(found, torch.arange(len(found)))


def budget(count: int, rate: float) -> int:
    return min(count, max(1, int(count * rate + 0.5)))


@settings(deadline=None, max_examples=40)
@given(LENGTHS, SEEDS, st.sampled_from([0.1, 0.15, 0.5, 1.0]))
def test_token_masking_keeps_its_promises(lengths, seed, rate):
    ids = batch_of(lengths, seed)
    masked = mask_tokens(ids, VOCABULARY, generator(seed), rate=rate)
    check_invariants(ids, masked, ids >= 4)
    assert (masked.labels != IGNORED).sum(1).tolist() == [budget(length, rate) for length in lengths]
    again = mask_tokens(ids, VOCABULARY, generator(seed), rate=rate)
    assert all(torch.equal(a, b) for a, b in zip(masked, again, strict=True))


@settings(deadline=None, max_examples=60)
@given(LENGTHS, SEEDS, st.sampled_from([0.15, 0.5, 1.0]))
def test_span_masking_keeps_its_promises(lengths, seed, rate):
    ids = batch_of(lengths, seed)
    word_starts = torch.rand(ids.shape, generator=generator(seed + 1)) < 0.6
    masked = mask_spans(ids, VOCABULARY, generator(seed), word_starts=word_starts, rate=rate)
    check_invariants(ids, masked, ids >= 4)
    hidden = masked.labels != IGNORED
    assert all(n <= budget(length, rate) for n, length in zip(hidden.sum(1).tolist(), lengths, strict=True))
    for unit in masked.units[hidden].unique():
        rows, columns = (masked.units == unit).nonzero(as_tuple=True)
        assert len(rows.unique()) == 1
        assert columns.tolist() == list(range(int(columns[0]), int(columns[0]) + len(columns)))
        assert 1 <= len(columns) <= 7
        assert word_starts[rows[0], columns[0]]
        # Its neighbours are not hidden: the span-boundary objective reads them.
        assert not hidden[rows[0], columns[0] - 1]
        assert not hidden[rows[0], columns[-1] + 1]
    again = mask_spans(ids, VOCABULARY, generator(seed), word_starts=word_starts, rate=rate)
    assert all(torch.equal(a, b) for a, b in zip(masked, again, strict=True))


@settings(deadline=None, max_examples=40)
@given(SEEDS, st.lists(st.integers(1, 7), max_size=6), st.sampled_from([0.0, 0.15, 0.7, 1.0]))
def test_tail_masking_is_whole(seed, sizes, probability):
    tails = torch.tensor(
        [[-1, -1, -1, *(tail for tail, size in enumerate(sizes) for _ in range(size)), -1]] * 2
    )
    ids = torch.randint(4, 40, tails.shape, generator=generator(seed))
    ids[:, -1] = PAD
    masked = mask_tails(ids, tails, VOCABULARY, generator(seed), probability=probability)
    check_invariants(ids, masked, tails >= 0)
    hidden = masked.labels != IGNORED
    assert (masked.input_ids[hidden] == MASK).all()
    for row in range(2):
        for tail in range(len(sizes)):
            of_tail = hidden[row, tails[row] == tail]
            assert of_tail.all() or not of_tail.any()
    if probability == 1.0:
        assert torch.equal(hidden, tails >= 0)
    if probability == 0.0:
        assert not hidden.any()


def test_tails_are_masked_with_the_given_probability_and_apart_in_each_example():
    tails = torch.arange(20).repeat_interleave(2).expand(200, -1).contiguous()
    ids = torch.full_like(tails, 5)
    masked = mask_tails(ids, tails, VOCABULARY, generator(0))
    hidden = (masked.labels != IGNORED)[:, ::2]
    assert abs(hidden.float().mean().item() - 0.15) < 0.02  # 4,000 tails: standard error 0.006
    assert len({tuple(row) for row in hidden.tolist()}) > 100


def test_shares_of_the_split():
    ids = torch.full((200, 100), 5)
    masked = mask_tokens(ids, VOCABULARY, generator(0), rate=1.0)
    assert abs((masked.input_ids == MASK).float().mean().item() - 0.8) < 0.01
    # A random draw may give the token itself, one time in 36.
    assert abs((masked.input_ids == 5).float().mean().item() - (0.1 + 0.1 / 36)) < 0.01
    assert set(masked.input_ids.unique().tolist()) == {MASK, *range(4, 40)}


def test_a_span_shares_one_fate():
    ids = torch.arange(4, 40).repeat(60, 1)
    masked = mask_spans(ids, VOCABULARY, generator(3), split=Split(0.5, 0.0, 0.5))
    fates = []
    for unit in range(int(masked.units.max()) + 1):
        of_unit = masked.units == unit
        is_mask = masked.input_ids[of_unit] == MASK
        assert is_mask.all() or torch.equal(masked.input_ids[of_unit], ids[of_unit])
        fates.append(bool(is_mask.all()))
    assert 0.3 < sum(fates) / len(fates) < 0.7


def test_span_lengths_are_geometric():
    ids = torch.full((150, 1000), 5)
    masked = mask_spans(ids, VOCABULARY, generator(0), rate=0.1)
    lengths = torch.bincount(masked.units[masked.units >= 0]).bincount(minlength=8)[1:].double()
    expected = 0.8 ** torch.arange(7, dtype=torch.float64)
    # The last span of an example is cut to its budget: one in 29.
    assert (lengths / lengths.sum() - expected / expected.sum()).abs().max() < 0.03


def test_maskable_limits_every_strategy():
    ids = torch.full((3, 30), 5)
    roots = torch.zeros(3, 30, dtype=torch.bool)
    roots[:, :10] = True
    for function in (mask_tokens, mask_spans):
        masked = function(ids, VOCABULARY, generator(0), maskable=roots, rate=0.5)
        assert not (masked.labels[:, 10:] != IGNORED).any()
        assert (masked.labels != IGNORED).any(dim=1).all()


@settings(deadline=None, max_examples=40)
@given(LENGTHS, SEEDS)
def test_span_boundaries_equal_a_walk(lengths, seed):
    ids = batch_of(lengths, seed)[:, 1:]  # without [CLS]: a span may open the example
    units = mask_spans(ids, VOCABULARY, generator(seed), rate=0.4).units
    real = ids > SEP  # as if the text had no end mark: what stands behind its last token is no neighbour
    expected = []
    for row, column in (units >= 0).nonzero().tolist():
        first = last = column
        while first > 0 and units[row, first - 1] == units[row, column]:
            first -= 1
        while last + 1 < units.shape[1] and units[row, last + 1] == units[row, column]:
            last += 1
        left = first - 1 if first > 0 else first
        right = last + 1 if last + 1 < units.shape[1] and real[row, last + 1] else last
        expected.append((row, column, left, right, column - first))
    found = span_boundaries(units, real)
    assert [tuple(entry) for entry in torch.stack(list(found), dim=1).tolist()] == expected


def test_special_tokens_stay_whatever_may_be_hidden():
    ids = batch_of([6, 2], 3)
    everything = torch.ones_like(ids, dtype=torch.bool)
    masked = mask_tokens(ids, VOCABULARY, generator(1), rate=1.0, maskable=everything)
    assert torch.equal(masked.labels != IGNORED, ids > MASK)


def test_span_boundaries_at_both_edges_and_none_at_all():
    found = span_boundaries(torch.tensor([[0, 0, -1, 1], [-1, -1, -1, -1]]))
    assert [part.tolist() for part in found] == [[0, 0, 0], [0, 1, 3], [0, 0, 2], [2, 2, 3], [0, 1, 0]]
    assert all(part.numel() == 0 for part in span_boundaries(torch.full((2, 3), -1)))


def test_spans_lie_where_the_ids_lie_whatever_torch_s_default_device_is():
    ids = batch_of([20, 9], 1)
    expected = mask_spans(ids, VOCABULARY, generator(5))
    with torch.device("meta"):
        found = mask_spans(ids, VOCABULARY, generator(5))
    assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))


def test_bad_input_is_named():
    ids = torch.full((2, 5), 5)
    with pytest.raises(ShapeError, match="input_ids"):
        mask_tokens(ids[0], VOCABULARY, generator(0))
    with pytest.raises(DtypeError, match="int32"):
        mask_tokens(ids.int(), VOCABULARY, generator(0))
    with pytest.raises(InputError, match="vocabulary of 40"):
        mask_tokens(ids + 40, VOCABULARY, generator(0))
    with pytest.raises(ConfigError, match=r"rate is 1\.5"):
        mask_tokens(ids, VOCABULARY, generator(0), rate=1.5)
    with pytest.raises(ConfigError, match="split"):
        mask_tokens(ids, VOCABULARY, generator(0), split=Split(0.5, 0.1, 0.1))
    with pytest.raises(ConfigError, match="span lengths"):
        mask_spans(ids, VOCABULARY, generator(0), longest=0)
    with pytest.raises(ShapeError, match="word_starts"):
        mask_spans(ids, VOCABULARY, generator(0), word_starts=torch.ones(2, 4, dtype=torch.bool))
    with pytest.raises(ShapeError, match="tails"):
        mask_tails(ids, ids[:, :4], VOCABULARY, generator(0))
    with pytest.raises(DtypeError, match="tails"):
        mask_tails(ids, ids.float(), VOCABULARY, generator(0))
    with pytest.raises(ShapeError, match="attention_mask"):
        span_boundaries(ids, ids[:, :4])
    with pytest.raises(ConfigError, match="special id 40"):
        MaskVocabulary(40, 3, (40,))
    with pytest.raises(ConfigError, match="all 2 ids"):
        MaskVocabulary(2, 0, (1,))
