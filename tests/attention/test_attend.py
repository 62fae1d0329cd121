"""Properties of `attend` that no oracle is needed for: masks, composition, dropout, paths, bad input."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import scaled_dot_product_attention
from torch.utils.checkpoint import checkpoint

from tests.attention.cases import CASES, Case, arguments, operands, tensors
from weft.attention import Decay, Prefix, Quasi, Terms, attend, chunk_maps, merged
from weft.attention.chunks import CHUNK_BYTES
from weft.attention.operation import cpu_multiplies_bf16
from weft.attention.sdpa import without_plans
from weft.attention.workspace import Workspace
from weft.errors import ConfigError, DtypeError, NonFiniteError, ShapeError

PATHS = ("reference", "chunked", "sdpa")


def draw(*shape, seed=0, dtype=torch.float64):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


@pytest.fixture
def qkv():
    return [draw(2, 3, 6, 4, seed=s) for s in range(3)]


@pytest.mark.parametrize("path", ["auto", *PATHS])
def test_without_terms_it_is_plain_attention(qkv, path):
    ours, maps = attend(*qkv, path=path)
    torch.testing.assert_close(ours, scaled_dot_product_attention(*qkv), rtol=0, atol=1e-12)
    assert maps is None


@pytest.mark.parametrize("path", ["reference", "chunked"])
def test_neutral_terms_change_nothing(qkv, path):
    """F = 1 and α = 0 are plain attention."""
    ones = torch.ones(1, 1, 6, 6, dtype=torch.float64)
    gates = torch.rand(2, 3, 6, dtype=torch.float64)
    quasi = Quasi(qkv[0], qkv[1], gates, gates, alpha=0.0)
    plain = scaled_dot_product_attention(*qkv)
    for mode in ("scores", "weights"):
        ours, _ = attend(*qkv, terms=Terms(decay=Decay(ones, mode), quasi=quasi), path=path)
        torch.testing.assert_close(ours, plain, rtol=0, atol=1e-12)


@pytest.mark.parametrize("path", PATHS)
@given(padding=st.integers(1, 5), seed=st.integers(0, 99))
@settings(max_examples=8, deadline=None)
def test_padding_changes_nothing(path, padding, seed):
    q, k, v = (draw(2, 3, 6 + padding, 4, seed=seed + i) for i in range(3))
    seen = torch.arange(6 + padding).expand(2, -1) < 6
    padded, _ = attend(q, k, v, key_mask=seen, path=path)
    short, _ = attend(q[:, :, :6], k[:, :, :6], v[:, :, :6], path=path)
    torch.testing.assert_close(padded[:, :, :6], short, rtol=0, atol=1e-12)


@pytest.mark.parametrize("case", CASES[::5], ids=str)
@pytest.mark.parametrize("path", ["reference", "chunked"])
def test_batch_order_changes_nothing(case, path):
    x = operands(case)
    t = tensors(x, torch.float64)
    flipped = {name: tensor.detach().flip(0) for name, tensor in t.items()}
    there = arguments(replace(x, allowed=None if x.allowed is None else x.allowed[::-1].copy()), flipped)
    output, _ = attend(**arguments(x, t), path=path)
    back, _ = attend(**there, path=path)
    torch.testing.assert_close(output, back.flip(0), rtol=0, atol=1e-12)


def test_key_mask_and_pair_mask_are_both_heeded(qkv):
    key_mask = torch.tensor([[True] * 5 + [False], [True] * 6])
    causal = torch.ones(6, 6, dtype=torch.bool).tril()[None, None]
    outputs = [attend(*qkv, key_mask=key_mask, mask=causal, path=path)[0] for path in PATHS]
    for a, b in pairwise(outputs):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-12)
    torch.testing.assert_close(outputs[0][:, :, 0], qkv[2][:, :, 0])


@pytest.mark.parametrize("shape", [(1, 1, 1, 6), (2, 1, 6, 6), (1, 3, 6, 1), (1, 3, 6, 6), (2, 3, 1, 6)])
@pytest.mark.parametrize("mode", ["scores", "weights"])
def test_a_broadcast_factor_gets_the_summed_gradient(qkv, shape, mode):
    factor = torch.rand(shape, dtype=torch.float64).add_(0.1)
    results = []
    for path in ("reference", "chunked"):
        leaf = factor.clone().requires_grad_()
        output, _ = attend(*qkv, terms=Terms(decay=Decay(leaf, mode)), path=path)
        (output * draw(2, 3, 6, 4, seed=9)).sum().backward()
        results.append(leaf.grad)
    torch.testing.assert_close(*results, rtol=0, atol=1e-12)


@pytest.mark.parametrize("shape", [(1, 3, 6, 6), (2, 1, 6, 6), (1, 1, 1, 6)])
@pytest.mark.parametrize("mode", ["scores", "weights"])
def test_what_a_broadcast_factor_gets_is_summed_over_chunks(qkv, shape, mode, monkeypatch):
    # A chunk that holds one entry has the shape of what it adds to.
    monkeypatch.setattr("weft.attention.chunked.CHUNK_BYTES", {"cpu": 1, "cuda": 1})
    test_a_broadcast_factor_gets_the_summed_gradient(qkv, shape, mode)


@pytest.mark.parametrize("mode", ["scores", "weights"])
@pytest.mark.parametrize("shape", [(2, 3, 6, 1), (1, 1, 1, 1)])
def test_a_factor_or_mask_may_be_broadcast_over_the_keys_beside_a_prefix(qkv, shape, mode):
    factor = torch.rand(shape, dtype=torch.float64).add_(0.1)
    prefix = Prefix(draw(2, 3, 1, 4, seed=5), draw(2, 3, 1, 4, seed=6))
    mask = torch.tensor([True, True, False, True, True, True])[None, None, :, None].expand(2, 1, 6, 1)
    terms = Terms(prefix=prefix, decay=Decay(factor, mode))
    expected, _ = attend(*qkv, mask=mask, terms=terms, path="reference")
    torch.testing.assert_close(attend(*qkv, mask=mask, terms=terms)[0], expected, rtol=0, atol=1e-12)
    alone, _ = attend(*qkv, mask=mask, terms=Terms(prefix=prefix), path="sdpa")
    expected, _ = attend(*qkv, mask=mask, terms=Terms(prefix=prefix), path="reference")
    torch.testing.assert_close(alone, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("path", ["reference", "sdpa", "chunked"])
@pytest.mark.parametrize("masked", [False, True])
def test_a_query_whose_weights_are_all_faded_sees_nothing(qkv, path, masked):
    """A factor that was rounded to 0 hides a key, alone or beside a mask that hides the others."""
    factor = torch.rand(2, 1, 6, 6, dtype=torch.float64).add_(0.1)
    factor[1, :, 2, 1 if masked else 0 :] = 0.0
    key_mask = torch.tensor([[True] * 6, [not masked] + [True] * 5])
    leaves = [tensor.clone().requires_grad_() for tensor in qkv]
    output, _ = attend(*leaves, key_mask=key_mask, terms=Terms(decay=Decay(factor, "weights")), path=path)
    assert torch.all(output[1, :, 2] == 0.0)
    output.sum().backward()
    assert torch.all(leaves[0].grad[1, :, 2] == 0.0)
    assert all(torch.isfinite(leaf.grad).all() for leaf in leaves)


def test_queries_and_keys_may_differ_in_length(qkv):
    q = qkv[0][:, :, :2]
    outputs = [attend(q, *qkv[1:], path=path)[0] for path in PATHS]
    assert outputs[0].shape == (2, 3, 2, 4)
    for a, b in pairwise(outputs):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "case", [Case(1), Case(2, "scores", "row", "padding"), Case(0, "weights", "pair")], ids=str
)
def test_gradcheck_of_the_chunked_path(case):
    x = operands(case, shape=(1, 2, 4, 3))
    t = tensors(x, torch.float64)
    names = list(t)

    def run(*leaves):
        return attend(**arguments(x, dict(zip(names, leaves, strict=True))), path="chunked")[0]

    assert torch.autograd.gradcheck(run, tuple(t.values()))


@pytest.mark.parametrize("case", [Case(2, "scores", "pair", "padding"), Case(0, None, "row")], ids=str)
def test_dropout_is_one_mask_on_the_summed_weights(case):
    """Over many draws the mean is the output without dropout, and the gradient fits the drawn mask."""
    x = operands(case, shape=(1, 2, 5, 3))
    t = tensors(x, torch.float64)
    exact, _ = attend(**arguments(x, t), path="reference")
    many = {name: tensor.detach().repeat(3000, *[1] * (tensor.dim() - 1)) for name, tensor in t.items()}
    for path in ("reference", "chunked"):
        torch.manual_seed(0)
        mean = attend(**arguments(x, many), path=path, dropout_p=0.3)[0].mean(0, keepdim=True)
        assert (mean - exact).abs().max() < 0.12, path

    def run(value):
        torch.manual_seed(5)
        return attend(**arguments(x, {**t, "value": value}), path="chunked", dropout_p=0.3)[0]

    assert torch.autograd.gradcheck(run, (t["value"],))

    def run_query(query):
        torch.manual_seed(5)
        return attend(**arguments(x, {**t, "query": query}), path="chunked", dropout_p=0.3)[0]

    assert torch.autograd.gradcheck(run_query, (t["query"],))


@pytest.mark.parametrize("path", ["reference", "chunked"])
@pytest.mark.parametrize("length", [6, 200])
def test_dropout_of_the_quasi_attention_drops_the_sum_whole(path, length):
    """Values that are the identity show the weights: every one is dropped, or A + Λ⊙G over 1 − p."""
    q, k, c = (draw(1, 2, length, length, seed=seed) for seed in range(3))
    value = torch.eye(length, dtype=torch.float64).expand(1, 2, -1, -1)
    quasi = Quasi(c, c.flip(2), *torch.rand(2, 1, 2, length, dtype=torch.float64), alpha=0.5)
    total, _ = attend(q, k, value, terms=Terms(quasi=quasi), path="reference")
    dropped, _ = attend(q, k, value, terms=Terms(quasi=quasi), path=path, dropout_p=0.25)
    kept = dropped != 0
    torch.testing.assert_close(dropped[kept], total[kept] / 0.75, rtol=0, atol=1e-10)
    assert abs(kept.double().mean() - 0.75) < 0.15


def test_every_chunk_draws_its_own_dropout(monkeypatch):
    """Equal weights and values that are the identity show each row's draw: 32 rows in chunks of 4."""
    monkeypatch.setitem(CHUNK_BYTES, "cpu", 4 * 32 * 8)
    zeros = torch.zeros(1, 1, 32, 32, dtype=torch.float64)
    value = torch.eye(32, dtype=torch.float64)[None, None]
    dropped, _ = attend(zeros, zeros, value, path="chunked", dropout_p=0.5)
    assert len((dropped != 0)[0, 0].unique(dim=0)) == 32


def test_dropout_on_sdpa_keeps_the_mean(qkv):
    torch.manual_seed(0)
    exact, _ = attend(*qkv, path="sdpa")
    many = [tensor.repeat(2000, 1, 1, 1) for tensor in qkv]
    mean = attend(*many, path="sdpa", dropout_p=0.3)[0].unflatten(0, (2000, 2)).mean(0)
    assert (mean - exact).abs().max() < 0.12


def test_nothing_of_the_size_of_the_map_is_kept():
    q, k, v = (draw(1, 2, 64, 8, seed=s, dtype=torch.float32).requires_grad_() for s in range(3))
    factor = torch.rand(1, 2, 64, 64)
    sizes = []

    def note(tensor):
        sizes.append(tensor.numel())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        attend(q, k, v, terms=Terms(decay=Decay(factor, "scores")))
    assert sorted(size for size in sizes if size != factor.numel()) == [64 * 16] * 3


@pytest.mark.parametrize("path", ["auto", "reference", "chunked", "sdpa"])
def test_large_numbers_are_finite(qkv, path):
    """Their sum is not."""
    large = torch.full_like(qkv[2], 1e37).float()
    output, _ = attend(qkv[0].float(), qkv[1].float(), large, path=path)
    torch.testing.assert_close(output, large)
    large[1, 2, 3, 0] = torch.inf
    with pytest.raises(NonFiniteError, match="value: NaN or infinity"):
        attend(qkv[0].float(), qkv[1].float(), large, path=path)


@pytest.mark.parametrize("terms", ["none", "prefix", "decay on weights"])
def test_what_sdpa_expresses_compiles_to_one_graph(qkv, terms):
    factor = draw(2, 3, 6, 6, seed=5).sigmoid()
    held = {
        "none": Terms(),
        "prefix": Terms(Prefix(draw(2, 3, 1, 4, seed=6), draw(2, 3, 1, 4, seed=7))),
        "decay on weights": Terms(decay=Decay(factor, "weights")),
    }[terms]
    seen = torch.arange(6).expand(2, -1) < torch.tensor([[6], [0]])

    def run(query, key, value):
        return attend(query, key, value, key_mask=seen, terms=held)[0]

    compiled = torch.compile(run, backend="eager", fullgraph=True)
    torch.testing.assert_close(compiled(*qkv), run(*qkv), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("path", "case"),
    [("chunked", Case(2, "scores", "pair", "empty_row")), ("merged", Case(1, masking="empty_row"))],
)
def test_it_computes_where_its_arguments_are_whatever_torch_s_default_device_is(path, case, monkeypatch):
    x = operands(case)
    t = tensors(x, torch.float64)
    expected, _ = attend(**arguments(x, t), path="reference")
    monkeypatch.setattr(chunk_maps, "workspace", Workspace())
    merged.kernels.cache_clear()
    given = arguments(x, t)
    with torch.device("meta"):
        output, _ = attend(**given, path=path)
        output.sum().backward()
        if path == "chunked":
            attend(**given, path=path, dropout_p=0.1)
    torch.testing.assert_close(output, expected)


@pytest.mark.parametrize("reentrant", [False, True])
@pytest.mark.parametrize("length", [6, 600])
def test_under_activation_checkpointing_gradients_are_the_same(length, reentrant):
    x = operands(Case(2, "scores", "pair", "padding"), shape=(1, 2, length, 4))
    t = tensors(x, torch.float32)

    def run(*leaves):
        torch.manual_seed(3)
        given = arguments(x, dict(zip(t, leaves, strict=True)))
        return attend(**given, path="chunked", dropout_p=0.2)[0].square().sum()

    expected = torch.autograd.grad(run(*t.values()), list(t.values()))
    checkpoint(run, *t.values(), use_reentrant=reentrant).backward()
    for leaf, gradient in zip(t.values(), expected, strict=True):
        torch.testing.assert_close(leaf.grad, gradient)


@pytest.mark.parametrize("path", ["reference", "chunked"])
def test_bf16_stays_near_fp32(path):
    x = operands(Case(2, "scores", "pair", "padding"), shape=(2, 2, 16, 8))
    t = tensors(x, torch.float32, requires_grad=False)
    exact, _ = attend(**arguments(x, t), path="reference")
    half, _ = attend(**arguments(x, {n: a.bfloat16() for n, a in t.items()}), path=path)
    assert half.dtype == torch.bfloat16
    assert (half.float() - exact).norm() / exact.norm() < 2e-2


def test_the_mode_of_a_cpu_without_matrix_instructions_is_sdpa(qkv, monkeypatch):
    cpu_multiplies_bf16.cache_clear()
    monkeypatch.setattr(torch.cpu, "get_capabilities", dict, raising=False)
    assert cpu_multiplies_bf16() is False
    cpu_multiplies_bf16.cache_clear()


def test_terms_combine():
    key = draw(1, 1, 2, 4)
    factor = torch.full((1, 1, 3, 3), 0.5)
    both = Terms.combine([Terms(Prefix(key, key), Decay(factor, "scores")), Terms(Prefix(key, key)), Terms()])
    assert both.prefix.key.shape == (1, 1, 4, 4)
    both = Terms.combine([both, Terms(decay=Decay(factor, "scores"))])
    assert torch.all(both.decay.factor == 0.25)
    assert Terms().empty
    assert not both.empty
    with pytest.raises(ConfigError, match="modes 'scores' and 'weights'"):
        Terms.combine([both, Terms(decay=Decay(factor, "weights"))])
    gates = torch.rand(1, 1, 2)
    quasi = Terms(quasi=Quasi(key, key, gates, gates))
    with pytest.raises(ConfigError, match="two quasi-attention terms"):
        Terms.combine([quasi, quasi])


BAD = {
    "three dimensions": (lambda q, k, v: attend(q[0], k, v), ShapeError, r"query has shape \(3, 6, 4\)"),
    "head width": (lambda q, k, v: attend(q, k[..., :3], v), ShapeError, r"\(2, 3, 6, 3\).*\(2, 3, 6, 4\)"),
    "lengths": (lambda q, k, v: attend(q, k, v[:, :, :5]), ShapeError, r"value has shape \(2, 3, 5, 4\)"),
    "empty batch": (lambda q, k, v: attend(q[:0], k[:0], v[:0]), ShapeError, "an empty batch"),
    "mask dtype": (
        lambda q, k, v: attend(q, k, v, key_mask=torch.ones(2, 6)), DtypeError, "key_mask is torch.float32"),
    "mask shape": (
        lambda q, k, v: attend(q, k, v, key_mask=torch.ones(2, 5, dtype=torch.bool)),
        ShapeError, r"\(2, 5\).*\(2, 6\)"),
    "pair mask": (
        lambda q, k, v: attend(q, k, v, mask=torch.ones(6, 6, dtype=torch.bool)), ShapeError, "must broadcast"),
    "factor": (
        lambda q, k, v: attend(q, k, v, terms=Terms(decay=Decay(torch.ones(2, 2, 6, 6), "scores"))),
        ShapeError, r"decay factor has shape \(2, 2, 6, 6\)"),
    "decay mode": (lambda q, k, v: Decay(q, "logits"), ConfigError, "Decay.mode is 'logits'"),
    "gate": (lambda q, k, v: Quasi(q, q, q, q, gate="both"), ConfigError, "Quasi.gate is 'both'"),
    "prefix": (
        lambda q, k, v: attend(q, k, v, terms=Terms(Prefix(q[:, :2], q))), ShapeError, "prefix key has shape"),
    "row gate": (
        lambda q, k, v: attend(
            q[:, :, :2], k, v, terms=Terms(quasi=Quasi(q[:, :, :2], k, q[:, :, :2, 0], k[..., 0]))),
        ShapeError, "2 queries and 6 keys differ"),
    "alpha": (
        lambda q, k, v: attend(
            q, k, v, terms=Terms(quasi=Quasi(q, k, q[..., 0], k[..., 0], alpha=torch.ones(2)))),
        ShapeError, "quasi alpha"),
    "nan": (lambda q, k, v: attend(q, k / 0.0 * 0.0, v), NonFiniteError, "key: NaN or infinity"),
    "infinity": (lambda q, k, v: attend(q, k, v / 0.0), NonFiniteError, "value: NaN or infinity"),
    "path": (lambda q, k, v: attend(q, k, v, path="fast"), ConfigError, "path is 'fast'"),
    "maps": (lambda q, k, v: attend(q, k, v, path="sdpa", need_maps=True), ConfigError, "keeps no maps"),
    "sdpa": (
        lambda q, k, v: attend(
            q, k, v, path="sdpa", terms=Terms(decay=Decay(torch.ones(1, 1, 6, 6), "scores"))),
        ConfigError, "no decay on scores"),
    "flex": (lambda q, k, v: attend(q, k, v, path="flex"), ConfigError, "needs a CUDA device"),
    "key dtype": (
        lambda q, k, v: attend(q, k.float(), v), DtypeError, "key is torch.float32, query is torch.float64"),
    "value dtype": (lambda q, k, v: attend(q, k, v.half(), path="chunked"), DtypeError, "value is torch.float16"),
    "integers": (lambda q, k, v: attend(q.long(), k, v), DtypeError, "query is torch.int64"),
    "no width": (lambda q, k, v: attend(q[..., :0], k[..., :0], v), ShapeError, "at least 1 wide"),
    "a term alone": (lambda q, k, v: attend(q, k, v, terms=Prefix(k, v)), ConfigError, "terms is a Prefix"),
    "other maps": (lambda q, k, v: attend(q, k, v, need_maps="all"), ConfigError, "need_maps is 'all'"),
    "beta": (
        lambda q, k, v: Quasi(q, k, q[..., 0], k[..., 0], beta=torch.ones(())), ConfigError, "Quasi.beta is a tensor"),
    "gamma": (
        lambda q, k, v: Quasi(q, k, q[..., 0], k[..., 0], gamma=torch.ones(())), ConfigError, "Quasi.gamma is a"),
    "dropout": (lambda q, k, v: attend(q, k, v, dropout_p=1.0), ConfigError, "dropout_p is 1.0"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_named(qkv, name):
    call, error, message = BAD[name]
    with pytest.raises(error, match=message):
        call(*qkv)


def test_no_plan_is_made_for_a_shape():
    # cuDNN makes one for every new shape, and each batch of texts has its own.
    before = torch.backends.cuda.cudnn_sdp_enabled()
    with without_plans(torch.device("cuda")):
        assert not torch.backends.cuda.cudnn_sdp_enabled()
        assert torch.backends.cuda.math_sdp_enabled()
    assert torch.backends.cuda.cudnn_sdp_enabled() == before
    with without_plans(torch.device("cpu")):
        assert torch.backends.cuda.cudnn_sdp_enabled() == before
