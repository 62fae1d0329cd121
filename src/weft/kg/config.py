"""Configurations of the leafy chain model, those of the paper and of the design by name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from weft.encoder.config import EncoderConfig, Position
from weft.errors import ConfigError
from weft.platform.ranges import require
from weft.platform.settings import Settings

Fusion = Literal["hgat", "residual", "embedding", "words", "none"]
DecayChoice = Literal["none", "scores", "weights"]
Decoding = Literal["causal", "masked"]
TEXT = "text"
"""The language of a model that reads text, where others name a programming language."""


@dataclass(frozen=True)
class ModelConfig(Settings):
    """A leafy chain model.

    Args:
        encoder: The encoder's sizes. Its ``type_vocab_size`` holds 0 for roots and, with ``slots``, 1 + k
            for slot k (else 1 for every leaf).
        num_relations: Relation ids with "none".
        leaves: K, the longest tail.
        fusion: How a leaf learns of its relation and head: H-GAT; H-GAT with ``residual``; a relation embedding and
            the mean of the head's embeddings; the relation's name as words before the tail; not at all.
        decay: Attention that fades with graph distance: on logits, on weights, or none.
        decoding: ``"causal"`` spells a tail left to right, each slot fed with the token before;
            ``"masked"`` hides a tail whole.
        one_way: Roots ignore leaves, and leaf groups ignore each other.
        slots: Leaves know their slot, and a tail ends with a token of its own.
        copy_path: A pointer into the roots beside the vocabulary, mixed by a supervised gate.
        relation_dropout: Dropout of the relations' parameters in H-GAT.
        prompt: Words before the tail, by relation, as token ids; for ``fusion="words"``.
        language: Name of the programming language that it reads, or ``"text"``.
        clues: Relation ids after ``num_relations``, of leaves that are shown: what a tree tells of a type.

    Raises:
        ConfigError: A field breaks its rule.
    """

    encoder: EncoderConfig = field(default_factory=EncoderConfig)
    num_relations: int = 19
    leaves: int = 7
    fusion: Fusion = "hgat"
    decay: DecayChoice = "none"
    decoding: Decoding = "causal"
    one_way: bool = True
    slots: bool = True
    copy_path: bool = True
    relation_dropout: float = 0.3
    prompt: tuple[tuple[int, ...], ...] = ()
    language: str = "python"
    clues: int = 0

    def __post_init__(self) -> None:
        for name, choices in (("fusion", Fusion), ("decay", DecayChoice), ("decoding", Decoding)):
            known = get_args(choices)
            require(self, name, getattr(self, name) in known, f"one of {', '.join(known)}")
        require(self, "num_relations", self.num_relations >= 2, "at least 2")
        require(self, "leaves", self.leaves >= 1, "at least 1")
        needed = 1 + (self.leaves + self.longest_prompt if self.slots else 1)
        if self.encoder.type_vocab_size < needed:
            raise ConfigError(
                f"ModelConfig.encoder.type_vocab_size is {self.encoder.type_vocab_size}; it must be at least {needed}"
            )
        if self.decoding == "causal" and not (self.one_way and self.slots):
            raise ConfigError(
                "ModelConfig.decoding is 'causal'; it needs one_way and slots",
                hint="roots that see leaves would show a leaf the token that it is to spell",
            )
        if (self.fusion == "words") != bool(self.prompt):
            raise ConfigError("ModelConfig.prompt belongs to fusion 'words', and to no other")
        if self.prompt and (len(self.prompt) != self.num_relations or self.decoding != "causal"):
            raise ConfigError("ModelConfig.prompt needs one entry for each relation id, and causal decoding")
        read = self.decoding == "causal" and self.decay == "none" and self.fusion not in ("words", "none")
        rule = "at least 0, and needs causal decoding, no decay and a fusion of relations"
        require(self, "clues", self.clues == 0 or (self.clues > 0 and read), rule)

    @property
    def longest_prompt(self) -> int:
        """Most words before a tail."""
        return max((len(words) for words in self.prompt), default=0)


def weft_kg(
    vocab_size: int,
    num_relations: int,
    *,
    hidden_size: int = 320,
    layers: int = 8,
    heads: int = 5,
    intermediate_size: int | None = None,
    leaves: int = 7,
    roots: int = 128,
    position: Position = "rotary",
    dropout: float = 0.1,
    fusion: Fusion = "residual",
    prompt: tuple[tuple[int, ...], ...] = (),
    **choices: Any,
) -> ModelConfig:
    """``weft-kg``, the default: one way, tails spelled left to right, with a copy path; H-GAT with a residual."""
    encoder = EncoderConfig(
        vocab_size=vocab_size,
        hidden_size=hidden_size,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=intermediate_size or 4 * hidden_size,
        max_position_embeddings=roots,
        type_vocab_size=1 + leaves + max((len(words) for words in prompt), default=0),
        layer_norm_eps=1e-6,
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=0.0,
        position=position,
    )
    return ModelConfig(encoder, num_relations, leaves, fusion, prompt=prompt, **choices)


def graphmert(
    vocab_size: int = 30522,
    num_relations: int = 30,
    *,
    official: bool = False,
    leaves: int = 7,
    **sizes: Any,
) -> ModelConfig:
    """``graphmert``: the documents' model with positions and slots; ``graphmert-official`` without, as published.

    Both see leaves and roots both ways, hide tails whole, and fade logits with distance.

    Args:
        vocab_size: Size of the vocabulary.
        num_relations: Relation ids with "none".
        official: Whether to be the published model.
        leaves: K, the longest tail.
        sizes: Fields of :class:`weft.encoder.config.EncoderConfig` that differ from 512/8/12/2048.
    """
    values: dict[str, Any] = {
        "vocab_size": vocab_size,
        "hidden_size": 512,
        "num_hidden_layers": 12,
        "num_attention_heads": 8,
        "intermediate_size": 2048,
        "max_position_embeddings": 128,
        "type_vocab_size": 2 if official else 1 + leaves,
        "position": "none" if official else "absolute",
    }
    encoder = EncoderConfig.from_dict({**values, **sizes})
    return ModelConfig(
        encoder,
        num_relations,
        leaves,
        decay="scores",
        decoding="masked",
        one_way=False,
        slots=not official,
        copy_path=False,
    )
