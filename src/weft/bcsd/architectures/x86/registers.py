"""Names of x86's registers and parts of its memory operands."""

from __future__ import annotations

import re
from typing import NamedTuple

from weft.bcsd.architectures.operands import immediate

_MEMORY = re.compile(r"\[(?P<inside>[^\]]*)\]")
_TERM = re.compile(r"\s*([+-])?\s*([^+\-\s]+)")

_FAMILIES: dict[str, str] = {}
for _letter in "abcd":
    for _alias in (f"r{_letter}x", f"e{_letter}x", f"{_letter}x", f"{_letter}l", f"{_letter}h"):
        _FAMILIES[_alias] = f"r{_letter}x"
for _stem in ("si", "di", "bp", "sp"):
    for _alias in (f"r{_stem}", f"e{_stem}", _stem, f"{_stem}l"):
        _FAMILIES[_alias] = f"r{_stem}"
for _number in range(8, 16):
    for _suffix in ("", "d", "w", "b"):
        _FAMILIES[f"r{_number}{_suffix}"] = f"r{_number}"


class Memory(NamedTuple):
    """``[base + scaled*scale + displacement]``; ``base`` may be ``"rip"``."""

    base: str | None
    scaled: str | None
    scale: int
    displacement: int


def family(register: str) -> str | None:
    """The 64-bit name of a general register's family (``eax`` → ``rax``), None for anything else."""
    return _FAMILIES.get(register)


def width(register: str) -> int:
    """The bits of a general register."""
    if register[0] == "e" or register[-1] == "d":
        return 32
    if register[-1] in "lhb":
        return 8
    return 64 if register[0] == "r" and register[-1] != "w" else 16


def parse_memory(operand: str) -> Memory | None:
    """The parts of a memory operand, None if it is none."""
    found = _MEMORY.search(operand)
    if found is None:
        return None
    base = index = None
    scale, displacement = 1, 0
    for sign, term in _TERM.findall(found.group("inside")):
        register, star, factor = term.partition("*")
        number = immediate(term)
        if star:
            index, scale = register, int(factor)
        elif number is not None:
            displacement += -number if sign == "-" else number
        elif base is None:
            base = register
        else:
            index = register
    return Memory(base, index, scale, displacement)
