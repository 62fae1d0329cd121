"""Operand text, as capstone prints it, to slot tokens.

Numbers leave the operand and go to the constant slot; registers stay; a memory operand keeps its base, its
size and whether it is indexed. Nothing here depends on where the code was linked.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from weft.bcsd.disassemble.isa.architecture import immediate
from weft.bcsd.disassemble.jump_tables.tables_arm64 import split_operands
from weft.bcsd.disassemble.jump_tables.tables_x86 import family, parse_memory

_SIZES = {
    "byte": "m8",
    "word": "m16",
    "dword": "m32",
    "fword": "m48",
    "qword": "m64",
    "tbyte": "m80",
    "xword": "m80",
    "xmmword": "m128",
    "ymmword": "m256",
    "zmmword": "m512",
}
_DECORATION = re.compile(r" ?\{[^}]*\}")
_SEGMENT = re.compile(r"\b([fg]s):")
_FRAME = frozenset({"rsp", "rbp", "esp", "ebp"})
_ARM_FRAME = frozenset({"sp", "x29", "fp", "$sp", "$fp"})
_VECTOR = re.compile(r"^v(\d+)(\.\w+)?(\[\d+\])?$")
_SHIFTS = frozenset(
    {"lsl", "lsr", "asr", "ror", "uxtb", "uxth", "uxtw", "uxtx", "sxtb", "sxth", "sxtw", "sxtx", "msl"}
)
_CONDITIONS = frozenset(
    {"eq", "ne", "hs", "lo", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le", "al", "nv"}
)


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


def signed(value: int) -> int:
    """All-ones patterns of 32 and 64 bits as small negative numbers: the width is the register's business."""
    if value >= 1 << 63:
        return value - (1 << 64)
    if 1 << 31 <= value < 1 << 32:
        return value - (1 << 32)
    return value


def x86_parts(mnemonic: str, operands: str, address: str | None) -> Parts:
    """Take an x86 instruction apart.

    Args:
        mnemonic: As capstone prints it.
        operands: As capstone prints them.
        address: Token for the operand that is an address, None if there is none.
    """
    parts = Parts(mnemonic.removeprefix("notrack ").removeprefix("bnd "))
    if "{" in operands:
        operands = _DECORATION.sub("", operands)
    for text in operands.split(", ") if operands else ():
        if text.endswith("]"):
            parts.operands.append(_x86_memory(text, address, parts))
            continue
        number = immediate(text)
        if number is None:
            parts.operands.append(text)
        elif address is not None and "[" not in operands:
            parts.operands.append(address)
        else:
            parts.immediates.append(signed(number))
            parts.operands.append("imm")
    return parts


def _x86_memory(text: str, address: str | None, parts: Parts) -> str:
    size = _SIZES.get(text.partition(" ")[0], "m")
    memory = parse_memory(text)
    if memory is None:
        return size
    if address is not None and (memory.base == "rip" or memory.displacement >= 0x10000):
        return f"{size}{address}{'+i' if memory.scaled else ''}"
    segment = _SEGMENT.search(text)
    parts.displacement = memory.displacement
    parts.in_frame = memory.base in _FRAME and memory.scaled is None
    if memory.base is None and memory.scaled is None:
        return f"{size}{segment.group(1) if segment else ''}[]"
    base = family(memory.base or "") or memory.base or ""
    return f"{size}[{base}{'+i' if memory.scaled else ''}]"


def arm64_parts(mnemonic: str, operands: str, address: str | None) -> Parts:
    """Take an AArch64 instruction apart; ``address`` as in :func:`x86_parts`."""
    parts = Parts(mnemonic)
    texts = split_operands(operands) if operands else []
    if len(texts) == 4 and texts[3] in _CONDITIONS:
        # csel, ccmp and their family: the condition belongs to the operation.
        parts.mnemonic = f"{mnemonic}.{texts.pop()}"
    for position, text in enumerate(texts):
        if text.startswith("["):
            parts.operands.append(_bracketed(text, address, parts))
            continue
        number = immediate(text)
        if number is not None:
            if address is not None and position == len(texts) - 1:
                parts.operands.append(address)
            else:
                parts.immediates.append(signed(number))
                parts.operands.append("imm")
            continue
        vector = _VECTOR.match(text.strip("{}"))
        if vector is not None:
            if position == 0 and vector.group(2):
                parts.mnemonic += vector.group(2)
            parts.operands.append(f"v{vector.group(1)}")
            continue
        head, _, amount = text.partition(" ")
        if head in _SHIFTS:
            shift = immediate(amount) if amount else None
            if shift is not None:
                parts.immediates.append(shift)
            continue
        parts.operands.append(text)
    return parts


def _bracketed(text: str, address: str | None, parts: Parts) -> str:
    inner = [part.strip() for part in text.strip("[]!").split(",")]
    base = inner[0]
    if address is not None:
        return f"m{address}"
    offset = immediate(inner[1]) if len(inner) > 1 else 0
    if offset is None:
        return f"[{base}+i]"
    parts.displacement = offset
    parts.in_frame = base in _ARM_FRAME
    return f"[{base}]!" if text.endswith("!") else f"[{base}]"


def plain_parts(mnemonic: str, operands: str, address: str | None) -> Parts:
    """Take an ARM or MIPS instruction apart; ``address`` as in :func:`x86_parts`."""
    parts = Parts(mnemonic)
    texts = split_operands(operands) if operands else []
    for position, text in enumerate(texts):
        if text.startswith("["):
            parts.operands.append(_bracketed(text, address, parts))
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
            parts.in_frame = base in _ARM_FRAME
            parts.operands.append(f"[{base}]")
            continue
        parts.operands.append(text)
    return parts
