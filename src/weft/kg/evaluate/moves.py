"""Which leaves move which roots: what the text's tokens owe to the triples that hang from them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from weft.documents.leafy_chain import ChainTriple, LeafyChainGraph
from weft.kg.model.leafy_chain import LeafyChainModel
from weft.kg.represent.dataset import Dataset
from weft.kg.represent.dense import compact_batch


@dataclass(frozen=True)
class Moves:
    """How far each triple's leaves move each root of a chunk.

    Args:
        roots: The chunk's token ids.
        triples: In the graph's order.
        share: ``(triples, roots)``: ‖h_i − h_i without the leaves‖ / ‖h_i‖ for each root's last hidden state h_i;
            0 everywhere where the model lets roots ignore leaves.
    """

    roots: tuple[int, ...]
    triples: tuple[ChainTriple, ...]
    share: Tensor

    def record(self, dataset: Dataset) -> dict[str, Any]:
        """Tokens and triples in words, as plain values."""
        tokens, names = dataset.tokenizer.tokenizer.id_to_token, dataset.schema.names
        return {
            "tokens": [tokens(number) for number in self.roots],
            "triples": [
                {
                    "root": triple.root,
                    "head": [tokens(self.roots[triple.root + i]) for i in range(triple.head_length)],
                    "relation": names[triple.relation],
                    "tail": [tokens(number) for number in triple.tail_ids],
                    "share": [round(value, 6) for value in share],
                }
                for triple, share in zip(self.triples, self.share.tolist(), strict=True)
            ],
        }

    def lines(self, dataset: Dataset, most: int = 3) -> list[tuple[str, str]]:
        """Each triple, and the tokens that its leaves move most."""
        whole = self.record(dataset)
        found: list[tuple[str, str]] = []
        for triple in whole["triples"]:
            ranked = sorted(zip(triple["share"], whole["tokens"], strict=True), key=lambda pair: -pair[0])
            told = "  ".join(f"{token} {share:.3f}" for share, token in ranked[:most] if share)
            name = f"{''.join(triple['head'])} {triple['relation']} {''.join(triple['tail'])}"
            found.append((name, told or "no root"))
        return found


@torch.no_grad()
def moves(model: LeafyChainModel, graph: LeafyChainGraph) -> Moves:
    """Encode a chunk with all of its leaves, and once without the leaves of each triple.

    Args:
        model: In eval mode.
        graph: Such as :meth:`weft.kg.represent.dataset.Dataset.chain` gives.
    """
    batch, _ = compact_batch([graph])
    device = model.word_embeddings.device
    batch = replace(
        batch, **{name: value.to(device) for name, value in vars(batch).items() if isinstance(value, Tensor)}
    )
    roots = len(graph.root_ids)
    whole = model(batch)[0, :roots]
    rows = [
        model(replace(batch, real=batch.real & (batch.group != number)))[0, :roots]
        for number in range(len(graph.triples))
    ]
    without = torch.stack(rows) if rows else whole.new_zeros(0, *whole.shape)
    return Moves(graph.root_ids, graph.triples, ((whole - without).norm(dim=2) / whole.norm(dim=1)).cpu())
