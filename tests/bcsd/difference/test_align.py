"""Aligning: everything once, in order, and bounded however long the sides are."""

import itertools
import time

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from weft.bcsd.difference.align import Pair, align, align_blocks, longest_rise

UNHURRIED = settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
ITEMS = st.lists(st.integers(0, 5), max_size=30)


@UNHURRIED
@given(ITEMS, ITEMS)
def test_every_item_is_there_once_in_order_and_pairs_are_equal(old, new):
    pairs = align(old, new)
    assert [pair.old for pair in pairs if pair.old >= 0] == list(range(len(old)))
    assert [pair.new for pair in pairs if pair.new >= 0] == list(range(len(new)))
    assert all(old[a] == new[b] for a, b in pairs if a >= 0 and b >= 0)


@UNHURRIED
@given(st.lists(ITEMS, max_size=12), st.lists(ITEMS, max_size=12))
def test_every_block_is_there_once(old, new):
    pairs = align_blocks(old, new)
    assert sorted(pair.old for pair in pairs if pair.old >= 0) == list(range(len(old)))
    assert sorted(pair.new for pair in pairs if pair.new >= 0) == list(range(len(new)))


@UNHURRIED
@given(st.lists(st.integers(-20, 20), max_size=40))
def test_the_longest_rise_rises_and_no_longer_one_exists(numbers):
    found = [numbers[place] for place in longest_rise(numbers)]
    assert all(a < b for a, b in itertools.pairwise(found))
    best = [1] * len(numbers)
    for i, number in enumerate(numbers):
        best[i] = 1 + max((best[j] for j in range(i) if numbers[j] < number), default=0)
    assert len(found) == max(best, default=0)


def test_what_is_added_stands_alone_and_what_moved_is_found():
    assert align("abcd", "abXcd") == [Pair(0, 0), Pair(1, 1), Pair(-1, 2), Pair(2, 3), Pair(3, 4)]
    first, second, third = [1, 2, 3], [4, 5, 6], [7, 8, 9]
    assert align_blocks([first, second, third], [third, first, second]) == [
        Pair(2, 0),
        Pair(0, 1),
        Pair(1, 2),
    ]
    assert Pair(1, 1) in align_blocks([first, [4, 5, 6, 6], third], [first, second, third])


def test_long_sides_are_bounded():
    begun = time.process_time()
    alike = align([1, 2] * 40_000, [2, 1, 1] * 30_000)
    assert len(alike) >= 90_000
    numbered = align(list(range(60_000)), [n for n in range(60_000) if n % 1000])
    assert sum(a >= 0 and b >= 0 for a, b in numbered) == 59_940
    align_blocks([[n % 3] * 4 for n in range(4000)], [[n % 5] * 3 for n in range(4000)])
    assert time.process_time() - begun < 10
