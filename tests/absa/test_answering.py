"""Products in eight bits and bfloat16: against loops and float32, on every model that has them."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from weft.absa.model.build import build_model
from weft.absa.records import Context, Sentence
from weft.absa.use.answering import for_answers
from weft.absa.use.asker import Asker
from weft.attention.operation import cpu_multiplies_bf16
from weft.encoder.answering import product as products
from weft.encoder.answering.layer import AnsweringLayer
from weft.encoder.answering.product import (
    BLOCK,
    Bf16Product,
    BlockedLinear,
    FeedForward,
    Int8Product,
    blocks,
    cpu_multiplies_int8,
)
from weft.encoder.checkpoint.int8 import Int8Storage
from weft.encoder.checkpoint.tensors import own_tensors
from weft.encoder.layer import EncoderLayer
from weft.errors import ConfigError

TEXT = "LOCATION1 is cheap but not very safe"
exact_int8 = pytest.mark.skipif(not cpu_multiplies_int8(), reason="this processor has no products of 8 bits")


def by_loop(weight, bias, rows, after_gelu):
    """The equations of Int8Product, one number at a time, in integers."""
    found = torch.zeros(len(rows), len(weight), dtype=torch.float64)
    for i, x in enumerate(rows.double().tolist()):
        shift = 0.17 if after_gelu else 0.0
        r = (max(x) + 0.17) / 255 if after_gelu else max(map(abs, x)) / 127
        q = [round((v + shift) / r) for v in x]
        for n, w in enumerate(weight.double().tolist()):
            s = max(map(abs, w)) / 127
            integers = [round(v / s) for v in w]
            total = sum(a * b for a, b in zip(q, integers, strict=True))
            found[i, n] = r * s * total - shift * s * sum(integers) + bias[n].item()
    return found


@exact_int8
@pytest.mark.parametrize("after_gelu", [False, True])
def test_eight_bits_as_the_equations_say(after_gelu):
    weight, bias, rows = torch.randn(5, 16), torch.randn(5), torch.randn(7, 16) * 3
    rows[3] *= 1000  # a row that is large leaves the others as exact as they are
    if after_gelu:
        rows = torch.nn.functional.gelu(rows)
    rows[1] = 0
    if not after_gelu:
        rows[1, 0] = 1e-3
    found = Int8Product(weight, bias, after_gelu=after_gelu)(rows)
    expected = by_loop(weight, bias, rows, after_gelu)
    assert torch.allclose(found.double(), expected, rtol=1e-4, atol=1e-3)
    exact = rows @ weight.T + bias
    assert ((found - exact).abs() <= 0.02 * exact.abs().amax(dim=1, keepdim=True) + 0.05).all()


@exact_int8
def test_a_row_of_zeros_gives_the_bias():
    layer = Int8Product(torch.randn(4, 8), torch.arange(4.0))
    assert torch.equal(layer(torch.zeros(2, 8)), torch.arange(4.0).expand(2, -1))


@pytest.mark.parametrize("packed", [True, False])
def test_bfloat16_is_the_product_and_its_gelu(monkeypatch, packed):
    if not packed:
        monkeypatch.setattr(products, "cpu_multiplies_bf16", lambda: False)
    weight, bias, rows = torch.randn(64, 32), torch.randn(64), torch.randn(128, 32)
    expected = rows @ weight.T + bias
    plain, gelu = Bf16Product(weight, bias), Bf16Product(weight, bias, then_gelu=True)
    assert plain.packed == (packed and cpu_multiplies_bf16() and torch.backends.mkldnn.is_available())
    # Sums of 32 products whose factors are rounded to 8 bits of mantissa, and one more rounding.
    assert (plain(rows).float() - expected).abs().max() < 0.15
    assert (gelu(rows).float() - torch.nn.functional.gelu(expected)).abs().max() < 0.15
    assert plain(rows).dtype == gelu(rows.bfloat16()).dtype == torch.bfloat16


def test_a_feed_forward_is_what_lies_between_two_products():
    first, second = torch.nn.Linear(32, 64), torch.nn.Linear(64, 32)
    rows = torch.randn(128, 32)
    with torch.no_grad():
        expected = second(torch.nn.functional.gelu(first(rows)))
        for arithmetic in arithmetics():
            found = FeedForward(first, second, arithmetic)(rows)
            assert found.dtype == torch.float32
            assert 0 < (found - expected).abs().max() < 0.02


@pytest.mark.parametrize(
    ("has", "fastest"),
    [
        (("amx_bf16", "amx_int8", "avx512_vnni", "avx512_bf16"), "bf16"),
        (("avx512_vnni", "avx512_bf16"), "int8"),
        (("avx512_vnni",), "int8"),
        (("avx512_bf16",), "bf16"),
        (("avx2",), None),
    ],
)
def test_the_fastest_is_what_the_processor_has(monkeypatch, has, fastest):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: dict.fromkeys(has, True), raising=False)
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: True)
    monkeypatch.setattr(products, "cpu_multiplies_bf16", cpu_multiplies_bf16.__wrapped__)
    assert products.fastest_on_cpu() == fastest


@exact_int8
def test_weights_stored_in_eight_bits_lose_nothing_more():
    weight = torch.randn(6, 32)
    module = torch.nn.Linear(32, 6)
    with torch.no_grad():
        module.weight.copy_(weight)
    Int8Storage(own_tensors(module)).fill(module)
    integers = module.weight / (module.weight.abs().amax(dim=1, keepdim=True) / 127)
    assert torch.allclose(integers, integers.round(), atol=1e-3)
    row = torch.zeros(1, 32)
    row[0, 5] = 127.0
    found = Int8Product(module.weight, torch.zeros(6))(row)
    assert torch.allclose(found[0], 127 * module.weight[:, 5], rtol=1e-5)


@pytest.mark.parametrize("rows", [1, 64, 65, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 100])
def test_few_shapes_reach_the_product(rows):
    x = torch.randn(rows, 8)
    found = blocks(x)
    assert torch.equal(torch.cat(found)[:rows], x)
    assert not torch.cat(found)[rows:].any()
    assert {len(block) for block in found} <= {BLOCK, *range(64, BLOCK, 64)}
    linear = torch.nn.Linear(8, 3)
    replaced = BlockedLinear(linear, "bf16")
    assert torch.allclose(replaced(x[None]), linear(x[None]), atol=0.05)
    assert replaced(x.view(1, rows, 1, 8)).shape == (1, rows, 1, 3)


def arithmetics():
    return ["bf16", "int8"] if cpu_multiplies_int8() else ["bf16"]


@pytest.mark.parametrize("length", [5, 24])
@pytest.mark.parametrize("padded", [False, True])
def test_a_layer_is_the_layer(shape, length, padded):
    layer = EncoderLayer(replace(shape, initializer_range=0.05)).eval()
    hidden = torch.randn(3, length, shape.hidden_size)
    mask = torch.ones(3, length, dtype=torch.bool)
    mask[1, 3:] = False
    key_mask = mask if padded else None
    with torch.no_grad():
        expected, _ = layer(hidden, key_mask)
        for arithmetic in arithmetics():
            found, maps = AnsweringLayer(layer, arithmetic)(hidden, key_mask)
            assert maps is None
            assert torch.allclose(found, expected, atol=0.06)
            if padded:
                changed = hidden.clone()
                changed[1, 3:] += 10
                again, _ = AnsweringLayer(layer, arithmetic)(changed, key_mask)
                assert torch.equal(again[1, :3], found[1, :3])


@pytest.mark.parametrize("length", [5, 24])
def test_a_row_that_sees_nothing_is_a_number(shape, length):
    layer = EncoderLayer(shape).eval()
    hidden = torch.randn(2, length, shape.hidden_size)
    mask = torch.ones(2, length, dtype=torch.bool)
    mask[1] = False
    with torch.no_grad():
        found, _ = AnsweringLayer(layer, "bf16")(hidden, mask)
        expected, _ = layer(hidden, mask)
    assert torch.allclose(found, expected, atol=0.06)


@pytest.mark.parametrize("length", [5, 24, 100])
def test_a_mask_lies_where_its_text_lies(shape, length):
    layer = AnsweringLayer(EncoderLayer(shape).eval(), "bf16")
    query, key, value = torch.empty(3, 2, shape.num_attention_heads, length, 8, device="meta")
    mask = torch.ones(2, length, dtype=torch.bool, device="meta")
    assert layer._attend(query, key, value, mask).device.type == "meta"


@pytest.mark.parametrize("kind", ["weft-absa", "pair"])
def test_answers_stay_and_the_model_is_left_alone(make, kind):
    asker = make(kind, target_layers=1) if kind == "weft-absa" else make(kind)
    sentences = [
        Sentence(TEXT, (Context("price", "LOCATION1"), Context("parking"))),
        Sentence("quiet " * 40, (Context("price"), Context("safety"))),
    ]
    plain = np.concatenate(asker.answer(sentences))
    before = {name: value.clone() for name, value in asker.module.state_dict().items()}
    for arithmetic in arithmetics():
        moved = np.concatenate(asker.compute_in(arithmetic).answer(sentences))
        assert 0 < np.abs(moved - plain).max() < 0.1
        alone = np.concatenate([asker.answer([sentence])[0] for sentence in sentences])
        assert np.allclose(alone, moved, atol=2e-3)
    assert np.array_equal(np.concatenate(asker.compute_in("fp32").answer(sentences)), plain)
    assert all(torch.equal(value, before[name]) for name, value in asker.module.state_dict().items())
    copy = for_answers(asker.module, "bf16")
    assert (
        copy.encoder.embeddings.word_embeddings.weight
        is asker.module.encoder.embeddings.word_embeddings.weight
    )


def test_threads_answer_as_one_does(make, monkeypatch):
    asker = make()
    monkeypatch.setattr("weft.absa.use.batches.CPU_TOKENS", 40)
    sentences = [Sentence("quiet " * n, (Context("price"), Context("safety"))) for n in range(1, 30)]
    one = np.concatenate(asker.answer(sentences))
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        two = np.concatenate(asker.answer(sentences))
        assert torch.get_num_threads() == 2
        monkeypatch.setattr(asker, "represent", lambda _: (_ for _ in ()).throw(ValueError("broken")))
        with pytest.raises(ValueError, match="broken"):
            asker.answer(sentences)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(threads)
    assert np.allclose(one, two, atol=1e-6)


def test_nothing_asked_is_nothing_answered(make):
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        assert make().answer([]) == []
    finally:
        torch.set_num_threads(threads)


@pytest.mark.parametrize(("texts", "passes"), [(36, 2), (4, 1)])
def test_a_short_list_is_shared_by_the_threads(make, monkeypatch, texts, passes):
    """What fits one pass is cut for two threads, unless it is next to nothing."""
    asker, seen = make(), []
    represent = asker.represent
    monkeypatch.setattr(asker, "represent", lambda part: seen.append(len(part)) or represent(part))
    sentences = [Sentence("quiet " * (10 + n % 3) + str(n), (Context("price"),)) for n in range(texts)]
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        asker.answer(sentences)
    finally:
        torch.set_num_threads(threads)
    assert len(seen) == passes
    assert sum(seen) == texts
    assert max(seen) <= max(texts * 2 // 3, 4)


def test_eight_bits_where_they_cannot_be(make, monkeypatch):
    with pytest.raises(ConfigError, match="not for this qacg on cpu"):
        make("qacg").compute_in("int8")
    monkeypatch.setattr(products, "cpu_multiplies_int8", lambda: False)
    with pytest.raises(ConfigError, match="no exact products of eight bits"):
        make().compute_in("int8")
    assert isinstance(products.product(torch.ones(2, 2), torch.ones(2), "bf16"), Bf16Product)


def test_a_model_without_layers_above_is_converted_whole(make):
    asker = make(pooler_blocks=2, similarity_layers=2)
    module = for_answers(build_model(asker.config), "bf16")
    linear = [name for name, part in module.named_modules() if type(part) is torch.nn.Linear]
    assert all(name.startswith(("context.", "head.", "similarity_head")) for name in linear)


def test_a_model_that_pools_plainly_answers_in_every_arithmetic(make):
    sentences = [Sentence(TEXT, (Context("price", "LOCATION1"), Context("safety", "LOCATION2")))]
    asker = make(pooler_blocks=0, target_layers=1)
    plain = np.concatenate(asker.answer(sentences))
    assert np.ptp(plain, axis=0).max() > 0.01
    for arithmetic in arithmetics():
        moved = np.concatenate(asker.compute_in(arithmetic).answer(sentences))
        assert 0 < np.abs(moved - plain).max() < 0.05


def test_relative_positions_are_kept_in_every_arithmetic(make, shape, tokenizer):
    """The fused products know none: bf16 goes by autocast, eight bits are refused."""
    encoder = replace(shape, relative_buckets=32, initializer_range=0.2)
    config = replace(make().config, encoder=encoder)
    torch.manual_seed(1)
    asker = Asker(build_model(config).eval(), tokenizer)
    with torch.no_grad():
        asker.module.encoder.relative.bias.weight.normal_(std=2.0)
    sentences = [Sentence(TEXT, (Context("price", "LOCATION1"), Context("safety", "LOCATION1")))]
    plain = np.concatenate(asker.answer(sentences))
    moved = np.concatenate(asker.compute_in("bf16").answer(sentences))
    assert np.abs(moved - plain).max() < 0.05
    with torch.no_grad():
        asker.module.encoder.relative.bias.weight.zero_()
    without = np.concatenate(asker.compute_in("fp32").answer(sentences))
    assert np.abs(without - plain).max() > 0.05
    with pytest.raises(ConfigError, match="not for this weft-absa"):
        asker.compute_in("int8")


def test_the_frozen_stack_and_the_tagger_read_relative_positions(make, shape, tokenizer):
    options = replace(
        make().config.options,
        open_aspects=True,
        aspect_dropout=0.0,
        frozen_layers=1,
        similarity_layers=2,
        term_layers=1,
    )
    config = replace(make().config, encoder=replace(shape, relative_buckets=32), options=options, aspects=())
    torch.manual_seed(1)
    module = build_model(config).eval()
    with torch.no_grad():
        module.encoder.relative.bias.weight.normal_(std=2.0)
    assert not module.encoder.relative.bias.weight.requires_grad
    ids, mask = Asker(module, tokenizer).representation.rows([TEXT])
    whole = module.encoder(ids, mask, layers=slice(0, 2)).last_hidden_state
    assert torch.allclose(module.read_words(ids, mask)[0], whole[0, 1:-1].mean(dim=0), atol=1e-5)
    below = module.encoder(ids, mask, layers=slice(0, 1)).last_hidden_state
    module.terms.layers[0].load_state_dict(module.encoder.layers[1].state_dict())
    assert torch.allclose(module.tag(ids, mask), module.terms.head(whole), atol=1e-5)
    assert not torch.allclose(module.tag(ids, mask), module.terms(below, mask), atol=1e-3)
