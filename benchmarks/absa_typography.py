"""The questions of ``examples/absa``, typed as phones and word processors write them: does a model answer the same?

    python benchmarks/absa_typography.py --model absa-any

A straight apostrophe becomes ``’``, straight quotes ``“ ”``, `` - `` an en dash, ``...`` an ellipsis. Beside accuracy
and macro-F1 of both stands the share of answers that differ, over the texts in which something was rewritten.
"""

from __future__ import annotations

import argparse
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from weft.absa.evaluate.opinions import opinions_report, under
from weft.absa.read.labelled import Columns, read_labelled
from weft.absa.read.reviews import POLARITIES
from weft.absa.records import Corpus, Sentence
from weft.absa.use.decide import decide
from weft.absa.use.store import load

FOLDER = Path(__file__).parents[1] / "examples/absa"
SETS = ("third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")


def typeset(text: str) -> str:
    """The text as a word processor would set it."""
    text = re.sub(r'"([^"]*)"', "“\\1”", text.replace("'", "’"))
    return text.replace(" - ", " – ").replace("...", "…")


def questions() -> Corpus:
    """The questions about texts in which something is set otherwise."""
    found: list[Sentence] = []
    for name in SETS:
        corpus = read_labelled(str(FOLDER / f"questions-{name}.csv"), Columns(target="target"))
        found += [sentence for sentence in corpus.sentences if typeset(sentence.text) != sentence.text]
    return Corpus(tuple(found), POLARITIES)


def main() -> None:
    """Ask both, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--model", default="absa-any")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    asker, plain = load(arguments.model), questions()
    typed = replace(
        plain,
        sentences=tuple(
            replace(
                sentence,
                text=typeset(sentence.text),
                contexts=tuple(
                    replace(c, target=None if c.target is None else typeset(c.target))
                    for c in sentence.contexts
                ),
            )
            for sentence in plain.sentences
        ),
    )
    answers, results = [], {"texts": float(len(plain.sentences))}
    for name, corpus in (("plain", plain), ("typeset", typed)):
        rows = under(np.concatenate(asker.answer(corpus.sentences)), asker.classes_, POLARITIES)
        report = opinions_report(corpus, rows, asker.config.threshold)
        results |= {f"{name} {what}": report[what] for what in ("questions", "accuracy", "macro_f1", "found")}
        answers.append(decide(rows, asker.config.threshold))
    results["answers that differ"] = float((answers[0] != answers[1]).mean())
    print(json.dumps({name: round(value, 4) for name, value in results.items()}, indent=1))


if __name__ == "__main__":
    main()
