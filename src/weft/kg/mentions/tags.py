"""Mentions as tags of tokens, begin and inside for every type, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.errors import InputError

OUTSIDE = 0


class Span(NamedTuple):
    """A mention in tokens.

    Args:
        first: First token.
        stop: After the last token.
        type: Its type's number, from 0.
        probability: That just these tokens are a mention of that type.
    """

    first: int
    stop: int
    type: int
    probability: float = 1.0


def number_of_tags(types: int) -> int:
    """Tags of so many types: outside, and begin and inside for each."""
    return 1 + 2 * types


def tags_of(spans: Sequence[Span], length: int) -> NDArray[np.int64]:
    """The tag of every token, ``(length,)``: type t begins with 1 + 2t and goes on with 2 + 2t.

    Raises:
        InputError: A span outside the text, or two that overlap.
    """
    tags = np.full(length, OUTSIDE, dtype=np.int64)
    for first, stop, kind, _ in spans:
        if not 0 <= first < stop <= length:
            raise InputError(f"a mention of tokens {first} to {stop}; there are {length}")
        if tags[first:stop].any():
            raise InputError(f"the mention of tokens {first} to {stop} overlaps another")
        tags[first] = 1 + 2 * kind
        tags[first + 1 : stop] = 2 + 2 * kind
    return tags


def decode(log_probabilities: NDArray[np.floating]) -> list[Span]:
    """The most probable sequence of tags in which every inside follows a begin or inside of its type.

        max over allowed t_1 … t_n of  Σ_i log p(t_i)          (Viterbi)

    A span's probability is the product of its tags' and that of not going on, so a doubtful edge counts.

    Args:
        log_probabilities: ``(length, tags)``.
    """
    length, tags = log_probabilities.shape
    if not length:
        return []
    allowed = _allowed(tags)
    best = np.where(allowed[OUTSIDE], log_probabilities[0], -np.inf)
    came_from = np.zeros((length, tags), dtype=np.int64)
    for place in range(1, length):
        scores = np.where(allowed, best[:, None], -np.inf)
        came_from[place] = scores.argmax(axis=0)
        best = scores.max(axis=0) + log_probabilities[place]
    path = np.zeros(length, dtype=np.int64)
    path[-1] = best.argmax()
    for place in range(length - 1, 0, -1):
        path[place - 1] = came_from[place, path[place]]
    return _spans(path, np.exp(log_probabilities))


def _allowed(tags: int) -> NDArray[np.bool_]:
    """``(from, to)``: an inside follows the begin or inside of its own type, all else follows anything."""
    allowed = np.ones((tags, tags), dtype=bool)
    for inside in range(2, tags, 2):
        allowed[:, inside] = False
        allowed[inside - 1 : inside + 1, inside] = True
    return allowed


def _spans(path: NDArray[np.int64], probabilities: NDArray[np.floating]) -> list[Span]:
    begins = np.flatnonzero(path % 2 == 1).tolist()
    found: list[Span] = []
    for first in begins:
        kind = (int(path[first]) - 1) // 2
        inside = 2 + 2 * kind
        stop = first + 1
        while stop < len(path) and path[stop] == inside:
            stop += 1
        probability = float(np.prod(probabilities[np.arange(first, stop), path[first:stop]]))
        if stop < len(path):
            probability *= 1.0 - float(probabilities[stop, inside])
        found.append(Span(first, stop, kind, probability))
    return found
