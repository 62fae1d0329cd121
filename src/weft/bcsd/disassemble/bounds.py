"""Where functions begin and end: symbols first, then unwind tables, then what calls reach.

Symbols and unwind ranges are facts. An address that only a call or a pointer names is a lead: it counts where
no known function covers it, and its end is found by decoding.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right, insort
from dataclasses import dataclass

from weft.bcsd.read.image import Image

_PART_NAME = re.compile(r"\.(cold|part)(\.\d+)?$")


@dataclass(frozen=True, slots=True)
class Bounds:
    """One candidate.

    Args:
        start: Its first address.
        end: The first address after it; equal to ``start`` where it is still to be found.
        names: The plainest first.
        part: Whether it is a split-off piece of a function.
        label: Whether a label alone names it, no symbol of a function.
    """

    start: int
    end: int
    names: tuple[str, ...] = ()
    part: bool = False
    label: bool = False


def sub_name(address: int) -> str:
    """The name of a function that has none."""
    return f"sub_{address:x}"


def known_bounds(image: Image) -> list[Bounds]:
    """Every function that symbols or unwind tables name, sorted by address.

    Symbols of one address are one function with several names. A symbol of size 0 takes the unwind range
    that starts with it, and so does one whose size leads out of its section, or beyond that range to where another
    symbol's function begins: that is no size. Other unwind ranges inside a sized symbol belong to it.
    """
    names: dict[int, dict[str, bool]] = {}
    sizes: dict[int, int] = {}
    for symbol in image.symbols:
        if image.in_stubs(symbol.address):
            continue
        own = names.setdefault(symbol.address, {})
        own[symbol.name] = own.get(symbol.name, False) or symbol.typed
        region = image.code_map.at(symbol.address)
        inside = region is not None and symbol.address + symbol.size <= region.end
        sizes[symbol.address] = max(sizes.get(symbol.address, 0), symbol.size if inside else 0)
    _shorten(sizes, {start for start, own in names.items() if any(own.values())}, image)
    parts: set[int] = set()
    covered = _Cover([(start, start + size) for start, size in sizes.items() if size])
    for found in image.unwind:
        size = found.end - found.start
        if found.start in sizes:
            sizes[found.start] = sizes[found.start] or size
        elif not covered.holds(found.start):
            sizes[found.start] = max(size, sizes.get(found.start, 0))
        if found.part and found.start in sizes:
            parts.add(found.start)
    bounds: list[Bounds] = []
    for start, size in sorted(sizes.items()):
        region = image.code_map.at(start)
        if region is None:
            continue
        typed = names.get(start, {})
        # What the table calls a function has that name, not a label's.
        own = tuple(sorted(filter(None, typed), key=lambda name: (not typed[name], *_name_rank(name))))
        named_part = bool(own) and all(_PART_NAME.search(name) for name in own)
        part = named_part or (not own and start in parts)
        label = bool(typed) and not any(typed.values())
        bounds.append(Bounds(start, min(start + size, region.end), own, part, label))
    return bounds


def _shorten(sizes: dict[int, int], functions: set[int], image: Image) -> None:
    """Give a symbol the size of its unwind range where its own would swallow a function behind that range.

    A function may have several unwind ranges, and a second entry within the first: neither is a reason.
    """
    ends: dict[int, int] = {}
    for found in image.unwind:
        ends[found.start] = max(found.end, ends.get(found.start, 0))
    starts = sorted(functions)
    for start, size in sizes.items():
        end = ends.get(start, start)
        if start < end < start + size:
            behind = bisect_left(starts, end)
            if behind < len(starts) and starts[behind] < start + size:
                sizes[start] = end - start


def _name_rank(name: str) -> tuple[int, int, str]:
    """The plainest name first: without leading underscores, short, then alphabetical."""
    return (len(name) - len(name.lstrip("_")), len(name), name)


class _Cover:
    """Intervals, possibly overlapping, that answer whether one of them holds an address."""

    def __init__(self, intervals: list[tuple[int, int]]) -> None:
        self.starts: list[int] = []
        self.ends: list[int] = []
        for start, end in sorted(intervals):
            if self.ends and start <= self.ends[-1]:
                self.ends[-1] = max(self.ends[-1], end)
            else:
                self.starts.append(start)
                self.ends.append(end)

    def holds(self, address: int) -> bool:
        position = bisect_right(self.starts, address) - 1
        return position >= 0 and address < self.ends[position]


class Frontier:
    """The code that no known function covers, and the leads into it.

    Args:
        image: The binary.
        known: Bounds with a known end.
    """

    def __init__(self, image: Image, known: list[Bounds]) -> None:
        self._image = image
        self._cover = _Cover([(b.start, b.end) for b in known if b.end > b.start])
        self._starts = sorted({b.start for b in known})
        self._leads: list[int] = []
        self._met: set[int] = set()
        #: Whether functions also end where one that was found begins: leads come in no order of trust any more.
        self.cautious = False

    def add(self, address: int) -> None:
        """Take an address as a lead, unless it lies in a known function, in stubs, or outside of code."""
        if address in self._met:
            return
        self._met.add(address)
        if self._image.code_map.at(address) is None or self._image.in_stubs(address):
            return
        if not self._cover.holds(address):
            insort(self._leads, address)

    def covers(self, address: int) -> bool:
        """Whether an address lies in a function that is known or was found."""
        return self._cover.holds(address)

    def take(self) -> int | None:
        """The lowest open lead that is still uncovered."""
        while self._leads:
            address = self._leads.pop(0)
            if not self._cover.holds(address):
                return address
        return None

    def limit(self, start: int) -> int:
        """How far a function at ``start`` may reach: the next known start or lead, or the region's end."""
        region = self._image.code_map.at(start)
        end = region.end if region is not None else start
        for addresses in (self._starts, self._leads, self._cover.starts if self.cautious else []):
            position = bisect_right(addresses, start)
            if position < len(addresses):
                end = min(end, addresses[position])
        return end

    def gaps(self) -> list[tuple[int, int]]:
        """Stretches of code that nothing covers, import stubs left out, in order."""
        covers = _Cover([*zip(self._cover.starts, self._cover.ends, strict=True), *self._image.stub_ranges])
        found: list[tuple[int, int]] = []
        for region in self._image.code_map.regions:
            reached = region.start
            place = bisect_right(covers.ends, region.start)
            while place < len(covers.starts) and covers.starts[place] < region.end:
                found.append((reached, covers.starts[place]))
                reached = covers.ends[place]
                place += 1
            found.append((reached, region.end))
        return [(start, end) for start, end in found if end > start]

    def close(self, start: int, end: int) -> None:
        """Count ``[start, end)`` as covered from now on."""
        position = bisect_left(self._cover.starts, start)
        self._cover.starts.insert(position, start)
        self._cover.ends.insert(position, end)
