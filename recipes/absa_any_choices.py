"""What ``absa-any`` is chosen, calibrated and given its threshold by: not trained on, and no test.

    python recipes/absa_any_choices.py --data DATA --model OUT/model --model absa-any

Parts: ``choices.csv``, questions about things that no training sentence speaks of (cars, films, banks, …); a tenth of
the told sentences; categories of MAMS's validation part; T-shirts, whole and two in one text.
"""

from __future__ import annotations

import argparse
import csv
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import torch
from absa_any_lessons import Lessons
from absa_any_lists import LISTS, read_aspects, read_names
from absa_any_made import Maker
from absa_any_told import Teller, read_both, read_told

from weft.absa.evaluate.opinions import opinions_report, under
from weft.absa.read.labelled import Columns, read_labelled
from weft.absa.read.mams import read_mams
from weft.absa.read.reviews import POLARITIES, questions
from weft.absa.read.three_lines import read_three_lines
from weft.absa.records import Corpus

SHOWN = (
    "questions",
    "found",
    "precision",
    "accuracy",
    "macro_f1",
    "aspect_auc",
    "sentiment",
    "all_right",
    "ece",
)


def parts(data: Path) -> dict[str, Corpus]:
    """The parts, by name."""
    path = LISTS / "choices.csv"
    whole = replace(read_labelled(str(path), Columns(target="target")), polarities=POLARITIES)
    with path.open(encoding="utf-8", newline="") as file:
        kinds = {row["text"]: row["kind"] for row in csv.DictReader(file)}
    found = {
        kind: whole.subset([i for i, s in enumerate(whole.sentences) if kinds[s.text] == kind])
        for kind in dict.fromkeys(kinds.values())
    }
    aspects, names = read_aspects(), read_names()
    told = [one for number, one in enumerate(read_told()) if number % 10 == 7]
    both = [one for number, one in enumerate(read_both()) if number % 10 == 7]
    teller, random = Teller(told, both, aspects, names), Random(1)
    found["told"] = Corpus(tuple(teller.one(one, random) for one in told for _ in range(3)), POLARITIES)
    found["both"] = Corpus(tuple(teller.two(one, random) for one in both for _ in range(4)), POLARITIES)
    found["mams"] = questions(read_mams(data / "absa/mams/ACSA-val.xml").reviews, 8, 150)
    shirts = read_three_lines(data / "absa/absadatasets/tshirt-train.seg", "t-shirts").reviews[:300]
    lessons = Lessons(shirts, [], 0, 60, aspects, names, Maker(aspects, names))
    rows = range(len(lessons.sentences))
    drawn = lessons(list(rows), torch.Generator().manual_seed(5))
    found["t-shirts"] = Corpus(tuple(s for s in drawn if len(s.groups()) < 2), POLARITIES)
    found["t-shirts, two"] = Corpus(tuple(s for s in drawn if len(s.groups()) > 1), POLARITIES)
    return found


def answers(asker: Any, corpus: Corpus) -> Any:
    """Probabilities ``(questions, classes)`` in the order of the corpus's classes."""
    import numpy as np

    return under(np.concatenate(asker.answer(corpus.sentences)), asker.classes_, corpus.polarities)


def main() -> None:
    """Parse, measure, print."""
    from weft.absa.use.store import load

    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", action="append", required=True)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    found = parts(arguments.data)
    print(f"{'':36}" + "".join(f"{name:>11}" for name in SHOWN))
    for name in arguments.model:
        asker = load(name)
        for part, corpus in found.items():
            values = opinions_report(corpus, answers(asker, corpus), asker.config.threshold)
            print(f"{name[-20:]:22}{part:14}" + "".join(f"{values[n]:11.3f}" for n in SHOWN), flush=True)


if __name__ == "__main__":
    main()
