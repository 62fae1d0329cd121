"""The default lifter: Ghidra's p-code by way of ``pypcode``, and a single-assignment pass of our own."""

from __future__ import annotations

from contextlib import suppress

import pypcode

from weft.bcsd.lift.code import FunctionCode, Surroundings
from weft.bcsd.lift.decode.flow import Flow, build_flow
from weft.bcsd.lift.decode.processors import PROCESSORS, Processor
from weft.bcsd.lift.decode.units import Units
from weft.bcsd.lift.features.bag import Bagger, hashed
from weft.bcsd.lift.features.graph import operation_graph
from weft.bcsd.lift.interface import Lifted, Lifter
from weft.bcsd.lift.solve.computation import Computation, computation
from weft.bcsd.lift.solve.fixed import BIAS
from weft.bcsd.lift.solve.joins import Solved, steady_joins
from weft.bcsd.lift.solve.ssa import Solver
from weft.bcsd.lift.version import lifter_name
from weft.errors import InputError, LimitError


class PcodeLifter(Lifter):
    """P-code in single assignment. SLEIGH can crash: use :class:`weft.bcsd.lift.apart.bounded.BoundedLifter`."""

    def __init__(self) -> None:
        self.name = lifter_name(pypcode.__version__)
        self._units: dict[tuple[str, bool], Units] = {}

    def lift(self, code: FunctionCode, around: Surroundings, *, graph: bool = False) -> Lifted:
        """See the base class."""
        solved, flow, _ = self._solve(code, around, thorough=False)
        bagger = Bagger(solved, around)
        features = tuple(hashed(bagger.features()))
        if not graph:
            return Lifted(features, opaque=flow.opaque)
        return Lifted(features, *operation_graph(solved, flow, bagger), flow.opaque)

    def compute(self, code: FunctionCode, around: Surroundings) -> Computation:
        """All that a function computes.

        Raises:
            InputError: The processor is not known.
            LimitError: The function is too large to be worked out.
        """
        solved, flow, units = self._solve(code, around, thorough=True)
        return computation(solved, flow, units.arguments, BIAS[around.word])

    def _solve(
        self, code: FunctionCode, around: Surroundings, *, thorough: bool
    ) -> tuple[Solved, Flow, Units]:
        processor = processor_of(around)
        units = self._units.get((processor.language, thorough))
        if units is None:
            units = self._units[processor.language, thorough] = Units(processor, thorough=thorough)
        flow = build_flow(code, processor, units, around.thunks if thorough else None)
        solver = Solver(code, around, processor, units, flow)
        solved = solver.solve()
        missed = thorough and not solver.forgetful and solver.missed()
        steady = steady_joins(solved, solver.open, around) if thorough and processor.global_pointer else {}
        if missed or steady:
            # Where the second pass makes too many values, what the first one saw stays.
            late = solver.stored if missed else solver.late
            with suppress(LimitError):
                solved = Solver(code, around, processor, units, flow, late, steady).solve()
        return solved, flow, units


def processor_of(around: Surroundings) -> Processor:
    """The processor of a file.

    Raises:
        InputError: It is not known.
    """
    processor = PROCESSORS.get((around.architecture, around.big_endian, around.word))
    if processor is None:
        order = "big-endian" if around.big_endian else "little-endian"
        raise InputError(f"no lifting for {around.architecture}, {8 * around.word} bits, {order}")
    return processor
