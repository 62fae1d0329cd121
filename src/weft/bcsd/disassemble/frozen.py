"""Functions saved once and replayed: tests and reports that need no binary and no decoder.

The file is JSON: ``{"weft_functions": 1, "disassembler": name, "functions": [{…}]}``. Every field of
:class:`~weft.bcsd.disassemble.interface.Function` is there, so that tokens come out the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from weft.bcsd.disassemble.interface import (
    Block,
    Disassembler,
    Edge,
    EdgeKind,
    Flag,
    Function,
    Reference,
    ReferenceKind,
)
from weft.bcsd.read.image import Image
from weft.errors import InputError
from weft.platform.files import write_json
from weft.platform.reading import read_json

FORMAT_VERSION = 1


def to_record(function: Function) -> dict[str, Any]:
    """A function as plain JSON values."""
    return {
        "name": function.name,
        "address": function.address,
        "size": function.size,
        "instructions": [list(instruction) for instruction in function.instructions],
        "blocks": [list(block) for block in function.blocks],
        "edges": [[edge.source, edge.target, edge.kind.name.lower()] for edge in function.edges],
        "references": {
            str(index): [reference.kind.name.lower(), reference.target]
            for index, reference in sorted(function.references.items())
        },
        "flags": [str(flag) for flag in function.flags],
        "aliases": list(function.aliases),
        "imports": list(function.imports),
        "digest": function.digest,
    }


def from_record(record: dict[str, Any]) -> Function:
    """The inverse of :func:`to_record`.

    Raises:
        AttributeError, KeyError, OverflowError, TypeError, ValueError: The record is not one of ours.
    """
    function = Function(
        name=str(record["name"]),
        address=int(record["address"]),
        size=int(record["size"]),
        instructions=[(int(a), int(s), str(m), str(o)) for a, s, m, o in record["instructions"]],
        blocks=[Block(int(start), int(end)) for start, end in record["blocks"]],
        edges=[Edge(int(s), int(t), EdgeKind[str(kind).upper()]) for s, t, kind in record["edges"]],
        references={
            int(index): Reference(ReferenceKind[str(kind).upper()], int(target))
            for index, (kind, target) in record["references"].items()
        },
        flags=tuple(Flag(flag) for flag in record["flags"]),
        aliases=tuple(record["aliases"]),
        imports=tuple(record["imports"]),
        digest=str(record["digest"]),
    )
    _check(function)
    return function


def _check(function: Function) -> None:
    """Refuse numbers that name nothing of the function.

    Raises:
        ValueError: It has one.
    """
    instructions, blocks, references = len(function.instructions), len(function.blocks), function.references
    inside = {
        "blocks": all(0 <= start < end <= instructions for start, end in function.blocks),
        "edges": all(0 <= end < blocks for edge in function.edges for end in edge[:2]),
        "references": all(0 <= index < instructions for index in references),
        "jumps": all(
            0 <= to < instructions for kind, to in references.values() if kind is ReferenceKind.JUMP
        ),
        "addresses": all(0 <= at < 1 << 64 for at in (function.address, *function.callees)),
        "size": 0 <= function.size < 1 << 63,
    }
    wrong = [name for name, sound in inside.items() if not sound]
    if wrong:
        raise ValueError(f"{', '.join(wrong)} of {function.name!r} out of range")


def save_functions(functions: Iterable[Function], path: Path, disassembler: str) -> None:
    """Write functions where :class:`FrozenDisassembler` finds them."""
    document = {
        "weft_functions": FORMAT_VERSION,
        "disassembler": disassembler,
        "functions": [to_record(function) for function in functions],
    }
    write_json(path, document, indent=None, separators=(",", ":"))


class FrozenDisassembler(Disassembler):
    """Replays what another disassembler found.

    Args:
        path: A file that :func:`save_functions` wrote.

    Raises:
        InputError: It is missing or not such a file.
    """

    name = "frozen"

    def __init__(self, path: str | Path) -> None:
        document = read_json(path)
        version = document.get("weft_functions") if isinstance(document, dict) else None
        if version != FORMAT_VERSION:
            raise InputError(
                f"saved functions of version {version}",
                where=str(path),
                hint=f"this version reads {FORMAT_VERSION}",
            )
        try:
            self._functions = [from_record(record) for record in document["functions"]]
        except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
            raise InputError(f"a damaged file of saved functions: {error!r}", where=str(path)) from error

    def functions(self, image: Image | None = None) -> Iterator[Function]:
        """The saved functions; the image is not looked at."""
        yield from self._functions
