"""Batches of leafy chain graphs in both forms: dense, as the design lists it, and compact."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from weft.documents.leafy_chain import ChainTriple, LeafyChainGraph
from weft.errors import InputError
from weft.kg.represent.batch import IGNORED, ChainBatch


def dense_batch(graphs: Sequence[LeafyChainGraph]) -> ChainBatch:
    """All N = R(K + 1) nodes of every graph: the oracle of the compact form.

    Raises:
        InputError: No graphs.
        GraphError: A head with two triples.
    """
    if not graphs:
        raise InputError("an empty batch: no graphs")
    shape, dense = graphs[0].shape, [graph.to_tensors() for graph in graphs]
    nodes = torch.arange(shape.nodes).expand(len(graphs), -1)
    slot = shape.slot_of(nodes)
    # The leaves of one root are one group, padding included: distances are those of the whole graph.
    group = torch.where(slot < 0, -1, shape.root_of(nodes))
    triples = [
        (example, t.relation, t.root, t.head_length, shape.leaf(t.root, 0), len(t.tail_ids))
        for example, graph in enumerate(graphs)
        for t in graph.triples
    ]
    return _batch(
        shape.roots,
        torch.stack([tensors["input_ids"] for tensors in dense]),
        torch.stack([tensors["attention_mask"].bool() for tensors in dense]),
        shape.root_of(nodes),
        slot,
        group,
        triples,
    )


def compact_batch(graphs: Sequence[LeafyChainGraph]) -> tuple[ChainBatch, Tensor]:
    """The real tokens of every graph, padded to the longest.

    Args:
        graphs: Of one shape.

    Returns:
        The batch, and the dense node of each column ``(B, N)``; −1 for padding.

    Raises:
        InputError: No graphs.
    """
    if not graphs:
        raise InputError("an empty batch: no graphs")
    roots = max(len(graph.root_ids) for graph in graphs)
    leaves = max(sum(len(triple.tail_ids) for triple in graph.triples) for graph in graphs)
    size = (len(graphs), roots + leaves)
    ids, root = torch.full(size, graphs[0].pad_id), torch.zeros(size, dtype=torch.int64)
    slot, group, nodes = (torch.full(size, -1) for _ in range(3))
    triples = []
    for example, graph in enumerate(graphs):
        compact = graph.compact()
        length = len(graph.root_ids)
        columns = torch.arange(len(compact.input_ids))
        columns[length:] += roots - length
        ids[example, columns], root[example, columns] = compact.input_ids, compact.root
        slot[example, columns], group[example, columns] = compact.slot, compact.group
        nodes[example, columns] = compact.nodes(graph.shape)
        start = roots
        for t in graph.triples:
            triples.append((example, t.relation, t.root, t.head_length, start, len(t.tail_ids)))
            start += len(t.tail_ids)
    return _batch(roots, ids, nodes >= 0, root, slot, group, triples), nodes


def random_graphs(
    count: int, vocab_size: int, num_relations: int, share: float = 0.055, seed: int = 0
) -> list[LeafyChainGraph]:
    """Full chunks of 128 roots with this share of their 896 leaves filled: what benchmarks run on."""
    generator = torch.Generator().manual_seed(seed)

    def draw(low: int, high: int, size: int) -> list[int]:
        return torch.randint(low, high, (size,), generator=generator).tolist()

    graphs = []
    for _ in range(count):
        heads = torch.randperm(128, generator=generator).tolist()
        triples, filled = [], 0
        while filled < share * 896:
            length = draw(1, 4, 1)[0]
            tail = tuple(draw(10, vocab_size, length))
            triples.append(ChainTriple(heads[len(triples)], 1, draw(1, num_relations, 1)[0], tail))
            filled += length
        graphs.append(LeafyChainGraph.build(draw(10, vocab_size, 128), triples)[0])
    return graphs


def _batch(
    roots: int,
    ids: Tensor,
    real: Tensor,
    root: Tensor,
    slot: Tensor,
    group: Tensor,
    triples: list[tuple[int, int, int, int, int, int]],
) -> ChainBatch:
    columns = torch.tensor(triples, dtype=torch.int64).view(-1, 6).unbind(1)
    example, relation, head_start, head_length, tail_start, tail_length = columns
    none = torch.full_like(ids, IGNORED)
    return ChainBatch(
        num_roots=roots,
        input_ids=ids,
        real=real,
        root=root,
        slot=slot,
        group=group,
        tail_targets=none,
        copyable=torch.zeros_like(real),
        root_targets=none,
        example=example,
        relation=relation,
        head_start=head_start,
        head_length=head_length,
        tail_start=tail_start,
        tail_length=tail_length,
    )
