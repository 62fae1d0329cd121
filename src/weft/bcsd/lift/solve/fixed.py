"""What lies at a fixed address, where the file tells: a constant among the code, a pointer."""

from __future__ import annotations

from weft.bcsd.lift.code import FunctionCode, Surroundings
from weft.bcsd.lift.solve.values import SYMBOL, Values

#: What addresses that count from the instruction are moved by, so that no plain number is taken for one.
BIAS = {4: 0x6000_0000, 8: 0x2000_0000_0000}


def is_address(around: Surroundings, number: int) -> bool:
    """Whether a number is an address of the file, or the page of one, moved or not."""
    return around.reaches(number - BIAS[around.word]) or (around.fixed_base and around.reaches(number))


def constant_at(
    values: Values, code: FunctionCode, around: Surroundings, number: int, size: int
) -> int | None:
    """The node of what lies at an address, moved or not; None where that is not known."""
    for address in (number - BIAS[around.word], number):
        if address < 0 or not around.maps(address):
            continue
        if code.address <= address < code.end and code.data:
            start = address - code.address
            raw = code.data[start : start + size]
            return values.const(int.from_bytes(raw, "big" if around.big_endian else "little"), size)
        if size == around.word and (held := around.held.get(address)) is not None:
            # An address, or the page of one: other numbers (offsets of thread-local data) stay as they are.
            return values.const(held + BIAS[size] if around.reaches(held) else held, size)
        if size == around.word and around.is_pointer(address):
            return values.same(SYMBOL, size, (), address)
    return None
