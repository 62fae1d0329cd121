"""From a tail's probability to how often such answers are right, per relation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from weft.errors import CheckpointError, InputError
from weft.platform.confidence import Isotonic, fit_isotonic
from weft.platform.files import write_json
from weft.platform.reading import read_json

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
        unstated: The same, learnt from packages beside the training's, whose annotations were taken away; ``"plain"``
            is of types that are plain from the code.
    """

    pooled: Isotonic
    by_relation: Mapping[str, Isotonic] = field(default_factory=dict)
    guessed: Mapping[str, Isotonic] = field(default_factory=dict)
    unstated: Mapping[str, Isotonic] = field(default_factory=dict)

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

    def with_unstated(self, answers: Iterable[tuple[str, float, bool]]) -> Confidence:
        """The same with other maps for what is not stated, learnt from answers about other packages."""
        return replace(self, unstated=_fit(answers)[1])

    def __call__(
        self, relation: str, probability: float, *, guessed: bool = False, unstated: bool = False
    ) -> float:
        """How often an answer of this relation with this probability is right.

        Args:
            relation: Its name.
            probability: What the model says.
            guessed: Whether the text does not state what was asked.
            unstated: The same, of a package that is not one of the training's.
        """
        calibration = self.by_relation.get(relation, self.pooled)
        if guessed or unstated:
            calibration = self.guessed.get(relation, calibration)
        if unstated:
            calibration = self.unstated.get(relation, calibration)
        return float(calibration(np.array([probability]))[0])

    def save(self, folder: Path) -> None:
        """Write ``calibration.json`` beside a model."""
        maps = {"by_relation": self.by_relation, "guessed": self.guessed, "unstated": self.unstated}
        record = {kind: {name: found.to_json() for name, found in of.items()} for kind, of in maps.items()}
        write_json(folder / FILE, {"pooled": self.pooled.to_json(), **record}, indent=None)

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
            record = read_json(path)
            # Models calibrated before the kinds were told apart lack some of them.
            relations, guessed, unstated = (
                {str(name): Isotonic.from_json(value, str(path)) for name, value in maps.items()}
                for maps in (record["by_relation"], record.get("guessed", {}), record.get("unstated", {}))
            )
            return Confidence(Isotonic.from_json(record["pooled"], str(path)), relations, guessed, unstated)
        except (InputError, LookupError, TypeError, AttributeError) as error:
            raise CheckpointError(f"not a calibration: {error}", where=str(path)) from error


def _fit(answers: Iterable[tuple[str, float, bool]]) -> tuple[Isotonic | None, dict[str, Isotonic]]:
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
