"""Go's own table of functions, which its run time needs and stripping leaves: where each begins, and its name.

    header = magic, 0, 0, quantum, bytes of a word, counts and offsets (words)
    table  = (where a function begins, where its record lies), …, (where the last one ends, –)
    record = where it begins again, offset of its name, …

Source: Go, ``src/runtime/symtab.go`` (``pcHeader``, ``functab``) and ``src/debug/gosym/pclntab.go``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from typing import TYPE_CHECKING

from weft.bcsd.architectures import architecture_named
from weft.bcsd.read.image import Symbol
from weft.bcsd.read.names import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from weft.bcsd.read.image import Image, Region

#: Go 1.2, 1.16, 1.18 and 1.20 changed the table; each has a magic number of its own.
_FIRST, _APART, _RELATIVE, _LAST = 0xFFFFFFFB, 0xFFFFFFFA, 0xFFFFFFF0, 0xFFFFFFF1
_HEADERS = {
    False: re.compile(rb"[\xfb\xfa\xf0\xf1]\xff\xff\xff\0\0[\1\2\4][\4\x08]"),
    True: re.compile(rb"\xff\xff\xff[\xfb\xfa\xf0\xf1]\0\0[\1\2\4][\4\x08]"),
}
_NAME_BYTES = 1 << 16
#: Of the begin and the end of all code.
_MARKS = frozenset({"runtime.text", "runtime.etext"})
#: Breakpoints that fill space. What ends in the opcode of a short jump has one byte more: a jump by -52.
_FILLER, _SHORT_JUMP = b"\xcc", b"\xeb"
#: A table of so many functions is told from bytes that happen to look like its header, of which so many are tried.
_LEAST, _TRIED = 8, 64


def add_go_functions(image: Image) -> None:
    """Give an image the functions of Go's table: those that no symbol names, and the lengths that none says."""
    headers = (
        (region, found.start())
        for region in image.data
        for found in _HEADERS[image.big_endian].finditer(region.data)
    )
    for region, at in islice(headers, _TRIED):
        functions = _Table(image, region, at).functions()
        if len(functions) >= _LEAST:
            _merge(image, functions)
            return


def _merge(image: Image, functions: list[Symbol]) -> None:
    image.symbols = [symbol for symbol in image.symbols if symbol.name not in _MARKS]
    sizes: dict[int, int] = {}
    names: dict[int, str] = {}
    for symbol in image.symbols:
        sizes[symbol.address] = max(symbol.size, sizes.get(symbol.address, 0))
        names[symbol.address] = symbol.name
    image.symbols += [
        replace(function, name=names.get(function.address, function.name))
        for function in functions
        if not sizes.get(function.address)
    ]


@dataclass(frozen=True, slots=True)
class _Table:
    """What may be Go's table of functions.

    Args:
        image: The binary.
        region: Where its header lies.
        at: The header's offset there.
    """

    image: Image
    region: Region
    at: int

    def functions(self) -> list[Symbol]:
        """Its functions, in order; none where anything about it cannot be."""
        magic, word = self._number(0, 4), self.region.data[self.at + 7]
        if word != self.image.pointer_size:
            return []
        relative = magic in (_RELATIVE, _LAST)
        # In front of the offsets stand two counts and, where the table counts from it, the begin of the code.
        offsets = 8 + (3 if relative else 2) * word
        text = self.image.pointer(self.region.start + self.at + 8 + 2 * word) if relative else 0
        first = magic == _FIRST
        names = 0 if first else self._number(offsets, word)
        table = 8 + word if first else self._number(offsets + 4 * word, word)
        size = 4 if relative else word
        count = self._number(8, word)
        room = len(self.region.data) - self.at - table
        if (not text and relative) or text is None or (2 * count + 1) * size > room:
            return []
        numbers = [self._number(table + size * index, size) for index in range(2 * count + 1)]
        starts = [text + number for number in numbers[::2]]
        if not self._in_code(starts):
            return []
        # Records are counted from the table, but in the first form from the header.
        begin = 0 if first else table
        symbols: list[Symbol] = []
        for start, after, record in zip(starts, starts[1:], numbers[1::2], strict=False):
            name = self._name(names + self._number(begin + record + size, 4))
            if after > start and name:
                symbols.append(Symbol(name, start, self._length(start, after)))
        return symbols

    def _in_code(self, starts: Sequence[int]) -> bool:
        within = self.image.code_map.at
        return all(a <= b for a, b in pairwise(starts)) and all(
            within(start) is not None for start in starts[:-1]
        )

    def _length(self, start: int, after: int) -> int:
        """Of a function without what fills it up to the next one, where code may begin at any byte."""
        code = self.image.code_at(start, after)
        if architecture_named(self.image.architecture).step > 1:
            return after - start
        filled = code.rstrip(_FILLER)
        return min(len(filled) + filled.endswith(_SHORT_JUMP), len(code)) or after - start

    def _number(self, offset: int, size: int) -> int:
        """An unsigned integer from the header on; one past all bytes where there are none."""
        raw = self.region.data[self.at + offset : self.at + offset + size]
        if len(raw) < size:
            return len(self.region.data)
        return int.from_bytes(raw, "big" if self.image.big_endian else "little")

    def _name(self, offset: int) -> str:
        at = self.at + offset
        return printable(bytes(self.region.data[at : at + _NAME_BYTES]).partition(b"\0")[0])
