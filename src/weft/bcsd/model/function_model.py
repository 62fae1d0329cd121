"""The model that embeds functions: graph encoder, conditioned encoder, one vector."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from weft.bcsd.model.batch import NUM_BLOCK_FACTS, NUM_EDGE_TYPES, FunctionBatch, Sequences
from weft.bcsd.model.config import ModelConfig
from weft.bcsd.model.instructions import InstructionEmbeddings, Instructions
from weft.bcsd.model.operations import OperationEncoder, graph_encoder
from weft.bcsd.represent.lexical import LEVELS
from weft.condition.conditioner import Conditioner, Stack
from weft.condition.decay import DistanceDecay
from weft.condition.prefix import KVPrefix, Register
from weft.encoder.encoder import Encoder
from weft.encoder.heads import MLMHead
from weft.encoder.layer import NeedMaps
from weft.encoder.pooling import MeanPooler

_SET_STD = 0.1


@dataclass(frozen=True)
class FunctionOutput:
    """What the model gives for a batch.

    Args:
        embeddings: ``(functions, dimension)``, L2-normalised.
        without_set: The same without the token set's part; None where there is none to leave out.
        graph_summary: ``(functions, hidden)``; None where the model has no graph branch.
        mlm_logits: ``(masked, vocab)``, scores of the mnemonic at masked instructions, in the order of
            ``mlm_labels``; None where nothing was asked for.
        mlm_labels: ``(masked,)``.
        prefix_weights: For each group of sequences ``(layers, functions, heads, seq)``: the weight on the
            prefix; None where nothing was asked for.
    """

    embeddings: Tensor
    without_set: Tensor | None = None
    graph_summary: Tensor | None = None
    mlm_logits: Tensor | None = None
    mlm_labels: Tensor | None = None
    prefix_weights: tuple[Tensor, ...] | None = None


class FunctionModel(nn.Module):
    """From instructions and control-flow graph to an embedding.

        x_n = LayerNorm(mean of the instructions of block n + W_f · facts_n [+ W_t · norm(Σ tokens of n: T[token])])
        g   = GAT(x, typed and reversed edges)                              all blocks; or of all operations
        h   = Encoder(instructions; prefix keys and values from g)          the first max_instructions
        t   = LayerNorm(Σ over the token set of T[entry])                   the whole function
        e   = normalise(W_h · mean(h) + W_g · g + t)

    The same weights serve every function; a pair is two rows of one batch.

    Args:
        config: Sizes, and which of these parts there are.

    Source:
        The model contract, "Joint Model API".

    Differs from the spec:
        One position per instruction, and the mean of all positions instead of ``[CLS]``; the graph's summary
        and the set of all tokens stand beside it. :class:`weft.documents.bcs_model.BCSModel` is the
        contract's own form.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        width = config.hidden_size
        has_sequence = config.has_sequence
        has_blocks = config.has_graph and config.graph == "blocks"
        self.encoder = Encoder(config.encoder, InstructionEmbeddings(config), _conditioner(config))
        if not has_sequence:
            self.encoder.layers = nn.ModuleList()
        self.graph = graph_encoder(config, NUM_EDGE_TYPES) if has_blocks else None
        others = config.has_graph and config.graph == "operations"
        self.operations = OperationEncoder(config) if others else None
        has_facts = has_blocks and config.node_features != "instructions"
        self.block_facts = nn.Linear(NUM_BLOCK_FACTS, width) if has_facts else None
        self.block_norm = nn.LayerNorm(width) if has_blocks else None
        self.token_set = (
            nn.EmbeddingBag(len(LEVELS) * config.encoder.vocab_size, config.dimension, mode="sum")
            if config.token_set
            else None
        )
        self.token_set_norm = nn.LayerNorm(config.dimension) if config.token_set else None
        self.block_tokens = (
            nn.Linear(config.dimension, width, bias=False) if has_blocks and config.block_tokens else None
        )
        self.operation_set = (
            nn.EmbeddingBag(config.operation_set, config.dimension, mode="sum")
            if config.operation_set
            else None
        )
        self.operation_set_norm = nn.LayerNorm(config.dimension) if config.operation_set else None
        self.pooler = MeanPooler()
        self.from_sequence = nn.Linear(width, config.dimension) if has_sequence else None
        self.from_graph = (
            nn.Linear(width, config.dimension, bias=False) if config.branches in ("both", "graph") else None
        )
        self.mlm_head = MLMHead(config.encoder) if has_sequence else None

    @property
    def embeddings(self) -> InstructionEmbeddings:
        """The brick of the instructions, which the graph branch reads as well."""
        brick = self.encoder.embeddings
        assert isinstance(brick, InstructionEmbeddings)  # the constructor put it there
        return brick

    def weigh_tokens(self, weights: Tensor) -> None:
        """Draw the table of the token set anew, its rows as long as their weights: a good place to start from.

        Random rows of such lengths give the cosine of the weighed sets, up to noise.

        Args:
            weights: ``(levels · vocabulary,)``, such as ``Lexical.weights``.
        """
        if self.token_set is not None:
            with torch.no_grad():
                table = self.token_set.weight
                table.normal_(std=_SET_STD).mul_(weights[:, None].to(table))

    def weigh_operations(self, weights: Tensor) -> None:
        """Draw the table of the set of operations anew, its rows as long as their weights: see :meth:`weigh_tokens`.

        Args:
            weights: ``(CODES,)``, such as :func:`weft.bcsd.represent.operations.operation_idf`; codes that share a row
                are as rare as the commonest of them.
        """
        if self.operation_set is not None:
            with torch.no_grad():
                table = self.operation_set.weight
                lengths = torch.full((len(table),), float("inf"))
                rows = torch.arange(len(weights)) % len(table)
                lengths.scatter_reduce_(0, rows, weights.float(), "amin")
                table.normal_(std=_SET_STD).mul_(lengths[:, None].to(table))

    def forward(
        self, batch: FunctionBatch, labels: Tensor | None = None, need_maps: NeedMaps = False
    ) -> FunctionOutput:
        """Embed a batch.

        Args:
            batch: From :func:`weft.bcsd.model.batch.collate`.
            labels: ``(instructions,)`` int64: the mnemonic of each masked instruction, −100 elsewhere.
            need_maps: ``"prefix"`` for the weight on the prefix.
        """
        reads = self.from_sequence is not None or self.graph is not None
        embedded = self.embeddings.embed(batch.tokens if reads else batch.tokens[:0])
        # A batch has any number of blocks, and for each number a CPU's half precision compiles code, and keeps it:
        # blocks are few, and full precision costs next to nothing.
        device = embedded.device.type
        half = torch.is_autocast_enabled(device) and (self.training or device != "cpu")
        with torch.autocast(device, enabled=half):
            summary = self._summary(batch, embedded)
        parts: list[Tensor] = []
        if self.from_graph is not None and summary is not None:
            parts.append(self.from_graph(summary))
        logits, found, maps = None, None, None
        if self.from_sequence is not None:
            pooled, logits, found, maps = self._read(batch, embedded, summary, labels, need_maps)
            parts.append(self.from_sequence(pooled))
        sets = self._sets(batch)
        without_set = None
        if parts:
            total = torch.stack([part.float() for part in parts]).sum(dim=0)
            without_set = F.normalize(total, dim=-1) if sets else None
            sets = [total, *sets]
        total = sets[0].float()
        for part in sets[1:]:
            total = total + part.float()
        return FunctionOutput(F.normalize(total, dim=-1), without_set, summary, logits, found, maps)

    def _sets(self, batch: FunctionBatch) -> list[Tensor]:
        """What the sets of the whole function say, each ``(functions, dimension)``."""
        found: list[Tensor] = []
        if self.token_set is not None and self.token_set_norm is not None:
            found.append(self.token_set_norm(self.token_set(batch.held, batch.held_first)))
        held = batch.operations
        if self.operation_set is not None and self.operation_set_norm is not None and held is not None:
            rows = held.held % self.operation_set.num_embeddings
            found.append(self.operation_set_norm(self.operation_set(rows, held.held_first)))
        return found

    def _summary(self, batch: FunctionBatch, embedded: Tensor) -> Tensor | None:
        """The graph's summary, ``(functions, hidden)``."""
        if self.operations is not None and batch.operations is not None:
            summary = self.operations(batch.operations, batch.num_functions)
            return summary if batch.graph_of is None else summary[batch.graph_of]
        if self.graph is None or self.block_norm is None:
            return None
        features: list[Tensor] = []
        if self.config.node_features != "facts":
            features.append(_mean_of_bags(embedded, batch.block_first))
        if self.block_facts is not None:
            features.append(self.block_facts(batch.block_facts))
        if self.block_tokens is not None and self.token_set is not None:
            # The table's first level has a row for each token; every instruction has as many slots.
            first = batch.block_first * batch.tokens.shape[1]
            held = self.token_set(batch.tokens.flatten(), first)
            features.append(self.block_tokens(F.layer_norm(held, held.shape[-1:])))
        x = self.block_norm(sum(features[1:], features[0]))
        summary = self.graph(x, *self._edges(batch), batch.num_functions)
        return summary if batch.graph_of is None else summary[batch.graph_of]

    def _edges(self, batch: FunctionBatch) -> tuple[Tensor, Tensor, Tensor | None]:
        """The edges that the graph encoder sees, the graph of each block, and the kinds of the edges."""
        edge_index, edge_type = batch.edge_index, batch.edge_type
        if not self.config.edges:
            edge_index, edge_type = edge_index[:, :0], edge_type[:0]
        elif not self.config.reverse_edges:
            forward = edge_type < NUM_EDGE_TYPES // 2
            edge_index, edge_type = edge_index[:, forward], edge_type[forward]
        return edge_index, batch.graph, edge_type if self.config.typed_edges else None

    def _structure(self, part: Sequences, summary: Tensor | None) -> Any:
        """What the encoder's conditioner reads of a group of sequences."""
        prefix = () if summary is None else summary
        if self.config.block_decay == "none":
            return None if self.encoder.conditioner is None else prefix
        return part.distance if self.config.prefix == "none" else [prefix, part.distance]

    def _read(
        self,
        batch: FunctionBatch,
        embedded: Tensor,
        summary: Tensor | None,
        labels: Tensor | None,
        need_maps: NeedMaps,
    ) -> tuple[Tensor, Tensor | None, Tensor | None, tuple[Tensor, ...] | None]:
        """Run the encoder over every group of sequences: pooled states, logits with their labels, maps."""
        pooled, logits, found, maps = [], [], [], []
        begin = 0
        for part in batch.sequences:
            end = begin + len(part.index)
            structure = self._structure(part, None if summary is None else summary[begin:end])
            output = self.encoder(
                Instructions(embedded, part.index), part.attention_mask, structure, need_maps=need_maps
            )
            hidden = output.last_hidden_state
            pooled.append(self.pooler(hidden, part.attention_mask))
            if labels is not None and self.mlm_head is not None:
                here = labels[part.index].masked_fill(~part.attention_mask, -100)
                words = self.embeddings.word_embeddings.weight
                logits.append(self.mlm_head(hidden, words, here >= 0))
                found.append(here[here >= 0])
            if need_maps:
                maps.append(output.prefix_weights)
            begin = end
        return (
            torch.cat(pooled),
            torch.cat(logits) if logits else None,
            torch.cat(found) if found else None,
            tuple(maps) if need_maps else None,
        )


def _conditioner(config: ModelConfig) -> Conditioner | None:
    if not config.has_sequence:
        return None
    prefix = _prefix(config)
    if config.block_decay == "none":
        return prefix
    decay = DistanceDecay(config.heads, config.block_distance, mode=config.block_decay)
    return decay if prefix is None else Stack([prefix, decay])


def _prefix(config: ModelConfig) -> Conditioner | None:
    heads, layers, tokens = config.heads, config.layers, config.prefix_tokens
    if config.prefix == "none":
        return None
    if config.prefix == "register":
        return Register(config.hidden_size, heads, layers, tokens)
    return KVPrefix(config.hidden_size, config.hidden_size, heads, layers, tokens, gated=config.gated)


def _mean_of_bags(rows: Tensor, first: Tensor) -> Tensor:
    """The mean of the rows from each first one up to the next, ``(bags, hidden)``."""
    everything = torch.arange(len(rows), device=rows.device)
    return F.embedding_bag(everything, rows, first, mode="mean")
