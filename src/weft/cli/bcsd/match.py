"""``weft bcsd match``: which function of one binary is which function of another."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.cli.bcsd.inputs import check_kinds
from weft.cli.bcsd.outputs import spare_binaries
from weft.cli.bcsd.patience import telling
from weft.cli.options import (
    Parser,
    add_cache,
    add_html,
    add_lifter,
    add_machine,
    add_min_blocks,
    add_model,
    add_reading,
    add_shapes,
    at_least,
    device_of,
    limits_of,
    share,
)
from weft.cli.table import table
from weft.errors import ConfigError
from weft.platform.files import write_text

if TYPE_CHECKING:
    from weft.bcsd.matching.match import Matching

_SHOWN = 40


def parser() -> Parser:
    """The arguments of ``weft bcsd match``."""
    result = Parser(
        "bcsd match", "Pair the functions of two binaries, one to one, with scores, evidence and confidence."
    )
    result.add_argument("a", metavar="A", help="the binary whose names are known, if one has them")
    result.add_argument("b", metavar="B", help="the other one")
    add_model(result, "bcsd-small")
    add_html(result, "a report: one page, no other files")
    result.add_argument("--rename", choices=("ghidra", "ida"), help="write a script that names B's functions")
    result.add_argument(
        "--rename-out",
        type=Path,
        metavar="FILE",
        help="the script (weft_rename_ghidra.py, weft_rename_ida.py)",
    )
    result.add_argument(
        "--rename-floor", type=float, default=0.8, metavar="P", help="name nothing less sure than this (0.8)"
    )
    result.add_argument(
        "--floor", type=float, metavar="P", help="leave pairs less sure than this unmatched (the model's)"
    )
    add_min_blocks(result, 0)
    add_reading(result)
    add_lifter(result)
    add_cache(result)
    add_shapes(result)
    add_machine(result)
    return result


def run(argv: list[str]) -> int:
    """Run ``weft bcsd match``."""
    arguments = parser().parse_args(argv)
    check(arguments)
    check_kinds((arguments.a, arguments.b))
    from weft.bcsd.matching.files import match
    from weft.bcsd.matching.record import matching_csv, matching_record
    from weft.cli.bcsd.remarks import say

    device, limits = device_of(arguments), limits_of(arguments)
    with telling("weft bcsd match: pairing", (arguments.a, arguments.b), quiet=arguments.quiet):
        found = match(
            arguments.a,
            arguments.b,
            model=arguments.model,
            disassembler=arguments.disassembler,
            min_blocks=arguments.min_blocks,
            floor=arguments.floor,
            listings=arguments.html is not None,
            device=device,
            limits=limits,
            lifter=arguments.lifter,
            cache=arguments.cache,
        )
    matching, calibrated = found.matching, found.calibrated
    if not calibrated and not arguments.quiet:
        print(
            f"weft bcsd match: {arguments.model} has no matching rule of its own: confidences order the matches, "
            "but are no probabilities (weft bcsd calibrate)",
            file=sys.stderr,
        )
    for side in (matching.a, matching.b):
        say(side.path, side.remarks)
    if arguments.html is not None:
        from weft.bcsd.report.page import report_page

        write_text(arguments.html, report_page(matching, found.model, calibrated), "backslashreplace")
    script_at = script_place(arguments)
    if script_at is not None:
        from weft.bcsd.report.rename import rename_script

        script = rename_script(matching, arguments.rename, arguments.rename_floor)
        write_text(script_at, script, "backslashreplace")  # a path may hold bytes that are no text
    if arguments.json:
        print(json.dumps(matching_record(matching, found.model, calibrated)))
    elif arguments.csv:
        print(matching_csv(matching), end="")
    else:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        print(describe(matching, width, summary=not arguments.quiet))
    return 0


def check(arguments: argparse.Namespace) -> None:
    """Refuse arguments that break a rule, before anything is read.

    Raises:
        ConfigError: One does.
    """
    share(floor=arguments.floor, rename_floor=arguments.rename_floor)
    at_least(0, min_blocks=arguments.min_blocks)
    if arguments.rename_out is not None and arguments.rename is None:
        raise ConfigError("--rename-out without --rename", hint="--rename ghidra or --rename ida")
    spare_binaries((arguments.html, script_place(arguments)), (arguments.a, arguments.b))


def script_place(arguments: argparse.Namespace) -> Path | None:
    """Where the script goes; None where none is asked for."""
    if arguments.rename is None:
        return None
    return arguments.rename_out or Path(f"weft_rename_{arguments.rename}.py")


def describe(matching: Matching, width: int | None = None, *, summary: bool = True) -> str:
    """The surest matches for a person, and what was left over.

    Args:
        matching: What was found.
        width: Characters of a line; names are cut to fit. None: nothing is cut.
        summary: Whether the last line counts them; it does where there are none, for there is no other.
    """
    from weft.bcsd.matching.in_common import in_common
    from weft.bcsd.matching.record import match_records

    records = list(match_records(matching))
    rows = [
        (
            f"{record['confidence']:.2f}",
            f"{record['score']:.4f}",
            *(place(record[side]) for side in "ab"),
            ", ".join(kind for kind, value in record["evidence"].items() if value) or "–",
            "tiny" if "tiny" in record["flags"] else "",
        )
        for record in records[:_SHOWN]
    ]
    lines = [table((">sure", ">score", "A", "B", "evidence", "remarks"), rows, width)]
    if len(records) > _SHOWN:
        lines.append(f"… {len(records) - _SHOWN} more: --json, --csv or --html list them all")
    if records and not summary:
        return "\n".join(lines)
    lines.append(
        f"{len(records)} matches of {len(matching.a)} and {len(matching.b)} functions; "
        f"{len(matching.unmatched_a())} of A and {len(matching.unmatched_b())} of B are unmatched; "
        f"{sum(record['confidence'] >= 0.8 for record in records)} matches are at least 80 % sure"
    )
    lines += filter(None, [in_common(matching).said()])
    return "\n".join(lines)


def place(half: dict[str, Any]) -> str:
    """Where a function is, and its name as a programmer wrote it."""
    return f"{half['address']:#x} {half.get('demangled', half['name'])}"
