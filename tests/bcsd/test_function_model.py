"""The function model: batches, every option, gradients, and what must change nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
import torch

from weft.bcsd.model.batch import NUM_EDGE_TYPES, FunctionBatch, collate
from weft.bcsd.model.config import ModelConfig
from weft.bcsd.model.distance import distances
from weft.bcsd.model.function_model import FunctionModel
from weft.bcsd.represent.arrays import FunctionArrays
from weft.bcsd.represent.lexical import LEVELS
from weft.bcsd.represent.vocabulary import load_vocabulary
from weft.bcsd.use.extract_files import build_table
from weft.errors import ConfigError

SMALL = ModelConfig(
    hidden_size=16, dimension=24, layers=2, heads=2, intermediate_size=32, max_instructions=24, max_blocks=64
)
VARIANTS = {
    "full": SMALL,
    "no prefix": replace(SMALL, prefix="none"),
    "register": replace(SMALL, prefix="register"),
    "gated": replace(SMALL, gated=True),
    "no edges": replace(SMALL, edges=False),
    "sequence alone": replace(SMALL, branches="sequence", prefix="none", token_set=False),
    "graph alone": replace(SMALL, branches="graph", prefix="none", token_set=False),
    "shared positions": replace(SMALL, share_jump_positions=True, prefix="none"),
    "one kind of edge": replace(SMALL, typed_edges=False),
    "no reverse edges": replace(SMALL, reverse_edges=False),
    "blocks by instructions": replace(SMALL, node_features="instructions"),
    "blocks by facts": replace(SMALL, node_features="facts"),
    "one prefix token": replace(SMALL, prefix_tokens=1),
    "ten prefix tokens": replace(SMALL, prefix_tokens=10),
    "decay of scores beside the prefix": replace(SMALL, block_decay="scores"),
    "decay of weights beside a register": replace(SMALL, block_decay="weights", prefix="register"),
    "token sets in the blocks": replace(SMALL, block_tokens=True),
    "decay alone": replace(SMALL, block_decay="scores", prefix="none", branches="sequence"),
}
#: Of the shipped shape at its first release: what it computes and what it is called must stay.
FIRST_FIELDS = {
    "hidden_size",
    "dimension",
    "layers",
    "heads",
    "intermediate_size",
    "max_instructions",
    "max_blocks",
    "max_block_instructions",
    "graph_layers",
    "prefix",
    "prefix_tokens",
    "gated",
    "edges",
    "branches",
    "token_set",
    "share_jump_positions",
    "dropout",
}


@pytest.fixture(scope="module")
def arrays(files) -> FunctionArrays:
    tables = list(build_table(str(files / "gcc-O3-x86_64.so"))[0].tables())
    return FunctionArrays.from_table(pa.concat_tables(tables))


def model_of(config: ModelConfig, seed: int = 0) -> FunctionModel:
    torch.manual_seed(seed)
    model = FunctionModel(config)
    for name, parameter in model.named_parameters():
        if "graph_to_v" in name:  # leave the zero start, or the prefix would say nothing
            torch.nn.init.normal_(parameter, std=0.1)
    return model.eval()


def test_a_batch_holds_what_the_functions_hold(arrays) -> None:
    chosen = np.array([3, 0, 5])
    batch = collate(arrays, chosen, replace(SMALL, max_instructions=500, max_blocks=500))
    assert batch.num_functions == 3
    sequences = batch.sequences[0]
    for row, function in enumerate(chosen):
        first, last = arrays.first_instruction[function : function + 2]
        index = sequences.index[row][sequences.attention_mask[row]]
        np.testing.assert_array_equal(batch.tokens[index].numpy(), arrays.tokens[first:last])
    assert batch.graph.tolist() == np.repeat(np.arange(3), arrays.num_blocks[chosen]).tolist()
    # The blocks of the second function start where its block table says.
    blocks = arrays.block_start[arrays.first_block[0] : arrays.first_block[1]]
    begin = int(sequences.index[1, 0])
    assert (batch.block_first[batch.graph == 1] - begin).tolist() == blocks.tolist()
    edges = arrays.edges[arrays.first_edge[3] : arrays.first_edge[4]]
    half = batch.edge_index.shape[1] // 2
    assert batch.edge_index[:, : len(edges)].T.tolist() == edges[:, :2].tolist()
    assert batch.edge_type[half : half + len(edges)].tolist() == (edges[:, 2] + NUM_EDGE_TYPES // 2).tolist()


def test_facts_of_a_block_say_whether_a_backward_edge_ends_there(arrays) -> None:
    chosen = np.arange(len(arrays.num_blocks))
    batch = collate(arrays, chosen, replace(SMALL, max_blocks=500))
    first = np.cumsum(arrays.num_blocks) - arrays.num_blocks
    expected = np.zeros(len(batch.block_facts), dtype=bool)
    for function in chosen:
        for source, target, _ in arrays.edges[arrays.first_edge[function] : arrays.first_edge[function + 1]]:
            expected[first[function] + target] |= target <= source
    assert 0 < expected.sum() < len(expected) / 2
    assert batch.block_facts[:, 5].bool().tolist() == expected.tolist()


def test_token_sets_hold_tokens_by_level(arrays) -> None:
    batch = collate(arrays, np.array([2, 4]), SMALL)
    size = len(load_vocabulary())
    tokens = arrays.tokens[arrays.first_instruction[2] : arrays.first_instruction[3]]
    values, counts = np.unique(tokens, return_counts=True)
    expected = {(v, n) for n, level in enumerate(LEVELS) for v in values[counts >= level]}
    held = batch.held[: int(batch.held_first[1])].tolist()
    assert {(entry % size, entry // size) for entry in held} == expected


def test_budgets_bound_both_branches(arrays) -> None:
    longest = int(arrays.num_instructions.argmax())
    tight = replace(SMALL, max_instructions=8, max_blocks=8, max_block_instructions=2)
    batch = collate(arrays, np.array([longest]), tight)
    assert batch.sequences[0].index.shape == (1, 8)
    assert len(batch.block_first) == 8
    assert int(batch.edge_index.max()) < 8
    assert len(batch.tokens) <= 8 + 8 * 2
    assert model_of(tight)(batch).embeddings.isfinite().all()


@pytest.mark.parametrize("name", VARIANTS)
def test_every_variant_embeds_and_learns(name, arrays) -> None:
    config = VARIANTS[name]
    model = model_of(config)
    batch = collate(arrays, np.arange(6), config, groups=2)
    labels = torch.full((len(batch.tokens),), -100)
    labels[0] = batch.tokens[0, 0]
    output = model(batch, labels)
    assert output.embeddings.shape == (6, config.dimension)
    torch.testing.assert_close(output.embeddings.norm(dim=1), torch.ones(6))
    loss = (output.embeddings * torch.randn(6, config.dimension)).sum()
    if output.mlm_logits is not None:
        assert output.mlm_labels.tolist() == [int(labels[0])]
        loss = loss + output.mlm_logits.square().sum()
    loss.backward()
    # The position table is longer than these functions, and a key's bias moves all scores of a row alike.
    silent = [
        n
        for n, p in model.named_parameters()
        if (p.grad is None or not p.grad.any()) and not n.endswith("key.bias")
    ]
    if config.branches == "graph":
        silent = [n for n in silent if not n.startswith(("encoder.", "embeddings."))]
    if not config.edges:
        # A self-loop alone: its weight is 1 whatever the scores are.
        silent = [n for n in silent if "type_score" not in n and "attention_" not in n]
    assert silent == []


def test_options_that_came_later_leave_older_models_as_they_were() -> None:
    assert set(SMALL.to_dict()) == FIRST_FIELDS
    assert ModelConfig.from_dict(SMALL.to_dict()) == SMALL
    later = replace(SMALL, node_features="facts", block_decay="weights")
    assert set(later.to_dict()) == FIRST_FIELDS | {"node_features", "block_decay"}
    assert ModelConfig.from_dict(later.to_dict()) == later


def test_distances_follow_the_graph(arrays) -> None:
    chosen = np.argsort(arrays.num_blocks)[-2:]
    length = int(arrays.num_instructions[chosen].max()) + 3
    found = distances(arrays, chosen, length).numpy()
    for row, function in enumerate(chosen):
        starts = arrays.block_start[arrays.first_block[function] : arrays.first_block[function + 1]]
        edges = arrays.edges[arrays.first_edge[function] : arrays.first_edge[function + 1], :2]
        near = {block: set() for block in range(len(starts))}
        for source, target in edges.tolist():
            near[source].add(target)
            near[target].add(source)
        steps, frontier = {0: 0}, [0]
        while frontier:
            block = frontier.pop(0)
            for other in sorted(near[block] - steps.keys()):
                steps[other] = steps[block] + 1
                frontier.append(other)
        count = int(arrays.num_instructions[function])
        expected = [steps.get(int(np.searchsorted(starts, i, side="right")) - 1, -1) for i in range(count)]
        assert found[row, 0, :count].tolist() == expected
        assert (found[row] == found[row].T).all()
        assert (found[row, count:] == -1).all()


def test_decay_reads_the_distances_and_padding_changes_nothing(arrays) -> None:
    config = replace(SMALL, block_decay="weights", token_set=False, branches="sequence")
    model = model_of(config)
    chosen = np.argsort(arrays.num_instructions, kind="stable")[-9:]
    whole = collate(arrays, chosen, config)
    near = replace(whole.sequences[0], distance=torch.zeros_like(whole.sequences[0].distance))
    assert not torch.allclose(
        model(whole).embeddings, model(replace(whole, sequences=(near,))).embeddings, atol=1e-5
    )
    torch.testing.assert_close(
        model(whole).embeddings,
        model(collate(arrays, chosen, config, groups=4)).embeddings,
        atol=1e-5,
        rtol=1e-4,
    )
    assert collate(arrays, chosen, SMALL).sequences[0].distance is None


def test_edges_of_one_direction_and_of_one_kind(arrays) -> None:
    batch = collate(arrays, np.arange(5), SMALL)
    half = batch.edge_index.shape[1] // 2
    forward = model_of(replace(SMALL, reverse_edges=False))
    torch.testing.assert_close(forward(batch).embeddings, forward(with_edges(batch, half)).embeddings)
    blind = model_of(replace(SMALL, typed_edges=False))
    other = replace(batch, edge_type=torch.zeros_like(batch.edge_type))
    torch.testing.assert_close(blind(batch).embeddings, blind(other).embeddings)
    assert not torch.allclose(blind(batch).embeddings, blind(with_edges(batch, half)).embeddings, atol=1e-5)


def test_groups_of_sequences_change_nothing(arrays) -> None:
    chosen = np.argsort(arrays.num_instructions, kind="stable")[-9:]
    model = model_of(SMALL)
    one = model(collate(arrays, chosen, SMALL, groups=1)).embeddings
    many = model(collate(arrays, chosen, SMALL, groups=4)).embeddings
    torch.testing.assert_close(one, many, atol=1e-5, rtol=1e-4)


def test_relabelled_blocks_change_nothing(arrays) -> None:
    """The graph's summary does not depend on the numbers of the blocks, only on what joins them."""
    model = model_of(SMALL)
    batch = collate(arrays, np.array([int(arrays.num_blocks.argmax())]), SMALL)
    x = torch.randn(len(batch.graph), 16)
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(1))
    new = torch.empty_like(order)
    new[order] = torch.arange(len(order))
    one = model.graph(x, batch.edge_index, batch.graph, batch.edge_type, 1)
    two = model.graph(x[order], new[batch.edge_index], batch.graph, batch.edge_type, 1)
    torch.testing.assert_close(one, two, atol=1e-5, rtol=1e-4)


def with_edges(batch: FunctionBatch, count: int) -> FunctionBatch:
    return replace(batch, edge_index=batch.edge_index[:, :count], edge_type=batch.edge_type[:count])


def test_edges_are_read_unless_they_are_turned_off(arrays) -> None:
    batch = collate(arrays, np.arange(5), SMALL)
    model = model_of(SMALL)
    assert not torch.allclose(model(batch).embeddings, model(with_edges(batch, 0)).embeddings, atol=1e-5)
    blind = model_of(replace(SMALL, edges=False))
    torch.testing.assert_close(blind(batch).embeddings, blind(with_edges(batch, 0)).embeddings)


def test_a_shuffled_graph_reaches_the_embedding(arrays) -> None:
    batch = collate(arrays, np.arange(5), SMALL)
    model = model_of(SMALL)
    shuffled = replace(batch, graph_of=torch.tensor([1, 2, 3, 4, 0]))
    assert not torch.allclose(model(batch).embeddings, model(shuffled).embeddings, atol=1e-4)
    torch.testing.assert_close(model(batch).graph_summary.roll(-1, 0), model(shuffled).graph_summary)


def test_prefix_weights_are_shares(arrays) -> None:
    batch = collate(arrays, np.arange(4), SMALL)
    (weights,) = model_of(SMALL)(batch, need_maps="prefix").prefix_weights
    assert weights.shape[:3] == (2, 4, 2)
    assert bool(((weights > 0) & (weights < 1)).all())


def test_jump_tokens_are_position_embeddings_where_shared() -> None:
    config = replace(SMALL, share_jump_positions=True)
    embeddings = model_of(config).embeddings
    none = load_vocabulary().ids["none"]
    jump = load_vocabulary().ids["to:7"]
    rows = torch.tensor([[none, jump, none, none, none], [none, none, none, none, none]])
    difference = torch.diff(embeddings.embed(rows), dim=0)[0]
    expected = embeddings.word_embeddings.weight[none] - embeddings.position_embeddings.weight[7]
    torch.testing.assert_close(difference, expected * embeddings.slot_gain[1])


@pytest.mark.parametrize(
    "field",
    [
        {"max_instructions": 0},
        {"max_instructions": 4096},
        {"prefix": "tree"},
        {"block_tokens": True, "token_set": False},
        {"branches": "none"},
        {"max_blocks": 2},
        {"node_features": "none"},
        {"block_decay": "on"},
        {"block_distance": 0},
    ],
)
def test_wrong_shapes_are_named(field) -> None:
    with pytest.raises(ConfigError, match=next(iter(field))):
        ModelConfig(**field)
    with pytest.raises(ConfigError, match="no key"):
        ModelConfig.from_dict({"depth": 3})
