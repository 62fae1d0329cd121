"""The steps to a jump table: the walk against the flow, the bound of the index, the addresses, the entries."""

from __future__ import annotations

import pytest

from weft.bcsd.architectures import architecture_named
from weft.bcsd.architectures.backward import Backward
from weft.bcsd.architectures.index_bound import Step, StepKind, index_bound
from weft.bcsd.architectures.jump_table import Table
from weft.bcsd.architectures.x86.addresses import relative_to_instruction
from weft.bcsd.architectures.x86.jump_tables import find_table
from weft.bcsd.read.image import Image, Region, UnwindRange

ABOVE, COMPARE, COPY, MASK, OTHER = StepKind
JA = Step(ABOVE, value=1)


@pytest.mark.parametrize(
    ("steps", "bound"),
    [
        ([JA, Step(COMPARE, "rax", value=5)], 6),
        ([Step(ABOVE, value=0), Step(COMPARE, "rax", value=5)], 5),
        ([Step(COMPARE, "rax", value=5)], None),
        ([Step(MASK, "rax", value=7)], 8),
        ([Step(COPY, "rax", "rcx"), JA, Step(COMPARE, "rcx", value=5)], 6),
        # The index was another name's value when that register was compared.
        ([Step(COPY, "rax", "rcx"), JA, Step(COMPARE, "rax", value=5)], None),
        # A copy of the index is compared; the copy stands before the comparison.
        ([JA, Step(COMPARE, "rdx", value=5), Step(COPY, "rdx", "rax")], 6),
        ([JA, Step(COMPARE, "rdx", value=5), Step(OTHER, "rdx"), Step(COPY, "rdx", "rax")], None),
    ],
)
def test_the_bound_of_an_index(steps: list[Step], bound: int | None) -> None:
    assert index_bound(steps, {"rax"}) == bound


def backward(count: int, **known) -> Backward:
    instructions = [(4 * number, 4, "nop", "") for number in range(count)]
    values = {"ends": set(), "sources": {}, "bounds": (0, 4 * count), "taken": []} | known
    return Backward(instructions, [4 * number for number in range(count)], **values)


def test_of_several_jumps_the_nearest_is_followed() -> None:
    seen = backward(10, ends={5}, sources={6: [1, 9, 3]}).walk(6, 3)
    assert list(seen) == [3, 2, 1]


def test_what_reaches_an_instruction_over_all_paths() -> None:
    seen = backward(10, ends={5}, sources={6: [1], 8: [2]})
    assert sorted(seen.reaching(9, lambda index: index in (0, 2), 100)) == [0, 2]
    assert seen.reaching(9, lambda index: index in (0, 2), 3) == []


def test_a_table_ends_at_the_next_address_that_is_computed() -> None:
    code = backward(4, taken=[0x20, 0x10])
    assert [code.next_address_taken(address) for address in (0x0F, 0x10, 0x20)] == [0x10, 0x20, None]


def image(data: bytes) -> Image:
    """Code at 0x1000 and data at 0x2000."""
    code = Region("code", 0x1000, memoryview(bytes(0x40)), 0x40, executable=True, writable=False)
    table = Region("data", 0x2000, memoryview(data), len(data), executable=False, writable=False)
    return Image("a", "elf", "x86_64", False, False, [code], [code, table])


def table_of(targets: list[int], taken: list[int]) -> Table | None:
    """The table at 0x2000 that a jump without a bound goes through."""
    instructions = [
        (0x1000, 7, "lea", "rdx, [rip + 0xff9]"),
        (0x1007, 4, "movsxd", "rax, dword ptr [rdx + rax*4]"),
        (0x100B, 3, "add", "rax, rdx"),
        (0x100E, 2, "jmp", "rax"),
    ]
    data = b"".join((target - 0x2000).to_bytes(4, "little", signed=True) for target in targets)
    walk = Backward(instructions, [line[0] for line in instructions], set(), {}, (0x1000, 0x1040), taken)
    return find_table(image(data), instructions, 3, walk, lambda address: 0x1000 <= address < 0x1040)


def test_without_a_bound_a_table_ends_where_the_next_begins() -> None:
    targets = [0x1010, 0x1020, 0x1030, 0x1010]
    assert table_of(targets, [0x2000]) == Table(targets, bounded=False)
    assert table_of(targets, [0x2000, 0x2008]) == Table(targets[:2], bounded=False)
    assert table_of([*targets[:3], 0x1040], [0x2000]) == Table(targets[:3], bounded=False)


def test_addresses_and_slots_are_counted_from_the_next_instruction() -> None:
    lines = [(0x1000, 7, "lea", "rax, [rip + 0x10]"), (0x1007, 3, "mov", "rax, rbx")]
    assert relative_to_instruction(lines) == [(0, 0x1017)]
    x86 = architecture_named("x86_64")
    assert x86.slot((0x1000, 6, "call", "qword ptr [rip + 0x10]")) == 0x1016
    assert x86.slot((0x1000, 6, "jmp", "qword ptr [0x3000]")) == 0x3000
    assert x86.slot((0x1000, 6, "jmp", "qword ptr [rax*8 + 0x3000]")) is None


def test_a_chained_entry_is_a_part_of_a_function() -> None:
    words = [(0x1000, 0x1010, 0x2000), (0x1010, 0x1020, 0x2004)]
    table = b"".join(number.to_bytes(4, "little") for entry in words for number in entry)
    # The first byte of the unwind information: version 1, flags above; 4 says that the entry is chained.
    found = architecture_named("x86_64").exceptions(image(bytes([1, 0, 0, 0, 1 | 4 << 3])), table, 0)
    assert found == [UnwindRange(0x1000, 0x1010), UnwindRange(0x1010, 0x1020, part=True)]
