"""Fit how much the side that an answer was asked for says: one command, a few minutes.

    python recipes/absa_any_sides.py [--model absa-any]

Of the answers to learn from (``absa_any/answers.txt``) every marked thing is asked about as ``weft absa find`` asks.
The four numbers of :class:`weft.absa.use.sides.Odds` are those of the highest likelihood. Prints them, beside those
that are kept (:data:`weft.absa.use.sides.FITTED`), and what both make of these answers and of those that choose and
measure: how often the polarity of a given thing is right.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from absa_any_lists import LISTS
from absa_any_marked import EXAMPLES, MarkedAnswer, learnt_answers, read_answers
from numpy.typing import NDArray

from weft.absa.find.finder import GENERAL
from weft.absa.find.places import passages
from weft.absa.find.spans import Span
from weft.absa.records import Context, Sentence
from weft.absa.use.asker import Asker
from weft.absa.use.sides import FITTED, Odds, leaning, side_of
from weft.absa.use.store import load
from weft.objective.metrics import expected_calibration_error


class Judged(NamedTuple):
    """What the model says of things without their side, ``(things, classes)``; the right class; which side."""

    rows: NDArray[np.float64]
    gold: NDArray[np.int64]
    cons: NDArray[np.bool_]


def judged(asker: Asker, answers: Sequence[MarkedAnswer]) -> Judged:
    """Every marked thing, if there is an opinion of it; answers that name nothing of what was asked are left out."""
    sentences: list[Sentence] = []
    gold: list[int] = []
    cons: list[bool] = []
    for one in answers:
        text, marked = one.marked.text, one.marked
        if side_of(text, one.side) is None:
            continue  # it is read without its side
        terms = {Span(a, b): p for (a, b), p in zip(marked.terms, marked.polarities, strict=True)}
        some = sorted(terms)
        for term, (start, stop) in zip(some, passages(text, some), strict=True):
            words = text[term.start : term.stop]
            sentences.append(Sentence(text, (Context(words),)))
            sentences.append(Sentence(text[start:stop], (Context(GENERAL, words),)))
            gold.append(asker.classes_.index(terms[term]))
            cons.append(one.side == "cons")
    said = np.concatenate(asker.answer(sentences))
    rows = np.sqrt(said[0::2] * said[1::2])
    rows[:, 0] = 0.0
    return Judged(rows / rows.sum(axis=1, keepdims=True), np.array(gold), np.array(cons))


def fitted(of: Judged, classes: tuple[str, ...]) -> Odds:
    """The odds of the highest likelihood."""
    logs = torch.tensor(np.log(np.maximum(of.rows[:, 1:], 1e-12)))
    gold, cons = torch.tensor(of.gold) - 1, torch.tensor(of.cons)
    values = torch.zeros(4, dtype=torch.float64, requires_grad=True)
    place = {name: number for number, name in enumerate(classes[1:])}

    def loss() -> torch.Tensor:
        bias = torch.zeros(2, len(classes) - 1, dtype=torch.float64)
        for row, (asked, other) in enumerate((("positive", "negative"), ("negative", "positive"))):
            for name, value in zip((asked, other, "neutral"), values[1:], strict=True):
                bias[row, place[name]] = bias[row, place[name]] + value
        return torch.nn.functional.cross_entropy(values[0].exp() * logs + bias[cons.long()], gold)

    optimizer = torch.optim.LBFGS([values], max_iter=200, line_search_fn="strong_wolfe")

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        value = loss()
        value.backward()  # pyright: ignore[reportUnknownMemberType]
        return value

    optimizer.step(closure)  # pyright: ignore[reportUnknownMemberType, reportArgumentType]
    found = values.detach().tolist()
    return Odds(float(np.exp(found[0])), *found[1:])


def told(name: str, of: Judged, rows: NDArray[np.float64]) -> None:
    """Print how much is right, how likely what is right is held to be, and how far off the confidence is."""
    share = float((rows.argmax(axis=1) == of.gold).mean())
    likely = -float(np.log(np.maximum(rows[np.arange(len(rows)), of.gold], 1e-12)).mean())
    error = expected_calibration_error(np.minimum(rows.max(axis=1), 1), rows.argmax(axis=1) == of.gold)
    print(
        f"    {name}: right {share:.3f}, mean negative log-likelihood {likely:.3f}, calibration error {error:.3f}",
        flush=True,
    )


def main() -> None:
    """Fit, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--model", default="absa-any")
    arguments = parser.parse_args()
    asker = load(arguments.model)
    learnt = judged(asker, learnt_answers())
    odds = fitted(learnt, asker.classes_)
    print("fitted:", Odds(*(round(value, 2) for value in odds)))
    print("kept:  ", FITTED)
    held = [LISTS / "answers-choices.txt", *sorted(EXAMPLES.glob("answers-*.txt"))]
    parts = {"answers": learnt} | {path.stem: judged(asker, read_answers(path)) for path in held}
    for name, of in parts.items():
        print(f"{name}, {len(of.gold)} things:")
        told("without their side", of, of.rows)
        for kind, some in (("fitted", odds), ("kept", FITTED)):
            rows = [
                leaning(row, "cons" if con else "pros", asker.classes_, some)
                for row, con in zip(of.rows, of.cons, strict=True)
            ]
            told(kind, of, np.array(rows))


if __name__ == "__main__":
    main()
