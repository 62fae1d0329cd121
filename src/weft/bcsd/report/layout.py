"""Where the boxes and arrows of a control-flow graph go, without graphviz: layers from the entry down.

Sugiyama's scheme in its plainest form: turn backward edges round, put each block below its predecessors, let
long edges pass through empty places, order each layer by the middle of its neighbours, then move boxes
towards their neighbours as far as their own neighbours in the layer allow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

_GAP_X = 18.0
_GAP_Y = 30.0
_PASSING = 10.0
_SWEEPS = 4
#: Empty places beyond which a drawing is a tangle anyway: long edges then run straight.
_MOST_PASSING = 4000


@dataclass(frozen=True)
class Box:
    """A block's place, in pixels; ``x`` and ``y`` are its upper left corner."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Arrow:
    """An edge's way from block to block, in pixels, source first."""

    source: int
    target: int
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Layout:
    """A drawing: its size, a box per block, an arrow per edge, both in the order given."""

    width: float
    height: float
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]


@dataclass
class _Places:
    """Blocks, then the empty places of long edges: sizes, layer of each, order and middle within it."""

    sizes: list[tuple[float, float]]
    layer: list[int]
    chains: list[list[int]] = field(default_factory=list)
    rows: list[list[int]] = field(default_factory=list)
    middle: list[float] = field(default_factory=list)
    top: list[float] = field(default_factory=list)


def lay_out(sizes: Sequence[tuple[float, float]], edges: Sequence[tuple[int, int]]) -> Layout:
    """Place a graph.

    Args:
        sizes: Width and height of each block; block 0 is the entry.
        edges: Source and target of each edge.
    """
    if not sizes:
        return Layout(0.0, 0.0, (), ())
    backward = _backward(len(sizes), edges)
    downward = [(t, s) if turned else (s, t) for (s, t), turned in zip(edges, backward, strict=True)]
    places = _Places(list(sizes), _layers(len(sizes), downward))
    _pass_through(places, downward)
    _order(places)
    _shift(places)
    return _drawing(places, len(sizes), edges, backward)


def _successors(count: int, edges: Sequence[tuple[int, int]]) -> list[list[int]]:
    found: list[list[int]] = [[] for _ in range(count)]
    for source, target in edges:
        found[source].append(target)
    return found


def _backward(count: int, edges: Sequence[tuple[int, int]]) -> list[bool]:
    """Whether each edge closes a cycle: leads to a block that a depth-first walk has not left yet."""
    successors = _successors(count, edges)
    state = [0] * count
    closing: set[tuple[int, int]] = set()
    for root in range(count):
        if state[root]:
            continue
        stack = [(root, iter(successors[root]))]
        state[root] = 1
        while stack:
            block, rest = stack[-1]
            following = next(rest, None)
            if following is None:
                state[block] = 2
                stack.pop()
            elif state[following] == 1:
                closing.add((block, following))
            elif state[following] == 0:
                state[following] = 1
                stack.append((following, iter(successors[following])))
    return [edge in closing for edge in edges]


def _layers(count: int, downward: Sequence[tuple[int, int]]) -> list[int]:
    """The longest way down to each block."""
    successors = _successors(count, [edge for edge in downward if edge[0] != edge[1]])
    waiting = [0] * count
    for targets in successors:
        for target in targets:
            waiting[target] += 1
    layer = [0] * count
    ready = [block for block in range(count) if not waiting[block]]
    for block in ready:
        for target in successors[block]:
            layer[target] = max(layer[target], layer[block] + 1)
            waiting[target] -= 1
            if not waiting[target]:
                ready.append(target)
    return layer


def _pass_through(places: _Places, downward: Sequence[tuple[int, int]]) -> None:
    """Give each edge its chain of places, one per layer that it crosses."""
    spare = _MOST_PASSING
    for upper, lower in downward:
        between = range(places.layer[upper] + 1, places.layer[lower])
        chain = [upper]
        if len(between) <= spare:
            spare -= len(between)
            for layer in between:
                chain.append(len(places.sizes))
                places.sizes.append((_PASSING, 0.0))
                places.layer.append(layer)
        places.chains.append([*chain, lower])


def _neighbours(places: _Places) -> tuple[list[list[int]], list[list[int]]]:
    above: list[list[int]] = [[] for _ in places.sizes]
    below: list[list[int]] = [[] for _ in places.sizes]
    for chain in places.chains:
        for upper, lower in pairwise(chain):
            if places.layer[lower] == places.layer[upper] + 1:
                below[upper].append(lower)
                above[lower].append(upper)
    return above, below


def _order(places: _Places) -> None:
    """Order every layer by the mean position of the neighbours in the layer before, down and up in turn."""
    rows: list[list[int]] = [[] for _ in range(max(places.layer) + 1)]
    for place, layer in enumerate(places.layer):
        rows[layer].append(place)
    above, below = _neighbours(places)
    position = [0.0] * len(places.sizes)
    for row in rows:
        for index, place in enumerate(row):
            position[place] = float(index)
    for sweep in range(_SWEEPS):
        neighbours, ordered = (above, rows[1:]) if sweep % 2 == 0 else (below, rows[-2::-1])
        for row in ordered:
            row.sort(key=lambda place: _mean(neighbours[place], position))
            for index, place in enumerate(row):
                position[place] = float(index)
    places.rows = rows


def _mean(neighbours: list[int], position: list[float]) -> float:
    return sum(position[n] for n in neighbours) / len(neighbours) if neighbours else 0.0


def _shift(places: _Places) -> None:
    """Give each place a middle: near its neighbours, never on top of the next one in its layer."""
    above, below = _neighbours(places)
    both = [up + down for up, down in zip(above, below, strict=True)]
    middle = [0.0] * len(places.sizes)
    for row in places.rows:
        at = 0.0
        for place in row:
            width = places.sizes[place][0]
            middle[place] = at + width / 2
            at += width + _GAP_X
        for place in row:
            middle[place] -= (at - _GAP_X) / 2
    for sweep in range(2 * _SWEEPS):
        neighbours = (above, below, both)[sweep % 3]
        for row in places.rows if sweep % 2 == 0 else reversed(places.rows):
            wanted = [
                _mean(neighbours[place], middle) if neighbours[place] else middle[place] for place in row
            ]
            for place, x in zip(row, _apart(row, wanted, places.sizes), strict=True):
                middle[place] = x
    places.middle = middle
    places.top = []
    y = 0.0
    for row in places.rows:
        places.top.append(y)
        y += max(places.sizes[place][1] for place in row) + _GAP_Y


def _apart(row: list[int], wanted: list[float], sizes: list[tuple[float, float]]) -> list[float]:
    """The positions nearest to those wanted, in least squares, that keep the order and the gaps.

    With the gaps taken off it is a regression that must rise: pool adjacent violators.
    """
    offset = [0.0]
    for left, right in pairwise(row):
        offset.append(offset[-1] + (sizes[left][0] + sizes[right][0]) / 2 + _GAP_X)
    pools: list[tuple[float, int]] = []
    for value, shift in zip(wanted, offset, strict=True):
        pool = (value - shift, 1)
        while pools and pools[-1][0] > pool[0]:
            mean, count = pools.pop()
            total = count + pool[1]
            pool = ((mean * count + pool[0] * pool[1]) / total, total)
        pools.append(pool)
    flat = [mean for mean, count in pools for _ in range(count)]
    return [value + shift for value, shift in zip(flat, offset, strict=True)]


def _drawing(
    places: _Places, count: int, edges: Sequence[tuple[int, int]], backward: Sequence[bool]
) -> Layout:
    left = min(x - places.sizes[p][0] / 2 for p, x in enumerate(places.middle))
    boxes = [
        Box(
            round(places.middle[block] - places.sizes[block][0] / 2 - left, 1),
            round(places.top[places.layer[block]], 1),
            *places.sizes[block],
        )
        for block in range(count)
    ]
    arrows = [
        Arrow(source, target, _way(places, chain, turned, boxes, left))
        for (source, target), chain, turned in zip(edges, places.chains, backward, strict=True)
    ]
    right = max(x for arrow in arrows for x, _ in arrow.points) if arrows else 0.0
    width = max([right, *(box.x + box.width for box in boxes)])
    height = max(box.y + box.height for box in boxes)
    return Layout(round(width, 1), round(height, 1), tuple(boxes), tuple(arrows))


def _way(
    places: _Places, chain: list[int], turned: bool, boxes: list[Box], left: float
) -> tuple[tuple[float, float], ...]:
    upper, lower = boxes[chain[0]], boxes[chain[-1]]
    if chain[0] == chain[-1]:
        # A loop on one block: out at its right side and in again.
        x, y = upper.x + upper.width, upper.y + upper.height
        return ((x, y - 6), (x + 12, y - 6), (x + 12, upper.y + 6), (x, upper.y + 6))
    # Backward edges leave and enter beside the middle, where forward ones do.
    aside = 8.0 if turned else 0.0
    points = [(upper.x + upper.width / 2 + aside, upper.y + upper.height)]
    for place in chain[1:-1]:
        row = places.layer[place]
        tallest = max(places.sizes[p][1] for p in places.rows[row])
        x = round(places.middle[place] - left, 1)
        points += [(x, places.top[row]), (x, places.top[row] + tallest)]
    points.append((lower.x + lower.width / 2 + aside, lower.y))
    rounded = [(round(x, 1), round(y, 1)) for x, y in points]
    return tuple(reversed(rounded) if turned else rounded)
