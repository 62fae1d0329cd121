"""Function starts that no table names, in code that nothing known leads to: stripped files without unwind tables.

In order of trust: what calls in that code lead to, what pointers in data point to, and what follows the end of a
function and begins as functions do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import Any

from weft.bcsd.architectures.architecture import TERMINAL, Architecture, FlowKind
from weft.bcsd.architectures.operands import Raw, immediate
from weft.bcsd.disassemble.bounds import Frontier
from weft.bcsd.disassemble.interface import Function, Reference, ReferenceKind
from weft.bcsd.read.image import Image, unpack_words

#: Share of the code in functions from which on no gap is searched: what is left is padding and data.
SEARCHED_BELOW = 0.9
#: Bytes of the longest gap that is decoded for calls.
_LONGEST = 1 << 26
_PAGES = 0xFFFF
WORD = 4
#: Bytes that tell that code is not in the mode of what stands in front, at most and at least: a loop of long Thumb
#: instructions looks like A32, where it stands between words.
_TOLD, _ENOUGH = 4096, 1024
#: Bytes at an address that tell its mode.
_SEEN = 64
#: Bytes of a gap within which code must come to a call or a jump.
_LOOKED_AT = 1024
#: A function is made anew with each of so many pieces that it grows by, then whenever it is a quarter longer.
_PIECES = 64
#: How often code is decoded around constants until no more of them are met.
_ROUNDS = 8


class Growth:
    """How far a function grows into a gap, and when it is made anew: the work stays in proportion to its length.

    Attributes:
        end: Where it ends now.
        made: Where it ended when it was made last.
    """

    def __init__(self) -> None:
        self.end = self.made = self._pieces = 0

    def to(self, end: int, start: int) -> bool:
        """Let the function at ``start`` grow to ``end``; whether it is to be made anew already."""
        self.end = end
        self._pieces += 1
        return self._pieces <= _PIECES or 4 * (end - start) > 5 * (self.made - start)


def called_by(functions: Iterable[Function]) -> set[int]:
    """What functions call outside of themselves."""
    return {
        reference.target
        for function in functions
        for reference in function.references.values()
        if reference.kind == ReferenceKind.CALL_INTERNAL
        and not function.address < reference.target < function.address + function.size
    }


def called_from_gaps(image: Image, architecture: Architecture, frontier: Frontier) -> list[int]:
    """Targets of direct calls in code that no function covers; the mode of each is noted in the image."""
    found: dict[int, bool] = {}
    for start, end in frontier.gaps():
        best: dict[int, bool] = {}
        most = 0.0
        end = min(end, start + _LONGEST)
        # Words stand where words stand, whatever the gap begins with.
        for mode in architecture.modes(image, image.code_at(start + -start % WORD, end)):
            called, total = _calls(image, architecture, start, end, mode)
            share = len(called) * len(called) / total if total else 0.0
            if share > most:
                best, most = called, share
        found.update(best)
    fitting = [target for target, mode in found.items() if mode in modes_at(image, architecture, target)]
    image.thumb.update(target for target in fitting if found[target])
    return sorted(fitting)


def modes_at(image: Image, architecture: Architecture, address: int, length: int = _SEEN) -> tuple[bool, ...]:
    """The modes that what stands at an address may be in, by so many bytes."""
    address += -address % WORD
    return architecture.modes(image, image.code_at(address, address + length))


def _calls(
    image: Image, architecture: Architecture, start: int, end: int, mode: bool
) -> tuple[dict[int, bool], int]:
    """Targets of the calls in ``[start, end)`` with their mode, those outside of code left out; and all calls."""
    called: dict[int, bool] = {}
    total = 0
    for address, _, mnemonic, operands in decoded(image, architecture, start, end, mode):
        if architecture.plain[mnemonic]:
            continue
        kind, target = architecture.flow_at(address, mnemonic, operands)
        if kind != FlowKind.CALL or target is None:
            continue
        total += 1
        if image.code_map.at(target) is not None and not image.in_stubs(target):
            called[architecture.entry_of(image, target)] = mode != architecture.switches_mode(mnemonic)
    return called, total


def decoded(
    image: Image,
    architecture: Architecture,
    start: int,
    end: int,
    mode: bool,
    pools: AbstractSet[int] = frozenset(),
) -> Iterator[Raw]:
    """The instructions of ``[start, end)`` in a mode; constants and bytes that are no instruction are stepped over."""
    was = start in image.thumb
    (image.thumb.add if mode else image.thumb.discard)(start)
    decoder = architecture.decoder(image, start)
    (image.thumb.add if was else image.thumb.discard)(start)
    code = image.code_at(start, end)
    step = architecture.step
    if architecture.mode_bit and not mode:
        # Instructions of A32 are words, and stand where words stand.
        step = WORD
    position = start + -start % step
    while position < start + len(code):
        if position in pools:
            position += step
            continue
        reached = position
        for line in decoder.disasm_lite(code[position - start :], position):
            if pools and not pools.isdisjoint(range(line[0], line[0] + line[1], architecture.step)):
                break
            reached = line[0] + line[1]
            yield line
        position = reached if reached in pools else reached + step


def decode_around(
    image: Image, architecture: Architecture, constants: set[int], start: int, end: int, most: int
) -> tuple[list[Raw], set[int], bool]:
    """The instructions of ``[start, end)`` with constants among them; control does not run over their places.

    What stands behind many tables may only be decoded once they are known for data: the constants met there are added.
    """
    thumb = start in image.thumb
    instructions: list[Raw] = []
    for _ in range(_ROUNDS):
        instructions = list(islice(decoded(image, architecture, start, end, thumb, constants), most))
        more = architecture.literals(image, start, instructions)
        if more <= constants:
            break
        constants |= more
    gaps: set[int] = set()
    damaged = False
    reached = start
    for index, (address, size, _, _) in enumerate([*instructions, (end, 0, "", "")]):
        if address > reached:
            if 0 < index < len(instructions):
                gaps.add(index - 1)
            damaged |= not constants.issuperset(range(reached, address, architecture.step))
        reached = address + size
    return instructions, gaps, damaged


def code_taken(instructions: list[Raw], references: Mapping[int, Reference]) -> set[int]:
    """The addresses of code that instructions take, without pages and without what they read, as tables are read."""
    return {
        reference.target
        for index, reference in references.items()
        if reference.kind == ReferenceKind.CODE
        and instructions[index][2] != "adrp"
        and (
            "[" not in instructions[index][3]
            or instructions[index][2] == "lea"
            or immediate(instructions[index][3].rpartition(", ")[2]) == reference.target
        )
    }


def taken_leads(
    image: Image, architecture: Architecture, frontier: Frontier, taken: AbstractSet[int]
) -> list[int]:
    """Which addresses that functions take begin one that is not known: ``main``, and callbacks.

    They are less sure than calls. So from now on a function ends, too, where one that was found begins.
    """
    frontier.cautious = True
    return [
        address
        for address in sorted(taken)
        if not frontier.covers(address)
        and next_start(image, architecture, address, frontier.limit(address), False, set()) == address
    ]


def behind_data(decoder: Any, step: int, code: bytes, start: int, reached: int) -> int:
    """Where to go on behind what is no instruction.

    Where all instructions are words a table among them is many words, and one place to go on behind it.
    """
    reached += step
    while step == 4 and reached < start + len(code):
        word = code[reached - start : reached - start + 4]
        if next(decoder.disasm_lite(word, reached, 1), None) is not None:
            break
        reached += step
    return reached


def pointed_to(image: Image, architecture: Architecture) -> list[int]:
    """Addresses of code that pointers in data hold, aligned as pointers are; modes are noted in the image."""
    found: set[int] = set()
    size = image.pointer_size
    # Where the loader moves a file it is told of every pointer, but for MIPS's own table.
    told = not image.fixed_base and image.pointers and not architecture.delay
    for region in [] if told else image.data:
        if region.executable and not region.writable:
            continue
        skip = -region.start % size
        words = unpack_words(bytes(region.data[skip:]), size, signed=False, big_endian=image.big_endian)
        for word in set(words):
            address = word & ~architecture.mode_bit
            # MIPS keeps the pages of its addresses among its pointers.
            if (
                address % architecture.step == 0
                and address & _PAGES
                and image.code_map.at(address) is not None
                and bool(word & architecture.mode_bit) in modes_at(image, architecture, address)
            ):
                if word & architecture.mode_bit:
                    image.thumb.add(address)
                found.add(address)
    mask = ~architecture.mode_bit
    relocated = (pointer & mask for pointer in image.pointers.values())
    return sorted(found.union(address for address in relocated if image.code_map.at(address) is not None))


def next_lead(
    image: Image,
    architecture: Architecture,
    start: int,
    end: int,
    mode: bool,
    front: bool,
    pools: set[int],
) -> tuple[int | None, bool]:
    """The next start in a gap, and its mode.

    That is the mode of what stands before it. Behind a function in Thumb what is A32 tells it, and so does what is
    Thumb again.

    Args:
        image: The binary.
        architecture: Its.
        start: Where what is known ends.
        end: Of the gap.
        mode: Of what stands right before.
        front: Of the function in front of the gap.
        pools: Constants that are known.
    """
    seen = min(end, start + _TOLD)
    run = front and seen - start >= _ENOUGH and True not in modes_at(image, architecture, start, seen)
    mode = mode and not run
    lead = next_start(image, architecture, start, end, mode, pools)
    if front and not run:
        word = start + -start % WORD if lead is None else lead - lead % WORD
        told = architecture.mode_here(image, image.code_at(word, min(end, word + _SEEN)))
        if told is not None and told != mode:
            mode = told
            lead = next_start(image, architecture, max(word, start), end, mode, pools)
    return lead, mode


def next_start(
    image: Image, architecture: Architecture, start: int, end: int, mode: bool, pools: set[int]
) -> int | None:
    """Where the first function of a gap begins: behind constants and padding, if code stands there up to a jump."""
    first: int | None = None
    expected = start
    for address, size, mnemonic, operands in decoded(
        image, architecture, start, min(end, start + _LOOKED_AT), mode, pools
    ):
        if first is None and architecture.is_padding(mnemonic, operands):
            expected = address + size
            continue
        if address != expected:
            # Bytes that are no instruction: data stood here.
            first = None
        if first is None:
            first = address
        expected = address + size
        if not architecture.plain[mnemonic]:
            kind, _ = architecture.flow_at(address, mnemonic, operands)
            if kind in TERMINAL or kind in (FlowKind.CALL, FlowKind.BRANCH, FlowKind.RETURN_IF):
                return first
    return None
