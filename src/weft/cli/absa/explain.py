"""``weft absa explain``: which words made the answer."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, cast

from weft.cli.absa.arguments import DEFAULT_MODEL, add_questions, add_reading, load_asker
from weft.cli.options import Parser, add_html, add_json, add_machine, add_model
from weft.cli.outputs import check_outputs
from weft.cli.patience import saying
from weft.cli.table import one_line, table
from weft.errors import ConfigError, InputError, counted
from weft.platform.files import write_text

if TYPE_CHECKING:
    from weft.absa.explain.attribution import Explanation, Method

PATIENCE = 5.0
"""Seconds that pass without a word."""
METHODS = ("shapley", "occlusion", "search", "gradient", "integrated", "attention", "quasi")


def parser() -> Parser:
    """The arguments of ``weft absa explain``."""
    result = Parser("absa explain", "Say which words made the answer.")
    result.add_argument("text", metavar="TEXT", help="the text; - for standard input")
    add_questions(result, required=True)
    result.add_argument(
        "--method", choices=METHODS, help="how (the one that the deletion test found best for such models)"
    )
    result.add_argument("--polarity", metavar="NAME", help="explain this answer (the model's answer)")
    add_html(result, "a heat map")
    result.add_argument(
        "--maps",
        action="store_true",
        help="with --json: attention weights, quasi-attention and gates as matrices",
    )
    add_json(result)
    add_model(result, DEFAULT_MODEL)
    add_machine(result)
    add_reading(result)
    return result


def run(argv: list[str]) -> int:
    """Run the command."""
    arguments = parser().parse_args(argv)
    from weft.absa.read.given import text_of
    from weft.absa.records import is_blank

    text = text_of(arguments.text)
    if is_blank(text):
        raise InputError("the text is empty")
    if arguments.maps and not arguments.json:
        raise ConfigError("--maps are matrices for programs", hint="give --json as well")
    check_outputs([arguments.html], [] if arguments.words is None else [arguments.words])
    from weft.absa.explain.attribution import ROUGH, default_method, explain
    from weft.absa.explain.heatmap import heatmap
    from weft.absa.explain.maps import question_maps
    from weft.absa.records import Context
    from weft.absa.use.notes import notes_on

    asker = load_asker(arguments)
    method = cast("Method", arguments.method or default_method(asker.config))
    questions = [
        Context(aspect, target) for target in arguments.target or [None] for aspect in arguments.aspect
    ]
    with saying(lambda: _at_work(text, method, len(questions)), PATIENCE, quiet=arguments.quiet):
        found = [
            explain(asker, text, question, method=method, polarity=arguments.polarity)
            for question in questions
        ]
    notes = notes_on(text, asker)
    if method == "gradient":
        notes.append(f"{ROUGH}; --method {default_method(asker.config)} was found best")
    for note in notes:
        print(f"weft absa explain: {note}", file=sys.stderr)
    if arguments.html is not None:
        write_text(arguments.html, heatmap(found))
    if arguments.json:
        records = [explanation.record() for explanation in found]
        if arguments.maps:
            for record, question in zip(records, questions, strict=True):
                record["maps"] = question_maps(asker, text, question).record()
        print(json.dumps(records, ensure_ascii=False, indent=None if arguments.maps else 1))
        return 0
    for explanation in found:
        context = explanation.context
        question = " / ".join(part for part in (context.target, context.aspect) if part)
        missing = "" if explanation.target_found else f" (the text does not mention {context.target})"
        share = explanation.probabilities[explanation.polarity]
        by_threshold = arguments.polarity is None and share < max(explanation.probabilities.values())
        if by_threshold and explanation.target_found:
            missing = f" (decided by the threshold {asker.config.threshold:g})"
        said = f"{question}: {explanation.polarity} {share:.2f}{missing}{_part(explanation)}"
        print(one_line(said))
        told = [word for word in explanation.words if word.score]
        strongest = sorted(told, key=lambda word: -abs(word.score))[:8]
        print(table(("word", ">weight"), [(word.text, f"{word.score:+.3f}") for word in strongest]))
    return 0


def _at_work(text: str, method: Method, questions: int) -> str:
    """What is being done, and what would be done sooner."""
    faster = "; --method occlusion takes half of the time" if method == "shapley" else ""
    what = "an answer" if questions == 1 else f"{questions:,} answers, each"
    words = counted(len(text.split()), "word")
    return (
        f"weft absa explain: explaining {what} about a text of {words}; it may take a minute or two{faster}"
    )


def _part(explanation: Explanation) -> str:
    if not explanation.is_part:
        return ""
    start, end = explanation.window
    return f" (of a long text the window that answers: characters {start:,} to {end:,} of {len(explanation.text):,})"
