"""Lifting in a process of its own: SLEIGH can crash on bytes that are no code, and a function may be endless.

A function that kills the process, takes too long or too much memory has no features and is counted; a fresh process
goes on with the next one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weft.bcsd.lift.apart.process import lift_process
from weft.bcsd.lift.apart.wire import pack_code, pack_surroundings, unpack_computation, unpack_graph
from weft.bcsd.lift.cache import LiftCache
from weft.bcsd.lift.code import FunctionCode, Surroundings
from weft.bcsd.lift.solve.computation import Computation


@dataclass(frozen=True)
class LiftLimits:
    """What one function may take.

    Args:
        seconds: Processor time.
        mebibytes: Address space of the process.
        deaths: Processes that one file may use up before the rest of it is given up.
    """

    seconds: float = 20.0
    mebibytes: int = 2048
    deaths: int = 20


class BoundedLifter:
    """Lifts the functions of one file, one after another.

    Args:
        around: The file.
        limits: Per function.
        cache: What is known of the file; None for nothing.

    Attributes:
        lifted: Functions that came back.
        failed: Functions that have no features.
        deaths: Processes that died or were killed.
    """

    def __init__(
        self, around: Surroundings, limits: LiftLimits | None = None, cache: LiftCache | None = None
    ) -> None:
        self._around = pack_surroundings(around)
        self._cache = cache
        self._limits = limits or LiftLimits()
        self.lifted = self.failed = self.deaths = 0

    def features(self, code: FunctionCode) -> NDArray[np.uint16] | None:
        """The features of a function, sorted; None where it cannot be lifted.

        Raises:
            LimitError: No process can be started.
        """
        packed = pack_code(code)
        answer = None if self._cache is None else self._cache.get(packed)
        if answer is not None:
            self.lifted += 1
            return np.frombuffer(answer, np.uint16)
        answer = self._answer(b"C" + packed)
        if answer is None:
            return None
        if self._cache is not None:
            self._cache.put(packed, answer)
        return np.frombuffer(answer, np.uint16)

    def graph(self, code: FunctionCode) -> tuple[NDArray[np.uint16], NDArray[np.uint32]] | None:
        """The graph of a function's operations; None where it cannot be lifted.

        Returns:
            ``(operations, 3)`` codes and ``(edges, 3)`` source, target, kind: see
            :class:`weft.bcsd.lift.interface.Lifted`.

        Raises:
            LimitError: No process can be started.
        """
        answer = self._answer(b"O" + pack_code(code))
        if answer is None:
            return None
        codes, edges = unpack_graph(answer)
        return np.frombuffer(codes, np.uint16).reshape(-1, 3), np.frombuffer(edges, np.uint32).reshape(-1, 3)

    def compute(self, code: FunctionCode) -> Computation | None:
        """All that a function computes; None where it cannot be lifted.

        Raises:
            LimitError: No process can be started.
        """
        answer = self._answer(b"G" + pack_code(code))
        return None if answer is None else unpack_computation(answer)

    def _answer(self, message: bytes) -> bytes | None:
        answer = self._ask(message) if self.deaths < self._limits.deaths else None
        if answer is None or answer[:1] != b"+":
            self.failed += 1
            return None
        self.lifted += 1
        return answer[1:]

    def _ask(self, message: bytes) -> bytes | None:
        process = lift_process(self._limits.mebibytes)
        if process.owner is not self:
            process.tell(b"F" + self._around)
            process.owner = self
        answer = process.ask(message, self._limits.seconds) if process.alive else None
        self.deaths += answer is None
        return answer
