"""``weft kg build``: source trees or text to a data set."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from weft.kg.read.funnel import Funnel

_LISTED = 20


def parser() -> argparse.ArgumentParser:
    """The arguments of ``weft kg build``."""
    result = argparse.ArgumentParser(
        prog="weft kg build",
        description="Cut source trees or text into chunks with facts; prints the funnel of what was left out.",
    )
    result.add_argument(
        "corpus", nargs="+", type=Path, metavar="CORPUS", help="trees (python) or Re-DocRED files (redocred)"
    )
    result.add_argument("-o", "--output", type=Path, required=True, metavar="DATASET")
    result.add_argument("--language", choices=("python", "redocred"), default="python")
    result.add_argument(
        "--vocab-size", type=int, default=8192, metavar="N", help="tokens of the vocabulary (8192)"
    )
    result.add_argument("--roots", type=int, default=128, metavar="R", help="tokens of a chunk (128)")
    result.add_argument("--leaves", type=int, default=7, metavar="K", help="tokens of a tail (7)")
    result.add_argument("--valid-percent", type=int, metavar="N", help="of the modules (8) or documents (15)")
    result.add_argument("--test-percent", type=int, metavar="N", help="of the modules (16) or documents (25)")
    python = result.add_argument_group("Python source")
    python.add_argument(
        "--extra",
        nargs="*",
        type=Path,
        default=[],
        metavar="DIR",
        help="trees for training only; copies of held-out code are left out",
    )
    python.add_argument(
        "--extra-chunks", type=int, default=200_000, metavar="N", help="bound on theirs (200000)"
    )
    python.add_argument(
        "--no-stubs", action="store_true", help="without the types of the typeshed (package mypy)"
    )
    text = result.add_argument_group("text")
    text.add_argument(
        "--schema", type=Path, metavar="FILE", help="relations, JSON or YAML (all of Re-DocRED's)"
    )
    text.add_argument(
        "--split", type=Path, metavar="FILE", help="JSON lists of document ids: train, valid, test"
    )
    text.add_argument(
        "--vocabulary", type=Path, metavar="DIR", help="a BERT directory, to take its vocabulary"
    )
    text.add_argument(
        "--overlap", type=int, default=0, metavar="N", help="tokens that a chunk may repeat (0)"
    )
    result.add_argument("--json", action="store_true", help="print the funnel as JSON")
    result.add_argument("--quiet", action="store_true", help="no progress")
    return result


def run(argv: list[str]) -> int:
    """Run ``weft kg build``."""
    arguments = parser().parse_args(argv)
    from weft.errors import PartialFailure

    def say(text: str) -> None:
        if not arguments.quiet:
            print(text, file=sys.stderr)

    funnel = _python(arguments, say) if arguments.language == "python" else _redocred(arguments, say)
    if arguments.json:
        print(json.dumps(funnel.record(), ensure_ascii=False))
    else:
        for name, count in sorted(funnel.counts.items()):
            print(f"{count:>10,}  {name}")
    if not arguments.quiet:
        for reason, items in funnel.listed.items():
            for item in items[:_LISTED]:
                print(f"left out: {item}", file=sys.stderr)
            if len(items) > _LISTED:
                print(
                    f"left out: {len(items) - _LISTED} more: {reason}; build.json lists all", file=sys.stderr
                )
    return PartialFailure.exit_code if funnel.failures else 0


def _python(arguments: argparse.Namespace, say: Callable[[str], None]) -> Funnel:
    from weft.kg.read.build import BuildConfig, build_python

    default = BuildConfig()
    config = BuildConfig(
        roots=arguments.roots,
        longest_tail=arguments.leaves,
        vocab_size=arguments.vocab_size,
        valid_percent=_or(arguments.valid_percent, default.valid_percent),
        test_percent=_or(arguments.test_percent, default.test_percent),
        extra_chunks=arguments.extra_chunks,
        stubs=not arguments.no_stubs,
    )
    return build_python(arguments.corpus, arguments.output, config, extra=arguments.extra, say=say)


def _redocred(arguments: argparse.Namespace, say: Callable[[str], None]) -> Funnel:
    from weft.kg.read.build_text import TextBuildConfig, build_redocred
    from weft.kg.read.split import read_split
    from weft.kg.schema import Schema

    default = TextBuildConfig()
    config = TextBuildConfig(
        roots=arguments.roots,
        longest_tail=arguments.leaves,
        overlap=arguments.overlap,
        vocab_size=arguments.vocab_size,
        valid_percent=_or(arguments.valid_percent, default.valid_percent),
        test_percent=_or(arguments.test_percent, default.test_percent),
    )
    return build_redocred(
        arguments.corpus,
        arguments.output,
        config,
        schema=Schema.load(arguments.schema) if arguments.schema else None,
        split=read_split(arguments.split) if arguments.split else None,
        vocabulary=arguments.vocabulary,
        say=say,
    )


def _or(value: int | None, default: int) -> int:
    return default if value is None else value
