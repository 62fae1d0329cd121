"""The container of a PDB file: numbered streams, each in blocks anywhere in the file (MSF 7.0).

    file             block · block · …                         blocks of one size; the first begins with the superblock
    superblock       mark, size of a block, map of free blocks, blocks, bytes of the directory, 0, block that lists
                     the directory's blocks
    directory        number of streams · their sizes · the blocks of each          32-bit words

Source: LLVM, "The PDB File Format", "The MSF File Format".
"""

from __future__ import annotations

import struct

import numpy as np

from weft.bcsd.read.debug.look import UnfitError

_MARK = b"Microsoft C/C++ MSF 7.00\r\n\x1aDS\0\0\0"
#: What else a file of this name begins with.
_OTHERS = (
    (b"Microsoft MSFZ", "is a compressed PDB (MSFZ), which is not read"),
    (b"Microsoft C/C++ program database 2.00", "is a PDB of the old form (2.0), which is not read"),
    (b"BSJB", "is a portable PDB of .NET, which holds no names of machine code"),
)
_BLOCK_SIZES = tuple(512 << shift for shift in range(7))
#: The size of a stream that was deleted.
_GONE = 0xFFFFFFFF

DAMAGED = "is damaged"


class Streams:
    """The streams of an MSF file.

    All that is read of it together is at most as long as the file: blocks that several streams share are a sign of
    damage.

    Args:
        content: The file.

    Raises:
        UnfitError: It is no MSF file of this form, or damaged.
    """

    def __init__(self, content: memoryview) -> None:
        for mark, what in _OTHERS:
            if content[: len(mark)] == mark:
                raise UnfitError(what)
        if content[: len(_MARK)] != _MARK:
            raise UnfitError("is no PDB")
        head = len(_MARK) + 24
        need(len(content) >= head)
        size, _, blocks, directory, _, listed = struct.unpack_from("<6I", content, len(_MARK))
        need(size in _BLOCK_SIZES)
        if blocks * size > len(content):
            raise UnfitError(f"is cut short (of {blocks * size} bytes {len(content)} are there)")
        self._content, self._size, self._blocks = content, size, blocks
        self._left = len(content)
        count = -(-directory // size)
        need(directory >= 4 and 4 * count <= size and listed < blocks)
        numbers = np.frombuffer(content, "<u4", count, listed * size)
        words = np.frombuffer(self._joined(numbers, directory & ~3), "<u4")
        streams = int(words[0])
        need(streams < len(words))
        self._sizes = words[1 : 1 + streams].astype(np.int64)
        self._sizes[self._sizes == _GONE] = 0
        counts = -(-self._sizes // size)
        self._firsts = 1 + streams + np.cumsum(counts) - counts
        need(not streams or self._firsts[-1] + counts[-1] <= len(words))
        self._words = words

    def read(self, number: int, length: int | None = None) -> bytes:
        """A stream, or its first ``length`` bytes.

        Raises:
            UnfitError: There is no such stream, or it is damaged or shorter.
        """
        need(number < len(self._sizes))
        size = int(self._sizes[number])
        need(length is None or length <= size)
        wanted = size if length is None else length
        first = int(self._firsts[number])
        return self._joined(self._words[first : first + -(-wanted // self._size)], wanted)

    def _joined(self, numbers: np.ndarray, length: int) -> bytes:
        self._left -= length
        need(self._left >= 0 and not (numbers >= self._blocks).any())
        starts = (numbers.astype(np.int64) * self._size).tolist()
        return b"".join(self._content[start : start + self._size] for start in starts)[:length]


def need(holds: bool | np.bool_) -> None:
    """Raise that a file is damaged unless something holds.

    Raises:
        UnfitError: It does not hold.
    """
    if not holds:
        raise UnfitError(DAMAGED)
