"""``weft absa eval``: measure a model on labelled texts, with floors and controls beside."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, cast, get_args

from weft.cli.absa.arguments import add_answers, load_asker
from weft.cli.absa.explain import METHODS
from weft.cli.absa.labelled import add_labelled, read_corpus, report_problems, under_classes
from weft.cli.absa.report import print_report

if TYPE_CHECKING:
    from weft.absa.explain.attribution import Method


def parser() -> argparse.ArgumentParser:
    """The command's arguments."""
    found = argparse.ArgumentParser(prog="weft absa eval", description=__doc__)
    add_labelled(found)
    found.add_argument("--threshold", type=float, help="decide by this threshold instead of the model's own")
    found.add_argument(
        "--explanations", type=int, default=0, metavar="N", help="also test explanations on N questions"
    )
    found.add_argument(
        "--method",
        action="append",
        choices=(*METHODS, "random"),
        help="of the explanations; may be repeated; all by default",
    )
    add_answers(found)
    return found


def run(argv: list[str]) -> int:
    """Run the command."""
    arguments = parser().parse_args(argv)
    from weft.absa.checks import check_threshold
    from weft.absa.evaluate.report import report

    if arguments.threshold is not None:
        check_threshold("--threshold", arguments.threshold)
    corpus = read_corpus(arguments)
    asker = load_asker(arguments)
    corpus = under_classes(corpus, asker, arguments.input)
    asker = asker.calibrated(asker.config.temperature, arguments.threshold)
    results = report(asker, corpus)
    if arguments.explanations > 0:
        from weft.absa.explain.attribution import Method as Methods
        from weft.absa.explain.deletion import deletion_scores

        has_quasi = asker.config.kind.startswith("qacg")
        every = [name for name in get_args(Methods) if name != "quasi" or has_quasi]
        names = arguments.method or every
        methods = cast("list[Method]", names)
        scores = deletion_scores(asker, corpus, methods, limit=arguments.explanations)
        results |= {f"deletion, {name}": value for name, value in scores.items()}
    print_report(results, arguments.json, heading=arguments.input)
    report_problems(corpus, "eval")
    return 0
