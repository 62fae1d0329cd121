"""TF-IDF over the operations of lifted functions: what a function computes, whatever the processor."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from scipy import sparse

from weft.bcsd.represent.lexical import unit_rows
from weft.bcsd.represent.rows import OPERATIONS as INLINED
from weft.bcsd.represent.rows import Rows, blend, lists_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: The column of tables that holds the features, null where a function could not be lifted.
COLUMN = "operations"
FEATURES = 1 << 16
_IDF = Path(__file__).with_name("operations.npy")


@lru_cache(maxsize=1)
def operation_idf() -> NDArray[np.float32]:
    """The idf of each feature, ``(FEATURES,)``, counted over training packages by ``recipes/bcsd_operations.py``."""
    return np.load(_IDF, allow_pickle=False).astype(np.float32)


def count_idf(functions: pa.Table) -> NDArray[np.float32]:
    """The idf of each feature.

        idf_f = 1 + log((1 + n) / (1 + n_f))        n functions, n_f of them with feature f

    Args:
        functions: Training packages; never those that are searched or tested.
    """
    ends, features, _ = lists_of(functions, COLUMN)
    held = np.bincount(features, minlength=FEATURES)
    number = int((np.diff(ends) > 0).sum())
    return (1 + np.log((1 + number) / (1 + held))).astype(np.float32)


def operation_rows(functions: pa.Table) -> Rows:
    """TF-IDF by presence, L2-normalised, and the same blended with what callees compute.

        x_f = idf_f where the function has feature f, else 0        row = x / ‖x‖

    Args:
        functions: With or without the columns :data:`COLUMN` and :data:`weft.bcsd.represent.inlined.OPERATIONS`.

    Returns:
        ``(functions, FEATURES)``; a row is empty where nothing is known of a function.
    """
    if COLUMN not in functions.column_names:
        return Rows.alone(sparse.csr_matrix((functions.num_rows, FEATURES), dtype=np.float32))
    ends, features, _ = lists_of(functions, COLUMN)
    own = _weighed(ends, features)
    alone = unit_rows(own, operation_idf()[features])
    if INLINED not in functions.column_names:
        return Rows.alone(alone)
    ends, features, known = lists_of(functions, INLINED)
    added = _weighed(ends, features)
    return Rows(alone, blend(own, added), known) if known.any() else Rows.alone(alone)


def _weighed(ends: NDArray[np.int64], features: NDArray[np.int32]) -> sparse.csr_matrix:
    """Lists of features as rows of their idf."""
    return sparse.csr_matrix((operation_idf()[features], features, ends), shape=(len(ends) - 1, FEATURES))
