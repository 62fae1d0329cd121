"""The document on multi-head attention, statement by statement, and its ten faults.

Faults of the document itself (D) have a test that fails on the document's version, which stands here as
`documented`; faults of its C++ source (C) have an ordinary regression test.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from weft.documents.multi_head_attention import MultiHeadAttention
from weft.errors import ConfigError, DtypeError, ShapeError

D_MODEL, HEADS, BATCH, LENGTH = 12, 3, 2, 5


@pytest.fixture
def attention():
    torch.manual_seed(0)
    return MultiHeadAttention(D_MODEL, HEADS).double()


@pytest.fixture
def inputs():
    torch.manual_seed(1)
    return [torch.randn(BATCH, LENGTH, D_MODEL, dtype=torch.float64, requires_grad=True) for _ in range(3)]


def plain(module, query, key, value, mask=None):
    """The same equation by ordinary autograd, one head at a time."""
    width = D_MODEL // HEADS
    projected = [
        x @ w
        for x, w in zip((query, key, value), (module.query_weights, module.key_weights, module.value_weights),
                        strict=True)
    ]  # fmt: skip
    heads = []
    for head in range(HEADS):
        q, k, v = (p[..., head * width : (head + 1) * width] for p in projected)
        scores = q @ k.transpose(-2, -1) / math.sqrt(width)
        if mask is not None:
            scores = scores.masked_fill(~mask[:, None, :], float("-inf"))
        heads.append(torch.softmax(scores, dim=-1) @ v)
    return torch.cat(heads, dim=-1) @ module.output_weights


def gradients(output, leaves, seed=2):
    weight = torch.randn(output.shape, dtype=output.dtype, generator=torch.Generator().manual_seed(seed))
    return torch.autograd.grad(output, leaves, weight)


def oracle_gradients(module, query, key, value, d_y):
    """The hand-derived backward in NumPy, heads one by one."""
    w = {n: p.detach().numpy() for n, p in module.named_parameters()}
    x = [t.detach().numpy() for t in (query, key, value)]
    width = D_MODEL // HEADS
    scale = width**-0.5
    result = {n: np.zeros_like(p) for n, p in w.items()} | {
        n: np.zeros_like(a) for n, a in zip("qkv", x, strict=True)
    }
    for b in range(BATCH):
        q, k, v = x[0][b] @ w["query_weights"], x[1][b] @ w["key_weights"], x[2][b] @ w["value_weights"]
        d_heads = d_y[b] @ w["output_weights"].T
        merged, d_q, d_k, d_v = np.zeros_like(q), np.zeros_like(q), np.zeros_like(k), np.zeros_like(v)
        for head in range(HEADS):
            at = slice(head * width, (head + 1) * width)
            scores = q[:, at] @ k[:, at].T * scale
            a = np.exp(scores - scores.max(1, keepdims=True))
            a /= a.sum(1, keepdims=True)
            merged[:, at] = a @ v[:, at]
            d_a = d_heads[:, at] @ v[:, at].T
            d_s = a * (d_a - (d_a * a).sum(1, keepdims=True))
            d_v[:, at] = a.T @ d_heads[:, at]
            d_q[:, at] = d_s @ k[:, at] * scale
            d_k[:, at] = d_s.T @ q[:, at] * scale
        result["output_weights"] += merged.T @ d_y[b]
        for name, own, gradient, weights in (
            ("q", x[0][b], d_q, "query_weights"),
            ("k", x[1][b], d_k, "key_weights"),
            ("v", x[2][b], d_v, "value_weights"),
        ):
            result[weights] += own.T @ gradient
            result[name][b] = gradient @ w[weights].T
    return result


def documented(module, query, key, value):
    """One example through the document's own steps: no heads, Q and K both scaled, dQ by the transpose."""
    w_q, w_k, w_v, w_o = (p.detach() for p in module.parameters())
    scale = (D_MODEL // HEADS) ** -0.5
    q, k, v = query @ w_q * scale, key @ w_k * scale, value @ w_v
    a = torch.softmax(q @ k.T, dim=-1)
    return {"q": q, "k": k, "v": v, "a": a, "scale": scale, "output": a @ v @ w_o, "w": (w_q, w_k, w_v, w_o)}


def test_defaults_are_the_documents():
    module = MultiHeadAttention()
    assert (module.d_model, module.num_heads) == (512, 8)
    assert module.scale_factor == 1 / math.sqrt(64)


def test_forward_and_backward_equal_autograd(attention, inputs):
    leaves = [*inputs, *attention.parameters()]
    ours, theirs = attention(*inputs), plain(attention, *inputs)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)
    for a, b in zip(gradients(ours, leaves), gradients(theirs, leaves), strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-12)


def test_backward_equals_the_numpy_derivation(attention, inputs):
    output = attention(*inputs)
    weight = torch.randn(output.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    names = ["q", "k", "v", *dict(attention.named_parameters())]
    ours = torch.autograd.grad(output, [*inputs, *attention.parameters()], weight)
    expected = oracle_gradients(attention, *inputs, weight.numpy())
    for name, gradient in zip(names, ours, strict=True):
        np.testing.assert_allclose(gradient.numpy(), expected[name], atol=1e-12, err_msg=name)


def test_gradcheck(attention, inputs):
    mask = torch.tensor([[True, True, True, False, False], [True, True, True, True, True]])
    assert torch.autograd.gradcheck(lambda *x: attention(*x, mask), tuple(inputs))


def test_separate_inputs_of_different_lengths(attention, inputs):
    assert attention(inputs[0][:, :2], inputs[1], inputs[2]).shape == (BATCH, 2, D_MODEL)


def test_a_plain_sgd_step_is_the_documents_update(attention, inputs):
    before = attention.value_weights.detach().clone()
    attention(*inputs).sum().backward()
    gradient = attention.value_weights.grad.clone()
    torch.optim.SGD(attention.parameters(), lr=0.1).step()
    torch.testing.assert_close(attention.value_weights.detach(), before - 0.1 * gradient)


def test_fault_1_d_query_gradient_is_not_transposed(attention, inputs):
    """D: dQ = dSᵀ·K. With it the gradient of W_Q is wrong; ours is autograd's."""
    one = [x.detach()[0] for x in inputs]
    doc = documented(attention, *one)
    w_q = doc["w"][0].clone().requires_grad_()
    a = torch.softmax((one[0] @ w_q * doc["scale"]) @ doc["k"].T, dim=-1)
    (true,) = torch.autograd.grad((a @ doc["v"] @ doc["w"][3]).sum(), w_q)
    d_a = torch.ones_like(doc["output"]) @ doc["w"][3].T @ doc["v"].T
    d_s = doc["a"] * (d_a - (d_a * doc["a"]).sum(-1, keepdim=True))
    right = one[0].T @ (d_s @ doc["k"]) * doc["scale"]
    wrong = one[0].T @ (d_s.T @ doc["k"]) * doc["scale"]
    torch.testing.assert_close(right, true, rtol=0, atol=1e-12)
    assert (wrong - true).abs().max() > 1e-3


def test_fault_2_d_input_gradient_uses_the_weights_of_the_forward(attention, inputs):
    """D: weights are updated before dX is computed from them, so dX depends on the learning rate."""
    output = attention(*inputs)
    old = attention.query_weights.detach().clone()
    (before,) = torch.autograd.grad(output.sum(), inputs[0], retain_graph=True)
    expected = gradients(plain(attention, *inputs).sum()[None], [inputs[0]], seed=0)[0]
    scale = torch.randn(1, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(before * scale, expected, rtol=0, atol=1e-12)
    updated = old - 0.5 * torch.autograd.grad(output.sum(), attention.query_weights, retain_graph=True)[0]
    d_q = before @ torch.linalg.inv(old.T)
    assert (d_q @ updated.T - before).abs().max() > 1e-3


def test_fault_3_c_input_gradient_does_not_know_a_learning_rate(attention, inputs):
    for rate in (1e-3, 10.0):
        attention.zero_grad()
        inputs[0].grad = None
        attention(*inputs).sum().backward()
        optimiser = torch.optim.SGD(attention.parameters(), lr=rate)
        (expected,) = torch.autograd.grad(plain(attention, *inputs).sum(), inputs[0])
        torch.testing.assert_close(inputs[0].grad, expected, rtol=0, atol=1e-12)
        assert optimiser.param_groups[0]["lr"] == rate


def test_fault_4_d_the_output_weights_are_trained(attention, inputs):
    """D: the gradient of W_O is computed and never applied."""
    before = attention.output_weights.detach().clone()
    attention(*inputs).sum().backward()
    torch.optim.SGD(attention.parameters(), lr=0.1).step()
    assert (attention.output_weights.detach() - before).abs().max() > 1e-3


def test_fault_5_d_scores_are_scaled_once(attention, inputs):
    """D: Q and K are both multiplied by 1/√d_k, so scores are divided by d_k."""
    one = [x.detach()[:1] for x in inputs]
    single = MultiHeadAttention(D_MODEL, 1).double()
    single.load_state_dict(attention.state_dict())
    q, k, v = (x[0] @ w for x, w in zip(one, list(single.parameters())[:3], strict=True))
    once = torch.softmax(q @ k.T / math.sqrt(D_MODEL), -1) @ v @ single.output_weights
    twice = torch.softmax(q @ k.T / D_MODEL, -1) @ v @ single.output_weights
    torch.testing.assert_close(single(*one)[0], once, rtol=0, atol=1e-12)
    assert (single(*one)[0] - twice).abs().max() > 1e-3


def test_fault_6_d_heads_are_split(attention, inputs):
    """D: num_heads only changes the scale. Here a head's output depends on its own slice of V alone."""
    one_head = MultiHeadAttention(D_MODEL, 1).double()
    one_head.load_state_dict(attention.state_dict())
    assert (one_head(*inputs) - attention(*inputs)).abs().max() > 1e-3
    doc = documented(attention, *(x.detach()[0] for x in inputs))
    assert (doc["output"] - attention(*inputs)[0]).abs().max() > 1e-3


def test_fault_7_d_no_gradient_leaks_into_padding(attention, inputs):
    """D: padded Q, K, V are zeroed in the forward but not in the backward."""
    mask = torch.tensor([[True, True, True, False, False]] * BATCH)
    output = attention(*inputs, mask)[:, :3]
    output.sum().backward()
    assert torch.all(inputs[1].grad[:, 3:] == 0)
    assert torch.all(inputs[2].grad[:, 3:] == 0)
    assert inputs[1].grad[:, :3].abs().max() > 0
    # The document's forward zeroes the projections; exp(0) = 1 still gives padding weight.
    zeroed = torch.softmax(torch.tensor([2.0, 1.0, 0.0, 0.0]), 0)
    assert zeroed[2:].sum() > 0.1


def test_fault_8_c_the_mask_masks_keys(attention, inputs):
    mask = torch.tensor([[True, True, True, False, False]] * BATCH)
    changed = [inputs[0], *(x.detach().clone() for x in inputs[1:])]
    changed[1][:, 3:] += 5.0
    changed[2][:, 3:] -= 5.0
    torch.testing.assert_close(attention(*inputs, mask), attention(*changed, mask), rtol=0, atol=0)
    torch.testing.assert_close(attention(*inputs, mask), plain(attention, *inputs, mask), rtol=0, atol=1e-12)


def test_fault_9_c_a_fully_masked_row_is_zero(attention, inputs):
    mask = torch.tensor([[False] * LENGTH, [True] * LENGTH])
    output = attention(*inputs, mask)
    assert torch.all(output[0] == 0)
    output.sum().backward()
    assert all(torch.all(x.grad[0] == 0) for x in inputs)
    assert all(torch.isfinite(x.grad).all() for x in inputs)


def test_fault_10_d_initialisation_and_a_head_count_that_does_not_divide():
    torch.manual_seed(0)
    module = MultiHeadAttention(512, 8)
    assert module.query_weights.std().item() == pytest.approx(math.sqrt(2 / 1024), rel=0.02)
    output = module(*[torch.randn(1, 16, 512)] * 3)
    assert 0.05 < output.std().item() < 2.0
    with pytest.raises(ConfigError, match="num_heads is 7; it must divide d_model, which is 512"):
        MultiHeadAttention(512, 7)


def test_bad_input_is_named(attention, inputs):
    with pytest.raises(ShapeError, match=r"key has shape \(2, 5, 11\)"):
        attention(inputs[0], inputs[1][..., :-1], inputs[2])
    with pytest.raises(ShapeError, match="differ in length"):
        attention(inputs[0], inputs[1], inputs[2][:, :-1])
    with pytest.raises(DtypeError, match=r"torch.float32"):
        attention(*inputs, torch.ones(BATCH, LENGTH))
    with pytest.raises(ShapeError, match=r"mask has shape \(2, 4\)"):
        attention(*inputs, torch.ones(BATCH, LENGTH - 1, dtype=torch.bool))


def test_the_weights_can_be_had_and_give_the_output():
    module = MultiHeadAttention(8, 2).double()
    query, key, value = (torch.randn(2, length, 8, dtype=torch.float64) for length in (3, 5, 5))
    mask = torch.tensor([[True] * 4 + [False], [False] * 5])
    weights = module.attention_weights(query, key, mask)
    assert weights.shape == (2, 2, 3, 5)
    torch.testing.assert_close(weights[0].sum(dim=-1), torch.ones(2, 3, dtype=torch.float64))
    assert not weights[1].any()
    assert not weights[..., 4].any()
    heads = (value @ module.value_weights).unflatten(2, (2, 4)).transpose(1, 2)
    merged = (weights @ heads).transpose(1, 2).flatten(2)
    torch.testing.assert_close(merged @ module.output_weights, module(query, key, value, mask))
    with pytest.raises(ShapeError):
        module.attention_weights(query, key[:, :, :4])


def test_under_autocast_the_gradients_are_those_of_full_precision():
    torch.manual_seed(0)
    module = MultiHeadAttention(D_MODEL, HEADS)
    x = torch.randn(3, 5, D_MODEL)
    gradients = []
    for enabled in (False, True):
        module.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            loss = module(x, x, x).float().square().sum()
        loss.backward()
        gradients.append(torch.cat([p.grad.flatten() for p in module.parameters()]))
    assert gradients[1].dtype == torch.float32
    assert torch.cosine_similarity(*gradients, dim=0) > 0.999


def test_second_derivatives_are_refused_not_left_out(attention, inputs):
    output = attention(*inputs)
    (gradient,) = torch.autograd.grad(output.sum(), attention.query_weights, create_graph=True)
    with pytest.raises(ConfigError, match=r"the explicit backward has no second derivatives \(attend"):
        gradient.square().sum().backward()
