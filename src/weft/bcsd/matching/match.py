"""Two files that were read in, one :class:`Matching` out: embed, score, pair, leave out what is not sure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from weft.bcsd.matching.pairs.inlined import Inlining
from weft.bcsd.matching.pairs.pairing import Pairs, pair
from weft.bcsd.matching.pairs.seen import Seen, score
from weft.bcsd.matching.rule import Rule
from weft.bcsd.matching.side import Side
from weft.bcsd.represent.operations import operation_rows
from weft.bcsd.use.score import ScoreWeights
from weft.errors import LimitError

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from weft.bcsd.represent.rows import Rows

#: Pairs of functions up to which two files are compared: 1 GB of scores.
MOST_CELLS = 250_000_000
#: The highest score of two functions whose bytes differ.
HIGHEST_SCORE = 0.9999
#: Fewer blocks than this, on either side, and a match is marked ``tiny``.
TINY_BLOCKS = 5


class Vectors(Protocol):
    """The lexical half of an embedder."""

    def rows(self, functions: pa.Table) -> Rows:
        """Their weighted tokens."""
        ...


class Embeds(Protocol):
    """What matching needs of :class:`weft.bcsd.use.embedder.Embedder`."""

    @property
    def version(self) -> str: ...  # noqa: D102

    @property
    def weights(self) -> ScoreWeights: ...  # noqa: D102

    @property
    def lexical(self) -> Vectors: ...  # noqa: D102

    def embed(self, functions: pa.Table) -> NDArray[np.float32]:
        """L2-normalised rows, ``(functions, dimension)``."""
        ...


@dataclass(frozen=True)
class Matching:
    """Which function of A is which of B.

    Args:
        a: File A.
        b: File B.
        rows: Matched functions of A, ascending.
        columns: Their partners in B.
        scores: Hybrid scores without the hubness correction, at most :data:`HIGHEST_SCORE` unless the bytes are
            equal.
        ranks: Place of the partner among all functions of B by the corrected score, from 1.
        confidence: Of each match.
        pairs: What the assignment gave, the pairs below the floor included.
        calibrated: Whether confidences are probabilities: the rule was fitted with the model.
    """

    a: Side
    b: Side
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    scores: NDArray[np.float64]
    ranks: NDArray[np.int64]
    confidence: NDArray[np.float64]
    pairs: Pairs
    calibrated: bool = True

    def unmatched_a(self) -> list[int]:
        """Functions of A without a match."""
        return np.setdiff1d(np.arange(len(self.a)), self.rows).tolist()

    def unmatched_b(self) -> list[int]:
        """Functions of B without a match."""
        return np.setdiff1d(np.arange(len(self.b)), self.columns).tolist()


def match(a: Side, b: Side, embedder: Embeds, rule: Rule, floor: float | None = None) -> Matching:
    """Match the functions of two files.

    Args:
        a: File A.
        b: File B.
        embedder: Scores them.
        rule: Weighs scores against evidence, and says how sure a pair is.
        floor: Pairs less sure than this are left unmatched; None for the rule's own.

    Raises:
        LimitError: Too many functions to compare each with each.
    """
    check_size(a, b)
    seen = see(a, embedder), see(b, embedder)
    scored = score(*seen, embedder.weights)
    pairs = pair(scored, a, b, rule, inlining=Inlining(a, b, seen, embedder.weights))
    kept = pairs.confidence >= (rule.floor if floor is None else floor)
    rows, columns = pairs.rows[kept], pairs.columns[kept]
    corrected = scored.corrected
    chosen = corrected[rows, columns]
    # A tie takes the better place, so that rank 1 means that nothing scored higher.
    ranks = 1 + (corrected[rows] > chosen[:, None]).sum(axis=1)
    digests = (np.array(side.table.column("digest").to_pylist(), dtype=object) for side in (a, b))
    first, second = (digest[index] for digest, index in zip(digests, (rows, columns), strict=True))
    scores = np.minimum(scored.plain[rows, columns].astype(np.float64), HIGHEST_SCORE)
    scores[first == second] = 1.0
    calibrated = rule.model == embedder.version
    return Matching(a, b, rows, columns, scores, ranks, pairs.confidence[kept], pairs, calibrated)


def see(side: Side, embedder: Embeds) -> Seen:
    """What scores see of the functions of a file: each also together with what it calls, where that is known."""
    table = side.table
    return Seen(embedder.embed(table), embedder.lexical.rows(table), operation_rows(table))


def check_size(a: Side, b: Side) -> None:
    """Refuse what does not fit into memory.

    Raises:
        LimitError: More than :data:`MOST_CELLS` pairs.
    """
    if len(a) * len(b) > MOST_CELLS:
        raise LimitError(
            f"{len(a)} × {len(b)} functions are more pairs than {MOST_CELLS}",
            where=f"{a.path}, {b.path}",
            hint="leave small functions out: --min-blocks 5",
        )
