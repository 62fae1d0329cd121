"""Training batches: packing, what each leaf is fed with and asks for, what is hidden."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.errors import ConfigError, InputError
from weft.kg.config import ModelConfig
from weft.kg.dataset.tokens import END, MASK, NO_WORD, PAD, START
from weft.kg.learn.code import named_config
from weft.kg.represent.batch import IGNORED, ChainBatch, pack
from weft.kg.represent.dataset import Dataset
from weft.kg.represent.sampling import Sampler, SamplingConfig


@given(
    st.lists(st.lists(st.integers(0, 5), min_size=4, max_size=4), min_size=1, max_size=4), st.integers(1, 12)
)
@settings(max_examples=80, deadline=None)
def test_pack_equals_a_loop(lengths: list[list[int]], columns: int) -> None:
    kept, start, group, slot = pack(torch.tensor(lengths), columns)
    for row, row_lengths in enumerate(lengths):
        groups, slots, place, full = [], [], 0, False
        for number, length in enumerate(row_lengths):
            full = full or place + length > columns
            assert bool(kept[row, number]) == (length > 0 and not full)
            if length and not full:
                assert int(start[row, number]) == place
                groups += [number] * length
                slots += range(length)
                place += length
        rest = columns - place
        assert group[row].tolist() == groups + [-1] * rest
        assert slot[row].tolist() == slots + [-1] * rest


def batch_of(dataset: Dataset, model: ModelConfig, **changes: object) -> ChainBatch:
    config = replace(SamplingConfig(batch_size=12, mlm_share=0.0, hide_share=0.0), **changes)
    return next(Sampler(dataset.corpus, model, config).batches().epoch(0))


def groups_of(batch: ChainBatch) -> list[tuple[int, int, list[int], list[int], list[bool]]]:
    """(row, relation, fed, asked, copyable) of each leaf group."""
    result = []
    for number, row in enumerate(batch.example.tolist()):
        part = slice(int(batch.tail_start[number]), int(batch.tail_start[number] + batch.tail_length[number]))
        result.append(
            (
                row,
                int(batch.relation[number]),
                batch.input_ids[row, part].tolist(),
                batch.tail_targets[row, part].tolist(),
                batch.copyable[row, part].tolist(),
            )
        )
    return result


def stated(dataset: Dataset) -> set[tuple[int, tuple[int, ...]]]:
    corpus = dataset.corpus
    tails = zip(corpus.tail_ids.tolist(), corpus.tail_length.tolist(), strict=True)
    return {(r, tuple(ids[:n])) for r, (ids, n) in zip(corpus.relation.tolist(), tails, strict=True)}


def test_a_leaf_is_fed_with_the_token_before_and_asks_for_its_own(
    dataset: Dataset, small: ModelConfig
) -> None:
    batch = batch_of(dataset, small)
    facts = stated(dataset)
    found = groups_of(batch)
    assert len(found) > 12
    for _, relation, fed, asked, _ in found:
        assert fed[0] == START
        assert fed[1:] == asked[:-1]
        tail = tuple(asked[:-1] if asked[-1] == END else asked)
        assert END not in tail
        assert len(asked) == min(len(tail) + 1, small.leaves)
        assert (relation, tail) in facts


def test_the_gate_is_told_what_stands_in_the_roots(dataset: Dataset, small: ModelConfig) -> None:
    batch = batch_of(dataset, small)
    seen = {True: 0, False: 0}
    for row, _, _, asked, copyable in groups_of(batch):
        roots = set(batch.input_ids[row, : batch.num_roots].tolist())
        for token, can in zip(asked, copyable, strict=True):
            seen[can] += 1
            assert not can or (token in roots and token != END)
    assert seen[True] > 20
    assert seen[False] > 20


def test_hidden_tails_leave_the_text(dataset: Dataset, small: ModelConfig) -> None:
    shown = batch_of(dataset, small)
    hidden = batch_of(dataset, small, hide_share=1.0)
    assert not (shown.input_ids[:, : shown.num_roots] == MASK).any()
    masks = (hidden.input_ids[:, : hidden.num_roots] == MASK).sum(dim=1)
    assert int((masks > 0).sum()) >= 6
    assert hidden.copyable.sum() < shown.copyable.sum()
    # Padding stays at the end, and heads still point at real tokens.
    real = hidden.real[:, : hidden.num_roots].long()
    assert (real.diff(dim=1) <= 0).all()
    assert hidden.real[hidden.example, hidden.head_start].all()


def test_roots_are_masked_and_leaves_are_not(dataset: Dataset, small: ModelConfig) -> None:
    batch = batch_of(dataset, small, mlm_share=1.0, mask_share=0.3)
    assert (batch.root_targets[:, : batch.num_roots] != IGNORED).any()
    assert (batch.root_targets[:, batch.num_roots :] == IGNORED).all()
    assert (batch.tail_targets[:, : batch.num_roots] == IGNORED).all()


def test_published_configurations_mask_so_much_of_all_roots(dataset: Dataset, small: ModelConfig) -> None:
    published = replace(small, decoding="masked", one_way=False, copy_path=False, decay="scores")
    config = SamplingConfig(batch_size=12)
    shares = {}
    for model in (small, published):
        sampler, masked, roots = Sampler(dataset.corpus, model, config), 0, 0
        for batch in sampler.batches().epoch(0):
            masked += int((batch.root_targets != IGNORED).sum())
            roots += int(batch.real[:, : batch.num_roots].sum())
        shares[model.decoding] = masked / roots
    assert shares["masked"] == pytest.approx(0.15, abs=0.015)
    assert shares["causal"] == pytest.approx(0.3 * 0.15, abs=0.02)
    assert replace(config, mlm_share=0.3, hide_share=0.4).shares("masked") == (0.4, 0.3)
    assert config.shares("masked") == (0.0, 1.0)


def test_a_batch_is_fixed_by_its_seed(dataset: Dataset, small: ModelConfig) -> None:
    first, second = (batch_of(dataset, small, hide_share=0.5, mlm_share=0.5) for _ in range(2))
    for name in vars(first):
        value = getattr(first, name)
        assert (
            value == getattr(second, name)
            if isinstance(value, int)
            else torch.equal(value, getattr(second, name))
        )
    other = batch_of(dataset, small, hide_share=0.5, mlm_share=0.5, seed=1)
    assert not torch.equal(first.input_ids.sum(dim=1).sort().values, other.input_ids.sum(dim=1).sort().values)


def test_shuffled_relations_are_random(dataset: Dataset, small: ModelConfig) -> None:
    facts = stated(dataset)
    batch = batch_of(dataset, small, shuffle_relations=True)
    right = [(r, tuple(t for t in asked if t != END)) in facts for _, r, _, asked, _ in groups_of(batch)]
    assert sum(right) / len(right) < 0.5


@pytest.mark.parametrize("name", ["graphmert", "graphmert-official"])
def test_masked_tails_are_hidden_whole(dataset: Dataset, name: str) -> None:
    model = named_config(name, dataset, hidden_size=16, layers=1, heads=2)
    batch = batch_of(dataset, model, mnm_share=0.5)
    facts = stated(dataset)
    kinds = set()
    for _, relation, fed, asked, _ in groups_of(batch):
        hidden = fed[0] == MASK
        kinds.add(hidden)
        if not hidden:
            assert (relation, tuple(fed)) in facts
            assert asked == [IGNORED] * len(fed)
            continue
        assert fed == [MASK] * len(fed)
        wanted = [token for token in asked if token not in (IGNORED, END)]
        assert (relation, tuple(wanted)) in facts
        if model.slots:
            # Every hidden tail has K masks: their number tells nothing, the end is a target.
            assert len(fed) == model.leaves
            assert asked.count(END) == (len(wanted) < model.leaves)
        else:
            assert len(fed) == len(wanted)
    assert kinds == {True, False}


def test_words_before_the_tail(dataset: Dataset) -> None:
    model = named_config("weft-kg", dataset, hidden_size=16, layers=1, heads=2, fusion="words")
    for _, relation, fed, asked, _ in groups_of(batch_of(dataset, model)):
        words = list(model.prompt[relation])
        assert fed[: len(words) + 1] == [*words, START]
        assert asked[: len(words)] == [IGNORED] * len(words)


def test_chunks_without_triples_take_part(dataset: Dataset, small: ModelConfig) -> None:
    corpus = replace(dataset.corpus, first_triple=torch.zeros_like(dataset.corpus.first_triple))
    batch = next(Sampler(corpus, small, SamplingConfig(batch_size=4, mlm_share=1.0)).batches().epoch(0))
    assert len(batch.example) == 0
    assert (batch.tail_targets == IGNORED).all()
    assert (batch.input_ids[:, batch.num_roots :] == PAD).all()


def test_chunks_with_triples_are_seen_more_often(dataset: Dataset, small: ModelConfig) -> None:
    first = dataset.corpus.first_triple.clone()
    training = dataset.corpus.chunks_of(0)
    empty = training[:5]
    for chunk in empty.tolist():
        first[chunk + 1 :] -= int(first[chunk + 1] - first[chunk])
    sampler = Sampler(replace(dataset.corpus, first_triple=first), small, SamplingConfig(oversampling=3))
    counts = torch.bincount(sampler.order, minlength=len(dataset.corpus.ids))
    assert (counts[empty] == 1).all()
    assert set(counts[training].tolist()) == {1, 3}


def test_words_are_never_hidden_where_there_are_none(dataset: Dataset) -> None:
    assert NO_WORD == 255
    assert int(dataset.corpus.head_word.max()) < NO_WORD


def test_what_cannot_be_sampled(dataset: Dataset, small: ModelConfig) -> None:
    with pytest.raises(InputError, match="no chunks"):
        Sampler(dataset.corpus, small, SamplingConfig(), torch.zeros(0, dtype=torch.int64))
    with pytest.raises(ConfigError, match="leaf_columns is 3"):
        Sampler(dataset.corpus, small, SamplingConfig(leaf_columns=3))
    with pytest.raises(ConfigError, match=r"hide_share is 1\.5"):
        SamplingConfig(hide_share=1.5)
    with pytest.raises(ConfigError, match="batch_size is 0"):
        SamplingConfig(batch_size=0)


def test_spans_of_chosen_rows_are_masked_from_word_starts_and_never_touch(
    dataset: Dataset, small: ModelConfig
) -> None:
    batch = batch_of(dataset, small, mlm_share=0.5)
    targets = batch.root_targets[:, : batch.num_roots]
    asked = targets != IGNORED
    rows = asked.any(dim=1)
    assert 0 < rows.sum() < len(rows)
    real = (batch.input_ids[:, : batch.num_roots] != PAD).sum(dim=1)
    share = asked.sum(dim=1)[rows] / real[rows]
    assert 0.1 < share.mean() < 0.16
    whole = batch_of(dataset, small)
    assert torch.equal(targets[asked], whole.input_ids[:, : batch.num_roots][asked])
    assert not (whole.root_targets != IGNORED).any()
    ends = asked[:, :-1] & ~asked[:, 1:]
    run = torch.zeros(len(asked), dtype=torch.int64)
    for column in range(asked.shape[1]):
        run = torch.where(asked[:, column], run + 1, 0)
        assert run.max() <= 7
    assert ends.any()


def test_a_chunk_gives_the_tensors_of_the_design(dataset: Dataset) -> None:
    corpus = dataset.corpus
    chunk = int(corpus.chunk[len(corpus.chunk) // 2])
    graph, refused = dataset.chain(chunk)
    tensors = graph.to_tensors()
    assert {name: tuple(tensor.shape) for name, tensor in tensors.items()} == {
        "input_ids": (1024,),
        "attention_mask": (1024,),
        "token_type_ids": (1024,),
        "graph_structure": (128, 7),
        "relation_ids": (128, 7),
        "is_leaf": (1024,),
    }
    assert torch.equal(tensors["input_ids"][:128], corpus.ids[chunk].long())
    first, last = corpus.first_triple[chunk : chunk + 2].tolist()
    heads = set(corpus.head_start[first:last].tolist())
    assert set(torch.nonzero(tensors["relation_ids"][:, 0]).flatten().tolist()) == heads
    assert len(graph.triples) + refused["head taken"] == last - first
    row = first + 1 if refused["head taken"] == 0 else first
    head, length = int(corpus.head_start[row]), int(corpus.tail_length[row])
    leaves = tensors["input_ids"][128 + 7 * head : 128 + 7 * head + length]
    assert torch.equal(leaves, corpus.tail_ids[row, :length])
    assert int(tensors["relation_ids"][head, 0]) == int(corpus.relation[row])
    every, none = dataset.chain(chunk, several_per_head=True)
    assert len(every.triples) == last - first
    assert not none


def test_each_process_has_its_share(dataset: Dataset, small: ModelConfig, monkeypatch) -> None:
    def batches(size: int) -> list[list[int]]:
        found = Sampler(dataset.corpus, small, SamplingConfig(batch_size=size)).batches()
        assert found.rank == found.plan.rank
        return found.plan.epoch(0)

    whole = batches(4)
    monkeypatch.setenv("WORLD_SIZE", "2")
    shares = []
    for rank in range(2):
        monkeypatch.setenv("RANK", str(rank))
        shares.append(batches(5))  # which two processes share as four
    assert [sorted(first + second) for first, second in zip(*shares, strict=True)] == [*map(sorted, whole)]
    assert all(len(part) == 2 for share in shares for part in share)
