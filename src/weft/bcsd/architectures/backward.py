"""Walking a function against the flow, to find where a value came from."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from weft.bcsd.architectures.operands import Raw

#: Jumps taken backwards over, per walk: beyond that the origin is not worth the search.
_HOPS = 32

Value = TypeVar("Value")


class Backward:
    """One function, seen from its end.

    Args:
        instructions: The function's, in address order.
        addresses: Their addresses.
        ends: Indices after which control does not go on to the next instruction.
        sources: Target index → indices of the direct jumps to it.
        bounds: First address and first address after the function.
        taken: Addresses of data or code that its instructions compute, unsorted.
    """

    def __init__(
        self,
        instructions: list[Raw],
        addresses: list[int],
        ends: set[int],
        sources: dict[int, list[int]],
        bounds: tuple[int, int],
        taken: list[int],
    ) -> None:
        self._instructions = instructions
        self._addresses = addresses
        self._ends = ends
        self._sources = sources
        self._start, self._end = bounds
        self._taken = sorted(set(taken))
        self._known: dict[Callable[..., Any], Any] = {}

    def once(self, work: Callable[[Sequence[Raw]], Value]) -> Value:
        """What comes of all instructions of the function, worked out once for all jumps that ask for it."""
        if work not in self._known:
            self._known[work] = work(self._instructions)
        return self._known[work]

    def walk(self, index: int, limit: int) -> Iterator[int]:
        """Indices before ``index``, nearest first.

        Where the instruction before cannot fall through, the walk goes on at the nearest jump that leads
        here, or, where none is known, at the instruction before all the same: a block that only an
        unresolved jump reaches still sees what was set up above it. It follows one path, not all: enough
        for the code in front of a jump table, whose entries are checked in any case.
        """
        hops = 0
        seen: set[int] = set()
        for _ in range(limit):
            previous = index - 1
            if previous < 0 or previous in self._ends:
                origins = [origin for origin in self._sources.get(index, ()) if origin not in seen]
                if previous < 0 or hops == _HOPS:
                    return
                hops += 1
                if origins:
                    previous = min(origins, key=lambda origin: (abs(origin - index), origin))
            if previous in seen:
                return
            seen.add(previous)
            yield previous
            index = previous

    def reaching(self, index: int, stops: Callable[[int], bool], limit: int) -> list[int]:
        """The instructions at which all known paths to ``index`` stop when followed back; none where they are too long.

        Args:
            index: Where the paths end.
            stops: Whether a path is followed no further than an instruction.
            limit: Of instructions on all of them.
        """
        seen: set[int] = set()
        waiting, found = [index], list[int]()
        while waiting:
            index = waiting.pop()
            fallen = () if index == 0 or index - 1 in self._ends else (index - 1,)
            for previous in (*fallen, *self._sources.get(index, ())):
                if previous in seen:
                    continue
                seen.add(previous)
                (found if stops(previous) else waiting).append(previous)
            if len(seen) > limit:
                return []
        return found

    def inside(self, address: int) -> bool:
        """Whether the address lies in the function."""
        return self._start <= address < self._end

    def starts_instruction(self, address: int) -> bool:
        """Whether the address is that of an instruction of the function."""
        position = bisect_left(self._addresses, address)
        return position < len(self._addresses) and self._addresses[position] == address

    def addresses_taken(self) -> list[int]:
        """Every address that the function computes, sorted."""
        return self._taken

    def next_address_taken(self, address: int) -> int | None:
        """The next higher address that the function computes: a table does not run over another one."""
        position = bisect_right(self._taken, address)
        return self._taken[position] if position < len(self._taken) else None
