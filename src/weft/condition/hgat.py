"""Relations fused into the embeddings of leaves, before the encoder."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from weft.attention import Terms
from weft.condition.conditioner import Conditioner
from weft.errors import ConfigError, ShapeError
from weft.graph.triples import NO_TOKEN, Triples
from weft.platform.ranges import at_least


class HGAT(Conditioner):
    """Each tail token attends to its head's tokens through its relation.

    e_ij = LeakyReLU(a_rᵀ [W_r t_i ‖ W_r h_j])    α_i = softmax_j(e_i)    t'_i = t_i + Σ_j α_ij W_r h_j

    Computed as e_ij = LeakyReLU(u_r·t_i + v_r·h_j) with u_r = W_rᵀ a_r[:hidden], v_r = W_rᵀ a_r[hidden:],
    and t'_i = t_i + W_r (Σ_j α_ij h_j): W_r meets each mixed head once and no tail at all. All
    triples of a batch go at once; only the products with W_r run relation by relation.

    With ``residual`` the relation has a vector r_r of its own, and the mixed head arrives as it is too:

        t'_i = t_i + r_r + Σ_j α_ij (h_j + W_r h_j)

    W_r then learns only what a relation adds. Without it, all that a leaf knows of relation and head stands in the
    product W_r h_j: a head that training showed seldom hides the relation, and no layer can tell the leaf's head
    from the same word in the text until W_r has learnt to keep it.

    Args:
        hidden_size: Width of the embeddings.
        num_relations: Rows of W and a, row 0 ("none") included, so ids run from 1 to
            ``num_relations - 1``. Row 0 is never used.
        relation_dropout: Probability of dropping each entry of W_r and a_r in training.
        residual: Whether to add r_r and the mixed head itself.
        initializer_range: Standard deviation of W, a and r at the start.

    Structure:
        :class:`weft.graph.Triples`; it changes the embeddings of tail tokens and nothing else.

    Raises:
        ConfigError: A width below 1, fewer than 2 relations, a dropout outside [0, 1).

    Source:
        GraphMERT, equation 5, and its published code, ``GraphMertGraphNodeFeature``.

    Differs from the paper:
        Relation dropout draws one mask per relation and batch, where the published code draws one
        per triple: the same noise on each triple, shared by the triples of a relation. No triple
        is skipped after an error: bad triples raise. ``residual`` is not in the paper.

    Differs from the spec:
        The leafy chain design updates roots from leaves with an attention of their own; the paper, and
        this, update leaves from their head's tokens.
    """

    def __init__(
        self,
        hidden_size: int,
        num_relations: int,
        relation_dropout: float = 0.3,
        *,
        residual: bool = False,
        initializer_range: float = 0.02,
    ) -> None:
        super().__init__()
        at_least(1, hidden_size=hidden_size)
        if num_relations < 2:
            raise ConfigError(f'num_relations is {num_relations}; it must be at least 2: "none" and one more')
        if not 0.0 <= relation_dropout < 1.0:
            raise ConfigError(f"relation_dropout is {relation_dropout}; it must be in [0, 1)")
        self.hidden_size = hidden_size
        self.num_relations = num_relations
        self.relation_dropout = relation_dropout
        self.relation = nn.Parameter(torch.empty(num_relations, hidden_size)) if residual else None
        # Row 0 of attention meets the tail (u), row 1 the head (v).
        self.weight = nn.Parameter(torch.empty(num_relations, hidden_size, hidden_size))
        self.attention = nn.Parameter(torch.empty(num_relations, 2, hidden_size))
        nn.init.normal_(self.weight, std=initializer_range)
        nn.init.normal_(self.attention, std=initializer_range)
        if self.relation is not None:
            nn.init.normal_(self.relation, std=initializer_range)

    def prepare(self, structure: Triples) -> Triples:
        """Bring the triples of each relation together."""
        return structure.sorted_by_relation()

    def embed(self, embeddings: Tensor, state: Triples) -> Tensor:
        """Fuse relations into the tails' embeddings.

        Args:
            embeddings: ``(batch, seq, hidden)``, of words, after masking.
            state: What :meth:`prepare` returned.

        Returns:
            ``(batch, seq, hidden)``.

        Raises:
            ShapeError: Embeddings of another width.
            GraphError: A triple that points outside the batch, the sequence or the relations.
        """
        batch, seq, hidden = embeddings.shape
        if hidden != self.hidden_size:
            raise ShapeError(
                f"embeddings have shape {tuple(embeddings.shape)}; they must be (batch, seq, {self.hidden_size})"
            )
        state.check(batch, seq, self.num_relations)
        if not len(state):
            return embeddings
        relations, group = torch.unique_consecutive(state.relation, return_inverse=True)
        weight, attention = self._present(relations)
        flat = embeddings.reshape(-1, hidden)
        start = (state.example * seq)[:, None]
        is_head, is_tail = state.head != NO_TOKEN, state.tail != NO_TOKEN
        head = flat[start + state.head.clamp(min=0)]
        tail = flat[start + state.tail.clamp(min=0)]

        vectors = torch.stack([a @ w for a, w in zip(attention, weight, strict=True)])[group]
        of_tail, of_head = torch.bmm(tail, vectors[:, 0, :, None]), torch.bmm(head, vectors[:, 1, :, None])
        scores = F.leaky_relu(of_tail + of_head.transpose(1, 2), 0.01)
        weights = torch.softmax(scores.masked_fill(~is_head[:, None, :], float("-inf")), dim=-1)
        mixed = torch.bmm(weights.to(head.dtype), head)[is_tail]

        # Rows follow the triples, which are sorted by relation: each relation's rows are one slice.
        sizes = torch.zeros_like(relations).index_add(0, group, is_tail.sum(dim=1)).tolist()
        update = torch.cat([F.linear(part, w) for part, w in zip(mixed.split(sizes), weight, strict=True)])
        if self.relation is not None:
            update = update + mixed + self.relation[state.relation[:, None].expand_as(is_tail)[is_tail]]
        index = (start + state.tail)[is_tail]
        return flat.index_add(0, index, update.to(flat.dtype)).view_as(embeddings)

    def terms(self, layer: int, hidden: Tensor, query: Tensor, key: Tensor, state: Triples) -> Terms:
        """None: the fusion happens on the embeddings."""
        return Terms()

    def _present(self, relations: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        """W_r and a_r of the relations that are present, with dropout in training."""
        present = relations.tolist()
        # unbind, not indexing: its backward writes one gradient, not one full table per relation.
        weight, attention = self.weight.unbind(0), self.attention.unbind(0)
        drop, p = self.training, self.relation_dropout
        return [F.dropout(weight[r], p, drop) for r in present], [
            F.dropout(attention[r], p, drop) for r in present
        ]
