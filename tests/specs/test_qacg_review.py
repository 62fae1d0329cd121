"""The QACG-BERT review, class by class: our numbers against loops that read like its equations."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file

from tests.specs.qacg_oracle import (
    HEADS,
    HIDDEN,
    LAYERS,
    SHAPE,
    VOCAB,
    WIDTH,
    build,
    config,
    gelu,
    oracle,
    pairs,
)
from weft.absa.config import AbsaConfig
from weft.absa.explain.attribution import backward_gradient
from weft.absa.model.qacg import Qacg, QacgOfficial
from weft.absa.represent.batch import Pairs, Questions
from weft.condition.quasi import QuasiConfig, QuasiContext, QuasiStructure
from weft.encoder.checkpoint.pretrained import load_pretrained
from weft.encoder.encoder import Encoder
from weft.encoder.pooling import ClsPooler, GatePooler
from weft.errors import CheckpointError, ConfigError, ShapeError


@pytest.mark.parametrize("pooling", ["cls", "gate"])
@pytest.mark.parametrize("kind", ["qacg-official", "cg"])
def test_every_module_computes_what_the_review_says(kind, pooling):
    """Embeddings, context layer, attention, gate, feed-forward, pooler and classifier, on padded rows too."""
    model, batch = build(kind, pooling=pooling), pairs()
    assert isinstance(model.pooler, ClsPooler if pooling == "cls" else GatePooler)
    expected, _ = oracle(model, batch)
    assert torch.allclose(model(batch).logits, expected, atol=1e-10)


def test_all_maps_are_given_on_request():
    """all_A_probs, all_A1_probs, all_A2_probs and all_lambda_context of the review, layer by layer."""
    model, batch = build(), pairs()
    _, expected = oracle(model, batch)
    found = model(batch, need_maps=True).maps
    assert len(found) == LAYERS
    for row, real in enumerate(batch.attention_mask.sum(dim=1).tolist()):
        for maps, (wanted, lambdas) in zip(found, expected[row], strict=True):
            assert maps.gate.shape == (3, HEADS, 7, 1)  # the code's gate: one λ per query
            A1, G, gate = maps.weights[row, :, :real], maps.quasi[row, :, :real], maps.gate[row, :, :real]
            assert torch.allclose(A1, wanted["A1"][:, :real], atol=1e-10)
            assert torch.allclose(G, wanted["G"][:, :real], atol=1e-10)
            assert torch.allclose(gate[..., 0], lambdas[:, :real], atol=1e-10)
            assert torch.allclose(A1 + gate * G, wanted["A"][:, :real], atol=1e-10)
    assert model(batch).maps == ()


def test_the_final_attention_is_the_sum_and_its_ranges():
    """λ_A in (−1, 1), not [0, 1] as the review says; Â in (−1, 2); its rows do not sum to 1."""
    for maps in build()(pairs(), need_maps=True).maps:
        assert maps.gate.min() > -1
        assert maps.gate.max() < 1
        assert maps.gate.min() < 0  # so the gate is not a share
        total = maps.weights + maps.gate * maps.quasi
        assert total.min() > -1
        assert total.max() < 2
        assert (total.sum(dim=-1) - 1).abs().max() > 0.05
        assert torch.allclose(maps.weights[0].sum(dim=-1), torch.ones(1, dtype=torch.float64))


def test_a_masked_key_gets_nothing():
    """The review adds −10000 before a sigmoid; ours is exactly 0, and padding changes nothing."""
    model, batch = build(), pairs()
    for maps in model(batch, need_maps=True).maps:
        assert not maps.quasi[1, :, :, 5:].any()
        assert not maps.weights[1, :, :, 5:].any()
    alone = Pairs(
        batch.input_ids[1:2, :5],
        batch.token_type_ids[1:2, :5],
        batch.attention_mask[1:2, :5],
        batch.context_ids[1:2],
    )
    assert torch.allclose(model(alone).logits, model(batch).logits[1:2], atol=1e-12)


def test_the_defaults_of_the_review():
    """Mask of ones and types of 0 where none are given; 2 · 4 contexts."""
    model, ids = build(), pairs().input_ids
    assert model.context_embeddings.weight.shape == (2 * 4, HIDDEN)
    structure = QuasiStructure(model.context_embeddings(torch.tensor([1, 2, 3])))
    plain = model.encoder(ids, None, structure).last_hidden_state
    ones = Pairs(ids, torch.zeros_like(ids), torch.ones_like(ids, dtype=torch.bool), torch.tensor([1, 2, 3]))
    full = model.encoder(model.embed(ones), ones.attention_mask, structure).last_hidden_state
    assert torch.allclose(plain, full, atol=1e-12)


def test_shapes():
    model, batch = build(), pairs()
    answer = model(batch, need_maps=True)
    assert answer.logits.shape == (3, 3)
    assert model.embed(batch).shape == (3, 7, HIDDEN)
    layer = model.encoder.conditioner.layers[0]
    assert layer.context_layer.weight.shape == (HIDDEN, 2 * HIDDEN)
    assert layer.context_query.weight.shape == (HIDDEN, HIDDEN)
    assert layer.lambda_query.weight.shape == (1, WIDTH)
    for maps in answer.maps:
        assert maps.weights.shape == maps.quasi.shape == (3, HEADS, 7, 7)


def test_the_classifier_and_its_loss():
    model, batch = build(), pairs()
    with torch.no_grad():
        answer = model(batch)
    rows = [
        -float(logits[label]) + math.log(sum(math.exp(float(x)) for x in logits))
        for logits, label in zip(answer.logits, batch.labels, strict=True)
    ]
    assert float(answer.loss(batch.labels)) == pytest.approx(sum(rows) / 3, abs=1e-12)
    with pytest.raises(ShapeError, match=r"\(2,\)"):
        answer.loss(batch.labels[:2])


def test_dropout_is_where_the_review_has_it():
    """On the embeddings, C_Q and C_K, the summed attention, both residuals, the gate and the classifier."""
    shape = replace(SHAPE, hidden_dropout_prob=0.5, attention_probs_dropout_prob=0.5)
    model = QacgOfficial(config(shape=shape, pooling="gate", classifier_dropout=0.5)).double()
    batch = pairs()
    assert not torch.equal(model.train()(batch).logits, model(batch).logits)
    assert torch.equal(model.eval()(batch).logits, model(batch).logits)
    layer = model.encoder.conditioner.layers[0].train()
    hidden, head = torch.randn(1, 5, HIDDEN).double(), torch.randn(1, HEADS, 5, WIDTH).double()
    context_query, context_key, *_ = layer(hidden, torch.randn(1, HIDDEN).double(), head, head)
    for dropped in (context_query, context_key):
        assert 0 < (dropped == 0).double().mean() < 1
    assert model.pooler.attention_gate[2].p == 0.5
    assert model.head.dropout.p == 0.5
    still = QacgOfficial(config(classifier_dropout=0.0)).double().train()
    assert torch.equal(still(batch).logits, still.eval()(batch).logits)


def test_initialisation():
    """N(0, 0.02²) for weights and embeddings, 0 for biases, N(0, 0.01²) for λ: small and not 0."""
    shape = replace(SHAPE, hidden_size=64, initializer_range=0.02, vocab_size=300, intermediate_size=128)
    model = QacgOfficial(config(shape=shape))
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            assert not parameter.any()
        elif "norm" in name:
            assert torch.equal(parameter, torch.ones_like(parameter))
        elif parameter.numel() >= 500:
            assert float(parameter.detach().std()) == pytest.approx(0.02, rel=0.15), name
    lambdas = torch.cat([p.flatten() for n, p in model.named_parameters() if "lambda" in n and "weight" in n])
    assert float(lambdas.detach().std()) == pytest.approx(0.01, rel=0.2)
    published = QacgOfficial(config(shape=shape), published_initialisation=True)
    norms = [p for n, p in published.named_parameters() if "norm" in n]
    assert float(torch.cat(norms).detach().abs().max()) < 0.1  # γ from N(0, 0.02²) too, as the review's code


def test_the_context_learns_from_the_start():
    """With λ at 0 and no bias the quasi part would be silent and no gradient would reach the context."""
    model, batch = QacgOfficial(config()), pairs()
    model(batch).loss(batch.labels).backward()
    asked = model.context_embeddings.weight.grad[batch.context_ids]
    assert bool(asked.abs().amax(dim=1).gt(0).all())
    rest = [i for i in range(8) if i not in batch.context_ids.tolist()]
    assert not model.context_embeddings.weight.grad[rest].any()


@pytest.mark.parametrize("kind", ["qacg-official", "cg"])
def test_backward_gradient(kind):
    """Σ s · ∂logits/∂embeddings, by differences; no hook is left on the module."""
    model, batch = build(kind), pairs()
    sensitivity = torch.zeros(3, 3, dtype=torch.float64)
    sensitivity[torch.arange(3), batch.labels] = 1
    found = backward_gradient(model, batch, sensitivity)
    embedded, row = model.embed(batch).detach(), 1
    for position, feature in ((0, 0), (2, 5), (4, 3)):
        step = torch.zeros_like(embedded)
        step[row, position, feature] = 1e-6
        with torch.no_grad():
            up, down = ((model(batch, embedded + s).logits * sensitivity).sum() for s in (step, -step))
        assert float(found[row, position, feature]) == pytest.approx(float(up - down) / 2e-6, abs=1e-7)
    assert not any(module._forward_hooks or module._backward_hooks for module in model.modules())


def test_configuration_from_dict_and_json(tmp_path):
    """from_dict, from_json_file, to_dict, to_json_string; nothing is lost, nothing unknown is kept."""
    made = config(pooling="gate")
    assert AbsaConfig.from_dict(made.to_dict()) == made
    path = tmp_path / "config.json"
    made.to_json(path)
    assert AbsaConfig.from_json(path) == made
    # The review's BertConfig never stores intermediate_size.
    assert json.loads(path.read_text())["encoder"]["intermediate_size"] == 12
    changed = {**made.to_dict(), "temprature": 2.0}
    with pytest.raises(ConfigError, match="did you mean temperature"):
        AbsaConfig.from_dict(changed)


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ("[1]", "a mapping of fields is needed"),
        ("{", "is not JSON"),
        ('{"encoder": {"hidden": 1}}', "no key 'hidden'"),
        (None, "is not there"),
    ],
)
def test_a_bad_configuration_file(tmp_path, content, what):
    path = tmp_path / "config.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ConfigError, match=what):
        AbsaConfig.from_json(path)


# The faults of the review and of the code behind it, one by one.


def test_fault_wcq_of_head_size():
    """Linear(D, D) on (batch, seq, hidden) does not run; Z is hidden × hidden, then split."""
    with pytest.raises(RuntimeError):
        torch.nn.Linear(WIDTH, WIDTH)(torch.randn(2, 5, HIDDEN))


def test_fault_gelu_of_the_text():
    """The text's tanh form is another function; the code's erf form is meant, and is ours (see the oracle)."""
    x = torch.linspace(-4, 4, 200)
    assert (F.gelu(x, approximate="tanh") - gelu(x)).abs().max() > 1e-4
    assert torch.allclose(F.gelu(x), gelu(x), atol=1e-6)


def bert_directory(directory):
    import transformers

    transformers.logging.disable_progress_bar()
    sizes = {name: getattr(SHAPE, name) for name in ("vocab_size", "hidden_size", "num_hidden_layers")}
    sizes |= {"num_attention_heads": HEADS, "intermediate_size": 12, "max_position_embeddings": 16}
    torch.manual_seed(0)
    model = transformers.BertModel(transformers.BertConfig(**sizes))
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter)
    model.save_pretrained(directory)
    (directory / "vocab.txt").write_text(
        "\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *map(chr, range(97, 122))])
    )
    return directory / "model.safetensors"


def test_fault_layer_norms_left_random(tmp_path):
    """Old names (gamma, beta) are renamed; a missing tensor is an error that names it."""
    path = bert_directory(tmp_path)
    modern = load_pretrained(tmp_path).encoder
    tensors = load_file(path)
    assert torch.equal(
        modern.layers[1].output_norm.weight, tensors["encoder.layer.1.output.LayerNorm.weight"]
    )
    old = {
        n.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): t
        for n, t in tensors.items()
    }
    save_file(old, path, {"format": "pt"})
    assert torch.equal(
        load_pretrained(tmp_path).encoder.layers[1].output_norm.weight, modern.layers[1].output_norm.weight
    )
    old.pop("encoder.layer.0.output.LayerNorm.gamma")
    save_file(old, path, {"format": "pt"})
    with pytest.raises(CheckpointError, match="LayerNorm"):
        load_pretrained(tmp_path)


def drift(length, normalised):
    """How far quasi-attention moves a text's states, relative to their size."""
    torch.manual_seed(0)
    shape = replace(SHAPE, max_position_embeddings=512)
    encoder = Encoder(shape).double().eval()
    plain = encoder(torch.randint(1, VOCAB, (1, length), generator=torch.Generator().manual_seed(2)))
    quasi = QuasiConfig.named(
        "qacg-official", HIDDEN, HEADS, LAYERS, normalised=normalised, dropout=0.0, lambda_range=0.3
    )
    conditioner = QuasiContext(quasi).double()
    hidden = plain.last_hidden_state
    layer = encoder.layers[0]
    query, key = (
        layer.attention._split(linear(hidden)) for linear in (layer.attention.query, layer.attention.key)
    )
    state = QuasiStructure(torch.randn(1, HIDDEN).double(), torch.tensor([length]))
    term = conditioner.terms(0, hidden, query, key, conditioner.prepare(state)).quasi
    quasi_map = term.alpha * torch.sigmoid(term.query @ term.key.transpose(-1, -2) / WIDTH**0.5)
    return float(quasi_map.sum(dim=-1).mean().detach())


def test_fault_the_quasi_part_grows_with_the_text():
    """A sum over n tokens; divided by n, a text eight times as long has a quasi part as large."""
    assert drift(256, normalised=False) > 6 * drift(32, normalised=False)
    assert drift(256, normalised=True) == pytest.approx(drift(32, normalised=True), rel=0.2)


def test_fault_the_context_is_ignored():
    """In ``qacg`` the question is no part of the text: the context is the only path to it."""
    torch.manual_seed(0)
    # Small weights: at large ones the sigmoids are saturated, and hardly anything changes anything.
    model = Qacg(config("qacg", replace(SHAPE, initializer_range=0.2))).double().eval()
    for name, parameter in model.named_parameters():
        if "lambda" in name:
            torch.nn.init.normal_(parameter)
    ids = torch.randint(1, VOCAB, (1, 6))
    mask = torch.ones_like(ids, dtype=torch.bool)
    words = torch.tensor([[2, 7, 3], [2, 9, 3]])
    batch = Questions(
        input_ids=ids,
        attention_mask=mask,
        view_text=torch.tensor([0]),
        target_mask=torch.zeros_like(mask),
        slot_aspect=torch.tensor([[0, 1]]),
        slot_mask=torch.ones(1, 2, dtype=torch.bool),
        aspect_ids=words,
        aspect_mask=torch.ones_like(words, dtype=torch.bool),
        aspect_known=torch.tensor([True, True]),
        context_view=torch.tensor([0, 0]),
        context_slot=torch.tensor([0, 1]),
    )
    first, second = model(batch).logits
    assert (first - second).abs().max() > 1e-4
    for layer in model.encoder.conditioner.layers:
        for name in ("context_query", "context_key"):
            torch.nn.init.zeros_(getattr(layer, name).weight)
    first, second = model(batch).logits
    assert torch.allclose(first, second, atol=1e-12)


def test_folding_the_context_layer_is_exact():
    """C_Q and C_K are one product of h plus a constant per context: same answers, then training goes on."""
    torch.manual_seed(0)
    quasi = QuasiConfig.named("qacg", HIDDEN, HEADS, LAYERS, first_layer=0, initializer_range=0.6)
    conditioner = QuasiContext(quasi).double().eval()
    for parameter in conditioner.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    hidden, context = torch.randn(3, 5, HIDDEN).double(), torch.randn(3, HIDDEN).double()
    head = torch.randn(3, HEADS, 5, WIDTH).double()
    state = conditioner.prepare(QuasiStructure(context, torch.tensor([5, 4, 3])))
    before = conditioner.terms(0, hidden, head, head, state).quasi
    names = {name for name, _ in conditioner.named_parameters()} | set(conditioner.state_dict())
    conditioner.fold()
    after = conditioner.terms(0, hidden, head, head, state).quasi
    for name in ("query", "key", "lambda_query", "lambda_key"):
        assert torch.allclose(getattr(before, name), getattr(after, name), atol=1e-12)
    assert {name for name, _ in conditioner.named_parameters()} | set(conditioner.state_dict()) == names
    conditioner.train()
    assert all(layer.folded is None for layer in conditioner.layers)


def test_a_fold_is_of_the_weights_that_there_are():
    """Other weights, and a training that only sets the mode's attribute, undo it."""
    torch.manual_seed(0)
    quasi = QuasiConfig.named("qacg", HIDDEN, HEADS, LAYERS, first_layer=0, initializer_range=0.6)
    conditioner, other = (QuasiContext(quasi).double().eval() for _ in range(2))
    for module in (conditioner, other):
        for parameter in module.parameters():
            torch.nn.init.normal_(parameter, std=0.5)
    hidden, context = torch.randn(3, 5, HIDDEN).double(), torch.randn(3, HIDDEN).double()
    head = torch.randn(3, HEADS, 5, WIDTH).double()

    def query(module):
        state = module.prepare(QuasiStructure(context, torch.tensor([5, 4, 3])))
        return module.terms(0, hidden, head, head, state).quasi.query

    conditioner.fold()
    conditioner.load_state_dict(other.state_dict())
    assert torch.allclose(query(conditioner), query(other), atol=1e-12)
    conditioner.fold()
    for layer in conditioner.layers:
        layer.training = True
    query(conditioner).square().sum().backward()
    assert conditioner.layers[0].context_layer.weight.grad.chunk(2, dim=1)[1].any()
