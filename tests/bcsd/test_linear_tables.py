"""Jump tables of the processors that build a target from sums: made code, one form after another."""

import pytest

from weft.bcsd.architectures import architecture_named
from weft.bcsd.architectures.backward import Backward
from weft.bcsd.architectures.x86 import got_tables
from weft.bcsd.read.image import Image, Region

BASE, TABLE = 0x10000, 0x20000
CASES = [BASE + 0x40, BASE + 0x50, BASE + 0x60]


def made(architecture, lines, table=b"", thumb=False, size=0x100):
    """An image of nothing but a table, and the instructions as capstone would print them, four bytes each."""
    code = Region(".text", BASE, memoryview(bytes(size)), size, True, False)
    data = Region(".rodata", TABLE, memoryview(table or b"\0"), max(len(table), 1), False, False)
    image = Image("made", "elf", architecture, False, True, [code], [code, data])
    if thumb:
        image.thumb.add(BASE)
    instructions = [(BASE + 4 * number, 4, *(line.partition(" ")[::2])) for number, line in enumerate(lines)]
    return image, instructions


def targets(architecture, lines, table=b"", **more):
    image, instructions = made(architecture, lines, table, **more)
    addresses = [line[0] for line in instructions]
    backward = Backward(instructions, addresses, set(), {}, (BASE, BASE + 0x100), [])
    found = architecture_named(architecture).find_table(
        image, instructions, len(instructions) - 1, backward, lambda at: at % 2 == 0
    )
    return None if found is None else found.targets


def words(*values, size=4):
    return b"".join((value & (1 << 8 * size) - 1).to_bytes(size, "little") for value in values)


FROM_TABLE = words(*(case - TABLE for case in CASES))
MADE = {
    "arm, addresses": (
        "arm",
        ["adr r2, #0xfff8", "cmp r3, #2", "bhi #0x10090", "ldr pc, [r2, r3, lsl #2]"],
        words(*CASES),
    ),
    "arm, distances": (
        "arm",
        ["adr r1, #0xfff8", "cmp r0, #2", "bhi #0x10090", "ldr r0, [r1, r0, lsl #2]", "add pc, r0, r1"],
        FROM_TABLE,
    ),
    "mips, addresses in the frame": (
        "mips",
        [
            *(
                "lui $v1, 2",
                "addiu $v1, $v1, 0",
                "sw $v1, 0x10($sp)",
                "sltiu $v0, $a0, 3",
                "beqz $v0, 0x10090",
            ),
            *("sll $a0, $a0, 2", "lw $v1, 0x10($sp)", "addu $a0, $v1, $a0", "lw $v0, ($a0)", "jr $v0"),
        ],
        words(*CASES),
    ),
    "mips, distances from gp": (
        "mips",
        [
            *(
                "lui $gp, 1",
                "addiu $gp, $gp, 0",
                "addu $gp, $gp, $t9",
                "sltiu $v0, $a0, 3",
                "sll $a0, $a0, 2",
            ),
            *("addu $v1, $gp, $a0", "lw $gp, 0x10($sp)", "lw $v0, ($v1)", "addu $v0, $v0, $gp", "jr $v0"),
        ],
        FROM_TABLE,
    ),
    "ppc64": (
        "ppc64",
        [
            *("lis r10, 2", "cmplwi cr7, r9, 2", "bgt cr7, 0x10090", "sldi r9, r9, 2", "lwax r9, r10, r9"),
            *("add r9, r9, r10", "mtctr r9", "bctr "),
        ],
        FROM_TABLE,
    ),
    "riscv64": (
        "riscv64",
        [
            *("c.li a4, 2", "auipc a5, 0x10", "addi a5, a5, -4", "bltu a4, a0, 0x80", "slli a0, a0, 2"),
            *("add a0, a0, a5", "c.lw a0, 0(a0)", "c.add a0, a5", "c.jr a0"),
        ],
        FROM_TABLE,
    ),
}


@pytest.mark.parametrize("form", MADE)
def test_a_table_leads_where_its_entries_say(form):
    architecture, lines, table = MADE[form]
    assert targets(architecture, lines, table) == CASES
    # Without the comparison nothing says where the table ends.
    bare = [line for line in lines if not line.startswith(("cmp", "sltiu", "bltu"))]
    assert targets(architecture, bare, table) is None


def test_halfwords_behind_a_thumb_jump_count_twice_from_behind_it():
    arm = architecture_named("arm")
    image, instructions = made("arm", ["cmp r0, #2", "bhi #0x10090", "tbh [pc, r0, lsl #1]"], thumb=True)
    entries = words(*((case - BASE - 12) // 2 for case in CASES), size=2)
    image.code[0] = Region(".text", BASE, memoryview(bytes(12) + entries + bytes(64)), 0x100, True, False)
    image.data[0] = image.code[0]
    backward = Backward(instructions, [line[0] for line in instructions], set(), {}, (BASE, BASE + 0x100), [])
    found = arm.find_table(image, instructions, 2, backward, lambda at: True)
    assert found is not None
    assert found.targets == CASES


def test_as_many_jumps_behind_an_a32_jump():
    assert targets("arm", ["cmp r3, #2", "addls pc, pc, r3, lsl #2"]) == [BASE + 12, BASE + 16, BASE + 20]


def test_targets_may_lie_in_a_part_of_its_own_but_not_all_of_them():
    away = BASE + 0x2000
    lines = MADE["arm, addresses"][1]
    assert targets("arm", lines, words(CASES[0], away, CASES[2])) == [CASES[0], away, CASES[2]]
    assert targets("arm", lines, words(away, away, away)) is None


THUNK, GOT = bytes.fromhex("f30f1efb8b1c24c3"), TABLE + 0x1000
GET = [f"call {BASE + 0x80:#x}", f"add ebx, {GOT - BASE - 4:#x}"]
I386 = {
    "loaded and added": [
        *("cmp eax, 2", "ja 0x10090", "mov edx, dword ptr [ebx + eax*4 - 0x1000]", "add edx, ebx"),
    ],
    "added in place": [
        *("cmp al, 2", "ja 0x10090", "movzx edx, al", "mov ecx, ebx"),
        *("add ecx, dword ptr [ebx + edx*4 - 0x1000]", "mov edx, ecx"),
    ],
    "from the frame, wherever its end is": [
        *("sub esp, 0x10", "mov dword ptr [esp + 8], ebx", "sub esp, 8", "nop "),
        *("mov edx, dword ptr [esp + 0x10]", "cmp eax, 2", "ja 0x10090", "lea esi, [esi]"),
        "add edx, dword ptr [edx + eax*4 - 0x1000]",
    ],
    "in steps": [
        *("cmp dword ptr [ebp - 8], 2", "ja 0x10090", "mov eax, dword ptr [ebp - 8]", "shl eax, 2"),
        *("lea edx, [ebx - 0x1000]", "mov edx, dword ptr [eax + edx]", "add edx, ebx"),
    ],
}


def i386_targets(lines, entries):
    image, instructions = made("i386", [*GET, *lines, "jmp edx"], words(*entries))
    image.code[0] = Region(".text", BASE, memoryview(bytes(0x80) + THUNK + bytes(0x80)), 0x108, True, False)
    image.data[0] = image.code[0]
    addresses = [line[0] for line in instructions]
    backward = Backward(instructions, addresses, set(), {}, (BASE, BASE + 0x100), [])
    find = architecture_named("i386").find_table
    found = find(image, instructions, len(instructions) - 1, backward, lambda at: at % 2 == 0)
    return None if found is None else found.targets


@pytest.mark.parametrize("form", I386)
def test_position_independent_i386_counts_from_the_global_offset_table(form):
    entries = [case - GOT for case in CASES]
    assert i386_targets(I386[form], entries) == CASES
    bare = [line for line in I386[form] if not line.startswith("cmp")]
    assert i386_targets(bare, entries) is None
    # Another comparison than one for "above" says nothing of how many there are.
    assert i386_targets([line.replace("ja ", "jg ") for line in I386[form]], entries) is None


def test_a_byte_has_256_values():
    lines = ["movzx eax, byte ptr [esp + 4]", *I386["loaded and added"][2:]]
    assert i386_targets(lines, [CASES[number % 3] - GOT for number in range(256)]) is not None
    assert i386_targets(lines, [CASES[number % 3] - GOT for number in range(255)]) is None


def test_a_constant_is_found_where_the_nearest_path_tells_nothing():
    """The block of the table is reached by a jump from the head alone; in front of it another path has ended."""
    lines = [
        "auipc a5, 0x10",
        "addi a5, a5, 0",
        "addi s1, zero, 2",
        "c.beqz a1, 0xc",
        "ld a5, 8(a2)",
        "c.jr ra",
    ]
    lines += [
        "bltu s1, a0, 0x80",
        "slli a0, a0, 2",
        "add a0, a0, a5",
        "c.lw a0, 0(a0)",
        "c.add a0, a5",
        "c.jr a0",
    ]
    image, instructions = made("riscv64", lines, FROM_TABLE)
    addresses = [line[0] for line in instructions]
    for sources, wanted in (({6: [3]}, CASES), ({6: [3, 4]}, None)):
        backward = Backward(instructions, addresses, {5}, sources, (BASE, BASE + 0x100), [])
        find = architecture_named("riscv64").find_table
        found = find(image, instructions, len(instructions) - 1, backward, lambda at: at % 2 == 0)
        assert (None if found is None else found.targets) == wanted


def test_a_field_of_s0_is_no_place_in_the_frame():
    lines = [
        "c.li a5, 2",
        "bltu a5, s0, 0x80",
        "auipc a4, 0x10",
        "addi a4, a4, -8",
        "c.slli s0, 2",
        "c.add s0, a4",
    ]
    lines += ["c.lw a5, 0(s0)", "c.add a5, a4", "c.jr a5"]
    assert targets("riscv64", lines, FROM_TABLE) == CASES


def test_what_an_index_was_before_a_loop_is_not_what_it_is():
    lines = ["move $s0, $zero", "lui $v1, 2", "sltiu $v0, $s0, 3", "beqz $v0, 0x10090", "sll $v0, $s0, 2"]
    lines += ["addu $v0, $v0, $v1", "lw $v0, ($v0)", "jr $v0"]
    assert targets("mips", lines, words(*CASES)) == CASES


def test_what_the_index_register_held_for_another_value_is_known():
    # $v0 is half of $s0, and then the index.
    lines = [
        "lui $v0, 2",
        "addu $s0, $v0, $zero",
        "addiu $v0, $a0, -100",
        "sltiu $at, $v0, 3",
        "beqz $at, 0x10090",
    ]
    lines += ["sll $at, $v0, 2", "addu $at, $at, $s0", "lw $at, ($at)", "jr $at"]
    assert targets("mips", lines, words(*CASES)) == CASES


def test_the_depths_of_a_stack_are_worked_out_once_for_all_jumps_of_a_function(monkeypatch):
    image, instructions = made("i386", [*GET, *I386["loaded and added"], "jmp edx"] * 40, words(1, 2, 3))
    worked = []
    depths = got_tables._depths

    def counted(instructions):
        worked.append(len(instructions))
        return depths(instructions)

    monkeypatch.setattr(got_tables, "_depths", counted)
    addresses = [line[0] for line in instructions]
    backward = Backward(instructions, addresses, set(), {}, (BASE, BASE + 0x1000), [])
    jumps = [number for number, line in enumerate(instructions) if line[2] == "jmp"]
    for jump in jumps:
        got_tables.find_table(image, instructions, jump, backward, lambda at: True)
    assert len(jumps) == 40
    assert worked == [len(instructions)]
