"""Long texts of ``weft absa``: reviews of one domain joined by N, and long reviews written for this.

    python benchmarks/absa_long.py --data DATA --model absa-any --together 1 --together 4 --together 16
    python benchmarks/absa_long.py --model absa-any --own test

``--data`` holds ``absa``. Each joined text is asked about the ten most frequent categories of its domain; one that its
reviews praise and blame is not asked about. ``--choose`` takes what may choose (of MAMS' and ACOS' restaurants what is
held out, not trained on and not in M-ABSA), in place of M-ABSA's dev files. ``--own`` asks
``examples/absa/questions-long.csv``, twenty long reviews written for this, each by one author: the first, third, …
(``choose``) or the others (``test``).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch

from weft.absa.evaluate.opinions import opinions_report, under
from weft.absa.read.labelled import Columns, read_labelled
from weft.absa.read.mams import read_mams
from weft.absa.read.quadruples import read_acos, read_mabsa
from weft.absa.read.reviews import POLARITIES, Review, questions
from weft.absa.records import Corpus
from weft.absa.use.asker import Asker
from weft.absa.use.store import load
from weft.objective.metrics import roc_auc

DOMAINS = ("hotel", "phone", "food", "laptop", "restaurant", "coursera", "sight")
OWN = Path(__file__).parents[1] / "examples/absa/questions-long.csv"
SHOWN = (
    "questions",
    "all_none",
    "accuracy",
    "macro_f1",
    "found",
    "precision",
    "aspect_auc",
    "opinion_auc",
    "sentiment",
    "ece",
)


def measured(data: Path) -> dict[str, Sequence[Review]]:
    """M-ABSA's dev files by domain."""
    return {name: read_mabsa(data / f"absa/mabsa/{name}-dev.txt").reviews for name in DOMAINS}


def choosing(data: Path) -> dict[str, Sequence[Review]]:
    """What was not trained on and is not measured, letter by letter: sources share sentences."""
    others, mams = data / "absa/absadatasets", data / "absa/mams"
    used = [review for reviews in measured(data).values() for review in reviews]
    used += [*read_mams(mams / "ATSA-train.xml").reviews, *read_mams(mams / "ACSA-train.xml").reviews]
    used += read_acos(others / "acos-rest16_quad_train.tsv.jsonl", "restaurants").reviews
    known = {_letters(review.text) for review in used}
    found = {
        "mams": read_mams(mams / "ACSA-val.xml").reviews,
        "acos restaurants": read_acos(others / "acos-rest16_quad_dev.tsv.jsonl", "restaurants").reviews,
    }
    return {name: [r for r in part if _letters(r.text) not in known] for name, part in found.items()}


def _letters(text: str) -> str:
    return "".join(character for character in text.lower() if character.isalnum())


def own(part: str) -> Corpus:
    """Every other one of the long reviews."""
    whole = read_labelled(str(OWN), Columns(target="target"))
    first = 0 if part == "choose" else 1
    return replace(whole.subset(range(first, len(whole.sentences), 2)), polarities=POLARITIES)


def joined(reviews: Sequence[Review], together: int, seed: int = 0) -> list[Review]:
    """The reviews in texts of so many, in an order drawn at random."""
    drawn = Random(seed).sample(list(reviews), len(reviews))
    found: list[Review] = []
    for first in range(0, len(drawn) - together + 1, together):
        part = drawn[first : first + together]
        text = " ".join(review.text.strip() for review in part)
        opinions = tuple(opinion for review in part for opinion in review.opinions)
        found.append(replace(part[0], text=text, opinions=opinions))
    return found


def told(asker: Asker, corpus: Corpus) -> dict[str, float]:
    """What a model answers of a corpus, in figures."""
    answers = under(np.concatenate(asker.answer(corpus.sentences)), asker.classes_, corpus.polarities)
    report = opinions_report(corpus, answers, asker.config.threshold)
    # Over all questions: an aspect of one review has no others to be told from.
    report["opinion_auc"] = roc_auc(1 - answers[:, 0], np.array(corpus.gold()) != 0)
    return {key: round(report[key], 4) for key in SHOWN}


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, help="needed unless --own is asked")
    parser.add_argument("--model", default="absa-any")
    parser.add_argument("--together", type=int, action="append", help="reviews of a text (1, 4, 16)")
    parser.add_argument("--limit", type=int, default=400, help="reviews of a domain")
    parser.add_argument("--choose", action="store_true", help="what may choose")
    parser.add_argument("--own", choices=("choose", "test"), help="the long reviews written for this")
    parser.add_argument("--json", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    if arguments.data is None and arguments.own is None:
        parser.error("give --data, or --own")
    torch.set_num_threads(1)
    rows: list[dict[str, Any]] = []

    def show(together: int, domain: str, figures: dict[str, float]) -> None:
        rows.append({"together": together, "domain": domain, **figures})
        print(json.dumps(rows[-1]), flush=True)

    asker = load(arguments.model)
    if arguments.own is not None:
        show(1, f"own, {arguments.own}", told(asker, own(arguments.own)))
    sources = {} if arguments.data is None else (choosing if arguments.choose else measured)(arguments.data)
    for together in (arguments.together or (1, 4, 16)) if sources else ():
        parts: list[dict[str, float]] = []
        for name, reviews in sources.items():
            parts.append(told(asker, questions(joined(reviews[: arguments.limit], together))))
            show(together, name, parts[-1])
        show(
            together, "mean", {key: round(float(np.mean([part[key] for part in parts])), 4) for key in SHOWN}
        )
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
