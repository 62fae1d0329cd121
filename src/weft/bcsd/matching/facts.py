"""What a function mentions besides its own code: constants and strings, exactly as they stand in the file.

Tokens hold neither (a constant there is a hash bucket, a string nothing at all), so the model cannot have seen
them: they are evidence of another kind than its score. Both survive ``strip``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.bcsd.architectures import architecture_named
from weft.bcsd.architectures.operands import signed
from weft.bcsd.disassemble.interface import Function, Reference, ReferenceKind
from weft.bcsd.represent.vocabulary import SMALL_IMMEDIATES

if TYPE_CHECKING:
    from weft.bcsd.read.image import Image

_SHORTEST = 4
_LONGEST = 200
_WHITESPACE = frozenset(b"\t\n\r")


def constants(function: Function, architecture: str) -> list[int]:
    """Immediates outside the small range, sorted and distinct; a constant in 16-bit pieces is whole.

    An operand that is an address is none: what lies there changes with every link.
    """
    processor = architecture_named(architecture)
    found: set[int] = set()
    pieces: dict[str, int] = {}
    for index, (_, _, mnemonic, operands) in enumerate(function.instructions):
        if index in function.references or not any(character.isdigit() for character in operands):
            continue
        if mnemonic in processor.builders and "#" in operands:
            processor.piece(mnemonic, operands, pieces)
            continue
        found.update(processor.take_apart(mnemonic, operands, None).immediates)
        found.update(pieces.values())
        pieces.clear()
    found.update(pieces.values())
    return sorted(value for value in map(signed, found) if value not in SMALL_IMMEDIATES)


def strings(function: Function, image: Image) -> list[str]:
    """Texts in read-only data that the function points to: printable ASCII, at least four characters, ended by 0."""
    found: set[str] = set()
    for reference in function.references.values():
        text = text_of(image, reference)
        if text is not None:
            found.add(text)
    return sorted(found)


def text_of(image: Image, reference: Reference) -> str | None:
    """The text in read-only data that a reference points to; None where it points to none."""
    return _text_at(image, reference.target) if reference.kind == ReferenceKind.DATA_CONSTANT else None


def _text_at(image: Image, address: int) -> str | None:
    raw, ended, _ = image.read(address, _LONGEST + 1).partition(b"\0")
    if not ended or len(raw) < _SHORTEST:
        return None
    if not all(32 <= byte < 127 or byte in _WHITESPACE for byte in raw):
        return None
    return raw.decode("ascii")
