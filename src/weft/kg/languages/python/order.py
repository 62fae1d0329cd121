"""The order in which Python looks for the members of a class: C3.

    L(C) = C, merge(L(B1), …, L(Bn), (B1, …, Bn))

where merge takes again and again the first head that is in no tail.

Source:
    Barrett et al. 1996, "A Monotonic Superclass Linearization for Dylan".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

_DEEPEST = 40
"""Most steps from a class to a base."""


class Order:
    """Orders of the classes of a tree; of bases in a circle, which Python refuses, each is taken once.

    Args:
        bases: Names of the bases of a class by its name; none of one that is not known.
    """

    def __init__(self, bases: Callable[[str], Sequence[str]]) -> None:
        self._bases = bases
        self._known: dict[str, tuple[str, ...]] = {}

    def of(self, kind: str, depth: int = 0) -> tuple[str, ...]:
        """A class and all above it, in the order of the search."""
        if kind in self._known or depth > _DEEPEST:
            return self._known.get(kind, (kind,))
        self._known[kind] = (kind,)
        bases = tuple(dict.fromkeys(self._bases(kind)))
        found = kind, *_merged([*(self.of(base, depth + 1) for base in bases), bases])
        self._known[kind] = tuple(dict.fromkeys(found))
        return self._known[kind]


def _merged(lists: Sequence[Sequence[str]]) -> list[str]:
    found: list[str] = []
    while left := [item for item in lists if item]:
        heads = [item[0] for item in left]
        tails = {name for item in left for name in item[1:]}
        # Where every head is in a tail Python refuses the class: the first will do.
        first = next((head for head in heads if head not in tails), heads[0])
        found.append(first)
        lists = [[name for name in item if name != first] for item in left]
    return found
