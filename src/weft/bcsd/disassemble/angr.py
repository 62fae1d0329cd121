"""angr as a disassembler, behind the extra ``angr``.

angr splits blocks at calls; they are joined again here, so that a block means the same everywhere.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator
from typing import Any

from weft.bcsd.architectures.operands import Raw, immediate
from weft.bcsd.disassemble.bounds import sub_name
from weft.bcsd.disassemble.interface import (
    Block,
    Disassembler,
    Edge,
    EdgeKind,
    Flag,
    Function,
    Reference,
    ReferenceKind,
)
from weft.bcsd.disassemble.references import data_references
from weft.bcsd.read.image import Image
from weft.errors import MissingExtraError


class AngrDisassembler(Disassembler):
    """``CFGFast``, normalised.

    Raises:
        MissingExtraError: angr is not installed.
    """

    name = "angr"

    def __init__(self) -> None:
        try:
            import angr  # pyright: ignore[reportMissingImports] - an extra
        except ImportError as error:
            raise MissingExtraError("angr", "angr") from error
        self._angr = angr

    def functions(self, image: Image) -> Iterator[Function]:
        """See the base class."""
        _, graph = self.analyse(image)
        yield from self.translate(image, graph)

    def analyse(self, image: Image) -> tuple[Any, Any]:
        """Angr's project and its control-flow graph of the whole file: the part that takes the time."""
        for noisy in ("angr", "cle", "pyvex"):
            logging.getLogger(noisy).setLevel(logging.ERROR)
        options: dict[str, Any] = {}
        if image.format == "elf" and not image.fixed_base:
            # angr moves position-independent files; we want the file's own addresses.
            options["main_opts"] = {"base_addr": 0}
        project = self._angr.Project(image.path, auto_load_libs=False, **options)  # pyright: ignore
        return project, project.analyses.CFGFast(normalize=True)

    def translate(self, image: Image, graph: Any) -> Iterator[Function]:
        """The functions of angr's graph, as ours."""
        for address in sorted(graph.kb.functions):
            found = graph.kb.functions[address]
            if (
                found.is_plt
                or found.is_simprocedure
                or found.is_alignment
                or image.code_map.at(address) is None
            ):
                continue
            function = _translate(image, found)
            if function is not None:
                yield function


def _translate(image: Image, found: Any) -> Function | None:
    successors: dict[int, list[tuple[int, str]]] = {}
    for source, target, data in found.transition_graph.edges(data=True):
        kind = data.get("type", "transition")
        if kind in ("transition", "fake_return") and not data.get("outside", False):
            successors.setdefault(source.addr, []).append((target.addr, kind))
    code = {block.addr: block for block in found.blocks}
    if found.addr not in code:
        return None
    starts = joined_starts(found.addr, code, successors)
    instructions: list[Raw] = []
    blocks: list[Block] = []
    number: dict[int, int] = {}
    last: dict[int, int] = {}
    for address in sorted(code):
        lines: list[Raw] = [
            (line.address, line.size, line.mnemonic, line.op_str) for line in code[address].capstone.insns
        ]
        if not lines:
            continue
        begin = len(instructions)
        instructions += lines
        if address in starts or not blocks:
            number[address] = len(blocks)
            blocks.append(Block(begin, len(instructions)))
        else:
            blocks[-1] = Block(blocks[-1].start, len(instructions))
        last[address] = len(blocks) - 1
    edges: set[Edge] = set()
    for source, targets in successors.items():
        for target, kind in targets:
            if source in last and target in number:
                edges.add(Edge(last[source], number[target], _kind(code[source], target, kind, len(targets))))
    references: dict[int, Reference] = {}
    place = {line[0]: index for index, line in enumerate(instructions)}
    end = max(block.addr + block.size for block in code.values())
    for index, (_, _, mnemonic, operands) in enumerate(instructions):
        _refer(found, references, index, mnemonic, operands, place)
    data_references(image, instructions, references, found.addr, end)
    flags = {Flag.CFG_INCOMPLETE} if found.has_unresolved_jumps else set()
    raw = image.code_at(found.addr, end)
    return Function(
        name=found.name or sub_name(found.addr),
        address=found.addr,
        size=end - found.addr,
        instructions=instructions,
        blocks=blocks,
        edges=sorted(edges),
        references=references,
        flags=tuple(sorted(flags)),
        digest=hashlib.sha256(raw).hexdigest(),
    )


def joined_starts(entry: int, code: dict[int, Any], successors: dict[int, list[tuple[int, str]]]) -> set[int]:
    """Starts that remain once a block is joined with the one that only runs into it.

    angr ends a block at a call, and at the size limit of its intermediate language.
    """
    arrivals: dict[int, list[tuple[int, str]]] = {}
    for source, targets in successors.items():
        for target, kind in targets:
            arrivals.setdefault(target, []).append((source, kind))
    starts = {entry}
    for address in code:
        found = arrivals.get(address, [])
        source = found[0][0] if len(found) == 1 else None
        follows = source is not None and source in code and source + code[source].size == address
        if source is None or not follows or (found[0][1] != "fake_return" and _jumps(code[source])):
            starts.add(address)
    return starts


def _jumps(block: Any) -> bool:
    """Whether the block ends in a jump, taken or not."""
    word = block.capstone.insns[-1].mnemonic.rpartition(" ")[2]
    return word[0] == "j" or word in ("b", "br", "cbz", "cbnz", "tbz", "tbnz") or word.startswith("b.")


def _kind(block: Any, target: int, kind: str, count: int) -> EdgeKind:
    if kind == "fake_return" or target == block.addr + block.size:
        return EdgeKind.FALL_THROUGH
    if block.vex.jumpkind == "Ijk_Boring" and block.vex_nostmt.constant_jump_targets:
        return EdgeKind.TAKEN
    return EdgeKind.SWITCH if count > 1 else EdgeKind.TAKEN


def _refer(
    found: Any,
    references: dict[int, Reference],
    index: int,
    mnemonic: str,
    operands: str,
    place: dict[int, int],
) -> None:
    """Direct jumps by position, direct calls as internal or external."""
    target = immediate(operands.rpartition(", ")[2])
    if target is None:
        return
    word = mnemonic.rpartition(" ")[2]
    if word in ("call", "bl"):
        if target == found.addr:
            references[index] = Reference(ReferenceKind.CALL_SELF, target)
            return
        other = found.project.kb.functions.get(target, None) if target in found.project.kb.functions else None
        external = other is not None and (other.is_plt or other.is_simprocedure)
        kind = ReferenceKind.CALL_EXTERNAL if external else ReferenceKind.CALL_INTERNAL
        references[index] = Reference(kind, 0 if external else target)
    elif word[0] == "j" or word == "b" or word.startswith("b.") or word in ("cbz", "cbnz", "tbz", "tbnz"):
        if target in place:
            references[index] = Reference(ReferenceKind.JUMP, place[target])
        else:
            references[index] = Reference(ReferenceKind.TAIL_INTERNAL, target)
