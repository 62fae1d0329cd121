"""``weft bcsd match``: which function of one binary is which function of another."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.cli.machine import add_machine, device_of
from weft.errors import ConfigError, StoreError

if TYPE_CHECKING:
    from weft.bcsd.matching.match import Matching

_SHOWN = 40
#: Characters of a function's column on the narrowest terminal.
_NARROWEST = 24


def parser() -> argparse.ArgumentParser:
    """The arguments of ``weft bcsd match``."""
    result = argparse.ArgumentParser(
        prog="weft bcsd match",
        description="Pair the functions of two binaries, one to one, with scores, evidence and confidence.",
    )
    result.add_argument("a", metavar="A", help="the binary whose names are known, if one has them")
    result.add_argument("b", metavar="B", help="the other one")
    result.add_argument("--model", default="bcsd-small", metavar="NAME|DIR", help="default: bcsd-small")
    result.add_argument("--html", type=Path, metavar="FILE", help="write a report: one page, no other files")
    shape = result.add_mutually_exclusive_group()
    shape.add_argument("--json", action="store_true", help="print one JSON object")
    shape.add_argument("--csv", action="store_true", help="print CSV")
    result.add_argument("--rename", choices=("ghidra", "ida"), help="write a script that names B's functions")
    result.add_argument(
        "--rename-output",
        type=Path,
        metavar="FILE",
        help="default: weft_rename_ghidra.py, weft_rename_ida.py",
    )
    result.add_argument(
        "--rename-floor", type=float, default=0.8, metavar="P", help="name nothing less sure than this (0.8)"
    )
    result.add_argument(
        "--floor", type=float, metavar="P", help="leave pairs less sure than this unmatched (the model's)"
    )
    result.add_argument("--min-blocks", type=int, default=0, metavar="N", help="leave out smaller functions")
    result.add_argument("--disassembler", default="auto", metavar="NAME", help="auto, native, angr, smda")
    result.add_argument("--timeout", type=float, default=600.0, metavar="S", help="seconds per file (600)")
    result.add_argument(
        "--memory", type=int, default=4096, metavar="MIB", help="address space per file (4096)"
    )
    add_machine(result)
    return result


def run(argv: list[str]) -> int:
    """Run ``weft bcsd match``."""
    arguments = parser().parse_args(argv)
    check(arguments)
    from weft.bcsd.matching.match import match
    from weft.bcsd.matching.record import matching_csv, matching_record
    from weft.bcsd.matching.rule import rule_of
    from weft.bcsd.matching.side import SideRequest, read_sides
    from weft.bcsd.use.embedder import Embedder
    from weft.bcsd.use.store import find
    from weft.platform.processes import Limits

    folder = find(arguments.model)
    requests = [
        SideRequest(path, arguments.disassembler, arguments.min_blocks, arguments.html is not None)
        for path in (arguments.a, arguments.b)
    ]
    a, b = read_sides(requests, workers=2, limits=Limits(arguments.timeout, arguments.memory))
    embedder = Embedder.load(folder, device=device_of(arguments), precision="auto")
    rule, calibrated = rule_of(folder, embedder.version)
    if not calibrated and not arguments.quiet:
        print(
            f"weft bcsd match: {arguments.model} has no matching rule of its own: confidences order the matches, "
            "but are no probabilities (weft bcsd calibrate)",
            file=sys.stderr,
        )
    matching = match(a, b, embedder, rule, arguments.floor)
    if arguments.html is not None:
        from weft.bcsd.report.page import report_page

        write(arguments.html, report_page(matching, embedder.version, calibrated))
    if arguments.rename is not None:
        from weft.bcsd.report.rename import rename_script

        place = arguments.rename_output or Path(f"weft_rename_{arguments.rename}.py")
        write(place, rename_script(matching, arguments.rename, arguments.rename_floor))
    if arguments.json:
        print(json.dumps(matching_record(matching, embedder.version, calibrated)))
    elif arguments.csv:
        print(matching_csv(matching), end="")
    else:
        print(describe(matching, shutil.get_terminal_size().columns if sys.stdout.isatty() else None))
    return 0


def check(arguments: argparse.Namespace) -> None:
    """Refuse arguments that break a rule, before anything is read.

    Raises:
        ConfigError: One does.
    """
    for option, value in (("--floor", arguments.floor), ("--rename-floor", arguments.rename_floor)):
        if value is not None and not 0 <= value <= 1:
            raise ConfigError(f"{option} is {value}; it must lie in [0, 1]")
    if arguments.min_blocks < 0:
        raise ConfigError(f"--min-blocks is {arguments.min_blocks}; it must be at least 0")
    if not arguments.timeout > 0:
        raise ConfigError(f"--timeout is {arguments.timeout}; it must be above 0")
    if arguments.memory < 256:
        raise ConfigError(f"--memory is {arguments.memory}; it must be at least 256")
    if arguments.rename_output is not None and arguments.rename is None:
        raise ConfigError("--rename-output without --rename", hint="--rename ghidra or --rename ida")
    for path in (arguments.html, arguments.rename_output):
        if path is not None and not path.resolve().parent.is_dir():
            raise StoreError("no such folder", where=str(path.resolve().parent))


def write(path: Path, text: str) -> None:
    """Write a text file.

    Raises:
        StoreError: It cannot be written.
    """
    try:
        # A path may hold bytes that are no text.
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise StoreError(f"cannot be written: {error.strerror}", where=str(path)) from error


def describe(matching: Matching, width: int | None = None) -> str:
    """The surest matches for a person, and what was left over.

    Args:
        matching: What was found.
        width: Characters of a line; names are cut to fit. None: nothing is cut.
    """
    from weft.bcsd.matching.record import match_records

    records = list(match_records(matching))
    shown: list[tuple[str, str, str, str]] = []
    for record in records[:_SHOWN]:
        evidence = ", ".join(kind for kind, value in record["evidence"].items() if value) or "–"
        tiny = " (tiny)" if "tiny" in record["flags"] else ""
        figures = f"{record['confidence']:>10.2f} {record['score']:>6.4f}"
        shown.append((figures, place(record["a"]), place(record["b"]), evidence + tiny))
    longest = max((len(name) for _, *names, _ in shown for name in names), default=1)
    if width is not None:
        beside = 23 + max((len(evidence) for *_, evidence in shown), default=8)
        longest = min(longest, max((width - beside) // 2, _NARROWEST))
    rows = [f"{'confidence':>10} {'score':>6}  {'A':<{longest}}  {'B':<{longest}}  evidence"]
    rows += [
        f"{figures}  {cut(a, longest):<{longest}}  {cut(b, longest):<{longest}}  {evidence}"
        for figures, a, b, evidence in shown
    ]
    if len(records) > _SHOWN:
        rows.append(f"… {len(records) - _SHOWN} more: --json, --csv or --html list them all")
    rows.append(
        f"{len(records)} matches of {len(matching.a)} and {len(matching.b)} functions; "
        f"{len(matching.unmatched_a())} of A and {len(matching.unmatched_b())} of B are unmatched; "
        f"{sum(record['confidence'] >= 0.8 for record in records)} matches are at least 80 % sure"
    )
    return "\n".join(rows)


def place(half: dict[str, Any]) -> str:
    """Where a function is, and its name."""
    return f"{half['address']:#x} {half['name']}"


def cut(text: str, width: int) -> str:
    """The text, its end left out where it is too long."""
    return text if len(text) <= width else text[: width - 1] + "…"
