"""The configuration of the QACG-BERT review, as its JSON files have it; its model is ``kind: qacg-official``."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal, Self

from weft.encoder.config import EncoderConfig
from weft.platform.ranges import require


@dataclass(frozen=True)
class BertConfig(EncoderConfig):
    """The review's ``BertConfig`` with its defaults.

    Args:
        hidden_act: ``"gelu"``, the one activation of the encoder.
        full_pooler: Whether all tokens are pooled, by the learnt gate, or ``[CLS]`` alone.

    Raises:
        ConfigError: A field breaks its rule, or is none.

    Source:
        The review of QACG-BERT, ``BertConfig``.

    Differs from the spec:
        A key that is unknown is an error, where the review takes it over; ``intermediate_size`` is stored.
    """

    vocab_size: int = 32000
    type_vocab_size: int = 16
    hidden_act: str = "gelu"
    full_pooler: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self, "hidden_act", self.hidden_act == "gelu", "'gelu'")
        require(self, "full_pooler", isinstance(self.full_pooler, bool), "true or false")

    @classmethod
    def from_json_file(cls, json_file: str | Path) -> Self:
        """Read the configuration, under the review's name of :meth:`from_json`."""
        return cls.from_json(json_file)

    @property
    def pooling(self) -> Literal["cls", "gate"]:
        """What ``ModelOptions.pooling`` calls it."""
        return "gate" if self.full_pooler else "cls"

    @property
    def encoder(self) -> EncoderConfig:
        """The encoder's own part."""
        return EncoderConfig(**{entry.name: getattr(self, entry.name) for entry in fields(EncoderConfig)})
