"""The leafy chain model: both forms, one way, gradients, the published model's faults and their cure."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from weft.documents.leafy_chain import ChainShape, ChainTriple, LeafyChainGraph
from weft.errors import CheckpointError, ConfigError, GraphError, InputError
from weft.kg.config import ModelConfig, graphmert, weft_kg
from weft.kg.model.decode import next_token_log_probability
from weft.kg.model.leafy_chain import LeafyChainModel, LossWeights
from weft.kg.represent.batch import IGNORED, ChainBatch
from weft.kg.represent.dataset import Dataset
from weft.kg.represent.dense import compact_batch, dense_batch
from weft.kg.represent.sampling import Sampler, SamplingConfig

SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}


def graphs(count: int = 3, shape: ChainShape | None = None) -> list[LeafyChainGraph]:
    shape = shape or ChainShape(12, 3)
    generator = torch.Generator().manual_seed(0)
    result = []
    for number in range(count):
        length = shape.roots - 2 * number
        roots = torch.randint(5, 40, (length,), generator=generator).tolist()
        triples = [
            ChainTriple(
                head,
                min(2, length - head),
                1 + head % 3,
                tuple(range(7 + head, 8 + head + head % shape.leaves)),
            )
            for head in range(number, length, 3)
        ]
        graph, refused = LeafyChainGraph.build(roots, triples, shape)
        assert not refused
        result.append(graph)
    return result


@pytest.mark.parametrize("decay", ["scores", "weights", "none"])
@pytest.mark.parametrize("official", [False, True])
def test_compact_equals_dense_with_gradients(official: bool, decay: str) -> None:
    config = replace(graphmert(50, 4, official=official, **SIZES), decay=decay)
    model = LeafyChainModel(config).eval()
    dense = dense_batch(graphs())
    compact, nodes = compact_batch(graphs())
    assert compact.input_ids.shape[1] < dense.input_ids.shape[1] / 1.5
    target = torch.randn(*compact.input_ids.shape, 32)
    target[nodes < 0] = 0

    def run(batch: ChainBatch, pick: Tensor | None) -> tuple[Tensor, dict[str, Tensor]]:
        model.zero_grad()
        hidden = model(batch)
        if pick is not None:
            hidden = hidden.gather(1, pick.clamp(min=0)[..., None].expand(-1, -1, 32))
        (hidden * target).sum().backward()
        gradients = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
        return hidden.detach(), gradients

    ours, our_gradients = run(compact, None)
    theirs, their_gradients = run(dense, nodes)
    assert (ours - theirs)[nodes >= 0].abs().max() <= 2e-5
    assert our_gradients.keys() == their_gradients.keys()
    for name, gradient in our_gradients.items():
        scale = max(float(their_gradients[name].abs().max()), 1.0)
        assert (gradient - their_gradients[name]).abs().max() <= 2e-5 * scale, name


def test_padding_and_batch_order_change_nothing() -> None:
    model = LeafyChainModel(graphmert(50, 4, **SIZES)).eval()
    together, _ = compact_batch(graphs())
    alone = [compact_batch([graph])[0] for graph in graphs()]
    reordered, _ = compact_batch(graphs()[::-1])
    hidden, other = model(together), model(reordered)
    assert torch.allclose(hidden, other.flip(0), atol=2e-6)
    for row, batch in enumerate(alone):
        single = model(batch)[0]
        length = batch.num_roots
        assert torch.allclose(single[:length], hidden[row, :length], atol=2e-6)


@pytest.fixture
def trained_batch(dataset: Dataset, small: ModelConfig) -> ChainBatch:
    sampler = Sampler(dataset.corpus, small, SamplingConfig(batch_size=16, mlm_share=0.5))
    return sampler.make(sampler.order[:16], torch.Generator().manual_seed(0))


def test_roots_ignore_leaves_and_groups_each_other(model: LeafyChainModel, trained_batch: ChainBatch) -> None:
    batch = trained_batch
    hidden = model(batch)
    row = int(batch.example[0])
    mine = torch.nonzero(batch.example == row).flatten()
    first, second = (int(number) for number in mine[:2])
    start, length = int(batch.tail_start[first]), int(batch.tail_length[first])
    changed = batch.input_ids.clone()
    changed[row, start + length - 1] = (changed[row, start + length - 1] + 1).clamp(min=5)
    other = model(replace(batch, input_ids=changed))
    difference = (hidden - other).abs().amax(dim=2)[row]
    assert difference[: batch.num_roots].max() == 0
    assert difference[start + length - 1] > 1e-4
    # Causal: slots before the changed one, and every other group, stay.
    assert difference[start : start + length - 1].max() == 0
    begin = int(batch.tail_start[second])
    assert difference[begin : begin + int(batch.tail_length[second])].max() == 0


@pytest.mark.parametrize(
    "choices",
    [
        {},
        {"fusion": "embedding"},
        {"fusion": "residual"},
        {"decay": "weights"},
        {"decay": "scores"},
        {"position": "absolute"},
        {"position": "none"},
        {"copy_path": False},
    ],
)
@pytest.mark.parametrize("training", [False, True])
def test_every_parameter_learns(dataset: Dataset, choices: dict[str, str], training: bool) -> None:
    config = weft_kg(
        dataset.tokenizer.vocab_size, dataset.schema.size, hidden_size=32, layers=2, heads=2, **choices
    )
    model = LeafyChainModel(config).train(training)
    sampler = Sampler(dataset.corpus, config, SamplingConfig(batch_size=24, mlm_share=0.7))
    batch = sampler.make(sampler.order[:24], torch.Generator().manual_seed(0))
    losses = model.losses(batch, LossWeights())
    assert all(torch.isfinite(value) for value in losses.values())
    losses["loss"].backward()
    silent = {name for name, p in model.named_parameters() if p.grad is None or not p.grad.abs().sum() > 0}
    # A bias on keys shifts all logits of a query alike: softmax does not see it. Rotation makes it seen.
    explained = {f"encoder.layers.{i}.attention.key.bias" for i in range(2)} | {"copy_path.key.bias"}
    assert silent <= explained, silent - explained


def test_named_configurations() -> None:
    official, documents, default = graphmert(official=True), graphmert(), weft_kg(8192, 19)
    assert (official.encoder.position, official.slots, official.decay, official.one_way) == (
        "none",
        False,
        "scores",
        False,
    )
    assert (documents.encoder.position, documents.slots, documents.decoding) == ("absolute", True, "masked")
    assert (default.one_way, default.decoding, default.copy_path) == (True, "causal", True)
    for config in (official, documents, default):
        assert ModelConfig.from_dict(config.to_dict()) == config


def test_parameters_are_counted_truly() -> None:
    """The specification says ~80 M; a RoBERTa of these sizes is 53.98 M, and H-GAT's 30 relations 7.9 M."""
    with torch.device("meta"):
        model = LeafyChainModel(graphmert(official=True))
    count = {name: sum(p.numel() for p in part.parameters()) for name, part in model.named_children()}
    assert model.encoder.conditioner is not None
    fused = sum(p.numel() for p in model.encoder.conditioner.parameters())
    assert fused == 30 * (512 * 512 + 2 * 512) + 8
    assert count["encoder"] - fused == 30522 * 512 + 2 * 512 + 2 * 512 + 12 * 3_152_384
    assert sum(count.values()) == 62_570_996


def reversed_graph(graph: LeafyChainGraph) -> LeafyChainGraph:
    length = len(graph.root_ids)
    triples = [replace(t, root=length - 1 - t.root, head_length=1) for t in graph.triples]
    return LeafyChainGraph(graph.root_ids[::-1], tuple(triples), graph.shape)


@pytest.mark.parametrize("official", [True, False])
def test_reversed_text(official: bool) -> None:
    """A fault of the published model: without positions reversed text gives reversed outputs."""
    graph, _ = LeafyChainGraph.build(
        list(range(10, 20)), [ChainTriple(2, 1, 1, (5,)), ChainTriple(7, 1, 2, (6,))], ChainShape(10, 3)
    )
    model = LeafyChainModel(graphmert(50, 4, official=official, **SIZES)).eval()
    forwards = model(compact_batch([graph])[0])[0, :10]
    backwards = model(compact_batch([reversed_graph(graph)])[0])[0, :10].flip(0)
    assert torch.allclose(forwards, backwards, atol=1e-5) == official


@pytest.mark.parametrize("official", [True, False])
def test_masked_slots_of_one_tail(official: bool) -> None:
    """A fault of the published model: slots k and n − 1 − k of a masked tail get the same prediction."""
    graph, _ = LeafyChainGraph.build(
        list(range(10, 20)), [ChainTriple(4, 1, 1, (2, 2, 2))], ChainShape(10, 3)
    )
    model = LeafyChainModel(graphmert(50, 4, official=official, **SIZES)).eval()
    leaves = model(compact_batch([graph])[0])[0, 10:13]
    assert torch.allclose(leaves[0], leaves[2], atol=1e-5) == official


def test_the_loss_is_the_mixture_that_decoding_uses(
    model: LeafyChainModel, trained_batch: ChainBatch
) -> None:
    with torch.no_grad():
        hidden = model(trained_batch)
        log_p = next_token_log_probability(model, hidden[:, trained_batch.num_roots :], hidden, trained_batch)
        losses = model.losses(trained_batch, LossWeights())
    targets = trained_batch.tail_targets[:, trained_batch.num_roots :]
    asked = targets != IGNORED
    picked = log_p.gather(2, targets.clamp(min=0)[..., None]).squeeze(2)[asked]
    assert float(losses["tail"]) == pytest.approx(-float(picked.mean()), rel=1e-5)
    total = (
        losses["tail"] + 0.5 * (losses["vocabulary"] + losses["gate"] + losses["mlm"]) + 0.25 * losses["sbo"]
    )
    assert torch.allclose(losses["loss"], total)


def test_parts_without_targets_are_zero(model: LeafyChainModel, trained_batch: ChainBatch) -> None:
    """Separate means: no targets of a kind is a loss of 0, not NaN."""
    none = torch.full_like(trained_batch.root_targets, IGNORED)
    losses = model.losses(replace(trained_batch, root_targets=none, tail_targets=none), LossWeights())
    losses["loss"].backward()
    assert all(float(value.detach()) == 0 for value in losses.values())


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
def test_weights_are_numbers_from_0_on(value: float) -> None:
    with pytest.raises(ConfigError, match=r"LossWeights.tail is .*; it must be at least 0 and finite"):
        LossWeights(tail=value)


def test_weights_that_leave_nothing_to_learn_are_named(
    model: LeafyChainModel, trained_batch: ChainBatch
) -> None:
    with pytest.raises(
        ConfigError, match=r"leave nothing to learn: vocabulary, .*mlm, sbo weigh 0 in this model"
    ):
        model.losses(trained_batch, LossWeights(0, 0, 0, 0, 0))
    assert float(model.losses(trained_batch, LossWeights(1, 0, 0, 0, 0))["loss"].detach()) > 0


def test_checkpoints_hold_everything(
    model: LeafyChainModel, dataset: Dataset, trained_batch: ChainBatch, tmp_path: Path
) -> None:
    model.save(tmp_path, dataset.tokenizer)
    again = LeafyChainModel.load(tmp_path).eval()
    assert again.config == model.config
    assert torch.equal(again(trained_batch), model(trained_batch))
    model.save(tmp_path, dataset.tokenizer, dtype=torch.float16)
    assert (LeafyChainModel.load(tmp_path).eval()(trained_batch) - model(trained_batch)).abs().max() < 0.02
    (tmp_path / "model.safetensors").write_bytes(b"x" * 100)
    with pytest.raises(CheckpointError):
        LeafyChainModel.load(tmp_path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"fusion": "magic"}, "fusion is 'magic'"),
        ({"decay": "both"}, "decay is 'both'"),
        ({"num_relations": 1}, "num_relations is 1"),
        ({"leaves": 0}, "leaves is 0"),
        ({"leaves": 9}, "type_vocab_size is 8; it must be at least 10"),
        ({"one_way": False}, "needs one_way"),
        ({"fusion": "words"}, "prompt belongs"),
        ({"prompt": ((5,),)}, "type_vocab_size"),
    ],
)
def test_configurations_that_break_a_rule(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        replace(weft_kg(100, 4, hidden_size=32, layers=1, heads=2), **changes)
    with pytest.raises(ConfigError, match="no key 'colour'"):
        ModelConfig.from_dict({"colour": 1})


def test_bad_batches_raise(model: LeafyChainModel, trained_batch: ChainBatch) -> None:
    beyond = torch.full_like(trained_batch.relation, 99)
    with pytest.raises(GraphError, match="unknown relation"):
        model(replace(trained_batch, relation=beyond))
    with pytest.raises(GraphError, match="outside the sequence"):
        model(replace(trained_batch, head_start=torch.full_like(trained_batch.head_start, 10_000)))
    ids = trained_batch.input_ids.clone()
    ids[0, 0] = 10_000
    with pytest.raises(InputError, match="vocab_size"):
        model(replace(trained_batch, input_ids=ids))
    with pytest.raises(InputError, match="empty batch"):
        compact_batch([])
    plain = LeafyChainModel(graphmert(50, 4, **SIZES))
    batch = compact_batch(graphs())[0]
    hidden = plain(batch)
    with pytest.raises(InputError, match="no copy path"):
        plain.pointers(hidden, batch)
