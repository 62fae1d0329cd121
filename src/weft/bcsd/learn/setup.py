"""A training run as a YAML file describes it: data, model, loss, schedule; in the end a model for use."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch

from weft.bcsd.evaluate.tasks import COLUMNS
from weft.bcsd.evaluate.tune import tune
from weft.bcsd.learn.contract import embed, train_contract
from weft.bcsd.learn.sampling import SamplingConfig
from weft.bcsd.learn.training import Learning, Validation, train_model
from weft.bcsd.model.config import ModelConfig
from weft.bcsd.model.function_model import FunctionModel
from weft.bcsd.represent.lexical import Lexical
from weft.bcsd.table import read_table
from weft.bcsd.use.embedder import Embedder
from weft.bcsd.use.score import ScoreWeights
from weft.bcsd.use.store import load, save
from weft.errors import CheckpointError, InputError
from weft.train import History, TrainConfig
from weft.train.distributed import World


@dataclass(frozen=True)
class Setup:
    """Everything that a run needs.

    Args:
        data: The table that `weft bcsd dataset` made.
        output: The model's folder; ``run/`` in it holds checkpoints and log.
        model: Sizes and options.
        sampling: How batches are drawn.
        learning: What is minimised.
        train: How.
        begin: A model to go on from: its weights are the start; ``model`` may read more instructions.
        half: Save the model in half precision.
        tune: Choose the weights of the hybrid score on the validation packages.
    """

    data: Path
    output: Path
    model: ModelConfig = field(default_factory=ModelConfig)
    sampling: SamplingConfig = field(default_factory=SamplingConfig)
    learning: Learning = field(default_factory=Learning)
    train: TrainConfig = field(default_factory=lambda: TrainConfig(steps=1000, learning_rate=1.2e-3))
    begin: Path | None = None
    half: bool = True
    tune: bool = True


@dataclass(frozen=True)
class Outcome:
    """What a run gave.

    Args:
        history: Of the training.
        weights: Of the hybrid score.
        validation: Mean Recall@1 on the validation packages with these weights; None without any.
    """

    history: History
    weights: ScoreWeights
    validation: float | None


def run_setup(setup: Setup, *, quiet: bool = False) -> Outcome:
    """Train, fit the idf, tune the score, save.

    Raises:
        InputError: The data set has no training package.
        CheckpointError: ``begin`` does not fit the model.
    """
    functions = read_table(setup.data, list(COLUMNS))
    training = functions.filter(pc.field("role") == "train")
    validation = functions.filter(pc.field("role") == "valid")
    if not training.num_rows:
        raise InputError("no function of a training package", where=str(setup.data))
    torch.manual_seed(setup.train.seed)
    if setup.model.kind == "contract":
        return _run_contract(setup, training, validation if validation.num_rows else None, quiet)
    model = FunctionModel(setup.model)
    lexical = fit_lexical(training)
    if setup.begin is None:
        model.weigh_tokens(torch.from_numpy(lexical.weights))
    else:
        _take_over(model, setup.begin)
    history = train_model(
        model,
        training,
        setup.sampling,
        setup.learning,
        setup.train,
        validation=validation if validation.num_rows else None,
        directory=setup.output / "run",
        quiet=quiet,
    )
    weights, recall = ScoreWeights(), None
    if World.launched().first:
        if setup.tune and validation.num_rows:
            weights, recall = tune(validation, Embedder(model.to("cpu"), lexical))
        save(setup.output, model, lexical, weights, half=setup.half)
    return Outcome(history, weights, recall)


def _run_contract(setup: Setup, training: pa.Table, validation: pa.Table | None, quiet: bool) -> Outcome:
    model, history = train_contract(
        setup.model,
        training,
        setup.sampling,
        setup.learning,
        setup.train,
        setup.output,
        validation=validation,
        quiet=quiet,
    )
    measure = None if validation is None else Validation(validation, partial(embed, setup.model))
    return Outcome(history, ScoreWeights(), None if measure is None else measure(model.eval())["recall"])


def fit_lexical(training: pa.Table) -> Lexical:
    """The idf of the training packages; a row marked as a duplicate is counted once, with its original."""
    once = training.filter(~pc.field("duplicate"))
    return Lexical.fit([once.slice(first, 20_000) for first in range(0, once.num_rows, 20_000)])


def _take_over(model: FunctionModel, begin: Path) -> None:
    tensors = load(begin).network.state_dict()
    mine = model.state_dict()
    differing = [
        name
        for name in {*tensors, *mine}
        if name not in tensors or name not in mine or np.shape(tensors[name]) != np.shape(mine[name])
    ]
    if differing:
        raise CheckpointError(f"does not fit the model: {sorted(differing)[0]} differs", where=str(begin))
    model.load_state_dict(tensors)
