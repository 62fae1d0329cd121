"""Function models on disk: network, idf of the tokens and score weights in one checkpoint; found by name or folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from weft.bcsd.model.config import ModelConfig
from weft.bcsd.model.function_model import FunctionModel
from weft.bcsd.represent import NORMALISER_VERSION, load_vocabulary
from weft.bcsd.represent.lexical import LEVELS, Lexical
from weft.bcsd.use.named import (
    DEFAULT_MODEL,
    KIND,
    TRAINED,
    configuration,
    find,
    trained_on,
    version_of,
)
from weft.bcsd.use.score import ScoreWeights
from weft.encoder.checkpoint.storage import load_model, save_model
from weft.encoder.checkpoint.tensors import own_tensors


class StoredModel(nn.Module):
    """The tensors of a checkpoint: the network, and the idf of the tokens.

    Args:
        network: The model.
        idf: ``(levels · vocabulary,)``.
    """

    idf: Tensor

    def __init__(self, network: FunctionModel, idf: Tensor) -> None:
        super().__init__()
        self.network = network
        self.register_buffer("idf", idf)


@dataclass(frozen=True, eq=False)
class Loaded:
    """A model with what belongs to it.

    Args:
        network: In ``eval`` mode.
        lexical: The TF-IDF of its training packages.
        weights: Of the hybrid score.
        version: A digest of everything that an embedding or a lexical row depends on.
        trained: Names of the architectures in its training data.
    """

    network: FunctionModel
    lexical: Lexical
    weights: ScoreWeights
    version: str
    trained: tuple[str, ...] = TRAINED


def save(
    directory: str | Path,
    network: FunctionModel,
    lexical: Lexical,
    weights: ScoreWeights,
    *,
    half: bool = False,
    trained: Sequence[str] = TRAINED,
) -> None:
    """Save a model, atomically.

    Args:
        directory: Where to; made where absent.
        network: The model.
        lexical: Fitted on its training packages.
        weights: Tuned on its validation packages.
        half: Store floating tensors in half precision.
        trained: Names of the architectures in its training data.

    Raises:
        CheckpointError: It cannot be written.
    """
    values: dict[str, Any] = {
        "model": network.config.to_dict(),
        "weights": asdict(weights),
        "normaliser": NORMALISER_VERSION,
        "vocabulary": load_vocabulary().digest,
    }
    if set(trained) != set(TRAINED):
        values["architectures"] = list(trained)
    stored = StoredModel(network, torch.from_numpy(lexical.idf.copy()))
    save_model(directory, stored, values, kind=KIND, dtype=torch.float16 if half else None)


def load(name_or_dir: str | Path = DEFAULT_MODEL) -> Loaded:
    """Load a shipped model by its name, or a model from its directory.

    Raises:
        CheckpointError: There is none, it is damaged, or it reads other tokens than this version makes.
    """
    directory = find(name_or_dir)

    def build(values: dict[str, Any]) -> StoredModel:
        network = FunctionModel(ModelConfig.from_dict(values["model"]))
        # In single precision, whatever torch makes by default: an index knows the model by its numbers.
        return StoredModel(network, torch.zeros(len(LEVELS) * len(load_vocabulary()))).float()

    values = configuration(directory)
    stored = load_model(directory, build, KIND)
    network = stored.network.eval()
    lexical = Lexical(stored.idf.numpy().astype(np.float32))
    weights = ScoreWeights(**values["weights"])
    return Loaded(network, lexical, weights, version(network, lexical), trained_on(values))


def version(network: FunctionModel, lexical: Lexical) -> str:
    """A digest of a model: :func:`weft.bcsd.use.named.version_of`."""
    tensors = {name: tensor.detach().cpu().numpy() for name, tensor in own_tensors(network).items()}
    return version_of(network.config.to_dict(), tensors, lexical.idf)
