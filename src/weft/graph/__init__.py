"""Structure as plain data: graphs, triples, leafy chains."""

from weft.graph.chain import chain_distances
from weft.graph.graph import Graph, GraphBatch, add_reverse_edges, add_self_loops, with_reverse_edges
from weft.graph.triples import Triples

__all__ = [
    "Graph",
    "GraphBatch",
    "Triples",
    "add_reverse_edges",
    "add_self_loops",
    "chain_distances",
    "with_reverse_edges",
]


def __dir__() -> list[str]:
    return __all__
