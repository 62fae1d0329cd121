"""``weft absa eval``: measure a model on labelled texts, with floors and controls beside."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, cast, get_args

from weft.cli.absa.arguments import add_answers, load_asker
from weft.cli.absa.explain import METHODS
from weft.cli.absa.labelled import (
    SETS,
    add_labelled,
    check_split,
    form_of,
    read_by,
    read_corpus,
    report_problems,
    under_classes,
)
from weft.cli.absa.report import print_report
from weft.cli.options import Parser, at_least
from weft.errors import ConfigError, InputError, counted

if TYPE_CHECKING:
    from weft.absa.explain.attribution import Method
    from weft.absa.records import Corpus
    from weft.absa.use.asker import Asker


def parser() -> Parser:
    """The arguments of ``weft absa eval``."""
    result = Parser(
        "absa eval",
        "Measure a model on labelled texts, with floors and controls beside.",
        further="call it again for each",
    )
    add_labelled(result)
    result.add_argument("--threshold", type=float, metavar="P", help="decide by this one (the model's)")
    result.add_argument(
        "--explanations", type=int, default=0, metavar="N", help="also test explanations on N questions (0)"
    )
    result.add_argument(
        "--explainer",
        action="append",
        choices=(*METHODS, "random"),
        help="of the explanations; may be repeated (all)",
    )
    result.add_argument(
        "--by",
        metavar="COLUMN",
        help="of a table: count opinions for each value of this column, whatever the model's classes are; "
        "so are M-ABSA's counted",
    )
    add_answers(result)
    return result


def run(argv: list[str]) -> int:
    """Run the command."""
    arguments = parser().parse_args(argv)
    from weft.absa.checks import check_threshold
    from weft.absa.evaluate.report import report

    if arguments.threshold is not None:
        check_threshold("--threshold", arguments.threshold)
    _check(arguments)
    corpus = read_corpus(arguments)
    asker = load_asker(arguments)
    _say_unmentioned(corpus, asker)
    if arguments.by is not None or arguments.input_format == "mabsa":
        return _opinions(arguments, corpus, asker.calibrated(asker.config.temperature, arguments.threshold))
    corpus = under_classes(corpus, asker, arguments.input)
    asker = asker.calibrated(asker.config.temperature, arguments.threshold)
    results = report(asker, corpus)
    if arguments.explanations > 0:
        from weft.absa.explain.attribution import Method as Methods
        from weft.absa.explain.deletion import deletion_scores

        has_quasi = asker.config.kind.startswith("qacg")
        every = [name for name in get_args(Methods) if name != "quasi" or has_quasi]
        names = arguments.explainer or every
        methods = cast("list[Method]", names)
        scores = deletion_scores(asker, corpus, methods, limit=arguments.explanations)
        results |= {f"deletion, {name}": value for name, value in scores.items()}
    print_report(results, arguments.json, heading=arguments.input)
    report_problems(corpus, "eval")
    return 0


def _check(arguments: argparse.Namespace) -> None:
    """Refuse what would be left out of the measuring."""
    form = form_of(arguments)
    check_split(arguments)
    if arguments.by is not None and form in SETS:
        raise ConfigError("--by names a column of a table", hint=f"{SETS[form]}'s files have none")
    at_least(0, explanations=arguments.explanations)
    if arguments.explainer and not arguments.explanations:
        raise ConfigError("--explainer without --explanations", hint="--explanations 150, for instance")
    if arguments.explanations and (arguments.by is not None or form == "mabsa"):
        raise ConfigError("--explanations are not tested where opinions are counted", hint="leave it out")


def _say_unmentioned(corpus: Corpus, asker: Asker) -> None:
    """Say where ``predict`` answers otherwise than what is measured: about targets that a text does not mention."""
    questions = [
        (sentence.text, context.target) for sentence in corpus.sentences for context in sentence.contexts
    ]
    missing = sum(not asker.mentions(text, target) for text, target in questions)
    if missing:
        name, their = ("names", "its text does") if missing == 1 else ("name", "their texts do")
        print(
            f"weft absa eval: {missing:,} of {counted(len(questions), 'question')} {name} a target that {their} not "
            "mention: predict answers none there, and what is measured is the model's own answer",
            file=sys.stderr,
        )


def _opinions(arguments: argparse.Namespace, corpus: Corpus, asker: Asker) -> int:
    """Print what is found and what is right, of all texts or for each value of a column."""
    from weft.absa.evaluate.opinions import opinions_by

    values = [arguments.input] * len(corpus.sentences)
    if arguments.by is not None:
        corpus, values = read_by(arguments, corpus)
    _say_other_classes(corpus, asker)
    found = opinions_by(asker, corpus, values)
    if arguments.json:
        under = {value: "" if arguments.by is None else f"{value}: " for value in found}
        named = {under[value] + what: figure for value in found for what, figure in found[value].items()}
        print_report(named, True, heading="")
    else:
        for value, figures in found.items():
            print_report(figures, False, heading=value)
    report_problems(corpus, "eval")
    return 0


def _say_other_classes(corpus: Corpus, asker: Asker) -> None:
    """Say what becomes of classes that only one of the two has.

    Raises:
        InputError: The model has no opinion of the corpus, or the corpus has answers of ``predict --abstain``.
    """
    from weft.absa.records import UNSURE

    known, gold = asker.classes_, corpus.polarities
    unknown = [name for name in gold if name not in known]
    if UNSURE in unknown:
        raise InputError(
            f"polarity {UNSURE!r} is what predict --abstain writes in place of an opinion, and cannot be measured",
            hint="label these rows, or leave them out",
        )
    if len(unknown) == len(gold) - 1:
        raise InputError(
            f"the model has none of the opinions {', '.join(unknown)}", hint=f"it has {', '.join(known[1:])}"
        )
    if unknown:
        print(
            f"weft absa eval: the model does not know {', '.join(unknown)}: all such answers are wrong",
            file=sys.stderr,
        )
    others = [name for name in known if name not in gold]
    if others:
        print(
            f"weft absa eval: no answer here is {' or '.join(others)}: what the model gives to it is shared out among "
            "the other classes",
            file=sys.stderr,
        )
