"""What a model is: frozen dataclasses for all kinds, stored beside the weights."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal, get_args

from weft.absa.checks import check_temperature, check_threshold
from weft.absa.records import check_polarities
from weft.encoder.config import EncoderConfig
from weft.errors import ConfigError, with_article
from weft.platform.ranges import require
from weft.platform.settings import Settings

Kind = Literal["weft-absa", "pair", "qacg", "qacg-official", "cg"]
Pooling = Literal["auto", "cls", "gate"]
Gate = Literal["row", "pair"]
QuasiStart = Literal["published", "open", "half"]

# The options of each kind that count layers of the encoder.
_DEPTHS: dict[Kind, tuple[str, ...]] = {
    "weft-absa": ("pooler_blocks", "target_layers", "frozen_layers", "similarity_layers"),
    "qacg": ("context_from",),
}


@dataclass(frozen=True)
class ModelOptions(Settings):
    """What one chooses about a model; the rest of its configuration follows from checkpoint and data.

    Args:
        kind: ``"weft-absa"`` (context-conditioned pooling, the default), ``"pair"`` (BERT reads text and
            question as a sentence pair), ``"qacg"`` (quasi-attention in the upper layers, contexts from
            text), ``"qacg-official"`` (as published: fixed context ids, every layer), ``"cg"``
            (context-gated softmax attention, the sibling of quasi-attention, as published).
        max_length: Tokens of a text that the model reads at once.
        as_meant: Whether a text is read as what is likely meant: a word that no list of English has as the likeliest
            one that is there, see :class:`weft.absa.represent.slips.Words`, and ratings as words, see
            :func:`weft.absa.represent.ratings.ratings`.
        pooler_blocks: ``weft-absa``: decoder blocks of the pooling; 0 pools plainly, see
            :class:`weft.absa.model.context_pooling.PlainPooling`.
        target_layers: ``weft-absa``: upper encoder layers that run once per (text, target), with the
            target marked at their input. 0 marks the target at the input of the pooling.
        target_mark: ``weft-absa``: whether the asked target is marked at all.
        target_distance: ``weft-absa``: whether the pooling's scores get a learnt bias by the distance to
            the nearest token of the target.
        frozen_layers: ``weft-absa``: lower layers, with the embeddings, that training does not touch; -1
            trains the embeddings too.
        similarity_layers: ``weft-absa``: depth of the frozen stack that compares an unseen aspect with the
            text, at least ``frozen_layers``: what is deeper is a copy of the pretrained layers. -1 has no
            similarity.
        aspect_dropout: ``weft-absa``: probability with which training treats an aspect as unseen.
        open_aspects: ``weft-absa``: every aspect is read as the words it is, none is unseen; the similarity steers
            all questions and is trained with the rest. For models that are trained on thousands of aspects.
        unseen_share: ``weft-absa``: α, in [0, 1]: what the trained layers have to say about whether there is an
            opinion on an unseen aspect, beside the similarity.
        context_from: ``qacg``: the first layer with quasi-attention.
        normalise_quasi: ``qacg``: divide the quasi part by the number of real tokens.
        gate: ``qacg``: index of λ_K: ``"row"`` as the published code, ``"pair"`` as the paper.
        quasi_start: ``qacg``: how quasi-attention begins. ``"published"``: random maps and a gate of about 0, through
            which hardly any gradient reaches the question. ``"open"``: an open gate and the layer's own query and key
            maps, see :meth:`weft.condition.quasi.QuasiContext.open`. ``"half"``: the same, and what the maps read is
            the mean of context and state, so that few sigmoids begin at their ends.
        pooling: How the models other than ``weft-absa`` pool: the ``[CLS]`` token or a learnt gate; ``"auto"`` is the
            gate for ``qacg-official``, as its review has it, and ``[CLS]`` for the others.
        text_pair: ``qacg-official`` and ``cg``: whether the question is also given as a second text.
        term_layers: Layers of the tagger of terms; 0 is a model that finds no terms.
        term_from: ``weft-absa``: depth of the frozen stack on which these layers stand, from ``frozen_layers`` to
            ``similarity_layers``; -1 is ``frozen_layers``.
        term_length: Tokens that the tagger reads at once, at most ``max_length``; 0 is ``max_length``.
        classifier_dropout: Dropout before the classifier.

    Raises:
        ConfigError: A field breaks its rule.
    """

    kind: Kind = "weft-absa"
    max_length: int = 128
    as_meant: bool = False
    pooler_blocks: int = 1
    target_layers: int = 0
    target_mark: bool = True
    target_distance: bool = True
    frozen_layers: int = 0
    similarity_layers: int = 3
    aspect_dropout: float = 0.2
    open_aspects: bool = False
    unseen_share: float = 0.1
    context_from: int = 4
    normalise_quasi: bool = True
    gate: Gate = "row"
    quasi_start: QuasiStart = "published"
    pooling: Pooling = "auto"
    text_pair: bool = True
    term_layers: int = 0
    term_from: int = -1
    term_length: int = 0
    classifier_dropout: float = 0.1

    def __post_init__(self) -> None:
        require(self, "kind", self.kind in get_args(Kind), f"one of {', '.join(get_args(Kind))}")
        require(self, "pooling", self.pooling in get_args(Pooling), "'auto', 'cls' or 'gate'")
        require(self, "gate", self.gate in get_args(Gate), "'row' or 'pair'")
        require(
            self,
            "quasi_start",
            self.quasi_start in get_args(QuasiStart),
            f"one of {', '.join(get_args(QuasiStart))}",
        )
        require(
            self,
            "quasi_start",
            self.kind == "qacg" or self.quasi_start == "published",
            f"'published' for {with_article(self.kind)}",
        )
        require(self, "max_length", self.max_length >= 8, "at least 8")
        for name in ("pooler_blocks", "target_layers", "context_from", "term_layers"):
            require(self, name, getattr(self, name) >= 0, "at least 0")
        for name in ("frozen_layers", "similarity_layers"):
            require(self, name, getattr(self, name) >= -1, "at least -1")
        require(
            self,
            "similarity_layers",
            self.similarity_layers == -1 or self.similarity_layers >= self.frozen_layers >= 0,
            f"-1, or at least frozen_layers, which is {self.frozen_layers} and then not -1",
        )
        for name in ("aspect_dropout", "classifier_dropout"):
            require(self, name, 0 <= getattr(self, name) < 1, "in [0, 1)")
        require(
            self,
            "similarity_layers",
            self.similarity_layers >= 0 or not self.open_aspects,
            "at least frozen_layers where open_aspects reads aspects by the frozen layers",
        )
        require(
            self,
            "aspect_dropout",
            not (self.open_aspects and self.aspect_dropout),
            "0 where open_aspects knows no unseen aspect",
        )
        require(
            self,
            "term_layers",
            self.kind == "weft-absa" or not self.term_layers,
            f"0 for {with_article(self.kind)}",
        )
        require(
            self,
            "term_from",
            self.term_from == -1 or self.frozen_layers <= self.term_from <= self.similarity_layers,
            f"-1, or from frozen_layers, which is {self.frozen_layers}, to similarity_layers, which is "
            f"{self.similarity_layers}",
        )
        require(
            self,
            "term_length",
            self.term_length == 0 or 8 <= self.term_length <= self.max_length,
            f"0, or from 8 to max_length, which is {self.max_length}",
        )
        require(self, "unseen_share", 0 <= self.unseen_share <= 1, "in [0, 1]")

    @property
    def term_depth(self) -> int:
        """The frozen layers below the tagger's own."""
        return max(0, self.frozen_layers) if self.term_from < 0 else self.term_from

    @property
    def pools_by_gate(self) -> bool:
        """Whether a learnt gate pools, and not the ``[CLS]`` token."""
        return self.pooling == "gate" or (self.pooling == "auto" and self.kind == "qacg-official")


@dataclass(frozen=True)
class AbsaConfig(Settings):
    """A targeted-aspect sentiment model.

    Args:
        encoder: The encoder's sizes.
        options: What was chosen.
        polarities: The classes, ``"none"`` first.
        aspects: The aspects trained on; another aspect is *unseen*.
        targets: The target names of the fixed contexts (``qacg-official`` and ``cg``); empty without targets.
        temperature: Logits are divided by it; fitted on held-out data.
        length_power: p, at least 0: answers about a text of n word pieces are less sure by max(1, n/48)^p, see
            :func:`weft.absa.use.sureness.shares`; fitted on held-out data. 0 leaves them as sure as about sentences.
        threshold: From which share, against ``none``, an opinion is reported: see
            :func:`weft.absa.use.decide.decide`. 0.5 reports the most probable class.
        outside: Added to the tagger's logit of "outside"; below 0 more words are taken for terms. Chosen on held-out
            data.
        term_threshold: ``threshold`` of the terms that the tagger finds, many of which are only mentioned; items of
            lists keep ``threshold``. None: the same.
        passage_weight: w, in [0, 1]: what the clearest passage of a long text in paragraphs says of which opinion it
            is, beside the whole: see :func:`weft.absa.use.passages.by_passages`. 0 hears the whole alone.
        english: Whether it was trained on English, so that a text in another language is told to be one.

    Raises:
        ConfigError: A field breaks its rule, or an option does not fit the encoder.
    """

    encoder: EncoderConfig = field(default_factory=EncoderConfig)
    options: ModelOptions = field(default_factory=ModelOptions)
    polarities: tuple[str, ...] = ("none", "positive", "negative")
    aspects: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    temperature: float = 1.0
    length_power: float = 0.0
    threshold: float = 0.5
    outside: float = 0.0
    term_threshold: float | None = None
    passage_weight: float = 0.0
    english: bool = True

    def __post_init__(self) -> None:
        check_polarities(self.polarities)
        check_temperature("AbsaConfig.temperature", self.temperature)
        check_threshold("AbsaConfig.threshold", self.threshold)
        if self.term_threshold is not None:
            check_threshold("AbsaConfig.term_threshold", self.term_threshold)
        check_threshold("AbsaConfig.passage_weight", self.passage_weight)
        if not 0 <= self.length_power < math.inf:
            raise ConfigError(
                f"AbsaConfig.length_power is {self.length_power}; it must be at least 0 and finite"
            )
        if not math.isfinite(self.outside):
            raise ConfigError(f"AbsaConfig.outside is {self.outside}; it must be finite")
        if len(set(self.aspects)) != len(self.aspects):
            raise ConfigError(f"AbsaConfig.aspects are {self.aspects}; they must be distinct")
        layers, longest = self.encoder.num_hidden_layers, self.encoder.max_length
        for name in _DEPTHS.get(self.kind, ()):
            value = getattr(self.options, name)
            if value > layers:
                raise ConfigError(f"ModelOptions.{name} is {value}; the encoder has {layers} layers")
        if self.kind == "weft-absa" and self.options.frozen_layers + self.options.target_layers > layers:
            raise ConfigError(
                f"ModelOptions.frozen_layers is {self.options.frozen_layers} and target_layers is "
                f"{self.options.target_layers}; the encoder has {layers} layers"
            )
        if self.options.term_depth + self.options.term_layers > layers:
            raise ConfigError(
                f"ModelOptions.term_layers is {self.options.term_layers} above {self.options.term_depth} frozen "
                f"ones; the encoder has {layers} layers"
            )
        if longest is not None and self.options.max_length > longest:
            raise ConfigError(
                f"ModelOptions.max_length is {self.options.max_length}; the encoder reads {longest} tokens"
            )

    @property
    def kind(self) -> Kind:
        """The kind of model."""
        return self.options.kind
