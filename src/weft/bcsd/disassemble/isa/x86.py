"""x86-64 and i386."""

from __future__ import annotations

import re

import capstone

from weft.bcsd.disassemble.isa.architecture import NEXT, RETURN, STOP, Architecture, Flow, FlowKind, immediate
from weft.bcsd.read.image import Image

_PREFIXES = frozenset({"bnd", "notrack", "repz", "repne", "rep", "lock", "data16"})
_RETURNS = frozenset({"ret", "retf", "retfq", "iret", "iretd", "iretq", "sysret", "sysexit", "sysretq"})
_STOPS = frozenset({"hlt", "ud2", "ud1", "ud0", "int3"})
_LOOPS = frozenset({"loop", "loope", "loopne", "xbegin"})
_NOP_LIKE = frozenset({"nop", "int3", "fnop"})
_SELF_MOVES = re.compile(r"^(\w+), \1$")
_ZERO_LEA = re.compile(r"^(\w+), \[(\1)(?: \+ 0| \+ \w+\*1)?\]$")


class X86(Architecture):
    """x86 in 64-bit or 32-bit mode."""

    def __init__(self, image: Image) -> None:
        super().__init__(image)
        mode = capstone.CS_MODE_64 if image.architecture == "x86_64" else capstone.CS_MODE_32
        self._decoder = capstone.Cs(capstone.CS_ARCH_X86, mode)

    def decoder(self, address: int) -> capstone.Cs:
        """The same handle for every address."""
        return self._decoder

    def matters(self, mnemonic: str) -> bool:
        """Jumps, calls, returns, stops."""
        word = mnemonic.rpartition(" ")[2]
        return word[0] == "j" or word in ("call", "lcall", "ljmp") or word in _RETURNS | _STOPS | _LOOPS

    def flow(self, mnemonic: str, operands: str) -> Flow:
        """See the base class. A software breakpoint counts as a stop: compilers emit it where nothing returns."""
        word = mnemonic.rpartition(" ")[2]
        if word == "call":
            target = immediate(operands)
            return Flow(FlowKind.INDIRECT_CALL) if target is None else Flow(FlowKind.CALL, target)
        if word == "jmp":
            target = immediate(operands)
            return Flow(FlowKind.INDIRECT_JUMP) if target is None else Flow(FlowKind.JUMP, target)
        if word in _RETURNS:
            return RETURN
        if word in _STOPS:
            return STOP
        if word[0] == "j" or word in _LOOPS:
            return Flow(FlowKind.BRANCH, immediate(operands))
        if word == "lcall":
            return Flow(FlowKind.INDIRECT_CALL)
        return Flow(FlowKind.INDIRECT_JUMP) if word == "ljmp" else NEXT

    def is_padding(self, mnemonic: str, operands: str) -> bool:
        """Nops of every length, breakpoints, and the moves and address computations that change nothing."""
        word = mnemonic.rpartition(" ")[2]
        if word in _NOP_LIKE:
            return True
        if word == "xchg":
            return bool(_SELF_MOVES.match(operands))
        return word == "lea" and bool(_ZERO_LEA.match(operands))

    def may_lack_return(self, code: bytes) -> bool:
        """A function that does not return ends in a call, a jump or a stop, or holds no return opcode."""
        if not code:
            return False
        return (
            code[-5:-4] == b"\xe8" or code[-2:] == b"\x0f\x0b" or code[-1:] == b"\xf4" or b"\xc3" not in code
        )
