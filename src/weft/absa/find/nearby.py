"""What a long text says of the user's categories, and where: by the passage that speaks of each most clearly."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from weft.absa.records import Context, Sentence
from weft.absa.use.asker import Asker
from weft.absa.use.passages import by_passages
from weft.absa.use.windows import Heard

Floats = NDArray[np.float64]
Places = dict[Context, tuple[int, int]]


def by_category(
    asker: Asker, sentences: Sequence[Sentence], rows: Sequence[Floats], categories: Sequence[Context]
) -> tuple[list[Floats], list[Places]]:
    """The answers, in which passages have a say about these questions, and the passage of each.

    Args:
        asker: The model.
        sentences: Texts, asked about these and other things.
        rows: What each answers in the whole, ``(contexts, classes)``.
        categories: The questions that passages are asked.

    Returns:
        The rows, and the passages' first characters and last + 1; a short text has none.
    """
    weight = asker.config.passage_weight
    if not categories or not weight:
        return [*rows], [{} for _ in sentences]
    asked = [Sentence(sentence.text, tuple(categories)) for sentence in sentences]
    columns = [[sentence.contexts.index(category) for category in categories] for sentence in sentences]
    whole = [Heard(own[at]) for own, at in zip(rows, columns, strict=True)]
    found: list[Floats] = []
    places: list[Places] = []
    for own, at, heard in zip(
        rows,
        columns,
        by_passages(asked, whole, weight, asker.in_whole().hear, without_paragraphs=0.0),
        strict=True,
    ):
        moved = own.copy()
        moved[at] = heard.rows
        found.append(moved)
        spans = [] if heard.beside_whole is None else heard.beside_whole.places.tolist()
        places.append(
            {c: (start, stop) for c, (start, stop) in zip(categories, spans, strict=False) if stop > 0}
        )
    return found, places
