"""The mentions that a model finds in texts, and how many of them are the right ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from weft.kg.mentions.tags import Span, decode
from weft.kg.mentions.training import gold_spans
from weft.kg.model.entity_graph import EntityGraphModel
from weft.kg.represent.entities import EntityExample, entity_batch
from weft.train.batching import to_device


@torch.no_grad()
def find_spans(
    model: EntityGraphModel,
    passages: Sequence[EntityExample],
    batch_size: int = 8,
    breaks: Sequence[Sequence[int]] | None = None,
) -> list[list[Span]]:
    """The mentions of each text, in order of their place; given ones are not looked at.

    Args:
        model: One that finds mentions; set to eval mode.
        passages: Texts.
        batch_size: Texts at a time.
        breaks: Of each text the tokens at which no mention goes on; none where None.

    Raises:
        ConfigError: The model finds no mentions.
    """
    model.eval()
    device = next(model.parameters()).device
    found: dict[int, list[Span]] = {}
    order = sorted(range(len(passages)), key=lambda number: len(passages[number].ids))
    for start in range(0, len(order), batch_size):
        part = order[start : start + batch_size]
        batch = to_device(entity_batch([passages[number] for number in part]), device)
        scores = model.tag_scores(batch)
        for row, number in enumerate(part):
            if breaks is not None:
                scores[row, list(breaks[number]), 2::2] = float("-inf")
        tags = scores.log_softmax(dim=-1).cpu().double().numpy()
        for row, number in enumerate(part):
            found[number] = decode(tags[row, : len(passages[number].ids)])
    return [found[number] for number in range(len(passages))]


@dataclass(frozen=True)
class MentionScore:
    """Found mentions against the given ones.

    Args:
        precision: Share of the found whose tokens are just those of a given one.
        recall: Share of the given that are found.
        f1: Of both.
        typed_f1: F1 where the type must be right, too.
        by_type: F1 of each type's spans.
    """

    precision: float
    recall: float
    f1: float
    typed_f1: float
    by_type: dict[str, float]


def score_mentions(
    found: Sequence[Sequence[Span]], passages: Sequence[EntityExample], types: Sequence[str]
) -> MentionScore:
    """Compare the mentions found in texts with the given ones.

    Args:
        found: Of each text.
        passages: The texts, with their mentions.
        types: Names of the types, without "not known".
    """
    taken = {(number, *span[:3]) for number, spans in enumerate(found) for span in spans}
    known = {(number, *span[:3]) for number, item in enumerate(passages) for span in gold_spans(item)}
    bare = [{item[:3] for item in items} for items in (taken, known)]
    right = len(bare[0] & bare[1])
    precision, recall = right / max(len(bare[0]), 1), right / max(len(bare[1]), 1)
    return MentionScore(
        precision,
        recall,
        _f1(right, len(bare[0]), len(bare[1])),
        _f1(len(taken & known), len(taken), len(known)),
        {
            name: _f1(
                sum(item[3] == kind for item in taken & known),
                sum(item[3] == kind for item in taken),
                sum(item[3] == kind for item in known),
            )
            for kind, name in enumerate(types)
        },
    )


def _f1(right: int, taken: int, known: int) -> float:
    return 2 * right / (taken + known) if taken + known else 0.0
