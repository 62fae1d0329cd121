"""Which block is which and which instruction is which, in two versions of a function; bounded work for any length.

blocks        unique equal ones first, wherever they lie; then runs in order; then the most alike within a gap
instructions  equal head and tail; unique equal lines in order; the longest common runs of what is left
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

#: Pairs of items that are compared in detail; beyond it a stretch is taken as replaced.
MOST_CELLS = 250_000
#: Share of instructions that two blocks of one gap must have in common.
ALIKE = 0.5
#: Blocks of one gap that are compared each with each.
_GAP_BLOCKS = 200


class Pair(NamedTuple):
    """An item of the old sequence and one of the new, by index; -1 on one side where it stands alone."""

    old: int
    new: int


def align(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[Pair]:
    """Equal items in order, each at most once; what is left stands alone between them.

    Args:
        old: What to compare by.
        new: The same of the other side.

    Returns:
        All items of both, in order.
    """
    return _filled(_anchors(old, new, 0, len(old), 0, len(new)), len(old), len(new))


def _anchors(
    old: Sequence[Hashable], new: Sequence[Hashable], a: int, a_end: int, b: int, b_end: int
) -> list[Pair]:
    head: list[Pair] = []
    while a < a_end and b < b_end and old[a] == new[b]:
        head.append(Pair(a, b))
        a, b = a + 1, b + 1
    tail: list[Pair] = []
    while a < a_end and b < b_end and old[a_end - 1] == new[b_end - 1]:
        a_end, b_end = a_end - 1, b_end - 1
        tail.append(Pair(a_end, b_end))
    middle: list[Pair] = []
    if a < a_end and b < b_end:
        if (a_end - a) * (b_end - b) <= MOST_CELLS:
            matcher = SequenceMatcher(None, old[a:a_end], new[b:b_end], autojunk=False)
            for i, j, size in matcher.get_matching_blocks():
                middle += [Pair(a + i + step, b + j + step) for step in range(size)]
        else:
            middle = _between(old, new, _unique(old, new, a, a_end, b, b_end), a, a_end, b, b_end)
    return head + middle + tail[::-1]


def _between(
    old: Sequence[Hashable],
    new: Sequence[Hashable],
    fixed: list[Pair],
    a: int,
    a_end: int,
    b: int,
    b_end: int,
) -> list[Pair]:
    """Anchors within the gaps that fixed pairs leave; a gap that is still too large has none."""
    found: list[Pair] = []
    for pair in (*fixed, Pair(a_end, b_end)):
        if (pair.old - a) * (pair.new - b) <= MOST_CELLS:
            found += _anchors(old, new, a, pair.old, b, pair.new)
        if pair.old < a_end:
            found.append(pair)
        a, b = pair.old + 1, pair.new + 1
    return found


def _unique(
    old: Sequence[Hashable], new: Sequence[Hashable], a: int, a_end: int, b: int, b_end: int
) -> list[Pair]:
    """Items that occur once on each side: as many as are in the same order."""
    once = [
        {item: place for item, place in _places(side, start, end).items() if place >= 0}
        for side, start, end in ((old, a, a_end), (new, b, b_end))
    ]
    pairs = sorted(Pair(place, once[1][item]) for item, place in once[0].items() if item in once[1])
    return [pairs[place] for place in longest_rise([pair.new for pair in pairs])]


def _places(items: Sequence[Hashable], start: int, end: int) -> dict[Hashable, int]:
    places: dict[Hashable, int] = {}
    for place in range(start, end):
        places[items[place]] = -1 if items[place] in places else place
    return places


def longest_rise(numbers: Sequence[int]) -> list[int]:
    """Indices of a longest strictly rising subsequence."""
    tops: list[int] = []
    last: list[int] = []
    before = [-1] * len(numbers)
    for place, number in enumerate(numbers):
        length = bisect_left(tops, number)
        before[place] = last[length - 1] if length else -1
        if length == len(tops):
            tops.append(number)
            last.append(place)
        else:
            tops[length], last[length] = number, place
    found: list[int] = []
    place = last[-1] if last else -1
    while place >= 0:
        found.append(place)
        place = before[place]
    return found[::-1]


def _filled(anchors: list[Pair], old: int, new: int) -> list[Pair]:
    found: list[Pair] = []
    a = b = 0
    for pair in (*anchors, Pair(old, new)):
        found += [Pair(place, -1) for place in range(a, pair.old)]
        found += [Pair(-1, place) for place in range(b, pair.new)]
        if pair.old < old or pair.new < new:
            found.append(pair)
        a, b = pair.old + 1, pair.new + 1
    return found


def align_blocks(old: Sequence[Sequence[Hashable]], new: Sequence[Sequence[Hashable]]) -> list[Pair]:
    """Which block became which.

    Args:
        old: For each block of the old version its instructions, as what to compare by.
        new: The same of the new one.

    Returns:
        All blocks: in the order of the new version, a removed one where it stood.
    """
    keys = [tuple(block) for block in old], [tuple(block) for block in new]
    once = [_places(side, 0, len(side)) for side in keys]
    partner = {
        place: once[1][key]
        for key, place in once[0].items()
        if place >= 0 and once[1].get(key, -1) >= 0 and len(old[place]) > 1
    }
    rest = [place for place in range(len(old)) if place not in partner]
    taken = set(partner.values())
    others = [place for place in range(len(new)) if place not in taken]
    # Runs of equal blocks, in order, and only between the same pairs of unique ones.
    for pair in align([keys[0][place] for place in rest], [keys[1][place] for place in others]):
        if pair.old >= 0 and pair.new >= 0:
            partner[rest[pair.old]] = others[pair.new]
    _alike(old, new, partner)
    return _in_order(partner, len(old), len(new))


def _alike(
    old: Sequence[Sequence[Hashable]], new: Sequence[Sequence[Hashable]], partner: dict[int, int]
) -> None:
    """Pair blocks that stand between the same neighbours, the most alike first."""
    steady = sorted(partner.items())
    kept = [steady[place] for place in longest_rise([b for _, b in steady])]
    taken = set(partner.values())
    start = (-1, -1)
    for end in (*kept, (len(old), len(new))):
        alone = [place for place in range(start[0] + 1, end[0]) if place not in partner][:_GAP_BLOCKS]
        others = [place for place in range(start[1] + 1, end[1]) if place not in taken][:_GAP_BLOCKS]
        bags = (
            {place: Counter(old[place]) for place in alone},
            {place: Counter(new[place]) for place in others},
        )
        scored = sorted(
            (
                (-_likeness(bags[0][a], bags[1][b]), abs((a - start[0]) - (b - start[1])), a, b)
                for a in alone
                for b in others
            ),
        )
        for score, _, a, b in scored:
            if -score < ALIKE:
                break
            if a not in partner and b not in taken:
                partner[a] = b
                taken.add(b)
        start = end


def _likeness(one: Counter[Hashable], other: Counter[Hashable]) -> float:
    both = one.total() + other.total()
    return 2 * (one & other).total() / both if both else 1.0


def _in_order(partner: dict[int, int], old: int, new: int) -> list[Pair]:
    back = {b: a for a, b in partner.items()}
    found: list[Pair] = []
    removed = [place for place in range(old) if place not in partner]
    for place in range(new):
        here = back.get(place, -1)
        if here >= 0:
            while removed and removed[0] < here:
                found.append(Pair(removed.pop(0), -1))
        found.append(Pair(here, place))
    return found + [Pair(place, -1) for place in removed]
