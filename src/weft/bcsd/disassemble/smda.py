"""smda as a disassembler, behind the extra ``smda``: x86 only, and at home in files without any tables."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from weft.bcsd.architectures import architecture_named
from weft.bcsd.architectures.operands import Raw
from weft.bcsd.disassemble.bounds import sub_name
from weft.bcsd.disassemble.cfg import Surroundings, build_graph
from weft.bcsd.disassemble.interface import Disassembler, Function
from weft.bcsd.read.image import Image
from weft.errors import InputError, MissingExtraError


class SmdaDisassembler(Disassembler):
    """smda finds the functions and their instructions; blocks and edges are cut as for every other one.

    Raises:
        MissingExtraError: smda is not installed.
    """

    name = "smda"

    def __init__(self) -> None:
        try:
            from smda.Disassembler import Disassembler as Smda  # pyright: ignore[reportMissingImports] - an extra
        except ImportError as error:
            raise MissingExtraError("smda", "smda") from error
        self._smda = Smda

    def functions(self, image: Image) -> Iterator[Function]:
        """See the base class.

        Raises:
            InputError: The file is not for x86, or smda gave up on it.
        """
        if image.architecture not in ("x86_64", "i386"):
            raise InputError(f"smda cannot read {image.architecture}", where=image.path)
        report = self._smda().disassembleFile(image.path)
        if report is None or report.status != "ok":
            raise InputError(f"smda gave up: {getattr(report, 'message', 'no report')}", where=image.path)
        around = Surroundings(image, architecture_named(image.architecture))
        # smda may map position-independent files at a base of its own.
        moved = not image.fixed_base and image.data_map.regions
        shift = image.data_map.regions[0].start - report.base_addr if moved else 0
        for found in report.getFunctions():
            function = _translate(image, found, shift, around)
            if function is not None:
                yield function


def _translate(image: Image, found: Any, shift: int, around: Surroundings) -> Function | None:
    wanted = {line.offset + shift for line in found.getInstructions()}
    if not wanted:
        return None
    start = found.offset + shift
    end = max(line.offset + shift + len(line.bytes) // 2 for line in found.getInstructions())
    code = image.code_at(start, end)
    decoded: list[Raw] = list(around.architecture.decoder(image, start).disasm_lite(code, start))
    # A function may be interleaved with others: only the instructions that smda gave it are its own.
    instructions = [line for line in decoded if line[0] in wanted]
    if not instructions or instructions[0][0] != start:
        return None
    gaps = {
        index for index, (line, after) in enumerate(pairwise(instructions)) if line[0] + line[1] != after[0]
    }
    graph = build_graph(instructions, gaps, start, end, around)
    return Function(
        name=found.function_name or sub_name(start),
        address=start,
        size=end - start,
        instructions=graph.instructions,
        blocks=graph.blocks,
        edges=graph.edges,
        references=graph.references,
        flags=tuple(sorted(graph.flags)),
        imports=tuple(sorted(graph.imports)),
        digest=hashlib.sha256(code).hexdigest(),
    )
