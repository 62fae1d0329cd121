"""The honest baseline, and the other half of the hybrid score: TF-IDF over all tokens of a function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from scipy import sparse

from weft.bcsd.represent.arrays import FunctionArrays
from weft.bcsd.represent.vocabulary import load_vocabulary
from weft.errors import InputError, ShapeError

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Lexical:
    """TF-IDF over mnemonics, operand tokens and constants, one feature for each token of the vocabulary.

        x_t  = (1 + log c_t) · idf_t        c_t: how often token t stands in the function
        idf_t = 1 + log((1 + n) / (1 + n_t))        n functions, n_t of them with t
        row  = x / ‖x‖

    Empty slots, padding and the like are no tokens. A function without any token of weight is a row of 0.

    Args:
        idf: ``(vocabulary,)``, 0 or more.

    Raises:
        ShapeError: Another number of weights than the vocabulary has tokens.

    Source:
        Salton & Buckley 1988; smoothing as in scikit-learn's ``TfidfVectorizer``.
    """

    def __init__(self, idf: NDArray[np.floating]) -> None:
        vocabulary = load_vocabulary()
        if idf.shape != (len(vocabulary),):
            raise ShapeError(f"idf has shape {idf.shape}; the vocabulary has {len(vocabulary)} tokens")
        self.idf = np.asarray(idf, dtype=np.float32)
        self._silent = silent_tokens()

    @classmethod
    def fit(cls, functions: pa.Table | Sequence[pa.Table]) -> Lexical:
        """Count in how many functions each token stands.

        Args:
            functions: The training packages; never those that are searched or tested.

        Raises:
            InputError: No functions.
        """
        tables = [functions] if isinstance(functions, pa.Table) else list(functions)
        held = np.zeros(len(load_vocabulary()), np.int64)
        number = 0
        for table in tables:
            arrays = FunctionArrays.from_table(table)
            held += np.bincount(token_counts(arrays).indices, minlength=len(held))
            number += len(arrays)
        if not number:
            raise InputError("no functions to count tokens in")
        return cls(1 + np.log((1 + number) / (1 + held)))

    def vectors(self, functions: pa.Table | FunctionArrays) -> sparse.csr_matrix:
        """The rows of functions, ``(functions, vocabulary)``, L2-normalised."""
        arrays = functions if isinstance(functions, FunctionArrays) else FunctionArrays.from_table(functions)
        counts = token_counts(arrays)
        idf = self.idf.copy()
        idf[self._silent] = 0
        values = ((1 + np.log(counts.data)) * idf[counts.indices]).astype(np.float32)
        row = np.repeat(np.arange(len(arrays)), np.diff(counts.indptr))
        norms = np.sqrt(np.bincount(row, weights=values.astype(np.float64) ** 2, minlength=len(arrays)))
        values /= np.maximum(norms, np.finfo(np.float32).tiny)[row].astype(np.float32)
        return sparse.csr_matrix((values, counts.indices, counts.indptr), shape=(len(arrays), len(idf)))


def silent_tokens() -> list[int]:
    """Ids that say nothing about a function: padding and other specials, and the empty slot."""
    vocabulary = load_vocabulary()
    return [vocabulary.ids[token] for token in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "none")]


def token_counts(arrays: FunctionArrays) -> sparse.csr_matrix:
    """How often each token stands in each function, ``(functions, vocabulary)``."""
    size = len(load_vocabulary())
    function = np.repeat(np.arange(len(arrays)), arrays.num_instructions * arrays.tokens.shape[1])
    keys, counts = np.unique(function * size + arrays.tokens.reshape(-1), return_counts=True)
    return sparse.csr_matrix((counts, (keys // size, keys % size)), shape=(len(arrays), size))
