"""Where code went that was rearranged after linking: a PDB file then tells the places that it had before.

    OMAP from source   pairs (before, after), by ``before``; what stood at a stands at
                       after(a) = to_k + a − from_k,   k the last with from_k ≤ a;   to_k = 0: it was taken out

A function that went as one piece keeps its size; how long one is whose pieces went apart, or were written anew, the
table does not say.

Source: Microsoft, DIA SDK, ``DiaAddressMapEntry``; LLVM, "The PDB DBI Stream", Optional Debug Header.
"""

from __future__ import annotations

import struct
from bisect import bisect_right

from weft.bcsd.read.debug.msf import need

_PAIR = struct.Struct("<2I")


class Moves:
    """The table of a PDB file.

    Args:
        data: Its stream.

    Raises:
        UnfitError: It is damaged.
    """

    def __init__(self, data: bytes) -> None:
        need(len(data) % _PAIR.size == 0)
        #: Where each piece begins before, and how far it goes; None where it was taken out.
        self._starts: list[int] = []
        self._steps: list[int | None] = []
        last = 0
        for before, after in _PAIR.iter_unpack(data):
            need(last <= before)
            last, step = before, after - before if after else None
            if not self._steps or step != self._steps[-1]:
                self._starts.append(before)
                self._steps.append(step)

    def __len__(self) -> int:
        return len(self._starts)

    def after(self, address: int) -> int | None:
        """Where a byte is now; None where it was taken out."""
        piece = bisect_right(self._starts, address) - 1
        step = self._steps[piece] if piece >= 0 else None
        return None if step is None else address + step

    def size_after(self, address: int, size: int) -> int:
        """The size of a function, 0 where its pieces did not stay together."""
        last = address + max(size, 1) - 1
        return size if bisect_right(self._starts, address) == bisect_right(self._starts, last) else 0
