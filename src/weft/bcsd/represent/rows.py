"""Sparse unit rows of functions: each as it is, and with what its callees would bring if they were inlined."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from scipy import sparse

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: The columns of tables that hold the features that callees add; null where it is not known what a function calls.
TOKENS, OPERATIONS = "inlined_tokens", "inlined_operations"
#: Share w of a function with its callees beside the function as it is; chosen on validation packages.
SHARE = 0.7


@dataclass(frozen=True, eq=False)
class Rows:
    """Functions as rows of weighted features, ``(functions, features)``, L2-normalised or empty.

    Args:
        own: Of each function alone.
        blended: Of each function and its callees: see :func:`blend`; where nothing is known of them, as ``own``.
        known: ``(functions,)``, whether it is known what each calls.
    """

    own: sparse.csr_matrix
    blended: sparse.csr_matrix
    known: NDArray[np.bool_]

    @staticmethod
    def alone(own: sparse.csr_matrix) -> Rows:
        """Functions of whose callees nothing is known."""
        return Rows(own, own, np.zeros(own.get_shape()[0], bool))

    def __getitem__(self, chosen: Any) -> Rows:
        """Some of the functions, in that order; one alone is still rows."""
        chosen = slice(chosen, chosen + 1) if isinstance(chosen, int) else chosen
        own: Any = self.own
        blended: Any = self.blended
        some: Any = own[chosen]
        return Rows(some, some if blended is own else blended[chosen], self.known[chosen])

    def __len__(self) -> int:
        return len(self.known)

    @property
    def nnz(self) -> int:
        """Features of all functions alone."""
        return self.own.nnz

    @property
    def present(self) -> NDArray[np.bool_]:
        """Which functions have any feature."""
        return np.diff(self.own.indptr) > 0

    def products(self, others: Rows) -> NDArray[np.float32]:
        """The cosines of all pairs, ``(functions, others)``: with callees where both sides' are known, else without.

        An object of an archive does not hold what it calls; a whole program does. Compared with callees, the same
        function would differ between the two.
        """
        both = np.outer(self.known, others.known)
        if both.all() and both.size:
            return _products(self.blended, others.blended)
        alone = _products(self.own, others.own)
        return np.where(both, _products(self.blended, others.blended), alone) if both.any() else alone


def lists_of(
    functions: pa.Table, column: str
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.bool_]]:
    """A column of lists of features: where each ends, the features of all, and where there is a list."""
    held: Any = functions.column(column).combine_chunks()
    lengths = np.asarray(held.value_lengths().fill_null(0), np.int64)
    features = np.asarray(held.flatten()).astype(np.int32)
    known = np.asarray(held.is_valid().to_numpy(zero_copy_only=False), bool)
    return np.concatenate([[0], np.cumsum(lengths)]), features, known


def blend(own: sparse.csr_matrix, added: sparse.csr_matrix) -> sparse.csr_matrix:
    """Functions beside what they are with their callees.

        row = unit((1 − w) · unit(x) + w · unit(x + a))        w = :data:`SHARE`

    A compiler that inlines puts a callee's work into the caller. Half as it is and half with its callees, a function
    is near to both of what it may have become.

    Args:
        own: x, the weights of each function's features, not normalised.
        added: a, those of the features that only its callees have.

    Returns:
        Rows of length 1; empty where ``own`` is.
    """
    alone, more = _squares(own), _squares(added)
    more = np.where(alone > 0, more, 0)
    norm, joined = np.sqrt(np.maximum(alone, _TINY)), np.sqrt(np.maximum(alone + more, _TINY))
    of_own, of_added = (1 - SHARE) / norm + SHARE / joined, np.where(alone > 0, SHARE / joined, 0)
    length = np.sqrt(np.maximum(of_own**2 * alone + of_added**2 * more, _TINY))
    both: Any = scaled(own, of_own / length) + scaled(added, of_added / length)
    result = both.astype(np.float32)
    result.eliminate_zeros()
    result.sort_indices()
    return result


def scaled(matrix: sparse.csr_matrix, factors: NDArray[np.float64]) -> sparse.csr_matrix:
    """Each row times its factor, in double precision."""
    data = matrix.data * np.repeat(factors, np.diff(matrix.indptr))
    return sparse.csr_matrix((data, matrix.indices, matrix.indptr), matrix.get_shape())


_TINY = 1e-30


def _squares(matrix: sparse.csr_matrix) -> NDArray[np.float64]:
    """The squared length of each row."""
    rows = matrix.get_shape()[0]
    row = np.repeat(np.arange(rows), np.diff(matrix.indptr))
    return np.bincount(row, weights=matrix.data.astype(np.float64) ** 2, minlength=rows).astype(np.float64)


def _products(rows: sparse.csr_matrix, others: sparse.csr_matrix) -> NDArray[np.float32]:
    shared: Any = rows @ others.T
    return shared.toarray()
