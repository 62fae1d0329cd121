r"""What ``weft absa find`` finds in answers to questions of praise and of blame, by a reader's marks.

::

    python recipes/absa_any_answers.py [FILE ...] [--model absa-any]

A line of a file is ``kind | question | side | answer``: what the form is about, the question as it prints it, ``pros``
where it asks for what was good, ``cons`` where for what was not, and the answer, marked as ``absa_any/terms.txt`` is;
``examples/absa/answers-*.txt`` by default. Scores are those of ``absa_any_found.py``. An answer is read

- *alone*, as any text;
- *behind its question*, in one text with it;
- *with its side*, as ``weft absa find --side`` reads it;
- as *all of its side*: what is found with the side, but all of it praise or all of it blame;
- by a *lexicon*: words that were terms, VADER on the sentence.

``weft absa predict`` is asked about the things that an answer names, and about things that others name.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from absa_any_found import Told, in_words, lexicon, measured
from absa_any_marked import EXAMPLES, MarkedAnswer, read_answers

from weft.absa.find.finder import Finder
from weft.absa.records import NONE, Side
from weft.absa.use.asker import Asker
from weft.absa.use.decide import decide
from weft.absa.use.store import load

POLARITY: dict[Side, str] = {"pros": "positive", "cons": "negative"}


Ways = dict[str, list[list[Told]]]


def told_in_each_way(finder: Finder, answers: Sequence[MarkedAnswer]) -> Ways:
    """What is said to be judged, by each way of reading the answers."""
    texts = [one.marked.text for one in answers]
    heads = [f"{one.question} " if one.question[-1] in "?!.:" else f"{one.question}: " for one in answers]
    behind = finder.find([head + text for head, text in zip(heads, texts, strict=True)])
    leaning = [
        [Told(*f.span, f.polarity) for f in found if f.span]
        for found in finder.find(texts, [one.side for one in answers])
    ]
    return {
        "lexicon": lexicon()(texts),
        "alone": [[Told(*f.span, f.polarity) for f in found if f.span] for found in finder.find(texts)],
        "behind its question": [
            [
                Told(f.span[0] - len(head), f.span[1] - len(head), f.polarity)
                for f in found
                if f.span and f.span[0] >= len(head)
            ]
            for found, head in zip(behind, heads, strict=True)
        ],
        "all of its side": [
            [told._replace(polarity=POLARITY[one.side]) for told in found]
            for one, found in zip(answers, leaning, strict=True)
        ],
        "with its side": leaning,
    }


def asked(asker: Asker, answers: Sequence[MarkedAnswer]) -> dict[str, tuple[float, float]]:
    """How many answers of ``weft absa predict`` are right, without the side and with it.

    Each answer is asked about the things that it names, and about as many that the next answers of other kinds name,
    on which it has no opinion.
    """
    counts = {"what it names": (0, [0, 0]), "what others name": (0, [0, 0])}
    named = [
        {
            one.marked.text[a:b].lower(): p
            for (a, b), p in zip(one.marked.terms, one.marked.polarities, strict=True)
        }
        for one in answers
    ]
    for number, (one, own) in enumerate(zip(answers, named, strict=True)):
        further = (
            term
            for step in range(1, len(answers))
            for other in (answers[(number + step) % len(answers)],)
            if other.marked.kind != one.marked.kind
            for term in named[(number + step) % len(answers)]
        )
        others = dict.fromkeys(
            islice((t for t in further if t not in one.marked.text.lower()), len(own)), NONE
        )
        for name, gold in (("what it names", own), ("what others name", others)):
            if not gold:
                continue
            total, right = counts[name]
            for way, side in enumerate((None, one.side)):
                rows = asker.predict([one.marked.text], [*gold], side)[0]
                said = [asker.classes_[n] for n in decide(rows, asker.config.threshold)]
                right[way] += sum(a == b for a, b in zip(said, gold.values(), strict=True))
            counts[name] = total + len(gold), right
    return {name: (right[0] / total, right[1] / total) for name, (total, right) in counts.items()}


def main() -> None:
    """Print a row for each file and way."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--model", action="append", help="absa-any by default; may be repeated")
    arguments = parser.parse_args()
    for model in arguments.model or ["absa-any"]:
        asker = load(model)
        finder = Finder(asker)
        for path in arguments.files or sorted(EXAMPLES.glob("answers-*.txt")):
            answers = read_answers(path)
            print(f"{path.stem}, {len(answers)} answers, {model}:")
            for name, told in told_in_each_way(finder, answers).items():
                scores = measured([one.marked for one in answers], told)
                print(f"    {name}: {in_words(scores)}", flush=True)
            for name, (alone, leaning) in asked(asker, answers).items():
                print(
                    f"    predict, about {name}: right {alone:.3f}, with its side {leaning:.3f}", flush=True
                )


if __name__ == "__main__":
    main()
