"""What a relation by words is worth: each trained relation left out in turn, against what it is worth when trained."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from weft.kg.evaluate.raw import Judged, figure, judge
from weft.kg.extraction.entities import EntityExtractor
from weft.kg.read.documents import TextDocument
from weft.objective.metrics import expected_calibration_error

ENOUGH = 20
"""Facts of a relation from which on its F1 says something."""
_COUNTED = 0.05
SURE = 0.3


@dataclass(frozen=True)
class RelationWorth:
    """A relation.

    Args:
        facts: Known of it in the documents.
        by_words: F1 at its best threshold, read by its definition alone.
        trained: The same, trained.
    """

    facts: int
    by_words: float
    trained: float


@dataclass(frozen=True)
class WordsScore:
    """Relations by words, each of the model's own left out in turn.

    Args:
        relations: Those with at least 20 facts.
        calibration_error: ECE of confidences of at least 0.05, of the relations that the documents state.
        sure: Facts at least 0.3 sure.
        surely_right: Share of these that are right; NaN where there are none.
    """

    relations: Mapping[str, RelationWorth]
    calibration_error: float
    sure: int
    surely_right: float

    @property
    def by_words(self) -> float:
        """The mean F1 of relations read by their words; NaN where none has enough facts."""
        return _mean([item.by_words for item in self.relations.values()])

    @property
    def trained(self) -> float:
        """The mean F1 of the same, trained."""
        return _mean([item.trained for item in self.relations.values()])

    def record(self) -> dict[str, object]:
        """As JSON; what is not defined is null."""
        names = ("by_words", "trained", "calibration_error", "sure", "surely_right")
        figures = {name: figure(getattr(self, name)) for name in names}
        return {**figures, "relations": {name: vars(item) for name, item in self.relations.items()}}


def without_types(extractor: EntityExtractor) -> EntityExtractor:
    """The same, for relations by words of whose ends no type is said."""
    own = extractor.schema.relations
    return extractor.without_training(tuple(replace(item, head_types=(), tail_types=()) for item in own))


def words_answers(
    extractor: EntityExtractor, documents: Sequence[TextDocument]
) -> list[tuple[str, float, bool]]:
    """Relation, raw probability and whether it is right, of every fact of a relation read by its words."""
    bare = replace(extractor, confidence=None)
    return [
        (item.fact.relation, item.fact.confidence, item.gold is not None)
        for asked in (bare.without_training(), without_types(bare))
        for item in judge(asked, documents)
    ]


def words_score(
    extractor: EntityExtractor, documents: Sequence[TextDocument], *, typed: bool = True
) -> WordsScore:
    """Judge relations by words on labelled documents, read as raw text.

    Args:
        extractor: Of a model with a confidence for relations by words.
        documents: With given mentions and facts.
        typed: Whether the types of heads and tails are said beside the words.
    """
    facts: dict[str, int] = {}
    ids, names = extractor.schema.ids(), extractor.schema.names
    for document in documents:
        for fact in document.facts:
            if fact.relation in ids:
                facts[names[ids[fact.relation]]] = facts.get(names[ids[fact.relation]], 0) + 1
    asked = extractor.without_training() if typed else without_types(extractor)
    worded, trained = (_by_relation(judge(of, documents)) for of in (asked, extractor))
    relations = {
        name: RelationWorth(
            count, _best_f1(worded.get(name, []), count), _best_f1(trained.get(name, []), count)
        )
        for name, count in sorted(facts.items(), key=lambda item: -item[1])
        if count >= ENOUGH
    }
    pairs = [(sure, right) for name in facts for sure, right in worded.get(name, []) if sure >= _COUNTED]
    sure = np.array([item[0] for item in pairs])
    right = np.array([item[1] for item in pairs], dtype=bool)
    top = right[sure >= SURE] if pairs else right
    return WordsScore(
        relations,
        expected_calibration_error(sure, right) if pairs else float("nan"),
        len(top),
        float(top.mean()) if len(top) else float("nan"),
    )


def best_scores(extractor: EntityExtractor, documents: Sequence[TextDocument]) -> dict[str, float]:
    """The F1 of each relation at its best threshold, read out of the raw documents.

    Args:
        extractor: Of a model that finds mentions.
        documents: With given mentions and facts; relations that they do not state are left out.
    """
    ids, names = extractor.schema.ids(), extractor.schema.names
    facts = Counter(
        names[ids[fact.relation]] for item in documents for fact in item.facts if fact.relation in ids
    )
    answers = _by_relation(judge(extractor, documents))
    return {name: _best_f1(answers.get(name, []), count) for name, count in facts.items()}


def _by_relation(judged: Sequence[Judged]) -> dict[str, list[tuple[float, bool]]]:
    """Confidence and whether it is right, by relation; of several statements of one gold fact the surest."""
    best: dict[object, tuple[str, float, bool]] = {}
    for item in judged:
        right = item.gold is not None
        key = (item.document, item.gold) if right else (item.document, id(item.fact), None)
        found = (item.fact.relation, item.fact.confidence, right)
        if key not in best or found[1] > best[key][1]:
            best[key] = found
    result: dict[str, list[tuple[float, bool]]] = {}
    for relation, sure, right in best.values():
        result.setdefault(relation, []).append((sure, right))
    return result


def _best_f1(answers: Sequence[tuple[float, bool]], known: int) -> float:
    """The highest F1 that a threshold gives."""
    if not answers:
        return 0.0
    ordered = sorted(answers, key=lambda item: -item[0])
    right = np.cumsum([item[1] for item in ordered])
    f1 = 2 * right / (np.arange(1, len(ordered) + 1) + known)
    sure = np.array([item[0] for item in ordered])
    # Answers of one confidence stand or fall together.
    last = np.append(sure[1:] < sure[:-1], True)
    return float(f1[last].max())


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else float("nan")
