"""AArch64 operand text to slot tokens."""

from __future__ import annotations

import re

from weft.bcsd.architectures.operands import Parts, bracketed, immediate, signed, split_operands

_VECTOR = re.compile(r"^v(\d+)(\.\w+)?(\[\d+\])?$")
_SHIFTS = frozenset(
    {"lsl", "lsr", "asr", "ror", "uxtb", "uxth", "uxtw", "uxtx", "sxtb", "sxth", "sxtw", "sxtx", "msl"}
)
_WIDTHS = {"b": 1, "h": 2, "w": 4, "s": 4, "x": 8, "d": 8, "q": 16}
_CONDITIONS = frozenset(
    {"eq", "ne", "hs", "lo", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le", "al", "nv"}
)


def arm64_parts(mnemonic: str, operands: str, address: str | None) -> Parts:
    """See ``Architecture.take_apart``."""
    parts = Parts(mnemonic)
    texts = split_operands(operands) if operands else []
    if len(texts) == 4 and texts[3] in _CONDITIONS:
        # csel, ccmp and their family: the condition belongs to the operation.
        parts.mnemonic = f"{mnemonic}.{texts.pop()}"
    for position, text in enumerate(texts):
        if text.startswith("["):
            parts.operands.append(bracketed(text, address, parts))
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


def arm64_span(mnemonic: str, operands: str) -> int:
    """See ``Architecture.spans``."""
    register, _, memory = operands.partition(", ")
    if not mnemonic.startswith(("ld", "st")) or "[" not in memory:
        return 0
    size = _WIDTHS.get(mnemonic[-1]) if mnemonic.startswith(("ldr", "str", "ldur", "stur")) else None
    if size is None:
        size = 4 if mnemonic.endswith("sw") else _WIDTHS.get(register[:1], 0)
    return 2 * size if mnemonic.startswith(("ldp", "stp")) else size
