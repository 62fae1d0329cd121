"""``weft bench``: run benchmarks, print their tables, write their rows."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from weft.cli.options import Parser, add_json, add_out, add_quiet, add_threads
from weft.cli.table import table

if TYPE_CHECKING:
    from weft.bench.table import Row

# Each with its module below weft.bench.
BENCHES = {
    "absa": ("absa", "many questions in one pass against sentence pairs; a long table as a stream"),
    "attention": ("attention", "the paths of attend against plain SDPA and the literal forms"),
    "bcsd": (
        "bcsd.extraction.known",
        "extraction against symbols, unwind data, the compiler's jump tables; speed-up and memory",
    ),
    "bcsd-index": ("bcsd.index", "searching an index of 200,000 different functions: latency, recall"),
    "bcsd-index-writers": (
        "bcsd.index_writers",
        "an index that is written to: one changed file of 200; writers that are killed",
    ),
    "bcsd-lift": (
        "bcsd.extraction.lift",
        "functions lifted per second; two thousand damaged functions of every processor",
    ),
    "bcsd-match": (
        "bcsd.match",
        "one-to-one matching on the test packages: what is found, how sure it is, how long it takes",
    ),
    "bcsd-million": (
        "bcsd.million",
        "searching an index of 1,000,000 made-up functions: latency, recall, start to answer",
    ),
    "bcsd-open": ("bcsd.open", "how sure searches are where nine of ten functions are not in the index"),
    "bcsd-peers": (
        "bcsd.peers.compare",
        "matching beside QBinDiff and MCRIT's MinHash on the test packages (needs the extra peers)",
    ),
    "bcsd-starts": (
        "bcsd.extraction.starts",
        "functions found in stripped libraries, for each processor that a cross compiler is installed for",
    ),
    "bcsd-model": ("bcsd.model", "functions embedded per second; what half precision and the graph cost"),
    "encoder": ("encoder", "the encoder against transformers' BERT, with and without a prefix"),
    "gnn": ("gnn", "graph attention against PyG, triple fusion against a loop"),
    "hostile": ("bcsd.extraction.hostile", "thousands of damaged binaries through the whole extraction"),
    "kg": ("kg.chains", "compact leafy chains against dense ones, one pass against one per query"),
    "kg-annotate": (
        "kg.annotate",
        "types of code whose annotations were taken away, on packages that no training saw",
    ),
    "kg-checked": ("kg.checked", "new errors of pyright in packages that were annotated with its say"),
    "kg-merges": ("kg.merges", "what names of a tree stand for, against jedi"),
    "kg-stated": ("kg.stated", "what a tree states against a walk by another parser; time for 400 files"),
    "kg-store": (
        "kg.store",
        "a store of a million facts: load, lookup, memory; an extraction that is killed twenty times",
    ),
    "kg-text": ("kg.text", "raw text to facts by the shipped model, in each arithmetic"),
}


def parser() -> Parser:
    """The arguments of ``weft bench``."""
    names = "\n".join(f"  {name:<18} {summary}" for name, (_, summary) in BENCHES.items())
    result = Parser(
        "bench",
        f"Measure ratios against named baselines, each pair in one run.\n\nbenchmarks:\n{names}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    result.add_argument("name", nargs="+", choices=[*BENCHES, "all"], metavar="NAME", help="which, or all")
    add_json(result)
    add_out(result, "FILE", "write the rows there, as a JSON list", default="nowhere")
    result.add_argument("--quick", action="store_true", help="few repetitions: a look, not a claim")
    add_threads(result)
    result.add_argument(
        "--keep-memory", action="store_true", help="let malloc keep freed memory, as weft's other commands do"
    )
    add_quiet(result)
    return result


def run(argv: list[str]) -> int:
    """Run ``weft bench``; exit code 1 when a target is missed."""
    arguments = parser().parse_args(argv)
    import torch

    from weft.errors import ConfigError, MissingExtraError, PartialFailure, WeftError, counted
    from weft.platform.files import check_output, write_json
    from weft.platform.machine import use_threads
    from weft.platform.memory import keep_freed_memory

    if arguments.keep_memory and not keep_freed_memory():
        raise ConfigError("--keep-memory: this system's malloc cannot be told to", hint="it needs glibc")
    use_threads(arguments.threads)
    if arguments.out is not None:
        check_output(arguments.out)
    names = list(BENCHES) if "all" in arguments.name else list(dict.fromkeys(arguments.name))
    rows: list[Row] = []
    failed: list[str] = []
    out: Path | None = arguments.out
    again = out if out is not None and _takes_it_again(out) else None

    def hand_over() -> None:
        if arguments.json:
            print(json.dumps([row.record() for row in rows]))
        if out is not None and not (again and rows):
            write_json(out, [row.record() for row in rows])

    try:
        for name in names:
            try:
                measured = list(import_module(f"weft.bench.{BENCHES[name][0]}").rows(arguments.quick))
            except MissingExtraError as error:
                if "all" not in arguments.name:
                    raise
                print(f"weft bench {name}: left out: {error}", file=sys.stderr)
                continue
            except WeftError as error:
                if "all" not in arguments.name:
                    raise
                print(f"weft bench {name}: {error}", file=sys.stderr)
                failed.append(name)
                continue
            rows += measured
            if again is not None:
                # A benchmark may take hours, and the next may end it all.
                write_json(again, [row.record() for row in rows])
            if not arguments.quiet and not arguments.json:
                print(f"weft bench {name} (torch {torch.__version__}, {torch.get_num_threads()} threads)")
                print(listing(measured))
    except BaseException:
        if rows:  # what was measured is not lost with what was not
            hand_over()
        raise
    hand_over()
    if failed:
        raise PartialFailure(
            f"{counted(len(failed), 'benchmark')} could not be measured: {', '.join(failed)}"
        )
    return 1 if any(row.ok is False for row in rows) else 0


def _takes_it_again(out: Path) -> bool:
    """Whether what is written replaces what was: in a pipe, one list would follow the other."""
    from weft.platform.streams import open_file

    return open_file(out) is None and (out.is_file() or not out.exists())


def listing(rows: Sequence[Row]) -> str:
    """The rows as a table, each with its verdict."""
    marks = {True: " ok", False: " MISSED", None: ""}
    cells = [
        [
            *(row.name, row.variant, row.dtype, row.unit),
            *(f"{row.ours:.4g}", f"{row.baseline:.4g}", f"{row.ratio:.3g}"),
            ""
            if row.target is None
            else f"{'≤' if row.better == 'lower' else '≥'} {row.target:g}{marks[row.ok]}",
        ]
        for row in rows
    ]
    return table(["name", "variant", "dtype", "unit", ">ours", ">baseline", ">ratio", "target"], cells)
