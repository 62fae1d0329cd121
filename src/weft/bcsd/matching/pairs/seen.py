"""The functions of a file as scores see them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from weft.bcsd.represent.rows import Rows
from weft.bcsd.use.score import ScoreWeights, combined, with_operations, without_hubs

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Seen(NamedTuple):
    """The functions of a file as scores see them.

    Args:
        vectors: Embeddings, ``(functions, dimension)``.
        words: TF-IDF rows of the tokens.
        operations: TF-IDF rows of the operations, empty for a function that was not lifted.
    """

    vectors: NDArray[np.float32]
    words: Rows
    operations: Rows


class Scores(NamedTuple):
    """Hybrid scores, ``(functions of A, functions of B)``.

    Args:
        plain: Without the correction for hubs.
        corrected: With it.
    """

    plain: NDArray[np.float32]
    corrected: NDArray[np.float32]


def score(a: Seen, b: Seen, weights: ScoreWeights) -> Scores:
    """The hybrid scores of all pairs, as ``search`` computes them."""
    plain = combined(a.vectors, b.vectors, a.words, b.words, weights.lexical)
    plain = with_operations(plain, a.operations, b.operations, weights)
    return Scores(plain, without_hubs(plain, weights))
