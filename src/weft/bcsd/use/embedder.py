"""Functions to embeddings: the one thing that index, search, match and evaluation ask a model for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import torch

from weft.attention.operation import cpu_multiplies_bf16
from weft.bcsd.model.batch import collate
from weft.bcsd.model.function_model import FunctionModel
from weft.bcsd.represent.arrays import FunctionArrays
from weft.bcsd.represent.lexical import Lexical
from weft.bcsd.use.named import DEFAULT_MODEL, Precision, check_precision
from weft.bcsd.use.score import ScoreWeights
from weft.bcsd.use.store import load, version
from weft.platform.ranges import at_least
from weft.train.batching import to_device

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ROWS = 1 << 16
#: Sequences have lengths that it divides, and batches are powers of 2: a CPU's half precision compiles code for each
#: shape, and keeps it.
_MULTIPLE = 8


class Embedder:
    """A model that is ready for use.

    Args:
        network: The model; put into ``eval`` mode.
        lexical: TF-IDF of its training packages.
        weights: Of the hybrid score.
        device: Where it computes.
        precision: ``"auto"`` is bf16 where the processor multiplies it natively, else fp32.

    Raises:
        ConfigError: An unknown precision.
    """

    def __init__(
        self,
        network: FunctionModel,
        lexical: Lexical,
        weights: ScoreWeights | None = None,
        *,
        device: torch.device | str = "cpu",
        precision: Precision = "fp32",
    ) -> None:
        check_precision(precision)
        #: Names of the architectures that it was trained on; none where that is not known.
        self.trained: tuple[str, ...] = ()
        self.device = torch.device(device)
        self.network = network.to(self.device).eval()
        self.lexical = lexical
        self.weights = weights or ScoreWeights()
        self.version = version(network, lexical)
        faster = self.device.type != "cpu" or cpu_multiplies_bf16()
        self.half = precision == "bf16" or (precision == "auto" and faster)

    @staticmethod
    def load(
        name_or_dir: str | Path = DEFAULT_MODEL,
        *,
        device: torch.device | str = "cpu",
        precision: Precision = "fp32",
    ) -> Embedder:
        """Load a shipped model by its name, or a model from its directory.

        Raises:
            CheckpointError: There is none, or it is damaged.
        """
        loaded = load(name_or_dir)
        embedder = Embedder(
            loaded.network, loaded.lexical, loaded.weights, device=device, precision=precision
        )
        embedder.trained = loaded.trained
        return embedder

    @property
    def dimension(self) -> int:
        """Width of an embedding."""
        return self.network.config.dimension

    def embed(self, functions: pa.Table | FunctionArrays, batch_size: int = 64) -> NDArray[np.float32]:
        """Embed functions.

        Args:
            functions: With the columns ``tokens``, ``blocks`` and ``edges`` of the extraction's schema.
            batch_size: Functions computed together, at most; fewer where they are large.

        Returns:
            ``(functions, dimension)``, L2-normalised, in the table's order; the same for the same table.

        Raises:
            InputError: A column is missing, or a function is empty.
            ConfigError: A batch size below 1.
        """
        at_least(1, batch_size=batch_size)
        arrays = functions if isinstance(functions, FunctionArrays) else FunctionArrays.from_table(functions)
        out = np.zeros((len(arrays), self.dimension), dtype=np.float32)
        for chosen in _by_length(arrays, batch_size):
            batch = collate(arrays, chosen, self.network.config, multiple=_MULTIPLE)
            batch = to_device(batch, self.device)
            with torch.inference_mode(), torch.autocast(self.device.type, torch.bfloat16, enabled=self.half):
                out[chosen] = self.network(batch).embeddings.float().cpu().numpy()
        return out


def _by_length(arrays: FunctionArrays, batch_size: int) -> list[NDArray[np.int64]]:
    """All functions in batches of similar length, none with many more instructions than one needs.

    Batches hold a power of 2 of functions, but for a batch size that is none.
    """
    lengths = arrays.num_instructions
    order = np.argsort(lengths, kind="stable")
    batches: list[NDArray[np.int64]] = []
    begin = 0
    while begin < len(order):
        rest = len(order) - begin
        end = begin + (batch_size if rest >= batch_size else 1 << rest.bit_length() - 1)
        while end - begin > 1 and lengths[order[begin:end]].sum() > _ROWS:
            end = begin + (end - begin) // 2
        batches.append(order[begin:end])
        begin = end
    return batches
