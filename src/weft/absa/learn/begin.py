"""Going on from a trained model: which of its classes stay, and what it is told of before and after."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from weft.absa.evaluate.metrics import accuracy
from weft.absa.evaluate.opinions import under
from weft.absa.evaluate.report import scored, summary
from weft.absa.learn.notes import counts
from weft.absa.records import Corpus
from weft.absa.use.asker import Asker


def kept_classes(begin: Asker, train: Corpus) -> tuple[str, ...]:
    """The classes of a model to go on from of which no row speaks.

    Where the rows have a class that the model has not, they are labelled by another scheme, in which its classes may
    go by other names: none is kept.
    """
    rows = counts(train)
    if not set(rows) <= set(begin.classes_):
        return ()
    return tuple(name for name in begin.classes_[1:] if not rows[name])


def keeping(corpus: Corpus, kept: tuple[str, ...]) -> Corpus:
    """The same corpus under the classes of its rows, and behind them those that are kept."""
    if not kept:
        return corpus
    return corpus.labelled_as((*(name for name in corpus.polarities if name not in kept), *kept))


def reached(begin: Asker, dev: Corpus) -> dict[str, float]:
    """What the model to go on from reaches on the held-out texts, under their classes and its own threshold."""
    answers = under(np.concatenate(begin.answer(dev.sentences)), begin.classes_, dev.polarities)
    result = scored(dev, answers, begin.config.threshold)
    found = {"accuracy": accuracy(result), **summary(result, dev)}
    del found["score"]
    return {f"before: {name}": value for name, value in found.items()}


def notes_on_begin(
    name: str, begin: Asker, train: Corpus, kept: tuple[str, ...], *, decided: bool, int8: bool
) -> Iterator[str]:
    """Lines about what the new model has from another one, and what it has not.

    Args:
        name: What the other one is called.
        begin: It.
        train: The texts to train on, under the classes of the new model.
        kept: Classes of it that no row has and that stay.
        decided: Whether a threshold is chosen in the end.
        int8: Whether the new model is stored in eight bits.
    """
    if kept:
        yield (
            f"no row says {' or '.join(kept)}, which {name} answers, too: it is kept as it is known, and not learnt "
            "(--keep_classes false leaves it out)"
        )
    lost = [each for each in begin.classes_ if each not in train.polarities]
    if lost:
        yield f"{name} also answers {', '.join(lost)}: the new model will not, since no row says so"
    if not decided and begin.config.threshold != 0.5:
        yield (
            f"an opinion will be reported where it is the most probable answer (threshold 0.5); {name} has "
            f"{begin.config.threshold:g}. --decide mean chooses one on the held-out texts"
        )
    if not int8:
        size = sum(parameter.numel() for parameter in begin.module.parameters()) * 4 / 1e6
        yield f"the model takes some {size:,.0f} MB; --int8 true stores it in a quarter of that"
