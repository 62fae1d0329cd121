"""A difference as JSON values: the documented, stable form of ``weft bcsd diff``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from weft.bcsd.difference.compare import Difference, Entry, Status
from weft.bcsd.difference.content import Line
from weft.bcsd.difference.kinds import BlockRow
from weft.bcsd.difference.version import Code, Version
from weft.bcsd.matching.record import file_record, function_record

SCHEMA = 1
#: Rows of a side-by-side listing that are handed over.
LISTED = 4000


def difference_record(difference: Difference, only: Entry | None = None) -> dict[str, Any]:
    """The whole difference, or one function's beside what is said of the files; see ``docs/bcsd.md``."""
    return {
        "schema": SCHEMA,
        "old": file_record(difference.old.side),
        "new": file_record(difference.new.side),
        "counts": {str(status): difference.count(status) for status in Status},
        "in_common": difference.in_common.record(),
        "remarks": list(difference.remarks),
        "functions": list(entry_records(difference, difference.entries if only is None else [only])),
    }


def entry_records(difference: Difference, entries: Sequence[Entry]) -> Iterator[dict[str, Any]]:
    """One object for each of these functions."""
    for entry in entries:
        record: dict[str, Any] = {
            "status": str(entry.status),
            "old": _half(difference.old, entry.old),
            "new": _half(difference.new, entry.new),
        }
        if entry.sameness is not None:
            record["differs_by"] = str(entry.sameness)
        if entry.change is not None:
            record["kinds"] = {str(kind): count for kind, count in entry.change.kinds.items()}
            record["amount"] = entry.change.amount
            record["notes"] = list(entry.change.notes)
            record["blocks"] = listing(difference, entry)
        yield record


def _half(version: Version, row: int) -> dict[str, Any] | None:
    return function_record(version.side, row) if row >= 0 else None


def listing(difference: Difference, entry: Entry) -> list[dict[str, Any]]:
    """A changed function side by side: per block, rows of ``[mark, old, new, kinds]``.

    A half is ``[address, text, what it refers to]`` or None; the mark is ``=`` for what is the same, ``~`` for other
    registers or another layout, ``!`` for a change, ``-`` and ``+`` for what stands on one side alone.
    """
    if entry.change is None:
        return []
    old, new = difference.old.codes[entry.old], difference.new.codes[entry.new]
    found: list[dict[str, Any]] = []
    left = LISTED
    for block in entry.change.blocks:
        if left <= 0:
            break
        rows = block.rows[:left]
        left -= len(rows)
        found.append(
            {
                "old": _start(old, block.old),
                "new": _start(new, block.new),
                "rows": [
                    [
                        _mark(row.old, row.new, bool(row.kinds), row.same),
                        said(difference, old.lines[row.old], old_side=True) if row.old >= 0 else None,
                        said(difference, new.lines[row.new], old_side=False) if row.new >= 0 else None,
                        [str(kind) for kind in row.kinds],
                    ]
                    for row in rows
                ],
            }
        )
    return found


def left_out(blocks: tuple[BlockRow, ...]) -> int:
    """Rows of a listing that are not handed over."""
    return max(sum(len(block.rows) for block in blocks) - LISTED, 0)


def _start(code: Code, block: int) -> int | None:
    return code.lines[code.blocks[block].start].address if block >= 0 else None


def _mark(old: int, new: int, changed: bool, same: bool) -> str:
    if old < 0:
        return "+"
    if new < 0:
        return "-"
    return "!" if changed else "=" if same else "~"


def said(difference: Difference, line: Line, *, old_side: bool) -> list[Any]:
    """An instruction: where it stands, how it reads, what it refers to."""
    text = f"{line.mnemonic} {line.operands}".rstrip()
    note = ""
    if line.kind > 0:
        note = difference.comparison.said(line, old_side=old_side)
    return [line.address, text, "" if note in text else note]
