"""``weft bcsd diff``: what changed from one version of a binary to the next."""

from __future__ import annotations

import json
import shutil
import sys
from typing import TYPE_CHECKING

from weft.cli.bcsd.inputs import check_kinds
from weft.cli.bcsd.names import shortened
from weft.cli.bcsd.outputs import spare_binaries
from weft.cli.bcsd.patience import telling
from weft.cli.bcsd.remarks import say
from weft.cli.options import (
    Parser,
    add_html,
    add_json,
    add_lifter,
    add_machine,
    add_model,
    add_reading,
    at_least,
    device_of,
    limits_of,
)
from weft.cli.table import table
from weft.errors import in_one_line
from weft.platform.files import write_text

if TYPE_CHECKING:
    from weft.bcsd.difference.compare import Difference

_SHOWN = 60
#: Letters of a function's name.
_NAME = 60


def parser() -> Parser:
    """The arguments of ``weft bcsd diff``."""
    result = Parser(
        "bcsd diff",
        "What changed from one version of a binary to the next: functions that a patch changed, added, removed or "
        "renamed, the most telling changes first.",
    )
    result.add_argument("old", metavar="OLD", help="the binary before")
    result.add_argument("new", metavar="NEW", help="the same program after")
    result.add_argument(
        "--function",
        metavar="NAME",
        help="print one function side by side: its name, or @ADDRESS of either version",
    )
    result.add_argument(
        "--limit", type=int, default=_SHOWN, metavar="N", help=f"lines of the table ({_SHOWN})"
    )
    add_model(result, "bcsd-small")
    add_html(result, "a report: changed functions side by side, one page, no other files")
    add_reading(result)
    add_lifter(result)
    add_json(result)
    add_machine(result)
    return result


def run(argv: list[str]) -> int:
    """Run ``weft bcsd diff``."""
    arguments = parser().parse_args(argv)
    at_least(1, limit=arguments.limit)
    spare_binaries([arguments.html], (arguments.old, arguments.new))
    check_kinds((arguments.old, arguments.new))
    from weft.bcsd.difference.files import diff
    from weft.bcsd.difference.record import difference_record

    device, limits = device_of(arguments), limits_of(arguments)
    with telling("weft bcsd diff: comparing", (arguments.old, arguments.new), quiet=arguments.quiet):
        difference = diff(
            arguments.old,
            arguments.new,
            model=arguments.model,
            disassembler=arguments.disassembler,
            device=device,
            limits=limits,
            lifter=arguments.lifter,
        ).difference
    for version in (difference.old, difference.new):
        say(version.side.path, version.side.remarks)
    if not arguments.quiet:
        for remark in difference.remarks:
            print(in_one_line(f"weft bcsd diff: {remark}"), file=sys.stderr)
    from weft.bcsd.difference.view.show import find_entry, side_by_side

    # A name that is none is told before anything is written.
    only = None if arguments.function is None else find_entry(difference, arguments.function)
    if arguments.html is not None:
        from weft.bcsd.difference.view.page import difference_page

        write_text(arguments.html, difference_page(difference), "backslashreplace")
    if arguments.json:
        print(json.dumps(difference_record(difference, only)))
    elif arguments.function is not None:
        print(side_by_side(difference, arguments.function))
    else:
        print(describe(difference, arguments.limit, summary=not arguments.quiet))
    return 0


def describe(difference: Difference, limit: int = _SHOWN, *, summary: bool = True) -> str:
    """What changed, for a person.

    Args:
        difference: What was found.
        limit: Functions that are listed.
        summary: Whether the last line counts them; it does where nothing changed, for there is no other.
    """
    from weft.bcsd.difference.compare import Status

    told = [entry for entry in difference.entries if entry.status != Status.UNCHANGED]
    names, kinds = _room()
    rows: list[tuple[str, ...]] = []
    for entry in told[:limit]:
        change = entry.change
        old = shortened(difference.old.shown(entry.old), names) if entry.old >= 0 else ""
        new = shortened(difference.new.shown(entry.new), names) if entry.new >= 0 else ""
        version, row = (difference.new, entry.new) if entry.new >= 0 else (difference.old, entry.old)
        rows.append(
            (
                str(entry.status),
                f"{change.amount:.0%}" if change is not None else "",
                f"{version.codes[row].address:#x}",
                old if old == new or not new else f"{old} → {new}" if old else new,
                _in_room(list(change.kinds), kinds) if change is not None else "",
                "; ".join(change.notes) if change is not None else "",
            )
        )
    lines = [table(("status", ">amount", ">address", "function", "kinds", "what"), rows)] if rows else []
    if len(told) > limit:
        lines.append(f"… {len(told) - limit} more: --limit, --json or --html list them all")
    if rows and not summary:
        return "\n".join(lines)
    counted = ", ".join(f"{difference.count(status)} {status}" for status in Status)
    lines.append(f"{len(difference.old)} and {len(difference.new)} functions: {counted}")
    lines += filter(None, [difference.in_common.said()])
    return "\n".join(lines)


def _room() -> tuple[int, int]:
    """Letters for a function's name and for its kinds; on a terminal a quarter and a sixth of it, for what changed."""
    if not sys.stdout.isatty():
        return _NAME, sys.maxsize
    columns = shutil.get_terminal_size().columns
    return min(_NAME, columns // 4), columns // 6


def _in_room(kinds: list[str], room: int) -> str:
    """As many kinds as there is room for, the most telling one at least."""
    left = len(kinds)
    while left > 1 and len(", ".join(kinds[:left])) > room:
        left -= 1
    text = ", ".join(kinds[:left])
    return text if left == len(kinds) else f"{text}, …"
