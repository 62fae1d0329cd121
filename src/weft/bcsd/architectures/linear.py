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
from weft.bcsd.read.image import Image

Raw = tuple[int, int, str, str]
#: Instructions looked back over for a definition, for the comparison; definitions within definitions.
_LOOKED_BACK, _COMPARED, _DEEPEST = 512, 24, 12
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
    """

    register: str
    constant: int = 0
    terms: tuple[tuple[int, str], ...] = ()
    load: tuple[int, bool] | None = None
    scale: int = 1
    anchor: int = 0


class Bound(NamedTuple):
    """A comparison: the register, and how many values it can have where the jump is reached."""

    register: str
    values: int


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
    def bounds(self, instructions: Sequence[Raw], index: int) -> Bound | None:
        """What a comparison, or a branch that compares, says."""

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
        for number in range(bound.values):
            if isinstance(leaf, str):
                place = value.constant + factor * number
            else:
                entry = self._entry(leaf, number)
                if entry is None:
                    return None
                place = value.constant + factor * entry
            place &= self._mask & ~(1 if self._image.architecture == "arm" else 0)
            if not self._backward.inside(place) or not is_code(place):
                return None
            targets.append(place)
        return Table(targets, bounded=True) if isinstance(leaf, Loaded) or abs(factor) > 1 else None

    def _entry(self, leaf: Loaded, number: int) -> int | None:
        if len(leaf.place.terms) != 1:
            return None
        width, _ = leaf.place.terms[0]
        if width != leaf.size:
            return None
        place = leaf.place.constant + width * number & self._mask
        if leaf.size == self._image.pointer_size:
            return self._image.pointer(place)
        return self._image.integer(place, leaf.size, signed=leaf.signed)

    def _bound(self, jump: int) -> tuple[int, Bound | None]:
        for index in self._backward.walk(jump, _COMPARED):
            bound = self._speech.bounds(self._instructions, index)
            if bound is not None:
                return index, bound
        return -1, None

    def _sum_of(self, definition: Definition, before: int, compared: int, depth: int) -> Sum:
        constant, found = definition.constant, {}
        for factor, register in definition.terms:
            part = self._value(register, before, compared, depth)
            constant += factor * part.constant
            for inner, leaf in part.terms:
                found[leaf] = found.get(leaf, 0) + factor * inner
        total = Sum(constant & self._mask, tuple((factor, leaf) for leaf, factor in found.items() if factor))
        if definition.load is None:
            return total
        size, signed = definition.load
        if not total.terms:
            lies = (
                self._image.pointer(total.constant)
                if size == self._image.pointer_size
                else self._image.integer(total.constant, size, signed=signed)
            )
            if lies is not None:
                return Sum(definition.anchor + definition.scale * lies)
        return Sum(definition.anchor, ((definition.scale, Loaded(size, signed, total)),))

    def _value(self, register: str, before: int, compared: int, depth: int) -> Sum:
        unknown = Sum(0, ((1, register),))
        if depth == 0:
            return unknown
        for index in self._backward.walk(before, _LOOKED_BACK):
            definition = self._speech.defines(self._image, self._instructions[index])
            if definition is None or definition.register != register or self._speech.skips(definition):
                continue
            if definition.terms == _ANYTHING:
                return unknown
            if register == self._index and index < compared <= before:
                # The index itself: what it was set to once says nothing of a loop.
                return unknown
            value = self._sum_of(definition, index, compared, depth - 1)
            return unknown if value.terms and index < compared else value
        entered = self._speech.entry(register, self._start)
        return unknown if entered is None else Sum(entered)


def opaque(register: str) -> Definition:
    """A register that becomes something unknown."""
    return Definition(register, 0, _ANYTHING)
