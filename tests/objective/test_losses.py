import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from weft.documents.tails import masked_node_modeling_loss
from weft.errors import ConfigError, DtypeError, InputError, ShapeError
from weft.objective.losses import (
    IGNORED,
    masked_language_modeling_loss,
    nt_xent_loss,
    nt_xent_pairs,
    span_boundary_loss,
)

TOKEN_LOSSES = [masked_language_modeling_loss, masked_node_modeling_loss, span_boundary_loss]


def token_loss_by_loop(logits: Tensor, labels: Tensor, mask: Tensor) -> float:
    losses = []
    for b in range(labels.shape[0]):
        for i in range(labels.shape[1]):
            if mask[b, i] and labels[b, i] != IGNORED:
                row = [math.exp(v) for v in logits[b, i].tolist()]
                losses.append(-math.log(row[int(labels[b, i])] / sum(row)))
    return sum(losses) / len(losses) if losses else 0.0


def nt_xent_by_loop(z: Tensor, labels: list[int], temperature: float, ignore: list[int]) -> float:
    unit = [(row / row.norm()).tolist() for row in z]
    similarity = [[sum(a * b for a, b in zip(u, v, strict=True)) / temperature for v in unit] for u in unit]
    losses = []
    n = len(labels)
    for i in range(n):
        for j in range(n):
            if i == j or labels[i] != labels[j]:
                continue
            total = 0.0
            for k in range(n):
                duplicate = ignore[i] >= 0 and ignore[i] == ignore[k] and labels[i] != labels[k]
                if k != i and not duplicate:
                    total += math.exp(similarity[i][k])
            losses.append(-math.log(math.exp(similarity[i][j]) / total))
    return sum(losses) / len(losses)


@pytest.mark.parametrize("loss", TOKEN_LOSSES)
@pytest.mark.parametrize("seed", range(3))
def test_token_losses_equal_the_loop_in_every_form(loss, seed):
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(3, 5, 7, dtype=torch.float64, generator=generator)
    labels = torch.randint(7, (3, 5), generator=generator)
    mask = torch.rand(3, 5, generator=generator) < 0.5
    expected = token_loss_by_loop(logits, labels, mask)
    ignored = labels.masked_fill(~mask, IGNORED)
    assert loss(logits, labels, mask).item() == pytest.approx(expected, abs=1e-12)
    assert loss(logits, labels, mask.long()).item() == pytest.approx(expected, abs=1e-12)
    assert loss(logits, ignored).item() == pytest.approx(expected, abs=1e-12)
    assert loss(logits[mask], ignored).item() == pytest.approx(expected, abs=1e-12)
    assert loss(logits[mask], labels, mask).item() == pytest.approx(expected, abs=1e-12)
    assert loss(logits[mask], labels[mask]).item() == pytest.approx(expected, abs=1e-12)


def test_mask_and_ignored_labels_are_joined():
    logits = torch.randn(1, 3, 4, dtype=torch.float64)
    labels = torch.tensor([[IGNORED, 2, 3]])
    mask = torch.tensor([[True, True, False]])
    assert masked_language_modeling_loss(logits, labels, mask).item() == pytest.approx(
        token_loss_by_loop(logits, labels, mask)
    )


@pytest.mark.parametrize("loss", TOKEN_LOSSES)
@pytest.mark.parametrize("gathered", [False, True])
def test_an_empty_mask_gives_zero_with_a_graph(loss, gathered):
    logits = torch.randn((0, 7) if gathered else (2, 3, 7), requires_grad=True)
    value = loss(logits, torch.full((2, 3), IGNORED))
    assert value.item() == 0.0
    value.backward()
    assert logits.grad is not None
    assert torch.equal(logits.grad, torch.zeros_like(logits))


def test_token_loss_gradcheck():
    logits = torch.randn(2, 3, 4, dtype=torch.float64, requires_grad=True)
    labels = torch.tensor([[0, IGNORED, 2], [3, 1, IGNORED]])
    assert torch.autograd.gradcheck(lambda x: masked_language_modeling_loss(x, labels), logits)


def test_half_precision_logits_are_reduced_in_float32():
    logits = torch.randn(4, 50).bfloat16()
    labels = torch.randint(50, (4,))
    value = masked_language_modeling_loss(logits, labels)
    assert value.dtype == torch.float32
    assert value.item() == pytest.approx(
        masked_language_modeling_loss(logits.float(), labels).item(), abs=1e-6
    )


def test_token_loss_names_what_is_wrong():
    logits = torch.randn(2, 3, 7)
    with pytest.raises(ShapeError, match=r"\(2, 3, 7\).*\(2, 4\)"):
        masked_language_modeling_loss(logits, torch.zeros(2, 4, dtype=torch.int64))
    with pytest.raises(ShapeError, match=r"mask is \(2,\).*\(2, 3\)"):
        masked_language_modeling_loss(logits, torch.zeros(2, 3, dtype=torch.int64), torch.ones(2))
    with pytest.raises(DtypeError, match="int32"):
        masked_language_modeling_loss(logits, torch.zeros(2, 3, dtype=torch.int32))
    with pytest.raises(InputError, match="label 7 is outside the vocabulary of 7"):
        masked_language_modeling_loss(logits, torch.full((2, 3), 7))
    with pytest.raises(InputError, match="label -1 "):
        masked_language_modeling_loss(logits, torch.full((2, 3), -1))


@settings(deadline=None, max_examples=30)
@given(
    labels=st.lists(st.integers(0, 3), min_size=2, max_size=8).filter(lambda ids: len(set(ids)) < len(ids)),
    ignore_seed=st.integers(0, 1000),
    temperature=st.sampled_from([0.07, 0.5, 1.0]),
)
def test_nt_xent_equals_the_loop(labels, ignore_seed, temperature):
    generator = torch.Generator().manual_seed(ignore_seed)
    z = torch.randn(len(labels), 6, dtype=torch.float64, generator=generator)
    ignore = torch.randint(-1, 2, (len(labels),), generator=generator)
    value = nt_xent_loss(z, torch.tensor(labels), temperature, ignore)
    assert value.item() == pytest.approx(nt_xent_by_loop(z, labels, temperature, ignore.tolist()), rel=1e-10)
    plain = nt_xent_loss(z, torch.tensor(labels), temperature)
    assert plain.item() == pytest.approx(
        nt_xent_by_loop(z, labels, temperature, [-1] * len(labels)), rel=1e-10
    )


def test_nt_xent_of_pairs_is_simclr():
    z1, z2 = torch.randn(2, 5, 4, dtype=torch.float64)
    expected = nt_xent_by_loop(torch.cat([z1, z2]), [*range(5), *range(5)], 0.2, [-1] * 10)
    assert nt_xent_pairs(z1, z2, 0.2).item() == pytest.approx(expected, rel=1e-10)
    ignore = [0, 0, -1, -1, -1]
    expected = nt_xent_by_loop(torch.cat([z1, z2]), [*range(5), *range(5)], 0.2, ignore * 2)
    assert nt_xent_pairs(z1, z2, 0.2, torch.tensor(ignore)).item() == pytest.approx(expected, rel=1e-10)


def test_nt_xent_of_pairs_asks_the_host_whatever_torch_s_default_device_is():
    z = torch.randn(2, 4, 3)
    expected = nt_xent_pairs(*z)
    with torch.device("meta"):
        assert torch.equal(nt_xent_pairs(*z), expected)


def test_nt_xent_gradcheck():
    z = torch.randn(6, 3, dtype=torch.float64, requires_grad=True)
    labels, ignore = torch.tensor([0, 0, 1, 1, 1, 2]), torch.tensor([-1, 4, 4, -1, -1, 4])
    assert torch.autograd.gradcheck(lambda x: nt_xent_loss(x, labels, 0.5, ignore), z)


def test_nt_xent_has_finite_gradients_where_a_row_has_no_negative_left():
    z = torch.randn(3, 4, requires_grad=True)
    # The third has no positive, and both others are its known duplicates: nothing to compare it with.
    value = nt_xent_loss(z, torch.tensor([0, 0, 1]), ignore_ids=torch.tensor([5, 5, 5]))
    value.backward()
    assert value.item() == pytest.approx(0.0, abs=1e-6)
    assert z.grad is not None
    assert torch.isfinite(z.grad).all()


@settings(deadline=None, max_examples=20)
@given(st.permutations(range(6)), st.floats(0.1, 50))
def test_nt_xent_ignores_order_and_length(order, factor):
    generator = torch.Generator().manual_seed(1)
    z = torch.randn(6, 4, dtype=torch.float64, generator=generator)
    labels = torch.tensor([0, 0, 1, 1, 2, 2])
    index = torch.tensor(order)
    assert nt_xent_loss(z[index] * factor, labels[index]).item() == pytest.approx(
        nt_xent_loss(z, labels).item()
    )


def test_nt_xent_under_autocast_is_float32():
    z = torch.randn(8, 16)
    labels = torch.arange(4).repeat(2)
    with torch.autocast("cpu", torch.bfloat16):
        value = nt_xent_loss(z, labels)
    assert value.item() == nt_xent_loss(z, labels).item()


def test_nt_xent_names_what_is_wrong():
    z = torch.randn(4, 3)
    with pytest.raises(InputError, match="no two of the 4 embeddings share a group"):
        nt_xent_loss(z, torch.arange(4))
    with pytest.raises(InputError, match="no two"):
        nt_xent_pairs(z[:0], z[:0])
    with pytest.raises(DtypeError, match=r"torch\.float32"):
        nt_xent_loss(z, torch.ones(4))
    with pytest.raises(ShapeError, match=r"\(4, 3\).*\(5,\)"):
        nt_xent_loss(z, torch.zeros(5, dtype=torch.int64))
    with pytest.raises(ShapeError, match="ignore_ids"):
        nt_xent_loss(z, torch.zeros(4, dtype=torch.int64), ignore_ids=torch.zeros(3, dtype=torch.int64))
    with pytest.raises(DtypeError, match="ignore_ids"):
        nt_xent_loss(z, torch.zeros(4, dtype=torch.int64), ignore_ids=torch.zeros(4))
    with pytest.raises(ConfigError, match="temperature is 0"):
        nt_xent_loss(z, torch.zeros(4, dtype=torch.int64), temperature=0)
    with pytest.raises(ShapeError, match=r"z1 is \(4, 3\) and z2 is \(3, 3\)"):
        nt_xent_pairs(z, z[:3])
