"""Operand text, as capstone prints it, to slot tokens.

Numbers leave the operand and go to the constant slot; registers stay; a memory operand keeps its base, its
size and whether it is indexed. Nothing here depends on where the code was linked.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

Raw = tuple[int, int, str, str]
"""One instruction as capstone gives it: address, bytes, mnemonic, operands."""

_SPLIT = re.compile(r", (?![^\[]*\])")
_FRAME = frozenset({"sp", "x29", "fp", "$sp", "$fp"})


@dataclass(slots=True)
class Parts:
    """One instruction, taken apart.

    Args:
        mnemonic: Without prefixes that only a protection flag adds; with condition or arrangement.
        operands: Up to three tokens.
        immediates: Every number that is an operand.
        displacement: The offset of the memory operand, if it has one.
        in_frame: Whether that offset is from the stack or frame pointer.
    """

    mnemonic: str
    operands: list[str] = field(default_factory=list)
    immediates: list[int] = field(default_factory=list)
    displacement: int | None = None
    in_frame: bool = False


def immediate(text: str) -> int | None:
    """The number that an operand consists of (``0x1f``, ``#0x1f``, ``-4``), None if it is no number."""
    try:
        return int(text.lstrip("#"), 0)
    except ValueError:
        return None


def signed(value: int) -> int:
    """All-ones patterns of 32 and 64 bits as small negative numbers: the width is the register's business."""
    if value >= 1 << 63:
        return value - (1 << 64)
    if 1 << 31 <= value < 1 << 32:
        return value - (1 << 32)
    return value


def split_operands(operands: str) -> list[str]:
    """Operands, a bracketed one kept whole."""
    return _SPLIT.split(operands)


def bracketed(text: str, address: str | None, parts: Parts) -> str:
    """ARM's memory operand ``[base, offset]``; its offset goes to ``parts``."""
    inner = [part.strip() for part in text.strip("[]!").split(",")]
    base = inner[0]
    if address is not None:
        return f"m{address}"
    offset = immediate(inner[1]) if len(inner) > 1 else 0
    if offset is None:
        return f"[{base}+i]"
    parts.displacement = offset
    parts.in_frame = base in _FRAME
    return f"[{base}]!" if text.endswith("!") else f"[{base}]"


def plain_parts(mnemonic: str, operands: str, address: str | None) -> Parts:
    """``Architecture.take_apart`` where memory operands are ``[base, offset]`` or ``offset(base)``."""
    parts = Parts(mnemonic)
    texts = split_operands(operands) if operands else []
    for position, text in enumerate(texts):
        if text.startswith("["):
            parts.operands.append(bracketed(text, address, parts))
            continue
        number = immediate(text)
        if number is not None and address is not None and position == len(texts) - 1:
            parts.operands.append(address)
            continue
        if number is not None:
            parts.immediates.append(signed(number))
            parts.operands.append("imm")
            continue
        offset, parenthesis, base = text.rstrip(")").partition("(")
        if parenthesis:
            parts.displacement = immediate(offset) or 0
            parts.in_frame = base in _FRAME
            parts.operands.append(f"[{base}]")
            continue
        parts.operands.append(text)
    return parts
