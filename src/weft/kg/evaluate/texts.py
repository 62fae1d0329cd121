"""Scores of a model of texts and its baselines on held-out documents, thresholds chosen on validation ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from weft.kg.evaluate.confidence import Confidence
from weft.kg.evaluate.pair_baselines import pair_baselines
from weft.kg.evaluate.triples import FactScore, Guess, best_threshold, guess, guess_tails, score_facts
from weft.kg.model.entity_graph import EntityGraphModel
from weft.kg.model.leafy_chain import LeafyChainModel
from weft.kg.represent.passages import TextDataset
from weft.objective.metrics import expected_calibration_error
from weft.platform.confidence import threshold_at

TARGET = 0.9
"""The precision that kept facts are to have."""
_ALL = float("-inf")
_COUNTED = 0.05
"""Confidences from here on count for the calibration error: below lie the many pairs that hold nothing."""


@dataclass(frozen=True)
class TextScore:
    """Figures of one model or baseline.

    Args:
        best: At the threshold with the highest F1 on the validation part.
        plain: Without a threshold of that kind: everything that the model itself holds for true.
        kept: At a target precision of 0.9 by calibrated confidences; None without them.
        calibration_error: ECE of the confidences of all facts of at least 0.05; None without them.
    """

    best: FactScore
    plain: FactScore
    kept: FactScore | None = None
    calibration_error: float | None = None

    def record(self) -> dict[str, object]:
        """As JSON."""
        values: dict[str, object] = {"best": self.best.record(), "plain": self.plain.record()}
        if self.kept is not None and self.calibration_error is not None:
            values |= {"kept": self.kept.record(), "calibration_error": round(self.calibration_error, 4)}
        return values


@dataclass(frozen=True)
class TextEvaluation:
    """What a model says of the validation and the asked part.

    Args:
        valid: Guesses about the validation part.
        asked: Guesses about the part that is scored.
        documents: Numbers of the documents of that part.
    """

    valid: Sequence[Guess]
    asked: Sequence[Guess]
    documents: Sequence[int]


def ask_texts(model: EntityGraphModel, dataset: TextDataset, part: str) -> TextEvaluation:
    """Ask a model about every pair of the validation part and of another one."""
    valid = guess(model, dataset.passages_of("valid"))
    asked = valid if part == "valid" else guess(model, dataset.passages_of(part))
    return TextEvaluation(valid, asked, dataset.documents_of(part))


def ask_tails(model: LeafyChainModel, dataset: TextDataset, part: str) -> TextEvaluation:
    """Ask about every head and relation of the validation part and of another one."""
    valid = guess_tails(model, dataset, dataset.documents_of("valid"))
    documents = dataset.documents_of(part)
    return TextEvaluation(
        valid, valid if part == "valid" else guess_tails(model, dataset, documents), documents
    )


def calibrate_texts(
    dataset: TextDataset, guesses: Sequence[Guess], untyped: Sequence[Guess] = ()
) -> Confidence:
    """Fit confidences to guesses about whole documents: every pair and relation as often as it occurs.

    Args:
        dataset: Holds the known facts.
        guesses: About its validation part.
        untyped: The same, asked as if no entity's type were known: for entities whose type the schema does not name.
    """

    def answers(guesses: Sequence[Guess]) -> Iterator[tuple[str, float, bool]]:
        for item in guesses:
            right = item.fact in dataset.facts[item.document]
            yield dataset.schema.names[item.fact[1]], probability(item.score), right

    return Confidence.fit(answers(guesses), answers(untyped))


def probability(score: float) -> float:
    """σ of a score: the raw probability that it beats its pair's threshold."""
    return float(1.0 / (1.0 + np.exp(-score)))


def score_texts(
    dataset: TextDataset, evaluation: TextEvaluation, confidence: Confidence | None = None
) -> TextScore:
    """Score a model's guesses.

    Args:
        dataset: Holds the known facts.
        evaluation: From :func:`ask_texts`.
        confidence: Of the model; calibration error and target precision are left out without it.
    """
    threshold = best_threshold(dataset, evaluation.valid, dataset.documents_of("valid"))
    best = score_facts(dataset, evaluation.asked, evaluation.documents, threshold)
    plain = score_facts(dataset, evaluation.asked, evaluation.documents, 0.0)
    if confidence is None:
        return TextScore(best, plain)
    sure = [
        item._replace(score=confidence(dataset.schema.names[item.fact[1]], probability(item.score)))
        for item in evaluation.asked
    ]
    least = threshold_at([item.score for item in sure], TARGET)
    kept = score_facts(dataset, sure, evaluation.documents, least)
    counted = [item for item in sure if item.score >= _COUNTED]
    error = expected_calibration_error(
        np.array([item.score for item in counted]),
        np.array([item.fact in dataset.facts[item.document] for item in counted]),
    )
    return TextScore(best, plain, kept, error)


def baseline_text_scores(dataset: TextDataset, part: str) -> Mapping[str, TextScore]:
    """Scores of the baselines; without a threshold they state all that they can."""
    valid, asked = (pair_baselines(dataset, dataset.documents_of(name)) for name in ("valid", part))
    documents = dataset.documents_of(part)
    return {
        name: TextScore(
            score_facts(
                dataset,
                asked[name],
                documents,
                best_threshold(dataset, valid[name], dataset.documents_of("valid")),
            ),
            score_facts(dataset, asked[name], documents, _ALL),
        )
        for name in asked
    }
