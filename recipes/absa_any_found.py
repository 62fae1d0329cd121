"""What ``weft absa find`` finds of what reviews judge, by a reader's marks.

::

    python recipes/absa_any_found.py [FILE ...] [--model absa-any]

Files are marked as ``absa_any/terms.txt`` is, those called ``exported`` as ``absa_any/exported.txt``, of which the text
alone is read; ``examples/absa/marked-*.txt`` and ``exported-*.txt`` by default. A mark is found where a
finding overlaps it or has its words, *exactly* where both stand at the same place or have the same words, *with its
polarity* where the finding has that, too (praise and blame at once: or where one praises and one blames). A finding is
*right* where it meets a mark so, *with its polarity* where that has the same, or both praise and blame. A thing that is
praised here and blamed there is told by its words alone: which place is which does not count. Behind that stands how
sure the polarities of right findings are and how many are as the reader's, and what ``--abstain`` leaves. The baseline
names the words that are terms in ``absa_any/terms.txt``, the longer first, and asks VADER about their sentence; it
needs ``vaderSentiment``.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, TypeAlias

from absa_any_marked import EXAMPLES, MarkedText, read_exported, read_marked

from weft.absa.find.finder import Finder
from weft.absa.records import CONFLICT
from weft.absa.use.store import load
from weft.absa.use.windows import sentence_begins


class Told(NamedTuple):
    """A thing that is said to be judged: where it stands, how it is judged, how sure that is."""

    start: int
    stop: int
    polarity: str
    confidence: float = 1.0


Finds: TypeAlias = Callable[[Sequence[str]], list[list[Told]]]


def told_by(finder: Finder) -> Finds:
    """What ``find`` finds; judgements that name nothing are left out."""

    def told(texts: Sequence[str]) -> list[list[Told]]:
        return [
            [Told(*f.span, f.polarity, f.confidence) for f in found if f.span is not None]
            for found in finder.find(texts)
        ]

    return told


def lexicon() -> Finds:
    """Words that are terms in the training texts, and VADER on the sentence of each."""
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

    known = {one.text[a:b].lower() for one in read_marked() for a, b in one.terms}
    longest_first = sorted(known, key=lambda term: (-len(term), term))
    terms = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)", re.IGNORECASE)
    judge = SentimentIntensityAnalyzer()

    def told(text: str) -> list[Told]:
        begins = [*sentence_begins(text), len(text)]
        found: list[Told] = []
        for start, stop in pairwise(begins):
            score = float(judge.polarity_scores(text[start:stop])["compound"])
            polarity = "positive" if score >= 0.05 else "negative" if score <= -0.05 else None
            if polarity is not None:
                found += [Told(*m.span(), polarity) for m in terms.finditer(text, start, stop)]
        return found

    return lambda texts: [told(text) for text in texts]


def measured(texts: Sequence[MarkedText], told: Sequence[Sequence[Told]]) -> dict[str, float]:
    """Shares of the marks that are found, and of the findings that are right."""
    counts = dict.fromkeys(("marks", "findings", "found", "exact", "polar", "right", "right polar"), 0)
    for one, found in zip(texts, told, strict=True):
        marks = [Told(*span, p) for span, p in zip(one.terms, one.polarities, strict=True)]
        counts["marks"] += len(marks)
        counts["findings"] += len(found)
        for mark in marks:
            near = [f for f in found if _meet(one.text, mark, f)]
            counts["found"] += bool(near)
            counts["exact"] += any(_words(one.text, mark) == _words(one.text, f) for f in near)
            counts["polar"] += _agrees(mark.polarity, {f.polarity for f in near})
        for f in found:
            near = [mark for mark in marks if _meet(one.text, mark, f)]
            counts["right"] += bool(near)
            counts["right polar"] += any(mark.polarity in (f.polarity, CONFLICT) for mark in near)
    recall, polar = counts["found"] / counts["marks"], counts["polar"] / counts["marks"]
    precise, both = (counts[name] / max(counts["findings"], 1) for name in ("right", "right polar"))
    return {
        "marks": counts["marks"],
        "findings": counts["findings"],
        "found": recall,
        "found exactly": counts["exact"] / counts["marks"],
        "found with polarity": polar,
        "right": precise,
        "right with polarity": both,
        "F1": 2 * recall * precise / max(recall + precise, 1e-9),
        "F1 with polarity": 2 * polar * both / max(polar + both, 1e-9),
    }


SURE = (0.5, 0.6, 0.7, 0.8, 0.9)
"""From which confidence on a polarity is told, at ``--abstain``."""


def sureness(texts: Sequence[MarkedText], told: Sequence[Sequence[Told]]) -> Iterator[str]:
    """How many polarities are told at each ``--abstain``, how many of the things told are right so; calibration.

    The calibration error is of the polarities of right findings, in bins of a tenth:
    Σ_b |Σ_i∈b (right_i − sure_i)| / n.
    """
    rows: list[tuple[float, bool, bool]] = []
    for one, found in zip(texts, told, strict=True):
        marks = [Told(*span, p) for span, p in zip(one.terms, one.polarities, strict=True)]
        for f in found:
            near = [mark.polarity for mark in marks if _meet(one.text, mark, f)]
            rows.append((f.confidence, bool(near), bool({f.polarity, CONFLICT} & {*near})))
    off = dict[int, float]()
    for sure, right, polar in rows:
        if right:
            off[int(10 * sure)] = off.get(int(10 * sure), 0.0) + polar - sure
    met = [row for row in rows if row[1]]
    mean = sum(sure for sure, *_ in met) / len(met)
    share = sum(polar for *_, polar in met) / len(met)
    error = sum(map(abs, off.values())) / len(met)
    yield f"polarities of right findings: sure {mean:.3f}, right {share:.3f}, calibration error {error:.3f}"
    for least in SURE:
        left = [row for row in rows if row[0] >= least]
        polar, right = sum(row[2] for row in left), sum(row[1] for row in left)
        yield (
            f"--abstain {least}: told {len(left) / len(rows):.2f}, right with polarity "
            f"{polar / max(len(left), 1):.3f}, of right things {polar / max(right, 1):.3f}"
        )


def in_words(scores: dict[str, float]) -> str:
    """On one line."""
    return ", ".join(f"{n} {v:.3f}" if v < 1.5 else f"{n} {v:.0f}" for n, v in scores.items())


def _words(text: str, told: Told) -> str:
    return " ".join(text[told.start : told.stop].lower().split())


def _meet(text: str, mark: Told, found: Told) -> bool:
    overlap = mark.start < found.stop and found.start < mark.stop
    return overlap or _words(text, mark) == _words(text, found)


def _agrees(polarity: str, said: set[str]) -> bool:
    return polarity in said or (polarity == CONFLICT and said >= {"positive", "negative"})


def main() -> None:
    """Print a row for each file and way."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--model", action="append", help="absa-any by default; may be repeated")
    arguments = parser.parse_args()
    ways = {"words that were terms, VADER": lexicon()}
    ways |= {model: told_by(Finder(load(model))) for model in arguments.model or ["absa-any"]}
    usual = [path for name in ("marked", "exported") for path in sorted(EXAMPLES.glob(f"{name}-*.txt"))]
    for path in arguments.files or usual:
        exported = path.stem.startswith("exported")
        texts = [one.marked for one in read_exported(path)] if exported else read_marked(path)
        for name, way in ways.items():
            told = way([one.text for one in texts])
            print(f"{path.stem}, {len(texts)} texts, {name}:")
            print(f"    {in_words(measured(texts, told))}")
            for line in sureness(texts, told) if any(f.confidence < 1 for own in told for f in own) else ():
                print(f"    {line}")


if __name__ == "__main__":
    main()
