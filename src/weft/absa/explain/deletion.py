"""Is an explanation true? Mask the words that it names, and see how much of the answer goes with them.

Source: the comprehensiveness of DeYoung et al. 2020, "ERASER", section 4.3, with [MASK] for deletion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch

from weft.absa.explain.attribution import Method, attribute
from weft.absa.records import NONE, Corpus, Sentence
from weft.absa.use.asker import Asker
from weft.errors import InputError

CEILING = "at most"


@torch.no_grad()
def _share(asker: Asker, batch: object, ids: torch.Tensor, chosen: int) -> float:
    masked = replace(batch, input_ids=ids)  # pyright: ignore[reportArgumentType] - a dataclass
    return float(asker.shares(asker.logits(masked), masked)[0, chosen])


def deletion_scores(
    asker: Asker, corpus: Corpus, methods: Sequence[Method], *, top: int = 3, limit: int = 200, seed: int = 0
) -> dict[str, float]:
    """Mean drop of the gold class's probability when the ``top`` tokens of each method are masked.

    Args:
        asker: The model.
        corpus: Labelled sentences; questions with a gold opinion are tested, at most ``limit`` of them,
            drawn at random.
        methods: The methods to compare, on the same questions.
        top: Tokens to mask; ``[CLS]`` and ``[SEP]`` never are.
        limit: Questions.
        seed: Of the draw, and of ``random``.

    Returns:
        The drop by method, and under :data:`CEILING` the mean probability itself: no choice of tokens,
        however good, can take away more.

    Raises:
        InputError: No question with an opinion.
    """
    rows = [
        (Sentence(sentence.text, (context,), (), sentence.where), polarity)
        for sentence in corpus.sentences
        for context, polarity in zip(sentence.contexts, sentence.polarities, strict=True)
        if polarity != NONE
    ]
    if not rows:
        raise InputError("no question with an opinion to explain")
    order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(seed)).tolist()
    drops: dict[str, float] = dict.fromkeys((*methods, CEILING), 0.0)
    tested = [rows[i] for i in order[:limit]]
    for number, (sentence, polarity) in enumerate(tested):
        _, window = asker.window(sentence.text, sentence.contexts[0])
        batch = asker.represent([window]).to(asker.device)
        chosen = asker.classes_.index(polarity)
        whole = _share(asker, batch, batch.input_ids, chosen)
        drops[CEILING] += whole / len(tested)
        text_length = min(len(asker.representation.pieces(window.text).ids), asker.config.options.max_length)
        for method in methods:
            scores = attribute(asker.module.eval(), batch, chosen, method, asker.mask_id, seed + number)
            inner = scores[1 : text_length - 1]
            places = inner.topk(min(top, len(inner))).indices + 1
            ids = batch.input_ids.clone()
            ids[0, places] = asker.mask_id
            drops[method] += (whole - _share(asker, batch, ids, chosen)) / len(tested)
    return drops
