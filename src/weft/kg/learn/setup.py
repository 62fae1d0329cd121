"""A training run as a YAML file describes it: a data set of code or of text; in the end a model for use."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import torch

from weft.encoder.config import Position
from weft.errors import ConfigError
from weft.kg.config import DecayChoice, Fusion
from weft.kg.learn import code, text
from weft.kg.learn.start import load_start
from weft.kg.model.leafy_chain import LeafyChainModel, LossWeights
from weft.kg.represent.dataset import load_dataset
from weft.kg.represent.passages import is_text, load_text_dataset
from weft.kg.represent.sampling import SamplingConfig
from weft.train import Course, History, TrainConfig
from weft.train.distributed import World
from weft.train.snapshot import seed_everything

UNSTATED = 6.0
"""Of 2, 6, 12, 22 and no bound the best for a seed of 500 facts, on documents for choices."""
Kind = Literal["weft-kg", "graphmert", "graphmert-official", "entities"]


@dataclass(frozen=True)
class Shape:
    """What model is made; what is null is as the kind has it.

    Args:
        kind: ``weft-kg``, ``graphmert`` or ``graphmert-official``: leaves that spell tails, of code or text;
            ``entities``, of text: a leaf for every entity.
        hidden_size: Width.
        layers: Layers.
        heads: Attention heads.
        fusion: ``weft-kg``: how a leaf learns of its relation and head.
        decay: ``weft-kg``: attention that fades with graph distance.
        position: ``weft-kg``: how the order of tokens is told.
        graph: ``entities``: leaves and layers between pairs; without, the plain encoder: a control.
        shared_layers: ``entities``: lower layers of ``start``, below the leaves, that stay as they are.
        tuned: ``entities``: these layers learn, too; a training takes five times as long then.

    Raises:
        ConfigError: A field that is for another kind.
    """

    kind: Kind = "weft-kg"
    hidden_size: int = 256
    layers: int = 4
    heads: int = 4
    fusion: Fusion | None = None
    decay: DecayChoice | None = None
    position: Position | None = None
    graph: bool = True
    shared_layers: int = 5
    tuned: bool = False

    def __post_init__(self) -> None:
        for name in ("fusion", "decay", "position"):
            if getattr(self, name) is not None and self.kind != "weft-kg":
                raise ConfigError(f"model.{name} is for the kind weft-kg, not {self.kind}")
        for name, said in (("graph", not self.graph), ("tuned", self.tuned)):
            if said and self.kind != "entities":
                raise ConfigError(f"model.{name} is for the kind entities, not {self.kind}")

    @property
    def sizes(self) -> dict[str, int]:
        """Width, layers and heads."""
        return {"hidden_size": self.hidden_size, "layers": self.layers, "heads": self.heads}


@dataclass(frozen=True)
class Setup:
    """Everything that a run needs.

    Args:
        data: The data set that `weft kg build` made.
        out: The model's folder; ``run/`` in it holds checkpoints and log.
        model: Its kind, sizes and options.
        start: Of text: a BERT directory or a model of text, by its folder or name, whose vocabulary the data set has;
            its encoder is the start.
        sampling: But for ``entities``: what a batch holds; its size and the seed are those of ``train``.
        weights: But for ``entities``: how much each loss counts.
        train: How.
        unstated: Of ``entities``: pairs without a fact count together at most so many times as much as those with one,
            because a seed knows few of the facts that its documents state; null counts all alike.
        shuffle_relations: Give every fact a random relation: a control.
        half: Save the model in half precision.
    """

    data: Path
    out: Path
    model: Shape = field(default_factory=Shape)
    start: Path | None = None
    sampling: SamplingConfig = field(default_factory=SamplingConfig)
    weights: LossWeights = field(default_factory=LossWeights)
    train: TrainConfig = field(
        default_factory=lambda: TrainConfig(
            steps=2000, learning_rate=1e-3, betas=(0.9, 0.98), save_every=200, eval_every=200
        )
    )
    unstated: float | None = UNSTATED
    shuffle_relations: bool = False
    half: bool = False

    def __post_init__(self) -> None:
        if self.unstated is not None and not 0.0 < self.unstated < math.inf:
            raise ConfigError(f"unstated is {self.unstated}; it must be above 0, or null")
        if self.unstated != UNSTATED and self.model.kind != "entities":
            raise ConfigError(f"unstated is for the kind entities, not {self.model.kind}")
        plain = SamplingConfig()
        for name in ("batch_size", "seed", "shuffle_relations"):
            if getattr(self.sampling, name) != getattr(plain, name):
                place = name if name == "shuffle_relations" else f"train.{name}"
                raise ConfigError(f"sampling.{name} is not read here", hint=f"say it as {place}")
        if self.model.tuned and self.start is None:
            raise ConfigError(
                "model.tuned is for a training that has a start", hint="say start, or leave it out"
            )
        if self.model.kind == "entities" and (self.sampling, self.weights) != (plain, LossWeights()):
            raise ConfigError("sampling and weights are not for the kind entities")

    def course(self) -> Course[Any, Any]:
        """Train, save.

        Raises:
            ConfigError: The data set holds code, and the model or what it starts from is for text.
        """
        texts = is_text(self.data)
        if not texts and self.model.kind == "entities":
            raise ConfigError(
                "holds code: model.kind entities reads text", where=str(self.data), hint="weft-kg reads code"
            )
        if not texts and self.start is not None:
            raise ConfigError("start is for data sets of text; this is one of code", where=str(self.data))
        return self._entities() if self.model.kind == "entities" else self._chains(texts)

    def _chains(self, texts: bool) -> Course[Any, Any]:
        dataset, shape = load_dataset(self.data), self.model
        given = {"fusion": shape.fusion, "decay": shape.decay, "position": shape.position}
        choices: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        seed_everything(self.train.seed)
        if self.start is not None:
            start = load_start(self.start, dataset.tokenizer.vocab_size)
            model = code.started(shape.kind, dataset, start, **choices)
        else:
            model = LeafyChainModel(code.named_config(shape.kind, dataset, **shape.sizes, **choices))
        sampling = replace(
            self.sampling,
            batch_size=self.train.batch_size,
            seed=self.train.seed,
            shuffle_relations=self.shuffle_relations,
        )
        corpus = dataset.corpus.to(World.launched().device(self.train.device))
        drawn = code.course(model, corpus, sampling, self.train, weights=self.weights)

        def save(to: torch.dtype | None) -> None:
            model.save(self.out, dataset.tokenizer, to)
            if texts:
                dataset.schema.save(self.out / "schema.json")

        return replace(drawn, finish=self._saving(save))

    def _entities(self) -> Course[Any, Any]:
        dataset, shape = load_text_dataset(self.data), self.model
        choices: dict[str, Any] = {} if shape.graph else dict(text.WITHOUT_GRAPH)
        seed_everything(self.train.seed)
        if self.start is not None:
            model = text.from_pretrained(
                dataset, self.start, shared_layers=shape.shared_layers, tuned=shape.tuned, **choices
            )
        else:
            model = text.from_scratch(dataset, **shape.sizes, **choices)

        def save(to: torch.dtype | None) -> None:
            model.save(self.out, dataset.tokenizer.tokenizer, to)
            dataset.schema.save(self.out / "schema.json")

        drawn = text.course(
            model, dataset, self.train, shuffle_relations=self.shuffle_relations, unstated=self.unstated
        )
        return replace(drawn, finish=self._saving(save))

    def _saving(self, save: Callable[[torch.dtype | None], None]) -> Callable[[History], dict[str, float]]:
        def finish(history: History) -> dict[str, float]:
            save(torch.float16 if self.half else None)
            return history.final

        return finish
