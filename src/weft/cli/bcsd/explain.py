"""``weft bcsd explain``: which blocks, instructions and tokens carry the match of two functions."""

from __future__ import annotations

import json

from weft.cli.bcsd.inputs import check_kinds
from weft.cli.bcsd.outputs import spare_binaries
from weft.cli.bcsd.patience import telling
from weft.cli.options import (
    Parser,
    add_html,
    add_json,
    add_machine,
    add_model,
    add_reading,
    device_of,
    limits_of,
)
from weft.errors import ConfigError
from weft.platform.files import write_text


def parser() -> Parser:
    """The arguments of ``weft bcsd explain``."""
    result = Parser(
        "bcsd explain",
        "Hide each block and instruction in turn; say how far the similarity of two functions falls.",
    )
    for side in ("a", "b"):
        result.add_argument(
            side,
            metavar=f"{side.upper()}:FUNCTION",
            help="a file and a function's name, or an address: FILE@0x1234",
        )
    add_model(result, "bcsd-small")
    add_html(result, "a page with both graphs, coloured")
    add_reading(result)
    add_json(result)
    add_machine(result)
    return result


def run(argv: list[str]) -> int:
    """Run ``weft bcsd explain``."""
    arguments = parser().parse_args(argv)
    from weft.bcsd.select import parse_selector

    chosen = [parse_selector(text) for text in (arguments.a, arguments.b)]
    for selector in chosen:
        if selector.function is None:
            raise ConfigError(f"{selector.path}: which function?", hint="FILE:FUNCTION or FILE@ADDRESS")
    limits = limits_of(arguments)
    spare_binaries([arguments.html], [selector.path for selector in chosen])
    check_kinds(selector.path for selector in chosen)
    from weft.bcsd.explain.files import explain_files
    from weft.bcsd.explain.record import describe, explanation_record
    from weft.cli.bcsd.remarks import say

    paths = [selector.path for selector in chosen]
    with telling("weft bcsd explain: comparing functions of", paths, quiet=arguments.quiet):
        found = explain_files(
            [(selector.path, selector.function or "") for selector in chosen],
            model=arguments.model,
            disassembler=arguments.disassembler,
            limits=limits,
            device=device_of(arguments),
        )
    for half in (found.a, found.b):
        say(half.path, half.remarks)
    if arguments.html is not None:
        from weft.bcsd.explain.page import explanation_page

        write_text(arguments.html, explanation_page(found), "backslashreplace")
    print(json.dumps(explanation_record(found)) if arguments.json else describe(found))
    return 0
