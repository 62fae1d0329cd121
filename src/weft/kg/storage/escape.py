"""Names and sentences as IRIs and literals write them: whole Arrow arrays at once, byte by byte by a table."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_UNRESERVED = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
_ESCAPED = {b"\\"[0]: b"\\\\", b'"'[0]: b'\\"', b"\n"[0]: b"\\n", b"\r"[0]: b"\\r"}


class _Table:
    """What stands for each of the 256 bytes: at most three others."""

    def __init__(self, others: Mapping[int, bytes]) -> None:
        self.length = np.ones(256, dtype=np.int64)
        self.bytes = np.zeros((3, 256), dtype=np.uint8)
        self.bytes[0] = np.arange(256)
        for byte, other in others.items():
            self.length[byte] = len(other)
            self.bytes[: len(other), byte] = list(other)


_PERCENT = {
    safe: _Table({byte: b"%%%02X" % byte for byte in range(256) if byte not in _UNRESERVED + safe})
    for safe in (b"", b"/")
}
_LITERAL = _Table(_ESCAPED)


def percent(names: pa.StringArray, safe: bytes = b"") -> pa.StringArray:
    """Percent-encoded names: all bytes of their UTF-8 but letters, digits and ``-._~``.

    Args:
        names: ``(n,)`` without nulls.
        safe: ``b"/"`` to leave the slash as it is.
    """
    return _replaced(names, _PERCENT[safe])


def escaped(texts: pa.StringArray) -> pa.StringArray:
    """Texts as N-Triples write them between quotation marks.

    Args:
        texts: ``(n,)`` without nulls.
    """
    return _replaced(texts, _LITERAL)


def _replaced(strings: pa.StringArray, table: _Table) -> pa.StringArray:
    offsets, data = flat(strings)
    length = table.length[data]
    if not (length > 1).any():
        return strings
    # Where each byte's replacement ends, and so where each string begins.
    ends = np.append(0, np.cumsum(length))
    result = np.empty(ends[-1], dtype=np.uint8)
    for place in range(3):
        long = length > place
        result[ends[:-1][long] + place] = table.bytes[place][data[long]]
    return pa.StringArray.from_buffers(
        len(strings), pa.py_buffer(ends[offsets].astype(np.int32)), pa.py_buffer(result)
    )


def flat(strings: pa.StringArray) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Offsets ``(n + 1,)`` from 0 on, and the bytes of all strings, one after the other."""
    if len(strings) == 0:
        return np.zeros(1, dtype=np.int32), np.zeros(0, dtype=np.uint8)
    _, bounds, data = strings.buffers()
    offsets = np.frombuffer(bounds, dtype=np.int32)[strings.offset : strings.offset + len(strings) + 1]
    found = np.frombuffer(data, dtype=np.uint8) if data is not None else np.zeros(0, dtype=np.uint8)
    return offsets - offsets[0], found[offsets[0] : offsets[-1]]
