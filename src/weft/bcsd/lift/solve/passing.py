"""What calls are given and what returns give back.

Nobody tells how many arguments a function takes, so registers that it does not fill are not counted. Without
``thorough``, what is most alike in all builds is kept. With it, all is kept that the function may mean to pass on: a
register is left out only where it still holds what it held at entry, and every register of a result counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile

from weft.bcsd.lift.decode.flow import Flow, Piece
from weft.bcsd.lift.decode.translate import CALLS, REGISTER
from weft.bcsd.lift.decode.units import Units
from weft.bcsd.lift.solve.joins import Solved, vague_nodes
from weft.bcsd.lift.solve.state import State
from weft.bcsd.lift.solve.values import ENTRY, SYMBOL, UNDEFINED, Values

_STACK_ARGUMENTS = 8


def read_later(flow: Flow, families: Sequence[int]) -> list[frozenset[int]]:
    """For each piece, those of some registers that code behind it reads before it is written; returns aside."""
    found: list[set[int]] = [set() for _ in flow.pieces]
    for family in families:
        first = [_first_use(piece, family) for piece in flow.pieces]
        waiting = [number for number, use in enumerate(first) if use == "read"]
        seen = set(waiting)
        while waiting:
            for before in flow.pieces[waiting.pop()].predecessors:
                found[before].add(family)
                if first[before] == "none" and before not in seen:
                    seen.add(before)
                    waiting.append(before)
    return [frozenset(own) for own in found]


def _first_use(piece: Piece, family: int) -> str:
    for _, unit, part in piece.code:
        for step in unit.steps if part is None else part:
            if step.op in CALLS or any(o.kind == REGISTER and o.key == family for o in step.ins):
                return "read"
            if step.out is not None and step.out.kind == REGISTER and step.out.key == family:
                return "written"
    return "none"


class Passing:
    """The calls and returns of one function.

    Args:
        values: Its values.
        units: Of its processor.
        word: Bytes of an address.
    """

    def __init__(self, values: Values, units: Units, word: int) -> None:
        self._values, self._units, self._word = values, units, word
        self._undefined = values.same(UNDEFINED, word)
        #: Call → how many of its arguments are not floating-point, and where those lie that come last.
        self._plain: dict[int, int] = {}
        self._stacked: dict[int, list[int]] = {}
        #: Slots that the function reads.
        self.read: set[int] = set()

    def arguments(
        self, registers: Mapping[int, int], slots: Mapping[int, int], depth: int | None
    ) -> tuple[list[int], list[int]]:
        """What a call is surely given: registers up to the last that the function filled, or slots at the top.

        Args:
            registers: What they hold.
            slots: What was written to the stack since the last call.
            depth: Where the stack pointer is; None where that is unknown.

        Returns:
            Those in order, and the floating-point ones.
        """
        values, families = self._values, self._units.arguments
        found: list[int] = []
        for family in families:
            node = registers.get(family)
            if node is None:
                node = values.same(ENTRY, self._word, (), family)
            if values.ops[node] == UNDEFINED:
                break
            found.append(node)
        while found and self._untouched(found[-1], families[len(found) - 1]):
            found.pop()
        floating = [
            node
            for family in self._units.vectors
            if (node := registers.get(family)) is not None
            and values.ops[node] != UNDEFINED
            and not self._untouched(node, family)
        ]
        if not families and depth is not None:
            for number in range(_STACK_ARGUMENTS):
                held = slots.get(depth + number * self._word)
                if held is None:
                    break
                found.append(held)
        return found, floating

    def pointee(self, pointer: int) -> int | None:
        """The address that a code pointer surely is; a pointer that the loader fills counts as one."""
        values = self._values
        if values.ops[pointer] == "AND" and values.number(values.args[pointer][1]) is not None:
            pointer = values.args[pointer][0]
        if values.ops[pointer] == SYMBOL:
            return values.data[pointer]
        if values.ops[pointer] == "ADD" and values.ops[values.args[pointer][0]] == SYMBOL:
            return values.data[values.args[pointer][0]]
        return values.number(pointer)

    def stacked(self, slots: Mapping[int, int], depth: int | None) -> list[int]:
        """Where a call may be given more than registers hold: slots at the top, but for registers that are kept."""
        values, units = self._values, self._units
        if not units.thorough or not units.arguments or depth is None:
            return []
        found: list[int] = []
        for number in range(_STACK_ARGUMENTS):
            offset = depth + units.home + number * self._word
            held = slots.get(offset)
            if held is None or (values.ops[held] == ENTRY and values.data[held] not in units.arguments):
                break
            found.append(offset)
        return found

    def given(self, call: int, plain: int, stacked: list[int]) -> None:
        """Note how many arguments of a call are not floating-point, and where its last ones lie."""
        self._plain[call], self._stacked[call] = plain, stacked

    def returned(self, state: State) -> tuple[int, ...]:
        """What a return gives back: the first register that was filled, or each of them.

        The register of a second half may hold anything where there is none. Nothing is computed that nobody reads, so
        what was written there, and neither read since nor on another way, is for the caller.
        """
        values, registers = self._values, state.registers
        if self._units.thorough:
            nodes = [registers.get(family, self._undefined) for family in self._units.results]
            nodes += [
                registers[family] if family in state.unread else self._undefined
                for family in self._units.seconds
            ]
            families = (*self._units.results, *self._units.seconds)
            return tuple(
                self._undefined if self._untouched(node, family) else node
                for node, family in zip(nodes, families, strict=True)
            )
        for family in self._units.results:
            node = registers.get(family)
            if node is not None and values.ops[node] not in (UNDEFINED, ENTRY):
                return (node,)
        return ()

    def trim(self, solved: Solved) -> None:
        """Take from calls and returns what only looked filled before the loops were closed."""
        vague = vague_nodes(solved)
        ops, args = solved.values.ops, solved.values.args
        thorough = self._units.thorough
        for node, op in enumerate(ops):
            if op in CALLS:
                first = op == "CALLIND"
                given = [solved.real(arg) for arg in args[node]]
                last = first + self._plain[node] if thorough else len(given)
                kept = self._filled(given[first:last], vague)
                end = len(given) - len(self._stacked[node])
                floating = [arg for arg in args[node][last:end] if solved.real(arg) not in vague]
                # What the function reads itself was kept there for it.
                both = zip(args[node][end:], self._stacked[node], strict=True)
                stacked = [arg for arg, _ in takewhile(lambda one: one[1] not in self.read, both)]
                args[node] = (*args[node][: first + kept], *floating, *stacked)
            elif op == "RETURN" and thorough:
                args[node] = tuple(
                    self._undefined if solved.real(arg) in vague else arg for arg in args[node]
                )
            elif op == "RETURN" and args[node] and solved.real(args[node][0]) in vague:
                args[node] = ()

    def _filled(self, given: Sequence[int], vague: set[int]) -> int:
        """How many arguments there are up to the last that the function filled."""
        families = self._units.arguments
        known = next((place for place, node in enumerate(given) if node in vague), len(given))
        while known and self._untouched(
            given[known - 1], families[known - 1] if known <= len(families) else -1
        ):
            known -= 1
        return known

    def _untouched(self, node: int, family: int) -> bool:
        """Whether a register holds what it held at entry; without ``thorough``, what any did."""
        values = self._values
        return values.ops[node] == ENTRY and (not self._units.thorough or values.data[node] == family)
