"""A second look at the candidates of an open question: what the tree tells of each, beside how likely it was spelled.

Every candidate c has features f(c): its log-probability, its length, which clues name it, which name others, and what
its language says of it. The answer is c with probability

    p(c) = exp(w · f(c)) / (exp(b) + Σ exp(w · f(c')))

where b stands for "none of them"; w and b are fitted for each relation (:func:`fit`), on packages that the model was
not trained on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from weft.errors import CheckpointError, InputError
from weft.kg.languages.language import Language
from weft.kg.languages.unit import Open
from weft.platform.files import write_json
from weft.platform.reading import read_json

FILE = "ranking.json"
_SPELLED = (
    "log-probability",
    "behind the first",
    "first",
    "tokens",
    "log-probability by tokens",
    "not spelled",
)
_FEW = 3
"""Classes that have all members which are read, up to which each of them is a candidate."""
_LEAST = 1e-12


def features(spoken: Language) -> tuple[str, ...]:
    """Names of the features of a candidate."""
    named = [f"{kind} names it" for kind in spoken.clues]
    others = [f"{kind} names another" for kind in spoken.clues]
    return (*_SPELLED, *named, *others, *spoken.signs)


def candidates(
    asked: Open,
    found: Sequence[tuple[str, float]],
    known: frozenset[str],
    spoken: Language,
    length: Callable[[str], int],
) -> tuple[list[str], list[list[float]]]:
    """What was spelled, and what clues name beside it, each with its features.

    Args:
        asked: The question.
        found: What the model spelled, with probabilities, the likeliest first; not empty.
        known: Names of the file.
        spoken: The language.
        length: Tokens of a name.
    """
    spelled = [(name, math.log(max(probability, _LEAST))) for name, probability in found]
    others = [clue.name for clue in asked.clues]
    others += asked.fitting if len(asked.fitting) <= _FEW else ()
    there = {name for name, _ in found}
    # Less likely than all that was spelled.
    lowest = min(value for _, value in spelled) - 1.0
    every = [*spelled, *((name, lowest) for name in dict.fromkeys(others) if name not in there)]
    shares = {kind: {c.name: c.share for c in asked.clues if c.kind == kind} for kind in spoken.clues}
    rows = []
    for number, (name, value) in enumerate(every):
        tokens = float(length(name))
        row = [value, value - spelled[0][1], float(number == 0), tokens, value / (tokens + 1)]
        row.append(float(name not in there))
        row += [of.get(name, 0.0) for of in shares.values()]
        row += [float(bool(of) and name not in of) for of in shares.values()]
        rows.append([*row, *spoken.signs_of(asked, name, known)])
    return [name for name, _ in every], rows


@dataclass(frozen=True)
class Ranking:
    """How much each feature counts.

    Args:
        features: Their names.
        weights: By relation: one for each feature, and b.
    """

    features: tuple[str, ...]
    weights: Mapping[str, tuple[float, ...]]

    def __call__(
        self, relation: str, names: Sequence[str], rows: Sequence[Sequence[float]]
    ) -> list[tuple[str, float]]:
        """The candidates with their probabilities, the likeliest first.

        Args:
            relation: One that was fitted.
            names: The candidates.
            rows: Their features.
        """
        *weights, none = self.weights[relation]
        scores = [sum(w * f for w, f in zip(weights, row, strict=True)) for row in rows]
        most = max(none, *scores)
        total = math.exp(none - most) + sum(math.exp(score - most) for score in scores)
        pairs = [(name, math.exp(score - most) / total) for name, score in zip(names, scores, strict=True)]
        return sorted(pairs, key=lambda pair: -pair[1])

    def save(self, folder: Path) -> None:
        """Write ``ranking.json`` beside a model."""
        rounded = {name: [round(value, 5) for value in row] for name, row in self.weights.items()}
        write_json(folder / FILE, {"features": self.features, "weights": rounded})

    @staticmethod
    def load(folder: Path, spoken: Language) -> Ranking | None:
        """Read it; None where a model has none.

        Raises:
            CheckpointError: The file holds something else, or other features.
        """
        path = folder / FILE
        if not path.is_file():
            return None
        try:
            record = read_json(path)
            names = tuple(map(str, record["features"]))
            weights = {str(name): tuple(map(float, row)) for name, row in record["weights"].items()}
        except (InputError, LookupError, TypeError, ValueError, AttributeError) as error:
            raise CheckpointError(f"not a ranking: {error}", where=str(path)) from error
        if names != features(spoken):
            raise CheckpointError(f"features of another version: {', '.join(names)}", where=str(path))
        if any(len(row) != len(names) + 1 or not all(map(math.isfinite, row)) for row in weights.values()):
            raise CheckpointError("not a finite weight for each feature and none", where=str(path))
        return Ranking(names, weights)


def fit(
    items: Sequence[tuple[list[list[float]], int | None]], counts: Sequence[int], decay: float = 10.0
) -> tuple[float, ...]:
    """The likeliest weights of one relation, and b; few steps of a convex problem.

        min_w,b  − Σ_q s_q log p(c*_q) + decay · |w|²        s_q ∝ 1 / √(questions of its package)

    Args:
        items: Features of the candidates of each question, and which is right; None where none is.
        counts: Of each question, how many there are of its package: a large one is not to count for all.
        decay: Of the weights.
    """
    most, width = max(len(rows) for rows, _ in items), len(items[0][0][0])
    values = torch.zeros(len(items), most, width, dtype=torch.float64)
    absent = torch.full((len(items), most), -1e9, dtype=torch.float64)
    for number, (rows, _) in enumerate(items):
        values[number, : len(rows)] = torch.tensor(rows, dtype=torch.float64)
        absent[number, : len(rows)] = 0.0
    right = torch.tensor([most if place is None else place for _, place in items])
    share = torch.tensor(counts, dtype=torch.float64).rsqrt()
    share = share / share.mean()
    weights = torch.zeros(width + 1, dtype=torch.float64)
    weights[0] = 1.0
    weights.requires_grad_()
    search = torch.optim.LBFGS([weights], max_iter=200, line_search_fn="strong_wolfe")

    def loss() -> float:
        search.zero_grad()
        none = weights[-1].expand(len(items), 1)
        scores = torch.cat([values @ weights[:-1] + absent, none], dim=1)
        each = torch.nn.functional.cross_entropy(scores, right, reduction="none")
        total = (share * each).sum() + decay * weights[:-1].square().sum()
        total.backward()
        return float(total.detach())

    search.step(loss)
    return tuple(weights.tolist())
