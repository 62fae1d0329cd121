"""Stores that one version makes and the other does not, byte by byte.

    told    a byte at a place that the other version does not write, or writes another value to

Compilers join, split, double and reorder stores: each byte and value counts once, and runs of them are one note. A
store to a place that is not surely known may be any store of as many bytes and the same value.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from weft.bcsd.difference.told.effects import ANY, Store, place_text
from weft.bcsd.difference.told.spelling import bare, number_text, without_offsets

#: Bytes of a store up to which it is told whole, though some of it is the same.
_WORD = 8
#: Bytes of what is told as one number.
_SIZES = (1, 2, 4, 8)
#: How the result of a call is spelled.
_RESULT = "()"
_WIDTH = re.compile(r"\bu\d+\[")

_Byte = tuple[str, int]


class _Run(NamedTuple):
    """Bytes side by side that hold one thing."""

    base: str
    shown: str
    offset: int
    size: int
    value: str

    @property
    def what(self) -> str:
        place = place_text(self.shown, self.offset)
        return f"u{8 * self.size}[{place}]" if self.size in _SIZES else f"bytes[{place}, {self.size:#x}]"


def stores_changed(old: Sequence[Store], new: Sequence[Store], *, fields: bool) -> Iterator[str]:
    """Each, for a person: constants first.

    Args:
        old: Stores of the old version.
        new: Stores of the new version.
        fields: Whether it was told already which fields lie elsewhere.
    """
    sides = [[store for store in stores if store.place.key] for stores in (old, new)]
    vague = [Counter(_content(store) for store in stores if not store.place.key) for stores in (old, new)]
    gone = _runs(sides[0], sides[1], vague[1] - vague[0])
    come = _runs(sides[1], sides[0], vague[0] - vague[1])
    for one in list(gone):
        other = next((run for run in come if run[:1] + run[2:4] == one[:1] + one[2:4]), None)
        if other is not None:
            if _elsewhere(one, fields) != _elsewhere(other, fields):
                yield f"{one.what} = {one.value} → {other.value}"
            gone.remove(one)
            come.remove(other)
    told = {_elsewhere(run, fields) for run in gone} & {_elsewhere(run, fields) for run in come}
    for sign, side in (("−", gone), ("+", come)):
        yield from (f"{sign} {run.what} = {run.value}" for run in side if _elsewhere(run, fields) not in told)


def _elsewhere(run: _Run, fields: bool) -> tuple[object, ...]:
    """What is alike in a run that another callee's result, or another layout, puts to another place."""
    if fields:
        return without_offsets(run.base), run.size, without_offsets(run.value)
    return (_RESULT if _RESULT in run.base else run.base), run.offset, run.size, run.value


def _content(store: Store) -> tuple[int, object]:
    if store.content:
        return store.size, store.content
    return store.size, store.source if store.source is not None else _WIDTH.sub("u[", store.key)


def _held(store: Store, step: int) -> object:
    """What a byte of a store holds; :data:`ANY` where that may be anything."""
    if store.content:
        return store.content[step]
    if store.source is not None:
        return store.source.key, store.source.offset + step
    return (_WIDTH.sub("u[", store.key), step) if store.key else ANY


def _runs(stores: Sequence[Store], others: Sequence[Store], vague: Counter[tuple[int, object]]) -> list[_Run]:
    """What these stores write and the others do not, numbers first; vague ones of the others may be the same."""
    own, there = _written(stores), _written(others)
    held: defaultdict[tuple[object, ...], dict[int, Store]] = defaultdict(dict)
    for store in stores:
        if vague[_content(store)] > 0 or vague[store.size, ANY] > 0:
            continue
        steps = [step for step in range(store.size) if _differs(store, step, own, there)]
        if steps and store.size <= _WORD:
            steps = list(range(store.size))
        for step in steps:
            held[_group(store)].setdefault(store.place.offset + step, store)
    runs = [
        (not by_offset[start].content, _run(by_offset[start], start, size))
        for by_offset in held.values()
        for start, size in _stretches(sorted(by_offset))
    ]
    return [run for _, run in sorted(runs)]


def _written(stores: Sequence[Store]) -> dict[_Byte, set[object]]:
    found: defaultdict[_Byte, set[object]] = defaultdict(set)
    for store in stores:
        for step in range(store.size):
            found[store.place.key, store.place.offset + step].add(_held(store, step))
    return found


def _differs(
    store: Store, step: int, own: dict[_Byte, set[object]], others: dict[_Byte, set[object]]
) -> bool:
    place = store.place.key, store.place.offset + step
    there = others.get(place)
    if there is None:
        return True
    return ANY not in own[place] | there and _held(store, step) not in there


def _group(store: Store) -> tuple[object, ...]:
    """Stores of one group hold one thing where they lie side by side."""
    place = store.place
    if store.content:
        fill = _fill(store.content)
        return (place.key, fill) if fill is not None else (place.key, place.offset, store.content)
    if store.source is not None:
        return place.key, store.source.key, store.source.offset - place.offset
    return place.key, place.offset, store.key, store.shown


def _fill(content: bytes) -> int | None:
    """The byte that a number is made of; None where there are several."""
    return content[0] if len(set(content)) == 1 else None


def _filled(fill: int, size: int) -> str:
    """A run of one byte, for a person."""
    return (
        number_text(int.from_bytes(bytes([fill]) * size, "little"), size)
        if size in _SIZES
        else number_text(fill, 1)
    )


def _run(store: Store, start: int, size: int) -> _Run:
    place = store.place
    fill = _fill(store.content)
    if fill is not None:
        value = _filled(fill, size)
    elif store.number is not None:
        value = number_text(store.number, store.size)
    elif store.source is not None:
        there = place_text(store.source.shown, store.source.offset + start - place.offset)
        value = f"u{8 * size}[{there}]" if size in _SIZES else f"bytes[{there}]"
    else:
        value = bare(store.shown)
    return _Run(place.key, place.shown, start, size, value)


def _stretches(offsets: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Start and length of each run of numbers that follow one another."""
    start = 0
    for end in range(1, len(offsets) + 1):
        if end == len(offsets) or offsets[end] != offsets[end - 1] + 1:
            yield offsets[start], end - start
            start = end


def locals_changed(old: Sequence[Store], new: Sequence[Store]) -> Iterator[str]:
    """Constants that one version alone puts on the stack; where they lie there is the compiler's choice."""
    sides = [_constants(side) for side in (old, new)]
    for sign, side, others in (("−", *sides), ("+", *sides[::-1])):
        for size, value in sorted(side - others):
            what = f"u{8 * size}[&local]" if size in _SIZES else f"bytes[&local, {size:#x}]"
            yield f"{sign} {what} = {value}"


def _constants(stores: Sequence[Store]) -> set[tuple[int, str]]:
    """Size and number of each; what lies side by side and is of one byte throughout is one."""
    found: set[tuple[int, str]] = set()
    filled: defaultdict[int, set[int]] = defaultdict(set)
    for store in stores:
        fill = _fill(store.content)
        if fill is None:
            found.add((store.size, number_text(store.number or 0, store.size)))
        else:
            filled[fill].update(range(store.place.offset, store.place.offset + store.size))
    for fill, offsets in filled.items():
        found.update((size, _filled(fill, size)) for _, size in _stretches(sorted(offsets)))
    return found
