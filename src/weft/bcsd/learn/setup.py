"""A training run as a YAML file describes it: data, model, loss, schedule; in the end a model for use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch

from weft.bcsd.evaluate.tasks import COLUMNS, HEADLINE, SETTINGS, Labels
from weft.bcsd.evaluate.tune import tune
from weft.bcsd.learn import contract
from weft.bcsd.learn.sampling import SamplingConfig
from weft.bcsd.learn.training import Learning, course
from weft.bcsd.model.config import ModelConfig
from weft.bcsd.model.function_model import FunctionModel
from weft.bcsd.represent.lexical import Lexical
from weft.bcsd.table import read_table
from weft.bcsd.use.embedder import Embedder
from weft.bcsd.use.score import ScoreWeights
from weft.bcsd.use.store import load, save
from weft.errors import CheckpointError, ConfigError, InputError
from weft.train import Course, History, TrainConfig


@dataclass(frozen=True)
class Setup:
    """Everything that a run needs.

    Args:
        data: The table that `weft bcsd dataset` made.
        out: The model's folder; ``run/`` in it holds checkpoints and log.
        model: Sizes and options.
        sampling: How batches are drawn.
        learning: What is minimised.
        train: How.
        begin: A model to go on from: its weights are the start; ``model`` may read more instructions. Rows of the
            token set that its training never saw (another processor's tokens) start as in a new model.
        half: Save the model in half precision.
        tune: Choose the weights of the hybrid score on the validation packages; else they are those of ``begin``.
    """

    data: Path
    out: Path
    model: ModelConfig = field(default_factory=ModelConfig)
    sampling: SamplingConfig = field(default_factory=SamplingConfig)
    learning: Learning = field(default_factory=Learning)
    train: TrainConfig = field(
        default_factory=lambda: TrainConfig(steps=1000, learning_rate=1.2e-3, metric="recall", mode="max")
    )
    begin: Path | None = None
    half: bool = True
    tune: bool = True

    def course(self) -> Course[Any, Any]:
        """Train, fit the idf, tune the score, save.

        Raises:
            ConfigError: A model that reads graphs of operations, which are in no table.
            InputError: The data set has no training package.
            CheckpointError: ``begin`` does not fit the model.
        """
        if self.model.reads_operations:
            raise ConfigError(
                "a model that reads graphs of operations, which a table does not hold",
                hint="recipes/bcsd_operations_graph.py trains one",
            )
        functions = read_table(self.data, [*COLUMNS, "architecture"])
        training = functions.filter(pc.field("role") == "train")
        validation = functions.filter(pc.field("role") == "valid")
        if not training.num_rows:
            raise InputError("no function of a training package", where=str(self.data))
        torch.manual_seed(self.train.seed)
        settings = [task.setting for task in Labels(validation).tasks("valid")] if validation.num_rows else []
        known = validation if settings else None
        notes = tuple(notes_about(validation, settings))
        if self.model.kind == "contract":
            drawn = contract.course(
                self.model, training, self.sampling, self.learning, self.train, self.out, validation=known
            )
            return replace(drawn, notes=notes)
        model = FunctionModel(self.model)
        lexical = fit_lexical(training)
        model.weigh_tokens(torch.from_numpy(lexical.weights))
        before = ScoreWeights() if self.begin is None else _take_over(model, self.begin)

        def finish(_history: History) -> dict[str, float]:
            weights, recall = before, {}
            if self.tune and known is not None:
                weights, found = tune(known, Embedder(model.to("cpu"), lexical))
                recall = {"recall": found}
            trained = sorted(set(training["architecture"].to_pylist()))
            save(self.out, model, lexical, weights, half=self.half, trained=trained)
            return {**asdict(weights), **recall}

        drawn = course(model, training, self.sampling, self.learning, self.train, validation=known)
        return replace(drawn, finish=finish, notes=notes)


def notes_about(validation: pa.Table, settings: Sequence[str]) -> Iterator[str]:
    """What a training should say about what it is measured by, where that is not what one would expect.

    Args:
        validation: Rows of the validation packages.
        settings: Those of which they have both builds.
    """
    unmeasured = "nothing is evaluated, the last weights are kept and the weights of the score are not tuned"
    if not validation.num_rows:
        yield f"no function of a validation package: {unmeasured}"
    elif not settings:
        there = ", ".join(sorted(set(validation["build"].to_pylist())))
        first = " and ".join(SETTINGS[HEADLINE[0]])
        yield (
            f"no function of at least 5 blocks of the validation packages is in both builds of a setting, as {first} "
            f"({there} are there): {unmeasured}"
        )
    elif missing := [name for name in HEADLINE if name not in settings]:
        yield (
            f"measured by {', '.join(settings)} alone: the validation packages lack a build of {', '.join(missing)}"
        )


def fit_lexical(training: pa.Table) -> Lexical:
    """The idf of the training packages; a row marked as a duplicate is counted once, with its original."""
    once = training.filter(~pc.field("duplicate"))
    return Lexical.fit([once.slice(first, 20_000) for first in range(0, once.num_rows, 20_000)])


def _take_over(model: FunctionModel, begin: Path) -> ScoreWeights:
    """Give a model the tensors of another; the other's weights of the score."""
    loaded = load(begin)
    tensors = loaded.network.state_dict()
    mine = model.state_dict()
    differing = [
        name
        for name in {*tensors, *mine}
        if name not in tensors or name not in mine or np.shape(tensors[name]) != np.shape(mine[name])
    ]
    if differing:
        raise CheckpointError(f"does not fit the model: {sorted(differing)[0]} differs", where=str(begin))
    if (table := mine.get("token_set.weight")) is not None:
        # What no function had has the highest idf that there is; rows as long as that would drown all others.
        unseen = torch.from_numpy(loaded.lexical.idf >= loaded.lexical.idf.max())
        tensors["token_set.weight"] = torch.where(
            unseen[:, None], table, tensors["token_set.weight"].to(table)
        )
    model.load_state_dict(tensors)
    return loaded.weights
