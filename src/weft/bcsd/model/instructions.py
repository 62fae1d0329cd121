"""The embedding brick of instructions: one position each, the sum of its slots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from weft.bcsd.model.config import ModelConfig
from weft.bcsd.represent.normalise import SLOTS
from weft.bcsd.represent.vocabulary import JUMP_POSITIONS, load_vocabulary
from weft.encoder.embeddings import Embeddings
from weft.encoder.initialisation import initialise


@dataclass(frozen=True)
class Instructions:
    """What the brick reads: embedded instructions, and which of them each sequence consists of.

    Args:
        embedded: ``(instructions, hidden)``, from :meth:`InstructionEmbeddings.embed`.
        index: ``(batch, seq)`` int64, rows of ``embedded``.
    """

    embedded: Tensor
    index: Tensor


class InstructionEmbeddings(Embeddings):
    """One position per instruction: the sum of its slots, each a token seen through the slot's gain.

        word_i = Σ_s g_s ⊙ E[token_is]        s over mnemonic, three operands, constant
        hidden = dropout(LayerNorm(word_i + position_i))

    One table serves all slots, so that a register is known in every operand; the gain tells the slots apart.
    At the same length this reads several times more code than one position per token.

    Args:
        config: The model's; with ``share_jump_positions`` the token of a jump to instruction j is the
            position embedding of j.

    Source:
        Sums of embeddings as in BERT; sharing of positions: Wang et al. 2022, "jTrans", §3.2.

    Differs from the paper:
        jTrans has one position per token and counts them with ``[CLS]``; here the entry is position 0.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        encoder = config.encoder
        self.word_embeddings = nn.Embedding(encoder.vocab_size, encoder.hidden_size)
        self.position_embeddings = nn.Embedding(encoder.max_position_embeddings, encoder.hidden_size)
        self.slot_gain = nn.Parameter(torch.ones(len(SLOTS), encoder.hidden_size))
        self.norm = nn.LayerNorm(encoder.hidden_size, eps=encoder.layer_norm_eps)
        self.dropout = nn.Dropout(encoder.hidden_dropout_prob)
        self.first_jump = load_vocabulary().ids["to:0"] if config.share_jump_positions else None
        initialise(self, encoder.initializer_range)
        with torch.no_grad():
            # Gains that are all 1 would be the same for every slot of operands, and stay so for a long time.
            self.slot_gain.normal_(mean=1.0, std=0.5)

    def embed(self, tokens: Tensor) -> Tensor:
        """Embed instructions: ``(instructions, 5)`` int64 to ``(instructions, hidden)``."""
        table = self._table()
        size = table.shape[0]
        by_slot = (table[None] * self.slot_gain[:, None]).flatten(0, 1)
        shift = torch.arange(len(SLOTS), device=tokens.device) * size
        return F.embedding_bag(tokens + shift, by_slot, mode="sum")

    def words(self, inputs: Instructions) -> Tensor:
        """Gather ``(batch, seq, hidden)``."""
        return inputs.embedded[inputs.index]

    def assemble(self, words: Tensor, inputs: Any, position_ids: Tensor | None) -> Tensor:
        """Add positions, normalise, drop."""
        if position_ids is None:
            position_ids = torch.arange(words.shape[1], device=words.device)[None]
        return self.dropout(self.norm(words + self.position_embeddings(position_ids)))

    def _table(self) -> Tensor:
        weight = self.word_embeddings.weight
        if self.first_jump is None:
            return weight
        before, after = weight[: self.first_jump], weight[self.first_jump + JUMP_POSITIONS :]
        return torch.cat([before, self.position_embeddings.weight[:JUMP_POSITIONS], after])
