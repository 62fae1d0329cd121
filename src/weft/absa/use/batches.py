"""Which texts go through the model together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

# Tokens of one pass on a CPU: what a layer makes of them stays in a processor's cache.
CPU_TOKENS = 1536
# Fewer are not worth a thread of their own.
_LEAST_TOKENS = 192


def batches(
    lengths: Sequence[int],
    questions: Sequence[int],
    sizes: Sequence[int],
    most_questions: int,
    threads: int | None = None,
) -> Iterator[list[int]]:
    """Texts of similar length together, up to so many questions or the tokens of a pass.

    Args:
        lengths: The tokens of each text.
        questions: How many are asked of each.
        sizes: The tokens that the model reads for each.
        most_questions: Of a batch; a text with more is a batch of its own.
        threads: Of a CPU, where each thread takes a batch; None bounds no tokens.
    """
    most = math.inf
    if threads is not None:
        # As many passes as threads, where there is work for them.
        most = min(CPU_TOKENS, max(_LEAST_TOKENS, math.ceil(sum(sizes) / threads)))
    batch: list[int] = []
    asked = tokens = 0
    # The longest first: at the end, where a thread may have nothing left to do, passes are short.
    for i in sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True):
        if batch and (asked + questions[i] > most_questions or tokens >= most):
            yield batch
            batch, asked, tokens = [], 0, 0
        batch.append(i)
        asked += questions[i]
        tokens += sizes[i]
    if batch:
        yield batch
