"""``weft absa calibrate``: fit temperature and decision threshold on labelled texts that did not train a model."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, cast

from weft.cli.absa.arguments import add_answers, load_asker
from weft.cli.absa.labelled import add_labelled, read_corpus, report_problems, under_classes
from weft.cli.absa.report import print_report

if TYPE_CHECKING:
    from weft.absa.evaluate.threshold import Criterion

_CRITERIA = ("mean", "macro-f1", "strict")


def parser() -> argparse.ArgumentParser:
    """The command's arguments."""
    found = argparse.ArgumentParser(prog="weft absa calibrate", description=__doc__)
    add_labelled(found)
    found.add_argument(
        "--criterion",
        choices=_CRITERIA,
        default="mean",
        help="what the threshold is chosen for: the mean of strict accuracy and macro-F1 (default); macro-F1, "
        "where strict accuracy is within --give of its best; or strict accuracy",
    )
    found.add_argument(
        "--give", type=float, default=0.005, help="of macro-f1: strict accuracy given up (0.005)"
    )
    found.add_argument("--threshold", type=float, help="store this threshold instead of choosing one")
    found.add_argument("--temperature", type=float, help="store this temperature instead of fitting one")
    found.add_argument(
        "--out", help="write the calibrated model here (its own directory may be named); nowhere by default"
    )
    add_answers(found)
    return found


def run(argv: list[str]) -> int:
    """Run the command."""
    arguments = parser().parse_args(argv)
    from weft.absa.checks import check_temperature, check_threshold
    from weft.absa.evaluate.threshold import calibrate
    from weft.absa.use.store import recalibrate

    if arguments.threshold is not None:
        check_threshold("--threshold", arguments.threshold)
    if arguments.temperature is not None:
        check_temperature("--temperature", arguments.temperature)
    corpus = read_corpus(arguments)
    asker = load_asker(arguments)
    corpus = under_classes(corpus, asker, arguments.input)
    found = calibrate(
        asker,
        corpus,
        criterion=cast("Criterion", arguments.criterion),
        give=arguments.give,
        temperature=arguments.temperature,
        threshold=arguments.threshold,
    )
    results: dict[str, Any] = found.record()
    if arguments.out is not None:
        recalibrate(arguments.model, arguments.out, found.temperature, found.threshold)
    print_report(results, arguments.json, heading=arguments.input)
    report_problems(corpus, "calibrate")
    return 0
