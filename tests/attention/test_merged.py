"""A prefix merged after the fused kernel: when it is taken, what it refuses, what stands in where it cannot be."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from weft.attention import Decay, Prefix, Terms, attend, merged
from weft.errors import ConfigError, NonFiniteError

HEADS, LENGTH, WIDTH = 4, 256, 64


def draw(*shape, seed=0, dtype=torch.float32):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


@pytest.fixture
def qkv():
    """Laid out as encoders lay out heads."""
    return [draw(2, LENGTH, HEADS, WIDTH, seed=seed).transpose(1, 2).requires_grad_() for seed in range(3)]


def prefix_of(tokens, dtype=torch.float32):
    return Terms(
        Prefix(*(draw(2, HEADS, tokens, WIDTH, seed=s, dtype=dtype).requires_grad_() for s in (7, 8)))
    )


@pytest.fixture
def taken(monkeypatch):
    """The problems that were merged."""
    found = []
    whole = merged.merged
    monkeypatch.setattr(merged, "merged", lambda problem: found.append(problem) or whole(problem))
    return found


def both(qkv, terms, path, **options):
    leaves = [*qkv, terms.prefix.key, terms.prefix.value]
    for leaf in leaves:
        leaf.grad = None
    output, _ = attend(*qkv, terms=terms, path=path, **options)
    (output * draw(*output.shape, seed=9)).sum().backward()
    return [output.detach(), *(leaf.grad for leaf in leaves)]


@pytest.mark.parametrize("masked", [False, True])
def test_auto_merges_one_prefix_token_and_agrees_with_joining_it(qkv, taken, masked):
    seen = None
    if masked:
        seen = torch.arange(LENGTH).expand(2, -1) < torch.tensor([[LENGTH], [0]])
    ours = both(qkv, prefix_of(1), "auto", key_mask=seen)
    assert len(taken) == 1
    for mine, theirs in zip(ours, both(qkv, prefix_of(1), "sdpa", key_mask=seen), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-4)
    if masked:
        # The second example sees nothing but the prefix.
        expected = prefix_of(1).prefix.value[1].expand(-1, LENGTH, -1)
        torch.testing.assert_close(ours[0][1], expected, rtol=0, atol=1e-6)
        assert not ours[2][1].any()


@pytest.mark.parametrize("which", range(3))
@pytest.mark.parametrize("layout", ["transposed", "every other"])
def test_rows_may_lie_apart_in_memory(qkv, taken, which, layout):
    tensors = [tensor.detach() for tensor in qkv]
    whole = tensors[which]
    apart = whole.mT.contiguous().mT if layout == "transposed" else whole.repeat_interleave(2, -1)[..., ::2]
    assert apart.stride(-1) > 1
    tensors[which] = apart
    ours = both([tensor.requires_grad_() for tensor in tensors], prefix_of(1), "auto")
    assert len(taken) == 1
    for mine, theirs in zip(ours, both(qkv, prefix_of(1), "reference"), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-4)


def test_a_prefix_of_no_tokens_is_not_merged(qkv):
    with pytest.raises(ConfigError, match="the merged path has a prefix alone"):
        attend(*qkv, terms=prefix_of(0), path="merged")


def test_without_gradients_it_gives_the_same(qkv):
    with torch.no_grad():
        alone, _ = attend(*qkv, terms=prefix_of(1), path="merged")
    assert torch.equal(alone, both(qkv, prefix_of(1), "merged")[0])


def test_auto_joins_where_merging_does_not_pay_or_cannot_be(qkv, taken):
    attend(*qkv, terms=prefix_of(2))
    attend(*(tensor[:, :, :8] for tensor in qkv), terms=prefix_of(1))
    attend(*qkv, terms=prefix_of(1), dropout_p=0.1)
    decay = Decay(torch.ones(1, 1, LENGTH, LENGTH), "weights")
    attend(*qkv, terms=Terms(prefix_of(1).prefix, decay))
    assert not taken
    with pytest.raises(ConfigError, match="the merged path has a prefix alone"):
        attend(*qkv, path="merged")


@pytest.mark.parametrize("lacking", ["absent", "hides NaN"])
def test_where_the_kernel_is_absent_or_hides_a_nan_the_prefix_is_joined(qkv, taken, monkeypatch, lacking):
    expected = both(qkv, prefix_of(1), "auto")
    taken.clear()

    class Ops:
        @staticmethod
        def _scaled_dot_product_flash_attention_for_cpu(query, key, value):
            return query, query[..., 0]

        _scaled_dot_product_flash_attention_for_cpu_backward = None

    if lacking == "hides NaN":
        Ops._scaled_dot_product_flash_attention_for_cpu_backward = lambda: None
    merged.kernels.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(torch.ops, "aten", Ops)
        fits = merged.kernels()
    try:
        assert fits is None
        found = both(qkv, prefix_of(1), "auto")
        assert not taken
    finally:
        merged.kernels.cache_clear()
    for mine, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("length", [8, 64, 200])
@pytest.mark.parametrize("value", [torch.nan, torch.inf])
@pytest.mark.parametrize("which", ["query", "key", "value"])
def test_what_is_not_finite_is_named(qkv, which, value, length):
    tensors = {
        name: t.detach()[:, :, :length].clone()
        for name, t in zip(("query", "key", "value"), qkv, strict=True)
    }
    for place in (0, length // 2, length - 1):
        bad = {name: tensor.clone() for name, tensor in tensors.items()}
        bad[which][1, 2, place, 3] = value
        with pytest.raises(NonFiniteError, match=f"{which}: NaN or infinity"):
            attend(**bad, terms=prefix_of(1), path="merged")
        seen = torch.arange(length).expand(2, -1) != place
        with pytest.raises(NonFiniteError, match=f"{which}: NaN or infinity"):
            attend(**bad, terms=prefix_of(1), path="merged", key_mask=seen)


@pytest.mark.parametrize("name", ["key", "value"])
def test_a_prefix_that_is_not_finite_is_not_blamed_on_the_tokens(qkv, name):
    prefix = prefix_of(1).prefix
    bad = Terms(replace(prefix, **{name: getattr(prefix, name).detach() * torch.nan}))
    with pytest.raises(NonFiniteError, match=f"^prefix {name}: NaN or infinity"):
        attend(*qkv, terms=bad, path="merged")
