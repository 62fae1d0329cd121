"""From an image and a disassembled function to what the lifter reads."""

from __future__ import annotations

import re

from weft.bcsd.disassemble.interface import Function
from weft.bcsd.lift.code import BY_WAY_OF, RETURNS, CodeBlock, FunctionCode, Surroundings
from weft.bcsd.lift.decode.processors import PROCESSORS
from weft.bcsd.read.image import Image

#: Sections of pointers alone.
_TABLES = (".got", ".got.plt", ".toc", ".sdata.rel.ro", "__got", "__la_symbol_ptr", "__auth_got")
#: What a function consists of that tells where it was called from: ``mov (%esp), %REGISTER; ret`` on i386.
_THUNKS = {
    bytes([0x8B, middle, 0x24, 0xC3]): name
    for middle, name in (
        (0x04, "eax"),
        (0x0C, "ecx"),
        (0x14, "edx"),
        (0x1C, "ebx"),
        (0x2C, "ebp"),
        (0x34, "esi"),
        (0x3C, "edi"),
    )
}
#: What compilers call at the begin of functions to count or trace them (``-pg``, ``-mfentry``): on x86 it keeps all
#: registers, those of arguments too.
_HOOKS = frozenset({"__fentry__", "mcount", "_mcount"})
#: What stands for ``ret``, and for a jump or a call by way of a register, where processors must not guess them.
_RETURN = "__x86_return_thunk"
_INDIRECT = re.compile(r"__(?:x86_indirect_thunk|llvm_retpoline)_(\w+)$")


def surroundings_of(image: Image, *, held: bool = False) -> Surroundings:
    """What lifting the functions of an image needs to know of it.

    Args:
        image: The image.
        held: Whether what its tables of addresses hold is wanted: features do not know it.
    """
    thunks: dict[int, str] = {}
    processor = PROCESSORS.get((image.architecture, image.big_endian, image.pointer_size))
    if processor is not None and processor.thunks:
        for region in image.code:
            data = bytes(region.data)
            for pattern, register in _THUNKS.items():
                place = data.find(pattern)
                while place >= 0:
                    thunks[region.start + place] = register
                    place = data.find(pattern, place + 1)
    if processor is not None and processor.pushes:
        named = [
            *image.stubs.items(),
            *image.slots.items(),
            *((symbol.address, symbol.name) for symbol in image.symbols),
        ]
        for address, name in named:
            indirect = _INDIRECT.match(name)
            if name in _HOOKS:
                thunks[address] = ""
            elif name == _RETURN:
                thunks[address] = RETURNS
            elif indirect is not None:
                thunks[address] = BY_WAY_OF + indirect.group(1)
    return Surroundings(
        architecture=image.architecture,
        big_endian=image.big_endian,
        word=image.pointer_size,
        fixed_base=image.fixed_base,
        mapped=tuple((region.start, region.end) for region in (*image.data, *image.code) if region.size),
        tables=tuple((region.start, region.end) for region in image.data if region.name in _TABLES),
        slots=tuple(sorted({*image.slots, *image.pointers})),
        thunks=thunks,
        held=_held(image) if held else {},
    )


def _held(image: Image) -> dict[int, int]:
    """What lies in the tables of addresses that the linker filled, but for what the loader puts there by name."""
    places = (
        place
        for start, end in image.offset_tables
        for place in range(start, end, image.pointer_size)
        if place not in image.slots
    )
    return {place: value for place in places if (value := image.pointer(place)) is not None}


def code_of(image: Image, function: Function, *, tables: bool = False) -> FunctionCode:
    """A function's bytes by block.

    Args:
        image: Where it lies.
        function: The function.
        tables: Whether the order of the entries of its jump tables is wanted: features do not know it.
    """
    blocks: list[CodeBlock] = []
    successors: list[list[int]] = [[] for _ in function.blocks]
    for edge in function.edges:
        successors[edge.source].append(edge.target)
    for number, (start, end) in enumerate(function.blocks):
        lines = function.instructions[start:end]
        address = lines[0][0]
        last = lines[-1][0] + lines[-1][1]
        lengths = tuple(line[1] for line in lines)
        if sum(lengths) != last - address:
            # Constants stand between its instructions.
            data = b"".join(image.code_at(line[0], line[0] + line[1]) for line in lines)
        else:
            data = image.code_at(address, last)
        blocks.append(CodeBlock(address, data, lengths, tuple(successors[number])))
    end = function.address + function.size
    return FunctionCode(
        address=function.address,
        end=end,
        blocks=tuple(blocks),
        thumb=function.address in image.thumb,
        data=image.code_at(function.address, end),
        tables=tuple(sorted(function.tables.items())) if tables else (),
    )
