"""QBinDiff's interface to a loader, filled from functions of our own: imported only where QBinDiff is installed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import networkx
from qbindiff import Program  # pyright: ignore[reportMissingImports]
from qbindiff.loader import Data  # pyright: ignore[reportMissingImports]
from qbindiff.loader.backend import (  # pyright: ignore[reportMissingImports]
    AbstractBasicBlockBackend,
    AbstractFunctionBackend,
    AbstractInstructionBackend,
    AbstractOperandBackend,
    AbstractProgramBackend,
)
from qbindiff.loader.types import (  # pyright: ignore[reportMissingImports]
    DataType,
    FunctionType,
    OperandType,
    ReferenceType,
)

from weft.bcsd.disassemble.interface import Block, Function
from weft.bench.bcsd.peers.qbindiff_pairs import Read

_IMMEDIATE = re.compile(r"[#$]?(-?(0x[0-9a-f]+|[0-9]+))", re.IGNORECASE)


def program_of(read: Read) -> Any:
    """A program that QBinDiff can compare."""
    return Program.from_backend(_Program(read))


class _Operand(AbstractOperandBackend):
    """An operand by its text; an address is no immediate."""

    def __init__(self, text: str, address: bool) -> None:
        self._text = text
        found = _IMMEDIATE.fullmatch(text)
        self._value = None if address or found is None else int(found[1], 0)

    def __str__(self) -> str:
        return self._text

    @property
    def value(self) -> int | None:
        return self._value

    @property
    def type(self) -> OperandType:
        if self._value is not None:
            return OperandType.immediate
        return OperandType.memory if "[" in self._text or "(" in self._text else OperandType.register

    def is_immediate(self) -> bool:
        return self._value is not None


class _Instruction(AbstractInstructionBackend):
    """One instruction, and the text that it points to."""

    def __init__(self, decoded: tuple[int, int, str, str], address: bool, text: str | None) -> None:
        self._decoded, self._address, self._text = decoded, address, text

    @property
    def addr(self) -> int:
        return self._decoded[0]

    @property
    def mnemonic(self) -> str:
        return self._decoded[2]

    @property
    def references(self) -> dict[Any, list[Any]]:
        if self._text is None:
            return {}
        return {ReferenceType.DATA: [Data(DataType.ASCII, 0, self._text)]}

    @property
    def operands(self) -> Iterator[Any]:
        texts = re.split(r",\s*(?![^\[]*\])", self._decoded[3]) if self._decoded[3] else []
        return iter([_Operand(text.strip(), self._address) for text in texts])

    @property
    def id(self) -> int:
        return self.MAX_ID

    @property
    def comment(self) -> str:
        return ""

    @property
    def bytes(self) -> bytes:
        return b""


class _BasicBlock(AbstractBasicBlockBackend):
    """Instructions of one block."""

    def __init__(self, function: Function, block: Block, texts: dict[int, str]) -> None:
        self._function, self._block, self._texts = function, block, texts

    def __len__(self) -> int:
        return self._block.end - self._block.start

    @property
    def addr(self) -> int:
        return self._function.instructions[self._block.start][0]

    @property
    def instructions(self) -> Iterator[Any]:
        return iter(
            [
                _Instruction(
                    self._function.instructions[index],
                    index in self._function.references,
                    self._texts.get(index),
                )
                for index in range(self._block.start, self._block.end)
            ]
        )

    @property
    def bytes(self) -> bytes:
        return b""


class _Function(AbstractFunctionBackend):
    """A function of the file, or an imported one, which has no blocks."""

    def __init__(self, address: int, name: str, calls: Any, function: Function | None, texts: Any) -> None:
        self._address, self._name, self._calls = address, name, calls
        self._function, self._texts = function, texts

    @property
    def basic_blocks(self) -> Iterator[Any]:
        if self._function is None:
            return iter([])
        return iter([_BasicBlock(self._function, block, self._texts) for block in self._function.blocks])

    @property
    def addr(self) -> int:
        return self._address

    @cached_property
    def graph(self) -> Any:
        graph: Any = networkx.DiGraph()
        if self._function is not None:
            starts = [self._function.instructions[block.start][0] for block in self._function.blocks]
            graph.add_nodes_from(starts)
            graph.add_edges_from((starts[edge.source], starts[edge.target]) for edge in self._function.edges)
        return graph

    @property
    def parents(self) -> set[int]:
        return set(self._calls.predecessors(self._address))

    @property
    def children(self) -> set[int]:
        return set(self._calls.successors(self._address))

    @property
    def type(self) -> FunctionType:
        return FunctionType.imported if self._function is None else FunctionType.normal

    @property
    def name(self) -> str:
        return self._name


class _Program(AbstractProgramBackend):
    """A stripped file: its functions by address, the imported ones by name."""

    def __init__(self, read: Read) -> None:
        self._read = read
        graph: Any = networkx.DiGraph()
        known = {function.address for function in read.functions}
        graph.add_nodes_from([*known, *read.imports.values()])
        for function in read.functions:
            inside = [callee for callee in function.callees if callee in known]
            outside = [read.imports[name] for name in function.imports]
            graph.add_edges_from((function.address, callee) for callee in [*inside, *outside])
        self._graph = graph

    @property
    def functions(self) -> Iterator[Any]:
        own = [
            _Function(function.address, f"sub_{function.address:x}", self._graph, function, texts)
            for function, texts in zip(self._read.functions, self._read.texts, strict=True)
        ]
        beside = [
            _Function(address, name, self._graph, None, {}) for name, address in self._read.imports.items()
        ]
        return iter([*own, *beside])

    @property
    def name(self) -> str:
        return str(self._read.path)

    @property
    def structures(self) -> list[Any]:
        return []

    @property
    def callgraph(self) -> Any:
        return self._graph

    @property
    def fun_names(self) -> dict[str, int]:
        return dict(self._read.imports)

    @property
    def exec_path(self) -> str:
        return str(self._read.path)

    @property
    def export_path(self) -> str:
        return ""
