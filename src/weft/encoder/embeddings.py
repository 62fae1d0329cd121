"""Embedding bricks: what the tokens are before the first layer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from weft.encoder.checks import check_ids
from weft.encoder.config import EncoderConfig
from weft.encoder.initialisation import initialise
from weft.errors import InputError, with_article


@dataclass(frozen=True)
class TokenInputs:
    """Token ids with their types.

    Args:
        input_ids: ``(batch, seq)``.
        token_type_ids: ``(batch, seq)``; all 0 where None.
    """

    input_ids: Tensor
    token_type_ids: Tensor | None = None


class Embeddings(nn.Module, ABC):
    """A brick that turns an encoder's inputs into the hidden states of layer 0. Subclasses are final.

    It comes in two steps, because a conditioner acts between them: :meth:`words` looks the inputs up,
    :meth:`assemble` adds positions and whatever else a token has, and normalises.
    """

    @abstractmethod
    def words(self, inputs: Any) -> Tensor:
        """Word embeddings ``(batch, seq, hidden)`` of the inputs."""

    @abstractmethod
    def assemble(self, words: Tensor, inputs: Any, position_ids: Tensor | None) -> Tensor:
        """The hidden states of layer 0, ``(batch, seq, hidden)``, from the (conditioned) word embeddings."""

    def forward(
        self,
        inputs: Any,
        position_ids: Tensor | None = None,
        condition: Callable[[Tensor], Tensor] | None = None,
    ) -> Tensor:
        """``assemble(condition(words(inputs)))``.

        Args:
            inputs: What this brick reads.
            position_ids: ``(batch | 1, seq)``; counted by the brick where None.
            condition: Changes the word embeddings ``(batch, seq, hidden)``; identity where None.

        Returns:
            ``(batch, seq, hidden)``.
        """
        words = self.words(inputs)
        if condition is not None:
            words = condition(words)
        return self.assemble(words, inputs, position_ids)


class TokenEmbeddings(Embeddings):
    """Word, position and token-type embeddings.

    hidden = dropout(LayerNorm(word[input_ids] + position[position_ids] + type[token_type_ids]))

    Positions are absolute as BERT counts them (0, 1, 2, …), absolute as RoBERTa counts them (tokens other
    than padding from ``pad_token_id + 1``), or absent here (``position`` ``"rotary"`` and ``"none"``).
    A token-type id per token and a table of ``type_vocab_size`` rows; types are 0 where none are given.
    MPNet has no types (``type_vocab_size`` 0): nothing is added then, and types that are given are an error.

    Args:
        config: The encoder's configuration.

    Source:
        Devlin et al. 2019, BERT, figure 2; Liu et al. 2019, RoBERTa, for the second way of counting.
    """

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.config = config
        self.word_embeddings = nn.Embedding(config.vocab_size, config.hidden_size)
        self.position_embeddings = (
            nn.Embedding(config.max_position_embeddings, config.hidden_size)
            if config.position == "absolute"
            else None
        )
        self.token_type_embeddings = (
            nn.Embedding(config.type_vocab_size, config.hidden_size) if config.type_vocab_size else None
        )
        self.norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)
        initialise(self, config.initializer_range)

    def words(self, inputs: Tensor | TokenInputs) -> Tensor:
        """Word embeddings ``(batch, seq, hidden)``.

        Raises:
            InputError: Ids that are no integers, out of the vocabulary (named, with its size), or none at all.
        """
        input_ids = _ids(inputs)
        check_ids(input_ids, self.config.vocab_size, "input_ids", "vocab_size")
        return self.word_embeddings(input_ids)

    def assemble(self, words: Tensor, inputs: Tensor | TokenInputs, position_ids: Tensor | None) -> Tensor:
        """Add positions and types, normalise, drop.

        Raises:
            InputError: A sequence longer than the position table, a position or a type outside its table.
        """
        config, input_ids = self.config, _ids(inputs)
        shape = (input_ids.shape[0], input_ids.shape[1])
        token_type_ids = inputs.token_type_ids if isinstance(inputs, TokenInputs) else None
        if self.token_type_embeddings is None:
            if token_type_ids is not None:
                raise InputError("token types for an encoder without any", hint="give token ids alone")
            total = words
        elif token_type_ids is None:
            total = words + self.token_type_embeddings.weight[0]
        else:
            check_ids(token_type_ids, config.type_vocab_size, "token_type_ids", "type_vocab_size", shape)
            total = words + self.token_type_embeddings(token_type_ids)
        if self.position_embeddings is not None:
            if position_ids is None:
                position_ids = self._count(input_ids)
            else:
                size = config.max_position_embeddings
                check_ids(position_ids, size, "position_ids", "max_position_embeddings", shape)
            total = total + self.position_embeddings(position_ids)
        return self.dropout(self.norm(total))

    def _count(self, input_ids: Tensor) -> Tensor:
        config, length = self.config, input_ids.shape[1]
        offset = config.position_offset
        if offset == 0:
            self._check_length(length)
            return torch.arange(length, device=input_ids.device)[None]
        real = input_ids != config.pad_token_id
        counted = torch.cumsum(real, dim=1)
        if length > config.max_position_embeddings - offset and not torch.compiler.is_compiling():
            # Padding is not counted here, so a padded row may be longer than the table.
            self._check_length(int(counted.max()))
        return counted * real + (offset - 1)

    def _check_length(self, length: int) -> None:
        limit = self.config.max_position_embeddings - self.config.position_offset
        if length > limit:
            raise InputError(
                f"a sequence of {length} tokens; max_position_embeddings "
                f"{self.config.max_position_embeddings} allows {limit}",
                hint="cut the text, or give position_ids",
            )


def _ids(inputs: Tensor | TokenInputs) -> Tensor:
    ids = inputs.input_ids if isinstance(inputs, TokenInputs) else inputs
    if not isinstance(ids, Tensor):
        raise InputError(
            f"inputs are {with_article(type(ids).__name__)}; token ids or TokenInputs are needed"
        )
    return ids
