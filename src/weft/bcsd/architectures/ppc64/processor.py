"""PowerPC, 64 bits: functions, blocks, jump tables and tokens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

import capstone

from weft.bcsd.architectures.architecture import NEXT, RETURN, STOP, Architecture, Flow, FlowKind
from weft.bcsd.architectures.backward import Backward
from weft.bcsd.architectures.jump_table import Table
from weft.bcsd.architectures.linear import Definition, Resolver
from weft.bcsd.architectures.operands import Raw
from weft.bcsd.architectures.ppc64.jump_tables import PpcSpeech
from weft.bcsd.architectures.ppc64.relocations import PPC64
from weft.bcsd.architectures.relocation import Relocation
from weft.bcsd.read.image import Image, unpack_words

_CALLS = frozenset({"bl", "bla", "bcl"})
_JUMPS = frozenset({"b", "ba"})
_STOPS = frozenset({"trap"})
_BCTR = 0x4E800420
#: Bytes of a traceback table, without and with its optional parts.
_TRACEBACK = range(12, 257)


class Ppc64(Architecture):
    """PowerPC with the ELFv2 convention."""

    name = "ppc64"
    pointer_size = 8
    machines: Mapping[str, str] = {"elf": "PPC64"}
    step = 4
    padding = frozenset({"nop"})
    lacks_unwinding = True
    relocations: Mapping[int, Relocation] = PPC64

    def decoder(self, image: Image, address: int) -> capstone.Cs:
        """One handle for each byte order."""
        return _decoder(image.big_endian)

    def matters(self, mnemonic: str) -> bool:
        """Branches, calls, traps."""
        return mnemonic[0] == "b" or mnemonic in _STOPS

    def flow(self, mnemonic: str, operands: str) -> Flow:
        """See the base class."""
        word = mnemonic.rstrip("+-")
        target = self.place(operands.rpartition(", ")[2])
        if word in _CALLS:
            return Flow(FlowKind.CALL, target)
        if word in _JUMPS:
            return Flow(FlowKind.JUMP, target)
        if word == "blr":
            return RETURN
        if word == "bctr":
            return Flow(FlowKind.INDIRECT_JUMP)
        if word in ("bctrl", "blrl"):
            return Flow(FlowKind.INDIRECT_CALL)
        if word in _STOPS:
            return STOP
        if word[0] == "b" and word.endswith("lr"):
            return Flow(FlowKind.RETURN_IF)
        return NEXT if target is None or word.startswith("bp") else Flow(FlowKind.BRANCH, target)

    def is_trailer(self, rest: bytes) -> bool:
        """A traceback table: a word of zeros, and a form that begins with its version, 0.

        Source: 64-bit ELF V2 ABI Specification, "Traceback Tables".
        """
        return len(rest) in _TRACEBACK and not any(rest[:5])

    def find_table(
        self,
        image: Image,
        instructions: list[Raw],
        jump: int,
        backward: Backward,
        is_code: Callable[[int], bool],
    ) -> Table | None:
        """See the base class."""
        target = Definition("", 0, ((1, "ctr"),))
        speech = PpcSpeech(self._toc_of(image))
        return Resolver(speech, image, instructions, backward).find(jump, target, is_code)

    def _toc_of(self, image: Image) -> int | None:
        for region in image.code:
            words = unpack_words(bytes(region.data), 4, signed=False, big_endian=image.big_endian)
            toc = self._toc(words, region.start)
            if toc is not None:
                return toc
        return None

    def entry_of(self, image: Image, target: int) -> int:
        """Calls within a file go behind the two instructions that set up the table of contents."""
        head = image.read(target - 8, 8)
        order = "big" if image.big_endian else "little"
        first, second = int.from_bytes(head[:4], order), int.from_bytes(head[4:], order)
        sets_up = first >> 16 in (0x3C4C, 0x3C40) and second >> 16 == 0x3842
        return target - 8 if sets_up else target

    def hidden_stubs(self, image: Image) -> dict[int, tuple[int, str | None]]:
        """``std r2, 24(r1); addis r12, r2, high; ld r12, low(r12); mtctr r12; bctr``; ``addis`` may be missing."""
        found: dict[int, tuple[int, str | None]] = {}
        for region in image.code:
            words = unpack_words(bytes(region.data), 4, signed=False, big_endian=image.big_endian)
            toc = self._toc(words, region.start)
            for index in (i for i, word in enumerate(words) if word == 0xF8410018):
                stub = words[index + 1 : index + 5]
                if _BCTR not in stub:
                    continue
                high = stub[0] & 0xFFFF if stub[0] >> 16 == 0x3D82 else 0
                load = stub[1] if stub[0] >> 16 == 0x3D82 else stub[0]
                if load >> 16 not in (0xE98C, 0xE982):
                    continue
                start = region.start + 4 * index
                slot = None if toc is None else toc + (_low(high) << 16) + _low(load & 0xFFFC)
                name = None if slot is None else image.slots.get(slot)
                found[start] = (start + 4 * (stub.index(_BCTR) + 2), name)
        return found

    def _toc(self, words: list[int], start: int) -> int | None:
        """What ``r2`` holds: the first function that sets it up tells."""
        for index in range(len(words) - 1):
            if words[index] >> 16 == 0x3C4C and words[index + 1] >> 16 == 0x3842:
                return (
                    start + 4 * index + (_low(words[index] & 0xFFFF) << 16) + _low(words[index + 1] & 0xFFFF)
                )
        return None

    def is_entry(self, image: Image, code: bytes, mode: bool) -> bool:
        """``addis r2, r12, x`` (the table of contents), ``mflr r0``, ``stdu r1``, ``std r, -n(r1)``."""
        word = int.from_bytes(code[:4], "big" if image.big_endian else "little")
        toc = word >> 16 == 0x3C4C
        return toc or word == 0x7C0802A6 or word & 0xFFFF0003 == 0xF8210001


def _low(half: int) -> int:
    """Sixteen bits as a signed number."""
    return half - (1 << 16) if half & 0x8000 else half


@cache
def _decoder(big_endian: bool) -> capstone.Cs:
    order = capstone.CS_MODE_BIG_ENDIAN if big_endian else capstone.CS_MODE_LITTLE_ENDIAN
    return capstone.Cs(capstone.CS_ARCH_PPC, capstone.CS_MODE_64 | order)


ARCHITECTURES = (Ppc64(),)
