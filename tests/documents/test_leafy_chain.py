"""Leafy chain graphs: both forms, both ways, distances against a shortest-path search."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.documents.leafy_chain import ChainShape, ChainTriple, LeafyChainGraph, dense_distances
from weft.errors import ConfigError, GraphError
from weft.graph.chain import chain_distances


def floyd_warshall(shape: ChainShape) -> torch.Tensor:
    """Shortest paths over the edges of the definition, by the textbook loop."""
    # Half of the largest int16: a sum of two stays in range. Small numbers make the loop bearable.
    distances = torch.full((shape.nodes, shape.nodes), 16_000, dtype=torch.int16)
    distances.fill_diagonal_(0)

    def edge(first: int, second: int) -> None:
        distances[first, second] = distances[second, first] = 1

    for root in range(shape.roots):
        if root + 1 < shape.roots:
            edge(root, root + 1)
        for slot in range(shape.leaves):
            edge(root, shape.leaf(root, slot))
            if slot + 1 < shape.leaves:
                edge(shape.leaf(root, slot), shape.leaf(root, slot + 1))
    for middle in range(shape.nodes):
        distances = torch.minimum(distances, distances[:, middle, None] + distances[None, middle, :])
    return distances.long()


@pytest.mark.parametrize(("roots", "leaves"), [(1, 1), (1, 7), (5, 1), (6, 3), (4, 7)])
def test_closed_form_equals_floyd_warshall(roots: int, leaves: int) -> None:
    shape = ChainShape(roots, leaves)
    assert torch.equal(dense_distances(shape), floyd_warshall(shape))


def test_closed_form_on_all_pairs_of_the_published_size() -> None:
    shape = ChainShape()
    assert shape.nodes == 1024
    assert torch.equal(dense_distances(shape), floyd_warshall(shape))


def test_two_groups_of_one_head_are_two_apart() -> None:
    root, slot, group = (torch.tensor(x) for x in ([3, 3, 3, 3, 3], [-1, 0, 1, 0, 1], [-1, 0, 0, 1, 1]))
    distances = chain_distances(root, slot, group)
    assert distances.tolist() == [
        [0, 1, 1, 1, 1],
        [1, 0, 1, 2, 2],
        [1, 1, 0, 2, 2],
        [1, 2, 2, 0, 1],
        [1, 2, 2, 1, 0],
    ]


@st.composite
def graphs(draw: st.DrawFn) -> LeafyChainGraph:
    shape = ChainShape(draw(st.integers(1, 9)), draw(st.integers(1, 4)))
    length = draw(st.integers(1, shape.roots))
    ids = st.integers(1, 99)
    roots = draw(st.lists(ids, min_size=length, max_size=length))
    heads = draw(st.lists(st.integers(0, length - 1), unique=True, max_size=length).map(sorted))
    triples = [
        ChainTriple(
            head,
            draw(st.integers(1, length - head)),
            draw(st.integers(1, 5)),
            tuple(draw(st.lists(ids, min_size=1, max_size=shape.leaves))),
        )
        for head in heads
    ]
    graph, refused = LeafyChainGraph.build(roots, triples, shape)
    assert not refused
    return graph


@given(graphs())
@settings(max_examples=25, deadline=None)
def test_compact_is_the_real_part_of_dense(graph: LeafyChainGraph) -> None:
    dense, compact = graph.to_tensors(), graph.compact()
    nodes = compact.nodes(graph.shape)
    assert torch.equal(torch.nonzero(dense["attention_mask"]).flatten(), nodes.sort().values)
    assert torch.equal(dense["input_ids"][nodes], compact.input_ids)
    assert torch.equal(dense_distances(graph.shape)[nodes][:, nodes], compact.distances())


def test_what_the_graph_cannot_hold_is_counted() -> None:
    good = ChainTriple(0, 1, 1, (5, 6))
    graph, refused = LeafyChainGraph.build(
        [1, 2, 3],
        [
            good,
            ChainTriple(1, 1, 1, (5, 6, 7)),
            ChainTriple(1, 1, 1, ()),
            ChainTriple(1, 1, 1, (5, 0)),
            ChainTriple(2, 2, 1, (5,)),
            ChainTriple(3, 1, 1, (5,)),
            ChainTriple(-1, 1, 1, (5,)),
            ChainTriple(1, 1, 0, (5,)),
            ChainTriple(1, 1, 9, (5,)),
            ChainTriple(0, 2, 2, (8,)),
        ],
        ChainShape(4, 2),
        num_relations=3,
    )
    assert graph.triples == (good,)
    assert refused == {
        "tail too long": 1,
        "tail empty": 2,
        "head outside": 3,
        "unknown relation": 2,
        "head taken": 1,
    }


def test_several_triples_of_a_head_in_the_compact_form_only() -> None:
    triples = [ChainTriple(0, 1, 1, (5,)), ChainTriple(0, 1, 2, (6, 7))]
    graph, refused = LeafyChainGraph.build([1, 2], triples, ChainShape(2, 2), several_per_head=True)
    assert not refused
    assert graph.compact().group.tolist() == [-1, -1, 0, 1, 1]
    with pytest.raises(GraphError, match="root 0 carries two triples"):
        graph.to_tensors()


@pytest.mark.parametrize(
    ("roots", "message"),
    [([], "empty chunk"), ([1, 2, 3], "3 root tokens for R = 2"), ([1, 0], "padding id 0")],
)
def test_chunks_that_are_none(roots: list[int], message: str) -> None:
    with pytest.raises(GraphError, match=message):
        LeafyChainGraph.build(roots, shape=ChainShape(2, 2))


@pytest.mark.parametrize(("roots", "leaves"), [(0, 7), (128, 0)])
def test_shapes_that_are_none(roots: int, leaves: int) -> None:
    with pytest.raises(ConfigError, match="must be at least 1"):
        ChainShape(roots, leaves)
