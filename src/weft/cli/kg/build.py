"""``weft kg build``: source trees to a data set."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path


def parser() -> argparse.ArgumentParser:
    """The arguments of ``weft kg build``."""
    result = argparse.ArgumentParser(
        prog="weft kg build", description="Cut source trees into chunks with facts, split by module."
    )
    result.add_argument("trees", nargs="+", type=Path, metavar="DIR", help="trees that are split by module")
    result.add_argument("-o", "--output", type=Path, required=True, metavar="DATASET")
    result.add_argument("--language", choices=("python",), default="python")
    result.add_argument(
        "--extra",
        nargs="*",
        type=Path,
        default=[],
        metavar="DIR",
        help="trees for training only; copies of held-out code are left out",
    )
    result.add_argument(
        "--extra-chunks", type=int, default=200_000, metavar="N", help="bound on theirs (200000)"
    )
    result.add_argument(
        "--vocab-size", type=int, default=8192, metavar="N", help="tokens of the vocabulary (8192)"
    )
    result.add_argument("--roots", type=int, default=128, metavar="R", help="tokens of a chunk (128)")
    result.add_argument("--leaves", type=int, default=7, metavar="K", help="tokens of a tail (7)")
    result.add_argument("--valid-percent", type=int, default=8, metavar="N", help="of the modules (8)")
    result.add_argument("--test-percent", type=int, default=16, metavar="N", help="of the modules (16)")
    result.add_argument(
        "--no-stubs", action="store_true", help="without the types of the typeshed (package mypy)"
    )
    result.add_argument("--json", action="store_true", help="print the funnel as JSON")
    result.add_argument("--quiet", action="store_true", help="no progress")
    return result


def run(argv: list[str]) -> int:
    """Run ``weft kg build``."""
    arguments = parser().parse_args(argv)
    from weft.errors import PartialFailure
    from weft.kg.read.build import BuildConfig, build_python

    config = BuildConfig(
        roots=arguments.roots,
        longest_tail=arguments.leaves,
        vocab_size=arguments.vocab_size,
        valid_percent=arguments.valid_percent,
        test_percent=arguments.test_percent,
        extra_chunks=arguments.extra_chunks,
        stubs=not arguments.no_stubs,
    )
    funnel = build_python(
        arguments.trees,
        arguments.output,
        config,
        extra=arguments.extra,
        say=(lambda _: None) if arguments.quiet else (lambda text: print(text, file=sys.stderr)),
    )
    record = funnel.record()
    if arguments.json:
        print(json.dumps(record, ensure_ascii=False))
    else:
        for name, count in sorted(funnel.counts.items()):
            print(f"{count:>10,}  {name}")
    broken = sum(len(items) for items in funnel.listed.values())
    if broken and not arguments.quiet:
        for items in funnel.listed.values():
            for item in items[:20]:
                print(f"left out: {item}", file=sys.stderr)
    return PartialFailure.exit_code if broken else 0
