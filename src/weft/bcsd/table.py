"""Functions as a table: the Parquet schema that extraction writes and everything later reads.

Documented in ``docs/bcsd.md``. Addresses and counts are integers. ``blocks`` holds instruction indices, so
that ``tokens[start:end]`` are a block's rows.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from weft.bcsd.disassemble.interface import Function, ReferenceKind
from weft.bcsd.read.image import Image
from weft.bcsd.read.names import spelled
from weft.bcsd.represent import NORMALISER_VERSION, SLOTS, Normaliser, load_vocabulary, token_digest
from weft.bcsd.represent.calls import CALLS, CALLS_VERSION, IMPORTS, called
from weft.bcsd.represent.inlined import INLINED_VERSION, CallGraph, added_operations, added_tokens
from weft.bcsd.represent.lexical import count_tokens
from weft.bcsd.represent.operations import COLUMN as OPERATIONS
from weft.bcsd.represent.rows import OPERATIONS as INLINED_OPERATIONS
from weft.bcsd.represent.rows import TOKENS as INLINED_TOKENS
from weft.errors import InputError
from weft.platform.files import replaced
from weft.platform.reading import open_input

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from weft.bcsd.lift.choose import ImageLifter

SCHEMA_VERSION = 1
ROWS_PER_GROUP = 4096

FIELDS = [
    pa.field("binary", pa.string()),
    pa.field("binary_sha256", pa.string()),
    pa.field("format", pa.string()),
    pa.field("architecture", pa.string()),
    pa.field("name", pa.string()),
    pa.field("aliases", pa.list_(pa.string())),
    pa.field("address", pa.uint64()),
    pa.field("size", pa.int64()),
    pa.field("num_blocks", pa.int32()),
    pa.field("num_edges", pa.int32()),
    pa.field("num_instructions", pa.int32()),
    pa.field(
        "blocks",
        pa.list_(pa.struct([("start", pa.int32()), ("end", pa.int32()), ("address", pa.uint64())])),
    ),
    pa.field(
        "edges", pa.list_(pa.struct([("source", pa.int32()), ("target", pa.int32()), ("kind", pa.int8())]))
    ),
    pa.field("tokens", pa.list_(pa.list_(pa.uint16(), len(SLOTS)))),
    pa.field("jumps", pa.list_(pa.struct([("instruction", pa.int32()), ("target", pa.int32())]))),
    pa.field("callees", pa.list_(pa.uint64())),
    pa.field("imports", pa.list_(pa.string())),
    pa.field("flags", pa.list_(pa.string())),
    pa.field("digest", pa.string()),
    pa.field("token_digest", pa.string()),
    pa.field(OPERATIONS, pa.list_(pa.uint16())),
    pa.field(INLINED_OPERATIONS, pa.list_(pa.uint16())),
    pa.field(INLINED_TOKENS, pa.list_(pa.uint16())),
    pa.field(CALLS, pa.list_(pa.uint64())),
    pa.field(IMPORTS, pa.list_(pa.uint32())),
]
#: Columns that tables made before there were any lack: of those nothing is known there.
INLINED = (INLINED_OPERATIONS, INLINED_TOKENS)
CALLED = (CALLS, IMPORTS)


def schema(disassembler: str = "native", lifter: str = "") -> pa.Schema:
    """The schema, with the versions that its rows depend on in the metadata; no lifter's name is empty."""
    metadata = {
        "weft.schema": str(SCHEMA_VERSION),
        "weft.normaliser": str(NORMALISER_VERSION),
        "weft.vocabulary": load_vocabulary().digest,
        "weft.disassembler": disassembler,
        "weft.lifter": lifter,
        "weft.inlined": str(INLINED_VERSION),
        "weft.calls": str(CALLS_VERSION),
    }
    return pa.schema(FIELDS, metadata=metadata)


class TableBuilder:
    """Collects the functions of one binary, in compact arrays, and hands them over sorted by address.

    Args:
        image: Where they come from.
        binary: What the ``binary`` column says.
        sha256: Of the whole file.
        disassembler: Its name.
        lifter: Gives the functions' operations; None leaves them out.
        min_blocks: Functions with fewer blocks have no row; what they would bring to their callers is known.
    """

    def __init__(
        self,
        image: Image,
        binary: str,
        sha256: str,
        disassembler: str,
        lifter: ImageLifter | None = None,
        min_blocks: int = 0,
    ) -> None:
        self.architecture = image.architecture
        self._normaliser = Normaliser(image.architecture)
        self._lifter = lifter
        self._schema = schema(disassembler, lifter.name if lifter is not None else "")
        self._constants: dict[str, str] = {
            "binary": spelled(binary),
            "binary_sha256": sha256,
            "format": image.format,
            "architecture": image.architecture,
        }
        self._min_blocks = min_blocks
        self._rows: list[dict[str, Any]] = []
        #: Functions without a row; None once what rows call is known.
        self._beside: list[Function] | None = None if image.relocatable else []

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, function: Function) -> bool:
        """Tokenise a function and keep its row; False where it is too small to have one."""
        if len(function.blocks) < self._min_blocks:
            self.know(function)
            return False
        tokens = self._normaliser.tokens(function)
        jumps = [
            (index, reference.target)
            for index, reference in function.references.items()
            if reference.kind == ReferenceKind.JUMP
        ]
        self._rows.append(
            {
                "name": function.name,
                "aliases": function.aliases,
                "address": function.address,
                "size": function.size,
                "blocks": np.array(function.blocks, dtype=np.int32).reshape(-1, 2),
                "starts": np.array(
                    [function.instructions[block.start][0] for block in function.blocks], dtype=np.uint64
                ),
                "edges": np.array(function.edges, dtype=np.int32).reshape(-1, 3),
                "tokens": tokens,
                "jumps": np.array(jumps, dtype=np.int32).reshape(-1, 2),
                "callees": function.callees,
                "imports": function.imports,
                "flags": [str(flag) for flag in function.flags],
                "digest": function.digest,
                "token_digest": token_digest(tokens),
                OPERATIONS: None if self._lifter is None else self._lifter.features(function),
                INLINED_OPERATIONS: None,
                INLINED_TOKENS: None,
                CALLS: None,
                IMPORTS: None,
            }
        )
        return True

    def know(self, function: Function) -> None:
        """Take note of a function that gets no row: others may call it."""
        if self._beside is not None:
            self._beside.append(function)

    def follow_calls(self) -> None:
        """Fill in what functions call and their callees would bring, when all were added and the lifter is still there.

        Of an object it is not known, and stays null.
        """
        if self._beside is None or not self._rows:
            return
        rows, beside, self._beside = self._rows, self._beside, None
        lengths = [len(row["tokens"]) for row in rows] + [len(one.instructions) for one in beside]
        addresses = [row["address"] for row in rows] + [one.address for one in beside]
        callees = [row["callees"] for row in rows] + [one.callees for one in beside]
        imports = [row["imports"] for row in rows] + [one.imports for one in beside]
        blocks = [len(row["blocks"]) for row in rows] + [len(one.blocks) for one in beside]
        for row, reached, named in zip(rows, *called(addresses, callees, imports, blocks), strict=False):
            row[CALLS], row[IMPORTS] = reached, named
        graph = CallGraph(addresses, callees, np.array(lengths, np.int64))
        inlined = [graph.inlined(number) for number in range(len(rows))]
        needed = {callee for callees in inlined for callee in callees}
        operations: list[NDArray[np.uint16] | None] = [row[OPERATIONS] for row in rows]
        tokens: list[NDArray[np.uint16]] = [row["tokens"] for row in rows]
        for number, one in enumerate(beside, len(rows)):
            wanted = number in needed
            tokens.append(self._normaliser.tokens(one) if wanted else tokens[0][:0])
            lifted = wanted and self._lifter is not None
            operations.append(self._lifter.features(one) if lifted and self._lifter is not None else None)
        counts = count_tokens(
            np.concatenate(tokens),
            np.repeat(np.arange(len(tokens)), [len(part) for part in tokens]),
            len(tokens),
        )
        which = range(len(rows))
        for row, computed, said in zip(
            rows,
            added_operations(operations, which, inlined),
            added_tokens(counts, which, inlined),
            strict=True,
        ):
            row[INLINED_OPERATIONS], row[INLINED_TOKENS] = computed, said

    def tables(self) -> Iterator[pa.Table]:
        """The rows in address order, in tables of at most :data:`ROWS_PER_GROUP`."""
        self._rows.sort(key=lambda row: (row["address"], row["size"]))
        for first in range(0, len(self._rows), ROWS_PER_GROUP):
            yield self._table(self._rows[first : first + ROWS_PER_GROUP])

    def _table(self, rows: list[dict[str, Any]]) -> pa.Table:
        count = len(rows)
        blocks = [row["blocks"] for row in rows]
        edges = [row["edges"] for row in rows]
        jumps = [row["jumps"] for row in rows]
        tokens = [row["tokens"] for row in rows]
        starts = np.concatenate([row["starts"] for row in rows])
        block_rows = np.concatenate(blocks)
        edge_rows = np.concatenate(edges)
        jump_rows = np.concatenate(jumps)
        columns: dict[str, pa.Array] = {
            name: pa.array([value] * count) for name, value in self._constants.items()
        }
        for name in (
            "name",
            "aliases",
            "address",
            "size",
            "callees",
            "imports",
            "flags",
            "digest",
            "token_digest",
            OPERATIONS,
            *INLINED,
            *CALLED,
        ):
            columns[name] = pa.array([row[name] for row in rows], type=self._schema.field(name).type)
        columns["num_blocks"] = pa.array([len(b) for b in blocks], pa.int32())
        columns["num_edges"] = pa.array([len(e) for e in edges], pa.int32())
        columns["num_instructions"] = pa.array([len(t) for t in tokens], pa.int32())
        columns["blocks"] = _lists(
            blocks, _struct(start=block_rows[:, 0], end=block_rows[:, 1], address=starts)
        )
        columns["edges"] = _lists(
            edges,
            _struct(source=edge_rows[:, 0], target=edge_rows[:, 1], kind=edge_rows[:, 2].astype(np.int8)),
        )
        columns["jumps"] = _lists(jumps, _struct(instruction=jump_rows[:, 0], target=jump_rows[:, 1]))
        flat = pa.array(np.concatenate(tokens).reshape(-1))
        columns["tokens"] = _lists(tokens, pa.FixedSizeListArray.from_arrays(flat, len(SLOTS)))
        return pa.Table.from_arrays([columns[field.name] for field in self._schema], schema=self._schema)


def _struct(**columns: NDArray[Any]) -> pa.StructArray:
    arrays = [pa.array(np.ascontiguousarray(column)) for column in columns.values()]
    return pa.StructArray.from_arrays(arrays, names=list(columns))


def _lists(parts: Sequence[NDArray[Any]], values: pa.Array) -> pa.ListArray:
    offsets = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), values)


def write_tables(
    tables: Iterable[pa.Table],
    path: Path,
    table_schema: pa.Schema,
    wanted: Callable[[], bool] = lambda: True,
) -> int:
    """Write tables to one Parquet file, which appears under its name only when it is whole.

    Args:
        tables: Their rows follow one another.
        path: The file.
        table_schema: Of all of them.
        wanted: Asked at the end: False leaves the place as it was.

    Returns:
        The number of rows.

    Raises:
        OutputError: The place cannot be written.
    """
    rows = 0
    with replaced(path) as part:
        with pq.ParquetWriter(part, table_schema, compression="zstd") as writer:
            for table in tables:
                writer.write_table(table)
                rows += table.num_rows
        if not wanted():
            part.unlink()
    return rows


def read_table(path: str | os.PathLike[str], columns: list[str] | None = None) -> pa.Table:
    """Read an extracted table and check that this version understands it.

    Raises:
        InputError: It is missing, no Parquet file, of another schema, or of another vocabulary.
    """
    place = os.fspath(path)
    if os.path.exists(place):
        open_input(place).close()  # of a pipe the reader would wait for ever
    try:
        file = pq.ParquetFile(place)
    except FileNotFoundError as error:
        raise InputError("no such file", where=place) from error
    except (OSError, pa.ArrowInvalid) as error:
        raise InputError("not a readable Parquet file", where=place) from error
    metadata = file.schema_arrow.metadata or {}
    version = metadata.get(b"weft.schema", b"none").decode()
    if version != str(SCHEMA_VERSION):
        raise InputError(f"table schema {version}", where=place, hint=f"this version reads {SCHEMA_VERSION}")
    if metadata.get(b"weft.vocabulary", b"").decode() != load_vocabulary().digest:
        raise InputError("tokens of another vocabulary", where=place, hint="extract the binaries again")
    there = file.schema_arrow.names
    later = (*INLINED, *CALLED)
    try:
        table = file.read(
            columns=columns and [name for name in columns if name in there or name not in later]
        )
    except (OSError, pa.ArrowInvalid) as error:
        raise InputError("a damaged Parquet file", where=place) from error
    return with_later(table, [name for name in later if columns is None or name in columns])


def with_later(table: pa.Table, wanted: Sequence[str] = (*INLINED, *CALLED)) -> pa.Table:
    """The table with the columns of callees and calls: null where it has none, or those of another version.

    Args:
        table: Functions, the versions in its metadata.
        wanted: Which of the columns.
    """
    metadata = table.schema.metadata or {}
    versions = {b"weft.inlined": (INLINED, INLINED_VERSION), b"weft.calls": (CALLED, CALLS_VERSION)}
    for key, (names, version) in versions.items():
        same = metadata.get(key, b"").decode() == str(version)
        for name in (name for name in names if name in wanted):
            if not same and name in table.column_names:
                table = table.drop_columns([name])
            if name not in table.column_names:
                kind = next(field.type for field in FIELDS if field.name == name)
                table = table.append_column(name, pa.nulls(table.num_rows, kind))
    order = [field.name for field in FIELDS if field.name in table.column_names]
    return table.select([*order, *(name for name in table.column_names if name not in order)])
