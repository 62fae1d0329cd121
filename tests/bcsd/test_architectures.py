"""A processor family is one folder and one line: nothing outside of it asks for an architecture's name."""

import ast
from pathlib import Path

import pytest

import weft.bcsd
from weft.bcsd.architectures import FAMILIES, all_architectures, architecture_named, for_machine
from weft.bcsd.architectures.architecture import FlowKind

ROOM = Path(weft.bcsd.__file__).parent
NAMES = [name for names in FAMILIES.values() for name in names]
#: smda reads x86 and nothing else; the others name what the data set builds, what models were trained on, and what
#: the lifter's engine calls each processor.
NAMED_ELSEWHERE = {
    "disassemble/smda.py",
    "dataset/compile.py",
    "dataset/config.py",
    "use/named.py",
    "lift/decode/processors.py",
}


def test_the_table_and_the_folders_agree():
    assert [architecture.name for architecture in all_architectures()] == NAMES
    assert len(set(NAMES)) == len(NAMES)
    for name in NAMES:
        assert architecture_named(name).name == name
    folders = {path.name for path in (ROOM / "architectures").iterdir() if (path / "__init__.py").exists()}
    assert folders == set(FAMILIES)
    with pytest.raises(KeyError):
        architecture_named("z80")


def test_no_code_outside_the_folders_names_an_architecture():
    asking = set()
    for path in ROOM.rglob("*.py"):
        place = path.relative_to(ROOM).as_posix()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and node.value in NAMES:
                asking.add(place)
    outside = {place for place in asking if not place.startswith("architectures/")}
    assert outside <= NAMED_ELSEWHERE


def test_a_machine_of_a_file_header_has_one_architecture():
    assert for_machine("elf", "X86_64", 64) is architecture_named("x86_64")
    # A 32-bit file for a 64-bit processor (x32) is read as the only architecture of that name.
    assert for_machine("elf", "X86_64", 32) is architecture_named("x86_64")
    assert for_machine("pe", "ARM64") is architecture_named("aarch64")
    assert for_machine("elf", "ARM64") is None


def test_returns_of_arm_as_go_writes_them():
    arm = architecture_named("arm")
    for operands in ("pc, [sp], #4", "pc, [sp], #0x5c", "pc, [sp], #8"):
        assert arm.flow_at(0, "ldr", operands).kind == FlowKind.RETURN
        assert arm.flow_at(0, "ldreq", operands).kind == FlowKind.RETURN_IF
    for mnemonic, operands in (("mov", "pc, lr"), ("add", "pc, lr, #0")):
        assert arm.flow_at(0, mnemonic, operands).kind == FlowKind.RETURN
    assert arm.flow_at(0, "add", "pc, lr, #8").kind == FlowKind.INDIRECT_JUMP
    for operands in ("pc, [sp, #4]", "pc, [sp], #-4", "pc, [r3], #4"):
        assert arm.flow_at(0, "ldr", operands).kind == FlowKind.INDIRECT_JUMP
