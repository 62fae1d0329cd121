"""Heads: from hidden states to logits."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from weft.encoder.config import EncoderConfig
from weft.encoder.initialisation import initialise
from weft.errors import DtypeError, InputError, ShapeError
from weft.platform.ranges import at_least


class MLMHead(nn.Module):
    """Which token stands at a masked position.

    logits = LayerNorm(GELU(W h + b)) · Eᵀ + c

    E are the word embeddings, handed over at each call: tied to the encoder without a second copy.

    Args:
        config: The encoder's configuration.

    Source:
        Devlin et al. 2019, BERT; the same head as RoBERTa's.
    """

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)
        self.norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.bias = nn.Parameter(torch.zeros(config.vocab_size))
        initialise(self, config.initializer_range)

    def forward(self, hidden: Tensor, word_embeddings: Tensor, where: Tensor | None = None) -> Tensor:
        """Score the vocabulary.

        Args:
            hidden: ``(batch, seq, hidden)``.
            word_embeddings: ``(vocab, hidden)``, the encoder's.
            where: ``(batch, seq)`` bool: logits are computed there and nowhere else.

        Returns:
            ``(selected, vocab)`` in row-major order of ``where``; ``(batch, seq, vocab)`` without it.

        Raises:
            DtypeError: ``where`` is not boolean.
            ShapeError: ``where`` is not ``(batch, seq)``.
        """
        if where is not None:
            if where.dtype != torch.bool:
                raise DtypeError(
                    f"where is {where.dtype}; torch.bool is needed", hint="labels != -100, for instance"
                )
            if where.shape != hidden.shape[:2]:
                raise ShapeError(
                    f"where has shape {tuple(where.shape)}; the input has {tuple(hidden.shape[:2])}"
                )
            hidden = hidden[where]
        return F.linear(self.norm(F.gelu(self.dense(hidden))), word_embeddings, self.bias)


class SBOHead(nn.Module):
    """Which token stands at a place in a masked span, from the two tokens around the span.

    y = LayerNorm(GELU(W₂ · LayerNorm(GELU(W₁ · [h_left ‖ h_right ‖ p_offset]))))        logits = y · Eᵀ + c

    Args:
        config: The encoder's configuration.
        max_span: The longest span.
        position_size: Width of the position embedding p.

    Source:
        Joshi et al. 2020, SpanBERT, section 3.2.

    Differs from the paper:
        The decoder is tied to the word embeddings; GraphMERT's untied one is 16.7 M parameters more.
    """

    def __init__(self, config: EncoderConfig, max_span: int = 7, position_size: int = 200) -> None:
        super().__init__()
        width = config.hidden_size
        self.position_embeddings = nn.Embedding(max_span, position_size)
        self.first = nn.Linear(2 * width + position_size, width)
        self.first_norm = nn.LayerNorm(width, eps=config.layer_norm_eps)
        self.second = nn.Linear(width, width)
        self.second_norm = nn.LayerNorm(width, eps=config.layer_norm_eps)
        self.bias = nn.Parameter(torch.zeros(config.vocab_size))
        initialise(self, config.initializer_range)

    def forward(
        self,
        hidden: Tensor,
        word_embeddings: Tensor,
        example: Tensor,
        left: Tensor,
        right: Tensor,
        offset: Tensor,
    ) -> Tensor:
        """Score the vocabulary for each of n masked tokens.

        Args:
            hidden: ``(batch, seq, hidden)``.
            word_embeddings: ``(vocab, hidden)``, the encoder's.
            example: ``(n,)`` int64: the row of the batch.
            left: ``(n,)`` int64: position of the last token before the span.
            right: ``(n,)`` int64: position of the first token after it.
            offset: ``(n,)`` int64: place in the span, from 0.

        Returns:
            ``(n, vocab)``.

        Raises:
            ShapeError: The four index tensors differ in shape, or are not ``(n,)``.
            InputError: An index outside its range: a span at the edge of the text has no boundary token.
        """
        shapes = [tuple(index.shape) for index in (example, left, right, offset)]
        if len(set(shapes)) > 1 or example.dim() != 1:
            raise ShapeError(f"example, left, right and offset have shapes {shapes}; all must be (n,)")
        self._check_ranges(hidden, {"example": example, "left": left, "right": right, "offset": offset})
        around = torch.cat(
            [hidden[example, left], hidden[example, right], self.position_embeddings(offset)], dim=-1
        )
        mixed = self.first_norm(F.gelu(self.first(around)))
        mixed = self.second_norm(F.gelu(self.second(mixed)))
        return F.linear(mixed, word_embeddings, self.bias)

    def _check_ranges(self, hidden: Tensor, indices: dict[str, Tensor]) -> None:
        if torch.compiler.is_compiling():
            return
        batch, length = hidden.shape[:2]
        sizes = {
            "example": batch,
            "left": length,
            "right": length,
            "offset": self.position_embeddings.num_embeddings,
        }
        outside = [((index < 0) | (index >= sizes[name])).any() for name, index in indices.items()]
        if not bool(torch.stack(outside).any()):  # one question to the device, not four
            return
        for name, index in indices.items():
            low, high = int(index.min()), int(index.max())
            if low < 0 or high >= sizes[name]:
                raise InputError(f"{name} is {low} to {high}; it must be in [0, {sizes[name]})")


class ClassificationHead(nn.Module):
    """logits = W · dropout(pooled) + b.

    Args:
        config: The encoder's configuration.
        num_labels: Classes.
        input_size: Width of the pooled vector; the hidden size by default.

    Raises:
        ConfigError: No classes.
    """

    def __init__(self, config: EncoderConfig, num_labels: int, input_size: int | None = None) -> None:
        super().__init__()
        at_least(1, num_labels=num_labels)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)
        self.classifier = nn.Linear(config.hidden_size if input_size is None else input_size, num_labels)
        initialise(self, config.initializer_range)

    def forward(self, pooled: Tensor) -> Tensor:
        """Score the classes: ``(batch, input_size)`` to ``(batch, num_labels)``."""
        return self.classifier(self.dropout(pooled))
