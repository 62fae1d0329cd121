"""``weft kg facts``: facts of a Python file, each with its confidence, beside the syntax tree's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from weft.cli.kg.endpoint import add_endpoint, endpoint_of, report_tally
from weft.cli.options import Parser, add_beams, add_json, add_machine, add_model, device_of
from weft.cli.table import table

if TYPE_CHECKING:
    from weft.kg.extraction.facts import ModelFact


def parser() -> Parser:
    """The arguments of ``weft kg facts``."""
    result = Parser(
        "kg facts",
        "Read facts out of a source file; ✓ where the syntax tree states the same, ✗ where it states "
        "another tail, · where it says nothing (types of un-annotated code).",
    )
    result.add_argument("file", type=Path, metavar="FILE", help="Python source")
    add_model(result, "kg-python-small")
    result.add_argument(
        "--relation", action="append", metavar="NAME", help="only this relation; may be repeated (all)"
    )
    result.add_argument("--at-least", type=float, default=0.0, metavar="P", help="least confidence (0)")
    result.add_argument(
        "--target-precision",
        type=float,
        metavar="P",
        help="as many facts as together are right this often (all)",
    )
    result.add_argument("--limit", type=int, metavar="N", help="print at most N facts, the surest (all)")
    add_beams(result, 4)
    add_endpoint(result)
    add_json(result)
    add_machine(result)
    return result


def run(argv: list[str]) -> int:
    """Run ``weft kg facts``."""
    arguments = parser().parse_args(argv)
    from weft.kg.extraction.chosen import chosen_facts
    from weft.kg.extraction.facts import Extractor
    from weft.platform.models import find_model

    extractor = Extractor.load(find_model("kg", arguments.model), device_of(arguments))
    for name in arguments.relation or ():
        extractor.language.schema.id_of(name)
    endpoint = endpoint_of(arguments)
    if endpoint is not None:
        extractor = extractor.with_endpoint(endpoint)
    found = extractor.facts(arguments.file, beams=arguments.beams)
    if extractor.combiner is not None:
        report_tally(extractor.combiner.tally)
    asked = chosen_facts(found, arguments.relation or ())
    judged = [fact for fact in asked if fact.agrees is not None]
    right = sum(fact.agrees is True for fact in judged)
    shown = chosen_facts(asked, (), arguments.at_least, arguments.target_precision, arguments.limit)
    if arguments.json:
        print(json.dumps([fact.record() for fact in shown], ensure_ascii=False))
        return 0
    print(listing(shown))
    print(f"{len(asked)} facts; the syntax tree judges {len(judged)} and agrees with {right}")
    return 0


def listing(facts: list[ModelFact]) -> str:
    """A line for each fact."""
    marks = {True: "✓", False: "✗", None: "·"}
    rows = [
        (
            fact.line,
            marks[fact.agrees],
            f"{fact.confidence:.2f}",
            fact.head,
            fact.relation,
            fact.tail,
            ", ".join(fact.stated[:4]) if fact.agrees is False else "",
        )
        for fact in facts
    ]
    return table((">line", "tree", ">sure", "head", "relation", "tail", "the tree says"), rows)
