"""The fit of a rule, against trials whose numbers are made up: the weights are a minimum, the floor is the best."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from scipy.special import log_softmax

from weft.bcsd.matching.fit import START, _best_floor, _fit_weights
from weft.bcsd.matching.pairs.evidence import KINDS
from weft.bcsd.matching.rule import FEATURES
from weft.platform.confidence import Logistic

SIZE = 6


class Made:
    """A trial of equally many functions, the same row being right, whose evidence is made up."""

    def __init__(self, seed):
        random = np.random.default_rng(seed)
        self.scores = SimpleNamespace(corrected=random.random((SIZE, SIZE)) + 0.3 * np.eye(SIZE))
        values = {kind: random.random((SIZE, SIZE)) for kind in KINDS}
        values[KINDS[0]] = random.random((SIZE, SIZE)) + 0.5 * np.eye(SIZE)  # tells
        values[KINDS[1]] = 1 - values[KINDS[0]]  # tells the contrary
        self.pairs = SimpleNamespace(
            evidence={kind: sparse.csr_array(value) for kind, value in values.items()}
        )

    def truth(self):
        return np.arange(SIZE), np.arange(SIZE)

    def loss(self, weights):
        parts = [self.scores.corrected, *(self.pairs.evidence[kind].toarray() for kind in KINDS)]
        utility = sum(weight * part for weight, part in zip(weights, parts, strict=True))
        return -sum(np.diagonal(log_softmax(utility, axis=axis)).mean() for axis in (0, 1))


def test_the_weights_are_where_the_right_partner_is_most_probable():
    trials = [Made(seed) for seed in range(3)]
    rule = _fit_weights(trials, [trial.pairs for trial in trials], START)
    found = np.array([rule.score, *rule.evidence])
    assert found[1] > 0.5
    assert found[2] == 0

    def loss(weights):
        return sum(trial.loss(weights) for trial in trials) + 1e-3 * weights[1:] @ weights[1:]

    least = loss(found)
    for place in range(len(found)):
        for step in (-0.05, 0.05):
            other = found.copy()
            other[place] = max(0.0, other[place] + step)
            assert loss(other) >= least - 1e-6


def test_the_floor_is_where_f2_is_highest():
    """Of four pairs, the surest first, the first two and the last are right; three functions have a partner."""
    sure = np.array([0.9, 0.8, 0.4, 0.3])
    features = np.zeros((4, len(FEATURES)))
    features[:, 0] = np.log(sure / (1 - sure))
    pairs = SimpleNamespace(features=features)
    right = np.array([True, True, False, True])
    made = SimpleNamespace(
        pair=lambda rule: pairs,
        judge=lambda pairs: (np.ones(4, bool), right),
        truth=lambda: (np.arange(3), np.arange(3)),
    )
    rule = SimpleNamespace(confidence=Logistic(0.0, (1.0, *[0.0] * (len(FEATURES) - 1))))
    # F2 of the first one to four: 5/13, 10/14, 10/15, 15/16.
    assert _best_floor([made], rule) == pytest.approx(0.3)
    right[3] = False
    assert _best_floor([made], rule) == pytest.approx(0.8)
