"""Fit what puts terms into categories: ``src/weft/absa/find/grouping.safetensors``.

::

    python recipes/absa_any_grouping.py [--model absa-any] [--out FILE]

Learns from ``recipes/absa_any/grouped.csv`` (whole reviews of many kinds, written for it: a term, and the category that
a reader of a summary would look for it under, ``own`` where there is none) and prints how many of the terms of
``grouped-choices.csv``, by other writers, are right. By these the rank, the dropout and the steps were chosen. Three
seeds; the mean of their scores is stored, which is one map of three times the rank.
"""

from __future__ import annotations

import argparse
import csv
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from weft.absa.find.domain import Category, Phrases, common_categories
from weft.absa.find.grouping import (
    LEARNT,
    PROBE,
    Floats,
    Grouping,
    Learnt,
    Said,
    Vectors,
    digest,
    gloss,
    likest,
    read_learnt,
    write_learnt,
)
from weft.absa.use.asker import Asker
from weft.absa.use.store import load
from weft.absa.use.windows import sentence_begins
from weft.platform.files import replaced

HERE = Path(__file__).parent
OWN = "own"
RANK, DROPOUT, STEPS, SEEDS = 64, 0.5, 600, (0, 1, 2)
RATE, DECAY, SMOOTHING, OF_PHRASES = 3e-3, 0.02, 0.05, 0.3
BASIS = 128
DRAWS, OF_A_USER, WORDS = 60, 10, 4
"""Lists of a user's that are played: how many, of how many categories, with how many words each."""


@dataclass(frozen=True)
class Labelled:
    """Terms in their sentences, and the number of the category of each; the number behind the last is ``own``."""

    terms: list[Said]
    gold: NDArray[np.int64]


def read(path: Path, categories: Sequence[Category]) -> Labelled:
    """The rows of a file ``text,term,category``.

    Raises:
        SystemExit: A term that does not stand in its text, or no such category.
    """
    names = [*(category.name for category in categories), OWN]
    terms, gold = list[Said](), list[int]()
    with path.open(encoding="utf-8", newline="") as file:
        for number, row in enumerate(csv.DictReader(file), start=2):
            text, term = row["text"], row["term"]
            at = text.find(term)
            if at < 0 or row["category"] not in names:
                raise SystemExit(
                    f"{path} line {number}: no such term in the text, or no category of the list"
                )
            edges = [*sentence_begins(text), len(text)]
            start, stop = (
                edges[bisect_right(edges, at) - 1],
                edges[max(1, bisect_left(edges, at + len(term)))],
            )
            terms.append(Said(term, text[start:stop], at - start, at - start + len(term)))
            gold.append(names.index(row["category"]))
    return Labelled(terms, np.array(gold))


def blank(hidden: int) -> Learnt:
    """Weights that say nothing, to read vectors with."""
    row, rows = np.zeros(hidden, np.float32), np.zeros((0, hidden), np.float32)
    return Learnt(np.ones(4, np.float32), row, rows, row, rows, rows, rows, row, np.zeros(32, np.uint8))


@dataclass(frozen=True)
class Words:
    """What the frozen layers make of the categories' words.

    Args:
        phrases: ``(phrases, hidden)``.
        firsts: The first phrase of each category.
        glosses: ``(categories, hidden)``.
    """

    phrases: Floats
    firsts: NDArray[np.int64]
    glosses: Floats

    def cosines(self, of: Vectors) -> Floats:
        """``(terms, categories, 3)``, those of the equation, the likest phrase first."""
        near = likest(of.alone @ self.phrases.T, self.firsts)
        return np.stack([near, of.sentence @ self.glosses.T, of.there @ self.glosses.T], axis=-1)


def words_of(group: Grouping) -> Words:
    """Read the names and words of a list."""
    phrases = [[category.name, *category.words] for category in group.categories]
    firsts = np.cumsum([0, *(len(some) for some in phrases[:-1])])
    glosses = group.read([gloss(category) for category in group.categories])
    return Words(group.read([text for some in phrases for text in some]), firsts, glosses)


class Scores(nn.Module):
    """The equation of :class:`weft.absa.find.grouping.Grouping` with weights that learn."""

    def __init__(self, hidden: int, rank: int) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.tensor([6.0, 5.0, 3.0]))
        self.bias = nn.Parameter(torch.tensor([6.0]))
        self.term = nn.Parameter(torch.randn(rank, hidden) * 0.02)
        self.category = nn.Parameter(torch.randn(rank, hidden) * 0.3)
        self.own = nn.Parameter(torch.zeros(hidden))

    def forward(self, cosines: Tensor, there: Tensor, glosses: Tensor, dropout: float) -> Tensor:
        """``(terms, categories + 1)``."""
        kept = F.dropout(there, dropout, self.training)
        mapped = (kept @ self.term.T) @ (glosses @ self.category.T).T
        none = (there @ self.own + self.bias)[:, None]
        return torch.cat([cosines @ self.weights + mapped, none], dim=1)


def fit(
    words: Words, vectors: Vectors, gold: NDArray[np.int64], seed: int, dropout: float = DROPOUT
) -> Scores:
    """One seed, all rows in each step; beside them the categories' own words, each without itself."""
    torch.manual_seed(seed)
    glosses = torch.from_numpy(words.glosses)
    rows = torch.from_numpy(words.cosines(vectors)), torch.from_numpy(vectors.there)
    labels = torch.from_numpy(gold)
    phrases, owners, without = phrase_rows(words)
    model = Scores(glosses.shape[1], RANK)
    free = [model.weights, model.bias]
    maps = [model.term, model.category, model.own]
    optimiser = torch.optim.AdamW(
        [{"params": free, "weight_decay": 0.0}, {"params": maps}], RATE, weight_decay=DECAY
    )
    for step in range(STEPS):
        for part in optimiser.param_groups:
            part["lr"] = RATE * (1 - step / STEPS)
        loss = F.cross_entropy(model(*rows, glosses, dropout), labels, label_smoothing=SMOOTHING)
        beside = F.cross_entropy(model(without, phrases, glosses, dropout), owners, label_smoothing=SMOOTHING)
        optimiser.zero_grad()
        (loss + OF_PHRASES * beside).backward()
        optimiser.step()
    return model.eval()


def phrase_rows(words: Words) -> tuple[Tensor, Tensor, Tensor]:
    """The words of the categories, whose each is, and the cosines of each when its category has it not."""
    phrases, firsts = words.phrases, words.firsts
    owners = np.repeat(np.arange(len(firsts)), np.diff(firsts, append=len(phrases)))
    likeness = phrases @ phrases.T
    np.fill_diagonal(likeness, -1.0)
    glossed = phrases @ words.glosses.T
    cosines = np.stack([likest(likeness, firsts), glossed, glossed], axis=-1)
    return torch.from_numpy(phrases), torch.from_numpy(owners), torch.from_numpy(cosines)


def fit_likeness(asker: Asker, found: Labelled, vectors: Vectors) -> Floats:
    """Three weights and the score of none for lists of few categories that no map has seen."""
    rows, labels = list[Tensor](), list[Tensor]()
    categories = common_categories()
    draw = np.random.default_rng(0)
    for _ in range(DRAWS):
        cosines, gold = of_a_user(asker, categories, found, vectors, draw)
        rows.append(torch.from_numpy(cosines))
        labels.append(torch.from_numpy(gold))
    weights, none = torch.tensor([6.0, 5.0, 3.0], requires_grad=True), torch.tensor([6.0], requires_grad=True)
    optimiser = torch.optim.LBFGS([weights, none], max_iter=200)
    cosines, gold = torch.cat(rows), torch.cat(labels)

    def closure() -> Tensor:
        optimiser.zero_grad()
        scores = torch.cat([cosines @ weights, none.expand(len(cosines), 1)], dim=1)
        loss = F.cross_entropy(scores, gold)
        loss.backward()
        return loss

    optimiser.step(closure)
    return torch.cat([weights, none]).detach().numpy()


def of_a_user(
    asker: Asker,
    categories: Sequence[Category],
    found: Labelled,
    vectors: Vectors,
    draw: np.random.Generator,
) -> tuple[Floats, NDArray[np.int64]]:
    """Cosines and labels of the rows whose words decide nothing, for a drawn list of few categories and words."""
    picked = draw.choice(len(categories), OF_A_USER, replace=False)
    some = [Category(categories[n].name, categories[n].words[:WORDS]) for n in picked]
    by_words = Phrases(some)
    place = {int(n): at for at, n in enumerate(picked)}
    unclear = [n for n, said in enumerate(found.terms) if by_words(said.term) is None]
    gold = np.array([place.get(int(found.gold[n]), OF_A_USER) for n in unclear])
    of = Vectors(*(part[unclear] for part in vectors))
    return words_of(Grouping(asker, some, blank(vectors.alone.shape[1]))).cosines(of), gold


def folded(words: Words, models: Sequence[Scores], vectors: Vectors, rows: int) -> dict[str, Floats]:
    """The mean of the seeds' scores as :class:`Learnt` has it, the words in a basis of so many rows.

    The basis has the directions in which phrases and terms are longest (singular vectors).
    """
    glosses = torch.from_numpy(words.glosses)
    with torch.no_grad():
        maps = [model.weights[2] * glosses + glosses @ model.category.T @ model.term for model in models]
        own = torch.stack([model.own for model in models]).mean(dim=0)
        weights = torch.stack([model.weights for model in models]).mean(dim=0)[:2].numpy()
        bias = torch.stack([model.bias for model in models]).mean(dim=0).numpy()
    basis = np.linalg.svd(np.concatenate([words.phrases, vectors.alone]), full_matrices=False)[2][:rows]
    return {
        "weights": weights,
        "map": torch.cat([torch.stack(maps).mean(dim=0), own[None]]).numpy(),
        "bias": bias,
        "basis": basis,
        "phrases": words.phrases @ basis.T,
        "glosses": words.glosses @ basis.T,
    }


def main() -> None:
    """Fit and store."""
    import weft.absa.find as room

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="absa-any")
    parser.add_argument("--basis", type=int, default=BASIS)
    parser.add_argument("--out", type=Path, default=Path(room.__path__[0]) / LEARNT)
    arguments = parser.parse_args()
    asker, categories = load(arguments.model), common_categories()
    group = Grouping(asker, categories, blank(asker.config.encoder.hidden_size))
    train, choices = (
        read(HERE / "absa_any" / f"{name}.csv", categories) for name in ("grouped", "grouped-choices")
    )
    words, vectors, of_choices = words_of(group), group.vectors(train.terms), group.vectors(choices.terms)
    models = [fit(words, vectors, train.gold, seed) for seed in SEEDS]
    glosses = torch.from_numpy(words.glosses)
    cosines, there = torch.from_numpy(words.cosines(of_choices)), torch.from_numpy(of_choices.there)
    with torch.no_grad():
        each = [model(cosines, there, glosses, 0.0).numpy() for model in models]
    scores = {f"seed {seed}": one for seed, one in zip(SEEDS, each, strict=True)}
    scores["mean of the scores"] = np.mean(each, axis=0)
    likeness, probe = fit_likeness(asker, train, vectors), group.read([PROBE])[0]
    with replaced(arguments.out) as part:
        parts = folded(words, models, vectors, arguments.basis)
        write_learnt(part, Learnt(likeness=likeness, probe=probe, of=digest(categories), **parts))
        stored = read_learnt(part)
        scores[f"as stored, a basis of {arguments.basis}"] = Grouping(asker, categories, stored).scores(
            of_choices
        )
    for name, rows in scores.items():
        right = (rows.argmax(axis=1) == choices.gold).mean()
        print(f"{name}: {right:.3f} of {len(choices.gold)} that choose are right")
    print("weights", stored.weights.round(2).tolist(), "likeness", stored.likeness.round(2).tolist())
    print(f"stored {arguments.out.name}, {arguments.out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
