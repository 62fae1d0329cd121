"""The honest baseline, and the other half of the hybrid score: TF-IDF over all tokens of a function."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from scipy import sparse

from weft.bcsd.represent.arrays import FunctionArrays
from weft.bcsd.represent.rows import TOKENS, Rows, blend, lists_of
from weft.bcsd.represent.vocabulary import load_vocabulary
from weft.errors import InputError, ShapeError

if TYPE_CHECKING:
    from numpy.typing import NDArray


LEVELS = (1, 2, 4)
"""Counts from which on a token is one more feature: it stands once, twice, four times."""
CONSTANT_GAIN = 2.0
"""How much more a constant weighs than a mnemonic or an operand."""


class Lexical:
    """TF-IDF over mnemonics, operand tokens and constants, by presence.

        x_tl  = g_t · idf_tl^½ where token t stands at least LEVELS[l] times, else 0
        idf_tl = log((1 + n) / (1 + n_tl))        n functions, n_tl of them with token t so often
        row   = x / ‖x‖

    How often a token stands is mostly the optimisation level's doing (unrolled loops, spilled registers), so
    counts enter as levels, and above the first one for constants and calls alone. Targets of jumps, empty
    slots and padding are no tokens. The gains and the exponent were chosen on validation packages, where
    this is far better than counts times idf (``docs/log.md``).

    Args:
        idf: ``(levels · vocabulary,)``, 0 or more.

    Attributes:
        weights: ``(levels · vocabulary,)``, g_tl · idf_tl^½.

    Raises:
        ShapeError: Another number of weights than there are features.

    Source:
        Spärck Jones 1972 for the idf.
    """

    def __init__(self, idf: NDArray[np.floating]) -> None:
        size = len(LEVELS) * len(load_vocabulary())
        if idf.shape != (size,):
            raise ShapeError(f"idf has shape {idf.shape}; there are {size} features")
        self.idf = np.asarray(idf, dtype=np.float32)
        self.weights = (_gains() * np.sqrt(self.idf)).astype(np.float32)

    @classmethod
    def fit(cls, functions: pa.Table | Sequence[pa.Table]) -> Lexical:
        """Count in how many functions each token stands.

        Args:
            functions: The training packages; never those that are searched or tested.

        Raises:
            InputError: No functions.
        """
        tables = [functions] if isinstance(functions, pa.Table) else list(functions)
        held = np.zeros(len(LEVELS) * len(load_vocabulary()), np.int64)
        number = 0
        for table in tables:
            arrays = FunctionArrays.from_table(table)
            held += np.bincount(at_least(token_counts(arrays)).indices, minlength=len(held))
            number += len(arrays)
        if not number:
            raise InputError("no functions to count tokens in")
        return cls(np.log((1 + number) / (1 + held)))

    def vectors(self, functions: pa.Table | FunctionArrays) -> sparse.csr_matrix:
        """The rows of functions, ``(functions, features)``, L2-normalised; a row without weight is 0."""
        arrays = functions if isinstance(functions, FunctionArrays) else FunctionArrays.from_table(functions)
        held = at_least(token_counts(arrays))
        return unit_rows(held, self.weights[held.indices])

    def rows(self, functions: pa.Table, arrays: FunctionArrays | None = None) -> Rows:
        """The rows of functions, and the same blended with their callees' tokens where these are known.

        Args:
            functions: With or without the column :data:`weft.bcsd.represent.inlined.TOKENS`.
            arrays: The same functions, where they are at hand.
        """
        held = at_least(token_counts(arrays or FunctionArrays.from_table(functions)))
        own = unit_rows(held, self.weights[held.indices])
        if TOKENS not in functions.column_names:
            return Rows.alone(own)
        ends, features, known = lists_of(functions, TOKENS)
        if not known.any():
            return Rows.alone(own)
        held.data = self.weights[held.indices]
        added = sparse.csr_matrix((self.weights[features], features, ends), shape=held.get_shape())
        return Rows(own, blend(held, added), known)


def silent_tokens() -> list[int]:
    """Ids that say nothing about a function: padding and other specials, and the empty slot."""
    vocabulary = load_vocabulary()
    return [vocabulary.ids[token] for token in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "none")]


def token_counts(arrays: FunctionArrays) -> sparse.csr_matrix:
    """How often each token stands in each function, ``(functions, vocabulary)``."""
    function = np.repeat(np.arange(len(arrays)), arrays.num_instructions)
    return count_tokens(arrays.tokens, function, len(arrays))


def count_tokens(
    tokens: NDArray[np.uint16], function: NDArray[np.int64], functions: int
) -> sparse.csr_matrix:
    """How often each token stands in each function.

    Args:
        tokens: ``(instructions, 5)``.
        function: ``(instructions,)``, the function of each instruction.
        functions: Their number.

    Returns:
        ``(functions, vocabulary)``, tokens in order.
    """
    size = len(load_vocabulary())
    keys, counts = np.unique((function * size)[:, None] + tokens, return_counts=True)
    return sparse.csr_matrix((counts, (keys // size, keys % size)), shape=(functions, size))


def at_least(counts: sparse.csr_matrix) -> sparse.csr_matrix:
    """Whether each token stands so often: ``(functions, levels · vocabulary)``, one level after the other."""
    functions, size = counts.get_shape()
    row = np.repeat(np.arange(functions), np.diff(counts.indptr))
    there = [counts.data >= level for level in LEVELS]
    rows = np.concatenate([row[found] for found in there])
    columns = np.concatenate(
        [counts.indices[found] + level * size for level, found in enumerate(there)], dtype=np.int64
    )
    shape = (functions, len(LEVELS) * size)
    return sparse.csr_matrix((np.ones(len(rows), np.float32), (rows, columns)), shape=shape)


def unit_rows(matrix: sparse.csr_matrix, values: NDArray[np.floating]) -> sparse.csr_matrix:
    """The matrix with these values, its rows L2-normalised.

    Args:
        matrix: Says which entries there are.
        values: One for each of them.
    """
    rows = matrix.get_shape()[0]
    row = np.repeat(np.arange(rows), np.diff(matrix.indptr))
    norms = np.sqrt(np.bincount(row, weights=values.astype(np.float64) ** 2, minlength=rows))
    scaled = values / np.maximum(norms, np.finfo(np.float32).tiny)[row]
    return sparse.csr_matrix(
        (scaled.astype(np.float32), matrix.indices, matrix.indptr), shape=matrix.get_shape()
    )


@lru_cache(maxsize=1)
def _gains() -> NDArray[np.float32]:
    """The gain of every feature."""
    tokens = load_vocabulary().tokens
    constant = np.array([token.startswith(("h:", "i:", "d:")) for token in tokens])
    call = np.array([token.startswith(("call:", "tail:")) for token in tokens])
    silent = np.array([token.startswith("to:") for token in tokens])
    silent[silent_tokens()] = True
    once = np.where(constant, CONSTANT_GAIN, 1.0) * ~silent
    oftener = (constant | call).astype(float)
    return np.concatenate([once] + [oftener] * (len(LEVELS) - 1)).astype(np.float32)
