"""A matching as JSON values and as rows of CSV: the documented, stable forms of ``weft bcsd match``."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

from weft.bcsd.matching.in_common import in_common
from weft.bcsd.matching.match import TINY_BLOCKS, Matching
from weft.bcsd.matching.pairs.pairing import same_tokens
from weft.bcsd.matching.side import Side
from weft.bcsd.read.names import spelled
from weft.platform.spreadsheet import write_rows

SCHEMA = 1
#: Items listed of each kind of evidence.
LISTED = 5
COLUMNS = (
    "a_name",
    "a_address",
    "a_size",
    "a_blocks",
    "b_name",
    "b_address",
    "b_size",
    "b_blocks",
    "score",
    "rank",
    "confidence",
    "flags",
)


def matching_record(matching: Matching, model: str, calibrated: bool) -> dict[str, Any]:
    """The whole matching, surest matches first; see ``docs/bcsd.md``.

    Args:
        matching: What was found.
        model: Version of the model.
        calibrated: Whether the confidences were fitted with it.
    """
    return {
        "schema": SCHEMA,
        "model": model,
        "calibrated": calibrated,
        "a": file_record(matching.a),
        "b": file_record(matching.b),
        "in_common": in_common(matching).record(),
        "matches": list(match_records(matching)),
        "unmatched_a": [function_record(matching.a, row) for row in matching.unmatched_a()],
        "unmatched_b": [function_record(matching.b, row) for row in matching.unmatched_b()],
    }


def file_record(side: Side) -> dict[str, Any]:
    """One of the files."""
    record = {"path": spelled(side.path), "sha256": side.sha256, "functions": len(side)}
    return {**record, "remarks": list(side.remarks)} if side.remarks else record


def function_record(side: Side, row: int) -> dict[str, Any]:
    """One function."""
    name = side.names[row]
    readable = side.readable.get(name)
    return {
        "name": name,
        **({"demangled": readable} if readable else {}),
        "address": side.addresses[row],
        "size": side.table.column("size")[row].as_py(),
        "blocks": int(side.num_blocks[row]),
    }


def match_records(matching: Matching) -> Iterator[dict[str, Any]]:
    """One object per match, surest first, then by address."""
    a, b = matching.a, matching.b
    partner = dict(zip(matching.pairs.rows.tolist(), matching.pairs.columns.tolist(), strict=True))
    equal = same_tokens(a, b)
    flags_a, flags_b = (side.table.column("flags").to_pylist() for side in (a, b))
    for number in surest_first(matching):
        i, j = int(matching.rows[number]), int(matching.columns[number])
        flags = sorted(set(flags_a[i]) | set(flags_b[j]))
        if min(a.num_blocks[i], b.num_blocks[j]) < TINY_BLOCKS:
            flags.append("tiny")
        yield {
            "a": function_record(a, i),
            "b": function_record(b, j),
            "score": round(float(matching.scores[number]), 4),
            "rank": int(matching.ranks[number]),
            "confidence": round(float(matching.confidence[number]), 4),
            "flags": flags,
            "evidence": _evidence(matching, i, j, partner, bool(equal[i, j])),
        }


def surest_first(matching: Matching) -> list[int]:
    """The matches' indices by confidence, the higher score first among equals, then by address."""
    order = sorted(
        range(len(matching.rows)),
        key=lambda n: (
            -round(float(matching.confidence[n]), 4),
            -round(float(matching.scores[n]), 4),
            int(matching.rows[n]),
        ),
    )
    return order


def _evidence(matching: Matching, i: int, j: int, partner: dict[int, int], equal: bool) -> dict[str, Any]:
    """What else speaks for a pair: for each kind how much agrees, and the first few things that do."""
    a, b = matching.a, matching.b
    found: dict[str, Any] = {"same_bytes": bool(_digest(a, i) == _digest(b, j)), "same_tokens": equal}
    for kind, shared in (
        ("imports", set(a.imports[i]) & set(b.imports[j])),
        ("constants", set(a.constants[i]) & set(b.constants[j])),
        ("strings", set(a.strings[i]) & set(b.strings[j])),
    ):
        if shared:
            found[kind] = {"agreement": _entry(matching, kind, i, j), "shared": sorted(shared)[:LISTED]}
    for kind, of_a, of_b in (
        ("callees", a.calls[i], b.calls[j]),
        ("callers", a.callers[i], b.callers[j]),
    ):
        there = set(of_b)
        shared_calls = [row for row in of_a if partner.get(row) in there]
        if shared_calls:
            found[kind] = {
                "agreement": _entry(matching, kind, i, j),
                "shared": [
                    {"a": a.addresses[row], "b": b.addresses[partner[row]]} for row in shared_calls[:LISTED]
                ],
            }
    if place := _entry(matching, "place", i, j):
        found["place"] = {"agreement": place}
    return found


def _entry(matching: Matching, kind: str, i: int, j: int) -> float:
    matrix = matching.pairs.evidence.get(kind)
    return round(min(float(matrix[i, j]), 1.0), 4) if matrix is not None else 0.0


def _digest(side: Side, row: int) -> str:
    return side.table.column("digest")[row].as_py()


def matching_csv(matching: Matching) -> str:
    """The matches, one per line, then the functions without one, their other half empty."""
    out = io.StringIO()
    write_rows(out, [COLUMNS])
    for record in match_records(matching):
        measures = [record["score"], record["rank"], record["confidence"], ";".join(record["flags"])]
        write_rows(out, [[*_cells(record["a"]), *_cells(record["b"]), *measures]])
    blank = [""] * 4
    for row in matching.unmatched_a():
        write_rows(out, [[*_cells(function_record(matching.a, row)), *blank, *blank]])
    for row in matching.unmatched_b():
        write_rows(out, [[*blank, *_cells(function_record(matching.b, row)), *blank]])
    return out.getvalue()


def _cells(function: dict[str, Any]) -> list[Any]:
    return [function[name] for name in ("name", "address", "size", "blocks")]
