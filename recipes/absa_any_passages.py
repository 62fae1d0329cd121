"""How much the clearest passage of a long text has a say about which opinion it is: ``AbsaConfig.passage_weight``.

::

    python recipes/absa_any_passages.py [--model absa-any]

Asked are what chooses of ``absa_any/long.jsonl`` and ``absa_any/paragraphs-choices.csv``, ten reviews of some 240 words
in paragraphs with 84 questions, most of them about what is praised or blamed. Nothing is stored: the weight stands in
the model's configuration. Conflicts: answers that are so, right ones among them, and how many there should be.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np
from absa_any_choices import LISTS, labelled
from absa_any_long import read_long

from weft.absa.evaluate.opinions import opinions_report, under
from weft.absa.read.labelled import Columns, read_labelled
from weft.absa.read.reviews import POLARITIES
from weft.absa.records import CONFLICT, Corpus
from weft.absa.use.decide import decide
from weft.absa.use.passages import by_passages
from weft.absa.use.store import load

WEIGHTS = (0.0, 0.3, 0.5, 0.7, 1.0)
SHOWN = ("questions", "accuracy", "macro_f1", "found", "precision", "sentiment", "ece")


def parts() -> dict[str, Corpus]:
    """What chooses."""
    whole = labelled(tuple(one.whole() for one in read_long("long.jsonl") if one.chooses))
    own = read_labelled(str(LISTS / "paragraphs-choices.csv"), Columns(target="target"))
    return {"long.jsonl": Corpus(whole, POLARITIES), "paragraphs": replace(own, polarities=POLARITIES)}


def main() -> None:
    """Print a row for each part and weight."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="absa-any")
    asker = load(parser.parse_args().model).in_whole()
    for name, corpus in parts().items():
        labels = [corpus.polarities.index(p) for sentence in corpus.sentences for p in sentence.polarities]
        gold, conflict = np.array(labels), corpus.polarities.index(CONFLICT)
        heard = asker.hear(corpus.sentences)
        for weight in WEIGHTS:
            moved = by_passages(corpus.sentences, heard, weight, asker.hear) if weight else heard
            rows = under(np.concatenate([one.rows for one in moved]), asker.classes_, corpus.polarities)
            report = opinions_report(corpus, rows, asker.config.threshold)
            told = decide(rows, asker.config.threshold) == conflict
            print(
                f"{name} {weight}:",
                ", ".join(f"{what} {report[what]:.3f}" for what in SHOWN),
                f"conflicts {told.sum()}, right {(told & (gold == conflict)).sum()} of {(gold == conflict).sum()}",
                flush=True,
            )


if __name__ == "__main__":
    main()
