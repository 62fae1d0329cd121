"""A plain relation embedding, the control for H-GAT."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from weft.condition.conditioner import Conditioner
from weft.graph.triples import NO_TOKEN, Triples


class RelationEmbedding(Conditioner):
    """Each tail token is told its relation and the mean of its head's tokens.

    t'_i = t_i + r + 1/m · Σ_j h_j

    Against H-GAT it lacks what is particular to that: a matrix per relation, and attention over the head.

    Args:
        hidden_size: Width of the embeddings.
        num_relations: Rows of the table.

    Structure:
        :class:`weft.graph.triples.Triples`.
    """

    def __init__(self, hidden_size: int, num_relations: int) -> None:
        super().__init__()
        self.relation = nn.Embedding(num_relations, hidden_size)
        nn.init.normal_(self.relation.weight, std=0.02)

    def prepare(self, structure: Triples) -> Triples:
        """Keep the triples."""
        return structure

    def embed(self, embeddings: Tensor, state: Triples) -> Tensor:
        """Add relation and head to the tails' embeddings ``(batch, seq, hidden)``.

        Raises:
            GraphError: A triple that points outside the batch, the sequence or the relations.
        """
        batch, seq, hidden = embeddings.shape
        state.check(batch, seq, self.relation.num_embeddings)
        if not len(state):
            return embeddings
        flat = embeddings.reshape(-1, hidden)
        start = (state.example * seq)[:, None]
        is_head, is_tail = state.head != NO_TOKEN, state.tail != NO_TOKEN
        weights = is_head.to(flat.dtype) / is_head.sum(dim=1, keepdim=True)
        head = torch.einsum("tm,tmd->td", weights, flat[start + state.head.clamp(min=0)])
        update = (self.relation(state.relation) + head)[:, None].expand(-1, is_tail.shape[1], -1)[is_tail]
        return flat.index_add(0, (start + state.tail)[is_tail], update.to(flat.dtype)).view_as(embeddings)
