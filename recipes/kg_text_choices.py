"""What models of `weft kg` are chosen by beside Re-DocRED's validation part: every tenth written text, in no training.

    python recipes/kg_text_choices.py --model kg-text-small --model OUT/model

With --measure by those that choose nothing either. Spans and types of names, facts at two confidences, the calibration
of all facts. With --together N every N texts are read as one, each below its kind as a heading, as notes are.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace

import torch
from kg_text_written import choosing, kinds, measuring

from weft.kg.evaluate.judge import mention_figures
from weft.kg.evaluate.raw import judge, score_labelled, score_raw
from weft.kg.extraction.entities import EntityExtractor
from weft.kg.read.documents import GivenFact, TextDocument
from weft.kg.read.labelled_texts import LabelledFact, LabelledText, fold
from weft.kg.read.together import in_groups
from weft.platform.models import find_model


def labelled(document: TextDocument, every: Sequence[GivenFact]) -> LabelledText:
    """The text with its facts, and of all that may be read the rest as right but not asked for."""
    names: dict[int, set[str]] = {}
    for mention in document.mentions:
        names.setdefault(mention.entity, set()).add(fold(document.text[mention.start : mention.end]))

    def fact(given: GivenFact) -> LabelledFact:
        return LabelledFact(frozenset(names[given.head]), given.relation, frozenset(names[given.tail]))

    known = set(document.facts)
    return LabelledText(
        document.id,
        "",
        document.text,
        tuple(fact(given) for given in document.facts),
        tuple(fact(given) for given in every if given not in known),
    )


def notes(name: str, extractor: EntityExtractor, documents: Sequence[TextDocument], size: int) -> None:
    """Read so many texts as one, print a row."""
    kind = kinds()
    titled = [replace(one, id=kind[one.id].capitalize()) for one in documents]
    joined, _ = in_groups(titled, size, headings=True)
    judged = judge(extractor, joined)
    best, half = score_raw(judged, joined), score_raw(judged, joined, 0.5)
    print(
        f"{name}: {len(joined)} texts of {size}; at .5 right {half.precision:.3f}, found {half.recall:.3f}; at .8 "
        f"{half.sure_precision:.3f}, {half.sure_recall:.3f}; best F1 {best.f1:.3f} at {best.threshold:.2f}, "
        f"calibration error {half.calibration_error:.3f}",
        flush=True,
    )


def main() -> None:
    """Ask every model, print a row each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--model", action="append", required=True)
    parser.add_argument("--measure", action="store_true", help="by the texts that choose nothing")
    parser.add_argument("--together", type=int, default=1, help="read so many as one, below their kinds (1)")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    part = measuring if arguments.measure else choosing
    documents, whole = part(open_ones=False), part()
    texts = [labelled(one, every.facts) for one, every in zip(documents, whole, strict=True)]
    print(f"{len(texts)} texts, {sum(len(one.facts) for one in documents)} facts to be found")
    for name in arguments.model:
        extractor = EntityExtractor.load(find_model("kg", name))
        if arguments.together > 1:
            notes(name, extractor, whole, arguments.together)
            continue
        (_, _, spans), (_, _, typed) = mention_figures(extractor, documents)
        score = score_labelled(extractor, texts).record()
        raw = score_raw(judge(extractor, whole), whole)
        print(
            f"{name}: spans {spans:.3f}, with types {typed:.3f}; {score}; best F1 {raw.f1:.3f} at "
            f"{raw.threshold:.2f}, calibration error {raw.calibration_error:.3f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
