"""Graphs and batches of graphs: construction, batching, added edges, and every way they can be wrong."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.errors import DtypeError, GraphError, NonFiniteError, ShapeError
from weft.graph import Graph, GraphBatch, add_reverse_edges, add_self_loops, with_reverse_edges


def edges(*pairs: tuple[int, int]) -> torch.Tensor:
    return torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2).t()


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    nodes = draw(st.integers(1, 5))
    node = st.integers(0, nodes - 1)
    pairs = draw(st.lists(st.tuples(node, node), max_size=8))
    return Graph(nodes, edges(*pairs), torch.arange(len(pairs)) % 3, torch.randn(nodes, 2))


@settings(deadline=None, max_examples=25)
@given(st.lists(graphs(), min_size=1, max_size=4))
def test_batching_keeps_every_graph(members: list[Graph]) -> None:
    batch = GraphBatch.from_graphs(members)
    assert batch.num_graphs == len(members)
    assert batch.num_nodes == sum(member.num_nodes for member in members)
    for index, member in enumerate(members):
        nodes = (batch.batch == index).nonzero().flatten()
        inside = batch.batch[batch.edge_index[0]] == index
        assert torch.equal(batch.edge_index[:, inside] - nodes[0], member.edge_index)
        assert batch.edge_type is not None
        assert torch.equal(batch.edge_type[inside], member.edge_type)
        assert batch.x is not None
        assert torch.equal(batch.x[nodes], member.x)


def test_single_nodes_and_empty_edge_sets_are_graphs() -> None:
    batch = GraphBatch.from_graphs([Graph(1, edges()), Graph(3, edges((0, 2))), Graph(2, edges())])
    assert batch.batch.tolist() == [0, 1, 1, 1, 2, 2]
    assert batch.edge_index.tolist() == [[1], [3]]
    assert batch.edge_type is None
    assert batch.x is None


def test_moving_a_batch_keeps_it() -> None:
    batch = GraphBatch.from_graphs([Graph(2, edges((0, 1)), x=torch.ones(2, 3))])
    moved = batch.to("meta")
    assert moved.num_graphs == 1
    assert moved.edge_type is None
    assert moved.edge_index.device.type == "meta"
    assert moved.x is not None
    assert moved.x.shape == (2, 3)


def test_reverse_edges_get_types_of_their_own() -> None:
    graph = with_reverse_edges(Graph(3, edges((0, 1), (1, 2)), torch.tensor([0, 3])), num_edge_types=4)
    assert graph.edge_index.t().tolist() == [[0, 1], [1, 2], [1, 0], [2, 1]]
    assert graph.edge_type is not None
    assert graph.edge_type.tolist() == [0, 3, 4, 7]
    _, types = add_reverse_edges(edges((0, 1)), None, 1)
    assert types.tolist() == [0, 1]


def test_self_loops_stand_beside_typed_loops_and_replace_untyped_ones() -> None:
    own = edges((0, 0), (0, 1))
    index, types = add_self_loops(own, torch.tensor([2, 1]), 2, loop_type=5)
    assert index.t().tolist() == [[0, 0], [0, 1], [0, 0], [1, 1]]
    assert types is not None
    assert types.tolist() == [2, 1, 5, 5]
    index, types = add_self_loops(own, None, 2, loop_type=0)
    assert index.t().tolist() == [[0, 1], [0, 0], [1, 1]]
    assert types is None


@pytest.mark.parametrize(
    ("build", "error", "words"),
    [
        (lambda: Graph(0, edges()), GraphError, "0 nodes"),
        (
            lambda: Graph(2, edges((0, 1), (1, 2))),
            GraphError,
            "edge 1 goes from node 1 to node 2; nodes are 0 to 1",
        ),
        (lambda: Graph(2, edges((0, 1), (-1, 0))), GraphError, "edge 1 goes from node -1 to node 0"),
        (lambda: Graph(2, torch.zeros(3, 1, dtype=torch.int64)), ShapeError, r"\(3, 1\)"),
        (lambda: Graph(2, torch.zeros(4, dtype=torch.int64)), ShapeError, r"\(4,\)"),
        (lambda: Graph(2, edges((0, 1)).int()), DtypeError, "edge_index is torch.int32"),
        (lambda: Graph(2, edges((0, 1)), torch.tensor([0, 1])), ShapeError, r"\(2,\).*\(2, 1\)"),
        (lambda: Graph(2, edges((0, 1)), torch.tensor([0.0])), DtypeError, "edge_type is torch.float32"),
        (lambda: Graph(2, edges((0, 1)), torch.tensor([-1])), GraphError, "edge 0 has type -1"),
        (
            lambda: Graph(2, [[0], [1]]),
            DtypeError,
            r"a list; it must be a tensor .*torch\.as_tensor\(edge_index\)",
        ),
        (lambda: Graph(2, edges((0, 1)).numpy()), DtypeError, "edge_index is a ndarray; it must be a tensor"),
        (lambda: Graph(2, edges(), x=torch.ones(3, 1)), ShapeError, r"\(3, 1\)"),
        (lambda: Graph(2, edges(), x=torch.tensor([[0.0], [float("nan")]])), NonFiniteError, "node 1"),
        (lambda: GraphBatch.from_graphs([]), GraphError, "empty batch"),
        (
            lambda: GraphBatch.from_graphs([Graph(1, edges(), edges()[0]), Graph(1, edges())]),
            GraphError,
            "graph 1",
        ),
        (
            lambda: GraphBatch.from_graphs([Graph(1, edges(), x=torch.ones(1, w)) for w in (2, 3)]),
            ShapeError,
            "differs in width",
        ),
        (
            lambda: GraphBatch(edges((0, 1)), torch.tensor([0, 1]), 2),
            GraphError,
            "edge 0 joins node 0 of graph 0",
        ),
        (lambda: GraphBatch(edges(), torch.tensor([0, 2]), 3), GraphError, "graph 1 has no nodes"),
        (lambda: GraphBatch(edges(), torch.tensor([0, 3]), 3), GraphError, "node 1 belongs to graph 3"),
        (lambda: GraphBatch(edges(), torch.zeros(0, dtype=torch.int64), 0), GraphError, "no nodes"),
        (lambda: GraphBatch(edges(), torch.zeros(2, 1, dtype=torch.int64), 1), ShapeError, r"\(2, 1\)"),
        (lambda: GraphBatch(edges(), torch.zeros(2), 1), DtypeError, "batch is torch.float32"),
    ],
)
def test_a_graph_that_contradicts_itself_is_refused(build, error, words) -> None:
    with pytest.raises(error, match=words):
        build()
