"""Functions of assembly that no symbol calls functions, and labels that begin none."""

import subprocess

import pytest

from weft.bcsd.disassemble.native import NativeDisassembler
from weft.bcsd.read import open_image
from weft.bcsd.read.elf_lief import lief_view, parse_elf
from weft.bcsd.read.elf_view import plain_view
from weft.bcsd.read.names import printable

ASSEMBLY = """
    .text
    .globl sum
sum:
    xor %eax, %eax
    test %esi, %esi
    jle 2f
1:  add (%rdi), %eax
    add $4, %rdi
    dec %esi
    jnz 1b
2:  ret
    .weak last
last:
    mov (%rdi, %rsi, 4), %eax
    ret
private:
    ret
    .globl sized, within_sized
    .type sized, @function
sized:
    mov %edi, %eax
within_sized:
    add $1, %eax
    ret
    .size sized, .-sized
    .globl unsized, within_unsized
    .type unsized, @function
unsized:
    test %edi, %edi
    jz within_unsized
    mov %edi, %eax
within_unsized:
    add $2, %eax
    ret
    .globl typed, also
    .type typed, @function
typed:
also:
    lea 3(%rdi), %eax
    ret
    .size typed, .-typed
    .globl code_end
code_end:
    .p2align 4
    nop
    .globl behind
    .type behind, @function
behind:
    ret
    .size behind, .-behind
    .section more, "ax"
    .globl entry
entry:
    mov $__start_more, %eax
    mov $_etext, %ecx
    ret
    .data
    .globl table
table:
    .long 7
"""
FOUND = {"sum": 17, "last": 4, "sized": 6, "unsized": 10, "typed": 4, "behind": 1, "entry": 11}


def built(folder, *arguments):
    (folder / "code.s").write_text(ASSEMBLY)
    place = folder / "built"
    subprocess.run(["gcc", *arguments, "code.s", "-o", place], cwd=folder, check=True)
    return place


def functions_in(place):
    return {function.name: function for function in NativeDisassembler().functions(open_image(place))}


@pytest.mark.parametrize(
    "arguments", [("-c",), ("-nostdlib", "-static", "-Wl,-e,sum"), ("-nostdlib", "-no-pie", "-Wl,-e,sum")]
)
def test_a_shared_label_in_code_is_a_function(tmp_path, arguments):
    found = functions_in(built(tmp_path, *arguments))
    assert {name: function.size for name, function in found.items()} == FOUND
    assert found["typed"].aliases == ("also",)


def test_a_library_exports_its_labels(tmp_path):
    (tmp_path / "code.s").write_text(ASSEMBLY.split("    .globl sized")[0])
    place = tmp_path / "code.so"
    subprocess.run(["gcc", "-shared", "-nostdlib", "code.s", "-o", place], cwd=tmp_path, check=True)
    for strip in (False, True):
        if strip:
            subprocess.run(["strip", place], check=True)
        found = functions_in(place)
        assert {name: function.size for name, function in found.items()} == {"sum": 17, "last": 4}
        assert open_image(place).exports == {name: function.address for name, function in found.items()}
        plain, parsed = plain_view(memoryview(place.read_bytes())), parse_elf(str(place))
        assert plain is not None
        assert parsed is not None
        listed = [symbol._replace(name=printable(symbol.name)) for symbol in plain.symbols]
        assert listed == list(lief_view(parsed).symbols)
        assert {symbol.typed for symbol in listed} == {False}


@pytest.mark.parametrize("sized", [True, False])
def test_a_label_on_arm_does_not_tell_its_mode(files, tmp_path, sized):
    whole = bytearray((files / "clang-O2-thumb").read_bytes())
    before = functions_in(files / "clang-O2-thumb")["offset_switch"]
    # Address with the bit of the mode, size, type.
    row = whole.index((before.address + 1).to_bytes(4, "little") + before.size.to_bytes(4, "little"))
    whole[row] -= 1
    whole[row + 4] *= sized
    whole[row + 8] &= 0xF0
    place = tmp_path / "label"
    place.write_bytes(whole)
    assert [symbol.name for symbol in open_image(place).symbols if not symbol.typed] == ["offset_switch"]
    found = functions_in(place)["offset_switch"]
    assert found.address == before.address
    assert found.instructions == before.instructions[: len(found.instructions)]
    assert found.size == (before.size if sized else 114)
