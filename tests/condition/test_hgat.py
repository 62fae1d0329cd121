"""Triple fusion against a loop over triples, on dense and on compact sequences."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional as F

from weft.condition import HGAT
from weft.errors import ConfigError, GraphError, ShapeError
from weft.graph import Triples
from weft.kg.model.fusion import RelationEmbedding

BATCH, SEQ, HIDDEN, RELATIONS = 3, 12, 6, 5


def module(**changes) -> HGAT:
    torch.manual_seed(0)
    hgat = HGAT(**({"hidden_size": HIDDEN, "num_relations": RELATIONS} | changes)).double()
    for parameter in hgat.parameters():
        nn.init.normal_(parameter)
    return hgat.eval()


def some_triples(seed: int = 0, count: int = 7) -> Triples:
    """Heads among positions 0 to 5, tails among 6 to 11, of different lengths; relation 4 is absent."""
    generator = torch.Generator().manual_seed(seed)

    def draw(low: int, high: int) -> Tensor:
        return torch.randint(low, high, (count,), generator=generator)

    return Triples.from_spans(draw(0, BATCH), draw(1, 4), draw(0, 4), draw(1, 4), draw(6, 10), draw(1, 4))


def by_loops(hgat: HGAT, embeddings: Tensor, triples: Triples) -> Tensor:
    """e_ij, α_i and t'_i of the docstring, literally."""
    out = embeddings.clone()
    for t in range(len(triples)):
        example, relation = int(triples.example[t]), int(triples.relation[t])
        weight, attention = hgat.weight[relation], hgat.attention[relation].flatten()
        heads = [weight @ embeddings[example, j] for j in triples.head[t].tolist() if j >= 0]
        for i in triples.tail[t].tolist():
            if i < 0:
                continue
            tail = weight @ embeddings[example, i]
            scores = torch.stack([F.leaky_relu(attention @ torch.cat([tail, head]), 0.01) for head in heads])
            for alpha, head, j in zip(scores.softmax(0), heads, triples.head[t].tolist(), strict=False):
                out[example, i] = out[example, i] + alpha * head
                if hgat.relation is not None:
                    out[example, i] = out[example, i] + alpha * embeddings[example, j]
            if hgat.relation is not None:
                out[example, i] = out[example, i] + hgat.relation[relation]
    return out


def embeddings() -> Tensor:
    return torch.randn(
        BATCH,
        SEQ,
        HIDDEN,
        dtype=torch.float64,
        generator=torch.Generator().manual_seed(7),
        requires_grad=True,
    )


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10_000), st.integers(1, 9), st.booleans())
def test_fusion_equals_the_loop(seed: int, count: int, residual: bool) -> None:
    hgat, x, triples = module(residual=residual), embeddings(), some_triples(seed, count)
    out = hgat.embed(x, hgat.prepare(triples))
    expected = by_loops(hgat, x, triples)
    torch.testing.assert_close(out, expected, rtol=0, atol=1e-11)
    ours = torch.autograd.grad(out.square().sum(), [x, *hgat.parameters()])
    theirs = torch.autograd.grad(expected.square().sum(), [x, *hgat.parameters()])
    for mine, oracle in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, oracle, rtol=1e-8, atol=1e-9)


def test_fusion_equals_the_loop_at_size_in_float32() -> None:
    torch.manual_seed(3)
    hgat = HGAT(64, 30).eval()
    x = torch.randn(BATCH, SEQ, 64)
    triples = some_triples(count=20)
    torch.testing.assert_close(
        hgat.embed(x, hgat.prepare(triples)), by_loops(hgat, x, triples), rtol=0, atol=1e-5
    )


@pytest.mark.parametrize("residual", [False, True])
def test_gradients(residual: bool) -> None:
    hgat = module(hidden_size=3, residual=residual)
    state = hgat.prepare(some_triples(count=4))
    names = [name for name, _ in hgat.named_parameters()]
    x = torch.randn(BATCH, SEQ, 3, dtype=torch.float64, requires_grad=True)

    def call(x: Tensor, *parameters: Tensor) -> Tensor:
        return torch.func.functional_call(
            _Embed(hgat, state), dict(zip(names, parameters, strict=True)), (x,)
        )

    names = [f"hgat.{name}" for name in names]
    assert torch.autograd.gradcheck(call, (x, *hgat.parameters()))


class _Embed(nn.Module):
    def __init__(self, hgat: HGAT, state: Triples) -> None:
        super().__init__()
        self.hgat = hgat
        self.state = state

    def forward(self, x: Tensor) -> Tensor:
        return self.hgat.embed(x, self.state)


def test_only_tails_change() -> None:
    hgat, x, triples = module(), embeddings(), some_triples()
    changed = (hgat.embed(x, hgat.prepare(triples)) != x).any(dim=-1)
    expected = torch.zeros(BATCH, SEQ, dtype=torch.bool)
    for example, tail in zip(triples.example.tolist(), triples.tail.tolist(), strict=True):
        expected[example, [position for position in tail if position >= 0]] = True
    assert torch.equal(changed, expected)


def test_no_triples_leave_the_embeddings_as_they_are() -> None:
    hgat, x = module(), embeddings()
    assert hgat.embed(x, hgat.prepare(Triples.none())) is x


def test_a_tail_in_two_triples_gets_both() -> None:
    hgat, x = module(), embeddings()
    one = Triples(*(torch.tensor(v) for v in ([0], [1], [[0, 1]], [[6]])))
    two = Triples(*(torch.tensor(v) for v in ([0], [2], [[2]], [[6]])))
    both = Triples(*(torch.tensor(v) for v in ([0, 0], [1, 2], [[0, 1], [2, -1]], [[6], [6]])))
    added = [hgat.embed(x, hgat.prepare(triples)) - x for triples in (one, two, both)]
    torch.testing.assert_close(added[2], added[0] + added[1], rtol=0, atol=1e-12)


def test_order_of_triples_and_of_examples_changes_nothing() -> None:
    hgat, x, triples = module(), embeddings(), some_triples()
    expected = hgat.embed(x, hgat.prepare(triples))
    order = torch.randperm(len(triples), generator=torch.Generator().manual_seed(1))
    parts = (triples.example, triples.relation, triples.head, triples.tail)
    shuffled = Triples(*(part[order] for part in parts))
    torch.testing.assert_close(hgat.embed(x, hgat.prepare(shuffled)), expected, rtol=0, atol=1e-12)
    turned = Triples(BATCH - 1 - triples.example, *parts[1:])
    torch.testing.assert_close(
        hgat.embed(x.flip(0), hgat.prepare(turned)).flip(0), expected, rtol=0, atol=1e-12
    )


def test_dense_and_compact_sequences_give_the_same() -> None:
    """The compact sequence holds the real tokens only; the triples follow them to their new places."""
    hgat, triples = module(), some_triples(count=3)
    triples = Triples(torch.zeros_like(triples.example), triples.relation, triples.head, triples.tail)
    dense = embeddings()[:1]
    kept = torch.cat([triples.head.flatten(), triples.tail.flatten()]).unique()
    kept = kept[kept >= 0]
    place = torch.full((SEQ + 1,), -1)
    place[kept] = torch.arange(len(kept))
    compact = Triples(triples.example, triples.relation, place[triples.head], place[triples.tail])
    expected = hgat.embed(dense, hgat.prepare(triples))[:, kept]
    out = hgat.embed(dense[:, kept], hgat.prepare(compact))
    torch.testing.assert_close(out, expected, rtol=0, atol=1e-12)


def test_residual_starts_from_the_plain_relation_embedding() -> None:
    """With W = 0 and even attention it is that control, to the bit of rounding: what it adds can only be learnt."""
    hgat, x, triples = module(residual=True), embeddings(), some_triples()
    plain = RelationEmbedding(HIDDEN, RELATIONS).double()
    with torch.no_grad():
        hgat.weight.zero_()
        hgat.attention.zero_()
        plain.relation.weight.copy_(hgat.relation)
    expected = plain.embed(x, plain.prepare(triples))
    torch.testing.assert_close(hgat.embed(x, hgat.prepare(triples)), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("training", [True, False])
def test_gradients_reach_every_present_relation_and_no_other(training: bool) -> None:
    hgat, x, triples = module().train(training), embeddings(), some_triples()
    hgat.embed(x, hgat.prepare(triples)).square().sum().backward()
    present = set(triples.relation.tolist())
    assert present == {1, 2, 3}
    for parameter in (hgat.weight, hgat.attention):
        assert parameter.grad is not None
        reached = {r for r in range(RELATIONS) if parameter.grad[r].abs().max() > 0}
        assert reached == present


def test_relation_dropout_acts_in_training_only() -> None:
    hgat, x = module(relation_dropout=0.5), embeddings()
    state = hgat.prepare(some_triples())
    expected = hgat.embed(x, state)
    assert torch.equal(hgat.embed(x, state), expected)
    hgat.train()
    assert not torch.equal(hgat.embed(x, state), expected)
    # One head token that is a unit vector: what is fused is a column of W, its entries dropped or doubled.
    x = torch.eye(HIDDEN, dtype=torch.float64).repeat(1, 2, 1)
    single = hgat.prepare(Triples(*(torch.tensor(v) for v in ([0], [1], [[2]], [[6]]))))
    fused = torch.stack([(hgat.embed(x, single) - x)[0, 6] for _ in range(20)])
    column = hgat.weight[1, :, 2].expand(20, -1)
    dropped = fused.abs() < 1e-12
    assert 0.3 < dropped.double().mean() < 0.7
    torch.testing.assert_close(fused[~dropped], 2 * column[~dropped])


@pytest.mark.parametrize("residual", [False, True])
def test_fusion_runs_under_bf16_autocast(residual: bool) -> None:
    hgat = HGAT(16, RELATIONS, 0.0, residual=residual, initializer_range=0.2)
    x, triples = torch.randn(BATCH, SEQ, 16), some_triples()
    exact = hgat.embed(x, hgat.prepare(triples))
    with torch.autocast("cpu", torch.bfloat16):
        out = hgat.embed(x, hgat.prepare(triples))
    torch.testing.assert_close(out.float(), exact, rtol=0.05, atol=0.05)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"hidden_size": 0}, "hidden_size is 0"),
        ({"num_relations": 1}, "num_relations is 1; it must be at least 2"),
        ({"relation_dropout": 1.0}, "relation_dropout is 1.0"),
    ],
)
def test_bad_configuration_names_field_and_rule(changes: dict, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        HGAT(**({"hidden_size": HIDDEN, "num_relations": RELATIONS} | changes))


@pytest.mark.parametrize(
    ("shape", "relations", "error", "words"),
    [
        ((BATCH, SEQ, HIDDEN + 1), RELATIONS, ShapeError, r"\(3, 12, 7\); they must be \(batch, seq, 6\)"),
        ((1, SEQ, HIDDEN), RELATIONS, GraphError, "outside the batch of 1"),
        ((BATCH, 7, HIDDEN), RELATIONS, GraphError, "outside the sequence of 7"),
        ((BATCH, SEQ, HIDDEN), 2, GraphError, "unknown relation; ids are 1 to 1"),
    ],
)
def test_triples_that_do_not_fit_are_one_clear_error(shape, relations: int, error: type, words: str) -> None:
    hgat = module(num_relations=relations)
    with pytest.raises(error, match=words):
        hgat.embed(torch.zeros(shape, dtype=torch.float64), hgat.prepare(some_triples()))
