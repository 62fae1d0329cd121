"""Function models on disk: network, idf of the tokens and score weights in one checkpoint; found by name or folder."""

from __future__ import annotations

import hashlib
import json
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
from weft.bcsd.use.named import DEFAULT_MODEL, find
from weft.bcsd.use.score import ScoreWeights
from weft.encoder.checkpoint.storage import load_model, read_config, save_model
from weft.encoder.checkpoint.tensors import own_tensors
from weft.errors import CheckpointError

_KIND = "bcsd"
#: What a model was trained on whose configuration does not say (``architectures``).
_TRAINED = ("x86_64", "aarch64")


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
    trained: tuple[str, ...] = _TRAINED


def save(
    directory: str | Path,
    network: FunctionModel,
    lexical: Lexical,
    weights: ScoreWeights,
    *,
    half: bool = False,
    trained: Sequence[str] = _TRAINED,
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
    if set(trained) != set(_TRAINED):
        values["architectures"] = list(trained)
    stored = StoredModel(network, torch.from_numpy(lexical.idf.copy()))
    save_model(directory, stored, values, kind=_KIND, dtype=torch.float16 if half else None)


def load(name_or_dir: str | Path = DEFAULT_MODEL) -> Loaded:
    """Load a shipped model by its name, or a model from its directory.

    Raises:
        CheckpointError: There is none, it is damaged, or it reads other tokens than this version makes.
    """
    directory = find(name_or_dir)

    def build(values: dict[str, Any]) -> StoredModel:
        network = FunctionModel(ModelConfig.from_dict(values["model"]))
        return StoredModel(network, torch.zeros(len(LEVELS) * len(load_vocabulary())))

    values = read_config(directory, _KIND)
    if (values.get("normaliser"), values.get("vocabulary")) != (NORMALISER_VERSION, load_vocabulary().digest):
        raise CheckpointError(
            "reads tokens of another normaliser or vocabulary than this version makes", where=str(directory)
        )
    stored = load_model(directory, build, _KIND)
    network = stored.network.eval()
    lexical = Lexical(stored.idf.numpy().astype(np.float32))
    trained = tuple(values.get("architectures", _TRAINED))
    return Loaded(network, lexical, ScoreWeights(**values["weights"]), version(network, lexical), trained)


def version(network: FunctionModel, lexical: Lexical) -> str:
    """A digest of the weights, the configuration, the idf, and what the tokens mean; 16 hex digits."""
    facts = [network.config.to_dict(), NORMALISER_VERSION, load_vocabulary().digest]
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode())
    for name, tensor in sorted(own_tensors(network).items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    digest.update(lexical.idf.tobytes())
    return digest.hexdigest()[:16]
