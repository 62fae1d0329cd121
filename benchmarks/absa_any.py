"""Models of ``weft absa`` beside their baselines: unseen domains, everyday questions, two targets, negation, neutral.

    python benchmarks/absa_any.py --data DATA --model absa-any --model absa-small --json FILE

``--data`` holds ``absa/mabsa``. Beside the models stand ``all none``, which finds nothing, and VADER (the lexicon with
negation of Hutto and Gilbert 2014): of the clauses that hold a word of the aspect, or near to the target, the compound
score, from .05 on positive, to -.05 negative, neutral between; without such a clause, none.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from weft.absa.evaluate.opinions import opinions_report, under
from weft.absa.read.labelled import Columns, read_labelled
from weft.absa.read.quadruples import read_mabsa
from weft.absa.read.reviews import POLARITIES, questions
from weft.absa.records import Context, Corpus

DOMAINS = ("hotel", "phone", "food", "laptop", "restaurant", "coursera", "sight")
EXAMPLES = Path(__file__).parents[1] / "examples/absa"
QUESTIONS = {
    "": "questions-ninth.csv",
    " (eighteenth)": "questions-eighteenth.csv",
    " (seventeenth)": "questions-seventeenth.csv",
    " (sixteenth)": "questions-sixteenth.csv",
    " (fifteenth)": "questions-fifteenth.csv",
    " (eighth)": "questions-eighth.csv",
    " (seventh)": "questions-seventh.csv",
    " (sixth)": "questions-sixth.csv",
    " (fifth)": "questions-fifth.csv",
    " (fourth)": "questions-fourth.csv",
    " (third)": "questions-third.csv",
    " (second)": "questions-unseen.csv",
    " (first)": "questions.csv",
}
"""Own questions, and what is written behind their kinds: all sets but the newest were asked of models before.

Those of the fifteenth (who says it, when, and whether at all), the sixteenth (compared, hedged, with exceptions, about
money, told by what happened, mixed) and the seventeenth (beside a rival, how it was, what was promised, two named
things) stand by group, too.
"""
MAIN = ("restaurant", "hotel", "phone", "laptop", "app", "shop", "course", "clinic")
HALVES = {"": "", " (eighth)": "", " (seventh)": "", " (sixth)": "car wash"}
"""Sets that are shown by main and other kinds, too, and a kind that lists for training have as an aspect of petrol
stations: in neither half."""
_CLAUSES = re.compile(r"[.!?;,:]|\b(?:but|while|whereas|although|though|however|yet|and)\b", re.IGNORECASE)
Answers = Callable[[Corpus], NDArray[np.float64]]


def all_none(corpus: Corpus) -> NDArray[np.float64]:
    """No opinion on anything."""
    rows = sum(len(sentence.contexts) for sentence in corpus.sentences)
    return np.tile([0.96, 0.01, 0.01, 0.01, 0.01], (rows, 1))


def vader() -> Answers:
    """VADER on the clauses that hold a word of the question."""
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

    analyser = SentimentIntensityAnalyzer()

    def clause_scores(text: str, context: Context) -> list[float]:
        words = {_stem(word) for word in re.findall(r"[a-z]+", (context.aspect.split(":")[0]).lower())}
        clauses = [clause for clause in _CLAUSES.split(text) if clause.strip()]
        if context.target is not None:
            found = [clause for clause in clauses if context.target.lower() in clause.lower()]
        else:
            found = [c for c in clauses if words & {_stem(word) for word in re.findall(r"[a-z]+", c.lower())}]
        return [analyser.polarity_scores(clause)["compound"] for clause in found]

    def answer(corpus: Corpus) -> NDArray[np.float64]:
        rows: list[list[float]] = []
        for sentence in corpus.sentences:
            for context in sentence.contexts:
                scores = clause_scores(sentence.text, context)
                row = [0.01] * 5
                score = max(scores, key=abs, default=0.0)
                row[0 if not scores else 1 if score >= 0.05 else 2 if score <= -0.05 else 3] = 0.96
                rows.append(row)
        return np.array(rows)

    return answer


def _stem(word: str) -> str:
    return word[:-1] if word.endswith("s") else word


def model(name: str, threads: int, precision: str) -> Answers:
    """A trained model by its name or folder, in an arithmetic of ``weft absa``."""
    import torch

    from weft.absa.use.store import load

    torch.set_num_threads(threads)
    asker = load(name).compute_in(precision)

    def answer(corpus: Corpus) -> NDArray[np.float64]:
        return under(np.concatenate(asker.answer(corpus.sentences)), asker.classes_, corpus.polarities)

    answer.threshold = asker.config.threshold  # pyright: ignore[reportFunctionMemberAccess]
    return answer


def parts_of(data: Path) -> dict[str, Corpus]:
    """What is measured on, by name: unseen domains, and own questions by set and kind."""
    parts: dict[str, Corpus] = {}
    for domain in DOMAINS:
        reviews = read_mabsa(data / f"absa/mabsa/{domain}-dev.txt").reviews
        parts[domain] = questions(reviews, 10, 250)
    for mark, name in QUESTIONS.items():
        path = EXAMPLES / name
        own = replace(read_labelled(str(path), Columns(target="target")), polarities=POLARITIES)
        with path.open(encoding="utf-8", newline="") as file:
            found = list(csv.DictReader(file))
        kinds = {row["text"]: (row["kind"], row["domain"]) for row in found}
        groups = {row["text"]: row["group"] for row in found if "group" in row}
        for group in dict.fromkeys(groups.values()):
            picked = [i for i, s in enumerate(own.sentences) if groups[s.text] == group]
            parts[group + mark] = own.subset(picked)
        for kind in dict.fromkeys(kind for kind, _ in kinds.values()):
            picked = [i for i, s in enumerate(own.sentences) if kinds[s.text][0] == kind]
            parts[kind + mark] = own.subset(picked)
            if mark in HALVES:
                of = {i: kinds[own.sentences[i].text][1] for i in picked}
                known = (*MAIN, HALVES[mark])
                parts[f"{kind}{mark}, main"] = own.subset([i for i in picked if of[i] in MAIN])
                parts[f"{kind}{mark}, others"] = own.subset([i for i in picked if of[i] not in known])
    return parts


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", action="append", default=[])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--part", action="append", default=[], help="only this part; may be repeated")
    parser.add_argument("--precision", default="fp32", help="fp32, bf16, int8 or auto")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    parts = parts_of(arguments.data)
    for name in arguments.part:
        if name not in parts:
            parser.error(f"--part: no part {name!r}; there are {', '.join(map(repr, parts))}")
    parts = {name: corpus for name, corpus in parts.items() if name in (arguments.part or parts)}
    systems: dict[str, Answers] = {"all none": all_none, "VADER": vader()}
    systems |= {name: model(name, arguments.threads, arguments.precision) for name in arguments.model}
    rows: list[dict[str, object]] = []
    shown = ("found", "precision", "accuracy", "macro_f1", "aspect_auc", "sentiment", "all_right", "ece")
    print(f"{'':40}" + "".join(f"{name:>11}" for name in shown))
    for name, answer in systems.items():
        for part, corpus in parts.items():
            values = opinions_report(corpus, answer(corpus), getattr(answer, "threshold", 0.5))
            rows.append({"system": name, "part": part, **values})
            print(f"{Path(name).name:20}{part:26}" + "".join(f"{values[n]:11.3f}" for n in shown), flush=True)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
