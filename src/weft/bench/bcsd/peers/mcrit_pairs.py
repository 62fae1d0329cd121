"""MCRIT's MinHash of a function: 64 minima over escaped instructions in threes and over statistics of the function."""

from __future__ import annotations

import contextlib
import io
import logging
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.bcsd.read import open_image
from weft.errors import MissingExtraError

if TYPE_CHECKING:
    from numpy.typing import NDArray


class MinHashes:
    """Functions by smda, compared as MCRIT compares them by its own settings.

    Raises:
        MissingExtraError: MCRIT is not installed.
    """

    name = "MinHash (MCRIT)"

    def __init__(self) -> None:
        try:
            from mcrit.config.MinHashConfig import MinHashConfig  # pyright: ignore[reportMissingImports]
            from mcrit.config.ShinglerConfig import ShinglerConfig  # pyright: ignore[reportMissingImports]
            from mcrit.minhash.MinHasher import MinHasher  # pyright: ignore[reportMissingImports]
            from smda.Disassembler import Disassembler  # pyright: ignore[reportMissingImports]
        except ImportError as error:
            raise MissingExtraError("mcrit", "peers") from error
        logging.getLogger().setLevel(logging.ERROR)
        self._hasher: Any = MinHasher(MinHashConfig(), ShinglerConfig())
        self._smda: Any = Disassembler
        self._read = lru_cache(maxsize=None)(self._signatures)

    def partners(self, a: Path, b: Path) -> Mapping[int, Mapping[int, float]]:
        """Of each function of A the one of B with which most of the 64 minima agree; ties share alike."""
        asked, there = self._read(a), self._read(b)
        if not asked or not there:
            return {}
        addresses = list(there)
        base = np.stack(list(there.values()))
        chosen: dict[int, dict[int, float]] = {}
        for address, signature in asked.items():
            agree = (base == signature).sum(axis=1)
            best = np.flatnonzero(agree == agree.max())
            chosen[address] = {addresses[row]: 1 / len(best) for row in best}
        return chosen

    def _signatures(self, path: Path) -> dict[int, NDArray[np.uint8]]:
        """The signature of each function that MCRIT would hash, by address; empty where smda cannot read the file."""
        with contextlib.redirect_stdout(io.StringIO()):
            report = self._smda().disassembleFile(str(path))
        if report is None or report.status != "ok":
            return {}
        regions = open_image(path).data_map.regions
        # smda may map position-independent files at a base of its own.
        shift = regions[0].start - report.base_addr if regions else 0
        found: dict[int, NDArray[np.uint8]] = {}
        for function in report.getFunctions():
            if self._hasher.isMinHashableFunction(function):
                hashed = self._hasher.calculateMinHashFromStorage((function.offset, function))
                found[function.offset + shift] = np.frombuffer(hashed.getMinHash(), np.uint8)
        return found
