"""From a tail's probability to how often such answers are right, per relation."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from weft.errors import CheckpointError, ConfigError, InputError
from weft.objective.calibration import Calibration, Isotonic, fit_isotonic, from_json, to_json

FILE = "calibration.json"
_PRIOR = 150
"""Answers of a relation that count as much as the map of all relations."""


@dataclass(frozen=True)
class Confidence:
    """A rising map from probability to precision for every relation.

    Args:
        pooled: For relations that no answer was of.
        by_relation: Relation name to map.
        guessed: The same for answers on what the text does not state: such as the type of a parameter without
            annotation, which has the relation of an annotated one and is right far more seldom.
    """

    pooled: Calibration
    by_relation: Mapping[str, Calibration] = field(default_factory=dict)
    guessed: Mapping[str, Calibration] = field(default_factory=dict)

    @staticmethod
    def fit(
        answers: Iterable[tuple[str, float, bool]], guessed: Iterable[tuple[str, float, bool]] = ()
    ) -> Confidence:
        """Learn from answers about what was held out, each kind as often as it is asked.

            c_r(p) = (n_r · isotonic_r(p) + n · isotonic(p)) / (n_r + n)        n = 150

        of a relation with n_r answers: its own map as far as they carry it, the map of all for the rest.

        Args:
            answers: Relation, probability, whether the answer was right.
            guessed: The same for answers on what the text does not state; their maps stand for themselves.

        Raises:
            InputError: There are no ``answers``.
        """
        pooled, by_relation = _fit(answers)
        if pooled is None:
            raise InputError("no answers to calibrate with")
        return Confidence(pooled, by_relation, _fit(guessed)[1])

    def __call__(self, relation: str, probability: float, *, guessed: bool = False) -> float:
        """How often an answer of this relation with this probability is right.

        Args:
            relation: Its name.
            probability: What the model says.
            guessed: Whether the text does not state what was asked.
        """
        calibration = self.by_relation.get(relation, self.pooled)
        if guessed:
            calibration = self.guessed.get(relation, calibration)
        return float(calibration(np.array([probability]))[0])

    def save(self, folder: Path) -> None:
        """Write ``calibration.json`` beside a model."""
        record = {
            "pooled": to_json(self.pooled),
            "by_relation": {name: to_json(calibration) for name, calibration in self.by_relation.items()},
            "guessed": {name: to_json(calibration) for name, calibration in self.guessed.items()},
        }
        partial = folder / f".{FILE}.part"
        partial.write_text(json.dumps(record) + "\n", encoding="utf-8")
        os.replace(partial, folder / FILE)

    @staticmethod
    def load(folder: Path) -> Confidence | None:
        """Read it; None where a model has none.

        Raises:
            CheckpointError: The file holds something else.
        """
        path = folder / FILE
        if not path.is_file():
            return None
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
            # Models calibrated before the two kinds were told apart have no "guessed".
            relations, guessed = (
                {str(name): from_json(value, str(path)) for name, value in maps.items()}
                for maps in (record["by_relation"], record.get("guessed", {}))
            )
            return Confidence(from_json(record["pooled"], str(path)), relations, guessed)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise CheckpointError(f"not a calibration: {error}", where=str(path)) from error


def threshold_at(confidences: Sequence[float], precision: float) -> float:
    """The lowest confidence to accept, for the accepted to be right this often together.

    The surest answers are accepted as long as the mean of their confidences is at least the precision: for
    calibrated confidences that mean is the expected share of right ones.

    Args:
        confidences: Of all answers.
        precision: The share of right ones that is wanted.

    Returns:
        The threshold; above 1 where no answer is sure enough.

    Raises:
        ConfigError: A precision outside (0, 1].
    """
    if not 0.0 < precision <= 1.0:
        raise ConfigError(f"precision is {precision}; it must be in (0, 1]")
    surest = np.sort(np.asarray(confidences, dtype=np.float64))[::-1]
    means = np.cumsum(surest) / np.arange(1, len(surest) + 1)
    # Answers of equal confidence are accepted together or not at all.
    last = np.append(surest[1:] < surest[:-1], True) if len(surest) else np.zeros(0, dtype=bool)
    enough = np.flatnonzero(last & (means >= precision - 1e-12))
    return float(surest[enough[-1]]) if len(enough) else float("inf")


def _fit(answers: Iterable[tuple[str, float, bool]]) -> tuple[Isotonic | None, dict[str, Calibration]]:
    """The map of all answers, and every relation's."""
    grouped: dict[str, list[tuple[float, bool]]] = defaultdict(list)
    for relation, probability, right in answers:
        grouped[relation].append((probability, right))
    if not grouped:
        return None, {}
    pooled = _isotonic([pair for pairs in grouped.values() for pair in pairs])
    return pooled, {
        name: _mixed(_isotonic(pairs), pooled, len(pairs) / (len(pairs) + _PRIOR))
        for name, pairs in sorted(grouped.items())
    }


def _mixed(own: Isotonic, pooled: Isotonic, share: float) -> Isotonic:
    """The mean of two rising maps, itself one: linear between the knots of both."""
    knots = np.unique([*own.scores, *pooled.scores])
    values = np.maximum.accumulate(share * own(knots) + (1 - share) * pooled(knots)).clip(0.0, 1.0)
    return Isotonic(tuple(knots.tolist()), tuple(values.tolist()))


def _isotonic(pairs: list[tuple[float, bool]]) -> Isotonic:
    probabilities, right = zip(*pairs, strict=True)
    return fit_isotonic(np.array(probabilities), np.array(right, dtype=np.float64))
