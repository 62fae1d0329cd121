"""The shape of an encoder: a frozen, validated configuration under the Hugging Face field names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from weft.platform.ranges import is_number, require
from weft.platform.settings import Settings

Position = Literal["absolute", "rotary", "none"]


@dataclass(frozen=True)
class EncoderConfig(Settings):
    """A BERT-family encoder: post-LayerNorm, erf GELU, ``hidden = heads · D``.

    The defaults are BERT-base. RoBERTa is the same encoder with ``position_offset = pad_token_id + 1``; MPNet
    is RoBERTa without token types and with a relative bias.

    Args:
        vocab_size: Rows of the word embeddings.
        hidden_size: Width of the hidden states; a multiple of ``num_attention_heads``.
        num_hidden_layers: Layers.
        num_attention_heads: Heads of each layer.
        intermediate_size: Width of the feed-forward part.
        max_position_embeddings: Rows of the position table; it bounds the length only where
            ``position`` is ``"absolute"``.
        type_vocab_size: Rows of the token-type table; 0 for none.
        layer_norm_eps: Added to the variance in every LayerNorm.
        hidden_dropout_prob: Dropout of the embeddings and of both halves of a layer, in [0, 1).
        attention_probs_dropout_prob: Dropout of the attention weights, in [0, 1).
        pad_token_id: The id that pads.
        position: ``"absolute"`` (a learnt table), ``"rotary"`` (queries and keys are turned) or ``"none"``.
        position_offset: 0: token i has position i, as BERT counts. ``pad_token_id + 1``: tokens other than
            padding are counted from there and padding keeps the position ``pad_token_id``, as RoBERTa counts.
        rotary_base: Base of the rotary wavelengths.
        relative_buckets: Buckets of a relative position bias that all layers share, a multiple of 4; 0 for none.
        relative_distance: The distance from which on that bias is the same.
        initializer_range: Standard deviation of the initial weights.

    Raises:
        ConfigError: A field breaks its rule; the message holds field, value and rule.
    """

    vocab_size: int = 30522
    hidden_size: int = 768
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    intermediate_size: int = 3072
    max_position_embeddings: int = 512
    type_vocab_size: int = 2
    layer_norm_eps: float = 1e-12
    hidden_dropout_prob: float = 0.1
    attention_probs_dropout_prob: float = 0.1
    pad_token_id: int = 0
    position: Position = "absolute"
    position_offset: int = 0
    rotary_base: float = 10000.0
    relative_buckets: int = 0
    relative_distance: int = 128
    initializer_range: float = 0.02

    def __post_init__(self) -> None:
        for name in (
            "vocab_size",
            "hidden_size",
            "num_hidden_layers",
            "num_attention_heads",
            "intermediate_size",
            "max_position_embeddings",
        ):
            require(
                self, name, _is_integer(getattr(self, name)) and getattr(self, name) > 0, "a positive integer"
            )
        require(
            self,
            "type_vocab_size",
            _is_integer(self.type_vocab_size) and self.type_vocab_size >= 0,
            "a whole number, 0 for no token types",
        )
        require(
            self,
            "relative_buckets",
            _is_integer(self.relative_buckets)
            and self.relative_buckets >= 0
            and self.relative_buckets % 4 == 0,
            "a multiple of 4, 0 for no relative bias",
        )
        require(
            self,
            "relative_distance",
            _is_integer(self.relative_distance) and self.relative_distance > self.relative_buckets // 4,
            f"an integer above a quarter of relative_buckets, which is {self.relative_buckets}",
        )
        for name in ("layer_norm_eps", "initializer_range", "rotary_base"):
            require(
                self, name, is_number(getattr(self, name)) and getattr(self, name) > 0, "a positive number"
            )
        for name in ("hidden_dropout_prob", "attention_probs_dropout_prob"):
            require(self, name, is_number(getattr(self, name)) and 0 <= getattr(self, name) < 1, "in [0, 1)")
        require(
            self,
            "num_attention_heads",
            self.hidden_size % self.num_attention_heads == 0,
            f"a divisor of hidden_size, which is {self.hidden_size}",
        )
        require(
            self,
            "pad_token_id",
            _is_integer(self.pad_token_id) and 0 <= self.pad_token_id < self.vocab_size,
            f"in [0, vocab_size), and vocab_size is {self.vocab_size}",
        )
        require(
            self, "position", self.position in get_args(Position), f"one of {', '.join(get_args(Position))}"
        )
        require(
            self,
            "position_offset",
            _is_integer(self.position_offset) and self.position_offset in (0, self.pad_token_id + 1),
            f"0 (as BERT counts) or pad_token_id + 1 = {self.pad_token_id + 1} (as RoBERTa counts)",
        )
        require(
            self,
            "max_position_embeddings",
            self.max_position_embeddings > self.position_offset,
            f"greater than position_offset, which is {self.position_offset}",
        )
        require(
            self,
            "hidden_size",
            self.position != "rotary" or self.head_size % 2 == 0,
            f"an even multiple of num_attention_heads = {self.num_attention_heads} where position is 'rotary'",
        )

    @property
    def head_size(self) -> int:
        """Width D of one head."""
        return self.hidden_size // self.num_attention_heads

    @property
    def max_length(self) -> int | None:
        """The longest sequence that the position table reaches; None where nothing bounds it."""
        return self.max_position_embeddings - self.position_offset if self.position == "absolute" else None


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
