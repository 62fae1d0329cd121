"""What `weft absa find --domain --by` says of tables whose texts and differences are known.

    python benchmarks/absa_compared.py [NAME ...] [--model absa-any]

A table is ``examples/absa/compared/NAME.csv`` (id, the column to compare by, text), with what each text judges in
``NAME-drawn.csv`` and the categories in ``NAME.txt``. Who wrote it drew for each text which categories it judges and
how, with six planted differences between the groups: two strong ones, two middling, one of frequency, one faint.

Prints how many of the (text, category) pairs are found, and with their polarity; by a lexicon, too (the words of the
category in the text, VADER on the sentence; needs ``vaderSentiment``). Then what stands out by what was drawn, by what
is found (faint judgements with it, as ``--by`` counts), and by what is reported alone; and in how many of 200 tables
whose groups are shuffled anything stands out by what is found.
"""

from __future__ import annotations

import argparse
import csv
import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from random import Random

from weft.absa.find.domain import Category, read_domain
from weft.absa.find.finder import Finder
from weft.absa.find.groups import Difference, Groups
from weft.absa.use.store import load
from weft.absa.use.windows import sentence_begins

TABLES = Path(__file__).resolve().parents[1] / "examples" / "absa" / "compared"
SHUFFLES = 200
Judged = dict[tuple[int, str], set[str]]
"""By the number of a text and a category: how it is judged."""


def drawn(path: Path) -> Judged:
    """What the texts judge, as they were written to."""
    with path.open(encoding="utf-8", newline="") as stream:
        return {(int(row["id"]), row["aspect"]): {row["judgement"]} for row in csv.DictReader(stream)}


def found(finder: Finder, texts: Sequence[tuple[int, str]], names: Sequence[str]) -> tuple[Judged, Judged]:
    """What is found of these categories: what is reported, and with it what counts in a comparison."""
    reported: Judged = {}
    counted: Judged = {}
    for (number, _), findings in zip(texts, finder.find([text for _, text in texts]), strict=True):
        for one in findings:
            if one.category in names:
                for judged in (counted,) if one.faint else (reported, counted):
                    judged.setdefault((number, one.category or ""), set()).add(one.polarity)
    return reported, counted


def by_words(texts: Sequence[tuple[int, str]], categories: Sequence[Category]) -> Judged:
    """The baseline: a sentence that has a word of a category judges it as VADER judges the sentence."""
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

    judge, judged = SentimentIntensityAnalyzer(), Judged()
    words = {
        one.name: re.compile(rf"\b(?:{'|'.join(map(re.escape, re.split(r'[:,] *', one.question)))})", re.I)
        for one in categories
    }
    for number, text in texts:
        edges = [*sentence_begins(text), len(text)]
        for start, stop in pairwise(edges):
            score = float(judge.polarity_scores(text[start:stop])["compound"])
            polarity = "positive" if score >= 0.05 else "negative" if score <= -0.05 else "neutral"
            for name, pattern in words.items():
                if pattern.search(text, start, stop):
                    judged.setdefault((number, name), set()).add(polarity)
    return judged


def scored(gold: Judged, said: Judged) -> str:
    """Precision, recall and F1 of the pairs, and F1 with their polarity."""
    right = said.keys() & gold.keys()
    polar = sum(bool(gold[pair] & said[pair]) for pair in right)
    total = len(said) + len(gold)
    return (
        f"{len(said)} reported, right {len(right) / len(said):.2f}, found {len(right) / len(gold):.2f}, "
        f"F1 {2 * len(right) / total:.3f}, with polarity {2 * polar / total:.3f}"
    )


def compared(column: str, groups: dict[int, str], judged: Judged) -> list[Difference]:
    """What stands out."""
    counts = Groups(column)
    own: dict[int, list[tuple[str, str]]] = {number: [] for number in groups}
    for (number, name), polarities in judged.items():
        own[number] += [(name, polarity) for polarity in polarities]
    for number, group in groups.items():
        counts.add(group, own[number])
    return counts.differences()


def told(differences: Sequence[Difference]) -> list[str]:
    """In words."""
    return ["{}, {}: {}, {}, elsewhere {}, p {}".format(*one.cells()) for one in differences]


def main() -> None:
    """Print it for each table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", default=sorted(path.stem for path in TABLES.glob("*.txt")))
    parser.add_argument("--model", default="absa-any")
    arguments = parser.parse_args()
    asker = load(arguments.model)
    for name in arguments.names:
        categories = read_domain(TABLES / f"{name}.txt")
        with (TABLES / f"{name}.csv").open(encoding="utf-8", newline="") as stream:
            reader = csv.DictReader(stream)
            rows = list(reader)
        column = list(rows[0])[1]
        texts = [(int(row["id"]), row["text"]) for row in rows]
        groups = {int(row["id"]): row[column] for row in rows}
        gold = drawn(TABLES / f"{name}-drawn.csv")
        finder = Finder(asker, categories, ask=True, faint=True)
        said, counted = found(finder, texts, [one.name for one in categories])
        print(f"{name}, {len(rows)} texts, {len(gold)} judgements drawn:")
        print(f"    words and VADER: {scored(gold, by_words(texts, categories))}")
        print(f"    {arguments.model}: {scored(gold, said)}")
        print(f"    {arguments.model}, faint ones with them: {scored(gold, counted)}")
        true, ours = compared(column, groups, gold), compared(column, groups, counted)
        plain = compared(column, groups, said)
        for title, lines in (("drawn", told(true)), ("found", told(ours)), ("reported", told(plain))):
            print(f"    what stands out by what was {title}:")
            print("".join(f"        {line}\n" for line in lines) or "        nothing\n", end="")
        random, values = Random(0), list(groups.values())
        some = 0
        for _ in range(SHUFFLES):
            random.shuffle(values)
            some += bool(compared(column, dict(zip(groups, values, strict=True)), counted))
        print(f"    shuffled groups: something stands out in {some} of {SHUFFLES}", flush=True)


if __name__ == "__main__":
    main()
