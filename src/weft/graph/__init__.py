"""Structure as plain data: graphs, triples, leafy chains."""

from weft.graph.graph import Graph, GraphBatch, add_reverse_edges, add_self_loops, with_reverse_edges
from weft.graph.triples import Triples

__all__ = ["Graph", "GraphBatch", "Triples", "add_reverse_edges", "add_self_loops", "with_reverse_edges"]
