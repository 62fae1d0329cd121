"""x86 operand text to slot tokens."""

from __future__ import annotations

import re

from weft.bcsd.architectures.operands import Parts, immediate, signed
from weft.bcsd.architectures.x86.registers import family, parse_memory, width

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
_SPAN = re.compile(rf"\b({'|'.join(_SIZES)}) ptr \[")
_WORD = re.compile(r"\*[1248]|\b[a-z][a-z0-9]*")
_SEGMENT = re.compile(r"\b([fg]s):")
_FRAME = frozenset({"rsp", "rbp", "esp", "ebp"})


def x86_parts(mnemonic: str, operands: str, address: str | None) -> Parts:
    """See ``Architecture.take_apart``."""
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


def x86_shape(operands: str) -> tuple[str, ...]:
    """See ``Architecture.shape``: widths of general registers and memory, kinds of others, scales of indices."""
    found: list[str] = []
    for word in _WORD.findall(operands):
        if word.startswith("*"):
            found += [word] if word != "*1" else []
        elif word in _SIZES:
            found.append(_SIZES[word])
        elif family(word) is not None:
            found.append(str(width(word)))
        elif word != "ptr":
            found.append(word.rstrip("0123456789"))
    return tuple(found)


def x86_span(operands: str) -> int:
    """See ``Architecture.spans``."""
    size = _SPAN.search(operands)
    return int(_SIZES[size.group(1)][1:]) // 8 if size else 0


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
