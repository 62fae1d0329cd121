"""``weft kg ask``: a question in words, answered from a store."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from weft.cli.options import Parser, add_json, add_store, at_least, share
from weft.cli.table import one_line, table
from weft.errors import ConfigError, InputError

if TYPE_CHECKING:
    from weft.kg.storage.graph import Graph


def parser() -> Parser:
    """The arguments of ``weft kg ask``."""
    result = Parser(
        "kg ask",
        "Answer a question about one entity from a store, with the sentences that say so. Relations are told by their "
        "usual wordings in English; what no fact of the store answers is said to be unknown.",
    )
    add_store(result)
    result.add_argument("question", nargs="?", metavar="QUESTION", help='such as "Who founded Kestrel Line?"')
    result.add_argument(
        "--questions",
        type=Path,
        metavar="FILE",
        help="ask the questions of a YAML file, compare with the answers there, and count (examples/kg/questions)",
    )
    result.add_argument("--limit", type=int, default=10, metavar="N", help="at most N answers (10)")
    result.add_argument("--at-least", type=float, default=0.3, metavar="P", help="least confidence (0.3)")
    add_json(result)
    return result


def run(argv: list[str]) -> int:
    """Run ``weft kg ask``; exit code 3 where the store has no answer."""
    arguments = parser().parse_args(argv)
    at_least(1, limit=arguments.limit)
    share(at_least=arguments.at_least)
    from weft.kg.ask.question import answer
    from weft.kg.storage.export.rows import fact_record
    from weft.kg.storage.graph import Graph

    if (arguments.question is None) == (arguments.questions is None):
        raise ConfigError("needs a QUESTION, or --questions and a file of them")
    graph = Graph.load(arguments.store)
    if arguments.questions is not None:
        return _check(graph, arguments.questions, arguments.at_least, arguments.json)
    found = answer(graph, arguments.question, arguments.at_least)
    facts = found.facts[: arguments.limit]
    if arguments.json:
        record = {"entity": found.entity, "asked": list(dict.fromkeys(name for name, _ in found.asked))}
        answers = [{"answer": found.name(fact), **fact_record(graph, fact.row)} for fact in facts]
        print(json.dumps({**record, "answers": answers}, ensure_ascii=False))
        return 0
    if not facts:
        asked = " or ".join(name if tail else f"{name} (head)" for name, tail in found.asked)
        less = answer(graph, arguments.question, 0.0)
        surest = less.facts[0] if less.facts else None
        # Rounded down: 0.296 is not "0.30 sure" where 0.3 is asked for.
        sure = f"{math.floor(100 * surest.confidence) / 100:.2f}" if surest else ""
        raise InputError(
            f"nothing is known: no fact with {asked} about {found.entity!r} is at least {arguments.at_least:g} sure",
            where=str(graph.folder),
            hint=f"the surest, {less.name(surest)!r}, is {sure} sure: --at-least" if surest else None,
        )
    if found.entity.casefold() not in arguments.question.casefold():
        print(one_line(f"about {found.entity}"), file=sys.stderr)
    for fact in facts:
        place = graph.places(fact.row)[0]
        print(one_line(f"{found.name(fact)}  ({fact.confidence:.2f}, {fact.relation})"))
        print(one_line(f"    {place.document}:{place.line}  {' '.join(place.sentence.split())}"))
    return 0


def _check(graph: Graph, path: Path, least: float, as_json: bool) -> int:
    from weft.kg.ask.check import ask_all, marks, read_questions

    asked = ask_all(graph, read_questions(path), least)
    found = marks(asked)
    if as_json:
        each = [
            {"ask": item.question.text, "known": item.known, "said": item.said, "right": item.right}
            for item in asked
        ]
        print(json.dumps({**asdict(found), "questions": each}, ensure_ascii=False))
        return 0
    rows: list[tuple[object, ...]] = [
        ("questions", str(found.asked)),
        ("the store holds an answer", str(found.known)),
        ("of these answered rightly", "–" if found.found is None else f"{found.found:.3f}"),
        ("of all answered wrongly", f"{found.wrong:.3f}"),
        ("of all without an answer", f"{found.silent:.3f}"),
    ]
    print(table(("", ">"), rows))
    return 0
