"""A trie of known tails: which tokens may follow the beginning of one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from weft.kg.dataset.tokens import END


class Trie:
    """A set of token sequences, each followed by the end.

    Args:
        tails: Token ids of each.
    """

    def __init__(self, tails: Iterable[Sequence[int]]) -> None:
        self._root: dict[int, dict] = {}
        for tail in tails:
            node = self._root
            for token in (*tail, END):
                node = node.setdefault(token, {})

    def following(self, begun: Sequence[int]) -> list[int]:
        """Tokens that may follow; none where no tail begins so."""
        node = self._root
        for token in begun:
            if token not in node:
                return []
            node = node[token]
        return sorted(node)
