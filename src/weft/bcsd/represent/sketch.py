"""What functions compute, in a few numbers: near enough to find candidates by, among many rows."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: The column of tables; null where a function could not be lifted.
COLUMN = "sketch"
#: Numbers of a sketch.
DIMENSION = 128
#: Numbers that each feature is added to or taken from.
_SPREAD = 4


def sketches(rows: sparse.csr_matrix) -> NDArray[np.float32]:
    """Sketches of rows of features, L2-normalised; zeros for an empty row.

        z = x · R        R: each feature has ±½ at four places drawn once and for all, 0 elsewhere

    Their products are the rows' to about ±1 / √128, a standard deviation.

    Args:
        rows: x, ``(functions, features)``, of length 1 or empty.

    Returns:
        ``(functions, DIMENSION)``.

    Source:
        Kane and Nelson 2014, "Sparser Johnson–Lindenstrauss transforms".
    """
    product: Any = rows @ _projection(rows.get_shape()[1])
    dense = product.toarray().astype(np.float32)
    lengths = np.linalg.norm(dense, axis=1, keepdims=True)
    return dense / np.where(lengths > 0, lengths, 1)


@lru_cache(maxsize=1)
def _projection(features: int) -> sparse.csr_matrix:
    """R, ``(features, DIMENSION)``."""
    draw = np.random.Generator(np.random.PCG64(1))
    # One place in each quarter of the numbers: four that differ, with four draws.
    quarter = DIMENSION // _SPREAD
    places = draw.integers(0, quarter, (features, _SPREAD)) + quarter * np.arange(_SPREAD)
    signs = draw.integers(0, 2, (features, _SPREAD)) * 2 - 1
    ends = np.arange(0, features * _SPREAD + 1, _SPREAD)
    values = signs.ravel().astype(np.float32) / np.sqrt(_SPREAD).astype(np.float32)
    return sparse.csr_matrix((values, places.ravel(), ends), shape=(features, DIMENSION))
