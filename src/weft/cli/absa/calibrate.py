"""``weft absa calibrate``: fit temperature and decision threshold on labelled texts that did not train a model."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from weft.cli.absa.arguments import add_answers, load_asker
from weft.cli.absa.labelled import add_labelled, check_split, read_corpus, report_problems, under_classes
from weft.cli.absa.report import print_report
from weft.cli.options import Parser, add_out
from weft.errors import ConfigError
from weft.platform.files import check_output

if TYPE_CHECKING:
    from weft.absa.evaluate.threshold import Criterion


_GIVE = 0.005
"""Strict accuracy given up where --give says nothing."""


def parser() -> Parser:
    """The arguments of ``weft absa calibrate``."""
    result = Parser(
        "absa calibrate",
        "Fit temperature and decision threshold on labelled texts that did not train the model.",
    )
    add_labelled(result)
    result.add_argument(
        "--criterion",
        choices=("mean", "macro-f1", "strict"),
        help="what the threshold is chosen for: the mean of strict accuracy and macro-F1; macro-F1, where strict "
        "accuracy is within --give of its best; or strict accuracy (mean)",
    )
    result.add_argument(
        "--give", type=float, metavar="P", help="of macro-f1: strict accuracy given up (0.005)"
    )
    result.add_argument(
        "--force",
        action="store_true",
        help="take the chosen threshold where it is no gain on texts that it did not see, too (the answers stay as "
        "they are)",
    )
    result.add_argument("--threshold", type=float, metavar="P", help="store this one instead of choosing")
    result.add_argument("--temperature", type=float, metavar="T", help="store this one instead of fitting")
    add_out(
        result, "MODEL", "write the calibrated model here; its own folder may be named", default="nowhere"
    )
    add_answers(result)
    return result


def run(argv: list[str]) -> int:
    """Run the command."""
    arguments = parser().parse_args(argv)
    from weft.absa.checks import check_temperature, check_threshold
    from weft.absa.evaluate.threshold import calibrate
    from weft.absa.use.store import recalibrate
    from weft.encoder.checkpoint.record import check_replaceable

    if arguments.threshold is not None:
        check_threshold("--threshold", arguments.threshold)
    if arguments.temperature is not None:
        check_temperature("--temperature", arguments.temperature)
    check_split(arguments)
    _check_choice(arguments)
    if arguments.out is not None:
        place = arguments.out
        while not place.exists() and place != place.parent:
            place = place.parent
        check_output(place / "config.json")
        check_replaceable(arguments.out)
    corpus = read_corpus(arguments)
    asker = load_asker(arguments)
    corpus = under_classes(corpus, asker, arguments.input)
    found = calibrate(
        asker,
        corpus,
        criterion=cast("Criterion", arguments.criterion or "mean"),
        give=_GIVE if arguments.give is None else arguments.give,
        temperature=arguments.temperature,
        threshold=arguments.threshold,
        force=arguments.force,
    )
    results: dict[str, Any] = found.record()
    print_report(results, arguments.json, heading=arguments.input)
    if found.kept:
        print(f"weft absa calibrate: {_why_kept(results)}", file=sys.stderr)
    if arguments.out is not None:
        recalibrate(arguments.model, arguments.out, found.temperature, found.threshold)
    report_problems(corpus, "calibrate")
    return 0


def _why_kept(results: Mapping[str, float]) -> str:
    """Why the threshold that was chosen is not taken."""
    figures = [
        f"{what} {results[f'before: {name}']:.3f} before and {results[f'crossed: {name}']:.3f} with it"
        for name, what in (
            ("accuracy", "right answers"),
            ("strict", "strict accuracy"),
            ("macro_f1", "aspect macro-F1"),
        )
    ]
    return (
        f"the threshold {results['chosen']:g} is not taken: on texts that it did not see it is no gain "
        f"({', '.join(figures)}). The answers stay as they were, only the probabilities are fitted; --force takes it"
    )


def _check_choice(arguments: argparse.Namespace) -> None:
    """Refuse what says how a threshold is chosen where none is, or by another criterion."""
    for name in ("criterion", "give", "force"):
        if arguments.threshold is not None and getattr(arguments, name) not in (None, False):
            raise ConfigError(f"--{name} beside --threshold", hint="leave one of them out")
    if arguments.give is not None and not 0 <= arguments.give <= 1:
        raise ConfigError(f"--give is {arguments.give}; it must be in [0, 1]")
    if arguments.give is not None and arguments.criterion != "macro-f1":
        raise ConfigError("--give without --criterion macro-f1", hint="leave it out")
