"""From a tail's probability to how often such answers are right, per relation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.errors import CheckpointError, InputError
from weft.platform.confidence import Isotonic, Logistic, fit_isotonic, fit_logistic
from weft.platform.files import write_json
from weft.platform.reading import read_json

FILE = "calibration.json"
_PRIOR = 150
"""Answers of a relation that count as much as the map of all relations."""
_SHORT, _LONG = 64, 192
"""Tokens of a text up to which it is short, and from which on it is long; between them both maps count."""
_LEAST_SURE = 1e-3
"""Confidences of texts are held between this and its opposite before they are mapped once more."""
_APART = 4
"""Features of names that stand apart."""
_NEAR = 0.004
"""A knot of a map that is nearer than this to the line between its neighbours is left out."""


@dataclass(frozen=True)
class Confidence:
    """A rising map from probability to precision for every relation.

    Args:
        pooled: For relations that no answer was of.
        by_relation: Relation name to map.
        guessed: The same for answers on what the text does not state: such as the type of a parameter without
            annotation, which has the relation of an annotated one and is right far more seldom. Of text: answers on
            entities of types that the schema does not name, for which no type rules anything out.
        unstated: The same, learnt from packages beside the training's, whose annotations were taken away; ``"plain"``
            is of types that are plain from the code.
        short: Of answers about short texts, a sentence or a few; None where all are treated alike. What a model of
            documents says of a sentence is right more often than what it says as surely of a document.
        worded: Of relations that training never saw, asked for by their words; None where none can be.
        apart: Of facts of texts that are read in several passages, by how far apart their two names stand; None where
            that makes no difference.
    """

    pooled: Isotonic
    by_relation: Mapping[str, Isotonic] = field(default_factory=dict)
    guessed: Mapping[str, Isotonic] = field(default_factory=dict)
    unstated: Mapping[str, Isotonic] = field(default_factory=dict)
    short: Confidence | None = None
    worded: Logistic | None = None
    apart: Logistic | None = None

    @staticmethod
    def fit(
        answers: Iterable[tuple[str, float, bool]],
        guessed: Iterable[tuple[str, float, bool]] = (),
        *,
        prior: int = _PRIOR,
    ) -> Confidence:
        """Learn from answers about what was held out, each kind as often as it is asked.

            c_r(p) = (n_r · isotonic_r(p) + n · isotonic(p)) / (n_r + n)        n = ``prior``

        of a relation with n_r answers: its own map as far as they carry it, the map of all for the rest.

        Args:
            answers: Relation, probability, whether the answer was right.
            guessed: The same for answers on what the text does not state; their maps stand for themselves.
            prior: Answers of a relation that count as much as the map of all relations.

        Raises:
            InputError: There are no ``answers``.
        """
        pooled, by_relation = _fit(answers, prior)
        if pooled is None:
            raise InputError("no answers to calibrate with")
        return Confidence(pooled, by_relation, _fit(guessed)[1])

    def with_unstated(self, answers: Iterable[tuple[str, float, bool]]) -> Confidence:
        """The same with other maps for what is not stated, learnt from answers about other packages."""
        return replace(self, unstated=_fit(answers)[1])

    def with_short(self, answers: Iterable[tuple[str, float, bool]], *, prior: int = _PRIOR) -> Confidence:
        """The same with other maps for short texts, learnt from answers about such; maps as fine as 0.004."""
        return replace(self._thinned(), short=Confidence.fit(answers, prior=prior)._thinned())

    def with_worded(self, answers: Sequence[tuple[str, float, bool]]) -> Confidence:
        """The same with a map for relations by words, learnt from answers about relations left out in turn.

            c(p) = σ(c_0 + c_1 log p / (1 − p))

        Those of which no answer is right do not count: a relation is asked for of which the texts speak.
        """
        there = {relation for relation, _, right in answers if right}
        kept = [item for item in answers if item[0] in there]
        if not kept:
            return replace(self, worded=None)
        right = np.array([item[2] for item in kept], dtype=np.float64)
        return replace(self, worded=fit_logistic(_log_odds(np.array([item[1] for item in kept])), right))

    def of_words(self, probability: NDArray[np.float64]) -> NDArray[np.float64]:
        """How often answers of a relation by words are right; the raw ones where there is no map for them."""
        return probability if self.worded is None else self.worded(_log_odds(probability))

    def with_apart(self, answers: Sequence[tuple[float, int, int, bool, bool]]) -> Confidence:
        """The same with a map for texts that are read in several passages; see :meth:`of_names_apart`.

        Args:
            answers: Confidence of a text read whole, paragraphs and sentences between the two names, whether the text
                has paragraphs, and whether the answer was right.
        """
        if not answers:
            return replace(self, apart=None)
        sure, paragraphs, sentences, divided, right = (
            np.array(column) for column in zip(*answers, strict=True)
        )
        features = _apart(sure, paragraphs, sentences, divided)
        return replace(self, apart=fit_logistic(features, right.astype(np.float64)))

    def of_names_apart(self, confidence: float, paragraphs: int, sentences: int, *, divided: bool) -> float:
        """How often a fact of a text of several passages is right: there the names of two subjects stand in one.

            σ(a + b log c / (1 − c) + d [p > 0] + e log(1 + p))     p paragraphs begin between the two names
            σ(a + b log c / (1 − c) + f log(1 + s))                 s sentences do, in a text without paragraphs

        Args:
            confidence: c, as of a text that is read whole.
            paragraphs: p.
            sentences: s.
            divided: Whether the text has paragraphs.
        """
        if self.apart is None:
            return confidence
        columns = (np.array([value]) for value in (confidence, paragraphs, sentences, divided))
        return float(self.apart(_apart(*columns))[0])

    def of_text(self, relation: str, probability: NDArray[np.float64], tokens: int) -> NDArray[np.float64]:
        """How often answers about a text of so many tokens are right.

        c = s · c_short(p) + (1 − s) · c_long(p)        s falls from 1 at 64 tokens to 0 at 192
        """
        long = self.by_relation.get(relation, self.pooled)(probability)
        if self.short is None:
            return long
        share = min(max((_LONG - tokens) / (_LONG - _SHORT), 0.0), 1.0)
        return share * self.short.of_text(relation, probability, tokens) + (1 - share) * long

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
        write_json(folder / FILE, self._record(), indent=None)

    def _record(self) -> dict[str, object]:
        maps = {"by_relation": self.by_relation, "guessed": self.guessed, "unstated": self.unstated}
        record = {kind: {name: found.to_json() for name, found in of.items()} for kind, of in maps.items()}
        short = {} if self.short is None else {"short": self.short._record()}
        worded = {} if self.worded is None else {"worded": self.worded.to_json()}
        apart = {} if self.apart is None else {"apart": self.apart.to_json()}
        return {"pooled": self.pooled.to_json(), **record, **short, **worded, **apart}

    def _thinned(self) -> Confidence:
        """The same with fewer knots; relations alone, which is what models of texts have."""
        by_relation = {name: _thinned(found) for name, found in self.by_relation.items()}
        return replace(self, pooled=_thinned(self.pooled), by_relation=by_relation)

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
            return _confidence(read_json(path), str(path))
        except (InputError, LookupError, TypeError, AttributeError) as error:
            raise CheckpointError(f"not a calibration: {error}", where=str(path)) from error


def _apart(
    sure: NDArray[np.float64],
    paragraphs: NDArray[np.int64],
    sentences: NDArray[np.int64],
    divided: NDArray[np.bool_],
) -> NDArray[np.float64]:
    """``(items, 4)``: the features of :meth:`Confidence.of_names_apart`."""
    kept = sure.clip(_LEAST_SURE, 1 - _LEAST_SURE)
    parts = (
        np.log(kept / (1 - kept)),
        divided * (paragraphs > 0),
        divided * np.log1p(paragraphs),
        ~divided * np.log1p(sentences),
    )
    return np.stack(parts, axis=1).astype(np.float64)


def _log_odds(probability: NDArray[np.float64]) -> NDArray[np.float64]:
    """``(items, 1)``: log p / (1 − p)."""
    kept = probability.clip(1e-12, 1 - 1e-12)
    return np.log(kept / (1 - kept))[:, None]


def _confidence(record: Any, where: str) -> Confidence:
    # Models calibrated before the kinds were told apart lack some of them.
    relations, guessed, unstated = (
        {str(name): Isotonic.from_json(value, where) for name, value in maps.items()}
        for maps in (record["by_relation"], record.get("guessed", {}), record.get("unstated", {}))
    )
    short = _confidence(record["short"], where) if "short" in record else None
    worded, apart = (
        Logistic.from_json(record[name], where) if name in record else None for name in ("worded", "apart")
    )
    if apart is not None and len(apart.coefficients) != _APART:
        raise CheckpointError(f"{len(apart.coefficients)} numbers for {_APART} features", where=where)
    pooled = Isotonic.from_json(record["pooled"], where)
    return Confidence(pooled, relations, guessed, unstated, short, worded, apart)


def _fit(
    answers: Iterable[tuple[str, float, bool]], prior: int = _PRIOR
) -> tuple[Isotonic | None, dict[str, Isotonic]]:
    """The map of all answers, and every relation's."""
    grouped: dict[str, list[tuple[float, bool]]] = defaultdict(list)
    for relation, probability, right in answers:
        grouped[relation].append((probability, right))
    if not grouped:
        return None, {}
    pooled = _isotonic([pair for pairs in grouped.values() for pair in pairs])
    return pooled, {
        name: _mixed(_isotonic(pairs), pooled, len(pairs) / (len(pairs) + prior))
        for name, pairs in sorted(grouped.items())
    }


def _mixed(own: Isotonic, pooled: Isotonic, share: float) -> Isotonic:
    """The mean of two rising maps, itself one: linear between the knots of both."""
    knots = np.unique([*own.scores, *pooled.scores])
    values = np.maximum.accumulate(share * own(knots) + (1 - share) * pooled(knots)).clip(0.0, 1.0)
    return Isotonic(tuple(knots.tolist()), tuple(values.tolist()))


def _thinned(found: Isotonic) -> Isotonic:
    """The map through some of its knots, within 0.004 of all of them."""
    scores, values = np.array(found.scores), np.array(found.probabilities)
    kept, open_ = {0, len(scores) - 1}, [(0, len(scores) - 1)]
    while open_:
        first, last = open_.pop()
        line = np.interp(scores[first : last + 1], scores[[first, last]], values[[first, last]])
        off = np.abs(line - values[first : last + 1])
        worst = first + int(off.argmax())
        if off.max() > _NEAR and first < worst < last:
            kept.add(worst)
            open_ += [(first, worst), (worst, last)]
    # Six digits are enough, and half the file; knots that they make one are one.
    knots = {float(f"{scores[place]:.6g}"): float(f"{values[place]:.5f}") for place in sorted(kept)}
    return Isotonic(tuple(knots), tuple(knots.values()))


def _isotonic(pairs: list[tuple[float, bool]]) -> Isotonic:
    probabilities, right = zip(*pairs, strict=True)
    return fit_isotonic(np.array(probabilities), np.array(right, dtype=np.float64))
