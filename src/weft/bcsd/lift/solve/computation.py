"""All that a function computes, laid open: for comparing two functions exactly; the bag of features likens them.

Nothing is left out but where registers and stack slots lie and how the blocks are laid out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from weft.errors import LimitError

if TYPE_CHECKING:
    from weft.bcsd.lift.decode.flow import Flow
    from weft.bcsd.lift.solve.joins import Solved

#: Nodes of a function beyond which it is given up.
LARGEST = 60_000


@dataclass(frozen=True)
class Computation:
    """A function's values and effects; nodes are indices into the first four lists.

    Args:
        ops: What each node does.
        sizes: Bytes of its result.
        args: Its operands.
        data: A constant's number, the offset of an address on the stack, the family of a register at entry (negated
            offset of a slot), the node after which a load reads (negated piece for a join), the target of a call.
        ways: Of a join: each value with the piece that it comes from, -1 for the entry, and the piece where they meet.
        effects: Per piece, in order: stores, calls, branches, returns; ``LOCAL`` for a store to a variable on the stack
            whose address is handed out.
        successors: Pieces that each may go to.
        taken: The one of them for which the condition at its end holds, -1 where there is none.
        entries: Where each entry of the jump table at a piece's end leads, in order; -1 for out of the function.
        arguments: Families of the registers of the first arguments.
        bias: By what addresses that count from an instruction are moved.
        opaque: Instructions that could not be lifted.
    """

    ops: tuple[str, ...]
    sizes: tuple[int, ...]
    args: tuple[tuple[int, ...], ...]
    data: tuple[int, ...]
    ways: tuple[tuple[tuple[int, int, int], ...], ...]
    effects: tuple[tuple[int, ...], ...]
    successors: tuple[tuple[int, ...], ...]
    taken: tuple[int, ...]
    entries: tuple[tuple[int, ...], ...]
    arguments: tuple[int, ...]
    bias: int
    opaque: int


def computation(solved: Solved, flow: Flow, arguments: list[int], bias: int) -> Computation:
    """What a solved function computes, without the values that nothing needs.

    Raises:
        LimitError: More than :data:`LARGEST` of them.
    """
    values = solved.values
    place: dict[int, int] = {}
    order: list[int] = []

    def number(node: int) -> int:
        node = solved.real(node)
        if node not in place:
            place[node] = len(order)
            order.append(node)
        return place[node]

    kept = _without_spills(solved, arguments)
    effects = tuple(tuple(number(node) for node in own) for own in kept)
    args: list[tuple[int, ...]] = []
    data: list[int] = []
    done = 0
    while done < len(order):
        node = order[done]
        args.append(tuple(number(arg) for arg in values.args[node]))
        after = values.data[node]
        # The memory of a load is an effect, and effects have their numbers already; 0 is that of the entry.
        data.append(place.get(after, 0) + 1 if values.ops[node] == "LOAD" and after > 0 else after)
        done += 1
        if done > LARGEST:
            raise LimitError(f"more than {LARGEST} values to compare in one function")
    return Computation(
        ops=tuple(values.ops[node] for node in order),
        sizes=tuple(values.sizes[node] for node in order),
        args=tuple(args),
        data=tuple(data),
        ways=tuple(
            tuple((number(way.value), way.source, way.target) for way in solved.ways.get(node, ()))
            for node in order
        ),
        effects=effects,
        successors=tuple(tuple(piece.successors) for piece in flow.pieces),
        taken=tuple(piece.taken for piece in flow.pieces),
        entries=tuple(piece.entries for piece in flow.pieces),
        arguments=tuple(arguments),
        bias=bias,
        opaque=flow.opaque,
    )


def _without_spills(solved: Solved, arguments: list[int]) -> list[list[int]]:
    """The effects without stores to the stack that nobody else can see.

    Those at or above the lowest address that is handed out may be seen, but for registers that are kept for the caller.
    """
    values = solved.values
    waiting = [node for own in solved.effects for node in own if values.ops[node] != "LOCAL"]
    waiting += [values.args[node][1] for own in solved.effects for node in own if values.ops[node] == "LOCAL"]
    seen: set[int] = set()
    handed = 0
    while waiting:
        node = solved.real(waiting.pop())
        if node in seen:
            continue
        seen.add(node)
        op, args = values.ops[node], values.args[node]
        for place, arg in enumerate(args):
            real = solved.real(arg)
            if values.ops[real] == "STACK" and not (op in ("LOAD", "STORE") and place == 0):
                handed = min(handed, values.data[real])
        waiting += args
    # So is an address that lies in what others see.
    stored = [values.args[node] for own in solved.effects for node in own if values.ops[node] == "LOCAL"]
    pairs = [(solved.real(place), solved.real(value)) for place, value in stored]
    lying = [(values.data[a], values.data[b]) for a, b in pairs if values.ops[b] == "STACK"]
    while (lower := min((b for a, b in lying if handed <= a), default=0)) < handed < 0:
        handed = lower

    def seen_by_others(node: int) -> bool:
        place, value = (solved.real(arg) for arg in values.args[node])
        saved = values.ops[value] == "ENTRY" and values.data[value] not in arguments
        return handed <= values.data[place] and handed < 0 and not saved

    return [
        [node for node in own if values.ops[node] != "LOCAL" or seen_by_others(node)]
        for own in solved.effects
    ]
