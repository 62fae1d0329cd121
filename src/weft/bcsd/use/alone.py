"""Embedding one function without torch: see :mod:`weft.bcsd.model.array_model`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from safetensors import SafetensorError

from weft.bcsd.model.array_model import ArrayModel, known
from weft.bcsd.model.config import ModelConfig
from weft.bcsd.represent.arrays import FunctionArrays
from weft.bcsd.represent.lexical import LEVELS, Lexical
from weft.bcsd.represent.vocabulary import load_vocabulary
from weft.bcsd.use.named import Precision, configuration, find, trained_on, version_of
from weft.encoder.checkpoint.record import SAFETENSORS, record_of, verify
from weft.errors import CheckpointError, ConfigError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_NETWORK, _IDF = "network.", "idf"


def fits(name_or_dir: str | Path, precision: Precision) -> bool:
    """Whether :class:`ArrayEmbedder` can stand for a model at a precision.

    Args:
        name_or_dir: A shipped model's name, or a model's directory.
        precision: ``"auto"`` is what costs least, and for one function that is double precision.

    Raises:
        CheckpointError: There is no such model.
    """
    try:
        config = ModelConfig.from_dict(configuration(find(name_or_dir))["model"])
    except (ConfigError, KeyError, TypeError):
        # Whoever loads it says what is wrong.
        return False
    return precision != "bf16" and known(config)


class ArrayEmbedder:
    """What :class:`weft.bcsd.use.embedder.Embedder` is for many functions, for one.

    Args:
        name_or_dir: A model that :func:`fits`.

    Raises:
        CheckpointError: It is damaged.
    """

    def __init__(self, name_or_dir: str | Path) -> None:
        # Slow to load beside what the others of this room need.
        from safetensors.numpy import load_file

        directory = find(name_or_dir)
        values = configuration(directory)
        verify(directory, record_of(directory))
        try:
            tensors = load_file(directory / SAFETENSORS)
        except SafetensorError as error:
            raise CheckpointError(
                f"damaged or truncated: {error}", where=str(directory / SAFETENSORS)
            ) from error
        idf = tensors.pop(_IDF, np.zeros(0)).astype(np.float32)
        if idf.shape != (len(LEVELS) * len(load_vocabulary()),):
            raise CheckpointError(f"the idf has shape {idf.shape}", where=str(directory / SAFETENSORS))
        network = {name.removeprefix(_NETWORK): tensor for name, tensor in tensors.items()}
        self._model = ArrayModel(
            ModelConfig.from_dict(values["model"]), network, str(directory / SAFETENSORS)
        )
        self.lexical = Lexical(idf)
        self.version = version_of(self._model.config.to_dict(), network, idf)
        #: Names of the architectures that the model was trained on.
        self.trained = trained_on(values)

    @property
    def dimension(self) -> int:
        """Width of an embedding."""
        return self._model.config.dimension

    def embed(self, functions: FunctionArrays | pa.Table) -> NDArray[np.float32]:
        """Embed functions, ``(functions, dimension)``: see :meth:`weft.bcsd.use.embedder.Embedder.embed`."""
        arrays = functions if isinstance(functions, FunctionArrays) else FunctionArrays.from_table(functions)
        return self._model.embed(arrays)
