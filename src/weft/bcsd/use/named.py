"""Function models by name, and what of them is known without loading any: torch takes a second."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from weft.bcsd.represent import NORMALISER_VERSION, load_vocabulary
from weft.bcsd.use.score import ScoreWeights
from weft.encoder.checkpoint.record import read_config
from weft.errors import CheckpointError, ConfigError, InputError
from weft.platform.models import find_model
from weft.platform.reading import read_object

if TYPE_CHECKING:
    from numpy.typing import NDArray

DEFAULT_MODEL = "bcsd-small"
Precision = Literal["auto", "fp32", "bf16"]

#: What the record of a model of functions says that it is.
KIND = "bcsd"
#: What a model was trained on whose configuration does not say (``architectures``).
TRAINED = ("x86_64", "aarch64")


def check_precision(precision: Precision) -> None:
    """Refuse what is no :data:`Precision`.

    Raises:
        ConfigError: It is none.
    """
    if precision not in ("auto", "fp32", "bf16"):
        raise ConfigError(f"precision is {precision!r}; it must be auto, fp32 or bf16")


def find(name_or_dir: str | Path) -> Path:
    """The directory of a model of this kind: see :func:`weft.platform.models.find_model`."""
    return find_model("bcsd", name_or_dir)


def score_weights(directory: Path) -> ScoreWeights:
    """The weights of the hybrid score that a model's configuration holds; whether it fits the tensors is not looked at.

    Raises:
        CheckpointError: It is no configuration of a model of functions.
    """
    try:
        values = read_object(directory / "config.json")
        return ScoreWeights(**values["config"]["weights"])
    except (InputError, KeyError, TypeError) as error:
        raise CheckpointError("holds no model of functions", where=str(directory)) from error


def configuration(directory: Path) -> dict[str, Any]:
    """What a model of functions was saved with.

    Raises:
        CheckpointError: It is none, or reads other tokens than this version makes.
    """
    values = read_config(directory, KIND)
    if (values.get("normaliser"), values.get("vocabulary")) != (NORMALISER_VERSION, load_vocabulary().digest):
        raise CheckpointError(
            "reads tokens of another normaliser or vocabulary than this version makes", where=str(directory)
        )
    return values


def trained_on(values: Mapping[str, Any]) -> tuple[str, ...]:
    """Names of the architectures in a model's training data, by its configuration."""
    return tuple(values.get("architectures", TRAINED))


def version_of(
    config: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]], idf: NDArray[np.float32]
) -> str:
    """A digest of the weights, the configuration, the idf, and what the tokens mean; 16 hex digits.

    Args:
        config: Of the network, as plain values.
        tensors: Of the network; those of half precision count as what they are in single.
        idf: Of the tokens.
    """
    facts = [dict(config), NORMALISER_VERSION, load_vocabulary().digest]
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(name.encode())
        single = tensor.astype(np.float32) if tensor.dtype == np.float16 else tensor
        digest.update(np.ascontiguousarray(single).tobytes())
    digest.update(idf.tobytes())
    return digest.hexdigest()[:16]
