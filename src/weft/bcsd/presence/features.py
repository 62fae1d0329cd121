"""What tells a function that is in an index from one that is not: its best hit, seen from several sides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Of one hit alone, in the order of the coefficients; see :func:`lead`.
ALONE = (
    "likeness",
    "lead",
    "above",
    "size",
    "lead_operations",
    "lead_tokens",
    "lead_learned",
    "blocks",
    "disagreement",
    "processor",
)
#: Of a hit among those of the other functions of the file; see :func:`contest`.
CONTEST = ("lost", "won")
#: Of what a hit calls, and who calls it; see :func:`agreeing`.
AGREEING = ("agreement", "agreement_lead")
#: Of a hit among those of the file in the same library; see :func:`company`.
COMPANY = ("company",)
#: Share of the functions that are in an index, as far as nothing is known of file and index.
PRESENT = 0.1
#: So many more leads are thought to be in each library, so that a few do not lift one another.
_FURTHER = 5
#: Between these a margin counts.
LEAST, MOST = -0.2, 0.3
#: So many of the nearest functions of other code say how crowded a place is.
CROWD = 3
#: How names begin that a disassembler gave.
UNNAMED = "sub_"


class Pool(NamedTuple):
    """What is known of some functions of an index, each field ``(candidates,)``."""

    digests: NDArray[Any]
    names: NDArray[Any]
    instructions: NDArray[Any]
    blocks: NDArray[Any]
    processors: NDArray[Any]

    def same(self, one: int) -> NDArray[np.bool_]:
        """Which of them are the function ``one`` again: the same tokens, or the same symbol (another version)."""
        alike = self.digests == self.digests[one]
        return alike if str(self.names[one]).startswith(UNNAMED) else alike | (self.names == self.names[one])


class Terms(NamedTuple):
    """How alike a query and the candidates are, each field ``(candidates,)``.

    Args:
        learned: The learned cosine.
        tokens: The cosine of tokens.
        operations: The cosine of what they compute; 0 where one of the two was not lifted.
        plain: The hybrid score without the correction for hubs.
    """

    learned: NDArray[Any]
    tokens: NDArray[Any]
    operations: NDArray[Any]
    plain: NDArray[Any]


class Asked(NamedTuple):
    """A query."""

    instructions: int
    blocks: int
    processor: str


class Lead(NamedTuple):
    """The best hit of one query, and what is needed to see it among those of the file.

    Args:
        features: ``(len(ALONE),)``.
        row: Of the hit.
        plain: Its plain score.
        code: The digest of the query's tokens.
        library: What the hit is in: a file, or an archive.
        rows: Of all candidates.
        scores: Their plain scores.
        agreeing: ``(len(AGREEING),)``; zeros for a query that is asked for by itself.
    """

    features: NDArray[np.float64]
    row: int
    plain: float
    code: str
    library: str
    rows: NDArray[Any]
    scores: NDArray[Any]
    agreeing: NDArray[np.float64]


def lead(asked: Asked, pool: Pool, terms: Terms, best: int) -> NDArray[np.float64]:
    """The features of a query's best candidate, as far as they are known without its :func:`crowd`.

    | name | |
    |---|---|
    | ``likeness`` | the plain score |
    | ``lead`` | what it is above the best candidate of other code |
    | ``above`` | what it is above the candidate's crowd, which :func:`crowded` puts in |
    | ``size`` | log₂ of the instructions of the shorter function |
    | ``lead_…`` | as ``lead``, by one of the three terms |
    | ``blocks`` | how far the numbers of blocks differ, as a factor: its log₂ |
    | ``disagreement`` | by how many of the three terms a candidate of other code is nearer |
    | ``processor`` | 1 where both are code of one processor |

    Args:
        asked: The query.
        pool: The candidates.
        terms: How alike they are.
        best: Which of them is the best.

    Returns:
        ``(len(ALONE),)``.
    """
    other = ~pool.same(best)
    alone = not other.any()

    def margin(values: NDArray[Any]) -> float:
        rival = 0.0 if alone else float(values[other].max())
        return min(max(float(values[best]) - rival, LEAST), MOST)

    three = [margin(values) for values in (terms.operations, terms.tokens, terms.learned)]
    shorter = max(min(asked.instructions, int(pool.instructions[best])), 1)
    factor = np.log2(max(asked.blocks, 1) / max(int(pool.blocks[best]), 1))
    return np.array(
        [
            terms.plain[best],
            margin(terms.plain),
            terms.plain[best],
            np.log2(shorter),
            *three,
            abs(factor),
            sum(value < 0 for value in three),
            asked.processor == pool.processors[best],
        ],
        dtype=np.float64,
    )


def crowded(one: Lead, crowd: float) -> Lead:
    """A lead whose hit's :func:`crowd` is known."""
    features = one.features.copy()
    features[ALONE.index("above")] -= crowd
    return one._replace(features=features)


def agreeing(pool: Pool, agreement: NDArray[Any], best: int) -> NDArray[np.float64]:
    """The agreement of the best candidate's calls with the query's, and what it is above the best one of other code.

    Args:
        pool: The candidates.
        agreement: D of :func:`weft.bcsd.use.search.agreement.agreement`, ``(candidates,)``.
        best: Which of them is the best.

    Returns:
        ``(len(AGREEING),)``.
    """
    others = ~pool.same(best)
    rival = float(agreement[others].max()) if others.any() else 0.0
    return np.array([agreement[best], agreement[best] - rival], dtype=np.float64)


def crowd(scores: NDArray[Any], references: NDArray[Any], digests: NDArray[Any]) -> NDArray[np.float64]:
    """How crowded the place of each candidate is.

    Args:
        scores: Plain scores of some functions of the index, ``(references, candidates)``.
        references: Their digests.
        digests: Of the candidates.

    Returns:
        ``(candidates,)``: the mean of the :data:`CROWD` best with other code; 0 where there are fewer.
    """
    if len(scores) < CROWD:
        return np.zeros(scores.shape[1])
    places: dict[Any, list[int]] = {}
    for row, digest in enumerate(references.tolist()):
        places.setdefault(digest, []).append(row)
    others = scores.copy()
    for column, digest in enumerate(digests.tolist()):
        if digest in places:
            others[places[digest], column] = -1.0
    return np.partition(others, len(others) - CROWD, axis=0)[-CROWD:].mean(axis=0)


def contest(leads: list[Lead]) -> NDArray[np.float64]:
    """What each lead is above the other functions of the file that are near to the same hit.

    A function that is not in an index often has a near relative there. If the relative itself is in the file, it is
    nearer still.

    Returns:
        ``(leads, 2)``: what was lost, at most 0, and what was won, at least 0.
    """
    wanted = {one.row for one in leads}
    rows = np.concatenate([one.rows for one in leads]) if leads else np.zeros(0, np.int64)
    askers = np.repeat(np.arange(len(leads)), [len(one.rows) for one in leads])
    scores = np.concatenate([one.scores for one in leads]) if leads else np.zeros(0)
    kept = np.flatnonzero(np.isin(rows, np.array(sorted(wanted), dtype=rows.dtype)))
    kept = kept[np.lexsort((-scores[kept], rows[kept]))]
    # The two best askers of each row whose code differs.
    best: dict[int, list[tuple[str, float]]] = {}
    for row, asker, score in zip(
        rows[kept].tolist(), askers[kept].tolist(), scores[kept].tolist(), strict=True
    ):
        first = best.setdefault(row, [])
        if len(first) < 2 and all(code != leads[asker].code for code, _ in first):
            first.append((leads[asker].code, score))
    margins = np.full(len(leads), MOST)
    for number, one in enumerate(leads):
        rival = next((score for code, score in best.get(one.row, ()) if code != one.code), None)
        if rival is not None:
            margins[number] = min(max(one.plain - rival, LEAST), MOST)
    return np.stack([np.minimum(margins, 0), np.maximum(margins, 0)], axis=1)


def company(leads: list[Lead], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """Which share of the other leads of the file into the same library is expected to be right.

        q_i = (Σ_{j ≠ i, same library} p_j + 5π) / (n_i + 5)        x_i = ln(q_i / (1 − q_i))

    with n_i the other leads into that library and π = :data:`PRESENT`, as if five more were right as often as any. It
    is the share, not the number: of a large file that shares much with a library many leads are right, and that says
    nothing of what it does not share.

    Args:
        leads: Of a file.
        right: p of each.

    Returns:
        ``(leads, 1)``.
    """
    names = np.array([one.library for one in leads], dtype=object)
    _, which = np.unique(names.astype(str), return_inverse=True)
    sums, counts = np.bincount(which, right, minlength=1), np.bincount(which, minlength=1)
    others = counts[which] - 1
    shares = (np.maximum(sums[which] - right, 0) + _FURTHER * PRESENT) / (others + _FURTHER)
    return np.log(shares / (1 - shares))[:, None]
