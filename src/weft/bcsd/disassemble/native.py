"""The default disassembler: capstone for decoding, everything else here.

Function by function: decode from start to end, cut into blocks, resolve jump tables. Calls into code that no table
covers lead to further functions.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left, insort
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from weft.bcsd.architectures import architecture_named
from weft.bcsd.architectures.architecture import TERMINAL, FlowKind
from weft.bcsd.architectures.operands import Raw
from weft.bcsd.disassemble.bounds import Bounds, Frontier, known_bounds, sub_name
from weft.bcsd.disassemble.cfg import NO_RETURN_NAMES, Graph, Surroundings, build_graph
from weft.bcsd.disassemble.extent import ENTRY_BYTES, FUNCTION_BYTES, Extent, Surveyor
from weft.bcsd.disassemble.gaps import (
    SEARCHED_BELOW,
    WORD,
    Growth,
    behind_data,
    called_by,
    called_from_gaps,
    code_taken,
    decode_around,
    next_lead,
    pointed_to,
    taken_leads,
)
from weft.bcsd.disassemble.interface import Disassembler, Flag, Function, ReferenceKind
from weft.bcsd.disassemble.labels import without_inner
from weft.bcsd.read.image import Image
from weft.errors import LimitError

#: Raised whenever the same file would give other functions, blocks or edges.
EXTRACTOR_VERSION = 19
#: Instructions of one function beyond which it is cut and flagged.
FUNCTION_INSTRUCTIONS = 1 << 18
#: Bytes decoded, as a multiple of the file's code: overlapping symbols can otherwise make work quadratic.
DECODE_FACTOR, _DECODE_FLOOR = 4, 1 << 22
#: Undecodable stretches skipped in one function before the rest of it is given up.
_RESUMES = 64
#: What a function whose end is a guess says about other functions.
_LEADS = (ReferenceKind.CALL_INTERNAL, ReferenceKind.CODE)
_UNKNOWN_WAYS = (
    *(FlowKind.RETURN, FlowKind.RETURN_IF),
    *(FlowKind.INDIRECT_JUMP, FlowKind.INDIRECT_JUMP_IF),
)


class Decoded(NamedTuple):
    """A stretch of code: instructions, indices after which data follows, the bytes, whether some are neither."""

    instructions: list[Raw]
    gaps: set[int]
    code: bytes
    damaged: bool


class NativeDisassembler(Disassembler):
    """lief and capstone, with nothing else installed.

    Unlike a linear sweep it takes bounds from tables; unlike recursive descent it keeps code that no jump reaches.
    """

    name = "native"

    def functions(self, image: Image) -> Iterator[Function]:
        """See the base class.

        Raises:
            LimitError: Overlapping symbols would have the same bytes decoded many times over.
        """
        yield from _Run(image).functions()


class _Run:
    def __init__(self, image: Image) -> None:
        self.image = image
        self.architecture = architecture_named(image.architecture)
        self.around = Surroundings(image, self.architecture)
        self.budget = DECODE_FACTOR * image.code_size + _DECODE_FLOOR
        self.surveyor = Surveyor(self.around)
        #: Constants among the code, and the starts of functions, both as they are met.
        self.pools: set[int] = set()
        self.starts: list[int] = []
        self.searching = False
        #: Addresses of code that functions take; None where all functions are known but a few.
        self.taken: set[int] | None = None

    def functions(self) -> Iterator[Function]:
        known = without_inner(known_bounds(self.image), self.surveyor)
        sized = [bounds for bounds in known if bounds.end > bounds.start]
        frontier = Frontier(self.image, known)
        open_ended = {bounds.start: bounds for bounds in known if bounds.end <= bounds.start}
        guessed = [
            replace(b, end=self.explore(b.start, frontier.limit(b.start))) for b in open_ended.values()
        ]
        self.find_no_return(sized + guessed)
        gapped = self.architecture.lacks_unwinding and self.has_gaps(
            frontier, sum(bounds.end - bounds.start for bounds in guessed)
        )
        # A pointer may be to a function, or to a case of a switch: where there is no table of functions to tell,
        # it has to wait.
        mask = ~self.architecture.mode_bit
        doubtful = {pointer & mask for pointer in self.image.pointers.values()} if gapped else set[int]()
        for address in (*open_ended, *(entry for entry in self.image.entries if entry not in doubtful)):
            frontier.add(address)
        if not gapped and self.has_gaps(frontier):
            self.taken = set()
        # Known functions go out as they are decoded; what their calls discover is small and comes sorted
        # into the rest at the end, so that nothing has to be held back.
        for bounds in sized:
            function, outgoing = self.function(bounds, discovered=False)
            for target in outgoing:
                frontier.add(target)
            if function is not None:
                yield function
        if not gapped:
            yield from self.drain(frontier, open_ended)
            while self.taken:
                leads = taken_leads(self.image, self.architecture, frontier, self.taken)
                self.taken = set()
                for address in leads:
                    frontier.add(address)
                yield from self.drain(frontier, open_ended)
            return
        # Where most ends are guesses, a jump out of a function more often leads back into it than to another one.
        self.around.guesses = True
        found = self.searched(frontier, open_ended)
        # What is called is a function, and what never returns ends its callers: both are known only now.
        self.find_no_return([Bounds(f.address, f.address + f.size) for f in found.values()])
        again = Frontier(self.image, known)
        entries = (entry for entry in self.image.entries if entry not in doubtful)
        for address in (*open_ended, *entries, *called_by(found.values())):
            again.add(address)
        self.budget += DECODE_FACTOR * self.image.code_size
        self.starts = [start for start in self.starts if start not in found]
        yield from self.searched(again, open_ended).values()

    def searched(self, frontier: Frontier, open_ended: dict[int, Bounds]) -> dict[int, Function]:
        """The functions at all leads, and those in what nothing leads to."""
        found = {function.address: function for function in self.drain(frontier, open_ended)}
        # What was found so once is looked for again, however much else is known by then.
        self.searching = self.searching or self.has_gaps(frontier)
        if self.searching:
            self.search_gaps(frontier, open_ended, found)
        return found

    def has_gaps(self, frontier: Frontier, guessed: int = 0) -> bool:
        """Whether much of the code is in no function; ``guessed`` bytes are, of those that are not covered yet."""
        stubs = sum(end - start for start, end in self.image.stub_ranges)
        outside = sum(end - start for start, end in frontier.gaps()) - guessed
        return outside > (1 - SEARCHED_BELOW) * max(self.image.code_size - stubs, 1)

    def drain(self, frontier: Frontier, open_ended: dict[int, Bounds]) -> Iterator[Function]:
        """The functions at all leads, and at the leads that they give."""
        while (start := frontier.take()) is not None:
            if self.architecture.mode_bit and start % WORD:
                # Instructions of A32 stand where words stand.
                self.image.thumb.add(start)
            found = open_ended.get(start, Bounds(start, start))
            end = self.explore(start, frontier.limit(start))
            frontier.close(start, max(end, start + self.architecture.step))
            bounds = Bounds(start, end, found.names, found.part)
            function, outgoing = self.function(bounds, discovered=start not in open_ended)
            if not self.surveyor.trusts_jumps:
                references = function.references.values() if function is not None else ()
                outgoing = {r.target for r in references if r.kind in _LEADS}
            for target in outgoing:
                frontier.add(target)
            if function is not None:
                yield function

    def search_gaps(
        self, frontier: Frontier, open_ended: dict[int, Bounds], found: dict[int, Function]
    ) -> None:
        """Add the functions in what nothing known leads to: see :mod:`weft.bcsd.disassemble.gaps`."""
        leads = (
            lambda: called_from_gaps(self.image, self.architecture, frontier),
            lambda: [
                p
                for p in pointed_to(self.image, self.architecture)
                if self.surveyor.enters(p, p + ENTRY_BYTES)
            ],
        )
        for look in leads:
            for target in look():
                frontier.add(target)
            found.update((function.address, function) for function in self.drain(frontier, open_ended))
        for start, end in frontier.gaps():
            self.search_gap(start, end, frontier, open_ended, found)

    def search_gap(
        self,
        start: int,
        end: int,
        frontier: Frontier,
        open_ended: dict[int, Bounds],
        found: dict[int, Function],
    ) -> None:
        """One gap, from the end of the function in front of it: each piece of code is a part of it, or a new one."""
        before = bisect_left(self.starts, start)
        owner = found.get(self.starts[before - 1]) if before else None
        # What stands behind a function is likely in its mode; that of A32 shows where it is not.
        front = mode = before > 0 and self.starts[before - 1] in self.image.thumb
        reached, growth = start, Growth()
        while True:
            lead, mode = next_lead(self.image, self.architecture, reached, end, mode, front, self.pools)
            if lead is None:
                break
            if mode:
                self.image.thumb.add(lead)
            extent = self.surveyor.survey(lead, min(end, frontier.limit(lead)))
            reached = max(extent.end, lead + self.architecture.step)
            if owner is not None and self.continues(owner, growth.end, lead, extent):
                frontier.close(lead, reached)
                if growth.to(reached, owner.address):
                    owner = self.grown(owner, growth, found)
                continue
            self.grown(owner, growth, found)
            frontier.add(lead)
            found.update((function.address, function) for function in self.drain(frontier, open_ended))
            if lead in found:
                owner, growth = found[lead], Growth()
            elif owner is not None:
                owner = found[owner.address]
        self.grown(owner, growth, found)

    def grown(self, owner: Function | None, growth: Growth, found: dict[int, Function]) -> Function | None:
        """A function made anew with what it grew by since it was made."""
        if owner is None or growth.end == growth.made:
            return owner
        growth.made = growth.end
        anew, _ = self.function(Bounds(owner.address, growth.end), discovered=True)
        if anew is not None:
            found[owner.address] = owner = anew
        return owner

    def continues(self, owner: Function, grown_to: int, lead: int, extent: Extent) -> bool:
        """Whether code behind a function is a part of it: it jumps into it, or the function has a switch.

        A function's own code may stand behind its return: the cases of a switch whose table was not found. What
        begins as functions do is one all the same.
        """
        end = max(owner.address + owner.size, grown_to)
        if any(owner.address < target < end for target in extent.targets) or self.surveyor.is_end(
            lead, extent.end
        ):
            return True
        return Flag.CFG_INCOMPLETE in owner.flags and not self.surveyor.enters(lead, extent.end)

    def decode(self, start: int, end: int) -> Decoded:
        """Decode ``[start, end)``."""
        code = self.image.code_at(start, end)
        self.budget -= len(code)
        if self.budget < 0:
            raise LimitError(
                f"more than {DECODE_FACTOR} times the file's code to decode: its symbols overlap",
                where=self.image.path,
            )
        decoder = self.architecture.decoder(self.image, start)
        instructions = list(decoder.disasm_lite(code, start, FUNCTION_INSTRUCTIONS))
        gaps: set[int] = set()
        reached = instructions[-1][0] + instructions[-1][1] if instructions else start
        for _ in range(_RESUMES):
            if reached >= start + len(code) or len(instructions) >= FUNCTION_INSTRUCTIONS:
                break
            if instructions:
                gaps.add(len(instructions) - 1)
            reached = behind_data(decoder, self.architecture.step, code, start, reached)
            room = FUNCTION_INSTRUCTIONS - len(instructions)
            more = list(decoder.disasm_lite(code[reached - start :], reached, room))
            instructions += more
            if more:
                reached = more[-1][0] + more[-1][1]
        full = len(instructions) >= FUNCTION_INSTRUCTIONS
        if full:
            code = code[: reached - start]
        rest = code[instructions[-1][0] + instructions[-1][1] - start :] if instructions else code
        damaged = (bool(gaps) or reached < start + len(code)) and not self.architecture.is_trailer(rest)
        constants = self.architecture.literals(self.image, start, instructions)
        if constants:
            within = start, start + len(code)
            instructions, gaps, damaged = decode_around(
                self.image, self.architecture, constants, *within, FUNCTION_INSTRUCTIONS
            )
        self.pools |= constants
        return Decoded(instructions, gaps, code, damaged)

    def function(self, bounds: Bounds, *, discovered: bool) -> tuple[Function | None, set[int]]:
        end = min(bounds.end, bounds.start + FUNCTION_BYTES)
        instructions, gaps, code, damaged = self.decode(bounds.start, end)
        if not instructions or instructions[0][0] != bounds.start:
            return None, set()
        insort(self.starts, bounds.start)
        end = bounds.start + len(code)
        graph = build_graph(instructions, gaps, bounds.start, end, self.around)
        if self.taken is not None:
            self.taken |= code_taken(graph.instructions, graph.references)
        holds = {
            Flag.UNDECODED: damaged,
            Flag.TRUNCATED: end < bounds.end,
            Flag.PART: bounds.part,
            Flag.DISCOVERED: discovered,
            Flag.NO_RETURN: bounds.start in self.around.no_return,
        }
        flags = {*graph.flags, *(flag for flag, true in holds.items() if true)}
        return _function(bounds, graph, flags, code), graph.outgoing

    def explore(self, start: int, limit: int) -> int:
        """The end of a function of which only the start is known."""
        return self.surveyor.survey(start, limit).end

    def find_no_return(self, known: list[Bounds]) -> None:
        """Functions that never return: no return, no way out but to others of their kind.

        Only functions whose bytes allow it are decoded for this. The greatest set that fits is taken, by
        removing members until nothing changes.
        """
        exits: dict[int, set[int]] = {}
        for bounds in known:
            if bounds.end - bounds.start > FUNCTION_BYTES:
                continue
            code = self.image.code_at(bounds.start, bounds.end)
            if not self.architecture.may_lack_return(code):
                continue
            way_out = self.ways_out(bounds)
            if way_out is not None:
                exits[bounds.start] = way_out
        candidates = set(exits)
        changed = True
        while changed:
            returning = {
                start
                for start in candidates
                if any(
                    target not in candidates and self.image.stubs.get(target) not in NO_RETURN_NAMES
                    for target in exits[start]
                )
            }
            candidates -= returning
            changed = bool(returning)
        self.around.no_return |= candidates

    def ways_out(self, bounds: Bounds) -> set[int] | None:
        """Targets that control may leave to for good; None if it returns or leaves to an unknown place."""
        instructions, gaps, _, _ = self.decode(bounds.start, bounds.end)
        if not instructions or gaps:
            return None
        targets: set[int] = set()
        kind: FlowKind = FlowKind.NEXT
        target: int | None = None
        delay = self.architecture.delay
        # What stands behind the last jump or call runs with it.
        for address, _, mnemonic, operands in instructions[: len(instructions) - delay]:
            kind, target = FlowKind.NEXT, None
            if not self.architecture.plain[mnemonic]:
                kind, target = self.architecture.flow_at(address, mnemonic, operands)
            if kind in _UNKNOWN_WAYS:
                return None
            leaves = target is not None and not bounds.start <= target < bounds.end
            if target is not None and leaves and kind in (FlowKind.JUMP, FlowKind.BRANCH):
                targets.add(target)
        if kind == FlowKind.INDIRECT_CALL:
            name, target = self.architecture.called(self.image, instructions, len(instructions) - delay - 1)
            if name in NO_RETURN_NAMES:
                return targets
            kind = FlowKind.CALL
        if kind == FlowKind.CALL and target is not None:
            # Control can only stay away because this last call does.
            targets.add(target)
        elif kind not in TERMINAL:
            return None
        return targets


def _function(bounds: Bounds, graph: Graph, flags: set[Flag], code: bytes) -> Function:
    name = bounds.names[0] if bounds.names else sub_name(bounds.start)
    return Function(
        name=name,
        address=bounds.start,
        size=len(code),
        instructions=graph.instructions,
        blocks=graph.blocks,
        edges=graph.edges,
        references=graph.references,
        flags=tuple(sorted(flags)),
        aliases=bounds.names[1:],
        imports=tuple(sorted(graph.imports)),
        digest=hashlib.sha256(code).hexdigest(),
        tables=graph.tables,
    )
