"""The values of a function: each distinct computation is one node, simplified as it is made.

Sizes are bytes. A node is an index into parallel lists. Equal computations are the same node, so that rules
compare by index.
"""

from __future__ import annotations

from weft.bcsd.lift.solve.rules import RULES

#: Leaves and joins; all other operations are p-code's, without their prefixes.
CONST, STACK, ENTRY, UNDEFINED, PHI, SYMBOL = "CONST", "STACK", "ENTRY", "UNDEFINED", "PHI", "SYMBOL"
#: Operations that yield 0 or 1.
BOOLEAN = frozenset(
    {
        "EQUAL",
        "SLESS",
        "LESS",
        "NOT",
        "BOOL_AND",
        "BOOL_OR",
        "BOOL_XOR",
        "CARRY",
        "SCARRY",
        "SBORROW",
        "FLOAT_EQUAL",
        "FLOAT_LESS",
        "FLOAT_LESSEQUAL",
        "FLOAT_NAN",
    }
)


class Values:
    """A growing graph of values.

    Attributes:
        ops: What each node does.
        sizes: Bytes of its result.
        args: Its operands; those of a join are filled in later.
        pieces: What parts of nodes are.
        data: A constant's number, the offset of an address on the stack, the memory that a load reads.
    """

    def __init__(self) -> None:
        self.ops: list[str] = []
        self.sizes: list[int] = []
        self.args: list[tuple[int, ...]] = []
        self.data: list[int] = []
        self.pieces: dict[tuple[int, int, int], int] = {}
        self._known: dict[tuple[object, ...], int] = {}

    def __len__(self) -> int:
        return len(self.ops)

    def new(self, op: str, size: int, args: tuple[int, ...] = (), data: int = 0) -> int:
        """A node of its own: effects and joins are never the same as another."""
        self.ops.append(op)
        self.sizes.append(size)
        self.args.append(args)
        self.data.append(data)
        return len(self.ops) - 1

    def same(self, op: str, size: int, args: tuple[int, ...] = (), data: int = 0) -> int:
        """The node of this computation, made if there is none."""
        key = (op, size, args, data)
        node = self._known.get(key)
        if node is None:
            node = self._known[key] = self.new(op, size, args, data)
        return node

    def const(self, value: int, size: int) -> int:
        """A number, cut to its size."""
        return self.same(CONST, size, (), value & ((1 << 8 * size) - 1))

    def stack(self, offset: int, size: int) -> int:
        """An address on the stack, counted from the stack pointer at entry."""
        return self.same(STACK, size, (), offset)

    def make(self, op: str, size: int, args: tuple[int, ...]) -> int:
        """The simplest known node for an operation."""
        rule = RULES.get(op)
        if rule is not None:
            simpler = rule(self, size, args)
            if simpler is not None:
                return simpler
        return self.same(op, size, args)

    def number(self, node: int) -> int | None:
        """The value of a constant; None of anything else."""
        return self.data[node] if self.ops[node] == CONST else None

    def is_boolean(self, node: int) -> bool:
        """Whether a node is 0 or 1."""
        op = self.ops[node]
        return op in BOOLEAN or (op == CONST and self.data[node] < 2)
