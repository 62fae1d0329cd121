"""The graph branch over operations: batches, invariance, controls, training, models that are saved."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
import torch

from weft.bcsd.learn.sampling import GroupPlan, SamplingConfig
from weft.bcsd.learn.setup import Setup
from weft.bcsd.learn.training import Collator, Learning, course, loss_step
from weft.bcsd.lift.gather import code_of, surroundings_of
from weft.bcsd.lift.interface import OperationEdge
from weft.bcsd.lift.pcode import PcodeLifter
from weft.bcsd.model.batch import collate
from weft.bcsd.model.config import ModelConfig
from weft.bcsd.model.function_model import FunctionModel
from weft.bcsd.model.operations import NUM_OPERATION_EDGE_TYPES, collate_operations
from weft.bcsd.represent.arrays import FunctionArrays
from weft.bcsd.represent.graphs import CODES, OperationGraphs
from weft.bcsd.represent.lexical import LEVELS as TIMES
from weft.bcsd.represent.lexical import Lexical
from weft.bcsd.represent.operations import operation_idf, operation_rows
from weft.bcsd.represent.vocabulary import load_vocabulary
from weft.bcsd.use.embedder import Embedder
from weft.bcsd.use.score import ScoreWeights
from weft.bcsd.use.store import load, save
from weft.errors import ConfigError, InputError
from weft.train import TrainConfig

BUILDS = ("gcc-O1-x86_64", "gcc-O3-x86_64")
BOTH = ModelConfig(
    hidden_size=16,
    dimension=24,
    layers=2,
    heads=2,
    intermediate_size=32,
    max_instructions=24,
    max_blocks=256,
    graph="operations",
)
ALONE = replace(BOTH, branches="graph", prefix="none", token_set=False)
VARIANTS = {
    "both": BOTH,
    "alone": ALONE,
    "prefix alone": replace(BOTH, branches="sequence"),
    "summary alone": replace(BOTH, prefix="none"),
    "no edges": replace(ALONE, edges=False),
    "one kind of edge": replace(ALONE, typed_edges=False),
    "no reverse edges": replace(ALONE, reverse_edges=False),
    "beside the set": replace(ALONE, operation_set=128),
    "beside the set and tokens": replace(BOTH, operation_set=128),
    "all levels": replace(ALONE, operation_levels=3, operation_codes=64),
}


@pytest.fixture(scope="module")
def table(labelled) -> pa.Table:
    """The training rows of two builds."""
    rows = labelled.filter((pc.field("role") == "train") & pc.field("build").isin(BUILDS))
    return rows.combine_chunks()


@pytest.fixture(scope="module")
def graphs(table, functions_of) -> OperationGraphs:
    lifter, found = PcodeLifter(), []
    held = {build: functions_of(f"{build}.so") for build in BUILDS}
    for build, address in zip(table["build"].to_pylist(), table["address"].to_pylist(), strict=True):
        image, functions = held[build]
        function = next(one for one in functions.values() if one.address == address)
        lifted = lifter.lift(code_of(image, function), surroundings_of(image), graph=True)
        found.append((np.array(lifted.codes, np.uint16), np.array(lifted.edges, np.uint32).reshape(-1, 3)))
    return OperationGraphs.collect(found)


@pytest.fixture(scope="module")
def arrays(table, graphs) -> FunctionArrays:
    return FunctionArrays.from_table(table, graphs)


def model_of(config: ModelConfig) -> FunctionModel:
    torch.manual_seed(0)
    model = FunctionModel(config)
    for name, parameter in model.named_parameters():
        if "graph_to_v" in name:  # leave the zero start, or the prefix would say nothing
            torch.nn.init.normal_(parameter, std=0.1)
    return model.eval()


def embeddings(config: ModelConfig, arrays: FunctionArrays, chosen: list[int]) -> torch.Tensor:
    with torch.no_grad():
        return model_of(config)(collate(arrays, np.array(chosen), config)).embeddings


def test_a_batch_holds_the_graphs_of_its_functions(graphs) -> None:
    chosen = np.array([4, 1, 6])
    batch = collate_operations(graphs, chosen, 10_000)
    assert batch.graph.tolist() == np.repeat(np.arange(3), graphs.num_nodes[chosen]).tolist()
    first = np.cumsum(graphs.num_nodes[chosen]) - graphs.num_nodes[chosen]
    forward = batch.edge_type < len(OperationEdge)
    expected = []
    for begin, function in zip(first, chosen, strict=True):
        own = slice(graphs.first_node[function], graphs.first_node[function + 1])
        np.testing.assert_array_equal(
            batch.codes[begin : begin + graphs.num_nodes[function]], graphs.codes[own]
        )
        edges = (
            graphs.edges[graphs.first_edge[function] : graphs.first_edge[function + 1]].astype(int) + begin
        )
        expected += [(b, a) for a, b in edges.tolist()]
    assert list(map(tuple, batch.edge_index[:, forward].T.tolist())) == expected
    # Back goes every edge but those to what depends on nothing.
    users = {user for _, user in expected}
    back = list(map(tuple, batch.edge_index[:, ~forward].T.tolist()))
    assert back == [(user, operand) for operand, user in expected if operand in users]
    assert 0 < len(back) < len(expected)
    assert int(batch.edge_type.max()) < NUM_OPERATION_EDGE_TYPES


def test_a_function_is_cut_and_one_without_graph_has_one_node(graphs) -> None:
    large = np.argsort(-graphs.num_nodes)
    some = graphs.take(np.array([large[0], -1, large[1]]))
    batch = collate_operations(some, np.array([0, 1, 2]), 9)
    assert batch.graph.tolist() == [0] * 9 + [1] + [2] * 9
    assert (batch.codes[9] == CODES).all()
    assert (batch.codes[:9] < CODES).all()
    ends = batch.graph[batch.edge_index]
    assert torch.equal(ends[0], ends[1])
    assert not (ends == 1).any()


@pytest.mark.parametrize("name", VARIANTS)
def test_every_variant_embeds_learns_and_does_not_mind_the_company(arrays, name) -> None:
    config = VARIANTS[name]
    found = embeddings(config, arrays, [0, 3, 5, 7])
    assert found.shape == (4, 24)
    torch.testing.assert_close(found.norm(dim=1), torch.ones(4))
    torch.testing.assert_close(
        embeddings(config, arrays, [7, 2, 3])[[2, 0]], found[[1, 3]], atol=2e-5, rtol=0
    )
    model = model_of(config).train()
    model(collate(arrays, np.arange(4), config)).embeddings[:, 0].sum().backward()
    assert model.operations is not None
    without = [n for n, p in model.operations.named_parameters() if p.grad is None or not p.grad.any()]
    expected = ["gat.layers.0.type_score", "gat.layers.1.type_score"] if name == "no edges" else []
    # Attention that sees a node alone has nothing to weigh.
    assert [n for n in without if "attention" not in n or name != "no edges"] == expected


def test_the_order_of_operations_says_nothing(arrays, graphs) -> None:
    draw = np.random.default_rng(0)
    parts = []
    for function in range(len(graphs)):
        own = slice(graphs.first_node[function], graphs.first_node[function + 1])
        between = slice(graphs.first_edge[function], graphs.first_edge[function + 1])
        order = draw.permutation(own.stop - own.start)
        place = np.argsort(order)
        edges = np.column_stack([place[graphs.edges[between]], graphs.kinds[between]]).astype(np.uint32)
        parts.append((graphs.codes[own][order], draw.permutation(edges)))
    turned = replace(arrays, graphs=OperationGraphs.collect(parts))
    config = replace(BOTH, max_blocks=2048)
    chosen = list(range(12))
    torch.testing.assert_close(
        embeddings(config, turned, chosen), embeddings(config, arrays, chosen), atol=2e-5, rtol=0
    )


def test_edges_their_kinds_and_their_shuffling_are_seen(arrays, graphs) -> None:
    chosen = list(range(8))
    plain = embeddings(ALONE, arrays, chosen)
    shuffled = replace(arrays, graphs=graphs.shuffled(0))
    assert (plain - embeddings(ALONE, shuffled, chosen)).abs().max() > 1e-3
    without = replace(ALONE, edges=False)
    torch.testing.assert_close(embeddings(without, arrays, chosen), embeddings(without, shuffled, chosen))
    model = model_of(ALONE)
    with torch.no_grad():
        assert model.operations is not None
        for layer in model.operations.gat.layers:
            torch.nn.init.normal_(layer.get_parameter("type_score"))
        batch = collate(arrays, np.array(chosen), ALONE)
        assert batch.operations is not None
        other = replace(
            batch.operations, edge_type=(batch.operations.edge_type + 1) % NUM_OPERATION_EDGE_TYPES
        )
        kinds = model(batch).embeddings - model(replace(batch, operations=other)).embeddings
    assert kinds.abs().max() > 1e-3


def test_tokens_and_blocks_do_not_enter_where_operations_are_all(arrays) -> None:
    turned = replace(arrays, tokens=np.roll(arrays.tokens, 7, axis=0))
    chosen = [0, 1, 2]
    assert torch.equal(embeddings(ALONE, arrays, chosen), embeddings(ALONE, turned, chosen))
    assert not torch.equal(embeddings(BOTH, arrays, chosen), embeddings(BOTH, turned, chosen))


def test_a_table_alone_is_refused_in_one_line(table, tmp_path) -> None:
    with pytest.raises(InputError, match="reads graphs of operations, which a table does not hold"):
        Embedder(model_of(BOTH), LEXICAL).embed(table)
    with pytest.raises(ConfigError, match="which a table does not hold"):
        Setup(
            tmp_path / "functions.parquet", tmp_path / "model", replace(BOTH, graph="blocks", operation_set=8)
        ).course()
    # A model that reads no graph does not ask for one.
    unread = replace(BOTH, prefix="none", branches="sequence")
    assert Embedder(model_of(unread), LEXICAL).embed(table).shape == (table.num_rows, 24)


def test_the_set_holds_every_code_once_and_its_rows_are_as_long_as_they_are_rare(graphs, arrays) -> None:
    chosen = np.array([5, 2])
    batch = collate_operations(graphs, chosen, 3)
    ends = [*batch.held_first.tolist(), len(batch.held)]
    for number, function in enumerate(chosen):
        own = graphs.codes[graphs.first_node[function] : graphs.first_node[function + 1]]
        assert batch.held[ends[number] : ends[number + 1]].tolist() == np.unique(own).tolist()
    config = replace(ALONE, branches="set", operation_set=CODES, dimension=512)
    assert FunctionModel(config).operations is None
    model = FunctionModel(config).eval()
    torch.manual_seed(0)
    idf = torch.from_numpy(operation_idf())
    model.weigh_operations(idf)
    with torch.no_grad():
        found = model(collate(arrays, np.arange(len(graphs)), config))
    assert found.without_set is None
    # It starts as the cosine of the weighed sets, up to noise.
    sets = np.zeros((len(graphs), CODES), np.float32)
    for function in range(len(graphs)):
        codes = graphs.codes[graphs.first_node[function] : graphs.first_node[function + 1]]
        sets[function, np.unique(codes)] = operation_idf()[np.unique(codes)]
    sets /= np.linalg.norm(sets, axis=1, keepdims=True)
    assert np.abs((found.embeddings @ found.embeddings.T).numpy() - sets @ sets.T).max() < 0.2
    # A code that shares its row with a common one is as long as that.
    small = FunctionModel(replace(config, operation_set=2))
    small.weigh_operations(torch.tensor([0.0, 5.0, 3.0, 7.0]))
    assert small.operation_set is not None
    lengths = small.operation_set.weight.norm(dim=1)
    assert lengths[0] == 0
    assert 5 * 0.09 < lengths[1] / 512**0.5 < 5 * 0.11


def test_a_share_of_the_set_is_left_out_in_training(arrays, table) -> None:
    config = replace(ALONE, operation_set=64)
    rows = GroupPlan(table, SamplingConfig(groups=8, min_blocks=2)).epoch(0)[0]
    plain, hiding = (
        Collator(arrays, config, Learning(drop_tokens=share))(rows, torch.Generator().manual_seed(0)).batch
        for share in (0.0, 0.5)
    )
    assert plain.operations is not None
    assert hiding.operations is not None
    assert 0.4 < len(hiding.operations.held) / len(plain.operations.held) < 0.6
    assert torch.equal(plain.operations.codes, hiding.operations.codes)
    output = model_of(config)(plain)
    assert output.without_set is not None
    assert not torch.equal(output.without_set, output.embeddings)


@pytest.mark.parametrize(
    "change",
    [
        {"operation_set": -1},
        {"branches": "set"},
        {"graph": "nodes"},
        {"operation_levels": 0},
        {"operation_levels": 4},
        {"operation_codes": 0},
    ],
)
def test_wrong_settings_are_named(change) -> None:
    with pytest.raises(ConfigError, match=next(iter(change))):
        replace(ALONE, **change)


def test_what_came_later_is_in_the_file_only_where_it_is_used() -> None:
    later = {"graph", "operation_levels", "operation_codes", "operation_set"}
    assert not later & set(ModelConfig().to_dict())
    assert replace(BOTH, operation_levels=2).to_dict()["operation_levels"] == 2
    assert ModelConfig.from_dict(BOTH.to_dict()) == BOTH


LEXICAL = Lexical(np.ones(len(TIMES) * len(load_vocabulary())))


def test_what_is_saved_embeds_the_same(arrays, tmp_path) -> None:
    before = Embedder(model_of(BOTH), LEXICAL)
    save(tmp_path / "model", before.network, LEXICAL, ScoreWeights())
    loaded = load(tmp_path / "model")
    after = Embedder(loaded.network, loaded.lexical)
    assert loaded.network.config == BOTH
    assert after.version == before.version
    np.testing.assert_array_equal(before.embed(arrays), after.embed(arrays))


def test_a_few_steps_lower_the_loss_beside_the_bag_and_alone(table, graphs) -> None:
    torch.manual_seed(0)
    model = FunctionModel(ALONE)
    sampling = SamplingConfig(groups=8, steps_per_epoch=5, min_blocks=2)
    config = TrainConfig(steps=25, learning_rate=5e-3, device="cpu", eval_every=100)
    done = course(model, table, sampling, Learning(beside=1.0), config, graphs=graphs).run().history
    assert np.mean(done.losses[-5:]) < 0.5 * np.mean(done.losses[:5])


def test_the_bag_stands_beside_in_a_share_of_the_batches(table, arrays) -> None:
    bags = operation_rows(table).own
    rows = GroupPlan(table, SamplingConfig(groups=8, min_blocks=2)).epoch(0)[0]
    for alone, expected in ((0.0, 30), (0.5, 15), (1.0, 0)):
        collator = Collator(arrays, ALONE, Learning(beside=2.0, alone=alone), bags)
        lessons = [collator(rows, torch.Generator().manual_seed(seed)) for seed in range(30)]
        assert abs(sum(lesson.bags is not None for lesson in lessons) - expected) <= 6 * (alone == 0.5)
    lesson = Collator(arrays, ALONE, Learning(beside=2.0, alone=0.0), bags)(rows, torch.Generator())
    assert lesson.bags is not None
    # The same cosines as of the whole rows, in the order of the batch.
    order = np.argsort(arrays.num_instructions[rows], kind="stable")
    chosen = bags[np.asarray(rows)[order]]
    np.testing.assert_allclose(lesson.bags @ lesson.bags.T, (chosen @ chosen.T).toarray(), atol=1e-5)
    model = model_of(ALONE)
    step = loss_step(Learning(beside=2.0))
    values = step(model, lesson), step(model, replace(lesson, bags=None))
    # What the bag tells already need not be learnt.
    assert values[0]["contrastive"] < values[1]["contrastive"]
    with pytest.raises(ConfigError, match="beside"):
        Learning(beside=-1.0)
    with pytest.raises(ConfigError, match="alone"):
        Learning(alone=1.5)
