"""Objects of processors whose calls only relocations tell, and the pairs of instructions that reach far on RISC-V."""

import capstone
import pytest

from weft.bcsd.architectures import architecture_named
from weft.bcsd.architectures.architecture import Called
from weft.bcsd.architectures.riscv64.relocations import RISCV, pair_distance
from weft.bcsd.disassemble.interface import ReferenceKind
from weft.bcsd.read.image import Image, Region

BASE = 0x10000
RISCV64 = architecture_named("riscv64")


@pytest.mark.parametrize("processor", ["riscv64", "ppc64"])
def test_an_objects_calls_lead_where_its_relocations_say(functions_of, processor):
    _, found = functions_of(f"llvm-{processor}.o")
    assert set(found) == {"own", "f", "t", "u"}
    assert set(found["f"].imports) == set(found["u"].imports) == {"ext"}
    assert found["f"].callees == found["t"].callees == [found["own"].address]
    kinds = [reference.kind for _, reference in sorted(found["f"].references.items())]
    assert kinds == [ReferenceKind.CALL_EXTERNAL, ReferenceKind.CALL_INTERNAL]
    assert not any("cfg_incomplete" in one.flags for one in found.values())
    assert len(found["own"].blocks) == 3


def test_far_tail_calls_of_riscv_are_no_unresolved_jumps(functions_of):
    _, found = functions_of("llvm-riscv64.o")
    (inside,), (outside,) = (found[name].references.values() for name in ("t", "u"))
    assert inside.kind == ReferenceKind.TAIL_INTERNAL
    assert outside.kind == ReferenceKind.TAIL_EXTERNAL


@pytest.mark.parametrize("value", [0, 4, 2046, 2048, -2048, -2050, 0x12345678, -0x12345678])
def test_a_pair_leads_where_it_was_told_to(value):
    field = bytes.fromhex("97000000e7800000")
    filled = RISCV[19].apply(field, BASE + value, 0, BASE, big_endian=False)
    assert pair_distance(int.from_bytes(filled, "little")) == value


@pytest.mark.parametrize(
    ("kind", "field", "reach"),
    [
        (16, "e3000000", (4094, -4096, 2048, 32, 2)),
        (17, "6f000000", (1048574, -65536, 2048, 4096, 2)),
        (44, "01c1", (254, -256, 32, 2, 64)),
        (45, "01a0", (2046, -2048, 16, 32, 64, 128, 256, 512, 1024, 2)),
    ],
)
def test_branches_lead_where_they_were_told_to(kind, field, reach):
    decoder = capstone.Cs(capstone.CS_ARCH_RISCV, capstone.CS_MODE_RISCV64 | capstone.CS_MODE_RISCVC)
    for value in reach:
        filled = RISCV[kind].apply(bytes.fromhex(field), BASE + value, 0, BASE, big_endian=False)
        (_, _, mnemonic, operands) = next(decoder.disasm_lite(filled, BASE))
        assert RISCV64.flow_at(BASE, mnemonic, operands).target == BASE + value


def test_a_pair_of_two_registers_or_to_no_code_calls_nothing_known():
    def called(code):
        held = bytes.fromhex(code)
        region = Region(".text", BASE, memoryview(held), len(held), True, False)
        image = Image("made", "elf", "riscv64", False, True, [region], [region])
        lines = [*RISCV64.decoder(image, BASE).disasm_lite(held, BASE)]
        return RISCV64.called(image, lines, len(lines) - 1)

    assert called("97000000" + "e7800000") == Called(None, BASE)
    assert called("97000000" + "e7000300") == Called()
    assert called("97000001" + "e7800000") == Called()
    assert called("97000000" + "0100" + "e7800000") == Called()
    assert called("e7800000") == Called()
