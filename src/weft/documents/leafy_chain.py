"""Leafy chain graphs: a chain of root tokens, each with a row of leaves for the tail of a triple.

    R roots, K leaves per root, N = R(K + 1) nodes
    node(root i) = i          node(leaf (i, k)) = R + iK + k
    edges, undirected: root i – root i+1,  root i – leaf (i, k),  leaf (i, k) – leaf (i, k+1)

Two forms hold the same graph. The *dense* form has all N nodes, most of them padding, with the
tensors of the leafy chain design. The *compact* form has the real tokens only, with the root, slot
and leaf group of each: it is what computes, and the dense form is its test oracle.

Distances have a closed form, so no shortest-path search runs (:func:`weft.graph.chain.chain_distances`).

Source:
    GraphMERT (Belova et al., 2025), section 4; the leafy chain design.

Differs from the spec:
    - A tail is all its tokens, in slots 0..n−1 under the first token of its head; the design says
      "first token only" in one place and "subsequent leaf positions" in another.
    - A tail longer than K is refused and counted, not cut: half a name is a wrong fact.
    - Relation id 0 is "none"; no −1 that a ``clamp`` turns into the first relation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from weft.errors import GraphError
from weft.graph.chain import chain_distances
from weft.platform.ranges import require

NO_RELATION = 0


@dataclass(frozen=True)
class ChainShape:
    """R and K.

    Args:
        roots: R, the number of root positions.
        leaves: K, the number of leaves of each root.
    """

    roots: int = 128
    leaves: int = 7

    def __post_init__(self) -> None:
        for name in ("roots", "leaves"):
            require(self, name, getattr(self, name) >= 1, "at least 1")

    @property
    def nodes(self) -> int:
        """N = R(K + 1)."""
        return self.roots * (self.leaves + 1)

    def leaf(self, root: int, slot: int) -> int:
        """The node id of leaf ``(root, slot)``."""
        return self.roots + root * self.leaves + slot

    def root_of(self, nodes: Tensor) -> Tensor:
        """The root that each node is, or hangs from."""
        return torch.where(nodes < self.roots, nodes, (nodes - self.roots) // self.leaves)

    def slot_of(self, nodes: Tensor) -> Tensor:
        """The leaf slot of each node; −1 for roots."""
        return torch.where(nodes < self.roots, -1, (nodes - self.roots) % self.leaves)


@dataclass(frozen=True)
class ChainTriple:
    """A head inside the chunk, a relation, a tail in tokens.

    Args:
        root: Index of the head's first token.
        head_length: Number of the head's tokens.
        relation: Relation id, from 1; 0 is "none".
        tail_ids: The tail's token ids.
    """

    root: int
    head_length: int
    relation: int
    tail_ids: tuple[int, ...]


@dataclass(frozen=True)
class LeafyChainGraph:
    """A chunk's root tokens and the triples that hang from them.

    Args:
        root_ids: Token ids of the chunk, at most R.
        triples: Triples in order; :meth:`build` has checked them.
        shape: R and K.
        pad_id: Token id of padding.
    """

    root_ids: tuple[int, ...]
    triples: tuple[ChainTriple, ...] = ()
    shape: ChainShape = field(default_factory=ChainShape)
    pad_id: int = 0

    @staticmethod
    def build(
        root_ids: Sequence[int],
        triples: Iterable[ChainTriple] = (),
        shape: ChainShape | None = None,
        *,
        num_relations: int | None = None,
        pad_id: int = 0,
        several_per_head: bool = False,
    ) -> tuple[LeafyChainGraph, Counter[str]]:
        """Keep the triples that the graph can hold and count the others by reason.

        Args:
            root_ids: Token ids of the chunk.
            triples: Candidates, best first.
            shape: R and K; 128 and 7 where None.
            num_relations: Number of relation ids with "none"; None accepts any.
            pad_id: Token id of padding.
            several_per_head: Whether one head token may carry several triples (compact form only).

        Returns:
            The graph, and how many triples were refused: ``"tail too long"``, ``"tail empty"``,
            ``"head outside"``, ``"unknown relation"``, ``"head taken"``.

        Raises:
            GraphError: The chunk is empty, longer than R, or holds padding.
        """
        shape = shape or ChainShape()
        if not root_ids:
            raise GraphError("an empty chunk has no chain", hint="skip chunks without tokens")
        if len(root_ids) > shape.roots:
            raise GraphError(
                f"{len(root_ids)} root tokens for R = {shape.roots}", hint="chunk the text first"
            )
        if pad_id in root_ids:
            raise GraphError(
                f"the padding id {pad_id} stands inside the chunk", hint="chunks hold real tokens only"
            )
        kept: list[ChainTriple] = []
        refused: Counter[str] = Counter()
        taken: set[int] = set()
        for triple in triples:
            reason = _refusal(triple, len(root_ids), shape.leaves, num_relations, pad_id)
            if reason is None and not several_per_head and triple.root in taken:
                reason = "head taken"
            if reason is not None:
                refused[reason] += 1
                continue
            taken.add(triple.root)
            kept.append(triple)
        return LeafyChainGraph(tuple(root_ids), tuple(kept), shape, pad_id), refused

    def to_tensors(self) -> dict[str, Tensor]:
        """The dense form, with the keys and shapes of the leafy chain design.

        Returns:
            ``input_ids (N,)`` int64, ``attention_mask (N,)`` int64 with 1 for real tokens,
            ``token_type_ids (N,)`` int64 with 0 for roots and 1 for leaves, ``graph_structure
            (R, K)`` int64 with the leaf nodes of each root, ``relation_ids (R, K)`` int64 with 0
            where a leaf is empty, ``is_leaf (N,)`` bool.

        Raises:
            GraphError: A head carries two triples: the dense form has K leaves per root.
        """
        R, K, N = self.shape.roots, self.shape.leaves, self.shape.nodes
        input_ids = torch.full((N,), self.pad_id, dtype=torch.int64)
        input_ids[: len(self.root_ids)] = torch.tensor(self.root_ids)
        relation_ids = torch.full((R, K), NO_RELATION, dtype=torch.int64)
        for triple in self.triples:
            if relation_ids[triple.root].any():
                raise GraphError(
                    f"root {triple.root} carries two triples",
                    hint="the dense form holds one triple per head; use the compact form",
                )
            start = self.shape.leaf(triple.root, 0)
            input_ids[start : start + len(triple.tail_ids)] = torch.tensor(triple.tail_ids)
            relation_ids[triple.root, : len(triple.tail_ids)] = triple.relation
        is_leaf = torch.arange(N) >= R
        return {
            "input_ids": input_ids,
            "attention_mask": (input_ids != self.pad_id).long(),
            "token_type_ids": is_leaf.long(),
            "graph_structure": R + torch.arange(R * K).view(R, K),
            "relation_ids": relation_ids,
            "is_leaf": is_leaf,
        }

    def compact(self) -> CompactChain:
        """The real tokens only: roots in order, then the leaves of each triple in order."""
        length = len(self.root_ids)
        ids, root, slot, group = list(self.root_ids), list(range(length)), [-1] * length, [-1] * length
        for number, triple in enumerate(self.triples):
            tail = len(triple.tail_ids)
            ids += triple.tail_ids
            root += [triple.root] * tail
            slot += range(tail)
            group += [number] * tail
        return CompactChain(*(torch.tensor(part, dtype=torch.int64) for part in (ids, root, slot, group)))


@dataclass(frozen=True)
class CompactChain:
    """Real tokens of one chunk; all tensors int64 ``(n,)``.

    Args:
        input_ids: Token ids.
        root: The root that a token is, or hangs from.
        slot: Leaf slot; −1 for roots.
        group: Index of the triple whose leaf it is; −1 for roots.
    """

    input_ids: Tensor
    root: Tensor
    slot: Tensor
    group: Tensor

    def nodes(self, shape: ChainShape) -> Tensor:
        """Node ids in the dense form."""
        return torch.where(self.slot < 0, self.root, shape.roots + self.root * shape.leaves + self.slot)

    def distances(self) -> Tensor:
        """Distances ``(n, n)``; see :func:`chain_distances`."""
        return chain_distances(self.root, self.slot, self.group)


def dense_distances(shape: ChainShape) -> Tensor:
    """Distances between all N nodes of the dense form, ``(N, N)`` int64."""
    nodes = torch.arange(shape.nodes)
    root, slot = shape.root_of(nodes), shape.slot_of(nodes)
    return chain_distances(root, slot, torch.where(slot < 0, -1, root))


def _refusal(
    triple: ChainTriple, length: int, leaves: int, num_relations: int | None, pad_id: int
) -> str | None:
    """Why the graph cannot hold the triple; None where it can."""
    if not triple.tail_ids or pad_id in triple.tail_ids:
        return "tail empty"
    if len(triple.tail_ids) > leaves:
        return "tail too long"
    if triple.root < 0 or triple.head_length < 1 or triple.root + triple.head_length > length:
        return "head outside"
    if triple.relation <= NO_RELATION or (num_relations is not None and triple.relation >= num_relations):
        return "unknown relation"
    return None
