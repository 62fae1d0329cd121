"""The row of the classifier that answers ``conflict``, fitted anew on what a model makes of questions; the rest stays.

    python recipes/absa_any_conflict.py --model MEAN --out OUT

In a mean of two models of which only one knows the class (``absa_any_mean.py``) its row stands beside blended states
that it was not trained on, and is never the highest. With the states h of questions to told sentences, answers y, and
the logits z of the other classes as they are, the row w and its bias b minimise

    −mean log softmax([z, w·h + b])_y + λ‖w − w₀‖²,   w₀ the row as it was

which is convex. No other answer's odds against a third one change. Among the sentences drawn conflicts are far more
frequent than in reviews: ``--bias`` is added to b, chosen by ``absa_any_choices.py``.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from random import Random
from typing import Any

import torch
from absa_any import trained_on
from absa_any_lists import read_aspects, read_names
from absa_any_told import Teller, read_both, read_told
from torch.nn.functional import cross_entropy

from weft.absa.records import CONFLICT, UNKNOWN, Sentence

_BATCH = 24
_BOTH_WAYS = 0.3


def drawn(count: int, seed: int) -> list[Sentence]:
    """Told sentences with their questions, none of those that choose; three in ten say both of something."""
    teller = Teller(trained_on(read_told()), trained_on(read_both()), read_aspects(), read_names())
    random = Random(seed)
    both_ways = [one for one in teller.told if CONFLICT in one.said[0].values()]
    found: list[Sentence] = []
    while len(found) < count:
        draw = random.random()
        if draw < _BOTH_WAYS:
            found.append(teller.one(random.choice(both_ways), random))
        elif draw < 0.8:
            found.append(teller.one(random.choice(teller.told), random))
        else:
            found.append(teller.two(random.choice(teller.both), random))
    return found


def states(asker: Any, sentences: list[Sentence]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Of every question what the classifier reads ``(questions, hidden)``, logits, and the gold class."""
    given: list[torch.Tensor] = []
    kept: list[torch.Tensor] = []
    told: list[torch.Tensor] = []
    gold: list[int] = []
    hook = asker.module.head.classifier.register_forward_pre_hook(lambda _, inputs: given.append(inputs[0]))
    with torch.no_grad():
        for first in range(0, len(sentences), _BATCH):
            batch = sentences[first : first + _BATCH]
            questions = asker.represent(batch)
            told.append(asker.logits(questions))
            kept.append(given.pop()[questions.context_view, questions.context_slot])
            gold += [-1 if p == UNKNOWN else asker.classes_.index(p) for s in batch for p in s.polarities]
    hook.remove()
    answers = torch.tensor(gold)
    known = answers >= 0
    return torch.cat(kept)[known], torch.cat(told)[known], answers[known]


def fitted(
    asker: Any, rows: torch.Tensor, others: torch.Tensor, gold: torch.Tensor, strength: float
) -> torch.Tensor:
    """Fit the row in place; the logits with it."""
    number = asker.classes_.index(CONFLICT)
    layer = asker.module.head.classifier
    row = layer.weight[number].detach().clone().requires_grad_(True)
    bias = layer.bias[number].detach().clone().requires_grad_(True)
    before = row.detach().clone()
    optimiser = torch.optim.LBFGS([row, bias], max_iter=100, line_search_fn="strong_wolfe")

    def logits() -> torch.Tensor:
        return others.index_copy(1, torch.tensor([number]), (rows @ row + bias)[:, None])

    def loss() -> torch.Tensor:
        optimiser.zero_grad()
        value = cross_entropy(logits(), gold) + strength * (row - before).square().sum()
        value.backward()
        return value

    optimiser.step(loss)
    with torch.no_grad():
        layer.weight[number], layer.bias[number] = row, bias
        return logits()


def main() -> None:
    """Draw, fit, write, and print the share of conflicts that are answered so before and after."""
    from weft.absa.use.store import load, save

    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--model", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--count", type=int, default=6000, help="told sentences")
    parser.add_argument("--strength", type=float, default=1e-4, help="λ")
    parser.add_argument("--bias", type=float, default=0.0, help="added to b")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--bits", default="{}", help="JSON: how fine matrices are whose names begin so, for a smaller wheel"
    )
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    asker = load(arguments.model)
    rows, logits, gold = states(asker, drawn(arguments.count, arguments.seed))
    number = asker.classes_.index(CONFLICT)
    torn = gold == number
    for when in ("before", "after"):
        if when == "after":
            logits = fitted(asker, rows, logits, gold, arguments.strength)
        told = logits.argmax(dim=1) == number
        right = float((told & torn).sum())
        print(
            f"{when}: of {int(torn.sum())} conflicts {right / max(float(torn.sum()), 1):.3f} answered so, "
            f"of {int(told.sum())} such answers {right / max(float(told.sum()), 1):.3f} right",
            flush=True,
        )
    with torch.no_grad():
        asker.module.head.classifier.bias[number] += arguments.bias
    save(arguments.out, asker, int8=True, bits=json.loads(arguments.bits))


if __name__ == "__main__":
    main()
