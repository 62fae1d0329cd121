"""Near links: places that spell a name almost.

    J(a, b) = |G(a) ∩ G(b)| / |G(a) ∪ G(b)|,  G the set of a string's character 3-grams

of folded names, with one space between words.

Source:
    GraphMERT (Belova et al., 2025): entities are linked where J > 0.5.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from weft.kg.link.dictionary import Match
from weft.kg.link.words import Words

_SHORT = 3
_BITS = 21
"""A code point has at most 21 bits: three of them fit an int64, so that a 3-gram's code is exact."""


class NearNames:
    """An index of the 3-grams of names.

    Args:
        names: Folded name to entity.
        threshold: J must be above it.
    """

    def __init__(self, names: Mapping[str, int], threshold: float = 0.5) -> None:
        self.threshold = threshold
        self.entities = np.array(list(names.values()), dtype=np.int64)
        grams = [np.unique(gram_codes(name)) for name in names]
        self.sizes = np.array([len(codes) for codes in grams], dtype=np.int64)
        flat = np.concatenate([np.empty(0, dtype=np.int64), *grams])
        owner = np.repeat(np.arange(len(grams)), self.sizes)
        order = np.argsort(flat, kind="stable")
        self._codes, first = np.unique(flat[order], return_index=True)
        self._owners = owner[order]
        self._first = np.append(first, len(flat))
        self._longest = max((name.count(" ") + 1 for name in names), default=0)
        self._known: dict[str, tuple[int, float]] = {}

    def best(self, name: str) -> tuple[int, float]:
        """The entity whose name is nearest to a folded one, and J; (−1, 0) where none is above the threshold.

        Ties go to the name that stands first in the dictionary.
        """
        if name not in self._known:
            self._known[name] = self._search(np.unique(gram_codes(name)))
        return self._known[name]

    def find(self, words: Words, taken: NDArray[np.bool_]) -> list[Match]:
        """Places whose words are near a name, the nearest first chosen, none over another.

        A place opens and closes with a word of more than three characters: "of Germany" is near "Germany".

        Args:
            words: Of the text.
            taken: ``(n,)`` words that exact matches have.
        """
        text = " ".join(words.folded)
        if not len(self._codes) or len(text) < 3:
            return []
        lengths = np.array([len(word) for word in words.folded])
        starts = np.cumsum(lengths + 1) - lengths - 1
        edge = ~taken & _is_edge(words)
        known = np.append(0, np.cumsum(np.isin(gram_codes(text), self._codes)))
        blocked = np.append(0, np.cumsum(taken))
        found: list[tuple[float, int, Match]] = []
        for size in range(1, min(self._longest + 1, len(words.folded)) + 1):
            first = np.flatnonzero(edge[: len(edge) - size + 1] & edge[size - 1 :])
            begin, end = starts[first], starts[first + size - 1] + lengths[first + size - 1]
            grams = np.maximum(end - begin - 2, 0)
            # J > t needs more than the share t of the place's own 3-grams to be in some name; half of it is
            # asked for, because a 3-gram that repeats counts more than once here.
            inside = known[begin + grams] - known[begin]
            likely = (inside > 0) & (2 * inside > self.threshold * grams)
            likely &= blocked[first + size] == blocked[first]
            for place, left, right in zip(first[likely], begin[likely], end[likely], strict=True):
                entity, similarity = self.best(text[left:right])
                if entity >= 0:
                    found.append((-similarity, -size, Match(int(place), int(place) + size, entity)))
        result, free = [], ~taken
        for _, _, match in sorted(found):
            if free[match.first : match.stop].all():
                free[match.first : match.stop] = False
                result.append(match)
        return sorted(result)

    def _search(self, codes: NDArray[np.int64]) -> tuple[int, float]:
        size = len(codes)
        codes = codes[np.isin(codes, self._codes)]
        if not len(codes):
            return -1, 0.0
        place = np.searchsorted(self._codes, codes)
        owners = np.concatenate([self._owners[self._first[item] : self._first[item + 1]] for item in place])
        shared = np.bincount(owners, minlength=len(self.sizes))
        similarity = shared / (size + self.sizes - shared)
        best = int(similarity.argmax())
        value = float(similarity[best])
        return (int(self.entities[best]), value) if value > self.threshold else (-1, 0.0)


def gram_codes(text: str) -> NDArray[np.int64]:
    """A number for each 3-gram of a text, in order, the same for the same characters."""
    points = np.frombuffer(text.encode("utf-32-le", errors="surrogatepass"), dtype=np.uint32).astype(np.int64)
    if len(points) < 3:
        return np.empty(0, dtype=np.int64)
    grams = sliding_window_view(points, 3)
    return (grams[:, 0] << (2 * _BITS)) | (grams[:, 1] << _BITS) | grams[:, 2]


def jaccard(first: str, second: str) -> float:
    """J of two strings; 0 where neither has three characters."""
    a, b = set(gram_codes(first).tolist()), set(gram_codes(second).tolist())
    return len(a & b) / len(a | b) if a | b else 0.0


def _is_edge(words: Words) -> NDArray[np.bool_]:
    return np.array(
        [len(word) > _SHORT and any(letter.isalnum() for letter in word) for word in words.folded], dtype=bool
    )
