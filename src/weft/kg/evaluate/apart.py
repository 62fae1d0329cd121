"""How sure a fact of a long text is, by how far apart its names stand: learnt from documents read together."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np

from weft.kg.evaluate.confidence import Confidence
from weft.kg.evaluate.raw import judge
from weft.kg.extraction.entities import EntityExtractor
from weft.kg.read.apart import Breaks, in_paragraphs
from weft.kg.read.documents import TextDocument
from weft.kg.read.together import in_groups

_SIZES = (1, 3, 9)
"""Documents that are one text: of a long text nobody says how many subjects it has."""


def apart_answers(
    bare: EntityExtractor, documents: Sequence[TextDocument], prior: int
) -> list[tuple[float, int, int, bool, bool]]:
    """Answers for :meth:`Confidence.with_apart`: documents one by one, by threes and by nines, cut into paragraphs.

    Every answer is there twice: as of a text with paragraphs and as of one without. Its confidence was learnt from the
    documents of the other groups of nine, as it will be of a text that nobody has seen; none from a
    single group.

    Args:
        bare: Without confidences.
        documents: With given mentions and facts; no training saw them.
        prior: See :meth:`Confidence.fit`.
    """
    most = max(_SIZES)
    texts = [in_paragraphs(document, Random(number)) for number, document in enumerate(documents)]
    joined = {size: in_groups(texts, size)[0] for size in _SIZES}
    judged = {size: judge(bare, joined[size]) for size in _SIZES}
    answers: list[tuple[float, int, int, bool, bool]] = []
    groups = -(-len(texts) // most)
    for group in range(groups if groups > 1 else 0):
        others = Confidence.fit(
            (
                (item.fact.relation, item.fact.confidence, item.gold is not None)
                for item in judged[1]
                if item.document // most != group
            ),
            prior=prior,
        )
        for size, items in judged.items():
            for item in items:
                if item.document * size // most != group:
                    continue
                raw = np.array([item.fact.confidence])
                sure = float(others.by_relation.get(item.fact.relation, others.pooled)(raw)[0])
                breaks = Breaks.of(joined[size][item.document].text)
                between = breaks.between(item.fact.place[0], item.fact.tail_place[0])
                answers += [(sure, *between, divided, item.gold is not None) for divided in (True, False)]
    return answers
