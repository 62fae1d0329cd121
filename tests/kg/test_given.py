"""Leaves that are shown: who reads them, what may be copied from them, and that spelling sees what training saw."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from weft.errors import ConfigError
from weft.kg.config import weft_kg
from weft.kg.dataset.tokens import PAD
from weft.kg.model.decode import Queries, score_tails, spell
from weft.kg.model.leafy_chain import LeafyChainModel, LossWeights
from weft.kg.represent.given import Clues, attach
from weft.kg.represent.sampling import LeafRows, assemble, prompts

WORDS = 12


def model() -> LeafyChainModel:
    torch.manual_seed(0)
    made = LeafyChainModel(
        weft_kg(WORDS, 4, hidden_size=16, layers=2, heads=2, leaves=3, roots=8, clues=2)
    ).eval()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.mul_(3)
    return made


def clues() -> Clues:
    """Two of head 1 and one of head 4 in the first chunk, one of head 1 in the second."""
    there = torch.tensor([[True, True, True], [True, False, False]])
    return Clues(
        there,
        torch.tensor([[4, 5, 4], [5, 4, 4]]),
        torch.tensor([[1, 1, 4], [1, 0, 0]]),
        torch.ones(2, 3, dtype=torch.int64),
        torch.tensor([[[9, 10, PAD], [11, PAD, PAD], [10, 11, 9]], [[9, PAD, PAD]] * 3]),
        torch.tensor([[2, 1, 3], [1, 1, 1]]),
    )


def asked(shown: Clues | None) -> Queries:
    roots = torch.tensor([[5, 6, 7, 8, 5, 6, 7, 8], [6, 7, 8, 5, 6, 7, PAD, PAD]])
    one = torch.ones(2, 3, dtype=torch.int64)
    return Queries(
        roots, one.bool(), torch.tensor([[1, 2, 3]] * 2), torch.tensor([[1, 4, 0], [1, 4, 0]]), one, shown
    )


def test_what_is_spelled_has_the_score_that_training_would_give_it() -> None:
    made, question = model(), asked(clues())
    found = spell(made, question, beams=4)
    for rank in range(4):
        tails = found.tokens[:, :, rank]
        scores = score_tails(made, question, tails, (tails != PAD).sum(dim=2))
        assert torch.allclose(scores, found.log_probability[:, :, rank], atol=1e-4)


def test_a_question_reads_what_is_shown_of_its_head_alone() -> None:
    made, shown = model(), clues()
    tails = torch.full((2, 3, 3), 6)
    length = torch.full((2, 3), 3)
    before = score_tails(made, asked(shown), tails, length)
    changed = shown.tail_ids.clone()
    changed[0, 2] = torch.tensor([9, 9, 9])
    after = score_tails(made, asked(replace(shown, tail_ids=changed)), tails, length)
    same = torch.isclose(before, after, atol=1e-6)
    assert same.tolist() == [[True, False, True], [True, True, True]]
    without = score_tails(made, asked(None), tails, length)
    assert torch.isclose(without, before, atol=1e-6).tolist() == [[False, False, True], [False, True, True]]


def test_a_word_that_stands_in_a_clue_alone_is_copied_from_it() -> None:
    made = model()
    assert made.copy_path is not None
    with torch.no_grad():
        made.copy_path.gate.weight.zero_()
        made.copy_path.gate.bias.fill_(30.0)
    # Nothing but copying is left: a word that is neither in the text nor shown cannot be said.
    tails, length = torch.tensor([[[9, PAD, PAD]] * 3] * 2), torch.ones(2, 3, dtype=torch.int64)
    scores = score_tails(made, asked(clues()), tails, length)
    # The end is never copied, so scores are low everywhere; those of an impossible word are far lower.
    assert (scores < -45).tolist() == [[False, False, True], [False, True, True]]


def batch_of(question: Queries) -> LeafRows:
    tails = torch.tensor([[[9, 10, PAD], [10, PAD, PAD], [6, PAD, PAD]]] * 2)
    no = torch.zeros(2, 3, dtype=torch.bool)
    return LeafRows(
        question.there,
        question.relation,
        question.head_start,
        question.head_length,
        tails,
        (tails != PAD).sum(dim=2),
        no,
        no,
    )


def test_the_gate_is_told_that_a_clue_holds_the_tail() -> None:
    made, question = model(), asked(clues())
    targets = torch.full_like(question.roots, -100)
    prompt = prompts(made.config, torch.device("cpu"))
    batch = assemble(made.config, question.roots, targets, batch_of(question), 9, *prompt)
    assert not batch.copyable.any()
    joined = attach(batch, clues())
    assert joined.num_given == 6
    copied = joined.copyable & (joined.tail_targets >= 0)
    assert joined.tail_targets[copied].tolist() == [9, 10, 10, 9]
    losses = made.train().losses(joined, LossWeights())
    losses["loss"].backward()
    fusion = dict(made.named_parameters())["encoder.conditioner.members.0.weight"]
    assert fusion.grad is not None
    assert fusion.grad[4].abs().sum() > 0


def test_nothing_shown_changes_nothing() -> None:
    made, question = model(), asked(None)
    none = replace(clues(), there=torch.zeros(2, 3, dtype=torch.bool))
    tails, length = torch.full((2, 3, 3), 6), torch.full((2, 3), 2)
    assert torch.equal(
        score_tails(made, question, tails, length),
        score_tails(made, replace(question, clues=none), tails, length),
    )


def test_shuffled_clues_are_the_same_clues_of_other_heads() -> None:
    shown = clues()
    dealt = shown.shuffled(torch.Generator().manual_seed(1))
    assert sorted(dealt.tail_ids[shown.there].tolist()) == sorted(shown.tail_ids[shown.there].tolist())
    assert not torch.equal(dealt.tail_ids, shown.tail_ids)
    assert torch.equal(dealt.head_start, shown.head_start)


@pytest.mark.parametrize(
    "changes", [{"clues": -1}, {"clues": 1, "fusion": "none"}, {"clues": 1, "decay": "scores"}]
)
def test_clues_need_a_fusion_and_no_decay(changes: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"ModelConfig\.clues"):
        weft_kg(WORDS, 4, hidden_size=16, layers=1, heads=2, leaves=3, roots=8, **changes)
