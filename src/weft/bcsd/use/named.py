"""Function models by name, and what of them is known without loading any: torch takes a second."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, cast

from weft.bcsd.use.score import ScoreWeights
from weft.errors import CheckpointError, InputError
from weft.platform.models import find_model
from weft.platform.reading import read_object

DEFAULT_MODEL = "bcsd-small"
Precision = Literal["auto", "fp32", "bf16"]


def find(name_or_dir: str | Path) -> Path:
    """The directory of a model of this kind: see :func:`weft.platform.models.find_model`."""
    return find_model("bcsd", name_or_dir)


def score_weights(directory: Path) -> ScoreWeights:
    """The weights of the hybrid score that a model's configuration holds; whether it fits the tensors is not looked at.

    Raises:
        CheckpointError: It is no configuration of a model of functions.
    """
    try:
        values = cast("dict[str, Any]", read_object(directory / "config.json"))
        return ScoreWeights(**values["config"]["weights"])
    except (InputError, KeyError, TypeError) as error:
        raise CheckpointError("holds no model of functions", where=str(directory)) from error
