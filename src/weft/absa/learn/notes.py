"""What a labelled corpus holds, told before a model is trained on it: classes by name and number, and likely slips."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from difflib import get_close_matches

from weft.absa.records import NONE, UNSURE, Corpus
from weft.absa.use.asker import Asker
from weft.errors import counted
from weft.platform.language import foreign

_LIKE = 0.8
"""Of :func:`difflib.get_close_matches`: "positve" and "positive" have .93, "neutral" and "negative" .53."""
_RARE = 0.05
"""Share of the more frequent class's rows up to which the less frequent one may be a slip of it."""

_SAMPLE = 200
"""About so many texts tell the language of a corpus."""
_STRAY = 0.1
"""Share of the texts of an English corpus that may be, or seem to be, in another language."""


def notes_about(train: Corpus, dev: Corpus, asker: Asker | None = None) -> Iterator[str]:
    """Lines about a training's data.

    The classes and their rows; a rare class that is spelt nearly as a frequent one; a corpus without ``none``, whose
    model finds an opinion on whatever it is asked about; classes of ``dev`` that ``train`` lacks; rows that cannot be
    used; texts that are in both. With ``asker`` also texts that its model cuts, and targets that a text does not
    mention.
    """
    rows, held = counts(train), counts(dev)
    classes = ", ".join(f"{name} {rows[name]:,}" for name in train.polarities)
    texts = counted(len(train.sentences), "text")
    yield f"{texts} to train on, {len(dev.sentences):,} held out; rows by class: {classes}"
    both = rows + held
    for name, number in both.items():
        frequent = [other for other in both if number <= _RARE * both[other]]
        for other in get_close_matches(name, frequent, n=1, cutoff=_LIKE):
            yield f"class {name!r} has {counted(number, 'row')}: is it meant to be {other!r} ({both[other]:,})?"
    if both[UNSURE]:
        yield (
            f"class {UNSURE!r} has {counted(both[UNSURE], 'row')}: predict --abstain writes it in place of an opinion; "
            "label these rows, or leave them out"
        )
    if not both[NONE]:
        yield (
            f"no row says {NONE!r}: the model will find an opinion on whatever it is asked about; add rows about "
            "aspects that a text does not judge"
        )
    for name in held:
        if not rows[name]:
            yield f"class {name!r} is among the texts held out alone: it cannot be learnt"
    for problems in (train.problems,) if train.problems == dev.problems else (train.problems, dev.problems):
        if problems.count:
            yield f"{counted(problems.count, 'row')} cannot be used; the first: {problems.shown[0]}"
    shared = len(
        {sentence.text for sentence in train.sentences} & {sentence.text for sentence in dev.sentences}
    )
    if shared:
        yield f"{counted(shared, 'text')} both to train on and held out: figures on these say little"
    if asker is not None:
        yield from _about_reading(train, asker)


def _about_reading(train: Corpus, asker: Asker) -> Iterator[str]:
    """What a model does not see of the texts that it is trained on."""
    longest = asker.config.options.max_length
    cut = sum(len(asker.representation.pieces(sentence.text).ids) > longest for sentence in train.sentences)
    if cut:
        yield (
            f"{cut:,} of {counted(len(train.sentences), 'text')} to train on: longer than the {longest} word pieces of "
            "model.max_length, and what stands behind these is not learnt from"
        )
    asked = [
        (sentence.text, context.target)
        for sentence in train.sentences
        for context, polarity in zip(sentence.contexts, sentence.polarities, strict=True)
        if context.target is not None and polarity != NONE
    ]
    missing = [question for question in asked if not asker.mentions(*question)]
    if missing:
        yield (
            f"{len(missing):,} of {counted(len(asked), 'opinion')} about a target: the text does not mention it, such "
            f"as {missing[0][1]!r}, and predict answers none there"
        )


def counts(corpus: Corpus) -> Counter[str]:
    """Rows of every class that has any."""
    return Counter(polarity for sentence in corpus.sentences for polarity in sentence.polarities)


def is_english(corpus: Corpus) -> bool:
    """Whether hardly any of a corpus's texts seems to be in another language."""
    some = corpus.sentences[:: max(1, len(corpus.sentences) // _SAMPLE)]
    return sum(foreign(sentence.text) is not None for sentence in some) <= _STRAY * len(some)
