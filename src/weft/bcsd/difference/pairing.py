"""Which function of the old version is which of the new one.

In turn: names that both files have; content that occurs once on each side; what paired functions call at the same
place; functions between the same neighbours; at last the model, for what is left.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from difflib import SequenceMatcher

import pyarrow as pa

from weft.bcsd.difference.align import MOST_CELLS, Pair, align, longest_rise
from weft.bcsd.difference.content import CODE
from weft.bcsd.difference.version import Code, Version
from weft.bcsd.disassemble.interface import ReferenceKind
from weft.bcsd.matching.match import Embeds, match
from weft.bcsd.matching.rule import Rule
from weft.bcsd.matching.side import Side

#: Instructions from which on equal content alone makes a pair of functions with different names.
RENAMED = 8
#: Shares of instructions in common: of functions at the same place, and of those with different names.
ALIKE, ALIKE_RENAMED = 0.4, 0.6
_ROUNDS = 10
_CLONE = re.compile(r"\.(constprop|isra|part|lto_priv|llvm)(\.\d+)?")

Line = tuple[str, str, int]


def shape(code: Code) -> tuple[Hashable, ...]:
    """A function's instructions without what they refer to, but with jumps and contents."""
    return tuple(
        (
            line.mnemonic,
            line.plain,
            line.kind,
            line.says,
            line.target if line.kind == ReferenceKind.JUMP else 0,
        )
        for line in code.lines
    )


def bare(code: Code) -> list[Line]:
    """For aligning: instructions without any reference."""
    return [(line.mnemonic, line.plain, line.kind) for line in code.lines]


def line_pairs(old: Code, new: Code) -> list[Pair]:
    """Instructions of two versions of a function that stand at the same place."""
    bares = bare(old), bare(new)
    if bares[0] == bares[1]:
        return [Pair(place, place) for place in range(len(old.lines))]
    return [pair for pair in align(*bares) if pair.old >= 0 and pair.new >= 0]


def likeness(old: Code, new: Code) -> float:
    """The share of instructions that two functions have in common, in any order."""
    bags = [Counter(bare(code)) for code in (old, new)]
    both = bags[0].total() + bags[1].total()
    return 2 * (bags[0] & bags[1]).total() / both if both else 1.0


class Pairing:
    """Pairs functions one to one.

    Args:
        old: The old version.
        new: The new version.

    Attributes:
        partner: Row of the old version → row of the new one.
    """

    def __init__(self, old: Version, new: Version) -> None:
        self._old, self._new = old, new
        self.partner: dict[int, int] = {}
        self._back: dict[int, int] = {}
        self._places: dict[tuple[int, int], list[tuple[int, int]]] = {}
        self._shapes = [[hash(shape(code)) for code in version.codes] for version in (old, new)]

    def settle(self) -> None:
        """All pairs that need no model."""
        self._by(lambda code: sorted({code.name, *code.aliases}) if code.named else ())
        self._by(lambda code: [_plain_name(code.name)] if code.named else ())
        for _ in range(_ROUNDS):
            before = len(self.partner)
            self._by_content()
            self._by_calls()
            self._by_place()
            if len(self.partner) == before:
                break

    def by_model(
        self, embedder: Embeds, rule: Rule, lifted: Callable[[Version, list[int]], pa.Array]
    ) -> None:
        """Pair what is left by the model, where it is sure enough; then let the call graph speak again.

        Args:
            embedder: The model.
            rule: Its own.
            lifted: Gives the operations of some functions of a version.

        Raises:
            LimitError: Too many functions to compare each with each.
        """
        left = self.left()
        if not all(left):
            return
        sides = [
            self._reduced(version, rows, back, lifted)
            for version, rows, back in zip((self._old, self._new), left, (False, True), strict=True)
        ]
        found = match(sides[0], sides[1], embedder, rule)
        for a, b in zip(found.rows.tolist(), found.columns.tolist(), strict=True):
            self._add(left[0][a], left[1][b], ALIKE_RENAMED)
        self.settle()

    def left(self) -> tuple[list[int], list[int]]:
        """Functions without a partner, of each side."""
        return (
            [row for row in range(len(self._old)) if row not in self.partner],
            [row for row in range(len(self._new)) if row not in self._back],
        )

    def _add(self, a: int, b: int, renamed: float = 0.0) -> bool:
        """Pair two functions, but for those of different names that have less in common."""
        if a in self.partner or b in self._back:
            return False
        old, new = self._old.codes[a], self._new.codes[b]
        other_name = old.named and new.named and _plain_name(old.name) != _plain_name(new.name)
        short = min(len(old.lines), len(new.lines)) < RENAMED
        if renamed and other_name and (short or likeness(old, new) < renamed):
            return False
        self.partner[a] = b
        self._back[b] = a
        return True

    def _by(self, keys: Callable[[Code], Iterable[Hashable]]) -> None:
        """Pair what has a key that occurs once on each side."""
        once: list[dict[Hashable, int]] = []
        for version, rows in zip((self._old, self._new), self.left(), strict=True):
            found: dict[Hashable, int] = {}
            for row in rows:
                for key in keys(version.codes[row]):
                    found[key] = -1 if key in found else row
            once.append(found)
        for key, a in once[0].items():
            b = once[1].get(key, -1)
            if a >= 0 and b >= 0:
                self._add(a, b)

    def _by_content(self) -> None:
        once: list[dict[int, int]] = []
        for shapes, rows in zip(self._shapes, self.left(), strict=True):
            found: dict[int, int] = {}
            for row in rows:
                found[shapes[row]] = -1 if shapes[row] in found else row
            once.append(found)
        for key, a in once[0].items():
            b = once[1].get(key, -1)
            if a >= 0 and b >= 0 and len(self._old.codes[a].lines) >= RENAMED:
                self._add(a, b, ALIKE_RENAMED)

    def _by_calls(self) -> None:
        """Pair what paired functions refer to at the same place."""
        votes: Counter[tuple[int, int]] = Counter()
        for a, b in self.partner.items():
            for one, other in self._same_places(a, b):
                i = self._old.rows.get(one)
                j = self._new.rows.get(other)
                if i is not None and j is not None and i not in self.partner and j not in self._back:
                    votes[i, j] += 1
        for (i, j), _ in sorted(votes.items(), key=lambda entry: (-entry[1], entry[0])):
            if (
                self._shapes[0][i] == self._shapes[1][j]
                or likeness(self._old.codes[i], self._new.codes[j]) >= ALIKE
            ):
                self._add(i, j, ALIKE_RENAMED)

    def _same_places(self, a: int, b: int) -> list[tuple[int, int]]:
        """Addresses of code that two paired functions refer to at the same place."""
        known = self._places.get((a, b))
        if known is None:
            old, new = self._old.codes[a].lines, self._new.codes[b].lines
            known = self._places[a, b] = [
                (old[pair.old].target, new[pair.new].target)
                for pair in line_pairs(self._old.codes[a], self._new.codes[b])
                if old[pair.old].kind in CODE and new[pair.new].kind in CODE
            ]
        return known

    def _by_place(self) -> None:
        """Pair functions between the same neighbours: equal ones in order, then as many as stand on both sides."""
        steady = sorted(self.partner.items())
        kept = [steady[place] for place in longest_rise([b for _, b in steady])]
        start = (-1, -1)
        for end in (*kept, (len(self._old), len(self._new))):
            alone = [row for row in range(start[0] + 1, end[0]) if row not in self.partner]
            others = [row for row in range(start[1] + 1, end[1]) if row not in self._back]
            start = end
            if not alone or not others or len(alone) * len(others) > MOST_CELLS:
                continue
            keys = [
                [shapes[row] for row in rows]
                for shapes, rows in zip(self._shapes, (alone, others), strict=True)
            ]
            for i, j, size in SequenceMatcher(None, *keys, autojunk=False).get_matching_blocks():
                for step in range(size):
                    self._add(alone[i + step], others[j + step], ALIKE_RENAMED)
            alone = [row for row in alone if row not in self.partner]
            others = [row for row in others if row not in self._back]
            if len(alone) == len(others):
                for i, j in zip(alone, others, strict=True):
                    if likeness(self._old.codes[i], self._new.codes[j]) >= ALIKE:
                        self._add(i, j, ALIKE_RENAMED)

    def _reduced(
        self, version: Version, rows: list[int], back: bool, lifted: Callable[[Version, list[int]], pa.Array]
    ) -> Side:
        """A file as if it held only the functions that are left, with their paired neighbours as mentions."""
        side = version.side
        kept = side.keep(rows)
        partner = self._back if back else {row: row for row in self.partner}
        near: dict[int, set[str]] = defaultdict(set)
        for caller, callees in enumerate(side.calls):
            for callee in callees:
                if callee in partner:
                    near[caller].add(f"calls {partner[callee]}")
                if caller in partner:
                    near[callee].add(f"called by {partner[caller]}")
        table = kept.table
        imports = [sorted({*names, *near[row]}) for names, row in zip(kept.imports, rows, strict=True)]
        for name, values in (
            ("imports", pa.array(imports, pa.list_(pa.string()))),
            ("operations", lifted(version, rows)),
        ):
            place = table.schema.get_field_index(name)
            table = table.set_column(place, table.schema.field(place), values)
        return replace(kept, table=table)


def _plain_name(name: str) -> str:
    """A name without what the compiler adds to its clones."""
    return _CLONE.sub("", name)
