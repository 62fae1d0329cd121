"""The model contract: BERTWithGraphPrefix, initialize_node_features and BCSModel, statement by statement."""

import inspect
import json
from itertools import pairwise

import pytest
import torch
import torch.nn.functional as F

from weft.condition.gat import GATEncoder
from weft.documents.bcs_model import BCSModel
from weft.documents.graph_prefix import BERTWithGraphPrefix
from weft.encoder import Encoder, EncoderConfig, MLMHead, load_pretrained
from weft.errors import CheckpointError, ConfigError, DtypeError, InputError, NonFiniteError, ShapeError
from weft.graph.graph import Graph, GraphBatch
from weft.objective.losses import masked_language_modeling_loss, nt_xent_loss

HIDDEN, HEADS, LAYERS, VOCAB, GRAPH = 16, 2, 3, 50, 6


def hf_directory(directory):
    """A tiny BERT checkpoint as transformers writes it, with a tokenizer."""
    import transformers

    transformers.logging.disable_progress_bar()
    sizes = {
        "vocab_size": VOCAB,
        "hidden_size": HIDDEN,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "intermediate_size": 24,
        "max_position_embeddings": 64,
        "initializer_range": 0.2,
    }
    transformers.BertForPreTraining(transformers.BertConfig(**sizes)).save_pretrained(directory)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "mov", "add", "ret", "eax", "ebx", ","]
    (directory / "vocab.txt").write_text("\n".join(words) + "\n")
    return directory


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    torch.manual_seed(0)
    return hf_directory(tmp_path_factory.mktemp("bert"))


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


def tokens(batch=2, length=10):
    ids = torch.randint(5, VOCAB, (batch, length))
    mask = torch.ones(batch, length, dtype=torch.bool)
    mask[-1, length // 2 :] = False
    return ids.masked_fill(~mask, 0), mask


def awake(model):
    """Values that start at zero are set, as after some training, so that the graph reaches the output."""
    for projection in model.encoder.conditioner.graph_to_v:
        torch.nn.init.normal_(projection.weight)
    return model


# BERTWithGraphPrefix


def test_signature():
    parameters = inspect.signature(BERTWithGraphPrefix).parameters
    assert list(parameters)[:3] == ["bert_model_name", "graph_dim", "freeze_embeddings"]
    assert parameters["bert_model_name"].default == "bert-base-uncased"
    assert parameters["graph_dim"].default == 256
    # Differs from the contract, which freezes English word pieces and asks for a gradient everywhere.
    assert parameters["freeze_embeddings"].default is False


@pytest.mark.parametrize("train", [False, True])
def test_bert_with_graph(checkpoint, train):
    model = BERTWithGraphPrefix(checkpoint, graph_dim=GRAPH).train(train)
    ids, mask = tokens()
    outputs = model(ids, mask, torch.randn(2, GRAPH), need_weights=True, need_prefix_attention=True)
    assert {name: tuple(value.shape) for name, value in outputs.items()} == {
        "cls_embedding": (2, HIDDEN),
        "sequence_output": (2, 10, HIDDEN),
        "attention_weights": (2, HEADS, 10, 11),
        "pooled_output": (2, HIDDEN),
        "prefix_attention": (LAYERS, 2, HEADS, 10),
    }
    assert torch.equal(outputs["cls_embedding"], outputs["sequence_output"][:, 0])
    assert torch.equal(outputs["pooled_output"], torch.tanh(model.pooler.dense(outputs["cls_embedding"])))
    weights = outputs["attention_weights"]
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, HEADS, 10))
    assert not weights[1, :, :, 6:].any()  # padding, behind the prefix at position 0
    assert (weights[..., 0] > 0).all()
    torch.testing.assert_close(outputs["prefix_attention"][-1], weights[..., 0], atol=1e-6, rtol=0)


def test_maps_are_off_unless_asked_for(checkpoint):
    model = awake(BERTWithGraphPrefix(checkpoint, graph_dim=GRAPH)).eval()
    ids, mask = tokens()
    summary = torch.randn(2, GRAPH)
    plain = model(ids, mask, summary)
    assert plain.keys() == {"cls_embedding", "sequence_output", "pooled_output"}
    for options in ({"need_weights": True}, {"need_prefix_attention": True}):
        asked = model(ids, mask, summary, **options)
        torch.testing.assert_close(asked["sequence_output"], plain["sequence_output"], atol=1e-5, rtol=0)


def test_it_equals_the_contracts_algorithm_in_every_layer(checkpoint):
    model = awake(BERTWithGraphPrefix(checkpoint, graph_dim=GRAPH)).double().eval()
    ids, mask = tokens()
    summary = torch.randn(2, GRAPH, dtype=torch.float64)
    prefix = model.encoder.conditioner
    hidden = model.encoder.embeddings(ids)
    extended = torch.cat([torch.ones(2, 1, dtype=torch.bool), mask], dim=1)
    for number, layer in enumerate(model.encoder.layers):
        query, key, value = (
            project(hidden).view(2, 10, HEADS, -1).transpose(1, 2)
            for project in (layer.attention.query, layer.attention.key, layer.attention.value)
        )
        prefix_k = prefix.graph_to_k[number](summary).view(2, HEADS, 1, -1)
        prefix_v = prefix.graph_to_v[number](summary).view(2, HEADS, 1, -1)
        k_total, v_total = torch.cat([prefix_k, key], dim=2), torch.cat([prefix_v, value], dim=2)
        scores = query @ k_total.transpose(-2, -1) / (HIDDEN // HEADS) ** 0.5
        weights = scores.masked_fill(extended[:, None, None] == 0, -1e9).softmax(-1)
        context = (weights @ v_total).transpose(1, 2).reshape(2, 10, HIDDEN)
        hidden = layer.attention_norm(layer.attention.output(context) + hidden)
        hidden = layer.output_norm(layer.output(F.gelu(layer.intermediate(hidden))) + hidden)
    outputs = model(ids, mask, summary, need_weights=True)
    torch.testing.assert_close(outputs["sequence_output"], hidden, atol=1e-10, rtol=0)
    torch.testing.assert_close(outputs["attention_weights"], weights, atol=1e-10, rtol=0)


def test_every_layer_has_its_own_projections_and_sees_the_graph(checkpoint):
    model = awake(BERTWithGraphPrefix(checkpoint, graph_dim=GRAPH)).eval()
    prefix = model.encoder.conditioner
    assert len(prefix.graph_to_k) == len(prefix.graph_to_v) == LAYERS
    ids, mask = tokens()
    summary = torch.randn(2, GRAPH, requires_grad=True)
    for layer in range(LAYERS):
        for projection in (*prefix.graph_to_k, *prefix.graph_to_v):
            projection.zero_grad()
        model(ids, mask, summary)["cls_embedding"].square().sum().backward()
        assert prefix.graph_to_v[layer].weight.grad.any()
        assert prefix.graph_to_k[layer].weight.grad.any()


def test_it_starts_near_the_plain_encoder(checkpoint):
    model = BERTWithGraphPrefix(checkpoint, graph_dim=GRAPH).eval()
    ids, mask = tokens()
    one, other = (model(ids, mask, torch.randn(2, GRAPH))["sequence_output"][mask] for _ in range(2))
    plain = load_pretrained(checkpoint).encoder(ids, mask).last_hidden_state[mask]
    similarity = F.cosine_similarity(one, plain, dim=-1)
    assert similarity.min() > 0.8
    assert F.cosine_similarity(one, other, dim=-1).min() > 0.8


@pytest.mark.parametrize("freeze", [False, True])
@pytest.mark.parametrize("train", [False, True])
def test_gradient_flow(checkpoint, freeze, train):
    # The contract asks for all parameters; with freeze_embeddings=True that is all trainable ones.
    model = awake(BERTWithGraphPrefix(checkpoint, graph_dim=GRAPH, freeze_embeddings=freeze)).train(train)
    ids, mask = tokens()
    summary = torch.randn(2, GRAPH, requires_grad=True)
    outputs = model(ids, mask, summary, token_type_ids=(ids > 20).long())
    loss = outputs["sequence_output"][mask].square().mean() + outputs["pooled_output"].sum()
    (loss + outputs["cls_embedding"][:, 0].sum()).backward()
    frozen = [name for name, parameter in model.named_parameters() if not parameter.requires_grad]
    assert all(name.startswith("encoder.embeddings.") for name in frozen)
    assert bool(frozen) is freeze
    dead = [
        name
        for name, parameter in model.named_parameters()
        if parameter.requires_grad and (parameter.grad is None or not parameter.grad.any())
    ]
    assert dead == []
    assert summary.grad.abs().sum(-1).gt(0).all()


def test_a_new_model_from_a_configuration_and_more_prefix_tokens():
    config = EncoderConfig(VOCAB, HIDDEN, LAYERS, HEADS, 24, 64)
    model = BERTWithGraphPrefix(config, graph_dim=GRAPH, num_prefix_tokens=3)
    ids, mask = tokens()
    assert model(ids, mask, torch.randn(2, GRAPH), need_weights=True)["attention_weights"].shape == (
        2,
        HEADS,
        10,
        13,
    )
    assert model.tokenizer is None


def test_masks_of_integers_are_taken_and_others_refused(checkpoint):
    model = BERTWithGraphPrefix(checkpoint, graph_dim=GRAPH).eval()
    ids, mask = tokens()
    summary = torch.randn(2, GRAPH)
    expected = model(ids, mask, summary)["cls_embedding"]
    assert torch.equal(model(ids, mask.long(), summary)["cls_embedding"], expected)
    for wrong in (mask.float(), (~mask).long() * -10000, mask.long() * 2):
        with pytest.raises(DtypeError, match="attention_mask is"):
            model(ids, wrong, summary)


def test_bad_summaries(checkpoint):
    model = BERTWithGraphPrefix(checkpoint, graph_dim=GRAPH)
    ids, mask = tokens()
    with pytest.raises(ShapeError, match=f"\\(batch, {GRAPH}\\)"):
        model(ids, mask, torch.randn(2, GRAPH + 1))
    with pytest.raises(ShapeError):
        model(ids, mask, torch.randn(3, GRAPH))
    with pytest.raises(NonFiniteError, match="graph summary"):
        model(ids, mask, torch.full((2, GRAPH), float("nan")))


# BCSModel


def dummy_batch(samples=2, length=50, nodes=20, features=HIDDEN):
    ids, mask = tokens(samples, length)
    graphs = [
        Graph(nodes, torch.randint(0, nodes, (2, 2 * nodes)), x=torch.randn(nodes, features))
        for _ in range(samples)
    ]
    return {"input_ids": ids, "attention_mask": mask, "graph": GraphBatch.from_graphs(graphs)}


def build(checkpoint, **bert):
    gnn_config = {"input_dim": HIDDEN, "hidden_dim": 8, "output_dim": GRAPH, "num_layers": 3, "heads": 4}
    return BCSModel(gnn_config=gnn_config, bert_config={"bert_model_name": checkpoint, **bert})


def test_outputs_of_the_whole_model(checkpoint):
    model = build(checkpoint, graph_dim=GRAPH).eval()
    batch = dummy_batch()
    outputs = model(batch, need_weights=True)
    assert {name: tuple(value.shape) for name, value in outputs.items()} == {
        "embeddings": (2, HIDDEN),
        "mlm_logits": (2, 50, VOCAB),
        "graph_summary": (2, GRAPH),
        "attention_weights": (2, HEADS, 50, 51),
    }
    assert "attention_weights" not in model(batch)
    where = torch.rand(2, 50) < 0.2
    some = model({**batch, "mlm_mask": where})["mlm_logits"]
    torch.testing.assert_close(some, outputs["mlm_logits"][where], atol=1e-5, rtol=0)


def test_the_embedding_is_the_first_token_and_not_the_pooled_one(checkpoint):
    model, batch = build(checkpoint).eval(), dummy_batch()
    outputs = model(batch)
    encoded = model.bert(batch["input_ids"], batch["attention_mask"], outputs["graph_summary"])
    assert torch.equal(outputs["embeddings"], encoded["sequence_output"][:, 0])
    assert not torch.allclose(outputs["embeddings"], encoded["pooled_output"], atol=0.1)


def test_the_checkpoints_language_model_head_is_kept(checkpoint):
    kept = build(checkpoint).mlm_head.state_dict()
    for name, tensor in load_pretrained(checkpoint).mlm_head.state_dict().items():
        assert torch.equal(kept[name], tensor), name


def test_a_pair_is_one_pass(checkpoint):
    # Differs from the contract, which passes the members of a pair one after the other.
    model = build(checkpoint).eval()
    batch = dummy_batch()
    graph = batch["graph"]
    together = model(batch)["embeddings"]
    for member in (0, 1):
        nodes = (graph.batch == member).nonzero().flatten()
        edges = graph.edge_index[:, graph.batch[graph.edge_index[0]] == member] - nodes[0]
        alone = {
            "input_ids": batch["input_ids"][member : member + 1],
            "attention_mask": batch["attention_mask"][member : member + 1],
            "graph": GraphBatch.from_graphs([Graph(20, edges, x=graph.x[nodes])]),
        }
        torch.testing.assert_close(model(alone)["embeddings"][0], together[member], atol=1e-5, rtol=0)


def test_similarity_computation(checkpoint):
    model = build(checkpoint).eval()
    first, second = torch.randn(20, HIDDEN), torch.randn(20, HIDDEN)
    similarity = model.compute_similarity(first, second)
    assert similarity.shape == (20,)
    assert ((similarity >= -1) & (similarity <= 1)).all()
    expected = (first * second).sum(-1) / (first.norm(dim=-1) * second.norm(dim=-1))
    torch.testing.assert_close(similarity, expected)
    assert (model.compute_similarity(first, 3 * first) <= 1).all()
    torch.testing.assert_close(model.compute_similarity(first, -first), -torch.ones(20))
    assert not model.compute_similarity(torch.zeros(1, HIDDEN), torch.zeros(1, HIDDEN)).any()
    with pytest.raises(ShapeError, match=r"\(20, 16\) and \(1, 16\)"):
        model.compute_similarity(first, second[:1])


@pytest.mark.parametrize(
    ("gnn", "bert", "message"),
    [
        ({"width": 3}, {}, "gnn_config has no key 'width'"),
        ({}, {"graphs": 3}, "bert_config has no key 'graphs'"),
        ({}, {"graph_dim": 7}, "graph_dim is 7; it must be gnn_config output_dim, 6"),
        ({"heads": 3}, {}, "heads must divide hidden_dim"),
    ],
)
def test_bad_configurations(checkpoint, gnn, bert, message):
    gnn_config = {"input_dim": HIDDEN, "hidden_dim": 8, "output_dim": GRAPH, **gnn}
    with pytest.raises(ConfigError, match=message):
        BCSModel(gnn_config, {"bert_model_name": checkpoint, **bert})


def test_configurations_that_lack_something(tmp_path):
    with pytest.raises(ConfigError, match="gnn_config lacks output_dim"):
        BCSModel({"input_dim": 4, "hidden_dim": 4}, {})
    with pytest.raises(CheckpointError, match="no such directory"):
        BCSModel({"input_dim": 4, "hidden_dim": 4, "output_dim": 4}, {"bert_model_name": tmp_path / "none"})


def test_bad_batches(checkpoint):
    model, batch = build(checkpoint), dummy_batch()
    with pytest.raises(InputError, match="the batch has no 'graph'"):
        model({key: batch[key] for key in ("input_ids", "attention_mask")})
    with pytest.raises(InputError, match="GraphBatch with node features"):
        model(
            {**batch, "graph": GraphBatch.from_graphs([Graph(2, torch.zeros(2, 0, dtype=torch.int64))] * 2)}
        )
    with pytest.raises(ShapeError, match="3 graphs for 2 token sequences"):
        model({**batch, "graph": dummy_batch(3)["graph"]})


def test_integration_loss_falls_over_ten_iterations():
    """2 samples, 50 tokens, 20 nodes, 2 layers, dropout on: forward, both losses, backward, step; the loss falls."""
    config = EncoderConfig(
        vocab_size=VOCAB,
        hidden_size=HIDDEN,
        num_hidden_layers=2,
        num_attention_heads=HEADS,
        intermediate_size=24,
        max_position_embeddings=64,
        initializer_range=0.2,
    )
    model = build(config)
    rates = [module.p for module in model.modules() if isinstance(module, torch.nn.Dropout)]
    assert model.training
    assert len(rates) > 3
    assert min(rates) > 0
    batch = dummy_batch()
    assert batch["input_ids"].shape == (2, 50)
    assert batch["graph"].num_nodes == 40
    labels = batch["input_ids"].masked_fill(torch.rand(2, 50) > 0.3, -100)
    labels = labels.masked_fill(~batch["attention_mask"], -100)
    batch["mlm_mask"] = labels != -100
    batch["input_ids"] = batch["input_ids"].masked_fill(batch["mlm_mask"], 4)
    pair = torch.tensor([0, 0])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(10):
        outputs = model(batch)
        mlm_loss = masked_language_modeling_loss(outputs["mlm_logits"], labels)
        total = mlm_loss + 0.5 * nt_xent_loss(outputs["embeddings"], pair)
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        losses.append(total.item())
    assert all(torch.isfinite(torch.tensor(losses)))
    assert losses[-1] < 0.8 * losses[0]
    assert sum(later < earlier for earlier, later in pairwise(losses)) >= 7


def test_parts_are_those_of_the_library(checkpoint):
    model = build(checkpoint)
    assert isinstance(model.gnn, GATEncoder)
    assert isinstance(model.bert.encoder, Encoder)
    assert isinstance(model.mlm_head, MLMHead)
    assert json.loads((checkpoint / "config.json").read_text())["hidden_size"] == HIDDEN
