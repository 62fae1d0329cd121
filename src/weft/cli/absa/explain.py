"""``weft absa explain``: which words made the answer."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import cast

from weft.cli.absa.arguments import add_model, load_asker
from weft.cli.machine import add_machine
from weft.errors import InputError

METHODS = ("occlusion", "search", "gradient", "integrated", "attention", "quasi")


def parser() -> argparse.ArgumentParser:
    """The command's arguments."""
    found = argparse.ArgumentParser(prog="weft absa explain", description=__doc__)
    found.add_argument("text", help="the text")
    found.add_argument("--aspect", action="append", required=True, help="an aspect in words; may be repeated")
    found.add_argument("--target", action="append", default=[], help="words of the text; may be repeated")
    found.add_argument(
        "--method", choices=METHODS, help="the one that the deletion test found best by default"
    )
    found.add_argument("--polarity", help="explain this answer; the most probable one by default")
    found.add_argument("--html", type=Path, metavar="FILE", help="write a heat map")
    found.add_argument("--json", action="store_true", help="print JSON")
    add_model(found)
    add_machine(found)
    return found


def run(argv: list[str]) -> int:
    """Run the command."""
    arguments = parser().parse_args(argv)
    if not arguments.text.strip():
        raise InputError("the text is empty")
    from weft.absa.explain.attribution import DEFAULT_METHOD, Method, explain
    from weft.absa.explain.heatmap import heatmap
    from weft.absa.records import Context

    asker = load_asker(arguments)
    method = cast("Method", arguments.method or DEFAULT_METHOD)
    questions = [
        Context(aspect, target) for target in arguments.target or [None] for aspect in arguments.aspect
    ]
    found = [
        explain(asker, arguments.text, question, method=method, polarity=arguments.polarity)
        for question in questions
    ]
    if arguments.html is not None:
        try:
            arguments.html.write_text(heatmap(found), encoding="utf-8")
        except OSError as error:
            raise InputError(f"cannot write it: {error.strerror}", where=str(arguments.html)) from error
    if arguments.json:
        print(json.dumps([explanation.record() for explanation in found], ensure_ascii=False, indent=1))
        return 0
    for explanation in found:
        context = explanation.context
        question = " / ".join(part for part in (context.target, context.aspect) if part)
        missing = (
            "" if explanation.target_found else f" [the text does not mention {explanation.context.target}]"
        )
        share = explanation.probabilities[explanation.polarity]
        print(f"{question}: {explanation.polarity} ({share:.2f}){missing}")
        told = [word for word in explanation.words if word.score]
        strongest = sorted(told, key=lambda word: -abs(word.score))[:8]
        print("  " + "  ".join(f"{word.text} {word.score:+.3f}" for word in strongest))
    return 0
