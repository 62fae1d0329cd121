"""What every lifter hands over, and the one method it must have."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weft.bcsd.lift.code import FunctionCode, Surroundings


class OperationEdge(IntEnum):
    """How one operation depends on another."""

    DATA = 0  # it reads the other's result: as its first operand, or where order says nothing
    MEMORY = 1  # it reads what the other may have written
    CONTROL = 2  # it happens only if the other, a branch, goes its way
    EFFECT = 3  # it happens after the other: the order of stores, calls and returns
    LATER = 4  # it reads the other's result as an operand behind the first


@dataclass(frozen=True)
class Lifted:
    """What a function computes.

    Args:
        features: Hashes of its operations, each with its operands' operations, of 16 bits; sorted and distinct.
        operations: Each operation that matters, by name, effects first; a size in bytes follows those of memory. A
            constant is its number, an address inside the file ``@``.
        codes: Each operation as numbers of 16 bits: its name alone, with its operands' names, with theirs.
        edges: ``(source, target, kind)``, indices into ``operations``; ``source`` depends on ``target``.
        opaque: Instructions that could not be lifted and count as doing nothing.
    """

    features: tuple[int, ...]
    operations: tuple[str, ...] = ()
    codes: tuple[tuple[int, int, int], ...] = ()
    edges: tuple[tuple[int, int, OperationEdge], ...] = ()
    opaque: int = 0


class Lifter(ABC):
    """Turns the bytes of functions into operations.

    Attributes:
        name: Of the lifter, with the version of what it stands on: part of every table.
    """

    name: str

    @abstractmethod
    def lift(self, code: FunctionCode, around: Surroundings, *, graph: bool = False) -> Lifted:
        """Lift one function.

        Args:
            code: The function.
            around: Its file.
            graph: Whether operations and edges are wanted, and not the features alone.

        Raises:
            InputError: The processor is not known.
            LimitError: The function is too large to be worked out.
        """
