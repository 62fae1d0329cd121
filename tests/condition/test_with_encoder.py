"""All conditioners at once inside an encoder: what no published system can do, and what the seam is for."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from weft.attention import operation
from weft.condition import (
    HGAT,
    DistanceDecay,
    GATEncoder,
    KVPrefix,
    QuasiConfig,
    QuasiContext,
    QuasiStructure,
    Stack,
)
from weft.encoder import PLAIN, Encoder, EncoderConfig
from weft.errors import ConfigError
from weft.graph import Triples

BATCH, SEQ, HIDDEN, HEADS, LAYERS, GRAPH = 2, 8, 16, 2, 2, 5
CONFIG = EncoderConfig(
    vocab_size=30,
    hidden_size=HIDDEN,
    num_hidden_layers=LAYERS,
    num_attention_heads=HEADS,
    intermediate_size=32,
    max_position_embeddings=32,
)


class Woven(nn.Module):
    """A graph encoder and an encoder with every conditioner."""

    def __init__(self, mode: str) -> None:
        super().__init__()
        self.graph = GATEncoder(4, 8, GRAPH, num_layers=2, heads=2, num_edge_types=2)
        self.encoder = Encoder(
            CONFIG,
            conditioner=Stack(
                [
                    KVPrefix(GRAPH, HIDDEN, HEADS, LAYERS, 2, gated=True),
                    DistanceDecay(HEADS, 5, mode=mode),
                    QuasiContext(QuasiConfig(HIDDEN, HEADS, LAYERS, normalised=True, gate="pair")),
                    HGAT(HIDDEN, 4),
                ]
            ),
        )

    def forward(self, batch: dict[str, Tensor], triples: Triples, layers: slice = slice(None)) -> Tensor:
        summary = self.graph(batch["x"], batch["edge_index"], batch["batch"], batch["edge_type"])
        counts = batch["attention_mask"].sum(dim=1)
        structure = [summary, batch["distances"], QuasiStructure(batch["context"], counts), triples]
        inputs = batch.get("hidden", batch["input_ids"])
        return self.encoder(inputs, batch["attention_mask"], structure, layers=layers).last_hidden_state


def woven(mode: str = "scores") -> Woven:
    torch.manual_seed(0)
    model = Woven(mode)
    for parameter in model.parameters():
        if parameter.dim() > 1:
            nn.init.normal_(parameter, std=0.3)
    return model


def batch() -> tuple[dict[str, Tensor], Triples]:
    torch.manual_seed(1)
    mask = torch.arange(SEQ) < torch.tensor([[SEQ], [SEQ - 2]])
    steps = (torch.arange(SEQ)[:, None] - torch.arange(SEQ)).abs()
    tensors = {
        "x": torch.randn(5, 4),
        "edge_index": torch.tensor([[0, 1, 3], [1, 2, 4]]),
        "edge_type": torch.tensor([0, 1, 1]),
        "batch": torch.tensor([0, 0, 0, 1, 1]),
        "distances": steps.expand(BATCH, -1, -1),
        "context": torch.randn(BATCH, HIDDEN),
        "input_ids": torch.randint(1, 30, (BATCH, SEQ)),
        "attention_mask": mask,
    }
    triples = Triples.from_spans(*(torch.tensor(v) for v in ([0, 1], [1, 3], [0, 1], [2, 1], [4, 3], [2, 1])))
    return tensors, triples


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("mode", ["scores", "weights"])
def test_every_conditioner_gets_a_gradient(mode: str, training: bool) -> None:
    model = woven(mode).train(training)
    tensors, triples = batch()
    (model(tensors, triples) * torch.randn(HIDDEN)).sum().backward()
    for name, parameter in model.graph.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().max() > 0, name
    for name, parameter in model.encoder.conditioner.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().max() > 0, name


@pytest.mark.parametrize(
    "change",
    [
        lambda t: {"x": t["x"] + 1.0},
        lambda t: {"edge_index": t["edge_index"].flip(0)},
        lambda t: {"edge_type": 1 - t["edge_type"]},
        lambda t: {"distances": t["distances"].clamp(max=1)},
        lambda t: {"context": t["context"].flip(0)},
    ],
    ids=["nodes", "edges", "types", "distances", "context"],
)
def test_every_structure_is_read(change) -> None:
    model = woven().eval()
    nn.init.normal_(model.graph.layers[0].type_score)
    tensors, triples = batch()
    before = model(tensors, triples)
    assert not torch.allclose(model(tensors | change(tensors), triples), before, atol=1e-5)


def test_triples_are_read() -> None:
    model = woven().eval()
    tensors, triples = batch()
    other = Triples(triples.example, triples.relation.flip(0), triples.head, triples.tail)
    assert not torch.allclose(model(tensors, other), model(tensors, triples), atol=1e-5)


def test_padding_changes_nothing() -> None:
    model = woven().double().eval()
    tensors, triples = batch()
    tensors = {name: t.double() if t.is_floating_point() else t for name, t in tensors.items()}
    expected = model(tensors, triples)
    longer = dict(tensors)
    for name, value in (("input_ids", 7), ("attention_mask", 0)):
        longer[name] = nn.functional.pad(tensors[name], (0, 3), value=value)
    longer["distances"] = nn.functional.pad(tensors["distances"], (0, 3, 0, 3), value=-1)
    real = tensors["attention_mask"]
    torch.testing.assert_close(model(longer, triples)[:, :SEQ][real], expected[real], rtol=0, atol=1e-12)


def test_layers_may_run_in_parts() -> None:
    model = woven().eval()
    tensors, triples = batch()
    lower = model(tensors, triples, layers=slice(0, 1))
    upper = model(tensors | {"hidden": lower}, triples, layers=slice(1, None))
    torch.testing.assert_close(upper, model(tensors, triples))


def test_everything_runs_under_bf16_autocast() -> None:
    model = woven()
    tensors, triples = batch()
    with torch.autocast("cpu", torch.bfloat16):
        out = model.train()(tensors, triples)
    (out.float() * torch.randn(HIDDEN)).sum().backward()
    assert all(torch.isfinite(p.grad).all() for p in model.parameters() if p.grad is not None)
    model.eval()
    with torch.autocast("cpu", torch.bfloat16), torch.no_grad():
        out = model(tensors, triples)
    assert (out.float() - model(tensors, triples)).detach().abs().mean() < 0.05


def test_the_decay_is_there_in_every_layer() -> None:
    """Each layer by itself, on one input, tells near tokens from far ones."""
    config = EncoderConfig(
        vocab_size=9, hidden_size=8, num_hidden_layers=3, num_attention_heads=2, intermediate_size=8
    )
    encoder = Encoder(config, conditioner=DistanceDecay(2, 5, mode="weights")).eval()
    hidden, steps = torch.randn(1, 4, 8), torch.arange(4)
    distances = (steps[:, None] - steps[None, :]).abs()[None]
    for layer in range(3):
        part = slice(layer, layer + 1)
        decayed = encoder(hidden, structure=distances, layers=part, need_maps=True).maps[0].weights
        plain = encoder(hidden, structure=PLAIN, layers=part, need_maps=True).maps[0].weights
        factor = encoder.conditioner.table()[:, distances[0]]
        expected = plain[0] * factor
        torch.testing.assert_close(decayed[0], expected / expected.sum(dim=-1, keepdim=True))


def test_a_stack_takes_conditioners_alone() -> None:
    compiled = torch.compile(DistanceDecay(HEADS, 5), backend="eager")
    for member, told in (
        (nn.Linear(2, 2), "member 1 of a stack is a Linear"),
        (compiled, "an OptimizedModule"),
    ):
        with pytest.raises(ConfigError, match=told):
            Stack([KVPrefix(GRAPH, HIDDEN, HEADS, LAYERS), member])


@pytest.mark.parametrize("mode", ["scores", "weights"])
def test_it_can_be_exported_and_serves_other_batches_and_lengths(mode):
    class Exported(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            quasi = QuasiContext(QuasiConfig(HIDDEN, HEADS, LAYERS, normalised=True, gate="pair"))
            parts = [KVPrefix(GRAPH, HIDDEN, HEADS, LAYERS), DistanceDecay(HEADS, 5, mode=mode), quasi]
            self.encoder = Encoder(CONFIG, conditioner=Stack(parts))

        def forward(
            self, ids: Tensor, mask: Tensor, summary: Tensor, distances: Tensor, context: Tensor
        ) -> Tensor:
            structure = [summary, distances, QuasiStructure(context, mask.sum(dim=1))]
            return self.encoder(ids, mask, structure).last_hidden_state

    def draw(batch: int, length: int) -> tuple[Tensor, ...]:
        mask = torch.arange(length) < torch.arange(length, length - batch, -1)[:, None]
        ids, distances = torch.randint(30, (batch, length)), torch.randint(-1, 9, (batch, length, length))
        return ids, mask, torch.randn(batch, GRAPH), distances, torch.randn(batch, HIDDEN)

    torch.manual_seed(0)
    model = Exported().eval()
    batch, length = torch.export.Dim("batch", min=2, max=32), torch.export.Dim("length", min=4, max=32)
    tokens, rows = {0: batch, 1: length}, {0: batch}
    exported = torch.export.export(
        model, draw(3, 7), dynamic_shapes=(tokens, tokens, rows, {**tokens, 2: length}, rows)
    )
    for size in ((3, 7), (4, 11)):
        given = draw(*size)
        torch.testing.assert_close(exported.module()(*given), model(*given), rtol=0, atol=1e-5)


def test_it_compiles_to_one_graph_for_training_whatever_the_shapes():
    quasi = QuasiContext(QuasiConfig(HIDDEN, HEADS, 1, dropout=0.0))
    torch.manual_seed(0)
    parts = [KVPrefix(GRAPH, HIDDEN, HEADS, 1), DistanceDecay(HEADS, 5), quasi]
    plain = replace(CONFIG, num_hidden_layers=1, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    encoder = Encoder(plain, conditioner=Stack(parts))
    compiled = torch.compile(encoder, backend="aot_eager", dynamic=True, fullgraph=True)

    def train(run: nn.Module, batch: int, length: int) -> list[Tensor]:
        draw = torch.Generator().manual_seed(length)
        ids = torch.randint(30, (batch, length), generator=draw)
        distances = torch.randint(-1, 9, (batch, length, length), generator=draw)
        context = torch.randn(batch, HIDDEN, generator=draw)
        structure = [torch.randn(batch, GRAPH, generator=draw), distances, QuasiStructure(context)]
        seen = torch.arange(length).expand(batch, -1) < length - 1
        encoder.zero_grad()
        output = run(ids, seen, structure).last_hidden_state
        output.pow(2).sum().backward()
        return [output, *(p.grad.clone() for p in encoder.parameters() if p.grad is not None)]

    for size in ((3, 7), (4, 11)):
        torch.testing.assert_close(train(compiled, *size), train(encoder, *size), rtol=1e-5, atol=1e-5)


def test_bf16_compiles_without_chunks(monkeypatch):
    monkeypatch.setattr(operation, "cpu_multiplies_bf16", lambda: True)
    encoder = Encoder(CONFIG).to(torch.bfloat16).eval()
    compiled = torch.compile(encoder, backend="eager", fullgraph=True)
    ids = torch.arange(16).view(2, 8)
    found, expected = compiled(ids).last_hidden_state, encoder(ids).last_hidden_state
    torch.testing.assert_close(found, expected, rtol=0.1, atol=0.1)
