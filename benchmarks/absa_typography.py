"""The questions of ``examples/absa``, as phones, word processors and web pages write them: are the answers the same?

    python benchmarks/absa_typography.py --model absa-any

Typeset: a straight apostrophe becomes ``’``, straight quotes ``“ ”``, `` - `` an en dash, ``...`` an ellipsis. Escaped:
``&#x27;``, ``&quot;``, ``&amp;``. Bare: "dont" for "don't". Beside accuracy and macro-F1 stands the share of answers
that differ from those about the plain texts, over the texts in which something is typeset.
"""

from __future__ import annotations

import argparse
import html
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

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


def escaped(text: str) -> str:
    """The text as the source of a web page holds it."""
    return html.escape(text)


def bare(text: str) -> str:
    """The text with "dont" for "don't"."""
    return re.sub(r"(?<=\wn)'(?=t\b)", "", text)


WAYS: dict[str, Callable[[str], str]] = {"plain": str, "typeset": typeset, "escaped": escaped, "bare": bare}


def questions() -> Corpus:
    """The questions about texts in which something is set otherwise."""
    found: list[Sentence] = []
    for name in SETS:
        corpus = read_labelled(str(FOLDER / f"questions-{name}.csv"), Columns(target="target"))
        found += [sentence for sentence in corpus.sentences if typeset(sentence.text) != sentence.text]
    return Corpus(tuple(found), POLARITIES)


def written(sentence: Sentence, way: Callable[[str], str]) -> Sentence:
    """The sentence and its targets as they are written so."""
    contexts = tuple(
        replace(c, target=None if c.target is None else way(c.target)) for c in sentence.contexts
    )
    return replace(sentence, text=way(sentence.text), contexts=contexts)


def main() -> None:
    """Ask both, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--model", default="absa-any")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    asker, plain = load(arguments.model), questions()
    answers: dict[str, Any] = {}
    results = {"texts": float(len(plain.sentences))}
    for name, way in WAYS.items():
        corpus = replace(plain, sentences=tuple(written(sentence, way) for sentence in plain.sentences))
        rows = under(np.concatenate(asker.answer(corpus.sentences)), asker.classes_, POLARITIES)
        report = opinions_report(corpus, rows, asker.config.threshold)
        results |= {
            f"{name}: {what}": report[what] for what in ("questions", "accuracy", "macro_f1", "found")
        }
        answers[name] = decide(rows, asker.config.threshold)
        results[f"{name}: answers that differ"] = float((answers[name] != answers["plain"]).mean())
    print(json.dumps({name: round(value, 4) for name, value in results.items()}, indent=1))


if __name__ == "__main__":
    main()
