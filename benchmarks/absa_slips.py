"""Texts with slips of the keyboard, ratings and signs: what they cost, and what reading them as what is meant gives.

    python benchmarks/absa_slips.py --model absa-any

The texts of seven sets of ``examples/absa`` with slips made by a fixed draw: in one of ten words, in one of five (two
letters exchanged, one left out, typed twice, or its neighbour on the keyboard; words of four letters and more, no
names, neither first nor last letter), with words such as "so" and "great" stretched, with one space in ten words left
out, or without punctuation. And the tenth set, written by hand as one types in a hurry, the twelfth, spelled by ear,
and the fourteenth, as on a phone (short forms, words run together, no punctuation), each beside the same texts spelled;
the eleventh, of ratings, stars and thumbs, and the thirteenth, of lists and signs. Each is read as written and as what
is meant; beside the sets written by hand stand ``all none`` and VADER. Last, which of the things that lists praise and
blame ``weft absa find`` finds. ``--file`` asks a file of that form alone, such as those that chose the rules
(``recipes/absa_any/chat.csv``, ``lists.csv``, ``ratings.csv``).
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from absa_any import all_none, vader

from weft.absa.evaluate.opinions import opinions_report, under
from weft.absa.find.finder import Finder
from weft.absa.read.labelled import Columns, read_labelled
from weft.absa.read.reviews import POLARITIES
from weft.absa.records import NONE, Corpus
from weft.absa.use.asker import Asker
from weft.absa.use.decide import decide
from weft.absa.use.store import load

FOLDER = Path(__file__).parents[1] / "examples/absa"
SETS = ("third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")
BY_HAND = {
    "in a hurry (tenth set)": "questions-tenth.csv",
    "ratings (eleventh set)": "questions-eleventh.csv",
    "by ear (twelfth set)": "questions-twelfth.csv",
    "lists and signs (thirteenth set)": "questions-thirteenth.csv",
    "on a phone (fourteenth set)": "questions-fourteenth.csv",
}
ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
BESIDE = {one: two for row in ROWS for one, two in zip(row, row[1:] + row[-2], strict=True)}
STRETCHED = {
    *(
        "so",
        "very",
        "great",
        "good",
        "love",
        "loved",
        "bad",
        "terrible",
        "awful",
        "amazing",
        "never",
        "really",
        "slow",
    ),
    *("nice", "best", "worst", "hate", "perfect", "lovely", "horrible", "always", "too"),
}

FOUND = {
    "where it matters who says it (fifteenth set)": "questions-fifteenth.csv",
    "compared, hedged, with exceptions (sixteenth set)": "questions-sixteenth.csv",
    "beside something else (seventeenth set)": "questions-seventeenth.csv",
}
"""Sets of whose texts it is measured what ``weft absa find`` finds."""


def slip(word: str, draw: random.Random) -> str:
    """A word with one slip inside."""
    at = draw.randrange(1, len(word) - 1)
    before, letter, after = word[:at], word[at], word[at + 1 :]
    return (
        before + after[0] + letter + after[1:],
        before + after,
        before + letter * 2 + after,
        before + BESIDE.get(letter, letter) + after,
    )[draw.randrange(4)]


def slips(text: str, every: int) -> str:
    """A text with a slip in one of so many words, at least in one."""
    draw = random.Random(text)
    words = [match for match in re.finditer("[A-Za-z]{4,}", text) if match[0][0].islower()]
    count = min(len(words), max(1, round(len(text.split()) / every)))
    for match in sorted(draw.sample(words, count), key=lambda match: -match.start()):
        text = text[: match.start()] + slip(match[0], draw) + text[match.end() :]
    return text


def stretched(text: str) -> str:
    """A text that stretches the last vowel of what it praises or blames with."""
    draw = random.Random(text)

    def longer(match: re.Match[str]) -> str:
        if match[0] not in STRETCHED:
            return match[0]
        at = max(place for place, letter in enumerate(match[0]) if letter in "aeiou")
        return match[0][:at] + match[0][at] * draw.randrange(3, 6) + match[0][at + 1 :]

    return re.sub("[a-z]+", longer, text)


def together(text: str) -> str:
    """A text with one space in ten words left out, between words in small letters; at least one."""
    draw = random.Random(text)
    gaps = [match.start() for match in re.finditer("(?<=[a-z]) (?=[a-z])", text)]
    count = min(len(gaps), max(1, round(len(text.split()) / 10)))
    for at in sorted(draw.sample(gaps, count), reverse=True):
        text = text[:at] + text[at + 1 :]
    return text


WAYS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "a slip in ten words": lambda text: slips(text, 10),
    "a slip in five words": lambda text: slips(text, 5),
    "stretched": stretched,
    "a space in ten words left out": together,
    "without punctuation": lambda text: re.sub(r'[.,;:!?()"]', "", text),
}


def corpora(hand: bool = False) -> dict[str, tuple[Corpus, Corpus]]:
    """What is asked, and the same as it should be written, by name; the sets written by ``hand`` alone, or all."""
    if hand:
        return {name: by_hand(FOLDER / file) for name, file in BY_HAND.items()}
    read = [read_labelled(str(FOLDER / f"questions-{name}.csv"), Columns(target="target")) for name in SETS]
    plain = Corpus(tuple(sentence for corpus in read for sentence in corpus.sentences), POLARITIES)
    found = {}
    for name, way in WAYS.items():
        texts = (replace(sentence, text=way(sentence.text)) for sentence in plain.sentences)
        found[name] = replace(plain, sentences=tuple(texts)), plain
    return found | {name: by_hand(FOLDER / file) for name, file in BY_HAND.items()}


def by_hand(path: Path) -> tuple[Corpus, Corpus]:
    """A set as it is written, and as it should be where the file has a column ``spelled``."""
    corpus = Corpus(read_labelled(str(path), Columns()).sentences, POLARITIES)
    with path.open(encoding="utf-8", newline="") as file:
        right = {row["text"]: row.get("spelled", row["text"]) for row in csv.DictReader(file)}
    spelled = (replace(sentence, text=right[sentence.text]) for sentence in corpus.sentences)
    return corpus, replace(corpus, sentences=tuple(spelled))


def found_named(asker: Asker, corpus: Corpus) -> dict[str, float]:
    """Of praised and blamed aspects that texts name: which ``weft absa find`` has among its terms, and rightly.

    Beside them those that are named and not judged, and how many of these it reports all the same.
    """
    sentences = corpus.sentences
    found = Finder(asker).find([sentence.text for sentence in sentences])
    asked, named, right, others, reported = 0, 0, 0, 0, 0
    for sentence, findings in zip(sentences, found, strict=True):
        for context, polarity in zip(sentence.contexts, sentence.polarities, strict=True):
            words = context.aspect.lower()
            if context.target is not None or words not in sentence.text.lower():
                continue
            own = [finding for finding in findings if words in (finding.term or "").lower()]
            if polarity in ("positive", "negative"):
                asked, named = asked + 1, named + bool(own)
                right += any(finding.polarity == polarity for finding in own)
            elif polarity == NONE:
                others, reported = others + 1, reported + bool(own)
    return {
        "asked": asked,
        "found": round(named / asked, 4),
        "rightly": round(right / asked, 4),
        "not judged": others,
        "reported": round(reported / max(others, 1), 4),
    }


def main() -> None:
    """Ask, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--model", default="absa-any")
    parser.add_argument("--by-hand", action="store_true", help="only the sets written by hand")
    parser.add_argument("--file", type=Path, help="only the questions of this file")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    stored = load(arguments.model)
    results: dict[str, dict[str, float]] = {}
    alone = arguments.file
    asked_about = corpora(arguments.by_hand) if alone is None else {alone.name: by_hand(alone)}
    for name, (corpus, right) in asked_about.items():
        answers = {}
        readers = {
            "spelled, as written": (stored.as_written(), right),
            "as written": (stored.as_written(), corpus),
        }
        for way, (asker, asked) in (readers | {"as meant": (stored, corpus)}).items():
            rows = under(np.concatenate(asker.answer(asked.sentences)), asker.classes_, POLARITIES)
            report = opinions_report(asked, rows, asker.config.threshold)
            answers[way] = decide(rows, asker.config.threshold)
            results[f"{name}, {way}"] = {
                **{what: round(report[what], 4) for what in ("questions", "accuracy", "macro_f1", "found")},
                "differ": round(float((answers[way] != answers["spelled, as written"]).mean()), 4),
            }
        if name not in WAYS:
            for system, answer in {"all none": all_none, "VADER": vader()}.items():
                report = opinions_report(corpus, answer(corpus), 0.5)
                results[f"{name}, {system}"] = {
                    what: round(report[what], 4) for what in ("questions", "accuracy", "macro_f1", "found")
                }
    if getattr(stored.module, "terms", None) is not None and alone is not None:
        results[f"find in {alone.name}"] = found_named(stored, by_hand(alone)[0])
    elif getattr(stored.module, "terms", None) is not None:
        lists = by_hand(FOLDER / BY_HAND["lists and signs (thirteenth set)"])[0]
        for way, asker in {"as written": stored.as_written(), "as meant": stored}.items():
            results[f"find in lists and signs, {way}"] = found_named(asker, lists)
        for name, file in FOUND.items():
            results[f"find {name}"] = found_named(stored, by_hand(FOLDER / file)[0])
    print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
