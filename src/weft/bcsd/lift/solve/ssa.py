"""Static single assignment: what each piece computes, with registers, stack slots and flags resolved.

But for loops, each piece comes after its predecessors. Where several meet, a value that differs becomes a join; at the
head of a loop every register that it writes becomes one; those that turn out to be the same are taken back in the end.
"""

from __future__ import annotations

from collections.abc import KeysView, Mapping

import weft.bcsd.lift.solve.comparisons  # noqa: F401  its rules register themselves
from weft.bcsd.lift.code import FunctionCode, Surroundings
from weft.bcsd.lift.decode.flow import Flow, needed_steps, target_of
from weft.bcsd.lift.decode.processors import Processor
from weft.bcsd.lift.decode.translate import NUMBER, PAGE, REGISTER, RELATIVE, SYSTEM, TEMPORARY, Operand, Step
from weft.bcsd.lift.decode.units import Units
from weft.bcsd.lift.solve.fixed import BIAS, constant_at
from weft.bcsd.lift.solve.handed import Handed
from weft.bcsd.lift.solve.joins import Solved, Way, trivial_joins, written_in_loops
from weft.bcsd.lift.solve.passing import Passing, read_later
from weft.bcsd.lift.solve.pointer import GlobalPointer
from weft.bcsd.lift.solve.rules import subpiece
from weft.bcsd.lift.solve.state import State
from weft.bcsd.lift.solve.values import ENTRY, PHI, STACK, UNDEFINED, Values
from weft.errors import LimitError

#: Values of one function, beyond which it is given up.
LARGEST = 400_000
#: Stack slots times pieces beyond which slots are forgotten where paths meet.
_MERGED = 2_000_000
_WIDE = 16


class Solver:
    """Works through one function.

    Args:
        code: The function.
        around: Its file.
        processor: Its processor.
        units: Where its instructions' meanings come from.
        flow: Its pieces.
        late: Slots that loops write first, and their bytes: an earlier pass found them.
        steady: Joins at heads of loops that are one address, as an earlier pass found.
    """

    def __init__(
        self,
        code: FunctionCode,
        around: Surroundings,
        processor: Processor,
        units: Units,
        flow: Flow,
        late: Mapping[int, int] | None = None,
        steady: Mapping[tuple[int, int, int], int] | None = None,
    ) -> None:
        self.code, self.around, self.processor, self.units, self.flow = code, around, processor, units, flow
        self.values = Values()
        self.bias = BIAS[processor.word]
        named = units.families.named
        self.stack = named(processor.stack)
        self.entry = State()
        if self.stack is not None:
            self.entry.registers[self.stack] = self.values.stack(0, processor.word)
        if processor.own_address and (own := named(processor.own_address)) is not None:
            self.entry.registers[own] = self.values.const(code.address + self.bias, processor.word)
        for name in processor.zero:
            if (family := named(name)) is not None:
                self.entry.registers[family] = self.values.const(0, 1)
        self.undefined = self.values.same(UNDEFINED, processor.word)
        self.passing = Passing(self.values, units, processor.word)
        self.handed = Handed(self.values)
        self.thorough = units.thorough
        pointer = named(processor.global_pointer) if self.thorough else None
        self.pointer = GlobalPointer(self.values, around, pointer)
        self.effects: list[list[int]] = [[] for _ in flow.pieces]
        self.leaving: list[State | None] = [None] * len(flow.pieces)
        self.open: list[tuple[int, int, int, int]] = []
        #: The piece that is entered, and from which ones: -1 for the entry; by which way each join has its values.
        self.meeting: tuple[int, list[int]] = (0, [])
        self.ways: dict[int, list[Way]] = {}
        self.forgetful = False
        self.late, self.steady = late or {}, steady or {}
        #: Slots that were written, with their bytes; those that each head of a loop joins.
        self.stored: dict[int, int] = {}
        self.joined: list[KeysView[int]] = []
        self.state = self.entry
        self.recent: dict[int, int] = {}
        self.now: list[int] = []

    def solve(self) -> Solved:
        """Go through all pieces; raises :class:`LimitError` where the function makes too many values."""
        written = written_in_loops(self.flow, self.units.bits)
        later = read_later(self.flow, self.units.seconds)
        orphans = self.entry
        for position, number in enumerate(self.flow.order):
            piece = self.flow.pieces[number]
            self.state = self._enter(number, position, written.get(number, 0), orphans)
            self.recent, self.now = {}, self.effects[number]
            for address, steps in needed_steps(piece, self.units.bits):
                for step in steps:
                    self._step(step, address)
            if piece.whole:
                self.state.temporaries = {}
            self.state.unread -= later[number]
            self.leaving[number] = self.state
            if position == 0:
                orphans = self.state.alone({n for n, op in enumerate(self.values.ops) if op == STACK})
            if len(self.values) > LARGEST:
                raise LimitError(f"more than {LARGEST} values in one function", where=hex(self.code.address))
        self._close()
        solved = Solved(self.values, self.effects, trivial_joins(self.values), self.ways)
        self.passing.trim(solved)
        return solved

    def missed(self) -> bool:
        """Whether slots were written that the head of some loop did not know of."""
        return any(self.stored.keys() - known for known in self.joined)

    def _enter(self, number: int, position: int, looped: int, orphans: State) -> State:
        """The state at the start of a piece."""
        predecessors = self.flow.pieces[number].predecessors
        done = [(p, state) for p in predecessors if (state := self.leaving[p]) is not None]
        states = [state for _, state in done]
        if position == 0:
            states.append(self.entry)
        elif not states:
            if not (self.thorough and predecessors):
                return orphans.copy()
            states.append(orphans)
        self.meeting = number, [*(p for p, _ in done), -1][: len(states)]
        waiting = len(predecessors) > len(done)
        first = states[0]
        if len(states) == 1 and not waiting:
            return first.copy()
        state = State(memory=first.memory if all(s.memory == first.memory for s in states) else -number - 1)
        if waiting:
            state.memory = -number - 1
        # Only what is read here or later has to be joined.
        wanted = self.flow.pieces[number].wanted
        families = dict.fromkeys(family for s in states for family in s.registers)
        if waiting and self.thorough:
            # What the loop writes and nothing before it touched.
            families.update(dict.fromkeys(self.units.bits.members(looped & wanted)))
        for family in families:
            held = [s.registers.get(family) for s in states]
            bit = self.units.bits.bit(Operand(REGISTER, family, 1))
            if not wanted & bit and family != self.stack:
                continue
            nodes = [self._entry(family) if node is None else node for node in held]
            again = bool(waiting and looped & bit)
            if family == self.stack or (self.values.ops[nodes[0]] == STACK and not looped & bit):
                state.registers[family] = nodes[0]
            elif (known := self.pointer.met(family, () if again else nodes)) is not None:
                state.registers[family] = known
            elif not again and len(set(nodes)) == 1:
                state.registers[family] = nodes[0]
            else:
                state.registers[family] = self._join(nodes, number if again else -1, family, 0)
        state.unread = frozenset.intersection(*(s.unread for s in states))
        state.handed = min(s.handed for s in states)
        self._enter_slots(state, states, number, waiting)
        shared = set(first.temporaries)
        for other in states[1:]:
            shared &= set(other.temporaries)
        for key in shared:
            nodes = [s.temporaries[key] for s in states]
            state.temporaries[key] = nodes[0] if len(set(nodes)) == 1 else self._join(nodes, -1, key, 0)
        return state

    def _enter_slots(self, state: State, states: list[State], number: int, waiting: bool) -> None:
        offsets = dict.fromkeys(states[0].slots)
        if self.thorough:
            # Also what some ways leave as it was, and what only the loop writes.
            offsets.update(dict.fromkeys(offset for s in states for offset in s.slots))
            if waiting:
                offsets.update(dict.fromkeys(self.late))
                self.joined.append(offsets.keys())
        if self.forgetful or len(offsets) * len(self.flow.pieces) > _MERGED:
            self.forgetful = True
            return
        for offset in offsets:
            held = [s.slots.get(offset) for s in states]
            nodes = [node for node in held if node is not None]
            if len(nodes) < len(states):
                if not self.thorough:
                    continue
                size = self.values.sizes[nodes[0]] if nodes else self.late[offset]
                both = zip(states, held, strict=True)
                nodes = [self._unwritten(s, offset, size) if n is None else n for s, n in both]
            if len(set(nodes)) == 1 and not waiting:
                state.slots[offset] = nodes[0]
            else:
                state.slots[offset] = self._join(nodes, number if waiting else -1, offset, 1)

    def _unwritten(self, state: State, offset: int, size: int) -> int:
        """What a slot holds that the function did not write."""
        if offset > 0:
            return self.values.same(ENTRY, size, (), -offset)
        place = self.values.stack(offset, self.processor.word)
        return self.values.same("LOAD", size, (place,), state.memory)

    def _join(self, nodes: list[int], number: int, key: int, kind: int) -> int:
        """A join of values; one that still waits for predecessors is noted."""
        size = self.values.sizes[nodes[0]]
        if (known := self.steady.get((number, key, kind))) is not None:
            return self.values.const(known, size)
        node = self.values.new(PHI, size, tuple(dict.fromkeys(nodes)))
        here, sources = self.meeting
        self.ways[node] = [Way(value, p, here) for value, p in zip(nodes, sources, strict=True)]
        if number >= 0:
            self.open.append((node, number, key, kind))
        return node

    def _close(self) -> None:
        """Give the joins at heads of loops what comes round the loop."""
        seen: dict[int, list[tuple[int, State]]] = {}
        for node, number, key, kind in self.open:
            if number not in seen:
                place = self.flow.place
                late = [p for p in self.flow.pieces[number].predecessors if place[p] >= place[number]]
                seen[number] = [(p, s) for p in late if (s := self.leaving[p]) is not None]
            more = [
                Way((state.slots if kind else state.registers).get(key, self.undefined), p, number)
                for p, state in seen[number]
            ]
            self.ways[node] += more
            self.values.args[node] = tuple(
                dict.fromkeys((*self.values.args[node], *(way.value for way in more)))
            )

    # -- one step --

    def _entry(self, family: int) -> int:
        return self.values.same(ENTRY, self.processor.word, (), family)

    def _read(self, operand: Operand, address: int) -> int:
        kind, key, size, skipped = operand
        values = self.values
        if kind == REGISTER:
            self.state.unread -= {key}
            node = self.state.registers.get(key)
            if node is None:
                node = self.state.registers[key] = self._entry(key)
            if values.sizes[node] == size and not skipped:
                return node
            return subpiece(values, size, node, skipped)
        if kind == TEMPORARY:
            node = self.state.temporaries.get(key, self.undefined)
            return node if values.sizes[node] == size else subpiece(values, size, node, 0)
        if kind == NUMBER:
            return values.const(key, size)
        if kind == RELATIVE:
            return values.const(address + key + self.bias, size)
        if kind == PAGE:
            return values.const((address & ~0xFFF) + key + self.bias, size)
        place = values.const(target_of(operand, address) + self.bias, self.processor.word)
        return self._load(place, size)

    def _write(self, out: Operand, node: int) -> None:
        if out.kind == REGISTER:
            if out.skipped:
                old = self.state.registers.get(out.key)
                if old is None:
                    old = self._entry(out.key)
                node = self.values.same("INSERT", self.processor.word, (old, node), out.skipped)
            self.state.registers[out.key] = self.pointer.written(out.key, node)
            if out.key in self.units.seconds:
                self.state.unread |= {out.key}
        elif out.kind == TEMPORARY:
            self.state.temporaries[out.key] = node
        else:
            self._effect("STORE", self.values.sizes[node], (self.undefined, node))

    def _step(self, step: Step, address: int) -> None:
        op = step.op
        if op == "LOAD":
            if step.out is not None:
                self._write(step.out, self._load(self._read(step.ins[1], address), step.out.size))
        elif op == "STORE":
            self._store(self._read(step.ins[1], address), self._read(step.ins[2], address))
        elif op == "CBRANCH":
            condition = self._read(step.ins[1], address)
            negated = self.values.ops[condition] == "NOT"
            if negated:
                condition = self.values.args[condition][0]
            self._effect("BRANCH", 0, (condition,), int(negated))
        elif op == "BRANCHIND":
            self._effect("SWITCH", 0, (self._read(step.ins[0], address),))
        elif op == "CALL":
            self._call(target_of(step.ins[0], address), address)
        elif op == "CALLIND":
            self._call(None, address, self._read(step.ins[0], address))
        elif op == "RETURN":
            self._effect("RETURN", 0, self.passing.returned(self.state))
        elif op == "SUBPIECE":
            if step.out is not None:
                node = self._read(step.ins[0], address)
                self._write(step.out, subpiece(self.values, step.out.size, node, step.ins[1].key))
        elif op == "CALLOTHER" and step.out is None and self.thorough:
            self._effect(op, 0, tuple([self._read(operand, address) for operand in step.ins]))
        elif op == SYSTEM and step.out is not None:
            args = tuple([self._read(operand, address) for operand in step.ins])
            self._write(step.out, self._effect(op, step.out.size, args))
        elif op != "BRANCH" and step.out is not None:
            args = tuple([self._read(operand, address) for operand in step.ins])
            self._write(step.out, self.values.make(op, step.out.size, args))

    def _effect(self, op: str, size: int, args: tuple[int, ...], data: int = 0) -> int:
        node = self.values.new(op, size, args, data)
        self.now.append(node)
        if op not in ("BRANCH", "SWITCH"):
            self.state.memory = node
        return node

    def _load(self, place: int, size: int) -> int:
        values = self.values
        if values.ops[place] == STACK:
            self.passing.read.add(values.data[place])
            held = self.state.slots.get(values.data[place])
            if held is not None and values.sizes[held] >= size:
                return held if values.sizes[held] == size else subpiece(values, size, held, 0)
            if values.data[place] > 0 and held is None:
                return values.same(ENTRY, size, (), -values.data[place])
        if (number := values.number(place)) is not None:
            constant = constant_at(self.values, self.code, self.around, number, size)
            if constant is not None:
                return constant
        if size == _WIDE:
            # Two words copied at once are two words.
            half = size // 2
            low, high = self._load(place, half), self._load(self._beyond(place, half), half)
            if self.around.big_endian:
                low, high = high, low
            return values.make("PIECE", size, (high, low))
        return values.same("LOAD", size, (place,), self.state.memory)

    def _beyond(self, place: int, count: int) -> int:
        """The address that many bytes further."""
        size = self.values.sizes[place]
        return self.values.make("ADD", size, (place, self.values.const(count, size)))

    def _store(self, place: int, node: int) -> None:
        values = self.values
        if values.sizes[node] == _WIDE:
            half = _WIDE // 2
            low, high = subpiece(values, half, node, 0), subpiece(values, half, node, half)
            if self.around.big_endian:
                low, high = high, low
            self._store(place, low)
            self._store(self._beyond(place, half), high)
            return
        if values.ops[place] == STACK:
            offset = values.data[place]
            self.state.slots[offset] = node
            if self.pointer.kept(node):
                return
            self.recent[offset] = node
            if self.thorough:
                self.stored[offset] = max(self.stored.get(offset, 0), values.sizes[node])
                self.now.append(values.new("LOCAL", values.sizes[node], (place, node)))
            return
        self._effect("STORE", values.sizes[node], (place, node))
        if self.thorough:
            self.handed.store(self.state, place, node)

    def _call(self, target: int | None, address: int, pointer: int | None = None) -> None:
        values, registers = self.values, self.state.registers
        top = None if self.stack is None else registers.get(self.stack)
        depth = values.data[top] if top is not None and values.ops[top] == STACK else None
        word = self.processor.word
        if self.processor.pushes and depth is not None and self.stack is not None:
            back = self.state.slots.pop(depth, None)
            self.recent.pop(depth, None)
            if self.now and values.ops[self.now[-1]] == "LOCAL":
                self.now.pop()  # where to return to
            depth += word
            registers[self.stack] = values.stack(depth, word)
            thunk = self.around.thunks.get(target) if target is not None else None
            family = self.units.families.named(thunk.upper()) if thunk else None
            if family is not None and back is not None:
                registers[family] = back
                return
        if pointer is not None:
            target = self.passing.pointee(pointer)
        plain, floating = self.passing.arguments(registers, self.recent, depth)
        stacked = self.passing.stacked(self.recent, depth)
        args = (*plain, *floating, *(self.recent[offset] for offset in stacked))
        if pointer is not None and target is None:
            node = self._effect("CALLIND", word, (pointer, *args))
        else:
            node = self._effect("CALL", word, args, target or 0)
        self.passing.given(node, len(plain), stacked)
        if self.thorough:
            self.handed.call(self.state, args)
        for family in (*self.units.arguments, *self.units.clobbered):
            registers[family] = self.undefined
        for family in self.units.results:
            registers[family] = node
        self.recent = {}
