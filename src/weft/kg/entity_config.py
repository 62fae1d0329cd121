"""The configuration of the model that reads facts between the entities of a text."""

from __future__ import annotations

from dataclasses import dataclass, field

from weft.encoder.config import EncoderConfig
from weft.errors import ConfigError
from weft.platform.ranges import require
from weft.platform.settings import Settings


@dataclass(frozen=True)
class EntityGraphConfig(Settings):
    """A model of texts with entities.

    Args:
        encoder: The encoder's sizes.
        num_relations: Relation ids with 0, "none".
        types: Names of the entity types; the first is "", "not known".
        shared_layers: Lower layers that read roots alone; leaves enter above them.
        mean_layers: Roots are the mean of what the last so many shared layers make of them.
        frozen: Whether embeddings and shared layers keep their weights.
        moving_roots: Whether roots pass through the upper layers as well; without, they stay what the shared
            layers make of them, and leaves alone learn to read them.
        encoder_rate: Learning rate of the encoder as a share of the other parts', which start from nothing.
        leaves: A leaf for every entity, fused with its mentions by H-GAT.
        context: A pair's context: the roots that the leaves of both its entities attend to.
        pair_layers: Layers in which pairs with a common entity attend to each other.
        pair_size: Width of a pair's state.
        distances: Whether a pair knows how far apart its entities stand.
        dropout: Dropout of the pairs' states.
        relation_dropout: Dropout of H-GAT's parameters.
        mention_layers: Layers of its own above the embeddings that find the mentions of entities; without, mentions
            must be given.

    Raises:
        ConfigError: A field breaks its rule.
    """

    encoder: EncoderConfig = field(default_factory=EncoderConfig)
    num_relations: int = 2
    types: tuple[str, ...] = ("",)
    shared_layers: int = 0
    mean_layers: int = 1
    frozen: bool = False
    moving_roots: bool = True
    encoder_rate: float = 1.0
    leaves: bool = True
    context: bool = True
    pair_layers: int = 0
    pair_size: int = 128
    distances: bool = True
    dropout: float = 0.1
    relation_dropout: float = 0.1
    mention_layers: int = 0

    def __post_init__(self) -> None:
        for name, least in (
            ("num_relations", 2),
            ("pair_size", 1),
            ("mention_layers", 0),
            ("pair_layers", 0),
        ):
            require(self, name, getattr(self, name) >= least, f"at least {least}")
        if not self.types or self.types[0] or len(set(self.types)) < len(self.types):
            raise ConfigError("EntityGraphConfig.types must begin with '' and hold no name twice")
        require(self, "pair_size", self.pair_size % PAIR_HEADS == 0, f"a multiple of {PAIR_HEADS}")
        layers, most = self.encoder.num_hidden_layers, max(self.shared_layers, 1)
        require(self, "shared_layers", 0 <= self.shared_layers < layers, f"in [0, {layers})")
        require(self, "mean_layers", 1 <= self.mean_layers <= most, f"in [1, {most}], the shared layers")
        if self.mention_layers and len(self.types) < 2:
            raise ConfigError("EntityGraphConfig.mention_layers needs a type of entity to find")
        if self.context and not self.leaves:
            raise ConfigError("EntityGraphConfig.context needs leaves: they are what attends")
        require(self, "encoder_rate", self.encoder_rate > 0.0, "above 0")
        for name in ("dropout", "relation_dropout"):
            require(self, name, 0.0 <= getattr(self, name) < 1.0, "in [0, 1)")

    @property
    def finds_mentions(self) -> bool:
        """Whether it reads texts that come without mentions."""
        return self.mention_layers > 0


PAIR_HEADS = 4
"""Attention heads between pairs, and of leaves over the roots."""
