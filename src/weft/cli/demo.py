"""``weft demo``: the mechanisms and the applications at work, offline, in under a minute."""

from __future__ import annotations

import argparse
import shutil
import sys
from importlib import import_module

from weft.cli.options import Parser

DEMOS = {
    "attention": "what a prefix, a decay and a quasi-attention do to the weights of one sentence",
    "bcsd": "two builds of zlib matched: another compiler, level and architecture, one stripped",
    "diff": "two versions of a small ARM32 program: what the patch changed",
    "absa": "questions about a phone, a hotel and two people, asked of the shipped model",
    "texts": "a folder of texts that nobody prepared, read to a graph, and questions asked of it",
    "kg": "facts of a module that the shipped model never saw, judged by the syntax tree; a graph, and a query over it",
}


def parser() -> Parser:
    """The arguments of ``weft demo``."""
    names = "\n".join(f"  {name:<10} {summary}" for name, summary in DEMOS.items())
    result = Parser(
        "demo",
        f"See weft at work; without a NAME, everything in turn.\n\ndemonstrations:\n{names}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    result.add_argument("name", nargs="*", metavar="NAME", help="which")
    return result


def run(argv: list[str]) -> int:
    """Run ``weft demo``."""
    asked = parser()
    arguments = asked.parse_args(argv)
    # Not by argparse's choices: before Python 3.12 these refuse that there is no NAME.
    for name in arguments.name:
        if name not in DEMOS:
            asked.error(f"no demonstration {name!r} (there are {', '.join(DEMOS)})")
    from weft.cli.console import PipedConsole

    console = PipedConsole(width=110)
    if sys.stdout.isatty():
        # A narrower terminal folds a line; a column that is cut to it would show "0…" for every number.
        console.width = max(80, shutil.get_terminal_size().columns)
    for name in arguments.name or DEMOS:
        import_module(f"weft.demo.{name}").show(console)
    if not arguments.name:
        console.print("\nThe tools in a browser: `weft serve`, then http://127.0.0.1:8000/ (docs/serve.md).")
    return 0
