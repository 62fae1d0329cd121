"""``weft absa eval``: measure a model on labelled texts, with floors and controls beside."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, cast, get_args

from weft.cli.absa.arguments import add_model, add_precision, load_asker
from weft.cli.absa.report import print_report
from weft.cli.machine import add_machine
from weft.errors import InputError, PartialFailure

if TYPE_CHECKING:
    from weft.absa.explain.attribution import Method


def parser() -> argparse.ArgumentParser:
    """The command's arguments."""
    found = argparse.ArgumentParser(prog="weft absa eval", description=__doc__)
    found.add_argument("input", help="SentiHood JSON, SemEval XML, or a labelled table")
    found.add_argument(
        "--format", choices=("sentihood", "semeval", "table"), help="by the suffix: .json, .xml, other"
    )
    found.add_argument("--text-column", default="text")
    found.add_argument("--aspect-column", default="aspect")
    found.add_argument("--polarity-column", default="polarity")
    found.add_argument("--target-column")
    found.add_argument(
        "--aspect", action="append", help="SentiHood: an aspect to ask about; the four frequent ones"
    )
    found.add_argument(
        "--explanations", type=int, default=0, metavar="N", help="also test explanations on N questions"
    )
    found.add_argument("--json", action="store_true", help="print JSON")
    add_model(found)
    add_precision(found)
    add_machine(found)
    return found


def run(argv: list[str]) -> int:
    """Run the command."""
    arguments = parser().parse_args(argv)
    from weft.absa.evaluate.report import report
    from weft.absa.learn.setup import DataFiles, DataFormat
    from weft.absa.read.labelled import Columns
    from weft.absa.read.sentihood import FREQUENT_ASPECTS

    form = arguments.format
    if form is None:
        form = "sentihood" if arguments.input.endswith(".json") else "table"
        form = "semeval" if arguments.input.endswith(".xml") else form
    columns = Columns(
        arguments.text_column, arguments.aspect_column, arguments.polarity_column, arguments.target_column
    )
    aspects = tuple(arguments.aspect or FREQUENT_ASPECTS)
    files = DataFiles(arguments.input, format=cast("DataFormat", form), columns=columns, aspects=aspects)
    corpus = files.read(arguments.input)
    asker = load_asker(arguments)
    corpus = corpus.labelled_as(asker.classes_)
    if not corpus.sentences:
        raise InputError("no usable sentence", where=arguments.input)
    results = report(asker, corpus)
    if arguments.explanations > 0:
        from weft.absa.explain.attribution import Method as Methods
        from weft.absa.explain.deletion import deletion_scores

        has_quasi = asker.config.kind.startswith("qacg")
        names = [name for name in get_args(Methods) if name != "quasi" or has_quasi]
        methods = cast("list[Method]", names)
        scores = deletion_scores(asker, corpus, methods, limit=arguments.explanations)
        results |= {f"deletion, {name}": value for name, value in scores.items()}
    print_report(results, arguments.json, heading=arguments.input)
    if corpus.problems.count:
        for line in corpus.problems.lines():
            print(f"weft absa eval: {line}", file=sys.stderr)
        raise PartialFailure(f"{corpus.problems.count} rows could not be used; the others were measured")
    return 0
