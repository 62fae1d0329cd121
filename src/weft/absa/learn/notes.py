"""What a labelled corpus holds, told before a model is trained on it: classes by name and number, and likely slips."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from difflib import get_close_matches

from weft.absa.records import NONE, Corpus
from weft.errors import counted

_LIKE = 0.8
"""Of :func:`difflib.get_close_matches`: "positve" and "positive" have .93, "neutral" and "negative" .53."""
_RARE = 0.05
"""Share of the more frequent class's rows up to which the less frequent one may be a slip of it."""


def notes_about(train: Corpus, dev: Corpus) -> Iterator[str]:
    """Lines about the classes of a training's data.

    The classes and their rows; a rare class that is spelt nearly as a frequent one; a corpus without ``none``, whose
    model finds an opinion on whatever it is asked about; classes of ``dev`` that ``train`` lacks.
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
    if not both[NONE]:
        yield (
            f"no row says {NONE!r}: the model will find an opinion on whatever it is asked about; add rows about "
            "aspects that a text does not judge"
        )
    for name in held:
        if not rows[name]:
            yield f"class {name!r} is among the texts held out alone: it cannot be learnt"


def counts(corpus: Corpus) -> Counter[str]:
    """Rows of every class that has any."""
    return Counter(polarity for sentence in corpus.sentences for polarity in sentence.polarities)
