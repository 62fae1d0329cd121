"""Functions and their features as bytes, on the way to the lifting process and back."""

from __future__ import annotations

import json
import struct
from array import array
from dataclasses import asdict
from typing import Any

from weft.bcsd.lift.code import CodeBlock, FunctionCode, Surroundings
from weft.bcsd.lift.interface import Lifted
from weft.bcsd.lift.solve.computation import Computation

#: What the process says when it has begun.
READY = b"ready"
_LENGTH = 4
#: Operations of a graph, and its edges.
_COUNTS = struct.Struct("<II")


def pack_surroundings(around: Surroundings) -> bytes:
    """A file's facts as JSON."""
    record = asdict(around)
    if not around.held:
        # Features that were cached are known by these bytes.
        del record["held"]
    return json.dumps(record).encode()


def unpack_surroundings(data: bytes) -> Surroundings:
    """The inverse of :func:`pack_surroundings`."""
    record: dict[str, Any] = json.loads(data)
    for name in ("mapped", "tables"):
        record[name] = tuple((start, end) for start, end in record[name])
    record["slots"] = tuple(record["slots"])
    for name in record.keys() & {"thunks", "held"}:
        record[name] = {int(address): value for address, value in record[name].items()}
    return Surroundings(**record)


def pack_code(code: FunctionCode) -> bytes:
    """A function: a JSON head, its own bytes, its blocks' bytes."""
    head: dict[str, Any] = {
        "address": code.address,
        "end": code.end,
        "thumb": code.thumb,
        "size": len(code.data),
        "blocks": [(b.address, len(b.data), b.lengths, b.successors) for b in code.blocks],
    }
    if code.tables:
        head["tables"] = code.tables
    text = json.dumps(head, separators=(",", ":")).encode()
    parts = [len(text).to_bytes(_LENGTH, "little"), text, code.data, *(block.data for block in code.blocks)]
    return b"".join(parts)


def unpack_code(data: bytes) -> FunctionCode:
    """The inverse of :func:`pack_code`."""
    start = _LENGTH + int.from_bytes(data[:_LENGTH], "little")
    head: dict[str, Any] = json.loads(data[_LENGTH:start])
    own = data[start : start + head["size"]]
    start += head["size"]
    blocks: list[CodeBlock] = []
    for address, size, lengths, successors in head["blocks"]:
        blocks.append(CodeBlock(address, data[start : start + size], tuple(lengths), tuple(successors)))
        start += size
    tables = tuple((address, tuple(entries)) for address, entries in head.get("tables", ()))
    return FunctionCode(head["address"], head["end"], tuple(blocks), head["thumb"], own, tables)


def pack_features(features: tuple[int, ...]) -> bytes:
    """Features as 16-bit numbers."""
    return array("H", features).tobytes()


def pack_graph(lifted: Lifted) -> bytes:
    """A graph of operations: counts, codes of 16 bits, source, target and kind of each edge as 32 bits each."""
    codes = array("H", [code for codes in lifted.codes for code in codes])
    edges = array("I", [end for edge in lifted.edges for end in edge])
    return _COUNTS.pack(len(lifted.codes), len(lifted.edges)) + codes.tobytes() + edges.tobytes()


def unpack_graph(data: bytes) -> tuple[bytes, bytes]:
    """The bytes of the codes and of the edges, as :func:`pack_graph` wrote them."""
    operations, _ = _COUNTS.unpack_from(data)
    split = _COUNTS.size + 6 * operations
    return data[_COUNTS.size : split], data[split:]


def pack_computation(found: Computation) -> bytes:
    """A computation as JSON."""
    return json.dumps(asdict(found), separators=(",", ":")).encode()


def unpack_computation(data: bytes) -> Computation:
    """The inverse of :func:`pack_computation`."""
    record: dict[str, Any] = json.loads(data)
    for name in ("args", "effects", "successors", "entries"):
        record[name] = tuple(map(tuple, record[name]))
    record["ways"] = tuple(tuple(map(tuple, ways)) for ways in record["ways"])
    for name in ("ops", "sizes", "data", "taken", "arguments"):
        record[name] = tuple(record[name])
    return Computation(**record)
