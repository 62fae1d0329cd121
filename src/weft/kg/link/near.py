"""Near links: places that spell a name almost.

    J(a, b) = |G(a) ∩ G(b)| / |G(a) ∪ G(b)|,  G the set of a string's character 3-grams

of folded names, with one space between words.

Only names that may be near are compared. With all 3-grams in one order, the rare ones first, J(a, b) > t needs
more than t·|G(a)| of them in common, so that one of the first |G(a)| − ⌊t·|G(a)|⌋ of a is among as many of b.

Source:
    GraphMERT (Belova et al., 2025): entities are linked where J > 0.5. The prefixes: Chaudhuri, Ganti & Kaushik
    (2006), "A primitive operator for similarity joins in data cleaning".
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
_BLOCK, _CELLS = 256, 1 << 25
"""Most strings whose 3-grams are compared at once, and most cells of the table of them and of all 3-grams."""
_ROUNDING = 1e-9
"""What a product with the threshold may be wrong by: rather a name too many is compared."""

Ints = NDArray[np.int64]


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
        self._codes, numbers, counts = np.unique(flat, return_inverse=True, return_counts=True)
        # A 3-gram's rank: the rarer it is among the names, the lower.
        self._rank = np.empty(len(counts), dtype=np.int64)
        self._rank[np.argsort(counts, kind="stable")] = np.arange(len(counts))
        order = np.lexsort((self._rank[numbers], owner))
        self._grams = self._rank[numbers][order]
        self._first = np.append(0, np.cumsum(self.sizes))
        place = np.arange(len(flat)) - np.repeat(self._first[:-1], self.sizes)
        short = place < np.repeat(self._prefix(self.sizes), self.sizes)
        by_gram = np.argsort(self._grams[short], kind="stable")
        self._owners = owner[short][by_gram]
        self._posted = np.searchsorted(self._grams[short][by_gram], np.arange(len(counts) + 1))
        self._longest = max((name.count(" ") + 1 for name in names), default=0)
        self._known: dict[str, tuple[int, float]] = {}

    def best(self, name: str) -> tuple[int, float]:
        """The entity whose name is nearest to a folded one, and J; (−1, 0) where none is above the threshold.

        Ties go to the name that stands first in the dictionary.
        """
        if name not in self._known:
            codes = gram_codes(name)
            self._search([name], codes, np.zeros(1, dtype=np.int64), np.array([len(codes)]))
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
        codes = gram_codes(text)
        known = np.append(0, np.cumsum(np.isin(codes, self._codes)))
        blocked = np.append(0, np.cumsum(taken))
        places: list[tuple[int, int, str]] = []
        asked: dict[str, tuple[int, int]] = {}
        for size in range(1, min(self._longest + 1, len(words.folded)) + 1):
            first = np.flatnonzero(edge[: len(edge) - size + 1] & edge[size - 1 :])
            begin, end = starts[first], starts[first + size - 1] + lengths[first + size - 1]
            grams = np.maximum(end - begin - 2, 0)
            # J > t needs more than the share t of the place's own 3-grams to be in some name; half of it is
            # asked for, because a 3-gram that repeats counts more than once here.
            inside = known[begin + grams] - known[begin]
            likely = (inside > 0) & (2 * inside > self.threshold * grams)
            likely &= blocked[first + size] == blocked[first]
            columns = (first[likely], begin[likely], end[likely])
            for place, left, right in zip(*(column.tolist() for column in columns), strict=True):
                name = text[left:right]
                places.append((place, size, name))
                if name not in self._known:
                    asked[name] = left, max(right - left - 2, 0)
        spans = np.array(list(asked.values()), dtype=np.int64).reshape(-1, 2)
        self._search(list(asked), codes, spans[:, 0], spans[:, 1])
        found: list[tuple[float, int, Match]] = []
        for place, size, name in places:
            entity, similarity = self._known[name]
            if entity >= 0:
                found.append((-similarity, -size, Match(place, place + size, entity)))
        result, free = [], ~taken
        for _, _, match in sorted(found):
            if free[match.first : match.stop].all():
                free[match.first : match.stop] = False
                result.append(match)
        return sorted(result)

    def _search(self, names: list[str], codes: Ints, begin: Ints, count: Ints) -> None:
        """Find the nearest entity of strings and remember it.

        Args:
            names: n strings.
            codes: The 3-grams of a text.
            begin: ``(n,)`` the first 3-gram of each.
            count: ``(n,)`` how many follow each other.
        """
        self._known.update(dict.fromkeys(names, (-1, 0.0)))
        gram, known = self._ranked(codes)
        block = max(1, min(_BLOCK, _CELLS // max(len(self._codes), 1)))
        for start in range(0, len(names), block):
            part = slice(start, start + block)
            row, owner, similarity = self._compare(gram, known, begin[part], count[part])
            # The most similar last, and of equals the first in the dictionary.
            order = np.lexsort((-owner, similarity))
            columns = (row[order], self.entities[owner[order]], similarity[order])
            for string, entity, value in zip(*(column.tolist() for column in columns), strict=True):
                self._known[names[start + string]] = entity, value

    def _ranked(self, codes: Ints) -> tuple[Ints, int]:
        """Numbers of a text's 3-grams, equal for equal ones, and which is the first that a name has.

        Those of no name come first, then those of names by their rank.
        """
        distinct, numbers = np.unique(codes, return_inverse=True)
        place = np.searchsorted(self._codes, distinct).clip(max=max(len(self._codes) - 1, 0))
        is_known = self._codes[place] == distinct if len(self._codes) else np.zeros(len(distinct), dtype=bool)
        unknown = int((~is_known).sum())
        rank = np.empty(len(distinct), dtype=np.int64)
        rank[~is_known] = np.arange(unknown)
        rank[is_known] = unknown + self._rank[place[is_known]]
        return rank[numbers], unknown

    def _compare(
        self, gram: Ints, known: int, begin: Ints, count: Ints
    ) -> tuple[Ints, Ints, NDArray[np.float64]]:
        """Strings, names that are near them, and J of each such pair.

        Args:
            gram: From :meth:`_ranked`.
            known: From :meth:`_ranked`.
            begin: ``(n,)`` first 3-gram of each string.
            count: ``(n,)`` how many.
        """
        row, column = _ranges(begin, count)
        many = known + len(self._codes)
        keys = np.unique(row * many + gram[column])
        row, gram = keys // many, keys % many
        size = np.bincount(row, minlength=len(begin))
        place = np.arange(len(row)) - np.repeat(np.cumsum(size) - size, size)
        probe = (place < self._prefix(size)[row]) & (gram >= known)
        asking, rank = row[probe], gram[probe] - known
        which, posting = _ranges(self._posted[rank], self._posted[rank + 1] - self._posted[rank])
        asking, name = asking[which], self._owners[posting]
        a, b = size[asking], self.sizes[name]
        least = self.threshold - _ROUNDING
        fits = (b > least * a) & (a > least * b)
        pairs = np.unique(asking[fits] * len(self.sizes) + name[fits])
        asking, name = pairs // len(self.sizes), pairs % len(self.sizes)
        table = np.zeros((len(begin), len(self._codes)), dtype=bool)
        table[row[gram >= known], gram[gram >= known] - known] = True
        which, column = _ranges(self._first[name], self.sizes[name])
        hit = table[asking[which], self._grams[column]]
        shared = np.bincount(which[hit], minlength=len(pairs))
        similarity = shared / (size[asking] + self.sizes[name] - shared)
        near = similarity > self.threshold
        return asking[near], name[near], similarity[near]

    def _prefix(self, size: Ints) -> Ints:
        """How many of a string's first 3-grams are compared first."""
        return size - np.floor(self.threshold * size - _ROUNDING).astype(np.int64).clip(min=0)


def _ranges(begin: Ints, count: Ints) -> tuple[Ints, Ints]:
    """The numbers ``begin … begin + count − 1`` of every range, and which range each is of."""
    which = np.repeat(np.arange(len(begin)), count)
    return which, np.arange(len(which)) + np.repeat(begin - (np.cumsum(count) - count), count)


def gram_codes(text: str) -> NDArray[np.int64]:
    """A number for each 3-gram of a text, in order, the same for the same characters."""
    points = np.frombuffer(text.encode("utf-32-le", errors="surrogatepass"), dtype=np.uint32).astype(np.int64)
    if len(points) < 3:
        return np.empty(0, dtype=np.int64)
    grams = sliding_window_view(points, 3)
    return (grams[:, 0] << (2 * _BITS)) | (grams[:, 1] << _BITS) | grams[:, 2]


def _is_edge(words: Words) -> NDArray[np.bool_]:
    return np.array(
        [len(word) > _SHORT and any(letter.isalnum() for letter in word) for word in words.folded], dtype=bool
    )
