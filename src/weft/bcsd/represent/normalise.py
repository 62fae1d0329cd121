"""Instructions to rows of slots: mnemonic, three operands, one constant.

One position per instruction. Addresses never appear: a jump inside the function is the target's position, a
call is internal or external, a data address is what kind of memory it points to. Symbol names, string
contents and file names are not read here at all, so they cannot leak into a token.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

from weft.bcsd.architectures import architecture_named
from weft.bcsd.architectures.operands import Parts
from weft.bcsd.disassemble.interface import Function, Reference, ReferenceKind
from weft.bcsd.represent.vocabulary import load_vocabulary

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Raised whenever the same function would give other tokens.
NORMALISER_VERSION = 1
#: What each column of a row holds.
SLOTS = ("mnemonic", "operand_1", "operand_2", "operand_3", "constant")

Row = tuple[int, int, int, int, int]

_CACHE_ENTRIES = 1 << 18
_TRANSFERS = {
    ReferenceKind.CALL_INTERNAL: "call:internal",
    ReferenceKind.CALL_EXTERNAL: "call:external",
    ReferenceKind.CALL_SELF: "call:self",
    ReferenceKind.TAIL_INTERNAL: "tail:internal",
    ReferenceKind.TAIL_EXTERNAL: "tail:external",
}
_ADDRESSES = {
    ReferenceKind.CODE: "@code",
    ReferenceKind.DATA_CONSTANT: "@const",
    ReferenceKind.DATA_WRITABLE: "@data",
    ReferenceKind.SLOT: "@slot",
    ReferenceKind.UNMAPPED: "@data",
}


class Normaliser:
    """Turns functions of one architecture into token rows.

    Args:
        architecture: Decides how operand text is read.
    """

    def __init__(self, architecture: str) -> None:
        self.vocabulary = load_vocabulary()
        self._architecture = architecture_named(architecture)
        self._take_apart = self._architecture.take_apart
        self._none = self.vocabulary.ids["none"]
        self._far = self.vocabulary.ids["to:far"]
        self._rows: dict[tuple[str, str], Row] = {}
        self._transfers: dict[tuple[str, ReferenceKind], Row] = {}

    def tokens(self, function: Function) -> NDArray[np.uint16]:
        """The rows of a function.

        Args:
            function: From any disassembler.

        Returns:
            ``(instructions, 5)``, one column per entry of :data:`SLOTS`.
        """
        rows: list[Row] = []
        references = function.references
        cached = self._rows
        pieces: dict[str, int] = {}
        builders = self._architecture.builders
        for index, (_, _, mnemonic, operands) in enumerate(function.instructions):
            reference = references.get(index)
            if reference is not None:
                rows.append(self._referring(index, mnemonic, operands, reference))
                continue
            if mnemonic in builders and "#" in operands:
                rows.append(self._piece(mnemonic, operands, pieces))
                continue
            key = (mnemonic, operands)
            row = cached.get(key)
            if row is None:
                row = self._row(self._take_apart(mnemonic, operands, None))
                if len(cached) >= _CACHE_ENTRIES:
                    cached.clear()
                cached[key] = row
            rows.append(row)
        return np.array(rows, dtype=np.uint16).reshape(-1, len(SLOTS))

    def _row(self, parts: Parts) -> Row:
        vocabulary = self.vocabulary
        slots = [vocabulary.operand(text) for text in parts.operands[:3]]
        slots += [self._none] * (3 - len(slots))
        return vocabulary.mnemonic(parts.mnemonic), slots[0], slots[1], slots[2], self._constant(parts)

    def _constant(self, parts: Parts) -> int:
        """One constant per row: the immediate where there is one, else the displacement."""
        vocabulary = self.vocabulary
        if len(parts.immediates) == 1:
            return vocabulary.immediate(parts.immediates[0])
        if parts.immediates:
            # A bit field has two: together they are one exact value, outside of the small range.
            first, second = parts.immediates[:2]
            return vocabulary.immediate((first << 16 | second & 0xFFFF) + (1 << 40))
        if parts.displacement is None:
            return self._none
        if parts.in_frame:
            return vocabulary.stack_offset(parts.displacement)
        return vocabulary.displacement(parts.displacement)

    def _referring(self, index: int, mnemonic: str, operands: str, reference: Reference) -> Row:
        """An instruction with an address in it."""
        kind = reference.kind
        if kind == ReferenceKind.JUMP or kind in _TRANSFERS:
            # Nearly all of them have the target as their only operand: one row per mnemonic serves them.
            alone = ", " not in operands
            row = self._transfers.get((mnemonic, kind)) if alone else None
            if row is None:
                row = self._transfer(mnemonic, operands, kind)
                if alone:
                    self._transfers[mnemonic, kind] = row
            return row if kind != ReferenceKind.JUMP else self._aimed(row, index, reference.target)
        token = "@page" if mnemonic in self._architecture.page_makers else _ADDRESSES[kind]
        return self._row(self._take_apart(mnemonic, operands, token))

    def _transfer(self, mnemonic: str, operands: str, kind: ReferenceKind) -> Row:
        token = _TRANSFERS.get(kind, "to:far")
        parts = self._take_apart(mnemonic, operands, token)
        if "[" in operands:
            parts.operands = [token]
            parts.displacement = None
        return self._row(parts)

    def _aimed(self, row: Row, index: int, target: int) -> Row:
        """The row of a jump, its open target filled in; a tested bit keeps the constant slot."""
        position = self.vocabulary.jump(target)
        first, second, third = (position if slot == self._far else slot for slot in row[1:4])
        constant = self.vocabulary.distance(target - index) if row[4] == self._none else row[4]
        return row[0], first, second, third, constant

    def _piece(self, mnemonic: str, operands: str, pieces: dict[str, int]) -> Row:
        """A wide constant is built in pieces: the last piece's row carries the whole value."""
        parts = self._take_apart(mnemonic, operands, None)
        whole = self._architecture.piece(mnemonic, operands, pieces)
        if whole is not None:
            parts.immediates = [whole]
        return self._row(parts)


def token_digest(tokens: NDArray[np.uint16]) -> str:
    """A hash of the rows: equal for functions that are the same up to where they were linked."""
    return hashlib.sha256(np.ascontiguousarray(tokens, dtype="<u2").tobytes()).hexdigest()
