"""Answers: beam search against an exhaustive one, scores, tries, mask-predict."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
import torch

from weft.errors import ConfigError, ShapeError
from weft.kg.config import graphmert, weft_kg
from weft.kg.dataset.tokens import END, MASK, PAD
from weft.kg.learn.code import named_config
from weft.kg.model import decode
from weft.kg.model.decode import Queries, find_tails, mask_predict, score_tails, spell
from weft.kg.model.leafy_chain import LeafyChainModel
from weft.kg.model.memory import encode_leaves, remember
from weft.kg.model.spelling import Leaves, Spelling, can_spell_by_leaf
from weft.kg.model.trie import Trie
from weft.kg.represent.dataset import Dataset
from weft.kg.represent.sampling import Sampler, SamplingConfig


def tiny(**changes: object) -> LeafyChainModel:
    config = weft_kg(9, 4, hidden_size=16, layers=2, heads=2, leaves=3, roots=8, **changes)
    model = LeafyChainModel(config).eval()
    # Spread the probabilities, so that the order of answers is no accident of rounding.
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3)
    return model


def queries(rows: int = 2, count: int = 3) -> Queries:
    generator = torch.Generator().manual_seed(3)
    roots = torch.randint(5, 9, (rows, 8), generator=generator)
    roots[1, 6:] = PAD
    return Queries(
        roots,
        torch.ones(rows, count, dtype=torch.bool),
        torch.randint(1, 4, (rows, count), generator=generator),
        torch.randint(0, 6, (rows, count), generator=generator),
        torch.ones(rows, count, dtype=torch.int64),
    )


def all_tails() -> list[tuple[int, ...]]:
    """Every tail of at most three of the four ordinary tokens."""
    return [tail for length in range(4) for tail in itertools.product(range(5, 9), repeat=length)]


def exhaustive(model: LeafyChainModel, asked: Queries, row: int, query: int) -> dict[tuple[int, ...], float]:
    tails = all_tails()
    one = slice(query, query + 1)
    many = Queries(
        asked.roots[row : row + 1],
        torch.ones(1, len(tails), dtype=torch.bool),
        asked.relation[row : row + 1, one].expand(1, len(tails)),
        asked.head_start[row : row + 1, one].expand(1, len(tails)),
        asked.head_length[row : row + 1, one].expand(1, len(tails)),
    )
    ids = torch.tensor([[list(tail) + [PAD] * (3 - len(tail)) for tail in tails]])
    scores = score_tails(model, many, ids, torch.tensor([[len(tail) for tail in tails]]))
    return dict(zip(tails, scores[0].tolist(), strict=True))


@pytest.mark.parametrize(
    "changes", [{}, {"copy_path": False}, {"decay": "weights"}, {"position": "absolute"}]
)
def test_probabilities_of_all_tails_sum_to_one(changes: dict[str, object]) -> None:
    scores = exhaustive(tiny(**changes), queries(), 1, 0)
    assert torch.tensor(list(scores.values())).exp().sum() == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("copy_path", [True, False])
def test_a_wide_beam_finds_what_exhaustive_search_finds(copy_path: bool) -> None:
    model, asked = tiny(copy_path=copy_path), queries()
    found = spell(model, asked, beams=85)
    for row in range(2):
        for query in range(3):
            expected = sorted(exhaustive(model, asked, row, query).items(), key=lambda item: -item[1])
            for rank, (tail, value) in enumerate(expected[:5]):
                assert found.tail(row, query, rank) == tail
                assert float(found.log_probability[row, query, rank]) == pytest.approx(value, abs=1e-4)


def test_a_narrow_beam_is_ordered_and_scored_exactly() -> None:
    model, asked = tiny(), queries()
    found = spell(model, asked, beams=3)
    assert (found.log_probability.diff(dim=-1) <= 0).all()
    for rank in range(3):
        tokens = found.tokens[:, :, rank]
        scores = score_tails(model, asked, tokens, (tokens != PAD).sum(dim=-1))
        assert torch.allclose(scores, found.log_probability[:, :, rank], atol=1e-4)


def test_queries_of_one_pass_equal_queries_alone() -> None:
    model, asked = tiny(), queries()
    together = spell(model, asked, beams=4)
    for query in range(3):
        part = slice(query, query + 1)
        single = Queries(
            asked.roots,
            asked.there[:, part],
            asked.relation[:, part],
            asked.head_start[:, part],
            asked.head_length[:, part],
        )
        alone = spell(model, single, beams=4)
        assert torch.allclose(alone.log_probability[:, 0], together.log_probability[:, query], atol=1e-4)
        assert torch.equal(alone.tokens[:, 0, 0], together.tokens[:, query, 0])


def test_questions_that_do_not_exist_change_nothing() -> None:
    model, asked = tiny(), queries()
    there = asked.there.clone()
    there[0, 1] = False
    found, whole = spell(model, replace(asked, there=there), beams=2), spell(model, asked, beams=2)
    assert float(found.log_probability[0, 1].max()) < -1e8
    assert torch.equal(found.tokens[there], whole.tokens[there])


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"copy_path": False},
        {"fusion": "embedding"},
        {"fusion": "residual"},
        {"fusion": "none"},
        {"position": "absolute"},
        {"position": "none"},
    ],
)
def test_leaf_by_leaf_spells_what_whole_tails_spell(
    changes: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, asked = tiny(**changes), queries(3, 4)
    there = asked.there.clone()
    there[0, 1] = there[2] = False
    asked = replace(asked, there=there)
    assert can_spell_by_leaf(model)
    by_leaf = spell(model, asked, beams=3)
    first = spell(model, asked, beams=3, first_only=True)
    monkeypatch.setattr(decode, "can_spell_by_leaf", lambda model: False)
    whole = spell(model, asked, beams=3)
    assert torch.equal(by_leaf.tokens[there], whole.tokens[there])
    assert torch.allclose(by_leaf.log_probability, whole.log_probability, atol=1e-5)
    assert torch.equal(first.tokens[there], whole.tokens[there][:, :1])
    assert torch.allclose(first.log_probability, whole.log_probability[..., :1], atol=1e-5)


def test_tails_that_leaves_cannot_be_apart_from_are_spelled_whole() -> None:
    assert not can_spell_by_leaf(tiny(decay="weights"))
    assert not can_spell_by_leaf(tiny(fusion="words", prompt=((), (5,), (6, 7), (8,))))


def test_the_first_answer_alone_follows_fewer_hypotheses(monkeypatch: pytest.MonkeyPatch) -> None:
    model, asked = tiny(), queries()
    followed: list[int] = []
    likeliest = Spelling.likeliest

    def count(self: Spelling, leaves: Leaves, number: int) -> tuple[torch.Tensor, torch.Tensor]:
        followed.append(len(leaves.row))
        return likeliest(self, leaves, number)

    monkeypatch.setattr(Spelling, "likeliest", count)
    spell(model, asked, beams=30)
    every = sum(followed)
    followed.clear()
    spell(model, asked, beams=30, first_only=True)
    assert 0 < sum(followed) < every


def test_tries_allow_their_tails_only() -> None:
    model, asked = tiny(), queries(2, 1)
    tails = [[(5, 6), (7,), (8, 8, 8)], [(6,), (6, 5)]]
    found = spell(model, asked, beams=4, tries=[[Trie(row)] for row in tails])
    for row in range(2):
        answers = [
            found.tail(row, 0, rank) for rank in range(4) if found.log_probability[row, 0, rank] > -1e8
        ]
        assert sorted(answers) == sorted(tails[row])
        scores = exhaustive(model, asked, row, 0)
        assert answers == sorted(answers, key=lambda tail: -scores[tail])


def test_a_trie() -> None:
    trie = Trie([(5, 6), (5,), (7,)])
    assert trie.following([]) == [5, 7]
    assert trie.following([5]) == sorted([6, END])
    assert trie.following([5, 6]) == [END]
    assert trie.following([9]) == []


@pytest.mark.parametrize("official", [False, True])
def test_mask_predict(official: bool) -> None:
    config = graphmert(30, 4, official=official, hidden_size=16, num_hidden_layers=1, num_attention_heads=2)
    model = LeafyChainModel(config).eval()
    asked = queries()
    for iterations in (1, 3):
        found = mask_predict(model, asked, length=2 if official else None, iterations=iterations)
        assert found.tokens.shape == (2, 3, 1, 7)
        assert not ((found.tokens > PAD) & (found.tokens < END)).any()
        real = (found.tokens != PAD).long()
        assert (real.diff(dim=-1) <= 0).all()
        if official:
            assert (real.sum(dim=-1) == 2).all()


def test_the_surest_tokens_stay_and_the_others_are_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[list[int]] = []

    def fill(model: object, asked: Queries, slots: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        shown.append(slots[1, 2].tolist())
        best = torch.tensor([-3.0, -1.0, -2.0]).expand(slots.shape)
        return torch.tensor([5, 6, 7]).expand(slots.shape), best

    monkeypatch.setattr(decode, "_fill", fill)
    model = LeafyChainModel(graphmert(30, 4, hidden_size=16, num_hidden_layers=1, num_attention_heads=2))
    found = mask_predict(model, queries(), length=3, iterations=3)
    assert shown == [[MASK, MASK, MASK], [MASK, 6, MASK], [MASK, 6, 7]]
    assert found.tail(1, 2, 0) == (5, 6, 7)
    assert float(found.log_probability[1, 2, 0]) == -6.0


@pytest.mark.parametrize("official", [False, True])
def test_masked_tails_are_found_one_by_one_with_the_length_that_is_likeliest(official: bool) -> None:
    config = graphmert(30, 4, official=official, hidden_size=16, num_hidden_layers=1, num_attention_heads=2)
    model = LeafyChainModel(config).eval()
    asked = queries()
    asked.there[1, 1] = False
    found = find_tails(model, asked)
    assert found.tokens.shape == (2, 3, 1, 7)
    assert float(found.log_probability[1, 1, 0]) < -1e8
    for row, query in ((0, 0), (0, 2), (1, 2)):
        parts = [getattr(asked, name)[row : row + 1, query : query + 1] for name in list(vars(asked))[1:5]]
        alone = Queries(asked.roots[row : row + 1], *parts)
        tries = {
            length: mask_predict(model, alone, length) for length in ([*range(1, 8)] if official else [7])
        }
        best = max(tries, key=lambda length: float(tries[length].log_probability))
        assert found.tail(row, query, 0) == tries[best].tail(0, 0, 0)
        torch.testing.assert_close(found.log_probability[row, query, 0], tries[best].log_probability[0, 0, 0])


def test_a_model_that_spells_is_asked_to_spell() -> None:
    model = tiny()
    assert torch.equal(find_tails(model, queries(), 2).tokens, spell(model, queries(), 2).tokens)


def test_decoding_fits_the_model() -> None:
    masked = LeafyChainModel(graphmert(30, 4, hidden_size=16, num_hidden_layers=1, num_attention_heads=2))
    with pytest.raises(ConfigError, match="spelling needs 'causal'"):
        spell(masked, queries())
    with pytest.raises(ConfigError, match="mask-predict needs"):
        mask_predict(tiny(), queries())
    with pytest.raises(ConfigError, match="0 beams"):
        spell(tiny(), queries(), beams=0)
    with pytest.raises(ConfigError, match="0 iterations"):
        mask_predict(masked, queries(), iterations=0)
    with pytest.raises(ShapeError, match="queries have shapes"):
        replace(queries(), there=torch.ones(2, 4, dtype=torch.bool))


@pytest.mark.parametrize(
    "choice", [{}, {"fusion": "embedding"}, {"position": "absolute"}, {"fusion": "words"}]
)
def test_remembered_roots_change_nothing(dataset: Dataset, choice: dict[str, str]) -> None:
    torch.manual_seed(0)
    config = named_config("weft-kg", dataset, hidden_size=32, layers=2, heads=2, **choice)
    model = LeafyChainModel(config).eval()
    sampler = Sampler(dataset.corpus, config, SamplingConfig(batch_size=6))
    batch = sampler.make(sampler.order[:6], torch.Generator().manual_seed(1))
    memory = remember(model, batch)
    with torch.no_grad():
        whole = model(batch)
    apart = encode_leaves(model, batch, memory)
    assert (whole - apart)[batch.real].abs().max() <= 2e-5


def test_roots_that_fade_are_not_remembered(dataset: Dataset) -> None:
    config = named_config("weft-kg", dataset, hidden_size=32, layers=1, heads=2, decay="scores")
    model = LeafyChainModel(config).eval()
    sampler = Sampler(dataset.corpus, config, SamplingConfig(batch_size=2))
    with pytest.raises(ConfigError, match="without decay"):
        remember(model, sampler.make(sampler.order[:2], torch.Generator()))
