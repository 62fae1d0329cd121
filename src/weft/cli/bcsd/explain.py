"""``weft bcsd explain``: which blocks, instructions and tokens carry the match of two functions."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from weft.cli.bcsd.match import write
from weft.cli.machine import add_machine, device_of
from weft.errors import ConfigError, StoreError


def parser() -> argparse.ArgumentParser:
    """The arguments of ``weft bcsd explain``."""
    result = argparse.ArgumentParser(
        prog="weft bcsd explain",
        description="Hide each block and instruction in turn; say how far the similarity of two functions falls.",
    )
    result.add_argument("a", metavar="A:FUNCTION", help="a name, or an address: A@0x1234")
    result.add_argument("b", metavar="B:FUNCTION")
    result.add_argument("--model", default="bcsd-small", metavar="NAME|DIR", help="default: bcsd-small")
    result.add_argument("--html", type=Path, metavar="FILE", help="write a page with both graphs, coloured")
    result.add_argument("--disassembler", default="auto", metavar="NAME", help="auto, native, angr, smda")
    result.add_argument("--timeout", type=float, default=600.0, metavar="S", help="seconds per file (600)")
    result.add_argument(
        "--memory", type=int, default=4096, metavar="MIB", help="address space per file (4096)"
    )
    result.add_argument("--json", action="store_true", help="print one JSON object")
    add_machine(result)
    return result


def run(argv: list[str]) -> int:
    """Run ``weft bcsd explain``."""
    arguments = parser().parse_args(argv)
    from weft.bcsd.select import find_function, parse_selector

    chosen = [parse_selector(text) for text in (arguments.a, arguments.b)]
    for selector in chosen:
        if selector.function is None:
            raise ConfigError(f"{selector.path}: which function?", hint="FILE:FUNCTION or FILE@ADDRESS")
    if not arguments.timeout > 0 or arguments.memory < 256:
        raise ConfigError("--timeout must be above 0, --memory at least 256")
    if arguments.html is not None and not arguments.html.resolve().parent.is_dir():
        raise StoreError("no such folder", where=str(arguments.html.resolve().parent))
    from weft.bcsd.explain.occlusion import explain
    from weft.bcsd.explain.record import describe, explanation_record
    from weft.bcsd.matching.side import SideRequest, read_sides
    from weft.bcsd.use.embedder import Embedder
    from weft.bcsd.use.store import find
    from weft.platform.processes import Limits

    folder = find(arguments.model)
    requests = [SideRequest(selector.path, arguments.disassembler, listings=True) for selector in chosen]
    sides = read_sides(requests, workers=2, limits=Limits(arguments.timeout, arguments.memory))
    rows = [
        find_function(side.functions, selector.function or "", selector.path)
        for side, selector in zip(sides, chosen, strict=True)
    ]
    embedder = Embedder.load(folder, device=device_of(arguments))
    found = explain(sides[0], rows[0], sides[1], rows[1], embedder)
    if arguments.html is not None:
        from weft.bcsd.explain.page import explanation_page

        write(arguments.html, explanation_page(found))
    print(json.dumps(explanation_record(found)) if arguments.json else describe(found))
    return 0
