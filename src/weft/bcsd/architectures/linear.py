"""Jump tables by what a jump's target is made of: constants, an index, and what is loaded at a sum of both.

Each instruction that such code is written with defines a register as a sum, or as what lies at a sum. Walking against
the flow, the target becomes

    anchor + factor · load(base + width · index)        or        anchor + factor · index

whatever the processor. What is known before the comparison that bounds the index is only followed where it is constant.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import NamedTuple

from weft.bcsd.architectures.backward import Backward
from weft.bcsd.architectures.jump_table import Table
from weft.bcsd.architectures.operands import Raw
from weft.bcsd.read.image import Image

#: Instructions looked back over for a definition, for the comparison; definitions within definitions.
_LOOKED_BACK, _COMPARED, _DEEPEST = 512, 24, 12
#: Instructions on all paths back.
_LOOKED_OVER = 4096
_MOST_ENTRIES = 1 << 12
_ANYTHING = ((1, "?"),)


class Definition(NamedTuple):
    """What an instruction makes of a register: ``constant + Σ factor · register``, or what lies there.

    Args:
        register: The register.
        constant: Of the sum.
        terms: ``(factor, register)`` of the sum.
        load: Bytes that are read at the sum and whether they are signed; None where the sum itself is meant.
        scale: What is loaded counts so many times.
        anchor: What is added to it then.
        beside: ``(factor, register)`` added to what is loaded.
    """

    register: str
    constant: int = 0
    terms: tuple[tuple[int, str], ...] = ()
    load: tuple[int, bool] | None = None
    scale: int = 1
    anchor: int = 0
    beside: tuple[tuple[int, str], ...] = ()


class Bound(NamedTuple):
    """A comparison: the register, and how many values it can have where the jump is reached.

    Args:
        register: What is compared.
        values: How many.
        weak: Whether it only says how many values its width allows: a comparison further back says more.
    """

    register: str
    values: int
    weak: bool = False


class Sum(NamedTuple):
    """A value: ``constant + Σ factor · leaf``; a leaf is a register or a :class:`Loaded`."""

    constant: int = 0
    terms: tuple[tuple[int, Loaded | str], ...] = ()


class Loaded(NamedTuple):
    """What lies at an address."""

    size: int
    signed: bool
    place: Sum


class Speech(ABC):
    """What one processor family's instructions say."""

    @abstractmethod
    def defines(self, image: Image, instruction: Raw) -> Definition | None:
        """What an instruction makes of the register that it writes: :func:`opaque` where that is not followed."""

    @abstractmethod
    def bounds(
        self, instructions: Sequence[Raw], index: int, known: Callable[[str], int | None]
    ) -> Bound | None:
        """What a comparison, or a branch that compares, says; ``known`` gives what a register surely holds there."""

    def entry(self, register: str, start: int) -> int | None:
        """What a register holds where the function at ``start`` is entered, if that is known."""
        return None

    def skips(self, definition: Definition) -> bool:
        """Whether a definition only restores what the register held before."""
        return False


class Resolver:
    """Finds the targets of one function's indirect jumps.

    Args:
        speech: The processor's.
        image: Where tables are.
        instructions: The function's.
        backward: Walks it against the flow.
    """

    def __init__(self, speech: Speech, image: Image, instructions: Sequence[Raw], backward: Backward) -> None:
        self._speech, self._image, self._backward = speech, image, backward
        self._instructions = instructions
        self._start = instructions[0][0] if instructions else 0
        self._index = ""
        self._mask = (1 << 8 * image.pointer_size) - 1

    def find(self, jump: int, target: Definition, is_code: Callable[[int], bool]) -> Table | None:
        """The targets of the jump with an index, given what it jumps to."""
        compared, bound = self._bound(jump)
        if bound is None or not 0 < bound.values <= _MOST_ENTRIES:
            return None
        self._index = bound.register
        value = self._sum_of(target, jump, compared, _DEEPEST)
        if len(value.terms) != 1:
            return None
        factor, leaf = value.terms[0]
        targets: list[int] = []
        inside = False
        for number in range(bound.values):
            if isinstance(leaf, str):
                place = value.constant + factor * number
            else:
                entry = self._entry(leaf, number)
                if entry is None:
                    return None
                place = value.constant + factor * entry
            place &= self._mask & ~(1 if self._image.architecture == "arm" else 0)
            if not is_code(place):
                return None
            # What is seldom reached may lie in a part of its own.
            inside = inside or self._backward.inside(place)
            targets.append(place)
        indexed = isinstance(leaf, Loaded) or abs(factor) > 1
        return Table(targets, bounded=True) if inside and indexed else None

    def _entry(self, leaf: Loaded, number: int) -> int | None:
        if len(leaf.place.terms) != 1:
            return None
        width, _ = leaf.place.terms[0]
        if width != leaf.size:
            return None
        place = leaf.place.constant + width * number & self._mask
        return self._lies(place, leaf.size, signed=leaf.signed)

    def _bound(self, jump: int) -> tuple[int, Bound | None]:
        widest = -1, None
        for index in self._backward.walk(jump, _COMPARED):
            bound = self._speech.bounds(
                self._instructions, index, lambda register, index=index: self._constant(register, index)
            )
            if bound is not None and not bound.weak:
                return index, bound
            if bound is not None and widest[1] is None:
                widest = index, bound
        return widest

    def _constant(self, register: str, before: int) -> int | None:
        value = self._value(register, before, -1, _DEEPEST)
        return None if value.terms else value.constant

    def _sum_of(self, definition: Definition, before: int, compared: int, depth: int) -> Sum:
        total = self._added(Sum(definition.constant), definition.terms, before, compared, depth)
        if definition.load is None:
            return total
        size, signed = definition.load
        lies = self._lies(total.constant, size, signed=signed) if not total.terms else None
        if lies is not None:
            read = Sum(definition.anchor + definition.scale * lies)
        else:
            read = Sum(definition.anchor, ((definition.scale, Loaded(size, signed, total)),))
        return self._added(read, definition.beside, before, compared, depth)

    def _added(
        self, to: Sum, terms: tuple[tuple[int, str], ...], before: int, compared: int, depth: int
    ) -> Sum:
        constant, found = to.constant, {leaf: factor for factor, leaf in to.terms}
        for factor, register in terms:
            part = self._value(register, before, compared, depth)
            constant += factor * part.constant
            for inner, leaf in part.terms:
                found[leaf] = found.get(leaf, 0) + factor * inner
        return Sum(constant & self._mask, tuple((factor, leaf) for leaf, factor in found.items() if factor))

    def _lies(self, place: int, size: int, *, signed: bool) -> int | None:
        """What the image holds at an address."""
        if size == self._image.pointer_size:
            return self._image.pointer(place)
        return self._image.integer(place, size, signed=signed)

    def _value(self, register: str, before: int, compared: int, depth: int) -> Sum:
        unknown = Sum(0, ((1, register),))
        if depth == 0:
            return unknown
        for index in self._backward.walk(before, _LOOKED_BACK):
            definition = self._definition(register, index)
            if definition is None:
                continue
            if definition.terms == _ANYTHING:
                return self._agreed(register, before, compared, depth) or unknown
            if register == self._index and index < compared <= before:
                # The index itself: what it was set to once says nothing of a loop.
                return unknown
            value = self._sum_of(definition, index, compared, depth - 1)
            return unknown if value.terms and index < compared else value
        entered = self._speech.entry(register, self._start)
        if entered is not None:
            return Sum(entered)
        return self._agreed(register, before, compared, depth) or unknown

    def _agreed(self, register: str, before: int, compared: int, depth: int) -> Sum | None:
        """The constant that a register holds over every path: the one that was followed may have been none."""
        places = self._backward.reaching(
            before, lambda index: self._definition(register, index) is not None, _LOOKED_OVER
        )
        values: set[Sum | None] = set()
        for index in places:
            definition = self._definition(register, index)
            if definition is None or definition.terms == _ANYTHING or len(values) > 1:
                return None
            values.add(self._sum_of(definition, index, compared, min(depth - 1, 2)))
        value = values.pop() if len(values) == 1 else None
        return value if value is not None and not value.terms else None

    def _definition(self, register: str, index: int) -> Definition | None:
        """What an instruction makes of a register, None if nothing."""
        found = self._speech.defines(self._image, self._instructions[index])
        return None if found is None or found.register != register or self._speech.skips(found) else found


def opaque(register: str) -> Definition:
    """A register that becomes something unknown."""
    return Definition(register, 0, _ANYTHING)
