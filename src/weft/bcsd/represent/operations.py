"""TF-IDF over the operations of lifted functions: what a function computes, whatever the processor."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from scipy import sparse

from weft.bcsd.represent.lexical import unit_rows

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
    ends, features = _lists(functions)
    held = np.bincount(features, minlength=FEATURES)
    number = int((np.diff(ends) > 0).sum())
    return (1 + np.log((1 + number) / (1 + held))).astype(np.float32)


def operation_rows(functions: pa.Table) -> sparse.csr_matrix:
    """TF-IDF by presence, L2-normalised.

        x_f = idf_f where the function has feature f, else 0        row = x / ‖x‖

    Args:
        functions: With or without the column :data:`COLUMN`.

    Returns:
        ``(functions, FEATURES)``; a row is empty where nothing is known of a function.
    """
    if COLUMN not in functions.column_names:
        return sparse.csr_matrix((functions.num_rows, FEATURES), dtype=np.float32)
    ends, features = _lists(functions)
    present = sparse.csr_matrix(
        (np.ones(len(features), np.float32), features, ends), shape=(functions.num_rows, FEATURES)
    )
    return unit_rows(present, operation_idf()[features])


def _lists(functions: pa.Table) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    column: Any = functions.column(COLUMN).combine_chunks()
    lengths = np.asarray(column.value_lengths().fill_null(0), np.int64)
    features = np.asarray(column.flatten()).astype(np.int32)
    return np.concatenate([[0], np.cumsum(lengths)]), features
