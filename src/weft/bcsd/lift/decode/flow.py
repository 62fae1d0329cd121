"""The flow of control of one function, down to the branches inside instructions, and which registers are live."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field

from weft.bcsd.lift.code import BY_WAY_OF, RETURNS, CodeBlock, FunctionCode
from weft.bcsd.lift.decode.processors import Processor
from weft.bcsd.lift.decode.translate import (
    CALLS,
    NUMBER,
    PLACE,
    PLACE_IN_REGION,
    PLACE_RELATIVE,
    REGISTER,
    RELATIVE,
    Operand,
    Step,
    Steps,
    has_delay_slot,
    is_it,
    it_length,
)
from weft.bcsd.lift.decode.units import Bits, Unit, Units

_REGION = 0xF0000000
_PLACES = (PLACE, PLACE_RELATIVE, PLACE_IN_REGION)
#: Rounds after which liveness that has not settled counts every register as live.
_ROUNDS = 60


@dataclass
class Piece:
    """Straight code: control enters at its start and leaves at its end.

    Attributes:
        code: ``(address of the instruction, its unit, None or the part of its steps that lies here)``.
        successors: Pieces that control may go to.
        predecessors: Pieces that it comes from.
        whole: Whether it ends where an instruction does: temporaries are of no use behind it.
        taken: The successor for which the condition of the branch at its end holds, -1 where there is none.
        entries: Where each entry of the jump table at its end leads, -1 for out of the function, if that was told.
        live: Bits of the registers that are read after it.
        wanted: Bits of the registers that are read in it or after it, before they are written.
    """

    code: list[tuple[int, Unit, Steps | None]] = field(default_factory=list)
    successors: list[int] = field(default_factory=list)
    predecessors: list[int] = field(default_factory=list)
    whole: bool = True
    taken: int = -1
    entries: tuple[int, ...] = ()
    live: int = 0
    wanted: int = 0


@dataclass
class Flow:
    """Pieces in an order in which, but for loops, each comes after its predecessors.

    Attributes:
        pieces: All of them; the first is the entry.
        order: Indices of the pieces.
        place: Of each piece in ``order``.
        opaque: Instructions that could not be translated.
    """

    pieces: list[Piece]
    order: list[int]
    place: list[int]
    opaque: int


def target_of(operand: Operand, address: int) -> int:
    """The address that a jump or a call to a fixed place leads to."""
    if operand.kind == PLACE_RELATIVE:
        return address + operand.key
    if operand.kind == PLACE_IN_REGION:
        return address & _REGION | operand.key
    return operand.key


class _Builder:
    def __init__(
        self, code: FunctionCode, processor: Processor, units: Units, thunks: Mapping[int, str]
    ) -> None:
        self.code = code
        self.processor = processor
        self.units = units
        self.thunks = thunks
        self.pieces: list[Piece] = []
        self.first_of: dict[int, int] = {}
        #: Piece, where it goes: a block's address, or a piece.
        self.pending: list[tuple[int, int]] = []
        #: Piece → the address that its branch is for.
        self.taken: dict[int, int] = {}
        self.tables = dict(code.tables)
        #: Piece → the addresses in the table of its jump.
        self.entries: dict[int, tuple[int, ...]] = {}
        self.starts = {block.address for block in code.blocks}
        self.opaque = 0

    def new(self) -> int:
        self.pieces.append(Piece())
        return len(self.pieces) - 1

    def goto(self, piece: int, address: int) -> None:
        """Control goes from a piece to an address: to a block, or out of the function."""
        if self.processor.clears_low_bit:
            address &= ~1
        if address in self.starts:
            self.pending.append((piece, address))
            return
        # A jump out of the function is a call whose result is returned.
        leaving = self.new()
        self.first_of.setdefault(-leaving, leaving)
        if self.taken.get(piece) == address:
            self.taken[piece] = -leaving
        stands_for = self.thunks.get(address, "")
        call = self._by_way_of(stands_for) or Step(
            "CALL", None, (Operand(PLACE, address, self.processor.word),)
        )
        back = Step("RETURN", None, ())
        steps = (back,) if stands_for == RETURNS else (call, back)
        self.pieces[leaving].code.append((address, self.units.made(steps), None))
        self.pieces[piece].successors.append(leaving)

    def block(self, number: int, block: CodeBlock) -> None:
        current = self.first_of[block.address] = self.new()
        address, place, index = block.address, 0, 0
        lengths = block.lengths
        open_ended = True
        while index < len(lengths):
            count = self._group(block, place, index)
            size = sum(lengths[index : index + count])
            unit = self.units.of(block.data[place : place + size], address, self.code.thumb)
            if unit is not None and self.thunks:
                unit = self._inlined(unit, address, size)
            if unit is None:
                self.opaque += 1
            elif unit.plain:
                self.pieces[current].code.append((address, unit, None))
            elif unit.jumps:
                self.pieces[current].code.append((address, unit, None))
                open_ended = self._leave(current, unit.steps[-1], address, block)
                if open_ended and index + count < len(lengths):
                    current = self._next(current)
            else:
                current, open_ended = self._inside(current, unit, address, address + size, block)
            index += count
            place += size
            address += size
        if not open_ended:
            return
        following = [self.code.blocks[b].address for b in block.successors if b < len(self.code.blocks)]
        if address in following:
            self.pending.append((current, address))
        elif len(following) == 1:
            self.pending.append((current, following[0]))

    def _group(self, block: CodeBlock, place: int, index: int) -> int:
        """Instructions that are translated together."""
        left = len(block.lengths) - index
        code = block.data[place : place + 4]
        if self.code.thumb and is_it(code):
            return min(1 + it_length(code), left)
        if self.processor.delay and left > 1 and has_delay_slot(code, self.processor):
            return 2
        return 1

    def _inlined(self, unit: Unit, address: int, size: int) -> Unit:
        """A call that only asks where the code lies, as what it does: it writes one register; one that counts, none."""
        if not unit.steps or unit.steps[-1].op not in CALLS:
            return unit
        # A call by way of a pointer reads that first.
        step = unit.steps[-1 if unit.steps[-1].op == "CALL" else 0]
        name = self.thunks.get(target_of(step.ins[0], address)) if step.ins[0].kind in _PLACES else None
        if name is None:
            return unit
        if not name:
            return self.units.made(())
        if (call := self._by_way_of(name)) is not None:
            return self.units.made((*unit.steps[:-1], call))
        family = self.units.families.named(name.upper())
        if family is None:
            return unit
        word = self.processor.word
        asked = Step("COPY", Operand(REGISTER, family, word), (Operand(RELATIVE, size, word),))
        return self.units.made((asked,))

    def _by_way_of(self, name: str) -> Step | None:
        """A call to where a register points, where a small function stands for one."""
        family = (
            self.units.families.named(name.removeprefix(BY_WAY_OF).upper())
            if name.startswith(BY_WAY_OF)
            else None
        )
        if family is None:
            return None
        return Step("CALLIND", None, (Operand(REGISTER, family, self.processor.word),))

    def _next(self, piece: int) -> int:
        following = self.new()
        self.pieces[piece].successors.append(following)
        return following

    def _leave(self, piece: int, step: Step, address: int, block: CodeBlock) -> bool:
        """Let control go where a piece's last step sends it; whether it may also go on behind it."""
        if step.op == "RETURN":
            return False
        if step.op == "BRANCHIND":
            targets = [self.code.blocks[b].address for b in block.successors if b < len(self.code.blocks)]
            self.pending += [(piece, target) for target in targets]
            if address in self.tables:
                self.entries[piece] = self.tables[address]
            return False
        target = target_of(step.ins[0], address)
        if step.op == "CBRANCH":
            self.taken[piece] = target & ~1 if self.processor.clears_low_bit else target
        self.goto(piece, target)
        return step.op == "CBRANCH"

    def _inside(self, current: int, unit: Unit, address: int, end: int, block: CodeBlock) -> tuple[int, bool]:
        """An instruction with branches inside: cut it into pieces."""
        steps = unit.steps
        leaders = {0, len(steps)}
        goals: dict[int, int] = {}
        for place, step in enumerate(steps):
            if step.op in ("BRANCH", "CBRANCH", "BRANCHIND", "RETURN"):
                leaders.add(place + 1)
                goal = _goal(step, place, unit, address, end) if step.op in ("BRANCH", "CBRANCH") else None
                if goal is not None and 0 <= goal <= len(steps):
                    leaders.add(goal)
                    goals[place] = goal
        ordered = sorted(leaders)
        pieces = {place: self.new() for place in ordered}
        self.pieces[current].successors.append(pieces[0])
        open_ended = False
        for start, stop in itertools.pairwise(ordered):
            piece = pieces[start]
            part = steps[start:stop]
            self.pieces[piece].code.append((address, unit, part))
            self.pieces[piece].whole = False
            last = part[-1]
            falls = True
            if stop - 1 in goals:
                self.pieces[piece].successors.append(pieces[goals[stop - 1]])
                self.pieces[piece].taken = pieces[goals[stop - 1]]
                falls = last.op == "CBRANCH"
            elif last.op in ("BRANCH", "CBRANCH", "BRANCHIND", "RETURN"):
                falls = self._leave(piece, last, address, block)
            if falls:
                self.pieces[piece].successors.append(pieces[stop])
        end_piece = pieces[len(steps)]
        open_ended = any(end_piece in piece.successors for piece in self.pieces[pieces[0] :])
        return end_piece, open_ended

    def link(self) -> None:
        for piece, address in self.pending:
            self.pieces[piece].successors.append(self.first_of[address])
        for piece, address in self.taken.items():
            self.pieces[piece].taken = self.first_of[address]
        for piece, addresses in self.entries.items():
            self.pieces[piece].entries = tuple(self.first_of.get(address, -1) for address in addresses)
        for number, piece in enumerate(self.pieces):
            piece.successors = list(dict.fromkeys(piece.successors))
            for successor in piece.successors:
                self.pieces[successor].predecessors.append(number)


def _goal(step: Step, place: int, unit: Unit, address: int, end: int) -> int | None:
    """The step that a branch inside an instruction leads to; None if it leads out of it."""
    operand = step.ins[0]
    if operand.kind == NUMBER:
        offset = (
            operand.key - (1 << 8 * operand.size) if operand.key >> (8 * operand.size - 1) else operand.key
        )
        return place + offset
    target = target_of(operand, address)
    if target == end:
        return len(unit.steps)
    return unit.starts.get(target - address)


def build_flow(
    code: FunctionCode, processor: Processor, units: Units, thunks: Mapping[int, str] | None = None
) -> Flow:
    """Cut a function into pieces, order them, find what is live behind each.

    Args:
        code: The function.
        processor: Its processor.
        units: Where its instructions' meanings come from.
        thunks: Functions that only tell where they were called from → the register that they write, or nothing. Calls
            of them are no calls then.
    """
    builder = _Builder(code, processor, units, thunks or {})
    for number, block in enumerate(code.blocks):
        builder.block(number, block)
    builder.link()
    order = _order(builder.pieces)
    place = [0] * len(order)
    for position, piece in enumerate(order):
        place[piece] = position
    _liveness(builder.pieces, order, units.bits)
    return Flow(builder.pieces, order, place, builder.opaque)


def _order(pieces: list[Piece]) -> list[int]:
    """Reverse postorder from the entry, then from every piece that nothing reaches."""
    seen = [False] * len(pieces)
    parts: list[list[int]] = []
    for root in range(len(pieces)):
        if seen[root]:
            continue
        seen[root] = True
        finished: list[int] = []
        stack = [(root, iter(pieces[root].successors))]
        while stack:
            piece, successors = stack[-1]
            following = next((s for s in successors if not seen[s]), None)
            if following is None:
                finished.append(piece)
                stack.pop()
            else:
                seen[following] = True
                stack.append((following, iter(pieces[following].successors)))
        parts.append(finished[::-1])
    return [piece for part in parts for piece in part]


def _liveness(pieces: list[Piece], order: list[int], bits: Bits) -> None:
    reads, writes = [0] * len(pieces), [0] * len(pieces)
    for number, piece in enumerate(pieces):
        used = made = 0
        for _, unit, part in piece.code:
            if part is None:
                unit_reads, unit_writes = unit.reads, unit.writes
            else:
                unit_reads, unit_writes = bits.of(part)
            used |= unit_reads & ~made
            made |= unit_writes
        reads[number], writes[number] = used, made
    before = [0] * len(pieces)
    for _ in range(_ROUNDS):
        changed = False
        for number in reversed(order):
            live = 0
            for successor in pieces[number].successors:
                live |= before[successor]
            pieces[number].live = live
            needed = reads[number] | live & ~writes[number]
            if needed != before[number]:
                before[number] = needed
                changed = True
        if not changed:
            break
    else:
        before = [(1 << len(bits.families)) - 1] * len(pieces)
        for piece in pieces:
            piece.live = before[0]
    for number, piece in enumerate(pieces):
        piece.wanted = before[number]


def needed_steps(piece: Piece, bits: Bits) -> list[tuple[int, Steps]]:
    """The steps of a piece, per instruction, without those that nothing reads."""
    live = piece.live
    found: list[tuple[int, Steps]] = []
    for address, unit, part in reversed(piece.code):
        if part is not None:
            # Temporaries may be read in the pieces behind this one.
            reads, writes = bits.of(part)
            found.append((address, part))
        else:
            reads, writes = unit.reads, unit.writes
            steps = unit.needed(live, bits)
            if steps is not unit.steps:
                reads, _ = bits.of(steps)
            found.append((address, steps))
        live = reads | live & ~writes
    return found[::-1]
