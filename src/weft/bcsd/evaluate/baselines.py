"""TF-IDF over counted tokens and over n-grams of mnemonics: what any model must be compared with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from weft.bcsd.represent.arrays import FunctionArrays
from weft.bcsd.represent.lexical import silent_tokens, token_counts, unit_rows
from weft.errors import ConfigError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BUCKETS = 1 << 18
_PRIME = 1_000_003


class TokenTfidf:
    """TF-IDF over mnemonics, operand tokens and constants, counted: the honest baseline.

        x_t = (1 + log c_t) · (1 + log((1 + n) / (1 + n_t)))        row = x / ‖x‖

    :class:`weft.bcsd.represent.lexical.Lexical` is what the hybrid score uses, by presence.

    Args:
        training: The functions whose tokens are counted for the idf.

    Source:
        As scikit-learn's ``TfidfVectorizer`` with ``sublinear_tf``.
    """

    def __init__(self, training: FunctionArrays) -> None:
        counts = token_counts(training)
        held = np.bincount(counts.indices, minlength=counts.get_shape()[1])
        self._idf = 1 + np.log((1 + len(training)) / (1 + held))
        self._idf[silent_tokens()] = 0

    def vectors(self, arrays: FunctionArrays) -> sparse.csr_matrix:
        """The rows of functions, ``(functions, vocabulary)``."""
        return _weighed(token_counts(arrays), self._idf)


class MnemonicNgrams:
    """TF-IDF over n-grams of mnemonics, hashed; rows are L2-normalised.

    Args:
        length: n.
        training: The functions whose n-grams are counted for the idf.

    Raises:
        ConfigError: A length below 1.
    """

    def __init__(self, length: int, training: FunctionArrays) -> None:
        if length < 1:
            raise ConfigError(f"n-grams of {length} mnemonics; at least 1 is needed")
        self.length = length
        held = np.bincount(self._counts(training).indices, minlength=_BUCKETS)
        self._idf = 1 + np.log((1 + len(training)) / (1 + held))

    def vectors(self, arrays: FunctionArrays) -> sparse.csr_matrix:
        """The rows of functions, ``(functions, buckets)``."""
        return _weighed(self._counts(arrays), self._idf)

    def _counts(self, arrays: FunctionArrays) -> sparse.csr_matrix:
        """How often each n-gram stands in each function; functions shorter than n have one shorter gram."""
        mnemonic = arrays.tokens[:, 0].astype(np.int64)
        function = np.repeat(np.arange(len(arrays)), arrays.num_instructions)
        left: NDArray[np.int64] = np.repeat(arrays.first_instruction[1:], arrays.num_instructions)
        left = left - np.arange(len(mnemonic))
        key = np.zeros(len(mnemonic), np.int64)
        for place in range(self.length):
            following = np.roll(mnemonic, -place)
            key = key * _PRIME + np.where(left > place, following + 1, 0)
        whole = (left >= self.length) | (np.repeat(arrays.num_instructions, arrays.num_instructions) == left)
        bucket = (key[whole] * 0x9E3779B1 >> 13) % _BUCKETS
        pairs, counts = np.unique(function[whole] * _BUCKETS + bucket, return_counts=True)
        return sparse.csr_matrix(
            (counts, (pairs // _BUCKETS, pairs % _BUCKETS)), shape=(len(arrays), _BUCKETS)
        )


def _weighed(counts: sparse.csr_matrix, idf: NDArray[np.floating]) -> sparse.csr_matrix:
    return unit_rows(counts, (1 + np.log(counts.data)) * idf[counts.indices])
