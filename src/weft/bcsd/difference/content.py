"""What an instruction says, whatever it was linked to: the address in it becomes what lies there.

A call of an import is the import's name, a string is its text, a constant that is read is its bytes. What has no
content of its own (a function of the file, a variable) keeps its address, to be compared by what became of it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from weft.bcsd.architectures import architecture_named
from weft.bcsd.architectures.architecture import Architecture
from weft.bcsd.architectures.operands import Raw, immediate
from weft.bcsd.disassemble.interface import Function, Reference, ReferenceKind
from weft.bcsd.read.image import Image

#: Kinds whose target is a function or a place in code.
CODE = frozenset(
    {
        ReferenceKind.CALL_INTERNAL,
        ReferenceKind.TAIL_INTERNAL,
        ReferenceKind.CALL_SELF,
        ReferenceKind.CODE,
    }
)
CALLS = frozenset(
    {
        ReferenceKind.CALL_INTERNAL,
        ReferenceKind.CALL_EXTERNAL,
        ReferenceKind.CALL_SELF,
        ReferenceKind.TAIL_INTERNAL,
        ReferenceKind.TAIL_EXTERNAL,
    }
)
_EXTERNAL = frozenset({ReferenceKind.CALL_EXTERNAL, ReferenceKind.TAIL_EXTERNAL})
_IMPORTS = _EXTERNAL | {ReferenceKind.SLOT}
_LONGEST = 400
_RELATIVE = re.compile(r"\[rip [+-] (?:0x)?[0-9a-f]+")
_NUMBER = re.compile(r"#?-?(?:0x[0-9a-f]+|\b\d+\b)")
_LAST_BRACKET = re.compile(r"\[([^\[\]]*)\](!?)$")
#: Short texts are told from numbers by having no other bytes around: from so many characters on.
_SURELY_TEXT = 4


class Line(NamedTuple):
    """One instruction.

    Args:
        address: Where it stands.
        mnemonic: As capstone prints it.
        operands: As capstone prints them.
        plain: The same with ``@`` in place of an address.
        kind: Of the reference in it; -1 where there is none.
        target: What it refers to: an instruction by index for a jump inside the function, else an address.
        says: What lies there, where it has a content: ``import NAME``, ``"TEXT"``, ``= BYTES``; empty if it has none.
    """

    address: int
    mnemonic: str
    operands: str
    plain: str
    kind: int = -1
    target: int = 0
    says: str = ""


class Reader:
    """Reads the instructions of one image's functions.

    Args:
        image: Where they come from.
    """

    def __init__(self, image: Image) -> None:
        self._image = image
        self._architecture: Architecture = architecture_named(image.architecture)
        self._texts: dict[str, str] = {}

    def lines(self, function: Function) -> list[Line]:
        """The instructions of a function."""
        found: list[Line] = []
        once = self._texts
        for index, (address, _, mnemonic, operands) in enumerate(function.instructions):
            operands = once.setdefault(operands, operands)
            mnemonic = once.setdefault(mnemonic, mnemonic)
            reference = function.references.get(index)
            if reference is None:
                found.append(Line(address, mnemonic, operands, operands))
                continue
            plain = without_address(operands, reference)
            if reference.kind in _EXTERNAL:
                reference = Reference(reference.kind, self._callee(function.instructions[index]))
            found.append(
                Line(
                    address,
                    mnemonic,
                    operands,
                    once.setdefault(plain, plain),
                    int(reference.kind),
                    reference.target,
                    self._says(mnemonic, operands, reference),
                )
            )
        return found

    def _callee(self, instruction: Raw) -> int:
        """The stub or the pointer that a call of another file goes through; 0 where it does not say."""
        address, _, mnemonic, operands = instruction
        target = self._architecture.flow_at(address, mnemonic, operands).target
        return target or self._architecture.slot(instruction) or 0

    def _says(self, mnemonic: str, operands: str, reference: Reference) -> str:
        image, target = self._image, reference.target
        if reference.kind in _IMPORTS:
            name = image.stubs.get(target) or image.slots.get(target)
            return f"import {name}" if name else ""
        if reference.kind != ReferenceKind.DATA_CONSTANT or mnemonic in self._architecture.page_makers:
            return ""
        spans = self._architecture.spans(mnemonic, operands)
        if spans:
            data = image.read(target, spans)
            # Pointers in it are addresses again.
            held = any(place in image.pointers for place in range(target, target + spans))
            return f"= {data.hex()}" if len(data) == spans and not held else ""
        return self.content(target)

    def content(self, address: int) -> str:
        """The text at an address of constant data, quoted; empty where there is none."""
        raw, ended, _ = self._image.read(address, _LONGEST + 1).partition(b"\0")
        if not ended or not raw or address in self._image.pointers:
            return ""
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError:
            return ""
        if not all(character.isprintable() or character in "\t\n\r\x1b" for character in text):
            return ""
        return f'"{text}"' if len(raw) >= _SURELY_TEXT or self._image.read(address - 1, 1) == b"\0" else ""

    def named(self, address: int) -> str:
        """What an address is by its content, for what the lifter finds: an import, a text; empty if neither."""
        image = self._image
        name = image.slots.get(address) or image.stubs.get(address)
        if name:
            return f"import {name}"
        region = image.data_map.at(address)
        if region is None or region.writable:
            return ""
        return self.content(address)

    def read(self, address: int, size: int) -> str:
        """The bytes that are read at an address of constant data, in hex; empty where it is not constant."""
        image = self._image
        region = image.data_map.at(address)
        if region is None or region.writable or address in image.pointers:
            return ""
        return image.read(address, size).hex()

    def pointee(self, address: int) -> int | None:
        """The address that a pointer which the loader fills will hold; None where it is none."""
        return self._image.pointers.get(address)


def without_address(operands: str, reference: Reference) -> str:
    """Operands with ``@`` for the number that is, or helps to build, the address."""
    if "[rip" in operands:
        return _RELATIVE.sub("[@", operands)
    numbers = list(_NUMBER.finditer(operands))
    exact = [match for match in numbers if immediate(match.group()) == reference.target]
    if exact:
        return _replaced(operands, exact[-1])
    bracket = _LAST_BRACKET.search(operands)
    if bracket is not None and reference.kind >= ReferenceKind.CODE:
        inside = [match for match in numbers if bracket.start() < match.start()]
        if inside:
            return _replaced(operands, inside[-1])
        return f"{operands[: bracket.start()]}[{bracket.group(1)}, @]{bracket.group(2)}"
    return _replaced(operands, numbers[-1]) if numbers else operands


def _replaced(text: str, match: re.Match[str]) -> str:
    return f"{text[: match.start()]}@{text[match.end() :]}"
