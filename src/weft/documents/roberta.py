"""The encoder document's own names, as thin assemblies of the parts beside this file.

======================================================  ===========================================
the document                                            here
======================================================  ===========================================
``RoBERTaSelfAttention`` and ``RoBERTaSelfOutput``      :class:`weft.encoder.layer.SelfAttention`
``RoBERTaIntermediate``, ``RoBERTaOutput``              the second half of ``EncoderLayer``
``RoBERTaLayer``                                        :class:`weft.encoder.layer.EncoderLayer`
``RoBERTaEncoder``                                      :class:`weft.encoder.encoder.Encoder`
======================================================  ===========================================

The 12-layer model of the document has 53.98 M parameters with its pooler, not "~80M": its table counts a
feed-forward part as 4.2 M where 512 · 2048 · 2 weights are 2.10 M.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor, nn

from weft.encoder.checkpoint.storage import load_model, save_model
from weft.encoder.config import EncoderConfig
from weft.encoder.embeddings import TokenEmbeddings, TokenInputs
from weft.encoder.encoder import Encoder
from weft.encoder.pooling import ClsPooler
from weft.errors import DtypeError, InputError
from weft.platform.ranges import require


@dataclass(frozen=True)
class RoBERTaConfig(EncoderConfig):
    """The document's configuration with its defaults; :meth:`graphmert` has GraphMERT's sizes.

    Raises:
        ConfigError: A field breaks its rule.

    Source:
        The encoder document, part 1.

    Differs from the spec:
        A dropout of exactly 1 is refused: it leaves nothing, and 1 / (1 − p) is infinite. The head count
        must divide the hidden size, which the document does not ask. ``pad_token_id = 0`` and positions
        from 0, which the document uses, are BERT's; set ``pad_token_id=1, position_offset=2`` for RoBERTa's.
    """

    vocab_size: int = 50265
    type_vocab_size: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self, "type_vocab_size", self.type_vocab_size > 0, "a positive integer")

    @classmethod
    def graphmert(cls, **changes: Any) -> Self:
        """GraphMERT's sizes: hidden 512, 8 heads, 12 layers, feed-forward 2048, vocabulary 30,522.

        Args:
            **changes: Fields that differ from that.
        """
        sizes = {"vocab_size": 30522, "hidden_size": 512, "num_attention_heads": 8, "intermediate_size": 2048}
        return cls.from_dict({**sizes, **changes})


class RoBERTaEmbeddings(nn.Module):
    """Word, position and type embeddings, summed, normalised, dropped.

    Args:
        config: The document's configuration.

    Source:
        The encoder document, part 2.

    Differs from the spec:
        Its embeddings are dense layers over ids; these are lookups.
    """

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.embeddings = TokenEmbeddings(config)

    def forward(self, input_ids: Tensor, position_ids: Tensor, token_type_ids: Tensor) -> Tensor:
        """Embed: three times ``(batch, seq)`` to ``(batch, seq, hidden)``."""
        return self.embeddings(TokenInputs(input_ids, token_type_ids), position_ids)


class RoBERTaModel(nn.Module):
    """Embeddings, encoder and pooler.

    encoder_output = encoder(ids)        pooled_output = tanh(W · encoder_output_0 + b)

    Args:
        config: The document's configuration.

    Source:
        The encoder document, part 8.

    Differs from the spec:
        The mask is boolean: the document makes it of ones and zeros and then *adds* it to the scores, by
        which padding is attended.
    """

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.config = config
        self.encoder = Encoder(config)
        self.pooler = ClsPooler(config)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        token_type_ids: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Encode a batch.

        Args:
            input_ids: ``(batch, seq)``.
            attention_mask: ``(batch, seq)`` bool; None where nothing is padded.
            position_ids: ``(batch | 1, seq)``; counted where None.
            token_type_ids: ``(batch, seq)``; 0 where None.

        Returns:
            ``encoder_output (batch, seq, hidden)`` and ``pooled_output (batch, hidden)``.

        Raises:
            InputError: As :meth:`weft.encoder.encoder.Encoder.forward`.
        """
        inputs = TokenInputs(input_ids, token_type_ids)
        hidden = self.encoder(inputs, attention_mask, position_ids=position_ids).last_hidden_state
        return hidden, self.pooler(hidden)


def create_attention_mask(input_ids: Tensor, pad_token_id: int = 0) -> Tensor:
    """Which tokens are real: ``(batch, seq)`` bool.

    Args:
        input_ids: ``(batch, seq)``.
        pad_token_id: The id that pads; 0 in the document, 1 in RoBERTa's checkpoints.

    Raises:
        DtypeError: Not an integer tensor.

    Differs from the spec:
        Boolean, where the document returns 1 and 0 and calls it additive.
    """
    if input_ids.is_floating_point() or input_ids.dtype == torch.bool:
        raise DtypeError(f"input_ids is {input_ids.dtype}; int64 is needed")
    return input_ids != pad_token_id


def create_position_ids(seq_length: int, batch_size: int) -> Tensor:
    """Positions 0, 1, …, seq_length − 1 for each example, ``(batch_size, seq_length)``.

    Raises:
        InputError: A size below 1.

    Differs from the spec:
        Batch first, as the document's text says; its code returns (seq, batch).
    """
    _check_sizes(seq_length, batch_size)
    return torch.arange(seq_length).repeat(batch_size, 1)


def create_token_type_ids(seq_length: int, batch_size: int) -> Tensor:
    """Zeros, ``(batch_size, seq_length)``.

    Raises:
        InputError: A size below 1.

    Differs from the spec:
        Batch first, as :func:`create_position_ids`.
    """
    _check_sizes(seq_length, batch_size)
    return torch.zeros(batch_size, seq_length, dtype=torch.int64)


def save_roberta_model(model: RoBERTaModel, directory: str | Path) -> None:
    """Save configuration and weights into a directory, atomically.

    Raises:
        CheckpointError: It cannot be written.

    Differs from the spec:
        One directory instead of two paths; and it saves, where the document's returns ``true``.
    """
    save_model(directory, model, model.config)


def load_roberta_model(directory: str | Path) -> RoBERTaModel:
    """Load what :func:`save_roberta_model` saved; strict.

    Raises:
        CheckpointError: Missing, damaged, or of another kind.

    Differs from the spec:
        It loads, where the document's returns a new model with default sizes.
    """
    return load_model(directory, lambda values: RoBERTaModel(RoBERTaConfig.from_dict(values)), "RoBERTaModel")


def _check_sizes(seq_length: int, batch_size: int) -> None:
    for name, size in (("seq_length", seq_length), ("batch_size", batch_size)):
        if size < 1:
            raise InputError(f"{name} is {size}; it must be at least 1")
