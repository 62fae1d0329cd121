"""From decoded instructions to basic blocks and typed edges.

A block ends at a jump, at a return, before a jump's target, and after a call that never returns; an ordinary
call does not end it. A jump out of the function is a tail call, not an edge.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field

from weft.bcsd.architectures.architecture import TERMINAL, Architecture, Flow, FlowKind
from weft.bcsd.architectures.backward import Backward
from weft.bcsd.architectures.operands import Raw
from weft.bcsd.disassemble.interface import Block, Edge, EdgeKind, Flag, Reference, ReferenceKind
from weft.bcsd.disassemble.references import data_references
from weft.bcsd.read.image import Image

_THUNK_LENGTH = 3
_COMPUTED = Flow(FlowKind.INDIRECT_JUMP)


@dataclass
class Surroundings:
    """What the blocks of one function depend on outside of it.

    Args:
        image: The binary.
        architecture: Its instruction set.
        no_return: Addresses of functions and stubs that never return.
        guesses: Whether the ends of most functions are guesses, so that a switch out of one tells of a wrong end.
    """

    image: Image
    architecture: Architecture
    no_return: set[int] = field(default_factory=set)
    guesses: bool = False


@dataclass
class Graph:
    """The control flow of one function; the fields are those of :class:`~weft.bcsd.disassemble.interface.Function`."""

    instructions: list[Raw]
    blocks: list[Block]
    edges: list[Edge]
    references: dict[int, Reference]
    flags: set[Flag]
    imports: set[str]
    outgoing: set[int]
    tables: dict[int, tuple[int, ...]]


def build_graph(instructions: list[Raw], gaps: set[int], start: int, end: int, around: Surroundings) -> Graph:
    """Cut a function into blocks and join them.

    Args:
        instructions: Decoded in address order, at least one.
        gaps: Indices of instructions after which undecodable bytes follow.
        start: The function's first address.
        end: The first address after it.
        around: The rest of the binary.

    Returns:
        The graph; ``outgoing`` holds every direct call or jump target outside the function.
    """
    return _Builder(instructions, gaps, start, end, around).build()


class _Builder:
    def __init__(
        self, instructions: list[Raw], gaps: set[int], start: int, end: int, around: Surroundings
    ) -> None:
        self.instructions = instructions
        self.addresses = [instruction[0] for instruction in instructions]
        self.start = start
        self.end = end
        self.image = around.image
        self.architecture = around.architecture
        self.no_return = around.no_return
        self.guesses = around.guesses
        self.ends: set[int] = set(gaps)
        self.leaders: set[int] = {0}
        self.leaders.update(index + 1 for index in gaps)
        self.jumps: list[tuple[int, int, EdgeKind]] = []  # instruction, target instruction, kind
        self.sources: dict[int, list[int]] = {}
        self.indirect: list[int] = []
        self.references: dict[int, Reference] = {}
        self.flags: set[Flag] = set()
        self.imports: set[str] = set()
        self.outgoing: set[int] = set()
        self.tables: dict[int, tuple[int, ...]] = {}
        self.last_call = -1

    def build(self) -> Graph:
        plain = self.architecture.plain
        flow = self.architecture.flow_at
        for index, instruction in enumerate(self.instructions):
            if not plain[instruction[2]]:
                found = flow(instruction[0], instruction[2], instruction[3])
                if found.kind == FlowKind.RETURN and not self.architecture.returns(self.instructions, index):
                    found = _COMPUTED
                if found.kind:
                    self.control(index, found)
        taken = data_references(self.image, self.instructions, self.references, self.start, self.end)
        if self.indirect:
            self.resolve_indirect(taken)
        return self.assemble()

    # -- one control instruction at a time

    def control(self, index: int, flow: Flow) -> None:
        kind, target = flow
        after = index + self.architecture.delay
        if kind in (FlowKind.CALL, FlowKind.INDIRECT_CALL):
            self.last_call = after
            if self.call(index, target):
                self.end_block(after)
            return
        if kind == FlowKind.JUMP or kind == FlowKind.BRANCH:
            if target is not None and self.start <= target < self.end:
                self.jump_inside(index, target)
            elif target is not None:
                self.leave(index, target)
            else:
                self.flags.add(Flag.CFG_INCOMPLETE)
        elif kind in (FlowKind.INDIRECT_JUMP, FlowKind.INDIRECT_JUMP_IF):
            self.indirect.append(index)
        self.leaders.add(after + 1)
        if kind in TERMINAL:
            self.ends.add(after)

    def end_block(self, index: int) -> None:
        self.leaders.add(index + 1)
        self.ends.add(index)

    def jump_inside(self, index: int, target: int, kind: EdgeKind = EdgeKind.TAKEN) -> None:
        position = bisect_left(self.addresses, target)
        if position == len(self.addresses) or self.addresses[position] != target:
            self.flags.add(Flag.MISALIGNED)
            position = max(bisect_right(self.addresses, target) - 1, 0)
        self.leaders.add(position)
        self.jumps.append((index, position, kind))
        self.sources.setdefault(position, []).append(index)
        if kind == EdgeKind.TAKEN:
            self.references[index] = Reference(ReferenceKind.JUMP, position)

    def call(self, index: int, target: int | None) -> bool:
        """Note a call; whether it never returns."""
        if target is None:
            name, own = self.architecture.called(self.image, self.instructions, index)
            if own is not None:
                return self.reach(index, own, ReferenceKind.CALL_INTERNAL, ReferenceKind.CALL_EXTERNAL)
            if name is not None:
                self.external(index, name, ReferenceKind.CALL_EXTERNAL)
            return name in NO_RETURN_NAMES
        if target == self.start:
            self.references[index] = Reference(ReferenceKind.CALL_SELF, target)
            return False
        address, size, _, _ = self.instructions[index]
        if target == address + size:
            # Not a call: i386 code that asks for its own address.
            self.references[index] = Reference(ReferenceKind.CODE, target)
            return False
        return self.reach(index, target, ReferenceKind.CALL_INTERNAL, ReferenceKind.CALL_EXTERNAL)

    def leave(self, index: int, target: int) -> None:
        self.reach(index, target, ReferenceKind.TAIL_INTERNAL, ReferenceKind.TAIL_EXTERNAL)

    def reach(self, index: int, target: int, internal: ReferenceKind, external: ReferenceKind) -> bool:
        """Note a direct transfer to ``target``; whether control never comes back."""
        name = self.image.stubs.get(target)
        if name is not None:
            own = self.image.exports.get(name)
            if own is None:
                self.external(index, name, external)
                return name in NO_RETURN_NAMES
            # The file's own export, called through its stub: the same call as without a stub.
            target = own
        elif self.image.in_stubs(target):
            self.references[index] = Reference(external, target)
            return False
        target = self.architecture.entry_of(self.image, target)
        self.references[index] = Reference(internal, target)
        self.outgoing.add(target)
        if self.architecture.mode_bit:
            other = self.architecture.switches_mode(self.instructions[index][2])
            if (self.start in self.image.thumb) != other:
                self.image.thumb.add(target)
        return target in self.no_return

    def external(self, index: int, name: str, kind: ReferenceKind) -> None:
        self.imports.add(name)
        self.references[index] = Reference(kind, 0)

    # -- indirect jumps

    def resolve_indirect(self, taken: list[int]) -> None:
        backward = Backward(
            self.instructions, self.addresses, self.ends, self.sources, (self.start, self.end), taken
        )

        def is_code(address: int) -> bool:
            if backward.inside(address):
                return backward.starts_instruction(address)
            return not self.guesses and self.image.code_map.at(address) is not None

        for index in self.indirect:
            name, own = self.architecture.called(self.image, self.instructions, index)
            if own is not None:
                self.leave(index, own)
                continue
            if name is not None:
                self.external(index, name, ReferenceKind.TAIL_EXTERNAL)
                continue
            table = self.architecture.find_table(self.image, self.instructions, index, backward, is_code)
            if table is None:
                if not self.architecture.is_tail_call(self.instructions, index, backward):
                    self.flags.add(Flag.CFG_INCOMPLETE)
                continue
            kind = EdgeKind.SWITCH if table.bounded else EdgeKind.INDIRECT
            if table.bounded:
                self.tables[self.addresses[index]] = tuple(table.targets)
            for target in dict.fromkeys(table.targets):
                if backward.inside(target):
                    self.jump_inside(index, target, kind)

    # -- blocks and edges

    def assemble(self) -> Graph:
        count = len(self.instructions)
        cuts = sorted(leader for leader in self.leaders if leader < count)
        spans = list(zip(cuts, [*cuts[1:], count], strict=True))
        kept = self.without_padding(spans)
        block_of = {first: number for number, (first, _) in enumerate(kept)}
        firsts = [first for first, _ in kept]
        edges: set[Edge] = set()
        for number, (_, stop) in enumerate(kept):
            if stop - 1 in self.ends:
                continue
            if stop in block_of:
                edges.add(Edge(number, block_of[stop], EdgeKind.FALL_THROUGH))
            elif stop == count and stop - 1 != self.last_call:
                self.flags.add(Flag.FALLS_THROUGH)
        for source, target, kind in self.jumps:
            if target in block_of:
                edges.add(Edge(bisect_right(firsts, source) - 1, block_of[target], kind))
        graph = Graph(
            self.instructions,
            [],
            sorted(edges),
            self.references,
            self.flags,
            self.imports,
            self.outgoing,
            self.tables,
        )
        self.pack(graph, kept)
        if len(graph.blocks) == 1 and len(graph.instructions) <= _THUNK_LENGTH and self.leaves_at_once(graph):
            graph.flags.add(Flag.THUNK)
        return graph

    def leaves_at_once(self, graph: Graph) -> bool:
        reference = graph.references.get(len(graph.instructions) - 1)
        tails = (ReferenceKind.TAIL_INTERNAL, ReferenceKind.TAIL_EXTERNAL)
        return reference is not None and reference.kind in tails

    def without_padding(self, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Drop blocks that only fill space and that nothing jumps to or falls into."""
        kept: list[tuple[int, int]] = []
        falls = True
        for first, stop in spans:
            reached = falls or first in self.sources
            if not reached and all(
                self.architecture.is_padding(mnemonic, operands)
                for _, _, mnemonic, operands in self.instructions[first:stop]
            ):
                falls = False
                continue
            kept.append((first, stop))
            falls = stop - 1 not in self.ends
        return kept or spans[:1]

    def pack(self, graph: Graph, kept: list[tuple[int, int]]) -> None:
        """Renumber instructions once the dropped blocks are out."""
        if sum(stop - first for first, stop in kept) == len(self.instructions):
            graph.blocks = [Block(first, stop) for first, stop in kept]
            return
        renumbered: dict[int, int] = {}
        instructions: list[Raw] = []
        for first, stop in kept:
            begin = len(instructions)
            renumbered.update(zip(range(first, stop), range(begin, begin + stop - first), strict=True))
            instructions += self.instructions[first:stop]
            graph.blocks.append(Block(begin, len(instructions)))
        graph.instructions = instructions
        graph.references = {}
        for index, reference in self.references.items():
            place = renumbered.get(index)
            if place is None:
                continue
            if reference.kind == ReferenceKind.JUMP:
                reference = Reference(reference.kind, renumbered[reference.target])
            graph.references[place] = reference


#: Imported functions after whose call nothing runs.
NO_RETURN_NAMES = frozenset(
    {
        "abort",
        "exit",
        "_exit",
        "_Exit",
        "quick_exit",
        "__stack_chk_fail",
        "__stack_chk_fail_local",
        "__fortify_fail",
        "__chk_fail",
        "__assert_fail",
        "__assert",
        "__assert_rtn",
        "__assert_perror_fail",
        "longjmp",
        "siglongjmp",
        "_longjmp",
        "__longjmp_chk",
        "__cxa_throw",
        "__cxa_rethrow",
        "__cxa_bad_cast",
        "__cxa_bad_typeid",
        "__cxa_throw_bad_array_new_length",
        "__cxa_call_unexpected",
        "__cxa_call_terminate",
        "__cxa_pure_virtual",
        "_Unwind_Resume",
        "_Unwind_Resume_or_Rethrow",
        "_ZSt9terminatev",
        "_ZSt10unexpectedv",
        "__libc_start_main",
        "pthread_exit",
        "thrd_exit",
        "err",
        "errx",
        "verr",
        "verrx",
        "_ZSt17__throw_bad_allocv",
        "_ZSt16__throw_bad_castv",
        "_ZSt20__throw_length_errorPKc",
        "_ZSt19__throw_logic_errorPKc",
        "_ZSt20__throw_out_of_rangePKc",
        "_ZSt24__throw_out_of_range_fmtPKcz",
        "_ZSt24__throw_invalid_argumentPKc",
        "_ZSt25__throw_bad_function_callv",
        "_ZSt20__throw_system_errori",
        "_ZSt28__throw_bad_array_new_lengthv",
        "ExitProcess",
        "ExitThread",
        "_CxxThrowException",
    }
)
