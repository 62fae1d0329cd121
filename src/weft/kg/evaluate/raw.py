"""Facts read out of raw text, nothing given, against the facts that people found in it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from weft.kg.extraction.entities import EntityExtractor
from weft.kg.extraction.entity_fact import EntityFact
from weft.kg.mentions.document import mentions_in
from weft.kg.mentions.join import join_mentions
from weft.kg.read.documents import TextDocument
from weft.kg.read.labelled_texts import LabelledText, fold
from weft.objective.metrics import expected_calibration_error

SURE = 0.8
_COUNTED = 0.05


def figure(value: float) -> float | None:
    """A number as a record has it: of four decimals, None where it is NaN, which JSON has not."""
    return None if math.isnan(value) else round(value, 4)


@dataclass(frozen=True)
class RawScore:
    """Figures of facts of raw text, all documents together.

    Args:
        documents: How many.
        stated: Facts stated at the threshold, those that are one gold fact counted once.
        precision: Share of right ones.
        recall: Share of the gold facts that are found.
        f1: Of both.
        threshold: Least confidence.
        sure_precision: Share of right ones among those that are at least 0.8 sure; NaN where there are none.
        sure_recall: Share of the gold facts among those.
        calibration_error: ECE of the confidences of at least 0.05.
    """

    documents: int
    stated: int
    precision: float
    recall: float
    f1: float
    threshold: float
    sure_precision: float
    sure_recall: float
    calibration_error: float

    def record(self) -> dict[str, object]:
        """As JSON; what is not defined is null."""
        return {name: figure(value) for name, value in asdict(self).items()}


@dataclass(frozen=True)
class Judged:
    """A stated fact and the gold fact that it is.

    Args:
        document: Number of the document.
        fact: As stated.
        gold: Number of the gold fact in its document; None where it is none.
    """

    document: int
    fact: EntityFact
    gold: int | None


def judge(extractor: EntityExtractor, documents: Sequence[TextDocument], least: float = 0.0) -> list[Judged]:
    """Read documents without what is given about them, and look every fact up among the given ones.

    A stated fact is the gold fact whose head and tail have mentions of just these names, case and a leading "the"
    aside: the corpus has it now inside a mention, now before it.

    Args:
        extractor: Of a model that finds mentions.
        documents: With given mentions and facts.
        least: Facts of a lower confidence are left out.
    """
    schema, found = extractor.schema, list[Judged]()
    ids = schema.ids()
    for number, document in enumerate(documents):
        names: dict[int, set[str]] = {}
        for mention in document.mentions:
            shown = (mention.name, document.text[mention.start : mention.end])
            names.setdefault(mention.entity, set()).update(map(_plain, shown))
        gold = {
            (head, schema.names[ids[fact.relation]], tail): place
            for place, fact in enumerate(document.facts)
            if fact.relation in ids
            for head in names.get(fact.head, ())
            for tail in names.get(fact.tail, ())
        }
        bare = replace(document, mentions=(), facts=())
        for fact in extractor.facts_of(bare, least=least):
            key = _plain(fact.head), fact.relation, _plain(fact.tail)
            found.append(Judged(number, fact, gold.get(key)))
    return found


def _plain(name: str) -> str:
    return fold(name).removeprefix("the ")


def score_raw(
    judged: Iterable[Judged], documents: Sequence[TextDocument], threshold: float | None = None
) -> RawScore:
    """Count what was stated.

    Args:
        judged: Of these documents.
        documents: With their given facts.
        threshold: Least confidence; the one with the highest F1 on these documents where None.
    """
    items = _once(judged)
    known = sum(len(document.facts) for document in documents)
    if threshold is None:
        threshold = _best(items, known)
    taken = [item for item in items if item.fact.confidence >= threshold]
    sure = [item for item in items if item.fact.confidence >= SURE]
    counted = [item for item in items if item.fact.confidence >= _COUNTED]
    right, surely = (sum(item.gold is not None for item in part) for part in (taken, sure))
    return RawScore(
        documents=len(documents),
        stated=len(taken),
        precision=right / max(len(taken), 1),
        recall=right / max(known, 1),
        f1=2 * right / max(len(taken) + known, 1),
        threshold=threshold,
        sure_precision=surely / len(sure) if sure else float("nan"),
        sure_recall=surely / max(known, 1),
        calibration_error=expected_calibration_error(
            np.array([item.fact.confidence for item in counted]),
            np.array([item.gold is not None for item in counted]),
        )
        if counted
        else float("nan"),
    )


def _once(judged: Iterable[Judged]) -> list[Judged]:
    """Of several statements of one gold fact the surest."""
    best: dict[object, Judged] = {}
    for item in judged:
        key = (item.document, item.gold) if item.gold is not None else (item.document, id(item.fact), None)
        if key not in best or item.fact.confidence > best[key].fact.confidence:
            best[key] = item
    return list(best.values())


def _best(items: Sequence[Judged], known: int) -> float:
    ordered = sorted(items, key=lambda item: -item.fact.confidence)
    if not ordered:
        return 0.5
    right = np.cumsum([item.gold is not None for item in ordered])
    f1 = 2 * right / (np.arange(1, len(ordered) + 1) + known)
    confidence = np.array([item.fact.confidence for item in ordered])
    last = np.append(confidence[1:] < confidence[:-1], True)
    return float(confidence[np.where(last, f1, -1.0).argmax()])


def b_cubed(extractor: EntityExtractor, documents: Sequence[TextDocument]) -> float:
    """B³ F1 of the entities of raw text; a mention that only one side has counts against that side.

        P = mean over found mentions m of |found entity of m ∩ given entity of m| / |found entity of m|
        R = mean over given mentions m of |found entity of m ∩ given entity of m| / |given entity of m|

    Args:
        extractor: Of a model that finds mentions.
        documents: With given mentions.

    Source:
        Bagga and Baldwin 1998, "Algorithms for Scoring Coreference Chains".
    """
    precision: list[float] = []
    recall: list[float] = []
    for document in documents:
        mentions = mentions_in(extractor.model, extractor.tokenizer, document)
        ours: dict[tuple[int, int], frozenset[tuple[int, int]]] = {}
        for entity in join_mentions(document.text, mentions):
            places = frozenset((mentions[number].start, mentions[number].end) for number in entity.mentions)
            ours.update(dict.fromkeys(places, places))
        groups: dict[int, set[tuple[int, int]]] = {}
        for mention in document.mentions:
            groups.setdefault(mention.entity, set()).add((mention.start, mention.end))
        theirs = {place: frozenset(places) for places in groups.values() for place in places}
        nothing: frozenset[tuple[int, int]] = frozenset()
        precision += [
            len(places & theirs.get(place, nothing)) / len(places) for place, places in ours.items()
        ]
        recall += [len(places & ours.get(place, nothing)) / len(places) for place, places in theirs.items()]
    p, r = (float(np.mean(values)) if values else 0.0 for values in (precision, recall))
    return 2 * p * r / (p + r) if p + r else 0.0


@dataclass(frozen=True)
class LabelledScore:
    """Facts stated of labelled texts, at two confidences.

    Args:
        texts: How many.
        asked: Facts that readers found.
        stated: Facts at least 0.5 sure.
        right: Share of these that readers found or call right.
        found: Share of the readers' facts among them.
        surely_stated: Facts at least 0.8 sure.
        surely_right: Share of these that are right; NaN where there are none.
    """

    texts: int
    asked: int
    stated: int
    right: float
    found: float
    surely_stated: int
    surely_right: float

    def record(self) -> dict[str, object]:
        """As JSON; what is not defined is null."""
        return {name: figure(value) for name, value in asdict(self).items()}


def score_labelled(
    extractor: EntityExtractor, texts: Sequence[LabelledText], least: float = 0.5
) -> LabelledScore:
    """Read labelled texts and judge every fact that is stated."""
    stated: list[tuple[float, bool]] = []
    found = 0
    for item in texts:
        keys = [
            ((fold(fact.head), fact.relation, fold(fact.tail)), fact.confidence)
            for fact in extractor.facts_of(TextDocument(item.id, item.text), least=least)
        ]
        every = (*item.facts, *item.also)
        stated += [(sure, any(fact.is_stated(*key) for fact in every)) for key, sure in keys]
        found += sum(any(fact.is_stated(*key) for key, _ in keys) for fact in item.facts)
    sure = [right for confidence, right in stated if confidence >= SURE]
    asked = sum(len(item.facts) for item in texts)
    return LabelledScore(
        texts=len(texts),
        asked=asked,
        stated=len(stated),
        right=sum(right for _, right in stated) / len(stated) if stated else float("nan"),
        found=found / max(asked, 1),
        surely_stated=len(sure),
        surely_right=sum(sure) / len(sure) if sure else float("nan"),
    )
