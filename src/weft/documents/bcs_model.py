"""The contract's ``BCSModel``: graph encoder, BERT with a graph prefix, language-model head, in one tower."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import Tensor, nn

from weft.condition.gat import GATEncoder
from weft.documents.graph_prefix import BERTWithGraphPrefix, as_boolean_mask
from weft.encoder.checkpoint.pretrained import Pretrained, load_pretrained
from weft.encoder.config import EncoderConfig
from weft.encoder.heads import MLMHead
from weft.errors import ConfigError, InputError, ShapeError
from weft.graph.graph import GraphBatch


class BCSModel(nn.Module):
    """From a function's tokens and control-flow graph to its embedding, by one set of weights.

    g = GAT(graph)        h = BERT(tokens; prefix from g in every layer)        embedding = h_CLS

    Args:
        gnn_config: Arguments of :class:`weft.condition.gat.GATEncoder`.
        bert_config: Arguments of :class:`weft.documents.graph_prefix.BERTWithGraphPrefix`; ``graph_dim`` may be
            left out, it is the graph encoder's ``output_dim``.

    Raises:
        ConfigError: An unknown key, a size that breaks a rule, or a ``graph_dim`` that is not ``output_dim``.
        CheckpointError: A BERT checkpoint that cannot be loaded.

    Source:
        The model contract, "Joint Model API".

    Differs from the spec:
        ``forward`` takes a whole batch, and a pair is one pass over both views one after the other in the
        batch, not two passes. ``attention_weights`` come on request.
    """

    def __init__(self, gnn_config: Mapping[str, Any], bert_config: Mapping[str, Any]) -> None:
        super().__init__()
        _check_keys("gnn_config", gnn_config, GATEncoder)
        _check_keys("bert_config", bert_config, BERTWithGraphPrefix)
        self.gnn = GATEncoder(**gnn_config)
        graph_dim = gnn_config["output_dim"]
        settings = {"bert_model_name": "bert-base-uncased", "graph_dim": graph_dim, **bert_config}
        if settings["graph_dim"] != graph_dim:
            raise ConfigError(
                f"bert_config graph_dim is {settings['graph_dim']}; it must be gnn_config output_dim, {graph_dim}"
            )
        name = settings["bert_model_name"]
        if not isinstance(name, (EncoderConfig, Pretrained)):
            settings["bert_model_name"] = name = load_pretrained(name)
        self.bert = BERTWithGraphPrefix(**settings)
        head = name.mlm_head if isinstance(name, Pretrained) else None
        self.mlm_head = MLMHead(self.bert.config) if head is None else head
        self.train()

    def forward(self, batch: Mapping[str, Any], need_weights: bool = False) -> dict[str, Tensor]:
        """Embed a batch of functions.

        Args:
            batch: ``input_ids (batch, seq)``; ``attention_mask (batch, seq)``, bool or 1 and 0; ``graph``, a
                ``GraphBatch`` with node features ``x``; and, if logits are wanted only there,
                ``mlm_mask (batch, seq)`` bool.
            need_weights: Whether to return the last layer's attention weights.

        Returns:
            ``embeddings (batch, hidden)``; ``graph_summary (batch, graph_dim)``; ``mlm_logits``, which is
            ``(masked, vocab)`` at the positions of ``mlm_mask``, ``(batch, seq, vocab)`` without it; on
            request ``attention_weights (batch, heads, seq, P + seq)``.

        Raises:
            InputError: A key is missing, a graph without features, ids out of range.
            ShapeError: As many graphs as sequences are needed.
        """
        for key in ("input_ids", "attention_mask", "graph"):
            if key not in batch:
                raise InputError(f"the batch has no {key!r}", hint=f"it has {', '.join(map(repr, batch))}")
        graph = batch["graph"]
        if not isinstance(graph, GraphBatch) or graph.x is None:
            raise InputError("batch['graph'] must be a GraphBatch with node features x")
        if graph.num_graphs != batch["input_ids"].shape[0]:
            raise ShapeError(f"{graph.num_graphs} graphs for {batch['input_ids'].shape[0]} token sequences")
        summary = self.gnn(graph.x, graph.edge_index, graph.batch, graph.edge_type, graph.num_graphs)
        encoded = self.bert(batch["input_ids"], batch["attention_mask"], summary, need_weights=need_weights)
        where = batch.get("mlm_mask")
        outputs = {
            "embeddings": encoded["cls_embedding"],
            "mlm_logits": self.mlm_head(
                encoded["sequence_output"],
                self.bert.word_embeddings.weight,
                None if where is None else as_boolean_mask(where),
            ),
            "graph_summary": summary,
        }
        if need_weights:
            outputs["attention_weights"] = encoded["attention_weights"]
        return outputs

    def compute_similarity(self, embedding1: Tensor, embedding2: Tensor) -> Tensor:
        """Cosine similarity in [−1, 1], row by row.

        cos = (e₁ · e₂) / (‖e₁‖ ‖e₂‖), and 0 where either is 0

        Args:
            embedding1: ``(batch, hidden)``.
            embedding2: ``(batch, hidden)``.

        Returns:
            ``(batch,)``.

        Raises:
            ShapeError: The shapes differ.
        """
        if embedding1.shape != embedding2.shape or embedding1.dim() != 2:
            raise ShapeError(
                f"embeddings have shapes {tuple(embedding1.shape)} and {tuple(embedding2.shape)}; "
                "both must be the same (batch, hidden)"
            )
        return F.cosine_similarity(embedding1, embedding2, dim=-1).clamp(-1.0, 1.0)


def initialize_node_features(
    instructions: Sequence[Sequence[str]], tokenizer: Tokenizer, embedding_layer: nn.Embedding
) -> Tensor:
    """Features of basic blocks: the mean embedding of the tokens of a block's instructions.

    x_n = 1/|T_n| · Σ_{t ∈ T_n} E_t        T_n the tokens of all instructions of block n

    Args:
        instructions: For each block its instructions.
        tokenizer: Splits instructions; no special tokens are added.
        embedding_layer: E; gradients reach it.

    Returns:
        ``(num_nodes, hidden)``; a block without tokens is 0.

    Raises:
        InputError: No blocks, or a token that the embedding layer does not know.

    Source:
        The model contract, "GNN Module API".
    """
    if not instructions:
        raise InputError("no basic blocks", hint="a function has at least one")
    flat = [instruction for block in instructions for instruction in block]
    encodings = iter(tokenizer.encode_batch(flat, add_special_tokens=False))
    ids: list[int] = []
    starts: list[int] = []
    for block in instructions:
        starts.append(len(ids))
        for _ in block:
            ids.extend(next(encodings).ids)
    if ids and max(ids) >= embedding_layer.num_embeddings:
        raise InputError(f"token {max(ids)}; the embedding layer has {embedding_layer.num_embeddings} rows")
    weight = embedding_layer.weight
    tokens = torch.tensor(ids, dtype=torch.int64, device=weight.device)
    return F.embedding_bag(tokens, weight, torch.tensor(starts, device=weight.device), mode="mean")


def _check_keys(name: str, given: Mapping[str, Any], target: Callable[..., object]) -> None:
    parameters = inspect.signature(target).parameters
    unknown = [key for key in given if key not in parameters]
    if unknown:
        raise ConfigError(f"{name} has no key {unknown[0]!r}", hint=f"the keys are {', '.join(parameters)}")
    missing = [
        key
        for key, parameter in parameters.items()
        if parameter.default is parameter.empty and key not in given
    ]
    if missing:
        raise ConfigError(f"{name} lacks {', '.join(missing)}")
