"""Which address of the old version is which of the new one: variables, tables, labels, by what paired code says.

    n_ab = how often paired instructions refer to a in the old version and to b in the new one
    a ↦ b   where n_ab is the most for a and for b; a tie is the shift that most addresses have

A function that refers to something else than what became of its old reference was changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from weft.bcsd.difference.content import CALLS, Line
from weft.bcsd.difference.pairing import line_pairs
from weft.bcsd.difference.version import Code, Version
from weft.bcsd.disassemble.interface import ReferenceKind
from weft.bcsd.read.runtime import is_start_up

_DATA = frozenset({ReferenceKind.DATA_CONSTANT, ReferenceKind.DATA_WRITABLE, ReferenceKind.SLOT})


@dataclass(frozen=True)
class References:
    """Tells whether two references are to the same thing.

    Args:
        old: The old version.
        new: The new version.
        partner: Row of the old version → row of the new one.
        became: Address of the old version → address of the new one.
    """

    old: Version
    new: Version
    partner: dict[int, int]
    became: dict[int, int]

    def same(self, one: Line, other: Line) -> bool:
        """Whether what two instructions refer to is the same."""
        if one.kind != other.kind or one.says != other.says:
            return False
        if one.kind < 0 or one.says:
            return True
        if one.kind == ReferenceKind.JUMP:
            return one.target == other.target
        return self.same_address(one.target, other.target)

    def same_function(self, old: Code, new: Code) -> bool:
        """Whether two functions differ by where they were linked alone.

        What start-up code refers to is where data ends, and whatever the linker put there is none of its concern.
        """
        start_up = is_start_up(old.name) and is_start_up(new.name)
        return (
            len(old.lines) == len(new.lines)
            and old.tables == new.tables
            and all(
                one.mnemonic == other.mnemonic
                and one.plain == other.plain
                and (self.same(one, other) or (start_up and {one.kind, other.kind} <= _DATA))
                for one, other in zip(old.lines, new.lines, strict=True)
            )
        )

    def same_address(self, one: int, other: int) -> bool:
        """Whether an address of the new version is what became of one of the old version."""
        a, b = self.old.rows.get(one), self.new.rows.get(other)
        if a is not None or b is not None:
            return a is not None and b is not None and self.partner.get(a) == b
        return self.became.get(one) == other

    def names(self) -> tuple[dict[int, str], dict[int, str]]:
        """Address → a name that is the same in both versions, for each of them."""
        olds: dict[int, str] = {}
        news: dict[int, str] = {}
        for row, code in enumerate(self.old.codes):
            olds[code.address] = f"function {row}"
        back = {b: a for a, b in self.partner.items()}
        for row, code in enumerate(self.new.codes):
            news[code.address] = f"function {back[row]}" if row in back else f"new function {row}"
        for number, (one, other) in enumerate(self.became.items()):
            olds.setdefault(one, f"global {number}")
            news.setdefault(other, f"global {number}")
        return olds, news


def references(old: Version, new: Version, partner: dict[int, int]) -> References:
    """Follow what paired functions refer to."""
    votes: Counter[tuple[int, int]] = Counter()
    for a, b in partner.items():
        votes.update(_seen(old, new, a, b))
    shifts = Counter(other - one for one, other in votes)
    ordered = sorted(votes, key=lambda pair: (-votes[pair], -shifts[pair[1] - pair[0]], pair))
    first: dict[int, int] = {}
    back: dict[int, int] = {}
    for one, other in ordered:
        first.setdefault(one, other)
        back.setdefault(other, one)
    became = {one: other for one, other in first.items() if back[other] == one}
    return References(old, new, partner, became)


def _seen(old: Version, new: Version, a: int, b: int) -> Iterable[tuple[int, int]]:
    """Addresses of anything but functions that two functions refer to at the same place."""
    one, other = old.codes[a].lines, new.codes[b].lines
    for pair in line_pairs(old.codes[a], new.codes[b]):
        x, y = one[pair.old], other[pair.new]
        if x.kind < 0 or x.kind == ReferenceKind.JUMP or x.kind != y.kind or x.says or y.says:
            continue
        if x.kind in CALLS and (x.target in old.rows or y.target in new.rows):
            continue
        if x.target in old.rows or y.target in new.rows:
            continue
        yield x.target, y.target
